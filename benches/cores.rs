//! What a run takes of each core: `cargo bench --bench cores` (a minute and a half on two cores that do nothing else,
//! on Linux). Prints for each way to run the same jobs what a request costs every thread in processor time, and how
//! many requests a second there were.
//!
//! `SHAPER=path` runs another build in place of this one (`cargo build --profile dist`), `ROUNDS=3` is how often each
//! is run; every figure is a median of the rounds.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod support;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::WaitIdOptions;
use support::life;
use support::process::{over, threads};
use support::server::{Server, now, on_core, serve_if_asked};

/// Requests of a run, however many processes share them.
const REQUESTS: u64 = 200_000;

/// Connections of each process.
const CONNECTIONS: u64 = 50;

/// The cores of server and client, where each has one of its own.
const CORES: [usize; 2] = [0, 1];

/// How often threads are looked at.
const LOOK: Duration = Duration::from_millis(5);

/// One way to run the jobs.
struct Way {
    name: &'static str,
    processes: u64,
    /// Any, if none is named: the server's too.
    core: Option<usize>,
    words: &'static str,
}

const WAYS: [Way; 5] = [
    Way {
        name: "one process, one core",
        processes: 1,
        core: Some(CORES[1]),
        words: "",
    },
    Way {
        name: "one process, any core",
        processes: 1,
        core: None,
        words: "",
    },
    Way {
        name: "the same, --fsync 100ms",
        processes: 1,
        core: None,
        words: " --fsync 100ms",
    },
    Way {
        name: "two processes, one core",
        processes: 2,
        core: Some(CORES[1]),
        words: "",
    },
    Way {
        name: "two processes, any core",
        processes: 2,
        core: None,
        words: "",
    },
];

/// What is seen of a run: microseconds of a core for each request, by the name of the thread.
struct Seen {
    threads: BTreeMap<String, f64>,
    server: f64,
    /// Requests a second.
    rate: f64,
}

fn main() {
    serve_if_asked();
    let rounds = env::var("ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(3);
    let folder = tempfile::tempdir().expect("a folder for jobs");
    let server = Server::start(Some(CORES[0]));
    let mut seen: Vec<Vec<Seen>> = WAYS.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (way, seen) in WAYS.iter().zip(&mut seen) {
            seen.push(run(way, &server, folder.path()));
        }
    }
    println!(
        "{REQUESTS} POST requests, {CONNECTIONS} connections each; us of a core for a request\n"
    );
    println!("| | run | input | fsync | others | server | requests/s |");
    println!("|---|---|---|---|---|---|---|");
    for (way, seen) in WAYS.iter().zip(&seen) {
        let of = |name: &str| {
            middle(
                seen.iter()
                    .map(|seen| seen.threads.get(name).copied().unwrap_or(0.0)),
            )
        };
        let others = |seen: &Seen| {
            let named = |name: &str| ["run", "input", "fsync"].contains(&name);
            let others = seen.threads.iter().filter(|(name, _)| !named(name));
            others.map(|(_, each)| each).sum()
        };
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} |",
            way.name,
            of("run"),
            of("input"),
            of("fsync"),
            middle(seen.iter().map(others)),
            middle(seen.iter().map(|seen| seen.server)),
            middle(seen.iter().map(|seen| seen.rate)),
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn run(way: &Way, server: &Server, folder: &Path) -> Seen {
    let each = REQUESTS / way.processes;
    let jobs = folder.join("jobs.jsonl");
    let lines = life::lines(each).replace(":8080/", &format!(":{}/", server.port));
    fs::write(&jobs, lines).expect("there is room for jobs");
    let of_server = || {
        threads(server.id())
            .values()
            .map(|(_, time)| time.as_secs_f64())
            .sum::<f64>()
    };
    let before = of_server();
    let started = now();
    let mut running: Vec<Child> = (0..way.processes).map(|nth| {
        let results = folder.join(format!("results-{nth}.jsonl"));
        let words = format!(
            "run {} -c {CONNECTIONS} --qps 1000000 --burst 1000000 --quiet --report none --overwrite -o {}{}",
            jobs.display(),
            results.display(),
            way.words,
        );
        let program = env::var("SHAPER").unwrap_or(env!("CARGO_BIN_EXE_shaper").into());
        let mut command = on_core(way.core, program);
        command.args(words.split(' ')).stdin(Stdio::null());
        command.spawn().expect("taskset is there")
    }).collect();
    let mut seen = BTreeMap::new();
    while !running
        .iter()
        .all(|process| over(process, WaitIdOptions::NOHANG))
    {
        for process in &running {
            seen.extend(threads(process.id()));
        }
        thread::sleep(LOOK);
    }
    let seconds = (now() - started) as f64 / 1e9;
    for process in &mut running {
        let ended = process.wait().expect("it is ours");
        assert!(ended.success(), "{}: {ended}", way.name);
    }
    let each = |seconds: f64| seconds * 1e6 / REQUESTS as f64;
    let mut threads = BTreeMap::new();
    for (name, time) in seen.into_values() {
        *threads.entry(name).or_default() += each(time.as_secs_f64());
    }
    Seen {
        threads,
        server: each(of_server() - before),
        rate: REQUESTS as f64 / seconds,
    }
}

fn middle(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
