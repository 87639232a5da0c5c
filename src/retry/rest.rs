//! The rest before another try: backoff, spread by jitter. Floor 3: rules.

use std::str::FromStr;
use std::time::Duration;

use super::Policy;
use crate::choice::chosen;
use crate::dice::mix;
use crate::units::{nanos, parse_span, show_span};

impl Policy {
    /// The rest before the `nth` retry, from 1.
    pub fn rest(&self, seq: u64, nth: u32, last: Duration, asked: Option<Duration>) -> Duration {
        let (min, max) = (nanos(self.backoff.min), nanos(self.backoff.max));
        let grown = 1u64.checked_shl(nth.saturating_sub(1)).unwrap_or(u64::MAX);
        let backoff = min.saturating_mul(grown).min(max);
        let dice = mix(mix(mix(self.seed) ^ seq) ^ u64::from(nth));
        let rest = match (self.jitter, asked) {
            (Jitter::None, None) => backoff,
            (Jitter::None, Some(asked)) => backoff.max(nanos(asked)),
            (Jitter::Full, None) => between(0, backoff, dice),
            (Jitter::Equal, None) => between(backoff / 2, backoff, dice),
            (Jitter::Decorrelated, None) => {
                let widest = nanos(last).max(min).saturating_mul(3).min(max);
                between(min, widest, dice)
            }
            (Jitter::Full | Jitter::Equal | Jitter::Decorrelated, Some(asked)) => {
                nanos(asked).saturating_add(between(0, backoff, dice))
            }
        };
        Duration::from_nanos(rest)
    }
}

/// Evenly spread over `(low, high]` by 64 random bits; `high` if there is nothing between.
fn between(low: u64, high: u64, dice: u64) -> u64 {
    let width = high.saturating_sub(low);
    if width == 0 {
        return high;
    }
    let scaled = (u128::from(dice) * u128::from(width)) >> 64;
    low + 1 + u64::try_from(scaled).expect("below width, which is 64 bits")
}

/// The bounds of rests: min × 2^(k−1) before the k-th retry, at most max.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Where it begins.
    pub min: Duration,
    /// Where it stops to grow; not below `min`.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            min: Duration::from_millis(500),
            max: Duration::from_secs(30),
        }
    }
}

impl FromStr for Backoff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write MIN..MAX, two times above zero: 500ms..30s";
        let (min, max) = text.split_once("..").ok_or(FORM)?;
        let span = |text| parse_span(text).map_err(|_| FORM.to_owned());
        let (min, max) = (span(min)?, span(max)?);
        if min > max {
            let (min, max) = (show_span(min), show_span(max));
            return Err(format!("MIN {min} is above MAX {max}: {FORM}"));
        }
        Ok(Self { min, max })
    }
}

/// How rests are spread, so that jobs that fail together do not come back together. `b` is the backoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// Evenly over (0, b].
    Full,
    /// Evenly over (b/2, b].
    Equal,
    /// Evenly over (min, 3 × the last rest], at most max.
    Decorrelated,
    /// Exactly b.
    None,
}

impl Jitter {
    /// Each, with its word.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("full", Self::Full),
        ("equal", Self::Equal),
        ("decorrelated", Self::Decorrelated),
        ("none", Self::None),
    ];
}

impl FromStr for Jitter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(&Self::WORDS, text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn patient(jitter: Jitter) -> Policy {
        Policy {
            backoff: "100ms..2s".parse().unwrap(),
            jitter,
            ..Policy::default()
        }
    }

    fn rest(policy: &Policy, seq: u64, tries: u32, last: Duration) -> Duration {
        policy.rest(seq, tries, last, None)
    }

    #[test]
    fn rests_stay_between_their_bounds() {
        for tries in [1, 2, 3, 6, 64, 65, u32::MAX - 1] {
            let b = (100 * MS * 2u32.saturating_pow(tries - 1).min(100)).min(2_000 * MS);
            for seq in 0..200 {
                let full = rest(&patient(Jitter::Full), seq, tries, Duration::ZERO);
                assert!(!full.is_zero() && full <= b, "full, try {tries}: {full:?}");
                let equal = rest(&patient(Jitter::Equal), seq, tries, Duration::ZERO);
                assert!(equal > b / 2 && equal <= b, "equal, try {tries}: {equal:?}");
                let none = rest(&patient(Jitter::None), seq, tries, Duration::ZERO);
                assert_eq!(none, b, "try {tries}");
            }
        }
    }

    #[test]
    fn a_decorrelated_rest_is_at_most_three_times_the_last() {
        let policy = patient(Jitter::Decorrelated);
        for seq in 0..200 {
            let mut last = Duration::ZERO;
            for tries in 1..10 {
                let next = rest(&policy, seq, tries, last);
                let most = (last.max(100 * MS) * 3).min(2_000 * MS);
                assert!(next > 100 * MS && next <= most, "{last:?} -> {next:?}");
                last = next;
            }
        }
    }

    #[test]
    fn the_wait_of_a_server_is_a_floor() {
        let asked = 2_000 * MS;
        for jitter in [Jitter::Full, Jitter::Equal, Jitter::Decorrelated] {
            let policy = patient(jitter);
            for seq in 0..100 {
                let rest = policy.rest(seq, 1, Duration::ZERO, Some(asked));
                assert!(rest > asked && rest <= asked + 100 * MS, "{rest:?}");
            }
        }
        for (asked, rest) in [(asked, asked), (MS, 100 * MS)] {
            let policy = patient(Jitter::None);
            assert_eq!(policy.rest(0, 1, Duration::ZERO, Some(asked)), rest);
        }
    }

    #[test]
    fn the_longest_wait_does_not_overflow() {
        let longest = Duration::from_nanos(u64::MAX);
        let policy = Policy {
            backoff: Backoff {
                min: longest,
                max: longest,
            },
            ..patient(Jitter::Full)
        };
        assert_eq!(policy.rest(0, 9, longest, Some(longest)), longest);
    }

    #[test]
    fn the_same_seed_gives_the_same_rests_and_jobs_get_different_ones() {
        let rests = |seed| {
            let policy = Policy {
                seed,
                ..patient(Jitter::Full)
            };
            (0..20)
                .flat_map(|seq| [1, 2].map(|tries| rest(&policy, seq, tries, Duration::ZERO)))
                .collect::<Vec<_>>()
        };
        assert_eq!(rests(1), rests(1));
        assert_ne!(rests(1), rests(2));
        let distinct: BTreeSet<_> = rests(1).into_iter().step_by(2).collect();
        assert!(
            distinct.len() >= 15,
            "{} distinct rests of 20",
            distinct.len()
        );
    }

    #[test]
    fn backoff_and_jitter_are_read_and_nonsense_is_told_the_forms() {
        let backoff: Backoff = "500ms..30s".parse().unwrap();
        assert_eq!(backoff, Backoff::default());
        assert_eq!("10ms..10ms".parse::<Backoff>().map(|b| b.max), Ok(10 * MS));
        for text in ["", "1s", "1s..", "..1s", "0..1s", "-1s..1s", "1s...2s"] {
            let why = text.parse::<Backoff>().unwrap_err();
            assert!(why.contains("MIN..MAX"), "{text}: {why}");
        }
        let why = "30s..1s".parse::<Backoff>().unwrap_err();
        assert!(why.contains("MIN 30.0 s is above MAX 1.00 s"), "{why}");
        assert_eq!("equal".parse(), Ok(Jitter::Equal));
        assert!(
            "Full"
                .parse::<Jitter>()
                .unwrap_err()
                .contains("decorrelated")
        );
    }
}
