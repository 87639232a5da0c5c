//! The engine: a run's whole state and every decision about it; told the time, it never waits. Floor 3: rules.
//!
//! One job's life, read top to bottom: it is read, waits in its lane, is granted slots and limits at one
//! instant, is sent, answered, ended; goes to rest and comes back to its old place, or is recorded.

mod gate;
mod held;
mod hold;
mod lanes;
mod lookahead;
mod rules;
mod schedule;
mod talk;
#[cfg(test)]
mod upheaval;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use gate::{Gate, Opening, Paid};
use held::{Phase, Roll, Work};
use lanes::{Joins, Lanes, Rest};
use lookahead::Load;
pub use lookahead::LookAhead;
pub use rules::Rules;
use schedule::Schedule;
pub use talk::{Action, End, Event, Grant, Signal, Ticket};

use crate::error::Problem;
use crate::job::{BadLine, Job, Units};
use crate::metrics::{Counts, Metrics, Owner, Summary, Turn};
use crate::outcome::{Failure, FailureKind, Head, Outcome, Reply, Spent, Status, Try, Waits};
use crate::quota;
use crate::retry::{Final, Policy, Verdict};
use crate::units::Tick;

/// The state of a run. `tell` it what happened, then let it `decide`.
#[derive(Debug)]
pub struct Engine {
    rules: Rules,
    wanted: usize,
    now: Tick,
    gate: Gate,
    schedule: Schedule,
    lanes: Lanes,
    roll: Roll,
    /// Jobs at rest, by the end of it.
    rests: BinaryHeap<Reverse<(Tick, u64, Ticket)>>,
    /// Lines asked for and not yet here.
    asked: usize,
    flying: usize,
    recording: usize,
    next_seq: u64,
    input: Input,
    /// The first signal, and when it came.
    signal: Option<(Signal, Tick)>,
    stopped: bool,
    metrics: Metrics,
    /// What held the oldest head at the last decision.
    blocker: Owner,
}

#[derive(Debug)]
enum Input {
    Open,
    Ended(Result<(), Problem>),
}

impl Engine {
    /// An engine at the start of its run.
    pub fn new(rules: Rules) -> Self {
        let rules = rules.with_slack_within_windows();
        Self {
            wanted: LookAhead::wanted(rules.slots),
            now: Tick::ZERO,
            gate: Gate::new(rules.slots, &rules.limits, &rules.setting),
            schedule: Schedule::new(&rules.limits, &rules.setting),
            lanes: Lanes::default(),
            roll: Roll::default(),
            rests: BinaryHeap::new(),
            asked: 0,
            flying: 0,
            recording: 0,
            next_seq: 0,
            input: Input::Open,
            signal: None,
            stopped: false,
            metrics: Metrics::new(rules.slack),
            blocker: Owner::Slot,
            rules,
        }
    }

    /// Takes in what happened; asks only for [`Action::Record`] and [`Action::Stop`].
    pub fn tell(&mut self, now: Tick, event: Event, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        self.metrics.advance(self.now);
        if self.stopped {
            return;
        }
        match event {
            Event::Read(line, ready_at) => self.read(*line, ready_at, actions),
            Event::InputEnded(how) => {
                self.asked = 0;
                self.input = Input::Ended(how);
            }
            Event::Sent(ticket, at) => self.sent(ticket, at),
            Event::Answered(ticket, head) => self.answered(ticket, &head),
            Event::Ended(ticket, at, end) => self.ended(ticket, at, *end, actions),
            Event::Recorded(ticket) => self.recorded(ticket),
            Event::SinkLost(problem) => self.stop(End::SinkLost(problem), actions),
            Event::Cancel(seq) => self.withdraw(seq),
            Event::Signal(signal) => self.signalled(signal, actions),
        }
    }

    /// Once per turn, after its events: wakes, admits, reads on. Returns the next instant at which time
    /// alone changes anything.
    pub fn decide(&mut self, now: Tick, actions: &mut Vec<Action>) -> Option<Tick> {
        self.now = self.now.max(now);
        self.metrics.advance(self.now);
        if self.stopped {
            return None;
        }
        self.wake();
        let blocked = self.admit(actions);
        let idle = self.is_idle();
        if let Some((signal, _)) = self.signal {
            if idle {
                self.stop(End::Signalled(signal), actions);
            }
        } else if let (true, 0, Input::Ended(how)) = (idle, self.roll.len(), &self.input) {
            let end = how.clone().map_or_else(End::InputLost, |()| End::Finished);
            self.stop(end, actions);
        }
        self.read_on(actions);
        let pause = self.lanes.next_wake();
        let rest = self.rests.peek().map(|Reverse((until, ..))| *until);
        let hold = self.hold_on(blocked.map(|(_, opening)| opening), pause, rest);
        self.metrics.turn(
            self.now,
            Turn {
                hold,
                head: blocked.map(|(seq, _)| seq),
                waiting: self.lanes.waiting() + self.rests.len(),
            },
        );
        let head = match blocked {
            Some((_, Opening::At(at, _))) => Some(at),
            Some((_, Opening::Now(_) | Opening::OnRelease(..))) | None => None,
        };
        [head, pause.map(|(until, _)| until), rest]
            .into_iter()
            .flatten()
            .min()
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.metrics.counts()
    }

