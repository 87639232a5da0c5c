//! `--resume`: joins what is in the file of results with the input and the limits. Floor 6: front.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::RunArgs;
use crate::clock::Clock;
use crate::engine::Seam;
use crate::error::Problem;
use crate::file::changed;
use crate::letters::calm_path;
use crate::limit::{Setting, Since, Spec, keys_of};
use crate::manifest::{self, Before, Manifest, Owners, Unrecorded};
use crate::outcome::Status;
use crate::report::hung;
use crate::report::limits::INDENT;
use crate::results::{self, Damage, Earlier, Needs, Tail};
use crate::sink::{self, SIGN_OF_LIFE, SinkSpec, Target};
use crate::source::{self, Failed, Foreign, Resume};
use crate::terminal::Columns;
use crate::units::{Cost, Tick, nanos};

/// A file of results that this run goes on with: locked, read, and not changed yet.
pub(super) struct Resumed {
    path: PathBuf,
    earlier: Earlier,
    onward: Onward,
}

/// What a run goes on with.
pub(super) struct Onward {
    /// The results: locked, and once it is mended, whole.
    pub(super) file: File,
    /// The runs before this one, as far as something tells of them.
    pub(super) before: Vec<Before>,
    /// Whose the time of these was.
    pub(super) owners: Option<Owners>,
    /// What is done.
    pub(super) resume: Resume,
    /// Where the limits go on from.
    pub(super) seam: Seam,
}

/// How late after the last sign of life a program may have sent: it is written on a thread of its own.
const LATE: Duration = Duration::from_millis(200);

/// Opens the results for `--resume`; `None` for a run that begins anew.
pub(super) fn open(
    args: &RunArgs,
    sink: &SinkSpec,
    limits: &[Spec],
    setting: &Setting,
    clock: &Clock,
) -> Result<Option<Resumed>, Problem> {
    if !args.resume.resume {
        return Ok(None);
    }
    if !results::can_go_on(sink.form.format) {
        let what = format!(
            "--resume cannot go on with results in the form {}",
            sink.form.format
        );
        let mend = "leave --resume or --output-format out";
        return Err(Problem::usage(what, mend));
    }
    let Target::File(path) = &sink.target else {
        let what = "--resume needs the file of results that it goes on with";
        return Err(Problem::usage(what, "name it: -o FILE"));
    };
    let Some(file) = sink::hold(path)? else {
        return Ok(None);
    };
    let run = manifest::find(path).map_err(|why| {
        let what = format!("does not tell what the run was: {why}");
        let mend = "restore it, or move it away: then the results alone say where to go on";
        Problem::usage(what, mend).at(calm_path(manifest::path_of(path)))
    })?;
    if let Some(run) = &run {
        same_shard(args, run, path)?;
    }
    let reaches = limits.iter().map(|limit| limit.reach(setting));
    let epoch = Tick(nanos(clock.epoch()));
    let zero = epoch.before(reaches.max().unwrap_or_default());
    let damage = if args.resume.repair {
        Damage::SetAside
    } else {
        Damage::Refuse
    };
    let last = last_alive(&file).min(epoch);
    let mut earlier = results::look(path, sink.form.format, &Needs::of(limits), zero, damage)?;
    if let Some(run) = &run {
        let keys = keys_of(limits);
        let unrecorded = run.unrecorded(&keys).flat_map(Unrecorded::events);
        let (counting, older): (Vec<_>, Vec<_>) =
            unrecorded.partition(|send| send.answered >= zero);
        earlier.sends.extend(counting);
        earlier.older += older.len() as u64;
    }
    let owners = run.as_ref().and_then(|run| run.owners.clone());
    let before = run.map_or_else(Vec::new, |run| run.before(last.0 / 1_000));
    let slots = args.rules.limits.concurrency.limit().map(Cost::get);
    let told = before.iter();
    // A try that follows redirects has sent several requests, and a run that was cut off has told of none of them.
    let requests = |tries: Option<u64>, redirects: Option<u64>| {
        let each = redirects.unwrap_or(args.http.redirects()).saturating_add(1);
        tries.map(|tries| tries.saturating_mul(each))
    };
    let told = told.map(|run| {
        let last = Tick(run.last_us.saturating_mul(1_000));
        (last, requests(run.cut_off, run.redirects))
    });
    // Results without a word about their run. It would have said what it is before it sent anything.
    let untold = before.is_empty() && !earlier.done.is_empty();
    let untold = untold.then(|| (last, requests(slots, None)));
    let since = if earlier.older > 0 {
        Since::Later
    } else {
        Since::First
    };
    let sends = std::mem::take(&mut earlier.sends);
    let seam = Seam::between(zero, epoch, sends, since, told.chain(untold));
    let resume = Resume {
        done: std::mem::take(&mut earlier.done),
        results: calm_path(path),
        failed: if args.resume.retry_failed {
            Failed::Again
        } else {
            Failed::Keep
        },
        foreign: if args.resume.force_resume {
            Foreign::Take
        } else {
            Foreign::Refuse
        },
    };
    Ok(Some(Resumed {
        path: path.clone(),
        earlier,
        onward: Onward {
            file,
            before,
            owners,
            resume,
            seam,
        },
    }))
}

