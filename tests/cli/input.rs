//! Job files as people write them: every line is a job, a comment or one `invalid` result.

use std::fmt::Write as _;
use std::fs;

use serde_json::json;

use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Seen, Server, Step};
use crate::support::wire::gzip;
use crate::support::{case, message, statuses};

#[test]
fn a_list_saved_on_windows_has_its_urls_and_nothing_else() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("01-bom-crlf.urls", &server)
        .with_results()
        .ends(0);
    done.never_says("warning");
    assert_eq!(server.targets(), ["/a", "/b"]);
    assert_eq!(statuses(&done.results()), ["ok", "ok"]);
}

#[test]
fn blank_lines_and_comments_are_no_jobs_but_count_as_lines() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("04-blanks-comments.urls", &server)
        .with_results()
        .ends(0);
    assert_eq!(server.targets(), ["/a", "/b", "/c", "/d"]);
    let results = done.results();
    let lines: Vec<_> = results.iter().map(|line| &line["line"]).collect();
    assert_eq!(lines, [4, 5, 7, 8]);
}

#[test]
fn blank_lines_are_no_jobs_in_jsonl() {
    let server = Server::start([Step::ok()]);
    Shaper::run()
        .case("04-blank.jsonl", &server)
        .with_results()
        .ends(0);
    assert_eq!(server.targets(), ["/a", "/b"]);
}

#[test]
fn limit_jobs_counts_jobs_and_not_lines() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("04-blanks-comments.urls", &server)
        .args(["--limit-jobs", "2"])
        .with_results()
        .ends(0);
    assert_eq!(server.targets(), ["/a", "/b"]);
    assert_eq!(done.results().len(), 2);
}

#[test]
fn the_last_line_needs_no_newline() {
    for file in [
        "05-noeol.jsonl",
        "05-noeol.urls",
        "05-noeol.csv",
        "05-noeol.vegeta",
    ] {
        let server = Server::start([Step::ok()]);
        let done = Shaper::run().case(file, &server).with_results().ends(0);
        assert_eq!(server.targets(), ["/a", "/b"], "{file}");
        assert_eq!(statuses(&done.results()), ["ok", "ok"], "{file}");
    }
}

#[test]
fn a_bad_byte_is_one_invalid_result_and_is_never_sent() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("06-bad-utf8.jsonl", &server)
        .with_results()
        .reporting()
        .ends(1);
    assert_eq!(server.targets(), ["/a", "/c"]);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "invalid", "ok"]);
    assert_eq!(results[1]["line"], 2);
    assert!(message(&results[1]).contains("UTF-8"), "{}", results[1]);
    let counts = done.counts();
    assert_eq!((counts.ok, counts.invalid), (2, 1));
}

#[test]
fn strict_sends_nothing_when_any_line_is_bad() {
    let files = [
        ("06-bad-utf8.jsonl", ":2:"),
        ("09-dup-ids.jsonl", ":3:"),
        ("10-missing.jsonl", ":1:"),
        ("13-nan.jsonl", ":2:"),
        ("28-schemes.urls", ":1:"),
    ];
    for (file, place) in files {
        let server = Server::start([Step::ok()]);
        let done = Shaper::run()
            .case(file, &server)
            .args(["--strict"])
            .with_results()
            .ends(2);
        done.says(&format!("{file}{place}"));
        assert_eq!(server.requests().len(), 0, "{done}");
    }
    let server = Server::start([Step::ok()]);
    let unknown = Shaper::run()
        .case("12-unknown.jsonl", &server)
        .args(["--strict"])
        .with_results()
        .ends(2);
    unknown.says("unknown field \"metod\"\n  mend: did you mean \"method\"?");
    assert_eq!(server.requests().len(), 0, "{unknown}");
}

#[test]
fn strict_reads_all_of_stdin_before_it_sends() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .args(["-", "--strict"])
        .stdin(case("06-bad-utf8.jsonl", &server))
        .with_results()
        .ends(2);
    assert_eq!(server.requests().len(), 0, "{done}");

    Shaper::run()
        .args(["-", "--strict"])
        .stdin(server.list(3))
        .with_results()
        .ends(0);
    assert_eq!(server.targets(), ["/0", "/1", "/2"]);
}

