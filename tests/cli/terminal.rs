//! A terminal: what is drawn there while a run goes is gone when it is over, however that ends.

use rustix::process::Signal;

use crate::support::program::{Output, Shaper};
use crate::support::server::{Gate, Server, Step};

/// Takes back everything in the line, and stands in its first column.
const CLEARED: &str = "\r\u{1b}[J";

fn with_a_bar(server: &Server) -> Shaper {
    Shaper::run()
        .jobs("jobs.urls", server.list(100))
        .args(["-c", "5", "--progress", "bar", "--report", "none"])
        .stderr_is_a_terminal_of(100, 30)
        .with_results()
}

/// The redrawn line was there and is gone, and the cursor is where and how it was.
#[track_caller]
fn is_left_as_it_was(done: &Output) {
    let text = &done.stderr;
    let drawn = text.rfind("in flight ").expect("a bar was drawn");
    let rest = &text[drawn..];
    let cleared = rest.find(CLEARED);
    assert!(cleared.is_some(), "{rest:?} stays");
    for mode in ["\u{1b}[?25l", "\u{1b}[?1049", "\u{1b}[?7l", "\u{1b}[r"] {
        assert!(!text.contains(mode), "{mode:?} in {text:?}");
    }
}

#[test]
fn a_run_to_its_end_takes_its_line_away() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = with_a_bar(&server).start();
    running.until_it_says("in flight 5");
    gate.open();
    let done = running.wait();
    done.exits(0);
    is_left_as_it_was(&done);
}

#[test]
fn signals_take_the_line_away_too() {
    for signals in [1, 2] {
        let gate = Gate::default();
        let server = Server::start([Step::ok().behind(&gate)]);
        let mut running = with_a_bar(&server).start();
        running.until_it_says("in flight 5");
        running.signal(Signal::INT);
        running.until_it_says("finishing 5 in flight");
        if signals == 1 {
            gate.open();
        } else {
            running.signal(Signal::INT);
        }
        let done = running.wait();
        done.exits(130);
        is_left_as_it_was(&done);
    }
}

#[test]
fn results_that_cannot_be_written_take_the_line_away() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = with_a_bar(&server)
        .args(["--ordered"])
        .files_end_after(2)
        .start();
    running.until_it_says("in flight 5");
    gate.open();
    let done = running.wait();
    done.exits(3).says("File too large");
    is_left_as_it_was(&done);
}

#[test]
fn who_asks_how_far_it_is_gets_a_line_above_the_one_that_is_redrawn() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = with_a_bar(&server).start();
    running.until_it_says("in flight 5");
    running.signal(Signal::USR1);
    running.until_it_says(" ok 0 failed 0 0.0/s");
    gate.open();
    let done = running.wait();
    done.exits(0);
    let (before, after) = done
        .stderr
        .split_once(" ok 0 failed 0")
        .expect("it was seen");
    let (_, line) = before.rsplit_once(CLEARED).expect("the bar made room");
    assert!(
        !line.contains("in flight"),
        "it stands behind the bar: {line:?}"
    );
    assert!(after.contains("in flight "), "no bar after it: {after:?}");
    is_left_as_it_was(&done);
}
