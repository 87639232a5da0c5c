//! What an error on the way to an answer means, whatever carries it. Floor 4: doors.

use std::error::Error;
use std::io;

use rustix::io::Errno;
use rustls::{CertificateError, InvalidMessage};

use super::reach::Private;
use crate::outcome::{Failure, FailureKind, Hindrance, Reached};

/// What resolvers say of `EAI_AGAIN` (RFC 3493 §6.1): glibc and others, musl.
const PASSING: [&str; 2] = ["Temporary failure", "Try again"];

/// A connect found no port of this machine free (EADDRNOTAVAIL).
#[derive(Debug, thiserror::Error)]
#[error("this system has no more free ports for connections to it")]
pub(super) struct OutOfPorts;

/// What was being done when it failed. Messages name host and cause, never the URL: that may hold credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Finding the address.
    LookUp,
    /// Connecting, or making the connection secure.
    Connect,
    /// Waiting for a head.
    Ask,
}

/// What it means that this failed.
pub(super) fn failed(doing: Doing, why: &(dyn Error + 'static), host: &str) -> Failure {
    let hindrance = hindrance(why);
    let cause = match hindrance {
        Some(Hindrance::Files) => "this process or system has too many open files".to_owned(),
        Some(Hindrance::Ports | Hindrance::Tls | Hindrance::Proxy) | None => cause(why),
    };
    let (kind, reached, message) = match doing {
        Doing::LookUp if find::<Private>(why).is_some() => {
            let message = format!("{host}: {cause}");
            (FailureKind::Invalid, Reached::NotSent, message)
        }
        Doing::LookUp => {
            // A resolver that is away for a moment is no word on the name: it is tried again like a connect.
            let passing = hindrance == Some(Hindrance::Files)
                || PASSING.iter().any(|text| cause.contains(text));
            let kind = if passing {
                FailureKind::Connect
            } else {
                FailureKind::Dns
            };
            let message = format!("no address for {host}: {cause}");
            (kind, Reached::NotSent, message)
        }
        Doing::Connect if find_tls(why).is_some() => {
            let message = format!("no secure connection to {host}: {cause}");
            (FailureKind::Tls, Reached::NotSent, message)
        }
        Doing::Connect => {
            let message = format!("no connection to {host}: {cause}");
            (FailureKind::Connect, Reached::NotSent, message)
        }
        Doing::Ask => return no_answer(&cause, host),
    };
    Failure {
        kind,
        reached,
        message,
        hindrance,
    }
}

/// A connection without an answer.
pub(super) fn no_answer(cause: &str, host: &str) -> Failure {
    Failure::new(
        FailureKind::Reset,
        Reached::Sent,
        format!("no answer from {host}: {cause}"),
    )
}

/// No connection within the time for it.
pub(super) fn slow_connect(host: &str) -> Failure {
    Failure::new(
        FailureKind::Timeout,
        Reached::NotSent,
        format!("no connection to {host} in time (phase: connect)"),
    )
}

/// Why a body broke off after `read` bytes.
pub(super) fn within_body(cause: &str, host: &str, read: usize, announced: Option<u64>) -> Failure {
    let of = announced.map_or_else(String::new, |length| format!(" of {length}"));
    Failure::new(
        FailureKind::IncompleteBody,
        Reached::Answered,
        format!("{host}: the body broke off after {read}{of} bytes: {cause}"),
    )
}

/// What came is no record of TLS.
const NO_TLS: &str = "the server does not speak TLS there; is it http://, or another port?";

/// The innermost error, which is the one that says something.
pub(super) fn cause(why: &(dyn Error + 'static)) -> String {
    match find_tls(why) {
        Some(rustls::Error::InvalidCertificate(fault)) => certificate(fault),
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            NO_TLS.to_owned()
        }
        Some(tls) => tls.to_string(),
        None => in_words(
            chain(why)
                .last()
                .expect("begins with the error")
                .to_string(),
        ),
    }
}

/// Whether a server shows the certificate of an authority for its own, as one has that signed itself.
pub(super) fn is_an_authoritys(fault: &CertificateError) -> bool {
    matches!(fault, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}

/// The two faults of certificates that people make for themselves, in words; webpki refuses one that
/// signed itself as an authority in the place of a server.
fn certificate(fault: &CertificateError) -> String {
    match fault {
        CertificateError::UnknownIssuer => {
            "unknown issuer: no authority that is trusted signed the certificate; --cacert FILE trusts its own"
                .to_owned()
        }
        own if is_an_authoritys(own) => {
            "self-signed certificate, which is not trusted; --cacert FILE trusts it".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired; --insecure takes it all the same".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet; is the clock of this machine right?".to_owned()
        }
        other => other.to_string(),
    }
}

/// What libraries of TLS call two ends of connections, and what people can make of them.
const ENDS: [(&str, &str); 2] = [
    (
        "peer closed connection without sending TLS close_notify",
        "the server closed the connection within TLS; does it ask for a certificate (--cert)?",
    ),
    (
        "tls handshake eof",
        "the server closed the connection as TLS began; does it speak TLS 1.2 or 1.3 there?",
    ),
];

fn in_words(cause: String) -> String {
    end_of_tls(&cause).map_or(cause, str::to_owned)
}

/// What people can make of such an end.
fn end_of_tls(cause: &str) -> Option<&'static str> {
    let mut ends = ENDS.iter();
    let found = ends.find(|(text, _)| cause.starts_with(text));
    found.map(|(_, words)| *words)
}

fn hindrance(why: &(dyn Error + 'static)) -> Option<Hindrance> {
    let innermost = chain(why).last().expect("begins with the error");
    if is_out_of_files(why) {
        Some(Hindrance::Files)
    } else if find::<OutOfPorts>(why).is_some() {
        Some(Hindrance::Ports)
    } else {
        end_of_tls(&innermost.to_string()).map(|_| Hindrance::Tls)
    }
}

fn is_out_of_files(why: &(dyn Error + 'static)) -> bool {
    let codes = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    let io = chain(why).filter_map(|error| error.downcast_ref::<io::Error>());
    io.filter_map(io::Error::raw_os_error)
        .any(|code| codes.contains(&code))
}

/// The TLS error within an error.
fn find_tls<'a>(why: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    find(why)
}

/// The error of this type within an error.
pub(super) fn find<'a, T: Error + 'static>(why: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(why).find_map(|error| error.downcast_ref())
}

/// An error and its sources. What an [`io::Error`] wraps is its source here: it reports only the source of that.
fn chain<'a>(why: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(why), |&error| {
        let io: Option<&'a io::Error> = error.downcast_ref();
        match io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}
