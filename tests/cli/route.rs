//! Which way requests take: proxies, other places, sockets, and HTTP/2.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::thread;

use crate::support::program::{Output, Shaper};
use crate::support::secure::{self, fixture, secure_server};
use crate::support::server::{Server, Step};
use crate::support::two::{self, Then};
use crate::support::{message, wire};

fn run(list: String, options: &[&str]) -> Output {
    Shaper::run()
        .jobs("jobs.urls", list)
        .args(["-c", "1"])
        .args(options)
        .with_results()
        .reporting()
        .output()
}

#[test]
fn a_proxy_is_asked_for_all_and_its_password_stands_nowhere() {
    let (server, proxy) = (Server::start([Step::ok()]), Server::start([Step::ok()]));
    let url = format!("http://me:canary@{}", proxy.host());
    let done = run(
        format!("http://h.test/0\n{}", server.list(1)),
        &["--proxy", &url, "-vv"],
    );
    done.exits(0).never_says("canary");
    let requests = proxy.requests();
    assert_eq!(requests.len(), 2, "{done}");
    let basic = requests[0].header("proxy-authorization");
    assert_eq!(basic, Some(&b"Basic bWU6Y2FuYXJ5"[..]));
    assert!(server.requests().is_empty());
    assert_eq!(done.report()["transport"], "reqwest");
    for file in ["out.jsonl", "out.jsonl.run", "report.json"] {
        let text = String::from_utf8_lossy(&done.bytes(file)).into_owned();
        assert!(
            !text.contains("canary") && !text.contains("bWU6Y2FuYXJ5"),
            "{file}: {text}"
        );
    }
}

#[test]
fn a_proxy_of_the_command_line_goes_before_that_of_the_environment_and_none_past_both() {
    let (server, proxy) = (Server::start([Step::ok()]), Server::start([Step::ok()]));
    let other = Server::start([Step::ok()]);
    let run = |options: &[&str]| {
        Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .env("http_proxy", &other.url(""))
            .args(options)
            .with_results()
            .ends(0);
    };
    run(&["--proxy", &proxy.url("")]);
    assert_eq!((proxy.requests().len(), other.requests().len()), (1, 0));
    run(&["--proxy", "none"]);
    assert_eq!((server.requests().len(), other.requests().len()), (1, 0));
}

#[test]
fn the_proxy_is_named_before_the_first_send_and_one_that_is_none_ends_the_run() {
    let (server, proxy) = (Server::start([Step::ok()]), Server::start([Step::ok()]));
    let with = |name: &str, value: &str, code: i32| {
        Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .env(name, value)
            .args(["--max-attempts", "1"])
            .with_results()
            .ends(code)
    };
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
        let url = format!("http://u:canary@{}", proxy.host());
        let done = with(name, &url, 0);
        done.says(&format!("by the proxy http://{} ({name})", proxy.host()));
        done.never_says("canary");
    }
    assert_eq!((proxy.requests().len(), server.requests().len()), (4, 0));
    let done = with("http_proxy", "http://u:canary@127.0.0.1:1", 1);
    let told = message(&done.results()[0]).to_owned();
    assert!(told.contains("(by http://127.0.0.1:1)"), "{told}");
    with("http_proxy", ":::", 2).says("http_proxy, of the environment, names no proxy");
    Shaper::run()
        .jobs("jobs.urls", server.list(1))
        .env("http_proxy", ":::")
        .args(["--mock=latency=1ms"])
        .with_results()
        .ends(0);
}

#[test]
fn what_no_proxy_names_goes_past_the_proxy() {
    let (server, proxy) = (Server::start([Step::ok()]), Server::start([Step::ok()]));
    for names in ["127.0.0.1", "10.0.0.0/8,127.0.0.0/8", "*"] {
        Shaper::run()
            .jobs("jobs.urls", server.list(1))
            .env("NO_PROXY", names)
            .args(["--proxy", &proxy.url("")])
            .with_results()
            .ends(0);
    }
    assert_eq!((server.requests().len(), proxy.requests().len()), (3, 0));
}

#[test]
fn what_is_no_proxy_is_refused_without_showing_it() {
    for url in ["ftp://me:canary@h", "http://", "me:canary@:", ":::"] {
        let done = run("http://h.test/\n".to_owned(), &["--proxy", url]);
        done.exits(2)
            .says("--proxy")
            .says("HOST:PORT")
            .never_says("canary");
    }
}

