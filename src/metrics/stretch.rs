//! A part of a run: sums at its two ends, and the means between them. Floor 3: rules.

use std::time::Duration;

use super::SECONDS;
use super::owner::Owner;
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
    }

    /// Time that was this owner's.
    pub(super) fn credit(&mut self, owner: Owner, span: Duration) {
        let place = owner.place();
        if self.owners.len() <= place {
            self.owners.resize(place + 1, 0);
        }
        self.owners[place] += nanos(span);
    }

    /// The contest is decided for this owner; says how long it was.
    pub(super) fn decide(&mut self, owner: Owner) -> Duration {
        let span = std::mem::take(&mut self.contested);
        self.credit(owner, span);
        span
    }
}

/// Which part of the run a stretch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// From the later of the first reply and the first moment when nothing more could be sent, to the
    /// last end of a try while a job was waiting.
    Steady,
    /// All of it, as the steady part has under 20 replies or is under 1 s.
    Whole,
}

/// Mean units of a try, as they were charged in the end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
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
    /// Whose time it was, largest first; adds up to the span.
    pub shares: Vec<(Owner, Duration)>,
    /// L: mean tries in flight.
    pub in_flight: f64,
    /// Tries ended in it.
    pub ended: u64,
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
        self.to.since(self.from)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "means are shown with three digits"
    )]
    pub(super) fn between(part: Part, from: &Totals, to: &Totals, per_second: &[u32]) -> Self {
        let span = to.at.since(from.at);
        let seconds = span.as_secs_f64();
        let ended = to.ended - from.ended;
        let share = |place: usize| to.owners[place] - from.owners.get(place).copied().unwrap_or(0);
        let mut shares: Vec<(Owner, Duration)> = (0..to.owners.len())
            .map(|place| (Owner::at(place), Duration::from_nanos(share(place))))
            .filter(|(_, span)| !span.is_zero())
            .collect();
        shares.sort_by_key(|&(owner, span)| (std::cmp::Reverse(span), owner));
        let whole_seconds = usize::try_from(span.as_secs()).unwrap_or(usize::MAX);
        let whole_seconds = whole_seconds.min(SECONDS);
        let mut per_second: Vec<u32> = per_second.iter().copied().take(whole_seconds).collect();
        per_second.resize(whole_seconds, 0);
        let per = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        let mean = (to.flight - from.flight).checked_div(u128::from(ended));
        Self {
            part,
            from: from.at,
            to: to.at,
            shares,
            in_flight: per((to.in_flight - from.in_flight) as f64 / 1e9, seconds),
            ended,
            rate: per(ended as f64, seconds),
            mean: mean.map(|mean| Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))),
            units: {
                let mean = |to: Spent, from: Spent| per((to.used - from.used) as f64, ended as f64);
                MeanUnits {
                    total: mean(to.units.total, from.units.total),
                    input: mean(to.units.input, from.units.input),
                    output: mean(to.units.output, from.units.output),
                }
            },
            per_second,
        }
    }
}
