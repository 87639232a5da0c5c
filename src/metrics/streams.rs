//! The paces of answers that were streams of events. Floor 3: rules.

use std::time::Duration;

use super::ByVerdict;
use crate::outcome::Status;
use crate::stream::{Pace, Stream};

/// What is counted of them. Memory: 1.4 MB, with the first.
#[derive(Debug, Default)]
pub struct Streams {
    /// Answers, over all tries, whole or not.
    pub answers: u64,
    /// Of them: did not tell their tokens, so that their events are counted.
    pub by_events: u64,
    /// The tokens of all of them.
    pub output: u64,
    /// First byte written to first token; here and below of a job's last try.
    pub first_token: ByVerdict,
    /// The mean gap between tokens, of each answer.
    pub mean_gap: ByVerdict,
    /// The longest, of each answer.
    pub longest_gap: ByVerdict,
    /// Time for each token after the first, of each answer.
    pub per_token: ByVerdict,
}

impl Streams {
    /// A try has ended whose answer was one.
    pub(super) fn ended(&mut self, stream: &Stream) {
        self.answers += 1;
        self.by_events += u64::from(stream.output.is_none());
        self.output = self.output.saturating_add(stream.output());
    }

    /// A job has its last word, and its last answer was one.
    pub(super) fn done(&mut self, pace: Pace, status: Status) {
        for (book, span) in [
            (&mut self.first_token, pace.first_token),
            (&mut self.mean_gap, pace.mean_gap),
            (&mut self.longest_gap, pace.longest_gap),
            (&mut self.per_token, pace.per_token),
        ] {
            if let Some(span) = span {
                book.of(status).add(span);
            }
        }
    }
}

/// Tokens per second, if each takes so long; `None` if they take none.
pub fn per_second(per_token: Duration) -> Option<f64> {
    (!per_token.is_zero()).then(|| 1.0 / per_token.as_secs_f64())
}
