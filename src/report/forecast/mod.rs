//! What is told about a run before it is made: how long it takes, what binds when, what can never go. Floor 4: doors.

mod json;
mod phases;
mod price;
mod text;

pub use json::json;
pub use price::Price;
pub use text::text;

use std::time::Duration;

use crate::job::{BadLine, Origin, Place};
use crate::limit::NeverFits;
use crate::metrics::diagnose::Diagnosis;
use crate::metrics::{Owner, Setup, Summary};

/// A plan: the figures of a run in virtual time.
#[derive(Debug)]
pub struct Forecast {
    /// The figures.
    pub summary: Summary,
    /// The limits in force.
    pub setup: Setup,
    /// Whose wait it is.
    pub diagnosis: Diagnosis,
    /// What answers.
    pub api: Api,
    /// The longest that a try may take.
    pub timeout: Duration,
    /// The names of the inputs, in order.
    pub inputs: Vec<String>,
    /// The seed of latencies, faults and rests: the same one gives the same plan.
    pub seed: u64,
    /// Jobs that cost more than a limit ever holds.
    pub never_fit: Listed<Unfit>,
    /// Lines that make no job.
    pub invalid: Listed<BadLine>,
    /// First sends by origin, most first.
    pub origins: Vec<(Origin, u64)>,
    /// Those of origins that are not among them.
    pub other_origins: u64,
    /// How much longer than their period windows are kept in the end, if that is measured.
    pub guard: Option<Duration>,
    /// What units cost.
    pub price: Option<Price>,
    /// How long it takes with other bounds; `None` if there is nothing to change or to send.
    pub what_if: Option<WhatIf>,
}

/// The API that a plan is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// How it answers, in words.
    pub answers: String,
    /// Whether the user said so.
    pub said: Said,
    /// Half of its answers take no longer.
    pub median: Duration,
}

/// Where the latency of a plan comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// An option.
    ByOption,
    /// Nothing says it.
    ByNobody,
}

/// The first few of many, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// The first few.
    pub first: Vec<T>,
    /// All of them.
    pub count: u64,
}

/// So many are kept one by one.
const FEW: usize = 20;

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            count: 0,
        }
    }
}

impl<T> Extend<T> for Listed<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, more: I) {
        for one in more {
            self.count += 1;
            if self.first.len() < FEW {
                self.first.push(one);
            }
        }
    }
}

/// A job that costs more than a limit ever holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Where it was read.
    pub place: Place,
    /// Its own name.
    pub id: Option<Box<str>>,
    /// The bound that never holds it.
    pub owner: Owner,
    /// By how much.
    pub why: NeverFits,
}

/// How long the same jobs take with other bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatIf {
    /// A row for each bound that is set, in the order of the command line.
    pub rows: Vec<Row>,
    /// All bounds as they are, from the same jobs as the rows.
    pub as_is: Cell,
    /// What the rows are made of.
    pub sample: Sample,
    /// What other numbers of slots would do; `None` where no other limit sets a ceiling.
    pub least: Option<Slots>,
}

/// One bound, changed; all others as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// As the option that sets it.
    pub name: String,
    /// With half of it; `None` if that is nothing.
    pub halved: Option<Cell>,
    /// With twice of it.
    pub doubled: Option<Cell>,
    /// Without it.
    pub none: Option<Cell>,
}

/// What comes of the jobs under some bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// How long all of them take.
    pub takes: Duration,
    /// Jobs that were looked at.
    pub done: u64,
    /// Those of them that fail.
    pub failed: u64,
}

/// Which of the jobs a table is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// All of them.
    All,
    /// So many, drawn by the seed, for all.
    Drawn(u64),
}

/// What takes so many per cent longer counts as no longer.
pub const NO_LONGER: u32 = 1;

/// What the numbers of slots that were tried say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// So few would do.
    Least(Least),
    /// Most jobs fail with each of them.
    MostFail {
        /// With which the fewest do.
        slots: u64,
        /// What comes of the jobs with them.
        cell: Cell,
        /// How many were tried.
        tried: u64,
    },
}

/// What fewer slots, or more, do that those of the plan do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gain {
    /// As many do as well.
    Nothing,
    /// All jobs are done sooner.
    Time,
    /// More jobs succeed, however long it takes.
    Jobs,
}

/// The fewest slots, of all that were tried, that take no longer than the fastest with which no more jobs fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Least {
    /// So many.
    pub slots: u64,
    /// What comes of the jobs with them.
    pub cell: Cell,
    /// And with one less; `None` if that is none.
    pub one_less: Option<Cell>,
    /// What is gained by them.
    pub gain: Gain,
    /// The time of the fastest.
    pub best: Duration,
    /// How many numbers of slots were tried.
    pub tried: u64,
}
