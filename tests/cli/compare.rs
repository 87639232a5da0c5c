//! `shaper compare`: disciplines side by side, in virtual time and for real.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::program::{Output, Shaper};
use crate::support::server::{Gate, Server, Step};

fn compare<const N: usize>(args: [&str; N]) -> Shaper {
    Shaper::plain().args(["compare"]).args(args)
}

/// The figures of a discipline.
#[track_caller]
fn figures(done: &Output, key: &str) -> Value {
    let object = done.json();
    let rows = object["disciplines"].as_array().expect("there is a list");
    let row = rows.iter().find(|row| row["key"] == key);
    row.unwrap_or_else(|| panic!("no {key} in {done}")).clone()
}

#[test]
fn without_arguments_1000_equal_jobs_are_compared_and_nothing_is_sent() {
    let done = compare([]).ends(0);
    let page = done.text();
    for words in [
        "1000 jobs of 100 tokens each at once.",
        "Nothing is sent.",
        "  semaphore 20                       40  400     0    30  970  1.25 s",
        "  4 processes x qps 10 = 40/s",
        "  permits early, sender stalls   ▁·▁·▁·▁·▁·····················█·▁·▁·▁·▁·",
        "THEORY  20 slots / 50 ms = 400/s; semaphore 20 was observed at 400/s, 40 times",
        "LESSONS Semaphore(20) never looks at a clock: 970 of 1000 refused. qps 10 is slower and loses none.",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            squeezed(page).contains(&squeezed(words)),
            "no {words:?} in {done}"
        );
    }
    for line in page.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn the_double_spike_of_fixed_windows_is_2000_a_second_at_100_a_second() {
    let args = "--qps 100 --burst 50 --discipline fixed,drop,burst,qps".split(' ');
    let done = compare([]).args(args).ends(0);
    let page = done.text();
    let (_, spike) = page
        .split_once("THE DOUBLE SPIKE")
        .expect("it has a section");
    for (name, seen) in [
        ("fixed window 100/s ", "200 within 100 ms = 2000/s"),
        ("fixed window 100/s, drops", "200 within 100 ms = 2000/s"),
        ("qps 100, burst 50", "59 within 100 ms = 590/s"),
        ("qps 100 ", "10 within 100 ms = 100/s"),
    ] {
        let row = spike
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        assert!(
            row.is_some_and(|row| row.ends_with(seen)),
            "{name} in {done}"
        );
    }
}

#[test]
fn a_page_is_as_wide_as_its_terminal() {
    for columns in [40, 60, 80] {
        let done = compare([]).stdout_is_a_terminal_of(columns, 50).ends(0);
        let page = done.text();
        let shown = |line: &str| {
            let plain = line.replace("\u{1b}[1m", "").replace("\u{1b}[31m", "");
            plain.replace("\u{1b}[0m", "").trim_end().chars().count()
        };
        let widest = page.lines().map(shown).max();
        assert!(widest <= Some(columns.into()), "{columns}: {done}");
        assert!(page.contains("\u{1b}[31m"), "refused sends are red: {done}");
    }
    let done = compare(["--ascii"]).output();
    assert!(done.stdout.is_ascii(), "{done}");
}

#[test]
fn jobs_come_by_the_ramp_or_as_fast_as_is_asked() {
    let told = |options: &[&str], files: &[&str]| {
        let done = Shaper::plain()
            .args(["compare"])
            .file(
                "jobs.jsonl",
                "{\"url\":\"http://h/\",\"at\":0}\n{\"url\":\"http://h/\",\"at\":60}\n",
            )
            .args(files)
            .args(options)
            .args(["--discipline", "qps", "--report", "json"])
            .ends(0);
        let told = done.json();
        (
            told["jobs"].clone(),
            told["arrive_over_ms"].clone(),
            done.stderr.clone(),
        )
    };
    let (count, over, _) = told(&["--jobs", "100", "--ramp", "10@0s"], &[]);
    assert_eq!((count, over), (100.into(), 9900.0.into()));
    let (count, _, note) = told(&["--jobs", "100", "--ramp", "10@0s,10@5s,0@5s"], &[]);
    assert_eq!(count, 51);
    assert!(
        note.contains("left out, as the ramp ends before: 49 jobs"),
        "{note}"
    );
    let (count, over, _) = told(&["--speed", "4x"], &["jobs.jsonl"]);
    assert_eq!((count, over), (2.into(), 15000.0.into()));
    Shaper::plain()
        .args(["compare", "--speed", "2x"])
        .ends(2)
        .says("JOBS");
}

