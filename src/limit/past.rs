//! A limit that goes on from what was taken before the run. Floor 3: rules.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use super::{Anchor, Hold, Level, Limit, Moment, Ready, Receipt, Setting, Spec, Used};
use crate::units::{Cost, Rate, Tick, nanos};

/// What was taken of a limit before the run, as far as it may still count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Past {
    /// Moments here count from so long before the start of the run.
    pub before: Duration,
    /// What was taken, in the order of the moments; none is after the start of the run.
    pub takes: Vec<(Tick, Cost)>,
    /// How far back it goes.
    pub since: Since,
}

/// How far back a past goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Since {
    /// To the first take of all: the limit was as new before it.
    #[default]
    First,
    /// More was taken before: nobody knows how much was left at the beginning.
    Later,
}

impl Spec {
    /// How long ago what was taken may still count.
    pub fn reach(&self, setting: &Setting) -> Duration {
        self.kind.reach(self, setting)
    }

    /// The rule with the state that `past` has left; as new, if that is empty.
    ///
    /// Where the past does not tell the state, it is taken to be the stricter one, so the promise of the rule
    /// holds for the past and the run together.
    pub fn go_on(&self, setting: &Setting, past: &Past) -> Box<dyn Limit> {
        let Some(&(first, _)) = past.takes.first() else {
            return self.build(setting);
        };
        // Moments inside count from the first take: there the level is known in whole units.
        let before = past.before.saturating_sub(first.since(Tick::ZERO));
        let setting = Setting {
            epoch: setting.epoch.saturating_sub(before),
            ..*setting
        };
        let takes = past.takes.iter();
        let mut takes = takes.map(|&(at, cost)| (Tick(at.0 - first.0), cost));
        let mut limit = match past.since {
            Since::Later if self.kind.has_burst() => {
                // The first may have taken all that was left.
                takes.next();
                let empty = Self {
                    start: 0,
                    ..self.clone()
                };
                empty.build(&setting)
            }
            Since::Later | Since::First => self.build(&setting),
        };
        match self.anchor {
            // Nobody knows when its windows began: the last one may have with the last take.
            Anchor::First => {
                let last = takes.map(|(at, _)| at).max();
                replay(&mut *limit, last.unwrap_or_default(), self.burst);
            }
            Anchor::Epoch => takes.for_each(|(at, cost)| replay(&mut *limit, at, cost)),
        }
        Box::new(GoesOn {
            limit,
            before: nanos(before),
        })
    }
}

impl Spec {
    /// What one of so many processes keeps of this limit for itself from `now` on, if nobody tells it what the
    /// others do: its part of the rate, and nothing of that is there yet.
    pub fn share_of(&self, members: u32, now: Tick, setting: &Setting) -> Box<dyn Limit> {
        let members = NonZeroU64::from(NonZeroU32::new(members).unwrap_or(NonZeroU32::MIN));
        let part = |of: NonZeroU64| NonZeroU64::new(of.get() / members).unwrap_or(NonZeroU64::MIN);
        let rate = &self.rate;
        let part_of_rate = if self.kind.has_burst() || rate.count < members {
            // One in so many periods: no part of it is lost.
            let periods = u32::try_from(members.get()).unwrap_or(u32::MAX);
            Rate::new(rate.count.get(), rate.period.saturating_mul(periods))
        } else {
            Rate::new(part(rate.count).get(), rate.period)
        };
        let burst = if self.kind.has_burst() {
            Cost(part(self.burst.0))
        } else {
            part_of_rate
                .as_ref()
                .map_or(self.burst, |rate| Cost(rate.count))
        };
        let own = Self {
            rate: part_of_rate.unwrap_or_else(|| rate.clone()),
            burst,
            start: burst.get(),
            ..self.clone()
        };
        let mut limit = own.build(setting);
        replay(&mut *limit, now, burst);
        limit
    }
}

/// Takes, sends and ends at one moment; whether it fits is no question any more.
fn replay(limit: &mut dyn Limit, at: Tick, cost: Cost) {
    let mut hold = limit.take(at, cost);
    limit.moved(&mut hold, at);
    limit.settle(hold, at, Used::Unknown);
}

/// A limit whose moments count from before the run.
#[derive(Debug)]
struct GoesOn {
    limit: Box<dyn Limit>,
    /// Nanoseconds.
    before: u64,
}

impl GoesOn {
    fn inside(&self, at: Tick) -> Tick {
        Tick(at.0.saturating_add(self.before))
    }

    fn outside(&self, at: Tick) -> Tick {
        Tick(at.0.saturating_sub(self.before))
    }

    fn ready_outside(&self, ready: Ready) -> Ready {
        match ready {
            Ready::At(at) => Ready::At(self.outside(at)),
            Ready::OnRelease | Ready::Never(_) => ready,
        }
    }
}

