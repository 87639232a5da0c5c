//! What each discipline is promised to show, in virtual time. Floor 5: drive.

use super::*;
use crate::report::comparison::{self, Figures};
use crate::units::{Cost, Rate, Tick, three_digits};

/// The numbers of `--qps RATE` alone.
pub(super) fn numbers(rate: &str) -> Numbers {
    let rate: Rate = rate.parse().unwrap();
    Numbers {
        slots: Cost::new(20).unwrap(),
        burst: Cost::new(4 * rate.count.get()).unwrap(),
        window: rate.clone(),
        tpm: Cost::new(30_000),
        own: Vec::new(),
        seed: 0,
        rate,
    }
}

fn plan(rate: &str) -> Plan {
    let numbers = numbers(rate);
    let written = format!("latency=50ms,limit={} window", numbers.rate);
    Plan {
        numbers,
        chosen: DISCIPLINES.iter().map(|row| row.key).collect(),
        work: Work::equal(1_000, 100),
        inputs: Vec::new(),
        api: written.parse().unwrap(),
        latencies: [50, 100, 2_000, 5_000]
            .map(|millis| Latency::Fixed(Duration::from_millis(millis)))
            .into(),
    }
}

#[track_caller]
fn figures<'a>(seen: &'a Comparison, key: &str) -> &'a Figures {
    let row = seen.rows.iter().find(|row| row.key == key);
    match &row.unwrap_or_else(|| panic!("no {key}")).seen {
        Seen::Run(figures) => figures,
        Seen::NotRun(why) => panic!("{key}: {why}"),
    }
}

#[test]
fn a_semaphore_is_refused_970_of_1000_times_and_a_smooth_rate_never() {
    let seen = compare(&plan("10"));
    let told = |row: &Row| {
        let seen = figures(&seen, row.key);
        let done = three_digits(seen.finish.as_secs_f64());
        let counts = (
            seen.most_in_short,
            seen.most_in_long,
            seen.not_sent,
            seen.refused,
        );
        (
            row.key,
            counts,
            seen.ok,
            seen.peak_in_flight,
            done,
            seen.bound_by.clone(),
        )
    };
    let seen: Vec<_> = seen.rows.iter().map(told).collect();
    let expected = [
        ("semaphore", (40, 400, 0, 970), 30, 20, "2.50", "slots"),
        ("sleep", (40, 400, 0, 960), 40, 20, "3.45", "slots"),
        ("processes", (4, 40, 0, 750), 250, 4, "24.9", "qps"),
        ("burst", (40, 49, 0, 39), 961, 40, "96.0", "qps"),
        ("fixed", (20, 20, 0, 10), 990, 10, "98.1", "fixed"),
        ("drop", (10, 10, 990, 0), 10, 10, "0.050", "fixed"),
        ("counter", (10, 19, 0, 9), 991, 10, "110", "counter"),
        ("sliding", (10, 10, 0, 0), 1_000, 10, "99.0", "window"),
        ("leaky", (1, 10, 0, 0), 1_000, 1, "100", "leaky"),
        ("qps", (1, 10, 0, 0), 1_000, 1, "100", "qps"),
        ("both", (1, 10, 0, 0), 1_000, 1, "100", "qps"),
        ("tpm", (1, 10, 0, 0), 1_000, 1, "140", "tpm"),
        ("early", (11, 20, 0, 10), 990, 11, "100", "qps"),
        ("late", (1, 10, 0, 0), 1_000, 1, "101", "qps"),
        ("storm", (40, 201, 0, 761), 963, 20, "96.0", "qps"),
        ("retry", (20, 20, 0, 126), 1_000, 20, "109", "pause"),
    ];
    let expected = expected.map(|(key, counts, ok, peak, done, bound)| {
        (key, counts, ok, peak, done.to_owned(), bound.to_owned())
    });
    assert_eq!(seen, expected);
}

