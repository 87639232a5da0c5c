//! Disciplines that were compared: their figures, and what they sent on the same axes. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::data::brief;
use super::document;
use super::markup::{Name, Prose, Table, Text, in_script};
use super::series::{float, together};
use super::time::{DRAWN_TOGETHER, figure};
use super::top::DASH;
use crate::letters::calm;
use crate::metrics::Timeline;
use crate::report::comparison::words::{self, latency, plain_span, short};
use crate::report::comparison::{Comparison, Figures, Held, Row, SHORT, Seen, Spike};
use crate::units::nanos;

/// The page on a comparison.
pub fn compared(it: &Comparison) -> String {
    let title = match it.rows.len() {
        1 => "One discipline".to_owned(),
        count => format!("{count} disciplines side by side"),
    };
    let bins = Bins::of(it);
    let sections = [
        Some(figures(it)),
        bins.as_ref().map(over_time),
        it.spike.as_ref().map(spike),
        (!it.held.is_empty()).then(|| held(it)),
    ];
    let mut body = heading(&title, it);
    for inside in sections.into_iter().flatten() {
        let _ = write!(body, "<section>{inside}</section>");
    }
    let lines = bins.map_or_else(Vec::new, |bins| bins.lines(it));
    let data = in_script(&json!({ "runs": lines }).to_string());
    document(&title, &body, &data)
}

/// What was compared, and what it teaches.
fn heading(title: &str, it: &Comparison) -> String {
    let mut out = format!(
        "<header><p class=\"brand\"><b>shaper</b><span>compare</span></p><h1>{}</h1><p class=\"lead\">{}</p></header>",
        Text(title),
        Prose(words::what(it))
    );
    if let Some(signal) = it.cut {
        let _ = write!(out, "<p class=\"alarm\">{}</p>", Text(words::early(signal)));
    }
    if let Some(text) = it.unanswered() {
        let _ = write!(out, "<p class=\"alarm\">{}</p>", Text(&text));
    }
    let sentences = it.theory().into_iter().chain(it.lessons());
    let items: Vec<_> = sentences
        .map(|sentence| format!("<li>{}</li>", Prose(sentence)))
        .collect();
    if !items.is_empty() {
        let _ = write!(out, "<ul class=\"findings\">{}</ul>", items.concat());
    }
    out
}

/// A section: its heading, what is said of it, and its table.
fn told(heading: &str, lead: &str, table: &Table<'_>) -> String {
    let lead = match lead {
        "" => String::new(),
        lead => format!("<p class=\"lead\">{}</p>", Prose(lead)),
    };
    format!("<h2>{heading}</h2>{lead}{table}")
}

fn figures(it: &Comparison) -> String {
    let [inner @ .., last] = words::FIGURES;
    let last = format!("<<{last}");
    let mut headings = vec!["<<discipline"];
    headings.extend(inner);
    headings.push(&last);
    let row = |row: &Row| {
        let figures = match &row.seen {
            Seen::Run(seen) => words::figures(seen, DASH).map(|figure| Name(figure).to_string()),
            // Why it was not stands where there is room for a sentence.
            Seen::NotRun(why) => {
                let mut figures = words::FIGURES.map(|_| String::new());
                figures[inner.len()] = format!("{DASH} {}", Text(why));
                figures
            }
        };
        let name = Name(&row.name).to_string();
        std::iter::once(name).chain(figures).collect()
    };
    let table = Table {
        caption: "The same jobs, one row a discipline",
        headings: &headings,
        rows: it.rows.iter().map(row).collect(),
    };
    told("Figures", &words::of_figures(&it.others()), &table)
}

