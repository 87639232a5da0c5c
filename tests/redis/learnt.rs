//! What is learnt of a server's limits by all who share a store: as one process learns it, and for each of them.

use std::time::Duration;

use proptest::prelude::*;
use shaper::engine::share::{Answer, Common, HeldBy, Mark, Part, Taught, Wish};
use shaper::limit::{Adaptive, Counts, Hold, Known, Lesson, Limit, Ready, Standing, Used};
use shaper::store::{Chore, Shared};
use shaper::units::{Cost, Tick};

use crate::server::Server;
use crate::{Member, bill, each_case, granted, shared, tick};

const SECOND: u64 = 1_000_000;

/// How long one that was refused is told to wait at most.
const POLL: u64 = SECOND;

/// Nothing is given, all is learnt.
fn learning(name: &str) -> Shared {
    Shared {
        learnt_per: Some(Vec::new()),
        ..shared(name, &[])
    }
}

fn part(counts: Counts, units: u64) -> Part {
    Part {
        of: Common::Learnt(counts),
        key: Some("http://h".into()),
        cost: Cost::new(units).unwrap(),
    }
}

fn teach(mark: Option<Mark>, counts: Counts, lesson: Lesson) -> Wish {
    Wish::Learn(Taught {
        of: counts,
        lane: "http://h".into(),
        mark,
        lesson,
    })
}

fn refused(mark: Mark, at: u64, back: Option<u64>) -> Wish {
    let lesson = Lesson::Refused {
        granted: tick(0),
        at: tick(at),
        back: back.map(tick),
    };
    teach(Some(mark), Counts::Requests, lesson)
}

fn accepted(mark: Mark, at: u64) -> Wish {
    let (granted, at) = (tick(0), tick(at));
    teach(
        Some(mark),
        Counts::Requests,
        Lesson::Accepted { granted, at },
    )
}

fn told(mark: Mark, at: u64, limit: u64, left: u64, full_at: u64) -> Wish {
    let said = Standing {
        at: tick(at),
        name: "a".into(),
        limit: Some(limit),
        period: Some(Duration::from_secs(1)),
        left: Some(left),
        full_at: Some(tick(full_at)),
        refills: false,
    };
    teach(Some(mark), Counts::Requests, Lesson::Told(said))
}

fn asks(member: &mut Member, now: u64) -> Answer {
    member.ask(now, now, &[part(Counts::Requests, 1)])
}

fn goes(member: &mut Member, now: u64) -> Mark {
    granted(&asks(member, now))[0]
}

#[track_caller]
fn waits(member: &mut Member, now: u64, wait: u64) {
    let by = HeldBy::Limit(Common::Learnt(Counts::Requests));
    let expected = Answer::Refused(by, Duration::from_micros(wait));
    assert_eq!(asks(member, now), expected);
}

#[test]
fn what_one_is_told_is_kept_by_all_as_one() {
    let server = Server::start();
    let what = learning("told");
    let mut one = Member::join(&server, &what, "one", 0);
    let mut other = Member::join(&server, &what, "other", 0);
    let first = goes(&mut one, 0);
    // On its way when the first is answered: that does not know of it.
    goes(&mut other, 10);
    one.call(20, vec![told(first, 20, 10, 4, SECOND)]);
    goes(&mut other, 30);
    goes(&mut one, 40);
    goes(&mut other, 50);
    waits(&mut one, 60, SECOND - 60);
    waits(&mut other, 70, SECOND - 70);
    goes(&mut other, SECOND);
}

#[test]
fn one_that_comes_later_begins_with_what_is_known_and_is_told_it() {
    let server = Server::start();
    let what = learning("later");
    let mut one = Member::join(&server, &what, "one", 0);
    let marks: Vec<Mark> = (1..=100).map(|nth| goes(&mut one, nth)).collect();
    let taught = marks.iter().map(|mark| accepted(*mark, 200_000));
    one.call(200_000, taught.collect());
    let last = goes(&mut one, 200_001);
    // A hundred in the second: so much it takes.
    let (_, learnt) = one.call_of_all(
        210_000,
        vec![refused(last, 210_000, Some(SECOND))],
        Chore::None,
    );
    let [(Counts::Requests, _, known)] = &learnt[..] else {
        panic!("{learnt:?}");
    };
    assert_eq!((known.refused, known.used_up), (1, 0));
    let pace = known.pace.unwrap().per_second();
    assert!((94.0..=96.0).contains(&pace), "{pace}");
    let mut other = Member::join(&server, &what, "other", SECOND);
    let wish = other.wish(SECOND, &[part(Counts::Requests, 1)]);
    let (answers, learnt) = other.call_of_all(SECOND, vec![wish], Chore::None);
    granted(&answers[0].1);
    assert_eq!(learnt[0].2.pace, known.pace);
    // What comes late is made up for, as far as 50 ms.
    let now = 2 * SECOND;
    let goes = (0..9).take_while(|_| matches!(asks(&mut one, now), Answer::Granted(_)));
    assert_eq!(goes.count(), 5);
    assert!(matches!(asks(&mut other, now), Answer::Refused(..)));
    // What is known is not told again.
    let wish = other.wish(SECOND, &[part(Counts::Requests, 1)]);
    let (_, learnt) = other.call_of_all(now, vec![wish], Chore::None);
    assert_eq!(learnt, []);
}

