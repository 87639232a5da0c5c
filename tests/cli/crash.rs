//! The program is killed, terminated, out of room, left by its server: going on ends with exactly one result
//! for each job, and hardly anything is sent twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Server, Step};
use crate::support::{at_once, moments, most_in_any, random, rounds, statuses};

/// Slots of these runs.
const SLOTS: usize = 8;

fn going_on(shaper: Shaper) -> Shaper {
    let slots = SLOTS.to_string();
    shaper
        .args([
            "run",
            "jobs.urls",
            "-c",
            &slots,
            "--resume",
            "--body",
            "keep",
        ])
        .with_results()
}

/// Every job has exactly one result, which is `ok`, and no line is broken.
#[track_caller]
fn one_result_each(done: &Output, jobs: usize) {
    let results = done.results();
    let mut lines: BTreeMap<u64, usize> = BTreeMap::new();
    for line in &results {
        *lines
            .entry(line["seq"].as_u64().expect("it has one"))
            .or_default() += 1;
    }
    let once = lines.values().all(|&count| count == 1);
    assert!(once && lines.len() == jobs, "{lines:?} of {done}");
    assert_eq!(statuses(&results), vec!["ok"; jobs]);
}

/// The lines of the file as they stand there.
fn is_in_order(done: &Output) -> bool {
    let text = done.bytes(OUT);
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(serde_json::from_str::<Value>);
    lines
        .map(|line| line.expect("it is whole")["seq"].as_u64())
        .is_sorted()
}

#[test]
fn after_kills_at_any_moment_each_job_has_one_result_and_few_were_sent_twice() {
    for round in 0..rounds(3) {
        let jobs = 300;
        // Some answers are long, so that a kill may come in the middle of a write.
        let server = Server::answering(move |ask| {
            let length = if ask.nth % 7 == 0 { 200_000 } else { 100 };
            let after = Duration::from_millis(random(ask.nth as u64, 12));
            Step::ok().body("x".repeat(length)).after(after)
        });
        // Every other round in the order of the input.
        let order: &[&str] = if round % 2 == 1 { &["--ordered"] } else { &[] };
        let first = Shaper::plain().file("jobs.urls", server.list(jobs));
        let mut shaper = going_on(first).args(order);
        let mut kills = 0;
        let done = loop {
            let mut running = shaper.start();
            let after = 40 + random(round * 31 + kills as u64, 120);
            if kills == 6 || !running.lives_for(Duration::from_millis(after)) {
                break running.wait();
            }
            running.signal(Signal::KILL);
            kills += 1;
            shaper = going_on(running.wait().again()).args(order);
        };
        done.exits(0);
        one_result_each(&done, jobs);
        assert!(order.is_empty() || is_in_order(&done), "{done}");
        let sent = server.requests().len();
        assert!(
            sent <= jobs + kills * SLOTS,
            "{sent} requests for {jobs} jobs and {kills} kills"
        );
    }
}

#[test]
fn after_sigterm_nothing_is_sent_twice() {
    for round in 0..rounds(3) {
        let jobs = 120;
        let server = Server::start([Step::ok().after(Duration::from_millis(5))]);
        let mut shaper = going_on(Shaper::plain().file("jobs.urls", server.list(jobs)));
        let mut stops = 0;
        let done = loop {
            let mut running = shaper.start();
            let after = 30 + random(round * 17 + stops, 60);
            if stops == 4 || !running.lives_for(Duration::from_millis(after)) {
                break running.wait();
            }
            running.signal(Signal::TERM);
            stops += 1;
            shaper = going_on(running.wait().again());
        };
        done.exits(0);
        one_result_each(&done, jobs);
        assert_eq!(server.requests().len(), jobs);
    }
}

#[test]
fn after_a_full_disk_what_is_missing_is_sent_and_nothing_else_but_what_was_in_flight() {
    let jobs = 200;
    let server = Server::start([Step::ok().body("x".repeat(500))]);
    let full = going_on(Shaper::plain().file("jobs.urls", server.list(jobs)))
        .files_end_after(64)
        .ends(3);
    full.says("out.jsonl: File too large");
    let lines = full.results().len();
    assert!(lines > 0 && lines < jobs, "{lines} lines: {full}");
    assert!(server.requests().len() <= lines + 2 * SLOTS);
    let done = going_on(full.again()).ends(0);
    one_result_each(&done, jobs);
    assert!(server.requests().len() <= jobs + 2 * SLOTS);
}

