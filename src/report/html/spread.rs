//! How latencies are spread: bars upwards for what is ok, downwards for what failed. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use super::axis::{Axis, Kind, SIDE};
use super::markup::Text;
use super::series::float;
use crate::metrics::{ByVerdict, LONGEST, Latencies};
use crate::units::show_span;

const BARS: usize = 44;
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 216.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = WIDTH - SIDE;
const TOP: f64 = 22.0;
const BOTTOM: f64 = HEIGHT - 26.0;

/// The width of what is said of a mark.
const ROOM: f64 = 84.0;

/// Ratios have the same length from such a ratio of the longest to the shortest on.
const WIDE: f64 = 20.0;

/// The latencies that pictures side by side have room for, in microseconds.
pub(super) struct Range {
    least: f64,
    most: f64,
    kind: Kind,
}

impl Range {
    /// Of all of these; `None` if there is none.
    pub(super) fn of(all: &[&ByVerdict]) -> Option<Self> {
        let each = all.iter().flat_map(|it| [&it.ok, &it.failed]);
        let each = each.filter(|latencies| latencies.count() > 0);
        let ends = each.map(|latencies| {
            let least = latencies.quantile(0.0).unwrap_or_default().min(LONGEST);
            let most = latencies.max().unwrap_or_default().min(LONGEST);
            (micros(least), micros(most))
        });
        let (least, most) = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        let kind = if most >= least * WIDE {
            Kind::Log
        } else {
            Kind::Even
        };
        // The quantile is rounded up, and equal values need some room, too.
        let (least, most) = match kind {
            Kind::Log => (least * 0.9, most * 1.02),
            Kind::Even => {
                let room = ((most - least) * 0.04).max(most * 0.02);
                ((least - room).max(0.0), most + room)
            }
        };
        Some(Self { least, most, kind })
    }

    fn axis(&self, places: (f64, f64)) -> Axis {
        Axis::new(self.kind, (self.least, self.most), places)
    }
}

/// The picture with its name.
pub(super) fn figure(name: &str, latencies: &ByVerdict, range: &Range) -> String {
    let (ok, failed) = (&latencies.ok, &latencies.failed);
    let told = |verdict: &str, latencies: &Latencies| {
        latencies.quantile(0.5).map(|half| {
            let most = latencies.max().unwrap_or_default();
            format!(
                "{} {verdict}, half within {}, all within {}",
                latencies.count(),
                show_span(half),
                show_span(most)
            )
        })
    };
    let told: Vec<_> = [told("ok", ok), told("failed", failed)]
        .into_iter()
        .flatten()
        .collect();
    let told = told.join("; ");
    format!(
        "<figure><figcaption><b>{name}</b>{told}</figcaption>{}</figure>",
        picture(name, &told, latencies, range)
    )
}

fn picture(name: &str, told: &str, latencies: &ByVerdict, range: &Range) -> String {
    let (ok, failed) = (bars(&latencies.ok, range), bars(&latencies.failed, range));
    let most = |bars: &[u64]| float(bars.iter().copied().max().unwrap_or(0));
    let (up, down) = (most(&ok), most(&failed));
    let scale = (BOTTOM - TOP) / (up + down).max(1.0);
    let zero = TOP + up * scale;
    let mut out = format!(
        "<svg class=\"svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}: {}\">",
        Text(name),
        Text(told)
    );
    let x = range.axis((LEFT, RIGHT));
    for tick in x.ticks(5.0) {
        let at = x.at(tick);
        let _ = write!(
            out,
            "<line class=\"gridline\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 17.0,
            show_span(Duration::from_secs_f64(tick / 1e6))
        );
    }
    for (count, at) in [(up, TOP), (down, BOTTOM)] {
        if count > 0.0 {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{count}</text>",
                LEFT - 5.0,
                at + 4.0
            );
        }
    }
    let step = (RIGHT - LEFT) / float(BARS as u64);
    for (bars, class, sign) in [(&ok, "f1", -1.0), (&failed, "f2", 1.0)] {
        for (nth, &count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
            let height = (float(count) * scale).max(1.5);
            let top = if sign < 0.0 { zero - height } else { zero };
            let left = LEFT + step * float(nth as u64);
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{count}</title></rect>",
                step - 1.0
            );
        }
    }
    let _ = write!(
        out,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{zero:.1}\" y2=\"{zero:.1}\"/>"
    );
    marks(&mut out, &latencies.ok, &x);
    out + "</svg>"
}

/// Where half and where 99 % of what is ok are.
fn marks(out: &mut String, latencies: &Latencies, x: &Axis) {
    let mut texts = String::new();
    // Both may be on one side: they stand one above the other.
    for (quantile, name, up, left) in [(0.5, "p50", 23.0, true), (0.99, "p99", 11.0, false)] {
        let Some(latency) = latencies.quantile(quantile) else {
            return;
        };
        let at = x.at(micros(latency));
        let left = (left || at > RIGHT - ROOM) && at > LEFT + ROOM;
        let (anchor, beside) = if left {
            ("end", at - 4.0)
        } else {
            ("start", at + 4.0)
        };
        let _ = write!(
            out,
            "<line class=\"lsoft\" stroke-dasharray=\"2 3\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{BOTTOM}\"/>",
            up - 8.0
        );
        let _ = write!(
            texts,
            "<text class=\"strong\" x=\"{beside:.1}\" y=\"{up}\" text-anchor=\"{anchor}\">{name} {}</text>",
            show_span(latency)
        );
    }
    out.push_str(&texts);
}

/// How many are in each bar. What is longer than an hour is in the last.
fn bars(latencies: &Latencies, range: &Range) -> Vec<u64> {
    let mut bars = vec![0; BARS];
    let axis = range.axis((0.0, float(BARS as u64)));
    let histogram = latencies.histogram();
    for value in histogram.iter_recorded() {
        let middle = Duration::from_micros(histogram.median_equivalent(value.value_iterated_to()));
        bars[place(axis.at(micros(middle)))] += value.count_at_value();
    }
    bars[BARS - 1] += latencies.beyond();
    bars
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place on the axis"
)]
fn place(at: f64) -> usize {
    (at as usize).min(BARS - 1)
}

/// Nothing is shorter than a microsecond on an axis of ratios.
fn micros(latency: Duration) -> f64 {
    (latency.as_secs_f64() * 1e6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn every_latency_is_in_a_bar() {
        for (name, report) in samples::all() {
            let (service, since_due) = (
                &report.summary.tally.service,
                &report.summary.tally.since_due,
            );
            let Some(range) = Range::of(&[service, since_due]) else {
                assert_eq!(service.ok.count(), 0, "{name}");
                continue;
            };
            for latencies in [
                &service.ok,
                &service.failed,
                &since_due.ok,
                &since_due.failed,
            ] {
                let bars = bars(latencies, &range);
                assert_eq!(
                    bars.iter().sum::<u64>(),
                    latencies.count(),
                    "{name}: {bars:?}"
                );
            }
            let figure = figure("Service time", service, &range);
            assert!(
                !figure.contains("NaN") && !figure.contains("inf"),
                "{name}: {figure}"
            );
        }
    }
}
