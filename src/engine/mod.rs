//! The engine: a run's whole state and every decision about it; told the time, it never waits. Floor 3: rules.
//!
//! One job's life, read top to bottom: it is read, waits in its lane, is granted slots and limits at one
//! instant, is sent, answered, ended; goes to rest and comes back to its old place, or is recorded.

mod adaptive;
mod admission;
mod agenda;
mod ahead;
mod asking;
#[cfg(test)]
mod audit;
mod breaker;
mod charge;
mod drain;
mod ending;
mod gate;
mod guard;
mod heads;
mod held;
mod hold;
mod hop;
mod idle;
mod keyed;
mod lanes;
mod late;
mod lease;
mod left;
mod lookahead;
mod obstacle;
mod order;
mod paid;
mod patience;
mod remote;
mod rests;
mod rule;
mod rules;
mod schedule;
mod seam;
pub mod share;
mod stops;
mod talk;
#[cfg(test)]
mod upheaval;
mod word;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use admission::Scan;
use agenda::Agenda;
use asking::Asking;
use breaker::Sign;
pub use ending::{Ending, Wish};
use gate::Gate;
use guard::Travel;
use heads::LaneId;
use held::{Phase, Roll, Work};
use hop::{never_went, unless_done};
use lanes::{Entry, Joins, Lanes};
use lookahead::Load;
pub use lookahead::LookAhead;
use obstacle::Elder;
use order::InOrder;
use paid::Paid;
use rests::{Rest, Rested, Rests};
pub use rules::{Keeps, Order, Oversize, Proves, Refund, Rules};
use schedule::{Came, Schedule};
pub use seam::Seam;
use stops::Stops;
pub use stops::{StopIf, Stopped};
pub use talk::{Action, End, Event, Grant, Signal, Ticket};

use crate::error::Problem;
use crate::job::{BadLine, Job};
use crate::metrics::{Counts, Figures, Metrics, Owner, Summary, Turn};
use crate::outcome::{Failure, FailureKind, Head, Outcome, Reached, Reply, Status, Waits};
use crate::quota;
use crate::retry::{Final, Made, Verdict};
use crate::shape::Arrivals;
use crate::units::{Tick, least, soonest};

