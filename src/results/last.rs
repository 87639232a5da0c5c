//! Which lines of a file of results have a later one of the same job. Floor 4: doors.

use std::collections::HashMap;

use super::done::Name;
use crate::job::{History, JobHash};
use crate::outcome::Status;

/// Lines by the names of their jobs, as [`super::Done`] tells them apart: 16 bytes for each that has an id,
/// 32 for each other one that failed.
#[derive(Debug, Default)]
pub(super) struct Lasts {
    /// Hash of the id, and line.
    by_id: Vec<(u64, u64)>,
    /// Those without an id that failed and that nothing has replaced: position in the input, and line.
    failed: HashMap<JobHash, Vec<(u64, u64)>>,
    replaced: Vec<u64>,
}

impl Lasts {
    /// Another line, after those before it.
    pub(super) fn add(
        &mut self,
        name: Name,
        status: Status,
        seq: u64,
        line: u64,
        history: History,
    ) {
        let job = match name {
            Name::Id(id, _) => return self.by_id.push((id, line)),
            Name::Job(job) => job,
        };
        if history == History::Failed
            && let Some(alike) = self.failed.get_mut(&job)
        {
            let own = alike.iter().position(|(at, _)| *at == seq).unwrap_or(0);
            self.replaced.push(alike.swap_remove(own).1);
            if alike.is_empty() {
                self.failed.remove(&job);
            }
        }
        match status {
            Status::Failed => self.failed.entry(job).or_default().push((seq, line)),
            Status::Ok | Status::Invalid | Status::Skipped => {}
        }
    }

    /// The lines that are not the last of their job, in order.
    pub(super) fn replaced(self) -> Vec<u64> {
        let Self {
            mut by_id,
            mut replaced,
            ..
        } = self;
        by_id.sort_unstable();
        let earlier = by_id.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        replaced.extend(earlier.map(|pair| pair[0].1));
        replaced.sort_unstable();
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Status = Status::Ok;
    const FAILED: Status = Status::Failed;
    const NEW: History = History::New;
    const AGAIN: History = History::Failed;

    fn replaced(lines: &[(Name, Status, u64, History)]) -> Vec<u64> {
        let mut lasts = Lasts::default();
        for (line, &(name, status, seq, history)) in (1..).zip(lines) {
            lasts.add(name, status, seq, line, history);
        }
        lasts.replaced()
    }

    #[test]
    fn the_last_line_of_an_id_counts_whatever_became_of_it() {
        let (a, b) = (Name::Id(1, None), Name::Id(2, None));
        let lines = [
            (a, FAILED, 0, NEW),
            (b, OK, 1, NEW),
            (a, FAILED, 0, AGAIN),
            (a, OK, 0, AGAIN),
            (b, OK, 1, NEW),
        ];
        assert_eq!(replaced(&lines), [1, 2, 3]);
    }

    #[test]
    fn of_equal_jobs_without_ids_one_that_failed_is_replaced_by_one_that_was_run_again() {
        let job = Name::Job(JobHash(7));
        let lines = [
            (job, FAILED, 0, NEW),
            (job, OK, 1, NEW),
            (job, FAILED, 2, NEW),
            (job, OK, 2, AGAIN),
            (job, OK, 9, AGAIN),
            (job, OK, 9, AGAIN),
        ];
        assert_eq!(replaced(&lines), [1, 3]);
    }

    #[test]
    fn lines_that_make_no_job_stay() {
        let job = Name::Job(JobHash(7));
        assert_eq!(replaced(&[(job, Status::Invalid, 0, NEW); 3]), [0; 0]);
    }
}
