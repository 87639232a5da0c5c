//! Several processes that share limits, as their users see them: the program itself, a real store, a server that counts.

use std::net::TcpListener;
use std::time::Duration;

use rustix::process::Signal;

use crate::server::Server as Redis;
use crate::support::program::{OUT, Output, Running, Shaper};
use crate::support::server::{Server as Api, Step};
use crate::support::{CLOSED, moments, statuses};

/// What is said once when the store goes, and once when it is back.
const GONE: &str = "nothing is sent until it is back";
const BACK: &str = "the store is back";

/// `shaper run` with so many jobs for this server, which shares what it is told to through this store.
fn sharing(api: &Api, jobs: usize, url: &str) -> Shaper {
    with_store(api, jobs, url).args(["--redis-key", "these"])
}

fn with_store(api: &Api, jobs: usize, url: &str) -> Shaper {
    Shaper::run()
        .jobs("jobs.urls", api.list(jobs))
        .args(["--redis", url])
        .with_results()
}

fn fast() -> Api {
    Api::start([Step::ok()])
}

/// All of them were sent, each once, and are `ok`.
#[track_caller]
pub(super) fn all_ok(done: &Output, jobs: usize) {
    done.exits(0);
    assert_eq!(statuses(&done.results()), vec!["ok"; jobs], "{done}");
}

/// Says each of these once.
#[track_caller]
fn says_once(done: &Output, words: &[&str]) {
    for words in words {
        assert_eq!(done.stderr.matches(words).count(), 1, "{words:?}: {done}");
    }
}

fn until_sent(running: &mut Running, api: &Api, requests: usize) {
    running.until("some requests", || api.requests().len() >= requests);
}

#[test]
fn without_the_store_at_the_start_nothing_is_sent_and_no_file_is_made() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    for (place, why) in [
        (CLOSED, "connection refused"),
        (&silent, "no answer within"),
    ] {
        let api = fast();
        let url = format!("redis://{place}/0");
        let done = sharing(&api, 5, &url)
            .args(["--qps", "5", "--store-timeout", "300ms"])
            .ends(4);
        done.says(place).says(why);
        assert_eq!(done.files(), ["jobs.urls"], "{done}");
        assert_eq!(api.requests().len(), 0);
    }
}

#[test]
fn without_the_store_a_run_that_may_keeps_its_limits_alone() {
    let api = fast();
    let done = sharing(&api, 12, &format!("redis://{CLOSED}/0"))
        .args(["--qps", "20", "--on-store-fail", "local"])
        .output();
    all_ok(&done, 12);
    says_once(&done, &["warning:", "keeps the limits by itself"]);
    let sent = moments(&done.results(), "granted_us");
    assert!(
        sent[11].abs_diff(sent[0]) >= Duration::from_millis(540),
        "{sent:?}"
    );
}

#[test]
fn when_the_store_dies_and_comes_back_every_job_is_sent_once_and_both_are_told_once() {
    let mut redis = Redis::start();
    let api = fast();
    let run = |_| {
        sharing(&api, 30, &redis.url())
            .args(["--qps", "40"])
            .start()
    };
    let mut both: Vec<Running> = (0..2).map(run).collect();
    until_sent(&mut both[0], &api, 8);
    redis.kill();
    for one in &mut both {
        one.until_it_says(GONE);
    }
    redis.restart();
    for one in both {
        let done = one.wait();
        all_ok(&done, 30);
        says_once(&done, &[GONE, BACK, "has lost what it held"]);
    }
    assert_eq!(api.requests().len(), 60);
}

#[test]
fn processes_that_went_on_alone_are_together_again_when_the_store_is_back_and_never_send_for_two() {
    let redis = Redis::start();
    let api = fast();
    let run = |_| {
        sharing(&api, 60, &redis.url())
            .args(["--window", "20/1s", "--on-store-fail", "local"])
            .args(["--store-timeout", "200ms"])
            .start()
    };
    let mut all: Vec<Running> = (0..3).map(run).collect();
    until_sent(&mut all[0], &api, 30);
    redis.freeze();
    for one in &mut all {
        one.until_it_says("keeps 1/3 of each limit by itself");
    }
    redis.thaw();
    let mut sent = Vec::new();
    for one in all {
        let done = one.wait();
        all_ok(&done, 60);
        says_once(&done, &["warning:", BACK]);
        sent.extend(moments(&done.results(), "sent_us"));
    }
    sent.sort_unstable();
    // The parts of two that are alone yet, and what is left of the limit to one that is back.
    for pair in sent.windows(20 + 2 * 6 + 1) {
        let span = pair[32].abs_diff(pair[0]);
        assert!(span >= Duration::from_secs(1), "{span:?}");
    }
}

