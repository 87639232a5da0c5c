//! Lines of a report: headings, folding, paint. Floor 4: doors.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use super::bars::Glyphs;
use super::fold::{beginning, folded, hung, untied, width};
use crate::letters::calm;
use crate::terminal::Columns;

/// The most lines of a section on a page of [`WIDEST`] columns that has no room for whole ones, and of a list.
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

/// Whether sections are told to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sections {
    /// They are.
    Whole,
    /// At most [`SECTION`] lines of each.
    Cut,
}

/// The text so far.
pub(super) struct Page {
    text: String,
    look: Look,
    sections: Sections,
}

impl Page {
    pub(super) fn new(look: Look) -> Self {
        Self::with(look, Sections::Whole)
    }

    pub(super) fn with(look: Look, sections: Sections) -> Self {
        Self {
            text: String::new(),
            look,
            sections,
        }
    }

    pub(super) fn sections(&self) -> Sections {
        self.sections
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
        let shown = self.cut(&untied(&calm(line)), self.columns());
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

    /// Of a text what so many columns hold, with a sign if that is not all.
    pub(super) fn cut(&self, text: &str, columns: usize) -> String {
        if width(text) <= columns {
            return text.to_owned();
        }
        beginning(text, columns - 1).to_owned() + self.look.glyphs.cut()
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
    /// words. Where sections are cut, that is between words.
    pub(super) fn section(&mut self, heading: &str, text: &str, tone: Tone) {
        let most = match self.sections {
            Sections::Whole => usize::MAX,
            Sections::Cut => self.few(),
        };
        let room = room(self.look.columns);
        let mut lines = broken(&calm(text), room);
        if lines.len() > most {
            lines.truncate(most);
            let last = &mut lines[most - 1];
            let words = folded(last, room - 2).swap_remove(0);
            *last = format!("{} {}", beginning(&words, room - 2), self.look.glyphs.cut());
        }
        self.put(heading, lines, tone);
    }

    /// Counts by what they count. Where not all have room, the largest are told, and how many more there are.
    pub(super) fn counts<K: Display>(&mut self, heading: &str, counts: &BTreeMap<K, u64>) {
        const BETWEEN: &str = "   ";
        let (room, most) = (room(self.look.columns), self.few());
        let told = |each: &[(&K, &u64)]| {
            let more = counts.len() - each.len();
            let each = each.iter().map(|(what, count)| format!("{what} {count}"));
            let more = (more > 0).then(|| format!("and\u{a0}{more}\u{a0}more"));
            each.chain(more).collect::<Vec<_>>().join(BETWEEN)
        };
        let mut each: Vec<(&K, &u64)> = counts.iter().collect();
        let has_room = |each: &[(&K, &u64)]| broken(&calm(&told(each)), room).len() <= most;
        if !has_room(&each) {
            each.sort_by_key(|(_, count)| Reverse(**count));
            let sizes: Vec<usize> = (1..each.len()).collect();
            each.truncate(sizes.partition_point(|size| has_room(&each[..*size])));
        }
        let text = if counts.is_empty() {
            self.glyphs().dash().to_owned()
        } else {
            told(&each)
        };
        self.section(heading, &text, Tone::Calm);
    }

    /// [`SECTION`] lines, or as many as hold the same text on a narrower page.
    fn few(&self) -> usize {
        let narrower = room(self.look.columns) < WIDEST;
        Self::lines_for(self.look, SECTION) + usize::from(narrower)
    }

    /// Lines of a section.
    fn put(&mut self, heading: &str, lines: Vec<String>, tone: Tone) {
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
