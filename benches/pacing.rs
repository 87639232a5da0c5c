//! How well a live run keeps its rate: `cargo bench --bench pacing` (three minutes; promises, on two cores that
//! do nothing else: at least 99 % of the rate asked for; after a stop of 5 s no more at once than the burst and
//! what the slack holds; under 10 % of a core at 1000/s with 10 000 jobs waiting; a recorded hour at 60x within 1 % of
//! a minute, and in order).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use shaper::clock::Clock;
use support::process::{TICKS_PER_SECOND, ticks};

/// Rates per second, how many seconds each run takes, and rounds: an odd number, the middle one is printed.
const RATES: [(u64, u64, usize); 4] = [(10, 15, 1), (100, 5, 3), (1000, 4, 3), (5000, 4, 3)];

/// The share of the rate that is promised.
const PROMISED: f64 = 0.99;

/// The rate and burst of the run that is stopped, and for how long it stands.
const STOPPED: (u64, u64, Duration) = (1000, 5, Duration::from_secs(5));

/// How long ago a bucket may be charged: see `--qps`. In microseconds.
const SLACK: u64 = 2_000;

/// Jobs held while CPU time is measured.
const WAITING: [u64; 2] = [10_000, 100];

/// How long it is measured.
const MEASURED: Duration = Duration::from_secs(10);

/// What the line alone may cost, in per cent of a core; sending costs more (the client, and this system).
const LINE: f64 = 10.0;

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
    for (asked, seconds, rounds) in RATES {
        let round = |_| run(folder.path(), asked, seconds);
        let mut rounds: Vec<Run> = (0..rounds).map(round).collect();
        rounds.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let Run {
            rate,
            largest_gap,
            late,
        } = &rounds[rounds.len() / 2];
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
    stop(folder.path());
    let (mut server, address) = mock();
    let [many, few] = WAITING.map(|waiting| wait_in_line(folder.path(), &address, waiting));
    println!(
        "{} jobs held at 1000/s: {many:.1} % of a core, {few:.1} % with {} held: the line costs {:.1} %{}",
        WAITING[0],
        WAITING[1],
        many - few,
        if many - few < LINE { "" } else { "  TOO MUCH" },
    );
    end(&mut server);
    recorded_hour(folder.path());
}

/// A recorded hour at sixty times its speed, 100/s, where every ninth stamp stands behind later ones.
fn recorded_hour(folder: &Path) {
    const JOBS: u64 = 6_000;
    let mut stamps: Vec<u64> = (0..JOBS).map(|nth| nth * 3_600_000 / (JOBS - 1)).collect();
    let last = stamps.len() - 5;
    for nth in (3..last).step_by(9) {
        stamps.swap(nth, nth + 4);
    }
    let jobs = stamps.iter().fold(String::new(), |mut jobs, at| {
        let (seconds, millis) = (at / 1_000, at % 1_000);
        let job = format!("{{\"url\":\"http://api.test/\",\"at\":{seconds}.{millis:03}}}");
        writeln!(jobs, "{job}").expect("memory takes all");
        jobs
    });
    let input = folder.join("hour.jsonl");
    fs::write(&input, jobs).expect("there is room for jobs");
    let status = Command::new(env!("CARGO_BIN_EXE_shaper"))
        .args(["replay", "--speed", "60x", "--mock=latency=1ms", "--quiet"])
        .args(["--overwrite", "-o"])
        .args([&folder.join("results.jsonl"), &input])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "every job is ok"
    );
    let tries = tries(folder);
    let moment = |made: &Value| (micros(made, "sent_us"), micros(made, "due_us"));
    let mut moments: Vec<_> = tries.iter().map(moment).collect();
    moments.sort_unstable();
    let mut late: Vec<u64> = moments.iter().map(|(sent, due)| sent - due).collect();
    late.sort_unstable();
    let took = moments[moments.len() - 1].0 - moments[0].0;
    let overtaken = moments.windows(2).filter(|pair| pair[1].1 < pair[0].1);
    let (overtaken, percent) = (overtaken.count(), |percent| {
        late[(late.len() - 1) * percent / 100]
    });
    println!(
        "a recorded hour at 60x took {took} us; late p50 {} us, p99 {} us, max {} us; {overtaken} overtaken{}",
        percent(50),
        percent(99),
        percent(100),
        if took.abs_diff(60_000_000) < 600_000 && overtaken == 0 {
            ""
        } else {
            "  NOT AS RECORDED"
        },
    );
}

/// So many jobs, in a file.
fn jobs(folder: &Path, count: u64) -> PathBuf {
    let jobs = (0..count).fold(String::new(), |mut jobs, nth| {
        writeln!(jobs, "http://api.test/{nth}").expect("memory takes all");
        jobs
    });
    let input = folder.join("jobs.urls");
    fs::write(&input, jobs).expect("there is room for jobs");
    input
}

