//! The normative vectors by the script, one nanosecond of theirs as one microsecond. Left out are those of slots (held
//! ones would come free), of several lanes, of retries and of cancels: these are the engine's.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use shaper::engine::share::{Answer, Bill, Part};
use shaper::limit::{Counts, Spec, Used};

use crate::normative::{limit, list, number, requests, vectors};
use crate::server::Server;
use crate::{Member, bill, part, shared};

const LEFT_OUT: [&str; 8] = [
    "semaphore_fifo_weighted",
    "stacked_no_partial",
    "cancel_head",
    "lanes_no_hol",
    "lanes_heavy_not_starved",
    "retry_reenters",
    "retry_after_blocks_key",
    // One lane of it is refused by the engine; the other one is tried.
    "oversize_error_and_debt of lane e",
];

#[test]
fn every_normative_vector_of_one_lane_is_met_to_the_microsecond() {
    let server = Server::start();
    let mut met = 0;
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        if LEFT_OUT.contains(&name) {
            continue;
        }
        let (requests, limiters) = lane_of(&vector);
        let expected: Vec<(u64, u64)> = list(&vector["admits"])
            .iter()
            .map(|admit| (number(admit, "id"), number(admit, "t")))
            .filter(|(id, _)| {
                name == "mega_rate_no_drift" || requests.iter().any(|one| number(one, "id") == *id)
            })
            .collect();
        let mut admitted = replay(&server, name, &limiters, &requests);
        if name == "mega_rate_no_drift" {
            assert_eq!(admitted.len(), 5000);
            admitted.retain(|(id, _)| expected.iter().any(|(own, _)| own == id));
        }
        assert_eq!(admitted, expected, "{name}");
        met += 1;
    }
    assert_eq!(met, 27 - (LEFT_OUT.len() - 1));
}

/// Requests and limiters; of the lanes of one vector only that of debts.
fn lane_of(vector: &Value) -> (Vec<Value>, BTreeMap<String, Value>) {
    let limiters = vector["limiters"].as_object().unwrap().clone();
    let mut limiters: BTreeMap<_, _> = limiters.into_iter().collect();
    let mut requests = requests(vector);
    if vector["name"] == "oversize_error_and_debt" {
        requests.retain(|request| request["lane"] == "d");
        limiters.retain(|name, _| name == "d");
    }
    (requests, limiters)
}

/// Ids and moments of admission.
fn replay(
    server: &Server,
    name: &str,
    limiters: &BTreeMap<String, Value>,
    requests: &[Value],
) -> Vec<(u64, u64)> {
    let names: Vec<&String> = limiters.keys().collect();
    let limit = |spec| limit(spec, Counts::Requests, Duration::from_micros);
    let specs: Vec<Spec> = limiters.values().map(limit).collect();
    let mut member = Member::join(server, &shared(name, &specs), "m", 0);
    let mut settles: BTreeMap<u64, Vec<(Bill, Used)>> = BTreeMap::new();
    let mut admitted = Vec::new();
    let mut now = 0;
    for request in requests {
        let arrives = number(request, "t");
        now = now.max(arrives);
        let costs = names.iter().enumerate();
        let parts =
            costs.filter_map(|(limit, name)| Some(part(limit, request["cost"][*name].as_u64()?)));
        let parts: Vec<Part> = parts.collect();
        let charged = loop {
            while let Some((&at, _)) = settles.first_key_value().filter(|(at, _)| **at <= now) {
                for (bill, used) in settles.remove(&at).unwrap() {
                    member.settle(at, bill, used);
                }
            }
            match member.ask(now, arrives, &parts) {
                Answer::Granted(charged) => break charged,
                answer @ Answer::Leased(_) => panic!("{answer:?}"),
                Answer::Refused(_, wait) => {
                    let again = now + u64::try_from(wait.as_micros()).unwrap();
                    let next = settles.first_key_value().map(|(at, _)| *at);
                    now = next.map_or(again, |next| next.min(again));
                }
            }
        };
        admitted.push((number(request, "id"), now));
        for (part, charged) in parts.iter().zip(&*charged) {
            let bill = bill(part, *charged);
            member.moved(now, bill.clone());
            let shaper::engine::share::Common::Limit(limit) = part.of else {
                panic!("no slots here");
            };
            if let Some(actual) = request["actual"][names[limit]].as_u64() {
                let at = now + number(request, "dur");
                let settles = settles.entry(at).or_default();
                settles.push((bill, Used::Known(actual)));
            }
        }
    }
    admitted
}
