//! A request and its answer on one connection. Floor 4: doors.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;

use http::Method;

use super::Direct;
use super::connect::connect;
use super::connection::{Age, Connection};
use super::decoder::{Decoder, Found};
use super::head::{Then, most_idle};
use super::input::Input;
use super::request::Request;
use super::server::Server;
use crate::client::attempt::{Attempt, Phase};
use crate::client::failure::{Doing, failed, no_answer, within_body};
use crate::outcome::{Failure, Head};
use crate::units::Tick;

/// A try on its way.
pub(super) struct Exchange {
    direct: Rc<Direct>,
    attempt: Attempt,
    server: Rc<Server>,
    connection: Option<Connection>,
    request: Request,
    writing: Writing,
    sent: Sent,
    input: Input,
    decoder: Decoder,
    /// Whether anything has come.
    is_answering: bool,
    head: Option<Head>,
    head_told: bool,
    announced: Option<u64>,
    body: Vec<u8>,
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

impl Exchange {
    pub(super) fn new(
        direct: Rc<Direct>,
        attempt: Attempt,
        server: Rc<Server>,
        request: Request,
        method: Method,
    ) -> Box<Self> {
        Box::new(Self {
            direct,
            attempt,
            server,
            connection: None,
            request,
            writing: Writing::GoesOn,
            sent: Sent::NotYet,
            input: Input::default(),
            decoder: Decoder::new(method),
            is_answering: false,
            head: None,
            head_told: false,
            announced: None,
            body: Vec::new(),
        })
    }

    /// It has this connection, and what was written of the request was written at `at`.
    pub(super) fn goes_on(
        &mut self,
        connection: Connection,
        written: Poll<io::Result<()>>,
        at: Tick,
    ) {
        self.connection = Some(connection);
        self.writes(written, at);
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

    /// To its end. What is held is let go of before that is told.
    pub(super) async fn run<T>(mut self: Box<Self>, held: T) {
        let end = self.answer().await;
        if end.is_err() {
            self.tell_head();
        }
        let Self {
            direct,
            attempt,
            server,
            connection,
            request,
            mut input,
            head,
            body,
            ..
        } = *self;
        let (at, end) = match end {
            Ok((then, at)) => {
                server.answered();
                let head = head.expect("it has ended, so it has begun");
                let is_whole = input.held().is_empty() && request.is_written();
                if then == Then::Persists
                    && request.then == Then::Persists
                    && is_whole
                    && let Some(mut connection) = connection
                {
                    connection.age = Age::Reused;
                    server.put(connection, at, most_idle(&head.headers));
                }
                (at, Ok(attempt.reply(head, body)))
            }
            Err(failure) => (attempt.clock.now(), Err(failure)),
        };
        input.rest(&direct.spare);
        direct.spare.written(request.into_buffer());
        drop(held);
        attempt.end(at, end);
    }

    /// A head that is not the whole answer is told when it is there.
    fn tell_head(&mut self) {
        if let Some(head) = &self.head
            && !std::mem::replace(&mut self.head_told, true)
        {
            self.attempt.tell_answered(head);
        }
    }

    /// What becomes of the connection, and when the last byte came.
    async fn answer(&mut self) -> Result<(Then, Tick), Failure> {
        if self.connection.is_none() {
            // It is seldom, and large: the memory of a try that has a connection stays small.
            let connected = Box::pin(connect(&self.attempt, &self.server)).await;
            self.connection = Some(connected?);
            self.attempt.tell_connected();
        }
        let mut last = match self.sent {
            Sent::At(at) => at,
            Sent::NotYet => self.attempt.clock.now(),
        };
        // When the first byte came of what is held.
        let mut first = last;
        loop {
            let happened = self.happens(self.attempt.patience(last)).await;
            let now = self.attempt.clock.now();
            let read = match happened {
                Happened::Read(read) if now < self.attempt.grant.give_up_at => read,
                Happened::Read(_) | Happened::Late => {
                    return Err(self.attempt.late(last, self.phase()));
                }
            };
            let read = read.map_err(|why| self.broken(&why))?;
            if read == 0 {
                let closed = self.decoder.close().map(|()| (Then::Closes, now));
                return closed.map_err(|what| self.faulty(what));
            }
            last = now;
            self.is_answering = true;
            if self.input.held().len() == read {
                first = now;
            }
            if let Some(then) = self.take(&mut first, now)? {
                return Ok((then, now));
            }
            self.tell_head();
        }
    }

    /// Writes on, until something is read or it is too late.
    async fn happens(&mut self, patience: Tick) -> Happened {
        poll_fn(|cx| {
            let connection = self.connection.as_mut().expect("it is open");
            if let Writing::GoesOn = self.writing {
                let at = self.attempt.clock.now();
                let written = connection.poll_write(cx, &mut self.request);
                self.writes(written, at);
            }
            let connection = self.connection.as_mut().expect("it is open");
            if let Poll::Ready(read) = connection.poll_read(cx, &mut self.input, &self.direct.spare)
            {
                return Poll::Ready(Happened::Read(read));
            }
            let late = connection.deadline.poll_until(patience, cx);
            late.map(|()| Happened::Late)
        })
        .await
    }

    /// Takes what was read, at `now`. Returns what is to become of the connection, at the end.
    fn take(&mut self, first: &mut Tick, now: Tick) -> Result<Option<Then>, Failure> {
        loop {
            let decoded = self.decoder.decode(self.input.held(), &mut self.body);
            let (taken, found) = decoded.map_err(|what| self.faulty(what))?;
            self.input.take(taken);
            match found {
                Found::Part if self.head.is_some() => {
                    self.attempt.keeps(self.body.len() as u64)?;
                    return Ok(None);
                }
                Found::Part => {
                    if taken > 0 {
                        *first = now;
                    }
                    return Ok(None);
                }
                Found::Head(status, headers, announced) => {
                    self.head = Some(Head {
                        at: *first,
                        wall: self.attempt.clock.wall_at(*first),
                        status,
                        headers,
                    });
                    self.announced = announced;
                    self.body = self.attempt.room(announced)?;
                }
                Found::End(then) => {
                    self.attempt.keeps(self.body.len() as u64)?;
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
            return within_body(&why.to_string(), self.body.len(), self.announced);
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
            return within_body(what, self.body.len(), self.announced);
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
