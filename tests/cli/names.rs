//! Names of files: whatever letters one has, they are shown, and none acts on the terminal.

use crate::support::program::Shaper;

/// Ends a line, clears a screen, and turns the direction of what follows.
const ACTING: &str = "a\n\u{1b}[2J\u{202e}b";
const SHOWN: &str = "a\\u{a}\\u{1b}[2J\\u{202e}b";

#[test]
fn no_name_of_a_file_acts_on_the_terminal_that_it_is_shown_on() {
    let jobs = &*format!("{ACTING}.jsonl");
    let results = &*format!("{ACTING}.out");
    let job = "{\"url\":\"http://h/\",\"tokns\":1}\n{\"url\":\"\n";
    let lines: [&[&str]; 12] = [
        &["run", jobs, "--mock=latency=1ms", "-o", results, "-v"],
        &["run", jobs, "--mock=latency=1ms", "--strict", "-o", "new"],
        &["run", jobs, "--mock=latency=1ms", "-o", ACTING],
        &["run", jobs, "--mock", "-o", results, "--resume"],
        &["run", ACTING, "--mock", "-o", "new"],
        &["plan", jobs],
        &["compare", jobs],
        &["verify", results],
        &["verify", ACTING],
        &["report", results],
        &["report", ACTING],
        &["report", results, "--failed-jobs"],
    ];
    for line in lines {
        let done = Shaper::plain()
            .file(jobs, job)
            .file(results, "{\n{\n")
            .file(ACTING, "{\n{\n")
            .args(line.iter().copied())
            .output();
        let stdout = done.text();
        for text in [&done.stderr, stdout] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{line:?}: {done}");
            assert!(!text.contains("a\n\\u{1b}"), "{line:?}: {done}");
        }
        let seen = done.stderr.contains(SHOWN) || stdout.contains(SHOWN);
        assert!(seen, "{line:?}: {done}");
    }
}

#[test]
fn what_is_typed_acts_on_no_terminal_when_it_is_refused() {
    for line in [
        ["run", "--qps", "\u{1b}[2J"],
        ["run", "jobs", "--\u{1b}[2J"],
    ] {
        let done = Shaper::plain()
            .args(line)
            .stderr_is_a_terminal_of(80, 30)
            .ends(2);
        done.says("\\u{1b}[2J").never_says("\u{1b}[2J");
    }
}
