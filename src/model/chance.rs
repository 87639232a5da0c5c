//! Chance as a function of the seed and the number of a draw. Floor 3: rules.
//!
//! No generator is shared, so the order in which answers are asked for changes nothing.

use std::time::Duration;

use super::observed::Observed;
use super::spec::Latency;
use crate::dice::{STEP, mix};
use crate::units::Share;

/// What is drawn for one answer; each purpose has numbers of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    seed: u64,
    number: u64,
}

/// What a number is drawn for.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Fault = 0,
    Size = 1,
    Angle = 2,
}

/// The 99 % quantile of the standard normal distribution.
const Z99: f64 = 2.326_347_874_040_841;

impl Chance {
    pub(super) fn new(seed: u64, number: u64) -> Self {
        Self { seed, number }
    }

    /// A point of `[0, Share::ALL)`.
    pub(super) fn point(self) -> u64 {
        let scaled = u128::from(self.bits(Purpose::Fault)) * u128::from(Share::ALL);
        u64::try_from(scaled >> 64).expect("the high half of 128 bits fits 64")
    }

    /// A latency, in whole nanoseconds. Floats are good enough: it stands for a server that nobody
    /// can predict, and the same build draws the same.
    pub(super) fn latency(self, latency: Latency) -> Duration {
        match latency {
            Latency::Fixed(span) => span,
            Latency::Exponential(mean) => scaled(mean, -self.uniform(Purpose::Size).ln()),
            Latency::LogNormal { p50, p99 } => {
                let sigma = (p99.as_secs_f64() / p50.as_secs_f64()).ln() / Z99;
                scaled(p50, (sigma * self.normal()).exp())
            }
        }
    }

    /// One of the latencies that were measured.
    pub(super) fn observed(self, observed: &Observed) -> Duration {
        observed.at(self.uniform(Purpose::Size))
    }

    /// Standard normal, by Box and Muller (1958).
    fn normal(self) -> f64 {
        let size = (-2.0 * self.uniform(Purpose::Size).ln()).sqrt();
        size * (std::f64::consts::TAU * self.uniform(Purpose::Angle)).cos()
    }

    /// A number in `(0, 1]`.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
    fn uniform(self, purpose: Purpose) -> f64 {
        const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.bits(purpose) >> 11) + 1) as f64 * UNIT
    }

    fn bits(self, purpose: Purpose) -> u64 {
        let place = self.number.wrapping_mul(4).wrapping_add(purpose as u64);
        mix(mix(self.seed).wrapping_add(place.wrapping_mul(STEP)))
    }
}

/// `span × factor` in whole nanoseconds, at most 584 years.
fn scaled(span: Duration, factor: f64) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and the cast stops at the largest number"
    )]
    Duration::from_nanos((span.as_secs_f64() * factor * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies of 100 000 draws in milliseconds, sorted.
    fn latencies(latency: &str) -> Vec<f64> {
        let latency = latency.parse().unwrap();
        let mut drawn: Vec<_> = (0..100_000)
            .map(|number| Chance::new(7, number).latency(latency).as_secs_f64() * 1e3)
            .collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    fn assert_near(what: &str, got: f64, wanted: f64) {
        assert!(
            (got / wanted - 1.0).abs() < 0.05,
            "{what}: {got}, not {wanted}"
        );
    }

    #[test]
    fn a_log_normal_latency_meets_its_two_quantiles_within_five_percent() {
        let drawn = latencies("p50:80ms/p99:400ms");
        assert_near("p50", drawn[50_000], 80.0);
        assert_near("p99", drawn[99_000], 400.0);
    }

    #[test]
    fn an_exponential_latency_has_its_mean_and_its_median() {
        let drawn = latencies("exp:50ms");
        assert_near("mean", drawn.iter().sum::<f64>() / 1e5, 50.0);
        assert_near("median", drawn[50_000], 50.0 * std::f64::consts::LN_2);
    }

    #[test]
    fn seeds_and_numbers_draw_differently_and_always_the_same() {
        let draw = |seed, number| Chance::new(seed, number).point();
        assert_eq!(draw(1, 2), draw(1, 2));
        let mut drawn: Vec<_> = (0..20)
            .flat_map(|seed| (0..20).map(move |number| draw(seed, number)))
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert!(drawn.len() > 395, "{} of 400 differ", drawn.len());
    }
}
