//! One discipline at work: its engine, its jobs, and its conduct between a grant and the wire. Floor 5: drive.
//!
//! Told the time like the engine, so virtual time and the real one drive the same code.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::RETRY_AFTER;

use super::conduct::{Conduct, Course, SLEEP};
use super::record::{Measured, Record};
use super::table::{Discipline, PROCESSES};
use super::work::Work;
use crate::engine::{Action, End, Engine, Event, Grant, Ticket};
use crate::fields::Fields;
use crate::job::Job;
use crate::limit::Spec;
use crate::metrics::diagnose::Diagnosis;
use crate::metrics::littles::Theory;
use crate::metrics::{Owner, Setup};
use crate::outcome::{Head, Outcome};
use crate::report::comparison::{Numbers, Raster};
use crate::retry::RetryOn;
use crate::units::{Tick, nanos};

/// Whether a client that does not try again looks at `Retry-After`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// It pauses: what it sends to is somebody's server.
    Heard,
    /// It does not, as the API is a model.
    Unheard,
}

/// One discipline at work.
pub(super) struct Trial<'a> {
    engine: Engine,
    setup: Setup,
    conduct: Conduct,
    asked: Asked,
    /// Slots that the conduct itself looks at.
    slots: u64,
    timeout: Duration,
    /// After which answers a bad client sends again.
    on: RetryOn,
    work: &'a Work,
    /// The next that arrives.
    next: u64,
    /// Who found all slots taken, and until when they sleep.
    sleepers: VecDeque<(Tick, u64)>,
    /// Jobs that came to the line.
    came: u64,
    /// Lines the engine wants.
    wanted: usize,
    input_ended: bool,
    stall: Option<(Tick, Tick)>,
    /// Granted, and not sent yet.
    queue: VecDeque<Out>,
    /// Not ended yet.
    flights: HashMap<Ticket, Flight>,
    outbox: Vec<Out>,
    /// A signal came: nothing is sent again.
    draining: bool,
    end: Option<End>,
    record: Record,
}

/// A try to be sent now.
pub(super) struct Out {
    pub(super) ticket: Ticket,
    pub(super) job: Arc<Job>,
    pub(super) grant: Grant,
}

struct Flight {
    sent: Option<Tick>,
    repeats: u32,
    /// What is sent again if it is refused.
    again: Option<(Arc<Job>, Grant)>,
}

impl<'a> Trial<'a> {
    /// Nothing has happened yet. `limits` are those of the discipline in these numbers.
    pub(super) fn new(
        discipline: &Discipline,
        numbers: &Numbers,
        limits: Vec<Spec>,
        course: &Course,
        work: &'a Work,
        asked: Asked,
    ) -> Self {
        let rules = discipline.rules(numbers, limits, course);
        Self {
            setup: rules.setup(),
            conduct: discipline.conduct,
            asked,
            slots: numbers.slots.get(),
            timeout: course.timeout,
            on: RetryOn::default(),
            work,
            next: 0,
            sleepers: VecDeque::new(),
            came: 0,
            wanted: 0,
            input_ended: false,
            stall: discipline.conduct.stall(&numbers.rate),
            queue: VecDeque::new(),
            flights: HashMap::new(),
            outbox: Vec::new(),
            draining: false,
            end: None,
            record: Record::new(
                Raster::new(&numbers.window, &numbers.rate),
                numbers.slots.get(),
            ),
            engine: Engine::new(rules),
        }
    }

    /// Why it is over, once it is.
    pub(super) fn ended(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Tries on their way.
    pub(super) fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Reads, decides and queues what goes out. Returns the next instant at which time alone changes anything.
    pub(super) fn turn(&mut self, now: Tick) -> Option<Tick> {
        if let (Conduct::Late, Some(until)) = (self.conduct, self.stalled(now)) {
            return Some(until);
        }
        let mut wake = loop {
            self.read(now);
            let mut actions = Vec::new();
            let wake = self.engine.decide(now, &mut actions);
            let again = actions
                .iter()
                .any(|action| matches!(action, Action::Read(_) | Action::Record(..)));
            self.carry_out(now, actions);
            if !again || self.end.is_some() {
                break wake;
            }
        };
        if let Some(until) = self.send_queued(now) {
            wake = Some(wake.map_or(until, |wake| wake.min(until)));
        }
        let next = self.next_line().filter(|_| self.wanted > 0);
        [wake, next].into_iter().flatten().min()
    }

    /// What goes out now. Each is to be followed by [`Event::Sent`] and [`Event::Ended`].
    pub(super) fn take(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.outbox)
    }

