//! What came back, and under which circumstances. Floor 4: doors.

use std::cmp::Reverse;
use std::fmt::Write as _;

use serde_json::Value;

use super::Run;
use super::markup::{Name, Table};
use super::series::float;
use super::top::{DASH, started};

/// Rows of a table of counts that are shown at once.
const SHOWN: usize = 12;

pub(super) fn section(run: &Run<'_>) -> String {
    format!(
        "<h2>Answers and circumstances</h2><div class=\"pair\"><div>{}{}{}</div><div>{}{}</div></div>",
        table(
            run,
            "statuses",
            "Answers by status, over all tries",
            "<status"
        ),
        table(run, "failures", "Jobs that are not ok, by kind", "<kind"),
        table(
            run,
            "try_failures",
            "Tries without a whole answer, by kind",
            "<kind"
        ),
        facts(run),
        tokens(run),
    )
}

/// An object of counts of the JSON report: the largest, and the others behind a click.
fn table(run: &Run<'_>, key: &str, caption: &str, heading: &str) -> String {
    let Some(Value::Object(members)) = run.figures.get(key) else {
        return String::new();
    };
    let count = |(name, count): (&String, &Value)| Some((name.clone(), count.as_u64()?));
    let mut rows: Vec<(String, u64)> = members.iter().filter_map(count).collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by_key(|row| Reverse(row.1));
    let table = counts(caption, heading, &rows[..rows.len().min(SHOWN)]);
    let Some(rest) = rows.get(SHOWN..).filter(|rest| !rest.is_empty()) else {
        return table;
    };
    let more = counts(caption, heading, rest);
    format!(
        "{table}<details><summary>{} more</summary>{more}</details>",
        rest.len()
    )
}

fn facts(run: &Run<'_>) -> String {
    let report = run.report;
    let reached = report.reached(DASH);
    let inputs: Vec<_> = report
        .facts
        .inputs
        .iter()
        .map(|input| Name(input).to_string())
        .collect();
    let slots = report
        .setup
        .slots
        .map_or("no limit".to_owned(), |slots| slots.to_string());
    let mut rows = Vec::new();
    if let Some(sources) = &report.sources {
        let files = sources.files(usize::MAX);
        let files: Vec<_> = files.iter().map(|file| Name(file).to_string()).collect();
        rows.push(("read again from", files.join("<br>")));
    }
    rows.extend([
        (
            "input",
            if inputs.is_empty() {
                DASH.to_owned()
            } else {
                inputs.join("<br>")
            },
        ),
        (
            "started",
            started(report).unwrap_or_else(|| DASH.to_owned()),
        ),
        ("ended", run.figure("/ended").replace('_', " ")),
        (
            "tries",
            format!(
                "{}, of them retries {}",
                run.figure("/tries"),
                run.figure("/retries")
            ),
        ),
        ("pauses that a server asked for", run.figure("/pauses")),
        ("rate reached", reached),
        ("slots", slots),
        ("transport", run.figure("/transport")),
        ("seed of the jitter", run.figure("/seed")),
    ]);
    if let Some(slots) = report.setup.per_host {
        rows.push(("slots of each origin", slots.to_string()));
    }
    if let Some(cut_off) = run.some("/cut_off") {
        rows.push(("tries cut off in flight", cut_off.to_string()));
    }
    if let Some(unrepeated) = run.some("/unrepeated") {
        rows.push(("failed tries not repeated", unrepeated.to_string()));
    }
    let mut out = String::from("<h3>Circumstances</h3><dl class=\"facts\">");
    for (name, value) in rows {
        let _ = write!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    out + "</dl>"
}

/// The estimate beside the truth.
fn tokens(run: &Run<'_>) -> String {
    if run.figures.get("tokens").is_none_or(Value::is_null) {
        return String::new();
    }
    let row = |name: &str, path: &str| {
        ["reserved", "used"]
            .map(|key| run.figure(&format!("{path}/{key}")))
            .into_iter()
            .fold(vec![name.to_owned()], |mut row, cell| {
                row.push(cell);
                row
            })
    };
    let table = Table {
        caption: "Units (tokens) over all tries",
        headings: &["<", "reserved", "used"],
        rows: vec![
            row("all", "/tokens"),
            row("input", "/tokens/input"),
            row("output", "/tokens/output"),
        ],
    };
    let untold = run.some("/tokens/answers_without_usage");
    let untold = untold.map_or(String::new(), |count| {
        format!("<p>{count} answers told no usage.</p>")
    });
    format!("{table}{untold}")
}

/// A table of counts by name, most first, with a bar each.
fn counts(caption: &str, heading: &str, rows: &[(String, u64)]) -> String {
    let most = rows.iter().map(|row| row.1).max().unwrap_or(0).max(1);
    let all: u64 = rows.iter().map(|row| row.1).sum::<u64>().max(1);
    let cells = |(name, count): &(String, u64)| {
        let [part, share] = [most, all].map(|of| float(*count) / float(of) * 100.0);
        vec![
            Name(name).to_string(),
            count.to_string(),
            format!("{share:.1} %"),
            format!(
                "<svg width=\"100\" height=\"10\" aria-hidden=\"true\"><rect class=\"f1\" width=\"{part:.1}%\" height=\"10\" rx=\"2\"/></svg>"
            ),
        ]
    };
    let rows = rows.iter().map(cells).collect();
    Table {
        caption,
        headings: &[heading, "count", "share", ""],
        rows,
    }
    .to_string()
}