    /// What holds the oldest waiting job now.
    pub fn holds_back(&self) -> Owner {
        self.metrics.owner()
    }

    /// Tries in flight, and jobs that wait or rest.
    pub fn load(&self) -> (usize, usize) {
        (self.flying, self.lanes.waiting() + self.rests.len())
    }

    /// Nothing is in flight or being written.
    pub fn is_idle(&self) -> bool {
        self.flying == 0 && self.recording == 0
    }

    /// Ends the counting.
    pub fn close(self, now: Tick) -> Summary {
        self.metrics.close(self.now.max(now))
    }

    // Read.

    fn read(&mut self, line: Result<Job, BadLine>, ready_at: Tick, actions: &mut Vec<Action>) {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.metrics.read();
        self.asked = self.asked.saturating_sub(1);
        self.schedule.read(ready_at);
        if self.signal.is_some() {
            return;
        }
        let job = match line {
            Ok(job) => job,
            Err(bad) => {
                let error = (FailureKind::Invalid, bad.to_string());
                self.refuse(seq, Err(bad), Status::Invalid, error, actions);
                return;
            }
        };
        if let Some((name, why)) = self.gate.refuses(&job) {
            let mend = format!("raise the limit to {}, or split the request", why.asked);
            let error = (FailureKind::Limit, format!("{name}: {why}\n  mend: {mend}"));
            self.refuse(seq, Ok(Arc::new(job)), Status::Failed, error, actions);
            return;
        }
        let lane = self.lanes.enter(&job.origin);
        let ticket = self.roll.add(seq, job.size());
        let held = self.roll.get(ticket);
        held.lane = Some(lane);
        held.work = Some(Box::new(Work::new(job, self.schedule.due(), self.now)));
        let head = self.lanes.push(lane, seq, ticket, Joins::Fresh);
        self.heads(head);
    }

    /// A line that is never sent has its result at once.
    fn refuse(
        &mut self,
        seq: u64,
        line: Result<Arc<Job>, BadLine>,
        status: Status,
        error: (FailureKind, String),
        actions: &mut Vec<Action>,
    ) {
        let size = line.as_ref().map_or(512, |job| job.size());
        let ticket = self.roll.add(seq, size);
        let outcome = Outcome {
            seq,
            line,
            status,
            tries: Vec::new(),
            queue: None,
            waits: Waits::new(),
            units: None,
            reply: None,
            error: Some(error),
        };
        self.record(ticket, outcome, actions);
    }

    /// The engine forgets a line: recorded, or withdrawn.
    fn forget(&mut self, ticket: Ticket) {
        if let Some(lane) = self.roll.remove(ticket) {
            self.lanes.leave(lane);
        }
    }

    /// This job, if any, now stands at the head of its lane.
    fn heads(&mut self, ticket: Option<Ticket>) {
        let Some(ticket) = ticket else { return };
        let work = self.roll.work(ticket);
        work.head_at.get_or_insert(self.now);
        work.waits_since.get_or_insert(self.now);
    }

    // Wait.

    /// Rests that are over: jobs go back to their old place, lanes open.
    fn wake(&mut self) {
        while let Some(&Reverse((until, seq, ticket))) = self.rests.peek() {
            if until > self.now {
                break;
            }
            self.rests.pop();
            let held = self.roll.get(ticket);
            held.phase = Phase::Waiting;
            let lane = held.lane.expect(IN_A_LANE);
            let work = self.roll.work(ticket);
            (work.could_go, work.waits_since, work.blocker) = (until, Some(until), None);
            self.lanes.push(lane, seq, ticket, Joins::Back);
        }
        while let Some((head, why)) = self.lanes.wake(self.now) {
            if let Some(ticket) = head {
                self.roll.work(ticket).blocker = Some(why.owner());
            }
        }
    }

