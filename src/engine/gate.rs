//! Admission of one job: slots and every limit, at one instant, all or none. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use super::charge::{Charge, Costs};
use super::held::Spans;
use super::keyed::{Scope, StateId, States};
use super::lanes::Pays;
use super::obstacle::{Elder, Obstacle, Stops, Until};
use super::paid::Paid;
use super::remote::{Owed, Remotes};
use super::rule::Rule;
use super::rules::{Order, Refund, Rules};
use crate::job::Job;
use crate::limit::{Counts, Hold, Learnt, Leaves, Lesson, Moment, Ready, Setting, Used, keys_of};
use crate::metrics::{Owner, Pace};
use crate::outcome::{UnitsSpent, Waits};
use crate::units::Tick;

/// Everything that a try has taken, to be settled once; one place a rule.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// The states that its lane meets; `None`: it has none.
    states: Option<Arc<[StateId]>>,
    pub(super) taken: Vec<Option<Hold>>,
    /// How often others had begun to decide in the place of a store when it was taken.
    pub(super) turn: u32,
    /// What was paid to a store that others share.
    pub(super) owed: Vec<Owed>,
}

impl Holds {
    /// Nothing taken yet.
    pub(super) fn none(states: &Arc<[StateId]>) -> Self {
        Self {
            states: Some(Arc::clone(states)),
            taken: Vec::with_capacity(states.len()),
            turn: 0,
            owed: Vec::new(),
        }
    }

    /// The same in the memory of one that is settled; mostly it was of the same lane.
    pub(super) fn anew(&mut self, states: &Arc<[StateId]>) {
        self.taken.clear();
        self.owed.clear();
        let known = self.states.as_ref();
        if !known.is_some_and(|known| Arc::ptr_eq(known, states)) {
            self.states = Some(Arc::clone(states));
        }
    }

    /// The states that its lane meets.
    pub(super) fn states(&self) -> &[StateId] {
        self.states.as_deref().unwrap_or_default()
    }

    /// The same to be held without it.
    pub(super) fn shared_states(&self) -> Arc<[StateId]> {
        self.states.clone().unwrap_or_default()
    }

    /// What the store calls what was paid there.
    #[cfg(test)]
    pub(super) fn marks(&self) -> Vec<super::share::Mark> {
        self.owed.iter().map(Owed::mark).collect()
    }
}

/// The rules of the run.
#[derive(Debug)]
pub(super) struct Gate {
    /// Slots first, then the limits in the order of the command line.
    pub(super) rules: Vec<Rule>,
    /// The states of the rules that have one for all; `None` for the others.
    shared: Vec<Option<StateId>>,
    pub(super) states: States,
    /// The rule on the slots of each origin.
    host_slots: Option<usize>,
    /// The rules that learn stand last, from here on, one for each of [`Counts::ALL`].
    adaptive: Option<usize>,
    pub(super) setting: Setting,
    refund: Refund,
    pub(super) remotes: Remotes,
    /// How long windows are kept that keep a measured guard.
    guard: Option<Duration>,
    /// At which moments a rule that keeps a log is told of them.
    logs: [Option<Leaves>; 2],
    /// What each owner is called in results, by its place.
    names: Vec<Arc<str>>,
}

/// Which request of a try asks for its grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// The first: it takes slots, too.
    First,
    /// One that a redirect asks for: it has the slots of the first.
    Next,
}

impl Asks {
    /// Whether it has to do with this rule.
    pub(super) fn pays(self, rule: &Rule) -> bool {
        match self {
            Self::First => true,
            Self::Next => !rule.is_slots(),
        }
    }
}

