//! The report for spreadsheets: the JSON report as one long table. Floor 4: doors.

use serde_json::{Map, Value};

use super::Report;
use super::json::json;

/// The columns.
const HEADING: [&str; 4] = ["metric", "label", "value", "unit"];

/// Objects whose keys are names, not parts of the metric.
const NAMED: [&str; 6] = [
    "failures",
    "lateness.by",
    "lateness.over",
    "statuses",
    "try_failures",
    "waits_ms",
];

/// What tells the elements of a list apart, one of which each of them has.
const LABELS: [&str; 4] = ["name", "owner", "per_s", "expr"];

/// Units by the end of a metric's name; times and rates have theirs in the name, but for these.
const ENDS: [(&str, &str); 10] = [
    ("_ms", "ms"),
    (".ms", "ms"),
    ("_us", "us"),
    (".us", "us"),
    (".sends", "sends"),
    ("per_s", "1/s"),
    ("throughput.observed", "1/s"),
    ("throughput.theory", "1/s"),
    (".percent", "%"),
    (".seconds", "s"),
];

/// Units by the beginning of a metric's name.
const BEGINNINGS: [(&str, &str); 15] = [
    ("counts.", "lines"),
    ("cut_off", "tries"),
    ("failures", "jobs"),
    ("late_sends", "jobs"),
    ("little.tries", "tries"),
    ("pauses", "pauses"),
    ("retries", "tries"),
    ("sends", "sends"),
    ("statuses", "answers"),
    ("streams.answers", "answers"),
    ("streams.by_events", "answers"),
    ("streams.output_tokens", "tokens"),
    ("tries", "tries"),
    ("try_failures", "tries"),
    ("unrepeated", "tries"),
];

/// Every value of the JSON report in a row of its own: `metric` is its path with points, `label` the name of what it
/// is about in a list of several, `unit` empty for text and plain numbers. What is not known has an empty value.
pub fn csv(report: &Report) -> String {
    table(&json(report))
}

/// The same of any other object for programs.
pub fn table(object: &Value) -> String {
    let mut rows = Vec::new();
    flatten(object, "", "", &mut rows);
    let mut table = csv::Writer::from_writer(Vec::new());
    let written = std::iter::once(HEADING.map(str::to_owned))
        .chain(rows)
        .try_for_each(|row| table.write_record(row));
    written.expect("memory takes every row of four");
    let bytes = table.into_inner().expect("memory takes everything");
    String::from_utf8(bytes).expect("rows are text")
}

fn flatten(value: &Value, metric: &str, label: &str, rows: &mut Vec<[String; 4]>) {
    let below = |key: &str| match metric {
        "" => key.to_owned(),
        _ => format!("{metric}.{key}"),
    };
    match value {
        Value::Object(members) if NAMED.contains(&of_one(metric)) => {
            for (name, value) in members {
                flatten(value, metric, name, rows);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                flatten(value, &below(key), label, rows);
            }
        }
        Value::Array(elements) => {
            let mut seen = Vec::new();
            for (number, element) in (1..).zip(elements) {
                let (mut name, element) = named(element, number);
                // A condition may be given twice.
                if seen.contains(&name) {
                    name = format!("{name} ({number})");
                }
                flatten(&element, metric, &name, rows);
                seen.push(name);
            }
        }
        Value::Null => rows.push(row(metric, label, "", unit(metric))),
        Value::String(text) => rows.push(row(metric, label, text, "")),
        Value::Number(_) | Value::Bool(_) => {
            rows.push(row(metric, label, &value.to_string(), unit(metric)));
        }
    }
}

/// An element of a list without what names it, and that name; else its number.
fn named(element: &Value, number: u64) -> (String, Value) {
    let mut rest = element.clone();
    let members = rest.as_object_mut();
    let name = members.and_then(|members: &mut Map<String, Value>| {
        LABELS.iter().find_map(|label| members.remove(*label))
    });
    match name {
        Some(Value::String(name)) => (name, rest),
        Some(other) => (other.to_string(), rest),
        None => (number.to_string(), rest),
    }
}

