//! When a run counts as failed. Floor 6: front.

use clap::Args;

use crate::metrics::condition::Condition;

/// Conditions on the figures of a run that is over.
#[derive(Debug, Args)]
#[command(next_help_heading = "Conditions (METRIC OP VALUE in quotes: 'p99>500ms', 'failed>1%')")]
pub(in crate::command) struct FailIfArgs {
    /// Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable:
    /// `p99>500ms`, `due_p99>1s`, `failed>1%`, `429>0`, `rate<9.5/s`
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(in crate::command) fail_if: Vec<Condition>,
}
