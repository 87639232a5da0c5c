//! Tries that ask a store which others share for their grant. Floor 3: rules.
//!
//! A job that may go has taken its slot, leaves its lane and asks. Granted, it goes; refused, it gives all back, stands in
//! its old place again, and the limit that held it is shut until the moment that the store has told. While the store is
//! away nobody asks, and what is asked stays asked: the store answers once, however often it is told.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use super::gate::Asks;
use super::heads::LaneId;
use super::held::Phase;
use super::lanes::{Joins, Rest};
use super::lease::Leases;
use super::obstacle::{Obstacle, Stops, Until};
use super::rule::Alone;
use super::share::{Account, Answer, AskId, HeldBy, Mark, OnLoss, Part, Sharing, Wish, Word};
use super::talk::Ticket;
use super::{Action, Engine, HAS_WORK, IN_A_LANE};
use crate::error::Problem;
use crate::job::Job;
use crate::metrics::{Owner, StoreSeen};
use crate::outcome::{Failure, FailureKind, Reached};
use crate::units::Tick;

/// What a run has asked of the store, and what it knows of it.
#[derive(Debug)]
pub(super) struct Asking {
    sharing: Sharing,
    pub(super) next: AskId,
    /// What the store has said since the last decision.
    words: Vec<(Word, Tick)>,
    /// In the order of the asks.
    asks: BTreeMap<AskId, Ticket>,
    /// Asks of jobs that do not want their grant any more.
    in_vain: BTreeMap<AskId, Box<[Part]>>,
    /// So many may be asked at once: more after each grant, fewer after a refusal.
    most: usize,
    away: Option<(Problem, Tick)>,
    /// A run that goes on alone does so until then at least.
    alone_until: Option<Tick>,
    /// Why the run ends.
    lost: Option<Problem>,
    members: u32,
    pub(super) seen: StoreSeen,
    pub(super) leases: Leases,
}

/// As many fit one call of the store.
const AT_ONCE: usize = 256;

/// A run that goes on alone does so for so long at least: a store that comes and goes gives no burst each time.
const ALONE: Duration = Duration::from_secs(5);

impl Asking {
    pub(super) fn new(sharing: &Sharing) -> Self {
        Self {
            sharing: sharing.clone(),
            next: AskId(1),
            words: Vec::new(),
            asks: BTreeMap::new(),
            in_vain: BTreeMap::new(),
            most: 1,
            away: None,
            alone_until: None,
            lost: None,
            members: 1,
            seen: StoreSeen::default(),
            leases: Leases::default(),
        }
    }

    /// Why the run ends: the store was away for too long, or is unfit.
    pub(super) fn lost(&self) -> Option<&Problem> {
        self.lost.as_ref()
    }

    /// What was seen of the store, until `now`.
    pub(super) fn seen(&self, now: Tick) -> StoreSeen {
        let mut seen = self.seen;
        if let Some((_, since)) = &self.away {
            seen.away = seen.away.saturating_add(now.since(*since));
        }
        seen
    }

    /// As far as is known.
    pub(super) fn is_there(&self) -> bool {
        self.away.is_none()
    }

    /// Nothing more can be asked just now.
    fn is_full(&self) -> bool {
        !self.is_there() || self.asks.len() >= self.most
    }

    /// When time alone changes anything.
    fn next_change(&self) -> Option<Tick> {
        match self.sharing.on_loss {
            OnLoss::Stop => {
                let (_, since) = self.away.as_ref().filter(|_| self.lost.is_none())?;
                Some(since.after(self.sharing.grace))
            }
            OnLoss::Local | OnLoss::Open => self.alone_until.filter(|_| self.away.is_none()),
        }
    }
}

impl Engine {
    /// This job may go at `at`, unless the store cannot be asked for it now; or it need not be, and older ones of its lane
    /// ask.
    pub(super) fn may_ask(&self, job: &Job, lane: LaneId, at: Tick) -> Result<Tick, Obstacle> {
        let Some(asking) = &self.asking else {
            return Ok(at);
        };
        let waits = if self.gate.is_asked(job, Asks::First) {
            if let Some(ahead) = self.granted_ahead(lane, at) {
                return ahead;
            }
            asking.is_full()
        } else {
            !self.askers_of(lane).is_empty()
        };
        if waits {
            return Err(Obstacle {
                owner: Owner::Store,
                until: Until::Release(None),
                stops: Stops::Everyone,
            });
        }
        Ok(at)
    }

