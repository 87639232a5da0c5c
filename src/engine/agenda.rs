//! Jobs that are read and not yet due: they wait for their time alone, and come to their lanes in its order. Floor 3: rules.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::held::{Phase, Work};
use super::lanes::Joins;
use super::rules::Order;
use super::talk::Ticket;
use super::{Action, Engine, HAS_WORK};
use crate::outcome::{FailureKind, Status};
use crate::units::Tick;

/// Jobs by the moment at which they are due; those of one moment in the order of the input.
#[derive(Debug, Default)]
pub(super) struct Agenda(BinaryHeap<Reverse<(Tick, u64, Ticket)>>);

impl Agenda {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The next one, and when it is due.
    pub(super) fn next(&self) -> Option<(Tick, Ticket)> {
        let Reverse((due, _, ticket)) = self.0.peek()?;
        Some((*due, *ticket))
    }

    /// None is left.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes those out that are asked for, in no order.
    pub(super) fn take(&mut self, mut wanted: impl FnMut(Ticket) -> bool) -> Vec<Ticket> {
        let all = std::mem::take(&mut self.0).into_vec();
        let (taken, left): (Vec<_>, Vec<_>) =
            (all.into_iter()).partition(|Reverse((.., ticket))| wanted(*ticket));
        self.0 = left.into();
        taken.iter().map(|Reverse((.., ticket))| *ticket).collect()
    }

    fn due(&mut self, now: Tick) -> Option<Ticket> {
        let (due, ticket) = self.next()?;
        (due <= now).then(|| {
            self.0.pop();
            ticket
        })
    }
}

impl Engine {
    /// A job waits for its time. It has its lane already.
    pub(super) fn awaits(&mut self, ticket: Ticket, due: Tick) {
        let held = self.roll.get(ticket);
        held.phase = Phase::Early;
        let seq = held.seq;
        self.agenda.0.push(Reverse((due, seq, ticket)));
    }

    /// Jobs whose time has come stand in their lanes; one that cannot go in time fails.
    pub(super) fn come(&mut self, actions: &mut Vec<Action>) {
        while let Some(ticket) = self.agenda.due(self.now) {
            let held = self.roll.get(ticket);
            held.phase = Phase::Waiting;
            let work = held.work.as_mut().expect(HAS_WORK);
            (work.could_go, work.came) = (work.due.unwrap_or(self.now), self.now);
            let held = self.roll.peek(ticket);
            let Work { job, due, .. } = held.work();
            if let Some(why) = self.hopeless(job, held.holds.states(), *due) {
                let error = (FailureKind::QueueTimeout, why);
                self.finish(ticket, Status::Failed, Some(error), None, actions);
                continue;
            }
            self.stands_in_line(ticket);
        }
    }

    /// A job that is due comes to its lane for the first time.
    ///
    /// Where results have the order of the input, older lines go first: their results are what younger ones wait for.
    pub(super) fn stands_in_line(&mut self, ticket: Ticket) {
        let held = self.roll.get(ticket);
        let joins = match self.rules.order {
            Order::ByCompletion => {
                held.turn = self.next_turn;
                self.next_turn += 1;
                Joins::Fresh
            }
            Order::ByInput if held.seq >= self.next_turn => {
                held.turn = held.seq;
                self.next_turn = held.seq + 1;
                Joins::Fresh
            }
            Order::ByInput => {
                held.turn = held.seq;
                Joins::Back
            }
        };
        if self.lines_up() {
            self.watch(ticket);
        }
        self.joins(ticket, joins);
    }
}
