//! Which jobs failed in the end. Floor 4: doors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::done::Name;
use super::row::{Names, Row, once};
use super::{LineEnd, Lines, no_result, unreadable};
use crate::error::Problem;
use crate::file::regular;
use crate::job::{History, Job, JobHash};
use crate::letters::calm_path;
use crate::outcome::Status;

/// A job whose last result is `failed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedJob {
    /// The input that it stood in, as given; `None` if the run had only one.
    pub file: Option<Arc<str>>,
    /// Its line there, from 1.
    pub line: u64,
    /// Its own name.
    pub id: Option<Box<str>>,
    /// Its content.
    pub job: Option<JobHash>,
    /// The line of its last result, from 1.
    pub result: u64,
    /// Where it went, without credentials; `None` if that was not asked for.
    pub url: Option<Box<str>>,
}

impl FailedJob {
    /// Whether this is that job: its content, and its id.
    pub fn is(&self, job: &Job) -> bool {
        self.job.is_none_or(|hash| hash == job.hash) && self.id == job.id
    }
}

/// What is read of a file of results. Memory grows with the jobs that failed, not with all.
#[derive(Debug, Default)]
pub struct FailedJobs {
    /// In no order.
    pub jobs: Vec<FailedJob>,
    /// Lines that were read.
    pub results: u64,
    /// The last line, if it is not whole: it was passed over.
    pub torn: Option<u64>,
}

/// Reads a file of results: the last of a job is its result. URLs are kept of the jobs of those inputs for
/// which `with_url` says so.
///
/// A last line without its end that is no result was torn; any other such line is a problem.
pub fn failed(path: &Path, with_url: impl Fn(Option<&str>) -> bool) -> Result<FailedJobs, Problem> {
    let shown = calm_path(path);
    let unreadable = |why| unreadable(path, &why);
    let mut lines = Lines::new(regular(path).map_err(unreadable)?);
    let (mut found, mut names) = (FailedJobs::default(), Names::default());
    let mut failed = Failed::default();
    while let Some(raw) = lines.next().map_err(unreadable)? {
        let seen = Seen::read(raw.bytes, raw.number, &mut names, &with_url);
        match (seen, raw.end) {
            (Ok(seen), _) => {
                found.results += 1;
                seen.note(&mut failed);
            }
            (Err(_), LineEnd::File) => found.torn = Some(raw.number),
            (Err(why), LineEnd::Newline) => return Err(damaged(&shown, raw.number, &why)),
        }
    }
    let by_job = failed.by_job.into_values().flatten();
    let by_job = by_job.map(|alike| alike.job);
    found.jobs = failed.by_id.into_values().chain(by_job).collect();
    Ok(found)
}

fn damaged(shown: &str, line: u64, why: &str) -> Problem {
    let mend = "name a file that `shaper run -o` has written, or restore this one";
    Problem::usage(no_result(why), mend).at(format!("{shown}:{line}"))
}

/// Those that failed so far, by name. See [`super::Done`].
#[derive(Default)]
struct Failed {
    by_id: HashMap<u64, FailedJob>,
    /// Of equal jobs each.
    by_job: HashMap<JobHash, Vec<Alike>>,
}

/// A failed one of equal jobs.
struct Alike {
    /// The position in the input.
    seq: u64,
    /// The round of the input.
    round: u32,
    job: FailedJob,
}

impl Alike {
    /// Whether both stood in one line of one file.
    fn stood_with(&self, other: &Self) -> bool {
        (&self.job.file, self.job.line) == (&other.job.file, other.job.line)
    }
}

impl Failed {
    /// A line that failed in several rounds is one job, in whichever order they ended. In one round it is as
    /// many as the times that its file was named.
    fn add(&mut self, hash: JobHash, new: Alike) {
        let alike = self.by_job.entry(hash).or_default();
        let of_other_round = |one: &Alike| one.stood_with(&new) && one.round != new.round;
        match alike.iter().position(of_other_round) {
            Some(place) if new.round < alike[place].round => alike[place] = new,
            Some(_) => {}
            None => alike.push(new),
        }
    }
}