    /// The ages of the jobs that ask; what a redirect asks for is in flight.
    pub(super) fn askers(&self) -> impl Iterator<Item = u64> {
        let asks = self.asking.iter().flat_map(|asking| asking.asks.values());
        let held = asks.map(|ticket| self.roll.peek(*ticket));
        let jobs = held.filter(|held| held.phase == Phase::Asking);
        jobs.map(|held| held.turn)
    }

    /// The jobs of this lane that ask.
    pub(super) fn askers_of(&self, lane: LaneId) -> Vec<Ticket> {
        let asks = self.asking.iter().flat_map(|asking| asking.asks.values());
        let own = asks.filter(|ticket| {
            let held = self.roll.peek(**ticket);
            held.phase == Phase::Asking && held.lane == Some(lane)
        });
        own.copied().collect()
    }

    /// The store is asked for this job, or for what a redirect of its try asks for.
    pub(super) fn ask(&mut self, ticket: Ticket) {
        let held = self.roll.get(ticket);
        let lane = held.lane.expect(IN_A_LANE);
        let (job, asks) = held.asks();
        let parts = self.gate.parts(job, held.holds.states(), asks);
        let could_go = match &held.away {
            None => held.work().could_go,
            Some(away) => away.since(),
        };
        let could_go = could_go.max(self.lanes.open_since(lane));
        if asks == Asks::First {
            held.work.as_mut().expect(HAS_WORK).asked_at = Some(self.now);
        }
        let lane = self.lanes.name(lane).into();
        let asking = self.asking.as_mut().expect(SHARES);
        let id = asking.next;
        asking.next = AskId(id.0 + 1);
        asking.asks.insert(id, ticket);
        asking.leases.asks(id, self.now);
        asking.seen.asks += 1;
        self.gate.wish(Wish::Admit {
            id,
            lane,
            could_go,
            parts,
        });
    }

    /// The store has said something: it is heeded by the next decision.
    pub(super) fn hear_store(&mut self, word: Word, at: Tick) {
        if let Some(asking) = &mut self.asking {
            asking.words.push((word, at));
        }
    }

    /// What the store has said, and what time alone changes: the grace is over, or the time alone. Returns the next such
    /// moment.
    pub(super) fn heed_store(&mut self, actions: &mut Vec<Action>) -> Option<Tick> {
        let asking = self.asking.as_mut()?;
        for (word, at) in mem::take(&mut asking.words) {
            self.heed_word(word, at, actions);
        }
        self.heed_grace(actions)
    }

    fn heed_word(&mut self, word: Word, at: Tick, actions: &mut Vec<Action>) {
        let asking = self.asking.as_mut().expect(SHARES);
        match word {
            Word::Answered(id, answer) => self.answered_by_store(id, answer, at, actions),
            Word::Away(problem, since) => {
                if asking.away.is_none() {
                    asking.away = Some((problem, since));
                    asking.seen.times_away += 1;
                }
                self.gives_back_ahead(None);
                self.goes_alone();
            }
            Word::Back => {
                if let Some((_, since)) = asking.away.take() {
                    let span = at.since(since);
                    asking.seen.away = asking.seen.away.saturating_add(span);
                }
            }
            Word::Emptied => {
                asking.seen.emptied += 1;
                self.gives_back_ahead(None);
            }
            Word::Reach(reach) => asking.leases.others_reach(reach),
            Word::Members(members) => {
                asking.members = members;
                asking.seen.members = asking.seen.members.max(members);
            }
            Word::Learnt(counts, lane, known) => self.is_taught(counts, &lane, *known),
            Word::Unfit(problem) => self.store_is_lost(problem, actions),
        }
    }

