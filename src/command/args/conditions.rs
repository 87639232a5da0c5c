//! When a run counts as failed, and when it ends before its time. Floor 6: front.

use clap::Args;

use super::super::values::{Bound, stop_or_none};
use crate::engine::StopIf;
use crate::metrics::condition::Condition;

const CONDITIONS: &str = "Conditions (METRIC OP VALUE in quotes: 'p99>500ms', 'failed>1%')";

/// Conditions on the figures of a run that is over.
#[derive(Debug, Args)]
#[command(next_help_heading = CONDITIONS)]
pub(in crate::command) struct FailIfArgs {
    /// Exit with 5 if this is true at the end, else with 0 whatever failed; repeatable:
    /// `p99>500ms`, `due_p99>1s`, `late_p99>100ms`, `failed>1%`, `429>0`, `rate<9.5/s`
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(in crate::command) fail_if: Vec<Condition>,
}

/// What ends a run before its time.
#[derive(Debug, Args)]
#[command(next_help_heading = CONDITIONS)]
pub(in crate::command) struct StopIfArgs {
    /// End the run as by Ctrl-C when this is true, exit 1; repeatable, besides `401,403>=20 in a row
    /// before ok`, which none takes away: `failed>50`, `failed>10%`, `429>100`, `5xx>=10 in a row`
    #[arg(long, value_name = "EXPR|none", allow_hyphen_values = true, value_parser = stop_or_none)]
    pub(in crate::command) stop_if: Vec<Bound<StopIf>>,
}

impl StopIfArgs {
    /// The rules that are given, and the usual one unless it is taken away.
    pub(in crate::command) fn rules(&self) -> Vec<StopIf> {
        let usual = !self.stop_if.contains(&Bound::Unlimited);
        let usual = usual.then(StopIf::usual);
        let given = self.stop_if.iter().filter_map(Bound::limit);
        usual.into_iter().chain(given).collect()
    }
}
