//! The figures of a run by the names that Prometheus' rules ask for. Floor 4: doors.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use super::cumulated::Cumulated;
use super::families::Families;
use crate::metrics::{ByVerdict, Figures, Setup, Tally};

/// What does not change while a run goes.
#[derive(Debug, Clone)]
pub struct About {
    /// The limits, for their names.
    pub setup: Setup,
    /// The start of the run, since the Unix epoch.
    pub started: Duration,
}

/// The content type of [`text`].
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The whole page.
pub(super) fn text(about: &About, figures: &Figures<'_>) -> String {
    let mut families = Families::default();
    run(&mut families, about);
    jobs(&mut families, figures.tally);
    requests(&mut families, figures);
    time(&mut families, figures, &about.setup);
    families.into_text()
}

fn run(families: &mut Families, about: &About) {
    let build = ("shaper_build_info", "The version of the program.");
    families.fact(build, "version", env!("CARGO_PKG_VERSION"));
    families.gauge(
        (
            "shaper_start_time_seconds",
            "When the run began, since the Unix epoch.",
        ),
        about.started.as_secs_f64(),
    );
    if let Some(slots) = about.setup.slots {
        let name = (
            "shaper_slots",
            "Most requests in flight. Not there without a limit.",
        );
        families.gauge(name, float(slots));
    }
}

fn jobs(families: &mut Families, tally: &Tally) {
    let counts = &tally.counts;
    families.counter(
        ("shaper_jobs_read_total", "Lines of input that were read."),
        float(counts.read),
    );
    families.counters(
        ("shaper_jobs_total", "Jobs that have a result."),
        "result",
        [
            ("ok", float(counts.ok)),
            ("failed", float(counts.failed)),
            ("invalid", float(counts.invalid)),
            ("skipped", float(counts.skipped)),
        ],
    );
    families.counter(
        (
            "shaper_jobs_done_before_total",
            "Those of them that an earlier run has done.",
        ),
        float(counts.done_before),
    );
    families.counters(
        (
            "shaper_job_failures_total",
            "Jobs that are not ok, by kind.",
        ),
        "kind",
        each(&tally.failures),
    );
    families.counter(
        (
            "shaper_jobs_late_total",
            "Jobs that were first sent over 100 ms after they were due.",
        ),
        float(tally.late),
    );
}

fn requests(families: &mut Families, figures: &Figures<'_>) {
    let tally = figures.tally;
    families.counter(
        (
            "shaper_requests_total",
            "Requests that were granted: every try of every job.",
        ),
        float(tally.tries),
    );
    families.gauge(
        ("shaper_requests_in_flight", "Requests in flight."),
        float(figures.in_flight),
    );
    families.gauge(
        (
            "shaper_queue_depth",
            "Jobs that were read and wait, or rest before their next try.",
        ),
        float(figures.waiting),
    );
    families.counters(
        ("shaper_responses_total", "Answers, over all tries."),
        "status",
        each(&tally.statuses),
    );
    families.counters(
        (
            "shaper_request_failures_total",
            "Tries without a whole answer, by kind.",
        ),
        "kind",
        each(&tally.try_failures),
    );
    families.counter(
        ("shaper_retries_total", "Tries after the first of a job."),
        float(tally.retries),
    );
    families.counter(
        ("shaper_pauses_total", "Pauses that a server asked for."),
        float(figures.pauses),
    );
    let units = tally.units.total;
    families.counter(
        (
            "shaper_units_reserved_total",
            "Units (LLM tokens) that tries reserved, where a limit counts them.",
        ),
        float(units.reserved),
    );
    families.counter(
        (
            "shaper_units_used_total",
            "Units that they used in the end.",
        ),
        float(units.used),
    );
}

