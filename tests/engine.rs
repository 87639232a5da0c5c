//! Whole runs in virtual time: exact to the nanosecond, and never asleep.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "engine/adaptive.rs"]
mod adaptive;
#[path = "engine/ahead.rs"]
mod ahead;
#[path = "engine/breaker.rs"]
mod breaker;
#[path = "engine/budget.rs"]
mod budget;
#[path = "engine/left.rs"]
mod left;
#[path = "engine/limits.rs"]
mod limits;
#[path = "support/vectors.rs"]
mod normative;
#[path = "engine/order.rs"]
mod order;
#[path = "engine/ordered.rs"]
mod ordered;
#[path = "engine/plan.rs"]
mod plan;
#[path = "engine/redirects.rs"]
mod redirects;
#[path = "engine/refusals.rs"]
mod refusals;
#[path = "engine/shapes.rs"]
mod shapes;
#[path = "engine/share.rs"]
mod share;
#[path = "engine/stops.rs"]
mod stops;
#[path = "engine/vectors.rs"]
mod vectors;
#[path = "engine/word.rs"]
mod word;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{Action, End, Engine, Event, Grant, Rules, Ticket};
use shaper::estimate::Estimator;
use shaper::fields::Fields;
use shaper::job::{BadLine, Job, JobHash, Origin, Place, Target, Units, UnitsFrom};
use shaper::limit::{Counts, Spec};
use shaper::metrics::{Cell, Owner, Part, Summary};
use shaper::outcome::{Failure, FailureKind, Reached, Reply, Status};
use shaper::retry::{Backoff, Jitter, Policy};
use shaper::source::{self, Input, UnitsRule};
use shaper::units::{Cost, Tick};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn job(line: u64, units: Option<u64>, slots: u64) -> Job {
    let target: Target = "http://127.0.0.1/".parse().unwrap();
    Job {
        units: units.map(|input| Units {
            input,
            output: 0,
            source: UnitsFrom::Job,
        }),
        slots: Cost::new(slots).unwrap(),
        ..Job::get(
            Place::new("jobs", line),
            target,
            Origin("http://127.0.0.1".into()),
        )
    }
}

/// A line that is no job.
fn bad(line: u64) -> BadLine {
    BadLine {
        hash: JobHash(line),
        ..BadLine::new(Place::new("jobs", line), "empty", "write a job")
    }
}

fn jobs(count: u64) -> impl Iterator<Item = simulated::Line> {
    (0..count).map(|line| (Tick::ZERO, Ok(job(line, None, 1))))
}

fn rules(slots: Option<u64>, limits: Vec<Spec>) -> Rules {
    Rules {
        slots: slots.and_then(Cost::new),
        limits,
        retry: Policy {
            jitter: Jitter::None,
            ..Policy::default()
        },
        ..Rules::default()
    }
}

fn qps(rate: &str, burst: u64) -> Spec {
    Spec::bucket(
        "qps",
        Counts::Requests,
        rate.parse().unwrap(),
        Cost::new(burst).unwrap(),
    )
}

/// The tickets of what is to be sent.
fn sent(actions: impl IntoIterator<Item = Action>) -> Vec<Ticket> {
    let sent = actions.into_iter().filter_map(|action| match action {
        Action::Send(ticket, ..) => Some(ticket),
        Action::Read(_)
        | Action::Prepare(..)
        | Action::Store(_)
        | Action::Record(..)
        | Action::Stop(_) => None,
    });
    sent.collect()
}

/// An engine that has read so many jobs, and the tickets of those that are in flight.
fn in_flight(rules: Rules, count: u64) -> (Engine, Vec<Ticket>) {
    let mut engine = Engine::new(rules);
    let mut actions = Vec::new();
    for line in 0..count {
        let read = Event::read(Ok(job(line, None, 1)), Tick::ZERO);
        engine.tell(Tick::ZERO, read, &mut actions);
    }
    engine.decide(Tick::ZERO, &mut actions);
    (engine, sent(actions))
}

