//! How many lines an input has, for the progress line: counted beside the run, not parsed. Floor 4: doors.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use super::lines::{Extent, Lines, RawLine};
use super::{Format, Input, Spec, urls};

/// Larger inputs are not read twice.
const MOST: u64 = 1 << 30;

/// The lines that make results; `None` if that cannot be known cheaply: standard input, pipes, over 1 GiB.
pub fn count(spec: &Spec) -> Option<u64> {
    let mut size = 0;
    let mut paths = Vec::new();
    for input in &spec.inputs {
        match input {
            Input::File(path) => {
                let file = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
                size += file.len();
                paths.push((path, input));
            }
            Input::Stdin | Input::Spooled(_) => return None,
        }
    }
    if size > MOST {
        return None;
    }
    let most = spec.limit_jobs.unwrap_or(u64::MAX);
    let mut count = 0;
    for (path, input) in paths {
        count += count_file(path, input, spec.format, most - count)?;
    }
    Some(count)
}

/// Lets others have the core before each read: a system lets a thread that goes on and on keep it for some
/// milliseconds, and so long no send would go out.
struct GivesWay(File);

impl Read for GivesWay {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        thread::yield_now();
        self.0.read(into)
    }
}

fn count_file(path: &Path, input: &Input, mut format: Option<Format>, most: u64) -> Option<u64> {
    let mut lines = Lines::new(Box::new(GivesWay(File::open(path).ok()?)));
    let mut count = 0;
    while count < most
        && let Some(line) = lines.next().ok()?
    {
        count += u64::from(makes_result(&line, input, &mut format));
    }
    Some(count)
}

/// Whether a line makes a result: it is neither blank nor a comment. The first such line tells the format. One that
/// is too long is not blank, whatever it begins with.
pub(super) fn makes_result(line: &RawLine, input: &Input, format: &mut Option<Format>) -> bool {
    if line.extent == Extent::Whole && line.bytes.trim_ascii().is_empty() {
        return false;
    }
    let format = *format.get_or_insert_with(|| Format::guess(line.bytes, input));
    format != Format::Urls || !urls::is_comment(line.bytes)
}
