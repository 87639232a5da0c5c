//! What is counted while a run goes: add, and close to derive its figures. Floor 3: rules.

mod account;
mod again;
mod busiest;
pub mod condition;
pub mod diagnose;
mod evidence;
mod figures;
mod latencies;
mod lateness;
mod learnt;
pub mod littles;
mod measure;
pub mod noise;
mod owner;
mod refusals;
mod remaining;
mod rests;
mod seconds;
mod setup;
mod shares;
pub mod streams;
mod stretch;
mod summary;
mod tally;
mod timeline;
mod waited;

use std::time::Duration;

use http::StatusCode;

pub use account::{Account, Heard, Taken};
pub use again::{Found, Run, Runs, Told};
pub use busiest::Busiest;
pub use evidence::{Evidence, Stated};
pub use figures::Figures;
pub use latencies::{LONGEST, Latencies};
pub use lateness::{LateBy, Lateness, STEPS};
pub use learnt::{KeyLearnt, Learning, ToldLimit};
pub use measure::Measure;
pub use owner::{HoldOn, Owner, Turn};
pub use remaining::{Left, Pace};
use rests::Rests;
use seconds::Seconds;
pub use setup::{AtOnce, Setup, SlotsBy};
pub use shares::Share;
pub use streams::Streams;
use stretch::Totals;
pub use stretch::{MeanUnits, Part, Stretch};
pub use summary::{ByVerdict, Counts, Sends, Summary, Unrecorded};
pub use tally::{Done, StoreSeen, Tally, Unseen};
pub use timeline::{Cell, Timeline};
pub use waited::{Waited, waited};

use crate::job::Keys;
use crate::limit::{self, Known, Learnt};
use crate::outcome::{Outcome, Status, Try};
use crate::proof::Proof;
use crate::quota::Quota;
use crate::units::Tick;

/// A first send that is later than due by more than this is late. A busy machine alone stays below it.
pub const LATE: Duration = Duration::from_millis(100);

/// The most seconds that are told one by one, 24 days: 8 MB.
pub const SECONDS: usize = 1 << 21;

/// Everything that is counted while a run goes. Memory: fixed, but 8 bytes for each second in which a try ended.
#[derive(Debug)]
pub struct Metrics {
    slack: Duration,
    tally: Tally,
    unseen: Unseen,
    totals: Totals,
    turn: Turn,
    rests: Rests,
    first_end: bool,
    steady_from: Option<Totals>,
    /// The last end of a try while a job was waiting.
    steady_to: Totals,
    /// Ended tries in each second since the start, and since the steady part began.
    per_second: Seconds,
    steady_per_second: Seconds,
    in_flight: u64,
    peak_in_flight: u64,
    /// The first grant.
    begun: Option<Totals>,
    last_grant: Tick,
    /// When the last grant is told to have been.
    last_told: Tick,
    /// Results of this run without a try.
    untried: u64,
    full_of: Option<String>,
    late_by: LateBy,
    learning: Learning,
    evidence: Evidence,
    proof: Proof,
    unrecorded: Vec<Unrecorded>,
}

impl Metrics {
    /// Nothing yet. `slack` is what a grant may be charged for the past: being late by less is no loss.
    /// `proof` is told of every try.
    pub fn new(slack: Duration, proof: Proof) -> Self {
        Self {
            slack,
            tally: Tally::default(),
            unseen: Unseen::default(),
            totals: Totals::default(),
            turn: Turn {
                hold: HoldOn::Open(Owner::Nothing),
                head: None,
                waiting: 0,
            },
            rests: Rests::default(),
            first_end: false,
            steady_from: None,
            steady_to: Totals::default(),
            per_second: Seconds::default(),
            steady_per_second: Seconds::default(),
            in_flight: 0,
            peak_in_flight: 0,
            begun: None,
            last_grant: Tick::ZERO,
            last_told: Tick::ZERO,
            untried: 0,
            full_of: None,
            late_by: LateBy::default(),
            learning: Learning::default(),
            evidence: Evidence::default(),
            proof,
            unrecorded: Vec::new(),
        }
    }

