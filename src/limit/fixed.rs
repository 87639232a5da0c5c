//! Fixed window: what many servers count, and the bad example. Floor 3: rules.

use std::time::Duration;

use super::kind::{Promise, Rule};
use super::meter::later;
use super::{Anchor, Hold, Level, Limit, NeverFits, Ready, Receipt, Used, phase};
use crate::units::{Cost, Rate, Tick, nanos};

pub(super) static RULE: Rule = Rule {
    word: "fixed",
    like: "whole periods",
    mirrors: "Servers that count in whole minutes or hours and start again from zero.",
    promise: Promise::OwnPeriods,
    build: |spec, setting| Box::new(Fixed::new(&spec.rate, spec.anchor, setting.epoch)),
    reach: |spec, _| spec.rate.period,
};

/// At most `count` in each window, so up to twice that around a boundary. Windows are
/// `[k × period, (k + 1) × period)` since the Unix epoch; or they begin with the first take, and anew with
/// the first one at or after their end.
#[derive(Debug, Clone)]
pub struct Fixed {
    count: u64,
    period: u64,
    anchor: Anchor,
    /// Nanoseconds from the start of a window to the start of the run; moments here are counted from there.
    phase: u64,
    /// `None` before the first take of a window that begins with it.
    open: Option<Open>,
    last: Tick,
}

/// A window that has begun.
#[derive(Debug, Clone, Copy)]
struct Open {
    began: u64,
    /// What this window counts. Wider than a cost: a server may report any usage.
    level: u128,
    /// What stands in the windows that follow, at most the count in each.
    carried: u64,
}

impl Open {
    fn empty(began: u64) -> Self {
        Self {
            began,
            level: 0,
            carried: 0,
        }
    }
}

impl Fixed {
    /// A window of `rate`; the run began `epoch` after the Unix epoch.
    pub fn new(rate: &Rate, anchor: Anchor, epoch: Duration) -> Self {
        let period = nanos(rate.period);
        let (phase, open) = match anchor {
            Anchor::Epoch => (phase(epoch, period), Some(Open::empty(0))),
            Anchor::First => (0, None),
        };
        Self {
            count: rate.count.get(),
            period,
            anchor,
            phase,
            open,
            last: Tick::ZERO,
        }
    }

    /// The window of `at`, with what it would count then.
    fn open_at(&self, at: Tick) -> Open {
        let now = at.0.saturating_add(self.phase);
        let Some(open) = self.open else {
            return Open::empty(now);
        };
        let since = now.saturating_sub(open.began);
        if since < self.period {
            return open;
        }
        let passed = since / self.period;
        let paid = (passed - 1).saturating_mul(self.count);
        let carried = open.carried.saturating_sub(paid);
        let began = match (self.anchor, carried) {
            (Anchor::First, 0) => now,
            (Anchor::First | Anchor::Epoch, _) => open.began + passed * self.period,
        };
        let level = carried.min(self.count);
        Open {
            began,
            level: level.into(),
            carried: carried - level,
        }
    }

    fn with(&self, open: Open, cost: Cost) -> Open {
        let now = u128::from(cost.get()).min(u128::from(self.count).saturating_sub(open.level));
        let carried = u128::from(cost.get()) - now;
        Open {
            began: open.began,
            level: open.level + now,
            carried: open
                .carried
                .saturating_add(u64::try_from(carried).expect("it is a part of the cost")),
        }
    }

    /// The start of the window that is so many after `open`.
    fn start_of(&self, open: Open, windows: u128) -> Tick {
        let began = later(Tick(open.began), windows.saturating_mul(self.period.into()));
        Tick(began.0.saturating_sub(self.phase))
    }

    /// When `cost` fits, if `open` is the window of `from`.
    fn fits(&self, open: Open, from: Tick, cost: Cost) -> Ready {
        let Some(room) = self.count.checked_sub(cost.get()) else {
            return Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.count,
            });
        };
        if open.level <= u128::from(room) {
            return Ready::At(from);
        }
        let full = open.carried.saturating_sub(room).div_ceil(self.count);
        Ready::At(self.start_of(open, 1 + u128::from(full)))
    }
}

