//! Token bucket: `level = min(capacity, level + elapsed × rate)`, computed when asked. Floor 3: rules.

use super::{Hold, Level, Limit, NeverFits, Ready, Used};
use crate::units::{Cost, Rate, Tick, nanos};

/// Never more than `capacity + rate × T` in any window of length T. With capacity 1 it is a leaky
/// bucket: even spacing.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// What flows in each nanosecond, in units × `period`.
    count: i128,
    /// Nanoseconds; the scale of the levels.
    period: i128,
    capacity: u64,
    /// Units × `period`; below zero is debt.
    level: i128,
    last: Tick,
}

impl Bucket {
    /// A bucket that fills with `rate` up to `capacity` units and holds `start` of them now.
    pub fn new(rate: &Rate, capacity: Cost, start: u64) -> Self {
        let period = i128::from(nanos(rate.period));
        Self {
            count: i128::from(rate.count.get()),
            period,
            capacity: capacity.get(),
            level: i128::from(start.min(capacity.get())).saturating_mul(period),
            last: Tick::ZERO,
        }
    }

    /// So many units as a level.
    fn scaled(&self, units: u64) -> i128 {
        i128::from(units).saturating_mul(self.period)
    }

    /// The level that is full.
    fn full(&self) -> i128 {
        self.scaled(self.capacity)
    }

    /// The level at `at`, scaled; a moment before the last one counts as that.
    fn level_at(&self, at: Tick) -> i128 {
        self.level.saturating_add(self.flow(at)).min(self.full())
    }

    /// What flows in from the last moment to `at`.
    fn flow(&self, at: Tick) -> i128 {
        i128::from(at.0.saturating_sub(self.last.0)).saturating_mul(self.count)
    }
}

impl Limit for Bucket {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        if cost.get() > self.capacity {
            return Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.capacity,
            });
        }
        let from = from.max(self.last);
        let missing = self.scaled(cost.get()).saturating_sub(self.level_at(from));
        if missing <= 0 {
            return Ready::At(from);
        }
        Ready::At(Tick(from.0.saturating_add(divide_up(missing, self.count))))
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        let mut other = self.clone();
        other.take(from, taken);
        other.ready(from, cost)
    }

    fn earliest(&self, from: Tick, total: u128) -> Tick {
        let from = from.max(self.last);
        let total = i128::try_from(total)
            .unwrap_or(i128::MAX)
            .saturating_mul(self.period);
        let missing = total.saturating_sub(self.level_at(from));
        if missing <= 0 {
            return from;
        }
        Tick(from.0.saturating_add(divide_up(missing, self.count)))
    }

    fn fresh_at(&self) -> Option<Tick> {
        Some(self.earliest(self.last, u128::from(self.capacity)))
    }

    fn level(&mut self, at: Tick) -> Level {
        let at = at.max(self.last);
        let level = self.level_at(at);
        let missing = self.full().saturating_sub(level);
        let span = if missing > 0 {
            divide_up(missing, self.count)
        } else {
            0
        };
        Level {
            remaining: u64::try_from(level.max(0) / self.period).unwrap_or(self.capacity),
            full_at: Some(Tick(at.0.saturating_add(span))),
        }
    }

    fn take(&mut self, at: Tick, cost: Cost) -> Hold {
        let at = at.max(self.last);
        self.level = self.level_at(at).saturating_sub(self.scaled(cost.get()));
        self.last = at;
        Hold { at, cost, entry: 0 }
    }

    /// Debt goes down to minus the capacity; what lies below is forgiven.
    fn settle(&mut self, hold: Hold, at: Tick, used: Used) {
        let used = match used {
            Used::NeverSent => 0,
            Used::Known(used) => used,
            Used::Unknown => return,
        };
        let now = self.level_at(at);
        let (taken, used) = (self.scaled(hold.cost.get()), self.scaled(used));
        // The time of the state stays: pulled to now, it would cost the pace between two grants.
        if used <= taken {
            self.level = self.level.saturating_add(taken - used).min(self.full());
        } else {
            let room = now.saturating_add(self.full()).max(0);
            let settled = now.saturating_sub((used - taken).min(room));
            self.level = settled.saturating_sub(self.flow(at));
        }
    }
}

/// `missing / count`, rounded up, at most the end of time. Both are above zero.
fn divide_up(missing: i128, count: i128) -> u64 {
    // Division of 128 bits is slow, and nearly every level fits 64.
    if let (Ok(missing), Ok(count)) = (u64::try_from(missing), u64::try_from(count)) {
        return missing.div_ceil(count);
    }
    u64::try_from((missing - 1) / count + 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
