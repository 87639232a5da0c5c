//! The fewest slots with which the jobs take no longer than with any that were tried. Floor 5: drive.

use std::collections::BTreeMap;
use std::iter;

use super::Drawn;
use super::trial::Trial;
use crate::drive::cores::on_all_cores;
use crate::drive::forecast::Terms;
use crate::engine::Rules;
use crate::metrics::Summary;
use crate::report::forecast::{Cell, Least, NO_LONGER};
use crate::units::Cost;

/// So many more that fail, in per cent of the jobs, are never chance.
const CHANCE: u64 = 1;

/// Found by trying: 1, 2, 4 and so on up to as many as are ever in flight, what Little's law says of the run as it
/// is, and then between the least that does and the next one below that was tried. More slots are not always
/// faster: they may be refused more. `None` where nothing but slots sets a ceiling, or no job succeeds.
pub(super) fn slots(terms: &Terms, drawn: &Drawn, as_is: &Summary, itself: Trial) -> Option<Least> {
    let rules = &terms.rules;
    let api = &terms.api;
    if rules.limits.is_empty()
        && rules.per_host.is_none()
        && api.limits.is_empty()
        && api.slots.is_none()
    {
        return None;
    }
    let with = |slots: Option<u64>| {
        let rules = Rules {
            slots: slots.and_then(Cost::new),
            ..rules.clone()
        };
        Trial::of(terms, drawn, rules)
    };
    let free = rules.slots.map_or(itself, |_| with(None));
    let mut tried = Tried {
        as_is: itself.cell,
        cells: BTreeMap::from([(free.peak.max(1), free.cell)]),
    };
    if let Some(own) = rules.slots {
        // What lies above its own peak is never taken.
        tried
            .cells
            .insert(own.get().min(itself.peak.max(1)), itself.cell);
    }
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
    let cells = on_all_cores(&first, |slots| with(Some(*slots)).cell);
    tried.cells.extend(first.into_iter().zip(cells));
    loop {
        let (slots, _) = tried.least()?;
        let below = tried.below(slots).map_or(0, |(below, _)| below);
        if slots - below <= 1 {
            break;
        }
        let next = below + (slots - below) / 2;
        tried.cells.insert(next, with(Some(next)).cell);
    }
    let (slots, cell) = tried.least()?;
    Some(Least {
        slots,
        cell,
        one_less: tried.below(slots).map(|(_, cell)| cell),
        best: tried.best()?,
        tried: tried.cells.len() as u64,
    })
}

/// What came of the numbers of slots that were tried.
struct Tried {
    as_is: Cell,
    cells: BTreeMap<u64, Cell>,
}

impl Tried {
    /// Those with which no more jobs fail than with any.
    fn sound(&self) -> impl Iterator<Item = (u64, Cell)> {
        let share = |cell: &Cell| cell.failed * 1_000_000 / cell.done.max(1);
        let fewest = self.cells.values().min_by_key(|cell| share(cell));
        let fewest = fewest.copied().unwrap_or(self.as_is);
        let sound = move |cell: &Cell| {
            cell.failed < cell.done && cell.failed <= most(fewest, self.as_is, cell.done)
        };
        let cells = self.cells.iter().map(|(slots, cell)| (*slots, *cell));
        cells.filter(move |(_, cell)| sound(cell))
    }

    /// The shortest time of those.
    fn best(&self) -> Option<std::time::Duration> {
        self.sound().map(|(_, cell)| cell.takes).min()
    }

    fn least(&self) -> Option<(u64, Cell)> {
        let best = self.best()?;
        let does = |cell: &Cell| cell.takes * 100 <= best * (100 + NO_LONGER);
        self.sound().find(|(_, cell)| does(cell))
    }

    /// The next that was tried with fewer.
    fn below(&self, slots: u64) -> Option<(u64, Cell)> {
        let (slots, cell) = self.cells.range(..slots).next_back()?;
        Some((*slots, *cell))
    }
}

/// So many of `done` jobs may fail to be no more than `fewest`. Where none fails as it is, none may; else what
/// chance does: three standard deviations of a rare event, which are the square root of its count.
fn most(fewest: Cell, as_is: Cell, done: u64) -> u64 {
    let fair = u128::from(fewest.failed) * u128::from(done) / u128::from(fewest.done.max(1));
    let fair = u64::try_from(fair).unwrap_or(u64::MAX);
    if as_is.failed == 0 {
        return fair;
    }
    fair + (3 * fair.max(1).isqrt()).min(done * CHANCE / 100)
}
