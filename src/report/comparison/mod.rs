//! Several disciplines side by side: what was seen of each. Floor 4: doors.

mod held;
mod json;
mod lessons;
mod raster;
#[cfg(test)]
pub(super) mod tests;
mod text;
pub(super) mod words;

use std::collections::BTreeMap;
use std::time::Duration;

pub use json::{figures_only, json};
pub use raster::{CELLS, Cell, Raster};
pub use text::text;

use crate::engine::Signal;
use crate::limit::Spec;
use crate::metrics::Timeline;
use crate::model::{Latency, ModelSpec};
use crate::outcome::FailureKind;
use crate::report::text::joined;
use crate::units::{Cost, Rate};

/// The length of the short windows.
pub const SHORT: Duration = Duration::from_millis(100);

/// The length of the long windows.
pub const LONG: Duration = Duration::from_secs(1);

/// Several disciplines side by side.
#[derive(Debug)]
pub struct Comparison {
    /// What all of them use.
    pub numbers: Numbers,
    /// Where the jobs came from.
    pub jobs: Jobs,
    /// What stood at the other end.
    pub world: World,
    /// The latencies of the columns of `held`.
    pub latencies: Vec<Latency>,
    /// What semaphore, rate and both hold still, in virtual time.
    pub held: Vec<Held>,
    /// Every discipline with the same jobs.
    pub rows: Vec<Row>,
    /// Windows around a boundary, in virtual time.
    pub spike: Option<Spike>,
    /// The signal that ended it early.
    pub cut: Option<Signal>,
}

/// The numbers that disciplines use.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// Slots of the semaphores.
    pub slots: Cost,
    /// The rate of the buckets.
    pub rate: Rate,
    /// The capacity of the large bucket.
    pub burst: Cost,
    /// What the windows hold.
    pub window: Rate,
    /// Units per minute.
    pub tpm: Option<Cost>,
    /// The limits of a discipline of the user's own.
    pub own: Vec<Spec>,
    /// Of latencies, faults and jitter.
    pub seed: u64,
}

/// Where the jobs came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jobs {
    /// How many.
    pub count: u64,
    /// What each of them costs of limits on units, where all cost the same.
    pub units: Option<u64>,
    /// The names of the files; none: equal jobs.
    pub inputs: Vec<String>,
    /// Lines of these that make no job.
    pub invalid: u64,
    /// From the first to the last of them; zero: all come at once.
    pub span: Duration,
}

/// What stood at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum World {
    /// The modelled API in virtual time.
    Virtual(ModelSpec),
    /// The modelled API over HTTP, on loopback.
    Mock(ModelSpec),
    /// The jobs' own servers.
    Servers(Vec<String>),
}

/// What one discipline does at several latencies.
#[derive(Debug)]
pub struct Held {
    /// The discipline's key.
    pub key: &'static str,
    /// The discipline.
    pub name: String,
    /// One a latency.
    pub columns: Vec<Still>,
}

/// What one discipline does at one latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Still {
    /// Sends per second.
    pub rate: f64,
    /// Mean tries in flight; `None` if they become ever more, or the jobs do not last so long.
    pub in_flight: Option<f64>,
}

/// One discipline.
#[derive(Debug)]
pub struct Row {
    /// Its word for `--discipline`.
    pub key: &'static str,
    /// As people read it.
    pub name: String,
    /// What was seen of it.
    pub seen: Seen,
}

/// What was seen of a discipline.
#[derive(Debug)]
pub enum Seen {
    /// It was run.
    Run(Box<Figures>),
    /// It was not, and why.
    NotRun(String),
}

/// What was seen of one run. Moments count from its start.
#[derive(Debug)]
pub struct Figures {
    /// Tries that were sent.
    pub sends: u64,
    /// The rate that was reached from the first of them to the last; `None` where there is no time between.
    pub rate: Option<f64>,
    /// The most sends in any window `(t - 100 ms, t]`.
    pub most_in_short: u64,
    /// The most sends in any window `(t - 1 s, t]`.
    pub most_in_long: u64,
    /// Jobs that were never sent: dropped, or above what a limit ever holds.
    pub not_sent: u64,
    /// Jobs that had a whole answer with a status of success.
    pub ok: u64,
    /// Answers with status 429.
    pub refused: u64,
    /// Tries that ended otherwise.
    pub others: Others,
    /// From a job's arrival to its last answer: half of the jobs had it sooner.
    pub p50: Option<Duration>,
    /// The same for 99 of 100.
    pub p99: Option<Duration>,
    /// The most tries that were on their way at once.
    pub peak_in_flight: u64,
    /// The last answer.
    pub finish: Duration,
    /// Who held the jobs longest; empty if nothing was sent.
    pub bound_by: String,
    /// Mean time in flight; `None` without an answer.
    pub mean: Option<Duration>,
    /// What theory is made of and set beside; `None` if nothing ended.
    pub means: Option<Means>,
    /// Sends over the first part, in cells of equal width.
    pub raster: Raster,
    /// Sends, answers and refusals over the whole run.
    pub timeline: Timeline,
}

