//! `shaper report`: what results tell once more, and that it is what their run has told.

use rustix::process::Signal;
use serde_json::{Map, Value, json};

use crate::support::program::{OUT, Output, RUN, Shaper};
use crate::support::server::{Gate, Server, Step};

/// Fails the test unless the text on standard output has these words, and fits.
#[track_caller]
pub(super) fn shows(done: &Output, words: &[&str]) {
    let page = done.text();
    for words in words {
        assert!(page.contains(words), "no {words:?} in {done}");
    }
    let widest = page.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100) && page.lines().count() <= 45, "{done}");
}

/// Fails the test unless this is a report as `fixtures/report.schema.json` has it.
#[track_caller]
pub(super) fn keeps_to_the_schema(report: &Value) {
    const SCHEMA: &str = include_str!("../../fixtures/report.schema.json");
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    compiler.add_resource("report", schema).expect("it is new");
    let schema = compiler.compile("report", &mut schemas);
    let told = schemas.validate(report, schema.expect("the schema is one"));
    let told = told.map_err(|why| format!("{why:#}"));
    assert_eq!(told.err(), None, "{report}");
}

/// Without what a run proves to the nanosecond and its results to the microsecond: which of several windows
/// that are equally full comes first, and how full a bucket was.
fn to_the_microsecond(mut report: Value) -> Map<String, Value> {
    let fields = report.as_object_mut().expect("it is an object");
    let limits = fields["proof"].as_array_mut().expect("it is a list");
    for limit in limits {
        let limit = limit.as_object_mut().expect("each is an object");
        limit.remove("granted");
        let most = limit["most"].as_object_mut().expect("it is told");
        for end in ["first", "last"] {
            most.remove(end);
        }
    }
    fields.clone()
}

/// Fails the test unless the report of a run and that of its results have the same keys and figures.
#[track_caller]
pub(super) fn same(run: Value, results: Value) {
    keeps_to_the_schema(&results);
    let (run, mut results) = (to_the_microsecond(run), to_the_microsecond(results));
    assert!(results.remove("results").is_some(), "it names its results");
    let keys = |of: &Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&run), keys(&results));
    for (key, figure) in run {
        assert_eq!(
            figure, results[&key],
            "{key}, as the run told it and as its results do"
        );
    }
}

/// Runs it, and reports again: both are the same. Returns the report.
#[track_caller]
fn says_the_same(run: Shaper) -> Value {
    let done = run.args(["--quiet"]).with_results().reporting().output();
    let run = done.report();
    let results = done.retold().ends(0);
    assert_eq!(results.stderr, "");
    let results = results.json();
    same(run, results.clone());
    results
}

fn jobs(count: usize, fields: &str) -> String {
    let line = |nth| format!("{{\"url\":\"http://a.test/{nth}\"{fields}}}\n");
    (0..count).map(line).collect()
}

#[test]
fn a_run_held_by_a_rate_is_told_again_as_it_was() {
    let run = Shaper::run().jobs("jobs.jsonl", jobs(90, "")).args([
        "-c",
        "5",
        "--qps",
        "60",
        "--mock=latency=20ms",
    ]);
    let report = says_the_same(run);
    assert_eq!(report["binding"], "--qps 60", "{report}");
    assert_eq!(report["little"]["part"], "steady");
}

#[test]
fn a_run_held_by_its_slots_and_one_in_order_are_told_again_as_they_were() {
    for order in [&[][..], &["--ordered"]] {
        let run = Shaper::run()
            .jobs("jobs.jsonl", jobs(150, ""))
            .args(["-c", "4", "--mock=latency=exp:30ms"])
            .args(order);
        let report = says_the_same(run);
        assert_eq!(report["slots"], 4, "{report}");
    }
}

#[test]
fn refused_tries_and_their_retries_are_told_again_as_they_were() {
    let run = Shaper::run().jobs("jobs.jsonl", jobs(40, "")).args([
        "-c",
        "5",
        "--window",
        "40/1s",
        "--mock=latency=5ms,limit=20/1s window",
    ]);
    let report = says_the_same(run);
    assert!(report["statuses"]["429"].as_u64() > Some(0), "{report}");
    assert!(report["retries"].as_u64() > Some(0), "{report}");
    assert!(report["pauses"].as_u64() > Some(0), "{report}");
}

