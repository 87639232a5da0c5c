//! Results in the order of the input: what is held back, who goes meanwhile, and how such a run ends.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{Action, End, Engine, Event, LookAhead, Order, Rules, Signal};
use shaper::fields::Fields;
use shaper::job::{Job, Origin};
use shaper::limit::KeyBy;
use shaper::metrics::{Owner, Summary};
use shaper::outcome::{Failure, Reply, Status};
use shaper::retry::{Backoff, Jitter, Policy};
use shaper::shape::Arrivals;
use shaper::units::{Cost, Tick};

use super::{MILLI, SECOND, bad, in_flight, job, rules};

/// When a job is sent and written, in milliseconds.
#[derive(Debug, Default)]
struct Course {
    sent: BTreeMap<u64, Vec<u64>>,
    /// In the order of writing.
    written: Vec<(u64, u64)>,
}

impl Course {
    fn order(&self) -> Vec<u64> {
        self.written.iter().map(|(seq, _)| *seq).collect()
    }
}

fn ordered(slots: Option<u64>) -> Rules {
    Rules {
        order: Order::ByInput,
        retry: Policy {
            jitter: Jitter::None,
            backoff: Backoff {
                min: Duration::from_millis(500),
                max: Duration::from_millis(500),
            },
            ..Policy::default()
        },
        ..rules(slots, Vec::new())
    }
}

/// Runs to the end; `api` has the job, the number of the try, and says status and milliseconds. A 429 asks for
/// a pause of two seconds.
fn course(
    rules: Rules,
    jobs: impl IntoIterator<Item = Job>,
    api: impl Fn(u64, u32) -> (u16, u64),
) -> (Course, Summary) {
    let lines = jobs.into_iter().map(|job| (Tick::ZERO, Ok(job)));
    run(rules, lines.collect(), api)
}

fn run(
    rules: Rules,
    lines: Vec<simulated::Line>,
    api: impl Fn(u64, u32) -> (u16, u64),
) -> (Course, Summary) {
    let mut course = Course::default();
    let mut watch = |seen: Seen<'_>| match seen {
        Seen::Prepared(..) => {}
        Seen::Sent(at, job, _) => {
            let sent = course.sent.entry(job.place.line).or_default();
            sent.push(at.0 / MILLI);
        }
        Seen::Done(at, outcome) => course.written.push((outcome.seq, at.0 / MILLI)),
    };
    let mut answer = |_: Tick, job: &Job, grant: &shaper::engine::Grant| {
        let (status, millis) = api(job.place.line, grant.attempt);
        let mut reply = simulated::reply(StatusCode::from_u16(status).unwrap());
        if status == 429 {
            reply.head.headers = Fields::of([("retry-after", "2")]);
        }
        let end: Result<Reply, Failure> = Ok(reply);
        (Duration::from_millis(millis), end)
    };
    let lines = lines.into_iter();
    let (summary, end) = Simulation::new(rules, lines, &mut answer, &mut watch).run();
    assert_eq!(end, End::Finished);
    let counts = summary.tally.counts;
    assert_eq!(counts.read, counts.done() + counts.cancelled);
    (course, summary)
}

fn plain(count: u64) -> Vec<Job> {
    (0..count).map(|line| job(line, None, 1)).collect()
}

#[test]
fn results_have_the_order_of_the_input_whatever_the_answers_do() {
    let api = |line: u64, attempt: u32| {
        let status = if line % 7 == 3 && attempt < 3 {
            503
        } else {
            200
        };
        (status, line * 7919 % 97)
    };
    for slots in [Some(1), Some(2), Some(13), None] {
        let (course, summary) = course(ordered(slots), plain(300), api);
        assert_eq!(course.order(), (0..300).collect::<Vec<_>>(), "{slots:?}");
        assert_eq!(summary.tally.counts.ok, 300);
    }
    let as_they_come = Rules {
        order: Order::ByCompletion,
        ..ordered(Some(13))
    };
    let (course, _) = course(as_they_come, plain(300), api);
    assert!(!course.order().is_sorted(), "nothing was to be ordered");
}

