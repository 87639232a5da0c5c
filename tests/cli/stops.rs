//! Rates over long times: one an hour, and a program that is stopped for a while.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::program::Shaper;
use crate::support::server::{Server, Step};
use crate::support::{bucket_holds, moments, statuses};

#[test]
fn at_one_an_hour_the_first_goes_at_once_and_ctrl_c_waits_for_none() {
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["--qps", "1/h"])
        .with_results()
        .reporting()
        .start();
    running.until("the first request", || !server.requests().is_empty());
    running.signal(Signal::INT);
    let done = running.wait();
    done.exits(130).says("1/h");
    assert_eq!(server.targets(), ["/0"]);
    assert_eq!(statuses(&done.results()), ["ok"]);
    assert_eq!(done.counts().cancelled, 19);
}

#[test]
fn one_in_thirty_days_is_a_rate() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["--qps", "1/30d", "-n", "1"])
        .with_results()
        .ends(0);
    done.says("1/30d");
    assert_eq!(server.targets(), ["/0"]);
}

#[test]
fn what_a_program_could_not_send_while_it_was_stopped_is_not_caught_up() {
    let stop = Duration::from_millis(1500);
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(100))
        .args(["--qps", "50", "--burst", "3", "-c", "50"])
        .with_results()
        .start();
    running.until("some requests", || server.requests().len() >= 20);
    running.signal(Signal::STOP);
    running.pause(stop);
    running.signal(Signal::CONT);
    let done = running.wait();
    done.exits(0);
    let granted = moments(&done.results(), "granted_us");
    assert_eq!(granted.len(), 100);
    bucket_holds(3, 50, &granted);
    let largest = granted
        .windows(2)
        .map(|pair| pair[1].abs_diff(pair[0]))
        .max();
    assert!(largest >= Some(stop / 2), "it was not stopped: {granted:?}");
}
