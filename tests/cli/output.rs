//! Results, reports and messages: where they go, and what happens when that is not possible.

use std::fs;

use crate::support::program::{Counts, OUT, Shaper};
use crate::support::server::{Server, Step};
use crate::support::{CLOSED, statuses};

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(100))
        .args(["--qps", "50/s", "-o", "-"])
        .start();
    let first = running.read_a_line_and_close();
    let done = running.wait();
    done.exits(141)
        .never_says("panicked")
        .never_says("RUST_BACKTRACE")
        .never_says("could not be written");
    let line: serde_json::Value = serde_json::from_str(&first).expect("one whole result");
    assert_eq!(line["status"], "ok");
    let sent = server.requests().len();
    assert!(sent < 100, "all were sent, though nobody read the results");
}

#[test]
fn help_to_a_reader_that_has_gone_is_no_panic() {
    let done = Shaper::plain().args(["--help"]).stdout_is_closed().output();
    assert!(matches!(done.code, Some(0 | 141)), "{done}");
    done.never_says("panicked");
}

#[test]
fn stdout_has_results_and_nothing_else() {
    let more: [&[&str]; 4] = [
        &[],
        &["-v"],
        &["--progress", "plain"],
        &["--report", "json"],
    ];
    for args in more {
        let server = Server::start([Step::ok()]);
        let list = server.list(20) + "no-scheme.example.test/x\n";
        let done = Shaper::run()
            .jobs("jobs.urls", list)
            .args(["-o", "-"])
            .args(args)
            .ends(1);
        let results = done.results_on_stdout();
        assert_eq!(results.len(), 21, "{done}");
        assert_eq!(statuses(&results)[19..], ["ok", "invalid"]);
    }
}

#[test]
fn stdout_has_the_results_when_it_is_a_pipe_and_no_file_is_named() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run().jobs("jobs.urls", server.list(3)).ends(0);
    assert_eq!(statuses(&done.results_on_stdout()), ["ok"; 3]);
}

#[test]
fn results_that_nobody_keeps_are_told_before_the_first_send() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .stdout_is_null()
        .ends(0);
    done.says("counted and not kept: stdout is closed, or /dev/null (-o FILE keeps them)");
}

#[test]
fn a_full_disk_ends_the_run_and_is_told() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(100))
        .args(["-c", "4", "-o", "/dev/full"])
        .ends(3);
    done.says("/dev/full").says("No space left on device");
    let sent = server.requests().len();
    assert!(sent <= 8, "{sent} requests, though nothing could be kept");
}

#[test]
fn a_disk_that_fills_up_leaves_whole_lines_and_they_are_what_is_counted() {
    let server = Server::start([Step::ok()]);
    for blocks in [9, 10, 11] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(100))
            .with_results()
            .reporting()
            .files_end_after(blocks)
            .ends(3);
        done.says("File too large");
        let counts = done.counts();
        assert_eq!(counts.ok, done.results().len() as u64, "{done}");
        assert!(counts.ok > 0, "some fit: {done}");
    }
}

#[test]
fn a_dead_server_fails_every_job_and_the_totals_add_up() {
    let list = format!("http://{CLOSED}/\n").repeat(10);
    let done = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["--max-attempts", "1"])
        .with_results()
        .reporting()
        .ends(1);
    let advice = done.report()["advice"].to_string();
    assert!(advice.contains("--mock"), "{advice}");
    let expected = Counts {
        failed: 10,
        ..Counts::default()
    };
    assert_eq!(done.counts(), expected);
    for result in done.results() {
        assert_eq!(result["error"]["kind"], "connect", "{result}");
        assert_eq!(result["attempts"], 1);
    }
}

#[test]
fn a_dead_server_is_told_in_the_summary() {
    let done = Shaper::run()
        .jobs("one.urls", format!("http://{CLOSED}/\n"))
        .args(["--max-attempts", "1"])
        .with_results()
        .ends(1);
    done.says("connect").says(CLOSED).says("--mock");
}

#[test]
fn the_counts_tell_every_fate_of_a_line() {
    let server = Server::answering(|ask| match ask.target {
        "/1" => Step::status(404),
        _ => Step::ok(),
    });
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3) + "/relative\n")
        .with_results()
        .reporting()
        .ends(1);
    let expected = Counts {
        ok: 2,
        failed: 1,
        invalid: 1,
        ..Counts::default()
    };
    assert_eq!(done.counts(), expected);
}

