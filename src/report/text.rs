//! The report for people: at most 45 lines of 100 columns, or as many as hold the same in fewer. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use super::page::{Look, Page, Sections, Tone};
use super::table::{Part, Tell};
use super::{Report, Standing, lateness, learnt, proof, said};
use crate::engine::{End, Refund, Signal};
use crate::error::Exit;
use crate::limit::Counts;
use crate::metrics::{self, ByVerdict, LATE, Owner, Unseen, waited};
use crate::outcome::{FailureKind, Spent};
use crate::units::{show_span, three_digits};

/// The most lines that a report of 100 columns has.
pub const LINES: usize = 45;

/// The most findings that are printed; JSON has them all.
const FINDINGS: usize = 3;

/// The most limits whose proof is printed, those that were exceeded first; JSON has them all.
const PROVED: usize = 4;

/// Sends are called late if the 99th percentile since due is so many times that of the service time,
/// and more than [`LATE`] above it.
const LATE_TIMES: u32 = 2;

/// The whole report, each line ended. Where a run fills all its lines, findings give way, then proofs, and at
/// last the ends of sections.
pub fn text(report: &Report, look: Look) -> String {
    let with = |(sections, findings, limits)| {
        let mut page = Page::with(look, sections);
        page.verdict(report);
        page.throughput(report);
        page.littles_law(report);
        page.held_back(report);
        page.notes(report, findings);
        page.latency(report);
        page.streams(report);
        page.tries(report);
        page.circumstances(report);
        page.proof(report, limits);
        page.into_text()
    };
    let texts = [Sections::Whole, Sections::Cut].map(|sections| {
        let fewer = (0..=FINDINGS)
            .rev()
            .map(move |findings| (sections, findings, PROVED));
        fewer.chain((0..PROVED).rev().map(move |limits| (sections, 0, limits)))
    });
    let mut texts = texts.into_iter().flatten().map(with);
    let most = Page::lines_for(look, LINES);
    let fitting = texts.find(|text| text.lines().count() <= most);
    fitting.unwrap_or_else(|| {
        with((Sections::Cut, 0, 0))
            .split_inclusive('\n')
            .take(most)
            .collect()
    })
}

impl Page {
    fn verdict(&mut self, report: &Report) {
        let (summary, counts) = (&report.summary, &report.summary.tally.counts);
        self.section("VERDICT", &report.diagnosis.verdict, Tone::Calm);
        let known = |count: u64| self.count(report.is_over().then_some(count));
        let jobs = format!(
            "read\u{a0}{} =\u{a0}ok\u{a0}{} +\u{a0}failed\u{a0}{} +\u{a0}invalid\u{a0}{} \
             +\u{a0}skipped\u{a0}{} +\u{a0}cancelled\u{a0}{}   in {}",
            known(counts.read),
            counts.ok,
            counts.failed,
            counts.invalid,
            counts.skipped,
            known(counts.cancelled),
            show_span(summary.elapsed)
        );
        self.section("JOBS", &jobs, Tone::Calm);
        if counts.done_before > 0 {
            let text = format!("of these, done before: {}", counts.done_before);
            self.section("", &text, Tone::Calm);
        }
        if counts.failed > 0 {
            let mut kinds = summary.tally.failures.clone();
            kinds.remove(&FailureKind::Invalid);
            let before = counts.failed - kinds.values().sum::<u64>().min(counts.failed);
            let mut kinds = vec![joined(&kinds, ", ")];
            if before > 0 {
                kinds.push(format!("in earlier runs {before}"));
            }
            kinds.retain(|kind| !kind.is_empty());
            let kinds = kinds.join(", ");
            let text = format!("ok {}  failed {} ({kinds})", counts.ok, counts.failed);
            self.section("", &text, Tone::Alarm);
        }
        if let Some(text) = ended(&report.facts.end) {
            self.section("ENDED", &text, Tone::Alarm);
        }
        self.conditions(report);
        self.sources(report);
        self.gap();
    }

