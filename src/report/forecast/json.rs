//! A plan for programs: one JSON object with stable keys. Floor 4: doors.

use std::time::Duration;

use serde_json::{Value, json};

use super::phases::phases;
use super::{Cell, Forecast, Least, Listed, Said, Sample, Slots, Unfit, WhatIf};
use crate::job::BadLine;
use crate::outcome::Spent;
use crate::report::json::{counted, finite, held_back, since_start};
use crate::report::{lateness, proof};
use crate::units::{Tick, millis};

/// The plan as one object. Times are in milliseconds, rates per second; what is not known is `null`.
pub fn json(plan: &Forecast) -> Value {
    let (summary, counts) = (&plan.summary, &plan.summary.tally.counts);
    let origins = plan.origins.iter();
    let origins =
        origins.map(|(origin, sends)| json!({ "origin": origin.to_string(), "jobs": sends }));
    let limits = plan.setup.limits.iter().map(|spec| {
        json!({
            "name": *spec.name,
            "spec": spec.to_string(),
            "per_s": finite(spec.rate.per_second()),
        })
    });
    json!({
        "counts": {
            "read": counts.read,
            "ok": counts.ok,
            "failed": counts.failed,
            "invalid": counts.invalid,
            "skipped": counts.skipped,
            "cancelled": counts.cancelled,
        },
        "elapsed_ms": millis(summary.elapsed),
        "verdict": plan.diagnosis.verdict,
        "binding": plan.diagnosis.binding.map(|owner| plan.setup.name_of(owner)),
        "findings": plan.diagnosis.findings,
        "held_back": held_back(&plan.diagnosis),
        "timeline": timeline(plan),
        "peak_in_flight": summary.peak_in_flight,
        "least_concurrency": match plan.what_if.as_ref().and_then(|what_if| what_if.least) {
            Some(Slots::Least(least)) => least_slots(least),
            Some(Slots::MostFail { .. }) | None => Value::Null,
        },
        "lateness": lateness::json(&plan.setup, summary),
        "tries": summary.tally.tries,
        "retries": summary.tally.retries,
        "pauses": summary.unseen.map(|unseen| unseen.pauses),
        "statuses": counted(&summary.tally.statuses),
        "failures": counted(&summary.tally.failures),
        "never_fit": never_fit(plan),
        "invalid": invalid(&plan.invalid),
        "tokens": tokens(plan),
        "worst_minute": proof::minute(&summary.proof, &since_start),
        "cost": plan.price.as_ref().map(|price| {
            let (used, reserved) = price.of(summary.tally.units);
            json!({ "price": price.written, "used": used, "reserved": reserved })
        }),
        "origins": origins.collect::<Vec<_>>(),
        "other_origins_jobs": plan.other_origins,
        "what_if": plan.what_if.as_ref().map(what_if),
        "slots": plan.setup.slots,
        "per_host": plan.setup.per_host,
        "limits": limits.collect::<Vec<_>>(),
        "guard_ms": plan.guard.map(millis),
        "api": plan.api.answers,
        "api_median_ms": millis(plan.api.median),
        "timeout_ms": (plan.timeout < Duration::MAX).then(|| millis(plan.timeout)),
        "api_by": match plan.api.said {
            Said::ByOption => "option",
            Said::ByNobody => "default",
        },
        "inputs": plan.inputs,
        "seed": plan.seed,
    })
}

fn least_slots(least: Least) -> Value {
    json!({
        "slots": least.slots,
        "elapsed_ms": millis(least.cell.takes),
        "failed": least.cell.failed,
        "one_less_ms": least.one_less.map(|cell| millis(cell.takes)),
        "best_ms": millis(least.best),
        "tried": least.tried,
    })
}

fn timeline(plan: &Forecast) -> Vec<Value> {
    let end = Tick::ZERO.after(plan.summary.elapsed);
    let phases = phases(&plan.summary.tally.timeline, end);
    let since = |at: Tick| millis(at.since(Tick::ZERO));
    let each = phases.into_iter().map(|phase| {
        json!({
            "from_ms": since(phase.from),
            "to_ms": since(phase.to),
            "owner": plan.setup.name_of(phase.owner),
            "percent": phase.percent,
            "sent_per_s": finite(phase.rate),
            "in_flight": finite(phase.in_flight),
        })
    });
    each.collect()
}

fn never_fit(plan: &Forecast) -> Value {
    let first = plan.never_fit.first.iter().map(|job: &Unfit| {
        json!({
            "file": *job.place.file,
            "line": job.place.line,
            "id": job.id,
            "limit": plan.setup.name_of(job.owner),
            "costs": job.why.asked,
            "holds": job.why.capacity,
        })
    });
    json!({ "count": plan.never_fit.count, "first": first.collect::<Vec<_>>() })
}

fn invalid(listed: &Listed<BadLine>) -> Value {
    let first = listed.first.iter().map(|bad| {
        json!({
            "file": *bad.place.file,
            "line": bad.place.line,
            "column": bad.column,
            "what": bad.what,
            "mend": bad.mend,
        })
    });
    json!({ "count": listed.count, "first": first.collect::<Vec<_>>() })
}

/// What tries reserve and use; null where nothing counts units.
fn tokens(plan: &Forecast) -> Option<Value> {
    let units = plan.summary.tally.units;
    let told = |spent: Spent| json!({ "reserved": spent.reserved, "used": spent.used });
    (units.total != Spent::default()).then(|| {
        json!({
            "reserved": units.total.reserved,
            "used": units.total.used,
            "input": told(units.input),
            "output": told(units.output),
        })
    })
}

fn what_if(what_if: &WhatIf) -> Value {
    let told = |cell: Cell| {
        json!({
            "elapsed_ms": millis(cell.takes),
            "jobs": cell.done,
            "failed": cell.failed,
        })
    };
    let rows = what_if.rows.iter().map(|row| {
        json!({
            "bound": row.name,
            "halved": row.halved.map(told),
            "doubled": row.doubled.map(told),
            "none": row.none.map(told),
        })
    });
    let sample = match what_if.sample {
        Sample::All => None,
        Sample::Drawn(jobs) => Some(jobs),
    };
    json!({
        "sample": sample.map(|jobs| json!({ "jobs": jobs, "as_is_ms": millis(what_if.as_is.takes) })),
        "as_is": told(what_if.as_is),
        "rows": rows.collect::<Vec<_>>(),
    })
}
