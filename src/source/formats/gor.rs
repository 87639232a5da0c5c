//! Traffic as `GoReplay` records it. Floor 4: doors.

use std::borrow::Cow;
use std::time::Duration;

use httparse::{Request, Status, parse_chunk_size};
use memchr::memmem;

use super::{Asked, Known, Needs, Read, Shows};
use crate::kept::Body;
use crate::source::at::{At, Stamp};
use crate::source::cuts::{Cut, Cutter, Rest};
use crate::source::draft::{self, Draft, Fault};
use crate::source::framing::Frame;
use crate::source::opening::First;
use crate::source::record::End;

/// What stands between records, with the line end before it and, but for the end of a file, one behind it.
const SEPARATOR: &[u8] = "\n🐵🙈🙉".as_bytes();

/// The kinds of records that are passed over: answers of the server, and those to replayed requests.
const ANSWERS: [u8; 2] = *b"23";

/// The kind of those that are sent.
const REQUEST: &str = "1";

/// More headers are no request.
const HEADERS: usize = 256;

pub(super) const FORMAT: Known = Known {
    name: "gor",
    extensions: &["gor"],
    shows,
    frame: |_| Some(Frame::Cut(|| Box::new(Records::default()))),
    is_comment: |_| false,
    needs: Needs::Nothing,
    has_rows: false,
    fields: &[],
    read,
};

/// A kind, an id and nanoseconds.
fn shows(first: &First<'_>) -> Shows {
    let line = match (first.byte(), first.line()) {
        (Some(b'1'..=b'3'), Some(line)) => line,
        (Some(b'1'..=b'3'), None) => return Shows::Open,
        (Some(_) | None, _) => return Shows::ByName,
    };
    let mut parts = line.split(|byte| *byte == b' ');
    let (kind, id, nanos) = (parts.next(), parts.next(), parts.next());
    let is_id = id.is_some_and(|id| id.len() >= 16 && id.iter().all(u8::is_ascii_hexdigit));
    let is_time = nanos.is_some_and(|it| it.len() >= 16 && it.iter().all(u8::is_ascii_digit));
    match kind {
        Some(b"1" | b"2" | b"3") if is_id && is_time => Shows::Surely,
        Some(_) | None => Shows::ByName,
    }
}

/// Finds requests, and passes over what else was recorded.
#[derive(Default)]
struct Records {
    from: usize,
    /// Of the record that begins there; `None` if that is not known yet.
    kind: Option<u8>,
    /// In the bytes before here no separator begins.
    seen: usize,
}

impl Cutter for Records {
    fn cut(&mut self, bytes: &[u8], rest: Rest) -> Cut {
        loop {
            if self.kind.is_none() {
                // The line end of a separator may come later than that.
                let ends = bytes[self.from..]
                    .iter()
                    .take_while(|byte| matches!(byte, b'\n' | b'\r'));
                self.from += ends.count();
                let (here, mark) = (&bytes[self.from..], &SEPARATOR[1..]);
                if here.starts_with(mark) {
                    // Nothing stands between it and the one before.
                    self.from += mark.len();
                    continue;
                }
                if rest == Rest::Unknown && mark.starts_with(here) {
                    return Cut::More(self.from);
                }
                self.kind = bytes.get(self.from).copied();
                self.seen = self.from;
            }
            let found = memmem::find(&bytes[self.seen..], SEPARATOR).map(|at| self.seen + at);
            let is_request = self.kind.is_some_and(|kind| !ANSWERS.contains(&kind));
            let (to, behind, end) = match (found, rest) {
                (Some(to), _) => (to, to + SEPARATOR.len(), End::Mark),
                (None, Rest::Nothing) => (bytes.len(), bytes.len(), End::Input),
                (None, Rest::Unknown) => {
                    self.seen = self
                        .seen
                        .max((bytes.len() + 1).saturating_sub(SEPARATOR.len()));
                    return Cut::More(if is_request { self.from } else { self.seen });
                }
            };
            let from = std::mem::replace(&mut self.from, behind);
            if self.kind.take().is_none() {
                return Cut::Over;
            }
            if is_request {
                return Cut::Record {
                    at: from..to,
                    end,
                    behind,
                };
            }
        }
    }

    fn let_go(&mut self, bytes: usize) {
        self.from = self.from.saturating_sub(bytes);
        self.seen = self.seen.saturating_sub(bytes);
    }
}

/// Reads a request: a line of what is known of it, and the bytes that were on the wire.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let bytes = asked.record.bytes;
    let line = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    let (known, message) = (&bytes[..line], bytes.get(line + 1..).unwrap_or_default());
    let known = String::from_utf8_lossy(known);
    let mut known = known.split_ascii_whitespace();
    if known.next() != Some(REQUEST) {
        let what = "a record of GoReplay begins with 1, 2 or 3";
        return (None, Err(Fault::new(1, what, "record it again")));
    }
    let id = known.next().map(Box::from);
    let at = known.next().map(|nanos| match nanos.parse() {
        Ok(nanos) => At::Known(Duration::from_nanos(nanos)),
        Err(_) => At::Unread(1.into()),
    });
    let draft = request(asked, message, line as u64 + 2);
    (
        id,
        draft.map(|draft| Draft {
            at: Some(Stamp {
                name: Cow::Borrowed("timestamp"),
                at,
                form: "a record begins with its kind, its id and nanoseconds since 1970; record it again",
            }),
            ..draft
        }),
    )
}

