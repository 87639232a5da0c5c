//! What an error of the HTTP library means. Floor 4: doors.

use crate::client::failure::{self, Doing};
use crate::outcome::{Failure, FailureKind, Reached};

/// Why no head came. The library's errors carry the URL, which may hold credentials: messages do not.
pub(super) fn without_answer(why: reqwest::Error, host: &str) -> Failure {
    let why = why.without_url();
    if why.is_builder() {
        return Failure {
            kind: FailureKind::Invalid,
            reached: Reached::NotSent,
            message: format!("{host}: {}", failure::cause(&why)),
        };
    }
    let failed = |doing| failure::failed(doing, &why, host);
    if why.is_dns() {
        failed(Doing::LookUp)
    } else if !why.is_connect() {
        failed(Doing::Ask)
    } else {
        match failed(Doing::Connect) {
            failed if failed.kind != FailureKind::Tls && why.is_timeout() => {
                failure::slow_connect(host)
            }
            failed => failed,
        }
    }
}

/// Why a body broke off after `read` bytes.
pub(super) fn within_body(why: reqwest::Error, read: usize, announced: Option<u64>) -> Failure {
    failure::within_body(&failure::cause(&why.without_url()), read, announced)
}
