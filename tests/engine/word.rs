//! What a server says: waits of a key, slow re-entry, keys that are closed, quotas that are spent.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{End, Grant, Rules};
use shaper::fields::Fields;
use shaper::job::{Job, Origin};
use shaper::metrics::Summary;
use shaper::outcome::{Failure, FailureKind, Reply};
use shaper::retry::Jitter;
use shaper::units::Tick;

use super::{MILLI, SECOND, job, jobs, rules};

fn refusal(status: u16, fields: &[(&str, &str)], body: &str) -> Reply {
    let mut reply = simulated::reply(StatusCode::from_u16(status).unwrap());
    reply.head.headers = Fields::of(fields.iter().copied());
    reply.body = Bytes::copy_from_slice(body.as_bytes());
    reply
}

/// When each try was sent, with the line of its job; what failed and why; and the end.
struct Told {
    sent: Vec<(u64, u64)>,
    failed: Vec<(u64, FailureKind, String)>,
    summary: Summary,
    end: End,
}

fn seen(
    rules: Rules,
    lines: impl Iterator<Item = simulated::Line>,
    mut answer: impl FnMut(Tick, &Job, &Grant) -> Reply,
) -> Told {
    let (mut sent, mut failed) = (Vec::new(), Vec::new());
    let mut api = |at: Tick, job: &Job, grant: &Grant| -> (Duration, Result<Reply, Failure>) {
        sent.push((job.place.line, at.0));
        (Duration::from_millis(1), Ok(answer(at, job, grant)))
    };
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(_, outcome) = seen
            && let Some((kind, why)) = &outcome.error
        {
            failed.push((outcome.seq, *kind, why.clone()));
        }
    };
    let (summary, end) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    Told {
        sent,
        failed,
        summary,
        end,
    }
}

fn patient(slots: Option<u64>) -> Rules {
    let mut rules = rules(slots, Vec::new());
    rules.retry.jitter = Jitter::None;
    rules.retry.backoff = "100ms..100ms".parse().unwrap();
    rules.retry.max_retry_after = Some(Duration::from_secs(600));
    rules
}

#[test]
fn after_a_pause_at_most_three_of_a_hundred_jobs_go_in_any_ten_milliseconds() {
    let mut rules = patient(Some(100));
    rules.re_entry = Some(Duration::from_millis(5));
    let seen = seen(rules, jobs(100), |at, _, _| {
        if at.0 < SECOND {
            refusal(429, &[("retry-after", "2")], "")
        } else {
            refusal(200, &[], "")
        }
    });
    assert_eq!(seen.summary.tally.counts.ok, 100);
    let again: Vec<u64> = seen
        .sent
        .iter()
        .map(|(_, at)| *at)
        .filter(|at| *at > SECOND)
        .collect();
    assert_eq!(again.len(), 100);
    for (nth, first) in again.iter().enumerate() {
        let within = again[nth..]
            .iter()
            .take_while(|at| **at < first + 10 * MILLI);
        assert!(within.count() <= 3, "from {first} ns on");
    }
}

#[test]
fn three_refusals_in_a_row_without_a_wait_rest_the_key_and_an_answer_between_them_does_not() {
    // One slot: tries come one after the other.
    let pauses = |good: u64| {
        let rules = patient(Some(1));
        let seen = seen(rules, jobs(8), |_, job, grant| {
            let refused = grant.attempt == 1 && job.place.line % 3 != good;
            refusal(if refused { 429 } else { 200 }, &[], "")
        });
        assert_eq!(seen.summary.tally.counts.ok, 8);
        seen.summary.unseen.unwrap().pauses
    };
    assert!(pauses(9) > 0, "all are refused at first");
    assert_eq!(pauses(2), 0, "each third one is not");
}

