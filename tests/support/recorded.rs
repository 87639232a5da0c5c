//! Runs in virtual time whose results the program reads: exact, and as long as one likes.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{Grant, Rules};
use shaper::job::{Job, JobHash, Origin, Place, Target};
use shaper::manifest::{Ended, Limit, Manifest, Owners};
use shaper::metrics::{AtOnce, Setup};
use shaper::outcome::{Failure, Reply};
use shaper::report::{Facts, Report, Standing, json};
use shaper::sink::{Form, Format, Inputs, Keep, Tell, Text};
use shaper::units::{Cost, Tick};

/// What a run has left, and what it has told at its end.
pub(crate) struct Recorded {
    /// The file of results.
    pub(crate) results: Vec<u8>,
    /// What stands beside it.
    pub(crate) run: Vec<u8>,
    /// The report as JSON.
    pub(crate) report: Value,
}

/// The start of a run, in seconds since the Unix epoch.
pub(crate) const STARTED: u64 = 1_796_000_000;

/// Equal jobs without ids but for their content, all there at the start.
fn jobs(count: u64) -> impl Iterator<Item = simulated::Line> {
    (0..count).map(|nth| {
        let url = format!("http://a.test/{nth}");
        let target: Target = url.parse().expect("it is one");
        let place = Place::new("jobs.urls", nth + 1);
        let job = Job {
            hash: JobHash(nth + 1),
            ..Job::get(place, target, Origin("http://a.test".into()))
        };
        (Tick::ZERO, Ok(job))
    })
}

/// An answer of this status after this time.
pub(crate) fn answer(after: Duration, status: u16) -> (Duration, Result<Reply, Failure>) {
    let status = StatusCode::from_u16(status).expect("it is one");
    (after, Ok(simulated::reply(status)))
}

/// Runs so many jobs under these rules, in virtual time.
pub(crate) fn recorded(
    rules: &Rules,
    count: u64,
    api: impl FnMut(Tick, &Job, &Grant) -> (Duration, Result<Reply, Failure>),
) -> Recorded {
    recorded_at(STARTED, rules, count, api)
}

/// The same at another time.
pub(crate) fn recorded_at(
    started: u64,
    rules: &Rules,
    count: u64,
    mut api: impl FnMut(Tick, &Job, &Grant) -> (Duration, Result<Reply, Failure>),
) -> Recorded {
    let epoch = Duration::from_secs(started);
    let form = Form {
        format: Format::default(),
        epoch,
        body: Keep::None,
        headers: Keep::None,
        inputs: Inputs::One,
        units: Tell::Total,
        keys: Vec::new(),
    };
    let form = form.for_limits(&rules.limits);
    let mut results = Text::default();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(_, outcome) = seen {
            form.write(outcome, &mut results);
        }
    };
    let simulation = Simulation::new(rules.clone(), jobs(count), &mut api, &mut watch);
    let (summary, end) = simulation.run();
    let setup = Setup {
        slots: rules.slots.map(Cost::get),
        slots_by: rules.slots_by,
        per_host: None,
        limits: rules.limits.clone(),
        runs: AtOnce::One,
        arrivals: rules.arrivals.clone(),
    };
    let facts = Facts {
        started: Some(Duration::from_secs(started)),
        inputs: vec!["jobs.urls".to_owned()],
        seed: Some(7),
        transport: Some("none".to_owned()),
        refund: rules.refund,
        end: Standing::Over(end),
    };
    let report = Report::new(summary, setup, facts);
    let started_us = started * 1_000_000;
    let run = Manifest {
        version: "0.1.0".to_owned(),
        limits: rules.limits.iter().map(Limit::from).collect(),
        concurrency: rules.slots.map(Cost::get),
        slots_by: rules.slots_by,
        per_host: None,
        slack_us: 0,
        inputs: vec![shaper::manifest::Input {
            name: "jobs.urls".to_owned(),
            size: None,
            changed_us: None,
        }],
        base_url: None,
        folder: None,
        given: None,
        transport: Some("none".to_owned()),
        shared: None,
        arrivals: Some(rules.arrivals.to_string()),
        refund: Some(rules.refund.to_string()),
        redirects: Some(0),
        seed: 7,
        host: "h".to_owned(),
        started_us,
        ended: Ended::of(&report, started_us),
        earlier: Vec::new(),
        owners: Some(Owners::of(&report.summary.tally.timeline, started_us, None)),
    };
    Recorded {
        results: results.to_vec(),
        run: serde_json::to_vec(&run).expect("it is JSON"),
        report: json::json(&report),
    }
}