#[test]
fn units_and_keys_are_told_again_as_they_were() {
    let mut lines = jobs(30, r#","tokens":20,"key":"a""#);
    lines += &jobs(30, r#","input_tokens":5,"output_tokens":30,"key":"b""#);
    let run = || Shaper::run().jobs("jobs.jsonl", &lines);
    let both = run().args(["--tps", "3k", "-c", "9", "--mock=latency=9ms,tokens=12"]);
    let report = says_the_same(both);
    assert_eq!(report["tokens"]["used"], 60 * 12, "{report}");
    assert_ne!(report["worst_minute"], Value::Null);
    let apart = run()
        .args([
            "--limit",
            "output-tokens 2k/s window per=field:key",
            "--qps",
            "90",
        ])
        .args(["--mock=latency=9ms,tokens=12"]);
    let report = says_the_same(apart);
    assert_eq!(
        report["proof"].as_array().map(Vec::len),
        Some(2),
        "{report}"
    );
}

#[test]
fn what_failed_and_what_makes_no_job_are_told_again_as_they_were() {
    let lines = jobs(30, r#","tokens":1"#) + "no job\n" + &jobs(3, r#","tokens":9"#);
    let run = Shaper::run()
        .jobs("jobs.jsonl", lines)
        .args(["--tps", "20", "--token-burst", "4", "--queue-timeout", "1s"])
        .args([
            "--max-attempts",
            "2",
            "--backoff",
            "1ms..2ms",
            "--seed",
            "3",
        ])
        .args(["--mock=latency=2ms,fail=500:40%"]);
    let report = says_the_same(run);
    assert_eq!(report["failures"]["invalid"], 1, "{report}");
    assert_eq!(report["failures"]["limit"], 3, "{report}");
    let gone = Shaper::run()
        .jobs("jobs.urls", "http://127.0.0.1:1/\n".repeat(3))
        .args(["--max-attempts", "2", "--backoff", "1ms..2ms"]);
    let report = says_the_same(gone);
    assert_eq!(report["try_failures"]["connect"], 6, "{report}");
    let bad = Shaper::run().jobs("jobs.jsonl", "no job\n{}\n");
    let report = says_the_same(bad);
    assert_eq!(report["verdict"], "nothing was sent", "{report}");
    let empty = Shaper::run().jobs("jobs.urls", "").args(["--allow-empty"]);
    let report = says_the_same(empty);
    assert_eq!(report["counts"]["read"], 0, "{report}");
}

/// Answers what is `good`, and asks for a long pause after anything else.
fn moody() -> Server {
    Server::answering(|ask| {
        if ask.target.contains("good") {
            Step::ok()
        } else {
            Step::status(503).header("retry-after", "60")
        }
    })
}

#[test]
fn an_interrupted_run_is_told_again_with_what_it_sent_for_jobs_without_a_result() {
    let server = moody();
    let list = ["/good/1", "/good/2", "/bad/1", "/good/3"].map(|target| server.url(target) + "\n");
    let mut running = Shaper::run()
        .jobs("jobs.urls", list.concat())
        .args(["--qps", "100", "-c", "1", "--quiet"])
        .with_results()
        .reporting()
        .start();
    running.until("three requests", || server.requests().len() == 3);
    running.pause(std::time::Duration::from_millis(50));
    running.signal(Signal::INT);
    let done = running.wait();
    done.exits(130);
    let run = done.report();
    let results = done.retold().ends(0);
    let results = results.json();
    assert_eq!(
        results["statuses"],
        json!({ "200": 2, "503": 1 }),
        "{results}"
    );
    assert_eq!(results["ended"], "interrupted");
    same(run, results);
}

#[test]
fn the_later_result_of_a_job_counts_and_its_earlier_tries_stay() {
    let server = Server::start([Step::ok()]);
    let old = include_str!("../../fixtures/cases/86-out-onefailed.jsonl");
    let done = Shaper::run()
        .case("81-jobs.jsonl", &server)
        .file(OUT, old)
        .args(["--resume", "--retry-failed", "--quiet"])
        .with_results()
        .ends(0);
    let text = done.again().args(["report", OUT]).ends(0);
    let words = [
        "= ok 5 + failed 0 +",
        "out.jsonl: 6 results, 1 of them replaced by a later one of the same job",
    ];
    shows(&text, &words);
    let report = text.retold().output().json();
    assert_eq!(report["counts"]["ok"], 5, "{report}");
    assert_eq!(report["counts"]["failed"], 0, "{report}");
    assert_eq!(report["failures"], json!({}), "{report}");
    assert_eq!(
        report["statuses"],
        json!({ "200": 5, "500": 1 }),
        "{report}"
    );
    assert_eq!(
        report["tries"],
        4 + 4,
        "one and three of old, four of now: {report}"
    );
    assert_eq!(report["latency"]["service"]["failed"]["n"], 0, "{report}");
    assert_eq!(report["latency"]["service"]["ok"]["n"], 5, "{report}");
}

/// Adds up what two runs have told.
#[track_caller]
fn sum(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys());
            let none = json!(0);
            let both = |key: &String| {
                let of = |map: &Map<String, Value>| map.get(key).unwrap_or(&none).clone();
                (key.clone(), sum(&of(one), &of(other)))
            };
            keys.map(both).collect()
        }
        (one, other) => match (one.as_u64(), other.as_u64()) {
            (Some(one), Some(other)) => json!(one + other),
            _ => json!(one.as_f64().unwrap_or_default() + other.as_f64().unwrap_or_default()),
        },
    }
}

