//! Admission: who may go now, oldest first, so that nobody younger makes an older one wait. Floor 3: rules.

use super::gate::Asks;
use super::heads::LaneId;
use super::held::Phase;
use super::keyed::StateId;
use super::lanes::{Entry, Parked, Rest};
use super::obstacle::{Elder, Obstacle, Stops, Until};
use super::talk::Ticket;
use super::{Action, Engine, HAS_WORK};
use crate::job::Job;
use crate::metrics::Owner;
use crate::units::Tick;

/// What a look at all heads has found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The oldest head that is held, and by what.
    pub(super) first: Option<(u64, Obstacle)>,
    /// The next moment at which one of the heads may go, and that head.
    pub(super) next: Option<(Tick, Ticket)>,
}

impl Engine {
    /// Sends every job that may go, oldest first.
    ///
    /// A head that a shared rule holds closes that rule for everyone younger, so within a limit it is
    /// first come, first served. One that is held by a state of its own lane or of a few waits in the
    /// line of that state; others pass it where that leaves its moment as it is.
    pub(super) fn admit(&mut self, actions: &mut Vec<Action>) -> Scan {
        let mut scan = Scan::default();
        let mut closed: Vec<Closed> = Vec::new();
        let mut after = None;
        while let Some((seq, lane)) = if closed.is_empty() {
            self.lanes.next_open(after)
        } else {
            self.lanes.next_frugal(after)
        } {
            after = Some((seq, lane));
            if self.rests_with_origin(lane) {
                continue;
            }
            let ticket = self.lanes.head(lane).expect("an open lane has a head");
            if self.is_closed_to(&self.roll.peek(ticket).work().job, seq, &closed) {
                continue;
            }
            if self.sends_one_to_ask(lane, &closed, actions) {
                continue;
            }
            let (obstacle, by) = match self.opening(seq, ticket, lane, &closed) {
                Ok(at) => {
                    self.go(ticket, lane, at, actions);
                    continue;
                }
                Err(held) => held,
            };
            self.roll.work(ticket).blocker = Some(obstacle.owner);
            self.blocker = obstacle.owner;
            self.starves(lane, &obstacle);
            if self.waits_too_long(ticket, obstacle.until) {
                self.give_up(ticket, obstacle.until, actions);
                continue;
            }
            match obstacle.stops {
                Stops::Line(line) => {
                    let until = match obstacle.until {
                        Until::At(at) => Some(at),
                        Until::Release(_) => None,
                    };
                    let owner = obstacle.owner;
                    self.lanes.park(lane, Parked { line, until, owner });
                    continue;
                }
                Stops::Payers(rule) => {
                    let elder = self.elder(ticket, obstacle.until, by);
                    closed.push(Closed { rule, seq, elder });
                    self.lanes.let_on(lane, seq);
                }
                Stops::Itself => self.lanes.let_on(lane, seq),
                Stops::Everyone => {}
            }
            scan.held(seq, ticket, obstacle);
            if obstacle.stops == Stops::Everyone {
                break;
            }
        }
        scan
    }

    /// When a job of this lane may go, given those older heads that hold a limit: now, or what keeps it.
    #[inline]
    fn opening(
        &self,
        seq: u64,
        ticket: Ticket,
        lane: LaneId,
        closed: &[Closed],
    ) -> Result<Tick, (Obstacle, Behind)> {
        let held = self.roll.peek(ticket);
        let (work, states) = (held.work(), held.holds.states());
        let from = work
            .could_go
            .max(self.lanes.open_since(lane))
            .max(self.now.before(self.rules.slack));
        let opening = self
            .gate
            .opening(&work.job, states, (from, self.now), Asks::First);
        let opening = opening.and_then(|at| self.in_turn(held.seq, &work.job, at));
        match opening.and_then(|at| self.may_ask(&work.job, lane, at)) {
            Ok(at) => self
                .harmless(seq, &work.job, states, at, closed)
                .map_err(|obstacle| (obstacle, Behind::Older)),
            Err(obstacle) => Err((self.in_fact(&work.job, obstacle), Behind::Limit)),
        }
    }

    /// A head that a shared limit on units holds until a moment, for those who come after it.
    fn elder(&self, ticket: Ticket, until: Until, by: Behind) -> Option<Elder> {
        match (by, until) {
            (Behind::Limit, Until::At(at)) => {
                let held = self.roll.peek(ticket);
                Some(Elder {
                    job: held.work().job.clone(),
                    states: held.holds.shared_states(),
                    at,
                })
            }
            (Behind::Limit | Behind::Older, _) => None,
        }
    }

    /// Sends the youngest job of a lane whose origin may be back, if that job may go now.
    fn sends_one_to_ask(
        &mut self,
        lane: LaneId,
        closed: &[Closed],
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(Entry { seq, ticket, .. }) = self.lanes.asks(lane) else {
            return false;
        };
        let job = &self.roll.peek(ticket).work().job;
        if self.is_closed_to(job, seq, closed) {
            return false;
        }
        let Ok(at) = self.opening(seq, ticket, lane, closed) else {
            return false;
        };
        self.heads(Some(ticket));
        self.go(ticket, lane, at, actions);
        self.rests_with_origin(lane);
        true
    }

    /// A lane rests as long as its origin does, from when its turn has come.
    fn rests_with_origin(&mut self, lane: LaneId) -> bool {
        let rest = self.lanes.origin_rests(lane, self.now);
        if let Some((until, why)) = rest {
            self.lanes.pause(lane, until, why);
            self.rush(lane);
        }
        rest.is_some()
    }

