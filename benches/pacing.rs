//! How well a live run keeps its rate: `cargo bench --bench pacing` (a minute; promise: at least 98 % of
//! the rate asked for, on two cores that do nothing else).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Rates per second.
const RATES: [u64; 4] = [500, 1000, 2000, 5000];

/// How long each run takes.
const SECONDS: u64 = 4;

/// An odd number: the middle one is printed.
const ROUNDS: usize = 3;

/// The share of the rate that is promised.
const PROMISED: f64 = 0.98;

/// What the results of a run say.
struct Run {
    /// `(N - 1) / (last send - first send)`, per second.
    rate: f64,
    /// Between two sends, in microseconds.
    largest_gap: u64,
    /// Sends later than due, sorted, in microseconds.
    late: Vec<u64>,
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder for results");
    println!("asked     reached        of it  largest gap  late p50     p99     max");
    for asked in RATES {
        let mut rounds: Vec<Run> = (0..ROUNDS).map(|_| run(folder.path(), asked)).collect();
        rounds.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let Run {
            rate,
            largest_gap,
            late,
        } = &rounds[ROUNDS / 2];
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let share = rate / asked as f64;
        let late = |percent: usize| late[(late.len() - 1) * percent / 100];
        println!(
            "{asked:5}/s {rate:9.1}/s  {:9.1} %  {largest_gap:8} us {:6} us {:4} us {:4} us{}",
            share * 100.0,
            late(50),
            late(99),
            late(100),
            if share < PROMISED { "  TOO SLOW" } else { "" },
        );
    }
}

fn run(folder: &Path, asked: u64) -> Run {
    let jobs = (0..asked * SECONDS).fold(String::new(), |mut jobs, nth| {
        writeln!(jobs, "http://api.test/{nth}").expect("memory takes all");
        jobs
    });
    let (input, output) = (folder.join("jobs.urls"), folder.join("results.jsonl"));
    fs::write(&input, jobs).expect("there is room for jobs");
    let status = Command::new(env!("CARGO_BIN_EXE_shaper"))
        .args(["run", "--mock=latency=1ms", "-c", "100", "--burst", "1"])
        .args(["--quiet", "--overwrite", "--qps", &asked.to_string()])
        .arg("-o")
        .args([&output, &input])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "every job is ok"
    );
    let results = fs::read_to_string(&output).expect("there are results");
    let (mut sent, mut late) = (Vec::new(), Vec::new());
    for line in results.lines() {
        let result: Value = serde_json::from_str(line).expect("a result is JSON");
        let made = &result["tries"][0];
        let at = |key: &str| made[key].as_u64().expect("it was sent");
        sent.push(at("sent_us"));
        late.push(at("sent_us").saturating_sub(at("due_us")));
    }
    sent.sort_unstable();
    late.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "53 bits hold microseconds")]
    let rate = (sent.len() - 1) as f64 * 1e6 / (sent[sent.len() - 1] - sent[0]) as f64;
    let gaps = sent.windows(2).map(|pair| pair[1] - pair[0]);
    Run {
        rate,
        largest_gap: gaps.max().expect("there are many sends"),
        late,
    }
}
