//! Sliding counter over two windows: the previous one weighs as much of it as is still inside. Floor 3: rules.

use std::time::Duration;

use super::kind::{Promise, Rule};
use super::meter::later;
use super::{Hold, Level, Limit, NeverFits, Ready, Receipt, Used, phase};
use crate::units::{Cost, Rate, Tick, nanos};

pub(super) static RULE: Rule = Rule {
    word: "window-counter",
    like: "a two-count gateway",
    mirrors: "Gateways that keep two counts and weigh the previous one by what is left of it.",
    promise: Promise::TwoPeriods,
    build: |spec, setting| Box::new(Counter::new(&spec.rate, setting.epoch)),
    reach: |spec, _| spec.rate.period * 2,
};

/// `previous × (part of its window still inside the period) + current` is at most `count`. Windows are
/// aligned to the Unix epoch. Even traffic sees `count` in any period, the worst up to `2 × count - 1`.
#[derive(Debug, Clone)]
pub struct Counter {
    count: u64,
    period: u64,
    /// Nanoseconds from the start of a window to the start of the run; moments here are counted from there.
    phase: u64,
    pair: Pair,
    last: Tick,
}

/// Two windows side by side. Counts stay at the end of numbers: a server may report any usage.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    /// When the current one began.
    began: u64,
    previous: u64,
    current: u64,
    /// What stands in the windows that follow, at most the count in each.
    carried: u64,
}

impl Counter {
    /// A counter of `rate`; the run began `epoch` after the Unix epoch.
    pub fn new(rate: &Rate, epoch: Duration) -> Self {
        let period = nanos(rate.period);
        Self {
            count: rate.count.get(),
            period,
            phase: phase(epoch, period),
            pair: Pair::default(),
            last: Tick::ZERO,
        }
    }

    /// The windows at `at`, with what they would count then.
    fn pair_at(&self, at: Tick) -> Pair {
        let since = self.shifted(at).saturating_sub(self.pair.began);
        if since < self.period {
            return self.pair;
        }
        self.onward(self.pair, since / self.period)
    }

    /// The windows so many after `pair`; at least one.
    fn onward(&self, pair: Pair, windows: u64) -> Pair {
        let nth = |window: u64| {
            let paid = window.saturating_mul(self.count);
            pair.carried.saturating_sub(paid)
        };
        let current = nth(windows - 1).min(self.count);
        Pair {
            began: pair
                .began
                .saturating_add(windows.saturating_mul(self.period)),
            previous: match windows {
                1 => pair.current,
                _ => nth(windows - 2).min(self.count),
            },
            current,
            carried: nth(windows - 1) - current,
        }
    }

    fn with(&self, pair: Pair, cost: Cost) -> Pair {
        let now = cost.get().min(self.count.saturating_sub(pair.current));
        Pair {
            current: pair.current + now,
            carried: pair.carried.saturating_add(cost.get() - now),
            ..pair
        }
    }

    /// The first moment of `pair`, as time since its start, at which `cost` fits; `None` if it does not.
    fn fits_in(&self, pair: Pair, cost: Cost) -> Option<u64> {
        let room = self
            .count
            .checked_sub(pair.current)?
            .checked_sub(cost.get())?;
        if pair.previous <= room {
            return Some(0);
        }
        // previous × inside <= room × period, so the part inside is rounded down and the moment up.
        let inside = u128::from(room) * u128::from(self.period);
        let inside = match u64::try_from(inside) {
            Ok(inside) => inside / pair.previous,
            Err(_) => u64::try_from(inside / u128::from(pair.previous))
                .expect("the room is less than the previous count, so it is less than a period"),
        };
        (inside > 0).then_some(self.period - inside)
    }

