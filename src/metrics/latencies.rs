//! A histogram of latencies that no value can break. Floor 3: rules.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The largest latency that has a bucket of its own.
pub const LONGEST: Duration = Duration::from_secs(3600);

/// Latencies with three significant digits from 1 us to 1 h; longer ones are counted apart.
#[derive(Debug)]
pub struct Latencies {
    /// In microseconds.
    within: Histogram<u64>,
    beyond: u64,
    longest: Duration,
    /// Of all, to the nanosecond; one that is too large stays the largest.
    sum: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        let longest = u64::try_from(LONGEST.as_micros()).expect("an hour fits");
        let within = Histogram::new_with_max(longest, 3).expect("the bounds are valid");
        Self {
            within,
            beyond: 0,
            longest: Duration::ZERO,
            sum: Duration::ZERO,
        }
    }
}

impl Latencies {
    /// Counts one; any value is taken.
    pub fn add(&mut self, latency: Duration) {
        self.longest = self.longest.max(latency);
        self.sum = self.sum.saturating_add(latency);
        let micros = u64::try_from((latency.as_nanos() + 500) / 1000).unwrap_or(u64::MAX);
        if self.within.record(micros).is_err() {
            self.beyond += 1;
        }
    }

    /// Those up to [`LONGEST`], in microseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.within
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.within.len() + self.beyond
    }

    /// How many were longer than [`LONGEST`].
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// The longest, exactly; `None` if there is none.
    pub fn max(&self) -> Option<Duration> {
        (self.count() > 0).then_some(self.longest)
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Their mean, exactly; `None` if there is none.
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.sum.as_nanos().checked_div(self.count().into())?;
        Some(u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos))
    }

    /// All quantiles in `steps` equal steps from the fastest to the longest, both ends included; `None` if
    /// there is none.
    pub fn quantiles(&self, steps: u32) -> Option<Vec<Duration>> {
        let longest = self.max()?;
        let count = self.count();
        let rank = |step: u32| {
            (u128::from(step) * u128::from(count))
                .div_ceil(steps.into())
                .max(1)
        };
        let mut quantiles = Vec::new();
        let mut step = 0;
        let mut counted: u128 = 0;
        for value in self.within.iter_recorded() {
            counted += u128::from(value.count_at_value());
            let upper = Duration::from_micros(value.value_iterated_to()).min(longest);
            while step < steps && rank(step) <= counted {
                quantiles.push(upper);
                step += 1;
            }
        }
        quantiles.resize(steps as usize + 1, longest);
        Some(quantiles)
    }

    /// The latency that the share `quantile` (0 to 1) of all is at or below, rounded up to three
    /// digits; `None` if there is none. Beyond [`LONGEST`] it is the longest.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a quantile of a count"
    )]
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        let count = self.count();
        let rank = ((quantile * count as f64).ceil() as u64).clamp(1, count.max(1));
        if count == 0 {
            None
        } else if rank > self.within.len() {
            Some(self.longest)
        } else {
            let within = rank as f64 / self.within.len() as f64;
            let micros = self.within.value_at_quantile(within);
            Some(Duration::from_micros(micros).min(self.longest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_latency_is_dropped_and_none_panics() {
        let mut latencies = Latencies::default();
        for latency in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_secs(90),
            LONGEST,
            Duration::from_micros(u64::MAX),
        ] {
            latencies.add(latency);
        }
        assert_eq!((latencies.count(), latencies.beyond()), (5, 1));
        assert_eq!(latencies.max(), Some(Duration::from_micros(u64::MAX)));
        assert_eq!(latencies.quantile(1.0), latencies.max());
        assert_eq!(latencies.quantile(0.0), Some(Duration::ZERO));
        assert_eq!(Latencies::default().quantile(0.5), None);
    }

    #[test]
    fn quantiles_have_three_digits() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|millis| latencies.add(Duration::from_millis(millis)));
        let median = latencies.quantile(0.5).unwrap();
        assert!((500..=501).contains(&median.as_millis()), "{median:?}");
    }
}
