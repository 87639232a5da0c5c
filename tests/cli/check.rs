//! `shaper check`: all problems of an input, and what it holds; nothing is sent.

use serde_json::json;

use crate::support::program::{Output, Shaper};
use crate::support::server::{Server, Step};

const JOBS: &str = r#"{"id":"a","url":"http://h.test/1","body":{"prompt":"hello","max_tokens":100}}
{"url":"http://h.test/2","tokens":50}
{"id":"a","url":"http://h.test/3"}
{"metod":"GET","url":"http://i.test/4"}
{"url":""}
{"url":"http://h.test/2","tokens":50}
"#;

fn check(list: &str, options: &[&str]) -> Output {
    Shaper::plain()
        .file("jobs.jsonl", list)
        .args(["check", "jobs.jsonl"])
        .args(options)
        .output()
}

#[test]
fn every_problem_is_listed_with_its_place_and_its_mend_and_what_is_good_is_counted() {
    let done = check(JOBS, &[]);
    done.exits(2);
    let page = done.text();
    for words in [
        "jobs.jsonl:3:1: duplicate id \"a\" (lines 1 and 3)\n  mend: give each job an id of its own",
        "jobs.jsonl:5:",
        "\"metod\"",
        "did you mean \"method\"?",
        "jobs.jsonl: 6 lines, 4 jobs, 3 problems; nothing is sent",
        "1 x give each job an id of its own, or none",
        "GET 3   POST 1",
        "h.test 3   i.test 1",
        "1 of 4 jobs, 35 bytes in all; the largest has 35, at jobs.jsonl:1",
        "said for 2 jobs, estimated for 1",
        "1 job with method, URL, headers and body of one before",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(done.stderr.is_empty(), "{done}");
}

#[test]
fn what_is_not_taken_is_told_by_a_check_as_by_a_run() {
    let list = "{\"url\":\"http://h.test/a\"}\n{\"url\":\"http://h.test/b\"}\n{\"url\":\"\"}\n";
    let done = check(list, &["--filter", "path=/a", "--limit-jobs", "1"]);
    done.exits(0);
    assert!(!done.text().contains("LEFT"), "{done}");
    let done = check(list, &["--shard", "1/2"]);
    done.exits(0);
    let page = done.text();
    assert!(
        page.contains("LEFT        of 3 lines: 2 by --shard\n"),
        "{page}"
    );
    let done = check(list, &["--shard", "1/2", "--report", "json"]);
    let told = done.json();
    assert_eq!(told["left"], "of 3 lines: 2 by --shard");
}

#[test]
fn a_good_input_has_no_problem_and_nothing_of_it_is_sent() {
    let server = Server::start([Step::ok()]);
    let list = format!("{{\"url\":\"{}\"}}\n", server.url("/a?key=CANARY"));
    let done = check(&list, &["--report", "json"]);
    done.exits(0).never_says("CANARY");
    let told = done.json();
    assert_eq!(
        (
            &told["read"],
            &told["jobs"],
            &told["problems"],
            &told["listed"]
        ),
        (&json!(1), &json!(1), &json!(0), &json!([]))
    );
    assert!(server.requests().is_empty());
    check(&list, &["--report", "none"]).exits(0);
}

#[test]
fn programs_read_problems_as_objects() {
    let done = check(JOBS, &["--report", "json"]);
    done.exits(2);
    let told = done.json();
    assert_eq!(
        (&told["problems"], &told["unknown_fields"]),
        (&json!(3), &json!(1))
    );
    let first = &told["listed"][0];
    assert_eq!(
        (&first["line"], &first["column"], &first["id"]),
        (&json!(3), &json!(1), &json!("a"))
    );
    assert_eq!(told["units"]["said"], 2);
    assert_eq!(
        told["bodies"]["largest"],
        json!({"size": 35, "file": "jobs.jsonl", "line": 1})
    );
}

#[test]
fn an_input_that_is_empty_or_not_there_is_a_problem() {
    check("\n\n", &[])
        .exits(2)
        .says("no requests in jobs.jsonl");
    check("", &["--allow-empty"]).exits(0);
    let done = Shaper::plain().args(["check", "none.jsonl"]).ends(2);
    done.says("none.jsonl: cannot be read");
}

#[test]
fn rows_are_checked_as_the_command_line_fills_them() {
    let run = |url: &str| {
        let check = Shaper::plain().args(["check", "--url", url, "--data", "{{city}}"]);
        check
            .jobs("rows.jsonl", "{\"city\":\"x\"}\n{\"town\":\"y\"}\n")
            .output()
    };
    let done = run("http://h/{{seq}}");
    done.exits(2);
    let said = done.text();
    assert!(
        said.contains("rows.jsonl:2:1: \"city\" is missing"),
        "{said}"
    );
    run("http://h/{{town}}")
        .exits(2)
        .says("--url names \"town\", which is no column");
}

#[test]
fn what_a_replay_would_stumble_over_is_found_before_it() {
    let line = |at: &str| format!("{{\"url\":\"http://h.test/\"{at}}}\n");
    let list = [
        line(",\"at\":0.5"),
        line(""),
        line(",\"at\":\"noon\""),
        line(",\"at\":\"2026-11-30T09:00:00Z\""),
        line(",\"at\":1795993200500"),
        line(",\"at\":90"),
    ]
    .concat();
    check(&list, &[]).exits(0);
    let done = check(&list, &["--replay"]);
    done.exits(2);
    let page = done.text();
    for words in [
        "jobs.jsonl:2:1: \"at\" is missing, and the run is a replay",
        "jobs.jsonl:3:30: \"at\" is no moment",
        "jobs.jsonl:4:30: \"at\" is a date, and seconds from a start at jobs.jsonl:1",
        "jobs.jsonl:5:30: \"at\" is later than the year 5000: these may be milliseconds",
        "6 lines, 2 jobs, 4 problems",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let ran = Shaper::run()
        .jobs("jobs.jsonl", &list)
        .args(["--replay", "--mock=latency=1ms", "--speed", "1000x"])
        .with_results()
        .ends(1);
    let invalid = ran
        .results()
        .into_iter()
        .filter(|it| it["status"] == "invalid");
    assert_eq!(invalid.count(), 4, "{ran}");
}

#[test]
fn what_was_found_before_reading_broke_is_told() {
    let list = [0x1f, 0x8b, 8];
    let done = Shaper::plain()
        .file("a.jsonl", "{\"url\":7}\n")
        .file("b.jsonl", list)
        .args(["check", "a.jsonl", "b.jsonl"])
        .ends(2);
    done.says("b.jsonl: cannot be read: its gzip data is cut off");
    assert!(
        done.text()
            .contains("a.jsonl:1:8: \"url\" must be a string"),
        "{done}"
    );
}
