//! What became of a job: replies, failures, tries and the final word. Floor 2: records.

use std::cmp::Ordering;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::fields::Fields;
use crate::job::{BadLine, Job, Keys, NoJob};
use crate::stream::Stream;
use crate::units::Tick;

/// The status line and headers of an answer.
#[derive(Debug, Clone)]
pub struct Head {
    /// The moment of the first byte.
    pub at: Tick,
    /// The same moment by the wall clock: what an HTTP-date is compared with if the server sent no `Date`.
    pub wall: SystemTime,
    /// The status of the answer.
    pub status: StatusCode,
    /// All headers as they came.
    pub headers: Fields,
}

/// A whole answer, to its last byte.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Its status line and headers.
    pub head: Head,
    /// The bytes after them.
    pub body: Bytes,
    /// The units that the answer says were used; `None` if it does not say.
    pub used: Option<Usage>,
    /// What its body says is wrong, for people, where that is looked for.
    pub fault: Option<Box<str>>,
}

/// The units that an answer says were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Of what was sent, if it is told apart.
    pub input: Option<u64>,
    /// Of the answer, if it is told apart.
    pub output: Option<u64>,
    /// All of it.
    pub total: u64,
}

impl Usage {
    /// So much, not told apart.
    pub fn of(total: u64) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }
}

/// Why a try has no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind, as scripts match it.
    pub kind: FailureKind,
    /// How far the try had come.
    pub reached: Reached,
    /// For people: the cause, with the host.
    pub message: String,
    /// Why there is no connection, if that has a mend of its own. It stands in no result.
    pub hindrance: Option<Hindrance>,
}

impl Failure {
    /// One of this kind, with nothing known that hindered its connection.
    pub fn new(kind: FailureKind, reached: Reached, message: impl Into<String>) -> Self {
        Self {
            kind,
            reached,
            message: message.into(),
            hindrance: None,
        }
    }
}

/// Why there is no connection, where another mend than the server's helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hindrance {
    /// No file is left to open: that is no word on the server.
    Files,
    /// No port of this machine is free: neither is that.
    Ports,
    /// It was the proxy that was not reached.
    Proxy,
    /// The other end closed it as TLS began.
    Tls,
}

/// How far a try came before it failed. Decides what is paid, and whether it may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// Nothing was sent: no limit is charged.
    NotSent,
    /// Sent, in part or whole, and no status line came back: the server may have acted on it.
    Sent,
    /// A status line came, the rest did not.
    Answered,
}

/// The kinds of failure in results and in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The line makes no job.
    Invalid,
    /// The line is understood, and by the rules of its format not sent.
    Skipped,
    /// No connection.
    Connect,
    /// No address for the host name.
    Dns,
    /// No secure connection: certificate or protocol.
    Tls,
    /// Slower than `--timeout`, `--connect-timeout` or `--read-timeout`.
    Timeout,
    /// The connection broke before an answer.
    Reset,
    /// The connection broke inside an answer.
    IncompleteBody,
    /// The answer is longer than is kept.
    BodyTooLarge,
    /// An answer with the status of a success, whose body says that it is none.
    BodyError,
    /// An answer with a status that is not a success.
    Http,
    /// Costs more than a limit can ever hold.
    Limit,
    /// Its wait is longer than `--queue-timeout`.
    QueueTimeout,
    /// The server asks for a longer wait than `--max-retry-after`.
    RetryAfterTooLong,
    /// A redirect that leads nowhere, or nowhere new.
    Redirect,
}

impl FailureKind {
    const ALL: [Self; 15] = [
        Self::Invalid,
        Self::Skipped,
        Self::Connect,
        Self::Dns,
        Self::Tls,
        Self::Timeout,
        Self::Reset,
        Self::IncompleteBody,
        Self::BodyTooLarge,
        Self::BodyError,
        Self::Http,
        Self::Limit,
        Self::QueueTimeout,
        Self::RetryAfterTooLong,
        Self::Redirect,
    ];

    /// The kind of this word; `None` of any other.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The word in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Skipped => "skipped",
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::IncompleteBody => "incomplete_body",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyError => "body_error",
            Self::Http => "http",
            Self::Limit => "limit",
            Self::QueueTimeout => "queue_timeout",
            Self::RetryAfterTooLong => "retry_after_too_long",
            Self::Redirect => "redirect",
        }
    }
}

