//! What the text and the page say of a run in the same words. Floor 4: doors.

use std::time::Duration;

use super::Report;
use crate::metrics::Part;
use crate::metrics::condition::Judged;
use crate::metrics::littles::Cause;
use crate::units::{show_span, three_digits};

/// Little's law is a law of means over whole tries: within so many per cent it is said to agree. A try
/// that crosses an end of the part counts whole in its latency and in part in what was in flight.
const AGREES: f64 = 5.0;

/// Little's law in the figures of a run.
pub(super) struct Law {
    /// Mean tries in flight.
    pub(super) in_flight: f64,
    /// Tries that ended per second.
    pub(super) rate: f64,
    /// Their mean time in flight.
    pub(super) mean: Duration,
    /// What stands between the one and the product of the others.
    pub(super) sign: char,
    /// How near they are.
    pub(super) verdict: String,
}

impl Report {
    /// `None` where nothing was in flight, or nothing answered.
    pub(super) fn law(&self) -> Option<Law> {
        let stretch = &self.summary.stretch;
        let (mean, product) = stretch.mean.zip(self.theory.in_flight)?;
        if stretch.in_flight <= 0.0 || !self.summary.was_answered() {
            return None;
        }
        let apart = (product / stretch.in_flight - 1.0).abs() * 100.0;
        let (sign, verdict) = if apart <= AGREES {
            ('=', format!("agrees to {apart:.1} %"))
        } else {
            let why = "tries cross the ends of a short part";
            ('~', format!("differs by {apart:.0} %: {why}"))
        };
        Some(Law {
            in_flight: stretch.in_flight,
            rate: stretch.rate,
            mean,
            sign,
            verdict,
        })
    }

    /// Why means are taken over the whole run; `None` where they are not.
    pub(super) fn why_whole(&self) -> Option<&'static str> {
        match self.summary.stretch.part {
            Part::Steady => None,
            Part::Whole => Some("under 20 ended tries or 1 s of steady part"),
            Part::Recorded => Some("nothing tells its steady part"),
        }
    }

    /// The number of the limit that sets the lowest ceiling, and that ceiling, per second.
    pub(super) fn lowest_limit(&self) -> Option<(usize, f64)> {
        let mut ceilings = self.theory.ceilings.iter();
        ceilings.find_map(|ceiling| match ceiling.cause {
            Cause::Limit(number, _) => Some((number, ceiling.rate)),
            Cause::Slots(..) => None,
        })
    }

    /// The rate reached, and how it is counted; `None` of fewer than two sends.
    pub(super) fn reached(&self) -> Option<String> {
        let sends = &self.summary.tally.sends;
        let reached = sends.rate()?;
        Some(format!(
            "{}/s = ({} - 1) sends / {} from the first to the last",
            three_digits(reached),
            sends.count,
            show_span(sends.last.since(sends.first))
        ))
    }
}

/// What stands before a condition that has been judged.
pub(super) fn judged(judged: &Judged) -> &'static str {
    if judged.is_true { "true" } else { "false" }
}

/// `9.93/s`.
pub(super) fn per_second(rate: f64) -> String {
    format!("{}/s", three_digits(rate))
}

/// The same; `none` where there is none.
pub(super) fn rate(rate: Option<f64>, none: &str) -> String {
    rate.map_or_else(|| none.to_owned(), per_second)
}
