//! Limits as the server sees them: no window above what was asked, no wait shorter than promised.

use std::time::Duration;

use serde_json::Value;

use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};
use crate::support::{SLACK, message, moments, most_in_any, statuses};

/// Every way to write a rate, and how the rate in force is shown.
pub(super) const RATES: [(&str, &str); 9] = [
    ("10", "10/s"),
    ("10/s", "10/s"),
    ("600rpm", "10/s"),
    ("600/m", "10/s"),
    ("0.5/s", "0.5/s"),
    ("1/2s", "0.5/s"),
    ("1/h", "1/h"),
    ("10/100ms", "100/s"),
    ("1e3/s", "1000/s"),
];

#[test]
fn a_rate_is_for_the_whole_run_and_not_for_each_slot() {
    let server = Server::start([Step::ok().after(Duration::from_millis(200))]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(30))
        .args(["--qps", "20/s", "-c", "50"])
        .with_results()
        .ends(0);
    done.says("20/s");
    assert_eq!(server.requests().len(), 30);
    // What a bucket promises are its grants: a connection that takes long brings the sends behind it nearer.
    let second = Duration::from_secs(1);
    let most = most_in_any(second, &moments(&done.results(), "granted_us"));
    assert!(
        most <= 21,
        "{most} granted within a second at 20/s, burst 1"
    );
    let least = Duration::from_millis(29 * 50);
    let took = done.took + SLACK;
    assert!(took >= least, "29 gaps of 50 ms within {took:?}");
}

#[test]
fn the_count_of_requests_is_exact_and_none_is_early() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(60))
        .args(["--qps", "30/s", "--burst", "1", "-c", "50"])
        .with_results()
        .ends(0);
    assert_eq!(server.requests().len(), 60);
    let granted = moments(&done.results(), "granted_us");
    assert_eq!(granted.len(), 60);
    let least = Duration::from_secs(59) / 30;
    let span = granted[59].abs_diff(granted[0]) + SLACK;
    assert!(span >= least, "59 gaps at 30/s in {span:?}");
}

#[test]
fn a_window_holds_in_every_window() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .args(["-", "--window", "10/1s", "-c", "40"])
        .stdin(server.list(30))
        .with_results()
        .ends(0);
    assert_eq!(server.requests().len(), 30);
    let period = Duration::from_secs(1);
    // When the server looks is up to the scheduler: a busy machine delays the first of them by tens of
    // milliseconds. A limit that counts in fixed windows would show 20 at once.
    for eleven in server.moments().windows(11) {
        let span = eleven[10].abs_diff(eleven[0]);
        assert!(span >= period / 2, "11 arrived within {span:?}");
    }
    // Each moment is rounded down to a microsecond.
    let rounding = Duration::from_micros(1);
    for eleven in moments(&done.results(), "sent_us").windows(11) {
        let span = eleven[10].abs_diff(eleven[0]);
        assert!(span + rounding >= period, "11 sent within {span:?}");
    }
}

#[test]
fn every_way_to_write_a_rate_is_understood_and_echoed() {
    let server = Server::start([Step::ok()]);
    for (written, shown) in RATES {
        let done = Shaper::run()
            .jobs("one.urls", server.list(1))
            .args(["--qps", written])
            .with_results()
            .ends(0);
        done.says(shown);
    }
    assert_eq!(server.requests().len(), RATES.len());
}

