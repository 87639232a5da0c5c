//! Results in the forms of other tools, field by field, and going on with them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Server, Step};

const ANSWER: &str = r#"{"object":"chat.completion", "choices":[]}"#;

/// Answers all but `/0`, `/1` and `/3` with an answer of an API.
fn server() -> Server {
    Server::answering(|ask| match ask.target {
        "/1" => Step::status(400)
            .body(r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#),
        "/3" => Step::close(),
        _ => Step::ok()
            .header("Content-Type", "application/json")
            .header("X-Request-Id", "req_7")
            .header("Set-Cookie", "sid=CANARY")
            .body(ANSWER),
    })
}

/// One that is good, one that the server refuses, one that is none, one without an answer, and one without an id.
fn jobs(server: &Server) -> String {
    let body = r#"{"model":"m", "input":"hi"}"#;
    let job = |id: &str, path: u8, meta: &str| {
        format!(
            "{{{id}\"url\":\"{}\",\"body\":{body}{meta}}}\n",
            server.url(&format!("/{path}?api_key=CANARY"))
        )
    };
    [
        job("\"id\":\"=a\",", 0, ",\"meta\":{\"row\":1}"),
        job("\"id\":\"b\",", 1, ""),
        "{\"id\":\"c\"}\n".to_owned(),
        job("\"id\":\"d\",", 3, ""),
        job("", 4, ""),
    ]
    .concat()
    .replace("/1?api_key=CANARY", "/1")
    .replace("/3?api_key=CANARY", "/3")
}

fn run(server: &Server, format: &str, options: &[&str]) -> Output {
    Shaper::run()
        .jobs("jobs.jsonl", jobs(server))
        .args([
            "--ordered",
            "-c",
            "1",
            "--max-attempts",
            "2",
            "--backoff",
            "1ms..1ms",
        ])
        .args(["--retry-on", "reset", "--retry-unsafe", "always"])
        .args(["--output-format", format])
        .args(options)
        .with_results()
        .output()
}

fn lines(done: &Output) -> Vec<Value> {
    let text = String::from_utf8(done.bytes(OUT)).expect("it is text");
    assert!(!text.contains("CANARY"), "{text}");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("each line is JSON")
}

/// The results of all jobs in a form of one line each.
fn each_has_a_line(format: &str) -> Vec<Value> {
    let server = server();
    let done = run(&server, format, &[]);
    done.exits(1);
    let lines = lines(&done);
    assert_eq!(lines.len(), 5);
    lines
}

/// The line that has this under the key.
fn of<'a>(lines: &'a [Value], key: &str, value: &str) -> &'a Value {
    let mut lines = lines.iter();
    let found = lines.find(|line| line[key].as_str().is_some_and(|own| own.starts_with(value)));
    found.expect("each has its line")
}

#[test]
fn a_batch_of_openai_is_as_its_api_returns_it_and_holds_what_failed() {
    let lines = each_has_a_line("openai-batch");
    let answer: Value = serde_json::from_str(ANSWER).expect("as the form has it");
    assert_eq!(
        of(&lines, "custom_id", "=a"),
        &json!({
            "id": "batch_req_0",
            "custom_id": "=a",
            "response": {"status_code": 200, "request_id": "req_7", "body": answer},
            "error": null
        })
    );
    let refused = of(&lines, "custom_id", "b");
    assert_eq!(refused["response"]["status_code"], 400);
    assert_eq!(refused["response"]["body"]["error"]["message"], "no");
    assert_eq!(refused["error"]["code"], "http");
    let unanswered = of(&lines, "custom_id", "d");
    assert_eq!(unanswered["response"], Value::Null);
    assert_eq!(unanswered["error"]["code"], "reset");
    let bad = of(&lines, "custom_id", "invalid-");
    assert_eq!(bad["error"]["code"], "invalid");
    let message = bad["error"]["message"]
        .as_str()
        .expect("as the form has it");
    assert!(message.contains("\"url\" is missing"), "{message}");
    assert_eq!(of(&lines, "custom_id", "job-")["error"], Value::Null);
}

#[test]
fn a_batch_of_anthropic_is_as_its_api_returns_it() {
    let lines = each_has_a_line("anthropic-batch");
    let answer: Value = serde_json::from_str(ANSWER).expect("as the form has it");
    assert_eq!(
        of(&lines, "custom_id", "=a"),
        &json!({"custom_id": "=a", "result": {"type": "succeeded", "message": answer}})
    );
    assert_eq!(
        of(&lines, "custom_id", "b"),
        &json!({"custom_id": "b", "result": {
            "type": "errored",
            "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
        }})
    );
    let unanswered = &of(&lines, "custom_id", "d")["result"]["error"];
    assert_eq!(
        (&unanswered["type"], &unanswered["error"]["type"]),
        (&json!("error"), &json!("reset"))
    );
}

