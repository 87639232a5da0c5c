//! What the system withholds, takes away or asks: threads, the file of results, a word before the first line.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};

#[test]
fn too_few_threads_are_told_before_results_are_emptied() {
    let server = Server::start([Step::ok()]);
    for (most, ends) in (1..=8).map(|most| (most, most >= 7)) {
        let shaper = Shaper::run()
            .jobs("jobs.urls", server.list(3))
            .args(["--overwrite", "--fsync", "1s"])
            .file(OUT, "old\n")
            .with_results();
        let Some(shaper) = shaper.threads_at_once(most) else {
            return;
        };
        let before = server.requests().len();
        let done = shaper.output();
        // Between the two it is a matter of which threads have ended.
        if done.code == Some(0) {
            assert_eq!(done.results().len(), 3, "{done}");
            continue;
        }
        assert!(!ends, "{most} threads are enough: {done}");
        done.exits(2).says("-u)").never_says("panicked");
        assert_eq!(done.bytes(OUT), b"old\n", "{done}");
        assert_eq!(server.requests().len(), before, "{done}");
    }
}

#[test]
fn who_asks_before_the_first_line_is_told_that_it_is_waited_for() {
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .args(["--quiet"])
        .stdin_stays_open()
        .with_results()
        .start();
    running.until_it_hears(Signal::USR1);
    // The wait itself begins a little later than that.
    let pid = running.pid();
    let (over, heard) = mpsc::channel::<()>();
    let asking = thread::spawn(move || {
        let gap = Duration::from_millis(20);
        while heard.recv_timeout(gap) == Err(RecvTimeoutError::Timeout) {
            kill_process(pid, Signal::USR1).expect("it waits");
        }
    });
    running.until_it_says("waiting for the first line of standard input");
    drop(over);
    asking.join().expect("it only asks");
    running.write(&server.list(1));
    running.wait().exits(0);
}
