//! The first screen: the verdict, the advice, and the figures that decide. Floor 4: doors.

use std::fmt::Write as _;

use serde_json::Value;

use super::Run;
use super::markup::{Name, Prose, Text};
use crate::metrics::littles::Cause;
use crate::report::throughput::percent_of;
use crate::report::{Report, said, text};
use crate::units::{counted, show_moment, show_span};

/// Inputs that stand above the verdict; all are among the circumstances.
const INPUTS: usize = 3;

/// What stands for a figure that there is none of.
pub(super) const DASH: &str = "—";

impl Run<'_> {
    /// A figure of the JSON report as it is there; [`DASH`] for none.
    pub(super) fn figure(&self, pointer: &str) -> String {
        match self.figures.pointer(pointer) {
            None | Some(Value::Null) => DASH.to_owned(),
            Some(Value::String(text)) => Name(text).to_string(),
            Some(other) => Text(other).to_string(),
        }
    }

    /// A count of the JSON report, if it is above zero.
    pub(super) fn some(&self, pointer: &str) -> Option<u64> {
        let count = self.figures.pointer(pointer).and_then(Value::as_u64);
        count.filter(|&count| count > 0)
    }
}

/// Answers per second, as the text has them.
pub(super) fn rate(rate: Option<f64>) -> String {
    said::rate(rate, DASH)
}

/// The heading of a page on one run.
pub(super) fn heading(run: &Run<'_>) -> String {
    let inputs = &run.report.facts.inputs;
    let few = inputs.iter().take(INPUTS);
    let mut few: Vec<_> = few.map(|input| Name(input).to_string()).collect();
    if inputs.len() > INPUTS {
        few.push(format!("and {} more", inputs.len() - INPUTS));
    }
    let took = show_span(run.report.summary.elapsed);
    let about = [
        few.join(", "),
        started(run.report).unwrap_or_default(),
        took,
    ];
    let about = about.iter().filter(|part| !part.is_empty());
    let about: Vec<String> = about.map(|part| format!("<span>{part}</span>")).collect();
    format!(
        "<header><p class=\"brand\"><b>shaper</b>{}</p><h1 data-figure=\"verdict\">{}</h1>{}</header>",
        about.concat(),
        Prose(&run.report.diagnosis.verdict),
        said(run)
    )
}

/// When the run began, to the second for people; `None` if nothing tells.
pub(super) fn started(report: &Report) -> Option<String> {
    let exact = show_moment(report.facts.started?);
    let second = exact.split('.').next().unwrap_or(&exact).replace('T', " ");
    Some(format!("<time datetime=\"{exact}\">{second} UTC</time>"))
}

/// The same where several runs are told of.
pub(super) fn told(run: &Run<'_>) -> String {
    let verdict = Prose(&run.report.diagnosis.verdict);
    format!("<p class=\"verdict\">{verdict}</p>{}", said(run))
}

/// What follows on the verdict.
fn said(run: &Run<'_>) -> String {
    let mut out = String::new();
    if let Some(ended) = text::ended(&run.report.facts.end) {
        let _ = write!(out, "<p class=\"alarm\">Ended: {}</p>", Text(ended));
    }
    out.push_str(&conditions(run.report));
    out.push_str(&notes(run.report));
    let advice = &run.report.diagnosis.advice;
    if !advice.is_empty() {
        let advice = advice.split("; ").map(|part| Prose(part).to_string());
        let advice = advice.collect::<Vec<_>>().join(";<br>");
        let _ = write!(
            out,
            "<div class=\"advice\"><b>Advice</b><p>{advice}</p></div>"
        );
    }
    let findings = &run.report.diagnosis.findings;
    if !findings.is_empty() {
        out.push_str("<ul class=\"findings\">");
        for finding in findings {
            let _ = write!(out, "<li>{}</li>", Prose(finding));
        }
        out.push_str("</ul>");
    }
    out
}

/// The conditions under which the run counts as failed, and whether it does.
pub(super) fn conditions(report: &Report) -> String {
    let conditions = report.conditions.iter().map(|judged| {
        // A word and a sign, not a colour alone.
        let (class, sign) = if judged.is_true {
            ("bad", "&#10007;")
        } else {
            ("good", "&#10003;")
        };
        let (word, told) = (said::judged(judged), Prose(&judged.told));
        format!("<li class=\"{class}\">{sign} {word}: {told}</li>")
    });
    listed("Fail if", &conditions.collect::<String>())
}