    /// Sends every job that may go, oldest first. Returns what holds the oldest head then.
    fn admit(&mut self, actions: &mut Vec<Action>) -> Option<(u64, Opening)> {
        loop {
            let (lane, ticket) = self.lanes.oldest()?;
            let open_since = self.lanes.open_since(lane);
            let held = self.roll.get(ticket);
            let work = held.work.as_mut().expect(HAS_WORK);
            let from = work
                .could_go
                .max(open_since)
                .max(self.now.before(self.rules.slack));
            let opening = self.gate.opening(&work.job, from, self.now);
            match opening {
                Opening::At(_, owner) | Opening::OnRelease(owner, _) => {
                    work.blocker = Some(owner);
                    self.blocker = owner;
                    return Some((held.seq, opening));
                }
                Opening::Now(at) => {
                    self.gate.take(&work.job, at, &mut held.holds);
                    held.phase = Phase::Flying;
                    let next = self.lanes.pop(lane);
                    self.heads(next);
                    let action = self.grant(ticket, at);
                    actions.push(action);
                }
            }
        }
    }

    // Fly.

    fn grant(&mut self, ticket: Ticket, charged_at: Tick) -> Action {
        let (now, timeout, blocker) = (self.now, self.rules.timeout, self.blocker);
        self.metrics.granted(now);
        self.flying += 1;
        let work = self.roll.work(ticket);
        work.blocker.get_or_insert(blocker);
        let due = match work.tries.last() {
            None => work.due.unwrap_or(now),
            Some(_) => work.could_go,
        };
        work.tries.push(Try {
            due,
            granted: now,
            sent: None,
            first_byte: None,
            done: now,
            status: None,
            retry_after: None,
            failure: None,
            units: None,
        });
        let attempt = u32::try_from(work.tries.len()).unwrap_or(u32::MAX);
        let grant = Grant {
            due,
            charged_at,
            attempt,
            give_up_at: now.after(timeout),
        };
        Action::Send(ticket, work.job.clone(), grant)
    }

    fn sent(&mut self, ticket: Ticket, at: Tick) {
        let held = self.roll.get(ticket);
        self.gate.sent(&mut held.holds, at);
        let work = held.work.as_mut().expect(HAS_WORK);
        work.current().sent = Some(at);
        let span = at.since(work.waits_since.unwrap_or(at));
        work.waits.push((work.blocker.unwrap_or(Owner::Slot), span));
    }

    fn answered(&mut self, ticket: Ticket, head: &Head) {
        let asked = quota::retry_after(head).filter(|_| Policy::repeats(head.status));
        let lane = self.roll.get(ticket).lane.expect(IN_A_LANE);
        let now_try = self.roll.work(ticket).current();
        now_try.first_byte = Some(head.at);
        now_try.status = Some(head.status);
        now_try.retry_after = asked;
        if let Some(wait) = asked {
            self.lanes.pause(lane, head.at.after(wait), Rest::Asked);
            self.metrics.paused();
        }
    }

    fn ended(
        &mut self,
        ticket: Ticket,
        at: Tick,
        end: Result<Reply, Failure>,
        actions: &mut Vec<Action>,
    ) {
        self.flying -= 1;
        let paid = Paid::of(&end);
        let now = self.now;
        let held = self.roll.get(ticket);
        self.gate.ended(&mut held.holds, now, paid);
        let (seq, lane) = (held.seq, held.lane.expect(IN_A_LANE));
        let work = held.work.as_mut().expect(HAS_WORK);
        let reserve = work.job.units.map_or(0, Units::reserve);
        let used = match paid {
            Paid::NotSent | Paid::Refused => 0,
            Paid::Unanswered => reserve,
            Paid::Answered(used) => used.unwrap_or(reserve),
        };
        let total = Spent {
            reserved: reserve,
            used,
        };
        work.spent.total.add(total);
        let tries = u32::try_from(work.tries.len()).unwrap_or(u32::MAX);
        let now_try = work.current();
        now_try.done = at;
        now_try.failure = end.as_ref().err().cloned();
        if paid == Paid::NotSent
            && let Some(handed_over) = now_try.sent.take()
        {
            work.waits.push((Owner::Connect, at.since(handed_over)));
        }
        let now_try = work.current();
        self.metrics.ended(now, now_try, used);
        let asked = now_try.retry_after;
        let verdict = self
            .rules
            .retry
            .after(&work.job, seq, tries, work.last_rest, &end, asked);
        match verdict {
            Verdict::Again(_) if self.signal.is_some() => {
                self.gate.released(&mut held.holds, now);
                self.forget(ticket);
            }
            Verdict::Again(rest) => {
                self.gate.released(&mut held.holds, now);
                held.phase = Phase::Resting;
                work.last_rest = rest;
                let pause = asked.unwrap_or_default().min(rest);
                work.waits.push((Owner::Pause, pause));
                work.waits
                    .push((Owner::Backoff, rest.saturating_sub(pause)));
                let until = at.after(rest);
                self.rests.push(Reverse((until, seq, ticket)));
                self.metrics.retried();
                if end.is_err_and(|failure| failure.kind == FailureKind::Connect) {
                    self.lanes.pause(lane, until, Rest::Unreachable);
                }
            }
            Verdict::Done(last) => {
                if last == Final::Unsafe {
                    self.metrics.unrepeated();
                }
                self.finish(ticket, last.status(), end, actions);
            }
        }
    }

