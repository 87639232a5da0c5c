//! `--resume`: which lines have their result already. Floor 4: doors.

use super::{Input, Pick, Source, Spec, open};
use crate::error::{Exit, Problem};
use crate::job::{BadLine, Job};
use crate::outcome::Status;
use crate::results::{Claim, Done};

/// The results that are there, and what is made of them.
#[derive(Debug)]
pub struct Resume {
    /// What is done.
    pub done: Done,
    /// Name of the file of results, for messages.
    pub results: String,
    /// What becomes of jobs that failed.
    pub failed: Failed,
    /// What becomes of results that belong to another input.
    pub foreign: Foreign,
}

/// What becomes of jobs that failed in an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// They keep their result.
    Keep,
    /// They are run again: the later result counts.
    Again,
}

/// What becomes of results that belong to another input: an id with another job, or no job at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// They are a problem.
    Refuse,
    /// An id counts whatever its job is; results without a job stay where they are.
    Take,
}

/// What is made of a line.
pub(super) enum Found {
    /// It is to be run.
    New,
    /// It has failed and is to be run again.
    Again,
    /// It keeps this result.
    Done(Status),
}

impl Resume {
    /// What is made of the line at this position of the input.
    pub(super) fn find(&mut self, line: &Result<Job, BadLine>, seq: u64) -> Result<Found, Problem> {
        match (self.done.claim(line, seq), self.failed, self.foreign) {
            (Claim::New, ..) => Ok(Found::New),
            (Claim::Done(Status::Failed), Failed::Again, _)
            | (Claim::Other(Status::Failed), Failed::Again, Foreign::Take) => Ok(Found::Again),
            (Claim::Done(status), ..) | (Claim::Other(status), _, Foreign::Take) => {
                Ok(Found::Done(status))
            }
            (Claim::Other(_), _, Foreign::Refuse) => Err(other(line, &self.results)),
        }
    }

    /// What is told at the end of the input, if results are left that no line has claimed.
    pub(super) fn left(&mut self, source: &Source) -> Option<String> {
        let results = &self.results;
        let lines = if source.spec.pick.is_some() {
            "line that is taken"
        } else {
            "line of the input"
        };
        match self.done.unclaimed() {
            0 => None,
            _ if source.is_cut() => None,
            1 => Some(format!(
                "1 result in {results} matches no {lines}; it stays there"
            )),
            left => Some(format!(
                "{left} results in {results} match no {lines}; they stay there"
            )),
        }
    }
}

fn other(line: &Result<Job, BadLine>, results: &str) -> Problem {
    let (place, id) = match line {
        Ok(job) => (&job.place, job.id.as_deref()),
        Err(bad) => (&bad.place, bad.id.as_deref()),
    };
    let what = format!(
        "the result of id {:?} in {results} is one of another job",
        id.unwrap_or_default()
    );
    Problem::usage(what, MEND).at(place.to_string())
}

const MEND: &str = "this is another input, or its URLs (--base-url, --rewrite), methods or bodies have changed: name another file with -o; --force-resume takes the results as they are";

/// Reads the input once, if it can be read again, and claims the results that it has: `None` if it cannot.
/// Otherwise how many no line has claimed, taken or not: an earlier run may have taken others.
///
/// # Errors
/// A usage problem if an id has a result of another job, unless that is taken; or if the input cannot be read.
pub fn unclaimed(spec: &Spec, resume: &mut Resume) -> Result<Option<usize>, Problem> {
    let again = |input: &Input| match input {
        Input::File(path) => path.is_file(),
        Input::Spooled(_) => true,
        Input::Stdin => false,
    };
    if !spec.inputs.iter().all(again) {
        return Ok(None);
    }
    let whole = Spec {
        limit_jobs: None,
        ..spec.clone()
    };
    // Nothing was sent yet.
    let unread = |problem| Problem {
        exit: Exit::Usage,
        ..problem
    };
    for (line, seq) in open(&whole)?.zip(0..) {
        let line = line.map_err(unread)?;
        match (resume.done.look_up(&line, seq), resume.foreign) {
            (Claim::Other(_), Foreign::Refuse) => return Err(other(&line, &resume.results)),
            (Claim::Other(_), Foreign::Take) | (Claim::New | Claim::Done(_), _) => {}
        }
    }
    match resume.done.unclaimed() {
        left @ 1.. if spec.pick.is_some() && resume.foreign == Foreign::Refuse => {
            let all = Spec {
                pick: Pick::default(),
                ..whole
            };
            let mut done = resume.done.afresh();
            for (line, seq) in open(&all)?.zip(0..) {
                done.claim(&line.map_err(unread)?, seq);
            }
            let foreign = done.unclaimed();
            if foreign > 0 {
                resume.done = done;
            }
            Ok(Some(foreign.min(left)))
        }
        left => Ok(Some(left)),
    }
}

/// The problem of results that no line has claimed.
pub fn unmatched(count: usize, first: Option<u64>, resume: &Resume, inputs: &[Input]) -> Problem {
    let names: Vec<String> = inputs.iter().take(3).map(Input::name).collect();
    let names = names.join(", ");
    let what = match count {
        1 => format!("this result matches no line of {names}"),
        _ => format!("{count} results match no line of {names}, the first is this one"),
    };
    let place = first.map_or(resume.results.clone(), |line| {
        format!("{}:{line}", resume.results)
    });
    Problem::usage(what, MEND).at(place)
}
