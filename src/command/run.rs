//! `shaper run`: joins input, limits, client, results and report. Floor 6: front.

use std::env;
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{fstat, stat};
use tokio::runtime::{self, Runtime};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::args::{OutputArgs, RunArgs};
use super::input::{Asked, Input};
use super::kept::{self, Kept};
use super::resume::Resumed;
use super::rules::units_rule;
use super::values::{Bound, ProgressKind};
use super::{files, resume, say, show, tell};
use crate::client::{self, Client, ClientSpec, Ends, Room, Via};
use crate::clock::Clock;
use crate::drive::live::{LEAD, Live, Notes, SLACK};
use crate::endpoint::{self, About, Ask, Endpoint};
use crate::engine::share::{Common, OnLoss, Word};
use crate::engine::{End, Event, Rules, Signal};
use crate::error::{Exit, Problem};
use crate::letters::calm_path;
use crate::limit::{Spec, all_keys};
use crate::metrics::{Setup, SlotsBy, Summary};
use crate::mock::{self, Mock};
use crate::progress::{Mode, Progress};
use crate::redirect::Follow;
use crate::report::limits::{self, INDENT};
use crate::report::{Facts, Report, Standing};
use crate::signals::Ears;
use crate::sink::{Existing, Form, Inputs, SinkSpec, Target, Tell};
use crate::source::{self, Credentials, Reader, Total};
use crate::store::{Shared, Store};
use crate::terminal::Columns;
use crate::units::{Cost, nanos};
use crate::usage::UsageRule;

/// `leave` is called if the run is to end and does not, from another thread.
pub(super) fn run(
    args: &RunArgs,
    leave: impl FnOnce(Exit) + Send + 'static,
) -> Result<Exit, Problem> {
    client::raise_file_limit();
    let clock = Clock::start();
    let ears = Ears::open(say, |signal| leave(exit_of(signal))).map_err(|why| unheard(&why))?;
    let limits = args.rules.specs()?;
    let arrivals = args.rules.arrivals()?;
    let address = args.share.address(&args.rules, &limits)?;
    files::check(&args.jobs, &args.output)?;
    // No proxy stands before the mock, whatever the environment names.
    let variable = |name: &str| env::var(name).ok().filter(|_| args.http.mock.is_none());
    let carriage = args.http.transport.spec(variable)?;
    let sink = sink_spec(args, &clock, &limits)?;
    sink.check()?;
    kept::check(&sink)?;
    let setting = args.rules.setting(&limits, clock.epoch())?;
    let mut resumed = resume::open(args, &sink, &limits, &setting, &clock)?;
    let run = known_by(resumed.as_ref(), &clock);
    let asked = Asked {
        once: args.http.idempotency_key.then_some(run),
        run,
        files: &args.jobs,
        input: &args.input,
        job: &args.http.job,
        units: units_rule(
            args.rules.units.estimate,
            args.rules.retry.adaptive,
            &limits,
        ),
        per: args.rules.keys(&limits),
        credentials: match &address {
            Some(_) => Credentials::Hashed,
            None => Credentials::Numbered,
        },
        retry_unsafe: args.rules.retry.retry_unsafe,
        times: args.rules.times(),
        repeat: args.rules.shape.repeat,
    };
    let mut input = asked.open(Some(&ears))?;
    if let Some(resumed) = &mut resumed {
        resumed.check(&input.spec)?;
    }
    // Where there is nothing to send, nothing is shared.
    let address = address.filter(|_| !input.is_empty());
    let sharing = address.map(|_| args.share.sharing(input.first()));
    let sharing = sharing.transpose()?;
    let seed = args.rules.retry.seed.unwrap_or_else(|| clock.seed());
    let mock = args
        .http
        .mock
        .clone()
        .map(|spec| mock::serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), spec, seed, None));
    let mock = mock.transpose()?;
    let mut rules = Rules {
        sharing,
        ..live_rules(args, args.rules.rules(limits, arrivals, setting, seed))
    };
    let room = room(args, mock.as_ref());
    if let Some(warning) = cut(&mut rules, room)?
        && !args.output.quiet
    {
        say(&warning);
    }
    if mock.is_none() && !args.output.quiet {
        for note in args.http.transport.notes(&carriage) {
            say(&note);
        }
    }
    let setup = rules.setup();
    let (endpoint, asks) = endpoint(args, &clock, &setup)?;
    if !args.output.quiet {
        let lines = start_lines(&setup, &sink.target, mock.as_ref(), endpoint.as_ref());
        say(&lines);
    }
    let names: Vec<_> = input.spec.inputs.iter().map(source::Input::name).collect();
    let mut kept = Kept::new(sink, args, &setup, &names, &clock, seed);
    kept.shares(args.share.kept(rules.sharing.as_ref()));
    if let Some(resumed) = resumed {
        let text = resumed.text(Columns::of(&io::stderr()));
        let onward = resumed.mend()?;
        if !args.output.quiet {
            say(&text);
        }
        kept.go_on(onward.before, onward.owners, onward.file);
        rules.seam = onward.seam;
        input.resume = Some(onward.resume);
    }
    let kept_open = connections_kept(&rules, room);
    let client = client(args, carriage, &setup, mock.as_ref(), kept_open)?;
    let outside = Outside { ears, asks };
    let carried = client.carried();
    let (summary, end) = go(args, clock, rules, input, &mut kept, client, outside)?;
    drop(endpoint);
    let facts = Facts {
        started: Some(clock.epoch()),
        inputs: names,
        seed: Some(seed),
        transport: carried.word().map(ToOwned::to_owned),
        refund: args.rules.units.refund,
        end: Standing::Over(end.clone()),
    };
    let report = Report::new(summary, setup, facts);
    let report = report.judged(&args.conditions.fail_if);
    close(args, kept, &report, &end)
}

