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
    if is_unseen(&why) {
        let told = failed(Doing::Ask);
        return Failure {
            reached: Reached::NotSent,
            ..told
        };
    }
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

/// Whether the server says that it has not looked at the request: a stream that it refused, or one that was opened after
/// the last that it took before it went away. RFC 9113 §6.8, §8.7.
fn is_unseen(why: &reqwest::Error) -> bool {
    let told = failure::find::<h2::Error>(why);
    told.is_some_and(|told| {
        let refused = told.reason() == Some(h2::Reason::REFUSED_STREAM);
        told.is_remote() && (refused || told.is_go_away())
    })
}

/// Why a body broke off after `read` bytes.
pub(super) fn within_body(why: reqwest::Error, read: usize, announced: Option<u64>) -> Failure {
    failure::within_body(&failure::cause(&why.without_url()), read, announced)
}
