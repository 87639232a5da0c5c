//! Plans: the run in virtual time, what it tells, and the same jobs under other bounds.

use std::num::NonZeroU32;

use super::*;
use shaper::drive::forecast::{self, Planned, Terms};
use shaper::drive::what_if::what_if;
use shaper::limit::{Guard, Setting};
use shaper::report::forecast::{Cell, Gain, Least, Sample, Slots, WhatIf};
use shaper::shape::Arrivals;

fn terms(slots: Option<u64>, limits: &[&str], api: &str) -> Terms {
    let limits = limits.iter().map(|spec| spec.parse().unwrap()).collect();
    Terms {
        rules: rules(slots, limits),
        api: api.parse().unwrap(),
        observed: None,
        seed: 7,
        sample: 2_000,
    }
}

fn plan(terms: &Terms, count: u64, units: u64) -> Planned {
    let lines = (0..count).map(|line| Ok(job(line, Some(units), 1)));
    forecast::plan(terms, lines, |_, _| {})
}

fn millis(planned: &Planned) -> u64 {
    let nanos = u64::try_from(planned.summary.elapsed.as_nanos()).unwrap();
    assert_eq!(nanos % MILLI, 0, "whole milliseconds");
    nanos / MILLI
}

#[test]
fn a_plan_is_exact_where_arithmetic_is() {
    for (slots, limits, jobs, expected) in [
        // 200 rounds of 5 slots.
        (Some(5), &[][..], 1000, 20_000),
        // The last of 200 goes after 19.9 s.
        (Some(20), &["10/s"][..], 200, 20_000),
        (None, &["10/s burst=40"][..], 200, 16_100),
        // 60 jobs of 100 fill the bucket, and each of the other 40 waits for its own 100 at 100/s.
        (None, &["tokens 6000/m"][..], 100, 40_100),
        // 30 in any second: the last ten of 100 go in the fourth.
        (None, &["30/1s window guard=0s"][..], 100, 3_100),
        (None, &["30/1s fixed"][..], 100, 3_100),
    ] {
        let planned = plan(&terms(slots, limits, "latency=100ms"), jobs, 100);
        assert_eq!(millis(&planned), expected, "{slots:?} {limits:?}");
        assert_eq!(planned.summary.tally.counts.ok, jobs);
    }
}

#[test]
fn windows_keep_the_guard_that_a_run_would_measure_and_the_plan_tells_it() {
    let measured = |api| {
        let mut terms = terms(None, &["100/1s window"], api);
        terms.rules.setting = Setting {
            guard: Guard::Measured,
            epoch: Duration::ZERO,
        };
        plan(&terms, 1000, 1)
    };
    // 10 ms, 1 % of the period, until 100 answers are in; they show no jitter at all, so 5 ms are kept.
    let even = measured("latency=100ms");
    assert_eq!(even.guard, Some(Duration::from_millis(5)));
    assert_eq!(millis(&even), 10 * 1000 - 1000 + 9 * 5 + 100);
    let ragged = measured("latency=exp:100ms");
    assert_eq!(ragged.guard, Some(Duration::from_millis(10)));
    let few = plan(&terms(None, &["100/1s window"], ""), 10, 1);
    assert_eq!(few.guard, None, "virtual time has none");
}

#[test]
fn a_fault_is_tried_again_and_pays_again() {
    let mut terms = terms(Some(20), &["100/s"], "latency=50ms,fail=503:25%");
    terms.rules.retry.backoff = "100ms..200ms".parse().unwrap();
    let planned = plan(&terms, 4000, 1);
    let summary = &planned.summary;
    assert_eq!(summary.tally.tries, 4000 + summary.tally.retries);
    let failed = summary.tally.statuses[&503];
    let percent = failed * 100 / summary.tally.tries;
    assert!((23..27).contains(&percent), "{percent} % of the tries fail");
    // Each try takes its hundredth of a second.
    let least = Duration::from_millis(10) * u32::try_from(summary.tally.tries - 1).unwrap();
    assert!(summary.elapsed >= least, "{:?}", summary.elapsed);
    assert!(summary.elapsed < least * 105 / 100, "{:?}", summary.elapsed);
}

