//! What a call promises: charged once however often it is sent, nothing written where it is refused, and nothing left
//! behind for longer than it counts.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use shaper::engine::share::{Answer, AskId, Common, Debt, HeldBy, Mark, Part, Wish};
use shaper::limit::{Spec, Used};
use shaper::store::{Caller, Chore, Heard, Shared, Time, Who};
use shaper::units::Cost;

use crate::server::Server;
use crate::{BEGAN, Member, bill, granted, part, shared, slot, tick};

const SECOND: u64 = 1_000_000;

fn of(texts: &[&str]) -> Vec<Spec> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn refused(answer: &Answer) -> Duration {
    match answer {
        Answer::Refused(_, wait) => *wait,
        Answer::Granted(_) | Answer::Leased(_) => panic!("{answer:?}"),
    }
}

#[test]
fn the_same_call_sent_twice_is_charged_once_and_answered_alike() {
    let server = Server::start();
    let what = shared("once", &of(&["10/s burst=3", "5/s window"]));
    let mut member = Member::join(&server, &what, "m", 0);
    let mut wishes = VecDeque::from([member.wish(0, &[part(0, 2), part(1, 1)])]);
    let call = member.caller.next(&mut wishes, Chore::None);
    let request = |member: &Member, now| {
        let time = Time::Told(BEGAN + now);
        member
            .caller
            .request(&call, tick(now), Duration::ZERO, time)
    };
    let first = request(&member, 0);
    let first = member.send(&first);
    // Sent again it is later, and its moments are longer ago: it is the same call all the same.
    let again = request(&member, 300_000);
    assert_eq!(member.send(&again), first);
    let left = member.ask(300_000, 300_000, &[part(0, 3), part(1, 4)]);
    granted(&left);
}

#[test]
fn one_that_is_refused_by_one_limit_pays_none() {
    let server = Server::start();
    let what = shared("none", &of(&["10/s burst=10", "1/s"]));
    let mut member = Member::join(&server, &what, "m", 0);
    granted(&member.ask(0, 0, &[part(0, 1), part(1, 1)]));
    let answer = member.ask(0, 0, &[part(0, 1), part(1, 1)]);
    let by = HeldBy::Limit(Common::Limit(1));
    assert_eq!(answer, Answer::Refused(by, Duration::from_secs(1)));
    granted(&member.ask(0, 0, &[part(0, 9)]));
}

#[test]
fn every_key_ends_when_it_no_longer_counts() {
    let server = Server::start();
    let texts = [
        "20/s",
        "tokens 600/10s",
        "20/s window",
        "20/s window-counter",
        "20/s fixed",
    ];
    let mut what = shared("ends", &of(&texts));
    what.slots = Cost::new(3);
    let mut member = Member::join(&server, &what, "m", 0);
    let mut parts: Vec<_> = (0..5).map(|limit| part(limit, 1)).collect();
    parts[1].cost = Cost::new(600).unwrap();
    parts.push(slot());
    let answer = member.ask(0, 0, &parts);
    let Answer::Granted(charged) = &answer else {
        panic!("{answer:?}");
    };
    member.settle(0, bill(&parts[1], charged[1]), Used::Known(7));
    member.call(0, vec![Wish::Pause("lane".into(), tick(SECOND))]);
    refused(&member.ask(0, 0, &parts));
    let keys = server.keys();
    assert!(keys.len() > 10, "{keys:?}");
    for (key, left) in keys {
        assert!(key.starts_with("shaper:{ends}:"), "{key}");
        // Twice the longest window, or the minute for which use is told.
        assert!((1..=65_000).contains(&left), "{key} ends in {left} ms");
        let window = key.ends_with(":log") || key.contains("}:3-") || key.contains("}:4-");
        assert!(!window || left <= 17_000, "{key} ends in {left} ms");
    }
}

#[test]
fn a_state_that_has_ended_is_as_good_as_one_that_was_kept() {
    let server = Server::start();
    let what = shared("short", &of(&["1000/s burst=5 start=0"]));
    let mut member = Member::join(&server, &what, "m", 0);
    granted(&member.ask(SECOND, SECOND, &[part(0, 5)]));
    let state = |(key, _): &(String, i64)| key.contains("}:0-");
    assert!(server.keys().iter().any(state));
    while server.keys().iter().any(state) {
        thread::sleep(Duration::from_millis(50));
    }
    granted(&member.ask(2 * SECOND, 2 * SECOND, &[part(0, 5)]));
    refused(&member.ask(2 * SECOND, 2 * SECOND, &[part(0, 1)]));
}