impl Limit for Fixed {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        let from = from.max(self.last);
        self.fits(self.open_at(from), from, cost)
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        let from = from.max(self.last);
        self.fits(self.with(self.open_at(from), taken), from, cost)
    }

    fn earliest(&self, from: Tick, total: u128) -> Tick {
        let from = from.max(self.last);
        let open = self.open_at(from);
        let count = u128::from(self.count);
        let room = count.saturating_sub(open.level);
        if total <= room {
            return from;
        }
        let rest = (total - room).saturating_add(open.carried.into());
        self.start_of(open, rest.div_ceil(count))
    }

    /// Of windows that begin with a take, an empty one has begun nevertheless.
    fn fresh_at(&self) -> Option<Tick> {
        let over = |open: Open| {
            let full = open.carried.div_ceil(self.count);
            self.start_of(open, 1 + u128::from(full)).max(self.last)
        };
        Some(match (self.anchor, self.open) {
            (Anchor::Epoch, Some(open)) if open.level > 0 => over(open),
            (Anchor::First, Some(open)) => over(open),
            (Anchor::Epoch | Anchor::First, _) => self.last,
        })
    }

    fn level(&mut self, at: Tick) -> Level {
        let at = at.max(self.last);
        let open = self.open_at(at);
        let full = u128::from(open.carried.div_ceil(self.count));
        Level {
            remaining: u64::try_from(open.level)
                .map_or(0, |level| self.count.saturating_sub(level)),
            full_at: Some(if open.level == 0 {
                at
            } else {
                self.start_of(open, 1 + full)
            }),
        }
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        let at = at.max(self.last);
        self.last = at;
        let open = self.open_at(at);
        self.open = Some(self.with(open, cost));
        Receipt {
            at,
            entry: open.began,
        }
    }

    /// Only the windows that paid get anything back.
    fn settle(&mut self, hold: Hold, _at: Tick, used: Used) {
        let Some(open) = &mut self.open else { return };
        let taken = hold.cost.get();
        let passed = open.began.saturating_sub(hold.entry) / self.period;
        let standing = taken.saturating_sub(passed.saturating_mul(self.count));
        let used = used.of(taken);
        if standing == 0 {
            return;
        }
        if used > taken {
            open.level += u128::from(used - taken);
            return;
        }
        // From the last window that pays backwards.
        let back = (taken - used).min(standing);
        let later = back.min(open.carried);
        open.carried -= later;
        open.level = open.level.saturating_sub((back - later).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_changes_at_the_boundary_of_the_epoch() {
        let rate = Rate::new(1, Duration::from_secs(1)).unwrap();
        let mut limit = Fixed::new(&rate, Anchor::Epoch, Duration::from_millis(950));
        limit.take(Tick::ZERO, Cost::ONE);
        assert_eq!(limit.ready(Tick(1), Cost::ONE), Ready::At(Tick(50_000_000)));
    }

    #[test]
    fn a_level_is_what_this_window_has_left_until_its_boundary() {
        let rate = Rate::new(5, Duration::from_secs(1)).unwrap();
        let mut limit = Fixed::new(&rate, Anchor::Epoch, Duration::from_millis(950));
        limit.take(Tick::ZERO, Cost::ONE);
        let boundary = Tick(50_000_000);
        let left = |remaining, full_at| Level {
            remaining,
            full_at: Some(full_at),
        };
        assert_eq!(limit.level(Tick(1)), left(4, boundary));
        assert_eq!(limit.level(boundary), left(5, boundary));
    }

    #[test]
    fn nothing_is_given_back_to_a_later_window() {
        let rate = Rate::new(5, Duration::from_secs(1)).unwrap();
        let mut limit = Fixed::new(&rate, Anchor::Epoch, Duration::ZERO);
        let five = Cost::new(5).unwrap();
        let hold = limit.take(Tick(900_000_000), five);
        limit.take(Tick(1_050_000_000), five);
        limit.settle(hold, Tick(1_100_000_000), Used::Known(1));
        assert_eq!(
            limit.ready(Tick(1_100_000_000), Cost::ONE),
            Ready::At(Tick(2_000_000_000))
        );
    }
}
