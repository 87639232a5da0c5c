//! Whose the time is from now on. Floor 3: rules.

use super::gate::Opening;
use super::lanes::Rest;
use super::{Engine, Input};
use crate::metrics::{HoldOn, Owner};
use crate::units::Tick;

impl Engine {
    /// What keeps the oldest waiting job from being sent: a job that could go but for a limit, else a
    /// lane that rests, else the input, else a job that rests.
    pub(super) fn hold_on(
        &mut self,
        blocked: Option<Opening>,
        pause: Option<(Tick, Rest)>,
        rest: Option<Tick>,
    ) -> HoldOn {
        let reading = matches!(self.input, Input::Open) && self.signal.is_none();
        match blocked {
            Some(Opening::OnRelease(Owner::Slot, _)) if self.recording > self.flying => {
                return HoldOn::Open(Owner::Sink);
            }
            Some(Opening::OnRelease(owner, None)) => return HoldOn::Open(owner),
            Some(Opening::OnRelease(owner, Some((rival, at)))) => {
                return HoldOn::Contest { owner, rival, at };
            }
            Some(Opening::At(at, owner)) => return HoldOn::Until(owner, at),
            Some(Opening::Now(_)) | None => {}
        }
        if reading && self.lanes.are_many() && self.rules.look_ahead.is_full(&self.load_ahead()) {
            let lanes = &self.lanes;
            self.metrics.full_of(|| lanes.fullest().cloned());
            return HoldOn::Open(Owner::LookAhead);
        }
        if self.lanes.waiting() > 0
            && let Some((until, why)) = pause
        {
            return HoldOn::Until(why.owner(), until);
        }
        if reading && self.asked > 0 {
            return HoldOn::Open(Owner::Input);
        }
        match (pause, rest) {
            (Some((until, why)), Some(_)) => HoldOn::Until(why.owner(), until),
            (None, Some(until)) => HoldOn::Until(Owner::Backoff, until),
            (Some(_) | None, None) => HoldOn::Open(Owner::Nothing),
        }
    }
}

impl Rest {
    /// Whose the time of this rest is.
    pub(super) fn owner(self) -> Owner {
        match self {
            Self::Asked => Owner::Pause,
            Self::Unreachable => Owner::Connect,
        }
    }
}
