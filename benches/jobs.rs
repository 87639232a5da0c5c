//! What a job costs beside its request, from its line to the line of its result: `cargo bench --bench jobs [-- JOBS]`
//! (half a minute; promise: under 3 us on one core to read 550 bytes, decide over slots and four limits, and write).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::env;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rustix::time::{ClockId, clock_gettime};
use shaper::drive::simulated::{Line, Seen, Simulation};
use shaper::engine::{End, Grant, Rules};
use shaper::job::{BadLine, Job};
use shaper::outcome::{Failure, Head, Reply};
use shaper::sink::{Form, Inputs, Keep, Tell};
use shaper::source::{self, Input};
use shaper::units::{Cost, Tick};

/// Jobs of a round, if the command line says nothing else.
const JOBS: u64 = 200_000;

/// An odd number: the middle one is printed.
const ROUNDS: usize = 7;

/// What a buffer holds before it would be written.
const ONE_WRITE: usize = 64 << 10;

/// All of them have room for every job.
const LIMITS: [&str; 4] = [
    "1000000/s burst=1000000",
    "60000000/m",
    "tokens 100000000/s burst=100000000",
    "2000000/1s window",
];

fn main() {
    let count = env::args().find_map(|word| word.parse().ok());
    let count: u64 = count.unwrap_or(JOBS);
    let mut file = tempfile::NamedTempFile::new().expect("a file for jobs");
    let mut text = String::new();
    for nth in 0..count {
        line(&mut text, nth);
    }
    file.write_all(text.as_bytes())
        .expect("there is room for jobs");
    let (mut reading, mut deciding, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reading.push(time(|| {
            let jobs = jobs(file.path()).flatten().count();
            assert_eq!(jobs as u64, count, "every line is a job");
        }));
        deciding.push(time(|| run(file.path(), &mut |_| {})));
        let mut out = Vec::with_capacity(2 * ONE_WRITE);
        whole.push(time(|| {
            let form = form();
            run(file.path(), &mut |seen| {
                if let Seen::Done(_, outcome) = seen {
                    form.write(outcome, &mut out);
                    if out.len() >= ONE_WRITE {
                        out.clear();
                    }
                }
            });
        }));
    }
    let [reading, deciding, whole] = [reading, deciding, whole].map(|rounds| middle(rounds, count));
    println!("read a line into a job:              {reading:.2} us");
    println!(
        "decide over slots and four limits:   {:.2} us",
        deciding - reading
    );
    println!(
        "write the line of its result:        {:.2} us",
        whole - deciding
    );
    println!("all of it:                           {whole:.2} us");
}

fn line(text: &mut String, nth: u64) {
    let words = "word ".repeat(60);
    let _ = writeln!(
        text,
        r#"{{"url":"http://127.0.0.1:8080/v1/chat/completions","method":"POST","headers":{{"authorization":"Bearer 0123456789abcdef","content-type":"application/json"}},"body":{{"model":"small","n":{nth},"messages":[{{"role":"user","content":"{words}"}}]}},"tokens":100}}"#
    );
}

fn jobs(path: &Path) -> impl Iterator<Item = Result<Job, BadLine>> {
    let spec = source::Spec {
        inputs: vec![Input::File(path.to_owned())],
        ..source::Spec::default()
    };
    let source = source::open(&spec).expect("it was just written");
    source.map(|line| line.expect("it can be read"))
}

fn form() -> Form {
    Form {
        epoch: Duration::from_secs(1_700_000_000),
        body: Keep::Keep,
        headers: Keep::Keep,
        inputs: Inputs::One,
        units: Tell::Total,
        keys: Vec::new(),
    }
}

/// Runs all jobs in virtual time; an answer takes a millisecond.
fn run(path: &Path, watch: &mut dyn FnMut(Seen<'_>)) {
    let lines = jobs(path).map(|job| -> Line { (Tick::ZERO, job) });
    let rules = Rules {
        slots: Cost::new(50),
        limits: LIMITS
            .map(|text| text.parse().expect("written as a limit"))
            .into(),
        ..Rules::default()
    };
    let reply = reply();
    let mut api = |_: Tick, _: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        (Duration::from_millis(1), Ok(reply.clone()))
    };
    let (_, end) = Simulation::new(rules, lines, &mut api, watch).run();
    assert!(matches!(end, End::Finished), "{end:?}");
}

fn reply() -> Reply {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_LENGTH, "71"),
        (header::DATE, "Mon, 30 Nov 2026 12:00:00 GMT"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let body = br#"{"id":"1","choices":[{"text":"so it is"}],"usage":{"total_tokens":93}}"#;
    Reply {
        head: Head {
            at: Tick::ZERO,
            wall: UNIX_EPOCH,
            status: StatusCode::OK,
            headers,
        },
        body: Bytes::from_static(body),
        used: None,
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let before = cpu();
    work();
    cpu().saturating_sub(before)
}

/// What this process has had of a core: other programs do not count.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("it does not run backwards")
}

/// In microseconds for each job.
fn middle(mut rounds: Vec<Duration>, count: u64) -> f64 {
    rounds.sort();
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let each = rounds[ROUNDS / 2].as_secs_f64() * 1e6 / count as f64;
    each
}
