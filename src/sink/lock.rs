//! The lock on a file of results: one run at a time. Floor 4: doors.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock, fstat, major, minor};
use rustix::io::Errno;

use crate::error::Problem;
use crate::letters::calm_path;

/// Holds it until the file is closed, however the program ends. Only regular files: others have several
/// writers by right. Some file systems have no locks, and there is none then.
pub fn lock(path: &Path, file: &File) -> Result<(), Problem> {
    if flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
        return Ok(());
    }
    let (who, mend) = match holder(file) {
        Some(process) => (
            format!(" (process {process})"),
            format!("wait for it or end it (kill {process}), or name another file with -o"),
        ),
        None => (
            String::new(),
            "wait for it, or name another file with -o".to_owned(),
        ),
    };
    let what = format!(
        "another run{who} is writing its results to {}",
        calm_path(path)
    );
    Err(Problem::usage(what, mend))
}

/// The number of the process that holds the lock, where the system tells it: see `/proc/locks` in proc(5).
pub fn holder(file: &File) -> Option<u32> {
    // Its numbers as the system has them: how wide they are differs.
    let there = fstat(file).ok()?;
    let (major, minor) = (major(there.st_dev), minor(there.st_dev));
    let place = format!("{major:02x}:{minor:02x}:{}", there.st_ino);
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let process = words.nth(2)?;
        (kind == "FLOCK" && words.next()? == place).then(|| process.parse().ok())?
    })
}
