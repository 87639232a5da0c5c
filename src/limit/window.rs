//! Sliding window as a log: at most N in ANY window of the period. Floor 3: rules.

use std::collections::VecDeque;
use std::time::Duration;

use super::kind::{Promise, Rule};
use super::meter::later;
use super::{Hold, Level, Limit, NeverFits, Ready, Receipt, Used};
use crate::units::{Cost, Rate, Tick, nanos};

pub(super) static RULE: Rule = Rule {
    word: "window",
    like: "a rolling window",
    mirrors: "Servers that log each request and look back one period: never over in any window.",
    promise: Promise::AnyPeriod,
    build: |spec, setting| Box::new(Window::new(&spec.rate, setting.guard(spec))),
    // A guard that is measured stays below 1 %; what was sent late of a grant counts from its send.
    reach: |spec, setting| spec.rate.period + setting.guard(spec).max(spec.rate.period / 100),
};

/// At most `count` in the window `(t - period, t]`, for every t: what is exactly one period old has left.
#[derive(Debug, Clone)]
pub struct Window {
    count: u64,
    period: u64,
    guard: u64,
    /// What has been sent, in the order of the moments; 24 bytes an entry.
    log: VecDeque<Entry>,
    /// Sum over the log. Wider than a cost: a server may report any usage, and more than once.
    total: u128,
    /// Sum of what is on its way: it counts as "now".
    flying: u128,
    /// Number of the last entry of the log; zero is none.
    numbered: u64,
    last: Tick,
    /// What was sent before has left for ever, even if the guard grows.
    since: Tick,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Tick,
    number: u64,
    cost: u64,
}

impl Window {
    /// A window of `rate`'s period, longer by `guard`: room for the jitter between here and a server
    /// that counts arrivals.
    pub fn new(rate: &Rate, guard: Duration) -> Self {
        Self {
            count: rate.count.get(),
            period: nanos(rate.period),
            guard: nanos(guard),
            log: VecDeque::new(),
            total: 0,
            flying: 0,
            numbered: 0,
            last: Tick::ZERO,
            since: Tick::ZERO,
        }
    }

    /// The moment from which what was sent at `at` no longer counts.
    fn gone(&self, at: Tick) -> Tick {
        let left = at.0.saturating_add(self.period);
        Tick(left.saturating_add(self.guard))
    }

    /// How what is sent at `at` stands in the log. Above the count a part stands in each following period;
    /// of those only the last whole one and the rest are kept, as nothing else fits until they have left.
    fn parts(&self, at: Tick, units: u128) -> [(Tick, u128); 2] {
        let count = u128::from(self.count);
        if units <= count {
            return [(at, 0), (at, units)];
        }
        let whole = (units - 1) / count;
        let after = |periods: u128| later(at, periods.saturating_mul(self.period.into()));
        let rest = units - whole * count;
        [(after(whole - 1), count), (after(whole), rest)]
    }

    /// The first moment from `from` on at which at most `room` is inside, with `flying` sent at `from`.
    fn opens(&self, from: Tick, flying: u128, room: u128) -> Tick {
        if self.total + flying <= room {
            return from;
        }
        let parts = self.parts(from, flying);
        let mut inside = self.total + parts[0].1 + parts[1].1;
        let mut at = from;
        let mut log = self.log.iter().peekable();
        let mut parts = parts.into_iter().peekable();
        while inside > room {
            let part = parts.peek().map_or(Tick(u64::MAX), |(sent, _)| *sent);
            let next = log.next_if(|entry| entry.at <= part);
            let next = next.map(|entry| (entry.at, u128::from(entry.cost)));
            let Some((sent, cost)) = next.or_else(|| parts.next()) else {
                break;
            };
            if cost > 0 {
                at = at.max(self.gone(sent));
            }
            inside -= cost;
        }
        at
    }

    fn ready_with(&self, from: Tick, flying: u128, cost: Cost) -> Ready {
        let Some(room) = self.count.checked_sub(cost.get()) else {
            return Ready::Never(NeverFits {
                asked: cost.get(),
                capacity: self.count,
            });
        };
        Ready::At(self.opens(from.max(self.last), flying, room.into()))
    }
}