/// What the results do not tell, and why.
fn notes(report: &Report) -> String {
    let notes = report.sources.iter().flat_map(|sources| &sources.notes);
    let notes = notes.map(|note| format!("<li>{}</li>", Prose(note)));
    listed("Results", &notes.collect::<String>())
}

/// Items beside what they are about; nothing without any.
fn listed(about: &str, items: &str) -> String {
    match items {
        "" => String::new(),
        items => {
            format!("<div class=\"advice\"><b>{about}</b><ul class=\"static\">{items}</ul></div>")
        }
    }
}

/// The accounting identity, and tiles.
pub(super) fn figures(run: &Run<'_>) -> String {
    identity(run) + &tiles(run)
}

fn identity(run: &Run<'_>) -> String {
    let part = |key: &str, sign: &str, wrong: bool| {
        let pointer = format!("/counts/{key}");
        let class = match run.some(&pointer) {
            None => "zero",
            Some(_) if wrong => "wrong",
            Some(_) => "",
        };
        let value = run.figure(&pointer);
        format!(
            "<span class=\"{class}\">{sign}{key} <b data-figure=\"counts.{key}\">{value}</b></span>"
        )
    };
    let mut out = String::from("<p class=\"identity\">");
    for (key, sign, wrong) in [
        ("read", "", false),
        ("ok", "= ", false),
        ("failed", "+ ", true),
        ("invalid", "+ ", true),
        ("skipped", "+ ", false),
        ("cancelled", "+ ", true),
    ] {
        out.push_str(&part(key, sign, wrong));
    }
    if let Some(before) = run.some("/counts/done_before") {
        let _ = write!(
            out,
            "<span>of these, done before: <b data-figure=\"counts.done_before\">{before}</b></span>"
        );
    }
    out + "</p>"
}

fn tiles(run: &Run<'_>) -> String {
    let report = run.report;
    let summary = &report.summary;
    let p99 = |part: &str| format!("/latency/{part}/ok/p99");
    let of = ["/counts/failed", "/counts/invalid"].map(|pointer| run.some(pointer).unwrap_or(0));
    let tiles = [
        (
            "observed",
            rate(report.summary.observed()),
            "answers per second".to_owned(),
            "throughput.observed",
        ),
        (
            "theory",
            rate(report.theory.slots_ceiling().map(|it| it.rate)),
            slots(report),
            "throughput.theory",
        ),
        (
            "observed of theory",
            share(report),
            lowest(report),
            "throughput.ratio",
        ),
        (
            "99 % answered within",
            run.span(&p99("service")),
            format!("since due {}", run.span(&p99("since_due"))),
            "latency.service.ok.p99",
        ),
        (
            "jobs not ok",
            of.iter().sum::<u64>().to_string(),
            format!(
                "of {}, in {} tries",
                run.figure("/counts/read"),
                summary.tally.tries
            ),
            "",
        ),
        (
            "took",
            show_span(summary.elapsed),
            format!("rate reached {}", rate(report.rate_reached())),
            "elapsed_ms",
        ),
    ];
    let mut out = String::from("<dl class=\"tiles\">");
    for (name, value, more, figure) in tiles {
        let figure = match figure {
            "" => String::new(),
            figure => format!(" data-figure=\"{figure}\""),
        };
        let _ = write!(
            out,
            "<div class=\"tile\"><dt>{name}</dt><dd><span{figure}>{value}</span><small>{more}</small></dd></div>"
        );
    }
    out + "</dl>"
}

fn slots(report: &Report) -> String {
    let cause = report.theory.slots_ceiling().map(|ceiling| &ceiling.cause);
    match cause {
        Some(Cause::Slots(slots, mean)) => {
            format!("{} / {}", counted(*slots, "slot"), show_span(*mean))
        }
        Some(Cause::Limit(..)) | None => "slots / mean latency".to_owned(),
    }
}

/// The observed rate as a share of what the slots allow.
fn share(report: &Report) -> String {
    let observed = report.summary.observed().zip(report.theory.slots_ceiling());
    observed.map_or_else(
        || DASH.to_owned(),
        |(rate, ceiling)| percent_of(rate, ceiling.rate),
    )
}

/// The same of the lowest limit.
fn lowest(report: &Report) -> String {
    match report.lowest_limit().zip(report.summary.observed()) {
        Some(((number, limit), rate)) => {
            let name = report.setup.all_of(number);
            format!("{} of {}", percent_of(rate, limit), Name(name))
        }
        None => "no limit sets a ceiling".to_owned(),
    }
}
