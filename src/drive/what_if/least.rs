//! The fewest slots with which the jobs take no longer than with any more. Floor 5: drive.

use super::Drawn;
use super::trial::Trial;
use crate::drive::forecast::Terms;
use crate::engine::Rules;
use crate::metrics::Summary;
use crate::report::forecast::{Least, NO_LONGER};
use crate::units::Cost;

/// Found by trying: from what Little's law says of the run as it is, in growing steps, and then between the last
/// two. `None` where nothing but slots sets a ceiling.
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
    let with = |slots: Option<Cost>| {
        let rules = Rules {
            slots,
            ..rules.clone()
        };
        Trial::of(terms, drawn, rules)
    };
    let free = rules.slots.map_or(itself, |_| with(None));
    let best = free.cell.takes.min(itself.cell.takes);
    let does = |trial: &Trial| {
        trial.cell.takes * 100 <= best * (100 + NO_LONGER)
            && trial.cell.failed <= itself.cell.failed
    };
    let most = if does(&itself) {
        itself.peak
    } else {
        free.peak
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a first guess"
    )]
    let guess = as_is.stretch.in_flight.ceil() as u64;
    // Too few, and enough: with the times they take, as far as they were tried.
    let (mut few, mut enough) = ((0, None), (most.max(1), None));
    let (mut next, mut step) = (guess, 1);
    while enough.0 - few.0 > 1 {
        if next <= few.0 || next >= enough.0 {
            next = few.0 + (enough.0 - few.0) / 2;
        }
        let trial = with(Cost::new(next));
        if does(&trial) {
            enough = (next, Some(trial.cell.takes));
            next = next.saturating_sub(step);
        } else {
            few = (next, Some(trial.cell.takes));
            next += step;
        }
        step *= 2;
    }
    let takes = enough
        .1
        .unwrap_or_else(|| with(Cost::new(enough.0)).cell.takes);
    Some(Least {
        slots: enough.0,
        takes,
        one_less: few.1,
    })
}
