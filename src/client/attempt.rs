//! One try, from its grant to its last byte, whatever carries it. Floor 4: doors.

use std::rc::Rc;
use std::time::Duration;

use http::header::CONTENT_TYPE;

use super::ClientSpec;
use super::coding::{Spoilt, decoded};
use super::streaming::Streaming;
use super::told::Told;
use crate::clock::Clock;
use crate::engine::{Event, Grant, Ticket};
use crate::fields::text;
use crate::outcome::{Failure, FailureKind, Head, Reached, Reply};
use crate::sse;
use crate::units::{Tick, show_span};
use crate::usage::UsageRule;

/// A body whose length is announced gets its memory at once, up to this: an announcement costs a server
/// nothing.
const ANNOUNCED: u64 = 1 << 20;

/// So many bytes at most are added to a body at once: what is longer than is kept is found out after them.
pub(super) const PIECE: usize = 16 << 10;

/// What a try needs to know besides its request.
pub(super) struct Attempt {
    ticket: Ticket,
    /// Host and port, for messages.
    pub(super) host: Rc<str>,
    pub(super) spec: Rc<ClientSpec>,
    pub(super) grant: Grant,
    pub(super) clock: Clock,
    told: Told,
    /// Of an answer that is a stream of events.
    streaming: Option<Box<Streaming>>,
    ended: bool,
}

/// Each try is told to have ended, even one whose task broke off: the run would wait for it for ever.
impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.ended {
            let message = format!("{}: the try broke off inside this program", self.host);
            let broke_off = Failure {
                kind: FailureKind::Reset,
                reached: Reached::Sent,
                message,
            };
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
        spec: Rc<ClientSpec>,
        grant: Grant,
        clock: Clock,
        told: Told,
    ) -> Self {
        Self {
            ticket,
            host,
            spec,
            grant,
            clock,
            told,
            streaming: None,
            ended: false,
        }
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
        self.told.tell(event);
    }

    /// The body of an answer with this head comes now.
    pub(super) fn begins(&mut self, head: &Head) {
        if head.status.is_success() && streams(head) {
            let streaming = Streaming::new(&head.headers, self.spec.max_body);
            self.streaming = Some(Box::new(streaming));
        }
    }

    /// A piece of it came at this moment.
    pub(super) fn came(&mut self, at: Tick, piece: &[u8]) {
        if let Some(streaming) = &mut self.streaming {
            streaming.came(at, piece);
        }
    }

    /// The body as it was before it was compressed.
    pub(super) fn decoded(&self, head: &Head, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let body = decoded(&head.headers, body, self.spec.max_body);
        body.map_err(|why| match why {
            Spoilt::TooLong => self.too_long(),
            Spoilt::Damaged(why) => Failure {
                kind: FailureKind::IncompleteBody,
                reached: Reached::Answered,
                message: format!("{}: the body is {why}", self.host),
            },
        })
    }

    /// A whole answer.
    pub(super) fn reply(&mut self, head: Head, body: Vec<u8>) -> Reply {
        let usage = &self.spec.usage;
        let used = if let Some(streaming) = &mut self.streaming {
            // Its rate is of the tokens that it tells, whether or not a limit counts them.
            streaming.is_whole(&body);
            let told = usage.or_found().read_stream(&body);
            streaming.output = told.and_then(|used| used.output);
            told.filter(|_| *usage != UsageRule::Ignored)
        } else if head.status.is_success() {
            usage.read(&body)
        } else {
            None
        };
        let at = self.spec.fault.as_ref();
        Reply {
            fault: match &self.streaming {
                Some(_) => sse::fault(&body, at),
                None => at.and_then(|at| at.read(&body)),
            },
            head,
            body: body.into(),
            used,
        }
    }

    /// Memory for a body, of which so much is announced. Fails if that is more than is kept.
    pub(super) fn room(&self, announced: Option<u64>) -> Result<Vec<u8>, Failure> {
        let announced = announced.unwrap_or_default();
        self.keeps(announced)?;
        let room = announced.min(ANNOUNCED);
        Ok(Vec::with_capacity(
            usize::try_from(room).expect("1 MiB fits"),
        ))
    }

    /// Makes room for more of a body. Room doubles up to a quarter of what may be needed, and is then made for all: a
    /// body that is to be refused is not moved to twice its memory first.
    pub(super) fn grow(&self, body: &mut Vec<u8>, more: usize, announced: Option<u64>) {
        let needed = body.len() + more;
        if needed <= body.capacity() {
            return;
        }
        let most = announced.unwrap_or(self.spec.max_body);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let room = if body.capacity() < most / 4 {
            2 * body.capacity()
        } else {
            most.saturating_add(PIECE)
        };
        body.reserve_exact(room.max(needed) - body.len());
    }

    /// Fails if a body of this length is longer than is kept.
    pub(super) fn keeps(&self, length: u64) -> Result<(), Failure> {
        if length <= self.spec.max_body {
            return Ok(());
        }
        Err(self.too_long())
    }

    fn too_long(&self) -> Failure {
        let (host, most) = (&self.host, self.spec.max_body);
        Failure {
            kind: FailureKind::BodyTooLarge,
            reached: Reached::Answered,
            message: format!("{host}: the body is longer than {most} bytes, the most that is kept"),
        }
    }

    /// Until when more has to come, if something came at `last`.
    pub(super) fn patience(&self, last: Tick) -> Tick {
        match self.spec.read_timeout {
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
            .spec
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
        Failure {
            kind: FailureKind::Timeout,
            reached,
            message,
        }
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
