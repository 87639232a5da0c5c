//! How far apart jobs are due at one rate: evenly, or as a Poisson process has it. Floor 3: rules.

use std::fmt;
use std::str::FromStr;

use super::ramp::ONE;
use crate::dice::{STEP, mix};

/// How far apart jobs are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    /// All alike: the first job at the start.
    Even,
    /// Exponential, each drawn by the seed: as many users who know nothing of each other.
    Poisson,
}

impl Gaps {
    /// How far the integral of the rate is when the next job is due, in parts of [`ONE`]; it was at `last` for the one
    /// before, of which there are `nth`.
    pub(super) fn next(self, last: u128, nth: u64, seed: u64) -> u128 {
        match self {
            Self::Even if nth == 0 => 0,
            Self::Even => last + ONE,
            Self::Poisson => last + exponential(nth, seed),
        }
    }
}

/// With a mean of [`ONE`]. The same build draws the same.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "53 bits fit an f64 exactly; a gap is at most 37 times the mean"
)]
fn exponential(nth: u64, seed: u64) -> u128 {
    let bits = mix(mix(seed ^ PURPOSE).wrapping_add(nth.wrapping_mul(STEP)));
    let uniform = ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (-uniform.ln() * ONE as f64).round() as u128
}

/// Sets these draws apart from all others of the same seed: the first bits of the fraction of e.
const PURPOSE: u64 = 0xb7e1_5162_8aed_2a6a;

impl fmt::Display for Gaps {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Even => "even",
            Self::Poisson => "poisson",
        })
    }
}

impl FromStr for Gaps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "even" => Ok(Self::Even),
            "poisson" => Ok(Self::Poisson),
            _ => Err("write even or poisson".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    fn gaps_of_a_poisson_process_have_the_mean_and_the_spread_of_one() {
        let count = 100_000;
        let gaps = (0..count).map(|nth| exponential(nth, 7) as f64 / ONE as f64);
        let gaps: Vec<f64> = gaps.collect();
        let mean = gaps.iter().sum::<f64>() / count as f64;
        let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
        let variance = squares / count as f64;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }
}
