//! `shaper man`: a manual that man can set.

use std::io::Write;
use std::process::{Command, Stdio};

use super::completions::is_there;
use super::help::commands;
use crate::support::program::Shaper;

fn page(words: &[&str]) -> String {
    let done = Shaper::plain().args(["man"]).args(words).ends(0);
    done.text().to_owned()
}

/// What groff says about a page, or makes of it.
fn groff(args: &[&str], page: &str) -> (String, String) {
    let mut groff = Command::new("groff")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("groff is there");
    let mut input = groff.stdin.take().expect("it was piped");
    let text = page.to_owned();
    let feeder = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let done = groff.wait_with_output().expect("groff ends");
    feeder
        .join()
        .expect("writers do not panic")
        .expect("groff reads it all");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(done.stdout), text(done.stderr))
}

#[test]
fn one_page_has_all_commands_with_examples_and_exit_status() {
    let page = page(&[]);
    assert!(page.contains("\n.TH shaper 1 "), "{page}");
    for command in commands() {
        let heading = format!("\n.SH \"SHAPER {}\"\n", command.to_uppercase());
        let part = page
            .split(&heading)
            .nth(1)
            .expect("each command has a part");
        let part = part.split("\n.SH ").next().unwrap_or_default();
        for heading in [".SS EXAMPLES", ".SS \"EXIT STATUS\""] {
            assert!(
                part.contains(heading),
                "no {heading} of {command} in {part}"
            );
        }
    }
    assert!(page.is_ascii(), "man need not know the encoding");
}

#[test]
fn each_command_has_a_page_of_its_own() {
    for command in commands() {
        let page = page(&[&command]);
        let title = format!("\n.TH shaper-{command} 1 ");
        assert!(page.contains(&title), "no {title:?} in {page}");
        for heading in [
            ".SH NAME",
            ".SH SYNOPSIS",
            ".SH OPTIONS",
            ".SH EXAMPLES",
            ".SH \"EXIT STATUS\"",
        ] {
            assert!(page.contains(heading), "no {heading} in {page}");
        }
    }
}

#[test]
fn groff_has_nothing_to_say_and_breaks_no_option() {
    if !is_there("groff") {
        return;
    }
    for words in [vec![], vec!["run"], vec!["verify"]] {
        let page = page(&words);
        let (_, said) = groff(&["-man", "-ww", "-z"], &page);
        assert_eq!(said, "", "about {words:?}");
        let (set, _) = groff(&["-man", "-Tascii", "-P-cbou", "-rLL=72n"], &page);
        for option in ["--concurrency", "--connect-timeout", "--qps"] {
            assert!(
                words == ["verify"] || set.contains(option),
                "no {option} in {set}"
            );
        }
        assert!(
            set.lines().all(|line| !line.ends_with('-')),
            "a word is broken in {set}"
        );
    }
}
