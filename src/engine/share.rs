//! What a run asks of the store through which it shares limits with others, and what that says. Floor 3: rules.
//!
//! Each [`Wish::Admit`] and each [`Wish::Lease`] gets exactly one [`Answer`], in the order of the asks; the other wishes get
//! none. The store counts by its own clock: moments here are those of the run, and reach the store as so long ago.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{Context, SHA256};

use crate::choice::{chosen, word_for};
use crate::error::Problem;
use crate::job::Job;
use crate::limit::{Counts, Known, Lesson, Used};
use crate::secret::is_secret_header;
use crate::units::{Cost, Tick};

/// Number of an ask; they count up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub u64);

/// A limit that is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Common {
    /// Tries in flight of all who share them.
    Slots,
    /// The rate limit of this number, in the order of the command line.
    Limit(usize),
    /// What is learnt of the servers' own limits on this; the key is the lane.
    Learnt(Counts),
}

/// What one try costs of one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which limit.
    pub of: Common,
    /// For which value of its key; `None` if it is one for all.
    pub key: Option<Arc<str>>,
    /// How much.
    pub cost: Cost,
}

/// What the store calls something that it has charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub u64);

impl Mark {
    /// No store counts so far.
    const OWN: u64 = 1 << 63;

    /// What a run calls something itself: its own of this number.
    pub fn own(number: u64) -> Self {
        Self(number | Self::OWN)
    }

    /// Whether it is one that a run has made.
    pub fn is_own(self) -> bool {
        self.0 & Self::OWN != 0
    }
}

/// What a run wants of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// To send a try: all of its parts are charged at one instant, or none.
    Admit {
        /// Which ask this is.
        id: AskId,
        /// Whose pauses it heeds: the name of its lane.
        lane: Arc<str>,
        /// Since when it could have gone.
        could_go: Tick,
        /// What it costs.
        parts: Box<[Part]>,
    },
    /// To have tries granted ahead, as soon as each may go. Only buckets of requests are asked so.
    Lease {
        /// Which ask this is.
        id: AskId,
        /// Whose pauses it heeds: the name of its lane.
        lane: Arc<str>,
        /// Since when the first could have gone.
        could_go: Tick,
        /// What each costs.
        parts: Box<[Part]>,
        /// So many at most.
        most: u64,
        /// None for a moment that is later than so long after the ask is heard.
        reach: Duration,
    },
    /// What was charged as on its way left at this moment.
    Moved(Bill, Tick),
    /// What was charged is over at this moment, and so much of it was used. Slots are given back.
    Settle(Bill, Tick, Used),
    /// Nobody who shares it sends to this lane before this moment.
    Pause(Arc<str>, Tick),
    /// While the store was away so much was taken of a limit, which nobody was asked for.
    Owe(Debt),
    /// An answer has taught something.
    Learn(Taught),
    /// Slots are held, whatever others were granted: their try was sent while the store was away. The mark is the run's own.
    Hold(Bill),
}

/// What an answer teaches of its server's own limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taught {
    /// Which limit.
    pub of: Counts,
    /// Of which lane.
    pub lane: Arc<str>,
    /// What the store calls the charge of its request; `None` if it has charged nothing for it.
    pub mark: Option<Mark>,
    /// That.
    pub lesson: Lesson,
}

/// What was taken of a limit without its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debt {
    /// Which limit.
    pub of: Common,
    /// For which value of its key.
    pub key: Option<Arc<str>>,
    /// Moments and costs, oldest first.
    pub taken: Box<[(Tick, Cost)]>,
}

/// Something that was charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    /// Which limit.
    pub of: Common,
    /// For which value of its key.
    pub key: Option<Arc<str>>,
    /// What the store calls it.
    pub mark: Mark,
    /// What was charged.
    pub cost: Cost,
}

/// What becomes of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Everything is charged; one for each part.
    Granted(Box<[Mark]>),
    /// So many tries are granted, each for its own moment.
    Leased(Leased),
    /// Nothing is: it is of no use to ask again before so long.
    Refused(HeldBy, Duration),
}

/// What was granted ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// What the store calls the first, one for each part; those of the others count up from it.
    pub first: Box<[Mark]>,
    /// How long after the moment of the answer, which is that of the first, each of them is. They do not go down.
    pub after: Box<[Duration]>,
}

impl Leased {
    /// What the store calls the parts of this one.
    pub fn marks(&self, nth: u64) -> Box<[Mark]> {
        let marks = self.first.iter().map(|first| Mark(first.0 + nth));
        marks.collect()
    }
}

/// What holds an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBy {
    /// A limit.
    Limit(Common),
    /// A pause that a server has asked for.
    Pause,
}

/// What the store says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Of an ask.
    Answered(AskId, Answer),
    /// It is not there, since this moment. Asks that have no answer stay asked.
    Away(Problem, Tick),
    /// It is there again: its answers follow.
    Back,
    /// It has lost what it held: limits began anew.
    Emptied,
    /// So many runs share it now, this one among them.
    Members(u32),
    /// All together know this now of the servers' own limits of this lane. Moments count from when it is said.
    Learnt(Counts, Arc<str>, Box<Known>),
    /// What is granted ahead to the others reaches so far.
    Reach(Duration),
    /// It cannot be worked with, whatever is done here: the limits of others differ, say.
    Unfit(Problem),
}

/// What a run shares with others through a store: all of its rate limits, what it learns of those of servers, and these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// Most tries in flight of all who share them; `None` without a limit.
    pub slots: Option<Cost>,
    /// What becomes of the limits while the store is away.
    pub on_loss: OnLoss,
    /// With [`OnLoss::Stop`], the longest that a run waits for it.
    pub grace: Duration,
    /// A grant that is heard of later than this after its charge goes back: those who share its limits may not count it
    /// any more when its try would leave.
    pub fresh: Duration,
    /// Whose the limits are, where they are not named: a job of another is none of theirs.
    pub only: Option<Account>,
}

/// Whose limits a job is under at its server, as far as its request tells: its origin, and its credentials. What it is
/// made of cannot be told from it (SHA-256).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account([u8; 12]);

impl Account {
    /// That of this job.
    pub fn of(job: &Job) -> Self {
        let mut hash = Context::new(&SHA256);
        hash.update(job.origin.0.as_bytes());
        for (name, value) in job.headers().iter() {
            let is_secret = str::from_utf8(name).is_ok_and(is_secret_header);
            if is_secret {
                for part in [&b"\0"[..], name, b"\0", value] {
                    hash.update(part);
                }
            }
        }
        let mut own = [0; 12];
        own.copy_from_slice(&hash.finish().as_ref()[..12]);
        Self(own)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// What becomes of the shared limits while the store is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLoss {
    /// Nothing is sent; after a grace the run ends.
    #[default]
    Stop,
    /// The run keeps its part of each by itself, as many as the members that it last knew of.
    Local,
    /// None of them holds.
    Open,
}

impl OnLoss {
    /// Each, with its word.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("stop", Self::Stop),
        ("local", Self::Local),
        ("open", Self::Open),
    ];
}

impl fmt::Display for OnLoss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(word_for(&Self::WORDS, *self))
    }
}

impl FromStr for OnLoss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(&Self::WORDS, text)
    }
}
