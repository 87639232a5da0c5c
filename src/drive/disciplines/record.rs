//! What is seen of a discipline while it runs. Floor 5: drive.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use http::StatusCode;

use crate::metrics::{Busiest, Sends, Stretch, Timeline};
use crate::outcome::{Failure, Outcome, Reached, Status};
use crate::report::comparison::{Figures, LONG, Means, Others, Raster, SHORT};
use crate::units::Tick;

/// A run as it was measured.
pub(super) struct Measured {
    pub(super) figures: Figures,
    /// The means that theory is set beside.
    pub(super) stretch: Stretch,
    /// Sends per second behind the first round of all slots, from the last send of that round to the last of all: of a
    /// whole number of rounds exact where all take as long, however the sends of a round are spread. `None` under two rounds.
    pub(super) rate: Option<f64>,
}

/// What is seen of a discipline while it runs. Memory: fixed, but what is sent within a second.
#[derive(Debug)]
pub(super) struct Record {
    short: Busiest,
    long: Busiest,
    raster: Raster,
    timeline: Timeline,
    /// From arrival to the last answer, in microseconds; up to the end of time.
    answered: Histogram<u32>,
    longest: Duration,
    /// Total and number of times in flight.
    flights: (u128, u64),
    on_their_way: u64,
    peak: u64,
    sends: Sends,
    /// Sends that fill all slots once.
    round: u64,
    /// The last of the first round.
    filled: Tick,
    /// Those of them that found no connection in the end.
    never_left: u64,
    refused: u64,
    others: Others,
    not_sent: u64,
    ok: u64,
    finish: Tick,
}

impl Record {
    /// `round` is the number of slots.
    pub(super) fn new(raster: Raster, round: u64) -> Self {
        let longest = u64::MAX / 1_000;
        Self {
            short: Busiest::new(SHORT),
            long: Busiest::new(LONG),
            raster,
            timeline: Timeline::default(),
            answered: Histogram::new_with_max(longest, 3).expect("the bounds are valid"),
            longest: Duration::ZERO,
            flights: (0, 0),
            on_their_way: 0,
            peak: 0,
            sends: Sends::default(),
            round,
            filled: Tick::ZERO,
            never_left: 0,
            refused: 0,
            others: Others::default(),
            not_sent: 0,
            ok: 0,
            finish: Tick::ZERO,
        }
    }

    /// A try goes out.
    pub(super) fn sent(&mut self, at: Tick) {
        self.short.add(at);
        self.long.add(at);
        self.raster.sent(at);
        self.timeline.sent(at);
        self.sends.add(at);
        if self.sends.count == self.round {
            self.filled = at;
        }
        self.on_their_way += 1;
        self.peak = self.peak.max(self.on_their_way);
    }

    /// A try has ended, with this status or for this reason. If it was sent, it was then.
    pub(super) fn ended(
        &mut self,
        sent: Option<Tick>,
        at: Tick,
        end: Result<StatusCode, &Failure>,
    ) {
        self.finish = self.finish.max(at);
        let never_left = end.is_err_and(|failure| failure.reached == Reached::NotSent);
        if let Some(sent) = sent {
            self.on_their_way = self.on_their_way.saturating_sub(1);
            self.timeline.ended(at, end.ok());
            self.timeline.flight(sent, at, 1);
            if never_left {
                self.never_left += 1;
            } else {
                self.flights.0 += at.since(sent).as_nanos();
                self.flights.1 += 1;
            }
        }
        match end {
            Ok(StatusCode::TOO_MANY_REQUESTS) => {
                self.refused += 1;
                if let Some(sent) = sent {
                    self.raster.refused(sent);
                }
            }
            Ok(status) if status.is_success() => {}
            Ok(status) => add(&mut self.others.statuses, status.as_u16()),
            Err(failure) => add(&mut self.others.failures, failure.kind),
        }
    }

    /// A job that arrived then has its last word.
    pub(super) fn done(&mut self, arrived: Tick, outcome: &Outcome) {
        let Some(last) = outcome.tries.last() else {
            self.not_sent += 1;
            return;
        };
        self.ok += u64::from(outcome.status == Status::Ok);
        if last.status.is_none() {
            return;
        }
        let span = last.done.since(arrived);
        self.longest = self.longest.max(span);
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.answered.saturating_record(micros);
    }

    /// Whether jobs were never sent.
    pub(super) fn has_left_out(&self) -> bool {
        self.not_sent > 0
    }

    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    fn rate_of_rounds(&self) -> Option<f64> {
        let span = self.sends.last.since(self.filled).as_secs_f64();
        let behind = self.sends.count.saturating_sub(self.round);
        (behind >= self.round && span > 0.0).then(|| behind as f64 / span)
    }

    /// What was measured, with who held the jobs longest.
    pub(super) fn close(self, bound_by: String, stretch: Stretch) -> Measured {
        let rate = self.rate_of_rounds();
        let quantile = |share: f64| {
            let micros = self.answered.value_at_quantile(share);
            let span = Duration::from_micros(micros).min(self.longest);
            (!self.answered.is_empty()).then_some(span)
        };
        let mean = self.flights.0.checked_div(u128::from(self.flights.1));
        let mean = mean.map(|mean| u64::try_from(mean).unwrap_or(u64::MAX));
        let figures = Figures {
            sends: self.sends.count - self.never_left,
            rate: self.sends.rate(),
            most_in_short: self.short.most(),
            most_in_long: self.long.most(),
            not_sent: self.not_sent,
            ok: self.ok,
            refused: self.refused,
            others: self.others,
            p50: quantile(0.5),
            p99: quantile(0.99),
            peak_in_flight: self.peak,
            finish: self.finish.since(Tick::ZERO),
            bound_by,
            mean: mean.map(Duration::from_nanos),
            means: stretch.mean.map(|latency| Means {
                ended: stretch.ended,
                rate: stretch.rate,
                latency,
            }),
            raster: self.raster,
            timeline: self.timeline,
        };
        Measured {
            figures,
            stretch,
            rate,
        }
    }
}

fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    *counts.entry(key).or_default() += 1;
}
