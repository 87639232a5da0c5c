//! `shaper report` on results of runs in virtual time: exact, and at moments that nobody would wait for.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::Value;
use shaper::engine::Rules;
use shaper::limit::{Counts, Spec};
use shaper::retry::{Jitter, Policy};
use shaper::units::Cost;

use super::report::{RUN, same, shows, told};
use crate::support::program::{OUT, Output, Shaper};
use crate::support::recorded::{Recorded, answer, recorded};

const MILLI: Duration = Duration::from_millis(1);

fn qps(rate: &str) -> Spec {
    let rate = rate.parse().expect("it is a rate");
    Spec::bucket("qps", Counts::Requests, rate, Cost::ONE)
}

fn rules(slots: u64, limits: Vec<Spec>) -> Rules {
    Rules {
        slots: Cost::new(slots),
        limits,
        retry: Policy {
            max_attempts: NonZeroU32::MIN,
            jitter: Jitter::None,
            ..Policy::default()
        },
        ..Rules::default()
    }
}

fn report(of: &Recorded, args: &[&str]) -> Output {
    let report = Shaper::plain().args(["report"]).jobs(OUT, &of.results);
    report.file(RUN, &of.run).args(args).output()
}

/// The text says this, and JSON is what the run has told.
#[track_caller]
fn says(of: &Recorded, words: &[&str]) -> Value {
    let text = report(of, &[]);
    text.exits(0);
    shows(&text, words);
    let again = told(&report(of, &["--report", "json"]));
    same(of.report.clone(), again.clone());
    again
}

#[test]
fn a_stall_is_seen_by_every_job_that_it_delayed() {
    let mut nth = 0;
    let of = recorded(&rules(1, vec![qps("50/s")]), 200, |_, _, _| {
        nth += 1;
        answer(MILLI * if nth == 50 { 2_000 } else { 10 }, 200)
    });
    let report = says(
        &of,
        &[
            "service time ok",
            "since due    ok",
            "service time: first byte written to last byte read; since due: due to last byte read",
            "of 200 jobs were first sent over 100 ms after they were due, held by slots",
            "2.00 s for slots (34 %)",
        ],
    );
    let figure = |book: &str, name: &str| report["latency"][book]["ok"][name].as_f64();
    let median = figure("service", "p50");
    assert!(
        (10.0..10.1).contains(&median.unwrap_or_default()),
        "{report}"
    );
    assert_eq!(figure("service", "max"), Some(2_000.0));
    assert!(figure("since_due", "p50") >= Some(800.0), "{report}");
    assert!(figure("since_due", "max") >= Some(2_000.0), "{report}");
    assert_eq!(report["late_held_by"], "slots");
    assert!(report["late_sends"].as_u64() > Some(100), "{report}");
}

#[test]
fn latencies_beyond_an_hour_are_counted_and_told() {
    let slow = [Duration::from_secs(90), Duration::from_secs(2 * 3600)];
    let mut rules = rules(2, Vec::new());
    rules.timeout = Duration::from_secs(86_400);
    let mut slow = slow.into_iter();
    let of = recorded(&rules, 2, |_, _, _| {
        answer(slow.next().expect("there are two"), 200)
    });
    let report = says(&of, &["> 1h: 1", "2h"]);
    assert_eq!(report["latency"]["service"]["ok"]["beyond_1h"], 1);
    assert_eq!(report["latency"]["service"]["ok"]["max"], 7_200_000.0);
}

#[test]
fn failures_stand_apart_from_successes() {
    let mut nth = 0;
    let mixed = recorded(&rules(4, Vec::new()), 40, |_, _, _| {
        nth += 1;
        if nth % 4 == 0 {
            answer(MILLI * 900, 400)
        } else {
            answer(MILLI * 5, 200)
        }
    });
    let report = says(&mixed, &["ok 30  failed 10 (http 10)"]);
    assert_eq!(report["latency"]["service"]["ok"]["max"], 5.0, "{report}");
    assert_eq!(report["latency"]["service"]["failed"]["p50"], 900.0);
    let only = recorded(&rules(4, Vec::new()), 3, |_, _, _| answer(MILLI, 404));
    let report = says(&only, &["failed 3 (http 3)"]);
    assert_eq!(report["latency"]["service"]["ok"]["p50"], Value::Null);
    assert_eq!(report["latency"]["service"]["failed"]["n"], 3);
}

#[test]
fn one_job_is_reported_like_many() {
    let of = recorded(&rules(1, vec![qps("1/h")]), 1, |_, _, _| answer(MILLI, 200));
    let report = says(&of, &["reached —", "ok 1 "]);
    assert_eq!(report["rate_reached_per_s"], Value::Null, "{report}");
    assert_eq!(report["latency"]["service"]["ok"]["p999"], 1.0);
}
