//! Which jobs have their result already: found by id, else by content. Floor 4: doors.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use super::row::Row;
use crate::job::{BadLine, Job, JobHash};
use crate::outcome::Status;

/// The results of earlier runs, without what is in them: 16 bytes a job, and half as much again while they
/// are put in order.
///
/// Valid jobs are named by their id if they have one, else by their content; lines that make no job by
/// theirs. Names are told apart by 64 bits. Equal jobs without ids stand for each other.
#[derive(Debug, Default)]
pub struct Done {
    by_id: Table,
    by_job: Table,
}

/// What is known of a line of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It has no result.
    New,
    /// It has this one.
    Done(Status),
    /// Its id has one, of another job.
    Other(Status),
}

/// How a line is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// By the hash of its id; the content is only compared, if it is known.
    Id(u64, Option<JobHash>),
    /// By its content.
    Job(JobHash),
}

impl Name {
    /// Of a line of the input.
    fn of(line: &Result<Job, BadLine>) -> Self {
        match line {
            Ok(job) => match &job.id {
                Some(id) => Self::Id(hash(id), Some(job.hash)),
                None => Self::Job(job.hash),
            },
            Err(bad) => Self::Job(bad.hash),
        }
    }

    /// Of a result.
    pub(super) fn of_row(row: &Row, status: Status) -> Result<Self, &'static str> {
        let job = row.hash()?;
        match (&row.id, status) {
            (Some(id), Status::Ok | Status::Failed) => Ok(Self::Id(hash(id), job)),
            (_, Status::Ok | Status::Failed | Status::Invalid) => job
                .map(Self::Job)
                .ok_or("it names no job: no `id`, no `job`"),
        }
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = SipHasher24::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}

impl Done {
    /// Another result, after those before it in the file. `nth` tells equal jobs apart: the position in the
    /// input that the result tells.
    pub(super) fn add(&mut self, name: Name, status: Status, nth: u64) {
        match name {
            Name::Id(id, job) => self
                .by_id
                .0
                .push(Entry::new(id, job.map(|job| job.0), status)),
            Name::Job(job) => self.by_job.0.push(Entry::new(job.0, Some(nth), status)),
        }
    }

    /// All are added: the last result of a job is the one that counts.
    pub(super) fn put_in_order(&mut self) {
        self.by_id.0.sort_by_key(|entry| entry.name);
        self.by_id
            .keep_last(|later, earlier| later.name == earlier.name);
        self.by_job
            .0
            .sort_by_key(|entry| (entry.name, entry.mark()));
        // Two results of one position are one job's, if the first of them failed and it was run again.
        self.by_job.keep_last(|later, earlier| {
            (later.name, later.mark()) == (earlier.name, earlier.mark())
                && earlier.status() == Status::Failed
        });
    }

    /// How many jobs have a result.
    pub fn len(&self) -> usize {
        self.by_id.0.len() + self.by_job.0.len()
    }

    /// No job has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many have this status.
    pub fn count(&self, status: Status) -> usize {
        let all = self.by_id.0.iter().chain(&self.by_job.0);
        all.filter(|entry| entry.status() == status).count()
    }

    /// What is known of a line of the input. A result belongs to one line: the next equal one gets another.
    pub fn claim(&mut self, line: &Result<Job, BadLine>) -> Claim {
        match Name::of(line) {
            Name::Id(id, job) => match self.by_id.claim(id) {
                None => Claim::New,
                Some(entry) => {
                    let other = entry.has_mark() && job.is_some_and(|job| !entry.marks(job.0));
                    let claim = if other { Claim::Other } else { Claim::Done };
                    claim(entry.status())
                }
            },
            Name::Job(job) => {
                let entry = self.by_job.claim(job.0);
                entry.map_or(Claim::New, |entry| Claim::Done(entry.status()))
            }
        }
    }

    /// How many results no line has claimed.
    pub fn unclaimed(&self) -> usize {
        let all = self.by_id.0.iter().chain(&self.by_job.0);
        all.filter(|entry| !entry.is_claimed()).count()
    }

    /// Whether a result of this name is unclaimed.
    pub(super) fn is_unclaimed(&self, name: Name) -> bool {
        match name {
            Name::Id(id, _) => self.by_id.next(id).is_some(),
            Name::Job(job) => self.by_job.next(job.0).is_some(),
        }
    }

    /// As if nothing had been claimed.
    pub fn reset(&mut self) {
        let all = self.by_id.0.iter_mut().chain(&mut self.by_job.0);
        all.for_each(|entry| entry.rest &= !CLAIMED);
    }
}

/// Results in the order of their names; of equal names those that are claimed stand first.
#[derive(Debug, Default)]
struct Table(Vec<Entry>);

impl Table {
    /// Of neighbours that are `same` the last stays.
    fn keep_last(&mut self, same: impl Fn(&Entry, &Entry) -> bool) {
        self.0.dedup_by(|later, earlier| {
            let same = same(later, earlier);
            if same {
                *earlier = *later;
            }
            same
        });
        self.0.shrink_to_fit();
    }

