//! Fixed window, aligned to the epoch: what many servers count, and the bad example. Floor 3: rules.

use std::time::Duration;

use super::{Hold, Level, Limit, NeverFits, Ready, Used};
use crate::units::{Cost, Rate, Tick, nanos};

/// At most `count` in each window `[k × period, (k + 1) × period)` since the Unix epoch, so up to
/// twice that around a boundary.
#[derive(Debug, Clone)]
pub struct Fixed {
    count: u64,
    period: u64,
    /// Time from the start of a window to the start of the run.
    phase: u64,
    /// Number of the window that `level` counts.
    window: u64,
    level: u64,
    last: Tick,
}

impl Fixed {
    /// A window of `rate`; the run began `epoch` after the Unix epoch.
    pub fn new(rate: &Rate, epoch: Duration) -> Self {
        let period = nanos(rate.period);
        Self {
            count: rate.count.get(),
            period,
            phase: u64::try_from(epoch.as_nanos() % u128::from(period))
                .expect("a remainder is below its divisor"),
            window: 0,
            level: 0,
            last: Tick::ZERO,
        }
    }

    fn window_of(&self, at: Tick) -> u64 {
        at.0.saturating_add(self.phase) / self.period
    }

    fn start_of(&self, window: u64) -> Tick {
        Tick(
            window
                .saturating_mul(self.period)
                .saturating_sub(self.phase),
        )
    }
}

impl Limit for Fixed {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        if cost.get() > self.count {
            return Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.count,
            });
        }
        let from = from.max(self.last);
        let window = self.window_of(from);
        if window > self.window || self.level.saturating_add(cost.get()) <= self.count {
            return Ready::At(from);
        }
        Ready::At(self.start_of(window + 1))
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        let mut other = self.clone();
        other.take(from, taken);
        other.ready(from, cost)
    }

    fn earliest(&self, from: Tick, _total: u128) -> Tick {
        from
    }

    fn fresh_at(&self) -> Option<Tick> {
        None
    }

    fn level(&mut self, at: Tick) -> Level {
        let at = at.max(self.last);
        let window = self.window_of(at);
        if window > self.window || self.level == 0 {
            return Level {
                remaining: self.count,
                full_at: Some(at),
            };
        }
        Level {
            remaining: self.count.saturating_sub(self.level),
            full_at: Some(self.start_of(window + 1)),
        }
    }

    fn take(&mut self, at: Tick, cost: Cost) -> Hold {
        let at = at.max(self.last);
        self.last = at;
        let window = self.window_of(at);
        if window > self.window {
            self.window = window;
            self.level = 0;
        }
        self.level += cost.get();
        Hold { at, cost, entry: 0 }
    }

    /// Only the window that paid gets anything back.
    fn settle(&mut self, hold: Hold, _at: Tick, used: Used) {
        if self.window_of(hold.at) != self.window {
            return;
        }
        let used = match used {
            Used::NeverSent => 0,
            Used::Known(used) => used,
            Used::Unknown => hold.cost.get(),
        };
        self.level = (self.level - hold.cost.get()).saturating_add(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_changes_at_the_boundary_of_the_epoch() {
        let rate = Rate::new(1, Duration::from_secs(1)).unwrap();
        let mut limit = Fixed::new(&rate, Duration::from_millis(950));
        limit.take(Tick::ZERO, Cost::ONE);
        assert_eq!(limit.ready(Tick(1), Cost::ONE), Ready::At(Tick(50_000_000)));
    }

    #[test]
    fn a_level_is_what_this_window_has_left_until_its_boundary() {
        let rate = Rate::new(5, Duration::from_secs(1)).unwrap();
        let mut limit = Fixed::new(&rate, Duration::from_millis(950));
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
        let mut limit = Fixed::new(&rate, Duration::ZERO);
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
