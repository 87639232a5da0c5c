//! The fewest slots with which the jobs take no longer than with any that were tried. Floor 5: drive.

use std::collections::BTreeMap;
use std::iter;
use std::time::Duration;

use super::Drawn;
use super::trial::{self, Trial};
use crate::drive::cores::on_all_cores;
use crate::drive::forecast::Terms;
use crate::engine::Rules;
use crate::metrics::Summary;
use crate::report::forecast::{Cell, Gain, Least, NO_LONGER, Slots};
use crate::units::Cost;

/// So many more that fail, in per cent of the jobs, are never chance.
const CHANCE: u64 = 1;

/// Found by trying: `known`, which is the run as it is first and without such a bound last, then 1, 2, 4 and so on up
/// to as many as are ever in flight, what Little's law says of the run as it is, and then between the least that does
/// and the next one below that was tried. More slots are not always faster: they may be refused more. `None` where
/// nothing but slots sets a ceiling.
pub(super) fn slots(
    terms: &Terms,
    drawn: &Drawn,
    as_is: &Summary,
    known: &[Trial],
) -> Option<Slots> {
    let rules = &terms.rules;
    if rules.limits.is_empty() && rules.per_host.is_none() && !trial::bounds(&terms.api) {
        return None;
    }
    let with = |slots: u64| {
        let rules = Rules {
            slots: Cost::new(slots),
            ..rules.clone()
        };
        Trial::of(terms, drawn, rules).cell
    };
    let (itself, free) = (known.first()?, known.last()?);
    // What lies above the peak of a trial is never taken.
    let cells = known.iter().map(|trial| (trial.peak.max(1), trial.cell));
    let mut tried = Tried {
        as_is: itself.cell,
        cells: cells.collect(),
        differ: if drawn.is_part() || trial::bounds(&terms.api) {
            Differ::ByChance
        } else {
            Differ::Truly
        },
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a first guess"
    )]
    let guess = as_is.stretch.in_flight.ceil() as u64;
    let doubled = iter::successors(Some(1_u64), |slots| slots.checked_mul(2));
    let mut first: Vec<u64> = doubled
        .take_while(|slots| *slots < free.peak)
        .chain([guess, guess + 1])
        .filter(|slots| (1..free.peak).contains(slots) && !tried.cells.contains_key(slots))
        .collect();
    first.sort_unstable();
    first.dedup();
    let cells = on_all_cores(&first, |slots| with(*slots));
    tried.cells.extend(first.into_iter().zip(cells));
    loop {
        let (slots, cell) = tried.fewest()?;
        if cell.failed * 2 > cell.done {
            let tried = tried.cells.len() as u64;
            return Some(Slots::MostFail { slots, cell, tried });
        }
        let (slots, cell) = tried.least()?;
        let below = tried.below(slots);
        let next = below.map_or(0, |(below, _)| below).midpoint(slots);
        if tried.cells.contains_key(&next) || next == 0 {
            return Some(Slots::Least(Least {
                slots,
                cell,
                one_less: below.map(|(_, cell)| cell),
                gain: tried.gain(cell),
                best: tried.best()?,
                tried: tried.cells.len() as u64,
            }));
        }
        tried.cells.insert(next, with(next));
    }
}

/// What came of the numbers of slots that were tried.
struct Tried {
    as_is: Cell,
    cells: BTreeMap<u64, Cell>,
    differ: Differ,
}

/// How the jobs that fail with one number of slots differ from those that do with another.
#[derive(Debug, Clone, Copy)]
enum Differ {
    /// By the slots alone: a try draws its fault and its latency whatever goes beside it.
    Truly,
    /// By whom a server refuses, too, or by which jobs of a sample are done when the rest is reckoned.
    ByChance,
}

impl Tried {
    fn each(&self) -> impl Iterator<Item = (u64, Cell)> {
        self.cells.iter().map(|(slots, cell)| (*slots, *cell))
    }

    /// Those with which the smallest share of the jobs fails; of several the fastest.
    fn fewest(&self) -> Option<(u64, Cell)> {
        let share = |cell: &Cell| cell.failed * 1_000_000 / cell.done.max(1);
        self.each()
            .min_by_key(|(_, cell)| (share(cell), cell.takes))
    }

    /// Whether no more jobs fail than with any. Where none fails as it is, none may; else what chance does: three
    /// standard deviations of a rare event, which are the square root of its count.
    fn is_sound(&self, cell: &Cell) -> bool {
        let fewest = self.fewest().map_or(self.as_is, |(_, cell)| cell);
        let fair = fewest.failed * cell.done / fewest.done.max(1);
        let chance = match self.differ {
            Differ::ByChance if self.as_is.failed > 0 => {
                (3 * fair.max(1).isqrt()).min(cell.done * CHANCE / 100)
            }
            Differ::ByChance | Differ::Truly => 0,
        };
        cell.failed <= fair + chance
    }

    fn sound(&self) -> impl Iterator<Item = (u64, Cell)> {
        self.each().filter(|(_, cell)| self.is_sound(cell))
    }

    /// The shortest time of those.
    fn best(&self) -> Option<Duration> {
        self.sound().map(|(_, cell)| cell.takes).min()
    }

    fn least(&self) -> Option<(u64, Cell)> {
        let best = self.best()?;
        self.sound().find(|(_, cell)| no_longer(cell.takes, best))
    }

    /// The next that was tried with fewer.
    fn below(&self, slots: u64) -> Option<(u64, Cell)> {
        let (slots, cell) = self.cells.range(..slots).next_back()?;
        Some((*slots, *cell))
    }

    fn gain(&self, least: Cell) -> Gain {
        if !self.is_sound(&self.as_is) {
            Gain::Jobs
        } else if no_longer(self.as_is.takes, least.takes) {
            Gain::Nothing
        } else {
            Gain::Time
        }
    }
}

fn no_longer(takes: Duration, than: Duration) -> bool {
    takes * 100 <= than * (100 + NO_LONGER)
}
