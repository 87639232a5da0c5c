//! The head of an answer: bytes in, status, headers and what follows out. Floor 4: doors.

use std::mem::MaybeUninit;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use httparse::{ParserConfig, Response, Status};

use super::body::{Chunks, Framing};

/// The most headers of one head; hyper takes as many.
pub(super) const MOST_HEADERS: usize = 100;

/// The longest head, about as hyper has it (408 KiB). Browsers and proxies give up at 256 KiB or less.
pub(super) const LONGEST_HEAD: usize = 400 << 10;

/// What stands before a body.
#[derive(Debug)]
pub(super) struct ParsedHead {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    pub(super) then: Then,
}

/// Whether the connection may carry another request after this answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Persists,
    Closes,
}

/// Reads a head from the beginning of `bytes`, with its length there. `None`: it does not end yet.
///
/// The error says what is wrong, for people.
pub(super) fn parse(
    bytes: &[u8],
    method: &Method,
) -> Result<Option<(ParsedHead, usize)>, &'static str> {
    // Room for all that may come, of which nearly every head takes a tenth: it is not written over for each.
    let mut slots = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut parsed = Response::new(&mut []);
    let parser = ParserConfig::default();
    let length = match parser.parse_response_with_uninit_headers(&mut parsed, bytes, &mut slots) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() < LONGEST_HEAD => return Ok(None),
        Ok(Status::Partial) => return Err("the head is longer than 400 KiB"),
        Err(why) => return Err(told(why)),
    };
    let code = parsed.code.expect("a whole head has a status");
    let status = StatusCode::from_u16(code).map_err(|_| "the status is no number of a status")?;
    let version = match parsed.version {
        Some(0) => Version::Http10,
        Some(_) | None => Version::Http11,
    };
    let headers = headers(bytes, length, parsed.headers)?;
    let framing = framing(status, version, &headers, method)?;
    let then = match framing {
        Framing::Close => Then::Closes,
        // What follows is another protocol, or a tunnel.
        _ if status == StatusCode::SWITCHING_PROTOCOLS || *method == Method::CONNECT => {
            Then::Closes
        }
        // RFC 9112 §6.3: such an answer may be an attack on those who share the connection.
        Framing::Chunked(_) if headers.contains_key(CONTENT_LENGTH) => Then::Closes,
        Framing::Empty | Framing::Length(_) | Framing::Chunked(_) => persistence(version, &headers),
    };
    let head = ParsedHead {
        status,
        headers,
        framing,
        then,
    };
    Ok(Some((head, length)))
}

fn told(why: httparse::Error) -> &'static str {
    match why {
        httparse::Error::HeaderName => "its head has a header whose name is none",
        httparse::Error::HeaderValue => "its head has a header with a control character",
        httparse::Error::NewLine => "its head has a line that does not end as it should",
        httparse::Error::Status => "its status line has no status",
        httparse::Error::TooManyHeaders => "its head has more than 100 headers",
        httparse::Error::Version => "it is not HTTP/1",
        httparse::Error::Token => "it is not HTTP",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
}

