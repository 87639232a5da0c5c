//! A comparison for people: what each discipline holds still, the same jobs, figures, lessons. Floor 4: doors.

use super::raster::Scale;
use super::words::{self, latency, plain_span, short};
use super::{CELLS, Cell, Comparison, Row, SHORT, Seen};
use crate::report::grid::{Column, Grid, Side, cut, names, packed};
use crate::report::page::{Look, Page, Tone};
use crate::units::counted;

/// The whole page, each line ended.
pub fn text(comparison: &Comparison, look: Look) -> String {
    let mut page = Page::new(look);
    page.head(comparison);
    page.held(comparison);
    page.raster(comparison);
    page.figures(comparison);
    page.spike(comparison);
    page.lessons(comparison);
    // A part that has nothing to tell leaves the gap before it.
    format!("{}\n", page.into_text().trim_end())
}

impl Page {
    /// Parts that are never torn, in as many lines as they need.
    fn together(&mut self, parts: &[String], gap: usize) {
        for line in packed(parts, gap, self.columns() - 2) {
            self.line(&format!("  {line}"));
        }
    }

    fn head(&mut self, it: &Comparison) {
        self.sentences("", 0, &words::what(it));
        if let Some(signal) = it.cut {
            self.sentences("", 0, &words::early(signal));
        }
        if let Some(text) = it.unanswered() {
            self.sentences("", 0, &text);
        }
        self.gap();
    }

    fn raster(&mut self, it: &Comparison) {
        let all = it.rows.iter().filter_map(Row::figures);
        let Some(width) = all.map(|seen| seen.raster.width).next() else {
            return;
        };
        let scale = Scale::new(&it.numbers.rate, self.glyphs());
        let columns = self.columns();
        let jobs = counted(it.jobs.count, "job").to_uppercase();
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
            self.lines(&title, [one_line]);
        } else {
            self.lines(&title, [title.clone()]);
            self.line(&format!("  {each}"));
        }
        self.together(&scale.legend(), 2);
        for row in &it.rows {
            let sign = self.glyphs().cut();
            let before = if let Some(names) = names {
                format!("  {:<names$} ", cut(&row.name, names, sign))
            } else {
                self.line(&cut(&row.name, columns, sign));
                "  ".to_owned()
            };
            match &row.seen {
                Seen::Run(seen) => self.marks(&before, marked(&seen.raster.cells[..cells], &scale)),
                Seen::NotRun(why) => self.line(&format!("{before}{} {why}", self.glyphs().dash())),
            }
        }
        self.gap();
    }

    fn figures(&mut self, it: &Comparison) {
        let column = |head, words, side| Column { head, words, side };
        let right = Side::Right;
        let others = it.others();
        let mut grid = Grid {
            columns: vec![
                column(["most in", "100 ms"], ["", " in 100 ms"], right),
                column(["any", "1 s"], ["", " in 1 s"], right),
                column(["not", "sent"], ["", " not sent"], right),
                column(["", "ok"], ["", " ok"], right),
                column(["API", "429"], ["", " x 429"], right),
                column(["", "other"], ["", " other"], right),
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
                    let cells = seen.map(|seen| words::figures(seen, self.glyphs().dash()).into());
                    (row.name.clone(), cells)
                })
                .collect(),
            none: self.glyphs().dash(),
        };
        if others.count() == 0 {
            grid.columns.remove(words::OTHER);
            for cells in grid.rows.iter_mut().filter_map(|row| row.1.as_mut()) {
                cells.remove(words::OTHER);
            }
        }
        let lines = grid.lines("FIGURES", self.columns(), self.glyphs().cut());
        self.lines("FIGURES", lines);
        self.sentences("", 2, &words::of_figures(&others));
        self.gap();
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
            if wide.chars().count() <= self.columns() {
                self.line(&wide);
            } else {
                self.line(&format!("  {name}"));
                self.line(&format!("    {}", seen.trim_start()));
            }
        }
        self.gap();
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
    }
}

/// Cells with refused sends are loud.
fn marked(cells: &[Cell], scale: &Scale) -> impl Iterator<Item = (char, Tone)> {
    cells.iter().map(|cell| {
        let tone = if cell.refused > 0 {
            Tone::Alarm
        } else {
            Tone::Calm
        };
        (scale.mark(cell.sent), tone)
    })
}
