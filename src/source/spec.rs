//! What to read, and what the command line adds to every job. Floor 4: doors.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::Method;

use super::pick::Pick;
use super::rewrite::Rewrite;
use super::target::HttpUrl;
use super::{Format, LogFields, Rounds, Template};
use crate::error::Problem;
use crate::estimate::Estimator;
use crate::headers::Headers;
use crate::job::Repeat;
use crate::letters::calm_path;
use crate::limit::KeyBy;

/// One input of jobs.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file, or anything else with a path.
    File(PathBuf),
    /// Standard input; shown as `-`.
    Stdin,
    /// Standard input, kept in a file without a name that ends with the last handle; shown as `-`.
    Spooled(Arc<File>),
}

impl Input {
    /// The name as given, `-` for standard input.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin | Self::Spooled(_) => "-".to_owned(),
        }
    }

    /// What stands behind the last point of its name, before what says that it is compressed.
    pub(super) fn extension(&self) -> Option<String> {
        match self {
            Self::File(path) => {
                let packed = path.extension().is_some_and(|it| it == "gz" || it == "zst");
                let path = if packed {
                    path.with_extension("")
                } else {
                    path.clone()
                };
                let extension = path.extension()?;
                Some(extension.to_string_lossy().to_ascii_lowercase())
            }
            Self::Stdin | Self::Spooled(_) => None,
        }
    }

    /// Where a `body_file` of its jobs is looked for; empty for the working directory.
    pub(super) fn folder(&self) -> PathBuf {
        match self {
            Self::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
            Self::Stdin | Self::Spooled(_) => PathBuf::new(),
        }
    }
}

/// Whether a limit counts units, so that each job has to reserve some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnitsRule {
    /// No limit counts units: jobs have none.
    #[default]
    Ignored,
    /// Each job has units: what its fields say, else an estimate.
    ///
    /// `tokens` (or `weight`) is the whole of input and output. Of it the output is `output_tokens`, or
    /// what `input_tokens` leaves, or the most that its body asks for, at most the whole. Without it
    /// `input_tokens` and `output_tokens` are the parts, and one that is left out is 0. A first job with
    /// nothing to estimate (no body) is a usage problem; later ones reserve 0.
    Reserve(Estimator),
    /// The same where a limit that counts them may be learnt: a job with nothing to estimate has none.
    Learn(Estimator),
    /// The same where no limit counts them and they have a price.
    Price(Estimator),
}

/// Whether it counts when jobs were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Times {
    /// What `at` says is not looked at.
    #[default]
    Ignored,
    /// Each job has what its `at` says; a line whose `at` is no moment makes no job.
    Read,
    /// The same, and a line without `at` makes no job.
    Needed,
}

/// What to read, and what the command line adds to every job.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// Read one after the other; ids are unique across all.
    pub inputs: Vec<Input>,
    /// Of every input; by content, if not given.
    pub format: Option<Format>,
    /// What relative URLs are joined to.
    ///
    /// A path with a leading slash replaces the base's path; one without goes below it.
    pub base_url: Option<HttpUrl>,
    /// Where lines that are bodies and nothing else are sent.
    pub request_url: Option<HttpUrl>,
    /// The URL of each row: of a table, or of objects that are then no jobs.
    pub url: Option<Template>,
    /// What the run is known by: of it each row has its own `{{uuid}}`.
    pub run: u64,
    /// Where the objects of an access log have what they tell, in place of the names that are known.
    pub log_fields: Option<LogFields>,
    /// Added to each job, but for names that it sets itself.
    pub headers: Headers,
    /// Each job is sent with an `idempotency-key`, unless it has one, that is its own in the run that is known by this.
    pub once: Option<u64>,
    /// Of jobs that name none.
    pub method: Option<Method>,
    /// Of jobs that have none.
    pub body: Option<Bytes>,
    /// Which of the jobs are taken.
    pub pick: Pick,
    /// What becomes of URLs, one after the other.
    pub rewrites: Vec<Rewrite>,
    /// Reading ends after so many taken lines that make a result, good or bad.
    pub limit_jobs: Option<u64>,
    /// How often the whole input is read. Ids come again with each round.
    pub repeat: Rounds,
    /// Whether jobs reserve units.
    pub units: UnitsRule,
    /// Whether jobs have a moment.
    pub times: Times,
    /// What each job has a key of, in this order; see [`crate::limit::keys_of`].
    ///
    /// A host is as a `Host` header has it, a header as the job will send it, a field as it stands in the
    /// line: a string as its text, anything else as written. What is missing or null is empty. What may
    /// be a credential is told as [`Credentials`] says. A field that is a key is no unknown field.
    pub per: Vec<KeyBy>,
    /// What a key is called there that may be a credential.
    pub credentials: Credentials,
    /// Which tries of jobs of a batch may be repeated.
    pub batches: Repeat,
}

/// The inputs that the arguments name: `-` is standard input, and so is no argument at all.
///
/// # Errors
/// A usage problem if `-` stands there twice, or if there is no argument and standard input is a terminal.
pub fn inputs(paths: &[PathBuf]) -> Result<Vec<Input>, Problem> {
    let terminal = io::stdin().is_terminal();
    if paths.is_empty() && terminal {
        return Err(Problem::usage(
            "no jobs: no file is named and standard input is a terminal",
            "name a file of jobs, or pipe jobs in: echo http://127.0.0.1:8080/ | shaper run",
        ));
    }
    if paths.is_empty() {
        return Ok(vec![Input::Stdin]);
    }
    let is_stdin = |path: &&PathBuf| path.as_os_str() == "-";
    if paths.iter().filter(is_stdin).count() > 1 {
        return Err(Problem::usage(
            "standard input is named twice",
            "write - only once",
        ));
    }
    let input = |path: &PathBuf| {
        if is_stdin(&path) {
            Input::Stdin
        } else {
            Input::File(path.clone())
        }
    };
    Ok(paths.iter().map(input).collect())
}

/// The problem of inputs without a single job, or of which none is taken, and then what was left; see `--allow-empty`.
pub fn empty(inputs: &[Input], left: Option<&str>) -> Problem {
    let name = |input: &Input| match input {
        Input::File(path) => calm_path(path),
        Input::Stdin | Input::Spooled(_) => "standard input".to_owned(),
    };
    let names: Vec<String> = inputs.iter().take(3).map(name).collect();
    let more = match inputs.len() {
        0..=3 => String::new(),
        count => format!(" and {} more", count - 3),
    };
    let names = names.join(", ");
    match left {
        None => Problem::usage(
            format!("no requests in {names}{more}"),
            "give it a job, or say --allow-empty",
        ),
        Some(left) => Problem::usage(
            format!("no request in {names}{more} is taken; left {left}"),
            "let these options take some, or say --allow-empty",
        ),
    }
}

/// What a credential is called that limits are kept apart for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Credentials {
    /// `key 1`, `key 2`, in the order in which they are met.
    #[default]
    Numbered,
    /// `key 1f3a…`, by its hash (SHA-256): processes that share limits mean the same by it.
    Hashed,
}
