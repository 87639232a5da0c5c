//! `shaper man`: the manual as roff. Floor 6: front.

use std::fmt::Write as _;
use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::args::ManArgs;
use super::line::{self, Detail};
use super::typo::near;
use super::{print, which};
use crate::error::{Exit, Problem};
use crate::terminal::Columns;

/// Columns of a page in a terminal of 80, less the indent of man.
const TEXT: usize = 72;

pub(super) fn man(args: &ManArgs) -> Result<Exit, Problem> {
    let mut program = line::program(Detail::All, Columns::default());
    program.build();
    let page = match args.command.as_deref() {
        None => whole(&program),
        Some(name) => {
            let command = program.find_subcommand(name);
            alone(command.ok_or_else(|| unknown(name, &program))?)
        }
    };
    let page = page.map_err(|why| Problem::new(Exit::Unwritten, why.to_string(), ""))?;
    print(&page).map(|()| Exit::AllOk)
}

/// What stands beside the file of results.
const FILES: [(&str, &str); 3] = [
    (
        "FILE.run",
        "Beside the results of -o FILE: the limits in force, the inputs, and the counts at the end.",
    ),
    ("FILE.torn", "A torn last line that --resume has cut off."),
    ("FILE.bad", "Damaged lines that --repair has set aside."),
];

const ENVIRONMENT: [(&str, &str); 2] = [
    (
        "NO_COLOR",
        "Not empty: no escape codes, unless --color always asks for them.",
    ),
    ("TERM", "dumb or not set: plain lines of progress."),
];

fn unknown(name: &str, program: &Command) -> Problem {
    let commands = program.get_subcommands().map(|it| it.get_name().to_owned());
    let mend = match near(name, commands).as_slice() {
        [] => "shaper help lists the commands".to_owned(),
        near => format!("shaper man {}", near.join(", shaper man ")),
    };
    Problem::usage(format!("there is no command {name}"), mend)
}

/// One page of all commands: `shaper.1`.
fn whole(program: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    begin(program, &mut page)?;
    let mut list = Roff::new();
    list.control("SH", ["COMMANDS"]);
    for command in program.get_subcommands() {
        list.control("TP", []);
        list.text([bold(command.get_name())]);
        list.text([roman(about(command))]);
    }
    list.to_writer(&mut page)?;
    body(program, "SH", &mut page)?;
    for command in program.get_subcommands() {
        let mut head = Roff::new();
        let name = format!("shaper {}", command.get_name());
        head.control("SH", [name.to_uppercase().as_str()]);
        head.text([bold(usage(command))]);
        head.control("PP", []);
        head.text([roman(format!("{}.", about(command)))]);
        head.to_writer(&mut page)?;
        body(command, "SS", &mut page)?;
    }
    let limits = which::limits(Columns::new(TEXT));
    let mut last = Roff::new();
    last.control("SH", ["WHICH LIMIT"]);
    verbatim(&mut last, limits.lines().skip(2));
    for (heading, rows) in [("FILES", &FILES[..]), ("ENVIRONMENT", &ENVIRONMENT)] {
        last.control("SH", [heading]);
        for (name, what) in rows {
            last.control("TP", []);
            last.text([bold(*name)]);
            last.text([roman(*what)]);
        }
    }
    last.to_writer(&mut page)?;
    Ok(once(&page))
}

/// The page of one command: `shaper-run.1`.
fn alone(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    begin(command, &mut page)?;
    body(command, "SH", &mut page)?;
    let mut last = Roff::new();
    last.control("SH", ["SEE ALSO"]);
    last.text([bold("shaper"), roman("(1), shaper help limits")]);
    last.to_writer(&mut page)?;
    Ok(once(&page))
}

/// Title to description. Words are not hyphenated: many are options.
fn begin(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let own = page_of(command);
    own.render_title(page)?;
    let mut setting = Roff::new();
    setting.control("nh", []);
    setting.control("ad", ["l"]);
    setting.to_writer(page)?;
    own.render_name_section(page)?;
    own.render_synopsis_section(page)?;
    own.render_description_section(page)
}

fn page_of(command: &Command) -> Man {
    let version = format!("shaper {}", env!("CARGO_PKG_VERSION"));
    let named = command.clone().override_usage(usage(command));
    // An empty date would be no argument at all.
    Man::new(named)
        .date(" ")
        .source(version)
        .manual("User Commands")
}

/// As its help begins: `shaper run [OPTIONS] [JOBS]...`.
fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").to_owned()
}

fn about(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Options by their headings, and what stands after them in the help, under headings of this level.
fn body(command: &Command, level: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let mut options = Vec::new();
    page_of(command).render_options_section(&mut options)?;
    let options = String::from_utf8_lossy(&options).replace("\n.SH ", &format!("\n.{level} "));
    page.extend(options.as_bytes());
    let after = command.get_after_help().map(ToString::to_string);
    let after = after.unwrap_or_default();
    let (examples, rest): (Vec<&str>, Vec<&str>) = after
        .split("\n\n")
        .partition(|part| part.starts_with("Example"));
    let (exits, notes): (Vec<&str>, Vec<&str>) = rest
        .into_iter()
        .partition(|part| part.starts_with("Exit codes: "));
    let mut more = Roff::new();
    for (number, note) in notes.iter().filter(|note| !note.is_empty()).enumerate() {
        if number == 0 {
            more.control(level, ["NOTES"]);
        } else {
            more.control("PP", []);
        }
        more.text([roman(note.replace('\n', " "))]);
    }
    for part in examples {
        more.control(level, ["EXAMPLES"]);
        let lines = part.lines().skip(1);
        verbatim(
            &mut more,
            lines.map(|line| line.strip_prefix("  ").unwrap_or(line)),
        );
    }
    for part in exits {
        more.control(level, ["EXIT STATUS"]);
        let text = part.trim_start_matches("Exit codes: ").replace('\n', " ");
        more.text([roman(text)]);
    }
    more.to_writer(page)
}

/// Lines as they are.
fn verbatim<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

/// What each part begins with, only once: how apostrophes are set. Letters outside ASCII by their numbers.
fn once(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let mut lines = Vec::new();
    for line in page.lines() {
        let preamble = line.starts_with(".ie ") || line.starts_with(".el ");
        if !preamble || !lines.contains(&line) {
            lines.push(line);
        }
    }
    let mut text = String::with_capacity(page.len());
    for letter in lines.join("\n").chars() {
        if letter.is_ascii() {
            text.push(letter);
        } else {
            let _ = write!(text, "\\[u{:04X}]", u32::from(letter));
        }
    }
    text + "\n"
}
