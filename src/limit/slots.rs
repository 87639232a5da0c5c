//! Slots: at most N in flight. Knows nothing of seconds or units. Floor 3: rules.

use super::{Hold, Level, Limit, Moment, NeverFits, Ready, Receipt, Used};
use crate::units::{Cost, Tick};

/// A counting semaphore. It bounds what is in flight; the rate is then N / latency.
#[derive(Debug, Clone)]
pub struct Slots {
    count: u64,
    taken: u64,
    /// When one was last given back while all were taken: no grant counts from before it. One given back
    /// while others are free holds nobody, and must not pull the pace of a bucket to its own moment.
    freed_at: Tick,
    settles_on: Moment,
}

impl Slots {
    /// So many slots, all free; each is kept until a result is written.
    pub fn new(count: Cost) -> Self {
        Self::kept_until(Moment::Recorded, count)
    }

    /// So many slots, all free; each is kept until then.
    pub fn kept_until(settles_on: Moment, count: Cost) -> Self {
        Self {
            count: count.get(),
            taken: 0,
            freed_at: Tick::ZERO,
            settles_on,
        }
    }

    fn with_taken(&self, taken: u64, from: Tick, cost: Cost) -> Ready {
        if cost.get() > self.count {
            Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.count,
            })
        } else if cost.get() <= self.count.saturating_sub(taken) {
            Ready::At(from.max(self.freed_at))
        } else {
            Ready::OnRelease
        }
    }
}

impl Limit for Slots {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        self.with_taken(self.taken, from, cost)
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        self.with_taken(self.taken.saturating_add(taken.get()), from, cost)
    }

    /// No moment can be told at which others give theirs back.
    fn earliest(&self, from: Tick, _total: u128) -> Tick {
        from.max(self.freed_at)
    }

    fn fresh_at(&self) -> Option<Tick> {
        (self.taken == 0).then_some(self.freed_at)
    }

    fn level(&mut self, at: Tick) -> Level {
        let remaining = self.count.saturating_sub(self.taken);
        Level {
            remaining,
            full_at: (self.taken == 0).then_some(at.max(self.freed_at)),
        }
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        self.taken += cost.get();
        Receipt { at, entry: 0 }
    }

    fn settle(&mut self, hold: Hold, at: Tick, _used: Used) {
        if self.taken == self.count {
            self.freed_at = self.freed_at.max(at);
        }
        self.taken -= hold.cost.get();
    }

    fn settles_on(&self) -> Moment {
        self.settles_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_given_back_delays_a_grant_only_if_all_were_taken() {
        let mut limit = Slots::new(Cost::new(3).unwrap());
        let take = |limit: &mut Slots| limit.take(Tick(1), Cost::ONE);
        let (first, second) = (take(&mut limit), take(&mut limit));
        limit.settle(first, Tick(10), Used::Unknown);
        assert_eq!(limit.ready(Tick(5), Cost::ONE), Ready::At(Tick(5)));
        let (third, _fourth) = (take(&mut limit), take(&mut limit));
        assert_eq!(limit.ready(Tick(15), Cost::ONE), Ready::OnRelease);
        limit.settle(second, Tick(20), Used::Unknown);
        limit.settle(third, Tick(30), Used::Unknown);
        assert_eq!(limit.ready(Tick(15), Cost::ONE), Ready::At(Tick(20)));
    }
}
