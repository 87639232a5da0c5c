//! What is true of an engine after each decision, looked at job by job. Floor 3: rules.

use std::collections::BTreeMap;

use super::gate::Asks;
use super::heads::LaneId;
use super::keyed::StateId;
use super::obstacle::{Elder, Obstacle, Stops, Until};
use super::{Engine, Job, Ticket};
use crate::units::Tick;

/// A head that does not rest, and what keeps it; `None`: no limit does.
struct Waiter {
    lane: LaneId,
    ticket: Ticket,
    obstacle: Option<Obstacle>,
}

impl Engine {
    fn asks(&self, ticket: Ticket) -> (&Job, &[StateId]) {
        let held = self.roll.peek(ticket);
        (&held.work().job, held.holds.states())
    }

    /// Each state has the lanes that use it, and the costs of those who wait for it.
    pub(super) fn states_add_up(&self) {
        if self.is_draining() {
            return;
        }
        let lanes: Vec<_> = self.lanes.all_states().cloned().collect();
        let waiting = self.lanes.all_waiting().filter(|_| self.lines_up());
        let asks = waiting.map(|ticket| self.asks(ticket));
        self.gate.recount(&lanes, asks);
    }

    /// What was just sent was the oldest of its lane, unless it asks for all; but a retry that others have just paid for
    /// comes after them.
    pub(super) fn order_is_kept(&self, sent: &[Ticket]) {
        let mut last = BTreeMap::new();
        for &ticket in sent {
            let held = self.roll.peek(ticket);
            let turn = held.turn;
            let (lane, work) = (held.lane.expect("it is sent"), held.work());
            if self.lanes.is_probe(lane, ticket) {
                continue;
            }
            // One that has asked the store goes when that answers: a retry may have come back by then, and an older one due.
            let shares = self.asking.is_some();
            let just_paid = work.attempts > 1 && (shares || work.could_go == self.now);
            let is_next = last.insert(lane, turn) < Some(turn);
            assert!(is_next || just_paid, "{turn} overtakes");
            let head = self.lanes.head(lane).map(|head| self.roll.peek(head));
            let head = head
                .map(|head| (head, head.work()))
                .filter(|(_, work)| !shares || (work.attempts == 0 && work.came < self.now));
            let head = head.map(|(head, _)| head.turn);
            assert!(
                head.is_none_or(|head| head > turn),
                "{turn} before {head:?}"
            );
        }
    }

    /// Who may go has gone, and who may go later is looked at then, at `next` at the latest; unless somebody
    /// older is in the way.
    pub(super) fn nobody_is_forgotten(&self, next: Option<Tick>) {
        let mut older: Vec<Waiter> = Vec::new();
        for (turn, lane, ticket) in self.lanes.heads() {
            let (job, states) = self.asks(ticket);
            let seq = self.roll.peek(ticket).seq;
            let from = self.roll.peek(ticket).work().could_go;
            let from = from.max(self.lanes.open_since(lane));
            let from = from.max(self.now.before(self.rules.slack));
            let opening = self
                .gate
                .opening(job, states, (from, self.now), Asks::First);
            let opening = opening.and_then(|at| self.in_turn(seq, job, at));
            let opening = opening.and_then(|at| self.may_ask(job, lane, at));
            let at = match opening {
                Ok(at) => Some(at),
                Err(Obstacle { until, .. }) => match until {
                    Until::At(at) => Some(at),
                    Until::Release(_) => None,
                },
            };
            if let Some(at) = at {
                let goes_on = |elder| self.gate.delays(job, states, at, elder).is_some();
                let is_free = !older.iter().any(|elder| {
                    self.is_before(elder, ticket) || self.is_delayed(elder, ticket, at)
                }) && !self.going_on.iter().any(goes_on);
                let comes = opening.is_err() && next.is_some_and(|next| next <= at);
                let seen = comes || self.waits_for_a_host(lane, ticket);
                assert!(seen || !is_free, "{turn}: {opening:?}, next is {next:?}");
            }
            older.push(Waiter {
                lane,
                ticket,
                obstacle: opening.err(),
            });
        }
    }

    /// Whether a job waits for a slot of its host that is not free: it is looked at when one is given back.
    fn waits_for_a_host(&self, lane: LaneId, ticket: Ticket) -> bool {
        let (job, states) = self.asks(ticket);
        self.gate.host_slots(states).is_some_and(|(slots, _)| {
            self.lanes.is_in_line(lane, slots) && !self.gate.has_room(slots, job.slots)
        })
    }

    /// Whether an older head stands before a job in a line, or closes a limit to it.
    fn is_before(&self, elder: &Waiter, ticket: Ticket) -> bool {
        let (job, states) = self.asks(ticket);
        let shared = self.gate.shared_by((job, states), self.asks(elder.ticket));
        let own = self.roll.peek(ticket).lane.expect("it waits");
        let waits_in = |state| self.lanes.is_in_line(own, state);
        let in_line = |state| self.lanes.is_in_line(elder.lane, state);
        match elder.obstacle.map(|obstacle| obstacle.stops) {
            Some(Stops::Everyone) => true,
            Some(Stops::Itself) => false,
            // Who stood behind it in a line is looked at again when it has gone.
            Some(Stops::Payers(rule)) => {
                self.gate.pays_rule(job, rule) || shared.into_iter().any(waits_in)
            }
            // In no line, it closes a limit, though a younger one has taken a slot that it found free.
            Some(Stops::Line(_)) if self.lanes.is_open(elder.lane) => !shared.is_empty(),
            Some(Stops::Line(state)) => {
                let mut shared = shared.into_iter();
                shared.any(|own| own == state || in_line(own))
            }
            None => !shared.is_empty(),
        }
    }

    /// Whether an older head that has its moment would wait longer if a job went at `at`.
    fn is_delayed(&self, elder: &Waiter, ticket: Ticket, at: Tick) -> bool {
        let Some(Until::At(until)) = elder.obstacle.map(|obstacle| obstacle.until) else {
            return false;
        };
        let (job, states) = self.asks(ticket);
        let held = self.roll.peek(elder.ticket);
        let elder = Elder {
            job: held.work().job.clone(),
            states: held.holds.shared_states(),
            at: until,
        };
        self.gate.delays(job, states, at, &elder).is_some()
    }
}