impl Gate {
    pub(super) fn new(rules: &Rules) -> Self {
        let keys = keys_of(&rules.limits);
        let slots = rules
            .slots
            .map(|most| Rule::slots(most, Moment::Recorded, Owner::Slot, Scope::All));
        // Results that are held back must not take an origin from the job that they wait for.
        let until = match rules.order {
            Order::ByCompletion => Moment::Recorded,
            Order::ByInput => Moment::Ended,
        };
        let per_host = rules
            .per_host
            .map(|most| Rule::slots(most, until, Owner::HostSlot, Scope::Origin));
        let limits = (0..rules.limits.len()).map(|number| Rule::limit(number, rules, &keys));
        let learnt = Counts::ALL.iter().filter(|_| rules.adaptive);
        let learnt = learnt.map(|counts| Rule::adaptive(*counts, rules));
        let shared_slots = rules.sharing.as_ref().and_then(|sharing| sharing.slots);
        let shared_slots = shared_slots.map(Rule::shared_slots);
        let slots = slots.into_iter().chain(per_host);
        let given = slots.chain(shared_slots).chain(limits);
        let all: Vec<_> = given.chain(learnt).collect();
        let mut gate = Self {
            adaptive: rules.adaptive.then(|| all.len() - Counts::ALL.len()),
            remotes: Remotes::of(&all),
            rules: all,
            shared: Vec::new(),
            states: States::default(),
            host_slots: rules.per_host.map(|_| usize::from(rules.slots.is_some())),
            setting: rules.setting,
            refund: rules.refund,
            guard: None,
            logs: [Leaves::Send, Leaves::Reply].map(|leaves| {
                let mut windows = rules.limits.iter().filter(|it| it.kind.is_log());
                let learns = rules.adaptive && leaves == Leaves::Reply;
                (learns || windows.any(|it| it.leaves == leaves)).then_some(leaves)
            }),
            names: {
                let words = Owner::FIXED.map(|owner| owner.word().into());
                let limits = rules.limits.iter().map(|limit| limit.name.clone());
                words.into_iter().chain(limits).collect()
            },
        };
        for (rule, one) in gate.rules.iter().enumerate() {
            let limit = || one.build(&gate.setting, gate.guard, None);
            gate.shared.push(match one.scope {
                Scope::All => Some(gate.states.shared(rule, limit())),
                Scope::Origin | Scope::Key(_) | Scope::Lane => None,
            });
        }
        gate
    }

    /// The states that a lane of such jobs meets, one a rule, with one more lane.
    pub(super) fn enter(&mut self, job: &Job) -> Arc<[StateId]> {
        let Self {
            rules,
            shared,
            states,
            setting,
            guard,
            remotes,
            ..
        } = self;
        let each = rules.iter().enumerate().map(|(rule, one)| {
            let lane: Arc<str>;
            let key = match one.scope {
                Scope::All => return shared[rule].expect("a rule for all has its state"),
                Scope::Origin => &job.origin.0,
                Scope::Key(number) => job.keys.get(number).unwrap_or(&job.origin.0),
                Scope::Lane => {
                    lane = lane_of(job);
                    &lane
                }
            };
            states.of(rule, key, || {
                remotes.new_state(one, setting, one.build(setting, *guard, Some(key)))
            })
        });
        each.collect()
    }

    /// A lane with these states is no more.
    pub(super) fn leave(&mut self, states: &[StateId]) {
        for &state in states {
            self.states.leave(state);
        }
    }

    /// Keys that are as new are forgotten.
    pub(super) fn forget_idle(&mut self, now: Tick) {
        self.states.forget_idle(now);
    }

    /// Windows that keep a measured guard keep this one from now on, at most 1 % of their period.
    pub(super) fn keep_guard(&mut self, guard: Duration) {
        self.guard = Some(guard);
        for (rule, one) in self.rules.iter().enumerate() {
            if let Some(guard) = one.measured(&self.setting, guard) {
                for (_, limit) in self.states.of_rule(rule) {
                    limit.keep_guard(guard);
                }
            }
        }
    }

    /// The guard that was measured so far. Each window keeps at most 1 % of its period of it.
    pub(super) fn guard(&self) -> Option<Duration> {
        self.guard
    }