/// Runs to the end; the moments of all sends, in order.
fn sends(
    rules: Rules,
    lines: impl Iterator<Item = simulated::Line>,
    mut api: impl FnMut(Tick, &Job, &Grant) -> (Duration, Result<Reply, Failure>),
) -> (Vec<(u64, u32, u64)>, Summary) {
    let mut sent = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Sent(at, job, grant) = seen {
            sent.push((job.place.line, grant.attempt, at.0));
        }
    };
    let (summary, end) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    assert_eq!(end, End::Finished);
    let counts = summary.tally.counts;
    assert_eq!(counts.read, counts.done() + counts.cancelled);
    check_timeline(&summary);
    (sent, summary)
}

/// The timeline adds up to the figures of the run.
fn check_timeline(summary: &Summary) {
    let cells = summary.tally.timeline.cells();
    let sent: u64 = cells.iter().map(|cell| cell.sent).sum();
    let refused: u64 = cells.iter().map(|cell| cell.refused).sum();
    assert_eq!(sent, summary.tally.sends.count);
    assert_eq!(refused, *summary.tally.statuses.get(&429).unwrap_or(&0));
    let mut owners = BTreeMap::new();
    for (owner, span) in cells.iter().flat_map(Cell::owners) {
        *owners.entry(owner).or_insert(Duration::ZERO) += span;
    }
    if summary.stretch.part == Part::Whole {
        assert_eq!(owners, summary.stretch.shares.iter().copied().collect());
    }
    assert!(owners.values().sum::<Duration>() <= summary.elapsed);
}

fn ok_after(
    latency: Duration,
) -> impl FnMut(Tick, &Job, &Grant) -> (Duration, Result<Reply, Failure>) {
    move |_, _, _| (latency, Ok(simulated::reply(StatusCode::OK)))
}

// The articles' figures.

