//! Command lines that cannot work, and the first things that a newcomer tries.

use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};
use crate::support::statuses;

#[test]
fn a_terminal_on_stdin_is_a_usage_error_at_once() {
    let done = Shaper::run().stdin_is_a_terminal().with_results().ends(2);
    done.says("shaper run");
    assert!(!done.path(OUT).exists(), "{done}");
}

#[test]
fn what_is_no_job_file_is_named_and_makes_no_results() {
    for (path, why) in [("nowhere.jsonl", "No such file"), (".", "directory")] {
        let done = Shaper::run().args([path]).with_results().ends(2);
        done.says(path).says(why);
        assert!(!done.path(OUT).exists(), "{done}");
    }
}

#[test]
fn an_option_that_cannot_work_is_named_with_what_would_and_nothing_is_sent() {
    let server = Server::start([Step::ok()]);
    for (options, told) in [
        (["--burst", "5"], ["--burst", "--qps"]),
        (["--format", "xml"], ["xml", "jsonl"]),
    ] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .args(options)
            .with_results()
            .ends(2);
        done.says(told[0]).says(told[1]);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn none_is_no_limit_of_a_time_and_zero_is_none() {
    let server = Server::start([Step::ok()]);
    let spans = [
        "--timeout",
        "--connect-timeout",
        "--read-timeout",
        "--grace",
    ];
    for flag in spans.iter().chain(&["--queue-timeout", "--max-body"]) {
        let run = || {
            Shaper::run()
                .jobs("jobs.urls", server.list(2))
                .with_results()
        };
        let done = run().args([flag, "none"]).ends(0);
        assert_eq!(statuses(&done.results()), ["ok", "ok"], "{flag}");
        let done = run().args([flag, "never"]).ends(2);
        done.says(flag).says("or none");
        if spans.contains(flag) {
            run().args([flag, "0"]).ends(2).says("above 0s, or none");
        }
    }
}

#[test]
fn no_arguments_show_what_there_is() {
    let done = Shaper::plain().ends(2);
    done.says("run");
}

#[test]
fn help_and_version_go_to_stdout() {
    for (flag, word) in [("--help", "run"), ("--version", env!("CARGO_PKG_VERSION"))] {
        let done = Shaper::plain().args([flag]).ends(0);
        let text = done.text();
        assert!(text.contains(word), "{done}");
    }
}

#[test]
fn mock_runs_the_jobs_without_their_servers() {
    let jobs = concat!(
        r#"{"id":"a","url":"http://api.example.test/v1"}"#,
        "\n",
        r#"{"id":"b","method":"POST","url":"https://other.example.test/v2","body":{"q":1}}"#,
        "\n",
    );
    let by_default = Shaper::run().args(["--mock"]);
    let with_spec = Shaper::run().args(["--mock=latency=1ms"]);
    for run in [by_default, with_spec] {
        let done = run.jobs("jobs.jsonl", jobs).with_results().ends(0);
        let results = done.results();
        assert_eq!(statuses(&results), ["ok", "ok"]);
        assert_eq!(results[0]["url"], "http://api.example.test/v1");
        assert_eq!(results[1]["url"], "https://other.example.test/v2");
    }
}

#[test]
fn an_option_that_may_hold_a_secret_is_refused_without_its_value() {
    let server = Server::start([Step::ok()]);
    for args in [
        ["--header", "Bearer canary"],
        ["--header", "a b: canary"],
        ["--base-url", "htp://u:canary@h/"],
    ] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .args(args)
            .ends(2);
        done.says(args[0]).says("'***'").never_says("canary");
    }
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(1))
        .args(["--bearer-env", "TOKEN"])
        .env("TOKEN", "")
        .ends(2);
    done.says("--bearer-env TOKEN: this variable is empty");
    let swapped = format!(
        r#"{{"url":"{}","headers":{{"authorization: canary":""}}}}"#,
        server.url("/")
    );
    let done = Shaper::run()
        .jobs("jobs.jsonl", swapped)
        .with_results()
        .ends(1);
    done.says("\"authorization…\" is not a header name: it has a colon")
        .never_says("canary");
    assert_eq!(server.requests().len(), 0);
}
