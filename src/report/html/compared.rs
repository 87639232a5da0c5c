//! Disciplines that were compared: their figures, and what they sent on the same axes. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::data::brief;
use super::document;
use super::markup::{Name, Prose, Table, Text, calm, in_script};
use super::series::{float, together};
use super::time::figure;
use super::top::DASH;
use crate::metrics::Timeline;
use crate::report::comparison::words::{self, latency, plain_span, short};
use crate::report::comparison::{Comparison, Figures, Held, Row, SHORT, Seen, Spike};
use crate::units::{Tick, nanos};

/// The headings of the figures, in the order of the text.
const HEADINGS: [&str; 11] = [
    "<<discipline",
    "most in 100 ms",
    "most in 1 s",
    "not sent",
    "ok",
    "API 429",
    "p50",
    "p99",
    "peak in flight",
    "all done",
    "<<bound by",
];

/// The page on a comparison.
pub fn compared(it: &Comparison) -> String {
    let title = match it.rows.len() {
        1 => "One discipline".to_owned(),
        count => format!("{count} disciplines side by side"),
    };
    let bins = Bins::of(it.rows.iter().filter_map(Row::figures));
    let mut body = heading(&title, it);
    let mut section = |inside: String| {
        let _ = write!(body, "<section>{inside}</section>");
    };
    section(figures(it));
    if let Some(bins) = &bins {
        section(over_time(bins));
    }
    it.spike.iter().for_each(|it| section(spike(it)));
    if !it.held.is_empty() {
        section(held(it));
    }
    let runs: Vec<Value> = bins.iter().flat_map(|bins| data(it, bins)).collect();
    let data = in_script(&json!({ "runs": runs }).to_string());
    document(&title, &body, &data)
}

fn heading(title: &str, it: &Comparison) -> String {
    let mut out = format!(
        "<header><p class=\"brand\"><b>shaper</b><span>compare</span></p><h1>{}</h1><p class=\"lead\">{}</p></header>",
        Text(title),
        Prose(words::what(it))
    );
    if let Some(signal) = it.cut {
        let _ = write!(out, "<p class=\"alarm\">{}</p>", Text(words::early(signal)));
    }
    let sentences = it.theory().into_iter().chain(it.lessons());
    let sentences = sentences.map(|sentence| format!("<li>{}</li>", Prose(sentence)));
    let sentences: Vec<String> = sentences.collect();
    if !sentences.is_empty() {
        let _ = write!(out, "<ul class=\"findings\">{}</ul>", sentences.concat());
    }
    out
}

fn figures(it: &Comparison) -> String {
    let rows = it.rows.iter().map(|row| {
        let mut cells = vec![Name(&row.name).to_string()];
        match &row.seen {
            Seen::Run(seen) => {
                let figures = words::figures(seen, DASH);
                cells.extend(figures.iter().map(|figure| Name(figure).to_string()));
            }
            Seen::NotRun(why) => {
                cells.resize(HEADINGS.len() - 1, String::new());
                cells.push(format!("{DASH} {}", Text(why)));
            }
        }
        cells
    });
    let table = Table {
        caption: "The same jobs, one row a discipline",
        headings: &HEADINGS,
        rows: rows.collect(),
    };
    format!(
        "<h2>Figures</h2><p class=\"lead\">{}</p>{table}",
        Text(words::of_figures())
    )
}

fn over_time(bins: &Bins) -> String {
    let more = format!(
        "Since the start of each, as means over {}; what is shorter stands in the figures. Where few are far above the others, the upper part of the scale is drawn \
         together. A name switches its line off and on.",
        plain_span(Duration::from_nanos(bins.width))
    );
    format!(
        "<h2>Over time</h2>{}",
        figure("compared", 0, "tall", "Sent per second", &more)
    )
}

