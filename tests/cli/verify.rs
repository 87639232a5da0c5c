//! `FILE.run` beside the results, and `shaper verify`: what is proved, and what cannot be.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::program::{OUT, Output, RUN, Shaper};
use crate::support::server::{Gate, Server, Step};

#[test]
fn beside_results_stands_what_the_run_was_and_no_key() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", "/a\n/b\n/c\n")
        .args(["--qps", "50", "--window", "40/1s", "-c", "7", "--seed", "9"])
        .args([
            "--base-url",
            &format!("http://canary:canary@{}/?key=canary", server.host()),
        ])
        .args([
            "-H",
            "authorization: Bearer canary",
            "--bearer-env",
            "TOKEN",
        ])
        .args(["-X", "PUT", "--data", "canary", "--format", "urls"])
        .env("TOKEN", "canary")
        .with_results()
        .ends(0);
    let run = done.manifest();
    assert!(!run.to_string().contains("canary"), "{run}");
    assert_eq!(run["limits"][0]["name"], "qps", "{run}");
    assert_eq!(run["limits"][0]["limit"], "50 bucket burst=1");
    assert_eq!(run["limits"][1]["limit"], "40/1s window");
    assert_eq!(
        (&run["concurrency"], &run["slack_us"]),
        (&7.into(), &2000.into())
    );
    assert_eq!(
        (&run["seed"], &run["inputs"][0]["size"]),
        (&9.into(), &9.into())
    );
    let given = serde_json::json!({ "format": "urls", "method": "PUT", "data": "***" });
    assert_eq!(run["given"], given);
    let folder = run["folder"].as_str().map(fs::canonicalize);
    let own = done.path(RUN).parent().map(fs::canonicalize);
    assert_eq!(folder.map(Result::ok), own.map(Result::ok), "{run}");
    let ended = &run["ended"];
    assert_eq!(
        (&ended["how"], &ended["sends"]),
        (&"finished".into(), &3.into())
    );
    assert_eq!(ended["counts"]["read"], 3);
    let first = &done.results()[0]["tries"][0]["granted_us"];
    assert!(run["started_us"].as_u64() <= first.as_u64(), "{run}");
}

#[test]
fn a_run_that_is_killed_has_left_its_limits() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .args(["--qps", "50"])
        .with_results()
        .start();
    running.until("the first request", || !server.requests().is_empty());
    running.signal(Signal::KILL);
    let done = running.wait();
    gate.open();
    let run = done.manifest();
    assert_eq!(run["limits"][0]["limit"], "50 bucket burst=1");
    assert_eq!(run["ended"], Value::Null);
}

#[test]
fn a_file_of_someone_else_is_not_replaced_by_what_the_run_was() {
    let server = Server::start([Step::ok()]);
    let run = || {
        Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .with_results()
            .file(RUN, "my notes")
    };
    let done = run().ends(2);
    done.says(RUN).says("mend: move it away");
    let notes = fs::read_to_string(done.path(RUN)).expect("it was there before");
    assert_eq!(notes, "my notes");
    assert_eq!(server.requests().len(), 0);
    run().args(["--overwrite"]).ends(0);
}

#[test]
fn what_the_run_was_is_no_input_and_no_report() {
    let server = Server::start([Step::ok()]);
    for args in [
        ["-o", "jobs", "--report-file", "jobs.run"],
        ["-o", "a", "--report-file", "b"],
    ] {
        let name = if args[1] == "a" { "a.run" } else { "list" };
        let done = Shaper::run().jobs(name, server.list(1)).args(args).ends(2);
        done.says("what the run was");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn results_in_no_regular_file_have_nothing_beside_them() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(1))
        .args(["-o", "-"])
        .ends(0);
    assert!(!done.path("-.run").exists());
}

/// A result with one try that was granted at `at` microseconds and sent 10 later.
fn line(seq: u64, at: u64) -> String {
    let (sent, done) = (at + 10, at + 50_000);
    format!(
        r#"{{"seq":{seq},"line":1,"status":"ok","tokens":{{"reserved":10,"used":4}},"tries":[{{"granted_us":{at},"sent_us":{sent},"first_byte_us":{done},"done_us":{done}}}]}}"#
    ) + "\n"
}

