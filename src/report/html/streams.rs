//! Answers that were streams: first tokens, gaps, tokens per second. Floor 4: doors.

use serde_json::Value;

use super::Run;
use super::latency::KEYS;
use super::markup::{Table, Text};
use super::top::DASH;
use crate::units::three_digits;

/// Their names on the page, and in the JSON report.
const TIMES: [(&str, &str); 3] = [
    ("first token", "first_token"),
    ("mean gap", "mean_gap"),
    ("longest gap", "longest_gap"),
];

/// Nothing of a run without streams.
pub(super) fn section(run: &Run<'_>) -> String {
    let Some(streams) = &run.report.summary.tally.streams else {
        return String::new();
    };
    let figure = |key: &str| {
        let value = run.figure(&format!("/streams/{key}"));
        format!("<span data-figure=\"streams.{key}\">{value}</span>")
    };
    let by_events = match streams.by_events {
        0 => String::new(),
        _ => format!(" (by events, not by usage: {})", figure("by_events")),
    };
    let rate = run
        .report
        .output_per_second()
        .map_or_else(|| DASH.to_owned(), three_digits);
    format!(
        "<h2>Streams</h2><p class=\"lead\">{} answers were streams of events, of {} output tokens{by_events}: \
         <span data-figure=\"streams.output_tokens_per_s\">{}</span> per second over the run. The first token counts from \
         the first byte written. Gaps are those between the tokens of one answer. Of tokens per second, so many per cent of \
         the answers had at least so many.</p>{}",
        figure("answers"),
        figure("output_tokens"),
        Text(rate),
        table(run)
    )
}

fn table(run: &Run<'_>) -> String {
    let mut headings = vec!["<"];
    headings.extend(KEYS.map(|(_, heading)| heading));
    headings.push("n");
    let mut rows = Vec::new();
    let figure =
        |path: &str, text: String| format!("<span data-figure=\"streams.{path}\">{text}</span>");
    for verdict in ["ok", "failed"] {
        let count = |key: &str| {
            let count = run.some(&format!("/streams/{key}/{verdict}/n"));
            let path = format!("{key}.{verdict}.n");
            count.map(|count| figure(&path, count.to_string()))
        };
        for (name, key) in TIMES {
            let Some(count) = count(key) else {
                continue;
            };
            let mut row = vec![format!("{name}, {verdict}")];
            row.extend(KEYS.map(|(percentile, _)| {
                let span = run.span(&format!("/streams/{key}/{verdict}/{percentile}"));
                figure(&format!("{key}.{verdict}.{percentile}"), span)
            }));
            row.push(count);
            rows.push(row);
        }
        if let Some(count) = count("per_token") {
            let mut row = vec![format!("tokens per second, {verdict}")];
            row.extend(KEYS.map(|(percentile, _)| {
                // The one whose tokens took longest has the fewest.
                let percentile = if percentile == "max" {
                    "min"
                } else {
                    percentile
                };
                let path = format!("tokens_per_s.{verdict}.{percentile}");
                let rate = run
                    .figures
                    .pointer(&format!("/streams/{}", path.replace('.', "/")));
                let rate = rate.and_then(Value::as_f64);
                figure(&path, rate.map_or_else(|| DASH.to_owned(), three_digits))
            }));
            row.push(count);
            rows.push(row);
        }
    }
    Table {
        caption: "Percentiles of streams",
        headings: &headings,
        rows,
    }
    .to_string()
}
