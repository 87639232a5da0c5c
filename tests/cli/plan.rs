//! `shaper plan`: the run before it is made.

use serde_json::Value;

use crate::support::program::Shaper;

fn plan<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>) -> Shaper {
    Shaper::plain().args(["plan"]).args(args)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// With single spaces.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hundred() -> Vec<u8> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/cases/35-hundred.urls"
    );
    std::fs::read(path).expect("it is in the repository")
}

/// So many jobs of so many tokens.
fn jobs(count: u64, tokens: u64) -> String {
    let line = |nth| {
        format!("{{\"id\":\"j{nth}\",\"url\":\"http://a.test/{nth}\",\"tokens\":{tokens}}}\n")
    };
    (0..count).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn options_that_would_change_nothing_are_refused_as_those_of_run() {
    for option in [
        "--usage",
        "--connect-timeout",
        "--read-timeout",
        "--max-body",
    ] {
        let done = plan(["hundred.urls", option, "1s"]).file("hundred.urls", hundred());
        let tip = format!("{option} is an option of shaper run");
        done.ends(2).says(&tip);
    }
}

#[test]
fn a_rate_means_the_same_in_every_spelling_and_the_plan_shows_it() {
    for (written, shown, takes) in [
        ("10", "10/s", 10_000.0),
        ("10/s", "10/s", 10_000.0),
        ("600rpm", "10/s", 10_000.0),
        ("600/m", "10/s", 10_000.0),
        ("0.5/s", "0.5/s", 198_100.0),
        ("1/2s", "0.5/s", 198_100.0),
        ("1/h", "1/h", 356_400_100.0),
        ("10/100ms", "100/s", 1_090.0),
        ("1e3/s", "1000/s", 1_009.0),
    ] {
        let run = plan(["hundred.urls", "--rate", written]).file("hundred.urls", hundred());
        let done = run.ends(0);
        assert!(
            done.text().contains(&format!(" ({shown}, at most ")),
            "{written}: {done}"
        );
        let run = plan(["hundred.urls", "--rate", written, "--report", "json"]);
        let done = run.file("hundred.urls", hundred()).output();
        assert_eq!(done.json()["elapsed_ms"], takes, "{written}");
    }
    for written in ["10/0s", "10/x", "ten", "", "10//s", "10/s/s"] {
        let done = plan(["hundred.urls", "--rate", written])
            .file("hundred.urls", hundred())
            .ends(2);
        done.says(&format!("'{written}'"))
            .says("10, 10/s, 600/m, 600rpm, 0.5/s, 1/2s, 100/250ms");
        assert!(done.stdout.is_empty(), "{done}");
    }
}

#[test]
fn it_says_what_binds_when_and_what_the_jobs_cost() {
    let args = words("jobs.jsonl -c 5 --tpm 6000 --latency 1s --price input:2/1M,output:10/1M");
    let done = plan(args).file("jobs.jsonl", jobs(300, 100)).ends(0);
    let page = done.text();
    for words in [
        "PLAN        the run in virtual time; nothing is sent",
        "FINISH      in 4m 1s",
        "held by     share",
        // Five a second, until the 6000 of the start and what has flowed in are used up.
        "0 s to 14.0 s slots 100 % 5.00/s 5.00",
        "14.0 s to 4m 1s --tpm 6000 100 % 1.01/s",
        "IN FLIGHT   at most 5 at once, of 5",
        "TOKENS      reserved 30000, used 30000",
        "MINUTE      11900 tokens in any 60 s",
        "COST        0.0600 (at input:2/1M,output:10/1M)",
    ] {
        assert!(
            squeezed(page).contains(&squeezed(words)),
            "no {words:?} in {done}"
        );
    }
}

#[test]
fn a_default_latency_is_called_a_guess_and_one_that_was_given_is_not() {
    let told = |args: &str| {
        let done = plan(words(args)).stdin(hundred()).ends(0);
        squeezed(done.text())
    };
    for unsaid in ["", " --api fail=503:1%"] {
        let told = told(&format!("-{unsaid}"));
        assert!(told.contains("modelled: latency=100ms"), "{told}");
        assert!(
            told.contains("its latency is a guess: --latency 2s"),
            "{told}"
        );
    }
    for said in [
        "--latency 100ms",
        "--api latency=100ms",
        "--latency exp:100ms",
    ] {
        assert!(!told(said).contains("guess"), "{said}");
    }
}

#[test]
fn a_job_that_can_never_go_is_told_with_its_line_and_both_numbers_and_is_exit_1() {
    let text = jobs(3, 100)
        + "{\"id\":\"big\",\"url\":\"http://a.test/\",\"tokens\":9000}\n{\"method\":\"GET\"}\n";
    let done = plan(words("jobs.jsonl --tpm 6000"))
        .file("jobs.jsonl", &text)
        .ends(1);
    let shown = done.text();
    for words in [
        "NEVER FIT   1 job:",
        "jobs.jsonl:4 \"big\": costs 9000, --tpm 6000 never holds more than 6000",
        "INVALID     1 line:",
        "jobs.jsonl:5:1: \"url\" is missing",
        "mend: give every line a \"url\"",
    ] {
        assert!(shown.contains(words), "no {words:?} in {done}");
    }
    let done = plan(words("jobs.jsonl --tpm 6000 --report json"))
        .file("jobs.jsonl", &text)
        .output();
    let told = done.json();
    assert_eq!(told["never_fit"]["count"], 1);
    let first = &told["never_fit"]["first"][0];
    assert_eq!((&first["line"], &first["id"]), (&4.into(), &"big".into()));
    assert_eq!(
        (&first["costs"], &first["holds"]),
        (&9000.into(), &6000.into())
    );
    assert_eq!(told["invalid"]["first"][0]["line"], 5);
    // It may wait and owe; a line that is no job is no reason.
    plan(words("jobs.jsonl --tpm 6000 --oversize wait"))
        .file("jobs.jsonl", &text)
        .ends(0);
}

#[test]
fn a_plan_in_which_nothing_is_answered_in_time_says_so_and_is_exit_1() {
    let args = "jobs.jsonl --latency 1m --timeout 1s --max-attempts 2";
    for more in ["", " -c none --qps 10"] {
        let done = plan(words(args)).args(words(more));
        let done = done.file("jobs.jsonl", jobs(30, 10)).ends(1);
        let page = squeezed(done.text());
        for told in [
            "half of its answers take 60.0 s or longer; --timeout 1s gives them up",
            "VERDICT most tries were given up: 60 of 60 took longer than --timeout",
        ] {
            assert!(page.contains(told), "no {told:?} in {done}");
        }
    }
    plan(words("jobs.jsonl"))
        .file("jobs.jsonl", "nonsense\n")
        .ends(1);
}

#[test]
fn a_price_without_units_names_itself() {
    let done = plan(words("jobs.urls --price 3/1M"))
        .file("jobs.urls", hundred())
        .ends(2);
    done.says("--price counts units")
        .says("or leave --price out");
}

#[test]
fn long_times_and_low_rates_are_told_in_units_that_options_take() {
    let done = plan(words("jobs.urls --limit"))
        .args(["1/365d window"])
        .file("jobs.urls", hundred())
        .output();
    let page = squeezed(done.text());
    for told in ["at most 1 in any 365d", "0 s to 36135d", " 1/361d 0.000"] {
        assert!(page.contains(told), "no {told:?} in {done}");
    }
}

#[test]
fn the_same_seed_prints_the_same_page() {
    let args = "jobs.jsonl -c 7 --qps 50 --api latency=exp:80ms,fail=503:5% --seed";
    let printed = |seed: &str| {
        let done = plan(words(args))
            .args([seed])
            .file("jobs.jsonl", jobs(500, 10))
            .ends(0);
        done.text().to_owned()
    };
    assert_eq!(printed("1"), printed("1"));
    assert_ne!(printed("1"), printed("2"));
}

#[test]
fn latencies_are_those_of_results() {
    let run = Shaper::plain().args(words(
        "run jobs.jsonl -c 5 --mock=latency=p50:5ms/p99:60ms -o r.jsonl",
    ));
    let done = run.file("jobs.jsonl", jobs(200, 10)).ends(0);
    let results = String::from_utf8(done.bytes("r.jsonl")).expect("results are text");
    let took: f64 = results
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a result")["latency_ms"].as_f64())
        .map(|ms| ms.expect("it was answered"))
        .sum();
    let again = done.again().args(words(
        "plan jobs.jsonl -c 5 --latency-from r.jsonl --report json",
    ));
    let done = again.ends(0);
    let told = done.json();
    let api = told["api"].as_str().expect("it is told");
    assert!(
        api.starts_with("answers as the 200 of r.jsonl: p50 "),
        "{api}"
    );
    // Five at a time take a fifth of the sum.
    let (told, expected) = (told["elapsed_ms"].as_f64().expect("a number"), took / 5.0);
    assert!(
        (told / expected - 1.0).abs() < 0.25,
        "{told}, not about {expected}"
    );
}

#[test]
fn results_without_latencies_are_refused_with_their_place() {
    let failed = "{\"seq\":0,\"status\":\"failed\",\"tries\":[]}\n";
    for (file, says) in [
        ("", "has no results"),
        (
            "{\"url\":\"http://a.test/\"}\n",
            "r.jsonl:1: is no result: missing field `status`",
        ),
        (
            "{\"status\":\"ok\"}\n",
            "r.jsonl:1: is no result: missing field `tries`",
        ),
        ("{\"seq\":0\nnonsense\n", "r.jsonl:1:"),
        (failed, "its one result is not `ok`"),
        (&failed.repeat(2), "none of its 2 results is `ok`"),
    ] {
        let run = plan(words("jobs.jsonl --latency-from r.jsonl"));
        let done = run
            .file("jobs.jsonl", jobs(1, 1))
            .file("r.jsonl", file)
            .ends(2);
        done.says(says).says("mend: ");
        assert!(done.stdout.is_empty(), "{done}");
    }
    let done = plan(words("jobs.jsonl --latency-from nowhere"))
        .file("jobs.jsonl", jobs(1, 1))
        .ends(2);
    done.says("nowhere: cannot be read");
}

#[test]
fn nonsense_is_answered_with_the_accepted_form() {
    for (args, says) in [
        ("--latency 0", "write a time above 0s"),
        ("--latency p50:1s/p99:10ms", "p99 is below p50"),
        ("--latency -1s", "write a time"),
        ("--latency 1s --api latency=1s", "do not go together"),
        ("--latency 1s --latency-from r.jsonl", "do not go together"),
        (
            "--api latency=1s --latency-from r.jsonl",
            "do not go together",
        ),
        ("--api speed=9", "latency=50ms|exp:50ms"),
        ("--price 0/1M", "PRICE/UNITS, both above zero"),
        ("--price -1/1M", "PRICE/UNITS"),
        ("--price 2", "PRICE/UNITS"),
        ("--price nan/1M", "PRICE/UNITS"),
        ("--burst 5", "--burst has no bucket"),
        ("--guard 2s --window 1/s", "--guard is longer"),
        ("--html x.html", "for the report on a run"),
        ("--output r.jsonl", "--output"),
    ] {
        let done = plan(["jobs.jsonl"])
            .args(words(args))
            .file("jobs.jsonl", jobs(1, 1))
            .ends(2);
        done.says(says);
        assert!(done.stdout.is_empty(), "{args}: {done}");
    }
}

#[test]
fn an_input_without_jobs_is_unusable_and_one_that_is_lost_is_too() {
    let done = plan(["empty.jsonl"]).file("empty.jsonl", "").ends(2);
    done.says("no requests in empty.jsonl");
    let done = plan(["empty.jsonl", "--allow-empty"])
        .file("empty.jsonl", "")
        .ends(0);
    assert!(done.text().contains("nothing was sent"), "{done}");
    let done = plan(["nowhere.jsonl"]).ends(2);
    done.says("nowhere.jsonl: cannot be read");
    let done = plan(["jobs.jsonl", "--tps", "100"])
        .file("jobs.jsonl", "http://a.test/\n")
        .ends(2);
    done.says("jobs.jsonl:1");
}

#[test]
fn standard_input_is_planned_like_a_file() {
    let args = words("--qps 10 --report json");
    let of_file = plan(&args)
        .args(["jobs.urls"])
        .file("jobs.urls", hundred())
        .output();
    let of_pipe = plan(&args).stdin(hundred()).output();
    let (mut one, mut other) = (of_file.json(), of_pipe.json());
    assert_eq!(
        (one["inputs"].take(), other["inputs"].take()),
        (["jobs.urls"][..].into(), ["-"][..].into())
    );
    assert_eq!(one, other);
}

#[test]
fn who_waits_too_long_fails_in_the_plan_as_in_the_run() {
    let args = words("- --arrivals once --queue-timeout 2s --qps 5 --report json");
    let told = plan(args).stdin(hundred()).output().json();
    assert_eq!(
        (&told["counts"]["ok"], &told["failures"]["queue_timeout"]),
        (&11.into(), &89.into())
    );
    assert_eq!(told["elapsed_ms"], 2_100.0);
}

#[test]
fn the_concurrency_that_would_do_is_told_with_what_it_gains_over_the_plan() {
    for (args, told) in [
        (
            "-c 20 --qps 40 --latency 150ms",
            "of 5 tried, --concurrency 6 would do: 2.62 s (5 take 3.10 s) TRIES",
        ),
        (
            "-c 3 --qps 40 --latency 150ms",
            "of 6 tried, --concurrency 6 would be faster: 2.62 s, against 5.10 s as it is (5 take 3.10 s)",
        ),
        (
            "-c 20 --max-attempts 2 --api latency=50ms,limit=100/1s",
            "--concurrency 1 would fail fewer jobs: 5.00 s, against",
        ),
        (
            "-c 20 --qps 20 --queue-timeout 1s --latency 800ms --arrivals once",
            "no --concurrency mends it: most jobs fail with each of",
        ),
        (
            "-c 20 --qps 20 --api fail=400:100%",
            "no --concurrency mends it: all jobs fail with each of",
        ),
    ] {
        let args = [&["-"], &words(args)[..]].concat();
        let done = plan(args).stdin(hundred()).output();
        assert!(
            squeezed(done.text()).contains(told),
            "no {told:?} in {done}"
        );
    }
    let args = words("- -c 20 --qps 20 --api fail=400:100% --report json");
    let told = plan(args).stdin(hundred()).output().json();
    assert_eq!(told["least_concurrency"], Value::Null);
}

#[test]
fn slots_of_an_origin_and_limits_for_each_key_hold_in_the_plan() {
    let lines = (0..60)
        .map(|nth| {
            format!(
                "{{\"url\":\"http://{}.test/\",\"key\":\"k{}\"}}\n",
                ["a", "b"][nth % 2],
                nth % 3
            )
        })
        .collect::<Vec<_>>();
    let text = lines.concat();
    let takes = |args: &str| {
        let run = plan(["jobs.jsonl", "--report", "json"]).args(words(args));
        let done = run.file("jobs.jsonl", &text).ends(0);
        done.json()["elapsed_ms"].clone()
    };
    assert_eq!(takes("--per-host 1 --latency 1s"), 30_000.0);
    assert_eq!(takes("--qps 1 --per field:key"), 19_100.0);
    assert_eq!(takes("--qps 1 --per host"), 29_100.0);
    // In order, a slow one holds all behind it: with -c 1 there is nobody behind.
    assert_eq!(takes("-c 1 --ordered --latency 1s"), 60_000.0);
}

#[test]
fn every_form_of_the_report_goes_where_it_is_asked_for() {
    let run = plan(words(
        "jobs.jsonl --qps 5 --report csv --report-file plan.csv",
    ));
    let done = run.file("jobs.jsonl", jobs(20, 1)).ends(0);
    assert!(done.stdout.is_empty(), "{done}");
    let table = String::from_utf8(done.bytes("plan.csv")).expect("a table is text");
    assert!(table.contains("elapsed_ms,,3900.0,ms\n"), "{table}");
    let done = done
        .again()
        .args(words("plan jobs.jsonl --report none"))
        .ends(0);
    assert!(done.stdout.is_empty(), "{done}");
    let done = done
        .again()
        .args(words("plan jobs.jsonl --report-file jobs.jsonl"))
        .ends(2);
    done.says("the jobs are read from it");
}

#[test]
fn a_page_is_as_wide_as_its_terminal_and_says_when_a_run_would_end() {
    for columns in [40, 60, 80, 100] {
        let args = words("jobs.jsonl -c 20 --qps 5 --tpm 6000 --window 30/10s");
        let run = plan(args).file("jobs.jsonl", jobs(60, 300));
        let done = run.stdout_is_a_terminal_of(columns, 50).ends(0);
        let shown = done
            .text()
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[0m", "");
        let widest = shown
            .lines()
            .map(|line| line.trim_end().chars().count())
            .max();
        assert!(widest <= Some(columns.into()), "{columns}: {done}");
        assert!(shown.contains("if started now"), "{columns}: {done}");
    }
    let done = plan(["jobs.jsonl", "--ascii"])
        .file("jobs.jsonl", jobs(2, 1))
        .output();
    assert!(done.stdout.is_ascii(), "{done}");
    assert!(!done.text().contains("if started now"), "{done}");
}

#[test]
fn no_run_is_faster_than_its_plan() {
    for (limits, api) in [
        ("-c 10", "latency=50ms"),
        ("-c 20 --qps 100 --burst 20", "latency=20ms"),
        ("-c 50 --tps 5000", "latency=20ms"),
        ("-c 50 --window 50/500ms", "latency=20ms"),
    ] {
        let args = format!("jobs.jsonl {limits} --report json");
        let run = Shaper::plain()
            .args(words("run --report-file run.json"))
            .args(words(&args));
        let run = run
            .args([format!("--mock={api}")])
            .file("jobs.jsonl", jobs(150, 50));
        let done = run.ends(0);
        let made: Value = serde_json::from_slice(&done.bytes("run.json")).expect("it is JSON");
        let planned = done
            .again()
            .args(["plan"])
            .args(words(&args))
            .args(["--api", api])
            .ends(0);
        let [made, planned] =
            [made, planned.json()].map(|it| it["elapsed_ms"].as_f64().expect("a number"));
        // A grant may be charged for the slack ago.
        assert!(
            made + 5.0 >= planned,
            "{limits}: {made} ms, planned {planned}"
        );
    }
}

#[test]
fn a_replay_over_centuries_is_planned() {
    Shaper::plain()
        .args(["plan", "jobs.jsonl", "--replay"])
        .jobs(
            "jobs.jsonl",
            "{\"url\":\"http://h/\",\"at\":0}\n{\"url\":\"http://h/\",\"at\":1.9e10}\n",
        )
        .ends(0);
}

#[test]
fn a_plan_of_a_run_without_an_end_is_refused_with_what_would_end_it() {
    let forever = |options: &[&str]| {
        plan(["hundred.urls", "--repeat", "forever"])
            .args(options)
            .file("hundred.urls", hundred())
            .output()
    };
    forever(&[])
        .exits(2)
        .says("--repeat forever has no end")
        .says("--for 1h, -n 10000 or a --ramp that ends at 0");
    for options in [
        &["--for", "10s"][..],
        &["-n", "250"],
        &["--ramp", "10@0s,0@10s"],
    ] {
        forever(options).exits(0);
    }
}
