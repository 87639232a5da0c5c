//! Limits that several runs share through a store, against a store in virtual time.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::*;
use shaper::drive::simulated::Store;
use shaper::engine::Signal;
use shaper::engine::share::{
    Answer, AskId, Charged, Common, HeldBy, Mark, OnLoss, Part, Sharing, Wish, Word,
};
use shaper::error::{Exit, Problem};
use shaper::limit::{Hold, Limit, Ready, Setting, Slots, Used};

type Key = (Common, Option<Arc<str>>);

/// The state that all members share.
#[derive(Default)]
struct Model {
    specs: Vec<Spec>,
    slots: Option<Cost>,
    limits: BTreeMap<Key, Box<dyn Limit>>,
    holds: HashMap<Mark, Hold>,
    marks: u64,
    pauses: HashMap<Arc<str>, Tick>,
    settled: Vec<(Common, Used)>,
}

impl Model {
    fn new(specs: &[Spec], slots: Option<u64>) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self {
            specs: specs.to_vec(),
            slots: slots.and_then(Cost::new),
            ..Self::default()
        }))
    }

    fn limit(&mut self, of: Common, key: Option<&Arc<str>>) -> &mut dyn Limit {
        let (specs, slots) = (&self.specs, self.slots);
        let limit = self.limits.entry((of, key.cloned()));
        let limit = limit.or_insert_with(|| match of {
            Common::Slots => Box::new(Slots::new(slots.unwrap())),
            Common::Limit(number) => specs[number].build(&Setting::VIRTUAL),
        });
        &mut **limit
    }

    fn admit(&mut self, now: Tick, lane: &Arc<str>, parts: &[Part]) -> Answer {
        if let Some(until) = self.pauses.get(lane).filter(|until| **until > now) {
            return Answer::Refused(HeldBy::Pause, until.since(now));
        }
        for part in parts {
            let wait = match self.limit(part.of, part.key.as_ref()).ready(now, part.cost) {
                Ready::At(at) if at <= now => continue,
                Ready::At(at) => at.since(now),
                Ready::OnRelease | Ready::Never(_) => Duration::from_millis(10),
            };
            return Answer::Refused(HeldBy::Limit(part.of), wait);
        }
        let charged = parts.iter().map(|part| {
            let hold = self.limit(part.of, part.key.as_ref()).take(now, part.cost);
            self.marks += 1;
            let mark = Mark(self.marks);
            self.holds.insert(mark, hold);
            Charged { mark, more: 0 }
        });
        Answer::Granted(charged.collect())
    }

    fn hear(&mut self, now: Tick, wish: Wish) -> Option<(AskId, Answer)> {
        match wish {
            Wish::Admit {
                id, lane, parts, ..
            } => return Some((id, self.admit(now, &lane, &parts))),
            Wish::Moved(bill, at) => {
                let mut hold = self.holds.remove(&bill.mark).unwrap();
                self.limit(bill.of, bill.key.as_ref()).moved(&mut hold, at);
                self.holds.insert(bill.mark, hold);
            }
            Wish::Settle(bill, at, used) => {
                let hold = self.holds.remove(&bill.mark).expect("it is settled once");
                self.limit(bill.of, bill.key.as_ref())
                    .settle(hold, at, used);
                self.settled.push((bill.of, used));
            }
            Wish::Pause(lane, until) => {
                self.pauses.insert(lane, until);
            }
            Wish::Owe(debt) => {
                let limit = self.limit(debt.of, debt.key.as_ref());
                for (at, cost) in debt.taken {
                    let mut hold = limit.take(at, cost);
                    limit.moved(&mut hold, at);
                    limit.settle(hold, at, Used::Unknown);
                }
            }
        }
        None
    }
}

/// One of those who share it.
struct Member {
    model: Rc<RefCell<Model>>,
    latency: Duration,
    words: BTreeMap<(Tick, u64), Word>,
    count: u64,
    away: bool,
    queued: Vec<Wish>,
}

impl Member {
    fn of(model: &Rc<RefCell<Model>>) -> Self {
        Self {
            model: Rc::clone(model),
            latency: Duration::from_millis(1),
            words: BTreeMap::new(),
            count: 0,
            away: false,
            queued: Vec::new(),
        }
    }

    /// The store says this at that moment.
    fn says(mut self, at: Tick, word: Word) -> Self {
        self.say(at, word);
        self
    }

