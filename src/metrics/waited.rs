//! What limited the jobs by their own waits, where nothing tells whose time it was. Floor 3: rules.

use std::cmp::Reverse;
use std::time::Duration;

use super::{Owner, Setup, Summary};

/// What jobs waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// As reports call it.
    pub name: String,
    /// `None` for a limit of which nothing but its name is told.
    pub owner: Option<Owner>,
    /// Summed over all jobs.
    pub span: Duration,
    /// Of all waits, rounded down.
    pub percent: u64,
}

/// All waits but those of no time, longest first.
pub fn waited(summary: &Summary, setup: &Setup) -> Vec<Waited> {
    let total: u128 = summary.tally.waits.sum().as_nanos();
    let each = summary
        .tally
        .waits
        .iter()
        .filter(|(_, span)| !span.is_zero());
    let mut waited: Vec<Waited> = each
        .map(|(wait, span)| {
            let owner = setup.owner_of(wait);
            let percent = (span.as_nanos() * 100).checked_div(total).unwrap_or(0);
            Waited {
                name: owner.map_or_else(|| format!("limit {wait}"), |owner| setup.name_of(owner)),
                owner,
                span,
                percent: u64::try_from(percent).unwrap_or(100),
            }
        })
        .collect();
    waited.sort_by_key(|wait| Reverse(wait.span));
    waited
}

/// All waits in per cent, rounded down, of the time that the jobs waited and were in flight; `None` if there were
/// none.
pub(super) fn share(waited: &[Waited], summary: &Summary) -> Option<u64> {
    let waits: u128 = waited.iter().map(|wait| wait.span.as_nanos()).sum();
    let mean = summary.stretch.mean.unwrap_or_default().as_nanos();
    let all = waits + mean * u128::from(summary.stretch.ended);
    let percent = (waits * 100).checked_div(all).filter(|_| waits > 0)?;
    Some(u64::try_from(percent).unwrap_or(100))
}

/// Whether it was the waits that chose the rate: at least this per cent of the time of the jobs, or of the run. One
/// job of a lane waits at a time, so beside many slots its wait is a small part of the first and most of the second;
/// jobs that rest, or whose connections are opened, do so beside each other.
pub(super) fn binds(waited: &[Waited], summary: &Summary, least: u64) -> bool {
    let beside = [Some(Owner::Backoff), Some(Owner::Connect)];
    let in_line = waited.iter().filter(|wait| !beside.contains(&wait.owner));
    let in_line: u128 = in_line.map(|wait| wait.span.as_nanos()).sum();
    let of_run = in_line * 100 >= summary.elapsed.as_nanos() * u128::from(least);
    share(waited, summary).is_some_and(|share| share >= least || of_run && in_line > 0)
}
