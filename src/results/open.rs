//! A file of results that is read more than once, wherever it comes from. Floor 4: doors.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::{Lines, unreadable};
use crate::error::Problem;
use crate::file::regular;

/// Results that are open.
#[derive(Debug)]
pub struct Results {
    /// As given; `-` for standard input.
    pub path: PathBuf,
    file: File,
}

impl Results {
    /// Opens them; fails if they cannot be read, or stdin is a terminal. Standard input (`-`) and named pipes are read to their end first, into a file without a name.
    pub fn open(path: &Path) -> Result<Self, Problem> {
        let file = if path.as_os_str() == "-" {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                let what = "standard input is a terminal: there are no results";
                return Err(Problem::usage(what, "name a file, or pipe them in"));
            }
            spooled(&mut stdin.lock())
        } else if path.metadata().is_ok_and(|it| it.file_type().is_fifo()) {
            File::open(path).and_then(|mut pipe| spooled(&mut pipe))
        } else {
            regular(path)
        };
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(|why| unreadable(path, &why))?,
        })
    }

    /// From the first line on.
    pub(super) fn lines(&mut self) -> io::Result<Lines<&File>> {
        self.file.rewind()?;
        Ok(Lines::new(&self.file))
    }

    /// What messages call them.
    pub fn shown(&self) -> String {
        if self.path.as_os_str() == "-" {
            "standard input".to_owned()
        } else {
            self.path.to_string_lossy().into_owned()
        }
    }
}

fn spooled(from: &mut impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(from, &mut file)?;
    Ok(file)
}
