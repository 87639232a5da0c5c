//! Ctrl-C and SIGTERM: nothing new is sent, what is in flight is not lost.

use rustix::process::Signal;

use crate::support::program::{Counts, Running, Shaper};
use crate::support::server::{Gate, Server, Step};
use crate::support::statuses;

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
