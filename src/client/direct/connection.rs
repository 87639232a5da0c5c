//! A connection to a server, plain or secure. Floor 4: doors.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::unconstrained;
use tokio_rustls::client::TlsStream;

use super::input::Input;
use super::request::Request;
use super::spare::Spare;
use super::wire::Wire;
use crate::clock::Deadline;
use crate::units::Tick;

/// What bytes go through, and what waits for them.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// Until when bytes are waited for.
    pub(super) deadline: Deadline,
    pub(super) age: Age,
    /// Since when it waits for a request, if it does.
    pub(super) idle_since: Tick,
    /// Until when it may wait.
    pub(super) fit_until: Tick,
}

/// What a connection has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    Fresh,
    /// An answer at least.
    Reused,
}

#[derive(Debug)]
pub(super) enum Stream {
    Plain(Wire),
    Secure(Box<TlsStream<Wire>>),
}

impl Connection {
    pub(super) fn new(stream: Stream, deadline: Deadline) -> Self {
        Self {
            stream,
            deadline,
            age: Age::Fresh,
            idle_since: Tick::ZERO,
            fit_until: Tick::ZERO,
        }
    }

    /// Whether it still waits for a request, as far as is known here: the server has not closed it, and has sent
    /// nothing that nobody asked for.
    pub(super) fn is_fit(&mut self) -> bool {
        let mut byte = [0];
        at_once(|cx| self.stream.poll_read(cx, &mut ReadBuf::new(&mut byte))).is_pending()
    }

    /// Writes what the request has left. Ready when all has been handed to the system, or nothing more can be.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        request: &mut Request,
    ) -> Poll<io::Result<()>> {
        while !request.is_written() {
            match ready!(self.stream.poll_write(cx, request.rest()))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => request.advance(written),
            }
        }
        match &mut self.stream {
            Stream::Plain(_) => Poll::Ready(Ok(())),
            Stream::Secure(stream) => Pin::new(&mut **stream).poll_flush(cx),
        }
    }

    /// Reads what is there; nothing: the server has closed it. While nothing is there no memory is held.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        input: &mut Input,
        spare: &Spare,
    ) -> Poll<io::Result<usize>> {
        let mut free = ReadBuf::new(input.free(spare));
        match self.stream.poll_read(cx, &mut free) {
            Poll::Ready(Ok(())) => {
                let read = free.filled().len();
                input.filled(read);
                Poll::Ready(Ok(read))
            }
            Poll::Ready(Err(why)) => Poll::Ready(Err(why)),
            Poll::Pending => {
                input.rest(spare);
                Poll::Pending
            }
        }
    }
}

impl Stream {
    fn poll_write(&mut self, cx: &mut Context<'_>, pieces: [&[u8]; 2]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => poll_write(stream, cx, pieces),
            Self::Secure(stream) => poll_write(&mut **stream, cx, pieces),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_read(cx, into),
        }
    }
}

/// Does what can be done without waiting, however much this turn of the loop has done already: a runtime that wants others
/// to go on would have it look as if nothing could be.
pub(super) fn at_once<T>(mut work: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    pin!(unconstrained(poll_fn(|cx| work(cx)))).poll(&mut Context::from_waker(Waker::noop()))
}

/// Writes of both what it can; one piece alone costs the system less.
fn poll_write(
    stream: &mut (impl AsyncWrite + Unpin),
    cx: &mut Context<'_>,
    [first, second]: [&[u8]; 2],
) -> Poll<io::Result<usize>> {
    let stream = Pin::new(stream);
    match (first, second) {
        (only, []) | ([], only) => stream.poll_write(cx, only),
        _ => stream.poll_write_vectored(cx, &[IoSlice::new(first), IoSlice::new(second)]),
    }
}
