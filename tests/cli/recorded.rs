//! `shaper report` on results of runs in virtual time: exact, and at moments that nobody would wait for.

use std::num::NonZeroU32;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use shaper::drive::simulated;
use shaper::engine::Rules;
use shaper::fields::Fields;
use shaper::limit::{Counts, Spec};
use shaper::outcome::{Failure, FailureKind, Reached};
use shaper::retry::{Jitter, Policy};
use shaper::units::Cost;

use super::report::{keeps_to_the_schema, same, shows};
use crate::support::program::{OUT, Output, RUN, Shaper};
use crate::support::recorded::{Recorded, STARTED, answer, recorded, recorded_at};

const MILLI: Duration = Duration::from_millis(1);

fn qps(rate: &str) -> Spec {
    let rate = rate.parse().expect("it is a rate");
    Spec::bucket("qps", Counts::Requests, rate, Cost::ONE)
}

fn rules(slots: u64, limits: Vec<Spec>) -> Rules {
    Rules {
        slots: Cost::new(slots),
        limits,
        retry: Policy {
            max_attempts: NonZeroU32::MIN,
            jitter: Jitter::None,
            ..Policy::default()
        },
        ..Rules::default()
    }
}

fn report(of: &Recorded, args: &[&str]) -> Output {
    let report = Shaper::plain().args(["report"]).jobs(OUT, &of.results);
    report.file(RUN, &of.run).args(args).output()
}

/// The text says this, and JSON is what the run has told.
#[track_caller]
fn says(of: &Recorded, words: &[&str]) -> Value {
    let text = report(of, &[]);
    text.exits(0);
    shows(&text, words);
    let again = report(of, &["--report", "json"]).json();
    same(of.report.clone(), again.clone());
    again
}

#[test]
fn a_stall_is_seen_by_every_job_that_it_delayed() {
    let mut nth = 0;
    let of = recorded(&rules(1, vec![qps("50/s")]), 200, |_, _, _| {
        nth += 1;
        answer(MILLI * if nth == 50 { 2_000 } else { 10 }, 200)
    });
    let report = says(
        &of,
        &[
            "service time ok",
            "since due    ok",
            "service time: first byte written to last byte read; since due: due to last byte read",
            "of 200 jobs were first sent over 100 ms after they were due, held by slots",
            "2.00 s for slots (34 %)",
        ],
    );
    let figure = |book: &str, name: &str| report["latency"][book]["ok"][name].as_f64();
    let median = figure("service", "p50");
    assert!(
        (10.0..10.1).contains(&median.unwrap_or_default()),
        "{report}"
    );
    assert_eq!(figure("service", "max"), Some(2_000.0));
    assert!(figure("since_due", "p50") >= Some(800.0), "{report}");
    assert!(figure("since_due", "max") >= Some(2_000.0), "{report}");
    assert_eq!(report["late_held_by"], "slots");
    assert!(report["late_sends"].as_u64() > Some(100), "{report}");
}

#[test]
fn jobs_are_late_by_the_retries_that_took_their_permits_whoever_tells_it() {
    let rules = Rules {
        retry: Policy {
            max_attempts: NonZeroU32::new(2).expect("it is above zero"),
            jitter: Jitter::None,
            ..Policy::default()
        },
        ..rules(20, vec![qps("20/s")])
    };
    let of = recorded(&rules, 60, |_, job, grant| {
        let failed = job.hash.0 % 2 == 0 && grant.attempt == 1;
        answer(MILLI * 10, if failed { 503 } else { 200 })
    });
    let late = "jobs were first sent over 100 ms after they were due, held by retries, which";
    let report = says(&of, &[late, "took permits of --qps 20"]);
    assert_eq!(report["late_held_by"], "retries");
    let alone = || Shaper::plain().args(["report"]).jobs(OUT, &of.results);
    shows(&alone().output(), &[late, "took permits of limit qps"]);
    let report = alone().args(["--report", "json"]).output().json();
    assert_eq!(report["late_held_by"], "retries", "{report}");
}

#[test]
fn tries_that_end_without_an_answer_make_a_steady_part_as_answers_do() {
    let run = |count| {
        recorded(&rules(5, Vec::new()), count, |_, _, _| {
            let late = Failure::new(FailureKind::Timeout, Reached::Sent, "no answer");
            (MILLI * 100, Err(late))
        })
    };
    let words = ["of 1.80 s the next job waited 1.80 s for slots (100 %)"];
    let many = says(&run(100), &words);
    assert_eq!(many["little"]["part"], "steady", "{many}");
    assert_eq!(many["little"]["tries"], 90);
    assert_eq!(many["throughput"]["observed"], Value::Null);
    let words = ["whole run used: under 20 ended tries or 1 s of steady part"];
    let few = says(&run(19), &words);
    assert_eq!(few["little"]["part"], "whole", "{few}");
}

