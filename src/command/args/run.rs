//! The options of `shaper run`. Floor 6: front.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::{ArgAction, Args};
use http::{HeaderValue, Method, header};

use super::super::values::{
    Bound, Burst, HeaderFrom, ProgressKind, attempts, burst, bytes_or_none, choice, count,
    count_or_none, header_from, header_line, listen, method, one_of, or_else, order, provider,
    proxy_or_none, rate_or_none, seed, shard, span_or_none, wait_or_none, window,
};
use super::{FailIfArgs, ShapeArgs, ShareArgs, ShowArgs, StopIfArgs};
use crate::client::{ClientSpec, Detour, Http, Proxy, Reach, Route, TlsSpec, Transport};
use crate::engine::{Order, Oversize, Refund};
use crate::error::Problem;
use crate::estimate::Estimator;
use crate::headers::Headers;
use crate::letters::calm_path;
use crate::limit::{KeyBy, Spec, limit_form};
use crate::model::ModelSpec;
use crate::quota::Provider;
use crate::redirect;
use crate::retry::{Backoff, FaultAt, Jitter, RetryOn, RetryUnsafe};
use crate::sink::{self, Fsync, Keep};
use crate::source::{Filter, Format, HttpUrl, LogFields, Pick, Rewrite, Shard, Template};
use crate::statuses::Statuses;
use crate::units::{Cost, Rate, Secret, Share, parse_duration, parse_span};
use crate::usage::UsageAt;

/// `shaper run`.
#[derive(Debug, Args)]
#[command(
    mut_arg("concurrency", |arg| arg.default_value_if("replay", "true", RECORDED)),
    mut_arg("for", |arg| arg.conflicts_with("resume")),
    mut_arg("repeat", |arg| arg.conflicts_with("resume")),
    after_help = "RATE is N/DUR: 10, 10/s, 600/m, 600rpm, 0.5/s, 100/250ms; DUR is 250ms, 1.5s, 30, 2m, 1h30m, a bare
number is seconds. none is no limit.

Tried again are 408, 425, 429, 500, 502, 503, 504, 529, and what failed to connect, timed out, was reset or
came with an incomplete body.

Examples:
  shaper run jobs.jsonl --concurrency 20 --qps 10 -o results.jsonl
  cat urls.txt | shaper run --rpm 600 > results.jsonl
  shaper run jobs.jsonl -o results.jsonl --resume --retry-failed

Exit codes: 0 all ok, 1 some failed or invalid, or a --stop-if ended it, 2 flags or input unusable, 3 results
not written, 4 the store of shared limits not there, 5 a --fail-if is true, 130 interrupted, 143 terminated, 141 stdout closed."
)]
pub(in crate::command) struct RunArgs {
    /// Files of jobs (JSON lines, CSV, URLs, batches, recordings: see --format); `-`, or nothing while stdin is not a terminal, is stdin
    #[arg(value_name = "JOBS")]
    pub(in crate::command) jobs: Vec<PathBuf>,

    /// The rules.
    #[command(flatten)]
    pub(in crate::command) rules: RuleArgs,
    /// What is shared with other processes.
    #[command(flatten)]
    pub(in crate::command) share: ShareArgs,
    /// HTTP.
    #[command(flatten)]
    pub(in crate::command) http: HttpArgs,
    /// Input.
    #[command(flatten)]
    pub(in crate::command) input: InputArgs,
    /// Results and report.
    #[command(flatten)]
    pub(in crate::command) output: OutputArgs,
    /// What ends it early.
    #[command(flatten)]
    pub(in crate::command) stop: StopIfArgs,
    /// When it counts as failed.
    #[command(flatten)]
    pub(in crate::command) conditions: FailIfArgs,
    /// Resume.
    #[command(flatten)]
    pub(in crate::command) resume: ResumeArgs,
}

/// `shaper replay`.
#[derive(Debug, Args)]
#[command(
    mut_arg("replay", |arg| arg.hide(true).default_value("true")),
    mut_arg("concurrency", |arg| arg.default_value(RECORDED)),
    after_help = "The same as shaper run --replay: each job is due at its \"at\", seconds from the first or a date of RFC 3339, and
goes then or as soon as slots and limits let it. None is left out; the report says how late they were, and why.

Examples:
  shaper replay recorded.jsonl --speed 2x -o results.jsonl
  shaper replay recorded.jsonl --qps 100 --base-url http://127.0.0.1:8080
  shaper plan recorded.jsonl --replay --speed 60x