fn over_time(bins: &Bins) -> String {
    let mean = plain_span(Duration::from_nanos(bins.width));
    let more = format!(
        "Since the start of each, as means over {mean}; what is shorter stands in the figures. {DRAWN_TOGETHER}"
    );
    format!(
        "<h2>Over time</h2>{}",
        figure("all-sent", 0, "tall", "Sent per second", &more)
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
    told(
        "The double spike",
        &format!("{}.", words::around(it)),
        &table,
    )
}

fn held(it: &Comparison) -> String {
    let latencies: Vec<String> = it.latencies.iter().map(|&own| latency(own)).collect();
    let mut headings = vec!["<<discipline"];
    headings.extend(latencies.iter().map(String::as_str));
    headings.push("<what comes of it");
    let rows = |held: &Held| {
        let name = Name(&held.name).to_string();
        let rows = held.lines(DASH).into_iter();
        let rows = rows.map(move |line| {
            let mut row = vec![format!("{name}: {}", line.what)];
            row.extend(line.cells);
            row.push(line.verdict.to_owned());
            row
        });
        rows.collect::<Vec<_>>()
    };
    let table = Table {
        caption: "By how long the API takes",
        headings: &headings,
        rows: it.held.iter().flat_map(rows).collect(),
    };
    let crossing = it.crossing().unwrap_or_default();
    told("What each holds still", &crossing, &table)
}

/// Bins that all disciplines share, so that their lines lie on the same axes.
struct Bins {
    /// Nanoseconds: a multiple of every cell of every timeline, all of which begin at multiples of their width.
    width: u64,
    /// The number of the first bin, counted from the start of a run.
    first: u64,
}

impl Bins {
    /// `None` if nothing was sent.
    fn of(it: &Comparison) -> Option<Self> {
        let seen = it.rows.iter().filter_map(Row::figures);
        let sent: Vec<&Figures> = seen
            .filter(|seen| !seen.timeline.cells().is_empty())
            .collect();
        let timelines = || sent.iter().map(|seen| &seen.timeline);
        let cell = timelines().map(|own| nanos(own.width())).max()?;
        let from = timelines().map(|own| own.from().0).min()?;
        let longest = sent.iter().max_by_key(|seen| end(&seen.timeline))?;
        let cells = (end(&longest.timeline) - from).div_ceil(cell);
        let each = Duration::from_nanos(cell);
        let width = together(longest.sends, Duration::ZERO, cells, each).saturating_mul(cell);
        Some(Self {
            width,
            first: from / width,
        })
    }

    /// The lines that the script draws, one of each discipline that was run.
    fn lines(&self, it: &Comparison) -> Vec<Value> {
        let seen = it.rows.iter();
        let seen = seen.filter_map(|row| Some((&row.name, row.figures()?)));
        seen.map(|(name, seen)| {
            let rates = self.rates(&seen.timeline);
            let end = self.first + rates.len() as u64;
            let time = json!({
                "start": self.seconds(self.first),
                "width": self.seconds(1),
                "end": self.seconds(end),
                "sent": rates,
            });
            json!({ "name": calm(name), "time": time })
        })
        .collect()
    }

    /// Sends per second in each bin, from the first to the last that anything happened in.
    fn rates(&self, timeline: &Timeline) -> Vec<f64> {
        let mut sent: Vec<u64> = Vec::new();
        for (cell, at) in timeline.cells().iter().zip(starts(timeline)) {
            let bin = usize::try_from(at / self.width - self.first).unwrap_or(usize::MAX);
            if sent.len() <= bin {
                sent.resize(bin + 1, 0);
            }
            sent[bin] += cell.sent;
        }
        let seconds = self.seconds(1);
        let rates = sent.into_iter().map(|sent| brief(float(sent) / seconds));
        rates.collect()
    }

    /// So many bins, in seconds.
    fn seconds(&self, bins: u64) -> f64 {
        Duration::from_nanos(self.width.saturating_mul(bins)).as_secs_f64()
    }
}

/// When each of its cells begins, in nanoseconds.
fn starts(timeline: &Timeline) -> impl Iterator<Item = u64> {
    let (from, width) = (timeline.from().0, nanos(timeline.width()));
    (0..).map(move |nth: u64| from.saturating_add(nth.saturating_mul(width)))
}

/// When its last cell ends, in nanoseconds.
fn end(timeline: &Timeline) -> u64 {
    let cells = timeline.cells().len() as u64;
    let length = cells.saturating_mul(nanos(timeline.width()));
    timeline.from().0.saturating_add(length)
}
