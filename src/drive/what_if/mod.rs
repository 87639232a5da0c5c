//! The same jobs under other bounds: half of each, twice, none, and the fewest slots that do. Floor 5: drive.

mod bounds;
mod least;
mod sampler;
mod trial;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use bounds::{Change, bounds, changed};
pub use sampler::{Drawn, SAMPLE, Sampler};
use trial::Trial;

use super::forecast::Terms;
use crate::metrics::Summary;
use crate::report::forecast::{Row, Sample, WhatIf};

/// How long the jobs take with one bound changed, given the figures with all as they are; `None` where nothing
/// is bounded, or nothing was sent.
pub fn what_if(terms: &Terms, drawn: &Drawn, as_is: &Summary) -> Option<WhatIf> {
    let bounds = bounds(&terms.rules);
    if bounds.is_empty() || as_is.tally.tries == 0 {
        return None;
    }
    let mut asked = vec![Some(terms.rules.clone())];
    for (bound, _) in &bounds {
        asked.extend(Change::ALL.map(|change| changed(&terms.rules, *bound, change)));
    }
    let trials = side_by_side(&asked, |rules| {
        Some(Trial::of(terms, drawn, rules.clone()?))
    });
    let (itself, changes) = trials.split_first()?;
    let itself = (*itself)?;
    let rows = bounds
        .into_iter()
        .zip(changes.chunks_exact(Change::ALL.len()));
    let rows = rows.map(|((_, name), trials)| {
        let cell = |change: Change| trials[change as usize].map(|trial| trial.cell);
        Row {
            name,
            halved: cell(Change::Halve),
            doubled: cell(Change::Double),
            none: cell(Change::Lift),
        }
    });
    Some(WhatIf {
        rows: rows.collect(),
        sample: if drawn.is_part() {
            Sample::Drawn {
                jobs: drawn.len(),
                as_is: itself.cell.takes,
            }
        } else {
            Sample::All
        },
        least: least::slots(terms, drawn, as_is, itself),
    })
}

/// Each of the results, in order, as many at a time as there are processors.
fn side_by_side<T: Sync, R: Send>(asked: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(asked.len()));
    let work = || {
        while let Some((nth, one)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|nth| Some((nth, asked.get(nth)?)))
        {
            let result = of(one);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((nth, result));
        }
    };
    let others = thread::available_parallelism().map_or(1, usize::from) - 1;
    thread::scope(|scope| {
        for _ in 0..others.min(asked.len().saturating_sub(1)) {
            // Without a thread the work is done here.
            drop(thread::Builder::new().spawn_scoped(scope, work));
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(nth, _)| *nth);
    done.into_iter().map(|(_, result)| result).collect()
}
