//! When jobs are due: at a rate, at rates that change, or when they were recorded.

use proptest::prelude::*;

use super::*;
use shaper::dice::{STEP, mix};
use shaper::engine::{LookAhead, Order};
use shaper::metrics::LateBy;

fn shape(shape: &str) -> Rules {
    Rules {
        arrivals: shape.parse().unwrap(),
        ..rules(None, Vec::new())
    }
}

/// A job of this line, recorded so many milliseconds after the first.
fn recorded(line: u64, millis: u64) -> Job {
    Job {
        at: Some(Duration::from_millis(millis)),
        ..job(line, None, 1)
    }
}

fn all_there(stamps: impl IntoIterator<Item = u64>) -> Vec<simulated::Line> {
    let lines = (0..).zip(stamps);
    let lines = lines.map(|(line, millis)| (Tick::ZERO, Ok(recorded(line, millis))));
    lines.collect()
}

/// The lines that were sent, each with its moment in milliseconds.
fn sent(
    rules: Rules,
    lines: impl IntoIterator<Item = simulated::Line>,
    latency: Duration,
) -> (Vec<(u64, u64)>, Summary) {
    let (sent, summary) = sends(rules, lines.into_iter(), ok_after(latency));
    let whole = |&(line, _, at): &(u64, u32, u64)| {
        assert_eq!(at % MILLI, 0, "whole milliseconds");
        (line, at / MILLI)
    };
    (sent.iter().map(whole).collect(), summary)
}

fn late_by(summary: &Summary) -> &LateBy {
    summary.late_by.as_ref().unwrap()
}

#[test]
fn an_even_load_waits_for_no_answer() {
    let (sent, summary) = sent(shape("even 10@0s"), jobs(100), Duration::from_secs(2));
    let expected: Vec<_> = (0..100).map(|nth| (nth, nth * 100)).collect();
    assert_eq!(sent, expected);
    assert_eq!(summary.peak_in_flight, 20, "10/s x 2 s");
    assert_eq!(summary.elapsed, Duration::from_millis(9_900 + 2_000));
    assert_eq!(summary.tally.lateness.spans().max(), Some(Duration::ZERO));
    assert_eq!(*late_by(&summary), LateBy::new());
    let owners: Vec<Owner> = summary.stretch.shares.iter().map(|it| it.0).collect();
    assert_eq!(owners, [Owner::Nothing], "nothing but the schedule held it");
}

#[test]
fn a_ramp_sends_as_many_as_the_integral_of_its_rate() {
    // 50 in the first 10 s, 100 in the next ten, and then 10/s on.
    let rules = shape("even 0@0s,10@10s,10@20s");
    let (sent, _) = sends(rules, jobs(200), ok_after(Duration::from_millis(50)));
    let by = |seconds: u64| sent.iter().filter(|it| it.2 <= seconds * SECOND).count();
    // The first goes at the start.
    assert_eq!([by(2), by(10), by(20), by(21)], [3, 51, 151, 161]);
    // t² / 2 = 1: rounded up to the nanosecond.
    assert_eq!(sent[1].2, 1_414_213_563);
}

#[test]
fn a_ramp_that_ends_at_zero_ends_the_run() {
    let mut api = ok_after(Duration::from_secs(3));
    let rules = shape("even 10@0s,0@2s");
    let (summary, end) = Simulation::new(rules, jobs(100), &mut api, &mut |_| {}).run();
    assert_eq!(end, End::TimeUp);
    // At 2 s the integral reaches 10, and nothing is sent any more.
    assert_eq!(summary.tally.counts.ok, 10);
    let counts = summary.tally.counts;
    assert_eq!(counts.read, counts.ok + counts.cancelled);
}

#[test]
fn the_same_seed_draws_the_same_schedule() {
    let at = |seed: u64| {
        let mut rules = shape("poisson 20@0s");
        rules.retry.seed = seed;
        let (sent, _) = sends(rules, jobs(2_000), ok_after(Duration::from_millis(50)));
        sent.iter().map(|it| it.2).collect::<Vec<_>>()
    };
    let moments = at(7);
    assert_eq!(moments, at(7));
    assert_ne!(moments, at(8));
    assert!(moments.is_sorted());
    let last = moments.last().unwrap() / SECOND;
    assert!((93..=107).contains(&last), "2000 at 20/s took {last} s");
    let close = moments
        .windows(2)
        .filter(|pair| pair[1] - pair[0] < 25 * MILLI);
    let share = close.count() * 100 / 1_999;
    // 1 − e^(−1/2) of the gaps are shorter than half their mean.
    assert!((36..=43).contains(&share), "{share} %");
}