    /// Slots and limits are taken, and the job is sent, or asks the store for the limits that it keeps.
    fn go(&mut self, ticket: Ticket, lane: LaneId, at: Tick, actions: &mut Vec<Action>) {
        let held = self.roll.get(ticket);
        let work = held.work.as_mut().expect(HAS_WORK);
        self.gate.take(&work.job, at, &mut held.holds, Asks::First);
        if let Some(in_order) = &mut self.in_order {
            in_order.goes(held.seq, work.job.slots);
        }
        let asks = self.gate.is_asked(&work.job, Asks::First);
        let leased = asks && self.goes_by_lease(ticket, lane);
        let asks = asks && !leased;
        let held = self.roll.get(ticket);
        held.phase = if asks { Phase::Asking } else { Phase::Flying };
        let until = self.now.after(self.rules.timeout);
        self.lanes.goes(lane, ticket, until);
        self.leaves_lane(ticket, lane);
        if asks {
            self.ask(ticket);
        } else {
            let granted = if leased { at } else { self.now };
            self.departs(ticket, lane, (at, granted), actions);
        }
    }

    /// Everything is charged for `charged_at` and granted at `granted`, which is now, or when the store did it.
    pub(super) fn departs(
        &mut self,
        ticket: Ticket,
        lane: LaneId,
        (charged_at, granted): (Tick, Tick),
        actions: &mut Vec<Action>,
    ) {
        if self.lanes.goes_one_by_one(lane)
            && let Some(gap) = self.rules.re_entry
        {
            self.lanes.pause(lane, self.now.after(gap), Rest::ReEntry);
            self.rush(lane);
        }
        self.grant(ticket, (charged_at, granted), actions);
    }

    /// This job may go at `at`, unless results are written in order and an older one might miss its slots.
    pub(super) fn in_turn(&self, seq: u64, job: &Job, at: Tick) -> Result<Tick, Obstacle> {
        match &self.in_order {
            Some(in_order) if !in_order.lets(seq, job.slots, self.rules.slots) => Err(Obstacle {
                owner: Owner::Order,
                until: Until::Release(None),
                stops: Stops::Everyone,
            }),
            Some(_) | None => Ok(at),
        }
    }

    /// Slots that a job would have but for results that wait for an older one are the order's.
    fn in_fact(&self, job: &Job, obstacle: Obstacle) -> Obstacle {
        match (&self.in_order, self.rules.slots) {
            (Some(in_order), Some(of))
                if obstacle.owner == Owner::Slot && in_order.withholds(job.slots, of) =>
            {
                let owner = Owner::Order;
                Obstacle { owner, ..obstacle }
            }
            (Some(_) | None, _) => obstacle,
        }
    }

    /// Whether an older head than `seq` waits for a shared limit that this job pays.
    fn is_closed_to(&self, job: &Job, seq: u64, closed: &[Closed]) -> bool {
        let mut older = closed.iter().filter(|one| one.seq < seq);
        older.any(|one| self.gate.pays_rule(job, one.rule))
    }

    /// This job may go at `at`, unless an older one that is held would have to wait longer for it.
    fn harmless(
        &self,
        seq: u64,
        job: &Job,
        states: &[StateId],
        at: Tick,
        closed: &[Closed],
    ) -> Result<Tick, Obstacle> {
        // A slot that an older one waits for is never taken.
        if let Some((state, waits)) = self.gate.host_slots(states)
            && self
                .lanes
                .first_in_line(state)
                .is_some_and(|first| first < seq)
        {
            return Err(waits);
        }
        let elders = closed.iter().filter_map(|one| one.elder.as_ref());
        for elder in elders.chain(&self.going_on) {
            if let Some(rule) = self.gate.delays(job, states, at, elder) {
                return Err(self.gate.behind(rule, states, elder.at));
            }
        }
        if self.lanes.next_timer().is_none() {
            return Ok(at);
        }
        let horizon = self.gate.horizon(job, states, at);
        for (until, lane) in self.lanes.parked_until(horizon) {
            let Some(held) = self.lanes.head(lane).map(|ticket| self.roll.peek(ticket)) else {
                continue;
            };
            let other = &held.work().job;
            // What is closed to an older one is looked after by who closed it.
            if held.turn > seq || self.is_closed_to(other, held.turn, closed) {
                continue;
            }
            let elder = Elder {
                job: other.clone(),
                states: held.holds.shared_states(),
                at: until,
            };
            if let Some(rule) = self.gate.delays(job, states, at, &elder) {
                let until = self.gate.moment(&elder, at);
                return Err(self.gate.behind(rule, states, until));
            }
        }
        Ok(at)
    }
}

/// A shared limit on units for which an older head waits: nobody younger may take of it.
#[derive(Debug)]
struct Closed {
    rule: usize,
    seq: u64,
    /// The head, if the limit itself holds it and not an older one.
    elder: Option<Elder>,
}

/// Who holds a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// A limit, or the order of results.
    Limit,
    /// An older job that would have to wait longer.
    Older,
}

impl Scan {
    fn held(&mut self, seq: u64, ticket: Ticket, obstacle: Obstacle) {
        self.first.get_or_insert((seq, obstacle));
        if let Until::At(at) = obstacle.until
            && self.next.is_none_or(|(next, _)| at < next)
        {
            self.next = Some((at, ticket));
        }
    }
}