#[test]
fn jobs_of_files_have_their_costs_hosts_and_arrivals() {
    let jobs = concat!(
        r#"{"url":"http://a.test/1","tokens":40,"at":0}"#,
        "\n",
        r#"{"url":"http://a.test/2","tokens":40,"at":"1970-01-01T00:00:00.5Z"}"#,
        "\n",
        r#"{"url":"http://b.test/3","tokens":40,"at":0.5}"#,
        "\n",
    );
    let run = compare(["--limit", "tokens 40/m per=host", "--report", "json"]);
    let done = run.jobs("jobs.jsonl", jobs).ends(0);
    // The second of a.test waits for the rest of its minute, that of b.test has one of its own.
    let own = figures(&done, "limit");
    assert_eq!((&own["ok"], &own["done_ms"]), (&3.into(), &60_050.0.into()));
    assert_eq!(figures(&done, "semaphore")["done_ms"], 550.0);
    let object = done.json();
    assert_eq!(
        (&object["jobs"], &object["arrive_over_ms"]),
        (&3.into(), &500.0.into())
    );
}

#[test]
fn standard_input_is_read_only_as_a_hyphen() {
    let jobs = "http://a.test/1\nhttp://a.test/2\n";
    let done = compare(["--report", "json"]).stdin(jobs).output();
    assert_eq!(figures(&done, "qps")["sends"], 1_000);
    done.says("standard input is not read").says("- as JOBS");
    let done = compare(["--report", "json", "--jobs", "5"])
        .stdin(jobs)
        .output();
    done.never_says("standard input");
    let done = compare(["-", "--report", "json"]).stdin(jobs).output();
    assert_eq!(figures(&done, "qps")["sends"], 2);
}

/// Answers and failures of a discipline that tries each job once.
fn accounted(row: &Value) -> u64 {
    let of = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key}: {row}"));
    of("ok") + of("refused_429") + of("other") + of("not_sent")
}

#[test]
fn every_job_is_accounted_for_whatever_became_of_it() {
    let api = "latency=exp:200ms,limit=5/s window,fail=503:10%";
    let args = ["--api", api, "--discipline", "semaphore,qps,drop,retry"];
    let done = compare(args).args(["--report", "json"]).output();
    for key in ["semaphore", "qps", "drop"] {
        let row = figures(&done, key);
        assert_eq!(accounted(&row), 1_000, "{key}: {row}");
        let broken = row["statuses"]["503"].as_u64();
        assert_eq!(row["other"].as_u64(), broken.or(Some(0)), "{key}: {row}");
    }
    let row = figures(&done, "retry");
    assert_eq!(row["sends"], accounted(&row), "{row}");
    let shown = compare(args).output();
    let told = "Other: tries that ended neither well nor with 429, in all 503 ";
    let shown = shown
        .text()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(shown.contains(told), "{shown}");
    let without = compare(["--discipline", "qps"]).output();
    assert!(!without.text().contains("other"), "{without}");
}

#[test]
fn a_server_that_is_down_is_told_with_what_helps_and_makes_no_theory() {
    let url = {
        let gone = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        format!("http://{}/\n", gone.local_addr().expect("it has one"))
    };
    let args = ["--live", "--yes", "--discipline", "semaphore,qps"];
    let done = compare(args).jobs("jobs.urls", url.repeat(5));
    let done = done.ends(1);
    done.says("No try was answered: connect 10.")
        .says("mend: start the server");
    let shown = done.text();
    assert!(shown.contains("No try was answered: connect 10."), "{done}");
    assert!(!shown.contains("THEORY"), "{done}");
    let done = done.again().args(["compare", "jobs.urls"]).args(args);
    let done = done.args(["--report", "json"]).output();
    let row = figures(&done, "semaphore");
    assert_eq!((accounted(&row), &row["sends"]), (5, &0.into()), "{done}");
    assert_eq!(row["p50_ms"], Value::Null);
}

#[test]
fn what_is_said_of_slots_and_rate_holds_in_front_of_an_api_with_slots_of_its_own() {
    let args = ["--api", "slots=4", "--discipline", "semaphore,qps,both"];
    let done = compare(args).output();
    let page = done.text();
    for words in [
        "sent/s 80 40 2 0.8 follows the latency",
        "sent/s 10 10 10 10 constant",
        "in flight 0.5 1 — — follows the latency",
        "They cross at 4 slots of the API / 10 per second = 400 ms",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(page).contains(words), "no {words:?} in {done}");
    }
    // The jobs last until as many are in flight as ever will be.
    let done = compare(["--latency", "1m,5m", "--discipline", "qps"]).output();
    let flights = "in flight 600 3000 follows the latency";
    let told = done.text();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(flights), "{done}");
}

