//! Tries that have ended and that no line of results tells of. Floor 4: doors.

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::job::Keys;
use crate::metrics;
use crate::outcome::{self, Credentials, Failure, FailureKind, Reached, Try, UnitsSpent};
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
    /// The redirects that it followed and that were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hops: Vec<Hop>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Hop {
    granted_us: u64,
    sent_us: u64,
    answered_us: u64,
    http_status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<String>,
}

impl Unrecorded {
    /// The start of the run is given likewise.
    pub(super) fn of(left: &metrics::Unrecorded, started_us: u64) -> Self {
        let us = |at: Tick| started_us + at.0 / 1_000;
        let made = &left.made;
        let words = |keys: &Keys| keys.iter().map(ToString::to_string).collect();
        let hops = made.hops.iter().filter_map(|hop| {
            Some(Hop {
                granted_us: us(hop.granted?),
                sent_us: us(hop.sent?),
                answered_us: us(hop.first_byte.unwrap_or(made.done)),
                http_status: hop.status.as_u16(),
                keys: words(&hop.keys),
            })
        });
        Self {
            granted_us: us(made.granted),
            sent_us: made.sent.map(us),
            answered_us: us(made.first_byte.unwrap_or(made.done)),
            done_us: Some(us(made.done)),
            http_status: made.status.map(|status| status.as_u16()),
            error: made.failure.as_ref().map(|it| it.kind.word().to_owned()),
            tokens: made.units,
            keys: words(&left.keys),
            hops: hops.collect(),
        }
    }

    /// Its requests as a proof sees them, with moments since the Unix epoch.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let first = self.sent_us.map(|sent| Event {
            granted: tick(self.granted_us),
            sent: tick(sent),
            answered: tick(self.answered_us),
            units: self.tokens.map(Box::new),
            keys: keys(&self.keys),
            source: 0,
        });
        let hops = self.hops.iter().map(|hop| Event {
            granted: tick(hop.granted_us),
            sent: tick(hop.sent_us),
            answered: tick(hop.answered_us),
            units: None,
            keys: keys(&hop.keys),
            source: 0,
        });
        first.into_iter().chain(hops)
    }

    /// The try, with moments since the Unix epoch. When it was due, where it was sent on to, what its failure said, and
    /// what was seen of a stream, is not kept.
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
            failure: kind.map(|kind| Failure::new(kind, reached, "")),
            units: self.tokens,
            stream: None,
            hops: self.hops.iter().filter_map(Hop::made).collect(),
        }
    }
}

impl Hop {
    fn made(&self) -> Option<outcome::Hop> {
        Some(outcome::Hop {
            url: Box::default(),
            status: StatusCode::from_u16(self.http_status).ok()?,
            credentials: Credentials::Kept,
            keys: keys(&self.keys),
            granted: Some(tick(self.granted_us)),
            sent: Some(tick(self.sent_us)),
            first_byte: None,
        })
    }
}

fn keys(words: &[String]) -> Keys {
    words.iter().map(|key| key.as_str().into()).collect()
}

fn tick(us: u64) -> Tick {
    Tick(us.saturating_mul(1_000))
}
