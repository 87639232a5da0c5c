//! The limits of a server as they are learnt from its answers. Floor 3: rules.

use std::borrow::Cow;
use std::time::Duration;

use super::pace::{Pace, Search};
use super::{Hold, Level, Limit, Ready, Receipt, Used};
use crate::units::{Cost, Tick};

/// What one answer teaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lesson {
    /// A request that was granted then was taken.
    Accepted {
        /// Its grant.
        granted: Tick,
        /// When its answer began.
        at: Tick,
    },
    /// It was refused.
    Refused {
        /// Its grant.
        granted: Tick,
        /// When its answer began.
        at: Tick,
        /// When the server takes more again, if it says so.
        back: Option<Tick>,
    },
    /// The server tells how a limit stands.
    Told(Standing),
}

impl Lesson {
    /// The server's name of the limit, where that is told.
    pub fn name(&self) -> &str {
        match self {
            Self::Told(said) => &said.name,
            Self::Accepted { .. } | Self::Refused { .. } => "",
        }
    }
}

/// How a limit of a server stands, by what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// When the answer began.
    pub at: Tick,
    /// The server's name of it.
    pub name: Cow<'static, str>,
    /// The most that it holds.
    pub limit: Option<u64>,
    /// In which time that much may be taken.
    pub period: Option<Duration>,
    /// What is left of it.
    pub left: Option<u64>,
    /// When it is full again.
    pub full_at: Option<Tick>,
    /// Whether it comes back bit by bit until then, and not all at once.
    pub refills: bool,
}

/// What is known anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learnt {
    /// The server was found to take so much.
    Found {
        /// It is asked for so much; `None`: for all that there is.
        pace: Option<Pace>,
        /// It took so much since its first word on it; `None` if that is too little to tell.
        mean: Option<Pace>,
        /// What has told it.
        why: Why,
    },
    /// It says that a limit of it is this: so many, in this time.
    Told(u64, Option<Duration>),
}

/// How a pace was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The server refused more.
    Refused,
    /// It said that all was used up.
    UsedUp,
    /// It took what was asked for, and is asked for more.
    Accepted,
}

/// What all who share it know of a server's limit on something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// The server is asked for so much; `None`: for all that there is.
    pub pace: Option<Pace>,
    /// It took so much since its first word on it; `None` if that is too little to tell.
    pub mean: Option<Pace>,
    /// How often it refused.
    pub refused: u64,
    /// How often it told that all was used up.
    pub used_up: u64,
    /// How its limits stand, as they were told last.
    pub told: Vec<Standing>,
}

impl Known {
    /// The same with what an answer to one of them tells.
    pub fn hears(&mut self, said: &Standing) {
        match self.told.iter_mut().find(|own| own.name == said.name) {
            Some(own) => *own = said.clone(),
            None => self.told.push(said.clone()),
        }
    }
}

/// A limit that nobody has given: what the server's answers tell of it, and a pace that is found where it refuses.
#[derive(Debug, Default)]
pub struct Adaptive {
    search: Search,
    /// So many others keep as much of what the server tells.
    others: u64,
    refused: u64,
    used_up: u64,
    told: Vec<Told>,
    /// The next one may go then, by the pace.
    next: Tick,
    last: Tick,
    /// All that was ever taken.
    taken: u64,
    /// The same at the grant of the request whose answer began last: the server has counted so much.
    heard: u64,
    /// Requests that are not answered yet.
    flying: u64,
}

/// What the server has told of one limit.
#[derive(Debug)]
struct Told {
    name: Cow<'static, str>,
    at: Tick,
    limit: Option<u64>,
    period: Option<Duration>,
    left: Option<u64>,
    full_at: Option<Tick>,
    refills: bool,
    /// All that was taken when the request of that answer was granted,
    heard: u64,
    /// and what was taken since: the answer does not know of it.
    out: u64,
}

/// A limit of a longer period is not paced: who has few jobs waits for nothing, and for many it comes to the same.
const PACED: Duration = Duration::from_secs(60);

