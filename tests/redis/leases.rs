//! Grants ahead: a limit tells the moments at which it lets tries through before they have come, to whoever asks, and all of
//! them together keep it.

use std::collections::BTreeSet;
use std::time::Duration;

use shaper::engine::share::{Answer, Common, Mark, Part, Wish};
use shaper::limit::{Ready, Setting, Spec, Used};
use shaper::store::Chore;
use shaper::units::Tick;

use crate::server::Server;
use crate::{BEGAN, Member, bill, granted, part, shared, tick};

const SECOND: u64 = 1_000_000;

/// What was granted ahead, by its moment and what it is called, or how long nothing is.
type Ahead = Result<Vec<(u64, Mark)>, u64>;

/// Asks for so many, as far ahead, in microseconds.
fn ahead(member: &mut Member, now: u64, most: u64, reach: u64, parts: &[Part]) -> Ahead {
    let wish = Wish::Lease {
        id: shaper::engine::share::AskId(now),
        lane: "lane".into(),
        could_go: tick(now),
        parts: parts.into(),
        most,
        reach: Duration::from_micros(reach),
    };
    let (mut answers, _) = member.call_told(now, vec![wish], Chore::None);
    match answers.pop().unwrap() {
        (_, Answer::Leased(leased), at) => {
            let each = (0..).zip(&leased.after).map(|(nth, after)| {
                let after = u64::try_from(after.as_micros()).unwrap();
                (at - BEGAN + after, leased.marks(nth)[0])
            });
            Ok(each.collect())
        }
        (_, Answer::Refused(_, wait), _) => Err(u64::try_from(wait.as_micros()).unwrap()),
        (_, granted @ Answer::Granted(_), _) => panic!("{granted:?}"),
    }
}

fn moments(ahead: &Ahead) -> Vec<u64> {
    ahead.as_ref().unwrap().iter().map(|(at, _)| *at).collect()
}

fn of(texts: &[&str]) -> Vec<Spec> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn each_has_the_moment_at_which_every_limit_lets_it_go_and_nobody_else_does() {
    let server = Server::start();
    let what = shared("moments", &of(&["10/s burst=3", "7/s leaky"]));
    let mut member = Member::join(&server, &what, "m", 0);
    let parts = [part(0, 1), part(1, 1)];
    let first = moments(&ahead(&mut member, 0, 5, SECOND, &parts));
    assert_eq!(first, [0, 142_858, 285_716, 428_574, 571_432]);
    // Who asks for now comes after them, and so does who asks ahead.
    let one = std::slice::from_ref(&parts[1]);
    let Answer::Refused(_, wait) = member.ask(600_000, 600_000, one) else {
        panic!("it is taken");
    };
    assert_eq!(wait, Duration::from_micros(714_290 - 600_000));
    let more = moments(&ahead(&mut member, 600_000, 9, 200_000, &parts));
    assert_eq!(more, [714_290]);
    assert_eq!(
        ahead(&mut member, 600_000, 9, 100_000, &parts),
        Err(157_148)
    );
}