/// These rules outside of virtual time.
fn live_rules(args: &RunArgs, rules: Rules) -> Rules {
    Rules {
        slack: SLACK,
        lead: Some(LEAD),
        order: args.output.order,
        follow: if args.http.follow {
            Follow::Redirects
        } else {
            Follow::Nothing
        },
        stop_if: args.stop.rules(),
        grace: args.output.grace.as_ref().and_then(Bound::limit),
        ..rules
    }
}

/// Tells what became of a run that is over, beside its results and to the user.
fn close(args: &RunArgs, kept: Kept, told: &Report, end: &End) -> Result<Exit, Problem> {
    let results = kept.sink.target.clone();
    // Results that are lost have been told, and their place may be another's by now.
    let written = match end {
        End::SinkLost(_) => Ok(()),
        End::InputLost(_)
        | End::Finished
        | End::TimeUp
        | End::StoreLost(_)
        | End::Stopped(_)
        | End::Signalled(_) => kept.close(told),
    };
    let reported = show::of_run(&args.output, told);
    match end {
        End::InputLost(problem) | End::SinkLost(problem) | End::StoreLost(problem) => {
            tell(problem);
        }
        End::Stopped(stopped) => tell(&show::stopped(stopped, &results)),
        End::Finished | End::TimeUp | End::Signalled(_) => {}
    }
    show::true_conditions(told);
    reported.and(written).map(|()| exit(told, end))
}

/// The runtime in which a run is one thread.
pub(super) fn one_thread() -> Result<Runtime, Problem> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|why| {
        let what = format!("no timers or sockets: {why}");
        Problem::usage(what, "free file descriptors")
    })
}

pub(super) fn unheard(why: &io::Error) -> Problem {
    let what = format!("signals cannot be heard: {why}");
    Problem::usage(what, "free file descriptors and processes (ulimit -n, -u)")
}

