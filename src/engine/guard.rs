//! How ragged the way to the servers is: the guard that sliding windows keep. Floor 3: rules.

use std::time::Duration;

use super::Engine;
use crate::metrics::Latencies;
use crate::units::Tick;

/// Less jitter than this is not believed.
const LEAST: Duration = Duration::from_millis(5);

/// So many answers are looked at before their spread is believed, and again each time there are as many more
/// as this share of them.
const FIRST: u64 = 100;

/// The times from the send to the first byte of the answer.
#[derive(Debug, Default)]
pub(super) struct Travel {
    times: Latencies,
    looked_at: u64,
    guard: Option<Duration>,
}

impl Travel {
    pub(super) fn add(&mut self, time: Duration) {
        self.times.add(time);
    }

    /// The larger of 5 ms and the 99.9th percentile minus the median, where that is another than before.
    fn changed(&mut self) -> Option<Duration> {
        let count = self.times.count();
        if count < FIRST || count < self.looked_at + (self.looked_at / 4).clamp(FIRST, 10_000) {
            return None;
        }
        self.looked_at = count;
        let spread = self
            .times
            .quantile(0.999)?
            .saturating_sub(self.times.quantile(0.5)?);
        let guard = spread.max(LEAST);
        let before = self.guard.unwrap_or_default();
        // A tenth more or less is not worth going through all windows.
        let same = guard.abs_diff(before) <= before / 10;
        (!same).then(|| *self.guard.insert(guard))
    }
}

impl Engine {
    /// Windows keep the guard that the answers so far ask for.
    pub(super) fn measure_guard(&mut self) {
        if let Some(guard) = self.travel.as_mut().and_then(Travel::changed) {
            self.gate.keep_guard(guard);
            // Who is parked until a window opens may go earlier now.
            self.lanes.reopen_due(Tick(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_is_the_spread_of_the_answers_and_at_least_five_milliseconds() {
        let mut travel = Travel::default();
        let mut last = None;
        for nth in 0..2_000 {
            travel.add(Duration::from_millis(if nth % 100 == 99 { 40 } else { 20 }));
            last = travel.changed().or(last);
            assert_eq!(last.is_some(), nth >= 99, "after {nth}");
        }
        let guard = last.unwrap();
        assert!(
            guard.abs_diff(Duration::from_millis(20)) < Duration::from_micros(100),
            "{guard:?}"
        );
        let mut even = Travel::default();
        (0..200).for_each(|_| even.add(Duration::from_millis(20)));
        assert_eq!(even.changed(), Some(LEAST));
    }
}