    /// Whether any window keeps a measured guard.
    pub(super) fn measures(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.measured(&self.setting, Duration::ZERO).is_some())
    }

    /// What an owner is called in results.
    pub(super) fn name(&self, owner: Owner) -> &Arc<str> {
        &self.names[owner.place()]
    }

    /// A job that could go, but for an older one that may go at `at` and would wait longer for `rule`.
    pub(super) fn behind(&self, rule: usize, states: &[StateId], at: Tick) -> Obstacle {
        let one = &self.rules[rule];
        Obstacle {
            owner: one.owner,
            until: Until::At(at),
            stops: one.stops(rule, states[rule]),
        }
    }

    /// The slots of its origin, with what stops a job that waits for them; `None` without a limit of them.
    pub(super) fn host_slots(&self, states: &[StateId]) -> Option<(StateId, Obstacle)> {
        let rule = self.host_slots?;
        let waits = Obstacle {
            owner: Owner::HostSlot,
            until: Until::Release(None),
            stops: Stops::Line(states[rule]),
        };
        Some((states[rule], waits))
    }

    /// What a job waited for, under the names of results.
    pub(super) fn waits(&self, waits: &Spans) -> Waits {
        let mut named = Waits::new();
        // A wait of no time is told only where there is no other: then it was nobody's.
        let some = waits.iter().any(|(_, span)| !span.is_zero());
        for (owner, span) in waits.iter().filter(|(_, span)| !some || !span.is_zero()) {
            named.add(self.name(owner), span);
        }
        named
    }

    /// Whether a job pays every limit on units that is for all.
    pub(super) fn pays(&self, job: &Job) -> Pays {
        let mut rules = self.rules.iter();
        let free = rules.any(|rule| rule.scope == Scope::All && rule.charge.of(job).is_none());
        if free { Pays::NotAll } else { Pays::All }
    }

    /// Whether a job pays this rule.
    pub(super) fn pays_rule(&self, job: &Job, rule: usize) -> bool {
        self.rules[rule].charge.of(job).is_some()
    }

    /// The moment, now or a little before, that the limits are charged for if this job goes; or what
    /// keeps it. The owner is the one that becomes ready last; ties go in the order of the rules.
    #[inline]
    pub(super) fn opening(
        &self,
        job: &Job,
        states: &[StateId],
        (from, now): (Tick, Tick),
        asks: Asks,
    ) -> Result<Tick, Obstacle> {
        let (mut at, mut last) = (from, None);
        let mut release: Option<(Owner, Stops)> = None;
        let costs = Costs::of(job);
        for (number, (rule, &state)) in self.rules.iter().zip(states).enumerate() {
            let Some(cost) = rule
                .bound(costs.of_charge(rule.charge))
                .filter(|_| asks.pays(rule))
            else {
                continue;
            };
            match self.states.limit(state).ready(from, cost) {
                Ready::At(moment) if moment > at => (at, last) = (moment, Some(number)),
                Ready::At(_) => {}
                Ready::OnRelease | Ready::Never(_) => {
                    let stops = rule.stops(number, state);
                    // Who waits in a line of its own waits for nothing that others share.
                    if release.is_none_or(|(_, first)| first == Stops::Everyone) {
                        release = Some((rule.owner, stops));
                    }
                }
            }
        }
        let last = last.filter(|_| at > now);
        let held = last.map(|rule| {
            (
                &self.rules[rule],
                self.rules[rule].stops(rule, states[rule]),
            )
        });
        match (held, release) {
            (None, None) => Ok(at),
            (Some((rule, stops @ Stops::Line(_))), _) | (Some((rule, stops)), None) => {
                Err(Obstacle {
                    owner: rule.owner,
                    until: Until::At(at),
                    stops,
                })
            }
            (held, Some((owner, stops))) => Err(Obstacle {
                owner,
                until: Until::Release(held.map(|(rule, _)| (rule.owner, at))),
                stops,
            }),
        }
    }

    /// The rule on which `elder` would have to wait longer if this job went at `at`.
    pub(super) fn delays(
        &self,
        job: &Job,
        states: &[StateId],
        at: Tick,
        elder: &Elder,
    ) -> Option<usize> {
        let both = states.iter().zip(&*elder.states).enumerate();
        let shared = both.filter(|(_, (own, other))| own == other);
        let mut shared = shared.map(|(number, (state, _))| (number, *state));
        let (rule, _) = shared.find(|&(number, state)| {
            let rule = &self.rules[number];
            let (Some(own), Some(other)) = (rule.wanted(job), rule.wanted(&elder.job)) else {
                return false;
            };
            if rule.is_slots() {
                return false;
            }
            match self.states.limit(state).ready_after(at, own, other) {
                Ready::At(then) => then > elder.at && then > self.moment(elder, at),
                Ready::OnRelease | Ready::Never(_) => false,
            }
        })?;
        Some(rule)
    }

    /// When every rate lets `elder` go, slots aside; not before it is held until anyway.
    pub(super) fn moment(&self, elder: &Elder, from: Tick) -> Tick {
        let rules = self.rules.iter().zip(&*elder.states);
        let moments = rules.filter_map(|(rule, &state)| {
            match self
                .states
                .limit(state)
                .ready(from, rule.wanted(&elder.job)?)
            {
                Ready::At(at) => Some(at),
                Ready::OnRelease | Ready::Never(_) => None,
            }
        });
        moments.fold(elder.at, Tick::max)
    }

    /// From this moment on the most that another job costs fits every limit that this one shares with
    /// others, even if it goes at `at`: nobody who goes later is kept by it.
    pub(super) fn horizon(&self, job: &Job, states: &[StateId], at: Tick) -> Tick {
        let rules = self.rules.iter().zip(states);
        let shared =
            rules.filter(|(rule, state)| !rule.is_slots() && self.states.has_others(**state));
        let moments = shared.filter_map(|(rule, &state)| {
            let most = rule.charge.most().unwrap_or(rule.capacity);
            let limit = self.states.limit(state);
            match limit.ready_after(at, rule.wanted(job)?, most) {
                Ready::At(moment) => Some(moment),
                Ready::OnRelease | Ready::Never(_) => None,
            }
        });
        moments.fold(at, Tick::max)
    }

    /// Takes everything, at the moment that [`Gate::opening`] told.
    pub(super) fn take(&mut self, job: &Job, at: Tick, holds: &mut Holds, asks: Asks) {
        let costs = Costs::of(job);
        holds.taken.clear();
        holds.turn = self.remotes.turn;
        let states = holds.states.as_deref().unwrap_or_default();
        for (rule, &state) in self.rules.iter().zip(states) {
            let cost = costs.of_charge(rule.charge).filter(|_| asks.pays(rule));
            let cost = cost.filter(|_| !self.remotes.decides(rule));
            let limit = self.states.limit_mut(state);
            let hold = cost.map(|cost| limit.charge(at, cost).of(cost));
            holds.taken.push(hold);
        }
    }

    /// An answer tells something of the server's limit on this. What is known anew, if anybody learns.
    pub(super) fn learn(
        &mut self,
        holds: &Holds,
        counts: Counts,
        lesson: &Lesson,
    ) -> Option<Learnt> {
        let rule = self.learns(counts)?;
        let state = *holds.states().get(rule)?;
        if self.remotes.decides(&self.rules[rule]) {
            self.teaches(rule, state, counts, &holds.owed, lesson);
        }
        self.states.limit_mut(state).learn(lesson)
    }

    /// The rule that learns what servers tell of this.
    pub(super) fn learns(&self, counts: Counts) -> Option<usize> {
        let place = Counts::ALL.iter().position(|own| *own == counts)?;
        Some(self.adaptive? + place)
    }

    /// The try was sent at `at`.
    pub(super) fn sent(&mut self, holds: &mut Holds, at: Tick) {
        self.moved(holds, at, Leaves::Send);
    }

    /// The head of the answer came at `at`, or the try ended without one.
    pub(super) fn answered(&mut self, holds: &mut Holds, at: Tick) {
        self.moved(holds, at, Leaves::Reply);
    }

    fn moved(&mut self, holds: &mut Holds, at: Tick, leaves: Leaves) {
        if !self.logs.contains(&Some(leaves)) {
            return;
        }
        let states = holds.states.as_deref().unwrap_or_default();
        let rules = self.rules.iter().zip(states);
        for ((rule, &state), hold) in rules.zip(&mut holds.taken) {
            let own = hold.as_mut().filter(|_| rule.leaves() == leaves);
            if let Some(hold) = own.filter(|_| self.remotes.knows(rule, holds.turn)) {
                self.states.limit_mut(state).moved(hold, at);
            }
        }
        if !holds.owed.is_empty() {
            self.owed_moved(holds, at, leaves);
        }
    }

    /// The try has ended: rates are settled. Returns the units that it spent.
    pub(super) fn ended(
        &mut self,
        holds: &mut Holds,
        at: Tick,
        paid: Paid,
        job: &Job,
    ) -> Option<UnitsSpent> {
        let (spent, refund) = (paid.spent(job), self.refund);
        self.settle(holds, at, Moment::Ended, |charge| {
            let own = spent.and_then(|spent| charge.spent(spent));
            Some(match (own, paid) {
                (Some(own), _) => paid.charge(own, refund),
                (None, Paid::NotSent) => Used::NeverSent,
                (None, Paid::Unanswered | Paid::Refused | Paid::Answered(_)) => Used::Unknown,
            })
        });
        spent
    }

    /// Its first request was answered by a redirect: that is paid, and what the try costs of units is known later.
    pub(super) fn sent_on(&mut self, holds: &mut Holds, at: Tick) {
        self.settle(holds, at, Moment::Ended, |charge| {
            (charge == Charge::Requests).then_some(Used::Unknown)
        });
    }

    /// The result is in the file, or the job goes to rest: slots are free.
    pub(super) fn released(&mut self, holds: &mut Holds, at: Tick) {
        self.settle(holds, at, Moment::Recorded, |_| Some(Used::Unknown));
    }

    pub(super) fn settle(
        &mut self,
        holds: &mut Holds,
        at: Tick,
        moment: Moment,
        used: impl Fn(Charge) -> Option<Used>,
    ) {
        let states = holds.states.as_deref().unwrap_or_default();
        let rules = self.rules.iter().zip(states);
        for ((rule, &state), hold) in rules.zip(&mut holds.taken) {
            let limit = self.states.limit_mut(state);
            if limit.settles_on() == moment
                && hold.is_some()
                && let Some(used) = used(rule.charge)
                && let Some(hold) = hold.take()
                && self.remotes.knows(rule, holds.turn)
            {
                limit.settle(hold, at, used);
            }
        }
        if !holds.owed.is_empty() {
            self.owed_settled(holds, at, moment, |rule| used(rule.charge));
        }
    }
}

