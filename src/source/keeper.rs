//! Memory that is used for one line after the other. Floor 4: doors.

use http::HeaderName;

use crate::headers::Headers;

/// So many names of headers are remembered as they were written: those met first.
const NAMES: usize = 32;

/// A longer name is not remembered.
const LONGEST: usize = 64;

/// What is gathered of a line.
#[derive(Default)]
pub(super) struct Keeper {
    pub(super) names: Names,
    /// Those of the job.
    pub(super) headers: Headers,
    /// Whether a file was read for the line.
    pub(super) has_read_file: bool,
    /// The second since the Unix epoch in which its request ended, where a log knows no parts of it.
    pub(super) second: Option<u64>,
}

impl Keeper {
    /// Begins with a new line.
    pub(super) fn clear(&mut self) {
        self.headers.clear();
        self.has_read_file = false;
        self.second = None;
    }
}

/// Names of headers as they were written.
#[derive(Default)]
pub(super) struct Names {
    known: Vec<(Box<str>, HeaderName)>,
    /// The last one that is not remembered.
    other: Option<HeaderName>,
}

impl Names {
    /// The header of that name; `None` if it is none.
    pub(super) fn of(&mut self, written: &str) -> Option<&HeaderName> {
        if let Some(at) = self.known.iter().position(|(known, _)| **known == *written) {
            return Some(&self.known[at].1);
        }
        let name = HeaderName::from_bytes(written.as_bytes()).ok()?;
        if self.known.len() == NAMES || written.len() > LONGEST {
            return Some(self.other.insert(name));
        }
        self.known.push((written.into(), name));
        self.known.last().map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_remembered_or_not_and_few_are() {
        let mut names = Names::default();
        for _ in 0..2 {
            for nth in 0..1000 {
                let written = format!("X-{nth}");
                let name = names.of(&written).unwrap();
                assert_eq!(name.as_str(), written.to_ascii_lowercase());
            }
            assert_eq!(names.of("a b"), None);
        }
        assert_eq!(names.known.len(), NAMES);
        let mut fresh = Names::default();
        fresh.of(&"x".repeat(LONGEST + 1)).unwrap();
        assert_eq!(fresh.known.len(), 0);
    }
}
