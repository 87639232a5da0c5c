//! Whose time it was, in per cents that add up to 100. Floor 3: rules.

use std::time::Duration;

use super::{Owner, Setup, Stretch};

/// One owner's part of the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Whose.
    pub owner: Owner,
    /// As reports call it.
    pub name: String,
    /// How much.
    pub span: Duration,
    /// In whole per cents; those of all owners add up to 100.
    pub percent: u64,
}

/// The shares of a stretch, in its order.
pub(super) fn of(stretch: &Stretch, setup: &Setup) -> Vec<Share> {
    let spans: Vec<Duration> = stretch.shares.iter().map(|share| share.1).collect();
    let named = stretch.shares.iter().zip(percents(&spans));
    named
        .map(|(&(owner, span), percent)| Share {
            owner,
            name: setup.name_of(owner),
            span,
            percent,
        })
        .collect()
}

/// Whole per cents of the sum that add up to 100: rounded down, and what is missing goes to the
/// largest remainders. All zero if the sum is.
fn percents(parts: &[Duration]) -> Vec<u64> {
    let total: u128 = parts.iter().map(Duration::as_nanos).sum();
    if total == 0 {
        return vec![0; parts.len()];
    }
    let hundredfold = |part: &Duration| part.as_nanos() * 100;
    let mut whole: Vec<u64> = parts
        .iter()
        .map(|part| u64::try_from(hundredfold(part) / total).expect("at most 100"))
        .collect();
    let missing = 100 - whole.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(hundredfold(&parts[place]) % total));
    for &place in order.iter().take(usize::try_from(missing).unwrap_or(0)) {
        whole[place] += 1;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cents_add_up_to_100_whatever_the_parts() {
        let parts = |parts: &[u64]| -> Vec<u64> {
            let parts: Vec<_> = parts.iter().map(|&ns| Duration::from_nanos(ns)).collect();
            percents(&parts)
        };
        assert_eq!(parts(&[1, 1, 1]), [34, 33, 33]);
        assert_eq!(parts(&[995, 4, 1]), [100, 0, 0]);
        assert_eq!(parts(&[985, 9, 6]), [98, 1, 1]);
        assert_eq!(parts(&[u64::MAX, u64::MAX]), [50, 50]);
        assert_eq!(parts(&[0, 0]), [0, 0]);
        assert_eq!(parts(&[]), [0; 0]);
    }
}