#[test]
fn a_refusal_of_one_slows_all_down_and_those_that_were_under_way_count_once() {
    let server = Server::start();
    let what = learning("once");
    let mut one = Member::join(&server, &what, "one", 0);
    let mut other = Member::join(&server, &what, "other", 0);
    let marks: Vec<Mark> = (1..=50).map(|nth| goes(&mut one, nth)).collect();
    let taught = marks.iter().map(|mark| accepted(*mark, SECOND));
    one.call(SECOND, taught.collect());
    let under_way = goes(&mut other, SECOND + 1);
    let last = goes(&mut one, SECOND + 2);
    one.call(SECOND + 3, vec![refused(last, SECOND + 3, None)]);
    let both = refused(under_way, SECOND + 4, None);
    let (_, learnt) = other.call_of_all(SECOND + 4, vec![both], Chore::None);
    let known = &learnt[0].2;
    // Half of fifty a second, and not half of that.
    assert_eq!(known.refused, 1);
    let pace = known.pace.unwrap().per_second();
    assert!((24.0..=26.0).contains(&pace), "{pace}");
}

#[test]
fn what_one_sent_alone_counts_for_all_when_it_is_back() {
    let server = Server::start();
    let mut one = Member::join(&server, &learning("alone"), "one", 0);
    let first = goes(&mut one, 0);
    one.call(10, vec![told(first, 10, 5, 4, SECOND)]);
    let debt = shaper::engine::share::Debt {
        of: Common::Learnt(Counts::Requests),
        key: Some("http://h".into()),
        taken: [(tick(20), Cost::new(3).unwrap())].into(),
    };
    one.call(30, vec![Wish::Owe(debt)]);
    goes(&mut one, 40);
    waits(&mut one, 50, SECOND - 50);
}

#[test]
fn numbers_of_servers_that_are_out_of_all_bounds_stop_nobody() {
    let server = Server::start();
    let mut one = Member::join(&server, &learning("wild"), "one", 0);
    let mut now = 0;
    for (limit, period, left, full_at) in [
        (u64::MAX, u64::MAX, u64::MAX, u64::MAX),
        (0, 0, 0, 0),
        (1, u64::MAX, 0, 1),
    ] {
        now += 700 * SECOND;
        let mark = goes(&mut one, now);
        let said = Standing {
            at: tick(now),
            name: "w \"\n".into(),
            limit: Some(limit),
            period: Some(Duration::from_nanos(period)),
            left: Some(left),
            full_at: Some(Tick(full_at)),
            refills: true,
        };
        let wish = teach(Some(mark), Counts::Requests, Lesson::Told(said));
        one.call(now, vec![wish]);
    }
}

#[test]
fn a_lane_of_which_something_is_learnt_is_forgotten_in_time() {
    let server = Server::start();
    let mut one = Member::join(&server, &learning("ends"), "one", 0);
    goes(&mut one, 0);
    let lane = |key: &(String, i64)| key.0.contains("}:0-");
    let keys = server.keys();
    let ends = keys.iter().find(|key| lane(key)).unwrap().1;
    assert!((1..=63_000).contains(&ends), "{keys:?}");
    let mark = goes(&mut one, 10);
    one.call(20, vec![told(mark, 20, 5, 4, SECOND)]);
    let keys = server.keys();
    let ends = keys.iter().find(|key| lane(key)).unwrap().1;
    assert!((500_000..=603_000).contains(&ends), "{keys:?}");
}

/// One thing that happens, so long after the one before.
#[derive(Debug, Clone)]
struct Step {
    pause: u64,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Ask(u64),
    /// One of the tries that are not over ends like this.
    End(prop::sample::Index, Says),
}

/// What an answer says.
#[derive(Debug, Clone)]
enum Says {
    Accepted,
    Refused(Option<u64>),
    NeverSent,
    Told {
        name: &'static str,
        limit: Option<u64>,
        period: Option<u64>,
        left: Option<u64>,
        full: Option<u64>,
        refills: bool,
    },
}