    /// The store is away from then on.
    fn away(self, from: Tick, to: Tick) -> Self {
        let problem = Problem::new(Exit::Store, "redis at h:1: connection refused", "start it");
        self.says(from, Word::Away(problem, from))
            .says(to, Word::Back)
    }

    fn say(&mut self, at: Tick, word: Word) {
        self.count += 1;
        self.words.insert((at, self.count), word);
    }

    fn handle(&mut self, now: Tick, wish: Wish) {
        let answer = self.model.borrow_mut().hear(now, wish);
        if let Some((id, answer)) = answer {
            self.say(now.after(self.latency), Word::Answered(id, answer));
        }
    }
}

impl Store for Member {
    fn hear(&mut self, now: Tick, wish: Wish) {
        if self.away {
            self.queued.push(wish);
        } else {
            self.handle(now, wish);
        }
    }

    fn next(&self) -> Option<Tick> {
        self.words.keys().next().map(|(at, _)| *at)
    }

    fn take(&mut self, now: Tick) -> Option<Word> {
        self.next().filter(|at| *at <= now)?;
        let (_, word) = self.words.pop_first()?;
        match &word {
            Word::Away(..) => self.away = true,
            Word::Back => {
                self.away = false;
                for wish in std::mem::take(&mut self.queued) {
                    self.handle(now, wish);
                }
            }
            _ => {}
        }
        Some(word)
    }
}

fn shared(slots: Option<u64>, limits: Vec<Spec>, on_loss: OnLoss) -> Rules {
    Rules {
        sharing: Some(Sharing {
            slots: None,
            on_loss,
            grace: Duration::from_secs(10),
            fresh: Duration::from_secs(1),
            only: None,
        }),
        ..rules(slots, limits)
    }
}

struct Told {
    sent: Vec<u64>,
    summary: Summary,
    end: End,
    waits: Vec<BTreeMap<String, Duration>>,
}

/// Runs one member to its end.
fn run(rules: Rules, count: u64, latency: Duration, mut member: Member) -> Told {
    let (mut sent, mut waits) = (Vec::new(), Vec::new());
    let mut watch = |seen: Seen<'_>| match seen {
        Seen::Sent(at, ..) => sent.push(at.0),
        Seen::Done(_, outcome) => waits.push(
            outcome
                .waits
                .iter()
                .map(|(name, span)| (name.to_string(), span))
                .collect(),
        ),
        Seen::Prepared(..) => {}
    };
    let mut api = ok_after(latency);
    let simulation = Simulation::new(rules, jobs(count), &mut api, &mut watch);
    let (summary, end) = simulation.sharing(&mut member).run();
    let counts = summary.tally.counts;
    assert_eq!(counts.read, counts.done() + counts.cancelled);
    Told {
        sent,
        summary,
        end,
        waits,
    }
}

const FAST: Duration = Duration::from_millis(5);

#[test]
fn a_run_sends_as_the_store_lets_it_and_the_round_trip_is_the_stores() {
    let limits = vec![qps("10/s", 1)];
    let model = Model::new(&limits, None);
    let seen = run(
        shared(Some(5), limits, OnLoss::Stop),
        30,
        FAST,
        Member::of(&model),
    );
    assert_eq!(seen.end, End::Finished);
    assert_eq!(seen.sent.len(), 30);
    // Each goes a round trip after its moment, and the one that asks first after a grant is told when.
    let gaps = seen.sent.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(
        gaps.clone().all(|gap| gap >= 100 * MILLI),
        "{:?}",
        seen.sent
    );
    assert!(seen.sent[29] < 29 * 102 * MILLI, "{:?}", seen.sent);
    let store = seen.waits.iter().filter_map(|waits| waits.get("store"));
    assert!(store.clone().all(|span| *span >= Duration::from_millis(1)));
    assert!(store.count() == 30);
    let told = seen.summary.unseen.unwrap().store;
    assert!(
        told.asks >= 30 && told.refused == told.asks - 30,
        "{told:?}"
    );
    assert!(seen.waits[20].contains_key("qps"), "{:?}", seen.waits[20]);
}

