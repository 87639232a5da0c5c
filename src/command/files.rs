//! Refuses, before anything is sent, files that a run would destroy or could not write. Floor 6: front.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::args::{OutputArgs, ShowArgs};
use crate::error::{Exit, Problem};
use crate::letters::calm_path;
use crate::manifest;

/// A file that has a role, and what is told of who wants it too.
pub(super) struct Taken<'a> {
    path: PathBuf,
    is: &'a str,
}

impl<'a> Taken<'a> {
    /// This file has that role: `the jobs are read from it`.
    pub(super) fn new(path: impl Into<PathBuf>, is: &'a str) -> Self {
        let path = path.into();
        Self { path, is }
    }
}

/// That each file has one role, and that the report has a place.
pub(super) fn check(jobs: &[PathBuf], output: &OutputArgs) -> Result<(), Problem> {
    let read = |job: &PathBuf| Taken::new(job, "the jobs are read from it");
    let mut taken: Vec<Taken<'_>> = jobs.iter().map(read).collect();
    if let Some(results) = &output.output {
        let beside = manifest::path_of(results);
        free(results, &taken, "results", "-o")?;
        free(&beside, &taken, "what the run was", "-o")?;
        taken.push(Taken::new(results, "the results go there"));
        taken.push(Taken::new(beside, "what the run was goes there"));
    }
    shown(&output.show, taken)
}

/// That a report, and what is written beside it, has a place, none of it that of something else.
pub(super) fn shown(show: &ShowArgs, mut taken: Vec<Taken<'_>>) -> Result<(), Problem> {
    let report = show.report_file.iter();
    let report = report.map(|path| (path, "the report", "the report goes there", "--report-file"));
    let page = show.html.iter();
    let page = page.map(|path| (path, "the page", "the page goes there", "--html"));
    let hdr = show.hdr.iter();
    let hdr = hdr.map(|path| (path, "latencies", "the latencies go there", "--hdr"));
    for (path, what, is, option) in report.chain(page).chain(hdr) {
        free(path, &taken, what, option)?;
        place(path, what, option)?;
        taken.push(Taken::new(path, is));
    }
    Ok(())
}

/// That a file has no role yet.
fn free(path: &Path, taken: &[Taken<'_>], what: &str, option: &str) -> Result<(), Problem> {
    match taken.iter().find(|taken| same(&taken.path, path)) {
        None => Ok(()),
        Some(Taken { is, .. }) => Err(Problem::usage(
            format!("{what} cannot go to {}: {is}", calm_path(path)),
            format!("name another file with {option}"),
        )),
    }
}

/// That something can be written there.
fn place(path: &Path, what: &str, option: &str) -> Result<(), Problem> {
    let (folder, is_new) = (folder(path), !path.exists());
    let why = if path.as_os_str() == "-" {
        return Ok(());
    } else if path.is_dir() {
        "it is a directory"
    } else if !folder.is_dir() {
        "its folder does not exist"
    } else if !is_new && !may_be_written(path) {
        "it may not be written"
    } else if is_new && !may_be_written(folder) {
        "nothing may be made in its folder"
    } else {
        return Ok(());
    };
    Err(Problem::new(
        Exit::Unwritten,
        format!("{what} cannot go to {}: {why}", calm_path(path)),
        format!("name another file with {option}"),
    ))
}

/// Whether this user may write to it, or make files in it.
pub(super) fn may_be_written(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

/// Whether two names lead to one file. Devices and pipes may have several roles.
fn same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| match fs::canonicalize(path) {
        Ok(place) => place.is_file().then_some(place),
        Err(_) => Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?)),
    };
    let named = |path: &Path| path.as_os_str() != "-";
    named(one) && named(other) && place(one).is_some_and(|one| Some(one) == place(other))
}

/// Where a file of this name is, or would be.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}