#[test]
fn what_several_have_is_what_one_limit_lets_through_one_after_the_other() {
    let server = Server::start();
    for text in ["20/s", "20/s leaky burst=4", "1000/s", "3/s burst=2"] {
        let specs = of(&[text]);
        let what = shared(&format!("union {text}"), &specs);
        let mut own = specs[0].build(&Setting::VIRTUAL);
        let names = ["a", "b", "c"];
        let mut all: Vec<_> = names
            .iter()
            .map(|name| Member::join(&server, &what, name, 0))
            .collect();
        let mut had = Vec::new();
        let mut now = 0;
        for round in 0..60_u64 {
            let member = &mut all[usize::try_from(round * 7 % 3).unwrap()];
            if round % 5 == 4 {
                let answer = member.ask(now, now, &[part(0, 1)]);
                had.extend(matches!(answer, Answer::Granted(_)).then_some(now));
            } else if let Ok(some) = ahead(member, now, 1 + round % 9, 300_000, &[part(0, 1)]) {
                had.extend(some.iter().map(|(at, _)| *at));
                // What is not used is never used later by anybody.
                let (at, mark) = some[some.len() / 2];
                if round % 3 == 0 {
                    had.retain(|had| *had != at);
                    member.settle(now, bill(&part(0, 1), mark), Used::NeverSent);
                }
            }
            now += round * 7919 % 90_000;
        }
        had.sort_unstable();
        assert!(had.len() > 8, "{text}: {had:?}");
        for at in had {
            // As told, in whole microseconds rounded up: what they lose is in the state of neither.
            let ready = own.ready(tick(at), shaper::units::Cost::ONE);
            assert_eq!(ready, Ready::At(tick(at)), "{text}");
            own.take(tick(at), shaper::units::Cost::ONE);
        }
    }
}

#[test]
fn what_is_not_used_is_lost_for_no_longer_than_it_reached() {
    let server = Server::start();
    let what = shared("lost", &of(&["10/s"]));
    let mut dies = Member::join(&server, &what, "dies", 0);
    let mut stays = Member::join(&server, &what, "stays", 0);
    let had = moments(&ahead(&mut dies, 0, 100, 500_000, &[part(0, 1)]));
    assert_eq!(had, [0, 100_000, 200_000, 300_000, 400_000, 500_000]);
    // It is never heard again.
    let Err(wait) = ahead(&mut stays, 50_000, 100, 500_000, &[part(0, 1)]) else {
        panic!("all of it is taken");
    };
    assert_eq!(wait, 50_000);
    let had = moments(&ahead(&mut stays, 100_000, 100, 500_000, &[part(0, 1)]));
    assert_eq!(had, [600_000]);
    granted(&stays.ask(700_000, 700_000, &[part(0, 1)]));
}

#[test]
fn what_the_last_gives_back_is_there_again_and_a_hole_between_others_is_not() {
    let server = Server::start();
    let what = shared("back", &of(&["10/s"]));
    let (one, part) = (part(0, 1), part(0, 1));
    let mut first = Member::join(&server, &what, "first", 0);
    let had = ahead(&mut first, 0, 3, SECOND, std::slice::from_ref(&part)).unwrap();
    first.settle(0, bill(&part, had[1].1), Used::NeverSent);
    let next = ahead(&mut first, 0, 1, SECOND, std::slice::from_ref(&part)).unwrap();
    assert_eq!(next[0].0, 300_000);
    first.settle(0, bill(&one, next[0].1), Used::NeverSent);
    let again = ahead(&mut first, 0, 1, SECOND, std::slice::from_ref(&part)).unwrap();
    assert_eq!(again[0].0, 300_000);
}

/// One who takes what it needs ahead, over a way there and back of so long.
struct Run {
    member: Member,
    trip: u64,
    last: u64,
    had: Vec<u64>,
}

/// Who comes when: the store hears it half a way later.
fn play(runs: &mut [Run], rate: u64, until: u64) {
    let mut agenda: BTreeSet<(u64, usize)> = (0..runs.len()).map(|run| (run as u64, run)).collect();
    let reach_of = |trip| 2 * trip + 4_000;
    let farthest = runs.iter().map(|run| reach_of(run.trip)).max().unwrap();
    while let Some((now, nth)) = agenda.pop_first() {
        if now > until {
            break;
        }
        let run = &mut runs[nth];
        let wants = farthest * rate / SECOND + 1;
        let reach = reach_of(run.trip);
        let again = match ahead(&mut run.member, now, wants, reach, &[part(0, 1)]) {
            Ok(some) => {
                run.had.extend(some.iter().map(|(at, _)| *at));
                run.last = run.had[run.had.len() - 1];
                // It is heard of, and asked again when that lasts for no longer than the way, or than others look ahead.
                let lasts = (run.trip * 5 / 4 + 2_000).max(farthest / 2);
                run.last.saturating_sub(lasts).max(now + run.trip)
            }
            // The way is begun before the moment is there.
            Err(wait) => now + wait.max(run.trip),
        };
        agenda.insert((again, nth));
    }
}

