//! Random worlds against the engine: whatever happens, its counts add up and every run ends. Floor 3: rules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{Method, StatusCode};

use super::share::{
    Answer, AskId, Common, HeldBy, Leased, Mark, OnLoss, Part, Sharing, Taught, Wish as Wanted,
    Word,
};
use super::*;
use crate::dice::{STEP, mix};
use crate::error::Exit;
use crate::fields::Fields;
use crate::headers::Headers;
use crate::job::{JobHash, Origin, Place, Target, Units, UnitsFrom, host_of};
use crate::kept::Kept;
use crate::limit::{KeyBy, Known, Lesson, Pace, Spec, Standing, keys_of};
use crate::outcome::{Reached, Usage};
use crate::redirect::Follow;
use crate::retry::{Backoff, Budget, Jitter, Policy};
use crate::units::Cost;

/// The same seed gives the same world.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0) % sides
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// A try in flight, as the world sees it.
struct Flight {
    seq: u64,
    origin: Origin,
    slots: u64,
    connected: bool,
    sent: bool,
    head: Option<Head>,
    /// Its answer is lost on the way: it ends by this moment, and not before.
    lost_until: Option<Tick>,
    /// A redirect was its answer, and what that asks for has not gone.
    waits: bool,
}

/// What the world believes of the engine.
struct World {
    dice: Dice,
    engine: Engine,
    now: Tick,
    /// Lines that the input still has.
    stock: u64,
    /// Once in so many times one comes: lanes of a slow pipe are without jobs meanwhile.
    pace: u64,
    /// Origins of the jobs.
    hosts: u64,
    /// The key of each job that had a lane, by its line.
    keys: BTreeMap<u64, String>,
    /// Those of them of which nothing more is sent.
    closed: BTreeSet<String>,
    read: u64,
    asked: usize,
    input_open: bool,
    /// The first signal.
    signal: Option<(Signal, Tick)>,
    /// A rule has ended it before its time.
    ruled: Option<Tick>,
    /// Its time is over.
    timed: Option<Tick>,
    /// All tries fail, and no answer says when to come back.
    outage: bool,
    /// How often a job asked whether its origin is back.
    asked_origins: usize,
    /// How often a try went on elsewhere.
    went_on: usize,
    /// A second one, or the end of the grace, is to end the run at once.
    stopped: bool,
    /// Waiting or resting.
    grounded: BTreeSet<u64>,
    flying: BTreeMap<Ticket, Flight>,
    /// The line that is read just now.
    reading: Option<u64>,
    /// The line whose try ends just now.
    ending: Option<u64>,
    /// With its slots; `None` if it never had a lane.
    recording: BTreeMap<Ticket, (u64, Option<u64>)>,
    /// Finished and not handed over, as an older line is not: like those that are written.
    held_back: BTreeMap<Ticket, (u64, Option<u64>)>,
    /// What was handed over last.
    last: Option<u64>,
    /// What was sent by the last decision.
    sent: Vec<Ticket>,
    /// What was sent at all.
    tried: BTreeSet<u64>,
    recorded: BTreeSet<u64>,
    /// Those of them that an earlier run had.
    done_before: u64,
    withdrawn: BTreeSet<u64>,
    store: Shared,
    end: Option<End>,
}

/// The store through which the run shares its limits.
#[derive(Debug, Default)]
struct Shared {
    /// What is asked and has no answer.
    asks: VecDeque<(AskId, Asked)>,
    /// What was charged and is not settled.
    marks: BTreeMap<Mark, Cost>,
    /// The moments of what was granted ahead, and of the last that was granted with it.
    ahead: BTreeMap<Mark, (Tick, Tick)>,
    /// What was granted and has gone with a try.
    gone: BTreeSet<Mark>,
    charged: u64,
    /// What it was taught.
    taught: Vec<Taught>,
    away: bool,
    /// It is away for too long.
    lost: Option<Tick>,
}

/// What is asked of the store.
#[derive(Debug)]
struct Asked {
    parts: Box<[Part]>,
    /// How many at most and how far ahead, if not one for now.
    ahead: Option<(u64, Duration)>,
}