fn spike(it: &Spike) -> String {
    let rows = it.rows.iter().map(|row| {
        vec![
            Name(&row.name).to_string(),
            row.most.to_string(),
            format!("{}/s", short(row.rate())),
            row.not_sent.to_string(),
        ]
    });
    let within = format!("most within {}", plain_span(SHORT));
    let table = Table {
        caption: "What passes around the boundary",
        headings: &["<<discipline", &within, "as a rate", "not sent"],
        rows: rows.collect(),
    };
    format!(
        "<h2>The double spike</h2><p class=\"lead\">{}.</p>{table}",
        Text(words::around(it))
    )
}

fn held(it: &Comparison) -> String {
    let latencies: Vec<String> = it.latencies.iter().map(|&own| latency(own)).collect();
    let mut headings = vec!["<<discipline", "<"];
    headings.extend(latencies.iter().map(String::as_str));
    headings.push("<");
    let lines = |held: &Held| {
        let name = Name(&held.name).to_string();
        let lines = held.lines().into_iter();
        let rows = lines.map(move |(what, cells, verdict)| {
            let mut row = vec![name.clone(), what.to_owned()];
            row.extend(cells);
            row.push(verdict.to_owned());
            row
        });
        rows.collect::<Vec<_>>()
    };
    let table = Table {
        caption: "By how long the API takes",
        headings: &headings,
        rows: it.held.iter().flat_map(lines).collect(),
    };
    let crossing = it.crossing().unwrap_or_default();
    format!(
        "<h2>What each holds still</h2><p class=\"lead\">{}</p>{table}",
        Text(crossing)
    )
}

/// Bins that all disciplines share, so that they can be laid over each other.
struct Bins {
    /// Nanoseconds; a multiple of every cell, all of which are aligned.
    width: u64,
    /// The number of the first bin.
    first: u64,
}

impl Bins {
    /// `None` if nothing was sent.
    fn of<'a>(all: impl Iterator<Item = &'a Figures> + Clone) -> Option<Self> {
        let sent = all.filter(|seen| !seen.timeline.cells().is_empty());
        let longest = sent.clone().max_by_key(|seen| end(&seen.timeline))?;
        let widths = sent.clone().map(|seen| nanos(seen.timeline.width()));
        let cell = widths.max()?;
        let from = sent.map(|seen| seen.timeline.from()).min()?.0;
        let cells = (end(&longest.timeline) - from).div_ceil(cell);
        let each = Duration::from_nanos(cell);
        let width = together(longest.sends, Duration::ZERO, cells, each).saturating_mul(cell);
        Some(Self {
            width,
            first: from / width,
        })
    }

    /// Sends per second in each bin, up to the last that anything happened in.
    fn rates(&self, timeline: &Timeline) -> Vec<f64> {
        let mut counts: Vec<u64> = Vec::new();
        let mut at = timeline.from().0;
        for cell in timeline.cells() {
            let place = usize::try_from(at / self.width - self.first).unwrap_or(usize::MAX);
            if counts.len() <= place {
                counts.resize(place + 1, 0);
            }
            counts[place] += cell.sent;
            at = at.saturating_add(nanos(timeline.width()));
        }
        let seconds = self.seconds(1);
        let rates = counts.into_iter().map(|count| float(count) / seconds);
        rates.collect()
    }

    /// So many bins, in seconds.
    fn seconds(&self, bins: u64) -> f64 {
        Duration::from_nanos(self.width.saturating_mul(bins)).as_secs_f64()
    }
}

/// When its last cell ends, in nanoseconds.
fn end(timeline: &Timeline) -> u64 {
    let Tick(from) = timeline.from();
    let cells = timeline.cells().len() as u64;
    from.saturating_add(cells.saturating_mul(nanos(timeline.width())))
}

/// What the script draws of each.
fn data(it: &Comparison, bins: &Bins) -> Vec<Value> {
    let runs = it.rows.iter().filter_map(|row| {
        let rates = bins.rates(&row.figures()?.timeline);
        let end = bins.first + rates.len() as u64;
        let rates: Vec<f64> = rates.into_iter().map(brief).collect();
        let time = json!({
            "start": bins.seconds(bins.first),
            "width": bins.seconds(1),
            "end": bins.seconds(end),
            "sent": rates,
        });
        Some(json!({ "name": calm(&row.name), "time": time }))
    });
    runs.collect()
}