#[test]
fn several_runs_together_keep_one_limit() {
    let limits = vec![
        qps("20/s", 1),
        Spec::window("window", "15/s".parse().unwrap()),
    ];
    let model = Model::new(&limits, None);
    let sent: Vec<RefCell<Vec<u64>>> = (0..4).map(|_| RefCell::default()).collect();
    let mut members: Vec<Member> = (0..4).map(|_| Member::of(&model)).collect();
    let mut apis: Vec<_> = (0..4).map(|_| ok_after(FAST)).collect();
    let mut watches: Vec<_> = sent
        .iter()
        .map(|sent| {
            move |seen: Seen<'_>| {
                if let Seen::Sent(at, ..) = seen {
                    sent.borrow_mut().push(at.0);
                }
            }
        })
        .collect();
    let each = members.iter_mut().zip(&mut apis).zip(&mut watches);
    let mut runs: Vec<_> = each
        .map(|((member, api), watch)| {
            let rules = shared(Some(10), limits.clone(), OnLoss::Stop);
            Simulation::new(rules, jobs(50), api, watch).sharing(member)
        })
        .collect();
    loop {
        let next = runs.iter_mut().enumerate();
        let next = next.filter_map(|(nth, run)| Some((run.next_step()?, nth)));
        let Some((_, nth)) = next.min() else { break };
        runs[nth].step();
    }
    drop(runs);
    let mut all: Vec<u64> = sent.iter().flat_map(|sent| sent.borrow().clone()).collect();
    all.sort_unstable();
    assert_eq!(all.len(), 200);
    for pair in all.windows(16) {
        // The window counts from the send, which is a round trip after its grant.
        assert!(pair[15] - pair[0] >= SECOND - 2 * MILLI, "{pair:?}");
    }
}

#[test]
fn while_the_store_is_away_nothing_is_sent_and_then_it_goes_on() {
    let limits = vec![qps("10/s", 1)];
    let model = Model::new(&limits, None);
    let (from, to) = (Tick(SECOND), Tick(4 * SECOND));
    let seen = run(
        shared(Some(5), limits, OnLoss::Stop),
        30,
        FAST,
        Member::of(&model).away(from, to),
    );
    assert_eq!(seen.end, End::Finished);
    assert_eq!(seen.summary.tally.counts.ok, 30);
    let during = |at: &&u64| **at > from.0 + MILLI && **at < to.0;
    assert_eq!(
        seen.sent.iter().filter(during).count(),
        0,
        "{:?}",
        seen.sent
    );
    let told = seen.summary.unseen.unwrap().store;
    assert_eq!((told.times_away, told.away), (1, Duration::from_secs(3)));
    let shares = &seen.summary.stretch.shares;
    let store = shares.iter().find(|(owner, _)| *owner == Owner::Store);
    assert!(
        store.unwrap().1 >= Duration::from_millis(2_900),
        "{shares:?}"
    );
}

#[test]
fn a_store_that_stays_away_ends_the_run_after_the_grace_with_all_results_whole() {
    let limits = vec![qps("10/s", 1)];
    let model = Model::new(&limits, None);
    let seen = run(
        shared(Some(5), limits, OnLoss::Stop),
        300,
        FAST,
        Member::of(&model).away(Tick(SECOND), Tick(100 * SECOND)),
    );
    let End::StoreLost(problem) = &seen.end else {
        panic!("{:?}", seen.end)
    };
    assert!(problem.to_string().contains("h:1"), "{problem}");
    assert_eq!(problem.exit, Exit::Store);
    assert_eq!(seen.summary.tally.counts.ok, seen.sent.len() as u64);
    assert!(seen.sent.len() < 12);
    assert!(seen.summary.elapsed >= Duration::from_secs(10));
}

#[test]
fn alone_a_run_keeps_its_part_and_asks_again_when_the_store_is_back() {
    let limits = vec![qps("20/s", 4)];
    let model = Model::new(&limits, None);
    let (from, to) = (Tick(SECOND), Tick(11 * SECOND));
    let member = Member::of(&model)
        .says(Tick(MILLI), Word::Members(4))
        .away(from, to);
    let seen = run(shared(Some(5), limits, OnLoss::Local), 200, FAST, member);
    assert_eq!(seen.end, End::Finished);
    assert_eq!(seen.summary.tally.counts.ok, 200);
    let during = |at: &&u64| **at >= from.0 + 2 * MILLI && **at < to.0;
    let alone = seen.sent.iter().filter(during).count();
    // A quarter of 20/s for ten seconds, beginning with nothing.
    assert!((49..=50).contains(&alone), "{alone}");
    let after = seen.sent.iter().filter(|at| **at > to.0 + SECOND).count();
    assert!(after > 100, "{after}");
}

