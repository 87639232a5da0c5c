//! How far a run has come, on stderr: one line in a terminal, now and then a line elsewhere. Floor 4: doors.

mod canvas;
mod line;
#[cfg(test)]
mod replay;
mod screen;

use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use indicatif::{ProgressBar, TermLike};

use crate::letters::calm;
use crate::metrics::{Counts, Owner, Setup};
use crate::report::hung;
use crate::terminal::{self, Screen};
use crate::units::Tick;
use canvas::{Canvas, Clear};
use line::{Line, fitted};
use screen::{of_stderr, takes};

/// What is shown, as `--progress` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A line that is redrawn if stderr is a terminal of at least 40x8, else plain lines.
    Auto,
    /// A line that is redrawn if stderr is a terminal of any size above zero, else plain lines.
    Bar,
    /// A line every 10 s.
    Plain,
    /// Notes only.
    None,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Lines so far.
    pub counts: Counts,
    /// Lines in all, once it is known.
    pub total: Option<u64>,
    /// Tries in flight.
    pub in_flight: u64,
    /// Jobs in line and at rest.
    pub waiting: usize,
    /// Answers with status 429.
    pub refused: u64,
    /// What holds the oldest waiting job.
    pub binds: Owner,
    /// Until when, if that can be told.
    pub until: Option<Tick>,
    /// How long the run still takes, if that can be told.
    pub left: Option<Duration>,
}

/// A bar is redrawn at most ten times a second: more is flicker.
const REDRAW: Duration = Duration::from_millis(100);

/// A log of a long run stays short enough to read.
const PLAIN: Duration = Duration::from_secs(10);

/// The rate is a mean over so much.
const RATE_OVER: Duration = Duration::from_secs(5);

/// Shows how far a run has come. It is told the time; nothing runs beside the caller's thread.
pub struct Progress {
    mode: Mode,
    /// For the names of the limits.
    setup: Setup,
    /// The line that is redrawn; `None` where there is none.
    bar: Option<ProgressBar>,
    canvas: Canvas,
    /// The terminal as it is now.
    screen: Look,
    /// Columns of the terminal; `None` where lines have no end.
    columns: Option<u16>,
    next: Tick,
    /// What was done at some moments of the last [`RATE_OVER`], and at one before.
    past: VecDeque<(Tick, u64)>,
}

/// Reads the size of the terminal.
type Look = Box<dyn Fn() -> Option<Screen> + Send>;

