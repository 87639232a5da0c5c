//! Ctrl-C and SIGTERM: nothing new is sent, what is in flight is not lost.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::program::{Counts, OUT, Running, Shaper};
use crate::support::server::{Gate, Server, Step};
use crate::support::{CLOSED, statuses};

/// A run of a hundred jobs whose first five are in flight until the gate opens.
fn five_in_flight(server: &Server) -> Running {
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(100))
        .args(["-c", "5"])
        .with_results()
        .reporting()
        .start();
    running.until("five requests", || server.requests().len() == 5);
    running
}

#[test]
fn what_is_in_flight_at_a_signal_is_finished_and_written() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let gate = Gate::default();
        let server = Server::start([Step::ok().behind(&gate)]);
        let mut running = five_in_flight(&server);
        running.signal(signal);
        running.until_it_says("5 in flight");
        gate.open();
        let done = running.wait();
        done.exits(code);
        assert_eq!(server.requests().len(), 5, "{done}");
        assert_eq!(statuses(&done.results()), ["ok"; 5]);
        let counts = done.counts();
        assert!(counts.cancelled > 0, "{counts:?}: some were read ahead");
        let cancelled = counts.cancelled;
        let expected = Counts {
            ok: 5,
            cancelled,
            ..Counts::default()
        };
        assert_eq!(counts, expected);
    }
}

#[test]
fn the_first_ctrl_c_says_what_the_second_does() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = five_in_flight(&server);
    running.signal(Signal::INT);
    running.until_it_says("Ctrl-C again to stop now");
    gate.open();
    running.wait().exits(130);
}

#[test]
fn a_second_ctrl_c_stops_at_once_and_leaves_whole_lines() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = five_in_flight(&server);
    running.signal(Signal::INT);
    running.until_it_says("5 in flight");
    running.signal(Signal::INT);
    // The gate stays shut: only the signal can end it.
    let done = running.wait();
    done.exits(130)
        .says("stopping now, 5 in flight are given up");
    assert_eq!(done.results().len(), 0, "nothing was answered: {done}");
}

#[test]
fn a_grace_ends_the_drain_with_the_code_of_its_signal() {
    let grace = Duration::from_millis(700);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let gate = Gate::default();
        let server = Server::start([Step::ok().behind(&gate)]);
        let mut running = Shaper::run()
            .jobs("jobs.urls", server.list(100))
            .args(["-c", "5", "--grace", "700ms"])
            .with_results()
            .reporting()
            .start();
        running.until("five requests", || server.requests().len() == 5);
        let began = Instant::now();
        running.signal(signal);
        running.until_it_says("finishing 5 in flight, at most 700 ms, ");
        // The gate stays shut: only the grace can end it.
        let done = running.wait();
        assert!(began.elapsed() >= grace, "{done}");
        done.exits(code)
            .says("stopping now, 5 in flight are given up");
        assert_eq!(done.counts().ok, 0);
    }
}

#[test]
fn a_sigterm_for_the_process_and_one_for_its_group_let_what_is_in_flight_finish() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = five_in_flight(&server);
    running.signal(Signal::TERM);
    running.until_it_says("5 in flight");
    running.signal(Signal::TERM);
    // Longer than a second wish would let it live.
    running.pause(Duration::from_millis(800));
    gate.open();
    let done = running.wait();
    done.exits(143);
    assert_eq!(statuses(&done.results()), ["ok"; 5]);
}

#[test]
fn a_second_ctrl_c_ends_a_run_whose_results_nobody_reads() {
    let body = "x".repeat(100_000);
    let server = Server::start([Step::ok().body(body)]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(100))
        .args(["-c", "5", "-o", "-"])
        .start();
    running.until("five requests", || server.requests().len() >= 5);
    running.pause(Duration::from_millis(200));
    running.signal(Signal::INT);
    running.until_it_says("Ctrl-C again");
    running.signal(Signal::INT);
    running.until_it_ends();
    running.wait().exits(130);
}

