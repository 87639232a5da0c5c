//! Bodies of answers: compressed, and longer than is kept.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Server, Step};
use crate::support::wire::gzip;
use crate::support::{by_each_transport, message};

/// One try by each transport, with these options.
fn each(server: &Server, options: &[&str], code: i32) -> Vec<Output> {
    by_each_transport(code, || {
        Shaper::run()
            .jobs("one.urls", server.list(1))
            .args(["--max-attempts", "1"])
            .args(options)
            .with_results()
    })
}

#[test]
fn a_compressed_body_is_asked_for_and_stands_in_the_result_as_it_was() {
    let body = gzip(b"{\"usage\":{\"total_tokens\":7}}");
    let server = Server::everywhere(Step::ok().header("Content-Encoding", "gzip").body(body));
    for done in each(&server, &["--tpm", "1000", "--data", "hello"], 0) {
        let result = &done.results()[0];
        assert_eq!(
            result["body"],
            json!({"usage": {"total_tokens": 7}}),
            "{done}"
        );
        assert_eq!(result["tokens"]["used"], 7);
        assert_eq!(result["headers"]["content-encoding"], "gzip", "as it came");
    }
    for seen in server.requests() {
        assert_eq!(
            seen.header("accept-encoding"),
            Some(&b"gzip, deflate, br, zstd"[..])
        );
    }
    let own = ["-H", "Accept-Encoding: identity"];
    each(&server, &own, 0);
    let requests = server.requests();
    for seen in &requests[2..] {
        assert_eq!(seen.header("accept-encoding"), Some(&b"identity"[..]));
    }
}

#[test]
fn the_longest_body_counts_what_it_holds_and_not_what_was_sent() {
    let bomb = gzip(&vec![b'x'; 100_000]);
    assert!(bomb.len() < 1_000);
    let server = Server::everywhere(Step::ok().header("Content-Encoding", "gzip").body(bomb));
    for done in each(&server, &["--max-body", "99999"], 1) {
        let result = &done.results()[0];
        assert_eq!(result["error"]["kind"], "body_too_large", "{done}");
        assert!(message(result).contains("99999 bytes"));
        assert_eq!(result["http_status"], 200, "{done}");
        assert_eq!(result["tries"][0]["http_status"], 200, "{done}");
    }
    for done in each(&server, &["--max-body", "100000"], 0) {
        assert_eq!(
            done.results()[0]["body"].as_str().map(str::len),
            Some(100_000)
        );
    }
}

#[test]
fn a_body_that_is_not_what_it_says_is_told_and_may_be_had_whole_in_another_try() {
    let whole = gzip(b"hello");
    let cut = whole[..whole.len() - 4].to_vec();
    let coded = || Step::ok().header("Content-Encoding", "gzip");
    let server = Server::everywhere(coded().body(cut.clone()));
    for done in each(&server, &[], 1) {
        let result = &done.results()[0];
        assert_eq!(result["error"]["kind"], "incomplete_body", "{done}");
        assert!(message(result).contains("no whole gzip"), "{done}");
    }
    let server = Server::start([coded().body(cut), coded().body(whole)]);
    let done = Shaper::run()
        .jobs("one.urls", server.list(1))
        .args(["--backoff", "1ms..1ms"])
        .with_results()
        .ends(0);
    assert_eq!(done.results()[0]["attempts"], 2);
}

#[test]
fn a_body_that_was_cut_off_is_never_taken_for_a_whole_one() {
    let cut = || Step::ok().body("0123456789").cut(100, 10);
    for (step, said) in [
        (cut(), "after 10 of 100 bytes"),
        (Step::ok().body("0123456789").torn(), "after 10 bytes"),
    ] {
        let server = Server::everywhere(step.clone());
        for done in each(&server, &[], 1) {
            let result = &done.results()[0];
            assert_eq!(result["error"]["kind"], "incomplete_body", "{done}");
            assert!(message(result).contains(said), "{done}");
        }
        for transport in ["direct", "reqwest"] {
            let server = Server::start([step.clone(), Step::ok()]);
            let done = Shaper::run()
                .jobs("one.urls", server.list(1))
                .args(["--backoff", "1ms..1ms", "--transport", transport])
                .with_results()
                .ends(0);
            let result = &done.results()[0];
            let kinds = [
                &result["tries"][0]["error"]["kind"],
                &result["attempts"],
                &result["body"],
            ];
            assert_eq!(kinds, [&json!("incomplete_body"), &json!(2), &json!("ok")]);
            let connections: Vec<_> = server.requests().iter().map(|it| it.connection).collect();
            assert_eq!(connections, [0, 1], "{transport}");
        }
    }
    let server = Server::everywhere(Step::ok().body("hi").until_close());
    for done in each(&server, &[], 0) {
        assert_eq!(done.results()[0]["body"], "hi");
    }
}

