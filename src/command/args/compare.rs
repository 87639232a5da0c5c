//! The options of `shaper compare`. Floor 6: front.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::super::values::{Burst, burst, count, few, seed, window};
use super::{InputArgs, JobArgs, ShowArgs, TransportArgs};
use crate::drive::disciplines::DISCIPLINES;
use crate::limit::Spec;
use crate::model::{Latency, ModelSpec};
use crate::shape::{Arrivals, Gaps, Ramp, Speed};
use crate::units::{Cost, Rate};

/// `shaper compare`.
#[derive(Debug, Args)]
#[command(
    after_help = after_help(),
    mut_arg("hdr", |arg| arg.hide(true)),
)]
pub(in crate::command) struct CompareArgs {
    /// Files of jobs, as to run; `-` is stdin; without them equal jobs that come at once
    #[arg(id = "jobs", value_name = "JOBS")]
    pub(in crate::command) files: Vec<PathBuf>,

    /// What the disciplines use.
    #[command(flatten)]
    pub(in crate::command) numbers: NumberArgs,
    /// When they come.
    #[command(flatten)]
    pub(in crate::command) come: ComeArgs,
    /// What answers.
    #[command(flatten)]
    pub(in crate::command) world: WorldArgs,
    /// For real.
    #[command(flatten)]
    pub(in crate::command) real: LiveArgs,
    /// HTTP.
    #[command(flatten)]
    pub(in crate::command) job: JobArgs,
    /// Input.
    #[command(flatten)]
    pub(in crate::command) input: InputArgs,
    /// The report.
    #[command(flatten)]
    pub(in crate::command) show: ShowArgs,
}

/// The disciplines and their numbers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Disciplines and their numbers")]
pub(in crate::command) struct NumberArgs {
    /// Only these, with commas between them; --help lists them all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = disciplines(), hide_possible_values = true)]
    pub(in crate::command) discipline: Vec<String>,
    /// Slots of the semaphores
    #[arg(short, long, value_name = "N", default_value = "20", allow_hyphen_values = true, value_parser = count)]
    pub(in crate::command) concurrency: Cost,
    /// The rate of the buckets
    #[arg(
        long,
        alias = "rate",
        value_name = "RATE",
        default_value = "10",
        allow_hyphen_values = true
    )]
    pub(in crate::command) qps: Rate,
    /// Capacity of the large bucket (burst, storm, retry); default: 4 periods of --qps
    #[arg(long, value_name = "N|DUR", allow_hyphen_values = true, value_parser = burst)]
    pub(in crate::command) burst: Option<Burst>,
    /// What the windows hold (fixed, drop, counter, sliding); default: --qps, per its period
    #[arg(long, value_name = "N/DUR", allow_hyphen_values = true, value_parser = window)]
    pub(in crate::command) window: Option<Rate>,
    /// Tokens per minute (tpm); default without JOBS: half of what --qps carries
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count)]
    pub(in crate::command) tpm: Option<Cost>,
    /// A limit of a discipline of your own, as for `run`; repeatable, all hold
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true)]
    pub(in crate::command) limit: Vec<Spec>,
    /// How many jobs come at once, each of 100 tokens; default 1000, with --live 100
    #[arg(long = "jobs", id = "count", value_name = "N", allow_hyphen_values = true, value_parser = few, conflicts_with = "jobs")]
    pub(in crate::command) count: Option<Cost>,
}

/// When jobs come.
#[derive(Debug, Args)]
#[command(next_help_heading = "When jobs come")]
pub(in crate::command) struct ComeArgs {
    /// At these rates, linear between the times: 5@0s,50@1m; behind a last rate of 0 none comes
    #[arg(long, value_name = "RATE@T,…", allow_hyphen_values = true)]
    ramp: Option<Ramp>,
    /// So many times as fast as their "at" says: 2x, 0.5x
    #[arg(
        long,
        value_name = "FACTOR",
        requires = "jobs",
        conflicts_with = "ramp",
        allow_hyphen_values = true
    )]
    speed: Option<Speed>,
}