/// The path and query of a target, which a proxy is told with its server: RFC 9112 §3.2.2.
fn without_server(target: &str) -> &str {
    let scheme = ["http://", "https://"];
    let rest = scheme.iter().find_map(|scheme| target.strip_prefix(scheme));
    match rest {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    }
}

fn request<'a>(
    asked: &mut Asked<'_, 'a>,
    message: &'a [u8],
    column: u64,
) -> Result<Draft<'a>, Fault> {
    let wrong = |what: &str| Fault::new(column, what, "record it again; requests are of HTTP/1.x");
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    let head = match request.parse(message) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Err(wrong("the head of the request is cut off")),
        Err(why) => return Err(wrong(&format!("this is no request: {why}"))),
    };
    let method = request
        .method
        .and_then(draft::method)
        .ok_or_else(|| wrong("it has no method"))?;
    let path = request.path.ok_or_else(|| wrong("it has no target"))?;
    let value = |wanted: &str| {
        let mut headers = request.headers.iter();
        let found = headers.find(|header| header.name.eq_ignore_ascii_case(wanted));
        found
            .and_then(|header| str::from_utf8(header.value).ok())
            .map(str::trim)
    };
    let rest = &message[head..];
    let is_chunked =
        value("transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked"));
    let length = value("content-length").and_then(|length| length.parse::<usize>().ok());
    let body = match (is_chunked, length) {
        (true, _) => Some(Body::Apart(
            chunks(rest)
                .ok_or_else(|| wrong("its chunks are cut off"))?
                .into(),
        )),
        (false, Some(0) | None) if rest.trim_ascii().is_empty() => None,
        (false, None) => return Err(wrong("bytes stand behind its head, and it tells no length")),
        (false, Some(length)) => {
            let body = rest.get(..length).ok_or_else(|| {
                wrong(&format!(
                    "its body is cut off: {} of {length} bytes",
                    rest.len()
                ))
            })?;
            Some(Body::InLine(body))
        }
    };
    let url = match value("host") {
        Some(host) if !asked.has_base && path.starts_with('/') => format!("http://{host}{path}"),
        Some(_) | None if asked.has_base => draft::on_its_server(without_server(path)).into_owned(),
        Some(_) | None => draft::on_its_server(path).into_owned(),
    };
    for header in request
        .headers
        .iter()
        .filter(|header| !draft::is_of_connection(header.name))
    {
        let text = str::from_utf8(header.value).map_err(|_| wrong("a header of it is no UTF-8"))?;
        let added = asked
            .keeper
            .names
            .of(header.name)
            .map(|name| asked.keeper.headers.add_text(name, text));
        if added != Some(true) {
            return Err(wrong("a header of it cannot be sent"));
        }
    }
    Ok(Draft {
        method: Some(method),
        body,
        ..Draft::of_url(url, column)
    })
}

/// A body in chunks, RFC 9112 §7.1. `None` if it is cut off or none.
fn chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let Ok(Status::Complete((begin, size))) = parse_chunk_size(rest) else {
            return None;
        };
        if size == 0 {
            return Some(body);
        }
        let end = begin.checked_add(usize::try_from(size).ok()?)?;
        body.extend_from_slice(rest.get(begin..end)?);
        rest = rest.get(end..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::cuts::cut_in_pieces;

    fn cut(bytes: &[u8], piece: usize) -> Vec<(u64, Vec<u8>)> {
        let mut cuts = cut_in_pieces(bytes, piece, Records::default());
        let mut seen = Vec::new();
        while let Some(record) = cuts.next().unwrap() {
            seen.push((record.line, record.bytes.to_vec()));
        }
        seen
    }

    #[test]
    fn requests_are_found_between_what_else_was_recorded() {
        let text = "1 a\nGET\n\n🐵🙈🙉\n2 a\nHTTP 1\n🐵🙈\n🐵🙈🙉\n1 b\nPUT\n\n1\n🐵🙈🙉\n3 a\n\n🐵🙈🙉\n1 c\nX";
        let wanted = [
            (1, &b"1 a\nGET\n"[..]),
            (9, b"1 b\nPUT\n\n1"),
            (17, b"1 c\nX"),
        ];
        for piece in [1, 2, 3, 7, 1000] {
            let seen = cut(text.as_bytes(), piece);
            let seen: Vec<_> = seen.iter().map(|(line, text)| (*line, &**text)).collect();
            assert_eq!(seen, wanted, "{piece}");
        }
    }

    #[test]
    fn chunks_are_one_body_and_a_part_of_them_is_none() {
        let whole = b"4\r\nabcd\r\n3;x=y\r\ne\r\n\r\n0\r\n\r\n";
        assert_eq!(chunks(whole).as_deref(), Some(&b"abcde\r\n"[..]));
        for length in 0..whole.len() - 4 {
            assert_eq!(chunks(&whole[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_request_is_lost(
            records in prop::collection::vec("[123] [a-f]{1,3}\n[a-z\n\u{1f435}]{0,8}", 0..8),
            piece in 1_usize..20,
        ) {
            let text = records.join("\n🐵🙈🙉\n");
            let seen: Vec<_> = cut(text.as_bytes(), piece).into_iter().map(|(_, text)| text).collect();
            let wanted = records.iter().filter(|record| record.starts_with('1'));
            let wanted: Vec<_> = wanted.map(|record| record.clone().into_bytes()).collect();
            prop_assert_eq!(seen, wanted);
        }
    }
}
