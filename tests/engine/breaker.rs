//! An origin that worked and fails again and again rests, and one job at a time asks whether it is back.

use std::ops::Range;

use super::*;

type End = (Duration, Result<Reply, Failure>);

const OUTAGE: Range<u64> = 5 * SECOND..65 * SECOND;

fn answer(status: u16, fields: &[(&str, &str)]) -> End {
    let mut reply = simulated::reply(StatusCode::from_u16(status).unwrap());
    reply.head.headers = Fields::of(fields.iter().copied());
    (Duration::from_millis(100), Ok(reply))
}

fn lost(kind: FailureKind, reached: Reached) -> End {
    (Duration::from_millis(100), Err(failure(kind, reached)))
}

/// As `end` tells while the outage lasts.
fn out_of_order(end: impl Fn() -> End) -> impl FnMut(Tick, &Job, &Grant) -> End {
    move |at, _, _| {
        if OUTAGE.contains(&at.0) {
            end()
        } else {
            answer(200, &[])
        }
    }
}

/// 20 slots, the usual rests.
fn usual(seed: u64) -> Rules {
    let mut rules = rules(Some(20), Vec::new());
    rules.retry.jitter = Jitter::Full;
    rules.retry.seed = seed;
    rules.re_entry = Some(Duration::from_millis(5));
    rules
}

fn breaks(summary: &Summary) -> (u64, Duration) {
    let unseen = summary.unseen.unwrap();
    (unseen.breaks, unseen.broken_for)
}

#[test]
fn an_outage_of_a_minute_takes_a_few_tries_and_no_job() {
    let ends: [fn() -> End; 4] = [
        || answer(503, &[]),
        || lost(FailureKind::Timeout, Reached::Sent),
        || lost(FailureKind::Reset, Reached::Sent),
        || lost(FailureKind::Connect, Reached::NotSent),
    ];
    for (kind, end) in ends.into_iter().enumerate() {
        for seed in 0..20 {
            let (sent, summary) = sends(usual(seed), jobs(2000), out_of_order(end));
            let within: Vec<_> = sent
                .iter()
                .filter(|send| OUTAGE.contains(&send.2))
                .collect();
            let told = format!("end {kind}, seed {seed}: {within:?}");
            assert!(within.len() <= 20 + 15, "{told}");
            assert!(summary.tally.counts.failed == 0, "{told}");
            let asks = within[20..].windows(2);
            assert!(asks.clone().all(|pair| pair[0].2 < pair[1].2), "{told}");
            let (times, span) = breaks(&summary);
            assert_eq!(times, 1, "{told}");
            let back = span.saturating_sub(Duration::from_secs(60));
            assert!(back < Duration::from_secs(31), "{back:?} after it, {told}");
            let after: Vec<u64> = sent
                .iter()
                .map(|send| send.2)
                .filter(|at| *at >= OUTAGE.end)
                .collect();
            assert!(after[1] >= after[0] + 100 * MILLI, "{told}");
            let apart = after[1..150].windows(2);
            assert!(
                apart.clone().all(|pair| pair[1] >= pair[0] + 5 * MILLI),
                "one by one, {told}"
            );
            let shares = &summary.stretch.shares;
            let rests = shares
                .iter()
                .filter(|share| matches!(share.0, Owner::Backoff | Owner::Connect));
            let rests: Duration = rests.map(|share| share.1).sum();
            assert!(rests > span.mul_f64(0.9), "{shares:?}, {told}");
            assert!(
                shares.iter().all(|share| share.0 != Owner::Client),
                "{shares:?}"
            );
        }
    }
}

#[test]
fn an_outage_without_connections_takes_no_job_however_few_are_in_flight() {
    for slots in [1, 2, 20] {
        for seed in 0..20 {
            let mut rules = usual(seed);
            rules.slots = Cost::new(slots);
            rules.limits = vec!["20/s".parse().unwrap()];
            let end = || lost(FailureKind::Connect, Reached::NotSent);
            let (_, summary) = sends(rules, jobs(400), out_of_order(end));
            let counts = summary.tally.counts;
            assert_eq!(
                (counts.ok, counts.failed),
                (400, 0),
                "{slots} slots, seed {seed}"
            );
        }
    }
}

