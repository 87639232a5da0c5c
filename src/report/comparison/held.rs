//! What semaphore, rate and both hold still at several latencies. Floor 4: doors.

use std::time::Duration;

use super::words::{latency, plain_span, short};
use super::{Comparison, Held, Still};
use crate::report::grid::cut;
use crate::report::page::Page;
use crate::units::counted;

const HEADING: &str = "WHAT STAYS CONSTANT";

const TITLE: &str = "WHAT STAYS CONSTANT     API takes";

/// Columns of what stands before and behind a name: `  NAME  in flight`.
const LABEL: usize = 13;

/// Columns of a latency, at least.
const LATENCY: usize = 10;

/// What is said of a semaphore, of a rate and of both at several latencies.
const VERDICTS: [(&str, [&str; 2]); 3] = [
    ("semaphore", ["follows the latency", "constant"]),
    ("qps", ["constant", "follows the latency"]),
    ("both", ["the lower of the two", ""]),
];

/// Why the one follows from the other, where nobody waits inside of the API.
const LAW: &str = "Little's law: in flight = sent/s x what the API takes. ";

impl Page {
    /// Several blocks of columns where one is too wide.
    pub(super) fn held(&mut self, it: &Comparison) {
        if it.held.is_empty() {
            return;
        }
        let heads: Vec<String> = it.latencies.iter().map(|&own| latency(own)).collect();
        let width = heads.iter().map(|head| head.chars().count() + 2);
        let width = width.max().unwrap_or(0).max(LATENCY);
        let longest = it.held.iter().map(|held| held.name.chars().count()).max();
        let names = longest.unwrap_or(0) + LABEL;
        let wide = names.max(TITLE.len());
        if wide + heads.len() * width <= self.columns() {
            self.block(it, TITLE, wide, &heads, width, 0);
        } else {
            self.lines(HEADING, [TITLE.to_owned()]);
            // One latency has room beside names that are cut.
            let names = names.min(self.columns().saturating_sub(width));
            let room = (self.columns() - names) / width;
            let room = room.max(1);
            for (nth, heads) in heads.chunks(room).enumerate() {
                self.block(it, "", names, heads, width, nth * room);
            }
        }
        if let Some(text) = it.crossing() {
            self.sentences("", 2, &text);
        }
        self.gap();
    }

    /// The columns of some latencies, the first of them that of this number.
    fn block(
        &mut self,
        it: &Comparison,
        title: &str,
        left: usize,
        heads: &[String],
        width: usize,
        first: usize,
    ) {
        self.lines(HEADING, [row(title, left, heads, width)]);
        for held in &it.held {
            let room = left - LABEL;
            let name = cut(&held.name, room, self.glyphs().cut());
            let mut name = &*name;
            for line in held.lines(self.glyphs().dash()) {
                let label = format!("  {name:<room$}  {:>9}", line.what);
                let cells = &line.cells[first..first + heads.len()];
                self.beside(&row(&label, left, cells, width), line.verdict);
                name = "";
            }
        }
    }

    /// A line, and a word behind it where there is room.
    fn beside(&mut self, line: &str, word: &str) {
        let long = line.chars().count() + 3 + word.len();
        if word.is_empty() || long > self.columns() {
            self.line(line);
        } else {
            self.line(&format!("{line}   {word}"));
        }
    }
}

/// A line about one discipline.
pub(in crate::report) struct Line {
    /// What is counted.
    pub(in crate::report) what: &'static str,
    /// The count at each latency, as it is shown.
    pub(in crate::report) cells: Vec<String>,
    /// What comes of it; empty if nothing is said.
    pub(in crate::report) verdict: &'static str,
}

impl Held {
    /// What is said of its rates and of its tries in flight; empty if nothing is.
    fn verdicts(&self) -> [&'static str; 2] {
        let verdicts = VERDICTS.iter().find(|verdicts| verdicts.0 == self.key);
        verdicts.map_or([""; 2], |verdicts| verdicts.1)
    }

    /// Its rates and, where these say something, its tries in flight; `none` where they are never as many for long.
    pub(in crate::report) fn lines(&self, none: &str) -> Vec<Line> {
        let line = |what, part: fn(&Still) -> Option<f64>, verdict| Line {
            what,
            cells: {
                let cells = self.columns.iter().map(part);
                cells.map(|it| it.map_or(none.to_owned(), short)).collect()
            },
            verdict,
        };
        let [rate, flight] = self.verdicts();
        let mut lines = vec![line("sent/s", |still| Some(still.rate), rate)];
        if self.key != "both" {
            lines.push(line("in flight", |still| still.in_flight, flight));
        }
        lines
    }
}

impl Comparison {
    /// Where slots and rate meet; `None` where one of them was not looked at.
    pub(in crate::report) fn crossing(&self) -> Option<String> {
        let has = |key: &str| self.held.iter().any(|held| held.key == key);
        if !has("semaphore") || !has("qps") {
            return None;
        }
        let (own, rate) = (self.numbers.slots.get(), self.numbers.rate.per_second());
        // What is sent beyond the server's slots waits inside.
        let (slots, whose, law) = match self.api().and_then(|api| api.slots) {
            Some(its) if its.get() < own => (its.get(), " of the API", ""),
            Some(_) | None => (own, "", LAW),
        };
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let crossing = Duration::try_from_secs_f64(slots as f64 / rate);
        let crossing = plain_span(crossing.unwrap_or(Duration::MAX));
        let rate = short(rate);
        let slots = counted(slots, "slot");
        Some(format!(
            "{law}They cross at {slots}{whose} / {rate} per second = {crossing}: a faster API is bound by QPS, \
             a slower one by slots."
        ))
    }
}

/// A label and cells that end at even places.
fn row(label: &str, left: usize, cells: &[String], width: usize) -> String {
    let cells = cells.iter().map(|cell| format!("{cell:>width$}"));
    let cells: Vec<String> = cells.collect();
    format!("{label:<left$}{}", cells.concat())
}