Exit codes: 0 all ok, 1 some failed or invalid, or a --stop-if ended it, 2 flags or input unusable, 3 results
not written, 4 the store of shared limits not there, 5 a --fail-if is true, 130 interrupted, 143 terminated, 141 stdout closed."
)]
pub(in crate::command) struct ReplayArgs {
    /// The run.
    #[command(flatten)]
    pub(in crate::command) run: RunArgs,
}

/// The slots of a replay: users who were there at once waited for nobody.
pub(super) const RECORDED: &str = "1000";

/// By which rules jobs are done.
#[derive(Debug, Args)]
pub(in crate::command) struct RuleArgs {
    /// The limits.
    #[command(flatten)]
    pub(in crate::command) limits: LimitArgs,
    /// When jobs are due.
    #[command(flatten)]
    pub(in crate::command) shape: ShapeArgs,
    /// How jobs wait for them.
    #[command(flatten)]
    pub(in crate::command) waiting: WaitingArgs,
    /// What jobs cost of limits on units.
    #[command(flatten)]
    pub(in crate::command) units: UnitArgs,
    /// Retry.
    #[command(flatten)]
    pub(in crate::command) retry: RetryArgs,
}

/// What limits the run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (all hold at once)")]
pub(in crate::command) struct LimitArgs {
    /// Slots: requests in flight
    #[arg(short, long, value_name = "N|none", default_value = "10", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(in crate::command) concurrency: Bound<Cost>,
    /// Requests per time (10/s, 600/m), a token bucket
    #[arg(long, alias = "rate", value_name = "RATE", allow_hyphen_values = true, value_parser = rate_or_none)]
    pub(in crate::command) qps: Option<Bound<Rate>>,
    /// Requests per minute, a token bucket; with --qps both hold
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(in crate::command) rpm: Option<Bound<Cost>>,
    /// Capacity and start level of --qps and --rpm; a time (4s) is that time's worth; 1 is smooth
    #[arg(long, value_name = "N|DUR", allow_hyphen_values = true, value_parser = burst)]
    pub(in crate::command) burst: Option<Burst>,
    /// Units (LLM tokens) per minute; a job says its own or is estimated
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(in crate::command) tpm: Option<Bound<Cost>>,
    /// Units per second
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(in crate::command) tps: Option<Bound<Cost>>,
    /// Capacity and start level of --tpm and --tps; default one minute's (second's) worth
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count)]
    pub(in crate::command) token_burst: Option<Cost>,
    /// At most N sends in ANY window of DUR; repeatable
    #[arg(long, alias = "sliding-window", value_name = "N/DUR", allow_hyphen_values = true, value_parser = window)]
    pub(in crate::command) window: Vec<Rate>,
    #[arg(long, value_name = "SPEC", help = limit_help(), allow_hyphen_values = true)]
    pub(in crate::command) limit: Vec<Spec>,
    /// Keep each rate limit apart for each value of host, header:NAME or field:NAME (a pointer, too: `field:/body/model`)
    #[arg(long, value_name = "KEY", value_parser = or_else::<KeyBy>(&["host", "header:", "field:"]), hide_possible_values = true)]
    pub(in crate::command) per: Option<KeyBy>,
}

fn limit_help() -> String {
    let form = limit_form();
    format!("Any limit; repeatable, all hold: \"{form}\"; see `shaper help limits`")
}

/// How jobs wait.
#[derive(Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(in crate::command) struct WaitingArgs {
    /// Slots of each origin (scheme, host and port), besides --concurrency
    #[arg(long, value_name = "N|none", allow_hyphen_values = true, value_parser = count_or_none)]
    pub(in crate::command) per_host: Option<Bound<Cost>>,
    /// A job that would wait longer than this fails, kind `queue_timeout`; 0s is now or never
    #[arg(long, alias = "max-wait", value_name = "DUR|none", allow_hyphen_values = true, value_parser = wait_or_none)]
    pub(in crate::command) queue_timeout: Option<Bound<Duration>>,
    /// Room that windows keep for the jitter on the way; default: measured, at least 5 ms, at most 1 % of
    /// the period; 0 is none
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_duration)]
    pub(in crate::command) guard: Option<Duration>,
    /// Most jobs held at once: waiting, resting, in flight, unwritten
    #[arg(long, value_name = "N", default_value = "10000", allow_hyphen_values = true, value_parser = count)]
    pub(in crate::command) lookahead: Cost,
}

