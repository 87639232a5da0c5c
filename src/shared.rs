//! What a store was seen to hold: who shares limits, and what is left of each. Floor 3: rules.

use std::time::Duration;

use crate::limit::Known;

/// Use is told in spans of so long.
pub const SPAN: Duration = Duration::from_secs(5);

/// Limits that are shared under one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The runs that are there.
    pub members: Vec<Member>,
    /// The limits, in the order of the command line, slots last.
    pub limits: Vec<Shared>,
}

/// A run that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Host and process.
    pub place: String,
    /// When it began, since the Unix epoch.
    pub since: Duration,
    /// How long ago it was heard.
    pub heard: Duration,
    /// Asks in its last call.
    pub asks: u64,
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// As it was written.
    pub text: String,
    /// The most that it ever holds.
    pub most: u64,
    /// What fits now, and how many runs wait for it; `None` if it has a state for each value of a key, or is learnt.
    pub now: Option<(u64, u64)>,
    /// What was taken less what was given back, in each five seconds of the last minute, oldest first.
    pub used: Vec<i64>,
    /// The same of the values of its key that were used last, the ones with the least first.
    pub values: Vec<Value>,
    /// What was learnt of it last, of each lane, if it is not given.
    pub learnt: Option<Vec<Lane>>,
}

impl Shared {
    /// Whether anything is known of it.
    pub fn tells(&self) -> bool {
        let lanes = self.learnt.as_ref();
        lanes.is_none_or(|lanes| !lanes.is_empty() || self.used.iter().any(|used| *used != 0))
    }
}

/// An origin, with a value of each key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Tells it from others: what it is made of, the store does not know.
    pub name: String,
    /// What is known of its server's limit.
    pub known: Known,
}

/// A value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Tells it from others: what it is, the store does not know.
    pub name: String,
    /// What fits now.
    pub fits: u64,
    /// How many runs wait for it.
    pub waiting: u64,
}
