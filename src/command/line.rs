//! The command line as a whole: how it is read, and how its help looks. Floor 6: front.

use std::ffi::{OsStr, OsString};
use std::io;

use clap::builder::{PossibleValuesParser, Str, StyledStr};
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, ValueEnum, ValueHint};

use super::args::Cli;
use super::help::TOPICS;
use super::typo;
use super::values::ColorWhen;
use crate::report::{folded, hung, tied};
use crate::terminal::Columns;

/// Reads a command line; help that is asked for and whatever is wrong with it are errors.
pub(super) fn read(line: &[OsString]) -> Result<Cli, clap::Error> {
    let detail = if line.iter().any(|word| word == "-h") {
        Detail::Usual
    } else {
        Detail::All
    };
    // The words are right, or missing and help goes to stderr.
    let columns = match line.len() {
        0 | 1 => Columns::of(&io::stderr()),
        _ => Columns::of(&io::stdout()),
    };
    // Of the commands only the one that is named is laid out: all of them would take longer than the rest of a start.
    let named = line.get(1).and_then(|word| word.to_str());
    let lay_out = |command: clap::Command| match command.get_name() {
        name if Some(name) == named => narrow(whole(command, detail, columns), columns.get()),
        _ => command,
    };
    let program = narrow(screen(detail, columns), columns.get());
    let mut program = program.mut_subcommands(lay_out);
    let read = program
        .try_get_matches_from_mut(line)
        .and_then(|found| Cli::from_arg_matches(&found));
    read.map_err(|said| typo::mended(said, &mut program, line))
}

/// How much help tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// `-h`: what most need.
    Usual,
    /// `--help`: everything.
    All,
}

/// The whole program for clap.
pub(super) fn program(detail: Detail, columns: Columns) -> clap::Command {
    screen(detail, columns).mut_subcommands(|command| whole(command, detail, columns))
}

/// The program as it is told of without a command: its commands have their names and options, and nothing is laid out.
fn screen(detail: Detail, columns: Columns) -> clap::Command {
    let program = Cli::command().term_width(columns.get());
    let screen = first_screen(&program, columns);
    dressed(program, detail, columns).help_template(screen)
}

/// A command with its options in order.
fn whole(command: clap::Command, detail: Detail, columns: Columns) -> clap::Command {
    dressed(in_order(command, detail), detail, columns)
}

/// What a stranger types first; then the commands, and where more stands: on a terminal of 80 columns and 24 rows.
fn first_screen(program: &clap::Command, columns: Columns) -> StyledStr {
    let styles = program.get_styles();
    let (head, plain) = (
        styles.get_header().render(),
        styles.get_header().render_reset(),
    );
    let first = laid_out(FIRST_LINES, columns.get());
    let more = laid_out(MORE, columns.get());
    let page = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{first}\n\n\
         {head}Commands:{plain}\n{{subcommands}}\n\n{more}\n"
    );
    page.into()
}

const FIRST_LINES: &str = "  shaper run jobs.jsonl --concurrency 20 --qps 10 -o results.jsonl
  shaper plan jobs.jsonl --qps 10     # how long that would take
  shaper compare                      # why a semaphore is no rate limit";

const MORE: &str =
    "shaper COMMAND -h tells the usual options, --help all of them, with examples and
exit codes; shaper --version tells the version.";

/// The options of a run that matter most stand first. Behind them the others that are usual, or all under headings, from
/// what limits it to what it tells.
fn in_order(command: clap::Command, detail: Detail) -> clap::Command {
    let has = |id: &&str| command.get_arguments().any(|arg| arg.get_id() == id);
    if !FIRST.iter().all(has) {
        return command;
    }
    let mut place = FIRST.len();
    let command = command.mut_args(|arg| {
        let first = FIRST.iter().position(|id| arg.get_id() == id);
        place += 1;
        match (first, detail) {
            (Some(first), _) => arg.help_heading(None).display_order(first),
            (None, Detail::Usual) => arg.help_heading(None).display_order(place),
            (None, Detail::All) => arg,
        }
    });
    let mut args: Vec<Arg> = command.get_arguments().cloned().collect();
    args.sort_by_key(|arg| {
        let heading = arg.get_help_heading();
        let begins = |begin: &&str| heading.is_some_and(|heading| heading.starts_with(begin));
        HEADINGS.iter().position(begins)
    });
    let mut args = args.into_iter();
    command.mut_args(|_| args.next().expect("they are as many as before"))
}

