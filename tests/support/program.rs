//! The program under test: started with what a user gives it, observed as a user sees it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use tempfile::TempDir;

use super::server::Server;
use super::{PATIENCE, case};

/// The file that tests write results to, unless they test just that.
pub(crate) const OUT: &str = "out.jsonl";
/// What stands beside it.
pub(crate) const RUN: &str = "out.jsonl.run";
/// The file of [`Shaper::reporting`].
const REPORT: &str = "report.json";

/// A command line to be run in a directory of its own.
pub(crate) struct Shaper {
    args: Vec<OsString>,
    env: Vec<(String, String)>,
    stdin: Input,
    stdout: Stdout,
    stderr: Stderr,
    bound: Bound,
    hangup: Hangup,
    /// So much its wall clock is off.
    clock: Option<&'static str>,
    dir: TempDir,
}

/// What the system refuses the program.
#[derive(Clone, Copy)]
enum Bound {
    Nothing,
    /// Files of more blocks.
    Blocks(u32),
    /// More open files.
    Files(u32),
    /// More threads, counted over all processes of a user of its own.
    Threads(u32),
}

enum Input {
    Nothing,
    Bytes(Vec<u8>),
    OpenPipe,
    Terminal,
}

enum Stdout {
    Pipe,
    ReaderGone,
    Null,
    /// Its columns and rows.
    Terminal(u16, u16),
}

enum Stderr {
    Pipe,
    /// Its columns and rows.
    Terminal(u16, u16),
    Unread,
}

#[derive(PartialEq)]
enum Hangup {
    Heard,
    Ignored,
}

impl Shaper {
    /// `shaper run`
    pub(crate) fn run() -> Self {
        Self::plain().args(["run"])
    }

    /// `shaper`
    pub(crate) fn plain() -> Self {
        Self::within(TempDir::new().expect("there is room for a temporary directory"))
    }

    fn within(dir: TempDir) -> Self {
        Self {
            args: Vec::new(),
            env: Vec::new(),
            stdin: Input::Nothing,
            stdout: Stdout::Pipe,
            stderr: Stderr::Pipe,
            bound: Bound::Nothing,
            hangup: Hangup::Heard,
            clock: None,
            dir,
        }
    }

    /// More arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// `-o out.jsonl`, which [`Output::results`] reads.
    pub(crate) fn with_results(self) -> Self {
        self.args(["-o", OUT])
    }

    /// The report as JSON in a file, which [`Output::report`] reads.
    pub(crate) fn reporting(self) -> Self {
        self.args(["--report", "json", "--report-file", REPORT])
    }

    /// A file in its directory.
    pub(crate) fn file(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        let path = self.dir.path().join(name);
        let folder = path.parent().expect("it lies in the directory");
        fs::create_dir_all(folder).expect("the directory is ours");
        fs::write(&path, contents).expect("the directory is ours");
        self
    }

    /// A file in its directory that is also the next argument.
    pub(crate) fn jobs(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        self.file(name, contents).args([name])
    }

    /// A named pipe in its directory.
    pub(crate) fn named_pipe(self, name: &str) -> Self {
        let path = self.dir.path().join(name);
        let made = mknodat(CWD, path, FileType::Fifo, Mode::from(0o600), 0);
        made.expect("the directory is ours");
        self
    }

    /// A file of `fixtures/cases`, pointed at `server`, as the next argument.
    pub(crate) fn case(self, name: &str, server: &Server) -> Self {
        self.jobs(name, case(name, server))
    }