#[test]
fn twenty_tasks_at_five_per_second_with_capacity_ten_end_at_two_seconds() {
    let (sent, _) = sends(
        rules(None, vec![qps("5/s", 10)]),
        jobs(20),
        ok_after(Duration::ZERO),
    );
    let expected: Vec<u64> = (0..20u64)
        .map(|nth| nth.saturating_sub(9) * 200 * MILLI)
        .collect();
    assert_eq!(
        sent.iter().map(|&(_, _, at)| at).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn the_articles_three_valves_hold_at_once() {
    let limits = vec![
        Spec::bucket("rpm", Counts::Requests, "60/m".parse().unwrap(), Cost::ONE),
        Spec::bucket(
            "tpm",
            Counts::Units,
            "100000/m".parse().unwrap(),
            Cost::new(100_000).unwrap(),
        ),
    ];
    let mut source = source::open(&source::Spec {
        inputs: vec![Input::File("fixtures/articles.jsonl".into())],
        units: UnitsRule::Reserve(Estimator::Chars),
        ..source::Spec::default()
    })
    .unwrap();
    let lines = std::iter::from_fn(|| Some((Tick::ZERO, source.next()?.unwrap())));
    let mut sent = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Sent(at, job, _) = seen {
            sent.push((at, job.units.unwrap().reserve()));
        }
    };
    let mut api = ok_after(Duration::from_secs(2));
    let (summary, _) = Simulation::new(rules(Some(20), limits), lines, &mut api, &mut watch).run();
    assert_eq!((summary.tally.counts.ok, sent.len()), (45, 45));
    assert!(
        sent.windows(2)
            .all(|pair| pair[1].0.since(pair[0].0) >= Duration::from_secs(1)),
        "60 a minute"
    );
    for (first, &(from, _)) in sent.iter().enumerate() {
        let minute = sent[first..]
            .iter()
            .take_while(|(at, _)| at.since(from) < Duration::from_secs(60));
        let tokens: u64 = minute.map(|(_, units)| units).sum();
        assert!(
            tokens <= 200_000,
            "{tokens} tokens in the minute from {from:?}"
        );
    }
    let owners: Vec<Owner> = summary
        .stretch
        .shares
        .iter()
        .map(|(owner, _)| *owner)
        .collect();
    assert_eq!(
        owners,
        [Owner::Limit(1), Owner::Limit(0)],
        "tokens bind once the bucket is empty"
    );
}

#[test]
fn slots_alone_give_what_littles_law_says() {
    for (latency, rate) in [(50, 400.0), (100, 200.0), (2000, 10.0)] {
        let latency = Duration::from_millis(latency);
        let (_, summary) = sends(rules(Some(20), Vec::new()), jobs(1000), ok_after(latency));
        let stretch = summary.stretch;
        assert_eq!(stretch.part, Part::Steady);
        assert!(
            (stretch.rate - rate).abs() < 1e-9,
            "{latency:?}: {}",
            stretch.rate
        );
        assert!(
            (stretch.in_flight - 20.0).abs() < 1e-9,
            "{}",
            stretch.in_flight
        );
        assert_eq!(stretch.mean, Some(latency));
        assert_eq!(stretch.shares, [(Owner::Slot, stretch.span())]);
        assert_eq!(summary.peak_in_flight, 20);
    }
}

#[test]
fn a_rate_holds_until_the_slots_bind_and_then_the_slots_do() {
    for (millis, rate, owner) in [
        (50, 10.0, Owner::Limit(0)),
        (100, 10.0, Owner::Limit(0)),
        (1000, 10.0, Owner::Limit(0)),
        (1999, 10.0, Owner::Limit(0)),
        (4000, 5.0, Owner::Slot),
        (5000, 4.0, Owner::Slot),
    ] {
        let latency = Duration::from_millis(millis);
        let (_, summary) = sends(
            rules(Some(20), vec![qps("10", 1)]),
            jobs(1000),
            ok_after(latency),
        );
        let stretch = summary.stretch;
        // Slots that free in groups of 20 make a mean over part of a group: within 2 %.
        let exact = if owner == Owner::Slot {
            0.02 * rate
        } else {
            1e-9
        };
        assert!(
            (stretch.rate - rate).abs() < exact,
            "{millis} ms: {}",
            stretch.rate
        );
        assert_eq!(
            stretch.shares[0].0, owner,
            "{millis} ms: {:?}",
            stretch.shares
        );
        let sum: Duration = stretch.shares.iter().map(|(_, span)| *span).sum();
        assert_eq!(sum, stretch.span(), "the shares are the whole time");
    }
}

#[test]
fn whose_wait_it_was_does_not_depend_on_the_look_ahead() {
    let shares = |jobs_held: usize| {
        let mut rules = rules(Some(20), vec![qps("200/s", 1)]);
        rules.look_ahead.jobs = jobs_held;
        let mut nth = 0;
        let api = move |_: Tick, _: &Job, _: &Grant| {
            nth += 1;
            (
                Duration::from_millis(40 + nth * 37 % 120),
                Ok(simulated::reply(StatusCode::OK)),
            )
        };
        sends(rules, jobs(5000), api).1.stretch.shares
    };
    let expected = shares(10_000);
    assert!(expected.len() >= 2, "both bind at times: {expected:?}");
    for jobs_held in [64, 40] {
        assert_eq!(shares(jobs_held), expected, "look-ahead {jobs_held}");
    }
}

/// A number below `sides` that depends on nothing but its arguments.
fn dice(seed: u64, nth: u64, sides: u64) -> u64 {
    let mixed =
        (seed ^ nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed >> 32) * sides) >> 32
}

fn failure(kind: FailureKind, reached: Reached) -> Failure {
    Failure::new(kind, reached, format!("{kind}"))
}

