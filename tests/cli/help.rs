//! `shaper help`: a page for each command, and one on limits.

use crate::support::program::Shaper;

/// The commands, as the help lists them.
pub(super) fn commands() -> Vec<String> {
    let done = Shaper::plain().args(["--help"]).output();
    let page = done.text();
    let list = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| !line.is_empty());
    let names = list.filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let names = names.map(|(name, _)| name).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.len() >= 8, "{done}");
    names
}

#[test]
fn every_command_has_examples_and_exit_codes() {
    for command in commands() {
        let done = Shaper::plain().args([&*command, "--help"]).ends(0);
        let page = done.text();
        for part in ["Usage: shaper", "\n\nExample", "\n\nExit codes: "] {
            assert!(page.contains(part), "no {part:?} in {done}");
        }
        let example = page
            .lines()
            .skip_while(|line| !line.starts_with("Example"))
            .nth(1);
        assert!(
            example.is_some_and(|line| line.contains("shaper")),
            "{done}"
        );
    }
}

#[test]
fn the_first_help_fits_a_small_terminal_and_says_what_to_type() {
    let done = Shaper::plain().args(["--help"]);
    let done = done.stdout_is_a_terminal_of(80, 24).output();
    let page = done.text();
    assert!(page.lines().count() < 24, "{done}");
    for first in [
        "shaper run jobs.jsonl",
        "shaper plan jobs.jsonl",
        "shaper compare ",
    ] {
        assert!(page.contains(first), "no {first:?} in {done}");
    }
}

/// The options of a page by their headings; of each what it is typed as, the long name if it has one.
fn by_heading(page: &str) -> Vec<(String, Vec<String>)> {
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for line in page.lines() {
        let option = line.split_whitespace().find(|word| word.starts_with("--"));
        let option = option.map(|word| word.trim_end_matches("[=<SPEC>]").to_owned());
        match parts.last_mut() {
            _ if line.ends_with(':') && !line.starts_with(' ') => {
                parts.push((line.trim_end_matches(':').to_owned(), Vec::new()));
            }
            Some((_, options)) if line.starts_with("  -") || line.starts_with("      --") => {
                options.extend(option);
            }
            Some(_) | None => {}
        }
    }
    parts
}

#[test]
fn the_help_of_a_run_opens_with_ten_options_and_goes_on_from_limits_to_messages() {
    for command in ["run", "replay"] {
        let long = Shaper::plain().args([command, "--help"]).output();
        let parts = by_heading(long.text());
        let (first, options) = &parts[1];
        assert_eq!(first, "Options", "{long}");
        let ten = [
            "--concurrency",
            "--qps",
            "--tpm",
            "--window",
            "--bearer-env",
            "--max-attempts",
            "--output",
            "--resume",
            "--fail-if",
            "--mock",
        ];
        assert_eq!(options[..10], ten, "{long}");
        assert_eq!(options[10..], ["--help"], "{long}");
        let headings = parts[2..].iter().filter(|(_, options)| !options.is_empty());
        let headings = headings.map(|(heading, _)| heading.split(' ').next());
        let headings: Vec<_> = headings.flatten().collect();
        let order = [
            "Limits",
            "Waiting",
            "Sharing",
            "Units",
            "Retry",
            "HTTP",
            "Input",
            "When",
            "Results",
            "Going",
            "Report",
            "Conditions",
            "Progress",
        ];
        assert_eq!(headings, order, "{long}");
    }
}

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_has_every_option() {
    let short = Shaper::run().args(["-h"]).output();
    let long = Shaper::run().args(["--help"]).output();
    let (few, all) = (short.text(), long.text());
    assert!(few.lines().count() <= 50, "{short}");
    for option in [
        "--concurrency",
        "--qps",
        "--output",
        "--resume",
        "--mock",
        "--help",
    ] {
        assert!(few.contains(option), "no {option} in {short}");
    }
    assert!(
        few.contains("All options, and exit codes: shaper run --help"),
        "{short}"
    );
    for rare in ["--oversize", "--lookahead", "alias:"] {
        assert!(!few.contains(rare), "{rare} in {short}");
    }
    for option in [
        "--oversize",
        "[alias: --rate]",
        "--sliding-window]",
        "[alias: --max-wait]",
    ] {
        assert!(all.contains(option), "no {option} in {long}");
    }
}