/// What goes later than its pace has it is made up for, as far as this: else a pace that is found would be less than the
/// server takes by as much as timers are late.
const MADE_UP: Duration = Duration::from_millis(50);

/// What is learnt is forgotten if nothing is sent for so long.
pub(super) const KEPT: Duration = Duration::from_secs(600);

impl Told {
    /// The pace that it allows, where it is paced.
    fn paced(&self) -> Option<Pace> {
        let period = self.period.filter(|period| *period <= PACED)?;
        Some(Pace::of(self.limit?, period))
    }

    /// The same as it stands at `at`.
    fn standing(&self, at: Tick) -> Standing {
        Standing {
            at,
            name: self.name.clone(),
            limit: self.limit,
            period: self.period,
            left: self.left.map(|left| left.saturating_sub(self.out)),
            full_at: self.full_at,
            refills: self.refills,
        }
    }

    /// Until when what was told holds: one period of it after its reset, as far as that is known.
    fn ends(&self) -> Option<Tick> {
        let full_at = self.full_at?;
        let span = full_at.since(self.at).max(Duration::from_secs(1));
        Some(full_at.after(self.period.unwrap_or(span)))
    }

    /// From when on `cost` fits, not before `from`, if `more` is taken first.
    fn opens(&self, from: Tick, cost: u64, more: u64) -> Tick {
        let need = self.out.saturating_add(more).saturating_add(cost);
        let (Some(left), Some(full_at), Some(ends)) = (self.left, self.full_at, self.ends()) else {
            return from;
        };
        if need <= left || from >= ends {
            return from;
        }
        let limit = self.limit.unwrap_or(u64::MAX);
        let opens = if self.refills && limit > left && need <= limit {
            let span = u128::from(full_at.0.saturating_sub(self.at.0));
            let (lacks, all) = (need - left, limit - left);
            let wait = (u128::from(lacks) * span).div_ceil(all.into());
            Tick(
                self.at
                    .0
                    .saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)),
            )
        } else if need <= limit || self.out.saturating_add(more) == 0 {
            full_at
        } else {
            ends
        };
        opens.max(from)
    }
}

impl Adaptive {
    fn opens(&self, from: Tick, cost: Cost, more: u64) -> Tick {
        let mut from = from.max(self.last).max(self.next);
        if more > 0
            && let Some(pace) = self.search.pace()
        {
            from = from.after(pace.gap(more));
        }
        let each = self
            .told
            .iter()
            .map(|told| told.opens(from, cost.get(), more));
        each.fold(from, Tick::max)
    }

    /// One of so many that keep what a server tells, each its part.
    pub fn one_of(members: u32) -> Self {
        Self {
            others: u64::from(members.max(1)) - 1,
            ..Self::default()
        }
    }

    /// What is known, as others may begin with it.
    pub fn known(&self, at: Tick) -> Known {
        Known {
            pace: self.search.pace(),
            mean: self.search.mean(at),
            refused: self.refused,
            used_up: self.used_up,
            told: self.told.iter().map(|told| told.standing(at)).collect(),
        }
    }

    /// The part of it that is its own.
    fn part(&self, units: u64) -> u64 {
        units / (self.others + 1)
    }

    fn hear(&mut self, said: &Standing) -> Option<Learnt> {
        let limit = said.limit.map(|limit| self.part(limit));
        let told = Told {
            name: said.name.clone(),
            at: said.at,
            limit,
            period: said.period,
            left: said.left.map(|left| self.part(left)),
            full_at: said.full_at,
            refills: said.refills,
            heard: self.heard,
            out: self.taken - self.heard,
        };
        let is_new = self.keep(told);
        let rates = self.told.iter().filter_map(Told::paced);
        if let Some(rate) = rates.min() {
            self.search.told(rate);
            if said.left.is_none() {
                // All of it at the very edge is one too many in every window.
                self.search.begins_with(rate.percent(99), said.at);
            }
        }
        if let (Some(0), false, Some(until)) = (said.left, said.refills, said.full_at)
            && self.search.used_up(said.at, until, limit)
        {
            self.used_up += 1;
            return Some(self.found(Why::UsedUp, said.at));
        }
        is_new.then_some(Learnt::Told(said.limit?, said.period))
    }

