//! Which jobs have their result already: found by id, else by content. Floor 4: doors.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use twox_hash::XxHash3_64;

use super::row::Row;
use crate::job::{BadLine, History, Job, JobHash};
use crate::outcome::Status;

/// The results of earlier runs, without what is in them: 16 bytes a job, and half as much again while they
/// are put in order.
///
/// Valid jobs are named by their id if they have one, else by their content; lines that make no job by
/// theirs. Names are told apart by 64 bits. Equal jobs without ids stand for each other; where the input has
/// one at the position that a result tells, that is the one.
#[derive(Debug, Default)]
pub struct Done {
    by_id: Table,
    by_job: Table,
    /// Names of lines at whose position no result stands.
    moved: Vec<u64>,
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

    /// Of a result, with what it says.
    pub(super) fn of_row(row: &Row) -> Result<(Self, Status), String> {
        let word = row.status.as_deref().ok_or("missing field `status`")?;
        let status = Status::of(word).ok_or_else(|| format!("unknown status {word:?}"))?;
        let job = row.hash()?;
        let name = match (&row.id, status) {
            // In each round of an input its jobs come again, as others.
            (Some(id), Status::Ok | Status::Failed) => {
                Self::Id(hash(id).wrapping_add(row.round.into()), job)
            }
            (_, Status::Ok | Status::Failed | Status::Invalid | Status::Skipped) => {
                Self::Job(job.ok_or("it names no job: no `id`, no `job`")?)
            }
        };
        Ok((name, status))
    }
}

pub(super) fn hash(id: &str) -> u64 {
    XxHash3_64::oneshot(id.as_bytes())
}

impl Done {
    /// Another result, after those before it in the file. `seq` is the position in the input that it tells.
    pub(super) fn add(&mut self, name: Name, status: Status, seq: u64, history: History) {
        match name {
            Name::Id(id, job) => {
                let entry = Entry::new(id, job.map(|job| job.0), status);
                self.by_id.entries.push(entry);
            }
            Name::Job(job) => {
                let mut entry = Entry::new(job.0, Some(seq), status);
                entry.set(AGAIN, history == History::Failed);
                self.by_job.entries.push(entry);
            }
        }
    }

    /// All are added: the last result of a job is the one that counts.
    pub(super) fn put_in_order(&mut self) {
        self.by_id.keep_the_last();
        self.by_job.replace_the_failed();
    }

    /// How many jobs have a result.
    pub fn len(&self) -> usize {
        self.by_id.entries.len() + self.by_job.entries.len()
    }

    /// No job has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many have this status.
    pub fn count(&self, status: Status) -> usize {
        let has = |entry: &&Entry| entry.status() == status;
        self.all().filter(has).count()
    }

    /// What is known of the line at this position of the input. A result belongs to one line: the next equal
    /// one gets another.
    pub fn claim(&mut self, line: &Result<Job, BadLine>, seq: u64) -> Claim {
        match Name::of(line) {
            Name::Id(id, job) => self.by_id.claim(id).map_or(Claim::New, |entry| {
                let other = entry.is(HAS_MARK) && job.is_some_and(|job| !entry.marks(job.0));
                let claim = if other { Claim::Other } else { Claim::Done };
                claim(entry.status())
            }),
            Name::Job(job) => {
                let exact = self.by_job.claim_at(job.0, seq);
                let entry = exact.or_else(|| self.by_job.claim(job.0));
                entry.map_or(Claim::New, |entry| Claim::Done(entry.status()))
            }
        }
    }

    /// The same for an input that is read once before: only what stands at its old position is given, and
    /// kept for it. Others are counted by [`Done::unclaimed`].
    pub fn look_up(&mut self, line: &Result<Job, BadLine>, seq: u64) -> Claim {
        match Name::of(line) {
            Name::Id(..) => self.claim(line, seq),
            Name::Job(job) => {
                let exact = self.by_job.claim_at(job.0, seq);
                exact.map_or_else(
                    || {
                        self.moved.push(job.0);
                        Claim::New
                    },
                    |entry| Claim::Done(entry.status()),
                )
            }
        }
    }