#[test]
fn a_second_ctrl_c_ends_a_run_whose_messages_nobody_reads() {
    let list = format!("http://{CLOSED}/{}\n", "long".repeat(100)).repeat(1000);
    let mut running = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["-v", "--max-attempts", "1"])
        .stderr_is_not_read()
        .with_results()
        .start();
    // Until the pipe is full, which nothing else shows.
    let results = running.path(OUT);
    let size = move || results.metadata().map_or(0, |file| file.len());
    let mut before = 0;
    running.until("a standstill", || size() > 0);
    while before != size() {
        before = size();
        running.pause(Duration::from_millis(300));
    }
    running.interrupt_until_it_ends();
    let done = running.wait();
    done.exits(130);
    assert!(done.results().len() < 1000, "it was not blocked");
}

#[test]
fn a_silent_input_holds_up_no_signal() {
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .stdin_stays_open()
        .with_results()
        .reporting()
        .start();
    running.write(&server.list(1));
    running.until("its request", || server.requests().len() == 1);
    running.signal(Signal::INT);
    running.until_it_ends();
    let done = running.wait();
    done.exits(130);
    assert_eq!(done.counts().ok, 1);
}

#[test]
fn before_the_first_line_a_signal_ends_it_and_nothing_is_left() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut running = Shaper::run().stdin_stays_open().with_results().start();
        running.pause(Duration::from_millis(300));
        running.signal(signal);
        running.until_it_ends();
        let done = running.wait();
        assert_eq!(done.code, None, "the signal itself ends it: {done}");
        assert_eq!(done.files(), [""; 0]);
    }
}

#[test]
fn a_named_pipe_without_a_reader_or_a_writer_holds_up_no_signal() {
    let jobs = format!("http://{CLOSED}/\n");
    let no_reader = Shaper::run().jobs("jobs.urls", jobs).named_pipe(OUT);
    let no_writer = Shaper::run().named_pipe("jobs.urls").args(["jobs.urls"]);
    let no_writer = no_writer.file(OUT, "");
    for run in [no_reader, no_writer] {
        let mut running = run.with_results().start();
        running.pause(Duration::from_millis(500));
        running.signal(Signal::INT);
        running.until_it_ends();
        let done = running.wait();
        assert_eq!(done.code, None, "the signal itself ends it: {done}");
        assert_eq!(done.files(), ["jobs.urls", OUT]);
    }
}

#[test]
fn a_closed_terminal_is_a_wish_to_end_unless_that_is_ignored() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let run = || {
        Shaper::run()
            .jobs("jobs.urls", server.list(5))
            .args(["-c", "2"])
            .with_results()
    };
    let mut heard = run().start();
    let mut ignored = run().ignoring_hangups().start();
    heard.until("both to send", || server.requests().len() == 4);
    heard.signal(Signal::HUP);
    ignored.signal(Signal::HUP);
    heard.until_it_says("a second signal stops now");
    ignored.pause(Duration::from_millis(300));
    gate.open();
    heard.wait().exits(143);
    let ignored = ignored.wait();
    ignored.exits(0).never_says("in flight,");
    assert_eq!(ignored.results().len(), 5);
}

#[test]
fn who_asks_is_told_how_far_it_is_even_if_nothing_else_is_shown() {
    for quiet in [&["--quiet"][..], &["--progress", "none"], &[]] {
        let gate = Gate::default();
        let server = Server::start([Step::ok(), Step::ok(), Step::ok().behind(&gate)]);
        let mut running = Shaper::run()
            .jobs("jobs.urls", server.list(9))
            .args(["-c", "1"])
            .args(quiet)
            .with_results()
            .start();
        running.until("a third request", || server.requests().len() == 3);
        running.signal(Signal::USR1);
        running.until_it_says("2/9 ok 2 failed 0");
        gate.open();
        running.wait().exits(0);
    }
}

#[test]
fn who_asks_before_the_run_has_begun_does_not_end_it() {
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run().stdin_stays_open().with_results().start();
    running.until_it_hears(Signal::USR1);
    running.signal(Signal::USR1);
    running.pause(Duration::from_millis(100));
    running.write(&server.list(1));
    let done = running.wait();
    done.exits(0).says(" ok ");
}
