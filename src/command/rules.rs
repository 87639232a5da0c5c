//! The rules of the engine, as the options give them. Floor 6: front.

use std::num::NonZeroU32;
use std::time::Duration;

use super::args::RuleArgs;
use super::values::Bound;
use crate::engine::{LookAhead, Rules};
use crate::error::Problem;
use crate::estimate::Estimator;
use crate::limit::{Guard, Setting, Spec};
use crate::retry::{Policy, RetryUnsafe};
use crate::shape::Arrivals;
use crate::source::{Times, UnitsRule};

/// How far apart jobs go after a pause: as many as waited for it would come at once, and trip the limit again.
const RE_ENTRY: Duration = Duration::from_millis(5);

impl RuleArgs {
    /// Where these limits stand in time; a problem if the guard does not suit them.
    pub(super) fn setting(&self, limits: &[Spec], epoch: Duration) -> Result<Setting, Problem> {
        let guard = self.waiting.guard;
        fits(guard, limits)?;
        Ok(Setting {
            guard: guard.map_or(Guard::Measured, Guard::Of),
            epoch,
        })
    }

    /// When jobs are due.
    pub(super) fn arrivals(&self) -> Result<Arrivals, Problem> {
        self.shape.arrivals(self.limits.qps.as_ref())
    }

    /// Whether it counts when jobs were recorded.
    pub(super) fn times(&self) -> Times {
        if self.shape.replay {
            Times::Needed
        } else {
            Times::Ignored
        }
    }

    /// The rules, in virtual time; `limits` are those of the options, too.
    pub(super) fn rules(
        &self,
        limits: Vec<Spec>,
        arrivals: Arrivals,
        setting: Setting,
        seed: u64,
    ) -> Rules {
        let retry = &self.retry;
        let attempts = retry
            .retries
            .map_or(retry.max_attempts, |retries| u32::from(retries) + 1);
        Rules {
            slots: self.limits.concurrency.limit(),
            per_host: self.waiting.per_host.as_ref().and_then(Bound::limit),
            limits,
            setting,
            oversize: self.units.oversize,
            refund: self.units.refund,
            queue_timeout: self.waiting.queue_timeout.as_ref().and_then(Bound::limit),
            arrivals,
            time: self.shape.time,
            retry: Policy {
                ok: retry.ok.clone(),
                on: retry.retry_on.clone().unwrap_or_default(),
                max_attempts: NonZeroU32::new(attempts).expect("parsed as at least one"),
                max_retry_after: retry.max_retry_after.limit(),
                max_elapsed: retry.max_elapsed.as_ref().and_then(Bound::limit),
                backoff: retry.backoff,
                jitter: retry.jitter,
                retry_unsafe: retry.retry_unsafe.unwrap_or(RetryUnsafe::Idempotent),
                seed,
            },
            provider: retry.provider,
            adaptive: retry.adaptive,
            learnt_per: self.learnt_per().cloned(),
            re_entry: Some(RE_ENTRY),
            timeout: retry.timeout.limit().unwrap_or(Duration::MAX),
            look_ahead: LookAhead {
                jobs: usize::try_from(self.waiting.lookahead.get()).unwrap_or(usize::MAX),
                ..LookAhead::default()
            },
            ..Rules::default()
        }
    }
}

/// A guard as long as a window halves its rate: longer ones are a slip.
fn fits(guard: Option<Duration>, limits: &[Spec]) -> Result<(), Problem> {
    let mut windows = limits.iter().filter(|limit| limit.heeds_guard_of_run());
    match windows.find(|limit| guard.is_some_and(|guard| guard > limit.rate.period)) {
        None => Ok(()),
        Some(limit) => Err(Problem::usage(
            format!("--guard is longer than the period of {}", limit.rate),
            "give a guard of some per cent of it, or at=reply in place of one",
        )),
    }
}

/// What jobs cost of these limits, and of those that are learnt.
pub(super) fn units_rule<'a>(
    estimate: Estimator,
    adaptive: bool,
    limits: impl IntoIterator<Item = &'a Spec>,
) -> UnitsRule {
    let mut limits = limits.into_iter();
    if limits.any(|limit| limit.counts.is_units()) {
        UnitsRule::Reserve(estimate)
    } else if adaptive {
        UnitsRule::Learn(estimate)
    } else {
        UnitsRule::Ignored
    }
}