impl Limit for Window {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        self.ready_with(from, self.flying, cost)
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        self.ready_with(from, self.flying + u128::from(taken.get()), cost)
    }

    /// Each unit goes one period after the one that is `count` before it.
    fn earliest(&self, from: Tick, total: u128) -> Tick {
        let from = from.max(self.last);
        let Some(before) = total.checked_sub(1) else {
            return from;
        };
        let count = u128::from(self.count);
        let room = count - 1 - before % count;
        let first = self.opens(from, self.flying, room);
        let kept = u128::from(self.period) + u128::from(self.guard);
        later(first, (before / count).saturating_mul(kept))
    }

    fn fresh_at(&self) -> Option<Tick> {
        let last_gone = self.log.back().map(|entry| self.gone(entry.at));
        (self.flying == 0).then_some(last_gone.unwrap_or(self.last).max(self.last))
    }

    /// Full again when the last entry has left; one on its way leaves now.
    fn level(&mut self, at: Tick) -> Level {
        let at = self.forget(at);
        let inside = self.total + self.flying;
        let [_, (flies_until, flying)] = self.parts(at, self.flying);
        let flown = (flying > 0).then(|| self.gone(flies_until));
        let mut log = self.log.iter().rev();
        let last = log.find(|entry| entry.cost > 0);
        let left = last.map(|entry| self.gone(entry.at));
        Level {
            remaining: u64::try_from(inside).map_or(0, |inside| self.count.saturating_sub(inside)),
            full_at: Some(flown.max(left).unwrap_or(at)),
        }
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        let at = self.forget(at);
        self.flying += u128::from(cost.get());
        Receipt { at, entry: 0 }
    }

    fn moved(&mut self, hold: &mut Hold, at: Tick) {
        let before = hold.at;
        hold.at = before.max(at);
        let cost = hold.cost.get();
        if hold.entry == 0 {
            self.flying = self.flying.saturating_sub(cost.into());
            self.numbered += 1;
            hold.entry = self.numbered;
            self.insert(hold.at, hold.entry, cost);
        } else if self.remove(before, hold.entry, cost) {
            self.insert(hold.at, hold.entry, cost);
        }
    }

    fn keep_guard(&mut self, guard: Duration) {
        self.guard = nanos(guard);
    }

    /// What has left the window stays as it was: nothing goes into a later one.
    fn settle(&mut self, hold: Hold, _at: Tick, used: Used) {
        let mut hold = hold;
        if hold.entry == 0 {
            // It ended before it was seen to leave.
            let left_at = hold.at;
            self.moved(&mut hold, left_at);
        }
        let taken = hold.cost.get();
        let used = used.of(taken);
        if used < taken && taken > self.count {
            if self.remove(hold.at, hold.entry, taken) {
                self.insert(hold.at, hold.entry, used);
            }
            return;
        }
        let [_, (at, _)] = self.parts(hold.at, taken.into());
        if used != taken
            && let Some(place) = self.place(at, hold.entry)
        {
            let cost = &mut self.log[place].cost;
            self.total -= u128::from(*cost);
            *cost = *cost - taken.saturating_sub(used) + used.saturating_sub(taken);
            self.total += u128::from(*cost);
        }
    }
}

impl Window {
    /// Goes on to `at`, not back: what has left the window by then leaves the log.
    fn forget(&mut self, at: Tick) -> Tick {
        let at = at.max(self.last);
        self.last = at;
        let kept = self.period.saturating_add(self.guard);
        let since = Tick((at.0.saturating_add(1)).saturating_sub(kept));
        self.since = self.since.max(since);
        while let Some(entry) = self.log.front() {
            if entry.at >= self.since {
                break;
            }
            self.total -= u128::from(entry.cost);
            self.log.pop_front();
        }
        at
    }

    /// Writes down what was sent at `at`. Sends that overtake each other are few and near the end.
    fn insert(&mut self, at: Tick, number: u64, units: u64) {
        for (at, cost) in self.parts(at, units.into()) {
            let cost = u64::try_from(cost).expect("a part is not above the whole");
            if cost == 0 || at < self.since {
                continue;
            }
            let later = self.log.iter().rev();
            let later = later.take_while(|entry| (entry.at, entry.number) > (at, number));
            let place = self.log.len() - later.count();
            self.log.insert(place, Entry { at, number, cost });
            self.total += u128::from(cost);
        }
    }

    /// Strikes out what was sent at `at`, as far as it has not left; says whether anything was left of it.
    fn remove(&mut self, at: Tick, number: u64, units: u64) -> bool {
        let places = self.parts(at, units.into()).map(|(at, _)| {
            let entry = self.log.remove(self.place(at, number)?)?;
            self.total -= u128::from(entry.cost);
            Some(entry)
        });
        places.iter().any(Option::is_some)
    }

    fn place(&self, at: Tick, number: u64) -> Option<usize> {
        let key = (at, number);
        self.log
            .binary_search_by_key(&key, |entry| (entry.at, entry.number))
            .ok()
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
    fn what_was_given_back_does_not_delay_the_moment_at_which_it_is_full() {
        let mut limit = window(5);
        send(&mut limit, 0);
        let last = send(&mut limit, 7);
        limit.settle(last, Tick(9), Used::Known(0));
        assert_eq!(limit.level(Tick(9)).full_at, Some(Tick(SECOND)));
    }

    #[test]
    fn a_cost_above_the_count_stands_in_the_periods_that_follow() {
        let mut limit = window(10);
        let mut hold = limit.take(Tick(0), Cost::new(25).unwrap());
        let of_five = |limit: &Window, at| limit.ready(Tick(at), Cost::new(5).unwrap());
        assert_eq!(of_five(&limit, 0), Ready::At(Tick(2 * SECOND)));
        limit.moved(&mut hold, Tick(100));
        assert_eq!(of_five(&limit, 100), Ready::At(Tick(2 * SECOND + 100)));
        limit.settle(hold, Tick(SECOND), Used::Known(12));
        assert_eq!(of_five(&limit, SECOND), Ready::At(Tick(SECOND + 100)));
        assert_eq!(
            limit.log.len(),
            2,
            "one entry for the last whole part, one for the rest"
        );
    }

    #[test]
    fn a_guard_that_grows_brings_nothing_back() {
        let mut limit = window(1);
        send(&mut limit, 0);
        assert_eq!(limit.level(Tick(SECOND)).remaining, 1);
        limit.keep_guard(Duration::from_millis(5));
        send(&mut limit, SECOND);
        let open = Tick(2 * SECOND + 5_000_000);
        assert_eq!(limit.ready(Tick(SECOND), Cost::ONE), Ready::At(open));
        limit.keep_guard(Duration::ZERO);
        assert_eq!(
            limit.ready(Tick(SECOND), Cost::ONE),
            Ready::At(Tick(2 * SECOND))
        );
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
