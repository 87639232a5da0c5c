//! The same jobs under other bounds: half of each, twice, none, and the fewest slots that do. Floor 5: drive.

mod bounds;
mod least;
mod sampler;
mod trial;

use bounds::{Change, bounds, changed};
pub use sampler::{Drawn, SAMPLE, Sampler};
use trial::Trial;

use super::cores::on_all_cores;
use super::forecast::Terms;
use crate::metrics::Summary;
use crate::report::forecast::{Row, Sample, WhatIf};
use crate::shape::Arrivals;

/// How long the jobs take with one bound changed, given the figures with all as they are; `None` where nothing
/// is bounded, nothing was sent, or jobs have times and are too many to run all of them again.
pub fn what_if(terms: &Terms, drawn: &Drawn, as_is: &Summary) -> Option<WhatIf> {
    let bounds = bounds(&terms.rules);
    // The times of some jobs say nothing of how it is with all.
    let is_thinned = match terms.rules.arrivals {
        Arrivals::Closed | Arrivals::Once => false,
        Arrivals::Paced(..) | Arrivals::Replay(_) => drawn.is_part(),
    };
    if bounds.is_empty() || as_is.tally.tries == 0 || is_thinned {
        return None;
    }
    let mut asked = vec![Some(terms.rules.clone())];
    for (bound, _) in &bounds {
        asked.extend(Change::ALL.map(|change| changed(&terms.rules, *bound, change)));
    }
    let trials = on_all_cores(&asked, |rules| {
        Some(Trial::of(terms, drawn, rules.clone()?))
    });
    let (itself, changes) = trials.split_first()?;
    let itself = (*itself)?;
    let mut slots = vec![itself];
    if terms.rules.slots.is_some() {
        slots.extend(changes.iter().take(Change::ALL.len()).flatten());
    }
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
        as_is: itself.cell,
        sample: if drawn.is_part() {
            Sample::Drawn(drawn.len())
        } else {
            Sample::All
        },
        least: least::slots(terms, drawn, as_is, &slots),
    })
}
