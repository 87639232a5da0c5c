//! Sliding window as a log: at most N in ANY window of the period. Floor 3: rules.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Hold, Level, Limit, NeverFits, Ready, Used};
use crate::units::{Cost, Rate, Tick, nanos};

/// At most `count` in the window `(t - period, t]`, for every t: what is exactly one period old has left.
#[derive(Debug, Clone)]
pub struct Window {
    count: u64,
    period: u64,
    log: VecDeque<Entry>,
    /// Number of the first entry of the log since the run began.
    first: u64,
    /// Sum over the log. Wider than a cost: a server may report any usage, and more than once.
    total: u128,
    last: Tick,
    /// The latest moment that any entry was taken or left at.
    latest: Tick,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    cost: u64,
    /// When it left; `None` while it is on its way: it counts as "now".
    at: Option<Tick>,
}

impl Window {
    /// A window of `rate`'s period, longer by `guard`: room for the jitter between here and a server
    /// that counts arrivals.
    pub fn new(rate: &Rate, guard: Duration) -> Self {
        Self {
            count: rate.count.get(),
            period: nanos(rate.period).saturating_add(nanos(guard)),
            log: VecDeque::new(),
            first: 0,
            total: 0,
            last: Tick::ZERO,
            latest: Tick::ZERO,
        }
    }

    /// The moment from which an entry of `at` no longer counts.
    fn gone(&self, at: Tick) -> Tick {
        Tick(at.0.saturating_add(self.period))
    }
}

impl Limit for Window {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        if cost.get() > self.count {
            return Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.count,
            });
        }
        let from = from.max(self.last);
        let mut inside = self.total;
        let mut at = from;
        for entry in &self.log {
            // Two sends may leave in another order than they were granted in: the later one counts for both.
            let gone = self.gone(entry.at.unwrap_or(from));
            if gone > at {
                if inside + u128::from(cost.get()) <= u128::from(self.count) {
                    break;
                }
                at = gone;
            }
            inside -= u128::from(entry.cost);
        }
        Ready::At(at)
    }

    /// Full again when the last entry has left; one on its way leaves now.
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
        let at = self.forget(at);
        let full_at = match self.log.back() {
            Some(entry) if self.total > 0 => self.gone(entry.at.map_or(at, |_| self.latest)),
            Some(_) | None => at,
        };
        Level {
            remaining: u64::try_from(self.total)
                .map_or(0, |total| self.count.saturating_sub(total)),
            full_at: Some(full_at),
        }
    }

    fn take(&mut self, at: Tick, cost: Cost) -> Hold {
        let at = self.forget(at);
        self.latest = self.latest.max(at);
        let entry = self.first + self.log.len() as u64;
        self.log.push_back(Entry {
            cost: cost.get(),
            at: None,
        });
        self.total += u128::from(cost.get());
        Hold { at, cost, entry }
    }

    fn moved(&mut self, hold: &mut Hold, at: Tick) {
        hold.at = hold.at.max(at);
        let left_at = hold.at;
        self.latest = self.latest.max(left_at);
        if let Some(entry) = self.entry(hold.entry) {
            entry.at = Some(left_at);
        }
    }

    /// An entry that has left the window stays as it is: nothing goes into a later one.
    fn settle(&mut self, hold: Hold, _at: Tick, used: Used) {
        let Some(entry) = self.entry(hold.entry) else {
            return;
        };
        let before = entry.cost;
        entry.at = entry.at.or(Some(hold.at));
        entry.cost = match used {
            Used::NeverSent => 0,
            Used::Known(used) => used,
            Used::Unknown => before,
        };
        let after = entry.cost;
        self.total = self.total + u128::from(after) - u128::from(before);
    }
}

