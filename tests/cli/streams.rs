//! Answers that are streams of events: what results tell of them, and what the reports make of that.

use std::time::Duration;

use serde_json::{Value, json};

use super::report::{keeps_to_the_schema, same, shows};
use crate::support::by_each_transport;
use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};

const APART: Duration = Duration::from_millis(20);

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A chat of so many tokens, that tells as many more in its usage.
fn chat(tokens: usize) -> String {
    let delta = |delta: Value| event(&json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let mut body = delta(json!({ "role": "assistant", "content": "" }));
    for nth in 0..tokens {
        body += &delta(json!({ "content": format!(" {nth}") }));
    }
    let usage = json!({ "prompt_tokens": 5, "completion_tokens": 2 * tokens, "total_tokens": 9 });
    body + &event(&json!({ "choices": [], "usage": usage })) + "data: [DONE]\n\n"
}

/// The same in the words of Anthropic, cut off within it.
fn broken(tokens: usize) -> String {
    let mut body =
        event(&json!({ "type": "message_start", "message": { "usage": { "output_tokens": 1 } } }));
    let delta =
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "a" } });
    body += &event(&delta).repeat(tokens);
    body + "data: {"
}

fn ms(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no time"))
}

#[test]
fn a_stream_is_read_to_its_end_and_its_tokens_have_their_moments() {
    let server = Server::start([Step::ok().body(chat(6)).streamed(APART)]);
    let apart = APART.as_secs_f64() * 1e3;
    for done in by_each_transport(0, || {
        Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .with_results()
            .reporting()
    }) {
        let results = done.results();
        let (result, made) = (&results[0], &results[0]["tries"][0]);
        assert!(
            result["body"]
                .as_str()
                .is_some_and(|body| body.ends_with("[DONE]\n\n")),
            "{result}"
        );
        let stream = &made["stream"];
        assert_eq!(
            [
                &stream["events"],
                &stream["token_events"],
                &stream["output_tokens"]
            ],
            [9, 6, 12],
            "{stream}"
        );
        // The first event has no token; six rests are before the last one that has.
        assert!(ms(&stream["ttft_ms"]) >= apart, "{stream}");
        let since_sent = |to: &Value| {
            let moment = |of: &Value| of.as_u64().expect("it is told");
            Duration::from_micros(moment(to) - moment(&made["sent_us"]) + 1)
        };
        let tokens = ["first_token_us", "last_token_us"].map(|key| since_sent(&stream[key]));
        assert!(tokens[0] >= APART && tokens[1] >= 6 * APART, "{made}");
        assert!(since_sent(&made["done_us"]) >= 9 * APART, "{made}");
        let gaps = ["mean", "p50", "p99", "max"].map(|key| ms(&stream["gap_ms"][key]));
        assert!(gaps[0] <= gaps[3] && gaps[1] <= gaps[2], "{stream}");
        // Eleven tokens after the first, unless this program has slept while they came.
        let took = tokens[1].abs_diff(tokens[0]).as_secs_f64();
        let rate = stream["tokens_per_s"].as_f64().unwrap_or_default();
        assert!(took == 0.0 || (rate * took - 11.0).abs() < 0.01, "{stream}");
        let streams = done.report()["streams"].clone();
        assert_eq!(
            [
                &streams["answers"],
                &streams["by_events"],
                &streams["output_tokens"]
            ],
            [1, 0, 12]
        );
        // One answer is all of them, with three digits.
        let near = |value: &Value, exact: f64| (ms(value) - exact).abs() <= exact / 500.0;
        assert!(
            near(&streams["first_token"]["ok"]["p50"], ms(&stream["ttft_ms"])),
            "{streams}"
        );
        assert!(
            near(&streams["longest_gap"]["ok"]["max"], gaps[3]),
            "{streams}"
        );
        let least = streams["tokens_per_s"]["ok"]["min"].as_f64();
        assert!(
            (least.unwrap_or_default() - rate).abs() <= rate / 500.0,
            "{streams}"
        );
        assert_eq!(streams["first_token"]["failed"]["n"], 0);
    }
}

#[test]
fn streams_are_reported_again_as_they_were_with_and_without_the_run_beside() {
    let server = Server::answering(|ask| match ask.nth % 3 {
        0 => Step::ok().body(chat(4)).streamed(Duration::from_millis(2)),
        1 => Step::ok()
            .body(event(&json!({ "text": "a" })))
            .streamed(Duration::ZERO),
        _ => Step::ok(),
    });
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(12))
        .args(["-c", "1"])
        .args(["--fail-if", "ttft_p99>1h", "--fail-if", "gap_max>1h"])
        .with_results()
        .reporting()
        .ends(0);
    let mut run = done.report();
    keeps_to_the_schema(&run);
    let streams = run["streams"].clone();
    assert_eq!(
        [
            &streams["answers"],
            &streams["by_events"],
            &streams["output_tokens"]
        ],
        [8, 4, 36]
    );
    assert_eq!(
        [
            &streams["first_token"]["ok"]["n"],
            &streams["longest_gap"]["ok"]["n"]
        ],
        [8, 4]
    );
    let results = done.retold().ends(0);
    run["conditions"] = json!([]);
    same(run, results.json());
    let page = results.again().args(["report", OUT]).output();
    let answers = "8 answers, 36 output tokens (by events, not by usage: 4)";
    shows(
        &page,
        &[
            "STREAMS     ",
            answers,
            "first token  ok",
            "tokens/s     ok",
            "longest gap  ok",
        ],
    );
    std::fs::remove_file(page.path("out.jsonl.run")).expect("it is there");
    let alone = page.retold().output();
    let mut alone = alone.json()["streams"].clone();
    // What took longer than its tries is known of the run alone.
    alone["output_tokens_per_s"] = streams["output_tokens_per_s"].clone();
    assert_eq!(alone, streams);
}

