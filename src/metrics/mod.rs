//! What is counted while a run goes: add, and close to derive its figures. Floor 3: rules.

pub mod diagnose;
mod latencies;
pub mod littles;
mod owner;
mod shares;
mod stretch;
mod summary;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use latencies::{LONGEST, Latencies};
pub use owner::{HoldOn, Owner, Turn};
pub use shares::Share;
use stretch::Totals;
pub use stretch::{MeanUnits, Part, Stretch};
pub use summary::{ByVerdict, Counts, Sends, Summary};

use crate::job::Keys;
use crate::outcome::{FailureKind, Outcome, Status, Try, UnitsSpent};
use crate::proof::{Event as Sent, Proof};
use crate::units::Tick;

/// A first send that is later than due by more than this is late. A busy machine alone stays below it.
pub const LATE: Duration = Duration::from_millis(100);

/// Everything that is counted while a run goes. Memory: fixed, but 4 bytes for each second.
#[derive(Debug)]
pub struct Metrics {
    slack: Duration,
    counts: Counts,
    totals: Totals,
    turn: Turn,
    first_reply: bool,
    steady_from: Option<Totals>,
    /// The last end of a try while a job was waiting.
    steady_to: Totals,
    /// Ended tries in each second since the start, and since the steady part began.
    per_second: Vec<u32>,
    steady_per_second: Vec<u32>,
    in_flight: u64,
    peak_in_flight: u64,
    /// The first grant.
    begun: Option<Totals>,
    sends: Sends,
    tries: u64,
    retries: u64,
    pauses: u64,
    unrepeated: u64,
    late: u64,
    statuses: BTreeMap<u16, u64>,
    try_failures: BTreeMap<FailureKind, u64>,
    failures: BTreeMap<FailureKind, u64>,
    service: ByVerdict,
    since_due: ByVerdict,
    waits: BTreeMap<Arc<str>, Duration>,
    full_of: Option<String>,
    units: UnitsSpent,
    untold: u64,
    proof: Proof,
    unrecorded: Vec<Sent>,
}

impl Metrics {
    /// Nothing yet. `slack` is what a grant may be charged for the past: being late by less is no loss.
    /// `proof` is told of every try.
    pub fn new(slack: Duration, proof: Proof) -> Self {
        Self {
            slack,
            counts: Counts::default(),
            totals: Totals::default(),
            turn: Turn {
                hold: HoldOn::Open(Owner::Nothing),
                head: None,
                waiting: 0,
            },
            first_reply: false,
            steady_from: None,
            steady_to: Totals::default(),
            per_second: Vec::new(),
            steady_per_second: Vec::new(),
            in_flight: 0,
            peak_in_flight: 0,
            begun: None,
            sends: Sends::default(),
            tries: 0,
            retries: 0,
            pauses: 0,
            unrepeated: 0,
            late: 0,
            statuses: BTreeMap::new(),
            try_failures: BTreeMap::new(),
            failures: BTreeMap::new(),
            service: ByVerdict::default(),
            since_due: ByVerdict::default(),
            waits: BTreeMap::new(),
            full_of: None,
            units: UnitsSpent::default(),
            untold: 0,
            proof,
            unrecorded: Vec::new(),
        }
    }

    /// A job will have no result: its tries that were sent stand in no line.
    pub fn unrecorded(&mut self, tries: &[Try], keys: &Keys) {
        let sent = tries.iter().filter_map(|made| Sent::of(made, keys));
        self.unrecorded.extend(sent);
    }

    /// Lines so far.
    pub fn counts(&self) -> Counts {
        self.counts
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

    /// A line was read.
    pub fn read(&mut self) {
        self.counts.read += 1;
    }

    /// The line has its result from an earlier run.
    pub fn done_before(&mut self, status: Status) {
        self.recorded(status);
        self.counts.done_before += 1;
    }

    /// Time passed until `now`: it belongs to whoever held the oldest waiting job.
    pub fn advance(&mut self, now: Tick) {
        let from = self.totals.at;
        if now <= from {
            return;
        }
        let span = now.since(from);
        match self.turn.hold {
            HoldOn::Open(owner) => self.totals.credit(owner, span),
            HoldOn::Until(owner, until) => {
                let late_from = until.after(self.slack).clamp(from, now);
                self.totals.credit(owner, late_from.since(from));
                self.totals.credit(Owner::Client, now.since(late_from));
            }
            HoldOn::Contest { .. } => self.totals.contested += span,
        }
        self.totals.in_flight += u128::from(self.in_flight) * now.since(from).as_nanos();
        self.totals.at = now;
    }

    /// A try was granted.
    pub fn granted(&mut self, now: Tick) {
        if self.begun.is_none() {
            self.advance(now);
            self.begun = Some(self.totals.copy());
        }
        self.proof.granted(now);
        self.in_flight += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.in_flight);
        self.tries += 1;
    }

