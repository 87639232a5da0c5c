//! `--metrics`: what Prometheus reads while a run goes is what its report says in the end.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::support::program::{OUT, Running, Shaper};
use crate::support::server::{Gate, Server, Step};

/// Where it says that it listens.
fn address(running: &mut Running) -> String {
    running.until_it_says("/metrics\n");
    let said = running.said();
    let (_, rest) = said.split_once("METRICS     http://").expect("it is told");
    let (address, _) = rest.split_once("/metrics").expect("it is told");
    address.to_owned()
}

/// One request there: head and body of the answer.
fn ask(address: &str, what: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("it is a socket");
    write!(stream, "{what} HTTP/1.1\r\nhost: {address}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head has an end");
    (head.to_owned(), body.to_owned())
}

/// Every sample, by its name with its labels.
fn scrape(address: &str) -> BTreeMap<String, f64> {
    let (head, body) = ask(address, "GET /metrics");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
        (name.to_owned(), value)
    });
    let all: Vec<_> = samples.collect();
    let count = all.len();
    let all: BTreeMap<_, _> = all.into_iter().collect();
    assert_eq!(all.len(), count, "a sample is there twice: {body}");
    all
}

#[test]
fn what_is_read_at_the_end_of_a_run_is_what_its_report_says() {
    // The second is refused twice, the fifth has no page, one line is no job.
    let server = Server::answering(|ask| match (ask.target, ask.nth_of_target) {
        ("/1", 0..2) => Step::status(503),
        ("/4", _) => Step::status(404),
        _ => Step::ok(),
    });
    let mut running = Shaper::run()
        .stdin_stays_open()
        .args(["-c", "2", "--qps", "200", "--tps", "10k", "--metrics", "0"])
        .args(["--backoff", "10ms..20ms", "--headers", "none"])
        .with_results()
        .reporting()
        .start();
    let job = |n: u8| {
        format!(
            "{{\"url\":\"{}\",\"tokens\":{}}}\n",
            server.url(&format!("/{n}")),
            10 + n
        )
    };
    running.write(&(0..9).map(job).collect::<String>());
    running.write("{\"url\":\"/relative\"}\n");
    let address = address(&mut running);
    let out = running.path(OUT);
    running.until("ten results", || {
        std::fs::read_to_string(&out).is_ok_and(|text| text.lines().count() == 10)
    });
    running.until("the last to be counted", || {
        scrape(&address)["shaper_jobs_total{result=\"ok\"}"] >= 8.0
    });
    let seen = scrape(&address);
    let done = running.wait();
    done.exits(1);
    let report = done.report();
    let figure = |pointer: &str| {
        let value = report.pointer(pointer).and_then(Value::as_f64);
        value.unwrap_or_else(|| panic!("no {pointer} in {report}"))
    };
    for (sample, pointer) in [
        ("shaper_jobs_read_total", "/counts/read"),
        ("shaper_jobs_total{result=\"ok\"}", "/counts/ok"),
        ("shaper_jobs_total{result=\"failed\"}", "/counts/failed"),
        ("shaper_jobs_total{result=\"invalid\"}", "/counts/invalid"),
        ("shaper_requests_total", "/tries"),
        ("shaper_retries_total", "/retries"),
        ("shaper_responses_total{status=\"200\"}", "/statuses/200"),
        ("shaper_responses_total{status=\"404\"}", "/statuses/404"),
        ("shaper_responses_total{status=\"503\"}", "/statuses/503"),
        ("shaper_job_failures_total{kind=\"http\"}", "/failures/http"),
        (
            "shaper_job_failures_total{kind=\"invalid\"}",
            "/failures/invalid",
        ),
        ("shaper_units_reserved_total", "/tokens/reserved"),
        ("shaper_units_used_total", "/tokens/used"),
        (
            "shaper_request_latency_seconds_count{result=\"ok\"}",
            "/latency/service/ok/n",
        ),
        (
            "shaper_since_due_seconds_bucket{result=\"failed\",le=\"+Inf\"}",
            "/latency/since_due/failed/n",
        ),
        ("shaper_slots", "/slots"),
    ] {
        let value = seen.get(sample).copied();
        assert_eq!(value, Some(figure(pointer)), "{sample}, {pointer}");
    }
    assert_eq!(report["retries"], 2);
    for now in ["shaper_requests_in_flight", "shaper_queue_depth"] {
        assert_eq!(seen.get(now), Some(&0.0), "{now}");
    }
    let waits = report["waits_ms"].as_object().expect("an object");
    for (name, millis) in waits {
        let sample = format!("shaper_limit_wait_seconds_total{{limit=\"{name}\"}}");
        let apart = seen[&sample] * 1e3 - millis.as_f64().expect("a number");
        assert!(apart.abs() < 0.001, "{sample} is {apart} ms apart");
    }
    let sum: f64 = done
        .results()
        .iter()
        .filter(|line| line["status"] == "ok")
        .filter_map(|line| line["latency_ms"].as_f64())
        .sum();
    let apart = seen["shaper_request_latency_seconds_sum{result=\"ok\"}"] * 1e3 - sum;
    assert!(
        apart.abs() < 0.1,
        "the sum of all latencies is {apart} ms apart"
    );
}