#[test]
fn a_store_that_dies_for_good_ends_the_run_with_whole_results_and_it_can_go_on_later() {
    let mut redis = Redis::start();
    let api = fast();
    let options = ["--qps", "40", "--store-grace", "300ms", "--resume"];
    let mut run = sharing(&api, 30, &redis.url()).args(options).start();
    until_sent(&mut run, &api, 5);
    redis.kill();
    let broken = run.wait();
    broken.exits(4).says("the store of shared limits");
    let url = redis.url();
    broken.says(&url);
    let before = broken.results().len();
    assert_eq!(api.requests().len(), before, "{broken}");
    assert!((5..30).contains(&before), "{broken}");
    redis.restart();
    let args = ["run", "jobs.urls", "--redis", &url, "--redis-key", "these"];
    let done = broken.again().args(args).with_results().args(options);
    all_ok(&done.output(), 30);
    assert_eq!(api.requests().len(), 30);
}

#[test]
fn a_store_that_stands_still_is_waited_for_and_nothing_counts_twice() {
    let redis = Redis::start();
    let api = fast();
    let mut run = sharing(&api, 20, &redis.url())
        .args(["--limit", "25/h window", "--store-timeout", "200ms"])
        .args(["-c", "1"])
        .start();
    until_sent(&mut run, &api, 1);
    redis.freeze();
    run.pause(Duration::from_millis(300));
    redis.thaw();
    let done = run.wait();
    all_ok(&done, 20);
    assert_eq!(api.requests().len(), 20);
}

#[test]
fn a_replica_is_waited_for_and_told_in_words_for_people() {
    let redis = Redis::start();
    let api = fast();
    let mut run = sharing(&api, 25, &redis.url())
        .args(["--qps", "40"])
        .start();
    until_sent(&mut run, &api, 5);
    redis.says::<()>(&["REPLICAOF", "127.0.0.1", "1"]);
    run.until_it_says(GONE);
    redis.says::<()>(&["REPLICAOF", "NO", "ONE"]);
    let done = run.wait();
    all_ok(&done, 25);
    says_once(&done, &["READONLY", BACK]);
    done.never_says("script:");
    assert_eq!(api.requests().len(), 25);
}

#[test]
fn a_flush_of_scripts_is_not_seen_and_one_of_everything_is_told() {
    let redis = Redis::start();
    let api = fast();
    let mut run = sharing(&api, 40, &redis.url())
        .args(["--qps", "40"])
        .start();
    until_sent(&mut run, &api, 5);
    redis.says::<()>(&["SCRIPT", "FLUSH"]);
    until_sent(&mut run, &api, 15);
    assert!(!run.said().contains("warning"), "{}", run.said());
    redis.says::<()>(&["FLUSHALL"]);
    let done = run.wait();
    all_ok(&done, 40);
    says_once(&done, &["warning:", "has lost what it held"]);
    done.never_says(GONE);
}