#[test]
fn a_slip_is_answered_with_the_right_word() {
    for (line, right) in [
        (&["rnu"][..], "did you mean run?"),
        (&["help", "rnu"], "shaper help run"),
        (&["help", "limit"], "shaper help limits"),
        (&["man", "verfy"], "shaper man verify"),
        (&["completions", "bsh"], "did you mean bash?"),
        (&["run", "--concurency", "5"], "did you mean --concurrency?"),
        (&["run", "--qsp", "5"], "did you mean --qps?"),
        (&["run", "--report", "jsno"], "did you mean json?"),
        (&["run", "--jitter", "ful"], "did you mean full?"),
        (
            &["run", "--retry-unsafe", "idempotend"],
            "did you mean idempotent?",
        ),
        (&["run", "--format", "jsnol"], "did you mean jsonl?"),
        (&["run", "--per", "hsot"], "did you mean host?"),
        (&["run", "--fsync", "nver"], "did you mean never?"),
        (&["verify", "--mock"], "--mock is an option of shaper run"),
    ] {
        let done = Shaper::plain().args(line).ends(2);
        done.says(right);
        assert!(done.stdout.is_empty(), "{done}");
    }
}

#[test]
fn another_word_is_answered_with_no_guess() {
    for (line, wrong) in [
        (&["run", "--no-such-option"][..], "--no-such-option"),
        (&["run", "--zzz=1"], "--zzz"),
        (&["run", "-Z", "3"], "-Z"),
        (&["run", "--jitter", "zzz"], "zzz"),
        (&["nonsense"], "nonsense"),
        (&["help", "nonsense"], "nonsense"),
        (&["man", "nonsense"], "nonsense"),
    ] {
        let done = Shaper::plain().args(line).ends(2);
        done.says(wrong);
        done.never_says("did you mean").never_says("as a value");
    }
}

#[test]
fn help_limits_names_every_kind_with_what_it_promises() {
    let done = Shaper::plain().args(["help", "limits"]).ends(0);
    let page = done.text();
    for (kind, promise) in [
        ("bucket", "b + rT"),
        ("leaky", "b + rT"),
        ("window", "N"),
        ("window-counter", "2N - 1"),
        ("fixed", "2N"),
    ] {
        let row = page.lines().find(|line| {
            let told = line.trim_start().strip_prefix(kind);
            told.is_some_and(|rest| {
                rest.starts_with("  ") && rest.trim_start().starts_with(promise)
            })
        });
        assert!(row.is_some(), "no {kind} with {promise} in {done}");
    }
    for word in [
        "at=reply",
        "guard=DUR",
        "anchor=first",
        "per=KEY",
        "--window 100/10s",
    ] {
        assert!(page.contains(word), "no {word} in {done}");
    }
}

#[test]
fn help_on_a_command_is_its_help() {
    for command in commands() {
        let command = command.as_str();
        let topic = Shaper::plain().args(["help", command]).output();
        let flag = Shaper::plain().args([command, "--help"]).output();
        topic.exits(0);
        assert_eq!(topic.text(), flag.text(), "{command}");
        let usage = format!("Usage: shaper {command}");
        assert!(topic.text().contains(&usage), "{topic}");
    }
    let all = Shaper::plain().args(["help"]).ends(0);
    assert!(all.text().contains("Usage: shaper"), "{all}");
}

#[test]
fn help_on_nothing_there_is_a_usage_error() {
    let done = Shaper::plain().args(["help", "nope"]).ends(2);
    done.says("nope").says("shaper help limits");
    assert!(done.stdout.is_empty(), "{done}");
}