/// All values share one copy of the head.
fn headers(
    bytes: &[u8],
    length: usize,
    parsed: &[httparse::Header<'_>],
) -> Result<HeaderMap, &'static str> {
    let whole = Bytes::copy_from_slice(&bytes[..length]);
    let mut headers = HeaderMap::with_capacity(parsed.len());
    for header in parsed {
        let name = HeaderName::from_bytes(header.name.as_bytes())
            .map_err(|_| told(httparse::Error::HeaderName))?;
        let start = header.value.as_ptr().addr() - bytes.as_ptr().addr();
        let value = whole.slice(start..start + header.value.len());
        let value = HeaderValue::from_maybe_shared(value)
            .map_err(|_| told(httparse::Error::HeaderValue))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// What follows a head. RFC 9112 §6.3.
fn framing(
    status: StatusCode,
    version: Version,
    headers: &HeaderMap,
    method: &Method,
) -> Result<Framing, &'static str> {
    let tunnel = *method == Method::CONNECT && status.is_success();
    let bodiless = matches!(
        status,
        StatusCode::SWITCHING_PROTOCOLS | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    if bodiless || tunnel || *method == Method::HEAD || status.is_informational() {
        return Ok(Framing::Empty);
    }
    if let Some(last) = headers.get_all(TRANSFER_ENCODING).iter().next_back() {
        return match version {
            // RFC 9112 §6.1: its framing is faulty.
            Version::Http10 => Err("it is HTTP/1.0 with a transfer-encoding"),
            Version::Http11 if ends_chunked(last) => Ok(Framing::Chunked(Chunks::default())),
            Version::Http11 => Ok(Framing::Close),
        };
    }
    match content_length(headers)? {
        Some(0) => Ok(Framing::Empty),
        Some(length) => Ok(Framing::Length(length)),
        None => Ok(Framing::Close),
    }
}

/// Whether a list of codings ends with chunks.
pub(super) fn ends_chunked(codings: &HeaderValue) -> bool {
    let last = codings
        .to_str()
        .ok()
        .and_then(|list| list.rsplit(',').next());
    last.is_some_and(|coding| coding.trim().eq_ignore_ascii_case("chunked"))
}

/// Several are one if all are equal. RFC 9112 §6.3, rule 5.
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, &'static str> {
    let mut found = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        let list = value.to_str().map_err(|_| NO_LENGTH)?;
        for text in list.split(',') {
            let length = digits(text.trim()).ok_or(NO_LENGTH)?;
            if *found.get_or_insert(length) != length {
                return Err("it has two content-lengths that differ");
            }
        }
    }
    Ok(found)
}

const NO_LENGTH: &str = "its content-length is no number";

fn digits(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    // The parser of the standard library takes a plus sign, too.
    plain.then(|| text.parse().ok()).flatten()
}

/// So long before a server closes an idle connection by its own word it is not used any more: a request takes time to
/// get there. Of short times it is the half.
const ON_THE_WAY: Duration = Duration::from_secs(1);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// For how long a server says that it leaves an idle connection open, less the time on the way: `timeout` of
/// `Keep-Alive` (RFC 2068 §19.7.1.1).
pub(super) fn most_idle(headers: &HeaderMap) -> Option<Duration> {
    let list = headers.get(KEEP_ALIVE)?.to_str().ok()?;
    let mut parameters = list.split(',').filter_map(|one| one.split_once('='));
    let timeout = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("timeout"))?;
    let timeout = Duration::from_secs(digits(timeout.1.trim())?);
    Some(timeout.saturating_sub(ON_THE_WAY.min(timeout / 2)))
}

/// RFC 9112 §9.3.
fn persistence(version: Version, headers: &HeaderMap) -> Then {
    let has = |option: &str| {
        let mut lists = headers.get_all(CONNECTION).iter();
        lists.any(|list| {
            let list = list.to_str().unwrap_or_default();
            list.split(',')
                .any(|own| own.trim().eq_ignore_ascii_case(option))
        })
    };
    match version {
        _ if has("close") => Then::Closes,
        Version::Http11 => Then::Persists,
        Version::Http10 if has("keep-alive") => Then::Persists,
        Version::Http10 => Then::Closes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_left_before_its_server_leaves_it() {
        let most = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            most_idle(&HeaderMap::from_iter([(KEEP_ALIVE, value)]))
        };
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(most("timeout=5, max=1000"), millis(4_000));
        assert_eq!(most("max=2,Timeout = 1"), millis(500));
        assert_eq!(most("timeout=0"), millis(0));
        assert_eq!(most("max=2"), None);
        assert_eq!(most("timeout=soon"), None);
        assert_eq!(most("timeout=18446744073709551616"), None);
        assert_eq!(most_idle(&HeaderMap::new()), None);
    }
}
