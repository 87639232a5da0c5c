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
