//! `--follow`: what a redirect asks for, with what credentials, under which limits, and how it is told.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::message;
use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Seen, Server, Step};

/// Both carry redirects.
const TRANSPORTS: [&str; 2] = ["direct", "reqwest"];

const SECRETS: [&str; 3] = ["authorization", "cookie", "x-api-key"];

fn to(status: u16, location: &str) -> Step {
    Step::status(status).header("Location", location)
}

fn post(url: &str) -> String {
    let job = json!({
        "url": url,
        "method": "POST",
        "headers": {"cookie": "canary", "x-api-key": "canary"},
        "body": {"q": 1},
    });
    format!("{job}\n")
}

fn run(jobs: String, transport: &str) -> Shaper {
    Shaper::run()
        .args(["-", "-c", "1", "--transport", transport])
        .stdin(jobs)
        .with_results()
}

fn follow(jobs: String, transport: &str) -> Shaper {
    run(jobs, transport).args(["--follow", "-H", "authorization: canary"])
}

fn hops(result: &Value) -> &[Value] {
    result["tries"][0]["hops"]
        .as_array()
        .map_or(&[], |hops| hops)
}

fn secrets(seen: &Seen) -> Vec<&'static str> {
    let has = |name: &&str| seen.header(name).is_some();
    SECRETS.into_iter().filter(has).collect()
}

#[test]
fn a_redirected_post_goes_on_as_the_rfc_says() {
    for transport in TRANSPORTS {
        for status in [301, 302, 303, 307, 308] {
            let server = Server::start([to(status, "/b"), Step::ok()]);
            let done = follow(post(&server.url("/a")), transport).ends(0);
            let seen = server.requests();
            assert_eq!(seen.len(), 2, "{done}");
            assert_eq!(seen[1].target, "/b");
            if status < 307 {
                assert_eq!((&*seen[1].method, &seen[1].body[..]), ("GET", &b""[..]));
                assert_eq!(seen[1].header("content-type"), None, "{status}");
                assert_eq!(seen[1].header("content-length"), None, "{status}");
            } else {
                assert_eq!(seen[1].method, "POST");
                assert_eq!(seen[1].body, seen[0].body, "{status}");
                let content = seen[1].header("content-type");
                assert_eq!(content, Some(&b"application/json"[..]));
            }
            assert_eq!(secrets(&seen[1]), SECRETS, "the origin is the same");
            let result = &done.results()[0];
            let told = (
                &result["status"],
                &result["http_status"],
                &result["attempts"],
            );
            assert_eq!(told, (&json!("ok"), &json!(200), &json!(1)), "{done}");
            let [hop] = hops(result) else {
                panic!("not one redirect: {done}")
            };
            assert_eq!(hop["url"], server.url("/b"));
            assert_eq!(hop["http_status"], status);
            assert_eq!(hop["credentials_dropped"], false);
            let first = result["tries"][0]["sent_us"].as_u64();
            assert!(
                first.is_some() && hop["sent_us"].as_u64() >= first,
                "{done}"
            );
        }
    }
}