#[test]
fn what_each_holds_still_is_slots_or_rate_and_both_are_bounded() {
    let seen = compare(&plan("10"));
    let still = |key: &str| -> Vec<(String, String)> {
        let held = seen.held.iter().find(|held| held.key == key).unwrap();
        let columns = held.columns.iter();
        columns
            .map(|still| {
                (
                    three_digits(still.rate),
                    three_digits(still.in_flight.unwrap()),
                )
            })
            .collect()
    };
    let pairs = |pairs: [(&str, &str); 4]| {
        pairs
            .map(|(rate, flight)| (rate.to_owned(), flight.to_owned()))
            .to_vec()
    };
    let semaphore = [
        ("400", "20.0"),
        ("200", "20.0"),
        ("10.0", "20.0"),
        ("4.00", "20.0"),
    ];
    let rate = [
        ("10.0", "0.500"),
        ("10.0", "1.00"),
        ("10.0", "20.0"),
        ("10.0", "50.0"),
    ];
    assert_eq!(still("semaphore"), pairs(semaphore));
    assert_eq!(still("qps"), pairs(rate));
    let fast = compare(&Plan {
        latencies: vec![Latency::Fixed(Duration::from_millis(1))],
        ..plan("1M/s")
    });
    let rates = fast.held.iter().map(|held| held.columns[0].rate.round());
    assert_eq!(rates.collect::<Vec<_>>(), [20_000.0, 1e6, 20_000.0]);
    let both: Vec<String> = still("both").into_iter().map(|pair| pair.0).collect();
    assert_eq!(both, ["10.0", "10.0", "10.0", "4.00"]);
}

#[test]
fn slots_and_a_rate_send_no_more_than_either_alone() {
    let latencies = [1, 50, 990, 1_010, 2_000, 5_000];
    for (rate, slots) in [("20", 20), ("7", 20), ("19.8", 7), ("3", 333), ("1/m", 1)] {
        let mut plan = Plan {
            chosen: vec!["semaphore", "qps", "both"],
            latencies: latencies
                .map(|millis| Latency::Fixed(Duration::from_millis(millis)))
                .into(),
            ..plan(rate)
        };
        plan.numbers.slots = Cost::new(slots).unwrap();
        let seen = compare(&plan);
        let [semaphore, qps, both] = &seen.held[..] else {
            panic!("{:?}", seen.held);
        };
        for (nth, both) in both.columns.iter().enumerate() {
            let lower = semaphore.columns[nth].rate.min(qps.columns[nth].rate);
            let apart = (both.rate / lower - 1.0).abs();
            let at = latencies[nth];
            assert!(
                apart < 1e-6,
                "{rate}, {slots} slots at {at} ms: {both:?}, {lower}"
            );
        }
    }
}

#[test]
fn four_processes_of_20_a_second_send_80_a_second() {
    let seen = compare(&Plan {
        chosen: vec!["processes", "qps"],
        ..plan("20")
    });
    let rate = |key| three_digits(figures(&seen, key).rate.unwrap());
    assert_eq!(seen.rows[0].name, "4 processes x qps 20 = 80/s");
    assert_eq!(rate("processes"), "80.2");
    assert_eq!(rate("qps"), "20.0");
    let most = figures(&seen, "processes").most_in_long;
    // The API accepts 20 in each of the 13 seconds that it takes.
    let refused = 1_000 - 13 * 20;
    assert_eq!((most, figures(&seen, "processes").refused), (80, refused));
}

#[test]
fn fixed_windows_pass_200_within_100_ms_at_100_a_second() {
    let mut plan = plan("100");
    plan.numbers.burst = Cost::new(50).unwrap();
    plan.chosen = vec!["fixed", "drop", "sliding", "burst", "qps"];
    let seen = compare(&plan);
    let spike = seen.spike.as_ref().unwrap();
    assert_eq!((spike.jobs, spike.before), (100, BEFORE_BOUNDARY));
    let told: Vec<_> = spike
        .rows
        .iter()
        .map(|row| (row.key, row.most, three_digits(row.rate()), row.not_sent))
        .collect();
    let expected = [
        ("fixed", 200, "2000", 0),
        ("drop", 200, "2000", 0),
        ("sliding", 100, "1000", 0),
        ("burst", 59, "590", 0),
        ("qps", 10, "100", 0),
    ];
    let expected = expected.map(|(key, most, rate, left)| (key, most, rate.to_owned(), left));
    assert_eq!(told, expected);
    let short = |key| figures(&seen, key).most_in_short;
    assert_eq!(
        (short("fixed"), short("burst"), short("qps")),
        (200, 59, 10)
    );
}

