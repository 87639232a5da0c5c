//! Redirects under limits: each pays a request and no units, keeps its slot, and goes before other jobs.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{End, Grant, Rules};
use shaper::fields::Fields;
use shaper::job::{Job, Origin, Target};
use shaper::limit::{KeyBy, all_keys};
use shaper::outcome::{Failure, FailureKind, Reply, Try};
use shaper::redirect::Follow;
use shaper::units::Cost;

use super::{MILLI, SECOND, Tick, job, qps, rules};

/// A server of which a path says where it leads.
fn lead(job: &Job) -> Reply {
    let path = job.target.url.path().trim_start_matches('/');
    let fields = |reply: &mut Reply, fields: &[(&str, &str)]| {
        reply.head.headers = Fields::of(fields.iter().copied());
    };
    let mut reply = simulated::reply(StatusCode::OK);
    if let Some(place) = path.strip_prefix("to/") {
        reply.head.status = StatusCode::TEMPORARY_REDIRECT;
        fields(&mut reply, &[("location", &format!("http://{place}"))]);
    } else if path == "busy" {
        reply.head.status = StatusCode::TOO_MANY_REQUESTS;
        fields(&mut reply, &[("retry-after", "5")]);
    }
    reply
}

fn ask(line: u64, url: &str, units: Option<u64>) -> Job {
    let url: url::Url = url.parse().unwrap();
    Job {
        origin: Origin(url.origin().ascii_serialization().into()),
        target: Target::from(url).into(),
        ..job(line, units, 1)
    }
}

/// By the position of their job.
type Tries = BTreeMap<u64, Vec<Try>>;

/// When what was asked, of jobs that are all there at the start and are answered after 1 ms; and their tries.
fn run(rules: Rules, jobs: &[Job]) -> (Vec<(String, u64)>, Tries) {
    let mut sent = Vec::new();
    let mut api = |at: Tick, job: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        let url = &job.target.url;
        sent.push((format!("{}{}", url.host_str().unwrap(), url.path()), at.0));
        (Duration::from_millis(1), Ok(lead(job)))
    };
    let mut done = BTreeMap::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Done(_, outcome) = seen {
            done.insert(outcome.seq, outcome.tries.clone());
        }
    };
    let rules = Rules {
        follow: Follow::Redirects,
        ..rules
    };
    let keys = all_keys(&rules.limits, rules.learnt_per.as_ref()).len();
    let lines = jobs.iter().map(|job| {
        let host = job.target.url.host_str().unwrap().into();
        let keys = vec![host; keys].into();
        (
            Tick::ZERO,
            Ok(Job {
                keys,
                ..job.clone()
            }),
        )
    });
    let (summary, end) = Simulation::new(rules, lines, &mut api, &mut watch).run();
    assert_eq!(end, End::Finished);
    assert_eq!(summary.tally.sends.count, sent.len() as u64);
    (sent, done)
}

fn places(sent: &[(String, u64)]) -> Vec<(&str, u64)> {
    sent.iter().map(|(place, at)| (&**place, *at)).collect()
}

#[test]
fn a_redirect_goes_before_other_jobs_and_pays_a_request() {
    let jobs = [
        ask(0, "http://a/to/a/x", None),
        ask(1, "http://a/1", None),
        ask(2, "http://a/2", None),
    ];
    let (sent, _) = run(rules(Some(9), vec![qps("10/s", 1)]), &jobs);
    let tenth = SECOND / 10;
    let order = [
        ("a/to/a/x", 0),
        ("a/x", tenth),
        ("a/1", 2 * tenth),
        ("a/2", 3 * tenth),
    ];
    assert_eq!(places(&sent), order);
}

#[test]
fn a_redirect_keeps_its_slot_and_takes_none() {
    let mut rules = rules(Some(1), vec![]);
    rules.per_host = Cost::new(1);
    let jobs = [
        ask(0, "http://a/to/b/to/a/x", None),
        ask(1, "http://b/to/a/y", None),
    ];
    let (sent, done) = run(rules, &jobs);
    let order: Vec<_> = sent.iter().map(|(place, _)| &**place).collect();
    assert_eq!(
        order,
        ["a/to/b/to/a/x", "b/to/a/x", "a/x", "b/to/a/y", "a/y"]
    );
    let hops: Vec<_> = done.values().map(|tries| tries[0].hops.len()).collect();
    assert_eq!((hops, sent[3].1), (vec![2, 1], 3 * MILLI));
}

#[test]
fn a_redirect_pays_no_units() {
    let limits = vec!["tokens 10/s burst=10".parse().unwrap()];
    let jobs = [
        ask(0, "http://a/to/a/x", Some(6)),
        ask(1, "http://a/1", Some(4)),
    ];
    let (sent, done) = run(rules(Some(9), limits), &jobs);
    assert!(sent.iter().all(|(_, at)| *at <= MILLI), "{sent:?}");
    assert_eq!(done[&0][0].units.unwrap().total.reserved, 6);
}