#[test]
fn a_wait_above_the_longest_closes_its_key_and_the_other_key_goes_on() {
    let of = |line: u64| Job {
        origin: Origin(["http://a", "http://b"][usize::try_from(line % 2).unwrap()].into()),
        ..job(line, None, 1)
    };
    let lines = (0..400).map(|line| (Tick::ZERO, Ok(of(line))));
    let seen = seen(patient(Some(2)), lines, |_, job, _| {
        if job.place.line == 10 {
            refusal(429, &[("retry-after", "86400")], "")
        } else {
            refusal(200, &[], "")
        }
    });
    assert!(matches!(seen.end, End::Finished), "{:?}", seen.end);
    let [(10, FailureKind::RetryAfterTooLong, why)] = &seen.failed[..] else {
        panic!("{:?}", seen.failed);
    };
    assert!(why.contains("--max-retry-after"), "{why}");
    let mut by_key = BTreeMap::new();
    for (line, _) in &seen.sent {
        *by_key.entry(line % 2).or_insert(0) += 1;
    }
    assert_eq!(
        (by_key[&0], by_key[&1]),
        (6, 200),
        "0, 2, 4, 6, 8, 10 and all of the other"
    );
    let counts = seen.summary.tally.counts;
    assert_eq!(
        (counts.read, counts.ok, counts.failed, counts.cancelled),
        (400, 205, 1, 194)
    );
}

#[test]
fn when_no_key_is_open_the_run_stops_and_what_was_not_sent_is_cancelled() {
    for (fields, body) in [
        (&[("retry-after", "86400")][..], ""),
        (
            &[],
            r#"{"error":{"message":"Please retry in 10h17m5.72s."}}"#,
        ),
    ] {
        let seen = seen(patient(Some(1)), jobs(50), |_, _, _| {
            refusal(429, fields, body)
        });
        let End::Stopped(stopped) = &seen.end else {
            panic!("{:?}", seen.end);
        };
        assert_eq!(stopped.by(), "--max-retry-after");
        assert_eq!(seen.sent.len(), 1, "{body}");
        let counts = seen.summary.tally.counts;
        assert_eq!((counts.failed, counts.ok), (1, 0));
        assert_eq!(counts.cancelled, counts.read - 1);
    }
}

/// Jobs of these origins, a second apart: each is done before the next one is there.
fn slow(origins: &'static [&'static str]) -> impl Iterator<Item = simulated::Line> {
    let origins = (0..).zip(origins);
    origins.map(|(line, origin)| {
        let job = Job {
            origin: Origin((*origin).into()),
            ..job(line, None, 1)
        };
        (Tick(line * SECOND), Ok(job))
    })
}

/// Asks for a wait of a day at these jobs.
fn closing(lines: &[u64]) -> impl FnMut(Tick, &Job, &Grant) -> Reply {
    |_, job, _| {
        if lines.contains(&job.place.line) {
            refusal(429, &[("retry-after", "86400")], "")
        } else {
            refusal(200, &[], "")
        }
    }
}

#[test]
fn a_key_that_was_idle_and_is_closed_ends_the_run_if_it_is_the_only_one() {
    let seen = seen(patient(Some(2)), slow(&["http://a"; 6]), closing(&[2]));
    assert!(matches!(seen.end, End::Stopped(_)), "{:?}", seen.end);
    assert_eq!(seen.sent.len(), 3, "{:?}", seen.sent);
}

#[test]
fn a_key_without_jobs_is_open_until_its_server_closes_it() {
    const KEYS: [&str; 6] = [
        "http://a", "http://b", "http://a", "http://a", "http://b", "http://b",
    ];
    let seen = seen(patient(Some(2)), slow(&KEYS), closing(&[2, 4]));
    assert!(matches!(seen.end, End::Stopped(_)), "{:?}", seen.end);
    let lines: Vec<u64> = seen.sent.iter().map(|(line, _)| *line).collect();
    assert_eq!(
        lines,
        [0, 1, 2, 4],
        "`a` is closed by its second job, `b` goes on"
    );
}