const UNITS: &str = "Units (LLM tokens)";

/// What jobs cost of limits on units.
#[derive(Debug, Args)]
#[command(next_help_heading = UNITS)]
pub(in crate::command) struct UnitArgs {
    /// How jobs that do not say their tokens are estimated: chars (bytes of text / 4 + the most output);
    /// o200k, cl100k, openai in a build with the feature bpe
    #[arg(long, value_name = "HOW", default_value = "chars", value_parser = one_of::<Estimator>(Estimator::WORDS), hide_possible_values = true)]
    pub(in crate::command) estimate: Estimator,
    /// What was reserved and not used: unused (it is given back), never
    #[arg(long, value_name = "WHICH", default_value = "unused", value_parser = choice(&Refund::WORDS), hide_possible_values = true)]
    pub(in crate::command) refund: Refund,
    /// A job that costs more than a limit ever holds: fail, wait (until the limit is full; it owes the rest)
    #[arg(long, value_name = "WHAT", default_value = "fail", value_parser = choice(&Oversize::WORDS), hide_possible_values = true)]
    pub(in crate::command) oversize: Oversize,
}

const RETRY: &str = "Retry";

/// When a try is repeated.
#[derive(Debug, Args)]
#[command(next_help_heading = RETRY)]
pub(in crate::command) struct RetryArgs {
    /// Tries of a job; 1 is no retry, --retries N is N + 1
    #[arg(long, value_name = "N", default_value = "5", allow_hyphen_values = true, value_parser = attempts)]
    pub(in crate::command) max_attempts: u32,
    /// The same as --max-attempts N+1
    #[arg(
        long,
        value_name = "N",
        hide = true,
        allow_hyphen_values = true,
        conflicts_with = "max_attempts"
    )]
    pub(in crate::command) retries: Option<u16>,
    /// The rest before the k-th retry is MIN x 2^(k-1), at most MAX; a server's Retry-After is a floor
    #[arg(
        long,
        value_name = "MIN..MAX",
        default_value = "500ms..30s",
        allow_hyphen_values = true
    )]
    pub(in crate::command) backoff: Backoff,
    /// How rests are spread: full, equal, decorrelated, none
    #[arg(long, value_name = "KIND", default_value = "full", value_parser = choice(&Jitter::WORDS), hide_possible_values = true)]
    pub(in crate::command) jitter: Jitter,
    /// After what a job is tried again; default: 408, 425, 429, 500, 502, 503, 504, 529, connect, timeout, reset and incomplete bodies
    #[arg(long, value_name = "LIST|none")]
    pub(in crate::command) retry_on: Option<RetryOn>,
    /// Statuses of answers that are successes: 200-299,404
    #[arg(long, value_name = "LIST", default_value = "200-299")]
    pub(in crate::command) ok: Statuses,
    /// The longest wait that a server may ask for; a longer one closes its key, and the run ends when no key is open
    #[arg(long, value_name = "DUR|none", default_value = "10m", allow_hyphen_values = true, value_parser = span_or_none)]
    pub(in crate::command) max_retry_after: Bound<Duration>,
    /// The longest that a job may take, from its first send to its last byte, all tries and rests; default: none
    #[arg(long, value_name = "DUR|none", allow_hyphen_values = true, value_parser = span_or_none)]
    pub(in crate::command) max_elapsed: Option<Bound<Duration>>,
    /// Learn the limits of the server from its answers, and keep them beside those that are given
    #[arg(long)]
    pub(in crate::command) adaptive: bool,
    /// Whose headers the answers have; default: by the host, or by the headers
    #[arg(long, value_name = "NAME", value_parser = provider())]
    pub(in crate::command) provider: Option<&'static Provider>,
    /// Seed of the jitter, and of --arrivals poisson; default: a new one for each run
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    pub(in crate::command) seed: Option<u64>,
    /// Repeat a try that was sent and got no status line: never, idempotent, always; default: idempotent, and always in
    /// the formats of batches
    #[arg(long, value_name = "WHICH", value_parser = choice(&RetryUnsafe::WORDS), hide_possible_values = true)]
    pub(in crate::command) retry_unsafe: Option<RetryUnsafe>,
    /// The longest a try may take, from its grant to the last byte; queueing never counts
    #[arg(long, value_name = "DUR|none", default_value = "30s", allow_hyphen_values = true, value_parser = span_or_none)]
    pub(in crate::command) timeout: Bound<Duration>,
}

