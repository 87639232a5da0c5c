//! What the world and the engine say to each other. Floor 3: rules.

use std::sync::Arc;

use super::Stopped;
use super::share::{Wish, Word};
use crate::error::Problem;
use crate::job::{BadLine, Job};
use crate::outcome::{Failure, Head, Outcome, Reply, Status};
use crate::stream::Stream;
use crate::units::Tick;

/// A job that the engine holds: from its [`Event::Read`] until its [`Event::Recorded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(super) u32);

impl Ticket {
    /// The ticket of that number, for doors that are used without an engine.
    pub fn numbered(number: u32) -> Self {
        Self(number)
    }
}

/// What the world tells the engine. Every ask gets exactly one answer, failed and timed-out ones too.
#[derive(Debug)]
pub enum Event {
    /// A line, good or bad, and the moment at which the input had it ready.
    Read(Result<Arc<Job>, Box<BadLine>>, Tick),
    /// A line that an earlier run has done, with its result, and the moment at which the input had it ready.
    DoneBefore(Status, Tick),
    /// There are no more lines; the problem, if reading broke.
    InputEnded(Result<(), Problem>),
    /// A connection was opened for a try under its grant, and is ready at this moment. A try that goes out on one that
    /// was open, or whose client does not say, has none.
    Connected(Ticket, Tick),
    /// A try was handed over to be written at this moment: sliding windows charge it.
    Sent(Ticket, Tick),
    /// The head of an answer came: pauses count from its moment.
    Answered(Ticket, Box<Head>),
    /// The answer of a try that ends next is a stream, of which this was seen.
    Streamed(Ticket, Box<Stream>),
    /// The last byte, or the failure, at this moment. A head that was not told before is told by this. Where redirects are
    /// followed, it is the end of one request, and the try may go on with another.
    Ended(Ticket, Tick, Box<Result<Reply, Failure>>),
    /// The line of this job is in the file: only now is its slot free.
    Recorded(Ticket),
    /// Results can no longer be written.
    SinkLost(Problem),
    /// The job at this position of the input is withdrawn, if it still waits.
    Cancel(u64),
    /// The store through which limits are shared says this, at this moment.
    Store(Word, Tick),
    /// The user or the system wants the run to end, since this moment; the engine counts them.
    Signal(Signal, Tick),
}

impl Event {
    /// A line as it was read, and the moment at which the input had it ready.
    pub fn read(line: Result<Job, BadLine>, ready_at: Tick) -> Self {
        Self::Read(line.map(Arc::new).map_err(Box::new), ready_at)
    }
}

/// Signals that end a run: the first drains, the second stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// What the engine asks of the world.
#[derive(Debug)]
pub enum Action {
    /// Take so many more lines from the input. The only way input is pulled.
    Read(usize),
    /// This job may go soon: have a connection open for it, if its origin has answered before. At most so many are to be
    /// on their way there. Whatever comes of it, nobody is told.
    Prepare(Arc<Job>, usize),
    /// Send this job now. What a redirect asks for comes as a job of its own, for the same ticket.
    Send(Ticket, Arc<Job>, Grant),
    /// Tell this to the store through which limits are shared.
    Store(Wish),
    /// Write this result.
    Record(Ticket, Box<Outcome>),
    /// The run is over.
    Stop(End),
}

/// The permission for one try: all limits and a slot, at one instant; or for a redirect of it, which keeps its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The position of the job in the input, from 0.
    pub seq: u64,
    /// When this try should have gone.
    pub due: Tick,
    /// The moment that the limits were charged for: now, or at most the slack before it.
    pub charged_at: Tick,
    /// 1 for the first try.
    pub attempt: u32,
    /// Since when its time counts: the grant of its try.
    pub began: Tick,
    /// When the try has to be over.
    pub give_up_at: Tick,
}

/// Why the run is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every line has its result.
    Finished,
    /// The time that it was given is over; what was in flight is finished.
    TimeUp,
    /// Reading broke; every line that was read has its result.
    InputLost(Problem),
    /// Results could not be written.
    SinkLost(Problem),
    /// The store through which limits are shared is needed and not there; what was in flight is finished.
    StoreLost(Problem),
    /// One of the rules for an early end is true; what was in flight is finished unless the grace was over.
    Stopped(Stopped),
    /// A signal; what was in flight is finished unless a second one came, or the grace was over.
    Signalled(Signal),
}

impl End {
    /// How the run was over, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::TimeUp => "time_up",
            Self::InputLost(_) => "input_lost",
            Self::SinkLost(_) => "results_lost",
            Self::StoreLost(_) => "store_lost",
            Self::Stopped(_) => "stopped",
            Self::Signalled(Signal::Interrupt) => "interrupted",
            Self::Signalled(Signal::Terminate) => "terminated",
        }
    }
}
