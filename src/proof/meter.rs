//! How much of a bucket any stretch of grants needed. Floor 3: rules.

use std::collections::{BTreeMap, VecDeque};

use super::{Mark, Most};

/// Runs full by what is granted and empties at the rate: its level after a grant is the largest
/// `sum - rate × length` of all closed stretches that end with it. Scaled by the period, exact.
#[derive(Debug)]
pub(super) struct Meter {
    /// What flows out in each nanosecond, in units × `period`.
    count: i128,
    /// Nanoseconds.
    period: i128,
    /// As of `last`.
    level: i128,
    last: u64,
    /// The stretch that fills the level.
    stretch: Most,
    /// Where clocks may differ.
    several: Option<Box<Several>>,
}

/// Clocks that may differ: only stretches that several of them tell of are looked at.
#[derive(Debug)]
struct Several {
    /// These are taken to have been shorter by this, down to nothing.
    skew: u64,
    /// Not longer ago than `skew`; the meter has what was before.
    recent: VecDeque<(Mark, u64)>,
    recent_sum: u128,
    /// How many of those each clock has told.
    recent_of: BTreeMap<u64, u64>,
    /// Whose the last grant was that is not recent.
    clock: Option<u64>,
    /// The level that the meter would have if it fell below nothing.
    open: i128,
    /// The same of stretches of several clocks alone, with the stretch; `None` before the first.
    mixed: Option<(i128, Most)>,
}

impl Meter {
    pub(super) fn new(count: u64, period: u64, skew: u64) -> Self {
        let several = || {
            Box::new(Several {
                skew,
                recent: VecDeque::new(),
                recent_sum: 0,
                recent_of: BTreeMap::new(),
                clock: None,
                open: 0,
                mixed: None,
            })
        };
        Self {
            count: i128::from(count),
            period: i128::from(period),
            level: 0,
            last: 0,
            stretch: Most::default(),
            several: (skew > 0).then(several),
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
        let told = if let Some(mut several) = self.several.take() {
            several.add(self, mark, weight);
            let told = several.told(self, mark);
            self.several = Some(several);
            told
        } else {
            self.fill(mark, weight);
            (self.level > *highest).then(|| (self.level, self.stretch.clone()))
        };
        let Some((level, stretch)) = told.filter(|(level, _)| *level > *highest) else {
            return false;
        };
        *highest = level;
        *most = Most {
            last: mark,
            ..stretch
        };
        true
    }

    /// Whether it is as new at `at`.
    pub(super) fn is_idle(&self, at: u64) -> bool {
        let Some(several) = &self.several else {
            return self.flow(at) >= self.level;
        };
        let late = i128::from(several.skew).saturating_mul(self.count);
        several.recent.is_empty() && self.flow(at) >= self.level.saturating_add(late)
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

impl Several {
    fn add(&mut self, meter: &mut Meter, mark: Mark, weight: u64) {
        self.recent.push_back((mark, weight));
        self.recent_sum += u128::from(weight);
        *self.recent_of.entry(mark.clock()).or_default() += 1;
        self.catch_up(meter, mark.at.0);
    }

    /// The level and the stretch of several clocks that end with this grant; `None` if there is none.
    fn told(&self, meter: &Meter, mark: Mark) -> Option<(i128, Most)> {
        let (base, before) = if self.recent_of.len() > 1 {
            (meter.level, (meter.level > 0).then_some(&meter.stretch))
        } else if self.clock? == mark.clock() {
            let (level, stretch) = self.mixed.as_ref()?;
            (*level, Some(stretch))
        } else {
            (self.open, Some(&meter.stretch))
        };
        let mut stretch = before.cloned().unwrap_or_else(|| Most {
            first: self.recent.front().map_or(mark, |recent| recent.0),
            ..Most::default()
        });
        stretch.sum += self.recent_sum;
        stretch.sends += self.recent.len() as u64;
        let level = base.saturating_add(meter.scaled(self.recent_sum));
        Some((level, stretch))
    }

    /// Fills in what was granted at least a skew before `at`.
    fn catch_up(&mut self, meter: &mut Meter, at: u64) {
        let Some(edge) = at.checked_sub(self.skew) else {
            return;
        };
        while let Some(&(first, weight)) = self.recent.front().filter(|first| first.0.at.0 <= edge)
        {
            self.recent.pop_front();
            self.recent_sum -= u128::from(weight);
            if let Some(of) = self.recent_of.get_mut(&first.clock()) {
                *of -= 1;
            }
            self.recent_of.retain(|_, of| *of > 0);
            self.fill(meter, first, weight);
        }
        self.drain(meter, edge);
    }

    /// Where another clock goes on, every stretch so far becomes one of several.
    fn fill(&mut self, meter: &mut Meter, mark: Mark, weight: u64) {
        self.drain(meter, mark.at.0);
        let goes_on = self.clock.replace(mark.clock());
        if goes_on.is_some_and(|clock| clock != mark.clock()) {
            self.mixed = Some((self.open, meter.stretch.clone()));
        }
        if let Some((level, stretch)) = &mut self.mixed {
            *level = level.saturating_add(meter.scaled(weight.into()));
            stretch.sum += u128::from(weight);
            stretch.sends += 1;
        }
        meter.fill(mark, weight);
        self.open = meter.level;
    }

    fn drain(&mut self, meter: &mut Meter, to: u64) {
        let flow = meter.flow(to);
        self.open = self.open.saturating_sub(flow);
        if let Some((level, _)) = &mut self.mixed {
            *level = level.saturating_sub(flow);
        }
        meter.drain(to);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proof::LINE_BITS;
    use crate::units::Tick;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn its_highest_level_is_the_largest_excess_of_all_stretches(
            count in 1..5_u64,
            period in 1..20_u64,
            skew in prop_oneof![Just(0), 1..12_u64],
            events in proptest::collection::vec((0..12_u64, 1..5_u64, 0..3_u64), 1..14),
        ) {
            let (mut meter, mut at) = (Meter::new(count, period, skew), 3);
            let (mut highest, mut most) = (0, Most::default());
            let mut moments = Vec::new();
            for (gap, weight, clock) in events {
                at += gap;
                moments.push((at, weight, clock));
                let mark = Mark { at: Tick(at), source: clock << LINE_BITS };
                meter.add(mark, weight, &mut highest, &mut most);
            }
            let mut worst = 0;
            for (first, &(from, _, of)) in moments.iter().enumerate() {
                for (last, &(to, ..)) in moments.iter().enumerate().skip(first) {
                    let stretch = &moments[first..=last];
                    if skew > 0 && stretch.iter().all(|moment| moment.2 == of) {
                        continue;
                    }
                    let sum: u64 = stretch.iter().map(|moment| moment.1).sum();
                    let length = (to - from).saturating_sub(skew);
                    worst = worst.max(i128::from(sum * period) - i128::from(count * length));
                }
            }
            prop_assert_eq!(highest, worst);
        }
    }
}
