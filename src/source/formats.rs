//! The formats of inputs, a row each. Floor 4: doors.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::draft::{Draft, Fault};
use super::framing::Frame;
use super::keeper::Keeper;
use super::opening::First;
use super::record::{Extent, Record};
use super::{Input, json, jsonl, urls};

/// How the records of an input are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON objects, in an array or not, on any number of lines.
    Json,
    /// A JSON object on each line.
    Jsonl,
    /// A URL on each line; `#` as the first character that is not blank makes a comment.
    Urls,
}

/// All that is known of a format.
pub(super) struct Row {
    format: Format,
    /// As `--format` takes it.
    name: &'static str,
    /// Of files that are called so.
    extensions: &'static [&'static str],
    shows: fn(&First<'_>) -> Shows,
    /// How its records are told apart; `None` if more of the input has to tell that.
    frame: fn(&First<'_>) -> Option<Frame>,
    /// Whether a line that is not blank is none of its records.
    is_comment: fn(&[u8]) -> bool,
    read: for<'a> fn(&mut Asked<'_, 'a>) -> Read<'a>,
}

/// In the order of [`Format`]. The first row that is sure of an input, or that may be and has its name, is its format; else it is the last.
const TABLE: [Row; 3] = [
    Row {
        format: Format::Json,
        name: "json",
        extensions: &["json"],
        shows: json::shows,
        frame: |_| Some(Frame::Elements(&[])),
        is_comment: |_| false,
        read: jsonl::read,
    },
    Row {
        format: Format::Jsonl,
        name: "jsonl",
        extensions: &["jsonl", "ndjson"],
        shows: jsonl::shows,
        frame: |_| Some(Frame::Lines),
        is_comment: |_| false,
        read: jsonl::read,
    },
    Row {
        format: Format::Urls,
        name: "urls",
        extensions: &["urls", "txt"],
        shows: urls::shows,
        frame: |_| Some(Frame::Lines),
        is_comment: urls::is_comment,
        read: urls::read,
    },
];

/// Whether an input is of a format, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// It is.
    Surely,
    /// It is, if it is called so.
    ByName,
    /// It is not.
    No,
    /// More of them will tell.
    Open,
}

/// A record that is to be read, and what that takes.
pub(super) struct Asked<'r, 'a> {
    pub(super) record: Record<'a>,
    /// Where a `body_file` is looked for.
    pub(super) folder: &'r Path,
    pub(super) keeper: &'r mut Keeper,
    /// Told every field that no job has, and its column.
    pub(super) unknown: &'r mut dyn FnMut(&str, u64),
}

impl<'a> Asked<'_, 'a> {
    /// All of the record.
    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        self.record.text()
    }
}

/// The id of the record, if that could be read, and what else it says.
pub(super) type Read<'a> = (Option<Box<str>>, Result<Draft<'a>, Fault>);

impl Format {
    /// The words of `--format`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|row| row.name)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// By the first bytes of an input, else by what it is called; `None` if more of them have to tell.
    pub(super) fn of(first: &First<'_>, input: &Input) -> Option<Self> {
        if first.byte().is_none() && !first.is_all() {
            return None;
        }
        let extension = input.extension().unwrap_or_default();
        for row in &TABLE {
            match (row.shows)(first) {
                Shows::Surely => return Some(row.format),
                Shows::ByName if row.extensions.contains(&&*extension) => return Some(row.format),
                Shows::Open if !first.is_all() => return None,
                Shows::ByName | Shows::No | Shows::Open => {}
            }
        }
        Some(TABLE[TABLE.len() - 1].format)
    }

    /// How the records of an input that begins so are told apart; `None` if more of it has to tell that.
    pub(super) fn frame(self, first: &First<'_>) -> Option<Frame> {
        (self.row().frame)(first)
    }

    /// Whether a record is none: a line that is blank or a comment. One that is too long is not blank, whatever it
    /// begins with.
    pub(super) fn passes_over(self, record: &Record<'_>) -> bool {
        match record.extent {
            Extent::Whole if record.bytes.trim_ascii().is_empty() => true,
            Extent::Whole | Extent::Longer { .. } => (self.row().is_comment)(record.bytes),
            Extent::Broken(_) => false,
        }
    }

    pub(super) fn read<'a>(self, asked: &mut Asked<'_, 'a>) -> Read<'a> {
        (self.row().read)(asked)
    }
}

impl fmt::Display for Format {
    /// As `--format` takes it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.row().name)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let row = TABLE.iter().find(|row| row.name == text);
        row.map(|row| row.format).ok_or_else(|| {
            let names: Vec<_> = Self::names().collect();
            format!("write one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_row() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.format as usize, place, "{}", row.name);
            assert_eq!(row.name.parse(), Ok(row.format));
            assert_eq!(row.format.to_string(), row.name);
        }
        let why = "xml".parse::<Format>().unwrap_err();
        assert!(why.starts_with("write one of json, jsonl"), "{why}");
    }
}
