//! Limits in whole runs: keys, slots of an origin, patience, oversized jobs, windows of replies.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{End, Grant, Oversize, Refund, Rules};
use shaper::fields::Fields;
use shaper::job::{Job, Origin, Units, UnitsFrom};
use shaper::limit::Spec;
use shaper::metrics::Summary;
use shaper::outcome::{Failure, FailureKind, Reply, Usage};
use shaper::shape::Arrivals;
use shaper::units::{Cost, Tick};

use super::{MILLI, SECOND, job, jobs, ok_after, rules, sends};

fn limits(specs: &[&str]) -> Vec<Spec> {
    specs.iter().map(|spec| spec.parse().unwrap()).collect()
}

/// A job of a tenant at an origin.
fn of(line: u64, origin: &str, key: &str) -> Job {
    Job {
        origin: Origin(origin.into()),
        keys: [Arc::from(key)].into(),
        ..job(line, None, 1)
    }
}

fn at_once(jobs: impl IntoIterator<Item = Job>) -> impl Iterator<Item = simulated::Line> {
    jobs.into_iter().map(|job| (Tick::ZERO, Ok(job)))
}

/// When each job was sent, in milliseconds, by the name of its line.
fn by_key(sent: &[(u64, u32, u64)], key: impl Fn(u64) -> String) -> BTreeMap<String, Vec<u64>> {
    let mut moments: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for &(line, _, at) in sent {
        moments.entry(key(line)).or_default().push(at / MILLI);
    }
    moments
}

// Keys.

#[test]
fn each_key_has_the_limit_for_itself_and_none_holds_back_another() {
    let tenant = |line: u64| ["a", "b", "c"][usize::try_from(line % 3).unwrap()].to_owned();
    let lines = (0..9).map(|line| of(line, "http://h", &tenant(line)));
    let rules = rules(None, limits(&["2/s per=field:key"]));
    let (sent, _) = sends(rules, at_once(lines), ok_after(Duration::ZERO));
    for (key, moments) in by_key(&sent, tenant) {
        assert_eq!(moments, [0, 500, 1000], "{key}");
    }
}

#[test]
fn a_shared_limit_and_one_per_key_hold_at_once() {
    let tenant = |line: u64| if line < 6 { "busy" } else { "calm" }.to_owned();
    let lines = (0..8).map(|line| of(line, "http://h", &tenant(line)));
    let rules = rules(None, limits(&["10/s", "1/s per=field:key"]));
    let (sent, _) = sends(rules, at_once(lines), ok_after(Duration::ZERO));
    let moments = by_key(&sent, tenant);
    assert_eq!(moments["busy"], [0, 1000, 2000, 3000, 4000, 5000]);
    assert_eq!(
        moments["calm"],
        [100, 1100],
        "no slot of the shared limit is lost to it"
    );
}

#[test]
fn a_heavy_job_that_waits_for_its_key_finds_the_shared_limit_full_enough_when_its_turn_comes() {
    // The heavy job may go at 1 s by its own limit. Light ones of another key would have drained the
    // shared one by then: they leave it what it needs.
    let weigh = |line: u64, key: &str, tokens: u64| Job {
        units: Some(Units {
            input: tokens,
            output: 0,
            source: UnitsFrom::Job,
        }),
        ..of(line, "http://h", key)
    };
    let heavy = [weigh(0, "heavy", 1), weigh(1, "heavy", 10)];
    let light = (2..30).map(|line| weigh(line, &format!("light {line}"), 1));
    let limits = limits(&["tokens 10/s bucket burst=10", "1/s per=field:key burst=1"]);
    let rules = rules(None, limits);
    let (sent, _) = sends(
        rules,
        at_once(heavy.into_iter().chain(light)),
        ok_after(Duration::ZERO),
    );
    let second = sent.iter().find(|(line, ..)| *line == 1).unwrap();
    assert_eq!(second.2, SECOND, "{sent:?}");
}

#[test]
fn keys_that_come_back_meet_the_limit_they_left() {
    // One job of each of 1000 keys, then the same again 100 ms later: each key still rests.
    let come = |round: u64| {
        (0..1000).map(move |key| {
            let at = Tick(round * 100 * MILLI);
            (at, Ok(of(round * 1000 + key, "http://h", &key.to_string())))
        })
    };
    let rules = rules(None, limits(&["1/s per=field:key"]));
    let (sent, _) = sends(rules, come(0).chain(come(1)), ok_after(Duration::ZERO));
    let second: Vec<u64> = sent
        .iter()
        .filter(|(line, ..)| *line >= 1000)
        .map(|one| one.2)
        .collect();
    assert_eq!(second, vec![SECOND; 1000]);
}

