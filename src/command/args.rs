//! The command line as it is typed. Floor 6: front.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand};
use http::{HeaderName, HeaderValue, Method, header};
use url::Url;

use super::values::{
    Bound, Burst, ColorWhen, ProgressKind, ReportForm, Value, attempts, base_url, burst, bytes,
    count, count_or_none, few, header_line, order, rate_or_none, span, window,
};
use crate::engine::{Arrivals, Order, Oversize, Refund};
use crate::error::Problem;
use crate::estimate::Estimator;
use crate::job::Headers;
use crate::limit::{KeyBy, Spec};
use crate::model::ModelSpec;
use crate::retry::{Backoff, Jitter, RetryUnsafe};
use crate::sink::{Fsync, Keep};
use crate::source::Format;
use crate::units::{Cost, Rate, Secret, parse_duration};
use crate::usage::UsageAt;

/// Run a file of HTTP requests as fast as the API's rules allow, and no faster; lose none; and say what
/// limited the run.
#[derive(Debug, Parser)]
#[command(
    name = "shaper",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true
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
    /// The same 1000 jobs under several disciplines, side by side; virtual time, nothing is sent
    Compare(CompareArgs),
    /// Prove from the recorded send times that no limit was exceeded
    Verify(Box<VerifyArgs>),
    /// Copy the lines of the jobs that failed out of the job files, to run them again
    Report(ReportArgs),
    /// Serve the modelled API over HTTP
    Mock(MockArgs),
    /// Say how a command is used, or (help limits) which limit suits which server
    Help(HelpArgs),
}

/// `shaper run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shaper run jobs.jsonl --concurrency 20 --qps 10 -o results.jsonl
  cat urls.txt | shaper run --rpm 600 > results.jsonl

Exit codes: 0 all ok, 1 some failed or invalid, 2 flags or input unusable, 3 results not written,
130 interrupted, 143 terminated, 141 stdout closed.")]
pub(super) struct RunArgs {
    /// Files of jobs (JSON lines, or a list of URLs); `-`, or nothing while stdin is not a terminal, is stdin
    #[arg(value_name = "JOBS")]
    pub(super) jobs: Vec<PathBuf>,

    /// The limits.
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// How jobs wait for them.
    #[command(flatten)]
    pub(super) waiting: WaitingArgs,
    /// What jobs cost of limits on units.
    #[command(flatten)]
    pub(super) units: UnitArgs,
    /// Retry.
    #[command(flatten)]
    pub(super) retry: RetryArgs,
    /// HTTP.
    #[command(flatten)]
    pub(super) http: HttpArgs,
    /// Input.
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Results and report.
    #[command(flatten)]
    pub(super) output: OutputArgs,
    /// Resume.
    #[command(flatten)]
    pub(super) resume: ResumeArgs,
}

/// What limits the run.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Limits (all hold at once; RATE is N/DUR: 10, 10/s, 600/m, 600rpm, 0.5/s, 100/250ms; none is no limit)"
)]
pub(super) struct LimitArgs {
    /// Slots: requests in flight
    #[arg(short, long, value_name = "N|none", default_value = "10", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(super) concurrency: Bound<Cost>,
    /// Requests per time, a token bucket
    #[arg(long, alias = "rate", value_name = "RATE", allow_hyphen_values = true, value_parser = rate_or_none)]
    pub(super) qps: Option<Bound<Rate>>,
    /// Requests per minute, a token bucket; with --qps both hold
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(super) rpm: Option<Bound<Cost>>,
    /// Capacity and start level of --qps and --rpm; a time (4s) is that time's worth; 1 is smooth
    #[arg(long, value_name = "N|DUR", allow_hyphen_values = true, value_parser = burst)]
    pub(super) burst: Option<Burst>,
    /// Units (LLM tokens) per minute; a job says its own or is estimated
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(super) tpm: Option<Bound<Cost>>,
    /// Units per second
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(super) tps: Option<Bound<Cost>>,
    /// Capacity and start level of --tpm and --tps; default one minute's (second's) worth
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count)]
    pub(super) token_burst: Option<Cost>,
    /// At most N sends in ANY window of DUR; repeatable
    #[arg(long, alias = "sliding-window", value_name = "N/DUR", allow_hyphen_values = true, value_parser = window)]
    pub(super) window: Vec<Rate>,
    /// Any limit; repeatable, all hold: "[requests|tokens|input-tokens|output-tokens] N/DUR
    /// [bucket|leaky|window|window-counter|fixed] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR]
    /// [per=KEY] [at=send|reply] [name=WORD]"; see `shaper help limits`
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true)]
    pub(super) limit: Vec<Spec>,
    /// Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)
    #[arg(long, value_name = "KEY")]
    pub(super) per: Option<KeyBy>,
}