/// One result.
struct Seen {
    name: Name,
    history: History,
    /// The position in the input.
    seq: u64,
    /// The round of the input.
    round: u32,
    /// `None` if it is no failure.
    failed: Option<FailedJob>,
}

/// The one field that few jobs are asked for.
#[derive(Deserialize)]
struct Went<'a> {
    #[serde(default, borrow)]
    url: Option<Cow<'a, str>>,
}

impl Seen {
    fn read(
        line: &[u8],
        number: u64,
        names: &mut Names,
        with_url: &impl Fn(Option<&str>) -> bool,
    ) -> Result<Self, String> {
        let row: Row = serde_json::from_slice(line).map_err(|why| why.to_string())?;
        let (name, status) = Name::of_row(&row)?;
        let name = match name {
            // However often a line comes again, it is copied once, if it has failed in the end.
            Name::Id(id, job) => Name::Id(id.wrapping_sub(row.round.into()), job),
            Name::Job(job) => Name::Job(job),
        };
        let url = || with_url(row.file.as_deref()).then(|| url(line)).flatten();
        let failed = match status {
            Status::Failed => Some(FailedJob {
                file: row.file.as_deref().map(|file| once(file, names)),
                line: row.line.ok_or("missing field `line`")?,
                id: row.id.as_deref().map(Box::from),
                job: row.hash()?,
                result: number,
                url: url(),
            }),
            Status::Ok | Status::Invalid | Status::Skipped => None,
        };
        Ok(Self {
            name,
            history: row.history(),
            seq: row.seq.unwrap_or(number),
            round: row.round,
            failed,
        })
    }

    /// Of a job that has an id the last result counts. One of equal jobs that was run again takes the place
    /// of one that failed: that of its position, if there is one.
    fn note(self, failed: &mut Failed) {
        match (self.name, self.failed) {
            (Name::Id(id, _), Some(job)) => {
                failed.by_id.insert(id, job);
            }
            (Name::Id(id, _), None) => {
                failed.by_id.remove(&id);
            }
            (Name::Job(hash), job) => {
                if self.history == History::Failed
                    && let Some(alike) = failed.by_job.get_mut(&hash)
                    && !alike.is_empty()
                {
                    let place = alike.iter().position(|one| one.seq == self.seq);
                    alike.swap_remove(place.unwrap_or(0));
                }
                if let Some(job) = job {
                    let (seq, round) = (self.seq, self.round);
                    failed.add(hash, Alike { seq, round, job });
                }
            }
        }
    }
}

