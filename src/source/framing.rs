//! How an input is cut into records. Floor 4: doors.

use std::io::{self, Read};

use super::cuts::{Cuts, Cutter};
use super::elements::Elements;
use super::gor::Records;
use super::lines::Lines;
use super::record::Record;
use super::rows::Rows;
use super::targets::Targets;

/// How the records of a text are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// Each is a line.
    Lines,
    /// Each is an element of the array that these names lead to; see [`Elements::new`].
    Elements(&'static [&'static str]),
    /// Each is a row of a table, whose cells stand between these.
    Rows(u8),
    /// Each is a target of vegeta.
    Targets,
    /// Each is a request that `GoReplay` has recorded.
    Requests,
}

impl Frame {
    /// The records of this input.
    pub(super) fn of(self, input: Box<dyn Read + Send>) -> Framing {
        match self {
            Self::Lines => Framing::Lines(Lines::new(input)),
            Self::Elements(path) => Framing::cuts(input, Elements::new(path)),
            Self::Rows(delimiter) => Framing::cuts(input, Rows::new(delimiter)),
            Self::Targets => Framing::cuts(input, Targets::default()),
            Self::Requests => Framing::cuts(input, Records::default()),
        }
    }
}

/// The records of one input, in order.
pub(super) enum Framing {
    Lines(Lines),
    Cuts(Box<Cuts>),
}

impl Framing {
    fn cuts(input: Box<dyn Read + Send>, cutter: impl Cutter + 'static) -> Self {
        Self::Cuts(Cuts::new(input, Box::new(cutter)).into())
    }

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
