//! Jobs at rest before their next try. Floor 3: rules.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::talk::Ticket;
use crate::retry::Budget;
use crate::units::{Tick, least};

/// Jobs at rest, by the end of it, the oldest first. One that the budget for retries has nothing for is held for
/// longer.
#[derive(Debug)]
pub(super) struct Rests {
    resting: BinaryHeap<Reverse<Rest>>,
    /// Their own rest is over. Nobody is, where the budget has one.
    held: BinaryHeap<Reverse<Rest>>,
    budget: Budget,
}

/// The rest of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rest {
    pub(super) until: Tick,
    pub(super) seq: u64,
    pub(super) ticket: Ticket,
    /// How much longer it may be held; zero if it costs the budget nothing. Of one that is held this is in `until`.
    pub(super) hold: Duration,
}

/// A job that may go again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rested {
    pub(super) ticket: Ticket,
    /// Since when.
    pub(super) at: Tick,
    /// For how long the budget has held it.
    pub(super) held: Duration,
}

impl Rests {
    /// Nobody rests.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            resting: BinaryHeap::new(),
            held: BinaryHeap::new(),
            budget,
        }
    }

    /// How many rest.
    pub(super) fn len(&self) -> usize {
        self.resting.len() + self.held.len()
    }

    /// A job goes to rest.
    pub(super) fn push(&mut self, rest: Rest) {
        self.resting.push(Reverse(rest));
    }

    /// A job is sent for the first time.
    pub(super) fn pay_in(&mut self) {
        self.budget.pay_in();
    }

    /// The next job that may go at `now`.
    #[inline]
    pub(super) fn wake(&mut self, now: Tick) -> Option<Rested> {
        if self.len() == 0 {
            return None;
        }
        self.wake_one(now)
    }

    fn wake_one(&mut self, now: Tick) -> Option<Rested> {
        while let Some(rest) = pop_over(&mut self.resting, now) {
            if self.lets_go(rest) {
                return Some(Rested {
                    ticket: rest.ticket,
                    at: rest.until,
                    held: Duration::ZERO,
                });
            }
            let until = rest.until.after(rest.hold);
            self.held.push(Reverse(Rest { until, ..rest }));
        }
        let rest = if self.budget.has_one() {
            self.held.pop()?.0
        } else {
            pop_over(&mut self.held, now)?
        };
        self.budget.take_out();
        let (ticket, at) = (rest.ticket, rest.until.min(now));
        let held = at.since(rest.until.before(rest.hold));
        Some(Rested { ticket, at, held })
    }

    /// Whether a job whose own rest is over goes at once.
    fn lets_go(&mut self, rest: Rest) -> bool {
        if rest.hold.is_zero() {
            return true;
        }
        let goes = self.held.is_empty() && self.budget.has_one();
        if goes {
            self.budget.take_out();
        }
        goes
    }

    /// When the next one goes at the latest.
    pub(super) fn next(&self) -> Option<Tick> {
        let first =
            |rests: &BinaryHeap<Reverse<Rest>>| rests.peek().map(|Reverse(rest)| rest.until);
        least(first(&self.resting), first(&self.held))
    }

    /// When the last one goes at the latest, unless it is held.
    pub(super) fn last(&self) -> Option<Tick> {
        let all = self.resting.iter().chain(&self.held);
        all.map(|Reverse(rest)| rest.until).max()
    }

    /// These rest no longer: their tickets, in the order of the ends.
    pub(super) fn take(&mut self, are: impl Fn(Ticket) -> bool) -> Vec<Ticket> {
        let mut taken = Vec::new();
        for rests in [&mut self.resting, &mut self.held] {
            let all = std::mem::take(rests).into_iter();
            let (own, others): (Vec<_>, Vec<_>) = all.partition(|Reverse(rest)| are(rest.ticket));
            *rests = others.into();
            taken.extend(own);
        }
        taken.sort_unstable_by(|one, other| other.cmp(one));
        let taken = taken.into_iter();
        taken.map(|Reverse(rest)| rest.ticket).collect()
    }

    /// Nobody rests any more.
    pub(super) fn clear(&mut self) {
        self.resting.clear();
        self.held.clear();
    }
}

/// The first of these, if it is over by then.
fn pop_over(rests: &mut BinaryHeap<Reverse<Rest>>, by: Tick) -> Option<Rest> {
    rests.peek().filter(|Reverse(rest)| rest.until <= by)?;
    rests.pop().map(|Reverse(rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Tick {
        Tick::ZERO.after(Duration::from_secs(seconds))
    }

    /// One job a second, from second 0 on: it rests that long, and is held for 30 s at most.
    fn resting(jobs: u32, hold: Duration) -> Rests {
        let mut rests = Rests::new(Budget::of(0));
        for seq in 0..jobs {
            rests.push(Rest {
                until: at(seq.into()),
                seq: seq.into(),
                ticket: Ticket(seq),
                hold,
            });
        }
        rests
    }

    fn woken(rests: &mut Rests, now: u64) -> Vec<(u32, u64, u64)> {
        std::iter::from_fn(|| rests.wake(at(now)))
            .map(|woken| {
                let at = woken.at.since(Tick::ZERO).as_secs();
                (woken.ticket.0, at, woken.held.as_secs())
            })
            .collect()
    }

    #[test]
    fn what_the_budget_has_nothing_for_goes_at_most_so_much_later() {
        let mut rests = resting(3, Duration::from_secs(30));
        assert_eq!(woken(&mut rests, 29), []);
        assert_eq!((rests.len(), rests.next()), (3, Some(at(30))));
        assert_eq!(woken(&mut rests, 30), [(0, 30, 30)]);
        assert_eq!(woken(&mut rests, 99), [(1, 31, 30), (2, 32, 30)], "late");
    }

    #[test]
    fn who_was_held_first_goes_first_as_soon_as_there_is_one() {
        let mut rests = resting(3, Duration::from_secs(30));
        rests.budget = Budget::of(10);
        for _ in 0..10 {
            rests.pay_in();
        }
        assert_eq!(woken(&mut rests, 5), [(0, 0, 0)], "the last one saved");
        for _ in 0..10 {
            rests.pay_in();
        }
        assert_eq!(woken(&mut rests, 6), [(1, 6, 5)]);
    }

    #[test]
    fn what_costs_the_budget_nothing_is_not_held() {
        let mut rests = resting(2, Duration::ZERO);
        assert_eq!(woken(&mut rests, 5), [(0, 0, 0), (1, 1, 0)]);
    }

    #[test]
    fn those_that_are_taken_out_rest_no_longer_held_or_not() {
        let mut rests = resting(6, Duration::from_secs(30));
        assert_eq!(woken(&mut rests, 2), [], "three are held");
        let taken = rests.take(|ticket| ticket.0.is_multiple_of(2));
        assert_eq!(taken, [4, 0, 2].map(Ticket), "by the end of it");
        assert_eq!(
            woken(&mut rests, 99),
            [(1, 31, 30), (3, 33, 30), (5, 35, 30)]
        );
    }
}