    /// Those that are true on a line of their own.
    fn conditions(&mut self, report: &Report) {
        let told = |is_true| {
            let judged = report.conditions.iter();
            let judged: Vec<_> = judged.filter(|it| it.is_true == is_true).collect();
            let told: Vec<&str> = judged.iter().map(|it| &*it.told).collect();
            let word = judged.first().map(|it| said::judged(it));
            word.map(|word| format!("{word}: {}", told.join(", ")))
        };
        let (yes, no) = (told(true), told(false));
        let tone = if yes.is_none() {
            Tone::Calm
        } else {
            Tone::Alarm
        };
        let parts: Vec<String> = yes.into_iter().chain(no).collect();
        if !parts.is_empty() {
            self.section("FAIL IF", &parts.join("; "), tone);
        }
    }

    fn littles_law(&mut self, report: &Report) {
        let (summary, stretch) = (&report.summary, &report.summary.stretch);
        let dash = self.glyphs().dash();
        let mut text = match report.law() {
            Some(law) => format!(
                "in flight {} {} rate {}/s x latency {}     {}",
                three_digits(law.in_flight),
                law.sign,
                three_digits(law.rate),
                show_span(law.mean),
                law.verdict
            ),
            None => format!("in flight {dash} = rate {dash} x latency {dash}"),
        };
        let _ = write!(text, "     peak {}", summary.peak_in_flight);
        if let Some(slots) = report.setup.slots {
            let _ = write!(text, " of {slots}");
        }
        self.section("LITTLE", &text, Tone::Calm);
        if let Some(why) = report.why_whole().filter(|_| stretch.ended > 0) {
            self.section("", &format!("whole run used: {why}"), Tone::Calm);
        }
    }

    /// A count, or what stands for one that nothing tells.
    fn count(&self, count: Option<u64>) -> String {
        count.map_or_else(
            || self.glyphs().dash().to_owned(),
            |count| count.to_string(),
        )
    }

    /// What jobs waited for, where nothing tells whose time it was.
    fn waited(&mut self, report: &Report) {
        let waited = waited(&report.summary, &report.setup);
        let each = waited.iter().map(|wait| {
            let span = show_span(wait.span);
            let name = said::waited_for(wait.owner, &wait.name);
            format!("{span} for {name} ({} %)", wait.percent)
        });
        let each = each.collect::<Vec<_>>().join(", ");
        let text = if waited.is_empty() {
            self.glyphs().dash().to_owned()
        } else {
            format!("the jobs together waited {each}")
        };
        self.section("HELD BACK", &text, Tone::Calm);
    }

    fn held_back(&mut self, report: &Report) {
        match report.summary.stretch.part {
            metrics::Part::Steady | metrics::Part::Whole => self.shares(report),
            metrics::Part::Recorded => self.waited(report),
        }
        let (advice, dash) = (&report.diagnosis.advice, self.glyphs().dash());
        let advice = if advice.is_empty() { dash } else { advice };
        self.section("ADVICE", advice, Tone::Calm);
    }

    fn shares(&mut self, report: &Report) {
        let dash = self.glyphs().dash();
        let (shares, span) = (&report.diagnosis.shares, report.summary.stretch.span());
        let mut held: Vec<String> = shares
            .iter()
            .filter(|share| share.owner != Owner::Nothing)
            .filter(|share| share.percent > 0 || share.owner == Owner::Slot)
            .map(|share| {
                let span = show_span(share.span);
                let name = said::waited_for(Some(share.owner), &share.name);
                format!("{span} for {name} ({} %)", share.percent)
            })
            .collect();
        let slots_free = shares.iter().all(|share| share.owner != Owner::Slot);
        if held.is_empty() || (slots_free && report.setup.slots.is_some()) {
            held.push("0 s for slots".to_owned());
        }
        let idle = shares.iter().find(|share| share.owner == Owner::Nothing);
        let idle = idle.map(|share| {
            let span = show_span(share.span);
            format!("; no job waited for {span} ({} %)", share.percent)
        });
        let text = if shares.is_empty() {
            dash.to_owned()
        } else {
            // Of runs beside each other each has its own next job.
            let all: Duration = shares.iter().map(|share| share.span).sum();
            let beside = all > span + Duration::from_millis(1);
            let of = if beside { " of all runs" } else { "" };
            format!(
                "of {}{of} the next job waited {}{}",
                show_span(if beside { all } else { span }),
                held.join(", "),
                idle.unwrap_or_default()
            )
        };
        self.section("HELD BACK", &text, Tone::Calm);
    }

    fn notes(&mut self, report: &Report, most: usize) {
        for (number, finding) in report.diagnosis.findings.iter().take(most).enumerate() {
            let heading = if number == 0 { "NOTE" } else { "" };
            self.section(heading, finding, Tone::Calm);
        }
        self.gap();
    }