#[test]
fn a_server_that_refuses_says_when_to_come_back_and_that_is_heard() {
    let mut terms = terms(Some(20), &[], "latency=50ms,limit=10/1s window");
    terms.rules.retry.max_attempts = NonZeroU32::new(100).unwrap();
    let planned = plan(&terms, 100, 1);
    let summary = &planned.summary;
    assert_eq!(summary.tally.counts.ok, 100);
    assert!(summary.tally.statuses[&429] > 0);
    assert!(summary.unseen.unwrap().pauses > 0);
    assert!(
        summary.elapsed >= Duration::from_secs(9),
        "{:?}",
        summary.elapsed
    );
}

#[test]
fn an_answer_that_takes_too_long_is_a_timeout() {
    let mut terms = terms(Some(10), &[], "latency=2s");
    terms.rules.timeout = Duration::from_secs(1);
    terms.rules.retry.max_attempts = NonZeroU32::MIN;
    let planned = plan(&terms, 10, 1);
    assert_eq!(planned.summary.tally.counts.failed, 10);
    assert_eq!(
        planned.summary.tally.try_failures[&FailureKind::Timeout],
        10
    );
    assert_eq!(millis(&planned), 1000);
}

#[test]
fn the_same_seed_is_the_same_plan_and_another_is_another() {
    let told = |seed| {
        let mut terms = terms(Some(7), &["50/s"], "latency=exp:80ms,fail=500:5%");
        terms.seed = seed;
        let planned = plan(&terms, 2000, 1);
        let what_if = what_if(&terms, &planned.drawn, &planned.summary);
        (
            planned.summary.elapsed,
            planned.summary.tally.tries,
            what_if,
        )
    };
    assert_eq!(told(1), told(1));
    assert_ne!(told(1).0, told(2).0);
}

#[test]
fn a_plan_holds_two_tries_of_a_job_however_many_it_makes() {
    let mut terms = terms(Some(1), &[], "latency=1us,fail=503:100%");
    terms.rules.retry.max_attempts = NonZeroU32::new(5000).unwrap();
    terms.rules.retry.backoff = "1us..1us".parse().unwrap();
    let planned = plan(&terms, 2, 1);
    assert_eq!(planned.summary.tally.tries, 10_000);
    assert_eq!(planned.summary.tally.counts.failed, 2);

    let mut most = 0;
    let rules = Rules {
        keeps: shaper::engine::Keeps::Ends,
        ..terms.rules.clone()
    };
    let mut api = |_: Tick, _: &Job, _: &Grant| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        (Duration::from_micros(1), Ok(simulated::reply(status)))
    };
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(_, outcome) = seen {
            most = most.max(outcome.tries.len());
        }
    };
    let lines = [(Tick::ZERO, Ok(job(0, Some(1), 1)))];
    let run = Simulation::new(rules, lines.into_iter(), &mut api, &mut watch);
    let (summary, _) = run.run();
    assert_eq!((summary.tally.tries, most), (5000, 2));
}

#[test]
fn what_can_never_go_and_what_is_no_job_are_told_with_their_lines() {
    let lines = (0..100).map(|line| match line % 10 {
        3 => Err(bad(line)),
        7 => Ok(job(line, Some(9000), 1)),
        _ => Ok(job(line, Some(10), 1)),
    });
    let terms = terms(Some(10), &["1000/s", "tokens 6000/m"], "");
    let planned = forecast::plan(&terms, lines, |_, _| {});
    assert_eq!((planned.never_fit.count, planned.invalid.count), (10, 10));
    let first = &planned.never_fit.first[0];
    assert_eq!((first.place.line, first.owner), (7, Owner::Limit(1)));
    assert_eq!((first.why.asked, first.why.capacity), (9000, 6000));
    assert_eq!(planned.invalid.first[1].place.line, 13);
    assert_eq!(planned.summary.tally.counts.ok, 80);
}

