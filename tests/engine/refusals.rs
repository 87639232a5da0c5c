//! 429s while every own limit holds: which reason the answers speak for.

use std::time::Duration;

use http::StatusCode;
use shaper::drive::simulated::{self, Seen, Simulation};
use shaper::engine::{Grant, Rules};
use shaper::fields::Fields;
use shaper::job::Job;
use shaper::limit::Spec;
use shaper::metrics::diagnose::Diagnosis;
use shaper::metrics::littles::Theory;
use shaper::metrics::{AtOnce, Setup, Summary};
use shaper::outcome::{Failure, Reply};
use shaper::retry::Jitter;
use shaper::units::{Cost, Tick};

use super::{SECOND, jobs, rules};

/// What a server answers to a request that comes at a moment: its status, and what its fields say.
type Answer = (u16, Vec<(&'static str, String)>);

fn run(rules: Rules, count: u64, mut server: impl FnMut(u64) -> Answer) -> Summary {
    let mut nth = 0;
    let mut api = |at: Tick, _: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        // Some answers overtake others.
        nth += 1;
        let latency = Duration::from_millis(50 + nth * 7 % 40);
        let (status, fields) = server(at.0);
        let mut reply = simulated::reply(StatusCode::from_u16(status).unwrap());
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        reply.head.headers = Fields::of(fields);
        (latency, Ok(reply))
    };
    let mut watch = |_: Seen<'_>| ();
    Simulation::new(rules, jobs(count), &mut api, &mut watch)
        .run()
        .0
}

/// The finding on the 429s of a run of 400 jobs with 20 slots under these limits.
fn finding(limits: &[&str], server: impl FnMut(u64) -> Answer) -> String {
    let limits: Vec<Spec> = limits.iter().map(|text| text.parse().unwrap()).collect();
    let mut rules = rules(Some(20), limits.clone());
    rules.retry.jitter = Jitter::Full;
    let setup = Setup {
        slots: rules.slots.map(Cost::get),
        per_host: None,
        limits,
        runs: AtOnce::One,
        ..Setup::default()
    };
    let summary = run(rules, 400, server);
    let theory = Theory::of(&setup, &summary);
    Diagnosis::of(&summary, &setup, &theory)
        .findings
        .swap_remove(0)
}

#[track_caller]
fn says(finding: &str, words: &str) {
    let all = finding.starts_with("429s while every own limit held") && finding.ends_with(words);
    assert!(all, "`{finding}` does not end with `{words}`");
}

/// A server that lets `most` go in each window of so many seconds, counted from its beginning, and tells how it
/// stands by the fields of the IETF drafts.
struct Windows {
    most: u64,
    seconds: u64,
    /// What is told of the length of its windows.
    policy: Option<String>,
    /// Requests of others for each of this run, in per cent.
    others: u64,
    window: u64,
    counted: u64,
    hundredths: u64,
}

impl Windows {
    fn new(most: u64, seconds: u64) -> Self {
        Self {
            most,
            seconds,
            policy: None,
            others: 0,
            window: 0,
            counted: 0,
            hundredths: 0,
        }
    }

    fn answer(&mut self, at: u64) -> Answer {
        let window = at / SECOND / self.seconds;
        if window != self.window {
            (self.window, self.counted) = (window, 0);
        }
        self.hundredths += self.others;
        let others = self.hundredths / 100;
        self.hundredths %= 100;
        self.counted = (self.counted + others).min(self.most);
        let fits = self.counted < self.most;
        self.counted += u64::from(fits);
        let left = self.seconds - at / SECOND % self.seconds;
        let mut fields = vec![
            ("ratelimit-limit", self.most.to_string()),
            (
                "ratelimit-remaining",
                (self.most - self.counted).to_string(),
            ),
            ("ratelimit-reset", left.to_string()),
        ];
        if let Some(policy) = &self.policy {
            fields[0].1.clone_from(policy);
        }
        (if fits { 200 } else { 429 }, fields)
    }
}

#[test]
fn a_server_that_tells_a_lower_limit_is_stricter_and_the_option_is_named() {
    let mut server = Windows::new(60, 60);
    server.policy = Some("60, 60;w=60".to_owned());
    let told = finding(&["100/m burst=100"], |at| server.answer(at));
    says(
        &told,
        ": the server tells 60/m (requests), yours is 100/m: --rpm 60",
    );
    let mut server = Windows::new(100, 60);
    server.policy = Some("100, 100;w=60".to_owned());
    let told = finding(&["100/m burst=100"], |at| server.answer(at));
    assert!(!told.contains("the server tells"), "it is no lower: {told}");
}

#[test]
fn a_limit_of_which_much_is_left_refuses_nothing() {
    let mut nth = 0;
    let mut server = |left: u64| {
        finding(&["10/s"], |_| {
            nth += 1;
            let fields = vec![
                ("ratelimit-policy", "\"day\";q=1000;w=86400".to_owned()),
                ("ratelimit", format!("\"day\";r={left};t=9000")),
            ];
            (if nth % 2 == 0 { 429 } else { 200 }, fields)
        })
    };
    says(
        &server(100),
        ": the server tells 1000/d (requests), yours is 10/s: --window 1000/d",
    );
    assert!(!server(101).contains("tells"), "{}", server(101));
}

#[test]
fn a_limit_on_what_no_own_one_counts_is_told() {
    let answer = |_| {
        let fields = vec![
            ("openai-version", "1".to_owned()),
            ("x-ratelimit-limit-tokens", "9000".to_owned()),
            ("x-ratelimit-remaining-tokens", "0".to_owned()),
            ("x-ratelimit-reset-tokens", "10ms".to_owned()),
        ];
        (429, fields)
    };
    let told = finding(&["10/s"], answer);
    says(
        &told,
        ": no limit of yours counts what the server tells, 9000/m (tokens): --tpm 9000",
    );
}

#[test]
fn without_an_own_limit_what_the_server_tells_is_added() {
    let mut server = Windows::new(60, 60);
    server.policy = Some("60, 60;w=60".to_owned());
    let told = finding(&[], |at| server.answer(at));
    let words = "answers were 429 and no rate limit is set; slots look at no clock, --qps N does; \
                 the server tells 60/m (requests): --rpm 60";
    assert!(told.ends_with(words), "{told}");
    let mut server = Windows::new(60, 60);
    let told = finding(&[], |at| server.answer(at));
    assert!(
        told.ends_with("--qps N does"),
        "it does not say in which time: {told}"
    );
}

#[test]
fn requests_that_the_server_counts_and_nobody_here_sent_are_those_of_others() {
    let mut server = Windows::new(1000, 60);
    server.others = 500;
    let told = finding(&["10/s"], |at| server.answer(at));
    let (counted, others) = told
        .split_once(": others use the server's limit: of ")
        .and_then(|(_, rest)| rest.split_once(" requests that it counted, "))
        .unwrap_or_else(|| panic!("{told}"));
    let counted: u64 = counted.parse().unwrap();
    let others = others.strip_suffix(" were not sent here").unwrap();
    let others: u64 = others.parse().unwrap();
    // Five of six, less what was in flight.
    let share = others * 600 / counted;
    assert!((450..=500).contains(&share), "{told}");
    assert!(counted >= 900, "{told}");
}

#[test]
fn a_few_requests_more_than_were_sent_here_are_no_sign_of_others() {
    // Of each 100 that the server counts 6 and 23 are others'.
    for (per_cent, shared) in [(7, false), (30, true)] {
        let mut server = Windows::new(300, 60);
        server.others = per_cent;
        let told = finding(&["10/s"], |at| server.answer(at));
        assert_eq!(told.contains("others use"), shared, "{per_cent} %: {told}");
    }
}

#[test]
fn what_was_sent_here_is_never_laid_on_others() {
    // Answers overtake each other, tries are refused and tried again, windows begin and end.
    for (most, seconds, limit) in [(50, 10, "10/s"), (30, 5, "20/s burst=20"), (9, 1, "10/s")] {
        let mut server = Windows::new(most, seconds);
        let told = finding(&[limit], |at| server.answer(at));
        assert!(!told.contains("others use"), "{most}/{seconds}s: {told}");
    }
}

/// A server that says nothing and refuses each request of this number.
fn each(number: u64) -> impl FnMut(u64) -> Answer {
    let mut nth = 0;
    move |_| {
        nth += 1;
        (if nth % number == 0 { 429 } else { 200 }, Vec::new())
    }
}

#[test]
fn a_server_that_lets_through_less_than_the_own_limit_is_stricter() {
    // Never three in a row, which would rest the key.
    let mut nth = 0;
    let told = finding(&["10/s"], |_| {
        nth += 1;
        let status = if [0, 3, 7].contains(&(nth % 10)) {
            429
        } else {
            200
        };
        (status, Vec::new())
    });
    let why = ": the server is stricter, as it let through 6.95/s of your 10/s: --qps 6.95";
    says(&told, why);
    // One in nine is above a tenth, one in eleven below.
    let told = finding(&["10/s"], each(9));
    assert!(told.contains("the server is stricter"), "{told}");
    let told = finding(&["10/s"], each(11));
    assert!(told.contains("the server counts otherwise"), "{told}");
}

#[test]
fn a_server_that_lets_through_as_much_counts_otherwise() {
    for (limit, cure) in [
        ("10/s", "--window 10/s holds in any window"),
        (
            "10/s burst=5",
            "--burst 1 sends none at once, --window 10/s holds in any window",
        ),
        ("10/s fixed", "--window 10/s holds in any window"),
        (
            "10/s window",
            "--limit \"10/s window at=reply\" waits for its answers",
        ),
        (
            "3/300ms window at=reply",
            "only a lower number than yours is left",
        ),
    ] {
        let told = finding(&[limit], each(20));
        let why = ": the server counts otherwise, as it let through ";
        assert!(told.contains(why), "{limit}: {told}");
        says(&told, cure);
    }
}

#[test]
fn long_pauses_leave_open_whether_it_is_stricter_or_counts_otherwise() {
    let mut nth = 0;
    let mut server = |wait: &'static str| {
        finding(&["10/s"], |_| {
            nth += 1;
            let wait = vec![("retry-after", wait.to_owned())];
            if nth % 20 == 0 {
                (429, wait)
            } else {
                (200, Vec::new())
            }
        })
    };
    let told = server("1");
    let words = "/s of your 10/s, with pauses 3";
    assert!(told.contains(words), "{told}");
    let words = "% of the time: it counts otherwise (--window 10/s holds in any window), \
                 or is stricter (a lower --qps tells)";
    says(&told, words);
    let told = server("0.05");
    assert!(told.contains("the server counts otherwise"), "{told}");
}

#[test]
fn nothing_is_judged_where_something_else_held_the_jobs_or_units_bind() {
    let any = "the server's rule is stricter than yours, shared with others, or counted otherwise";
    // 20 slots and 70 ms make 280/s.
    says(&finding(&["1000/s"], each(5)), any);
    says(&finding(&["tokens 100/s", "1000/s"], each(5)), any);
}
