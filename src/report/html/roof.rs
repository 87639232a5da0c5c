//! Little's law as a picture: throughput over latency, under what cannot be passed. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use super::axis::{Axis, Kind, SIDE};
use super::markup::Text;
use super::series::float;
use crate::metrics::littles::{Cause, plain};
use crate::report::Report;
use crate::units::{show_span, three_digits};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 46.0;
const BOTTOM: f64 = HEIGHT - 40.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = WIDTH - SIDE;

/// The height of a line of text.
const LINE: f64 = 17.0;

/// Letters of a name in the picture.
const LETTERS: usize = 24;

/// A run in the picture, and what bounds it there.
struct Roof {
    /// The mean time in flight, in seconds, and answers per second.
    mean: f64,
    rate: f64,
    slots: Option<f64>,
    /// The names and rates of the limits that set a ceiling, lowest first.
    limits: Vec<(String, f64)>,
    /// The latencies and the rates that have room.
    across: (f64, f64),
    up: (f64, f64),
}

pub(super) fn picture(report: &Report) -> String {
    let Some(roof) = Roof::of(report) else {
        return "<p>Its tries took no time: there is nothing to draw.</p>".to_owned();
    };
    let mut out = format!(
        "<svg class=\"svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        Text(roof.told())
    );
    let axes = (
        Axis::new(Kind::Log, roof.across, (LEFT, RIGHT)),
        Axis::new(Kind::Log, roof.up, (BOTTOM, TOP)),
    );
    grid(&mut out, &axes);
    roof.shade(&mut out, &axes);
    roof.limits(&mut out, &axes);
    roof.slots(&mut out, &axes);
    roof.run(&mut out, &axes);
    out + "</svg>"
}

impl Roof {
    /// `None` where nothing can be seen: the run took no time.
    fn of(report: &Report) -> Option<Self> {
        let stretch = &report.summary.stretch;
        let (mean, rate) = (stretch.mean?.as_secs_f64(), stretch.rate);
        if mean <= 0.0 || rate <= 0.0 {
            return None;
        }
        let ceilings = report.theory.ceilings.iter();
        let limits = ceilings.filter_map(|ceiling| match ceiling.cause {
            Cause::Limit(number, _) => Some((report.setup.all_of(number), ceiling.rate)),
            Cause::Slots(..) => None,
        });
        let mut roof = Self {
            mean,
            rate,
            slots: report.setup.slots.map(float),
            limits: limits.collect(),
            across: (mean, mean),
            up: (rate, rate),
        };
        // What is very far away has no room: the run has to be seen.
        let far = roof.crossing().unwrap_or(mean);
        let far = far.clamp(mean / 300.0, mean * 300.0);
        roof.across = (mean.min(far) / 6.0, mean.max(far) * 6.0);
        let at_mean = roof.slots.map(|slots| slots / mean);
        let limits = roof.limits.iter().map(|(_, rate)| *rate);
        let rates = at_mean.into_iter().chain(limits);
        let (low, high) = rates.fold((rate, rate), |(low, high), it| (low.min(it), high.max(it)));
        roof.up = (low.max(rate / 300.0) / 6.0, high.min(rate * 300.0) * 4.0);
        Some(roof)
    }

    fn lowest(&self) -> Option<f64> {
        self.limits.first().map(|(_, rate)| *rate)
    }

    /// The latency at which slots and the lowest limit meet.
    fn crossing(&self) -> Option<f64> {
        self.slots
            .zip(self.lowest())
            .map(|(slots, rate)| slots / rate)
    }

