//! An answer from its first byte to its last: bytes in, events out. Floor 4: doors.

use http::{Method, StatusCode};

use super::body::{Framing, Progress};
use super::head::{self, Then};
use crate::fields::Fields;

/// Reads one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    method: Method,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// So much of the beginning is known to hold no whole head.
    Head {
        searched: usize,
    },
    Body(Framing, Then),
}

/// What bytes were found to be.
#[derive(Debug)]
pub(super) enum Found {
    /// A part of what is next; more has to come.
    Part,
    /// The head, without those of 1xx before it, and the length of the body if it is announced. RFC 9110 §15.2.
    Head(StatusCode, Fields, Option<u64>),
    /// The end.
    End(Then),
}

impl Decoder {
    /// Of the answer to a request with this method.
    pub(super) fn new(method: Method) -> Self {
        Self {
            method,
            stage: Stage::Head { searched: 0 },
        }
    }

    /// Takes bytes off the front of `bytes`, adds those of the body to `body`, and says how many it took; the others
    /// are to come again, with more behind them.
    ///
    /// The error says what is wrong, for people.
    pub(super) fn decode(
        &mut self,
        bytes: &[u8],
        body: &mut Vec<u8>,
    ) -> Result<(usize, Found), &'static str> {
        let searched = match &mut self.stage {
            Stage::Head { searched } => searched,
            Stage::Body(framing, then) => {
                let (taken, progress) = framing.decode(bytes, body)?;
                let found = match progress {
                    Progress::More => Found::Part,
                    Progress::Whole => Found::End(*then),
                };
                return Ok((taken, found));
            }
        };
        let mut taken = 0;
        loop {
            let rest = &bytes[taken..];
            if *searched > 0 && !may_end(rest, *searched) && rest.len() < head::LONGEST_HEAD {
                *searched = rest.len();
                return Ok((taken, Found::Part));
            }
            let Some((head, length)) = head::parse(rest, &self.method)? else {
                *searched = rest.len();
                return Ok((taken, Found::Part));
            };
            taken += length;
            *searched = 0;
            if head.status.is_informational() && head.status != StatusCode::SWITCHING_PROTOCOLS {
                continue;
            }
            let announced = match head.framing {
                Framing::Empty => Some(0),
                Framing::Length(length) => Some(length),
                Framing::Chunked(_) | Framing::Close => None,
            };
            self.stage = Stage::Body(head.framing, head.then);
            return Ok((taken, Found::Head(head.status, head.fields, announced)));
        }
    }

    /// The connection has ended. Fails if the answer has not.
    pub(super) fn close(&self) -> Result<(), &'static str> {
        match &self.stage {
            Stage::Body(Framing::Close, _) => Ok(()),
            Stage::Body(..) => Err("the connection was closed"),
            Stage::Head { searched: 0 } => Err("the connection was closed before an answer"),
            Stage::Head { .. } => Err("the connection was closed within the head of an answer"),
        }
    }
}

/// Whether a head may end in the bytes behind the first `searched`: a head that comes in many pieces is not read
/// anew for each.
fn may_end(bytes: &[u8], searched: usize) -> bool {
    let tail = &bytes[searched.saturating_sub(3)..];
    let mut breaks = tail.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    breaks.any(|(at, _)| matches!(&tail[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}
