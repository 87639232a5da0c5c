//! `shaper help`: how a command is used, and which limit suits which server. Floor 6: front.

use std::ffi::OsString;
use std::io;

use super::args::HelpArgs;
use super::line::{self, Detail};
use super::typo::near;
use super::{exit, print, usage, which};
use crate::error::{Exit, Problem};
use crate::terminal::Columns;

/// What there is help on besides commands.
pub(super) const TOPICS: [&str; 1] = ["limits"];

pub(super) fn help(args: &HelpArgs) -> Exit {
    let topic = match args.topic.as_deref() {
        Some("limits") => {
            let page = which::limits(Columns::of(&io::stdout()));
            return exit(print(&page).map(|()| Exit::AllOk));
        }
        topic => topic,
    };
    let program = line::program(Detail::All, Columns::default());
    let mut commands = program.get_subcommands().map(clap::Command::get_name);
    match topic {
        Some(topic) if commands.all(|command| command != topic) => {
            let commands = program.get_subcommands().map(clap::Command::get_name);
            let known = commands.chain(TOPICS).map(str::to_owned);
            let mend = match near(topic, known).as_slice() {
                [] => "shaper help lists the commands; shaper help limits".to_owned(),
                near => format!("shaper help {}", near.join(", shaper help ")),
            };
            exit(Err(Problem::usage(
                format!("there is no help on {topic}"),
                mend,
            )))
        }
        // The same words in the same colours.
        topic => {
            let words = ["shaper"].into_iter().chain(topic).chain(["--help"]);
            let words: Vec<_> = words.map(OsString::from).collect();
            match line::read(&words) {
                Ok(_) => Exit::AllOk,
                Err(page) => usage::show(&page, &words),
            }
        }
    }
}
