//! Whether figures of two runs differ by more than chance. Floor 3: rules.
//!
//! As if jobs and seconds were independent of each other, which those of one run are not quite: what is called
//! chance here is chance, the rest may still be.

use std::time::Duration;

use super::Latencies;

/// How a difference compares with chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Of a hundred pairs of equal runs fewer than five would differ so much.
    Beyond,
    /// Equal runs may well differ so much.
    Within,
    /// There are too few to tell.
    TooFew,
}

/// Standard errors within which 95 of 100 lie.
const SURE: f64 = 1.96;

/// The same where their size is guessed from five seconds: Student's t of four degrees.
const SURE_OF_FEW: f64 = 2.8;

/// Fewer seconds say nothing about how they vary; from so many on their spread is known.
const SECONDS: usize = 5;
const MANY_SECONDS: usize = 30;

/// With fewer events expected a share is not even nearly normal.
const EVENTS: f64 = 5.0;

/// Of the latency that the share `quantile` is at or below: whether the 95 % intervals of both are apart.
pub fn of_quantile(one: &Latencies, other: &Latencies, quantile: f64) -> Noise {
    match (interval(one, quantile), interval(other, quantile)) {
        (Some(one), Some(other)) if one.1 < other.0 || other.1 < one.0 => Noise::Beyond,
        (Some(_), Some(_)) => Noise::Within,
        (None, _) | (_, None) => Noise::TooFew,
    }
}

/// Order statistics around the rank of a quantile, whatever the distribution; `None` if there are too few for
/// both of them.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn interval(latencies: &Latencies, quantile: f64) -> Option<(Duration, Duration)> {
    let count = latencies.count() as f64;
    let spread = SURE * (count * quantile * (1.0 - quantile)).sqrt();
    let (low, high) = (
        (count * quantile - spread).floor(),
        (count * quantile + spread).ceil() + 1.0,
    );
    let at = |rank: f64| latencies.quantile(rank / count);
    (low >= 1.0 && high <= count).then(|| at(low).zip(at(high)))?
}

/// Of a mean of counts in each second.
pub fn of_seconds(one: &[u32], other: &[u32]) -> Noise {
    let sure = match one.len().min(other.len()) {
        ..SECONDS => return Noise::TooFew,
        SECONDS..MANY_SECONDS => SURE_OF_FEW,
        MANY_SECONDS.. => SURE,
    };
    let ((one, first), (other, second)) = (mean(one), mean(other));
    beyond((one - other).abs(), sure * (first + second).sqrt())
}

/// The mean, and the square of its standard error.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn mean(counts: &[u32]) -> (f64, f64) {
    let count = counts.len() as f64;
    let each = || counts.iter().map(|&count| f64::from(count));
    let mean = each().sum::<f64>() / count;
    let squares: f64 = each().map(|count| (count - mean).powi(2)).sum();
    (mean, squares / (count - 1.0) / count)
}

/// Of shares, each so many of so many.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn of_shares(one: (u64, u64), other: (u64, u64)) -> Noise {
    let [one, other] = [one, other].map(|(part, whole)| (part as f64, whole as f64));
    let fewest = one.1.min(other.1);
    if fewest < 1.0 {
        return Noise::TooFew;
    }
    let share = (one.0 + other.0) / (one.1 + other.1);
    let apart = (one.0 / one.1 - other.0 / other.1).abs();
    if apart > 0.0 && fewest * share.min(1.0 - share) < EVENTS {
        return Noise::TooFew;
    }
    let error = (share * (1.0 - share) * (1.0 / one.1 + 1.0 / other.1)).sqrt();
    beyond(apart, SURE * error)
}

fn beyond(apart: f64, error: f64) -> Noise {
    if apart > error {
        Noise::Beyond
    } else {
        Noise::Within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many latencies from `least` up, a tenth of a millisecond apart.
    fn latencies(count: u64, least: u64) -> Latencies {
        let mut latencies = Latencies::default();
        for nth in 0..count {
            latencies.add(Duration::from_micros(least + nth * 100));
        }
        latencies
    }

    #[test]
    fn a_quantile_needs_jobs_on_both_sides_of_it() {
        let of =
            |count, quantile| of_quantile(&latencies(count, 0), &latencies(count, 0), quantile);
        assert_eq!((of(3, 0.5), of(20, 0.5)), (Noise::TooFew, Noise::Within));
        assert_eq!(
            (of(500, 0.99), of(600, 0.99)),
            (Noise::TooFew, Noise::Within)
        );
        assert_eq!(
            (of(5_000, 0.999), of(6_000, 0.999)),
            (Noise::TooFew, Noise::Within)
        );
        assert_eq!(of(0, 0.5), Noise::TooFew);
    }

    #[test]
    fn a_median_that_moves_by_more_than_its_interval_has_changed() {
        // Of 400 the median is known to 20 ranks, 2 ms, on either side.
        let one = latencies(400, 0);
        let moved = |by| of_quantile(&one, &latencies(400, by), 0.5);
        assert_eq!((moved(1_000), moved(6_000)), (Noise::Within, Noise::Beyond));
    }

    #[test]
    fn seconds_that_vary_hide_small_changes() {
        let steady = [100; 30];
        assert_eq!(of_seconds(&steady, &[101; 30]), Noise::Beyond);
        assert_eq!(of_seconds(&steady, &steady), Noise::Within);
        let uneven: Vec<u32> = (0..30)
            .map(|nth| if nth % 2 == 0 { 60 } else { 144 })
            .collect();
        assert_eq!(of_seconds(&steady, &uneven), Noise::Within);
        assert_eq!(of_seconds(&steady, &[101; 4]), Noise::TooFew);
        assert_eq!(
            of_seconds(&[100, 102, 98, 101, 99], &[101; 5]),
            Noise::Within
        );
    }

    #[test]
    fn shares_of_few_events_tell_nothing() {
        assert_eq!(of_shares((0, 100), (0, 100)), Noise::Within);
        assert_eq!(of_shares((0, 100), (3, 100)), Noise::TooFew);
        assert_eq!(of_shares((30, 1000), (36, 1000)), Noise::Within);
        assert_eq!(of_shares((30, 1000), (90, 1000)), Noise::Beyond);
        assert_eq!(of_shares((0, 0), (3, 100)), Noise::TooFew);
    }
}