/// `shaper run` at that rate, with the modelled API in the same process.
fn paced(folder: &Path, rate: u64, burst: u64, jobs: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shaper"));
    command
        .args(["run", "--mock=latency=1ms", "-c", "100", "--quiet"])
        .args(["--qps", &rate.to_string(), "--burst", &burst.to_string()])
        .args(["--overwrite", "-o"])
        .args([&folder.join("results.jsonl"), jobs]);
    command
}

/// The first try of each result.
fn tries(folder: &Path) -> Vec<Value> {
    let results = fs::read_to_string(folder.join("results.jsonl")).expect("there are results");
    let first = |line| {
        let mut result: Value = serde_json::from_str(line).expect("a result is JSON");
        result["tries"][0].take()
    };
    results.lines().map(first).collect()
}

fn micros(made: &Value, key: &str) -> u64 {
    made[key].as_u64().expect("it was sent")
}

fn run(folder: &Path, asked: u64, seconds: u64) -> Run {
    let input = jobs(folder, asked * seconds);
    let status = paced(folder, asked, 1, &input).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "every job is ok"
    );
    let (mut sent, mut late) = (Vec::new(), Vec::new());
    for made in tries(folder) {
        let at = micros(&made, "sent_us");
        sent.push(at);
        late.push(at.saturating_sub(micros(&made, "due_us")));
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

/// Stops a run in its middle and lets it go on: what it grants then.
fn stop(folder: &Path) {
    let (rate, burst, stop) = STOPPED;
    let input = jobs(folder, 3 * rate);
    let mut program = paced(folder, rate, burst, &input)
        .spawn()
        .expect("the program was built");
    for (pause, signal) in [(Duration::from_secs(1), Signal::STOP), (stop, Signal::CONT)] {
        thread::sleep(pause);
        kill_process(Pid::from_child(&program), signal).expect("it runs");
    }
    let status = program.wait().expect("it is ours");
    assert!(status.success(), "every job is ok: {status}");
    let mut granted: Vec<u64> = tries(folder)
        .iter()
        .map(|made| micros(made, "granted_us"))
        .collect();
    granted.sort_unstable();
    let (woken, gap) = (1..granted.len())
        .map(|nth| (nth, granted[nth] - granted[nth - 1]))
        .max_by_key(|(_, gap)| *gap)
        .expect("there are many grants");
    let within = |span: u64| {
        let after = granted[woken..].iter();
        after.take_while(|at| **at - granted[woken] <= span).count() as u64
    };
    let most = |span: u64| burst + (rate * (span + SLACK)).div_ceil(1_000_000);
    println!(
        "stopped for {:.1} s at {rate}/s, burst {burst}: {} at once (at most {}), {} within 2 ms (at most {}){}",
        Duration::from_micros(gap).as_secs_f64(),
        within(0),
        most(0),
        within(SLACK),
        most(SLACK),
        if within(0) > most(0) || within(SLACK) > most(SLACK) {
            "  TOO MANY"
        } else {
            ""
        },
    );
}

/// The modelled API in a process of its own, and its address.
fn mock() -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_shaper"))
        .args(["mock", "--listen", "127.0.0.1:0", "--latency", "1ms"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was built");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it tells its address");
    let address = line.trim().trim_start_matches("listening on ").to_owned();
    (server, address)
}

/// CPU time of a run at 1000/s while `waiting` jobs wait, in per cent of a core.
fn wait_in_line(folder: &Path, server: &str, waiting: u64) -> f64 {
    const RATE: u64 = 1000;
    // The line is full to the end: what is sent is read anew.
    let sent = RATE * (MEASURED.as_secs() + 5);
    let list = format!("{server}/\n").repeat(usize::try_from(waiting + sent).expect("not many"));
    let input = folder.join("waiting.urls");
    fs::write(&input, list).expect("there is room for jobs");
    let mut program = Command::new(env!("CARGO_BIN_EXE_shaper"))
        .args(["run", "--quiet", "-c", "none", "--arrivals", "once"])
        .args(["--qps", &RATE.to_string(), "-o", "/dev/null"])
        .args(["--lookahead", &waiting.to_string()])
        .arg(&input)
        .spawn()
        .expect("the program was built");
    // Reading ahead is over by then.
    thread::sleep(Duration::from_secs(2));
    let had = || ticks(program.id()).expect("it runs");
    let (clock, before) = (Clock::start(), had());
    thread::sleep(MEASURED);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let cpu = (had() - before) as f64 / TICKS_PER_SECOND;
    let share = cpu / Duration::from_nanos(clock.now().0).as_secs_f64();
    end(&mut program);
    share * 100.0
}

fn end(program: &mut Child) {
    program.kill().expect("it runs");
    program.wait().expect("it is ours");
}