#[test]
fn members_of_yesterday_in_a_window_do_not_count() {
    let server = Server::start();
    let what = shared("old", &of(&["2/s window"]));
    let mut member = Member::join(&server, &what, "m", 0);
    granted(&member.ask(0, 0, &[part(0, 1)]));
    let keys = server.keys();
    let log = keys.iter().find(|(key, _)| key.ends_with(":log"));
    let log = &log.unwrap().0;
    let yesterday = (BEGAN - 86_400 * SECOND).to_string();
    for number in 1..100 {
        let name = format!("{number}:1");
        server.says::<i64>(&["ZADD", log, &yesterday, &name]);
    }
    granted(&member.ask(0, 0, &[part(0, 1)]));
    refused(&member.ask(0, 0, &[part(0, 1)]));
    assert_eq!(server.says::<i64>(&["ZCARD", log]), 2);
}

#[test]
fn a_data_base_that_was_emptied_is_joined_again_before_anything_is_charged() {
    let server = Server::start();
    let what = shared("emptied", &of(&["2/m window"]));
    let mut member = Member::join(&server, &what, "m", 0);
    granted(&member.ask(0, 0, &[part(0, 2)]));
    server.says::<()>(&["FLUSHALL"]);
    let mut wishes = VecDeque::from([member.wish(0, &[part(0, 1)])]);
    let call = member.caller.next(&mut wishes, Chore::None);
    let time = Time::Told(BEGAN);
    let request = member.caller.request(&call, tick(0), Duration::ZERO, time);
    let reply = member.send(&request);
    assert_eq!(member.caller.hear(&call, &reply), Ok(Heard::Emptied));
    assert!(server.keys().is_empty());
    let joined = member.caller.join(time);
    let reply = member.send(&joined);
    assert_eq!(member.caller.hear_join(&reply), Ok(Heard::Joined(1)));
    let request = member.caller.request(&call, tick(0), Duration::ZERO, time);
    let reply = member.send(&request);
    let Ok(Heard::Done {
        members: 1,
        answers,
        ..
    }) = member.caller.hear(&call, &reply)
    else {
        panic!("{reply}");
    };
    granted(&answers[0].1);
}

#[test]
fn a_clock_that_goes_back_neither_opens_nor_closes_a_limit_for_longer_than_it_takes_to_fill() {
    let server = Server::start();
    for text in [
        "10/s burst=10",
        "10/s window",
        "10/s window-counter",
        "10/s fixed",
        "10/s fixed anchor=first",
    ] {
        let what = shared(&format!("back {text}"), &of(&[text]));
        let hour = 3600 * SECOND;
        let mut member = Member::join(&server, &what, "m", hour);
        let answer = member.ask(hour, hour, &[part(0, 10)]);
        let Answer::Granted(charged) = &answer else {
            panic!("{answer:?}");
        };
        member.moved(hour, bill(&part(0, 10), charged[0]));
        // A little back: what was charged still counts.
        let near = hour - 300_000;
        refused(&member.ask(near, near, &[part(0, 10)]));
        // Far back: it opens within two periods.
        let mut now = 0;
        while let Answer::Refused(_, wait) = member.ask(now, now, &[part(0, 10)]) {
            now += u64::try_from(wait.as_micros()).unwrap();
            assert!(now <= 2 * SECOND, "{text} is closed until {now}");
        }
    }
}

#[test]
fn others_with_other_limits_are_told_apart_while_they_are_there() {
    let server = Server::start();
    let ten = shared("apart", &of(&["10/s"]));
    let five = shared("apart", &of(&["5/s"]));
    let same = shared("apart", &of(&["600/m"]));
    let mut member = Member::join(&server, &ten, "m", 0);
    let mut join = |what: &Shared, now: u64| {
        let who = Who {
            member: "other".to_owned(),
            place: String::new(),
            since: 0,
        };
        let mut caller = Caller::new(what, who).unwrap();
        let reply = member.send(&caller.join(Time::Told(BEGAN + now)));
        caller.hear_join(&reply).unwrap()
    };
    let Heard::Others(text) = join(&five, 0) else {
        panic!("they are not the same");
    };
    assert!(text.contains("10/s bucket burst=1"), "{text}");
    assert_eq!(
        join(&same, 0),
        Heard::Joined(2),
        "600 a minute are 10 a second"
    );
    assert_eq!(join(&ten, 0), Heard::Joined(2));
    assert_eq!(
        join(&five, 7 * SECOND),
        Heard::Joined(1),
        "nobody was heard for six seconds"
    );
}

#[test]
fn a_pause_holds_its_lane_for_everybody_and_the_later_one_stands() {
    let server = Server::start();
    let what = shared("pause", &of(&["100/s burst=100"]));
    let mut one = Member::join(&server, &what, "one", 0);
    let mut other = Member::join(&server, &what, "other", 0);
    one.call(0, vec![Wish::Pause("lane".into(), tick(2 * SECOND))]);
    one.call(0, vec![Wish::Pause("lane".into(), tick(SECOND))]);
    let answer = other.ask(500_000, 0, &[part(0, 1)]);
    let wait = Duration::from_millis(1500);
    assert_eq!(answer, Answer::Refused(HeldBy::Pause, wait));
    granted(&other.ask(2 * SECOND, 0, &[part(0, 1)]));
}