/// Results every `gap` microseconds.
fn every(gap: u64, count: u64) -> String {
    (0..count)
        .map(|seq| line(seq, 1_700_000_000_000_000 + seq * gap))
        .collect()
}

fn run_file(limits: &[&str]) -> String {
    let limits: Vec<Value> = limits
        .iter()
        .map(|limit| serde_json::json!({ "name": "window", "limit": limit }))
        .collect();
    serde_json::json!({
        "version": "0.1.0", "limits": limits, "concurrency": null, "per_host": null,
        "slack_us": 2000, "inputs": [], "base_url": null, "seed": 1, "host": "h",
        "started_us": 1, "ended": null,
    })
    .to_string()
}

fn verify() -> Shaper {
    Shaper::plain().args(["verify"])
}

#[track_caller]
fn shows(done: &Output, words: &[&str]) {
    let page = done.text();
    for words in words {
        assert!(page.contains(words), "no {words:?} in {done}");
    }
    let widest = page.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "too wide: {done}");
}

#[test]
fn a_run_is_proved_from_its_own_results() {
    let server = Server::start([Step::ok()]);
    let job = format!("{{\"url\":\"{}\",\"tokens\":9}}\n", server.url("/"));
    let done = Shaper::run()
        .jobs("jobs.jsonl", job.repeat(12))
        .args(["--qps", "100", "--window", "5/100ms", "--tpm", "5k"])
        .args(["-c", "4"])
        .with_results()
        .ends(0);
    let proved = verify()
        .jobs(OUT, fs::read(done.path(OUT)).expect("it was written"))
        .file(RUN, done.bytes(RUN))
        .ends(0);
    shows(
        &proved,
        &[
            "out.jsonl: 12 results, 12 sends",
            "not seen: nothing",
            "--qps 100    kept",
            "at most 1 + 100/s x (T + 2ms 1us) granted in any time T",
            "--window 5/100ms    kept",
            "--tpm 5000    kept",
            "slots 4    kept",
            "worst minute",
            "kept: 12 sends",
        ],
    );
}

#[test]
fn what_was_exceeded_is_told_with_its_worst_window_and_exit_1() {
    let results = every(99_999, 30);
    let done = verify()
        .jobs(OUT, &results)
        .file(RUN, run_file(&["10/1s window"]))
        .ends(1);
    shows(
        &done,
        &[
            "--window 10/1s    EXCEEDED by 1",
            "11 in any 1s",
            "first 2023-11-14T22:13:20.000010Z  out.jsonl:1",
            "last  2023-11-14T22:13:21.000000Z  out.jsonl:11",
            "the run was killed, or goes on where no lock is seen",
            "NOT KEPT: 30 sends",
        ],
    );
    let exact = verify()
        .jobs(OUT, every(100_000, 30))
        .args(["--window", "10/1s"]);
    exact.ends(0);
}

#[test]
fn limits_that_are_given_stand_for_those_of_the_run() {
    let verify = |args: &[&str]| {
        verify()
            .jobs(OUT, every(99_999, 30))
            .file(RUN, run_file(&["10/1s window"]))
            .args(args)
            .output()
    };
    verify(&["--window", "11/1s"]).exits(0);
    verify(&["--qps", "10"]).exits(0);
    verify(&["--qps", "10", "--slack", "10us"]).exits(1);
    verify(&["--tps", "99", "--token-burst", "10"]).exits(0);
    verify(&["-c", "1"]).exits(0);
    verify(&["--qps", "9", "--report", "none"]).exits(1);
    let done = verify(&["--qps", "9", "--report", "json"]);
    let page = done.json();
    assert_eq!(page["kept"], false);
    assert_eq!(page["limits"][0]["verdict"], "exceeded", "{page}");
    assert_eq!(
        page["limits"][0]["granted"]["most"]["last"]["place"],
        "out.jsonl:30"
    );
}

