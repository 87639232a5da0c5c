//! Where a store may be: behind TLS, found by sentinels, or a cluster.

use std::path::Path;
use std::thread;
use std::time::Duration;

use shaper::engine::share::{Part, Word};
use shaper::store::Address;

use super::door::{Run, of};
use crate::server::Server;
use crate::{granted, part};

#[tokio::test]
async fn tls_is_spoken_with_those_whom_the_given_authorities_have_signed_and_nobody_else() {
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls");
    let file = |name: &str| tls.join(name).to_str().unwrap().to_owned();
    let (certificate, key, authorities) = (file("server.pem"), file("server.key"), file("ca.pem"));
    let plain = Server::start();
    let port = plain.host();
    drop(plain);
    let port = port.rsplit_once(':').unwrap().1;
    let options = [
        "--tls-port",
        port,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &authorities,
        "--tls-auth-clients",
        "no",
    ];
    let _server = Server::with(&options);
    let address: Address = format!("rediss://localhost:{port}").parse().unwrap();
    let what = of("tls", &["10/s"]);
    let problem = Run::join_at(&address, &what).await.err().unwrap();
    assert!(problem.what.contains("certificate"), "{problem}");
    let trusted = address.trusting(std::fs::read(&authorities).unwrap());
    let mut run = Run::join_at(&trusted, &what).await.unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
}

#[tokio::test]
async fn sentinels_tell_where_the_master_is_and_where_it_has_gone() {
    let (mut first, second) = (Server::start(), Server::start());
    let (host, port) = second_words(&first);
    second.says::<()>(&["REPLICAOF", &host, &port]);
    let sentinel = Server::sentinel(&first, "main");
    let url = format!("redis+sentinel://127.0.0.1:1,{}/main", sentinel.host());
    let mut run = Run::join_at(&url.parse().unwrap(), &of("sentinel", &["100/h window"]))
        .await
        .unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
    // The copy and the sentinel have to know of it before the master goes.
    while !second
        .says::<String>(&["INFO", "replication"])
        .contains("master_link_status:up")
        || second.keys().len() < first.keys().len()
        || sentinel
            .says::<String>(&["INFO", "sentinel"])
            .contains("slaves=0")
    {
        thread::sleep(Duration::from_millis(50));
    }
    first.kill();
    let id = run.asks(&[part(0, 99)]);
    assert!(matches!(run.hears_of_it().await, Word::Away(..)));
    assert_eq!(run.hears_of_it().await, Word::Back);
    granted(&run.answer(id).await);
    let refused = run.ask(&[part(0, 1)]).await;
    assert!(
        matches!(refused, shaper::engine::share::Answer::Refused(..)),
        "{refused:?}"
    );
}

fn second_words(server: &Server) -> (String, String) {
    let host = server.host();
    let (host, port) = host.split_once(':').unwrap();
    (host.to_owned(), port.to_owned())
}

#[tokio::test]
async fn a_cluster_keeps_all_that_belongs_together_on_one_of_its_servers() {
    let options = ["--cluster-enabled", "yes"];
    let nodes = [Server::with(&options), Server::with(&options)];
    nodes[0].says::<()>(&["CLUSTER", "ADDSLOTSRANGE", "0", "8191"]);
    nodes[1].says::<()>(&["CLUSTER", "ADDSLOTSRANGE", "8192", "16383"]);
    let (host, port) = second_words(&nodes[1]);
    nodes[0].says::<()>(&["CLUSTER", "MEET", &host, &port]);
    for node in &nodes {
        while !node
            .says::<String>(&["CLUSTER", "INFO"])
            .contains("cluster_state:ok")
        {
            thread::sleep(Duration::from_millis(50));
        }
    }
    let url = format!("redis+cluster://{}", nodes[0].host());
    let address: Address = url.parse().unwrap();
    for name in ["one", "two", "three", "four"] {
        let what = of(name, &["10/s", "10/s window"]);
        let mut run = Run::join_at(&address, &what).await.unwrap();
        let keyed = Part {
            key: Some("value".into()),
            ..part(1, 1)
        };
        granted(&run.ask(&[part(0, 1), part(1, 1), keyed]).await);
    }
    assert!(
        nodes.iter().all(|node| !node.keys().is_empty()),
        "both have some"
    );
}