    fn fits(&self, pair: Pair, from: Tick, cost: Cost) -> Ready {
        if cost.get() > self.count {
            return Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.count,
            });
        }
        let at = |pair: Pair, since: u64| {
            let at = pair.began.saturating_add(since).saturating_sub(self.phase);
            Tick(at).max(from)
        };
        if let Some(since) = self.fits_in(pair, cost) {
            return Ready::At(at(pair, since));
        }
        // Nothing fits into a window that what is carried fills.
        let full = pair.carried / self.count;
        let mut pair = self.onward(pair, full.saturating_add(1));
        loop {
            if let Some(since) = self.fits_in(pair, cost) {
                return Ready::At(at(pair, since));
            }
            pair = self.onward(pair, 1);
        }
    }

    /// A moment, counted from the start of a window.
    fn shifted(&self, at: Tick) -> u64 {
        at.0.saturating_add(self.phase)
    }

    /// The moment from which on nothing counts.
    fn empty_at(&self, pair: Pair) -> Tick {
        let windows = match pair {
            Pair {
                current: 0,
                previous: 0,
                ..
            } => return self.last,
            Pair { current: 0, .. } => 1,
            Pair { carried, .. } => 2 + u128::from(carried.div_ceil(self.count)),
        };
        let end = later(Tick(pair.began), windows * u128::from(self.period));
        Tick(end.0.saturating_sub(self.phase))
    }
}

impl Limit for Counter {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        let from = from.max(self.last);
        self.fits(self.pair_at(from), from, cost)
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        let from = from.max(self.last);
        self.fits(self.with(self.pair_at(from), taken), from, cost)
    }

    /// Whatever the parts, no more than `count` goes in each window after this one, and in the last one no
    /// more than in proportion: with `e` of it over, `current <= count - previous × (1 - e)`.
    fn earliest(&self, from: Tick, total: u128) -> Tick {
        let from = from.max(self.last);
        let pair = self.pair_at(from);
        let whole = u64::try_from(total).unwrap_or(u64::MAX);
        let Some(whole) = Cost::new(whole) else {
            return from;
        };
        let span = if let Some(since) = self.fits_in(pair, whole) {
            since.into()
        } else {
            let room = self.count.saturating_sub(pair.current);
            let rest = total.saturating_sub(room.into());
            let rest = rest.saturating_add(pair.carried.into());
            let beyond = rest.saturating_mul(self.period.into()) / u128::from(self.count);
            beyond.saturating_add(self.period.into())
        };
        let at = later(Tick(pair.began), span);
        Tick(at.0.saturating_sub(self.phase)).max(from)
    }

    fn fresh_at(&self) -> Option<Tick> {
        Some(self.empty_at(self.pair).max(self.last))
    }

    fn level(&mut self, at: Tick) -> Level {
        let at = at.max(self.last);
        let pair = self.pair_at(at);
        let inside = self.period - (self.shifted(at) - pair.began);
        let weight = (u128::from(pair.previous) * u128::from(inside)).div_ceil(self.period.into());
        let inside = weight + u128::from(pair.current);
        Level {
            remaining: u64::try_from(inside).map_or(0, |inside| self.count.saturating_sub(inside)),
            full_at: Some(self.empty_at(pair).max(at)),
        }
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        let at = at.max(self.last);
        self.last = at;
        self.pair = self.with(self.pair_at(at), cost);
        Receipt {
            at,
            entry: self.pair.began,
        }
    }

    /// Only the windows that paid get anything back, as long as they count.
    fn settle(&mut self, hold: Hold, _at: Tick, used: Used) {
        let taken = hold.cost.get();
        let passed = (self.pair.began - hold.entry) / self.period;
        let used = used.of(taken);
        if used > taken {
            match passed {
                0 => self.pair.current = self.pair.current.saturating_add(used - taken),
                1 => self.pair.previous = self.pair.previous.saturating_add(used - taken),
                _ => {}
            }
            return;
        }
        // What it paid from a window on; from the last window that pays backwards.
        let from = |window: u64| taken.saturating_sub(window.saturating_mul(self.count));
        let (now, after) = (from(passed), from(passed.saturating_add(1)));
        let before = match passed {
            0 => now,
            _ => from(passed - 1),
        };
        let back = taken - used;
        let least = |standing: u64| back.min(standing);
        let (of_later, of_now, of_before) = (
            least(after),
            least(now) - least(after),
            least(before) - least(now),
        );
        self.pair.carried = self.pair.carried.saturating_sub(of_later);
        self.pair.current = self.pair.current.saturating_sub(of_now);
        self.pair.previous = self.pair.previous.saturating_sub(of_before);
    }
}
