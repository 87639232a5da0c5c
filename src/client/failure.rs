//! What an error of the HTTP library means. Floor 4: doors.

use std::error::Error;
use std::io;

use rustix::io::Errno;
use rustls::CertificateError;

use crate::outcome::{Failure, FailureKind, Reached};

/// What resolvers say of `EAI_AGAIN` (RFC 3493 §6.1): glibc and others, musl.
const PASSING: [&str; 2] = ["Temporary failure", "Try again"];

/// How the message of a connect ends that found no file to open (EMFILE, ENFILE): that is no word on the server.
pub const OUT_OF_FILES: &str = "this process or system has too many open files";

/// Why no head came. Messages name host and cause, never the URL: that may hold credentials.
pub(super) fn without_answer(why: reqwest::Error, host: &str) -> Failure {
    let why = why.without_url();
    let cause = if is_out_of_files(&why) {
        OUT_OF_FILES.to_owned()
    } else {
        cause(&why)
    };
    let (kind, reached, message) = if why.is_dns() {
        // A resolver that is away for a moment is no word on the name: it is tried again like a connect.
        let passing = cause == OUT_OF_FILES || PASSING.iter().any(|text| cause.contains(text));
        let kind = if passing {
            FailureKind::Connect
        } else {
            FailureKind::Dns
        };
        let message = format!("no address for {host}: {cause}");
        (kind, Reached::NotSent, message)
    } else if why.is_connect() && find_tls(&why).is_some() {
        let message = format!("no secure connection to {host}: {cause}");
        (FailureKind::Tls, Reached::NotSent, message)
    } else if why.is_connect() && why.is_timeout() {
        let message = format!("no connection to {host} in time (phase: connect)");
        (FailureKind::Timeout, Reached::NotSent, message)
    } else if why.is_connect() {
        let message = format!("no connection to {host}: {cause}");
        (FailureKind::Connect, Reached::NotSent, message)
    } else if why.is_builder() {
        let message = format!("{host}: {cause}");
        (FailureKind::Invalid, Reached::NotSent, message)
    } else {
        let message = format!("no answer from {host}: {cause}");
        (FailureKind::Reset, Reached::Sent, message)
    };
    Failure {
        kind,
        reached,
        message,
    }
}

/// Why a body broke off after `read` bytes.
pub(super) fn within_body(why: reqwest::Error, read: usize, announced: Option<u64>) -> Failure {
    let cause = cause(&why.without_url());
    let of = announced.map_or_else(String::new, |length| format!(" of {length}"));
    Failure {
        kind: FailureKind::IncompleteBody,
        reached: Reached::Answered,
        message: format!("the body broke off after {read}{of} bytes: {cause}"),
    }
}

/// The innermost error, which is the one that says something. The outermost carries no URL any more.
pub(super) fn cause(why: &reqwest::Error) -> String {
    match find_tls(why) {
        Some(rustls::Error::InvalidCertificate(fault)) => certificate(fault),
        Some(tls) => tls.to_string(),
        None => chain(why)
            .last()
            .expect("begins with the error")
            .to_string(),
    }
}

/// The two faults of certificates that people make for themselves, in words; webpki refuses one that
/// signed itself as an authority in the place of a server.
fn certificate(fault: &CertificateError) -> String {
    match fault {
        CertificateError::UnknownIssuer => {
            "unknown issuer: no authority that this system trusts signed the certificate".to_owned()
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "self-signed certificate, which this system does not trust".to_owned()
        }
        other => other.to_string(),
    }
}

fn is_out_of_files(why: &reqwest::Error) -> bool {
    let codes = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    let io = chain(why).filter_map(|error| error.downcast_ref::<io::Error>());
    io.filter_map(io::Error::raw_os_error)
        .any(|code| codes.contains(&code))
}

/// The TLS error within an error.
fn find_tls(why: &reqwest::Error) -> Option<&rustls::Error> {
    chain(why).find_map(|error| error.downcast_ref())
}

/// An error and its sources. What an [`io::Error`] wraps is its source here: it reports only the source of that.
fn chain<'a>(why: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let first: &'a (dyn Error + 'static) = why;
    std::iter::successors(Some(first), |&error| {
        let io: Option<&'a io::Error> = error.downcast_ref();
        match io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}
