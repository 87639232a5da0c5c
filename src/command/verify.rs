//! `shaper verify`: proves from results that the limits were kept. Floor 6: front.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::VerifyArgs;
use super::kept::is_being_written;
use super::values::ReportForm;
use super::{print, say};
use crate::drive::live::SLACK;
use crate::error::{Exit, Problem};
use crate::letters::{calm, calm_path};
use crate::limit::{KeyBy, Spec, keys_of};
use crate::manifest::{self, Lines, Manifest, Misfit, Unrecorded};
use crate::proof::{self, Event, LINE_BITS, Proved, Proven, Terms, Verdict, most_at_once};
use crate::report::csv;
use crate::report::verified::{Facts, Unseen, Verified, named};
use crate::results::{self, Needs, Print, Results, Sends};
use crate::terminal::Columns;
use crate::units::Cost;

pub(super) fn verify(args: &VerifyArgs) -> Result<Exit, Problem> {
    once(&args.results)?;
    let opened = args.results.iter().map(|path| Results::open(path));
    let mut opened: Vec<Results> = opened.collect::<Result<_, _>>()?;
    let given = args.limits.specs()?;
    let given_slots = args.limits.concurrency.limit().map(Cost::get);
    let manifests = manifests(args, given.is_empty() && given_slots.is_none())?;
    let (limits, slots) = if given.is_empty() && given_slots.is_none() {
        limits_of(&manifests)?
    } else {
        (given, given_slots)
    };
    if limits.is_empty() && slots.is_none() {
        let mend = "give them by options, as to the run: --qps, --window, --tpm";
        return Err(Problem::usage("there are no limits to prove", mend));
    }
    // One file has one clock.
    let skew = match &*manifests {
        [_] => Duration::ZERO,
        _ => args.clock_skew,
    };
    let skewed = |limit: &&Spec| limit.kind.has_anchor() && skew >= limit.rate.period;
    if let Some(limit) = limits.iter().find(skewed) {
        let what = format!("--clock-skew is not below the period of `{limit}`: nothing is proved");
        return Err(Problem::usage(
            what,
            "set the clocks, or prove the other limits",
        ));
    }
    let told = manifests
        .iter()
        .filter_map(|(_, run)| Some(run.as_ref()?.slack_us));
    let told = told.max().map(Duration::from_micros);
    let slack = args.slack.or(told).unwrap_or(SLACK);

    let needs = Needs {
        flights: slots.is_some(),
        ..Needs::of(&limits)
    };
    let (mut files, mut events, mut most) = (Vec::new(), Vec::new(), 0);
    let mut firsts = Firsts::default();
    for (number, (results, (path, run))) in opened.iter_mut().zip(&manifests).enumerate() {
        let mut sends = results::read(results, &needs)?;
        firsts.add(&results.shown(), sends.first)?;
        if let Some(run) = run {
            let keys = keys_of(&limits);
            let unrecorded = run.unrecorded(&keys).flat_map(Unrecorded::events);
            sends.events.extend(unrecorded);
        }
        if manifests.len() > 1 {
            comparable(path, &limits, &sends)?;
        }
        most = most.max(most_at_once(&mut sends.flights).sum);
        if let Some(run) = run {
            whole(path, run, &sends)?;
        }
        files.push(facts(results, run.as_ref(), &sends));
        let file = (number as u64) << LINE_BITS;
        events.extend(sends.events.into_iter().map(|event| Event {
            source: event.source | file,
            ..event
        }));
    }
    let verified = Verified {
        files,
        proven: prove(&limits, slack, skew, &mut events),
        slots: slots.map(|slots| (slots, most)),
        slack,
        skew,
    };
    match args.report {
        ReportForm::Text => print(&verified.text(Columns::of(&io::stdout())))?,
        ReportForm::Json => print(&format!("{}\n", verified.json()))?,
        ReportForm::Csv => print(&csv::table(&verified.json()))?,
        ReportForm::None => {}
    }
    Ok(if verified.is_kept() {
        Exit::AllOk
    } else {
        Exit::SomeFailed
    })
}

/// A file that is named twice would have everything sent twice.
pub(super) fn once(paths: &[PathBuf]) -> Result<(), Problem> {
    let place = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let mut places: Vec<PathBuf> = Vec::new();
    for path in paths {
        let place = place(path);
        if places.contains(&place) {
            let what = format!("{} is named twice", calm_path(path));
            return Err(Problem::usage(what, "name each file of results once"));
        }
        places.push(place);
    }
    Ok(())
}

/// The first lines of files that are read together. Two that have the same one are of the same run, under whatever
/// names: everything would count twice.
#[derive(Debug, Default)]
pub(super) struct Firsts(Vec<(String, Print)>);

impl Firsts {
    /// That of another file, if it tells any moment.
    pub(super) fn add(&mut self, name: &str, first: Option<Print>) -> Result<(), Problem> {
        let Some(first) = first else {
            return Ok(());
        };
        if let Some((other, _)) = self.0.iter().find(|(_, print)| *print == first) {
            let what = format!(
                "begins with the same result as {}: it is a copy",
                calm(other)
            );
            return Err(Problem::usage(what, "name the results of each run once").at(name));
        }
        self.0.push((name.to_owned(), first));
        Ok(())
    }
}

/// Each file of results with what stands beside it. What cannot be read there is a problem only if it
/// is needed.
fn manifests(args: &VerifyArgs, needed: bool) -> Result<Vec<(PathBuf, Option<Manifest>)>, Problem> {
    let each = args.results.iter().map(|path| {
        let read = match path.as_os_str().as_encoded_bytes() {
            b"-" => Ok(None),
            _ => manifest::read(path),
        };
        let run = match read {
            Err(problem) if !needed => {
                say(&format!("shaper: {problem}\n  they are given: passed over"));
                None
            }
            read => read?,
        };
        Ok((path.clone(), run))
    });
    each.collect()
}