    /// A file of its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A variable; without this it has none.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// All of standard input; without this it is empty.
    pub(crate) fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = Input::Bytes(bytes.as_ref().to_vec());
        self
    }

    /// Standard input that only [`Running::write`] fills and only [`Running::wait`] ends.
    pub(crate) fn stdin_stays_open(mut self) -> Self {
        self.stdin = Input::OpenPipe;
        self
    }

    /// Standard input is a terminal at which nobody types.
    pub(crate) fn stdin_is_a_terminal(mut self) -> Self {
        self.stdin = Input::Terminal;
        self
    }

    /// Standard output is a pipe whose reader has gone.
    pub(crate) fn stdout_is_closed(mut self) -> Self {
        self.stdout = Stdout::ReaderGone;
        self
    }

    /// Standard output is the null device, which is also what one that was closed becomes.
    pub(crate) fn stdout_is_null(mut self) -> Self {
        self.stdout = Stdout::Null;
        self
    }

    /// Standard output is a terminal of so many columns and rows.
    pub(crate) fn stdout_is_a_terminal_of(mut self, columns: u16, rows: u16) -> Self {
        self.stdout = Stdout::Terminal(columns, rows);
        self.env("TERM", "xterm")
    }

    /// Standard error is a terminal without a size.
    pub(crate) fn stderr_is_a_terminal(mut self) -> Self {
        self.stderr = Stderr::Terminal(0, 0);
        self
    }

    /// Standard error is a terminal of so many columns and rows.
    pub(crate) fn stderr_is_a_terminal_of(mut self, columns: u16, rows: u16) -> Self {
        self.stderr = Stderr::Terminal(columns, rows);
        self.env("TERM", "xterm")
    }

    /// Standard error is a pipe that nobody reads: it takes 64 KiB.
    pub(crate) fn stderr_is_not_read(mut self) -> Self {
        self.stderr = Stderr::Unread;
        self
    }

    /// Started as `nohup` does it.
    pub(crate) fn ignoring_hangups(mut self) -> Self {
        self.hangup = Hangup::Ignored;
        self
    }

    /// Its wall clock is off by so much: `+3h`.
    pub(crate) fn with_a_clock_off_by(mut self, offset: &'static str) -> Self {
        self.clock = Some(offset);
        self.env("DONT_FAKE_MONOTONIC", "1")
    }

    /// Files take no more than so many blocks of 512 or 1024 bytes, as on a disk that is full then.
    pub(crate) fn files_end_after(mut self, blocks: u32) -> Self {
        self.bound = Bound::Blocks(blocks);
        self
    }

    /// It may have so many files open at once.
    pub(crate) fn files_at_once(mut self, most: u32) -> Self {
        self.bound = Bound::Files(most);
        self
    }

    /// It may have so many threads, as somebody who may write the files that are there. `None` where the tests cannot have that: they are not root.
    pub(crate) fn threads_at_once(mut self, most: u32) -> Option<Self> {
        let files = fs::read_dir(self.dir.path()).expect("the directory is ours");
        let files = files.map(|file| file.expect("the directory is ours").path());
        for path in files.chain([self.dir.path().to_owned()]) {
            let everybody = Permissions::from_mode(0o777);
            fs::set_permissions(path, everybody).expect("the directory is ours");
        }
        let tried = as_stranger(1).arg("--version").output();
        self.bound = Bound::Threads(most);
        tried
            .is_ok_and(|tried| tried.status.success())
            .then_some(self)
    }

    /// Runs it to its end.
    pub(crate) fn output(self) -> Output {
        self.start().wait()
    }

    /// The same; fails the test unless that comes with this code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Output {
        let done = self.output();
        done.exits(code);
        done
    }

    /// The program, or what starts it.
    fn command(&self) -> Command {
        match self.bound {
            Bound::Nothing if self.hangup == Hangup::Ignored => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]);
                shell.arg(env!("CARGO_BIN_EXE_shaper"));
                shell
            }
            Bound::Nothing => match self.clock {
                None if signals_are_ignored() => {
                    let mut env = Command::new("env");
                    env.args(["--default-signal=HUP,INT", env!("CARGO_BIN_EXE_shaper")]);
                    env
                }
                None => Command::new(env!("CARGO_BIN_EXE_shaper")),
                Some(offset) => {
                    let mut faketime = Command::new("faketime");
                    faketime.args(["-m", "-f", offset, env!("CARGO_BIN_EXE_shaper")]);
                    faketime
                }
            },
            Bound::Blocks(most) => limited("ulimit -f", most),
            Bound::Files(most) => limited("ulimit -n", most),
            Bound::Threads(most) => as_stranger(most),
        }
    }

    /// Starts it and comes back at once.
    pub(crate) fn start(self) -> Running {
        let shown = self.shown();
        let mut command = self.command();
        command.args(&self.args).current_dir(self.dir.path());
        command.env_clear().envs(self.env);
        let mut terminals = Vec::new();
        let mut output: Option<Box<dyn Read + Send>> = None;
        let mut screen = None;
        let mut unread = Vec::new();
        match &self.stdin {
            Input::Nothing => command.stdin(Stdio::null()),
            Input::Bytes(_) | Input::OpenPipe => command.stdin(Stdio::piped()),
            Input::Terminal => {
                let (ours, theirs) = terminal();
                terminals.push(ours);
                command.stdin(theirs)
            }
        };
        match self.stdout {
            Stdout::Pipe => command.stdout(Stdio::piped()),
            Stdout::ReaderGone => command.stdout(broken_pipe()),
            Stdout::Null => command.stdout(Stdio::null()),
            Stdout::Terminal(columns, rows) => {
                let (ours, theirs) = terminal();
                resize(&ours, columns, rows);
                output = Some(Box::new(ours));
                command.stdout(theirs)
            }
        };
        let mut errors: Option<Box<dyn Read + Send>> = None;
        match self.stderr {
            Stderr::Pipe => command.stderr(Stdio::piped()),
            Stderr::Terminal(columns, rows) => {
                let (ours, theirs) = terminal();
                resize(&ours, columns, rows);
                screen = ours.try_clone().ok();
                errors = Some(Box::new(ours));
                command.stderr(theirs)
            }
            Stderr::Unread => {
                let (ours, theirs) = io::pipe().expect("there is a pipe");
                unread.push(ours);
                command.stderr(theirs)
            }
        };
        let began = Instant::now();
        let mut child = command
            .spawn()
            .expect("the program was built, and what starts it is there (.ci/needs)");
        // Our copies of what it was given: only when they are closed does its end end the streams.
        drop(command);
        let stdin = child.stdin.take();
        let (stdin, feeder) = match self.stdin {
            Input::Bytes(bytes) => {
                let mut pipe = stdin.expect("it was piped");
                // It may stop reading before the end; what it makes of that is the test's question.
                let feed = thread::spawn(move || drop(pipe.write_all(&bytes)));
                (None, Some(feed))
            }
            Input::Nothing | Input::OpenPipe | Input::Terminal => (stdin, None),
        };
        if let Some(pipe) = child.stderr.take() {
            errors = Some(Box::new(pipe));
        }
        let stderr = Arc::default();
        let listener = errors.map(|pipe| collect(pipe, Arc::clone(&stderr)));
        if let Some(pipe) = child.stdout.take() {
            output = Some(Box::new(pipe));
        }
        Running {
            shown,
            began,
            stdin,
            stdout: output,
            screen,
            child: Leash(child),
            stderr,
            threads: feeder.into_iter().chain(listener).collect(),
            dir: self.dir,
            _terminals: terminals,
            _unread: unread,
        }
    }

    fn shown(&self) -> String {
        let words = self.args.iter().map(|arg| arg.to_string_lossy());
        let line = words.collect::<Vec<_>>().join(" ");
        format!("shaper {line}")
    }
}

