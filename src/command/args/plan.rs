//! The options of `shaper plan`. Floor 6: front.

use std::path::PathBuf;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::{ArgAction, Args};

use super::super::values::order;
use super::compare::ApiWords;
use super::run::RECORDED;
use super::{InputArgs, JobArgs, RuleArgs, ShowArgs};
use crate::engine::Order;
use crate::model::Latency;
use crate::report::forecast::Price;

/// `shaper plan`.
#[derive(Debug, Args)]
#[command(
    mut_arg("html", |arg| arg.hide(true)),
    mut_arg("hdr", |arg| arg.hide(true)),
    mut_arg("concurrency", |arg| arg.default_value_if("replay", "true", RECORDED)),
    after_help = "Nothing is sent: the same engine runs the same jobs in virtual time, under the limits of `run`. The
same seed gives the same plan; windows and rests are those of a run that begins at a whole second.

Examples:
  shaper plan jobs.jsonl --concurrency 20 --qps 10 --latency 2s
  shaper plan jobs.jsonl --tpm 100k --latency-from results.jsonl --price input:2.5/1M,output:10/1M
  shaper plan jobs.jsonl --rpm 600 --api \"latency=exp:50ms,fail=503:1%,limit=10/1s window\"

Exit codes: 0 planned, 1 a job can never fit a limit, or none would be ok, 2 flags or input unusable,
3 report not written, 130 interrupted, 143 terminated, 141 stdout closed."
)]
pub(in crate::command) struct PlanArgs {
    /// Files of jobs, as to run; `-`, or nothing while stdin is not a terminal, is stdin
    #[arg(value_name = "JOBS")]
    pub(in crate::command) jobs: Vec<PathBuf>,

    /// What answers.
    #[command(flatten)]
    pub(in crate::command) api: ApiArgs,
    /// The rules.
    #[command(flatten)]
    pub(in crate::command) rules: RuleArgs,
    /// HTTP.
    #[command(flatten)]
    pub(in crate::command) job: JobArgs,
    /// Input.
    #[command(flatten)]
    pub(in crate::command) input: InputArgs,
    /// The report.
    #[command(flatten)]
    pub(in crate::command) show: ShowArgs,
    /// Nothing on stderr but what ends the plan
    #[arg(short, long, help_heading = "Report")]
    pub(in crate::command) quiet: bool,
}

/// What the plan is made for.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "The API that is planned for (default: it answers in 100ms; the plan says so)"
)]
pub(in crate::command) struct ApiArgs {
    /// How long an answer takes: 2s, exp:50ms (exponential), p50:80ms/p99:400ms (log-normal)
    #[arg(long, value_name = "LATENCY", allow_hyphen_values = true, conflicts_with_all = ["api", "latency_from"])]
    pub(in crate::command) latency: Option<Latency>,
    /// The same from the results of a run: as long as its `ok` answers took
    #[arg(long, value_name = "RESULTS", conflicts_with = "api")]
    pub(in crate::command) latency_from: Option<PathBuf>,
    /// A whole API, as for --mock: latency=50ms,limit=10/1s window,slots=8,fail=503:1%,tokens=N,…
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true)]
    pub(in crate::command) api: Option<ApiWords>,
    /// What units cost: PRICE/UNITS (2.5/1M), or of the parts input:2.5/1M,output:10/1M
    #[arg(long, value_name = "PRICE", allow_hyphen_values = true)]
    pub(in crate::command) price: Option<Price>,
    /// Results in the order of the input, as for run: one that waits for an older one keeps its slot
    #[arg(long = "ordered", action = ArgAction::SetTrue, value_parser = BoolishValueParser::new().map(order), help_heading = "Waiting")]
    pub(in crate::command) order: Order,
}