    /// Whether another limit is told by it than before. Answers overtake each other: what a later request was told
    /// holds.
    fn keep(&mut self, told: Told) -> bool {
        let Some(before) = self.told.iter_mut().find(|own| own.name == told.name) else {
            self.told.push(told);
            return true;
        };
        let is_new = (before.limit, before.period) != (told.limit, told.period);
        if told.heard >= before.heard {
            *before = told;
        }
        is_new
    }

    fn found(&self, why: Why, at: Tick) -> Learnt {
        Learnt::Found {
            pace: self.search.pace(),
            mean: self.search.mean(at),
            why,
        }
    }
}

impl Limit for Adaptive {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        Ready::At(self.opens(from, cost, 0))
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        Ready::At(self.opens(from, cost, taken.get()))
    }

    fn earliest(&self, from: Tick, _total: u128) -> Tick {
        from.max(self.last).max(self.next)
    }

    fn fresh_at(&self) -> Option<Tick> {
        let nothing = self.told.is_empty() && self.search.knows_nothing();
        let kept = if nothing {
            self.last
        } else {
            self.last.after(KEPT)
        };
        let ends = self.told.iter().filter_map(Told::ends);
        (self.flying == 0).then(|| ends.fold(kept, Tick::max))
    }

    fn level(&mut self, at: Tick) -> Level {
        let opens = self.opens(at, Cost::ONE, 0);
        Level {
            remaining: u64::from(opens <= at),
            full_at: Some(opens),
        }
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        let at = at.max(self.last);
        self.search.grants(at);
        if let Some(pace) = self.search.pace() {
            self.next = self
                .next
                .max(at.before(MADE_UP))
                .after(pace.gap(cost.get()));
        }
        self.last = at;
        self.taken = self.taken.saturating_add(cost.get());
        self.flying += 1;
        for told in &mut self.told {
            told.out = told.out.saturating_add(cost.get());
        }
        let entry = self.taken;
        Receipt { at, entry }
    }

    /// The head of the answer is here: what it tells knows of this.
    fn moved(&mut self, hold: &mut Hold, _at: Tick) {
        self.heard = hold.entry;
        self.flying -= 1;
    }

    fn settle(&mut self, hold: Hold, _at: Tick, used: Used) {
        if used == Used::NeverSent {
            for told in &mut self.told {
                if told.heard < hold.entry {
                    told.out = told.out.saturating_sub(hold.cost.get());
                }
            }
        }
    }

    fn learn(&mut self, lesson: &Lesson) -> Option<Learnt> {
        match *lesson {
            Lesson::Accepted { granted, at } => {
                let before = self.search.pace();
                self.search.accepted(granted, at);
                (self.search.pace() != before).then(|| self.found(Why::Accepted, at))
            }
            Lesson::Refused { granted, at, back } => {
                if !self.search.refused(granted, at, back) {
                    return None;
                }
                self.refused += 1;
                Some(self.found(Why::Refused, at))
            }
            Lesson::Told(ref said) => self.hear(said),
        }
    }

    fn begins_with(&mut self, known: &Known, at: Tick) {
        if let Some(pace) = known.pace {
            self.search.goes_on_with(pace.part(self.others + 1), at);
        }
        for said in &known.told {
            self.hear(said);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn told(name: &'static str, at: u64, limit: u64, left: u64, full_at: u64) -> Standing {
        Standing {
            at: Tick(at),
            name: name.into(),
            limit: Some(limit),
            period: None,
            left: Some(left),
            full_at: Some(Tick(full_at)),
            refills: false,
        }
    }

    /// When the next one may go.
    fn opens(limit: &Adaptive, from: u64) -> u64 {
        match limit.ready(Tick(from), Cost::ONE) {
            Ready::At(at) => at.0,
            other => panic!("{other:?}"),
        }
    }

    /// One goes and is answered, all of it at `at`.
    fn answered(limit: &mut Adaptive, at: u64) -> Hold {
        let mut hold = limit.take(Tick(at), Cost::ONE);
        limit.moved(&mut hold, Tick(at));
        hold
    }

    #[test]
    fn what_is_left_goes_at_once_and_the_next_one_at_the_reset() {
        let mut limit = Adaptive::default();
        answered(&mut limit, 0);
        limit.learn(&Lesson::Told(told("a", 0, 10, 3, 9 * SECOND)));
        for _ in 0..3 {
            assert_eq!(opens(&limit, 0), 0);
            limit.take(Tick(0), Cost::ONE);
        }
        assert_eq!(opens(&limit, 0), 9 * SECOND);
    }

    #[test]
    fn an_answer_does_not_know_of_what_was_granted_after_its_request() {
        let mut limit = Adaptive::default();
        let mut first = limit.take(Tick(0), Cost::ONE);
        let mut second = limit.take(Tick(0), Cost::ONE);
        limit.take(Tick(0), Cost::ONE);
        // The later answer is here first: 8 were left, and one more is on its way.
        limit.moved(&mut second, Tick(5));
        limit.learn(&Lesson::Told(told("a", 5, 10, 1, SECOND)));
        assert_eq!(opens(&limit, 5), SECOND);
        limit.moved(&mut first, Tick(6));
        limit.learn(&Lesson::Told(told("a", 6, 10, 9, SECOND)));
        assert_eq!(opens(&limit, 6), SECOND, "it is older");
    }

    #[test]
    fn what_was_never_sent_is_there_again() {
        let mut limit = Adaptive::default();
        answered(&mut limit, 0);
        limit.learn(&Lesson::Told(told("a", 0, 10, 1, SECOND)));
        let mut hold = limit.take(Tick(0), Cost::ONE);
        assert_eq!(opens(&limit, 0), SECOND);
        limit.moved(&mut hold, Tick(1));
        limit.settle(hold, Tick(1), Used::NeverSent);
        assert_eq!(opens(&limit, 1), 1);
    }

    #[test]
    fn what_refills_comes_back_bit_by_bit() {
        let mut limit = Adaptive::default();
        answered(&mut limit, 0);
        let empty = Standing {
            refills: true,
            ..told("a", 0, 10, 0, 10 * SECOND)
        };
        limit.learn(&Lesson::Told(empty));
        assert_eq!(opens(&limit, 0), SECOND);
        limit.take(Tick(SECOND), Cost::ONE);
        assert_eq!(opens(&limit, 0), 2 * SECOND);
        let five = limit.ready(Tick(0), Cost::new(5).unwrap());
        assert_eq!(five, Ready::At(Tick(6 * SECOND)));
    }

    #[test]
    fn the_tightest_of_several_limits_holds() {
        let mut limit = Adaptive::default();
        answered(&mut limit, 0);
        limit.learn(&Lesson::Told(told("minute", 0, 10, 0, 60 * SECOND)));
        limit.learn(&Lesson::Told(told("day", 0, 10, 5, 86_400 * SECOND)));
        assert_eq!(opens(&limit, 0), 60 * SECOND);
        limit.learn(&Lesson::Told(told("day", 0, 10, 0, 86_400 * SECOND)));
        assert_eq!(opens(&limit, 0), 86_400 * SECOND);
    }

    #[test]
    fn after_a_reset_a_whole_window_goes_and_then_what_was_told_is_over() {
        let mut limit = Adaptive::default();
        answered(&mut limit, 0);
        limit.learn(&Lesson::Told(told("a", 0, 2, 0, 9 * SECOND)));
        for _ in 0..2 {
            assert_eq!(opens(&limit, 9 * SECOND), 9 * SECOND);
            limit.take(Tick(9 * SECOND), Cost::ONE);
        }
        assert_eq!(opens(&limit, 9 * SECOND), 18 * SECOND);
    }

    #[test]
    fn a_cost_above_what_the_server_holds_goes_when_all_is_there() {
        let mut limit = Adaptive::default();
        answered(&mut limit, 0);
        limit.learn(&Lesson::Told(told("a", 0, 10, 4, 9 * SECOND)));
        let ready = limit.ready(Tick(0), Cost::new(50).unwrap());
        assert_eq!(ready, Ready::At(Tick(9 * SECOND)));
    }

    #[test]
    fn a_key_whose_server_says_nothing_is_forgotten_with_its_last_job() {
        let mut limit = Adaptive::default();
        let hold = answered(&mut limit, 5);
        limit.settle(hold, Tick(6), Used::Unknown);
        let granted = Tick(5);
        limit.learn(&Lesson::Accepted {
            granted,
            at: Tick(6),
        });
        assert_eq!(limit.fresh_at(), Some(Tick(5)));
        limit.learn(&Lesson::Told(told("a", 6, 10, 9, SECOND)));
        assert_eq!(limit.fresh_at(), Some(Tick(5).after(KEPT)));
    }

    #[test]
    fn a_new_limit_is_told_once_and_a_change_again() {
        let mut limit = Adaptive::default();
        answered(&mut limit, 0);
        let learn =
            |limit: &mut Adaptive, most| limit.learn(&Lesson::Told(told("a", 0, most, 5, SECOND)));
        assert_eq!(learn(&mut limit, 10), Some(Learnt::Told(10, None)));
        assert_eq!(learn(&mut limit, 10), None);
        assert_eq!(learn(&mut limit, 20), Some(Learnt::Told(20, None)));
    }

    fn standings() -> impl Strategy<Value = Standing> {
        let span = || prop::option::of(prop_oneof![0..9 * SECOND, any::<u64>()]);
        let count = || prop::option::of(prop_oneof![0..20_u64, any::<u64>()]);
        let name = prop::sample::select(&["a", "b", "c"][..]);
        (name, count(), span(), count(), span(), any::<bool>()).prop_map(
            |(name, limit, period, left, full_at, refills)| Standing {
                at: Tick::ZERO,
                name: name.into(),
                limit: limit.filter(|limit| *limit > 0),
                period: period.map(Duration::from_nanos),
                left,
                full_at: full_at.map(Tick),
                refills,
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_is_told_the_moments_are_true_and_none_is_the_end_of_time_for_nothing(
            steps in prop::collection::vec((0..4_u8, 0..3 * SECOND, 1..9_u64, standings()), 1..60),
        ) {
            let mut limit = Adaptive::default();
            let mut now = Tick::ZERO;
            let mut out = Vec::new();
            for (what, pause, cost, said) in steps {
                now = now.after(Duration::from_nanos(pause));
                let cost = Cost::new(cost).unwrap();
                let Ready::At(ready) = limit.ready(now, cost) else { panic!("no moment") };
                prop_assert!(ready >= now);
                prop_assert_eq!(limit.ready(ready, cost), Ready::At(ready), "it is then");
                let Ready::At(later) = limit.ready_after(now, Cost::ONE, cost) else { panic!("no moment") };
                prop_assert!(later >= ready);
                match what {
                    0 if ready == now => out.push(limit.take(now, cost)),
                    1 => {
                        if let Some(mut hold) = out.pop() {
                            limit.moved(&mut hold, now);
                            let full_at = said.full_at.map(|at| now.after(at.since(Tick::ZERO)));
                            limit.learn(&Lesson::Told(Standing { at: now, full_at, ..said }));
                            limit.learn(&Lesson::Accepted { granted: now, at: now });
                            limit.settle(hold, now, Used::Unknown);
                        }
                    }
                    2 => {
                        if let Some(mut hold) = out.pop() {
                            limit.moved(&mut hold, now);
                            limit.learn(&Lesson::Refused { granted: now, at: now, back: None });
                            limit.settle(hold, now, Used::NeverSent);
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!(limit.fresh_at().is_some(), out.is_empty());
            }
        }
    }
}
