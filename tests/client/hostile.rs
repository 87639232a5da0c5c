//! A server that does each bad thing there is: its try ends with an error of a known kind, in its time and
//! within bounded memory; nothing is left open, and the client goes on.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use allocation_counter::measure;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use http::Method;
use shaper::client::{Client, ClientSpec, Http, Transport};
use shaper::job::Job;
use shaper::outcome::{Failure, FailureKind, Reached, Reply};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use crate::wire::{self, gzip};
use crate::{LONG, TRANSPORTS, job, send, spec};

/// The longest body that is kept here.
const MOST: usize = 256 << 10;

/// What a try may hold besides: a head, what was read and not yet taken.
const BESIDES: u64 = 1 << 20;

/// For a try that nothing but time ends.
const SHORT: Duration = Duration::from_millis(200);

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood";

/// What a server does with a request.
#[derive(Clone)]
struct Deed {
    once: Vec<u8>,
    /// For as long as the other side takes it.
    again: Vec<u8>,
    /// `again` goes out in pieces of this length, with a rest after each.
    piece: usize,
    rest: Duration,
    then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Close,
    Reset,
    /// It waits for the other side to leave.
    Stay,
    /// It waits for the next request.
    GoOn,
}

impl Deed {
    fn says(once: impl AsRef<[u8]>, then: Then) -> Self {
        Self {
            once: once.as_ref().to_vec(),
            again: Vec::new(),
            piece: usize::MAX,
            rest: Duration::ZERO,
            then,
        }
    }

    fn for_ever(once: impl AsRef<[u8]>, again: impl AsRef<[u8]>) -> Self {
        // Many at a time: the other side is not to wait for this one.
        let times = (16 << 10) / again.as_ref().len();
        Self {
            again: again.as_ref().repeat(times.max(1)),
            ..Self::says(once, Then::Close)
        }
    }

    /// A debug build would read for seconds what comes within its time.
    fn with_rests(self) -> Self {
        Self {
            piece: 1 << 10,
            rest: Duration::from_millis(1),
            ..self
        }
    }

    fn drips(once: impl AsRef<[u8]>, again: impl AsRef<[u8]>) -> Self {
        Self {
            piece: 1,
            rest: Duration::from_millis(5),
            ..Self::for_ever(once, again)
        }
    }

    /// Fails where the connection is not to go on.
    fn perform(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(&self.once)?;
        while !self.again.is_empty() {
            for piece in self.again.chunks(self.piece) {
                stream.write_all(piece)?;
                if !self.rest.is_zero() {
                    thread::sleep(self.rest);
                }
            }
        }
        match self.then {
            Then::Close => Err(io::ErrorKind::ConnectionAborted.into()),
            Then::Reset => {
                let at_once = Some(Duration::ZERO);
                rustix::net::sockopt::set_socket_linger(stream, at_once)?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Then::Stay => io::copy(stream, &mut io::sink()).map(drop),
            Then::GoOn => Ok(()),
        }
    }
}

/// Answers requests for `/good`, and does its deed with all others.
struct Hostile {
    address: SocketAddr,
    open: Arc<AtomicUsize>,
}

impl Hostile {
    fn doing(deed: Deed) -> Self {
        Self::doing_as_asked(move |_| deed.clone())
    }

    /// What it does depends on the target.
    fn doing_as_asked(deed: impl Fn(&str) -> Deed + Send + Sync + 'static) -> Self {
        Self::serving(move |stream| {
            loop {
                match &*wire::target(&wire::head(stream)?) {
                    "/good" => stream.write_all(GOOD)?,
                    target => deed(target).perform(stream)?,
                }
            }
        })
    }

    fn serving(serve: impl Fn(&mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = Arc::new(AtomicUsize::new(0));
        let (serve, counted) = (Arc::new(serve), Arc::clone(&open));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (serve, counted) = (Arc::clone(&serve), Arc::clone(&counted));
                counted.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    // That the other side leaves is what is waited for.
                    let _ = serve(&mut stream);
                    counted.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, open }
    }
}

fn get(target: &str) -> Job {
    job(Method::GET, &format!("http://h.test{target}"))
}

/// A client with what drives it.
struct Side {
    runtime: Runtime,
    client: Client,
}

impl Side {
    fn of(spec: ClientSpec) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let client = Client::new(spec).unwrap();
        Self { runtime, client }
    }

