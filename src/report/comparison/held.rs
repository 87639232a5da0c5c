//! What semaphore, rate and both hold still at several latencies. Floor 4: doors.

use std::time::Duration;

use super::Comparison;
use super::text::Page;
use super::words::{latency, plain_span, short};
use crate::report::grid::cut;

const HEADING: &str = "WHAT EACH HOLDS STILL";

const TITLE: &str = "WHAT EACH HOLDS STILL   API takes";

/// Columns of what stands before and behind a name: `  NAME  in flight`.
const LABEL: usize = 13;

/// Columns of a latency, at least.
const LATENCY: usize = 10;

/// What is said of a semaphore, of a rate and of both at several latencies.
const VERDICTS: [(&str, [&str; 2]); 3] = [
    ("semaphore", ["latency sets it", "held"]),
    ("qps", ["held", "latency sets it"]),
    ("both", ["both bounded", ""]),
];

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
        if wide + heads.len() * width <= self.columns {
            self.block(it, TITLE, wide, &heads, width, 0);
        } else {
            self.heading(HEADING, TITLE);
            // One latency has room beside names that are cut.
            let names = names.min(self.columns.saturating_sub(width));
            let room = (self.columns - names) / width;
            let room = room.max(1);
            for (nth, heads) in heads.chunks(room).enumerate() {
                self.block(it, "", names, heads, width, nth * room);
            }
        }
        self.crossing(it);
        self.line("");
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
        self.heading(HEADING, &row(title, left, heads, width));
        for held in &it.held {
            let columns = &held.columns[first..first + heads.len()];
            let verdicts = VERDICTS.iter().find(|verdicts| verdicts.0 == held.key);
            let [rate, flight] = verdicts.map_or([""; 2], |verdicts| verdicts.1);
            let rates: Vec<String> = columns.iter().map(|still| short(still.rate)).collect();
            let room = left - LABEL;
            let name = cut(&held.name, room, self.cut());
            let label = format!("  {name:<room$}     sent/s");
            self.beside(&row(&label, left, &rates, width), rate);
            if held.key != "both" {
                let flights = columns.iter().map(|still| short(still.in_flight));
                let flights: Vec<String> = flights.collect();
                let label = format!("  {:<room$}  in flight", "");
                self.beside(&row(&label, left, &flights, width), flight);
            }
        }
    }

    /// Where slots and rate meet.
    fn crossing(&mut self, it: &Comparison) {
        let has = |key: &str| it.held.iter().any(|held| held.key == key);
        if !has("semaphore") || !has("qps") {
            return;
        }
        let (slots, rate) = (it.numbers.slots.get(), it.numbers.rate.per_second());
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let crossing = Duration::try_from_secs_f64(slots as f64 / rate);
        let crossing = plain_span(crossing.unwrap_or(Duration::MAX));
        let rate = short(rate);
        let text = format!(
            "They cross at {slots} slots / {rate} per second = {crossing}: a faster API is held by QPS, a \
             slower one by slots."
        );
        self.sentences("", 2, &text);
    }

    /// A line, and a word behind it where there is room.
    fn beside(&mut self, line: &str, word: &str) {
        let long = line.chars().count() + 3 + word.len();
        if word.is_empty() || long > self.columns {
            self.line(line);
        } else {
            self.line(&format!("{line}   {word}"));
        }
    }
}

/// A label and cells that end at even places.
fn row(label: &str, left: usize, cells: &[String], width: usize) -> String {
    let cells = cells.iter().map(|cell| format!("{cell:>width$}"));
    let cells: Vec<String> = cells.collect();
    format!("{label:<left$}{}", cells.concat())
}