#[test]
fn what_is_so_now_is_told_and_other_paths_and_methods_are_refused() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(40))
        .args(["-c", "3", "--metrics", ":0", "--limit", "1k/s name=a\"b"])
        .with_results()
        .start();
    let address = address(&mut running);
    running.until("three requests", || server.requests().len() == 3);
    let seen = scrape(&address);
    assert_eq!(seen.get("shaper_requests_in_flight"), Some(&3.0));
    assert!(seen["shaper_queue_depth"] > 0.0, "{seen:?}");
    assert_eq!(seen.get("shaper_bound_by{owner=\"slot\"}"), Some(&1.0));
    let (head, body) = ask(&address, "HEAD /metrics");
    assert!(
        head.starts_with("HTTP/1.1 200 ") && body.is_empty(),
        "{head}"
    );
    let (head, _) = ask(&address, "GET /");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let (head, _) = ask(&address, "POST /metrics");
    assert!(
        head.starts_with("HTTP/1.1 405 ") && head.contains("allow: GET, HEAD"),
        "{head}"
    );
    gate.open();
    running.wait().exits(0);
    assert!(TcpStream::connect(&address).is_err(), "it is over");
}

#[test]
fn who_connects_and_says_nothing_holds_nobody_up_for_long() {
    let server = Server::start([Step::ok()]);
    let mut running = Shaper::run()
        .stdin_stays_open()
        .args(["--metrics", "0"])
        .with_results()
        .start();
    running.write(&server.list(1));
    let address = address(&mut running);
    // One by one, each for as long as it may be silent, they would take a minute and more.
    let silent: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("it listens");
            stream.write_all(b"GET /metr").expect("it is taken");
            stream
        })
        .collect();
    running.write(&server.list(5));
    running.until("six requests", || server.requests().len() == 6);
    let seen = scrape(&address);
    assert!(seen["shaper_requests_total"] >= 6.0, "{seen:?}");
    running.wait().exits(0);
    drop(silent);
}

#[test]
fn an_address_that_cannot_be_had_is_told_before_anything_is_sent() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let server = Server::start([Step::ok()]);
    for (address, says) in [
        (&*port, "mend: name another: --metrics PORT"),
        ("9100/metrics", "write PORT, or IP:PORT"),
        ("70000", "write PORT"),
        ("-1", "write PORT"),
        ("example.test:9100", "write PORT"),
    ] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .args(["--metrics", address])
            .with_results()
            .ends(2);
        done.says("--metrics").says(says);
        assert!(!done.path(OUT).exists(), "{done}");
    }
    assert_eq!(server.requests().len(), 0);
}
