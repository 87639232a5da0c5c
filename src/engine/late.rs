//! What made a job late: sent after it was due by its own time. Floor 3: rules.

use super::held::Work;
use crate::metrics::{Owner, STEPS};
use crate::units::Tick;

impl Work {
    /// What held the longest part of the time from when it was due to `sent`, its first send; `None` if that is short,
    /// or it had no time.
    pub(super) fn late_by(&self, sent: Tick) -> Option<Owner> {
        let due = self.due?;
        if sent.since(due) <= STEPS[0] {
            return None;
        }
        let made = self.tries.first()?;
        let [asked, read, came] =
            [self.line.asked_at, self.read_at, self.came].map(|at| at.max(due));
        let held = self.blocker.unwrap_or(Owner::Slot);
        // Who is asked for late stands behind others that had not gone.
        let [before, reader] = if self.line.starved {
            [Owner::Input; 2]
        } else {
            [held, Owner::Client]
        };
        let opening = made.connected.map_or(Owner::Client, |_| Owner::Connect);
        let nanos = |from: Tick, to: Tick| to.0.saturating_sub(from.0);
        let parts = [
            (before, nanos(due, asked)),
            (reader, nanos(asked, read)),
            (Owner::Client, nanos(read, came)),
            (held, nanos(came, made.granted)),
            (opening, nanos(made.granted, sent)),
        ];
        let sum = |owner: Owner| -> u64 {
            let own = parts.iter().filter(|(other, _)| *other == owner);
            own.map(|(_, span)| span).sum()
        };
        let owners = parts.iter().map(|(owner, _)| *owner);
        owners.max_by_key(|owner| sum(*owner))
    }
}
