//! `shaper compare`: joins jobs, disciplines and the page about them. Floor 6: front.

use std::os::fd::AsFd;
use std::time::Duration;
use std::{env, io};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::time::Timespec;

use super::args::{CompareArgs, NumberArgs};
use super::input::Asked;
use super::rules::units_rule;
use super::run::{exit_of, one_thread, unheard};
use super::{beside, files, say, shorthand, show};
use crate::client;
use crate::clock::Clock;
use crate::drive::disciplines::{self, DISCIPLINES, Keep, Live, Plan, Work};
use crate::error::{Exit, Problem};
use crate::estimate::Estimator;
use crate::limit::{Spec, keys_of};
use crate::model::ModelSpec;
use crate::report::comparison::{self, Comparison, Numbers};
use crate::signals::Ears;
use crate::source::{self, Credentials, Rounds, Times, UnitsRule};
use crate::units::{Cost, counted, show_span};

/// Equal jobs, and those of them that are sent for real.
const JOBS: (u64, u64) = (1_000, 100);

/// What each of them costs of limits on units.
const TOKENS: u64 = 100;

/// The capacity of the large bucket, in periods: a bucket of several times the rate is often advised.
const BURST: u64 = 4;

/// So many bad lines and unknown fields are listed; the rest are counted.
const LISTED: usize = 20;

/// `leave` is called if it is to end and does not, from another thread.
pub(super) fn compare(
    args: &CompareArgs,
    leave: impl FnOnce(Exit) + Send + 'static,
) -> Result<Exit, Problem> {
    if !args.show.hdr.is_empty() {
        let what = "--hdr is for the report on a run";
        return Err(Problem::usage(what, "--report json has every figure"));
    }
    let read = |path| files::Taken::new(path, "the jobs are read from it");
    files::shown(&args.show, args.files.iter().map(read).collect())?;
    let plan = plan(args)?;
    if args.real.live {
        return live(args, &plan, leave);
    }
    page(args, &disciplines::compare(&plan))?;
    Ok(Exit::AllOk)
}

fn page(args: &CompareArgs, told: &Comparison) -> Result<(), Problem> {
    let beside = beside::compared(&args.show, told);
    let told = show::of_page(
        &args.show,
        |look| comparison::text(told, look),
        || comparison::json(told),
        comparison::figures_only,
    );
    told.and(beside)
}

fn plan(args: &CompareArgs) -> Result<Plan, Problem> {
    let numbers = numbers(args)?;
    let chosen = chosen(&args.numbers);
    let needs = |key: &str| args.numbers.discipline.iter().any(|own| own == key);
    if needs("tpm") && numbers.tpm.is_none() {
        let mend = "give --tpm N with it";
        return Err(Problem::usage("--discipline tpm has no number", mend));
    }
    if needs("limit") && numbers.own.is_empty() {
        let mend = "give --limit SPEC with it";
        return Err(Problem::usage("--discipline limit has no limit", mend));
    }
    let api = api(args, &numbers);
    let (work, inputs) = work(args, &numbers, &chosen, &api)?;
    let all = work.count();
    let work = work.arriving(&args.come.arrivals(), numbers.seed);
    let never = all - work.count();
    if never > 0 {
        let jobs = counted(never, "job");
        say(&format!("note: left out, as the ramp ends before: {jobs}"));
    }
    if all > 0 && work.count() == 0 {
        let what = "no job comes: the ramp ends at once";
        return Err(Problem::usage(what, "give it a rate above 0 for a while"));
    }
    Ok(Plan {
        numbers,
        chosen,
        work,
        inputs,
        api,
        latencies: args.world.latency.clone(),
    })
}

/// In the order of the table; one of the user's own is always among them.
fn chosen(args: &NumberArgs) -> Vec<&'static str> {
    let asked = |key: &str| {
        args.discipline.is_empty() || args.discipline.iter().any(|own| own == key) || key == "limit"
    };
    let keys = DISCIPLINES.iter().map(|row| row.key);
    keys.filter(|key| asked(key)).collect()
}

fn numbers(args: &CompareArgs) -> Result<Numbers, Problem> {
    let given = &args.numbers;
    let rate = given.qps.clone();
    let burst = match given.burst {
        Some(burst) => burst.of(&rate),
        None => Cost::new(rate.count.get().saturating_mul(BURST)).unwrap_or(Cost::ONE),
    };
    let mut own = given.limit.clone();
    shorthand::name_apart(&mut own)?;
    Ok(Numbers {
        slots: given.concurrency,
        window: given.window.clone().unwrap_or_else(|| rate.clone()),
        burst,
        tpm: given.tpm.or_else(|| {
            let half = rate.per_second() * 60.0 * 100.0 / 2.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float saturates; rates are never negative"
            )]
            let half = (half as u64).max(TOKENS);
            args.files.is_empty().then(|| Cost::new(half)).flatten()
        }),
        own,
        rate,
        seed: args.world.seed,
    })
}

/// What it says of itself, and the rest as usual.
fn api(args: &CompareArgs, numbers: &Numbers) -> ModelSpec {
    let given = args.world.api.as_ref();
    let says = |word: &str| given.is_some_and(|given| given.says(word));
    let mut spec = given.map(|given| given.spec.clone()).unwrap_or_default();
    if !says("latency")
        && let Some(first) = args.world.latency.first()
    {
        spec.latency = *first;
    }
    if !says("limit") {
        spec.limits = vec![Spec::window("api", numbers.rate.clone())];
    }
    spec
}

