//! Latencies as a run has met them, to be drawn from. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use crate::metrics::Latencies;
use crate::units::nanos;

/// So many steps from the fastest to the slowest: a thousandth of all is four of them.
const STEPS: u32 = 4096;

/// The quantiles of latencies that were measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Nanoseconds, from the fastest to the slowest, in equal steps of the quantile.
    quantiles: Arc<[u64]>,
}

impl Observed {
    /// Those of `latencies`; `None` if there are none.
    pub fn of(latencies: &Latencies) -> Option<Self> {
        let quantiles: Vec<u64> = latencies.quantiles(STEPS)?.into_iter().map(nanos).collect();
        Some(Self {
            quantiles: quantiles.into(),
        })
    }

    /// The latency at a point of `(0, 1]`, linear between two steps.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a latency stands for a server that nobody can predict"
    )]
    pub(super) fn at(&self, point: f64) -> Duration {
        let last = self.quantiles.len() - 1;
        let place = point * last as f64;
        let below = (place as usize).min(last);
        let (low, high) = (self.quantiles[below], self.quantiles[last.min(below + 1)]);
        let part = (high - low) as f64 * (place - below as f64);
        Duration::from_nanos(low + part.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Model;
    use super::*;
    use crate::limit::Setting;
    use crate::units::Tick;

    #[test]
    fn what_is_drawn_has_the_quantiles_of_what_was_met() {
        let mut met = Latencies::default();
        // Nine of ten between 1 and 100 ms, the others about 2 s.
        for nth in 0..10_000_u64 {
            let slow = nth.is_multiple_of(10);
            met.add(Duration::from_micros(if slow {
                2_000_000 + nth
            } else {
                1_000 + 10 * (nth % 9_900)
            }));
        }
        let observed = Observed::of(&met).unwrap();
        let mut model = Model::new(&"".parse().unwrap(), Setting::VIRTUAL, 3).answering(observed);
        let mut drawn = Latencies::default();
        for nth in 0..100_000 {
            let at = Tick(nth);
            drawn.add(model.arrive(at, 1).answered_at.since(at));
        }
        for quantile in [0.05, 0.5, 0.89, 0.91, 0.99] {
            let (met, drawn) = (met.quantile(quantile), drawn.quantile(quantile));
            let (met, drawn) = (met.unwrap().as_secs_f64(), drawn.unwrap().as_secs_f64());
            assert!(
                (drawn / met - 1.0).abs() < 0.05,
                "{quantile}: {drawn}, not {met}"
            );
        }
        assert!(drawn.max() <= met.max());
    }

    #[test]
    fn one_answer_is_drawn_again_and_again() {
        let mut met = Latencies::default();
        met.add(Duration::from_millis(70));
        let observed = Observed::of(&met).unwrap();
        for point in [1e-9, 0.3, 1.0] {
            assert_eq!(observed.at(point), Duration::from_millis(70));
        }
        assert_eq!(Observed::of(&Latencies::default()), None);
    }
}
