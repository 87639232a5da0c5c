//! The engine against the proof: whatever comes, no limit is ever called exceeded, to the nanosecond
//! and also when moments are told in whole microseconds.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::StatusCode;
use proptest::prelude::*;
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{Grant, Rules, Seam};
use shaper::fields::Fields;
use shaper::job::{Job, Keys, Origin, Place, Target, Units, UnitsFrom};
use shaper::limit::{Leaves, Setting, Since, Spec};
use shaper::outcome::{Failure, FailureKind, Reached, Reply, Try, Usage};
use shaper::proof::{Event, Proof, Proved, Proven, Prover, Terms, Verdict};
use shaper::redirect::Follow;
use shaper::retry::{Backoff, Jitter, Policy};
use shaper::units::{Cost, Tick};

const LIMITS: [&str; 12] = [
    "7/s",
    "30/700ms burst=5",
    "30/700ms leaky burst=4",
    "9/300ms window",
    "9/300ms window at=reply",
    "5/333us window",
    "6/250ms fixed",
    "6/250ms fixed anchor=first",
    "6/250ms window-counter",
    "tokens 40/s",
    "tokens 30/400ms window",
    "tokens 25/300ms fixed",
];

/// What an answer says was used, by the job and its try: less than was reserved, and at times more.
fn used(line: u64, attempt: u32, surprise: u64) -> u64 {
    (line * 7 + u64::from(attempt) * 3) % (8 + surprise)
}

fn job(line: u64, units: u64) -> Job {
    let url = "http://h.test/";
    let target: Target = url.parse().unwrap();
    let units = Units {
        input: units,
        output: 0,
        source: UnitsFrom::Job,
    };
    Job {
        units: Some(units),
        ..Job::get(Place::new("jobs", line), target, Origin(url.into()))
    }
}

fn rules(limits: &[Spec]) -> Rules {
    Rules {
        slots: Cost::new(20),
        limits: limits.to_vec(),
        follow: Follow::Redirects,
        retry: Policy {
            jitter: Jitter::None,
            backoff: "1ms..20ms".parse::<Backoff>().unwrap(),
            ..Policy::default()
        },
        ..Rules::default()
    }
}

/// Lines, each so long after the one before, with its units.
fn lines(jobs: &[(u64, u64)]) -> Vec<simulated::Line> {
    let mut at = Tick::ZERO;
    let lines = (0..).zip(jobs).map(|(line, &(gap, units))| {
        at = at.after(Duration::from_nanos(gap));
        (at, Ok(job(line, units)))
    });
    lines.collect()
}

/// Every job of a run in virtual time: its line, when it had its result, and its tries with their units.
fn run(rules: Rules, lines: Vec<simulated::Line>, surprise: u64) -> Vec<(u64, Tick, Vec<Try>)> {
    let mut api = |_: Tick, job: &Job, grant: &Grant| -> (Duration, Result<Reply, Failure>) {
        let line = job.place.line;
        let latency = Duration::from_nanos(line * 7_919_333 % 90_000_001);
        let fails = |kind, reached| Failure::new(kind, reached, "");
        match (grant.attempt, line % 7) {
            (1 | 2, 3) => return (latency, Err(fails(FailureKind::Connect, Reached::NotSent))),
            (1, 4) => return (latency, Err(fails(FailureKind::Timeout, Reached::Sent))),
            _ => {}
        }
        if let Some(place) = sent_on(job) {
            let mut reply = simulated::reply(StatusCode::FOUND);
            reply.head.headers = Fields::of([("location", place)]);
            return (latency, Ok(reply));
        }
        let refused = grant.attempt == 1 && line.is_multiple_of(5);
        let status = if refused {
            StatusCode::TOO_MANY_REQUESTS
        } else {
            StatusCode::OK
        };
        let reply = Reply {
            used: Some(Usage::of(used(line, grant.attempt, surprise))),
            ..simulated::reply(status)
        };
        (latency, Ok(reply))
    };
    let mut made = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(at, outcome) = seen {
            let job = outcome.line.as_ref().unwrap();
            made.push((job.place.line, at, outcome.tries.clone()));
        }
    };
    let (_, _) = Simulation::new(rules, lines.into_iter(), &mut api, &mut watch).run();
    made
}

/// Every try of a run in virtual time, with its units.
fn tries(limits: &[Spec], jobs: &[(u64, u64)], surprise: u64) -> Vec<Try> {
    let jobs = run(rules(limits), lines(jobs), surprise);
    jobs.into_iter().flat_map(|(_, _, tries)| tries).collect()
}

fn events(made: &Try) -> Vec<Event> {
    Event::all_of(made, &Keys::default()).collect()
}

/// Where the server sends this request on to: some jobs once, and some of them again.
fn sent_on(job: &Job) -> Option<&'static str> {
    match (job.target.url.path(), job.place.line % 12) {
        ("/", 1 | 2 | 6 | 7) => Some("/a"),
        ("/a", 1 | 6) => Some("//other.test/b"),
        _ => None,
    }
}

fn in_micros(proof: &[Spec], tries: &[Try]) -> Proven {
    let floor = |at: Tick| Tick(at.0 / 1_000 * 1_000);
    let floored = |event: Event| Event {
        granted: floor(event.granted),
        sent: floor(event.sent),
        answered: floor(event.answered),
        ..event
    };
    let events = tries.iter().flat_map(events).map(floored).collect();
    let terms = Terms {
        rounding: Duration::from_micros(1),
        ..Terms::default()
    };
    proved(proof, terms, events)
}

