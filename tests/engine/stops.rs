//! Rules that end a run before its time: to the job, and to the nanosecond.

use super::*;

/// A run of `count` jobs whose answers `script` gives, 100 ms after each is sent, under `rule`.
fn run(
    rule: &str,
    rules: Rules,
    count: u64,
    script: impl Fn(u64) -> u16,
) -> (Vec<(u64, u64)>, Summary, End) {
    let rules = Rules {
        stop_if: vec![rule.parse().unwrap()],
        ..rules
    };
    let mut sent = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Sent(at, job, _) = seen {
            sent.push((job.place.line, at.0));
        }
    };
    let mut api = |_: Tick, job: &Job, _: &Grant| {
        let status = StatusCode::from_u16(script(job.place.line)).unwrap();
        (Duration::from_millis(100), Ok(simulated::reply(status)))
    };
    let lines = jobs(count);
    let (summary, end) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    let counts = summary.tally.counts;
    assert_eq!(counts.read, counts.done() + counts.cancelled);
    (sent, summary, end)
}

fn told(end: &End) -> &str {
    match end {
        End::Stopped(stopped) => &stopped.told,
        End::Finished
        | End::TimeUp
        | End::InputLost(_)
        | End::SinkLost(_)
        | End::StoreLost(_)
        | End::Signalled(_) => "",
    }
}

const USUAL: &str = "401,403>=20 in a row before ok";

#[test]
fn a_wrong_key_costs_twenty_answers_and_what_is_in_flight_then() {
    let slots = rules(Some(3), Vec::new());
    let (sent, summary, end) = run(USUAL, slots, 1000, |_| 401);
    assert_eq!(
        told(&end),
        "20 answers 401 or 403 in a row, and no job was ok"
    );
    // The 20th answer comes with the 19th and the 21st: what is told first is not taken back.
    assert_eq!(sent.len(), 21);
    assert_eq!(sent.last(), Some(&(20, 600 * MILLI)));
    assert_eq!(summary.tally.counts.failed, 21);
    assert_eq!(
        summary.tally.counts.cancelled,
        summary.tally.counts.read - 21
    );
    assert_eq!(summary.elapsed, Duration::from_millis(700));
}

#[test]
fn one_job_that_is_ok_keeps_the_run_going() {
    let slots = rules(Some(3), Vec::new());
    let (sent, summary, end) = run(USUAL, slots, 100, |line| if line == 5 { 200 } else { 403 });
    assert_eq!(end, End::Finished);
    assert_eq!((sent.len(), summary.tally.counts.failed), (100, 99));
}

#[test]
fn nothing_is_sent_after_the_answer_that_is_one_too_many() {
    let paced = rules(None, vec![qps("100/s", 1)]);
    let (sent, summary, end) = run(
        "404>4",
        paced,
        1000,
        |line| if line < 5 { 404 } else { 200 },
    );
    assert_eq!(told(&end), "5 answers 404");
    // The fifth is answered at 140 ms; what was sent before ends and has its result.
    assert_eq!(sent.last(), Some(&(13, 130 * MILLI)));
    let counts = summary.tally.counts;
    assert_eq!(counts.done(), sent.len() as u64);
    assert_eq!((counts.failed, counts.invalid), (5, 0));
    assert!(counts.cancelled > 0);
    assert_eq!(summary.elapsed, Duration::from_millis(230));
}

#[test]
fn a_share_waits_until_a_hundred_are_known() {
    let slots = || rules(Some(1), Vec::new());
    let often = |line: u64| if line % 5 == 4 { 404 } else { 200 };
    let (sent, _, end) = run("failed>10%", slots(), 1000, often);
    assert_eq!(told(&end), "20 of 100 jobs failed");
    assert_eq!(sent.len(), 100);
    let (sent, _, end) = run("failed>20%", slots(), 1000, often);
    assert_eq!((sent.len(), end), (1000, End::Finished));
}

#[test]
fn jobs_that_rest_before_their_next_try_are_left_to_another_run() {
    let slots = rules(Some(2), Vec::new());
    let (sent, summary, end) = run("429>2", slots, 100, |_| 429);
    assert_eq!(told(&end), "3 answers 429");
    let counts = summary.tally.counts;
    assert_eq!((counts.done(), counts.cancelled), (0, counts.read));
    // None of them has a result, so all their sends are told beside the results.
    assert_eq!(summary.unrecorded.len(), sent.len());
    assert_eq!(sent.len(), 4);
}

#[test]
fn a_grace_ends_what_a_rule_has_drained() {
    let slots = Rules {
        grace: Some(Duration::from_millis(250)),
        ..rules(Some(2), Vec::new())
    };
    let rules = Rules {
        stop_if: vec!["404>0".parse().unwrap()],
        ..slots
    };
    let mut api = |_: Tick, job: &Job, _: &Grant| {
        let (after, status) = match job.place.line {
            0 => (100, StatusCode::NOT_FOUND),
            _ => (5_000, StatusCode::OK),
        };
        (Duration::from_millis(after), Ok(simulated::reply(status)))
    };
    let (summary, end) = Simulation::new(rules, jobs(9), &mut api, &mut |_| {}).run();
    assert_eq!(told(&end), "1 answer 404");
    assert_eq!(summary.elapsed, Duration::from_millis(350));
    assert_eq!(
        (summary.tally.counts.failed, summary.unseen.unwrap().cut_off),
        (1, 1)
    );
}

#[test]
fn in_the_order_of_the_input_what_was_paid_for_is_written_before_the_end() {
    let ordered = Rules {
        order: shaper::engine::Order::ByInput,
        ..rules(Some(4), Vec::new())
    };
    let rules = Rules {
        stop_if: vec!["404>1".parse().unwrap()],
        ..ordered
    };
    let mut api = |_: Tick, job: &Job, _: &Grant| {
        let (after, status) = match job.place.line {
            0 => (900, StatusCode::OK),
            1 | 2 => (100, StatusCode::NOT_FOUND),
            _ => (200, StatusCode::OK),
        };
        (Duration::from_millis(after), Ok(simulated::reply(status)))
    };
    let mut written = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(_, outcome) = seen {
            written.push(outcome.seq);
        }
    };
    let (_, end) = Simulation::new(rules, jobs(9), &mut api, &mut watch).run();
    assert_eq!(told(&end), "2 answers 404");
    assert_eq!(written, [0, 1, 2, 3]);
}

#[test]
fn a_rule_that_a_job_meets_as_it_gives_up_ends_the_run_while_the_next_one_waits_for_its_moment() {
    let limit: Spec = "tokens 10/s burst=10".parse().unwrap();
    let rules = Rules {
        queue_timeout: Some(Duration::from_millis(500)),
        lead: Some(Duration::from_secs(1)),
        stop_if: vec!["failed>0".parse().unwrap()],
        ..rules(None, vec![limit])
    };
    // The second waits for a second, the third could go after a tenth of it.
    let lines = [10, 10, 1].into_iter().zip(0..);
    let lines = lines.map(|(units, line)| (Tick::ZERO, Ok(job(line, Some(units), 1))));
    let mut api = ok_after(Duration::from_millis(100));
    let mut watch = |_: Seen<'_>| ();
    let (summary, end) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    assert_eq!(told(&end), "1 job failed");
    let counts = summary.tally.counts;
    assert_eq!((counts.ok, counts.failed, counts.cancelled), (1, 1, 1));
}
