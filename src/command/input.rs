//! The input of a command that does jobs: what the options make of it, and whether it has any line. Floor 6: front.

use std::path::PathBuf;

use super::args::{InputArgs, JobArgs};
use crate::error::Problem;
use crate::job::{Job, Repeat};
use crate::limit::KeyBy;
use crate::retry::RetryUnsafe;
use crate::signals::Ears;
use crate::source::{self, Credentials, Resume, Rounds, Source, Times, UnitsRule};
use crate::units::Cost;

/// An input that has at least one line, or may be empty.
pub(super) struct Input {
    pub(super) spec: source::Spec,
    pub(super) source: Source,
    /// What has its result already.
    pub(super) resume: Option<Resume>,
}

impl Input {
    /// There is no line in it.
    pub(super) fn is_empty(&mut self) -> bool {
        self.source.peek().is_none()
    }

    /// The first job, if the first line is one.
    pub(super) fn first(&mut self) -> Option<&Job> {
        self.source.peek()?.as_ref().ok()?.as_ref().ok()
    }
}

/// The options that say what is read, and how.
pub(super) struct Asked<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) input: &'a InputArgs,
    pub(super) job: &'a JobArgs,
    /// What the run is known by, where jobs are sent with keys of their own.
    pub(super) once: Option<u64>,
    /// What the run is known by.
    pub(super) run: u64,
    /// What jobs cost of limits on units.
    pub(super) units: UnitsRule,
    /// What limits are kept apart for.
    pub(super) per: Vec<KeyBy>,
    /// What they are called where they may not be told.
    pub(super) credentials: Credentials,
    /// When jobs come.
    pub(super) times: Times,
    /// What is repeated, if that is given.
    pub(super) retry_unsafe: Option<RetryUnsafe>,
    /// How often all of it is read.
    pub(super) repeat: Rounds,
}

impl Asked<'_> {
    /// The same as readers of jobs take it.
    pub(super) fn spec(self) -> Result<source::Spec, Problem> {
        Ok(source::Spec {
            inputs: source::inputs(self.files)?,
            format: self.input.format(),
            base_url: self.job.base_url.clone(),
            headers: self.job.headers()?,
            once: self.once,
            method: self.job.method.clone(),
            body: self.job.data.clone().map(Into::into),
            pick: self.input.pick(),
            rewrites: self.input.rewrite.clone(),
            limit_jobs: self.input.limit_jobs.map(Cost::get),
            units: self.units,
            times: self.times,
            repeat: self.repeat,
            per: self.per,
            credentials: self.credentials,
            request_url: self.input.request_url.clone(),
            url: self.input.url.clone(),
            run: self.run,
            log_fields: self.input.log_fields.clone(),
            batches: match self.retry_unsafe {
                Some(_) => Repeat::ByMethod,
                None => Repeat::Always,
            },
        })
    }

    /// Opens the input and waits for its first line. `ears` are those of a program that can be asked what it
    /// waits for.
    pub(super) fn open(self, ears: Option<&Ears>) -> Result<Input, Problem> {
        let input = self.input;
        let mut spec = self.spec()?;
        if input.strict {
            let what = "the end of the input, all of which is checked first";
            spec = waiting(ears, what, || source::check_strict(spec))?;
        }
        let mut source = source::open(&spec)?;
        let what = match spec.inputs.first() {
            Some(source::Input::Stdin) => "the first line of standard input",
            Some(source::Input::File(_) | source::Input::Spooled(_)) | None => "the first line",
        };
        match waiting(ears, what, || source.peek().cloned()) {
            Some(Err(problem)) => Err(problem),
            None if !input.allow_empty => {
                Err(source::empty(&spec.inputs, source.left().as_deref()))
            }
            Some(Ok(_)) | None => Ok(Input {
                spec,
                source,
                resume: None,
            }),
        }
    }
}

fn waiting<T>(ears: Option<&Ears>, what: &'static str, work: impl FnOnce() -> T) -> T {
    match ears {
        Some(ears) => ears.waiting(what, work),
        None => work(),
    }
}
