//! The lines that the engine holds, and how far each has come. Floor 3: rules.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::gate::{Asks, Holds};
use super::heads::LaneId;
use super::hop::Away;
use super::keyed::StateId;
use super::rules::Keeps;
use super::schedule::Came;
use super::talk::Ticket;
use crate::job::Job;
use crate::metrics::Owner;
use crate::outcome::{FailureKind, Status, Try, UnitsSpent};
use crate::retry::Said;
use crate::units::Tick;

/// A line from its reading until its result is in the file.
#[derive(Debug)]
pub(super) struct Held {
    /// Its position in the input.
    pub(super) seq: u64,
    /// Its place in the order in which jobs come to their lanes for the first time: among them, its age.
    pub(super) turn: u64,
    size: u64,
    pub(super) phase: Phase,
    /// What its try has taken.
    pub(super) holds: Holds,
    /// What is still to do; `None` once it is to be recorded.
    pub(super) work: Option<Work>,
    /// Its lane; `None` for a line that never had one.
    pub(super) lane: Option<LaneId>,
    /// Where a redirect has led its try: lane and holds are then those of what is asked there.
    pub(super) away: Option<Box<Away>>,
}

impl Held {
    /// What is still to do.
    pub(super) fn work(&self) -> &Work {
        self.work.as_ref().expect(ONE_ANSWER)
    }

    /// What is asked for next, and how.
    pub(super) fn asks(&self) -> (&Arc<Job>, Asks) {
        match &self.away {
            None => (&self.work().job, Asks::First),
            Some(away) => (away.job(), Asks::Next),
        }
    }

    /// The try that is in flight.
    pub(super) fn current(&mut self) -> &mut Try {
        self.work.as_mut().expect(ONE_ANSWER).current()
    }
}

/// How far a line has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is not due.
    Early,
    /// In its lane.
    Waiting,
    /// With all that is kept here, it asks the store for the rest.
    Asking,
    /// Before its next try.
    Resting,
    /// In flight.
    Flying,
    /// With a result that is to be written, or is being written.
    Done(Status),
}

/// A job on its way to its result.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) job: Arc<Job>,
    /// By the schedule; `None`: when it is granted.
    pub(super) due: Option<Tick>,
    pub(super) read_at: Tick,
    /// How its line came. One behind lines that are due later is late by the input, too.
    pub(super) line: Came,
    /// It could not go before: read, due, or back from rest.
    pub(super) could_go: Tick,
    /// When it came to its lane for the first time.
    pub(super) came: Tick,
    /// When it first stood at the head of its lane.
    pub(super) head_at: Option<Tick>,
    /// Since when it waits now: at the head of its lane, or back from rest.
    pub(super) waits_since: Option<Tick>,
    /// What last held it.
    pub(super) blocker: Option<Owner>,
    pub(super) waits: Spans,
    /// Since when it asks the store.
    pub(super) asked_at: Option<Tick>,
    /// How long it has, since it waits.
    pub(super) asked_for: Duration,
    /// The tries that its result tells, the one in flight last.
    pub(super) tries: Vec<Try>,
    /// All that were begun.
    pub(super) attempts: u32,
    /// When the first of them was sent.
    pub(super) first_sent: Option<Tick>,
    pub(super) last_rest: Duration,
    /// What the server has said in the answer of the try that is in flight.
    pub(super) said: Said,
    /// A connection is asked for, for its next try.
    pub(super) prepared: bool,
    pub(super) spent: UnitsSpent,
}

/// What a job has waited for, in order of the first wait of each kind. The first stands apart: nearly all jobs
/// have one.
#[derive(Debug, Default)]
pub(super) struct Spans {
    first: Option<(Owner, Duration)>,
    others: Vec<(Owner, Duration)>,
}

