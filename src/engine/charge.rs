//! What a rule charges a job for. Floor 3: rules.

use super::rules::Refund;
use crate::job::{Job, Units};
use crate::limit::Counts;
use crate::metrics::Pace;
use crate::outcome::{Spent, UnitsSpent};
use crate::units::Cost;

/// What a rule charges a job for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    Slots,
    Requests,
    Units,
    Input,
    Output,
}

/// What a job costs, for each that a rule charges for: all rules are asked at each decision, and to choose again for each
/// of them takes longer than to look it up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs([Option<Cost>; 5]);

impl Costs {
    pub(super) fn of(job: &Job) -> Self {
        let units = |count: fn(Units) -> u64| Cost::new(job.units.map_or(0, count));
        Self([
            Some(job.slots),
            Some(Cost::ONE),
            units(Units::reserve),
            units(|units| units.input),
            units(|units| units.output),
        ])
    }

    /// `None`: the job has nothing to do with the rule.
    pub(super) fn of_charge(&self, charge: Charge) -> Option<Cost> {
        self.0[charge as usize]
    }
}

impl Charge {
    pub(super) fn of(self, job: &Job) -> Option<Cost> {
        Costs::of(job).of_charge(self)
    }

    /// Of what a try has spent; `None` where that is no matter of units.
    pub(super) fn spent(self, spent: UnitsSpent) -> Option<Spent> {
        match self {
            Self::Slots | Self::Requests => None,
            Self::Units => Some(spent.total),
            Self::Input => Some(spent.input),
            Self::Output => Some(spent.output),
        }
    }

    /// What so many tries cost in all, in the end, if each costs the mean of `pace`; `None` for slots, which
    /// come back.
    pub(super) fn so_many(self, sends: u64, pace: &Pace, refund: Refund) -> Option<u128> {
        let spent = match self {
            Self::Slots => return None,
            Self::Requests => return Some(sends.into()),
            Self::Units => pace.units.total,
            Self::Input => pace.units.input,
            Self::Output => pace.units.output,
        };
        let paid = match refund {
            Refund::Unused => spent.used,
            Refund::Never => spent.used.max(spent.reserved),
        };
        let all = u128::from(sends) * u128::from(paid);
        Some(all.div_ceil(u128::from(pace.ended).max(1)))
    }

    /// The most that a job can cost; `None` where that is not bounded.
    pub(super) fn most(self) -> Option<Cost> {
        match self {
            Self::Requests => Some(Cost::ONE),
            Self::Slots | Self::Units | Self::Input | Self::Output => None,
        }
    }

    /// Every job pays it, and most of them the same.
    pub(super) fn is_for_all(self) -> bool {
        match self {
            Self::Slots | Self::Requests => true,
            Self::Units | Self::Input | Self::Output => false,
        }
    }
}

impl From<Counts> for Charge {
    fn from(counts: Counts) -> Self {
        match counts {
            Counts::Requests => Self::Requests,
            Counts::Units => Self::Units,
            Counts::Input => Self::Input,
            Counts::Output => Self::Output,
        }
    }
}