fn work(
    args: &CompareArgs,
    numbers: &Numbers,
    chosen: &[&str],
    api: &ModelSpec,
) -> Result<(Work, Vec<String>), Problem> {
    if args.files.is_empty() {
        let (usual, for_real) = JOBS;
        let count = if args.real.live { for_real } else { usual };
        let count = args.numbers.count.map_or(count, Cost::get);
        if args.numbers.count.is_none() && holds_something(io::stdin()) {
            say("standard input is not read, and equal jobs are compared: - as JOBS reads it");
        }
        return Ok((Work::equal(count, TOKENS), Vec::new()));
    }
    let estimate = Estimator::default();
    let units = if numbers.tpm.is_some() && chosen.contains(&"tpm") {
        UnitsRule::Reserve(estimate)
    } else {
        units_rule(estimate, false, numbers.own.iter().chain(&api.limits))
    };
    let asked = Asked {
        files: &args.files,
        input: &args.input,
        job: &args.job,
        units,
        once: None,
        run: 0,
        per: keys_of(&numbers.own),
        credentials: Credentials::Numbered,
        times: Times::Read,
        retry_unsafe: None,
        repeat: Rounds::default(),
    };
    let mut spec = asked.spec()?;
    if args.input.strict {
        spec = source::check_strict(spec)?;
    }
    let keep = if args.real.live {
        Keep::Whole
    } else {
        Keep::Bare
    };
    let mut more = 0;
    let mut listed = 0;
    let mut told = |text: String| {
        if listed < LISTED {
            listed += 1;
            say(&text);
        } else {
            more += 1;
        }
    };
    let work = Work::read(&spec, keep, &mut told);
    if more > 0 {
        say(&format!("and {more} more"));
    }
    let work = work?;
    if work.count() == 0 && work.invalid > 0 {
        let what = format!("no line makes a job, {} are invalid", work.invalid);
        return Err(Problem::usage(what, "mend these lines"));
    }
    if work.count() == 0 && !args.input.allow_empty {
        return Err(source::empty(&spec.inputs, work.left.as_deref()));
    }
    if let Some(left) = &work.left {
        say(&format!("note: left {left}"));
    }
    let names = spec.inputs.iter().map(source::Input::name).collect();
    Ok((work, names))
}

fn live(
    args: &CompareArgs,
    plan: &Plan,
    leave: impl FnOnce(Exit) + Send + 'static,
) -> Result<Exit, Problem> {
    let live = if args.files.is_empty() || args.world.api.is_some() {
        Live::Mock
    } else {
        Live::Servers
    };
    if let Some(why) = plan.refused(live) {
        let mend = match live {
            Live::Servers if plan.chosen.contains(&"storm") => {
                "leave out --live, or model the API with --api SPEC"
            }
            Live::Servers | Live::Mock => "leave out --live, or name another --discipline",
        };
        return Err(Problem::usage(why, mend));
    }
    let announced = announced(plan, live);
    if !args.real.yes {
        return Err(Problem::usage(
            format!("{announced}; nothing was sent"),
            "say --yes to send them",
        ));
    }
    say(&announced);
    client::raise_file_limit();
    let ears = Ears::open(say, |signal| leave(exit_of(signal))).map_err(|why| unheard(&why))?;
    let runtime = one_thread()?;
    let signals = ears
        .listen(Clock::start(), None)
        .map_err(|why| unheard(&why))?;
    let carriage = args.real.transport.spec(|name| env::var(name).ok())?;
    if live == Live::Servers {
        for note in args.real.transport.notes(&carriage) {
            say(&note);
        }
    }
    let seen = runtime.block_on(plan.live(live, &carriage, signals, &mut say));
    runtime.shutdown_background();
    let seen = seen?;
    page(args, &seen)?;
    if let Some(signal) = seen.cut {
        return Ok(exit_of(signal));
    }
    Ok(match seen.unanswered() {
        None => Exit::AllOk,
        Some(what) => {
            say(&format!("{what}\n  mend: {}", to_be_answered(live)));
            Exit::SomeFailed
        }
    })
}

/// Whether a file that is not empty, or a pipe with something in it, stands there.
fn holds_something(input: impl AsFd) -> bool {
    let Ok(about) = fstat(&input) else {
        return false;
    };
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => about.st_size > 0,
        FileType::Fifo => {
            let mut pipe = [PollFd::new(&input, PollFlags::IN)];
            let at_once = Timespec::default();
            poll(&mut pipe, Some(&at_once)).is_ok() && pipe[0].revents().contains(PollFlags::IN)
        }
        _ => false,
    }
}

/// What helps where nobody answers.
fn to_be_answered(live: Live) -> &'static str {
    match live {
        Live::Servers => {
            "start the server, or compare in front of a modelled API: without --live, or with --api"
        }
        Live::Mock => "free ports and file descriptors: the modelled API is in this process",
    }
}

/// What would be sent, to whom, and for how long.
fn announced(plan: &Plan, live: Live) -> String {
    let rows = plan.done(live);
    let (count, jobs) = (rows.len() as u64, plan.work.count());
    let requests = count.saturating_mul(jobs);
    let to = match live {
        Live::Mock => "the modelled API in this process".to_owned(),
        Live::Servers => match plan.work.servers().as_slice() {
            [only] => only.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => "nobody".to_owned(),
        },
    };
    let again = ["storm", "retry"];
    let again: Vec<&str> = again
        .into_iter()
        .filter(|key| rows.iter().any(|row| row.key == *key))
        .collect();
    let again = if again.is_empty() {
        String::new()
    } else {
        format!(", and up to 4 retries of each in {}", again.join(" and "))
    };
    let takes = match plan.takes(live).as_secs() {
        seconds @ 0..120 => format!("{} s", seconds.max(1)),
        seconds => show_span(Duration::from_secs(seconds)),
    };
    format!(
        "{} x {} = {} to {to}{again}; about {takes}",
        counted(count, "discipline"),
        counted(jobs, "job"),
        counted(requests, "request")
    )
}
