//! What a job costs beside its request: its line is read, the engine decides over slots and four limits, the line of
//! its result is written. In virtual time, without HTTP and without disk.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::StatusCode;
use shaper::drive::simulated::{Line, Seen, Simulation};
use shaper::engine::{End, Grant, Rules};
use shaper::fields::Fields;
use shaper::job::{BadLine, Job};
use shaper::outcome::{Failure, Head, Reply};
use shaper::sink::{Form, Format, Inputs, Keep, Tell, Text};
use shaper::source::{self, Input};
use shaper::units::{Cost, Tick};

/// All of them have room for every job.
const LIMITS: [&str; 4] = [
    "1000000/s burst=1000000",
    "60000000/m",
    "tokens 100000000/s burst=100000000",
    "2000000/1s window",
];

/// What a buffer holds before it would be written.
const ONE_WRITE: usize = 64 << 10;

/// So many lines of 550 bytes.
pub(crate) fn lines(count: u64) -> String {
    let words = "word ".repeat(60);
    let mut text = String::new();
    for nth in 0..count {
        let _ = writeln!(
            text,
            r#"{{"url":"http://127.0.0.1:8080/v1/chat/completions","method":"POST","headers":{{"authorization":"Bearer 0123456789abcdef","content-type":"application/json"}},"body":{{"model":"small","n":{nth},"messages":[{{"role":"user","content":"{words}"}}]}},"tokens":100}}"#
        );
    }
    text
}

/// The lines are read.
pub(crate) fn jobs(path: &Path) -> impl Iterator<Item = Result<Job, BadLine>> {
    let spec = source::Spec {
        inputs: vec![Input::File(path.to_owned())],
        ..source::Spec::default()
    };
    let source = source::open(&spec).expect("it was just written");
    source.map(|line| line.expect("it can be read"))
}

/// They are read and decided; an answer takes a millisecond.
pub(crate) fn run(path: &Path, watch: &mut dyn FnMut(Seen<'_>)) {
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

/// They are read and decided, and the lines of their results written.
pub(crate) fn whole(path: &Path) {
    let form = form();
    let mut out = Text::default();
    out.reserve(2 * ONE_WRITE);
    run(path, &mut |seen| {
        if let Seen::Done(_, outcome) = seen {
            form.write(outcome, &mut out);
            if out.len() >= ONE_WRITE {
                out.clear();
            }
        }
    });
}

fn form() -> Form {
    Form {
        format: Format::default(),
        epoch: Duration::from_secs(1_700_000_000),
        body: Keep::Keep,
        headers: Keep::Keep,
        inputs: Inputs::One,
        units: Tell::Total,
        keys: Vec::new(),
    }
}

fn reply() -> Reply {
    let headers = Fields::of([
        ("content-type", "application/json"),
        ("content-length", "71"),
        ("date", "Mon, 30 Nov 2026 12:00:00 GMT"),
    ]);
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
        fault: None,
    }
}
