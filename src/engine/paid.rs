//! What a try is charged in the end. Floor 3: rules.

use http::StatusCode;

use super::rules::Refund;
use crate::job::Job;
use crate::limit::Used;
use crate::outcome::{Failure, Reached, Reply, Spent, UnitsSpent, Usage};

/// How a try ended, for those who were paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paid {
    /// Nothing was sent: everything goes back.
    NotSent,
    /// Sent, and no whole answer: requests and units stay charged.
    Unanswered,
    /// Refused by the server (429, 5xx): the request stays charged, the units go back.
    Refused,
    /// Answered; so many units were used, or the reserve if the answer does not say.
    Answered(Option<Usage>),
}

impl Paid {
    /// What the limits keep of a try that ended so.
    pub(super) fn of(end: &Result<Reply, Failure>) -> Self {
        match end {
            Ok(reply)
                if reply.head.status == StatusCode::TOO_MANY_REQUESTS
                    || reply.head.status.is_server_error() =>
            {
                Self::Refused
            }
            Ok(reply) => Self::Answered(reply.used),
            Err(failure) => match failure.reached {
                Reached::NotSent => Self::NotSent,
                Reached::Sent | Reached::Answered => Self::Unanswered,
            },
        }
    }

    /// The units of a try of `job` that ended so; `None` where no limit counts units.
    pub(super) fn spent(self, job: &Job) -> Option<UnitsSpent> {
        let units = job.units?;
        let spent = |reserved: u64, known: Option<u64>| {
            let used = match self {
                Self::NotSent | Self::Refused => 0,
                Self::Answered(_) => known.unwrap_or(reserved),
                Self::Unanswered => reserved,
            };
            Spent { reserved, used }
        };
        let usage = match self {
            Self::Answered(usage) => usage,
            Self::NotSent | Self::Unanswered | Self::Refused => None,
        };
        Some(UnitsSpent {
            total: spent(units.reserve(), usage.map(|usage| usage.total)),
            input: spent(units.input, usage.and_then(|usage| usage.input)),
            output: spent(units.output, usage.and_then(|usage| usage.output)),
        })
    }

    /// What a limit is charged of units that were spent so.
    pub(super) fn charge(self, spent: Spent, refund: Refund) -> Used {
        match (self, refund) {
            (Self::NotSent, _) => Used::NeverSent,
            (Self::Unanswered | Self::Refused | Self::Answered(_), Refund::Unused) => {
                Used::Known(spent.used)
            }
            (Self::Unanswered | Self::Refused | Self::Answered(_), Refund::Never) => {
                Used::Known(spent.used.max(spent.reserved))
            }
        }
    }
}
