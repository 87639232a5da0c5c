//! Jobs are prepared shortly before they may go, so that no grant has to wait for a connection.

use super::*;

/// The moments at which jobs were prepared and sent, by line.
fn moments(lead: Option<Duration>, slots: u64, limits: Vec<Spec>) -> [Vec<(u64, u64)>; 2] {
    let rules = Rules {
        lead,
        ..rules(Some(slots), limits)
    };
    let (mut prepared, mut sent) = (Vec::new(), Vec::new());
    let mut watch = |seen: Seen<'_>| match seen {
        Seen::Prepared(at, job) => prepared.push((job.place.line, at.0)),
        Seen::Sent(at, job, _) => sent.push((job.place.line, at.0)),
        Seen::Done(..) => {}
    };
    let mut api = ok_after(Duration::from_millis(100));
    let (_, end) = Simulation::new(rules, jobs(3), &mut api, &mut watch).run();
    assert_eq!(end, End::Finished);
    [prepared, sent]
}

const LEAD: Duration = Duration::from_secs(1);

#[test]
fn a_job_is_prepared_once_and_so_long_before_it_may_go() {
    let [prepared, sent] = moments(Some(LEAD), 5, vec![qps("1/10s", 1)]);
    assert_eq!(sent, [(0, 0), (1, 10 * SECOND), (2, 20 * SECOND)]);
    assert_eq!(prepared, [(1, 9 * SECOND), (2, 19 * SECOND)]);
}

#[test]
fn a_job_that_may_go_sooner_is_prepared_at_once() {
    let [prepared, sent] = moments(Some(LEAD), 5, vec![qps("2/s", 1)]);
    assert_eq!(sent, [(0, 0), (1, SECOND / 2), (2, SECOND)]);
    assert_eq!(prepared, [(1, 0), (2, SECOND / 2)]);
}

#[test]
fn a_job_that_waits_for_a_slot_takes_over_its_connection() {
    let [prepared, sent] = moments(Some(LEAD), 1, Vec::new());
    assert_eq!(sent.len(), 3);
    assert_eq!(prepared, []);
}

#[test]
fn without_a_lead_nothing_is_prepared() {
    let [prepared, sent] = moments(None, 5, vec![qps("2/s", 1)]);
    assert_eq!(sent.len(), 3);
    assert_eq!(prepared, []);
}

#[test]
fn nobody_is_prepared_who_is_withdrawn_in_the_same_turn() {
    let limits = ["tokens 10/s burst=10", "1/100s per=host"];
    let rules = Rules {
        lead: Some(LEAD),
        queue_timeout: Some(Duration::from_secs(5)),
        stop_if: vec!["failed>0".parse().unwrap()],
        ..rules(None, limits.map(|text| text.parse().unwrap()).into())
    };
    // The second one may go in a second; the third one costs no tokens, would wait for 100 s, and ends the run.
    let lines = [("a", Some(10)), ("b", Some(10)), ("a", None)].into_iter();
    let lines = lines.zip(0..).map(|((key, units), line)| {
        let keys = [Arc::from(key)].into();
        (
            Tick::ZERO,
            Ok(Job {
                keys,
                ..job(line, units, 1)
            }),
        )
    });
    let (mut prepared, mut api) = (0, ok_after(Duration::from_millis(100)));
    let mut watch = |seen: Seen<'_>| prepared += u32::from(matches!(seen, Seen::Prepared(..)));
    let (summary, end) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    assert!(matches!(end, End::Stopped(_)), "{end:?}");
    let counts = summary.tally.counts;
    assert_eq!((counts.ok, counts.failed, counts.cancelled), (1, 1, 1));
    assert_eq!(prepared, 0);
}