    fn answered_by_store(
        &mut self,
        id: AskId,
        answer: Answer,
        at: Tick,
        actions: &mut Vec<Action>,
    ) {
        let asking = self.asking.as_mut().expect(SHARES);
        asking.leases.answered(id, self.now);
        if self.answered_ahead(id, &answer, at) {
            return;
        }
        let asking = self.asking.as_mut().expect(SHARES);
        match &answer {
            Answer::Granted(_) | Answer::Leased(_) => asking.most = (asking.most + 1).min(AT_ONCE),
            Answer::Refused(..) => {
                asking.most = (asking.most / 2).max(1);
                asking.seen.refused += 1;
            }
        }
        let Some(ticket) = asking.asks.remove(&id) else {
            let parts = asking.in_vain.remove(&id);
            if let (Some(parts), Answer::Granted(charged)) = (parts, answer) {
                self.gate.charged_in_vain(&parts, &charged, self.now);
            }
            return;
        };
        match answer {
            Answer::Granted(charged) => {
                let at = at.min(self.now);
                self.granted_by_store(ticket, &charged, at, actions);
            }
            Answer::Refused(by, wait) => {
                let until = self.now.after(wait);
                let held = self.roll.peek(ticket);
                let lane = held.lane.expect(IN_A_LANE);
                match by {
                    HeldBy::Limit(of) => {
                        self.gate.refused(held.holds.states(), of, self.now, until);
                        self.may_lease(ticket, lane);
                    }
                    HeldBy::Pause => {
                        self.lanes.pause(lane, until, Rest::Asked);
                        self.rush(lane);
                    }
                }
                self.asks_no_more(ticket);
            }
            // Nobody asks so for one try.
            Answer::Leased(_) => self.asks_no_more(ticket),
        }
    }

    /// The store has granted this at `at`.
    fn granted_by_store(
        &mut self,
        ticket: Ticket,
        charged: &[Mark],
        at: Tick,
        actions: &mut Vec<Action>,
    ) {
        let now = self.now;
        let held = self.roll.get(ticket);
        let lane = held.lane.expect(IN_A_LANE);
        let (job, asks) = held.asks();
        let parts = self.gate.parts(job, held.holds.states(), asks);
        self.gate.charged(&mut held.holds, &parts, charged);
        let turn = held.turn;
        // Meanwhile its server may have asked for a pause, or an older job may stand before it, or ask, again. One that
        // asks whether its origin is back goes before them.
        let others = self.askers_of(lane).into_iter();
        let mut others = others.chain(self.lanes.head(lane));
        let older = others.any(|other| self.roll.peek(other).turn < turn) && asks == Asks::First;
        let is_probe = self.lanes.is_probe(lane, ticket);
        let waits = (older || self.lanes.rests(lane, now).is_some()) && !is_probe;
        let asking = self.asking.as_ref().expect(SHARES);
        let is_stale = now.since(at) > asking.sharing.fresh;
        if is_stale || waits || self.lanes.is_closed(lane) {
            self.asks_no_more(ticket);
            return;
        }
        if asks == Asks::Next {
            self.goes_on_now(ticket, (at, at), actions);
            return;
        }
        // If its origin has rested meanwhile, it is the one that asks whether that is back.
        self.lanes.goes(lane, ticket, now.after(self.rules.timeout));
        let held = self.roll.get(ticket);
        held.phase = Phase::Flying;
        held.work.as_mut().expect(HAS_WORK).answered_by_store(now);
        self.departs(ticket, lane, (at, at), actions);
    }

    /// A job that has asked stands in its old place again, with nothing taken; a redirect waits on. Those of a lane that is
    /// closed are withdrawn when it closes.
    fn asks_no_more(&mut self, ticket: Ticket) {
        let now = self.now;
        let held = self.roll.get(ticket);
        let lane = held.lane.expect(IN_A_LANE);
        self.gate.gives_back(&mut held.holds, now);
        self.lanes.given_back(held.holds.states());
        self.lanes.returns(lane, ticket, now);
        let seq = held.seq;
        if held.away.is_some() {
            self.hops.insert((seq, ticket));
            return;
        }
        let work = held.work.as_mut().expect(HAS_WORK);
        work.answered_by_store(now);
        if let Some(in_order) = &mut self.in_order {
            in_order.waits(seq, ticket, work.job.slots);
        }
        held.phase = Phase::Waiting;
        self.joins(ticket, Joins::Back);
    }