/// Refuses results of another shard: of equal jobs nobody could say which of them are done.
fn same_shard(args: &RunArgs, run: &Manifest, results: &Path) -> Result<(), Problem> {
    let asked = args.input.pick().shard.map(|shard| shard.to_string());
    let told = run.given.as_ref().and_then(|given| given.shard.clone());
    if told.is_none() || told == asked || args.resume.force_resume {
        return Ok(());
    }
    let word = |shard: Option<String>| {
        shard.map_or_else(|| "all lines".to_owned(), |it| format!("--shard {it}"))
    };
    let what = format!(
        "holds results of {}, and this run takes {}",
        word(told),
        word(asked)
    );
    let mend =
        "name another file with -o for each shard; --force-resume takes the results as they are";
    Err(Problem::usage(what, mend).at(calm_path(results)))
}

/// The last moment at which a run that wrote to this file may have lived, since the Unix epoch.
fn last_alive(file: &File) -> Tick {
    let changed = file.metadata().ok().as_ref().and_then(changed);
    let last = changed.map(|changed| changed + SIGN_OF_LIFE + LATE);
    last.map_or(Tick(u64::MAX), |last| Tick(nanos(last)))
}

impl Resumed {
    /// When the first of these runs began, in microseconds since the Unix epoch, if that is told.
    pub(super) fn begun_us(&self) -> Option<u64> {
        Some(self.onward.before.first()?.started_us)
    }

    /// Refuses results of another input, if that can be read before the run.
    pub(super) fn check(&mut self, spec: &source::Spec) -> Result<(), Problem> {
        let resume = &mut self.onward.resume;
        let left = source::unclaimed(spec, resume)?;
        match (left, resume.foreign) {
            (None | Some(0), _) | (Some(_), Foreign::Take) => {}
            (Some(left), Foreign::Refuse) => {
                let first = results::first_unclaimed(&self.path, &mut resume.done);
                return Err(source::unmatched(left, first, resume, &spec.inputs));
            }
        }
        resume.done.reset();
        Ok(())
    }

    /// Mends the file if it has to be.
    pub(super) fn mend(self) -> Result<Onward, Problem> {
        let lock = |file: &File| sink::lock(&self.path, file);
        let file = self.earlier.mend(&self.path, self.onward.file, lock)?;
        Ok(Onward {
            file,
            ..self.onward
        })
    }

    /// What is gone on with, for people.
    pub(super) fn text(&self, columns: Columns) -> String {
        let resume = &self.onward.resume;
        let count = |status| resume.done.count(status);
        let (failed, invalid) = (count(Status::Failed), count(Status::Invalid));
        let skipped = count(Status::Skipped);
        let mut counts = vec![format!("ok {}", count(Status::Ok))];
        if failed > 0 {
            let becomes = match resume.failed {
                Failed::Keep => "kept; --retry-failed runs them again",
                Failed::Again => "run again",
            };
            counts.push(format!("failed {failed} ({becomes})"));
        }
        if invalid > 0 {
            counts.push(format!("invalid {invalid}"));
        }
        if skipped > 0 {
            counts.push(format!("skipped {skipped}"));
        }
        let mut lines = vec![match resume.done.len() {
            0 => "nothing is done yet".to_owned(),
            1 => format!("1 result of earlier runs: {}", counts.join(", ")),
            results => format!("{results} results of earlier runs: {}", counts.join(", ")),
        }];
        let file = &resume.results;
        if let Tail::Torn { offset, length } = self.earlier.tail {
            lines.push(format!(
                "a torn last line of {length} bytes at byte {offset} is cut off and kept in {file}.torn"
            ));
        }
        match self.earlier.set_aside() {
            0 => {}
            1 => lines.push(format!(
                "1 line that is no result is set aside in {file}.bad"
            )),
            aside => lines.push(format!(
                "{aside} lines that are no results are set aside in {file}.bad"
            )),
        }
        if let Some((line, why)) = &self.earlier.untold {
            lines.push(format!("{file}:{line} {why}: that limit starts as new"));
        }
        let mut heading = "RESUME";
        let lines = lines.iter().flat_map(|line| {
            let before = format!("{heading:<INDENT$}");
            let lines = hung(&before, INDENT, line, columns.get());
            heading = "";
            lines
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
