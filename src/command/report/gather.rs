//! Joins files of results, and what stands beside them, to one report. Floor 6: front.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::args::LimitArgs;
use super::super::kept::is_being_written;
use super::super::say;
use super::super::verify::{Firsts, hidden_key, once};
use super::limits::{self, Limits, Told};
use crate::drive::live::SLACK;
use crate::engine::{End, Refund};
use crate::error::Problem;
use crate::letters::calm_path;
use crate::limit::{Spec, keys_of};
use crate::manifest::{self, Lines, Manifest, Misfit, Unrecorded};
use crate::metrics::littles::plain;
use crate::metrics::{AtOnce, Found, Measure, Owner, Run, Runs, Setup, Timeline};
use crate::proof::{self, LINE_BITS, Proven, Terms, most_at_once};
use crate::report::{Facts, Report, Source, Sources, Standing};
use crate::results::{Figures, Needs, Prove, Proving, Results, Scan};
use crate::shape::Arrivals;
use crate::units::{Cost, Tick};

/// One report of all these files.
pub(super) fn report(paths: &[PathBuf], given: &LimitArgs) -> Result<Report, Problem> {
    let specs = given.specs()?;
    let is_given = !specs.is_empty();
    once(paths)?;
    let files: Result<Vec<_>, _> = paths.iter().map(|path| FileOf::open(path)).collect();
    let mut files = files?;
    let mut firsts = Firsts::default();
    for file in &files {
        firsts.add(&file.results.shown(), file.scan.first)?;
    }
    let mut notes = Vec::new();
    let told: Vec<Vec<Told>> = files.iter().map(FileOf::limits).collect();
    let told: Vec<&Told> = told.iter().flatten().collect();
    let untold = files.iter().filter(|file| file.run.is_none()).count();
    let (limits, why) = Limits::of(specs, &told, untold);
    notes.extend(why);
    let zero = files.iter().filter_map(FileOf::zero).min();
    let zero = zero.unwrap_or_default();
    let runs = files.iter();
    let runs = runs.flat_map(|file| file.runs(zero, &limits, &mut notes));
    let runs = Runs(runs.collect());
    if runs.untold() > 0 && untold < files.len() {
        notes.push(match (runs.untold(), runs.0.len()) {
            (1, 1) => "nothing tells whose time it was, or its steady part".to_owned(),
            (untold, all) => format!(
                "{untold} of {all} runs tell nothing of whose time it was: shares and means are those of the others"
            ),
        });
    }
    let needs = Needs {
        flights: runs.flights_are_needed(),
        ..Needs::of(limits.to_prove())
    };
    let slack = files
        .iter()
        .filter_map(|file| Some(file.run.as_ref()?.slack_us));
    let terms = Terms {
        slack: slack.max().map_or(SLACK, Duration::from_micros),
        rounding: Duration::from_micros(1),
        skew: Duration::ZERO,
        epoch: Duration::from_nanos(zero.0),
    };
    let mut found = read(&mut files, zero, needs, &runs, &limits)?;
    let proof = prove(
        &limits,
        terms,
        &mut found.proving,
        files.len() > 1,
        &mut notes,
    );
    // Runs that share their limits keep them together.
    let is_shared = same(files.iter().map(|file| file.run.as_ref()?.shared.clone())).is_some();
    let setup = Setup {
        slots: given
            .concurrency
            .limit()
            .map(Cost::get)
            .or_else(|| slots(&files)),
        slots_by: same(files.iter().map(|file| Some(file.run.as_ref()?.slots_by)))
            .unwrap_or_default(),
        per_host: same(files.iter().map(|file| file.run.as_ref()?.per_host)),
        runs: at_once(runs.at_once(), is_given || is_shared, &limits),
        arrivals: arrivals(&files),
        limits: limits.all,
    };
    if !is_given && !is_shared {
        notes.extend(together(&proof, &setup, runs.at_once()));
    }
    let facts = facts(&files);
    let cancelled = files.iter().map(FileOf::cancelled).sum();
    let peak = u64::try_from(most_at_once(&mut found.flights).sum).unwrap_or(u64::MAX);
    let summary = runs.summary(Found {
        tally: found.tally,
        measure: found.measure,
        peak_in_flight: peak,
        proof,
        cancelled,
    });
    let sources = Sources {
        runs: runs.0.len(),
        files: files.into_iter().map(FileOf::source).collect(),
        notes,
    };
    Ok(Report::new(summary, setup, facts).from(sources))
}

