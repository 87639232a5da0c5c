//! What a proof allows for. Floor 3: rules.

use std::time::Duration;

/// What a proof allows for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// A grant may have been charged for up to so long before it.
    pub slack: Duration,
    /// Moments are told in multiples of this, rounded down. Stretches of a bucket may have been longer by
    /// it. Windows need no allowance: what is a period apart is so after rounding, if the period is a
    /// multiple; of any other period its whole multiples are taken.
    pub rounding: Duration,
    /// Events whose clocks differ may have been closer together by this than their moments say. If it is not zero,
    /// only what several clocks have told is looked at: the others need no skew.
    pub skew: Duration,
    /// The moment zero, since the Unix epoch.
    pub epoch: Duration,
}
