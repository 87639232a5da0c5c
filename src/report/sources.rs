//! The files that a report was read from. Floor 4: doors.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Report;
use super::page::{Page, Tone};
use crate::units::counted;

/// The results that a report is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The files, in order.
    pub files: Vec<Source>,
    /// Runs that have written to them, as far as something tells.
    pub runs: usize,
    /// What is not known, and why; a sentence each.
    pub notes: Vec<String>,
}

/// One file of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name as given.
    pub name: String,
    /// Its lines.
    pub results: u64,
    /// Of these, those that a later line of the same job replaces: of them only the tries count.
    pub replaced: u64,
    /// Its last line, if that is torn and was passed over.
    pub torn: Option<u64>,
}

/// The most files, and the most notes, that are printed; JSON and the page have them all.
const LINES: usize = 3;

impl Sources {
    /// A line for each file, of so many at most, and whoever wrote them.
    pub(super) fn files(&self, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.files.iter().take(most).map(file).collect();
        let more = self.files.len().saturating_sub(most);
        if more > 0 {
            let files = counted(more as u64, "more file");
            lines.push(format!("and {files}"));
        }
        if self.runs > self.files.len() {
            lines.push(format!(
                "written by {} runs: all of them together",
                self.runs
            ));
        }
        lines
    }
}

impl Page {
    /// What was read, if the report is not of a run that has just ended.
    pub(super) fn sources(&mut self, report: &Report) {
        let Some(sources) = &report.sources else {
            return;
        };
        let mut heading = "RESULTS";
        let files = sources.files(LINES);
        for line in files.iter().chain(sources.notes.iter().take(LINES)) {
            self.section(heading, line, Tone::Calm);
            heading = "";
        }
    }
}

fn file(source: &Source) -> String {
    let Source {
        name,
        results,
        replaced,
        torn,
    } = source;
    let mut line = format!("{name}: {}", counted(*results, "result"));
    if *replaced > 0 {
        let _ = write!(
            line,
            ", {replaced} of them replaced by a later one of the same job"
        );
    }
    if let Some(torn) = torn {
        let _ = write!(line, "; line {torn} is torn and was passed over");
    }
    line
}

/// For programs.
pub(super) fn json(sources: &Sources) -> Value {
    let files = sources.files.iter().map(|source| {
        json!({
            "name": source.name,
            "results": source.results,
            "replaced": source.replaced,
            "torn_line": source.torn,
        })
    });
    json!({
        "files": files.collect::<Vec<_>>(),
        "runs": sources.runs,
        "notes": sources.notes,
    })
}
