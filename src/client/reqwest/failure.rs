//! What an error of the HTTP library means. Floor 4: doors.

use crate::client::failure::{self, Doing};
use crate::outcome::{Failure, FailureKind, Hindrance, Reached};

/// Why no head came. The library's errors carry the URL, which may hold credentials: messages do not.
pub(super) fn without_answer(why: reqwest::Error, host: &str) -> Failure {
    let why = why.without_url();
    if why.is_builder() {
        return Failure::new(
            FailureKind::Invalid,
            Reached::NotSent,
            format!("{host}: {}", failure::cause(&why)),
        );
    }
    let failed = |doing| failure::failed(doing, &why, host);
    if is_no_http_2(&why) {
        let cause = "what came is no HTTP/2; leave --http2 out, or name a server that speaks it";
        return failure::no_answer(cause, host);
    }
    if unseen(&why).is_some() {
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

/// The same of a connection that a proxy was asked for: whatever it says of the server, it is the proxy that can be
/// started, named or passed by.
pub(super) fn by_proxy(failure: Failure) -> Failure {
    let hindrance = match failure.hindrance {
        here @ Some(Hindrance::Files | Hindrance::Ports) => here,
        Some(Hindrance::Tls | Hindrance::Proxy) | None => Some(Hindrance::Proxy),
    };
    Failure {
        hindrance,
        ..failure
    }
}

/// Whether what came cannot be a frame: RFC 9113 §4.2.
fn is_no_http_2(why: &reqwest::Error) -> bool {
    let ours = failure::find::<h2::Error>(why).filter(|error| !error.is_remote());
    ours.is_some_and(|error| error.reason() == Some(h2::Reason::FRAME_SIZE_ERROR))
}

/// How a server says that it has not looked at a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unseen {
    /// It refused the stream. RFC 9113 §8.7.
    Refused,
    /// It goes away, and the stream was opened after the last that it takes. RFC 9113 §6.8. Where it does so for an
    /// error, the library gives that to all streams.
    GoesAway,
}

/// Whether the server says so.
pub(super) fn unseen(why: &reqwest::Error) -> Option<Unseen> {
    let told = failure::find::<h2::Error>(why).filter(|told| told.is_remote())?;
    match told.reason()? {
        h2::Reason::REFUSED_STREAM => Some(Unseen::Refused),
        h2::Reason::NO_ERROR if told.is_go_away() => Some(Unseen::GoesAway),
        _ => None,
    }
}

/// Why a body broke off after `read` bytes.
pub(super) fn within_body(
    why: reqwest::Error,
    host: &str,
    read: usize,
    announced: Option<u64>,
) -> Failure {
    failure::within_body(&failure::cause(&why.without_url()), host, read, announced)
}