#[test]
fn a_line_of_ten_mebibytes_is_sent_whole() {
    const SIZE: usize = 10 << 20;
    let server = Server::start([Step::ok()]);
    let mut file = String::new();
    for (id, target, body) in [("a", "/a", 0), ("big", "/big", SIZE), ("c", "/c", 0)] {
        let url = server.url(target);
        write!(file, r#"{{"id":"{id}","url":"{url}""#).expect("memory does not fail");
        if body > 0 {
            file.push_str(r#","method":"POST","body":""#);
            file.extend(std::iter::repeat_n('x', body));
            file.push('"');
        }
        file.push_str("}\n");
    }
    let done = Shaper::run().jobs("big.jsonl", file).with_results().ends(0);
    assert_eq!(server.targets(), ["/a", "/big", "/c"]);
    let requests = server.requests();
    let big = requests.iter().find(|seen| seen.target == "/big");
    let body = &big.expect("it is among the targets").body;
    assert_eq!(body.len(), SIZE);
    assert!(body.iter().all(|byte| *byte == b'x'));
    assert_eq!(statuses(&done.results()), ["ok", "ok", "ok"]);
}

#[test]
fn a_second_job_with_the_same_id_is_invalid_and_names_both_lines() {
    let server = Server::start([Step::ok()]);
    let from_file = Shaper::run().case("09-dup-ids.jsonl", &server);
    let from_pipe = Shaper::run()
        .args(["-"])
        .stdin(case("09-dup-ids.jsonl", &server));
    for (nth, run) in [from_file, from_pipe].into_iter().enumerate() {
        let done = run.with_results().ends(1);
        assert_eq!(server.requests().len(), 2 * (nth + 1), "{done}");
        let results = done.results();
        assert_eq!(statuses(&results), ["ok", "ok", "invalid"]);
        let words = message(&results[2]);
        let expected = "duplicate id \"a\" (lines 1 and 3)";
        assert!(words.contains(expected), "{words}");
    }
    assert_eq!(server.targets(), ["/0", "/0", "/1", "/1"]);
}

#[test]
fn a_job_without_a_url_is_invalid_and_one_without_a_method_is_a_get() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("10-missing.jsonl", &server)
        .with_results()
        .ends(1);
    let results = done.results();
    let expected = ["invalid", "invalid", "invalid", "invalid", "ok"];
    assert_eq!(statuses(&results), expected);
    for (nth, result) in results[..4].iter().enumerate() {
        assert_eq!(result["line"], nth + 1);
        assert!(message(result).contains("\"url\""), "{result}");
    }
    let requests = server.requests();
    assert_eq!((requests.len(), requests[0].method.as_str()), (1, "GET"));
}

#[test]
fn an_unknown_field_is_a_warning_with_a_suggestion() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("12-unknown.jsonl", &server)
        .with_results()
        .ends(0);
    done.says("unknown field \"metod\"\n  mend: did you mean \"method\"?")
        .never_says("\"meta\"");
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "ok"]);
    assert_eq!(results[1]["meta"], json!({"row": 1}));
}

#[test]
fn nan_and_infinity_are_not_valid_json() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("13-nan.jsonl", &server)
        .with_results()
        .ends(1);
    assert_eq!(server.targets(), ["/a", "/d"]);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "invalid", "invalid", "ok"]);
    for result in &results[1..3] {
        assert!(message(result).contains("not valid JSON"), "{result}");
    }
}

#[test]
fn a_body_goes_out_byte_for_byte_however_deep_it_is() {
    let server = Server::start([Step::ok()]);
    Shaper::run()
        .case("14-deep200.jsonl", &server)
        .args(["-c", "1"])
        .with_results()
        .ends(0);
    let requests = server.requests();
    let deep = "[".repeat(200) + &"]".repeat(200);
    assert_eq!(String::from_utf8_lossy(&requests[0].body), deep);
    let kind = requests[0].header("content-type");
    assert_eq!(kind, Some(b"application/json".as_slice()));
    assert_eq!(requests[1].target, "/after");
}

#[test]
fn a_hundred_thousand_levels_cannot_end_the_run() {
    const LEVELS: usize = 100_000;
    let server = Server::start([Step::ok()]);
    let (open, shut) = ("[".repeat(LEVELS), "]".repeat(LEVELS));
    let (deep, after) = (server.url("/deep"), server.url("/after"));
    let file = format!(
        "{{\"id\":\"deep\",\"method\":\"POST\",\"url\":\"{deep}\",\"body\":{open}{shut}}}\n\
         {{\"id\":\"after\",\"url\":\"{after}\"}}\n"
    );
    let done = Shaper::run()
        .jobs("deep.jsonl", file)
        .with_results()
        .output();
    let results = done.results();
    assert_eq!(results[1]["status"], "ok", "{done}");
    if results[0]["status"] == "ok" {
        done.exits(0);
        let requests = server.requests();
        let sent = requests.iter().find(|seen| seen.target == "/deep");
        assert_eq!(sent.expect("it is ok").body, (open + &shut).as_bytes());
    } else {
        done.exits(1);
        assert_eq!(results[0]["status"], "invalid");
        assert!(message(&results[0]).contains("deep"), "{}", results[0]);
    }
}

#[test]
fn header_values_go_out_as_the_utf8_of_the_file() {
    let server = Server::start([Step::ok()]);
    Shaper::run()
        .case("19-header-utf8.jsonl", &server)
        .with_results()
        .ends(0);
    let requests = server.requests();
    assert_eq!(requests[0].header("x-name"), Some("Zoë".as_bytes()));
    assert_eq!(
        requests[0].header("user-agent"),
        Some("Версия/1".as_bytes())
    );
}

#[test]
fn a_get_may_have_a_body_and_only_a_post_says_that_it_has_none() {
    let server = Server::start([Step::ok()]);
    Shaper::run()
        .case("21-get-body.jsonl", &server)
        .args(["-c", "1"])
        .with_results()
        .ends(0);
    let seen: Vec<_> = server
        .requests()
        .iter()
        .map(|it| {
            let length = it.header("content-length").map(<[u8]>::to_vec);
            assert_eq!(it.header("transfer-encoding"), None, "{it:?}");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (
                it.method.clone(),
                length.as_deref().map(text),
                text(&it.body),
            )
        })
        .collect();
    let expected = [
        ("GET", Some("7"), r#"{"q":1}"#),
        ("GET", None, ""),
        ("DELETE", Some("1"), "x"),
        ("POST", Some("0"), ""),
    ]
    .map(|(method, length, body)| (method.into(), length.map(Into::into), body.into()));
    assert_eq!(seen, expected);
}

#[test]
fn a_body_file_is_relative_to_its_job_file() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .file("there/22-body.txt", case("22-body.txt", &server))
        .jobs(
            "there/22-body-file.jsonl",
            case("22-body-file.jsonl", &server),
        )
        .with_results()
        .ends(1);
    let results = done.results();
    assert_eq!(statuses(&results), ["invalid", "ok", "invalid"]);
    for part in ["there/nope.json", "No such file"] {
        assert!(message(&results[0]).contains(part), "{}", results[0]);
    }
    assert!(message(&results[2]).contains("directory"), "{}", results[2]);
    assert_eq!(server.targets(), ["/b"]);
    assert_eq!(server.requests()[0].body, b"hello from a file\n");
}

