//! Latencies as `HdrHistogram` has them: a log of whole histograms, or percentiles to be plotted. Floor 4: doors.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::Report;
use crate::metrics::{Latencies, Summary};
use crate::units::nanos;

/// What a file of latencies holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hdr {
    /// All of them, as an interval log (version 1.3): one interval, the whole run, a tag each, in nanoseconds.
    Log,
    /// Those of one tag, as the percentiles that plotters read, in milliseconds.
    Plot(usize),
}

/// A name in the log, and what it stands for.
struct Row(&'static str, fn(&Summary) -> &Latencies);

const TAGS: [Row; 4] = [
    Row("service_ok", |summary| &summary.tally.service.ok),
    Row("service_failed", |summary| &summary.tally.service.failed),
    Row("since_due_ok", |summary| &summary.tally.since_due.ok),
    Row("since_due_failed", |summary| {
        &summary.tally.since_due.failed
    }),
];

/// The ending of a log.
const LOGGED: &str = "hlog";

/// Endings of files that are plotted.
const PLOTTED: [&str; 2] = ["hgrm", "txt"];

/// Significant digits, as the latencies have them.
const DIGITS: u8 = 3;

/// Percentiles between one and the next half of what is left: as `HdrHistogram`'s own tools print them.
const STEPS: u32 = 5;

/// What each doubling of a value is divided into, twice as fine as the digits say.
const SUB_BUCKETS: u32 = 2_048;

impl Hdr {
    /// What a file of this name holds: `x.hgrm` and `x.txt` are plotted, of `service_ok` unless another tag stands
    /// before the ending (`x.since_due_ok.hgrm`); all others are a log.
    pub fn of(path: &Path) -> Self {
        let Some(word) = before_ending(path) else {
            return Self::Log;
        };
        let named = TAGS.iter().position(|Row(tag, _)| word == *tag);
        Self::Plot(named.unwrap_or(0))
    }

    /// The ending of a name that has one, and none of those that latencies have: who wrote it meant something else.
    pub fn foreign_ending(path: &Path) -> Option<String> {
        let name = path.file_name()?.to_string_lossy();
        let (_, end) = name.rsplit_once('.')?;
        (end != LOGGED && !PLOTTED.contains(&end)).then(|| end.to_owned())
    }

    /// The tag that was probably meant where a word that is none stands before the ending.
    pub fn meant(path: &Path) -> Option<&'static str> {
        let word = before_ending(path)?;
        let tags = TAGS.iter().map(|Row(tag, _)| *tag);
        let far = |tag: &&str| strsim::damerau_levenshtein(&word, tag);
        let near = tags.min_by_key(far)?;
        let is_begun = ["service", "since"].iter().any(|it| word.starts_with(it));
        let stands_apart = path.with_extension("").extension().is_some();
        let is_meant = far(&near) <= near.len() / 4 || (is_begun && stands_apart);
        (is_meant && word != near).then_some(near)
    }

    /// Its text.
    pub fn text(self, report: &Report) -> String {
        match self {
            Self::Log => log(report),
            Self::Plot(tag) => plot((TAGS[tag].1)(&report.summary)),
        }
    }
}

/// The word between the last two points of a name that is plotted, or what it begins with; `None` of a log.
fn before_ending(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let (stem, end) = name.rsplit_once('.')?;
    let word = stem.rsplit('.').next().unwrap_or_default();
    PLOTTED.contains(&end).then(|| word.to_owned())
}

fn log(report: &Report) -> String {
    let summary = &report.summary;
    let (mut text, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let about = format!(
        "[shaper {}: latencies of the whole run, in nanoseconds]",
        env!("CARGO_PKG_VERSION")
    );
    let mut log = IntervalLogWriterBuilder::new();
    log.add_comment("[Histogram log format version 1.3]")
        .add_comment(&about)
        .with_max_value_divisor(1e6);
    // Intervals count from the start. Readers that know no base take the start for it. It has milliseconds there,
    // rounded down: nothing was sent before it.
    if let Some(started) = report.facts.started {
        let started = Duration::new(started.as_secs(), started.subsec_millis() * 1_000_000);
        let started = SystemTime::UNIX_EPOCH + started;
        log.with_start_time(started).with_base_time(started);
    }
    let mut log = log
        .begin_log_with(&mut text, &mut serializer)
        .expect("memory takes everything");
    for Row(tag, latencies) in &TAGS {
        let tag = Tag::new(tag).expect("our tags have no comma and no blank");
        log.write_histogram(
            &in_unit(latencies(summary), 1_000),
            Duration::ZERO,
            summary.elapsed,
            Some(tag),
        )
        .expect("memory takes everything, and its counts fit");
    }
    String::from_utf8(text).expect("base64 is text")
}

/// A place on the curve of percentiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// From 0 to 1: the share of all that is at or below `latency`.
    pub(super) quantile: f64,
    /// With three digits, rounded up.
    pub(super) latency: Duration,
    /// How many are at or below it.
    pub(super) count: u64,
}