    /// How many results of jobs no line has claimed: those of lines that made no job may have been mended.
    pub fn unclaimed(&mut self) -> usize {
        for entry in &mut self.by_job.entries {
            entry.set(KEPT, entry.is(CLAIMED));
        }
        for name in std::mem::take(&mut self.moved) {
            self.by_job.claim(name);
        }
        self.all().filter(|entry| entry.is_left()).count()
    }

    /// Whether a result of this name is unclaimed.
    pub(super) fn has_left(&mut self, name: Name) -> bool {
        let (table, name) = match name {
            Name::Id(id, _) => (&mut self.by_id, id),
            Name::Job(job) => (&mut self.by_job, job.0),
        };
        let place = table.next(name);
        place.is_some_and(|place| table.entries[place].is_left())
    }

    /// As if nothing had been claimed; what was found at its old position is kept for that.
    pub fn reset(&mut self) {
        for table in [&mut self.by_id, &mut self.by_job] {
            table
                .entries
                .iter_mut()
                .for_each(|entry| entry.set(CLAIMED, false));
            table.passed.clear();
        }
    }

    /// The same results, none of them claimed or kept.
    #[must_use]
    pub fn afresh(&self) -> Self {
        let table = |table: &Table| {
            let mut entries = table.entries.clone();
            for entry in &mut entries {
                entry.set(CLAIMED, false);
                entry.set(KEPT, false);
            }
            Table {
                entries,
                passed: HashMap::new(),
            }
        };
        Self {
            by_id: table(&self.by_id),
            by_job: table(&self.by_job),
            moved: Vec::new(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        self.by_id.entries.iter().chain(&self.by_job.entries)
    }
}

/// Results in the order of their names, and of their marks.
#[derive(Debug, Default)]
struct Table {
    entries: Vec<Entry>,
    /// Of names with many results: before this place none is to be had.
    passed: HashMap<u64, usize>,
}

/// So many results of one name are looked at before the place is noted.
const FEW: usize = 16;

impl Table {
    /// The last of each name.
    fn keep_the_last(&mut self) {
        self.entries.sort_by_key(|entry| entry.name);
        self.entries.dedup_by(|later, earlier| {
            let same = later.name == earlier.name;
            if same {
                *earlier = *later;
            }
            same
        });
        self.entries.shrink_to_fit();
    }

    /// One that was run again takes the place of one that failed: that of its position, if there is one.
    fn replace_the_failed(&mut self) {
        self.entries.sort_by_key(|entry| entry.name);
        let (mut from, mut kept) = (0, 0);
        while from < self.entries.len() {
            let name = self.entries[from].name;
            let alike = self.entries[from..].iter();
            let to = from + alike.take_while(|entry| entry.name == name).count();
            kept += self.settle(from..to, kept);
            from = to;
        }
        self.entries.truncate(kept);
        self.entries
            .sort_unstable_by_key(|entry| (entry.name, entry.mark()));
        self.entries.shrink_to_fit();
    }

    /// Moves what counts of the results of one name to another place. Returns how many.
    fn settle(&mut self, of: Range<usize>, to: usize) -> usize {
        if !self.entries[of.clone()].iter().any(|entry| entry.is(AGAIN)) {
            let count = of.len();
            self.entries.copy_within(of, to);
            return count;
        }
        let mut count = 0;
        let mut failed: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for from in of {
            let mut entry = self.entries[from];
            let earlier = entry
                .is(AGAIN)
                .then(|| taken(&mut failed, entry.mark()))
                .flatten();
            let place = earlier.unwrap_or(to + count);
            count += usize::from(earlier.is_none());
            entry.set(AGAIN, false);
            self.entries[place] = entry;
            if entry.status() == Status::Failed {
                failed.entry(entry.mark()).or_default().push(place);
            }
        }
        count
    }

    /// The first of this name that may be had.
    fn next(&mut self, name: u64) -> Option<usize> {
        let first = self.entries.partition_point(|entry| entry.name < name);
        let from = self.passed.get(&name).copied().unwrap_or(first);
        let alike = self.entries[from..].iter();
        let mut alike = alike.take_while(|entry| entry.name == name);
        let taken = alike.by_ref().take_while(|entry| entry.is_taken()).count();
        if taken > FEW {
            self.passed.insert(name, from + taken);
        }
        let place = from + taken;
        let entry = self.entries.get(place)?;
        (entry.name == name).then_some(place)
    }

    fn claim(&mut self, name: u64) -> Option<Entry> {
        let place = self.next(name)?;
        self.entries[place].set(CLAIMED, true);
        Some(self.entries[place])
    }

    /// One of this name and mark.
    fn claim_at(&mut self, name: u64, mark: u64) -> Option<Entry> {
        let key = (name, mark & MARK);
        let of = |entry: &Entry| (entry.name, entry.mark());
        let first = self.entries.partition_point(|entry| of(entry) < key);
        let mut alike = self.entries[first..].iter_mut();
        let entry = alike
            .by_ref()
            .take_while(|entry| of(entry) == key)
            .find(|entry| !entry.is(CLAIMED))?;
        entry.set(CLAIMED, true);
        Some(*entry)
    }
}

/// One of those that failed: with this mark, else the first.
fn taken(failed: &mut BTreeMap<u64, Vec<usize>>, mark: u64) -> Option<usize> {
    let mark = if failed.contains_key(&mark) {
        mark
    } else {
        *failed.first_key_value()?.0
    };
    let places = failed.get_mut(&mark)?;
    let place = places.pop();
    if places.is_empty() {
        failed.remove(&mark);
    }
    place
}

/// A result: the hash that names it; and status, flags and 58 bits that tell more.
#[derive(Debug, Clone, Copy)]
struct Entry {
    name: u64,
    rest: u64,
}

const MARK: u64 = (1 << 58) - 1;
const HAS_MARK: u64 = 1 << 58;
/// It takes the place of one that failed.
const AGAIN: u64 = 1 << 59;
/// It belongs to the line at its position.
const KEPT: u64 = 1 << 60;
const CLAIMED: u64 = 1 << 61;
const STATUS_AT: u32 = 62;

const STATUSES: [Status; 4] = [Status::Ok, Status::Failed, Status::Invalid, Status::Skipped];

impl Entry {
    fn new(name: u64, mark: Option<u64>, status: Status) -> Self {
        let place = match status {
            Status::Ok => 0,
            Status::Failed => 1,
            Status::Invalid => 2,
            Status::Skipped => 3,
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

    fn mark(self) -> u64 {
        self.rest & MARK
    }

    fn marks(self, what: u64) -> bool {
        self.mark() == what & MARK
    }

    fn is(self, flag: u64) -> bool {
        self.rest & flag != 0
    }

    fn set(&mut self, flag: u64, to: bool) {
        self.rest = if to {
            self.rest | flag
        } else {
            self.rest & !flag
        };
    }

    fn is_taken(self) -> bool {
        self.is(CLAIMED) || self.is(KEPT)
    }

    /// A job's that no line has claimed.
    fn is_left(self) -> bool {
        !self.is_taken() && matches!(self.status(), Status::Ok | Status::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Origin, Place, Target};

    fn job(id: Option<&str>, hash: u64) -> Job {
        let target: Target = "http://h/".parse().unwrap();
        Job {
            id: id.map(Into::into),
            hash: JobHash(hash),
            ..Job::get(Place::new("-", 1), target, Origin("http://h".into()))
        }
    }

    const NEW: History = History::New;
    const AGAIN: History = History::Failed;

    fn done(results: &[(Option<&str>, u64, Status, u64, History)]) -> Done {
        let mut done = Done::default();
        for &(id, job, status, seq, history) in results {
            let job = JobHash(job);
            let name = id.map_or(Name::Job(job), |id| Name::Id(hash(id), Some(job)));
            done.add(name, status, seq, history);
        }
        done.put_in_order();
        done
    }

    /// What the lines of an input that can be read twice are told, without ids.
    fn told(done: &mut Done, lines: &[u64]) -> Vec<Claim> {
        let lines: Vec<_> = lines.iter().map(|&hash| Ok(job(None, hash))).collect();
        for (line, seq) in lines.iter().zip(0..) {
            done.look_up(line, seq);
        }
        done.unclaimed();
        done.reset();
        let each = lines.iter().zip(0..);
        each.map(|(line, seq)| done.claim(line, seq)).collect()
    }

    const OK: Claim = Claim::Done(Status::Ok);
    const FAILED: Claim = Claim::Done(Status::Failed);

    #[test]
    fn the_last_result_of_a_job_is_its_result() {
        let mut done = done(&[
            (Some("a"), 1, Status::Failed, 0, NEW),
            (None, 7, Status::Failed, 3, NEW),
            (Some("b"), 2, Status::Ok, 1, NEW),
            (None, 7, Status::Ok, 3, AGAIN),
            (Some("a"), 1, Status::Ok, 0, AGAIN),
        ]);
        assert_eq!((done.len(), done.count(Status::Ok)), (3, 3));
        assert_eq!(done.claim(&Ok(job(Some("a"), 1)), 9), OK);
        assert_eq!(done.claim(&Ok(job(None, 7)), 8), OK);
        assert_eq!(done.claim(&Ok(job(None, 7)), 7), Claim::New);
        assert_eq!(done.unclaimed(), 1);
    }

    #[test]
    fn a_job_that_was_run_again_at_another_position_has_one_result() {
        let mut done = done(&[
            (None, 7, Status::Failed, 3, NEW),
            (None, 7, Status::Ok, 4, NEW),
            (None, 7, Status::Failed, 5, AGAIN),
            (None, 7, Status::Ok, 6, AGAIN),
        ]);
        assert_eq!((done.len(), done.count(Status::Failed)), (2, 0));
        assert_eq!(told(&mut done, &[7, 7]), [OK, OK]);
    }

    #[test]
    fn one_of_equal_jobs_has_the_result_of_its_position() {
        // The others were in flight when the run was killed.
        let mut killed = done(&[(None, 5, Status::Failed, 3, NEW)]);
        let found = told(&mut killed, &[5, 5, 5, 5]);
        assert_eq!(found, [Claim::New, Claim::New, Claim::New, FAILED]);
        // What stands elsewhere now takes what nobody has.
        let results = [
            (None, 5, Status::Ok, 1, NEW),
            (None, 6, Status::Ok, 0, NEW),
            (None, 5, Status::Failed, 9, NEW),
        ];
        let found = told(&mut done(&results), &[5, 5, 6]);
        assert_eq!(found, [FAILED, OK, OK]);
    }

    #[test]
    fn equal_jobs_without_ids_have_as_many_results_as_there_are() {
        for moved in [0, 1_000_000] {
            let each = (0..100_000).map(|seq| (None, 5, Status::Ok, seq + moved, NEW));
            let mut done = done(&each.collect::<Vec<_>>());
            let found = told(&mut done, &vec![5; 100_001]);
            let done = found.iter().filter(|claim| **claim == OK);
            assert_eq!((done.count(), found[100_000]), (100_000, Claim::New));
        }
        // Two that are done stay two, wherever the results say that they stood.
        let twice = [(None, 5, Status::Ok, 0, NEW), (None, 5, Status::Ok, 0, NEW)];
        assert_eq!(done(&twice).len(), 2);
    }

    #[test]
    fn an_id_that_comes_back_with_another_job_is_told() {
        let mut done = done(&[(Some("a"), 1, Status::Ok, 0, NEW)]);
        assert_eq!(
            done.claim(&Ok(job(Some("a"), 2)), 0),
            Claim::Other(Status::Ok)
        );
        assert_eq!(done.claim(&Ok(job(None, 1)), 0), Claim::New);
    }

    #[test]
    fn a_job_takes_sixteen_bytes() {
        assert_eq!(size_of::<Entry>(), 16);
    }
}
