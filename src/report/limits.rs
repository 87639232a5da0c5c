//! The limits in force, and the most that each lets through. Floor 4: doors.

use std::time::Duration;

use super::folded;
use crate::limit::Counts;
use crate::metrics::Owner;
use crate::metrics::littles::Setup;

/// Columns of a limit.
const ROOM: usize = 84;

/// Each bound in its lines. Grants of buckets may be charged for up to `slack` ago.
pub fn in_force(setup: &Setup, slack: Duration) -> Vec<Vec<String>> {
    let counted = |slots: u64| match slots {
        1 => "1 slot".to_owned(),
        slots => format!("{slots} slots"),
    };
    let slots = setup.slots.map(counted);
    let mut bounds = vec![vec![slots.unwrap_or("slots unlimited".to_owned())]];
    if let Some(slots) = setup.per_host.map(counted) {
        bounds.push(vec![format!("{slots} for each origin")]);
    }
    for (number, limit) in setup.limits.iter().enumerate() {
        let unit = match limit.counts {
            Counts::Requests => "",
            Counts::Units => " tokens",
            Counts::Input => " input tokens",
            Counts::Output => " output tokens",
        };
        let name = setup.name_of(Owner::Limit(number));
        let each = limit.per.as_ref();
        let each = each.map_or(String::new(), |key| format!(", for each {key}"));
        let text = format!(
            "{name} ({}, {}{each}; {}, like {})",
            limit.rate.shown(),
            limit.promise_in_numbers(slack, unit),
            limit.kind.promise(),
            limit.kind.like(),
        );
        bounds.push(folded(&text, ROOM));
    }
    bounds
}
