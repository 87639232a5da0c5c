//! Leaky bucket as a meter (GCRA): one moment is the whole state. Floor 3: rules.

use super::kind::{Promise, Rule};
use super::ledger::Ledger;
use super::meter::{Meter, two_fillings};
use super::{Hold, Level, Limit, Ready, Receipt, Used};
use crate::units::{Cost, Rate, Tick};

pub(super) static RULE: Rule = Rule {
    word: "leaky",
    like: "GCRA",
    mirrors: "Proxies that space requests evenly (GCRA, nginx limit_req); with the same burst it is the bucket.",
    promise: Promise::Flow,
    build: |spec, _| Box::new(Leaky::new(&spec.rate, spec.burst, spec.start)),
    reach: |spec, _| two_fillings(spec),
};

/// The generic cell rate algorithm (ITU-T I.371): equal to a token bucket in every answer. A cost that
/// comes before its theoretical arrival by more than the burst waits.
#[derive(Debug, Clone)]
pub struct Leaky {
    meter: Meter,
    /// The theoretical arrival: the moment from which on everything fits, in nanoseconds × count. In whole
    /// nanoseconds each take would lose a remainder.
    arrival: i128,
    last: Tick,
    ledger: Ledger,
}

impl Leaky {
    /// A meter that drains with `rate`, overflows at `burst` units and has room for `start` of them now.
    pub fn new(rate: &Rate, burst: Cost, start: u64) -> Self {
        let meter = Meter::new(rate, burst);
        Self {
            arrival: meter.full() - meter.units(start).min(meter.full()),
            meter,
            last: Tick::ZERO,
            ledger: Ledger::default(),
        }
    }

    /// What fits at `at`, which is not before the last moment; below zero is debt.
    fn room_at(&self, at: Tick) -> i128 {
        let early = self.arrival.saturating_sub(self.meter.flow(at.0)).max(0);
        self.meter.full().saturating_sub(early)
    }

    /// The arrival that follows on so much, given at `at`.
    fn push(&mut self, at: Tick, amount: i128) {
        let from = self.arrival.max(self.meter.flow(at.0));
        self.arrival = from.saturating_add(amount);
    }
}

impl Limit for Leaky {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        let from = from.max(self.last);
        self.meter.ready(self.room_at(from), from, cost)
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        let from = from.max(self.last);
        let room = self.room_at(from);
        let room = room.saturating_sub(self.meter.units(taken.get()));
        self.meter.ready(room, from, cost)
    }

    fn earliest(&self, from: Tick, total: u128) -> Tick {
        let from = from.max(self.last);
        self.meter.earliest(self.room_at(from), from, total)
    }

    fn fresh_at(&self) -> Option<Tick> {
        let room = self.room_at(self.last);
        let full_at = self.meter.reaches(room, self.last, self.meter.full());
        self.ledger.is_settled().then_some(full_at)
    }

    fn level(&mut self, at: Tick) -> Level {
        let at = at.max(self.last);
        self.meter.shown(self.room_at(at), at)
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        let at = at.max(self.last);
        let entry = self.ledger.took(self.room_at(at));
        self.push(at, self.meter.units(cost.get()));
        self.last = at;
        Receipt { at, entry }
    }

    /// What comes back counts as if it had never been taken. Usage above what was taken is owed down to
    /// minus the burst; what lies below is forgiven.
    fn settle(&mut self, hold: Hold, at: Tick, used: Used) {
        let taken = hold.cost.get();
        let used = used.of(taken);
        if used < taken {
            let back = self.meter.units(taken - used);
            let back = self.ledger.back(hold.entry, back, &self.meter);
            self.arrival = self.arrival.saturating_sub(back);
        } else if used > taken {
            let at = at.max(self.last);
            let (room, debt) = (self.room_at(at), self.meter.units(used - taken));
            self.ledger.owed(room, debt);
            self.push(at, self.meter.owed(room, debt));
        }
        self.ledger.settle(hold.entry);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::Bucket;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn a_leaky_bucket_gives_every_answer_that_a_bucket_gives(
            (count, period) in (1..2000_u64, 1..5000_u64),
            burst in 1..20_u64,
            start in 0..20_u64,
            steps in prop::collection::vec((0..4_u8, 0..8000_u64, 1..40_u64), 1..60),
        ) {
            let rate = Rate::new(count, Duration::from_nanos(period)).unwrap();
            let burst = Cost::new(burst).unwrap();
            let mut leaky = Leaky::new(&rate, burst, start.min(burst.get()));
            let mut bucket = Bucket::new(&rate, burst, start.min(burst.get()));
            let (mut holds, mut now) = (Vec::new(), 0);
            for (what, pause, units) in steps {
                // Some moments lie before the last one.
                now = (now + pause).saturating_sub(2000);
                let (at, cost) = (Tick(now), Cost::new(units).unwrap());
                let ready = bucket.ready(at, cost.min(burst));
                prop_assert_eq!(leaky.ready(at, cost.min(burst)), ready);
                prop_assert_eq!(leaky.ready(at, cost), bucket.ready(at, cost));
                prop_assert_eq!(
                    leaky.ready_after(at, cost, Cost::ONE),
                    bucket.ready_after(at, cost, Cost::ONE)
                );
                let total = u128::from(units * pause);
                prop_assert_eq!(leaky.earliest(at, total), bucket.earliest(at, total));
                prop_assert_eq!(leaky.level(at), bucket.level(at));
                prop_assert_eq!(leaky.fresh_at(), bucket.fresh_at());
                match (what, ready) {
                    // Above the burst it is owed whole.
                    (0 | 1, Ready::At(ready)) => {
                        holds.push((leaky.take(ready, cost), bucket.take(ready, cost)));
                        now = ready.0;
                    }
                    _ => if let Some((one, other)) = holds.pop() {
                        let used = [Used::NeverSent, Used::Unknown, Used::Known(units)];
                        let used = used[usize::try_from(pause % 3).unwrap()];
                        leaky.settle(one, at, used);
                        bucket.settle(other, at, used);
                    }
                }
            }
        }
    }
}
