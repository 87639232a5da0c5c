//! Lists of many hosts: their connections are kept as far as there is room.

use std::net::TcpListener;

use crate::support::program::Shaper;
use crate::support::server::{Server, Step};
use crate::support::statuses;

#[test]
fn a_list_of_many_hosts_does_not_fail_for_want_of_open_files() {
    let server = Server::everywhere(Step::ok());
    let done = Shaper::run()
        .args(["-", "-c", "10"])
        .stdin(server.hosts(600).repeat(2))
        .files_at_once(128)
        .with_results()
        .reporting()
        .ends(0);
    assert_eq!(done.counts().ok, 1_200);
    assert_eq!(server.requests().len(), 1_200, "none was tried twice");
}

#[test]
fn a_few_hosts_that_are_asked_in_turn_keep_their_connections() {
    let server = Server::everywhere(Step::ok());
    Shaper::run()
        .args(["-", "-c", "1"])
        .stdin(server.hosts(30).repeat(10))
        .with_results()
        .ends(0);
    let connections = server.requests().iter().map(|seen| seen.connection).max();
    assert_eq!(connections, Some(29));
}

#[test]
fn international_names_and_underscores_go_out_as_names_are_written_on_the_wire() {
    let list = "http://bücher.example.test/a\nhttp://my_host.example.test/b\nhttp://xn--bcher-kva.example.test/c\n";
    let hosts = [
        "xn--bcher-kva.example.test",
        "my_host.example.test",
        "xn--bcher-kva.example.test",
    ];
    let server = Server::start([Step::ok()]);
    let (proxy, place) = (server.url(""), format!("::{}", server.host()));
    for options in [["--proxy", &*proxy], ["--connect-to", &*place]] {
        let before = server.requests().len();
        let done = Shaper::run()
            .jobs("jobs.urls", list)
            .args(["-c", "1"])
            .args(options)
            .with_results()
            .ends(0);
        for (nth, (host, written)) in hosts.iter().zip(list.lines()).enumerate() {
            let seen = &server.requests()[before + nth];
            assert_eq!(seen.header("host"), Some(host.as_bytes()), "{done}");
            assert_eq!(done.results()[nth]["url"], written, "{done}");
        }
    }
    let targets = server.targets();
    assert!(
        targets.contains(&"http://xn--bcher-kva.example.test/a".to_owned()),
        "{targets:?}"
    );
}

#[test]
fn an_address_of_ipv6_is_asked_and_one_with_a_zone_is_not() {
    if TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let any = "[::]:0".parse().expect("an address");
    let server = Server::answering_at(any, |_| Step::ok());
    let port = server.address().port();
    let list = format!(
        "http://[::1]:{port}/a\nhttp://[fe80::1%25lo]:{port}/b\nhttp://[::1:{port}/c\nhttp://[::ffff:127.0.0.1]:{port}/d\n"
    );
    for transport in ["direct", "reqwest"] {
        let before = server.requests().len();
        let done = Shaper::run()
            .jobs("jobs.urls", &list)
            .args(["-c", "1", "--transport", transport])
            .with_results()
            .ends(1);
        assert_eq!(
            statuses(&done.results()),
            ["ok", "invalid", "invalid", "ok"],
            "{done}"
        );
        let requests = server.requests();
        let hosts: Vec<_> = requests[before..]
            .iter()
            .filter_map(|seen| seen.header("host"))
            .collect();
        let want = [format!("[::1]:{port}"), format!("[::ffff:7f00:1]:{port}")];
        assert_eq!(hosts, want.each_ref().map(String::as_bytes), "{done}");
    }
}

#[test]
fn a_name_that_is_not_there_is_not_asked_again() {
    for transport in ["direct", "reqwest"] {
        let done = Shaper::run()
            .jobs("jobs.urls", "http://nope.invalid/\n".repeat(20))
            .args(["-c", "10", "--transport", transport])
            .with_results()
            .ends(1);
        for result in done.results() {
            assert_eq!(result["error"]["kind"], "dns", "{transport}: {done}");
            assert_eq!(result["attempts"], 1, "{transport}: {done}");
        }
    }
}
