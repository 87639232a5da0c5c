//! The body of an answer out of its framing. Floor 4: doors.

use httparse::{EMPTY_HEADER, Status};

use super::head::MOST_HEADERS;

/// How it is told where a body ends. RFC 9112 §6.3.
#[derive(Debug)]
pub(super) enum Framing {
    /// There is none.
    Empty,
    /// It has so many bytes more, never zero.
    Length(u64),
    /// It comes in chunks.
    Chunked(Chunks),
    /// With the connection.
    Close,
}

/// Whether a body is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Whole,
}

impl Framing {
    /// Takes what belongs to the body off the front of `bytes` and adds it to `body`. Says how many bytes it took.
    ///
    /// The error says what is wrong, for people.
    pub(super) fn decode(
        &mut self,
        bytes: &[u8],
        body: &mut Vec<u8>,
    ) -> Result<(usize, Progress), &'static str> {
        match self {
            Self::Empty => Ok((0, Progress::Whole)),
            Self::Length(left) => {
                let taken =
                    usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                body.extend_from_slice(&bytes[..taken]);
                *left -= taken as u64;
                let progress = match left {
                    0 => Progress::Whole,
                    _ => Progress::More,
                };
                Ok((taken, progress))
            }
            Self::Chunked(chunks) => chunks.decode(bytes, body),
            Self::Close => {
                body.extend_from_slice(bytes);
                Ok((bytes.len(), Progress::More))
            }
        }
    }
}

/// The most bytes of all chunk extensions of a body; hyper takes as many.
const MOST_EXTENSIONS: usize = 16 << 10;

/// The most bytes of all trailers; hyper takes as many.
const MOST_TRAILERS: usize = 16 << 10;

/// Where a body in chunks has come to. RFC 9112 §7.1.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    at: At,
    /// Bytes of the chunk that are still to come.
    left: u64,
    /// Bytes of extensions so far.
    extensions: usize,
    /// With their line breaks; nobody asked for them, so they are only checked.
    trailers: Vec<u8>,
    trailer_lines: usize,
}

/// The next byte is …
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    /// … the first digit of a size.
    #[default]
    Start,
    /// … another digit of it.
    Size,
    /// … a blank behind it.
    Blank,
    /// … in an extension.
    Extension,
    /// … the LF behind a size.
    SizeLf,
    /// … in the chunk.
    Data,
    /// … the CR behind the chunk.
    DataCr,
    /// … the LF behind that.
    DataLf,
    /// … the first of a line behind the last chunk.
    Line,
    /// … in a trailer.
    Trailer,
    /// … the LF behind it.
    TrailerLf,
    /// … the very last.
    End,
}

impl Chunks {
    fn decode(
        &mut self,
        bytes: &[u8],
        body: &mut Vec<u8>,
    ) -> Result<(usize, Progress), &'static str> {
        let mut taken = 0;
        while taken < bytes.len() {
            if self.at == At::Data {
                let rest = &bytes[taken..];
                let most = usize::try_from(self.left).unwrap_or(usize::MAX);
                let data = &rest[..rest.len().min(most)];
                body.extend_from_slice(data);
                taken += data.len();
                self.left -= data.len() as u64;
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                continue;
            }
            let byte = bytes[taken];
            taken += 1;
            if self.at == At::End {
                return self.end(byte).map(|()| (taken, Progress::Whole));
            }
            self.at = self.next(byte)?;
        }
        Ok((taken, Progress::More))
    }

    /// Where a byte leads that is no data.
    fn next(&mut self, byte: u8) -> Result<At, &'static str> {
        match (self.at, byte) {
            (At::Start | At::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).expect("it is one");
                let size = self.left.checked_mul(16);
                let size = size.and_then(|size| size.checked_add(digit.into()));
                self.left = size.ok_or("the size of a chunk is too large")?;
                Ok(At::Size)
            }
            (At::Start, _) => Err("a chunk has no size"),
            (At::Size | At::Blank, b' ' | b'\t') => Ok(At::Blank),
            (At::Size | At::Blank, b';') => Ok(At::Extension),
            (At::Size | At::Blank | At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Size | At::Blank, _) => Err("the size of a chunk is no number"),
            (At::Extension, b'\n') => Err("a chunk extension has a line feed"),
            (At::Extension, _) => {
                self.extensions += 1;
                if self.extensions >= MOST_EXTENSIONS {
                    return Err("its chunk extensions are longer than 16 KiB");
                }
                Ok(At::Extension)
            }
            (At::SizeLf, b'\n') if self.left == 0 => Ok(At::Line),
            (At::SizeLf, b'\n') => Ok(At::Data),
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::Start),
            (At::DataCr | At::DataLf, _) => Err("a chunk is longer than its size"),
            (At::Line | At::Trailer, _) => {
                if !(self.at == At::Line && byte == b'\r' && self.trailers.is_empty()) {
                    self.trailer(byte)?;
                }
                Ok(match (self.at, byte) {
                    (At::Line, b'\r') => At::End,
                    (_, b'\r') => At::TrailerLf,
                    _ => At::Trailer,
                })
            }
            (At::TrailerLf, b'\n') => {
                self.trailer_lines += 1;
                if self.trailer_lines > MOST_HEADERS {
                    return Err("it has more than 100 trailers");
                }
                self.trailer(byte)?;
                Ok(At::Line)
            }
            (At::SizeLf | At::TrailerLf | At::End | At::Data, _) => Err(NO_LF),
        }
    }

    fn trailer(&mut self, byte: u8) -> Result<(), &'static str> {
        self.trailers.push(byte);
        if self.trailers.len() >= MOST_TRAILERS {
            return Err("its trailers are longer than 16 KiB");
        }
        Ok(())
    }

    /// The last byte.
    fn end(&mut self, byte: u8) -> Result<(), &'static str> {
        if byte != b'\n' {
            return Err(NO_LF);
        }
        if self.trailers.is_empty() {
            return Ok(());
        }
        self.trailer(byte)?;
        let mut slots = vec![EMPTY_HEADER; self.trailer_lines];
        match httparse::parse_headers(&self.trailers, &mut slots) {
            Ok(Status::Complete(_)) => Ok(()),
            Ok(Status::Partial) | Err(_) => Err("its trailers are no headers"),
        }
    }
}

const NO_LF: &str = "a carriage return is not followed by a line feed";
