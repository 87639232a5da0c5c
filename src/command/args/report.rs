//! The options of `shaper report`. Floor 6: front.

use std::path::PathBuf;

use clap::Args;
use http::Method;

use super::super::values::{HeaderFrom, header_from, one_of};
use super::{FailIfArgs, LimitArgs, ShowArgs};
use crate::source::{Format, HttpUrl, Rewrite, Template};

/// `shaper report`.
#[derive(Debug, Args)]
#[command(
    mut_arg("concurrency", |arg| arg.default_value("none").help("Slots: requests in flight")),
    after_help = "All files together are one report: shards of a run on one clock. The last result of a job is its
result; what it was tried before counts among the tries. Limits, slots and whose time it was stand
in FILE.run beside each; without it they are given by options, as to the run, and what nothing
tells is shown as a dash, or null. Limits that are given stand for those of FILE.run.

With --failed-jobs each line is read again by the rules of its run and compared with the result; if
one of them makes another job, nothing is copied. What FILE.run cannot tell is given again: --data,
--url and its -H, --rewrite, and a --base-url or --request-url with credentials. Of several files of results each is
told for itself.

Examples:
  shaper report out.jsonl
  shaper report shard-*.jsonl --report json | jq .throughput
  shaper report today.jsonl --against yesterday.jsonl
  zcat out.jsonl.gz | shaper report - --qps 10 -c 20
  shaper report out.jsonl --failed-jobs > again.jsonl

Exit codes: 0 the report is written, or all failed jobs are copied; 1 some cannot be copied: they
came from stdin or a pipe, or are in another format; 2 results, FILE.run or job files unreadable or
changed; 3 not written; 5 a --fail-if is true; 141 stdout closed."
)]
pub(in crate::command) struct ReportArgs {
    /// Files of results; `-` is stdin
    #[arg(value_name = "RESULTS", required = true)]
    pub(in crate::command) results: Vec<PathBuf>,
    /// The results of another run, or its shards: what has changed since, and whether that is more than chance;
    /// repeatable
    #[arg(
        long,
        value_name = "RESULTS",
        conflicts_with = "hdr",
        help_heading = "Report"
    )]
    pub(in crate::command) against: Vec<PathBuf>,
    /// How the report looks.
    #[command(flatten)]
    pub(in crate::command) show: ShowArgs,
    /// When the run counts as failed.
    #[command(flatten)]
    pub(in crate::command) conditions: FailIfArgs,
    /// In place of those of FILE.run.
    #[command(flatten)]
    pub(in crate::command) limits: LimitArgs,
    /// Copy the lines of failed jobs to stdout, byte for byte; needs FILE.run
    #[arg(
        long,
        conflicts_with_all = ["against", "ShowArgs", "FailIfArgs", "LimitArgs"],
        help_heading = "Failed jobs, in place of a report"
    )]
    pub(in crate::command) failed_jobs: bool,
    /// What relative URLs were relative to
    #[arg(long, value_name = "URL", requires = "failed_jobs", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) base_url: Option<HttpUrl>,
    /// Where lines that are bodies and nothing else were sent
    #[arg(long, value_name = "URL", requires = "failed_jobs", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) request_url: Option<HttpUrl>,
    /// The method of jobs that name none
    #[arg(short = 'X', long, value_name = "METHOD", requires = "failed_jobs", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) method: Option<Method>,
    /// The body of jobs that have none
    #[arg(long, value_name = "TEXT", requires = "failed_jobs", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) data: Option<String>,
    /// The URL of each row
    #[arg(long, alias = "url-template", value_name = "URL", requires = "failed_jobs", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) url: Option<Template>,
    /// With --url: headers with names of columns
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", requires = "url", help_heading = AS_TO_THE_RUN, value_parser = header_from)]
    pub(in crate::command) header: Vec<HeaderFrom>,
    /// What became of URLs
    #[arg(long, value_name = "s#PATTERN#TO#", requires = "failed_jobs", help_heading = AS_TO_THE_RUN)]
    pub(in crate::command) rewrite: Vec<Rewrite>,
    /// Of several job files only those in this format
    #[arg(long, value_name = "FORMAT", requires = "failed_jobs", help_heading = AS_TO_THE_RUN, value_parser = one_of::<Format>(Format::names()), hide_possible_values = true)]
    pub(in crate::command) format: Option<Format>,
}

const AS_TO_THE_RUN: &str = "With --failed-jobs, as given to the run";
