//! Several runs on the same axes, and their figures in one table. Floor 4: doors.

use http::StatusCode;

use super::markup::{Name, Prose, Table};
use super::time::{DRAWN_TOGETHER, figure};
use super::top::{conditions, rate};
use super::{Named, Run};
use crate::units::show_span;

pub(super) fn section(names: &[Named<'_>], runs: &[Run<'_>]) -> String {
    let rows = runs.iter().zip(names).map(|(run, named)| {
        let summary = &run.report.summary;
        vec![
            Name(named.name).to_string(),
            rate(run.report.summary.observed()),
            rate(
                run.report
                    .theory
                    .slots_ceiling()
                    .map(|ceiling| ceiling.rate),
            ),
            run.figure("/counts/ok"),
            run.figure("/counts/failed"),
            summary
                .tally
                .answers(StatusCode::TOO_MANY_REQUESTS)
                .to_string(),
            run.span("/latency/service/ok/p50"),
            run.span("/latency/service/ok/p99"),
            run.span("/latency/since_due/ok/p99"),
            show_span(summary.elapsed),
            Prose(&run.report.diagnosis.verdict).to_string(),
        ]
    });
    let table = Table {
        caption: "One row a run",
        headings: &[
            "<<run",
            "observed",
            "theory",
            "ok",
            "failed",
            "429",
            "p50",
            "p99",
            "p99 since due",
            "took",
            "<<verdict",
        ],
        rows: rows.collect(),
    };
    let conditions = runs.iter().map(|run| conditions(run.report));
    let conditions: String = conditions.collect();
    let all = |kind: &str, class: &str, what: &str, more: &str| figure(kind, 0, class, what, more);
    format!(
        "<header><p class=\"brand\"><b>shaper</b></p><h1>{} runs side by side</h1>{conditions}</header>\
         <section>{table}</section><section class=\"charts\"><h2>On the same axes</h2>{}<div class=\"pair\">{}{}</div></section>",
        runs.len(),
        all(
            "all-sent",
            "tall",
            "Sent per second",
            &format!("Since the first send of each. {DRAWN_TOGETHER}")
        ),
        all(
            "all-service",
            "tall",
            "Percentiles of service time",
            "Of jobs that are ok; each nine has the same room."
        ),
        all(
            "all-since-due",
            "tall",
            "Percentiles since due",
            "Of jobs that are ok; each nine has the same room."
        ),
    )
}
