//! The options of `shaper status`. Floor 6: front.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::super::values::ReportForm;
use crate::store::Address;
use crate::units::parse_span;

/// `shaper status`.
#[derive(Debug, Args)]
#[command(
    after_help = "It looks once, and is none of those who share the limits.

Examples:
  shaper status --redis redis://127.0.0.1 --redis-key openai
  shaper status --redis-key openai --report json

Exit codes: 0 told, 2 no such option, 3 stdout takes no more, 4 the store is not there, 141 stdout closed."
)]
pub(in crate::command) struct StatusArgs {
    /// The Redis (or Valkey) through which limits are shared, as to the run
    #[arg(long, value_name = "URL", env = super::share::IN_ENVIRONMENT, hide_env_values = true)]
    pub(in crate::command) redis: Address,
    /// The name of what is shared
    #[arg(long, value_name = "NAME")]
    pub(in crate::command) redis_key: String,
    /// For rediss: trust the authorities of this PEM file, in place of those of the system
    #[arg(long, value_name = "FILE")]
    pub(in crate::command) redis_cacert: Option<PathBuf>,
    /// The longest that one command may take
    #[arg(long, value_name = "DUR", default_value = "1s", allow_hyphen_values = true, value_parser = parse_span)]
    pub(in crate::command) store_timeout: Duration,
    /// The form: text, json, csv, none
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(in crate::command) report: ReportForm,
}
