//! `--adaptive`: limits that are learnt from the answers of the server.

use serde_json::Value;

use crate::support::program::Shaper;
use crate::support::server::{Server, Step};
use crate::support::statuses;

#[test]
fn what_was_learnt_stands_in_the_report_beside_the_own_limits_and_is_kept_with_the_results() {
    // Two are taken, then one is refused; after the wait all are.
    let mut steps = vec![Step::ok(), Step::ok()];
    steps.push(Step::status(429).header("Retry-After", "1"));
    steps.push(Step::ok());
    let server = Server::start(steps);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(6))
        .args(["-c", "1", "--adaptive", "--qps", "1000"])
        .with_results()
        .reporting()
        .ends(0);
    assert_eq!(statuses(&done.results()), ["ok"; 6]);
    let learnt = &done.report()["learnt"];
    assert_eq!(
        learnt[0]["key"],
        format!("http://{}", server.host()),
        "{learnt}"
    );
    assert_eq!(learnt[0]["refused"], 1);
    assert!(learnt[0]["per_s"].as_f64().is_some_and(|pace| pace > 0.0));
    assert_eq!(learnt[0]["changes"].as_array().map(Vec::len), Some(1));
    assert!(
        learnt[0]["options"][0]
            .as_str()
            .is_some_and(|it| it.starts_with("--qps "))
    );

    let learnt = learnt.clone();
    let again = done.retold().output();
    let json = again.json();
    assert_eq!(json["learnt"], learnt);
    let again = again.again().args(["report", "out.jsonl"]).output();
    let text = again.text().replace('\u{a0}', " ");
    assert!(
        text.contains("LEARNT") && text.contains("own limits: --qps 1000"),
        "{text}"
    );
    assert!(text.contains("by hand: --qps "), "{text}");
}

#[test]
fn limits_that_the_server_tells_are_kept_and_named() {
    let level = |left: u64| {
        Step::ok()
            .header("RateLimit-Policy", "\"all\";q=3;w=1")
            .header("RateLimit", format!("\"all\";r={left};t=1"))
    };
    let server = Server::start([level(2), level(1), level(0), level(2)]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(4))
        .args(["-c", "1", "--adaptive"])
        .with_results()
        .reporting()
        .ends(0);
    let moments = server.moments();
    let wait = moments[3].saturating_sub(moments[2]);
    assert!(
        wait.as_millis() >= 990,
        "the fourth came {wait:?} after the third"
    );
    let learnt = &done.report()["learnt"][0];
    assert_eq!(learnt["told"][0]["limit"], 3, "{learnt}");
    assert_eq!(learnt["told"][0]["period_ms"], 1000.0);
    assert_eq!(learnt["options"][0], "--qps 3");
}

#[test]
fn without_the_option_nothing_is_learnt() {
    let server = Server::start([
        Step::ok().header("RateLimit", "\"all\";r=0;t=3600"),
        Step::ok(),
    ]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .args(["-c", "1"])
        .with_results()
        .reporting()
        .ends(0);
    assert_eq!(done.report()["learnt"], Value::Array(Vec::new()));
}

#[test]
fn what_is_learnt_is_kept_apart_by_the_key_of_the_run() {
    let server = Server::answering(|ask| {
        if ask.target == "/slow" && ask.nth_of_target == 0 {
            Step::status(429).header("Retry-After", "1")
        } else {
            Step::ok()
        }
    });
    let job = |tenant: &str| {
        let url = server.url(&format!("/{tenant}"));
        format!("{{\"url\":\"{url}\",\"headers\":{{\"x-tenant\":\"{tenant}\"}}}}\n")
    };
    Shaper::run()
        .jobs(
            "jobs.jsonl",
            ["slow", "fast"]
                .map(|tenant| job(tenant).repeat(4))
                .concat(),
        )
        .args(["-c", "1", "--adaptive", "--per", "header:x-tenant"])
        .with_results()
        .ends(0);
    let order: Vec<String> = server
        .requests()
        .into_iter()
        .map(|seen| seen.target)
        .collect();
    let fast = order.iter().rposition(|target| target == "/fast");
    assert_eq!(
        fast,
        Some(4),
        "they do not wait for the other key: {order:?}"
    );
    let done = Shaper::run()
        .jobs("jobs.jsonl", job("slow"))
        .args(["--per", "header:x-tenant"])
        .ends(2);
    done.says("or --adaptive");
}
