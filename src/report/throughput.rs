//! The part of the text that sets observed throughput beside its ceilings. Floor 4: doors.

use std::fmt::Write as _;

use super::Report;
use super::bars::{Mark, histogram};
use super::fold::folded;
use super::page::{Page, Tone};
use super::said;
use crate::limit::Counts;
use crate::metrics::littles::Cause;
use crate::metrics::{Owner, Part};
use crate::units::{Cost, counted, show_span, three_digits};

/// Where the sentence on the histogram begins, and where its axis does.
const UNDER: usize = 2;
const AXIS: usize = 4;

impl Page {
    pub(super) fn throughput(&mut self, report: &Report) {
        let stretch = &report.summary.stretch;
        let observed = report.summary.observed();
        let dash = self.glyphs().dash();
        let mut text = format!("observed {}", said::rate(observed, dash));
        let mut shares = Vec::new();
        if let Some(ceiling) = report.theory.slots_ceiling() {
            if let Cause::Slots(slots, mean) = &ceiling.cause {
                let _ = write!(
                    text,
                    "     theory {} / {} = {}/s",
                    counted(*slots, "slot"),
                    show_span(*mean),
                    three_digits(ceiling.rate)
                );
            }
            shares.push(format!("{} of it", percent_of(stretch.rate, ceiling.rate)));
        } else {
            let _ = write!(text, "     theory {dash}");
        }
        if let Some((number, rate)) = report.lowest_limit().filter(|_| observed.is_some()) {
            let name = report.setup.all_of(number);
            let limit = &report.setup.limits[number];
            let bursts = limit.kind.has_burst() && limit.burst > Cost::ONE;
            let why = if stretch.rate > rate * 1.05 && bursts {
                ", as its burst allows"
            } else {
                ""
            };
            shares.push(format!("{} of {name}{why}", percent_of(stretch.rate, rate)));
        }
        if !shares.is_empty() {
            let _ = write!(text, "     {}", shares.join(", "));
        }
        self.section("THROUGHPUT", &text, Tone::Calm);
        self.histogram(report);
    }

    fn histogram(&mut self, report: &Report) {
        let (summary, stretch) = (&report.summary, &report.summary.stretch);
        let span = stretch.span();
        if !report.summary.was_answered() {
            return;
        }
        if stretch.per_second.len() < 2 {
            let text = format!(
                "no histogram of answers per second: under 2 whole seconds ({})",
                show_span(span)
            );
            self.under(&text);
            return;
        }
        let part = match stretch.part {
            Part::Whole | Part::Recorded => "of the run".to_owned(),
            Part::Steady if !stretch.gaps.is_zero() => {
                format!("of {:.1} steady s of several runs", span.as_secs_f64())
            }
            Part::Steady => {
                let before = stretch.from.since(summary.tally.sends.first);
                let after = summary.elapsed.saturating_sub(before + span);
                format!(
                    "of {:.1}\u{a0}steady\u{a0}s (first {:.1} s and last {:.1} s left out)",
                    span.as_secs_f64(),
                    before.as_secs_f64(),
                    after.as_secs_f64()
                )
            }
        };
        let seconds = stretch.per_second.len();
        self.under(&format!(
            "answers per second, {seconds} whole seconds {part}"
        ));
        let room = self.columns() - AXIS;
        for line in histogram(&stretch.per_second, &marks(report), self.glyphs(), room) {
            self.line(&format!("{:AXIS$}{line}", ""));
        }
    }

    fn under(&mut self, text: &str) {
        for line in folded(text, self.columns() - UNDER) {
            self.line(&format!("{:UNDER$}{line}", ""));
        }
    }
}

/// What is marked on the axis of the histogram: the mean, and each ceiling.
pub(super) fn marks(report: &Report) -> Vec<Mark> {
    let mean = Mark {
        rate: report.summary.stretch.rate,
        text: "mean".to_owned(),
    };
    let binding = report.diagnosis.binding;
    let ceilings = report.theory.ceilings.iter().map(|ceiling| {
        let text = match &ceiling.cause {
            Cause::Slots(slots, mean) => {
                let name = format!("{} / {}", counted(*slots, "slot"), show_span(*mean));
                if binding == Some(Owner::Slot) {
                    let verb = if *slots == 1 { "binds" } else { "bind" };
                    format!("{name} {verb}")
                } else {
                    format!("{name}: Semaphore({slots}) alone ends here")
                }
            }
            Cause::Limit(number, _) => {
                let name = report.setup.all_of(*number);
                let verb = if binding == Some(Owner::Limit(*number)) {
                    " binds"
                } else {
                    ""
                };
                match report.setup.limits[*number].counts {
                    Counts::Requests => format!("{name}{verb}"),
                    counts @ (Counts::Units | Counts::Input | Counts::Output) => {
                        let units = three_digits(report.summary.stretch.units.of(counts));
                        format!("{name} at {units} a try{verb}")
                    }
                }
            }
        };
        Mark {
            rate: ceiling.rate,
            text,
        }
    });
    std::iter::once(mean).chain(ceilings).collect()
}

pub(super) fn percent_of(part: f64, whole: f64) -> String {
    let percent = if whole > 0.0 {
        part / whole * 100.0
    } else {
        0.0
    };
    if percent > 999.0 {
        ">999 %".to_owned()
    } else if percent > 0.0 && percent < 0.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}
