//! What a job may cost, as far as that does not swing with the machine: allocations, memory, and processor time
//! within bounds that a debug build on a busy machine keeps. `cargo bench` measures the rest.

#[path = "../benches/support/life.rs"]
mod life;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use allocation_counter::measure;
use flate2::Compression;
use flate2::write::GzEncoder;
use memchr::memmem;
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
        metrics.granted(now, now);
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

/// A run whose jobs are handed over little by little.
struct Fed {
    process: Child,
    input: ChildStdin,
    results: BufReader<File>,
    /// Removed when it is over.
    _folder: TempDir,
}

impl Fed {
    fn run(options: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder for results");
        let results = folder.path().join("results.jsonl");
        File::create(&results).expect("the folder is ours");
        let mut process = Command::new(env!("CARGO_BIN_EXE_shaper"))
            .args(["run", "-", "--quiet", "--report", "none", "--overwrite"])
            .arg("-o")
            .arg(&results)
            .args(options)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self {
            input: process.stdin.take().expect("it is piped"),
            process,
            results: BufReader::new(File::open(&results).expect("it was just made")),
            _folder: folder,
        }
    }

    /// The most that it has held when so many jobs more are done.
    fn after(&mut self, jobs: usize, url: &str) -> u64 {
        for _ in 0..jobs {
            writeln!(self.input, "{url}").expect("the program reads");
        }
        let (mut read, mut line) = (0, Vec::new());
        while read < jobs {
            let more = self.results.read_until(b'\n', &mut line);
            if more.expect("it can be read") == 0 {
                thread::sleep(Duration::from_millis(5));
            }
            if line.ends_with(b"\n") {
                let has = |what: &str| memmem::find(&line, what.as_bytes()).is_some();
                let is_ok = has("\"status\":\"ok\"") || has("\"code\":200");
                assert!(is_ok, "{}", String::from_utf8_lossy(&line));
                line.clear();
                read += 1;
            }
        }
        // It waits for more.
        most_resident(&self.process)
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.process.wait().expect("it is our child").success());
    }
}

#[test]
fn memory_does_not_grow_with_the_jobs_that_are_done() {
    const FEW: usize = 2_000;
    const ALL: usize = 40_000;
    let mut run = Fed::run(&["-c", "50", "--qps", "1000000", "--mock=latency=1ms"]);
    let few = run.after(FEW, "http://127.0.0.1/");
    let all = run.after(ALL - FEW, "http://127.0.0.1/");
    run.end();
    assert!(
        all <= few + GROWTH,
        "{few} bytes after {FEW} jobs, {all} after {ALL}"
    );
}

/// Requests that are answered together: the last byte of each comes when all others have come.
const SLOTS: usize = 4;

/// What the bodies of such answers hold.
const BODY: usize = 8 << 20;

/// What a run may hold for all its slots together: the threads that write and that undo, and what they have in hand.
const TOGETHER: usize = 3 << 20;

/// Answers `/long` with a body, together, and all else in brief.
fn answers(head: &'static str, body: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it is bound");
    let body = Arc::new((body, Barrier::new(SLOTS)));
    let answer = move |stream: &TcpStream, body: &(Vec<u8>, Barrier)| -> io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let mut out = stream.try_clone()?;
        while let Some(first) = lines.next().transpose()? {
            while lines.next().transpose()?.is_some_and(|it| !it.is_empty()) {}
            let (body, together) = body;
            if first.contains("/long") {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\n{head}content-length: {}\r\n\r\n",
                    body.len()
                )?;
                let (most, last) = body.split_at(body.len() - 1);
                out.write_all(most)?;
                together.wait();
                out.write_all(last)?;
            } else {
                out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
            }
        }
        Ok(())
    };
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let body = Arc::clone(&body);
            thread::spawn(move || answer(&stream, &body));
        }
    });
    address
}

#[test]
fn a_slot_holds_a_body_of_the_longest_and_a_mebibyte_whatever_stands_in_the_result() {
    // Every third letter has to be escaped.
    let text: Vec<u8> = b"ab\nc".iter().copied().cycle().take(BODY).collect();
    let list = [
        b"[ ".to_vec(),
        b"1.0 , ".repeat(BODY / 6 - 1),
        b"0 ]".to_vec(),
    ]
    .concat();
    let compressed = |body: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    };
    // Nothing makes it much shorter.
    let mut state = 1_u32;
    let noise = std::iter::from_fn(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(b' ' + (state >> 26).to_le_bytes()[0])
    });
    let noise: Vec<u8> = noise.take(BODY).collect();
    let stream = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let stream = stream.repeat(BODY / stream.len());
    for (what, head, body, options) in [
        ("text", "", text.clone(), &[][..]),
        ("text", "", text, &["--transport", "reqwest"]),
        ("zeros", "", vec![0; BODY], &[]),
        ("JSON", "", list, &[]),
        (
            "bytes",
            "",
            vec![0xff; BODY],
            &["--output-format", "vegeta-json"],
        ),
        (
            "a stream",
            "content-type: text/event-stream\r\n",
            stream,
            &[],
        ),
        (
            "gzip",
            "content-encoding: gzip\r\n",
            compressed(&noise),
            &[],
        ),
    ] {
        let address = answers(head, body);
        let slots = SLOTS.to_string();
        let most = BODY.to_string();
        let mut all = vec!["-c", &slots, "--max-body", &most];
        all.extend(options);
        let mut run = Fed::run(&all);
        let before = run.after(SLOTS, &format!("http://{address}/short"));
        let held = run.after(SLOTS, &format!("http://{address}/long")) - before;
        run.end();
        // The library reads up to three times 408 KiB ahead.
        let beside = if options.contains(&"reqwest") {
            3 << 19
        } else {
            1 << 20
        };
        // A part of one that is undone is there until it is read.
        let part = if head.contains("gzip") { BODY } else { 0 };
        let bound = SLOTS * (BODY + beside) + TOGETHER + part;
        assert!(
            held <= bound as u64,
            "{what} {options:?}: {held} bytes, more than {bound}"
        );
    }
}
