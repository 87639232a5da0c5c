//! How much there was in each second. Floor 3: rules.

use std::time::Duration;

use super::SECONDS;

/// A count for each second in which there was anything: 8 bytes. Silence takes no memory.
#[derive(Debug, Default)]
pub(super) struct Seconds(Vec<(u32, u32)>);

impl Seconds {
    /// One more, so long after the start; in the last second at the earliest.
    pub(super) fn add(&mut self, since: Duration) {
        let second = u32::try_from(since.as_secs()).unwrap_or(u32::MAX);
        match self.0.last_mut() {
            Some((last, count)) if *last >= second => *count = count.saturating_add(1),
            Some(_) | None => self.0.push((second, 1)),
        }
    }

    /// The count of each of so many seconds, the first of them the first; of more the first 24 days.
    pub(super) fn whole(&self, seconds: u64) -> Vec<u32> {
        let whole = usize::try_from(seconds).unwrap_or(usize::MAX).min(SECONDS);
        // Pages of zeros that nobody touches cost nothing.
        let mut counts = vec![0; whole];
        for &(second, count) in &self.0 {
            let place = usize::try_from(second).unwrap_or(usize::MAX);
            if let Some(there) = counts.get_mut(place) {
                *there = count;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(moments: &[u64]) -> Seconds {
        let mut seconds = Seconds::default();
        for &millis in moments {
            seconds.add(Duration::from_millis(millis));
        }
        seconds
    }

    #[test]
    fn each_second_has_its_count_and_only_whole_ones_are_told() {
        let seconds = seconds(&[0, 999, 1_000, 3_500, 3_999, 4_000]);
        assert_eq!(seconds.whole(4), [2, 1, 0, 2]);
        assert_eq!(seconds.whole(6), [2, 1, 0, 2, 1, 0]);
        assert_eq!(seconds.whole(0), [0_u32; 0]);
    }

    #[test]
    fn a_run_of_years_keeps_little_and_tells_the_seconds_of_its_first_24_days() {
        let day = 86_400_000;
        let seconds = seconds(&[0, day, 24 * day, 25 * day, 30_000 * day, 200_000_000 * day]);
        assert_eq!(seconds.0.len(), 6);
        let whole = seconds.whole(u64::MAX);
        assert_eq!(whole.len(), SECONDS);
        assert_eq!(whole.iter().sum::<u32>(), 3);
    }
}
