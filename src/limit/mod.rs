//! Limits: rules that say when a cost fits, given every take so far. Floor 3: rules.
//!
//! A limit is told the time and never waits. Whole numbers only: a rate is `count` per `period`,
//! levels are scaled by the period, and time inside a state never goes back.

mod adaptive;
mod bucket;
mod counter;
mod debts;
mod fixed;
mod grammar;
mod key;
mod kind;
mod leaky;
mod ledger;
mod meter;
mod pace;
mod past;
mod remote;
mod slots;
mod spec;
mod window;

pub use adaptive::{Adaptive, Known, Learnt, Lesson, Standing, Why};
pub use bucket::Bucket;
pub use counter::Counter;
pub use fixed::Fixed;
pub use grammar::limit_form;
pub use key::{KEY_FORM, KeyBy, all_keys, keys_of};
pub use kind::{Kind, Promise};
pub use leaky::Leaky;
pub use pace::Pace;
pub use past::{Past, Since};
pub use remote::{Free, Remote};
pub use slots::Slots;
pub use spec::{Anchor, Counts, Guard, Leaves, Setting, Spec};
pub use window::Window;

use std::time::Duration;

use crate::units::{Cost, Tick};

/// The rules that a limit can follow, each in its own words.
static RULES: &[&kind::Rule] = &[
    &bucket::RULE,
    &leaky::RULE,
    &window::RULE,
    &counter::RULE,
    &fixed::RULE,
];

/// When a cost fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// At this moment, rounded up to the next nanosecond; one earlier it does not.
    At(Tick),
    /// As soon as enough is given back: no moment can be told.
    OnRelease,
    /// Never: the cost is above what the limit can ever hold.
    Never(NeverFits),
}

/// A cost that a limit can never hold, with both numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("needs {asked}, the limit holds {capacity}")]
pub struct NeverFits {
    /// What one try costs.
    pub asked: u64,
    /// The most that the limit ever holds.
    pub capacity: u64,
}

/// What is left of a limit at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The most that fits at once, rounded down; zero in debt.
    pub remaining: u64,
    /// From when on the limit is full again, if nothing more is taken, rounded up; `None` if only a
    /// release can tell.
    pub full_at: Option<Tick>,
}

/// Where the state that was charged finds what was taken. Two words: they stay in registers.
#[derive(Debug)]
pub struct Receipt {
    /// When it was taken.
    at: Tick,
    /// Which entry of a log it is, zero on its way; for windows in a row, when the one that paid began.
    entry: u64,
}

impl Receipt {
    /// So much was taken.
    pub fn of(self, cost: Cost) -> Hold {
        let Self { at, entry } = self;
        Hold { at, cost, entry }
    }
}

/// What was taken, to be settled once. Not `Clone`: it cannot be settled twice.
#[derive(Debug)]
pub struct Hold {
    at: Tick,
    /// How much.
    cost: Cost,
    entry: u64,
}

impl Hold {
    /// How much was taken.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

/// What became of a cost that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// Nothing was sent: all of it goes back.
    NeverSent,
    /// So much was used: the rest goes back, or is owed.
    Known(u64),
    /// The charge stays as it is.
    Unknown,
}

impl Used {
    /// How much of what was taken stays charged, or more than that.
    fn of(self, taken: u64) -> u64 {
        match self {
            Self::NeverSent => 0,
            Self::Known(used) => used,
            Self::Unknown => taken,
        }
    }
}

/// The moment at which a hold is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// When the try has ended: rates.
    Ended,
    /// When the result is in the file, or the job goes to rest: slots.
    Recorded,
}

/// A limiting rule with its state. One owner, no clock.
pub trait Limit: std::fmt::Debug + Send {
    /// The first moment at or after `from` when `cost` fits, given every take so far.
    ///
    /// [`Ready::Never`] if `cost` is above what the rule can ever hold.
    fn ready(&self, from: Tick, cost: Cost) -> Ready;

