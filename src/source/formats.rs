//! The formats of inputs, a row each. Floor 4: doors.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::csv::Columns;
use super::draft::{Draft, Fault};
use super::filling::{Filling, Own};
use super::framing::Frame;
use super::keeper::Keeper;
use super::log_fields::LogFields;
use super::opening::First;
use super::record::{Extent, Record};
use super::target::HttpUrl;
use super::{
    Input, access_log, anthropic, cookbook, csv, field, gor, har, json, jsonl, objects, openai,
    urls, vegeta,
};

/// How the records of an input are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Entries of a HAR 1.2 file.
    Har,
    /// Requests of an Anthropic batch: elements of `requests`, or one on each line.
    AnthropicBatch,
    /// A request of an `OpenAI` batch on each line.
    OpenaiBatch,
    /// Request lines of the `OpenAI` cookbook: a body on each, with `metadata` that is not sent.
    Cookbook,
    /// Targets of vegeta: an object on each line, or a line with method and URL and those of its headers.
    Vegeta,
    /// Lines of an access log, in the combined form or as objects.
    AccessLog,
    /// What `GoReplay` has recorded.
    Gor,
    /// JSON objects, in an array or not, on any number of lines.
    Json,
    /// A JSON object on each line.
    Jsonl,
    /// A table with commas, whose first row names the fields.
    Csv,
    /// The same with tabs.
    Tsv,
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
    /// What its records cannot be read without.
    needs: Needs,
    /// The fields that its records may have.
    fields: &'static [&'static str],
    read: for<'a> fn(&mut Asked<'_, 'a>) -> Read<'a>,
}

/// In the order of [`Format`]. The first row that is sure of an input is its format, else the first
/// that may be and has its name, else the first that is likely, else the last.
static TABLE: [Row; 12] = [
    Row {
        format: Format::Har,
        name: "har",
        extensions: &["har"],
        shows: har::shows,
        frame: |_| Some(Frame::Elements(har::PATH)),
        is_comment: |_| false,
        needs: Needs::Nothing,
        fields: &[],
        read: har::read,
    },
    Row {
        format: Format::AnthropicBatch,
        name: "anthropic-batch",
        extensions: &[],
        shows: anthropic::shows,
        frame: anthropic::frame,
        is_comment: |_| false,
        needs: Needs::Base,
        fields: &anthropic::FIELDS,
        read: anthropic::read,
    },
    Row {
        format: Format::OpenaiBatch,
        name: "openai-batch",
        extensions: &[],
        shows: openai::shows,
        frame: |first| first.frame_of_objects(),
        is_comment: |_| false,
        needs: Needs::Base,
        fields: &openai::FIELDS,
        read: openai::read,
    },
    Row {
        format: Format::Cookbook,
        name: "cookbook",
        extensions: &[],
        shows: cookbook::shows,
        frame: |first| first.frame_of_objects(),
        is_comment: |_| false,
        needs: Needs::RequestUrl,
        fields: &[],
        read: cookbook::read,
    },
    Row {
        format: Format::Vegeta,
        name: "vegeta",
        extensions: &["vegeta", "targets"],
        shows: vegeta::shows,
        frame: vegeta::frame,
        is_comment: |_| false,
        needs: Needs::Nothing,
        fields: &vegeta::FIELDS,
        read: vegeta::read,
    },
    Row {
        format: Format::AccessLog,
        name: "access-log",
        extensions: &["log"],
        shows: access_log::shows,
        frame: |_| Some(Frame::Lines),
        is_comment: access_log::is_comment,
        needs: Needs::Base,
        fields: &[],
        read: access_log::read,
    },
    Row {
        format: Format::Gor,
        name: "gor",
        extensions: &["gor"],
        shows: gor::shows,
        frame: |_| Some(Frame::Requests),
        is_comment: |_| false,
        needs: Needs::Nothing,
        fields: &[],
        read: gor::read,
    },
    Row {
        format: Format::Json,
        name: "json",
        extensions: &["json"],
        shows: json::shows,
        frame: |_| Some(Frame::Elements(&[])),
        is_comment: |_| false,
        needs: Needs::Nothing,
        fields: &field::NAMES,
        read: jsonl::read,
    },
    Row {
        format: Format::Jsonl,
        name: "jsonl",
        extensions: &["jsonl", "ndjson"],
        shows: jsonl::shows,
        frame: |_| Some(Frame::Lines),
        is_comment: |_| false,
        needs: Needs::Nothing,
        fields: &field::NAMES,
        read: jsonl::read,
    },
    Row {
        format: Format::Csv,
        name: "csv",
        extensions: &["csv"],
        shows: |first| csv::shows(first, b','),
        frame: |_| Some(Frame::Rows(b',')),
        is_comment: |_| false,
        needs: Needs::Columns(b','),
        fields: &field::COLUMNS,
        read: csv::read,
    },
    Row {
        format: Format::Tsv,
        name: "tsv",
        extensions: &["tsv", "tab"],
        shows: |first| csv::shows(first, b'\t'),
        frame: |_| Some(Frame::Rows(b'\t')),
        is_comment: |_| false,
        needs: Needs::Columns(b'\t'),
        fields: &field::COLUMNS,
        read: csv::read,
    },
    Row {
        format: Format::Urls,
        name: "urls",
        extensions: &[],
        shows: |_| Shows::No,
        frame: |_| Some(Frame::Lines),
        is_comment: urls::is_comment,
        needs: Needs::Nothing,
        fields: &[],
        read: urls::read,
    },
];