    fn latency(&mut self, report: &Report) {
        let summary = &report.summary;
        let meaning = "service time: first byte written to last byte read; \
                       since due: due to last byte read";
        self.section("LATENCY", meaning, Tone::Calm);
        self.table(&[
            ("service time", &summary.tally.service, Tell::Span),
            ("since due", &summary.tally.since_due, Tell::Span),
        ]);
        if let Some(text) = said::few(&summary.tally) {
            self.section("", text, Tone::Calm);
        }
        self.lateness(report);
    }

    /// The sentence for coordinated omission: service time alone would hide the wait before the send.
    fn lateness(&mut self, report: &Report) {
        if let Some(lines) = lateness::lines(&report.setup, &report.summary) {
            for (nth, line) in lines.iter().enumerate() {
                let heading = if nth == 0 { "LATE" } else { "" };
                self.section(heading, line, Tone::Calm);
            }
            return;
        }
        let p99 = |latencies: &ByVerdict| latencies.ok.quantile(0.99);
        let summary = &report.summary;
        let (Some(service), Some(since_due)) =
            (p99(&summary.tally.service), p99(&summary.tally.since_due))
        else {
            return;
        };
        if since_due < service * LATE_TIMES || since_due < service + LATE {
            return;
        }
        let text = report.late().unwrap_or_else(|| {
            let retries = summary.tally.retries;
            format!("since due holds the rests before {retries} retries")
        });
        self.section("LATE", &text, Tone::Calm);
    }

    /// A page without room for whole sections leaves out the gaps.
    fn streams(&mut self, report: &Report) {
        let Some(streams) = &report.summary.tally.streams else {
            return;
        };
        let answers = if streams.answers == 1 {
            "answer"
        } else {
            "answers"
        };
        let mut text = format!(
            "{} {answers}, {} output tokens",
            streams.answers, streams.output
        );
        if streams.by_events > 0 {
            let _ = write!(text, " (by events, not by usage: {})", streams.by_events);
        }
        if let Some(rate) = report.output_per_second() {
            let _ = write!(text, ", {}/s over the run", three_digits(rate));
        }
        text.push_str(
            "; first token since the first byte written, tokens/s that so many per cent had at least",
        );
        self.section("STREAMS", &text, Tone::Calm);
        let all: [Part<'_>; 4] = [
            ("first token", &streams.first_token, Tell::Span),
            ("tokens/s", &streams.per_token, Tell::PerSecond),
            ("mean gap", &streams.mean_gap, Tell::Span),
            ("longest gap", &streams.longest_gap, Tell::Span),
        ];
        self.table(match self.sections() {
            Sections::Whole => &all,
            Sections::Cut => &all[..2],
        });
    }

    fn tries(&mut self, report: &Report) {
        let (summary, dash) = (&report.summary, self.glyphs().dash());
        self.gap();
        let mut text = format!(
            "tries {}, retries {}, pauses asked {}",
            summary.tally.tries,
            summary.tally.retries,
            self.count(summary.unseen.map(|unseen| unseen.pauses))
        );
        if !summary.tally.try_failures.is_empty() {
            let kinds = joined(&summary.tally.try_failures, ", ");
            let _ = write!(text, "; tries failed: {kinds}");
        }
        self.section("RETRIES", &text, Tone::Calm);
        self.counts("STATUSES", &summary.tally.statuses);
        self.tokens(report);
        let reached = report.reached(dash);
        self.section("RATE", &format!("reached {reached}"), Tone::Calm);
        let mut heading = "LEARNT";
        for line in learnt::lines(report, 2) {
            self.section(heading, &line, Tone::Calm);
            heading = "";
        }
    }

    /// The estimate beside the truth.
    fn tokens(&mut self, report: &Report) {
        let (summary, refund) = (&report.summary, report.facts.refund);
        let units = summary.tally.units;
        if units.total == Spent::default() {
            return;
        }
        let mut text = spent(units.total, refund);
        if let Some(Unseen {
            untold: untold @ 1..,
            ..
        }) = summary.unseen
        {
            let answers: u64 = summary.tally.statuses.values().sum();
            let _ = write!(text, "; {untold} of {answers} answers told no usage");
        }
        self.section("TOKENS", &text, Tone::Calm);
        for (counts, part, name) in [
            (Counts::Input, units.input, "input"),
            (Counts::Output, units.output, "output"),
        ] {
            let mut limits = report.setup.limits.iter();
            if limits.any(|limit| limit.counts == counts) {
                let text = format!("{name} {}", spent(part, refund));
                self.section("", &text, Tone::Calm);
            }
        }
    }