#[test]
fn an_answer_that_failed_is_kept_whatever_its_form() {
    let server = Server::everywhere(Step::status(400).body("{\"detail\": \"no\"}"));
    let answer = json!({"detail": "no"});
    let kept = |format: &str, options: &[&str]| lines(&run(&server, format, options)).remove(0);
    let stands_for_it = &kept("anthropic-batch", &[])["result"]["error"];
    assert_eq!(stands_for_it["error"]["type"], "http");
    assert_eq!(stands_for_it["body"], answer);
    assert_eq!(kept("cookbook", &[])[1][1], answer);
    let bare = ["--body", "none"];
    let stands_for_it = &kept("anthropic-batch", &bare)["result"]["error"];
    assert_eq!(stands_for_it.get("body"), None);
    assert_eq!(kept("cookbook", &bare)[1].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_is_skipped_is_no_attack_of_vegeta() {
    let server = Server::everywhere(Step::ok());
    let line = |request: &str| {
        format!(
            "192.0.2.1 - - [07/Oct/2026:10:00:01 +0000] \"{request} HTTP/1.1\" 200 5 \"-\" \"c\"\n"
        )
    };
    let log = ["GET /a", "POST /b", "GET /c"].map(line).concat();
    for format in ["vegeta-json", "vegeta-csv"] {
        let done = Shaper::run()
            .jobs("access.log", &log)
            .args(["--base-url", &server.url(""), "--output-format", format])
            .with_results()
            .ends(0);
        let hits = String::from_utf8(done.bytes(OUT)).expect("it is text");
        assert_eq!(hits.lines().count(), 2, "{hits}");
        assert!(!hits.contains("/b"), "{hits}");
    }
}

#[test]
fn the_arrays_of_the_cookbook_hold_request_answer_and_metadata() {
    let lines = each_has_a_line("cookbook");
    let request = json!({"model": "m", "input": "hi"});
    let answer: Value = serde_json::from_str(ANSWER).expect("as the form has it");
    assert_eq!(lines[0], json!([request, answer, {"row": 1}]));
    let refusal =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let refused = json!(["status 400 Bad Request", refusal]);
    assert_eq!(lines[1], json!([request, refused]));
    assert_eq!(
        (
            &lines[2][0],
            lines[2].as_array().expect("as the form has it").len()
        ),
        (&Value::Null, 2)
    );
    let errors = lines[3][1].as_array().expect("as the form has it");
    assert_eq!(errors.len(), 2, "one for each try: {errors:?}");
    assert_eq!(lines[4], json!([request, answer]));
}

#[test]
fn what_vegeta_reads_has_its_members_and_its_columns() {
    let server = server();
    let done = run(&server, "vegeta-json", &[]);
    done.exits(1);
    let hits = lines(&done);
    let names: Vec<_> = String::from_utf8(done.bytes(OUT))
        .expect("as the form has it")
        .lines()
        .next()
        .expect("as the form has it")
        .match_indices("\":")
        .map(|(at, _)| at)
        .collect();
    assert!(names.len() >= 12, "{}", hits[0]);
    let first = &hits[0];
    assert_eq!(first["code"], 200);
    assert_eq!(first["body"], STANDARD.encode(ANSWER));
    assert_eq!(first["bytes_in"], ANSWER.len());
    assert_eq!(first["bytes_out"], 27);
    assert_eq!(
        first["headers"]["Content-Type"],
        json!(["application/json"])
    );
    assert_eq!(
        (&first["attack"], &first["error"], &first["method"]),
        (&json!(""), &json!(""), &json!("POST"))
    );
    assert!(first["latency"].as_u64().expect("as the form has it") > 0);
    assert!(
        first["timestamp"]
            .as_str()
            .expect("as the form has it")
            .ends_with('Z')
    );
    assert_eq!(hits[1]["error"], "400 Bad Request");
    assert_eq!(
        (&hits[3]["code"], &hits[3]["body"]),
        (&json!(0), &Value::Null)
    );

    let done = run(&server, "vegeta-csv", &["--overwrite"]);
    done.exits(1);
    let text = done.bytes(OUT);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(&*text);
    let rows: Vec<_> = reader
        .records()
        .map(|row| row.expect("it is CSV"))
        .collect();
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|row| row.len() == 12));
    let row = &rows[0];
    assert!(row[0].parse::<u64>().expect("as the form has it") > 1_700_000_000_000_000_000);
    assert_eq!(
        (&row[1], &row[6], &row[7], &row[8]),
        ("200", &*STANDARD.encode(ANSWER), "", "0")
    );
    let headers = String::from_utf8(STANDARD.decode(&row[11]).expect("as the form has it"))
        .expect("as the form has it");
    assert!(
        headers.contains("X-Request-Id: req_7\r\n") && headers.ends_with("\r\n\r\n"),
        "{headers}"
    );
    assert!(headers.contains("Set-Cookie: ***"), "{headers}");
}

