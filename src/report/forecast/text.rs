//! A plan for people: at most 100 columns. Floor 4: doors.

use std::time::{Duration, SystemTime};

use super::phases::phases;
use super::{Cell, Forecast, Gain, Said, Sample, Slots, Unfit, WhatIf};
use crate::metrics::Owner;
use crate::outcome::{FailureKind, Spent};
use crate::report::grid::{Column, Grid, Side};
use crate::report::page::{Look, Page, Tone};
use crate::report::text::joined;
use crate::report::{lateness, limits, proof};
use crate::terminal::Columns;
use crate::units::{Tick, counted, exact_span, show_span, three_digits};

/// The most jobs, lines and origins of a list.
const FEW: usize = 5;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// A sample that is wrong by more than this about the bounds as they are, in per cent, says so.
const FAR_OFF: u32 = 5;

/// The whole plan, each line ended. `now` is the time of the wall clock, for who could start at once.
pub fn text(plan: &Forecast, now: Option<SystemTime>, look: Look) -> String {
    let mut page = Page::new(look);
    page.terms(plan, look.columns);
    page.gap();
    page.outcome(plan, now);
    page.gap();
    page.phases(plan);
    page.gap();
    page.load(plan);
    if let Some(what_if) = &plan.what_if {
        page.gap();
        page.what_if(plan, what_if);
    }
    page.into_text()
}

impl Page {
    fn terms(&mut self, plan: &Forecast, columns: Columns) {
        let text = "the run in virtual time; nothing is sent";
        self.section("PLAN", text, Tone::Calm);
        let bounds = limits::in_force(&plan.setup, Duration::ZERO);
        let bounds = limits::listed("LIMITS", &bounds, columns);
        self.lines("LIMITS", bounds.lines().map(str::to_owned));
        if let Some(text) = limits::schedule(&plan.setup) {
            self.section("SCHEDULE", &text, Tone::Calm);
        }
        if let Some(text) = guard(plan) {
            self.section("GUARD", &text, Tone::Calm);
        }
        let text = match plan.api.said {
            Said::ByOption => plan.api.answers.clone(),
            Said::ByNobody => format!(
                "{}; its latency is a guess: --latency 2s, --latency-from RESULTS or --api SPEC says it",
                plan.api.answers
            ),
        };
        self.section("API", &text, Tone::Calm);
        let (median, timeout) = (plan.api.median, plan.timeout);
        if median > timeout {
            let (median, timeout) = (show_span(median), exact_span(timeout));
            let text = format!(
                "half of its answers take {median} or longer; --timeout {timeout} gives them up"
            );
            self.section("", &text, Tone::Alarm);
        }
    }

    fn outcome(&mut self, plan: &Forecast, now: Option<SystemTime>) {
        let (summary, counts) = (&plan.summary, &plan.summary.tally.counts);
        let at = now.and_then(|now| now.checked_add(summary.elapsed));
        let at = at.map(|at| {
            let at = humantime::format_rfc3339_seconds(at);
            format!("; if started now, at {at}")
        });
        let finish = format!("in {}{}", lasting(summary.elapsed), at.unwrap_or_default());
        self.section("FINISH", &finish, Tone::Calm);
        self.section("VERDICT", &plan.diagnosis.verdict, Tone::Calm);
        let jobs = format!(
            "read {} = ok {} + failed {} + invalid {} + skipped {} + cancelled {}",
            counts.read, counts.ok, counts.failed, counts.invalid, counts.skipped, counts.cancelled
        );
        self.section("JOBS", &jobs, Tone::Calm);
        let mut kinds = summary.tally.failures.clone();
        kinds.remove(&FailureKind::Invalid);
        if !kinds.is_empty() {
            let text = format!("failed: {}", joined(&kinds, ", "));
            self.section("", &text, Tone::Alarm);
        }
        let unfit = plan.never_fit.first.iter().map(|job| never_fits(plan, job));
        self.list("NEVER FIT", plan.never_fit.count, "job", unfit);
        let invalid = plan.invalid.first.iter().map(ToString::to_string);
        self.list("INVALID", plan.invalid.count, "line", invalid);
        let late = lateness::lines(&plan.setup, &plan.summary);
        for (nth, text) in late.iter().flatten().enumerate() {
            let heading = if nth == 0 { "LATE" } else { "" };
            self.section(heading, text, Tone::Calm);
        }
        for finding in &plan.diagnosis.findings {
            self.section("NOTE", finding, Tone::Calm);
        }
    }

    /// How many there are, and what is wrong with the first few.
    fn list(&mut self, heading: &str, count: u64, one: &str, first: impl Iterator<Item = String>) {
        if count == 0 {
            return;
        }
        let shown = count.min(FEW as u64);
        let which = if shown < count {
            format!(", the first {shown}")
        } else {
            String::new()
        };
        let text = format!("{}{which}:", counted(count, one));
        self.section(heading, &text, Tone::Alarm);
        for text in first.take(FEW) {
            for line in text.lines() {
                self.section("", line, Tone::Alarm);
            }
        }
    }

