//! The options of `shaper verify`. Floor 6: front.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::super::values::ReportForm;
use super::LimitArgs;
use crate::units::parse_duration;

/// `shaper verify`.
#[derive(Debug, Args)]
#[command(
    mut_arg("concurrency", |arg| arg.default_value("none").help("Slots: requests in flight")),
    after_help = "Windows are proved over the moments of sending, buckets and fixed windows over those of granting,
to the microsecond. Limits given here stand for all those of FILE.run. Several files are shards
of one run: all their sends together are held against each limit.

Examples:
  shaper verify results.jsonl
  shaper verify arrivals.jsonl --window 10/1s

Exit codes: 0 proved, 1 exceeded, or not proved for clocks so far apart, 2 unreadable or no limits."
)]
pub(in crate::command) struct VerifyArgs {
    /// Files of results, or of arrivals at `shaper mock`
    #[arg(value_name = "RESULTS", required = true)]
    pub(in crate::command) results: Vec<PathBuf>,
    /// In place of those of FILE.run.
    #[command(flatten)]
    pub(in crate::command) limits: LimitArgs,
    /// How long before a grant a bucket may have been charged; default: that of FILE.run, else 2ms
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_duration, help_heading = "Proof")]
    pub(in crate::command) slack: Option<Duration>,
    /// How far apart the clocks of the files may be: a limit is proved if it holds for any such clocks
    #[arg(long, value_name = "DUR", default_value = "0s", allow_hyphen_values = true, value_parser = parse_duration, help_heading = "Proof")]
    pub(in crate::command) clock_skew: Duration,
    /// The form of the proof: text, json, csv, none
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Proof"
    )]
    pub(in crate::command) report: ReportForm,
}
