//! Credentials: they are sent, and stand nowhere else.

use crate::support::program::{Output, Shaper};
use crate::support::server::{Server, Step};

/// Everything that a run has written.
fn written(done: &Output) -> String {
    let files = done
        .files()
        .into_iter()
        .filter(|name| name != "jobs.jsonl" && name != "headers");
    let files = files.map(|name| done.bytes(&name));
    let all: Vec<Vec<u8>> = files
        .chain([done.stdout.clone(), done.stderr.clone().into_bytes()])
        .collect();
    String::from_utf8_lossy(&all.concat()).into_owned()
}

/// Jobs with credentials wherever one can be, to this server and to one that is not there.
fn jobs(server: &Server) -> String {
    let job = |id: &str, host: &str| {
        format!(
            "{{\"id\":\"{id}\",\"url\":\"http://me:CANARY-p@{host}/x?api_key=CANARY-q&ok=1\",\"headers\":\
             {{\"Authorization\":\"Bearer CANARY-h\",\"X-Api-Key\":\"CANARY-k\",\"Cookie\":\"sid=CANARY-c\"}}}}\n"
        )
    };
    job("a", &server.host())
        + &job("b", "127.0.0.1:1")
        + "{\"url\":\"http://u:CANARY-b@[::1/x?token=CANARY-t\"}\n"
}

#[test]
fn what_is_sent_as_a_credential_stands_in_nothing_that_is_written() {
    let server = Server::everywhere(Step::status(401).header("Set-Cookie", "sid=CANARY-r"));
    for transport in ["direct", "reqwest"] {
        let done = Shaper::run()
            .jobs("jobs.jsonl", jobs(&server))
            .file("headers", "X-Secret: CANARY-f\n\nX-Plain: seen\n")
            .env("TOKEN", "CANARY-e")
            .args([
                "-H",
                "@headers",
                "-H",
                "X-Session: CANARY-l",
                "--bearer-env",
                "TOKEN",
            ])
            .args([
                "-vv",
                "--max-attempts",
                "2",
                "--backoff",
                "1ms..1ms",
                "--transport",
                transport,
            ])
            .args(["--html", "report.html", "--hdr", "run.hlog"])
            .with_results()
            .reporting()
            .ends(1);
        let text = written(&done);
        assert!(!text.contains("CANARY"), "{text}");
        assert!(text.contains("ok=1"), "what is none is shown: {text}");
        let requests = server.requests();
        let seen = requests.last().expect("it was sent");
        for (name, value) in [
            ("authorization", "Bearer CANARY-h"),
            ("x-api-key", "CANARY-k"),
            ("cookie", "sid=CANARY-c"),
            ("x-secret", "CANARY-f"),
            ("x-session", "CANARY-l"),
            ("x-plain", "seen"),
        ] {
            assert_eq!(seen.header(name), Some(value.as_bytes()), "{name}");
        }
        assert!(seen.target.contains("api_key=CANARY-q"));
    }
}

#[test]
fn a_value_that_is_refused_is_not_shown() {
    for options in [
        &["-H", "Authorization Bearer CANARY"][..],
        &["-H", "Bad Name: CANARY"],
        &["-H", "X-Key: CANARY\u{7f}"],
        &["-H", "@headers"],
        &["--base-url", "ftp://me:CANARY@h"],
        &["--base-url", "http://me:CANARY@["],
        &["--proxy", "ftp://me:CANARY@h"],
        &["--proxy", "http//me:CANARY@h:1"],
        &["--request-url", "htp://me:CANARY@h/?token=CANARY"],
        &["--rewrite", "s#x#http://me:CANARY@h#z"],
        &["--connect-to", "me:CANARY@h:1"],
        &["http://me:CANARY@h/?token=CANARY"],
    ] {
        let done = Shaper::run()
            .jobs("one.urls", "http://127.0.0.1:1/\n")
            .file("headers", "X-Good: CANARY\nX-Bad CANARY\n")
            .args(options)
            .ends(2);
        done.never_says("CANARY");
    }
    let done = Shaper::run()
        .jobs("one.urls", "http://127.0.0.1:1/\n")
        .file("headers", "X-Good: CANARY\nX-Bad CANARY\n")
        .args(["-H", "@headers"])
        .ends(2);
    done.says("headers:2: it has no colon").says("NAME: VALUE");
    let done = Shaper::run()
        .jobs("one.urls", "http://127.0.0.1:1/\n")
        .args(["-H", "@none"])
        .ends(2);
    done.says("-H @none: ");
}
