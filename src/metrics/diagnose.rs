//! Whose wait it was, in one sentence with one piece of advice. Floor 3: rules.

use http::StatusCode;

use super::littles::{Cause, Crossover, Theory, plain};
use super::waited::{self, Waited, waited};
use super::{Owner, Part, Setup, Share, SlotsBy, Summary, refusals, shares};
use crate::limit::{Counts, Pace, Promise};
use crate::outcome::FailureKind;
use crate::units::{show_span, three_digits};

/// What limited a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Whose time it was, largest first; the per cents add up to 100 unless there is no time at all.
    pub shares: Vec<Share>,
    /// Who chose the rate; `None` if nothing was sent.
    pub binding: Option<Owner>,
    /// The same as a sentence, with its share of the time.
    pub verdict: String,
    /// What would change it, naming one option; empty if nothing was sent.
    pub advice: String,
    /// What else is worth knowing, a sentence each.
    pub findings: Vec<String>,
}

/// `nothing` is said to hold the jobs only where everything else has less than this, in per cent:
/// a run that ends with its last slots still busy is no run without limits.
const SOMETHING_BINDS: u64 = 10;

/// Below this share, in per cent, a second cause is noise and makes no finding.
const WORTH_SAYING: u64 = 5;

/// Retries are a finding of their own from this share of the tries on, in per cent.
const MANY_RETRIES: u64 = 10;

impl Diagnosis {
    /// The diagnosis of a run.
    pub fn of(summary: &Summary, setup: &Setup, theory: &Theory) -> Self {
        let shares = shares::of(&summary.stretch, setup);
        let (waited, is_untold) = match summary.stretch.part {
            Part::Steady | Part::Whole => (Vec::new(), false),
            Part::Recorded => (waited(summary, setup), summary.tally.waits.is_empty()),
        };
        let share = waited::share(&waited, summary);
        let binds = waited::binds(&waited, summary, SOMETHING_BINDS);
        let longest = waited.into_iter().next().filter(|_| binds);
        let seen = Seen {
            summary,
            setup,
            theory,
            shares: &shares,
            binding: match &longest {
                Some(longest) => longest.owner,
                None => binding(summary, &shares).filter(|_| !is_untold),
            },
            little: share.filter(|_| !binds),
            longest,
            is_untold,
        };
        let special = SPECIAL.iter().find_map(|case| case(&seen));
        let Cure { verdict, advice } = special.unwrap_or_else(|| seen.usual());
        let findings = FINDINGS
            .iter()
            .filter_map(|finding| finding(&seen))
            .collect();
        let binding = seen.binding;
        Self {
            shares,
            binding,
            verdict,
            advice,
            findings,
        }
    }
}

fn binding(summary: &Summary, shares: &[Share]) -> Option<Owner> {
    let something =
        |share: &&Share| share.owner != Owner::Nothing && share.percent >= SOMETHING_BINDS;
    let largest = shares.iter().find(something).map(|share| share.owner);
    (summary.tally.tries > 0).then(|| largest.unwrap_or(Owner::Nothing))
}

/// What the rows of the tables look at.
struct Seen<'a> {
    summary: &'a Summary,
    setup: &'a Setup,
    theory: &'a Theory,
    shares: &'a [Share],
    binding: Option<Owner>,
    /// What the jobs waited for most, where only their results tell it.
    longest: Option<Waited>,
    /// All that they waited, in per cent of their time, where that is too little to bind.
    little: Option<u64>,
    /// No job says what it waited for.
    is_untold: bool,
}

/// A cause in words, and what would change it.
struct Cure {
    verdict: String,
    advice: String,
}