#[test]
fn a_url_is_written_by_the_whatwg_rules_and_escaped_once() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("24-spaces.urls", &server)
        .with_results()
        .ends(0);
    let expected = ["/%2Fok", "/%zz?a=%", "/a%20b?q=x%20y", "/p|q?x=[1]&y={z}"];
    assert_eq!(server.targets(), expected);
    let written = server.url("/a b?q=x y");
    assert_eq!(
        done.results()[0]["url"],
        written,
        "as it stands in the file"
    );
}

#[test]
fn only_http_urls_are_sent_and_no_scheme_is_guessed() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("28-schemes.urls", &server)
        .with_results()
        .ends(1);
    assert_eq!(server.targets(), ["/d", "/f"]);
    let results = done.results();
    let missing = "no scheme, did you mean http://";
    let hints = [
        missing,
        missing,
        "relative URL needs --base-url",
        missing,
        "scheme not supported",
        "scheme not supported",
    ];
    for (result, hint) in results.iter().zip(hints) {
        assert_eq!(result["status"], "invalid", "{result}");
        assert!(message(result).contains(hint), "no {hint} in {result}");
    }
    assert_eq!(statuses(&results[6..]), ["ok", "ok"]);
}

#[test]
fn an_input_without_jobs_is_a_usage_error_unless_it_is_allowed() {
    let server = Server::start([Step::ok()]);
    for file in ["29-empty.jsonl", "29-comments.urls"] {
        let refused = Shaper::run().case(file, &server).with_results().ends(2);
        refused.says(&format!("no requests in {file}"));
        assert!(!refused.path(OUT).exists(), "{refused}");

        let allowed = Shaper::run()
            .case(file, &server)
            .args(["--allow-empty"])
            .with_results()
            .ends(0);
        allowed.never_says("NaN");
    }
    let stdin = Shaper::run().args(["-"]).with_results().ends(2);
    stdin.says("no requests in");
    assert!(!stdin.path(OUT).exists(), "{stdin}");
}

#[test]
fn an_input_without_jobs_leaves_old_results_alone() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("29-empty.jsonl", &server)
        .file(OUT, "{\"seq\":0}\n")
        .args(["--overwrite"])
        .with_results()
        .ends(2);
    let kept = fs::read_to_string(done.path(OUT)).expect("it was there before");
    assert_eq!(kept, "{\"seq\":0}\n");
}

#[test]
fn input_that_ends_inside_a_record_is_one_invalid_result() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .args(["-"])
        .stdin(case("30-torn-stdin.txt", &server))
        .with_results()
        .ends(1);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "invalid"]);
    let words = message(&results[1]);
    assert!(words.contains("input ends inside a record"), "{words}");
    assert_eq!(server.targets(), ["/a"]);
}

#[test]
fn a_job_is_sent_when_its_line_comes_and_not_when_the_pipe_ends() {
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .args(["-"])
        .with_results()
        .stdin_stays_open()
        .start();
    running.write(&format!("{}\n", server.url("/first")));
    running.until("the first request", || server.requests().len() == 1);
    running.write(&format!("{}\n", server.url("/second")));
    running.until("the second request", || server.requests().len() == 2);
    let done = running.wait();
    done.exits(0);
    assert_eq!(statuses(&done.results()), ["ok", "ok"]);
}

#[test]
fn a_pipe_is_read_without_being_named() {
    let server = Server::start([Step::ok()]);
    Shaper::run().stdin(server.list(2)).with_results().ends(0);
    assert_eq!(server.targets(), ["/0", "/1"]);
}