fn rules(dice: &mut Dice) -> Rules {
    let texts = [
        "50/s",
        "20/s burst=3",
        "9/250ms window",
        "6/300ms fixed",
        "tokens 90/s burst=12",
        "tokens 30/200ms window",
    ];
    let mut texts: Vec<&str> = texts.into_iter().filter(|_| dice.once_in(3)).collect();
    let shares = dice.once_in(3);
    // What a store can grant ahead, at a pace for which that pays.
    let leases = shares && dice.once_in(2);
    if leases {
        texts = vec!["4000/s", "3000/s leaky burst=2"];
    }
    let keys = [
        None,
        None,
        None,
        Some(KeyBy::Host),
        Some(KeyBy::Field("key".into())),
    ];
    let limit = |text: &&str| Spec {
        per: keys[usize::try_from(dice.below(5)).unwrap()].clone(),
        ..text.parse().unwrap()
    };
    let limits = texts.iter().map(limit).collect();
    // The world does not know whose key the answer to a redirect closes: not both in one.
    let max_retry_after = dice.once_in(4).then_some(Duration::from_millis(50));
    let follow = match max_retry_after {
        None => dice.pick(&[Follow::Nothing, Follow::Redirects, Follow::Redirects]),
        Some(_) => Follow::Nothing,
    };
    let sharing = shares.then(|| Sharing {
        slots: Cost::new(dice.pick(&[0, 0, 0, 1, 3, 5])),
        on_loss: dice.pick(&[OnLoss::Stop, OnLoss::Local, OnLoss::Open]),
        grace: Duration::from_millis(dice.below(300)),
        fresh: Duration::from_secs(1),
        only: None,
    });
    let drawn = Rules {
        slots: Cost::new(dice.below(6)),
        per_host: Cost::new(dice.below(9).saturating_sub(4)),
        limits,
        oversize: dice.pick(&[Oversize::Fail, Oversize::Wait]),
        refund: dice.pick(&[Refund::Unused, Refund::Never]),
        queue_timeout: dice
            .once_in(3)
            .then(|| Duration::from_millis(dice.below(400))),
        arrivals: {
            let shape = dice.pick(&[
                "closed",
                "once",
                "even 100@0s",
                "poisson 0@0s,300@1s,0@3s",
                "replay 1x",
                "replay 5x",
            ]);
            shape.parse().unwrap()
        },
        time: dice
            .once_in(8)
            .then(|| Duration::from_millis(1 + dice.below(2_000))),
        retry: Policy {
            backoff: Backoff {
                min: Duration::from_millis(1),
                max: Duration::from_millis(80),
            },
            jitter: dice.pick(&[Jitter::None, Jitter::Full, Jitter::Decorrelated]),
            max_retry_after,
            ..Policy::default()
        },
        follow,
        budget: Budget::of(dice.pick(&[0, 10, 30, 1000])),
        breaks_after: 3,
        slack: Duration::from_millis(dice.below(3)),
        lead: dice
            .once_in(2)
            .then(|| Duration::from_millis(dice.below(50))),
        timeout: Duration::from_millis(200),
        adaptive: dice.once_in(3),
        order: dice.pick(&[Order::ByCompletion, Order::ByInput, Order::ByInput]),
        stop_if: rule(dice).into_iter().collect(),
        grace: dice
            .once_in(3)
            .then(|| Duration::from_millis(dice.below(300))),
        look_ahead: LookAhead {
            jobs: usize::try_from(1 + dice.below(40)).unwrap(),
            bytes: 1 + dice.below(30_000),
        },
        sharing,
        ..Rules::default()
    };
    if leases { lasting(drawn) } else { drawn }
}

/// The same for a run that nothing but its input ends, as a rule; what is learnt is not granted ahead.
fn lasting(rules: Rules) -> Rules {
    Rules {
        adaptive: false,
        slots: Cost::new(20),
        arrivals: Arrivals::Closed,
        time: None,
        queue_timeout: None,
        stop_if: Vec::new(),
        ..rules
    }
}