#[test]
fn a_limit_whose_numbers_a_double_does_not_hold_is_refused_with_the_bound() {
    let who = || Who {
        member: "m".to_owned(),
        place: String::new(),
        since: 0,
    };
    for (text, told) in [
        ("999983/d burst=999983", "1125899906842624"),
        ("1/1500ns", "whole number of microseconds"),
        ("100000000000/m window", "68719476736"),
    ] {
        let why = Caller::new(&shared("big", &of(&[text])), who()).unwrap_err();
        assert!(why.what.contains(text.split(' ').next().unwrap()), "{why}");
        assert!(why.what.contains(told), "{why}");
    }
    let most = [
        "1000000/d burst=1000000",
        "1/30d",
        "1000000000/s",
        "1000000/d window-counter",
    ];
    Caller::new(&shared("big", &of(&most)), who()).unwrap();
}

#[test]
fn a_cost_above_what_a_limit_holds_goes_when_that_is_full_and_is_owed_whole() {
    let server = Server::start();
    for (text, opens) in [
        // Minus fifteen, and one: 16 refill in 1.6 s.
        ("10/s burst=10", 1_600_000),
        // The last five stand in the third period.
        ("10/s window", 2 * SECOND),
        ("10/s fixed", 2 * SECOND),
    ] {
        let what = shared(&format!("dear {text}"), &of(&[text]));
        let mut member = Member::join(&server, &what, "m", 0);
        let dear = part(0, 25);
        let answer = member.ask(0, 0, std::slice::from_ref(&dear));
        let Answer::Granted(charged) = answer else {
            panic!("{answer:?}");
        };
        member.moved(0, bill(&dear, charged[0]));
        let mut now = 0;
        while let Answer::Refused(_, wait) = member.ask(now, 0, &[part(0, 1)]) {
            now += u64::try_from(wait.as_micros()).unwrap();
        }
        assert_eq!(now, opens, "{text}");
    }
}

#[test]
fn values_of_keys_and_names_of_lanes_stand_nowhere_in_the_store() {
    let server = Server::start();
    let mut what = shared("secret", &of(&["10/s", "10/s window"]));
    what.slots = Cost::new(2);
    let mut member = Member::join(&server, &what, "m", 0);
    let keyed = |limit| Part {
        key: Some("sk-canary".into()),
        ..part(limit, 1)
    };
    let lane = "https://host sk-canary";
    let ask = |id| Wish::Admit {
        id,
        lane: lane.into(),
        could_go: tick(0),
        parts: [keyed(0), keyed(1)].into(),
    };
    member.call(0, vec![ask(AskId(1))]);
    member.call(
        0,
        vec![ask(AskId(2)), Wish::Pause(lane.into(), tick(SECOND))],
    );
    let mut connection = server.connection();
    for (key, _) in server.keys() {
        assert!(!key.contains("canary"), "{key}");
        let held: Vec<u8> = ::redis::cmd("DUMP")
            .arg(&key)
            .query(&mut connection)
            .unwrap();
        let held = String::from_utf8_lossy(&held).into_owned();
        assert!(!held.contains("canary"), "{key}: {held}");
    }
}

#[test]
fn what_is_owed_and_forgiven_is_not_given_back_later() {
    let server = Server::start();
    let what = shared("owed", &of(&["tokens 10/s burst=10"]));
    let mut member = Member::join(&server, &what, "m", 0);
    let (five, one) = (part(0, 5), part(0, 1));
    let first = granted(&member.ask(0, 0, std::slice::from_ref(&five)))[0];
    let second = granted(&member.ask(0, 0, std::slice::from_ref(&one)))[0];
    // From 4 down to minus 10, and what lies below is forgiven.
    member.settle(0, bill(&one, second), Used::Known(1_000_000));
    member.settle(0, bill(&five, first), Used::Known(0));
    let mut now = 0;
    while let Answer::Refused(_, wait) = member.ask(now, 0, std::slice::from_ref(&one)) {
        now += u64::try_from(wait.as_micros()).unwrap();
    }
    assert_eq!(now, 1_100_000, "11 refill in 1.1 s");
}

#[test]
fn slots_of_one_that_was_killed_are_free_after_15_s_and_not_before() {
    let server = Server::start();
    let mut what = shared("held", &[]);
    what.slots = Cost::new(1);
    let mut one = Member::join(&server, &what, "one", 0);
    let mut two = Member::join(&server, &what, "two", 0);
    let slot = [slot()];
    granted(&one.ask(0, 0, &slot));
    one.call_with(10 * SECOND, vec![], Chore::Renew);
    // It is not heard again.
    refused(&two.ask(24 * SECOND, 0, &slot));
    granted(&two.ask(25 * SECOND, 0, &slot));
    // Had it only been stopped, its try is in flight all the same, and it says so.
    one.call_with(26 * SECOND, vec![], Chore::Renew);
    let mark = granted(&two.ask(41 * SECOND, 0, &slot))[0];
    two.settle(41 * SECOND, bill(&slot[0], mark), Used::Unknown);
    granted(&two.ask(41 * SECOND, 0, &slot));
}