#[test]
fn every_job_that_the_engine_refuses_is_told_with_the_bound_that_does() {
    let mut terms = terms(Some(10), &[], "");
    terms.rules.per_host = Cost::new(2);
    let lines = (0..10).map(|line| Ok(job(line, None, line + 1)));
    let planned = forecast::plan(&terms, lines, |_, _| {});
    assert_eq!(planned.summary.tally.counts.failed, 8);
    assert_eq!(planned.never_fit.count, 8);
    let first = &planned.never_fit.first[0];
    assert_eq!((first.place.line, first.owner), (2, Owner::HostSlot));
}

#[test]
fn the_worst_minute_and_the_cost_of_all_tries_are_told() {
    let planned = plan(&terms(None, &["tokens 6000/m"], ""), 200, 100);
    let minute = planned.summary.proof.minute.unwrap();
    // The burst, and what flows in until the minute of its send is over.
    assert_eq!(minute.promised.sum, 6000 + 5900);
    assert_eq!(planned.summary.tally.units.total.used, 20_000);
}

fn asked(terms: &Terms, jobs: u64, units: u64) -> (Planned, WhatIf) {
    let planned = plan(terms, jobs, units);
    let what_if = what_if(terms, &planned.drawn, &planned.summary).unwrap();
    (planned, what_if)
}

fn least(what_if: &WhatIf) -> Least {
    match what_if.least {
        Some(Slots::Least(least)) => least,
        Some(Slots::MostFail { .. }) | None => panic!("{what_if:?}"),
    }
}

/// With half of the slots, with all of them, twice and any number.
fn with_other_slots(what_if: &WhatIf) -> impl Iterator<Item = Cell> {
    let row = &what_if.rows[0];
    assert!(row.name.starts_with("--concurrency"), "{row:?}");
    let changed = [row.halved, row.doubled, row.none].into_iter().flatten();
    changed.chain([what_if.as_is])
}

fn takes(cell: Option<Cell>) -> u128 {
    cell.unwrap().takes.as_millis()
}

#[test]
fn a_bound_that_binds_matters_and_one_that_does_not_does_not() {
    let (_, what_if) = asked(&terms(Some(20), &["10/s name=qps"], ""), 200, 1);
    assert_eq!(what_if.sample, Sample::All);
    let [slots, qps] = &what_if.rows[..] else {
        panic!("{what_if:?}")
    };
    assert_eq!(slots.name, "--concurrency 20");
    for cell in [slots.halved, slots.doubled, slots.none] {
        assert_eq!(takes(cell), 20_000);
    }
    assert_eq!(qps.name, "--qps 10");
    assert_eq!(takes(qps.halved), 39_900);
    assert_eq!(takes(qps.doubled), 10_050);
    assert_eq!(takes(qps.none), 1_000);
}

#[test]
fn jobs_that_do_not_fit_half_of_a_limit_fail_there() {
    let (_, what_if) = asked(&terms(Some(20), &["tokens 6000/m"], ""), 10, 4000);
    let row = what_if.rows.last().unwrap();
    assert_eq!(
        row.halved.map(|cell| (cell.done, cell.failed)),
        Some((10, 10))
    );
    assert_eq!(row.doubled.map(|cell| cell.failed), Some(0));
}

#[test]
fn the_fewest_slots_are_found_by_trying() {
    // 10/s of 2.05 s each: 20.5 in flight.
    let (_, what_if) = asked(&terms(Some(100), &["10/s"], "latency=2050ms"), 2000, 1);
    let found = least(&what_if);
    assert_eq!(found.slots, 21);
    assert_eq!(found.gain, Gain::Nothing);
    assert!(found.one_less.unwrap().takes > found.cell.takes);
    // The server has eight slots: more of ours wait there.
    let (_, what_if) = asked(&terms(Some(100), &[], "latency=100ms,slots=8"), 2000, 1);
    assert_eq!(least(&what_if).slots, 8);
    // More than there are.
    let (_, what_if) = asked(&terms(Some(3), &["10/s"], "latency=2050ms"), 2000, 1);
    let found = least(&what_if);
    assert_eq!((found.slots, found.gain), (21, Gain::Time));
    // Nothing else bounds: each slot counts.
    let (_, what_if) = asked(&terms(Some(100), &[], ""), 2000, 1);
    assert_eq!(what_if.least, None);
    assert_eq!(what_if_of_nothing(), None);
}

