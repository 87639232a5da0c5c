//! `shaper completions`: scripts that real shells take, and what they offer.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::help::commands;
use crate::support::program::Shaper;

const SHELLS: [(&str, &str); 5] = [
    ("bash", "shaper.bash"),
    ("zsh", "_shaper"),
    ("fish", "shaper.fish"),
    ("powershell", "_shaper.ps1"),
    ("elvish", "shaper.elv"),
];

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("completions")
}

fn script(shell: &str) -> String {
    let done = Shaper::plain().args(["completions", shell]).ends(0);
    done.text().to_owned()
}

/// Whether a program is on this machine: CI has those that are asked for here.
pub(super) fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    assert!(
        there || env::var_os("CI").is_none(),
        "{program} is not installed"
    );
    there
}

/// What a shell prints.
fn says(shell: &str, args: &[&str]) -> Vec<String> {
    let done = Command::new(shell)
        .args(args)
        .current_dir(committed())
        .output();
    let done = done.unwrap_or_else(|why| panic!("{shell}: {why}"));
    let text = String::from_utf8_lossy(&done.stdout);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_scripts_in_the_repository_are_those_of_the_program() {
    for (shell, file) in SHELLS {
        let (path, now) = (committed().join(file), script(shell));
        if env::var_os("SHAPER_BLESS").is_some() {
            fs::write(&path, &now).expect("the repository can be written");
        }
        let then = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            then == now,
            "completions/{file} is old; renew it: SHAPER_BLESS=1 cargo test --test cli the_scripts_in_the_repository"
        );
    }
}

/// What each shell has to offer: command line, some of the words, and one that would be wrong.
const OFFERS: [(&str, &[&str], &str); 6] = [
    (
        "run --re",
        &["--resume", "--report", "--retry-unsafe"],
        "--qps",
    ),
    ("run --report ", &["text", "json", "none"], "shaper.fish"),
    (
        "run --jitter ",
        &["full", "equal", "decorrelated", "none"],
        "shaper.fish",
    ),
    ("run --output sh", &["shaper.bash", "shaper.fish"], "--qps"),
    ("completions ", &["bash", "zsh", "fish"], "shaper.fish"),
    ("help ", &["run", "limits"], "shaper.fish"),
];

/// `offers` is given command lines, and tells the words that the shell has for each.
#[track_caller]
fn assert_offers(shell: &str, offers: impl Fn(&[String]) -> Vec<Vec<String>>) {
    let lines = OFFERS.map(|(line, ..)| line);
    let others = ["", "run --qps ", "compare --discipline qps,s"];
    let lines = lines.into_iter().chain(others);
    let lines: Vec<_> = lines.map(|line| format!("shaper {line}")).collect();
    let offered = offers(&lines);
    let [offered @ .., of_program, of_number, of_list] = &*offered else {
        panic!("{shell} offers nothing");
    };
    assert_eq!(offered.len(), OFFERS.len(), "{shell}: {offered:?}");
    for ((line, expected, wrong), words) in OFFERS.iter().zip(offered) {
        let has = |word: &str| words.iter().any(|it| it == word);
        for word in *expected {
            assert!(
                has(word),
                "{shell} offers no {word} for {line:?}: {words:?}"
            );
        }
        assert!(!has(wrong), "{shell} offers {wrong} for {line:?}");
    }
    for command in commands() {
        let offered = of_program.contains(&command);
        assert!(offered, "{shell} offers no {command}: {of_program:?}");
    }
    let none = of_number.iter().all(String::is_empty);
    assert!(none, "{shell} offers {of_number:?} for a number");
    // zsh tells the last word alone.
    let goes_on = of_list.iter().any(|word| word.ends_with("semaphore"));
    assert!(goes_on, "{shell} offers {of_list:?} behind a comma");
}

#[test]
fn bash_completes_options_values_and_files() {
    assert_offers("bash", |lines| {
        lines.iter().map(|line| bash_offers(line)).collect()
    });
}

/// What bash has: the words of the script, else the files that the shell offers by itself.
fn bash_offers(line: &str) -> Vec<String> {
    let script = r#"source ./shaper.bash
        compopt() { :; }
        read -ra COMP_WORDS <<< "$1"
        [[ $1 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _shaper shaper "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
        [[ ${#COMPREPLY[@]} -eq 0 && $(complete -p shaper) == *" -o default "* ]] &&
            compgen -f -- "${COMP_WORDS[COMP_CWORD]}""#;
    says("bash", &["--norc", "-c", script, "bash", line])
}

#[test]
fn bash_offers_files_where_a_command_takes_them_and_options_to_who_begins_one() {
    for line in [
        "run ",
        "run sh",
        "report ",
        "verify ",
        "plan ",
        "compare ",
        "run jobs.jsonl ",
        "report --html sh",
    ] {
        let offered = bash_offers(&format!("shaper {line}"));
        let has_files = offered.iter().any(|word| word == "shaper.fish");
        let has_options = offered.iter().any(|word| word.starts_with('-'));
        assert!(has_files && !has_options, "{line:?}: {offered:?}");
    }
    let options = bash_offers("shaper run --qp");
    assert_eq!(options, ["--qps"]);
}

#[test]
fn zsh_completes_options_values_and_files() {
    if !is_there("zsh") {
        return;
    }
    let checked = Command::new("zsh")
        .args(["-n", "_shaper"])
        .current_dir(committed())
        .output();
    assert_eq!(checked.expect("zsh is there").stderr, b"");
    let folder = committed().display().to_string();
    assert_offers("zsh", |lines| {
        let script = ["-f", "-c", include_str!("complete.zsh"), "zsh", &folder];
        let args: Vec<&str> = script
            .into_iter()
            .chain(lines.iter().map(String::as_str))
            .collect();
        let mut offered: Vec<Vec<String>> = Vec::new();
        for said in says("zsh", &args) {
            if said.starts_with("<line>") {
                offered.push(Vec::new());
            }
            let word = said
                .split_once("<offer>")
                .and_then(|(_, rest)| rest.split_once("</offer>"));
            if let (Some((word, _)), Some(words)) = (word, offered.last_mut()) {
                words.push(word.to_owned());
            }
        }
        offered
    });
}

#[test]
fn fish_completes_options_values_and_files() {
    if !is_there("fish") {
        return;
    }
    let offers = |line: &String| {
        let script = format!("source shaper.fish; complete -C '{line}'");
        let lines = says("fish", &["--no-config", "-c", &script]);
        let words = lines.iter().filter_map(|line| line.split('\t').next());
        words.map(str::to_owned).collect()
    };
    assert_offers("fish", |lines| lines.iter().map(offers).collect());
}
