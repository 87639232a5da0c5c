//! Tries that have ended and that no line of results tells of. Floor 4: doors.

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::metrics;
use crate::outcome::{Failure, FailureKind, Reached, Try, UnitsSpent};
use crate::proof::Event;
use crate::units::Tick;

/// A try of a job that has no result. Moments in microseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrecorded {
    granted_us: u64,
    /// `None` if it never left.
    sent_us: Option<u64>,
    answered_us: u64,
    /// As older versions tell it: the moment of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    done_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    /// The kind of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<UnitsSpent>,
    /// The values of the keys of the limits, in the order of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<String>,
}

impl Unrecorded {
    /// The start of the run is given likewise.
    pub(super) fn of(left: &metrics::Unrecorded, started_us: u64) -> Self {
        let us = |at: Tick| started_us + at.0 / 1_000;
        let made = &left.made;
        Self {
            granted_us: us(made.granted),
            sent_us: made.sent.map(us),
            answered_us: us(made.first_byte.unwrap_or(made.done)),
            done_us: Some(us(made.done)),
            http_status: made.status.map(|status| status.as_u16()),
            error: made.failure.as_ref().map(|it| it.kind.word().to_owned()),
            tokens: made.units,
            keys: left.keys.iter().map(ToString::to_string).collect(),
        }
    }

    /// As a proof sees it, with moments since the Unix epoch; `None` if it was never sent.
    pub fn event(&self) -> Option<Event> {
        Some(Event {
            granted: tick(self.granted_us),
            sent: tick(self.sent_us?),
            answered: tick(self.answered_us),
            units: self.tokens.map(Box::new),
            keys: self.keys.iter().map(|key| key.as_str().into()).collect(),
            source: 0,
        })
    }

    /// The try, with moments since the Unix epoch. When it was due, and what its failure said, is not kept.
    pub fn made(&self) -> Try {
        let done = tick(self.done_us.unwrap_or(self.answered_us));
        let status = self.http_status.map(StatusCode::from_u16);
        let kind = self.error.as_deref().and_then(FailureKind::of);
        let reached = match (self.sent_us, status.is_some()) {
            (None, _) => Reached::NotSent,
            (Some(_), false) => Reached::Sent,
            (Some(_), true) => Reached::Answered,
        };
        Try {
            due: tick(self.granted_us),
            granted: tick(self.granted_us),
            sent: self.sent_us.map(tick),
            connected: None,
            first_byte: None,
            done,
            status: status.and_then(Result::ok),
            retry_after: None,
            failure: kind.map(|kind| Failure {
                kind,
                reached,
                message: String::new(),
            }),
            units: self.tokens,
        }
    }
}

fn tick(us: u64) -> Tick {
    Tick(us.saturating_mul(1_000))
}