#[test]
fn theory_and_observation_are_of_one_run_and_of_more_than_a_send() {
    let theory = |args: &[&str]| {
        let done = compare(["--discipline", "semaphore", "--report", "json"]);
        let done = done.args(args).output();
        let object = done.json();
        (object["theory"].to_string(), figures(&done, "semaphore"))
    };
    let (told, _) = theory(&["--jobs", "1"]);
    assert_eq!(told, "\"20 slots / 50 ms = 400/s.\"");
    let (told, row) = theory(&["--api", "latency=exp:20ms"]);
    let observed = row["theory_observed_per_s"]
        .as_f64()
        .expect("it was observed");
    assert!(
        told.contains(&format!("was observed at {observed:.0}/s")),
        "{told}: {row}"
    );
}

#[test]
fn an_api_that_refused_much_is_not_said_to_accept_what_was_sent() {
    let theory = |api: &str| {
        let done = compare(["--discipline", "semaphore", "--jobs", "100", "--api", api]);
        let done = done.output();
        let words: Vec<_> = done.text().split_whitespace().collect();
        words.join(" ")
    };
    let told = theory("latency=40s");
    let yet = "on average within what the API accepts, yet 50 of 100 were refused.";
    assert!(told.contains(yet), "{told}");
    let told = theory("latency=40s,limit=20/1s window");
    assert!(
        told.contains("0.5/s, within what the API accepts."),
        "{told}"
    );
    let told = theory("latency=40s,limit=20/1s window,limit=tokens 1000/1s window");
    assert!(told.contains("observed at 0.5/s."), "{told}");
}

#[test]
fn bad_lines_are_told_with_their_place_and_left_out() {
    let jobs =
        "{\"url\":\"http://a.test/1\"}\nnonsense\n{\"url\":\"http://a.test/2\",\"at\":\"noon\"}\n";
    let done = compare([]).jobs("jobs.jsonl", jobs).ends(0);
    done.says("jobs.jsonl:2:2: not valid JSON")
        .says("jobs.jsonl:3:31: \"at\" is no moment");
    assert!(
        done.text()
            .starts_with("1 job of jobs.jsonl at once. 2 invalid lines are left out."),
        "{done}"
    );
    let done = compare([])
        .jobs("jobs.jsonl", "nonsense\n".repeat(30))
        .ends(2);
    done.says("and 10 more").says("30 are invalid");
    let done = compare([]).jobs("jobs.jsonl", "").ends(2);
    done.says("no requests in jobs.jsonl").says("--allow-empty");
    compare(["--allow-empty"]).jobs("jobs.jsonl", "").ends(0);
    let done = compare(["--strict"]).jobs("jobs.jsonl", jobs).ends(2);
    done.says("2 problems in the input");
}

#[test]
fn impossible_values_name_the_flag_the_value_and_the_range() {
    for (flag, value, range) in [
        ("--qps", "0", "above zero"),
        ("--qps", "-1/s", "above zero"),
        ("--qps", "none", "above zero"),
        ("--concurrency", "0", "from 1"),
        ("--burst", "0", "from 1"),
        ("--window", "10", "N/DUR"),
        ("--tpm", "0", "from 1"),
        ("--jobs", "0", "1 to 1M"),
        ("--jobs", "1000001", "1 to 1M"),
        ("--latency", "0s", "above 0s"),
        ("--api", "latency=0s", "above 0s"),
        ("--api", "speed=9", "latency=50ms"),
        ("--limit", "10/s sliding", "window-counter"),
        ("--seed", "-1", "from 0"),
    ] {
        let done = compare([flag, value]).ends(2);
        done.says(flag).says(&format!("'{value}'")).says(range);
        assert!(done.stdout.is_empty(), "{done}");
    }
}

#[test]
fn a_slip_in_a_discipline_is_answered_with_the_right_one() {
    let done = compare(["--discipline", "qps,semafore"]).ends(2);
    done.says("'semafore'").says("did you mean semaphore?");
    for (key, option) in [("limit", "--limit"), ("tpm", "--tpm")] {
        let done = compare(["--discipline", key]);
        let done = done.jobs("jobs.urls", "http://a.test/\n").ends(2);
        done.says(&format!("--discipline {key}")).says(option);
    }
}