/// The program while it runs; killed when it is dropped before its end.
pub(crate) struct Running {
    shown: String,
    began: Instant,
    child: Leash,
    stdin: Option<ChildStdin>,
    stdout: Option<Box<dyn Read + Send>>,
    /// Our side of the terminal on standard error.
    screen: Option<File>,
    stderr: Arc<Mutex<Vec<u8>>>,
    threads: Vec<JoinHandle<()>>,
    dir: TempDir,
    _terminals: Vec<File>,
    _unread: Vec<io::PipeReader>,
}

impl Running {
    /// A file of its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes to its standard input, which must have been left open.
    pub(crate) fn write(&mut self, text: &str) {
        let pipe = self.stdin.as_mut().expect("stdin was left open");
        pipe.write_all(text.as_bytes()).expect("it reads");
    }

    /// Reads one line of its standard output and closes that, as `head -1` does.
    pub(crate) fn read_a_line_and_close(&mut self) -> String {
        let mut line = String::new();
        let pipe = self.stdout.take().expect("it is a pipe and not yet closed");
        BufReader::new(pipe)
            .read_line(&mut line)
            .expect("it writes text");
        line
    }

    /// Gives the terminal on standard error another size; what it said until then.
    pub(crate) fn resize(&self, columns: u16, rows: u16) -> String {
        let screen = self.screen.as_ref().expect("stderr is a terminal");
        let said = text_of(&self.stderr);
        resize(screen, columns, rows);
        said
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child.0);
        rustix::process::kill_process(pid, signal).expect("it still runs");
    }

    /// Waits until something has happened; fails the test if the program ends without it.
    pub(crate) fn until(&mut self, what: &str, happened: impl Fn() -> bool) {
        let mut ended = false;
        while !happened() {
            let said = text_of(&self.stderr);
            let shown = &self.shown;
            assert!(!ended, "{shown} ended before {what}; it said\n{said}");
            let patient = self.began.elapsed() < PATIENCE;
            assert!(patient, "{shown} never came to {what}; it said\n{said}");
            thread::sleep(Duration::from_millis(2));
            // Asked before the last look, so that what it did at the very end counts.
            ended = self.child.0.try_wait().expect("it is our child").is_some();
        }
    }

    /// Its process number, for the system.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child.0)
    }

    /// Its process number.
    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Lets it run for that long at least, or to its end: says whether it still runs.
    pub(crate) fn lives_for(&mut self, least: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < least {
            if self.child.0.try_wait().expect("it is our child").is_some() {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Lets it run, or stand, for that long at least.
    pub(crate) fn pause(&mut self, least: Duration) {
        let began = Instant::now();
        self.until("the end of a pause", || began.elapsed() >= least);
    }

    /// Its standard error so far.
    pub(crate) fn said(&self) -> String {
        text_of(&self.stderr)
    }

    /// Waits until its standard error has these words.
    pub(crate) fn until_it_says(&mut self, words: &str) {
        let stderr = Arc::clone(&self.stderr);
        self.until(&format!("saying {words:?}"), || {
            text_of(&stderr).contains(words)
        });
    }

    /// Waits until this signal has not its default meaning any more. See `proc(5)`.
    pub(crate) fn until_it_hears(&mut self, signal: Signal) {
        let status = format!("/proc/{}/status", self.child.0.id());
        self.until("hearing a signal", || {
            let status = fs::read_to_string(&status).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            caught.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
        });
    }

    /// Presses Ctrl-C now and then until it ends: one that comes before the last was heard is the same one.
    pub(crate) fn interrupt_until_it_ends(&mut self) {
        let mut pressed = Instant::now();
        self.signal(Signal::INT);
        while self.child.0.try_wait().expect("it is our child").is_none() {
            let patient = self.began.elapsed() < PATIENCE;
            assert!(patient, "{} did not end", self.shown);
            if pressed.elapsed() >= Duration::from_millis(500) {
                pressed = Instant::now();
                self.signal(Signal::INT);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for its end without reading its standard output; kills it and fails the test if that does not come.
    pub(crate) fn until_it_ends(&mut self) {
        while self.child.0.try_wait().expect("it is our child").is_none() {
            let patient = self.began.elapsed() < PATIENCE;
            assert!(patient, "{} did not end", self.shown);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends its standard input and waits for its end; kills it and fails the test if that does not come.
    pub(crate) fn wait(mut self) -> Output {
        self.stdin = None;
        let heard = Arc::default();
        if let Some(pipe) = self.stdout.take() {
            self.threads.push(collect(pipe, Arc::clone(&heard)));
        }
        let status = loop {
            if let Some(status) = self.child.0.try_wait().expect("it is our child") {
                break status;
            }
            let said = text_of(&self.stderr);
            let patient = self.began.elapsed() < PATIENCE;
            assert!(patient, "{} did not end; it said\n{said}", self.shown);
            thread::sleep(Duration::from_millis(1));
        };
        let took = self.began.elapsed();
        for thread in self.threads {
            thread.join().expect("readers do not panic");
        }
        let stdout = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        Output {
            shown: self.shown,
            code: status.code(),
            took,
            stdout,
            stderr: text_of(&self.stderr),
            dir: self.dir,
        }
    }
}

/// A child that does not outlive the test.
struct Leash(Child);

impl Drop for Leash {
    fn drop(&mut self) {
        // Both do nothing once it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a user has at the end. Shown in full when a test fails.
pub(crate) struct Output {
    shown: String,
    /// The exit code; `None` if a signal killed it.
    pub(crate) code: Option<i32>,
    /// From before its start to after its end.
    pub(crate) took: Duration,
    /// Everything on standard output.
    pub(crate) stdout: Vec<u8>,
    /// Everything on standard error, or on the terminal that stood there.
    pub(crate) stderr: String,
    dir: TempDir,
}

impl Output {
    /// Fails the test unless it ended with this code.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "exit code of {self}");
        self
    }

    /// Fails the test unless standard error has these words.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> &Self {
        assert!(self.stderr.contains(words), "no {words:?} in {self}");
        self
    }

    /// Fails the test if standard error has these words.
    #[track_caller]
    pub(crate) fn never_says(&self, words: &str) -> &Self {
        assert!(!self.stderr.contains(words), "{words:?} in {self}");
        self
    }

    /// Another command line in the same directory, with the files that are there.
    pub(crate) fn again(self) -> Shaper {
        Shaper::within(self.dir)
    }

    /// A file of its directory, byte for byte.
    #[track_caller]
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|why| panic!("{name}: {why}: {self}"))
    }

    /// A file of its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The names of all files in its directory, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let all = fs::read_dir(self.dir.path()).expect("the directory is ours");
        let names = all.map(|file| file.expect("the directory is ours").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Everything on standard output, which must be text.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap_or_else(|why| panic!("{why}: {self}"))
    }

    /// The one JSON value on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|why| panic!("{why}: {self}"))
    }

    /// The JSON value in [`RUN`].
    #[track_caller]
    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_slice(&self.bytes(RUN)).unwrap_or_else(|why| panic!("{why}: {self}"))
    }

    /// The report on the results in [`OUT`], as JSON on standard output.
    pub(crate) fn retold(self) -> Shaper {
        self.again().args(["report", OUT, "--report", "json"])
    }

    /// The results in [`OUT`], in the order of the input. Every line must be JSON, the last one whole.
    #[track_caller]
    pub(crate) fn results(&self) -> Vec<Value> {
        self.results_in(&self.bytes(OUT))
    }

    /// The results on standard output, likewise.
    #[track_caller]
    pub(crate) fn results_on_stdout(&self) -> Vec<Value> {
        self.results_in(&self.stdout)
    }

    #[track_caller]
    fn results_in(&self, text: &[u8]) -> Vec<Value> {
        let text = std::str::from_utf8(text).expect("results are UTF-8");
        assert!(text.is_empty() || text.ends_with('\n'), "torn: {text:?}");
        let parse = |line| serde_json::from_str(line);
        let lines: Result<Vec<Value>, _> = text.lines().map(parse).collect();
        let mut results = lines.unwrap_or_else(|why| panic!("{why} in {text:?}: {self}"));
        results.sort_by_key(|line| line["seq"].as_u64().expect("every result has its seq"));
        results
    }

    /// The report of [`Shaper::reporting`].
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        serde_json::from_slice(&self.bytes(REPORT))
            .unwrap_or_else(|why| panic!("{why} in the report: {self}"))
    }

    /// The counts of the report, after checking that they add up and agree with the result file.
    #[track_caller]
    pub(crate) fn counts(&self) -> Counts {
        let report = self.report();
        let count = |name: &str| {
            let number = report["counts"][name].as_u64();
            number.unwrap_or_else(|| panic!("no count {name:?} in {report}"))
        };
        let counts = Counts {
            ok: count("ok"),
            failed: count("failed"),
            invalid: count("invalid"),
            skipped: count("skipped"),
            cancelled: count("cancelled"),
        };
        assert_eq!(count("read"), counts.sum(), "{counts:?} of {self}");
        let lines = self.results().len() as u64;
        assert_eq!(lines + counts.cancelled, counts.sum(), "lines of {self}");
        counts
    }
}

impl fmt::Display for Output {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        let (shown, code, stderr) = (&self.shown, self.code, &self.stderr);
        write!(
            out,
            "`{shown}`\nexit: {code:?}\nstdout:\n{stdout}\nstderr:\n{stderr}"
        )
    }
}

/// What became of the jobs that were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) invalid: u64,
    pub(crate) skipped: u64,
    pub(crate) cancelled: u64,
}

