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
    /// Buckets: the stretch of grants that came closest to what is allowed, or exceeded it most.
    pub stretch: Option<Stretch>,
    /// Windows that begin at fixed moments: the most in one of them.
    pub own: Option<Most>,
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

/// A stretch of grants of a bucket, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// What was granted in it.
    pub granted: Most,
    /// Burst + rate × (its length + slack), rounded down.
    pub allowed: u128,
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
    /// By so much.
    Exceeded(u128),
}

impl Verdict {
    /// Whether there is nothing to complain of.
    pub fn is_kept(self) -> bool {
        match self {
            Self::Kept => true,
            Self::IfClocksAgree | Self::ByAnswers(_) | Self::Exceeded(_) => false,
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
