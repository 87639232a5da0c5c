//! What a rule charges a job for. Floor 3: rules.

use super::rules::Refund;
use crate::job::Job;
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

impl Charge {
    pub(super) fn of(self, job: &Job) -> Option<Cost> {
        match self {
            Self::Slots => Some(job.slots),
            Self::Requests => Some(Cost::ONE),
            Self::Units => Cost::new(job.units?.reserve()),
            Self::Input => Cost::new(job.units?.input),
            Self::Output => Cost::new(job.units?.output),
        }
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