#[test]
fn every_key_of_a_run_ends_by_itself() {
    let redis = Redis::start();
    let api = fast();
    let line = |n: i32| format!(r#"{{"url":"{}","tokens":100}}"#, api.url(&format!("/{n}")));
    let jobs: Vec<String> = (0..40).map(line).collect();
    let mut run = Shaper::run()
        .jobs("jobs.jsonl", jobs.join("\n"))
        .args([
            "--redis",
            &redis.url(),
            "--redis-key",
            "these",
            "--qps",
            "40",
            "-c",
            "9",
        ])
        .args([
            "--window",
            "30/2s",
            "--tpm",
            "60000",
            "--token-burst",
            "6000",
        ])
        .args([
            "--limit",
            "500/1s window-counter",
            "--limit",
            "500/1s fixed",
        ])
        .args(["--shared-concurrency", "5"])
        .with_results()
        .start();
    until_sent(&mut run, &api, 20);
    let keys = redis.keys();
    assert!(keys.len() >= 10, "{keys:?}");
    let of_us = |key: &(String, i64)| key.0.starts_with("shaper:{these}:");
    assert!(keys.iter().all(of_us), "{keys:?}");
    // A minute, a margin, and what a try may take.
    // One of them may have ended since the others were told.
    let ends = |key: &(String, i64)| key.1 == -2 || (1..140_000).contains(&key.1);
    assert!(keys.iter().all(ends), "{keys:?}");
    all_ok(&run.wait(), 40);
}

#[test]
fn other_limits_under_the_same_name_are_refused_with_both() {
    let redis = Redis::start();
    let api = fast();
    let mut first = sharing(&api, 30, &redis.url())
        .args(["--qps", "20"])
        .start();
    until_sent(&mut first, &api, 1);
    let other = sharing(&api, 30, &redis.url())
        .args(["--qps", "21"])
        .ends(2);
    other.says("have others: 20/s bucket");
    other.says("here: 21/s bucket").says("--redis-key");
    assert_eq!(other.files(), ["jobs.urls"], "{other}");
    all_ok(&first.wait(), 30);
    assert_eq!(api.requests().len(), 30);
}

#[test]
fn a_password_is_never_written_anywhere() {
    let mut redis = Redis::with(&["--requirepass", "open-sesame"]);
    let api = fast();
    let url = redis.url().replace("redis://", "redis://:open-sesame@");
    let told = |done: &Output| {
        let files = done.files().into_iter();
        let mut all: Vec<u8> = files.flat_map(|name| done.bytes(&name)).collect();
        all.extend(&done.stdout);
        all.extend(done.stderr.as_bytes());
        let all = String::from_utf8_lossy(&all).into_owned();
        assert!(!all.contains("sesame"), "{all}");
    };
    let options = ["--qps", "20", "-vv", "--store-grace", "200ms"];
    let mut run = sharing(&api, 30, &url).args(options).reporting().start();
    until_sent(&mut run, &api, 3);
    redis.kill();
    let done = run.wait();
    done.exits(4);
    assert!(done.files().contains(&format!("{OUT}.run")), "{done}");
    told(&done);
    redis.restart();
    let wrong = url.replace("open-", "closed-");
    for wrong in [&wrong, &redis.url()] {
        let done = sharing(&api, 3, wrong).args(options).ends(4);
        done.says("redis://USER:PASSWORD@HOST");
        told(&done);
    }
    let torn = sharing(&api, 3, "redis:/open-sesame@h")
        .args(options)
        .output();
    told(torn.exits(2));
}

#[test]
fn where_nothing_is_named_a_job_of_another_account_ends_the_run() {
    let redis = Redis::start();
    let api = fast();
    let line = |key: &str| {
        let url = api.url("/");
        format!("{{\"url\":\"{url}\",\"headers\":{{\"authorization\":\"Bearer {key}\"}}}}\n")
    };
    let jobs = [line("one"), line("one"), line("two"), line("one")].concat();
    let run = || {
        let shaper = Shaper::run().jobs("jobs.jsonl", &jobs).with_results();
        shaper.args(["--redis", &redis.url(), "--qps", "50"])
    };
    let done = run().ends(2);
    done.says("jobs.jsonl:3").says("--redis-key NAME");
    let named = run().args(["--redis-key", "both"]).output();
    all_ok(&named, 4);
}

#[test]
fn ctrl_c_while_the_store_is_away_ends_the_run_with_what_it_has() {
    let mut redis = Redis::start();
    let api = fast();
    let mut run = sharing(&api, 40, &redis.url())
        .args(["--qps", "40", "--store-grace", "1h"])
        .start();
    until_sent(&mut run, &api, 5);
    redis.kill();
    run.until_it_says(GONE);
    run.signal(Signal::INT);
    let done = run.wait();
    done.exits(130);
    assert_eq!(done.results().len(), api.requests().len(), "{done}");
}

#[test]
fn a_store_with_nothing_to_share_is_refused() {
    let api = fast();
    let done = sharing(&api, 3, "redis://127.0.0.1:1").ends(2);
    done.says("nothing to share").says("--qps");
    done.says("--adaptive");
    assert_eq!(api.requests().len(), 0);
}

#[test]
fn an_empty_input_that_is_allowed_needs_no_name() {
    let redis = Redis::start();
    let done = Shaper::run()
        .jobs("jobs.urls", "")
        .args(["--allow-empty", "--qps", "5", "--redis", &redis.url()])
        .with_results()
        .output();
    all_ok(&done, 0);
}

#[test]
fn a_server_that_is_not_there_costs_those_who_share_nothing() {
    let redis = Redis::start();
    let api = fast();
    let options = ["--limit", "20/h window"];
    let dead = Shaper::run()
        .jobs("jobs.urls", format!("http://{CLOSED}/\n").repeat(15))
        .args(["--redis", &redis.url(), "--redis-key", "these"])
        .args(["--max-attempts", "1"])
        .args(options)
        .with_results()
        .ends(1);
    assert_eq!(statuses(&dead.results()), ["failed"; 15]);
    all_ok(&sharing(&api, 20, &redis.url()).args(options).output(), 20);
}

#[test]
fn slots_of_a_process_that_was_killed_are_free_again_when_their_leases_have_ended() {
    let redis = Redis::start();
    let (hangs, api) = (Api::start([Step::hang()]), fast());
    let options = ["--shared-concurrency", "2"];
    let mut killed = sharing(&hangs, 5, &redis.url()).args(options).start();
    until_sent(&mut killed, &hangs, 2);
    let waits = sharing(&api, 1, &redis.url()).args(options).start();
    killed.signal(Signal::KILL);
    let done = waits.wait();
    all_ok(&done, 1);
    // A slot that is held lasts for 15 s; this one began with the run that was killed, which had to be seen first.
    assert!(done.took >= Duration::from_secs(10), "{:?}", done.took);
    assert_eq!(hangs.requests().len(), 2);
}

#[test]
fn commands_that_send_nothing_do_not_mind_that_a_store_is_named() {
    let api = fast();
    for args in [
        &["plan", "jobs.urls", "--qps", "5"][..],
        &["check", "jobs.urls"],
        &["compare", "--jobs", "5", "--discipline", "qps"],
    ] {
        Shaper::plain()
            .file("jobs.urls", api.list(3))
            .env("SHAPER_REDIS", "redis://127.0.0.1:1")
            .args(args)
            .ends(0);
    }
    assert_eq!(api.requests().len(), 0);
}

#[test]
fn the_modelled_api_shares_limits_as_a_server_does() {
    let redis = Redis::start();
    let done = Shaper::run()
        .jobs("jobs.urls", "http://api.test/\n".repeat(6))
        .args(["--mock", "--window", "4/500ms", "--redis", &redis.url()])
        .with_results()
        .output();
    all_ok(&done, 6);
    let sent = moments(&done.results(), "sent_us");
    assert!(
        sent[4].abs_diff(sent[0]) >= Duration::from_millis(500),
        "{sent:?}"
    );
}

#[test]
fn going_on_counts_what_the_store_knows_once_and_forgets_none_of_it() {
    let redis = Redis::start();
    let api = fast();
    let limited = ["--limit", "14/3s window at=reply", "--resume"];
    let args = ["run", "jobs.urls", "--redis-key", "these", "--redis"];
    let mut run = sharing(&api, 20, &redis.url()).args(limited).start();
    until_sent(&mut run, &api, 14);
    run.pause(Duration::from_millis(50));
    run.signal(Signal::INT);
    let stopped = run.wait();
    stopped.exits(130);
    assert_eq!(stopped.results().len(), 14, "{stopped}");
    let first = moments(&stopped.results(), "sent_us")[0];
    let done = stopped.again().args(args).args([redis.url()]).args(limited);
    let done = done.with_results().output();
    all_ok(&done, 20);
    let sent = moments(&done.results(), "sent_us");
    let gap = sent[14].abs_diff(first);
    // Counted twice it would be six seconds: the others leave the window one period after they came, all at once.
    assert!(gap >= Duration::from_secs(3), "{gap:?}");
    let proved = done
        .again()
        .args(["verify", OUT, "--limit", "14/3s window at=reply"]);
    proved.ends(0);
}
