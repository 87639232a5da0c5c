//! What a job may cost, as far as that does not swing with the machine: allocations, memory, and processor time
//! within bounds that a debug build on a busy machine keeps. `cargo bench` measures the rest.

#[path = "../benches/support/life.rs"]
mod life;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use allocation_counter::measure;
use rustix::time::{ClockId, clock_gettime};
use shaper::drive::simulated::Seen;
use shaper::engine::{Engine, Event, Rules};
use shaper::job::{Job, Units, UnitsFrom};
use shaper::metrics::{HoldOn, Metrics, Owner, Turn};
use shaper::outcome::Outcome;
use shaper::proof::Proof;
use shaper::units::Tick;
use tempfile::{NamedTempFile, TempDir};

/// Allocations of a job, from its line to the line of its result, under slots and four limits: 9 today.
const ALLOCATIONS: u64 = 10;

/// The most processor time of a debug build for one line and for one decision: five times what they take there.
const LINE: Duration = Duration::from_micros(100);
const DECISION: Duration = Duration::from_micros(10);

/// How much more a run may hold after all its jobs than after the first of them, in bytes: 55 for each job.
const GROWTH: u64 = 2 << 20;

fn file_of(lines: u64) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file for jobs");
    let text = life::lines(lines);
    file.write_all(text.as_bytes())
        .expect("there is room for jobs");
    file
}

#[test]
fn a_job_takes_few_allocations_from_its_line_to_the_line_of_its_result() {
    let [few, many] = [1_000, 3_000].map(|count| {
        let file = file_of(count);
        measure(|| life::whole(file.path())).count_total
    });
    let taken = many - few;
    assert!(
        taken <= ALLOCATIONS * 2_000,
        "{taken} allocations for 2000 jobs"
    );
}

/// Limits of which the first sets the pace and the others have room.
const STACK: [&str; 4] = [
    "1000/s bucket burst=1",
    "100000/m bucket burst=100000",
    "tokens 10M/m bucket burst=10M",
    "2000/1s window",
];

/// An engine that has granted one job, and holds so many back.
fn held(jobs: u64) -> Engine {
    let limits = STACK.map(|text| text.parse().expect("written as a limit"));
    let mut engine = Engine::new(Rules {
        limits: limits.into(),
        ..Rules::default()
    });
    let mut actions = Vec::new();
    let file = file_of(jobs + 1);
    for job in life::jobs(file.path()) {
        let units = Some(Units {
            input: 60,
            output: 40,
            source: UnitsFrom::Job,
        });
        let job = job.map(|job| Job { units, ..job });
        engine.tell(Tick::ZERO, Event::read(job, Tick::ZERO), &mut actions);
    }
    engine.decide(Tick::ZERO, &mut actions);
    engine
}

/// Looks so often whether its head may go, which it may not.
fn look(engine: &mut Engine, times: u64) {
    let mut actions = Vec::new();
    for nth in 1..=times {
        black_box(engine.decide(Tick(nth), &mut actions));
    }
    assert!(actions.is_empty(), "{actions:?}");
}

#[test]
fn another_look_at_a_head_that_is_held_allocates_nothing() {
    let mut engine = held(80);
    look(&mut engine, 1);
    let taken = measure(|| look(&mut engine, 1_000));
    assert_eq!(taken.count_total, 0, "{taken:?}");
}

/// What is counted of a job that was granted and has ended.
fn count(metrics: &mut Metrics, now: Tick, outcome: &Outcome) {
    let job = outcome.line.as_ref().expect("every line is a job");
    metrics.read();
    for made in &outcome.tries {
        metrics.granted(now);
        metrics.ended(now, made, &job.keys);
    }
    metrics.done(outcome);
    metrics.recorded(outcome.status);
    let turn = Turn {
        hold: HoldOn::Open(Owner::Slot),
        head: None,
        waiting: 1,
    };
    metrics.turn(now, turn);
}

#[test]
fn counting_a_job_allocates_only_where_a_table_grows() {
    let mut metrics = Metrics::new(Duration::ZERO, Proof::nothing());
    let (mut jobs, mut allocations) = (0, 0);
    life::run(file_of(3_000).path(), &mut |seen| {
        if let Seen::Done(now, outcome) = seen {
            jobs += 1;
            allocations += measure(|| count(&mut metrics, now, outcome)).count_total;
        }
    });
    assert_eq!(jobs, 3_000);
    assert!(
        allocations <= 60,
        "{allocations} allocations to count {jobs} jobs"
    );
}

/// What this thread has had of a core: neither other tests nor other programs count.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("it does not run backwards")
}

/// The least of some rounds, for each of so many.
fn least(count: u32, mut work: impl FnMut()) -> Duration {
    let rounds = (0..5).map(|_| {
        let before = cpu();
        work();
        cpu().saturating_sub(before)
    });
    rounds.min().expect("there are rounds") / count
}

#[test]
fn a_line_is_read_in_little_time() {
    let file = file_of(2_000);
    let each = least(2_000, || life::jobs(file.path()).for_each(drop));
    assert!(each <= LINE, "{each:?} for a line");
}

#[test]
fn a_decision_over_four_limits_takes_little_time_however_many_wait() {
    for waiting in [80, 10_000] {
        let mut engine = held(waiting);
        let each = least(2_000, || look(&mut engine, 2_000));
        assert!(each <= DECISION, "{each:?} while {waiting} wait");
    }
}

/// The most that a process has held until now, in bytes.
fn most_resident(process: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id()));
    let status = status.expect("it runs");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let most = most.and_then(|most| most.trim().strip_suffix(" kB"));
    let kibibytes: u64 = most.and_then(|most| most.parse().ok()).expect("a number");
    kibibytes << 10
}

#[test]
fn memory_does_not_grow_with_the_jobs_that_are_done() {
    const FEW: usize = 2_000;
    const ALL: usize = 40_000;
    let folder = TempDir::new().expect("a folder for results");
    let results = folder.path().join("results.jsonl");
    File::create(&results).expect("the folder is ours");
    let mut process = Command::new(env!("CARGO_BIN_EXE_shaper"))
        .args([
            "run",
            "-",
            "-c",
            "50",
            "--qps",
            "1000000",
            "--mock=latency=1ms",
        ])
        .args(["--quiet", "--report", "none", "--overwrite", "-o"])
        .arg(&results)
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = process.stdin.take().expect("it is piped");
    let mut results = BufReader::new(File::open(&results).expect("it was just made"));
    let mut after = |jobs: usize| {
        for _ in 0..jobs {
            writeln!(input, "http://127.0.0.1/").expect("the program reads");
        }
        let (mut read, mut line) = (0, String::new());
        while read < jobs {
            if results.read_line(&mut line).expect("it can be read") == 0 {
                thread::sleep(Duration::from_millis(5));
            }
            if line.ends_with('\n') {
                line.clear();
                read += 1;
            }
        }
        // It waits for more.
        most_resident(&process)
    };
    let few = after(FEW);
    let all = after(ALL - FEW);
    drop(input);
    assert!(process.wait().expect("it is our child").success());
    assert!(
        all <= few + GROWTH,
        "{few} bytes after {FEW} jobs, {all} after {ALL}"
    );
}
