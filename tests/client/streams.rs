//! Answers that are streams of events, piece by piece.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use shaper::client::{Client, ClientSpec, Transport};
use shaper::outcome::{FailureKind, Usage};
use shaper::stream::Stream;
use shaper::usage::UsageRule;

use crate::{LONG, TRANSPORTS, Told, job, read_request, send, spec};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
     transfer-encoding: chunked\r\n\r\n";

/// A server that answers one request with these pieces, so far apart at least, and closes then.
fn serve(pieces: Vec<Vec<u8>>, apart: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        read_request(&mut stream);
        let (_never, rest) = mpsc::channel::<()>();
        for piece in pieces {
            // A client that has what it wants is gone.
            if stream.write_all(&piece).is_err() {
                return;
            }
            rest.recv_timeout(apart).unwrap_err();
        }
    });
    address
}

fn chunk(data: &str) -> Vec<u8> {
    format!("{:x}\r\n{data}\r\n", data.len()).into_bytes()
}

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn token(text: &str) -> Vec<u8> {
    chunk(&event(&format!(
        "{{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}"
    )))
}

/// An answer of a chat: a role, three tokens of which the second comes in two pieces, and usage.
fn chat() -> Vec<Vec<u8>> {
    let second = token("lo");
    let (begin, end) = second.split_at(second.len() / 2);
    vec![
        HEAD.as_bytes().to_vec(),
        chunk(&event(
            "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
        )),
        token("Hel"),
        begin.to_vec(),
        end.to_vec(),
        chunk(": keep-alive\n\n"),
        token("!"),
        chunk(
            &(event(
                "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":7,\"total_tokens\":16}}",
            ) + &event("[DONE]")),
        ),
        b"0\r\n\r\n".to_vec(),
    ]
}

async fn asked(address: SocketAddr, transport: Transport, usage: UsageRule) -> Told {
    let spec = ClientSpec {
        usage,
        ..spec(transport, address)
    };
    let mut client = Client::new(spec).unwrap();
    send(&mut client, &job(Method::POST, "http://h.test/"), LONG).await
}

/// Counts of a stream.
fn counts(stream: &Stream) -> (u64, u64, Option<u64>) {
    (stream.events, stream.tokens, stream.output)
}

#[tokio::test]
async fn a_stream_tells_its_tokens_when_they_come_and_its_usage_at_the_end() {
    const APART: Duration = Duration::from_millis(20);
    for transport in TRANSPORTS {
        let told = asked(serve(chat(), APART), transport, UsageRule::Ignored).await;
        let stream = told.stream.expect("it is one");
        assert_eq!(counts(&stream), (6, 3, Some(7)));
        let (first, last) = stream.span.unwrap();
        let sent = told.sent.unwrap();
        // Two rests before the first token, six before the last.
        assert!(first.since(sent) >= 2 * APART, "{stream:?}");
        assert!(last.since(sent) >= 6 * APART, "{stream:?}");
        assert!(stream.gaps.unwrap().max <= last.since(first), "{stream:?}");
        // Without a limit on units nothing else is told of it.
        assert_eq!(told.end.unwrap().used, None);
        let told = asked(serve(chat(), Duration::ZERO), transport, UsageRule::Found).await;
        assert_eq!(counts(&told.stream.unwrap()), (6, 3, Some(7)));
        let used = Usage {
            input: Some(9),
            output: Some(7),
            total: 16,
        };
        assert_eq!(told.end.unwrap().used, Some(used));
    }
}

#[tokio::test]
async fn a_stream_in_one_piece_is_the_same_at_one_moment() {
    for transport in TRANSPORTS {
        let address = serve(vec![chat().concat()], Duration::ZERO);
        let told = asked(address, transport, UsageRule::Ignored).await;
        assert_eq!(counts(&told.stream.unwrap()), (6, 3, Some(7)));
    }
}

#[tokio::test]
async fn a_stream_that_breaks_keeps_what_was_seen() {
    let start = event(
        "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}",
    );
    let delta = event(
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}",
    );
    for transport in TRANSPORTS {
        let pieces = vec![
            HEAD.as_bytes().to_vec(),
            chunk(&start),
            chunk(&delta),
            chunk(&delta),
            chunk("data: {\"type\":\"conten"),
        ];
        let address = serve(pieces, Duration::from_millis(1));
        let told = asked(address, transport, UsageRule::Found).await;
        // The beginning of usage is no usage.
        assert_eq!(counts(told.stream.as_ref().unwrap()), (3, 2, None));
        assert_eq!(told.failure().kind, FailureKind::IncompleteBody);
    }
}

#[tokio::test]
async fn a_stream_that_is_given_up_keeps_what_was_seen() {
    for transport in TRANSPORTS {
        let pieces = vec![[HEAD.as_bytes(), &token("a")].concat()];
        let mut client = Client::new(ClientSpec {
            read_timeout: Some(Duration::from_millis(500)),
            ..spec(transport, serve(pieces, LONG))
        })
        .unwrap();
        let told = send(&mut client, &job(Method::GET, "http://h.test/"), LONG).await;
        assert_eq!(counts(told.stream.as_ref().unwrap()), (1, 1, None));
        assert_eq!(told.failure().kind, FailureKind::Timeout);
    }
}

#[tokio::test]
async fn what_is_no_stream_or_no_success_tells_none() {
    let body = event("{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}");
    for (status, kind) in [
        ("200 OK", "application/json"),
        ("200 OK", "text/event-streams"),
        ("503 Busy", "text/event-stream"),
        ("302 Found", "text/event-stream"),
    ] {
        for transport in TRANSPORTS {
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let address = serve(vec![answer.into_bytes()], Duration::ZERO);
            let told = asked(address, transport, UsageRule::Found).await;
            assert_eq!(told.stream, None, "{status} {kind}");
            assert_eq!(told.body(), body);
        }
    }
}

#[tokio::test]
async fn a_compressed_stream_has_its_moments_where_the_coding_gives_them() {
    const APART: Duration = Duration::from_millis(20);
    let event = event("{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut pieces = vec![
        HEAD.replace("\r\n\r\n", "\r\ncontent-encoding: gzip\r\n\r\n")
            .into_bytes(),
    ];
    for nth in 0..4 {
        if nth == 3 {
            encoder.try_finish().unwrap();
        } else {
            encoder.write_all(event.as_bytes()).unwrap();
            encoder.flush().unwrap();
        }
        let coded = std::mem::take(encoder.get_mut());
        pieces.push([format!("{:x}\r\n", coded.len()).as_bytes(), &coded, b"\r\n"].concat());
    }
    pieces.push(b"0\r\n\r\n".to_vec());
    for transport in TRANSPORTS {
        let told = asked(serve(pieces.clone(), APART), transport, UsageRule::Ignored).await;
        let stream = told.stream.as_ref().unwrap();
        assert_eq!(counts(stream), (3, 3, None));
        let (_, last) = stream.span.unwrap();
        assert!(last.since(told.sent.unwrap()) >= 3 * APART, "{stream:?}");
        assert_eq!(told.body(), event.repeat(3));
    }
}