/// How requests are made.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub(in crate::command) struct HttpArgs {
    /// What it adds to the jobs.
    #[command(flatten)]
    pub(in crate::command) job: JobArgs,
    /// The longest that connecting may take: within it nothing was sent, so every job may try again
    #[arg(long, value_name = "DUR|none", help_heading = RETRY, default_value = "10s", allow_hyphen_values = true, value_parser = span_or_none)]
    pub(in crate::command) connect_timeout: Bound<Duration>,
    /// The longest gap between bytes of an answer
    #[arg(long, value_name = "DUR|none", help_heading = RETRY, allow_hyphen_values = true, value_parser = span_or_none)]
    pub(in crate::command) read_timeout: Option<Bound<Duration>>,
    /// Send each job with an idempotency-key of its own, the same for all tries, also after --resume: then POSTs may be sent again
    #[arg(long, help_heading = RETRY)]
    pub(in crate::command) idempotency_key: bool,
    /// Where a body says that its answer is no success, a JSON pointer: what stands there, but for null and nothing, is an error
    #[arg(long, value_name = "POINTER", help_heading = RETRY)]
    pub(in crate::command) retry_if_json: Option<FaultAt>,
    /// Where an answer says what it used, a JSON pointer; the usual `usage` objects are found by themselves
    #[arg(long, value_name = "POINTER", help_heading = UNITS)]
    pub(in crate::command) usage: Option<UsageAt>,
    /// What carries the requests.
    #[command(flatten)]
    pub(in crate::command) transport: TransportArgs,
    /// The longest body that is taken
    #[arg(long, value_name = "BYTES|none", default_value = "64MiB", allow_hyphen_values = true, value_parser = bytes_or_none)]
    pub(in crate::command) max_body: u64,
    /// Follow redirects, at most 10; without it they are failed results
    #[arg(short = 'L', long)]
    pub(in crate::command) follow: bool,
    /// Send everything to the modelled API, in this process; SPEC after a =: latency=50ms, limit=10/1s window, fail=503:1%, …
    #[arg(long, value_name = "SPEC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(in crate::command) mock: Option<ModelSpec>,
}

/// What carries the requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub(in crate::command) struct TransportArgs {
    /// What carries the requests: direct (HTTP/1.1 of our own, past every proxy), reqwest, or auto: direct, and
    /// reqwest where a proxy of the environment stands before the server
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = choice(&Transport::WORDS), hide_possible_values = true)]
    pub(in crate::command) transport: Transport,
    /// HTTP/2: by https where the server agrees, else HTTP/1.1; by http at once
    #[arg(long, conflicts_with = "http1")]
    http2: bool,
    /// HTTP/1.1, which is the default
    #[arg(long)]
    http1: bool,
    /// The proxy for all but what `NO_PROXY` names: http://, https:// or socks5://, with user and password if it wants
    /// them; none goes past those of the environment
    #[arg(long, value_name = "URL|none", value_parser = proxy_or_none)]
    proxy: Option<Bound<Proxy>>,
    /// Send what is for one place to another, as HOST1:PORT1:HOST2:PORT2; an empty part is any, or stays; repeatable
    #[arg(long, value_name = "PLACES", conflicts_with_all = ["proxy", "unix_socket"])]
    connect_to: Vec<Detour>,
    /// The longest that a connection waits for its next request: less than the server has it wait, or one may be closed as it is used
    #[arg(long, value_name = "DUR", default_value = "90s", allow_hyphen_values = true, value_parser = parse_span)]
    pool_idle: Duration,
    /// Send everything through this socket of the system
    #[arg(long, value_name = "FILE", conflicts_with = "proxy")]
    unix_socket: Option<PathBuf>,
    /// Ask no address of this machine or of a private network, whatever jobs, names and redirects say
    #[arg(long)]
    deny_private: bool,
    /// For https.
    #[command(flatten)]
    tls: TlsArgs,
}

impl HttpArgs {
    /// The most redirects that a try follows.
    pub(in crate::command) fn redirects(&self) -> u64 {
        if self.follow {
            redirect::MOST as u64
        } else {
            0
        }
    }
}

