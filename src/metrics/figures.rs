//! The figures of a run that goes on, copied for a look from outside. Floor 3: rules.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{ByVerdict, Counts, Latencies, Owner, Tally};
use crate::outcome::{FailureKind, UnitsSpent, Waits};

/// What is counted so far. A copy: whoever reads it holds nothing up.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Lines of input; `cancelled` is known at the end only.
    pub counts: Counts,
    /// Tries granted.
    pub tries: u64,
    /// Tries in flight.
    pub in_flight: u64,
    /// Jobs in line and at rest.
    pub waiting: u64,
    /// Tries after the first of a job.
    pub retries: u64,
    /// Pauses that a server asked for.
    pub pauses: u64,
    /// Jobs whose first send was late by more than [`LATE`](super::LATE).
    pub late: u64,
    /// Answers by status, over all tries.
    pub statuses: BTreeMap<u16, u64>,
    /// Tries without a whole answer, by kind.
    pub try_failures: BTreeMap<FailureKind, u64>,
    /// Jobs that are not `ok`, by kind.
    pub failures: BTreeMap<FailureKind, u64>,
    /// First byte written to last byte read, of a job's last try.
    pub service: Spread,
    /// Last byte minus due.
    pub since_due: Spread,
    /// What the jobs waited for, summed.
    pub waits: Waits,
    /// What all tries reserved and used, where a limit counts units.
    pub units: UnitsSpent,
    /// Whose the time was since the first grant.
    pub held: Vec<(Owner, Duration)>,
    /// What holds the oldest waiting job now.
    pub binds: Owner,
}

/// Latencies of successes apart from those of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// Of jobs that are `ok`.
    pub ok: Cumulated,
    /// Of jobs that failed after they were sent.
    pub failed: Cumulated,
}

/// Latencies as a few numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cumulated {
    /// How many are at or below each of [`BOUNDS`], told apart by three digits.
    pub up_to: [u64; BOUNDS.len()],
    /// How many there are.
    pub count: u64,
    /// All of them together.
    pub sum: Duration,
}

/// From a fast server on the same machine to a batch that waits for hours.
pub const BOUNDS: [Duration; 18] = {
    let ms = Duration::from_millis;
    let s = Duration::from_secs;
    [
        ms(1),
        ms(5),
        ms(10),
        ms(25),
        ms(50),
        ms(100),
        ms(250),
        ms(500),
        s(1),
        ms(2_500),
        s(5),
        s(10),
        s(30),
        s(60),
        s(120),
        s(300),
        s(600),
        s(3600),
    ]
};

impl Cumulated {
    fn of(latencies: &Latencies) -> Self {
        let mut up_to = [0; BOUNDS.len()];
        let histogram = latencies.histogram();
        let micros = |bound: Duration| u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
        let (mut sum, mut next) = (0, 0);
        if !histogram.is_empty() {
            for (bound, up_to) in BOUNDS.into_iter().zip(&mut up_to) {
                let bound = histogram.highest_equivalent(micros(bound));
                sum += histogram.count_between(next, bound);
                (*up_to, next) = (sum, bound + 1);
            }
        }
        Self {
            up_to,
            count: latencies.count(),
            sum: latencies.sum(),
        }
    }
}

impl Spread {
    fn of(latencies: &ByVerdict) -> Self {
        Self {
            ok: Cumulated::of(&latencies.ok),
            failed: Cumulated::of(&latencies.failed),
        }
    }
}

impl Tally {
    /// A copy of what is counted, beside what only the present moment knows.
    pub(super) fn figures(&self, now: Present) -> Figures {
        Figures {
            counts: self.counts,
            tries: self.tries,
            in_flight: now.in_flight,
            waiting: now.waiting as u64,
            retries: self.retries,
            pauses: self.pauses,
            late: self.late,
            statuses: self.statuses.clone(),
            try_failures: self.try_failures.clone(),
            failures: self.failures.clone(),
            service: Spread::of(&self.service),
            since_due: Spread::of(&self.since_due),
            waits: self.waits.clone(),
            units: self.units,
            held: now.held,
            binds: now.binds,
        }
    }
}

/// What no sum tells.
#[derive(Debug)]
pub(super) struct Present {
    pub(super) in_flight: u64,
    pub(super) waiting: usize,
    pub(super) held: Vec<(Owner, Duration)>,
    pub(super) binds: Owner,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_counted_at_the_bounds_above_it() {
        let mut latencies = Latencies::default();
        let empty = Cumulated::of(&latencies);
        assert_eq!((empty.up_to, empty.count), ([0; BOUNDS.len()], 0));
        for bound in BOUNDS {
            latencies.add(bound);
            latencies.add(bound + bound / 100);
        }
        latencies.add(Duration::from_secs(86_400));
        let cumulated = Cumulated::of(&latencies);
        for (nth, up_to) in cumulated.up_to.into_iter().enumerate() {
            assert_eq!(up_to, 2 * nth as u64 + 1, "at most {:?}", BOUNDS[nth]);
        }
        assert_eq!(cumulated.count, 2 * BOUNDS.len() as u64 + 1);
        let sum: Duration = BOUNDS
            .into_iter()
            .map(|bound| 2 * bound + bound / 100)
            .sum();
        assert_eq!(cumulated.sum, sum + Duration::from_secs(86_400));
    }
}