impl ComeArgs {
    /// At once, or as jobs say, if nothing is said.
    pub(in crate::command) fn arrivals(&self) -> Arrivals {
        match (&self.ramp, &self.speed) {
            (Some(ramp), _) => Arrivals::Paced(ramp.clone(), Gaps::Even),
            (None, Some(speed)) => Arrivals::Replay(speed.clone()),
            (None, None) => Arrivals::Closed,
        }
    }
}

/// The modelled API.
#[derive(Debug, Args)]
#[command(next_help_heading = "The modelled API")]
pub(in crate::command) struct WorldArgs {
    /// How it behaves, as for --mock; what is left out is latency=50ms and a limit that accepts --qps in any window of
    /// its period
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true)]
    pub(in crate::command) api: Option<ApiWords>,
    /// Latencies of the first table; the first is that of the second, unless --api has one
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "50ms,100ms,2s,5s",
        allow_hyphen_values = true
    )]
    pub(in crate::command) latency: Vec<Latency>,
    /// Seed of latencies, failures and rests
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    pub(in crate::command) seed: u64,
}

/// For real.
#[derive(Debug, Args)]
#[command(next_help_heading = "For real")]
pub(in crate::command) struct LiveArgs {
    /// Send over HTTP, one discipline after the other
    #[arg(long)]
    pub(in crate::command) live: bool,
    /// Send what --live announces
    #[arg(long, requires = "live")]
    pub(in crate::command) yes: bool,
    /// What carries the requests.
    #[command(flatten, next_help_heading = "For real")]
    pub(in crate::command) transport: TransportArgs,
}

/// The disciplines, and what the options leave unsaid.
fn after_help() -> String {
    let rows = DISCIPLINES.iter();
    let rows: Vec<String> = rows
        .map(|row| format!("  {:<11}{}\n", row.key, row.about))
        .collect();
    format!("Disciplines:\n{}\n{AFTER_HELP}", rows.concat())
}

const AFTER_HELP: &str = "Windows count from the epoch, and each run begins 50 ms before a boundary of them. All jobs come at once, or
those of JOBS as their \"at\" says, or all by --ramp; each is tried once, but in storm and retry. JOBS are held in
memory. --qps is the rate of the buckets, so there is no --arrivals; jobs come once (no --repeat), and all (no --for).

--live does the same over HTTP: with JOBS alone at their servers, else at the modelled API in this process.
Without --yes it says how many requests that is, and sends none. early and late are for virtual time only,
storm for the modelled API only. A server's Retry-After is heard.

Examples:
  shaper compare
  shaper compare -c 50 --qps 25 --jobs 500
  shaper compare --qps 100 --burst 50 --discipline fixed,drop,burst,qps
  shaper compare --ramp 5@0s,20@1m --discipline semaphore,qps,both
  shaper compare jobs.jsonl --tpm 60k --limit \"100/m window\" --api \"latency=exp:50ms,limit=10/s window\"
  shaper compare --live --yes --jobs 50 --discipline semaphore,qps,both

Exit codes: 0 compared, 1 with --live no try was answered, 2 options or jobs unusable, or --live without --yes,
3 not written, 130 interrupted, 143 terminated, 141 stdout closed.";

/// Keys of disciplines; a slip is answered with the nearest.
fn disciplines() -> impl TypedValueParser<Value = String> {
    let each = DISCIPLINES
        .iter()
        .map(|row| PossibleValue::new(row.key).help(row.about));
    PossibleValuesParser::new(each)
}

/// An API that says a part of how it behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::command) struct ApiWords {
    /// The rest as usual.
    pub(in crate::command) spec: ModelSpec,
    /// The words that it says.
    words: Vec<String>,
}

impl FromStr for ApiWords {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split(',').filter_map(|it| it.split_once('='));
        Ok(Self {
            spec: text.parse()?,
            words: words.map(|(word, _)| word.trim().to_owned()).collect(),
        })
    }
}

impl ApiWords {
    /// Whether it says this.
    pub(in crate::command) fn says(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }
}
