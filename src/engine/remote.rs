//! What of the rules a store keeps: what an ask costs, what was paid there, and who decides without it. Floor 3: rules.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::gate::{Asks, Gate, Holds};
use super::keyed::StateId;
use super::rule::{Alone, Rule};
use super::share::{Bill, Common, Debt, Mark, Part, Taught, Wish};
use crate::job::Job;
use crate::limit::{Counts, Known, Leaves, Lesson, Limit, Moment, Setting, Used};
use crate::metrics::Owner;
use crate::units::{Cost, Rate, Tick};

/// The rules that a store keeps.
#[derive(Debug, Default)]
pub(super) struct Remotes {
    /// Whether there are any.
    any: bool,
    /// How the run goes on without it, and since when.
    alone: Option<(Alone, Tick)>,
    /// How often that has changed.
    pub(super) turn: u32,
    /// What the store is to be told.
    wishes: Vec<Wish>,
    /// Marks that were made here.
    marks: u64,
    /// The pace of the slowest of them, if all can be granted ahead.
    pace: Option<Pace>,
}

/// How fast a limit lets requests through.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) owner: Owner,
    rate: Rate,
}

impl Pace {
    /// So many go in this span, rounded down.
    pub(super) fn flows_in(&self, span: Duration) -> u64 {
        let units =
            span.as_nanos() * u128::from(self.rate.count.get()) / self.rate.period.as_nanos();
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

/// Something that was paid to the store.
#[derive(Debug)]
pub(super) struct Owed {
    rule: usize,
    bill: Bill,
    /// The store knows when it left, or need not.
    moved: bool,
}

#[cfg(test)]
impl Owed {
    pub(super) fn mark(&self) -> Mark {
        self.bill.mark
    }
}

impl Remotes {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let remote = || rules.iter().filter(|rule| rule.remote().is_some());
        let paces = remote().map(|rule| {
            let (owner, rate) = (rule.owner, rule.granted_ahead()?.clone());
            Some(Pace { owner, rate })
        });
        let paces: Option<Vec<_>> = paces.collect();
        let second = Duration::from_secs(1);
        Self {
            any: remote().next().is_some(),
            pace: paces.and_then(|paces| {
                paces
                    .into_iter()
                    .min_by_key(|pace| pace.flows_in(second * 86_400))
            }),
            ..Self::default()
        }
    }

    /// Whether the store decides about this rule.
    pub(super) fn decides(&self, rule: &Rule) -> bool {
        self.any && self.alone.is_none() && rule.remote().is_some()
    }

    /// Whether what was taken in that turn was taken of what decides about this rule now.
    pub(super) fn knows(&self, rule: &Rule, turn: u32) -> bool {
        !self.any || self.turn == turn || rule.remote().is_none()
    }

    /// A state of this rule is met for the first time while the run is alone.
    pub(super) fn new_state(
        &self,
        rule: &Rule,
        setting: &Setting,
        mut limit: Box<dyn Limit>,
    ) -> Box<dyn Limit> {
        if let Some((alone, since)) = self.alone
            && let Some(own) = rule.stand_in(alone, since, setting)
        {
            limit.stands_in(Some(own), since);
        }
        limit
    }
}

impl Gate {
    /// Whether the store has to be asked for this job.
    pub(super) fn is_asked(&self, job: &Job, asks: Asks) -> bool {
        self.remotes.any && self.asked_rules(job, asks).next().is_some()
    }

    /// The rules that the store decides about, and what this job costs of them.
    fn asked_rules(&self, job: &Job, asks: Asks) -> impl Iterator<Item = (usize, Common, Cost)> {
        let rules = self.rules.iter().enumerate();
        rules.filter_map(move |(number, rule)| {
            let common = rule.remote().filter(|_| self.remotes.decides(rule))?;
            let cost = rule.charge.of(job).filter(|_| asks.pays(rule))?;
            Some((number, common, cost))
        })
    }

    /// What this job costs of what the store keeps.
    pub(super) fn parts(&self, job: &Job, states: &[StateId], asks: Asks) -> Box<[Part]> {
        let parts = self.asked_rules(job, asks).map(|(rule, of, cost)| Part {
            of,
            key: self.states.key(states[rule]).map(Arc::clone),
            cost,
        });
        parts.collect()
    }

    /// The pace at which the store grants ahead, if it does and is asked.
    pub(super) fn leases(&self) -> Option<&Pace> {
        self.remotes.pace.as_ref().filter(|_| !self.is_alone())
    }

    /// The store has charged these parts for this job.
    pub(super) fn charged(&mut self, holds: &mut Holds, parts: &[Part], charged: &[Mark]) {
        for (part, mark) in parts.iter().zip(charged) {
            let Some(rule) = self.rule_of(part.of) else {
                continue;
            };
            holds.owed.push(Owed {
                rule,
                bill: bill(part, *mark),
                moved: !self.rules[rule].is_remote_log(),
            });
        }
    }

    /// The store has charged these parts for nobody.
    pub(super) fn charged_in_vain(&mut self, parts: &[Part], charged: &[Mark], at: Tick) {
        let each = parts.iter().zip(charged);
        let wishes = each.map(|(part, it)| Wish::Settle(bill(part, *it), at, Used::NeverSent));
        self.remotes.wishes.extend(wishes);
    }

    /// Everything that a job has taken goes back: it was not sent.
    pub(super) fn gives_back(&mut self, holds: &mut Holds, at: Tick) {
        for moment in [Moment::Ended, Moment::Recorded] {
            self.settle(holds, at, moment, |_| Some(Used::NeverSent));
        }
    }

