//! What is seen of a discipline while it runs. Floor 5: drive.

use std::time::Duration;

use hdrhistogram::Histogram;
use http::StatusCode;

use crate::metrics::{Busiest, Sends, Timeline};
use crate::outcome::{Outcome, Status};
use crate::report::comparison::{Figures, LONG, Raster, SHORT};
use crate::units::Tick;

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
    refused: u64,
    not_sent: u64,
    ok: u64,
    finish: Tick,
}

impl Record {
    pub(super) fn new(raster: Raster) -> Self {
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
            refused: 0,
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
        self.on_their_way += 1;
        self.peak = self.peak.max(self.on_their_way);
    }

    /// A try that was sent then has ended, with this status if one came.
    pub(super) fn ended(&mut self, sent: Tick, at: Tick, status: Option<StatusCode>) {
        self.on_their_way = self.on_their_way.saturating_sub(1);
        self.timeline.ended(at, status);
        self.timeline.flight(sent, at, 1);
        self.flights.0 += at.since(sent).as_nanos();
        self.flights.1 += 1;
        self.finish = self.finish.max(at);
        if status == Some(StatusCode::TOO_MANY_REQUESTS) {
            self.refused += 1;
            self.raster.refused(sent);
        }
    }

    /// A job that arrived then has its last word.
    pub(super) fn done(&mut self, arrived: Tick, outcome: &Outcome) {
        let Some(last) = outcome.tries.last() else {
            self.not_sent += 1;
            return;
        };
        self.ok += u64::from(outcome.status == Status::Ok);
        let span = last.done.since(arrived);
        self.longest = self.longest.max(span);
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.answered.saturating_record(micros);
    }

    /// Whether jobs were never sent.
    pub(super) fn has_left_out(&self) -> bool {
        self.not_sent > 0
    }

    /// The figures, with who held the jobs longest.
    pub(super) fn close(self, bound_by: String) -> Figures {
        let quantile = |share: f64| {
            let micros = self.answered.value_at_quantile(share);
            let span = Duration::from_micros(micros).min(self.longest);
            (!self.answered.is_empty()).then_some(span)
        };
        let mean = self.flights.0.checked_div(u128::from(self.flights.1));
        let mean = mean.map(|mean| u64::try_from(mean).unwrap_or(u64::MAX));
        Figures {
            sends: self.sends.count,
            rate: self.sends.rate(),
            most_in_short: self.short.most(),
            most_in_long: self.long.most(),
            not_sent: self.not_sent,
            ok: self.ok,
            refused: self.refused,
            p50: quantile(0.5),
            p99: quantile(0.99),
            peak_in_flight: self.peak,
            finish: self.finish.since(Tick::ZERO),
            bound_by,
            mean: mean.map(Duration::from_nanos),
            raster: self.raster,
            timeline: self.timeline,
        }
    }
}