#[test]
fn shards_are_proved_together_and_must_have_had_one_quota() {
    let one = every(100_000, 20);
    let two = one.replace("\"seq\":", "\"seq\":2");
    let shards = || verify().jobs("a.jsonl", &one).jobs("b.jsonl", &two);
    let run = run_file(&["10/1s window"]);
    let both = shards()
        .file("a.jsonl.run", &run)
        .file("b.jsonl.run", &run)
        .ends(1);
    shows(
        &both,
        &[
            "EXCEEDED by 10",
            "first 2023-11-14T22:13:20.000010Z  a.jsonl:1",
        ],
    );
    shards().args(["--window", "20/1s"]).ends(0);
    let other = shards()
        .file("a.jsonl.run", &run)
        .file("b.jsonl.run", run_file(&["10/1s window", "5/s"]))
        .ends(2);
    other
        .says("a.jsonl was written under 10/1s window")
        .says("b.jsonl under 10/1s window, 5/s bucket");
    let twice = verify()
        .jobs("a.jsonl", &one)
        .args(["./a.jsonl", "--qps", "1"]);
    twice.ends(2).says("named twice");
}

/// What the one machine has written and the other, half a gap later.
fn by_turns(gap: u64, count: u64) -> (String, String) {
    let from = 1_700_000_000_000_000;
    let each = |shift: u64| {
        (0..count)
            .map(move |seq| line(seq, from + shift + seq * gap))
            .collect()
    };
    (each(0), each(gap / 2))
}

#[test]
fn clocks_that_may_differ_prove_less() {
    let (one, two) = by_turns(200_000, 15);
    let verify = |skew: &str, limit: &[&str]| {
        let both = verify().jobs("a", &one).jobs("b", &two).args(limit);
        both.args(["--clock-skew", skew]).output()
    };
    // Each has sent 5 a second, and no clock makes more of them.
    verify("101ms", &["--window", "10/1s"]).exits(0);
    // Three of each come together where one is late by more than 50 ms.
    let window = ["--window", "5/450ms"];
    for skew in ["0", "50ms"] {
        verify(skew, &window).exits(0);
    }
    let done = verify("51ms", &window);
    done.exits(1);
    shows(
        &done,
        &[
            "NOT PROVED: kept only if the clocks agree",
            "6 in any 450ms at most, as far apart as the clocks may be",
            "clocks up to 51ms apart",
        ],
    );
    let bucket = ["--qps", "10", "--slack", "0"];
    verify("0", &bucket).exits(0);
    verify("1ms", &bucket).exits(1);
    let fixed = verify("1s", &["--limit", "10/1s fixed"]);
    fixed.exits(2).says("--clock-skew").says("10/1s fixed");
}

