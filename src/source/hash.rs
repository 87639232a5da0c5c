//! The name of a line by its content: the same in every version, for results are matched by it. Floor 4: doors.

use std::hash::Hasher;

use bytes::Bytes;
use http::Method;
use siphasher::sip::SipHasher24;

use super::secret::is_credential;
use crate::job::{Headers, JobHash};

/// See [`JobHash`]: the keys and the order of the parts are fixed, for results are matched by it.
pub(super) fn of_job(method: &Method, url: &str, body: Option<&Bytes>, own: &Headers) -> JobHash {
    let mut hasher = SipHasher24::new();
    part(&mut hasher, method.as_str().as_bytes());
    part(&mut hasher, url.as_bytes());
    match body {
        Some(body) => part(&mut hasher, body),
        None => hasher.write(&u64::MAX.to_le_bytes()),
    }
    let plain = own
        .0
        .iter()
        .filter(|(name, _)| !is_credential(name.as_str()));
    for (name, value) in plain {
        part(&mut hasher, name.as_str().as_bytes());
        part(&mut hasher, value.as_bytes());
    }
    JobHash(hasher.finish())
}

/// The hash of a line that makes no job.
pub(super) fn of_line(line: &[u8]) -> JobHash {
    let mut hasher = SipHasher24::new();
    part(&mut hasher, line);
    JobHash(hasher.finish())
}

/// The same of one that is too long to be held: its bytes as they come, and their number behind them.
pub(super) struct LongLine {
    hasher: SipHasher24,
    length: u64,
}

impl LongLine {
    /// Of a line that begins so.
    pub(super) fn begun(bytes: &[u8]) -> Self {
        let mut line = Self {
            hasher: SipHasher24::new(),
            length: 0,
        };
        line.goes_on(bytes);
        line
    }

    pub(super) fn goes_on(&mut self, bytes: &[u8]) {
        self.hasher.write(bytes);
        self.length += bytes.len() as u64;
    }

    /// Its bytes, and its hash.
    pub(super) fn ended(mut self) -> (u64, JobHash) {
        self.hasher.write(&self.length.to_le_bytes());
        (self.length, JobHash(self.hasher.finish()))
    }
}

/// The length goes before the bytes, so that no two lists of parts are one run of bytes.
fn part(hasher: &mut SipHasher24, bytes: &[u8]) {
    hasher.write(&(bytes.len() as u64).to_le_bytes());
    hasher.write(bytes);
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn hash(headers: &[(&'static str, &'static str)]) -> JobHash {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        let body = Bytes::from_static(b"{\"q\":1}");
        let headers = Headers(headers.iter().map(pair).collect());
        of_job(&Method::POST, "http://h/v1", Some(&body), &headers)
    }

    #[test]
    fn the_hash_of_a_line_is_the_same_in_every_version() {
        assert_eq!(hash(&[("x-a", "1")]).to_string(), "bfdc2ef8cab44397");
        assert_eq!(of_line(b"{}").to_string(), "d408252ca4d7b409");
    }

    #[test]
    fn the_hash_of_a_long_line_is_that_of_all_its_bytes_however_they_come() {
        let line = b"0123456789abcdefghij";
        let hash = |parts: &[&[u8]]| {
            let mut long = LongLine::begun(b"");
            for part in parts {
                long.goes_on(part);
            }
            long.ended()
        };
        let (length, whole) = hash(&[line]);
        assert_eq!((length, &*whole.to_string()), (20, "426cacbefd92cdb4"));
        assert_eq!(hash(&[&line[..3], &line[3..4], &line[4..]]), (20, whole));
        assert_ne!(hash(&[&line[..19], b"k"]).1, whole);
        assert_ne!(of_line(line), whole);
    }

    #[test]
    fn a_new_credential_does_not_change_the_hash() {
        let bare = hash(&[]);
        for name in [
            "authorization",
            "proxy-authorization",
            "cookie",
            "x-api-key",
            "api-key",
        ] {
            assert_eq!(hash(&[(name, "canary")]), bare, "{name}");
        }
    }

    #[test]
    fn every_part_changes_the_hash() {
        let none = Headers::default();
        let empty = Bytes::new();
        let hashes = [
            hash(&[]),
            hash(&[("x-a", "1")]),
            hash(&[("x-a", "2")]),
            of_job(&Method::GET, "http://h/", None, &none),
            of_job(&Method::PUT, "http://h/", None, &none),
            of_job(&Method::GET, "http://h/a", None, &none),
            of_job(&Method::GET, "http://h/", Some(&empty), &none),
        ];
        let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len(), "{hashes:?}");
    }
}