#[test]
fn latencies_beyond_an_hour_are_counted_and_told() {
    let slow = [Duration::from_secs(90), Duration::from_secs(2 * 3600)];
    let mut rules = rules(2, Vec::new());
    rules.timeout = Duration::from_secs(86_400);
    let mut slow = slow.into_iter();
    let of = recorded(&rules, 2, |_, _, _| {
        answer(slow.next().expect("there are two"), 200)
    });
    let report = says(&of, &["> 1h: 1", "2h"]);
    assert_eq!(report["latency"]["service"]["ok"]["beyond_1h"], 1);
    assert_eq!(report["latency"]["service"]["ok"]["max"], 7_200_000.0);
}

#[test]
fn failures_stand_apart_from_successes() {
    let mut nth = 0;
    let mixed = recorded(&rules(4, Vec::new()), 40, |_, _, _| {
        nth += 1;
        if nth % 4 == 0 {
            answer(MILLI * 900, 400)
        } else {
            answer(MILLI * 5, 200)
        }
    });
    let report = says(&mixed, &["ok 30  failed 10 (http 10)"]);
    assert_eq!(report["latency"]["service"]["ok"]["max"], 5.0, "{report}");
    assert_eq!(report["latency"]["service"]["failed"]["p50"], 900.0);
    let only = recorded(&rules(4, Vec::new()), 3, |_, _, _| answer(MILLI, 404));
    let report = says(&only, &["failed 3 (http 3)"]);
    assert_eq!(report["latency"]["service"]["ok"]["p50"], Value::Null);
    assert_eq!(report["latency"]["service"]["failed"]["n"], 3);
}

#[test]
fn one_job_is_reported_like_many() {
    let of = recorded(&rules(1, vec![qps("1/h")]), 1, |_, _, _| answer(MILLI, 200));
    let report = says(&of, &["reached —", "ok 1 "]);
    assert_eq!(report["rate_reached_per_s"], Value::Null, "{report}");
    assert_eq!(report["latency"]["service"]["ok"]["p999"], 1.0);
}

#[test]
fn results_alone_name_the_slots_as_their_run_does_however_many_there_are() {
    for slots in [1, 10, 40, 100] {
        let of = recorded(&rules(slots, Vec::new()), 1_000, |_, _, _| {
            answer(MILLI * 50, 200)
        });
        assert_eq!(of.report["binding"], "slots", "{}", of.report);
        let alone = Shaper::plain().args(["report", "-"]).stdin(&of.results);
        let alone = alone.ends(0);
        let words =
            ["the API's latency chose this rate: all slots were taken (100 % of the jobs' waits)"];
        shows(&alone, &words);
    }
}

/// The same as results of other jobs: no two shards have done the same ones.
fn of_other_jobs(results: &[u8]) -> String {
    String::from_utf8_lossy(results).replace("\"seq\":", "\"seq\":9")
}

/// The report of both together.
fn together(one: &Recorded, other: &Recorded, args: &[&str]) -> Output {
    let report = Shaper::plain().args(["report"]);
    let report = report.jobs("a", &one.results).file("a.run", &one.run);
    let report = report
        .jobs("b", of_other_jobs(&other.results))
        .file("b.run", &other.run);
    report.args(args).output()
}

#[test]
fn shards_are_one_run_on_one_clock() {
    let shard = || {
        recorded(&rules(2, Vec::new()), 200, |_, _, _| {
            answer(MILLI * 50, 200)
        })
    };
    let (one, other) = (shard(), shard());
    let both = together(&one, &other, &["--report", "json"]).json();
    keeps_to_the_schema(&both);
    let (alone, little) = (&one.report, &both["little"]);
    for (key, times) in [
        ("in_flight", 2.0),
        ("rate_per_s", 2.0),
        ("mean_ms", 1.0),
        ("span_ms", 1.0),
    ] {
        let expected = alone["little"][key].as_f64().map(|figure| figure * times);
        assert_eq!(little[key].as_f64(), expected, "{key}: {both}");
    }
    let row = |of: &Value, key: &str| of["throughput"]["histogram"][0][key].as_u64();
    assert_eq!(
        row(&both, "per_s"),
        row(alone, "per_s").map(|answers| 2 * answers)
    );
    assert_eq!(row(&both, "seconds"), row(alone, "seconds"));
    assert_eq!(both["counts"]["read"], 400, "{both}");
    assert_eq!(
        (&both["slots"], &both["peak_in_flight"]),
        (&4.into(), &4.into())
    );
    assert_eq!(both["elapsed_ms"], alone["elapsed_ms"]);
    assert_eq!(both["throughput"]["ratio"], alone["throughput"]["ratio"]);
    assert_eq!(both["held_back"][0]["percent"], 100);
    shows(
        &together(&one, &other, &[]),
        &[
            "a: 200 results",
            "b: 200 results",
            "of all runs the next job waited",
        ],
    );
}

