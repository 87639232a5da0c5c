//! `--strict`: every line is good, or nothing is sent. Floor 4: doors.

use std::io;
use std::sync::Arc;

use super::{Input, Rounds, Spec, open};
use crate::error::{Exit, Problem};
use crate::job::NoJob;
use crate::units::counted;

/// So many problems are listed; the rest are counted.
const LISTED: usize = 20;

/// Reads all that would be run. The spec of the same input, which can be read once more.
///
/// Standard input is kept in a file that has no name, so it is gone with the process, however that ends.
///
/// # Errors
/// A usage problem with the first 20 bad lines and unknown fields, if there are any; or one that says why
/// the input cannot be read or kept.
pub fn check_strict(mut spec: Spec) -> Result<Spec, Problem> {
    for input in &mut spec.inputs {
        if matches!(input, Input::Stdin) {
            let file = spool().map_err(|why| {
                Problem::new(
                    Exit::Usage,
                    format!("standard input cannot be kept in a temporary file: {why}"),
                    "make room there, set TMPDIR to another folder, or give a file",
                )
            })?;
            *input = Input::Spooled(Arc::new(file));
        }
    }
    let mut listed = Vec::new();
    let mut count = 0;
    let mut note = |text: String| {
        count += 1;
        if listed.len() < LISTED {
            listed.push(text);
        }
    };
    let mut source = open(&Spec {
        repeat: Rounds::default(),
        ..spec.clone()
    })?;
    while let Some(line) = source.next() {
        let line = line.map_err(|mut problem| {
            problem.exit = Exit::Usage;
            problem
        })?;
        match line {
            Err(bad) if bad.why == NoJob::Invalid => note(bad.to_string()),
            Err(_) | Ok(_) => {}
        }
        source.notices().into_iter().for_each(&mut note);
    }
    match count {
        0 => Ok(spec),
        _ => Err(refusal(&listed, count)),
    }
}

fn spool() -> io::Result<std::fs::File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin(), &mut file)?;
    Ok(file)
}

fn refusal(listed: &[String], count: usize) -> Problem {
    let more = match count - listed.len() {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    Problem::usage(
        format!(
            "{} in the input; nothing was sent\n{}{more}",
            counted(count as u64, "problem"),
            listed.join("\n")
        ),
        "mend these lines, or run without --strict",
    )
}