/// The ten options that most runs need, in this order.
const FIRST: [&str; 10] = [
    "concurrency",
    "qps",
    "tpm",
    "window",
    "bearer_env",
    "max_attempts",
    "output",
    "resume",
    "fail_if",
    "mock",
];

/// How the headings of a run begin, in their order.
const HEADINGS: [&str; 13] = [
    "Limits",
    "Waiting",
    "Sharing",
    "Units",
    "Retry",
    "HTTP",
    "Input",
    "When",
    "Results",
    "Going on",
    "Report",
    "Conditions",
    "Progress",
];

fn dressed(command: clap::Command, detail: Detail, columns: Columns) -> clap::Command {
    let many = command.get_opts().count() > MANY;
    let mut after = command.get_after_help().map(StyledStr::to_string);
    let command = match detail {
        Detail::Usual if many => {
            let examples = after.as_deref().map(|text| text.split("\n\n"));
            let examples =
                examples.and_then(|mut parts| parts.find(|part| part.starts_with("Example")));
            let more = format!(
                "All options, and exit codes: {} --help",
                full_name(&command)
            );
            after = Some([examples.unwrap_or_default(), &more].join("\n\n"));
            command.mut_args(|arg| {
                let usual = USUAL.contains(&arg.get_id().as_str());
                arg.hide(!usual)
            })
        }
        Detail::Usual => command,
        Detail::All => command.mut_args(with_aliases),
    };
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help("Print help; -h is shorter")
        .display_order(usize::MAX);
    let command = command
        .next_help_heading(None)
        .disable_help_flag(true)
        .arg(help)
        .mut_args(takes_what_follows);
    match after {
        Some(text) => command.after_help(laid_out(&text, columns.get())),
        None => command,
    }
}

/// What stands behind an option is its value, `-1` too: what is wrong with that is told by its name.
fn takes_what_follows(arg: Arg) -> Arg {
    let takes = !arg.is_positional() && arg.get_action().takes_values();
    arg.allow_negative_numbers(takes)
}

/// As it is typed.
fn full_name(command: &clap::Command) -> String {
    match command.get_name() {
        "shaper" => "shaper".to_owned(),
        name => format!("shaper {name}"),
    }
}

/// From so many options on `-h` shows only [`USUAL`] ones.
const MANY: usize = 20;

/// The options that `-h` shows of commands with many: those that a first run needs.
const USUAL: [&str; 30] = [
    "jobs",
    "results",
    "concurrency",
    "qps",
    "rpm",
    "burst",
    "tpm",
    "window",
    "max_attempts",
    "timeout",
    "header",
    "bearer_env",
    "base_url",
    "mock",
    "api",
    "latency",
    "latency_from",
    "price",
    "discipline",
    "live",
    "yes",
    "format",
    "limit_jobs",
    "output",
    "overwrite",
    "resume",
    "retry_failed",
    "fail_if",
    "report",
    "quiet",
];

/// Other spellings of an option are shown where there is room.
fn with_aliases(arg: Arg) -> Arg {
    let names: Vec<Str> = arg
        .get_all_aliases()
        .into_iter()
        .flatten()
        .map(|name| Str::from(name.to_owned()))
        .collect();
    arg.alias(None::<&str>).visible_aliases(names)
}

