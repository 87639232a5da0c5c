//! Whom a client of https trusts, and what it shows of itself.

use crate::support::program::{Output, Shaper};
use crate::support::secure::{
    fixture, secure_server, server_that_asks_for_a_certificate, server_that_signed_itself,
};
use crate::support::{by_each_transport, message};

/// One request to this port by each transport, with these options; the system trusts nobody here.
fn each(port: u16, options: &[&str], code: i32) -> Vec<Output> {
    by_each_transport(code, || {
        Shaper::run()
            .jobs("one.urls", format!("https://localhost:{port}/a\n"))
            .env("SSL_CERT_FILE", &fixture("server.pem"))
            .args(["--max-attempts", "1"])
            .args(options)
            .with_results()
    })
}

#[test]
fn an_authority_of_a_file_is_trusted_in_place_of_those_of_the_system() {
    let port = secure_server().port();
    for done in each(port, &["--cacert", &fixture("ca.pem")], 0) {
        assert_eq!(done.results()[0]["body"], "0 /a");
    }
    for done in each(port, &["--cacert", &fixture("client-ca.pem")], 1) {
        let results = done.results();
        assert_eq!(results[0]["error"]["kind"], "tls");
        let told = message(&results[0]);
        assert!(
            told.contains(&format!("localhost:{port}")) && told.contains("--cacert FILE"),
            "{told}"
        );
    }
}

#[test]
fn a_server_that_signed_itself_is_trusted_by_its_own_certificate_under_its_own_name() {
    let port = server_that_signed_itself().port();
    let own = fixture("self-signed.pem");
    for done in each(port, &["--cacert", &own], 0) {
        assert_eq!(done.results()[0]["body"], "0 /a");
    }
    for other in [&[][..], &["--cacert", &fixture("ca.pem")]] {
        for done in each(port, other, 1) {
            let told = message(&done.results()[0]).to_owned();
            assert!(told.contains("self-signed certificate"), "{told}");
        }
    }
    let elsewhere = by_each_transport(1, || {
        Shaper::run()
            .jobs("one.urls", format!("https://127.0.0.1:{port}/a\n"))
            .args(["--max-attempts", "1", "--cacert", &own])
            .with_results()
    });
    for done in elsewhere {
        let told = message(&done.results()[0]).to_owned();
        assert!(told.contains("not valid for"), "{told}");
    }
}

#[test]
fn insecure_takes_any_certificate_and_is_said_before_the_first_send() {
    let port = secure_server().port();
    for option in ["-k", "--insecure"] {
        for done in each(port, &[option], 0) {
            done.says("note: certificates of servers are not verified (--insecure)");
        }
    }
    for done in each(port, &[], 1) {
        done.never_says("not verified");
    }
}

#[test]
fn a_server_that_asks_for_a_certificate_is_shown_it() {
    let port = server_that_asks_for_a_certificate().port();
    let authority = fixture("ca.pem");
    let (certificate, key) = (fixture("client.pem"), fixture("client.key"));
    let trusted = ["--cacert", &authority];
    let shown = [&trusted[..], &["--cert", &certificate, "--key", &key]].concat();
    for done in each(port, &shown, 0) {
        assert_eq!(done.results()[0]["body"], "0 /a");
        assert!(
            !done
                .bytes("out.jsonl.run")
                .windows(7)
                .any(|part| part == b"PRIVATE")
        );
    }
    for done in each(port, &trusted, 1) {
        assert_ne!(done.results()[0]["status"], "ok");
    }
}

#[test]
fn a_key_may_stand_in_the_file_of_its_certificate() {
    let port = server_that_asks_for_a_certificate().port();
    let both = [fixture("client.pem"), fixture("client.key")];
    let both = both
        .map(|file| std::fs::read(file).expect("it is there"))
        .concat();
    Shaper::run()
        .jobs("one.urls", format!("https://localhost:{port}/a\n"))
        .file("both.pem", both)
        .args(["--cacert", &fixture("ca.pem"), "--cert", "both.pem"])
        .with_results()
        .ends(0);
}

#[test]
fn a_file_of_no_use_is_told_with_its_option_before_anything_is_sent() {
    let (pem, key) = (fixture("client.pem"), fixture("client.key"));
    let other = fixture("server.key");
    for (options, told) in [
        (vec!["--cacert", "none.pem"], "--cacert none.pem: "),
        (vec!["--cacert", &key], "there is no certificate in it"),
        (vec!["--cert", &pem], "there is no private key in it"),
        (
            vec!["--cert", &pem, "--key", "none.key"],
            "--key none.key: ",
        ),
        (vec!["--cert", &pem, "--key", &other], "--key "),
        (vec!["--key", &key], "--cert"),
        (vec!["-k", "--cacert", &pem], "--cacert"),
    ] {
        let done = Shaper::run()
            .jobs("one.urls", "https://localhost:1/a\n")
            .args(&options)
            .with_results()
            .ends(2);
        done.says(told);
        assert_eq!(done.files(), ["one.urls"], "{options:?}");
    }
}

#[test]
fn a_certificate_of_another_host_is_told_and_not_tried_again() {
    let port = secure_server().port();
    for transport in ["direct", "reqwest"] {
        let done = Shaper::run()
            .jobs("one.urls", format!("https://127.1.2.3:{port}/\n"))
            .args(["--cacert", &fixture("ca.pem"), "--transport", transport])
            .args(["--connect-timeout", "60s"])
            .with_results()
            .ends(1);
        let results = done.results();
        assert_eq!(results[0]["error"]["kind"], "tls", "{done}");
        assert_eq!(results[0]["attempts"], 1, "{done}");
        let told = message(&results[0]);
        assert!(
            told.contains("not valid for") && told.contains("127.1.2.3"),
            "{told}"
        );
    }
}

#[test]
fn a_request_in_the_clear_to_a_server_of_tls_is_told_in_clear_words() {
    let port = secure_server().port();
    let done = Shaper::run()
        .jobs("one.urls", format!("http://127.0.0.1:{port}/\n"))
        .args(["--max-attempts", "1"])
        .with_results()
        .ends(1);
    let results = done.results();
    assert!(
        message(&results[0]).contains("the server speaks TLS there"),
        "{done}"
    );
}