/// The limits and slots that all files were written under.
fn limits_of(
    manifests: &[(PathBuf, Option<Manifest>)],
) -> Result<(Vec<Spec>, Option<u64>), Problem> {
    let mut first: Option<(&PathBuf, Vec<Spec>, Option<u64>)> = None;
    for (path, run) in manifests {
        let shown = || calm_path(manifest::path_of(path));
        let mend = "give them by options, as to the run: --qps, --window, --tpm";
        let Some(run) = run else {
            if path.as_os_str() == "-" {
                let what = "nothing tells the limits under which standard input was written";
                return Err(Problem::usage(what, mend));
            }
            let what = "is not there: nothing tells the limits of the run";
            return Err(Problem::usage(what, mend).at(shown()));
        };
        if run.had_other_limits() {
            let what = "was written by several runs, under different limits";
            let mend = "give those to prove by options: --qps, --window, --tpm";
            return Err(Problem::usage(what, mend).at(shown()));
        }
        let specs = run.specs();
        let specs = specs.map_err(|why| Problem::usage(why, mend).at(shown()))?;
        match &first {
            None => first = Some((path, specs, run.most_slots())),
            Some((other, limits, _)) if *limits != specs => {
                let what = format!(
                    "{} was written under {} and {} under {}",
                    calm_path(other),
                    or_none(limits),
                    calm_path(path),
                    or_none(&specs)
                );
                return Err(Problem::usage(what, mend));
            }
            Some(_) => {}
        }
    }
    let (_, limits, slots) = first.expect("at least one file is named");
    let one = manifests.len() == 1;
    Ok((limits, slots.filter(|_| one)))
}

fn or_none(limits: &[Spec]) -> String {
    if limits.is_empty() {
        "no limits".to_owned()
    } else {
        named(limits)
    }
}

/// Credentials are numbered anew in each file: `key 1` of two files need not be the same.
fn comparable(path: &Path, limits: &[Spec], sends: &Sends) -> Result<(), Problem> {
    let Some(key) = hidden_key(limits, &sends.events) else {
        return Ok(());
    };
    let what = format!("{key} is a credential, told as `key 1`, `key 2` in the order of each file");
    let mend = "verify one file at a time";
    Err(Problem::usage(what, mend).at(calm_path(path)))
}

/// Digits of a hash that a credential is told by, where runs share limits.
const HASH: usize = 12;

/// A key of which some values are hidden.
pub(super) fn hidden_key(limits: &[Spec], sends: &[Event]) -> Option<KeyBy> {
    let keys = keys_of(limits).into_iter().enumerate();
    let hidden = |number: usize| {
        move |event: &Event| {
            let key = event.keys.get(number);
            key.is_some_and(|key| {
                // One that is told by its hash is the same in all files.
                let number = key.strip_prefix("key ");
                number.is_some_and(|number| number.len() < HASH)
            })
        }
    };
    keys.filter(|(_, key)| match key {
        KeyBy::Host => false,
        KeyBy::Header(_) | KeyBy::Field(_) => true,
    })
    .find(|(number, _)| sends.iter().any(hidden(*number)))
    .map(|(_, key)| key)
}

/// Refuses lines that are not all of the run that stands beside them.
fn whole(path: &Path, run: &Manifest, sends: &Sends) -> Result<(), Problem> {
    let lines = Lines {
        results: sends.results,
        jobs: sends.results,
        sends: sends.events.len() as u64,
        span: sends.span,
    };
    let give = "give the limits by options (--qps, --window, --tpm)";
    run.fits(&lines).map_err(|misfit| match misfit {
        Misfit::Cut(what) => {
            let mend = format!("verify the whole file, or remove FILE.run and {give}");
            Problem::usage(what, mend).at(calm_path(path))
        }
        Misfit::Other(why) => {
            let what = format!(
                "is of another run than {}, which has {why}",
                calm_path(path)
            );
            let mend = format!("put its own there, or remove it and {give}");
            let place = manifest::path_of(path);
            Problem::usage(what, mend).at(calm_path(place))
        }
    })
}

fn facts(results: &Results, run: Option<&Manifest>, sends: &Sends) -> Facts {
    let seen = sends.events.len() as u64;
    let unseen = match run {
        None => Unseen::Unknown,
        Some(run) => match run.sends() {
            None if run.ended.is_none() && is_being_written(&results.path) => {
                Unseen::Running(run.cut_off())
            }
            None if run.ended.is_some() => Unseen::Killed(run.cut_off()),
            None => Unseen::CutOff(run.cut_off()),
            Some(sends) if sends < seen => Unseen::Beyond(seen - sends),
            Some(sends) => Unseen::Counted(sends - seen + run.cut_off().unwrap_or_default()),
        },
    };
    Facts {
        name: results.shown(),
        results: sends.results,
        sends: seen,
        torn: sends.torn,
        unseen,
    }
}

/// As the moments stand there, and if clocks may differ once more for the worst that they allow.
fn prove(limits: &[Spec], slack: Duration, skew: Duration, events: &mut [Event]) -> Proven {
    let terms = Terms {
        slack,
        rounding: Duration::from_micros(1),
        ..Terms::default()
    };
    let mut proven = proof::prove(limits, terms, events);
    if skew.is_zero() {
        return proven;
    }
    let worst = proof::prove(limits, Terms { skew, ..terms }, events);
    for (proved, worst) in proven.limits.iter_mut().zip(worst.limits) {
        if proved.verdict.is_kept() && !worst.verdict.is_kept() {
            let verdict = Verdict::IfClocksAgree;
            *proved = Proved { verdict, ..worst };
        }
    }
    proven
}
