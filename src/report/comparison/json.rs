//! A comparison for programs: one JSON object with stable keys. Floor 4: doors.

use serde_json::{Value, json};

use super::words::latency;
use super::{Comparison, Figures, LONG, Raster, Row, SHORT, Seen, World};
use crate::engine::Signal;
use crate::metrics::Timeline;
use crate::model::Latency;
use crate::report::json::counted;
use crate::units::{Cost, Tick, millis};

/// The comparison as one object. Times are in milliseconds, rates per second; what is not known is `null`.
pub fn json(it: &Comparison) -> Value {
    let numbers = &it.numbers;
    let (world, api, servers) = match &it.world {
        World::Virtual(api) => ("virtual", Some(api.to_string()), None),
        World::Mock(api) => ("mock", Some(api.to_string()), None),
        World::Servers(servers) => ("servers", None, Some(servers)),
    };
    let held = it.held.iter().flat_map(|held| {
        let columns = it.latencies.iter().zip(&held.columns);
        columns.map(|(&own, still)| {
            json!({
                "name": format!("{} at {}", held.name, latency(own)),
                "key": held.key,
                "latency_ms": match own {
                    Latency::Fixed(span) | Latency::Exponential(span) => millis(span),
                    Latency::LogNormal { p50, .. } => millis(p50),
                },
                "sent_per_s": still.rate,
                "in_flight": still.in_flight,
            })
        })
    });
    let spike = it.spike.as_ref().map(|spike| {
        let rows = spike.rows.iter().map(|row| {
            json!({
                "key": row.key,
                "name": row.name,
                "most_in_100_ms": row.most,
                "rate_per_s": row.rate(),
                "not_sent": row.not_sent,
            })
        });
        json!({
            "jobs": spike.jobs,
            "before_boundary_ms": millis(spike.before),
            "disciplines": rows.collect::<Vec<_>>(),
        })
    });
    json!({
        "jobs": it.jobs.count,
        "inputs": it.jobs.inputs,
        "invalid": it.jobs.invalid,
        "arrive_over_ms": millis(it.jobs.span),
        "tokens_each": it.jobs.units,
        "world": world,
        "api": api,
        "servers": servers,
        "ended": match it.cut {
            None => "finished",
            Some(Signal::Interrupt) => "interrupted",
            Some(Signal::Terminate) => "terminated",
        },
        "concurrency": numbers.slots.get(),
        "qps": numbers.rate.written,
        "burst": numbers.burst.get(),
        "window": numbers.window.written,
        "tpm": numbers.tpm.map(Cost::get),
        "limits": numbers.own.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seed": numbers.seed,
        "short_window_ms": millis(SHORT),
        "long_window_ms": millis(LONG),
        "held": held.collect::<Vec<_>>(),
        "disciplines": it.rows.iter().map(row).collect::<Vec<_>>(),
        "spike": spike,
        "unanswered": it.unanswered(),
        "theory": it.theory(),
        "lessons": it.lessons(),
    })
}

/// The same without what was sent when: each value is a figure.
pub fn figures_only(mut comparison: Value) -> Value {
    let rows = comparison
        .get_mut("disciplines")
        .and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten() {
        if let Some(members) = row.as_object_mut() {
            members.remove("raster");
            members.remove("timeline");
        }
    }
    comparison
}

fn row(row: &Row) -> Value {
    let mut value = match &row.seen {
        Seen::Run(seen) => figures(seen),
        Seen::NotRun(why) => json!({ "not_run": why }),
    };
    if let Some(members) = value.as_object_mut() {
        members.insert("key".to_owned(), row.key.into());
        members.insert("name".to_owned(), row.name.clone().into());
    }
    value
}

fn figures(seen: &Figures) -> Value {
    json!({
        "sends": seen.sends,
        "rate_reached_per_s": seen.rate,
        "most_in_100_ms": seen.most_in_short,
        "most_in_1_s": seen.most_in_long,
        "not_sent": seen.not_sent,
        "ok": seen.ok,
        "refused_429": seen.refused,
        "other": seen.others.count(),
        "statuses": counted(&seen.others.statuses),
        "failures": counted(&seen.others.failures),
        "p50_ms": seen.p50.map(millis),
        "p99_ms": seen.p99.map(millis),
        "peak_in_flight": seen.peak_in_flight,
        "done_ms": millis(seen.finish),
        "mean_latency_ms": seen.mean.map(millis),
        "theory_observed_per_s": seen.means.map(|means| means.rate),
        "theory_latency_ms": seen.means.map(|means| millis(means.latency)),
        "bound_by": (!seen.bound_by.is_empty()).then_some(&seen.bound_by),
        "raster": raster(&seen.raster),
        "timeline": timeline(&seen.timeline),
    })
}

fn raster(raster: &Raster) -> Value {
    let sent = raster.cells.iter().map(|cell| cell.sent);
    let refused = raster.cells.iter().map(|cell| cell.refused);
    json!({
        "cell_ms": millis(raster.width),
        "sent": sent.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
    })
}

/// At most 1024 cells, whatever the run.
fn timeline(timeline: &Timeline) -> Value {
    let sent = timeline.cells().iter().map(|cell| cell.sent);
    let ended = timeline.cells().iter().map(|cell| cell.ended);
    let refused = timeline.cells().iter().map(|cell| cell.refused);
    json!({
        "from_ms": millis(timeline.from().since(Tick::ZERO)),
        "cell_ms": millis(timeline.width()),
        "sent": sent.collect::<Vec<_>>(),
        "ended": ended.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
    })
}