/// How jobs wait.
#[derive(Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(super) struct WaitingArgs {
    /// Slots of each origin (scheme, host and port), besides --concurrency
    #[arg(long, value_name = "N|none", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(super) per_host: Option<Bound<Cost>>,
    /// A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never
    #[arg(long, alias = "max-wait", value_name = "DUR", allow_hyphen_values = true, value_parser = parse_duration)]
    pub(super) queue_timeout: Option<Duration>,
    /// Room that windows keep for the jitter on the way; default: measured, at least 5 ms, at most 1 % of
    /// the period; 0 is none
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_duration)]
    pub(super) guard: Option<Duration>,
    /// When jobs are due: closed (as slots and limits allow), once (all at the start)
    #[arg(long, value_name = "WHEN", default_value = "closed")]
    pub(super) arrivals: Arrivals,
    /// Most jobs held at once: waiting, resting, in flight, unwritten
    #[arg(long, value_name = "N", default_value = "10000", allow_hyphen_values = true, value_parser = count)]
    pub(super) lookahead: Cost,
}

/// What jobs cost of limits on units.
#[derive(Debug, Args)]
#[command(next_help_heading = "Units (LLM tokens; under --tpm, --tps and --limit with tokens)")]
pub(super) struct UnitArgs {
    /// How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output);
    /// o200k, cl100k, openai in a build with the feature bpe
    #[arg(long, value_name = "HOW", default_value = "chars")]
    pub(super) estimate: Estimator,
    /// Where an answer says what it used, a JSON pointer; the usual `usage` objects are found by themselves
    #[arg(long, value_name = "POINTER")]
    pub(super) usage: Option<UsageAt>,
    /// What was reserved and not used: unused (it is given back), never
    #[arg(long, value_name = "WHICH", default_value = "unused")]
    pub(super) refund: Refund,
    /// A job that costs more than a limit ever holds: fail, wait (until the limit is full; it owes the rest)
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    pub(super) oversize: Oversize,
}

/// When a try is repeated.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Retry (408 425 429 500 502 503 504 529, connect, timeout, reset, incomplete body)"
)]
pub(super) struct RetryArgs {
    /// Tries of a job, 1 is no retry; --retries N is one more
    #[arg(long, value_name = "N", default_value = "5", allow_hyphen_values = true, value_parser = attempts)]
    pub(super) max_attempts: u32,
    /// The same as --max-attempts N+1
    #[arg(
        long,
        value_name = "N",
        hide = true,
        allow_hyphen_values = true,
        conflicts_with = "max_attempts"
    )]
    pub(super) retries: Option<u16>,
    /// The rest before the k-th retry is MIN x 2^(k-1), at most MAX; a server's Retry-After is a floor
    #[arg(
        long,
        value_name = "MIN..MAX",
        default_value = "500ms..30s",
        allow_hyphen_values = true
    )]
    pub(super) backoff: Backoff,
    /// How rests are spread: full, equal, decorrelated, none
    #[arg(long, value_name = "KIND", default_value = "full")]
    pub(super) jitter: Jitter,
    /// Seed of the jitter; default: a new one for each run
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) seed: Option<u64>,
    /// Repeat a try that was sent and got no status line: never, idempotent, always
    #[arg(long, value_name = "WHICH", default_value = "idempotent")]
    pub(super) retry_unsafe: RetryUnsafe,
    /// The longest a try may take, from its grant to the last byte; queueing never counts
    #[arg(long, value_name = "DUR", default_value = "30s", allow_hyphen_values = true, value_parser = span)]
    pub(super) timeout: Duration,
    /// The longest that connecting may take: within it nothing was sent, so every job may try again
    #[arg(long, value_name = "DUR", default_value = "10s", allow_hyphen_values = true, value_parser = span)]
    pub(super) connect_timeout: Duration,
    /// The longest gap between bytes of an answer
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = span)]
    pub(super) read_timeout: Option<Duration>,
}

/// What is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub(super) struct HttpArgs {
    /// A header for every job; a job's own wins
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header_line)]
    pub(super) header: Vec<(HeaderName, Value)>,
    /// Send `authorization: Bearer` with the value of this environment variable
    #[arg(long, value_name = "NAME")]
    pub(super) bearer_env: Option<String>,
    /// The method of jobs that name none
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(super) method: Option<Method>,
    /// The body of jobs that have none
    #[arg(long, value_name = "TEXT")]
    pub(super) data: Option<String>,
    /// What relative URLs are relative to
    #[arg(long, value_name = "URL", value_parser = base_url)]
    pub(super) base_url: Option<Url>,
    /// The longest body that is taken
    #[arg(long, value_name = "BYTES", default_value = "64MiB", allow_hyphen_values = true, value_parser = bytes)]
    pub(super) max_body: u64,
    /// Send everything to the modelled API, in this process; SPEC after a =: latency=50ms, limit=10/1s window, fail=503:1%, …
    #[arg(long, value_name = "SPEC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(super) mock: Option<ModelSpec>,
}

