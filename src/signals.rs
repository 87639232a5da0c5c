//! Hears signals on a thread of its own, whatever the run is blocked in. Floor 4: doors.

use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::Signal as Number;
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

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
    runtime: Runtime,
    show: unix::Signal,
    leave: Box<dyn FnOnce(Signal) + Send>,
}

impl Ears {
    /// From now on SIGUSR1 kills nobody, and a file that may not grow is an ordinary failure of writing
    /// (SIGXFSZ). Other signals keep their meaning until [`Ears::listen`].
    ///
    /// `leave` is called, on another thread, if a run that is to end does not.
    pub fn open(leave: impl FnOnce(Signal) + Send + 'static) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let inside = runtime.enter();
        // Heard by nobody: what counts is that it is not left to the system.
        drop(unix::signal(SignalKind::from_raw(Number::XFSZ.as_raw()))?);
        let show = unix::signal(SignalKind::user_defined1())?;
        drop(inside);
        Ok(Self {
            runtime,
            show,
            leave: Box::new(leave),
        })
    }

    /// From now on Ctrl-C, SIGTERM and SIGHUP do not end the program: they are told.
    ///
    /// SIGHUP counts as SIGTERM. Where it is ignored, as under `nohup`, it stays ignored.
    pub fn listen(
        self,
        clock: Clock,
        grace: Option<Duration>,
    ) -> io::Result<UnboundedReceiver<Heard>> {
        let Self {
            runtime,
            show,
            leave,
        } = self;
        let inside = runtime.enter();
        let ends = Ends {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
            hangup: (!is_ignored(Number::HUP))
                .then(|| unix::signal(SignalKind::hangup()))
                .transpose()?,
        };
        drop(inside);
        let (tell, heard) = unbounded_channel();
        let listening = listen(clock, Ending::new(grace), ends, show, tell);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || leave(runtime.block_on(listening)))?;
        Ok(heard)
    }
}

/// The signals that end a run.
struct Ends {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: Option<unix::Signal>,
}

impl Ends {
    /// The next one.
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
async fn listen(
    clock: Clock,
    mut ending: Ending,
    mut ends: Ends,
    mut show: unix::Signal,
    tell: UnboundedSender<Heard>,
) -> Signal {
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
            _ = show.recv() => {
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