    /// A try of a job with these keys has ended.
    pub fn ended(&mut self, now: Tick, done: &Try, keys: &Keys) {
        self.proof.ended(done, keys);
        self.in_flight -= 1;
        self.first_reply = true;
        self.totals.ended += 1;
        self.totals.flight += now.since(done.granted).as_nanos();
        if let Some(spent) = done.units {
            self.units.add(spent);
            self.totals.units.add(spent);
        }
        if let Some(sent) = done.sent {
            if self.sends.count == 0 || sent < self.sends.first {
                self.sends.first = sent;
            }
            self.sends.last = self.sends.last.max(sent);
            self.sends.count += 1;
        }
        if let Some(status) = done.status {
            *self.statuses.entry(status.as_u16()).or_default() += 1;
        }
        if let Some(failure) = &done.failure {
            *self.try_failures.entry(failure.kind).or_default() += 1;
        }
        if let Some(from) = &self.begun {
            bump(&mut self.per_second, now.since(from.at));
        }
        if let Some(from) = &self.steady_from {
            bump(&mut self.steady_per_second, now.since(from.at));
            if self.turn.waiting > 0 {
                self.steady_to.set(&self.totals);
            }
        }
    }

    /// An answer that should have said what it used did not.
    pub fn untold(&mut self) {
        self.untold += 1;
    }

    /// A try will be repeated.
    pub fn retried(&mut self) {
        self.retries += 1;
    }

    /// A server asked for a pause.
    pub fn paused(&mut self) {
        self.pauses += 1;
    }

    /// A failed try was final only because repeating it might do its work twice.
    pub fn unrepeated(&mut self) {
        self.unrepeated += 1;
    }

    /// Reading stopped at the bound of jobs held, mostly of this lane.
    pub fn full_of(&mut self, lane: impl FnOnce() -> Option<String>) {
        if self.full_of.is_none() {
            self.full_of = lane();
        }
    }

    /// A job has its last word.
    pub fn done(&mut self, outcome: &Outcome) {
        let failed = outcome.status == Status::Failed;
        if let Some((kind, _)) = &outcome.error {
            *self.failures.entry(*kind).or_default() += 1;
        }
        if let (Some(service), Some(since_due)) = (outcome.latency(), outcome.since_due()) {
            let (first, second) = if failed {
                (&mut self.service.failed, &mut self.since_due.failed)
            } else {
                (&mut self.service.ok, &mut self.since_due.ok)
            };
            first.add(service);
            second.add(since_due);
        }
        let first = outcome.tries.first();
        let late = first.and_then(|first| Some(first.sent?.since(first.due)));
        self.late += u64::from(late.is_some_and(|late| late > LATE));
        for (name, span) in &outcome.waits {
            match self.waits.get_mut(name) {
                Some(sum) => *sum += *span,
                None => {
                    self.waits.insert(name.clone(), *span);
                }
            }
        }
    }

    /// A result is in the file.
    pub fn recorded(&mut self, status: Status) {
        match status {
            Status::Ok => self.counts.ok += 1,
            Status::Failed => self.counts.failed += 1,
            Status::Invalid => self.counts.invalid += 1,
        }
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
            self.totals.decide(last);
            self.steady_to.decide(last);
        }
    }

    /// The end of a turn.
    pub fn turn(&mut self, now: Tick, turn: Turn) {
        self.advance(now);
        self.decide_contest(now, &turn);
        let begins =
            self.first_reply && self.steady_from.is_none() && turn.hold.owner() != Owner::Nothing;
        if begins {
            self.totals.decide(turn.hold.owner());
            self.steady_from = Some(self.totals.copy());
            self.steady_to.set(&self.totals);
        }
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
        self.counts.cancelled = self.counts.read - self.counts.done();
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
            counts: self.counts,
            elapsed: now.since(begun.at),
            stretch,
            sends: self.sends,
            peak_in_flight: self.peak_in_flight,
            tries: self.tries,
            cut_off: self.in_flight,
            retries: self.retries,
            pauses: self.pauses,
            unrepeated: self.unrepeated,
            late: self.late,
            statuses: self.statuses,
            try_failures: self.try_failures,
            failures: self.failures,
            service: self.service,
            since_due: self.since_due,
            waits: self.waits,
            full_of: self.full_of,
            units: self.units,
            untold: self.untold,
            proof: self.proof.close(),
            unrecorded: self.unrecorded,
        }
    }
}

fn bump(seconds: &mut Vec<u32>, since: Duration) {
    let Ok(second) = usize::try_from(since.as_secs()) else {
        return;
    };
    if seconds.len() <= second {
        seconds.resize(second + 1, 0);
    }
    seconds[second] = seconds[second].saturating_add(1);
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
        metrics.granted(second(5));
        metrics.turn(second(5), turn(Owner::Nothing));
        let summary = metrics.close(second(7));
        let span = Duration::from_secs(2);
        assert_eq!((summary.elapsed, summary.stretch.span()), (span, span));
        assert_eq!(summary.stretch.shares, [(Owner::Nothing, span)]);
    }
}
