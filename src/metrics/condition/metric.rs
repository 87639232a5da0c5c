//! The figures of a run by the names that conditions have for them. Floor 3: rules.

use std::str::FromStr;

use super::Known;
use super::bound::{Figure, Unit};
use crate::metrics::{Latencies, Tally};
use crate::statuses::Statuses;
use crate::units::decimal;

/// A figure of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Metric {
    /// Of the jobs that are `ok`; lateness of all that were sent.
    Latency(Book, Measure),
    /// Of lines, tries and the run itself.
    Named(Named),
    /// Answers by status.
    Statuses(Statuses),
}

/// Which latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Book {
    /// First byte written to last byte read.
    Service,
    /// Due to last byte read.
    SinceDue,
    /// Of streams: first byte written to first token.
    FirstToken,
    /// The longest gap between the tokens of a stream.
    Gap,
    /// Due to first sent.
    Late,
}

impl Book {
    /// Each by what stands before its measures.
    const ALL: [(&str, Self); 5] = [
        ("due_", Self::SinceDue),
        ("ttft_", Self::FirstToken),
        ("gap_", Self::Gap),
        ("late_", Self::Late),
        ("", Self::Service),
    ];

    /// The one of a name, and the rest of that.
    fn of(name: &str) -> (Self, &str) {
        let mut all = Self::ALL.into_iter();
        let found = all.find_map(|(word, book)| Some((book, name.strip_prefix(word)?)));
        found.expect("every name begins with nothing")
    }

    /// All of them, or why there are none.
    fn latencies(self, tally: &Tally) -> Result<&Latencies, &'static str> {
        let streams = || tally.streams.as_ref().ok_or("no answer was a stream");
        Ok(match self {
            Self::Service => &tally.service.ok,
            Self::SinceDue => &tally.since_due.ok,
            Self::FirstToken => &streams()?.first_token.ok,
            Self::Gap => &streams()?.longest_gap.ok,
            Self::Late => tally.lateness.spans(),
        })
    }

    /// Why there is no figure.
    fn untold(self) -> &'static str {
        match self {
            Self::Service | Self::SinceDue => "no job was ok",
            Self::FirstToken => "no job that was ok had a token",
            Self::Gap => "no job that was ok had two tokens",
            Self::Late => "no job was sent",
        }
    }
}

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The latency that `number / scale` of a hundred are at or below.
    Quantile {
        number: u64,
        scale: u64,
    },
    Max,
    Mean,
}

/// Figures that have one name each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Elapsed,
    Read,
    Ok,
    Failed,
    Invalid,
    Skipped,
    Cancelled,
    Late,
    Tries,
    Retries,
    Pauses,
    Rate,
    Throughput,
    Ratio,
}

impl Named {
    const ALL: [Self; 14] = [
        Self::Elapsed,
        Self::Read,
        Self::Ok,
        Self::Failed,
        Self::Invalid,
        Self::Skipped,
        Self::Cancelled,
        Self::Late,
        Self::Tries,
        Self::Retries,
        Self::Pauses,
        Self::Rate,
        Self::Throughput,
        Self::Ratio,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Elapsed => "elapsed",
            Self::Read => "read",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Late => "late",
            Self::Tries => "tries",
            Self::Retries => "retries",
            Self::Pauses => "pauses",
            Self::Rate => "rate",
            Self::Throughput => "throughput",
            Self::Ratio => "ratio",
        }
    }
}

/// All names, for messages.
pub(super) const NAMES: &str = "p50 p90 p95 p99 p99.9 (any pN) mean max, of the service time; the same with due_, \
    since due, late_, due to first sent, and of streams with ttft_, first token, and gap_, longest gap; elapsed; read ok failed invalid skipped cancelled late tries retries pauses; \
    429, 5xx, 401,403 (answers); rate throughput ratio";

/// The names that a typing error is compared with.
const NEAR: [&str; 7] = ["p50", "p90", "p95", "p99", "p99.9", "mean", "max"];

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(named) = Named::ALL.into_iter().find(|named| named.word() == text) {
            return Ok(Self::Named(named));
        }
        let (book, measure) = Book::of(text);
        if let Some(measure) = Measure::read(measure) {
            return Ok(Self::Latency(book, measure));
        }
        if let Some(statuses) = Statuses::read(text) {
            return Ok(Self::Statuses(statuses));
        }
        let meant = nearest(text).map_or(String::new(), |near| format!(", did you mean {near}?"));
        Err(format!(
            "no figure is called {text:?}{meant}; there are {NAMES}"
        ))
    }
}

/// What a name was probably meant to be.
fn nearest(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    // The report for programs writes `p999`.
    let (_, short) = Book::of(&lower);
    let meant = match short.split_at_checked(3) {
        Some(("p10", "0")) => Some("max".to_owned()),
        Some((head @ "p99", tail)) => Some(format!("{head}.{tail}")),
        Some(_) | None => None,
    };
    if let Some(meant) = meant.filter(|meant| Measure::read(meant).is_some()) {
        return Some(lower.replace(short, &meant));
    }
    let of_books = Book::ALL.iter().rev();
    let of_books = of_books.flat_map(|(word, _)| NEAR.map(|name| format!("{word}{name}")));
    let named = Named::ALL.iter().map(|named| named.word().to_owned());
    nearest_of(&lower, of_books.chain(named))
}