impl Spans {
    pub(super) fn push(&mut self, owner: Owner, span: Duration) {
        let Some(first) = &mut self.first else {
            self.first = Some((owner, span));
            return;
        };
        let mut all = std::iter::once(first).chain(&mut self.others);
        match all.find(|(own, _)| *own == owner) {
            Some((_, sum)) => *sum = sum.saturating_add(span),
            None => self.others.push((owner, span)),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Owner, Duration)> + Clone {
        self.first.iter().chain(&self.others).copied()
    }
}

impl Work {
    pub(super) fn new(job: Arc<Job>, line: Came, due: Option<Tick>, now: Tick) -> Self {
        Self {
            job,
            due,
            read_at: now,
            line,
            could_go: now,
            came: now,
            head_at: None,
            waits_since: None,
            blocker: None,
            waits: Spans::default(),
            asked_at: None,
            asked_for: Duration::ZERO,
            // Most jobs need one, and its memory is got when there is time: not at the grant.
            tries: Vec::with_capacity(1),
            attempts: 0,
            first_sent: None,
            last_rest: Duration::ZERO,
            said: Said::default(),
            prepared: false,
            spent: UnitsSpent::default(),
        }
    }

    /// Another try goes out, of which nothing is known yet.
    pub(super) fn begin(&mut self, keeps: Keeps) -> &mut Try {
        if keeps == Keeps::Ends {
            self.tries.truncate(1);
        }
        // It is filled in where it stays: what was just written elsewhere, field by field, is slow to copy.
        self.tries.push(Try::BLANK);
        self.said = Said::default();
        self.attempts = self.attempts.saturating_add(1);
        self.current()
    }

    /// The try that is in flight.
    pub(super) fn current(&mut self) -> &mut Try {
        self.tries.last_mut().expect(ONE_ANSWER)
    }

    /// The wait for the try that is in flight is over.
    pub(super) fn waited(&mut self, at: Tick) {
        let span = at.since(self.waits_since.unwrap_or(at));
        let store = mem::take(&mut self.asked_for).min(span);
        self.waits.push(
            self.blocker.unwrap_or(Owner::Slot),
            span.saturating_sub(store),
        );
        if !store.is_zero() {
            self.waits.push(Owner::Store, store);
        }
    }

    /// The store has answered.
    pub(super) fn answered_by_store(&mut self, at: Tick) {
        if let Some(since) = self.asked_at.take() {
            self.asked_for = self.asked_for.saturating_add(at.since(since));
        }
    }

    /// So is the opening of its connection, well or badly, since its grant.
    pub(super) fn connected(&mut self, at: Tick) {
        let granted = self.current().granted;
        self.waited(granted);
        self.waits.push(Owner::Connect, at.since(granted));
    }

    /// Why the last try was no success.
    pub(super) fn last_error(&self) -> (FailureKind, String) {
        let last = self.tries.last().expect(ONE_ANSWER);
        match (&last.failure, last.status) {
            (Some(failure), _) => (failure.kind, failure.message.clone()),
            (None, Some(status)) => (FailureKind::Http, format!("status {status}")),
            (None, None) => (FailureKind::Http, "no answer".to_owned()),
        }
    }

    /// The tries that are over.
    pub(super) fn ended(&self, phase: Phase) -> &[Try] {
        match (phase, self.tries.split_last()) {
            (Phase::Flying, Some((_, ended))) => ended,
            (
                Phase::Early
                | Phase::Flying
                | Phase::Waiting
                | Phase::Asking
                | Phase::Resting
                | Phase::Done(_),
                _,
            ) => &self.tries,
        }
    }

    /// First send minus head of its lane; `None` if it was never sent.
    pub(super) fn queue(&self) -> Option<Duration> {
        let sent = self.tries.iter().find_map(|one| one.sent)?;
        Some(sent.since(self.head_at?))
    }
}

/// Why every ticket that comes in is known: each ask is answered exactly once.
const ONE_ANSWER: &str = "each ask has exactly one answer";

/// Everything that is held, by ticket.
#[derive(Debug, Default)]
pub(super) struct Roll {
    places: Vec<Option<Held>>,
    free: Vec<Ticket>,
    len: usize,
    bytes: u64,
    largest: u64,
    /// Their memory is for those to come.
    spare: Vec<Holds>,
}

/// So much memory of what is done is kept: lines are read and done in turn.
const SPARE: usize = 64;

impl Roll {
    /// How many lines are held.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Their bytes, roughly.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of the largest line so far.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// Holds one more line.
    pub(super) fn add(&mut self, seq: u64, size: u64) -> Ticket {
        self.len += 1;
        self.bytes += size;
        self.largest = self.largest.max(size);
        let phase = Phase::Waiting;
        let held = Some(Held {
            seq,
            turn: 0,
            size,
            phase,
            holds: Holds::default(),
            work: None,
            lane: None,
            away: None,
        });
        if let Some(ticket) = self.free.pop() {
            self.places[ticket.0 as usize] = held;
            return ticket;
        }
        self.places.push(held);
        ticket_of(self.places.len() - 1)
    }

