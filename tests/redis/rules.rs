//! The script beside the limits of one process: step by step the same answer, one nanosecond of theirs as one
//! microsecond.

use std::slice::from_ref;
use std::time::Duration;

use proptest::prelude::*;
use shaper::engine::share::{Answer, Bill, Common, HeldBy, Part};
use shaper::limit::{Anchor, Counts, Hold, Kind, Limit, Ready, Setting, Slots, Spec, Used};
use shaper::units::{Cost, Rate, Tick};

use crate::server::Server;
use crate::{BEGAN, Member, bill, each_case, granted, part, shared};

/// Cases of each rule.
const CASES: u32 = 100;

/// Microseconds that a try may be charged for late; within windows at most half of one.
const SLACK: u64 = 2_000;

/// How long one that was refused is told to wait at most.
const POLL: u64 = 1_000_000;

/// The numbers of a limit: small counts, and periods whose quotients are no whole microseconds.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    count: u64,
    period: u64,
    burst: u64,
    start: u64,
}

/// One thing that happens, so long after the one before.
#[derive(Debug, Clone, Copy)]
struct Step {
    pause: u64,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// A try that could have gone so long ago; how long it takes to leave.
    Ask { cost: u64, age: u64, leaves: u64 },
    /// The try of that number, among those that are not settled, ends.
    Settle { nth: usize, used: End },
}

#[derive(Debug, Clone, Copy)]
enum End {
    NeverSent,
    Unknown,
    Less(u64),
    More,
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let period = prop_oneof![1u64..60, 1_000u64..400_000];
    (1u64..9, period, 1u64..9, 0u64..9).prop_map(|(count, period, burst, start)| Numbers {
        count,
        period,
        burst,
        start: start.min(burst),
    })
}

fn steps(period: u64) -> impl Strategy<Value = Vec<Step>> {
    let pause = prop_oneof![
        Just(0),
        0..period,
        0..3 * period,
        Just(period),
        Just(period - 1)
    ];
    let leaves = prop_oneof![Just(0), 0..period];
    let ask = (1u64..9, 0u64..4_000, leaves);
    let ask = ask.prop_map(|(cost, age, leaves)| What::Ask { cost, age, leaves });
    let end = prop_oneof![
        Just(End::NeverSent),
        Just(End::Unknown),
        (0u64..9).prop_map(End::Less),
        Just(End::More)
    ];
    let settle = (any::<prop::sample::Index>(), end);
    let settle = settle.prop_map(|(nth, used)| What::Settle {
        nth: nth.index(1 << 20),
        used,
    });
    let what = prop_oneof![3 => ask, 1 => settle];
    let step = (pause, what).prop_map(|(pause, what)| Step { pause, what });
    prop::collection::vec(step, 1..30)
}

/// A limit of one process, and the same by the script.
struct Pair {
    own: Box<dyn Limit>,
    member: Member,
    common: Common,
    most: u64,
    slack: u64,
    /// Usage above what was taken; of buckets only so much that nothing is forgiven.
    debts: u64,
    open: Vec<Taken>,
    now: u64,
}

/// A try that is not settled.
struct Taken {
    hold: Hold,
    bill: Bill,
    /// When it leaves; `None` once it has.
    leaves: Option<u64>,
}

impl Pair {
    fn new(server: &Server, name: &str, rule: Rule, numbers: Numbers) -> Self {
        let spec = |nanos: u64| {
            let rate = Rate::new(numbers.count, Duration::from_nanos(numbers.period * nanos));
            let mut spec = Spec::bucket("l", Counts::Requests, rate.unwrap(), cost(numbers.burst));
            spec.start = numbers.start;
            let (kind, anchor) = match rule {
                Rule::Kind(kind, anchor) => (kind, anchor),
                Rule::Slots => (Kind::BUCKET, Anchor::Epoch),
            };
            (spec.kind, spec.anchor) = (kind, anchor);
            if !kind.has_burst() {
                spec.burst = cost(numbers.count);
                spec.start = numbers.count;
            }
            spec
        };
        let mut what = shared(name, &[spec(1_000)]);
        let slack = SLACK.min(numbers.period / 2);
        what.slack = Duration::from_micros(slack);
        let setting = Setting {
            epoch: Duration::from_nanos(BEGAN),
            ..Setting::VIRTUAL
        };
        let (own, common): (Box<dyn Limit>, _) = match rule {
            Rule::Kind(..) => (spec(1).build(&setting), Common::Limit(0)),
            Rule::Slots => {
                what.limits.clear();
                what.slots = Some(cost(numbers.count));
                (Box::new(Slots::new(cost(numbers.count))), Common::Slots)
            }
        };
        let most = match rule {
            Rule::Kind(kind, _) if kind.has_burst() => numbers.burst,
            Rule::Kind(..) | Rule::Slots => numbers.count,
        };
        Self {
            own,
            member: Member::join(server, &what, "m", 0),
            common,
            most,
            slack,
            debts: match rule {
                Rule::Kind(kind, _) if kind.has_burst() => most / 2,
                Rule::Kind(..) => u64::MAX,
                Rule::Slots => 0,
            },
            open: Vec::new(),
            now: 0,
        }
    }

