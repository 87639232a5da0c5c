//! How much retries may add to the load of a server. Floor 3: rules.
//!
//! Where most tries fail, each retry makes it worse. So retries that no server has asked for are a tenth of the jobs:
//! a job that is sent for the first time pays in a tenth of a retry, each retry takes out a whole one, as in
//! Finagle's `RetryBudget` and Envoy's `retry_budget`.
//!
//! A plain ratio over the whole run would let an hour of health save up a storm: no more is saved than the last
//! thousand jobs have paid in.

/// A retry, in the parts that a job pays in.
const RETRY: u32 = 10;

/// Few jobs are no load, and no ratio.
const JOBS: u32 = 1000;

/// What may be taken out for retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// So many more jobs are sent before it holds.
    free: u32,
    saved: u32,
    /// The most that is saved.
    most: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(JOBS)
    }
}

impl Budget {
    /// One that holds after so many jobs, and saves what so many pay in.
    pub fn of(jobs: u32) -> Self {
        Self {
            free: jobs,
            saved: jobs,
            most: jobs,
        }
    }

    /// A job is sent for the first time.
    pub fn pay_in(&mut self) {
        self.free = self.free.saturating_sub(1);
        self.saved = self.most.min(self.saved.saturating_add(1));
    }

    /// Whether there is enough for a retry.
    pub fn has_one(&self) -> bool {
        self.free > 0 || self.saved >= RETRY
    }

    /// A retry goes, also where there is not enough for it.
    pub fn take_out(&mut self) {
        if self.free == 0 {
            self.saved = self.saved.saturating_sub(RETRY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A budget after so many jobs, and how many retries go at once.
    fn after(jobs: u32) -> (Budget, u32) {
        let mut budget = Budget::default();
        let retries = jobs_and_retries(&mut budget, jobs);
        (budget, retries)
    }

    fn jobs_and_retries(budget: &mut Budget, jobs: u32) -> u32 {
        for _ in 0..jobs {
            budget.pay_in();
        }
        let mut retries = 0;
        while budget.has_one() {
            budget.take_out();
            retries += 1;
        }
        retries
    }

    #[test]
    fn the_first_thousand_jobs_are_free() {
        let mut budget = Budget::default();
        for _ in 0..999 {
            budget.pay_in();
            budget.take_out();
            assert!(budget.has_one());
        }
        let retries = jobs_and_retries(&mut budget, 1);
        assert_eq!(retries, 100, "what the last thousand paid in");
    }

    #[test]
    fn ten_jobs_pay_for_a_retry() {
        let (mut budget, _) = after(1000);
        for (jobs, retries) in [(9, 0), (1, 1), (10, 1), (999, 99), (1, 1)] {
            let gone = jobs_and_retries(&mut budget, jobs);
            assert_eq!(gone, retries, "{jobs} more jobs");
        }
    }

    #[test]
    fn an_hour_of_health_saves_up_no_storm() {
        assert_eq!(after(1_000_000).1, 100);
    }

    #[test]
    fn what_goes_without_is_no_debt() {
        let (mut budget, _) = after(1000);
        for _ in 0..1000 {
            budget.take_out();
        }
        assert_eq!(jobs_and_retries(&mut budget, 10), 1);
    }
}
