//! The largest sum in any window of one length. Floor 3: rules.

use std::collections::VecDeque;

use super::moments::Moments;
use super::{Mark, Most};
use crate::units::Tick;

/// What lies in the window that ends now. Memory: for each event of one length 2 bytes
/// where there are 100 000 a second and 3 where there are 1000, for one that is not plain 32.
#[derive(Debug)]
pub(super) struct Span {
    /// Nanoseconds.
    length: u64,
    /// When plain events leave, in order: each weighs one, has source zero and leaves one length after its moment. Of
    /// a limit on requests all are so while a run goes.
    plain: Moments,
    /// The others, in the order in which they leave.
    inside: VecDeque<Inside>,
    sum: u128,
}

#[derive(Debug)]
struct Inside {
    /// From this moment on it is outside.
    until: u64,
    weight: u64,
    mark: Mark,
}

impl Span {
    pub(super) fn new(length: u64) -> Self {
        Self {
            length,
            plain: Moments::default(),
            inside: VecDeque::new(),
            sum: 0,
        }
    }

    /// An event, none before the last one. It is outside one length after `left`, which is its own
    /// moment or later: it may have happened at any moment between.
    pub(super) fn add(&mut self, mark: Mark, left: u64, weight: u64, most: &mut Most) -> bool {
        self.take(mark, left, weight);
        if self.sum <= most.sum {
            return false;
        }
        *most = self.all(mark);
        true
    }

    /// The same event; what is inside with it.
    pub(super) fn held(&mut self, mark: Mark, left: u64, weight: u64) -> Most {
        self.take(mark, left, weight);
        self.all(mark)
    }

    /// What is inside at this moment, none before that of the event that was `last`.
    pub(super) fn at(&mut self, at: u64, last: Mark) -> Most {
        self.forget(at);
        self.all(last)
    }

    fn take(&mut self, mark: Mark, left: u64, weight: u64) {
        self.forget(mark.at.0);
        self.sum += u128::from(weight);
        let until = left.max(mark.at.0).saturating_add(self.length);
        if weight == 1 && mark == self.plain(until) {
            self.plain.push(until);
            return;
        }
        // Made where it goes: copied there, it would be read before it is written.
        let entry = || Inside {
            until,
            weight,
            mark,
        };
        if self.inside.back().is_none_or(|last| last.until <= until) {
            self.inside.push_back(entry());
        } else {
            let place = self.inside.partition_point(|other| other.until <= until);
            self.inside.insert(place, entry());
        }
    }

    /// The mark of a plain event that leaves then.
    fn plain(&self, until: u64) -> Mark {
        Mark {
            at: Tick(until.saturating_sub(self.length)),
            source: 0,
        }
    }

    fn all(&self, last: Mark) -> Most {
        let plain = self.plain.first().map(|until| (until, self.plain(until)));
        let other = self.inside.front().map(|first| (first.until, first.mark));
        let first = plain.into_iter().chain(other).min_by_key(|first| first.0);
        Most {
            sum: self.sum,
            sends: (self.plain.len() + self.inside.len()) as u64,
            first: first.map_or(last, |(_, mark)| mark),
            last,
            key: None,
        }
    }

    /// Whether nothing lies in the window that ends at `at`.
    pub(super) fn is_idle(&self, at: u64) -> bool {
        let plain = self.plain.last().is_none_or(|last| last <= at);
        plain && self.inside.back().is_none_or(|last| last.until <= at)
    }

    fn forget(&mut self, at: u64) {
        while self.plain.first().is_some_and(|until| until <= at) {
            self.sum -= 1;
            self.plain.pop();
        }
        while let Some(first) = self.inside.front().filter(|first| first.until <= at) {
            self.sum -= u128::from(first.weight);
            self.inside.pop_front();
        }
    }
}

/// The most of these stretches, each without its end, that were open at once; sorts them.
pub fn most_at_once(stretches: &mut [(Tick, Tick)]) -> Most {
    stretches.sort_unstable();
    let (mut span, mut most) = (Span::new(0), Most::default());
    for &(from, to) in &*stretches {
        let mark = Mark {
            at: from,
            source: 0,
        };
        span.add(mark, to.0, 1, &mut most);
    }
    most
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn most(length: u64, events: &[(u64, u64, u64)]) -> Most {
        let (mut span, mut most) = (Span::new(length), Most::default());
        for &(at, left, weight) in events {
            let mark = Mark {
                at: Tick(at),
                source: 0,
            };
            span.add(mark, left, weight, &mut most);
        }
        most
    }

    #[test]
    fn one_nanosecond_less_than_a_period_is_inside_and_a_whole_one_is_not() {
        assert_eq!(most(1_000, &[(5, 5, 2), (1_004, 1_004, 3)]).sum, 5);
        assert_eq!(most(1_000, &[(5, 5, 2), (1_005, 1_005, 3)]).sum, 3);
    }

    #[test]
    fn a_stretch_that_ends_where_another_begins_is_not_open_with_it() {
        let mut stretches =
            [(5, 9), (0, 5), (0, 6), (9, 9)].map(|(from, to)| (Tick(from), Tick(to)));
        assert_eq!(most_at_once(&mut stretches).sum, 2);
    }

    #[test]
    fn the_worst_window_is_told_from_its_first_event_to_its_last() {
        let found = most(
            100,
            &[(0, 0, 1), (150, 150, 1), (200, 200, 1), (260, 260, 1)],
        );
        assert_eq!((found.sum, found.sends), (2, 2));
        assert_eq!((found.first.at, found.last.at), (Tick(150), Tick(200)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn it_is_the_largest_of_all_windows(
            length in 1..30_u64,
            events in proptest::collection::vec((0..12_u64, 0..40_u64, 0..5_u64), 1..14),
        ) {
            let mut at = 0;
            let events: Vec<(u64, u64, u64)> = events
                .into_iter()
                .map(|(gap, stay, weight)| {
                    at += gap;
                    (at, at + stay, weight)
                })
                .collect();
            // A server counted each at some moment of [sent, answered]: it can have counted all that
            // touch one window of its own.
            let touching = |end: u64| -> u64 {
                let touches = |event: &&(u64, u64, u64)| event.0 <= end && event.1 + length > end;
                events.iter().filter(touches).map(|event| event.2).sum()
            };
            let worst = (0..=at).map(touching).max().unwrap();
            prop_assert_eq!(most(length, &events).sum, u128::from(worst));
        }
    }
}