#[test]
fn slots_of_tries_that_nobody_asked_for_are_held_as_all_others_are_and_each_is_given_back_once() {
    let server = Server::start();
    let mut what = shared("own", &[]);
    what.slots = Cost::new(2);
    let mut one = Member::join(&server, &what, "one", 0);
    let mut two = Member::join(&server, &what, "two", 0);
    let slot = [slot()];
    let own = |number| bill(&slot[0], Mark::own(number));
    let back = |number| Wish::Settle(own(number), tick(SECOND), Used::Unknown);
    // Each calls its own the first: they are two, and a third that is over already is none.
    one.call(0, vec![Wish::Hold(own(1))]);
    two.call(0, vec![Wish::Hold(own(1)), Wish::Hold(own(2)), back(2)]);
    refused(&one.ask(1, 0, &slot));
    one.call_with(10 * SECOND, vec![], Chore::Renew);
    two.call_with(10 * SECOND, vec![], Chore::Renew);
    refused(&one.ask(20 * SECOND, 0, &slot));
    two.call(20 * SECOND, vec![back(1)]);
    granted(&one.ask(20 * SECOND, 0, &slot));
    refused(&two.ask(20 * SECOND, 0, &slot));
}

#[test]
fn a_call_that_arrives_after_a_later_one_does_nothing() {
    let server = Server::start();
    let what = shared("late", &of(&["tokens 100/h burst=100"]));
    let mut member = Member::join(&server, &what, "one", 0);
    let part = part(0, 60);
    let answer = member.ask(0, 0, std::slice::from_ref(&part));
    let back = Wish::Settle(bill(&part, granted(&answer)[0]), tick(1), Used::Known(30));
    let call = member.caller.next(&mut vec![back].into(), Chore::None);
    let time = Time::Told(BEGAN + 1);
    let request = member.caller.request(&call, tick(1), Duration::ZERO, time);
    assert!(member.send(&request).starts_with("done"));
    granted(&member.ask(2, 2, std::slice::from_ref(&part)));
    // The same on a connection that was given up: it gives nothing back again.
    assert_eq!(member.send(&request), "late");
    let refused = member.ask(3, 3, &[crate::part(0, 11)]);
    assert!(matches!(refused, Answer::Refused(..)), "{refused:?}");
}

#[test]
fn what_left_later_than_was_thought_counts_from_when_it_left() {
    let server = Server::start();
    let mut what = shared("later", &of(&["2/s window"]));
    what.timeout = Duration::from_millis(100);
    let mut member = Member::join(&server, &what, "one", 0);
    let part = part(0, 2);
    let answer = member.ask(0, 0, std::slice::from_ref(&part));
    let bill = bill(&part, granted(&answer)[0]);
    // Nobody would have thought that it was on its way for so long; its place is free again.
    let late = 1_500_000;
    member.moved_at(late, bill, late);
    let refused = member.ask(late + 1, late + 1, std::slice::from_ref(&part));
    assert!(matches!(refused, Answer::Refused(..)), "{refused:?}");
    granted(&member.ask(late + 1_000_000 + 20_000, 0, &[part]));
}

#[test]
fn what_was_taken_without_the_store_counts_there_from_when_it_was_taken() {
    let server = Server::start();
    let now = 5 * SECOND + 500_000;
    for text in [
        "10/s burst=10",
        "10/s window",
        "10/s window-counter",
        "10/s fixed",
        "10/s fixed anchor=first",
    ] {
        for (ago, fits) in [(100_000, false), (3 * SECOND, true)] {
            let what = shared(&format!("{text} {ago}"), &of(&[text]));
            let mut member = Member::join(&server, &what, "one", 0);
            granted(&member.ask(0, 0, &[part(0, 1)]));
            let taken = [(tick(now - ago), Cost::new(10).unwrap())];
            let debt = Debt {
                of: Common::Limit(0),
                key: None,
                taken: taken.into(),
            };
            member.call(now, vec![Wish::Owe(debt)]);
            let answer = member.ask(now, now, &[part(0, 10)]);
            assert_eq!(
                matches!(answer, Answer::Granted(_)),
                fits,
                "{text}: {answer:?}"
            );
            // However much it is, after a while all fits again.
            granted(&member.ask(now + 4 * SECOND, now + 4 * SECOND, &[part(0, 10)]));
        }
    }
}
