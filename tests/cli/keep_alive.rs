//! A server that closes a connection just as its next request comes, at each point of that: what is sent again, and
//! what is told.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::transport::FIXED;
use crate::support::program::Shaper;
use crate::support::wire;

/// Where the second request of a connection has come to when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    FirstByte,
    Head,
    Whole,
    WholeAndReset,
    StatusLine,
    HeadOfAnswer,
    BodyOfAnswer,
}

const POINTS: [Point; 7] = [
    Point::FirstByte,
    Point::Head,
    Point::Whole,
    Point::WholeAndReset,
    Point::StatusLine,
    Point::HeadOfAnswer,
    Point::BodyOfAnswer,
];

impl Point {
    /// The kind of the failure.
    fn kind(self) -> &'static str {
        match self {
            Self::BodyOfAnswer => "incomplete_body",
            Self::FirstByte
            | Self::Head
            | Self::Whole
            | Self::WholeAndReset
            | Self::StatusLine
            | Self::HeadOfAnswer => "reset",
        }
    }

    fn answer(self) -> &'static str {
        match self {
            Self::StatusLine => "HTTP/1.1 2",
            Self::HeadOfAnswer => "HTTP/1.1 200 OK\r\ncontent-length",
            Self::BodyOfAnswer => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no",
            Self::FirstByte | Self::Head | Self::Whole | Self::WholeAndReset => "",
        }
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Answers the first request of each connection, and ends it within the second. What it has seen of requests is how
/// often one began.
fn server(point: Point) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let begun = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&begun);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let seen = Arc::clone(&seen);
            thread::spawn(move || serve(&stream, point, &seen));
        }
    });
    (address, begun)
}

fn serve(mut stream: &TcpStream, point: Point, begun: &AtomicUsize) -> io::Result<()> {
    first_byte(stream, begun)?;
    body(stream, &wire::head(&mut stream)?)?;
    stream.write_all(OK.as_bytes())?;
    first_byte(stream, begun)?;
    if point == Point::FirstByte {
        return Ok(());
    }
    let head = wire::head(&mut stream)?;
    if point == Point::Head {
        return Ok(());
    }
    body(stream, &head)?;
    if point == Point::WholeAndReset {
        let at_once = Some(Duration::ZERO);
        return Ok(rustix::net::sockopt::set_socket_linger(stream, at_once)?);
    }
    stream.write_all(point.answer().as_bytes())?;
    stream.shutdown(Shutdown::Both)
}

fn first_byte(mut stream: &TcpStream, begun: &AtomicUsize) -> io::Result<()> {
    stream.read_exact(&mut [0])?;
    begun.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

fn body(stream: &TcpStream, head: &[u8]) -> io::Result<()> {
    let mut body = stream.take(wire::length(head));
    io::copy(&mut body, &mut io::sink()).map(drop)
}

/// The second of two jobs, which goes out on the connection of the first, and how many requests have begun.
fn race(point: Point, transport: &str, job: &Value, options: &[&str]) -> (Value, usize) {
    let (address, begun) = server(point);
    let lines: Vec<_> = (0..2)
        .map(|nth| {
            let mut job = job.clone();
            job["url"] = format!("http://{address}/{nth}").into();
            job.to_string()
        })
        .collect();
    let done = Shaper::run()
        .args([
            "-",
            "-c",
            "1",
            "--transport",
            transport,
            "--backoff",
            "1ms..1ms",
        ])
        .args(options)
        .stdin(lines.join("\n"))
        .with_results()
        .output();
    let results = done.results();
    assert_eq!(results.len(), 2, "{done}");
    assert_eq!(results[0]["status"], "ok", "{done}");
    (results[1].clone(), begun.load(Ordering::SeqCst))
}

#[test]
fn what_may_be_sent_twice_is_sent_again_on_a_connection_of_its_own() {
    let put = json!({"method": "PUT", "body": "x"});
    let post = json!({"method": "POST", "body": "x"});
    let cases: [(Value, &[&str]); 4] = [
        (json!({}), &[]),
        (put, &[]),
        (post.clone(), &["--idempotency-key"]),
        (post, &["--retry-unsafe", "always"]),
    ];
    for transport in FIXED {
        for point in POINTS {
            for (job, options) in &cases {
                let (result, begun) = race(point, transport, job, options);
                let what = format!("{transport}, {point:?}, {job}: {result}");
                assert_eq!(result["status"], "ok", "{what}");
                let tries = result["tries"].as_array().map_or(0, Vec::len);
                assert_eq!((tries, begun), (2, 3), "{what}");
                assert_eq!(result["tries"][0]["error"]["kind"], point.kind(), "{what}");
            }
        }
    }
}

#[test]
fn what_may_not_be_sent_twice_is_a_failure_that_tells_why() {
    let small = json!({"method": "POST", "body": "x"});
    // More than goes out at once.
    let large = json!({"method": "POST", "body": "x y ".repeat(1 << 20)});
    for transport in FIXED {
        for point in POINTS {
            for job in [&small, &large] {
                let (result, begun) = race(point, transport, job, &[]);
                let what = format!("{transport}, {point:?}: {result}");
                assert_eq!(result["status"], "failed", "{what}");
                assert_eq!(result["error"]["kind"], point.kind(), "{what}");
                assert_eq!((&result["attempts"], begun), (&json!(1), 2), "{what}");
            }
        }
    }
}
