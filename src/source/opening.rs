//! The first bytes of an input, by which its format is told. Floor 4: doors.

use std::io::{self, Cursor, Read};

use memchr::memchr;

use super::formats::Shows;
use super::framing::{Frame, Framing};
use super::lines::BYTE_ORDER_MARK;
use super::packed::{Packed, Spoilt, Told};
use super::{Format, Input};

/// A format is told by so many bytes at most.
const MOST: usize = 256 << 10;

/// So many are asked for at a time.
const PIECE: usize = 64 << 10;

/// An input of which only the beginning is read, as it was before it was compressed.
pub(super) struct Opening {
    head: Vec<u8>,
    rest: Box<dyn Read + Send>,
    /// Whether the rest is nothing.
    is_all: bool,
    /// Whether it is compressed.
    pub(super) is_packed: bool,
}

impl Opening {
    /// Of this input. Waits for its first bytes, and for no more than say whether it is compressed. A [`Spoilt`] if it
    /// is UTF-16 or UTF-32, or compressed as it is not undone here.
    pub(super) fn of(input: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut opening = Self::begun(input, false);
        let packed = opening.packed()?;
        if let Some(packed) = packed {
            opening = Self::begun(packed.undone(opening.whole()), true);
            if let Some(within) = opening.packed()? {
                return Err(packed.twice(within).into());
            }
        }
        let wide = opening.until(|head| match *head {
            [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Some(Some("UTF-32")),
            [a, 0, 0, 0, ..] if a != 0 => Some(Some("UTF-32LE")),
            [0, 0, 0, a, ..] if a != 0 => Some(Some("UTF-32BE")),
            [0xFF, 0xFE, _, _, ..] | [0xFE, 0xFF, ..] => Some(Some("UTF-16")),
            [a, 0, b, 0, ..] if a != 0 && b != 0 => Some(Some("UTF-16LE")),
            [0, a, 0, b, ..] if a != 0 && b != 0 => Some(Some("UTF-16BE")),
            []
            | [0 | 0xFE | 0xFF]
            | [0xFF, 0xFE]
            | [0xFF, 0xFE, _]
            | [_, 0]
            | [0, _]
            | [_, 0, _]
            | [0, _, 0] => None,
            _ => Some(None),
        })?;
        if opening.until(is_markup)? == Some(true) {
            return Err(Spoilt {
                what: "it is HTML or XML, as a page about an error or a login is".to_owned(),
                mend: match packed {
                    None => "look at it (head FILE), and fetch what it stands for".to_owned(),
                    Some(packed) => format!(
                        "look at it ({packed} -dc FILE | head), and fetch what it stands for"
                    ),
                },
            }
            .into());
        }
        match wide {
            Some(Some(from)) => Err(Spoilt {
                what: format!("it is {}, and jobs are UTF-8", &from[.."UTF-16".len()]),
                mend: match packed {
                    None => format!("iconv -f {from} -t UTF-8 FILE > NEW writes it so"),
                    Some(packed) => {
                        format!("{packed} -dc FILE | iconv -f {from} -t UTF-8 | shaper run -")
                    }
                },
            }
            .into()),
            Some(None) | None => Ok(opening),
        }
    }

    fn begun(input: Box<dyn Read + Send>, is_packed: bool) -> Self {
        Self {
            head: Vec::new(),
            rest: input,
            is_all: false,
            is_packed,
        }
    }

    /// How it is compressed.
    fn packed(&mut self) -> io::Result<Option<Packed>> {
        let told = self.until(|head| match Packed::told(head) {
            Told::Open => None,
            told => Some(told),
        })?;
        match told {
            Some(Told::Packed(packed)) => Ok(Some(packed)),
            Some(Told::Foreign(foreign)) => Err(foreign.spoilt().into()),
            Some(Told::Plain | Told::Open) | None => Ok(None),
        }
    }

    /// What the first bytes tell, as soon as they do.
    fn until<T>(&mut self, tell: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
        loop {
            let told = tell(&self.head);
            if told.is_some() || self.is_all {
                return Ok(told);
            }
            self.more()?;
        }
    }

    /// The format of rows; see [`Format::of_rows`].
    pub(super) fn format_of_rows(&mut self, input: &Input) -> io::Result<Format> {
        self.told(|first| Format::of_rows(first, input))
    }

    /// The format. Waits for as much of the input as tells it, and no more: mostly its first line that is not blank.
    pub(super) fn format(&mut self, input: &Input) -> io::Result<Format> {
        self.told(|first| Format::of(first, input))
    }

    /// The records of the input.
    pub(super) fn framing(mut self, format: Format) -> io::Result<Framing> {
        let frame = self.told(|first| format.frame(first))?;
        Ok(frame.of(self.whole()))
    }

    /// What the beginning tells, as soon as it does: all of what is looked at does.
    fn told<T>(&mut self, tell: impl Fn(&First<'_>) -> Option<T>) -> io::Result<T> {
        loop {
            let is_all = self.is_all || self.head.len() >= MOST;
            if let Some(told) = tell(&First::new(&self.head, is_all)) {
                return Ok(told);
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let there = self.head.len();
        self.head.resize(there + PIECE, 0);
        let read = loop {
            match self.rest.read(&mut self.head[there..]) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.head.truncate(there + read.as_ref().unwrap_or(&0));
        self.is_all = read? == 0;
        Ok(())
    }

    /// All of the input.
    pub(super) fn whole(self) -> Box<dyn Read + Send> {
        if self.head.is_empty() {
            return self.rest;
        }
        Box::new(Cursor::new(self.head).chain(self.rest))
    }
}

/// Whether a text begins as pages do, and no URL, JSON or name of a column; `None` if more of it will tell.
fn is_markup(head: &[u8]) -> Option<bool> {
    const BEGINNINGS: [&[u8]; 4] = [b"<!doctype", b"<html", b"<head", b"<?xml"];
    let text = First::new(head, false).text();
    let mut is_open = text.is_empty();
    for own in BEGINNINGS {
        let length = own.len().min(text.len());
        if own[..length].eq_ignore_ascii_case(&text[..length]) {
            if length == own.len() {
                return Some(true);
            }
            is_open = true;
        }
    }
    (!is_open).then_some(false)
}

/// What an input begins with, from its first byte that is no blank.
#[derive(Clone, Copy)]
pub(super) struct First<'a> {
    text: &'a [u8],
    /// Whether nothing more is looked at.
    is_all: bool,
}

impl<'a> First<'a> {
    pub(super) fn new(head: &'a [u8], is_all: bool) -> Self {
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        Self {
            text: text.trim_ascii_start(),
            is_all,
        }
    }

    /// The first line that is not blank and like this, nothing if there is none; `None` if it may come.
    pub(super) fn line_that(&self, is_it: impl Fn(&[u8]) -> bool) -> Option<&'a [u8]> {
        let mut lines = self.text.split_inclusive(|byte| *byte == b'\n');
        let line = lines.find(|line| !line.trim_ascii().is_empty() && is_it(line));
        match line {
            Some(line) if line.ends_with(b"\n") || self.is_all => Some(line.trim_ascii()),
            Some(_) | None => self.is_all.then_some(b""),
        }
    }

    /// Whether nothing but this is looked at.
    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// `None` if all of it is blank.
    pub(super) fn byte(&self) -> Option<u8> {
        self.text.first().copied()
    }

    /// Whether it may be a URL, whole or not, or a comment before one.
    pub(super) fn opens_url(&self) -> bool {
        self.byte().is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b'/' | b'?' | b'.')
        })
    }

