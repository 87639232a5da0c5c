//! Connections that are open before the grant. Floor 3: rules.
//!
//! A try that has to connect goes out later than it was granted, by a time that nobody knows before: a rate is kept as
//! well as connecting takes equally long. As late as possible, for what waits is closed by servers.

use super::lookahead::UNLIMITED;
use super::{Action, Engine, HAS_WORK, Ticket};
use crate::units::{Cost, Tick};

impl Engine {
    /// Prepares the head that may go next, when that is soon; before, returns when it will be.
    pub(super) fn prepare(
        &mut self,
        next: Option<(Tick, Ticket)>,
        actions: &mut Vec<Action>,
    ) -> Option<Tick> {
        let lead = self.rules.lead?;
        let (at, ticket) = next?;
        let free = self.free_slots();
        let work = self.roll.get(ticket).work.as_mut().expect(HAS_WORK);
        if work.prepared {
            return None;
        }
        let soon = at.before(lead);
        if soon > self.now {
            return Some(soon);
        }
        work.prepared = true;
        actions.push(Action::Prepare(work.job.clone(), free + 1));
        None
    }

    fn free_slots(&self) -> usize {
        let slots = self.rules.slots.map_or(UNLIMITED, Cost::get);
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        slots.saturating_sub(self.flying + self.recording)
    }
}
