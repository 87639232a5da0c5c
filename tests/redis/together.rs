//! Processes that learn together what a server takes, as their users see them: the program itself, a real store, the
//! modelled API.

use crate::redis::api::Api;
use crate::redis::processes::all_ok;
use crate::server::Server as Redis;
use crate::support::program::{Output, Running, Shaper};

/// Three processes that know nothing of the limits of this modelled API, and learn them together; the reports of all.
fn learning(api: &[&str], options: &[&str], jobs: usize) -> (Redis, Vec<Output>) {
    let redis = Redis::start();
    let api = Api::start(api);
    let urls = format!("http://{}/\n", api.address).repeat(jobs);
    let run = |_| {
        let shaper = Shaper::run().jobs("jobs.urls", &urls).with_results();
        let shaper = shaper.args(["--redis", &redis.url(), "--redis-key", "these"]);
        shaper
            .args(["-c", "10", "--adaptive"])
            .args(options)
            .reporting()
            .start()
    };
    let all: Vec<Running> = (0..3).map(run).collect();
    let all: Vec<Output> = all.into_iter().map(Running::wait).collect();
    (redis, all)
}

fn tries(all: &[Output]) -> u64 {
    all.iter()
        .map(|done| done.report()["tries"].as_u64().unwrap())
        .sum()
}

#[test]
fn three_processes_that_learn_one_limit_send_no_more_in_vain_than_one_does() {
    let (redis, all) = learning(&["--limit", "100/1s window", "--latency", "20ms"], &[], 300);
    for done in &all {
        all_ok(done, 300);
        let learnt = &done.report()["learnt"][0];
        assert_eq!(learnt["by_all"], true, "{learnt}");
        assert!(learnt["refused"].as_u64() > Some(0), "{learnt}");
        assert!(learnt["per_s"].as_f64() > Some(0.0), "{learnt}");
    }
    let tries = tries(&all);
    assert!(tries * 10 <= 900 * 11, "{tries} tries for 900 jobs");
    // One who only looks sees it, too.
    let seen = Shaper::plain()
        .args(["status", "--redis", &redis.url(), "--redis-key", "these"])
        .ends(0);
    let seen = String::from_utf8(seen.stdout).unwrap();
    for words in [
        "--adaptive requests",
        "/s (refused ",
        "tells 100, and not in which time",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    for (key, _) in redis.keys() {
        assert!(!key.contains("127.0.0.1"), "{key}");
    }
}

#[test]
fn what_headers_tell_is_kept_by_all_together_and_nobody_is_refused() {
    // As the modelled API tells resets like GitHub's.
    let github = ["--provider", "github"];
    let (_redis, all) = learning(
        &["--limit", "100/1s fixed", "--latency", "20ms"],
        &github,
        100,
    );
    for done in &all {
        all_ok(done, 100);
    }
    let tries = tries(&all);
    // Requests that overtake each other on the way may be.
    assert!(tries <= 310, "{tries} tries for 300 jobs");
}