    fn phases(&mut self, plan: &Forecast) {
        let end = Tick::ZERO.after(plan.summary.elapsed);
        let rows = phases(&plan.summary.tally.timeline, end)
            .into_iter()
            .map(|phase| {
                let since = |at: Tick| lasting(at.since(Tick::ZERO));
                let owner = match phase.owner {
                    Owner::Nothing => "nobody waits".to_owned(),
                    owner => plan.setup.name_of(owner),
                };
                let cells = Some(vec![
                    owner,
                    format!("{} %", phase.percent),
                    often(phase.rate),
                    three_digits(phase.in_flight),
                ]);
                (
                    format!("{} to {}", since(phase.from), since(phase.to)),
                    cells,
                )
            });
        let column = |head, words, side| Column {
            head: ["", head],
            words,
            side,
        };
        let grid = Grid {
            columns: vec![
                column("held by", ["held by ", ""], Side::Left),
                column("share", ["", ""], Side::Right),
                column("sent", ["sent ", ""], Side::Right),
                column("in flight", ["in flight ", ""], Side::Right),
            ],
            rows: rows.collect(),
            none: self.glyphs().dash(),
        };
        self.grid("WHEN", &grid);
    }

    /// A table, unless it is empty.
    fn grid(&mut self, title: &str, grid: &Grid) {
        if grid.rows.is_empty() {
            let dash = self.glyphs().dash();
            self.section(title, dash, Tone::Calm);
            return;
        }
        let lines = grid.lines(title, self.columns(), self.glyphs().cut());
        let some = lines.into_iter().skip_while(String::is_empty);
        self.lines(title, some);
    }

    fn load(&mut self, plan: &Forecast) {
        let summary = &plan.summary;
        let of = plan.setup.slots.map(|slots| format!(", of {slots}"));
        let peak = format!(
            "at most {} at once{}",
            summary.peak_in_flight,
            of.unwrap_or_default()
        );
        self.section("IN FLIGHT", &peak, Tone::Calm);
        if let Some(text) = plan.what_if.as_ref().and_then(other_slots) {
            self.section("", &text, Tone::Calm);
        }
        let pauses = summary.unseen.unwrap_or_default().pauses;
        let tries = format!(
            "{}, retries {}, pauses asked {pauses}",
            summary.tally.tries, summary.tally.retries
        );
        self.section("TRIES", &tries, Tone::Calm);
        self.counts("STATUSES", &summary.tally.statuses);
        self.units(plan);
        if plan.origins.len() > 1 {
            let each = plan.origins.iter().take(FEW);
            let mut each: Vec<String> = each
                .map(|(origin, sends)| format!("{origin} {sends}"))
                .collect();
            let others = plan.origins.iter().skip(FEW).map(|(_, sends)| sends);
            let others = others.sum::<u64>() + plan.other_origins;
            if others > 0 {
                each.push(format!("others {others}"));
            }
            self.section("ORIGINS", &each.join(", "), Tone::Calm);
        }
        let text = format!("seed {}, input {}", plan.seed, plan.inputs.join(" "));
        self.section("RUN", &text, Tone::Calm);
    }

    fn units(&mut self, plan: &Forecast) {
        let summary = &plan.summary;
        let units = summary.tally.units;
        if units.total == Spent::default() {
            return;
        }
        let Spent { reserved, used } = units.total;
        self.section(
            "TOKENS",
            &format!("reserved {reserved}, used {used}"),
            Tone::Calm,
        );
        if let Some(minute) = &summary.proof.minute {
            self.section("MINUTE", &proof::minute_text(minute), Tone::Calm);
        }
        if let Some(price) = &plan.price {
            let (used, reserved) = price.of(units);
            let most = if reserved > used {
                format!(", if all is used that is reserved {}", money(reserved))
            } else {
                String::new()
            };
            let text = format!("{}{most} (at {})", money(used), price.written);
            self.section("COST", &text, Tone::Calm);
        }
    }

    fn what_if(&mut self, plan: &Forecast, what_if: &WhatIf) {
        let dash = self.glyphs().dash();
        let as_is = shown(what_if.as_is);
        let rows = what_if.rows.iter().map(|bound| {
            let cell = |cell: Option<Cell>| cell.map_or(dash.to_owned(), shown);
            let cells = Some(vec![
                cell(bound.halved),
                as_is.clone(),
                cell(bound.doubled),
                cell(bound.none),
            ]);
            (bound.name.clone(), cells)
        });
        let column = |head, words| Column {
            head: ["", head],
            words,
            side: Side::Right,
        };
        let grid = Grid {
            columns: vec![
                column("halved", ["halved ", ""]),
                column("as it is", ["as it is ", ""]),
                column("doubled", ["doubled ", ""]),
                column("none", ["none ", ""]),
            ],
            rows: rows.collect(),
            none: self.glyphs().dash(),
        };
        self.grid("WHAT IF", &grid);
        if let Sample::Drawn(jobs) = what_if.sample {
            let counts = &plan.summary.tally.counts;
            let all = counts.read - counts.invalid;
            let text = format!(
                "from a sample of {jobs} of {}, scaled to all",
                counted(all, "job")
            );
            self.section("", &text, Tone::Calm);
            let (says, takes) = (what_if.as_is.takes, plan.summary.elapsed);
            if says.abs_diff(takes) * 100 > takes * FAR_OFF {
                let text = format!(
                    "as it is, all of them take {}: compare the columns with each other only",
                    lasting(takes)
                );
                self.section("", &text, Tone::Alarm);
            }
        }
    }
}

