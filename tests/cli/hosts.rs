//! Lists of many hosts: their connections are kept as far as there is room.

use crate::support::program::Shaper;
use crate::support::server::{Server, Step};

#[test]
fn a_list_of_many_hosts_does_not_fail_for_want_of_open_files() {
    let server = Server::everywhere(Step::ok());
    let done = Shaper::run()
        .args(["-", "-c", "10"])
        .stdin(server.hosts(600).repeat(2))
        .files_at_once(128)
        .with_results()
        .reporting()
        .output();
    done.exits(0);
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
        .output()
        .exits(0);
    let connections = server.requests().iter().map(|seen| seen.connection).max();
    assert_eq!(connections, Some(29));
}