/// A file of results with what stands beside it.
struct FileOf {
    results: Results,
    run: Option<Manifest>,
    scan: Scan,
    /// Why the lines are not all of what the run has written.
    cut: Option<String>,
}

impl FileOf {
    fn open(path: &Path) -> Result<Self, Problem> {
        if let Some(results) = results_of(path) {
            let what = "tells what a run was and holds no results";
            let mend = format!("name those beside it: {}", calm_path(results));
            return Err(Problem::usage(what, mend).at(calm_path(path)));
        }
        let mut results = Results::open(path)?;
        let beside = (path.as_os_str() != "-").then(|| manifest::find(path));
        let mut run = beside.and_then(|found| {
            found.unwrap_or_else(|why| {
                let place = manifest::path_of(path);
                say(&format!(
                    "shaper: {}: does not tell what the run was: {why}: passed over",
                    calm_path(place)
                ));
                None
            })
        });
        let starts = run.as_ref().map(starts).unwrap_or_default();
        let mut scan = Scan::of(&mut results, &starts)?;
        let mut cut = None;
        match run.as_ref().map(|run| run.fits(&lines(run, &scan))) {
            None | Some(Ok(())) => {}
            Some(Err(Misfit::Cut(why))) => cut = Some(why),
            Some(Err(Misfit::Other(why))) => {
                let (beside, shown) = (calm_path(manifest::path_of(path)), calm_path(path));
                say(&format!(
                    "shaper: {beside}: is of another run than {shown}, which has {why}: passed over"
                ));
                run = None;
                scan.forget_runs();
            }
        }
        if scan.results == 0 && run.is_none() {
            let what = "has no results: there is nothing to report";
            let mend = "name a file that `shaper run -o` has written";
            return Err(Problem::usage(what, mend).at(results.shown()));
        }
        Ok(Self {
            results,
            run,
            scan,
            cut,
        })
    }

    fn limits(&self) -> Vec<Told> {
        self.run.as_ref().map(limits::of).unwrap_or_default()
    }

    /// The first moment that it tells, since the Unix epoch.
    fn zero(&self) -> Option<Tick> {
        let starts = self.run.as_ref().map(starts).unwrap_or_default();
        let first = self.scan.spans.iter().flatten().map(|span| span.0);
        first.chain(starts).min()
    }

    /// When the first run of it started; `None` where one of which nothing tells has written to it.
    fn started(&self) -> Option<Tick> {
        let untold = self.scan.spans.first().copied().flatten();
        let run = self.run.as_ref().filter(|_| untold.is_none())?;
        starts(run).into_iter().min()
    }

    /// Whether every result that the last run has told is there.
    /// The runs that have written to it. One of which nothing tells stands first, if there is any.
    fn runs(&self, zero: Tick, limits: &Limits, notes: &mut Vec<String>) -> Vec<Run> {
        let since = |at: Tick| Tick(at.0.saturating_sub(zero.0));
        let mut spans = self.scan.spans.iter();
        let untold = spans.next().copied().flatten().map(|(from, to)| Run {
            from: since(from),
            to: since(to),
            told: None,
        });
        let Some(run) = &self.run else {
            return untold.into_iter().collect();
        };
        if let Some(why) = &self.cut {
            notes.push(format!(
                "{} {why}: what the run tells of itself is left out",
                self.results.shown()
            ));
        }
        let earlier = run.earlier.iter().map(|before| {
            let cut_off = before.cut_off.unwrap_or_default();
            (before.started_us, &before.figures, cut_off, before.specs())
        });
        let ended = run.ended.as_ref();
        let last = (
            run.started_us,
            ended.map_or(&None, |ended| &ended.figures),
            ended.map_or(0, |ended| ended.cut_off),
            run.specs(),
        );
        let told = earlier.chain([last]).zip(spans);
        let told = told.map(|((started_us, figures, cut_off, own), span)| {
            let started = since(micros(started_us));
            let own = own.unwrap_or_default();
            let figures = figures.as_ref().filter(|_| self.cut.is_none());
            let (from, to) = match (figures, span) {
                (Some(figures), _) => figures.span(started),
                (None, Some((from, to))) => (since(*from), since(*to)),
                (None, None) => (started, started),
            };
            let named = |owner| limits.named(&own, owner);
            let told = figures.map(|figures| figures.told(started, cut_off, named));
            Run { from, to, told }
        });
        untold.into_iter().chain(told).collect()
    }