#[test]
fn nothing_is_lost_when_half_the_tries_fail() {
    for seed in 0..20 {
        let mut nth = 0;
        let api = move |_: Tick, _: &Job, _: &Grant| {
            nth += 1;
            let latency = Duration::from_micros(dice(seed, nth, 90_000));
            let end = match dice(seed + 100, nth, 10) {
                0 => Err(failure(FailureKind::Connect, Reached::NotSent)),
                1 => Err(failure(FailureKind::Reset, Reached::Sent)),
                2 => Err(failure(FailureKind::Timeout, Reached::Answered)),
                3 => Ok(simulated::reply(StatusCode::TOO_MANY_REQUESTS)),
                4 => Ok(simulated::reply(StatusCode::INTERNAL_SERVER_ERROR)),
                _ => Ok(simulated::reply(StatusCode::OK)),
            };
            (latency, end)
        };
        let tokens = Spec::bucket(
            "tpm",
            Counts::Units,
            "6000/s".parse().unwrap(),
            Cost::new(500).unwrap(),
        );
        let limits = vec![
            qps("100/s", 5),
            tokens,
            Spec::window("window", "150/1s".parse().unwrap()),
        ];
        let lines = (0..500).map(|line| (Tick(line * MILLI), Ok(job(line, Some(line % 90), 1))));
        let mut done = BTreeMap::new();
        let mut watch = |seen: Seen<'_>| {
            if let Seen::Done(_, outcome) = seen {
                assert!(
                    done.insert(outcome.seq, outcome.status).is_none(),
                    "one result each"
                );
                if let Some(queue) = outcome
                    .queue
                    .filter(|_| outcome.tries.last().unwrap().sent.is_some())
                {
                    let sent: Vec<_> = outcome
                        .tries
                        .iter()
                        .filter_map(|one| Some((one.sent?, one.done)))
                        .collect();
                    let gaps: Duration =
                        sent.windows(2).map(|pair| pair[1].0.since(pair[0].1)).sum();
                    assert_eq!(
                        outcome.waits.sum(),
                        queue + gaps,
                        "waits add up: {outcome:?}"
                    );
                }
            }
        };
        let mut api = api;
        let (summary, end) =
            Simulation::new(rules(Some(8), limits), lines, &mut api, &mut watch).run();
        assert_eq!(end, End::Finished);
        assert_eq!(
            (summary.tally.counts.read, summary.tally.counts.done()),
            (500, 500)
        );
        assert_eq!(summary.tally.tries, 500 + summary.tally.retries);
        assert_eq!(done.len(), 500);
        assert!(done.values().any(|status| *status == Status::Ok));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut rules = rules(Some(4), vec![qps("50/s", 1)]);
        rules.retry.jitter = Jitter::Full;
        let api = |_: Tick, job: &Job, grant: &Grant| {
            let refused = job.place.line.is_multiple_of(3) && grant.attempt < 3;
            let status = if refused {
                StatusCode::SERVICE_UNAVAILABLE
            } else {
                StatusCode::OK
            };
            (Duration::from_millis(30), Ok(simulated::reply(status)))
        };
        sends(rules, jobs(200), api).0
    };
    assert_eq!(run(), run());
}

#[test]
fn a_cost_above_the_capacity_fails_at_once_and_holds_nothing_back() {
    let tokens = Spec::bucket(
        "tpm",
        Counts::Units,
        "1000/m".parse().unwrap(),
        Cost::new(1000).unwrap(),
    );
    let lines = [100, 5000, 100]
        .into_iter()
        .zip(0..)
        .map(|(units, line)| (Tick::ZERO, Ok(job(line, Some(units), 1))));
    let mut failed = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(at, outcome) = seen
            && let Some((kind, message)) = &outcome.error
        {
            failed.push((at, outcome.seq, *kind, message.clone(), outcome.tries.len()));
        }
    };
    let mut api = ok_after(Duration::from_millis(10));
    let (summary, _) =
        Simulation::new(rules(Some(1), vec![tokens]), lines, &mut api, &mut watch).run();
    let message = "tpm: needs 5000, the limit holds 1000\n  mend: raise the limit to 5000, or split the request";
    let message = message.to_owned();
    assert_eq!(failed, [(Tick::ZERO, 1, FailureKind::Limit, message, 0)]);
    assert_eq!(
        (summary.tally.counts.ok, summary.elapsed),
        (2, Duration::from_millis(20))
    );
}

