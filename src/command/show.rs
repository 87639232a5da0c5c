//! Reports, in the form and to the place that the options name. Floor 6: front.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use serde_json::Value;

use super::args::{OutputArgs, ShowArgs};
use super::values::{ColorWhen, ReportForm};
use super::{beside, print, put, say};
use crate::engine::{StopIf, Stopped};
use crate::error::{Exit, Problem};
use crate::letters::calm_path;
use crate::report::against::Against;
use crate::report::html::Named;
use crate::report::{Glyphs, Look, Paint, Report, csv, json, text};
use crate::sink::Target;
use crate::terminal::{self, Columns};

/// The report on a run, on stderr unless a file is named, and the files beside it.
pub(super) fn of_run(output: &OutputArgs, report: &Report) -> Result<(), Problem> {
    let beside = beside::write(&output.show, report);
    told(output, report).and(beside)
}

fn told(output: &OutputArgs, report: &Report) -> Result<(), Problem> {
    let show = &output.show;
    if output.quiet && show.report_file.is_none() && show.report == ReportForm::Text {
        return Ok(());
    }
    let Some(page) = page(show, &io::stderr(), report) else {
        return Ok(());
    };
    match show.report {
        _ if show.report_file.is_some() => write(show, &page)?,
        ReportForm::Text => put(&format!("\n{}", page.trim_end())),
        ReportForm::Json | ReportForm::Csv | ReportForm::None => put(page.trim_end()),
    }
    Ok(())
}

/// Any other page, on stdout unless a file is named: for people, or from its object for programs. `table` is what of
/// that object is for spreadsheets.
pub(super) fn of_page(
    show: &ShowArgs,
    text: impl FnOnce(Look) -> String,
    object: impl FnOnce() -> Value,
    table: impl FnOnce(Value) -> Value,
) -> Result<(), Problem> {
    let page = match show.report {
        ReportForm::None => return Ok(()),
        ReportForm::Text => text(show.look(&io::stdout())),
        ReportForm::Json => format!("{}\n", object()),
        ReportForm::Csv => csv::table(&table(object())),
    };
    write(show, &page)
}

/// Two runs beside each other, likewise, and the page on both.
pub(super) fn against(show: &ShowArgs, both: &Against) -> Result<(), Problem> {
    let [run, against] = both.names();
    let against = format!("against {against}");
    let named = [(&run, &both.run), (&against, &both.against)];
    let beside = beside::page(show, &named.map(|(name, report)| Named { name, report }));
    let told = of_page(
        show,
        |look| both.text(look),
        || both.json(),
        |object| object,
    );
    told.and(beside)
}

/// Why a run has ended before its time, and how to go on.
pub(super) fn stopped(stopped: &Stopped, results: &Target) -> Problem {
    let what = format!(
        "the run was stopped early: {} ({})",
        stopped.told,
        stopped.by()
    );
    let (cause, never) = match &*stopped.rule {
        Stopped::LONG_WAIT => ("wait so long", "--max-retry-after none waits by itself"),
        Stopped::SPENT => (
            "see to the quota where the server sells it",
            "waiting does not mend it",
        ),
        rule if rule == StopIf::usual().to_string() => (
            "give a key that is valid (--bearer-env, -H)",
            "--stop-if none never stops",
        ),
        _ => ("mend what failed", "--stop-if none never stops"),
    };
    let go_on = match results {
        Target::File(_) => "then go on by the same command with --resume --retry-failed",
        Target::Stdout | Target::Nowhere => "a run with -o FILE could go on with --resume",
    };
    Problem::new(Exit::SomeFailed, what, format!("{cause}, {go_on}; {never}"))
}

/// The report on results that were there before, on stdout unless a file is named, and the files beside it.
pub(super) fn again(show: &ShowArgs, report: &Report) -> Result<(), Problem> {
    let beside = beside::write(show, report);
    let told = match page(show, &io::stdout(), report) {
        Some(page) => write(show, &page),
        None => Ok(()),
    };
    told.and(beside)
}

/// Why a run counts as failed, on stderr in any case: it is why the program exits as it does.
pub(super) fn true_conditions(report: &Report) {
    let conditions = report.conditions.iter();
    for judged in conditions.filter(|judged| judged.is_true) {
        say(&format!("failed: {}", judged.told));
    }
}

/// The report in the form that is asked for; `None` for none. `usual` is where it goes without a file.
fn page(show: &ShowArgs, usual: &(impl IsTerminal + AsFd), report: &Report) -> Option<String> {
    match show.report {
        ReportForm::None => None,
        ReportForm::Text => Some(text::text(report, show.look(usual))),
        ReportForm::Json => Some(format!("{}\n", json::json(report))),
        ReportForm::Csv => Some(csv::csv(report)),
    }
}

/// To the file that is named, else to stdout.
fn write(show: &ShowArgs, page: &str) -> Result<(), Problem> {
    let named = show.report_file.as_ref();
    let Some(path) = named.filter(|path| path.as_os_str() != "-") else {
        return print(page);
    };
    beside::put(path, page).map_err(|why| {
        Problem::new(
            Exit::Unwritten,
            format!("the report cannot be written: {why}"),
            "name another --report-file",
        )
        .at(calm_path(path))
    })
}

impl ShowArgs {
    /// How it looks in the place that it goes to; without a file that is `usual`.
    pub(super) fn look(&self, usual: &(impl IsTerminal + AsFd)) -> Look {
        match &self.report_file {
            None => self.color.look(self.glyphs, usual),
            Some(path) if path.as_os_str() == "-" => self.color.look(self.glyphs, &io::stdout()),
            // No file is a terminal.
            Some(_) => Look {
                glyphs: self.glyphs,
                paint: self.color.forced(),
                columns: Columns::default(),
            },
        }
    }
}

impl ColorWhen {
    /// How a report looks in this stream.
    pub(super) fn look(self, glyphs: Glyphs, stream: &(impl IsTerminal + AsFd)) -> Look {
        Look {
            glyphs,
            paint: self.on(stream),
            columns: Columns::of(stream),
        }
    }

    /// Whether to colour what goes to this stream.
    pub(super) fn on(self, stream: &impl IsTerminal) -> Paint {
        match self {
            Self::Always | Self::Never => self.forced(),
            Self::Auto => {
                if stream.is_terminal() && !terminal::is_plain() && !terminal::is_dumb() {
                    Paint::Colour
                } else {
                    Paint::Plain
                }
            }
        }
    }

    /// Whether to colour where no terminal is.
    fn forced(self) -> Paint {
        match self {
            Self::Always => Paint::Colour,
            Self::Auto | Self::Never => Paint::Plain,
        }
    }
}