    /// The first of this name that is unclaimed.
    fn next(&self, name: u64) -> Option<usize> {
        let before = |entry: &Entry| (entry.name, !entry.is_claimed()) < (name, true);
        let place = self.0.partition_point(before);
        (self.0.get(place)?.name == name).then_some(place)
    }

    fn claim(&mut self, name: u64) -> Option<Entry> {
        let place = self.next(name)?;
        let entry = &mut self.0[place];
        entry.rest |= CLAIMED;
        Some(*entry)
    }
}

/// A result: the hash that names it; and status, flags and 60 bits that tell more.
#[derive(Debug, Clone, Copy)]
struct Entry {
    name: u64,
    rest: u64,
}

const MARK: u64 = (1 << 60) - 1;
const HAS_MARK: u64 = 1 << 60;
const CLAIMED: u64 = 1 << 61;
const STATUS_AT: u32 = 62;

const STATUSES: [Status; 3] = [Status::Ok, Status::Failed, Status::Invalid];

impl Entry {
    fn new(name: u64, mark: Option<u64>, status: Status) -> Self {
        let place = match status {
            Status::Ok => 0,
            Status::Failed => 1,
            Status::Invalid => 2,
        };
        let mark = mark.map_or(0, |mark| HAS_MARK | (mark & MARK));
        Self {
            name,
            rest: mark | place << STATUS_AT,
        }
    }

    fn status(self) -> Status {
        STATUSES[usize::try_from(self.rest >> STATUS_AT).expect("it is two bits")]
    }

    fn has_mark(self) -> bool {
        self.rest & HAS_MARK != 0
    }

    fn mark(self) -> u64 {
        self.rest & MARK
    }

    fn marks(self, what: u64) -> bool {
        self.mark() == what & MARK
    }

    fn is_claimed(self) -> bool {
        self.rest & CLAIMED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Origin, Place, Target};

    fn job(id: Option<&str>, hash: u64) -> Job {
        let place = Place {
            file: "-".into(),
            line: 1,
        };
        let target = Target {
            written: "http://h/".into(),
            url: "http://h/".parse().unwrap(),
        };
        Job {
            id: id.map(Into::into),
            hash: JobHash(hash),
            ..Job::get(place, target, Origin("http://h".into()))
        }
    }

    fn done(results: &[(Option<&str>, u64, Status, u64)]) -> Done {
        let mut done = Done::default();
        for &(id, job, status, nth) in results {
            let job = JobHash(job);
            let name = id.map_or(Name::Job(job), |id| Name::Id(hash(id), Some(job)));
            done.add(name, status, nth);
        }
        done.put_in_order();
        done
    }

    #[test]
    fn the_last_result_of_a_job_is_its_result() {
        let mut done = done(&[
            (Some("a"), 1, Status::Failed, 0),
            (None, 7, Status::Failed, 3),
            (Some("b"), 2, Status::Ok, 1),
            (None, 7, Status::Ok, 3),
            (Some("a"), 1, Status::Ok, 0),
        ]);
        assert_eq!((done.len(), done.count(Status::Ok)), (3, 3));
        assert_eq!(done.claim(&Ok(job(Some("a"), 1))), Claim::Done(Status::Ok));
        assert_eq!(done.claim(&Ok(job(None, 7))), Claim::Done(Status::Ok));
        assert_eq!(done.claim(&Ok(job(None, 7))), Claim::New);
        assert_eq!(done.unclaimed(), 1);
        done.reset();
        assert_eq!(done.unclaimed(), 3);
    }

    #[test]
    fn equal_jobs_without_ids_have_as_many_results_as_there_are() {
        let each: Vec<_> = (0..100_000).map(|nth| (None, 5, Status::Ok, nth)).collect();
        let mut done = done(&each);
        for _ in 0..100_000 {
            assert_eq!(done.claim(&Ok(job(None, 5))), Claim::Done(Status::Ok));
        }
        assert_eq!(done.claim(&Ok(job(None, 5))), Claim::New);
        // Two that are done stay two, wherever the results say that they stood.
        let twice = [(None, 5, Status::Ok, 0), (None, 5, Status::Ok, 0)];
        assert_eq!(super::tests::done(&twice).len(), 2);
    }

    #[test]
    fn an_id_that_comes_back_with_another_job_is_told() {
        let mut done = done(&[(Some("a"), 1, Status::Ok, 0)]);
        assert_eq!(done.claim(&Ok(job(Some("a"), 2))), Claim::Other(Status::Ok));
        assert_eq!(done.claim(&Ok(job(None, 1))), Claim::New);
    }

    #[test]
    fn a_job_takes_sixteen_bytes() {
        assert_eq!(size_of::<Entry>(), 16);
    }
}
