//! Refuses, before anything is sent, files that a run would destroy or could not write. Floor 6: front.

use std::fs;
use std::path::{Path, PathBuf};

use super::args::OutputArgs;
use crate::error::{Exit, Problem};
use crate::manifest;

/// That each file has one role, and that the report has a place.
pub(super) fn check(jobs: &[PathBuf], output: &OutputArgs) -> Result<(), Problem> {
    let results = output.output.as_deref();
    let report = output.show.report_file.as_deref();
    let beside = results.map(manifest::path_of);
    for job in jobs {
        if results.is_some_and(|results| same(job, results)) {
            return Err(twice(job, "the jobs are read from it", "results", "-o"));
        }
        if beside.as_deref().is_some_and(|beside| same(job, beside)) {
            let what = "what the run was";
            return Err(twice(job, "the jobs are read from it", what, "-o"));
        }
        if report.is_some_and(|report| same(job, report)) {
            let option = "--report-file";
            return Err(twice(
                job,
                "the jobs are read from it",
                "the report",
                option,
            ));
        }
    }
    let Some(report) = report else {
        return Ok(());
    };
    if results.is_some_and(|results| same(results, report)) {
        let option = "--report-file";
        return Err(twice(report, "the results go there", "the report", option));
    }
    if beside.is_some_and(|beside| same(&beside, report)) {
        let (is, option) = ("what the run was goes there", "--report-file");
        return Err(twice(report, is, "the report", option));
    }
    let folder = folder(report);
    if report.as_os_str() == "-" {
        Ok(())
    } else if report.is_dir() {
        Err(unwritable(report, "it is a directory"))
    } else if !folder.is_dir() {
        Err(unwritable(report, "its folder does not exist"))
    } else {
        Ok(())
    }
}

fn twice(path: &Path, is: &str, what: &str, option: &str) -> Problem {
    Problem::usage(
        format!("{what} cannot go to {}: {is}", path.display()),
        format!("name another file with {option}"),
    )
}

fn unwritable(path: &Path, why: &str) -> Problem {
    Problem::new(
        Exit::Unwritten,
        format!("the report cannot go to {}: {why}", path.display()),
        "name another --report-file",
    )
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

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}