    /// Takes in what happened; what a bad client does not tell its limits is not told to the engine.
    pub(super) fn tell(&mut self, now: Tick, event: Event) {
        let event = match event {
            Event::Sent(ticket, at) => {
                self.record.sent(at);
                let Some(flight) = self.flights.get_mut(&ticket) else {
                    return;
                };
                flight.sent = Some(at);
                if flight.repeats > 0 {
                    return;
                }
                Event::Sent(ticket, at)
            }
            Event::Answered(ticket, mut head) => {
                if self.is_repeated(ticket, head.status) {
                    return;
                }
                self.unhear(&mut head);
                Event::Answered(ticket, head)
            }
            Event::Ended(ticket, at, mut end) => {
                let status = end.as_mut().as_mut().ok().map(|reply| {
                    self.unhear(&mut reply.head);
                    reply.head.status
                });
                let repeated = status.is_some_and(|status| self.is_repeated(ticket, status));
                let sent = self.flights.get(&ticket).and_then(|flight| flight.sent);
                let how = end.as_ref().as_ref().map(|reply| reply.head.status);
                self.record.ended(sent, at, how);
                if repeated {
                    self.repeat(now, ticket);
                    return;
                }
                self.flights.remove(&ticket);
                Event::Ended(ticket, at, end)
            }
            Event::Signal(signal, at) => {
                self.draining = true;
                Event::Signal(signal, at)
            }
            event @ (Event::Read(..)
            | Event::DoneBefore(..)
            | Event::InputEnded(_)
            | Event::Connected(..)
            | Event::Streamed(..)
            | Event::Recorded(_)
            | Event::SinkLost(_)
            | Event::Store(..)
            | Event::Cancel(_)) => event,
        };
        let mut actions = Vec::new();
        self.engine.tell(now, event, &mut actions);
        self.carry_out(now, actions);
    }

    /// The modelled API says how long to wait, and most clients do not hear it.
    fn unhear(&self, head: &mut Head) {
        if self.asked == Asked::Unheard && self.conduct != Conduct::Retries {
            let others = head.headers.iter();
            let others = others.filter(|(name, _)| *name != RETRY_AFTER.as_str().as_bytes());
            head.headers = Fields::of(others);
        }
    }

    /// What was measured.
    pub(super) fn close(self, now: Tick) -> Measured {
        let summary = self.engine.close(now);
        let theory = Theory::of(&self.setup, &summary);
        let binding = Diagnosis::of(&summary, &self.setup, &theory).binding;
        let limit = |number: usize| {
            let limit = self.setup.limits.get(number);
            limit.map_or_else(String::new, |limit| limit.name.to_string())
        };
        let bound_by = match binding {
            // Nothing waits where what would have to is dropped.
            None | Some(Owner::Nothing) if self.record.has_left_out() => limit(0),
            None => String::new(),
            Some(Owner::Limit(number)) => limit(number),
            Some(owner) => self.setup.name_of(owner),
        };
        self.record.close(bound_by, summary.stretch)
    }

    /// Until when the sender stalls, if it does now.
    fn stalled(&self, now: Tick) -> Option<Tick> {
        let (from, until) = self.stall?;
        (from..until).contains(&now).then_some(until)
    }

    /// When the next line can be read; `None` if there is none.
    fn next_line(&self) -> Option<Tick> {
        let awake = self.sleepers.front().map(|sleeper| sleeper.0);
        let arrives = self.work.arrival(self.next);
        [awake, arrives].into_iter().flatten().min()
    }

