//! The headers of a request, as lines that go out as they stand. Floor 2: records.

use std::fmt;
use std::iter;

use http::{HeaderName, HeaderValue};
use memchr::memchr;

/// Those that a client has of its own unless the job names them, or that tell it what to do.
const MINDED: [&[u8]; 7] = [
    b"accept",
    b"accept-encoding",
    b"connection",
    b"content-length",
    b"host",
    b"transfer-encoding",
    b"user-agent",
];

/// Longer memory is not used again.
const KEPT: usize = 1 << 20;

/// How a header is named, as messages say it.
pub const NAMED: &str = "use letters, digits and - alone, as X-Tenant";

/// What is wrong with a name that is none (RFC 9110 §5.1: a token), as a message says it.
///
/// Behind a colon, a blank or a `=` stands what may be a value on the wrong side: only that it is there is told.
pub fn misnamed(name: &str) -> String {
    const SHOWN: usize = 64;
    if name.is_empty() {
        return "a header has no name".to_owned();
    }
    let divides = |letter: char| letter == ':' || letter == '=' || letter.is_whitespace();
    let end = name.find(divides).unwrap_or(name.len());
    let mut shown: String = name[..end].chars().take(SHOWN).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    let why = match name[end..].chars().next() {
        Some(':') => ": it has a colon",
        Some('=') => ": it has a =",
        Some('\n' | '\r') => ": it has a line break",
        Some(_) => ": it has a blank",
        None => "",
    };
    format!("{shown:?} is not a header name{why}")
}

/// Headers in their order, names in lower case. Their values may be credentials, so they cannot be printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    /// RFC 9112 §5: name, colon, blank, value, CR LF. No name has a colon, no value an LF.
    lines: Vec<u8>,
    is_minded: bool,
}

impl Headers {
    /// Adds one.
    pub fn add(&mut self, name: &HeaderName, value: &HeaderValue) {
        self.put(name.as_str().as_bytes(), value.as_bytes());
    }

    /// The same of a text. Whether it can be sent: nothing is added if not.
    #[must_use]
    pub fn add_text(&mut self, name: &HeaderName, value: &str) -> bool {
        // All of them are looked at, for that is done many at a time.
        let sent = value.bytes().fold(true, |sent, byte| sent & is_sent(byte));
        if sent {
            self.put(name.as_str().as_bytes(), value.as_bytes());
        }
        sent
    }

    /// Adds those whose names are not here yet.
    pub fn add_missing(&mut self, others: Lines<'_>) {
        let own = self.lines.len();
        for (name, value) in others.iter() {
            if !is_in(&self.lines[..own], name) {
                self.put(name, value);
            }
        }
    }

    /// Adds those whose name is wanted.
    pub fn add_some(&mut self, others: Lines<'_>, is_wanted: impl Fn(&[u8]) -> bool) {
        for (name, value) in others.iter().filter(|(name, _)| is_wanted(name)) {
            self.put(name, value);
        }
    }

    fn put(&mut self, name: &[u8], value: &[u8]) {
        self.is_minded |= MINDED.contains(&name);
        self.lines.reserve(name.len() + value.len() + 4);
        self.lines.extend_from_slice(name);
        self.lines.extend_from_slice(b": ");
        self.lines.extend_from_slice(value);
        self.lines.extend_from_slice(b"\r\n");
    }

    /// None of them is left.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.lines.shrink_to(KEPT);
        self.is_minded = false;
    }

    /// All of them.
    pub fn lines(&self) -> Lines<'_> {
        Lines {
            bytes: &self.lines,
            is_minded: self.is_minded,
        }
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().fmt(out)
    }
}

/// RFC 9110 §5.5: visible ASCII, blanks, tabs, and bytes that are no ASCII.
fn is_sent(byte: u8) -> bool {
    byte == b'\t' || byte >= b' ' && byte != 0x7F
}