    /// Lines that were read and have no result.
    fn cancelled(&self) -> Option<u64> {
        let ended = self.run.as_ref()?.ended.as_ref()?;
        self.cut.is_none().then(|| ended.count("cancelled"))
    }

    fn standing(&self) -> Standing {
        let Some(run) = &self.run else {
            return Standing::Untold;
        };
        match &run.ended {
            Some(_) if self.cut.is_some() => Standing::Untold,
            Some(ended) => ended.end().map_or(Standing::Untold, Standing::Over),
            None if is_being_written(&self.results.path) => Standing::Running,
            None => Standing::CutOff,
        }
    }

    fn source(self) -> Source {
        Source {
            name: self.results.shown(),
            results: self.scan.results,
            replaced: self.scan.replaced.len() as u64,
            torn: self.scan.torn,
        }
    }
}

/// What a run file is held against.
fn lines(run: &Manifest, scan: &Scan) -> Lines {
    let unrecorded = run.all_unrecorded().flat_map(Unrecorded::events);
    Lines {
        results: scan.results,
        jobs: scan.results - scan.replaced.len() as u64,
        sends: scan.sends + unrecorded.count() as u64,
        span: scan.span(),
    }
}

/// The results that this stands beside, if it is a `FILE.run`: names with a `*` have both.
fn results_of(path: &Path) -> Option<PathBuf> {
    let results = path.to_str()?.strip_suffix(".run").map(PathBuf::from)?;
    let told = manifest::find(&results).ok().flatten();
    told.map(|_| results)
}

fn micros(us: u64) -> Tick {
    Tick(us.saturating_mul(1_000))
}

/// When its runs started, since the Unix epoch.
fn starts(run: &Manifest) -> Vec<Tick> {
    let earlier = run.earlier.iter().map(|before| before.started_us);
    earlier.chain([run.started_us]).map(micros).collect()
}

/// Everything that the lines tell, and what was sent besides.
fn read(
    files: &mut [FileOf],
    zero: Tick,
    needs: Needs,
    runs: &Runs,
    limits: &Limits,
) -> Result<Figures, Problem> {
    let tries = files.iter().map(|file| file.scan.tries).sum();
    let measure = Measure::new(runs.spans());
    let what = if limits.to_prove().is_empty() {
        Prove::Nothing
    } else {
        Prove::Limits
    };
    let mut figures = Figures::new(zero, needs, measure, tries, what);
    let keys = keys_of(limits.to_prove());
    let zero_us = zero.0 / 1_000;
    for (number, file) in files.iter_mut().enumerate() {
        let source = (number as u64) << LINE_BITS;
        figures.add(&mut file.results, &file.scan, source)?;
        let Some(run) = &file.run else {
            continue;
        };
        for left in run.all_unrecorded() {
            figures.unrecorded(left.made());
        }
        for sent in run.unrecorded(&keys).flat_map(Unrecorded::events) {
            figures.send(sent);
        }
        if let Some(owners) = &run.owners {
            let own: Vec<Spec> = run.specs().unwrap_or_default();
            let timeline: &mut Timeline = &mut figures.tally.timeline;
            owners.add_to(timeline, zero_us, |owner| limits.named(&own, owner));
        }
    }
    Ok(figures)
}

/// What is proved of the limits, or a note why nothing is.
fn prove(
    limits: &Limits,
    terms: Terms,
    proving: &mut Proving,
    several: bool,
    notes: &mut Vec<String>,
) -> Proven {
    let specs = limits.to_prove();
    let why = match proving {
        Proving::Nothing => return Proven::default(),
        Proving::Untold(why) => format!("no limit is proved: {why}"),
        Proving::Sends(events) => match hidden_key(specs, events).filter(|_| several) {
            Some(key) => format!("no limit is proved: {key} is numbered anew in each file"),
            None => return proof::prove(specs, terms, events),
        },
    };
    notes.push(why);
    Proven::default()
}