    /// Reads what the engine wants and what is there.
    fn read(&mut self, now: Tick) {
        while self.wanted > 0 && !self.input_ended {
            let Some(at) = self.next_line() else {
                self.input_ended = true;
                return self.tell(now, Event::InputEnded(Ok(())));
            };
            if at > now {
                return;
            }
            let awakes = |sleeper: &&(Tick, u64)| sleeper.0 == at;
            let awake = self.sleepers.front().filter(awakes).copied();
            if awake.is_some() {
                self.sleepers.pop_front();
            }
            let number = awake.map_or(self.next, |sleeper| sleeper.1);
            if awake.is_none() {
                self.next += 1;
                if self.conduct == Conduct::Sleeps && self.is_full() {
                    self.sleepers.push_back((at.after(SLEEP), number));
                    continue;
                }
            }
            self.wanted -= 1;
            let arrived = self.work.arrival(number).unwrap_or(at);
            let job = self.of_process(Job {
                at: Some(arrived.since(Tick::ZERO)),
                ..self.work.job(number)
            });
            self.tell(now, Event::read(Ok(job), at));
        }
    }

    /// Whether somebody who looks finds no free slot.
    fn is_full(&self) -> bool {
        let (in_flight, waiting) = self.engine.load();
        (in_flight + waiting) as u64 >= self.slots
    }

    /// Processes take the jobs in turn.
    fn of_process(&mut self, job: Job) -> Job {
        let process = self.came % PROCESSES + 1;
        self.came += 1;
        match self.conduct {
            Conduct::Processes => Job {
                keys: [Arc::from(process.to_string())].into(),
                ..job
            },
            Conduct::Honest
            | Conduct::Drops
            | Conduct::Sleeps
            | Conduct::Early
            | Conduct::Late
            | Conduct::Storm
            | Conduct::Retries => job,
        }
    }

    fn carry_out(&mut self, now: Tick, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Read(lines) => self.wanted = self.wanted.saturating_add(lines),
                // A discipline shares its limits with nobody.
                Action::Prepare(..) | Action::Store(_) => {}
                Action::Send(ticket, job, grant) => {
                    let out = Out { ticket, job, grant };
                    if self.conduct == Conduct::Early {
                        self.queue.push_back(out);
                    } else {
                        self.send(out);
                    }
                }
                Action::Record(ticket, outcome) => {
                    self.record_outcome(&outcome);
                    self.tell(now, Event::Recorded(ticket));
                }
                Action::Stop(end) => self.end = Some(end),
            }
        }
    }

    fn record_outcome(&mut self, outcome: &Outcome) {
        let job = outcome.line.as_ref().ok();
        let arrived = job.and_then(|job| job.at).map_or(0, nanos);
        self.record.done(Tick(arrived), outcome);
    }

    /// What has its permit goes as soon as there is a slot and the sender sends. Returns when that does again.
    fn send_queued(&mut self, now: Tick) -> Option<Tick> {
        if self.queue.is_empty() {
            return None;
        }
        let until = self.stalled(now);
        while until.is_none()
            && (self.flights.len() as u64) < self.slots
            && let Some(out) = self.queue.pop_front()
        {
            self.send(out);
        }
        until
    }

    fn send(&mut self, out: Out) {
        let again = || (Arc::clone(&out.job), out.grant);
        let flight = Flight {
            sent: None,
            repeats: 0,
            again: (self.conduct.repeats() > 0).then(again),
        };
        self.flights.insert(out.ticket, flight);
        self.outbox.push(out);
    }

    /// Whether an answer of this status makes a bad client send the same again at once.
    fn is_repeated(&self, ticket: Ticket, status: StatusCode) -> bool {
        let flight = self.flights.get(&ticket);
        !self.draining
            && self.on.answer(status)
            && flight.is_some_and(|flight| flight.repeats < self.conduct.repeats())
    }

    fn repeat(&mut self, now: Tick, ticket: Ticket) {
        let Some(flight) = self.flights.get_mut(&ticket) else {
            return;
        };
        flight.repeats += 1;
        flight.sent = None;
        let Some((job, grant)) = &flight.again else {
            return;
        };
        let grant = Grant {
            began: now,
            give_up_at: now.after(self.timeout),
            ..*grant
        };
        self.outbox.push(Out {
            ticket,
            job: Arc::clone(job),
            grant,
        });
    }
}
