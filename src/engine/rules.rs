//! The rules of a run, as they are given. Floor 3: rules.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::charge::Charge;
use super::share::Sharing;
use super::{LookAhead, Seam, StopIf};
use crate::choice::{chosen, word_for};
use crate::job::Job;
use crate::limit::{KeyBy, NeverFits, Setting, Spec};
use crate::metrics::{AtOnce, Owner, Setup, SlotsBy};
use crate::proof::Proof;
use crate::quota::Provider;
use crate::redirect::Follow;
use crate::retry::{Budget, Policy};
use crate::shape::Arrivals;
use crate::units::Cost;

/// The rules of a run.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Most tries in flight; `None` without a limit.
    pub slots: Option<Cost>,
    /// What sets their number.
    pub slots_by: SlotsBy,
    /// Most tries in flight to one origin; `None` without a limit.
    pub per_host: Option<Cost>,
    /// The rate limits, in the order of the command line: all hold.
    pub limits: Vec<Spec>,
    /// What the limits need to know of the run.
    pub setting: Setting,
    /// What becomes of a job that costs more than a limit can ever hold.
    pub oversize: Oversize,
    /// What becomes of units that were reserved and not used.
    pub refund: Refund,
    /// The longest that a job may wait.
    pub queue_timeout: Option<Duration>,
    /// When jobs are due. A Poisson process is drawn by the seed of the retries.
    pub arrivals: Arrivals,
    /// So long after its beginning nothing new is sent; `None` without an end.
    pub time: Option<Duration>,
    /// When a try is repeated.
    pub retry: Policy,
    /// What is done with redirects.
    pub follow: Follow,
    /// How many tries are repeated that no server has asked for.
    pub budget: Budget,
    /// An origin that worked is paused after so many failed tries in a row without an answer between them.
    pub breaks_after: u32,
    /// Whose answers they are, where the host and the answers do not tell.
    pub provider: Option<&'static Provider>,
    /// Whether the limits of the servers are learnt from their answers, and kept beside the own ones.
    pub adaptive: bool,
    /// What these are kept apart for, besides what the limits are.
    pub learnt_per: Option<KeyBy>,
    /// After a pause that a server has asked for, jobs of its key go at least so far apart; `None`: as fast as they may.
    pub re_entry: Option<Duration>,
    /// How far back a grant may be charged: a late wake-up within it costs no rate. Kept below the
    /// half of the shortest sliding window.
    pub slack: Duration,
    /// So long before a job may go it is prepared: [`Action::Prepare`](super::Action::Prepare). `None`: no job is.
    pub lead: Option<Duration>,
    /// The longest a try may take, from its grant to the last byte.
    pub timeout: Duration,
    /// How far the input is read.
    pub look_ahead: LookAhead,
    /// Where the limits go on from.
    pub seam: Seam,
    /// Whether the rate limits are shared with other processes through a store, which then keeps them; `None`: they are
    /// those of this run alone.
    pub sharing: Option<Sharing>,
    /// In which order results are written.
    pub order: Order,
    /// What ends the run before its time, as at a first signal.
    pub stop_if: Vec<StopIf>,
    /// The longest that a run goes on after a signal, or after a rule has ended it; `None`: until what is in flight has ended.
    pub grace: Option<Duration>,
    /// What is proved of the limits.
    pub proves: Proves,
    /// Which of its tries the result of a job tells.
    pub keeps: Keeps,
}

/// Which of its tries the result of a job tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keeps {
    /// Each of them.
    #[default]
    All,
    /// The first and the last, however many there are: where nobody reads the others.
    Ends,
}

/// What is proved of the limits while a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proves {
    /// That each was kept, and the worst minute of units.
    #[default]
    All,
    /// The worst minute of units: in virtual time nothing is late, and nobody doubts the rest.
    Minute,
    /// Nothing.
    Nothing,
}

/// In which order results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As they come.
    #[default]
    ByCompletion,
    /// As their lines were read. A result that waits for an older one keeps its slots.
    ByInput,
}

/// What becomes of a job that costs more than a limit can ever hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Oversize {
    /// It fails at once.
    #[default]
    Fail,
    /// It goes when the limit is full, and owes the rest.
    Wait,
}