#[test]
fn without_the_option_a_redirect_is_a_failed_result() {
    for transport in TRANSPORTS {
        let server = Server::start([to(307, "/b"), Step::ok()]);
        let done = run(post(&server.url("/a")), transport).ends(1);
        let result = &done.results()[0];
        assert_eq!(result["http_status"], 307);
        assert_eq!(result["error"]["kind"], "http");
        assert_eq!(result["headers"]["location"], "/b");
        assert_eq!(result["tries"][0]["hops"], Value::Null, "{done}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn credentials_do_not_follow_to_another_origin_and_do_not_come_back() {
    for transport in TRANSPORTS {
        for status in [302, 307, 308] {
            // Where it leads back to is known when that listens.
            let back: Arc<OnceLock<String>> = Arc::default();
            let known = Arc::clone(&back);
            let other = Server::answering(move |_| to(status, known.get().expect("it listens")));
            let away = other.url("/x");
            let home = Server::answering(move |ask| match ask.target {
                "/a" => to(status, &away),
                _ => Step::ok(),
            });
            back.set(home.url("/back")).expect("once");
            let url = home.url("/a").replace("http://", "http://user:canary@");
            let done = follow(post(&url), transport).ends(0);
            done.never_says("canary");
            let [first, last] = &home.requests()[..] else {
                panic!("not two requests: {done}")
            };
            assert_eq!(secrets(first), SECRETS, "{done}");
            for seen in other.requests().iter().chain([last]) {
                assert_eq!(secrets(seen), [""; 0], "{status}: {done}");
            }
            let result = &done.results()[0];
            let dropped: Vec<_> = hops(result)
                .iter()
                .map(|hop| &hop["credentials_dropped"])
                .collect();
            assert_eq!(dropped, [true, false], "{done}");
        }
    }
}

#[test]
fn a_way_that_leads_nowhere_is_told_with_its_length_and_last_place() {
    let secret = "/y?token=canary";
    for transport in TRANSPORTS {
        for (script, asked, words) in [
            (
                vec![to(302, "/b"), to(302, "/a")],
                2,
                "redirect 2 (status 302) goes round in a circle",
            ),
            (
                vec![to(302, secret), Step::status(302)],
                2,
                "has no Location; it came from",
            ),
            (
                vec![to(302, secret), to(302, "ftp://h/")],
                2,
                "no http or https URL",
            ),
        ] {
            let server = Server::start(script);
            let done = follow(post(&server.url("/a")).replace("POST", "GET"), transport).ends(1);
            done.never_says("canary");
            let result = &done.results()[0];
            assert_eq!(result["error"]["kind"], "redirect", "{done}");
            assert!(message(result).contains(words), "{done}");
            assert_eq!(server.requests().len(), asked, "{done}");
        }
        let server = Server::answering(|ask| to(303, &format!("/{}", ask.nth)));
        let done = follow(server.list(1).replace("/0", "/a"), transport).ends(1);
        let result = &done.results()[0];
        assert!(message(result).contains("10 are followed"), "{done}");
        assert_eq!(server.requests().len(), 11, "{done}");
        assert_eq!(hops(result).len(), 10);
        assert_eq!(result["attempts"], 1);
    }
}

#[test]
fn a_redirect_pays_the_limit_of_requests_and_a_proof_sees_it() {
    for transport in TRANSPORTS {
        let server = Server::answering(|ask| match ask.target {
            "/b" => Step::ok(),
            _ => to(302, "/b"),
        });
        let done = follow(server.list(3), transport)
            .args(["--qps", "20/s", "--per", "host"])
            .ends(0);
        let moments = server.moments();
        assert_eq!(moments.len(), 6, "{done}");
        let span = moments[5].saturating_sub(moments[0]);
        assert!(span >= Duration::from_millis(200), "{moments:?}");
        let requests = server.requests();
        let order: Vec<_> = requests.iter().map(|seen| &*seen.target).collect();
        assert_eq!(
            order,
            ["/0", "/b", "/1", "/b", "/2", "/b"],
            "it goes before other jobs"
        );
        let proof = Shaper::plain()
            .args(["verify"])
            .jobs(OUT, done.bytes(OUT))
            .file("out.jsonl.run", done.bytes("out.jsonl.run"))
            .ends(0);
        let page = proof.text();
        assert!(page.contains("3 results, 6 sends"), "{proof}");
        assert!(page.contains("not seen: nothing"), "{proof}");
    }
}

#[test]
fn what_was_done_once_is_not_sent_again_for_the_sake_of_a_redirect() {
    let answers = || [to(303, "/b"), Step::status(503), to(303, "/b"), Step::ok()];
    let server = Server::start(answers());
    let done = follow(post(&server.url("/a")), "direct").ends(1);
    assert_eq!(server.requests().len(), 2, "{done}");
    let server = Server::start(answers());
    let args = ["--retry-unsafe", "always", "--backoff", "1ms..1ms"];
    let done = follow(post(&server.url("/a")), "direct").args(args).ends(0);
    assert_eq!(server.requests().len(), 4, "{done}");
}

#[test]
fn the_time_of_a_try_counts_over_its_redirects() {
    for transport in TRANSPORTS {
        let server = Server::start([to(302, "/b"), Step::hang()]);
        let args = ["--timeout", "200ms", "--max-attempts", "1"];
        let done: Output = follow(server.list(1), transport).args(args).output();
        done.exits(1);
        let result = &done.results()[0];
        assert_eq!(result["error"]["kind"], "timeout", "{done}");
        assert!(message(result).contains("200 ms"), "{done}");
        assert_eq!(hops(result).len(), 1);
    }
}

#[test]
fn a_run_that_was_killed_may_have_followed_redirects_though_the_next_follows_none() {
    let server = Server::start([Step::ok()]);
    let run = |args: &[&str]| {
        Shaper::run()
            .args(["-c", "2", "--window", "30/1h"])
            .args(args)
            .with_results()
    };
    for (follow, left) in [(&["--follow"][..], 30 - 2 * 11), (&[], 30 - 2)] {
        let first = run(follow).jobs("jobs.urls", server.list(1)).ends(0);
        let mut told = first.manifest();
        assert_eq!(told["redirects"], if follow.is_empty() { 0 } else { 10 });
        // As a kill leaves it.
        told["ended"] = Value::Null;
        let next = run(&["--resume", "--queue-timeout", "60s"])
            .jobs("jobs.urls", server.list(40))
            .file(OUT, first.bytes(OUT))
            .file("out.jsonl.run", told.to_string())
            .ends(1);
        let results = next.results();
        let ok = results.iter().filter(|result| result["status"] == "ok");
        assert_eq!(ok.count(), left, "{follow:?}: {next}");
    }
}