impl Window {
    /// Goes on to `at`, not back: what has left the window by then leaves the log.
    fn forget(&mut self, at: Tick) -> Tick {
        let at = at.max(self.last);
        self.last = at;
        while let Some(entry) = self.log.front() {
            if entry.at.is_none_or(|sent| self.gone(sent) > at) {
                break;
            }
            self.total -= u128::from(entry.cost);
            self.first += 1;
            self.log.pop_front();
        }
        at
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let place = number.checked_sub(self.first)?;
        self.log.get_mut(usize::try_from(place).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn window(count: u64) -> Window {
        Window::new(
            &Rate::new(count, Duration::from_secs(1)).unwrap(),
            Duration::ZERO,
        )
    }

    fn send(limit: &mut Window, at: u64) -> Hold {
        let mut hold = limit.take(Tick(at), Cost::ONE);
        limit.moved(&mut hold, Tick(at));
        hold
    }

    #[test]
    fn what_is_one_period_old_has_left_and_one_nanosecond_less_has_not() {
        let mut limit = window(1);
        send(&mut limit, 5);
        assert_eq!(limit.ready(Tick(6), Cost::ONE), Ready::At(Tick(SECOND + 5)));
        send(&mut limit, SECOND + 5);
        assert_eq!(limit.log.len(), 1, "what has left is forgotten");
    }

    #[test]
    fn the_moment_of_sending_counts_and_until_then_now() {
        let mut limit = window(1);
        let mut hold = limit.take(Tick(0), Cost::ONE);
        assert_eq!(
            limit.ready(Tick(700), Cost::ONE),
            Ready::At(Tick(SECOND + 700))
        );
        limit.moved(&mut hold, Tick(900));
        assert_eq!(
            limit.ready(Tick(950), Cost::ONE),
            Ready::At(Tick(SECOND + 900))
        );
    }

    #[test]
    fn sends_that_overtake_each_other_never_open_the_window_early() {
        let mut limit = window(2);
        let mut first = limit.take(Tick(0), Cost::ONE);
        let mut second = limit.take(Tick(0), Cost::ONE);
        limit.moved(&mut second, Tick(100));
        limit.moved(&mut first, Tick(500));
        assert_eq!(
            limit.ready(Tick(600), Cost::new(2).unwrap()),
            Ready::At(Tick(SECOND + 500))
        );
    }

    #[test]
    fn a_level_is_full_again_when_the_last_entry_has_left() {
        let mut limit = window(5);
        send(&mut limit, 0);
        send(&mut limit, 7);
        for (at, remaining, full_at) in [
            (8, 3, SECOND + 7),
            (SECOND, 4, SECOND + 7),
            (SECOND + 7, 5, SECOND + 7),
            (SECOND + 9, 5, SECOND + 9),
        ] {
            let full_at = Some(Tick(full_at));
            let level = Level { remaining, full_at };
            assert_eq!(limit.level(Tick(at)), level, "at {at}");
        }
        assert!(limit.log.is_empty(), "what has left is forgotten");
    }

    #[test]
    fn a_try_that_was_never_sent_gives_its_place_back() {
        let mut limit = window(1);
        let hold = limit.take(Tick(0), Cost::ONE);
        limit.settle(hold, Tick(10), Used::NeverSent);
        assert_eq!(limit.ready(Tick(10), Cost::ONE), Ready::At(Tick(10)));
    }

    #[test]
    fn a_settlement_after_the_entry_has_left_changes_nothing() {
        let mut limit = window(1);
        let hold = send(&mut limit, 0);
        send(&mut limit, SECOND);
        limit.settle(hold, Tick(SECOND + 1), Used::Known(9));
        assert_eq!(
            limit.ready(Tick(SECOND + 1), Cost::ONE),
            Ready::At(Tick(2 * SECOND))
        );
    }
    #[test]
    fn usage_beyond_every_number_leaves_the_window_like_any_other() {
        let mut limit = window(9);
        for at in [0, 1] {
            let hold = send(&mut limit, at);
            limit.settle(hold, Tick(2), Used::Known(u64::MAX));
        }
        let open = Tick(SECOND + 1);
        assert_eq!(limit.ready(Tick(3), Cost::ONE), Ready::At(open));
        assert_eq!(limit.level(open).remaining, 9);
    }
}
