//! A rule of the run: what it charges, for whom it has a state, and how that starts. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use super::charge::Charge;
use super::keyed::{Scope, StateId};
use super::obstacle::Stops;
use super::rules::Rules;
use super::seam::Pasts;
use super::share::Common;
use crate::job::Job;
use crate::limit::{
    Adaptive, Counts, Free, Guard, KeyBy, Leaves, Limit, Moment, Remote, Setting, Slots, Spec,
};
use crate::metrics::Owner;
use crate::units::{Cost, Rate, Tick};

/// How a run goes on without the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alone {
    /// With its part, one of so many.
    Of(u32),
    /// Without these limits.
    Open,
}

/// How a rule starts for another key.
#[derive(Debug)]
enum Build {
    Slots(Cost, Moment),
    Limit(Box<Spec>, Pasts),
    Adaptive,
    /// The same for all who share a store.
    RemoteAdaptive(Counts),
    /// A limit that a store keeps.
    Remote(Common, Box<Spec>),
    /// Slots that a store keeps.
    RemoteSlots(Cost),
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
            Build::Slots(..) | Build::RemoteSlots(_) => Leaves::Send,
            Build::Adaptive | Build::RemoteAdaptive(_) => Leaves::Reply,
            Build::Limit(spec, _) | Build::Remote(_, spec) => spec.leaves,
        }
    }

    /// What a store calls it that keeps it.
    pub(super) fn remote(&self) -> Option<Common> {
        match &self.build {
            Build::Remote(common, _) => Some(*common),
            Build::RemoteSlots(_) => Some(Common::Slots),
            Build::RemoteAdaptive(counts) => Some(Common::Learnt(*counts)),
            Build::Slots(..) | Build::Limit(..) | Build::Adaptive => None,
        }
    }

    /// The rate of which a store can grant ahead: requests of a bucket have moments that it can tell.
    pub(super) fn granted_ahead(&self) -> Option<&Rate> {
        match &self.build {
            Build::Remote(_, spec) if spec.kind.has_burst() && !spec.counts.is_units() => {
                Some(&spec.rate)
            }
            Build::Remote(..)
            | Build::RemoteSlots(_)
            | Build::RemoteAdaptive(_)
            | Build::Slots(..)
            | Build::Limit(..)
            | Build::Adaptive => None,
        }
    }

    /// Whether a store keeps a log for it, and is told when something left.
    pub(super) fn is_remote_log(&self) -> bool {
        matches!(&self.build, Build::Remote(_, spec) if spec.kind.is_log())
    }

    /// What decides from `now` on in the place of a store that is away.
    pub(super) fn stand_in(
        &self,
        alone: Alone,
        now: Tick,
        setting: &Setting,
    ) -> Option<Box<dyn Limit>> {
        match (&self.build, alone) {
            (Build::Remote(..) | Build::RemoteAdaptive(_), Alone::Open) => {
                Some(Box::new(Free(Moment::Ended)))
            }
            (Build::RemoteSlots(_), Alone::Open) => Some(Box::new(Free(Moment::Recorded))),
            (Build::Remote(_, spec), Alone::Of(members)) => {
                Some(spec.share_of(members, now, setting))
            }
            (Build::RemoteAdaptive(_), Alone::Of(members)) => {
                Some(Box::new(Adaptive::one_of(members)))
            }
            (Build::RemoteSlots(most), Alone::Of(members)) => {
                let part = Cost::new(most.get() / u64::from(members.max(1)));
                Some(Box::new(Slots::new(part.unwrap_or(Cost::ONE))))
            }
            (Build::Slots(..) | Build::Limit(..) | Build::Adaptive, _) => None,
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
        self.bound(self.charge.of(job))
    }

    /// Of a cost what has to be free.
    pub(super) fn bound(&self, cost: Option<Cost>) -> Option<Cost> {
        Some(cost?.min(self.capacity))
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
            Build::RemoteAdaptive(_) => Box::new(Remote::learnt()),
            Build::Remote(_, spec) => Box::new(Remote::rate(&spec.rate, spec.burst)),
            Build::RemoteSlots(most) => Box::new(Remote::slots(*most)),
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
                if spec.heeds_guard_of_run() && setting.guard == Guard::Measured =>
            {
                Some(guard.min(spec.rate.period / 100))
            }
            Build::Limit(..)
            | Build::Slots(..)
            | Build::Adaptive
            | Build::RemoteAdaptive(_)
            | Build::Remote(..)
            | Build::RemoteSlots(_) => None,
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

    /// So many slots of all who share them.
    pub(super) fn shared_slots(most: Cost) -> Self {
        Self {
            owner: Owner::SharedSlot,
            charge: Charge::Slots,
            capacity: most,
            scope: Scope::All,
            build: Build::RemoteSlots(most),
        }
    }

    /// What is learnt of a server's limit on this.
    pub(super) fn adaptive(counts: Counts, rules: &Rules) -> Self {
        Self {
            owner: Owner::Adaptive,
            charge: counts.into(),
            capacity: Cost::MAX,
            scope: Scope::Lane,
            build: match rules.sharing {
                Some(_) => Build::RemoteAdaptive(counts),
                None => Build::Adaptive,
            },
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
            build: match rules.sharing {
                Some(_) => Build::Remote(Common::Limit(number), Box::new(spec.clone())),
                None => Build::Limit(Box::new(spec.clone()), rules.seam.pasts(spec, key, rules)),
            },
        }
    }
}
