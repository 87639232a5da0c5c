//! Latencies as Prometheus counts them: how many up to each of few bounds. Floor 4: doors.

use std::time::Duration;

use crate::metrics::Latencies;

/// Latencies as a few numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cumulated {
    /// How many are at or below each of [`BOUNDS`], told apart by three digits.
    pub(super) up_to: [u64; BOUNDS.len()],
    /// How many there are.
    pub(super) count: u64,
    /// All of them together.
    pub(super) sum: Duration,
}

/// From a fast server on the same machine to a batch that waits for hours.
pub(super) const BOUNDS: [Duration; 18] = {
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
    pub(super) fn of(latencies: &Latencies) -> Self {
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
