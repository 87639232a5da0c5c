//! The time that is left, as arithmetic tells it, against the time that it took.

use super::*;
use shaper::dice::mix;

/// Looks at a run each time a tenth more of its lines is done, and gives what was told beside what came.
fn told(
    rules: Rules,
    count: u64,
    units: Option<u64>,
    mut api: impl FnMut(Tick, &Job, &Grant) -> (Duration, Result<Reply, Failure>),
) -> Vec<(f64, f64)> {
    let lines = (0..count).map(|line| (Tick::ZERO, Ok(job(line, units, 1))));
    let mut watch = |_: Seen<'_>| {};
    let mut run = Simulation::new(rules, lines, &mut api, &mut watch);
    let mut told = Vec::new();
    while run.step() {
        let tenths = told.len() as u64 + 1;
        if run.engine().counts().done() >= tenths * count / 10 {
            told.push((run.now(), run.engine().time_left(count).unwrap()));
        }
    }
    let end = run.now();
    let told = told.into_iter().filter(|(at, _)| *at < end);
    told.map(|(at, left)| (left.as_secs_f64(), end.since(at).as_secs_f64()))
        .collect()
}

#[track_caller]
fn assert_near(told: &[(f64, f64)], percent: f64) {
    assert!(told.len() >= 8, "{told:?}");
    for (left, came) in told {
        let off = (left / came - 1.0).abs() * 100.0;
        assert!(off <= percent, "{left} s told, {came} s came: {told:?}");
    }
}

fn tpm(rate: &str) -> Spec {
    format!("tokens {rate} name=tpm").parse().unwrap()
}

#[test]
fn what_slots_alone_take_is_told() {
    let latency = Duration::from_millis(70);
    let left = told(rules(Some(20), Vec::new()), 4000, None, ok_after(latency));
    assert_near(&left, 5.0);
}

#[test]
fn what_a_rate_takes_is_told_with_slots_and_without() {
    for slots in [None, Some(20)] {
        let latency = Duration::from_millis(70);
        let limits = vec![qps("30/s", 1)];
        let left = told(rules(slots, limits), 3000, None, ok_after(latency));
        assert_near(&left, 1.0);
    }
}

#[test]
fn a_burst_that_is_used_up_is_no_promise_for_the_rest() {
    // A minute's worth at once: for 50 s the slots decide, then the units do.
    let limits = vec![tpm("60000/m")];
    let latency = Duration::from_secs(1);
    let left = told(rules(Some(20), limits), 3000, Some(100), ok_after(latency));
    assert_near(&left, 2.0);
}

#[test]
fn answers_that_use_less_than_was_reserved_make_it_shorter() {
    let limits = vec![tpm("60000/m")];
    let mut api = |_: Tick, _: &Job, _: &Grant| {
        let mut reply = simulated::reply(StatusCode::OK);
        reply.used = Some(shaper::outcome::Usage::of(40));
        (Duration::from_secs(1), Ok(reply))
    };
    let left = told(rules(Some(50), limits), 4000, Some(100), &mut api);
    assert_near(&left, 5.0);
}

#[test]
fn a_window_opens_as_a_whole() {
    let limits = vec!["100/10s window".parse().unwrap()];
    let latency = Duration::from_millis(200);
    let left = told(rules(Some(50), limits), 3050, None, ok_after(latency));
    assert_near(&left, 5.0);
}

#[test]
fn tries_that_fail_have_to_be_made_again() {
    let mut tries = 0;
    let mut api = |_: Tick, _: &Job, _: &Grant| {
        tries += 1;
        let fails = mix(tries).is_multiple_of(3);
        let status = if fails { 503 } else { 200 };
        let status = StatusCode::from_u16(status).unwrap();
        (Duration::from_millis(50), Ok(simulated::reply(status)))
    };
    // The rests of the last tries come on top: they are short here.
    let mut rules = rules(Some(20), vec![qps("100/s", 1)]);
    rules.retry.backoff = "50ms..100ms".parse().unwrap();
    let left = told(rules, 20_000, None, &mut api);
    assert_near(&left, 5.0);
}

#[test]
fn a_pause_that_a_server_asks_for_is_part_of_it() {
    let mut tries = 0;
    let mut api = |_: Tick, _: &Job, _: &Grant| {
        tries += 1;
        let mut reply = simulated::reply(StatusCode::OK);
        if tries == 500 {
            reply.head.status = StatusCode::TOO_MANY_REQUESTS;
            reply.head.headers = Fields::of([("retry-after", "3600")]);
        }
        (Duration::from_millis(50), Ok(reply))
    };
    let lines = jobs(1000);
    let mut watch = |_: Seen<'_>| {};
    let rules = rules(Some(2), Vec::new());
    let mut run = Simulation::new(rules, lines, &mut api, &mut watch);
    let mut last = None;
    while run.step() {
        if run.engine().holds_back() == Owner::Pause && run.engine().load().0 == 0 {
            last.get_or_insert((run.now(), run.engine().time_left(1000).unwrap()));
        }
    }
    let (at, left) = last.expect("all rest");
    let came = run.now().since(at);
    assert!(left.abs_diff(came) < came / 20, "{left:?}, {came:?}");
}

#[test]
fn pauses_that_come_again_and_again_are_part_of_it() {
    // As many as an API takes in a second go at once, all others are refused, and each asks for a pause of a second.
    let (mut second, mut taken) = (0, 0);
    let mut api = |now: Tick, _: &Job, _: &Grant| {
        let this = now.0 / 1_000_000_000;
        if this != second {
            (second, taken) = (this, 0);
        }
        taken += 1;
        let mut reply = simulated::reply(StatusCode::OK);
        if taken > 2 {
            reply.head.status = StatusCode::TOO_MANY_REQUESTS;
            reply.head.headers = Fields::of([("retry-after", "1")]);
        }
        (Duration::from_millis(50), Ok(reply))
    };
    // The rests of the last tries come on top: they are short here.
    let mut rules = rules(Some(10), Vec::new());
    rules.retry.backoff = "50ms..100ms".parse().unwrap();
    rules.retry.max_attempts = 999.try_into().unwrap();
    let left = told(rules, 400, None, &mut api);
    assert_near(&left, 10.0);
}

#[test]
fn the_longest_rest_is_part_of_it() {
    let mut api = |_: Tick, job: &Job, grant: &Grant| {
        let refused = job.place.line == 1 && grant.attempt == 1;
        let status = if refused { 503 } else { 200 };
        let status = StatusCode::from_u16(status).unwrap();
        (Duration::from_millis(50), Ok(simulated::reply(status)))
    };
    let mut rules = rules(Some(2), vec![qps("1/s", 1)]);
    rules.retry.backoff = "100s..100s".parse().unwrap();
    rules.retry.jitter = shaper::retry::Jitter::None;
    let left = told(rules, 20, None, &mut api);
    assert_near(&left, 1.0);
}

#[test]
fn hosts_that_are_kept_apart_go_on_at_the_rate_so_far() {
    let limits = vec!["5/s per=host".parse().unwrap()];
    let latency = Duration::from_millis(10);
    let left = told(rules(Some(50), limits), 2000, None, ok_after(latency));
    assert_near(&left, 5.0);
}

#[test]
fn nothing_is_told_before_an_answer() {
    let engine = Engine::new(rules(Some(1), Vec::new()));
    assert_eq!(engine.time_left(100), None);
}