#[test]
fn runs_that_have_gone_on_from_each_other_are_one_report_and_add_up() {
    let server = Server::answering(|ask| match ask.nth_of_target {
        0 if ask.target.contains("bad") => Step::status(503).header("retry-after", "60"),
        _ => Step::ok(),
    });
    let good = (0..30).map(|nth| server.url(&format!("/good/{nth}")) + "\n");
    let list = good.collect::<String>() + &(server.url("/bad") + "\n") + &server.list(5);
    let run = || ["--qps", "100", "-c", "1", "--quiet"];
    let mut running = Shaper::run()
        .jobs("jobs.urls", list)
        .args(run())
        .with_results()
        .reporting()
        .start();
    running.until("the pause", || server.requests().len() == 31);
    running.pause(std::time::Duration::from_millis(50));
    running.signal(Signal::INT);
    let done = running.wait();
    done.exits(130);
    let first = done.report();
    let resumed = done
        .again()
        .args(["run", "jobs.urls", "--resume"])
        .args(run())
        .with_results()
        .reporting()
        .ends(0);
    let second = resumed.report();
    assert_eq!(second["counts"]["done_before"], 30, "{second}");
    let both = resumed.retold().output().json();
    for key in [
        "tries",
        "retries",
        "pauses",
        "unrepeated",
        "cut_off",
        "sends",
        "late_sends",
        "elapsed_ms",
        "statuses",
        "try_failures",
        "waits_ms",
    ] {
        equal(&both[key], &sum(&first[key], &second[key]));
    }
    let n = |of: &Value| of["latency"]["service"]["ok"]["n"].as_u64();
    assert_eq!(n(&both), Some(36), "{both}");
    assert_eq!((n(&first), n(&second)), (Some(30), Some(6)));
    assert_eq!(both["counts"]["read"], 36, "{both}");
    assert_eq!(
        both["counts"]["done_before"], 0,
        "all figures are of all of them"
    );
    assert_eq!(
        both["little"]["tries"],
        sum(&first["little"]["tries"], &second["little"]["tries"])
    );
    assert_eq!(both["results"]["runs"], 2);
    assert_eq!(both["results"]["notes"], json!([]));
    assert_eq!(both["proof"][0]["verdict"], "kept", "{both}");
}

/// Sums of times are told to the microsecond, each by itself.
#[track_caller]
fn equal(one: &Value, other: &Value) {
    let figures = |of: &Value| match of.as_object() {
        Some(named) => named.clone(),
        None => Map::from_iter([(String::new(), of.clone())]),
    };
    let (ones, others) = (figures(one), figures(other));
    assert!(ones.keys().eq(others.keys()), "{one} and {other}");
    for (one, other) in ones.values().zip(others.values()) {
        let apart = one.as_f64().zip(other.as_f64());
        let apart = apart.map(|(one, other)| (one - other).abs());
        assert!(apart < Some(0.01), "{one} and {other}");
    }
}