    /// The store has refused at `now` what costs something of this limit, until then.
    pub(super) fn refused(&mut self, states: &[StateId], of: Common, now: Tick, until: Tick) {
        if let Some(rule) = self.rule_of(of) {
            self.states.limit_mut(states[rule]).shut(now, until);
        }
    }

    /// The run goes on without the store, or with it again, which is told what was taken meanwhile.
    pub(super) fn goes_alone(&mut self, alone: Option<Alone>, now: Tick) {
        self.remotes.alone = alone.map(|alone| (alone, now));
        self.remotes.turn += 1;
        for (number, rule) in self.rules.iter().enumerate() {
            let Some(of) = rule.remote() else {
                continue;
            };
            for (key, limit) in self.states.of_rule(number) {
                let own = alone.and_then(|alone| rule.stand_in(alone, now, &self.setting));
                let taken: Box<[_]> = limit.stands_in(own, now).into();
                if !taken.is_empty() {
                    let key = key.cloned();
                    self.remotes.wishes.push(Wish::Owe(Debt { of, key, taken }));
                }
            }
        }
    }

    /// Others have begun to decide: the shared slots that these hold are held of them.
    pub(super) fn slots_go_over(&mut self, holds: &mut Holds, now: Tick) {
        let Some(slots) = self.rule_of(Common::Slots) else {
            return;
        };
        let held = holds.taken.get_mut(slots).and_then(Option::take);
        for (rule, hold) in self.rules.iter().zip(&mut holds.taken) {
            // Of what decided before nobody is left who would be told.
            if rule.remote().is_some() {
                *hold = None;
            }
        }
        holds.turn = self.remotes.turn;
        let owed = holds.owed.iter().find(|owed| owed.rule == slots);
        match (owed, held) {
            (Some(owed), _) if self.is_alone() => {
                let limit = self.states.limit_mut(holds.states()[slots]);
                holds.taken[slots] = Some(limit.take(now, owed.bill.cost));
            }
            (None, Some(held)) if !self.is_alone() => {
                self.remotes.marks += 1;
                let bill = Bill {
                    of: Common::Slots,
                    key: None,
                    mark: Mark::own(self.remotes.marks),
                    cost: held.cost(),
                };
                self.remotes.wishes.push(Wish::Hold(bill.clone()));
                holds.owed.push(Owed {
                    rule: slots,
                    bill,
                    moved: true,
                });
            }
            (Some(_) | None, _) => {}
        }
    }

    /// An answer has taught something of a limit that all learn; these are what its request has paid to the store.
    pub(super) fn teaches(
        &mut self,
        rule: usize,
        state: StateId,
        counts: Counts,
        owed: &[Owed],
        lesson: &Lesson,
    ) {
        let own = owed.iter().find(|owed| owed.rule == rule);
        if let Some(lane) = self.states.key(state).cloned() {
            self.remotes.wishes.push(Wish::Learn(Taught {
                of: counts,
                lane,
                mark: own.map(|owed| owed.bill.mark),
                lesson: lesson.clone(),
            }));
        }
    }

    /// All together know this now of the limits of this lane's server.
    pub(super) fn knows(&mut self, counts: Counts, lane: &Arc<str>, known: &Known, now: Tick) {
        let state = self.learns(counts);
        let state = state.and_then(|rule| self.states.find(rule, lane));
        if let Some(state) = state {
            self.states.limit_mut(state).begins_with(known, now);
        }
    }

    /// Whether the run goes on without the store.
    pub(super) fn is_alone(&self) -> bool {
        self.remotes.alone.is_some()
    }

    /// The store is to be told this.
    pub(super) fn wish(&mut self, wish: Wish) {
        if self.remotes.any {
            self.remotes.wishes.push(wish);
        }
    }

    /// What the store is to be told, once.
    pub(super) fn wishes(&mut self) -> Vec<Wish> {
        mem::take(&mut self.remotes.wishes)
    }

    /// What was paid to the store left at `at`.
    pub(super) fn owed_moved(&mut self, holds: &mut Holds, at: Tick, leaves: Leaves) {
        let rules = &self.rules;
        let leaving = holds.owed.iter_mut();
        let leaving = leaving.filter(|owed| !owed.moved && rules[owed.rule].leaves() == leaves);
        for owed in leaving {
            owed.moved = true;
            self.remotes.wishes.push(Wish::Moved(owed.bill.clone(), at));
        }
    }

    /// What was paid to the store ends, as far as its moment is this one and `used` tells of it.
    pub(super) fn owed_settled(
        &mut self,
        holds: &mut Holds,
        at: Tick,
        moment: Moment,
        used: impl Fn(&Rule) -> Option<Used>,
    ) {
        let (rules, wishes) = (&self.rules, &mut self.remotes.wishes);
        holds.owed.retain(|owed| {
            let rule = &rules[owed.rule];
            let is_due = (rule.is_slots() == (moment == Moment::Recorded)).then(|| used(rule));
            let Some(used) = is_due.flatten() else {
                return true;
            };
            let bill = || owed.bill.clone();
            match used {
                _ if rule.is_slots() => wishes.push(Wish::Settle(bill(), at, used)),
                Used::Known(own) if own == owed.bill.cost.get() => {}
                // A server that tells what is left tells it of what was used.
                Used::Known(_) if matches!(owed.bill.of, Common::Learnt(_)) => {}
                Used::Known(_) | Used::NeverSent => wishes.push(Wish::Settle(bill(), at, used)),
                Used::Unknown => {}
            }
            false
        });
    }

    fn rule_of(&self, of: Common) -> Option<usize> {
        self.rules.iter().position(|rule| rule.remote() == Some(of))
    }
}

fn bill(part: &Part, mark: Mark) -> Bill {
    Bill {
        of: part.of,
        key: part.key.clone(),
        mark,
        cost: part.cost,
    }
}
