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
        let line = self.lines().join("");
        self.resize(columns, rows);
        let parser = &mut self.0.lock().unwrap().0;
        parser.process(format!("\x1b[2J\x1b[H{line}\x1b[H").as_bytes());
    }

    /// The lines that are not blank, whole where they take several rows; the one that is redrawn takes a single one.
    #[track_caller]
    fn lines(&self) -> Vec<String> {
        let own = self.0.lock().unwrap();
        let screen = own.0.screen();
        let (_, columns) = screen.size();
        for (row, text) in (0..).zip(screen.rows(0, columns.get())) {
            let is_broken = is_bar(&text) && screen.row_wrapped(row);
            assert!(!is_broken, "the bar is too long: {}", screen.contents());
        }
        let lines = screen.contents();
        let lines = lines.lines().map(|line| line.trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }

    fn progress(&self, clear: Clear) -> Progress {
        let setup = Setup {
            slots: Some(1),
            ..Setup::default()
        };
        let own = self.clone();
        let look = Box::new(move || Some(own.0.lock().unwrap().1));
        Progress::on(Mode::Auto, setup, look, clear, Box::new(self.clone()))
    }
}

fn at_least_one(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap_or(NonZeroU16::MIN)
}

fn is_bar(line: &str) -> bool {
    line.contains("  failed 0")
}

fn bars(lines: &[String]) -> usize {
    lines.iter().filter(|line| is_bar(line)).count()
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
    let mut notes = Vec::new();
    for job in 1..=100 {
        let now = Tick::ZERO.after(Duration::from_millis(100) * job);
        progress.update(now, &snapshot(u64::from(job)));
        if job % 20 == 0 {
            // The last letter stands in the last column: the terminal waits with its next row.
            let note = format!("note_{job:03}:_http://h/{}", "x".repeat(281));
            assert_eq!(note.len(), 300);
            progress.note(&format!("{note}\nits second line"));
            notes.extend([note, "its second line".to_owned()]);
        }
        let lines = terminal.lines();
        let (bar, above) = lines.split_last().unwrap();
        assert!(bar.starts_with(&format!("{job}/100  ")), "{lines:#?}");
        assert_eq!(above, notes);
    }
    progress.finish();
    assert_eq!(terminal.lines(), notes);
}

#[test]
fn a_note_that_is_wider_than_the_terminal_is_broken_between_words() {
    let note = "stopping early: 3 answers 401 (--stop-if '401>2'); finishing 1 in flight; a second signal stops";
    let mend = "mend: go on by the same command with --resume; none of the others is lost";
    for columns in 40..=120 {
        let terminal = Terminal::of(columns, 30);
        let mut progress = terminal.progress(Clear::Code);
        progress.note(&format!("{note}\n  {mend}"));
        let own = terminal.0.lock().unwrap();
        let screen = own.0.screen();
        assert!((0..30).all(|row| !screen.row_wrapped(row)), "{columns}");
        let rows: Vec<String> = screen.rows(0, columns).collect();
        let (first, second): (Vec<&String>, Vec<&String>) =
            rows.iter().partition(|row| !row.starts_with("  "));
        for (rows, told) in [(first, note), (second, mend)] {
            let words = rows.iter().flat_map(|row| row.split_whitespace());
            let words: Vec<&str> = words.collect();
            assert_eq!(words.join(" "), told, "{columns}: {rows:?}");
        }
    }
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
        let lines = terminal.lines();
        assert_eq!(bars(&lines), expected, "{columns}: {lines:#?}");
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
