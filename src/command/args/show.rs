//! How a report looks and where it goes, whatever it is about. Floor 6: front.

use std::path::PathBuf;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::{ArgAction, Args};

use super::super::values::{ColorWhen, ReportForm, file, glyphs, latencies};
use crate::report::Glyphs;

/// The form of a report.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub(in crate::command) struct ShowArgs {
    /// The report: text, json, csv (a table: metric, label, value, unit), none
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(in crate::command) report: ReportForm,
    /// Where the report goes; default: stdout, but of a run stderr, among its messages: programs that read it name a FILE
    #[arg(long, value_name = "FILE|-")]
    pub(in crate::command) report_file: Option<PathBuf>,
    /// The report as one page with charts, which needs no other file and no network
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub(in crate::command) html: Option<PathBuf>,
    /// FILE.hlog: latencies as a log of `HdrHistogram`; FILE.hgrm or FILE.txt: percentiles to plot, of `service_ok`, or
    /// as in `x.since_due_ok.hgrm`; repeatable
    #[arg(long, value_name = "FILE", value_parser = latencies)]
    pub(in crate::command) hdr: Vec<PathBuf>,
    /// Colour: auto (in a terminal, unless `NO_COLOR` is set), always, never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(in crate::command) color: ColorWhen,
    /// No characters outside ASCII
    #[arg(long = "ascii", action = ArgAction::SetTrue, value_parser = BoolishValueParser::new().map(glyphs))]
    pub(in crate::command) glyphs: Glyphs,
}