// Slots of an origin.

#[test]
fn a_dead_host_takes_its_own_slots_and_no_more() {
    let host = |line: u64| {
        if line < 10 {
            "http://dead"
        } else {
            "http://fast"
        }
    };
    let lines = (0..60).map(|line| of(line, host(line), ""));
    let rules = Rules {
        per_host: Cost::new(4),
        ..rules(Some(8), Vec::new())
    };
    let flying = RefCell::new(BTreeMap::<String, usize>::new());
    let api = |_: Tick, job: &Job, _: &Grant| {
        let slow = job.origin.0.contains("dead");
        let latency = Duration::from_millis(if slow { 5000 } else { 100 });
        (latency, Ok(simulated::reply(StatusCode::OK)))
    };
    let mut done = BTreeMap::new();
    let mut watch = |seen: Seen<'_>| match seen {
        Seen::Prepared(..) => {}
        Seen::Sent(_, job, _) => {
            let mut flying = flying.borrow_mut();
            let own = flying.entry(job.origin.to_string()).or_default();
            *own += 1;
            assert!(*own <= 4, "{own} to {}", job.origin);
        }
        Seen::Done(at, outcome) => {
            let job = outcome.line.as_ref().unwrap();
            *flying.borrow_mut().get_mut(&*job.origin.0).unwrap() -= 1;
            done.insert(job.place.line, at.0 / MILLI);
        }
    };
    let mut api = api;
    let (_, end) = Simulation::new(rules, at_once(lines), &mut api, &mut watch).run();
    assert_eq!(end, End::Finished);
    assert_eq!(done[&59], 1300, "50 fast jobs in 13 rounds of 4");
    assert_eq!(done[&9], 15_000, "10 slow ones in 3 rounds of 4");
}

// Patience.

fn run(
    rules: Rules,
    lines: impl Iterator<Item = simulated::Line>,
) -> (Summary, Vec<(u64, u64, String)>) {
    let mut failed = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(at, outcome) = seen
            && let Some((FailureKind::QueueTimeout, why)) = &outcome.error
        {
            failed.push((outcome.seq, at.0, why.clone()));
        }
    };
    let mut api = ok_after(Duration::ZERO);
    let (summary, end) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    assert_eq!(end, End::Finished);
    (summary, failed)
}

#[test]
fn of_a_thousand_due_at_once_those_that_would_wait_too_long_are_refused_at_once() {
    let rules = Rules {
        queue_timeout: Some(Duration::from_secs(3)),
        arrivals: Arrivals::Once,
        ..rules(None, limits(&["50/s burst=20"]))
    };
    let (summary, failed) = run(rules, jobs(1000));
    assert_eq!(
        (summary.tally.counts.ok, summary.tally.counts.failed),
        (170, 830)
    );
    assert!(failed.iter().all(|(_, at, _)| *at == 0), "at once");
    let (seq, _, why) = &failed[0];
    assert_eq!(*seq, 170);
    assert!(why.contains("3.02 s") && why.contains("3.00 s"), "{why}");
}

#[test]
fn now_or_never_sends_only_what_can_go_now() {
    let rules = Rules {
        queue_timeout: Some(Duration::ZERO),
        ..rules(None, limits(&["50/s burst=20"]))
    };
    let (summary, failed) = run(rules, jobs(100));
    assert_eq!(
        (summary.tally.counts.ok, summary.tally.counts.failed),
        (20, 80)
    );
    assert!(failed.iter().all(|(_, at, _)| *at == 0));
}

#[test]
fn a_job_that_waits_for_a_slot_gives_up_when_its_time_is_up() {
    let rules = Rules {
        queue_timeout: Some(Duration::from_millis(250)),
        ..rules(Some(1), Vec::new())
    };
    let mut failed = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(at, outcome) = seen
            && outcome.error.is_some()
        {
            failed.push((outcome.seq, at.0 / MILLI));
        }
    };
    // The first takes 1 s; each next one waits from being head of its lane.
    let mut api = |_: Tick, job: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        let latency = if job.place.line == 0 { 1000 } else { 10 };
        (
            Duration::from_millis(latency),
            Ok(simulated::reply(StatusCode::OK)),
        )
    };
    Simulation::new(rules, jobs(6), &mut api, &mut watch).run();
    assert_eq!(
        failed,
        [(1, 250), (2, 500), (3, 750)],
        "the last goes at 1 s"
    );
}