#[test]
fn the_fewest_slots_are_no_slower_than_any_that_were_tried_and_fail_no_more_jobs() {
    for (slots, limits, api) in [
        (20, &[][..], "latency=50ms,limit=10/1s window"),
        (3, &[][..], "latency=50ms,limit=50/1s window"),
        (3, &[][..], "latency=50ms,limit=50/1s"),
        (
            40,
            &["100/s", "10/200ms window"][..],
            "latency=p50:10ms/p99:600ms,limit=40/1s window",
        ),
        (5, &["25/1s window"][..], "latency=p50:80ms/p99:400ms"),
    ] {
        let mut terms = terms(Some(slots), limits, api);
        terms.rules.timeout = Duration::from_secs(1);
        let (planned, what_if) = asked(&terms, 200, 1);
        let least = least(&what_if);
        let failed = planned.summary.tally.counts.failed;
        assert!(
            least.cell.failed <= failed + 2,
            "{api}: {least:?}, and {failed} fail as it is"
        );
        let no_longer = |cell: Cell| cell.takes * 100 <= least.best * 101;
        assert!(no_longer(least.cell), "{api}: {least:?}");
        let fewer = least.one_less.filter(|fewer| no_longer(*fewer));
        assert!(
            fewer.is_none_or(|fewer| fewer.failed > least.cell.failed),
            "{api}: {least:?}"
        );
        for other in with_other_slots(&what_if).filter(|other| other.failed <= failed) {
            assert!(
                least.best <= other.takes,
                "{api}: {least:?}, and {other:?} is sooner"
            );
        }
    }
}

#[test]
fn what_fails_by_chance_fails_with_any_number_of_slots() {
    for seed in 0..20 {
        for sample in [2_000, 150] {
            let mut terms = terms(Some(40), &["40/s"], "latency=exp:100ms,fail=503:30%");
            terms.seed = seed;
            terms.sample = sample;
            terms.rules.retry.max_attempts = NonZeroU32::new(2).unwrap();
            let (planned, what_if) = asked(&terms, 200, 1);
            let failed = planned.summary.tally.counts.failed;
            assert!((5..=35).contains(&failed), "{failed} of about 18");
            let least = least(&what_if);
            assert_eq!(least.gain, Gain::Nothing, "seed {seed}: {least:?}");
            let own = what_if.as_is;
            assert!(
                least.cell.takes * 100 <= own.takes * 101,
                "seed {seed}: {least:?}, and {own:?} as it is"
            );
            if sample > 200 {
                let cells = what_if.rows.iter();
                let cells = cells.flat_map(|row| [row.halved, row.doubled, row.none]);
                for cell in cells.flatten().chain([own, least.cell]) {
                    assert_eq!(cell.failed, failed, "seed {seed}: {what_if:?}");
                }
            }
        }
    }
}

#[test]
fn no_change_of_the_slots_that_is_shown_fails_fewer_jobs_than_what_is_advised() {
    let (mut advised, mut most_fail) = (0, 0);
    for seed in 0..10 {
        for (slots, patience) in [(10, 1), (10, 8), (20, 8), (3, 30)] {
            let mut terms = terms(Some(slots), &["20/s"], "latency=exp:800ms");
            terms.seed = seed;
            terms.rules.arrivals = Arrivals::Once;
            terms.rules.queue_timeout = Some(Duration::from_secs(patience));
            let (_, what_if) = asked(&terms, 200, 1);
            let as_is = what_if.as_is;
            let cell = match what_if.least.unwrap() {
                Slots::Least(least) => {
                    advised += 1;
                    assert!(least.cell.failed * 2 <= 200, "{least:?}");
                    let fewer = least.cell.failed < as_is.failed;
                    assert_eq!(least.gain == Gain::Jobs, fewer, "{least:?}, {as_is:?}");
                    let slower = least.cell.takes * 100 > as_is.takes * 101;
                    assert!(fewer || !slower, "{least:?}, {as_is:?}");
                    least.cell
                }
                Slots::MostFail { cell, .. } => {
                    most_fail += 1;
                    assert!(cell.failed * 2 > 200, "{cell:?}");
                    cell
                }
            };
            for other in with_other_slots(&what_if) {
                assert!(cell.failed <= other.failed, "seed {seed}: {what_if:?}");
            }
        }
    }
    assert!(
        advised > 0 && most_fail > 0,
        "{advised} advised, {most_fail} where most fail"
    );
}