    fn circumstances(&mut self, report: &Report) {
        let facts = &report.facts;
        let dash = self.glyphs().dash();
        let mut text = format!(
            "seed {}, transport {}, input ",
            self.count(facts.seed),
            facts.transport.as_deref().unwrap_or(dash),
        );
        match &*facts.inputs {
            [first, _, _, more @ ..] if !more.is_empty() => {
                let _ = write!(
                    text,
                    "{first} and\u{a0}{}\u{a0}more",
                    facts.inputs.len() - 1
                );
            }
            [] => text.push_str(dash),
            few => text.push_str(&few.join(" ")),
        }
        self.section("RUN", &text, Tone::Calm);
    }
}

impl Page {
    /// The proof of at most so many limits, and how the others stand.
    fn proof(&mut self, report: &Report, most: usize) {
        let proven = &report.summary.proof;
        let mut limits: Vec<_> = proven.limits.iter().enumerate().collect();
        limits.sort_by_key(|(_, proved)| proved.verdict.is_kept());
        let mut heading = "PROOF";
        for (number, proved) in limits.iter().take(most) {
            let text = proof::line(&report.setup.name_of(Owner::Limit(*number)), proved);
            let tone = if proved.verdict.is_kept() {
                Tone::Calm
            } else {
                Tone::Alarm
            };
            self.section(heading, &text, tone);
            heading = "";
        }
        let rest = limits.get(most.min(limits.len())..).unwrap_or_default();
        let kept = rest.iter().filter(|(_, it)| it.verdict.is_kept()).count();
        if !rest.is_empty() {
            let limits = if rest.len() == 1 { "limit" } else { "limits" };
            let text = format!("{kept} of {} more {limits} kept", rest.len());
            self.section(heading, &text, Tone::Calm);
        }
        if let Some(minute) = proven.minute.as_ref().filter(|_| most > 0) {
            self.section("MINUTE", &proof::minute_text(minute), Tone::Calm);
        }
        if proven.unseen > 0 && !limits.is_empty() {
            let text = match proven.unseen {
                1 => "1 try was cut off and is not in it".to_owned(),
                tries => format!("{tries} tries were cut off and are not in it"),
            };
            self.section("", &text, Tone::Calm);
        }
    }
}

/// Of a run that goes on, as its results are locked.
pub(super) const RUNNING: &str = "its results are still being written";

/// Of a run that has not told its end.
pub(super) const CUT_OFF: &str = "the run was killed, or goes on where no lock is seen";

/// How a run ended; `None` if it finished, or if nothing tells.
pub(super) fn ended(end: &Standing) -> Option<String> {
    let end = match end {
        Standing::Over(end) => end,
        Standing::Running => {
            return Some(format!("not yet: {RUNNING}"));
        }
        Standing::CutOff => {
            return Some(format!("nothing tells it: {CUT_OFF}"));
        }
        Standing::Untold => return None,
    };
    Some(match end {
        End::Finished => return None,
        End::TimeUp => "its time was over".to_owned(),
        End::InputLost(problem) => format!("reading broke: {}", one_line(&problem.to_string())),
        End::SinkLost(problem) if problem.exit == Exit::PipeClosed => {
            "whoever read the results has closed the pipe".to_owned()
        }
        End::SinkLost(problem) => {
            format!(
                "results could not be written: {}",
                one_line(&problem.to_string())
            )
        }
        End::StoreLost(problem) => format!(
            "the store that shares the limits was not there: {}",
            one_line(&problem.to_string())
        ),
        End::Stopped(stopped) => {
            format!("by {}: {}", stopped.by(), stopped.told)
        }
        End::Signalled(Signal::Interrupt) => "by Ctrl-C".to_owned(),
        End::Signalled(Signal::Terminate) => "by SIGTERM".to_owned(),
    })
}

