//! `shaper plan`: the same jobs under the same rules in virtual time. Floor 6: front.

use std::io::{self, IsTerminal};
use std::time::Duration;

use http::StatusCode;

use super::args::{ApiArgs, PlanArgs};
use super::files::{self, Taken};
use super::input::{Asked, Input};
use super::rules::units_rule;
use super::{say, show};
use crate::clock::Clock;
use crate::drive::forecast::{self, Planned, Terms};
use crate::drive::what_if;
use crate::engine::Rules;
use crate::error::{Exit, Problem};
use crate::letters::calm_path;
use crate::metrics::diagnose::Diagnosis;
use crate::metrics::littles::Theory;
use crate::metrics::{Owner, Setup};
use crate::model::{ModelSpec, Observed};
use crate::progress::{Mode, Progress, Snapshot};
use crate::report::forecast::{self as report, Api, Forecast, Said};
use crate::results;
use crate::source::{self, Batches, Credentials, Rounds, UnitsRule};
use crate::units::show_span;

pub(super) fn plan(args: &PlanArgs) -> Result<Exit, Problem> {
    if args.show.html.is_some() || !args.show.hdr.is_empty() {
        let what = "--html and --hdr are for the report on a run";
        return Err(Problem::usage(what, "--report json has every figure"));
    }
    let clock = Clock::start();
    let read = |path| Taken::new(path, "the jobs are read from it");
    files::shown(&args.show, args.jobs.iter().map(read).collect())?;
    let limits = args.rules.specs()?;
    let arrivals = args.rules.arrivals()?;
    let has_end = args.rules.shape.time.is_some()
        || args.input.limit_jobs.is_some()
        || arrivals.end().is_some();
    if args.rules.shape.repeat == Rounds::Forever && !has_end {
        let what = "--repeat forever has no end, and nobody could wait for the plan";
        return Err(Problem::usage(
            what,
            "say until when: --for 1h, -n 10000 or a --ramp that ends at 0",
        ));
    }
    let setting = args.rules.setting(&limits, Duration::ZERO)?;
    let (api, observed, told) = asked_api(&args.api)?;
    let estimate = args.rules.units.estimate;
    let counted = units_rule(
        estimate,
        args.rules.retry.adaptive,
        limits.iter().chain(&api.limits),
    );
    let asked = Asked {
        files: &args.jobs,
        input: &args.input,
        job: &args.job,
        units: match counted {
            UnitsRule::Ignored if args.api.price.is_some() => UnitsRule::Price(estimate),
            counted => counted,
        },
        once: None,
        run: 0,
        per: args.rules.keys(&limits),
        credentials: Credentials::Numbered,
        retry_unsafe: args.rules.retry.retry_unsafe,
        times: args.rules.times(),
        repeat: args.rules.shape.repeat,
    };
    let input = asked.open(None)?;
    let seed = args.rules.retry.seed.unwrap_or(0);
    let terms = Terms {
        rules: Rules {
            order: args.api.order,
            ..args.rules.rules(limits, arrivals, setting, seed)
        },
        api,
        observed,
        seed,
        sample: what_if::SAMPLE,
    };
    let names = input.spec.inputs.iter().map(source::Input::name).collect();
    let planned = planned(args, clock, &terms, input)?;
    if planned.summary.tally.tries >= MANY && !args.quiet {
        say("planned; now the same with other bounds");
    }
    let what_if = what_if::what_if(&terms, &planned.drawn, &planned.summary);
    let setup = terms.rules.setup();
    let theory = Theory::of(&setup, &planned.summary);
    let told = Forecast {
        diagnosis: Diagnosis::of(&planned.summary, &setup, &theory),
        summary: planned.summary,
        setup,
        api: told,
        timeout: terms.rules.timeout,
        inputs: names,
        seed,
        never_fit: planned.never_fit,
        invalid: planned.invalid,
        origins: planned.origins,
        other_origins: planned.other_origins,
        guard: planned.guard,
        price: args.api.price.clone(),
        what_if,
    };
    // Who reads it on a screen reads it now; elsewhere the same seed prints the same.
    let now = io::stdout().is_terminal().then(|| clock.wall());
    show::of_page(
        &args.show,
        |look| report::text(&told, now, look),
        || report::json(&told),
        |object| object,
    )?;
    let counts = &told.summary.tally.counts;
    let none = counts.ok == 0 && counts.failed + counts.invalid > 0;
    Ok(if told.never_fit.count > 0 || none {
        Exit::SomeFailed
    } else {
        Exit::AllOk
    })
}

/// The API, the latencies that were measured of it, and both in words.
fn asked_api(args: &ApiArgs) -> Result<(ModelSpec, Option<Observed>, Api), Problem> {
    let said = Said::ByOption;
    if let Some(path) = &args.latency_from {
        let service = results::service(path)?;
        let observed = Observed::of(&service.ok);
        let quantile = |quantile| service.ok.quantile(quantile).unwrap_or_default();
        let left_out = match service.left_out {
            0 => String::new(),
            tries => format!("; {tries} tries that were no `ok` answer are left out"),
        };
        let answers = format!(
            "answers as the {} of {}: p50 {}, p99 {}{left_out}",
            service.ok.count(),
            calm_path(path),
            show_span(quantile(0.5)),
            show_span(quantile(0.99)),
        );
        let told = Api {
            answers,
            said,
            median: quantile(0.5),
        };
        return Ok((ModelSpec::default(), observed, told));
    }
    let given = args.api.as_ref();
    let mut api = given.map(|given| given.spec.clone()).unwrap_or_default();
    api.latency = args.latency.unwrap_or(api.latency);
    let is_said = args.latency.is_some() || given.is_some_and(|given| given.says("latency"));
    let said = if is_said { said } else { Said::ByNobody };
    let answers = format!("modelled: {api}");
    let median = api.latency.median();
    let told = Api {
        answers,
        said,
        median,
    };
    Ok((api, None, told))
}

/// So many steps are taken between two looks at the clock: each takes about a microsecond.
const STEPS: u32 = 4096;

/// After a plan of so many tries its what-if takes seconds.
const MANY: u64 = 500_000;

/// Reads all lines and runs them; stderr is told meanwhile how far it has come.
fn planned(args: &PlanArgs, clock: Clock, terms: &Terms, input: Input) -> Result<Planned, Problem> {
    let mut lines = Batches::spawn(input.source)?;
    let shown = !args.quiet;
    let mode = if shown { Mode::Auto } else { Mode::None };
    // The pace is that of this machine: no limit of the run is set beside it.
    let setup = Setup {
        limits: Vec::new(),
        ..terms.rules.setup()
    };
    let mut progress = Progress::new(mode, setup);
    let mut steps = 0;
    let planned = forecast::plan(terms, &mut lines, |_, engine| {
        steps += 1;
        if shown && steps >= STEPS {
            steps = 0;
            let (in_flight, waiting) = engine.load();
            let snapshot = Snapshot {
                counts: engine.counts(),
                total: None,
                in_flight: in_flight as u64,
                waiting,
                refused: engine.answers(StatusCode::TOO_MANY_REQUESTS),
                binds: Owner::Nothing,
                until: None,
                left: None,
            };
            progress.update(clock.now(), &snapshot);
        }
    });
    progress.finish();
    for notice in lines.notices() {
        if !args.quiet {
            say(&notice);
        }
    }
    match lines.problem() {
        // Nothing was sent, wherever reading broke.
        Some(problem) => Err(Problem {
            exit: Exit::Usage,
            ..problem
        }),
        None => Ok(planned),
    }
}