fn sink_spec(args: &RunArgs, clock: &Clock, limits: &[Spec]) -> Result<SinkSpec, Problem> {
    let is_stdout = |path: &Path| path.as_os_str() == "-";
    let target = match &args.output.output {
        Some(path) if is_stdout(path) => Target::Stdout,
        Some(path) => Target::File(path.clone()),
        None if io::stdout().is_terminal() || stdout_is_null() => Target::Nowhere,
        None => Target::Stdout,
    };
    let report_on_stdout = args
        .output
        .show
        .report_file
        .as_deref()
        .is_some_and(is_stdout);
    if report_on_stdout && !matches!(target, Target::File(_)) {
        return Err(Problem::usage(
            "--report-file - puts the report on stdout, and the results have no file",
            "name one: -o FILE",
        ));
    }
    Ok(SinkSpec {
        target,
        existing: match (args.output.overwrite, args.resume.resume) {
            (true, _) => Existing::Overwrite,
            (false, true) => Existing::Continue,
            (false, false) => Existing::Refuse,
        },
        fsync: args.output.fsync,
        form: Form {
            format: args.output.output_format,
            epoch: clock.epoch(),
            body: args.output.body,
            headers: args.output.headers,
            inputs: if args.jobs.len() > 1 {
                Inputs::Several
            } else {
                Inputs::One
            },
            units: Tell::Total,
            keys: Vec::new(),
        }
        .for_limits(limits),
    })
}

/// Whether standard output is the null device; the library puts that in the place of one that was closed.
fn stdout_is_null() -> bool {
    let stdout = fstat(io::stdout()).map(|there| there.st_rdev);
    let null = stat("/dev/null").map(|there| there.st_rdev);
    stdout.is_ok_and(|stdout| stdout != 0 && null.is_ok_and(|null| null == stdout))
}

/// What the open files allow; `None`: any number of connections.
fn room(args: &RunArgs, mock: Option<&Mock>) -> Option<Room> {
    let room = Room::now(mock.map_or(Ends::Ours, |_| Ends::Both))?;
    let others = args.output.metrics.map_or(0, |_| endpoint::FILES);
    Some(room.beside(others))
}

/// Who may look at the figures while the run goes, and what is asked there: without an address, nothing.
fn endpoint(
    args: &RunArgs,
    clock: &Clock,
    setup: &Setup,
) -> Result<(Option<Endpoint>, UnboundedReceiver<Ask>), Problem> {
    let Some(listen) = args.output.metrics else {
        return Ok((None, mpsc::unbounded_channel().1));
    };
    let about = About {
        setup: setup.clone(),
        started: clock.epoch(),
    };
    let (endpoint, asks) = endpoint::serve(listen, *clock, about)?;
    Ok((Some(endpoint), asks))
}

/// Cuts the slots to what the open files allow, and says so. A problem if that is none.
///
/// Without a limit of slots more of them than there are ports of one address count as any number.
fn cut(rules: &mut Rules, room: Option<Room>) -> Result<Option<String>, Problem> {
    let Some(room) = room else {
        return Ok(None);
    };
    let (files, most) = (room.files, room.slots());
    let mend = match rules.slots {
        Some(slots) => format!(
            "allow more open files (ulimit -n {}), or lower --concurrency",
            room.files_for(slots.get())
        ),
        // Nobody could say how many are enough.
        None => "allow more open files (ulimit -n), or give --concurrency a number".to_owned(),
    };
    let Some(fits) = Cost::new(most) else {
        let what = format!("{files} open files are too few for a single connection");
        return Err(Problem::usage(what, mend));
    };
    let asked = match rules.slots {
        Some(slots) if slots <= fits => return Ok(None),
        None if most >= PORTS => return Ok(None),
        Some(slots) => slots.get().to_string(),
        None => {
            rules.slots_by = SlotsBy::Files;
            "none".to_owned()
        }
    };
    rules.slots = Some(fits);
    Ok(Some(format!(
        "warning: {files} open files (ulimit -n) are too few for all slots: -c {asked} is cut to {most}\n  mend: {mend}"
    )))
}

/// How many connections may stay open beside those of all slots.
fn connections_kept(rules: &Rules, room: Option<Room>) -> usize {
    let kept = room.map(|room| room.kept(rules.slots.map_or(room.slots(), Cost::get)));
    let kept = kept.and_then(|kept| usize::try_from(kept).ok());
    kept.unwrap_or(usize::MAX)
}

/// Of one address, from 0 on.
const PORTS: u64 = 1 << 16;

/// Who may speak to a run.
struct Outside {
    ears: Ears,
    asks: UnboundedReceiver<Ask>,
}

