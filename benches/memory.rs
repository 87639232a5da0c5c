//! What a long run holds: `cargo bench --bench memory` (two minutes, on Linux; promise: a million lines in
//! less than 60 MB, the modelled API included).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::fs;
use std::io::{BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use shaper::clock::Clock;

/// Lines of a run.
const LINES: u64 = 1_000_000;

/// The most that is promised, in kB of 1000 bytes.
const PROMISED: u64 = 60_000;

/// What the system charges CPU time in: `USER_HZ`, 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// How often the program is looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// Lines that the program has been given.
static GIVEN: AtomicU64 = AtomicU64::new(0);

fn main() {
    run("URLs", |nth| format!("http://api.test/items/{nth}"));
    run("JSONL with ids", |nth| {
        format!(
            r#"{{"id":"job-{nth}","url":"http://api.test/items/{nth}","method":"POST","body":{{"n":{nth}}}}}"#
        )
    });
}

/// Memory and CPU time of a program, as the system counts them.
#[derive(Default)]
struct Used {
    /// Resident now, in kB.
    now: u64,
    /// The most that ever was, in kB.
    most: u64,
    /// CPU time in ticks.
    ticks: u64,
}

fn run(name: &str, line: impl Fn(u64) -> String + Send + 'static) {
    let clock = Clock::start();
    let mut program = Command::new(env!("CARGO_BIN_EXE_shaper"))
        .args(["run", "-", "--mock=latency=1ms", "-c", "100", "--quiet"])
        .args(["-o", "/dev/null", "--report", "none"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    GIVEN.store(0, Ordering::Relaxed);
    let input = program.stdin.take().expect("it is piped");
    let feed = thread::spawn(move || give(input, line));
    let (early, last) = watch(&mut program);
    let seconds = Duration::from_nanos(clock.now().0).as_secs_f64();
    feed.join().expect("every line was taken");
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let (lines, cpu) = (LINES as f64, last.ticks as f64 / TICKS_PER_SECOND);
    println!(
        "{LINES} lines of {name}: {} kB after a tenth, {} kB at the end, {} kB at most{}",
        early.now,
        last.now,
        last.most,
        if last.most < PROMISED {
            ""
        } else {
            "  TOO MUCH"
        },
    );
    println!(
        "  {seconds:.1} s, {:.0} requests/s, {:.2} s of CPU per 100000 requests with their answers",
        lines / seconds,
        cpu / (lines / 100_000.0),
    );
}

fn give(input: ChildStdin, line: impl Fn(u64) -> String) {
    let mut input = BufWriter::new(input);
    for nth in 0..LINES {
        writeln!(input, "{}", line(nth)).expect("the program reads to the end");
        GIVEN.store(nth, Ordering::Relaxed);
    }
}

/// Waits for the end; what was used after a tenth of the lines, and just before the end.
fn watch(program: &mut Child) -> (Used, Used) {
    let (mut early, mut last) = (Used::default(), Used::default());
    loop {
        if let Some(used) = used(program.id()) {
            last = used;
        }
        if GIVEN.load(Ordering::Relaxed) < LINES / 10 {
            early.now = last.now;
        }
        if let Some(status) = program.try_wait().expect("it is ours") {
            assert!(status.success(), "every job is ok: {status}");
            return (early, last);
        }
        thread::sleep(PERIOD);
    }
}

/// `None` once the program has let go of its memory.
fn used(id: u32) -> Option<Used> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes * 1024 / 1000)
    };
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // Behind the name, which may hold blanks: fields 14 and 15 are the times, see proc(5).
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(2);
    Some(Used {
        now: field("VmRSS:")?,
        most: field("VmHWM:")?,
        ticks: times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum(),
    })
}
