//! The client against a server that plays a script, byte for byte: the same of every transport.

#![expect(clippy::unwrap_used, reason = "a test that unwraps nothing fails here")]

mod client {
    mod frames;
    mod hostile;
    mod streams;
}
#[path = "support/wire.rs"]
mod wire;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use shaper::client::{Client, ClientSpec, Transport, Via};
use shaper::clock::Clock;
use shaper::engine::{Event, Grant, Ticket};
use shaper::headers::Headers;
use shaper::job::{Job, Origin, Place, Target};
use shaper::kept::{Body, Kept};
use shaper::outcome::{Failure, FailureKind, Head, Reached, Reply, Usage};
use shaper::stream::Stream;
use shaper::units::Tick;
use shaper::usage::UsageRule;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

/// What carries requests; [`Transport::Auto`] is one of them.
const TRANSPORTS: [Transport; 2] = [Transport::Direct, Transport::Reqwest];

/// What the server does when it has answered.
#[derive(Clone, Copy)]
enum Then {
    Close,
    Stay,
    /// With the next request, without an answer.
    CloseWhenAsked,
    ResetWhenAsked,
}

/// A server that takes one connection and answers each request on it with the next of `answers`;
/// the requests it read come out of the channel.
fn serve(answers: &'static [&'static str], then: Then) -> (SocketAddr, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, requests) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for answer in answers {
            tell.send(read_request(&mut stream)).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
        match then {
            Then::Close => drop(stream),
            Then::Stay | Then::CloseWhenAsked | Then::ResetWhenAsked => {
                let _ = stream.read(&mut [0]);
            }
        }
    });
    (address, requests)
}

fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut request = wire::head(stream).unwrap();
    let mut body = stream.take(wire::length(&request));
    body.read_to_end(&mut request).unwrap();
    request
}

fn job(method: Method, url: &str) -> Job {
    let url = Url::parse(url).unwrap();
    let origin = Origin(url.origin().ascii_serialization().into());
    Job {
        method,
        ..Job::get(Place::new("-", 1), Target::from(url), origin)
    }
}

