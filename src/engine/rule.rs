//! A rule of the run: what it charges, for whom it has a state, and how that starts. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use super::charge::Charge;
use super::keyed::{Scope, StateId};
use super::obstacle::Stops;
use super::rules::Rules;
use super::seam::Pasts;
use crate::job::Job;
use crate::limit::{
    Adaptive, Counts, Guard, KeyBy, Kind, Leaves, Limit, Moment, Setting, Slots, Spec,
};
use crate::metrics::Owner;
use crate::units::Cost;

/// How a rule starts for another key.
#[derive(Debug)]
enum Build {
    Slots(Cost, Moment),
    Limit(Box<Spec>, Pasts),
    Adaptive,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) owner: Owner,
    pub(super) charge: Charge,
    /// The most that it ever holds.
    pub(super) capacity: Cost,
    pub(super) scope: Scope,
    build: Build,
}

impl Rule {
    pub(super) fn leaves(&self) -> Leaves {
        match &self.build {
            Build::Slots(..) => Leaves::Send,
            Build::Adaptive => Leaves::Reply,
            Build::Limit(spec, _) => spec.leaves,
        }
    }

    /// Whom a job stops that waits for this rule, in this state.
    pub(super) fn stops(&self, rule: usize, state: StateId) -> Stops {
        match self.scope {
            Scope::All if self.charge.is_for_all() => Stops::Everyone,
            Scope::All => Stops::Payers(rule),
            Scope::Origin | Scope::Key(_) | Scope::Lane => Stops::Line(state),
        }
    }

    pub(super) fn is_slots(&self) -> bool {
        self.charge == Charge::Slots
    }

    /// What a job has to find free: of one that costs more than the rule ever holds, all that it holds.
    pub(super) fn wanted(&self, job: &Job) -> Option<Cost> {
        Some(self.charge.of(job)?.min(self.capacity))
    }

    /// Its state for a value of its key as the run meets it first, with the guard that was measured so far.
    pub(super) fn build(
        &self,
        setting: &Setting,
        guard: Option<Duration>,
        key: Option<&Arc<str>>,
    ) -> Box<dyn Limit> {
        match &self.build {
            Build::Slots(slots, until) => Box::new(Slots::kept_until(*until, *slots)),
            Build::Adaptive => Box::new(Adaptive::default()),
            Build::Limit(spec, pasts) => {
                let mut limit = spec.go_on(setting, pasts.of(key));
                if let Some(guard) = guard.and_then(|guard| self.measured(setting, guard)) {
                    limit.keep_guard(guard);
                }
                limit
            }
        }
    }

    /// What this rule keeps of a measured guard; `None` for all but the windows that keep one.
    pub(super) fn measured(&self, setting: &Setting, guard: Duration) -> Option<Duration> {
        match &self.build {
            Build::Limit(spec, _)
                if spec.kind == Kind::Window
                    && spec.leaves == Leaves::Send
                    && spec.guard.is_none()
                    && setting.guard == Guard::Measured =>
            {
                Some(guard.min(spec.rate.period / 100))
            }
            Build::Limit(..) | Build::Slots(..) | Build::Adaptive => None,
        }
    }

    /// So many slots, each kept until then.
    pub(super) fn slots(most: Cost, until: Moment, owner: Owner, scope: Scope) -> Self {
        Self {
            owner,
            charge: Charge::Slots,
            capacity: most,
            scope,
            build: Build::Slots(most, until),
        }
    }

    /// What is learnt of a server's limit on this.
    pub(super) fn adaptive(counts: Counts) -> Self {
        Self {
            owner: Owner::Adaptive,
            charge: counts.into(),
            capacity: Cost::MAX,
            scope: Scope::Lane,
            build: Build::Adaptive,
        }
    }

    /// The limit of this number; `keys` are those of the run.
    pub(super) fn limit(number: usize, rules: &Rules, keys: &[KeyBy]) -> Self {
        let spec = &rules.limits[number];
        let key = spec.per.as_ref();
        let key = key.and_then(|key| keys.iter().position(|own| own == key));
        Self {
            owner: Owner::Limit(number),
            charge: spec.counts.into(),
            capacity: spec.burst,
            scope: key.map_or(Scope::All, Scope::Key),
            build: Build::Limit(Box::new(spec.clone()), rules.seam.pasts(spec, key, rules)),
        }
    }
}