/// The curve, with so many points before each half of what is left; it ends with the longest.
pub(super) fn curve(latencies: &Latencies) -> Vec<Point> {
    let (all, longest) = (in_unit(latencies, 1), latencies.max().unwrap_or_default());
    let steps = all.iter_quantiles(STEPS);
    let counted = steps.scan(0, |count, value| {
        *count += value.count_since_last_iteration();
        let micros = Duration::from_micros(value.value_iterated_to());
        Some(Point {
            quantile: value.quantile_iterated_to(),
            latency: micros.min(longest),
            count: *count,
        })
    });
    if latencies.count() == 0 {
        return Vec::new();
    }
    counted.collect()
}

/// The same latencies, so many units a microsecond. What was longer than an hour was not counted apart, and is as
/// long as the longest.
fn in_unit(latencies: &Latencies, a_micro: u64) -> Histogram<u64> {
    // Beyond 213 days no unit is left to tell how far.
    let longest = nanos(latencies.max().unwrap_or_default()).saturating_mul(a_micro) / 1_000;
    let longest = longest.max(2);
    let mut all = Histogram::new_with_max(longest, DIGITS).expect("the bounds are valid");
    let within = latencies.histogram();
    for value in within.iter_recorded() {
        let middle = within.median_equivalent(value.value_iterated_to()) * a_micro;
        all.saturating_record_n(middle.min(longest), value.count_at_value());
    }
    all.saturating_record_n(longest, latencies.beyond());
    all
}

