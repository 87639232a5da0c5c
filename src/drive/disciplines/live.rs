//! Disciplines for real: the same trials over HTTP. Floor 5: drive.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::Plan;
use super::conduct::{Conduct, Course};
use super::table::Discipline;
use super::trial::{Asked, Trial};
use crate::client::{Client, ClientSpec, Ends, Room, Via};
use crate::clock::{Alarm, Clock};
use crate::drive::cores::on_all_cores;
use crate::drive::live::SLACK;
use crate::drive::mends::mended_try;
use crate::engine::{End, Event, Signal};
use crate::error::Problem;
use crate::limit::{Guard, Promise, Setting, Spec};
use crate::mock::{self, Mock};
use crate::report::comparison::{Comparison, Figures, Row, Seen, World};
use crate::signals::Heard;
use crate::units::{Cost, Tick, show_span};
use crate::usage::UsageRule;

/// The longest that a try may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A run waits for the boundary of windows that are at most this long, and for what servers count as long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What it is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// The modelled API over HTTP, a new one for each discipline.
    Mock,
    /// The jobs' own servers.
    Servers,
}

/// Who hears how far it is.
pub type Told<'a> = &'a mut dyn FnMut(&str);

impl Live {
    /// Why a discipline is not done for real, if it is not.
    fn refuses(self, conduct: Conduct) -> Option<&'static str> {
        match (conduct, self) {
            (Conduct::Early | Conduct::Late, _) => Some("in virtual time only: its sender stalls"),
            (Conduct::Storm, Self::Servers) => {
                Some("only against the modelled API: it is an attack on a server")
            }
            (Conduct::Storm, Self::Mock)
            | (
                Conduct::Honest
                | Conduct::Drops
                | Conduct::Sleeps
                | Conduct::Processes
                | Conduct::Retries,
                _,
            ) => None,
        }
    }
}

impl Plan {
    /// The disciplines that are done for real.
    pub fn done(&self, live: Live) -> Vec<&'static Discipline> {
        let done = |row: &&Discipline| live.refuses(row.conduct).is_none();
        self.disciplines().filter(done).collect()
    }

    /// Why nothing is done for real; `None` if something is.
    pub fn refused(&self, live: Live) -> Option<String> {
        let why = |row: &Discipline| {
            let why = live.refuses(row.conduct)?;
            Some(format!("{} is shown {why}", row.key))
        };
        let whys: Option<Vec<String>> = self.disciplines().map(why).collect();
        whys.map(|whys| whys.join("; "))
    }

    /// How long they take for real, as far as the modelled API tells.
    pub fn takes(&self, live: Live) -> Duration {
        let rows = self.done(live);
        let took = on_all_cores(&rows, |row| {
            self.run(row, &self.work, &self.api).figures.finish
        });
        took.into_iter()
            .fold(Duration::ZERO, Duration::saturating_add)
    }

    /// Runs one discipline after the other. A signal ends the one that runs and leaves out the rest.
    ///
    /// To be called within a tokio runtime. A problem is one of no socket, timer or thread.
    pub async fn live(
        &self,
        live: Live,
        carriage: &ClientSpec,
        mut signals: UnboundedReceiver<Heard>,
        told: Told<'_>,
    ) -> Result<Comparison, Problem> {
        let mut rows = Vec::new();
        let mut cut = None;
        let (count, mut number) = (self.done(live).len(), 0);
        for row in self.disciplines() {
            let name = (row.name)(&self.numbers);
            if live.refuses(row.conduct).is_none() && cut.is_none() {
                number += 1;
                cut = rest(self.rest_before(live, row, number), &mut signals).await;
            }
            let seen = match live.refuses(row.conduct) {
                Some(why) => Seen::NotRun(why.to_owned()),
                None if cut.is_some() => Seen::NotRun("not begun".to_owned()),
                None => {
                    let run = Run::new(self, live, carriage, row)?;
                    let (figures, ended) = run.go(&mut signals, told).await;
                    told(&format!("{number}/{count} {name}: {}", line(&figures)));
                    cut = ended;
                    Seen::Run(Box::new(figures))
                }
            };
            let key = row.key;
            rows.push(Row { key, name, seen });
        }
        Ok(Comparison {
            numbers: self.numbers.clone(),
            jobs: self.jobs(),
            world: match live {
                Live::Mock => World::Mock(self.api.clone()),
                Live::Servers => World::Servers(self.work.servers()),
            },
            latencies: Vec::new(),
            held: Vec::new(),
            rows,
            spike: None,
            cut,
        })
    }

    /// What passes before a discipline begins: servers forget what the one before sent, and fixed windows come
    /// close to their boundary. Neither takes longer than [`LONGEST_WAIT`].
    fn rest_before(&self, live: Live, row: &Discipline, number: usize) -> Duration {
        let period = self.numbers.window.period;
        let forgets = match live {
            Live::Servers if number > 1 => period.min(LONGEST_WAIT),
            Live::Servers | Live::Mock => Duration::ZERO,
        };
        let limits = (row.limits)(&self.numbers).unwrap_or_default();
        let counts = |limit: &Spec| match limit.kind.promise() {
            Promise::OwnPeriods | Promise::TwoPeriods => true,
            Promise::Flow | Promise::AnyPeriod => false,
        };
        if period > LONGEST_WAIT || !limits.iter().any(counts) {
            return forgets;
        }
        let begins = Clock::start().epoch() + forgets + self.before();
        let into = begins.as_nanos() % period.as_nanos();
        let into = Duration::from_nanos(u64::try_from(into).unwrap_or(0));
        forgets + period.saturating_sub(into)
    }
}

