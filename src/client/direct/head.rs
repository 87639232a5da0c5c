//! The head of an answer: bytes in, status, headers and what follows out. Floor 4: doors.

use std::mem::MaybeUninit;
use std::time::Duration;

use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderName, Method, StatusCode};
use httparse::{Header, ParserConfig, Response, Status};

use super::body::{Chunks, Framing};
use crate::fields::{Fields, text};

/// The most headers of one head; hyper takes as many.
pub(super) const MOST_HEADERS: usize = 100;

/// The longest head, about as hyper has it (408 KiB). Browsers and proxies give up at 256 KiB or less.
pub(super) const LONGEST_HEAD: usize = 400 << 10;

/// The longest name of a field, as in hyper.
const LONGEST_NAME: usize = u16::MAX as usize;

/// The first bytes of what a server of TLS says to a request in the clear: an alert, of any version. RFC 8446 §5.1.
const ALERT: &[u8] = &[0x15, 3];

/// What stands before a body.
#[derive(Debug)]
pub(super) struct ParsedHead {
    pub(super) status: StatusCode,
    pub(super) fields: Fields,
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
        Err(_) if bytes.starts_with(ALERT) => {
            return Err("the server speaks TLS there; is it https://, or another port?");
        }
        Err(why) => return Err(told(why)),
    };
    let code = parsed.code.expect("a whole head has a status");
    let status = StatusCode::from_u16(code).map_err(|_| "the status is no number of a status")?;
    let version = match parsed.version {
        Some(0) => Version::Http10,
        Some(_) | None => Version::Http11,
    };
    let fields = &*parsed.headers;
    if fields.iter().any(|field| field.name.len() > LONGEST_NAME) {
        return Err(told(httparse::Error::HeaderName));
    }
    let framing = framing(status, version, fields, method)?;
    let then = match framing {
        Framing::Close => Then::Closes,
        // What follows is another protocol, or a tunnel.
        _ if status == StatusCode::SWITCHING_PROTOCOLS || *method == Method::CONNECT => {
            Then::Closes
        }
        // RFC 9112 §6.3: such an answer may be an attack on those who share the connection.
        Framing::Chunked(_) if values(fields, &CONTENT_LENGTH).next().is_some() => Then::Closes,
        Framing::Empty | Framing::Length(_) | Framing::Chunked(_) => persistence(version, fields),
    };
    let head = ParsedHead {
        status,
        fields: Fields::of(fields.iter().map(|field| (field.name, field.value))),
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

/// All values of this name.
fn values<'a>(
    fields: &'a [Header<'a>],
    name: &HeaderName,
) -> impl DoubleEndedIterator<Item = &'a [u8]> {
    let name = name.as_str();
    let own = fields
        .iter()
        .filter(move |field| field.name.eq_ignore_ascii_case(name));
    own.map(|field| field.value)
}

/// What follows a head. RFC 9112 §6.3.
fn framing(
    status: StatusCode,
    version: Version,
    fields: &[Header<'_>],
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
    if let Some(last) = values(fields, &TRANSFER_ENCODING).next_back() {
        return match version {
            // RFC 9112 §6.1: its framing is faulty.
            Version::Http10 => Err("it is HTTP/1.0 with a transfer-encoding"),
            Version::Http11 if ends_chunked(last) => Ok(Framing::Chunked(Chunks::default())),
            Version::Http11 => Ok(Framing::Close),
        };
    }
    match content_length(fields)? {
        Some(0) => Ok(Framing::Empty),
        Some(length) => Ok(Framing::Length(length)),
        None => Ok(Framing::Close),
    }
}

/// Whether a list of codings ends with chunks.
pub(super) fn ends_chunked(codings: &[u8]) -> bool {
    let last = text(codings).and_then(|list| list.rsplit(',').next());
    last.is_some_and(|coding| coding.trim().eq_ignore_ascii_case("chunked"))
}

/// Several are one if all are equal. RFC 9112 §6.3, rule 5.
fn content_length(fields: &[Header<'_>]) -> Result<Option<u64>, &'static str> {
    let mut found = None;
    for value in values(fields, &CONTENT_LENGTH) {
        for one in value.split(|byte| *byte == b',') {
            let length = digits(one.trim_ascii()).ok_or(NO_LENGTH)?;
            if *found.get_or_insert(length) != length {
                return Err("it has two content-lengths that differ");
            }
        }
    }
    Ok(found)
}

const NO_LENGTH: &str = "its content-length is no number";

fn digits(text: &[u8]) -> Option<u64> {
    let plain = text.iter().all(u8::is_ascii_digit);
    // The parser of the standard library takes a plus sign, too.
    plain
        .then(|| str::from_utf8(text).ok()?.parse().ok())
        .flatten()
}

/// So long before a server closes an idle connection by its own word it is not used any more: a request takes time to
/// get there. Of short times it is the half.
const ON_THE_WAY: Duration = Duration::from_secs(1);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// For how long a server says that it leaves an idle connection open, less the time on the way: `timeout` of
/// `Keep-Alive` (RFC 2068 §19.7.1.1).
pub(super) fn most_idle(fields: &Fields) -> Option<Duration> {
    let list = text(fields.get(&KEEP_ALIVE)?)?;
    let mut parameters = list.split(',').filter_map(|one| one.split_once('='));
    let timeout = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("timeout"))?;
    let timeout = Duration::from_secs(digits(timeout.1.trim().as_bytes())?);
    Some(timeout.saturating_sub(ON_THE_WAY.min(timeout / 2)))
}

/// RFC 9112 §9.3.
fn persistence(version: Version, fields: &[Header<'_>]) -> Then {
    let has = |option: &[u8]| {
        values(fields, &CONNECTION).any(|list| {
            let mut options = list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            list.is_ascii() && options.any(|own| own.eq_ignore_ascii_case(option))
        })
    };
    match version {
        _ if has(b"close") => Then::Closes,
        Version::Http11 => Then::Persists,
        Version::Http10 if has(b"keep-alive") => Then::Persists,
        Version::Http10 => Then::Closes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_left_before_its_server_leaves_it() {
        let most = |value| most_idle(&Fields::of([("keep-alive", value)]));
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(most("timeout=5, max=1000"), millis(4_000));
        assert_eq!(most("max=2,Timeout = 1"), millis(500));
        assert_eq!(most("timeout=0"), millis(0));
        assert_eq!(most("max=2"), None);
        assert_eq!(most("timeout=soon"), None);
        assert_eq!(most("timeout=18446744073709551616"), None);
        assert_eq!(most_idle(&Fields::default()), None);
    }
}
