//! What a line says of its job. Floor 4: doors.

use std::borrow::Cow;

use http::Method;

use super::at;
use super::record::Record;
use crate::job::{BadLine, Place};
use crate::json::Member;
use crate::kept::Body;

/// What is wrong with a record.
#[derive(Debug)]
pub(super) struct Fault {
    /// Byte of the record, from 1.
    pub(super) column: u64,
    pub(super) what: String,
    pub(super) mend: String,
}

impl Fault {
    pub(super) fn new(column: u64, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            column,
            what: what.into(),
            mend: mend.into(),
        }
    }

    /// The record that it is a fault of.
    pub(super) fn of(self, record: &Record<'_>, place: Place, id: Option<Box<str>>) -> BadLine {
        let (below, column) = record.spot(self.column);
        BadLine {
            place,
            below,
            column,
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

/// The units that a line says its job takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SaidUnits {
    /// Input and output together.
    pub(super) whole: Option<u64>,
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
}

/// What a line says beside its headers; what it leaves open is `None`.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) method: Option<Method>,
    pub(super) url: Cow<'a, str>,
    /// Byte of the line where the URL stands, from 1.
    pub(super) url_column: u64,
    pub(super) body: Option<Body<'a>>,
    pub(super) content: Content,
    pub(super) units: SaidUnits,
    /// When it was recorded.
    pub(super) at: Option<at::Written<'a>>,
    /// As it stands in the line.
    pub(super) meta: Option<&'a str>,
    /// All fields of the line as they stand there; a list of URLs has none.
    pub(super) fields: Vec<Member<'a>>,
}

impl<'a> Draft<'a> {
    /// A line that says a URL and nothing else.
    pub(super) fn of_url(url: &'a str, url_column: u64) -> Self {
        Self {
            method: None,
            url: Cow::Borrowed(url),
            url_column,
            body: None,
            content: Content::Other,
            units: SaidUnits::default(),
            at: None,
            meta: None,
            fields: Vec::new(),
        }
    }
}
