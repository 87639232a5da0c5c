//! What is told about a run when it is over. Floor 4: doors.

pub mod against;
#[cfg(test)]
mod agree;
mod bars;
pub mod checked;
pub mod comparison;
pub mod csv;
mod fold;
pub mod forecast;
mod grid;
pub mod hdr;
pub mod html;
pub mod json;
mod late;
mod lateness;
pub mod learnt;
pub mod limits;
#[cfg(test)]
mod names;
mod page;
mod proof;
mod said;
#[cfg(test)]
mod samples;
pub mod shared;
mod sources;
mod table;
pub mod text;
mod throughput;
pub mod verified;
#[cfg(test)]
mod widths;

pub use bars::Glyphs;
pub use fold::{folded, hung, tied, untied};
pub use page::{Look, Paint};
pub use sources::{Source, Sources};

use std::time::Duration;

use crate::engine::{End, Refund};
use crate::metrics::condition::{Condition, Judged, Known};
use crate::metrics::diagnose::Diagnosis;
use crate::metrics::littles::Theory;
use crate::metrics::{Setup, Summary};

/// Everything that a report can tell.
#[derive(Debug)]
pub struct Report {
    /// The figures.
    pub summary: Summary,
    /// The limits in force.
    pub setup: Setup,
    /// What theory says beside them.
    pub theory: Theory,
    /// Whose wait it was.
    pub diagnosis: Diagnosis,
    /// The conditions under which it counts as failed, in the order of the command line.
    pub conditions: Vec<Judged>,
    /// What the figures do not hold.
    pub facts: Facts,
    /// The results that it was read from; `None` of a run that has just ended.
    pub sources: Option<Sources>,
}

/// The circumstances of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// When the run began, or the first of several, since the Unix epoch; `None` if nothing tells.
    pub started: Option<Duration>,
    /// The names of the inputs, in order.
    pub inputs: Vec<String>,
    /// The seed of the jitter: the same one gives the same rests. Here and below: `None` if nothing tells.
    pub seed: Option<u64>,
    /// What carried the requests.
    pub transport: Option<String>,
    /// What became of units that were not used.
    pub refund: Refund,
    /// Whether the run is over, and why.
    pub end: Standing,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is over.
    Over(End),
    /// Its results are still being written.
    Running,
    /// It was killed.
    CutOff,
    /// Nothing tells.
    Untold,
}

impl Report {
    /// The report on a run that is closed.
    pub fn new(summary: Summary, setup: Setup, facts: Facts) -> Self {
        let theory = Theory::of(&setup, &summary);
        let diagnosis = Diagnosis::of(&summary, &setup, &theory);
        Self {
            summary,
            setup,
            theory,
            diagnosis,
            conditions: Vec::new(),
            facts,
            sources: None,
        }
    }

    /// The same, judged by the conditions under which it counts as failed.
    #[must_use]
    pub fn judged(self, fail_if: &[Condition]) -> Self {
        let known = Known {
            summary: &self.summary,
            theory: &self.theory,
            lines: self.is_over().then_some(&self.summary.tally.counts),
        };
        let conditions = fail_if.iter().map(|condition| condition.judge(known));
        let conditions = conditions.collect();
        Self { conditions, ..self }
    }

    /// Output tokens of streams a second, over the whole run; `None` if it took no time, or there were none.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    fn output_per_second(&self) -> Option<f64> {
        let output = self.summary.tally.streams.as_ref()?.output;
        let seconds = self.summary.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| output as f64 / seconds)
    }

    /// The same, read from these results.
    #[must_use]
    pub fn from(self, sources: Sources) -> Self {
        Self {
            sources: Some(sources),
            ..self
        }
    }

    /// Whether all that was read is known: the run is over and has told it.
    fn is_over(&self) -> bool {
        match self.facts.end {
            Standing::Over(_) => true,
            Standing::Running | Standing::CutOff | Standing::Untold => false,
        }
    }
}
