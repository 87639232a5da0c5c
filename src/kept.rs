//! What a job keeps of its line, in one piece of memory. Floor 2: records.

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

use crate::headers::{Headers, Lines};

/// A body up to this is copied rather than shared: that costs less than a piece of its own.
pub const SHORT: usize = 4096;

/// Headers, body and meta of a job.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Header lines, a short body, the meta.
    piece: Box<[u8]>,
    /// Where the header lines end.
    headers: usize,
    is_minded: bool,
    body: BodyAt,
}

/// Where a body stands.
#[derive(Clone, Default, PartialEq, Eq)]
enum BodyAt {
    #[default]
    None,
    /// In the piece, to here.
    Here(usize),
    Apart(Bytes),
}

/// The bytes of a body that a job is to keep.
#[derive(Debug)]
pub enum Body<'a> {
    /// A part of the line.
    InLine(&'a [u8]),
    /// From elsewhere.
    Apart(Bytes),
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InLine(bytes) => bytes,
            Self::Apart(bytes) => bytes,
        }
    }
}

impl From<Bytes> for Body<'_> {
    fn from(bytes: Bytes) -> Self {
        Self::Apart(bytes)
    }
}

impl Kept {
    /// The meta is a JSON text.
    pub fn of(headers: &Headers, body: Option<Body<'_>>, meta: Option<&str>) -> Self {
        let lines = headers.lines();
        let meta = meta.unwrap_or_default().as_bytes();
        let length = body.as_deref().map_or(0, <[u8]>::len);
        let short = if length <= SHORT { length } else { 0 };
        let mut piece = Vec::with_capacity(lines.bytes.len() + short + meta.len());
        piece.extend_from_slice(lines.bytes);
        let body = match body {
            None => BodyAt::None,
            Some(short) if short.len() <= SHORT => {
                piece.extend_from_slice(&short);
                BodyAt::Here(piece.len())
            }
            Some(Body::InLine(long)) => BodyAt::Apart(Bytes::copy_from_slice(long)),
            Some(Body::Apart(long)) => BodyAt::Apart(long),
        };
        piece.extend_from_slice(meta);
        Self {
            piece: piece.into(),
            headers: lines.bytes.len(),
            is_minded: lines.unminded().is_none(),
            body,
        }
    }

    pub(crate) fn headers(&self) -> Lines<'_> {
        Lines {
            bytes: &self.piece[..self.headers],
            is_minded: self.is_minded,
        }
    }

    pub(crate) fn body(&self) -> Option<&[u8]> {
        match &self.body {
            BodyAt::None => None,
            BodyAt::Here(end) => Some(&self.piece[self.headers..*end]),
            BodyAt::Apart(bytes) => Some(bytes),
        }
    }

    pub(crate) fn shared_body(&self) -> Bytes {
        match &self.body {
            BodyAt::None => Bytes::new(),
            BodyAt::Here(end) => Bytes::copy_from_slice(&self.piece[self.headers..*end]),
            BodyAt::Apart(bytes) => bytes.clone(),
        }
    }

    pub(crate) fn meta(&self) -> Option<&[u8]> {
        let start = match &self.body {
            BodyAt::None | BodyAt::Apart(_) => self.headers,
            BodyAt::Here(end) => *end,
        };
        // No JSON text is empty.
        Some(&self.piece[start..]).filter(|meta| !meta.is_empty())
    }

    /// In bytes.
    pub(crate) fn len(&self) -> usize {
        let apart = match &self.body {
            BodyAt::None | BodyAt::Here(_) => 0,
            BodyAt::Apart(bytes) => bytes.len(),
        };
        self.piece.len() + apart
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Kept")
            .field("headers", &self.headers())
            .field("body", &self.body().map(<[u8]>::len))
            .field("meta", &self.meta().map(<[u8]>::len))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use http::header::{AUTHORIZATION, HOST};

    use super::*;

    #[test]
    fn what_is_kept_comes_out_as_it_went_in() {
        let mut headers = Headers::default();
        for (name, value) in [(AUTHORIZATION, "canary"), (HOST, "h.test")] {
            let lengths = [0, 1, SHORT, SHORT + 1];
            for meta in [None, Some("[1]")] {
                let none = Kept::of(&headers, None, meta);
                assert_eq!((none.body(), none.shared_body().len()), (None, 0));
                assert_eq!(none.meta(), meta.map(str::as_bytes));
                for body in lengths.map(|length| vec![b'x'; length]) {
                    let apart = Body::from(Bytes::from(body.clone()));
                    let kept = [Body::InLine(&body), apart]
                        .map(|body| Kept::of(&headers, Some(body), meta));
                    for kept in &kept {
                        assert_eq!(kept.headers(), headers.lines());
                        assert_eq!(kept.body(), Some(&*body));
                        assert_eq!(kept.shared_body(), body);
                        assert_eq!(kept.meta(), meta.map(str::as_bytes));
                        let parts = headers.lines().bytes.len() + body.len();
                        assert_eq!(kept.len(), parts + meta.map_or(0, str::len));
                        assert!(!format!("{kept:?}").contains("canary"));
                    }
                }
            }
            assert!(headers.add_text(&name, value));
        }
    }

    #[test]
    fn a_long_body_is_shared() {
        let body = Bytes::from(vec![b'x'; SHORT + 1]);
        let kept = Kept::of(&Headers::default(), Some(body.clone().into()), None);
        assert_eq!(kept.shared_body().as_ptr(), body.as_ptr());
    }
}
