//! How long jobs wait: `--queue-timeout`, `--arrivals once`.

use serde_json::Value;

use crate::support::message;
use crate::support::program::{Counts, Output, Shaper};
use crate::support::server::{Gate, Server, Step};

/// The kinds of the errors, in the order of the input; empty where there is none.
fn kinds(done: &Output) -> Vec<String> {
    let kind = |line: &Value| {
        line["error"]["kind"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    done.results().iter().map(kind).collect()
}

#[test]
fn a_queue_timeout_of_nothing_is_now_or_never() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(4))
        .args(["--qps", "1/h", "--burst", "2", "--queue-timeout", "0s"])
        .with_results()
        .reporting()
        .ends(1);
    done.says("queue_timeout");
    assert_eq!(server.targets(), ["/0", "/1"]);
    assert_eq!(kinds(&done), ["", "", "queue_timeout", "queue_timeout"]);
    for late in &done.results()[2..] {
        assert_eq!(late["attempts"], 0);
        assert_eq!(late["latency_ms"], Value::Null);
        let told = message(late);
        assert!(told.contains("qps") && told.contains("0 s"), "{told}");
    }
    let counts = done.counts();
    assert_eq!((counts.ok, counts.failed), (2, 2));
}

#[test]
fn a_wait_that_is_too_long_is_told_with_both_numbers_before_it_is_waited() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(2))
        .args(["--limit", "1/1h window name=hourly"])
        .args(["--queue-timeout", "10m"])
        .with_results()
        .output();
    // That it ends at all says that the ten minutes were not waited.
    done.exits(1);
    assert_eq!(server.requests().len(), 1);
    let results = done.results();
    let told = message(&results[1]);
    for word in ["would wait 1h for hourly", "10m", "--queue-timeout"] {
        assert!(told.contains(word), "no {word} in {told}");
    }
}

#[test]
fn jobs_due_at_the_start_do_not_outwait_a_server_that_does_not_answer() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(10))
        .args(["-c", "1", "--arrivals", "once", "--queue-timeout", "3s"])
        .args(["--progress", "none"])
        .with_results()
        .reporting()
        .start();
    running.until_it_says("queue_timeout");
    gate.open();
    let done = running.wait();
    done.exits(1);
    assert_eq!(server.targets(), ["/0"]);
    let expected = Counts {
        ok: 1,
        failed: 9,
        ..Counts::default()
    };
    assert_eq!(done.counts(), expected);
}

#[test]
fn jobs_that_give_up_behind_a_pause_are_written_when_they_do() {
    let refusal = Step::status(429).header("Retry-After", "590");
    let server = Server::start([refusal]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(4))
        .args(["-c", "1", "--max-attempts", "1", "--arrivals", "once"])
        .args(["--queue-timeout", "1s", "--progress", "none"])
        .with_results()
        .reporting()
        .output();
    // Nothing but their own deadline ends this run within the test's patience.
    done.exits(1);
    assert_eq!(server.targets(), ["/0"]);
    let given_up = "queue_timeout";
    assert_eq!(kinds(&done), ["http", given_up, given_up, given_up]);
    assert_eq!(done.counts().failed, 4);
}
