//! The breaker of an origin that worked and then fails again and again: it rests, and one job at a time asks whether it
//! is back. Floor 3: rules.
//!
//! An outage would use up all tries of every job that comes by. An origin that never worked is not paused: a list of bad
//! requests is to fail as fast as it can.

use std::collections::HashMap;
use std::time::Duration;

use http::StatusCode;

use super::lanes::Rest;
use super::talk::Ticket;
use crate::job::Origin;
use crate::outcome::{Failure, FailureKind, Reached, Reply};
use crate::retry::{Policy, Said};
use crate::units::Tick;

/// What the end of a try tells of its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A success.
    Works,
    /// An answer, though not the one that was wanted.
    Answers,
    /// It is out of order: 502, 503 and the like, or no whole answer.
    Fails,
    /// It takes no connection: nobody is there, and after such a failure one job at a time asks.
    Gone,
    /// Nothing: a plain 500 may be of the request alone, and a list may have many of that kind in a row.
    Nothing,
}

impl Sign {
    /// What this end tells, under this policy: what is not repeated is a result. Where each try is one, no end tells
    /// anything.
    pub(super) fn of(end: &Result<Reply, Failure>, said: Said, retry: &Policy) -> Self {
        if retry.max_attempts.get() == 1 {
            return Self::Nothing;
        }
        match end {
            Ok(reply) => {
                let status = reply.head.status;
                let is_ok = retry.ok.has(status.as_u16());
                let fails = status.is_server_error() && said.wait.is_none();
                if is_ok && reply.fault.is_none() {
                    Self::Works
                } else if !fails || !retry.repeats(status, said.again) {
                    Self::Answers
                } else if status == StatusCode::INTERNAL_SERVER_ERROR {
                    Self::Nothing
                } else {
                    Self::Fails
                }
            }
            Err(failure) if !retry.on.failure(failure.kind) => match failure.reached {
                Reached::Answered => Self::Answers,
                Reached::NotSent | Reached::Sent => Self::Nothing,
            },
            Err(failure) if failure.kind == FailureKind::Connect => Self::Gone,
            Err(_) => Self::Fails,
        }
    }

    /// For how many failures of a row it counts, of those that break an origin.
    fn weight(self, row: u32) -> u32 {
        match self {
            Self::Works | Self::Answers | Self::Nothing => 0,
            Self::Fails => 1,
            Self::Gone => row.div_ceil(GONE),
        }
    }
}

/// So many failed connects in a row break an origin.
const GONE: u32 = 2;

/// The breakers of all origins that worked and are in trouble.
#[derive(Debug, Default)]
pub(super) struct Breakers {
    /// So many failed tries in a row open one.
    row: u32,
    all: HashMap<Origin, Breaker>,
    /// How often one opened, and for how long those were open that are no longer.
    opened: u64,
    open_for: Duration,
}

#[derive(Debug)]
enum Breaker {
    /// So many tries have failed in a row.
    Closed(u32),
    Open(Open),
}

#[derive(Debug)]
struct Open {
    since: Tick,
    /// When a try told last that it is right to be open.
    seen: Tick,
    /// Nothing is sent before.
    until: Tick,
    /// Which rest this is, from 1, and how long.
    round: u32,
    rest: Duration,
    /// The job that asks; nobody has gone yet, if `None`.
    probe: Option<Ticket>,
}

impl Open {
    fn rests(&mut self, at: Tick, rest: impl FnOnce(u32, Duration) -> Duration) {
        self.round += 1;
        self.rest = rest(self.round, self.rest);
        (self.seen, self.until, self.probe) = (at, at.after(self.rest), None);
    }
}

impl Breakers {
    /// All closed; so many failed tries in a row open one.
    pub(super) fn after(row: u32) -> Self {
        Self {
            row,
            ..Self::default()
        }
    }

    /// No origin is in trouble.
    pub(super) fn are_calm(&self) -> bool {
        self.all.is_empty()
    }

