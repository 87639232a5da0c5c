//! Files that a report is written to beside its text: each is there whole, or not at all. Floor 6: front.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::args::ShowArgs;
use super::files::{folder, may_be_written};
use crate::error::{Exit, Problem, to_write};
use crate::file;
use crate::letters::calm_path;
use crate::report::Report;
use crate::report::comparison::Comparison;
use crate::report::hdr::Hdr;
use crate::report::html::{self, Named};

/// Every file that the options name, on one run. All are tried, and the first that failed is told.
pub(super) fn write(show: &ShowArgs, report: &Report) -> Result<(), Problem> {
    let page = page(show, &[Named { name: "", report }]);
    let hdr = show.hdr.iter().map(|path| {
        let text = Hdr::of(path).text(report);
        put(path, &text).map_err(|why| unwritten(&why, "latencies", path, "--hdr"))
    });
    hdr.fold(page, Result::and)
}

/// The page on all of these runs, if it is asked for.
pub(super) fn page(show: &ShowArgs, runs: &[Named<'_>]) -> Result<(), Problem> {
    html(show, || html::page(runs))
}

/// The page on disciplines that were compared, likewise.
pub(super) fn compared(show: &ShowArgs, told: &Comparison) -> Result<(), Problem> {
    html(show, || html::compared(told))
}

fn html(show: &ShowArgs, page: impl FnOnce() -> String) -> Result<(), Problem> {
    let Some(path) = &show.html else {
        return Ok(());
    };
    put(path, &page()).map_err(|why| unwritten(&why, "the page", path, "--html"))
}

/// A regular file is replaced at once, or made; a device or a pipe takes the text, and so does a file in a folder
/// where none may be made.
pub(super) fn put(path: &Path, text: &str) -> io::Result<()> {
    let bytes = text.as_bytes();
    if path.exists() && (!path.is_file() || !may_be_written(folder(path))) {
        let mut there = OpenOptions::new().write(true).truncate(true).open(path)?;
        return there.write_all(bytes);
    }
    file::replaced(path, |file| file.write_all(bytes)).map(drop)
}

fn unwritten(why: &io::Error, what: &str, path: &Path, option: &str) -> Problem {
    let mend = format!("{}, or name another file with {option}", to_write(why));
    let what = format!("{what} cannot be written: {why}");
    Problem::new(Exit::Unwritten, what, mend).at(calm_path(path))
}
