//! The live driver: sockets, files, signals and timers around the engine. Floor 5: drive.

use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::mpsc::UnboundedReceiver;

use super::loss::Loss;
use super::mends::{mended, mended_try};
use crate::client::Client;
use crate::clock::{Alarm, Clock};
use crate::endpoint::Ask;
use crate::engine::{Action, End, Engine, Event, Rules, Signal};
use crate::error::{Exit, Problem};
use crate::metrics::{Owner, Summary};
use crate::outcome::{FailureKind, Outcome, Status};
use crate::progress::{Progress, Snapshot};
use crate::signals::Heard;
use crate::sink::Sink;
use crate::source::{Line, Reader, Total};
use crate::store::Store;
use crate::units::{Tick, show_span};

/// A late wake-up within this costs no rate. Timers ring 0.1 ms late, but a busy machine holds a program
/// up for one or two milliseconds now and then (`cargo bench --bench pacing` prints it).
pub const SLACK: Duration = Duration::from_millis(2);

/// So long before a job may go its connection is opened: long enough for name, TCP and TLS around the world, and shorter
/// than servers commonly keep what waits.
pub const LEAD: Duration = Duration::from_secs(1);

/// The doors of a run.
pub struct Live {
    /// The time.
    pub clock: Clock,
    /// Where tries go.
    pub client: Client,
    /// Where lines come from.
    pub reader: Reader,
    /// Where results go.
    pub sink: Sink,
    /// Where limits are kept that others share.
    pub store: Option<Store>,
    /// What threads of the sink, and the store, tell.
    pub events: UnboundedReceiver<Event>,
    /// What signals say.
    pub signals: UnboundedReceiver<Heard>,
    /// Who wants to see the figures.
    pub asks: UnboundedReceiver<Ask>,
    /// The lines of the input: counted when somebody is shown how far the run is.
    pub total: Total,
    /// What the user sees meanwhile.
    pub progress: Progress,
    /// What is said beside it.
    pub notes: Notes,
}

/// How much is said while a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notes {
    /// Nothing.
    None,
    /// Warnings, and the first failure of each kind.
    First,
    /// Every job that is not `ok`, too.
    All,
}

/// What the loop waited for.
enum Woken {
    Tries,
    Event(Event),
    Line(Option<Line>),
    Heard(Heard),
    Asked(Ask),
    Time,
}

struct Run {
    live: Live,
    /// Apart, as it is by far the largest part and this is moved into futures.
    engine: Box<Engine>,
    /// When what is told now had happened at the latest: the clock is read for all of a kind at once.
    now: Tick,
    /// What tries and sink have told, until the engine is told; its memory is used again.
    told: Vec<Event>,
    /// What the engine asks for, until it is carried out; likewise.
    actions: Vec<Action>,
    /// Lines asked for and not yet here.
    asked: usize,
    reading: bool,
    end: Option<End>,
    /// That it ends is told.
    draining: bool,
    /// So is the rule that has ended it.
    stop_told: bool,
    grace: Option<Duration>,
    on_loss: Loss,
    failures: BTreeSet<FailureKind>,
    /// Somebody wants to know how far it is, and is told at this moment at the latest.
    tell_by: Option<Tick>,
}

/// While a write takes so long, nobody is heard and nothing is shown.
const HUNG: Duration = Duration::from_millis(20);

/// So long the answer to who asks waits for the count of the lines: a gigabyte takes longer.
const COUNT: Duration = Duration::from_millis(200);

/// After a second signal the writer has so long for what was handed over.
const LAST_LINES: Duration = Duration::from_millis(300);

