//! The formats of inputs, a row each. Floor 4: doors.

mod access_log;
mod anthropic;
mod cookbook;
mod csv;
mod gor;
mod har;
mod json;
mod jsonl;
mod openai;
mod urls;
mod vegeta;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::Input;
use super::draft::{Draft, Fault};
use super::filling::{Filling, Own};
use super::framing::Frame;
use super::keeper::Keeper;
use super::log_fields::LogFields;
use super::opening::First;
use super::record::{Extent, Record};
use super::target::HttpUrl;

pub(super) use csv::Columns;
pub(super) use jsonl::is_doubtful;

/// Each format, in its own words. The first row that is sure of an input is its format, else the first
/// that may be and has its name, else the first that is likely, else the last.
static TABLE: &[&Known] = &[
    &har::FORMAT,
    &anthropic::FORMAT,
    &openai::FORMAT,
    &cookbook::FORMAT,
    &vegeta::FORMAT,
    &access_log::FORMAT,
    &gor::FORMAT,
    &json::FORMAT,
    &jsonl::FORMAT,
    &csv::COMMAS,
    &csv::TABS,
    &urls::FORMAT,
];

/// All that is known of a format.
struct Known {
    /// As `--format` takes it.
    name: &'static str,
    /// Of files that are called so.
    extensions: &'static [&'static str],
    /// Whether an input is of this format.
    shows: fn(&First<'_>) -> Shows,
    /// How its records are told apart; `None` if more of the input has to tell that.
    frame: fn(&First<'_>) -> Option<Frame>,
    /// Whether a line that is not blank is none of its records.
    is_comment: fn(&[u8]) -> bool,
    /// What its records cannot be read without.
    needs: Needs,
    /// Whether its records can be rows that fill templates; then [`Asked::filling`] may be there.
    has_rows: bool,
    /// The fields that its records may have.
    fields: &'static [&'static str],
    read: for<'a> fn(&mut Asked<'_, 'a>) -> Read<'a>,
}

/// How the records of an input are written: a row of the table.
#[derive(Clone, Copy)]
pub struct Format(&'static Known);

/// What records are not read without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// `--base-url`.
    Base,
    /// `--request-url`.
    RequestUrl,
    /// Columns, which the first row names.
    Columns,
}

/// Whether an input is of a format, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// It is.
    Surely,
    /// It is, if it is called so.
    ByName,
    /// It is, unless it is called another.
    Likely,
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
    pub(super) request_url: Option<&'r HttpUrl>,
    /// Whether relative URLs have something to be relative to.
    pub(super) has_base: bool,
    /// Where objects of a log have what they tell.
    pub(super) log_fields: Option<&'r LogFields>,
    /// Of a table.
    pub(super) columns: Option<&'a Columns>,
    /// What fills the options of the command line, if these have templates.
    pub(super) filling: Option<&'a Filling>,
    /// What fills them that no row says.
    pub(super) own: &'r Own,
    /// Whether an object may still be a target of vegeta: nobody has said the format, and no object had what only a job
    /// has.
    pub(super) is_doubted: &'r mut bool,
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
    /// Lines of an access log, in the combined form or as objects.
    pub const ACCESS_LOG: Self = Self(&access_log::FORMAT);
    /// JSON objects, in an array or not, on any number of lines.
    const JSON: Self = Self(&json::FORMAT);
    /// A JSON object on each line.
    pub(super) const JSONL: Self = Self(&jsonl::FORMAT);
    /// A table with commas, whose first row names the fields.
    const CSV: Self = Self(&csv::COMMAS);
    /// The same with tabs.
    const TSV: Self = Self(&csv::TABS);
    /// A URL on each line.
    pub(super) const URLS: Self = Self(&urls::FORMAT);

    /// The words of `--format`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|row| row.name)
    }

    /// By the first bytes of an input, else by what it is called; `None` if more of them have to tell.
    pub(super) fn of(first: &First<'_>, input: &Input) -> Option<Self> {
        if first.byte().is_none() && !first.is_all() {
            return None;
        }
        let extension = input.extension().unwrap_or_default();
        for row in TABLE {
            match (row.shows)(first) {
                Shows::Surely => return Some(Self(row)),
                Shows::Open if !first.is_all() => return None,
                Shows::ByName | Shows::Likely | Shows::No | Shows::Open => {}
            }
        }
        let mut rows = TABLE.iter();
        let is_called = |known: &&&Known| {
            let may_be = matches!((known.shows)(first), Shows::ByName | Shows::Likely);
            may_be && known.extensions.contains(&&*extension)
        };
        let called = rows.find(is_called);
        let likely = || {
            let mut rows = TABLE.iter();
            rows.find(|known| (known.shows)(first) == Shows::Likely)
        };
        let last = &TABLE[TABLE.len() - 1];
        Some(Self(called.or_else(likely).unwrap_or(last)))
    }

    /// The same of an input whose records are rows: objects are no jobs, and a table need not name a `url`.
    pub(super) fn of_rows(first: &First<'_>, input: &Input) -> Option<Self> {
        match first.byte() {
            Some(b'[') => Some(Self::JSON),
            Some(b'{') if first.line()? == b"{" => Some(Self::JSON),
            Some(b'{') => Some(Self::JSONL),
            Some(_) | None => {
                let told = Self::of(first, input)?;
                let may_be = csv::shows(first, b',') == Shows::ByName && !csv::has_url(first);
                let is_table = told == Self::URLS && may_be;
                Some(match first.line() {
                    Some(line) if is_table && line.contains(&b'\t') => Self::TSV,
                    Some(_) if is_table => Self::CSV,
                    Some(_) | None => told,
                })
            }
        }
    }

    /// Whether its records can be rows that fill templates.
    pub(super) fn has_rows(self) -> bool {
        self.0.has_rows
    }

    /// How the records of an input that begins so are told apart; `None` if more of it has to tell that.
    pub(super) fn frame(self, first: &First<'_>) -> Option<Frame> {
        (self.0.frame)(first)
    }

    /// Whether a record is none: a line that is blank or a comment. One that is too long is not blank, whatever it
    /// begins with.
    pub(super) fn passes_over(self, record: &Record<'_>) -> bool {
        match record.extent {
            Extent::Whole if record.bytes.trim_ascii().is_empty() => true,
            Extent::Whole | Extent::Longer { .. } => (self.0.is_comment)(record.bytes),
            Extent::Broken(_) => false,
        }
    }

    /// What its records are not read without.
    pub(super) fn needs(self) -> Needs {
        self.0.needs
    }

    /// The fields that its records may have.
    pub(super) fn fields(self) -> &'static [&'static str] {
        self.0.fields
    }

    pub(super) fn read<'a>(self, asked: &mut Asked<'_, 'a>) -> Read<'a> {
        (self.0.read)(asked)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.name)
    }
}

impl fmt::Display for Format {
    /// As `--format` takes it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.name)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let row = TABLE.iter().find(|row| row.name == text);
        row.map(|known| Self(known)).ok_or_else(|| {
            let names: Vec<_> = Self::names().collect();
            format!("write one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for name in Format::names() {
            let format: Format = name.parse().unwrap();
            assert_eq!(format.to_string(), name);
        }
        let why = "xml".parse::<Format>().unwrap_err();
        assert!(why.contains("jsonl, csv"), "{why}");
    }
}