fn says() -> impl Strategy<Value = Says> {
    let span = || prop::option::of(prop_oneof![0..3 * SECOND, 0..90 * SECOND]);
    let name = prop::sample::select(&["a", "b", "c"][..]);
    let count = || prop::option::of(0..20_u64);
    let told = (name, count(), span(), count(), span(), any::<bool>()).prop_map(
        |(name, limit, period, left, full, refills)| Says::Told {
            name,
            limit: limit.filter(|limit| *limit > 0),
            period,
            left,
            full,
            refills,
        },
    );
    prop_oneof![
        6 => Just(Says::Accepted),
        1 => span().prop_map(Says::Refused),
        1 => Just(Says::NeverSent),
        2 => told,
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // No two things at one moment: which of them is the first is the store's to say.
    let pause = prop_oneof![1..20_000_u64, 1..SECOND, Just(1_u64)];
    let end = (any::<prop::sample::Index>(), says());
    let what = prop_oneof![
        3 => (1..9_u64).prop_map(What::Ask),
        2 => end.prop_map(|(nth, says)| What::End(nth, says)),
    ];
    let step = (pause, what).prop_map(|(pause, what)| Step { pause, what });
    prop::collection::vec(step, 1..80)
}

/// What one process learns, and the same by the script.
struct Pair {
    own: Adaptive,
    member: Member,
    counts: Counts,
    open: Vec<(Hold, Tick, Mark, u64)>,
    /// So many were let go.
    taken: u64,
    now: u64,
}

impl Pair {
    fn step(&mut self, step: &Step) {
        self.now += step.pause;
        match &step.what {
            What::Ask(units) if self.counts == Counts::Requests => self.ask((*units).min(1)),
            What::Ask(units) => self.ask(*units),
            What::End(nth, says) if !self.open.is_empty() => {
                let taken = self.open.remove(nth.index(self.open.len()));
                self.ends(taken, says);
            }
            What::End(..) => {}
        }
    }

    fn ask(&mut self, units: u64) {
        let (now, at) = (self.now, tick(self.now));
        let part = part(self.counts, units);
        let answer = self.member.ask(now, now, std::slice::from_ref(&part));
        let Ready::At(ready) = self.own.ready(at, part.cost) else {
            panic!("it has a moment");
        };
        let wait = ready.0.div_ceil(1_000).saturating_sub(now);
        match answer {
            Answer::Granted(charged) => {
                assert_eq!(wait, 0, "granted at {now}: {:?}", self.own);
                let hold = self.own.take(at, part.cost);
                self.open.push((hold, at, charged[0], units));
                self.taken += 1;
            }
            Answer::Leased(leased) => panic!("{leased:?} was not asked for"),
            Answer::Refused(by, told) => {
                assert_eq!(by, HeldBy::Limit(part.of));
                // Each gap is rounded up to a whole microsecond there.
                let told = u64::try_from(told.as_micros()).unwrap();
                let most = (wait + self.taken).min(POLL);
                let is_so = (wait.min(POLL)..=most).contains(&told);
                assert!(
                    is_so && told > 0,
                    "{told} at {now}, here {wait}: {:?}",
                    self.own
                );
            }
        }
    }

    fn ends(&mut self, (mut hold, at, mark, units): (Hold, Tick, Mark, u64), says: &Says) {
        let now = tick(self.now);
        let after = |span: u64| tick(self.now + span);
        self.own.moved(&mut hold, now);
        let lesson = match *says {
            Says::Accepted => Lesson::Accepted {
                granted: at,
                at: now,
            },
            Says::Refused(back) => Lesson::Refused {
                granted: at,
                at: now,
                back: back.map(after),
            },
            Says::Told {
                name,
                limit,
                period,
                left,
                full,
                refills,
            } => Lesson::Told(Standing {
                at: now,
                name: name.into(),
                limit,
                period: period.map(Duration::from_micros),
                left,
                full_at: full.map(after),
                refills,
            }),
            Says::NeverSent => {
                let bill = bill(&part(self.counts, units), mark);
                self.member.settle(self.now, bill, Used::NeverSent);
                self.own.settle(hold, now, Used::NeverSent);
                return;
            }
        };
        let wish = teach(Some(mark), self.counts, lesson.clone());
        self.own.learn(&lesson);
        let (_, learnt) = self.member.call_of_all(self.now, vec![wish], Chore::None);
        self.own.settle(hold, now, Used::Unknown);
        if let Some((_, _, known)) = learnt.last() {
            self.is_known(known);
        }
    }

    /// What others are told is what is known.
    fn is_known(&self, known: &Known) {
        let own = self.own.known(tick(self.now));
        assert_eq!((known.pace, known.mean), (own.pace, own.mean));
        assert_eq!(known.refused, own.refused);
        let since = |mut known: Known, now: Tick| {
            for told in &mut known.told {
                let full = told.full_at.map(|at| at.since(now));
                (told.at, told.full_at) = (Tick::ZERO, full.map(|span| Tick::ZERO.after(span)));
            }
            known.told
        };
        let told = since(known.clone(), Tick::ZERO);
        assert_eq!(told, since(own, tick(self.now)));
    }
}

fn same(counts: Counts) {
    let server = Server::start();
    each_case(150, &steps(), |name, steps| {
        let mut pair = Pair {
            own: Adaptive::default(),
            member: Member::join(&server, &learning(name), "m", SECOND),
            counts,
            open: Vec::new(),
            taken: 0,
            // Moments of a run are none before its start.
            now: SECOND,
        };
        for step in steps {
            pair.step(&step);
        }
    });
}

#[test]
fn requests_are_learnt_by_all_as_by_one_process() {
    same(Counts::Requests);
}

#[test]
fn units_are_learnt_by_all_as_by_one_process() {
    same(Counts::Units);
}
