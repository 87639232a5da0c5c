//! What was granted in each window that begins at a multiple of its period. Floor 3: rules.

use std::collections::{BTreeSet, VecDeque};

use super::terms::Terms;
use super::{Mark, Most};
use crate::units::nanos;

/// Windows `[k × period, (k + 1) × period)` since the Unix epoch.
///
/// A grant may have been charged for up to the slack before, so close behind a boundary it belongs to
/// the window before if that had room. Under a skew it counts in each window that it may have been in, and only
/// windows with grants of several clocks are looked at.
#[derive(Debug)]
pub(super) struct Own {
    count: u128,
    period: u64,
    /// From the start of a window to the moment zero.
    phase: u64,
    slack: u64,
    rounding: u64,
    skew: u64,
    /// The last windows, by number.
    windows: VecDeque<(u64, Most)>,
    /// Those with grants of several clocks.
    mixed: BTreeSet<u64>,
}

impl Own {
    pub(super) fn new(count: u64, period: u64, terms: &Terms) -> Self {
        let phase = terms.epoch.as_nanos() % u128::from(period);
        Self {
            count: u128::from(count),
            period,
            phase: u64::try_from(phase).expect("a remainder is below its divisor"),
            slack: nanos(terms.slack),
            rounding: nanos(terms.rounding),
            skew: nanos(terms.skew),
            windows: VecDeque::new(),
            mixed: BTreeSet::new(),
        }
    }

    /// A grant, none before the last one.
    pub(super) fn add(&mut self, mark: Mark, weight: u64, most: &mut Most) -> bool {
        let at = mark.at.0.saturating_add(self.phase);
        let latest = at.saturating_add(self.rounding.saturating_sub(1)) / self.period;
        if self.skew == 0 {
            let earliest = at.saturating_sub(self.slack) / self.period;
            let number = self.roomy(earliest, latest, weight);
            self.windows.retain(|window| window.0 >= number);
            return self.count_in(number, mark, weight, most);
        }
        let first = at.saturating_sub(self.skew) / self.period;
        let last = at.saturating_add(self.skew) / self.period;
        self.windows.retain(|window| window.0 >= first);
        self.mixed = self.mixed.split_off(&first);
        let mut found = false;
        for number in first..=last.max(latest) {
            found |= self.count_in(number, mark, weight, most);
        }
        found
    }

    /// Whether no window of what is to come has anything in it.
    pub(super) fn is_idle(&self, at: u64) -> bool {
        let earliest = at
            .saturating_add(self.phase)
            .saturating_sub(self.slack.max(self.skew))
            / self.period;
        self.windows.back().is_none_or(|last| last.0 < earliest)
    }

    /// The earliest window that the grant may be in and that has room for it, or else the latest.
    fn roomy(&self, earliest: u64, latest: u64, weight: u64) -> u64 {
        let Some((number, last)) = self.windows.back() else {
            return earliest;
        };
        let full = last.sum + u128::from(weight) > self.count;
        if *number < earliest {
            earliest
        } else if full {
            (number + 1).min(latest).max(*number)
        } else {
            *number
        }
    }

    fn count_in(&mut self, number: u64, mark: Mark, weight: u64, most: &mut Most) -> bool {
        let there = self.windows.iter().position(|window| window.0 == number);
        let place = there.unwrap_or_else(|| {
            let new = Most {
                first: mark,
                ..Most::default()
            };
            self.windows.push_back((number, new));
            self.windows.len() - 1
        });
        let window = &mut self.windows[place].1;
        if window.sends > 0 && window.last.clock() != mark.clock() {
            self.mixed.insert(number);
        }
        window.sum += u128::from(weight);
        window.sends += 1;
        window.last = mark;
        let of_one = self.skew > 0 && !self.mixed.contains(&number);
        if of_one || window.sum <= most.sum {
            return false;
        }
        most.clone_from(window);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::proof::LINE_BITS;
    use crate::units::Tick;

    fn most(slack: u64, skew: u64, moments: &[u64]) -> u128 {
        let terms = Terms {
            slack: Duration::from_nanos(slack),
            skew: Duration::from_nanos(skew),
            rounding: Duration::ZERO,
            epoch: Duration::from_nanos(30),
        };
        let (mut own, mut most) = (Own::new(3, 100, &terms), Most::default());
        for (&at, clock) in moments.iter().zip(0..) {
            let mark = Mark {
                at: Tick(at),
                source: clock << LINE_BITS,
            };
            own.add(mark, 1, &mut most);
        }
        most.sum
    }

    #[test]
    fn a_window_ends_where_the_next_begins() {
        assert_eq!(most(0, 0, &[0, 68, 69, 70, 71, 72]), 3);
        assert_eq!(most(0, 0, &[0, 67, 68, 69, 170]), 4);
    }

    #[test]
    fn a_late_grant_belongs_to_the_window_before_if_that_had_room() {
        assert_eq!(most(5, 0, &[0, 69, 70, 72, 73, 74]), 3);
        assert_eq!(most(5, 0, &[69, 70, 71, 72, 73, 74, 75]), 4);
    }

    #[test]
    fn under_a_skew_a_grant_counts_in_both_windows_that_it_may_be_in() {
        assert_eq!(most(0, 5, &[0, 68, 74, 75]), 3);
        assert_eq!(most(0, 5, &[66, 68, 74, 75]), 4);
    }
}