#[test]
fn what_a_killed_run_did_is_reported_and_what_it_cannot_tell_is_not_made_up() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::answering(move |ask| match ask.nth {
        0..5 => Step::ok(),
        _ => Step::ok().behind(&held),
    });
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(9))
        .args(["--qps", "200", "-c", "2", "--quiet"])
        .with_results()
        .start();
    let results = running.path(OUT);
    running.until("five results and two requests more", || {
        let text = std::fs::read_to_string(&results).unwrap_or_default();
        text.lines().count() == 5 && server.requests().len() == 7
    });
    let text = std::fs::read(&results).expect("it is there");
    let during = Shaper::plain().args(["report"]).args([&results]).ends(0);
    let going_on = [
        "ENDED       not yet",
        "= ok 5 ",
        "read — =",
        "pauses asked —",
        "kept  --qps 200",
    ];
    shows(&during, &going_on);
    let then = std::fs::read(&results).expect("it is there");
    assert_eq!(then, text, "it was only read");
    running.signal(Signal::KILL);
    let killed = running.wait();
    gate.open();
    let report = killed.retold().ends(0);
    let report = report.json();
    assert_eq!(report["ended"], "cut_off", "{report}");
    assert_eq!(report["little"]["part"], "recorded");
    assert_eq!(report["held_back"], json!([]));
    for unknown in ["cut_off", "pauses", "unrepeated"] {
        assert_eq!(report[unknown], Value::Null, "{unknown}: {report}");
    }
    assert_eq!(report["counts"]["read"], Value::Null);
    assert_eq!(report["slots"], 2, "it had told them before: {report}");
    keeps_to_the_schema(&report);
    // The same without what it had told.
    let alone = Shaper::plain()
        .args(["report", "-", "--report", "json"])
        .stdin(&text)
        .ends(0);
    let alone = alone.json();
    keeps_to_the_schema(&alone);
    assert_eq!(alone["ended"], Value::Null);
    assert_eq!(
        (&alone["slots"], &alone["limits"]),
        (&Value::Null, &json!([]))
    );
    assert_eq!(alone["latency"], report["latency"]);
    let given = Shaper::plain()
        .args(["report", "-", "--report", "json", "--qps", "200", "-c", "2"])
        .stdin(&text)
        .output();
    let given = given.json();
    assert_eq!(
        (&given["slots"], &given["limits"]),
        (&report["slots"], &report["limits"])
    );
    assert_eq!(given["proof"][0]["verdict"], "kept", "{given}");
}

/// What an older version of the program has written.
const RUN_FILE: &str = r#"{
    "version": "0.1.0", "limits": [{ "name": "qps", "limit": "10 bucket burst=1" }],
    "concurrency": 3, "per_host": null, "slack_us": 2000, "inputs": [], "base_url": null,
    "seed": 1, "host": "h", "started_us": 1700000000000000, "ended": {
        "how": "interrupted", "part": {
            "which": "whole", "from_ms": 0.01, "to_ms": 205.02, "in_flight": 0.07,
            "rate_per_s": 14.6, "mean_ms": 5.01
        },
        "held_back_ms": { "slots": 0.06 }, "waits_ms": { "slot": 0.06 },
        "counts": { "read": 5, "ok": 3, "cancelled": 2 }, "tries": 4, "sends": 4,
        "unrecorded": [{
            "granted_us": 1700000000300000, "sent_us": 1700000000300010, "answered_us": 1700000000305000
        }]
    }
}"#;