fn url(line: &[u8]) -> Option<Box<str>> {
    let went: Went = serde_json::from_slice(line).ok()?;
    went.url.as_deref().map(Box::from)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A result: id or none, content, position, line, status.
    fn line(id: Option<&str>, job: u64, seq: u64, status: &str) -> String {
        let id = serde_json::json!(id);
        format!(
            r#"{{"seq":{seq},"line":{},"id":{id},"job":"{job:016x}","status":"{status}","tries":[],"url":"http://h/{seq}"}}"#,
            seq + 1
        ) + "\n"
    }

    /// The same, in the place of one that failed.
    fn again(line: &str) -> String {
        line.replacen("\"status\"", "\"again\":true,\"status\"", 1)
    }

    fn from(text: &str) -> Result<FailedJobs, Problem> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        fs::write(&path, text).unwrap();
        let mut failed = failed(&path, |file| file == Some("-"))?;
        failed.jobs.sort_by_key(|job| job.line);
        Ok(failed)
    }

    fn lines_of(text: &str) -> Vec<(u64, u64)> {
        let failed = from(text).unwrap();
        let each = failed.jobs.iter().map(|job| (job.line, job.result));
        each.collect()
    }

    #[test]
    fn a_job_has_failed_if_its_last_result_has() {
        let a = |status| line(Some("a"), 1, 0, status);
        let b = |status| line(None, 7, 1, status);
        let (failed, ok) = ("failed", "ok");
        let retried = [a(failed), b(failed), a(ok)].concat();
        assert_eq!(lines_of(&retried), [(2, 2)]);
        let twice = [a(failed), b(failed), a(failed), again(&b(ok))].concat();
        assert_eq!(lines_of(&twice), [(1, 3)]);
        let moved = [a(failed), line(Some("a"), 1, 4, ok)].concat();
        assert_eq!(lines_of(&moved), [], "an id is a job wherever it stood");
        assert_eq!(lines_of(&line(None, 3, 0, "invalid")), []);
    }

    #[test]
    fn one_of_equal_jobs_has_failed_until_one_is_run_again() {
        let equal = |seq, status| line(None, 7, seq, status);
        let (first, second) = (equal(0, "failed"), equal(1, "failed"));
        let one = [&*first, &second, &again(&equal(0, "ok"))].concat();
        assert_eq!(lines_of(&one), [(2, 2)]);
        let moved = [
            &*first,
            &again(&equal(5, "failed")),
            &again(&equal(9, "ok")),
        ]
        .concat();
        assert_eq!(lines_of(&moved), []);
        // Two that stood at one position are two jobs.
        let two = [equal(1, "failed"), equal(1, "ok")].concat();
        assert_eq!(lines_of(&two), [(2, 1)]);
    }

    #[test]
    fn a_line_that_failed_in_several_rounds_is_one_job_in_any_order() {
        let round = |round: u32, seq| {
            let said = format!("\"round\":{round},\"line\":3,\"id\"");
            line(None, 7, seq, "failed").replacen(&format!("\"line\":{},\"id\"", seq + 1), &said, 1)
        };
        let (first, second, third) = (round(0, 2), round(1, 5), round(2, 8));
        for order in [
            [&first, &second, &third],
            [&second, &first, &third],
            [&third, &second, &first],
            [&second, &third, &first],
        ] {
            let text: String = order.into_iter().map(|it| &**it).collect();
            let lines = lines_of(&text);
            assert!(matches!(*lines, [(3, _)]), "{lines:?}");
        }
        // The same file, named twice, in two rounds.
        let (twin, twins) = (round(0, 6), round(1, 9));
        let text = [&*second, &first, &twins, &twin].concat();
        assert_eq!(lines_of(&text).len(), 2);
    }

    #[test]
    fn a_torn_last_line_is_passed_over_and_damage_elsewhere_is_told_with_its_line() {
        let whole = line(Some("a"), 1, 0, "failed");
        let torn = from(&format!("{whole}{}", &whole[..30])).unwrap();
        assert_eq!((torn.jobs.len(), torn.results, torn.torn), (1, 1, Some(2)));
        assert_eq!(from(whole.trim_end()).unwrap().jobs.len(), 1);
        for bad in [
            "{\"seq\":1",
            "{}",
            "{\"status\":\"odd\"}",
            "{\"status\":\"failed\"}",
            "{\"status\":\"failed\",\"id\":\"a\"}",
            "{\"status\":\"failed\",\"line\":1,\"job\":\"+123\"}",
        ] {
            let problem = from(&format!("{whole}{bad}\n{whole}")).unwrap_err();
            assert!(problem.place.ends_with("r.jsonl:2"), "{problem}");
        }
        assert_eq!(from("").unwrap().results, 0);
    }

    #[test]
    fn urls_are_kept_only_where_they_are_asked_for() {
        let file = |name: &str| {
            let file = format!("\"file\":{name:?},\"line\"");
            line(None, 1, 0, "failed").replacen("\"line\"", &file, 1)
        };
        let url = |text: &str| from(text).unwrap().jobs[0].url.clone();
        assert_eq!(url(&file("-")).as_deref(), Some("http://h/0"));
        assert_eq!(url(&file("jobs.jsonl")), None);
        assert_eq!(url(&line(None, 1, 0, "failed")), None);
    }
}
