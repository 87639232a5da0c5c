//! Little's law in numbers, and what cannot be passed. Floor 4: doors.

use std::fmt::Write as _;

use super::markup::{Name, Prose};
use super::rates::{binds, histogram};
use super::top::rate;
use super::{Run, roof, time};
use crate::report::Report;
use crate::report::throughput::marks;
use crate::units::{show_span, three_digits};

pub(super) fn section(run: &Run<'_>) -> String {
    let report = run.report;
    let mut out = String::from("<h2>Little's law</h2>");
    if !report.summary.was_answered() {
        out.push_str(
            "<p class=\"lead\">No server answered: there is no rate to set beside a theory.</p>",
        );
        return out;
    }
    out.push_str(
        "<p class=\"lead\">What is in flight is the rate times the time that each takes. So slots alone let through slots / \
         latency, whatever the clock says; a rate limit is the same at every latency; a run lies under the lower of both.</p>",
    );
    let _ = write!(
        out,
        "<div class=\"pair\"><div>{}{}</div><figure><figcaption><b>Throughput over latency</b>Both axes are ratios. The shaded \
         part cannot be reached.</figcaption>{}</figure></div>",
        numbers(run),
        ceilings(report),
        roof::picture(report)
    );
    out.push_str(&over_time(run));
    out + &histogram(report)
}

/// `1.02 in flight = 10.0/s x 102 ms`.
fn numbers(run: &Run<'_>) -> String {
    let (report, mut out) = (run.report, String::new());
    if let Some(law) = report.law() {
        let _ = write!(
            out,
            "<div class=\"law\"><div><b data-figure=\"little.in_flight\">{}</b><small>in flight</small></div><i>{}</i>\
             <div><b data-figure=\"little.rate_per_s\">{}/s</b><small>ended</small></div><i>&times;</i>\
             <div><b data-figure=\"little.mean_ms\">{}</b><small>mean time in flight</small></div></div><p>{}. ",
            three_digits(law.in_flight),
            law.sign,
            three_digits(law.rate),
            show_span(law.mean),
            law.verdict
        );
    } else {
        out.push_str("<p>");
    }
    let _ = write!(
        out,
        "At most <b data-figure=\"peak_in_flight\">{}</b>",
        report.summary.peak_in_flight
    );
    if let Some(slots) = report.setup.slots {
        let _ = write!(out, " of {slots}");
    }
    let span = show_span(report.summary.stretch.span());
    let part = match report.why_whole() {
        None => format!("over the steady part, {span}"),
        Some(why) => format!("over the whole run, {span}: {why}"),
    };
    let _ = write!(out, " were in flight at once. Means are taken {part}.</p>");
    if let Some(crossover) = &report.theory.crossover {
        let _ = write!(out, "<p>{}.</p>", Prose(crossover));
    }
    out
}

fn ceilings(report: &Report) -> String {
    let mut out = String::from("<ul class=\"static\">");
    for mark in marks(report) {
        let class = if binds(&mark.text) {
            " class=\"good\""
        } else {
            ""
        };
        let _ = write!(
            out,
            "<li{class}><b>{}</b> {}</li>",
            rate(Some(mark.rate)),
            Name(&mark.text)
        );
    }
    out + "</ul>"
}

fn over_time(run: &Run<'_>) -> String {
    let what = "Tries that ended, per second, beside the ceilings";
    time::chart(
        run,
        "throughput",
        "tall",
        what,
        "Drag to look closer; a double click shows all again.",
    )
}
