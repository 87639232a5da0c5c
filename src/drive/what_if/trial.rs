//! A sample under some rules, and what that says of all jobs. Floor 5: drive.

use super::Drawn;
use crate::drive::forecast::Terms;
use crate::drive::simulated::{Seen, Simulation};
use crate::engine::{Proves, Rules};
use crate::report::forecast::Cell;
use crate::units::Tick;

/// Of a sample so much is run, in tenths, before the rest of all is reckoned: the end of a run, when slots fall
/// idle, says little of how it goes on.
const RUN: u64 = 9;

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    /// What is shown of it.
    pub(super) cell: Cell,
    /// The most tries in flight at once.
    pub(super) peak: u64,
}

impl Trial {
    /// Runs the jobs under `rules`. If they are a sample, the time of all is what it took so far, and what the
    /// limits' own arithmetic says of the rest.
    pub(super) fn of(terms: &Terms, drawn: &Drawn, rules: Rules) -> Self {
        let rules = Rules {
            proves: Proves::Nothing,
            ..rules
        };
        let enough = drawn.len() * RUN / 10;
        let mut api = terms.modelled();
        let lines = drawn.jobs().map(|job| (Tick::ZERO, Ok(job)));
        let mut watch = |_: Seen<'_>| {};
        let mut run = Simulation::new(rules, lines, &mut api, &mut watch);
        let (mut peak, mut ends) = (0, None);
        while ends.is_none() && run.step() {
            peak = peak.max(run.engine().load().0 as u64);
            if drawn.is_part() && run.engine().counts().done() >= enough {
                let left = run.engine().time_left(drawn.of());
                ends = left.map(|left| run.now().after(left));
            }
        }
        let counts = run.engine().counts();
        Self {
            cell: Cell {
                takes: ends.unwrap_or(run.now()).since(Tick::ZERO),
                done: counts.done(),
                failed: counts.failed,
            },
            peak,
        }
    }
}
