//! What tries have told and nobody has heard yet. Floor 4: doors.

use std::cell::RefCell;

use crate::engine::Event;

/// In the order in which it was told.
#[derive(Debug, Default)]
pub(super) struct Told(RefCell<Vec<Event>>);

impl Told {
    pub(super) fn tell(&self, event: Event) {
        self.0.borrow_mut().push(event);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Moves all to the end of `events`.
    pub(super) fn hear(&self, events: &mut Vec<Event>) {
        events.append(&mut self.0.borrow_mut());
    }
}