#[test]
fn an_unreachable_origin_rests_and_another_goes_on() {
    let mut rules = rules(Some(4), Vec::new());
    let rest = Duration::from_secs(1);
    rules.retry.backoff = Backoff {
        min: rest,
        max: rest,
    };
    let lines = (0..20).map(|line| {
        let mut job = job(line, None, 1);
        if line < 10 {
            job.origin = Origin(Arc::from("http://dead"));
        }
        (Tick::ZERO, Ok(job))
    });
    let api = |_: Tick, job: &Job, _: &Grant| {
        if &*job.origin.0 == "http://dead" {
            (
                Duration::from_millis(1),
                Err(failure(FailureKind::Connect, Reached::NotSent)),
            )
        } else {
            (
                Duration::from_millis(1),
                Ok(simulated::reply(StatusCode::OK)),
            )
        }
    };
    let (sent, summary) = sends(rules, lines, api);
    assert_eq!(
        (summary.tally.counts.ok, summary.tally.counts.failed),
        (10, 10)
    );
    let last_of_the_living = sent
        .iter()
        .filter(|send| send.0 >= 10)
        .map(|send| send.2)
        .max()
        .unwrap();
    assert!(last_of_the_living < 10 * MILLI, "{last_of_the_living}");
    let dead: Vec<u64> = sent
        .iter()
        .filter(|send| send.0 < 10)
        .map(|send| send.2)
        .collect();
    assert!(
        dead.windows(2)
            .all(|pair| pair[1] - pair[0] <= MILLI || pair[1] - pair[0] >= 999 * MILLI)
    );
}

#[test]
fn a_post_that_may_have_been_served_is_not_sent_twice() {
    let lines = [Method::GET, Method::POST]
        .into_iter()
        .zip(0..)
        .map(|(method, line)| {
            let mut job = job(line, None, 1);
            job.method = method;
            (Tick::ZERO, Ok(job))
        });
    let api = |_: Tick, _: &Job, _: &Grant| {
        (
            Duration::from_millis(1),
            Err(failure(FailureKind::Reset, Reached::Sent)),
        )
    };
    let (sent, summary) = sends(rules(Some(2), Vec::new()), lines, api);
    assert_eq!(sent.iter().filter(|send| send.0 == 0).count(), 5);
    assert_eq!(sent.iter().filter(|send| send.0 == 1).count(), 1);
    assert_eq!(summary.unseen.unwrap().unrepeated, 1);
}

#[test]
fn a_rest_that_a_server_asked_for_is_a_pause_in_both_books() {
    let api = |_: Tick, _: &Job, grant: &Grant| {
        let mut reply = simulated::reply(StatusCode::OK);
        if grant.attempt == 1 {
            reply.head.status = StatusCode::TOO_MANY_REQUESTS;
            reply.head.headers = Fields::of([("retry-after", "3")]);
        }
        (Duration::from_millis(10), Ok(reply))
    };
    let (_, summary) = sends(rules(Some(1), Vec::new()), jobs(1), api);
    let asked = Duration::from_secs(3);
    let mut waits = summary.tally.waits.iter();
    assert_eq!(
        waits.find(|(name, _)| &***name == "pause").unwrap().1,
        asked
    );
    let shares = &summary.stretch.shares;
    assert!(shares.contains(&(Owner::Pause, asked)), "{shares:?}");
}

#[test]
fn a_stall_is_seen_in_the_time_since_due_though_service_is_fast() {
    let mut nth = 0;
    let api = move |_: Tick, _: &Job, _: &Grant| {
        nth += 1;
        let millis = if nth == 50 { 2000 } else { 10 };
        (
            Duration::from_millis(millis),
            Ok(simulated::reply(StatusCode::OK)),
        )
    };
    let (_, summary) = sends(rules(Some(1), vec![qps("50/s", 1)]), jobs(200), api);
    let service = summary.tally.service.ok.quantile(0.5).unwrap();
    let since_due = summary.tally.since_due.ok.quantile(0.5).unwrap();
    assert_eq!(service.as_millis(), 10);
    assert!(since_due >= Duration::from_millis(800), "{since_due:?}");
}