/// Runs of which the shares say nothing: the first that applies is the verdict.
const SPECIAL: [fn(&Seen) -> Option<Cure>; 5] = [
    |seen| {
        let failures = &seen.summary.tally.failures;
        let of = |kind| failures.get(&kind).copied().unwrap_or(0);
        let lost = of(FailureKind::Connect) + of(FailureKind::Dns) + of(FailureKind::Tls);
        let failed = seen.summary.tally.counts.failed;
        (failed > 0 && lost == failed && seen.summary.tally.counts.ok == 0).then(|| Cure {
            verdict: "no job could connect".to_owned(),
            advice: "start the server, or see the run without one: --mock answers in its place"
                .to_owned(),
        })
    },
    |seen| {
        let tally = &seen.summary.tally;
        let (ok, failed) = (tally.counts.ok, tally.counts.failed);
        let (status, count) = tally.statuses.iter().max_by_key(|(_, count)| **count)?;
        let answers: u64 = tally.statuses.values().sum();
        let wrong = ok == 0 && failed > 0 && count * 2 > answers && is_of_the_request(*status);
        wrong.then(|| Cure {
            verdict: format!("no job was ok: {count} of {answers} answers were {status}"),
            advice: "see that the URL, the method and the credentials are right; what the server says stands in \
                     each result"
                .to_owned(),
        })
    },
    |seen| {
        let tally = &seen.summary.tally;
        let late = tally.try_failures.get(&FailureKind::Timeout).copied();
        let late = late.filter(|late| *late > tally.tries / 2)?;
        Some(Cure {
            verdict: format!(
                "most tries were given up: {late} of {} took longer than --timeout lets them",
                tally.tries
            ),
            advice:
                "a longer --timeout, above what the API takes, lets them be answered; more slots \
                     and more retries only ask it for more"
                    .to_owned(),
        })
    },
    |seen| {
        (seen.summary.tally.tries == 0).then(|| Cure {
            verdict: "nothing was sent".to_owned(),
            advice: String::new(),
        })
    },
    |seen| {
        seen.is_untold.then(|| Cure {
            verdict: "these results do not tell what held the jobs back".to_owned(),
            advice: String::new(),
        })
    },
];

/// What is worth a sentence beside the verdict, in the order of printing.
const FINDINGS: [fn(&Seen) -> Option<String>; 15] = [
    |seen| {
        let refused = seen.summary.tally.answers(StatusCode::TOO_MANY_REQUESTS);
        if refused == 0 {
            return None;
        }
        let answers: u64 = seen.summary.tally.statuses.values().sum();
        let told = seen.summary.stretch.part != Part::Recorded;
        Some(if seen.setup.limits.is_empty() && !told {
            format!("{refused} of {answers} answers were 429: the server wants fewer requests")
        } else if seen.setup.limits.is_empty() {
            let told = refusals::told(seen.summary).map(|told| format!("; {told}"));
            format!(
                "{refused} of {answers} answers were 429{}{}",
                if seen.summary.learning.keys.is_empty() {
                    " and no rate limit is set; slots look at no clock, --qps N does"
                } else {
                    ": by them --adaptive learns the limit"
                },
                told.unwrap_or_default()
            )
        } else {
            if let Some(name) = seen.exceeded() {
                return Some(format!(
                    "{refused} of {answers} answers were 429, and {name} was exceeded: see the proof"
                ));
            }
            let why = refusals::why(seen.summary, seen.setup, seen.theory);
            format!("429s while every own limit held ({refused} of {answers} answers): {why}")
        })
    },
    |seen| {
        let long = *seen
            .summary
            .tally
            .failures
            .get(&FailureKind::RetryAfterTooLong)?;
        Some(format!(
            "{} told to wait longer than --max-retry-after: nothing more of that key was sent, and its \
             other jobs are cancelled; --resume --retry-failed goes on with them later",
            plural(long, "job was", "jobs were")
        ))
    },
    |seen| {
        let never = *seen.summary.tally.failures.get(&FailureKind::Limit)?;
        Some(format!(
            "{} can never fit a limit, each costs more than it ever holds: \
             raise its burst, or split the request",
            plural(never, "job", "jobs")
        ))
    },
    |seen| {
        let late = *seen
            .summary
            .tally
            .failures
            .get(&FailureKind::QueueTimeout)?;
        Some(format!(
            "{} not sent, as the wait was longer than --queue-timeout",
            plural(late, "job was", "jobs were")
        ))
    },
    |seen| {
        let count = seen.summary.unseen?.unrepeated;
        (count > 0).then(|| {
            format!(
                "{} not repeated, as the server may have acted already: \
                 --retry-unsafe always repeats such tries",
                plural(count, "failed try was", "failed tries were")
            )
        })
    },
    |seen| {
        let (retries, tries) = (seen.summary.tally.retries, seen.summary.tally.tries);
        let percent = (retries * 100).checked_div(tries)?;
        (percent >= MANY_RETRIES).then(|| {
            format!("{percent} % of all tries were retries, and each of them met every limit again")
        })
    },
    |seen| {
        let unseen = seen.summary.unseen?;
        (unseen.breaks > 0).then(|| {
            format!(
                "the breaker paused an origin {}, {} in all, as its tries failed in a row: \
                 one job at a time asked whether it was back",
                plural(unseen.breaks, "time", "times"),
                show_span(unseen.broken_for)
            )
        })
    },
    |seen| {
        let store = seen.summary.unseen?.store;
        (store.asks > 0).then(|| {
            let lapsed = match store.lapsed {
                0 => String::new(),
                lapsed => format!(", {lapsed} not used by their moments"),
            };
            format!(
                "the limits were shared by up to {}; {} the store, {} refused at first{lapsed}",
                plural(store.members.into(), "process", "processes"),
                plural(store.asks, "grant was asked of", "grants were asked of"),
                store.refused
            )
        })
    },
    |seen| {
        let store = seen.summary.unseen?.store;
        (store.times_away > 0).then(|| {
            format!(
                "the store that shares the limits was away {}, {} in all",
                plural(store.times_away, "time", "times"),
                show_span(store.away)
            )
        })
    },
    |seen| {
        let store = seen.summary.unseen?.store;
        (store.emptied > 0).then(|| {
            format!(
                "the store lost what it held {}: each limit began anew, with one more window or burst",
                plural(store.emptied, "time", "times")
            )
        })
    },
    |seen| {
        let unseen = seen.summary.unseen?;
        (unseen.retries_held > 0).then(|| {
            format!(
                "the retry budget (10 % of the jobs) held {} back, {} in all, as too many tries failed: \
                 fewer slots (-c N) or a lower --qps ask less of the server",
                plural(unseen.retries_held, "retry", "retries"),
                show_span(unseen.retries_held_for)
            )
        })
    },
    |seen| {
        let share = seen.beside(Owner::LookAhead)?;
        let key = seen.full_of();
        Some(format!(
            "look-ahead was full of {key} {share} % of the time: no other job could be read"
        ))
    },
    |seen| {
        let share = seen.beside(Owner::Client)?;
        Some(format!(
            "this program was late {share} % of the time: jobs were due and had not been sent"
        ))
    },
    |seen| {
        let share = seen.beside(Owner::Sink)?;
        Some(format!(
            "writing results held the jobs {share} % of the time"
        ))
    },
    |seen| {
        let share = seen.beside(Owner::Order)?;
        Some(format!(
            "--ordered held the jobs {share} % of the time: results waited for an older one"
        ))
    },
];