impl TransportArgs {
    /// What is asked for; `variable` is that of the environment. A problem if a file is of no use.
    pub(in crate::command) fn spec(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ClientSpec, Problem> {
        let route = self.route(variable)?;
        let by_library = [
            (self.http2, "--http2"),
            (
                self.proxy.is_some() && matches!(route, Route::Proxies(_)),
                "--proxy",
            ),
        ];
        let by_own = [
            (!self.connect_to.is_empty(), "--connect-to"),
            (self.unix_socket.is_some(), "--unix-socket"),
        ];
        let asked = |options: [(bool, &'static str); 2]| {
            let mut asked = options.into_iter().filter(|(is_asked, _)| *is_asked);
            asked.next().map(|(_, option)| option)
        };
        match (self.transport, asked(by_library), asked(by_own)) {
            (_, Some(library), Some(own)) => {
                return Err(Problem::usage(
                    format!("{library} and {own} do not go together"),
                    format!("leave {own} out"),
                ));
            }
            (Transport::Direct, Some(option), None) => return Err(carried(option, "reqwest")),
            (Transport::Reqwest, None, Some(option)) => return Err(carried(option, "direct")),
            (Transport::Auto | Transport::Direct | Transport::Reqwest, _, _) => {}
        }
        Ok(ClientSpec {
            transport: self.transport,
            tls: self.tls.spec()?,
            http: if self.http2 { Http::Two } else { Http::One },
            route,
            reach: if self.deny_private {
                Reach::Public
            } else {
                Reach::Anywhere
            },
            idle: self.pool_idle,
            ..ClientSpec::default()
        })
    }

    fn route(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Route, Problem> {
        if let Some(socket) = &self.unix_socket {
            return Ok(Route::Unix(socket.clone()));
        }
        if !self.connect_to.is_empty() {
            return Ok(Route::ConnectTo(self.connect_to.clone().into()));
        }
        match &self.proxy {
            // What is asked for goes past them.
            None if self.transport == Transport::Direct => Ok(Route::NoProxy),
            None => Route::of_environment(variable),
            Some(Bound::Unlimited) => Ok(Route::NoProxy),
            Some(Bound::At(proxy)) => Ok(Route::by(proxy, variable)),
        }
    }

    /// What is said of it before the first send to a server.
    pub(in crate::command) fn notes(&self, spec: &ClientSpec) -> Vec<String> {
        let passed = || {
            let named = Route::of_environment(|name| env::var(name).ok());
            let passes = self.transport == Transport::Direct && self.proxy.is_none();
            passes && named.is_ok_and(|named| matches!(named, Route::Proxies(_)))
        };
        let passes = "note: the environment names a proxy, and --transport direct goes past it";
        let insecure = "note: certificates of servers are not verified (--insecure)";
        let notes = [
            spec.route.note(),
            passed().then(|| passes.to_owned()),
            self.tls.insecure.then(|| insecure.to_owned()),
        ];
        notes.into_iter().flatten().collect()
    }
}

/// What only the other transport does.
fn carried(option: &str, by: &str) -> Problem {
    Problem::usage(
        format!("{option} is only for --transport {by}"),
        "leave --transport out: it is chosen by what is asked for",
    )
}

/// TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
struct TlsArgs {
    /// Trust the authorities of this PEM file, in place of those of the system
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Show servers that ask for it the certificate of this PEM file
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// The key of --cert, if it stands in a file of its own
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Take whatever certificate a server shows: whoever is on the way may read and change all
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    insecure: bool,
}

impl TlsArgs {
    fn spec(&self) -> Result<TlsSpec, Problem> {
        let mut spec = TlsSpec::default();
        if let Some(authorities) = &self.cacert {
            spec = spec.trusting(authorities)?;
        }
        if self.insecure {
            spec = spec.trusting_any();
        }
        match &self.cert {
            Some(certificate) => spec.showing(certificate, self.key.as_deref()),
            None => Ok(spec),
        }
    }
}

/// What the command line adds to jobs that do not say it themselves.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub(in crate::command) struct JobArgs {
    /// A header for every job, or @FILE with one in each line; a job's own wins; with names of columns as in --url
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header_from)]
    pub(in crate::command) header: Vec<HeaderFrom>,
    /// Send `authorization: Bearer` with the value of this environment variable
    #[arg(long, value_name = "NAME")]
    pub(in crate::command) bearer_env: Option<String>,
    /// The method of jobs that name none
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = method)]
    pub(in crate::command) method: Option<Method>,
    /// The body of jobs that have none; with names of columns as in --url, whose values are escaped if it is JSON
    #[arg(long, value_name = "TEXT")]
    pub(in crate::command) data: Option<String>,
    /// What stands before relative URLs, with its path
    #[arg(long, value_name = "URL")]
    pub(in crate::command) base_url: Option<HttpUrl>,
}