#[test]
fn what_an_older_version_has_written_is_read_and_what_it_lacks_is_unknown() {
    let done = report_of(lines(3)).file(RUN, RUN_FILE);
    let report = done.args(["--report", "json"]).output().json();
    keeps_to_the_schema(&report);
    assert_eq!(report["ended"], "interrupted", "{report}");
    assert_eq!(report["counts"]["cancelled"], 2);
    assert_eq!(report["tries"], 4, "one of them has no result: {report}");
    assert_eq!((&report["slots"], &report["sends"]), (&3.into(), &4.into()));
    assert_eq!(report["proof"][0]["verdict"], "kept");
    assert_eq!(
        (&report["pauses"], &report["cut_off"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(report["little"]["part"], "recorded");
}

/// A result with one try, as it stands in a file.
fn line(nth: u64) -> String {
    let at = 1_700_000_000_000_000 + nth * 100_000;
    let tries = json!([{
        "due_us": at, "granted_us": at + 10, "sent_us": at + 20, "first_byte_us": at + 5_000,
        "done_us": at + 5_020, "http_status": 200, "retry_after_ms": null, "error": null,
    }]);
    let line = json!({
        "seq": nth, "line": nth + 1, "id": null, "job": format!("{nth:016x}"), "status": "ok",
        "http_status": 200, "attempts": 1, "queue_ms": 0.02, "wait_ms": { "slot": 0.02 },
        "latency_ms": 5.0, "since_due_ms": 5.02, "tries": tries, "error": null,
    });
    line.to_string() + "\n"
}

fn lines(count: u64) -> String {
    (0..count).map(line).collect()
}

fn report_of(results: impl AsRef<[u8]>) -> Shaper {
    Shaper::plain().args(["report"]).jobs(OUT, results)
}

#[test]
fn a_torn_last_line_is_passed_over_and_told() {
    let whole = lines(3);
    let torn = whole.clone() + &line(3)[..70];
    let done = report_of(torn).ends(0);
    shows(
        &done,
        &[
            "out.jsonl: 3 results; line 4 is torn and was passed over",
            "= ok 3 +",
        ],
    );
    let unended = report_of(whole.trim_end())
        .args(["--report", "json"])
        .output();
    let report = unended.json();
    assert_eq!(
        report["results"]["files"][0]["torn_line"],
        Value::Null,
        "{report}"
    );
    assert_eq!(report["counts"]["ok"], 3);
}

#[test]
fn what_is_no_result_is_told_with_its_place_and_a_mend() {
    let damaged = lines(2) + "{\"seq\":9,\n" + &line(4);
    let done = report_of(damaged).ends(2);
    done.says("out.jsonl:3:9: is no result: ")
        .says("mend: the lines before it are whole");
    assert!(done.stdout.is_empty(), "{done}");
    let unknown = line(0).replace("\"ok\"", "\"fine\"");
    for (text, words) in [
        ("hello\n", "out.jsonl:1:1: is no result"),
        ("hello", "out.jsonl:1:1: is no result"),
        ("{}\n", "out.jsonl:1: is no result: missing field `status`"),
        (&*unknown, "unknown status \"fine\""),
        (
            &line(0).replace("1700000000005020", "1"),
            "done_us is before first_byte_us",
        ),
        (
            &line(0).replace("5.02,", "-5,"),
            "since_due_ms is below zero",
        ),
        ("", "out.jsonl: has no results: there is nothing to report"),
        ("\n\n", "there is nothing to report"),
    ] {
        let done = report_of(text).ends(2);
        done.says(words).says("mend: ");
        assert!(done.stdout.is_empty(), "{done}");
    }
    let packed = [&[0x1f, 0x8b, 8, 0][..], b"\n"].concat();
    report_of(packed)
        .ends(2)
        .says("mend: unpack it: zcat FILE | shaper report -");
    let beside = report_of(lines(1)).args([RUN]).file(RUN, RUN_FILE).output();
    let words = "out.jsonl.run: tells what a run was and holds no results";
    beside
        .exits(2)
        .says(words)
        .says("mend: name those beside it: out.jsonl");
    let gone = Shaper::plain().args(["report", "none.jsonl"]).ends(2);
    gone.says("none.jsonl: cannot be read: No such file");
    let folder = Shaper::plain().args(["report", "."]).ends(2);
    folder.says("cannot be read: is a directory");
    let endless = Shaper::plain().args(["report", "/dev/zero"]).ends(2);
    endless.says("it is no regular file");
    let twice = report_of(lines(1)).args(["./out.jsonl"]).ends(2);
    twice.says("./out.jsonl is named twice");
    let terminal = Shaper::plain()
        .args(["report", "-"])
        .stdin_is_a_terminal()
        .ends(2);
    terminal.says("standard input is a terminal");
}

#[test]
fn a_run_file_that_cannot_be_read_is_told_and_passed_over() {
    let done = report_of(lines(3)).file(RUN, "{\"version\":").ends(0);
    done.says("out.jsonl.run: does not tell what the run was: EOF");
    shows(&done, &["= ok 3 +", "nothing tells the limits"]);
}

#[test]
fn a_count_that_no_run_reaches_is_damage() {
    for (from, to) in [
        ("\"cancelled\": 2", "\"cancelled\": 18446744073709551615"),
        ("\"sends\": 4", "\"sends\": 9007199254740993"),
    ] {
        let run = RUN_FILE.replace(from, to);
        assert_ne!(run, RUN_FILE);
        let done = report_of(lines(3)).file(RUN, &run).ends(0);
        done.says("out.jsonl.run: does not tell what the run was")
            .says("no run counts so far: passed over");
        shows(&done, &["read — = ok 3 +", "cancelled —"]);
        let proof = Shaper::plain().args(["verify"]).jobs(OUT, lines(3));
        proof.file(RUN, &run).ends(2).says("no run counts so far");
    }
    let seeded = RUN_FILE.replace("\"seed\": 1", "\"seed\": 18446744073709551615");
    report_of(lines(3))
        .file(RUN, seeded)
        .ends(0)
        .never_says("passed over");
}

#[test]
fn results_that_were_cut_are_not_given_the_means_of_the_whole() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(8))
        .with_results();
    let done = done.args(["--quiet"]).output();
    let text = String::from_utf8(done.bytes(OUT)).expect("it is text");
    let half: String = text.split_inclusive('\n').take(4).collect();
    let report = done.retold().file(OUT, half).output().json();
    assert_eq!(report["little"]["part"], "recorded", "{report}");
    assert_eq!(report["little"]["tries"], 4);
    let note = report["results"]["notes"][0].as_str();
    assert!(
        note.is_some_and(|note| note.contains("has 4 results, the run has written 8")),
        "{report}"
    );
    let untold = [
        &report["counts"]["read"],
        &report["counts"]["cancelled"],
        &report["ended"],
    ];
    assert_eq!(untold, [&Value::Null; 3], "nothing of that run: {report}");
}

#[test]
fn results_come_from_pipes_as_well() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run().jobs("jobs.urls", server.list(5)).ends(0);
    let (piped, text) = (Shaper::plain().args(["report", "-"]), done.stdout);
    let report = piped.stdin(&text).ends(0);
    shows(&report, &["standard input: 5 results", "= ok 5 +"]);
    let fifo = Shaper::plain().named_pipe("p").args(["report", "p"]);
    let path = fifo.path("p");
    let running = fifo.start();
    std::fs::write(path, &text).expect("it is read");
    let report = running.wait();
    report.exits(0);
    shows(&report, &["p: 5 results"]);
}

