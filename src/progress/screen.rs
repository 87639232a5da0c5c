//! Whether a line can be redrawn on stderr. Floor 4: doors.

use std::env;
use std::io;

use super::Mode;
use crate::terminal::{self, Screen};

/// The terminal in which a redrawn line is of use.
const LEAST: Screen = Screen {
    columns: 40,
    rows: 8,
};

/// The terminal on stderr; `None` if that is none, or one without cursor movements.
pub(super) fn of_stderr() -> Option<Screen> {
    let unknown = env::var_os("TERM").is_none() || terminal::is_dumb();
    Screen::of(&io::stderr()).filter(|_| !unknown)
}

/// Whether a line can be redrawn there under this mode.
pub(super) fn takes(screen: Screen, mode: Mode) -> bool {
    match mode {
        Mode::Auto => screen.columns >= LEAST.columns && screen.rows >= LEAST.rows,
        Mode::Bar => screen.columns > 0 && screen.rows > 0,
        Mode::Plain | Mode::None => false,
    }
}