/// SOCKS 5 without a password (RFC 1928), to wherever it is asked for.
fn socks() -> SocketAddr {
    fn serve(mut client: TcpStream) -> io::Result<()> {
        let mut bytes = [0; 262];
        client.read_exact(&mut bytes[..2])?;
        let methods = usize::from(bytes[1]);
        client.read_exact(&mut bytes[..methods])?;
        client.write_all(&[5, 0])?;
        client.read_exact(&mut bytes[..4])?;
        let length = if bytes[3] == 1 {
            4
        } else {
            client.read_exact(&mut bytes[..1])?;
            usize::from(bytes[0])
        };
        client.read_exact(&mut bytes[..length + 2])?;
        let port = u16::from_be_bytes([bytes[length], bytes[length + 1]]);
        let mut server = TcpStream::connect(("127.0.0.1", port))?;
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
        let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || {
            io::copy(&mut from, &mut to).ok();
            to.shutdown(Shutdown::Write).ok();
        });
        io::copy(&mut server, &mut client).map(drop)
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("it is taken");
            thread::spawn(move || serve(client));
        }
    });
    address
}

#[test]
fn socks_carries_plain_and_secure_requests() {
    let server = Server::start([Step::ok()]);
    let proxy = format!("socks5://{}", socks());
    let done = run(server.list(2), &["--proxy", &proxy]);
    done.exits(0);
    assert_eq!(server.requests().len(), 2);
    let port = secure_server().port();
    let authority = fixture("ca.pem");
    let list = format!("https://localhost:{port}/a\n");
    let proxy = proxy.replace("socks5", "socks5h");
    let done = run(list, &["--proxy", &proxy, "--cacert", &authority]);
    done.exits(0);
    assert_eq!(done.results()[0]["body"], "0 /a");
}

#[test]
fn a_place_is_moved_and_host_and_certificate_stay_as_they_were() {
    let server = Server::start([Step::ok()]);
    let to = format!("api.test:80:{}", server.host());
    let done = run("http://api.test/a\n".to_owned(), &["--connect-to", &to]);
    done.exits(0);
    let seen = &server.requests()[0];
    assert_eq!(seen.header("host"), Some(&b"api.test"[..]));
    assert_eq!(done.results()[0]["url"], "http://api.test/a");

    let port = secure_server().port();
    let authority = fixture("ca.pem");
    let to = format!("localhost:443:127.0.0.1:{port}");
    let options = ["--connect-to", &to, "--cacert", &authority];
    let done = run("https://localhost/b\n".to_owned(), &options);
    done.exits(0);
    assert_eq!(done.results()[0]["body"], "0 /b");

    let to = "api.test:80:127.0.0.1:1";
    let options = ["--connect-to", to, "--max-attempts", "1"];
    let done = run("http://api.test/a\n".to_owned(), &options);
    done.exits(1);
    let told = message(&done.results()[0]).to_owned();
    assert!(told.contains("api.test:80 (at 127.0.0.1:1)"), "{told}");
}

#[test]
fn a_socket_of_the_system_carries_all() {
    let dir = tempfile::tempdir().expect("there is room");
    let path = dir.path().join("api.sock");
    let listener = UnixListener::bind(&path).expect("the folder is ours");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("it is taken");
            thread::spawn(move || -> io::Result<()> {
                for nth in 0.. {
                    wire::head(&mut stream)?;
                    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{nth}")?;
                }
                Ok(())
            });
        }
    });
    let socket = path.to_str().expect("it is text");
    let list = "http://docker/a\nhttp://docker/b\n".to_owned();
    let done = run(list.clone(), &["--unix-socket", socket]);
    done.exits(0);
    let bodies: Vec<_> = done
        .results()
        .iter()
        .map(|line| line["body"].clone())
        .collect();
    assert_eq!(bodies, [0, 1], "one connection");
    fs::remove_file(&path).expect("it is ours");
    let done = run(list, &["--unix-socket", socket, "--max-attempts", "1"]);
    done.exits(1);
    let told = message(&done.results()[0]).to_owned();
    assert!(
        told.contains("docker:80 (at ") && told.contains("api.sock"),
        "{told}"
    );
}

#[test]
fn what_does_not_go_together_is_told_before_anything_is_sent() {
    for (options, told) in [
        (
            &["--unix-socket", "s", "--proxy", "http://h"][..],
            "--proxy",
        ),
        (
            &["--connect-to", "a:1:b:2", "--unix-socket", "s"],
            "--unix-socket",
        ),
        (&["--connect-to", "nonsense"], "HOST1:PORT1:HOST2:PORT2"),
        (&["--http2", "--http1"], "--http1"),
        (
            &["--http2", "--transport", "direct"],
            "--http2 is only for --transport reqwest",
        ),
        (
            &["--http2", "--connect-to", "a:1:b:2"],
            "--http2 and --connect-to do not go together",
        ),
        (
            &["--proxy", "http://h", "--transport", "direct"],
            "--proxy is only for",
        ),
        (
            &["--unix-socket", "s", "--transport", "reqwest"],
            "--unix-socket is only for --transport direct",
        ),
    ] {
        let done = run("http://h.test/\n".to_owned(), options);
        done.exits(2).says(told);
        assert_eq!(done.files(), ["jobs.urls"], "{options:?}");
    }
}