#[test]
fn one_file_has_one_clock_and_so_has_what_only_one_of_several_tells() {
    let limits: [&[&str]; 3] = [
        &["--window", "10/1s"],
        &["--qps", "10"],
        &["--limit", "10/1s fixed"],
    ];
    for limit in limits {
        let (one, skew) = (every(100_000, 30), ["--clock-skew", "50ms"]);
        let alone = verify().jobs(OUT, &one).args(limit).args(skew).ends(0);
        shows(&alone, &["kept: 30 sends, told in whole microseconds\n"]);
        // A day apart no clock makes them one.
        let later = one.replace("_us\":17000", "_us\":17001");
        let both = verify().jobs("a", &one).jobs("b", &later).args(limit);
        let both = both.args(skew).ends(0);
        shows(&both, &["kept: 60 sends", "with clocks up to 50ms apart"]);
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_place_and_exit_2() {
    let whole = every(100_000, 3);
    let torn = format!("{whole}{{\"seq\":3,\"tries\":[{{");
    let damaged = format!("{whole}{{\"seq\":3,\n{whole}");
    let limit = ["--qps", "10"];
    let of = |made: &str| format!("{{\"status\":\"ok\",\"tries\":[{made}]}}\n");
    for (text, words) in [
        ("", "out.jsonl: has no results"),
        ("{\"", "out.jsonl: has no results"),
        ("\0\0\0\0", "out.jsonl: has no results"),
        (&of("{\"granted_us\":5}"), "out.jsonl:1:"),
        (
            &of("{\"granted_us\":9,\"sent_us\":5}"),
            "sent_us is before granted_us",
        ),
        (
            &of("{\"sent_us\":20000000000000000}"),
            "beyond the year 2554",
        ),
        ("{\"url\":\"http://h/\"}\n", "out.jsonl:1:"),
        (&damaged, "out.jsonl:4:"),
    ] {
        let done = verify().jobs(OUT, text).args(limit).ends(2);
        done.says(words).says("mend: ");
    }
    let packed = [&[0x1f, 0x8b, 8, 0][..], b"\n"].concat();
    let done = verify().jobs(OUT, packed).args(limit).ends(2);
    done.says("mend: unpack it: zcat FILE | shaper verify -");
    let done = verify().jobs(OUT, &torn).args(limit).ends(0);
    shows(&done, &["line 4 is torn"]);
    verify().args([".", "--qps", "1"]).ends(2).says("directory");
    verify()
        .args(["/dev/zero", "--qps", "1"])
        .ends(2)
        .says("no regular file");
    verify()
        .args(["none.jsonl"])
        .ends(2)
        .says("none.jsonl: cannot be read");
}

#[test]
fn results_that_are_fewer_than_the_run_has_written_prove_nothing() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(5))
        .args(["--qps", "100"])
        .with_results()
        .ends(0);
    let (results, run) = (
        fs::read_to_string(done.path(OUT)).expect("it is text"),
        fs::read_to_string(done.path(RUN)).expect("it is text"),
    );
    let cut: String = results.split_inclusive('\n').take(2).collect();
    let fewer = verify().jobs(OUT, cut).file(RUN, &run).ends(2);
    fewer.says("has 2 results, the run has written 5");
    let unsent = results.replace("\"sent_us\":", "\"sent_us\":null,\"was\":");
    let fewer = verify().jobs(OUT, unsent).file(RUN, &run).ends(2);
    fewer.says("tells 0 sends, the run has counted 5");
}

/// Two runs: the one that is asked for, and the one whose run file stands beside its results.
fn mixed_up(own: &[&str], other: &[&str]) -> (String, String) {
    let server = Server::start([Step::ok()]);
    let run = |args: &[&str]| {
        let run = Shaper::run().jobs("jobs.urls", server.list(60));
        let done = run.args(args).with_results().ends(0);
        (done.bytes(OUT), done.bytes(RUN))
    };
    let ((results, _), (_, beside)) = (run(own), run(other));
    let text = |bytes| String::from_utf8(bytes).expect("it is text");
    (text(results), text(beside))
}

#[test]
fn a_run_file_of_another_run_proves_nothing_and_is_passed_over_by_a_report() {
    let (few, many) = (["-n", "40", "--qps", "500"], ["-n", "60", "--qps", "400"]);
    for (own, other) in [(&few, &many), (&many, &few), (&few, &few)] {
        let (results, run) = mixed_up(own, other);
        let done = verify().jobs(OUT, &results).file(RUN, &run).ends(2);
        done.says("out.jsonl.run: is of another run than out.jsonl, which has tries at 20")
            .says("before it began")
            .says("mend: put its own there, or remove it and give the limits");
        let report = Shaper::plain().args(["report"]).jobs(OUT, &results);
        let report = report.file(RUN, &run).ends(0);
        report
            .says("out.jsonl.run: is of another run than out.jsonl")
            .says("passed over");
        shows(&report, &["read — =", "nothing tells the limits"]);
        let page = report.text();
        assert!(!page.contains("written by"), "{report}");
    }
    // Shards that went on at once, with as many results each.
    let server = Server::start([Step::ok()]);
    let shard = || {
        let run = Shaper::run().jobs("jobs.urls", server.list(30));
        run.args(["--qps", "100"]).with_results()
    };
    let (one, other) = (shard().start(), shard().start());
    let (one, other) = (one.wait(), other.wait());
    let swapped = |results: &Output, run: &Output| {
        let beside = verify().jobs(OUT, results.bytes(OUT));
        beside.file(RUN, run.bytes(RUN)).output()
    };
    swapped(&one, &one).exits(0);
    swapped(&other, &other).exits(0);
    swapped(&one, &other).exits(2).says("is of another run");
    swapped(&other, &one).exits(2).says("is of another run");
    // The same the other way round: what is there was done when that run was over.
    let server = Server::start([Step::ok()]);
    let run = || {
        Shaper::run()
            .jobs("jobs.urls", server.list(9))
            .args(["--qps", "200"])
    };
    let first = run().with_results().output();
    let second = run().with_results().output();
    let later = verify()
        .jobs(OUT, second.bytes(OUT))
        .file(RUN, first.bytes(RUN));
    later.ends(2).says("after it was over");
    let more = [
        second.bytes(OUT),
        b"{\"status\":\"failed\",\"tries\":[]}\n".to_vec(),
    ]
    .concat();
    let more = verify()
        .jobs(OUT, more)
        .file(RUN, second.bytes(RUN))
        .ends(2);
    more.says("which has 10 results, it has written 9");
    // Limits that are given do not make it another run.
    let given = verify()
        .jobs(OUT, second.bytes(OUT))
        .file(RUN, first.bytes(RUN));
    given.args(["--qps", "200"]).ends(2);
}