fn rule(dice: &mut Dice) -> Option<StopIf> {
    let rules = [
        "failed>3",
        "invalid>0",
        "retries>=9",
        "429,5xx>=3 in a row",
        "failed>=4 in a row before ok",
    ];
    let rule = dice.pick(&rules);
    dice.once_in(3).then(|| rule.parse().unwrap())
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        Self {
            engine: Engine::new(rules(&mut dice)),
            stock: dice.below(120),
            pace: dice.pick(&[1, 1, 12]),
            hosts: dice.pick(&[1, 2, 4]),
            keys: BTreeMap::new(),
            closed: BTreeSet::new(),
            dice,
            now: Tick::ZERO,
            read: 0,
            asked: 0,
            input_open: true,
            signal: None,
            ruled: None,
            timed: None,
            outage: false,
            asked_origins: 0,
            went_on: 0,
            stopped: false,
            grounded: BTreeSet::new(),
            flying: BTreeMap::new(),
            recording: BTreeMap::new(),
            held_back: BTreeMap::new(),
            last: None,
            sent: Vec::new(),
            tried: BTreeSet::new(),
            reading: None,
            ending: None,
            recorded: BTreeSet::new(),
            done_before: 0,
            withdrawn: BTreeSet::new(),
            store: Shared::default(),
            end: None,
        }
    }

    fn line(&mut self) -> Result<Job, BadLine> {
        let dice = &mut self.dice;
        let place = Place::new("jobs", self.read);
        if dice.once_in(9) {
            return Err(BadLine {
                hash: JobHash(self.read),
                ..BadLine::new(place, "empty", "write a job")
            });
        }
        let written = format!("http://host{}/", dice.below(self.hosts));
        let field = format!("k{}", dice.below(3));
        let keys = keys_of(&self.engine.rules.limits);
        let keys = keys.iter().map(|key| match key {
            KeyBy::Host => Arc::from(host_of(&written.parse().unwrap())),
            KeyBy::Field(_) | KeyBy::Header(_) => Arc::from(&*field),
        });
        let keys: Vec<Arc<str>> = keys.collect();
        let target: Target = written.parse().unwrap();
        let method = dice.pick(&[&Method::GET, &Method::POST]).clone();
        let body = Bytes::from(vec![0; usize::try_from(dice.below(2_000)).unwrap()]);
        Ok(Job {
            method,
            kept: Kept::of(&Headers::default(), Some(body.into()), None),
            at: Some(Duration::from_millis(self.read * 10 + dice.below(200))),
            units: (!dice.once_in(4)).then(|| Units {
                input: dice.below(10),
                output: dice.below(5),
                source: UnitsFrom::Job,
            }),
            slots: Cost::new(1 + dice.below(3)).unwrap(),
            keys: keys.into(),
            ..Job::get(place, target, Origin(written.trim_end_matches('/').into()))
        })
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.engine.tell(self.now, event, &mut actions);
        let allowed = |action: &Action| {
            // What is owed is told before the end, with all that was to be told.
            matches!(
                action,
                Action::Record(..) | Action::Stop(_) | Action::Store(_)
            )
        };
        assert!(actions.iter().all(allowed), "tell asks for {actions:?}");
        self.heed(&actions);
        self.carry_out(actions);
        self.hold_back();
    }

    /// Whether nothing new may be sent.
    fn drains(&self) -> bool {
        let by_rule = self.ruled.is_some() || self.timed.is_some();
        self.signal.is_some() || by_rule || self.store.lost.is_some()
    }

    /// A rule has just ended the run: all that was not sent and has no result by then is withdrawn.
    fn heed(&mut self, actions: &[Action]) {
        let asking = self.engine.asking.as_ref();
        let lost = asking.is_some_and(|asking| asking.lost().is_some());
        match (self.engine.stopped_by(), self.engine.time_up) {
            _ if lost && self.store.lost.is_none() => self.store.lost = Some(self.now),
            (Some(_), _) if self.ruled.is_none() => self.ruled = Some(self.now),
            (None, true) if self.timed.is_none() => {
                let time = self.engine.rules.time.into_iter();
                let time = time.chain(self.engine.rules.arrivals.end()).min();
                assert!(self.signal.is_none(), "it ends already");
                let over = Tick::ZERO.after(time.expect("it has an end"));
                assert!(over <= self.now, "over before {over:?}");
                self.timed = Some(self.now);
            }
            _ => return,
        }
        let before = actions.iter().filter_map(|action| match action {
            Action::Send(_, job, _) => Some(job.place.line),
            Action::Record(_, outcome) => Some(outcome.seq),
            Action::Read(_) | Action::Prepare(..) | Action::Store(_) | Action::Stop(_) => None,
        });
        // What was tried and then waited too long has its result, though an older one holds that back.
        let done = self.engine.roll.all().map(|(_, held)| held);
        let done = done.filter(|held| matches!(held.phase, Phase::Done(_)));
        let before = before.chain(done.map(|held| held.seq)).collect();
        self.withdraw(&before);
    }

    /// All that waits is withdrawn, but what has gone before.
    fn withdraw(&mut self, before: &BTreeSet<u64>) {
        let withdrawn = &mut self.withdrawn;
        let mut goes = |seq: u64| !before.contains(&seq) && withdrawn.insert(seq);
        self.grounded.retain(|&seq| !goes(seq));
        // What was never sent is given up, though it has its result.
        let tried = &self.tried;
        self.held_back
            .retain(|_, (seq, _)| tried.contains(seq) || !goes(*seq));
    }

    /// What has its result and was not handed over.
    fn hold_back(&mut self) {
        for (ticket, held) in self.engine.roll.all() {
            let is_done = matches!(held.phase, Phase::Done(_));
            if !is_done || self.recording.contains_key(&ticket) {
                continue;
            }
            assert_eq!(self.engine.rules.order, Order::ByInput);
            let flight = self.flying.remove(&ticket);
            let slots = flight.map_or(0, |flight| flight.slots);
            self.grounded.remove(&held.seq);
            let slots = held.lane.map(|_| slots);
            self.held_back.entry(ticket).or_insert((held.seq, slots));
        }
        let nobody = self.end.is_none() || matches!(self.end, Some(End::SinkLost(_)));
        assert!(nobody || self.held_back.is_empty(), "what was paid is lost");
    }

    /// Lines are handed over in order; only at the end of the run some are left out.
    fn is_in_order(&mut self, seq: u64, stops: bool) {
        assert!(self.last < Some(seq), "{seq} after {:?}", self.last);
        self.last = Some(seq);
        if !stops {
            // Nor has one that waited too long to go on.
            let hops = &self.engine.hops;
            let flying = self.flying.iter().filter(|(ticket, flight)| {
                let asking = self.engine.asking.as_ref();
                let asks = asking.is_some_and(|own| own.has(**ticket));
                let waits_on = asks || hops.contains(&(flight.seq, **ticket));
                !flight.waits || !self.drains() || waits_on
            });
            let flying = flying.map(|(_, flight)| flight.seq);
            let held_back = self.held_back.values().map(|(seq, _)| *seq);
            let mut open = flying.chain(held_back).chain(self.grounded.iter().copied());
            // A try that fails after a signal has no result, and holds nobody up.
            let passed = open.find(|&open| open < seq && self.ending != Some(open));
            assert_eq!(passed, None, "{seq} passes it");
        }
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        let stops = actions.iter().any(|last| matches!(last, Action::Stop(_)));
        for action in actions {
            assert_eq!(self.end, None, "after the end: {action:?}");
            match action {
                Action::Store(wish) => self.wish(wish),
                Action::Prepare(_, most) => {
                    let slots = self.engine.rules.slots.map_or(u64::MAX, Cost::get);
                    assert!(most >= 1 && most as u64 <= slots.saturating_add(1).max(1_001));
                }
                Action::Read(lines) => {
                    assert!(lines > 0 && self.input_open && !self.drains());
                    self.asked += lines;
                    let held = self.held();
                    let wanted = match self.engine.rules.arrivals {
                        Arrivals::Paced(..) => PACED,
                        Arrivals::Closed | Arrivals::Once | Arrivals::Replay(_) => {
                            self.engine.wanted
                        }
                    };
                    let bounds = self.engine.rules.look_ahead;
                    assert!(
                        held + self.asked <= bounds.jobs,
                        "{held} held, {lines} more"
                    );
                    let once = match self.engine.rules.arrivals {
                        Arrivals::Closed | Arrivals::Paced(..) => false,
                        Arrivals::Once | Arrivals::Replay(_) => true,
                    };
                    assert!(
                        once || self.asked <= wanted,
                        "{} asked, {wanted} wanted",
                        self.asked
                    );
                    assert!(self.engine.roll.bytes() < bounds.bytes, "bytes are full");
                }
                Action::Send(ticket, job, grant) => {
                    let (seq, slots) = (job.place.line, job.slots.get());
                    let slack = self.engine.rules.slack;
                    assert!(grant.charged_at <= self.now);
                    assert!(grant.charged_at >= self.now.before(slack));
                    assert!(!self.recording.contains_key(&ticket));
                    self.goes_by(ticket, &grant);
                    if let Some(flight) = self.flying.get_mut(&ticket) {
                        assert!(flight.waits && flight.seq == seq, "{seq} goes on");
                        (flight.waits, flight.sent, flight.head) = (false, false, None);
                        self.went_on += 1;
                        continue;
                    }
                    assert!(
                        self.grounded.remove(&seq),
                        "{seq} is sent and does not wait"
                    );
                    self.sent.push(ticket);
                    self.tried.insert(seq);
                    let lost = self.dice.once_in(12);
                    let flight = Flight {
                        seq,
                        origin: job.origin.clone(),
                        slots,
                        connected: false,
                        sent: false,
                        head: None,
                        lost_until: lost.then_some(grant.give_up_at),
                        waits: false,
                    };
                    assert!(self.flying.insert(ticket, flight).is_none());
                }
                Action::Record(ticket, outcome) => {
                    let seq = outcome.seq;
                    let too_long = outcome.error.as_ref();
                    let too_long =
                        too_long.is_some_and(|(kind, _)| *kind == FailureKind::QueueTimeout);
                    let held_back = self.held_back.remove(&ticket);
                    let slots = match self.flying.remove(&ticket) {
                        Some(flight) => Some(flight.slots),
                        None if held_back.is_some() => held_back.and_then(|(_, slots)| slots),
                        None if too_long && self.grounded.remove(&seq) => {
                            (self.reading != Some(seq)).then_some(0)
                        }
                        None => None,
                    };
                    let twice = self.recorded.contains(&seq);
                    assert!(!twice && !self.withdrawn.contains(&seq), "{seq} again");
                    assert!(!self.grounded.contains(&seq), "{seq} still waits");
                    if self.engine.rules.order == Order::ByInput {
                        self.is_in_order(seq, stops);
                    }
                    let gone = self.recording.insert(ticket, (seq, slots));
                    assert!(gone.is_none(), "two lines are written under one ticket");
                }
                Action::Stop(end) => self.end = Some(end),
            }
        }
    }

    /// The store is told something.
    fn wish(&mut self, wish: Wanted) {
        match wish {
            Wanted::Admit { id, parts, .. } => self.asks(id, Asked { parts, ahead: None }),
            Wanted::Lease {
                id,
                parts,
                most,
                reach,
                ..
            } => {
                assert!(most > 0 && !self.drains() && !self.store.away);
                let ahead = Some((most, reach));
                self.asks(id, Asked { parts, ahead });
            }
            Wanted::Moved(bill, at) => {
                assert_eq!(self.store.marks.get(&bill.mark), Some(&bill.cost));
                assert!(at <= self.now);
            }
            Wanted::Settle(bill, ..) => {
                let paid = self.store.marks.remove(&bill.mark);
                assert_eq!(paid, Some(bill.cost), "it is settled once");
            }
            Wanted::Pause(..) => {}
            Wanted::Hold(bill) => {
                assert!(bill.of == Common::Slots && bill.mark.is_own());
                let is_new = self.store.marks.insert(bill.mark, bill.cost).is_none();
                assert!(is_new, "{bill:?} is held already");
            }
            Wanted::Learn(taught) => {
                assert!(self.engine.rules.adaptive);
                let is_open = |mark| self.store.marks.contains_key(mark);
                assert!(taught.mark.as_ref().is_none_or(is_open), "{taught:?}");
                self.store.taught.push(taught);
            }
            Wanted::Owe(debt) => {
                assert!(debt.taken.iter().is_sorted_by_key(|(at, _)| *at));
                assert!(debt.taken.iter().all(|(at, _)| *at <= self.now));
            }
        }
    }

    fn asks(&mut self, id: AskId, asked: Asked) {
        assert!(!asked.parts.is_empty() && self.engine.rules.sharing.is_some());
        let last = self.store.asks.back();
        assert!(last.is_none_or(|(last, _)| *last < id));
        self.store.asks.push_back((id, asked));
    }

    /// So many are charged one after the other for these parts: what the first is called.
    fn charges(&mut self, parts: &[Part], times: u64) -> Box<[Mark]> {
        let store = &mut self.store;
        let first = parts.iter().map(|part| {
            let first = store.charged + 1;
            store.charged += times;
            let marks = (first..first + times).map(Mark);
            store.marks.extend(marks.map(|mark| (mark, part.cost)));
            Mark(first)
        });
        first.collect()
    }

    /// Some of what is asked for ahead, each for its moment, and the first of them.
    fn grants_ahead(&mut self, parts: &[Part], most: u64, reach: Duration) -> (Answer, Tick) {
        let times = 1 + self.dice.below(most);
        let first = self.charges(parts, times);
        // It may be heard of too late.
        let ago = Duration::from_millis(self.dice.pick(&[0, 0, 0, 1, 3]));
        let at = self.now.before(ago);
        let each = reach / u32::try_from(times).unwrap();
        let each = each.mul_f64(self.dice.pick(&[0.0, 0.2, 1.0]));
        let at = at.after(self.dice.pick(&[Duration::ZERO, each]));
        let spans = (0..times).map(|nth| each * u32::try_from(nth).unwrap());
        let after: Box<[Duration]> = spans.collect();
        let last = after[after.len() - 1];
        let leased = Leased { first, after };
        for (nth, after) in (0..).zip(&leased.after) {
            let marks = leased.marks(nth).into_iter();
            let moments = (at.after(*after), at.after(last));
            self.store.ahead.extend(marks.map(|mark| (mark, moments)));
        }
        (Answer::Leased(leased), at)
    }

    /// A try goes by what the store has granted: by each grant one, and by those ahead at their moments.
    fn goes_by(&mut self, ticket: Ticket, grant: &Grant) {
        for mark in self.engine.roll.peek(ticket).holds.marks() {
            assert!(self.store.marks.contains_key(&mark), "{mark:?} is no more");
            let Some((at, last)) = self.store.ahead.get(&mark) else {
                continue;
            };
            assert!(self.store.gone.insert(mark), "{mark:?} goes twice");
            let slack = self.engine.rules.slack;
            // Late it is no later than the last of its lot.
            assert!(*at <= grant.charged_at && grant.charged_at <= last.after(slack));
        }
    }

    /// What was granted ahead has gone, was given up, or was given back.
    fn nothing_is_hoarded(&self) {
        let asking = self.engine.asking.as_ref();
        let left = asking.map_or(0, |asking| asking.leases.left());
        assert_eq!(left, 0, "it is kept");
    }

    /// The store says something.
    fn hear_store(&mut self, rare: bool) {
        let word = if self.store.away {
            if rare && !self.dice.once_in(5) {
                return;
            }
            self.store.away = false;
            Word::Back
        } else if rare && self.dice.once_in(40) {
            self.store.away = true;
            let problem = Problem::new(Exit::Store, "gone", "");
            Word::Away(problem, self.now)
        } else if rare && self.dice.once_in(20) {
            let members = u32::try_from(1 + self.dice.below(4)).unwrap();
            let reach = Duration::from_millis(self.dice.below(3) * 100);
            match self.dice.below(3) {
                0 => Word::Emptied,
                1 => Word::Members(members),
                _ => Word::Reach(reach),
            }
        } else if rare && let Some(taught) = self.store.taught.pop() {
            let told = match &taught.lesson {
                Lesson::Told(said) => vec![Standing {
                    at: Tick::ZERO,
                    full_at: said.full_at.map(|at| Tick::ZERO.after(at.since(said.at))),
                    ..said.clone()
                }],
                Lesson::Accepted { .. } | Lesson::Refused { .. } => Vec::new(),
            };
            let pace = self.dice.once_in(2);
            let known = Known {
                pace: pace.then(|| Pace::of_millionths(self.dice.below(90_000_000))),
                refused: self.dice.below(3),
                told,
                ..Known::default()
            };
            Word::Learnt(taught.of, taught.lane, Box::new(known))
        } else if let Some((id, Asked { parts, ahead })) = self.store.asks.pop_front() {
            let wait = Duration::from_millis(self.dice.below(50));
            let all: Vec<HeldBy> = parts.iter().map(|part| HeldBy::Limit(part.of)).collect();
            let by = self.dice.pick(&all);
            let by = self.dice.pick(&[by, by, by, HeldBy::Pause]);
            let answer = match ahead {
                _ if self.dice.once_in(3) => Answer::Refused(by, wait),
                None => Answer::Granted(self.charges(&parts, 1)),
                Some((most, reach)) => {
                    let (answer, at) = self.grants_ahead(&parts, most, reach);
                    let word = Word::Answered(id, answer);
                    return self.tell(Event::Store(word, at));
                }
            };
            Word::Answered(id, answer)
        } else {
            return;
        };
        self.tell(Event::Store(word, self.now));
    }

    /// One line, or the end of the input.
    fn read(&mut self) {
        if self.stock == 0 {
            self.input_open = false;
            self.asked = 0;
            let lost = Problem::new(Exit::SomeFailed, "cable cut", "mend it");
            let how = if self.dice.once_in(4) {
                Err(lost)
            } else {
                Ok(())
            };
            return self.tell(Event::InputEnded(how));
        }
        self.stock -= 1;
        self.asked -= 1;
        if self.dice.once_in(6) {
            // An earlier run has its result.
            self.recorded.insert(self.read);
            self.read += 1;
            self.done_before += 1;
            let status = self
                .dice
                .pick(&[Status::Ok, Status::Failed, Status::Invalid]);
            return self.tell(Event::DoneBefore(status, self.now));
        }
        let (seq, line) = (self.read, self.line());
        let job = line.as_ref().ok();
        let job = job.filter(|job| self.engine.rules.refuses(job).is_none());
        let key = job.map(|job| format!("{} {:?}", job.origin, job.keys));
        self.read += 1;
        if self.drains() {
            self.withdrawn.insert(seq);
        } else if let Some(key) = key {
            let place = if self.closed.contains(&key) {
                &mut self.withdrawn
            } else {
                &mut self.grounded
            };
            place.insert(seq);
            self.keys.insert(seq, key);
        }
        self.reading = Some(seq);
        self.tell(Event::read(line, self.now));
        self.reading = None;
    }

    /// Something becomes of a try.
    fn fly(&mut self, ticket: Ticket) {
        let (at, choice) = (self.now, self.dice.below(8));
        let mut wait = self.dice.pick(&["", "0.02", "0.1", "nonsense"]);
        let level = self
            .dice
            .pick(&["", "\"a\";r=0;t=1", "\"a\";r=3;t=1", "\"b\";r=1;t=0"]);
        let mut status = self.dice.pick(&[200, 200, 200, 404, 429, 503]);
        if self.outage {
            (wait, status) = ("", 503);
        } else if self.engine.rules.follow == Follow::Redirects && self.dice.once_in(3) {
            status = self.dice.pick(&[302, 303, 307]);
        }
        let place = format!("http://host{}/{}", self.dice.below(4), self.dice.below(20));
        let flight = self.flying.get_mut(&ticket).unwrap();
        if flight.waits {
            return;
        }
        let fail = |kind, reached| Err(Failure::new(kind, reached, ""));
        let lost = flight.lost_until;
        if flight.sent && lost.is_some_and(|until| self.now < until) {
            return;
        }
        let end = match (&flight.head, flight.sent, choice) {
            (None, true, _) if lost.is_some() => fail(FailureKind::Timeout, Reached::Sent),
            (None, false, 0) => fail(FailureKind::Dns, Reached::NotSent),
            (None, _, 1) => fail(FailureKind::Connect, Reached::NotSent),
            (None, false, 2) if !flight.connected => {
                flight.connected = true;
                return self.tell(Event::Connected(ticket, at));
            }
            (None, false, _) => {
                flight.sent = true;
                return self.tell(Event::Sent(ticket, at));
            }
            (None, true, 0) => fail(FailureKind::Timeout, Reached::Sent),
            (None, true, _) => {
                let head = Head {
                    at,
                    wall: UNIX_EPOCH,
                    status: StatusCode::from_u16(status).unwrap(),
                    headers: Fields::of([
                        ("retry-after", wait),
                        ("ratelimit", level),
                        ("location", &place),
                    ]),
                };
                flight.head = Some(head.clone());
                return self.tell(Event::Answered(ticket, Box::new(head)));
            }
            (Some(_), _, 0) => fail(FailureKind::IncompleteBody, Reached::Answered),
            (Some(head), _, _) => Ok(Reply {
                head: head.clone(),
                body: Bytes::new(),
                used: [None, Some(0), Some(u64::MAX), Some(3)]
                    [usize::try_from(choice % 4).unwrap()]
                .map(Usage::of),
                fault: (choice % 5 == 0).then(|| "it is none".into()),
            }),
        };
        let seq = flight.seq;
        let retry = &self.engine.rules.retry;
        let closes = flight.head.as_ref().is_some_and(|head| {
            let most = retry.max_retry_after;
            let wait = quota::of_head(head, None).wait;
            most.is_some() && wait > most && retry.repeats(head.status, None)
        });
        if closes {
            self.close(seq);
        }
        self.ending = Some(seq);
        self.tell(Event::Ended(ticket, at, Box::new(end)));
        self.ending = None;
        if closes {
            self.ends_without_keys();
        }
        if self.engine.hops.contains(&(seq, ticket)) {
            self.flying.get_mut(&ticket).unwrap().waits = true;
        } else {
            self.is_over(ticket);
        }
    }

    /// A try has ended. Not recorded, it rests, or there is no time left to.
    fn is_over(&mut self, ticket: Ticket) {
        if let Some(flight) = self.flying.remove(&ticket) {
            let place = if self.drains() || self.closed.contains(&self.keys[&flight.seq]) {
                &mut self.withdrawn
            } else {
                &mut self.grounded
            };
            place.insert(flight.seq);
        }
    }

    /// Tries that waited too long to go on have ended.
    fn give_up(&mut self) {
        let waits = self.flying.iter().filter(|(_, flight)| flight.waits);
        let engine = &self.engine;
        let over = waits.filter(|(ticket, flight)| {
            let asks = engine.asking.as_ref().is_some_and(|own| own.has(**ticket));
            !asks && !engine.hops.contains(&(flight.seq, **ticket))
        });
        let over: Vec<Ticket> = over.map(|(ticket, _)| *ticket).collect();
        for ticket in over {
            self.is_over(ticket);
        }
    }

    /// The server of this job asks for too long a wait: what waits or rests of its key is withdrawn.
    fn close(&mut self, seq: u64) {
        let key = self.keys[&seq].clone();
        let (keys, withdrawn) = (&self.keys, &mut self.withdrawn);
        self.grounded.retain(|other| {
            let stays = keys[other] != key;
            stays || !withdrawn.insert(*other)
        });
        self.closed.insert(key);
    }

    /// The run ends for it when all keys are closed, and not before: those without jobs are open, too.
    fn ends_without_keys(&self) {
        let known: BTreeSet<&String> = self.keys.values().collect();
        let stopped = self.engine.stopped_by().map(Stopped::by);
        if known.len() > self.closed.len() {
            assert_ne!(stopped.as_deref(), Some(Stopped::LONG_WAIT), "{known:?}");
        } else if known.len() <= 8 {
            assert!(stopped.is_some(), "all of {known:?} are closed");
        }
    }

    fn recorded(&mut self, ticket: Ticket) {
        let (seq, _) = self.recording.remove(&ticket).unwrap();
        assert!(self.recorded.insert(seq));
        self.tell(Event::Recorded(ticket));
    }

    fn cancel(&mut self) {
        let seq = self.dice.below(self.read + 1);
        if self.grounded.remove(&seq) {
            self.withdrawn.insert(seq);
        }
        self.tell(Event::Cancel(seq));
    }

    fn signal(&mut self) {
        let signal = self.dice.pick(&[Signal::Interrupt, Signal::Terminate]);
        let second = Duration::from_secs(1);
        match self.signal {
            None => {
                self.signal = Some((signal, self.now));
                self.withdraw(&BTreeSet::new());
            }
            Some((first, at)) => {
                let same = first == Signal::Terminate && signal == first;
                self.stopped = !same || self.now.since(at) >= second;
            }
        }
        self.tell(Event::Signal(signal, self.now));
        let expected = self.stopped.then_some(End::Signalled(signal));
        assert_eq!(self.end, expected, "{signal:?} after {:?}", self.signal);
    }

    /// Lines between their reading and their end.
    fn held(&self) -> usize {
        let finished = self.held_back.len() + self.recording.len();
        self.grounded.len() + self.flying.len() + finished
    }

    /// A few things happen, chosen by the dice; `rare` ones only in the first part of a run.
    fn happen(&mut self, rare: bool) {
        if self.signal.is_some() && self.end.is_none() && self.dice.once_in(20) {
            self.signal();
        }
        for _ in 0..=self.dice.below(12) {
            if self.end.is_some() {
                return;
            }
            let flying: Vec<Ticket> = self.flying.keys().copied().collect();
            let recording: Vec<Ticket> = self.recording.keys().copied().collect();
            self.outage =
                rare && !self.dice.once_in(100) && (self.outage || self.dice.once_in(200));
            match self.dice.below(if rare { 400 } else { 390 }) {
                0..130 if self.asked > 0 && self.input_open && self.dice.once_in(self.pace) => {
                    self.read();
                }
                130..260 if !flying.is_empty() => {
                    let ticket = self.dice.pick(&flying);
                    self.fly(ticket);
                }
                260..390 if !recording.is_empty() => {
                    let ticket = self.dice.pick(&recording);
                    self.recorded(ticket);
                }
                _ if self.engine.rules.sharing.is_some() && self.dice.once_in(2) => {
                    self.hear_store(rare);
                }
                390..396 => self.cancel(),
                396 if self.input_open => {
                    self.stock = 0;
                    self.read();
                }
                397 => self.signal(),
                398 => {
                    self.tell(Event::SinkLost(Problem::new(Exit::Unwritten, "full", "")));
                }
                _ => {}
            }
        }
    }

    /// Decides; returns when to come back.
    fn decide(&mut self) -> Option<Tick> {
        let mut actions = Vec::new();
        let (drained, ended) = (self.drains(), self.end.is_some());
        let broken = self.engine.lanes.broken_origins();
        let next = self.engine.decide(self.now, &mut actions);
        let flying = &self.flying;
        let sends =
            |action: &Action| matches!(action, Action::Send(own, ..) if !flying.contains_key(own));
        assert!(
            !drained || !actions.iter().any(sends),
            "sent while it drains"
        );
        self.heed(&actions);
        self.sent.clear();
        let sent = |action: &Action| match action {
            Action::Send(_, job, _) => Some(job.origin.clone()),
            Action::Read(_)
            | Action::Prepare(..)
            | Action::Store(_)
            | Action::Record(..)
            | Action::Stop(_) => None,
        };
        let sent: Vec<Origin> = actions.iter().filter_map(sent).collect();
        for origin in broken {
            let asks = sent.iter().filter(|sent| **sent == origin).count();
            assert!(asks <= 1, "{asks} jobs ask whether {origin} is back");
            self.asked_origins += asks;
        }
        self.carry_out(actions);
        self.hold_back();
        self.give_up();
        let since = self.signal.map(|(_, at)| at).into_iter().chain(self.ruled);
        let until = since.min().zip(self.engine.rules.grace);
        let until = until.map(|(at, grace)| at.after(grace));
        if until.is_some_and(|until| until <= self.now) && !ended {
            let how = match (&self.end, self.signal) {
                (Some(End::Signalled(own)), Some((signal, _))) => *own == signal,
                (Some(End::Stopped(_)), None) => true,
                _ => false,
            };
            assert!(how, "the grace is over: {:?}", self.end);
            self.stopped = true;
        }
        if self.end.is_none() {
            assert!(next.is_none_or(|next| next > self.now), "{next:?} is past");
            assert!(
                until.is_none_or(|until| next <= Some(until)),
                "{next:?} is after {until:?}"
            );
            assert!(
                next.is_some() || until.is_none(),
                "nobody wakes at {until:?}"
            );
            self.counts_add_up();
            self.hosts_have_room();
            self.engine.states_add_up();
            self.engine.order_is_kept(&self.sent);
            self.engine.nobody_is_forgotten(next);
        }
        next
    }

    fn hosts_have_room(&self) {
        let mut taken: BTreeMap<&Origin, u64> = BTreeMap::new();
        for flight in self.flying.values() {
            *taken.entry(&flight.origin).or_default() += flight.slots;
        }
        let most = self.engine.rules.per_host.map_or(u64::MAX, Cost::get);
        assert!(taken.values().all(|taken| *taken <= most), "{taken:?}");
    }

    fn counts_add_up(&mut self) {
        let engine = &self.engine;
        let (flying, grounded) = (self.flying.len(), self.grounded.len());
        let early = engine.agenda.len();
        assert_eq!(
            engine.load(),
            (flying, grounded - early),
            "in flight, waiting"
        );
        assert_eq!(engine.is_idle(), flying + self.recording.len() == 0);
        assert_eq!(engine.asked, self.asked, "asked");
        let counts = engine.counts();
        assert_eq!(
            (counts.read, counts.done()),
            (self.read, self.recorded.len() as u64)
        );
        let held = self.held();
        assert_eq!(
            (engine.roll.len(), engine.roll.bytes()),
            engine.roll.recount()
        );
        assert_eq!(engine.roll.len(), held, "held");
        let held_back = engine.in_order.as_ref().map_or(0, InOrder::finished);
        assert_eq!(held_back, self.held_back.len(), "held back");
        let lanes = &engine.lanes;
        assert_eq!((lanes.waiting(), lanes.waiting_open()), lanes.recount());
        let finished = || self.recording.values().chain(self.held_back.values());
        let members = held - finished().filter(|(_, slots)| slots.is_none()).count();
        let away = engine.roll.all().filter(|(_, held)| held.away.is_some());
        let members = members + away.count();
        assert_eq!(lanes.members(), members, "members of lanes");
        if let Some(slots) = engine.rules.slots {
            let flights = self.flying.values().map(|flight| flight.slots);
            let written = finished().filter_map(|(_, slots)| *slots);
            let asking = engine.roll.all().map(|(_, held)| held);
            let asking = asking.filter(|held| held.phase == Phase::Asking);
            let asking = asking.map(|held| held.work().job.slots.get());
            let taken: u64 = flights.chain(written).chain(asking).sum();
            assert_eq!(self.engine.gate.slots_taken(slots), taken, "slots");
            assert!(taken <= slots.get());
            let in_order = self.engine.in_order.as_ref().map(InOrder::taken);
            assert!(in_order.is_none_or(|own| own == taken), "{in_order:?}");
        } else if engine.rules.order == Order::ByInput {
            let held_back = self.held_back.values();
            let sent = held_back.filter(|(_, slots)| slots.is_some_and(|slots| slots > 0));
            let taken = flying + sent.count();
            assert!(taken <= order::UNLIMITED, "{taken} without slots");
        }
    }

    /// To the end of the run: time passes, and everything asked for is answered. Returns how often a job asked whether
    /// its origin is back, how often a try went on elsewhere, and how often one went by what was granted ahead.
    fn run(mut self) -> [usize; 3] {
        // What was granted ahead lapses within its slack.
        let step = if self.engine.gate.leases().is_some() {
            3_000
        } else {
            30_000
        };
        for turn in 0.. {
            assert!(turn < 20_000, "the run does not end");
            let next = self.decide();
            if self.end.is_some() {
                break;
            }
            let store = self.store.asks.len() + usize::from(self.store.away);
            let pending = self.flying.len() + self.recording.len() + store;
            let comes = pending > 0 || (self.asked > 0 && self.input_open);
            assert!(comes || next.is_some(), "the run waits for nothing");
            let pause = self.now.after(Duration::from_micros(self.dice.below(step)));
            self.now = match next {
                Some(next) if self.dice.once_in(2) || !comes => next.min(pause.max(next)),
                Some(_) | None => pause,
            };
            self.happen(turn < 200);
        }
        let end = self.end.clone().unwrap();
        match &end {
            End::Finished | End::InputLost(_) => {
                assert_eq!(
                    self.read,
                    (self.recorded.len() + self.withdrawn.len()) as u64
                );
                assert!(!self.input_open && self.engine.roll.len() == 0);
                self.nothing_is_hoarded();
            }
            End::TimeUp | End::Signalled(_) | End::Stopped(_) | End::StoreLost(_)
                if !self.stopped =>
            {
                assert!(self.flying.is_empty() && self.recording.is_empty());
                assert_eq!(self.engine.roll.len(), 0);
                self.nothing_is_hoarded();
            }
            End::TimeUp
            | End::Signalled(_)
            | End::Stopped(_)
            | End::StoreLost(_)
            | End::SinkLost(_) => {}
        }
        // What comes after the end is of no consequence.
        for ticket in self.flying.keys().copied().collect::<Vec<_>>() {
            let late = Err(Failure::new(FailureKind::Reset, Reached::Sent, ""));
            self.tell(Event::Ended(ticket, self.now, Box::new(late)));
        }
        // But for what was handed over before it, and is written after all.
        for ticket in self.recording.keys().copied().collect::<Vec<_>>() {
            if self.dice.once_in(2) {
                self.recorded(ticket);
            }
        }
        assert_eq!(self.decide(), None);
        let counts = self.engine.close(self.now).tally.counts;
        assert_eq!(counts.read, counts.done() + counts.cancelled);
        assert_eq!(counts.done(), self.recorded.len() as u64, "{end:?}");
        assert_eq!(counts.done_before, self.done_before);
        [self.asked_origins, self.went_on, self.store.gone.len()]
    }
}

/// How many; more of them in a soak by hand: `SHAPER_ROUNDS=20000 cargo test --lib upheaval`.
fn worlds() -> u64 {
    let asked = std::env::var("SHAPER_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(600)
}

#[test]
fn counts_add_up_every_ask_is_answered_and_every_run_ends_whatever_happens() {
    let (mut asked_origins, mut went_on, mut by_lease) = (0, 0, 0);
    for seed in 0..worlds() {
        let run = std::panic::catch_unwind(|| World::new(seed).run());
        assert!(run.is_ok(), "seed {seed}, see above");
        let [asked, went, leased] = run.unwrap_or_default();
        asked_origins += asked;
        went_on += went;
        by_lease += leased;
    }
    assert!(
        asked_origins > 50,
        "{asked_origins} times a breaker was open"
    );
    assert!(went_on > 60, "{went_on} times a try went on");
    assert!(by_lease > 100, "{by_lease} times a try went by a lease");
}
