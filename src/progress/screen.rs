//! The terminal on stderr. Floor 4: doors.

use std::io::IsTerminal as _;

use super::Mode;

/// The terminal in which a redrawn line is of use.
const LEAST: Screen = Screen {
    columns: 40,
    rows: 8,
};

/// A terminal's size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) columns: u16,
    pub(super) rows: u16,
}

impl Screen {
    /// Of the terminal on stderr; `None` if that is none, or a dumb one.
    pub(super) fn of_stderr() -> Option<Self> {
        let stderr = std::io::stderr();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if dumb || !stderr.is_terminal() {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(stderr).ok()?;
        Some(Self {
            columns: size.ws_col,
            rows: size.ws_row,
        })
    }

    /// Whether a line can be redrawn here under this mode.
    pub(super) fn takes(self, mode: Mode) -> bool {
        match mode {
            Mode::Auto => self.columns >= LEAST.columns && self.rows >= LEAST.rows,
            Mode::Bar => self.columns > 0 && self.rows > 0,
            Mode::Plain | Mode::None => false,
        }
    }
}
