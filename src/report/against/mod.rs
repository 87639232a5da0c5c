//! Two runs beside each other: their main figures, what has changed, and whether that is more than chance.
//! Floor 4: doors.

mod text;

use std::cmp::Reverse;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::metrics::noise::{self, Noise};
use crate::metrics::{ByVerdict, Owner, Tally};
use crate::report::json::{finite, json as figures};
use crate::report::{Report, said};
use crate::units::{show_span, three_digits};

/// A run and another one that it is set against.
#[derive(Debug)]
pub struct Against {
    /// The run in question.
    pub run: Report,
    /// What it is compared with.
    pub against: Report,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Ms,
    PerSecond,
    Percent,
    /// A mean of counts.
    Mean,
    Count,
}

/// One figure of both.
#[derive(Debug, Clone, PartialEq)]
struct Figure {
    /// What it belongs to.
    group: &'static str,
    /// For people.
    label: String,
    /// The place in the JSON report.
    name: String,
    unit: Unit,
    /// `None` where nothing tells it.
    run: Option<f64>,
    against: Option<f64>,
    /// `None` for a figure that chance has no part in, or of which it is not known.
    noise: Option<Noise>,
}

/// The percentiles, as the JSON report calls them.
const QUANTILES: [(&str, &str, f64); 4] = [
    ("p50", "p50", 0.5),
    ("p90", "p90", 0.9),
    ("p99", "p99", 0.99),
    ("p99.9", "p999", 0.999),
];

/// The figures that stand in one place of the JSON report, but for latencies: group, label, place, unit.
const PLACES: [(&str, &str, &str, Unit); 15] = [
    (
        "THROUGHPUT",
        "observed",
        "throughput.observed",
        Unit::PerSecond,
    ),
    (
        "THROUGHPUT",
        "theory of slots",
        "throughput.theory",
        Unit::PerSecond,
    ),
    ("THROUGHPUT", "ratio", "throughput.ratio", Unit::Percent),
    (
        "THROUGHPUT",
        "sends reached",
        "rate_reached_per_s",
        Unit::PerSecond,
    ),
    ("IN FLIGHT", "mean", "little.in_flight", Unit::Mean),
    ("IN FLIGHT", "peak", "peak_in_flight", Unit::Count),
    (
        "TOKENS",
        "of streams",
        "streams.output_tokens_per_s",
        Unit::PerSecond,
    ),
    ("JOBS", "ok", "counts.ok", Unit::Count),
    ("JOBS", "failed", "counts.failed", Unit::Count),
    ("JOBS", "invalid", "counts.invalid", Unit::Count),
    ("TRIES", "all", "tries", Unit::Count),
    ("TRIES", "retries", "retries", Unit::Count),
    ("TRIES", "status 429", "statuses.429", Unit::Count),
    ("TRIES", "first late", "late_sends", Unit::Count),
    ("TOOK", "", "elapsed_ms", Unit::Ms),
];

/// Latencies of a run; `None` if it has no such jobs.
type Book = fn(&Tally) -> Option<&ByVerdict>;

/// All of them: group, place in the JSON report.
const BOOKS: [(&str, &str, Book); 4] = [
    ("SERVICE", "latency.service", |tally| Some(&tally.service)),
    ("SINCE DUE", "latency.since_due", |tally| {
        Some(&tally.since_due)
    }),
    ("FIRST TOKEN", "streams.first_token", |tally| {
        Some(&tally.streams.as_ref()?.first_token)
    }),
    ("LONGEST GAP", "streams.longest_gap", |tally| {
        Some(&tally.streams.as_ref()?.longest_gap)
    }),
];

/// The groups in the order of the table.
const GROUPS: [&str; 11] = [
    "THROUGHPUT",
    "IN FLIGHT",
    "SERVICE",
    "SINCE DUE",
    "FIRST TOKEN",
    "LONGEST GAP",
    "TOKENS",
    "JOBS",
    "TRIES",
    "HELD BACK",
    "TOOK",
];

impl Against {
    /// For programs: both reports, and what has changed.
    pub fn json(&self) -> Value {
        let change = self.figures().into_iter().map(|figure| {
            json!({
                "name": figure.name,
                "unit": figure.unit.word(),
                "run": figure.run.and_then(finite),
                "against": figure.against.and_then(finite),
                "difference": figure.difference().and_then(finite),
                "ratio": figure.ratio().and_then(finite),
                "chance": figure.noise.map(|noise| match noise {
                    Noise::Beyond => "beyond",
                    Noise::Within => "within",
                    Noise::TooFew => "too_few",
                }),
            })
        });
        json!({
            "change": change.collect::<Vec<_>>(),
            "run": figures(&self.run),
            "against": figures(&self.against),
        })
    }

