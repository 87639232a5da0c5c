//! What the system withholds, takes away or asks: threads, the file of results, a word before the first line.

use std::fs;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::support::program::{OUT, Running, Shaper};
use crate::support::server::{Gate, Server, Step};

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

/// A run of two jobs, the second of which waits for the gate, and the first has its result.
fn one_result_is_written(server: &Server) -> Running {
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(2))
        .args(["-c", "1"])
        .with_results()
        .start();
    let out = running.path(OUT);
    running.until("a result", || {
        server.requests().len() == 2 && fs::metadata(&out).is_ok_and(|out| out.len() > 0)
    });
    running
}

#[test]
fn results_whose_file_was_deleted_are_told_as_lost() {
    let gate = Gate::default();
    let server = Server::start([Step::ok(), Step::ok().behind(&gate)]);
    let running = one_result_is_written(&server);
    fs::remove_file(running.path(OUT)).expect("it is there");
    gate.open();
    let done = running.wait();
    done.exits(3)
        .says("out.jsonl was deleted while the run wrote to it")
        .says("ok 2 ");
}

#[test]
fn results_whose_file_was_moved_are_told_as_lying_elsewhere() {
    let gate = Gate::default();
    let server = Server::start([Step::ok(), Step::ok().behind(&gate)]);
    let running = one_result_is_written(&server);
    let (out, moved) = (running.path(OUT), running.path("moved.jsonl"));
    fs::rename(&out, &moved).expect("it is there");
    fs::write(&out, "another\n").expect("the directory is ours");
    gate.open();
    let done = running.wait();
    done.exits(3)
        .says("out.jsonl was moved while the run wrote to it");
    assert_eq!(done.bytes(OUT), b"another\n");
    let moved = fs::read_to_string(moved).expect("it is there");
    assert_eq!(moved.lines().count(), 2, "{moved}");
}

/// In a network of its own, where this system lets a user have one: 20 ports for all connections.
#[cfg(target_os = "linux")]
fn with_few_ports(arguments: &[&str]) -> Option<std::process::Output> {
    const SETTING: &str = "/proc/sys/net/ipv4/ip_local_port_range";
    let prepared = format!("ip link set lo up && echo 40000 40019 > {SETTING}");
    let within = |command: &str| {
        let mut within = Command::new("unshare");
        within.args(["-rn", "sh", "-c", command, env!("CARGO_BIN_EXE_shaper")]);
        within
    };
    let is_possible = within(&prepared)
        .output()
        .is_ok_and(|it| it.status.success());
    let run = format!("{prepared} && exec \"$0\" \"$@\"");
    let run = || {
        within(&run)
            .args(arguments)
            .output()
            .expect("it has just run")
    };
    is_possible.then(run)
}

#[cfg(target_os = "linux")]
#[test]
fn a_system_without_a_free_port_makes_jobs_wait_and_not_fail() {
    let dir = tempfile::tempdir().expect("there is room");
    let (jobs, out) = (dir.path().join("jobs.urls"), dir.path().join(OUT));
    fs::write(&jobs, "http://h.test/\n".repeat(300)).expect("the folder is ours");
    let [jobs, out] = [&jobs, &out].map(|path| path.to_str().expect("it is text"));
    let arguments = ["run", jobs, "-o", out, "-c", "60", "--mock=latency=20ms"];
    let Some(done) = with_few_ports(&arguments) else {
        return;
    };
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let results = fs::read_to_string(out).expect("results");
    assert_eq!(results.matches("\"attempts\":1,").count(), 300, "{said}");
}