#[test]
fn a_waiter_that_gives_up_takes_nothing_and_the_next_one_goes_in_time() {
    // The heavy job would wait 9.9 s for the tokens; the light one behind it goes at once.
    let weigh = |line: u64, tokens: u64| job(line, Some(tokens), 1);
    let lines = at_once([weigh(0, 10), weigh(1, 100), weigh(2, 1)]);
    let mut rules = rules(None, limits(&["tokens 10/s bucket burst=100 start=11"]));
    rules.queue_timeout = Some(Duration::from_secs(1));
    let (sent, summary) = sends(rules, lines, ok_after(Duration::ZERO));
    assert_eq!(sent, [(0, 1, 0), (2, 1, 0)]);
    assert_eq!(summary.tally.counts.failed, 1);
}

#[test]
fn a_pause_that_lasts_longer_than_a_job_can_wait_fails_it_at_once() {
    for arrivals in [Arrivals::Closed, Arrivals::Once] {
        let mut rules = Rules {
            queue_timeout: Some(Duration::from_secs(3)),
            arrivals: arrivals.clone(),
            ..rules(Some(1), Vec::new())
        };
        rules.retry.max_attempts = NonZeroU32::MIN;
        let mut failed = Vec::new();
        let mut watch = |seen: Seen<'_>| {
            if let Seen::Done(at, outcome) = seen
                && let Some((FailureKind::QueueTimeout, why)) = &outcome.error
            {
                assert!(why.starts_with("would wait 60.0 s for pause"), "{why}");
                failed.push((outcome.seq, at.0 / MILLI));
            }
        };
        let mut api = |_: Tick, _: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
            let mut reply = simulated::reply(StatusCode::TOO_MANY_REQUESTS);
            reply.head.headers = Fields::of([("retry-after", "60")]);
            (Duration::ZERO, Ok(reply))
        };
        Simulation::new(rules, jobs(4), &mut api, &mut watch).run();
        assert_eq!(failed, [(1, 0), (2, 0), (3, 0)], "{arrivals:?}");
    }
}

#[test]
fn now_or_never_lets_those_go_that_nothing_holds_when_all_are_due_at_once() {
    let rules = Rules {
        queue_timeout: Some(Duration::ZERO),
        arrivals: Arrivals::Once,
        ..rules(None, limits(&["50/s burst=20"]))
    };
    // They are due at the start, and read a moment later.
    let late = (0..30).map(|line| (Tick(3 * MILLI), Ok(job(line, None, 1))));
    let (summary, _) = run(rules, late);
    assert_eq!(
        (summary.tally.counts.ok, summary.tally.counts.failed),
        (20, 10)
    );
}

// Oversized jobs.

#[test]
fn an_oversized_job_may_wait_until_the_limit_is_full_and_owes_the_rest() {
    let costs = [3, 15, 1];
    let lines =
        || at_once((0..3).map(|line| job(line, Some(costs[usize::try_from(line).unwrap()]), 1)));
    let mut rules = rules(None, limits(&["tokens 10/s bucket burst=10"]));
    let (sent, summary) = sends(rules.clone(), lines(), ok_after(Duration::ZERO));
    assert_eq!(
        (sent.len(), summary.tally.counts.failed),
        (2, 1),
        "it fails unless it may wait"
    );
    rules.oversize = Oversize::Wait;
    let (sent, _) = sends(rules, lines(), ok_after(Duration::ZERO));
    let moments: Vec<u64> = sent.iter().map(|one| one.2 / MILLI).collect();
    assert_eq!(moments, [0, 300, 900]);
}

// Units.