#[test]
fn a_spike_needs_fixed_windows_that_can_be_filled() {
    let spike = |plan: Plan| compare(&plan).spike.is_some();
    let chosen = |key, rate| Plan {
        chosen: vec![key],
        ..plan(rate)
    };
    assert!(spike(chosen("drop", "10000")));
    assert!(!spike(chosen("drop", "10001")));
    assert!(!spike(chosen("sliding", "10")));
}

#[test]
fn what_no_limit_ever_holds_is_not_sent() {
    let mut plan = plan("10");
    plan.numbers.own = vec!["tokens 50/m".parse().unwrap()];
    plan.chosen = vec!["limit"];
    let seen = compare(&plan);
    let seen = figures(&seen, "limit");
    assert_eq!((seen.sends, seen.not_sent, seen.p50), (0, 1_000, None));
    assert_eq!(seen.bound_by, "bucket");
}

#[test]
fn limits_of_the_users_own_all_hold_in_one_discipline() {
    let mut plan = plan("10");
    plan.numbers.own = ["4/s window", "100/m window"]
        .map(|limit| limit.parse().unwrap())
        .into();
    plan.chosen = vec!["limit"];
    plan.work = Work::equal(150, 100);
    let seen = compare(&plan);
    let figures = figures(&seen, "limit");
    assert_eq!(figures.most_in_long, 4);
    // 100 take 24.x s; the 101st goes a minute after the first.
    assert!(
        figures.finish > Duration::from_secs(60),
        "{:?}",
        figures.finish
    );
    assert_eq!(seen.rows[0].name, "--limit 4/s window + 100/m window");
}

#[test]
fn jobs_that_arrive_over_time_are_told_from_their_arrival() {
    let second = |nth| Tick::ZERO.after(Duration::from_secs(nth));
    let groups: Vec<_> = (0..10).map(|nth| (second(nth), 5)).collect();
    let seen = compare(&Plan {
        work: Work::at(groups, 100),
        chosen: vec!["semaphore", "qps"],
        ..plan("10")
    });
    assert_eq!(seen.jobs.span, Duration::from_secs(9));
    let p99 = |key| three_digits(figures(&seen, key).p99.unwrap().as_secs_f64());
    assert_eq!(
        (p99("semaphore"), p99("qps")),
        ("0.050".to_owned(), "0.450".to_owned())
    );
    assert_eq!(figures(&seen, "semaphore").refused, 0);
}

#[test]
fn odd_rates_take_no_time_and_break_nothing() {
    for rate in ["1/h", "100/250ms", "1M/s", "0.5/s", "1/30d", "3/7ms"] {
        let seen = compare(&Plan {
            work: Work::equal(100, 100),
            latencies: vec![Latency::Fixed(Duration::from_millis(50))],
            ..plan(rate)
        });
        for row in &seen.rows {
            let seen = figures(&seen, row.key);
            let told = seen.not_sent + seen.ok + seen.refused;
            assert!(told >= 100, "{rate} {}: {seen:?}", row.key);
        }
    }
}

#[test]
fn the_same_seed_is_the_same_comparison_on_any_number_of_cores() {
    let told = || {
        let mut plan = plan("10");
        let api = "latency=exp:80ms,limit=10/s window,fail=503:5%";
        plan.api = api.parse().unwrap();
        comparison::json(&compare(&plan)).to_string()
    };
    assert_eq!(told(), told());
    let squares = on_all_cores(&[1, 2, 3, 4, 5, 6, 7], |item| item * item);
    assert_eq!(squares, [1, 4, 9, 16, 25, 36, 49]);
    assert!(on_all_cores(&[0_u8; 0], |item| *item).is_empty());
}
