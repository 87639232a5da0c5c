//! Whose the time is: one owner for each instant. Floor 3: rules.

use std::borrow::Cow;

use crate::units::Tick;

/// What keeps the oldest waiting job from being sent now. Each instant has exactly one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Nothing: no job waits, or the run has not begun.
    Nothing,
    /// No job has been read yet that could go.
    Input,
    /// Reading has stopped at the bound of jobs held, all of them waiting for one origin.
    LookAhead,
    /// All slots are taken.
    Slot,
    /// All slots of the job's origin are taken.
    HostSlot,
    /// Results are written in the order of the input, those that wait for an older one have half of the slots or
    /// more, or fill the look-ahead, and no pause or limit holds that one.
    Order,
    /// A server asked for a pause.
    Pause,
    /// An origin rests after a failed connect.
    Connect,
    /// Every job that is left rests before its next try, or its origin does, as it fails again and again.
    Backoff,
    /// The results are being written.
    Sink,
    /// A job was due and this program was late by more than the slack.
    Client,
    /// What was learnt of the server's own limits keeps the job.
    Adaptive,
    /// The store through which limits are shared has not answered, or is away.
    Store,
    /// All slots are taken that are shared with other processes.
    SharedSlot,
    /// The limit of this number, in the order of the command line.
    Limit(usize),
}

impl Owner {
    /// All but the limits, by their places.
    pub const FIXED: [Self; 14] = [
        Self::Nothing,
        Self::Input,
        Self::LookAhead,
        Self::Slot,
        Self::Pause,
        Self::Connect,
        Self::Backoff,
        Self::Sink,
        Self::Client,
        Self::HostSlot,
        Self::Order,
        Self::Adaptive,
        Self::Store,
        Self::SharedSlot,
    ];

    /// Its number among [`FIXED`](Self::FIXED) and the limits behind them.
    pub(crate) fn place(self) -> usize {
        match self {
            Self::Limit(number) => Self::FIXED.len() + number,
            Self::Nothing => 0,
            Self::Input => 1,
            Self::LookAhead => 2,
            Self::Slot => 3,
            Self::Pause => 4,
            Self::Connect => 5,
            Self::Backoff => 6,
            Self::Sink => 7,
            Self::Client => 8,
            Self::HostSlot => 9,
            Self::Order => 10,
            Self::Adaptive => 11,
            Self::Store => 12,
            Self::SharedSlot => 13,
        }
    }

    /// The word in results, but for a limit, which has a name of its own there. This one counts from 1, `limit 2`, and
    /// is no name that an option can give.
    pub fn word(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Nothing => "none",
            Self::Input => "input",
            Self::LookAhead => "look_ahead",
            Self::Slot => "slot",
            Self::HostSlot => "host_slot",
            Self::Order => "order",
            Self::Pause => "pause",
            Self::Connect => "connect",
            Self::Backoff => "backoff",
            Self::Sink => "sink",
            Self::Client => "client",
            Self::Adaptive => "adaptive",
            Self::Store => "store",
            Self::SharedSlot => "shared_slot",
            Self::Limit(number) => return Cow::Owned(format!("limit {}", number + 1)),
        })
    }

    /// The one of this word; `None` of any other.
    pub fn of(word: &str) -> Option<Self> {
        match word.strip_prefix("limit ") {
            Some(number) => {
                let number: usize = number.parse().ok()?;
                number.checked_sub(1).map(Self::Limit)
            }
            None => Self::FIXED.into_iter().find(|owner| owner.word() == word),
        }
    }

    pub(super) fn at(place: usize) -> Self {
        Self::FIXED
            .get(place)
            .copied()
            .unwrap_or(Self::Limit(place.saturating_sub(Self::FIXED.len())))
    }
}

/// The state of the run at the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Whose the time is from now on.
    pub hold: HoldOn,
    /// Position of the oldest job that could go but for a limit.
    pub head: Option<u64>,
    /// Jobs in lanes and at rest.
    pub waiting: usize,
}

/// Whose the time is that passes now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldOn {
    /// One owner's, and no end can be told.
    Open(Owner),
    /// One owner's until this moment; what is later by more than the slack is the client's.
    Until(Owner, Tick),
    /// Two hold the same job: it belongs to the one that lets go last. The rival does so at `at`.
    Contest {
        /// The one whose end cannot be told.
        owner: Owner,
        /// The other one.
        rival: Owner,
        /// When the rival lets go.
        at: Tick,
    },
}

impl HoldOn {
    /// The owner, as far as it can be told now.
    pub fn owner(self) -> Owner {
        match self {
            Self::Open(owner) | Self::Until(owner, _) | Self::Contest { owner, .. } => owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_owner_is_read_back_from_its_word_and_its_place() {
        for owner in Owner::FIXED.into_iter().chain([0, 1, 41].map(Owner::Limit)) {
            assert_eq!(Owner::of(&owner.word()), Some(owner), "{}", owner.word());
            assert_eq!(Owner::at(owner.place()), owner, "{}", owner.place());
        }
        for word in ["", "limit", "limit 0", "limit x", "Slot"] {
            assert_eq!(Owner::of(word), None, "{word:?}");
        }
    }
}