#[test]
fn drops_of_a_body_do_not_make_a_try_longer_and_a_gap_ends_it() {
    let dripping = |gap| {
        let step = Step::ok().body(["x"; 20].concat());
        Server::answering(move |ask| match ask.target {
            "/0" => step.clone().dripping(Duration::from_millis(gap)),
            _ => Step::ok(),
        })
    };
    let run = |server: &Server, code, options: [&str; 4]| {
        let list = server.list(2);
        let shaper = || {
            Shaper::run()
                .jobs("two.urls", list.clone())
                .args(["--max-attempts", "1", "-c", "2"])
                .args(options)
                .with_results()
        };
        by_each_transport(code, shaper)
    };
    for (server, code, options) in [
        (
            dripping(200),
            1,
            ["--timeout", "1500ms", "--read-timeout", "20s"],
        ),
        (
            dripping(5_000),
            1,
            ["--timeout", "60s", "--read-timeout", "1s"],
        ),
        (
            dripping(10),
            0,
            ["--timeout", "60s", "--read-timeout", "20s"],
        ),
    ] {
        for done in run(&server, code, options) {
            let results = done.results();
            let of = |target: &str| {
                let mut all = results.iter();
                let found =
                    all.find(|it| it["url"].as_str().is_some_and(|url| url.ends_with(target)));
                found.expect("both have a result").clone()
            };
            assert_eq!(of("/1")["status"], "ok", "{done}");
            let slow = of("/0");
            if code == 0 {
                assert_eq!(slow["body"], ["x"; 20].concat());
            } else {
                assert_eq!(slow["error"]["kind"], "timeout", "{done}");
                assert!(message(&slow).contains("(phase: body)"), "{done}");
            }
        }
    }
}

#[test]
fn extensions_of_chunks_and_trailers_leave_the_connection_in_step() {
    for transport in ["direct", "reqwest"] {
        let server = Server::everywhere(Step::ok().body("hello, world").trailed());
        let done = Shaper::run()
            .jobs("two.urls", server.list(2))
            .args(["-c", "1", "--transport", transport])
            .with_results()
            .ends(0);
        for result in done.results() {
            assert_eq!(result["body"], "hello, world");
        }
        let connections: Vec<_> = server.requests().iter().map(|it| it.connection).collect();
        assert_eq!(connections, [0, 0], "{transport}");
    }
}

#[test]
fn a_stream_of_events_is_read_to_its_end_and_its_last_word_on_usage_counts() {
    let event = |text: &str| format!("data: {text}\n\n");
    let stream = event("{\"delta\":\"a\",\"usage\":null}")
        + &event("{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11}}")
        + &event("[DONE]");
    let step = Step::ok()
        .header("Content-Type", "text/event-stream; charset=utf-8")
        .body(&stream)
        .chunked();
    let server = Server::everywhere(step);
    for done in each(&server, &["--tpm", "1000", "--data", "hello"], 0) {
        let result = &done.results()[0];
        assert_eq!(result["body"], stream, "{done}");
        assert_eq!(result["tokens"]["used"], 11, "{done}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn bodies_that_do_not_end_take_their_most_and_a_mebibyte_for_each_slot() {
    const SLOTS: usize = 16;
    let most_resident = |step: Step| {
        let server = Server::everywhere(step);
        let mut running = Shaper::run()
            .args(["-", "-c", &SLOTS.to_string(), "--max-body", "1MiB"])
            .args(["--max-attempts", "1"])
            .stdin_stays_open()
            .with_results()
            .start();
        running.write(&server.list(4 * SLOTS));
        let out = running.path(OUT);
        running.until("all results", || {
            fs::read_to_string(&out).is_ok_and(|lines| lines.lines().count() == 4 * SLOTS)
        });
        let status = format!("/proc/{}/status", running.id());
        let status = fs::read_to_string(status).expect("it runs");
        running.wait();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let most = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let most: Option<usize> = most.and_then(|most| most.parse().ok());
        most.expect("Linux tells it") << 10
    };
    let usual = most_resident(Step::ok());
    let long = most_resident(Step::ok().body(vec![b'x'; 3 << 20]).until_close());
    let held = long.saturating_sub(usual);
    assert!(held <= SLOTS * (2 << 20), "{held} bytes, beside {usual}");
}