/// The run itself, on one thread beside those of reader, writer and signals.
fn go(
    args: &RunArgs,
    clock: Clock,
    rules: Rules,
    input: Input,
    kept: &mut Kept,
    client: Client,
    outside: Outside,
) -> Result<(Summary, End), Problem> {
    let runtime = one_thread()?;
    let (tell, events) = mpsc::unbounded_channel();
    let store = runtime.block_on(store(args, &rules, clock, &tell))?;
    let inside = runtime.enter();
    let setup = rules.setup();
    let live = Live {
        clock,
        client,
        reader: Reader::spawn(input.source, input.resume, move || clock.now())?,
        sink: kept.open(clock, tell)?,
        store,
        events,
        // A named pipe may have waited for its reader until here, and signals end what waits.
        signals: outside
            .ears
            .listen(clock, rules.grace)
            .map_err(|why| unheard(&why))?,
        asks: outside.asks,
        total: Total::of(input.spec),
        progress: Progress::new(progress_mode(&args.output), setup),
        notes: match (args.output.quiet, args.output.verbose) {
            (true, _) => Notes::None,
            (false, 0) => Notes::First,
            (false, _) => Notes::All,
        },
    };
    drop(inside);
    let ended = runtime.block_on(live.run(rules));
    // The look-up of a name can take longer than its try, and nobody waits for it any more.
    runtime.shutdown_background();
    ended
}

/// Where limits are kept that others share. Needed and not there, it is a problem; where the run goes on without it,
/// that is told as later in a run.
async fn store(
    args: &RunArgs,
    rules: &Rules,
    clock: Clock,
    tell: &UnboundedSender<Event>,
) -> Result<Option<Store>, Problem> {
    let address = args.share.address(&args.rules, &rules.limits)?;
    let (Some(sharing), Some(address)) = (&rules.sharing, address) else {
        return Ok(None);
    };
    let limits = rules.limits.iter().cloned().enumerate();
    let longest = rules.timeout.min(LONGEST_TRY);
    let connects = args.http.connect_timeout.limit();
    let shared = Shared {
        name: args.share.name(sharing),
        limits: limits
            .map(|(number, spec)| (Common::Limit(number), spec))
            .collect(),
        setting: rules.setting,
        slots: sharing.slots,
        learnt_per: rules
            .adaptive
            .then(|| all_keys(&rules.limits, rules.learnt_per.as_ref())),
        slack: rules.slack,
        sends: connects.map_or(longest, |connects| connects.min(longest)),
        hold: longest,
        timeout: args.share.store_timeout,
    };
    let says = |tell: UnboundedSender<Event>| {
        // Nobody hears it when the run is over.
        move |word, at| drop(tell.send(Event::Store(word, at)))
    };
    let joined = Store::join(&address, &shared, TO_JOIN, clock, says(tell.clone())).await;
    match (joined, sharing.on_loss) {
        (Ok(store), _) => {
            if let Some(caution) = store.caution().filter(|_| !args.output.quiet) {
                say(&format!("warning: {caution}"));
            }
            Ok(Some(store))
        }
        (Err(problem), OnLoss::Local | OnLoss::Open) if problem.exit == Exit::Store => {
            says(tell.clone())(Word::Away(problem, clock.now()), clock.now());
            Store::join_later(&address, &shared, clock, says(tell.clone())).map(Some)
        }
        (Err(problem), _) => Err(problem),
    }
}

/// So long a store has at the start of a run.
const TO_JOIN: Duration = Duration::from_secs(3);

/// A try that may take for ever is on its way for so long, for those who share its limits.
const LONGEST_TRY: Duration = Duration::from_secs(3600);

/// What sends the requests, and keeps so many connections open beside those of all slots.
fn client(
    args: &RunArgs,
    carriage: ClientSpec,
    setup: &Setup,
    mock: Option<&Mock>,
    kept: usize,
) -> Result<Client, Problem> {
    Client::new(ClientSpec {
        connect_timeout: args.http.connect_timeout.limit(),
        read_timeout: args.http.read_timeout.as_ref().and_then(Bound::limit),
        max_body: args.http.max_body,
        usage: usage(args, &setup.limits),
        fault: args.http.retry_if_json.clone(),
        via: mock.map_or(Via::Direct, |mock| Via::Mock(mock.address())),
        kept,
        ..carriage
    })
}