#[test]
fn a_json_array_is_taken_apart_and_its_first_break_told() {
    let server = Server::start([Step::ok()]);
    let (a, b, c) = (server.url("/a"), server.url("/b"), server.url("/c"));
    let whole = format!("[\n  {{\"url\": {a:?}, \"meta\": [1]}},\n  {{\"url\": {b:?}}}\n]\n");
    let done = Shaper::run()
        .jobs("jobs.json", whole)
        .with_results()
        .ends(0);
    let results = done.results();
    assert_eq!(
        (&results[0]["line"], &results[1]["line"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(results[0]["meta"], json!([1]));
    let broken = format!("[{{\"url\":{a:?}}},\n{{\"url\":{b:?}}} {{\"url\":{c:?}}}]");
    let done = Shaper::run()
        .jobs("jobs.json", broken)
        .with_results()
        .ends(1);
    assert_eq!(server.targets(), ["/a", "/a", "/b", "/b"]);
    let results = done.results();
    assert_eq!(statuses(&results), ["ok", "ok", "invalid"]);
    let told = message(&results[2]);
    assert!(
        told.contains("between two elements a comma is due"),
        "{told}"
    );
    assert!(told.contains("is unread"), "{told}");
}

#[test]
fn compressed_jobs_are_read_as_they_were_and_a_cut_archive_is_no_normal_end() {
    let server = Server::start([Step::ok()]);
    let list = server.list(2000);
    let packed = gzip(list.as_bytes());
    let done = Shaper::run()
        .args(["-c", "50"])
        .jobs("jobs.urls.gz", &packed)
        .with_results()
        .ends(0);
    assert_eq!(done.results().len(), 2000);
    let cut = &packed[..packed.len() / 2];
    let done = Shaper::run()
        .args(["-c", "50"])
        .jobs("jobs.urls.gz", cut)
        .with_results()
        .ends(1);
    done.says("its gzip data is cut off").says("gzip -t FILE");
    assert!(done.results().len() < 2000);
    let none = Shaper::run()
        .jobs("jobs.urls.gz", &packed[..12])
        .with_results()
        .ends(2);
    none.says("jobs.urls.gz: cannot be read: its gzip data is cut off");
}

#[test]
fn utf_16_is_refused_with_the_command_that_mends_it() {
    let list = "\u{feff}http://h.test/a\r\n";
    let bytes: Vec<u8> = list.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let done = Shaper::run()
        .jobs("jobs.urls", bytes)
        .with_results()
        .ends(2);
    done.says("it is UTF-16").says("iconv -f UTF-16 -t UTF-8");
}

#[test]
fn a_table_is_sent_row_by_row_with_the_line_on_which_each_begins() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .case("16-multiline.csv", &server)
        .with_results()
        .ends(0);
    let results = done.results();
    assert_eq!(
        (&results[0]["line"], &results[1]["line"]),
        (&json!(2), &json!(4))
    );
    let requests = server.requests();
    let first = requests
        .iter()
        .find(|seen| seen.target == "/1")
        .expect("it was sent");
    assert_eq!(first.body, b"line1\nline \"2\"\r3");
    let second = requests
        .iter()
        .find(|seen| seen.target == "/2")
        .expect("it was sent");
    assert_eq!((&*second.method, second.body.len()), ("GET", 0));
    let ragged = Shaper::run()
        .case("18-ragged.csv", &server)
        .with_results()
        .ends(1);
    assert_eq!(
        statuses(&ragged.results()),
        ["invalid", "invalid", "ok", "ok"]
    );
    Shaper::run()
        .case("18-quotes.tsv", &server)
        .with_results()
        .ends(0);
    let last = server.requests().pop().expect("it was sent");
    assert_eq!(last.body, br#"{"a": 1}"#);
}

#[test]
fn a_table_without_urls_is_refused_before_anything_is_sent() {
    let done = Shaper::run()
        .jobs("jobs.csv", "id,URL\na,http://h.test/\n")
        .with_results()
        .ends(2);
    done.says("jobs.csv:1:1: no column is \"url\"");
}

#[test]
fn requests_of_an_openai_batch_go_to_the_base_url_and_nowhere_else() {
    let server = Server::start([Step::ok()]);
    let base = server.url("");
    let batch = || Shaper::run().case("32-batch.jsonl", &server).with_results();
    let done = batch().args(["--base-url", &base]).ends(1);
    assert_eq!(server.targets(), ["/v1/chat/completions"]);
    let results = done.results();
    assert_eq!(
        statuses(&results),
        ["ok", "invalid", "invalid", "invalid", "invalid"]
    );
    assert_eq!(results[0]["id"], "q-1");
    batch().ends(2).says("needs --base-url");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_batch_is_sent_again_when_no_answer_came_unless_that_is_ruled_out() {
    let request = "{\"custom_id\":\"a\",\"params\":{\"max_tokens\":1}}\n";
    for (options, tries) in [(&[][..], 2), (&["--retry-unsafe", "idempotent"][..], 1)] {
        let server = Server::start([Step::close(), Step::ok()]);
        let base = server.url("");
        let done = Shaper::run()
            .jobs("batch.jsonl", request)
            .args(["--base-url", &base, "--backoff", "1ms..1ms"])
            .args(options.iter().copied())
            .with_results()
            .output();
        assert_eq!(done.results()[0]["attempts"], tries, "{done}");
        let requests = server.requests();
        assert_eq!(
            requests[0].header("anthropic-version"),
            Some(&b"2023-06-01"[..])
        );
    }
}

#[test]
fn bodies_of_the_cookbook_are_sent_without_their_metadata() {
    let server = Server::start([Step::ok()]);
    let line = "{\"model\":\"m\",\"input\":\"x\",\"metadata\":{\"row_id\":7}}\n";
    let url = server.url("/v1/embeddings");
    let run = || Shaper::run().jobs("lines.jsonl", line).with_results();
    let done = run().args(["--request-url", &url]).ends(0);
    assert_eq!(done.results()[0]["meta"], json!({"row_id": 7}));
    assert_eq!(server.requests()[0].body, br#"{"model":"m","input":"x"}"#);
    run().ends(2).says("needs --request-url");
}

#[test]
fn targets_of_vegeta_are_sent_with_headers_and_bodies() {
    let server = Server::start([Step::ok()]);
    Shaper::run()
        .case("23-targets.vegeta", &server)
        .file("23-body.json", case("23-body.json", &server))
        .with_results()
        .ends(0);
    let mut requests = server.requests();
    requests.sort_by(|one, other| one.target.cmp(&other.target));
    let said: Vec<_> = requests
        .iter()
        .map(|seen| (&*seen.method, &*seen.target))
        .collect();
    assert_eq!(
        said,
        [
            ("GET", "/a"),
            ("POST", "/b"),
            ("PURGE", "/c"),
            ("GET", "/d")
        ]
    );
    assert_eq!(requests[0].header("x-a"), Some(&b"1"[..]));
    assert_eq!(requests[1].body, b"{\"n\":1}\n");
    assert_eq!(
        requests[1].header("content-type"),
        Some(&b"application/json"[..])
    );
}

#[test]
fn a_log_is_sent_without_its_noise_which_is_no_failure() {
    let server = Server::start([Step::ok()]);
    let base = server.url("");
    let log = || {
        Shaper::run()
            .case("34-access.log", &server)
            .args(["--base-url", &base])
    };
    let done = log().with_results().reporting().ends(0);
    assert_eq!(server.targets(), ["/a?x=1", "/b?s=%22hi%22", "/c?x=a%20b"]);
    let results = done.results();
    assert_eq!(
        statuses(&results),
        ["ok", "skipped", "skipped", "ok", "ok", "skipped"]
    );
    assert_eq!(results[1]["error"]["kind"], "skipped", "{}", results[1]);
    assert!(
        message(&results[2]).contains("malformed request"),
        "{}",
        results[2]
    );
    assert!(message(&results[5]).contains("no body"), "{}", results[5]);
    assert_eq!(done.report()["counts"]["skipped"], 3);
    let again = done
        .again()
        .args(["run", "34-access.log", "--base-url", &base, "--resume"])
        .with_results()
        .ends(0);
    assert_eq!((server.requests().len(), again.results().len()), (3, 6));
    log().args(["--strict", "-o", "other.jsonl"]).ends(0);
    Shaper::run()
        .case("34-access.log", &server)
        .ends(2)
        .says("needs --base-url");
}

#[test]
fn recordings_are_sent_with_their_credentials_which_are_never_written() {
    for file in ["browser.har", "traffic.gor"] {
        let server = Server::start([Step::ok()]);
        let done = Shaper::run().case(file, &server).with_results().ends(0);
        done.never_says("canary");
        let mut targets = server.targets();
        targets.sort();
        assert_eq!(targets[..3], ["/a?b=1", "/b", "/c"], "{file}");
        let requests = server.requests();
        let first = requests
            .iter()
            .find(|seen| seen.target == "/a?b=1")
            .expect("it was sent");
        assert_eq!(first.header("authorization"), Some(&b"Bearer canary"[..]));
        for written in done.files() {
            let text = String::from_utf8_lossy(&done.bytes(&written)).into_owned();
            assert!(
                written == file || !text.contains("canary"),
                "{file}: {written}"
            );
        }
    }
}

#[test]
fn the_fixtures_of_each_format_run() {
    let base = ["--base-url", "http://api.test"];
    let url = ["--request-url", "http://api.test/v1/embeddings"];
    let fields = [
        "--base-url",
        "http://api.test",
        "--log-fields",
        "url=/http/url,method=/http/verb,at=ts,took_ms=ms,body=sent",
    ];
    for (file, options) in [
        ("items.json", &[][..]),
        ("items.csv", &[]),
        ("targets.vegeta", &[]),
        ("openai-batch.jsonl", &base),
        ("anthropic-batch.json", &base),
        ("cookbook.jsonl", &url),
        ("browser.har", &[]),
        ("access.log", &base),
        ("service-log.jsonl", &fields),
        ("traffic.gor", &[]),
    ] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/inputs/").to_owned() + file;
        let done = Shaper::run()
            .args(["--mock=latency=1ms", &path])
            .args(options.iter().copied())
            .with_results()
            .ends(0);
        done.never_says("unknown field");
        assert!(done.results().len() > 1, "{file}");
    }
}

/// The first lines of what is told of invalid rows.
fn faults(done: &Output) -> Vec<String> {
    let all = done.results().into_iter();
    let told = all.filter_map(|result| Some(result["error"]["message"].as_str()?.to_owned()));
    told.map(|message| message.lines().next().unwrap_or_default().to_owned())
        .collect()
}

/// A body that arrived.
fn body(seen: &Seen) -> &str {
    std::str::from_utf8(&seen.body).expect("it is text")
}

#[test]
fn a_url_is_filled_from_each_row() {
    let server = Server::start([Step::ok()]);
    let template = server.url("/items/{{id}}?q={{name}}");
    let run = |option: &str| {
        Shaper::run()
            .args([option, template.as_str()])
            .with_results()
    };
    for option in ["--url", "--url-template"] {
        let done = run(option)
            .jobs("rows.csv", "id,name\n1,a/b\n2,x y\n")
            .ends(0);
        done.never_says("unknown field");
        assert_eq!(done.results()[0]["meta"], json!({"name": "a/b"}));
    }
    run("--url").args(["-"]).stdin("id,name\n1,x\n").ends(0);
    let each = ["/items/1?q=a%2Fb", "/items/2?q=x%20y"];
    assert_eq!(
        server.targets(),
        [each[0], each[0], "/items/1?q=x", each[1], each[1]]
    );
    let urls = run("--url").args(["-"]).stdin("http://h/a\n").ends(2);
    urls.says("nothing for --url").says("--format csv");
    let wrong = Shaper::run().args(["--url", "http://h/{{", "-"]).ends(2);
    wrong.says("{{id}}");
}

#[test]
fn a_request_of_the_command_line_is_filled_from_hostile_cells() {
    let server = Server::start([Step::ok()]);
    let rows = "id,name,n\n1,\"a \"\"q\"\" \\ {{id}}\nb\",7\n2,}},x\n3,,true\n";
    let done = Shaper::run()
        .args(["-X", "PUT", "--url", &server.url("/items")])
        .args([
            "--data",
            r#"{"text":"<{{name}}>","n":{{n}},"row":{{seq}},"also":"{{n}}"}"#,
        ])
        .args([
            "-H",
            "x-row: {{ id }}/{{n}} {{ \"{{\" }}",
            "-H",
            "x-all: yes",
        ])
        .jobs("rows.csv", rows)
        .args(["-c", "1"])
        .with_results()
        .ends(0);
    let seen = server.requests();
    let bodies: Vec<_> = seen.iter().map(body).collect();
    assert_eq!(
        bodies,
        [
            r#"{"text":"<a \"q\" \\ {{id}}\nb>","n":7,"row":0,"also":"7"}"#,
            r#"{"text":"<}}>","n":"x","row":1,"also":"x"}"#,
            r#"{"text":"<>","n":true,"row":2,"also":"true"}"#,
        ]
    );
    for (seen, row) in seen.iter().zip(["1/7 {{", "2/x {{", "3/true {{"]) {
        assert_eq!(seen.method, "PUT");
        assert_eq!(seen.header("x-row"), Some(row.as_bytes()));
        assert_eq!(seen.header("x-all"), Some(&b"yes"[..]));
        assert_eq!(seen.header("content-type"), Some(&b"application/json"[..]));
    }
    assert_eq!(done.results()[1]["meta"], json!({"name": "}}", "n": "x"}));
}

#[test]
fn objects_are_rows_where_the_url_is_of_the_command_line() {
    let server = Server::start([Step::ok()]);
    let rows = [
        r#"{"id":7,"city":"Z\u00fcrich \"A\"","tags":["a", 1],"url":"no","model":"m","input":1}"#,
        r#"{"id":8,"city":"x","tags":null}"#,
        r#"{"id":9,"tags":1}"#,
        r#"{"id":10,"city":null,"tags":1}"#,
    ];
    let run = |file: &str, text: &str| {
        let run = Shaper::run()
            .args(["--url", &server.url("/geo/{{id}}?q={{city}}"), "-c", "1"])
            .args(["--data", r#"{"tags":{{tags}},"say":"{{city}} {{tags}}"}"#]);
        run.jobs(file, text).with_results().output()
    };
    let done = run("rows.jsonl", &(rows.join("\n") + "\n"));
    done.exits(1);
    assert_eq!(
        faults(&done),
        [
            "rows.jsonl:3:1: \"city\" is missing",
            "rows.jsonl:4:17: \"city\" is null",
        ]
    );
    let targets = ["/geo/7?q=Z%C3%BCrich%20%22A%22", "/geo/8?q=x"];
    let bodies = [
        r#"{"tags":["a", 1],"say":"Z\u00fcrich \"A\" [\"a\", 1]"}"#,
        r#"{"tags":null,"say":"x null"}"#,
    ];
    let seen = server.requests();
    assert_eq!(seen.iter().map(body).collect::<Vec<_>>(), bodies);
    assert_eq!(server.targets(), targets);
    let results = done.results();
    assert_eq!(results[0]["id"], "7");
    assert_eq!(results[0]["meta"]["tags"], json!(["a", 1]));
    assert_eq!(results[0]["meta"]["url"], "no");
    run("rows.json", &format!("[{}]", rows[..2].join(",\n"))).exits(0);
    assert_eq!(
        server.targets(),
        [targets[0], targets[0], targets[1], targets[1]]
    );
}

#[test]
fn a_name_that_no_row_has_is_told_before_anything_is_sent() {
    let server = Server::start([Step::ok()]);
    for (file, rows) in [
        ("rows.csv", "id,city name\n1,x\n"),
        ("rows.jsonl", "{\"id\":1,\"city name\":\"x\"}\n"),
    ] {
        for (option, text) in [
            ("--url", "/{{city_name}}"),
            ("--data", "{{city_name}}"),
            ("-H", "x-a: {{city_name}}"),
        ] {
            let url = if option == "--url" { text } else { "/" };
            let run = Shaper::run().args(["--url", &server.url(url)]);
            let run = match option {
                "--url" => run,
                option => run.args([option, text]),
            };
            let done = run.jobs(file, rows).ends(2);
            done.says(option)
                .says("names \"city_name\", which is no column; there are \"id\", \"city name\"")
                .says("did you mean {{city name}}?");
        }
    }
    assert_eq!(server.targets(), [""; 0]);
}

#[test]
fn each_job_has_a_uuid_of_its_own_that_stays_over_its_tries_and_the_runs_of_its_results() {
    let server = Server::answering(|ask| match ask.target {
        "/b" => Step::status(503),
        _ => Step::ok(),
    });
    let run = |shaper: Shaper| {
        let shaper = shaper.args(["--url", &server.url("/{{name}}"), "--data", "{{uuid}}"]);
        shaper.args(["-c", "1", "--backoff", "1ms..1ms", "--max-attempts", "2"])
    };
    let done = run(Shaper::run())
        .jobs("rows.csv", "name\na\nb\na\n")
        .with_results()
        .ends(1);
    let seen = server.requests();
    let of = |target: &str| {
        let own = seen.iter().filter(|seen| seen.target == target);
        own.map(|seen| body(seen).to_owned()).collect::<Vec<_>>()
    };
    let (a, b) = (of("/a"), of("/b"));
    assert_eq!((a.len(), b.len()), (2, 2));
    assert!(a[0] != a[1] && a[0] != b[0] && b[0] == b[1], "{a:?} {b:?}");
    assert_eq!(a[0].len(), 36);
    run(done.again().args(["run"]))
        .args(["rows.csv", "-o", OUT, "--resume", "--retry-failed"])
        .ends(1);
    let last: Vec<_> = server.requests()[seen.len()..]
        .iter()
        .map(|seen| body(seen).to_owned())
        .collect();
    assert_eq!(last, b);
}

#[test]
fn a_variable_of_the_environment_is_sent_and_written_nowhere() {
    let server = Server::answering(|ask| match ask.target {
        "/canary%2F1/a" => Step::status(302).header("location", "b"),
        _ => Step::ok(),
    });
    let run = || {
        Shaper::run()
            .args(["--url", &server.url("/{{env:TOKEN}}/{{name}}"), "-L", "-vv"])
            .args([
                "--data",
                r#"{"k":"{{env:TOKEN}}"}"#,
                "-H",
                "x-k: {{env:TOKEN}}",
            ])
            .args(["-H", "authorization: Bearer {{pw}}", "-X", "GET"])
            .jobs("rows.csv", "name,pw\na,secret-canary\n")
    };
    let done = run().env("TOKEN", "canary/1").with_results().ends(0);
    done.never_says("canary");
    let seen = server.requests();
    assert_eq!(seen[0].target, "/canary%2F1/a");
    assert_eq!(seen[1].target, "/canary%2F1/b");
    assert_eq!(body(&seen[0]), r#"{"k":"canary/1"}"#);
    assert_eq!(seen[0].header("x-k"), Some(&b"canary/1"[..]));
    assert_eq!(
        seen[0].header("authorization"),
        Some(&b"Bearer secret-canary"[..])
    );
    let result = &done.results()[0];
    assert_eq!(result["url"], server.url("/***/a"));
    assert_eq!(result["meta"], json!({"name": "a", "pw": "***"}));
    for file in done.files().iter().filter(|file| *file != "rows.csv") {
        let text = String::from_utf8_lossy(&done.bytes(file)).into_owned();
        assert!(!text.contains("canary"), "{file}: {text}");
    }
    let other = run().env("TOKEN", "other").with_results().output();
    assert_eq!(other.results()[0]["job"], result["job"]);
    let unset = run().ends(2);
    unset.says("--url names {{env:TOKEN}}, and this variable is not set");
    let host = Shaper::run()
        .args(["--url", "http://{{env:TOKEN}}/a"])
        .env("TOKEN", "canary")
        .jobs("rows.csv", "name\na\n")
        .ends(2);
    host.says("--base-url").never_says("canary");
}

#[test]
fn a_row_that_would_break_its_request_is_invalid_and_told_with_its_place() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .args(["--url", &server.url("/items/{{id}}"), "-X", "DELETE"])
        .args(["-H", "x-name: {{name}}"])
        .jobs("rows.csv", "name,id\na,..\n\"b\nx: y\",2\nc,\nd,4\n")
        .with_results()
        .ends(1);
    assert_eq!(
        faults(&done),
        [
            "rows.csv:2:3: \"id\" is a step in a path",
            "rows.csv:3:1: \"name\" has a character that cannot be sent in a header",
            "rows.csv:5:3: \"id\" is empty",
        ]
    );
    assert_eq!(server.targets(), ["/items/4"]);
}

#[test]
fn a_table_fills_the_options_without_a_url_and_jobs_do_not() {
    let server = Server::start([Step::ok()]);
    let url = server.url("/a");
    let run = || Shaper::run().args(["--data", "x={{x}}", "-H", "x-a: {{x}}"]);
    let table = run().jobs("rows.csv", format!("url,x\n{url},1 2\n"));
    table.with_results().ends(0).never_says("unknown field");
    let jobs = run().jobs("jobs.jsonl", format!("{{\"url\":\"{url}\"}}\n"));
    jobs.with_results().ends(0);
    let seen = server.requests();
    assert_eq!((body(&seen[0]), body(&seen[1])), ("x=1 2", "x={{x}}"));
    assert_eq!(seen[0].header("x-a"), Some(&b"1 2"[..]));
    assert_eq!(seen[1].header("x-a"), Some(&b"{{x}}"[..]));
    assert_eq!(seen[0].header("content-type"), None);
}

#[test]
fn a_replayed_log_of_whole_seconds_is_spread_over_each() {
    let line = "h - - [10/Oct/2025:13:55:36 +0000] \"GET /a HTTP/1.1\" 200 5\n";
    let done = Shaper::plain()
        .args([
            "plan",
            "--replay",
            "--api",
            "latency=50ms",
            "--report",
            "json",
        ])
        .args(["--base-url", "http://h"])
        .jobs("access.log", line.repeat(5))
        .ends(0);
    let plan = done.json();
    assert_eq!(
        (&plan["elapsed_ms"], &plan["peak_in_flight"]),
        (&json!(850.0), &json!(1))
    );
}

#[test]
fn a_json_log_is_read_by_the_fields_that_are_named() {
    let server = Server::start([Step::ok()]);
    let lines = r#"{"http":{"url":"/a?b=1","verb":"put"},"sent":{"n": 1},"ts":1}
{"http":{"url":"https://other.test/c?d#e"},"sent":null}
{"http":{"url":"HTTP://other.test?f","verb":"GET"}}
{"http":{"url":"//other.test/g"},"sent":"text"}
{"http":{"url":"/post","verb":"POST"}}
{"http":{"url":"*","verb":"OPTIONS"}}
{"http":{"verb":"GET"},"url":"/never"}
{"http":{"url":"/never"},"sent":7}
"#;
    let fields = "url=/http/url,method=/http/verb,body=sent";
    let log = || {
        Shaper::run()
            .args(["--log-fields", fields])
            .jobs("service.jsonl", lines)
    };
    let base = server.url("");
    let done = log()
        .args(["--base-url", &base, "-c", "1"])
        .with_results()
        .ends(1);
    done.never_says("unknown field");
    let sent = server.requests();
    let sent = sent
        .iter()
        .map(|seen| (&*seen.method, &*seen.target, &*seen.body));
    let wanted = [
        ("PUT", "/a?b=1", &b"{\"n\": 1}"[..]),
        ("GET", "/c?d", b""),
        ("GET", "/?f", b""),
        ("POST", "//other.test/g", b"text"),
    ];
    assert_eq!(sent.collect::<Vec<_>>(), wanted);
    let results = done.results();
    let ends = [
        "ok", "ok", "ok", "ok", "skipped", "skipped", "invalid", "invalid",
    ];
    assert_eq!(statuses(&results), ends);
    assert!(message(&results[4]).contains("no body"), "{}", results[4]);
    assert!(
        message(&results[6]).contains("\"/http/url\" is missing"),
        "{}",
        results[6]
    );
    assert!(
        message(&results[7]).contains("\"sent\" must be"),
        "{}",
        results[7]
    );
}

#[test]
fn a_json_log_goes_to_its_own_servers_where_no_other_is_named() {
    let (one, two) = (Server::start([Step::ok()]), Server::start([Step::ok()]));
    let (whole, host) = (one.url("/whole"), two.url("").replace("http://", ""));
    let lines = format!(
        "{{\"u\":{whole:?},\"h\":{host:?}}}\n{{\"u\":\"/path\",\"h\":{host:?}}}\n{{\"u\":\"/none\",\"h\":\"\"}}\n"
    );
    let done = Shaper::run()
        .args(["--log-fields", "url=u,host=h"])
        .jobs("service.log", &lines)
        .with_results()
        .ends(1);
    assert_eq!(
        (one.targets(), two.targets()),
        (vec!["/whole".into()], vec!["/path".into()])
    );
    let results = done.results();
    assert!(
        message(&results[2]).contains("needs --base-url"),
        "{}",
        results[2]
    );
}

#[test]
fn times_of_a_json_log_are_dates_seconds_or_milliseconds() {
    let plan = |fields: &str, lines: &str| {
        let done = Shaper::plain()
            .args([
                "plan",
                "--replay",
                "--api",
                "latency=50ms",
                "--report",
                "json",
            ])
            .args(["--base-url", "http://h", "--log-fields", fields])
            .jobs("service.log", lines)
            .ends(0);
        let plan = done.json();
        plan["elapsed_ms"].clone()
    };
    let dates = r#"{"u":"/","t":"2025-10-10T13:55:36.5Z"}
{"u":"/","t":1760104538}
{"u":"/","t":1760104538}
{"u":"/","t":1760104538.25}
{"u":"/","t":"1760104539000","s":0.5,"ms":250}
{"u":"/","t":1760104539000,"s":"0.5","ms":"250"}
"#;
    // From 36.5 to 39.0, both of which are sent together.
    assert_eq!(plan("url=u,at=t", dates), json!(2550.0));
    assert_eq!(plan("url=u,at=t,took=s", dates), json!(2050.0));
    assert_eq!(plan("url=u,at=t,took_ms=ms", dates), json!(2300.0));
    let spread: Vec<_> = dates.lines().take(3).collect();
    let takes = plan("url=u,at=t", &spread.join("\n"));
    assert_eq!(takes, json!(2050.0), "36.5, 38.0 and 38.5");
}

#[test]
fn a_map_of_fields_that_fits_nothing_is_a_usage_error() {
    for (fields, told) in [
        ("url=u,verb=v", "\"verb\" is no part of a request"),
        ("url=u,url=v", "url is given twice"),
        ("method=m", "url is missing"),
    ] {
        let done = Shaper::run().args(["--log-fields", fields, "-"]).ends(2);
        done.says("--log-fields")
            .says(fields)
            .says(told)
            .says("took_ms");
    }
    let done = Shaper::run()
        .args(["--log-fields", "url=u", "--format", "jsonl"])
        .jobs("service.jsonl", "{\"u\":\"/\"}\n")
        .ends(2);
    done.says("nothing for --log-fields")
        .says("--format access-log");
}
