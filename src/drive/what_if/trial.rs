//! A sample under some rules, and what that says of all jobs. Floor 5: drive.

use std::time::Duration;

use super::Drawn;
use crate::drive::forecast::Terms;
use crate::drive::simulated::{Seen, Simulation};
use crate::engine::{Keeps, Proves, Rules};
use crate::model::ModelSpec;
use crate::report::forecast::Cell;
use crate::units::Tick;

/// Of a sample so much is run, in tenths, before the rest of all is reckoned: the end of a run, when slots fall
/// idle, says little of how it goes on.
const RUN: u64 = 9;

/// From here on, in tenths of a sample, it goes as it will go on: a burst at the start is over.
const SETTLED: u64 = 5;

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    /// What is shown of it.
    pub(super) cell: Cell,
    /// The most tries in flight at once.
    pub(super) peak: u64,
}

impl Trial {
    /// Runs the jobs under `rules`. If they are a sample, the time of all is what it took so far, and for the rest
    /// what the limits' own arithmetic says, or the pace that a server keeps which bounds it too.
    pub(super) fn of(terms: &Terms, drawn: &Drawn, rules: Rules) -> Self {
        let rules = Rules {
            proves: Proves::Nothing,
            keeps: Keeps::Ends,
            ..rules
        };
        let [settled, enough] = [SETTLED, RUN].map(|tenths| drawn.len() * tenths / 10);
        let mut api = terms.modelled();
        let lines = drawn.lines().map(|line| (Tick::ZERO, line));
        let mut watch = |_: Seen<'_>| {};
        let mut run = Simulation::new(rules, lines, &mut api, &mut watch);
        let (mut peak, mut since, mut ends) = (0, None, None);
        while ends.is_none() && run.step() {
            peak = peak.max(run.engine().load().0 as u64);
            let (now, done) = (run.now(), run.engine().counts().done());
            if !drawn.is_part() || done < settled {
                continue;
            }
            let (from, before) = *since.get_or_insert((now, done));
            if done >= enough {
                let left = run.engine().time_left(drawn.of());
                let paced = bounds(&terms.api).then(|| {
                    let jobs = drawn.of().saturating_sub(done);
                    scaled(now.since(from), jobs, done - before)
                });
                ends = left.map(|left| now.after(left.max(paced.unwrap_or_default())));
            }
        }
        let counts = run.engine().counts();
        Self {
            cell: Cell {
                takes: ends.unwrap_or(run.now()).since(Tick::ZERO),
                done: counts.done() - counts.invalid,
                failed: counts.failed,
            },
            peak,
        }
    }
}

/// Whether the server itself sets a pace, which no limit of the run tells.
pub(super) fn bounds(api: &ModelSpec) -> bool {
    !api.limits.is_empty() || api.slots.is_some()
}

/// How long `jobs` take where so `many` took `span`.
#[expect(clippy::cast_precision_loss, reason = "an estimate from a mean")]
fn scaled(span: Duration, jobs: u64, many: u64) -> Duration {
    let span = span.as_secs_f64() * jobs as f64 / many.max(1) as f64;
    Duration::try_from_secs_f64(span).unwrap_or(Duration::MAX)
}