/// Paragraphs in lines of so many columns. A line that is indented is one of a shell, and stays one there.
fn laid_out(text: &str, columns: usize) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let mut lines: Vec<String> = Vec::new();
        let mut running = String::new();
        for line in paragraph.lines() {
            if let Some(example) = line.strip_prefix("  ") {
                lines.extend((!running.is_empty()).then(|| std::mem::take(&mut running)));
                let mut parts = folded(example, columns - 6);
                let last = parts.len() - 1;
                parts[..last]
                    .iter_mut()
                    .for_each(|part| part.push_str(" \\"));
                lines.push(format!("  {}", parts.join("\n    ")));
            } else {
                running.extend(
                    [" ", line]
                        .into_iter()
                        .skip(usize::from(running.is_empty())),
                );
            }
        }
        if !running.is_empty() {
            lines.extend(folded(&running, columns));
        }
        lines.join("\n")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// What clap would not break well, or not at all, on a page of so many columns.
fn narrow(command: clap::Command, columns: usize) -> clap::Command {
    let command = command.mut_args(|arg| {
        let help = arg.get_help().map(|help| tied(&help.to_string()));
        let heading = arg.get_help_heading().map(str::to_owned);
        let arg = match help {
            Some(help) if columns < ROOMY => arg.help(help.replace('|', "| ")),
            Some(help) => arg.help(help),
            None => arg,
        };
        match heading
            .as_deref()
            .and_then(|heading| heading.split_once(" ("))
        {
            Some((word, _)) if columns < ROOMY => arg.help_heading(word.to_owned()),
            Some(_) | None => arg,
        }
    });
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let usage = usage.replacen(command.get_name(), &full_name(&command), 1);
    if HUNG + usage.chars().count() <= columns {
        return command;
    }
    let usage = hung("", HUNG, &usage, columns - HUNG);
    command.override_usage(usage.join("\n"))
}

/// From so many columns on headings and the forms of limits fit.
const ROOMY: usize = 72;

/// What stands before a usage, and under it.
const HUNG: usize = "Usage: ".len();

/// `--color` counts for what clap prints, too.
pub(super) fn colour(line: &[OsString]) -> ColorWhen {
    let words = line.iter().map(OsString::as_os_str);
    let mut words = words.take_while(|word| *word != "--").map(OsStr::to_str);
    let mut when = ColorWhen::Auto;
    while let Some(word) = words.next() {
        let value = match word {
            Some("--color") => words.next().flatten(),
            Some(word) => word.strip_prefix("--color="),
            None => None,
        };
        let value = value.and_then(|value| ColorWhen::from_str(value, false).ok());
        when = value.unwrap_or(when);
    }
    when
}

/// The program as scripts of shells know it.
pub(super) fn for_shells() -> clap::Command {
    let program = program(Detail::All, Columns::default());
    let commands = program.get_subcommands();
    let commands: Vec<Str> = commands
        .map(|command| Str::from(command.get_name().to_owned()))
        .collect();
    let topics = [&commands[..], &TOPICS.map(Str::from)].concat();
    let told = |command: clap::Command| command.mut_args(for_shell);
    told(program)
        .mut_subcommands(told)
        .mut_subcommand("help", |help| one_of(help, "topic", topics))
        .mut_subcommand("man", |man| one_of(man, "command", commands))
}

/// An argument that is one of these words.
fn one_of(command: clap::Command, name: &str, words: Vec<Str>) -> clap::Command {
    let words = PossibleValuesParser::new(words);
    command.mut_arg(name, |arg| arg.value_parser(words))
}

/// Where no word is known, none is offered: names of files would be wrong. A colon in the name of a value
/// would end it in zsh.
fn for_shell(arg: Arg) -> Arg {
    let names = arg.get_value_names().map(|names| {
        let names = names.iter().map(|name| Str::from(name.replace(':', "\\:")));
        names.collect::<Vec<_>>()
    });
    let unknown =
        arg.get_value_hint() == ValueHint::Unknown && arg.get_possible_values().is_empty();
    let arg = match names {
        Some(names) => arg.value_names(names),
        None => arg,
    };
    if unknown && arg.get_action().takes_values() {
        arg.value_hint(ValueHint::Other)
    } else {
        arg
    }
}