impl Seen<'_> {
    /// The share of an owner that does not bind and is worth a word.
    fn beside(&self, owner: Owner) -> Option<u64> {
        let share = self.shares.iter().find(|share| share.owner == owner)?;
        let beside = self.binding != Some(owner) && share.percent >= WORTH_SAYING;
        beside.then_some(share.percent)
    }

    /// The first limit that was not kept.
    fn exceeded(&self) -> Option<String> {
        let mut limits = self.summary.proof.limits.iter();
        let number = limits.position(|proved| !proved.verdict.is_kept())?;
        Some(self.setup.name_of(Owner::Limit(number)))
    }

    /// Tries that failed as no connection was to be had.
    fn connects_failed(&self) -> u64 {
        let failures = &self.summary.tally.try_failures;
        [
            FailureKind::Connect,
            FailureKind::Dns,
            FailureKind::Tls,
            FailureKind::Timeout,
        ]
        .iter()
        .filter_map(|kind| failures.get(kind))
        .sum()
    }

    fn full_of(&self) -> &str {
        let lane = self.summary.full_of.as_ref();
        lane.map_or("one origin", |lane| lane)
    }

    /// The verdict that follows from the shares, with the share of the owner that binds.
    fn usual(&self) -> Cure {
        let owner = self.binding.unwrap_or(Owner::Nothing);
        if let Some(longest) = &self.longest {
            return self.by_waits(longest);
        }
        let mut cure = self.cure(owner);
        if let Some(little) = self.little {
            let little = if little == 0 {
                "under 1".to_owned()
            } else {
                little.to_string()
            };
            cure.verdict = format!(
                "little held the jobs back: they waited for {little} % of the time that they took"
            );
        }
        let share = self.shares.iter().find(|share| share.owner == owner);
        if let Some(share) = share {
            let part = match self.summary.stretch.part {
                Part::Steady => "steady part",
                Part::Whole | Part::Recorded => "run",
            };
            cure.verdict = format!("{} ({} % of the {part})", cure.verdict, share.percent);
        }
        cure
    }

    /// The verdict that follows from the waits of the jobs.
    fn by_waits(&self, longest: &Waited) -> Cure {
        let mut cure = match longest.owner {
            Some(owner) => self.cure(owner),
            None => Cure {
                verdict: format!("{} held the jobs", longest.name),
                advice: "give the limits by options, as to the run: --qps, --window, --tpm"
                    .to_owned(),
            },
        };
        let percent = longest.percent;
        cure.verdict = format!("{} ({percent} % of the jobs' waits)", cure.verdict);
        cure
    }

    /// What the server's own limit chose.
    fn learnt(&self) -> Cure {
        let advice = match &self.summary.learning.keys[..] {
            [key] if !key.options().is_empty() => {
                let options = key.options().join(" ");
                let observed = self.summary.stretch.rate;
                match key.pace_by_hand().map(Pace::per_second) {
                    Some(pace) if pace < observed => format!(
                        "--adaptive keeps it as it is learnt; {options} is what was taken on the whole, \
                         below this run's {}/s, refusals and all",
                        three_digits(observed)
                    ),
                    Some(_) | None => format!("{options} keeps it from the first request on"),
                }
            }
            [] | [_] => "--adaptive keeps it as it is learnt".to_owned(),
            [..] => {
                "each origin or key has its own: LEARNT has them, and --per host keeps limits apart"
                    .to_owned()
            }
        };
        let verdict = "the server's own limit chose this rate, as its answers teach it".to_owned();
        Cure { verdict, advice }
    }

    /// Most of the time that the store held the jobs it was not there; else they waited for its answers.
    fn store_was_away(&self) -> bool {
        let held = self.shares.iter().find(|share| share.owner == Owner::Store);
        let away = self.summary.unseen.map(|unseen| unseen.store.away);
        let both = away.zip(held);
        both.is_some_and(|(away, held)| !away.is_zero() && away >= held.span / 2)
    }

    /// The table of causes: one row for each owner of time.
    fn cure(&self, owner: Owner) -> Cure {
        let rate = rate_option(self.for_each(self.summary.stretch.rate));
        let each = self.in_each();
        let (verdict, advice) = match owner {
            Owner::Limit(number) => return self.limit(number),
            Owner::Adaptive => return self.learnt(),
            Owner::Store if self.store_was_away() => (
                "the store through which limits are shared was away".to_owned(),
                "--on-store-fail local goes on meanwhile with a part of each limit".to_owned(),
            ),
            Owner::Store => (
                "the store through which limits are shared held the jobs: they waited for its answers".to_owned(),
                "a store that is nearer answers sooner; a deeper --burst lets more go with each answer".to_owned(),
            ),
            Owner::SharedSlot => (
                "the slots that all processes share chose this rate: they were taken".to_owned(),
                "a higher --shared-concurrency goes faster as long as the server's latency stays"
                    .to_owned(),
            ),
            Owner::Slot => return self.slots(),
            Owner::HostSlot => (
                format!(
                    "one origin's latency chose this rate: {} were taken",
                    self.setup.name_of(owner)
                ),
                "a higher --per-host goes faster as long as that origin's latency stays".to_owned(),
            ),
            Owner::Order => (
                "the order of the results chose this rate: those that waited for an older one had \
                 the slots or the look-ahead"
                    .to_owned(),
                "without --ordered each is written as it comes, and its `seq` tells the order; more \
                 slots (-c N), and a --lookahead above them, let more of them wait"
                    .to_owned(),
            ),
            Owner::Pause => (
                "the server asked for pauses".to_owned(),
                "--window N/DUR (a rolling window) or --qps N a little below the server's own limit \
                    needs no pause"
                    .to_owned(),
            ),
            Owner::Backoff if self.summary.unseen.is_some_and(|unseen| unseen.breaks > 0) => (
                "an origin failed again and again: its jobs waited until it was back".to_owned(),
                "the MAX of --backoff MIN..MAX is the longest that it is left alone; \
                 --max-attempts 1 takes each failure as the result"
                    .to_owned(),
            ),
            Owner::Backoff => (
                "too many retries: every job that was left rested before its next try".to_owned(),
                "--backoff MIN..MAX sets these rests, --max-attempts N ends them earlier"
                    .to_owned(),
            ),
            Owner::Connect if self.connects_failed() == 0 => (
                "opening connections held the jobs: they had to wait until theirs was there".to_owned(),
                "fewer slots (-c N) open fewer, and use them again".to_owned(),
            ),
            Owner::Connect => (
                "connecting failed: jobs waited while their origin rested".to_owned(),
                "--max-attempts 1 fails at once instead of trying again".to_owned(),
            ),
            Owner::Input => (
                "the input chose this rate: no job was there to be sent".to_owned(),
                self.slots_that_do(self.summary.stretch.rate).map_or_else(
                    || "no option makes the input faster".to_owned(),
                    |slots| format!("no option makes the input faster; {slots}"),
                ),
            ),
            Owner::LookAhead => (
                format!(
                    "look-ahead was full of {}: no other job could be read",
                    self.full_of()
                ),
                "--lookahead N holds more jobs; an input that mixes its origins needs fewer"
                    .to_owned(),
            ),
            Owner::Client => (
                "this program was the bottleneck: jobs were due and it was late".to_owned(),
                if self.setup.arrivals.are_scheduled() {
                    "it keeps to the times where less goes on beside it, or with fewer jobs at a time"
                        .to_owned()
                } else {
                    format!("--qps {rate}{each} is what it reaches on this machine")
                },
            ),
            Owner::Sink => (
                "writing results was the bottleneck".to_owned(),
                "--body none writes less for each job; a faster disk for -o does too".to_owned(),
            ),
            Owner::Nothing if self.setup.arrivals.are_scheduled() => (
                format!(
                    "the schedule chose this rate: {}, and each job was sent when it was due",
                    self.setup.arrivals.as_options()
                ),
                self.slots_that_did(),
            ),
            Owner::Nothing => (
                "nothing held the jobs back: each was sent as soon as it was read".to_owned(),
                self.slots_that_did(),
            ),
        };
        Cure { verdict, advice }
    }

    /// As many as were used at once.
    fn slots_that_did(&self) -> String {
        match (self.setup.runs.count(), self.summary.peak_in_flight.max(1)) {
            (1, peak) if self.setup.slots == Some(peak) => {
                "each of the slots was used, and none was waited for: leave them".to_owned()
            }
            (1, peak) => format!("--concurrency {peak} would do"),
            (_, peak) => format!("{} would do for all runs", plural(peak, "slot", "slots")),
        }
    }

    /// All slots were taken.
    fn slots(&self) -> Cure {
        let (slots, by) = (self.setup.slots, self.setup.slots_by);
        let (verdict, advice) = match (slots, by) {
            (Some(slots), SlotsBy::Files) => (
                format!(
                    "the open files chose this rate: all {slots} connections that they allow were taken"
                ),
                "more open files (ulimit -n) allow more at once; who waits for no answer needs \
                 rate x latency of them"
                    .to_owned(),
            ),
            (slots, SlotsBy::Option | SlotsBy::Files) => (
                format!(
                    "the API's latency chose this rate: {} taken",
                    match slots {
                        Some(1) => "the one slot was".to_owned(),
                        Some(slots) => format!("all {slots} slots were"),
                        None => "all slots were".to_owned(),
                    }
                ),
                if self.setup.arrivals.are_scheduled() {
                    "more slots (-c N) let more jobs go when they are due; -c none waits for no answer"
                        .to_owned()
                } else {
                    let rate = self.for_each(self.at_slots());
                    let keeps = format!(
                        ": --qps {}{} keeps this one when the API gets faster",
                        rate_option(rate),
                        self.in_each()
                    );
                    format!(
                        "--qps N chooses the rate{}; more slots go faster only as long as its latency stays",
                        if rate < LEAST_RATE { "" } else { &keeps },
                    )
                },
            ),
        };
        Cure { verdict, advice }
    }

    /// The rows of the rate limits, by what they count and by which rule.
    fn limit(&self, number: usize) -> Cure {
        let name = self.setup.name_of(Owner::Limit(number));
        let spec = self.setup.limits.get(number);
        let verdict = match spec.map(|spec| (spec.counts, spec.kind.promise())) {
            Some((counts @ (Counts::Units | Counts::Input | Counts::Output), _)) => format!(
                "the token quota chose this rate: {name} was used up at {} a try",
                three_digits(self.summary.stretch.units.of(counts))
            ),
            Some((Counts::Requests, Promise::TwoPeriods)) => {
                format!("the two-window counter chose this rate: {name} was full")
            }
            Some((Counts::Requests, Promise::AnyPeriod)) => {
                format!("the sliding window chose this rate: {name} was full")
            }
            Some((Counts::Requests, Promise::OwnPeriods)) => {
                format!("the fixed window chose this rate: {name} was full")
            }
            Some((Counts::Requests, Promise::Flow)) | None => {
                format!("the request limit chose this rate: {name} was used up")
            }
        };
        let ceiling = self
            .theory
            .ceilings
            .iter()
            .find(|ceiling| matches!(ceiling.cause, Cause::Limit(of, _) if of == number));
        let rate = ceiling.map_or(self.summary.stretch.rate, |ceiling| ceiling.rate);
        let option = name.rsplit_once(' ').map_or(&*name, |(option, _)| option);
        let change = self.slots_that_do(rate).unwrap_or_else(|| {
            format!("only a higher {option} goes faster, if the server allows more")
        });
        let crossover = self.theory.crossover.as_ref().map(Crossover::to_string);
        let advice = std::iter::once(change).chain(crossover).collect::<Vec<_>>();
        Cure {
            verdict,
            advice: advice.join("; "),
        }
    }

    /// The rate that the slots chose: a short part may hold more ends of tries than they let through for long.
    fn at_slots(&self) -> f64 {
        let observed = self.summary.stretch.rate;
        let ceiling = self.theory.slots_ceiling();
        ceiling.map_or(observed, |ceiling| observed.min(ceiling.rate))
    }

    /// Of what all runs do at once the part of one.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    fn for_each(&self, rate: f64) -> f64 {
        rate / self.setup.runs.count() as f64
    }

    /// Stands behind an option that each of several runs has.
    fn in_each(&self) -> &'static str {
        match self.setup.runs.count() {
            1 => "",
            _ => " in each run",
        }
    }

    /// The fewest slots that carry `rate` by Little's law, and one for the variation; `None` if there
    /// are no more than these, or nothing is known of the latency. Of several runs each has its part of both.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float saturates; rates are never negative"
    )]
    fn slots_that_do(&self, rate: f64) -> Option<String> {
        let mean = self.summary.stretch.mean?;
        let needed = ((self.for_each(rate) * mean.as_secs_f64()).ceil() as u64).saturating_add(1);
        let fewer = self
            .setup
            .slots
            .is_none_or(|slots| needed < slots / self.setup.runs.count());
        fewer.then(|| format!("--concurrency {needed}{} would do", self.in_each()))
    }
}