#[test]
fn a_stream_that_breaks_off_is_tried_again_and_each_try_keeps_its_own() {
    let body = broken(3);
    let sent = body.len();
    let server = Server::start([
        Step::ok()
            .header("Content-Type", "text/event-stream")
            .body(body)
            .cut(sent + 100, sent),
        Step::ok().body(chat(2)).streamed(Duration::ZERO),
    ]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(1))
        .args(["--backoff", "1ms..1ms"])
        .with_results()
        .reporting()
        .ends(0);
    let tries = &done.results()[0]["tries"];
    let counts = |nth: usize| {
        ["events", "token_events", "output_tokens"].map(|key| tries[nth]["stream"][key].clone())
    };
    assert_eq!(counts(0), [json!(4), json!(3), Value::Null], "{tries}");
    assert_eq!(counts(1), [json!(5), json!(2), json!(4)], "{tries}");
    let streams = done.report()["streams"].clone();
    assert_eq!(
        [
            &streams["answers"],
            &streams["by_events"],
            &streams["output_tokens"]
        ],
        [2, 1, 7]
    );
    // Paces are those of the last try.
    assert_eq!(streams["first_token"]["ok"]["n"], 1);
}

#[test]
fn streams_of_jobs_that_fail_stand_apart() {
    let body = broken(3);
    let sent = body.len();
    let broken = Step::ok()
        .header("Content-Type", "text/event-stream")
        .body(body)
        .cut(sent + 100, sent);
    let server = Server::start([broken]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(2))
        .args(["--max-attempts", "1", "--fail-if", "ttft_p50>1h"])
        .with_results()
        .reporting()
        .output();
    // Nothing is good because nothing came.
    done.exits(5)
        .says("ttft_p50 > 1h cannot be told: no job that was ok had a token");
    let streams = done.report()["streams"].clone();
    assert_eq!(streams["first_token"]["failed"]["n"], 2, "{streams}");
    assert_eq!(streams["first_token"]["ok"]["n"], 0);
}

#[test]
fn without_streams_nothing_is_told_of_any() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(2))
        .args(["--fail-if", "gap_p99>1h"])
        .with_results()
        .reporting()
        .ends(5);
    done.says("no answer was a stream");
    assert_eq!(done.report()["streams"], Value::Null);
    assert_eq!(done.results()[0]["tries"][0].get("stream"), None);
    let page = done.again().args(["report", OUT]).output();
    assert!(!page.text().contains("STREAMS"), "{page}");
}

#[test]
fn the_modelled_api_streams_its_tokens_to_whoever_asks_for_that() {
    let job = |stream: &str| {
        format!("{{\"url\":\"http://a.test/v1\",\"body\":{{\"q\":1{stream}}},\"tokens\":50}}\n")
    };
    let done = Shaper::run()
        .jobs("jobs.jsonl", job(r#","stream":true"#) + &job(""))
        .args([
            "--tps",
            "1000",
            "--ordered",
            "--mock=latency=100ms,tokens=20",
        ])
        .with_results()
        .reporting()
        .ends(0);
    let results = done.results();
    let made = &results[0]["tries"][0];
    let stream = &made["stream"];
    assert_eq!(
        [
            &stream["events"],
            &stream["token_events"],
            &stream["output_tokens"]
        ],
        [22, 20, 20],
        "{made}"
    );
    assert_eq!(results[0]["tokens"]["used"], 20);
    // The first of them after a twentieth of the time, and the last when it is whole.
    assert!(ms(&stream["ttft_ms"]) >= 4.0, "{stream}");
    assert!(ms(&results[0]["latency_ms"]) >= 99.0, "{made}");
    assert_eq!(results[1]["body"]["usage"]["total_tokens"], 20);
    assert_eq!(results[1]["tries"][0].get("stream"), None);
    assert_eq!(done.report()["streams"]["answers"], 1);
    // Where answers use no tokens, they are as they were.
    let done = Shaper::run()
        .jobs("jobs.jsonl", job(r#","stream":true"#))
        .args(["--mock=latency=1ms"])
        .with_results()
        .ends(0);
    assert_eq!(done.results()[0]["body"]["ok"], true);
}

#[test]
fn a_stream_that_tells_an_error_is_no_success() {
    let token = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    let server = Server::answering(move |ask| {
        let body = match ask.nth_of_target {
            0 => format!("{token}{error}"),
            _ => format!("{token}data: [DONE]\n\n"),
        };
        Step::ok().body(body).streamed(Duration::from_millis(1))
    });
    for (tries, code) in [("1", 1), ("2", 0)] {
        let list = format!("{}\n", server.url(&format!("/{tries}")));
        let done = Shaper::run()
            .jobs("one.urls", list)
            .args(["--max-attempts", tries, "--backoff", "1ms..1ms"])
            .with_results()
            .ends(code);
        let result = &done.results()[0];
        let first = &result["tries"][0]["error"];
        if code == 1 {
            assert_eq!(result["error"]["kind"], "body_error", "{done}");
            let told = result["error"]["message"].as_str().unwrap_or_default();
            assert!(told.contains("overloaded_error"), "{told}");
        } else {
            assert_eq!(result["attempts"], 2, "{first}");
        }
    }
}