    fn to(transport: Transport, server: &Hostile) -> Self {
        Self::of(ClientSpec {
            max_body: MOST as u64,
            ..spec(transport, server.address)
        })
    }

    fn send(&mut self, job: &Job, timeout: Duration) -> Result<Reply, Failure> {
        let sending = send(&mut self.client, job, timeout);
        self.runtime.block_on(sending).end
    }

    /// The end of a try, and the most memory that it held.
    fn measured(&mut self, job: &Job, timeout: Duration) -> (Result<Reply, Failure>, u64) {
        let mut end = None;
        let cost = measure(|| end = Some(self.send(job, timeout)));
        (end.unwrap(), cost.bytes_max)
    }

    fn goes_on(&mut self) {
        let reply = self.send(&get("/good"), LONG).unwrap();
        assert_eq!(reply.body, "good");
    }

    /// Until no more connections are open than so many. If that never comes, this never ends.
    fn until_open(&self, server: &Hostile, open: usize) {
        while server.open.load(Ordering::SeqCst) > open {
            self.runtime.block_on(yield_now());
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Does it by each transport, and answers how the try ended.
fn ends(deed: &Deed, timeout: Duration) -> Vec<Result<Reply, Failure>> {
    let by = |transport| {
        let server = Hostile::doing(deed.clone());
        let mut side = Side::to(transport, &server);
        side.goes_on();
        let (end, held) = side.measured(&get("/bad"), timeout);
        let most = MOST as u64 + BESIDES;
        assert!(held <= most, "{transport}: {held} bytes, {end:?}");
        // That one waits for its next request, and no other is left.
        side.goes_on();
        side.until_open(&server, 1);
        side.client = Client::new(ClientSpec::default()).unwrap();
        side.until_open(&server, 0);
        end
    };
    TRANSPORTS.into_iter().map(by).collect()
}

#[track_caller]
fn fails(what: &str, deed: &Deed, kind: FailureKind) {
    let timeout = if kind == FailureKind::Timeout {
        SHORT
    } else {
        LONG
    };
    for (end, transport) in ends(deed, timeout).into_iter().zip(TRANSPORTS) {
        let failure = end.expect_err(what);
        assert_eq!(failure.kind, kind, "{what}, {transport}: {failure:?}");
    }
}

fn head(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n")
}

#[test]
fn a_head_that_is_torn_or_none_is_no_answer() {
    let none: [&[u8]; 15] = [
        b"",
        b"H",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r",
        b"HTTP/1.1 200 OK\r\nx-a: 1\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\0\0\0\x12\x04\0\0\0\0\0",
        b"\x15\x03\x01\0\x02\x02\x16",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 99999 x\r\n\r\n",
        b"HTTP/3.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
        b"HTTP/1.1 307 Go\r\nlocation: /\x7f\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    ];
    for text in none {
        let what = String::from_utf8_lossy(text);
        for then in [Then::Close, Then::Reset] {
            fails(&what, &Deed::says(text, then), FailureKind::Reset);
        }
    }
    for text in &none[..6] {
        let what = String::from_utf8_lossy(text);
        fails(&what, &Deed::says(text, Then::Stay), FailureKind::Timeout);
    }
}

#[test]
fn a_head_of_any_length_is_cut_off() {
    let long = "x".repeat(1 << 20);
    let many = "x-a: 1\r\n".repeat(101);
    let name = "x".repeat(70_000);
    for (what, deed) in [
        (
            "a header of 1 MiB",
            Deed::says(head(&format!("x: {long}")), Then::Stay),
        ),
        ("101 headers", Deed::says(head(&many), Then::Stay)),
        (
            "a name of 70 kB",
            Deed::says(head(&format!("{name}: 1")), Then::Stay),
        ),
        (
            "an endless header",
            Deed::for_ever("HTTP/1.1 200 OK\r\nx: ", "x"),
        ),
        (
            "endless headers",
            Deed::for_ever("HTTP/1.1 200 OK\r\n", "x: y\r\n"),
        ),
        ("an endless reason", Deed::for_ever("HTTP/1.1 200 ", "x")),
        ("endless empty lines", Deed::for_ever("", "\r\n")),
        ("endless noise", Deed::for_ever("", "noise")),
    ] {
        fails(what, &deed, FailureKind::Reset);
    }
    let announced = Deed::for_ever("", "HTTP/1.1 100 Continue\r\n\r\n").with_rests();
    fails("endless 100s", &announced, FailureKind::Timeout);
    for (what, deed) in [
        ("a slow head", Deed::drips("HTTP/1.1 200 OK\r\nx: ", "xxxx")),
        ("slow lines", Deed::drips("HTTP/1.1 200 OK\r\n", "x: y\r\n")),
        (
            "slow 100s",
            Deed::drips("", "HTTP/1.1 100 Continue\r\n\r\n"),
        ),
    ] {
        fails(what, &deed, FailureKind::Timeout);
    }
}

#[test]
fn a_length_that_is_wrong_is_no_whole_answer() {
    for lines in [
        "content-length: -1",
        "content-length: 1e3",
        "content-length: +4",
        "content-length: 4, 5",
        "content-length: 4\r\ncontent-length: 5",
        "content-length: 99999999999999999999",
    ] {
        let deed = Deed::says(head(lines) + "good", Then::Close);
        fails(lines, &deed, FailureKind::Reset);
    }
    let chunked = head("transfer-encoding: chunked");
    for (lines, then) in [
        (head("content-length: 5") + "good", Then::Close),
        (head("content-length: 5") + "good", Then::Reset),
        (chunked.clone(), Then::Close),
        (chunked.clone() + "4\r\ngood\r\n", Then::Close),
        (chunked.clone() + "4\r\ngood\r\n0\r\n", Then::Close),
        (chunked.clone() + "4\r\ngood\r\n0\r\n", Then::Reset),
        (chunked.clone() + "zz\r\n", Then::Stay),
        (chunked.clone() + "-4\r\ngood\r\n", Then::Stay),
        (chunked.clone() + "fffffffffffffffff\r\n", Then::Stay),
        (chunked.clone() + "3\r\ngood\r\n0\r\n\r\n", Then::Stay),
        (chunked.clone() + "\r\n", Then::Stay),
        (
            chunked.clone() + "4\r\ngood\r\n0\r\nno colon\r\n\r\n",
            Then::Stay,
        ),
    ] {
        fails(
            &lines,
            &Deed::says(&lines, then),
            FailureKind::IncompleteBody,
        );
    }
    for (what, deed) in [
        ("extensions", Deed::for_ever(chunked.clone() + "4;", "a=b;")),
        (
            "trailers",
            Deed::for_ever(chunked.clone() + "0\r\n", "a: b\r\n"),
        ),
        (
            "a trailer",
            Deed::for_ever(chunked.clone() + "0\r\na: ", "b"),
        ),
    ] {
        fails(what, &deed, FailureKind::IncompleteBody);
    }
    for (what, deed) in [
        (
            "a slow body",
            Deed::drips(head("content-length: 9999"), "x"),
        ),
        ("slow chunks", Deed::drips(&chunked, "1\r\nx\r\n")),
        (
            "a slow trailer",
            Deed::drips(chunked.clone() + "0\r\n", "a: b\r\n"),
        ),
        ("no body", Deed::says(head("content-length: 4"), Then::Stay)),
        (
            "no end",
            Deed::says(chunked.clone() + "4\r\ngood\r\n0\r\n", Then::Stay),
        ),
        (
            "an endless size",
            Deed::for_ever(&chunked, "0").with_rests(),
        ),
    ] {
        fails(what, &deed, FailureKind::Timeout);
    }
}

fn coded(coding: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = head(&format!(
        "content-encoding: {coding}\r\ncontent-length: {length}"
    ));
    [head.as_bytes(), body].concat()
}

#[test]
fn a_body_longer_than_is_kept_is_given_up_whatever_it_says() {
    let chunked = head("transfer-encoding: chunked");
    let bomb = gzip(&vec![0; 32 << 20]);
    for (what, deed) in [
        (
            "announced",
            Deed::says(head("content-length: 9223372036854775807"), Then::Stay),
        ),
        ("until the end", Deed::for_ever(head("x: y"), "x")),
        ("many chunks", Deed::for_ever(&chunked, "1\r\nx\r\n")),
        (
            "one chunk",
            Deed::for_ever(chunked.clone() + "7fffffffffffffff\r\n", "x"),
        ),
        ("a bomb", Deed::says(coded("gzip", &bomb), Then::GoOn)),
        (
            "a bomb in a bomb",
            Deed::says(coded("gzip, gzip", &gzip(&bomb)), Then::GoOn),
        ),
    ] {
        fails(what, &deed, FailureKind::BodyTooLarge);
    }
    let cut = &bomb[..40];
    fails(
        "a cut bomb",
        &Deed::says(coded("gzip", cut), Then::GoOn),
        FailureKind::IncompleteBody,
    );
}

#[test]
fn what_was_compressed_on_the_way_is_undone_or_told_though_nobody_asked_for_it() {
    let chunked = |codings: &str, body: &[u8]| {
        let head = head(&format!("transfer-encoding: {codings}chunked"));
        let size = format!("{:x}\r\n", body.len());
        [head.as_bytes(), size.as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
    };
    let body = gzip(b"good");
    let closed = [head("transfer-encoding: gzip").as_bytes(), &body].concat();
    for deed in [
        Deed::says(chunked("gzip, ", &body), Then::GoOn),
        Deed::says(chunked("gzip, deflate, ", &zlib(&body)), Then::GoOn),
        Deed::says(closed, Then::Close),
    ] {
        for end in ends(&deed, LONG) {
            assert_eq!(end.expect("it is known").body, "good");
        }
    }
    for (what, deed) in [
        (
            "another",
            Deed::says(chunked("compress, ", b"good"), Then::GoOn),
        ),
        ("none", Deed::says(chunked("gzip, ", b"good"), Then::GoOn)),
        (
            "a bit of it",
            Deed::says(chunked("gzip, ", &body[..12]), Then::GoOn),
        ),
    ] {
        fails(what, &deed, FailureKind::IncompleteBody);
    }
    let bomb = gzip(&vec![0; 32 << 20]);
    let bomb = Deed::says(chunked("gzip, ", &bomb), Then::GoOn);
    fails("a bomb on the way", &bomb, FailureKind::BodyTooLarge);
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_long_body_is_never_moved_to_more_memory_than_it_may_have() {
    const LENGTH: usize = 8 << 20;
    let chunked = head("transfer-encoding: chunked") + "7fffffffffffffff\r\n";
    for first in [head("x: y"), chunked] {
        let server = Hostile::doing(Deed::for_ever(&first, "x"));
        for transport in TRANSPORTS {
            let mut side = Side::of(ClientSpec {
                max_body: LENGTH as u64,
                ..spec(transport, server.address)
            });
            side.goes_on();
            let (end, held) = side.measured(&get("/bad"), LONG);
            assert_eq!(end.unwrap_err().kind, FailureKind::BodyTooLarge);
            // While it is moved for the last time its old memory is there too: half of the new.
            let most = (LENGTH + LENGTH / 2) as u64 + BESIDES;
            assert!(held <= most, "{transport}: {held} bytes");
        }
    }
}

#[test]
fn a_redirect_to_anything_is_an_answer_and_nothing_is_asked_there() {
    for to in [
        "",
        "/bad",
        "//",
        "http://[::1",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:1/",
        &"/x".repeat(10_000),
    ] {
        let text = format!("HTTP/1.1 307 Go\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        for end in ends(&Deed::says(text, Then::GoOn), LONG) {
            assert_eq!(end.expect(to).head.status, 307, "{to}");
        }
    }
}

/// A whole answer in each form, and how much of it is its head.
fn whole() -> Vec<(Vec<u8>, usize, bool)> {
    let chunks = "4;a=b\r\ngood\r\n0\r\nx-sum: 1\r\n\r\n";
    let body = gzip(b"good");
    let forms: [(String, &[u8], bool); 4] = [
        (head("content-length: 4"), b"good", false),
        (
            head("transfer-encoding: chunked\r\ntrailer: x-sum"),
            chunks.as_bytes(),
            false,
        ),
        (
            head(&format!(
                "content-encoding: gzip\r\ncontent-length: {}",
                body.len()
            )),
            &body,
            false,
        ),
        (head("connection: close"), b"good", true),
    ];
    let all = forms.into_iter().map(|(head, body, until_close)| {
        ([head.as_bytes(), body].concat(), head.len(), until_close)
    });
    all.collect()
}

#[test]
fn an_answer_that_breaks_off_after_any_byte_is_told_as_far_as_it_came() {
    for (transport, then) in TRANSPORTS
        .into_iter()
        .flat_map(|transport| [Then::Close, Then::Reset].map(|then| (transport, then)))
    {
        for (answer, head, until_close) in whole() {
            let text = answer.clone();
            let server = Hostile::doing_as_asked(move |target| {
                let sent: usize = target[1..].parse().unwrap();
                Deed::says(&text[..sent], then)
            });
            let mut side = Side::to(transport, &server);
            for sent in 0..answer.len() {
                let what = format!("{transport}, {then:?}, {sent} of {answer:?}");
                let end = side.send(&get(&format!("/{sent}")), LONG);
                if until_close && then == Then::Close && sent >= head {
                    assert_eq!(end.expect(&what).body, &answer[head..sent], "{what}");
                    continue;
                }
                let failure = end.expect_err(&what);
                let answered = failure.reached == Reached::Answered;
                let kind = if answered {
                    FailureKind::IncompleteBody
                } else {
                    FailureKind::Reset
                };
                assert_eq!(failure.kind, kind, "{what}: {failure:?}");
                assert_ne!(failure.reached, Reached::NotSent, "{what}: {failure:?}");
                // A reset may overtake what was sent before it.
                let may_be_lost = then == Then::Reset && !answered;
                assert!(
                    answered == (sent >= head) || may_be_lost,
                    "{what}: {failure:?}"
                );
            }
            side.goes_on();
            side.until_open(&server, 1);
        }
    }
}

/// A frame of HTTP/2. RFC 9113 §4.1.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RESET: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
const PUSH: u8 = 5;
const PING: u8 = 6;
pub(super) const GO_AWAY: u8 = 7;
const WINDOW: u8 = 8;
const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
/// `:status: 200`. RFC 7541, appendix A.
pub(super) const STATUS_200: [u8; 1] = [0x88];

/// Does its deed on the first stream of all, and answers the others.
fn hostile_in_http_2(deed: Deed) -> Hostile {
    let asked = AtomicUsize::new(0);
    Hostile::serving(move |stream| {
        stream.read_exact(&mut [0; 24])?;
        stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head)?;
            let [a, b, c, kind, _, id @ ..] = head;
            let length = u32::from_be_bytes([0, a, b, c]);
            io::copy(&mut stream.take(length.into()), &mut io::sink())?;
            if kind != HEADERS {
                continue;
            }
            if asked.fetch_add(1, Ordering::SeqCst) == 0 {
                deed.perform(stream)?;
                continue;
            }
            let id = u32::from_be_bytes(id);
            let flags = END_HEADERS | END_STREAM;
            stream.write_all(&frame(HEADERS, flags, id, &STATUS_200))?;
        }
    })
}

#[test]
fn a_server_of_http_2_that_breaks_its_rules_ends_its_own_try() {
    let field = [&[0, 1, b'x', 127, 0x80, 0x7f][..], &[b'y'; 16_000]].concat();
    let open = frame(HEADERS, END_HEADERS, 1, &STATUS_200);
    let ended = frame(HEADERS, END_HEADERS | END_STREAM, 1, &STATUS_200);
    let away = [0, 0, 0, 0, 0, 0, 0, 0];
    for (what, deed) in [
        ("nothing", Deed::says("", Then::Close)),
        ("a reset", Deed::says("", Then::Reset)),
        (
            "noise",
            Deed::says("noise of more than nine bytes", Then::Close),
        ),
        (
            "HTTP/1.1",
            Deed::says("HTTP/1.1 400 Bad Request\r\n\r\n", Then::Close),
        ),
        ("half a frame", Deed::says(&ended[..5], Then::Close)),
        (
            "resets",
            Deed::for_ever("", frame(RESET, 0, 1, &[0, 0, 0, 2])),
        ),
        (
            "resets of others",
            Deed::for_ever("", frame(RESET, 0, 3, &[0, 0, 0, 2])),
        ),
        (
            "no headers",
            Deed::for_ever("", frame(CONTINUATION, 0, 1, &field)),
        ),
        (
            "endless headers",
            Deed::for_ever(
                frame(HEADERS, 0, 1, &STATUS_200),
                frame(CONTINUATION, 0, 1, &field),
            ),
        ),
        (
            "endless empty headers",
            Deed::for_ever(
                frame(HEADERS, 0, 1, &STATUS_200),
                frame(CONTINUATION, 0, 1, &[]),
            ),
        ),
        (
            "data before headers",
            Deed::for_ever("", frame(DATA, 0, 1, b"x")),
        ),
        (
            "data of no stream",
            Deed::for_ever("", frame(DATA, 0, 0, b"x")),
        ),
        (
            "too much data",
            Deed::for_ever(&open, frame(DATA, 0, 1, &[b'x'; 16_000])),
        ),
        (
            "a push",
            Deed::for_ever("", frame(PUSH, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])),
        ),
        (
            "a window of more than all",
            Deed::for_ever("", frame(WINDOW, 0, 0, &[0x7f, 255, 255, 255])),
        ),
        (
            "a frame of 16 MB",
            Deed::for_ever([255, 255, 255, 0, 0, 0, 0, 0, 1], "x"),
        ),
        (
            "settings of half a field",
            Deed::for_ever("", frame(SETTINGS, 0, 0, &[0, 1, 0])),
        ),
        (
            "farewells with an error",
            Deed::for_ever("", frame(GO_AWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 1])),
        ),
        ("farewells", Deed::for_ever("", frame(GO_AWAY, 0, 0, &away))),
    ] {
        ends_its_own_try(what, deed);
    }
}

fn ends_its_own_try(what: &str, deed: Deed) {
    let server = hostile_in_http_2(deed);
    let mut side = Side::of(ClientSpec {
        max_body: MOST as u64,
        http: Http::Two,
        ..spec(Transport::Reqwest, server.address)
    });
    let (end, held) = side.measured(&get("/bad"), LONG);
    assert!(held <= MOST as u64 + BESIDES, "{what}: {held} bytes");
    if let Err(failure) = end {
        let kinds = [
            FailureKind::Reset,
            FailureKind::IncompleteBody,
            FailureKind::BodyTooLarge,
        ];
        assert!(kinds.contains(&failure.kind), "{what}: {failure:?}");
    }
    // A flood that breaks no rule leaves its connection in use, and whoever floods does not answer.
    if let Err(failure) = side.send(&get("/good"), SHORT) {
        let kinds = [FailureKind::Timeout, FailureKind::Reset];
        assert!(kinds.contains(&failure.kind), "{what}: {failure:?}");
    }
    side.client = Client::new(ClientSpec::default()).unwrap();
    side.until_open(&server, 0);
}

#[test]
fn a_server_of_http_2_that_only_keeps_busy_is_left_in_time() {
    let open = frame(HEADERS, END_HEADERS, 1, &STATUS_200);
    let empty = frame(DATA, 0, 1, &[]);
    for (what, deed) in [
        ("silence", Deed::says("", Then::Stay)),
        ("no body", Deed::says(&open, Then::Stay)),
        (
            "settings",
            Deed::for_ever("", frame(SETTINGS, 0, 0, &[])).with_rests(),
        ),
        (
            "pings",
            Deed::for_ever("", frame(PING, 0, 0, &[0; 8])).with_rests(),
        ),
        ("empty data", Deed::for_ever(&open, &empty).with_rests()),
        (
            "unknown frames",
            Deed::for_ever("", frame(99, 0, 0, b"x")).with_rests(),
        ),
        ("slow frames", Deed::drips(&open, &empty)),
    ] {
        let server = hostile_in_http_2(deed);
        let mut side = Side::of(ClientSpec {
            http: Http::Two,
            ..spec(Transport::Reqwest, server.address)
        });
        let (end, held) = side.measured(&get("/bad"), SHORT);
        let failure = end.expect_err(what);
        let kinds = [
            FailureKind::Timeout,
            FailureKind::Reset,
            FailureKind::IncompleteBody,
        ];
        assert!(kinds.contains(&failure.kind), "{what}: {failure:?}");
        assert!(held <= BESIDES, "{what}: {held} bytes");
        side.client = Client::new(ClientSpec::default()).unwrap();
        side.until_open(&server, 0);
    }
}
