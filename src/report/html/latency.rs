//! Latencies: percentiles, their curve, and how they are spread. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::Run;
use super::markup::{Prose, Table, nothing};
use super::spread::{self, Range};
use super::time::figure;
use super::top::DASH;
use crate::report::{lateness, said};
use crate::units::show_span;

/// The keys of percentiles in the JSON report, and their headings.
pub(super) const KEYS: [(&str, &str); 6] = [
    ("p50", "p50"),
    ("p90", "p90"),
    ("p95", "p95"),
    ("p99", "p99"),
    ("p999", "p99.9"),
    ("max", "max"),
];

impl Run<'_> {
    /// A time of the JSON report, as the text has it.
    pub(super) fn span(&self, pointer: &str) -> String {
        let ms = self.figures.pointer(pointer).and_then(Value::as_f64);
        let span = ms.map(|ms| Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX));
        span.map_or_else(|| DASH.to_owned(), show_span)
    }
}

pub(super) fn section(run: &Run<'_>) -> String {
    let (service, since_due) = (
        &run.report.summary.tally.service,
        &run.report.summary.tally.since_due,
    );
    let mut out = String::from("<h2>Latency</h2>");
    if service.ok.count() + service.failed.count() == 0 {
        return out + &nothing("no job was sent to its end.");
    }
    out.push_str(
        "<p class=\"lead\">Service time is from the first byte written to the last byte read, of a job's last try. Since due \
         counts from when the job should have gone by the request limits alone: a stall is seen by every job that it delayed. \
         What failed stands apart.</p>",
    );
    out.push_str(&table(run));
    if let Some(few) = said::few(&run.report.summary.tally) {
        let _ = write!(out, "<p>{few}.</p>");
    }
    let lateness =
        lateness::lines(&run.report.setup, &run.report.summary).map(|lines| lines.join("; "));
    if let Some(late) = lateness.or_else(|| run.report.late()) {
        let _ = write!(out, "<p>{}.</p>", Prose(late));
    }
    if let Some(range) = Range::of(&[service, since_due]) {
        let _ = write!(
            out,
            "<div class=\"pair\">{}{}</div>",
            spread::figure("Service time", service, &range),
            spread::figure("Since due", since_due, &range)
        );
    }
    out + &figure(
        "percentiles",
        run.nth,
        "tall",
        "Percentiles of latency",
        "So many per cent took at most this long; each nine has the same room.",
    )
}

fn table(run: &Run<'_>) -> String {
    let mut headings = vec!["<"];
    headings.extend(KEYS.map(|(_, heading)| heading));
    headings.push("n");
    let mut rows = Vec::new();
    for (part, name) in [("service", "service time"), ("since_due", "since due")] {
        for verdict in ["ok", "failed"] {
            let path = format!("/latency/{part}/{verdict}");
            let count = run.some(&format!("{path}/n"));
            if count.is_none() && verdict == "failed" {
                continue;
            }
            let figure = |key: &str, text: String| {
                format!("<span data-figure=\"latency.{part}.{verdict}.{key}\">{text}</span>")
            };
            let mut row = vec![format!("{name}, {verdict}")];
            row.extend(KEYS.map(|(key, _)| figure(key, run.span(&format!("{path}/{key}")))));
            let beyond = run.some(&format!("{path}/beyond_1h"));
            let beyond = beyond.map_or(String::new(), |count| format!(" (&gt; 1h: {count})"));
            row.push(figure("n", count.unwrap_or(0).to_string()) + &beyond);
            rows.push(row);
        }
    }
    Table {
        caption: "Percentiles",
        headings: &headings,
        rows,
    }
    .to_string()
}