    /// The same if `taken` had gone at `from` first. A younger job may go before an older one only if
    /// this leaves the older one's moment as it was.
    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready;

    /// A moment before which no `total` can have been taken, one cost after the other, from `from` on:
    /// what a job at the end of a line can hope for at best.
    fn earliest(&self, from: Tick, total: u128) -> Tick;

    /// From when on it is equal to a new one, so that its key can be forgotten; `None` while something
    /// that was taken is neither settled nor certain to leave.
    fn fresh_at(&self) -> Option<Tick>;

    /// What is left at `at`, consuming nothing. No moment before `at` may be asked for afterwards: a log
    /// forgets what has left.
    fn level(&mut self, at: Tick) -> Level;

    /// Takes `cost` at a moment for which [`Limit::ready`] said that it fits.
    ///
    /// A cost above what the rule ever holds is taken at the moment for which the most that it holds is
    /// ready, and owed whole: what comes after waits until it is paid at the rate of the limit.
    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt;

    /// [`Limit::charge`] as a hold.
    fn take(&mut self, at: Tick, cost: Cost) -> Hold {
        self.charge(at, cost).of(cost)
    }

    /// The request really left at `at`, or ([`Leaves::Reply`]) the head of its answer came then: a log
    /// charges this moment. Until then the take counts as "now".
    fn moved(&mut self, _hold: &mut Hold, _at: Tick) {}

    /// Sliding windows are kept longer than their period by `guard` from now on.
    fn keep_guard(&mut self, _guard: Duration) {}

    /// Ends a hold. Changes the level, never the time; gives back only into the state that paid.
    fn settle(&mut self, hold: Hold, at: Tick, used: Used);

    /// An answer tells something of the server's own limit. What is known anew, if this is a rule that learns.
    fn learn(&mut self, _lesson: &Lesson) -> Option<Learnt> {
        None
    }

    /// Others have learnt this of the server's own limit, if this is a rule that learns.
    fn begins_with(&mut self, _known: &Known, _at: Tick) {}

    /// A store that holds the state of this limit has refused something at `now`, until then.
    fn shut(&mut self, _now: Tick, _until: Tick) {}

    /// Another limit decides from `now` on in the place of a store that is away; `None`: the store does again. What was taken of the one
    /// that has decided until now, oldest first, and no more of it than the limit of the store ever holds.
    fn stands_in(&mut self, _limit: Option<Box<dyn Limit>>, _now: Tick) -> Vec<(Tick, Cost)> {
        Vec::new()
    }

    /// When [`Limit::settle`] is due.
    fn settles_on(&self) -> Moment {
        Moment::Ended
    }
}