#[test]
fn a_try_that_was_in_flight_when_its_key_was_closed_is_not_repeated() {
    // The other key keeps the run going.
    let of = |line: u64| Job {
        origin: Origin(["http://a", "http://b"][usize::from(line > 1)].into()),
        ..job(line, None, 1)
    };
    let lines = (0..50).map(|line| (Tick::ZERO, Ok(of(line))));
    let mut rules = patient(Some(3));
    rules.queue_timeout = Some(Duration::from_secs(1));
    let seen = seen(rules, lines, |_, job, _| match job.place.line {
        0 => refusal(429, &[("retry-after", "86400")], ""),
        1 => refusal(503, &[], ""),
        _ => refusal(200, &[], ""),
    });
    assert!(matches!(seen.end, End::Finished), "{:?}", seen.end);
    let tries = seen.sent.iter().filter(|(line, _)| *line == 1);
    assert_eq!(tries.count(), 1);
    let counts = seen.summary.tally.counts;
    assert_eq!((counts.ok, counts.failed, counts.cancelled), (48, 1, 1));
    assert_eq!(seen.summary.unrecorded.len(), 1, "what it sent is told");
    assert!(seen.summary.elapsed < Duration::from_secs(1));
}

#[test]
fn a_wait_that_is_too_long_is_told_in_seconds_and_for_people() {
    for (wait, told) in [
        ("86400", "86400 s (1d)"),
        ("601", "601 s (10m 1s)"),
        ("37025.72", "37026 s (10h 17m)"),
        ("12.5", "12.5 s"),
    ] {
        let mut rules = patient(Some(1));
        rules.retry.max_retry_after = Some(Duration::from_secs(12));
        let seen = seen(rules, jobs(1), |_, _, _| {
            refusal(429, &[("retry-after", wait)], "")
        });
        let why = &seen.failed[0].2;
        let words = format!("the server asks to wait {told}, the longest is 12.0 s");
        assert!(why.starts_with(&words), "{why}");
    }
}

#[test]
fn a_wait_that_is_told_in_the_body_rests_the_key_and_is_a_floor() {
    let seen = seen(patient(Some(1)), jobs(5), |at, _, _| {
        if at.0 == 0 {
            refusal(
                429,
                &[],
                r#"{"error":{"message":"Please try again in 2.5s."}}"#,
            )
        } else {
            refusal(200, &[], "")
        }
    });
    assert_eq!(seen.summary.tally.counts.ok, 5);
    assert!(
        seen.sent[1..].iter().all(|(_, at)| *at >= 2_500 * MILLI),
        "{:?}",
        seen.sent
    );
}

#[test]
fn a_quota_that_is_spent_ends_the_run_with_the_words_of_the_server() {
    let body =
        r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota."}}"#;
    let seen = seen(patient(Some(1)), jobs(50), |_, _, _| {
        refusal(429, &[], body)
    });
    let End::Stopped(stopped) = &seen.end else {
        panic!("{:?}", seen.end);
    };
    assert!(
        stopped.told.contains("You exceeded your current quota."),
        "{}",
        stopped.told
    );
    assert_eq!(seen.sent.len(), 1, "waiting does not mend it");
    assert_eq!(seen.summary.tally.counts.failed, 1);
}

#[test]
fn the_server_says_whether_it_helps_to_try_again() {
    for (status, again, tries) in [
        (503, "false", 1),
        (400, "true", 2),
        (409, "true", 2),
        (409, "false", 1),
        (429, "maybe", 2),
        (200, "true", 1),
    ] {
        let mut rules = patient(Some(1));
        rules.retry.max_attempts = NonZeroU32::new(2).unwrap();
        let seen = seen(rules, jobs(1), |_, _, _| {
            refusal(status, &[("x-should-retry", again)], "")
        });
        assert_eq!(seen.sent.len(), tries, "{status} {again}");
    }
}

