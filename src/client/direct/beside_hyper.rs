//! The decoder beside hyper, the reference: the same answers from the same bytes, or an error from both, whatever
//! the bytes are and wherever they are cut. Floor 4: doors.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::decoder::{Decoder, Found};
use crate::fields::Fields;

/// What became of an answer. What came of a body that broke off is not compared: hyper hands it over in parts.
#[derive(Debug, PartialEq)]
enum Seen {
    NoHead,
    Broken(StatusCode, HeaderMap),
    Whole(StatusCode, HeaderMap, Vec<u8>),
}

/// By the decoder, which gets the bytes in pieces.
fn ours(method: &Method, pieces: &[&[u8]]) -> Seen {
    let mut decoder = Decoder::new(method.clone());
    let (mut head, mut body) = (None, Vec::new());
    let mut held = Vec::new();
    let mut is_whole = false;
    'pieces: for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            let Ok((taken, found)) = decoder.decode(&held, &mut body) else {
                break 'pieces;
            };
            held.drain(..taken);
            match found {
                Found::Part => break,
                Found::Head(status, fields, _) => head = Some((status, map(&fields))),
                Found::End(_) => {
                    is_whole = true;
                    break 'pieces;
                }
            }
        }
        if let [.., last] = pieces
            && std::ptr::eq(*last, *piece)
        {
            is_whole = decoder.close().is_ok();
        }
    }
    match head {
        None => Seen::NoHead,
        Some((status, headers)) if is_whole => Seen::Whole(status, headers, body),
        Some((status, headers)) => Seen::Broken(status, headers),
    }
}

fn map(fields: &Fields) -> HeaderMap {
    let pair = |(name, value)| {
        let name = HeaderName::from_bytes(name).unwrap();
        (name, HeaderValue::from_bytes(value).unwrap())
    };
    fields.iter().map(pair).collect()
}

/// By hyper, which gets them at once.
async fn theirs(method: &Method, bytes: &[u8]) -> Seen {
    let wire = Wire {
        answer: Bytes::copy_from_slice(bytes),
        asked: false,
        reader: None,
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(wire)).await.unwrap();
    tokio::spawn(connection);
    let uri = match *method {
        Method::CONNECT => "h.test:80",
        _ => "/",
    };
    let request = Request::builder().method(method).uri(uri);
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let Ok(response) = sender.send_request(request).await else {
        return Seen::NoHead;
    };
    let (head, body) = response.into_parts();
    match body.collect().await {
        Ok(body) => Seen::Whole(head.status, head.headers, body.to_bytes().into()),
        Err(_) => Seen::Broken(head.status, head.headers),
    }
}

/// A connection that answers when it is asked, and is then closed.
struct Wire {
    answer: Bytes,
    asked: bool,
    reader: Option<Waker>,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let most = self.answer.len().min(into.remaining());
        into.put_slice(&self.answer.split_to(most));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Panics unless both see the same: in one piece, in these, and byte by byte.
fn compare(method: &Method, bytes: &[u8], cuts: &[Index]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let theirs = runtime.unwrap().block_on(theirs(method, bytes));
    let shown = || format!("{method} {:?}", bytes.escape_ascii().to_string());
    assert_eq!(ours(method, &[bytes]), theirs, "{}", shown());
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts {
        pieces.push(&bytes[from..cut]);
        from = cut;
    }
    pieces.push(&bytes[from..]);
    assert_eq!(ours(method, &pieces), theirs, "cut {pieces:?} {}", shown());
    let bytewise: Vec<&[u8]> = bytes.chunks(1).collect();
    if !bytewise.is_empty() {
        assert_eq!(ours(method, &bytewise), theirs, "bytewise {}", shown());
    }
}

fn method() -> impl Strategy<Value = Method> {
    select(vec![
        Method::GET,
        Method::GET,
        Method::POST,
        Method::HEAD,
        Method::CONNECT,
    ])
}

fn text(all: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(all).prop_map(str::to_owned)
}

/// Mostly one, at times another.
fn mostly(usual: &'static str, others: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(usual.to_owned()), 1 => text(others)]
}

fn status_line() -> impl Strategy<Value = String> {
    let version = mostly(
        "HTTP/1.1",
        &["HTTP/1.0", "HTTP/1.2", "HTTP/2", "http/1.1", "\r\nHTTP/1.1"],
    );
    let status = text(&[
        "200", "200", "200", "404", "503", "204", "304", "101", "199", "099", "600", "20",
    ]);
    let reason = mostly(
        " OK",
        &[
            "",
            " ",
            " Not Found",
            " \u{e9}t\u{e9}",
            "  x\ty",
            " a\u{1}b",
        ],
    );
    (version, status, reason)
        .prop_map(|(version, status, reason)| format!("{version} {status}{reason}"))
}

fn header() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => text(&["x-a: 1", "x-a:2", "X-B:  two \t", "x-c:", "set-cookie: a=b", "x-\u{e9}: 1", "x-d: \u{e9}",
            "date: Sun, 06 Nov 1994 08:49:37 GMT", "retry-after: 1"]),
        1 => text(&["connection: close", "Connection: keep-alive", "connection: Keep-Alive, x", "connection: x,CLOSE"]),
        1 => text(&["x e: 1", "x-e : 1", " folded", "x-f: a\r\n b", ": none", "x-g", "x-h: a\u{0}b", "x\u{0}-i: 1",
            "\u{7f}: 1"]),
    ]
}