/// What is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(super) struct InputArgs {
    /// jsonl or urls; default: by content
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<Format>,
    /// Read only the first N jobs
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true, value_parser = count)]
    pub(super) limit_jobs: Option<Cost>,
    /// Check the whole input first; any bad line stops before the first send
    #[arg(long)]
    pub(super) strict: bool,
    /// An input without jobs is no error
    #[arg(long)]
    pub(super) allow_empty: bool,
}

/// What becomes of results that are there.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, Args)]
#[command(next_help_heading = "Going on with the results of earlier runs")]
pub(super) struct ResumeArgs {
    /// Send only what has no result in the file of -o yet; without that file, begin
    #[arg(long, requires = "output", conflicts_with = "overwrite")]
    pub(super) resume: bool,
    /// With --resume: jobs that failed are run again, and their later result counts
    #[arg(long, requires = "resume")]
    pub(super) retry_failed: bool,
    /// With --resume: take results that belong to another input
    #[arg(long, requires = "resume")]
    pub(super) force_resume: bool,
    /// With --resume: lines of the results that are damaged are set aside in FILE.bad, and their jobs run again
    #[arg(long, requires = "resume")]
    pub(super) repair: bool,
}

/// What is written and shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results and report")]
pub(super) struct OutputArgs {
    /// Results, one JSON line per job; default: stdout, if that is not a terminal
    #[arg(short, long, value_name = "FILE|-")]
    pub(super) output: Option<PathBuf>,
    /// Replace a file of results
    #[arg(long)]
    pub(super) overwrite: bool,
    /// When results have to be on the disk, not only in the file: never, end, or each DUR
    #[arg(
        long,
        value_name = "never|end|DUR",
        default_value = "end",
        allow_hyphen_values = true
    )]
    pub(super) fsync: Fsync,
    /// Results in the order of the input; one that waits for an older one keeps its slot
    #[arg(long = "ordered", action = ArgAction::SetTrue, value_parser = BoolishValueParser::new().map(order))]
    pub(super) order: Order,
    /// After Ctrl-C or SIGTERM what is in flight may take so long; default: no limit but --timeout
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = span)]
    pub(super) grace: Option<Duration>,
    /// Bodies of answers in the results: keep, none
    #[arg(long, value_name = "WHICH", default_value = "keep")]
    pub(super) body: Keep,
    /// Headers of answers in the results: keep, none
    #[arg(long, value_name = "WHICH", default_value = "keep")]
    pub(super) headers: Keep,
    /// The report at the end: text, json, none
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(super) report: ReportForm,
    /// Where the report goes; default stderr
    #[arg(long, value_name = "FILE|-")]
    pub(super) report_file: Option<PathBuf>,
    /// Progress on stderr: auto, bar (a line that is redrawn), plain (a line each 10 s), none
    #[arg(
        long,
        value_name = "KIND",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(super) progress: ProgressKind,
    /// Colour on stderr: auto (in a terminal, unless `NO_COLOR` is set), always, never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(super) color: ColorWhen,
    /// No characters outside ASCII
    #[arg(long)]
    pub(super) ascii: bool,
    /// Say more: every failed job
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(super) verbose: u8,
    /// Nothing on stderr but what ends the run
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// `shaper compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// Slots of the semaphores
    #[arg(short, long, value_name = "N", default_value = "20", allow_hyphen_values = true, value_parser = count)]
    pub(super) concurrency: Cost,
    /// The rate of the limiters, and what the modelled API accepts in any window of its period
    #[arg(
        long,
        alias = "rate",
        value_name = "RATE",
        default_value = "10",
        allow_hyphen_values = true
    )]
    pub(super) qps: Rate,
    /// How many jobs come at once
    #[arg(long, value_name = "N", default_value = "1000", allow_hyphen_values = true, value_parser = few)]
    pub(super) jobs: Cost,
    /// No characters outside ASCII
    #[arg(long)]
    pub(super) ascii: bool,
}

/// `shaper verify`.
#[derive(Debug, Args)]
#[command(
    mut_arg("concurrency", |arg| arg.default_value("none").help("Slots: requests in flight")),
    after_help = "Windows are proved over the moments of sending, buckets and fixed windows over those of granting,
to the microsecond. Limits given here stand for all those of FILE.run. Several files are shards
of one run: all their sends together are held against each limit.

