//! The command line as it is typed: one file a command. Floor 6: front.

mod check;
mod compare;
mod completions;
mod conditions;
mod mock;
mod plan;
mod report;
mod run;
mod shape;
mod share;
mod show;
mod status;
mod verify;

use clap::{Args, Parser, Subcommand};

pub(super) use check::CheckArgs;
pub(super) use compare::{CompareArgs, NumberArgs};
pub(super) use completions::{CompletionsArgs, ManArgs};
pub(super) use conditions::{FailIfArgs, StopIfArgs};
pub(super) use mock::MockArgs;
pub(super) use plan::{ApiArgs, PlanArgs};
pub(super) use report::ReportArgs;
pub(super) use run::{
    InputArgs, JobArgs, LimitArgs, OutputArgs, ReplayArgs, RuleArgs, RunArgs, TransportArgs,
    headers,
};
pub(super) use shape::ShapeArgs;
pub(super) use share::{ShareArgs, trusting};
pub(super) use show::ShowArgs;
pub(super) use status::StatusArgs;
pub(super) use verify::VerifyArgs;

/// Run a file of HTTP requests as fast as the API's rules allow, and no faster.
#[derive(Debug, Parser)]
#[command(
    name = "shaper",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Examples:
  shaper run jobs.jsonl --concurrency 20 --qps 10 -o results.jsonl
  shaper run jobs.jsonl --qps 10 --mock
  shaper compare
  shaper help limits

Exit codes: 0 all ok, 1 ended, some failed, 2 flags or input unusable, 3 results not written, \
4 the store of shared limits not there, 5 a --fail-if is true, 130 interrupted, 143 terminated, 141 stdout closed. Each command tells its own: shaper COMMAND --help."
)]
pub(super) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Do the jobs under the limits, write one result per job, report
    Run(Box<RunArgs>),
    /// Do recorded jobs at their recorded times: run --replay
    Replay(Box<ReplayArgs>),
    /// The same jobs under several disciplines, in virtual time
    Compare(Box<CompareArgs>),
    /// How long a run will take and what will bind; sends nothing
    Plan(Box<PlanArgs>),
    /// List every problem of an input with its place; sends nothing
    Check(Box<CheckArgs>),
    /// Prove from the recorded send times that no limit was exceeded
    Verify(Box<VerifyArgs>),
    /// Report again from results, or copy the jobs that failed
    Report(Box<ReportArgs>),
    /// Tell who shares limits through Redis, and what is left of each
    Status(StatusArgs),
    /// Serve the modelled API over HTTP
    Mock(MockArgs),
    /// Print the script that completes this command line in a shell
    Completions(CompletionsArgs),
    /// Print the manual, for man
    Man(ManArgs),
    /// Help on a command, or (help limits) which limit suits a server
    Help(HelpArgs),
}

/// `shaper help`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shaper help run
  shaper help limits

Exit codes: 0 told, 2 no such topic, 3 stdout takes no more, 141 stdout closed.")]
pub(super) struct HelpArgs {
    /// A command, or limits
    #[arg(value_name = "TOPIC")]
    pub(super) topic: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn impossible_values_name_the_flag_and_the_range() {
        for (line, range) in [
            ("--qps 0", "above zero"),
            ("--qps -1/s", "above zero"),
            ("--qps NaN", "above zero"),
            ("--qps inf", "above zero"),
            ("-c 0", "from 1"),
            ("-c -1", "from 1"),
            ("--tpm 0", "from 1"),
            ("--qps 1 --burst 0", "from 1"),
            ("--window 100/0s", "above zero"),
            ("--window 0/1s", "above zero"),
            ("--max-attempts 0", "from 1"),
            ("--retries -1", "0..=65535"),
            ("--seed -1", "from 0 to 18446744073709551615"),
            ("--qps 1e-9", "out of range"),
            ("--qps None", "did you mean none?"),
            ("-c 18446744073709551616", "from 1 to 18446744073709551615"),
            ("--hdr x.service_okk.hgrm", "did you mean service_ok?"),
            ("--hdr x.csv", "name FILE.hlog"),
            ("--backoff 2s..1s", "MIN 2.00 s is above MAX 1.00 s"),
            ("--timeout 0", "above 0s"),
            ("--timeout -1s", "write a time"),
            ("--timeout nan", "write a time"),
        ] {
            let words = ["shaper", "run"].into_iter().chain(line.split(' '));
            let message = Cli::try_parse_from(words).unwrap_err().to_string();
            let (flag, value) = line.rsplit_once(' ').unwrap();
            let flag = flag.rsplit(' ').next().unwrap();
            let long = if flag == "-c" { "--concurrency" } else { flag };
            assert!(
                message.contains(long) && message.contains(&format!("'{value}'")),
                "{line}: {message}"
            );
            assert!(message.contains(range), "{line}: {message}");
        }
    }
}
