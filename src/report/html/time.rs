//! What happened when: charts over time, each beside a table of the same. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use http::StatusCode;

use super::Run;
use super::markup::{Name, Table, Text, nothing};
use super::series::{Series, float};
use super::top::DASH;
use crate::metrics::waited;
use crate::report::comparison::words::plain_span;
use crate::report::said;
use crate::units::{show_span, three_digits};

/// The most rows of the table.
const ROWS: usize = 24;

/// A place where the script draws, with what stands there for those who do not see it.
pub(super) fn chart(run: &Run<'_>, kind: &str, class: &str, what: &str, more: &str) -> String {
    if run.report.summary.tally.timeline.cells().is_empty() {
        return nothing("nothing was sent: there is nothing to draw over time.");
    }
    figure(kind, run.nth, class, what, more)
}

/// How the lines of several runs share an axis.
pub(super) const DRAWN_TOGETHER: &str = "Where few are far above the others, the upper part of the scale is drawn together. \
                                         A name switches its line off and on.";

pub(super) fn figure(kind: &str, nth: usize, class: &str, what: &str, more: &str) -> String {
    format!(
        "<figure><figcaption><b>{what}</b>{more}</figcaption><div class=\"chart {class}\" data-chart=\"{kind}\" data-run=\"{nth}\" \
         tabindex=\"0\" role=\"group\" aria-roledescription=\"chart\" aria-label=\"{what}. Left and right arrow keys read its \
         values.\"></div></figure>"
    )
}

pub(super) fn section(run: &Run<'_>) -> String {
    let tally = &run.report.summary.tally;
    let refused = match tally.answers(StatusCode::TOO_MANY_REQUESTS) {
        0 => "No answer was 429.".to_owned(),
        1 => "One answer was 429.".to_owned(),
        count => format!("{count} answers were 429."),
    };
    format!(
        "<h2>Over time</h2><p class=\"lead\">Seconds since the first send. The shaded part is the steady one, over which means \
         are taken.</p><div class=\"charts\">{}{}</div>{}",
        chart(
            run,
            "sends",
            "",
            "Sent, and answered 429, per second",
            &refused
        ),
        chart(
            run,
            "flight",
            "",
            "In flight",
            "The mean in each part of the time."
        ),
        table(run)
    )
}

/// The same as numbers.
fn table(run: &Run<'_>) -> String {
    let series = Series::of(&run.report.summary);
    if series.bins.is_empty() {
        return String::new();
    }
    let together = series.bins.len().div_ceil(ROWS);
    let rows = series.bins.chunks(together).enumerate().map(|(nth, bins)| {
        let mean = |part: fn(&super::series::Bin) -> f64| {
            three_digits(bins.iter().map(part).sum::<f64>() / float(bins.len() as u64))
        };
        let owners = bins.iter().flat_map(|bin| &bin.owners);
        let most = owners
            .max_by(|one, other| one.1.total_cmp(other.1))
            .map(|(owner, _)| *owner);
        vec![
            since(series.at(nth * together)),
            mean(|bin| bin.sent),
            mean(|bin| bin.ended),
            mean(|bin| bin.refused),
            mean(|bin| bin.in_flight),
            most.map_or(DASH.to_owned(), |owner| {
                Name(run.report.setup.name_of(owner)).to_string()
            }),
        ]
    });
    let table = Table {
        caption: "The run over time, as means per second",
        headings: &[
            "from",
            "sent/s",
            "ended/s",
            "429/s",
            "in flight",
            "<most of the time held by",
        ],
        rows: rows.collect(),
    };
    format!("<details><summary>The same as a table</summary>{table}</details>")
}

/// A moment in seconds since the first send, as long as a bin begins there.
fn since(seconds: f64) -> String {
    plain_span(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// Whose the time was.
pub(super) fn waits(run: &Run<'_>) -> String {
    let shares = &run.report.diagnosis.shares;
    let mut out = String::from("<h2>Whose wait it was</h2>");
    if shares.is_empty() {
        return out + &jobs_waits(run);
    }
    let span = show_span(run.report.summary.stretch.span());
    let _ = write!(
        out,
        "<p class=\"lead\">Each instant belongs to one owner: what kept the oldest waiting job from being sent. The table is \
         of the {span} over which means are taken.</p>"
    );
    let rows = shares.iter().map(|share| {
        let name = said::waited_for(Some(share.owner), &share.name);
        let figure = format!(
            "<span data-figure=\"held_back.{}\">{} %</span>",
            Text(&share.name),
            share.percent
        );
        row(name, share.span, figure, share.percent)
    });
    let table = held_by(rows.collect());
    let owners = Series::of(&run.report.summary).owners();
    if owners.is_empty() {
        return out + &table;
    }
    let chart = chart(run, "shares", "", "Shares of the time", "Of the whole run.");
    out + &format!("<div class=\"pair\">{chart}<div>{table}</div></div>")
}

/// What the jobs waited for, where nothing tells whose the time was.
fn jobs_waits(run: &Run<'_>) -> String {
    let waited = waited(&run.report.summary, &run.report.setup);
    if waited.is_empty() {
        return nothing("no job is known to have waited for anything.");
    }
    let rows = waited.iter().map(|wait| {
        let figure = format!("{} %", wait.percent);
        let name = said::waited_for(wait.owner, &wait.name);
        row(name, wait.span, figure, wait.percent)
    });
    let table = held_by(rows.collect());
    format!(
        "<p class=\"lead\">Nothing tells whose the time was. This is what the jobs waited for by themselves, added up over all \
         of them.</p>{table}"
    )
}

fn held_by(rows: Vec<Vec<String>>) -> String {
    let headings = &["<<owner", "time", "share", ""];
    Table {
        caption: "Held back by",
        headings,
        rows,
    }
    .to_string()
}

fn row(name: &str, span: Duration, figure: String, percent: u64) -> Vec<String> {
    let bar = format!(
        "<svg width=\"90\" height=\"10\" aria-hidden=\"true\"><rect class=\"f1\" width=\"{percent}%\" height=\"10\" rx=\"2\"/></svg>"
    );
    vec![Name(name).to_string(), show_span(span), figure, bar]
}