#[test]
fn runs_after_each_other_share_their_slots_and_leave_out_the_time_between() {
    let run = |started| {
        let rules = rules(2, Vec::new());
        recorded_at(started, &rules, 200, |_, _, _| answer(MILLI * 50, 200))
    };
    let (one, other) = (run(STARTED), run(STARTED + 86_400));
    let both = together(&other, &one, &["--report", "json"]).json();
    for key in ["in_flight", "rate_per_s", "mean_ms"] {
        assert_eq!(
            both["little"][key], one.report["little"][key],
            "{key}: {both}"
        );
    }
    let twice = |of: &Value| of.as_f64().map(|figure| 2.0 * figure);
    let alone = &one.report;
    assert_eq!(
        both["little"]["span_ms"].as_f64(),
        twice(&alone["little"]["span_ms"])
    );
    assert_eq!(
        both["elapsed_ms"].as_f64(),
        twice(&alone["elapsed_ms"]),
        "{both}"
    );
    assert_eq!(
        (&both["slots"], &both["peak_in_flight"]),
        (&2.into(), &2.into())
    );
}

#[test]
fn a_limit_that_each_shard_keeps_is_held_against_all_together() {
    let run = |rate: &str| {
        let rules = rules(9, vec![qps(rate)]);
        recorded(&rules, 50, |_, _, _| answer(MILLI * 5, 200))
    };
    let (one, same, other) = (run("20/s"), run("20/s"), run("30/s"));
    let words = [
        "EXCEEDED by 50  --qps 20 (b + rT): 40 of at most 21",
        "100 % of 2 x --qps 20",
        "limits are each run's own: 2 at once with --qps 20 make 2 x 20/s = 40/s",
    ];
    shows(&together(&one, &same, &[]), &words);
    let words = ["its runs had different limits, so none is proved"];
    shows(&together(&one, &other, &[]), &words);
    let report = together(&one, &other, &["--report", "json"]).json();
    assert_eq!(report["proof"], Value::Array(Vec::new()), "{report}");
    assert_eq!(report["limits"].as_array().map(Vec::len), Some(2));
    let owners = report["held_back"].as_array().expect("it is a list").iter();
    let owners: Vec<_> = owners.filter_map(|share| share["owner"].as_str()).collect();
    assert!(
        owners.contains(&"--qps 20") && owners.contains(&"--qps 30"),
        "{report}"
    );
    let given = together(&one, &other, &["--qps", "60", "--burst", "2"]);
    shows(&given, &["kept  --qps 60"]);
    // Neither of two limits bounds the other shard.
    assert_eq!(report["crossover_ms"], Value::Null, "{report}");
    let ceilings = |report: &Value| report["throughput"]["ceilings"].clone();
    assert_eq!(ceilings(&report)[0]["name"], "slots", "{report}");
    let report = together(&one, &other, &["--qps", "60", "--report", "json"]);
    let ceiling = json!({"name": "--qps 60", "per_s": 60.0});
    assert_eq!(ceilings(&report.json())[0], ceiling);
}

#[test]
fn theory_and_advice_of_shards_count_the_limits_of_each_as_their_slots() {
    let shard = || {
        let rules = rules(10, vec![qps("40/s")]);
        recorded(&rules, 400, |_, _, _| answer(MILLI * 100, 200))
    };
    let (one, other) = (shard(), shard());
    let words = [
        "observed 80.0/s     theory 20 slots / 100 ms = 200/s",
        "40 % of it, 100 % of 2 x --qps 40",
        "<- mean; 2 x --qps 40 binds",
        "ADVICE      --concurrency 5 in each run would do;",
        "20 slots begin to bind when the API is slower than 20/80 = 250 ms",
    ];
    shows(&together(&one, &other, &[]), &words);
    let both = together(&one, &other, &["--report", "json"]).json();
    keeps_to_the_schema(&both);
    let ceilings = json!([
        {"name": "2 x --qps 40", "per_s": 80.0},
        {"name": "slots", "per_s": 200.0},
    ]);
    assert_eq!(both["throughput"]["ceilings"], ceilings);
    assert_eq!(both["crossover_ms"], one.report["crossover_ms"]);
    assert_eq!(both["held_back"][0]["owner"], "--qps 40");
    assert_eq!(both["limits"][0]["per_s"], 40.0);
}