/// As `outputPercentileDistribution` of `HdrHistogram` has it.
fn plot(latencies: &Latencies) -> String {
    let ms = |latency: Duration| latency.as_secs_f64() * 1e3;
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value(ms)", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for point in curve(latencies) {
        let Point {
            quantile,
            latency,
            count,
        } = point;
        let _ = write!(text, "{:12.3} {quantile:14.12} {count:10}", ms(latency));
        let _ = if quantile < 1.0 {
            writeln!(text, " {:14.2}", 1.0 / (1.0 - quantile))
        } else {
            writeln!(text)
        };
    }
    let all = in_unit(latencies, 1);
    let _ = writeln!(
        text,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n\
         #[Max     = {:12.3}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]",
        all.mean() / 1e3,
        all.stdev() / 1e3,
        ms(latencies.max().unwrap_or_default()),
        latencies.count(),
        all.buckets(),
    );
    text
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::metrics::LONGEST;
    use crate::report::samples;

    fn latencies(of: impl IntoIterator<Item = Duration>) -> Latencies {
        let mut latencies = Latencies::default();
        of.into_iter().for_each(|latency| latencies.add(latency));
        latencies
    }

    /// The histograms of a log, with their tags; its clocks are those of the report.
    fn read(log: &str, report: &Report) -> Vec<(String, Histogram<u64>)> {
        let entries = IntervalLogIterator::new(log.as_bytes());
        let (mut clocks, mut each) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry.unwrap() {
                LogEntry::StartTime(at) | LogEntry::BaseTime(at) => clocks.push(at.as_millis()),
                LogEntry::Interval(interval) => {
                    let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
                    let read = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                    assert_eq!(interval.start_timestamp(), Duration::ZERO);
                    each.push((interval.tag().unwrap().as_str().to_owned(), read));
                }
            }
        }
        let started = report.facts.started.map(|at| [at.as_millis(); 2]);
        assert_eq!(clocks, started.map_or(Vec::new(), Vec::from));
        each
    }

    #[test]
    fn a_log_that_is_read_back_has_the_percentiles_and_the_start_of_the_report() {
        for (name, report) in samples::all() {
            let read = read(&Hdr::Log.text(&report), &report);
            assert_eq!(read.len(), TAGS.len(), "{name}");
            for ((tag, read), Row(expected, latencies)) in read.iter().zip(&TAGS) {
                let latencies = latencies(&report.summary);
                assert_eq!((tag.as_str(), read.len()), (*expected, latencies.count()));
                for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
                    let told = latencies.quantile(quantile).map_or(0, nanos);
                    let back = read.value_at_quantile(quantile);
                    let apart = told.abs_diff(back) * 1_000;
                    assert!(
                        apart <= told.max(2_000),
                        "{name}: {tag} {quantile}: {told} {back}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_percentiles_to_plot_are_those_of_the_report_and_end_with_the_longest() {
        let latencies = latencies((1..=10_000).map(|n| Duration::from_micros(n * 37)));
        let text = plot(&latencies);
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(2);
        let rows: Vec<Vec<f64>> = rows
            .map(|row| {
                row.split_whitespace()
                    .map(|cell| cell.parse().unwrap())
                    .collect()
            })
            .collect();
        for quantile in [0.5, 0.9, 0.99] {
            // The rows step over these; the next one is as low as any that may stand for them.
            let row = rows.iter().find(|row| row[1] >= quantile).unwrap();
            let told = latencies.quantile(row[1]).unwrap();
            assert!(
                (row[0] - told.as_secs_f64() * 1e3).abs() < 1e-3,
                "{row:?} {told:?}"
            );
            assert!((row[3] - 1.0 / (1.0 - row[1])).abs() < 0.006, "{row:?}");
        }
        let sorted = |column: usize| rows.windows(2).all(|two| two[0][column] <= two[1][column]);
        assert!((0..3).all(sorted), "{text}");
        assert_eq!(rows.last().unwrap(), &[370.0, 1.0, 10_000.0]);
        assert!(
            text.contains("#[Max     =      370.000, Total count    =        10000]"),
            "{text}"
        );
        assert!(text.contains("#[Mean    =      185."), "{text}");
    }

    #[test]
    fn none_one_and_those_beyond_an_hour_have_a_curve() {
        assert_eq!(curve(&latencies([])), []);
        assert!(plot(&latencies([])).contains("Total count    =            0]"));
        let one = curve(&latencies([Duration::from_millis(7)]));
        assert!(
            one.iter()
                .all(|point| (point.latency.as_millis(), point.count) == (7, 1))
        );
        let long = LONGEST * 3;
        let end = curve(&latencies([Duration::ZERO, LONGEST, long, long]));
        assert_eq!(
            end.last(),
            Some(&Point {
                quantile: 1.0,
                latency: long,
                count: 4
            })
        );
        let forever = latencies([Duration::MAX]);
        assert_eq!(curve(&forever).last().unwrap().count, 1);
        assert_eq!(in_unit(&forever, 1_000).len(), 1);
    }

    #[test]
    fn the_name_of_a_file_says_what_it_holds() {
        for (name, expected) in [
            ("a/run.hlog", Hdr::Log),
            ("run", Hdr::Log),
            ("service_failed", Hdr::Log),
            ("run.hgrm", Hdr::Plot(0)),
            ("run.txt", Hdr::Plot(0)),
            ("run.service_failed.hgrm", Hdr::Plot(1)),
            ("since_due_ok.txt", Hdr::Plot(2)),
            ("a.b/run.since_due_failed.hgrm", Hdr::Plot(3)),
            (".hgrm", Hdr::Plot(0)),
            ("run.2.5.hgrm", Hdr::Plot(0)),
            ("services.hgrm", Hdr::Plot(0)),
        ] {
            let path = Path::new(name);
            assert_eq!(Hdr::of(path), expected, "{name}");
            assert_eq!(Hdr::meant(path), None, "{name}");
            assert_eq!(Hdr::foreign_ending(path), None, "{name}");
        }
        for (name, tag) in [
            ("run.service_fialed.hgrm", "service_failed"),
            ("run.since-due-ok.txt", "since_due_ok"),
            ("service_okay.hgrm", "service_ok"),
            ("run.service.hgrm", "service_ok"),
        ] {
            assert_eq!(Hdr::meant(Path::new(name)), Some(tag), "{name}");
        }
        for (name, end) in [("a.hgrm/x.csv", "csv"), ("run.HLOG", "HLOG"), ("x.", "")] {
            let foreign = Hdr::foreign_ending(Path::new(name));
            assert_eq!(foreign.as_deref(), Some(end), "{name}");
        }
    }
}
