//! The options of `shaper check`. Floor 6: front.

use std::path::PathBuf;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::{ArgAction, Args};

use super::super::values::{ColorWhen, ReportForm, glyphs, one_of};
use super::{InputArgs, JobArgs};
use crate::estimate::Estimator;
use crate::report::Glyphs;

/// `shaper check`.
#[derive(Debug, Args)]
#[command(
    mut_arg("strict", |arg| arg.hide(true)),
    after_help = "Every line is read as `run` would read it, by the same options. Nothing is sent.

Examples:
  shaper check jobs.jsonl
  shaper check requests.csv --base-url https://api.example.com --report json
  shaper check recorded.jsonl --replay

Exit codes: 0 no problem, 2 there is one, 3 report not written, 141 stdout closed."
)]
pub(in crate::command) struct CheckArgs {
    /// Files of jobs; `-`, or nothing while stdin is not a terminal, is stdin
    #[arg(value_name = "JOBS")]
    pub(in crate::command) jobs: Vec<PathBuf>,
    /// Input.
    #[command(flatten)]
    pub(in crate::command) input: InputArgs,
    /// HTTP.
    #[command(flatten)]
    pub(in crate::command) job: JobArgs,
    /// Check for a replay: every line needs a moment at which it was recorded, and all count from the same
    #[arg(long, help_heading = "Input")]
    pub(in crate::command) replay: bool,
    /// How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output);
    /// o200k, cl100k, openai in a build with the feature bpe
    #[arg(long, value_name = "HOW", default_value = "chars", value_parser = one_of::<Estimator>(Estimator::WORDS), hide_possible_values = true, help_heading = "Input")]
    pub(in crate::command) estimate: Estimator,
    /// The form of the report: text (all problems, then the counts), json, csv, none
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Report"
    )]
    pub(in crate::command) report: ReportForm,
    /// Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Report"
    )]
    pub(in crate::command) color: ColorWhen,
    /// No characters outside ASCII
    #[arg(long = "ascii", action = ArgAction::SetTrue, value_parser = BoolishValueParser::new().map(glyphs), help_heading = "Report")]
    pub(in crate::command) glyphs: Glyphs,
}
