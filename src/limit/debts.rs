//! What one took of a limit while its store was away, to be told there later. Floor 3: rules.

use std::collections::VecDeque;
use std::mem;

use crate::units::{Cost, Tick};

/// More are put together in pairs, each as if all of it had been taken at the later moment.
const MOST: usize = 256;

/// Takes about as they came, no more of them than the limit ever holds: what lies before has grown again since.
#[derive(Debug, Default)]
pub(super) struct Debts {
    taken: VecDeque<(Tick, u64)>,
    sum: u128,
}

impl Debts {
    /// So much was taken of a limit that never holds more than `most`.
    pub(super) fn add(&mut self, at: Tick, cost: u64, most: Cost) {
        if cost == 0 {
            return;
        }
        let cost = cost.min(most.get());
        self.taken.push_back((at, cost));
        self.sum += u128::from(cost);
        while let Some((_, oldest)) = self.taken.front_mut()
            && self.sum > u128::from(most.get())
        {
            let over = u64::try_from(self.sum - u128::from(most.get())).unwrap_or(u64::MAX);
            let over = over.min(*oldest);
            *oldest -= over;
            self.sum -= u128::from(over);
            if *oldest == 0 {
                self.taken.pop_front();
            }
        }
        if self.taken.len() > MOST {
            let mut pairs = mem::take(&mut self.taken).into_iter();
            while let Some((first, cost)) = pairs.next() {
                let (at, other) = pairs.next().unwrap_or((first, 0));
                self.taken.push_back((at.max(first), cost + other));
            }
        }
    }

    /// So much of what was taken at `at` was not: nothing where that is not known any more.
    pub(super) fn strike(&mut self, at: Tick, cost: u64) -> u64 {
        let Some(place) = self.taken.iter().rposition(|(own, _)| *own == at) else {
            return 0;
        };
        let (_, kept) = &mut self.taken[place];
        let struck = cost.min(*kept);
        *kept -= struck;
        self.sum -= u128::from(struck);
        if *kept == 0 {
            self.taken.remove(place);
        }
        struck
    }

    /// All of it, oldest first; nothing is left.
    pub(super) fn told(&mut self) -> Vec<(Tick, Cost)> {
        self.sum = 0;
        let all = mem::take(&mut self.taken).into_iter();
        let all = all.filter_map(|(at, cost)| Some((at, Cost::new(cost)?)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// When the last was taken.
    pub(super) fn last(&self) -> Option<Tick> {
        self.taken.back().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(units: u64) -> Cost {
        Cost::new(units).unwrap()
    }

    #[test]
    fn no_more_is_owed_than_the_limit_holds_and_the_latest_counts() {
        let mut debts = Debts::default();
        for at in 1..=5 {
            debts.add(Tick(at), 4, cost(10));
        }
        assert_eq!(debts.strike(Tick(4), 3), 3);
        assert_eq!(debts.strike(Tick(2), 1), 0);
        let told = [(3, 2), (4, 1), (5, 4)].map(|(at, units)| (Tick(at), cost(units)));
        assert_eq!(debts.told(), told);
        assert_eq!(debts.told(), []);
    }

    #[test]
    fn costs_as_large_as_numbers_go_are_owed_once() {
        let mut debts = Debts::default();
        debts.add(Tick(1), u64::MAX, Cost::MAX);
        debts.add(Tick(2), u64::MAX, Cost::MAX);
        assert_eq!(debts.told(), [(Tick(2), Cost::MAX)]);
    }

    #[test]
    fn many_takes_are_put_together_and_none_is_lost_or_earlier() {
        let mut debts = Debts::default();
        let all = 10_000;
        for at in 1..=all {
            debts.add(Tick(at), 1, Cost::MAX);
        }
        let told = debts.told();
        assert!(told.len() <= MOST, "{}", told.len());
        let sum: u64 = told.iter().map(|(_, units)| units.get()).sum();
        assert_eq!(sum, all);
        let mut until = 0;
        for (at, units) in told {
            until += units.get();
            assert!(at.0 >= until, "{at:?}");
        }
    }
}
