//! What arrived at the modelled API, in the form of result lines. Floor 4: doors.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use http::Response;
use http::StatusCode;
use http::header::RETRY_AFTER;
use serde::Serialize;

use super::Server;
use crate::error::{Exit, Problem};
use crate::letters::calm_path;
use crate::model::{Answer, Verdict};
use crate::outcome::{FailureKind, Status};
use crate::units::Tick;

/// A file that gets one line an arrival, when it is answered or its connection is gone; at most half
/// a second later the line is in the file.
#[derive(Debug)]
pub struct ArrivalLog {
    path: PathBuf,
    out: BufWriter<File>,
    /// Why nothing more is written.
    lost: Option<Problem>,
}

impl ArrivalLog {
    /// Opens the file, and makes it if need be. Refuses what cannot be written, and an existing regular file with content,
    /// as results may be in it.
    pub fn create(path: &Path) -> Result<Self, Problem> {
        let unusable = |why: io::Error| {
            let what = format!("cannot be written: {why}");
            Problem::usage(what, "name a file in a directory of yours").at(calm_path(path))
        };
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(unusable)?;
        let found = file.metadata().map_err(unusable)?;
        if found.is_file() && found.len() > 0 {
            let mend = "name another file, or remove this one";
            return Err(Problem::usage("has content already", mend).at(calm_path(path)));
        }
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::with_capacity(1 << 16, file),
            lost: None,
        })
    }

    fn write(&mut self, line: &Arrived) {
        if self.lost.is_none() {
            let line = serde_json::to_writer(&mut self.out, line).map_err(io::Error::from);
            let written = line.and_then(|()| self.out.write_all(b"\n"));
            self.note(written);
        }
    }

    /// Brings to the file what was written, and tells the first problem that there was.
    pub(super) fn flush(&mut self) -> Result<(), Problem> {
        if self.lost.is_none() {
            let flushed = self.out.flush();
            self.note(flushed);
        }
        self.lost.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(why) = written {
            let what = format!("arrivals cannot be written: {why}");
            let mend = "free space there; the file holds the arrivals before";
            let problem = Problem::new(Exit::Unwritten, what, mend);
            self.lost = Some(problem.at(calm_path(&self.path)));
        }
    }
}

/// One request inside the server. Its line is written when it is dropped: with its answer, or
/// without if the connection broke before.
pub(super) struct Arrival {
    server: Rc<Server>,
    /// `None` if nobody keeps a log.
    line: Option<Arrived>,
}

impl Arrival {
    /// The URL is kept without its query, which may hold credentials.
    pub(super) fn new(server: Rc<Server>, verdict: &Verdict, arrived: Tick, path: &str) -> Self {
        let line = server.arrivals.as_ref().map(|_| Arrived {
            seq: verdict.number,
            line: verdict.number + 1,
            id: None,
            status: Status::Failed.word(),
            http_status: None,
            attempts: 1,
            queue_ms: 0.0,
            latency_ms: 0.0,
            tokens: Spent {
                reserved: server.units,
                used: match verdict.answer {
                    Answer::Ok | Answer::Failed(_) => server.units,
                    Answer::Refused(_) => 0,
                },
            },
            tries: [Try {
                due_us: server.clock.epoch_micros(arrived),
                granted_us: server.clock.epoch_micros(arrived),
                sent_us: server.clock.epoch_micros(arrived),
                first_byte_us: None,
                done_us: 0,
                http_status: None,
                retry_after_ms: None,
                error: None,
            }],
            url: format!("http://{}{path}", server.address),
            error: None,
        });
        Self { server, line }
    }

    /// The answer is handed over to be written: its first byte and its last, as far as can be told.
    pub(super) fn answered<B>(mut self, reply: &Response<B>) {
        self.note(reply);
    }

    /// The answer begins to be written; its last byte is when this is dropped.
    pub(super) fn answers<B>(&mut self, reply: &Response<B>) {
        self.note(reply);
        if let Some(line) = &mut self.line {
            let clock = self.server.clock;
            let [only] = &mut line.tries;
            only.first_byte_us = Some(clock.epoch_micros(clock.now()));
        }
    }

    fn note<B>(&mut self, reply: &Response<B>) {
        let Some(line) = &mut self.line else {
            return;
        };
        let status = reply.status();
        line.http_status = Some(status.as_u16());
        if status == StatusCode::OK {
            line.status = Status::Ok.word();
        } else {
            line.error = Some(Error {
                kind: FailureKind::Http.word(),
                message: status.to_string(),
            });
        }
        let told = reply.headers().get(RETRY_AFTER);
        let seconds = told.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let [only] = &mut line.tries;
        only.http_status = line.http_status;
        only.retry_after_ms = seconds.map(|seconds| seconds.saturating_mul(1_000));
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let (Some(line), Some(log)) = (&mut self.line, &self.server.arrivals) else {
            return;
        };
        let done_us = self.server.clock.epoch_micros(self.server.clock.now());
        let [only] = &mut line.tries;
        only.done_us = done_us;
        if line.http_status.is_some() {
            only.first_byte_us.get_or_insert(done_us);
        } else {
            let error = Error {
                kind: FailureKind::Reset.word(),
                message: "the connection was gone before the answer".to_owned(),
            };
            only.error = Some(error.clone());
            line.error = Some(error);
        }
        line.latency_ms = millis(done_us - only.sent_us);
        log.borrow_mut().write(line);
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown; exact up to 285 years")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1e3
}

/// A result as it is written.
#[derive(Debug, Serialize)]
struct Arrived {
    seq: u64,
    line: u64,
    id: Option<String>,
    status: &'static str,
    http_status: Option<u16>,
    attempts: u32,
    queue_ms: f64,
    latency_ms: f64,
    tokens: Spent,
    tries: [Try; 1],
    url: String,
    error: Option<Error>,
}

#[derive(Debug, Serialize)]
struct Spent {
    reserved: u64,
    used: u64,
}

/// All moments in microseconds since the Unix epoch. An arrival is its own `due`, `granted` and `sent`.
#[derive(Debug, Serialize)]
struct Try {
    due_us: u64,
    granted_us: u64,
    sent_us: u64,
    first_byte_us: Option<u64>,
    done_us: u64,
    http_status: Option<u16>,
    retry_after_ms: Option<u64>,
    error: Option<Error>,
}

#[derive(Debug, Clone, Serialize)]
struct Error {
    kind: &'static str,
    message: String,
}
