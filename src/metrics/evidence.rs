//! What the answers of a run have told of their servers' limits. Floor 3: rules.

use super::account::{Account, Heard, Taken};
use crate::limit::Counts;
use crate::quota::Quota;
use crate::units::Rate;

/// The most limits that are told apart: a server has some, and one whose limits change with its load many.
const STATED: usize = 8;

/// What the answers have told of limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// The limits themselves, at most eight, as they were told first.
    pub stated: Vec<Stated>,
    /// What was taken of the one of which others took most: keys may share one.
    pub taken: Taken,
}

/// A limit as answers told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// What it counts.
    pub counts: Counts,
    /// So many in this time.
    pub rate: Rate,
    /// The least that was left of it, where anything tells.
    pub least: Option<u64>,
}

impl Evidence {
    /// An answer tells limits; `account` is that of its key.
    pub fn hear(&mut self, account: &mut Option<Box<Account>>, heard: &Heard<'_>) {
        for quota in heard.quotas {
            self.state(quota);
        }
        let taken = |account: &Option<Box<Account>>| {
            let account = account.as_ref();
            account.map_or_else(Taken::default, |own| own.taken())
        };
        let before = taken(account);
        Account::hear(account, heard);
        let after = taken(account);
        if before == self.taken || after.others > self.taken.others {
            self.taken = after;
        }
    }

    fn state(&mut self, quota: &Quota) {
        let (Some(limit), Some(period)) = (quota.limit, quota.period) else {
            return;
        };
        let mut known = self.stated.iter_mut();
        let same = |it: &&mut Stated| {
            let rate = (it.rate.count.get(), it.rate.period);
            it.counts == quota.counts && rate == (limit, period)
        };
        if let Some(known) = known.find(same) {
            known.is_left(quota.remaining);
        } else if self.stated.len() < STATED
            && let Some(rate) = Rate::new(limit, period)
        {
            self.stated.push(Stated {
                counts: quota.counts,
                rate,
                least: quota.remaining,
            });
        }
    }

    /// The same of another run.
    pub(super) fn add(&mut self, other: &Self) {
        self.taken.add(other.taken);
        for stated in &other.stated {
            let mut known = self.stated.iter_mut();
            if let Some(known) =
                known.find(|it| it.counts == stated.counts && it.rate == stated.rate)
            {
                known.is_left(stated.least);
            } else if self.stated.len() < STATED {
                self.stated.push(stated.clone());
            }
        }
    }
}

impl Stated {
    fn is_left(&mut self, remaining: Option<u64>) {
        let both = [self.least, remaining].into_iter().flatten();
        self.least = both.min();
    }

    /// Whether it may have refused anything: at most a tenth was left of it, or it never told how much.
    pub(super) fn was_near(&self) -> bool {
        let tenth = self.rate.count.get() / 10;
        self.least.is_none_or(|least| least <= tenth)
    }

    /// Whether it lets through less than `rate` on the whole.
    pub(super) fn is_below(&self, rate: &Rate) -> bool {
        let whole = |count: &Rate, period: &Rate| {
            u128::from(count.count.get()).saturating_mul(period.period.as_nanos())
        };
        whole(&self.rate, rate) < whole(rate, &self.rate)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::quota::Means;
    use crate::units::Tick;

    fn quota(limit: u64, remaining: Option<u64>) -> Quota {
        Quota {
            name: "requests".into(),
            counts: Counts::Requests,
            limit: Some(limit),
            period: Some(Duration::from_secs(60)),
            remaining,
            reset: Some(Duration::from_secs(60)),
            means: Means::Over,
        }
    }

    fn heard(quotas: &[Quota], tries: u64) -> Heard<'_> {
        Heard {
            at: Tick::ZERO,
            granted: Tick::ZERO,
            tries,
            in_flight: 1,
            quotas,
        }
    }

    #[test]
    fn limits_are_told_apart_and_their_number_is_bounded() {
        let mut evidence = Evidence::default();
        for limit in 1..100 {
            for left in [Some(7), Some(limit.min(5)), None, Some(6)] {
                evidence.hear(&mut None, &heard(&[quota(limit, left)], 1));
            }
        }
        assert_eq!(evidence.stated.len(), STATED);
        let last = evidence.stated.last().unwrap();
        assert_eq!((&*last.rate.written, last.least), ("8/m", Some(5)));
    }

    #[test]
    fn of_all_keys_the_one_of_which_others_took_most_is_told() {
        let mut evidence = Evidence::default();
        for least in [70, 40, 90] {
            let mut account = None;
            for (left, tries) in [(99, 1), (least, 2)] {
                evidence.hear(&mut account, &heard(&[quota(100, Some(left))], tries));
            }
        }
        let taken = Taken {
            counted: 59,
            others: 57,
        };
        assert_eq!(evidence.taken, taken);
        let mut both = evidence.clone();
        both.add(&evidence);
        assert_eq!(both.taken.others, 2 * taken.others);
        assert_eq!(both.stated, evidence.stated);
    }

    #[test]
    fn what_turns_out_to_be_no_one_limit_is_not_told() {
        let (mut evidence, mut account) = (Evidence::default(), None);
        for (left, tries, others) in [(99, 1, 0), (40, 2, 57), (90, 3, 0), (39, 4, 0)] {
            evidence.hear(&mut account, &heard(&[quota(100, Some(left))], tries));
            assert_eq!(evidence.taken.others, others, "{left}");
        }
    }

    #[test]
    fn a_limit_is_below_a_rate_whatever_their_periods() {
        let stated = |text: &str, least| Stated {
            counts: Counts::Requests,
            rate: text.parse().unwrap(),
            least,
        };
        for (server, own, below) in [
            ("60/m", "100/m", true),
            ("60/m", "1/s", false),
            ("59/m", "1/s", true),
            ("61/m", "1/s", false),
            ("1000/d", "1/m", true),
        ] {
            let below_it = stated(server, None).is_below(&own.parse().unwrap());
            assert_eq!(below_it, below, "{server} and {own}");
        }
        for (least, near) in [
            (None, true),
            (Some(0), true),
            (Some(6), true),
            (Some(7), false),
        ] {
            assert_eq!(stated("60/m", least).was_near(), near, "{least:?}");
        }
    }
}
