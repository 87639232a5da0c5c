//! The largest sum in windows of one length, where each clock may be apart from the others. Floor 3: rules.

use std::collections::{BTreeMap, VecDeque};

use super::span::Span;
use super::{Mark, Most};

/// What lies in the windows that end now, one of each clock. Those of different clocks may end apart by the skew:
/// of each its fullest counts. Events of one clock are never closer together than they say.
///
/// Memory: two entries for each event of one length and skew.
#[derive(Debug)]
pub(super) struct Apart {
    length: u64,
    skew: u64,
    clocks: BTreeMap<u64, Clock>,
}

#[derive(Debug)]
struct Clock {
    /// In the window that ends with its last event.
    now: Span,
    /// In the window that ends a skew ago, with its last event.
    past: (Span, Mark),
    /// What is in no window of the past yet: its mark, when it leaves, and what it weighs.
    coming: VecDeque<(Mark, u64, u64)>,
    /// What the windows that ended at most a skew ago held, where no later one held as much.
    fullest: VecDeque<Most>,
}

impl Apart {
    pub(super) fn new(length: u64, skew: u64) -> Self {
        Self {
            length,
            skew,
            clocks: BTreeMap::new(),
        }
    }

    /// See [`Span::add`].
    pub(super) fn add(&mut self, mark: Mark, left: u64, weight: u64, most: &mut Most) -> bool {
        let (length, skew) = (self.length, self.skew);
        let clock = self.clocks.entry(mark.clock());
        let clock = clock.or_insert_with(|| Clock {
            now: Span::new(length),
            past: (Span::new(length), Mark::default()),
            coming: VecDeque::new(),
            fullest: VecDeque::new(),
        });
        let held = clock.now.held(mark, left, weight);
        clock.fullest.retain(|other| other.sum > held.sum);
        clock.fullest.push_back(held);
        clock.coming.push_back((mark, left, weight));
        let mut all = Most::default();
        for clock in self.clocks.values_mut() {
            let held = clock.most(mark.at.0, skew);
            if held.sends == 0 {
                continue;
            }
            if all.sends == 0 || held.first.at < all.first.at {
                all.first = held.first;
            }
            if all.sends == 0 || held.last.at > all.last.at {
                all.last = held.last;
            }
            all.sum += held.sum;
            all.sends += held.sends;
        }
        if all.sum <= most.sum {
            return false;
        }
        *most = all;
        true
    }

    /// Whether nothing lies in any window that ends at `at` or later.
    pub(super) fn is_idle(&self, at: u64) -> bool {
        let past = at.saturating_sub(self.skew);
        self.clocks.values().all(|clock| clock.now.is_idle(past))
    }
}

impl Clock {
    /// The fullest of its windows that end from a skew before `at` until then.
    fn most(&mut self, at: u64, skew: u64) -> Most {
        let from = at.saturating_sub(skew);
        while let Some(&(mark, left, weight)) = self.coming.front().filter(|it| it.0.at.0 <= from) {
            self.coming.pop_front();
            self.past.0.held(mark, left, weight);
            self.past.1 = mark;
        }
        while self.fullest.front().is_some_and(|it| it.last.at.0 < from) {
            self.fullest.pop_front();
        }
        let (past, last) = &mut self.past;
        let past = past.at(from, *last);
        match self.fullest.front() {
            Some(held) if held.sum >= past.sum => held.clone(),
            Some(_) | None => past,
        }
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
        fn it_is_the_largest_of_all_windows_that_end_no_further_apart_than_the_skew(
            length in 1..30_u64,
            skew in 1..20_u64,
            events in proptest::collection::vec((0..12_u64, 0..9_u64, 0..5_u64, 0..3_u64), 1..14),
        ) {
            let (mut apart, mut most, mut at) = (Apart::new(length, skew), Most::default(), 0);
            let mut told = Vec::new();
            for (gap, stay, weight, clock) in events {
                at += gap;
                told.push((at, at + stay + length, weight, clock));
                let mark = Mark { at: Tick(at), source: clock << LINE_BITS };
                apart.add(mark, at + stay, weight, &mut most);
            }
            let held = |end: u64, own: u64| -> u64 {
                let inside = told.iter().filter(|it| it.0 <= end && end < it.1 && it.3 == own);
                inside.map(|it| it.2).sum()
            };
            let fullest = |end: u64, own| {
                let ends = end.saturating_sub(skew)..=end;
                ends.map(|end| held(end, own)).max().unwrap_or_default()
            };
            let all = (0..=at).map(|end| (0..3).map(|own| fullest(end, own)).sum::<u64>());
            prop_assert_eq!(most.sum, u128::from(all.max().unwrap_or_default()));
        }
    }
}
