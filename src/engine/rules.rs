//! The rules of a run, as they are given. Floor 3: rules.

use std::time::Duration;

use super::LookAhead;
use crate::limit::{Kind, Setting, Spec};
use crate::retry::Policy;
use crate::units::Cost;

/// The rules of a run.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Most tries in flight; `None` without a limit.
    pub slots: Option<Cost>,
    /// The rate limits, in the order of the command line: all hold.
    pub limits: Vec<Spec>,
    /// What the limits need to know of the run.
    pub setting: Setting,
    /// When a try is repeated.
    pub retry: Policy,
    /// How far back a grant may be charged: a late wake-up within it costs no rate. Kept below the
    /// shortest sliding window.
    pub slack: Duration,
    /// The longest a try may take, from its grant to the last byte.
    pub timeout: Duration,
    /// How far the input is read.
    pub look_ahead: LookAhead,
}

impl Rules {
    /// What is granted and not yet sent fills a window as if it went "now", which is the slack ago at
    /// the earliest: a whole period before, it would count for nothing.
    pub(super) fn with_slack_within_windows(mut self) -> Self {
        let windows = self.limits.iter().filter(|spec| spec.kind == Kind::Window);
        let below = windows.map(|spec| spec.rate.period.saturating_sub(Duration::from_nanos(1)));
        self.slack = below.fold(self.slack, Duration::min);
        self
    }
}
