//! What the text and the page say of a run in the same words. Floor 4: doors.

use std::time::Duration;

use super::Report;
use crate::metrics::condition::Judged;
use crate::metrics::littles::Cause;
use crate::metrics::{Owner, Part, Tally};
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

    /// The rate reached, per second; `None` where the sends are too few to have one.
    ///
    /// What went out at once, with no limit between, shows how fast a loop goes and not a rate.
    pub(super) fn rate_reached(&self) -> Option<f64> {
        let (sends, setup) = (&self.summary.tally.sends, &self.setup);
        let is_paced = !setup.limits.is_empty() || setup.arrivals.are_scheduled();
        let at_once = !is_paced && sends.count <= self.summary.peak_in_flight;
        let is_short = sends.last.since(sends.first) < LEAST_SPAN;
        let too_few = is_short && (sends.count < LEAST_SENDS || at_once);
        sends.rate().filter(|_| !too_few)
    }

    /// The same, and how it is counted; `none` stands for a rate that is not there.
    pub(super) fn reached(&self, none: &str) -> String {
        let sends = &self.summary.tally.sends;
        let span = show_span(sends.last.since(sends.first));
        match (self.rate_reached(), sends.count) {
            (Some(rate), count) => format!(
                "{}/s = ({count} - 1) sends / {span} from the first to the last",
                three_digits(rate),
            ),
            (None, 0 | 1) => none.to_owned(),
            (None, count) => format!("{none}: {count} sends within {span} are too few to tell"),
        }
    }
}

/// So many sends, or so long, and what lies between them is a rate.
const LEAST_SENDS: u64 = 20;
const LEAST_SPAN: Duration = Duration::from_secs(1);

/// What is waited for, as a sentence has it.
pub(super) fn waited_for(owner: Option<Owner>, name: &str) -> &str {
    match owner {
        Some(Owner::Nothing) => "nothing: no job waited",
        Some(Owner::Pause) => "pauses (asked for, or to go on one by one)",
        Some(Owner::Backoff) => "rests before retries",
        Some(Owner::Client) => "this program",
        Some(Owner::Sink) => "results to be written",
        Some(
            Owner::Input
            | Owner::LookAhead
            | Owner::Slot
            | Owner::HostSlot
            | Owner::SharedSlot
            | Owner::Order
            | Owner::Connect
            | Owner::Adaptive
            | Owner::Store
            | Owner::Limit(_),
        )
        | None => name,
    }
}

/// What percentiles of few are: with `n` of them, those above `1 - 1/n` are the slowest.
pub(super) fn few(tally: &Tally) -> Option<&'static str> {
    let all = [&tally.service.ok, &tally.since_due.ok];
    let few = all.iter().any(|of| (1..100).contains(&of.count()));
    few.then_some("of fewer than 100 the slowest is their p99, of fewer than 1000 their p99.9")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::units::Tick;

    /// What is said of a run with so many sends, so many of them at once, within so long.
    fn reached(report: Report, count: u64, peak: u64, span: Duration) -> String {
        let Report {
            mut summary,
            setup,
            facts,
            ..
        } = report;
        summary.peak_in_flight = peak;
        let sends = &mut summary.tally.sends;
        (sends.count, sends.first) = (count, Tick::ZERO);
        sends.last = Tick::ZERO.after(span);
        Report::new(summary, setup, facts).reached("—")
    }

    #[test]
    fn sends_that_are_too_few_or_went_at_once_have_no_rate() {
        let (ms, us) = (Duration::from_millis, Duration::from_micros);
        let few = |count, span| format!("—: {count} sends within {span} are too few to tell");
        for (paced, count, peak, span, told) in [
            (false, 2, 2, us(44), few(2, "44.0 us")),
            (true, 3, 2, ms(200), few(3, "200 ms")),
            (false, 30, 30, us(300), few(30, "300 us")),
            (false, 0, 0, ms(0), "—".to_owned()),
            (false, 1, 1, ms(0), "—".to_owned()),
        ] {
            let report = if paced {
                samples::held_by_qps()
            } else {
                samples::held_by_slots()
            };
            assert_eq!(reached(report, count, peak, span), told);
        }
        // Twenty of a pace, many more than go at once, or a second of them are enough.
        for (report, count, peak, span, rate) in [
            (samples::held_by_qps(), 21, 21, ms(200), "100/s"),
            (samples::held_by_slots(), 101, 20, ms(250), "400/s"),
            (samples::held_by_slots(), 3, 3, ms(1000), "2.00/s"),
        ] {
            let told = reached(report, count, peak, span);
            assert!(
                told.starts_with(&format!("{rate} = ({count} - 1) sends / ")),
                "{told}"
            );
        }
    }

    #[test]
    fn percentiles_of_few_are_said_to_be_their_slowest() {
        let mut tally = samples::held_by_qps().summary.tally;
        assert_eq!(few(&tally), None);
        tally.service.ok = crate::metrics::Latencies::default();
        tally.service.ok.add(Duration::from_millis(1));
        assert!(few(&tally).is_some());
        assert!(samples::held_by_qps().reached("—").starts_with("10.0/s"));
    }
}