fn time(families: &mut Families, figures: &Figures<'_>, setup: &Setup) {
    let tally = figures.tally;
    let by_result = |latencies: &ByVerdict| {
        [("ok", &latencies.ok), ("failed", &latencies.failed)]
            .map(|(result, latencies)| (result, Cumulated::of(latencies)))
    };
    families.histograms(
        (
            "shaper_request_latency_seconds",
            "Service time of a job's last try: first byte written to last byte read.",
        ),
        "result",
        by_result(&tally.service),
    );
    families.histograms(
        (
            "shaper_since_due_seconds",
            "From the moment when a job was due to its last byte.",
        ),
        "result",
        by_result(&tally.since_due),
    );
    families.histogram(
        (
            "shaper_lateness_seconds",
            "From the moment when a job was due to its first try.",
        ),
        &Cumulated::of(tally.lateness.spans()),
    );
    let waits = tally.waits.iter();
    families.counters(
        (
            "shaper_limit_wait_seconds_total",
            "What jobs waited for, summed over those that have a result: limits, slot, pause, backoff and so on.",
        ),
        "limit",
        waits.map(|(name, span)| (name, span.as_secs_f64())),
    );
    let held = figures.held.iter();
    families.counters(
        (
            "shaper_held_back_seconds_total",
            "What kept the oldest waiting job from being sent; adds up to the time since the first request.",
        ),
        "owner",
        held.map(|(owner, span)| (setup.word_of(*owner), span.as_secs_f64())),
    );
    families.fact(
        (
            "shaper_bound_by",
            "What keeps the oldest waiting job from being sent now.",
        ),
        "owner",
        &setup.word_of(figures.binds),
    );
}

#[expect(clippy::cast_precision_loss, reason = "53 bits are counted exactly")]
fn float(count: u64) -> f64 {
    count as f64
}

fn each<K: Display>(counts: &BTreeMap<K, u64>) -> impl Iterator<Item = (String, f64)> {
    let counts = counts.iter();
    counts.map(|(name, count)| (name.to_string(), float(*count)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Metrics, Owner};
    use crate::proof::Proof;

    fn setup(limits: &[&str]) -> Setup {
        Setup {
            limits: limits.iter().map(|limit| limit.parse().unwrap()).collect(),
            ..Setup::default()
        }
    }

    /// The page of a run that has begun nothing, where three jobs wait and the time was these owners'.
    fn page(limits: &[&str], held: &[(Owner, u64)]) -> String {
        let metrics = Metrics::new(Duration::ZERO, Proof::nothing());
        let mut figures = metrics.figures(3);
        let held = held.iter();
        figures.held = held
            .map(|&(owner, secs)| (owner, Duration::from_secs(secs)))
            .collect();
        let about = About {
            setup: setup(limits),
            started: Duration::from_millis(1_700_000_000_500),
        };
        text(&about, &figures)
    }

    #[test]
    fn names_that_users_give_to_limits_are_escaped() {
        let limits = ["5/s name=a\"b\\c", "6/s name=größe{x=\"1\"}"];
        let held = [(Owner::Limit(0), 2), (Owner::Limit(1), 3)];
        let text = page(&limits, &held);
        for line in [
            "shaper_held_back_seconds_total{owner=\"a\\\"b\\\\c\"} 2\n",
            "shaper_held_back_seconds_total{owner=\"größe{x=\\\"1\\\"}\"} 3\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn before_the_first_job_there_are_zeros_and_no_family_without_a_sample() {
        let text = page(&[], &[]);
        for line in [
            "shaper_start_time_seconds 1700000000.5\n",
            "# TYPE shaper_requests_total counter\nshaper_requests_total 0\n",
            "shaper_jobs_total{result=\"failed\"} 0\n",
            "shaper_queue_depth 3\n",
            "shaper_request_latency_seconds_bucket{result=\"ok\",le=\"0.005\"} 0\n",
            "shaper_request_latency_seconds_bucket{result=\"ok\",le=\"+Inf\"} 0\n",
            "shaper_lateness_seconds_bucket{le=\"+Inf\"} 0\n",
            "shaper_bound_by{owner=\"none\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        for family in ["shaper_responses_total", "shaper_slots", "failures_total"] {
            assert!(!text.contains(family), "{family} in {text}");
        }
    }
}