#[test]
fn the_rest_of_an_origin_grows_up_to_the_longest() {
    let mut rules = usual(0);
    rules.retry.jitter = Jitter::None;
    rules.retry.backoff = "1s..8s".parse().unwrap();
    let (sent, _) = sends(rules, jobs(2000), out_of_order(|| answer(503, &[])));
    let within = sent
        .iter()
        .map(|send| send.2)
        .filter(|at| OUTAGE.contains(at));
    let asks: Vec<u64> = within
        .skip(20)
        .map(|at| (at - OUTAGE.start) / MILLI)
        .collect();
    // The first rest begins with the twentieth answer, the next ones with that of the one who asked.
    let expected = [1, 2, 4, 8, 8, 8, 8, 8, 8].iter().scan(0, |at, rest| {
        *at += 100 + rest * 1000;
        Some(*at)
    });
    assert_eq!(asks, expected.collect::<Vec<_>>());
}

#[test]
fn what_is_no_outage_pauses_nothing() {
    type Api = fn(u64, u64) -> End;
    let cases: [(&str, u32, Api); 7] = [
        ("it never worked", 5, |_, _| answer(503, &[])),
        ("each try is the result", 1, |line, _| {
            answer(if line < 50 { 200 } else { 503 }, &[])
        }),
        ("each twentieth is answered", 5, |line, tries| {
            let status = if tries.is_multiple_of(20) { 404 } else { 503 };
            answer(if line < 50 { 200 } else { status }, &[])
        }),
        ("it says when to come back", 5, |line, _| {
            let status = if line < 50 { 200 } else { 503 };
            answer(
                status,
                &[("retry-after", "1")][..usize::from(status == 503)],
            )
        }),
        ("it refuses", 5, |line, _| {
            answer(if line < 50 { 200 } else { 429 }, &[])
        }),
        ("it may be the request", 5, |line, _| {
            answer(if line < 50 { 200 } else { 500 }, &[])
        }),
        ("it is not repeated", 5, |line, _| {
            answer(if line < 50 { 200 } else { 501 }, &[])
        }),
    ];
    for (case, most, api) in cases {
        let mut rules = usual(0);
        rules.retry.max_attempts = most.try_into().unwrap();
        rules.slots = Cost::new(1);
        let mut tries = 0;
        let mut api = |_: Tick, job: &Job, _: &Grant| {
            tries += 1;
            api(job.place.line, tries)
        };
        let (_, summary) = sends(rules, jobs(150), &mut api);
        assert_eq!(breaks(&summary), (0, Duration::ZERO), "{case}");
        assert!(summary.tally.counts.failed >= 75, "{case}");
    }
}

#[test]
fn another_origin_goes_on() {
    let of = |line: u64| Job {
        origin: Origin(["http://a", "http://b"][usize::try_from(line % 2).unwrap()].into()),
        ..job(line, None, 1)
    };
    let lines = || (0..4000).map(|line| (Tick(line * 10 * MILLI), Ok(of(line))));
    let mut a_fails = out_of_order(|| answer(503, &[]));
    let api = |at: Tick, job: &Job, grant: &Grant| match &*job.origin.0 {
        "http://a" => a_fails(at, job, grant),
        _ => answer(200, &[]),
    };
    let (sent, summary) = sends(usual(0), lines(), api);
    let late = sent
        .iter()
        .filter(|(line, _, at)| line % 2 == 1 && *at > line * 10 * MILLI);
    assert_eq!(late.count(), 0, "none of the other waits");
    assert_eq!(breaks(&summary).0, 1);
    assert!(
        summary.tally.counts.failed <= 2,
        "{:?}",
        summary.tally.counts
    );
}

