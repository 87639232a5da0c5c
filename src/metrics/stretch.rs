//! A part of a run: sums at its two ends, and the means between them. Floor 3: rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::owner::Owner;
use super::seconds::Seconds;
use crate::limit::Counts;
use crate::outcome::{Spent, UnitsSpent};
use crate::units::{Tick, nanos};

/// Sums since the start of the run; two of them make a stretch.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) at: Tick,
    pub(super) owners: Vec<u64>,
    pub(super) in_flight: u128,
    pub(super) ended: u64,
    /// Of these, answers with status 429.
    pub(super) refused: u64,
    pub(super) flight: u128,
    pub(super) units: UnitsSpent,
    /// Time of a contest that is not decided: it belongs to no owner yet.
    pub(super) contested: Duration,
}

impl Totals {
    pub(super) fn copy(&self) -> Self {
        let mut copy = Self::default();
        copy.set(self);
        copy
    }

    pub(super) fn set(&mut self, other: &Self) {
        self.owners.clone_from(&other.owners);
        (self.at, self.in_flight, self.ended) = (other.at, other.in_flight, other.ended);
        (self.flight, self.units, self.contested) = (other.flight, other.units, other.contested);
        self.refused = other.refused;
    }

    /// So many nanoseconds were this owner's.
    pub(super) fn credit(&mut self, owner: Owner, nanos: u64) {
        let place = owner.place();
        if self.owners.len() <= place {
            self.owners.resize(place + 1, 0);
        }
        self.owners[place] += nanos;
    }

    /// The contest is decided for this owner; says how long it was.
    pub(super) fn decide(&mut self, owner: Owner) -> Duration {
        let span = std::mem::take(&mut self.contested);
        self.credit(owner, nanos(span));
        span
    }
}

/// Which part of the run a stretch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// From the later of the first end of a try, answered or not, and the first moment when nothing more could be
    /// sent, to the last end of one while a job was waiting.
    Steady,
    /// All of it, as the steady part has under 20 ended tries or is under 1 s.
    Whole,
    /// All that results tell, as nothing tells which part was steady, or whose time it was.
    Recorded,
}

/// Mean units of a try, as they were charged in the end.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct MeanUnits {
    /// Input and output together.
    pub total: f64,
    /// Of what was sent.
    pub input: f64,
    /// Of the answers.
    pub output: f64,
}

impl MeanUnits {
    /// Those that a limit counts; one where it counts requests.
    pub fn of(self, counts: Counts) -> f64 {
        match counts {
            Counts::Requests => 1.0,
            Counts::Units => self.total,
            Counts::Input => self.input,
            Counts::Output => self.output,
        }
    }
}

/// Means over a part of the run; over tries, good and bad.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Which part.
    pub part: Part,
    /// Its start.
    pub from: Tick,
    /// Its end.
    pub to: Tick,
    /// What lies between and is no part of it: the time between two runs.
    pub gaps: Duration,
    /// Whose time it was, largest first; adds up to the span. Of runs beside each other the times of all.
    pub shares: Vec<(Owner, Duration)>,
    /// L: mean tries in flight.
    pub in_flight: f64,
    /// Tries ended in it.
    pub ended: u64,
    /// Of these, answers with status 429.
    pub refused: u64,
    /// λ: tries ended per second.
    pub rate: f64,
    /// W: their mean time in flight; `None` if none ended.
    pub mean: Option<Duration>,
    /// Their mean units; zero if nothing counts units.
    pub units: MeanUnits,
    /// Tries ended in each whole second of it; of a longer one in its first 24 days.
    pub per_second: Vec<u32>,
}

impl Stretch {
    /// Its length.
    pub fn span(&self) -> Duration {
        self.to.since(self.from).saturating_sub(self.gaps)
    }