    /// A job will have no result: its tries that have ended stand in no line.
    pub fn unrecorded(&mut self, tries: &[Try], keys: &Keys) {
        let each = tries.iter().map(|made| Unrecorded {
            made: made.clone(),
            keys: keys.clone(),
        });
        self.unrecorded.extend(each);
    }

    /// Lines so far.
    pub fn counts(&self) -> Counts {
        self.tally.counts
    }

    /// What holds the oldest waiting job now.
    pub fn owner(&self) -> Owner {
        self.turn.hold.owner()
    }

    /// Until when it does, if that can be told.
    pub fn held_until(&self) -> Option<Tick> {
        match self.turn.hold {
            HoldOn::Until(_, until) => Some(until),
            HoldOn::Open(_) | HoldOn::Contest { .. } => None,
        }
    }

    /// How tries have gone so far; `None` before the first has ended.
    #[expect(clippy::cast_precision_loss, reason = "an estimate shows three digits")]
    pub fn pace(&self) -> Option<Pace> {
        let begun = self.begun.as_ref()?;
        let ended = self.totals.ended;
        let mean = self.totals.flight.checked_div(u128::from(ended))?;
        let results = ended.saturating_sub(self.tally.retries) + self.untried;
        let elapsed = self.totals.at.since(begun.at).as_secs_f64();
        Some(Pace {
            tries: ended as f64 / results.max(1) as f64,
            latency: Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)),
            rate: if elapsed > 0.0 {
                ended as f64 / elapsed
            } else {
                f64::INFINITY
            },
            rests: self.rests.per_result(self.tally.counts.done_now()),
            ended,
            units: self.totals.units,
        })
    }

    /// When the last grant is told to have been: none after it was before.
    pub fn last_told(&self) -> Tick {
        self.last_told
    }

    /// Since the last try was granted.
    pub fn since_last(&self) -> Duration {
        self.totals.at.since(self.last_grant)
    }

    /// What is counted until now, beside `waiting` jobs in line and at rest.
    pub fn figures(&self, waiting: usize) -> Figures<'_> {
        let before = self.begun.as_ref().map_or(&[][..], |begun| &begun.owners);
        let owners = self.totals.owners.iter().enumerate();
        let held = owners.map(|(place, &span)| {
            let before = before.get(place).copied().unwrap_or(0);
            (Owner::at(place), Duration::from_nanos(span - before))
        });
        let begun = self.begun.is_some();
        let held = held.filter(|(_, span)| begun && !span.is_zero());
        Figures {
            tally: &self.tally,
            pauses: self.unseen.pauses,
            in_flight: self.in_flight,
            waiting: waiting as u64,
            held: held.collect(),
            binds: self.owner(),
        }
    }

    /// Answers with this status so far, over all tries.
    pub fn answers(&self, status: StatusCode) -> u64 {
        self.tally.answers(status)
    }

    /// A line was read.
    pub fn read(&mut self) {
        self.tally.counts.read += 1;
    }

    /// The line has its result from an earlier run.
    pub fn done_before(&mut self, status: Status) {
        self.recorded(status);
        self.tally.counts.done_before += 1;
    }

    /// Time passed until `now`: it belongs to whoever held the oldest waiting job.
    pub fn advance(&mut self, now: Tick) {
        let from = self.totals.at;
        if now <= from {
            return;
        }
        let span = now.since(from);
        match self.turn.hold {
            HoldOn::Open(owner) => self.credit(from, now, owner),
            HoldOn::Until(owner, until) => {
                let late_from = until.after(self.slack).clamp(from, now);
                self.credit(from, late_from, owner);
                self.credit(late_from, now, Owner::Client);
            }
            HoldOn::Contest { .. } => self.totals.contested += span,
        }
        self.totals.in_flight += u128::from(self.in_flight) * u128::from(now.0 - from.0);
        if self.begun.is_some() {
            self.tally.timeline.flight(from, now, self.in_flight);
        }
        self.totals.at = now;
    }

    /// This time was this owner's.
    fn credit(&mut self, from: Tick, to: Tick, owner: Owner) {
        if to <= from {
            return;
        }
        self.totals.credit(owner, to.0.saturating_sub(from.0));
        if self.begun.is_some() {
            self.tally.timeline.held(from, to, owner);
        }
    }

    /// All time of a contest that is not decided was this owner's: it has passed just now.
    fn decide(&mut self, owner: Owner) {
        let span = self.totals.decide(owner);
        if self.begun.is_some() {
            let now = self.totals.at;
            self.tally.timeline.held(now.before(span), now, owner);
        }
    }

    /// A try was granted at `granted`: now, or a little earlier by a store that others share.
    pub fn granted(&mut self, now: Tick, granted: Tick) {
        if self.begun.is_none() {
            self.advance(now);
            let mut begun = self.totals.copy();
            begun.at = granted;
            self.begun = Some(begun);
        }
        // It was in flight since then.
        self.totals.in_flight += now.since(granted).as_nanos();
        self.proof.granted(granted);
        self.last_told = granted;
        self.last_grant = now;
        self.in_flight += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.in_flight);
        self.tally.tries += 1;
    }

    /// A try of a job with these keys has ended.
    pub fn ended(&mut self, now: Tick, done: &Try, keys: &Keys) {
        self.proof.ended(done, keys);
        self.in_flight -= 1;
        self.first_end = true;
        self.totals.ended += 1;
        self.totals.refused += u64::from(done.status == Some(StatusCode::TOO_MANY_REQUESTS));
        self.totals.flight += now.since(done.granted).as_nanos();
        if let Some(spent) = done.units {
            self.totals.units.add(spent);
        }
        self.tally.ended(done);
        if let Some(from) = &self.begun {
            self.per_second.add(now.since(from.at));
        }
        if let Some(from) = &self.steady_from {
            self.steady_per_second.add(now.since(from.at));
            if self.turn.waiting > 0 {
                self.steady_to.set(&self.totals);
            }
        }
    }

    /// An answer that should have said what it used did not.
    pub fn untold(&mut self) {
        self.unseen.untold += 1;
    }

    /// The try that was just granted is not the first of its job.
    pub fn retried(&mut self) {
        self.tally.retries += 1;
    }

    /// A server asked for a pause.
    pub fn paused(&mut self) {
        self.unseen.pauses += 1;
    }

    /// The budget for retries has held one for so long.
    pub fn held_retry(&mut self, span: Duration) {
        self.unseen.retries_held += 1;
        self.unseen.retries_held_for = self.unseen.retries_held_for.saturating_add(span);
    }

    /// So often an origin rested as it failed again and again, and for so long in all.
    pub fn broken(&mut self, times: u64, span: Duration) {
        (self.unseen.breaks, self.unseen.broken_for) = (times, span);
    }

    /// So much was seen of the store through which limits are shared.
    pub fn store(&mut self, seen: StoreSeen) {
        self.unseen.store = seen;
    }

    /// An answer at `at` to a try that was granted at `granted` tells limits; `account` is that of its key.
    pub fn hears(
        &mut self,
        account: &mut Option<Box<Account>>,
        (at, granted): (Tick, Tick),
        quotas: &[Quota],
    ) {
        let heard = Heard {
            at,
            granted,
            tries: self.tally.tries,
            in_flight: self.in_flight,
            quotas,
        };
        self.evidence.hear(account, &heard);
    }

    /// A failed try was final only because repeating it might do its work twice.
    pub fn unrepeated(&mut self) {
        self.unseen.unrepeated += 1;
    }

    /// Reading stopped at the bound of jobs held, mostly of this lane.
    pub fn full_of(&mut self, lane: impl FnOnce() -> Option<String>) {
        if self.full_of.is_none() {
            self.full_of = lane();
        }
    }

    /// A job was sent late, held by this owner; `None` if it was in time.
    pub fn late_by(&mut self, owner: Option<Owner>) {
        if let Some(owner) = owner {
            *self.late_by.entry(owner).or_default() += 1;
        }
    }

    /// Something is known anew of the limit of this name of this key's server.
    pub fn learnt(
        &mut self,
        key: &str,
        at: Tick,
        counts: limit::Counts,
        name: &str,
        learnt: Learnt,
    ) {
        self.learning.add(key, at, counts, name, learnt);
    }

    /// All who share a store know this now of the limits of this key's server.
    pub fn known(&mut self, key: &str, at: Tick, counts: limit::Counts, known: &Known) {
        self.learning.hear(key, at, counts, known);
    }

    /// A job has its last word.
    pub fn done(&mut self, outcome: &Outcome) {
        self.untried += u64::from(outcome.tries.is_empty());
        self.tally.done(&Done::of(outcome));
    }

    /// A result is in the file.
    pub fn recorded(&mut self, status: Status) {
        self.tally.recorded(status);
    }

    /// A contest is decided when its job goes or is held by one alone: by then the rival has let go or
    /// is the last.
    fn decide_contest(&mut self, now: Tick, next: &Turn) {
        let HoldOn::Contest { owner, rival, at } = self.turn.hold else {
            return;
        };
        let goes_on = next.head == self.turn.head && matches!(next.hold, HoldOn::Contest { .. });
        if !goes_on {
            let last = if at >= now { rival } else { owner };
            self.decide(last);
            self.steady_to.decide(last);
        }
    }

    /// The end of a turn.
    pub fn turn(&mut self, now: Tick, turn: Turn) {
        self.advance(now);
        self.decide_contest(now, &turn);
        let begins =
            self.first_end && self.steady_from.is_none() && turn.hold.owner() != Owner::Nothing;
        if begins {
            self.decide(turn.hold.owner());
            self.steady_from = Some(self.totals.copy());
            self.steady_to.set(&self.totals);
        }
        let owners = (self.turn.hold.owner(), turn.hold.owner());
        let results = self.tally.counts.done_now();
        self.rests.turn(now, results, owners.0, owners.1);
        self.turn = turn;
    }

    /// Derives the figures of the report. What was read and has no result counts as cancelled.
    pub fn close(mut self, now: Tick) -> Summary {
        self.advance(now);
        let over = Turn {
            hold: HoldOn::Open(Owner::Nothing),
            head: None,
            waiting: 0,
        };
        self.decide_contest(now, &over);
        self.tally.counts.cancelled = self.tally.counts.read - self.tally.counts.done();
        let begun = self.begun.unwrap_or_else(|| self.totals.copy());
        let steady = self
            .steady_from
            .as_ref()
            .map(|from| {
                Stretch::between(Part::Steady, from, &self.steady_to, &self.steady_per_second)
            })
            .filter(|steady| steady.ended >= 20 && steady.span() >= Duration::from_secs(1));
        let stretch = steady.unwrap_or_else(|| {
            Stretch::between(Part::Whole, &begun, &self.totals, &self.per_second)
        });
        Summary {
            tally: self.tally,
            unseen: Some(Unseen {
                cut_off: self.in_flight,
                ..self.unseen
            }),
            begun: begun.at,
            elapsed: now.since(begun.at),
            stretch,
            peak_in_flight: self.peak_in_flight,
            full_of: self.full_of,
            late_by: Some(self.late_by),
            learning: self.learning,
            evidence: self.evidence,
            proof: self.proof.close(),
            unrecorded: self.unrecorded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_the_first_job_is_no_part_of_the_run() {
        let mut metrics = Metrics::new(Duration::ZERO, Proof::nothing());
        let turn = |owner| Turn {
            hold: HoldOn::Open(owner),
            head: None,
            waiting: 0,
        };
        metrics.turn(Tick::ZERO, turn(Owner::Input));
        let second = |count| Tick::ZERO.after(Duration::from_secs(count));
        metrics.granted(second(5), second(5));
        metrics.turn(second(5), turn(Owner::Nothing));
        let summary = metrics.close(second(7));
        let span = Duration::from_secs(2);
        assert_eq!((summary.elapsed, summary.stretch.span()), (span, span));
        assert_eq!(summary.stretch.shares, [(Owner::Nothing, span)]);
    }
}