    fn told(&self) -> String {
        let span =
            |seconds| show_span(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        let run = format!(
            "This run: {}/s at {}.",
            three_digits(self.rate),
            span(self.mean)
        );
        self.crossing().map_or(run.clone(), |crossing| {
            format!(
                "{run} Slots and the lowest limit meet at {}.",
                span(crossing)
            )
        })
    }

    /// What cannot be reached: above slots / latency and above the lowest limit.
    fn shade(&self, out: &mut String, (x, y): &(Axis, Axis)) {
        if self.slots.is_none() && self.limits.is_empty() {
            return;
        }
        let mut path = String::new();
        for step in 0..=100 {
            let ratio = self.across.1 / self.across.0;
            let latency = self.across.0 * ratio.powf(f64::from(step) / 100.0);
            let by_slots = self.slots.map_or(f64::MAX, |slots| slots / latency);
            let allowed = by_slots.min(self.lowest().unwrap_or(f64::MAX));
            let _ = write!(path, "{:.1},{:.1} ", x.at(latency), y.at(allowed));
        }
        let _ = write!(
            out,
            "<polygon class=\"fband\" points=\"{LEFT},{TOP} {path}{RIGHT},{TOP}\"/>"
        );
    }

    fn limits(&self, out: &mut String, (_, y): &(Axis, Axis)) {
        let mut names = String::new();
        for (nth, (name, rate)) in self.limits.iter().enumerate() {
            let at = y.at(*rate);
            let _ = write!(
                out,
                "<line class=\"line l2\" stroke-dasharray=\"8 4\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
            );
            // All are in the list beside it: a name that has no room below the next line is left out.
            let next = self.limits.get(nth + 1).map(|(_, rate)| y.at(*rate));
            if next.is_none_or(|next| at - next >= LINE) {
                let _ = write!(
                    names,
                    "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    at - 5.0,
                    Text(cut(name))
                );
            }
        }
        out.push_str(&names);
    }

    fn slots(&self, out: &mut String, (x, y): &(Axis, Axis)) {
        let Some(slots) = self.slots else {
            return;
        };
        // The line ends where it leaves the picture.
        let from = self.across.0.max(slots / self.up.1);
        let to = self.across.1.min(slots / self.up.0);
        let (x1, y1, x2, y2) = (x.at(from), y.at(slots / from), x.at(to), y.at(slots / to));
        // Above a line that falls there is room at its right.
        let (tx, ty) = (x1 + (x2 - x1) * 0.1 + 8.0, y1 + (y2 - y1) * 0.1 - 2.0);
        let unit = if slots > 1.0 { "slots" } else { "slot" };
        let _ = write!(
            out,
            "<line class=\"line l4\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\
             <text x=\"{tx:.1}\" y=\"{:.1}\">{slots} {unit} / latency</text>",
            ty.max(TOP + 12.0)
        );
    }

    fn run(&self, out: &mut String, (x, y): &(Axis, Axis)) {
        let (px, py) = (x.at(self.mean), y.at(self.rate));
        let (anchor, dx) = if px > WIDTH * 0.6 {
            ("end", -10.0)
        } else {
            ("start", 10.0)
        };
        let _ = write!(
            out,
            "<line class=\"line lsoft\" stroke-dasharray=\"2 3\" x1=\"{px:.1}\" x2=\"{px:.1}\" y1=\"{py:.1}\" y2=\"{BOTTOM}\"/>\
             <circle class=\"f1\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"6\"/>\
             <text class=\"strong\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">this run {}/s</text>",
            px + dx,
            py + 18.0,
            three_digits(self.rate)
        );
    }
}

fn grid(out: &mut String, (x, y): &(Axis, Axis)) {
    for tick in x.ticks(5.0) {
        let at = x.at(tick);
        let span = show_span(Duration::try_from_secs_f64(tick).unwrap_or(Duration::MAX));
        let _ = write!(
            out,
            "<line class=\"gridline\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{span}</text>",
            BOTTOM + 16.0
        );
    }
    for tick in y.ticks(5.0) {
        let at = y.at(tick);
        let _ = write!(
            out,
            "<line class=\"gridline\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}/s</text>",
            LEFT - 5.0,
            at + 4.0,
            short(tick)
        );
    }
    let _ = write!(
        out,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>\
         <text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">mean time in flight</text>",
        BOTTOM + 32.0
    );
}

/// A rate at an axis: `100`, `10k`.
fn short(rate: f64) -> String {
    match rate {
        mega if mega >= 1e7 => format!("{}M", plain(mega / 1e6)),
        kilo if kilo >= 1e4 => format!("{}k", plain(kilo / 1e3)),
        rate if rate >= 0.01 => plain(rate),
        tiny => format!("{tiny:e}"),
    }
}

fn cut(name: &str) -> String {
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    let mut short: String = name.chars().take(LETTERS - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn the_run_and_the_crossing_are_in_the_picture() {
        let roof = Roof::of(&samples::held_by_qps()).unwrap();
        let crossing = roof.crossing().unwrap();
        assert!((crossing - 2.0).abs() < 1e-9, "{crossing}");
        assert!(
            roof.across.0 < 0.0993 && roof.across.1 > 2.0,
            "{:?}",
            roof.across
        );
        assert!(roof.up.0 < 10.0 && roof.up.1 > 201.0, "{:?}", roof.up);
        assert!(
            roof.told()
                .contains("10.0/s at 99.3 ms. Slots and the lowest limit meet at 2.00 s.")
        );
    }

    #[test]
    fn every_run_that_took_time_has_a_picture_of_numbers() {
        for (name, report) in samples::all() {
            let picture = picture(&report);
            assert!(
                !picture.contains("NaN") && !picture.contains("inf"),
                "{name}: {picture}"
            );
            let mean = report.summary.stretch.mean.filter(|mean| !mean.is_zero());
            assert_eq!(picture.contains("this run"), mean.is_some(), "{name}");
        }
    }
}
