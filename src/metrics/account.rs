//! A limit of a server from answer to answer: what was taken of it, and how much of that by others. Floor 3: rules.

use std::borrow::Cow;
use std::time::Duration;

use crate::limit::Counts;
use crate::quota::{Means, Quota};
use crate::units::{Tick, nanos};

/// Resets are told in whole seconds, and so is the `Date` that some are counted from.
const GRAIN: Duration = Duration::from_secs(2);

/// An answer that tells limits of its server.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    /// When it came.
    pub at: Tick,
    /// When its try was granted.
    pub granted: Tick,
    /// Tries that the run has been granted until now, of all keys: they may share the limits of a server.
    pub tries: u64,
    /// Those of them that are in flight.
    pub in_flight: u64,
    /// What it tells.
    pub quotas: &'a [Quota],
}

/// Requests that a server has counted between answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// All of them, at least.
    pub counted: u64,
    /// Those that were not sent here, at least.
    pub others: u64,
}

impl Taken {
    pub(super) fn add(&mut self, other: Self) {
        self.counted = self.counted.saturating_add(other.counted);
        self.others = self.others.saturating_add(other.others);
    }
}

/// What is left of a limit on requests that tells all its numbers.
struct Left<'a> {
    name: &'a Cow<'static, str>,
    limit: u64,
    remaining: u64,
    reset: Duration,
    means: Means,
}

impl<'a> Left<'a> {
    fn of(quota: &'a Quota) -> Option<Self> {
        if quota.counts != Counts::Requests {
            return None;
        }
        Some(Self {
            name: &quota.name,
            limit: quota.limit?,
            remaining: quota.remaining?,
            reset: quota.reset?,
            means: quota.means,
        })
    }
}

/// One limit on the requests of a key.
///
/// What was sent here is counted high and what was taken low: tries of other keys may be counted by the same limit,
/// one in flight before or after, and a limit that refills all the while is taken not to. So what is said of others is
/// the least. A server that counts some requests more than once cannot be told from one that others use.
#[derive(Debug)]
pub struct Account {
    name: Cow<'static, str>,
    limit: u64,
    /// What was left where the comparison begins.
    base: u64,
    /// Tries that were counted by then, at least.
    settled: u64,
    /// The same as of the last answer.
    last_settled: u64,
    resets_at: Tick,
    check: Check,
    /// Of earlier windows, and of this one.
    before: Taken,
    window: Taken,
    /// What the answers tell is not one limit: nothing is said of it.
    is_mixed: bool,
}

/// An answer before which a later one was not yet sent: by then no more can be left of the same window.
#[derive(Debug)]
struct Check {
    at: Tick,
    remaining: u64,
    reset: Duration,
}

impl Account {
    /// Takes in one more answer of a key: of its limits the one that was first to tell all its numbers is followed.
    pub(super) fn hear(account: &mut Option<Box<Self>>, heard: &Heard<'_>) {
        let mut told = heard.quotas.iter().filter_map(Left::of);
        match account {
            Some(own) => {
                let same = told.find(|it| it.limit == own.limit && *it.name == own.name);
                if let Some(left) = same {
                    own.goes_on(heard, &left);
                }
            }
            None => *account = told.next().map(|left| Box::new(Self::new(heard, &left))),
        }
    }

    /// What was taken so far.
    pub(super) fn taken(&self) -> Taken {
        let mut all = self.before;
        all.add(self.window);
        if self.is_mixed { Taken::default() } else { all }
    }

    fn new(heard: &Heard<'_>, left: &Left<'_>) -> Self {
        let settled = heard.settled();
        Self {
            name: left.name.clone(),
            limit: left.limit,
            base: left.remaining,
            settled,
            last_settled: settled,
            resets_at: heard.at.after(left.reset),
            check: Check::of(heard, left),
            before: Taken::default(),
            window: Taken::default(),
            is_mixed: false,
        }
    }

    fn goes_on(&mut self, heard: &Heard<'_>, left: &Left<'_>) {
        let resets_at = heard.at.after(left.reset);
        match left.means {
            // An answer of the window before, that was overtaken.
            Means::Over if resets_at.after(GRAIN) < self.resets_at => return,
            Means::Over if resets_at > self.resets_at.after(GRAIN) => {
                self.is_mixed |= heard.at.after(GRAIN) < self.resets_at;
                self.begin(left.limit, self.last_settled);
                self.resets_at = resets_at;
                self.check = Check::of(heard, left);
            }
            Means::Full if left.remaining > self.base => {
                self.begin(left.remaining, heard.settled());
            }
            Means::Over | Means::Full => {}
        }
        if heard.granted >= self.check.at {
            self.is_mixed |= left.remaining > self.check.most(heard.at, left);
            self.check = Check::of(heard, left);
        }
        let counted = self.base.saturating_sub(left.remaining);
        let own = heard.tries.saturating_sub(self.settled);
        let others = counted.saturating_sub(own);
        self.window.counted = self.window.counted.max(counted);
        self.window.others = self.window.others.max(others);
        self.last_settled = heard.settled();
    }

    /// Another comparison, from here on.
    fn begin(&mut self, base: u64, settled: u64) {
        self.before.add(std::mem::take(&mut self.window));
        (self.base, self.settled) = (base, settled);
    }
}