#[test]
fn a_report_as_json_on_stdout_is_one_value() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .args(["--report", "json", "--report-file", "-"])
        .with_results()
        .ends(0);
    let report = done.json();
    assert_eq!(report["counts"]["ok"], 3);
    assert_eq!(report["counts"]["read"], 3);
}

#[test]
fn a_report_on_stdout_needs_another_place_for_the_results() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .args(["--report", "json", "--report-file", "-"])
        .ends(2);
    done.says("-o");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_log_file_gets_no_control_characters_and_few_lines() {
    for progress in ["auto", "plain", "none"] {
        let server = Server::start([Step::ok()]);
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(20))
            .args(["--qps", "20/s", "--report", "none", "--progress", progress])
            .with_results()
            .ends(0);
        done.never_says("\u{1b}").never_says("\r");
        assert_eq!(done.results().len(), 20, "{done}");
        assert!(done.stderr.len() < 4096, "{done}");
        let lines = done
            .stderr
            .lines()
            .filter(|line| line.contains("/20 ok"))
            .count();
        let most = usize::try_from(done.took.as_secs() / 10).expect("small") + 1;
        assert!(
            lines <= most,
            "{lines} progress lines in {:?}: {done}",
            done.took
        );
    }
}

#[test]
fn a_dumb_terminal_gets_no_control_characters() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["--qps", "40/s"])
        .with_results()
        .env("TERM", "dumb")
        .stderr_is_a_terminal()
        .ends(0);
    done.says("20").never_says("\u{1b}");
    // The terminal itself turns the end of a line into CR LF.
    let plain = done.stderr.replace("\r\n", "\n");
    assert!(!plain.contains('\r'), "a line was drawn over: {plain:?}");
}

#[test]
fn results_that_are_there_are_not_overwritten_unasked() {
    const OLD: &str = "{\"seq\":0,\"status\":\"ok\"}\n";
    let server = Server::start([Step::ok()]);
    let run = || {
        Shaper::run()
            .jobs("jobs.urls", server.list(2))
            .with_results()
    };
    let refused = run().file(OUT, OLD).ends(2);
    refused.says(OUT).says("--overwrite");
    let kept = fs::read_to_string(refused.path(OUT)).expect("it was there before");
    assert_eq!(kept, OLD);
    assert_eq!(server.requests().len(), 0);

    let replaced = run().file(OUT, OLD).args(["--overwrite"]).ends(0);
    assert_eq!(statuses(&replaced.results()), ["ok", "ok"]);

    let empty = run().file(OUT, "").ends(0);
    assert_eq!(statuses(&empty.results()), ["ok", "ok"]);
}

#[test]
fn an_output_that_cannot_be_opened_is_told_before_anything_is_sent() {
    let server = Server::start([Step::ok()]);
    for place in ["no/such/directory/out.jsonl", "."] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(2))
            .args(["-o", place])
            .ends(3);
        done.says(place).never_says("panicked");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_file_is_never_read_and_written_by_one_run() {
    let server = Server::start([Step::ok()]);
    let list = server.list(2);
    for args in [
        ["-o", "jobs.urls", "--overwrite"].as_slice(),
        &["-o", "./jobs.urls"],
        &["-o", OUT, "--report-file", "jobs.urls"],
        &["-o", OUT, "--report-file", "./out.jsonl"],
    ] {
        let done = Shaper::run().jobs("jobs.urls", &list).args(args).ends(2);
        done.says("cannot go to").says("mend: name another");
        let kept = fs::read_to_string(done.path("jobs.urls")).expect("it was there before");
        assert_eq!(kept, list, "{done}");
    }
    assert_eq!(server.requests().len(), 0);
    let devices = ["-o", "/dev/null", "--report-file", "/dev/null"];
    let done = Shaper::run().jobs("jobs.urls", &list).args(devices);
    done.ends(0);
}

#[test]
fn a_report_without_a_place_is_told_before_anything_is_sent() {
    let server = Server::start([Step::ok()]);
    for place in ["no/such/directory/report.txt", "."] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(2))
            .args(["--report-file", place])
            .with_results()
            .ends(3);
        done.says(place).says("--report-file");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn the_first_bad_line_is_told_with_place_and_mend() {
    let server = Server::start([Step::ok()]);
    let list = server.list(1) + "/relative\n/relative\n";
    let done = Shaper::run().jobs("jobs.urls", list).with_results().ends(1);
    done.says("first invalid: jobs.urls:2:1: ");
    assert_eq!(done.stderr.matches("jobs.urls:2:").count(), 1, "{done}");
    done.never_says("jobs.urls:3:");
}