#[test]
fn refusals_of_shards_that_exceed_a_limit_together_are_not_laid_on_the_server() {
    let run = |refused: u64| {
        let rules = rules(9, vec![qps("6/s")]);
        let mut nth = 0;
        recorded(&rules, 40, move |_, _, _| {
            nth += 1;
            answer(MILLI * 5, if nth <= refused { 429 } else { 200 })
        })
    };
    let (one, other) = (run(2), run(1));
    let held = "429s while every own limit held";
    shows(&report(&one, &[]), &[held, "kept  --qps 6"]);
    let both = together(&one, &other, &[]);
    let words = [
        "3 of 80 answers were 429, and --qps 6 was exceeded: see the proof",
        "EXCEEDED by 40  --qps 6",
        "2 at once with --qps 6 make 2 x 6/s = 12/s",
    ];
    shows(&both, &words);
    assert!(!both.text().contains(held), "{both}");
    // One after the other they have kept it.
    let later = recorded_at(STARTED + 60, &rules(9, vec![qps("6/s")]), 40, |_, _, _| {
        answer(MILLI * 5, 429)
    });
    shows(&together(&one, &later, &[]), &[held, "kept  --qps 6"]);
}

#[test]
fn what_the_answers_told_of_limits_is_known_from_the_run_file_alone() {
    let mut nth = 0;
    let of = recorded(&rules(9, vec![qps("20/s")]), 200, |_, _, _| {
        nth += 1;
        let mut reply = simulated::reply(StatusCode::from_u16([200, 429][nth % 2]).expect("one"));
        let left = (100_usize - nth / 2).to_string();
        let fields = [
            ("ratelimit-limit", "100, 100;w=60"),
            ("ratelimit-remaining", &left),
            ("ratelimit-reset", "50"),
        ];
        reply.head.headers = Fields::of(fields);
        (MILLI * 5, Ok(reply))
    });
    let told = "the server tells 100/m (requests), yours is 20/s: --rpm 100";
    let report = says(&of, &["NOTE"]);
    assert!(report["findings"][0].to_string().contains(told), "{report}");
    let run: Value = serde_json::from_slice(&of.run).expect("it is JSON");
    let evidence = &run["ended"]["figures"]["evidence"];
    let limits = json!([{"limit": "requests 100/m", "least": 0}]);
    assert_eq!(evidence["limits"], limits, "{run}");
    // The results alone do not tell it.
    let report = Shaper::plain().args(["report"]).jobs(OUT, &of.results);
    let done = report.args(["--qps", "20", "--report", "json"]).output();
    let report = done.json();
    let any = "stricter than yours, shared with others, or counted otherwise";
    assert!(report["findings"][0].to_string().contains(any), "{report}");
}

/// The first run against the second.
fn against(run: &Recorded, other: &Recorded, args: &[&str]) -> Output {
    let report = Shaper::plain().args(["report"]);
    let report = report.jobs("now", &run.results).file("now.run", &run.run);
    let report = report
        .file("then", &other.results)
        .file("then.run", &other.run);
    report.args(["--against", "then"]).args(args).output()
}

/// What is said of this figure.
fn change<'a>(both: &'a Value, name: &str) -> &'a Value {
    let changes = both["change"].as_array().expect("it is a list");
    let change = changes.iter().find(|change| change["name"] == name);
    change.unwrap_or_else(|| panic!("no {name} in {both}"))
}

