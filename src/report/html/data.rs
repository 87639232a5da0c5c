//! What the script of the page draws: series and curves, and the report as programs get it. Floor 4: doors.

use serde_json::{Value, json};

use super::rates::binds;
use super::series::{Bin, Series, since, zero};
use super::{Named, Run};
use crate::letters::calm;
use crate::metrics::{Latencies, Owner};
use crate::report::hdr::curve;
use crate::report::throughput::marks;

/// One object with the list `runs`.
pub(super) fn of(names: &[Named<'_>], runs: &[Run<'_>]) -> Value {
    let runs = names
        .iter()
        .zip(runs)
        .map(|(named, run)| one(named.name, run));
    json!({ "runs": runs.collect::<Vec<_>>() })
}

fn one(name: &str, run: &Run<'_>) -> Value {
    let (report, summary) = (run.report, &run.report.summary);
    let steady = &summary.stretch;
    let ends = [steady.from, steady.to].map(|at| brief(since(at, zero(summary))));
    let is_steady = run
        .figures
        .pointer("/little/part")
        .is_some_and(|part| part == "steady");
    // The first mark is the mean, which the chart shows by itself.
    let ceilings = marks(report).into_iter().skip(1);
    let ceilings =
        ceilings.map(|mark| json!({ "name": calm(&mark.text), "rate": brief(mark.rate), "binds": binds(&mark.text) }));
    json!({
        "name": calm(name),
        "report": run.figures,
        "time": time(run),
        "steady": is_steady.then_some(ends),
        "ceilings": ceilings.collect::<Vec<_>>(),
        "slots": report.setup.slots,
        "percentiles": {
            "service_ok": points(&summary.tally.service.ok),
            "service_failed": points(&summary.tally.service.failed),
            "since_due_ok": points(&summary.tally.since_due.ok),
            "since_due_failed": points(&summary.tally.since_due.failed),
        },
    })
}

fn time(run: &Run<'_>) -> Value {
    let series = Series::of(&run.report.summary);
    let of = |part: fn(&Bin) -> f64| -> Vec<f64> {
        series.bins.iter().map(|bin| brief(part(bin))).collect()
    };
    let owners = series.owners().into_iter().map(|owner| {
        let share = series
            .bins
            .iter()
            .map(|bin| brief(bin.owners.get(&owner).copied().unwrap_or(0.0)));
        json!({
            "name": calm(&run.report.setup.name_of(owner)),
            "idle": owner == Owner::Nothing,
            "share": share.collect::<Vec<_>>(),
        })
    });
    json!({
        "start": brief(series.start),
        "width": series.width,
        "end": brief(series.end),
        "sent": of(|bin| bin.sent),
        "ended": of(|bin| bin.ended),
        "refused": of(|bin| bin.refused),
        "in_flight": of(|bin| bin.in_flight),
        "owners": owners.collect::<Vec<_>>(),
    })
}

/// The curve of percentiles: `1 / (1 - percentile)` and milliseconds. The longest stands where it is the only one left.
fn points(latencies: &Latencies) -> Value {
    let count = super::series::float(latencies.count());
    let mut points: Vec<(f64, f64)> = Vec::new();
    for point in curve(latencies) {
        let x = (1.0 / (1.0 - point.quantile)).min(count.max(1.0));
        let ms = point.latency.as_secs_f64() * 1e3;
        match points.last_mut() {
            Some(last) if last.0 >= x => last.1 = ms,
            Some(_) | None => points.push((x, ms)),
        }
    }
    let (x, ms): (Vec<f64>, Vec<f64>) = points.into_iter().map(|(x, ms)| (brief(x), ms)).unzip();
    json!({ "x": x, "ms": ms })
}

/// Five digits that matter: a screen shows no more.
pub(super) fn brief(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(4 - power(number));
    let brief = (number * scale).round() / scale;
    if brief.is_finite() { brief } else { number }
}

#[expect(clippy::cast_possible_truncation, reason = "a power of ten of a float")]
fn power(number: f64) -> i32 {
    number.abs().log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::samples;

    #[test]
    fn a_curve_rises_and_ends_with_the_longest() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|n| latencies.add(Duration::from_millis(n)));
        let points = points(&latencies);
        let [x, ms] = ["x", "ms"].map(|key| {
            let all = points[key].as_array().unwrap().iter();
            all.map(|it| it.as_f64().unwrap()).collect::<Vec<_>>()
        });
        assert!(x.windows(2).all(|two| two[0] < two[1]), "{x:?}");
        assert!(ms.windows(2).all(|two| two[0] <= two[1]), "{ms:?}");
        assert_eq!(
            (x[0], x.last(), ms.last()),
            (1.0, Some(&1000.0), Some(&1000.0))
        );
    }

    #[test]
    fn numbers_are_brief() {
        let told = [1.0 / 3.0, 123_456.7, 0.0, -0.012_345_67].map(|it| brief(it).to_string());
        assert_eq!(told, ["0.33333", "123460", "0", "-0.012346"]);
        assert!(brief(f64::MIN_POSITIVE) > 0.0 && brief(f64::MAX).is_finite());
    }

    #[test]
    fn the_data_of_every_run_are_numbers() {
        for (name, report) in samples::all() {
            let run = Run {
                nth: 0,
                report: &report,
                figures: Value::Null,
            };
            let data = one(name, &run).to_string();
            assert!(data.len() < 120_000, "{name}: {}", data.len());
            // What is no number would be null.
            assert!(!time(&run).to_string().contains("null"), "{name}: {data}");
        }
    }
}
