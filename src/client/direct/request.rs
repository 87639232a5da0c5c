//! A request as it goes out: a head, then a body as it stands in the job. Floor 4: doors.

use std::mem;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, HOST, USER_AGENT};
use http::{HeaderName, Method};
use url::Url;

use super::head::{Then, ends_chunked};
use super::server::Server;
use crate::client::coding::TAKEN;
use crate::client::pool::After;
use crate::fields::text;
use crate::headers::Lines;
use crate::job::Job;
use crate::kept::SHORT;

/// What requests have whose jobs have none of their own: names, and whole lines as they go out.
pub(super) type Usual = [(HeaderName, Vec<u8>); 4];

/// That of a server.
pub(super) fn usual(authority: &str, user_agent: &str) -> Usual {
    // RFC 9110 §7.2: the host should be the first.
    let usual = [
        (HOST, authority),
        (USER_AGENT, user_agent),
        (ACCEPT, "*/*"),
        (ACCEPT_ENCODING, TAKEN),
    ];
    usual.map(|(name, value)| {
        let mut line = Vec::new();
        put(&mut line, name.as_str().as_bytes(), value.as_bytes());
        (name, line)
    })
}

/// A request, and how much of it is written.
#[derive(Debug)]
pub(super) struct Request {
    /// The head, and a small body.
    first: Vec<u8>,
    /// Any other body.
    second: Bytes,
    written: usize,
    /// Whether it asks for the connection to be closed.
    pub(super) then: Then,
}

impl Request {
    /// What a job sends to this server; `buffer` is the memory for it, empty.
    pub(super) fn of(job: &Job, server: &Server, after: After, buffer: Vec<u8>) -> Self {
        let mut head = Head {
            out: buffer,
            then: Then::Persists,
        };
        head.line(&job.method, &job.target.url);
        let coding = head.headers(job, server, after);
        let body = job.body().unwrap_or_default();
        let Head { mut out, then } = head;
        let mut second = Bytes::new();
        if let Some(coding) = coding {
            chunked(&mut out, coding, body);
        } else {
            let expected = [Method::POST, Method::PUT, Method::PATCH].contains(&job.method);
            if expected || !body.is_empty() {
                // RFC 9110 §8.6.
                out.extend_from_slice(b"content-length: ");
                number(&mut out, body.len(), 10);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"\r\n");
            if body.len() <= SHORT {
                out.extend_from_slice(body);
            } else {
                second = job.shared_body();
            }
        }
        Self {
            first: out,
            second,
            written: 0,
            then,
        }
    }

    /// What is still to be written, in two pieces; both are empty when it is done.
    pub(super) fn rest(&self) -> [&[u8]; 2] {
        let first = self.first.get(self.written..).unwrap_or_default();
        let second = self.written.saturating_sub(self.first.len());
        [first, &self.second[second..]]
    }

    /// So many bytes more are written.
    pub(super) fn advance(&mut self, written: usize) {
        self.written += written;
    }

    pub(super) fn is_begun(&self) -> bool {
        self.written > 0
    }

    pub(super) fn is_written(&self) -> bool {
        self.written >= self.first.len() + self.second.len()
    }

    /// The memory, to be used again.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        mem::take(&mut self.first)
    }
}

struct Head {
    out: Vec<u8>,
    then: Then,
}

impl Head {
    /// RFC 9112 §3.
    fn line(&mut self, method: &Method, url: &Url) {
        let out = &mut self.out;
        out.extend_from_slice(method.as_str().as_bytes());
        out.push(b' ');
        if *method == Method::CONNECT {
            let port = url.port_or_known_default().unwrap_or_default();
            out.extend_from_slice(url.host_str().unwrap_or_default().as_bytes());
            out.push(b':');
            number(out, port.into(), 10);
        } else {
            // The WHATWG rules leave nothing in them but visible ASCII.
            out.extend_from_slice(url.path().as_bytes());
            if let Some(query) = url.query() {
                out.push(b'?');
                out.extend_from_slice(query.as_bytes());
            }
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
    }

    /// All of them but the length. Returns the coding that the job names for its body.
    fn headers<'a>(&mut self, job: &'a Job, server: &Server, after: After) -> Option<&'a [u8]> {
        let own = job.headers();
        let unminded = own.unminded();
        for (name, line) in &server.usual {
            if unminded.is_some() || !own.has(name) {
                self.out.extend_from_slice(line);
            }
        }
        let url = &job.target.url;
        if (!url.username().is_empty() || url.password().is_some()) && !own.has(&AUTHORIZATION) {
            self.header(&AUTHORIZATION, basic(url).as_bytes());
        }
        let coding = match unminded {
            Some(lines) => {
                self.out.extend_from_slice(lines);
                None
            }
            None => self.minded(own, after),
        };
        match after {
            After::Stays => {}
            // RFC 9112 §9.6: this answer is the last on its connection.
            After::Closes => {
                self.then = Then::Closes;
                self.header(&CONNECTION, b"close");
            }
        }
        coding
    }

    /// Those of the job, some of which are not sent as they stand.
    fn minded<'a>(&mut self, own: Lines<'a>, after: After) -> Option<&'a [u8]> {
        let mut coding = None;
        for (name, value) in own.iter() {
            // What frames the body belongs to the body that is really sent.
            if name == b"content-length" {
                continue;
            }
            if name == b"transfer-encoding" {
                coding = Some(value);
                continue;
            }
            if name == b"connection" {
                if after == After::Closes {
                    continue;
                }
                if has_close(value) {
                    self.then = Then::Closes;
                }
            }
            put(&mut self.out, name, value);
        }
        coding
    }

    fn header(&mut self, name: &HeaderName, value: &[u8]) {
        put(&mut self.out, name.as_str().as_bytes(), value);
    }
}

fn put(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn has_close(value: &[u8]) -> bool {
    let options = text(value).unwrap_or_default().split(',');
    options
        .map(str::trim)
        .any(|option| option.eq_ignore_ascii_case("close"))
}

/// RFC 7617 §2, of the user info as it was before it was percent-encoded for the URL.
fn basic(url: &Url) -> String {
    let plain = |text: &str| percent_decoded(text);
    let mut both = plain(url.username());
    both.push(b':');
    both.extend(plain(url.password().unwrap_or_default()));
    format!("Basic {}", STANDARD.encode(both))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let hex = |digit: u8| char::from(digit).to_digit(16);
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digits = (ahead.next().and_then(hex), ahead.next().and_then(hex));
        match (byte, digits) {
            (b'%', (Some(high), Some(low))) => {
                decoded.push(u8::try_from(high * 16 + low).expect("two digits make a byte"));
                bytes = ahead;
            }
            (plain, _) => decoded.push(plain),
        }
    }
    decoded
}

/// The body as one chunk, behind the coding that the job names. RFC 9112 §6.1: chunked is the last.
fn chunked(out: &mut Vec<u8>, coding: &[u8], body: &[u8]) {
    out.extend_from_slice(b"transfer-encoding: ");
    out.extend_from_slice(coding);
    if !ends_chunked(coding) {
        out.extend_from_slice(b", chunked");
    }
    out.extend_from_slice(b"\r\n\r\n");
    if !body.is_empty() {
        number(out, body.len(), 16);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

/// In digits of this base. By the formatter a length costs as much as three headers.
fn number(out: &mut Vec<u8>, mut number: usize, base: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let start = out.len();
    loop {
        out.push(DIGITS[number % base]);
        number /= base;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}