impl Limit for GoesOn {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        self.ready_outside(self.limit.ready(self.inside(from), cost))
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        let ready = self.limit.ready_after(self.inside(from), taken, cost);
        self.ready_outside(ready)
    }

    fn earliest(&self, from: Tick, total: u128) -> Tick {
        self.outside(self.limit.earliest(self.inside(from), total))
    }

    fn fresh_at(&self) -> Option<Tick> {
        self.limit.fresh_at().map(|at| self.outside(at))
    }

    fn level(&mut self, at: Tick) -> Level {
        let level = self.limit.level(self.inside(at));
        Level {
            full_at: level.full_at.map(|at| self.outside(at)),
            ..level
        }
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        self.limit.charge(self.inside(at), cost)
    }

    fn moved(&mut self, hold: &mut Hold, at: Tick) {
        self.limit.moved(hold, self.inside(at));
    }

    fn keep_guard(&mut self, guard: Duration) {
        self.limit.keep_guard(guard);
    }

    fn settle(&mut self, hold: Hold, at: Tick, used: Used) {
        self.limit.settle(hold, self.inside(at), used);
    }

    fn settles_on(&self) -> Moment {
        self.limit.settles_on()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    const SPECS: [&str; 9] = [
        "7/s",
        "7/s burst=4",
        "tokens 9/700ms leaky burst=13 start=4",
        "tokens 9/700ms bucket burst=13 start=0",
        "8/s window",
        "tokens 8/900ms window",
        "8/s window-counter",
        "6/300ms fixed",
        "6/300ms fixed anchor=first",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// One limit over all of it, and another that knows only the end of the past: the second never
        /// lets go what the first would not.
        #[test]
        fn across_the_seam_nothing_goes_that_would_not_have_gone_in_one_run(
            spec in proptest::sample::select(&SPECS[..]),
            takes in proptest::collection::vec(
                (prop_oneof![0..900_000_000_u64, 0..60_000_000_u64, Just(0)], 1..6_u64), 1..60),
            seam in 1..50_usize,
            pause in prop_oneof![Just(0), 0..300_000_000_u64, 0..2_000_000_000_u64],
        ) {
            let spec: Spec = spec.parse().unwrap();
            let setting = Setting { epoch: Duration::from_nanos(77 * SECOND + 123_456_789), ..Setting::VIRTUAL };
            let mut whole = spec.build(&setting);
            let (mut now, mut sent) = (Tick::ZERO, Vec::new());
            let seam = seam.min(takes.len());
            for &(gap, cost) in &takes[..seam] {
                now = now.after(Duration::from_nanos(gap));
                let cost = Cost::new(cost.min(spec.burst.get())).unwrap();
                let Ready::At(at) = whole.ready(now, cost) else { panic!("it fits") };
                replay(&mut *whole, at, cost);
                now = at;
                sent.push((at, cost));
            }
            let start = now.after(Duration::from_nanos(pause));
            let reach = spec.reach(&setting);
            // The past as the results tell it: what is within reach, from the zero of its own moments on.
            let zero = start.before(reach);
            let inside = sent.iter().filter(|(at, _)| *at >= zero);
            let mut takes_then: Vec<_> = inside.map(|&(at, cost)| (Tick(at.0 - zero.0), cost)).collect();
            takes_then.sort();
            let since = if takes_then.len() == sent.len() { Since::First } else { Since::Later };
            let past = Past { before: start.since(zero), takes: takes_then, since };
            let after = Setting { epoch: setting.epoch + start.since(Tick::ZERO), ..setting };
            let mut next = spec.go_on(&after, &past);
            let mut now = Tick::ZERO;
            for &(gap, cost) in &takes[seam..] {
                now = now.after(Duration::from_nanos(gap));
                let cost = Cost::new(cost.min(spec.burst.get())).unwrap();
                let Ready::At(at) = next.ready(now, cost) else { panic!("it fits") };
                let real = Tick(at.0 + start.0);
                prop_assert_eq!(whole.ready(real, cost), Ready::At(real), "{} at {:?}", spec, at);
                replay(&mut *next, at, cost);
                replay(&mut *whole, real, cost);
                now = at;
            }
        }
    }

    #[test]
    fn what_is_told_exactly_is_gone_on_with_exactly() {
        for text in [
            "10/s",
            "10/s burst=5",
            "10/s leaky burst=5",
            "10/1s window",
            "10/1s fixed",
        ] {
            let spec: Spec = text.parse().unwrap();
            let mut whole = spec.build(&Setting::VIRTUAL);
            let mut takes = Vec::new();
            let mut now = Tick::ZERO;
            for _ in 0..100 {
                let Ready::At(at) = whole.ready(now, Cost::ONE) else {
                    panic!("it fits")
                };
                replay(&mut *whole, at, Cost::ONE);
                takes.push((at, Cost::ONE));
                now = at;
            }
            let zero = now.before(spec.reach(&Setting::VIRTUAL));
            takes.retain(|(at, _)| *at >= zero);
            let past = Past {
                before: now.since(zero),
                takes: takes
                    .iter()
                    .map(|&(at, cost)| (Tick(at.0 - zero.0), cost))
                    .collect(),
                since: Since::Later,
            };
            let after = Setting {
                epoch: now.since(Tick::ZERO),
                ..Setting::VIRTUAL
            };
            let next = spec.go_on(&after, &past);
            let Ready::At(at) = whole.ready(now, Cost::ONE) else {
                panic!("it fits")
            };
            assert_eq!(
                next.ready(Tick::ZERO, Cost::ONE),
                Ready::At(Tick(at.0 - now.0)),
                "{text}"
            );
        }
    }

    #[test]
    fn without_a_past_a_limit_is_as_new() {
        let spec: Spec = "7/s burst=4 start=2".parse().unwrap();
        let mut limit = spec.go_on(&Setting::VIRTUAL, &Past::default());
        assert_eq!(limit.level(Tick::ZERO).remaining, 2);
    }
}