/// What becomes of units that were reserved and not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refund {
    /// They are given back, also those of a try that was refused (429, 5xx).
    #[default]
    Unused,
    /// They stay charged, but for a try that was never sent.
    Never,
}

impl Oversize {
    /// Each, with its word.
    pub const WORDS: [(&'static str, Self); 2] = [("fail", Self::Fail), ("wait", Self::Wait)];
}

impl FromStr for Oversize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(&Self::WORDS, text)
    }
}

impl Refund {
    /// Each, with its word.
    pub const WORDS: [(&'static str, Self); 2] = [("unused", Self::Unused), ("never", Self::Never)];
}

impl FromStr for Refund {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(&Self::WORDS, text)
    }
}

impl fmt::Display for Refund {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(word_for(&Self::WORDS, *self))
    }
}

/// No chance: of a server that fails a third of its requests such rows are one in three billion.
const BREAKS_AFTER: u32 = 20;

impl Default for Rules {
    /// No limit, virtual time, the usual retries.
    fn default() -> Self {
        Self {
            slots: None,
            slots_by: SlotsBy::default(),
            per_host: None,
            limits: Vec::new(),
            setting: Setting::VIRTUAL,
            oversize: Oversize::default(),
            refund: Refund::default(),
            queue_timeout: None,
            arrivals: Arrivals::default(),
            time: None,
            retry: Policy::default(),
            follow: Follow::default(),
            budget: Budget::default(),
            breaks_after: BREAKS_AFTER,
            provider: None,
            adaptive: false,
            learnt_per: None,
            re_entry: None,
            slack: Duration::ZERO,
            lead: None,
            timeout: Duration::from_secs(30),
            look_ahead: LookAhead::default(),
            seam: Seam::default(),
            sharing: None,
            order: Order::default(),
            stop_if: Vec::new(),
            grace: None,
            proves: Proves::default(),
            keeps: Keeps::default(),
        }
    }
}

impl Rules {
    /// What theory and reports need to know of them.
    pub fn setup(&self) -> Setup {
        Setup {
            slots: self.slots.map(Cost::get),
            slots_by: self.slots_by,
            per_host: self.per_host.map(Cost::get),
            limits: self.limits.clone(),
            runs: AtOnce::One,
            arrivals: self.arrivals.clone(),
        }
    }

    /// The first bound that can never hold this job, unless it may wait and owe.
    pub fn refuses(&self, job: &Job) -> Option<(Owner, NeverFits)> {
        // Nothing holds less than one: nearly all jobs cost no more.
        if job.slots == Cost::ONE && job.units.is_none() {
            return None;
        }
        let shared = self.sharing.as_ref().and_then(|sharing| sharing.slots);
        let slots = [
            (Owner::Slot, self.slots),
            (Owner::HostSlot, self.per_host),
            (Owner::SharedSlot, shared),
        ];
        let slots = slots
            .into_iter()
            .filter_map(|(owner, most)| Some((owner, Charge::Slots, most?)));
        let limits = self.limits.iter().enumerate();
        let limits = limits
            .filter(|_| self.oversize == Oversize::Fail)
            .map(|(number, it)| (Owner::Limit(number), Charge::from(it.counts), it.burst));
        slots.chain(limits).find_map(|(owner, charge, most)| {
            let (asked, capacity) = (charge.of(job)?.get(), most.get());
            (asked > capacity).then_some((owner, NeverFits { asked, capacity }))
        })
    }

    /// What is to be proved.
    pub(super) fn proof(&self) -> Proof {
        match self.proves {
            Proves::All => Proof::new(&self.limits, self.slack, self.setting.epoch),
            Proves::Minute => Proof::of_minute(&self.limits),
            Proves::Nothing => Proof::nothing(),
        }
    }

    /// What is granted and not yet sent fills a window as if it went "now", which is the slack ago at
    /// the earliest. Half a period keeps it inside, and what waits for it from being looked at all the time.
    pub(super) fn with_slack_within_windows(mut self) -> Self {
        let windows = self.limits.iter().filter(|spec| spec.kind.is_log());
        let half = windows.map(|spec| spec.rate.period / 2);
        self.slack = half.fold(self.slack, Duration::min);
        self
    }
}