#[test]
fn every_discipline_is_listed_in_the_help() {
    let done = compare(["--help"]).output();
    let help = done.text();
    let done = compare(["--limit", "5/s", "--report", "json"]).output();
    let object = done.json();
    let rows = object["disciplines"].as_array().expect("there is a list");
    assert_eq!(rows.len(), 17);
    for row in rows {
        let key = row["key"].as_str().expect("it is a word");
        assert!(help.contains(&format!("\n  {key} ")), "no {key} in {help}");
    }
}

#[test]
fn a_limit_that_never_fits_sends_nothing_and_a_slow_one_takes_no_time() {
    let args = [
        "--limit",
        "tokens 50/m",
        "--discipline",
        "qps",
        "--qps",
        "1/h",
        "--report",
        "json",
    ];
    let done = compare(args).ends(0);
    let never = figures(&done, "limit");
    assert_eq!(
        (&never["sends"], &never["not_sent"]),
        (&0.into(), &1_000.into())
    );
    assert_eq!(never["p50_ms"], Value::Null);
    // 999 hours, and the last answer.
    assert_eq!(figures(&done, "qps")["done_ms"], 999.0 * 3_600_000.0 + 50.0);
}

#[test]
fn an_api_keeps_what_it_does_not_say_of_itself() {
    let first = |args: [&str; 2]| {
        let done = compare(["--discipline", "qps", "--report", "json"]);
        let done = done.args(args).ends(0);
        let object = done.json();
        object["api"].as_str().expect("it is text").to_owned()
    };
    assert_eq!(first(["--qps", "5"]), "latency=50ms,limit=5 window");
    assert_eq!(
        first(["--latency", "exp:1s,2s"]),
        "latency=exp:1s,limit=10 window"
    );
    assert_eq!(first(["--api", "latency=3s"]), "latency=3s,limit=10 window");
    assert_eq!(
        first(["--api", "slots=3,limit=1/s"]),
        "latency=50ms,limit=1/s bucket burst=1,slots=3"
    );
}

#[test]
fn a_report_goes_where_and_as_it_is_asked_for() {
    let done = compare(["--discipline", "qps", "--report", "csv"]).ends(0);
    assert!(
        done.text().starts_with("metric,label,value,unit\n"),
        "{done}"
    );
    assert!(
        done.text().contains("\ndisciplines.sends,qps 10,1000,"),
        "{done}"
    );
    for (metric, unit) in [("most_in_100_ms", "sends"), ("done_ms", "ms")] {
        let line = format!("\ndisciplines.{metric},");
        let page = done.text();
        let (_, rest) = page.split_once(&line).expect("it is told");
        let line = rest.lines().next().expect("it has a line");
        assert!(line.ends_with(&format!(",{unit}")), "{metric}: {line}");
    }
    let done = compare(["--report", "none"]).ends(0);
    assert!(done.stdout.is_empty(), "{done}");
    let done = compare(["--discipline", "qps", "--report-file", "page.txt"]).ends(0);
    assert!(done.stdout.is_empty(), "{done}");
    assert!(done.bytes("page.txt").starts_with(b"1000 jobs"), "{done}");
    let own = compare(["--report-file", "jobs.urls"]);
    let done = own.jobs("jobs.urls", "http://a.test/\n").ends(2);
    done.says("the jobs are read from it");
    let done = compare(["--hdr", "a.hgrm"]).ends(2);
    done.says("--hdr is for the report on a run");
    let done = compare(["--report", "none", "--html", "page.html"]).ends(0);
    assert!(done.bytes("page.html").ends_with(b"</html>\n"), "{done}");
    let own = compare(["--html", "jobs.urls"]);
    let done = own.jobs("jobs.urls", "http://a.test/\n").ends(2);
    done.says("the jobs are read from it");
    let done = compare([]).stdout_is_closed().ends(141);
    assert!(done.stderr.is_empty(), "{done}");
}

#[test]
fn a_discipline_that_sends_evenly_is_a_level_line_in_the_chart() {
    let own = ["--discipline", "fixed,qps,both", "--report", "none"];
    let done = compare(own).args(["--html", "page.html"]).ends(0);
    let page = String::from_utf8(done.bytes("page.html")).expect("a page is text");
    let data = page
        .split_once("id=\"data\">")
        .expect("it holds its data")
        .1;
    let data = data.split_once("</script>").expect("which ends").0;
    let data: Value = serde_json::from_str(data).expect("it is JSON");
    for run in data["runs"].as_array().expect("there is a list") {
        let sent = run["time"]["sent"].as_array().expect("so are its bins");
        let whole = &sent[1..sent.len() - 1];
        assert!(whole.len() > 10, "{run}");
        assert!(whole.iter().all(|bin| *bin == 10.0), "{run}");
    }
}

