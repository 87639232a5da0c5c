//! The options of `shaper report`. Floor 6: front.

use std::path::PathBuf;

use clap::Args;
use http::Method;
use url::Url;

use super::super::values::{base_url, one_of};
use crate::source::Format;

/// `shaper report`.
#[derive(Debug, Args)]
#[command(
    after_help = "A job has failed if its last result is `failed`. Each line is read again by the rules of its
run and compared with the result; if one of them makes another job, nothing is copied. What
FILE.run cannot tell is given again: --data, and a --base-url with credentials. Of several files
of results each is told for itself, one after the other.

Example:
  shaper report out.jsonl --failed-jobs > again.jsonl
  shaper run again.jsonl -o again.out

Exit codes: 0 all failed jobs copied, or none failed; 1 some cannot be copied: they came from
stdin or a pipe, or are in another format; 2 results, FILE.run or job files unreadable or changed;
3 not written, 141 stdout closed."
)]
pub(in crate::command) struct ReportArgs {
    /// Files of results, each with its FILE.run beside it
    #[arg(value_name = "RESULTS", required = true)]
    pub(in crate::command) results: Vec<PathBuf>,
    /// Copy the lines of failed jobs to stdout, byte for byte
    #[arg(long, required = true)]
    pub(in crate::command) failed_jobs: bool,
    /// What relative URLs were relative to
    #[arg(long, value_name = "URL", value_parser = base_url, help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) base_url: Option<Url>,
    /// The method of jobs that name none
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) method: Option<Method>,
    /// The body of jobs that have none
    #[arg(long, value_name = "TEXT", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) data: Option<String>,
    /// jsonl or urls: of several job files only those in this format
    #[arg(long, value_name = "FORMAT", help_heading = AS_TO_THE_RUN, value_parser = one_of::<Format>(["jsonl", "urls"]), hide_possible_values = true)]
    pub(in crate::command) format: Option<Format>,
}

const AS_TO_THE_RUN: &str = "As given to the run";