#[test]
fn a_recorded_hour_at_sixty_times_its_speed_takes_a_minute_and_keeps_its_order() {
    let stamp = |nth: u64| nth * 360 + mix(nth.wrapping_mul(STEP)) % 300;
    let mut stamps: Vec<u64> = (0..10_000).map(stamp).collect();
    (stamps[0], stamps[9_999]) = (0, 3_600_000);
    // Servers log a request when it ends: many stand behind later ones.
    for nth in (1..9_000).step_by(7) {
        stamps.swap(nth, nth + 5);
    }
    let (sent, summary) = sends(
        shape("replay 60x"),
        all_there(stamps.clone()).into_iter(),
        ok_after(Duration::from_millis(250)),
    );
    let mut expected: Vec<_> = (0..).zip(stamps.iter().copied()).collect();
    expected.sort_by_key(|&(line, at): &(u64, u64)| (at, line));
    let expected = expected.into_iter();
    let expected: Vec<_> = expected
        .map(|(line, at)| (line, 1, (at * MILLI).div_ceil(60)))
        .collect();
    assert_eq!(sent, expected);
    assert_eq!(sent.last().unwrap().2, 60 * SECOND);
    assert_eq!(summary.tally.lateness.spans().max(), Some(Duration::ZERO));
}

#[test]
fn a_replay_keeps_every_limit_sends_all_and_says_what_made_them_late() {
    let stamps = || (0..30).map(|nth| nth / 10 * 1_000);
    let limits = vec![qps("20/s", 1)];
    let rules = Rules {
        arrivals: "replay 1x".parse().unwrap(),
        ..rules(Some(5), limits)
    };
    let (sent, summary) = sent(
        rules.clone(),
        all_there(stamps()),
        Duration::from_millis(10),
    );
    let expected: Vec<_> = (0..30)
        .map(|nth| (nth, nth / 10 * 1_000 + nth % 10 * 50))
        .collect();
    assert_eq!(sent, expected);
    let lateness = &summary.tally.lateness;
    assert_eq!(lateness.spans().max(), Some(Duration::from_millis(450)));
    let over: Vec<u64> = lateness.over().map(|(_, count)| count).collect();
    assert_eq!(over, [27, 27, 21, 0]);
    assert_eq!(*late_by(&summary), LateBy::from([(Owner::Limit(0), 27)]));
    let slow = Rules {
        slots: Cost::new(1),
        limits: Vec::new(),
        ..rules
    };
    let (sent, summary) =
        super::shapes::sent(slow, all_there(stamps()), Duration::from_millis(200));
    assert_eq!(
        sent.last(),
        Some(&(29, 29 * 200)),
        "the backlog is worked off"
    );
    assert_eq!(*late_by(&summary), LateBy::from([(Owner::Slot, 29)]));
}

#[test]
fn a_line_that_comes_after_it_was_due_goes_at_once_and_the_input_is_named() {
    let slow_pipe = (0..5).map(|nth| (Tick(nth * 300 * MILLI), Ok(recorded(nth, nth * 100))));
    let (sent, summary) = sent(shape("replay 1x"), slow_pipe, Duration::from_millis(10));
    let expected: Vec<_> = (0..5).map(|nth| (nth, nth * 300)).collect();
    assert_eq!(sent, expected);
    assert_eq!(*late_by(&summary), LateBy::from([(Owner::Input, 4)]));
    assert_eq!(
        summary.tally.lateness.spans().max(),
        Some(Duration::from_millis(800))
    );
}

#[test]
fn stamps_are_put_in_order_as_far_as_the_look_ahead_goes() {
    let stamps = [0, 400, 300, 500, 100, 600, 700, 800];
    let rules = |jobs| Rules {
        look_ahead: LookAhead {
            jobs,
            ..LookAhead::default()
        },
        ..shape("replay 1x")
    };
    let (whole, summary) = sent(rules(8), all_there(stamps), Duration::ZERO);
    let lines: Vec<u64> = whole.iter().map(|it| it.0).collect();
    assert_eq!(lines, [0, 4, 2, 1, 3, 5, 6, 7]);
    assert_eq!(*late_by(&summary), LateBy::new());
    // The fifth is read when the third has gone.
    let (cut, summary) = sent(rules(3), all_there(stamps), Duration::ZERO);
    assert_eq!(cut[..4], [(0, 0), (2, 300), (4, 300), (1, 400)]);
    assert_eq!(*late_by(&summary), LateBy::from([(Owner::Input, 1)]));
    // What was recorded before the first line is due with it.
    let (early, _) = sent(rules(8), all_there([500, 0, 600]), Duration::ZERO);
    assert_eq!(early, [(0, 0), (1, 0), (2, 100)]);
}

#[test]
fn with_ordered_results_older_lines_go_first_and_none_is_stuck() {
    let ordered = |slots| Rules {
        order: Order::ByInput,
        slots: Cost::new(slots),
        ..shape("replay 1x")
    };
    let run = |slots| {
        let stamps = [0, 300, 200, 100, 100];
        sent(ordered(slots), all_there(stamps), Duration::from_millis(10))
    };
    let (one, _) = run(1);
    assert_eq!(one, [(0, 0), (1, 300), (2, 310), (3, 320), (4, 330)]);
    // A slot is kept for the oldest, and a result that waits for it keeps the other.
    let (two, summary) = run(2);
    assert_eq!(two, [(0, 0), (3, 100), (1, 300), (2, 310), (4, 320)]);
    assert_eq!(*late_by(&summary), LateBy::from([(Owner::Order, 2)]));
}

