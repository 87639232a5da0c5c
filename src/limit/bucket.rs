//! Token bucket: `level = min(capacity, level + elapsed × rate)`, computed when asked. Floor 3: rules.

use super::kind::{Promise, Rule};
use super::ledger::Ledger;
use super::meter::{Meter, two_fillings};
use super::{Hold, Level, Limit, Ready, Receipt, Used};
use crate::units::{Cost, Rate, Tick};

pub(super) static RULE: Rule = Rule {
    word: "bucket",
    like: "a token bucket",
    mirrors: "Servers that refill a quota steadily and let unused quota pile up to a burst.",
    promise: Promise::Flow,
    build: |spec, _| Box::new(Bucket::new(&spec.rate, spec.burst, spec.start)),
    reach: |spec, _| two_fillings(spec),
};

/// Never more than `capacity + rate × T` in any window of length T. With capacity 1 the spacing is even.
#[derive(Debug, Clone)]
pub struct Bucket {
    meter: Meter,
    /// The level at `last`.
    level: i128,
    last: Tick,
    ledger: Ledger,
}

impl Bucket {
    /// A bucket that fills with `rate` up to `capacity` units and holds `start` of them now.
    pub fn new(rate: &Rate, capacity: Cost, start: u64) -> Self {
        let meter = Meter::new(rate, capacity);
        Self {
            level: meter.units(start).min(meter.full()),
            meter,
            last: Tick::ZERO,
            ledger: Ledger::default(),
        }
    }

    /// The level at `at`, which is not before the last moment.
    fn level_at(&self, at: Tick) -> i128 {
        self.meter.filled(self.level, self.since_last(at))
    }

    /// Nanoseconds from the last moment to `at`.
    fn since_last(&self, at: Tick) -> u64 {
        at.0.saturating_sub(self.last.0)
    }
}

impl Limit for Bucket {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        let from = from.max(self.last);
        self.meter.ready(self.level_at(from), from, cost)
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        let from = from.max(self.last);
        let level = self.level_at(from);
        let level = level.saturating_sub(self.meter.units(taken.get()));
        self.meter.ready(level, from, cost)
    }

    fn earliest(&self, from: Tick, total: u128) -> Tick {
        let from = from.max(self.last);
        self.meter.earliest(self.level_at(from), from, total)
    }

    fn fresh_at(&self) -> Option<Tick> {
        let full_at = self.meter.reaches(self.level, self.last, self.meter.full());
        self.ledger.is_settled().then_some(full_at)
    }

    fn level(&mut self, at: Tick) -> Level {
        let at = at.max(self.last);
        self.meter.shown(self.level_at(at), at)
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        let at = at.max(self.last);
        let level = self.level_at(at);
        self.level = level.saturating_sub(self.meter.units(cost.get()));
        self.last = at;
        let entry = self.ledger.took(level);
        Receipt { at, entry }
    }

    /// What comes back counts as if it had never been taken. Usage above what was taken is owed down to
    /// minus the capacity; what lies below is forgiven.
    fn settle(&mut self, hold: Hold, at: Tick, used: Used) {
        let taken = hold.cost.get();
        let used = used.of(taken);
        // The time of the state stays: pulled to now, it would cost the pace between two grants.
        if used < taken {
            let back = self.meter.units(taken - used);
            let back = self.ledger.back(hold.entry, back, &self.meter);
            self.level = self.level.saturating_add(back).min(self.meter.full());
        } else if used > taken {
            let (now, debt) = (self.level_at(at), self.meter.units(used - taken));
            self.ledger.owed(now, debt);
            let settled = now.saturating_sub(self.meter.owed(now, debt));
            self.level = settled.saturating_sub(self.meter.flow(self.since_last(at)));
        }
        self.ledger.settle(hold.entry);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::NeverFits;
    use super::*;

    fn bucket(count: u64, capacity: u64) -> Bucket {
        let rate = Rate::new(count, Duration::from_secs(1)).unwrap();
        Bucket::new(&rate, Cost::new(capacity).unwrap(), capacity)
    }

    #[test]
    fn a_leaky_bucket_spaces_by_fifty_milliseconds() {
        let mut limit = bucket(20, 1);
        for nth in 0..100 {
            let due = Tick(nth * 50_000_000);
            assert_eq!(limit.ready(Tick::ZERO, Cost::ONE), Ready::At(due));
            limit.take(due, Cost::ONE);
        }
    }

    #[test]
    fn a_cost_above_the_capacity_is_refused_with_both_numbers() {
        let refusal = NeverFits {
            asked: 15,
            capacity: 10,
        };
        assert_eq!(
            bucket(10, 10).ready(Tick::ZERO, Cost::new(15).unwrap()),
            Ready::Never(refusal)
        );
        assert_eq!(refusal.to_string(), "needs 15, the limit holds 10");
    }

    #[test]
    fn a_settlement_between_two_takes_does_not_slow_the_pace() {
        let mut limit = bucket(1000, 1);
        let first = limit.take(Tick::ZERO, Cost::ONE);
        limit.settle(first, Tick(1_700_000), Used::Known(1));
        assert_eq!(
            limit.ready(Tick::ZERO, Cost::ONE),
            Ready::At(Tick(1_000_000))
        );
    }

    #[test]
    fn a_level_is_rounded_down_and_full_when_all_has_flowed_back() {
        let mut limit = bucket(10, 4);
        limit.take(Tick::ZERO, Cost::new(3).unwrap());
        let full_at = Some(Tick(300_000_000));
        for (at, remaining) in [(0, 1), (99_999_999, 1), (100_000_000, 2), (300_000_000, 4)] {
            let level = Level { remaining, full_at };
            assert_eq!(limit.level(Tick(at)), level, "at {at}");
        }
    }

    #[test]
    fn debt_stops_at_minus_the_capacity() {
        let mut limit = bucket(10, 10);
        let hold = limit.take(Tick::ZERO, Cost::ONE);
        limit.settle(hold, Tick(1_000_000_000), Used::Known(1_000_000));
        assert_eq!(
            limit.ready(Tick::ZERO, Cost::ONE),
            Ready::At(Tick(2_100_000_000))
        );
    }

    #[test]
    fn extremes_neither_panic_nor_wrap() {
        let rate = Rate::new(u64::MAX, Duration::from_nanos(u64::MAX)).unwrap();
        let most = Cost::new(u64::MAX).unwrap();
        let mut limit = Bucket::new(&rate, most, u64::MAX);
        limit.take(Tick::ZERO, most);
        assert_eq!(limit.ready(Tick::ZERO, Cost::ONE), Ready::At(Tick(1)));
        assert_eq!(limit.ready(Tick(u64::MAX), most), Ready::At(Tick(u64::MAX)));
    }
}