    fn part(&self, units: u64) -> Part {
        Part {
            of: self.common,
            ..part(0, units)
        }
    }

    /// What has left by now did so when it did.
    fn leave(&mut self) {
        for taken in &mut self.open {
            if let Some(at) = taken.leaves.filter(|at| *at <= self.now) {
                self.own.moved(&mut taken.hold, Tick(at));
                self.member.moved_at(self.now, taken.bill.clone(), at);
                taken.leaves = None;
            }
        }
    }

    fn step(&mut self, step: Step) {
        self.now += step.pause;
        self.leave();
        match step.what {
            What::Ask { cost, age, leaves } => self.ask(cost.min(self.most), age, leaves),
            What::Settle { nth, used } if !self.open.is_empty() => {
                let taken = self.open.remove(nth % self.open.len());
                self.settle(taken, used);
            }
            What::Settle { .. } => {}
        }
    }

    fn ask(&mut self, units: u64, age: u64, leaves: u64) {
        let could_go = self.now.saturating_sub(age);
        let from = Tick(could_go.max(self.now.saturating_sub(self.slack)));
        let ready = self.own.ready(from, cost(units));
        let part = self.part(units);
        let answer = self.member.ask(self.now, could_go, from_ref(&part));
        let at = match ready {
            Ready::At(at) if at.0 <= self.now => at,
            Ready::At(at) => {
                let wait = Duration::from_micros((at.0 - self.now).min(POLL));
                let refused = Answer::Refused(HeldBy::Limit(self.common), wait);
                assert_eq!(answer, refused, "{units} at {} of {:?}", self.now, self.own);
                return;
            }
            Ready::OnRelease => {
                assert!(matches!(answer, Answer::Refused(..)), "{answer:?}");
                return;
            }
            Ready::Never(why) => panic!("{why}"),
        };
        let mark = granted(&answer)[0];
        let hold = self.own.take(at, cost(units));
        self.open.push(Taken {
            hold,
            bill: bill(&part, mark),
            leaves: Some(self.now + leaves),
        });
        self.leave();
    }

    fn settle(&mut self, taken: Taken, end: End) {
        let units = taken.bill.cost.get();
        let used = match end {
            End::NeverSent if taken.leaves.is_some() => Used::NeverSent,
            End::Less(used) => Used::Known(used.min(units)),
            End::More if self.debts > 0 => {
                self.debts -= 1;
                Used::Known(units + 1)
            }
            End::NeverSent | End::More | End::Unknown => Used::Unknown,
        };
        // It has been seen to leave, unless nothing of it was sent.
        let mut taken = taken;
        if used != Used::NeverSent && taken.leaves.is_some() {
            self.own.moved(&mut taken.hold, Tick(self.now));
            self.member.moved_at(self.now, taken.bill.clone(), self.now);
        }
        self.own.settle(taken.hold, Tick(self.now), used);
        self.member.settle(self.now, taken.bill, used);
    }
}

/// What is tried.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Kind(Kind, Anchor),
    Slots,
}

fn cost(units: u64) -> Cost {
    Cost::new(units).unwrap()
}

fn same(rule: Rule) {
    let server = Server::start();
    let case = numbers().prop_flat_map(|numbers| (Just(numbers), steps(numbers.period)));
    each_case(CASES, &case, |name, (numbers, steps)| {
        let mut pair = Pair::new(&server, name, rule, numbers);
        for step in steps {
            pair.step(step);
        }
    });
}

#[test]
fn a_shared_bucket_answers_as_one_of_a_process_does() {
    same(Rule::Kind(Kind::BUCKET, Anchor::Epoch));
}

#[test]
fn a_shared_leaky_bucket_answers_as_one_of_a_process_does() {
    same(Rule::Kind(Kind::LEAKY, Anchor::Epoch));
}

#[test]
fn a_shared_window_answers_as_one_of_a_process_does() {
    same(Rule::Kind(Kind::WINDOW, Anchor::Epoch));
}

#[test]
fn a_shared_counter_answers_as_one_of_a_process_does() {
    same(Rule::Kind(Kind::COUNTER, Anchor::Epoch));
}

#[test]
fn shared_windows_of_the_epoch_answer_as_those_of_a_process_do() {
    same(Rule::Kind(Kind::FIXED, Anchor::Epoch));
}

#[test]
fn shared_windows_that_begin_with_a_take_answer_as_those_of_a_process_do() {
    same(Rule::Kind(Kind::FIXED, Anchor::First));
}

#[test]
fn shared_slots_answer_as_those_of_a_process_do() {
    same(Rule::Slots);
}