/// Tries that ended neither well nor with 429.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Others {
    /// By the status of the answer.
    pub statuses: BTreeMap<u16, u64>,
    /// Without a whole answer, by why.
    pub failures: BTreeMap<FailureKind, u64>,
}

impl Others {
    /// All of them.
    pub fn count(&self) -> u64 {
        self.statuses.values().chain(self.failures.values()).sum()
    }
}

impl Figures {
    /// Whether any try was answered, well or not.
    fn is_answered(&self) -> bool {
        self.ok + self.refused > 0 || !self.others.statuses.is_empty()
    }
}

/// Means over the steady part of a run, or over all of it where that is shorter than a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
    /// Tries that ended in it.
    pub ended: u64,
    /// Of them so many a second.
    pub rate: f64,
    /// Their time in flight.
    pub latency: Duration,
}

/// What passes around a boundary of fixed windows.
#[derive(Debug)]
pub struct Spike {
    /// So many jobs come before the boundary, and as many at it.
    pub jobs: u64,
    /// How long before.
    pub before: Duration,
    /// One a discipline.
    pub rows: Vec<Spiked>,
}

/// What one discipline lets through around a boundary.
#[derive(Debug)]
pub struct Spiked {
    /// Its word for `--discipline`.
    pub key: &'static str,
    /// As people read it.
    pub name: String,
    /// The most sends in any window `(t - 100 ms, t]`.
    pub most: u64,
    /// Jobs that were never sent.
    pub not_sent: u64,
}

impl Spiked {
    /// The most as a momentary rate, per second.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub fn rate(&self) -> f64 {
        self.most as f64 / SHORT.as_secs_f64()
    }
}

impl Row {
    /// What was seen; `None` if it was not run.
    pub(in crate::report) fn figures(&self) -> Option<&Figures> {
        match &self.seen {
            Seen::Run(figures) => Some(figures),
            Seen::NotRun(_) => None,
        }
    }
}

impl Comparison {
    /// What was seen of a discipline; `None` if it is not among them or was not run.
    fn of(&self, key: &str) -> Option<&Figures> {
        self.rows.iter().find(|row| row.key == key)?.figures()
    }

    /// That no try of any discipline was answered, and why; `None` if one was, or none was made.
    pub fn unanswered(&self) -> Option<String> {
        let others = self.others();
        let mut seen = self.rows.iter().filter_map(Row::figures);
        let answered = seen.any(Figures::is_answered);
        let made = !others.failures.is_empty();
        (made && !answered).then(|| {
            let why = joined(&others.failures, ", ");
            format!("No try was answered: {why}.")
        })
    }

    /// Tries of all disciplines that ended neither well nor with 429.
    pub(in crate::report) fn others(&self) -> Others {
        let mut all = Others::default();
        for seen in self.rows.iter().filter_map(Row::figures) {
            for (status, count) in &seen.others.statuses {
                *all.statuses.entry(*status).or_default() += count;
            }
            for (kind, count) in &seen.others.failures {
                *all.failures.entry(*kind).or_default() += count;
            }
        }
        all
    }

    /// Whether a limit of any discipline, or of the API, counts units.
    fn counts_units(&self) -> bool {
        let own = self.numbers.own.iter();
        let api = self.api().into_iter().flat_map(|api| &api.limits);
        let tpm = self.rows.iter().any(|row| row.key == "tpm");
        tpm || own.chain(api).any(|limit| limit.counts.is_units())
    }

    /// The modelled API, if it was one.
    fn api(&self) -> Option<&ModelSpec> {
        match &self.world {
            World::Virtual(api) | World::Mock(api) => Some(api),
            World::Servers(_) => None,
        }
    }
}
