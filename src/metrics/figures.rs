//! The figures of a run that goes on. Floor 3: rules.

use std::time::Duration;

use super::{Owner, Tally};

/// What is counted so far, beside what only the present moment knows.
#[derive(Debug, Clone)]
pub struct Figures<'a> {
    /// Sums over jobs and tries; `cancelled` is known at the end only.
    pub tally: &'a Tally,
    /// Pauses that a server asked for.
    pub pauses: u64,
    /// Tries in flight.
    pub in_flight: u64,
    /// Jobs in line and at rest.
    pub waiting: u64,
    /// Whose the time was since the first grant.
    pub held: Vec<(Owner, Duration)>,
    /// What holds the oldest waiting job now.
    pub binds: Owner,
}