/// The name of a job's lane.
fn lane_of(job: &Job) -> Arc<str> {
    match &job.keys[..] {
        [] => job.origin.0.clone(),
        keys => {
            let parts = std::iter::once(&*job.origin.0).chain(keys.iter().map(|key| &**key));
            parts.collect::<Vec<_>>().join("\0").into()
        }
    }
}

/// How long a line takes, for jobs that are all due at a moment.
impl Gate {
    /// Before this moment this job cannot go, behind all who wait; and whose the moment is.
    pub(super) fn projected(&self, job: &Job, states: &[StateId], now: Tick) -> (Tick, Owner) {
        let rules = self.rules.iter().zip(states);
        let moments = rules.filter_map(|(rule, &state)| {
            let cost = rule.charge.of(job)?;
            let total = self.states.ahead(state) + u128::from(cost.get());
            Some((self.states.limit(state).earliest(now, total), rule.owner))
        });
        moments.fold((now, Owner::Nothing), |last, next| {
            if next.0 > last.0 { next } else { last }
        })
    }

    /// Until when each rate limit that is for all holds back the last of so many tries, from `from` on, if they
    /// cost in the mean what those of `pace` did.
    pub(super) fn earliest(&self, from: Tick, sends: u64, pace: &Pace) -> Vec<Tick> {
        let rules = self.rules.iter().zip(&self.shared);
        let rates = rules.filter_map(|(rule, state)| {
            let total = rule.charge.so_many(sends, pace, self.refund)?;
            Some(self.states.limit((*state)?).earliest(from, total))
        });
        rates.collect()
    }