    // Rest, or be recorded.

    fn finish(
        &mut self,
        ticket: Ticket,
        status: Status,
        end: Result<Reply, Failure>,
        actions: &mut Vec<Action>,
    ) {
        let held = self.roll.get(ticket);
        let seq = held.seq;
        let work = held.work.take().expect(HAS_WORK);
        let error = match (&end, status) {
            (_, Status::Ok | Status::Invalid) => None,
            (Ok(reply), Status::Failed) => {
                Some((FailureKind::Http, format!("status {}", reply.head.status)))
            }
            (Err(failure), Status::Failed) => Some((failure.kind, failure.message.clone())),
        };
        let queue = work.queue();
        let outcome = Outcome {
            seq,
            units: work.job.units.map(|_| work.spent),
            line: Ok(work.job),
            status,
            queue,
            tries: work.tries,
            waits: self.gate.waits(&work.waits),
            reply: end.ok(),
            error,
        };
        self.record(ticket, outcome, actions);
    }

    fn record(&mut self, ticket: Ticket, outcome: Outcome, actions: &mut Vec<Action>) {
        self.recording += 1;
        self.roll.get(ticket).phase = Phase::Recording(outcome.status);
        self.metrics.done(&outcome);
        actions.push(Action::Record(ticket, Box::new(outcome)));
    }

    fn recorded(&mut self, ticket: Ticket) {
        let now = self.now;
        let held = self.roll.get(ticket);
        let Phase::Recording(status) = held.phase else {
            return;
        };
        self.gate.released(&mut held.holds, now);
        self.recording -= 1;
        self.metrics.recorded(status);
        self.forget(ticket);
    }

    /// A job that waits or rests is withdrawn: it has no result.
    fn withdraw(&mut self, seq: u64) {
        let Some(ticket) = self.roll.find(seq) else {
            return;
        };
        let held = self.roll.get(ticket);
        match (held.phase, held.lane) {
            (Phase::Waiting, Some(lane)) => {
                let head = self.lanes.remove(lane, ticket);
                self.heads(head);
            }
            (Phase::Resting, _) => self.rests.retain(|&Reverse((_, _, own))| own != ticket),
            (Phase::Waiting | Phase::Flying | Phase::Recording(_), _) => return,
        }
        self.forget(ticket);
    }

    /// Everything that is not in flight is withdrawn.
    fn withdraw_all(&mut self) {
        self.lanes.clear();
        self.rests.clear();
        for ticket in self.roll.grounded() {
            self.forget(ticket);
        }
    }

    // End.

    /// The first signal withdraws all that is not in flight, the second stops.
    fn signalled(&mut self, signal: Signal, actions: &mut Vec<Action>) {
        match self.signal {
            None => {
                self.signal = Some((signal, self.now));
                self.withdraw_all();
            }
            Some((Signal::Terminate, at))
                if signal == Signal::Terminate && self.now < at.after(ONE_WISH) => {}
            Some(_) => self.stop(End::Signalled(signal), actions),
        }
    }

    fn stop(&mut self, end: End, actions: &mut Vec<Action>) {
        self.stopped = true;
        actions.push(Action::Stop(end));
    }

    // Read on, and say whose time it is.

    fn read_on(&mut self, actions: &mut Vec<Action>) {
        let open = matches!(self.input, Input::Open) && self.signal.is_none() && !self.stopped;
        let lines = self.rules.look_ahead.ask(self.wanted, &self.load_ahead());
        if open && lines > 0 {
            self.asked += lines;
            self.schedule.asked(self.now, lines);
            actions.push(Action::Read(lines));
        }
    }

    fn load_ahead(&self) -> Load {
        Load {
            ready: self.lanes.waiting_open(),
            asked: self.asked,
            held: self.roll.len(),
            bytes: self.roll.bytes(),
            largest: self.roll.largest(),
        }
    }
}

/// `timeout` and some supervisors signal the process and then its group: SIGTERM again within this is the
/// same wish.
const ONE_WISH: Duration = Duration::from_secs(1);

/// Only bad lines and refused jobs have no lane, and those are never sent.
const IN_A_LANE: &str = "a job that may be sent has a lane";

/// Work is gone only when the job is to be recorded.
const HAS_WORK: &str = "a job that is not done has work";