/// What records are not read without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// `--base-url`.
    Base,
    /// `--request-url`.
    RequestUrl,
    /// Columns, which the first row names; between them stands this.
    Columns(u8),
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
                Shows::Open if !first.is_all() => return None,
                Shows::ByName | Shows::Likely | Shows::No | Shows::Open => {}
            }
        }
        let mut rows = TABLE.iter();
        let is_called = |row: &&Row| {
            let may_be = matches!((row.shows)(first), Shows::ByName | Shows::Likely);
            may_be && row.extensions.contains(&&*extension)
        };
        let called = rows.find(is_called);
        let likely = || TABLE.iter().find(|row| (row.shows)(first) == Shows::Likely);
        let last = &TABLE[TABLE.len() - 1];
        Some(called.or_else(likely).unwrap_or(last).format)
    }

    /// The same of an input whose records are rows: objects are no jobs, and a table need not name a `url`.
    pub(super) fn of_rows(first: &First<'_>, input: &Input) -> Option<Self> {
        match first.byte() {
            Some(b'[') => Some(Self::Json),
            Some(b'{') if first.line()? == b"{" => Some(Self::Json),
            Some(b'{') => Some(Self::Jsonl),
            Some(_) | None => {
                let told = Self::of(first, input)?;
                let may_be = csv::shows(first, b',') == Shows::ByName && !csv::has_url(first);
                let is_table = told == Self::Urls && may_be;
                Some(match first.line() {
                    Some(line) if is_table && line.contains(&b'\t') => Self::Tsv,
                    Some(_) if is_table => Self::Csv,
                    Some(_) | None => told,
                })
            }
        }
    }

    /// Whether its records can be rows that fill templates.
    pub(super) fn has_rows(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl | Self::Csv | Self::Tsv)
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

    /// What its records are not read without.
    pub(super) fn needs(self) -> Needs {
        self.row().needs
    }

    /// The fields that its records may have.
    pub(super) fn fields(self) -> &'static [&'static str] {
        self.row().fields
    }

    pub(super) fn read<'a>(self, asked: &mut Asked<'_, 'a>) -> Read<'a> {
        match (asked.filling, self) {
            (Some(filling), Self::Json | Self::Jsonl) => objects::read(asked, filling),
            _ => (self.row().read)(asked),
        }
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
        assert!(why.contains("jsonl, csv"), "{why}");
    }
}
