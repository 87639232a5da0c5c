//! Whatever prints, into a reader that takes one line and leaves (`| head -1`), or has left before.

use super::help::commands;
use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Server, Step};

/// A directory with results, of which one failed.
fn results() -> Output {
    let server = Server::answering(|ask| match ask.target {
        "/1" => Step::status(404),
        _ => Step::ok(),
    });
    let run = Shaper::run().jobs("jobs.urls", server.list(3));
    run.args(["--qps", "100"]).with_results().ends(1)
}

/// Lines that print, each of which has all that it needs in the directory of [`results`].
fn lines() -> Vec<Vec<String>> {
    let fixed = [
        "",
        "-h",
        "--help",
        "--version",
        "help limits",
        "compare --jobs 100",
        "compare --jobs 10000 --discipline qps",
        "man",
        "verify out.jsonl",
        "verify out.jsonl --report json",
        "report out.jsonl --failed-jobs",
        "run jobs.urls -o - --mock",
        "run jobs.urls -o again.jsonl --mock --report-file -",
        "run jobs.urls -o again.jsonl --overwrite --mock --report json --report-file -",
    ];
    let shells = ["bash", "zsh", "fish", "powershell", "elvish"];
    let mut all: Vec<String> = fixed.map(str::to_owned).to_vec();
    all.extend(shells.map(|shell| format!("completions {shell}")));
    for command in commands() {
        let of_command = [format!("{command} --help"), format!("man {command}")];
        all.extend(of_command);
    }
    let words = |line: &String| line.split_whitespace().map(str::to_owned).collect();
    all.iter().map(words).collect()
}

#[test]
fn who_takes_one_line_gets_a_whole_one_and_no_complaint() {
    let mut done = results();
    for line in lines() {
        let mut running = done.again().args(&line).start();
        let first = running.read_a_line_and_close();
        done = running.wait();
        done.never_says("panicked").never_says("Broken pipe");
        if line.is_empty() {
            // Help that nobody asked for is no output.
            done.exits(2);
            assert_eq!(first, "");
            continue;
        }
        let some_failed = line.concat().contains("jobs.urls") && done.code == Some(1);
        assert!(matches!(done.code, Some(0 | 141)) || some_failed, "{done}");
        assert!(
            first.ends_with('\n') && first.len() > 1,
            "{first:?} of {done}"
        );
    }
}

#[test]
fn who_has_left_before_hears_no_complaint() {
    let mut done = results();
    for line in lines().into_iter().filter(|line| !line.is_empty()) {
        done = done.again().args(&line).stdout_is_closed().output();
        done.never_says("panicked").never_says("Broken pipe");
        assert_eq!(done.code, Some(141), "{done}");
    }
    assert!(done.path(OUT).exists());
}