#[test]
fn open_lets_everything_go_while_the_store_is_away() {
    let limits = vec![qps("10/s", 1)];
    let model = Model::new(&limits, None);
    let member = Member::of(&model).away(Tick(SECOND), Tick(100 * SECOND));
    let seen = run(shared(Some(5), limits, OnLoss::Open), 300, FAST, member);
    assert_eq!(seen.end, End::Finished);
    let first = seen.sent.iter().filter(|at| **at < SECOND).count();
    assert!(first <= 11, "{first}");
    assert!(seen.sent[299] < 2 * SECOND, "{:?}", seen.sent.last());
}

#[test]
fn a_pause_that_one_run_is_asked_for_holds_for_all() {
    let limits = vec![qps("100/s", 1)];
    let model = Model::new(&limits, None);
    let lane: Arc<str> = "http://127.0.0.1".into();
    model.borrow_mut().pauses.insert(lane, Tick(2 * SECOND));
    let seen = run(
        shared(Some(5), limits, OnLoss::Stop),
        10,
        FAST,
        Member::of(&model),
    );
    assert!(seen.sent[0] >= 2 * SECOND, "{:?}", seen.sent);
    assert!(seen.waits[0].contains_key("pause"), "{:?}", seen.waits[0]);
}

#[test]
fn a_retry_after_is_told_to_the_others() {
    let limits = vec![qps("100/s", 1)];
    let model = Model::new(&limits, None);
    let mut member = Member::of(&model);
    let mut answers = 0;
    let mut api = |_: Tick, _: &Job, _: &Grant| {
        answers += 1;
        let mut reply = simulated::reply(StatusCode::OK);
        if answers == 3 {
            reply.head.status = StatusCode::TOO_MANY_REQUESTS;
            reply.head.headers = Fields::of([("retry-after", "2")]);
        }
        (FAST, Ok(reply))
    };
    let rules = shared(Some(1), limits, OnLoss::Stop);
    let mut watch = |_: Seen<'_>| {};
    let simulation = Simulation::new(rules, jobs(10), &mut api, &mut watch);
    let (_, end) = simulation.sharing(&mut member).run();
    assert_eq!(end, End::Finished);
    let model = model.borrow();
    let until = model.pauses.values().next().unwrap();
    assert!(until.0 > 2 * SECOND, "{until:?}");
    assert_eq!(model.holds.len(), 11, "what needs no word has none");
}

#[test]
fn slots_that_are_shared_are_given_back_when_the_result_is_in_the_file() {
    let model = Model::new(&[], Some(3));
    let mut rules = shared(Some(10), Vec::new(), OnLoss::Stop);
    rules.sharing.as_mut().unwrap().slots = Cost::new(3);
    let seen = run(rules, 30, Duration::from_millis(100), Member::of(&model));
    assert_eq!(seen.end, End::Finished);
    assert_eq!(seen.summary.peak_in_flight, 3);
    assert_eq!(model.borrow().holds.len(), 0, "all are free");
    assert!(
        seen.waits
            .iter()
            .any(|waits| waits.contains_key("shared_slot"))
    );
}

#[test]
fn units_that_were_not_used_go_back_to_the_store() {
    let limits = vec![Spec::bucket(
        "tpm",
        Counts::Units,
        "6000/m".parse().unwrap(),
        Cost::new(1000).unwrap(),
    )];
    let model = Model::new(&limits, None);
    let lines = (0..12).map(|line| (Tick::ZERO, Ok(job(line, Some(200), 1))));
    let mut member = Member::of(&model);
    let mut api = |_: Tick, _: &Job, _: &Grant| {
        let mut reply = simulated::reply(StatusCode::OK);
        reply.used = Some(shaper::outcome::Usage {
            total: 10,
            input: None,
            output: None,
        });
        (FAST, Ok(reply))
    };
    let mut watch = |_: Seen<'_>| {};
    let rules = shared(Some(1), limits, OnLoss::Stop);
    let simulation = Simulation::new(rules, lines, &mut api, &mut watch);
    let (summary, end) = simulation.sharing(&mut member).run();
    assert_eq!(end, End::Finished);
    assert_eq!(summary.tally.counts.ok, 12);
    // Reserved, 12 times 200 would take 14 s.
    assert!(
        summary.elapsed < Duration::from_millis(100),
        "{:?}",
        summary.elapsed
    );
    let model = model.borrow();
    assert!(model.holds.is_empty());
    assert!(
        model
            .settled
            .iter()
            .all(|(_, used)| *used == Used::Known(10))
    );
}

