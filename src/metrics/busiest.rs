//! The fullest window of sends. Floor 3: rules.

use std::collections::VecDeque;
use std::time::Duration;

use crate::units::{Tick, nanos};

/// The most moments in any window `(t - span, t]`: what is exactly one span old is outside.
///
/// Memory: the different moments of one span.
#[derive(Debug)]
pub struct Busiest {
    span: u64,
    /// Moments and how many there were of each, oldest first.
    inside: VecDeque<(Tick, u64)>,
    count: u64,
    most: u64,
}

impl Busiest {
    /// Windows of this length.
    pub fn new(span: Duration) -> Self {
        Self {
            span: nanos(span),
            inside: VecDeque::new(),
            count: 0,
            most: 0,
        }
    }

    /// Another moment. One before the last counts as the last: clocks of tasks may differ by some microseconds.
    pub fn add(&mut self, at: Tick) {
        let last = self.inside.back().map(|last| last.0);
        let at = last.map_or(at, |last| at.max(last));
        match self.inside.back_mut() {
            Some((last, count)) if *last == at => *count += 1,
            Some(_) | None => self.inside.push_back((at, 1)),
        }
        self.count += 1;
        while let Some(&(first, count)) = self.inside.front()
            && at.0 - first.0 >= self.span
        {
            self.inside.pop_front();
            self.count -= count;
        }
        self.most = self.most.max(self.count);
    }

    /// The most so far.
    pub fn most(&self) -> u64 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn most(span: u64, moments: &[u64]) -> u64 {
        let mut busiest = Busiest::new(Duration::from_nanos(span));
        for &at in moments {
            busiest.add(Tick(at));
        }
        busiest.most()
    }

    #[test]
    fn what_is_exactly_one_span_old_is_outside() {
        assert_eq!(most(100, &[0, 0, 99]), 3);
        assert_eq!(most(100, &[0, 0, 100]), 2);
        assert_eq!(most(100, &[]), 0);
    }

    proptest! {
        #[test]
        fn it_is_the_most_of_all_windows(
            span in 1..20_u64,
            gaps in proptest::collection::vec(0..8_u64, 0..40),
        ) {
            let moments: Vec<u64> = gaps
                .iter()
                .scan(0, |at, gap| {
                    *at += gap;
                    Some(*at)
                })
                .collect();
            let inside = |to: u64| moments.iter().filter(|&&at| at <= to && at + span > to).count();
            let counted = moments.iter().map(|&to| inside(to)).max().unwrap_or(0);
            prop_assert_eq!(most(span, &moments), counted as u64);
        }
    }
}
