//! Every limit against a reference of its own, to the nanosecond: alone, and three in front of one lane.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "limits/cases.rs"]
mod cases;
#[path = "limits/lane.rs"]
mod lane;
#[path = "limits/reference.rs"]
mod reference;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

use shaper::limit::{Ready, Setting, Spec};
use shaper::units::{Cost, Tick};

use cases::{Algorithm, Numbers, Strain, jobs, numbers};
use lane::Lane;

/// Failing cases are kept and tried first.
fn config(cases: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::Direct("tests/limits/regressions.txt");
    ProptestConfig {
        cases,
        max_shrink_iters: 4_000,
        failure_persistence: Some(Box::new(kept)),
        ..ProptestConfig::default()
    }
}

/// Raw jobs, few enough that thousands of cases take seconds.
fn raw() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 1..30)
}

/// One limit alone is equal to its reference in every answer, and half of the cases are within its bound.
fn alone(algorithm: Algorithm) {
    let mut runner = TestRunner::new(config(10_000));
    let case = (numbers(algorithm), raw(), any::<bool>());
    let tried = runner.run(&case, |(numbers, raw, owing)| {
        let strain = if owing {
            Strain::Owing
        } else {
            Strain::Bounded
        };
        let jobs = jobs(&raw, &[numbers], strain);
        let mut lane = Lane::new(&[numbers], &jobs);
        lane.run();
        if strain == Strain::Bounded {
            lane.is_within_bounds();
        }
        Ok(())
    });
    if let Err(why) = tried {
        panic!("{why}");
    }
}

#[test]
fn a_bucket_equals_exact_arithmetic_over_all_takes() {
    alone(Algorithm::Bucket);
}

#[test]
fn a_leaky_bucket_equals_the_same_arithmetic_to_the_nanosecond() {
    alone(Algorithm::Leaky);
}

#[test]
fn a_sliding_window_equals_the_sum_over_all_sends() {
    alone(Algorithm::Window);
}

#[test]
fn a_window_counter_equals_the_weighted_sums_of_two_windows() {
    alone(Algorithm::Counter);
}

#[test]
fn fixed_windows_of_the_epoch_equal_the_sums_by_their_number() {
    alone(Algorithm::FixedEpoch);
}

#[test]
fn fixed_windows_that_begin_with_a_take_equal_the_sums_of_each() {
    alone(Algorithm::FixedFirst);
}

#[test]
fn slots_equal_the_sum_of_what_is_not_given_back() {
    alone(Algorithm::Slots);
}

#[test]
fn the_worst_second_of_each_rule_is_as_bad_as_it_says() {
    const SECOND: u64 = 1_000_000_000;
    for (text, opened, worst) in [
        ("10/s burst=10", None, 19),
        ("10/s leaky burst=10", None, 19),
        ("9/s", None, 9),
        ("10/s leaky", None, 10),
        ("10/s window", None, 10),
        ("10/s window-counter", None, 19),
        ("10/s fixed", None, 20),
        ("10/s fixed anchor=first", Some(0), 19),
    ] {
        let spec: Spec = text.parse().unwrap();
        let mut limit = spec.build(&Setting::VIRTUAL);
        let mut sends = Vec::new();
        let mut send = |from: u64| {
            let Ready::At(at) = limit.ready(Tick(from), Cost::ONE) else {
                panic!("one fits");
            };
            let mut hold = limit.take(at, Cost::ONE);
            limit.moved(&mut hold, at);
            sends.push(at.0);
        };
        // A window that begins with a take is opened by one; the others come as late as they can.
        opened.into_iter().for_each(&mut send);
        for _ in 0..60 {
            send(SECOND - 1);
        }
        let within = |from: u64| {
            sends
                .iter()
                .filter(move |at| (from..from + SECOND).contains(*at))
        };
        let most = sends.iter().map(|at| within(*at).count()).max().unwrap();
        assert_eq!(most, worst, "{text}");
        let promised = spec.most_in(Duration::from_nanos(SECOND - 1), Duration::ZERO);
        assert!(most as u64 <= promised, "{text} promises {promised}");
    }
}

/// A moment that `earliest` tells is a bound for any parts; for single units, and all but the counter, it is
/// the very moment.
#[test]
fn the_earliest_moment_of_a_line_is_never_too_late_and_exact_for_single_units() {
    let mut runner = TestRunner::new(config(2_000));
    let algorithm = prop::sample::select(&Algorithm::ALL[..6]).prop_flat_map(numbers);
    let parts = prop::collection::vec(1u64..5, 1..30);
    let case = (algorithm, parts, 0u64..3_000_000, any::<bool>());
    let tried = runner.run(&case, |(numbers, parts, from, units)| {
        let mut limit = numbers.real();
        let most = u64::try_from(numbers.reference().capacity()).unwrap();
        let (mut now, mut total) = (Tick(0), 0);
        let mut told: Option<Vec<Tick>> = None;
        let costs = parts
            .iter()
            .map(|part| if units { 1 } else { *part.min(&most) });
        let costs: Vec<u64> = costs.collect();
        // The first few are history, the others stand in line from then on.
        let (history, line) = costs.split_at(costs.len() / 3);
        for (nth, &cost) in history.iter().chain(line).enumerate() {
            if nth == history.len() {
                now = now.max(Tick(from));
                let sums = line.iter().scan(0, |sum, cost| {
                    *sum += cost;
                    Some(limit.earliest(now, u128::from(*sum)))
                });
                told = Some(sums.collect());
            }
            let cost = Cost::new(cost).unwrap();
            let Ready::At(at) = limit.ready(now, cost) else {
                panic!("it fits");
            };
            let mut hold = limit.take(at, cost);
            limit.moved(&mut hold, at);
            if let Some(told) = &told {
                prop_assert!(
                    told[total] <= at,
                    "{} told {:?}, was {at:?}",
                    total,
                    told[total]
                );
                // Above one unit in each nanosecond a bucket also loses what does not fit into it.
                let exact =
                    numbers.algorithm != Algorithm::Counter && numbers.count <= numbers.period;
                if units && exact {
                    prop_assert_eq!(told[total], at, "{} of the line", total);
                }
                total += 1;
            }
            now = at;
        }
        Ok(())
    });
    if let Err(why) = tried {
        panic!("{why}");
    }
}

/// Three limits, of any kinds, with periods of the same size.
fn stack() -> impl Strategy<Value = [Numbers; 3]> {
    let one = || prop::sample::select(&Algorithm::ALL[..]).prop_flat_map(numbers);
    [one(), one(), one()]
}

#[test]
fn three_limits_admit_together_at_the_latest_of_their_moments_and_always_the_same() {
    let mut runner = TestRunner::new(config(10_000));
    let case = (stack(), raw(), any::<bool>());
    let tried = runner.run(&case, |(limits, raw, owing)| {
        let strain = if owing {
            Strain::Owing
        } else {
            Strain::Bounded
        };
        let jobs = jobs(&raw, &limits, strain);
        let mut lane = Lane::new(&limits, &jobs);
        let trace = lane.run();
        if strain == Strain::Bounded {
            lane.is_within_bounds();
        }
        if raw.len().is_multiple_of(4) {
            prop_assert_eq!(Lane::new(&limits, &jobs).run(), trace);
        }
        Ok(())
    });
    if let Err(why) = tried {
        panic!("{why}");
    }
}
