//! Admission: slots and every limit, at one instant, all or none. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use crate::job::Job;
use crate::limit::{Counts, Hold, Limit, Moment, NeverFits, Ready, Setting, Slots, Spec, Used};
use crate::metrics::Owner;
use crate::outcome::{Failure, Reached, Reply, Waits};
use crate::units::{Cost, Tick};

/// What a rule charges a job for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charge {
    Slots,
    Requests,
    Units(Counts),
}

impl Charge {
    fn of(self, job: &Job) -> Option<Cost> {
        match self {
            Self::Slots => Some(job.slots),
            Self::Requests => Some(Cost::ONE),
            Self::Units(Counts::Input) => Cost::new(job.units?.input),
            Self::Units(Counts::Output) => Cost::new(job.units?.output),
            Self::Units(Counts::Units | Counts::Requests) => Cost::new(job.units?.reserve()),
        }
    }
}

#[derive(Debug)]
struct Rule {
    owner: Owner,
    name: Arc<str>,
    charge: Charge,
    limit: Box<dyn Limit>,
}

/// Everything that a try has taken, to be settled once; one place a rule.
#[derive(Debug, Default)]
pub(super) struct Holds(Vec<Option<Hold>>);

/// How a try ended, for those who were paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paid {
    /// Nothing was sent: everything goes back.
    NotSent,
    /// Sent, and no whole answer: requests and units stay charged.
    Unanswered,
    /// Refused by the server (429, 5xx): the request stays charged, the units go back.
    Refused,
    /// Answered; so many units were used, or the reserve if the answer does not say.
    Answered(Option<u64>),
}

impl Paid {
    /// What the limits keep of a try that ended so.
    pub(super) fn of(end: &Result<Reply, Failure>) -> Self {
        match end {
            Ok(reply)
                if reply.head.status == StatusCode::TOO_MANY_REQUESTS
                    || reply.head.status.is_server_error() =>
            {
                Self::Refused
            }
            Ok(reply) => Self::Answered(reply.used.map(|used| used.total)),
            Err(failure) => match failure.reached {
                Reached::NotSent => Self::NotSent,
                Reached::Sent | Reached::Answered => Self::Unanswered,
            },
        }
    }
}

/// When a job may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// Now; the limits are charged for this moment, now or a little before.
    Now(Tick),
    /// Not before this moment, which is the owner's.
    At(Tick, Owner),
    /// When something is given back to the owner; and what else holds the job until a moment that is
    /// still to come.
    OnRelease(Owner, Option<(Owner, Tick)>),
}

/// The rules of the run.
#[derive(Debug)]
pub(super) struct Gate {
    /// Slots first, then the limits in the order of the command line.
    rules: Vec<Rule>,
}

impl Gate {
    pub(super) fn new(slots: Option<Cost>, limits: &[Spec], setting: &Setting) -> Self {
        let slots = slots.map(|slots| Rule {
            owner: Owner::Slot,
            name: "slot".into(),
            charge: Charge::Slots,
            limit: Box::new(Slots::new(slots)),
        });
        let limits = limits.iter().enumerate().map(|(number, spec)| Rule {
            owner: Owner::Limit(number),
            name: spec.name.clone(),
            charge: match spec.counts {
                Counts::Requests => Charge::Requests,
                counts => Charge::Units(counts),
            },
            limit: spec.build(setting),
        });
        Self {
            rules: slots.into_iter().chain(limits).collect(),
        }
    }

    /// The name that waits are counted under.
    fn name(&self, owner: Owner) -> Option<&Arc<str>> {
        self.rules
            .iter()
            .find(|rule| rule.owner == owner)
            .map(|rule| &rule.name)
    }

