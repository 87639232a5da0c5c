//! `shaper completions`: scripts that complete the command line in a shell. Floor 6: front.

use std::fmt::Write as _;

use clap::builder::PossibleValue;
use clap::{Arg, Command, ValueHint};
use clap_complete::aot::{Shell, generate};

use super::args::CompletionsArgs;
use super::{line, print};
use crate::error::{Exit, Problem};

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Problem> {
    let mut program = line::for_shells();
    let mut script = Vec::new();
    generate(args.shell, &mut program, "shaper", &mut script);
    let script = String::from_utf8_lossy(&script);
    let mut script = script.trim_start().to_owned();
    match args.shell {
        Shell::Bash => script = for_bash(&program, &script),
        Shell::Fish => {
            for command in program.get_subcommands() {
                script = lists(command).fold(script, |script, arg| fish_list(&script, arg));
                positional(command, &mut script);
            }
        }
        Shell::Zsh => {
            let all = program.get_subcommands().flat_map(lists);
            script = all.fold(script, |script, arg| zsh_list(&script, arg));
        }
        _ => {}
    }
    print(&script).map(|()| Exit::AllOk)
}

/// Files are left to the shell, which knows names with blanks; where a command takes them, options are offered to who
/// begins one. A list is completed at its last word.
fn for_bash(program: &Command, script: &str) -> String {
    const WORDS: &str = r#"COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )"#;
    let script = script.replace(r#"COMPREPLY=($(compgen -f "${cur}"))"#, "COMPREPLY=()");
    let mut parts = script.split("        shaper__subcmd__");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str("        shaper__subcmd__");
        let name = part.split(')').next().unwrap_or_default();
        let command = program.find_subcommand(name);
        let takes_files = command.is_some_and(|command| command.get_positionals().any(is_path));
        let part = match part.rsplit_once(WORDS) {
            Some((before, after)) if takes_files => {
                let before = before.replace(" || ${COMP_CWORD} -eq 2 ]]", " ]]");
                format!("{before}COMPREPLY=(){after}")
            }
            Some(_) | None => part.to_owned(),
        };
        let lists = command.into_iter().flat_map(lists);
        whole += &lists.fold(part, |part, arg| bash_list(&part, arg));
    }
    whole
}

fn is_path(arg: &Arg) -> bool {
    matches!(
        arg.get_value_hint(),
        ValueHint::AnyPath | ValueHint::FilePath
    )
}

/// Options that take several of a few words, with commas between them: they are offered behind each comma.
fn lists(command: &Command) -> impl Iterator<Item = &Arg> {
    let lists = command.get_opts();
    lists.filter(|arg| {
        arg.get_value_delimiter() == Some(',') && !arg.get_possible_values().is_empty()
    })
}

fn bash_list(script: &str, arg: &Arg) -> String {
    let words = arg.get_possible_values();
    let words: Vec<_> = words.iter().map(PossibleValue::get_name).collect();
    let words = words.join(" ");
    script.replace(
        &format!(r#"compgen -W "{words}" -- "${{cur}}""#),
        &format!(r#"compgen -P "${{cur%"${{cur##*,}}"}}" -W "{words}" -- "${{cur##*,}}""#),
    )
}

/// Its words stand in quotes, one a line: they become those of one command.
fn fish_list(script: &str, arg: &Arg) -> String {
    let option = format!(" -l {} ", arg.get_long().unwrap_or_default());
    let (before, from) = script.split_once(&option).expect("clap names each option");
    let (help, words) = from.split_once(" -a \"").expect("its words follow");
    let (words, after) = words.split_once("\"\n").expect("its words end");
    let words = words.replace('\n', " ");
    format!("{before}{option}{help} -a \"(__fish_append , {words})\"\n{after}")
}

/// Its words stand in two pairs of parentheses, one a line.
fn zsh_list(script: &str, arg: &Arg) -> String {
    let option = format!("'*--{}=[", arg.get_long().unwrap_or_default());
    let (before, from) = script.split_once(&option).expect("clap names each option");
    let (help, words) = from.split_once(":((").expect("its words follow");
    let (_, after) = words.split_once("))' ").expect("its words end");
    let words: Vec<_> = arg.get_possible_values().iter().map(described).collect();
    format!(
        "{before}{option}{help}:_values -s , words {}' {after}",
        words.join(" ")
    )
}

/// `"qps[a bucket that holds 1\: evenly spaced]"`
fn described(word: &PossibleValue) -> String {
    let help = word.get_help().map(ToString::to_string).unwrap_or_default();
    format!("\"{}[{}]\"", word.get_name(), help.replace(':', "\\:"))
}

/// The words that a command takes without an option, which the script for fish leaves out.
fn positional(command: &Command, script: &mut String) {
    let takes = command.get_positionals().flat_map(Arg::get_possible_values);
    let words: Vec<_> = takes.map(|word| word.get_name().to_owned()).collect();
    if !words.is_empty() {
        let _ = writeln!(
            script,
            "complete -c shaper -n \"__fish_shaper_using_subcommand {}\" -f -a \"{}\"",
            command.get_name(),
            words.join(" ")
        );
    }
}
