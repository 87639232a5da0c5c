//! `shaper help`: a page for each command, and one on limits.

use crate::support::program::{Output, Shaper};

fn stdout(done: &Output) -> String {
    String::from_utf8(done.stdout.clone()).expect("help is text")
}

#[test]
fn help_limits_names_every_kind_with_what_it_promises() {
    let done = Shaper::plain().args(["help", "limits"]).output();
    done.exits(0);
    let page = stdout(&done);
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
    for command in ["run", "compare", "report", "mock"] {
        let topic = Shaper::plain().args(["help", command]).output();
        let flag = Shaper::plain().args([command, "--help"]).output();
        topic.exits(0);
        assert_eq!(stdout(&topic), stdout(&flag), "{command}");
        let usage = format!("Usage: shaper {command}");
        assert!(stdout(&topic).contains(&usage), "{topic}");
    }
    let all = Shaper::plain().args(["help"]).output();
    all.exits(0);
    assert!(stdout(&all).contains("Usage: shaper"), "{all}");
}

#[test]
fn help_on_nothing_there_is_a_usage_error() {
    let done = Shaper::plain().args(["help", "nope"]).output();
    done.exits(2).says("nope").says("shaper help limits");
    assert!(done.stdout.is_empty(), "{done}");
}