fn what_if_of_nothing() -> Option<WhatIf> {
    let terms = terms(None, &[], "");
    let planned = plan(&terms, 10, 1);
    what_if(&terms, &planned.drawn, &planned.summary)
}

#[test]
fn a_sample_says_of_all_jobs_what_all_of_them_say() {
    for (slots, limits, more) in [
        (
            Some(20),
            &["1000/s name=qps", "tokens 60000/m name=tpm"][..],
            "",
        ),
        (Some(20), &[][..], ""),
        (None, &["100/10s window"][..], ""),
        (Some(5), &["10/s burst=100"][..], ""),
        // What the server bounds is no limit of the run.
        (Some(20), &[][..], ",limit=100/1s window"),
        (Some(20), &[][..], ",slots=3"),
    ] {
        let mut terms = terms(slots, limits, &format!("latency=exp:50ms{more}"));
        terms.rules.retry.max_attempts = NonZeroU32::new(100).unwrap();
        let planned = {
            let cost = |line: u64| 1 + line * 37 % 199;
            let lines = (0..12_000).map(|line| Ok(job(line, Some(cost(line)), 1)));
            forecast::plan(&terms, lines, |_, _| {})
        };
        let what_if = what_if(&terms, &planned.drawn, &planned.summary).unwrap();
        assert_eq!(what_if.sample, Sample::Drawn(2_000), "{limits:?}");
        let told = what_if.as_is.takes.as_secs_f64();
        let came = planned.summary.elapsed.as_secs_f64();
        assert!(
            (told / came - 1.0).abs() < 0.02,
            "{limits:?}{more}: {told}, not {came}"
        );
    }
}

#[test]
fn as_it_is_is_the_plan_itself_whatever_lies_between_the_jobs() {
    let api = "latency=p50:50ms/p99:400ms,fail=503:20%,limit=50/1s window";
    let mut terms = terms(Some(7), &["60/s"], api);
    terms.rules.timeout = Duration::from_millis(300);
    terms.rules.retry.max_attempts = NonZeroU32::new(2).unwrap();
    let lines = (0..400).map(|line| match line % 5 {
        2 => Err(bad(line)),
        _ => Ok(job(line, Some(10), 1)),
    });
    let planned = forecast::plan(&terms, lines, |_, _| {});
    let told = what_if(&terms, &planned.drawn, &planned.summary).unwrap();
    let counts = &planned.summary.tally.counts;
    assert!(counts.failed > 0);
    let itself = Cell {
        takes: planned.summary.elapsed,
        done: 320,
        failed: counts.failed,
    };
    assert_eq!(told.as_is, itself);
}

#[test]
fn origins_are_counted_most_first() {
    let lines = (0..5000_u64).map(|line| {
        let host = match line % 4 {
            0 => format!("http://host-{line}"),
            1 => "http://b".to_owned(),
            _ => "http://a".to_owned(),
        };
        Ok(Job {
            origin: Origin(host.as_str().into()),
            ..job(line, None, 1)
        })
    });
    let planned = forecast::plan(&terms(Some(10), &[], "latency=1ms"), lines, |_, _| {});
    let first: Vec<(String, u64)> = planned.origins[..2]
        .iter()
        .map(|(origin, sends)| (origin.to_string(), *sends))
        .collect();
    assert_eq!(
        first,
        [("http://a".to_owned(), 2500), ("http://b".to_owned(), 1250)]
    );
    let told: u64 = planned.origins.iter().map(|(_, sends)| sends).sum();
    assert_eq!(told + planned.other_origins, 5000);
    assert!(planned.origins.len() <= 1000);
}

#[test]
fn a_plan_that_goes_beyond_the_end_of_time_ends() {
    let terms = terms(Some(10), &["1/30d"], "");
    let planned = plan(&terms, 8000, 1);
    assert_eq!(planned.summary.tally.counts.ok, 8000);
    assert_eq!(planned.summary.elapsed, Duration::from_nanos(u64::MAX));
}
