//! What a rule charges a job for. Floor 3: rules.

use crate::job::Job;
use crate::limit::Counts;
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