/// Waits; returns early with the signal that comes meanwhile.
async fn rest(span: Duration, signals: &mut UnboundedReceiver<Heard>) -> Option<Signal> {
    let clock = Clock::start();
    let until = clock.now().after(span);
    loop {
        tokio::select! {
            biased;
            Some(heard) = signals.recv() => match heard {
                Heard::End(signal, _) => return Some(signal),
                Heard::Show => {}
            },
            () = clock.sleep_until(until) => return None,
        }
    }
}

/// What is said of a discipline when it is over.
fn line(seen: &Figures) -> String {
    let Figures {
        sends,
        ok,
        refused,
        others,
        finish,
        ..
    } = seen;
    let took = show_span(*finish);
    let others = match others.count() {
        0 => String::new(),
        count => format!(", {count} other"),
    };
    format!("{sends} sent, {ok} ok, {refused} refused{others}, {took}")
}

/// One discipline, from its start to its end.
struct Run<'a> {
    trial: Trial<'a>,
    clock: Clock,
    client: Client,
    alarm: Alarm,
    /// The first failure is told.
    failed: bool,
    /// Ends with it, and so does all that it has counted.
    _mock: Option<Mock>,
}

/// What the loop waited for.
enum Woken {
    Tries,
    Heard(Heard),
    Time,
}

impl<'a> Run<'a> {
    fn new(
        plan: &'a Plan,
        live: Live,
        carriage: &ClientSpec,
        row: &Discipline,
    ) -> Result<Self, Problem> {
        let numbers = &plan.numbers;
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (mock, ends, asked) = match live {
            Live::Servers => (None, Ends::Ours, Asked::Heard),
            Live::Mock => {
                let mock = mock::serve(loopback, plan.api.clone(), numbers.seed, None)?;
                (Some(mock), Ends::Both, Asked::Unheard)
            }
        };
        let limits = (row.limits)(numbers).unwrap_or_default();
        let room = Room::now(ends);
        let most = room.map_or(u64::MAX, Room::slots);
        let clock = Clock::start();
        let course = Course {
            setting: Setting {
                guard: Guard::Measured,
                epoch: clock.epoch(),
            },
            slack: SLACK,
            timeout: TIMEOUT,
            most: Cost::new(most),
        };
        let counted = limits.iter().any(|limit| limit.counts.is_units());
        let client = Client::new(ClientSpec {
            via: mock
                .as_ref()
                .map_or(Via::Direct, |mock| Via::Mock(mock.address())),
            usage: if counted {
                UsageRule::Found
            } else {
                UsageRule::Ignored
            },
            kept: room.map_or(usize::MAX, |room| {
                usize::try_from(room.kept(most)).unwrap_or(usize::MAX)
            }),
            ..carriage.clone()
        })?;
        Ok(Self {
            trial: Trial::new(row, numbers, limits, &course, &plan.work, asked),
            clock,
            client,
            alarm: Alarm::new(clock).map_err(|why| {
                Problem::usage(format!("no timer: {why}"), "free file descriptors")
            })?,
            failed: false,
            _mock: mock,
        })
    }

    async fn go(
        mut self,
        signals: &mut UnboundedReceiver<Heard>,
        told: Told<'_>,
    ) -> (Figures, Option<Signal>) {
        loop {
            let wake = self.turn(told);
            if let Some(end) = self.trial.ended() {
                let signal = match end {
                    End::Signalled(signal) => Some(*signal),
                    End::Finished
                    | End::TimeUp
                    | End::Stopped(_)
                    | End::InputLost(_)
                    | End::SinkLost(_)
                    | End::StoreLost(_) => None,
                };
                return (self.trial.close(self.clock.now()).figures, signal);
            }
            let woken = tokio::select! {
                biased;
                Some(heard) = signals.recv() => Woken::Heard(heard),
                () = self.client.go_on() => Woken::Tries,
                () = wait_until(&mut self.alarm, wake) => Woken::Time,
            };
            match woken {
                Woken::Heard(Heard::End(signal, _)) => self.signalled(signal, told),
                Woken::Heard(Heard::Show) => {
                    told(&format!("{} in flight", self.trial.in_flight()));
                }
                Woken::Tries | Woken::Time => {}
            }
        }
    }

    /// Tells everything that has happened, decides, sends.
    fn turn(&mut self, told: Told<'_>) -> Option<Tick> {
        let mut events = Vec::new();
        self.client.hear(&mut events);
        for event in events {
            self.tell(event, told);
        }
        let wake = self.trial.turn(self.clock.now());
        for out in self.trial.take() {
            self.client
                .start(out.ticket, &out.job, out.grant, self.clock);
        }
        wake
    }

    fn tell(&mut self, event: Event, told: Told<'_>) {
        if let Event::Ended(_, _, end) = &event
            && let Err(failure) = &**end
            && !std::mem::replace(&mut self.failed, true)
        {
            let (kind, message) = (failure.kind, mended_try(failure));
            told(&format!("first failed try ({kind}): {message}"));
        }
        self.trial.tell(self.clock.now(), event);
    }

    fn signalled(&mut self, signal: Signal, told: Told<'_>) {
        let in_flight = self.trial.in_flight();
        told(&format!(
            "finishing {in_flight} in flight; a second signal stops now"
        ));
        let now = self.clock.now();
        self.trial.tell(now, Event::Signal(signal, now));
    }
}

async fn wait_until(alarm: &mut Alarm, wake: Option<Tick>) {
    match wake {
        Some(at) => alarm.wait_until(at).await,
        None => std::future::pending().await,
    }
}
