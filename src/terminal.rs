//! The terminal behind a stream: whether there is one, and its size. Floor 4: doors.

use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;

/// A terminal's size in characters; zero where it does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Characters of a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

impl Screen {
    /// Of the terminal behind a stream; `None` if there is none.
    pub fn of(stream: &(impl IsTerminal + AsFd)) -> Option<Self> {
        if !stream.is_terminal() {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(stream).ok()?;
        Some(Self {
            columns: size.ws_col,
            rows: size.ws_row,
        })
    }
}

/// Whether the terminal says that it takes no escape codes.
pub fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether the user wants no escape codes. See <https://no-color.org>.
pub fn is_plain() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Columns of a page for people: from 40 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns(usize);

impl Columns {
    /// Narrower pages would be broken by words.
    const LEAST: usize = 40;
    /// Wider lines are hard to read. Also what is taken where nothing tells the size.
    const MOST: usize = 100;

    /// As near to `columns` as a page can be.
    pub fn new(columns: usize) -> Self {
        Self(columns.clamp(Self::LEAST, Self::MOST))
    }

    /// Of a page that goes to this stream.
    pub fn of(stream: &(impl IsTerminal + AsFd)) -> Self {
        match Screen::of(stream) {
            None | Some(Screen { columns: 0, .. }) => Self::default(),
            Some(screen) => Self::new(screen.columns.into()),
        }
    }

    /// As a number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for Columns {
    /// Of a file, or of a terminal without a size.
    fn default() -> Self {
        Self(Self::MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_from_40_to_100_columns() {
        for (asked, columns) in [(1, 40), (40, 40), (61, 61), (100, 100), (500, 100)] {
            assert_eq!(Columns::new(asked).get(), columns);
        }
        let file = tempfile::tempfile().unwrap();
        assert_eq!((Screen::of(&file), Columns::of(&file).get()), (None, 100));
    }
}
