//! `shaper completions`: scripts that complete the command line in a shell. Floor 6: front.

use std::fmt::Write as _;

use clap::{Arg, Command};
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
    if args.shell == Shell::Fish {
        program
            .get_subcommands()
            .for_each(|command| positional(command, &mut script));
    }
    print(&script).map(|()| Exit::AllOk)
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