impl From<NoJob> for FailureKind {
    fn from(why: NoJob) -> Self {
        match why {
            NoJob::Invalid => Self::Invalid,
            NoJob::Skipped => Self::Skipped,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// One time that a job was sent, or that sending it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    /// When it should have gone, see `since_due_ms` in `docs/results.md`.
    pub due: Tick,
    /// When slots and limits were granted.
    pub granted: Tick,
    /// When the connection was ready that was opened for it; `None`: one was open, or the client does not say.
    pub connected: Option<Tick>,
    /// When it was handed over to be written.
    pub sent: Option<Tick>,
    /// When the first byte of the answer came.
    pub first_byte: Option<Tick>,
    /// When the last byte came, or the failure.
    pub done: Tick,
    /// The status, if one came.
    pub status: Option<StatusCode>,
    /// The wait that the server asked for.
    pub retry_after: Option<Duration>,
    /// Why there is no whole answer.
    pub failure: Option<Failure>,
    /// Its units, where a limit counts them.
    pub units: Option<UnitsSpent>,
    /// What was seen of its answer, if that is a stream of events.
    pub stream: Option<Box<Stream>>,
    /// The redirects that it followed, in order. Moments above are of its first request, but for the last: they are over
    /// with the last one.
    pub hops: Vec<Hop>,
}

impl Try {
    /// One of which nothing is known, at the start of the run.
    pub const BLANK: Self = Self {
        due: Tick::ZERO,
        granted: Tick::ZERO,
        connected: None,
        sent: None,
        first_byte: None,
        done: Tick::ZERO,
        status: None,
        retry_after: None,
        failure: None,
        units: None,
        stream: None,
        hops: Vec::new(),
    };
}

/// A redirect that was followed: a request of its own, within the same try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// Where it led, without credentials.
    pub url: Box<str>,
    /// The status that said so.
    pub status: StatusCode,
    /// What became of credentials.
    pub credentials: Credentials,
    /// The values of the keys of the limits that it paid, in the order of the run.
    pub keys: Keys,
    /// When the limits were granted; `None`: the try was over before.
    pub granted: Option<Tick>,
    /// When it was handed over to be written.
    pub sent: Option<Tick>,
    /// When the first byte of its answer came.
    pub first_byte: Option<Tick>,
}

/// What becomes of credentials at a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// They go along, if there are any.
    Kept,
    /// They are not for another origin, and do not come back.
    Dropped,
}

impl Try {
    /// When its last request was granted.
    pub fn granted_last(&self) -> Tick {
        let hop = self.hops.last().and_then(|hop| hop.granted);
        hop.unwrap_or(self.granted)
    }

    /// When its last request was sent: after redirects the last of those; `None` if nothing of it was.
    pub fn sent_last(&self) -> Option<Tick> {
        self.hops.last().map_or(self.sent, |hop| hop.sent)
    }

    /// When the first byte of the answer to its last request came; `None` if none did.
    pub fn first_byte_last(&self) -> Option<Tick> {
        self.hops
            .last()
            .map_or(self.first_byte, |hop| hop.first_byte)
    }

    /// The same, to be told.
    pub fn first_byte_mut(&mut self) -> &mut Option<Tick> {
        match self.hops.last_mut() {
            Some(hop) => &mut hop.first_byte,
            None => &mut self.first_byte,
        }
    }

    /// When its requests were sent.
    pub fn sends(&self) -> impl Iterator<Item = Tick> {
        let hops = self.hops.iter().filter_map(|hop| hop.sent);
        self.sent.into_iter().chain(hops)
    }
}

/// What a job waited for, in the order of the names. They are so few that all are looked through, and the first
/// stands apart: nearly all jobs have one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waits {
    first: Option<(Arc<str>, Duration)>,
    others: Vec<(Arc<str>, Duration)>,
}

impl Waits {
    /// For nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// So much more for this.
    pub fn add(&mut self, name: &Arc<str>, span: Duration) {
        let Some(first) = &mut self.first else {
            self.first = Some((name.clone(), span));
            return;
        };
        match name.cmp(&first.0) {
            Ordering::Equal => first.1 += span,
            Ordering::Less => {
                let before = mem::replace(first, (name.clone(), span));
                self.others.insert(0, before);
            }
            Ordering::Greater => match self.others.binary_search_by(|(own, _)| own.cmp(name)) {
                Ok(place) => self.others[place].1 += span,
                Err(place) => self.others.insert(place, (name.clone(), span)),
            },
        }
    }

