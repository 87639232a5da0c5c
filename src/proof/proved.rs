//! What a proof found. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use super::Mark;
use crate::limit::Spec;

/// What was found of all limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proven {
    /// One a limit, in the order of the run.
    pub limits: Vec<Proved>,
    /// The minute with the most units; `None` where no limit counts them.
    pub minute: Option<Minute>,
    /// Tries that were granted and had not ended: they may have been sent.
    pub unseen: u64,
}

/// What was found of one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// The limit.
    pub limit: Spec,
    /// The span that `most` and `promised` are told for.
    pub span: Duration,
    /// At most so much in any `span`. Of buckets that holds for grants: sends may be pressed together.
    pub promised: u64,
    /// The most that was sent in any `span`; with [`Leaves::Reply`](crate::limit::Leaves::Reply) the most
    /// that a server can have counted in one of its own, whatever the network did.
    pub most: Most,
    /// The most that was really used in any `span`; the same for requests.
    pub used: u128,
    /// The grants that decide it; `None` where sends do.
    pub granted: Option<Grants>,
    /// Whether it was kept.
    pub verdict: Verdict,
}

/// The worst window of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Most {
    /// Requests or units.
    pub sum: u128,
    /// How many sends that were.
    pub sends: u64,
    /// The first of them.
    pub first: Mark,
    /// The last of them.
    pub last: Mark,
    /// Whose, if the limit is kept for each value of a key.
    pub key: Option<Arc<str>>,
}

/// The grants that came closest to what is allowed, or exceeded it most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    /// Of a bucket: a stretch, both ends included, and what is allowed in it: burst + rate × (its length +
    /// slack), rounded down.
    Stretch(Most, u128),
    /// Of windows that begin at fixed moments: one of them.
    Own(Most),
    /// Of windows that begin where nothing tells it: any of this length.
    Around(Most, Duration),
}

/// Whether a limit was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// In every window.
    Kept,
    /// In every window if the clocks of all hosts agree; as far apart as they may be, it is not proved.
    IfClocksAgree,
    /// By what was reserved it was kept; answers used so much more than they had reserved.
    ByAnswers(u128),
    /// By so much, and there was a send that costs more than the limit ever holds: it was let through.
    ByOversized(u128),
    /// By so much.
    Exceeded(u128),
}

impl Verdict {
    /// Whether there is nothing to complain of.
    pub fn is_kept(self) -> bool {
        match self {
            Self::Kept => true,
            Self::IfClocksAgree | Self::ByAnswers(_) | Self::ByOversized(_) | Self::Exceeded(_) => {
                false
            }
        }
    }
}

/// The worst 60 s of units, over sends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Minute {
    /// By what was reserved, or used if that was less.
    pub promised: Most,
    /// By what was used.
    pub used: Most,
}
