//! What was taken of a bucket since its oldest take that is not settled. Floor 3: rules.
//!
//! What is given back counts as if it had never been taken: a bucket that was full meanwhile has nothing
//! to give back, for what would have flowed in by then has flowed over. Merely added to the level, it would
//! let go more than burst + rate × T.

use std::collections::VecDeque;

use super::meter::Meter;

/// Takes and debts in their order. Memory: 40 bytes for each since the oldest take that is not settled.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    steps: VecDeque<Step>,
    /// Number of the first step.
    first: u64,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    /// The level just before.
    before: i128,
    /// What was to be owed; zero for a take.
    debt: i128,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Settled,
}

impl Ledger {
    /// Every take is settled.
    pub(super) fn is_settled(&self) -> bool {
        self.steps.is_empty()
    }

    /// Something is taken at this level. Returns its number.
    pub(super) fn took(&mut self, before: i128) -> u64 {
        self.push(before, 0, State::Open)
    }

    /// So much is to be owed at this level.
    pub(super) fn owed(&mut self, before: i128, debt: i128) {
        if !self.steps.is_empty() {
            self.push(before, debt, State::Settled);
        }
    }

    fn push(&mut self, before: i128, debt: i128, state: State) -> u64 {
        let step = Step {
            before,
            debt,
            state,
        };
        self.steps.push_back(step);
        self.first + self.steps.len() as u64 - 1
    }

    /// A take is settled.
    pub(super) fn settle(&mut self, number: u64) {
        if let Some(step) = self
            .place(number)
            .and_then(|place| self.steps.get_mut(place))
        {
            step.state = State::Settled;
        }
        while self
            .steps
            .front()
            .is_some_and(|step| step.state == State::Settled)
        {
            self.steps.pop_front();
            self.first += 1;
        }
    }

    /// How much higher the level would be now, if `back` of this take had never been taken.
    pub(super) fn back(&mut self, number: u64, back: i128, meter: &Meter) -> i128 {
        let later = self
            .place(number)
            .map_or(self.steps.len(), |place| place + 1);
        let mut back = back;
        for step in self.steps.iter_mut().skip(later) {
            back = back.min(meter.full().saturating_sub(step.before));
            if back <= 0 {
                return 0;
            }
            let after = |before: i128| before.saturating_sub(meter.owed(before, step.debt));
            let (old, new) = (after(step.before), after(step.before.saturating_add(back)));
            step.before = step.before.saturating_add(back);
            back = new.saturating_sub(old);
        }
        back
    }

    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }
}