#[test]
fn a_table_has_a_head_and_no_cell_that_is_a_formula() {
    let server = server();
    let done = run(&server, "csv", &[]);
    done.exits(1);
    let text = done.bytes(OUT);
    let mut reader = csv::Reader::from_reader(&*text);
    let names = reader.headers().expect("as the form has it").clone();
    let rows: Vec<_> = reader
        .records()
        .map(|row| row.expect("it is CSV"))
        .collect();
    let cell = |nth: usize, name: &str| {
        let at = names
            .iter()
            .position(|own| own == name)
            .expect("it is a column");
        rows[nth][at].to_owned()
    };
    assert_eq!(rows.len(), 5);
    assert_eq!(
        (cell(0, "id"), cell(0, "status")),
        ("'=a".to_owned(), "ok".to_owned())
    );
    assert_eq!(
        (cell(1, "http_status"), cell(1, "error_kind")),
        ("400".to_owned(), "http".to_owned())
    );
    assert_eq!(
        (cell(2, "status"), cell(2, "line")),
        ("invalid".to_owned(), "3".to_owned())
    );
    assert_eq!(
        (cell(3, "attempts"), cell(3, "http_status")),
        ("2".to_owned(), String::new())
    );
    assert_eq!(cell(0, "body"), ANSWER);
    assert!(cell(0, "url").contains("api_key=***"));
    assert!(
        cell(0, "latency_ms")
            .parse::<f64>()
            .expect("as the form has it")
            > 0.0
    );
}

#[test]
fn no_form_loses_a_byte_of_an_answer() {
    const BYTES: &[u8] = b"\xffa\0,\"\xc3";
    let server = Server::everywhere(Step::ok().body(BYTES));
    let base64 = STANDARD.encode(BYTES);
    for format in [
        "shaper",
        "openai-batch",
        "anthropic-batch",
        "cookbook",
        "vegeta-json",
        "vegeta-csv",
        "csv",
    ] {
        let done = run(&server, format, &["-n", "1"]);
        let text = String::from_utf8(done.bytes(OUT)).expect("it is text");
        assert!(text.contains(&base64), "{format}: {text}");
        let is_named = text.contains("base64") || format.starts_with("vegeta");
        assert!(is_named, "{format}: {text}");
    }
}

#[test]
fn batches_go_on_by_id_and_others_do_not() {
    for format in ["openai-batch", "anthropic-batch"] {
        let server = server();
        let done = run(&server, format, &["-n", "2"]);
        done.exits(1);
        let before = server.requests().len();
        let done = done
            .again()
            .args(["run", "jobs.jsonl", "-c", "1", "--max-attempts", "1"])
            .args(["--output-format", format, "--resume", "-o", OUT])
            .ends(1);
        assert_eq!(lines(&done).len(), 5, "{done}");
        assert_eq!(
            server.requests().len(),
            before + 2,
            "{format}: only what was not done"
        );
        let again = done
            .again()
            .args(["run", "jobs.jsonl", "--output-format", format])
            .args(["--resume", "-o", OUT])
            .ends(1);
        assert_eq!(lines(&again).len(), 5, "{again}");
    }
    let server = server();
    let done = run(&server, "csv", &["--resume"]);
    done.exits(2)
        .says("cannot go on with results in the form csv");
    let done = run(&server, "xml", &[]);
    done.exits(2).says("--output-format").says("openai-batch");
}

#[test]
fn of_a_batch_without_ids_failed_jobs_run_again_and_each_has_one_result() {
    for format in ["openai-batch", "anthropic-batch"] {
        let server = Server::answering(|ask| match (ask.target, ask.nth_of_target) {
            ("/1", 0 | 1) | ("/3", _) => Step::status(400),
            _ => Step::ok(),
        });
        // Two are equal, and one of them fails once, another for ever.
        let list = ["/1", "/1", "/2", "/3", "/1"].map(|path| server.url(path) + "\n");
        let options = ["-c", "1", "--max-attempts", "1", "--output-format", format];
        let first = Shaper::run()
            .jobs("jobs.urls", list.concat())
            .args(options)
            .with_results()
            .ends(1);
        assert_eq!(lines(&first).len(), 5);
        let resume = |done: Output, more: &[&str]| {
            done.again()
                .args(["run", "jobs.urls", "-o", OUT, "--resume"])
                .args(options)
                .args(more)
                .output()
        };
        let again = resume(first, &["--retry-failed"]);
        again.exits(1);
        assert_eq!(server.requests().len(), 5 + 3, "{format}: {again}");
        let again = resume(again, &["--retry-failed"]);
        again.exits(1);
        assert_eq!(server.requests().len(), 5 + 3 + 1, "{format}: {again}");
        let none = resume(again, &[]);
        none.exits(1);
        assert_eq!(server.requests().len(), 5 + 3 + 1, "{format}: {none}");
    }
}
