//! Limits that nobody has given: they are learnt from the answers of the server.

use std::time::Duration;

use http::StatusCode;
use shaper::drive::modelled::{Draws, Modelled};
use shaper::drive::simulated::{self, Simulation};
use shaper::engine::{End, Grant, Rules};
use shaper::fields::Fields;
use shaper::job::{Job, Origin};
use shaper::limit::Setting;
use shaper::metrics::{Owner, Summary};
use shaper::outcome::{Failure, Reply};
use shaper::quota::Provider;
use shaper::units::Tick;

use super::{MILLI, SECOND, job, jobs, rules};

/// 30 slots and no limit: as in a run of the command.
fn adaptive() -> Rules {
    let mut rules = rules(Some(30), Vec::new());
    rules.adaptive = true;
    rules.re_entry = Some(Duration::from_millis(5));
    rules
}

fn against(rules: Rules, api: &str, count: u64) -> Summary {
    let mut api = Modelled::new(
        &api.parse().unwrap(),
        None,
        Setting::VIRTUAL,
        1,
        Draws::Jobs,
    )
    .telling(true);
    let (summary, end) = Simulation::new(rules, jobs(count), &mut api, &mut |_| {}).run();
    assert_eq!(end, End::Finished);
    summary
}

/// Moments of the tries, and what each was answered.
fn told_by(
    rules: Rules,
    lines: impl Iterator<Item = simulated::Line>,
    mut answer: impl FnMut(Tick, &Job) -> (u16, Vec<(&'static str, String)>),
) -> (Vec<(Tick, u16)>, Summary) {
    let mut tries = Vec::new();
    let mut api = |at: Tick, job: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        let (status, fields) = answer(at, job);
        tries.push((at, status));
        let mut reply = simulated::reply(StatusCode::from_u16(status).unwrap());
        reply.head.headers = Fields::of(fields.iter().map(|(name, text)| (*name, &**text)));
        (Duration::from_millis(50), Ok(reply))
    };
    let (summary, _) = Simulation::new(rules, lines, &mut api, &mut |_| {}).run();
    (tries, summary)
}

#[test]
fn a_strict_server_sees_at_most_a_tenth_more_requests_than_jobs_and_all_end_well() {
    for (api, count) in [
        ("limit=100/1s window,latency=50ms", 3_000),
        ("limit=100/1s window,latency=exp:500ms", 1_000),
        ("limit=100/1s window,latency=50ms,retry-after=none", 3_000),
        ("limit=100/1s window,latency=50ms,retry-after=date", 1_000),
        ("limit=100/1s fixed,latency=50ms", 3_000),
        ("limit=100/1s bucket burst=100,latency=50ms", 3_000),
        ("limit=100/1s window-counter,latency=50ms", 3_000),
        ("limit=10/1s window,latency=50ms", 400),
        ("limit=60/1m window,latency=50ms", 400),
        ("limit=1000/1m window,latency=exp:200ms", 3_000),
    ] {
        let tally = against(adaptive(), api, count).tally;
        assert_eq!(tally.counts.ok, count, "{api}: {:?}", tally.counts);
        assert!(
            tally.tries * 10 <= count * 11,
            "{api}: {} tries",
            tally.tries
        );
    }
}

#[test]
fn the_pace_that_is_found_comes_near_to_the_limit() {
    for (api, count) in [
        ("limit=100/1s window,latency=50ms", 3_000),
        ("limit=100/1s fixed,latency=50ms", 3_000),
        ("limit=100/1s bucket burst=100,latency=50ms", 3_000),
    ] {
        let summary = against(adaptive(), api, count);
        let rate = summary.tally.sends.rate().unwrap();
        assert!((80.0..=115.0).contains(&rate), "{api}: {rate}");
        let [learnt] = &summary.learning.keys[..] else {
            panic!("{:?}", summary.learning);
        };
        let mean = learnt.mean.unwrap().per_second();
        assert!((80.0..=101.0).contains(&mean), "{api}: {mean}");
        assert!(learnt.refused >= 1 && !learnt.changes.is_empty());
        assert_eq!(learnt.key, "http://127.0.0.1");
    }
}

#[test]
fn a_server_that_tells_its_limits_refuses_nothing() {
    for (api, count) in [
        ("limit=100/1s window,latency=50ms", 2_000),
        ("limit=100/1s fixed,latency=50ms", 2_000),
        ("limit=60/1m fixed,latency=1s,retry-after=none", 300),
        ("limit=1000/1m window,latency=exp:200ms", 2_500),
    ] {
        let mut rules = adaptive();
        rules.provider = Provider::named("github").ok();
        let summary = against(rules, api, count);
        assert_eq!(summary.tally.counts.ok, count, "{api}");
        assert_eq!(summary.tally.tries, count, "{api}: a refusal");
    }
}

#[test]
fn what_others_use_of_the_same_key_is_left_to_them() {
    // A window of 100 a second, of which somebody else takes every second one.
    let (mut window, mut used) = (0, 0);
    let (tries, summary) = told_by(adaptive(), jobs(600), |at, _| {
        if at.0 / SECOND > window {
            (window, used) = (at.0 / SECOND, 0);
        }
        used += 2;
        let status = if used > 100 { 429 } else { 200 };
        let left = 100_u64.saturating_sub(used);
        let reset = (window + 1) * SECOND - at.0;
        let reset = reset.div_ceil(SECOND);
        let level = format!("\"all\";r={left};t={reset}");
        (status, vec![("ratelimit", level)])
    });
    assert_eq!(summary.tally.counts.ok, 600);
    let refused = tries.iter().filter(|(_, status)| *status == 429).count();
    assert!(refused <= 60, "{refused} of {} were refused", tries.len());
}

#[test]
fn tokens_that_are_used_up_are_waited_for() {
    let lines = (0..40).map(|line| (Tick::ZERO, Ok(job(line, Some(100), 1))));
    let mut rules = adaptive();
    rules.provider = Provider::named("openai").ok();
    // A bucket of 1000 that is filled in a minute, and told as OpenAI tells it.
    let (mut level, mut last) = (1_000_u64 * 60 * SECOND, 0);
    let (tries, summary) = told_by(rules, lines, |at, _| {
        level = (level + 1_000 * (at.0 - last)).min(1_000 * 60 * SECOND);
        last = at.0;
        let fits = level >= 100 * 60 * SECOND;
        level -= if fits { 100 * 60 * SECOND } else { 0 };
        let reset = (60 * SECOND - level / 1_000).div_ceil(MILLI);
        let fields = vec![
            ("x-ratelimit-limit-tokens", "1000".to_owned()),
            (
                "x-ratelimit-remaining-tokens",
                (level / 60 / SECOND).to_string(),
            ),
            ("x-ratelimit-reset-tokens", format!("{reset}ms")),
            ("x-ratelimit-limit-requests", "5000".to_owned()),
            ("x-ratelimit-remaining-requests", "4000".to_owned()),
            ("x-ratelimit-reset-requests", "12s".to_owned()),
        ];
        (if fits { 200 } else { 429 }, fields)
    });
    assert_eq!(summary.tally.counts.ok, 40);
    // The first are sent before anything is known.
    let later = tries.iter().filter(|(at, _)| at.0 > SECOND);
    assert!(later.clone().count() >= 30);
    let refused = later.filter(|(_, status)| *status == 429).count();
    assert_eq!(refused, 0, "of {} tries", tries.len());
    let told = &summary.learning.keys[0].told;
    assert!(
        told.iter()
            .any(|told| told.option().as_deref() == Some("--tpm 1000")),
        "{told:?}"
    );
}

#[test]
fn each_key_has_its_own_and_its_wait_has_a_name() {
    let lines = (0..400).map(|line| {
        let slow = line % 2 == 0;
        let mut job = job(line, None, 1);
        job.origin = Origin(if slow { "http://slow" } else { "http://fast" }.into());
        (Tick::ZERO, Ok(job))
    });
    let (mut second, mut used) = (0, 0);
    let (mut slow, mut fast) = (0_u64, 0_u64);
    let (_, summary) = told_by(adaptive(), lines, |at, job| {
        if &*job.origin.0 == "http://fast" {
            fast = at.0;
            return (200, Vec::new());
        }
        slow = at.0;
        if at.0 / SECOND > second {
            (second, used) = (at.0 / SECOND, 0);
        }
        used += 1;
        (if used > 10 { 429 } else { 200 }, Vec::new())
    });
    assert_eq!(summary.tally.counts.ok, 400);
    assert!(fast < 2 * SECOND && slow > 15 * SECOND, "{fast} {slow}");
    let shares = summary.stretch.shares.iter();
    let own = shares.filter(|(owner, _)| *owner == Owner::Adaptive);
    assert!(own.map(|(_, span)| *span).sum::<Duration>() > Duration::from_secs(5));
    let keys: Vec<_> = summary.learning.keys.iter().map(|key| &*key.key).collect();
    assert_eq!(keys, ["http://slow"]);
}

#[test]
fn a_run_without_it_learns_nothing() {
    let mut rules = adaptive();
    rules.adaptive = false;
    let summary = against(rules, "limit=100/1s window,latency=50ms", 300);
    assert!(summary.learning.keys.is_empty());
    assert!(summary.tally.tries > 300);
}

#[test]
fn a_policy_alone_is_paced_from_the_first_answer_on() {
    let (tries, summary) = told_by(adaptive(), jobs(200), |_, _| {
        (
            200,
            vec![("ratelimit-policy", "\"all\";q=100;w=10".to_owned())],
        )
    });
    assert_eq!(summary.tally.counts.ok, 200);
    let later: Vec<_> = tries.iter().filter(|(at, _)| at.0 > 100 * MILLI).collect();
    assert!(later.len() >= 169);
    for pair in later.windows(2) {
        let gap = pair[1].0.since(pair[0].0);
        assert!(gap >= Duration::from_micros(101_010), "{gap:?}");
    }
    assert_eq!(summary.learning.keys[0].options(), ["--window 100/10s"]);
}

#[test]
fn a_reset_later_than_is_waited_for_ends_the_run_and_not_its_patience() {
    let mut rules = adaptive();
    rules.slots = shaper::units::Cost::new(1);
    rules.retry.max_retry_after = Some(Duration::from_secs(600));
    let mut left = 5_u64;
    let (tries, summary) = told_by(rules, jobs(50), |_, _| {
        let status = if left == 0 { 429 } else { 200 };
        left = left.saturating_sub(1);
        let policy = "\"day\";q=5;w=86400".to_owned();
        let level = format!("\"day\";r={left};t=36000");
        (
            status,
            vec![("ratelimit-policy", policy), ("ratelimit", level)],
        )
    });
    assert_eq!(tries.len(), 6);
    assert_eq!(summary.tally.counts.ok, 5);
    assert_eq!(
        summary.tally.counts.cancelled + 6,
        summary.tally.counts.read
    );
    assert!(summary.elapsed < Duration::from_secs(1));
}