impl Counts {
    fn sum(self) -> u64 {
        self.ok + self.failed + self.invalid + self.skipped + self.cancelled
    }
}

/// Reads to the end, on a thread. An error is an end too: that is how Linux tells it of a terminal.
fn collect(mut pipe: impl Read + Send + 'static, heard: Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut piece = vec![0; 1 << 16];
        while let Ok(length @ 1..) = pipe.read(&mut piece) {
            let mut all = heard.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend_from_slice(&piece[..length]);
        }
    })
}

fn text_of(heard: &Mutex<Vec<u8>>) -> String {
    let all = heard.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&all).into_owned()
}

/// Whether these tests were started by `nohup`, or behind a script: it would be inherited.
fn signals_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bits are HUP and INT.
    ignored.is_some_and(|mask| mask & 0b11 != 0)
}

/// The program, behind a shell that bounds it first.
fn limited(bound: &str, most: u32) -> Command {
    let mut shell = Command::new("/bin/sh");
    let script = format!("{bound} \"$0\" && exec \"$@\"");
    shell.args(["-c", &script, &most.to_string()]);
    shell.arg(env!("CARGO_BIN_EXE_shaper"));
    shell
}

/// The program, as a user who runs nothing else and may have so many threads.
fn as_stranger(threads: u32) -> Command {
    static USERS: AtomicU32 = AtomicU32::new(0);
    let user = 100_000 + std::process::id() % 1_000_000 * 100;
    let user = (user + USERS.fetch_add(1, Ordering::Relaxed)).to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.args(["prlimit", &format!("--nproc={threads}")]);
    command.arg(env!("CARGO_BIN_EXE_shaper"));
    command
}

fn broken_pipe() -> Stdio {
    let (_reader, writer) = io::pipe().expect("there is a pipe");
    Stdio::from(OwnedFd::from(writer))
}

/// Gives a terminal another size.
fn resize(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).expect("a terminal takes any size");
}

/// A new terminal: our side, and the side for the program.
fn terminal() -> (File, Stdio) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).expect("Linux has pseudo-terminals");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let theirs = ioctl_tiocgptpeer(&ours, flags).expect("it is unlocked");
    (File::from(ours), Stdio::from(theirs))
}
