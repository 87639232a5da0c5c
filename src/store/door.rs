//! One call in flight: what is wished meanwhile goes with the next; what has no answer is sent until it has. Floor 4: doors.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::call::{Call, Caller, Chore, Heard};
use super::link::{Link, Trouble};
use super::request::Time;
use crate::clock::Clock;
use crate::engine::share::{Answer, AskId, Wish, Word};
use crate::error::Problem;
use crate::units::{Tick, nanos};

/// Who is not heard for three of these is taken to be away.
const BEAT: Duration = Duration::from_secs(2);
/// A third of what a slot lasts that is held.
const RENEW: Duration = Duration::from_secs(5);
/// Between two tries to reach a store that is away: doubled from the first to the last.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Two clocks that are set right drift apart by less than one part in so many: quartz by one in 20 000 at most.
const DRIFT: u64 = 5_000;

/// So often the store is asked how late it is, at the start.
const GLANCES: u32 = 5;

/// What the handle tells the task.
#[derive(Debug)]
pub(super) enum Order {
    Wish(Wish),
    Leave,
}

/// The task that talks to the store.
pub(super) struct Door<T> {
    pub(super) link: Link,
    pub(super) caller: Caller,
    pub(super) clock: Clock,
    pub(super) slack: Duration,
    pub(super) tell: T,
    pub(super) orders: UnboundedReceiver<Order>,
    pub(super) members: u32,
    pub(super) state: State,
    /// What the clock of the store was at the start of the run, in microseconds, at least.
    pub(super) began: u64,
}

/// Whether the store knows this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is yet to be joined.
    Outside,
    /// It was.
    Joined,
}

/// How the world looks between two calls.
struct Watch {
    queue: VecDeque<Wish>,
    /// When the store is heard of at the latest, and slots are renewed.
    beat_at: Tick,
    renew_at: Tick,
    /// What a request and its answer take at least, these days.
    trip: Duration,
    /// What is granted ahead to others reaches so far.
    reach: Duration,
    /// When the call in flight was sent first.
    sent: Tick,
    /// What the clock of the store was at the start of the run, in microseconds, at least.
    began: u64,
    /// When that was known last.
    heard_at: Tick,
    away: Here,
    leaves: bool,
}

/// Whether the run has been told that the store is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here {
    Yes,
    Away,
}

impl<T: Fn(Word, Tick)> Door<T> {
    /// Until it has left, or cannot go on.
    pub(super) async fn run(mut self) {
        let now = self.clock.now();
        let mut watch = Watch {
            queue: VecDeque::new(),
            beat_at: now.after(BEAT),
            renew_at: now.after(RENEW),
            trip: Duration::ZERO,
            reach: Duration::ZERO,
            sent: now,
            began: self.began,
            heard_at: now,
            away: Here::Yes,
            leaves: false,
        };
        if self.state == State::Joined {
            self.say(Word::Members(self.members));
        } else {
            // Joins at once, not with the first wish.
            watch.beat_at = now;
        }
        loop {
            if !self.waits(&mut watch).await {
                return;
            }
            let chore = self.chore(&mut watch);
            let call = self.caller.next(&mut watch.queue, chore);
            watch.sent = self.clock.now();
            match self.carry(call, &mut watch).await {
                Ok(Heard::Done {
                    members,
                    at,
                    learnt,
                    reach,
                    answers,
                }) => {
                    watch.heard(at, self.clock.now());
                    if !answers.is_empty() && reach != watch.reach {
                        watch.reach = reach;
                        self.say(Word::Reach(reach));
                    }
                    if members != self.members {
                        self.members = members;
                        self.say(Word::Members(members));
                    }
                    for (counts, lane, known) in learnt {
                        self.say(Word::Learnt(counts, lane, Box::new(known)));
                    }
                    self.answer(at, answers, &watch);
                }
                Ok(Heard::Left) => return,
                Ok(Heard::Joined(_) | Heard::Others(_) | Heard::Emptied) => {}
                Err(problem) => {
                    self.say(Word::Unfit(problem));
                    return;
                }
            }
        }
    }