impl Live {
    /// Runs until the engine says that it is over, and closes the results.
    ///
    /// The problem is one of no timer; everything else is in the [`End`].
    pub async fn run(self, rules: Rules) -> Result<(Summary, End), Problem> {
        let untimed = |why| Problem::usage(format!("no timer: {why}"), "free file descriptors");
        let mut alarm = Alarm::new(self.clock).map_err(untimed)?;
        let mut run = Run {
            live: self,
            grace: rules.grace,
            on_loss: Loss::new(rules.sharing.clone()),
            engine: Box::new(Engine::new(rules)),
            now: Tick::ZERO,
            told: Vec::new(),
            actions: Vec::new(),
            asked: 0,
            reading: true,
            end: None,
            draining: false,
            stop_told: false,
            failures: BTreeSet::new(),
            tell_by: None,
        };
        if run.live.progress.due().is_some() {
            run.live.total.ask();
        }
        loop {
            let wake = run.turn();
            if let Some(end) = run.end.take() {
                return Ok(run.close(end).await);
            }
            let wants_line = run.asked > 0 && run.reading;
            let wake = [
                wake,
                run.live.progress.due(),
                run.live.sink.due(),
                run.tell_by,
            ];
            let wake = wake.into_iter().flatten().min();
            let woken = tokio::select! {
                biased;
                Some(heard) = run.live.signals.recv() => Woken::Heard(heard),
                () = run.live.client.go_on() => Woken::Tries,
                Some(event) = run.live.events.recv() => Woken::Event(event),
                line = run.live.reader.next(), if wants_line => Woken::Line(line),
                () = run.live.total.counted(), if run.tell_by.is_some() => Woken::Time,
                () = wait_until(&mut alarm, wake) => Woken::Time,
                Some(ask) = run.live.asks.recv() => Woken::Asked(ask),
            };
            run.now = run.live.clock.now();
            match woken {
                Woken::Event(event) => run.tell(event),
                Woken::Line(line) => run.line(line),
                Woken::Heard(Heard::End(signal, at)) => run.signalled(signal, at),
                Woken::Heard(Heard::Show) => run.wants_status(),
                Woken::Asked(ask) => ask.answer(&run.engine.figures(run.now)),
                Woken::Tries | Woken::Time => {}
            }
        }
    }
}

async fn wait_until(alarm: &mut Alarm, wake: Option<Tick>) {
    match wake {
        Some(at) => alarm.wait_until(at).await,
        None => std::future::pending().await,
    }
}

impl Run {
    /// Tells everything that has happened, writes, decides, sends; again while lines come at once.
    fn turn(&mut self) -> Option<Tick> {
        loop {
            self.hear();
            self.read();
            // One write for all results of the turn.
            self.write();
            self.hear();
            let wake = self.engine.decide(self.now, &mut self.actions);
            let reads = (self.actions.iter()).any(|action| matches!(action, Action::Read(_)));
            self.carry_out();
            self.tell_stopped();
            // What has waited too long is recorded here, and nothing else may wake this.
            self.write();
            if !reads || self.end.is_some() {
                self.show();
                return wake;
            }
            let before = self.engine.counts().read;
            self.read();
            if self.engine.counts().read == before && self.reading {
                self.show();
                return wake;
            }
        }
    }

    /// A disk may hold up what waits for slots for a while, as they are free when it has written; but no pace.
    fn write(&mut self) {
        let keeps_pace = matches!(self.engine.holds_back(), Owner::Limit(_));
        let patience = if keeps_pace { SLACK } else { HUNG };
        self.live.sink.write(patience);
    }

    /// Takes what has happened until now.
    fn hear(&mut self) {
        self.now = self.live.clock.now();
        let mut told = mem::take(&mut self.told);
        self.live.client.hear(&mut told);
        self.live.sink.hear(&mut told);
        for event in told.drain(..) {
            self.tell(event);
        }
        self.told = told;
        while let Ok(event) = self.live.events.try_recv() {
            self.tell(event);
        }
    }

    /// Takes the lines that are there.
    fn read(&mut self) {
        while self.asked > 0
            && self.reading
            && let Some(line) = self.live.reader.try_next()
        {
            self.line(Some(line));
        }
    }

