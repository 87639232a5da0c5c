//! `FILE.run` beside the results, and `shaper verify`: what is proved, and what cannot be.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::program::{Output, Shaper};
use crate::support::server::{Gate, Server, Step};

/// What stands beside `out.jsonl`.
const RUN: &str = "out.jsonl.run";

fn manifest(done: &Output) -> Value {
    let text = fs::read(done.path(RUN)).unwrap_or_else(|why| panic!("{why}: {done}"));
    serde_json::from_slice(&text).expect("it is JSON")
}

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
        .env("TOKEN", "canary")
        .with_results()
        .output();
    done.exits(0);
    let run = manifest(&done);
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
    let run = manifest(&done);
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
    let done = run().output();
    done.exits(2).says(RUN).says("mend: move it away");
    let notes = fs::read_to_string(done.path(RUN)).expect("it was there before");
    assert_eq!(notes, "my notes");
    assert_eq!(server.requests().len(), 0);
    run().args(["--overwrite"]).output().exits(0);
}

#[test]
fn what_the_run_was_is_no_input_and_no_report() {
    let server = Server::start([Step::ok()]);
    for args in [
        ["-o", "jobs", "--report-file", "jobs.run"],
        ["-o", "a", "--report-file", "b"],
    ] {
        let name = if args[1] == "a" { "a.run" } else { "list" };
        let done = Shaper::run().jobs(name, server.list(1)).args(args).output();
        done.exits(2).says("what the run was");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn results_in_no_regular_file_have_nothing_beside_them() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(1))
        .args(["-o", "-"])
        .output();
    done.exits(0);
    assert!(!done.path("-.run").exists());
}
