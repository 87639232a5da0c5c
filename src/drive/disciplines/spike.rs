//! The double spike: what passes around a boundary of fixed windows. Floor 5: drive.

use std::time::Duration;

use super::work::Work;
use super::{Discipline, Plan};
use crate::model::{Latency, ModelSpec};
use crate::report::comparison::{Spike, Spiked};
use crate::units::Tick;

/// Windows that hold more are not filled twice to show what they let through.
const MOST: u64 = 10_000;

/// The disciplines that are set beside fixed windows.
const BESIDE: [&str; 6] = ["fixed", "drop", "counter", "sliding", "burst", "qps"];

/// As many jobs as a window holds come shortly before a boundary, and as many again at it: the run begins there.
/// `None` if no fixed window is among the disciplines.
pub(super) fn spike(plan: &Plan) -> Option<Spike> {
    let jobs = plan.numbers.window.count.get();
    let is_fixed = |row: &Discipline| ["fixed", "drop"].contains(&row.key);
    if jobs > MOST || !plan.disciplines().any(is_fixed) {
        return None;
    }
    let before = plan.before();
    let work = Work::at([(Tick::ZERO, jobs), (Tick::ZERO.after(before), jobs)], 1);
    // An API that takes everything at once: what counts is what leaves.
    let api = ModelSpec {
        latency: Latency::Fixed(Duration::from_nanos(1)),
        ..ModelSpec::default()
    };
    let beside = plan.disciplines().filter(|row| BESIDE.contains(&row.key));
    let mut rows: Vec<Spiked> = beside
        .map(|row| {
            let figures = plan.run(row, &work, &api).figures;
            Spiked {
                key: row.key,
                name: (row.name)(&plan.numbers),
                most: figures.most_in_short,
                not_sent: figures.not_sent,
            }
        })
        .collect();
    rows.sort_by_key(|row| BESIDE.iter().position(|key| *key == row.key));
    Some(Spike { jobs, before, rows })
}