    fn tell(&mut self, event: Event) {
        if let Event::Store(word, _) = &event
            && self.live.notes >= Notes::First
            && let Some(note) = self.on_loss.note(word)
        {
            self.live.progress.note(&note);
        }
        if let Event::Ended(_, _, end) = &event
            && let Err(failure) = &**end
            && self.live.notes >= Notes::First
            && self.failures.insert(failure.kind)
        {
            let (kind, message) = (failure.kind, mended_try(failure));
            let note = format!("first failed try ({kind}): {message}");
            self.live.progress.note(&note);
        }
        self.engine.tell(self.now, event, &mut self.actions);
        self.carry_out();
        self.tell_stopped();
    }

    fn line(&mut self, line: Option<Line>) {
        match line {
            Some(Line::Read(line, ready_at)) => {
                self.asked -= 1;
                self.now = self.now.max(ready_at);
                self.tell(Event::Read(line, ready_at));
            }
            Some(Line::DoneBefore(status, ready_at)) => {
                self.asked -= 1;
                self.now = self.now.max(ready_at);
                self.tell(Event::DoneBefore(status, ready_at));
            }
            Some(Line::Notice(text)) => {
                if self.live.notes >= Notes::First {
                    self.live.progress.note(&text);
                }
            }
            Some(Line::Ended(how)) => {
                self.reading = false;
                self.tell(Event::InputEnded(how));
            }
            None => {
                self.reading = false;
                let broken = Problem::new(
                    Exit::SomeFailed,
                    "the thread that reads the input broke off",
                    "please report it",
                );
                self.tell(Event::InputEnded(Err(broken)));
            }
        }
    }

    fn signalled(&mut self, signal: Signal, at: Tick) {
        if !mem::replace(&mut self.draining, true) {
            let (in_flight, _) = self.engine.load();
            let most = self.grace.map_or(String::new(), |grace| {
                format!(" at most {},", show_span(grace))
            });
            let again = match signal {
                Signal::Interrupt => "Ctrl-C again to stop now",
                Signal::Terminate => "a second signal stops now",
            };
            self.live
                .progress
                .note(&format!("finishing {in_flight} in flight,{most} {again}"));
        }
        self.tell(Event::Signal(signal, at));
    }

    /// Once, when a rule has ended the run before its time.
    fn tell_stopped(&mut self) {
        let silent = self.stop_told || self.draining;
        let Some(stopped) = self.engine.stopped_by().filter(|_| !silent) else {
            return;
        };
        self.stop_told = true;
        let (in_flight, _) = self.engine.load();
        let text = format!(
            "stopping early: {} ({}); finishing {in_flight} in flight",
            stopped.told,
            stopped.by()
        );
        if self.live.notes >= Notes::First {
            self.live.progress.note(&text);
        }
    }

