//! What clap has to say: help on stdout, what is wrong with a line on stderr. Floor 6: front.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};

use super::{exit, line, print};
use crate::error::Exit;
use crate::letters::{self, calm_lines};
use crate::report::{Paint, untied};

/// Prints it, in the colours that the line asks for.
pub(super) fn show(said: &clap::Error, line: &[OsString]) -> Exit {
    let (styled, when) = (said.render(), line::colour(line));
    let plain = styled.to_string();
    // What was typed is calm already, but a reason may repeat it, and among the colours it could pass for one.
    let reason = said.source().map(ToString::to_string).unwrap_or_default();
    let acts = reason.contains(|letter| letter != '\n' && letters::acts(letter));
    let text = |paint| match paint {
        Paint::Colour if !acts => untied(&styled.ansi().to_string()),
        Paint::Colour | Paint::Plain => untied(&calm_lines(&plain)),
    };
    if said.use_stderr() {
        let mut stderr = io::stderr();
        // If even that is gone, nobody is left to be told.
        let _ = stderr.write_all(text(when.on(&stderr)).as_bytes());
        Exit::Usage
    } else {
        let page = text(when.on(&io::stdout()));
        exit(print(&page).map(|()| Exit::AllOk))
    }
}