fn pairs(mut lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    iter::from_fn(move || {
        let (name, rest) = lines.split_at(memchr(b':', lines)?);
        let (value, rest) = rest.split_at(memchr(b'\n', rest)?);
        lines = &rest[1..];
        Some((name, &value[2..value.len() - 1]))
    })
}

fn is_in(lines: &[u8], name: &[u8]) -> bool {
    pairs(lines).any(|(own, _)| own == name)
}

/// [`Headers`] where they stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Lines<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) is_minded: bool,
}

impl<'a> Lines<'a> {
    /// Each name with its value.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        pairs(self.bytes)
    }

    /// All values of this name.
    pub fn get_all(self, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
        let name = name.as_str().as_bytes();
        let named = self.iter().filter(move |(own, _)| *own == name);
        named.map(|(_, value)| value)
    }

    /// Whether a header of that name is among them.
    pub fn has(self, name: &HeaderName) -> bool {
        is_in(self.bytes, name.as_str().as_bytes())
    }

    /// All as they go out, if a client need mind none of them.
    pub fn unminded(self) -> Option<&'a [u8]> {
        (!self.is_minded).then_some(self.bytes)
    }
}

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.iter().map(|(name, _)| name);
        out.debug_list()
            .entries(names.map(String::from_utf8_lossy))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::default();
        for (name, value) in pairs {
            headers.add(&name.parse().unwrap(), &value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn headers_come_out_in_their_order_with_names_in_lower_case() {
        let headers = headers(&[("X-A", "1: 2"), ("content-type", ""), ("x-a", "3")]);
        let lines = headers.lines();
        assert_eq!(
            lines.unminded(),
            Some(&b"x-a: 1: 2\r\ncontent-type: \r\nx-a: 3\r\n"[..])
        );
        let all: Vec<_> = lines.iter().collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"x-a", b"1: 2"), (b"content-type", b""), (b"x-a", b"3")];
        assert_eq!(all, expected);
        let named = HeaderName::from_static("x-a");
        assert!(lines.get_all(&named).eq([&b"1: 2"[..], b"3"]));
        assert!(lines.has(&CONTENT_TYPE) && !lines.has(&HOST));
    }

    #[test]
    fn what_is_missing_is_added_with_all_its_values() {
        let mut own = headers(&[("x-a", "own")]);
        let others = headers(&[("x-a", "no"), ("x-b", "1"), ("x-b", "2")]);
        own.add_missing(others.lines());
        let wanted = headers(&[("x-a", "own"), ("x-b", "1"), ("x-b", "2")]);
        assert!(own == wanted, "{own:?}");
    }

    #[test]
    fn those_that_a_client_minds_are_known_until_they_are_gone() {
        for name in MINDED {
            let name = std::str::from_utf8(name).unwrap();
            let mut minded = headers(&[("x-a", "1"), (name, "x")]);
            assert_eq!(minded.lines().unminded(), None, "{name}");
            minded.clear();
            assert_eq!(minded.lines().unminded(), Some(&b""[..]), "{name}");
            let mut none = Headers::default();
            none.add_missing(headers(&[(name, "x")]).lines());
            assert_eq!(none.lines().unminded(), None, "{name}");
        }
    }

    #[test]
    fn a_value_is_taken_as_the_library_takes_it() {
        for letter in (0..=0xFF).map(char::from) {
            let text = format!("a value of more bytes than are looked at at once {letter}");
            let taken = HeaderValue::from_bytes(text.as_bytes()).is_ok();
            let mut headers = Headers::default();
            assert_eq!(headers.add_text(&HOST, &text), taken, "{letter:?}");
            assert_eq!(headers.lines().has(&HOST), taken, "{letter:?}");
        }
    }

    #[test]
    fn values_cannot_be_printed() {
        let mut headers = Headers::default();
        assert!(headers.add_text(&AUTHORIZATION, "Bearer canary"));
        assert_eq!(format!("{headers:?}"), "[\"authorization\"]");
    }
}