/// The name that a typing error was probably meant to be: at most one letter in three is another.
pub(crate) fn nearest_of(text: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let far = |name: &String| strsim::damerau_levenshtein(text, name);
    let most = (text.chars().count() / 3).max(1);
    names.min_by_key(far).filter(|name| far(name) <= most)
}

impl Measure {
    fn read(text: &str) -> Option<Self> {
        match text {
            "max" => Some(Self::Max),
            "mean" => Some(Self::Mean),
            _ => {
                let (number, scale) = decimal(text.strip_prefix('p')?)?;
                let within = number > 0 && number < 100 * scale;
                within.then_some(Self::Quantile { number, scale })
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "it has few digits")]
    fn of(self, latencies: &Latencies) -> Option<Figure> {
        let time = match self {
            Self::Quantile { number, scale } => {
                latencies.quantile(number as f64 / (scale as f64 * 100.0))
            }
            Self::Max => latencies.max(),
            Self::Mean => latencies.mean(),
        };
        time.map(Figure::Time)
    }
}

impl Metric {
    /// What its values are.
    pub(super) fn unit(&self) -> Unit {
        match self {
            Self::Latency(..) | Self::Named(Named::Elapsed) => Unit::Time,
            Self::Named(Named::Rate | Named::Throughput) => Unit::Rate,
            Self::Named(Named::Ratio) => Unit::Share,
            Self::Named(
                Named::Read
                | Named::Ok
                | Named::Failed
                | Named::Invalid
                | Named::Skipped
                | Named::Cancelled
                | Named::Late
                | Named::Tries
                | Named::Retries
                | Named::Pauses,
            )
            | Self::Statuses(_) => Unit::Count,
        }
    }

    /// Whether it can be a share of anything.
    pub(super) fn has_shares(&self) -> bool {
        match self {
            Self::Statuses(_)
            | Self::Named(
                Named::Ok
                | Named::Failed
                | Named::Invalid
                | Named::Skipped
                | Named::Cancelled
                | Named::Late
                | Named::Retries
                | Named::Ratio,
            ) => true,
            Self::Latency(..)
            | Self::Named(
                Named::Elapsed
                | Named::Read
                | Named::Tries
                | Named::Pauses
                | Named::Rate
                | Named::Throughput,
            ) => false,
        }
    }

    /// A value that it could be compared with.
    pub(super) fn example(&self) -> &'static str {
        match self.unit() {
            Unit::Time => "500ms",
            Unit::Rate => "9.5/s",
            Unit::Share | Unit::Number => "90%",
            Unit::Count if self.has_shares() => "10 or 1%",
            Unit::Count => "10",
        }
    }

    /// Its value in a run, or why there is none.
    pub(super) fn of(&self, run: Known<'_>) -> Result<Figure, &'static str> {
        let summary = run.summary;
        match self {
            Self::Latency(book, measure) => {
                let latencies = book.latencies(&summary.tally)?;
                measure.of(latencies).ok_or(book.untold())
            }
            Self::Named(named) => named.of(run),
            Self::Statuses(statuses) => Ok(Figure::Count {
                count: statuses.among(&summary.tally.statuses),
                of: Some(summary.tally.statuses.values().sum()),
            }),
        }
    }
}

impl Named {
    fn of(self, run: Known<'_>) -> Result<Figure, &'static str> {
        let Known {
            summary,
            theory,
            lines,
        } = run;
        let lines = lines.ok_or("nothing tells what was read");
        let counts = &summary.tally.counts;
        let of_results = |count| Figure::Count {
            count,
            of: Some(counts.done()),
        };
        let count = |count| Figure::Count { count, of: None };
        Ok(match self {
            Self::Elapsed => Figure::Time(summary.elapsed),
            Self::Read => count(lines?.read),
            Self::Ok => of_results(counts.ok),
            Self::Failed => of_results(counts.failed),
            Self::Invalid => of_results(counts.invalid),
            Self::Skipped => of_results(counts.skipped),
            Self::Cancelled => Figure::Count {
                count: lines?.cancelled,
                of: Some(lines?.read),
            },
            Self::Late => Figure::Count {
                count: summary.tally.late,
                of: Some(summary.tally.since_due.count()),
            },
            Self::Tries => count(summary.tally.tries),
            Self::Retries => Figure::Count {
                count: summary.tally.retries,
                of: Some(summary.tally.tries),
            },
            Self::Pauses => count(summary.unseen.ok_or("nothing tells the pauses")?.pauses),
            Self::Rate => Figure::Rate(summary.tally.sends.rate().ok_or("it takes two sends")?),
            Self::Throughput => Figure::Rate(summary.observed().ok_or("nothing was answered")?),
            Self::Ratio => {
                let ratio = summary.observed().and_then(|rate| theory.ratio(rate));
                Figure::Share(ratio.ok_or("there are no slots, or no answers")? * 100.0)
            }
        })
    }
}
