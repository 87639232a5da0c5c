//! Reads files of results back. Floor 4: doors.

mod batch;
mod done;
mod earlier;
mod failed;
mod figures;
mod last;
mod open;
mod row;
mod scan;
mod sends;
mod service;

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::error::Problem;
use crate::letters::calm_path;
use crate::limit::{Counts, KeyBy, Spec, keys_of};
pub use batch::can_go_on;
pub use done::{Claim, Done};
pub use earlier::{Damage, Earlier, Tail, first_unclaimed, look};
pub use failed::{FailedJob, FailedJobs, failed};
pub use figures::{Figures, Prove, Proving};
pub use open::Results;
pub use row::Print;
pub use scan::Scan;
pub use sends::{Sends, check, read};
pub use service::{Service, service};

/// What limits need to know of each try.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// When each try ended.
    pub flights: bool,
    /// Units.
    pub units: bool,
    /// Input and output apart.
    pub parts: bool,
    /// Keys, by the word after `per=`.
    pub keys: Vec<String>,
}

impl Needs {
    /// Of these limits; flights only where slots are counted.
    pub fn of(limits: &[Spec]) -> Self {
        let parts = |limit: &Spec| match limit.counts {
            Counts::Requests | Counts::Units => false,
            Counts::Input | Counts::Output => true,
        };
        Self {
            flights: false,
            units: limits.iter().any(|limit| limit.counts.is_units()),
            parts: limits.iter().any(parts),
            keys: keys_of(limits).iter().map(KeyBy::to_string).collect(),
        }
    }
}

/// A line that was longer than this does not keep its memory.
const KEPT: usize = 1 << 20;

/// What some programs put before a text in UTF-8: it is no part of the first line.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The lines of a file of results, blank ones passed over.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    /// Where the next line begins.
    offset: u64,
}

/// One line.
struct Raw<'a> {
    /// Without its end.
    bytes: &'a [u8],
    /// From 1.
    number: u64,
    /// Bytes of the file before it.
    offset: u64,
    end: LineEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Newline,
    /// The end of the file: the line may be torn.
    File,
}

impl<R: Read> Lines<R> {
    fn new(file: R) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 16, file),
            line: Vec::new(),
            number: 0,
            offset: 0,
        }
    }

    fn next(&mut self) -> io::Result<Option<Raw<'_>>> {
        loop {
            self.line.clear();
            self.line.shrink_to(KEPT);
            let length = self.reader.read_until(b'\n', &mut self.line)?;
            if length == 0 {
                return Ok(None);
            }
            let offset = self.offset;
            self.offset += length as u64;
            self.number += 1;
            let mark = usize::from(offset == 0 && self.line.starts_with(BOM)) * BOM.len();
            if !self.line[mark..].trim_ascii().is_empty() {
                let (bytes, end) = match self.line.strip_suffix(b"\n") {
                    Some(bytes) => (&bytes[mark..], LineEnd::Newline),
                    None => (&self.line[mark..], LineEnd::File),
                };
                let offset = offset + mark as u64;
                return Ok(Some(Raw {
                    bytes,
                    number: self.number,
                    offset,
                    end,
                }));
            }
        }
    }
}

/// What is wrong with a line, in the words of its reader without its place.
fn no_result(why: &str) -> String {
    let why = why.split(" at line ").next().unwrap_or_default();
    format!("is no result: {why}")
}

fn unreadable(path: &Path, why: &io::Error) -> Problem {
    if path.as_os_str() == "-" && why.kind() == io::ErrorKind::NotFound {
        let what = "these results are read from regular files only, not from standard input";
        return Problem::usage(what, "write them to a file, and name that");
    }
    let mend = "name a file that `shaper run -o` has written";
    Problem::usage(format!("cannot be read: {why}"), mend).at(calm_path(path))
}