    /// Nothing taken yet, of these states.
    pub(super) fn no_holds(&mut self, states: &Arc<[StateId]>) -> Holds {
        let Some(mut holds) = self.spare.pop() else {
            return Holds::none(states);
        };
        holds.anew(states);
        holds
    }

    /// Holds it no longer. Returns its lane.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<LaneId> {
        let place = &mut self.places[ticket.0 as usize];
        let held = place.as_mut().expect(ONE_ANSWER);
        let (holds, size, lane) = (mem::take(&mut held.holds), held.size, held.lane);
        // Where it stands: a move of all of it costs more than what is dropped.
        *place = None;
        if self.spare.len() < SPARE {
            self.spare.push(holds);
        }
        self.free.push(ticket);
        self.len -= 1;
        self.bytes -= size;
        lane
    }

    /// A line that is held.
    pub(super) fn get(&mut self, ticket: Ticket) -> &mut Held {
        self.places[ticket.0 as usize].as_mut().expect(ONE_ANSWER)
    }

    /// A line that is held, to be looked at.
    pub(super) fn peek(&self, ticket: Ticket) -> &Held {
        self.find_held(ticket).expect(ONE_ANSWER)
    }

    /// The line of a ticket, if that is still held.
    pub(super) fn find_held(&self, ticket: Ticket) -> Option<&Held> {
        self.places[ticket.0 as usize].as_ref()
    }

    /// A job that is not yet to be recorded.
    pub(super) fn work(&mut self, ticket: Ticket) -> &mut Work {
        self.get(ticket).work.as_mut().expect(ONE_ANSWER)
    }

    /// The line at this position of the input.
    pub(super) fn find(&self, seq: u64) -> Option<Ticket> {
        let own = |held: &Option<Held>| held.as_ref().is_some_and(|held| held.seq == seq);
        self.places.iter().position(own).map(ticket_of)
    }

    /// Every job that has no result.
    pub(super) fn undone(&self) -> impl Iterator<Item = &Held> {
        self.places
            .iter()
            .flatten()
            .filter(|held| held.work.is_some())
    }

    /// Of every line what its try has taken, of one that a redirect has led on what its first request has.
    pub(super) fn holds(&mut self) -> impl Iterator<Item = &mut Holds> {
        let all = self.places.iter_mut().flatten();
        all.map(|held| match &mut held.away {
            Some(away) => away.first(),
            None => &mut held.holds,
        })
    }

    /// Every job that is not due, waits or rests.
    pub(super) fn grounded(&self) -> Vec<Ticket> {
        let grounded = |held: &Held| match held.phase {
            Phase::Early | Phase::Waiting | Phase::Asking | Phase::Resting => true,
            Phase::Flying | Phase::Done(_) => false,
        };
        let places = self.places.iter().enumerate();
        places
            .filter(|(_, held)| held.as_ref().is_some_and(grounded))
            .map(|(place, _)| ticket_of(place))
            .collect()
    }
}

#[cfg(test)]
impl Roll {
    /// Every line that is held.
    pub(super) fn all(&self) -> impl Iterator<Item = (Ticket, &Held)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(place, held)| Some((ticket_of(place), held.as_ref()?)))
    }

    /// Lines that are held and their bytes, counted one by one.
    pub(super) fn recount(&self) -> (usize, u64) {
        let held = || self.places.iter().flatten();
        (held().count(), held().map(|held| held.size).sum())
    }
}

fn ticket_of(place: usize) -> Ticket {
    Ticket(u32::try_from(place).expect("the look-ahead bounds what is held"))
}