#[test]
fn results_that_another_run_has_gone_on_with_are_proved_even_if_nothing_tells_of_the_first() {
    let server = Server::start([Step::ok()]);
    let first = Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["-n", "5", "--qps", "200"])
        .with_results()
        .output();
    fs::remove_file(first.path(RUN)).expect("it is there");
    let args = ["run", "jobs.urls", "--resume", "--qps", "200", "-o", OUT];
    let second = first.again().args(args).ends(0);
    let proved = second.again().args(["verify", OUT]).ends(0);
    shows(&proved, &["20 results, 20 sends"]);
}

#[test]
fn one_result_and_one_send_are_told_as_one() {
    let done = verify().jobs(OUT, every(1, 1)).args(["--qps", "1"]).ends(0);
    shows(
        &done,
        &["out.jsonl: 1 result, 1 send\n", "kept: 1 send, told"],
    );
}

#[test]
fn a_file_that_is_still_being_written_is_not_said_to_be_of_a_killed_run() {
    let gate = Gate::default();
    let server = Server::answering({
        let gate = gate.clone();
        move |ask| match ask.nth {
            0..3 => Step::ok(),
            _ => Step::ok().behind(&gate),
        }
    });
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(5))
        .args(["--qps", "200", "-c", "2"])
        .with_results()
        .start();
    let results = running.path(OUT);
    running.until("three results", || {
        fs::read_to_string(&results)
            .unwrap_or_default()
            .lines()
            .count()
            == 3
    });
    let during = Shaper::plain().args(["verify"]).args([&results]).ends(0);
    shows(
        &during,
        &["its results are still being written: up to 2 in flight"],
    );
    gate.open();
    running.wait().exits(0);
}

#[test]
fn what_a_report_refuses_is_no_proof_either() {
    let whole = every(100_000, 2);
    for (from, to, words) in [
        (
            "\"status\":\"ok\"",
            "\"status\":\"fine\"",
            "unknown status \"fine\"",
        ),
        (
            "\"line\":1",
            "\"latency_ms\":-1.0",
            "latency_ms is below zero",
        ),
        (
            "\"line\":1",
            "\"since_due_ms\":-1.0",
            "since_due_ms is below zero",
        ),
        (
            "\"line\":1",
            "\"wait_ms\":{\"slot\":-1.0}",
            "wait_ms is below zero",
        ),
        (
            "\"line\":1",
            "\"error\":{\"kind\":\"odd\"}",
            "a kind that this version does not know",
        ),
        (
            "\"first_byte_us\"",
            "\"http_status\":9,\"first_byte_us\"",
            "http_status 9 is none",
        ),
    ] {
        let wrong = whole.replacen(from, to, 1);
        for command in ["verify", "report"] {
            let shaper = Shaper::plain().args([command]).jobs(OUT, &wrong);
            let done = shaper.args(["--qps", "10"]).ends(2);
            done.says("out.jsonl:1").says(words);
        }
    }
}

