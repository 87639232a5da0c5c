//! What a long run holds: `cargo bench --bench soak [-- JOBS [NAME...]]` (a quarter of an hour, on Linux;
//! promise: from a tenth of the jobs on memory grows by at most 30 MB, and 40 bytes for each id, whatever is
//! answered and by however many hosts). With fewer than 100 000 jobs the start is a part of it.
//!
//! `SHAPER=path` runs another build in place of this one.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod support;

use std::env;
use std::io::{BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};
use shaper::clock::Clock;
use support::process::{TICKS_PER_SECOND, resident, ticks};
use support::server::{REFUSED, Server, serve_if_asked};

/// Jobs of a run, if the command line says nothing else.
const JOBS: u64 = 3_000_000;

/// How much memory may grow after a tenth of the jobs, in kB of 1000 bytes.
const GROWTH: u64 = 30_000;

/// What each id may add to that, in bytes: a second job with the same one is to be found.
const ID: u64 = 40;

/// Loopback addresses that are asked in turn.
const HOSTS: u64 = 200_000;

/// How often the program is looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// Lines that the program has been given.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// A way to be asked for long.
struct Soak {
    name: &'static str,
    what: &'static str,
    line: fn(u64, port: u16) -> String,
    /// Bytes that each job may leave behind.
    each: u64,
}

const SOAKS: [Soak; 4] = [
    Soak {
        name: "urls",
        what: "URLs of one host",
        line: |nth, port| format!("http://127.0.0.1:{port}/{nth}"),
        each: 0,
    },
    Soak {
        name: "ids",
        what: "JSON lines with ids, of one host",
        line: |nth, port| format!(r#"{{"id":"job-{nth}","url":"http://127.0.0.1:{port}/{nth}"}}"#),
        each: ID,
    },
    Soak {
        name: "refused",
        what: "URLs of one host, every third answered 429 twice",
        line: |nth, port| match nth % 3 {
            0 => format!("http://127.0.0.1:{port}{REFUSED}{nth}"),
            _ => format!("http://127.0.0.1:{port}/{nth}"),
        },
        each: 0,
    },
    Soak {
        name: "hosts",
        what: "URLs of 200000 hosts in turn",
        line: |nth, port| {
            let host = nth % HOSTS;
            let [.., high, middle, low] = host.to_be_bytes();
            format!("http://127.{}.{middle}.{low}:{port}/{nth}", high + 1)
        },
        each: 0,
    },
];

fn main() {
    // Each connection is a file, here as in the program.
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).expect("the soft limit may be raised to the hard one");
    serve_if_asked();
    let words: Vec<String> = env::args().skip(1).collect();
    let jobs = words.iter().find_map(|word| word.parse().ok());
    let named = |soak: &Soak| words.iter().any(|word| word == soak.name);
    let all = !SOAKS.iter().any(named);
    for soak in SOAKS.iter().filter(|soak| all || named(soak)) {
        run(soak, jobs.unwrap_or(JOBS));
    }
}

/// What is found of a run.
#[derive(Default)]
struct Found {
    /// Resident after a tenth of the jobs, in kB.
    early: u64,
    /// The most after that.
    most: u64,
    /// Resident just before the end, in kB.
    last: u64,
    /// CPU time until then, in ticks.
    ticks: u64,
}

fn run(soak: &Soak, jobs: u64) {
    let server = Server::start(None);
    let clock = Clock::start();
    let program = env::var_os("SHAPER").unwrap_or(env!("CARGO_BIN_EXE_shaper").into());
    let mut program = Command::new(program)
        .args(["run", "-", "-c", "100", "-o", "/dev/null", "--quiet"])
        .args(["--backoff", "1ms..2ms", "--report", "none"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    GIVEN.store(0, Ordering::Relaxed);
    let input = program.stdin.take().expect("it is piped");
    let (line, port) = (soak.line, server.port);
    let feed = thread::spawn(move || give(input, jobs, |nth| line(nth, port)));
    let found = watch(&mut program, jobs);
    let seconds = Duration::from_nanos(clock.now().0).as_secs_f64();
    feed.join().expect("every line was taken");
    let allowed = found.early + GROWTH + soak.each * (jobs - jobs / 10) / 1_000;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let (lines, cpu) = (jobs as f64, found.ticks as f64 / TICKS_PER_SECOND);
    println!(
        "{:8} {jobs} {}: {} kB after a tenth, {} kB at the end, {} kB at most{}",
        soak.name,
        soak.what,
        found.early,
        found.last,
        found.most,
        if found.most > allowed {
            "  TOO MUCH"
        } else {
            ""
        },
    );
    println!(
        "         {seconds:.1} s, {:.0} jobs/s, {:.2} s of CPU per 100000 jobs",
        lines / seconds,
        cpu / (lines / 100_000.0),
    );
}

fn give(input: ChildStdin, jobs: u64, line: impl Fn(u64) -> String) {
    let mut input = BufWriter::new(input);
    for nth in 0..jobs {
        writeln!(input, "{}", line(nth)).expect("the program reads to the end");
        GIVEN.store(nth, Ordering::Relaxed);
    }
}

/// Waits for the end.
fn watch(program: &mut Child, jobs: u64) -> Found {
    let mut found = Found::default();
    loop {
        if let (Some(now), Some(ticks)) = (resident(program.id()), ticks(program.id())) {
            (found.last, found.ticks) = (now, ticks);
        }
        if GIVEN.load(Ordering::Relaxed) < jobs / 10 {
            (found.early, found.most) = (found.last, 0);
        }
        found.most = found.most.max(found.last);
        if let Some(status) = program.try_wait().expect("it is ours") {
            assert!(status.success(), "every job is ok: {status}");
            return found;
        }
        thread::sleep(PERIOD);
    }
}
