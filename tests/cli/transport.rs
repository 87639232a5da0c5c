//! What carries the requests: chosen by rule, and told.

use std::collections::BTreeSet;

use crate::support::program::{Output, Shaper};
use crate::support::secure::{fixture, secure_server};
use crate::support::server::{Server, Step};
use crate::support::{CLOSED, message};

/// The words of `--transport` that fix it.
pub(super) const FIXED: [&str; 2] = ["direct", "reqwest"];

fn run(list: String) -> Shaper {
    Shaper::run()
        .args(["-", "-c", "1"])
        .stdin(list)
        .with_results()
        .reporting()
}

fn carried(done: &Output) -> String {
    let told = done.report()["transport"].clone();
    assert_eq!(told, done.manifest()["transport"], "{done}");
    told.as_str().unwrap_or("nothing").to_owned()
}

#[test]
fn without_a_proxy_requests_go_directly_and_connecting_is_told() {
    let server = Server::start([Step::ok()]);
    let done = run(server.list(2)).ends(0);
    assert_eq!(carried(&done), "direct");
    let results = done.results();
    let connect = |nth: usize| results[nth]["connect_ms"].as_f64();
    assert!(connect(0) > Some(0.0), "{done}");
    assert_eq!(connect(1), None, "the connection was open: {done}");
    let waited = results[0]["wait_ms"]["connect"].as_f64();
    assert!(waited >= connect(0), "{done}");
}

#[test]
fn what_is_asked_for_carries_them() {
    let server = Server::start([Step::ok()]);
    for transport in FIXED {
        let done = run(server.list(2)).args(["--transport", transport]).ends(0);
        assert_eq!(carried(&done), transport);
    }
    let done = run(server.list(1)).args(["--transport", "curl"]).ends(2);
    done.says("--transport").says("reqwest");
}

#[test]
fn a_run_that_sends_nothing_is_carried_by_nothing() {
    let done = run("nonsense\n".to_owned()).ends(1);
    assert_eq!(carried(&done), "nothing");
}

#[test]
fn where_a_proxy_stands_before_a_server_it_is_asked_unless_it_is_to_be_passed() {
    let (server, proxy) = (Server::start([Step::ok()]), Server::start([Step::ok()]));
    let through = |shaper: Shaper| shaper.env("http_proxy", &proxy.url(""));
    let list = format!("http://h.test/0\n{}", server.url("/1"));
    let done = through(run(list.clone()))
        .env("NO_PROXY", "127.0.0.1")
        .ends(0);
    assert_eq!(carried(&done), "direct and reqwest");
    assert_eq!(proxy.targets(), ["http://h.test/0"], "{done}");
    assert_eq!(server.targets(), ["/1"], "{done}");

    let done = through(run(server.list(1))).output();
    assert_eq!(carried(&done), "reqwest");
    assert_eq!(proxy.requests().len(), 2, "{done}");
    done.never_says("goes past it");

    let direct = ["--transport", "direct"];
    let done = through(run(server.list(1))).args(direct).output();
    assert_eq!(carried(&done), "direct");
    done.says("note: the environment names a proxy");
    assert_eq!(
        (proxy.requests().len(), server.requests().len()),
        (2, 2),
        "{done}"
    );

    let done = through(run(server.list(1)))
        .args(["--mock=latency=1ms"])
        .output();
    assert_eq!(carried(&done), "direct", "the mock is in this process");
}

#[test]
fn a_secure_connection_to_a_server_that_the_system_trusts_is_used_again() {
    let address = secure_server();
    for transport in FIXED {
        let list = format!(
            "https://localhost:{0}/a\nhttps://127.0.0.1:{0}/b\n",
            address.port()
        );
        let done = run(list.repeat(2))
            .env("SSL_CERT_FILE", &fixture("ca.pem"))
            .args(["--transport", transport])
            .ends(0);
        let results = done.results();
        let bodies: Vec<_> = results.iter().map(|line| line["body"].clone()).collect();
        assert_eq!(
            bodies,
            ["0 /a", "0 /b", "1 /a", "1 /b"],
            "{transport}: {done}"
        );
    }
}

#[test]
fn a_certificate_that_nobody_trusts_is_told_in_the_same_words() {
    let address = secure_server();
    let told = FIXED.map(|transport| {
        let done = run(format!("https://localhost:{}/\n", address.port()))
            .env("SSL_CERT_FILE", &fixture("server.pem"))
            .args(["--transport", transport, "--max-attempts", "1"])
            .ends(1);
        let results = done.results();
        assert_eq!(results[0]["error"]["kind"], "tls", "{done}");
        message(&results[0]).to_owned()
    });
    assert!(told[0].contains("unknown issuer"), "{told:?}");
    assert_eq!(told[0], told[1]);
}

#[test]
fn a_server_that_is_not_there_is_told_in_the_same_words() {
    let told = FIXED.map(|transport| {
        let done = run(format!("http://{CLOSED}/\n"))
            .args(["--transport", transport, "--max-attempts", "1"])
            .ends(1);
        message(&done.results()[0]).to_owned()
    });
    assert!(told[0].contains(CLOSED), "{told:?}");
    assert_eq!(told[0], told[1]);
}

#[test]
fn a_connection_that_has_waited_longer_than_it_may_is_not_used_again() {
    for transport in FIXED {
        for (idle, connections) in [("1ms", 3), ("90s", 1)] {
            let server = Server::start([Step::ok()]);
            let done = run(server.list(3))
                .args(["--transport", transport, "--pool-idle", idle, "--qps", "20"])
                .ends(0);
            let requests = server.requests();
            let used: BTreeSet<usize> = requests.iter().map(|seen| seen.connection).collect();
            assert_eq!(used.len(), connections, "{transport}, {idle}: {done}");
        }
    }
    let server = Server::start([Step::ok()]);
    let done = run(server.list(1)).args(["--pool-idle", "0"]).ends(2);
    done.says("--pool-idle").says("write a time above 0s");
}

#[test]
fn what_was_sent_as_its_connection_closed_is_sent_again_where_that_is_harmless() {
    for transport in FIXED {
        for (method, attempts, code) in [("GET", 2, 0), ("PUT", 2, 0), ("POST", 1, 1)] {
            let server = Server::start([Step::ok(), Step::close(), Step::ok()]);
            let job = |nth| {
                let url = server.url(&format!("/{nth}"));
                format!("{{\"method\":\"{method}\",\"url\":\"{url}\",\"body\":\"x\"}}\n")
            };
            let done = run(job(0) + &job(1))
                .args(["--transport", transport, "--backoff", "1ms..1ms"])
                .ends(code);
            let result = &done.results()[1];
            assert_eq!(result["attempts"], attempts, "{transport} {method}: {done}");
            let failed = &result["tries"][0]["error"];
            assert!(
                failed.to_string().contains("reset"),
                "{transport}: {failed}"
            );
        }
    }
}