    /// Waits for something to say; false if nobody is left who would hear the answer.
    async fn waits(&mut self, watch: &mut Watch) -> bool {
        if watch.queue.is_empty() && !watch.leaves {
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(order) => watch.take(order),
                    None => return false,
                },
                () = self.clock.sleep_until(watch.beat_at) => {}
            }
        }
        while let Ok(order) = self.orders.try_recv() {
            watch.take(order);
        }
        true
    }

    fn chore(&self, watch: &mut Watch) -> Chore {
        let now = self.clock.now();
        if watch.leaves && watch.queue.len() <= Caller::FITS {
            return Chore::Leave;
        }
        let renews = now >= watch.renew_at;
        let beats = now >= watch.beat_at;
        if renews {
            watch.renew_at = now.after(RENEW);
        }
        if renews || beats {
            watch.beat_at = now.after(BEAT);
        }
        match (renews && self.caller.holds_slots(), renews || beats) {
            (true, _) => Chore::Renew,
            (false, true) => Chore::Beat,
            (false, false) => Chore::None,
        }
    }

    /// Sends a call until it is answered. Fails if that can never be.
    async fn carry(&mut self, mut call: Call, watch: &mut Watch) -> Result<Heard, Problem> {
        let mut pause = BACKOFF.0;
        loop {
            let sent = self.clock.now();
            let heard = match self.state {
                State::Outside => self.joins().await,
                State::Joined => {
                    let request = self.caller.request(&call, sent, watch.trip, Time::Server);
                    match self.link.send(&request).await {
                        Ok(reply) => Ok(self.caller.hear(&call, &reply)?),
                        Err(trouble) => Err(trouble),
                    }
                }
            };
            match heard {
                Ok(heard) => {
                    watch.took(self.clock.now().since(sent));
                    if watch.away == Here::Away {
                        watch.away = Here::Yes;
                        self.say(Word::Back);
                    }
                    match heard {
                        Heard::Emptied => {
                            self.say(Word::Emptied);
                            self.state = State::Outside;
                        }
                        Heard::Joined(members) => {
                            call.renews();
                            self.state = State::Joined;
                            self.members = members;
                            self.say(Word::Members(members));
                        }
                        Heard::Others(text) => return Err(self.differs(&text)),
                        heard @ (Heard::Done { .. } | Heard::Left) => return Ok(heard),
                    }
                }
                Err(trouble @ Trouble::Unfit(_)) => return Err(self.link.problem(&trouble)),
                Err(trouble @ (Trouble::Waits(_) | Trouble::Refused(_))) => {
                    call.renews();
                    if watch.away == Here::Yes {
                        watch.away = Here::Away;
                        let word = Word::Away(self.link.problem(&trouble), sent);
                        self.say(word);
                    }
                    let again = self.clock.now().after(pause);
                    self.clock.sleep_until(again).await;
                    pause = (pause * 2).min(BACKOFF.1);
                }
            }
        }
    }

    /// Asks a few times how late it is there: the shortest way tells best.
    pub(super) async fn sets_its_watch(&mut self) {
        for _ in 0..GLANCES {
            let Ok((seconds, micros)) = self.link.asks::<(u64, u64)>(&redis::cmd("TIME")).await
            else {
                return;
            };
            let since = nanos(self.clock.now().since(Tick::ZERO)) / 1_000;
            let at = seconds.saturating_mul(1_000_000).saturating_add(micros);
            self.began = self.began.max(at.saturating_sub(since));
        }
    }

    async fn joins(&mut self) -> Result<Heard, Trouble> {
        let reply = self.link.send(&self.caller.join(Time::Server)).await?;
        let heard = self.caller.hear_join(&reply);
        heard.map_err(|problem| Trouble::Unfit(problem.what))
    }

    /// Joins, or says what kept it: within so long, if waiting may mend it.
    pub(super) async fn join_within(&mut self, patience: Duration) -> Result<(), Problem> {
        let until = self.clock.now().after(patience);
        let mut pause = BACKOFF.0;
        loop {
            match self.joins().await {
                Ok(Heard::Others(text)) => return Err(self.differs(&text)),
                Ok(Heard::Joined(members)) => {
                    (self.members, self.state) = (members, State::Joined);
                    return Ok(());
                }
                Ok(_) => {}
                Err(trouble @ (Trouble::Unfit(_) | Trouble::Refused(_))) => {
                    return Err(self.link.problem(&trouble));
                }
                Err(trouble @ Trouble::Waits(_)) => {
                    let again = self.clock.now().after(pause);
                    if again >= until {
                        return Err(self.link.problem(&trouble));
                    }
                    self.clock.sleep_until(again).await;
                    pause = (pause * 2).min(BACKOFF.1);
                }
            }
        }
    }

    /// What was answered when it was `heard` at the store.
    fn answer(&self, heard: u64, answers: Vec<(AskId, Answer, u64)>, watch: &Watch) {
        // One that comes within the slack of its moment is charged for that moment; the way there has to be begun
        // before, where it is longer.
        let early = watch.trip.saturating_sub(self.slack / 2);
        let now = self.clock.now();
        // A clock that was set tells nothing: it was heard after it was said, and before its answer came.
        let heard_at = watch.moment(heard).clamp(watch.sent.min(now), now);
        for (id, answer, at) in answers {
            let answer = match answer {
                Answer::Refused(by, wait) => Answer::Refused(by, wait.saturating_sub(early)),
                granted @ (Answer::Granted(_) | Answer::Leased(_)) => granted,
            };
            let ago = Duration::from_micros(heard.saturating_sub(at));
            let ahead = Duration::from_micros(at.saturating_sub(heard));
            let at = heard_at.before(ago).after(ahead);
            (self.tell)(Word::Answered(id, answer), at);
        }
    }

    fn say(&self, word: Word) {
        (self.tell)(word, self.clock.now());
    }

    fn differs(&self, others: &str) -> Problem {
        let own = self.caller.text();
        let what =
            format!("runs that share limits under this key have others: {others}; here: {own}");
        let mend = "give the same limits, or another --redis-key";
        Problem::usage(what, mend).at(self.link.address().to_string())
    }
}

impl Watch {
    fn take(&mut self, order: Order) {
        match order {
            Order::Wish(wish) => self.queue.push_back(wish),
            Order::Leave => self.leaves = true,
        }
    }

    /// It is heard at `now` that it was `at` at the store. What was known before tells less with time.
    fn heard(&mut self, at: u64, now: Tick) {
        let began = at.saturating_sub(nanos(now.since(Tick::ZERO)) / 1_000);
        let drifts = nanos(now.since(self.heard_at)) / 1_000 / DRIFT;
        // Less than a microsecond is kept for later.
        if drifts > 0 || began > self.began {
            self.began = self.began.saturating_sub(drifts).max(began);
            self.heard_at = now;
        }
    }

    /// When, by the clock of the run, it was `at` at the store. What the store did in a second is within a second here,
    /// too, however long its answers take.
    fn moment(&self, at: u64) -> Tick {
        Tick(at.saturating_sub(self.began).saturating_mul(1_000))
    }

    /// The least of late: one that is long once tells nothing of the way.
    fn took(&mut self, trip: Duration) {
        let known = self.trip + self.trip / 8;
        self.trip = if self.trip.is_zero() {
            trip
        } else {
            trip.min(known)
        };
    }
}