    /// Until when nothing is sent to this origin, and why.
    pub(super) fn until(&self, origin: &Origin) -> Option<(Tick, Rest)> {
        match self.all.get(origin)? {
            Breaker::Closed(_) => None,
            Breaker::Open(open) => {
                let why = open.probe.map_or(Rest::Broken, |_| Rest::Probed);
                Some((open.until, why))
            }
        }
    }

    /// A job goes, which is over by then: it asks whether the origin is back, if that is the question.
    pub(super) fn goes(&mut self, origin: &Origin, ticket: Ticket, until: Tick) {
        if let Some(Breaker::Open(open)) = self.all.get_mut(origin) {
            (open.probe, open.until) = (Some(ticket), until);
        }
    }

    /// A job that was to ask does not: the next one may.
    pub(super) fn returns(&mut self, origin: &Origin, ticket: Ticket, now: Tick) {
        if let Some(Breaker::Open(open)) = self.all.get_mut(origin)
            && open.probe == Some(ticket)
        {
            (open.probe, open.until) = (None, now);
        }
    }

    /// A try has failed at `at`. Returns whether a job that asked has its answer.
    ///
    /// `rest` tells how long the next rest of an origin is, by its number and the one before it.
    pub(super) fn fails(
        &mut self,
        origin: &Origin,
        (ticket, at): (Ticket, Tick),
        sign: Sign,
        rest: impl FnOnce(u32, Duration) -> Duration,
    ) -> bool {
        let weight = sign.weight(self.row);
        match self.all.get_mut(origin) {
            Some(Breaker::Open(open)) if open.probe == Some(ticket) => {
                open.rests(at, rest);
                return true;
            }
            Some(Breaker::Closed(row)) if weight > 0 && *row + weight >= self.row => {
                let mut open = Open {
                    since: at,
                    seen: at,
                    until: at,
                    round: 0,
                    rest: Duration::ZERO,
                    probe: None,
                };
                open.rests(at, rest);
                self.opened += 1;
                self.all.insert(origin.clone(), Breaker::Open(open));
            }
            Some(Breaker::Closed(row)) => *row += weight,
            None if weight > 0 => {
                self.all.insert(origin.clone(), Breaker::Closed(weight));
            }
            // Open, it is told by one that was sent before, which says nothing new.
            Some(Breaker::Open(_)) | None => {}
        }
        false
    }

    /// The origin has answered, or nobody asks for it any more. Returns whether its breaker was open.
    pub(super) fn close(&mut self, origin: &Origin, at: Option<Tick>) -> bool {
        let Some(Breaker::Open(open)) = self.all.remove(origin) else {
            return false;
        };
        let end = at.unwrap_or(open.seen);
        self.open_for = self.open_for.saturating_add(end.since(open.since));
        true
    }

    /// The job that asks whether this origin is back.
    pub(super) fn probe(&self, origin: &Origin) -> Option<Ticket> {
        match self.all.get(origin)? {
            Breaker::Closed(_) => None,
            Breaker::Open(open) => open.probe,
        }
    }

    /// How often one opened, and for how long they were open until `now`.
    pub(super) fn opened(&self, now: Tick) -> (u64, Duration) {
        let open = self.all.values().filter_map(|breaker| match breaker {
            Breaker::Closed(_) => None,
            Breaker::Open(open) => Some(now.since(open.since)),
        });
        (
            self.opened,
            open.fold(self.open_for, Duration::saturating_add),
        )
    }
}

#[cfg(test)]
impl Breakers {
    /// Origins in trouble.
    pub(super) fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.all.keys()
    }

    /// Those of them to which at most one job is sent at once.
    pub(super) fn open(&self) -> impl Iterator<Item = &Origin> {
        let open = self.all.iter();
        let open = open.filter(|(_, breaker)| matches!(breaker, Breaker::Open(_)));
        open.map(|(origin, _)| origin)
    }
}
