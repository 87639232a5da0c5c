//! Where indicatif draws the line, so that a terminal may be resized under it. Floor 4: doors.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use unicode_width::UnicodeWidthStr;

/// How the line that is redrawn is taken away. The cursor stands in its first column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clear {
    /// By the code for the rest of the screen: a terminal that became narrower may have broken the line into
    /// several, and these go, too.
    Code,
    /// By blanks, for who wants no codes. Of a line that was broken every row is made blank, and what comes next stands
    /// in the last of them: without codes there is no way up.
    Blanks,
}

/// One row of a terminal, and the lines that are left above it.
#[derive(Clone)]
pub(super) struct Canvas(Arc<Mutex<Inner>>);

struct Inner {
    out: Box<dyn Write + Send>,
    clear: Clear,
    /// Columns for the line: one stays free, so that no terminal breaks it.
    width: u16,
    /// Columns of the line as it was drawn last.
    drawn: usize,
    /// What is written at the next flush.
    pending: String,
}

impl fmt::Debug for Canvas {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Canvas").finish_non_exhaustive()
    }
}

impl Canvas {
    pub(super) fn new(clear: Clear, out: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            out,
            clear,
            width: 0,
            drawn: 0,
            pending: String::new(),
        })))
    }

    /// From now on the terminal has so many columns.
    pub(super) fn resize(&self, columns: u16) {
        self.inner().width = columns.saturating_sub(1);
    }

    /// A line that is redrawn here whenever it is told a message: when that is due, its owner knows.
    pub(super) fn bar(&self) -> ProgressBar {
        let target = ProgressDrawTarget::term_like(Box::new(self.clone()));
        let style = ProgressStyle::with_template("{wide_msg}").expect("the template is valid");
        ProgressBar::with_draw_target(None, target).with_style(style)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TermLike for Canvas {
    fn width(&self) -> u16 {
        self.inner().width
    }

    // The line has one row, so the cursor stays in it.
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    /// A line that stays. It may take several rows of the terminal: the cursor never goes back up to them.
    fn write_line(&self, line: &str) -> io::Result<()> {
        self.inner().pending.extend([line, "\n"]);
        Ok(())
    }

    /// The row that is redrawn. Without the blanks with which indicatif fills it: a terminal that becomes
    /// narrower would break them, and keep a copy of the line.
    fn write_str(&self, text: &str) -> io::Result<()> {
        let line = text.trim_end_matches(' ');
        if !line.is_empty() {
            let mut inner = self.inner();
            inner.drawn = line.width();
            inner.pending.extend([line, "\r"]);
        }
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        let inner = &mut *self.inner();
        match inner.clear {
            Clear::Code => inner.pending.push_str("\r\x1b[J"),
            Clear::Blanks => {
                let columns = usize::from(inner.width) + 1;
                let blanks = match inner.drawn.div_ceil(columns) {
                    0 | 1 => " ".repeat(inner.drawn),
                    rows => vec![" ".repeat(columns); rows].join("\r\n"),
                };
                inner.drawn = 0;
                inner.pending.extend(["\r", &blanks, "\r"]);
            }
        }
        Ok(())
    }

    /// At once, and whole.
    fn flush(&self) -> io::Result<()> {
        let inner = &mut *self.inner();
        let text = std::mem::take(&mut inner.pending);
        inner.out.write_all(text.as_bytes())
    }
}