#[test]
fn who_asks_ahead_has_its_part_whatever_its_way_and_nothing_is_left_unused() {
    let server = Server::start();
    for (rate, trips) in [
        (20, [500_000; 4]),
        (2_000, [20_000; 4]),
        (20, [500_000, 500_000, 50_000, 200_000]),
        (1_000, [100_000, 1_000, 1_000, 20_000]),
    ] {
        let what = shared(&format!("{rate} {trips:?}"), &of(&[&format!("{rate}/s")]));
        let join = |(nth, trip): (usize, &u64)| {
            let mut member = Member::join(&server, &what, &nth.to_string(), 0);
            member.trip = Duration::from_micros(*trip);
            Run {
                member,
                trip: *trip,
                last: 0,
                had: Vec::new(),
            }
        };
        let mut runs: Vec<Run> = trips.iter().enumerate().map(join).collect();
        let until = 20 * SECOND;
        play(&mut runs, rate, until);
        let each = runs.iter().map(|run| {
            let half = run.had.iter().filter(|at| **at < until / 2);
            half.count() as u64
        });
        let each: Vec<u64> = each.collect();
        let all: u64 = each.iter().sum();
        let most = rate * until / 2 / SECOND;
        assert!(
            all * 100 >= most * 95,
            "{rate} {trips:?}: {each:?} of {most}"
        );
        assert!(
            each.iter().all(|own| own * 10 >= all),
            "{rate} {trips:?}: {each:?}"
        );
    }
}

#[test]
fn one_who_asks_for_now_has_its_turn_among_those_who_ask_ahead() {
    let server = Server::start();
    let what = shared("mixed", &of(&["100/s"]));
    let mut far = Member::join(&server, &what, "far", 0);
    let mut near = Member::join(&server, &what, "near", 0);
    let (mut now, mut next_far, mut next_near) = (0, 0, 0);
    let (mut of_far, mut of_near) = (0, 0);
    while now < 10 * SECOND {
        now = next_far.min(next_near);
        if next_far == now {
            match ahead(&mut far, now, 20, 100_000, &[part(0, 1)]) {
                Ok(some) => (of_far, next_far) = (of_far + some.len(), now + 50_000),
                Err(wait) => next_far = now + wait + 1_000,
            }
        } else {
            next_near = now + 100;
            if let Answer::Refused(_, wait) = near.ask(now, 0, &[part(0, 1)]) {
                next_near = now + u64::try_from(wait.as_micros()).unwrap();
            } else {
                of_near += 1;
            }
        }
    }
    assert!(of_near >= 50, "{of_near} beside {of_far}");
    assert!(of_far + of_near >= 900, "{of_near} beside {of_far}");
}

#[test]
fn a_pause_and_a_value_of_a_key_hold_for_what_is_granted_ahead() {
    let server = Server::start();
    let what = shared("keyed", &of(&["10/s per=field:key"]));
    let mut member = Member::join(&server, &what, "m", 0);
    let of = |key: &str| Part {
        of: Common::Limit(0),
        key: Some(key.into()),
        ..part(0, 1)
    };
    assert_eq!(
        moments(&ahead(&mut member, 0, 2, SECOND, &[of("a")])),
        [0, 100_000]
    );
    assert_eq!(
        moments(&ahead(&mut member, 0, 2, SECOND, &[of("b")])),
        [0, 100_000]
    );
    member.call(1, vec![Wish::Pause("lane".into(), Tick(5_000_000_000))]);
    let held = ahead(&mut member, 2, 2, SECOND, &[of("a")]);
    assert!(held.is_err_and(|wait| wait > 4 * SECOND));
}
