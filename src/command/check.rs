//! `shaper check`: all that is wrong with an input, and what it holds; sends nothing. Floor 6: front.

use std::io;

use super::args::CheckArgs;
use super::input::Asked;
use super::print;
use super::values::ReportForm;
use crate::error::{Exit, Problem};
use crate::job::NoJob;
use crate::letters::calm_lines;
use crate::report::checked::Checked;
use crate::report::csv;
use crate::source::{self, Credentials, Input, Rounds, Times, UnitsRule};

/// Problems are shown together, up to so many bytes of them.
const TOGETHER: usize = 64 << 10;

pub(super) fn check(args: &CheckArgs) -> Result<Exit, Problem> {
    let asked = Asked {
        files: &args.jobs,
        input: &args.input,
        job: &args.job,
        once: None,
        run: 0,
        units: UnitsRule::Learn(args.estimate),
        per: Vec::new(),
        credentials: Credentials::Numbered,
        times: if args.replay {
            Times::Needed
        } else {
            Times::Ignored
        },
        repeat: Rounds::default(),
        retry_unsafe: None,
    };
    let spec = asked.spec()?;
    let mut source = source::open(&spec)?;
    let mut checked = Checked::of(spec.inputs.iter().map(Input::name).collect());
    let mut shown = String::new();
    let mut any = false;
    while let Some(line) = source.next() {
        let line = match line {
            Ok(line) => line,
            Err(problem) => {
                show(args, &mut shown)?;
                return Err(Problem {
                    exit: Exit::Usage,
                    ..problem
                });
            }
        };
        any = true;
        checked.add(&line);
        if let Err(bad) = &line
            && bad.why == NoJob::Invalid
        {
            checked.list(bad);
            shown.push_str(&calm_lines(&format!("{bad}\n")));
        }
        for warning in source.notices() {
            checked.warn();
            shown.push_str(&calm_lines(&format!("{warning}\n")));
        }
        if shown.len() > TOGETHER {
            show(args, &mut shown)?;
        }
    }
    checked.close(source.left());
    if !any && !args.input.allow_empty {
        return Err(source::empty(&spec.inputs, source.left().as_deref()));
    }
    if !shown.is_empty() {
        shown.push('\n');
    }
    show(args, &mut shown)?;
    match args.report {
        ReportForm::Text => print(&checked.text(args.color.look(args.glyphs, &io::stdout())))?,
        ReportForm::Json => print(&format!("{}\n", checked.json()))?,
        ReportForm::Csv => print(&csv::table(&checked.json()))?,
        ReportForm::None => {}
    }
    Ok(if checked.has_problems() {
        Exit::Usage
    } else {
        Exit::AllOk
    })
}

/// Problems, where people read them.
fn show(args: &CheckArgs, shown: &mut String) -> Result<(), Problem> {
    let text = std::mem::take(shown);
    match args.report {
        ReportForm::Text => print(&text),
        ReportForm::Json | ReportForm::Csv | ReportForm::None => Ok(()),
    }
}
