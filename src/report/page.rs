//! Lines of a report: headings, folding, paint. Floor 4: doors.

use std::fmt::Write as _;

use super::bars::Glyphs;
use super::fold::folded;

/// The most columns that a line has.
pub(super) const COLUMNS: usize = 100;

/// The most lines of a section.
const SECTION: usize = 2;

/// Where the text of a section begins.
pub(super) const INDENT: usize = 12;

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
    glyphs: Glyphs,
    paint: Paint,
}

impl Page {
    pub(super) fn new(glyphs: Glyphs, paint: Paint) -> Self {
        Self {
            text: String::new(),
            glyphs,
            paint,
        }
    }

    pub(super) fn glyphs(&self) -> Glyphs {
        self.glyphs
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// One line, cut at the last column; what stands before [`INDENT`] is its heading.
    pub(super) fn line(&mut self, line: &str, tone: Tone) {
        let printable = |char: char| if char.is_control() { ' ' } else { char };
        let mut shown: String = line.chars().take(COLUMNS).map(printable).collect();
        if line.chars().count() > COLUMNS {
            shown.pop();
            shown.push_str(self.glyphs.cut());
        }
        let (heading, rest) = match shown.char_indices().nth(INDENT) {
            Some((at, _)) if !shown.starts_with(' ') => shown.split_at(at),
            Some(_) | None => ("", shown.as_str()),
        };
        let _ = match (self.paint, tone) {
            (Paint::Plain, _) => writeln!(self.text, "{shown}"),
            (Paint::Colour, Tone::Calm) if heading.is_empty() => writeln!(self.text, "{rest}"),
            (Paint::Colour, Tone::Calm) => writeln!(self.text, "\x1b[1m{heading}\x1b[0m{rest}"),
            (Paint::Colour, Tone::Alarm) => {
                writeln!(self.text, "\x1b[1m{heading}\x1b[0m\x1b[31m{rest}\x1b[0m")
            }
        };
    }

    /// A section: its text begins in one column, broken at semicolons first and then between words;
    /// at most [`SECTION`] lines of it.
    pub(super) fn section(&mut self, heading: &str, text: &str, tone: Tone) {
        let room = COLUMNS - INDENT;
        let parts: Vec<&str> = if text.chars().count() <= room {
            vec![text]
        } else {
            text.split_inclusive("; ").map(str::trim_end).collect()
        };
        let mut lines: Vec<String> = parts
            .into_iter()
            .flat_map(|part| folded(part, room))
            .collect();
        if lines.len() > SECTION {
            lines.truncate(SECTION);
            let last = &mut lines[SECTION - 1];
            *last = last.chars().take(room - 2).collect();
            last.push(' ');
            last.push_str(self.glyphs.cut());
        }
        let mut heading = heading;
        for line in lines {
            self.line(&format!("{heading:<INDENT$}{line}"), tone);
            heading = "";
        }
    }

    pub(super) fn gap(&mut self) {
        self.text.push('\n');
    }
}
