//! Tries: how many, after which wait, and which answers are final.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::support::program::Shaper;
use crate::support::server::{Seen, Server, Step};
use crate::support::statuses;

#[test]
fn retry_after_is_a_floor_and_holds_the_whole_host_back() {
    let asked = Duration::from_secs(1);
    let server = Server::start([Step::status(429).header("Retry-After", "1"), Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(10))
        .args(["-c", "2", "--qps", "20/s"])
        .with_results()
        .alone()
        .output();
    done.exits(0);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok"; 10]);
    let refused = &results[0];
    assert_eq!(refused["attempts"], 2, "{refused}");
    assert_eq!(refused["tries"][0]["http_status"], 429);
    assert_eq!(refused["tries"][0]["retry_after_ms"].as_f64(), Some(1000.0));

    // The other slot may have been in flight. Everything else comes after the wait.
    let moments = server.moments();
    let early = moments.iter().filter(|at| **at < moments[0] + asked);
    assert!(early.count() <= 2, "{moments:?}");
    let told = refused["tries"][0]["first_byte_us"].as_u64();
    let told = told.expect("it was answered");
    let tries = results.iter().filter_map(|line| line["tries"].as_array());
    for one in tries.flatten() {
        let granted = one["granted_us"].as_u64().expect("it was sent");
        let held = !(told..told + 1_000_000).contains(&granted);
        assert!(held, "granted {} us after the 429: {one}", granted - told);
    }
}

#[test]
fn without_a_hint_the_waits_double_up_to_their_most() {
    let server = Server::start([
        Step::status(429),
        Step::status(429),
        Step::status(429),
        Step::ok(),
    ]);
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--max-attempts", "5", "--jitter", "none"])
        .args(["--backoff", "100ms..150ms"])
        .with_results()
        .output();
    done.exits(0);
    let result = &done.results()[0];
    assert_eq!(
        (&result["status"], &result["attempts"]),
        (&"ok".into(), &4.into())
    );
    assert_eq!(server.requests().len(), 4);
    let tries = result["tries"].as_array().expect("it was sent");
    for (pair, least) in tries.windows(2).zip([100_000, 150_000, 150_000]) {
        let ended = pair[0]["done_us"].as_u64().expect("it was answered");
        let sent = pair[1]["sent_us"].as_u64().expect("it was sent");
        // Each moment is rounded down to a microsecond.
        let rested = sent - ended + 1;
        assert!(rested >= least, "{rested} us of {least}: {result}");
    }
    let waited = result["wait_ms"]["backoff"].as_f64().expect("it rested");
    assert!(waited >= 399.9, "{result}");
}

#[test]
fn full_jitter_spreads_jobs_that_fail_together() {
    let server = Server::answering(|ask| match ask.nth_of_target {
        0 | 1 => Step::status(429),
        _ => Step::ok(),
    });
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["-c", "20", "--max-attempts", "5", "--seed", "1"])
        .args(["--backoff", "100ms..2s"])
        .with_results()
        .output();
    done.exits(0);
    assert_eq!(server.requests().len(), 60);
    let results = done.results();
    let waits: BTreeSet<u64> = results
        .iter()
        .map(|line| {
            assert_eq!(line["attempts"], 3, "{line}");
            let waited = line["wait_ms"]["backoff"].as_f64().expect("it rested");
            waited.to_bits()
        })
        .collect();
    assert!(waits.len() >= 15, "{} different waits", waits.len());
}

#[test]
fn the_number_of_attempts_is_exact() {
    for most in [1, 3, 5] {
        let server = Server::start([Step::status(500)]);
        let done = Shaper::run()
            .jobs("one.urls", server.list(1))
            .args(["--max-attempts", &most.to_string()])
            .args(["--backoff", "1ms..1ms"])
            .with_results()
            .output();
        done.exits(1);
        assert_eq!(server.requests().len(), most);
        let result = &done.results()[0];
        assert_eq!(result["status"], "failed");
        assert_eq!(result["attempts"], most);
        assert_eq!(result["error"]["kind"], "http");
        let tries = result["tries"].as_array().expect("it was sent");
        assert_eq!(tries.len(), most);
        assert!(tries.iter().all(|one| one["http_status"] == 500));
    }
}

#[test]
fn a_job_that_succeeds_at_last_is_ok_and_lists_its_tries() {
    let server = Server::start([Step::status(500), Step::status(500), Step::ok()]);
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--max-attempts", "3", "--backoff", "1ms..1ms"])
        .with_results()
        .output();
    done.exits(0);
    let result = &done.results()[0];
    assert_eq!(
        (&result["status"], &result["attempts"]),
        (&"ok".into(), &3.into())
    );
    let tries = result["tries"].as_array().expect("it was sent");
    let seen: Vec<&Value> = tries.iter().map(|one| &one["http_status"]).collect();
    assert_eq!(seen, [500, 500, 200]);
}

