//! Limits that several runs share, against a real `redis-server`. Moments are told to the script where they have to be
//! exact; real time is only bounded from below.

#![expect(clippy::unwrap_used, reason = "a test that unwraps nothing fails here")]

mod redis {
    mod api;
    mod calls;
    mod door;
    mod learnt;
    mod leases;
    mod places;
    mod processes;
    mod rules;
    mod together;
    mod turns;
    mod union;
    mod vectors;
}
#[path = "support/far.rs"]
mod far;
#[path = "support/vectors.rs"]
mod normative;
#[path = "support/redis.rs"]
mod server;
#[expect(dead_code, reason = "the tests of the program alone use more of it")]
mod support;

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ::redis::Connection;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use shaper::engine::share::{Answer, AskId, Bill, Common, Mark, Part, Wish};
use shaper::limit::{Counts, Known, Setting, Spec, Used};
use shaper::store::{Caller, Chore, Heard, Request, Shared, Time, Who, script};
use shaper::units::{Cost, Tick};

/// The moment at which told time begins, in microseconds since the Unix epoch: a whole number of most periods.
const BEGAN: u64 = 1_600_000_000_000_000;

/// Tries so many cases, each under a name of its own. Failing ones are kept, and tried first.
fn each_case<S: Strategy>(cases: u32, case: &S, test: impl Fn(&str, S::Value)) {
    let kept = FileFailurePersistence::Direct("tests/redis/regressions.txt");
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        max_shrink_iters: 400,
        failure_persistence: Some(Box::new(kept)),
        ..ProptestConfig::default()
    });
    let nth = Cell::new(0);
    let tried = runner.run(case, |case| {
        nth.set(nth.get() + 1);
        test(&format!("case-{}", nth.get()), case);
        Ok(())
    });
    if let Err(why) = tried {
        panic!("{why}");
    }
}

/// What is shared in these tests.
fn shared(name: &str, limits: &[Spec]) -> Shared {
    let numbered = limits.iter().cloned().enumerate();
    Shared {
        name: name.to_owned(),
        limits: numbered
            .map(|(number, spec)| (Common::Limit(number), spec))
            .collect(),
        setting: Setting::VIRTUAL,
        slots: None,
        learnt_per: None,
        slack: Duration::ZERO,
        sends: Duration::ZERO,
        hold: Duration::from_secs(60),
        timeout: Duration::from_secs(1),
    }
}

/// Answers, and what all have learnt.
type Told = Vec<(AskId, Answer)>;
type Lore = Vec<(Counts, Arc<str>, Known)>;

/// One who shares limits and tells the store what time it is, in microseconds from [`BEGAN`].
struct Member {
    connection: Connection,
    caller: Caller,
    asked: u64,
    /// How long its way to the store and back takes.
    trip: Duration,
}

impl Member {
    fn join(server: &server::Server, shared: &Shared, name: &str, now: u64) -> Self {
        let who = Who {
            member: name.to_owned(),
            place: format!("here:{name}"),
            since: BEGAN,
        };
        let mut member = Self {
            connection: server.connection(),
            caller: Caller::new(shared, who).unwrap(),
            asked: 0,
            trip: Duration::ZERO,
        };
        let request = member.caller.join(Time::Told(BEGAN + now));
        let reply = member.send(&request);
        let heard = member.caller.hear_join(&reply).unwrap();
        assert!(matches!(heard, Heard::Joined(_)), "{heard:?}");
        member
    }

    /// The same request twice is one call.
    fn send(&mut self, request: &Request) -> String {
        let mut script = script::SCRIPT.prepare_invoke();
        for key in &request.keys {
            script.key(key);
        }
        script.arg(&request.body);
        script.invoke(&mut self.connection).unwrap()
    }

    fn call(&mut self, now: u64, wishes: Vec<Wish>) -> Vec<(AskId, Answer)> {
        self.call_with(now, wishes, Chore::None)
    }

    fn call_with(&mut self, now: u64, wishes: Vec<Wish>, chore: Chore) -> Vec<(AskId, Answer)> {
        self.call_of_all(now, wishes, chore).0
    }

    /// The same with what all have learnt, where that is new.
    fn call_of_all(&mut self, now: u64, wishes: Vec<Wish>, chore: Chore) -> (Told, Lore) {
        let (answers, learnt) = self.call_told(now, wishes, chore);
        let answers = answers.into_iter().map(|(id, answer, _)| (id, answer));
        (answers.collect(), learnt)
    }

    /// With the moment of each answer, in microseconds since the Unix epoch.
    fn call_told(
        &mut self,
        now: u64,
        wishes: Vec<Wish>,
        chore: Chore,
    ) -> (Vec<(AskId, Answer, u64)>, Lore) {
        let mut wishes = VecDeque::from(wishes);
        let call = self.caller.next(&mut wishes, chore);
        let time = Time::Told(BEGAN + now);
        let request = self.caller.request(&call, tick(now), self.trip, time);
        let reply = self.send(&request);
        match self.caller.hear(&call, &reply).unwrap() {
            Heard::Done {
                answers, learnt, ..
            } => (answers, learnt),
            other => panic!("{other:?}"),
        }
    }

    /// Asks for one try.
    fn ask(&mut self, now: u64, could_go: u64, parts: &[Part]) -> Answer {
        let wish = self.wish(could_go, parts);
        let answers = self.call(now, vec![wish]);
        let [(_, answer)] = &answers[..] else {
            panic!("{answers:?}");
        };
        answer.clone()
    }

    fn wish(&mut self, could_go: u64, parts: &[Part]) -> Wish {
        self.asked += 1;
        Wish::Admit {
            id: AskId(self.asked),
            lane: "lane".into(),
            could_go: tick(could_go),
            parts: parts.into(),
        }
    }

    fn moved(&mut self, now: u64, bill: Bill) {
        self.moved_at(now, bill, now);
    }

    fn moved_at(&mut self, now: u64, bill: Bill, at: u64) {
        self.call(now, vec![Wish::Moved(bill, tick(at))]);
    }

    fn settle(&mut self, now: u64, bill: Bill, used: Used) {
        self.call(now, vec![Wish::Settle(bill, tick(now), used)]);
    }
}

/// So many microseconds after the start.
fn tick(micros: u64) -> Tick {
    Tick(micros * 1_000)
}

/// What one try costs of one limit.
fn part(limit: usize, cost: u64) -> Part {
    Part {
        of: Common::Limit(limit),
        key: None,
        cost: Cost::new(cost).unwrap(),
    }
}

/// One of the slots that all share.
fn slot() -> Part {
    Part {
        of: Common::Slots,
        ..part(0, 1)
    }
}

/// What was charged for a part.
fn bill(part: &Part, mark: Mark) -> Bill {
    Bill {
        of: part.of,
        key: part.key.clone(),
        mark,
        cost: part.cost,
    }
}

/// The marks of a try that was granted.
fn granted(answer: &Answer) -> Vec<Mark> {
    match answer {
        Answer::Granted(charged) => charged.to_vec(),
        Answer::Leased(_) | Answer::Refused(..) => panic!("{answer:?}"),
    }
}