/// Why runs that were there at once have exceeded what each of them has kept.
fn together(proof: &Proven, setup: &Setup, runs: u64) -> Vec<String> {
    let exceeded = proof.limits.iter().enumerate();
    let exceeded = exceeded.filter(|(_, it)| !it.verdict.is_kept() && runs > 1);
    let each = exceeded.map(|(number, proved)| {
        let name = setup.name_of(Owner::Limit(number));
        let rate = &proved.limit.rate;
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let all = plain(rate.per_second() * runs as f64);
        format!(
            "limits are each run's own: {runs} at once with {name} make {runs} x {} = {all}/s",
            rate.shown()
        )
    });
    each.collect()
}

/// Whose the limits were. Given ones are those of all runs together.
fn at_once(runs: u64, is_given: bool, limits: &Limits) -> AtOnce {
    if runs <= 1 {
        AtOnce::One
    } else if is_given {
        AtOnce::Together(runs, limits.proved)
    } else if limits.proved == limits.all.len() {
        AtOnce::Each(runs)
    } else {
        AtOnce::Unlike(runs)
    }
}

/// The most slots that there were at once: runs that follow each other share them.
fn slots(files: &[FileOf]) -> Option<u64> {
    let each: Option<Vec<u64>> = files
        .iter()
        .map(|file| file.run.as_ref()?.most_slots())
        .collect();
    let each = each?;
    let spans = files
        .iter()
        .map(|file| file.scan.span().unwrap_or_default());
    let spans: Vec<(Tick, Tick)> = spans.collect();
    let at_once = spans.iter().map(|(at, _)| {
        let with = spans.iter().zip(&each);
        let there = with.filter(|((from, to), _)| from <= at && at < to);
        there.fold(0, |sum: u64, (_, slots)| sum.saturating_add(*slots))
    });
    at_once.chain(each.iter().copied()).max()
}

/// When jobs were due; as they could go, if files differ or one does not tell.
fn arrivals(files: &[FileOf]) -> Arrivals {
    let told = files.iter();
    let told = told.map(|file| file.run.as_ref()?.arrivals.as_deref()?.parse().ok());
    same(told).unwrap_or_default()
}

/// What all say; `None` if they differ.
fn same<T: PartialEq>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

fn facts(files: &[FileOf]) -> Facts {
    let runs = || files.iter().map(|file| file.run.as_ref());
    let mut inputs: Vec<String> = Vec::new();
    for input in runs().flatten().flat_map(|run| &run.inputs) {
        if !inputs.contains(&input.name) {
            inputs.push(input.name.clone());
        }
    }
    let refund = same(runs().map(|run| run?.refund.as_deref()?.parse::<Refund>().ok()));
    let started: Option<Vec<Tick>> = files.iter().map(FileOf::started).collect();
    let started = started.and_then(|all| all.into_iter().min());
    Facts {
        started: started.map(|Tick(nanos)| Duration::from_nanos(nanos)),
        inputs,
        seed: same(runs().map(|run| Some(run?.seed))),
        transport: same(runs().map(|run| run?.transport.clone())),
        refund: refund.unwrap_or_default(),
        end: standing(files),
    }
}

/// Of all files: what has not ended well comes first.
fn standing(files: &[FileOf]) -> Standing {
    let rank = |standing: &Standing| match standing {
        Standing::Running => 0,
        Standing::CutOff => 1,
        Standing::Untold => 2,
        Standing::Over(
            End::InputLost(_)
            | End::SinkLost(_)
            | End::StoreLost(_)
            | End::Stopped(_)
            | End::Signalled(_),
        ) => 3,
        Standing::Over(End::TimeUp) => 4,
        Standing::Over(End::Finished) => 5,
    };
    let each = files.iter().map(FileOf::standing);
    each.min_by_key(rank).unwrap_or(Standing::Untold)
}