#[test]
fn a_403_is_tried_again_only_if_it_speaks_of_limits() {
    let google = |reason: &str| {
        let domain = "usageLimits";
        format!(
            r#"{{"error":{{"errors":[{{"domain":"{domain}","reason":"{reason}"}}],"code":403}}}}"#
        )
    };
    for (fields, body, tries) in [
        (&[("retry-after", "1")][..], String::new(), 2),
        (
            &[
                ("x-ratelimit-limit", "60"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "784111780"),
            ],
            String::new(),
            2,
        ),
        (&[], google("userRateLimitExceeded"), 2),
        (&[], google("dailyLimitExceeded"), 1),
        (&[], String::new(), 1),
    ] {
        let mut rules = patient(Some(1));
        rules.retry.max_attempts = NonZeroU32::new(2).unwrap();
        rules.retry.max_retry_after = None;
        rules.provider = shaper::quota::Provider::named("github").ok();
        let seen = seen(rules, jobs(1), |_, _, _| {
            let mut reply = refusal(403, fields, &body);
            let second = Duration::from_secs(784_111_777);
            reply.head.wall = std::time::UNIX_EPOCH + second;
            reply
        });
        assert_eq!(seen.sent.len(), tries, "{fields:?} {body}");
    }
}

#[test]
fn no_try_and_no_wait_goes_on_after_the_time_of_a_job_is_over() {
    // The limit lets the second try go after 10 s.
    let mut rules = super::rules(Some(1), vec!["1/10s".parse().unwrap()]);
    rules.retry.jitter = Jitter::None;
    rules.retry.backoff = "100ms..100ms".parse().unwrap();
    rules.retry.max_elapsed = Some(Duration::from_secs(5));
    let seen = seen(rules, jobs(1), |_, _, _| refusal(503, &[], ""));
    let [(0, FailureKind::Http, why)] = &seen.failed[..] else {
        panic!("{:?}", seen.failed);
    };
    assert!(
        why.starts_with("status 503") && why.contains("gave up after 5"),
        "{why}"
    );
    assert_eq!(seen.sent.len(), 1);
    assert!(
        seen.summary.elapsed <= Duration::from_secs(5),
        "{:?}",
        seen.summary.elapsed
    );
}

#[test]
fn a_try_is_cut_where_the_time_of_its_job_ends() {
    let mut rules = patient(Some(1));
    rules.timeout = Duration::from_secs(30);
    rules.retry.max_elapsed = Some(Duration::from_secs(5));
    let mut ends = Vec::new();
    let told = seen(rules, jobs(1), |at, _, grant| {
        ends.push(grant.give_up_at.since(at));
        refusal(503, &[], "")
    });
    assert_eq!(told.summary.tally.counts.failed, 1);
    assert_eq!(
        ends[0],
        Duration::from_secs(30),
        "the first has its timeout: nothing was sent before"
    );
    assert!(
        ends[1..].iter().all(|left| *left <= Duration::from_secs(5)),
        "{ends:?}"
    );
}

#[test]
fn a_wait_rests_the_key_also_where_the_job_itself_is_not_sent_again() {
    for (on, fields) in [
        (Some("none"), &[("retry-after", "3")][..]),
        (None, &[("retry-after", "3"), ("x-should-retry", "false")]),
    ] {
        let mut rules = patient(Some(1));
        if let Some(on) = on {
            rules.retry.on = on.parse().unwrap();
        }
        let seen = seen(rules, jobs(5), |_, job, _| match job.place.line {
            1 => refusal(429, fields, ""),
            _ => refusal(200, &[], ""),
        });
        assert_eq!(seen.summary.tally.counts.failed, 1);
        let moments: Vec<u64> = seen.sent.iter().map(|(_, at)| *at).collect();
        assert_eq!(moments.len(), 5, "{fields:?}");
        assert!(
            moments[2] >= moments[1] + 3 * SECOND,
            "{fields:?}: {moments:?}"
        );
    }
}

#[test]
fn a_403_that_speaks_of_limits_says_nothing_of_the_key() {
    let mut rules = patient(Some(10));
    rules.stop_if = vec!["401,403>=20 in a row".parse().unwrap()];
    let mut answers = 0;
    let seen = seen(rules, jobs(60), |_, _, _| {
        answers += 1;
        if answers <= 25 {
            refusal(403, &[("retry-after", "1")], "")
        } else {
            refusal(200, &[], "")
        }
    });
    assert_eq!(seen.end, End::Finished);
    assert_eq!(seen.summary.tally.counts.ok, 60);
}