/// Where answers say what they used, where a limit counts that.
fn usage(args: &RunArgs, limits: &[Spec]) -> UsageRule {
    match &args.http.usage {
        _ if !limits.iter().any(|limit| limit.counts.is_units()) => UsageRule::Ignored,
        Some(at) => UsageRule::At(at.clone()),
        None => UsageRule::Found,
    }
}

fn progress_mode(output: &OutputArgs) -> Mode {
    match output.progress {
        _ if output.quiet => Mode::None,
        ProgressKind::Auto => Mode::Auto,
        ProgressKind::Bar => Mode::Bar,
        ProgressKind::Plain => Mode::Plain,
        ProgressKind::None => Mode::None,
    }
}

/// The limits in force, the most that they let through, and where the results go.
fn start_lines(
    setup: &Setup,
    target: &Target,
    mock: Option<&Mock>,
    endpoint: Option<&Endpoint>,
) -> String {
    let columns = Columns::of(&io::stderr());
    let results = match target {
        Target::File(path) => format!("to {}", calm_path(path)),
        Target::Stdout => "to stdout".to_owned(),
        Target::Nowhere if io::stdout().is_terminal() => {
            "counted and not kept (-o FILE keeps them)".to_owned()
        }
        Target::Nowhere => {
            "counted and not kept: stdout is closed, or /dev/null (-o FILE keeps them)".to_owned()
        }
    };
    let api = mock.map(|mock| format!("requests go to the modelled API at {}", mock.address()));
    let mut results: Vec<_> = [Some(results), api].into_iter().flatten().collect();
    let whole = results.join("; ");
    if INDENT + whole.chars().count() < columns.get() {
        results = vec![whole];
    }
    let limits = limits::listed("LIMITS", &limits::in_force(setup, SLACK), columns);
    let metrics = endpoint.map_or(String::new(), |endpoint| {
        format!("\nMETRICS     http://{}/metrics", endpoint.address())
    });
    let results = limits::listed("RESULTS", &results, columns);
    let schedule = limits::schedule(setup).map_or(String::new(), |text| {
        let text = limits::listed("SCHEDULE", &[text], columns);
        format!("{text}\n")
    });
    format!("{schedule}{limits}\n{results}{metrics}")
}

/// With conditions these alone say what failed jobs mean. A run that ended before its time stays what it is, unless
/// one is true.
fn exit(report: &Report, end: &End) -> Exit {
    let counts = &report.summary.tally.counts;
    let ended = match end {
        End::SinkLost(problem) | End::InputLost(problem) | End::StoreLost(problem) => problem.exit,
        End::Signalled(signal) => exit_of(*signal),
        End::Stopped(_) => Exit::SomeFailed,
        End::Finished | End::TimeUp if !report.conditions.is_empty() => Exit::AllOk,
        End::Finished | End::TimeUp if counts.failed + counts.invalid > 0 => Exit::SomeFailed,
        End::Finished | End::TimeUp => Exit::AllOk,
    };
    match ended {
        Exit::AllOk | Exit::SomeFailed if report.conditions.iter().any(|it| it.is_true) => {
            Exit::ConditionTrue
        }
        Exit::AllOk
        | Exit::SomeFailed
        | Exit::Usage
        | Exit::Unwritten
        | Exit::Store
        | Exit::ConditionTrue
        | Exit::Interrupted
        | Exit::Terminated
        | Exit::PipeClosed => ended,
    }
}

pub(super) fn exit_of(signal: Signal) -> Exit {
    match signal {
        Signal::Interrupt => Exit::Interrupted,
        Signal::Terminate => Exit::Terminated,
    }
}

/// What names of a run's jobs are made of: when it first began, in microseconds since the Unix epoch.
fn known_by(resumed: Option<&Resumed>, clock: &Clock) -> u64 {
    let begun = resumed.and_then(Resumed::begun_us);
    begun.unwrap_or(nanos(clock.epoch()) / 1_000)
}
