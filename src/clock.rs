//! The clock of a run, the only reader of time. Floor 4: doors.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

#[cfg(target_os = "linux")]
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
#[cfg(target_os = "linux")]
use tokio::io::unix::AsyncFd;

use crate::units::{Tick, nanos, whole_micros};

/// Monotonic time since the start of the run, tied once to the wall clock: it never jumps.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Moment,
    /// Wall clock at the start, since the Unix epoch, in whole microseconds: what results tell of a moment
    /// is then this and the time since, rounded down.
    epoch: Duration,
}

impl Clock {
    /// A clock that shows zero now. A wall clock before 1970 counts as 1970.
    pub fn start() -> Self {
        let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            started: Moment::now(),
            epoch: whole_micros(epoch.unwrap_or(Duration::ZERO)),
        }
    }

    /// The time since the start.
    pub fn now(&self) -> Tick {
        Tick::ZERO.after(self.started.elapsed())
    }

    /// The wall clock read at the start plus the time since.
    pub fn wall(&self) -> SystemTime {
        self.wall_at(self.now())
    }

    /// The same for another moment.
    pub fn wall_at(&self, at: Tick) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.epoch + Duration::from_nanos(at.0)
    }

    /// The start, since the Unix epoch.
    pub fn epoch(&self) -> Duration {
        self.epoch
    }

    /// A number that differs from run to run, for a seed that is not given. 53 bits: readers of JSON that
    /// know only floating-point numbers show it exactly.
    pub fn seed(&self) -> u64 {
        let nanos = self.epoch.subsec_nanos();
        let mixed =
            u64::from(nanos) << 23 ^ self.epoch.as_secs() ^ u64::from(std::process::id()) << 16;
        mixed & ((1 << 53) - 1)
    }

    /// A moment in microseconds since the Unix epoch, rounded down.
    pub fn epoch_micros(&self, at: Tick) -> u64 {
        nanos(self.epoch).saturating_add(at.0) / 1_000
    }

    /// Returns at `at` or later, never earlier; by tokio's timer, which counts whole milliseconds.
    pub async fn sleep_until(&self, at: Tick) {
        loop {
            let left = at.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// A moment until which something is waited for, many times one after the other; by tokio's timer.
///
/// Measured: a timer that is set for each try costs more than all else that waits. This one is set again when it
/// rings, and until then only for an earlier moment.
#[derive(Debug)]
pub struct Deadline {
    clock: Clock,
    sleep: Pin<Box<tokio::time::Sleep>>,
    /// It rings no later.
    set: Tick,
}

impl Deadline {
    /// To be called within a tokio runtime.
    pub fn new(clock: Clock, at: Tick) -> Self {
        let sleep = tokio::time::sleep(at.since(clock.now()));
        Self {
            clock,
            sleep: Box::pin(sleep),
            set: at,
        }
    }

    /// Ready at `at` or later, never earlier.
    pub fn poll_until(&mut self, at: Tick, cx: &mut Context<'_>) -> Poll<()> {
        if at < self.set {
            self.set(at, self.clock.now());
        }
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            let now = self.clock.now();
            if now >= at {
                return Poll::Ready(());
            }
            self.set(at, now);
        }
    }

    fn set(&mut self, at: Tick, now: Tick) {
        self.set = at;
        let moment = tokio::time::Instant::now() + at.since(now);
        self.sleep.as_mut().reset(moment);
    }
}

/// A timer for the pace of a run. One at a time is set; waiting for another moment sets it anew.
///
/// Measured: rings 0.1 ms late, where tokio's timer is 1 to 2 ms late and costs a part of high rates.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct Alarm {
    clock: Clock,
    timer: AsyncFd<OwnedFd>,
    /// The moment that it will ring at.
    set: Option<Tick>,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// To be called within a tokio runtime. Fails without a free file descriptor.
    #[expect(
        deprecated,
        reason = "the new form is unsafe code; its rule is kept: nothing but this owns or closes the timer"
    )]
    pub fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Boottime, flags)?;
        Ok(Self {
            clock,
            timer: AsyncFd::new(timer)?,
            set: None,
        })
    }

    /// Returns at `at` or later, never earlier. The wait may be dropped.
    ///
    /// If that is past already it lets everything else go on once: who waits only for the past would keep
    /// signals and sockets from being heard.
    pub async fn wait_until(&mut self, at: Tick) {
        if self.clock.now() >= at {
            tokio::task::yield_now().await;
        }
        while self.clock.now() < at {
            if self.set != Some(at) {
                self.set(at);
            }
            let ready = self.timer.readable().await;
            ready
                .expect("the runtime outlives what it runs")
                .clear_ready();
            // For this moment, or late for the one before.
            self.set = None;
        }
    }

    /// Setting takes back what has rung and was not heard.
    fn set(&mut self, at: Tick) {
        let moment = self.clock.started.0 + Duration::from_nanos(at.0);
        let timer = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(moment).expect("600 years of seconds fit"),
        };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer)
            .expect("an open timer takes every moment after boot");
        self.set = Some(at);
    }
}

/// A timer for the pace of a run.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Alarm(Clock);

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// Never fails.
    pub fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self(clock))
    }

    /// Returns at `at` or later, never earlier. The wait may be dropped.
    pub async fn wait_until(&mut self, at: Tick) {
        self.0.sleep_until(at).await;
    }
}

/// A reading of the time that also counts suspend.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
struct Moment(Duration);

#[cfg(target_os = "linux")]
impl Moment {
    fn now() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Self(Duration::try_from(time).expect("the time since boot is not negative"))
    }

    fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

/// A reading of the monotonic time.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy)]
struct Moment(std::time::Instant);

#[cfg(not(target_os = "linux"))]
impl Moment {
    fn now() -> Self {
        Self(std::time::Instant::now())
    }

    fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micros_are_rounded_down_and_count_from_the_epoch() {
        let mut clock = Clock::start();
        clock.epoch = Duration::from_micros(7);
        assert_eq!(clock.epoch_micros(Tick(1_999)), 8);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_alarm_rings_at_no_moment_too_early_even_if_a_wait_was_dropped() {
        let clock = Clock::start();
        let mut alarm = Alarm::new(clock).unwrap();
        for millis in [2, 3, 3, 1, 7] {
            let first = clock.now().after(Duration::from_millis(1));
            let dropped = alarm.wait_until(clock.now().after(Duration::from_millis(millis)));
            tokio::select! {
                () = dropped => {}
                () = clock.sleep_until(first) => {}
            }
            let at = clock.now().after(Duration::from_micros(300));
            alarm.wait_until(at).await;
            assert!(clock.now() >= at, "{:?} is before {at:?}", clock.now());
        }
    }
}