#[test]
fn after_its_time_nothing_is_sent_and_what_is_in_flight_ends() {
    for (shape, ok) in [("even 10@0s", 10), ("closed", 10), ("once", 10)] {
        let rules = Rules {
            time: Some(Duration::from_secs(1)),
            slots: Cost::new(2),
            ..self::shape(shape)
        };
        let mut api = ok_after(Duration::from_millis(200));
        let mut last = Tick::ZERO;
        let mut watch = |seen: Seen<'_>| {
            if let Seen::Sent(at, ..) = seen {
                last = at;
            }
        };
        let (summary, end) = Simulation::new(rules, jobs(1_000), &mut api, &mut watch).run();
        assert_eq!(end, End::TimeUp, "{shape}");
        assert_eq!(summary.tally.counts.ok, ok, "{shape}");
        assert!(last.0 < SECOND, "{shape}: sent at {last:?}");
        let counts = summary.tally.counts;
        assert_eq!(counts.read, counts.ok + counts.cancelled);
    }
    let rules = Rules {
        time: Some(Duration::from_secs(9)),
        ..shape("even 10@0s")
    };
    let (sent, _) = sent(rules, jobs(5), Duration::ZERO);
    assert_eq!(sent.len(), 5, "a run that is done before ends as ever");
}

#[test]
fn a_wait_counts_from_when_the_job_was_due() {
    let rules = Rules {
        arrivals: "even 10@0s".parse().unwrap(),
        queue_timeout: Some(Duration::from_millis(450)),
        ..rules(Some(1), Vec::new())
    };
    let mut failed = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(at, outcome) = seen
            && let Some((kind, _)) = &outcome.error
        {
            assert_eq!(*kind, FailureKind::QueueTimeout);
            failed.push((outcome.seq, at.0 / MILLI));
        }
    };
    let mut api = ok_after(Duration::from_millis(200));
    let (summary, _) = Simulation::new(rules, jobs(40), &mut api, &mut watch).run();
    let counts = summary.tally.counts;
    assert_eq!(counts.ok + counts.failed, 40);
    assert!(!failed.is_empty() && counts.ok >= 20, "{counts:?}");
    for (seq, at) in failed {
        assert_eq!(at, seq * 100 + 450, "{seq} was due at {}", seq * 100);
    }
    let longest = summary.tally.lateness.spans().max().unwrap();
    assert!(longest <= Duration::from_millis(450), "{longest:?}");
}

#[test]
fn a_connection_is_opened_before_a_job_is_due() {
    let rules = Rules {
        lead: Some(Duration::from_millis(400)),
        ..shape("replay 1x")
    };
    let mut prepared = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Prepared(at, job) = seen {
            prepared.push((job.place.line, at.0 / MILLI));
        }
    };
    let lines = all_there([0, 1_000, 1_100, 5_000]);
    let mut api = ok_after(Duration::ZERO);
    Simulation::new(rules, lines.into_iter(), &mut api, &mut watch).run();
    assert_eq!(prepared, [(1, 600), (2, 1_000), (3, 4_600)]);
}

#[test]
fn a_round_of_a_record_begins_when_all_of_the_one_before_is_due() {
    let stamps = [0, 500, 200, 0, 500, 200];
    let lines = (0..).zip(stamps).map(|(line, millis)| {
        let mut job = recorded(line, millis);
        job.round = u32::try_from(line / 3).unwrap();
        (Tick::ZERO, Ok(job))
    });
    let (sent, _) = sent(shape("replay 2x"), lines, Duration::ZERO);
    let expected = [(0, 0), (2, 100), (1, 250), (3, 250), (5, 350), (4, 500)];
    assert_eq!(sent, expected);
}

proptest! {
    #[test]
    fn no_recorded_job_is_lost_and_each_goes_in_the_order_of_its_stamps(
        stamps in prop::collection::vec(0..5_000_u64, 1..60),
        slots in prop::option::of(1..4_u64),
        limit in prop::sample::select(vec!["", "20/s", "9/250ms window", "30/s burst=5"]),
        millis in 0..300_u64,
    ) {
        let mut stamps = stamps;
        stamps[0] = 0;
        let limits = (!limit.is_empty()).then(|| limit.parse().unwrap());
        let rules = Rules {
            arrivals: "replay 1x".parse().unwrap(),
            ..rules(slots, limits.into_iter().collect())
        };
        let (sent, summary) = sends(
            rules,
            all_there(stamps.clone()).into_iter(),
            ok_after(Duration::from_millis(millis)),
        );
        let mut expected: Vec<(u64, u64)> = stamps.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        let lines: Vec<u64> = sent.iter().map(|it| it.0).collect();
        let in_order: Vec<u64> = expected.iter().map(|it| it.1).collect();
        prop_assert_eq!(lines, in_order);
        for (&(_, _, at), (due, _)) in sent.iter().zip(&expected) {
            prop_assert!(at >= due * MILLI, "sent before it was due");
            prop_assert!(!limit.is_empty() || slots.is_some() || at == due * MILLI);
        }
        prop_assert_eq!(summary.tally.counts.ok, stamps.len() as u64);
    }
}
