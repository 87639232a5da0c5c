//! Little's law in numbers and as a picture: throughput over latency, under what cannot be passed. Floor 4: doors.

use std::fmt::Write as _;

use super::Run;
use super::axis::{Axis, Kind};
use super::markup::{Name, Table, Text};
use super::top::{DASH, rate};
use crate::metrics::Owner;
use crate::metrics::littles::Cause;
use crate::report::Report;
use crate::report::bars::{Row, rows_in};
use crate::report::text::AGREES;
use crate::report::throughput::marks;
use crate::units::{show_span, three_digits};

/// The picture.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 46.0;
const BOTTOM: f64 = HEIGHT - 40.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = WIDTH - 10.0;

/// Letters of a name in the picture.
const LETTERS: usize = 24;

/// The most limits whose names stand in it; all are in the list beside it.
const NAMED: usize = 3;

/// Rows of the histogram: of seconds, all, and those that have a mark alone.
const ROWS: (u64, usize, usize) = (16, 40, 24);

pub(super) fn section(run: &Run<'_>) -> String {
    let report = run.report;
    let mut out = String::from("<h2>Little's law</h2>");
    if !report.was_answered() {
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
        picture(report)
    );
    out.push_str(&over_time(run));
    out + &histogram(report)
}

/// `1.02 in flight = 10.0/s x 102 ms`.
fn numbers(run: &Run<'_>) -> String {
    let (stretch, theory) = (&run.report.summary.stretch, &run.report.theory);
    let mut out = String::new();
    if let (Some(mean), Some(product)) = (stretch.mean, theory.in_flight)
        && stretch.in_flight > 0.0
    {
        let apart = (product / stretch.in_flight - 1.0).abs() * 100.0;
        let (sign, verdict) = if apart <= AGREES {
            ("=", format!("agrees to {apart:.1} %"))
        } else {
            (
                "~",
                format!("differs by {apart:.0} %: tries cross the ends of a short part"),
            )
        };
        let _ = write!(
            out,
            "<div class=\"law\"><div><b data-figure=\"little.in_flight\">{}</b><small>in flight</small></div><i>{sign}</i>\
             <div><b data-figure=\"little.rate_per_s\">{}/s</b><small>ended</small></div><i>&times;</i>\
             <div><b data-figure=\"little.mean_ms\">{}</b><small>mean time in flight</small></div></div><p>{verdict}. ",
            three_digits(stretch.in_flight),
            three_digits(stretch.rate),
            show_span(mean)
        );
    } else {
        out.push_str("<p>");
    }
    let _ = write!(
        out,
        "At most <b data-figure=\"peak_in_flight\">{}</b>",
        run.report.summary.peak_in_flight
    );
    if let Some(slots) = run.report.setup.slots {
        let _ = write!(out, " of {slots}");
    }
    let span = show_span(stretch.span());
    let part = match run.figure("/little/part") {
        part if part.contains("steady") => format!("over the steady part, {span}"),
        part if part.contains("whole") => {
            format!("over the whole run, {span}: its steady part has under 20 answers or 1 s")
        }
        _ => format!("over the whole run, {span}"),
    };
    let _ = write!(out, " were in flight at once. Means are taken {part}.</p>");
    if let Some(crossover) = &run.report.theory.crossover {
        let _ = write!(out, "<p>{}.</p>", Text(crossover));
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

/// Whether a mark says that it bounds the run.
fn binds(mark: &str) -> bool {
    mark.ends_with(" binds") || mark.ends_with(" bind")
}

fn picture(report: &Report) -> String {
    let stretch = &report.summary.stretch;
    let mean = stretch.mean.map_or(0.0, |mean| mean.as_secs_f64());
    if mean <= 0.0 || stretch.rate <= 0.0 {
        return "<p>Its tries took no time: there is nothing to draw.</p>".to_owned();
    }
    let slots = report.setup.slots.map(super::series::float);
    let limits: Vec<(String, f64)> = report
        .theory
        .ceilings
        .iter()
        .filter_map(|ceiling| match ceiling.cause {
            Cause::Limit(number, _) => {
                Some((report.setup.name_of(Owner::Limit(number)), ceiling.rate))
            }
            Cause::Slots(..) => None,
        })
        .collect();
    let lowest = limits.first().map(|(_, rate)| *rate);
    let cross = slots.zip(lowest).map(|(slots, rate)| slots / rate);
    let far = cross.unwrap_or(mean).clamp(mean / 300.0, mean * 300.0);
    let across = (mean.min(far) / 6.0, mean.max(far) * 6.0);
    let at_mean = slots.map(|slots| slots / mean);
    let rates = [Some(stretch.rate), at_mean]
        .into_iter()
        .flatten()
        .chain(limits.iter().map(|it| it.1));
    let (low, high) = rates.fold((f64::MAX, 0.0_f64), |(low, high), rate| {
        (low.min(rate), high.max(rate))
    });
    let up = (
        low.max(stretch.rate / 300.0).min(stretch.rate) / 6.0,
        high.min(stretch.rate * 300.0) * 4.0,
    );
    let x = Axis::new(Kind::Log, across, (LEFT, RIGHT));
    let y = Axis::new(Kind::Log, up, (BOTTOM, TOP));
    let told = format!(
        "This run: {}/s at {}.{}",
        three_digits(stretch.rate),
        show_span(std::time::Duration::from_secs_f64(mean)),
        cross.map_or(String::new(), |cross| format!(
            " Slots and the lowest limit meet at {}.",
            show_span(
                std::time::Duration::try_from_secs_f64(cross).unwrap_or(std::time::Duration::MAX)
            )
        ))
    );
    let mut out = format!(
        "<svg class=\"svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        Text(&told)
    );
    grid(&mut out, &x, &y);
    let allowed = |latency: f64| {
        let by_slots = slots.map_or(f64::MAX, |slots| slots / latency);
        by_slots.min(lowest.unwrap_or(f64::MAX))
    };
    if slots.is_some() || lowest.is_some() {
        let mut path = String::new();
        for step in 0..=100 {
            let latency = across.0 * (across.1 / across.0).powf(f64::from(step) / 100.0);
            let _ = write!(path, "{:.1},{:.1} ", x.at(latency), y.at(allowed(latency)));
        }
        let _ = write!(
            out,
            "<polygon class=\"fband\" points=\"{LEFT},{TOP} {path}{RIGHT},{TOP}\"/>"
        );
    }
    for (number, (name, rate)) in limits.iter().enumerate() {
        let at = y.at(*rate);
        let _ = write!(
            out,
            "<line class=\"line l2\" stroke-dasharray=\"8 4\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
        );
        if number < NAMED {
            let _ = write!(
                out,
                "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                at - 5.0,
                Text(cut(name))
            );
        }
    }
    if let Some(slots) = slots {
        // The line ends where it leaves the picture.
        let from = across.0.max(slots / up.1);
        let to = across.1.min(slots / up.0);
        let (x1, y1, x2, y2) = (x.at(from), y.at(slots / from), x.at(to), y.at(slots / to));
        let _ = write!(
            out,
            "<line class=\"line l4\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{slots} slots / latency</text>",
            x1 + 8.0,
            y1 + 12.0
        );
    }
    let (px, py) = (x.at(mean), y.at(stretch.rate));
    let (anchor, dx) = if px > WIDTH * 0.6 {
        ("end", -10.0)
    } else {
        ("start", 10.0)
    };
    let _ = write!(
        out,
        "<line class=\"line lsoft\" stroke-dasharray=\"2 3\" x1=\"{px:.1}\" x2=\"{px:.1}\" y1=\"{py:.1}\" y2=\"{BOTTOM}\"/>\
         <circle class=\"f1\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"6\"/>\
         <text class=\"strong\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">this run {}/s</text></svg>",
        px + dx,
        py + 18.0,
        three_digits(stretch.rate)
    );
    out
}

fn grid(out: &mut String, x: &Axis, y: &Axis) {
    for tick in x.ticks(5.0) {
        let at = x.at(tick);
        let span = show_span(std::time::Duration::from_secs_f64(tick));
        let _ = write!(
            out,
            "<line class=\"gridline\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{span}</text>",
            BOTTOM + 16.0
        );
    }
    for tick in y.ticks(5.0) {
        let at = y.at(tick);
        let _ = write!(
            out,
            "<line class=\"gridline\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}/s</text>",
            LEFT - 5.0,
            at + 4.0,
            crate::metrics::littles::plain(tick)
        );
    }
    let _ = write!(
        out,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>\
         <text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">mean time in flight</text>",
        BOTTOM + 32.0
    );
}

fn cut(name: &str) -> String {
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    let mut short: String = name.chars().take(LETTERS - 1).collect();
    short.push('…');
    short
}

fn over_time(run: &Run<'_>) -> String {
    let what = "Tries that ended in each second, beside the ceilings";
    super::time::chart(
        run,
        "throughput",
        "tall",
        what,
        "Drag to look closer; a double click shows all again.",
    )
}

/// Seconds by how many answers came in each, as rows of a table: the marks are on the same axis.
fn histogram(report: &Report) -> String {
    let stretch = &report.summary.stretch;
    let heading = "<h3>Seconds by how many answers came in each</h3>";
    if stretch.per_second.len() < 2 {
        let span = show_span(stretch.span());
        return format!("{heading}<p>Under 2 whole seconds ({span}): no histogram.</p>");
    }
    let marks = marks(report);
    let rows = rows_in(&stretch.per_second, &marks, ROWS);
    let most = rows.iter().map(|row| row.seconds).max().unwrap_or(0).max(1);
    let mut out = format!(
        "{heading}<table class=\"bars\"><caption>{} whole seconds. A row without a bar is a ceiling that no second came to.\
         </caption><thead><tr><th scope=\"col\" class=\"text\">answers</th><th scope=\"col\">seconds</th><td></td>\
         <th scope=\"col\" class=\"text\">what lies there</th></tr></thead><tbody>",
        stretch.per_second.len()
    );
    let mut last: Option<u64> = None;
    for row in &rows {
        if last.is_some_and(|high| row.low > high + 1) {
            out.push_str("<tr class=\"gap\"><td>&#8942;</td><td></td><td class=\"bar\"></td><td class=\"mark\"></td></tr>");
        }
        last = Some(row.high);
        out.push_str(&bar(row, most));
    }
    out + "</tbody></table>"
}

fn bar(row: &Row, most: u64) -> String {
    let share = super::series::float(row.seconds) / super::series::float(most) * 100.0;
    let class = if row.marks.iter().any(|mark| binds(mark)) {
        "mark binds"
    } else {
        "mark"
    };
    let marks = row.marks.iter().map(|mark| Name(mark).to_string());
    let arrow = if row.marks.is_empty() { "" } else { "&larr; " };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{} s</td><td class=\"bar\"><svg width=\"100%\" height=\"14\" aria-hidden=\"true\">\
         <rect class=\"f1\" width=\"{share:.2}%\" height=\"14\" rx=\"2\"/></svg></td><td class=\"{class}\">{arrow}{}</td></tr>",
        row.label(),
        row.seconds,
        marks.collect::<Vec<_>>().join("; ")
    )
}

/// A table of counts by name, most first, with a bar each.
pub(super) fn counts(caption: &str, heading: &str, rows: &[(String, u64)]) -> String {
    let most = rows.iter().map(|row| row.1).max().unwrap_or(0).max(1);
    let all: u64 = rows.iter().map(|row| row.1).sum::<u64>().max(1);
    let cells = |(name, count): &(String, u64)| {
        let [part, share] =
            [most, all].map(|of| super::series::float(*count) / super::series::float(of) * 100.0);
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

/// What stands where there is nothing to tell.
pub(super) fn nothing(text: &str) -> String {
    format!("<p class=\"lead\">{DASH} {text}</p>")
}