    /// Several that do not overlap, in their order, as one; `None` if there is none.
    pub(super) fn joined(parts: &[Self]) -> Option<Self> {
        let (first, rest) = parts.split_first()?;
        let mut joined = first.clone();
        for part in rest {
            joined.join(part);
        }
        Some(joined)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "means are shown with three digits"
    )]
    fn join(&mut self, next: &Self) {
        let (spans, counts) = (
            (self.span().as_secs_f64(), next.span().as_secs_f64()),
            (self.ended as f64, next.ended as f64),
        );
        let mean = |(own, other): (f64, f64), weights: (f64, f64)| {
            let sum = weights.0 + weights.1;
            per(own * weights.0 + other * weights.1, sum)
        };
        self.in_flight = mean((self.in_flight, next.in_flight), spans);
        self.rate = mean((self.rate, next.rate), spans);
        self.units = MeanUnits {
            total: mean((self.units.total, next.units.total), counts),
            input: mean((self.units.input, next.units.input), counts),
            output: mean((self.units.output, next.units.output), counts),
        };
        let ended = self.ended + next.ended;
        let flight = |part: &Self| {
            part.mean
                .map(|mean| mean.as_nanos() * u128::from(part.ended))
        };
        let flight = flight(self).unwrap_or(0) + flight(next).unwrap_or(0);
        self.mean = flight.checked_div(ended.into()).map(duration);
        self.ended = ended;
        self.refused += next.refused;
        self.gaps += next.gaps + next.from.since(self.to);
        self.to = self.to.max(next.to);
        self.part = self.part.with(next.part);
        self.per_second.extend_from_slice(&next.per_second);
        self.shares = summed(self.shares.iter().chain(&next.shares));
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "means are shown with three digits"
    )]
    pub(super) fn between(part: Part, from: &Totals, to: &Totals, per_second: &Seconds) -> Self {
        let span = to.at.since(from.at);
        let seconds = span.as_secs_f64();
        let ended = to.ended - from.ended;
        let share = |place: usize| to.owners[place] - from.owners.get(place).copied().unwrap_or(0);
        let mut shares: Vec<(Owner, Duration)> = (0..to.owners.len())
            .map(|place| (Owner::at(place), Duration::from_nanos(share(place))))
            .filter(|(_, span)| !span.is_zero())
            .collect();
        largest_first(&mut shares);
        let mean = (to.flight - from.flight).checked_div(u128::from(ended));
        Self {
            part,
            from: from.at,
            to: to.at,
            gaps: Duration::ZERO,
            shares,
            in_flight: per((to.in_flight - from.in_flight) as f64 / 1e9, seconds),
            ended,
            refused: to.refused - from.refused,
            rate: per(ended as f64, seconds),
            mean: mean.map(duration),
            units: {
                let mean = |to: Spent, from: Spent| per((to.used - from.used) as f64, ended as f64);
                MeanUnits {
                    total: mean(to.units.total, from.units.total),
                    input: mean(to.units.input, from.units.input),
                    output: mean(to.units.output, from.units.output),
                }
            },
            per_second: per_second.whole(span.as_secs()),
        }
    }
}

impl Part {
    /// What both together are.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Steady, Self::Steady) => Self::Steady,
            (Self::Recorded, _) | (_, Self::Recorded) => Self::Recorded,
            (Self::Whole, _) | (_, Self::Whole) => Self::Whole,
        }
    }
}

/// The times of each owner added up, largest first.
pub(super) fn summed<'a>(
    shares: impl IntoIterator<Item = &'a (Owner, Duration)>,
) -> Vec<(Owner, Duration)> {
    let mut sums: BTreeMap<Owner, Duration> = BTreeMap::new();
    for (owner, span) in shares {
        *sums.entry(*owner).or_default() += *span;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    largest_first(&mut sums);
    sums
}

fn largest_first(shares: &mut [(Owner, Duration)]) {
    shares.sort_by_key(|&(owner, span)| (Reverse(span), owner));
}

/// Zero of nothing.
pub(super) fn per(sum: f64, count: f64) -> f64 {
    if count > 0.0 { sum / count } else { 0.0 }
}

pub(super) fn duration(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