fn proved(limits: &[Spec], terms: Terms, mut events: Vec<Event>) -> Proven {
    let mut prover = Prover::new(limits, terms);
    events.sort_by_key(|event| event.granted);
    for event in &events {
        prover.granted(event);
    }
    events.sort_by_key(|event| event.sent);
    for event in &events {
        prover.sent(event);
    }
    prover.close()
}

/// The proof as a run feeds it: grants and ends in the order in which they happened.
fn while_it_goes(limits: &[Spec], tries: &[Try]) -> Proven {
    let mut order: BTreeMap<(Tick, u8, usize), &Try> = BTreeMap::new();
    for (number, made) in tries.iter().enumerate() {
        order.insert((made.granted, 1, number), made);
        order.insert((made.done, 2, number), made);
    }
    let mut proof = Proof::new(limits, Duration::ZERO, Duration::ZERO);
    for ((at, what, _), made) in order {
        match what {
            1 => proof.granted(at),
            _ => proof.ended(made, &Keys::default()),
        }
    }
    proof.close()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_engine_is_never_called_over_its_limits(
        limits in proptest::sample::subsequence(&LIMITS[..], 1..4),
        jobs in proptest::collection::vec((0..60_000_000_u64, 1..9_u64), 1..60),
        surprise in prop_oneof![Just(0), Just(0), 1..30_u64],
    ) {
        let limits: Vec<Spec> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let tries = tries(&limits, &jobs, surprise);
        for (how, proven) in [
            ("to the nanosecond", while_it_goes(&limits, &tries)),
            ("in microseconds", in_micros(&limits, &tries)),
        ] {
            prop_assert_eq!(proven.unseen, 0);
            for proved in &proven.limits {
                prop_assert!(is_kept(proved), "{}: {:?}", how, proved);
            }
        }
    }

    /// A run is killed at any moment, and another goes on from what its results tell.
    #[test]
    fn the_engine_is_never_called_over_its_limits_across_a_kill(
        limits in proptest::sample::subsequence(&LIMITS[..], 1..4),
        jobs in proptest::collection::vec((0..60_000_000_u64, 1..9_u64), 1..60),
        surprise in prop_oneof![Just(0), Just(0), 1..30_u64],
        killed in 0..2_500_000_000_u64,
        pause in prop_oneof![Just(0), 0..300_000_000_u64, 0..3_000_000_000_u64],
    ) {
        let limits: Vec<Spec> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let killed = Tick(killed);
        let first = run(rules(&limits), lines(&jobs), surprise);
        let (recorded, lost): (Vec<_>, Vec<_>) = first.into_iter().partition(|(_, at, _)| *at < killed);
        let told: Vec<Event> = recorded.iter().flat_map(|(_, _, tries)| tries).flat_map(events).collect();
        let in_flight = lost.iter().flat_map(|(_, _, tries)| tries);
        let in_flight = in_flight.filter(|made| made.granted < killed && made.done >= killed);
        let in_flight: Vec<Event> = in_flight.flat_map(events).filter(|event| event.sent < killed).collect();

        let began = killed.after(Duration::from_nanos(pause));
        let setting = Setting { epoch: began.since(Tick::ZERO), ..Setting::VIRTUAL };
        let reach = limits.iter().map(|limit| limit.reach(&setting)).max().unwrap();
        let zero = began.before(reach);
        let (inside, older): (Vec<_>, Vec<_>) = told.iter().cloned().partition(|event| event.answered >= zero);
        let since = if older.is_empty() { Since::First } else { Since::Later };
        let seam = Seam::between(zero, began, inside, since, [(killed, Some(20))]);
        let done: BTreeSet<u64> = recorded.iter().map(|(line, ..)| *line).collect();
        let left = lines(&jobs).into_iter().filter(|(_, job)| !done.contains(&job.as_ref().unwrap().place.line));
        let left = left.map(|(_, job)| (Tick::ZERO, job)).collect();
        let second = run(Rules { seam, setting, ..rules(&limits) }, left, surprise);
        let onward = |at: Tick| at.after(began.since(Tick::ZERO));
        let second = second.iter().flat_map(|(_, _, tries)| tries).flat_map(events).map(|event| Event {
            granted: onward(event.granted),
            sent: onward(event.sent),
            answered: onward(event.answered),
            ..event
        });
        let told: Vec<Event> = told.into_iter().chain(second).collect();
        for proved in &proved(&limits, Terms::default(), told.clone()).limits {
            prop_assert!(is_kept(proved), "as the results tell: {:?}", proved);
        }
        // A server has seen what was in flight, too; nobody knows what that cost in units, or when it counted it.
        let requests: Vec<Spec> = limits.into_iter()
            .filter(|limit| !limit.counts.is_units() && limit.leaves == Leaves::Send).collect();
        let seen = told.into_iter().chain(in_flight).collect();
        for proved in &proved(&requests, Terms::default(), seen).limits {
            prop_assert!(is_kept(proved), "as the server sees: {:?}", proved);
        }
    }
}

fn is_kept(proved: &Proved) -> bool {
    match proved.verdict {
        Verdict::Kept => true,
        Verdict::ByAnswers(_) => proved.limit.counts.is_units(),
        Verdict::IfClocksAgree | Verdict::Exceeded(_) | Verdict::ByOversized(_) => false,
    }
}
