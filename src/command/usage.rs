//! What clap has to say: help on stdout; what is wrong with a line on stderr, as any other problem. Floor 6: front.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::line::{self, Detail};
use super::{exit, print};
use crate::error::{Exit, Problem};
use crate::letters::calm_lines;
use crate::report::{Paint, untied};
use crate::terminal::Columns;

/// Prints it: a page in the colours that the line asks for.
pub(super) fn show(said: &clap::Error, line: &[OsString]) -> Exit {
    let styled = said.render();
    let text = |paint| match paint {
        Paint::Colour => untied(&styled.ansi().to_string()),
        Paint::Plain => untied(&calm_lines(&styled.to_string())),
    };
    let when = line::colour(line);
    match said.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let page = text(when.on(&io::stdout()));
            exit(print(&page).map(|()| Exit::AllOk))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let mut stderr = io::stderr();
            // If even that is gone, nobody is left to be told.
            let _ = stderr.write_all(text(when.on(&stderr)).as_bytes());
            Exit::Usage
        }
        _ => exit(Err(problem(said, command(line)))),
    }
}

/// The command that a line names, if there is one of that name.
fn command(line: &[OsString]) -> Option<&str> {
    let mut words = line.iter().skip(1).filter_map(|word| word.to_str());
    let name = words.find(|word| !word.starts_with('-'))?;
    let program = line::program(Detail::Usual, Columns::default());
    program.find_subcommand(name).map(|_| name)
}

/// What is wrong with the line of a command, and how to mend it.
fn problem(said: &clap::Error, command: Option<&str>) -> Problem {
    let words = |kind| match said.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(words)) => words.clone(),
        Some(ContextValue::StyledStrs(words)) => words.iter().map(ToString::to_string).collect(),
        Some(_) | None => Vec::new(),
    };
    let arg = words(ContextKind::InvalidArg).join(" and ");
    let value = words(ContextKind::InvalidValue).concat();
    let own = command.unwrap_or("shaper");
    let help = match command {
        Some(command) => format!("shaper {command} --help tells its options"),
        None => "shaper --help lists the commands".to_owned(),
    };
    let meant = |kind| {
        let near = words(kind).join(" or ");
        (!near.is_empty()).then(|| format!("did you mean {near}?"))
    };
    let (what, mend) = match said.kind() {
        ErrorKind::ValueValidation => {
            let reason = said.source().map(ToString::to_string).unwrap_or_default();
            let what = format!("{arg} cannot be '{value}'");
            let (what, form) = match form_in(&reason) {
                _ if reason.is_empty() => (what, help),
                Some((why, form)) => (format!("{what}: {why}"), form),
                None => (what, reason),
            };
            let meant = meant(ContextKind::SuggestedValue).into_iter();
            let mend: Vec<_> = meant.chain([form]).collect();
            (what, mend.join(" "))
        }
        ErrorKind::InvalidValue => {
            let valid = words(ContextKind::ValidValue).join(", ");
            let form = (!valid.is_empty()).then(|| format!("write one of {valid}"));
            let meant = meant(ContextKind::SuggestedValue);
            let mend: Vec<_> = meant.into_iter().chain(form).collect();
            let mend = if mend.is_empty() {
                format!("write it behind: {arg}")
            } else {
                mend.join(" ")
            };
            if value.is_empty() {
                (format!("{arg} has no value"), mend)
            } else {
                (format!("{arg} cannot be '{value}'"), mend)
            }
        }
        ErrorKind::UnknownArgument => {
            let tip = words(ContextKind::Suggested).join("; ").replace('\'', "");
            let tip = (!tip.is_empty()).then_some(tip);
            let what = if arg.starts_with('-') {
                format!("{own} has no option {arg}")
            } else {
                format!("{own} takes no '{arg}'")
            };
            let mend = meant(ContextKind::SuggestedArg).or(tip);
            (what, mend.unwrap_or(help))
        }
        ErrorKind::InvalidSubcommand => {
            let typed = words(ContextKind::InvalidSubcommand).concat();
            let meant = meant(ContextKind::SuggestedSubcommand);
            (
                format!("there is no command '{typed}'"),
                meant.unwrap_or(help),
            )
        }
        ErrorKind::ArgumentConflict => match words(ContextKind::PriorArg).join(" and ") {
            prior if prior == arg => (format!("{arg} is given twice"), "give it once".to_owned()),
            prior => (
                format!("{arg} and {prior} do not go together"),
                "leave one of them out".to_owned(),
            ),
        },
        ErrorKind::MissingRequiredArgument => {
            let usage = words_of_usage(said);
            (format!("{own} needs {arg}"), format!("write {usage}"))
        }
        ErrorKind::NoEquals => (
            format!("{arg} takes its value behind a ="),
            format!("write {arg}"),
        ),
        // What the other kinds have is in their sentence alone.
        _ => {
            let plain = said.to_string();
            let first = plain.lines().next().unwrap_or_default();
            (first.trim_start_matches("error: ").to_owned(), help)
        }
    };
    Problem::usage(what, mend)
}

/// A reason, where one stands before the form that mends it.
fn form_in(reason: &str) -> Option<(&str, String)> {
    const FORMS: [&str; 3] = ["write ", "there are ", "did you mean "];
    if FORMS.iter().any(|form| reason.starts_with(form)) {
        return None;
    }
    let begins = FORMS.iter().flat_map(|form| {
        let signs = [": ", "; ", ", "].into_iter();
        signs.map(move |sign| (format!("{sign}{form}"), sign.len()))
    });
    let found = begins.filter_map(|(begin, sign)| Some((reason.find(&begin)?, sign)));
    let (at, sign) = found.min()?;
    Some((&reason[..at], reason[at + sign..].to_owned()))
}

/// How the command is used, in one line.
fn words_of_usage(said: &clap::Error) -> String {
    let usage = match said.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        Some(_) | None => String::new(),
    };
    let words = usage.split_whitespace().filter(|word| *word != "Usage:");
    untied(&words.collect::<Vec<_>>().join(" "))
}