/// Nanoseconds from the start of a window to the start of the run, if windows of `period` are counted from
/// the Unix epoch and the run began `epoch` after it.
fn phase(epoch: Duration, period: u64) -> u64 {
    u64::try_from(epoch.as_nanos() % u128::from(period)).expect("a remainder is below its divisor")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPECS: [&str; 9] = [
        "7/s",
        "7/s leaky",
        "tokens 9/700ms leaky burst=13 start=4",
        "8/s window-counter",
        "6/300ms fixed anchor=first",
        "tokens 9/700ms bucket burst=13 start=4",
        "8/s window",
        "tokens 8/s window",
        "6/300ms fixed",
    ];

    proptest! {
        #[test]
        fn a_level_is_exactly_what_fits_and_full_at_is_exactly_when_all_does(
            spec in proptest::sample::select(&SPECS[..]),
            takes in proptest::collection::vec((0..400_000_000_u64, 1..6_u64), 1..30),
        ) {
            let spec: Spec = spec.parse().unwrap();
            let mut limit = spec.build(&Setting::VIRTUAL);
            let capacity = spec.burst.get();
            let mut now = Tick::ZERO;
            for (pause, cost) in takes {
                now.0 += pause;
                let cost = Cost::new(cost.min(capacity)).unwrap();
                if limit.ready(now, cost) == Ready::At(now) {
                    let mut hold = limit.take(now, cost);
                    limit.moved(&mut hold, now);
                }
                let level = limit.level(now);
                for cost in 1..=capacity {
                    let fits = limit.ready(now, Cost::new(cost).unwrap()) == Ready::At(now);
                    prop_assert_eq!(fits, cost <= level.remaining, "{} of {:?}", cost, level);
                }
                let all = limit.ready(now, Cost::new(capacity).unwrap());
                prop_assert_eq!(Some(all), level.full_at.map(Ready::At));
            }
        }
    }

    #[test]
    fn the_smallest_and_the_largest_numbers_neither_panic_nor_wrap() {
        let most = Cost::new(u64::MAX).unwrap();
        for rate in [
            "18446744073709551615/s",
            "1/30d",
            "700M/s",
            "1/18000000000s",
            "7/3us",
        ] {
            for rule in [
                "bucket burst=18446744073709551615",
                "bucket burst=1 start=0",
                "leaky burst=18446744073709551615",
                "leaky",
                "window",
                "window guard=3us",
                "window-counter",
                "fixed",
                "fixed anchor=first",
            ] {
                let spec: Spec = format!("{rate} {rule}").parse().unwrap();
                let mut limit = spec.build(&Setting::VIRTUAL);
                let mut last = Tick::ZERO;
                for at in [0, 1, 1_000_000_000, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
                    for cost in [Cost::ONE, spec.burst, most] {
                        let (from, asked) = (Tick(at), cost.min(spec.burst));
                        let ready = limit.ready(from, asked);
                        let Ready::At(ready) = ready else {
                            panic!("{spec}: {ready:?}")
                        };
                        assert!(ready >= from.max(last), "{spec} at {at}");
                        assert_eq!(limit.earliest(from.max(last), 0), from.max(last));
                        assert!(limit.earliest(from, u128::MAX) >= from);
                        limit.ready_after(from, cost, asked);
                        let mut hold = limit.take(ready, cost);
                        limit.moved(&mut hold, ready);
                        let used = if cost == most {
                            Used::Known(0)
                        } else {
                            Used::Known(u64::MAX)
                        };
                        limit.settle(hold, ready, used);
                        last = ready;
                        assert!(limit.level(ready).remaining <= spec.burst.get());
                        assert!(limit.fresh_at().is_some());
                    }
                }
            }
        }
    }

    #[test]
    fn a_pace_drifts_by_no_more_than_the_rounding_up_of_each_release() {
        for (text, each) in [
            ("700M/s", 2),
            ("700M/s leaky", 2),
            ("1/30d", 2_592_000_000_000_000),
            ("1/30d leaky", 2_592_000_000_000_000),
            ("1/30d window", 2_592_000_000_000_000),
            ("1/30d fixed anchor=first", 2_592_000_000_000_000),
        ] {
            let mut limit = text.parse::<Spec>().unwrap().build(&Setting::VIRTUAL);
            let mut now = Tick::ZERO;
            for nth in 0..1000 {
                assert_eq!(
                    limit.ready(now, Cost::ONE),
                    Ready::At(Tick(nth * each)),
                    "{text}"
                );
                now = Tick(nth * each);
                let mut hold = limit.take(now, Cost::ONE);
                limit.moved(&mut hold, now);
            }
        }
        // With room for two the remainder stays: 1000 releases of 700 million a second take 1.4 us.
        let mut limit = "700M/s burst=2"
            .parse::<Spec>()
            .unwrap()
            .build(&Setting::VIRTUAL);
        let mut now = Tick::ZERO;
        for _ in 0..1002 {
            let Ready::At(at) = limit.ready(now, Cost::ONE) else {
                panic!("one fits")
            };
            limit.take(at, Cost::ONE);
            now = at;
        }
        assert_eq!(now, Tick(1429));
    }
}