#[test]
fn a_slow_producer_is_not_the_servers_lateness() {
    let lines = (0..20).map(|line| (Tick(line * SECOND), Ok(job(line, None, 1))));
    let (_, summary) = sends(
        rules(Some(2), vec![qps("10/s", 1)]),
        lines,
        ok_after(Duration::from_millis(10)),
    );
    assert_eq!(
        summary.tally.since_due.ok.max(),
        Some(Duration::from_millis(10))
    );
    assert_eq!(summary.stretch.shares[0].0, Owner::Input);
}

/// A driver that wakes late, as real timers do: what was granted when, and charged for when.
fn late_grants(
    rate: &str,
    burst: u64,
    count: u64,
    lateness: impl Fn(u64) -> u64,
) -> Vec<(Tick, Tick)> {
    let mut rules = rules(None, vec![qps(rate, burst)]);
    rules.slack = Duration::from_millis(2);
    let mut engine = Engine::new(rules);
    let (mut now, mut left, mut grants, mut wakes) = (Tick::ZERO, count, Vec::new(), 0);
    loop {
        let mut actions = Vec::new();
        let next = engine.decide(now, &mut actions);
        let mut read = 0;
        for action in actions {
            match action {
                Action::Send(ticket, _, grant) => {
                    grants.push((now, grant.charged_at));
                    engine.tell(now, Event::Sent(ticket, now), &mut Vec::new());
                    let end = Box::new(Ok(simulated::reply(StatusCode::OK)));
                    let mut done = Vec::new();
                    engine.tell(now, Event::Ended(ticket, now, end), &mut done);
                    engine.tell(now, Event::Recorded(ticket), &mut done);
                }
                Action::Read(lines) => read += lines as u64,
                Action::Prepare(..) => unreachable!("no lead is given"),
                Action::Store(_) => unreachable!("nothing is shared"),
                Action::Record(..) => unreachable!("only tell asks for it"),
                Action::Stop(_) => return grants,
            }
        }
        for _ in 0..read.min(left) {
            engine.tell(
                now,
                Event::read(Ok(job(0, None, 1)), Tick::ZERO),
                &mut Vec::new(),
            );
        }
        left -= read.min(left);
        if left == 0 {
            engine.tell(now, Event::InputEnded(Ok(())), &mut Vec::new());
        }
        if read == 0
            && let Some(next) = next
        {
            wakes += 1;
            now = Tick(next.0.max(now.0) + lateness(wakes));
        }
    }
}

#[test]
fn late_timers_cost_no_rate_and_never_give_more() {
    for (rate, per_second) in [
        ("500/s", 500u32),
        ("1000/s", 1000),
        ("2000/s", 2000),
        ("5000/s", 5000),
    ] {
        for burst in [1, 10] {
            let grants = late_grants(rate, burst, 3000, |wake| 1_000_000 + dice(9, wake, 900_000));
            let span = grants.last().unwrap().0.since(grants[0].0).as_secs_f64();
            let reached = 2999.0 / span / f64::from(per_second);
            assert!(reached >= 0.98, "{rate}: {reached}");
            never_more(&grants, per_second.into(), burst);
        }
    }
}

#[test]
fn a_long_stall_is_forfeited_and_not_caught_up() {
    let grants = late_grants("1000/s", 1, 2000, |wake| {
        if wake == 700 { 5 * SECOND } else { 60_000 }
    });
    never_more(&grants, 1000, 1);
    let at_once = grants
        .chunk_by(|a, b| a.0 == b.0)
        .map(<[_]>::len)
        .max()
        .unwrap();
    assert!(at_once <= 3, "{at_once} went at once after the stall");
}