#[test]
fn client_errors_are_final_and_others_are_tried_again() {
    let finals = [400, 401, 403, 404, 410, 422];
    let passing = [408, 425, 429, 500, 502, 503, 504];
    let server = Server::answering(|ask| {
        let status = ask.target[1..].parse().expect("targets are statuses");
        Step::status(status)
    });
    let all = finals.iter().chain(&passing);
    let list: String = all
        .map(|status| server.url(&format!("/{status}\n")))
        .collect();
    let done = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["--max-attempts", "2", "--backoff", "10ms..10ms"])
        .with_results()
        .output();
    done.exits(1);
    let expected = finals.iter().map(|status| (*status, 1));
    let expected = expected.chain(passing.iter().map(|status| (*status, 2)));
    let requests = server.requests();
    for (result, (status, attempts)) in done.results().iter().zip(expected) {
        assert_eq!(result["status"], "failed", "{result}");
        assert_eq!(result["error"]["kind"], "http", "{result}");
        assert_eq!(result["http_status"], status, "{result}");
        assert_eq!(result["attempts"], attempts, "{result}");
        let target = format!("/{status}");
        let sent = requests.iter().filter(|seen| seen.target == target);
        assert_eq!(sent.count(), attempts, "requests for {status}");
    }
}

#[test]
fn a_post_that_may_have_arrived_is_not_sent_twice() {
    for step in [Step::close(), Step::reset()] {
        let server = Server::start([step]);
        let job = format!(
            r#"{{"method":"POST","url":"{}","body":"x"}}"#,
            server.url("/")
        );
        let done = Shaper::run()
            .jobs("jobs.jsonl", job)
            .args(["--backoff", "1ms..1ms"])
            .with_results()
            .output();
        done.exits(1).says("--retry-unsafe");
        assert_eq!(server.requests().len(), 1);
        let result = &done.results()[0];
        assert_eq!(result["error"]["kind"], "reset", "{result}");
        assert_eq!(result["attempts"], 1);
    }
}

#[test]
fn a_get_that_breaks_off_is_sent_again() {
    let server = Server::start([
        Step::reset(),
        Step::close(),
        Step::ok().body("0123456789").cut(100, 10),
        Step::ok().body("in pieces").chunked(),
    ]);
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--backoff", "1ms..1ms"])
        .with_results()
        .output();
    done.exits(0);
    let result = &done.results()[0];
    assert_eq!(result["body"], "in pieces");
    let tries = result["tries"].as_array().expect("it was sent");
    let kinds: Vec<&Value> = tries.iter().map(|one| &one["error"]["kind"]).collect();
    let expected = ["reset", "reset", "incomplete_body"].map(Value::from);
    assert_eq!(kinds[..3], expected.each_ref()[..]);
    assert_eq!(kinds[3], &Value::Null);
}

#[test]
fn an_answer_without_a_length_ends_with_its_connection() {
    let server = Server::start([Step::ok().body("hi").until_close()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(2))
        .args(["-c", "1"])
        .with_results()
        .output();
    done.exits(0);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "ok"]);
    assert!(results.iter().all(|line| line["body"] == "hi"));
    let requests = server.requests();
    assert_ne!(requests[0].connection, requests[1].connection);
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    let server = Server::start([Step::hang()]);
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--timeout", "300ms", "--max-attempts", "1"])
        .with_results()
        .output();
    done.exits(1);
    let result = &done.results()[0];
    assert_eq!(result["error"]["kind"], "timeout");
    assert_eq!(server.requests().len(), 1);
}

/// Runs one URL with these options, all rests a millisecond. Returns the result.
fn one(server: &Server, options: &[&str], code: i32) -> Value {
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--backoff", "1ms..1ms"])
        .args(options.iter().copied())
        .with_results()
        .output();
    done.exits(code);
    done.results()[0].clone()
}

#[test]
fn what_is_tried_again_is_what_the_list_says() {
    for (status, list, tries) in [
        (409, "409", 2),
        (501, "5xx", 2),
        (503, "429,502", 1),
        (503, "none", 1),
        (429, "400-499", 2),
    ] {
        let server = Server::start([Step::status(status)]);
        let result = one(&server, &["--retry-on", list, "--max-attempts", "2"], 1);
        assert_eq!(result["attempts"], tries, "{status} {list}: {result}");
        assert_eq!(server.requests().len(), tries);
    }
}

#[test]
fn a_status_that_is_ok_is_a_success_at_once() {
    for (status, list, code) in [(404, "2xx,404", 0), (503, "200-599", 0), (200, "201", 1)] {
        let server = Server::start([Step::status(status)]);
        let result = one(&server, &["--ok", list], code);
        let verdict = if code == 0 { "ok" } else { "failed" };
        assert_eq!(result["status"], verdict, "{status} {list}: {result}");
        assert_eq!(server.requests().len(), 1, "{status} {list}");
    }
}

