//! How much of a bucket any stretch of grants needed. Floor 3: rules.

use std::collections::VecDeque;

use super::{Mark, Most};

/// Runs full by what is granted and empties at the rate: its level after a grant is the largest
/// `sum - rate × length` of all closed stretches that end with it. Scaled by the period, exact.
#[derive(Debug)]
pub(super) struct Meter {
    /// What flows out in each nanosecond, in units × `period`.
    count: i128,
    /// Nanoseconds.
    period: i128,
    /// Stretches are taken to have been shorter by this, down to nothing.
    skew: u64,
    /// As of `last`.
    level: i128,
    last: u64,
    /// The stretch that fills the level.
    stretch: Most,
    /// Not longer ago than `skew`.
    recent: VecDeque<(Mark, u64)>,
    recent_sum: u128,
}

impl Meter {
    pub(super) fn new(count: u64, period: u64, skew: u64) -> Self {
        Self {
            count: i128::from(count),
            period: i128::from(period),
            skew,
            level: 0,
            last: 0,
            stretch: Most::default(),
            recent: VecDeque::new(),
            recent_sum: 0,
        }
    }

    /// A grant, none before the last one. `highest` is the highest level so far and `most` the stretch
    /// that led to it: both become those of this grant, if its level is higher.
    pub(super) fn add(
        &mut self,
        mark: Mark,
        weight: u64,
        highest: &mut i128,
        most: &mut Most,
    ) -> bool {
        if self.skew == 0 {
            self.fill(mark, weight);
        } else {
            self.recent.push_back((mark, weight));
            self.recent_sum += u128::from(weight);
            self.catch_up(mark.at.0);
        }
        let level = self.level.saturating_add(self.scaled(self.recent_sum));
        if level <= *highest {
            return false;
        }
        *highest = level;
        *most = Most {
            sum: self.recent_sum,
            sends: self.recent.len() as u64,
            first: self.recent.front().map_or(mark, |recent| recent.0),
            last: mark,
            key: None,
        };
        if self.level > 0 {
            most.sum += self.stretch.sum;
            most.sends += self.stretch.sends;
            most.first = self.stretch.first;
        }
        true
    }

    /// Fills in what was granted at least a skew before `at`.
    fn catch_up(&mut self, at: u64) {
        let Some(edge) = at.checked_sub(self.skew) else {
            return;
        };
        while let Some(&(first, weight)) = self.recent.front().filter(|first| first.0.at.0 <= edge)
        {
            self.recent.pop_front();
            self.recent_sum -= u128::from(weight);
            self.fill(first, weight);
        }
        self.drain(edge);
    }

    /// Whether it is as new at `at`.
    pub(super) fn is_idle(&self, at: u64) -> bool {
        self.recent.is_empty() && self.flow(at) >= self.level
    }

    fn fill(&mut self, mark: Mark, weight: u64) {
        self.drain(mark.at.0);
        if self.level == 0 {
            self.stretch = Most {
                first: mark,
                ..Most::default()
            };
        }
        self.stretch.sum += u128::from(weight);
        self.stretch.sends += 1;
        self.level = self.level.saturating_add(self.scaled(weight.into()));
    }

    fn drain(&mut self, to: u64) {
        self.level = (self.level - self.flow(to)).max(0);
        self.last = self.last.max(to);
    }

    /// What flows out until `to`.
    fn flow(&self, to: u64) -> i128 {
        i128::from(to.saturating_sub(self.last)).saturating_mul(self.count)
    }

    fn scaled(&self, units: u128) -> i128 {
        i128::try_from(units)
            .unwrap_or(i128::MAX)
            .saturating_mul(self.period)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Tick;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn its_highest_level_is_the_largest_excess_of_all_stretches(
            count in 1..5_u64,
            period in 1..20_u64,
            skew in prop_oneof![Just(0), 1..12_u64],
            events in proptest::collection::vec((0..12_u64, 1..5_u64), 1..14),
        ) {
            let (mut meter, mut at) = (Meter::new(count, period, skew), 3);
            let (mut highest, mut most) = (0, Most::default());
            let mut moments = Vec::new();
            for (gap, weight) in events {
                at += gap;
                moments.push((at, weight));
                let mark = Mark { at: Tick(at), source: 0 };
                meter.add(mark, weight, &mut highest, &mut most);
            }
            let mut worst = 0;
            for (first, &(from, _)) in moments.iter().enumerate() {
                for (last, &(to, _)) in moments.iter().enumerate().skip(first) {
                    let sum: u64 = moments[first..=last].iter().map(|moment| moment.1).sum();
                    let length = (to - from).saturating_sub(skew);
                    worst = worst.max(i128::from(sum * period) - i128::from(count * length));
                }
            }
            prop_assert_eq!(highest, worst);
        }
    }
}