/// `reserved 2000, used 400, given back 1600`.
fn spent(units: Spent, refund: Refund) -> String {
    let Spent { reserved, used } = units;
    let rest = match reserved.checked_sub(used) {
        Some(0) => " as reserved".to_owned(),
        Some(back) => match refund {
            Refund::Unused => format!(", given back {back}"),
            Refund::Never => ", nothing given back".to_owned(),
        },
        None => format!(", {} more than reserved", used - reserved),
    };
    format!("reserved {reserved}, used {used}{rest}")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `http 1, timeout 2`.
pub(super) fn joined<K: std::fmt::Display>(
    counts: &std::collections::BTreeMap<K, u64>,
    between: &str,
) -> String {
    let each = counts.iter().map(|(name, count)| format!("{name} {count}"));
    each.collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::{Glyphs, Paint, samples};

    fn shown(report: &Report) -> String {
        let text = text(report, Look::default());
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(text.lines().count() <= LINES, "too long:\n{text}");
        assert!(widest <= Some(100), "too wide:\n{text}");
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        text
    }

    fn assert_holds(text: &str, facts: &[&str]) {
        for fact in facts {
            assert!(text.contains(fact), "`{fact}` is missing in\n{text}");
        }
    }

    #[test]
    fn a_run_held_by_qps_shows_both_ceilings_on_one_axis_and_where_they_cross() {
        let text = shown(&samples::held_by_qps());
        assert_holds(
            &text,
            &[
                "read 600 = ok 600 + failed 0 + invalid 0 + skipped 0 + cancelled 0",
                "observed 10.0/s     theory 20 slots / 99.3 ms = 201/s     5 % of it, 100 % of --qps 10",
                "<- mean; --qps 10 binds",
                "201/s      0 s",
                "<- 20 slots / 99.3 ms: Semaphore(20) alone ends here",
                "= rate 10.0/s x latency 99.3 ms     agrees to 0",
                "     peak 1 of 20",
                "for --qps 10 (100 %), 0 s for slots",
                "--concurrency 2 would do",
                "20 slots begin to bind when the API is slower than 20/10 = 2.0 s",
            ],
        );
        assert!(text.lines().any(|line| line.trim() == ":"), "{text}");
    }

    #[test]
    fn the_report_ends_with_the_proof_of_each_limit_and_the_worst_minute() {
        let Report {
            mut summary,
            mut setup,
            facts,
            ..
        } = samples::held_by_qps();
        setup
            .limits
            .push("tokens 5000/1m window name=mine".parse().unwrap());
        summary.proof = samples::proven(&setup.limits);
        let report = Report::new(summary, setup, facts);
        let text = shown(&report);
        let proof = text.split("PROOF").nth(1).unwrap();
        let expected = [
            "EXCEEDED by 70  --qps 10 (b + rT): 34 of at most 11 in any 1s (from +0 s)",
            "kept  --limit tokens 5000/1m name=mine (N): 4000 of at most 5000 tokens in any 1m",
            "4000 tokens in any 60 s by what was reserved, 4000 by what was used",
        ];
        assert_holds(proof, &expected);
        assert!(proof.find(expected[0]) < proof.find(expected[1]), "{proof}");
        let json = crate::report::json::json(&report);
        assert_eq!(json["proof"][0]["verdict"], "exceeded", "{json}");
        assert_eq!(json["worst_minute"]["used"], 4000);
        assert!(!shown(&samples::held_by_qps()).contains("PROOF"));
    }

    #[test]
    fn a_run_held_by_slots_names_the_latency_and_advises_qps() {
        let text = shown(&samples::held_by_slots());
        assert_holds(
            &text,
            &[
                "the API's latency chose this rate: all 20 slots were taken (100 % of",
                "20 slots / 50.0 ms bind",
                "failed 400 (http 400)",
                "--qps N chooses the rate: --qps 400",
                "no rate limit is set",
                "3940 of 4000 jobs were first sent over 100 ms after they were due, held by slots",
            ],
        );
    }

    #[test]
    fn results_alone_say_what_their_jobs_waited_for_and_what_nobody_knows() {
        let words = [
            "all 20 slots were taken (80 % of the jobs' waits)",
            "read — = ok 3600 + failed 400 + invalid 0 + skipped 0 + cancelled —",
            "RESULTS     standing.jsonl: 4000 results, 7 of them replaced by a later one of the same job;",
            "line 4001 is torn and was passed over",
            "nothing tells the limits",
            "whole run used: nothing tells its steady part",
            "waited 13m 20s for slots (80 %), 2m 30s for rests",
            "400 of 4000 answers were 429: the server wants fewer requests",
            "held by slots",
            "pauses asked —",
            "seed —, transport —, input —",
        ];
        assert_holds(&shown(&samples::recorded()), &words);
        assert_holds(&shown(&samples::fullest_again()), &["and 9 more files"]);
    }

    #[test]
    fn a_run_without_jobs_has_dashes() {
        let text = shown(&samples::empty());
        assert_holds(
            &text,
            &[
                "read 0 = ok 0",
                "observed —",
                "in flight — = rate — x latency —",
                "ADVICE      —",
            ],
        );
    }

    #[test]
    fn a_run_that_never_connects_says_so_in_red() {
        let report = samples::unconnected();
        assert_holds(
            &shown(&report),
            &["ok 0  failed 10 (connect 10)", "--mock", "whole run used"],
        );
        let colour = text(
            &report,
            Look {
                glyphs: Glyphs::Ascii,
                paint: Paint::Colour,
                ..Look::default()
            },
        );
        assert_holds(
            &colour,
            &["ok 0  failed 10 (connect 10)\x1b[0m", "\x1b[1mVERDICT"],
        );
    }

    #[test]
    fn the_fullest_report_still_fits() {
        let Report { mut summary, .. } = samples::held_by_slots();
        summary.stretch.units.total = 850.0;
        summary.stretch.per_second = (0..400).map(|second| 300 + second).collect();
        summary
            .tally
            .try_failures
            .insert(FailureKind::Timeout, 1_234_567);
        summary
            .tally
            .statuses
            .extend((500..530).map(|status| (status, 1_234_567)));
        summary.tally.failures.insert(FailureKind::Limit, 3);
        summary.tally.retries = 2000;
        summary.unseen = Some(Unseen {
            unrepeated: 7,
            ..Unseen::default()
        });
        summary.tally.counts.cancelled = 1_234_567_890;
        let kinds = [FailureKind::Dns, FailureKind::Tls, FailureKind::Reset];
        summary
            .tally
            .failures
            .extend(kinds.map(|kind| (kind, 1_234_567)));
        for owner in [
            Owner::Input,
            Owner::Sink,
            Owner::Order,
            Owner::Client,
            Owner::LookAhead,
        ] {
            summary.stretch.shares.push((owner, Duration::from_secs(5)));
        }
        let rates: Vec<String> = (1..=3).map(|n| format!("{}/s", n * 250)).collect();
        let limits: Vec<(&str, &str)> = rates.iter().map(|rate| ("qps", &**rate)).collect();
        let mut setup = samples::setup(20, &limits);
        setup.limits.push("tokens 1M/s name=tps".parse().unwrap());
        let mut facts = samples::facts();
        facts.inputs = vec!["a/rather/long/path/to/a/file/of/jobs\x1b[1m.jsonl".to_owned(); 9];
        facts.end = Standing::Over(End::SinkLost(crate::error::Problem::new(
            crate::error::Exit::Unwritten,
            "results cannot be written: No space left on device (os error 28) ".repeat(2),
            "make room, and run again",
        )));
        let conditions = [
            "p99.9>500ms",
            "due_p99.9>2h",
            "failed>12.5%",
            "cancelled<1M",
            "5xx>9%",
        ]
        .map(|condition| condition.parse().unwrap());
        let many = ["5/s window", "1M/s fixed"].map(|limit| limit.parse().unwrap());
        setup.limits.extend(many);
        summary.proof = samples::proven(&setup.limits);
        let text = shown(&Report::new(summary, setup, facts).judged(&conditions));
        assert_holds(
            &text,
            &[
                " more limits kept",
                "--tps 1M at 850 a try",
                "results could not be written",
                "FAIL IF     true: 5xx = ",
                "            false: p99.9 > ",
                "seed 42",
            ],
        );
        assert!(!text.contains('\x1b'), "{text}");
    }

    #[test]
    fn ascii_has_seven_bits() {
        for report in [samples::held_by_qps(), samples::empty()] {
            let look = Look {
                glyphs: Glyphs::Ascii,
                ..Look::default()
            };
            let text = text(&report, look);
            assert!(text.is_ascii(), "{text}");
        }
    }
}
