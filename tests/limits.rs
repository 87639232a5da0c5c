//! Properties of each limit: never over its bound in any window, and never later than necessary.

#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use proptest::prelude::*;
use shaper::limit::{Limit, Ready, Setting, Spec};
use shaper::units::{Cost, Tick};

/// A limit in words, a small count and a period whose quotient is no whole number of nanoseconds.
fn specs() -> impl Strategy<Value = Spec> {
    let kind = prop_oneof![
        (1u64..8).prop_map(|burst| format!("bucket burst={burst}")),
        Just("window".to_owned()),
        Just("window-counter".to_owned()),
        (1u64..8).prop_map(|burst| format!("leaky burst={burst}")),
        Just("fixed anchor=first".to_owned()),
        Just("fixed".to_owned()),
    ];
    (kind, 1u64..8, 1u64..2000).prop_map(|(kind, count, period)| {
        format!("tokens {count}/{period}us {kind}").parse().unwrap()
    })
}

/// Arrivals: the gap to the one before in nanoseconds, and a weight.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![Just(0), 0u64..400_000, 0u64..4_000_000];
    prop::collection::vec((gap, 1u64..5), 1..60)
}

/// Takes every cost at the first moment that the limit allows, in order. What can never fit is left out.
fn admit(limit: &mut dyn Limit, arrivals: &[(u64, u64)]) -> Vec<(Tick, u64)> {
    let (mut now, mut taken) = (Tick::ZERO, Vec::new());
    let mut arrived = 0;
    for &(gap, weight) in arrivals {
        arrived += gap;
        let cost = Cost::new(weight).unwrap();
        let from = Tick(arrived).max(now);
        let Ready::At(at) = limit.ready(from, cost) else {
            continue;
        };
        assert!(at >= from, "no moment before it was asked for");
        assert_eq!(
            limit.ready(at, cost),
            Ready::At(at),
            "it fits when it was promised to"
        );
        if at > from {
            let before = Tick(at.0 - 1);
            assert_eq!(
                limit.ready(before, cost),
                Ready::At(at),
                "one nanosecond earlier it does not"
            );
        }
        let mut hold = limit.take(at, cost);
        limit.moved(&mut hold, at);
        now = at;
        taken.push((at, weight));
    }
    taken
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_limit_is_over_its_bound_in_any_window(spec in specs(), arrivals in arrivals()) {
        let mut limit = spec.build(&Setting::VIRTUAL);
        let taken = admit(limit.as_mut(), &arrivals);
        let period = spec.rate.period;
        for (first, &(from, _)) in taken.iter().enumerate() {
            for span in [period / 3, period, period * 2] {
                // The window that begins just before a take holds the most.
                let inside = taken[first..].iter().take_while(|(at, _)| at.since(from) < span);
                let sum: u64 = inside.map(|(_, weight)| weight).sum();
                let most = spec.most_in(span, Duration::ZERO);
                prop_assert!(sum <= most, "{spec}: {sum} within {span:?} from {from:?}");
            }
        }
    }

    #[test]
    fn the_order_of_arrival_is_kept(spec in specs(), arrivals in arrivals()) {
        let mut limit = spec.build(&Setting::VIRTUAL);
        let taken = admit(limit.as_mut(), &arrivals);
        prop_assert!(taken.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
