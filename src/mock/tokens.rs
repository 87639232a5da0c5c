//! An answer of the modelled API token by token, as a stream of events. Floor 4: doors.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};

use super::arrivals::Arrival;
use crate::clock::Clock;
use crate::json::find;
use crate::units::{Tick, nanos};

/// The most that is written at once of what is due.
const PIECE: usize = 16 << 10;

/// A body of so many tokens, evenly spread over the time that the answer takes, in the events of `OpenAI`'s chat.
pub(super) struct Tokens {
    clock: Clock,
    schedule: Schedule,
    /// Those that were written.
    written: u64,
    is_over: bool,
    rest: Pin<Box<dyn Future<Output = ()>>>,
    /// Its line is written with the last token.
    arrival: Option<Arrival>,
}

/// When each token is due: the last one when the answer is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) arrived: Tick,
    pub(super) took: Duration,
    /// Never zero.
    pub(super) tokens: u64,
}

impl Schedule {
    /// When the `nth` is due, from 1.
    pub(super) fn due(self, nth: u64) -> Tick {
        let share = u128::from(nanos(self.took)) * u128::from(nth) / u128::from(self.tokens);
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        self.arrived.after(Duration::from_nanos(share))
    }
}

/// Whether the body of a request asks for a stream.
pub(super) fn asks_for_stream(body: &[u8]) -> bool {
    let text = str::from_utf8(body).ok();
    let stream = text.and_then(|text| find(text, &["stream"]));
    stream.is_some_and(|value| value.get() == "true")
}

impl Tokens {
    pub(super) fn new(clock: Clock, schedule: Schedule, arrival: Arrival) -> Self {
        Self {
            clock,
            schedule,
            written: 0,
            is_over: false,
            rest: Box::pin(std::future::ready(())),
            arrival: Some(arrival),
        }
    }

    /// All that is due now, as far as one piece holds it.
    fn due(&mut self) -> String {
        let (now, mut piece) = (self.clock.now(), String::new());
        while self.written < self.schedule.tokens
            && self.schedule.due(self.written + 1) <= now
            && piece.len() < PIECE
        {
            self.written += 1;
            let _ = write!(
                piece,
                "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\
                 \"delta\":{{\"content\":\" {}\"}},\"finish_reason\":null}}]}}\n\n",
                self.written
            );
        }
        if self.written == self.schedule.tokens {
            let tokens = self.written;
            let _ = write!(
                piece,
                "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[],\
                 \"usage\":{{\"completion_tokens\":{tokens},\"total_tokens\":{tokens}}}}}\n\n\
                 data: [DONE]\n\n"
            );
            self.is_over = true;
            self.arrival = None;
        }
        piece
    }
}

impl Body for Tokens {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        while !this.is_over {
            ready!(this.rest.as_mut().poll(cx));
            let piece = this.due();
            let (clock, next) = (this.clock, this.schedule.due(this.written + 1));
            this.rest = Box::pin(async move { clock.sleep_until(next).await });
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(piece.into()))));
            }
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_token_is_due_when_the_answer_is_whole_and_the_others_evenly_before() {
        let schedule = Schedule {
            arrived: Tick(1_000),
            took: Duration::from_nanos(10),
            tokens: 4,
        };
        assert_eq!(
            [1, 2, 3, 4].map(|nth| schedule.due(nth).0),
            [1_002, 1_005, 1_007, 1_010]
        );
        let long = Schedule {
            took: Duration::MAX,
            tokens: u64::MAX,
            ..schedule
        };
        assert_eq!(long.due(1), Tick(1_001));
        assert_eq!(long.due(u64::MAX), Tick(u64::MAX));
    }

    #[test]
    fn only_a_body_that_says_true_asks_for_a_stream() {
        assert!(asks_for_stream(br#"{"model":"m","stream": true,"x":[1]}"#));
        for body in [
            &br#"{"stream":false}"#[..],
            br#"{"stream":"true"}"#,
            br#"{"a":{"stream":true}}"#,
            br#"{"stream":true"#,
            b"",
            b"\xff",
        ] {
            assert!(!asks_for_stream(body), "{body:?}");
        }
    }
}
