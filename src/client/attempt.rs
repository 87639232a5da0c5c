//! One try, from its grant to its last byte, whatever carries it. Floor 4: doors.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;

use super::ClientSpec;
use super::aside::Aside;
use super::coding::{Coding, LONGER, Spoilt, codings};
use super::coming::{Coming, Shape};
use super::digest::{Digest, Digested, Digesting, Kind};
use super::streaming::Streaming;
use super::told::Told;
use crate::clock::Clock;
use crate::engine::{Event, Grant, Ticket};
use crate::fields::text;
use crate::outcome::{Failure, FailureKind, Head, Reached, Reply};
use crate::units::{Tick, show_span};

/// What all tries of a client share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) spec: Arc<ClientSpec>,
    pub(super) told: Told,
    aside: Aside,
}

impl Common {
    pub(super) fn of(spec: ClientSpec) -> Self {
        Self {
            spec: Arc::new(spec),
            told: Told::default(),
            aside: Aside::default(),
        }
    }
}

/// What a try needs to know besides its request.
pub(super) struct Attempt {
    ticket: Ticket,
    /// Host and port, for messages.
    pub(super) host: Rc<str>,
    common: Rc<Common>,
    pub(super) grant: Grant,
    pub(super) clock: Clock,
    /// Of its answer.
    codings: Result<Vec<Coding>, Spoilt>,
    /// Of an answer that is a stream of events.
    streaming: Option<Box<Streaming>>,
    ended: bool,
}

/// Each try is told to have ended, even one whose task broke off: the run would wait for it for ever.
impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.ended {
            let message = format!("{}: the try broke off inside this program", self.host);
            let broke_off = Failure::new(FailureKind::Reset, Reached::Sent, message);
            self.end(self.clock.now(), Err(broke_off));
        }
    }
}

/// What a try was waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A connection.
    Connect,
    /// A connection or a head: the transport does not say which.
    ConnectOrHeaders,
    /// A head.
    Headers,
    /// The rest of a body.
    Body,
}

impl Attempt {
    pub(super) fn new(
        ticket: Ticket,
        host: Rc<str>,
        common: Rc<Common>,
        grant: Grant,
        clock: Clock,
    ) -> Self {
        Self {
            ticket,
            host,
            common,
            grant,
            clock,
            codings: Ok(Vec::new()),
            streaming: None,
            ended: false,
        }
    }

    pub(super) fn spec(&self) -> &ClientSpec {
        &self.common.spec
    }

    pub(super) fn tell_connected(&self) {
        self.tell(Event::Connected(self.ticket, self.clock.now()));
    }

    pub(super) fn tell_sent(&self, at: Tick) {
        self.tell(Event::Sent(self.ticket, at));
    }

    pub(super) fn tell_answered(&self, head: &Head) {
        self.tell(Event::Answered(self.ticket, Box::new(head.clone())));
    }

    /// Tells how it ended at `at`, once; before that, what was seen of a stream, whole or not.
    pub(super) fn end(&mut self, at: Tick, end: Result<Reply, Failure>) {
        self.ended = true;
        if let Some(streaming) = self.streaming.take() {
            self.tell(Event::Streamed(self.ticket, Box::new(streaming.told())));
        }
        self.tell(Event::Ended(self.ticket, at, Box::new(end)));
    }

    fn tell(&self, event: Event) {
        self.common.told.tell(event);
    }

    /// The body of an answer with this head comes now. Fails if more of it is announced than is kept.
    pub(super) fn begins(
        &mut self,
        head: &Head,
        announced: Option<u64>,
    ) -> Result<Coming, Failure> {
        self.codings = codings(&head.headers);
        let codings = self.codings.as_deref().unwrap_or_default();
        let most = self.spec().max_body;
        if head.status.is_success() && streams(head) {
            self.streaming = Some(Box::new(Streaming::new(codings, most)));
        }
        let (shape, most) = match codings {
            [] => (Shape::Whole, most),
            [..] => (Shape::Parts, most.saturating_add(LONGER)),
        };
        Coming::new(shape, announced, most).ok_or_else(|| self.too_long())
    }

