//! A comparison for people: what each discipline holds still, the same jobs, figures, lessons. Floor 4: doors.

use super::raster::Scale;
use super::words::{self, latency, plain_span, short};
use super::{CELLS, Cell, Comparison, Row, SHORT, Seen};
use crate::report::fold::folded;
use crate::report::grid::{Column, Grid, Side, cut, names, packed};
use crate::report::{Look, Paint};

/// The whole page, each line ended.
pub fn text(comparison: &Comparison, look: Look) -> String {
    let mut page = Page {
        look,
        columns: look.columns.get(),
        text: String::new(),
    };
    page.head(comparison);
    page.held(comparison);
    page.raster(comparison);
    page.figures(comparison);
    page.spike(comparison);
    page.lessons(comparison);
    page.text
}

/// The text so far.
pub(super) struct Page {
    look: Look,
    pub(super) columns: usize,
    text: String,
}

impl Page {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A line that may begin with this heading.
    pub(super) fn heading(&mut self, heading: &str, line: &str) {
        match (line.strip_prefix(heading), self.look.paint) {
            (Some(rest), Paint::Colour) if !heading.is_empty() => {
                self.line(&format!("\x1b[1m{heading}\x1b[0m{rest}"));
            }
            (Some(_) | None, Paint::Colour | Paint::Plain) => self.line(line),
        }
    }

    /// Sentences behind a heading, folded beside it.
    pub(super) fn sentences(&mut self, heading: &str, indent: usize, text: &str) {
        let room = self.columns.saturating_sub(indent);
        let mut heading = heading;
        for line in folded(text, room) {
            self.heading(heading, &format!("{heading:<indent$}{line}"));
            heading = "";
        }
    }

    /// Parts that are never torn, in as many lines as they need.
    fn together(&mut self, parts: &[String], gap: usize) {
        for line in packed(parts, gap, self.columns - 2) {
            self.line(&format!("  {line}"));
        }
    }

    /// What stands where something was cut.
    pub(super) fn cut(&self) -> &'static str {
        self.look.glyphs.cut()
    }

    fn dash(&self) -> &'static str {
        self.look.glyphs.dash()
    }

    fn head(&mut self, it: &Comparison) {
        self.sentences("", 0, &words::what(it));
        if let Some(signal) = it.cut {
            self.sentences("", 0, &words::early(signal));
        }
        self.line("");
    }

    fn raster(&mut self, it: &Comparison) {
        let all = it.rows.iter().filter_map(Row::figures);
        let Some(width) = all.map(|seen| seen.raster.width).next() else {
            return;
        };
        let scale = Scale::new(&it.numbers.rate, self.look.glyphs);
        let columns = self.columns;
        let jobs = words::jobs(it.jobs.count).to_uppercase();
        let at = match it.api() {
            Some(api) => format!(" AT {}", latency(api.latency)),
            None => String::new(),
        };
        let title = format!("THE SAME {jobs}{at}");
        let names = names(it.rows.iter().map(|row| &*row.name), CELLS + 3, columns);
        // Cells begin under what is said of them, if they can.
        let names = names.map(|names| names.max(title.len()).min(columns - CELLS - 3));
        let cells = match names {
            Some(_) => CELLS,
            None => CELLS.min(columns - 2),
        };
        let span = width.saturating_mul(u32::try_from(cells).unwrap_or(u32::MAX));
        let each = format!(
            "sends per {}, first {}",
            plain_span(width),
            plain_span(span)
        );
        let left = names.map_or(0, |names| names + 3);
        let one_line = format!("{title:<left$}{each}", left = left.max(title.len() + 2));
        if one_line.len() <= columns {
            self.heading(&title, &one_line);
        } else {
            self.heading(&title, &title);
            self.line(&format!("  {each}"));
        }
        self.together(&scale.legend(), 2);
        for row in &it.rows {
            let sign = self.cut();
            let line = match &row.seen {
                Seen::Run(seen) => self.cells(&seen.raster.cells[..cells], &scale),
                Seen::NotRun(why) => format!("{} {why}", self.dash()),
            };
            if let Some(names) = names {
                let name = cut(&row.name, names, sign);
                self.line(&format!("  {name:<names$} {line}"));
            } else {
                self.line(&cut(&row.name, columns, sign));
                self.line(&format!("  {line}"));
            }
        }
        self.line("");
    }

    /// Cells with refused sends are red.
    fn cells(&self, cells: &[Cell], scale: &Scale) -> String {
        let mut line = String::new();
        let mut red = false;
        for cell in cells {
            let refused = cell.refused > 0 && self.look.paint == Paint::Colour;
            if refused != red {
                line.push_str(if refused { "\x1b[31m" } else { "\x1b[0m" });
                red = refused;
            }
            line.push(scale.mark(cell.sent));
        }
        if red {
            line.push_str("\x1b[0m");
        }
        line
    }

    fn figures(&mut self, it: &Comparison) {
        let column = |head, words, side| Column { head, words, side };
        let right = Side::Right;
        let grid = Grid {
            columns: vec![
                column(["most in", "100 ms"], ["", " in 100 ms"], right),
                column(["any", "1 s"], ["", " in 1 s"], right),
                column(["not", "sent"], ["", " not sent"], right),
                column(["", "ok"], ["", " ok"], right),
                column(["API", "429"], ["", " x 429"], right),
                column(["", "p50"], ["p50 ", ""], right),
                column(["", "p99"], ["p99 ", ""], right),
                column(["peak in", "flight"], ["", " in flight"], right),
                column(["all", "done"], ["done in ", ""], right),
                column(["bound", "by"], ["bound by ", ""], Side::Left),
            ],
            rows: it
                .rows
                .iter()
                .map(|row| {
                    let seen = row.figures();
                    let cells = seen.map(|seen| words::figures(seen, self.dash()).into());
                    (row.name.clone(), cells)
                })
                .collect(),
            none: self.dash(),
        };
        let lines = grid.lines("FIGURES", self.columns, self.cut());
        for line in lines {
            self.heading("FIGURES", &line);
        }
        self.sentences("", 2, &words::of_figures());
        self.line("");
    }

    fn spike(&mut self, it: &Comparison) {
        let Some(spike) = &it.spike else {
            return;
        };
        self.sentences("THE DOUBLE SPIKE", 20, &words::around(spike));
        let longest = spike.rows.iter().map(|row| row.name.chars().count());
        let longest = longest.max().unwrap_or(0);
        let digits = spike.rows.iter().map(|row| row.most.to_string().len());
        let digits = digits.max().unwrap_or(0);
        for row in &spike.rows {
            let within = plain_span(SHORT);
            let rate = short(row.rate());
            let name = &row.name;
            let most = row.most;
            let seen = format!("{most:>digits$} within {within} = {rate}/s");
            let wide = format!("  {name:<longest$}  {seen}");
            if wide.chars().count() <= self.columns {
                self.line(&wide);
            } else {
                self.line(&format!("  {name}"));
                self.line(&format!("    {}", seen.trim_start()));
            }
        }
        self.line("");
    }

    fn lessons(&mut self, it: &Comparison) {
        const INDENT: usize = 8;
        if let Some(theory) = it.theory() {
            self.sentences("THEORY", INDENT, &theory);
        }
        let mut heading = "LESSONS";
        for lesson in it.lessons() {
            self.sentences(heading, INDENT, &lesson);
            heading = "";
        }
        while self.text.ends_with("\n\n") {
            self.text.pop();
        }
    }
}
