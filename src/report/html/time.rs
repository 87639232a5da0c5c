//! What happened when: charts over time, each beside a table of the same. Floor 4: doors.

use std::fmt::Write as _;

use super::Run;
use super::law::nothing;
use super::markup::{Name, Table, Text};
use super::series::{Series, float};
use super::top::DASH;
use crate::metrics::Owner;
use crate::units::{show_span, three_digits};

/// The most rows of the table.
const ROWS: usize = 24;

/// A place where the script draws, with what stands there for those who do not see it.
pub(super) fn chart(run: &Run<'_>, kind: &str, class: &str, what: &str, more: &str) -> String {
    if run.report.summary.timeline.cells().is_empty() {
        return nothing("nothing was sent: there is nothing to draw over time.");
    }
    figure(kind, run.nth, class, what, more)
}

pub(super) fn figure(kind: &str, nth: usize, class: &str, what: &str, more: &str) -> String {
    format!(
        "<figure><figcaption><b>{what}</b>{more}</figcaption><div class=\"chart {class}\" data-chart=\"{kind}\" data-run=\"{nth}\" \
         tabindex=\"0\" role=\"group\" aria-roledescription=\"chart\" aria-label=\"{what}. Left and right arrow keys read its \
         values.\"></div></figure>"
    )
}

pub(super) fn section(run: &Run<'_>) -> String {
    let refused = run.report.summary.statuses.get(&429).copied().unwrap_or(0);
    let refused = match refused {
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
            "Sent in each second, and answered 429",
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
            format!("{:.1} s", series.at(nth * together).max(0.0)),
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

/// Whose the time was.
pub(super) fn waits(run: &Run<'_>) -> String {
    let shares = &run.report.diagnosis.shares;
    let mut out = String::from("<h2>Whose wait it was</h2>");
    if shares.is_empty() {
        return out + &nothing("there was no time that anybody could have had.");
    }
    let span = show_span(run.report.summary.stretch.span());
    let _ = write!(
        out,
        "<p class=\"lead\">Each instant belongs to one owner: what kept the oldest waiting job from being sent. The table is \
         of the {span} over which means are taken.</p><div class=\"pair\">"
    );
    let rows = shares.iter().map(|share| {
        let name = match share.owner {
            Owner::Nothing => "nothing: no job waited".to_owned(),
            _ => share.name.clone(),
        };
        let percent = share.percent;
        vec![
            Name(name).to_string(),
            show_span(share.span),
            format!("<span data-figure=\"held_back.{}\">{percent} %</span>", Text(&share.name)),
            format!(
                "<svg width=\"90\" height=\"10\" aria-hidden=\"true\"><rect class=\"f1\" width=\"{percent}%\" height=\"10\" rx=\"2\"/></svg>"
            ),
        ]
    });
    let table = Table {
        caption: "Held back by",
        headings: &["<owner", "time", "share", ""],
        rows: rows.collect(),
    };
    let chart = chart(run, "shares", "", "Shares of the time", "Of the whole run.");
    let _ = write!(out, "{chart}<div>{table}</div></div>");
    out
}
