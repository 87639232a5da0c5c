//! The name of a line by its content: the same in every version, for results are matched by it. Floor 4: doors.

use std::hash::Hasher as _;

use http::Method;
use twox_hash::XxHash3_64;

use crate::headers::Lines;
use crate::job::JobHash;
use crate::secret::is_credential;

/// See [`JobHash`]: the order of the parts is fixed, for results are matched by it. The seed of each part is the hash
/// of those before it, so that no two lists of parts are one run of bytes.
pub(super) fn of_job(method: &Method, url: &str, body: Option<&[u8]>, own: Lines<'_>) -> JobHash {
    let mut hash = part(0, method.as_str().as_bytes());
    hash = part(hash, url.as_bytes());
    hash = match body {
        Some(body) => part(hash, body),
        None => !hash,
    };
    let plain = own.iter().filter(|(name, _)| !is_credential(name));
    for (name, value) in plain {
        hash = part(hash, name);
        hash = part(hash, value);
    }
    JobHash(hash)
}

fn part(before: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(before, bytes)
}

/// The hash of a line that makes no job.
pub(super) fn of_line(line: &[u8]) -> JobHash {
    JobHash(XxHash3_64::oneshot(line))
}

/// The same of one that is too long to be held: of its bytes as they come.
pub(super) struct LongLine {
    hasher: XxHash3_64,
    length: u64,
}

impl LongLine {
    /// Of a line that begins so.
    pub(super) fn begun(bytes: &[u8]) -> Self {
        let mut line = Self {
            hasher: XxHash3_64::new(),
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
    pub(super) fn ended(self) -> (u64, JobHash) {
        (self.length, JobHash(self.hasher.finish()))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;
    use crate::headers::Headers;

    fn hash(headers: &[(&'static str, &'static str)]) -> JobHash {
        let mut all = Headers::default();
        for (name, value) in headers {
            all.add(
                &HeaderName::from_static(name),
                &HeaderValue::from_static(value),
            );
        }
        let body = b"{\"q\":1}";
        of_job(&Method::POST, "http://h/v1", Some(body), all.lines())
    }

    /// As other implementations of XXH3 make it.
    #[test]
    fn the_hash_of_a_line_is_the_same_in_every_version() {
        assert_eq!(hash(&[("x-a", "1")]).to_string(), "bf70eb508cc2c3a8");
        let none = Headers::default();
        let get = of_job(
            &Method::GET,
            "http://127.0.0.1:8080/v1/users/6305",
            None,
            none.lines(),
        );
        assert_eq!(get.to_string(), "22e6384babebacc8");
        let long = [b'x'; 1000];
        let long = of_job(&Method::POST, "http://h/", Some(&long), none.lines());
        assert_eq!(long.to_string(), "4dceb545e2d80269");
        assert_eq!(of_line(b"{}").to_string(), "1349cde127705c16");
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
        let whole = of_line(line);
        assert_eq!(hash(&[line]), (20, whole));
        assert_eq!(hash(&[&line[..3], &line[3..4], &line[4..]]), (20, whole));
        assert_ne!(hash(&[&line[..19], b"k"]).1, whole);
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
        let none = none.lines();
        let hashes = [
            hash(&[]),
            hash(&[("x-a", "1")]),
            hash(&[("x-a", "2")]),
            of_job(&Method::GET, "http://h/", None, none),
            of_job(&Method::PUT, "http://h/", None, none),
            of_job(&Method::GET, "http://h/a", None, none),
            of_job(&Method::GET, "http://h/", Some(b""), none),
        ];
        let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len(), "{hashes:?}");
    }
}
