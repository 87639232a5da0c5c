//! Whether a run file can be that of the results beside it. Floor 4: doors.

use std::time::Duration;

use super::Manifest;
use crate::units::{Tick, counted, show_moment};

/// A line tells whole microseconds, and so does the start that the run file counts from.
const ROUNDED: u64 = 2_000;

/// What a file of results tells.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines {
    /// Its lines.
    pub results: u64,
    /// Those that no later line of the same job is known to replace.
    pub jobs: u64,
    /// Tries that were sent, with those that only the run file tells of.
    pub sends: u64,
    /// First grant and last end, since the Unix epoch.
    pub span: Option<(Tick, Tick)>,
}

/// Why results and a run file do not go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// Lines of the run are missing.
    Cut(String),
    /// It is that of another run.
    Other(String),
}

impl Manifest {
    /// Whether these can be the results of its runs. Of a run that is not over nothing can be said; where it has
    /// gone on with results of which nothing tells, or with those of earlier runs, only what is missing, and what
    /// was done after its end.
    pub fn fits(&self, lines: &Lines) -> Result<(), Misfit> {
        let Some(ended) = &self.ended else {
            return Ok(());
        };
        let (done, from_new) = (ended.done(), self.earlier.is_empty());
        let alone = from_new && ended.count("done_before") == 0;
        let (begun, over) = self.span().unzip();
        let moment = |at: Tick| show_moment(Duration::from_nanos(at.0));
        if let Some((from, to)) = lines.span {
            let started = self.started();
            if alone && from < started {
                let (own, its) = (moment(from), moment(started));
                return Err(Misfit::Other(format!(
                    "tries at {own}, before it began, at {its}"
                )));
            }
            if let Some(over) = over.filter(|over| to > *over) {
                let (own, its) = (moment(to), moment(over));
                return Err(Misfit::Other(format!(
                    "tries until {own}, after it was over, at {its}"
                )));
            }
        }
        if alone && lines.results > done {
            let results = counted(lines.results, "result");
            return Err(Misfit::Other(format!("{results}, it has written {done}")));
        }
        if alone && lines.sends > ended.sends {
            let (sends, its) = (counted(lines.sends, "send"), ended.sends);
            return Err(Misfit::Other(format!("{sends}, it has counted {its}")));
        }
        if lines.jobs < done {
            let jobs = counted(lines.jobs, "result");
            return Err(Misfit::Cut(format!(
                "has {jobs}, the run has written {done}"
            )));
        }
        // Only those of jobs that were cancelled after a failed try stand in no line, and nobody counts those of
        // earlier runs.
        if lines.sends < ended.sends && ended.count("cancelled") == 0 && from_new {
            let (sends, its) = (counted(lines.sends, "send"), ended.sends);
            return Err(Misfit::Cut(format!(
                "tells {sends}, the run has counted {its}"
            )));
        }
        // Every job has its line, so the first try has one.
        let all = alone && ended.count("cancelled") == 0;
        if let Some((from, begun)) = lines.span.map(|(from, _)| from).zip(begun)
            && all
            && from.0.abs_diff(begun.0) > ROUNDED
        {
            let (own, its) = (moment(from), moment(begun));
            return Err(Misfit::Other(format!(
                "its first try at {own}, it has granted its own at {its}"
            )));
        }
        Ok(())
    }

    fn started(&self) -> Tick {
        Tick(self.started_us.saturating_mul(1_000))
    }

    /// Its first grant, and when it was over.
    fn span(&self) -> Option<(Tick, Tick)> {
        let figures = self.ended.as_ref()?.figures.as_ref()?;
        Some(figures.span(self.started()))
    }
}