#[test]
fn lines_that_are_never_sent_have_their_place_too() {
    let lines = (0..20).map(|line| {
        // Too large for the limit, no job, or sent.
        let read = match line % 3 {
            0 => Ok(job(line, Some(99), 1)),
            1 => Err(bad(line)),
            _ => Ok(job(line, Some(1), 1)),
        };
        (Tick::ZERO, read)
    });
    let rules = Rules {
        limits: vec!["tokens 10/s bucket burst=10".parse().unwrap()],
        ..ordered(Some(4))
    };
    let (course, summary) = run(rules, lines.collect(), |line, _| (200, 100 - line));
    assert_eq!(course.order(), (0..20).collect::<Vec<_>>());
    let counts = summary.tally.counts;
    assert_eq!((counts.ok, counts.failed, counts.invalid), (6, 7, 7));
}

#[test]
fn a_result_that_waits_for_an_older_one_keeps_its_slot() {
    let slow_first = |line, _| (200, if line == 0 { 1000 } else { 10 });
    let (course, _) = course(ordered(Some(3)), plain(5), slow_first);
    assert_eq!(course.sent[&2], [0]);
    assert_eq!(
        (&course.sent[&3], &course.sent[&4]),
        (&vec![1000], &vec![1000])
    );
    let written: Vec<u64> = course.written.iter().map(|(_, at)| *at).collect();
    assert_eq!(written, [1000, 1000, 1000, 1010, 1010]);
}

#[test]
fn a_slot_stays_free_for_the_oldest_job_while_it_rests() {
    let first_again = |line, attempt| (if (line, attempt) == (0, 1) { 503 } else { 200 }, 10);
    let (course, _) = course(ordered(Some(2)), plain(4), first_again);
    assert_eq!(course.sent[&0], [0, 510]);
    assert_eq!(course.sent[&1], [0]);
    assert_eq!(course.sent[&2], [520], "there was a slot, and it was kept");
    assert_eq!(course.order(), [0, 1, 2, 3]);
}

#[test]
fn younger_jobs_use_the_slots_that_no_older_one_will_need() {
    let first_again = |line, attempt| (if (line, attempt) == (0, 1) { 503 } else { 200 }, 10);
    let (course, _) = course(ordered(Some(4)), plain(8), first_again);
    // Four slots: one stays free, three carry on until they are full of results.
    assert_eq!(course.sent[&4], [520]);
    let before = course.sent.values().filter(|sent| sent[0] < 500);
    assert_eq!(before.count(), 4);
}