impl Check {
    fn of(heard: &Heard<'_>, left: &Left<'_>) -> Self {
        Self {
            at: heard.at,
            remaining: left.remaining,
            reset: left.reset,
        }
    }

    /// The most that can be left at `at`: twice as much more as refills by then, as resets are rounded.
    fn most(&self, at: Tick, left: &Left<'_>) -> u64 {
        let refilled = match left.means {
            Means::Over => 0,
            Means::Full => {
                let missing = u128::from(left.limit.saturating_sub(self.remaining));
                let share = missing * 2 * at.since(self.at).as_nanos();
                share.div_ceil(nanos(self.reset).max(1).into()) + 1
            }
        };
        let refilled = u64::try_from(refilled).unwrap_or(u64::MAX);
        self.remaining.saturating_add(refilled)
    }
}

impl Heard<'_> {
    /// Tries that servers have counted by now, at least.
    fn settled(&self) -> u64 {
        self.tries.saturating_sub(self.in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of one key, one after the other: the second at which it came, tries granted until then, what is left of
    /// 100, and the seconds to the reset. Each try is granted at the answer before.
    fn taken(means: Means, answers: &[(u64, u64, u64, u64)]) -> Taken {
        let second = |second| Tick::ZERO.after(Duration::from_secs(second));
        let (mut account, mut before) = (None, 0);
        for &(at, tries, remaining, reset) in answers {
            let quota = Quota {
                name: "requests".into(),
                counts: Counts::Requests,
                limit: Some(100),
                period: None,
                remaining: Some(remaining),
                reset: Some(Duration::from_secs(reset)),
                means,
            };
            let heard = Heard {
                at: second(at),
                granted: second(before),
                tries,
                in_flight: 1,
                quotas: &[quota],
            };
            Account::hear(&mut account, &heard);
            before = at;
        }
        account.unwrap().taken()
    }

    fn all(counted: u64, others: u64) -> Taken {
        Taken { counted, others }
    }

    #[test]
    fn what_was_sent_here_is_nobody_elses() {
        let answers = [(0, 1, 99, 60), (1, 2, 98, 59), (9, 10, 90, 51)];
        assert_eq!(taken(Means::Over, &answers), all(9, 0));
    }

    #[test]
    fn what_is_gone_and_was_not_sent_here_was_taken_by_others() {
        // Ten of ours with the one that may have been counted before.
        let answers = [(0, 1, 99, 60), (1, 2, 78, 59), (9, 10, 29, 51)];
        assert_eq!(taken(Means::Over, &answers), all(70, 60));
    }

    #[test]
    fn a_window_that_was_seen_to_begin_is_counted_from_its_limit() {
        let answers = [(0, 1, 50, 5), (4, 5, 10, 1), (6, 6, 60, 59), (7, 7, 58, 58)];
        assert_eq!(taken(Means::Over, &answers), all(40 + 42, 35 + 39));
    }

    #[test]
    fn a_limit_that_refills_is_compared_from_its_highest_on() {
        let answers = [(0, 1, 50, 30), (10, 2, 60, 24), (11, 3, 20, 48)];
        assert_eq!(taken(Means::Full, &answers), all(40, 38));
    }

    #[test]
    fn two_limits_that_look_like_one_say_nothing() {
        // Two routes with a window each, of the same length and of different ones, and a limit that refills.
        let same = [
            (0, 1, 90, 60),
            (1, 2, 20, 59),
            (2, 3, 89, 58),
            (3, 4, 19, 57),
        ];
        let apart = [
            (0, 1, 90, 60),
            (1, 2, 20, 30),
            (2, 3, 89, 58),
            (3, 4, 19, 28),
        ];
        let later = [
            (0, 1, 20, 30),
            (1, 2, 90, 59),
            (2, 3, 19, 28),
            (3, 4, 89, 57),
        ];
        for answers in [&same, &later] {
            assert_eq!(taken(Means::Over, answers), all(0, 0), "{answers:?}");
        }
        // One whose reset comes first counts as overtaken.
        assert_eq!(taken(Means::Over, &apart), all(1, 0));
        let refill = [(0, 1, 90, 6), (1, 2, 20, 48), (2, 3, 89, 6)];
        assert_eq!(taken(Means::Full, &refill), all(0, 0));
    }

    #[test]
    fn an_answer_that_was_overtaken_is_no_sign_of_two_limits() {
        let quota = |remaining| {
            [Quota {
                name: "requests".into(),
                counts: Counts::Requests,
                limit: Some(100),
                period: None,
                remaining: Some(remaining),
                reset: Some(Duration::from_secs(60)),
                means: Means::Over,
            }]
        };
        let mut account = None;
        for (millis, remaining) in [(1, 40), (2, 30), (3, 35), (4, 10)] {
            let heard = Heard {
                at: Tick::ZERO.after(Duration::from_millis(millis)),
                granted: Tick::ZERO,
                tries: 4,
                in_flight: 4,
                quotas: &quota(remaining),
            };
            Account::hear(&mut account, &heard);
        }
        assert_eq!(account.unwrap().taken(), all(30, 26));
    }
}
