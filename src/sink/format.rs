//! The table of forms that a result can be written in, one row each. Floor 4: doors.

use std::fmt;
use std::str::FromStr;

use super::line::{ErrorRow, Form, Object};
use super::text::Text;
use super::{anthropic, cells, cookbook, openai, vegeta};
use crate::job::{History, JobHash, NoJob};
use crate::outcome::Outcome;

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// All that is known, one JSON object a line: what `report`, `verify` and `--resume` read.
    #[default]
    Shaper,
    /// As the Batch API of `OpenAI` returns it.
    OpenAi,
    /// As the Message Batches API of Anthropic returns it.
    Anthropic,
    /// As the parallel processor of the `OpenAI` Cookbook saves it.
    Cookbook,
    /// As `vegeta encode --to json` writes it.
    VegetaJson,
    /// As `vegeta encode --to csv` writes it.
    VegetaCsv,
    /// A table for spreadsheets.
    Csv,
}

/// One row a form.
struct Row {
    format: Format,
    word: &'static str,
    /// Adds an outcome, with its line break.
    write: fn(&Form, &Outcome, &mut Text),
    /// What stands before the first.
    head: &'static str,
}

const FORMATS: [Row; 7] = [
    Row {
        format: Format::Shaper,
        word: "shaper",
        write: Form::line,
        head: "",
    },
    Row {
        format: Format::OpenAi,
        word: "openai-batch",
        write: openai::write,
        head: "",
    },
    Row {
        format: Format::Anthropic,
        word: "anthropic-batch",
        write: anthropic::write,
        head: "",
    },
    Row {
        format: Format::Cookbook,
        word: "cookbook",
        write: cookbook::write,
        head: "",
    },
    Row {
        format: Format::VegetaJson,
        word: "vegeta-json",
        write: vegeta::write_json,
        head: "",
    },
    Row {
        format: Format::VegetaCsv,
        word: "vegeta-csv",
        write: vegeta::write_csv,
        head: "",
    },
    Row {
        format: Format::Csv,
        word: "csv",
        write: cells::write,
        head: cells::HEAD,
    },
];

impl Format {
    /// The words for all, in the order of the table.
    pub const WORDS: [&str; FORMATS.len()] = {
        let mut words = [""; FORMATS.len()];
        let mut nth = 0;
        while nth < words.len() {
            words[nth] = FORMATS[nth].word;
            nth += 1;
        }
        words
    };

    /// The word for it.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// What stands before the first result.
    pub(super) fn head(self) -> &'static str {
        self.row().head
    }

    fn row(self) -> &'static Row {
        let mut rows = FORMATS.iter();
        rows.find(|row| row.format == self)
            .expect("each form has its row")
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rows = FORMATS.iter();
        let row = rows.find(|row| row.word == text);
        row.map(|row| row.format)
            .ok_or_else(|| format!("write one of {}", Self::WORDS.join(", ")))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

impl Form {
    /// Adds an outcome, with its line break.
    pub fn write(&self, outcome: &Outcome, out: &mut Text) {
        (self.format.row().write)(self, outcome, out);
    }
}

/// By what a result of a batch is found: the id of its job, or, where that has none, what a resumed run finds it by.
/// The id of a line that makes no job may be that of another, which does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomId<'a> {
    /// The id of a job.
    Own(&'a str),
    /// A job without an id, at this position of its input, and what earlier runs have made of it.
    Job(JobHash, u64, History),
    /// A line that makes no job, and why.
    BadLine(NoJob, JobHash),
}

/// Before the hash of a job without an id.
const OF_JOBS: [(&str, History); 2] = [("job-", History::New), ("again-", History::Failed)];

/// Before the hash of a line that makes no job.
const OF_BAD_LINES: [(&str, NoJob); 2] =
    [("invalid-", NoJob::Invalid), ("skipped-", NoJob::Skipped)];

impl<'a> CustomId<'a> {
    /// Of an outcome.
    pub(super) fn from(outcome: &'a Outcome) -> Self {
        match &outcome.line {
            Ok(job) => match &job.id {
                Some(id) => Self::Own(id),
                None => Self::Job(job.hash, outcome.seq, job.history),
            },
            Err(bad) => Self::BadLine(bad.why, bad.hash),
        }
    }

    /// As it was written.
    pub fn of(text: &'a str) -> Self {
        let job = |(name, history)| {
            let (hash, seq) = text.strip_prefix(name)?.split_once('-')?;
            Some(Self::Job(JobHash::of(hash)?, seq.parse().ok()?, history))
        };
        let bad = |(name, why)| {
            let hash = text.strip_prefix(name).and_then(JobHash::of);
            Some(Self::BadLine(why, hash?))
        };
        let named = OF_JOBS.into_iter().find_map(job);
        let named = named.or_else(|| OF_BAD_LINES.into_iter().find_map(bad));
        named.unwrap_or(Self::Own(text))
    }
}

impl fmt::Display for CustomId<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(id) => out.write_str(id),
            Self::Job(hash, seq, history) => {
                let mut names = OF_JOBS.iter();
                let named = names.find(|(_, own)| own == history);
                let (name, _) = named.expect("each has its name");
                write!(out, "{name}{hash}-{seq}")
            }
            Self::BadLine(why, hash) => {
                let mut names = OF_BAD_LINES.iter();
                let named = names.find(|(_, own)| own == why);
                let (name, _) = named.expect("each has its name");
                write!(out, "{name}{hash}")
            }
        }
    }
}

/// An error as an object with these two members.
pub(super) fn put_error(names: [&str; 2], error: &ErrorRow<'_>, out: &mut Text) {
    let mut object = Object::begin(out);
    object.put(names[0], error.kind);
    object.put(names[1], &*error.message);
    object.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_found_by_its_word_and_every_id_says_what_it_is_of() {
        for row in &FORMATS {
            assert_eq!(row.word.parse(), Ok(row.format));
            assert_eq!(row.format.to_string(), row.word);
        }
        for id in [
            CustomId::Own("r-1"),
            CustomId::Own("job-1"),
            CustomId::Job(JobHash(7), 0, History::New),
            CustomId::Job(JobHash(7), 12, History::Failed),
            CustomId::BadLine(NoJob::Invalid, JobHash(u64::MAX)),
            CustomId::BadLine(NoJob::Skipped, JobHash(0)),
        ] {
            assert_eq!(CustomId::of(&id.to_string()), id);
        }
        let why = "xml".parse::<Format>().unwrap_err();
        assert!(why.contains("shaper, openai-batch"), "{why}");
    }
}