/// A rate that an option takes: `N` if there is none to name.
/// What is less is no rate to go by.
const LEAST_RATE: f64 = 0.001;

/// Whether such a status says that the request is wrong, whenever and however often it is sent.
fn is_of_the_request(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 408 | 425 | 429)
}

fn rate_option(rate: f64) -> String {
    if rate < LEAST_RATE {
        "N".to_owned()
    } else {
        plain(rate)
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::limit::Spec;
    use crate::metrics::{KeyLearnt, Metrics, StoreSeen, Unseen};
    use crate::proof::Proof;
    use crate::units::Tick;

    /// A run of 10 s at 10/s with 99.3 ms in flight, in which these owners had so many per cent.
    fn run(shares: &[(Owner, u64)], change: impl FnOnce(&mut Summary)) -> Diagnosis {
        let mut summary = Metrics::new(Duration::ZERO, Proof::nothing()).close(Tick::ZERO);
        summary.tally.tries = 100;
        summary.tally.counts.ok = 100;
        summary.elapsed = Duration::from_secs(10);
        summary.peak_in_flight = 3;
        let stretch = &mut summary.stretch;
        stretch.to = Tick::ZERO.after(Duration::from_secs(10));
        stretch.shares = shares
            .iter()
            .map(|&(owner, percent)| (owner, Duration::from_millis(percent * 100)))
            .collect();
        stretch.rate = 10.0;
        stretch.units.total = 850.0;
        stretch.mean = Some(Duration::from_micros(99_300));
        change(&mut summary);
        let limit = |text: &str| text.parse::<Spec>().unwrap();
        let setup = Setup {
            slots: Some(20),
            limits: vec![
                limit("10/s name=qps"),
                limit("tokens 100000/m name=tpm"),
                limit("100/10s window"),
                limit("10/s fixed"),
            ],
            ..Setup::default()
        };
        let theory = Theory::of(&setup, &summary);
        Diagnosis::of(&summary, &setup, &theory)
    }

    #[test]
    fn each_cause_has_its_sentence_and_names_an_option() {
        for (owner, verdict, option) in [
            (
                Owner::Slot,
                "the API's latency chose this rate: all 20 slots",
                "--qps 10 keeps",
            ),
            (
                Owner::Limit(0),
                "--qps 10 was used up",
                "--concurrency 2 would do; 20 slots",
            ),
            (
                Owner::Limit(1),
                "--tpm 100000 was used up at 850 a try",
                "--concurrency 2 would",
            ),
            (
                Owner::Limit(2),
                "--window 100/10s was full",
                "--concurrency 2 would do",
            ),
            (
                Owner::Limit(3),
                "--limit 10/s fixed was full",
                "--concurrency 2 would do",
            ),
            (
                Owner::Pause,
                "the server asked for pauses",
                "--window N/DUR",
            ),
            (
                Owner::Order,
                "the order of the results chose this rate",
                "without --ordered",
            ),
            (Owner::Backoff, "too many retries", "--backoff"),
            (Owner::Connect, "connecting failed", "--max-attempts"),
            (
                Owner::Input,
                "the input chose this rate",
                "--concurrency 2 would do",
            ),
            (Owner::LookAhead, "full of http://a.test", "--lookahead"),
            (Owner::Client, "this program was the bottleneck", "--qps 10"),
            (
                Owner::Sink,
                "writing results was the bottleneck",
                "--body none",
            ),
            (
                Owner::Nothing,
                "nothing held the jobs back",
                "--concurrency 3 would do",
            ),
        ] {
            let diagnosis = run(&[(owner, 100)], |summary| {
                summary.full_of = Some("http://a.test".to_owned());
                summary.tally.try_failures.insert(FailureKind::Connect, 3);
            });
            let Diagnosis {
                verdict: said,
                advice,
                ..
            } = &diagnosis;
            assert!(said.contains(verdict), "{owner:?}: {said}");
            assert!(said.ends_with("(100 % of the run)"), "{owner:?}: {said}");
            assert!(advice.contains(option), "{owner:?}: {advice}");
            assert_eq!(diagnosis.findings, [""; 0], "{owner:?}");
        }
    }

    #[test]
    fn results_alone_do_not_say_that_nothing_held_jobs_which_they_say_have_waited() {
        let of = |wait: &str, millis: u64, elapsed: u64| {
            let mut summary = Metrics::new(Duration::ZERO, Proof::nothing()).close(Tick::ZERO);
            let waits = [(wait.into(), Duration::from_millis(millis))];
            summary.tally.tries = 100;
            summary.tally.waits = waits.into_iter().collect();
            summary.elapsed = Duration::from_millis(elapsed);
            summary.stretch.part = Part::Recorded;
            summary.stretch.ended = 100;
            summary.stretch.mean = Some(Duration::from_millis(10));
            let setup = Setup::default();
            let theory = Theory::of(&setup, &summary);
            Diagnosis::of(&summary, &setup, &theory).verdict
        };
        let little = |share| {
            format!(
                "little held the jobs back: they waited for {share} % of the time that they took"
            )
        };
        let slots =
            "the API's latency chose this rate: all slots were taken (100 % of the jobs' waits)";
        assert_eq!(
            of("slot", 0, 5_000),
            "nothing held the jobs back: each was sent as soon as it was read"
        );
        assert_eq!(of("slot", 9, 5_000), little("under 1"));
        assert_eq!(of("slot", 110, 5_000), little("9"));
        assert_eq!(
            of("slot", 112, 5_000),
            slots,
            "a tenth of the time of the jobs"
        );
        // Of a hundred jobs in ten slots one waits at a time, all the time.
        assert_eq!(of("slot", 100, 100), slots, "all of the time of the run");
        assert_eq!(
            of("backoff", 110, 100),
            little("9"),
            "others were sent meanwhile"
        );
    }

    #[test]
    fn the_largest_share_binds_and_nothing_does_only_if_all_else_is_small() {
        let of = |shares: &[(Owner, u64)]| run(shares, |_| ()).binding;
        assert_eq!(
            of(&[(Owner::Nothing, 60), (Owner::Slot, 40)]),
            Some(Owner::Slot)
        );
        assert_eq!(
            of(&[(Owner::Nothing, 95), (Owner::Slot, 5)]),
            Some(Owner::Nothing)
        );
        assert_eq!(of(&[]), Some(Owner::Nothing));
        assert_eq!(run(&[], |summary| summary.tally.tries = 0).binding, None);
    }

    #[test]
    fn what_else_was_seen_is_a_finding() {
        let all: &[(Owner, u64)] = &[
            (Owner::Slot, 60),
            (Owner::LookAhead, 10),
            (Owner::Client, 10),
            (Owner::Sink, 10),
            (Owner::Order, 10),
        ];
        let findings = run(all, |summary| {
            summary.tally.statuses.extend([(200, 88), (429, 12)]);
            summary.tally.failures.insert(FailureKind::Limit, 2);
            summary.tally.failures.insert(FailureKind::QueueTimeout, 3);
            let too_long = FailureKind::RetryAfterTooLong;
            summary.tally.failures.insert(too_long, 1);
            summary.unseen = Some(Unseen {
                unrepeated: 1,
                breaks: 3,
                broken_for: Duration::from_secs(62),
                retries_held: 37,
                retries_held_for: Duration::from_millis(12_300),
                store: StoreSeen {
                    asks: 40,
                    refused: 7,
                    lapsed: 2,
                    members: 4,
                    times_away: 2,
                    away: Duration::from_secs(3),
                    emptied: 1,
                },
                ..Unseen::default()
            });
            summary.tally.retries = 12;
        })
        .findings;
        for (finding, text) in findings.iter().zip([
            "429s while every own limit held (12 of 100 answers)",
            "1 job was told to wait longer than --max-retry-after",
            "2 jobs can never fit a limit",
            "3 jobs were not sent",
            "1 failed try was not repeated",
            "12 % of all tries were retries",
            "the breaker paused an origin 3 times, 62.0 s in all, as its tries failed in a row",
            "the limits were shared by up to 4 processes; 40 grants were asked of the store, 7 refused at first, 2 not used",
            "the store that shares the limits was away 2 times, 3.00 s in all",
            "the store lost what it held 1 time: each limit began anew",
            "the retry budget (10 % of the jobs) held 37 retries back, 12.3 s in all",
            "look-ahead was full of one origin 10 %",
            "this program was late 10 %",
            "writing results held the jobs 10 %",
            "--ordered held the jobs 10 %",
        ]) {
            assert!(finding.starts_with(text), "{finding}");
        }
        assert_eq!(findings.len(), FINDINGS.len(), "{findings:?}");
    }

    #[test]
    fn a_store_that_was_away_for_a_moment_is_not_what_held_the_jobs_all_the_time() {
        fn away(summary: &mut Summary, seconds: u64) {
            let store = StoreSeen {
                times_away: 1,
                away: Duration::from_secs(seconds),
                ..StoreSeen::default()
            };
            summary.unseen = Some(Unseen {
                store,
                ..Unseen::default()
            });
        }
        let held = [(Owner::Store, 80)];
        for (told, words) in [
            (run(&held, |_| ()), "held the jobs"),
            (run(&held, |summary| away(summary, 3)), "held the jobs"),
            (run(&held, |summary| away(summary, 5)), "was away"),
        ] {
            assert!(told.verdict.contains(words), "{}", told.verdict);
        }
    }

    #[test]
    fn a_run_whose_tries_are_given_up_is_advised_to_wait_longer_and_not_to_send_more() {
        for (late, is_told) in [(100, true), (51, true), (50, false)] {
            let mut summary = Metrics::new(Duration::ZERO, Proof::nothing()).close(Tick::ZERO);
            summary.tally.tries = 100;
            summary
                .tally
                .try_failures
                .insert(FailureKind::Timeout, late);
            let setup = Setup {
                slots: Some(20),
                ..Setup::default()
            };
            let theory = Theory::of(&setup, &summary);
            let Diagnosis {
                verdict, advice, ..
            } = Diagnosis::of(&summary, &setup, &theory);
            let told = format!("{late} of 100 took longer than --timeout");
            assert_eq!(verdict.contains(&told), is_told, "{late}: {verdict}");
            assert_eq!(advice.contains("longer --timeout"), is_told, "{advice}");
        }
    }

    #[test]
    fn a_run_without_a_job_that_was_ok_is_told_of_the_status_and_not_of_its_speed() {
        let all = |status, ok| {
            run(&[(Owner::Slot, 100)], |summary| {
                summary.tally.counts.ok = ok;
                summary.tally.counts.failed = 3;
                summary.tally.statuses = [(status, 3)].into();
            })
            .verdict
        };
        assert_eq!(all(404, 0), "no job was ok: 3 of 3 answers were 404");
        for (status, ok) in [(404, 1), (429, 0), (503, 0)] {
            let verdict = all(status, ok);
            assert!(!verdict.contains("no job was ok"), "{status}: {verdict}");
        }
    }

    #[test]
    fn a_run_that_never_connects_is_advised_to_try_the_mock() {
        let diagnosis = run(&[(Owner::Connect, 100)], |summary| {
            summary.tally.counts.ok = 0;
            summary.tally.counts.failed = 3;
            summary.tally.failures.insert(FailureKind::Connect, 3);
        });
        assert_eq!(diagnosis.verdict, "no job could connect");
        assert!(diagnosis.advice.contains("--mock"), "{}", diagnosis.advice);
    }

    /// The server's own limit was learnt to be this.
    fn learnt(summary: &mut Summary, per_second: f64) {
        summary.learning.keys = vec![KeyLearnt {
            key: "http://a".to_owned(),
            pace: Some(Pace::per_second_of(per_second)),
            refused: 1,
            ..KeyLearnt::default()
        }];
    }

    #[test]
    fn a_learnt_pace_below_that_of_the_run_is_not_called_what_keeps_it() {
        let held = [(Owner::Adaptive, 100)];
        let above = run(&held, |summary| learnt(summary, 12.0)).advice;
        assert_eq!(above, "--qps 12.0 keeps it from the first request on");
        let below = run(&held, |summary| learnt(summary, 8.0)).advice;
        assert_eq!(
            below,
            "--adaptive keeps it as it is learnt; --qps 8.00 is what was taken on the whole, below this \
             run's 10.0/s, refusals and all"
        );
    }

    #[test]
    fn slots_advise_no_rate_above_what_they_let_through() {
        // 20 slots / 2.5 s = 8/s, where a short part has seen 10/s.
        let slow = |summary: &mut Summary| {
            summary.stretch.mean = Some(Duration::from_millis(2500));
            summary.tally.statuses.insert(200, 100);
        };
        let advice = run(&[(Owner::Slot, 100)], slow).advice;
        assert!(advice.contains("--qps 8 keeps this one"), "{advice}");
    }
}
