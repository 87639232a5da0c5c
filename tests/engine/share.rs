//! Limits that several runs share through a store, against a store in virtual time.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::*;
use shaper::drive::modelled::{Draws, Modelled};
use shaper::drive::simulated::{Api, Store};
use shaper::engine::Signal;
use shaper::engine::share::{
    Answer, AskId, Common, HeldBy, Leased, Mark, OnLoss, Part, Sharing, Taught, Wish, Word,
};
use shaper::error::{Exit, Problem};
use shaper::limit::{Adaptive, Hold, Known, Lesson, Limit, Ready, Setting, Slots, Used};
use shaper::quota::Provider;
use shaper::units::nanos;

type Key = (Common, Option<Arc<str>>);

/// Only limits are granted ahead.
fn number(of: Common) -> u64 {
    match of {
        Common::Slots | Common::Learnt(_) => 0,
        Common::Limit(number) => 1 + number as u64,
    }
}

/// The state that all members share.
#[derive(Default)]
struct Model {
    specs: Vec<Spec>,
    slots: Option<Cost>,
    limits: BTreeMap<Key, Box<dyn Limit>>,
    learnt: BTreeMap<Key, Adaptive>,
    holds: HashMap<Mark, Hold>,
    /// Those of them of which an answer is there.
    answered: HashSet<Mark>,
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
        if let Common::Learnt(_) = of {
            return self.learnt.entry((of, key.cloned())).or_default();
        }
        let (specs, slots) = (&self.specs, self.slots);
        let limit = self.limits.entry((of, key.cloned()));
        let limit = limit.or_insert_with(|| match of {
            Common::Slots => Box::new(Slots::new(slots.unwrap())),
            Common::Limit(number) => specs[number].build(&Setting::VIRTUAL),
            Common::Learnt(_) => unreachable!("it has its own place"),
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
            mark
        });
        Answer::Granted(charged.collect())
    }

    /// As many as fit one after the other until then, for their moments; how long after `now` the first is, too.
    fn lease(
        &mut self,
        now: Tick,
        parts: &[Part],
        most: u64,
        reach: Duration,
    ) -> (Answer, Duration) {
        let (mut first, mut moments, mut at) = (None, Vec::new(), now);
        while moments.len() < usize::try_from(most).unwrap() {
            for part in parts {
                match self.limit(part.of, part.key.as_ref()).ready(at, part.cost) {
                    Ready::At(ready) => at = ready,
                    other => panic!("{other:?}"),
                }
            }
            if at > now.after(reach) {
                break;
            }
            let marks = parts.iter().map(|part| {
                let hold = self.limit(part.of, part.key.as_ref()).take(at, part.cost);
                // Those of one part count up from that of the first.
                let mark = Mark(self.marks + 1 + 1_000_000 * number(part.of));
                self.holds.insert(mark, hold);
                mark
            });
            let marks: Box<[Mark]> = marks.collect();
            self.marks += 1;
            first.get_or_insert(marks);
            moments.push(at);
        }
        let Some(first) = first else {
            let wait = at.since(now.after(reach));
            return (
                Answer::Refused(HeldBy::Limit(parts[0].of), wait),
                Duration::ZERO,
            );
        };
        let after = moments.iter().map(|at| at.since(moments[0])).collect();
        let leased = Leased { first, after };
        (Answer::Leased(leased), moments[0].since(now))
    }

    fn hear(&mut self, now: Tick, wish: Wish) -> Option<(AskId, Answer, Duration)> {
        match wish {
            Wish::Lease {
                id,
                parts,
                most,
                reach,
                ..
            } => {
                let (answer, first) = self.lease(now, &parts, most, reach);
                return Some((id, answer, first));
            }
            Wish::Admit {
                id, lane, parts, ..
            } => return Some((id, self.admit(now, &lane, &parts), Duration::ZERO)),
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
            Wish::Learn(taught) => self.learn(&taught),
            Wish::Hold(bill) => {
                let hold = self.limit(bill.of, None).take(now, bill.cost);
                assert!(self.holds.insert(bill.mark, hold).is_none());
            }
        }
        None
    }

    /// As the store does, by what it has charged: the moment of a grant is its own.
    fn learn(&mut self, taught: &Taught) {
        let mut hold = taught.mark.and_then(|mark| self.holds.remove(&mark));
        let is_first = taught.mark.is_some_and(|mark| self.answered.insert(mark));
        let limit = self.limit(Common::Learnt(taught.of), Some(&taught.lane));
        if let Some(hold) = hold.as_mut().filter(|_| is_first) {
            limit.moved(hold, Tick::ZERO);
        }
        if hold.is_some() || matches!(taught.lesson, Lesson::Told(_)) {
            limit.learn(&taught.lesson);
        }
        self.holds.extend(taught.mark.zip(hold));
    }
}