    /// Whether a limit is kept for each value of a key, or slots for each origin.
    pub(super) fn keeps_apart(&self) -> bool {
        self.rules.iter().any(|rule| rule.scope != Scope::All)
    }

    /// A job waits.
    pub(super) fn lines_up(&mut self, job: &Job, states: &[StateId]) {
        for (rule, &state) in self.rules.iter().zip(states) {
            if let Some(cost) = rule.charge.of(job) {
                *self.states.ahead_mut(state) += u128::from(cost.get());
            }
        }
    }

    /// A job waits no longer.
    pub(super) fn steps_out(&mut self, job: &Job, states: &[StateId]) {
        for (rule, &state) in self.rules.iter().zip(states) {
            if let Some(cost) = rule.charge.of(job) {
                *self.states.ahead_mut(state) -= u128::from(cost.get());
            }
        }
    }
}

#[cfg(test)]
impl Gate {
    /// Slots that are taken; zero without a limit of them.
    pub(super) fn slots_taken(&mut self, of: crate::units::Cost) -> u64 {
        let slots = self.rules.iter().position(|rule| rule.owner == Owner::Slot);
        let state = slots.and_then(|rule| self.shared[rule]);
        state.map_or(0, |state| {
            of.get() - self.states.limit_mut(state).level(Tick::ZERO).remaining
        })
    }

