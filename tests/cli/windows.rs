//! Sliding windows: never more than N in any window of the period, whatever else holds or happens.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::program::Shaper;
use crate::support::server::{Gate, Server, Step};
use crate::support::{Busy, at_once, bucket_holds, moments, most_in_any, statuses};

/// When a try was sent, when the head of its answer came, and what it cost.
struct Sent {
    at: Duration,
    answered: Duration,
    cost: u64,
}

/// Every try, in the order of sending.
fn sent(results: &[Value]) -> Vec<Sent> {
    let tries = results.iter().filter_map(|line| line["tries"].as_array());
    let mut sent: Vec<Sent> = tries
        .flatten()
        .map(|made| Sent {
            at: moment(made, "sent_us"),
            answered: moment(made, "first_byte_us"),
            cost: made["tokens"]["reserved"].as_u64().unwrap_or(1),
        })
        .collect();
    sent.sort_by_key(|made| made.at);
    sent
}

fn moment(made: &Value, name: &str) -> Duration {
    let micros = made[name].as_u64();
    Duration::from_micros(micros.unwrap_or_else(|| panic!("no {name} in {made}")))
}

/// The most that any window (t - period, t] holds, where a try stays until one period after `leaves`.
fn most(period: Duration, sent: &[Sent], leaves: impl Fn(&Sent) -> Duration) -> u64 {
    let inside = |now: usize| {
        let before = sent[..=now].iter();
        let still = before.filter(|made| leaves(made) + period > sent[now].at);
        still.map(|made| made.cost).sum()
    };
    (0..sent.len()).map(inside).max().unwrap_or(0)
}

#[test]
fn a_window_holds_after_a_pause_in_the_input_too() {
    let period = Duration::from_millis(300);
    let guards = [("", "0"), (" guard=0", "3ms"), (" guard=20ms", "0")];
    at_once(guards, |(guard, of_all)| {
        let server = Server::start([Step::ok()]);
        let mut running = Shaper::run()
            .args(["-", "--limit", &format!("5/300ms window{guard}")])
            .args(["--guard", of_all])
            .args(["-c", "40", "--format", "urls"])
            .stdin_stays_open()
            .with_results()
            .start();
        running.write(&server.list(3));
        running.until("three", || server.requests().len() == 3);
        running.pause(period / 2);
        running.write(&server.list(7));
        running.until("ten", || server.requests().len() == 10);
        running.pause(period * 3 / 2);
        running.write(&server.list(14));
        let done = running.wait();
        done.exits(0);
        let sent = moments(&done.results(), "sent_us");
        assert_eq!(sent.len(), 24);
        let most = most_in_any(period, &sent);
        assert!(most <= 5, "{most} sent within {period:?}{guard}: {sent:?}");
    });
}

#[test]
fn a_window_until_the_reply_counts_from_the_heads_of_answers() {
    let period = Duration::from_millis(300);
    let latency = Duration::from_millis(80);
    let server = Server::start([Step::ok().after(latency)]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(22))
        .args(["--limit", "5/300ms window at=reply", "-c", "40"])
        .with_results()
        .ends(0);
    let sent = sent(&done.results());
    assert_eq!(sent.len(), 22);
    let most = most(period, &sent, |made| made.answered);
    assert!(most <= 5, "{most} within {period:?} of their answers");
    // Four times five had to be answered and then to leave before the last two.
    let least = 4 * (period + latency);
    let span = sent[21].at.abs_diff(sent[0].at);
    assert!(span >= least, "22 sent within {span:?}");
}

#[test]
fn windows_and_a_bucket_hold_together() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(40))
        .args(["--window", "6/200ms", "--window", "15/800ms"])
        .args(["--qps", "40", "--burst", "4", "-c", "40"])
        .with_results()
        .ends(0);
    let results = done.results();
    let sent = moments(&results, "sent_us");
    assert_eq!(sent.len(), 40);
    for (count, period) in [(6, 200), (15, 800)] {
        let most = most_in_any(Duration::from_millis(period), &sent);
        assert!(most <= count, "{most} sent within {period} ms: {sent:?}");
    }
    bucket_holds(4, 40, &moments(&results, "granted_us"));
}