#[test]
fn lists_that_are_none_are_refused_with_the_forms() {
    for (option, value, form) in [
        ("--retry-on", "dns", "incomplete_body"),
        ("--retry-on", "", "incomplete_body"),
        ("--ok", "299-200", "200-299"),
        ("--ok", "none", "200-299"),
        ("--retry-if-json", "error", "JSON pointer"),
    ] {
        let done = Shaper::run()
            .jobs("one.urls", "http://127.0.0.1:9/\n")
            .args([option, value])
            .output();
        done.exits(2);
        done.says(form);
    }
}

#[test]
fn an_answer_whose_body_says_that_it_is_none_is_tried_again_where_that_is_asked_for() {
    let slow = Step::ok().body(r#"{"error":{"code":429,"message":"slow down"}}"#);
    let fine = Step::ok().body(r#"{"ok":true,"error":null}"#);
    let server = Server::start([slow.clone(), fine.clone()]);
    let result = one(&server, &[], 0);
    assert_eq!(result["attempts"], 1, "{result}");

    let server = Server::start([slow.clone(), Step::ok().body("{\"ok\":t"), fine]);
    let result = one(&server, &["--retry-if-json", "/error"], 0);
    assert_eq!(result["attempts"], 3, "{result}");
    for nth in [0, 1] {
        let error = &result["tries"][nth]["error"];
        assert_eq!(error["kind"], "body_error", "{result}");
    }

    let server = Server::start([slow]);
    let asked = ["--retry-if-json", "/error", "--max-attempts", "2"];
    let result = one(&server, &asked, 1);
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["kind"], "body_error");
    let told = result["error"]["message"].as_str().unwrap_or_default();
    assert!(
        told.contains("/error") && told.contains("slow down"),
        "{told}"
    );
    assert_eq!(
        result["body"]["error"]["code"], 429,
        "the last body is kept"
    );
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_wait_above_the_longest_is_told_with_both_numbers_and_nothing_more_is_sent() {
    let server = Server::start([Step::status(429).header("Retry-After", "86400")]);
    let run = || Shaper::run().jobs("jobs.urls", server.list(20));
    let done = run()
        .args(["-c", "1", "--max-retry-after", "120s"])
        .with_results()
        .output();
    done.exits(1).says("--max-retry-after").says("cancelled");
    assert_eq!(server.requests().len(), 1);
    let results = done.results();
    assert_eq!(
        statuses(&results),
        ["failed"],
        "the others have no result: --resume sends them"
    );
    let error = &results[0]["error"];
    assert_eq!(error["kind"], "retry_after_too_long", "{error}");
    let told = error["message"].as_str().unwrap_or_default();
    assert!(
        told.contains("86400") || told.contains("24h") || told.contains("1d"),
        "{told}"
    );
    assert!(told.contains("120") || told.contains("2m"), "{told}");
}

#[test]
fn waits_are_read_as_they_are_written_and_nonsense_is_none() {
    for (fields, least) in [
        (&[("Retry-After", "0.3")][..], 300),
        (&[("Retry-After", "10"), ("retry-after-ms", "200")], 200),
        (&[("Retry-After", "-1")], 0),
        (&[("Retry-After", "NaN")], 0),
        (&[("Retry-After", "1e400")], 0),
        (&[("Retry-After", "1m0s")], 0),
        (&[("Retry-After", "")], 0),
    ] {
        let mut refused = Step::status(429);
        for (name, value) in fields {
            refused = refused.header(name, value);
        }
        let server = Server::start([refused, Step::ok()]);
        let result = one(&server, &[], 0);
        assert_eq!(result["attempts"], 2, "{fields:?}: {result}");
        let moments = server.moments();
        assert!(
            moments[1] >= moments[0] + Duration::from_millis(least),
            "{fields:?}"
        );
        let told = result["tries"][0]["retry_after_ms"].as_u64();
        assert_eq!(told, (least > 0).then_some(least), "{fields:?}");
    }
}

#[test]
fn a_spent_quota_ends_the_run_with_the_words_of_the_server() {
    let spent =
        r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#;
    let server = Server::start([Step::status(429).body(spent)]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["-c", "1"])
        .with_results()
        .output();
    done.exits(1).says("You exceeded your current quota");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(statuses(&done.results()), ["failed"]);
}

#[test]
fn an_unknown_provider_is_told_the_known_ones() {
    let done = Shaper::run()
        .jobs("one.urls", "http://127.0.0.1:9/\n")
        .args(["--provider", "opneai"])
        .output();
    done.exits(2).says("openai");
}

#[test]
fn a_job_that_never_gets_an_answer_ends_when_its_time_is_over() {
    let server = Server::start([Step::hang()]);
    let started = std::time::Instant::now();
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--timeout", "200ms", "--max-attempts", "100"])
        .args(["--max-elapsed", "1s", "--backoff", "100ms..200ms"])
        .with_results()
        .output();
    done.exits(1);
    let result = &done.results()[0];
    assert_eq!(result["error"]["kind"], "timeout", "{result}");
    let told = result["error"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("gave up after 1"), "{told}");
    let tries = server.requests().len();
    assert!((2..=6).contains(&tries), "{tries} tries");
    assert!(started.elapsed() >= Duration::from_millis(600));
}

#[test]
fn an_origin_that_is_out_of_order_is_asked_by_one_job_at_a_time_and_all_end_well() {
    // Ten are answered, and 20 in a row fail: three more if an answer is late, and three that were in flight by then.
    let server = Server::answering(|ask| match ask.nth {
        10..40 => Step::status(503),
        _ => Step::ok(),
    });
    let rest = Duration::from_millis(200);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(100))
        .args(["-c", "4", "--jitter", "none", "--backoff", "200ms..200ms"])
        .with_results()
        .reporting()
        .output();
    done.exits(0);
    assert_eq!(statuses(&done.results()), ["ok"; 100]);
    let moments = server.moments();
    for pair in moments[36..41].windows(2) {
        assert!(pair[1] >= pair[0] + rest, "{moments:?}");
    }
    let report = done.report();
    assert_eq!(report["breaks"], 1, "{report}");
    assert!(report["broken_ms"].as_f64() >= Some(800.0), "{report}");
    let finding = "the breaker paused an origin 1 time";
    let findings = report["findings"].to_string();
    assert!(findings.contains(finding), "{findings}");
}

/// The one idempotency key of a request.
fn key_of(seen: &Seen) -> String {
    let named = |(name, _): &&(String, Vec<u8>)| name.eq_ignore_ascii_case("idempotency-key");
    let mut keys = seen.headers.iter().filter(named);
    let (Some((_, key)), None) = (keys.next(), keys.next()) else {
        panic!("one key: {seen:?}");
    };
    String::from_utf8(key.clone()).expect("a key is text")
}

#[test]
fn a_key_of_its_own_goes_with_all_tries_of_a_job_also_after_a_resume() {
    let server = Server::answering(|ask| match ask.nth_of_target {
        0 => Step::reset(),
        1 => Step::status(400),
        _ => Step::ok(),
    });
    let job = |target: &str| {
        let url = server.url(target);
        format!(r#"{{"method":"POST","url":"{url}","body":"x"}}"#)
    };
    let keys = |target: &str| -> Vec<String> {
        let requests = server.requests();
        let own = requests.iter().filter(|seen| seen.target == target);
        own.map(key_of).collect()
    };
    let options = ["--idempotency-key", "--backoff", "1ms..1ms", "-c", "1"];
    let done = Shaper::run()
        .jobs("jobs.jsonl", format!("{}\n{}\n", job("/a"), job("/b")))
        .args(options)
        .with_results()
        .output();
    done.exits(1);
    assert_eq!(keys("/a").len(), 2, "the POST was reset, and sent again");
    let done = done
        .again()
        .args(["run", "jobs.jsonl"])
        .args(options)
        .args(["--resume", "--retry-failed"])
        .with_results()
        .output();
    done.exits(0);
    let (one, other) = (keys("/a"), keys("/b"));
    assert_eq!((one.len(), other.len()), (3, 3));
    assert!(one.iter().all(|key| *key == one[0]), "{one:?}");
    assert!(other.iter().all(|key| *key == other[0]), "{other:?}");
    assert_ne!(one[0], other[0]);
    let done = done
        .again()
        .args(["run", "jobs.jsonl"])
        .args(options)
        .args(["--overwrite"])
        .with_results()
        .output();
    done.exits(0);
    assert_ne!(keys("/a")[3], one[0], "another run is another request");
}

#[test]
fn equal_jobs_have_different_keys_and_a_key_of_the_job_stays() {
    let server = Server::start([Step::ok()]);
    let url = server.url("/");
    let own = format!(r#"{{"url":"{url}","headers":{{"Idempotency-Key":"mine"}}}}"#);
    let done = Shaper::run()
        .jobs(
            "jobs.jsonl",
            format!("{{\"url\":\"{url}\"}}\n{{\"url\":\"{url}\"}}\n{own}\n"),
        )
        .args(["--idempotency-key", "-c", "1"])
        .output();
    done.exits(0);
    let requests = server.requests();
    let keys: Vec<String> = requests.iter().map(key_of).collect();
    assert_eq!((keys.len(), &*keys[2]), (3, "mine"), "{keys:?}");
    assert_ne!(keys[0], keys[1]);
}