impl std::fmt::Debug for Progress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Progress")
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Progress {
    /// Progress on stderr, from the start of the run.
    pub fn new(mode: Mode, setup: Setup) -> Self {
        let out = Box::new(std::io::stderr());
        let clear = if terminal::is_plain() {
            Clear::Blanks
        } else {
            Clear::Code
        };
        Self::on(mode, setup, Box::new(of_stderr), clear, out)
    }

    fn on(mode: Mode, setup: Setup, look: Look, clear: Clear, out: Box<dyn Write + Send>) -> Self {
        let screen = look();
        let canvas = Canvas::new(clear, out);
        let bar = screen.filter(|screen| takes(*screen, mode));
        let bar = bar.map(|_| canvas.bar());
        let every = if bar.is_some() { REDRAW } else { PLAIN };
        Self {
            mode,
            setup,
            bar,
            canvas,
            screen: look,
            columns: screen.map(|screen| screen.columns),
            next: Tick::ZERO.after(every),
            past: VecDeque::from([(Tick::ZERO, 0)]),
        }
    }

    /// To be called at the end of every turn: does nothing unless a line is due.
    pub fn update(&mut self, now: Tick, snapshot: &Snapshot) {
        if now < self.next || self.mode == Mode::None {
            return;
        }
        self.remeasure();
        let rate = self.rate(now, snapshot.counts.done_now());
        self.remember(now, snapshot.counts.done_now());
        let line = self.line(now, snapshot, rate);
        if let Some(bar) = &self.bar {
            bar.set_message(fitted(&line.bar(self.columns), self.columns));
            self.next = now.after(REDRAW);
        } else {
            let line = line.plain(self.columns_of_text());
            self.print(&line);
            self.next = now.after(PLAIN);
        }
    }

    /// Prints a plain line at once, in every mode: somebody has asked. What is shown by itself stays as it is.
    pub fn status(&mut self, now: Tick, snapshot: &Snapshot) {
        let rate = self.rate(now, snapshot.counts.done_now());
        let line = self.line(now, snapshot, rate);
        let line = line.plain(self.columns_of_text());
        self.note(&line);
    }

    fn line<'a>(&'a self, now: Tick, snapshot: &'a Snapshot, rate: f64) -> Line<'a> {
        Line {
            now,
            snapshot,
            rate,
            setup: &self.setup,
        }
    }

    /// When the next line is due: a caller with nothing else to do may wake for it. `None` for never.
    pub fn due(&self) -> Option<Tick> {
        (self.mode != Mode::None).then_some(self.next)
    }

    /// Prints a message above the line that is redrawn, whole: for a terminal it is broken between words.
    pub fn note(&mut self, text: &str) {
        self.remeasure();
        let print = || {
            for line in text.lines() {
                match self.columns_of_text() {
                    Some(columns) => broken(&calm(line), columns)
                        .iter()
                        .for_each(|line| self.print(line)),
                    None => self.print(line),
                }
            }
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the line off the screen: what is printed next begins in a clean column.
    pub fn finish(&mut self) {
        self.redraw_no_more();
        self.mode = Mode::None;
    }

    fn redraw_no_more(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// A terminal may have been resized; one that became too small gets plain lines from then on.
    fn remeasure(&mut self) {
        if self.bar.is_none() {
            return;
        }
        let screen = (self.screen)();
        self.columns = screen.map(|screen| screen.columns);
        if let Some(columns) = self.columns {
            self.canvas.resize(columns);
        }
        if !screen.is_some_and(|screen| takes(screen, self.mode)) {
            self.redraw_no_more();
        }
    }

    /// Done per second over the last [`RATE_OVER`], or since the last line if that is longer ago.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    fn rate(&self, now: Tick, done: u64) -> f64 {
        let from = now.before(RATE_OVER);
        let mut latest = self.past.iter().rev();
        let long_ago = latest.find(|(at, _)| *at <= from);
        let &(at, before) = long_ago.or(self.past.front()).unwrap_or(&(Tick::ZERO, 0));
        let span = now.since(at).as_secs_f64();
        if span > 0.0 {
            done.saturating_sub(before) as f64 / span
        } else {
            0.0
        }
    }

    /// What is done now, for the rates to come.
    fn remember(&mut self, now: Tick, done: u64) {
        let from = now.before(RATE_OVER);
        while self.past.get(1).is_some_and(|&(at, _)| at <= from) {
            self.past.pop_front();
        }
        self.past.push_back((now, done));
    }

    /// Progress that cannot be written is no reason to end a run.
    fn print(&self, line: &str) {
        let _ = self
            .canvas
            .write_line(&calm(line))
            .and_then(|()| self.canvas.flush());
    }

    /// A terminal that does not tell its size takes lines of any length.
    fn columns_of_text(&self) -> Option<u16> {
        self.columns.filter(|&columns| columns > 0)
    }
}

/// The line in as many as it takes, the further ones as far in as the first.
fn broken(line: &str, columns: u16) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let (before, _) = line.split_at(line.len() - text.len());
    let indent = before.len().min(usize::from(columns) / 2);
    hung(&before[..indent], indent, text, columns.into())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::line::tests::snapshot;
    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What a run of 100 jobs at 5/s prints, told every 200 ms, with a note at 12 s.
    fn printed(mode: Mode, screen: Option<Screen>) -> String {
        let log = Log::default();
        let setup = Setup {
            slots: Some(1),
            ..Setup::default()
        };
        let mut progress = Progress::on(
            mode,
            setup,
            Box::new(move || screen),
            Clear::Code,
            Box::new(log.clone()),
        );
        for job in 0..=100 {
            let now = Tick::ZERO.after(Duration::from_millis(200) * job);
            progress.update(now, &snapshot(u64::from(job)));
            if job == 60 {
                progress.note("a note\x1b[1m\nof two lines");
            }
        }
        progress.finish();
        let bytes = log.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn without_a_terminal_there_is_a_plain_line_every_ten_seconds() {
        let lines = "10s 50/100 ok 50 failed 0 5.0/s held by slots, in flight 1 of 1\na note\\u{1b}[1m\nof two lines\n\
                     20s 100/100 ok 100 failed 0 5.0/s held by slots, in flight 1 of 1\n";
        assert_eq!(printed(Mode::Auto, None), lines);
        assert_eq!(printed(Mode::Bar, None), lines);
        let tiny = Screen {
            columns: 39,
            rows: 50,
        };
        let shorter = lines.replace(" held by slots, in flight 1 of 1", "");
        assert_eq!(printed(Mode::Auto, Some(tiny)), shorter);
        let zero = Screen {
            columns: 0,
            rows: 0,
        };
        assert_eq!(printed(Mode::Bar, Some(zero)), lines);
    }

    #[test]
    fn on_a_narrow_terminal_plain_lines_leave_facts_out_and_cut_none() {
        let narrow = Screen {
            columns: 20,
            rows: 5,
        };
        let lines = "10s 50/100 ok 50 failed 0 5.0/s\na note\\u{1b}[1m\nof two lines\n\
                     20s 100/100 ok 100 failed 0 5.0/s\n";
        assert_eq!(printed(Mode::Auto, Some(narrow)), lines);
    }

    #[test]
    fn who_asks_gets_a_line_and_changes_no_other() {
        for (mode, own) in [(Mode::Plain, 3), (Mode::None, 0)] {
            let log = Log::default();
            let setup = Setup {
                slots: Some(1),
                ..Setup::default()
            };
            let mut progress = Progress::on(
                mode,
                setup,
                Box::new(|| None),
                Clear::Code,
                Box::new(log.clone()),
            );
            for second in 1..=30 {
                let now = Tick::ZERO.after(Duration::from_secs(second));
                progress.update(now, &snapshot(second * second));
                if second % 10 == 7 {
                    progress.status(now, &snapshot(second * second));
                }
            }
            let bytes = log.0.lock().unwrap().clone();
            let text = String::from_utf8(bytes).unwrap();
            let (asked, others): (Vec<&str>, Vec<&str>) =
                text.lines().partition(|line| line.contains("7s "));
            assert_eq!(asked.len(), 3, "{text}");
            assert!(asked[0].starts_with("7s 49/100 ok 49 failed 0 7.0/s"));
            // Means since the line before: 0 to 10 s, 10 to 20 s, 20 to 30 s.
            let all = ["10s 100/100", "20s 400/100", "30s 900/100"];
            let rates = [" 10.0/s ", " 30.0/s ", " 50.0/s "];
            assert_eq!(others.len(), own, "{text}");
            for (line, (begins, rate)) in others.iter().zip(all.iter().zip(rates)) {
                assert!(line.starts_with(begins) && line.contains(rate), "{line}");
            }
        }
    }

    #[test]
    fn none_prints_notes_only() {
        assert_eq!(
            printed(Mode::None, None),
            "a note\\u{1b}[1m\nof two lines\n"
        );
    }
}