#[test]
fn http_2_is_spoken_at_once_to_plain_servers_and_where_a_secure_one_agrees() {
    let plain = two::serve(None, |_| Then::Answer);
    let done = run(
        format!("http://{plain}/a\nhttp://{plain}/b\n"),
        &["--http2"],
    );
    done.exits(0);
    let results = done.results();
    assert_eq!(results[0]["body"], "HTTP/2.0 /a", "{done}");
    assert_eq!(results[1]["body"], "HTTP/2.0 /b");

    let mut config = secure::config(None);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let port = two::serve(Some(config), |_| Then::Answer).port();
    let authority = fixture("ca.pem");
    let list = |port| format!("https://localhost:{port}/a\n");
    let done = run(list(port), &["--http2", "--cacert", &authority]);
    done.exits(0);
    assert_eq!(done.results()[0]["body"], "HTTP/2.0 /a");

    let port = secure_server().port();
    let done = run(list(port), &["--http2", "--cacert", &authority]);
    done.exits(0);
    assert_eq!(done.results()[0]["body"], "0 /a", "it speaks HTTP/1.1");
}

#[test]
fn a_stream_that_a_server_has_not_seen_is_sent_again_even_a_post() {
    // Others can have used up many connections, one of which it was to go by.
    for (then, times) in [(Then::Refuse, 2), (Then::GoAway, 20)] {
        let server = two::serve(
            None,
            move |nth| {
                if nth < times { then } else { Then::Answer }
            },
        );
        let list =
            format!("{{\"method\":\"POST\",\"url\":\"http://{server}/a\",\"body\":\"x\"}}\n");
        let done = run(list, &["--http2", "--backoff", "1ms..1ms"]);
        done.exits(0);
        let result = &done.results()[0];
        assert_eq!(result["attempts"], 1, "{then:?}: {result}");
    }
    let server = two::serve(None, |_| Then::Refuse);
    let list = format!("{{\"method\":\"POST\",\"url\":\"http://{server}/a\",\"body\":\"x\"}}\n");
    let done = run(
        list,
        &["--http2", "--backoff", "1ms..1ms", "--max-attempts", "2"],
    );
    done.exits(1);
    assert_eq!(
        done.results()[0]["attempts"],
        2,
        "it is never sent, so it may go again"
    );
}

#[test]
fn a_server_that_has_no_room_for_a_body_holds_a_try_for_its_time_and_no_longer() {
    let server = two::serve(None, |nth| match nth {
        0 => Then::NoRoom,
        _ => Then::Answer,
    });
    let list = format!("{{\"url\":\"http://{server}/a\",\"body\":\"x\"}}\n");
    let done = run(
        list,
        &["--http2", "--timeout", "300ms", "--max-attempts", "1"],
    );
    done.exits(1);
    assert_eq!(done.results()[0]["error"]["kind"], "timeout");
}

#[test]
fn a_stream_that_may_have_been_served_is_sent_again_only_if_that_is_harmless() {
    let reset_once = |nth| if nth == 0 { Then::Reset } else { Then::Answer };
    let server = two::serve(None, reset_once);
    let post = format!("{{\"method\":\"POST\",\"url\":\"http://{server}/a\",\"body\":\"x\"}}\n");
    let done = run(post, &["--http2", "--backoff", "1ms..1ms"]);
    done.exits(1);
    assert_eq!(done.results()[0]["error"]["kind"], "reset");
    let server = two::serve(None, reset_once);
    let done = run(
        format!("http://{server}/a\n"),
        &["--http2", "--backoff", "1ms..1ms"],
    );
    done.exits(0);
    assert_eq!(done.results()[0]["attempts"], 2);
}

#[test]
fn deny_private_asks_no_private_address_whoever_names_it() {
    let private = Server::start([Step::ok()]);
    let port = private.address().port();
    let public = Server::start([Step::status(302).header("Location", private.url("/x"))]);
    let told = |list: String, options: &[&str]| {
        let done = run(list, &[&["--deny-private"], options].concat());
        done.exits(1);
        let result = done.results().remove(0);
        assert_eq!(result["error"]["kind"], "invalid", "{result}");
        assert_eq!(result["attempts"], 1, "{result}");
        message(&result).to_owned()
    };
    for transport in ["direct", "reqwest"] {
        for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "localhost"] {
            let why = told(
                format!("http://{host}:{port}/"),
                &["--transport", transport],
            );
            assert!(
                why.contains("is not a public address (--deny-private)"),
                "{why}"
            );
        }
    }
    let detour = format!("h.test:80:{}", public.host());
    let why = told(
        "http://h.test/".to_owned(),
        &["--connect-to", &detour, "--follow"],
    );
    assert!(why.contains("127.0.0.1 is not"), "{why}");
    assert_eq!((public.requests().len(), private.requests().len()), (1, 0));
    let why = told(
        format!("http://localhost:{port}/"),
        &["--proxy", &public.url("")],
    );
    assert!(why.contains("127.0.0.1 is not"), "{why}");
    assert_eq!(public.requests().len(), 1);
}
