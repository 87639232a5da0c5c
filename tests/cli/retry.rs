//! Tries: how many, after which wait, and which answers are final.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::transport::FIXED;
use crate::support::program::Shaper;
use crate::support::server::{Seen, Server, Step};
use crate::support::{at_once, statuses};

/// One of the transports, which behave alike.
#[derive(Clone, Copy)]
struct Over(&'static str);

impl Over {
    fn run(self) -> Shaper {
        Shaper::run().args(["--transport", self.0])
    }
}

/// The same over each transport.
fn over_both(test: impl Fn(Over) + Sync) {
    at_once(FIXED.map(Over), test);
}

#[test]
fn retry_after_is_a_floor_and_holds_the_whole_host_back() {
    over_both(|over| {
        let asked = Duration::from_secs(1);
        let server = Server::start([
            Step::status(429).header("Retry-After", "1"),
            // The other slot is busy until the refusal is heard, however late that is.
            Step::ok().after(asked / 2),
            Step::ok(),
        ]);
        let done = over
            .run()
            .jobs("jobs.urls", server.list(10))
            .args(["-c", "2", "--qps", "20/s"])
            .with_results()
            .ends(0);
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
    });
}

#[test]
fn without_a_hint_the_waits_double_up_to_their_most() {
    over_both(|over| {
        let server = Server::start([
            Step::status(429),
            Step::status(429),
            Step::status(429),
            Step::ok(),
        ]);
        let done = over
            .run()
            .jobs("one.urls", server.list(1))
            .args(["--max-attempts", "5", "--jitter", "none"])
            .args(["--backoff", "100ms..150ms"])
            .with_results()
            .ends(0);
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
    });
}

#[test]
fn full_jitter_spreads_jobs_that_fail_together() {
    over_both(|over| {
        let server = Server::answering(|ask| match ask.nth_of_target {
            0 | 1 => Step::status(429),
            _ => Step::ok(),
        });
        let done = over
            .run()
            .jobs("jobs.urls", server.list(20))
            .args(["-c", "20", "--max-attempts", "5", "--seed", "1"])
            .args(["--backoff", "100ms..2s"])
            .with_results()
            .ends(0);
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
    });
}

#[test]
fn the_number_of_attempts_is_exact() {
    over_both(|over| {
        for most in [1, 3, 5] {
            let server = Server::start([Step::status(500)]);
            let done = over
                .run()
                .jobs("one.urls", server.list(1))
                .args(["--max-attempts", &most.to_string()])
                .args(["--backoff", "1ms..1ms"])
                .with_results()
                .ends(1);
            assert_eq!(server.requests().len(), most);
            let result = &done.results()[0];
            assert_eq!(result["status"], "failed");
            assert_eq!(result["attempts"], most);
            assert_eq!(result["error"]["kind"], "http");
            let tries = result["tries"].as_array().expect("it was sent");
            assert_eq!(tries.len(), most);
            assert!(tries.iter().all(|one| one["http_status"] == 500));
        }
    });
}

#[test]
fn a_job_that_succeeds_at_last_is_ok_and_lists_its_tries() {
    over_both(|over| {
        let server = Server::start([Step::status(500), Step::status(500), Step::ok()]);
        let done = over
            .run()
            .jobs("one.urls", server.list(1))
            .args(["--max-attempts", "3", "--backoff", "1ms..1ms"])
            .with_results()
            .ends(0);
        let result = &done.results()[0];
        assert_eq!(
            (&result["status"], &result["attempts"]),
            (&"ok".into(), &3.into())
        );
        let tries = result["tries"].as_array().expect("it was sent");
        let seen: Vec<&Value> = tries.iter().map(|one| &one["http_status"]).collect();
        assert_eq!(seen, [500, 500, 200]);
    });
}

#[test]
fn client_errors_are_final_and_others_are_tried_again() {
    over_both(|over| {
        let finals = [400, 401, 403, 404, 409, 410, 422];
        let passing = [408, 425, 429, 500, 502, 503, 504, 529];
        let server = Server::answering(|ask| {
            let status = ask.target[1..].parse().expect("targets are statuses");
            Step::status(status)
        });
        let all = finals.iter().chain(&passing);
        let list: String = all
            .map(|status| server.url(&format!("/{status}\n")))
            .collect();
        let done = over
            .run()
            .jobs("jobs.urls", list)
            .args(["--max-attempts", "2", "--backoff", "10ms..10ms"])
            .with_results()
            .ends(1);
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
    });
}

#[test]
fn a_post_that_may_have_arrived_is_not_sent_twice() {
    over_both(|over| {
        for step in [Step::close(), Step::reset()] {
            let server = Server::start([step]);
            let job = format!(
                r#"{{"method":"POST","url":"{}","body":"x"}}"#,
                server.url("/")
            );
            let done = over
                .run()
                .jobs("jobs.jsonl", job)
                .args(["--backoff", "1ms..1ms"])
                .with_results()
                .ends(1);
            done.says("--retry-unsafe");
            assert_eq!(server.requests().len(), 1);
            let result = &done.results()[0];
            assert_eq!(result["error"]["kind"], "reset", "{result}");
            assert_eq!(result["attempts"], 1);
        }
    });
}

#[test]
fn a_get_that_breaks_off_is_sent_again() {
    over_both(|over| {
        let server = Server::start([
            Step::reset(),
            Step::close(),
            Step::ok().body("0123456789").cut(100, 10),
            Step::ok().body("in pieces").chunked(),
        ]);
        let done = over
            .run()
            .jobs("one.urls", server.list(1))
            .args(["--backoff", "1ms..1ms"])
            .with_results()
            .ends(0);
        let result = &done.results()[0];
        assert_eq!(result["body"], "in pieces");
        let tries = result["tries"].as_array().expect("it was sent");
        let kinds: Vec<&Value> = tries.iter().map(|one| &one["error"]["kind"]).collect();
        let expected = ["reset", "reset", "incomplete_body"].map(Value::from);
        assert_eq!(kinds[..3], expected.each_ref()[..]);
        assert_eq!(kinds[3], &Value::Null);
    });
}

#[test]
fn an_answer_without_a_length_ends_with_its_connection() {
    over_both(|over| {
        let server = Server::start([Step::ok().body("hi").until_close()]);
        let done = over
            .run()
            .jobs("jobs.urls", server.list(2))
            .args(["-c", "1"])
            .with_results()
            .ends(0);
        let results = done.results();
        assert_eq!(statuses(&results), ["ok", "ok"]);
        assert!(results.iter().all(|line| line["body"] == "hi"));
        let requests = server.requests();
        assert_ne!(requests[0].connection, requests[1].connection);
    });
}

/// Runs one URL with these options, all rests a millisecond. Returns the result.
fn one(over: Over, server: &Server, options: &[&str], code: i32) -> Value {
    let done = over
        .run()
        .jobs("one.urls", server.list(1))
        .args(["--backoff", "1ms..1ms"])
        .args(options.iter().copied())
        .with_results()
        .ends(code);
    done.results()[0].clone()
}

#[test]
fn what_is_tried_again_is_what_the_list_says() {
    over_both(|over| {
        for (status, list, tries) in [
            (409, "409", 2),
            (501, "5xx", 2),
            (503, "429,502", 1),
            (503, "none", 1),
            (429, "400-499", 2),
        ] {
            let server = Server::start([Step::status(status)]);
            let result = one(
                over,
                &server,
                &["--retry-on", list, "--max-attempts", "2"],
                1,
            );
            assert_eq!(result["attempts"], tries, "{status} {list}: {result}");
            assert_eq!(server.requests().len(), tries);
        }
    });
}

#[test]
fn a_status_that_is_ok_is_a_success_at_once() {
    over_both(|over| {
        for (status, list, code) in [(404, "2xx,404", 0), (503, "200-599", 0), (200, "201", 1)] {
            let server = Server::start([Step::status(status)]);
            let result = one(over, &server, &["--ok", list], code);
            let verdict = if code == 0 { "ok" } else { "failed" };
            assert_eq!(result["status"], verdict, "{status} {list}: {result}");
            assert_eq!(server.requests().len(), 1, "{status} {list}");
        }
    });
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
            .ends(2);
        done.says(form);
    }
}

