//! The disciplines of `compare`, side by side. Floor 5: drive.
//!
//! The bad examples live here and cannot be reached from `run`.

mod conduct;
mod live;
mod record;
mod simulate;
mod spike;
mod table;
#[cfg(test)]
mod tests;
mod trial;
mod work;

use std::time::Duration;

pub use live::{Live, Told};
pub use table::{DISCIPLINES, Discipline};
pub use work::{Keep, Work};

use super::cores::on_all_cores;
use super::modelled::{Draws, Modelled};
use crate::limit::{Guard, Setting};
use crate::metrics::Owner;
use crate::model::{Latency, ModelSpec};
use crate::report::comparison::{Comparison, Held, Jobs, Numbers, Row, Seen, Still, World};
use conduct::Course;
use record::Measured;
use simulate::simulate;
use table::Stills;
use trial::{Asked, Trial};

/// Fixed windows are counted from the epoch; a run begins this long before a boundary, but no more than half
/// a period.
const BEFORE_BOUNDARY: Duration = Duration::from_millis(50);

/// The least and the most jobs with which it is seen what a discipline holds still.
const STILL: (u64, u64) = (1_000, 100_000);

/// What is compared.
#[derive(Debug)]
pub struct Plan {
    /// What all disciplines use.
    pub numbers: Numbers,
    /// Keys of the disciplines, each once.
    pub chosen: Vec<&'static str>,
    /// The jobs.
    pub work: Work,
    /// The names of the files that they came from.
    pub inputs: Vec<String>,
    /// The modelled API.
    pub api: ModelSpec,
    /// The latencies at which it is seen what a discipline holds still.
    pub latencies: Vec<Latency>,
}

impl Plan {
    /// The disciplines that were chosen and for which there are numbers, in the order of the table.
    pub fn disciplines(&self) -> impl Iterator<Item = &'static Discipline> {
        DISCIPLINES
            .iter()
            .filter(|row| self.chosen.contains(&row.key) && (row.limits)(&self.numbers).is_some())
    }

    /// How long before a boundary of the fixed windows a run begins.
    fn before(&self) -> Duration {
        BEFORE_BOUNDARY.min(self.numbers.window.period / 2)
    }

    /// Virtual time, in which runs begin before a boundary.
    fn course(&self) -> Course {
        Course {
            setting: Setting {
                guard: Guard::Of(Duration::ZERO),
                epoch: self.numbers.window.period.saturating_sub(self.before()),
            },
            slack: Duration::ZERO,
            timeout: Duration::MAX,
            most: None,
        }
    }

    fn jobs(&self) -> Jobs {
        Jobs {
            count: self.work.count(),
            units: self.work.units(),
            inputs: self.inputs.clone(),
            invalid: self.work.invalid,
            span: self.work.span(),
        }
    }

    /// One discipline with these jobs, in front of this API, as new.
    fn run(&self, discipline: &Discipline, work: &Work, api: &ModelSpec) -> Measured {
        let course = self.course();
        let seed = self.numbers.seed;
        let api = Modelled::new(api, None, course.setting, seed, Draws::Arrivals);
        let limits = (discipline.limits)(&self.numbers).unwrap_or_default();
        let trial = Trial::new(
            discipline,
            &self.numbers,
            limits,
            &course,
            work,
            Asked::Unheard,
        );
        simulate(trial, api)
    }

    fn still(&self, discipline: &Discipline, latency: Latency) -> Still {
        let (least, most) = STILL;
        let slots = self.numbers.slots.get();
        // So many come in one latency at the rate. A list of fewer than twice that is through before it is seen
        // how many are in flight.
        let seconds = latency.median().as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float saturates; rates are never negative"
        )]
        let come = (self.numbers.rate.per_second() * seconds) as u64;
        let rounds = slots.saturating_mul(10);
        let count = rounds.max(come.saturating_mul(4)).clamp(least, most);
        // Whole rounds of all slots, if there are some.
        let count = if slots < count {
            count - count % slots
        } else {
            count
        };
        let work = Work::equal(count, 1);
        let api = ModelSpec {
            latency,
            ..self.api.clone()
        };
        let Measured {
            figures,
            stretch,
            rate,
        } = self.run(discipline, &work, &api);
        let by_slots = stretch
            .shares
            .first()
            .is_some_and(|most| most.0 == Owner::Slot);
        let piles_up = self.api.slots.is_some_and(|slots| slots.get() < come);
        let stands = by_slots || (count / 2 >= come && !piles_up);
        Still {
            // Told by the sends: a server that is slower than a rate answers later and later.
            rate: rate.or(figures.rate).unwrap_or(stretch.rate),
            in_flight: stands.then_some(stretch.in_flight),
        }
    }
}

/// Every discipline of the plan in virtual time, on all cores.
pub fn compare(plan: &Plan) -> Comparison {
    let rows: Vec<&Discipline> = plan.disciplines().collect();
    let stills: Vec<&Discipline> = rows
        .iter()
        .copied()
        .filter(|row| row.stills == Stills::Shown)
        .collect();
    let columns = plan.latencies.len();
    let points = stills
        .iter()
        .flat_map(|row| plan.latencies.iter().map(move |&latency| (*row, latency)));
    let points: Vec<_> = points.collect();
    let points = on_all_cores(&points, |&(row, latency)| plan.still(row, latency));
    let held = stills.iter().zip(points.chunks(columns.max(1)));
    let held = held.map(|(row, columns)| Held {
        key: row.key,
        name: (row.name)(&plan.numbers),
        columns: columns.to_vec(),
    });
    let held = held.collect();
    let rows = on_all_cores(&rows, |row| Row {
        key: row.key,
        name: (row.name)(&plan.numbers),
        seen: Seen::Run(Box::new(plan.run(row, &plan.work, &plan.api).figures)),
    });
    Comparison {
        numbers: plan.numbers.clone(),
        jobs: plan.jobs(),
        world: World::Virtual(plan.api.clone()),
        latencies: plan.latencies.clone(),
        held,
        rows,
        spike: spike::spike(plan),
        cut: None,
    }
}