#[test]
fn a_mark_of_the_byte_order_is_no_part_of_the_first_result() {
    let marked = format!("\u{feff}{}", every(100_000, 2));
    for command in ["verify", "report"] {
        let shaper = Shaper::plain().args([command]).jobs(OUT, &marked);
        let done = shaper.args(["--qps", "10"]).ends(0);
        shows(&done, &["2 results"]);
    }
    let nothing = verify().jobs(OUT, "\u{feff}\n").args(["--qps", "10"]);
    nothing.ends(2).says("has no results");
}

#[test]
fn the_same_results_under_another_name_do_not_count_twice() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(4))
        .args(["--qps", "200"])
        .with_results()
        .output();
    let (results, run) = (done.bytes(OUT), done.bytes(RUN));
    for command in ["verify", "report"] {
        let both = Shaper::plain()
            .args([command])
            .jobs("a.jsonl", &results)
            .jobs("b.jsonl", &results)
            .file("a.jsonl.run", &run);
        let twice = both.args(["--qps", "200"]).ends(2);
        twice
            .says("b.jsonl: begins with the same result as a.jsonl: it is a copy")
            .says("mend: name the results of each run once");
    }
}

#[test]
fn results_are_proved_from_pipes_as_well() {
    let piped = |limit: &str| {
        let verify = Shaper::plain().args(["verify", "-", "--window", limit]);
        verify.stdin(every(100_000, 12)).output()
    };
    piped("10/1s").exits(0);
    piped("9/1s").exits(1);
    let untold = Shaper::plain().args(["verify", "-"]).stdin(every(1, 1));
    let words = "nothing tells the limits under which standard input was written";
    untold.ends(2).says(words);
    let failed = Shaper::plain().args(["report", "-", "--failed-jobs"]);
    let words = "read from regular files only, not from standard input";
    failed.stdin(every(1, 1)).ends(2).says(words);
}

#[test]
fn tries_that_a_second_ctrl_c_cut_off_are_told_as_not_seen() {
    let gate = Gate::default();
    let server = Server::answering(move |ask| {
        let step = Step::ok();
        if ask.nth < 2 {
            step
        } else {
            step.behind(&gate)
        }
    });
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(5))
        .args(["--limit", "100/1s window", "-c", "3"])
        .with_results()
        .start();
    running.until("all are there", || server.requests().len() == 5);
    running.signal(Signal::INT);
    running.until_it_says("3 in flight");
    running.signal(Signal::INT);
    let done = running.wait();
    done.exits(130);
    assert_eq!(done.manifest()["ended"]["cut_off"], 3);
    let verified = verify()
        .jobs(OUT, fs::read(done.path(OUT)).expect("it is there"))
        .file(RUN, done.bytes(RUN))
        .ends(0);
    shows(
        &verified,
        &["3 more that the run has counted, or cut off in flight"],
    );
}

#[test]
fn without_limits_there_is_nothing_to_prove() {
    let whole = every(100_000, 3);
    let missing = verify().jobs(OUT, &whole).ends(2);
    missing.says(RUN).says("--qps");
    let none = verify().jobs(OUT, &whole).file(RUN, run_file(&[])).ends(2);
    none.says("no limits to prove");
    for run in [
        "{\"version\":",
        "my notes",
        "[1]",
        &run_file(&["10/1s spiral"]),
    ] {
        let verify = || verify().jobs(OUT, &whole).file(RUN, run);
        verify()
            .ends(2)
            .says(RUN)
            .says("mend: give them by options");
        verify().args(["--qps", "10"]).ends(0);
    }
}

#[test]
fn what_arrived_at_the_modelled_api_can_be_proved() {
    let arrivals = every(100_000, 12).replace("\"granted_us\"", "\"due_us\":1,\"granted_us\"");
    let verify = |limit: &str| {
        verify()
            .jobs("arrivals", &arrivals)
            .args(["--window", limit])
            .output()
    };
    verify("10/1s").exits(0);
    verify("9/1s").exits(1);
}
