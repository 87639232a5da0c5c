//! What to do about the first failure of a kind, by its kind. Floor 5: drive.

use http::StatusCode;

use crate::outcome::{Failure, FailureKind, Hindrance};

/// What a try that failed tells, and how to mend it.
pub(super) fn mended_try(failure: &Failure) -> String {
    with(&failure.message, || {
        match (failure.kind, failure.hindrance) {
            (FailureKind::Connect, Some(hindrance)) => past(hindrance),
            (kind, _) => mend(kind, None),
        }
    })
}

/// What a job that failed tells, and how to mend it; `status` is that of the answer, if one came.
pub(super) fn mended(kind: FailureKind, message: &str, status: Option<StatusCode>) -> String {
    with(message, || mend(kind, status))
}

/// The message with its mend, unless it says that itself.
fn with(message: &str, mend: impl FnOnce() -> &'static str) -> String {
    const ITSELF: &str = "\n  mend: ";
    if message.contains(ITSELF) {
        return message.to_owned();
    }
    format!("{message}{ITSELF}{}", mend())
}

fn past(hindrance: Hindrance) -> &'static str {
    match hindrance {
        Hindrance::Files => "allow more open files (ulimit -n), or lower --concurrency",
        Hindrance::Ports => {
            "lower --concurrency, or allow more ports (net.ipv4.ip_local_port_range)"
        }
        Hindrance::Proxy => {
            "start the proxy, name another with --proxy, or go past it: --proxy none"
        }
        Hindrance::Tls => TLS,
    }
}

fn mend(kind: FailureKind, status: Option<StatusCode>) -> &'static str {
    match kind {
        FailureKind::Connect => {
            "start the server, or see the run without one: --mock answers in its place"
        }
        FailureKind::Dns => {
            "the name may be misspelt; to see the run without a server: --mock answers in its place"
        }
        FailureKind::Tls => TLS,
        FailureKind::Timeout => {
            "a longer --timeout lets slow answers come; fewer slots (-c) may make the server faster"
        }
        FailureKind::Reset => {
            "see why the server closes connections; if idle ones, a --pool-idle below its own keeps them from being used"
        }
        FailureKind::IncompleteBody => "see why the server breaks its answers off",
        FailureKind::BodyTooLarge => "take longer ones: --max-body 256MiB, or none",
        FailureKind::BodyError => {
            "what the server says stands in the result; --retry-if-json names where it is"
        }
        FailureKind::Redirect => {
            "the way stands in the result (hops); without --follow the redirect itself is the result"
        }
        FailureKind::Http => refused(status),
        FailureKind::Invalid => "mend the URL, or leave out the option that refuses it",
        FailureKind::Skipped => "nothing has to be done: its format does not send it",
        FailureKind::Limit => "raise the limit, or split the request",
        FailureKind::QueueTimeout => "raise --queue-timeout, or the limit",
        FailureKind::RetryAfterTooLong => "raise --max-retry-after, or go on later with --resume",
    }
}

const TLS: &str = "see that the server speaks TLS there; trust its authority with --cacert FILE, \
    show it a certificate with --cert FILE";

/// What to do about an answer that is no success.
fn refused(status: Option<StatusCode>) -> &'static str {
    match status.map_or(0, |status| status.as_u16()) {
        401 | 403 => "give a key that is valid: --bearer-env NAME, or -H",
        404 | 410 => {
            "see that URL and --base-url are right; what the server says stands in the result"
        }
        300..=399 => "follow redirects with --follow, or send to where it leads",
        405 | 501 => "see that the server takes this method at that URL: -X",
        408 | 425 | 429 | 500..=599 => {
            "give the server more time: a lower rate, more --max-attempts, or --resume --retry-failed later"
        }
        _ => "what the server says stands in the result; --ok 200-299,404 makes a status a success",
    }
}
