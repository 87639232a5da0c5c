//! The report for programs: one JSON object with stable keys. Floor 4: doors.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::late::Late;
use super::table::QUANTILES;
use super::{Report, Standing, lateness, learnt, proof, sources};
use crate::engine::End;
use crate::metrics::diagnose::Diagnosis;
use crate::metrics::littles::Cause;
use crate::metrics::streams::per_second;
use crate::metrics::{ByVerdict, Latencies, Owner, Part, StoreSeen};
use crate::outcome::Spent;
use crate::proof::Mark;
use crate::units::{Tick, millis, show_moment, whole_micros};

/// The report as one object. Times are in milliseconds, rates per second; what is not known, and what
/// is no number, is `null`. `fixtures/report.schema.json` says what each key means.
///
/// A report that is read from results has them in `results`.
pub fn json(report: &Report) -> Value {
    let mut value = figures(report);
    let object = value.as_object_mut().expect("it is one");
    let learnt = learnt::kept(&report.summary.learning);
    object.insert("learnt".to_owned(), json!(learnt));
    object.insert("streams".to_owned(), json!(streams(report)));
    object.insert("store".to_owned(), json!(store(report)));
    object.insert(
        "lateness".to_owned(),
        json!(lateness::json(&report.setup, &report.summary)),
    );
    if let Some(sources) = &report.sources {
        object.insert("results".to_owned(), sources::json(sources));
    }
    value
}

/// What was seen of the store through which limits were shared; `null` if they were not, or nothing tells.
fn store(report: &Report) -> Option<Value> {
    let store = report.summary.unseen?.store;
    (store != StoreSeen::default()).then(|| {
        json!({
            "members": store.members,
            "asks": store.asks,
            "refused": store.refused,
            "lapsed": store.lapsed,
            "away": store.times_away,
            "away_ms": millis(store.away),
            "emptied": store.emptied,
        })
    })
}

fn figures(report: &Report) -> Value {
    let summary = &report.summary;
    let counts = &summary.tally.counts;
    let diagnosis = &report.diagnosis;
    json!({
        "counts": {
            "read": report.is_over().then_some(counts.read),
            "ok": counts.ok,
            "failed": counts.failed,
            "invalid": counts.invalid,
            "skipped": counts.skipped,
            "cancelled": report.is_over().then_some(counts.cancelled),
            "done_before": counts.done_before,
        },
        "ended": match &report.facts.end {
            Standing::Over(end) => Some(end.word()),
            Standing::Running => Some("running"),
            Standing::CutOff => Some("cut_off"),
            Standing::Untold => None,
        },
        "stopped_by": stopped_by(&report.facts.end),
        "conditions": conditions(report),
        "elapsed_ms": millis(summary.elapsed),
        "verdict": diagnosis.verdict,
        "binding": diagnosis.binding.map(|owner| report.setup.name_of(owner)),
        "advice": diagnosis.advice,
        "findings": diagnosis.findings,
        "throughput": throughput(report),
        "little": little(report),
        "held_back": held_back(&report.diagnosis),
        "crossover_ms": report.theory.crossover.as_ref().map(|it| millis(it.latency)),
        "latency": {
            "service": by_verdict(&summary.tally.service),
            "since_due": by_verdict(&summary.tally.since_due),
        },
        "tries": summary.tally.tries,
        "cut_off": summary.unseen.map(|unseen| unseen.cut_off),
        "retries": summary.tally.retries,
        "pauses": summary.unseen.map(|unseen| unseen.pauses),
        "unrepeated": summary.unseen.map(|unseen| unseen.unrepeated),
        "retries_held": summary.unseen.map(|unseen| unseen.retries_held),
        "retries_held_ms": summary.unseen.map(|unseen| millis(unseen.retries_held_for)),
        "breaks": summary.unseen.map(|unseen| unseen.breaks),
        "broken_ms": summary.unseen.map(|unseen| millis(unseen.broken_for)),
        "late_held_by": report.late_by().map(Late::name),
        "late_sends": summary.tally.late,
        "failures": counted(&summary.tally.failures),
        "try_failures": counted(&summary.tally.try_failures),
        "statuses": counted(&summary.tally.statuses),
        "waits_ms": summary.tally.waits.iter()
            .map(|(name, span)| (name.to_string(), json!(millis(span))))
            .collect::<Map<_, _>>(),
        "tokens": tokens(report),
        "sends": summary.tally.sends.count,
        "rate_reached_per_s": summary.tally.sends.rate().and_then(finite),
        "peak_in_flight": summary.peak_in_flight,
        "slots": report.setup.slots,
        "limits": limits(report),
        "proof": proof::limits(&summary.proof, &since_start),
        "worst_minute": proof::minute(&summary.proof, &since_start),
        "started": report.facts.started.map(show_moment),
        "inputs": report.facts.inputs,
        "seed": report.facts.seed,
        "transport": report.facts.transport,
    })
}

