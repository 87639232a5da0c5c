//! The options of `shaper compare`. Floor 6: front.

use clap::Args;

use super::super::values::{count, few};
use crate::units::{Cost, Rate};

/// `shaper compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shaper compare
  shaper compare -c 50 --qps 25 --jobs 500

Exit codes: 0 compared, 2 options unusable, 3 stdout takes no more, 141 stdout closed.")]
pub(in crate::command) struct CompareArgs {
    /// Slots of the semaphores
    #[arg(short, long, value_name = "N", default_value = "20", allow_hyphen_values = true, value_parser = count)]
    pub(in crate::command) concurrency: Cost,
    /// The rate of the limiters, and what the modelled API accepts in any window of its period
    #[arg(
        long,
        alias = "rate",
        value_name = "RATE",
        default_value = "10",
        allow_hyphen_values = true
    )]
    pub(in crate::command) qps: Rate,
    /// How many jobs come at once
    #[arg(long, value_name = "N", default_value = "1000", allow_hyphen_values = true, value_parser = few)]
    pub(in crate::command) jobs: Cost,
    /// No characters outside ASCII
    #[arg(long)]
    pub(in crate::command) ascii: bool,
}
