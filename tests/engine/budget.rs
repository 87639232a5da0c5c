//! Retries that no server has asked for are a tenth of the jobs; what is more waits, and never fails for it.

use shaper::dice::mix;
use shaper::engine::Order;
use shaper::outcome::{Try, Waits};
use shaper::retry::Budget;

use super::*;

/// No slot is ever waited for, and a job is read each 10 ms.
fn steadily(count: u64) -> impl Iterator<Item = simulated::Line> {
    (0..count).map(|line| (Tick(line * 10 * MILLI), Ok(job(line, None, 1))))
}

fn answer(status: u16, fields: &[(&str, &str)]) -> (Duration, Result<Reply, Failure>) {
    let mut reply = simulated::reply(StatusCode::from_u16(status).unwrap());
    reply.head.headers = Fields::of(fields.iter().copied());
    (Duration::from_millis(1), Ok(reply))
}

/// Fails half of all tries.
fn failing_half(_: Tick, job: &Job, grant: &Grant) -> (Duration, Result<Reply, Failure>) {
    let dice = mix(mix(job.place.line) ^ u64::from(grant.attempt));
    let status = if dice.is_multiple_of(2) { 503 } else { 200 };
    answer(status, &[])
}

/// Rests of 1, 2, 4 and 4 s.
fn resting(budget: Budget) -> Rules {
    let mut rules = rules(None, Vec::new());
    rules.retry.backoff = "1s..4s".parse().unwrap();
    rules.budget = budget;
    rules
}

#[derive(Debug)]
struct Outcome {
    seq: u64,
    tries: Vec<Try>,
    waits: Waits,
}

fn outcomes(
    rules: Rules,
    lines: impl Iterator<Item = simulated::Line>,
    mut api: impl FnMut(Tick, &Job, &Grant) -> (Duration, Result<Reply, Failure>),
) -> (Vec<Outcome>, Summary) {
    let mut done = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(_, outcome) = seen {
            let (tries, waits) = (outcome.tries.clone(), outcome.waits.clone());
            let seq = outcome.seq;
            done.push(Outcome { seq, tries, waits });
        }
    };
    let (summary, _) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    (done, summary)
}

/// How much later than its own rest each retry could go, in the order of the sends.
fn held(outcomes: &[Outcome]) -> Vec<(Tick, Duration)> {
    let mut held = Vec::new();
    for outcome in outcomes {
        for (nth, pair) in outcome.tries.windows(2).enumerate() {
            let rest = Duration::from_secs([1, 2, 4, 4][nth]);
            let rested = pair[0].done.after(rest);
            assert!(pair[1].due >= rested, "{pair:?}");
            held.push((pair[1].granted, pair[1].due.since(rested)));
        }
    }
    held.sort_unstable();
    held
}

fn retries_held(summary: &Summary) -> (u64, Duration) {
    let unseen = summary.unseen.unwrap();
    (unseen.retries_held, unseen.retries_held_for)
}

#[test]
fn the_retries_of_the_first_thousand_jobs_are_not_held() {
    let (_, summary) = outcomes(resting(Budget::default()), steadily(999), failing_half);
    assert!(summary.tally.retries > 800, "{}", summary.tally.retries);
    assert_eq!(retries_held(&summary), (0, Duration::ZERO));
}

#[test]
fn of_a_server_that_fails_half_a_tenth_of_the_jobs_is_tried_again_and_the_others_wait_for_the_longest_rest()
 {
    let longest = Duration::from_secs(4);
    let (outcomes, summary) = outcomes(resting(Budget::default()), steadily(5000), failing_half);
    let held = held(&outcomes);
    let thousandth = Tick(999 * 10 * MILLI);
    let later = held.iter().filter(|(at, _)| *at >= thousandth);
    assert!(held.iter().all(|(_, held)| *held <= longest));
    let early = later.filter(|(_, held)| *held < longest).count();
    assert!(
        (100..=500).contains(&early),
        "{early}: 100 saved, 400 paid in"
    );
    let all: Duration = held.iter().map(|(_, held)| *held).sum();
    let count = held.iter().filter(|(_, held)| !held.is_zero()).count();
    assert!(count > 3000, "{count}");
    assert_eq!(retries_held(&summary), (count as u64, all));
    let without = super::sends(resting(Budget::of(u32::MAX)), steadily(5000), failing_half).1;
    let results = |summary: &Summary| (summary.tally.counts, summary.tally.tries);
    assert_eq!(results(&summary), results(&without), "none fails for it");
}