#[test]
fn an_answer_whose_body_says_that_it_is_none_is_tried_again_where_that_is_asked_for() {
    over_both(|over| {
        let slow = Step::ok().body(r#"{"error":{"code":429,"message":"slow down"}}"#);
        let fine = Step::ok().body(r#"{"ok":true,"error":null}"#);
        let server = Server::start([slow.clone(), fine.clone()]);
        let result = one(over, &server, &[], 0);
        assert_eq!(result["attempts"], 1, "{result}");

        let server = Server::start([slow.clone(), Step::ok().body("{\"ok\":t"), fine]);
        let result = one(over, &server, &["--retry-if-json", "/error"], 0);
        assert_eq!(result["attempts"], 3, "{result}");
        for nth in [0, 1] {
            let error = &result["tries"][nth]["error"];
            assert_eq!(error["kind"], "body_error", "{result}");
        }

        let server = Server::start([slow]);
        let asked = ["--retry-if-json", "/error", "--max-attempts", "2"];
        let result = one(over, &server, &asked, 1);
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
    });
}

#[test]
fn a_wait_above_the_longest_is_told_with_both_numbers_and_nothing_more_is_sent() {
    over_both(|over| {
        let server = Server::start([Step::status(429).header("Retry-After", "86400")]);
        let run = || over.run().jobs("jobs.urls", server.list(20));
        let done = run()
            .args(["-c", "1", "--max-retry-after", "120s"])
            .with_results()
            .ends(1);
        done.says("--max-retry-after").says("cancelled");
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
    });
}

#[test]
fn waits_are_read_as_they_are_written_and_nonsense_is_none() {
    over_both(|over| {
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
            let result = one(over, &server, &[], 0);
            assert_eq!(result["attempts"], 2, "{fields:?}: {result}");
            let moments = server.moments();
            assert!(
                moments[1] >= moments[0] + Duration::from_millis(least),
                "{fields:?}"
            );
            let told = result["tries"][0]["retry_after_ms"].as_u64();
            assert_eq!(told, (least > 0).then_some(least), "{fields:?}");
        }
    });
}

#[test]
fn a_spent_quota_ends_the_run_with_the_words_of_the_server() {
    over_both(|over| {
        let spent = r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#;
        let server = Server::start([Step::status(429).body(spent)]);
        let done = over
            .run()
            .jobs("jobs.urls", server.list(20))
            .args(["-c", "1"])
            .with_results()
            .ends(1);
        done.says("You exceeded your current quota");
        assert_eq!(server.requests().len(), 1);
        assert_eq!(statuses(&done.results()), ["failed"]);
    });
}

#[test]
fn an_unknown_provider_is_told_the_known_ones() {
    let done = Shaper::run()
        .jobs("one.urls", "http://127.0.0.1:9/\n")
        .args(["--provider", "opneai"])
        .ends(2);
    done.says("openai");
}

#[test]
fn a_job_that_never_gets_an_answer_ends_when_its_time_is_over() {
    over_both(|over| {
        let server = Server::start([Step::hang()]);
        let started = std::time::Instant::now();
        let done = over
            .run()
            .jobs("one.urls", server.list(1))
            .args(["--timeout", "200ms", "--max-attempts", "100"])
            .args(["--max-elapsed", "1s", "--backoff", "100ms..200ms"])
            .with_results()
            .ends(1);
        let result = &done.results()[0];
        assert_eq!(result["error"]["kind"], "timeout", "{result}");
        let told = result["error"]["message"].as_str().unwrap_or_default();
        assert!(told.contains("gave up after 1"), "{told}");
        let tries = server.requests().len();
        assert!((2..=6).contains(&tries), "{tries} tries");
        assert!(started.elapsed() >= Duration::from_millis(600));
    });
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
        .ends(0);
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
    over_both(|over| {
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
        let done = over
            .run()
            .jobs("jobs.jsonl", format!("{}\n{}\n", job("/a"), job("/b")))
            .args(options)
            .with_results()
            .ends(1);
        assert_eq!(keys("/a").len(), 2, "the POST was reset, and sent again");
        let done = done
            .again()
            .args(["run", "jobs.jsonl", "--transport", over.0])
            .args(options)
            .args(["--resume", "--retry-failed"])
            .with_results()
            .ends(0);
        let (one, other) = (keys("/a"), keys("/b"));
        assert_eq!((one.len(), other.len()), (3, 3));
        assert!(one.iter().all(|key| *key == one[0]), "{one:?}");
        assert!(other.iter().all(|key| *key == other[0]), "{other:?}");
        assert_ne!(one[0], other[0]);
        done.again()
            .args(["run", "jobs.jsonl", "--transport", over.0])
            .args(options)
            .args(["--overwrite"])
            .with_results()
            .ends(0);
        assert_ne!(keys("/a")[3], one[0], "another run is another request");
    });
}

#[test]
fn equal_jobs_have_different_keys_and_a_key_of_the_job_stays() {
    over_both(|over| {
        let server = Server::start([Step::ok()]);
        let url = server.url("/");
        let own = format!(r#"{{"url":"{url}","headers":{{"Idempotency-Key":"mine"}}}}"#);
        over.run()
            .jobs(
                "jobs.jsonl",
                format!("{{\"url\":\"{url}\"}}\n{{\"url\":\"{url}\"}}\n{own}\n"),
            )
            .args(["--idempotency-key", "-c", "1"])
            .ends(0);
        let requests = server.requests();
        let keys: Vec<String> = requests.iter().map(key_of).collect();
        assert_eq!((keys.len(), &*keys[2]), (3, "mine"), "{keys:?}");
        assert_ne!(keys[0], keys[1]);
    });
}

#[test]
fn a_conflict_is_final_unless_its_server_or_a_list_says_otherwise() {
    over_both(|over| {
        let options = ["--max-attempts", "2"];
        for (again, list, tries) in [
            (None, None, 1),
            (Some("true"), None, 2),
            (Some("false"), Some("409"), 1),
            (None, Some("409"), 2),
        ] {
            let conflict = Step::status(409);
            let step = match again {
                Some(again) => conflict.header("x-should-retry", again),
                None => conflict,
            };
            let list = list.into_iter().flat_map(|list| ["--retry-on", list]);
            let options: Vec<&str> = options.into_iter().chain(list).collect();
            let result = one(over, &Server::start([step]), &options, 1);
            assert_eq!(result["attempts"], tries, "{again:?}: {result}");
        }
    });
}

/// A moment in the three forms of RFC 9110 §5.6.7.
fn dates(at: SystemTime) -> [String; 3] {
    let fixed = httpdate::fmt_http_date(at);
    let words: Vec<&str> = fixed
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let [short, day, month, year, time, _] = words[..] else {
        panic!("{fixed}");
    };
    let week = ["Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun"];
    let weekday = week
        .iter()
        .find(|name| name.starts_with(short))
        .expect("one of seven");
    let (day_of_month, year_of_century) = (day.trim_start_matches('0'), &year[2..]);
    [
        format!("{weekday}day, {day}-{month}-{year_of_century} {time} GMT"),
        format!("{short} {month} {day_of_month:>2} {time} {year}"),
        fixed,
    ]
}

#[test]
fn a_date_is_a_moment_by_the_clock_of_its_server_however_wrong_the_own_one_is() {
    at_once(["+3h", "-100d"], |offset| {
        let now = SystemTime::now();
        let back = &dates(now + Duration::from_secs(2))[2];
        let refused = Step::status(429).header("Retry-After", back);
        let server = Server::start([refused.header("Date", &dates(now)[2]), Step::ok()]);
        let done = Shaper::run()
            .with_a_clock_off_by(offset)
            .jobs("jobs.urls", server.list(1))
            .with_results()
            .ends(0);
        let told = &done.results()[0]["tries"][0]["retry_after_ms"];
        assert_eq!(*told, 2000.0, "{offset}");
        let moments = server.moments();
        assert!(
            moments[1] >= moments[0] + Duration::from_secs(2),
            "{moments:?}"
        );
    });
}

#[test]
fn dates_are_moments_by_the_clock_of_their_server_whatever_the_zone() {
    let second = Duration::from_secs(1);
    let hour = 3600 * second;
    // Each target is a key of its own: another host.
    let refused = move |target: &str| {
        let now = SystemTime::now();
        let refused = |date: &str| Step::status(429).header("Retry-After", date);
        match target {
            "/rfc850" => refused(&dates(now + 2 * second)[0]),
            "/asctime" => refused(&dates(now + 2 * second)[1]),
            "/fixdate" => refused(&dates(now + 2 * second)[2]),
            "/past" => refused(&dates(now - hour)[2]),
            "/zone" => refused(&dates(now + hour)[2].replace("GMT", "+0900")),
            "/wrong" => {
                let wrong = now - hour;
                refused(&dates(wrong + second)[2]).header("Date", &dates(wrong)[2])
            }
            other => panic!("{other}"),
        }
    };
    let all = [
        "/rfc850", "/asctime", "/fixdate", "/past", "/zone", "/wrong",
    ];
    let zones = ["UTC", "Asia/Tokyo"];
    let check = |over: Over, zone: &str| {
        let any = "0.0.0.0:0".parse().expect("it is an address");
        let server = Server::answering_at(any, move |ask| match ask.nth_of_target {
            0 => refused(ask.target),
            _ => Step::ok(),
        });
        let port = server.address().port();
        let url = |(nth, target): (usize, &&str)| format!("http://127.1.1.{nth}:{port}{target}\n");
        let list: String = all.iter().enumerate().map(url).collect();
        let done = over
            .run()
            .env("TZ", zone)
            .jobs("jobs.urls", list)
            .args(["--backoff", "1ms..1ms"])
            .with_results()
            .ends(0);
        let requests = server.requests();
        for (target, result) in all.iter().zip(done.results()) {
            assert_eq!(result["attempts"], 2, "{zone} {target}: {result}");
            let told = result["tries"][0]["retry_after_ms"].as_f64();
            let right = match *target {
                // A date has whole seconds, and so has the time on the way to it.
                "/rfc850" | "/asctime" | "/fixdate" => {
                    told.is_some_and(|told| told > 0.0 && told <= 2000.0)
                }
                "/wrong" => told == Some(1000.0),
                _ => told.is_none(),
            };
            assert!(right, "{zone} {target}: {told:?}");
            let mut own = requests.iter().filter(|seen| seen.target == *target);
            let (first, then) = (own.next().expect("sent"), own.next().expect("sent again"));
            let waited = Duration::from_secs_f64(told.unwrap_or(0.0) / 1e3);
            assert!(then.at >= first.at + waited, "{zone} {target}");
        }
    };
    over_both(|over| {
        at_once(zones, |zone| check(over, zone));
    });
}

#[test]
fn a_timeout_covers_one_try_and_no_wait_before_it() {
    over_both(|over| {
        let server = Server::start([Step::ok()]);
        let done = over
            .run()
            .jobs("jobs.urls", server.list(3))
            .args(["--qps", "1/s", "--timeout", "900ms"])
            .with_results()
            .ends(0);
        let results = done.results();
        assert_eq!(statuses(&results), ["ok"; 3]);
        for result in &results[1..] {
            let queued = result["queue_ms"].as_f64().expect("it was sent");
            assert!(queued > 900.0, "longer than the timeout: {result}");
        }
    });
    over_both(|over| {
        let late = Step::ok().after(Duration::from_millis(300));
        let server = Server::start([Step::hang(), late]);
        let result = one(
            over,
            &server,
            &["--timeout", "1s", "--max-attempts", "2"],
            0,
        );
        let tries = result["tries"].as_array().expect("it was sent");
        assert_eq!(tries[0]["error"]["kind"], "timeout", "{result}");
        let at = |nth: usize, name: &str| tries[nth][name].as_u64().expect("it was told");
        let lasted = at(0, "done_us") - at(0, "granted_us");
        // Each moment is rounded down to a microsecond.
        assert!(lasted + 1 >= 1_000_000, "{lasted} us: {result}");
        assert!(
            at(1, "done_us") - at(1, "granted_us") >= 299_999,
            "{result}"
        );
        assert_eq!((tries.len(), &tries[1]["error"]), (2, &Value::Null));
    });
}

#[test]
fn a_limit_that_the_server_tells_below_the_own_one_is_named_with_its_option() {
    over_both(|over| {
        let server = Server::answering(|ask| {
            let (step, left) = match ask.nth {
                3 => (Step::status(429).header("retry-after-ms", "20"), 0),
                nth => (Step::ok(), 3_usize.saturating_sub(nth)),
            };
            step.header("RateLimit-Policy", "\"minute\";q=60;w=60")
                .header("RateLimit", format!("\"minute\";r={left};t=1"))
        });
        let done = over
            .run()
            .jobs("jobs.urls", server.list(6))
            .args([
                "-c",
                "1",
                "--rpm",
                "100",
                "--burst",
                "100",
                "--backoff",
                "1ms..1ms",
            ])
            .with_results()
            .reporting()
            .ends(0);
        let told = done.report()["findings"][0].to_string();
        let words = "429s while every own limit held (1 of 7 answers): \
                     the server tells 60/m (requests), yours is 100/m: --rpm 60";
        assert!(told.contains(words), "{told}");
    });
}
