//! What is kept apart: rates for each value of a key, slots for each origin.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::support::program::{Output, Shaper};
use crate::support::server::{Server, Step};
use crate::support::{case, gaps, moments, most_at_once};

const TENANTS: [&str; 3] = ["anna", "ben", "cleo"];

/// Four jobs of the first tenant, then four of the next, and so on; `rest` is what a job says of its own.
fn jobs(server: &Server, rest: impl Fn(&str) -> String) -> String {
    let four = TENANTS.into_iter().flat_map(|tenant| [tenant; 4]);
    let job = |(n, tenant): (usize, &str)| {
        let url = server.url(&format!("/{n}"));
        format!("{{\"url\":\"{url}\",{}}}\n", rest(tenant))
    };
    four.enumerate().map(job).collect()
}

/// The results of each tenant: four in a row.
fn by_tenant(done: &Output) -> Vec<Vec<Value>> {
    done.results().chunks(4).map(<[Value]>::to_vec).collect()
}

/// Each tenant is held to four a second, and none waits for another.
#[track_caller]
fn each_has_the_rate_for_itself(done: &Output) {
    let granted: Vec<Vec<Duration>> = by_tenant(done)
        .iter()
        .map(|results| moments(results, "granted_us"))
        .collect();
    let least = Duration::from_millis(250);
    for own in &granted {
        for gap in gaps(own) {
            assert!(gap >= least, "{gap:?} at 4/s of {own:?}: {done}");
        }
    }
    // The last tenant's jobs stand last in the input.
    let (first, last) = (&granted[0], &granted[2]);
    assert!(last[0] < first[3], "{last:?} waited for {first:?}: {done}");
}

#[test]
fn each_value_of_a_key_has_the_rate_for_itself() {
    let server = Server::start([Step::ok()]);
    let field = |tenant: &str| format!("\"key\":\"{tenant}\"");
    let header = |tenant: &str| format!("\"headers\":{{\"x-tenant\":\"{tenant}\"}}");
    let pointer = |tenant: &str| format!("\"body\":{{\"of\":[\"{tenant}\"]}}");
    for (key, jobs) in [
        ("field:key", jobs(&server, field)),
        ("header:x-tenant", jobs(&server, header)),
        ("field:/body/of/0", jobs(&server, pointer)),
    ] {
        let for_all = Shaper::run().args(["--qps", "4", "--per", key]);
        let for_one = Shaper::run().args(["--limit", &format!("4/s per={key}")]);
        for run in [for_all, for_one] {
            let done = run.jobs("jobs.jsonl", &jobs).with_results().ends(0);
            done.says(&format!("for each {key}"));
            each_has_the_rate_for_itself(&done);
            for (results, tenant) in by_tenant(&done).iter().zip(TENANTS) {
                for line in results {
                    assert_eq!(line["per"][key], tenant, "{line}");
                }
            }
        }
    }
}

#[test]
fn each_host_has_the_rate_for_itself() {
    let servers = [(); 3].map(|()| Server::start([Step::ok()]));
    let list: String = servers.iter().map(|server| server.list(4)).collect();
    let done = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["--qps", "4", "--per", "host"])
        .with_results()
        .ends(0);
    each_has_the_rate_for_itself(&done);
    for server in &servers {
        assert_eq!(server.requests().len(), 4);
    }
}

#[test]
fn a_key_that_is_a_credential_is_numbered_and_shown_nowhere() {
    let server = Server::answering(|ask| Step::status(if ask.nth == 0 { 500 } else { 200 }));
    for (key, name) in [
        ("header:authorization", "authorization"),
        ("field:/headers/x-api-key", "x-api-key"),
    ] {
        let secret =
            |tenant: &str| format!("\"headers\":{{\"{name}\":\"Bearer canary-{tenant}\"}}");
        let done = Shaper::run()
            .jobs("jobs.jsonl", jobs(&server, secret))
            .args(["--limit", "1/1h", "--per", key, "--queue-timeout", "1m"])
            .args(["--max-attempts", "1", "-v", "--progress", "plain"])
            .with_results()
            .reporting()
            .output();
        // One of each tenant is sent, the others would wait for hours: messages are tried as well.
        done.exits(1).says("queue_timeout");
        let sent: Vec<Value> = by_tenant(&done).iter().map(|own| own[0].clone()).collect();
        for (line, shown) in sent.iter().zip(["key 1", "key 2", "key 3"]) {
            assert_eq!(line["per"][key], shown, "{line}");
            assert_eq!(line["attempts"], 1, "{line}");
        }
        done.never_says("canary");
        let files = fs::read_dir(done.path(".")).expect("it is ours");
        let mut names: Vec<String> = files
            .map(|file| file.expect("it is ours").file_name().into_string())
            .map(|name| name.expect("names are text"))
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["jobs.jsonl", "out.jsonl", "out.jsonl.run", "report.json"]
        );
        for name in &names[1..] {
            let text = fs::read_to_string(done.path(name)).expect("it is text");
            assert!(!text.contains("canary"), "{name}: {text}");
        }
        assert!(done.stdout.is_empty(), "{done}");
    }
}

#[test]
fn hosts_that_hang_hold_back_no_other_and_none_has_more_than_its_slots() {
    let fast = Server::start([Step::ok().after(Duration::from_millis(5))]);
    let hung = Server::start([Step::hang()]);
    let list = String::from_utf8(case("48-two-hosts.urls", &fast)).expect("URLs are text");
    let list = list.replace("127.0.0.1:8081", &hung.host());
    let timeout = Duration::from_secs(1);
    let done = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["-c", "8", "--per-host", "4", "--max-attempts", "1"])
        .args(["--timeout", "1s"])
        .with_results()
        .reporting()
        .ends(1);
    let results = done.results();
    let (hanging, quick) = results.split_at(10);
    for line in hanging {
        assert_eq!(line["error"]["kind"], "timeout", "{line}");
    }
    for line in quick {
        assert_eq!(line["status"], "ok", "{line}");
    }
    assert_eq!((hung.requests().len(), fast.requests().len()), (10, 50));
    let most = fast.most_open();
    assert!(most <= 4, "{most} at once to the fast host");
    // When a server learns that a try was given up is its own affair, so here the results are asked.
    let most = most_at_once(hanging);
    assert!(most <= 4, "{most} at once to the host that hangs: {done}");
    // Ten tries of one second in four slots.
    assert!(done.took >= 3 * timeout, "{:?}", done.took);
    let counts: BTreeMap<String, u64> =
        serde_json::from_value(done.report()["failures"].clone()).expect("counts by kind");
    assert_eq!(counts, BTreeMap::from([("timeout".to_owned(), 10)]));
}

#[test]
fn slots_of_a_host_come_beside_those_of_the_run() {
    let server = Server::start([Step::ok().after(Duration::from_millis(20))]);
    for (slots, per_host, most) in [("2", "4", 2), ("none", "3", 3), ("5", "none", 5)] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(30))
            .args(["-c", slots, "--per-host", per_host])
            .with_results()
            .ends(0);
        let peak = most_at_once(&done.results());
        assert!(peak <= most, "{peak} at once: {done}");
    }
    assert_eq!(server.requests().len(), 90);
    let open = server.most_open();
    assert!(open <= 5, "{open} at once");
}
