//! What was seen of an answer that is a stream of events. Floor 2: records.

use std::time::Duration;

use crate::units::{Tick, nanos, whole_micros};

/// A stream of events (`text/event-stream`), by the moments at which the pieces of its body came. One that broke off
/// keeps what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stream {
    /// Events, whatever they carried.
    pub events: u64,
    /// Of them: carried a part of the answer, nearly always one token. Those of one piece came at one moment.
    pub tokens: u64,
    /// When the first and the last of these came.
    pub span: Option<(Tick, Tick)>,
    /// How far they were apart; `None` under two of them.
    pub gaps: Option<Gaps>,
    /// The tokens of the answer, if its usage tells them.
    pub output: Option<u64>,
}

/// How far one token event came behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// Half of them were at most so long, rounded up to two significant digits.
    pub p50: Duration,
    /// All but one in a hundred were, with as many digits.
    pub p99: Duration,
    /// The longest, exactly.
    pub max: Duration,
}

/// What is counted of a stream, in whole microseconds: results tell no more, so what is counted of them is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// First byte written to first token.
    pub first_token: Option<Duration>,
    /// Mean gap between token events.
    pub mean_gap: Option<Duration>,
    /// The longest of them.
    pub longest_gap: Option<Duration>,
    /// Time for each token after the first.
    pub per_token: Option<Duration>,
}

impl Stream {
    /// The tokens of the answer, else the events that carried some.
    pub fn output(&self) -> u64 {
        self.output.unwrap_or(self.tokens)
    }

    /// From the first token to the last.
    fn took(&self) -> Option<Duration> {
        self.span.map(|(first, last)| last.since(first))
    }

    /// `(last − first) / (tokens − 1)` over token events; `None` under two.
    pub fn mean_gap(&self) -> Option<Duration> {
        each(self.took()?, self.tokens)
    }

    /// `(last − first) / (output − 1)`; `None` under two, and of an answer whose tokens all came at one moment: that
    /// is no pace.
    pub fn per_token(&self) -> Option<Duration> {
        let took = self.took().filter(|took| !took.is_zero())?;
        each(took, self.output())
    }

    /// The same as tokens per second, those after the first; `None` of fewer than two, or where they took no time.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn per_second(&self) -> Option<f64> {
        let took = self.took().filter(|took| !took.is_zero())?;
        let after_first = self.output().checked_sub(1).filter(|&count| count > 0)?;
        Some(after_first as f64 / took.as_secs_f64())
    }

    /// What is counted of it, if its request was sent then.
    pub fn pace(&self, sent: Tick) -> Pace {
        Pace {
            first_token: self.span.map(|(first, _)| whole_micros(first.since(sent))),
            mean_gap: self.mean_gap().map(whole_micros),
            longest_gap: self.gaps.map(|gaps| whole_micros(gaps.max)),
            per_token: self.per_token().map(whole_micros),
        }
    }
}

/// The mean distance of so many moments, the first and the last of which are so far apart.
fn each(took: Duration, moments: u64) -> Option<Duration> {
    let distances = moments.checked_sub(1)?;
    nanos(took).checked_div(distances).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(tokens: u64, output: Option<u64>, took: u64) -> Stream {
        Stream {
            events: tokens + 2,
            tokens,
            span: (tokens > 0).then_some((Tick(5_000_000), Tick(5_000_000 + took))),
            gaps: (tokens > 1).then_some(Gaps {
                max: Duration::from_nanos(7_777_777),
                ..Gaps::default()
            }),
            output,
        }
    }

    #[test]
    fn a_rate_is_of_the_tokens_after_the_first_as_usage_counts_them_else_of_events() {
        let told = stream(11, Some(21), 100_000_000);
        assert_eq!(told.per_second(), Some(200.0));
        assert_eq!(told.per_token(), Some(Duration::from_millis(5)));
        assert_eq!(told.mean_gap(), Some(Duration::from_millis(10)));
        let untold = stream(11, None, 100_000_000);
        assert_eq!(untold.per_second(), Some(100.0));
        assert_eq!((untold.output(), told.output()), (11, 21));
    }

    #[test]
    fn one_token_and_one_moment_have_no_rate() {
        for (tokens, output, took, mean) in [
            (0, None, 0, None),
            (0, Some(9), 0, None),
            (1, None, 0, None),
            (1, Some(9), 0, None),
            (9, Some(9), 0, Some(Duration::ZERO)),
            (2, Some(1), 100, Some(Duration::from_nanos(100))),
            (2, Some(0), 100, Some(Duration::from_nanos(100))),
        ] {
            let stream = stream(tokens, output, took);
            assert_eq!(stream.per_second(), None, "{stream:?}");
            assert_eq!(stream.per_token(), None, "{stream:?}");
            assert_eq!(stream.mean_gap(), mean, "{stream:?}");
        }
    }

    #[test]
    fn what_is_counted_has_whole_microseconds() {
        let micros = |micros| Some(Duration::from_micros(micros));
        let pace = stream(3, Some(4), 10_000_000).pace(Tick(1_500));
        let expected = Pace {
            first_token: micros(4_998),
            mean_gap: micros(5_000),
            longest_gap: micros(7_777),
            per_token: micros(3_333),
        };
        assert_eq!(pace, expected);
    }
}