/// One of those who share it.
struct Member {
    model: Rc<RefCell<Model>>,
    latency: Duration,
    words: BTreeMap<(Tick, u64), Word>,
    /// The moments of what is granted.
    first: HashMap<AskId, Tick>,
    count: u64,
    away: bool,
    queued: Vec<Wish>,
    /// Tells it from the others.
    nth: u64,
    /// What it knows of all that is learnt.
    knows: BTreeMap<Key, Known>,
}

impl Member {
    fn of(model: &Rc<RefCell<Model>>) -> Self {
        Self {
            model: Rc::clone(model),
            latency: Duration::from_millis(1),
            words: BTreeMap::new(),
            first: HashMap::new(),
            count: 0,
            away: false,
            queued: Vec::new(),
            nth: 0,
            knows: BTreeMap::new(),
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

    /// What is new of what all have learnt of this.
    fn learns(&mut self, now: Tick, key: &Key) {
        let known = match self.model.borrow().learnt.get(key) {
            Some(learnt) => learnt.known(now),
            None => return,
        };
        let limits = |known: &Known| -> Vec<_> {
            let told = known.told.iter();
            told.map(|told| (told.limit, told.period)).collect()
        };
        let about = |known: &Known| (known.pace, known.refused, known.used_up, limits(known));
        let before = self.knows.entry(key.clone()).or_default();
        if about(before) == about(&known) {
            return;
        }
        before.clone_from(&known);
        let mut known = known;
        for told in &mut known.told {
            let full_at = told.full_at.map(|at| at.since(told.at));
            (told.at, told.full_at) = (Tick::ZERO, full_at.map(|span| Tick::ZERO.after(span)));
        }
        if let (Common::Learnt(counts), Some(lane)) = key {
            let word = Word::Learnt(*counts, lane.clone(), Box::new(known));
            self.say(now.after(self.latency), word);
        }
    }

    fn handle(&mut self, now: Tick, mut wish: Wish) {
        if let Wish::Hold(bill) | Wish::Settle(bill, ..) = &mut wish
            && bill.mark.is_own()
        {
            bill.mark.0 ^= self.nth << 32;
        }
        let touches: Vec<Key> = match &wish {
            Wish::Admit { parts, .. } => parts.iter().map(|it| (it.of, it.key.clone())).collect(),
            Wish::Learn(taught) => vec![(Common::Learnt(taught.of), Some(taught.lane.clone()))],
            _ => Vec::new(),
        };
        // Half of the way is that to the store; nobody else asks it meanwhile.
        let answer = self.model.borrow_mut().hear(now, wish);
        for key in &touches {
            self.learns(now, key);
        }
        if let Some((id, answer, first)) = answer {
            let heard = now.after(self.latency);
            self.say(heard, Word::Answered(id, answer));
            self.first.insert(id, heard.after(first));
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

    fn take(&mut self, now: Tick) -> Option<(Word, Tick)> {
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
        let moment = match &word {
            Word::Answered(id, _) => self.first.remove(id),
            _ => None,
        };
        Some((word, moment.unwrap_or(now)))
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

/// Runs them all at once, each with so many jobs, against one server; when they sent, and what each tells.
fn together(
    rules: &Rules,
    count: u64,
    mut members: Vec<Member>,
    api: &mut dyn Api,
) -> (Vec<u64>, Vec<Summary>) {
    let sent = RefCell::new(Vec::new());
    let api = RefCell::new(api);
    let mut apis: Vec<_> = members
        .iter()
        .map(|_| |at: Tick, job: &Job, grant: &Grant| api.borrow_mut().answer(at, job, grant))
        .collect();
    let mut watches: Vec<_> = members
        .iter()
        .map(|_| {
            |seen: Seen<'_>| {
                if let Seen::Sent(at, ..) = seen {
                    sent.borrow_mut().push(at.0);
                }
            }
        })
        .collect();
    let each = members.iter_mut().zip(&mut apis).zip(&mut watches);
    let mut runs: Vec<_> = each
        .map(|((member, api), watch)| {
            Simulation::new(rules.clone(), jobs(count), api, watch).sharing(member)
        })
        .collect();
    loop {
        let next = runs.iter_mut().enumerate();
        let next = next.filter_map(|(nth, run)| Some((run.next_step()?, nth)));
        let Some((_, nth)) = next.min() else { break };
        runs[nth].step();
    }
    let ended = runs.into_iter().map(|run| {
        let (summary, end) = run.close();
        assert_eq!(end, End::Finished);
        summary
    });
    let ended = ended.collect();
    let mut sent = sent.into_inner();
    sent.sort_unstable();
    (sent, ended)
}

#[test]
fn several_runs_together_keep_one_limit() {
    let limits = vec![
        qps("20/s", 1),
        Spec::window("window", "15/s".parse().unwrap()),
    ];
    let model = Model::new(&limits, None);
    let rules = shared(Some(10), limits, OnLoss::Stop);
    let members = (0..4).map(|_| Member::of(&model)).collect();
    let (all, _) = together(&rules, 50, members, &mut ok_after(FAST));
    assert_eq!(all.len(), 200);
    for pair in all.windows(16) {
        // The window counts from the send, which is a round trip after its grant.
        assert!(pair[15] - pair[0] >= SECOND - 2 * MILLI, "{pair:?}");
    }
}

/// 20 slots each, and no limit but what they learn together.
fn learning(on_loss: OnLoss) -> Rules {
    let mut rules = shared(Some(20), Vec::new(), on_loss);
    rules.adaptive = true;
    rules.re_entry = Some(Duration::from_millis(5));
    rules
}

fn modelled(api: &str) -> Modelled {
    let spec = api.parse().unwrap();
    Modelled::new(&spec, None, Setting::VIRTUAL, 1, Draws::Jobs).telling(true)
}

/// Three runs that learn together what this server takes.
fn three(rules: &Rules, api: &str, count: u64) -> (Vec<u64>, Vec<Summary>) {
    let model = Model::new(&[], None);
    let members = (0..3).map(|_| Member::of(&model)).collect();
    together(rules, count, members, &mut modelled(api))
}

#[test]
fn runs_that_learn_together_send_no_more_in_vain_than_one_does() {
    for (api, count) in [
        ("limit=100/1s window,latency=50ms", 1_000),
        ("limit=100/1s window,latency=50ms,retry-after=none", 1_000),
        ("limit=100/1s bucket burst=100,latency=50ms", 1_000),
        ("limit=100/1s fixed,latency=50ms", 1_000),
        ("limit=600/1m window,latency=50ms", 400),
    ] {
        let (sent, ended) = three(&learning(OnLoss::Stop), api, count);
        let ok: u64 = ended.iter().map(|summary| summary.tally.counts.ok).sum();
        assert_eq!(ok, 3 * count, "{api}");
        let tries = sent.len() as u64;
        assert!(tries * 10 <= 33 * count, "{api}: {tries} tries");
        for summary in &ended {
            let [learnt] = &summary.learning.keys[..] else {
                panic!("{:?}", summary.learning);
            };
            assert!(learnt.by_all && learnt.refused + learnt.used_up > 0);
            assert_eq!(learnt.key, "http://127.0.0.1");
        }
    }
}

#[test]
fn what_the_server_tells_is_kept_by_all_together_and_none_is_refused() {
    for (api, count) in [
        ("limit=100/1s window,latency=50ms", 700),
        ("limit=100/1s fixed,latency=50ms", 700),
        ("limit=60/1m fixed,latency=1s,retry-after=none", 100),
    ] {
        let mut rules = learning(OnLoss::Stop);
        rules.provider = Provider::named("github").ok();
        let (sent, ended) = three(&rules, api, count);
        assert_eq!(sent.len() as u64, 3 * count, "{api}: a refusal");
        assert!(ended.iter().all(|it| it.tally.counts.ok == count), "{api}");
        let told = &ended[2].learning.keys[0].told;
        assert!(told.iter().any(|told| told.limit <= 100), "{told:?}");
    }
}

#[test]
fn a_run_that_comes_later_begins_with_what_is_known() {
    let model = Model::new(&[], None);
    let rules = learning(OnLoss::Stop);
    let mut api = modelled("limit=100/1s window,latency=50ms");
    let first = vec![Member::of(&model)];
    let (first, _) = together(&rules, 1_000, first, &mut api);
    let began = Tick(first[first.len() - 1] + SECOND / 20);
    let lines = (0..300).map(|line| (began, Ok(job(line, None, 1))));
    let (mut member, mut sent) = (Member::of(&model), Vec::new());
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Sent(at, ..) = seen {
            sent.push(at.0);
        }
    };
    let later = Simulation::new(rules, lines, &mut api, &mut watch);
    let (summary, _) = later.sharing(&mut member).run();
    assert_eq!(summary.tally.counts.ok, 300);
    // Nobody who knows nothing sends so little at once.
    assert!(sent[19] - sent[0] >= SECOND / 10, "{sent:?}");
    assert!(sent.len() <= 310, "{} tries", sent.len());
}

#[test]
fn alone_a_run_goes_on_with_its_part_of_what_is_known() {
    let model = Model::new(&[], None);
    let (from, to) = (Tick(10 * SECOND), Tick(20 * SECOND));
    let member = Member::of(&model)
        .says(Tick(MILLI), Word::Members(4))
        .away(from, to);
    let mut api = modelled("limit=100/1s window,latency=50ms");
    let (sent, ended) = together(&learning(OnLoss::Local), 2_000, vec![member], &mut api);
    assert_eq!(ended[0].tally.counts.ok, 2_000);
    // It begins with a quarter of some 90/s, and what it finds to be free it takes.
    let first = from.0 + MILLI..from.0 + SECOND;
    let first = sent.iter().filter(|at| first.contains(at)).count();
    assert!((15..=27).contains(&first), "{first}");
    let back = to.0..to.0 + SECOND;
    let back = sent.iter().filter(|at| back.contains(at)).count();
    assert!(back >= 60, "{back}");
    assert!(sent.len() <= 2_200, "{} tries", sent.len());
    // What all know is told, and not the part that one kept of it.
    let learnt = &ended[0].learning.keys[0];
    let pace = learnt.pace.unwrap().per_second();
    assert!(
        learnt.by_all && (60.0..=120.0).contains(&pace),
        "{learnt:?}"
    );
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
fn slots_of_tries_that_were_sent_alone_are_held_of_all_when_the_store_is_back() {
    let latency = Duration::from_secs(3);
    for on_loss in [OnLoss::Local, OnLoss::Open] {
        let model = Model::new(&[], Some(6));
        let mut rules = shared(Some(5), Vec::new(), on_loss);
        rules.sharing.as_mut().unwrap().slots = Cost::new(6);
        let (from, to) = (Tick(SECOND), Tick(2 * SECOND));
        let member = |nth| {
            let mut member = Member::of(&model).says(Tick(MILLI), Word::Members(3));
            member.nth = nth;
            member.away(from, to)
        };
        let members = (0..3).map(member).collect();
        let (sent, _) = together(&rules, 20, members, &mut ok_after(latency));
        assert_eq!(sent.len(), 60, "{on_loss}");
        let in_flight = |at: u64| {
            let flown = Tick(at).before(latency).0;
            sent.iter()
                .filter(|sent| **sent > flown && **sent <= at)
                .count()
        };
        // Alone each for five seconds; then nobody goes before there is room for all.
        let back = from.0 + 5 * SECOND + 2 * MILLI;
        let later = sent.iter().filter(|at| **at > back);
        assert!(later.clone().count() > 20, "{on_loss}: {sent:?}");
        for at in later {
            assert!(in_flight(*at) <= 6, "{on_loss}: {} at {at}", in_flight(*at));
        }
        if on_loss == OnLoss::Local {
            // Of the six that flew then one may have had all, and the others begin with their parts.
            let most = sent.iter().map(|at| in_flight(*at)).max();
            assert!(most <= Some(6 + 2 * 2), "{most:?}");
        }
        let model = model.borrow();
        assert!(model.holds.is_empty(), "{on_loss}: all are free");
    }
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
    let granted = Answer::Granted(Box::new([Mark(7)]));
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
        let granted = Answer::Granted(Box::new([mark]));
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

/// What went at which moments of the store, as a run tells it: the least time between so many of them.
fn least_gap(granted: &[u64], apart: usize) -> u64 {
    let gaps = granted.windows(apart + 1);
    gaps.map(|all| all[apart] - all[0]).min().unwrap()
}

#[test]
fn over_a_long_way_an_evenly_spaced_limit_reaches_its_rate_and_keeps_it() {
    for (text, millis, jobs) in [
        ("20/s", 500, 200),
        ("200/s", 50, 1_000),
        ("2000/s", 20, 4_000),
        ("2000/s leaky", 20, 4_000),
        ("50/s burst=5", 100, 400),
    ] {
        let spec: Spec = text.parse().unwrap();
        let limits = vec![spec.clone()];
        let model = Model::new(&limits, None);
        let mut member = Member::of(&model);
        member.latency = Duration::from_millis(millis);
        let seen = run(shared(Some(400), limits, OnLoss::Stop), jobs, FAST, member);
        assert_eq!(seen.end, End::Finished);
        assert_eq!(seen.summary.tally.counts.ok, jobs, "{text}");
        let burst = usize::try_from(spec.burst.get()).unwrap();
        let each = nanos(spec.rate.period) / spec.rate.count.get();
        assert!(least_gap(&seen.sent, burst) >= each, "{text}");
        // After a few ways it goes at its rate.
        let (half, last) = (seen.sent.len() / 2, seen.sent.len() - 1);
        let took = seen.sent[last] - seen.sent[half];
        let at_rate = (last - half) as u64 * each;
        assert!(
            took <= at_rate + at_rate / 50,
            "{text}: {took}, not {at_rate}"
        );
    }
}
