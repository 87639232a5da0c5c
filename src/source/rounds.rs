//! How often the whole input is read. Floor 4: doors.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use super::Input;
use crate::error::Problem;
use crate::units::parse_count;

/// How often the whole input is read, one round after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// So often.
    Times(NonZeroU32),
    /// Without an end.
    Forever,
}

impl Default for Rounds {
    /// Once.
    fn default() -> Self {
        Self::Times(NonZeroU32::MIN)
    }
}

impl Rounds {
    /// Whether there is a round of this number, from 0.
    pub(super) fn has(self, round: u32) -> bool {
        match self {
            Self::Times(times) => round < times.get(),
            Self::Forever => true,
        }
    }

    /// So many lines in all rounds together, if each has so many.
    pub(super) fn of(self, lines: u64) -> u64 {
        match self {
            Self::Times(times) => lines.saturating_mul(times.get().into()),
            Self::Forever if lines == 0 => 0,
            Self::Forever => u64::MAX,
        }
    }

    /// A usage problem if this input cannot be read so often.
    pub(super) fn fits(self, input: &Input) -> Result<(), Problem> {
        let why = match input {
            _ if !self.has(1) => return Ok(()),
            Input::File(path) if path.is_file() || !path.exists() => return Ok(()),
            Input::File(_) => "it is no regular file",
            Input::Stdin | Input::Spooled(_) => "it is standard input",
        };
        let what = format!("--repeat {self} cannot read it again: {why}");
        Err(Problem::usage(what, "write the jobs to a file, and name that").at(input.name()))
    }
}

impl fmt::Display for Rounds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => times.fmt(out),
            Self::Forever => out.write_str("forever"),
        }
    }
}

impl FromStr for Rounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Self::Forever);
        }
        let times = parse_count(text).ok();
        let times = times.and_then(|times| NonZeroU32::new(times.try_into().ok()?));
        times
            .map(Self::Times)
            .ok_or_else(|| format!("write forever, or a whole number from 1 to {}", u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_forever_are_read_and_nonsense_is_told_the_range() {
        for text in ["1", "3", "forever"] {
            assert_eq!(text.parse::<Rounds>().unwrap().to_string(), text);
        }
        assert_eq!("2k".parse::<Rounds>().unwrap().to_string(), "2000");
        for text in ["0", "-1", "nan", "1.5", "ever", "", "4294967296"] {
            let why = text.parse::<Rounds>().unwrap_err();
            assert!(
                why.contains("forever") && why.contains("from 1"),
                "{text}: {why}"
            );
        }
    }
}
