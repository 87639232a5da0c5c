//! Hears signals on a thread of its own, whatever the run is blocked in. Floor 4: doors.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::Signal as Number;
use tokio::runtime::{self, Handle};
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::engine::{Ending, Signal};
use crate::units::Tick;

/// What a signal says to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It is to end, since this moment.
    End(Signal, Tick),
    /// How far it has come is to be shown.
    Show,
}

/// A second signal ends the program within half a second, even if the run does not. Here so much of it
/// is left to the run, the rest to the system.
const PATIENCE: Duration = Duration::from_millis(400);
const _: () = assert!(PATIENCE.as_millis() < 500);

/// Who hears the signals of a run.
pub struct Ears {
    runtime: Handle,
    before: Arc<Before>,
    /// Dropped without a word it ends the thread.
    begin: oneshot::Sender<Run>,
}

/// What a run has its thread listen for.
struct Run {
    clock: Clock,
    ending: Ending,
    ends: Ends,
    tell: UnboundedSender<Heard>,
}

/// What is waited for before the run begins, for somebody who asks.
type Before = Mutex<Option<&'static str>>;

impl Ears {
    /// From now on SIGUSR1 kills nobody, and a file that may not grow is an ordinary failure of writing
    /// (SIGXFSZ). Other signals keep their meaning until [`Ears::listen`].
    ///
    /// `show` is called on SIGUSR1 with what is waited for. `leave` is called if a run that is to end does
    /// not. Both on another thread.
    pub fn open(
        show: impl Fn(&str) + Send + 'static,
        leave: impl FnOnce(Signal) + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let inside = runtime.enter();
        // Heard by nobody: what counts is that it is not left to the system.
        drop(unix::signal(SignalKind::from_raw(Number::XFSZ.as_raw()))?);
        let mut asked = unix::signal(SignalKind::user_defined1())?;
        drop(inside);
        let before = Arc::new(Before::default());
        let (begin, begins) = oneshot::channel();
        let ears = Self {
            runtime: runtime.handle().clone(),
            before: Arc::clone(&before),
            begin,
        };
        let hear = async move {
            let run = until_begun(begins, &mut asked, &before, show).await?;
            Some(listen(run, asked).await)
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(hear).map(leave))?;
        Ok(ears)
    }

    /// Does something that may have to wait for `what`, which somebody who asks is told meanwhile.
    pub fn waiting<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        self.tell_before(Some(what));
        let done = work();
        self.tell_before(None);
        done
    }

    fn tell_before(&self, what: Option<&'static str>) {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// From now on Ctrl-C, SIGTERM and SIGHUP do not end the program: they are told.
    ///
    /// SIGHUP counts as SIGTERM. Where it is ignored, as under `nohup`, it stays ignored.
    pub fn listen(
        self,
        clock: Clock,
        grace: Option<Duration>,
    ) -> io::Result<UnboundedReceiver<Heard>> {
        let inside = self.runtime.enter();
        let ends = Ends {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
            hangup: (!is_ignored(Number::HUP))
                .then(|| unix::signal(SignalKind::hangup()))
                .transpose()?,
        };
        drop(inside);
        let (tell, heard) = unbounded_channel();
        let run = Run {
            clock,
            ending: Ending::new(grace),
            ends,
            tell,
        };
        let begun = self.begin.send(run);
        begun.map_err(|_| io::Error::other("the thread that hears them broke off"))?;
        Ok(heard)
    }
}

/// What the run has its thread listen for; `None` if no run comes.
async fn until_begun(
    mut begins: oneshot::Receiver<Run>,
    asked: &mut unix::Signal,
    before: &Before,
    show: impl Fn(&str),
) -> Option<Run> {
    loop {
        tokio::select! {
            biased;
            run = &mut begins => return run.ok(),
            _ = asked.recv() => {
                let what = *before.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(what) = what {
                    show(&format!("waiting for {what}"));
                }
            }
        }
    }
}

/// The signals that end a run.
struct Ends {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: Option<unix::Signal>,
}

impl Ends {
    /// The next one. The same signal again before this has heard the first is one with it: the system keeps one
    /// of each kind for a process that has not run since, and tokio one for a task. That takes some
    /// milliseconds at most, in which nobody presses Ctrl-C twice, but `timeout` signals twice.
    async fn next(&mut self) -> Signal {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = hangup => Signal::Terminate,
        }
    }
}

/// Tells what it hears. Returns when the program is to be left, and for which signal.
async fn listen(run: Run, mut asked: unix::Signal) -> Signal {
    let Run {
        clock,
        mut ending,
        mut ends,
        tell,
    } = run;
    loop {
        let out_of_patience = async {
            match ending.over() {
                Some((signal, at)) => {
                    clock.sleep_until(at.after(PATIENCE)).await;
                    signal
                }
                None => std::future::pending().await,
            }
        };
        let signal = tokio::select! {
            biased;
            signal = out_of_patience => return signal,
            signal = ends.next() => signal,
            _ = asked.recv() => {
                // A run that is over shows nothing more.
                let _ = tell.send(Heard::Show);
                continue;
            }
        };
        let now = clock.now();
        let _ = tell.send(Heard::End(signal, now));
        ending.wish(signal, now);
    }
}

/// Whether whoever started the program has had this signal ignored. Where the system does not tell it counts as
/// ignored, and so keeps its meaning.
fn is_ignored(signal: Number) -> bool {
    let status = std::fs::read_to_string("/proc/self/status");
    status.map_or(true, |status| ignores(&status, signal))
}

/// In the words of `proc(5)`: bit n - 1 of `SigIgn` stands for signal n.
fn ignores(status: &str, signal: Number) -> bool {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_told_by_its_bit() {
        let status = "Name:\tshaper\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, Number::HUP) && ignores(status, Number::PIPE));
        assert!(!ignores(status, Number::INT));
        assert!(ignores("Name:\tshaper\n", Number::INT), "it is not told");
    }
}
