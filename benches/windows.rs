//! Sliding windows against a server that is as strict: `cargo bench --bench windows` (a minute; promise: with
//! `at=reply` not one of 100 000 requests is refused, however busy the machine; with a guard none on a quiet
//! one, where the jitter of the way stays below it).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::fs;
use std::hint;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

/// Threads that do nothing, as fast as they can: two cores are busy without the run.
const SPINNING: usize = 2;

/// A run: the limit of both sides, what else the own one says, slots, requests.
const RUNS: [(&str, &str, &str, Machine, usize); 2] = [
    (
        "500/100ms window",
        "at=reply",
        "600",
        Machine::Busy,
        100_000,
    ),
    (
        "50/100ms window",
        "guard=25ms",
        "100",
        Machine::Quiet,
        10_000,
    ),
];

/// What else the machine does.
#[derive(Clone, Copy)]
enum Machine {
    Busy,
    Quiet,
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder for jobs");
    println!("limit                       machine  refused  of requests   reached  p99.9 - median");
    for (limit, at, slots, machine, requests) in RUNS {
        let over = AtomicBool::new(false);
        let report = thread::scope(|scope| {
            let spinning = match machine {
                Machine::Busy => SPINNING,
                Machine::Quiet => 0,
            };
            for _ in 0..spinning {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                });
            }
            let report = run(folder.path(), [limit, at, slots], requests);
            over.store(true, Ordering::Relaxed);
            report
        });
        let answered = |status: &str| report["statuses"][status].as_u64().unwrap_or(0);
        let (refused, ok) = (answered("429"), answered("200"));
        assert_eq!(refused + ok, requests as u64, "every request is answered");
        let figure = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let service = &report["latency"]["service"]["ok"];
        println!(
            "{:27} {:7} {refused:8} {requests:12} {:7.0}/s  {:11.1} ms{}",
            format!("{limit} {at}"),
            match machine {
                Machine::Busy => "busy",
                Machine::Quiet => "quiet",
            },
            figure(&report["rate_reached_per_s"]),
            figure(&service["p999"]) - figure(&service["p50"]),
            if refused == 0 { "" } else { "  TOO MANY" },
        );
    }
}

/// The report of a run of so many requests under that limit, on both sides.
fn run(folder: &Path, [limit, at, slots]: [&str; 3], requests: usize) -> Value {
    let (jobs, report) = (folder.join("jobs.urls"), folder.join("report.json"));
    fs::write(&jobs, "http://api.test/\n".repeat(requests)).expect("there is room for jobs");
    let status = Command::new(env!("CARGO_BIN_EXE_shaper"))
        .args(["run", "-c", slots, "--max-attempts", "1", "--quiet"])
        .arg(format!("--mock=latency=1ms,limit={limit}"))
        .args(["--limit", &format!("{limit} {at}")])
        .args(["-o", "/dev/null", "--report", "json", "--report-file"])
        .args([&report, &jobs])
        .status()
        .expect("the program was built");
    // 1: some were refused, which the report counts.
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
    let text = fs::read(report).expect("there is a report");
    serde_json::from_slice(&text).expect("it is JSON")
}