#[test]
fn a_window_of_tokens_holds_the_sum_of_their_costs() {
    let period = Duration::from_millis(250);
    let server = Server::start([Step::ok()]);
    let costs = [30, 70, 10, 100, 1, 99, 50, 50, 50, 20, 80, 100, 60, 5, 5, 5];
    let jobs = costs.map(|cost| {
        let url = server.url("/");
        format!("{{\"url\":\"{url}\",\"tokens\":{cost}}}\n")
    });
    for at in ["send", "reply"] {
        let done = Shaper::run()
            .jobs("jobs.jsonl", jobs.concat())
            .args(["--limit", &format!("tokens 100/250ms window at={at}")])
            .args(["-c", "none"])
            .with_results()
            .ends(0);
        let sent = sent(&done.results());
        let order: Vec<u64> = sent.iter().map(|made| made.cost).collect();
        assert_eq!(order.len(), costs.len());
        let most = match at {
            "send" => most(period, &sent, |made| made.at),
            _ => most(period, &sent, |made| made.answered),
        };
        assert!(most <= 100, "{most} tokens within {period:?}: {order:?}");
    }
}

#[test]
fn jobs_that_give_up_take_nothing_from_a_window() {
    let period = Duration::from_millis(400);
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .args(["-", "--window", "3/400ms", "--queue-timeout", "50ms"])
        .args(["-c", "40", "--format", "urls"])
        .stdin_stays_open()
        .with_results()
        .reporting()
        .start();
    running.write(&server.list(5));
    running.until_it_says("queue_timeout");
    running.until("three", || server.requests().len() == 3);
    // The guard keeps a window for 1 % longer at most.
    running.pause(period * 3 / 2);
    running.write(&server.list(5));
    running.until("three more", || server.requests().len() == 6);
    let done = running.wait();
    done.exits(1);
    let results = done.results();
    let (ok, failed) = ("ok", "failed");
    let three_of_five = [ok, ok, ok, failed, failed];
    assert_eq!(statuses(&results), [three_of_five, three_of_five].concat());
    for late in results.iter().filter(|line| line["status"] == failed) {
        assert_eq!(late["error"]["kind"], "queue_timeout", "{late}");
    }
    let most = most_in_any(period, &moments(&results, "sent_us"));
    assert!(most <= 3, "{most} sent within {period:?}");
    let counts = done.counts();
    assert_eq!((counts.ok, counts.failed), (6, 4));
}

#[test]
fn a_server_as_strict_as_the_window_refuses_none_on_a_busy_machine() {
    let jobs = "http://api.test/\n".repeat(600);
    let run = Shaper::run()
        .jobs("jobs.urls", jobs)
        .args(["--mock=limit=20/200ms window,latency=1ms"])
        .args(["--limit", "20/200ms window at=reply", "-c", "40"])
        .args(["--max-attempts", "1"])
        .with_results()
        .reporting();
    let busy = Busy::cores();
    let done = run.output();
    drop(busy);
    done.exits(0);
    let report = done.report();
    assert_eq!(report["statuses"].to_string(), r#"{"200":600}"#, "{done}");
}

#[test]
fn windows_of_a_millisecond_and_less_neither_hang_nor_keep_a_signal_from_being_heard() {
    for limit in [
        "10/1ms window guard=0s",
        "1/1us window",
        "5/1ms window at=reply",
        "5/1ms window-counter",
    ] {
        let server = Server::start([Step::ok()]);
        Shaper::run()
            .jobs("jobs.urls", server.list(40))
            .args(["--limit", limit, "-c", "10"])
            .with_results()
            .ends(0);
        assert_eq!(server.requests().len(), 40, "{limit}");
        let gate = Gate::default();
        let server = Server::start([Step::ok().behind(&gate)]);
        let mut running = Shaper::run()
            .jobs("jobs.urls", server.list(4))
            .args(["--limit", limit, "-c", "2"])
            .with_results()
            .start();
        running.until("the first request", || !server.requests().is_empty());
        running.signal(Signal::INT);
        running.until_it_says("Ctrl-C again to stop now");
        running.signal(Signal::INT);
        running.wait().exits(130);
    }
}
