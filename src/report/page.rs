//! Lines of a report: headings, folding, paint. Floor 4: doors.

use std::fmt::Write as _;

use super::bars::Glyphs;
use super::fold::{beginning, folded, hung, untied, width};
use crate::letters::calm;
use crate::terminal::Columns;

/// The most lines of a section on a page of [`WIDEST`] columns.
const SECTION: usize = 2;

/// Where the text of a section begins.
const INDENT: usize = 12;

/// Narrower pages have no room for headings beside the text: they stand above it.
const NARROW: usize = 60;

/// Where the text begins under its heading.
const UNDER: usize = 2;

/// Columns of the text on the widest page.
const WIDEST: usize = 100 - INDENT;

/// How a page looks where it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The letters that it may have.
    pub glyphs: Glyphs,
    /// Whether it has colours.
    pub paint: Paint,
    /// How wide it may be.
    pub columns: Columns,
}

impl Default for Look {
    /// That of a file.
    fn default() -> Self {
        Self {
            glyphs: Glyphs::Unicode,
            paint: Paint::Plain,
            columns: Columns::default(),
        }
    }
}

/// Whether escape codes may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// None.
    Plain,
    /// Bold headings, red failures.
    Colour,
}

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Calm,
    Alarm,
}

/// The text so far.
pub(super) struct Page {
    text: String,
    look: Look,
}

impl Page {
    pub(super) fn new(look: Look) -> Self {
        Self {
            text: String::new(),
            look,
        }
    }

    pub(super) fn glyphs(&self) -> Glyphs {
        self.look.glyphs
    }

    pub(super) fn columns(&self) -> usize {
        self.look.columns.get()
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// So many lines of the widest page, on this one.
    pub(super) fn lines_for(look: Look, lines: usize) -> usize {
        (lines * WIDEST).div_ceil(room(look.columns))
    }

    /// One line, calm, and cut at the last column; its first `heading` bytes are its heading, which is ours.
    fn printed(&mut self, heading: usize, line: &str, tone: Tone) {
        let columns = self.columns();
        let mut shown = untied(&calm(line));
        if width(&shown) > columns {
            shown = beginning(&shown, columns - 1).to_owned() + self.look.glyphs.cut();
        }
        let (heading, rest) = shown.split_at(heading);
        let _ = match (self.look.paint, tone) {
            (Paint::Plain, _) => writeln!(self.text, "{shown}"),
            (Paint::Colour, Tone::Calm) if heading.is_empty() => writeln!(self.text, "{rest}"),
            (Paint::Colour, Tone::Calm) => writeln!(self.text, "\x1b[1m{heading}\x1b[0m{rest}"),
            (Paint::Colour, Tone::Alarm) => {
                writeln!(self.text, "\x1b[1m{heading}\x1b[0m\x1b[31m{rest}\x1b[0m")
            }
        };
    }

    /// One line, cut at the last column.
    pub(super) fn line(&mut self, line: &str) {
        self.printed(0, line, Tone::Calm);
    }

    /// Lines that fit the page, one of which begins with this heading.
    pub(super) fn lines(&mut self, heading: &str, lines: impl IntoIterator<Item = String>) {
        let mut heading = heading;
        for line in lines {
            let bold = line.strip_prefix(heading).map_or(0, |_| heading.len());
            self.printed(bold, &line, Tone::Calm);
            if bold > 0 {
                heading = "";
            }
        }
    }

    /// A section: its text begins in one column, broken at semicolons and wide gaps first and then between
    /// words; at most [`SECTION`] lines of it, or as many as hold the same text on a narrower page.
    pub(super) fn section(&mut self, heading: &str, text: &str, tone: Tone) {
        let room = room(self.look.columns);
        let mut lines = broken(&calm(text), room);
        let most = Self::lines_for(self.look, SECTION) + usize::from(room < WIDEST);
        if lines.len() > most {
            lines.truncate(most);
            let last = &mut lines[most - 1];
            *last = beginning(last, room - 2).to_owned();
            last.push(' ');
            last.push_str(self.look.glyphs.cut());
        }
        let above = self.columns() < NARROW;
        if above && !heading.is_empty() {
            self.printed(heading.len(), heading, Tone::Calm);
        }
        let (mut heading, indent) = if above {
            ("", UNDER)
        } else {
            (heading, INDENT)
        };
        for line in lines {
            let bold = if heading.is_empty() { 0 } else { indent };
            self.printed(bold, &format!("{heading:<indent$}{line}"), tone);
            heading = "";
        }
    }

    /// Text behind what stands before it; further lines of it begin with so many spaces.
    pub(super) fn hung(&mut self, before: &str, indent: usize, text: &str) {
        for line in hung(&calm(before), indent, &calm(text), self.columns()) {
            self.line(&line);
        }
    }

    /// Sentences behind a heading, folded beside it.
    pub(super) fn sentences(&mut self, heading: &str, indent: usize, text: &str) {
        let room = self.columns().saturating_sub(indent);
        let lines = folded(&calm(text), room).into_iter().enumerate();
        let lines = lines.map(|(nth, line)| {
            let before = if nth == 0 { heading } else { "" };
            format!("{before:<indent$}{line}")
        });
        self.lines(heading, lines);
    }

    /// Marks behind what stands before them.
    pub(super) fn marks(&mut self, before: &str, marks: impl IntoIterator<Item = (char, Tone)>) {
        self.text.push_str(&calm(before));
        let mut now = Tone::Calm;
        for (mark, tone) in marks.into_iter().chain([('\n', Tone::Calm)]) {
            if tone != now && self.look.paint == Paint::Colour {
                self.text.push_str(match tone {
                    Tone::Calm => "\x1b[0m",
                    Tone::Alarm => "\x1b[31m",
                });
                now = tone;
            }
            self.text.push(mark);
        }
    }

    pub(super) fn gap(&mut self) {
        self.text.push('\n');
    }
}

/// Columns of the text of a section.
fn room(columns: Columns) -> usize {
    match columns.get() {
        narrow @ ..NARROW => narrow - UNDER,
        wide => wide - INDENT,
    }
}

/// A gap of so many spaces stands between what may as well stand in lines of its own.
const GAP: &str = "   ";

/// In lines of `room` columns.
fn broken(text: &str, room: usize) -> Vec<String> {
    if width(text) <= room {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive("; ") {
        let mut first = true;
        for piece in part.trim_end().split(GAP) {
            let gap = " ".repeat(piece.len() - piece.trim_start().len() + GAP.len());
            let piece = piece.trim_start();
            if piece.is_empty() {
                continue;
            }
            match lines.last_mut() {
                Some(line) if !first && width(line) + gap.len() + width(piece) <= room => {
                    line.push_str(&gap);
                    line.push_str(piece);
                }
                Some(_) | None => lines.extend(folded(piece, room)),
            }
            first = false;
        }
    }
    lines
}