/// The state of a run. `tell` it what happened, then let it `decide`.
#[derive(Debug)]
pub struct Engine {
    rules: Rules,
    wanted: usize,
    now: Tick,
    gate: Gate,
    schedule: Schedule,
    /// Jobs that are not due.
    agenda: Agenda,
    lanes: Lanes,
    roll: Roll,
    rests: Rests,
    /// When waiting jobs have waited too long; an entry may be out of date.
    deadlines: BinaryHeap<Reverse<(Tick, Ticket)>>,
    /// Lanes whose heads may have to wait for its rest longer than they can.
    rushed: Vec<LaneId>,
    /// `None` where no window keeps a measured guard.
    travel: Option<Travel>,
    /// Lines asked for and not yet here.
    asked: usize,
    flying: usize,
    /// Tries in flight that a redirect sends on, and that wait to go; by age.
    hops: BTreeSet<(u64, Ticket)>,
    /// Those of them that have their moment: no job makes them wait longer.
    going_on: Vec<Elder>,
    /// `None` where the limits are not shared.
    asking: Option<Box<Asking>>,
    /// Results that are handed over to be written.
    recording: usize,
    /// What is not yet handed over, where that has an order.
    in_order: Option<InOrder>,
    next_seq: u64,
    /// Of the next job that comes to its lane for the first time.
    next_turn: u64,
    input: Input,
    ending: Ending,
    stops: Stops,
    /// When one of them ended the run.
    stopped_at: Option<Tick>,
    stopped: bool,
    /// The time of the run is over.
    time_up: bool,
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
        let gate = Gate::new(&rules);
        Self {
            wanted: LookAhead::wanted(rules.slots),
            now: Tick::ZERO,
            schedule: Schedule::new(&rules),
            agenda: Agenda::default(),
            lanes: Lanes::breaking_after(rules.breaks_after),
            roll: Roll::default(),
            rests: Rests::new(rules.budget.clone()),
            deadlines: BinaryHeap::new(),
            rushed: Vec::new(),
            travel: gate.measures().then(Travel::default),
            gate,
            asked: 0,
            flying: 0,
            hops: BTreeSet::new(),
            going_on: Vec::new(),
            asking: rules.sharing.as_ref().map(|own| Box::new(Asking::new(own))),
            recording: 0,
            in_order: match rules.order {
                Order::ByCompletion => None,
                Order::ByInput => Some(InOrder::default()),
            },
            next_seq: 0,
            next_turn: 0,
            time_up: false,
            input: Input::Open,
            ending: Ending::new(rules.grace),
            stops: Stops::new(&rules.stop_if),
            stopped_at: None,
            stopped: false,
            metrics: Metrics::new(rules.slack, rules.proof()),
            blocker: Owner::Slot,
            rules,
        }
    }

    /// Takes in what happened; asks only for [`Action::Record`] and [`Action::Stop`], and tells a store what it has to know
    /// before that.
    pub fn tell(&mut self, now: Tick, event: Event, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        self.metrics.advance(self.now);
        if self.stopped {
            // What was handed over before the end may still be written.
            if let Event::Recorded(ticket) = event {
                self.recorded(ticket);
            }
            return;
        }
        match event {
            Event::Read(line, ready_at) => self.read(line, ready_at, actions),
            Event::DoneBefore(status, ready_at) => {
                self.arrived(ready_at);
                self.metrics.done_before(status);
            }
            Event::InputEnded(how) => {
                self.asked = 0;
                self.input = Input::Ended(how);
            }
            Event::Connected(ticket, at) => self.connected(ticket, at),
            Event::Sent(ticket, at) => self.sent(ticket, at),
            Event::Answered(ticket, head) => self.answered(ticket, &head),
            Event::Streamed(ticket, stream) => {
                self.roll.work(ticket).current().stream = Some(stream);
            }
            Event::Ended(ticket, at, end) => self.ended(ticket, at, *end, actions),
            Event::Recorded(ticket) => self.recorded(ticket),
            Event::SinkLost(problem) => self.stop(End::SinkLost(problem), actions),
            Event::Cancel(seq) => self.withdraw(seq, actions),
            Event::Store(word, at) => self.hear_store(word, at),
            Event::Signal(signal, at) => self.signalled(signal, at, actions),
        }
        self.heed_rules(actions);
    }

    /// Once per turn, after its events: wakes, admits, reads on. Returns the next instant at which time
    /// alone changes anything.
    pub fn decide(&mut self, now: Tick, actions: &mut Vec<Action>) -> Option<Tick> {
        self.now = self.now.max(now);
        self.metrics.advance(self.now);
        if self.stopped {
            return None;
        }
        self.heed_time(actions);
        let store = self.heed_store(actions);
        self.lapse();
        self.wake();
        self.come(actions);
        self.measure_guard();
        let hop = self.go_on(actions);
        let mut scan = self.admit(actions);
        while self.expire(actions) || self.wake_jobs() {
            self.heed_rules(actions);
            scan = self.admit(actions);
        }
        self.heed_rules(actions);
        if self.is_draining() {
            // Who was looked at is withdrawn.
            scan = Scan::default();
        }
        self.asks_ahead();
        self.tell_store(actions);
        let idle = self.is_idle();
        if let Some((end, over)) = self.early_end() {
            if idle || over.is_some_and(|at| at <= self.now) {
                self.stop(end, actions);
            }
        } else if let (true, 0, Input::Ended(how)) = (idle, self.roll.len(), &self.input) {
            let end = how.clone().map_or_else(End::InputLost, |()| End::Finished);
            self.stop(end, actions);
        }
        self.read_on(actions);
        let next = least(scan.next, self.agenda.next());
        let prepare = self.prepare(next, actions);
        let pause = self.lanes.next_wake();
        let rest = self.rests.next();
        let (head, hold) = self.hold_on(&scan, pause, rest);
        self.metrics.turn(
            self.now,
            Turn {
                hold,
                head,
                waiting: self.load().1,
            },
        );
        soonest([
            next.map(|(at, _)| at),
            prepare,
            self.lanes.next_timer(),
            pause.map(|(until, _)| until),
            rest,
            self.next_deadline(),
            hop,
            store,
            self.over_at(),
            self.time_ends(),
        ])
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.metrics.counts()
    }

    /// Answers with this status so far, over all tries.
    pub fn answers(&self, status: StatusCode) -> u64 {
        self.metrics.answers(status)
    }

    /// What holds the oldest waiting job now.
    pub fn holds_back(&self) -> Owner {
        self.metrics.owner()
    }

    /// Until when it does, if that can be told.
    pub fn held_until(&self) -> Option<Tick> {
        self.metrics.held_until()
    }

    /// Tries in flight, and jobs that wait or rest.
    pub fn load(&self) -> (usize, usize) {
        let asking = self.asking.as_ref().map_or(0, |_| self.askers().count());
        let waiting = self.lanes.waiting() + self.rests.len() + asking;
        (self.flying, waiting)
    }

    /// What is counted until now.
    pub fn figures(&mut self, now: Tick) -> Figures<'_> {
        self.now = self.now.max(now);
        self.metrics.advance(self.now);
        self.metrics.figures(self.load().1)
    }

    /// How much longer than their period the windows are kept that measure it; `None` before there is a measure.
    pub fn guard(&self) -> Option<Duration> {
        self.gate.guard()
    }

    /// Nothing is in flight or being written.
    pub fn is_idle(&self) -> bool {
        self.flying == 0 && self.recording == 0
    }

    /// Ends the counting.
    pub fn close(mut self, now: Tick) -> Summary {
        let (times, span) = self.lanes.broken(self.now.max(now));
        self.metrics.broken(times, span);
        if let Some(asking) = &self.asking {
            self.metrics.store(asking.seen(self.now.max(now)));
        }
        for held in self.roll.undone() {
            let work = held.work();
            self.metrics
                .unrecorded(work.ended(held.phase), &work.job.keys);
        }
        self.metrics.close(self.now.max(now))
    }

    // Read.

    fn read(
        &mut self,
        line: Result<Arc<Job>, Box<BadLine>>,
        ready_at: Tick,
        actions: &mut Vec<Action>,
    ) {
        let (seq, mut came) = self.arrived(ready_at);
        if self.is_draining() {
            return;
        }
        if let Ok(job) = &line
            && self.is_a_stranger(job, actions)
        {
            return;
        }
        if let Some(in_order) = &mut self.in_order {
            in_order.read(seq);
        }
        let job = match line {
            Ok(job) => job,
            Err(bad) => {
                let (status, error) = (bad.why.into(), (bad.why.into(), bad.to_string()));
                self.refuse(seq, Err(*bad), status, error, actions);
                return;
            }
        };
        if let Some((owner, why)) = self.rules.refuses(&job) {
            let name = self.gate.name(owner);
            let mend = format!("raise the limit to {}, or split the request", why.asked);
            let error = (FailureKind::Limit, format!("{name}: {why}\n  mend: {mend}"));
            self.refuse(seq, Ok(job), Status::Failed, error, actions);
            return;
        }
        let latest = self.schedule.latest();
        let due = self.schedule.due(&job);
        let lane = self.lanes.enter(&job, || self.gate.enter(&job));
        let states = self.lanes.states(lane);
        let is_closed = self.lanes.is_closed(lane);
        let waits_for_its_time = match self.rules.arrivals {
            Arrivals::Closed | Arrivals::Once => None,
            Arrivals::Paced(..) | Arrivals::Replay(_) => due,
        };
        if !is_closed
            && waits_for_its_time.is_none()
            && let Some(why) = self.hopeless(&job, states, due)
        {
            self.leave(lane);
            let error = (FailureKind::QueueTimeout, why);
            self.refuse(seq, Ok(job), Status::Failed, error, actions);
            return;
        }
        let ticket = self.roll.add(seq, job.size());
        if let Some(in_order) = &mut self.in_order {
            in_order.waits(seq, ticket, job.slots);
        }
        let holds = self.roll.no_holds(states);
        let held = self.roll.get(ticket);
        held.lane = Some(lane);
        held.holds = holds;
        came.starved |= due.is_some_and(|due| due < latest);
        held.work = Some(Work::new(job, came, due, self.now));
        match waits_for_its_time {
            _ if is_closed => self.vanish(ticket, actions),
            Some(due) => self.awaits(ticket, due),
            None => self.stands_in_line(ticket),
        }
    }

    /// A line that was asked for is here. Returns its position in the input, and how it came.
    fn arrived(&mut self, ready_at: Tick) -> (u64, Came) {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.metrics.read();
        self.asked = self.asked.saturating_sub(1);
        (seq, self.schedule.read(ready_at))
    }

    /// A job waits in its lane.
    fn joins(&mut self, ticket: Ticket, joins: Joins) {
        let held = self.roll.peek(ticket);
        let (lane, job) = (held.lane.expect(IN_A_LANE), &held.work().job);
        let entry = Entry {
            seq: held.turn,
            ticket,
            pays: self.gate.pays(job),
        };
        if self.lines_up() {
            self.gate.lines_up(job, held.holds.states());
        }
        let head = self.lanes.push(lane, entry, joins);
        self.heads(head);
    }

    /// A job waits no longer: the next one may stand at the head.
    fn leaves_lane(&mut self, ticket: Ticket, lane: LaneId) {
        if self.lines_up() {
            let held = self.roll.peek(ticket);
            self.gate.steps_out(&held.work().job, held.holds.states());
        }
        let next = self.lanes.remove(lane, ticket);
        self.heads(next);
    }

    /// A lane has one member less.
    fn leave(&mut self, lane: LaneId) {
        if let Some(states) = self.lanes.leave(lane) {
            self.gives_back_ahead(Some(lane));
            self.gate.leave(&states);
        }
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
        let outcome = Box::new(Outcome {
            seq,
            line,
            status,
            tries: Vec::new(),
            queue: None,
            waits: Waits::new(),
            units: None,
            reply: None,
            error: Some(error),
        });
        self.record(ticket, outcome, actions);
    }

    /// A job will have no result: those who come after it wait for it no longer.
    fn vanish(&mut self, ticket: Ticket, actions: &mut Vec<Action>) {
        let work = self.roll.peek(ticket).work();
        self.metrics.unrecorded(&work.tries, &work.job.keys);
        if let Some(in_order) = &mut self.in_order {
            let held = self.roll.peek(ticket);
            in_order.vanishes(held.seq, held.work().job.slots);
            self.hand_over(actions);
        }
        self.forget(ticket);
    }

    /// The engine forgets a line: recorded, or without a result.
    fn forget(&mut self, ticket: Ticket) {
        if let Some(lane) = self.roll.remove(ticket) {
            self.leave(lane);
        }
    }

    /// This job, if any, now stands at the head of its lane.
    fn heads(&mut self, ticket: Option<Ticket>) {
        let Some(ticket) = ticket else { return };
        let lane = self.roll.peek(ticket).lane.expect(IN_A_LANE);
        let work = self.roll.work(ticket);
        work.head_at.get_or_insert(self.now);
        if work.waits_since.is_none() {
            work.waits_since = Some(self.now);
            self.watch(ticket);
        }
        self.rush(lane);
    }

    // Wait.

    /// Jobs whose rest is over go back to their old place. Returns whether there was one.
    fn wake_jobs(&mut self) -> bool {
        let mut any = false;
        while let Some(Rested { ticket, at, held }) = self.rests.wake(self.now) {
            self.roll.get(ticket).phase = Phase::Waiting;
            let work = self.roll.work(ticket);
            (work.could_go, work.waits_since, work.blocker) = (at, Some(at), None);
            if !held.is_zero() {
                work.waits.push(Owner::Backoff, held);
                self.metrics.held_retry(held);
            }
            self.watch(ticket);
            self.joins(ticket, Joins::Back);
            any = true;
        }
        any
    }

    /// Rests that are over: jobs go back, lanes open.
    fn wake(&mut self) {
        self.wake_jobs();
        while let Some(woken) = self.lanes.wake(self.now) {
            if let Some(ticket) = woken.head {
                self.roll.work(ticket).blocker = Some(woken.why.owner());
            }
            if let Some(states) = woken.forgotten {
                self.gives_back_ahead(Some(woken.lane));
                self.gate.leave(&states);
            }
        }
        self.lanes.reopen_due(self.now);
        self.gate.forget_idle(self.now);
    }

    // Fly.

    /// What the store is to be told goes out.
    pub(super) fn tell_store(&mut self, actions: &mut Vec<Action>) {
        if self.asking.is_some() {
            actions.extend(self.gate.wishes().into_iter().map(Action::Store));
        }
    }

    fn grant(
        &mut self,
        ticket: Ticket,
        (charged_at, granted): (Tick, Tick),
        actions: &mut Vec<Action>,
    ) {
        let (now, blocker) = (self.now, self.blocker);
        let end = now.after(self.rules.timeout);
        let out_of_time = self.out_of_time(self.roll.peek(ticket).work());
        // Two moments of a store, as the clock of the run has them, may stand the other way round.
        let granted = granted.max(self.metrics.last_told());
        self.metrics.granted(now, granted);
        self.flying += 1;
        let seq = self.roll.get(ticket).seq;
        let work = self.roll.work(ticket);
        work.blocker.get_or_insert(blocker);
        let due = if work.tries.is_empty() {
            self.rests.pay_in();
            work.due.unwrap_or(now)
        } else {
            self.metrics.retried();
            work.could_go
        };
        let begun = work.begin(self.rules.keeps);
        (begun.due, begun.granted, begun.done) = (due, granted, now);
        work.prepared = false;
        let attempt = work.attempts;
        let grant = Grant {
            seq,
            due,
            charged_at,
            attempt,
            began: now,
            give_up_at: out_of_time.unwrap_or(end).min(end),
        };
        actions.push(Action::Send(ticket, work.job.clone(), grant));
    }

    /// What connecting takes is told of the first request of a try.
    fn connected(&mut self, ticket: Ticket, at: Tick) {
        let one = self.roll.work(ticket).current();
        if one.hops.is_empty() {
            one.connected = Some(at);
        }
    }

    fn sent(&mut self, ticket: Ticket, at: Tick) {
        let held = self.roll.get(ticket);
        self.gate.sent(&mut held.holds, at);
        self.lanes.given_back(held.holds.states());
        let work = held.work.as_mut().expect(HAS_WORK);
        let now_try = work.current();
        if let Some(hop) = now_try.hops.last_mut() {
            hop.sent = Some(at);
            return;
        }
        now_try.sent = Some(at);
        let connected = now_try.connected;
        work.first_sent.get_or_insert(at);
        match connected {
            None => work.waited(at),
            Some(_) => work.connected(at),
        }
        if work.attempts == 1 {
            self.metrics.late_by(work.late_by(at));
        }
    }

    fn answered(&mut self, ticket: Ticket, head: &Head) {
        let held = self.roll.get(ticket);
        let lane = held.lane.expect(IN_A_LANE);
        self.gate.answered(&mut held.holds, head.at);
        self.lanes.given_back(held.holds.states());
        let now_try = self.roll.work(ticket).current();
        *now_try.first_byte_mut() = Some(head.at);
        if let (Some(sent), Some(travel)) = (now_try.sent_last(), &mut self.travel) {
            travel.add(head.at.since(sent));
        }
        now_try.status = Some(head.status);
        let provider = self.rules.provider.or_else(|| self.lanes.provider(lane));
        let word = quota::of_head(head, provider);
        self.learn(ticket, head, &word);
        self.hear(ticket, head.status, head.at, &word);
    }

    /// A request has ended, and its try with it, unless that goes on elsewhere.
    fn ended(
        &mut self,
        ticket: Ticket,
        at: Tick,
        end: Result<Reply, Failure>,
        actions: &mut Vec<Action>,
    ) {
        if let Ok(reply) = &end
            && self.roll.work(ticket).current().status.is_none()
        {
            self.answered(ticket, &reply.head);
        }
        let end = match end {
            Ok(reply) if self.follows(&reply) => match self.is_sent_on(ticket, at, &reply.head) {
                Ok(()) => return,
                Err(failure) => Err(failure),
            },
            Ok(_) | Err(_) => end,
        };
        self.try_ended(ticket, at, end, actions);
    }

    fn try_ended(
        &mut self,
        ticket: Ticket,
        at: Tick,
        end: Result<Reply, Failure>,
        actions: &mut Vec<Action>,
    ) {
        self.flying -= 1;
        if let Ok(reply) = &end {
            self.hear_body(ticket, reply);
        }
        self.learn_refusal(ticket);
        let draining = self.is_draining();
        let now = self.now;
        let held = self.roll.get(ticket);
        let lane = held.lane.expect(IN_A_LANE);
        if held.current().first_byte_last().is_none() {
            self.gate.answered(&mut held.holds, at);
        }
        let (paid, away) = self.comes_home(ticket, Paid::of(&end));
        let held = self.roll.get(ticket);
        let seq = held.seq;
        let work = held.work.as_mut().expect(HAS_WORK);
        let spent = self.gate.ended(&mut held.holds, now, paid, &work.job);
        self.lanes.given_back(held.holds.states());
        work.spent.add(spent.unwrap_or_default());
        if spent.is_some() && paid == Paid::Answered(None) {
            self.metrics.untold();
        }
        let tries = work.attempts;
        let now_try = work.current();
        now_try.done = at;
        now_try.failure = match &end {
            Ok(reply) => self
                .rules
                .retry
                .fault(reply)
                .map(|fault| Failure::new(FailureKind::BodyError, Reached::Answered, fault)),
            Err(failure) => Some(failure.clone()),
        };
        now_try.units = spent;
        if paid == Paid::NotSent {
            match now_try.sent.take() {
                None => work.connected(at),
                // It was handed over to a client that does not say when it connects.
                Some(handed_over) => work.waits.push(Owner::Connect, at.since(handed_over)),
            }
        }
        let now_try = work.tries.last().expect(HAS_WORK);
        self.metrics.ended(now, now_try, &work.job.keys);
        // A 403 that speaks of limits is none that speaks of the key.
        let refused = work.said.refused.then_some(StatusCode::TOO_MANY_REQUESTS);
        let status = refused.or(now_try.status);
        self.stops.ended(status.map(|status| status.as_u16()));
        let asked = work.said.wait;
        let made = Made {
            seq,
            tries,
            last_rest: work.last_rest,
            elapsed: work
                .first_sent
                .map_or(Duration::ZERO, |first| at.since(first)),
        };
        let retry = &self.rules.retry;
        let verdict = retry.after(&work.job, made, &end, work.said);
        let verdict = unless_done(work, retry, verdict);
        let sign = if work.tries.last().is_some_and(never_went) {
            Sign::Nothing
        } else {
            Sign::of(&end, work.said, retry)
        };
        self.lanes.ends(lane, (ticket, at), sign, |round, last| {
            retry.rest(seq, round, last, None)
        });
        match verdict {
            Verdict::Again(rest) => {
                self.gate.released(&mut held.holds, now);
                self.lanes.given_back(held.holds.states());
                if draining || self.lanes.is_closed(lane) {
                    self.vanish(ticket, actions);
                } else {
                    self.goes_to_rest((ticket, lane), at, rest, &end);
                }
            }
            Verdict::Done(last) => {
                if last == Final::Unsafe {
                    self.metrics.unrepeated();
                }
                if last != Final::Ok && self.rules.retry.is_too_long(asked) {
                    self.close_key(lane, asked.unwrap_or_default(), actions);
                }
                let error = self.error(last, self.roll.peek(ticket).work());
                self.finish(ticket, last.status(), error, end.ok(), actions);
            }
        }
        if let Some(lane) = away {
            self.leave(lane);
        }
    }

    /// A job whose try ended so at `at`, on this lane, rests before the next one.
    fn goes_to_rest(
        &mut self,
        (ticket, lane): (Ticket, LaneId),
        at: Tick,
        rest: Duration,
        end: &Result<Reply, Failure>,
    ) {
        let held = self.roll.get(ticket);
        held.phase = Phase::Resting;
        let seq = held.seq;
        let work = held.work.as_mut().expect(HAS_WORK);
        if let Some(in_order) = &mut self.in_order {
            in_order.waits(seq, ticket, work.job.slots);
        }
        work.last_rest = rest;
        let asked = work.said.wait;
        let pause = asked.unwrap_or_default().min(rest);
        work.waits.push(Owner::Pause, pause);
        work.waits.push(Owner::Backoff, rest.saturating_sub(pause));
        let until = at.after(rest);
        self.rests.push(Rest {
            until,
            seq,
            ticket,
            hold: work.hold(until, &self.rules.retry),
        });
        self.stops.retried();
        if let (Ok(_), None) = (end, asked)
            && self.lanes.refusals(lane) >= IN_A_ROW
        {
            self.rest(lane, until);
        }
        if matches!(end, Err(failure) if failure.kind == FailureKind::Connect) {
            self.lanes.unreachable(lane, until);
            self.rush(lane);
        }
    }

    /// Why a job whose last try has ended so is not `ok`.
    fn error(&self, last: Final, work: &Work) -> Option<(FailureKind, String)> {
        Some(match last {
            Final::Ok => return None,
            Final::TooLong => {
                let told = self.too_long_a_wait(work.said.wait.unwrap_or_default());
                let mend = "raise --max-retry-after, or go on later with --resume --retry-failed";
                let kind = FailureKind::RetryAfterTooLong;
                (kind, format!("{told}\n  mend: {mend}"))
            }
            Final::OutOfTime => self.gave_up(work),
            Final::Hopeless | Final::LastTry | Final::Unsafe => work.last_error(),
        })
    }

    // Rest, or be recorded.

    fn finish(
        &mut self,
        ticket: Ticket,
        status: Status,
        error: Option<(FailureKind, String)>,
        reply: Option<Reply>,
        actions: &mut Vec<Action>,
    ) {
        let held = self.roll.get(ticket);
        let seq = held.seq;
        let work = held.work.take().expect(HAS_WORK);
        let outcome = Box::new(Outcome {
            seq,
            units: work.job.units.map(|_| work.spent),
            queue: work.queue(),
            line: Ok(work.job),
            status,
            tries: work.tries,
            waits: self.gate.waits(&work.waits),
            reply,
            error,
        });
        self.record(ticket, outcome, actions);
    }

    fn record(&mut self, ticket: Ticket, outcome: Box<Outcome>, actions: &mut Vec<Action>) {
        self.roll.get(ticket).phase = Phase::Done(outcome.status);
        self.stops.done(outcome.status);
        match &mut self.in_order {
            None => self.write(ticket, outcome, actions),
            Some(in_order) => {
                in_order.finishes(ticket, outcome);
                self.hand_over(actions);
            }
        }
    }

    /// Results whose turn has come are handed over.
    fn hand_over(&mut self, actions: &mut Vec<Action>) {
        while let Some((ticket, outcome)) = self.in_order.as_mut().and_then(InOrder::next) {
            self.write(ticket, outcome, actions);
        }
    }

    fn write(&mut self, ticket: Ticket, outcome: Box<Outcome>, actions: &mut Vec<Action>) {
        self.metrics.done(&outcome);
        self.recording += 1;
        actions.push(Action::Record(ticket, outcome));
    }

    fn recorded(&mut self, ticket: Ticket) {
        let now = self.now;
        let held = self.roll.get(ticket);
        let Phase::Done(status) = held.phase else {
            return;
        };
        self.gate.released(&mut held.holds, now);
        self.lanes.given_back(held.holds.states());
        self.recording -= 1;
        if let Some(in_order) = &mut self.in_order {
            in_order.written(held.seq);
        }
        self.metrics.recorded(status);
        self.forget(ticket);
    }

    /// A job that waits or rests is withdrawn: it has no result.
    fn withdraw(&mut self, seq: u64, actions: &mut Vec<Action>) {
        let Some(ticket) = self.roll.find(seq) else {
            return;
        };
        let held = self.roll.get(ticket);
        match (held.phase, held.lane) {
            (Phase::Waiting, Some(lane)) => {
                self.leaves_lane(ticket, lane);
            }
            (Phase::Resting, _) => {
                self.rests.take(|own| own == ticket);
            }
            (Phase::Early, _) => {
                self.agenda.take(|own| own == ticket);
            }
            (Phase::Asking, _) => self.unask(ticket),
            (Phase::Waiting | Phase::Flying | Phase::Done(_), _) => return,
        }
        self.vanish(ticket, actions);
    }

    // Read on, and say whose time it is.

    fn read_on(&mut self, actions: &mut Vec<Action>) {
        let open = matches!(self.input, Input::Open) && !self.is_draining() && !self.stopped;
        let wanted = match self.rules.arrivals {
            Arrivals::Closed => self.wanted,
            Arrivals::Paced(..) => PACED,
            Arrivals::Once => usize::MAX,
            // Stamps may be out of order: as many as may be held are put in order.
            Arrivals::Replay(_) => self.rules.look_ahead.jobs,
        };
        let load = self.load_ahead();
        if !open || !LookAhead::is_short(wanted, &load) {
            return;
        }
        let lines = self.rules.look_ahead.ask(wanted, &load);
        if lines > 0 {
            self.asked += lines;
            self.schedule.asked(self.now, lines);
            actions.push(Action::Read(lines));
        }
    }

    /// Jobs that may go next. Where jobs have times, none is enough before one is due later than now.
    fn ready(&self) -> usize {
        let waiting = self.lanes.waiting_open();
        match (&self.rules.arrivals, self.agenda.len()) {
            (Arrivals::Closed | Arrivals::Once, _) => waiting,
            (Arrivals::Paced(..) | Arrivals::Replay(_), 0) => 0,
            (Arrivals::Paced(..) | Arrivals::Replay(_), early) => waiting + early,
        }
    }

    fn load_ahead(&self) -> Load {
        Load {
            ready: self.ready(),
            asked: self.asked,
            held: self.roll.len(),
            bytes: self.roll.bytes(),
            largest: self.roll.largest(),
        }
    }
}

/// Where due times do not depend on the lines so many are read ahead: 10 ms at 25 000/s, and few are read in vain at
/// the end of a run.
const PACED: usize = 256;

/// Only bad lines and refused jobs have no lane, and those are never sent.
const IN_A_LANE: &str = "a job that may be sent has a lane";

/// So many refusals in a row, and none of them says for how long, rest the whole key.
const IN_A_ROW: u32 = 3;

/// Work is gone only when the job is to be recorded.
const HAS_WORK: &str = "a job that is not done has work";
