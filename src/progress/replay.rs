//! What stands on a terminal while a run goes on: every byte is replayed on one. Floor 4: doors.

use std::io::Write;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::line::tests::snapshot;
use super::{Clear, Mode, Progress};
use crate::metrics::Setup;
use crate::terminal::Screen;
use crate::units::Tick;

#[derive(Clone)]
struct Terminal(Arc<Mutex<(vt100::Parser, Screen)>>);

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // As terminals do it: a line feed is also a carriage return.
        for byte in bytes {
            let parser = &mut self.0.lock().unwrap().0;
            parser.process(if *byte == b'\n' {
                b"\r\n"
            } else {
                std::slice::from_ref(byte)
            });
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Terminal {
    fn of(columns: u16, rows: u16) -> Self {
        let parser = vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0);
        Self(Arc::new(Mutex::new((parser, Screen { columns, rows }))))
    }

    fn resize(&self, columns: u16, rows: u16) {
        let mut own = self.0.lock().unwrap();
        let screen = own.0.screen_mut();
        screen.set_size(at_least_one(rows), at_least_one(columns));
        own.1 = Screen { columns, rows };
    }

    /// The same of a terminal that breaks its lines anew: the one line that stands there is in several rows then, and the
    /// cursor where it was in it.
    fn reflow(&self, columns: u16, rows: u16) {
        let line = self.rows().join("");
        self.resize(columns, rows);
        let parser = &mut self.0.lock().unwrap().0;
        parser.process(format!("\x1b[2J\x1b[H{line}\x1b[H").as_bytes());
    }

    /// The rows that are not blank; none of them may have been too long for the terminal.
    #[track_caller]
    fn rows(&self) -> Vec<String> {
        let own = self.0.lock().unwrap();
        let screen = own.0.screen();
        let (rows, columns) = screen.size();
        let wrapped = (0..rows.get()).find(|row| screen.row_wrapped(*row));
        assert_eq!(wrapped, None, "a line was too long: {}", screen.contents());
        let rows = screen.rows(0, columns.get());
        let rows = rows.map(|row| row.trim_end().to_owned());
        rows.filter(|row| !row.is_empty()).collect()
    }

    fn progress(&self, clear: Clear) -> Progress {
        let setup = Setup {
            per_host: None,
            slots: Some(1),
            limits: Vec::new(),
        };
        let own = self.clone();
        let look = Box::new(move || Some(own.0.lock().unwrap().1));
        Progress::on(Mode::Auto, setup, look, clear, Box::new(self.clone()))
    }
}

fn at_least_one(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap_or(NonZeroU16::MIN)
}

fn bars(rows: &[String]) -> usize {
    rows.iter().filter(|row| row.contains("  failed 0")).count()
}

#[test]
fn one_bar_stands_on_the_screen_and_notes_stand_above_it() {
    for clear in [Clear::Code, Clear::Blanks] {
        one_bar_stands_and_notes_above_it(clear);
    }
}

fn one_bar_stands_and_notes_above_it(clear: Clear) {
    let terminal = Terminal::of(100, 30);
    let mut progress = terminal.progress(clear);
    let mut notes = 0;
    for job in 1..=100 {
        let now = Tick::ZERO.after(Duration::from_millis(100) * job);
        progress.update(now, &snapshot(u64::from(job)));
        if job % 20 == 0 {
            progress.note(&format!(
                "note {job}: http://h/{}\nits second line",
                "x".repeat(300)
            ));
            notes += 2;
        }
        let rows = terminal.rows();
        assert_eq!(bars(&rows), 1, "{rows:#?}");
        assert_eq!(rows.len(), notes + 1, "{rows:#?}");
        assert!(
            rows.last().unwrap().starts_with(&format!("{job}/100  ")),
            "{rows:#?}"
        );
    }
    progress.finish();
    let rows = terminal.rows();
    assert_eq!((bars(&rows), rows.len()), (0, notes), "{rows:#?}");
}

#[test]
fn a_terminal_that_is_resized_has_one_bar_as_long_as_there_is_room_for_it() {
    for clear in [Clear::Code, Clear::Blanks] {
        one_bar_stands_at_every_size(clear);
    }
}

fn one_bar_stands_at_every_size(clear: Clear) {
    let terminal = Terminal::of(120, 30);
    let mut progress = terminal.progress(clear);
    let mut now = Tick::ZERO;
    for (columns, rows, expected) in [
        (120, 30, 1),
        (60, 30, 1),
        (120, 10, 1),
        (41, 9, 1),
        (30, 9, 0),
        (120, 30, 0),
    ] {
        terminal.resize(columns, rows);
        for _ in 0..5 {
            now = now.after(Duration::from_millis(100));
            progress.update(now, &snapshot(60));
        }
        progress.note(&"a note that is longer than the terminal is wide ".repeat(3));
        let rows = terminal.rows();
        assert_eq!(bars(&rows), expected, "{columns}: {rows:#?}");
    }
}

#[test]
fn nothing_is_left_of_a_line_that_a_narrower_terminal_has_broken() {
    for clear in [Clear::Code, Clear::Blanks] {
        let terminal = Terminal::of(120, 30);
        let mut progress = terminal.progress(clear);
        progress.update(Tick::ZERO.after(Duration::from_secs(1)), &snapshot(60));
        terminal.reflow(41, 30);
        progress.note("a\nb\nc");
        progress.finish();
        let seen = terminal.0.lock().unwrap().0.screen().contents();
        let rows: Vec<&str> = seen.split_whitespace().collect();
        assert_eq!(rows, ["a", "b", "c"], "{clear:?}: {seen}");
    }
}

#[test]
fn too_small_a_terminal_gets_plain_lines() {
    for (columns, rows) in [(20, 5), (39, 30), (100, 7), (1, 1), (0, 0)] {
        let terminal = Terminal::of(columns, rows);
        let mut progress = terminal.progress(Clear::Code);
        for second in 1..=30 {
            let now = Tick::ZERO.after(Duration::from_secs(second));
            progress.update(now, &snapshot(second));
        }
        progress.finish();
        let seen = terminal.0.lock().unwrap().0.screen().contents();
        assert!(!seen.contains("  failed 0"), "{columns}x{rows}: {seen}");
        assert!(
            columns < 20 || seen.contains("30s 30/100"),
            "{columns}x{rows}: {seen}"
        );
    }
}
