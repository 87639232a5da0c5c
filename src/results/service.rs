//! Reads from a file of results how long answers took. Floor 4: doors.

use std::path::Path;
use std::time::Duration;

use super::row::{Made, Row};
use super::scan::{self, damaged, is_torn};
use super::{Lines, unreadable};
use crate::error::Problem;
use crate::file::regular;
use crate::letters::calm_path;
use crate::metrics::Latencies;
use crate::outcome::Status;

/// How long the answers of a run took.
#[derive(Debug, Default)]
pub struct Service {
    /// First byte written to last byte read, of the last try of jobs that are `ok`.
    pub ok: Latencies,
    /// Tries that were sent and are not among those: refused, failed or not answered. How long those take
    /// says nothing of answers, and how many there are depends on the limits of the run.
    pub left_out: u64,
}

/// Reads a file of results. A torn last line is passed over. Memory: fixed.
///
/// A usage problem if it cannot be read, is no file of results, or holds no answer.
pub fn service(path: &Path) -> Result<Service, Problem> {
    let shown = calm_path(path);
    let unreadable = |why| unreadable(path, &why);
    let mut lines = Lines::new(regular(path).map_err(unreadable)?);
    let (mut service, mut results) = (Service::default(), 0_u64);
    while let Some(raw) = lines.next().map_err(unreadable)? {
        match scan::read(&raw).map(|seen| seen.row) {
            Ok(row) if row.tries.is_none() => {
                let what = "is no result: missing field `tries`";
                let place = format!("{shown}:{}", raw.number);
                return Err(Problem::usage(what, MEND).at(place));
            }
            Ok(row) => {
                service.add(&row);
                results += 1;
            }
            Err(_) if is_torn(&raw) && results > 0 => {}
            Err(why) => return Err(damaged(&shown, &raw, &why, "> results.jsonl")),
        }
    }
    if service.ok.count() > 0 {
        return Ok(service);
    }
    let what = match results {
        0 => "has no results: there is no latency to take from it".to_owned(),
        1 => "its one result is not `ok`: there is no latency to take from it".to_owned(),
        some => format!("none of its {some} results is `ok`: there is no latency to take from it"),
    };
    Err(Problem::usage(what, MEND).at(shown))
}

const MEND: &str = "name the results of a run that was answered, or say --latency 200ms";

impl Service {
    fn add(&mut self, row: &Row) {
        let tries = row.tries();
        let sent = tries.iter().filter(|made| made.was_sent()).count() as u64;
        let is_ok = row.status.as_deref() == Some(Status::Ok.word());
        let last: Option<Duration> = tries.last().filter(|_| is_ok).and_then(Made::service);
        if let Some(last) = last {
            self.ok.add(last);
        }
        self.left_out += sent - u64::from(last.is_some());
    }
}
