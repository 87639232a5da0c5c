//! What was typed and is not there, with what was meant if that is near. Floor 6: front.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::letters::calm;

/// The error with a suggestion if one is near, and without the value if that may be a credential.
pub(super) fn mended(
    mut said: clap::Error,
    program: &mut Command,
    line: &[OsString],
) -> clap::Error {
    // "to pass '-z' as a value, use '-- -z'": no file of jobs begins with a hyphen.
    said.remove(ContextKind::Suggested);
    match said.kind() {
        ErrorKind::UnknownArgument => unknown_option(&mut said, program, line),
        ErrorKind::InvalidSubcommand => {
            let names = program.get_subcommands().map(Command::get_name);
            suggest(
                &mut said,
                ContextKind::InvalidSubcommand,
                ContextKind::SuggestedSubcommand,
                names.map(str::to_owned),
            );
        }
        ErrorKind::InvalidValue => {
            let valid = match said.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => valid.clone(),
                Some(_) | None => Vec::new(),
            };
            suggest(
                &mut said,
                ContextKind::InvalidValue,
                ContextKind::SuggestedValue,
                valid.into_iter(),
            );
        }
        _ => {}
    }
    calmed(without_secrets(said))
}

/// What was typed, as it may be shown.
fn calmed(mut said: clap::Error) -> clap::Error {
    for kind in [
        ContextKind::InvalidArg,
        ContextKind::InvalidSubcommand,
        ContextKind::InvalidValue,
    ] {
        if let Some(typed) = text_of(&said, kind) {
            said.insert(kind, ContextValue::String(calm(&typed).into_owned()));
        }
    }
    said
}

/// An option of the command that was typed, else a command that has it.
fn unknown_option(said: &mut clap::Error, program: &mut Command, line: &[OsString]) {
    let Some(typed) = text_of(said, ContextKind::InvalidArg) else {
        return;
    };
    let mut words = line.iter().skip(1).filter_map(|word| word.to_str());
    let command = words.find(|word| !word.starts_with('-'));
    let command = command.and_then(|name| program.find_subcommand(name));
    let options = |command: &Command| {
        let all = command.get_arguments().flat_map(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            let names = arg.get_long().into_iter().chain(aliases);
            names.map(|name| format!("--{name}")).collect::<Vec<_>>()
        });
        all.collect::<Vec<_>>()
    };
    let near = near(&typed, options(command.unwrap_or(program)).into_iter());
    if !near.is_empty() {
        said.insert(ContextKind::SuggestedArg, ContextValue::Strings(near));
        return;
    }
    let mut others = program.get_subcommands();
    let other = others.find(|other| options(other).contains(&typed));
    if let Some(other) = other {
        let tip = format!("'{typed}' is an option of 'shaper {}'", other.get_name());
        said.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
}

fn text_of(said: &clap::Error, kind: ContextKind) -> Option<String> {
    match said.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(_) | None => None,
    }
}

fn suggest(
    said: &mut clap::Error,
    wrong: ContextKind,
    right: ContextKind,
    known: impl Iterator<Item = String>,
) {
    let near = text_of(said, wrong).map(|typed| near(&typed, known));
    if let Some(near) = near.filter(|near| !near.is_empty()) {
        said.insert(right, ContextValue::Strings(near));
    }
}

/// The known words that a word may have been meant to be: the nearest by letters that were left out, added,
/// replaced or swapped, at most one in four; else those that it begins, if these are few.
pub(super) fn near(typed: &str, known: impl Iterator<Item = String>) -> Vec<String> {
    let letters = |word: &str| word.trim_start_matches('-').chars().count();
    let most = (letters(typed) / 4).max(1);
    let known: Vec<String> = known.collect();
    let far = |word: &str| strsim::damerau_levenshtein(typed, word);
    let nearest = known.iter().min_by_key(|word| far(word));
    if let Some(word) = nearest.filter(|word| far(word) <= most && letters(word) > most) {
        return vec![word.clone()];
    }
    let begun = |word: &&String| letters(typed) >= BEGUN && word.starts_with(typed);
    let begun: Vec<String> = known.iter().filter(begun).cloned().collect();
    if begun.len() <= FEW {
        begun
    } else {
        Vec::new()
    }
}

/// Letters from which on a word that is begun can be told.
const BEGUN: usize = 4;

/// More words than these are no suggestion.
const FEW: usize = 3;

/// Options whose values may be credentials: what is wrong with one is told without it.
const SECRET_OPTIONS: [&str; 8] = [
    "--header",
    "--base-url",
    "--request-url",
    "--url",
    "--proxy",
    "--connect-to",
    "--rewrite",
    "--redis",
];

fn without_secrets(mut said: clap::Error) -> clap::Error {
    let option = text_of(&said, ContextKind::InvalidArg).unwrap_or_default();
    let secret = SECRET_OPTIONS
        .iter()
        .any(|secret| option.starts_with(secret));
    if secret && said.get(ContextKind::InvalidValue).is_some() {
        let hidden = ContextValue::String("***".to_owned());
        said.insert(ContextKind::InvalidValue, hidden);
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(typed: &str, known: &[&str]) -> Vec<String> {
        near(typed, known.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let options = [
            "--concurrency",
            "--tpm",
            "--qps",
            "--report",
            "--repair",
            "--format",
        ];
        let options = [
            &options[..],
            &["--retry-failed", "--retry-unsafe", "--help"],
        ]
        .concat();
        for (typed, right) in [
            ("--concurency", "--concurrency"),
            ("--qsp", "--qps"),
            ("--reprot", "--report"),
            ("--conc", "--concurrency"),
            ("--retry-fialed", "--retry-failed"),
        ] {
            assert_eq!(meant(typed, &options), [right], "{typed}");
        }
        for typed in [
            "--html",
            "--repeat",
            "--fail-if",
            "--hdr",
            "--metrics",
            "--stop-if",
            "-z",
            "--for",
        ] {
            assert_eq!(meant(typed, &options), [""; 0], "{typed}");
        }
        assert_eq!(
            meant("--retry", &options),
            ["--retry-failed", "--retry-unsafe"]
        );
    }
}
