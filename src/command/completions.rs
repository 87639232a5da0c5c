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
        Shell::Fish => program
            .get_subcommands()
            .for_each(|command| positional(command, &mut script)),
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
        let lists = command.into_iter().flat_map(Command::get_opts);
        let lists = lists.filter(|arg| arg.get_value_delimiter() == Some(','));
        whole += &lists.fold(part, |part, arg| list(&part, arg));
    }
    whole
}

fn is_path(arg: &Arg) -> bool {
    matches!(
        arg.get_value_hint(),
        ValueHint::AnyPath | ValueHint::FilePath
    )
}

/// The words of this option are offered behind each comma.
fn list(part: &str, arg: &Arg) -> String {
    let words = arg.get_possible_values();
    let words: Vec<_> = words.iter().map(PossibleValue::get_name).collect();
    let words = words.join(" ");
    part.replace(
        &format!(r#"compgen -W "{words}" -- "${{cur}}""#),
        &format!(r#"compgen -P "${{cur%"${{cur##*,}}"}}" -W "{words}" -- "${{cur##*,}}""#),
    )
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