Exit codes: 0 proved, 1 exceeded, or not proved for clocks so far apart, 2 unreadable or no limits."
)]
pub(super) struct VerifyArgs {
    /// Files of results, or of arrivals at `shaper mock`
    #[arg(value_name = "RESULTS", required = true)]
    pub(super) results: Vec<PathBuf>,
    /// In place of those of FILE.run.
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// How long before a grant a bucket may have been charged; default: that of FILE.run, else 2ms
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_duration, help_heading = "Proof")]
    pub(super) slack: Option<Duration>,
    /// How far apart the clocks of the files may be: a limit is proved if it holds for any such clocks
    #[arg(long, value_name = "DUR", default_value = "0s", allow_hyphen_values = true, value_parser = parse_duration, help_heading = "Proof")]
    pub(super) clock_skew: Duration,
    /// The form of the proof: text, json, none
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Proof"
    )]
    pub(super) report: ReportForm,
}

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
pub(super) struct ReportArgs {
    /// Files of results, each with its FILE.run beside it
    #[arg(value_name = "RESULTS", required = true)]
    pub(super) results: Vec<PathBuf>,
    /// Copy the lines of failed jobs to stdout, byte for byte
    #[arg(long, required = true)]
    pub(super) failed_jobs: bool,
    /// What relative URLs were relative to
    #[arg(long, value_name = "URL", value_parser = base_url, help_heading = AS_TO_THE_RUN)]
    pub(super) base_url: Option<Url>,
    /// The method of jobs that name none
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = AS_TO_THE_RUN)]
    pub(super) method: Option<Method>,
    /// The body of jobs that have none
    #[arg(long, value_name = "TEXT", help_heading = AS_TO_THE_RUN)]
    pub(super) data: Option<String>,
    /// jsonl or urls: of several job files only those in this format
    #[arg(long, value_name = "FORMAT", help_heading = AS_TO_THE_RUN)]
    pub(super) format: Option<Format>,
}

const AS_TO_THE_RUN: &str = "As they were given to the run (default: what FILE.run tells)";

/// `shaper mock`.
#[derive(Debug, Args)]
pub(super) struct MockArgs {
    /// Where to listen; loopback by default
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(super) listen: std::net::SocketAddr,
    /// 50ms, exp:50ms (exponential), p50:80ms/p99:400ms (log-normal)
    #[arg(long, value_name = "LATENCY")]
    pub(super) latency: Option<String>,
    /// A limit of the server, e.g. "10/1s window"; repeatable
    #[arg(long, value_name = "SPEC")]
    pub(super) limit: Vec<String>,
    /// Requests served at once; more wait inside
    #[arg(long, value_name = "N")]
    pub(super) slots: Option<String>,
    /// A share of requests that fails: 503:1%; repeatable
    #[arg(long, value_name = "STATUS:SHARE")]
    pub(super) fail: Vec<String>,
    /// The usage that every reply reports
    #[arg(long, value_name = "N")]
    pub(super) tokens: Option<String>,
    /// The form of Retry-After: seconds, date, none
    #[arg(long, value_name = "FORM")]
    pub(super) retry_after: Option<String>,
    /// Write what arrived, as result lines
    #[arg(long, value_name = "FILE")]
    pub(super) arrivals_file: Option<PathBuf>,
    /// Seed of latencies and failures
    #[arg(long, value_name = "N", default_value = "0")]
    pub(super) seed: u64,
}

/// `shaper help`.
#[derive(Debug, Args)]
pub(super) struct HelpArgs {
    /// A command, or limits
    #[arg(value_name = "TOPIC")]
    pub(super) topic: Option<String>,
}

impl HttpArgs {
    /// The headers of every job, with the bearer token of the environment.
    pub(super) fn headers(&self) -> Result<Headers, Problem> {
        let mut headers: Vec<_> = self
            .header
            .iter()
            .map(|(name, value)| (name.clone(), value.0.clone()))
            .collect();
        if let Some(name) = &self.bearer_env {
            let problem = |what: &str| {
                Problem::usage(
                    format!("--bearer-env {name}: {what}"),
                    format!("export {name} with the token in it"),
                )
            };
            let token = std::env::var(name).map_err(|_| problem("this variable is not set"))?;
            let token = Secret::new(token.trim());
            if token.reveal().is_empty() {
                return Err(problem("this variable is empty"));
            }
            let bearer = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
            let mut bearer = bearer.map_err(|_| problem("its value cannot stand in a header"))?;
            bearer.set_sensitive(true);
            headers.push((header::AUTHORIZATION, bearer));
        }
        Ok(Headers(headers))
    }
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
            ("--seed -1", "invalid digit"),
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
