//! A plan: the run itself in virtual time, against a modelled API, with what is told of it. Floor 5: drive.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::modelled::{Draws, Modelled};
use super::simulated::{Seen, Simulation};
use super::what_if::{Drawn, Sampler};
use crate::engine::{End, Engine, Grant, Keeps, Proves, Rules};
use crate::job::{BadLine, Job, NoJob, Origin};
use crate::limit::{Guard, Spec};
use crate::metrics::Summary;
use crate::model::{ModelSpec, Observed};
use crate::outcome::{FailureKind, Outcome};
use crate::report::forecast::{Listed, Unfit};
use crate::units::Tick;

/// What a plan is made of.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The rules of the run.
    pub rules: Rules,
    /// What answers.
    pub api: ModelSpec,
    /// Its latencies, if they were measured.
    pub observed: Option<Observed>,
    /// Of latencies, faults and the sample.
    pub seed: u64,
    /// The most jobs of that.
    pub sample: usize,
}

impl Terms {
    /// The API as it is at the start.
    pub(super) fn modelled(&self) -> Modelled {
        let observed = self.observed.clone();
        Modelled::new(
            &self.api,
            observed,
            self.rules.setting,
            self.seed,
            Draws::Jobs,
        )
        .telling(self.rules.adaptive)
    }
}

/// What a run in virtual time came to.
#[derive(Debug)]
pub struct Planned {
    /// The figures.
    pub summary: Summary,
    /// Jobs that cost more than a limit ever holds.
    pub never_fit: Listed<Unfit>,
    /// Lines that make no job.
    pub invalid: Listed<BadLine>,
    /// First sends by origin, most first; the moment of the first decides between equals.
    pub origins: Vec<(Origin, u64)>,
    /// Those of origins that are not among them.
    pub other_origins: u64,
    /// How much longer than their period windows are kept in the end, if that is measured.
    pub guard: Option<Duration>,
    /// Jobs for what-if.
    pub drawn: Drawn,
}

/// Origins that are counted one by one.
const ORIGINS: usize = 1000;

/// Runs all of `lines`, which are there from the start. `watch` is shown each step.
pub fn plan(
    terms: &Terms,
    lines: impl Iterator<Item = Result<Job, BadLine>>,
    mut watch: impl FnMut(Tick, &Engine),
) -> Planned {
    let mut notes = Notes::new(terms);
    let mut api = terms.modelled();
    let lines = lines.map(|line| (Tick::ZERO, line));
    let mut see = |seen: Seen<'_>| match seen {
        Seen::Prepared(..) => {}
        Seen::Sent(_, job, grant) => notes.sent(job, grant),
        Seen::Done(_, outcome) => notes.done(outcome),
    };
    let rules = Rules {
        proves: Proves::Minute,
        keeps: Keeps::Ends,
        ..terms.rules.clone()
    };
    let mut run = Simulation::new(rules, lines, &mut api, &mut see);
    while run.step() {
        watch(run.now(), run.engine());
    }
    let guard = guard(&terms.rules, run.engine().guard());
    let (summary, end) = run.close();
    debug_assert!(
        matches!(end, End::Finished | End::TimeUp),
        "nothing else ends a run in virtual time: {end:?}"
    );
    let (origins, other_origins) = notes.origins.close();
    Planned {
        summary,
        never_fit: notes.never_fit,
        invalid: notes.invalid,
        origins,
        other_origins,
        guard,
        drawn: notes.sampler.close(),
    }
}

/// What the first window that measures its guard keeps of it; the one that it begins with, before there is a
/// measure.
fn guard(rules: &Rules, measured: Option<Duration>) -> Option<Duration> {
    let measures =
        |limit: &&Spec| rules.setting.guard == Guard::Measured && limit.heeds_guard_of_run();
    let window = rules.limits.iter().find(measures)?;
    let begins = rules.setting.guard(window);
    Some(measured.unwrap_or(begins).min(window.rate.period / 100))
}

/// What is noted while a run goes.
struct Notes<'a> {
    rules: &'a Rules,
    never_fit: Listed<Unfit>,
    invalid: Listed<BadLine>,
    origins: Origins,
    sampler: Sampler,
}

impl<'a> Notes<'a> {
    fn new(terms: &'a Terms) -> Self {
        Self {
            rules: &terms.rules,
            never_fit: Listed::default(),
            invalid: Listed::default(),
            origins: Origins::default(),
            sampler: Sampler::new(terms.seed, terms.sample),
        }
    }

    fn sent(&mut self, job: &Job, grant: &Grant) {
        if grant.attempt == 1 {
            self.origins.count(&job.origin);
        }
    }

    fn done(&mut self, outcome: &Outcome) {
        match &outcome.line {
            Ok(job) => {
                self.sampler.offer(outcome.seq, job);
                if let Some((FailureKind::Limit, _)) = &outcome.error {
                    let unfit = unfit(job, self.rules);
                    self.never_fit.extend(unfit);
                }
            }
            Err(bad) if bad.why == NoJob::Invalid => self.invalid.extend([bad.clone()]),
            Err(_) => {}
        }
    }
}

/// Which bound can never hold this job, and by how much.
fn unfit(job: &Job, rules: &Rules) -> Option<Unfit> {
    let (owner, why) = rules.refuses(job)?;
    Some(Unfit {
        place: job.place.clone(),
        id: job.id.clone(),
        owner,
        why,
    })
}

/// First sends by origin.
#[derive(Debug, Default)]
struct Origins {
    /// With the order in which they were met.
    counts: HashMap<Origin, usize>,
    sends: Vec<(Origin, u64)>,
    others: u64,
    /// Where the last one stands: in most inputs the next one has the same.
    last: Option<(Origin, usize)>,
}

impl Origins {
    fn count(&mut self, origin: &Origin) {
        if let Some((last, place)) = &self.last
            && Arc::ptr_eq(&last.0, &origin.0)
        {
            self.sends[*place].1 += 1;
            return;
        }
        let place = match self.counts.get(origin) {
            Some(place) => *place,
            None if self.sends.len() < ORIGINS => {
                self.counts.insert(origin.clone(), self.sends.len());
                self.sends.push((origin.clone(), 0));
                self.sends.len() - 1
            }
            None => {
                self.others += 1;
                return;
            }
        };
        self.sends[place].1 += 1;
        self.last = Some((origin.clone(), place));
    }

    fn close(mut self) -> (Vec<(Origin, u64)>, u64) {
        self.sends
            .sort_by_key(|(_, sends)| std::cmp::Reverse(*sends));
        (self.sends, self.others)
    }
}