    /// Counts the users of states, and what waits for each, one by one.
    pub(super) fn recount<'a>(
        &self,
        lanes: &[Arc<[StateId]>],
        waiting: impl Iterator<Item = (&'a Job, &'a [StateId])>,
    ) {
        let mut costs = std::collections::HashMap::new();
        for (job, states) in waiting {
            for (rule, &state) in self.rules.iter().zip(states) {
                let cost = rule.charge.of(job).map_or(0, crate::units::Cost::get);
                *costs.entry(state).or_default() += u128::from(cost);
            }
        }
        self.states.recount(lanes, &costs);
    }

    /// The states that two jobs both pay into.
    pub(super) fn shared_by(
        &self,
        (one, own): (&Job, &[StateId]),
        (other, its): (&Job, &[StateId]),
    ) -> Vec<StateId> {
        let both = own.iter().zip(its).enumerate();
        let pay = |rule| self.pays_rule(one, rule) && self.pays_rule(other, rule);
        let shared = both.filter(|(rule, (own, its))| own == its && pay(*rule));
        shared.map(|(_, (own, _))| *own).collect()
    }

    /// Whether so many slots of this state are free.
    pub(super) fn has_room(&self, state: StateId, slots: crate::units::Cost) -> bool {
        matches!(
            self.states.limit(state).ready(Tick::ZERO, slots),
            Ready::At(_)
        )
    }

    /// Entries of the list of states that no lane uses.
    pub(super) fn listed(&self) -> usize {
        self.states.listed()
    }

    /// States that are kept for a value of a key.
    pub(super) fn keyed(&self) -> usize {
        self.states.keyed()
    }
}
