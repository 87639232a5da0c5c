//! How clients behave beside their limits, the bad ones too. Floor 5: drive.

use std::num::NonZeroU32;
use std::time::Duration;

use super::table::{Discipline, Slots};
use crate::engine::{LookAhead, Rules};
use crate::limit::{Setting, Spec};
use crate::report::comparison::Numbers;
use crate::retry::Policy;
use crate::shape::Arrivals;
use crate::units::{Cost, Rate, Tick, nanos};

/// How a client behaves. None but the first and `Retries` is what `run` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// Jobs wait for slots and limits together, and are tried once.
    Honest,
    /// A job that cannot go at once is dropped.
    Drops,
    /// Who finds all slots taken sleeps for a second, then queues: the anti-pattern.
    Sleeps,
    /// Several processes, each with the limits of its own.
    Processes,
    /// Permits are taken when jobs are queued, and age until a slot is free and the sender sends. It stalls once.
    Early,
    /// Permits are taken at the send. The sender stalls as long.
    Late,
    /// What is refused is sent again at once: it keeps its slot, and meets no limit.
    Storm,
    /// What is refused rests, and meets slots and every limit again.
    Retries,
}

/// Who finds all slots taken sleeps so long.
pub(super) const SLEEP: Duration = Duration::from_secs(1);

/// A stalled sender sends so many jobs at the rate before it stalls.
const BEFORE_STALL: u64 = 5;

/// So many permits age while it does.
const STALL: u64 = 10;

/// What a comparison needs to know of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    pub(super) setting: Setting,
    pub(super) slack: Duration,
    pub(super) timeout: Duration,
    /// The most tries in flight that the world has room for.
    pub(super) most: Option<Cost>,
}

impl Conduct {
    /// When the sender does not send.
    pub(super) fn stall(self, rate: &Rate) -> Option<(Tick, Tick)> {
        let after = |sends: u64| {
            let span = u128::from(nanos(rate.period)) * u128::from(sends);
            let span = span / u128::from(rate.count.get());
            Tick(u64::try_from(span).unwrap_or(u64::MAX))
        };
        match self {
            Self::Early | Self::Late => Some((after(BEFORE_STALL), after(BEFORE_STALL + STALL))),
            Self::Honest
            | Self::Drops
            | Self::Sleeps
            | Self::Processes
            | Self::Storm
            | Self::Retries => None,
        }
    }

    /// So often is a job sent again at once.
    pub(super) fn repeats(self) -> u32 {
        match self {
            Self::Storm => Policy::default().max_attempts.get() - 1,
            Self::Honest
            | Self::Drops
            | Self::Sleeps
            | Self::Processes
            | Self::Early
            | Self::Late
            | Self::Retries => 0,
        }
    }
}

impl Discipline {
    /// The rules of the engine under it. The slots of a sender that permits wait for are the sender's.
    pub(super) fn rules(&self, numbers: &Numbers, limits: Vec<Spec>, course: &Course) -> Rules {
        let slots = match (self.slots, self.conduct) {
            (Slots::None, _) | (Slots::Some, Conduct::Early) => None,
            (Slots::Some, _) => Some(numbers.slots),
        };
        let slots = match (slots, course.most) {
            (Some(slots), Some(most)) => Some(slots.min(most)),
            (slots, most) => slots.or(most),
        };
        let retry = match self.conduct {
            Conduct::Retries => Policy {
                seed: numbers.seed,
                ..Policy::default()
            },
            Conduct::Honest
            | Conduct::Drops
            | Conduct::Sleeps
            | Conduct::Processes
            | Conduct::Early
            | Conduct::Late
            | Conduct::Storm => Policy {
                max_attempts: NonZeroU32::MIN,
                ..Policy::default()
            },
        };
        let drops = self.conduct == Conduct::Drops;
        Rules {
            slots,
            limits,
            setting: course.setting,
            queue_timeout: drops.then_some(Duration::ZERO),
            arrivals: if drops {
                Arrivals::Once
            } else {
                Arrivals::Closed
            },
            retry,
            slack: course.slack,
            timeout: course.timeout,
            look_ahead: LookAhead {
                bytes: u64::MAX,
                ..LookAhead::default()
            },
            ..Rules::default()
        }
    }
}