#[test]
fn input_and_output_are_counted_apart_and_settled_by_what_the_answer_says() {
    let line = |line| Job {
        units: Some(Units {
            input: 5,
            output: 10,
            source: UnitsFrom::Job,
        }),
        ..job(line, None, 1)
    };
    let api = |_: Tick, _: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        let used = Usage {
            input: Some(5),
            output: Some(0),
            total: 5,
        };
        let reply = Reply {
            used: Some(used),
            ..simulated::reply(StatusCode::OK)
        };
        (Duration::from_millis(100), Ok(reply))
    };
    let specs = limits(&[
        "input-tokens 10/s bucket burst=10",
        "output-tokens 10/m bucket burst=10",
    ]);
    let rules = rules(None, specs);
    let (sent, summary) = sends(rules.clone(), at_once((0..4).map(line)), api);
    let moments: Vec<u64> = sent.iter().map(|one| one.2 / MILLI).collect();
    assert_eq!(
        moments,
        [0, 100, 500, 1000],
        "output comes back, input does not"
    );
    let units = summary.tally.units;
    assert_eq!((units.total.reserved, units.total.used), (60, 20));
    assert_eq!((units.output.reserved, units.output.used), (40, 0));
    let keeps = Rules {
        refund: Refund::Never,
        ..rules
    };
    let (sent, _) = sends(keeps, at_once((0..2).map(line)), api);
    assert_eq!(sent[1].2, 60 * SECOND, "nothing is given back");
}

// Windows of replies.

#[test]
fn a_window_of_replies_never_lets_a_server_see_more_whatever_the_way_does() {
    // A request may reach the server at any moment between its send and the head of its answer.
    let mut rules = rules(None, limits(&["10/1s window at=reply"]));
    rules.slack = Duration::from_millis(2);
    let mut stays: Vec<(u64, u64)> = Vec::new();
    let mut api = |now: Tick, job: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        let latency = Duration::from_millis(7 + job.place.line * 37 % 90);
        stays.push((now.0, now.after(latency).0));
        (latency, Ok(simulated::reply(StatusCode::OK)))
    };
    let mut watch = |_: Seen<'_>| {};
    let (summary, _) = Simulation::new(rules, jobs(200), &mut api, &mut watch).run();
    assert_eq!(summary.tally.counts.ok, 200);
    for &(_, head) in &stays {
        // A window that ends just before this answer's event leaves it holds so many others at most.
        let end = head + SECOND - 1;
        let inside = stays
            .iter()
            .filter(|(sent, other)| *sent <= end && *other > head - 1);
        assert!(inside.count() <= 10, "around {head}");
    }
    let last = stays.last().unwrap().0;
    assert!(last < 22 * SECOND, "about 10 each 1.1 s: {last}");
}

#[test]
fn a_job_that_passes_one_that_waits_for_their_key_leaves_it_its_moment() {
    let rules = rules(None, limits(&["tokens 10/s bucket burst=10 per=field:key"]));
    let paying = |line, host, input| Job {
        units: (input > 0).then_some(Units {
            input,
            output: 0,
            source: UnitsFrom::Job,
        }),
        ..of(line, host, "a")
    };
    let lines = [
        (0, paying(0, "http://one", 10)),
        (0, paying(1, "http://one", 5)),
        (100, paying(2, "http://two", 0)),
        (9_000, paying(3, "http://two", 0)),
    ];
    let lines = lines.map(|(at, job)| (Tick(at * MILLI), Ok(job)));
    let (sent, _) = sends(rules, lines.into_iter(), ok_after(Duration::from_secs(20)));
    let at: Vec<u64> = sent.iter().map(|(_, _, at)| at / MILLI).collect();
    assert_eq!(at, [0, 100, 500, 9_000]);
}

#[test]
fn a_heavy_job_waits_for_the_slots_of_its_host_before_younger_ones_of_other_keys() {
    let rules = Rules {
        per_host: Cost::new(2),
        ..rules(None, limits(&["1000/s per=field:key"]))
    };
    let jobs = (0..20).map(|line| Job {
        slots: Cost::new(1 + u64::from(line == 1)).unwrap(),
        ..of(line, "http://one", &line.to_string())
    });
    let api = |_: Tick, job: &Job, _: &Grant| {
        let reply = Ok(simulated::reply(StatusCode::OK));
        (Duration::from_millis(100 + 7 * job.place.line), reply)
    };
    let (sent, _) = sends(rules, at_once(jobs), api);
    let order: Vec<u64> = sent.iter().map(|(line, ..)| *line).collect();
    assert_eq!(order, (0..20).collect::<Vec<_>>());
}
