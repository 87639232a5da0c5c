//! Why a line of a job file is not the job that failed. Floor 6: front.

use std::path::Path;
use std::time::Duration;

use super::origin::Run;
use crate::error::Problem;
use crate::letters::calm_path;
use crate::manifest::Input;
use crate::results::FailedJob;
use crate::source::{Found, HttpUrl};
use crate::units::show_moment;

/// A job that failed, and the file in which its line is another one.
pub(super) struct NotIt<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) job: &'a FailedJob,
    /// The input as the run named it.
    pub(super) name: &'a str,
    /// Where it is now.
    pub(super) path: &'a Path,
}

/// A likely reason, and what to do about it.
type Reason = (String, String);

const RESTORE: &str = "restore the file as it was";

impl NotIt<'_> {
    /// What stands there instead, with every reason that something tells of.
    pub(super) fn problem(&self, found: &Found) -> Problem {
        let mut reasons: Vec<Reason> = self.changed().into_iter().collect();
        reasons.extend(self.options());
        if let Found::Job(_, written) = found
            && let Some(file) = &written.body_file
        {
            let what = format!("what is in {} may have changed", calm_path(file));
            reasons.push((what, "restore it".to_owned()));
        }
        if !self.run.told.earlier.is_empty() {
            let what = "several runs have written these results: lines may have moved between them";
            reasons.push((what.to_owned(), RESTORE.to_owned()));
        }
        if reasons.is_empty() {
            let what = "its size and time of change are those of the run".to_owned();
            reasons.push((what, "give the options of the run".to_owned()));
        }
        let mut what = format!("{}; nothing was copied", self.difference(found));
        let mut mends: Vec<String> = Vec::new();
        for (reason, mend) in &reasons {
            what += "\n  ";
            what += reason;
            if !mends.iter().any(|known| known == mend) {
                mends.push(mend.clone());
            }
        }
        let results = calm_path(self.run.results);
        mends.push(format!(
            "if lines have only moved, `shaper run JOBS -o {results} --resume --retry-failed` finds the jobs"
        ));
        let place = format!("{}:{}", calm_path(self.path), self.job.line);
        Problem::usage(what, mends.join("; ")).at(place)
    }

    fn difference(&self, found: &Found) -> String {
        let failed = format!("{}:{}", calm_path(self.run.results), self.job.result);
        let id = |id: Option<&str>| id.map_or("no id".to_owned(), |id| format!("id {id:?}"));
        match found {
            Found::Job(now, _) => match self.job.job {
                Some(then) if then != now.hash => format!(
                    "is job {}, the one that failed is {then} ({failed})",
                    now.hash
                ),
                Some(_) | None => format!(
                    "is the job with {}, the one that failed has {} ({failed})",
                    id(now.id.as_deref()),
                    id(self.job.id.as_deref())
                ),
            },
            Found::Bad(bad) => format!("makes no job: {}; one failed there ({failed})", bad.what),
            Found::Nothing => format!("is blank or a comment, a job failed there ({failed})"),
            Found::End(count) => {
                format!("the file has {count} lines, a job failed in this one ({failed})")
            }
        }
    }

    /// What the file was when the run began, beside what it is now.
    fn changed(&self) -> Option<Reason> {
        let mut inputs = self.run.told.inputs.iter();
        let then = inputs.find(|input| input.name == self.name)?;
        let now = Input::named(self.path.to_string_lossy().into_owned());
        let what = match (then.size, now.size, then.changed_us, now.changed_us) {
            (Some(then), Some(now), ..) if then != now => {
                format!("the file has changed since the run: {then} bytes then, {now} now")
            }
            (.., Some(then), Some(now)) if then != now => format!(
                "the file was written since the run: at {}, not {}",
                show_moment(Duration::from_micros(now)),
                show_moment(Duration::from_micros(then))
            ),
            _ => return None,
        };
        Some((what, RESTORE.to_owned()))
    }

    /// Options of the run that nothing tells, and those of the report that differ.
    fn options(&self) -> Vec<Reason> {
        let (args, told) = (self.run.args, &self.run.told);
        let mut reasons = Vec::new();
        let mut because = |what: &str, mend: &str| reasons.push((what.to_owned(), mend.to_owned()));
        match &told.given {
            None => because(
                "FILE.run does not tell -X, --data and --format",
                "give those of the run",
            ),
            Some(given) => {
                for (option, then, now) in [
                    ("--data", given.data.is_some(), args.data.is_some()),
                    ("--url", given.url.is_some(), args.url.is_some()),
                    ("-H", given.header.is_some(), !args.header.is_empty()),
                    (
                        "--rewrite",
                        given.rewrite.is_some(),
                        !args.rewrite.is_empty(),
                    ),
                ] {
                    let what = match (then, now) {
                        (true, false) => format!("the run had {option}, whose text is not kept"),
                        (true, true) => format!("{option} may be another than that of the run"),
                        (false, true) => {
                            because(&format!("the run had no {option}"), "leave it out");
                            continue;
                        }
                        (false, false) => continue,
                    };
                    because(&what, &format!("give {option} as to the run"));
                }
                let method = args.method.as_ref().map(http::Method::as_str);
                if method.is_some() && method != given.method.as_deref() {
                    because("-X is another than that of the run", "leave it out");
                }
            }
        }
        let request_url = told.given.as_ref().and_then(|it| it.request_url.as_deref());
        for (option, then, now) in [
            ("--base-url", told.base_url.as_deref(), &args.base_url),
            ("--request-url", request_url, &args.request_url),
        ] {
            let now = now.as_ref().map(HttpUrl::to_string);
            let what = match (then, now.as_deref()) {
                (Some(then), None) if then.contains("***") => {
                    format!("the run had {option} with credentials, which are not kept")
                }
                (then, Some(now)) if then != Some(now) => {
                    format!("{option} is another than that of the run")
                }
                (_, Some(now)) if now.contains("***") => {
                    format!("credentials of {option} may be others than those of the run")
                }
                (Some(_) | None, Some(_) | None) => continue,
            };
            because(&what, &format!("give {option} as to the run"));
        }
        reasons
    }
}
