//! What jobs cost of limits on units: reserved before, settled by the answer.

use std::time::Duration;

use serde_json::Value;

use crate::support::program::Shaper;
use crate::support::server::{Server, Step};
use crate::support::{CLOSED, gaps, moments, statuses};

/// Reserved and used, of all results.
fn tokens(results: &[Value]) -> (u64, u64) {
    let sum = |name: &str| {
        let each = results.iter().map(|line| line["tokens"][name].as_u64());
        each.map(|units| units.expect("it was sent")).sum()
    };
    (sum("reserved"), sum("used"))
}

/// Jobs of so many tokens each: `/0`, `/1` and so on.
fn jobs(server: &Server, tokens: &[u64]) -> String {
    let job = |(n, tokens): (usize, &u64)| {
        let url = server.url(&format!("/{n}"));
        format!("{{\"url\":\"{url}\",\"tokens\":{tokens}}}\n")
    };
    tokens.iter().enumerate().map(job).collect()
}

#[test]
fn what_answers_did_not_use_is_given_back() {
    let bodies = [
        (
            r#"{"usage":{"total_tokens":20}}"#,
            Some("/usage/total_tokens"),
        ),
        (r#"{"cost":[{"n":20}]}"#, Some("/cost/0/n")),
        (
            r#"{"usage":{"prompt_tokens":14,"completion_tokens":6,"total_tokens":20}}"#,
            None,
        ),
        (r#"{"usage":{"input_tokens":14,"output_tokens":6}}"#, None),
    ];
    for (body, pointer) in bodies {
        let json = "application/json";
        let server = Server::start([Step::ok().header("content-type", json).body(body)]);
        let mut run = Shaper::run()
            .case("41-usage.jsonl", &server)
            .args(["--tpm", "600", "-c", "1"]);
        if let Some(pointer) = pointer {
            run = run.args(["--usage", pointer]);
        }
        // Without what is given back it takes over two minutes, longer than the test's patience.
        let done = run.with_results().reporting().ends(0);
        assert_eq!(server.requests().len(), 20);
        assert_eq!(done.counts().ok, 20);
        assert_eq!(tokens(&done.results()), (2000, 400), "{body}");
    }
}

#[test]
fn a_job_that_does_not_say_its_tokens_is_estimated_by_text_and_most_output() {
    let server = Server::start([Step::ok()]);
    let url = server.url("/");
    let body = r#"{"max_tokens":90,"messages":[{"role":"user","content":"12345678"}]}"#;
    let job = format!("{{\"url\":\"{url}\",\"body\":{body}}}\n");
    let run = || Shaper::run().jobs("jobs.jsonl", &job).with_results();
    for how in [&[][..], &["--estimate", "chars"]] {
        let done = run().args(["--tpm", "1000"]).args(how).ends(0);
        let (reserved, _) = tokens(&done.results());
        assert!((92..100).contains(&reserved), "{reserved}: {done}");
    }
    let done = run().ends(0);
    assert_eq!(done.results()[0]["tokens"], Value::Null, "{done}");
}

#[test]
fn jobs_with_nothing_to_estimate_are_a_usage_error_at_the_first() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .args(["--tps", "1000"])
        .with_results()
        .ends(2);
    done.says("jobs.urls:1").says("tokens").says("mend:");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_was_reserved_is_kept_where_nothing_is_refunded() {
    let server = Server::start([Step::ok().body(r#"{"usage":{"total_tokens":20}}"#)]);
    let done = Shaper::run()
        .jobs("jobs.jsonl", jobs(&server, &[100; 4]))
        .args(["--limit", "tokens 200/s burst=100", "--refund", "never"])
        .args(["-c", "1"])
        .with_results()
        .output();
    done.exits(0);
    for gap in gaps(&moments(&done.results(), "granted_us")) {
        let least = Duration::from_millis(500);
        assert!(gap >= least, "100 of 200/s after {gap:?}: {done}");
    }
}

#[test]
fn what_an_answer_used_beyond_its_reserve_is_owed() {
    let server = Server::start([Step::ok().body(r#"{"usage":{"total_tokens":500}}"#)]);
    let done = Shaper::run()
        .jobs("jobs.jsonl", jobs(&server, &[100; 2]))
        .args(["--limit", "tokens 400/s burst=400", "-c", "1"])
        .with_results()
        .output();
    done.exits(0);
    let results = done.results();
    assert_eq!(tokens(&results), (200, 1000));
    // Settled, the bucket is at 0 at most, however slow the answer was: it was full before.
    let settled = moments(&results[..1], "done_us")[0];
    let granted = moments(&results[1..], "granted_us")[0];
    let waited = gaps(&[settled, granted])[0];
    let least = Duration::from_millis(250);
    assert!(waited >= least, "the debt was paid in {waited:?}: {done}");
}

#[test]
fn units_of_what_was_never_sent_or_refused_are_given_back() {
    // Each try takes the whole bucket, which does not fill again within the test's patience.
    let limit = ["--limit", "tokens 100/30d", "-c", "1"];
    let server = Server::start([Step::ok()]);
    let never = format!("{{\"url\":\"http://{CLOSED}/\",\"tokens\":100}}\n");
    let done = Shaper::run()
        .jobs("jobs.jsonl", never + &jobs(&server, &[100]))
        .args(limit)
        .args(["--max-attempts", "1"])
        .with_results()
        .ends(1);
    let results = done.results();
    assert_eq!(statuses(&results), ["failed", "ok"]);
    assert_eq!(tokens(&results), (200, 100));
    let refused = Step::status(429).header("Retry-After", "0");
    let server = Server::start([refused, Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.jsonl", jobs(&server, &[100]))
        .args(limit)
        .args(["--max-attempts", "2", "--backoff", "1ms..1ms"])
        .with_results()
        .ends(0);
    let results = done.results();
    assert_eq!(results[0]["attempts"], 2);
    assert_eq!(tokens(&results), (200, 100));
}

#[test]
fn a_job_too_heavy_for_the_limit_may_wait_and_leaves_a_debt() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("38-heavy.jsonl", &server)
        .args(["--limit", "tokens 10k/s burst=1000", "--oversize", "wait"])
        .args(["-c", "1"])
        .with_results()
        .ends(0);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "ok", "ok"]);
    assert_eq!(tokens(&results).0, 5002);
    // It goes when the bucket holds its 1000, and owes the other 4000.
    let least = Duration::from_micros(400_100);
    let gap = gaps(&moments(&results, "granted_us"))[1];
    assert!(gap >= least, "the debt was paid in {gap:?}: {done}");
    let told = results[2]["wait_ms"].to_string();
    assert!(told.contains("bucket"), "it waited for the bucket: {told}");
}

#[test]
fn a_job_too_heavy_for_one_of_two_limits_holds_back_only_what_that_one_counts() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("38-heavy.jsonl", &server)
        .args([
            "--limit",
            "tokens 1000/30d name=month",
            "--oversize",
            "fail",
        ])
        .args(["--qps", "1000"])
        .with_results()
        .reporting()
        .ends(1);
    assert_eq!(server.targets(), ["/a", "/c"]);
    assert_eq!(statuses(&done.results()), ["ok", "failed", "ok"]);
    assert_eq!(done.counts().failed, 1);
}
