//! What keeps a job from going, and whom that stops besides it. Floor 3: rules.

use std::sync::Arc;

use super::keyed::StateId;
use crate::job::Job;
use crate::metrics::Owner;
use crate::units::Tick;

/// What keeps a job from going now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// Who lets go last.
    pub(super) owner: Owner,
    /// When that is.
    pub(super) until: Until,
    /// Whom else it stops.
    pub(super) stops: Stops,
}

/// When an obstacle ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// At this moment.
    At(Tick),
    /// When something is given back; and what else holds the job until a moment that is still to come.
    Release(Option<(Owner, Tick)>),
}

/// Whom an obstacle stops besides the job itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stops {
    /// Nobody: it waits for what is its lane's alone.
    Itself,
    /// Everyone who is younger: all pay this rule.
    Everyone,
    /// Everyone who is younger and pays this rule.
    Payers(usize),
    /// Those in the line of this state.
    Line(StateId),
}

/// An older job that is held, with what it was held by: no younger one may make it wait longer.
#[derive(Debug)]
pub(super) struct Elder {
    pub(super) job: Arc<Job>,
    pub(super) states: Arc<[StateId]>,
    /// When it may go, given every take so far.
    pub(super) at: Tick,
}