#[test]
fn what_arrived_at_the_modelled_api_and_results_without_bodies_are_reported() {
    let arrived = |nth| {
        let mut line: Value = serde_json::from_str(&line(nth)).expect("it is JSON");
        let fields = line.as_object_mut().expect("it is an object");
        fields.retain(|name, _| !["job", "wait_ms", "since_due_ms"].contains(&name.as_str()));
        line.to_string() + "\n"
    };
    let arrived: String = (0..3).map(arrived).collect();
    let done = report_of(&arrived).args(["--window", "10/1s"]).ends(0);
    shows(
        &done,
        &[
            "these results do not tell what held the jobs back",
            "kept  --window 10/1s",
        ],
    );
    let report = report_of(&arrived)
        .args(["--report", "json"])
        .output()
        .json();
    assert_eq!(report["binding"], Value::Null, "{report}");
    assert_eq!(
        report["latency"]["since_due"]["ok"]["max"], 5.02,
        "by its tries"
    );
    let bare = Shaper::run().jobs("jobs.jsonl", jobs(5, "")).args([
        "--body",
        "none",
        "--headers",
        "none",
        "--mock=latency=1ms",
    ]);
    assert_eq!(says_the_same(bare)["counts"]["ok"], 5);
}

#[test]
fn a_report_goes_to_stdout_to_a_file_or_nowhere() {
    let file = report_of(lines(2))
        .args(["--report-file", "page", "--ascii"])
        .ends(0);
    let page = String::from_utf8(file.bytes("page")).expect("it is text");
    assert!(file.stdout.is_empty() && page.is_ascii(), "{page}");
    let table = report_of(lines(2)).args(["--report", "csv"]).output();
    assert!(
        table.stdout.starts_with(b"metric,label,value,unit\n"),
        "{table}"
    );
    let none = report_of(lines(2)).args(["--report", "none"]).ends(0);
    assert!(none.stdout.is_empty(), "{none}");
    let full = report_of(lines(2))
        .args(["--report-file", "/dev/full"])
        .ends(3);
    full.says("/dev/full");
    let closed = report_of(lines(2)).stdout_is_closed().ends(141);
    assert_eq!(closed.stderr, "");
    let mut head = report_of(lines(2)).start();
    assert!(head.read_a_line_and_close().starts_with("VERDICT"));
    let head = head.wait();
    assert!([Some(0), Some(141)].contains(&head.code), "{head}");
    assert_eq!(head.stderr, "");
}

#[test]
fn a_report_never_replaces_what_it_is_read_from() {
    for args in [
        ["--report-file", OUT],
        ["--html", "./out.jsonl"],
        ["--report-file", RUN],
    ] {
        let refused = report_of(lines(2)).args(args).ends(2);
        refused.says("cannot go to").says("mend: name another");
        assert_eq!(refused.bytes(OUT), lines(2).as_bytes());
    }
    let other = report_of(lines(2)).file("b", lines(1));
    let other = other.args(["--against", "b", "--report-file", "b"]).ends(2);
    other.says("the results are read from it");
}
