//! What a job keeps of its line, in one piece of memory. Floor 4: doors.

use bytes::Bytes;
use http::{HeaderName, HeaderValue};

use crate::job::{Headers, Json};

/// So many names of headers are remembered as they were written: those met first.
const NAMES: usize = 32;

/// A longer name is not remembered.
const LONGEST: usize = 64;

/// Gathers what a job keeps of its line. Its memory is used again for the next line.
pub(super) struct Keeper {
    names: Vec<(Box<str>, HeaderName)>,
    /// Headers of this line, with the lengths of their values.
    headers: Vec<(HeaderName, usize)>,
    /// Their values, one after the other.
    values: Vec<u8>,
    /// Room in the list of a job's headers for those that the line does not name.
    others: usize,
}

/// What was kept. All parts share one piece of memory, that has room for nothing else.
pub(super) struct Kept {
    pub(super) body: Bytes,
    pub(super) meta: Json,
    pub(super) headers: Headers,
}

impl Keeper {
    /// For lines to whose headers as many as `others` are added.
    pub(super) fn new(others: usize) -> Self {
        Self {
            names: Vec::new(),
            headers: Vec::new(),
            values: Vec::new(),
            others,
        }
    }

    /// Begins with a new line.
    pub(super) fn clear(&mut self) {
        self.headers.clear();
        self.values.clear();
        self.values.shrink_to(super::lines::KEPT);
    }

    /// The header of that name; `None` if it is none.
    pub(super) fn name(&mut self, written: &str) -> Option<HeaderName> {
        if let Some((_, name)) = self.names.iter().find(|(known, _)| **known == *written) {
            return Some(name.clone());
        }
        let name = HeaderName::from_bytes(written.as_bytes()).ok()?;
        if self.names.len() < NAMES && written.len() <= LONGEST {
            self.names.push((written.into(), name.clone()));
        }
        Some(name)
    }

    /// Keeps a header. Whether its value can be sent.
    #[must_use]
    pub(super) fn header(&mut self, name: HeaderName, value: &str) -> bool {
        let sent = value.bytes().all(can_be_sent);
        if sent {
            self.headers.push((name, value.len()));
            self.values.extend_from_slice(value.as_bytes());
        }
        sent
    }

    /// All headers of the line with this body and this meta.
    pub(super) fn keep(&mut self, body: &str, meta: &str) -> Kept {
        let mut all = Vec::with_capacity(body.len() + meta.len() + self.values.len());
        all.extend_from_slice(body.as_bytes());
        all.extend_from_slice(meta.as_bytes());
        all.extend_from_slice(&self.values);
        let mut rest = Bytes::from(all);
        let body = rest.split_to(body.len());
        let meta = Json::read(rest.split_to(meta.len()));
        let mut headers = Vec::new();
        if !self.headers.is_empty() {
            headers.reserve_exact(self.headers.len() + self.others);
        }
        for (name, length) in self.headers.drain(..) {
            let value = HeaderValue::from_maybe_shared(rest.split_to(length));
            headers.push((name, value.expect("each of its bytes was looked at")));
        }
        let headers = Headers(headers);
        Kept {
            body,
            meta,
            headers,
        }
    }
}

/// RFC 9110 §5.5: visible ASCII, blanks, tabs, and bytes that are no ASCII.
fn can_be_sent(byte: u8) -> bool {
    byte == b'\t' || byte >= b' ' && byte != 0x7F
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeper() -> Keeper {
        Keeper::new(1)
    }

    #[test]
    fn what_is_kept_comes_out_as_it_went_in() {
        let mut keeper = keeper();
        for nth in 0..3 {
            keeper.clear();
            let (body, meta, value) = (
                "x".repeat(nth * 100),
                format!("[{nth}]"),
                "v".repeat(3 - nth),
            );
            for header in ["x-a", "Content-Type"] {
                let name = keeper.name(header).unwrap();
                assert!(keeper.header(name, &value));
            }
            let kept = keeper.keep(&body, &meta);
            assert_eq!(
                (&*kept.body, kept.meta.as_bytes()),
                (body.as_bytes(), meta.as_bytes())
            );
            let headers = kept.headers.0.iter();
            let headers: Vec<_> = headers
                .map(|(name, value)| (name.as_str(), value.as_bytes()))
                .collect();
            assert_eq!(
                headers,
                [
                    ("x-a", value.as_bytes()),
                    ("content-type", value.as_bytes())
                ]
            );
        }
    }

    #[test]
    fn a_fault_leaves_nothing_to_the_next_line() {
        let mut keeper = keeper();
        let name = keeper.name("x-a").unwrap();
        assert!(keeper.header(name.clone(), "left"));
        assert!(!keeper.header(name, "a\nb"));
        keeper.clear();
        let kept = keeper.keep("{}", "");
        assert!(kept.headers == Headers::default());
        assert_eq!(kept.body, "{}");
    }

    #[test]
    fn a_value_is_taken_as_the_headers_take_it() {
        for byte in 0..=u8::MAX {
            let taken = HeaderValue::from_bytes(&[byte]).is_ok();
            assert_eq!(can_be_sent(byte), taken, "{byte}");
        }
    }

    #[test]
    fn names_are_the_same_remembered_or_not_and_few_are() {
        let mut keeper = keeper();
        for _ in 0..2 {
            for nth in 0..1000 {
                let written = format!("X-{nth}");
                let name = keeper.name(&written).unwrap();
                assert_eq!(name.as_str(), written.to_ascii_lowercase());
            }
            assert_eq!(keeper.name("a b"), None);
        }
        assert_eq!(keeper.names.len(), NAMES);
        let mut fresh = super::tests::keeper();
        fresh.name(&"x".repeat(LONGEST + 1)).unwrap();
        assert_eq!(fresh.names.len(), 0);
    }
}