    /// What a job waited for, under the names of results.
    pub(super) fn waits(&self, waits: &[(Owner, Duration)]) -> Waits {
        let mut named = Waits::new();
        // A wait of no time is told only where there is no other: then it was nobody's.
        let some = waits.iter().any(|(_, span)| !span.is_zero());
        for &(owner, span) in waits.iter().filter(|(_, span)| !some || !span.is_zero()) {
            let name = self
                .name(owner)
                .cloned()
                .unwrap_or_else(|| owner.word().into());
            *named.entry(name).or_default() += span;
        }
        named
    }

    /// The first rule that can never hold this job.
    pub(super) fn refuses(&self, job: &Job) -> Option<(&Arc<str>, NeverFits)> {
        self.rules.iter().find_map(|rule| {
            match rule.limit.ready(Tick::ZERO, rule.charge.of(job)?) {
                Ready::Never(why) => Some((&rule.name, why)),
                Ready::At(_) | Ready::OnRelease => None,
            }
        })
    }

    /// When all rules let this job go, from `from` on. The owner is the one that becomes ready last;
    /// ties go in the order of the rules.
    pub(super) fn opening(&self, job: &Job, from: Tick, now: Tick) -> Opening {
        let mut at = from;
        let mut last = Owner::Nothing;
        let mut release = None;
        for rule in &self.rules {
            let Some(cost) = rule.charge.of(job) else {
                continue;
            };
            match rule.limit.ready(from, cost) {
                Ready::At(own) if own > at => (at, last) = (own, rule.owner),
                Ready::At(_) => {}
                Ready::OnRelease | Ready::Never(_) => release = release.or(Some(rule.owner)),
            }
        }
        match release {
            Some(owner) => Opening::OnRelease(owner, (at > now).then_some((last, at))),
            None if at <= now => Opening::Now(at),
            None => Opening::At(at, last),
        }
    }

    /// Takes everything, at the moment that [`Gate::opening`] told.
    pub(super) fn take(&mut self, job: &Job, at: Tick, holds: &mut Holds) {
        holds.0.clear();
        for rule in &mut self.rules {
            holds
                .0
                .push(rule.charge.of(job).map(|cost| rule.limit.take(at, cost)));
        }
    }

    /// The try was sent at `at`.
    pub(super) fn sent(&mut self, holds: &mut Holds, at: Tick) {
        for (rule, hold) in self.rules.iter_mut().zip(&mut holds.0) {
            if let Some(hold) = hold {
                rule.limit.moved(hold, at);
            }
        }
    }

    /// The try has ended: rates are settled.
    pub(super) fn ended(&mut self, holds: &mut Holds, at: Tick, paid: Paid) {
        self.settle(holds, at, Moment::Ended, |charge| match (paid, charge) {
            (Paid::NotSent, _) => Used::NeverSent,
            (Paid::Refused, Charge::Units(_)) => Used::Known(0),
            (Paid::Answered(Some(used)), Charge::Units(_)) => Used::Known(used),
            (Paid::Unanswered | Paid::Refused | Paid::Answered(_), _) => Used::Unknown,
        });
    }

    /// The result is in the file, or the job goes to rest: slots are free.
    pub(super) fn released(&mut self, holds: &mut Holds, at: Tick) {
        self.settle(holds, at, Moment::Recorded, |_| Used::Unknown);
    }

    fn settle(
        &mut self,
        holds: &mut Holds,
        at: Tick,
        moment: Moment,
        used: impl Fn(Charge) -> Used,
    ) {
        for (rule, hold) in self.rules.iter_mut().zip(&mut holds.0) {
            if rule.limit.settles_on() == moment
                && let Some(hold) = hold.take()
            {
                rule.limit.settle(hold, at, used(rule.charge));
            }
        }
    }
}

#[cfg(test)]
impl Gate {
    /// Slots that are taken; zero without a limit of them.
    pub(super) fn slots_taken(&mut self, of: Cost) -> u64 {
        let slots = self.rules.iter_mut().find(|rule| rule.owner == Owner::Slot);
        slots.map_or(0, |rule| of.get() - rule.limit.level(Tick::ZERO).remaining)
    }
}