/// The value is `null` where the run has no such figure; then it is true.
fn conditions(report: &Report) -> Vec<Value> {
    let conditions = report.conditions.iter();
    conditions
        .map(|judged| {
            let (value, unit) = judged.value.unzip();
            json!({
                "expr": judged.written,
                "value": value.and_then(finite),
                "unit": unit.flatten(),
                "true": judged.is_true,
                "told": judged.told,
            })
        })
        .collect()
}

/// In milliseconds since the run began, in whole microseconds as results tell them.
pub(super) fn since_start(mark: Mark) -> Value {
    json!({ "ms": millis(whole_micros(mark.at.since(Tick::ZERO))) })
}

fn throughput(report: &Report) -> Value {
    let stretch = &report.summary.stretch;
    let observed = report.summary.observed();
    let theory = report.theory.slots_ceiling().map(|ceiling| ceiling.rate);
    let ceilings = report.theory.ceilings.iter().map(|ceiling| {
        let name = match ceiling.cause {
            Cause::Slots(..) => report.setup.name_of(Owner::Slot),
            Cause::Limit(number, _) => report.setup.all_of(number),
        };
        json!({ "name": name, "per_s": finite(ceiling.rate) })
    });
    let mut seconds: BTreeMap<u32, u64> = BTreeMap::new();
    for &answers in &stretch.per_second {
        *seconds.entry(answers).or_default() += 1;
    }
    let seconds = seconds.into_iter();
    let histogram = seconds.map(|(answers, count)| json!({ "per_s": answers, "seconds": count }));
    let ratio = observed.and_then(|rate| report.theory.ratio(rate));
    json!({
        "observed": observed.and_then(finite),
        "theory": theory.and_then(finite),
        "ratio": ratio.and_then(finite),
        "ceilings": ceilings.collect::<Vec<_>>(),
        "histogram": histogram.collect::<Vec<_>>(),
    })
}

fn little(report: &Report) -> Value {
    let stretch = &report.summary.stretch;
    let part = match stretch.part {
        Part::Steady => "steady",
        Part::Whole => "whole",
        Part::Recorded => "recorded",
    };
    json!({
        "part": part,
        "span_ms": millis(stretch.span()),
        "in_flight": finite(stretch.in_flight),
        "rate_per_s": finite(stretch.rate),
        "mean_ms": stretch.mean.map(millis),
        "product": report.theory.in_flight.and_then(finite),
        "tries": stretch.ended,
        "units_per_try": finite(stretch.units.total),
    })
}

pub(super) fn held_back(diagnosis: &Diagnosis) -> Vec<Value> {
    let shares = diagnosis.shares.iter();
    shares
        .map(|share| {
            json!({ "owner": share.name, "ms": millis(share.span), "percent": share.percent })
        })
        .collect()
}

/// What tries reserved and used; null where no limit counts units. Input and output are null where nothing
/// tells them apart.
fn tokens(report: &Report) -> Option<Value> {
    let units = report.summary.tally.units;
    let parts = [units.input, units.output];
    let apart = units.total == Spent::default() || parts != [Spent::default(); 2];
    let told =
        |spent: Spent| apart.then(|| json!({ "reserved": spent.reserved, "used": spent.used }));
    let mut limits = report.setup.limits.iter();
    limits.any(|limit| limit.counts.is_units()).then(|| {
        json!({
            "reserved": units.total.reserved,
            "used": units.total.used,
            "answers_without_usage": report.summary.unseen.map(|unseen| unseen.untold),
            "input": told(units.input),
            "output": told(units.output),
        })
    })
}

/// Answers that were streams of events; null if there was none.
fn streams(report: &Report) -> Option<Value> {
    let streams = report.summary.tally.streams.as_ref()?;
    let ByVerdict { ok, failed } = &streams.per_token;
    Some(json!({
        "answers": streams.answers,
        "by_events": streams.by_events,
        "output_tokens": streams.output,
        "output_tokens_per_s": report.output_per_second().and_then(finite),
        "first_token": by_verdict(&streams.first_token),
        "mean_gap": by_verdict(&streams.mean_gap),
        "longest_gap": by_verdict(&streams.longest_gap),
        "per_token": by_verdict(&streams.per_token),
        "tokens_per_s": { "ok": rates(ok), "failed": rates(failed) },
    }))
}

