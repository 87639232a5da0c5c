//! The subcommands: each joins the parts that it needs. Floor 6: front.

mod args;
mod beside;
#[cfg(test)]
mod canary;
mod check;
mod compare;
mod completions;
mod files;
mod help;
mod input;
mod kept;
mod line;
mod man;
mod mock;
mod not_it;
mod origin;
mod plan;
mod report;
mod resume;
mod rules;
mod run;
mod shorthand;
mod show;
mod status;
mod typo;
mod usage;
mod values;
mod verify;
mod which;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic;
use std::sync::mpsc;
use std::thread;

use crate::error::{Exit, Problem};
use crate::letters::calm_lines;
use args::Command;

/// Runs the program: reads the command line, does what it says, and tells how it ended.
pub fn main(line: impl IntoIterator<Item = OsString>) -> Exit {
    let line: Vec<_> = line.into_iter().collect();
    let cli = match line::read(&line) {
        Ok(cli) => cli,
        Err(said) => return usage::show(&said, &line),
    };
    let ended = match cli.command {
        Command::Run(args) => return until_left(move |leave| exit(run::run(&args, leave))),
        Command::Replay(args) => {
            return until_left(move |leave| exit(run::run(&args.run, leave)));
        }
        Command::Compare(args) => {
            return until_left(move |leave| exit(compare::compare(&args, leave)));
        }
        Command::Plan(args) => plan::plan(&args),
        Command::Check(args) => check::check(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Report(args) => report::report(&args),
        Command::Status(args) => status::status(&args),
        Command::Mock(args) => mock::mock(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
        Command::Help(args) => return help::help(&args),
    };
    exit(ended)
}

/// The exit, after the problem is told.
fn exit(ended: Result<Exit, Problem>) -> Exit {
    ended.unwrap_or_else(|problem| {
        tell(&problem);
        problem.exit
    })
}

/// Works on a thread of its own: the program can be left while that is blocked, be it in a write to stderr.
/// Comes back with the work's exit, or with the first that is called for before.
fn until_left(work: impl FnOnce(Leave) -> Exit + Send + 'static) -> Exit {
    let (done, first) = mpsc::channel();
    let early = done.clone();
    let leave: Leave = Box::new(move |exit| drop(early.send(Ok(exit))));
    let thread = thread::Builder::new().name("run".to_owned());
    let worker = thread.spawn(move || {
        let ended = panic::catch_unwind(panic::AssertUnwindSafe(|| work(leave)));
        drop(done.send(ended));
    });
    if let Err(why) = worker {
        let what = format!("no thread for the run: {why}");
        return exit(Err(Problem::usage(
            what,
            "allow this user more processes (ulimit -u)",
        )));
    }
    match first.recv().expect("work ends with an exit or a panic") {
        Ok(exit) => exit,
        Err(panic) => panic::resume_unwind(panic),
    }
}

/// Leaves the program with this exit, whatever else goes on.
type Leave = Box<dyn FnOnce(Exit) + Send>;

/// What ends the run, on stderr; nothing for a reader that went away.
fn tell(problem: &Problem) {
    if problem.exit != Exit::PipeClosed {
        say(&format!("shaper: {problem}"));
    }
}

/// A message on stderr. If even that is gone, nobody is left to be told.
fn say(text: &str) {
    put(&calm_lines(text));
}

/// A page on stderr, as it is.
fn put(page: &str) {
    let _ = writeln!(io::stderr(), "{page}");
}

/// A page on stdout.
fn print(page: &str) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    out.write_all(page.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|why| unwritten(&why))
}

/// Why stdout takes no more.
fn unwritten(why: &io::Error) -> Problem {
    match why.kind() {
        io::ErrorKind::BrokenPipe => Problem::new(Exit::PipeClosed, "", ""),
        _ => Problem::new(
            Exit::Unwritten,
            format!("stdout: {why}"),
            "make room there, or write to another place",
        ),
    }
}