/// The headers that frame a body of this length.
fn framing(length: usize) -> impl Strategy<Value = Vec<String>> {
    let named = move |texts: &[&str]| -> Vec<String> {
        let length = length.to_string();
        texts
            .iter()
            .map(|text| text.replace('#', &length))
            .collect()
    };
    prop_oneof![
        3 => Just(named(&["content-length: #"])),
        3 => Just(named(&["transfer-encoding: chunked"])),
        1 => Just(named(&[])),
        2 => select(vec![
            named(&["content-length: #", "Content-Length: #"]),
            named(&["content-length: #, #"]),
            named(&["content-length: #", "content-length: 1"]),
            named(&["content-length: #, 0"]),
            named(&["content-length: +#"]),
            named(&["content-length: -1"]),
            named(&["content-length: "]),
            named(&["content-length: #x"]),
            named(&["content-length: 00#"]),
            named(&["content-length: 99999999999999999999"]),
            named(&["content-length: #", "transfer-encoding: chunked"]),
            named(&["transfer-encoding: gzip, Chunked"]),
            named(&["transfer-encoding: gzip", "transfer-encoding:chunked"]),
            named(&["transfer-encoding: chunked", "transfer-encoding: gzip"]),
            named(&["transfer-encoding: chunked, chunked"]),
            named(&["transfer-encoding: chunkedx"]),
            named(&["transfer-encoding: identity", "content-length: #"]),
            named(&["transfer-encoding: "]),
        ]),
    ]
}

