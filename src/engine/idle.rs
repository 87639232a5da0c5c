//! Keys that are not closed and have no jobs just now. Floor 3: rules.

use crate::job::{Keys, Origin};

/// So many are known by name: to know all would take memory for each key that there has ever been.
const FEW: usize = 8;

/// Keys of the run that a server has not closed and that have no lane.
#[derive(Debug)]
pub(super) enum Idle {
    /// These.
    Few(Vec<(Origin, Keys)>),
    /// More than are known by name were idle at once. One of them is taken to be so still.
    Many,
}

impl Default for Idle {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Idle {
    /// A key has no lane any more.
    pub(super) fn goes(&mut self, origin: Origin, keys: Keys) {
        match self {
            Self::Few(few) if few.len() < FEW => few.push((origin, keys)),
            Self::Few(_) => *self = Self::Many,
            Self::Many => {}
        }
    }

    /// A key has one again, or for the first time.
    pub(super) fn comes(&mut self, origin: &Origin, keys: &Keys) {
        if let Self::Few(few) = self {
            few.retain(|(own, of)| own != origin || of != keys);
        }
    }

    /// Whether there is one.
    pub(super) fn are_some(&self) -> bool {
        match self {
            Self::Few(few) => !few.is_empty(),
            Self::Many => true,
        }
    }
}
