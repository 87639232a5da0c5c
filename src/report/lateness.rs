//! How late jobs were that had due times, and what held them. Floor 4: doors.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};

use super::json::quantiles;
use crate::metrics::{STEPS, Setup, Summary};
use crate::units::{counted, exact_span, show_span};

/// Late jobs by what held them, most first; `None` if nothing tells.
fn late_jobs(setup: &Setup, summary: &Summary) -> Option<Vec<(String, u64)>> {
    let by = summary.late_by.as_ref()?.iter();
    let mut by: Vec<_> = by.map(|(owner, count)| (*owner, *count)).collect();
    by.sort_by_key(|(owner, count)| (Reverse(*count), *owner));
    let named = by.into_iter();
    let named = named.map(|(owner, count)| (setup.name_of(owner), count));
    Some(named.collect())
}

/// `null` where jobs had no due times.
pub(super) fn json(setup: &Setup, summary: &Summary) -> Option<Value> {
    let lateness = &summary.tally.lateness;
    setup.arrivals.are_scheduled().then(|| {
        let over = lateness.over();
        let over: Map<String, Value> = over
            .map(|(step, count)| (exact_span(step), json!(count)))
            .collect();
        let by = late_jobs(setup, summary);
        let by: Option<Map<String, Value>> = by.map(|by| {
            by.into_iter()
                .map(|(name, count)| (name, json!(count)))
                .collect()
        });
        let mut told = quantiles(lateness.spans());
        let schedule = setup.arrivals.as_options();
        told.insert("schedule".to_owned(), json!(schedule));
        told.insert("over".to_owned(), json!(over));
        told.insert("by".to_owned(), json!(by));
        Value::Object(told)
    })
}

/// The same for people; `None` where jobs had no due times, or none was sent.
pub(super) fn lines(setup: &Setup, summary: &Summary) -> Option<Vec<String>> {
    let lateness = &summary.tally.lateness;
    let spans = lateness.spans();
    let longest = spans.max().filter(|_| setup.arrivals.are_scheduled())?;
    let at = |quantile| {
        spans
            .quantile(quantile)
            .map_or_else(|| "—".to_owned(), show_span)
    };
    let over = lateness.over().filter(|(_, count)| *count > 0);
    let over: Vec<String> = over
        .map(|(step, count)| format!("over {} {count}", exact_span(step)))
        .collect();
    let mut lines = vec![format!(
        "sent after due: p50 {}, p99 {}, max {}; of {} {}",
        at(0.5),
        at(0.99),
        show_span(longest),
        counted(spans.count(), "job"),
        if over.is_empty() {
            format!("none over {}", exact_span(STEPS[0]))
        } else {
            over.join(", ")
        }
    )];
    let by = late_jobs(setup, summary).unwrap_or_default();
    let by: Vec<String> = by
        .into_iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if !by.is_empty() {
        lines.push(format!("held by {}", by.join(", ")));
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn how_many_were_late_by_how_much_and_what_held_them_is_told_alike_everywhere() {
        let (_, report) = (samples::all().into_iter())
            .find(|(name, _)| *name == "scheduled")
            .unwrap();
        let (setup, summary) = (&report.setup, &report.summary);
        let told = json(setup, summary).unwrap();
        assert_eq!(told["schedule"], "--ramp 0@0s,500/s@10s");
        assert_eq!(told["by"], json!({ "client": 7, "slots": 3900 }));
        let over = told["over"].as_object().unwrap();
        assert_eq!(over.len(), STEPS.len(), "{over:?}");
        let lines = lines(setup, summary).unwrap();
        let late = format!(
            "of 4000 jobs over 1ms {}, over 10ms {}",
            over["1ms"], over["10ms"]
        );
        assert!(lines[0].contains(&late), "{lines:?}");
        assert_eq!(lines[1], "held by slots 3900, client 7");
        let bare = samples::held_by_slots();
        assert_eq!(json(&bare.setup, &bare.summary), None, "nothing was due");
    }
}
