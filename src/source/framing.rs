//! How an input is cut into records. Floor 4: doors.

use std::io::{self, Read};

use super::cuts::{Cuts, Cutter};
use super::elements::Elements;
use super::lines::Lines;
use super::record::Record;

/// How the records of a text are told apart.
#[derive(Debug, Clone, Copy)]
pub(super) enum Frame {
    /// Each is a line.
    Lines,
    /// Each is what a new one of these finds.
    Cut(fn() -> Box<dyn Cutter>),
}

impl Frame {
    /// Elements of arrays, and objects outside of one.
    pub(super) const ELEMENTS: Self = Self::Cut(|| Box::new(Elements::new(&[])));

    /// The records of this input.
    pub(super) fn of(self, input: Box<dyn Read + Send>) -> Framing {
        match self {
            Self::Lines => Framing::Lines(Lines::new(input)),
            Self::Cut(cutter) => Framing::Cuts(Cuts::new(input, cutter()).into()),
        }
    }
}

/// The records of one input, in order.
pub(super) enum Framing {
    Lines(Lines),
    Cuts(Box<Cuts>),
}

impl Framing {
    /// Whether the next record is here already, so that nobody has to wait for it.
    pub(super) fn is_next_here(&mut self) -> bool {
        match self {
            Self::Lines(lines) => lines.is_next_here(),
            Self::Cuts(cuts) => cuts.is_next_here(),
        }
    }

    /// The next record, blank lines too; `None` at the end. Waits for a whole record, and for nothing behind it but
    /// what tells that it is one.
    pub(super) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Cuts(cuts) => cuts.next(),
        }
    }
}