/// The bytes of a body as its framing says; what that is not may be anything.
fn framed(headers: &[String], body: &[u8], chunk: usize, extra: &str, trailers: &str) -> Vec<u8> {
    if !headers
        .iter()
        .any(|header| header.starts_with("transfer-encoding"))
    {
        return body.to_vec();
    }
    let mut out = Vec::new();
    for piece in body.chunks(chunk) {
        out.extend(format!("{:x}{extra}\r\n", piece.len()).into_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    out.extend(format!("0{extra}\r\n{trailers}\r\n").into_bytes());
    out
}

/// What may stand before an answer.
fn early() -> impl Strategy<Value = String> {
    mostly(
        "",
        &[
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
            "HTTP/1.0 100\n\n",
            "HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\n",
            "\r\n\r\n",
        ],
    )
}

/// The length of chunks, what stands behind it, and the trailers.
fn chunking() -> impl Strategy<Value = (usize, String, String)> {
    let extras = &[";a=b", " ", "\t ;x=\"y\"", ";\n", " 1", "g"];
    let trailers = &[
        "x-t: 1\r\n",
        "x-t: 1\r\nx-u:\r\n",
        "x t: 1\r\n",
        "x-t\r\n",
        "x: 1\ny: 2\r\n",
        "\n",
        "content-length: 3\r\n",
    ];
    (1..30_usize, mostly("", extras), mostly("", trailers))
}

/// An answer as servers send it, with the liberties that they take.
fn answer() -> impl Strategy<Value = Vec<u8>> {
    let body = vec(any::<u8>(), 0..60);
    let parts = body.prop_flat_map(|body| {
        let head = (status_line(), vec(header(), 0..5), framing(body.len()));
        let ends = (
            mostly("\r\n", &["\n"]),
            mostly("", &["HTTP/1.1 200 OK\r\n\r\n", "x"]),
        );
        (early(), head, Just(body), chunking(), ends)
    });
    parts.prop_map(
        |(early, head, body, (chunk, extra, trailers), (end, after))| {
            let (line, others, framing) = head;
            let lines = [line].into_iter().chain(others).chain(framing.clone());
            let mut out = early.into_bytes();
            for line in lines.chain([String::new()]) {
                // Latin-1, as heads are.
                out.extend(line.chars().map(|c| u8::try_from(u32::from(c)).unwrap()));
                out.extend_from_slice(end.as_bytes());
            }
            out.extend(framed(&framing, &body, chunk, &extra, &trailers));
            out.extend_from_slice(after.as_bytes());
            out
        },
    )
}

/// What can happen to bytes.
#[derive(Debug, Clone)]
enum Damage {
    Flipped(Index, u8),
    CutOff(Index),
    LeftOut(Index, u8),
    Put(Index, u8),
    Again(Index, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let (at, span) = (any::<Index>, 1..20_u8);
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flipped(at, bit)),
        at().prop_map(Damage::CutOff),
        (at(), span.clone()).prop_map(|(at, span)| Damage::LeftOut(at, span)),
        (at(), select(b"\r\n :;,0\t\0a".to_vec())).prop_map(|(at, byte)| Damage::Put(at, byte)),
        (at(), span).prop_map(|(at, span)| Damage::Again(at, span)),
    ]
}

impl Damage {
    fn done(&self, bytes: &mut Vec<u8>) {
        let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
        let range = |at: &Index, span: u8, bytes: &[u8]| {
            let from = at.index(bytes.len() + 1);
            from..bytes.len().min(from + usize::from(span))
        };
        match self {
            Self::Flipped(at, bit) => {
                let at = place(at, bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::CutOff(at) => bytes.truncate(place(at, bytes)),
            Self::LeftOut(at, span) => drop(bytes.drain(range(at, *span, bytes))),
            Self::Put(at, byte) => bytes.insert(place(at, bytes), *byte),
            Self::Again(at, span) => {
                let range = range(at, *span, bytes);
                let again = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, again);
            }
        }
    }
}

/// Bytes that often stand in heads, and any.
fn any_byte() -> impl Strategy<Value = u8> {
    let often = b"\r\n\r\n\r\n :;,0123HTP/.abconte-lgthus";
    prop_oneof![8 => select(often.to_vec()), 1 => any::<u8>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn answers_are_read_as_hyper_reads_them(
        method in method(), bytes in answer(), cuts in vec(any::<Index>(), 0..4)
    ) {
        compare(&method, &bytes, &cuts);
    }

    #[test]
    fn damaged_answers_are_read_as_hyper_reads_them(
        method in method(),
        mut bytes in answer(),
        damages in vec(damage(), 1..4),
        cuts in vec(any::<Index>(), 0..4),
    ) {
        for damage in damages {
            damage.done(&mut bytes);
        }
        compare(&method, &bytes, &cuts);
    }

    #[test]
    fn arbitrary_bytes_are_read_as_hyper_reads_them(
        method in method(),
        begins in select(vec!["", "HTTP/1.1 ", "HTTP/1.1 200 \r\n", "HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n"]),
        bytes in vec(any_byte(), 0..80),
        cuts in vec(any::<Index>(), 0..4),
    ) {
        compare(&method, &[begins.as_bytes(), &bytes].concat(), &cuts);
    }
}

#[test]
fn the_edges_are_those_of_hyper() {
    let head = |headers: usize| {
        let headers = "x: y\r\n".repeat(headers);
        format!("HTTP/1.1 204 No Content\r\n{headers}\r\n")
    };
    let chunked =
        |rest: &str| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{rest}");
    let long = |length: usize| "x".repeat(length);
    for bytes in [
        String::new(),
        head(100),
        head(101),
        chunked(&format!("0;{}\r\n\r\n", long((16 << 10) - 1))),
        chunked(&format!("0;{}\r\n\r\n", long(16 << 10))),
        chunked(&format!("0\r\n{}\r\n", "x: y\r\n".repeat(100))),
        chunked(&format!("0\r\n{}\r\n", "x: y\r\n".repeat(101))),
        chunked(&format!("0\r\nx: {}\r\n\r\n", long((16 << 10) - 8))),
        chunked(&format!("0\r\nx: {}\r\n\r\n", long((16 << 10) - 7))),
        chunked("ffffffffffffffff\r\nx"),
        chunked("10000000000000000\r\nx"),
        chunked(&format!("{}1\r\nx\r\n0\r\n\r\n", "0".repeat(100))),
        format!("HTTP/1.1 204 No Content\r\nx: {}\r\n\r\n", long(300 << 10)),
        format!("HTTP/1.1 204 No Content\r\nx: {}\r\n\r\n", long(500 << 10)),
    ] {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let theirs = runtime
            .unwrap()
            .block_on(theirs(&Method::GET, bytes.as_bytes()));
        let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(8 << 10).collect();
        let shown = &bytes[..bytes.len().min(100)];
        assert_eq!(ours(&Method::GET, &pieces), theirs, "{shown:?}");
    }
}