#[test]
fn a_signal_does_not_wait_for_the_store_and_what_that_grants_later_goes_back() {
    let limits = vec![qps("10/s", 1)];
    let model = Model::new(&limits, None);
    let mut member = Member::of(&model);
    member.latency = Duration::from_millis(50);
    let mut engine = Engine::new(shared(Some(5), limits, OnLoss::Stop));
    let mut actions = Vec::new();
    engine.decide(Tick::ZERO, &mut actions);
    let read = Event::read(Ok(job(0, None, 1)), Tick::ZERO);
    engine.tell(Tick::ZERO, read, &mut actions);
    actions.clear();
    engine.decide(Tick::ZERO, &mut actions);
    let asked = actions.iter().find_map(|action| match action {
        Action::Store(Wish::Admit { id, .. }) => Some(*id),
        _ => None,
    });
    actions.clear();
    let now = Tick(MILLI);
    engine.tell(now, Event::Signal(Signal::Interrupt, now), &mut actions);
    let granted = Answer::Granted(Box::new([Charged {
        mark: Mark(7),
        more: 0,
    }]));
    let word = Word::Answered(asked.unwrap(), granted);
    engine.tell(now, Event::Store(word, now), &mut actions);
    engine.decide(now, &mut actions);
    assert!(
        actions.iter().any(|action| matches!(
            action,
            Action::Store(Wish::Settle(bill, _, Used::NeverSent)) if bill.mark == Mark(7)
        )),
        "{actions:?}"
    );
    assert!(matches!(
        actions.last(),
        Some(Action::Stop(End::Signalled(Signal::Interrupt)))
    ));
}

#[test]
fn a_grant_that_is_heard_of_too_late_goes_back_and_is_asked_for_again() {
    let limits = vec![qps("10/s", 1)];
    let mut engine = Engine::new(shared(Some(5), limits, OnLoss::Stop));
    let mut actions = Vec::new();
    let asked = |actions: &[Action]| {
        let mut asks = actions.iter().filter_map(|action| match action {
            Action::Store(Wish::Admit { id, .. }) => Some(*id),
            _ => None,
        });
        asks.next_back()
    };
    engine.decide(Tick::ZERO, &mut actions);
    let read = Event::read(Ok(job(0, None, 1)), Tick::ZERO);
    engine.tell(Tick::ZERO, read, &mut actions);
    actions.clear();
    engine.decide(Tick::ZERO, &mut actions);
    // This process, or the store behind its answer, stood still for five seconds; then it hears at once.
    let now = Tick(5 * SECOND);
    for (mark, charged_at, goes) in [(Mark(7), Tick(MILLI), false), (Mark(8), now, true)] {
        let id = asked(&actions).expect("it asks");
        actions.clear();
        let granted = Answer::Granted(Box::new([Charged { mark, more: 0 }]));
        let word = Word::Answered(id, granted);
        engine.tell(now, Event::Store(word, charged_at), &mut actions);
        engine.decide(now, &mut actions);
        let gone = |action: &Action| matches!(action, Action::Send(..));
        assert_eq!(actions.iter().any(gone), goes, "{actions:?}");
        let back = |action: &Action| matches!(action, Action::Store(Wish::Settle(bill, _, Used::NeverSent)) if bill.mark == mark);
        assert_eq!(actions.iter().any(back), !goes, "{actions:?}");
    }
}

#[test]
fn what_was_sent_while_the_store_was_away_counts_when_it_is_back() {
    let limits = vec![Spec::window("window", "5/10s".parse().unwrap())];
    let model = Model::new(&limits, None);
    let member = Member::of(&model).away(Tick(MILLI), Tick(SECOND));
    let half = Duration::from_millis(500);
    let seen = run(shared(Some(1), limits, OnLoss::Open), 20, half, member);
    // Alone for five seconds, in case it goes again: two in each.
    let before = seen.sent.iter().filter(|at| **at < 6 * SECOND).count();
    assert!((9..=11).contains(&before), "{:?}", seen.sent);
    // The last five of them fill the window.
    let first = seen.sent[before - 5] + 10 * SECOND;
    assert!(seen.sent[before] >= first, "{:?}", seen.sent);
    assert!(seen.sent[before] < first + SECOND, "{:?}", seen.sent);
}
