//! How long after they were due jobs were first sent. Floor 3: rules.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Latencies, Owner};

/// Jobs that are later than each of these are counted.
pub const STEPS: [Duration; 4] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(1),
];

/// Of all jobs that were sent.
#[derive(Debug, Default)]
pub struct Lateness {
    spans: Latencies,
    over: [u64; STEPS.len()],
}

/// Jobs that were later than the first of [`STEPS`], by what held them the longest.
pub type LateBy = BTreeMap<Owner, u64>;

impl Lateness {
    /// A job was first sent so long after it was due.
    pub fn add(&mut self, late: Duration) {
        self.spans.add(late);
        for (over, step) in self.over.iter_mut().zip(STEPS) {
            *over += u64::from(late > step);
        }
    }

    /// How late they were.
    pub fn spans(&self) -> &Latencies {
        &self.spans
    }

    /// How many were later than each of [`STEPS`].
    pub fn over(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        STEPS.into_iter().zip(self.over)
    }
}