/// In any window of length T at most `burst + rate × (T + slack)` grants.
fn never_more(grants: &[(Tick, Tick)], rate: u128, burst: u64) {
    for (first, (from, charged)) in grants.iter().enumerate() {
        assert!(charged <= from && from.since(*charged) <= Duration::from_millis(2));
        for (count, (to, _)) in grants[first..].iter().enumerate().take(200) {
            let span = u128::from(to.0 - from.0) + 2_000_000;
            let most = u128::from(burst) * 1_000_000_000 + rate * span;
            assert!(
                (count as u128 + 1) * 1_000_000_000 <= most + 1_000_000_000,
                "{count} from {from:?} to {to:?}"
            );
        }
    }
}

#[test]
fn the_first_signal_finishes_what_is_in_flight_and_the_second_stops() {
    use shaper::engine::Signal;
    let (mut engine, tickets) = in_flight(rules(Some(2), Vec::new()), 5);
    let mut actions = Vec::new();
    assert_eq!(tickets.len(), 2);
    engine.tell(
        Tick(1),
        Event::Signal(Signal::Interrupt, Tick(1)),
        &mut actions,
    );
    engine.decide(Tick(1), &mut actions);
    assert!(
        actions.is_empty(),
        "nothing new is sent or read: {actions:?}"
    );
    let end = Box::new(Ok(simulated::reply(StatusCode::OK)));
    engine.tell(
        Tick(2),
        Event::Ended(tickets[0], Tick(2), end),
        &mut actions,
    );
    assert!(matches!(actions[..], [Action::Record(ticket, _)] if ticket == tickets[0]));
    actions.clear();
    engine.tell(Tick(2), Event::Recorded(tickets[0]), &mut actions);
    engine.tell(
        Tick(3),
        Event::Signal(Signal::Terminate, Tick(3)),
        &mut actions,
    );
    assert!(matches!(
        actions[..],
        [Action::Stop(End::Signalled(Signal::Terminate))]
    ));
    let counts = engine.close(Tick(4)).tally.counts;
    assert_eq!((counts.read, counts.ok, counts.cancelled), (5, 1, 4));
}

#[test]
fn one_sigterm_that_comes_twice_is_one_wish() {
    use shaper::engine::Signal;
    let (mut engine, _) = in_flight(rules(Some(2), Vec::new()), 1);
    let mut actions = Vec::new();
    engine.tell(
        Tick(1),
        Event::Signal(Signal::Terminate, Tick(1)),
        &mut actions,
    );
    engine.tell(
        Tick(2 * MILLI),
        Event::Signal(Signal::Terminate, Tick(2 * MILLI)),
        &mut actions,
    );
    assert!(
        actions.is_empty(),
        "what is in flight is finished: {actions:?}"
    );
    engine.tell(
        Tick(2 * SECOND),
        Event::Signal(Signal::Terminate, Tick(2 * SECOND)),
        &mut actions,
    );
    assert!(matches!(
        actions[..],
        [Action::Stop(End::Signalled(Signal::Terminate))]
    ));
}

#[test]
fn the_slot_stays_taken_until_the_result_is_in_the_file() {
    let (mut engine, tickets) = in_flight(rules(Some(1), Vec::new()), 2);
    let first = tickets[0];
    let mut actions = Vec::new();
    let end = Box::new(Ok(simulated::reply(StatusCode::OK)));
    engine.tell(Tick(5), Event::Ended(first, Tick(5), end), &mut actions);
    actions.clear();
    engine.decide(Tick(6), &mut actions);
    assert!(
        !actions
            .iter()
            .any(|action| matches!(action, Action::Send(..))),
        "not yet written"
    );
    engine.tell(Tick(7), Event::Recorded(first), &mut actions);
    engine.decide(Tick(7), &mut actions);
    assert!(
        actions
            .iter()
            .any(|action| matches!(action, Action::Send(..)))
    );
}

