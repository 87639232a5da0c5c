//! A request and its answer on one connection. Floor 4: doors.

use std::future::Future;
use std::io;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use http::Method;

use super::Direct;
use super::connect::{Connecting, connect};
use super::connection::{Age, Connection};
use super::decoder::{Decoder, Found};
use super::head::{Then, most_idle};
use super::input::Input;
use super::request::Request;
use super::server::Server;
use crate::client::Carrier;
use crate::client::attempt::{Attempt, Phase};
use crate::client::coming::{Coming, PIECE};
use crate::client::digest::Digesting;
use crate::client::failure::{Doing, failed, no_answer, within_body};
use crate::client::pool::Lease;
use crate::outcome::{Failure, Head, Reply};
use crate::units::Tick;

/// A try on its way. As a future it is over when its end is told.
pub(in crate::client) struct Exchange {
    direct: Rc<Direct>,
    /// Let go of before the end is told.
    lease: Option<Lease<Carrier>>,
    attempt: Attempt,
    server: Rc<Server>,
    connection: Option<Connection>,
    /// Apart, as it is seldom and large: the memory of a try that has a connection stays small.
    connecting: Option<Connecting>,
    request: Request,
    writing: Writing,
    sent: Sent,
    input: Input,
    decoder: Decoder,
    /// When it was connected, or written to, or something came.
    last: Tick,
    /// When the first byte came of what is held.
    first: Tick,
    /// Whether anything has come.
    is_answering: bool,
    head: Option<Head>,
    head_told: bool,
    announced: Option<u64>,
    body: Coming,
    /// When the last byte came, and what is still awaited then.
    digesting: Option<(Tick, Digesting)>,
}

/// How far the writing of a request is.
#[derive(Debug)]
enum Writing {
    GoesOn,
    Done,
    /// No more is taken; what was answered before may still be read.
    Broken(io::Error),
}

/// Whether it is told that bytes went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    NotYet,
    At(Tick),
}

/// What is waited for beside the writing.
enum Happened {
    Read(io::Result<usize>),
    Late,
}

const OPEN: &str = "it is open";
const BEGUN: &str = "it has ended, so it has begun";

impl Future for Exchange {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let end = ready!(this.poll_end(cx));
        this.end(end);
        Poll::Ready(())
    }
}

impl Exchange {
    pub(super) fn new(
        direct: Rc<Direct>,
        lease: Lease<Carrier>,
        attempt: Attempt,
        server: Rc<Server>,
        request: Request,
        method: Method,
    ) -> Self {
        Self {
            direct,
            lease: Some(lease),
            attempt,
            server,
            connection: None,
            connecting: None,
            request,
            writing: Writing::GoesOn,
            sent: Sent::NotYet,
            input: Input::default(),
            decoder: Decoder::new(method),
            last: Tick::ZERO,
            first: Tick::ZERO,
            is_answering: false,
            head: None,
            head_told: false,
            announced: None,
            body: Coming::default(),
            digesting: None,
        }
    }

    /// It has this connection, and what was written of the request was written at `at`.
    pub(super) fn goes_on(
        &mut self,
        connection: Connection,
        written: Poll<io::Result<()>>,
        at: Tick,
    ) {
        self.has(connection, at);
        self.writes(written, at);
    }

    fn has(&mut self, connection: Connection, at: Tick) {
        self.connection = Some(connection);
        (self.last, self.first) = (at, at);
    }

    fn writes(&mut self, written: Poll<io::Result<()>>, at: Tick) {
        match written {
            Poll::Ready(Ok(())) => self.writing = Writing::Done,
            Poll::Ready(Err(why)) => self.writing = Writing::Broken(why),
            Poll::Pending => {}
        }
        self.tell_sent(at);
    }

    fn tell_sent(&mut self, at: Tick) {
        if self.request.is_begun() && self.sent == Sent::NotYet {
            self.sent = Sent::At(at);
            self.attempt.tell_sent(at);
        }
    }