#[test]
fn when_the_server_dies_and_comes_back_the_failed_jobs_run_again() {
    let jobs = 60;
    let down = Arc::new(AtomicBool::new(false));
    let dies = Arc::clone(&down);
    let server = Server::answering(move |ask| {
        // From then on nobody has an answer any more, however late it dies.
        if ask.nth < 25 {
            Step::ok().after(Duration::from_millis(2))
        } else {
            dies.store(true, Ordering::Relaxed);
            Step::hang()
        }
    });
    let address = server.address();
    let mut running = going_on(Shaper::plain().file("jobs.urls", server.list(jobs)))
        .args(["--max-attempts", "2", "--backoff", "1ms..2ms"])
        .start();
    running.until("some requests", || down.load(Ordering::Relaxed));
    drop(server);
    let broken = running.wait();
    broken.exits(1);
    assert_eq!(broken.results().len(), jobs);
    let failed = |done: &Output| {
        let results = done.results();
        statuses(&results)
            .iter()
            .filter(|it| **it == "failed")
            .count()
    };
    let lost = failed(&broken);
    assert!(lost > 0, "{broken}");
    let server = Server::answering_at(address, |_| Step::ok());
    let back = going_on(broken.again()).args(["--retry-failed"]).ends(0);
    assert_eq!(server.requests().len(), lost);
    assert_eq!(back.results().len(), jobs + lost);
}

#[test]
fn what_was_sent_for_jobs_without_a_result_counts_after_the_run() {
    let up = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&up);
    let server = Server::answering(move |_| {
        Step::status(if answers.load(Ordering::Relaxed) {
            200
        } else {
            429
        })
    });
    let limited = |shaper: Shaper| going_on(shaper).args(["--window", "4/700ms"]);
    let mut running = limited(Shaper::plain().file("jobs.urls", server.list(6)))
        .args(["--backoff", "50s..50s", "--jitter", "none"])
        .start();
    running.until("four requests", || server.requests().len() == 4);
    running.pause(Duration::from_millis(30));
    running.signal(Signal::TERM);
    let stopped = running.wait();
    stopped.exits(143);
    assert_eq!(stopped.results().len(), 0);
    up.store(true, Ordering::Relaxed);
    let done = limited(stopped.again()).ends(0);
    one_result_each(&done, 6);
    // The file and what stands beside it tell of all that was sent, and it kept the limit.
    let proved = done.again().args(["verify", OUT]).ends(0);
    let page = proved.text();
    let sent = server.requests().len();
    assert!(page.contains(&format!("6 results, {sent} sends")), "{page}");
    assert!(page.contains("not seen: nothing"), "{page}");
}

#[test]
fn no_window_is_exceeded_across_a_kill() {
    let (count, period) = (6, Duration::from_millis(700));
    at_once(0..rounds(3), |round| {
        let server = Server::start([Step::ok().after(Duration::from_millis(3))]);
        let limited = |shaper: Shaper| {
            going_on(shaper).args(["--window", "6/700ms", "--qps", "40", "--burst", "5"])
        };
        let mut shaper = limited(Shaper::plain().file("jobs.urls", server.list(40)));
        for kill in 0..2 {
            let before = server.requests().len();
            let mut running = shaper.start();
            // One that has not begun leaves nothing to be told.
            running.until("a request", || server.requests().len() > before);
            running.pause(Duration::from_millis(random(round * 13 + kill, 700)));
            running.signal(Signal::KILL);
            shaper = limited(running.wait().again());
        }
        let done = shaper.ends(0);
        one_result_each(&done, 40);
        // At the server nothing is lost: those that were in flight count, too.
        let results = done.results();
        let most = most_in_any(period, &moments(&results, "sent_us"));
        assert!(most <= count, "{most} in {period:?}");
        let proved = done.again().args(["verify", OUT]).ends(0);
        let page = proved.text();
        assert!(
            page.contains("a run before the last was killed: up to"),
            "{page}"
        );
    });
}
