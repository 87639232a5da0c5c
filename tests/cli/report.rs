//! `shaper report`: what results tell once more, and that it is what their run has told.

use rustix::process::Signal;
use serde_json::{Map, Value, json};

use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Server, Step};

/// The report, as JSON on stdout, in the directory of what was done before.
fn again(done: Output) -> Shaper {
    done.again().args(["report", OUT, "--report", "json"])
}

/// The JSON on standard output.
#[track_caller]
fn told(done: &Output) -> Value {
    serde_json::from_slice(&done.stdout).unwrap_or_else(|why| panic!("{why}: {done}"))
}

/// Without what a run proves to the nanosecond and its results to the microsecond: which of several windows
/// that are equally full comes first, and how full a bucket was.
fn to_the_microsecond(mut report: Value) -> Map<String, Value> {
    let fields = report.as_object_mut().expect("it is an object");
    let limits = fields["proof"].as_array_mut().expect("it is a list");
    for limit in limits {
        let limit = limit.as_object_mut().expect("each is an object");
        limit.remove("granted");
        let most = limit["most"].as_object_mut().expect("it is told");
        for end in ["first", "last"] {
            most.remove(end);
        }
    }
    fields.clone()
}

/// Fails the test unless the report of a run and that of its results have the same keys and figures.
#[track_caller]
fn same(run: Value, results: Value) {
    let (run, mut results) = (to_the_microsecond(run), to_the_microsecond(results));
    assert!(results.remove("results").is_some(), "it names its results");
    let keys = |of: &Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&run), keys(&results));
    for (key, figure) in run {
        assert_eq!(
            figure, results[&key],
            "{key}, as the run told it and as its results do"
        );
    }
}

/// Runs it, and reports again: both are the same. Returns the report.
#[track_caller]
fn says_the_same(run: Shaper) -> Value {
    let done = run.args(["--quiet"]).with_results().reporting().output();
    let run = done.report();
    let results = again(done).output();
    results.exits(0);
    assert_eq!(results.stderr, "");
    let results = told(&results);
    same(run, results.clone());
    results
}

fn jobs(count: usize, fields: &str) -> String {
    let line = |nth| format!("{{\"url\":\"http://a.test/{nth}\"{fields}}}\n");
    (0..count).map(line).collect()
}

#[test]
fn a_run_held_by_a_rate_is_told_again_as_it_was() {
    let run = Shaper::run().jobs("jobs.jsonl", jobs(90, "")).args([
        "-c",
        "5",
        "--qps",
        "60",
        "--mock=latency=20ms",
    ]);
    let report = says_the_same(run);
    assert_eq!(report["binding"], "--qps 60", "{report}");
    assert_eq!(report["little"]["part"], "steady");
}

#[test]
fn a_run_held_by_its_slots_and_one_in_order_are_told_again_as_they_were() {
    for order in [&[][..], &["--ordered"]] {
        let run = Shaper::run()
            .jobs("jobs.jsonl", jobs(150, ""))
            .args(["-c", "4", "--mock=latency=exp:30ms"])
            .args(order);
        let report = says_the_same(run);
        assert_eq!(report["slots"], 4, "{report}");
    }
}

#[test]
fn refused_tries_and_their_retries_are_told_again_as_they_were() {
    let run = Shaper::run().jobs("jobs.jsonl", jobs(40, "")).args([
        "-c",
        "5",
        "--window",
        "40/1s",
        "--mock=latency=5ms,limit=20/1s window",
    ]);
    let report = says_the_same(run);
    assert!(report["statuses"]["429"].as_u64() > Some(0), "{report}");
    assert!(report["retries"].as_u64() > Some(0), "{report}");
    assert!(report["pauses"].as_u64() > Some(0), "{report}");
}

#[test]
fn units_and_keys_are_told_again_as_they_were() {
    let mut lines = jobs(30, r#","tokens":20,"key":"a""#);
    lines += &jobs(30, r#","input_tokens":5,"output_tokens":30,"key":"b""#);
    let run = || Shaper::run().jobs("jobs.jsonl", &lines);
    let both = run().args(["--tps", "3k", "-c", "9", "--mock=latency=9ms,tokens=12"]);
    let report = says_the_same(both);
    assert_eq!(report["tokens"]["used"], 60 * 12, "{report}");
    assert_ne!(report["worst_minute"], Value::Null);
    let apart = run()
        .args([
            "--limit",
            "output-tokens 2k/s window per=field:key",
            "--qps",
            "90",
        ])
        .args(["--mock=latency=9ms,tokens=12"]);
    let report = says_the_same(apart);
    assert_eq!(
        report["proof"].as_array().map(Vec::len),
        Some(2),
        "{report}"
    );
}

#[test]
fn what_failed_and_what_makes_no_job_are_told_again_as_they_were() {
    let lines = jobs(30, r#","tokens":1"#) + "no job\n" + &jobs(3, r#","tokens":9"#);
    let run = Shaper::run()
        .jobs("jobs.jsonl", lines)
        .args(["--tps", "20", "--token-burst", "4", "--queue-timeout", "1s"])
        .args([
            "--max-attempts",
            "2",
            "--backoff",
            "1ms..2ms",
            "--seed",
            "3",
        ])
        .args(["--mock=latency=2ms,fail=500:40%"]);
    let report = says_the_same(run);
    assert_eq!(report["failures"]["invalid"], 1, "{report}");
    assert_eq!(report["failures"]["limit"], 3, "{report}");
    let gone = Shaper::run()
        .jobs("jobs.urls", "http://127.0.0.1:1/\n".repeat(3))
        .args(["--max-attempts", "2", "--backoff", "1ms..2ms"]);
    let report = says_the_same(gone);
    assert_eq!(report["try_failures"]["connect"], 6, "{report}");
    let bad = Shaper::run().jobs("jobs.jsonl", "no job\n{}\n");
    let report = says_the_same(bad);
    assert_eq!(report["verdict"], "nothing was sent", "{report}");
    let empty = Shaper::run().jobs("jobs.urls", "").args(["--allow-empty"]);
    let report = says_the_same(empty);
    assert_eq!(report["counts"]["read"], 0, "{report}");
}

/// Answers what is `good`, and asks for a long pause after anything else.
fn moody() -> Server {
    Server::answering(|ask| {
        if ask.target.contains("good") {
            Step::ok()
        } else {
            Step::status(503).header("retry-after", "60")
        }
    })
}

#[test]
fn an_interrupted_run_is_told_again_with_what_it_sent_for_jobs_without_a_result() {
    let server = moody();
    let list = ["/good/1", "/good/2", "/bad/1", "/good/3"].map(|target| server.url(target) + "\n");
    let mut running = Shaper::run()
        .jobs("jobs.urls", list.concat())
        .args(["--qps", "100", "-c", "1", "--quiet"])
        .with_results()
        .reporting()
        .start();
    running.until("three requests", || server.requests().len() == 3);
    running.pause(std::time::Duration::from_millis(50));
    running.signal(Signal::INT);
    let done = running.wait();
    done.exits(130);
    let run = done.report();
    let results = again(done).output();
    results.exits(0);
    let results = told(&results);
    assert_eq!(
        results["statuses"],
        json!({ "200": 2, "503": 1 }),
        "{results}"
    );
    assert_eq!(results["ended"], "interrupted");
    same(run, results);
}
