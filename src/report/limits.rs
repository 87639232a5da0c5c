//! The limits in force, and the most that each lets through. Floor 4: doors.

use std::time::Duration;

use super::{hung, proof};
use crate::metrics::{Owner, Setup, SlotsBy};
use crate::terminal::Columns;
use crate::units::counted;

/// Where the text of a list begins.
pub const INDENT: usize = 12;

/// Parts of a list under each other, behind its heading.
pub fn listed(heading: &str, parts: &[String], columns: Columns) -> String {
    // One column is that of the semicolon.
    let columns = columns.get() - 1;
    let whole = parts.iter().enumerate().map(|(number, part)| {
        let before = if number == 0 { heading } else { "" };
        let before = format!("{before:<INDENT$}");
        hung(&before, INDENT + 2, part, columns).join("\n")
    });
    whole.collect::<Vec<_>>().join(";\n")
}

/// When jobs are due, in a sentence; `None` where they go as slots and limits allow.
pub fn schedule(setup: &Setup) -> Option<String> {
    let arrivals = &setup.arrivals;
    arrivals.are_scheduled().then(|| {
        format!(
            "{}: each job is due at its time, and goes then or as soon as slots and limits let it",
            arrivals.as_options()
        )
    })
}

/// Each bound in a sentence. Grants of buckets may be charged for up to `slack` ago.
pub fn in_force(setup: &Setup, slack: Duration) -> Vec<String> {
    let slots = setup.slots.map(|slots| match setup.slots_by {
        SlotsBy::Option => counted(slots, "slot"),
        SlotsBy::Files => format!("{}, all that the open files allow", counted(slots, "slot")),
    });
    let mut bounds = vec![slots.unwrap_or("slots unlimited".to_owned())];
    if let Some(slots) = setup.per_host.map(|slots| counted(slots, "slot")) {
        bounds.push(format!("{slots} for each origin"));
    }
    for (number, limit) in setup.limits.iter().enumerate() {
        let unit = proof::unit(limit.counts);
        let name = setup.name_of(Owner::Limit(number));
        let each = limit.per.as_ref();
        let each = each.map_or(String::new(), |key| format!(", for each {key}"));
        bounds.push(format!(
            "{name} ({}, {}{each}; {}, like {})",
            limit.rate.shown(),
            limit.promise_in_numbers(slack, unit),
            limit.kind.promise(),
            limit.kind.like(),
        ));
    }
    bounds
}
