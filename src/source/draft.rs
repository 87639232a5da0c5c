//! What a line says of its job. Floor 4: doors.

use std::borrow::Cow;

use http::Method;

use super::at::Stamp;
use super::filling::Filling;
use super::record::Record;
use crate::job::{BadLine, NoJob, Place, Repeat};
use crate::json::Member;
use crate::kept::Body;

/// A place in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// A byte of it, from 1.
    Byte(u64),
    /// A cell of a row, from 0.
    Cell(usize),
}

impl From<u64> for Spot {
    fn from(byte: u64) -> Self {
        Self::Byte(byte)
    }
}

/// What is wrong with a record.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: Spot,
    pub(super) why: NoJob,
    pub(super) what: String,
    pub(super) mend: String,
}

impl Fault {
    pub(super) fn new(
        at: impl Into<Spot>,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            at: at.into(),
            why: NoJob::Invalid,
            what: what.into(),
            mend: mend.into(),
        }
    }

    /// Nothing is wrong with the record: it is not sent.
    pub(super) fn skipped(at: impl Into<Spot>, what: impl Into<String>) -> Self {
        Self {
            why: NoJob::Skipped,
            ..Self::new(
                at,
                what,
                "it is passed over; leave it out if it should not be counted",
            )
        }
    }

    /// The record that it is a fault of.
    pub(super) fn of(self, record: &Record<'_>, place: Place, id: Option<Box<str>>) -> BadLine {
        let (below, column) = record.place_of(self.at);
        BadLine {
            place,
            below,
            column,
            why: self.why,
            what: self.what,
            mend: self.mend,
            id,
            hash: record.hash(),
        }
    }
}

/// What the body is, as far as its content type follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Written as a JSON value: `application/json` unless a header says otherwise.
    Json,
    /// Anything else: no content type of its own.
    Other,
}

impl Content {
    /// Of a body of the command line: of one that is a JSON object or array, or not.
    pub(super) fn of(is_json: bool) -> Self {
        if is_json { Self::Json } else { Self::Other }
    }
}

/// The units that a line says its job takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SaidUnits {
    /// Input and output together.
    pub(super) whole: Option<u64>,
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
}

/// Which servers a record may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Any.
    Any,
    /// That of `--base-url`: whoever has written the record shall not choose who sees a credential.
    Base,
}

/// All fields of a record as they stand there.
#[derive(Debug)]
pub(super) enum Fields<'a> {
    /// None, as in a list of URLs.
    None,
    /// Of an object.
    Json(Vec<Member<'a>>),
    /// Of a row: columns and cells.
    Cells(Vec<(&'a str, &'a str)>),
}

/// What a record says beside its headers; what it leaves open is `None`.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) method: Option<Method>,
    pub(super) url: Cow<'a, str>,
    /// Where the URL stands.
    pub(super) url_at: Spot,
    pub(super) reach: Reach,
    pub(super) body: Option<Body<'a>>,
    /// Why it is not sent, if no body is given to it.
    pub(super) lacks_body: Option<&'static str>,
    pub(super) content: Content,
    /// What it is known by in place of the body.
    pub(super) known_by: Option<String>,
    /// What fills the options of the command line, if these have templates.
    pub(super) filling: Option<&'a Filling>,
    /// A header that the job has if neither it nor the command line says another.
    pub(super) also: Option<(&'static str, &'static str)>,
    pub(super) units: SaidUnits,
    /// When it was recorded; `None` if its format never says that.
    pub(super) at: Option<Stamp<'a>>,
    /// A JSON text.
    pub(super) meta: Option<Cow<'a, str>>,
    pub(super) fields: Fields<'a>,
    /// Which of its tries may be repeated, unless something else is asked for.
    pub(super) repeat: Repeat,
}

impl<'a> Draft<'a> {
    /// A record that says a URL and nothing else.
    pub(super) fn of_url(url: impl Into<Cow<'a, str>>, at: impl Into<Spot>) -> Self {
        Self {
            method: None,
            url: url.into(),
            url_at: at.into(),
            reach: Reach::Any,
            body: None,
            lacks_body: None,
            content: Content::Other,
            known_by: None,
            filling: None,
            also: None,
            units: SaidUnits::default(),
            at: None,
            meta: None,
            fields: Fields::None,
            repeat: Repeat::ByMethod,
        }
    }
}

/// Lower case is taken for upper: RFC 9110 §9.1 tells them apart, but no registered method has any.
pub(super) fn method(text: &str) -> Option<Method> {
    let upper = if text.contains(|letter: char| letter.is_ascii_lowercase()) {
        Cow::Owned(text.to_ascii_uppercase())
    } else {
        Cow::Borrowed(text)
    };
    Method::from_bytes(upper.as_bytes()).ok()
}

/// The target of a request line as a URL that is relative to its server: `//` opens a path there, and no name of a host.
/// RFC 9112 §3.2.1.
pub(super) fn on_its_server(target: &str) -> Cow<'_, str> {
    if target.starts_with("//") {
        Cow::Owned(format!("/.{target}"))
    } else {
        Cow::Borrowed(target)
    }
}

/// Whether a header that was recorded belongs to its connection or to how its body was sent, or is none: it is not sent
/// again. RFC 9110 §7.6.1, and pseudo-headers of HTTP/2.
pub(super) fn is_of_connection(name: &str) -> bool {
    const NAMES: [&str; 9] = [
        "connection",
        "content-length",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    name.starts_with(':') || NAMES.iter().any(|own| name.eq_ignore_ascii_case(own))
}
