//! The scale that a bucket and its leaky twin measure on: units × period, nanoseconds × count. Floor 3: rules.

use std::time::Duration;

use super::{Level, NeverFits, Ready, Spec};
use crate::units::{Cost, Rate, Tick, gcd, nanos};

/// How long ago what was taken of a bucket may still count: one that is taken to have been empty so long ago is as full
/// now as the real one, unless that was full then and has given more than its rate ever since.
pub(super) fn two_fillings(spec: &Spec) -> Duration {
    let filling = u128::from(spec.burst.get()) * spec.rate.period.as_nanos();
    let filling = filling.div_ceil(spec.rate.count.get().into());
    let twice = u64::try_from(filling.saturating_mul(2)).unwrap_or(u64::MAX);
    Duration::from_nanos(twice).max(spec.rate.period)
}

/// A rate and a capacity. Levels are whole numbers of 1 / period of a unit; below zero is debt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meter {
    /// What flows in each nanosecond.
    count: u64,
    /// Levels to a unit. The ratio is reduced: 600 per minute is 1 per 100 ms, and most levels fit 64 bits.
    period: u64,
    capacity: u64,
    /// The level that is full.
    full: i128,
}

impl Meter {
    pub(super) fn new(rate: &Rate, capacity: Cost) -> Self {
        let (count, period) = (rate.count.get(), nanos(rate.period));
        let shared = gcd(count, period);
        let period = period / shared;
        Self {
            count: count / shared,
            period,
            capacity: capacity.get(),
            full: product(capacity.get(), period),
        }
    }

    /// So many units as a level.
    pub(super) fn units(&self, units: u64) -> i128 {
        product(units, self.period)
    }

    /// What `level` has become after so many nanoseconds: full at most.
    pub(super) fn filled(&self, level: i128, nanos: u64) -> i128 {
        if let (Ok(level), Ok(full)) = (i64::try_from(level), i64::try_from(self.full))
            && let Some(flow) = nanos.checked_mul(self.count)
            && let Some(filled) = level.checked_add_unsigned(flow)
        {
            return filled.min(full).into();
        }
        level.saturating_add(self.flow(nanos)).min(self.full)
    }

    /// What flows in so many nanoseconds.
    pub(super) fn flow(&self, nanos: u64) -> i128 {
        product(nanos, self.count)
    }

    pub(super) fn full(&self) -> i128 {
        self.full
    }

    /// When `cost` fits, if the level is `level` at `from`.
    pub(super) fn ready(&self, level: i128, from: Tick, cost: Cost) -> Ready {
        if cost.get() > self.capacity {
            return Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.capacity,
            });
        }
        Ready::At(self.reaches(level, from, self.units(cost.get())))
    }

    /// When the last of `total` can be taken, if the level is `level` at `from`. Exact, but for what the
    /// parts that need a full bucket lose by rounding up.
    pub(super) fn earliest(&self, level: i128, from: Tick, total: u128) -> Tick {
        if total == 0 {
            return from;
        }
        if self.capacity == 1 {
            // Each part is one unit and needs a full bucket: all of them round up.
            let first = self.reaches(level, from, self.full);
            let each = u128::from(self.period.div_ceil(self.count));
            return later(first, each.saturating_mul(total - 1));
        }
        let total = i128::try_from(total).unwrap_or(i128::MAX);
        self.reaches(level, from, total.saturating_mul(self.period.into()))
    }

    /// What is left, if the level is `level` at `at`.
    pub(super) fn shown(&self, level: i128, at: Tick) -> Level {
        Level {
            remaining: u64::try_from(level.max(0) / i128::from(self.period))
                .unwrap_or(self.capacity),
            full_at: Some(self.reaches(level, at, self.full)),
        }
    }

    /// So much of `debt` is owed at `level`: down to minus the capacity, what lies below is forgiven.
    pub(super) fn owed(&self, level: i128, debt: i128) -> i128 {
        debt.min(level.saturating_add(self.full).max(0))
    }

    /// The moment at which `level`, that of `from`, has grown to `wanted`; rounded up.
    pub(super) fn reaches(&self, level: i128, from: Tick, wanted: i128) -> Tick {
        if level >= wanted {
            return from;
        }
        let missing = wanted.abs_diff(level);
        // Division of 128 bits is slow, and nearly every level fits 64.
        let span = match u64::try_from(missing) {
            Ok(missing) => missing.div_ceil(self.count),
            Err(_) => u64::try_from(missing.div_ceil(self.count.into())).unwrap_or(u64::MAX),
        };
        Tick(from.0.saturating_add(span))
    }
}

/// The moment `span` nanoseconds later, at most the end of time.
pub(super) fn later(at: Tick, span: u128) -> Tick {
    Tick(at.0.saturating_add(u64::try_from(span).unwrap_or(u64::MAX)))
}

/// Beyond 127 bits, which is a full bucket of 2^63 units of three centuries each, it stays there.
fn product(one: u64, other: u64) -> i128 {
    i128::try_from(u128::from(one) * u128::from(other)).unwrap_or(i128::MAX)
}
