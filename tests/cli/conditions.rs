//! `--fail-if`: the figures decide whether a run counts as failed, when it ends and when it is reported again.

use rustix::process::Signal;

use crate::support::CLOSED;
use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Gate, Server, Step};

/// Ten jobs, of which the first two fail.
fn two_of_ten_fail() -> Server {
    Server::answering(|ask| match ask.target {
        "/0" | "/1" => Step::status(404),
        _ => Step::ok(),
    })
}

fn ten(server: &Server, conditions: &[&str]) -> Shaper {
    let conditions = conditions.iter().flat_map(|expr| ["--fail-if", expr]);
    Shaper::run()
        .jobs("jobs.urls", server.list(10))
        .args(conditions)
        .with_results()
}

#[test]
fn a_condition_that_is_true_is_told_and_exits_with_5() {
    let server = two_of_ten_fail();
    let done = ten(&server, &["p99>1h", "failed>10%", "404>=2"])
        .reporting()
        .ends(5);
    done.says("failed: failed = 20 % > 10 % (2 of 10)\nfailed: 404 = 2 >= 2\n")
        .never_says("failed: p99");
    let report = done.report();
    let conditions = report["conditions"].as_array().expect("a list");
    let judged: Vec<_> = conditions
        .iter()
        .map(|it| (it["expr"].as_str(), it["true"].as_bool()))
        .collect();
    let expected = [
        (Some("p99>1h"), Some(false)),
        (Some("failed>10%"), Some(true)),
        (Some("404>=2"), Some(true)),
    ];
    assert_eq!(judged, expected);
    assert_eq!(conditions[1]["value"], 20.0, "{report}");
    assert_eq!(conditions[1]["unit"], "%");
    assert_eq!(
        conditions[0]["value"],
        report["latency"]["service"]["ok"]["p99"]
    );
    assert_eq!(conditions[0]["unit"], "ms");
}

#[test]
fn with_conditions_failed_jobs_alone_are_no_failure() {
    let server = two_of_ten_fail();
    ten(&server, &["failed>20%"])
        .ends(0)
        .never_says("failed: ")
        .says("FAIL IF     false: failed > 20 %, it is 20 % (2 of 10)");
    ten(&server, &[]).ends(1).never_says("FAIL IF");
}

#[test]
fn the_report_and_the_last_lines_say_which_condition_is_true() {
    let server = two_of_ten_fail();
    let conditions = ["tries>99", "failed>1"];
    let done = ten(&server, &conditions).ends(5);
    done.says("FAIL IF     true: failed = 2 > 1; false: tries > 99, it is 10");
    let last = done.stderr.lines().last();
    assert_eq!(last, Some("failed: failed = 2 > 1"), "{done}");
    let quiet = ten(&server, &conditions).args(["--quiet"]).ends(5);
    assert_eq!(quiet.stderr, "failed: failed = 2 > 1\n");
}

#[test]
fn no_figure_of_a_run_without_answers_is_ever_good() {
    let jobs = (0..30).map(|job| format!("http://{CLOSED}/{job}\n"));
    for (condition, told) in [
        ("p99>1h", "p99 > 1h cannot be told: no job was ok"),
        (
            "throughput<1/s",
            "throughput < 1.00/s cannot be told: nothing was answered",
        ),
        ("throughput>1M/s", "cannot be told: nothing was answered"),
        (
            "ratio<0.1%",
            "ratio < 0.1 % cannot be told: there are no slots, or no answers",
        ),
        ("rate<1/s", "cannot be told: it takes two sends"),
    ] {
        let done = Shaper::run()
            .jobs("jobs.urls", jobs.clone().collect::<String>())
            .args(["--max-attempts", "1", "--fail-if", condition])
            .with_results()
            .ends(5);
        done.says("failed: ").says(told);
        let again = done.again().args(["report", OUT, "--fail-if", condition]);
        again.ends(5).says(told);
    }
}

#[test]
fn a_condition_that_cannot_be_read_is_a_usage_error() {
    let server = Server::start([Step::ok()]);
    for (condition, says) in [
        ("p99", "in quotes"),
        ("p999>1s", "did you mean p99.9?"),
        ("fialed>1", "did you mean failed?"),
        (
            "p99>1%",
            "p99 is a time, 1% is a share\n  mend: write p99>500ms",
        ),
        ("", "in quotes"),
    ] {
        let done = ten(&server, &[condition]).ends(2);
        done.says("--fail-if").says(says);
        assert!(!done.path(OUT).exists(), "{done}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn lost_results_and_signals_weigh_more_than_a_condition() {
    let server = two_of_ten_fail();
    let lost = Shaper::run()
        .jobs("jobs.urls", server.list(10))
        .args(["--fail-if", "tries>0", "-o", "/dev/full"])
        .ends(3);
    lost.says("failed: tries = ");
    let gate = Gate::default();
    let server = Server::start([Step::status(404).behind(&gate)]);
    let mut running = ten(&server, &["404>0"]).args(["-c", "2"]).start();
    running.until("two requests", || server.requests().len() == 2);
    running.signal(Signal::INT);
    running.until_it_says("2 in flight");
    gate.open();
    running.wait().exits(130).says("failed: 404 = 2 > 0");
}

#[test]
fn results_are_judged_again_as_their_run_was_and_what_they_do_not_tell_is_never_good() {
    let server = two_of_ten_fail();
    let done = ten(&server, &[]).ends(1);
    let again = |run: Output, condition: &str| {
        run.again()
            .args(["report", OUT, "--report", "json", "--fail-if", condition])
            .output()
    };
    let kept = again(done, "p99>1h");
    kept.exits(0).never_says("failed: ");
    let broken = again(kept, "failed>10%");
    broken
        .exits(5)
        .says("failed: failed = 20 % > 10 % (2 of 10)");
    let told = broken.json();
    assert_eq!(told["conditions"][0]["true"], true, "{told}");
    let whole = again(broken, "cancelled>0");
    whole.exits(0);
    std::fs::remove_file(whole.path("out.jsonl.run")).expect("it was written");
    let untold = again(whole, "cancelled>0");
    untold
        .exits(5)
        .says("failed: cancelled > 0 cannot be told: nothing tells what was read");
    again(untold, "read<1")
        .exits(5)
        .says("failed: read < 1 cannot be told: nothing tells what was read");
}