#[test]
fn the_longer_wait_is_one_for_backoff_in_the_result_and_in_the_book_of_the_run() {
    let (outcomes, summary) = outcomes(resting(Budget::of(0)), steadily(300), failing_half);
    for outcome in &outcomes {
        let between = outcome.tries.windows(2);
        let between = between.map(|pair| pair[1].sent.unwrap().since(pair[0].done));
        let backoff: Duration = outcome.waits.iter().map(|(_, span)| span).sum();
        assert_eq!(backoff, between.sum(), "{outcome:?}");
        let names = outcome.waits.iter().map(|(name, _)| name.to_string());
        let other = names.filter(|name| name != "backoff" && name != "slot");
        assert_eq!(other.count(), 0, "{:?}", outcome.waits);
    }
    let shares = &summary.stretch.shares;
    assert!(
        shares.iter().all(|(owner, _)| *owner != Owner::Client),
        "{shares:?}"
    );
    let of = |owner| shares.iter().find(|share| share.0 == owner).unwrap().1;
    assert!(of(Owner::Backoff) > Duration::from_secs(8), "{shares:?}");
}

#[test]
fn refusals_and_waits_that_servers_ask_for_cost_the_budget_nothing() {
    for (status, fields) in [(429, &[][..]), (503, &[("retry-after", "1")])] {
        let api = |_: Tick, job: &Job, grant: &Grant| {
            let fails = grant.attempt == 1 && job.place.line.is_multiple_of(2);
            answer(
                if fails { status } else { 200 },
                if fails { fields } else { &[] },
            )
        };
        let (_, summary) = outcomes(resting(Budget::of(0)), steadily(300), api);
        assert_eq!(summary.tally.retries, 150, "{status}");
        assert_eq!(retries_held(&summary).0, 0, "{status}");
    }
}

#[test]
fn nobody_runs_out_of_time_for_it() {
    for (elapsed, queue) in [
        (Some(5_000), None),
        (None, Some(500)),
        (Some(1_200), Some(10)),
    ] {
        let mut rules = resting(Budget::of(0));
        rules.retry.max_elapsed = elapsed.map(Duration::from_millis);
        rules.queue_timeout = queue.map(Duration::from_millis);
        let once = |_: Tick, _: &Job, grant: &Grant| {
            answer(if grant.attempt == 1 { 503 } else { 200 }, &[])
        };
        let (outcomes, summary) = outcomes(rules, steadily(300), once);
        assert_eq!(summary.tally.counts.ok, 300, "{elapsed:?} {queue:?}");
        // Sent at 0, failed at 1 ms, rested at 1001 ms: half of what is left.
        let most = elapsed.map_or(4_000_000, |millis| (millis - 1_001) * 500);
        let all = held(&outcomes);
        assert!(
            all.iter()
                .all(|(_, held)| *held == Duration::from_micros(most)),
            "{all:?}"
        );
    }
}

#[test]
fn results_in_order_wait_for_one_that_is_held_and_come() {
    let mut rules = resting(Budget::of(0));
    (rules.order, rules.slots) = (Order::ByInput, Cost::new(5));
    let (outcomes, summary) = outcomes(rules, steadily(300), failing_half);
    let seqs: Vec<u64> = outcomes.iter().map(|outcome| outcome.seq).collect();
    assert_eq!(seqs, (0..300).collect::<Vec<_>>());
    assert!(retries_held(&summary).0 > 200);
    let shares = &summary.stretch.shares;
    assert!(
        shares.iter().all(|(owner, _)| *owner != Owner::Client),
        "{shares:?}"
    );
}

#[test]
fn a_key_that_closes_takes_those_that_are_held_with_it() {
    let mut rules = resting(Budget::of(0));
    rules.retry.max_retry_after = Some(Duration::from_secs(60));
    let of = |line: u64| Job {
        origin: Origin(["http://a", "http://b"][usize::try_from(line % 2).unwrap()].into()),
        ..job(line, None, 1)
    };
    let lines = (0..400).map(|line| (Tick(line * 10 * MILLI), Ok(of(line))));
    // All first tries fail, and after two seconds one key is to wait for a day: all that it had was at rest.
    let (outcomes, summary) = outcomes(rules, lines, |_, job, grant| {
        match (job.place.line, grant.attempt) {
            (200, _) => answer(429, &[("retry-after", "86400")]),
            (_, 1) => answer(503, &[]),
            _ => answer(200, &[]),
        }
    });
    let counts = summary.tally.counts;
    assert_eq!((counts.read, counts.ok), (400, 200));
    assert_eq!((counts.failed, counts.cancelled), (1, 199));
    assert_eq!(outcomes.len(), 201);
}
