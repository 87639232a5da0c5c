//! The figures of runs that are over, from what their results and they themselves tell. Floor 3: rules.

use std::time::Duration;

use super::learnt::Learning;
use super::stretch::summed;
use super::{Evidence, LateBy, Measure, Part, Stretch, Summary, Tally, Unseen};
use crate::outcome::{UnitsSpent, Waits};
use crate::proof::{Proven, most_at_once};
use crate::units::Tick;

/// A run whose results are there.
#[derive(Debug)]
pub struct Run {
    /// Its first grant.
    pub from: Tick,
    /// Its end, as far as something tells it.
    pub to: Tick,
    /// What its results do not tell; `None` if it was killed, has not ended, or nothing is left of it.
    pub told: Option<Told>,
}

/// What a run tells beside its results.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The part of it that the theory is set beside.
    pub stretch: Stretch,
    /// The most tries that were in flight at once.
    pub peak_in_flight: u64,
    /// What its results cannot tell at all.
    pub unseen: Unseen,
    /// Tries after the first of a job.
    pub retries: u64,
    /// What its jobs waited for, summed, also those that were never sent.
    pub waits: Waits,
    /// What all its tries reserved and used.
    pub units: UnitsSpent,
    /// The origin, and the keys, that filled the look-ahead.
    pub full_of: Option<String>,
    /// What made its jobs late.
    pub late_by: LateBy,
    /// What was learnt of the limits of the servers.
    pub learning: Learning,
    /// What the answers have told of limits.
    pub evidence: Evidence,
}

/// What is found in results, to make a summary of.
#[derive(Debug)]
pub struct Found {
    /// What adds up.
    pub tally: Tally,
    /// The spans of [`Runs::spans`].
    pub measure: Measure,
    /// The most tries that were in flight at once by what the results tell.
    pub peak_in_flight: u64,
    /// What is proved.
    pub proof: Proven,
    /// Lines that were read and have no result; `None` if nothing tells.
    pub cancelled: Option<u64>,
}

/// All runs of some results.
#[derive(Debug, Default)]
pub struct Runs(pub Vec<Run>);

impl Runs {
    /// What the means are taken over: the parts that runs tell of, else all of them.
    pub fn spans(&self) -> Vec<(Tick, Tick)> {
        let parts: Vec<_> = self.parts().map(|part| (part.from, part.to)).collect();
        if parts.is_empty() {
            self.whole().collect()
        } else {
            parts
        }
    }

    /// Whether only the results can tell how many tries were in flight at once.
    pub fn flights_are_needed(&self) -> bool {
        overlap(self.whole()) || self.told().count() < self.0.len()
    }

    /// How many do not tell of themselves.
    pub fn untold(&self) -> usize {
        self.0.len() - self.told().count()
    }

    /// The most of them that went on at once.
    pub fn at_once(&self) -> u64 {
        let mut spans: Vec<_> = self.whole().collect();
        u64::try_from(most_at_once(&mut spans).sum).unwrap_or(u64::MAX)
    }

    fn told(&self) -> impl Iterator<Item = &Told> {
        self.0.iter().filter_map(|run| run.told.as_ref())
    }

    fn parts(&self) -> impl Iterator<Item = &Stretch> {
        self.told().map(|told| &told.stretch)
    }

    fn whole(&self) -> impl Iterator<Item = (Tick, Tick)> {
        self.0.iter().map(|run| (run.from, run.to))
    }

    /// Time in which at least one of them ran.
    fn elapsed(&self) -> Duration {
        let mut spans: Vec<_> = self.whole().collect();
        spans.sort_unstable();
        let (mut sum, mut until) = (Duration::ZERO, Tick::ZERO);
        for (from, to) in spans {
            sum += to.since(from.max(until));
            until = until.max(to);
        }
        sum
    }

    /// The part that the theory is set beside. Parts that do not overlap are as they were told; of others the
    /// tries are measured again.
    fn stretch(&self, measure: Measure) -> Stretch {
        let mut parts: Vec<Stretch> = self.parts().cloned().collect();
        parts.sort_by_key(|part| part.from);
        let apart = !overlap(parts.iter().map(|part| (part.from, part.to)));
        match Stretch::joined(&parts) {
            Some(joined) if apart => joined,
            Some(joined) => measure.close(joined.part, summed(&joined.shares)),
            None => measure.close(Part::Recorded, Vec::new()),
        }
    }

    /// All figures.
    pub fn summary(&self, found: Found) -> Summary {
        let mut tally = found.tally;
        tally.counts.cancelled = found.cancelled.unwrap_or_default();
        tally.counts.read = tally.counts.done() + tally.counts.cancelled;
        let peak = self.told().map(|told| told.peak_in_flight).max();
        let unseen = self.add_told(&mut tally);
        Summary {
            tally,
            unseen,
            begun: self.whole().map(|(from, _)| from).min().unwrap_or_default(),
            elapsed: self.elapsed(),
            stretch: self.stretch(found.measure),
            peak_in_flight: found.peak_in_flight.max(peak.unwrap_or_default()),
            full_of: self.told().find_map(|told| told.full_of.clone()),
            late_by: self.late_by(),
            learning: self
                .told()
                .fold(Learning::default(), |sum, told| sum.and(&told.learning)),
            evidence: self.evidence(),
            proof: found.proof,
            unrecorded: Vec::new(),
        }
    }

    /// `None` if one of them does not tell.
    fn late_by(&self) -> Option<LateBy> {
        let mut all = LateBy::default();
        for run in &self.0 {
            for (owner, count) in &run.told.as_ref()?.late_by {
                *all.entry(*owner).or_default() += count;
            }
        }
        Some(all)
    }

    fn evidence(&self) -> Evidence {
        let mut all = Evidence::default();
        for told in self.told() {
            all.add(&told.evidence);
        }
        all
    }

    /// Where every run tells of itself, its own sums stand in place of those of its results: they know of jobs that
    /// were never sent, and tell input and output apart.
    fn add_told(&self, tally: &mut Tally) -> Option<Unseen> {
        let runs: Option<Vec<&Told>> = self.0.iter().map(|run| run.told.as_ref()).collect();
        let (runs, mut unseen) = (runs?, Unseen::default());
        (tally.retries, tally.waits, tally.units) = Default::default();
        for told in runs {
            tally.retries += told.retries;
            tally.units.add(told.units);
            for (wait, span) in told.waits.iter() {
                tally.waits.add(wait, span);
            }
            unseen.add(told.unseen);
        }
        tally.tries += unseen.cut_off;
        Some(unseen)
    }
}

/// Whether two of these share more than an end.
fn overlap(spans: impl Iterator<Item = (Tick, Tick)>) -> bool {
    let mut spans: Vec<_> = spans.collect();
    spans.sort_unstable();
    spans.windows(2).any(|pair| pair[1].0 < pair[0].1)
}