    fn carry_out(&mut self) {
        let mut actions = mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Read(lines) => self.asked += lines,
                Action::Prepare(job, most) => {
                    let Live { client, clock, .. } = &mut self.live;
                    client.prepare(&job, most, *clock);
                }
                Action::Send(ticket, job, grant) => {
                    let Live { client, clock, .. } = &mut self.live;
                    client.start(ticket, &job, grant, *clock);
                }
                Action::Record(ticket, outcome) => {
                    self.tell_failed(&outcome);
                    self.live.sink.record(ticket, outcome);
                }
                Action::Store(wish) => {
                    if let Some(store) = &self.live.store {
                        store.wish(wish);
                    }
                }
                Action::Stop(end) => self.end = Some(end),
            }
        }
        self.actions = actions;
    }

    /// The first failure of a kind that no try has told of in [`Run::tell`]: of a job that was never sent, or by its answer.
    fn tell_failed(&mut self, outcome: &Outcome) {
        if outcome.status == Status::Ok {
            return;
        }
        let Some((kind, message)) = &outcome.error else {
            return;
        };
        if self.live.notes == Notes::First && self.failures.insert(*kind) {
            let place = match &outcome.line {
                Ok(job) => format!("{}: ", job.place),
                // It says its place itself.
                Err(_) => String::new(),
            };
            let status = outcome.tries.last().and_then(|last| last.status);
            let message = mended(*kind, message, status);
            self.live
                .progress
                .note(&format!("first {kind}: {place}{message}"));
        }
        if self.live.notes < Notes::All {
            return;
        }
        let text = match &outcome.line {
            Ok(job) => format!(
                "{}: {kind}, tries {}: {message}",
                job.place,
                outcome.tries.len()
            ),
            Err(bad) => bad.to_string(),
        };
        self.live.progress.note(&text);
    }

    /// What is seen of the run from outside.
    fn show(&mut self) {
        let now = self.live.clock.now();
        self.live.sink.live(now);
        if self.live.progress.due().is_some_and(|due| due <= now) {
            let snapshot = self.snapshot();
            self.live.progress.update(now, &snapshot);
        }
        if let Some(by) = self.tell_by
            && (by <= now || !self.live.total.is_awaited())
        {
            self.status();
        }
    }

    /// Somebody wants to know how far it is: the lines are counted for it, if they were not before.
    fn wants_status(&mut self) {
        if self.reading {
            self.live.total.ask();
        }
        self.tell_by.get_or_insert(self.now.after(COUNT));
    }

    fn status(&mut self) {
        self.tell_by = None;
        let snapshot = self.snapshot();
        self.live.progress.status(self.live.clock.now(), &snapshot);
    }

    fn snapshot(&mut self) -> Snapshot {
        let (in_flight, waiting) = self.engine.load();
        let counts = self.engine.counts();
        let total = if self.reading {
            self.live.total.known()
        } else {
            Some(counts.read)
        };
        Snapshot {
            counts,
            total,
            in_flight: in_flight as u64,
            waiting,
            refused: self.engine.answers(StatusCode::TOO_MANY_REQUESTS),
            binds: self.engine.holds_back(),
            until: self.engine.held_until(),
            left: total.and_then(|total| self.engine.time_left(total)),
        }
    }

    async fn close(mut self, end: End) -> (Summary, End) {
        self.write();
        if self.tell_by.is_some() {
            self.status();
        }
        let (in_flight, _) = self.engine.load();
        if matches!(end, End::Signalled(_) | End::Stopped(_)) && in_flight > 0 {
            self.live
                .progress
                .note(&format!("stopping now, {in_flight} in flight are given up"));
        }
        self.live.progress.finish();
        let mut told = Vec::new();
        self.live.sink.hear(&mut told);
        let Self {
            live, mut engine, ..
        } = self;
        let Live {
            clock,
            sink,
            store,
            mut events,
            ..
        } = live;
        let written = if engine.is_idle() {
            sink.finish()
        } else if let End::Signalled(_) | End::Stopped(_) = end {
            // A stop does not wait for a disk that hangs, or for a reader of stdout that has stopped to read.
            let until = clock.now().after(LAST_LINES);
            let finished = tokio::task::spawn_blocking(|| sink.finish());
            tokio::select! {
                biased;
                finished = finished => finished.expect("a writer that breaks off is a problem"),
                () = clock.sleep_until(until) => Ok(()),
            }
        } else {
            Ok(())
        };
        if let Some(store) = store {
            store.leave().await;
        }
        events.close();
        while let Ok(event) = events.try_recv() {
            told.push(event);
        }
        for event in told {
            engine.tell(clock.now(), event, &mut Vec::new());
        }
        let summary = engine.close(clock.now());
        let end = match (end, written) {
            (
                End::Finished
                | End::InputLost(_)
                | End::StoreLost(_)
                | End::Stopped(_)
                | End::Signalled(_),
                Err(problem),
            ) => End::SinkLost(problem),
            (end, _) => end,
        };
        (summary, end)
    }
}
