//! Where the jobs of a file of results came from, as `FILE.run` tells it. Floor 6: front.

use std::collections::{HashMap, HashSet};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{ReportArgs, headers};
use crate::error::Problem;
use crate::letters::calm_path;
use crate::manifest::{self, Manifest};
use crate::results::FailedJob;
use crate::source::{self, HttpUrl};

/// An input by its name, and jobs that stood in it.
pub(super) type OfInput = (Arc<str>, Vec<FailedJob>);

/// A file of results, and how its jobs were read.
pub(super) struct Run<'a> {
    pub(super) args: &'a ReportArgs,
    pub(super) results: &'a Path,
    pub(super) told: Manifest,
    /// The rules of its lines; without inputs.
    pub(super) spec: source::Spec,
}

impl<'a> Run<'a> {
    pub(super) fn of(results: &'a Path, args: &'a ReportArgs) -> Result<Self, Problem> {
        let place = calm_path(manifest::path_of(results));
        let told = manifest::find(results).and_then(|told| told.ok_or("no such file".to_owned()));
        let told = told.map_err(|why| {
            let what = format!("does not tell where the jobs came from: {why}");
            let mend = "it stands beside what `shaper run -o` has written: put it there again";
            Problem::usage(what, mend).at(&place)
        })?;
        if let Some(given) = &told.given
            && given.url.is_some()
            && args.url.is_none()
        {
            let what = "the run had --url, whose text is not kept; nothing was copied";
            let mend = "give --url, --data and -H as to the run";
            return Err(Problem::usage(what, mend).at(place));
        }
        let headers = headers(&args.header)?;
        let spec = spec(args, &told).map_err(|what| {
            let mend = "read it with the version of the program that has written it";
            Problem::usage(what, mend).at(place)
        })?;
        Ok(Self {
            args,
            results,
            told,
            spec: source::Spec { headers, ..spec },
        })
    }

    /// Names of inputs that were read once and are gone: standard input and pipes.
    pub(super) fn passing(&self) -> HashSet<&str> {
        let inputs = self.told.inputs.iter();
        let passing = inputs.filter(|input| input.size.is_none());
        passing
            .map(|input| input.name.as_str())
            .chain(["-"])
            .collect()
    }

    /// The name of the only input.
    pub(super) fn only(&self) -> Option<&str> {
        match &*self.told.inputs {
            [only] => Some(&only.name),
            _ => None,
        }
    }

    /// The jobs of each input, in the order of inputs and lines.
    pub(super) fn by_input(&self, jobs: Vec<FailedJob>) -> Result<Vec<OfInput>, Problem> {
        let only = self.only().map(Arc::from);
        let mut found: HashMap<Arc<str>, Vec<FailedJob>> = HashMap::new();
        for job in jobs {
            let name = job.file.clone().or_else(|| only.clone());
            let name = name.ok_or_else(|| self.without_file(&job))?;
            found.entry(name).or_default().push(job);
        }
        for jobs in found.values_mut() {
            jobs.sort_by_key(|job| job.line);
        }
        let inputs = (0..).zip(&self.told.inputs);
        let places: HashMap<&str, usize> = inputs.map(|(at, input)| (&*input.name, at)).collect();
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(name, _)| {
            let place = places.get(&**name).copied().unwrap_or(usize::MAX);
            (place, Arc::clone(name))
        });
        Ok(found)
    }

    fn without_file(&self, job: &FailedJob) -> Problem {
        let inputs = self.told.inputs.len();
        let what = format!("does not tell its `file`, and the run had {inputs} inputs");
        let results = calm_path(self.results);
        let mend = format!("run them with `shaper run JOBS -o {results} --resume --retry-failed`");
        Problem::usage(what, mend).at(format!("{results}:{}", job.result))
    }

    /// Where an input is now: relative to the folder of the run, else to that of the results.
    pub(super) fn find(&self, name: &str) -> Result<PathBuf, Problem> {
        let name = Path::new(name);
        let here = env::current_dir().ok();
        let of_run = self.told.folder.as_deref().map(Path::new);
        let of_run = of_run.filter(|folder| here.as_deref() != Some(*folder));
        let mut places = vec![of_run.map_or(name.to_owned(), |folder| folder.join(name))];
        if let Some(folder) = self.results.parent() {
            places.push(folder.join(name));
        }
        places.dedup();
        // What cannot be looked at is told when it is opened.
        let there = |path: &&PathBuf| !matches!(path.try_exists(), Ok(false));
        if let Some(path) = places.iter().find(there) {
            return Ok(path.clone());
        }
        let tried: Vec<_> = places.iter().map(calm_path).collect();
        let what = format!("the job file is not there; tried {}", tried.join(" and "));
        let mend = "put it back there, or beside the results";
        Err(Problem::usage(what, mend).at(calm_path(name)))
    }

    /// The options without which the lines are other jobs, as far as they may be shown.
    pub(super) fn options(&self) -> String {
        let given = self.told.given.as_ref();
        let base = self.args.base_url.as_ref().map(HttpUrl::to_string);
        let request_url = self.args.request_url.as_ref().map(HttpUrl::to_string);
        let request_url = request_url.or_else(|| given?.request_url.clone());
        let method = self.args.method.as_ref().map(ToString::to_string);
        let data = self.args.data.is_some() || given.is_some_and(|given| given.data.is_some());
        let url = self.args.url.as_ref().map(|_| "***".to_owned());
        let header = given.is_some_and(|given| given.header.is_some());
        let rewrite =
            !self.args.rewrite.is_empty() || given.is_some_and(|given| given.rewrite.is_some());
        let options = [
            ("--base-url", base.or_else(|| self.told.base_url.clone())),
            ("--request-url", request_url),
            ("-X", method.or_else(|| given?.method.clone())),
            ("--url", url),
            ("-H", header.then(|| "***".to_owned())),
            ("--data", data.then(|| "***".to_owned())),
            ("--rewrite", rewrite.then(|| "***".to_owned())),
            ("--format", given.and_then(|given| given.format.clone())),
            (
                "--log-fields",
                given.and_then(|given| given.log_fields.clone()),
            ),
        ];
        let given = options
            .into_iter()
            .filter_map(|(option, value)| Some(format!("{option} {}", value?)));
        given.collect::<Vec<_>>().join(" ")
    }
}

/// By the options of the report, else by what the run tells of its own.
fn spec(args: &ReportArgs, told: &Manifest) -> Result<source::Spec, String> {
    let given = told.given.as_ref();
    let format = match given {
        None => args.format,
        Some(given) => given.format.as_deref().map(str::parse).transpose()?,
    };
    let method = given.and_then(|given| given.method.as_deref());
    let method = method.map(str::parse).transpose();
    let method = method.map_err(|_| "its method is none".to_owned())?;
    let log_fields = given.and_then(|given| given.log_fields.as_deref());
    let log_fields = log_fields.map(str::parse).transpose()?;
    let url = |told: Option<&str>| told.and_then(|url| url.parse().ok());
    let base = url(told.base_url.as_deref());
    let request_url = url(given.and_then(|given| given.request_url.as_deref()));
    Ok(source::Spec {
        format,
        base_url: args.base_url.clone().or(base),
        request_url: args.request_url.clone().or(request_url),
        log_fields,
        method: args.method.clone().or(method),
        url: args.url.clone(),
        body: args.data.clone().map(Into::into),
        rewrites: args.rewrite.clone(),
        ..source::Spec::default()
    })
}