fn row(metric: &str, label: &str, value: &str, unit: &str) -> [String; 4] {
    [metric, label, value, unit].map(str::to_owned)
}

/// The same in a report of one run: of two, each stands below a word.
fn of_one(metric: &str) -> &str {
    let words = ["run.", "against."].into_iter();
    let mut below = words.filter_map(|word| metric.strip_prefix(word));
    below.next().unwrap_or(metric)
}

fn unit(metric: &str) -> &'static str {
    let metric = of_one(metric);
    let last = metric.rsplit('.').next().unwrap_or_default();
    let is_percentile = last.starts_with('p') || ["max", "min"].contains(&last);
    if is_percentile && metric.starts_with("streams.tokens_per_s.") {
        return "1/s";
    }
    if is_percentile
        && ["latency.", "streams."]
            .iter()
            .any(|it| metric.starts_with(it))
    {
        return "ms";
    }
    if last.starts_with("most_in_") {
        return "sends";
    }
    let ends = ENDS.iter().find(|(end, _)| metric.ends_with(end));
    let mut begins = BEGINNINGS.iter();
    ends.or_else(|| begins.find(|(beginning, _)| metric.starts_with(beginning)))
        .map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::report::samples;

    /// The rows of a table, read as any program would.
    fn rows(report: &Report) -> Vec<[String; 4]> {
        let text = csv(report);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), &HEADING[..]);
        let rows = reader.records().map(|row| {
            let row = row.unwrap();
            [0, 1, 2, 3].map(|column| row[column].to_owned())
        });
        rows.collect()
    }

    #[test]
    fn each_figure_has_a_row_with_its_unit() {
        let rows = rows(&samples::held_by_qps());
        let holds = |row: [&str; 4]| assert!(rows.iter().any(|it| *it == row), "{row:?}: {rows:?}");
        holds(["counts.read", "", "600", "lines"]);
        holds(["binding", "", "--qps 10", ""]);
        holds(["held_back.percent", "--qps 10", "100", "%"]);
        holds(["latency.service.ok.p50", "", "99.3", "ms"]);
        holds(["latency.service.failed.p50", "", "", "ms"]);
        holds(["latency.service.ok.n", "", "600", ""]);
        holds(["throughput.histogram.seconds", "10", "58", "s"]);
        holds(["throughput.ceilings.per_s", "--qps 10", "10.0", "1/s"]);
        holds(["limits.spec", "qps", "10 bucket burst=1", ""]);
        holds(["statuses", "200", "600", "answers"]);
        holds(["tokens", "", "", ""]);
        holds(["inputs", "1", "jobs.jsonl", ""]);
        holds(["started", "", "2026-11-30T16:10:06.975293Z", ""]);
    }

    #[test]
    fn a_condition_is_called_by_itself_and_the_same_one_again_by_its_number_too() {
        let conditions = ["failed>1%", "rate<9.5/s", "failed>1%"].map(|it| it.parse().unwrap());
        let rows = rows(&samples::held_by_qps().judged(&conditions));
        let of = rows.iter().filter(|row| row[0] == "conditions.true");
        let of: Vec<(&str, &str)> = of.map(|row| (&*row[1], &*row[2])).collect();
        let expected = [
            ("failed>1%", "false"),
            ("rate<9.5/s", "false"),
            ("failed>1% (3)", "false"),
        ];
        assert_eq!(of, expected);
    }

    #[test]
    fn whatever_its_names_a_report_is_a_table_of_four_columns_and_no_row_is_there_twice() {
        for (name, report) in samples::all() {
            let mut seen: BTreeMap<(String, String), String> = BTreeMap::new();
            for [metric, label, value, _] in rows(&report) {
                let twice = seen.insert((metric.clone(), label.clone()), value);
                assert_eq!(twice, None, "{name}: {metric} of {label}");
            }
        }
        let text = csv(&samples::fullest());
        assert!(
            text.contains(&samples::HOSTILE.replace('"', "\"\"")),
            "{text}"
        );
    }
}