/// The same keys, of rates that so many per cent had at least; the last is the lowest.
fn rates(per_token: &Latencies) -> Value {
    let rate = |span: Option<Duration>| json!(span.and_then(per_second).and_then(finite));
    let mut object: Map<String, Value> = QUANTILES
        .iter()
        .map(|(name, quantile)| (name.replace('.', ""), rate(per_token.quantile(*quantile))))
        .collect();
    object.insert("min".to_owned(), rate(per_token.max()));
    Value::Object(object)
}

fn limits(report: &Report) -> Vec<Value> {
    let limits = report.setup.limits.iter();
    limits
        .map(|spec| {
            json!({
                "name": *spec.name,
                "spec": spec.to_string(),
                "promise": spec.kind.promise().to_string(),
                "mirrors": spec.kind.mirrors(),
                "per_s": finite(spec.rate.per_second()),
            })
        })
        .collect()
}

fn by_verdict(latencies: &ByVerdict) -> Value {
    json!({ "ok": quantiles(&latencies.ok), "failed": quantiles(&latencies.failed) })
}

/// The keys are the percentiles without their point: `p50`, `p999`.
pub(super) fn quantiles(latencies: &Latencies) -> Map<String, Value> {
    let mut object: Map<String, Value> = QUANTILES
        .iter()
        .map(|(name, quantile)| {
            let value = latencies.quantile(*quantile).map(millis);
            (name.replace('.', ""), json!(value))
        })
        .collect();
    object.insert("max".to_owned(), json!(latencies.max().map(millis)));
    object.insert("n".to_owned(), json!(latencies.count()));
    object.insert("beyond_1h".to_owned(), json!(latencies.beyond()));
    object
}

pub(super) fn counted<K: std::fmt::Display>(counts: &BTreeMap<K, u64>) -> Map<String, Value> {
    let each = counts.iter();
    each.map(|(name, count)| (name.to_string(), json!(count)))
        .collect()
}

/// The rule that ended the run before its time, and what it saw; `null` if none did.
fn stopped_by(end: &Standing) -> Option<Value> {
    match end {
        Standing::Over(End::Stopped(stopped)) => {
            Some(json!({ "rule": stopped.rule, "told": stopped.told }))
        }
        Standing::Over(_) | Standing::Running | Standing::CutOff | Standing::Untold => None,
    }
}

/// A number that JSON can hold, with six decimals.
pub(super) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then(|| (number * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn the_report_is_one_object_with_the_figures_of_the_run() {
        let value = json(&samples::held_by_qps());
        assert_eq!(value["counts"]["read"], 600, "{value}");
        assert_eq!(value["binding"], "--qps 10");
        assert_eq!(value["crossover_ms"], 2000.0);
        assert_eq!(value["held_back"][0]["percent"], 100);
        assert_eq!(value["limits"][0]["spec"], "10 bucket burst=1");
        let throughput = &value["throughput"];
        let observed = throughput["observed"].as_f64().unwrap();
        assert!((9.9..10.1).contains(&observed), "{observed}");
        let (theory, ratio) = (throughput["theory"].as_f64(), throughput["ratio"].as_f64());
        assert!((observed / theory.unwrap() - ratio.unwrap()).abs() < 1e-6);
        let seconds = throughput["histogram"].as_array().unwrap();
        let sum: u64 = seconds
            .iter()
            .map(|row| row["seconds"].as_u64().unwrap())
            .sum();
        assert_eq!(sum, 59, "{seconds:?}");
        assert_eq!(value["latency"]["service"]["ok"]["n"], 600);
    }

    #[test]
    fn a_run_without_jobs_has_nulls_and_no_nan() {
        let text = json(&samples::empty()).to_string();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(value["throughput"]["observed"], Value::Null);
        assert_eq!(value["latency"]["since_due"]["ok"]["p999"], Value::Null);
        assert_eq!(value["binding"], Value::Null);
    }

    /// Complaints about a report, as the schema has them.
    fn complaints(report: &Report) -> Option<String> {
        const SCHEMA: &str = include_str!("../../fixtures/report.schema.json");
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        let schema = serde_json::from_str(SCHEMA).unwrap();
        compiler.add_resource("report", schema).unwrap();
        let schema = compiler.compile("report", &mut schemas).unwrap();
        let value = json(report);
        let told = schemas.validate(&value, schema);
        told.err().map(|why| format!("{why:#}\n{value}"))
    }

    #[test]
    fn every_report_keeps_to_the_schema() {
        for (name, report) in samples::all() {
            assert_eq!(complaints(&report), None, "{name}");
        }
    }

    #[test]
    fn the_schema_refuses_what_is_no_report() {
        let mut report = samples::held_by_qps();
        report.setup.slots = Some(0);
        assert!(complaints(&report).unwrap().contains("/slots"));
    }
}
