//! A send, as a proof sees it. Floor 3: rules.

use crate::job::Keys;
use crate::limit::Counts;
use crate::outcome::{Spent, Try, UnitsSpent};
use crate::units::Tick;

/// A moment of a send, and where it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// The moment.
    pub at: Tick,
    /// What its reader calls it: the number of a line and that of its file; zero while a run goes.
    pub source: u64,
}

/// Bits of [`Mark::source`] that are the line; those above are the file. The moments of a file are those of one clock.
pub const LINE_BITS: u32 = 40;

impl Mark {
    /// Whose clock has told the moment.
    pub(super) fn clock(self) -> u64 {
        self.source >> LINE_BITS
    }
}

/// One request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When slots and limits were granted.
    pub granted: Tick,
    /// When it was sent.
    pub sent: Tick,
    /// When the head of its answer came, or its end without one: a server has counted it by then.
    pub answered: Tick,
    /// Its units; `None` where no limit counts them.
    pub units: Option<Box<UnitsSpent>>,
    /// The values of the keys of the limits, in the order of the run; empty if none is kept by a key.
    pub keys: Keys,
    /// Where it was told.
    pub source: u64,
}

/// What a try cost of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    /// What is promised: the reserve, or less if less was used. Usage above the reserve is known only
    /// when it is too late to wait for it.
    pub(super) promised: u64,
    /// What was used in the end.
    pub(super) used: u64,
}

impl Event {
    /// The requests of a try that has ended, in order; one that was never sent costs nothing. The units are those of
    /// the first.
    pub fn all_of(ended: &Try, keys: &Keys) -> impl Iterator<Item = Self> {
        let first = ended.sent.map(|sent| Self {
            granted: ended.granted,
            sent,
            answered: ended.first_byte.unwrap_or(ended.done),
            units: ended.units.map(Box::new),
            keys: keys.clone(),
            source: 0,
        });
        let hops = ended.hops.iter().filter_map(|hop| {
            Some(Self {
                granted: hop.granted?,
                sent: hop.sent?,
                answered: hop.first_byte.unwrap_or(ended.done),
                units: None,
                keys: hop.keys.clone(),
                source: 0,
            })
        });
        first.into_iter().chain(hops)
    }

    pub(super) fn weight(&self, counts: Counts) -> Weight {
        let spent = |part: fn(&UnitsSpent) -> Spent| {
            let Spent { reserved, used } = self.units.as_deref().map(part).unwrap_or_default();
            Weight {
                promised: reserved.min(used),
                used,
            }
        };
        match counts {
            Counts::Requests => Weight {
                promised: 1,
                used: 1,
            },
            Counts::Units => spent(|units| units.total),
            Counts::Input => spent(|units| units.input),
            Counts::Output => spent(|units| units.output),
        }
    }

    pub(super) fn granted_mark(&self) -> Mark {
        Mark {
            at: self.granted,
            source: self.source,
        }
    }

    pub(super) fn sent_mark(&self) -> Mark {
        Mark {
            at: self.sent,
            source: self.source,
        }
    }
}
