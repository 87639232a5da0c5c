//! The simulated driver: a run in virtual time on a heap of events, exact to the nanosecond. Floor 5: drive.

use std::iter::Peekable;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::StatusCode;

use super::answers::Answers;
use crate::engine::share::{Wish, Word};
use crate::engine::{Action, End, Engine, Event, Grant, Rules};
use crate::fields::Fields;
use crate::job::{BadLine, Job};
use crate::metrics::Summary;
use crate::outcome::{Failure, Head, Outcome, Reply};
use crate::units::Tick;

/// A line of input, and the moment at which it can be read.
pub type Line = (Tick, Result<Job, BadLine>);

/// What answers in virtual time.
pub trait Api {
    /// How this try ends, and how long after its grant.
    fn answer(&mut self, now: Tick, job: &Job, grant: &Grant)
    -> (Duration, Result<Reply, Failure>);
}

impl<F: FnMut(Tick, &Job, &Grant) -> (Duration, Result<Reply, Failure>)> Api for F {
    fn answer(
        &mut self,
        now: Tick,
        job: &Job,
        grant: &Grant,
    ) -> (Duration, Result<Reply, Failure>) {
        self(now, job, grant)
    }
}

/// An answer of this status without headers or body. Its moment is set when it comes.
pub fn reply(status: StatusCode) -> Reply {
    let head = Head {
        at: Tick::ZERO,
        wall: UNIX_EPOCH,
        status,
        headers: Fields::default(),
    };
    Reply {
        head,
        body: Bytes::new(),
        used: None,
        fault: None,
    }
}

/// A store of limits in virtual time.
pub trait Store {
    /// A run wants this of it.
    fn hear(&mut self, now: Tick, wish: Wish);

    /// When it says something, if it does.
    fn next(&self) -> Option<Tick>;

    /// What it says at this moment, if that has come, and for which.
    fn take(&mut self, now: Tick) -> Option<(Word, Tick)>;
}

/// What a watcher is shown as it happens.
#[derive(Debug)]
pub enum Seen<'a> {
    /// A connection is wanted for the next try of this job.
    Prepared(Tick, &'a Job),
    /// A try goes out.
    Sent(Tick, &'a Job, &'a Grant),
    /// A line has its result.
    Done(Tick, &'a Outcome),
}

/// A run in virtual time.
pub struct Simulation<'a, I: Iterator<Item = Line>> {
    engine: Engine,
    lines: Peekable<I>,
    api: &'a mut dyn Api,
    watch: &'a mut dyn FnMut(Seen<'_>),
    now: Tick,
    /// When time alone changes anything.
    next: Option<Tick>,
    /// Lines asked for and not yet read.
    asked: usize,
    input_ended: bool,
    answers: Answers,
    store: Option<&'a mut dyn Store>,
    /// Kept for its memory: what the engine asks for is carried out before it is told anything else.
    actions: Vec<Action>,
    end: Option<End>,
}

impl<'a, I: Iterator<Item = Line>> Simulation<'a, I> {
    /// A run of `lines`, in the order of their moments, under `rules`.
    pub fn new(
        rules: Rules,
        lines: I,
        api: &'a mut dyn Api,
        watch: &'a mut dyn FnMut(Seen<'_>),
    ) -> Self {
        Self {
            engine: Engine::new(rules),
            lines: lines.peekable(),
            api,
            watch,
            now: Tick::ZERO,
            next: Some(Tick::ZERO),
            asked: 0,
            input_ended: false,
            answers: Answers::default(),
            store: None,
            actions: Vec::new(),
            end: None,
        }
    }

    /// Its limits are shared through this store.
    #[must_use]
    pub fn sharing(self, store: &'a mut dyn Store) -> Self {
        Self {
            store: Some(store),
            ..self
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> (Summary, End) {
        while self.step() {}
        self.close()
    }

    /// Goes to the next moment at which anything happens. Returns whether the run goes on.
    pub fn step(&mut self) -> bool {
        let Some(now) = self.next_step() else {
            return false;
        };
        self.now = self.now.max(now);
        self.answers();
        while let Some((word, at)) = self.store.as_mut().and_then(|store| store.take(self.now)) {
            self.tell(Event::Store(word, at));
        }
        self.next = self.turn();
        self.end.is_none()
    }

    /// When that is; `None` if the run is over.
    pub fn next_step(&mut self) -> Option<Tick> {
        if self.end.is_some() {
            return None;
        }
        let due = self.answers.next();
        let line = (self.asked > 0)
            .then(|| self.lines.peek().map(|&(at, _)| at))
            .flatten();
        let ends = self.asked > 0 && !self.input_ended && line.is_none();
        let word = self.store.as_ref().and_then(|store| store.next());
        let wake = [self.next, due, line, word].into_iter().flatten().min();
        let now = if ends { Some(self.now) } else { wake };
        Some(now.expect("a run that is not over waits for something"))
    }

    /// The present moment.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// What decides, to be looked at between two steps.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The figures of a run that is over.
    pub fn close(self) -> (Summary, End) {
        let end = self.end.expect("a run is closed when it is over");
        (self.engine.close(self.now), end)
    }

    /// Everything that is due now: answers before arrivals.
    fn answers(&mut self) {
        while let Some(answer) = self.answers.take(self.now) {
            self.tell(Event::Ended(answer.ticket, answer.at, answer.end));
        }
        self.read();
    }

    fn read(&mut self) {
        while self.asked > 0 && self.lines.peek().is_some_and(|&(at, _)| at <= self.now) {
            let (ready_at, line) = self.lines.next().expect("it was just seen");
            self.asked -= 1;
            self.tell(Event::read(line, ready_at));
        }
        if self.asked > 0 && !self.input_ended && self.lines.peek().is_none() {
            self.input_ended = true;
            self.asked = 0;
            self.tell(Event::InputEnded(Ok(())));
        }
    }

    /// Decides and carries out until nothing more happens at this moment.
    fn turn(&mut self) -> Option<Tick> {
        loop {
            let mut actions = std::mem::take(&mut self.actions);
            let next = self.engine.decide(self.now, &mut actions);
            let asked = actions
                .iter()
                .any(|action| matches!(action, Action::Read(_) | Action::Stop(_)));
            self.carry_out_all(actions);
            if !asked || self.end.is_some() {
                return next;
            }
            self.read();
        }
    }

    fn tell(&mut self, event: Event) {
        let mut actions = std::mem::take(&mut self.actions);
        self.engine.tell(self.now, event, &mut actions);
        self.carry_out_all(actions);
    }

    fn carry_out_all(&mut self, mut actions: Vec<Action>) {
        for action in actions.drain(..) {
            self.carry_out(action);
        }
        self.actions = actions;
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Read(lines) => self.asked += lines,
            Action::Prepare(job, _) => (self.watch)(Seen::Prepared(self.now, &job)),
            Action::Send(ticket, job, grant) => {
                (self.watch)(Seen::Sent(self.now, &job, &grant));
                self.tell(Event::Sent(ticket, self.now));
                let (after, end) = self.api.answer(self.now, &job, &grant);
                self.answers.add(self.now.after(after), ticket, end);
            }
            Action::Record(ticket, outcome) => {
                (self.watch)(Seen::Done(self.now, &outcome));
                self.tell(Event::Recorded(ticket));
            }
            Action::Store(wish) => {
                if let Some(store) = &mut self.store {
                    store.hear(self.now, wish);
                }
            }
            Action::Stop(end) => self.end = Some(end),
        }
    }
}