#[test]
fn a_redirect_pays_the_limit_of_the_host_that_it_leads_to() {
    let limits = vec!["2/s per=host".parse().unwrap()];
    let jobs = [
        ask(0, "http://b/0", None),
        ask(1, "http://a/to/b/x", None),
        ask(2, "http://b/2", None),
        ask(3, "http://a/3", None),
    ];
    let (sent, done) = run(rules(Some(9), limits), &jobs);
    let half = SECOND / 2;
    let order = [
        ("b/0", 0),
        ("a/to/b/x", 0),
        ("b/x", half),
        ("a/3", half),
        ("b/2", 2 * half),
    ];
    assert_eq!(places(&sent), order);
    assert_eq!(&*done[&1][0].hops[0].keys[0], "b");
}

#[test]
fn a_redirect_has_the_key_of_limits_that_are_only_learnt() {
    let mut learns = rules(Some(9), vec![]);
    (learns.adaptive, learns.learnt_per) = (true, Some(KeyBy::Host));
    let (_, done) = run(learns, &[ask(0, "http://a/to/b/x", None)]);
    let keys: Vec<_> = done[&0][0].hops[0].keys.iter().map(|key| &**key).collect();
    assert_eq!(keys, ["b"]);
}

#[test]
fn a_redirect_waits_for_the_pause_of_the_place_that_it_leads_to() {
    let jobs = [
        ask(0, "http://b/busy", None),
        ask(1, "http://a/to/a/to/b/x", None),
    ];
    let mut patient = rules(Some(9), vec![]);
    patient.retry.max_attempts = 1.try_into().unwrap();
    let (sent, _) = run(patient.clone(), &jobs);
    assert_eq!(places(&sent)[3], ("b/x", 5 * SECOND + MILLI));

    patient.timeout = Duration::from_secs(2);
    let (sent, done) = run(patient, &jobs);
    assert_eq!(sent.len(), 3, "it is given up at once: {sent:?}");
    let tries = &done[&1];
    let failure = tries[0].failure.as_ref().unwrap();
    assert_eq!(
        (failure.kind, tries[0].done.0),
        (FailureKind::Timeout, 2 * MILLI)
    );
    let last = tries[0].hops.last().unwrap();
    assert_eq!((last.granted, last.sent), (None, None));
}

#[test]
fn a_redirect_to_a_key_that_is_closed_fails() {
    let jobs = [
        ask(0, "http://b/busy", None),
        ask(1, "http://a/to/a/to/b/x", None),
        ask(2, "http://b/to/a/x", None),
    ];
    let mut impatient = rules(Some(9), vec![]);
    impatient.retry.max_retry_after = Some(Duration::from_secs(1));
    let (sent, done) = run(impatient, &jobs);
    assert!(sent.iter().all(|(place, _)| place != "b/x"), "{sent:?}");
    let failure = done[&1][0].failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::RetryAfterTooLong);
    assert_eq!(done[&2][0].status, Some(StatusCode::OK), "it was in flight");
}

#[test]
fn a_redirect_that_waits_for_one_limit_is_not_held_longer_by_another() {
    // The redirect waits for its host until 1 s, and the jobs of another would use up what all share.
    let limits = vec![
        "1/s per=host".parse().unwrap(),
        "3/1s window".parse().unwrap(),
    ];
    let mut jobs = vec![ask(0, "http://a/to/a/x", None)];
    jobs.extend((1..9).map(|line| ask(line, &format!("http://b{line}/"), None)));
    let (sent, _) = run(rules(Some(9), limits), &jobs);
    let place = sent.iter().find(|(place, _)| place == "a/x").unwrap();
    assert_eq!(place.1, SECOND, "{sent:?}");
}

#[test]
fn a_429_at_a_redirect_is_an_answer_of_its_try() {
    let jobs = [ask(0, "http://a/to/b/busy", None)];
    let mut twice = rules(Some(1), vec![]);
    twice.retry.max_attempts = 2.try_into().unwrap();
    let (sent, done) = run(twice, &jobs);
    let again = 5 * SECOND + 2 * MILLI;
    let order = [
        ("a/to/b/busy", 0),
        ("b/busy", MILLI),
        ("a/to/b/busy", again),
    ];
    assert_eq!(places(&sent)[..3], order);
    let statuses: Vec<_> = done[&0].iter().map(|one| one.status).collect();
    assert_eq!(statuses, [Some(StatusCode::TOO_MANY_REQUESTS); 2]);
}
