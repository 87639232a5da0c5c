//! The figures of a run. Floor 3: rules.

use std::time::Duration;

use super::{Evidence, LateBy, Latencies, Learning, Stretch, Tally, Unseen};
use crate::job::Keys;
use crate::outcome::{Status, Try};
use crate::proof::Proven;
use crate::units::Tick;

/// The figures of a run.
#[derive(Debug)]
pub struct Summary {
    /// Sums over its jobs and tries; `cancelled` is among them.
    pub tally: Tally,
    /// What its results do not tell; `None` where the run itself has not told it.
    pub unseen: Option<Unseen>,
    /// The first grant.
    pub begun: Tick,
    /// From then to the end; of several runs the time in which at least one of them ran.
    pub elapsed: Duration,
    /// The part of the run that the theory is set beside.
    pub stretch: Stretch,
    /// The most tries that were in flight at once.
    pub peak_in_flight: u64,
    /// The origin, and the keys, that filled the look-ahead.
    pub full_of: Option<String>,
    /// What made jobs late; `None` if nothing tells.
    pub late_by: Option<LateBy>,
    /// What it has learnt of the limits of its servers.
    pub learning: Learning,
    /// What the answers have told of limits.
    pub evidence: Evidence,
    /// Whether the limits were kept; empty without limits.
    pub proof: Proven,
    /// Tries of jobs that have no result. At most those of the jobs that were held.
    pub unrecorded: Vec<Unrecorded>,
}

impl Summary {
    /// Whether any server answered anything: without an answer there is no rate to set beside a theory.
    pub fn was_answered(&self) -> bool {
        !self.tally.statuses.is_empty()
    }

    /// Answers per second; `None` without an answer.
    pub fn observed(&self) -> Option<f64> {
        self.was_answered().then_some(self.stretch.rate)
    }
}

/// A try that has ended and stands in no line: its job has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrecorded {
    /// The try.
    pub made: Try,
    /// The values of the keys of the limits.
    pub keys: Keys,
}

/// Lines of input by what became of them. `read = ok + failed + invalid + skipped + cancelled`, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Lines that were read.
    pub read: u64,
    /// A whole answer with a status of success.
    pub ok: u64,
    /// No such answer.
    pub failed: u64,
    /// The line makes no job.
    pub invalid: u64,
    /// Understood, and not sent by the rule of its format.
    pub skipped: u64,
    /// Read, and without a result when the run ended.
    pub cancelled: u64,
    /// Of those with a result: an earlier run had it.
    pub done_before: u64,
}

impl Counts {
    /// Lines that have their result.
    pub fn done(&self) -> u64 {
        self.ok + self.failed + self.invalid + self.skipped
    }

    /// Lines that this run has given their result.
    pub fn done_now(&self) -> u64 {
        self.done() - self.done_before
    }
}

/// Latencies of successes apart from those of failures.
#[derive(Debug, Default)]
pub struct ByVerdict {
    /// Of jobs that are `ok`.
    pub ok: Latencies,
    /// Of jobs that failed after they were sent.
    pub failed: Latencies,
}

impl ByVerdict {
    /// Those of jobs with this verdict.
    pub(super) fn of(&mut self, status: Status) -> &mut Latencies {
        match status {
            Status::Failed => &mut self.failed,
            Status::Ok | Status::Invalid | Status::Skipped => &mut self.ok,
        }
    }

    /// All of them.
    pub fn count(&self) -> u64 {
        self.ok.count() + self.failed.count()
    }
}

/// First and last send, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sends {
    /// How many.
    pub count: u64,
    /// The first.
    pub first: Tick,
    /// The last.
    pub last: Tick,
}

impl Sends {
    /// One more, in any order.
    pub fn add(&mut self, at: Tick) {
        if self.count == 0 || at < self.first {
            self.first = at;
        }
        self.last = self.last.max(at);
        self.count += 1;
    }

    /// `(N − 1) / (last − first)`: the rate that was reached, per second. `None` under two sends.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub fn rate(&self) -> Option<f64> {
        let span = self.last.since(self.first).as_secs_f64();
        (self.count > 1 && span > 0.0).then(|| (self.count - 1) as f64 / span)
    }
}