/// What is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(in crate::command) struct InputArgs {
    #[arg(long, value_name = "FORMAT", help = format_help(), value_parser = one_of::<Format>(Format::names()), hide_possible_values = true)]
    format: Option<Format>,
    /// The URL of each row of a table or of JSON objects, with names of columns as in `http://HOST/items/{{id}}`, also
    /// {{seq}}, {{uuid}}, {{env:NAME}}; --data and -H may have them, too; other columns come back as `meta`
    #[arg(long, alias = "url-template", value_name = "URL")]
    pub(in crate::command) url: Option<Template>,
    /// Which fields of a JSON log tell what a request was, as in `url=/http/url,method=verb,at=ts`: url (a
    /// path or whole), method, host, at (its end: RFC 3339, or seconds or milliseconds since 1970), took (seconds) or
    /// `took_ms`, body; each a name or a JSON pointer
    #[arg(long, value_name = "LIST")]
    pub(in crate::command) log_fields: Option<LogFields>,
    /// Where lines that are bodies and nothing else (cookbook) are sent
    #[arg(long, value_name = "URL")]
    pub(in crate::command) request_url: Option<HttpUrl>,
    /// Read only the first N jobs
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true, value_parser = count)]
    pub(in crate::command) limit_jobs: Option<Cost>,
    /// Take only jobs whose method, host or path is one of these, as in path=/api/*,/v1/*; != leaves them out; repeatable, all hold
    #[arg(long, value_name = "PART=LIST")]
    filter: Vec<Filter>,
    /// Take so many of the jobs, the same ones each time
    #[arg(long, value_name = "N%")]
    sample: Option<Share>,
    /// Take part I of N, from 0: every Nth line; auto/N takes I from `JOB_COMPLETION_INDEX`, as indexed jobs of Kubernetes have it
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<Shard>,
    /// What becomes of URLs: s#PATTERN#TO#, as in s#^https://api.test#http://127.0.0.1:8080#; repeatable, one after the other
    #[arg(long, value_name = "s#PATTERN#TO#")]
    pub(in crate::command) rewrite: Vec<Rewrite>,
    /// Check the whole input first; any bad line stops before the first send
    #[arg(long)]
    pub(in crate::command) strict: bool,
    /// An input without jobs is no error
    #[arg(long)]
    pub(in crate::command) allow_empty: bool,
}

fn format_help() -> String {
    let names: Vec<_> = Format::names().collect();
    format!(
        "{}; default: by content, else by the name",
        names.join(", ")
    )
}

impl InputArgs {
    /// What all is read as, if that is said.
    pub(in crate::command) fn format(&self) -> Option<Format> {
        let of_log = self.log_fields.as_ref().map(|_| Format::ACCESS_LOG);
        self.format.or(of_log)
    }

    /// Which jobs are taken.
    pub(in crate::command) fn pick(&self) -> Pick {
        Pick {
            filters: self.filter.clone(),
            sample: self.sample,
            shard: self.shard,
        }
    }
}

/// What becomes of results that are there.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, Args)]
#[command(next_help_heading = "Going on with earlier results")]
pub(in crate::command) struct ResumeArgs {
    /// Send only what has no result in the file of -o yet; without that file, begin
    #[arg(long, requires = "output", conflicts_with = "overwrite")]
    pub(in crate::command) resume: bool,
    /// With --resume: jobs that failed are run again, and their later result counts
    #[arg(long, requires = "resume")]
    pub(in crate::command) retry_failed: bool,
    /// With --resume: take results that belong to another input
    #[arg(long, requires = "resume")]
    pub(in crate::command) force_resume: bool,
    /// With --resume: lines of the results that are damaged are set aside in FILE.bad, and their jobs run again
    #[arg(long, requires = "resume")]
    pub(in crate::command) repair: bool,
}

const TELLS: &str = "Progress and messages";

fn output_help() -> String {
    let words = sink::Format::WORDS.join(", ");
    format!("How results are written: {words}; report and verify read those of shaper")
}

