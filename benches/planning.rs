//! How fast a plan of many jobs is, and how near it comes to real runs: `cargo bench --bench planning [-- JOBS]`
//! (four minutes; promise: ten million jobs in under 40 s on two cores and in 100 MB, and within 5 % of each run).
//!
//! `SHAPER=path` runs another build in place of this one.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::env;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use shaper::clock::Clock;

/// Jobs of a large plan, if the command line says nothing else.
const JOBS: u64 = 10_000_000;

/// How often the memory of a plan is looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// Jobs of a run.
const FEW: u64 = 1_000;

/// The bounds of a run, and what answers.
const SETTINGS: [(&str, &str); 12] = [
    ("-c 20", "latency=100ms"),
    ("-c 10", "latency=exp:50ms"),
    ("-c 20", "latency=p50:80ms/p99:400ms"),
    ("-c 20", "latency=50ms,slots=5"),
    ("-c 20 --qps 100", "latency=100ms"),
    ("-c 50 --tps 10000 --token-burst 20000", "latency=100ms"),
    (
        "-c 20 --tps 5000 --token-burst 1000",
        "latency=50ms,tokens=40",
    ),
    ("-c 50 --window 100/1s", "latency=100ms"),
    ("-c 50 --window 100/1s", "latency=exp:50ms"),
    ("-c 50 --window 100/1s", "latency=100ms,limit=100/1s window"),
    ("-c 20 --backoff 100ms..2s", "latency=50ms,fail=503:20%"),
    ("-c 20 --max-attempts 9", "latency=50ms,limit=100/1s window"),
];

fn main() {
    let folder = tempfile::tempdir().expect("a folder for jobs");
    let jobs = env::args().find_map(|word| word.parse().ok());
    let jobs = jobs.unwrap_or(JOBS);
    let equal = folder.path().join("equal.jsonl");
    let urls = folder.path().join("different.urls");
    write(&equal, jobs, |_| {
        r#"{"url":"http://h/x","tokens":120}"#.to_owned()
    });
    write(&urls, jobs, |nth| format!("http://api.test/items/{nth}"));
    for (file, bounds) in [
        (&equal, "-c 20 --qps 1000 --tpm 10M"),
        (&equal, "-c 20"),
        (&equal, "-c none"),
        (&urls, "-c 20 --qps 1000"),
    ] {
        large(file, bounds, jobs);
    }
    let few = folder.path().join("few.jsonl");
    write(&few, FEW, |nth| {
        format!(r#"{{"url":"http://h/{nth}","tokens":100}}"#)
    });
    let heading = format!("{FEW} jobs of 100 tokens");
    println!("{heading:<70}{:>10}{:>12}{:>10}", "planned", "run", "apart");
    for (bounds, api) in SETTINGS {
        beside(&few, bounds, api);
    }
}

fn write(path: &Path, jobs: u64, line: impl Fn(u64) -> String) {
    let mut file = BufWriter::new(File::create(path).expect("the folder is ours"));
    for nth in 0..jobs {
        writeln!(file, "{}", line(nth)).expect("there is room for jobs");
    }
    file.flush().expect("there is room for jobs");
}

fn shaper(command: &str) -> Command {
    let own = env!("CARGO_BIN_EXE_shaper").to_owned();
    let mut shaper = Command::new(env::var("SHAPER").unwrap_or(own));
    shaper.arg(command);
    shaper
}

/// A plan of all jobs in a file: its time and the most memory that it had.
fn large(file: &Path, bounds: &str, jobs: u64) {
    let mut plan = shaper("plan");
    plan.args(["--report", "none", "--quiet"]).arg(file);
    let clock = Clock::start();
    let mut plan = plan.args(bounds.split(' ')).spawn().expect("it plans");
    let mut most = 0.0;
    let done = loop {
        if let Some(done) = plan.try_wait().expect("it is our child") {
            break done;
        }
        most = memory(plan.id()).unwrap_or(most);
        thread::sleep(PERIOD);
    };
    let seconds = Duration::from_nanos(clock.now().0).as_secs_f64();
    assert!(done.success(), "{bounds}: {done}");
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let each = seconds * 1e6 / jobs as f64;
    println!("{jobs} jobs of {name}, {bounds}: {seconds:.1} s, {each:.2} us each, {most:.1} MB");
}

/// The most memory that a process had, in MB.
fn memory(id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = most.trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// A plan, and a run on the modelled API over HTTP.
fn beside(file: &Path, bounds: &str, api: &str) {
    let mut plan = shaper("plan");
    plan.args(["--report", "json", "--seed", "7", "--api", api]);
    let done = plan.arg(file).args(bounds.split(' ')).output();
    let done = done.expect("it plans");
    assert!(done.status.success(), "{bounds}: {done:?}");
    let planned = ms(&done.stdout);

    let report = file.with_extension("json");
    let mut run = shaper("run");
    run.args(["--report", "json", "--seed", "7", "--report-file"]);
    run.arg(&report).arg(format!("--mock={api}")).arg(file);
    run.args(bounds.split(' '));
    run.stdout(Stdio::null()).stderr(Stdio::null());
    let done = run.status().expect("it runs");
    assert!(done.success() || done.code() == Some(1), "{bounds}: {done}");
    let made = ms(&fs::read(report).expect("the run has written it"));

    let apart = (planned / made - 1.0) * 100.0;
    let setting = format!("{bounds}   {api}");
    println!("{setting:<70}{planned:>7.0} ms{made:>9.0} ms{apart:>8.1} %");
}

fn ms(report: &[u8]) -> f64 {
    let report: Value = serde_json::from_slice(report).expect("it is JSON");
    report["elapsed_ms"].as_f64().expect("it has ended")
}