    /// A piece of it came at this moment.
    pub(super) fn came(&mut self, at: Tick, piece: &[u8]) {
        if let Some(streaming) = &mut self.streaming {
            streaming.came(at, piece);
        }
    }

    /// What is to be had out of the body of an answer, when it is whole.
    pub(super) fn digest(&mut self, head: &Head, body: Coming) -> Digesting {
        let kind = match &self.streaming {
            Some(streaming) if streaming.counts_at_the_end() => Kind::UnseenStream,
            Some(_) => Kind::Stream,
            None if head.status.is_success() => Kind::Whole,
            None => Kind::Refusal,
        };
        let digest = Digest {
            codings: mem::replace(&mut self.codings, Ok(Vec::new())),
            kind,
        };
        digest.begin(body, &self.common.spec, &self.common.aside)
    }

    /// Why nothing is to be had out of it.
    pub(super) fn spoilt(&self, why: Spoilt) -> Failure {
        match why {
            Spoilt::TooLong => self.too_long(),
            Spoilt::TooManyParts => self.unusable("in more parts than one of its length has"),
            Spoilt::Damaged(why) => self.unusable(&why),
        }
    }

    fn unusable(&self, why: &str) -> Failure {
        Failure::new(
            FailureKind::IncompleteBody,
            Reached::Answered,
            format!("{}: the body is {why}", self.host),
        )
    }

    /// A whole answer.
    pub(super) fn reply(&mut self, head: Head, digested: Digested) -> Reply {
        if let Some(streaming) = &mut self.streaming {
            streaming.is_whole(digested.output, digested.meter);
        }
        Reply {
            head,
            body: digested.body,
            used: digested.used,
            fault: digested.fault,
        }
    }

    /// Fails if more has come than is kept.
    pub(super) fn keeps(&self, body: &Coming) -> Result<(), Failure> {
        if body.is_too_long() {
            return Err(self.too_long());
        }
        Ok(())
    }

    fn too_long(&self) -> Failure {
        let (host, most) = (&self.host, self.spec().max_body);
        Failure::new(
            FailureKind::BodyTooLarge,
            Reached::Answered,
            format!("{host}: the body is longer than {most} bytes, the most that is kept"),
        )
    }

    /// Until when more has to come, if something came at `last`.
    pub(super) fn patience(&self, last: Tick) -> Tick {
        match self.spec().read_timeout {
            Some(gap) => last.after(gap).min(self.grant.give_up_at),
            None => self.grant.give_up_at,
        }
    }

    /// Why it is given up, if something came at `last`.
    pub(super) fn late(&self, last: Tick, phase: Phase) -> Failure {
        let (reached, phase) = match phase {
            Phase::Connect => (Reached::NotSent, "connect"),
            Phase::ConnectOrHeaders => (Reached::Sent, "connect or headers"),
            Phase::Headers => (Reached::Sent, "headers"),
            Phase::Body => (Reached::Answered, "body"),
        };
        let host = &self.host;
        let gap = self
            .spec()
            .read_timeout
            .filter(|_| reached != Reached::NotSent);
        let message = match gap {
            Some(gap) if last.after(gap) < self.grant.give_up_at => {
                let gap = show_span(gap);
                format!("{host}: nothing came for {gap} (phase: {phase})")
            }
            Some(_) | None => {
                let span = show_span(self.whole());
                format!("{host}: slower than {span} (phase: {phase})")
            }
        };
        Failure::new(FailureKind::Timeout, reached, message)
    }

    /// The longest that it may take.
    fn whole(&self) -> Duration {
        self.grant.give_up_at.since(self.grant.began)
    }
}

/// Whether the body is a stream of events.
fn streams(head: &Head) -> bool {
    let kind = head.headers.get(&CONTENT_TYPE).and_then(text);
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}
