//! That all forms of a report tell the same figures. Floor 4: doors.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::html::{Named, page};
use super::{Look, Report, csv, json, samples, text};
use crate::units::{show_span, three_digits};

/// Percentiles of the JSON report in the order of the text, with the longest and the count.
const PERCENTILES: [&str; 7] = ["p50", "p90", "p95", "p99", "p999", "max", "n"];

/// The text, with single blanks.
fn words(report: &Report) -> String {
    let text = text::text(report, Look::default());
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// The object that a page holds for its script.
fn held(page: &str) -> Value {
    let (_, from) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (data, _) = from.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

/// What stands on the page, by the name of the figure.
fn shown(page: &str) -> BTreeMap<String, String> {
    let each = page.split(" data-figure=\"").skip(1).map(|rest| {
        let (name, rest) = rest.split_once("\">").unwrap();
        let (value, _) = rest.split_once("</").unwrap();
        (name.to_owned(), value.to_owned())
    });
    each.collect()
}

/// A figure of the JSON report as people read it.
fn read(name: &str, value: &Value) -> String {
    let number = value.as_f64();
    let ms = |ms: f64| show_span(Duration::from_secs_f64(ms / 1e3));
    match (name, number) {
        // Nothing tells it.
        (_, None) => "—".to_owned(),
        (name, Some(number))
            if name.starts_with("latency.") && name.rsplit('.').next() != Some("n") =>
        {
            ms(number)
        }
        (name, Some(number))
            if name.starts_with("streams.tokens_per_s.")
                || name == "streams.output_tokens_per_s" =>
        {
            three_digits(number)
        }
        (name, Some(number))
            if name.starts_with("streams.")
                && name.matches('.').count() == 3
                && name.rsplit('.').next() != Some("n") =>
        {
            ms(number)
        }
        (name, Some(number)) if name.ends_with("_ms") => ms(number),
        ("throughput.observed" | "throughput.theory" | "little.rate_per_s", Some(number)) => {
            format!("{}/s", three_digits(number))
        }
        ("little.in_flight", Some(number)) => three_digits(number),
        (_, Some(_)) => value.to_string(),
    }
}

#[test]
fn the_page_holds_the_json_report_and_shows_its_figures() {
    for (name, report) in samples::all() {
        let page = page(&[Named {
            name,
            report: &report,
        }]);
        let told = json::json(&report);
        assert_eq!(held(&page)["runs"][0]["report"], told, "{name}");
        let shown = shown(&page);
        assert!(shown.len() > 10, "{name}: {shown:?}");
        for (figure, value) in &shown {
            if ["verdict", "throughput.ratio"].contains(&&**figure)
                || figure.starts_with("held_back")
            {
                continue;
            }
            let pointer = format!("/{}", figure.replace('.', "/"));
            let expected = told
                .pointer(&pointer)
                .unwrap_or_else(|| panic!("{name}: {figure}"));
            assert_eq!(*value, read(figure, expected), "{name}: {figure}");
        }
        for share in told["held_back"].as_array().unwrap() {
            let owner = share["owner"].as_str().unwrap();
            if owner.len() < 20 {
                let percent = format!("{} %", share["percent"]);
                assert_eq!(shown[&format!("held_back.{owner}")], percent, "{name}");
            }
        }
    }
}

#[test]
fn the_text_has_the_figures_of_the_json_report() {
    for (name, report) in samples::all() {
        // Its names alone fill the lines that a text may have.
        if name == "fullest again" {
            continue;
        }
        let (words, told) = (words(&report), json::json(&report));
        let has = |text: &str| assert!(words.contains(text), "{name}: no `{text}` in {words}");
        let counts = ["read", "ok", "failed"].map(|key| read(key, &told["counts"][key]));
        let [lines, ok, failed] = counts;
        has(&format!("read {lines} = ok {ok} + failed {failed}"));
        let observed = read("throughput.observed", &told["throughput"]["observed"]);
        has(&format!("THROUGHPUT observed {observed}"));
        has(&format!(
            "tries {}, retries {}",
            told["tries"], told["retries"]
        ));
        for (part, heading) in [
            ("service", "service time ok"),
            ("since_due", "since due ok"),
        ] {
            let figures = PERCENTILES.map(|key| {
                read(
                    &format!("latency.{part}.ok.{key}"),
                    &told["latency"][part]["ok"][key],
                )
            });
            has(&format!("{heading} {}", figures.join(" ")));
        }
        let streams = &told["streams"];
        if !streams.is_null() {
            for (part, heading) in [
                ("first_token", "first token ok"),
                ("mean_gap", "mean gap ok"),
                ("longest_gap", "longest gap ok"),
            ] {
                let of = &streams[part]["ok"];
                let name = |key| format!("streams.{part}.ok.{key}");
                let figures = PERCENTILES.map(|key| read(&name(key), &of[key]));
                has(&format!("{heading} {}", figures.join(" ")));
            }
            let of = &streams["tokens_per_s"]["ok"];
            let rates = ["p50", "p90", "p95", "p99", "p999", "min"];
            let rates = rates.map(|key| read("streams.tokens_per_s.", &of[key]));
            let count = &streams["per_token"]["ok"]["n"];
            has(&format!("tokens/s ok {} {count}", rates.join(" ")));
            let rate = read(
                "streams.output_tokens_per_s",
                &streams["output_tokens_per_s"],
            );
            has(&format!("{} output tokens", streams["output_tokens"]));
            has(&format!("{rate}/s over the run"));
        }
        if let Some(ratio) = told["throughput"]["ratio"].as_f64() {
            let percent = ratio * 100.0;
            let shown = if percent < 0.95 {
                format!("{percent:.1}")
            } else {
                format!("{percent:.0}")
            };
            has(&format!(" {shown} % of it"));
        }
        let first = &told["held_back"][0];
        let owner = first["owner"].as_str().unwrap_or("nothing");
        if owner != "nothing" && told["little"]["part"] != "recorded" {
            has(&format!("for {owner} ({} %)", first["percent"]));
        }
    }
}

#[test]
fn the_table_has_every_figure_of_the_json_report() {
    for (name, report) in samples::all() {
        let table = csv::csv(&report);
        let mut rows = csv_rows(&table);
        let told = json::json(&report);
        // Each number of the one is a row of the other, and none is left over.
        let mut numbers = Vec::new();
        collect(&told, &mut numbers);
        rows.sort();
        numbers.sort();
        let labels = told["throughput"]["histogram"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(rows.len() + labels, numbers.len(), "{name}");
        let missing = rows.iter().find(|row| !numbers.contains(row));
        assert_eq!(missing, None, "{name}");
    }
}

/// What conditions have names for, and where it stands in the JSON report.
const JUDGED: [(&str, &str); 17] = [
    ("p50>1h", "latency/service/ok/p50"),
    ("p99.9>1h", "latency/service/ok/p999"),
    ("max>1h", "latency/service/ok/max"),
    ("due_p99>1h", "latency/since_due/ok/p99"),
    ("elapsed>1h", "elapsed_ms"),
    ("read>1M", "counts/read"),
    ("ok>1M", "counts/ok"),
    ("failed>1M", "counts/failed"),
    ("invalid>1M", "counts/invalid"),
    ("skipped>1M", "counts/skipped"),
    ("cancelled>1M", "counts/cancelled"),
    ("late>1M", "late_sends"),
    ("tries>1M", "tries"),
    ("retries>1M", "retries"),
    ("pauses>1M", "pauses"),
    ("rate<0.01/s", "rate_reached_per_s"),
    ("throughput<0.01/s", "throughput/observed"),
];

#[test]
fn a_condition_reads_the_figure_that_the_report_shows_and_is_true_where_it_shows_none() {
    let mut untold = 0;
    for (name, report) in samples::all() {
        let told = json::json(&report);
        let ratio = told["throughput"]["ratio"].as_f64();
        let each = JUDGED
            .map(|(expr, place)| (expr, told.pointer(&format!("/{place}")).unwrap().as_f64()));
        let ratio = ("ratio<0.01%", ratio.map(|ratio| ratio * 100.0));
        let each: Vec<_> = each.into_iter().chain([ratio]).collect();
        let conditions: Vec<_> = each.iter().map(|(expr, _)| expr.parse().unwrap()).collect();
        let report = report.judged(&conditions);
        for ((expr, shown), judged) in each.iter().zip(&report.conditions) {
            let value = judged.value.map(|(value, _)| value);
            let (value, shown) = (value.and_then(json::finite), shown.and_then(json::finite));
            let apart = (value.unwrap_or_default() - shown.unwrap_or_default()).abs();
            let same = value.is_some() == shown.is_some() && apart < 1e-3;
            assert!(same, "{name}: {expr}: {value:?}, the report has {shown:?}");
            assert!(shown.is_some() || judged.is_true, "{name}: {judged:?}");
            untold += usize::from(shown.is_none());
        }
    }
    assert!(untold > 10, "{untold} figures that nothing tells");
}

/// The numbers of a table.
fn csv_rows(table: &str) -> Vec<String> {
    let mut reader = ::csv::Reader::from_reader(table.as_bytes());
    let values = reader.records().map(|row| row.unwrap()[2].to_owned());
    values
        .filter(|value| value.parse::<f64>().is_ok())
        .collect()
}

fn collect(value: &Value, numbers: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| collect(value, numbers)),
        Value::Array(elements) => elements.iter().for_each(|value| collect(value, numbers)),
        Value::Number(number) => numbers.push(number.to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
