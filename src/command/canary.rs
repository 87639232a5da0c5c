//! What a panic could print of a run: nothing that is a credential. Floor 6: front.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{fs, iter};

use tempfile::TempDir;

use super::args::{Command, RunArgs};
use super::input::Asked;
use super::line;
use crate::client::Client;
use crate::job::Job;
use crate::outcome::Head;
use crate::redirect::Trail;
use crate::source::{Credentials, Rounds, Times, UnitsRule};
use crate::units::Tick;

/// The options of a run with a credential wherever one can be.
fn run(folder: &TempDir) -> Box<RunArgs> {
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let bad =
        "{\"url\":\"http://me:CANARY@[/?token=CANARY\",\"headers\":{\"cookie\":\"CANARY\"}}\n";
    let good = "{\"url\":\"x?api_key=CANARY\",\"headers\":{\"authorization\":\"CANARY\"},\"body\":\"CANARY\",\
                \"meta\":\"CANARY\"}\n";
    fs::write(path("jobs.jsonl"), format!("{good}{bad}")).unwrap();
    fs::write(path("headers"), "x-secret: CANARY\n").unwrap();
    let headers = format!("@{}", path("headers"));
    let jobs = path("jobs.jsonl");
    let words = [
        "shaper",
        "run",
        &jobs,
        "-H",
        "x-api-key: CANARY",
        "-H",
        &headers,
        "--base-url",
        "http://me:CANARY@h.test/?token=CANARY",
        "--proxy",
        "http://me:CANARY@p.test:1",
    ];
    let words: Vec<_> = words.map(Into::into).into();
    match line::read(&words).unwrap().command {
        Command::Run(args) => args,
        _ => panic!("it is a run"),
    }
}

/// Panics with all of it.
fn told(values: &dyn Debug) -> String {
    let ended = catch_unwind(AssertUnwindSafe(|| panic!("{values:?} {values:#?}")));
    *ended.unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn a_panic_shows_no_credential_whatever_it_shows() {
    let folder = TempDir::new().unwrap();
    let args = run(&folder);
    let asked = Asked {
        once: None,
        run: 0,
        files: &args.jobs,
        input: &args.input,
        job: &args.http.job,
        units: UnitsRule::Ignored,
        per: Vec::new(),
        credentials: Credentials::Numbered,
        times: Times::Ignored,
        repeat: Rounds::default(),
        retry_unsafe: None,
    };
    let mut input = asked.open(None).unwrap();
    let lines: Vec<_> = iter::from_fn(|| input.source.next()).collect();
    let job: &Job = lines[0].as_ref().unwrap().as_ref().unwrap();
    let to = b"http://me:CANARY@other.test/?sig=CANARY".as_slice();
    let head = Head {
        at: Tick::ZERO,
        wall: std::time::UNIX_EPOCH,
        status: http::StatusCode::FOUND,
        headers: crate::fields::Fields::of([("location", to), ("set-cookie", b"CANARY")]),
    };
    let mut trail = Trail::of(job);
    let step = trail.follow(job, &head).unwrap();
    let client = args.http.transport.spec(|_| None).unwrap();
    let text = told(&(
        (&args, &input.spec, &lines),
        (&trail, &step),
        (&client, Client::new(client.clone()).unwrap()),
    ));
    assert!(!text.contains("CANARY"), "{text}");
    for shown in ["x-api-key", "***@h.test", "authorization", "other.test"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}