#[test]
fn a_rate_that_makes_no_sense_is_a_usage_error_that_shows_the_forms() {
    let server = Server::start([Step::ok()]);
    for written in ["10/0s", "10/x", "ten", "", "10//s", "10/s/s"] {
        let done = Shaper::run()
            .jobs("one.urls", server.list(1))
            .args(["--qps", written])
            .with_results()
            .ends(2);
        done.says("--qps").says(written).says("600rpm");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn zero_negative_and_nonsense_are_usage_errors_that_name_flag_and_value() {
    let flags = [
        ("--qps", "0"),
        ("--qps", "-1/s"),
        ("--qps", "NaN"),
        ("--qps", "inf"),
        ("-c", "0"),
        ("-c", "-1"),
        ("--concurrency", "-1"),
        ("--tpm", "0"),
        ("--burst", "0"),
        ("--window", "100/0s"),
        ("--window", "0/1s"),
        ("--max-attempts", "0"),
        ("--timeout", "0"),
        ("--timeout", "-1s"),
        ("--timeout", "nan"),
    ];
    let server = Server::start([Step::ok()]);
    for (flag, value) in flags {
        let named = if flag == "-c" { "--concurrency" } else { flag };
        let mut run = Shaper::run().jobs("one.urls", server.list(1));
        if flag == "--burst" {
            run = run.args(["--qps", "5"]);
        }
        let done = run.args([flag, value]).with_results().ends(2);
        done.says(named).says(value);
        done.never_says("unexpected argument");
        assert!(!done.path(OUT).exists(), "{done}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn none_says_no_limit() {
    let server = Server::start([Step::ok()]);
    Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["-c", "none"])
        .with_results()
        .ends(0);
    assert_eq!(server.requests().len(), 20);
}

#[test]
fn a_job_heavier_than_the_limit_fails_at_once_and_holds_nobody_back() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("38-heavy.jsonl", &server)
        .args(["--tpm", "1000"])
        .with_results()
        .reporting()
        .ends(1);
    assert_eq!(server.targets(), ["/a", "/c"]);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "failed", "ok"]);
    let heavy = &results[1];
    assert_eq!(heavy["error"]["kind"], "limit");
    assert_eq!(heavy["attempts"], 0);
    assert_eq!(heavy["latency_ms"], Value::Null);
    for number in ["5000", "1000"] {
        assert!(message(heavy).contains(number), "{heavy}");
    }
    let counts = done.counts();
    assert_eq!((counts.ok, counts.failed), (2, 1));
}

#[test]
fn a_timeout_is_for_one_try_and_waiting_for_a_limit_is_none_of_it() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .args(["--qps", "1/s", "--timeout", "900ms"])
        .with_results()
        .ends(0);
    let results = done.results();
    assert_eq!(results[0]["attempts"], 1);
    for waited in &results[1..] {
        let queue = waited["queue_ms"].as_f64().expect("it was sent");
        assert!(queue >= 990.0, "waited {queue} ms at 1/s: {waited}");
        assert_eq!(waited["attempts"], 1);
    }
}

#[test]
fn a_slow_answer_is_measured_whole() {
    let server = Server::start([Step::ok().after(Duration::from_millis(1200))]);
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--timeout", "2m"])
        .with_results()
        .reporting()
        .ends(0);
    let latency = done.results()[0]["latency_ms"].as_f64().expect("it is ok");
    assert!(latency >= 1200.0, "{latency} ms");
    let report = done.report();
    let max = report["latency"]["service"]["ok"]["max"].as_f64();
    assert!(
        max.expect("a report has a longest latency") >= 1200.0,
        "{report}"
    );
}

#[test]
fn a_stall_shows_in_the_time_since_due() {
    const STALL: Duration = Duration::from_secs(1);
    let server = Server::answering(|ask| {
        let slow = ask.nth == 10;
        Step::ok().after(if slow {
            STALL
        } else {
            Duration::from_millis(5)
        })
    });
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(60))
        .args(["--qps", "50/s", "-c", "1"])
        .with_results()
        .reporting()
        .ends(0);
    let results = done.results();
    let since_due = |line: &Value| line["since_due_ms"].as_f64().expect("it was sent");
    let late = results.iter().filter(|line| since_due(line) >= 400.0);
    assert!(late.count() >= 40, "the stall is hidden: {done}");
    let report = done.report();
    let latency = |part: &str, name: &str| {
        let value = report["latency"][part]["ok"][name].as_f64();
        value.unwrap_or_else(|| panic!("no {part} {name} in {report}"))
    };
    assert!(latency("service", "max") >= 1000.0, "{report}");
    assert!(latency("since_due", "p50") >= 400.0, "{report}");
    assert!(report["late_sends"].as_u64() >= Some(40), "{report}");
    assert_eq!(report["late_held_by"], "slots", "{report}");
    let held_back = report["held_back"]
        .as_array()
        .expect("it says whose wait it was");
    let slots = held_back.iter().find(|share| share["owner"] == "slots");
    assert!(
        slots.is_some_and(|share| share["ms"].as_f64() >= Some(900.0)),
        "{report}"
    );
}
