//! Several runs on one quota: everyone has its turn, and next to nothing of the quota is left unused. In told time, each
//! run comes up to a millisecond late, as timers and networks have it.

use std::collections::BTreeSet;
use std::time::Duration;

use shaper::engine::share::{Answer, Wish};
use shaper::limit::{Spec, Used};

use crate::server::Server;
use crate::{Member, bill, granted, part, shared, tick};

const SECOND: u64 = 1_000_000;

/// How long ago a try may be charged for, in microseconds.
const SLACK: u64 = 2_000;

/// How late a run comes at most, in microseconds.
const LATE: u64 = 1_000;

/// A run with jobs of one cost.
struct Run {
    member: Member,
    left: usize,
    cost: u64,
    /// How many it asks for at a time.
    asks: usize,
    /// Since when its head could go.
    could_go: u64,
    sends: Vec<u64>,
    /// It is killed then.
    dies: Option<u64>,
}

impl Run {
    fn new(
        server: &Server,
        what: &shaper::store::Shared,
        name: &str,
        left: usize,
        cost: u64,
    ) -> Self {
        Self {
            member: Member::join(server, what, name, 0),
            left,
            cost,
            asks: 8,
            could_go: 0,
            sends: Vec::new(),
            dies: None,
        }
    }

    /// Asks for its heads; when it comes again.
    fn comes(&mut self, now: u64) -> Option<u64> {
        if self.left == 0 || self.dies.is_some_and(|at| at <= now) {
            return None;
        }
        let parts = [part(0, self.cost)];
        let heads = self.asks.min(self.left);
        let wishes = (0..heads).map(|_| self.member.wish(self.could_go, &parts));
        let wishes: Vec<Wish> = wishes.collect();
        let answers = self.member.call(now, wishes);
        let mut next = None;
        let mut left = Vec::new();
        for (_, answer) in answers {
            match answer {
                Answer::Granted(charged) => {
                    self.left -= 1;
                    self.sends.push(now);
                    left.push(Wish::Moved(bill(&parts[0], charged[0]), tick(now)));
                }
                Answer::Leased(_) => panic!("{answer:?}"),
                Answer::Refused(_, wait) => {
                    let at = now + u64::try_from(wait.as_micros()).unwrap();
                    next = Some(next.map_or(at, |next: u64| next.min(at)));
                }
            }
        }
        if !left.is_empty() {
            self.member.call(now, left);
        }
        let next = next.unwrap_or(now + 100);
        (self.left > 0).then_some(next)
    }
}

/// Lets them run, each from its moment; returns when the last job went.
fn play(runs: &mut [Run], begins: u64) -> u64 {
    let mut agenda: BTreeSet<(u64, usize)> = (0..runs.len())
        .map(|run| (begins * run as u64, run))
        .collect();
    let mut last = 0;
    while let Some((now, run)) = agenda.pop_first() {
        let sent = runs[run].sends.len();
        if let Some(next) = runs[run].comes(now) {
            // No two are late alike.
            let late = (next * 7919 + run as u64 * 104_729) % LATE;
            agenda.insert((next + late, run));
        }
        if runs[run].sends.len() > sent {
            last = now;
        }
    }
    last
}

/// What each of them had when half of all was sent.
fn halfway(runs: &[Run]) -> Vec<usize> {
    let mut all: Vec<u64> = runs.iter().flat_map(|run| run.sends.clone()).collect();
    all.sort_unstable();
    let half = all[all.len() / 2];
    runs.iter()
        .map(|run| run.sends.iter().filter(|at| **at < half).count())
        .collect()
}

fn runs(server: &Server, text: &str, names: &[&str], jobs: usize, cost: u64) -> Vec<Run> {
    let spec: Spec = text.parse().unwrap();
    let mut what = shared(&format!("{text} {names:?}"), &[spec]);
    what.slack = Duration::from_micros(SLACK);
    let run = |name: &&str| Run::new(server, &what, name, jobs, cost);
    names.iter().map(run).collect()
}

#[test]
fn four_runs_have_their_turns_and_are_as_fast_as_one_alone() {
    let server = Server::start();
    for (text, jobs, cost) in [
        ("10/s", 100, 1),
        ("1000/s", 400, 1),
        ("5000/s", 1000, 1),
        ("10/s window", 50, 1),
        ("tokens 600/10s window", 20, 100),
        ("tokens 600/10s burst=600", 20, 100),
        ("20/s fixed", 50, 1),
        ("20/s window-counter", 50, 1),
    ] {
        let alone = play(&mut runs(&server, text, &["alone"], 4 * jobs, cost), 0);
        let mut four = runs(&server, text, &["a", "b", "c", "d"], jobs, cost);
        let last = play(&mut four, 3_000);
        let each = halfway(&four);
        let whole: usize = four.iter().map(|run| run.sends.len()).sum();
        assert_eq!(whole, 4 * jobs);
        let share = |own: &usize| own * 10 >= whole / 2;
        assert!(each.iter().all(share), "{text}: {each:?}");
        let most = alone * 102 / 100 + 10 * SLACK;
        assert!(last <= most, "{text}: {last}, one alone {alone}");
    }
}

#[test]
fn one_that_waits_and_does_not_come_holds_nobody_for_longer_than_its_grace() {
    let server = Server::start();
    let mut two = runs(&server, "10/s", &["dies", "stays"], 20, 1);
    two[0].dies = Some(350_000);
    let last = play(&mut two, 3_000);
    assert_eq!(two[1].sends.len(), 20);
    let sends = two[0].sends.len() + two[1].sends.len();
    let each = SECOND / 10;
    let least = each * (sends as u64 - 1);
    assert!(
        (least..least + 30_000).contains(&last),
        "{sends} until {last}"
    );
}

#[test]
fn a_dear_try_is_not_starved_by_cheap_ones_of_others() {
    let server = Server::start();
    let mut both = runs(&server, "100/s burst=20", &["cheap", "dear"], 400, 1);
    both[1].cost = 20;
    both[1].left = 10;
    play(&mut both, 1_000);
    // Both take half: ten of twenty need 4 s beside as many of one.
    let last = both[1].sends.last().unwrap();
    assert!(*last < 3 * SECOND, "the dear ones went until {last}");
}

#[test]
fn units_that_are_given_back_reach_those_who_wait_within_a_tenth_of_a_second() {
    let server = Server::start();
    let what = shared("back", &["tokens 600/h burst=600".parse().unwrap()]);
    let mut one = Member::join(&server, &what, "one", 0);
    let mut two = Member::join(&server, &what, "two", 0);
    let part = part(0, 600);
    let Answer::Granted(charged) = one.ask(0, 0, std::slice::from_ref(&part)) else {
        panic!("nothing was taken before");
    };
    let Answer::Refused(_, wait) = two.ask(0, 0, std::slice::from_ref(&part)) else {
        panic!("all is taken");
    };
    assert_eq!(wait, Duration::from_millis(100));
    one.settle(50_000, bill(&part, charged[0]), Used::Known(0));
    granted(&two.ask(100_000, 0, &[part]));
}
