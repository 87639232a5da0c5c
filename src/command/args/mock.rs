//! The options of `shaper mock`. Floor 6: front.

use std::path::PathBuf;

use clap::Args;

use super::super::values::seed;

/// `shaper mock`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shaper mock --latency 50ms --limit \"10/1s window\"
  shaper mock --latency exp:50ms --fail 503:1% --arrivals-file arrivals.jsonl

Exit codes: 130 ended by Ctrl-C, 143 by SIGTERM; 2 options or address unusable, 3 arrivals not written.")]
pub(in crate::command) struct MockArgs {
    /// Where to listen; loopback by default
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(in crate::command) listen: std::net::SocketAddr,
    /// 50ms, exp:50ms (exponential), p50:80ms/p99:400ms (log-normal)
    #[arg(long, value_name = "LATENCY")]
    pub(in crate::command) latency: Option<String>,
    /// A limit of the server, e.g. "10/1s window"; repeatable
    #[arg(long, value_name = "SPEC")]
    pub(in crate::command) limit: Vec<String>,
    /// Requests served at once; more wait inside
    #[arg(long, value_name = "N")]
    pub(in crate::command) slots: Option<String>,
    /// A share of requests that fails: 503:1%; repeatable
    #[arg(long, value_name = "STATUS:SHARE")]
    pub(in crate::command) fail: Vec<String>,
    /// The usage that every reply reports
    #[arg(long, value_name = "N")]
    pub(in crate::command) tokens: Option<String>,
    /// The form of Retry-After: seconds, date, none
    #[arg(long, value_name = "FORM")]
    pub(in crate::command) retry_after: Option<String>,
    /// Write what arrived, as result lines
    #[arg(long, value_name = "FILE")]
    pub(in crate::command) arrivals_file: Option<PathBuf>,
    /// Seed of latencies and failures
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    pub(in crate::command) seed: u64,
}