#[test]
fn who_waits_too_long_for_an_origin_to_be_back_fails_and_who_only_might_does_not() {
    let mut rules = usual(0);
    rules.retry.jitter = Jitter::None;
    rules.retry.backoff = "2s..16s".parse().unwrap();
    rules.queue_timeout = Some(Duration::from_secs(3));
    // Twenty fail at 5.1 s, one asks at 7.1 s and is answered at 7.2 s, and could be later. If it fails too, the next one
    // asks at 11.2 s: all who wait cannot, and who asked rests meanwhile.
    for (end, failed) in [(7 * SECOND, 0), (8 * SECOND, 2000 - 1000 - 1)] {
        let mut ended = Vec::new();
        let mut api = |at: Tick, _: &Job, _: &Grant| {
            let status = if (5 * SECOND..end).contains(&at.0) {
                503
            } else {
                200
            };
            answer(status, &[])
        };
        let mut watch = |seen: Seen<'_>| {
            if let Seen::Done(_, outcome) = seen {
                ended.extend(outcome.error.clone());
            }
        };
        let run = Simulation::new(rules.clone(), jobs(2000), &mut api, &mut watch);
        let (summary, _) = run.run();
        assert_eq!(breaks(&summary).0, 1);
        assert_eq!(ended.len(), failed, "{ended:?}");
        for (kind, why) in &ended {
            assert_eq!(*kind, FailureKind::QueueTimeout);
            let held = why.starts_with("would wait") && why.contains("for backoff");
            assert!(held, "{why}");
        }
    }
}

#[test]
fn a_run_that_is_interrupted_while_an_origin_rests_ends_at_once() {
    use shaper::engine::{End, Signal};
    let mut engine = Engine::new(usual(0));
    let (mut now, mut next) = (Tick::ZERO, None);
    let (mut line, mut signalled) = (0, false);
    let mut flying = Vec::new();
    loop {
        let mut actions = Vec::new();
        for (ticket, status) in flying.drain(..) {
            let end = Box::new(answer(status, &[]).1);
            engine.tell(now, Event::Ended(ticket, now, end), &mut actions);
        }
        if next.is_some_and(|next: Tick| next > now.after(Duration::from_millis(50))) {
            signalled = true;
            engine.tell(now, Event::Signal(Signal::Interrupt, now), &mut actions);
        }
        next = engine.decide(now, &mut actions);
        for action in actions {
            match action {
                Action::Read(lines) => {
                    for _ in 0..lines {
                        let job = job(line, None, 1);
                        line += 1;
                        engine.tell(now, Event::read(Ok(job), now), &mut Vec::new());
                    }
                    next = Some(now);
                }
                Action::Send(ticket, job, _) => {
                    assert!(!signalled);
                    let status = if job.place.line < 100 { 200 } else { 503 };
                    engine.tell(now, Event::Sent(ticket, now), &mut Vec::new());
                    flying.push((ticket, status));
                }
                Action::Record(ticket, _) => {
                    engine.tell(now, Event::Recorded(ticket), &mut Vec::new());
                    next = Some(now);
                }
                Action::Stop(end) => {
                    assert!(signalled && end == End::Signalled(Signal::Interrupt));
                    assert_eq!(breaks(&engine.close(now)).0, 1);
                    return;
                }
                Action::Prepare(..) | Action::Store(_) => {}
            }
        }
        now = now.after(Duration::from_millis(1));
    }
}

#[test]
fn an_outage_of_an_hour_takes_no_job_its_last_try_while_others_can_ask() {
    use shaper::engine::Order;
    let outage = 5 * SECOND..3605 * SECOND;
    for order in [Order::ByCompletion, Order::ByInput] {
        let mut rules = usual(0);
        rules.order = order;
        let api = |at: Tick, _: &Job, _: &Grant| {
            answer(if outage.contains(&at.0) { 503 } else { 200 }, &[])
        };
        let (sent, summary) = sends(rules, jobs(2000), api);
        let within = sent.iter().filter(|send| outage.contains(&send.2)).count();
        let told = format!(
            "{order:?}: {within} tries in it, {:?}",
            summary.tally.counts
        );
        assert!(within < 300, "{told}");
        assert_eq!(summary.tally.counts.failed, 0, "{told}");
    }
}

#[test]
fn jobs_that_are_at_fault_hold_the_others_up_for_a_moment() {
    let api = |_: Tick, job: &Job, _: &Grant| {
        let is_bad = (500..600).contains(&job.place.line);
        answer(if is_bad { 504 } else { 200 }, &[])
    };
    let (sent, summary) = sends(usual(0), jobs(2000), api);
    let counts = summary.tally.counts;
    assert_eq!((counts.ok, counts.failed), (1900, 100));
    let (times, span) = breaks(&summary);
    assert!(times > 1, "{times}");
    assert!(
        span < Duration::from_secs(5),
        "{span:?} of {:?}",
        sent.last()
    );
}
