//! Results in the order of the input: `--ordered`.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Ask, Gate, Server, Step};

/// The positions in the input, as they stand in the file.
fn written(done: &Output) -> Vec<u64> {
    let text = fs::read_to_string(done.path(OUT)).expect("it was written");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        line["seq"].as_u64().expect("every result has its seq")
    });
    lines.collect()
}

#[test]
fn results_stand_in_the_order_of_the_input_though_answers_do_not_come_in_it() {
    let server = Server::answering(|ask: &Ask| match ask.nth % 8 {
        0 => Step::ok().after(Duration::from_millis(100)),
        3 if ask.nth_of_target == 0 => Step::status(503),
        _ => Step::ok(),
    });
    let mut list = String::new();
    for (nth, url) in server.list(60).lines().enumerate() {
        list += url;
        list += if nth % 9 == 4 { "\nno url\n" } else { "\n" };
    }
    let done = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["-c", "6", "--ordered", "--backoff", "20ms..20ms"])
        .with_results()
        .reporting()
        .ends(1);
    assert_eq!(written(&done), (0..67).collect::<Vec<_>>());
    let counts = done.counts();
    assert_eq!((counts.ok, counts.invalid), (60, 7));
}

#[test]
fn one_answer_that_does_not_come_holds_as_many_results_as_there_are_slots() {
    let gate = Gate::default();
    let own = gate.clone();
    let server = Server::answering(move |ask: &Ask| match ask.target {
        "/0" => Step::ok().behind(&own),
        _ => Step::ok(),
    });
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(50))
        .args(["-c", "4", "--ordered"])
        .with_results()
        .reporting()
        .start();
    running.until("four requests", || server.requests().len() == 4);
    running.pause(Duration::from_millis(300));
    assert_eq!(server.requests().len(), 4, "the results have the slots");
    gate.open();
    let done = running.wait();
    done.exits(0);
    assert_eq!(written(&done), (0..50).collect::<Vec<_>>());
}

#[test]
fn a_second_ctrl_c_writes_what_waited_for_an_older_result() {
    let gate = Gate::default();
    let own = gate.clone();
    let server = Server::answering(move |ask: &Ask| match ask.target {
        "/0" | "/2" => Step::ok().behind(&own),
        _ => Step::ok(),
    });
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(50))
        .args(["-c", "5", "--ordered", "--progress", "bar"])
        .stderr_is_a_terminal_of(100, 30)
        .with_results()
        .reporting()
        .start();
    running.until_it_says("in flight 2 ");
    running.signal(Signal::INT);
    running.until_it_says("finishing 2 in flight");
    running.signal(Signal::INT);
    let done = running.wait();
    done.exits(130)
        .says("stopping now, 2 in flight are given up");
    assert_eq!(written(&done), [1, 3, 4]);
    assert_eq!(done.counts().ok, 3);
}

#[test]
fn after_ctrl_c_a_resumed_run_makes_a_file_in_order_of_lines_that_were_never_sent() {
    let gate = Gate::default();
    let own = gate.clone();
    let server = Server::answering(move |ask: &Ask| match (ask.target, ask.nth_of_target) {
        ("/0", 0) => Step::status(503).behind(&own),
        _ => Step::ok(),
    });
    let list = server.list(3).replace('\n', "\nno url\n");
    let mut running = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["-c", "1", "--ordered"])
        .with_results()
        .reporting()
        .start();
    running.until("a request", || server.requests().len() == 1);
    running.pause(Duration::from_millis(100));
    running.signal(Signal::INT);
    running.until_it_says("finishing 1 in flight");
    gate.open();
    let done = running.wait();
    done.exits(130);
    assert_eq!(written(&done), [0; 0], "0 would be tried again");
    let done = done
        .again()
        .args(["run", "jobs.urls", "--ordered", "--resume"])
        .with_results()
        .reporting()
        .ends(1);
    assert_eq!(written(&done), [0, 1, 2, 3, 4, 5]);
    let counts = done.counts();
    assert_eq!((counts.ok, counts.invalid), (3, 3));
}
