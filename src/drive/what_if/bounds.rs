//! The bounds of a run, and what they are changed to. Floor 5: drive.

use std::num::NonZeroU64;

use crate::engine::Rules;
use crate::limit::Spec;
use crate::metrics::Owner;
use crate::units::{Cost, Rate};

/// One of the bounds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Slots,
    HostSlots,
    Limit(usize),
}

/// What it is changed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Halve = 0,
    Double = 1,
    Lift = 2,
}

impl Change {
    pub(super) const ALL: [Self; 3] = [Self::Halve, Self::Double, Self::Lift];
}

/// The bounds that are set, in the order of the command line, as the options that set them.
pub(super) fn bounds(rules: &Rules) -> Vec<(Bound, String)> {
    let setup = rules.setup();
    let slots = rules
        .slots
        .map(|slots| (Bound::Slots, format!("--concurrency {}", slots.get())));
    let host = rules
        .per_host
        .map(|_| (Bound::HostSlots, setup.name_of(Owner::HostSlot)));
    let limits = (0..rules.limits.len())
        .map(|number| (Bound::Limit(number), setup.name_of(Owner::Limit(number))));
    slots.into_iter().chain(host).chain(limits).collect()
}

/// The rules with one bound changed; `None` if half of it is nothing.
pub(super) fn changed(rules: &Rules, bound: Bound, change: Change) -> Option<Rules> {
    let mut rules = rules.clone();
    let slots = |slots: Option<Cost>| match change {
        Change::Halve => Cost::new(slots?.get() / 2).map(Some),
        Change::Double => Some(Cost::new(slots?.get().saturating_mul(2))),
        Change::Lift => Some(None),
    };
    match (bound, change) {
        (Bound::Slots, _) => rules.slots = slots(rules.slots)?,
        (Bound::HostSlots, _) => rules.per_host = slots(rules.per_host)?,
        (Bound::Limit(number), Change::Lift) => drop(rules.limits.remove(number)),
        (Bound::Limit(number), Change::Halve | Change::Double) => {
            rules.limits[number] = scaled(&rules.limits[number], change)?;
        }
    }
    Some(rules)
}

/// Half or twice as many per period. A burst that is a period's worth goes along, as where the option itself
/// is given that number; any other stays.
fn scaled(spec: &Spec, change: Change) -> Option<Spec> {
    let Rate { count, period, .. } = &spec.rate;
    let half = NonZeroU64::new(count.get() / 2);
    let rate = match (change, half) {
        (Change::Halve, Some(half)) if count.get().is_multiple_of(2) => {
            Rate::new(half.get(), *period)
        }
        (Change::Halve, _) if spec.kind.has_burst() => {
            Rate::new(count.get(), period.checked_mul(2)?)
        }
        (Change::Halve, half) => Rate::new(half?.get(), *period),
        (Change::Double | Change::Lift, _) => Rate::new(count.get().saturating_mul(2), *period),
    }?;
    let burst = if spec.burst == Cost(*count) && count.get() > 1 {
        match change {
            Change::Halve => Cost(half?),
            Change::Double | Change::Lift => Cost(rate.count),
        }
    } else if spec.kind.has_burst() {
        spec.burst
    } else {
        Cost(rate.count)
    };
    let is_full = spec.start == spec.burst.get();
    Some(Spec {
        rate,
        burst,
        start: if is_full {
            burst.get()
        } else {
            spec.start.min(burst.get())
        },
        ..spec.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_to(spec: &str, change: Change) -> Option<String> {
        scaled(&spec.parse().unwrap(), change).map(|spec| spec.to_string())
    }

    #[test]
    fn a_rate_is_halved_and_doubled_as_its_option_would_be() {
        for (spec, halved, doubled) in [
            ("10/s", "5/s bucket burst=1", "20/s bucket burst=1"),
            ("1/s", "1/2s bucket burst=1", "2/s bucket burst=1"),
            (
                "10/s burst=40",
                "5/s bucket burst=40",
                "20/s bucket burst=40",
            ),
            (
                "tokens 100000/m",
                "tokens 50000/m bucket burst=50000",
                "tokens 200000/m bucket burst=200000",
            ),
            (
                "tokens 7/m",
                "tokens 7/2m bucket burst=3",
                "tokens 14/m bucket burst=14",
            ),
            ("7/10s window", "3/10s window", "14/10s window"),
        ] {
            assert_eq!(
                changed_to(spec, Change::Halve).as_deref(),
                Some(halved),
                "{spec}"
            );
            assert_eq!(
                changed_to(spec, Change::Double).as_deref(),
                Some(doubled),
                "{spec}"
            );
        }
        assert_eq!(changed_to("1/10s window", Change::Halve), None);
    }

    #[test]
    fn each_bound_is_changed_alone() {
        let rules = Rules {
            slots: Cost::new(20),
            per_host: Cost::new(1),
            limits: vec![
                "10/s name=qps".parse().unwrap(),
                "5/1s window".parse().unwrap(),
            ],
            ..Rules::default()
        };
        let names: Vec<String> = bounds(&rules).into_iter().map(|(_, name)| name).collect();
        assert_eq!(
            names,
            [
                "--concurrency 20",
                "--per-host 1",
                "--qps 10",
                "--window 5/1s"
            ]
        );
        let change = |bound, change| changed(&rules, bound, change);
        assert_eq!(
            change(Bound::HostSlots, Change::Halve).map(|it| it.limits),
            None
        );
        let lifted = change(Bound::Limit(0), Change::Lift).unwrap();
        assert_eq!(lifted.limits, rules.limits[1..]);
        assert_eq!(lifted.slots, rules.slots);
        assert_eq!(change(Bound::Slots, Change::Lift).unwrap().slots, None);
        assert_eq!(
            change(Bound::Slots, Change::Double).unwrap().slots,
            Cost::new(40)
        );
    }
}
