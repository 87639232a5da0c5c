//! A part of runs that are over, measured from their tries. Floor 3: rules.

use std::time::Duration;

use http::StatusCode;

use super::stretch::{duration, per};
use super::{MeanUnits, Owner, Part, SECONDS, Stretch};
use crate::outcome::{Try, UnitsSpent};
use crate::units::{Tick, nanos};

/// Sums over the tries in some spans of time. The order in which they are told is all one.
///
/// Memory: 4 bytes for each of the first 2 million seconds of a span.
#[derive(Debug)]
pub struct Measure {
    /// In order, none touches the next.
    spans: Vec<Span>,
    ended: u64,
    refused: u64,
    flight: u128,
    in_flight: u128,
    units: UnitsSpent,
}

#[derive(Debug)]
struct Span {
    from: Tick,
    to: Tick,
    /// Tries ended in each whole second.
    seconds: Vec<u32>,
}

impl Measure {
    /// Of these spans, which may overlap.
    pub fn new(spans: impl IntoIterator<Item = (Tick, Tick)>) -> Self {
        let mut sorted: Vec<(Tick, Tick)> = spans.into_iter().collect();
        sorted.sort_unstable();
        let mut spans: Vec<Span> = Vec::new();
        for (from, to) in sorted {
            match spans.last_mut().filter(|last| from <= last.to) {
                Some(last) => last.to = last.to.max(to),
                None => spans.push(Span {
                    from,
                    to,
                    seconds: Vec::new(),
                }),
            }
        }
        Self {
            spans,
            ended: 0,
            refused: 0,
            flight: 0,
            in_flight: 0,
            units: UnitsSpent::default(),
        }
    }

    /// A try that has ended.
    pub fn add(&mut self, made: &Try) {
        let first = self.spans.partition_point(|span| span.to < made.granted);
        for span in &mut self.spans[first..] {
            if span.from > made.done {
                return;
            }
            let (from, to) = (span.from.max(made.granted), span.to.min(made.done));
            self.in_flight += u128::from(nanos(to.since(from)));
            // What ended at the very beginning had been in flight before it.
            let before = made.done == span.from && made.granted < span.from;
            if before || made.done > span.to {
                continue;
            }
            self.ended += 1;
            self.refused += u64::from(made.status == Some(StatusCode::TOO_MANY_REQUESTS));
            self.flight += u128::from(nanos(made.done.since(made.granted)));
            self.units.add(made.units.unwrap_or_default());
            span.bump(made.done);
        }
    }

    /// The means, with whose time it was.
    #[expect(
        clippy::cast_precision_loss,
        reason = "means are shown with three digits"
    )]
    pub fn close(self, part: Part, shares: Vec<(Owner, Duration)>) -> Stretch {
        let from = self.spans.first().map(|span| span.from).unwrap_or_default();
        let to = self.spans.last().map(|span| span.to).unwrap_or_default();
        let lengths = self.spans.iter().map(|span| span.to.since(span.from));
        let length: Duration = lengths.sum();
        let (seconds, ended) = (length.as_secs_f64(), self.ended as f64);
        let mean = self.flight.checked_div(self.ended.into());
        Stretch {
            part,
            from,
            to,
            gaps: to.since(from).saturating_sub(length),
            shares,
            in_flight: per(self.in_flight as f64 / 1e9, seconds),
            ended: self.ended,
            refused: self.refused,
            rate: per(ended, seconds),
            mean: mean.map(duration),
            units: MeanUnits {
                total: per(self.units.total.used as f64, ended),
                input: per(self.units.input.used as f64, ended),
                output: per(self.units.output.used as f64, ended),
            },
            per_second: self.spans.into_iter().flat_map(Span::seconds).collect(),
        }
    }
}

impl Span {
    fn bump(&mut self, at: Tick) {
        let second = usize::try_from(at.since(self.from).as_secs()).unwrap_or(usize::MAX);
        if second < SECONDS {
            if self.seconds.len() <= second {
                self.seconds.resize(second + 1, 0);
            }
            self.seconds[second] = self.seconds[second].saturating_add(1);
        }
    }

    fn seconds(mut self) -> Vec<u32> {
        let whole = usize::try_from(self.to.since(self.from).as_secs()).unwrap_or(usize::MAX);
        self.seconds.resize(whole.min(SECONDS), 0);
        self.seconds
    }
}