    /// Nobody wants the grant any more for which this job asks.
    pub(super) fn unask(&mut self, ticket: Ticket) {
        let now = self.now;
        let held = self.roll.get(ticket);
        let (job, asks) = held.asks();
        let parts = self.gate.parts(job, held.holds.states(), asks);
        let asking = self.asking.as_mut().expect(SHARES);
        let own = asking.asks.iter().find(|(_, own)| **own == ticket);
        if let Some(id) = own.map(|(id, _)| *id) {
            asking.asks.remove(&id);
            asking.in_vain.insert(id, parts);
        }
        self.gate.gives_back(&mut held.holds, now);
        self.lanes.given_back(held.holds.states());
    }

    /// Where the run is to go on without the store, it does.
    fn goes_alone(&mut self) {
        let asking = self.asking.as_mut().expect(SHARES);
        let alone = match asking.sharing.on_loss {
            OnLoss::Stop => return,
            OnLoss::Local => Alone::Of(asking.members),
            OnLoss::Open => Alone::Open,
        };
        asking.alone_until = Some(self.now.after(ALONE));
        if self.gate.is_alone() {
            return;
        }
        let asks: Vec<Ticket> = asking.asks.values().copied().collect();
        for ticket in asks {
            self.unask(ticket);
            self.asks_no_more(ticket);
        }
        self.others_decide(Some(alone));
    }

    /// The run goes on like this from now on: without the store, or with it again.
    fn others_decide(&mut self, alone: Option<Alone>) {
        self.gate.goes_alone(alone, self.now);
        for holds in self.roll.holds() {
            self.gate.slots_go_over(holds, self.now);
        }
        self.lanes.reopen_all();
    }

    fn heed_grace(&mut self, actions: &mut Vec<Action>) -> Option<Tick> {
        let asking = self.asking.as_mut()?;
        let next = asking.next_change()?;
        if next > self.now {
            return Some(next);
        }
        match asking.sharing.on_loss {
            OnLoss::Stop => {
                let (problem, _) = asking.away.clone()?;
                self.store_is_lost(problem, actions);
            }
            OnLoss::Local | OnLoss::Open => {
                asking.alone_until = None;
                asking.most = 1;
                self.others_decide(None);
            }
        }
        None
    }

    /// Nothing more is sent: the store is needed and not there.
    fn store_is_lost(&mut self, problem: Problem, actions: &mut Vec<Action>) {
        let asking = self.asking.as_mut().expect(SHARES);
        if asking.lost.is_some() {
            return;
        }
        asking.lost = Some(problem);
        let asks: Vec<Ticket> = asking.asks.values().copied().collect();
        for ticket in asks {
            if self.roll.peek(ticket).away.is_none() {
                continue;
            }
            self.unask(ticket);
            let failure = Failure::new(
                FailureKind::Redirect,
                Reached::Answered,
                "not followed: the store that shares the limits is not there",
            );
            self.try_ended(ticket, self.now, Err(failure), actions);
        }
        self.withdraw_all(actions);
    }

    /// Whether this job is of another account than those that share their limits: then the run ends.
    pub(super) fn is_a_stranger(&mut self, job: &Job, actions: &mut Vec<Action>) -> bool {
        let sharing = self.rules.sharing.as_ref();
        let only = sharing.and_then(|sharing| sharing.only);
        let is_one = only.is_some_and(|only| only != Account::of(job));
        if is_one {
            let what = "it goes to another origin than the first job, or with another credential: it is not known which \
                        limits it shares";
            let problem = Problem::usage(what, "name what is shared: --redis-key NAME");
            self.store_is_lost(problem.at(job.place.to_string()), actions);
        }
        is_one
    }

    /// The server of this lane wants a pause: those who share its limits keep it, too.
    pub(super) fn share_pause(&mut self, lane: LaneId, until: Tick) {
        if self.asking.is_some() {
            let name = self.lanes.name(lane).into();
            self.gate.wish(Wish::Pause(name, until));
        }
    }
}

/// Only those ask who share limits.
pub(super) const SHARES: &str = "who asks shares its limits";

#[cfg(test)]
impl Asking {
    /// Whether this one asks.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.asks.values().any(|own| *own == ticket)
    }
}