/// What a job has of its own.
fn kept(headers: &[(&'static str, &[u8])], body: Option<Body<'_>>) -> Kept {
    let mut all = Headers::default();
    for (name, value) in headers {
        let value = HeaderValue::from_bytes(value).unwrap();
        all.add(&HeaderName::from_static(name), &value);
    }
    Kept::of(&all, body, None)
}

/// What the client told of one try.
struct Told {
    connected: Option<Tick>,
    sent: Option<Tick>,
    /// An answer that comes in one piece is told by its end alone.
    head: Option<Head>,
    /// Told right before the end.
    stream: Option<Stream>,
    end: Result<Reply, Failure>,
}

impl Told {
    /// Each moment is after the one before it, and a failure says how far the try has come.
    fn is_in_order(&self, ended: Tick) {
        let head = self.head.as_ref().map(|head| head.at);
        let moments = [self.connected, self.sent, head, Some(ended)];
        let moments: Vec<Tick> = moments.into_iter().flatten().collect();
        assert!(moments.is_sorted(), "{moments:?}");
        if let Err(failure) = &self.end {
            let reached = match (self.sent, &self.head) {
                (None, _) => Reached::NotSent,
                // The library is told to have sent before it connects.
                (Some(_), None) if failure.reached == Reached::NotSent => Reached::NotSent,
                (Some(_), None) => Reached::Sent,
                (Some(_), Some(_)) => Reached::Answered,
            };
            assert_eq!(failure.reached, reached, "{failure:?}");
        }
    }

    fn failure(self) -> Failure {
        self.end.expect_err("a failure was expected")
    }

    fn body(self) -> Bytes {
        self.end.expect("a reply was expected").body
    }
}

/// A client is told the time by one clock.
static CLOCK: OnceLock<Clock> = OnceLock::new();

async fn send(client: &mut Client, job: &Job, timeout: Duration) -> Told {
    let clock = *CLOCK.get_or_init(Clock::start);
    let now = clock.now();
    let ticket = Ticket::numbered(7);
    let grant = Grant {
        seq: 0,
        due: now,
        charged_at: now,
        attempt: 1,
        began: now,
        give_up_at: now.after(timeout),
    };
    client.start(ticket, job, grant, clock);
    let (mut connected, mut sent, mut head, mut end) = (None, None, None, None);
    let mut stream: Option<Stream> = None;
    let mut events = Vec::new();
    while end.is_none() {
        client.go_on().await;
        client.hear(&mut events);
        for event in events.drain(..) {
            assert!(end.is_none(), "told after the end: {event:?}");
            match event {
                Event::Streamed(of, seen) if of == ticket => {
                    assert!(stream.replace(*seen).is_none(), "a second stream");
                }
                Event::Ended(of, at, ended) if of == ticket => end = Some((at, *ended)),
                other if stream.is_some() => panic!("between stream and end: {other:?}"),
                Event::Connected(of, at) if of == ticket && sent.is_none() => {
                    assert!(connected.replace(at).is_none(), "connected twice");
                }
                Event::Sent(of, at) if of == ticket && head.is_none() => {
                    assert!(sent.replace(at).is_none(), "sent twice");
                }
                Event::Answered(of, answered) if of == ticket => {
                    assert!(head.replace(*answered).is_none(), "answered twice");
                }
                other => panic!("not expected: {other:?}"),
            }
        }
    }
    let (ended, end) = end.expect("no end was told");
    let whole = end.as_ref().ok().map(|reply| reply.head.clone());
    let told = Told {
        connected,
        sent,
        head: head.or(whole),
        stream,
        end,
    };
    told.is_in_order(ended);
    told
}

fn spec(transport: Transport, address: SocketAddr) -> ClientSpec {
    ClientSpec {
        transport,
        via: Via::Mock(address),
        ..ClientSpec::default()
    }
}

fn client(transport: Transport, address: SocketAddr) -> Client {
    Client::new(spec(transport, address)).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

async fn get(transport: Transport, answer: &'static [&'static str], then: Then) -> Told {
    let (address, _requests) = serve(answer, then);
    send(
        &mut client(transport, address),
        &job(Method::GET, "http://h.test/a?k=canary"),
        LONG,
    )
    .await
}

/// The request as the server saw it, in lower case.
async fn seen(transport: Transport, job: &Job) -> String {
    let (address, requests) = serve(&["HTTP/1.1 204 No Content\r\n\r\n"], Then::Stay);
    let told = send(&mut client(transport, address), job, LONG).await;
    assert!(told.end.is_ok(), "{:?}", told.end);
    String::from_utf8_lossy(&requests.recv().unwrap()).to_ascii_lowercase()
}

#[tokio::test]
async fn an_answer_is_told_from_send_to_last_byte() {
    for transport in TRANSPORTS {
        let told = get(
            transport,
            &["HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-a: 1\r\nx-a: 2\r\n\r\nhi"],
            Then::Stay,
        )
        .await;
        let head = told.head.clone().unwrap();
        assert!(told.sent.unwrap() <= head.at);
        assert_eq!(head.status, 200);
        assert_eq!(
            head.headers
                .get_all(&HeaderName::from_static("x-a"))
                .count(),
            2
        );
        assert_eq!(told.body(), "hi");
    }
}

#[tokio::test]
async fn a_success_says_what_was_used_and_nothing_else_does() {
    for transport in TRANSPORTS {
        const SUCCESS: &str =
            "HTTP/1.1 201 Created\r\ncontent-length: 28\r\n\r\n{\"usage\":{\"total_tokens\":5}}";
        const FAILURE: &str =
            "HTTP/1.1 500 Oh\r\ncontent-length: 28\r\n\r\n{\"usage\":{\"total_tokens\":5}}";
        let at = UsageRule::At("/usage/total_tokens".parse().unwrap());
        let five = Some(Usage::of(5));
        for (answer, usage, used) in [
            (&[SUCCESS], UsageRule::Found, five),
            (&[SUCCESS], at, five),
            (&[SUCCESS], UsageRule::Ignored, None),
            (&[FAILURE], UsageRule::Found, None),
        ] {
            let (address, _requests) = serve(answer, Then::Stay);
            let client = Client::new(ClientSpec {
                usage: usage.clone(),
                ..spec(transport, address)
            });
            let told = send(
                &mut client.unwrap(),
                &job(Method::GET, "http://h.test/"),
                LONG,
            )
            .await;
            assert_eq!(told.end.unwrap().used, used, "{usage:?} of {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    for transport in TRANSPORTS {
        let (address, requests) = serve(&[OK, OK, OK], Then::Stay);
        let mut client = client(transport, address);
        for _ in 0..3 {
            let told = send(&mut client, &job(Method::GET, "http://h.test/"), LONG).await;
            assert_eq!(told.body(), "hi");
        }
        assert_eq!(requests.iter().take(3).count(), 3);
    }
}

/// Connections of a server: all so far, and those that are open.
#[derive(Default)]
struct Connections {
    all: AtomicUsize,
    open: AtomicUsize,
}

/// Answers on every address of this machine, at the port that it returns.
async fn serve_everywhere() -> (u16, Arc<Connections>) {
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(Connections::default());
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.all.fetch_add(1, Ordering::Relaxed);
            counted.open.fetch_add(1, Ordering::Relaxed);
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                // Requests without a body, one at a time: each comes in one piece.
                while let Ok(1..) = stream.read(&mut [0; 1024]).await {
                    let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                    stream.write_all(answer).await.unwrap();
                }
                counted.open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    (port, connections)
}

#[tokio::test]
async fn of_thousands_of_hosts_those_asked_last_keep_their_connections() {
    for transport in TRANSPORTS {
        const KEPT: usize = 1024;
        let (port, connections) = serve_everywhere().await;
        let mut client = Client::new(ClientSpec {
            transport,
            ..ClientSpec::default()
        })
        .unwrap();
        let mut ask = async |host: u16| {
            let [high, low] = host.to_be_bytes();
            let origin = format!("http://127.1.{high}.{low}:{port}");
            let job = Job {
                origin: Origin(origin.as_str().into()),
                ..job(Method::GET, &origin)
            };
            let told = send(&mut client, &job, LONG).await;
            assert!(told.end.is_ok(), "{origin}: {:?}", told.end);
        };
        for host in 0..3_000 {
            ask(host).await;
            let open = connections.open.load(Ordering::Relaxed);
            // What was just let go of, the server hears of a little later.
            assert!(open <= KEPT + 100, "{open} are open after {host} hosts");
        }
        for host in 2_900..3_000 {
            ask(host).await;
        }
        assert_eq!(connections.all.load(Ordering::Relaxed), 3_000);
        ask(0).await;
        assert_eq!(connections.all.load(Ordering::Relaxed), 3_001);
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    for transport in TRANSPORTS {
        let told = get(
            transport,
            &["HTTP/1.1 302 Found\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n"],
            Then::Stay,
        )
        .await;
        assert_eq!(told.end.unwrap().head.status, 302);
    }
}

#[tokio::test]
async fn a_body_without_a_length_ends_with_the_connection() {
    for transport in TRANSPORTS {
        let told = get(transport, &["HTTP/1.1 200 OK\r\n\r\nhi"], Then::Close).await;
        assert_eq!(told.body(), "hi");
    }
}

#[tokio::test]
async fn chunks_with_extensions_and_trailers_are_one_body() {
    for transport in TRANSPORTS {
        const CHUNKS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
            1;a=b\r\nh\r\n1\r\ni\r\n0\r\nx-sum: abc\r\n\r\n";
        assert_eq!(get(transport, &[CHUNKS], Then::Stay).await.body(), "hi");
    }
}

#[tokio::test]
async fn a_refused_connection_was_never_sent() {
    for transport in TRANSPORTS {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let job = job(Method::GET, "http://u:canary@h.test/?k=canary");
        let failure = send(&mut client(transport, address), &job, LONG)
            .await
            .failure();
        assert_eq!(failure.kind, FailureKind::Connect);
        assert_eq!(failure.reached, Reached::NotSent);
        assert!(
            failure.message.contains(&address.to_string()),
            "{failure:?}"
        );
        assert!(failure.message.contains("refused"), "{failure:?}");
        assert!(!failure.message.contains("canary"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_a_reset() {
    for transport in TRANSPORTS {
        for answer in [&[""], &["HTTP/1.1 2"], &["220 mail ready\r\n\r\n"]] {
            let failure = get(transport, answer, Then::Close).await.failure();
            assert_eq!(failure.kind, FailureKind::Reset, "{answer:?}");
            assert_eq!(failure.reached, Reached::Sent, "{answer:?}");
            assert!(!failure.message.contains("canary"), "{failure:?}");
        }
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_incomplete() {
    for transport in TRANSPORTS {
        const CHUNK: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n";
        let told = get(
            transport,
            &["HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n0123456789"],
            Then::Close,
        )
        .await;
        assert!(told.head.is_some());
        let failure = told.failure();
        assert_eq!(failure.kind, FailureKind::IncompleteBody);
        assert_eq!(failure.reached, Reached::Answered);
        assert!(failure.message.contains("10 of 100 bytes"), "{failure:?}");

        let failure = get(transport, &[CHUNK], Then::Close).await.failure();
        assert_eq!(failure.kind, FailureKind::IncompleteBody);
        assert!(failure.message.contains("after 2 bytes"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_body_longer_than_is_kept_is_not_read_on() {
    for transport in TRANSPORTS {
        const ANNOUNCED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n0123";
        const OPEN: &str = "HTTP/1.1 200 OK\r\n\r\n01234567890";
        for answer in [&[ANNOUNCED], &[OPEN]] {
            let (address, _requests) = serve(answer, Then::Stay);
            let client = Client::new(ClientSpec {
                max_body: 10,
                ..spec(transport, address)
            });
            let job = job(Method::GET, "http://h.test/");
            let failure = send(&mut client.unwrap(), &job, LONG).await.failure();
            assert_eq!(failure.kind, FailureKind::BodyTooLarge, "{answer:?}");
            assert_eq!(failure.reached, Reached::Answered);
            assert!(failure.message.contains("10 bytes"), "{failure:?}");
        }
    }
}

#[tokio::test]
async fn a_slow_answer_times_out_and_the_phase_is_named() {
    for transport in TRANSPORTS {
        for (answer, phase, reached) in [
            (&[""], "headers)", Reached::Sent),
            (
                &["HTTP/1.1 200 OK\r\n\r\nhi"],
                "(phase: body)",
                Reached::Answered,
            ),
        ] {
            let (address, _requests) = serve(answer, Then::Stay);
            let job = job(Method::GET, "http://h.test/");
            let failure = send(
                &mut client(transport, address),
                &job,
                Duration::from_millis(300),
            )
            .await
            .failure();
            assert_eq!(failure.kind, FailureKind::Timeout);
            assert_eq!(failure.reached, reached);
            assert!(failure.message.contains(phase), "{failure:?}");
            assert!(
                failure.message.contains("slower than 300 ms"),
                "{failure:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_gap_between_bytes_times_out() {
    for transport in TRANSPORTS {
        for answer in [&[""], &["HTTP/1.1 200 OK\r\n\r\nhi"]] {
            let (address, _requests) = serve(answer, Then::Stay);
            let client = Client::new(ClientSpec {
                read_timeout: Some(Duration::from_millis(200)),
                ..spec(transport, address)
            });
            let job = job(Method::GET, "http://h.test/");
            let failure = send(&mut client.unwrap(), &job, LONG).await.failure();
            assert_eq!(failure.kind, FailureKind::Timeout);
            assert!(
                failure.message.contains("nothing came for 200 ms"),
                "{failure:?}"
            );
        }
    }
}

#[tokio::test]
async fn only_a_request_with_a_body_or_a_use_for_one_has_a_length() {
    for transport in TRANSPORTS {
        let with = |method, body: &'static str| Job {
            kept: kept(&[], Some(Body::InLine(body.as_bytes()))),
            ..job(method, "http://h.test/")
        };
        for (job, length) in [
            (with(Method::GET, r#"{"q":1}"#), Some("7")),
            (job(Method::GET, "http://h.test/"), None),
            (with(Method::GET, ""), None),
            (with(Method::DELETE, "x"), Some("1")),
            (job(Method::DELETE, "http://h.test/"), None),
            (job(Method::POST, "http://h.test/"), Some("0")),
            (with(Method::PUT, ""), Some("0")),
        ] {
            let request = seen(transport, &job).await;
            assert!(!request.contains("transfer-encoding"), "{request}");
            match length {
                Some(length) => {
                    let line = format!("content-length: {length}\r\n");
                    assert_eq!(request.matches(&line).count(), 1, "{request}");
                }
                None => assert!(!request.contains("content-length"), "{request}"),
            }
            assert!(
                request.as_bytes().ends_with(job.body().unwrap_or_default()),
                "{request}"
            );
        }
    }
}

#[tokio::test]
async fn headers_go_out_as_they_are_and_win_over_those_of_the_client() {
    for transport in TRANSPORTS {
        let mut job = job(Method::POST, "http://u:p@h.test/");
        let own: [(&str, &[u8]); 5] = [
            ("x-name", "Zoë".as_bytes()),
            ("x-two", b"1"),
            ("x-two", b"2"),
            ("user-agent", "Версия/1".as_bytes()),
            ("content-length", b"99"),
        ];
        job.kept = kept(&own, None);
        let request = seen(transport, &job).await;
        assert!(request.contains("x-name: zoë\r\n"), "{request}");
        assert!(request.contains("x-two: 1\r\nx-two: 2\r\n"), "{request}");
        assert!(request.contains("content-length: 0\r\n"), "{request}");
        assert_eq!(request.matches("user-agent").count(), 1, "{request}");
        assert!(
            request.contains("authorization: basic dtpw\r\n"),
            "{request}"
        );
        assert!(request.starts_with("post / http/1.1\r\n"), "{request}");
    }
}

#[tokio::test]
async fn a_url_goes_out_as_the_whatwg_rules_write_it() {
    for transport in TRANSPORTS {
        for (written, target) in [
            ("http://h.test/a b?q=x y#part", "/a%20b?q=x%20y"),
            ("http://h.test/p|q?x=[1]&y={z}", "/p|q?x=[1]&y={z}"),
            ("http://h.test/%zz?a=%", "/%zz?a=%"),
            ("http://h.test/%2fok", "/%2fok"),
            ("https://h.test", "/"),
        ] {
            let request = seen(transport, &job(Method::GET, written)).await;
            let line = request.lines().next().unwrap();
            assert_eq!(line, format!("get {target} http/1.1"), "{written}");
        }
    }
}

#[tokio::test]
async fn a_name_without_an_address_is_told_with_its_host() {
    for transport in TRANSPORTS {
        let mut client = Client::new(ClientSpec {
            transport,
            ..ClientSpec::default()
        })
        .unwrap();
        let job = job(Method::GET, "http://nope.invalid/?k=canary");
        let failure = send(&mut client, &job, LONG).await.failure();
        assert_eq!(failure.kind, FailureKind::Dns, "{failure:?}");
        assert_eq!(failure.reached, Reached::NotSent);
        assert!(failure.message.contains("nope.invalid"), "{failure:?}");
        assert!(!failure.message.contains("canary"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_in_clear_words() {
    for transport in TRANSPORTS {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let mut client = Client::new(ClientSpec {
            transport,
            ..ClientSpec::default()
        })
        .unwrap();
        let job = job(Method::GET, &format!("https://{address}/?k=canary"));
        let failure = send(&mut client, &job, LONG).await.failure();
        assert_eq!(failure.kind, FailureKind::Tls, "{failure:?}");
        assert_eq!(failure.reached, Reached::NotSent);
        assert!(
            failure.message.contains("does not speak TLS"),
            "{failure:?}"
        );
    }
}

/// A server that gives each connection the next of `scripts`: an answer for each request on it, and then what
/// becomes of it. The requests that it read come out of the channel, with the number of their connection.
fn play(scripts: &'static [(&'static [&'static str], Then)]) -> (SocketAddr, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, requests) = mpsc::channel();
    thread::spawn(move || {
        let mut stay = Vec::new();
        for (number, (answers, then)) in scripts.iter().enumerate() {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in *answers {
                tell.send((number, read_request(&mut stream))).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
            match then {
                Then::Close => drop(stream),
                Then::Stay => stay.push(stream),
                Then::CloseWhenAsked => drop(read_request(&mut stream)),
                Then::ResetWhenAsked => {
                    read_request(&mut stream);
                    let at_once = Some(Duration::ZERO);
                    rustix::net::sockopt::set_socket_linger(&stream, at_once).unwrap();
                }
            }
        }
        // Until the test ends.
        while tell.send((usize::MAX, Vec::new())).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    (address, requests)
}

type Requests = mpsc::Receiver<(usize, Vec<u8>)>;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// Until what was sent over loopback has been heard of by this runtime.
async fn a_moment() {
    let clock = Clock::start();
    clock
        .sleep_until(Tick::ZERO.after(Duration::from_millis(50)))
        .await;
}

/// For a moment.
async fn go_on(client: &mut Client) {
    tokio::select! {
        biased;
        () = client.go_on() => panic!("nothing is asked"),
        () = a_moment() => {}
    }
}

#[tokio::test]
async fn a_connection_is_opened_ahead_where_a_server_has_answered_and_none_waits() {
    const LAST: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
    let (address, requests) = play(&[
        (&[LAST], Then::Close),
        (&[OK, LAST], Then::Close),
        (&[OK], Then::Stay),
    ]);
    let mut client = client(Transport::Direct, address);
    let job = job(Method::GET, "http://h.test/");
    let clock = *CLOCK.get_or_init(Clock::start);
    let mut numbers = Vec::new();
    for is_new in [true, false, false, true] {
        // Where one waits, or nothing has answered, this does nothing.
        if numbers != [0, 1, 1] {
            client.prepare(&job, 1, clock);
            client.prepare(&job, 1, clock);
            go_on(&mut client).await;
        }
        let told = send(&mut client, &job, LONG).await;
        assert_eq!(told.connected.is_some(), is_new);
        assert_eq!(told.body(), "hi");
        numbers.push(requests.recv().unwrap().0);
    }
    assert_eq!(numbers, [0, 1, 1, 2]);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_idle_is_not_used_again() {
    for transport in TRANSPORTS {
        let (address, requests) = play(&[(&[OK], Then::Close), (&[OK], Then::Stay)]);
        let mut client = client(transport, address);
        for number in 0..2 {
            let job = job(Method::POST, "http://h.test/");
            assert_eq!(send(&mut client, &job, LONG).await.body(), "hi");
            assert_eq!(requests.recv().unwrap().0, number);
            a_moment().await;
        }
    }
}

#[tokio::test]
async fn a_connection_on_which_something_came_that_nobody_asked_for_is_not_used_again() {
    const TIMEOUT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi\
        HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n";
    for transport in TRANSPORTS {
        let (address, requests) = play(&[(&[TIMEOUT], Then::Stay), (&[OK], Then::Stay)]);
        let mut client = client(transport, address);
        for number in 0..2 {
            let told = send(&mut client, &job(Method::GET, "http://h.test/"), LONG).await;
            assert_eq!(told.end.unwrap().head.status, 200);
            assert_eq!(requests.recv().unwrap().0, number);
            a_moment().await;
        }
    }
}

#[tokio::test]
async fn what_was_written_on_a_connection_that_dies_is_not_sent_again() {
    for transport in TRANSPORTS {
        for (then, how) in [
            (Then::CloseWhenAsked, "the reused connection was closed"),
            (Then::ResetWhenAsked, "the reused connection broke"),
        ] {
            for method in [Method::GET, Method::POST] {
                let (address, requests) = match then {
                    Then::CloseWhenAsked => play(&[(&[OK], Then::CloseWhenAsked)]),
                    _ => play(&[(&[OK], Then::ResetWhenAsked)]),
                };
                let mut client = client(transport, address);
                let job = job(method, "http://h.test/");
                assert_eq!(send(&mut client, &job, LONG).await.body(), "hi");
                let told = send(&mut client, &job, LONG).await;
                assert!(told.sent.is_some());
                let failure = told.failure();
                assert_eq!(failure.kind, FailureKind::Reset);
                assert_eq!(failure.reached, Reached::Sent);
                if transport == Transport::Direct {
                    assert!(failure.message.contains(how), "{failure:?}");
                }
                drop(requests);
            }
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_to_be_closed_is_not_used_again() {
    const CLOSES: &str = "HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 2\r\n\r\nhi";
    const OLD: &str = "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    const OLD_STAYS: &str =
        "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi";
    for transport in TRANSPORTS {
        let (address, requests) = play(&[
            (&[CLOSES], Then::Stay),
            (&[OLD], Then::Stay),
            (&[OLD_STAYS, OK, OK], Then::Stay),
            (&[OK], Then::Stay),
        ]);
        let mut client = client(transport, address);
        let mut job = job(Method::GET, "http://h.test/");
        for number in [0, 1, 2, 2] {
            assert_eq!(send(&mut client, &job, LONG).await.body(), "hi");
            assert_eq!(requests.recv().unwrap().0, number, "{transport}");
        }
        job.kept = kept(&[("connection", b"close")], None);
        for number in [2, 3] {
            assert_eq!(send(&mut client, &job, LONG).await.body(), "hi");
            assert_eq!(requests.recv().unwrap().0, number, "{transport}");
        }
    }
}

#[tokio::test]
async fn answers_without_a_body_leave_the_connection_open_whatever_length_they_name() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    const EMPTY: &str = "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n";
    const KNOWN: &str = "HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n";
    for transport in TRANSPORTS {
        let (address, requests) = play(&[(&[HEAD, EMPTY, KNOWN, OK], Then::Stay)]);
        let mut client = client(transport, address);
        for (method, status, body) in [
            (Method::HEAD, 200, ""),
            (Method::GET, 204, ""),
            (Method::GET, 304, ""),
            (Method::GET, 200, "hi"),
        ] {
            let told = send(&mut client, &job(method, "http://h.test/"), LONG).await;
            let reply = told.end.unwrap();
            assert_eq!(reply.head.status, status);
            assert_eq!(reply.body, body);
            assert_eq!(requests.recv().unwrap().0, 0);
        }
    }
}

#[tokio::test]
async fn heads_that_only_announce_are_passed_over() {
    const EARLY: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx: 1\r\n\r\n\
        HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    for transport in TRANSPORTS {
        let told = get(transport, &[EARLY], Then::Stay).await;
        let head = told.head.clone().unwrap();
        assert_eq!(
            (head.status.as_u16(), head.headers.iter().count()),
            (200, 1)
        );
        assert_eq!(told.body(), "hi");
    }
}

#[tokio::test]
async fn an_answer_that_contradicts_itself_is_none() {
    const TWO_LENGTHS: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi";
    const NO_LENGTH: &str = "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nhi";
    for transport in TRANSPORTS {
        for answer in [&[TWO_LENGTHS], &[NO_LENGTH]] {
            let failure = get(transport, answer, Then::Stay).await.failure();
            assert_eq!(failure.kind, FailureKind::Reset, "{answer:?}");
            assert_eq!(failure.reached, Reached::Sent);
        }
    }
}

#[tokio::test]
async fn a_body_of_any_length_arrives_whole() {
    for transport in TRANSPORTS {
        for length in [1, 4_095, 4_096, 4_097, 5_000_000] {
            let (address, requests) = serve(&[OK], Then::Stay);
            let letters = b"abcdefghijklmnopqrstuvw".iter().copied().cycle();
            let body: Vec<u8> = letters.take(length).collect();
            let job = Job {
                kept: kept(&[], Some(Body::InLine(&body))),
                ..job(Method::PUT, "http://h.test/")
            };
            let told = send(&mut client(transport, address), &job, LONG).await;
            assert_eq!(told.body(), "hi");
            let request = requests.recv().unwrap();
            assert!(request.ends_with(&body), "{length}");
        }
    }
}

#[tokio::test]
async fn a_server_that_answers_before_it_has_read_all_is_heard() {
    const ENOUGH: &str = "HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno";
    for transport in TRANSPORTS {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (done, wait) = mpsc::channel::<()>();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 1_000]).unwrap();
            stream.write_all(ENOUGH.as_bytes()).unwrap();
            // A close here would reset the connection, and that may overtake the answer.
            let _ = wait.recv();
        });
        let job = Job {
            kept: kept(&[], Some(Body::Apart(vec![b'x'; 50_000_000].into()))),
            ..job(Method::POST, "http://h.test/")
        };
        let told = send(&mut client(transport, address), &job, LONG).await;
        assert_eq!(told.end.unwrap().head.status, 413);
        drop(done);
    }
}

#[tokio::test]
async fn a_connection_that_does_not_become_secure_in_time_was_never_sent() {
    for transport in TRANSPORTS {
        // Its backlog takes connections, and nobody answers on them.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let with = |connect_timeout| {
            Client::new(ClientSpec {
                transport,
                connect_timeout,
                ..ClientSpec::default()
            })
        };
        let job = job(Method::POST, &format!("https://{address}/"));
        let short = Duration::from_millis(200);
        let failure = send(&mut with(Some(short)).unwrap(), &job, LONG)
            .await
            .failure();
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure:?}");
        assert_eq!(failure.reached, Reached::NotSent);
        assert!(failure.message.contains("(phase: connect)"), "{failure:?}");

        let failure = send(&mut with(None).unwrap(), &job, short).await.failure();
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure:?}");
        assert!(
            failure.message.contains("slower than 200 ms"),
            "{failure:?}"
        );
        // The library does not say that it has no connection yet.
        let reached = match transport {
            Transport::Direct => Reached::NotSent,
            Transport::Auto | Transport::Reqwest => Reached::Sent,
        };
        assert_eq!(failure.reached, reached);
    }
}

#[tokio::test]
async fn a_body_in_a_coding_that_the_job_names_goes_out_in_chunks() {
    for transport in TRANSPORTS {
        let coding: (&str, &[u8]) = ("transfer-encoding", b"gzip");
        let job = Job {
            kept: kept(&[coding], Some(Body::InLine(b"hello"))),
            ..job(Method::POST, "http://h.test/")
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n0\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            stream.write_all(OK.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        assert_eq!(
            send(&mut client(transport, address), &job, LONG)
                .await
                .body(),
            "hi"
        );
        let request = server.join().unwrap();
        assert!(
            request.contains("transfer-encoding: gzip, chunked\r\n"),
            "{request}"
        );
        assert!(!request.contains("content-length"), "{request}");
        assert!(
            request.ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
            "{request}"
        );
    }
}

/// The lines of a request, its first one first, the others sorted.
async fn lines(transport: Transport, job: &Job) -> Vec<String> {
    let request = seen(transport, job).await;
    let mut lines: Vec<String> = request.lines().map(ToOwned::to_owned).collect();
    lines[1..].sort();
    let host = lines.iter_mut().find(|line| line.starts_with("host: "));
    "host".clone_into(host.expect("every request has one"));
    lines
}

#[tokio::test]
async fn all_transports_send_the_same_headers() {
    let own = |name: &'static str, value: &'static str| {
        let mut job = job(Method::POST, "http://%75:p%3aq%zz@h.test:81/a?b#c");
        job.kept = kept(&[(name, value.as_bytes())], Some(Body::InLine(b"{}")));
        job
    };
    for job in [
        job(Method::GET, "http://h.test/"),
        job(Method::DELETE, "http://h.test/"),
        job(Method::OPTIONS, "http://:p@h.test/?"),
        job(Method::from_bytes(b"PURGE").unwrap(), "http://u@h.test"),
        own("x-own", ""),
        own("accept", "text/html"),
        own("authorization", "Bearer x"),
        own("host", "other.test"),
        own("expect", "100-continue"),
        own("connection", "close, x"),
        own("te", "trailers"),
        own("cookie", "a=b; c=d"),
    ] {
        let [direct, library] = TRANSPORTS;
        assert_eq!(lines(direct, &job).await, lines(library, &job).await);
    }
}

#[tokio::test]
async fn a_connection_is_not_used_for_longer_than_its_server_says() {
    const SHORT: &str = "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nhi";
    const LONGER: &str =
        "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1000\r\ncontent-length: 2\r\n\r\nhi";
    // The library does not hear it.
    let (address, requests) = play(&[(&[SHORT], Then::Stay), (&[LONGER, OK], Then::Stay)]);
    let mut client = client(Transport::Direct, address);
    for number in [0, 1, 1] {
        let job = job(Method::POST, "http://h.test/");
        assert_eq!(send(&mut client, &job, LONG).await.body(), "hi");
        assert_eq!(requests.recv().unwrap().0, number);
        let clock = Clock::start();
        clock
            .sleep_until(Tick::ZERO.after(Duration::from_millis(500)))
            .await;
    }
}