#[test]
fn a_slot_given_back_between_two_grants_costs_no_rate() {
    let slack = Duration::from_millis(2);
    let rules = Rules {
        slack,
        ..rules(Some(10), vec![qps("1000/s", 1)])
    };
    let mut engine = Engine::new(rules);
    let mut actions = Vec::new();
    for (at, line) in jobs(4) {
        engine.tell(at, Event::read(line, at), &mut actions);
    }
    engine.decide(Tick::ZERO, &mut actions);
    let Some(&Action::Send(ticket, ..)) = actions.first() else {
        panic!("the first job goes at once: {actions:?}");
    };
    engine.tell(Tick(0), Event::Sent(ticket, Tick(0)), &mut actions);
    let ended_at = Tick(2 * MILLI + MILLI / 2);
    let end = Box::new(Ok(simulated::reply(StatusCode::OK)));
    engine.tell(ended_at, Event::Ended(ticket, ended_at, end), &mut actions);
    engine.tell(ended_at, Event::Recorded(ticket), &mut actions);
    actions.clear();
    engine.decide(Tick(3 * MILLI), &mut actions);
    let charged: Vec<u64> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Send(_, _, grant) => Some(grant.charged_at.0),
            Action::Read(_)
            | Action::Prepare(..)
            | Action::Store(_)
            | Action::Record(..)
            | Action::Stop(_) => None,
        })
        .collect();
    assert_eq!(charged, [MILLI, 2 * MILLI, 3 * MILLI]);
}

#[test]
fn a_window_shorter_than_the_slack_holds_for_jobs_that_are_not_yet_sent() {
    let rules = Rules {
        slack: Duration::from_millis(2),
        ..rules(None, vec![Spec::window("window", "1/1ms".parse().unwrap())])
    };
    let mut engine = Engine::new(rules);
    let mut actions = Vec::new();
    let now = Tick(5 * MILLI);
    for (_, line) in jobs(4) {
        engine.tell(Tick::ZERO, Event::read(line, Tick::ZERO), &mut actions);
    }
    let next = engine.decide(now, &mut actions);
    let sends = actions
        .iter()
        .filter(|action| matches!(action, Action::Send(..)))
        .count();
    assert_eq!((sends, next > Some(now)), (1, true), "{actions:?}");
}

#[test]
fn opening_a_connection_is_a_wait_of_its_own_that_is_no_latency() {
    let mut engine = Engine::new(rules(Some(1), vec![qps("100/s", 1)]));
    let at = |millis: u64| Tick(millis * MILLI);
    let mut actions = Vec::new();
    let mut granted = |engine: &mut Engine, now| {
        engine.decide(now, &mut actions);
        sent(actions.drain(..)).pop().expect("it is granted now")
    };
    let line = || Event::read(Ok(job(0, None, 1)), Tick::ZERO);
    let mut told = Vec::new();
    engine.tell(at(0), line(), &mut told);
    let ticket = granted(&mut engine, at(0));
    let refused = Failure::new(FailureKind::Connect, Reached::NotSent, "refused");
    let end = Box::new(Err(refused));
    engine.tell(at(30), Event::Ended(ticket, at(30), end), &mut told);
    // The rest before the second try is half a second.
    let ticket = granted(&mut engine, at(530));
    engine.tell(at(550), Event::Connected(ticket, at(550)), &mut told);
    engine.tell(at(550), Event::Sent(ticket, at(550)), &mut told);
    let end = Box::new(Ok(simulated::reply(StatusCode::OK)));
    engine.tell(at(650), Event::Ended(ticket, at(650), end), &mut told);
    let Some(Action::Record(_, outcome)) = told.pop() else {
        panic!("it is done: {told:?}");
    };
    let millis = |span: Duration| span.as_millis();
    let waits = outcome.waits.iter();
    let waits: Vec<_> = waits.map(|(name, span)| (&**name, millis(span))).collect();
    assert_eq!(waits, [("backoff", 500), ("connect", 50)]);
    assert_eq!(outcome.queue.map(millis), Some(550));
    assert_eq!(outcome.connect().map(millis), Some(20));
    assert_eq!(outcome.latency().map(millis), Some(100));
}