#[test]
fn two_runs_are_set_beside_each_other_with_what_has_changed() {
    let run = |rate: &str, latency: u32| {
        let mut nth = 0;
        recorded(&rules(9, vec![qps(rate)]), 700, move |_, _, _| {
            nth += 1;
            answer(
                MILLI * (latency + nth % 50),
                if nth % 10 == 0 { 429 } else { 200 },
            )
        })
    };
    let (now, then) = (run("20/s", 100), run("40/s", 50));
    let text = against(&now, &then, &[]);
    text.exits(0);
    let words = [
        "RUN         now: the request limit chose this rate: --qps 20 was used up",
        "AGAINST     then: the request limit chose this rate: --qps 40 was used up",
        "LIMITS      not the same: 9 slots, --qps 20; against 9 slots, --qps 40",
        "THROUGHPUT  observed                20.0/s      39.9/s     -19.9/s     0.50 *\n",
        "sends reached           20.0/s      40.0/s     -20.0/s     0.50",
        "status 429                  70          70           0     1.00",
        "HELD BACK   --qps 20                 100 %         0 %      +100 %        —",
        "PROOF       run: --qps 20 kept",
        "against: --qps 40 kept",
    ];
    shows(&text, &words);
    let both = against(&now, &then, &["--report", "json"]).json();
    keeps_to_the_schema(&both["run"]);
    assert_eq!(both["run"]["throughput"], now.report["throughput"]);
    assert_eq!(both["against"]["latency"], then.report["latency"]);
    let median = change(&both, "latency.service.ok.p50");
    assert_eq!(
        (&median["chance"], &median["unit"]),
        (&"beyond".into(), &"ms".into())
    );
    let apart = median["difference"].as_f64().unwrap_or_default();
    assert!((49.9..50.2).contains(&apart), "{median}");
    assert_eq!(change(&both, "throughput.observed")["chance"], "beyond");
    let table = against(&now, &then, &["--report", "csv"]);
    let table = table.text();
    for row in [
        "run.little.mean_ms,,124.5,ms",
        "against.statuses,429,70,answers",
        "change.ratio,counts.ok,1.0,",
    ] {
        assert!(table.contains(row), "no {row:?} in {table}");
    }
    let page = against(&now, &then, &["--report", "none", "--html", "page"]);
    page.exits(0);
    let page = String::from_utf8(page.bytes("page")).expect("it is text");
    assert!(page.contains("2 runs side by side") && page.contains("against then"));
}

#[test]
fn runs_of_few_jobs_are_not_said_to_differ() {
    let run = |latency: u32| {
        let mut nth = 0;
        recorded(&rules(1, Vec::new()), 9, move |_, _, _| {
            nth += 1;
            answer(
                MILLI * (latency + nth),
                if nth == latency { 400 } else { 200 },
            )
        })
    };
    let (now, then) = (run(5), run(12));
    let both = against(&now, &then, &["--report", "json"]).json();
    for name in [
        "latency.service.ok.p99",
        "throughput.observed",
        "counts.failed",
    ] {
        assert_eq!(change(&both, name)["chance"], "too_few", "{name}: {both}");
    }
    shows(
        &against(&now, &then, &[]),
        &[
            "LIMITS      both: 1 slot\n",
            "-7.00 ms     0.67 ?",
            "~ may be chance, ? too few to tell, * more than chance if jobs are independent;",
        ],
    );
    let same = against(&now, &now, &["--report", "json"]).json();
    let changes = same["change"].as_array().expect("it is a list").iter();
    let differing = changes.filter(|change| change["difference"].as_f64() > Some(0.0));
    assert_eq!(differing.count(), 0, "{same}");
}

#[test]
fn a_comparison_takes_shards_and_one_standard_input() {
    let run = || {
        recorded(&rules(2, Vec::new()), 200, |_, _, _| {
            answer(MILLI * 50, 200)
        })
    };
    let (one, other) = (run(), run());
    let shards = Shaper::plain()
        .args(["report", "-", "--report", "json"])
        .stdin(&one.results)
        .file("a", &one.results)
        .file("a.run", &one.run)
        .file("b", of_other_jobs(&other.results))
        .file("b.run", &other.run)
        .args(["--against", "a", "--against", "b"])
        .ends(0);
    let both = shards.json();
    assert_eq!(change(&both, "counts.ok")["ratio"], 0.5, "{both}");
    let twice = Shaper::plain()
        .args(["report", "-", "--against", "-"])
        .ends(2);
    twice.says("both runs are read from standard input");
}

#[test]
fn a_run_file_tells_the_first_try_of_its_results_to_the_microsecond() {
    let of = recorded(&rules(9, vec![qps("20/s")]), 40, |_, _, _| {
        answer(MILLI * 5, 200)
    });
    let verify = |begun_ms: f64| {
        let mut run: Value = serde_json::from_slice(&of.run).expect("it is JSON");
        run["ended"]["figures"]["begun_ms"] = begun_ms.into();
        let verify = Shaper::plain().args(["verify"]).jobs(OUT, &of.results);
        verify.file(RUN, run.to_string()).output()
    };
    verify(0.0).exits(0);
    verify(0.001).exits(0);
    verify(0.003)
        .exits(2)
        .says("is of another run than out.jsonl, which has its first try at 20");
}