#[test]
fn a_job_of_many_slots_finds_them_after_it_has_rested() {
    // 1 takes two slots and rests while 0 is in flight: of what it leaves 2 may take the one that 0 will
    // give back, and 3 must not take the other one.
    let cost = |line| if line == 1 { 2 } else { 1 };
    let jobs = (0..6).map(|line| job(line, None, cost(line)));
    let api = |line, attempt| match (line, attempt) {
        (0, _) => (200, 2000),
        (1, 1) => (503, 10),
        _ => (200, 10),
    };
    let (course, _) = course(ordered(Some(3)), jobs, api);
    let sent = |line| course.sent[&line].clone();
    assert_eq!(
        (sent(1), sent(2), sent(3)),
        (vec![0, 2000], vec![10], vec![2010])
    );
    assert_eq!(course.order(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_slots_of_an_origin_are_not_kept_from_its_oldest_job() {
    let rules = Rules {
        per_host: Cost::new(1),
        ..ordered(Some(4))
    };
    let api = |line, attempt| (if (line, attempt) == (0, 1) { 503 } else { 200 }, 10);
    let (course, _) = course(rules, plain(6), api);
    assert_eq!(course.sent[&0], [0, 510]);
    assert_eq!(course.sent[&1], [10], "its try is over, its result is not");
    assert_eq!(course.order(), [0, 1, 2, 3, 4, 5]);
}

/// One job in ten is for a key that has one job a second; the others are free.
fn keyed(line: u64) -> Job {
    let key = match line % 10 {
        0 => "rare".to_owned(),
        _ => format!("free {line}"),
    };
    Job {
        keys: [key.as_str().into()].into(),
        ..job(line, None, 1)
    }
}

#[test]
fn a_key_that_is_held_by_its_limit_holds_the_rest_no_longer_than_that() {
    for look_ahead in [1, 5, 100] {
        let mut rules = ordered(Some(4));
        rules.look_ahead = LookAhead {
            jobs: look_ahead,
            ..LookAhead::default()
        };
        rules.limits = vec!["1/s".parse().unwrap()];
        rules.limits[0].per = Some(KeyBy::Field("key".into()));
        let (course, _) = course(rules, (0..100).map(keyed), |_, _| (200, 10));
        assert_eq!(course.order(), (0..100).collect::<Vec<_>>());
        assert_eq!(
            course.sent[&90],
            [9000],
            "with a look-ahead of {look_ahead}"
        );
    }
}

#[test]
fn jobs_that_wait_too_long_for_the_order_fail_in_their_place() {
    for arrivals in [Arrivals::Closed, Arrivals::Once] {
        let rules = Rules {
            queue_timeout: Some(Duration::from_millis(300)),
            arrivals,
            ..ordered(Some(2))
        };
        let slow_first = |line, _| (200, if line == 0 { 1000 } else { 10 });
        let (course, summary) = course(rules, plain(5), slow_first);
        assert_eq!(course.order(), [0, 1, 2, 3, 4]);
        assert_eq!(course.written[2], (2, 1000), "no sooner than 0");
        assert!(summary.tally.counts.failed > 0);
        assert_eq!(summary.tally.counts.ok + summary.tally.counts.failed, 5);
    }
}

#[test]
fn without_a_limit_of_slots_a_thousand_are_in_flight_or_wait_and_no_more() {
    let rules = Rules {
        limits: vec!["1000/s".parse().unwrap()],
        ..ordered(None)
    };
    // The others are finished soon, or are all in flight when the thousandth is sent.
    for others in [1, 4000] {
        let slow_first = |line, _| (200, if line == 0 { 5000 } else { others });
        let (course, summary) = course(rules.clone(), plain(3000), slow_first);
        let meanwhile = course.sent.values().filter(|sent| sent[0] < 5000);
        assert_eq!(meanwhile.count(), 1000, "those take {others} ms");
        assert_eq!(course.order(), (0..3000).collect::<Vec<_>>());
        let shares = summary.stretch.shares.first();
        assert_eq!(shares.map(|(owner, _)| *owner), Some(Owner::Order));
    }
}

#[test]
fn without_a_limit_of_slots_a_place_is_kept_for_the_oldest_while_it_rests() {
    let first_again = |line, attempt| (if (line, attempt) == (0, 1) { 503 } else { 200 }, 10);
    let (course, _) = course(ordered(None), plain(3000), first_again);
    assert_eq!(course.sent[&0], [0, 510]);
    let before = course.sent.values().filter(|sent| sent[0] < 510);
    assert_eq!(before.count(), 1000, "with the oldest one's first try");
    assert_eq!(course.order(), (0..3000).collect::<Vec<_>>());
}

#[test]
fn the_time_in_which_results_wait_for_an_older_one_is_the_orders() {
    // Ten slots, of which nine are soon full of results.
    let every_tenth = |line, _| (200, if line % 10 == 0 { 1000 } else { 10 });
    let own = |order| {
        let rules = Rules {
            order,
            ..ordered(Some(10))
        };
        let (_, summary) = course(rules, plain(200), every_tenth);
        share(&summary, Owner::Order)
    };
    let (by_input, by_completion) = (own(Order::ByInput), own(Order::ByCompletion));
    assert!(by_input > 0.9, "{by_input}");
    assert!(by_completion == 0.0, "{by_completion}");
}

/// The share of an owner in the time of a run.
fn share(summary: &Summary, owner: Owner) -> f64 {
    let shares = summary.stretch.shares.iter();
    let own: Duration = shares
        .filter(|(one, _)| *one == owner)
        .map(|(_, span)| *span)
        .sum();
    own.as_secs_f64() / summary.stretch.span().as_secs_f64()
}

#[test]
fn one_of_two_slots_with_a_result_that_waits_is_the_orders() {
    let slow_first = |line, _| (200, if line == 0 { 6000 } else { 10 });
    let (_, summary) = course(ordered(Some(2)), plain(100), slow_first);
    let own = share(&summary, Owner::Order);
    assert!(own > 0.9, "{own}");
}

#[test]
fn a_look_ahead_full_of_results_that_wait_is_the_orders() {
    let slow_first = |line, _| (200, if line == 0 { 6000 } else { 10 });
    for (jobs, first) in [(5, 0), (10, 0), (5, 200)] {
        let rules = Rules {
            look_ahead: LookAhead {
                jobs,
                ..LookAhead::default()
            },
            ..ordered(Some(10))
        };
        // Of one origin or of two.
        let lines = two_origins(100, |line| line < first || line % 2 == 0);
        let (course, summary) = course(rules, lines, slow_first);
        let meanwhile = course.sent.values().filter(|sent| sent[0] < 6000);
        assert_eq!(meanwhile.count(), jobs);
        let own = share(&summary, Owner::Order);
        assert!(own > 0.9, "{jobs}: {:?}", summary.stretch.shares);
    }
}

#[test]
fn a_look_ahead_full_of_jobs_of_one_origin_is_not_the_orders() {
    // Two results wait for the first job, and all others for the pause of their origin.
    let rules = Rules {
        look_ahead: LookAhead {
            jobs: 20,
            ..LookAhead::default()
        },
        per_host: Cost::new(3),
        ..ordered(Some(10))
    };
    let lines = two_origins(200, |line| (3..100).contains(&line));
    let api = |line, attempt| match (line, attempt) {
        (0, _) => (200, 1900),
        (3, 1) => (429, 10),
        _ => (200, 100),
    };
    let (_, summary) = course(rules, lines, api);
    let (own, order) = (
        share(&summary, Owner::LookAhead),
        share(&summary, Owner::Order),
    );
    assert!(own > 0.2 && order < 0.05, "{:?}", summary.stretch.shares);
}

#[test]
fn slots_that_would_not_do_without_the_results_that_wait_are_not_the_orders() {
    // One of three slots has a slow answer, one a result that waits: the last job takes all three.
    let jobs = [1, 1, 3].iter().zip(0..);
    let jobs = jobs.map(|(slots, line)| job(line, None, *slots));
    let slow_first = |line, _| (200, if line == 0 { 6000 } else { 10 });
    let (_, summary) = course(ordered(Some(3)), jobs, slow_first);
    let own = share(&summary, Owner::Order);
    assert!(own == 0.0, "{own}");
}

#[test]
fn the_share_of_the_order_is_about_the_time_that_it_costs() {
    // Slots, answers take 100 ms and up to so many more or less, and one in so many takes 900 ms more.
    for (slots, spread, slow) in [
        (2, 50, None),
        (10, 20, None),
        (10, 90, None),
        (100, 90, None),
        (10, 5, Some(20)),
        (10, 5, Some(100)),
        (100, 5, Some(100)),
    ] {
        let api = |line: u64, _| {
            let dice = line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let is_slow = slow.is_some_and(|slow| (dice >> 20).is_multiple_of(slow));
            let more = dice % (2 * spread + 1) + if is_slow { 900 } else { 0 };
            (200, 100 - spread + more)
        };
        let of = |order| {
            let rules = Rules {
                order,
                ..ordered(Some(slots))
            };
            course(rules, plain(1500), api).1
        };
        let (by_input, by_completion) = (of(Order::ByInput), of(Order::ByCompletion));
        let least = by_completion.elapsed.as_secs_f64();
        let costs = 1.0 - least / by_input.elapsed.as_secs_f64();
        let own = share(&by_input, Owner::Order);
        assert!(
            (own - costs).abs() < 0.15,
            "{own:.2} and {costs:.2}: {slots}, {spread}, {slow:?}"
        );
    }
}

fn answer(engine: &mut Engine, ticket: shaper::engine::Ticket, at: Tick) -> Vec<Action> {
    let mut actions = Vec::new();
    let end = Box::new(Ok(simulated::reply(StatusCode::OK)));
    engine.tell(at, Event::Ended(ticket, at, end), &mut actions);
    actions
}

/// The positions of what is to be written, and the end.
fn told(actions: &[Action]) -> (Vec<u64>, Option<&End>) {
    let mut seqs = Vec::new();
    let mut end = None;
    for action in actions {
        assert_eq!(end, None, "the end is last: {actions:?}");
        match action {
            Action::Record(_, outcome) => seqs.push(outcome.seq),
            Action::Stop(how) => end = Some(how),
            Action::Read(_) | Action::Prepare(..) | Action::Send(..) | Action::Store(_) => {
                panic!("not at an end: {action:?}")
            }
        }
    }
    (seqs, end)
}

#[test]
fn no_answer_that_was_paid_for_is_lost_at_a_second_signal() {
    let (mut engine, tickets) = in_flight(ordered(Some(4)), 8);
    for ticket in [tickets[3], tickets[1]] {
        let actions = answer(&mut engine, ticket, Tick(MILLI));
        assert_eq!(told(&actions), (vec![], None), "0 is older");
    }
    let mut actions = Vec::new();
    let first = Event::Signal(Signal::Interrupt, Tick(2 * MILLI));
    engine.tell(Tick(2 * MILLI), first, &mut actions);
    engine.decide(Tick(2 * MILLI), &mut actions);
    assert_eq!(told(&actions), (vec![], None));
    let second = Event::Signal(Signal::Interrupt, Tick(3 * MILLI));
    engine.tell(Tick(3 * MILLI), second, &mut actions);
    // At once: the same event that brings the signal.
    let stop = End::Signalled(Signal::Interrupt);
    assert_eq!(told(&actions), (vec![1, 3], Some(&stop)));
    // What was handed over before the end is written after it.
    for action in actions {
        if let Action::Record(ticket, _) = action {
            engine.tell(Tick(4 * MILLI), Event::Recorded(ticket), &mut Vec::new());
        }
    }
    let counts = engine.close(Tick(4 * MILLI)).tally.counts;
    assert_eq!((counts.read, counts.ok, counts.cancelled), (8, 2, 6));
}

#[test]
fn a_drain_writes_in_order_and_leaves_out_what_has_no_result() {
    let (mut engine, tickets) = in_flight(ordered(Some(4)), 8);
    let mut actions = Vec::new();
    let signal = Event::Signal(Signal::Terminate, Tick(MILLI));
    engine.tell(Tick(MILLI), signal, &mut actions);
    assert!(actions.is_empty());
    let later = answer(&mut engine, tickets[2], Tick(2 * MILLI));
    assert_eq!(told(&later), (vec![], None));
    // 0 would be tried again, for which there is no time; 1 is in flight still.
    let mut actions = Vec::new();
    let again = Box::new(Ok(simulated::reply(StatusCode::SERVICE_UNAVAILABLE)));
    let at = Tick(3 * MILLI);
    engine.tell(at, Event::Ended(tickets[0], at, again), &mut actions);
    assert_eq!(told(&actions), (vec![], None));
    let both = answer(&mut engine, tickets[1], Tick(4 * MILLI));
    assert_eq!(told(&both), (vec![1, 2], None));
}

#[test]
fn a_drain_writes_no_line_that_was_never_sent_behind_a_gap() {
    let rules = Rules {
        queue_timeout: Some(Duration::from_millis(1)),
        limits: vec!["tokens 100/s bucket burst=10".parse().unwrap()],
        ..ordered(Some(3))
    };
    let (mut engine, tickets) = in_flight(rules, 4);
    assert_eq!(tickets.len(), 3);
    let mut actions = Vec::new();
    // 3 waits too long, 4 costs too much, 5 is no job.
    engine.decide(Tick(MILLI), &mut actions);
    assert_eq!(engine.load(), (3, 0));
    for line in [Ok(job(4, Some(99), 1)), Err(bad(5))] {
        let read = Event::read(line, Tick::ZERO);
        engine.tell(Tick(MILLI), read, &mut actions);
    }
    let written = |action: &Action| matches!(action, Action::Record(..));
    assert!(!actions.iter().any(written), "0 is older: {actions:?}");
    actions = answer(&mut engine, tickets[2], Tick(2 * MILLI));
    assert_eq!(told(&actions), (vec![], None));
    let at = Tick(3 * MILLI);
    engine.tell(at, Event::Signal(Signal::Interrupt, at), &mut actions);
    assert_eq!(told(&actions), (vec![], None));
    // 0 is tried again by the next run; 2 was paid for.
    let again = Box::new(Ok(simulated::reply(StatusCode::SERVICE_UNAVAILABLE)));
    engine.tell(at, Event::Ended(tickets[0], at, again), &mut actions);
    actions.extend(answer(&mut engine, tickets[1], at));
    assert_eq!(told(&actions), (vec![1, 2], None));
    for ticket in &tickets[1..] {
        engine.tell(at, Event::Recorded(*ticket), &mut actions);
    }
    engine.decide(at, &mut actions);
    let stop = End::Signalled(Signal::Interrupt);
    assert_eq!(told(&actions), (vec![1, 2], Some(&stop)));
    let summary = engine.close(at);
    let counts = summary.tally.counts;
    assert_eq!((counts.read, counts.ok, counts.cancelled), (6, 2, 4));
    assert!(
        summary.tally.failures.is_empty(),
        "{:?}",
        summary.tally.failures
    );
}

#[test]
fn a_withdrawn_job_holds_nobody_up() {
    let (mut engine, tickets) = in_flight(ordered(Some(2)), 3);
    assert_eq!(tickets.len(), 2);
    let mut actions = Vec::new();
    engine.tell(Tick(1), Event::Cancel(2), &mut actions);
    assert!(actions.is_empty());
    let again = Box::new(Ok(simulated::reply(StatusCode::SERVICE_UNAVAILABLE)));
    engine.tell(
        Tick(1),
        Event::Ended(tickets[0], Tick(1), again),
        &mut actions,
    );
    let younger = answer(&mut engine, tickets[1], Tick(2));
    assert_eq!(told(&younger), (vec![], None));
    engine.tell(Tick(3), Event::Cancel(0), &mut actions);
    assert_eq!(told(&actions), (vec![1], None));
    let Some(Action::Record(_, outcome)) = actions.first() else {
        unreachable!("it was just seen")
    };
    assert_eq!(outcome.status, Status::Ok);
}

#[test]
fn what_is_held_back_is_not_handed_to_a_sink_that_is_lost() {
    let (mut engine, tickets) = in_flight(ordered(Some(2)), 2);
    let held_back = answer(&mut engine, tickets[1], Tick(1));
    assert_eq!(told(&held_back), (vec![], None));
    let full = shaper::error::Problem::new(shaper::error::Exit::Unwritten, "full", "make room");
    let mut actions = Vec::new();
    engine.tell(Tick(2), Event::SinkLost(full.clone()), &mut actions);
    assert_eq!(told(&actions), (vec![], Some(&End::SinkLost(full))));
}

#[test]
fn the_grace_ends_a_drain_at_its_moment_with_the_first_signal() {
    for order in [Order::ByCompletion, Order::ByInput] {
        let rules = Rules {
            order,
            grace: Some(Duration::from_secs(5)),
            ..ordered(Some(2))
        };
        let (mut engine, tickets) = in_flight(rules, 2);
        let mut actions = Vec::new();
        let at = Tick(SECOND);
        engine.tell(at, Event::Signal(Signal::Terminate, at), &mut actions);
        let until = Tick(6 * SECOND);
        assert_eq!(engine.decide(at, &mut actions), Some(until));
        assert!(actions.is_empty(), "{actions:?}");
        actions = answer(&mut engine, tickets[1], Tick(2 * SECOND));
        let just_before = Tick(6 * SECOND - 1);
        assert_eq!(engine.decide(just_before, &mut actions), Some(until));
        engine.decide(until, &mut actions);
        let stop = End::Signalled(Signal::Terminate);
        assert_eq!(told(&actions), (vec![1], Some(&stop)));
    }
}

/// Jobs of the first origin, and all others of the second one.
fn two_origins(count: u64, first: impl Fn(u64) -> bool) -> Vec<Job> {
    let jobs = (0..count).map(|line| Job {
        origin: Origin(if first(line) { "http://a" } else { "http://b" }.into()),
        ..job(line, None, 1)
    });
    jobs.collect()
}

#[test]
fn a_rest_of_one_job_lets_others_go_on_until_only_its_own_slot_is_left() {
    let jobs = two_origins(8, |line| line == 0);
    let rules = Rules {
        retry: Policy {
            backoff: Backoff {
                min: Duration::from_secs(60),
                max: Duration::from_secs(60),
            },
            ..ordered(None).retry
        },
        ..ordered(Some(4))
    };
    let api = |line, attempt| (if (line, attempt) == (0, 1) { 503 } else { 200 }, 10);
    let (course, summary) = course(rules, jobs, api);
    assert_eq!(course.sent[&0], [0, 60_010]);
    assert_eq!(course.sent[&3], [0]);
    assert_eq!(course.sent[&4], [60_020]);
    assert_eq!(course.order(), (0..8).collect::<Vec<_>>());
    let own = share(&summary, Owner::Order);
    assert!(own > 0.9, "the others could go: {own}");
}

#[test]
fn rests_of_single_jobs_in_which_others_would_go_are_the_orders() {
    let fifth_again = |line, attempt| {
        let again = line % 5 == 0 && attempt == 1;
        (if again { 503 } else { 200 }, 100)
    };
    let as_they_come = Rules {
        order: Order::ByCompletion,
        ..ordered(Some(10))
    };
    let (_, least) = course(as_they_come, plain(500), fifth_again);
    let (_, summary) = course(ordered(Some(10)), plain(500), fifth_again);
    assert!(summary.elapsed > 3 * least.elapsed);
    let own = share(&summary, Owner::Order);
    assert!(own > 0.7, "{own}");
}

#[test]
fn a_pause_that_the_oldest_job_waits_for_is_not_the_orders() {
    let api = |line, attempt| {
        (
            if line % 2 == 0 && attempt == 1 {
                429
            } else {
                200
            },
            10,
        )
    };
    for order in [Order::ByCompletion, Order::ByInput] {
        let rules = Rules {
            order,
            ..ordered(Some(4))
        };
        let (course, summary) = course(rules, two_origins(40, |line| line % 2 == 0), api);
        assert!(order == Order::ByCompletion || course.order().is_sorted());
        let own = share(&summary, Owner::Pause);
        assert!(own > 0.9, "{order:?}: {:?}", summary.stretch.shares);
    }
}

#[test]
fn a_limit_that_the_oldest_job_waits_for_is_not_the_orders() {
    for look_ahead in [5, 100] {
        let mut rules = ordered(Some(4));
        rules.look_ahead.jobs = look_ahead;
        rules.limits = vec!["1/s".parse().unwrap()];
        rules.limits[0].per = Some(KeyBy::Field("key".into()));
        let (_, summary) = course(rules, (0..100).map(keyed), |_, _| (200, 10));
        let own = share(&summary, Owner::Limit(0));
        assert!(own > 0.9, "{look_ahead}: {:?}", summary.stretch.shares);
    }
}