    /// From its first byte that is no blank on.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The first line that is not blank, or what there is of it; `None` if more of it may come.
    pub(super) fn line(&self) -> Option<&'a [u8]> {
        match memchr(b'\n', self.text) {
            Some(end) => Some(self.text[..end].trim_ascii_end()),
            None => self.is_all.then_some(self.text),
        }
    }

    /// The name of the first field, nothing if the text is no object that has one; `None` if more of it may tell.
    pub(super) fn first_name(&self) -> Option<&'a [u8]> {
        let Some(rest) = self.text.strip_prefix(b"{") else {
            return (self.is_all || !self.text.is_empty()).then_some(b"");
        };
        let name = match rest.trim_ascii_start() {
            [b'"', name @ ..] => memchr(b'"', name).map(|end| &name[..end]),
            [] => None,
            [..] => Some(&b""[..]),
        };
        name.or(self.is_all.then_some(b""))
    }

    /// Whether the first object, the first of an array or that of the first line, is what is looked for by the names of
    /// its fields.
    pub(super) fn shows_object(&self, is_it: impl Fn(&[&[u8]]) -> bool) -> Shows {
        let (text, is_all) = match self.text {
            [b'[', rest @ ..] => (rest.trim_ascii_start(), self.is_all),
            [b'{', ..] => match self.line() {
                Some(b"{") => (self.text, self.is_all),
                Some(line) => (line, true),
                None => (self.text, false),
            },
            _ => return Shows::No,
        };
        let (names, is_whole) = names(text);
        match is_it(&names) {
            _ if !is_whole && !is_all => Shows::Open,
            true => Shows::Surely,
            false => Shows::No,
        }
    }

    /// Whether the object that opens the text, on however many lines, has a field of this name, and none of `others`
    /// before it.
    pub(super) fn leads_to(&self, name: &[u8], others: &[&[u8]]) -> Shows {
        if self.byte() != Some(b'{') {
            return if self.text.is_empty() {
                Shows::Open
            } else {
                Shows::No
            };
        }
        let (names, is_whole) = names(self.text);
        let mut names = names.into_iter();
        match names.find(|own| *own == name || others.contains(own)) {
            Some(own) if own == name => Shows::Surely,
            None if !is_whole => Shows::Open,
            Some(_) | None => Shows::No,
        }
    }

    /// Objects are lines, or elements of an array where one opens the text.
    pub(super) fn frame_of_objects(&self) -> Option<Frame> {
        match self.byte() {
            Some(b'[') => Some(Frame::ELEMENTS),
            Some(_) => Some(Frame::Lines),
            None => self.is_all.then_some(Frame::Lines),
        }
    }
}

/// Names of the fields of the object that opens a text, as far as they are there, and whether it ends there. It need
/// be no JSON.
fn names(text: &[u8]) -> (Vec<&[u8]>, bool) {
    let mut names = Vec::new();
    let (mut depth, mut is_name, mut at) = (0_usize, false, 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let from = at;
                while text.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                if at >= text.len() {
                    break;
                }
                if is_name && depth == 1 {
                    names.push(&text[from..at]);
                }
                is_name = false;
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                is_name = depth == 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return (names, true);
                }
            }
            b',' => is_name = true,
            _ if depth == 0 => return (names, true),
            _ => {}
        }
    }
    (names, false)
}
