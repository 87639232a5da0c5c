//! What ends a run before its time, and the code it exits with. Floor 1: words.

use std::fmt;
use std::io;

use crate::letters::calm;

/// Something that ends the run: what, where, and how to mend it.
///
/// A request that failed is not a `Problem`, it is a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// File, line and column, or the flag; empty if the sentence says it.
    pub place: String,
    /// The sentence, with both numbers when two disagree.
    pub what: String,
    /// What to do about it; empty if nothing can be advised.
    pub mend: String,
    /// How the program ends because of it.
    pub exit: Exit,
}

impl Problem {
    /// Flags or input that cannot be used: nothing was sent.
    pub fn usage(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what, mend)
    }

    /// A problem that ends with `exit`, at no particular place.
    pub fn new(exit: Exit, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            what: what.into(),
            mend: mend.into(),
            exit,
        }
    }

    /// The same problem, at a place.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(out, "{}: ", calm(&self.place))?;
        }
        out.write_str(&self.what)?;
        if !self.mend.is_empty() {
            write!(out, "\n  mend: {}", self.mend)?;
        }
        Ok(())
    }
}

/// What to do about a file that cannot be written.
pub fn to_write(why: &io::Error) -> &'static str {
    use io::ErrorKind;
    match why.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room there"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "allow this user to write there"
        }
        _ => "see that it can be written",
    }
}

/// How the program ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Every job is `ok`.
    AllOk,
    /// The run ended; some jobs failed or were invalid.
    SomeFailed,
    /// Flags or input unusable; nothing was sent.
    Usage,
    /// Results could not be written.
    Unwritten,
    /// The store through which limits are shared is needed and not there.
    Store,
    /// A condition of `--fail-if` is true.
    ConditionTrue,
    /// Ended by Ctrl-C.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
    /// The reader of stdout went away with jobs undone.
    PipeClosed,
}

impl Exit {
    /// The number the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::AllOk => 0,
            Self::SomeFailed => 1,
            Self::Usage => 2,
            Self::Unwritten => 3,
            Self::Store => 4,
            Self::ConditionTrue => 5,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::PipeClosed => 141,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_where_what_and_how_to_mend() {
        let problem =
            Problem::usage("`url` is missing", "give every line a \"url\"").at("jobs.jsonl:41:17");
        assert_eq!(
            problem.to_string(),
            "jobs.jsonl:41:17: `url` is missing\n  mend: give every line a \"url\""
        );
        let named = Problem::usage("is empty", "").at("a\n\u{1b}[2J");
        assert_eq!(named.to_string(), "a\\u{a}\\u{1b}[2J: is empty");
    }
}