/// Which number of slots would do, if any is told.
fn other_slots(what_if: &WhatIf) -> Option<String> {
    let sample = match what_if.sample {
        Sample::All => "",
        Sample::Drawn(_) => " on a sample",
    };
    let as_is = what_if.as_is;
    Some(match what_if.least? {
        Slots::Least(least) => {
            let does = match least.gain {
                Gain::Nothing => "do",
                Gain::Time => "be faster",
                Gain::Jobs => "fail fewer jobs",
            };
            let own = shown(least.cell);
            let than = Some(shown(as_is)).filter(|as_is| *as_is != own);
            let than = than.map(|as_is| format!(", against {as_is} as it is"));
            let less = least.one_less.filter(|cell| *cell != as_is);
            let less = less.map(|cell| {
                let less = least.slots - 1;
                let verb = if less == 1 { "takes" } else { "take" };
                format!(" ({less} {verb} {})", shown(cell))
            });
            format!(
                "of {} tried{sample}, --concurrency {} would {does}: {own}{}{}",
                least.tried,
                least.slots,
                than.unwrap_or_default(),
                less.unwrap_or_default()
            )
        }
        Slots::MostFail { cell, tried, .. } if cell.failed == cell.done => {
            format!("no --concurrency mends it: all jobs fail with each of {tried} tried{sample}")
        }
        Slots::MostFail { slots, cell, tried } => format!(
            "no --concurrency mends it: most jobs fail with each of {tried} tried{sample}, the fewest with {slots} ({})",
            shown(cell)
        ),
    })
}

/// The time, and which share of the jobs fails if any does.
fn shown(cell: Cell) -> String {
    let takes = lasting(cell.takes);
    let (failed, done) = (cell.failed, cell.done.max(1));
    match (failed * 200 + done) / (2 * done) {
        _ if failed == 0 => takes,
        0 => format!("{takes}, <1% fail"),
        100.. if failed < done => format!("{takes}, >99% fail"),
        percent => format!("{takes}, {percent}% fail"),
    }
}

/// A time in at most two units, within the 584 years that a run is counted in.
fn lasting(span: Duration) -> String {
    if span >= Duration::from_nanos(u64::MAX) {
        return "over 584 years".to_owned();
    }
    show_span(span)
}

/// A rate per second, or per a longer time if it is low.
fn often(rate: f64) -> String {
    let units = [(1.0, "s"), (60.0, "m"), (3600.0, "h"), (DAY, "d")];
    let unit = units.iter().find(|(seconds, _)| rate * seconds >= 0.1);
    match unit {
        Some((seconds, unit)) => format!("{}/{unit}", three_digits(rate * seconds)),
        None if rate > 0.0 => format!("1/{:.0}d", 1.0 / rate / DAY),
        None => "0/s".to_owned(),
    }
}

/// An amount of money, of whatever currency: two decimals, or three digits if that is nothing.
fn money(amount: f64) -> String {
    if amount >= 1.0 || amount == 0.0 {
        return format!("{amount:.2}");
    }
    let digits = |decimals: &usize| {
        let text = format!("{amount:.decimals$}");
        text.trim_start_matches(['0', '.']).len() >= 3
    };
    let decimals = (2..=12_usize).find(digits).unwrap_or(12);
    format!("{amount:.decimals$}")
}

/// How long windows are kept beyond their period, where a run would measure it.
fn guard(plan: &Forecast) -> Option<String> {
    plan.guard.map(|kept| {
        let kept = show_span(kept);
        format!("windows are kept {kept} longer, as in a run that measures these answers (--guard)")
    })
}

fn never_fits(plan: &Forecast, job: &Unfit) -> String {
    let id = job.id.as_ref().map(|id| format!(" {id:?}"));
    format!(
        "{}{}: costs {}, {} never holds more than {}",
        job.place,
        id.unwrap_or_default(),
        job.why.asked,
        plan.setup.name_of(job.owner),
        job.why.capacity
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_fails_is_rounded_and_neither_none_nor_all_unless_it_is() {
        for (failed, done, told) in [
            (0, 200, "2.00 s"),
            (0, 0, "2.00 s"),
            (1, 201, "2.00 s, <1% fail"),
            (1, 200, "2.00 s, 1% fail"),
            (3, 200, "2.00 s, 2% fail"),
            (179, 200, "2.00 s, 90% fail"),
            (198, 200, "2.00 s, 99% fail"),
            (199, 200, "2.00 s, >99% fail"),
            (200, 200, "2.00 s, 100% fail"),
        ] {
            let takes = Duration::from_secs(2);
            let cell = Cell {
                takes,
                done,
                failed,
            };
            assert_eq!(shown(cell), told);
        }
    }
}