    /// All figures, in the order of the table.
    fn figures(&self) -> Vec<Figure> {
        let (run, against) = (figures(&self.run), figures(&self.against));
        let places = PLACES.iter().map(|&(group, label, place, unit)| {
            let pointer = format!("/{}", place.replace('.', "/"));
            let of = |report: &Value| {
                let there = report.pointer(&pointer);
                // A status that never came stands nowhere.
                let missing = (there.is_none() && place.starts_with("statuses.")).then_some(0.0);
                let hundredfold = if unit == Unit::Percent { 100.0 } else { 1.0 };
                there
                    .and_then(Value::as_f64)
                    .or(missing)
                    .map(|figure| figure * hundredfold)
            };
            Figure {
                group,
                label: label.to_owned(),
                name: place.to_owned(),
                unit,
                run: of(&run),
                against: of(&against),
                noise: self.noise(place),
            }
        });
        let mut all: Vec<Figure> = places.collect();
        for (group, place, of) in BOOKS {
            all.extend(self.latencies(group, place, of));
        }
        // Both books have the same jobs.
        all.retain(|figure| figure.name != "latency.since_due.ok.n");
        // Of streams nothing is told where there are none.
        all.retain(|figure| {
            let known = figure.run.or(figure.against).is_some();
            known || !figure.name.starts_with("streams.")
        });
        all.extend(self.shares());
        all.sort_by_key(|figure| GROUPS.iter().position(|group| *group == figure.group));
        all
    }

    fn noise(&self, place: &str) -> Option<Noise> {
        let [run, against] = [&self.run, &self.against].map(|report| &report.summary);
        let shares = |part: fn(&Tally) -> (u64, u64)| {
            Some(noise::of_shares(part(&run.tally), part(&against.tally)))
        };
        match place {
            "throughput.observed" => Some(noise::of_seconds(
                &run.stretch.per_second,
                &against.stretch.per_second,
            )),
            "counts.failed" => shares(|of| (of.counts.failed, of.counts.done())),
            "retries" => shares(|of| (of.retries, of.tries)),
            "statuses.429" => shares(|of| {
                let refused = of.answers(StatusCode::TOO_MANY_REQUESTS);
                (refused, of.statuses.values().sum())
            }),
            "late_sends" => shares(|of| (of.late, of.since_due.count())),
            _ => None,
        }
    }

    /// Of jobs that are ok.
    fn latencies(&self, group: &'static str, place: &str, of: Book) -> Vec<Figure> {
        let [run, against] =
            [&self.run, &self.against].map(|report| Some(&of(&report.summary.tally)?.ok));
        let figure = |label: &str, key: &str, unit, of: &dyn Fn(_) -> Option<f64>, noise| Figure {
            group,
            label: label.to_owned(),
            name: format!("{place}.ok.{key}"),
            unit,
            run: run.and_then(of),
            against: against.and_then(of),
            noise,
        };
        let ms = |span: Option<Duration>| span.map(crate::units::millis);
        let quantiles = QUANTILES.iter().map(|(label, key, quantile)| {
            let both = run.zip(against);
            let noise = both.map(|(run, against)| noise::of_quantile(run, against, *quantile));
            let of = |latencies: &crate::metrics::Latencies| ms(latencies.quantile(*quantile));
            figure(label, key, Unit::Ms, &of, noise)
        });
        let mut figures: Vec<Figure> = quantiles.collect();
        figures.push(figure("max", "max", Unit::Ms, &|of| ms(of.max()), None));
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let count = |of: &crate::metrics::Latencies| Some(of.count() as f64);
        figures.push(figure("n", "n", Unit::Count, &count, None));
        figures
    }

    /// Whose the time was, in per cent; nothing where it is not known of both. What neither of them has more
    /// than a per cent of is left out.
    fn shares(&self) -> Vec<Figure> {
        let [run, against] = [&self.run, &self.against].map(|report| &report.diagnosis.shares);
        if run.is_empty() || against.is_empty() {
            return Vec::new();
        }
        let mut names: Vec<(&str, Owner)> = Vec::new();
        for share in run.iter().chain(against) {
            if share.percent > 1 && names.iter().all(|(name, _)| *name != share.name) {
                names.push((&share.name, share.owner));
            }
        }
        let percent = |of: &[crate::metrics::Share], name: &str| -> f64 {
            let share = of.iter().find(|share| share.name == name);
            let whole = u32::try_from(share.map_or(0, |share| share.percent));
            whole.unwrap_or(100).into()
        };
        let mut shares: Vec<Figure> = names
            .into_iter()
            .map(|(name, _)| Figure {
                group: "HELD BACK",
                label: name.to_owned(),
                name: format!("held_back {name}"),
                unit: Unit::Percent,
                run: Some(percent(run, name)),
                against: Some(percent(against, name)),
                noise: None,
            })
            .collect();
        shares.sort_by_key(|share| {
            let most = share
                .run
                .unwrap_or_default()
                .max(share.against.unwrap_or_default());
            Reverse(most.to_bits())
        });
        shares
    }
}

impl Figure {
    fn difference(&self) -> Option<f64> {
        Some(self.run? - self.against?)
    }

    /// `None` of nothing.
    fn ratio(&self) -> Option<f64> {
        let against = self.against.filter(|against| *against > 0.0)?;
        Some(self.run? / against)
    }
}

impl Unit {
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Ms => Some("ms"),
            Self::PerSecond => Some("1/s"),
            Self::Percent => Some("%"),
            Self::Mean | Self::Count => None,
        }
    }

    /// A figure that is not below zero.
    fn shown(self, figure: f64) -> String {
        match self {
            Self::Ms => {
                show_span(Duration::try_from_secs_f64(figure / 1e3).unwrap_or(Duration::MAX))
            }
            Self::PerSecond => said::per_second(figure),
            Self::Percent if figure.fract() > 0.0 && figure < 9.95 => format!("{figure:.1} %"),
            Self::Percent | Self::Count => {
                let unit = if self == Self::Percent { " %" } else { "" };
                format!("{figure:.0}{unit}")
            }
            Self::Mean => three_digits(figure),
        }
    }
}