/// What is written and shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(in crate::command) struct OutputArgs {
    /// Results, one JSON line per job; default: stdout, if that is not a terminal
    #[arg(short, long, value_name = "FILE|-")]
    pub(in crate::command) output: Option<PathBuf>,
    /// Replace a file of results
    #[arg(long)]
    pub(in crate::command) overwrite: bool,
    #[arg(long, value_name = "WHICH", help = output_help(), default_value = "shaper", value_parser = one_of::<sink::Format>(sink::Format::WORDS), hide_possible_values = true)]
    pub(in crate::command) output_format: sink::Format,
    /// When results have to be on the disk, not only in the file: never, end, or each DUR
    #[arg(
        long,
        value_name = "never|end|DUR",
        default_value = "end",
        allow_hyphen_values = true,
        value_parser = or_else::<Fsync>(&["never", "end"]),
        hide_possible_values = true
    )]
    pub(in crate::command) fsync: Fsync,
    /// Results in the order of the input; one that waits for an older one keeps its slot
    #[arg(long = "ordered", action = ArgAction::SetTrue, value_parser = BoolishValueParser::new().map(order))]
    pub(in crate::command) order: Order,
    /// After Ctrl-C or SIGTERM what is in flight may take so long; default: no limit but --timeout
    #[arg(long, value_name = "DUR|none", allow_hyphen_values = true, value_parser = span_or_none)]
    pub(in crate::command) grace: Option<Bound<Duration>>,
    /// Bodies of answers in the results: keep, none
    #[arg(long, value_name = "WHICH", default_value = "keep", value_parser = choice(&Keep::WORDS), hide_possible_values = true)]
    pub(in crate::command) body: Keep,
    /// Headers of answers in the results: keep, none
    #[arg(long, value_name = "WHICH", default_value = "keep", value_parser = choice(&Keep::WORDS), hide_possible_values = true)]
    pub(in crate::command) headers: Keep,
    /// The report.
    #[command(flatten)]
    pub(in crate::command) show: ShowArgs,
    /// Progress on stderr: auto, bar (a line that is redrawn), plain (a line each 10 s), none
    #[arg(
        long,
        value_name = "KIND",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = TELLS
    )]
    pub(in crate::command) progress: ProgressKind,
    /// Serve the figures of the run for Prometheus, at `/metrics` of PORT (for this machine alone) or IP:PORT;
    /// port 0 is any free one
    #[arg(long, value_name = "ADDR", value_parser = listen, help_heading = TELLS)]
    pub(in crate::command) metrics: Option<SocketAddr>,
    /// Say more: every failed job
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet", help_heading = TELLS)]
    pub(in crate::command) verbose: u8,
    /// Nothing on stderr but what ends the run
    #[arg(short, long, help_heading = TELLS)]
    pub(in crate::command) quiet: bool,
}

/// The headers of a file, one in each line. Messages name the line and not what stands in it.
fn add_lines(headers: &mut Headers, file: &Path) -> Result<(), Problem> {
    let text = fs::read_to_string(file).map_err(|why| {
        let mend = "name a file of headers that you may read";
        Problem::usage(why.to_string(), mend).at(format!("-H @{}", calm_path(file)))
    })?;
    for (nth, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let (name, value) = header_line(line).map_err(|why| {
            let what = why.split_once("; ").map_or(&*why, |(what, _)| what);
            let mend = "write one header in each line, NAME: VALUE";
            Problem::usage(what, mend).at(format!("{}:{}", calm_path(file), nth + 1))
        })?;
        headers.add(&name, &value.0);
    }
    Ok(())
}

/// Those of `-H`.
pub(in crate::command) fn headers(given: &[HeaderFrom]) -> Result<Headers, Problem> {
    let mut headers = Headers::default();
    for from in given {
        match from {
            HeaderFrom::Line(name, value) => headers.add(name, &value.0),
            HeaderFrom::File(file) => add_lines(&mut headers, file)?,
        }
    }
    Ok(headers)
}

impl JobArgs {
    /// The headers of every job, with the bearer token of the environment.
    pub(in crate::command) fn headers(&self) -> Result<Headers, Problem> {
        let mut headers = headers(&self.header)?;
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
            let bearer = bearer.map_err(|_| problem("its value cannot stand in a header"))?;
            headers.add(&header::AUTHORIZATION, &bearer);
        }
        Ok(headers)
    }
}