#[test]
fn live_sends_nothing_without_yes() {
    let server = Server::start([Step::ok()]);
    let jobs = server.list(5);
    let done = compare(["--live", "--discipline", "semaphore,qps,late,storm"]);
    let done = done.jobs("jobs.urls", jobs).ends(2);
    done.says(&format!(
        "2 disciplines x 5 jobs = 10 requests to http://{}",
        server.host()
    ))
    .says("nothing was sent")
    .says("--yes");
    assert!(done.stdout.is_empty(), "{done}");
    assert_eq!(server.requests().len(), 0);
    let done = compare(["--yes"]).ends(2);
    done.says("--live");
}

#[test]
fn live_of_disciplines_that_are_never_sent_is_refused_and_tells_why() {
    let server = Server::start([Step::ok()]);
    let stalls = "is shown in virtual time only: its sender stalls";
    for (keys, why, mend) in [
        (
            "early",
            format!("early {stalls}"),
            "name another --discipline",
        ),
        (
            "early,late",
            format!("early {stalls}; late {stalls}"),
            "leave out --live",
        ),
        (
            "storm",
            "storm is shown only against the modelled API".to_owned(),
            "--api SPEC",
        ),
    ] {
        for yes in [&[][..], &["--yes"]] {
            let done = compare(["--live", "--discipline", keys]).args(yes);
            let done = done.jobs("jobs.urls", server.list(5)).ends(2);
            done.says(&why).says(mend);
            assert!(done.stdout.is_empty(), "{done}");
        }
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn live_sends_the_jobs_of_each_discipline_to_their_servers() {
    let server = Server::start([Step::ok()]);
    let args = [
        "--live", "--yes", "--qps", "50", "--window", "50/1s", "--report", "json",
    ];
    let done = compare(args)
        .args(["--discipline", "semaphore,drop,qps,early,storm,retry"])
        .jobs("jobs.urls", server.list(5))
        .ends(0);
    done.says("4 disciplines x 5 jobs = 20 requests");
    for key in ["semaphore", "drop", "qps", "retry"] {
        assert_eq!(figures(&done, key)["ok"], 5, "{key}: {done}");
    }
    let spaced = figures(&done, "qps");
    let least = spaced["done_ms"].as_f64().expect("it is a number");
    assert!(
        least >= 4.0 * 20.0 - 2.0,
        "five at 50 a second take 80 ms: {done}"
    );
    for (key, why) in [("early", "virtual time"), ("storm", "modelled API")] {
        let told = figures(&done, key)["not_run"].to_string();
        assert!(told.contains(why), "{done}");
    }
    assert_eq!(server.requests().len(), 20, "{done}");
}

#[test]
fn live_without_jobs_meets_the_modelled_api_and_retries_past_the_limits_are_a_storm() {
    let live = |key: &str, limit: &str| {
        let api = format!("latency=1ms,limit={limit} window");
        let args = ["--jobs", "20", "--discipline", key, "--report", "json"];
        let done = compare(["--live", "--yes", "--api", &api])
            .args(args)
            .ends(0);
        done.says("20 requests to the modelled API in this process")
            .says(&format!("and up to 4 retries of each in {key}"));
        figures(&done, key)
    };
    let storm = live("storm", "10/1m");
    assert_eq!(
        (&storm["ok"], &storm["sends"]),
        (&10.into(), &60.into()),
        "{storm}"
    );
    let retry = live("retry", "10/1s");
    assert_eq!(retry["ok"], 20, "{retry}");
}

#[test]
fn a_signal_ends_a_live_comparison_with_what_was_seen() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let gate = Gate::default();
        let server = Server::start([Step::ok().behind(&gate)]);
        let mut running = compare(["--live", "--yes", "-c", "3", "--report", "json"])
            .args(["--discipline", "semaphore,qps"])
            .jobs("jobs.urls", server.list(50))
            .start();
        running.until("three requests", || server.requests().len() == 3);
        running.signal(signal);
        running.until_it_says("finishing 3 in flight");
        gate.open();
        let done = running.wait();
        done.exits(code);
        let seen = figures(&done, "semaphore");
        assert_eq!(
            (&seen["sends"], &seen["ok"]),
            (&3.into(), &3.into()),
            "{done}"
        );
        assert_eq!(figures(&done, "qps")["not_run"], "not begun");
        assert_eq!(server.requests().len(), 3, "{done}");
    }
}
