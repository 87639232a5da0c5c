//! The table of latencies: as many percentiles as the page has room for. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use super::page::Page;
use crate::metrics::streams::per_second;
use crate::metrics::{ByVerdict, Latencies};
use crate::units::{show_span, three_digits};

/// The percentiles of a table, with their headings.
pub(super) const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

/// What goes first where there is no room for all.
const LEAST: [&str; 4] = ["p95", "p90", "p99.9", "n"];

/// Columns of the names, of the verdicts and, at least, of a figure.
const NAME: usize = 15;
const VERDICT: usize = 8;
const FIGURE: usize = 9;

/// A part of a table: what it is about, its latencies, and how they are told.
pub(super) type Part<'a> = (&'a str, &'a ByVerdict, Tell);

/// How a figure is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tell {
    /// As it is: so many per cent are at most so long.
    Span,
    /// As so many of them in a second: so many per cent have at least so many.
    PerSecond,
}

/// A row: what it is about, whether it is of what succeeded, and its figures in the order of the headings.
struct Row<'a> {
    name: &'a str,
    verdict: &'a str,
    figures: Vec<String>,
    /// How many are longer than can be told.
    beyond: u64,
}

impl Page {
    /// A row for what succeeded, and one for what failed if anything did, of each name.
    pub(super) fn table(&mut self, parts: &[Part<'_>]) {
        let mut headings: Vec<&str> = QUANTILES.map(|(name, _)| name).to_vec();
        headings.extend(["max", "n"]);
        let mut rows = Vec::new();
        for &(name, latencies, tell) in parts {
            rows.push(self.row(name, "ok", &latencies.ok, tell));
            if latencies.failed.count() > 0 {
                rows.push(self.row("", "failed", &latencies.failed, tell));
            }
        }
        let figures = rows.iter().flat_map(|row| &row.figures);
        let longest = figures.map(|figure| figure.chars().count() + 2).max();
        let figure = longest.unwrap_or(FIGURE).max(FIGURE);
        // Without room for four figures beside the names, these stand above.
        let beside = NAME + VERDICT + 4 * figure <= self.columns();
        let before = if beside { NAME + VERDICT } else { VERDICT + 2 };
        for least in LEAST {
            if before + headings.len() * figure > self.columns() {
                let at = headings.iter().position(|heading| *heading == least);
                let at = at.expect("the headings are all there");
                headings.remove(at);
                for row in &mut rows {
                    row.figures.remove(at);
                }
            }
        }
        let line = |before: String, cells: &[String]| {
            cells.iter().fold(before, |mut line, cell| {
                let _ = write!(line, "{cell:>figure$}");
                line
            })
        };
        let headings: Vec<String> = headings.into_iter().map(str::to_owned).collect();
        self.line(&line(" ".repeat(before), &headings));
        for row in rows {
            let begins = if beside {
                format!(
                    "{:<NAME$}{:<VERDICT$}",
                    format!("  {}", row.name),
                    row.verdict
                )
            } else {
                if !row.name.is_empty() {
                    self.line(&format!("  {}", row.name));
                }
                format!("  {:<VERDICT$}", row.verdict)
            };
            let mut text = line(begins, &row.figures);
            if row.beyond > 0 {
                let beyond = format!("  > 1h: {}", row.beyond);
                if text.chars().count() + beyond.len() <= self.columns() {
                    text += &beyond;
                } else {
                    self.line(&text);
                    text = format!("{}{}", " ".repeat(before - 2), beyond);
                }
            }
            self.line(&text);
        }
    }

    fn row<'a>(
        &self,
        name: &'a str,
        verdict: &'a str,
        latencies: &Latencies,
        tell: Tell,
    ) -> Row<'a> {
        let shown = |span| match tell {
            Tell::Span => Some(show_span(span)),
            Tell::PerSecond => per_second(span).map(three_digits),
        };
        let dash = || self.glyphs().dash().to_owned();
        let cell = |span: Option<Duration>| span.and_then(shown).unwrap_or_else(dash);
        let quantiles = QUANTILES.map(|(_, quantile)| latencies.quantile(quantile));
        let spans = quantiles.into_iter().chain([latencies.max()]);
        Row {
            name,
            verdict,
            figures: spans
                .map(cell)
                .chain([latencies.count().to_string()])
                .collect(),
            beyond: latencies.beyond(),
        }
    }
}