    /// Each name once, with its span.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, Duration)> {
        let all = self.first.iter().chain(&self.others);
        all.map(|(name, span)| (name, *span))
    }

    /// Whether nothing was waited for.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// All of it.
    pub fn sum(&self) -> Duration {
        self.iter().map(|(_, span)| span).sum()
    }
}

impl FromIterator<(Arc<str>, Duration)> for Waits {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Duration)>>(each: I) -> Self {
        let mut waits = Self::new();
        for (name, span) in each {
            waits.add(&name, span);
        }
        waits
    }
}

/// Units as they were reserved and as they were charged in the end; results tell them by these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Before sending.
    pub reserved: u64,
    /// In the end.
    pub used: u64,
}

/// The units of a try, or of all tries of a job; a sum above 64 bits stays at the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnitsSpent {
    /// Input and output together.
    pub total: Spent,
    /// Of what was sent.
    pub input: Spent,
    /// Of the answers.
    pub output: Spent,
}

impl Spent {
    /// Adds another try.
    pub fn add(&mut self, other: Self) {
        self.reserved = self.reserved.saturating_add(other.reserved);
        self.used = self.used.saturating_add(other.used);
    }
}

impl UnitsSpent {
    /// Adds another try.
    pub fn add(&mut self, other: Self) {
        self.total.add(other.total);
        self.input.add(other.input);
        self.output.add(other.output);
    }
}

/// The last word on a line of input: exactly one for each.
#[derive(Debug)]
pub struct Outcome {
    /// Position among the lines that are taken, from 0.
    pub seq: u64,
    /// The job, or what was wrong with its line.
    pub line: Result<Arc<Job>, BadLine>,
    /// The verdict.
    pub status: Status,
    /// Every try, in order; empty if it was never sent.
    pub tries: Vec<Try>,
    /// First send minus head of its lane; `None` if it was never sent.
    pub queue: Option<Duration>,
    /// What it waited for.
    pub waits: Waits,
    /// Units, where a limit counts them.
    pub units: Option<UnitsSpent>,
    /// The last whole answer.
    pub reply: Option<Reply>,
    /// Why it is not `ok`.
    pub error: Option<(FailureKind, String)>,
}

impl Outcome {
    /// What opening a connection for the last try took; `None` if one was open, or the client does not say.
    pub fn connect(&self) -> Option<Duration> {
        let last = self.tries.last()?;
        Some(last.connected?.since(last.granted))
    }

    /// First byte written to last byte read, of the last try; `None` if that was not sent.
    pub fn latency(&self) -> Option<Duration> {
        let last = self.tries.last()?;
        Some(last.done.since(last.sent?))
    }

    /// Last byte minus due; `None` if it was never sent.
    pub fn since_due(&self) -> Option<Duration> {
        let last = self.tries.last()?;
        last.sent?;
        Some(last.done.since(self.tries[0].due))
    }
}

/// The verdict on one line of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A whole answer with a status that counts as success.
    Ok,
    /// No such answer, after every try that the rules allow.
    Failed,
    /// The line makes no job.
    Invalid,
    /// The line is understood, and by the rules of its format not sent.
    Skipped,
}

impl From<NoJob> for Status {
    fn from(why: NoJob) -> Self {
        match why {
            NoJob::Invalid => Self::Invalid,
            NoJob::Skipped => Self::Skipped,
        }
    }
}

impl Status {
    /// The status of this word; `None` of any other.
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Ok, Self::Failed, Self::Invalid, Self::Skipped];
        all.into_iter().find(|status| status.word() == word)
    }

    /// The word in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::Skipped => "skipped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_told_once_in_the_order_of_the_names() {
        let mut waits = Waits::new();
        assert!(waits.is_empty());
        for (name, millis) in [
            ("qps", 1),
            ("slot", 2),
            ("backoff", 4),
            ("qps", 8),
            ("backoff", 16),
        ] {
            waits.add(&name.into(), Duration::from_millis(millis));
        }
        let told = waits.iter().map(|(name, span)| (&**name, span.as_millis()));
        assert!(
            told.eq([("backoff", 20), ("qps", 9), ("slot", 2)]),
            "{waits:?}"
        );
        assert_eq!(
            (waits.is_empty(), waits.sum()),
            (false, Duration::from_millis(31))
        );
    }
}