    /// The answer, and when its last byte came.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Reply, Tick), Failure>> {
        if self.digesting.is_none() {
            let (then, at) = ready!(self.poll_answer(cx))?;
            self.digesting = Some((at, self.is_whole(then, at)));
        }
        let (at, digesting) = self
            .digesting
            .as_mut()
            .expect("it has just begun at the latest");
        let digested = match Pin::new(digesting).poll(cx) {
            Poll::Ready(digested) => digested.map_err(|why| self.attempt.spoilt(why))?,
            Poll::Pending => {
                self.tell_head();
                return Poll::Pending;
            }
        };
        let at = *at;
        let head = self.head.take().expect(BEGUN);
        Poll::Ready(Ok((self.attempt.reply(head, digested), at)))
    }

    /// The last byte has come: the connection may go on without this.
    fn is_whole(&mut self, then: Then, at: Tick) -> Digesting {
        self.server.answered();
        let head = self.head.as_ref().expect(BEGUN);
        let is_whole = self.input.held().is_empty() && self.request.is_written();
        if then == Then::Persists
            && self.request.then == Then::Persists
            && is_whole
            && let Some(mut connection) = self.connection.take()
        {
            connection.age = Age::Reused;
            self.server.put(connection, at, most_idle(&head.headers));
        }
        let digesting = self.attempt.digest(head, mem::take(&mut self.body));
        self.gives_back();
        digesting
    }

    /// What others may use meanwhile.
    fn gives_back(&mut self) {
        let spare = &self.direct.spare;
        self.input.rest(spare);
        spare.written(self.request.take_buffer());
        self.lease = None;
    }

    fn end(&mut self, end: Result<(Reply, Tick), Failure>) {
        let (at, end) = match end {
            Ok((reply, at)) => (at, Ok(reply)),
            Err(failure) => {
                self.tell_head();
                self.gives_back();
                (self.attempt.clock.now(), Err(failure))
            }
        };
        self.attempt.end(at, end);
    }

    /// A head that is not the whole answer is told when it is there.
    fn tell_head(&mut self) {
        if let Some(head) = &self.head
            && !mem::replace(&mut self.head_told, true)
        {
            self.attempt.tell_answered(head);
        }
    }

    fn poll_connect(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let connecting = self
            .connecting
            .get_or_insert_with(|| connect(&self.attempt, Rc::clone(&self.server)));
        let connected = ready!(connecting.as_mut().poll(cx));
        self.connecting = None;
        let late = || self.attempt.late(self.last, Phase::Connect);
        let connection = connected.map_err(|why| why.unwrap_or_else(late))?;
        self.has(connection, self.attempt.clock.now());
        self.attempt.tell_connected();
        Poll::Ready(Ok(()))
    }

    /// What becomes of the connection, and when the last byte came.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Then, Tick), Failure>> {
        if self.connection.is_none() {
            ready!(self.poll_connect(cx))?;
        }
        loop {
            let happened = ready!(self.poll_happened(cx));
            let now = self.attempt.clock.now();
            let read = match happened {
                Happened::Read(read) if now < self.attempt.grant.give_up_at => read,
                Happened::Read(_) | Happened::Late => {
                    return Poll::Ready(Err(self.attempt.late(self.last, self.phase())));
                }
            };
            let read = read.map_err(|why| self.broken(&why))?;
            if read == 0 {
                let closed = self.decoder.close().map(|()| (Then::Closes, now));
                return Poll::Ready(closed.map_err(|what| self.faulty(what)));
            }
            self.last = now;
            self.is_answering = true;
            if self.input.held().len() == read {
                self.first = now;
            }
            if let Some(then) = self.take(now)? {
                return Poll::Ready(Ok((then, now)));
            }
            self.tell_head();
        }
    }

    /// Writes on, until something is read or it is too late.
    fn poll_happened(&mut self, cx: &mut Context<'_>) -> Poll<Happened> {
        let connection = self.connection.as_mut().expect(OPEN);
        if let Writing::GoesOn = self.writing {
            let at = self.attempt.clock.now();
            let written = connection.poll_write(cx, &mut self.request);
            self.writes(written, at);
        }
        let connection = self.connection.as_mut().expect(OPEN);
        let read = connection.poll_read(cx, &mut self.input, &self.direct.spare);
        if let Poll::Ready(read) = read {
            return Poll::Ready(Happened::Read(read));
        }
        let patience = self.attempt.patience(self.last);
        let late = connection.deadline.poll_until(patience, cx);
        late.map(|()| Happened::Late)
    }

    /// Takes what was read, at `now`. Returns what is to become of the connection, at the end.
    fn take(&mut self, now: Tick) -> Result<Option<Then>, Failure> {
        loop {
            let mut bytes = self.input.held();
            let body = if self.head.is_some() {
                bytes = &bytes[..bytes.len().min(PIECE)];
                self.body.room(bytes.len())
            } else {
                self.body.room(0)
            };
            let before = body.len();
            let decoded = self.decoder.decode(bytes, body);
            let (taken, found) = match decoded {
                Ok(decoded) => decoded,
                Err(what) => return Err(self.faulty(what)),
            };
            self.attempt.came(now, &body[before..]);
            self.input.take(taken);
            match found {
                Found::Part if self.head.is_some() => {
                    self.attempt.keeps(&self.body)?;
                    if self.input.held().is_empty() {
                        return Ok(None);
                    }
                }
                Found::Part => {
                    if taken > 0 {
                        self.first = now;
                    }
                    return Ok(None);
                }
                Found::Head(status, headers, announced) => {
                    let head = Head {
                        at: self.first,
                        wall: self.attempt.clock.wall_at(self.first),
                        status,
                        headers,
                    };
                    let coming = self.attempt.begins(&head, announced);
                    self.head = Some(head);
                    self.announced = announced;
                    self.body = coming?;
                }
                Found::End(then) => {
                    self.attempt.keeps(&self.body)?;
                    return Ok(Some(then));
                }
            }
        }
    }

    fn phase(&self) -> Phase {
        match (&self.head, self.sent) {
            (Some(_), _) => Phase::Body,
            (None, Sent::At(_)) => Phase::Headers,
            (None, Sent::NotYet) => Phase::Connect,
        }
    }

    /// The connection broke.
    fn broken(&self, why: &io::Error) -> Failure {
        let host = &self.server.name;
        if self.head.is_some() {
            return within_body(&why.to_string(), host, self.body.len(), self.announced);
        }
        // What refused the request says more than what came after it.
        let why = match &self.writing {
            Writing::Broken(first) => first,
            Writing::GoesOn | Writing::Done => why,
        };
        match (self.sent, self.is_stale()) {
            (Sent::NotYet, _) => failed(Doing::Connect, why, host),
            (Sent::At(_), false) => failed(Doing::Ask, why, host),
            (Sent::At(_), true) => no_answer(
                &format!("the reused connection broke before it: {why}"),
                host,
            ),
        }
    }

    /// It was closed too early, or what came is no answer.
    fn faulty(&self, what: &str) -> Failure {
        if self.head.is_some() {
            return within_body(what, &self.server.name, self.body.len(), self.announced);
        }
        match &self.writing {
            Writing::Broken(why) => self.broken(why),
            Writing::GoesOn | Writing::Done if self.is_stale() => no_answer(
                "the reused connection was closed before it",
                &self.server.name,
            ),
            Writing::GoesOn | Writing::Done => no_answer(what, &self.server.name),
        }
    }

    /// Whether nothing came on a connection that has carried answers: most likely the server had closed it when the
    /// request went out.
    fn is_stale(&self) -> bool {
        let connection = self.connection.as_ref();
        let reused = connection.is_some_and(|it| it.age == Age::Reused);
        reused && !self.is_answering
    }
}
