//! What the system asks before the first line.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};

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
