//! One try, from handing it over to its last byte. Floor 4: doors.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::{Outgoing, failure};
use crate::clock::Clock;
use crate::engine::{Event, Grant, Ticket};
use crate::outcome::{Failure, FailureKind, Head, Reached, Reply};
use crate::units::{Tick, show_span};
use crate::usage::UsageRule;

/// A body whose length is announced gets its memory at once, up to this: an announcement costs a server
/// nothing.
const ANNOUNCED: u64 = 1 << 20;

/// What a try needs to know besides its request.
pub(super) struct Attempt {
    pub(super) ticket: Ticket,
    pub(super) host: String,
    pub(super) read_timeout: Option<Duration>,
    pub(super) max_body: u64,
    pub(super) usage: UsageRule,
    pub(super) grant: Grant,
    pub(super) clock: Clock,
    pub(super) tell: UnboundedSender<Event>,
    pub(super) ended: bool,
}

/// Each try is told to have ended, even one whose task broke off: the run would wait for it for ever.
impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Err(Failure {
                kind: FailureKind::Reset,
                reached: Reached::Sent,
                message: format!("{}: the try broke off inside this program", self.host),
            }));
        }
    }
}

impl Attempt {
    /// Makes the try and tells its end.
    pub(super) async fn run(mut self, request: Result<Outgoing, Failure>) {
        let end = match request {
            Ok(request) => self.send(request).await,
            Err(failure) => Err(failure),
        };
        self.end(end);
    }

    fn end(&mut self, end: Result<Reply, Failure>) {
        self.ended = true;
        self.tell(Event::Ended(self.ticket, self.clock.now(), Box::new(end)));
    }

    /// An engine that is gone has no use for the rest.
    fn tell(&self, event: Event) {
        let _ = self.tell.send(event);
    }

    async fn send(&self, (lease, request): Outgoing) -> Result<Reply, Failure> {
        let sent = self.clock.now();
        self.tell(Event::Sent(self.ticket, sent));
        let answer = tokio::select! {
            biased;
            answer = lease.client().execute(request) => answer,
            () = self.clock.sleep_until(self.patience(sent)) => return Err(self.late(sent, Reached::Sent)),
        };
        let response = answer.map_err(|why| failure::without_answer(why, &self.host))?;
        let head = Head {
            at: self.clock.now(),
            wall: self.clock.wall(),
            status: response.status(),
            headers: response.headers().clone(),
        };
        self.tell(Event::Answered(self.ticket, Box::new(head.clone())));
        let body = self.read(response, head.at).await?;
        let used = if head.status.is_success() {
            self.usage.read(&body)
        } else {
            None
        };
        Ok(Reply {
            head,
            body: body.into(),
            used,
        })
    }

    /// The body, copied out of the connection's buffer: a slice would keep all of that alive.
    async fn read(
        &self,
        mut response: reqwest::Response,
        mut last: Tick,
    ) -> Result<Vec<u8>, Failure> {
        let announced = response.content_length();
        if announced.is_some_and(|length| length > self.max_body) {
            return Err(self.too_large());
        }
        let room = announced.unwrap_or_default().min(ANNOUNCED);
        let mut body = Vec::with_capacity(usize::try_from(room).expect("1 MiB fits"));
        loop {
            let patience = self.patience(last);
            let chunk = tokio::select! {
                biased;
                chunk = response.chunk() => chunk,
                () = self.clock.sleep_until(patience) => {
                    return Err(self.late(last, Reached::Answered));
                }
            };
            match chunk {
                Ok(Some(bytes)) if self.clock.now() < self.grant.give_up_at => {
                    body.extend_from_slice(&bytes);
                }
                Ok(Some(_)) => return Err(self.late(last, Reached::Answered)),
                Ok(None) => return Ok(body),
                Err(why) => return Err(failure::within_body(why, body.len(), announced)),
            }
            if body.len() as u64 > self.max_body {
                return Err(self.too_large());
            }
            last = self.clock.now();
        }
    }

    /// Until when more has to come, if something came at `last`.
    fn patience(&self, last: Tick) -> Tick {
        match self.read_timeout {
            Some(gap) => last.after(gap).min(self.grant.give_up_at),
            None => self.grant.give_up_at,
        }
    }

    fn late(&self, last: Tick, reached: Reached) -> Failure {
        let phase = match reached {
            Reached::NotSent | Reached::Sent => "connect or headers",
            Reached::Answered => "body",
        };
        let host = &self.host;
        let message = match self.read_timeout {
            Some(gap) if last.after(gap) < self.grant.give_up_at => {
                let gap = show_span(gap);
                format!("{host}: nothing came for {gap} (phase: {phase})")
            }
            Some(_) | None => {
                let span = show_span(self.grant.give_up_at.since(self.grant.charged_at));
                format!("{host}: slower than {span} (phase: {phase})")
            }
        };
        Failure {
            kind: FailureKind::Timeout,
            reached,
            message,
        }
    }

    fn too_large(&self) -> Failure {
        let (host, most) = (&self.host, self.max_body);
        Failure {
            kind: FailureKind::BodyTooLarge,
            reached: Reached::Answered,
            message: format!("{host}: the body is longer than {most} bytes, the most that is kept"),
        }
    }
}
