//! The calls of a run: which wishes go into each, and what its answer says of them. Floor 4: doors.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use twox_hash::XxHash3_64;

use super::lore::{Lore, lore_of};
use super::shared::{Shared, Terms};
use crate::engine::share::{Answer, AskId, Common, HeldBy, Leased, Mark, Part, Wish};
use crate::error::{Exit, Problem};
use crate::limit::{Counts, Known};
use crate::units::nanos;

/// The most asks in one call: what they wait for each other stays below a millisecond or two.
const ASKS: usize = 256;
/// The most wishes of all kinds.
const WISHES: usize = 1024;

/// Who asks, for those who look at the store.
#[derive(Debug, Clone)]
pub struct Who {
    /// Differs from that of every other run.
    pub member: String,
    /// Host and process.
    pub place: String,
    /// When it began, in microseconds since the Unix epoch.
    pub since: u64,
}

/// Makes the calls of one run, and remembers what must be said in the next.
#[derive(Debug)]
pub struct Caller {
    pub(super) name: String,
    pub(super) terms: Terms,
    pub(super) slack: u64,
    pub(super) who: Who,
    /// Of the last call.
    number: u64,
    /// Tells whether this is still the data base that was joined.
    pub(super) mark: String,
    /// Slots that are held, to be renewed, with their costs.
    pub(super) held: BTreeMap<Mark, u64>,
    /// States at which an ask waits.
    pub(super) waits_at: Vec<State>,
    /// Which version of what all have learnt is known here.
    versions: HashMap<(usize, Arc<str>), u64>,
}

/// The store counts up from the microseconds since the Unix epoch: those of the run are of before 2006.
const OWN: u64 = 1 << 50;

/// Of so many lanes; then they are told again.
const VERSIONS: usize = 1024;

/// A limit and a value of its key.
pub(super) type State = (usize, Option<Arc<str>>);

/// What a call does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// Nothing.
    None,
    /// Says that this run is there.
    Beat,
    /// The same, and holds its slots for longer.
    Renew,
    /// Leaves.
    Leave,
}

/// A call that can be sent again.
#[derive(Debug)]
pub struct Call {
    pub(super) number: u64,
    pub(super) wishes: Vec<Wish>,
    pub(super) chore: Chore,
}

impl Call {
    /// Sent again after a while, or to a store that has lost what it held: slots may be held there by nobody any more.
    pub(super) fn renews(&mut self) {
        self.chore = match self.chore {
            Chore::None | Chore::Beat | Chore::Renew => Chore::Renew,
            Chore::Leave => Chore::Leave,
        };
    }
}

/// What the script has said.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// This run is one of so many now, itself among them.
    Joined(u32),
    /// The limits of those who are there, which are others.
    Others(String),
    /// It does not know this run, nor anything of before.
    Emptied,
    /// It is done.
    Done {
        /// So many share it.
        members: u32,
        /// By the clock of the store, in microseconds since the Unix epoch.
        at: u64,
        /// What all have learnt of the limits of servers, where that is new here.
        learnt: Vec<(Counts, Arc<str>, Known)>,
        /// What is granted ahead to others reaches so far; nothing of it is seen where this is zero.
        reach: Duration,
        /// What became of the asks, and for which moment of that clock those are charged that are granted.
        answers: Vec<(AskId, Answer, u64)>,
    },
    /// This run has left.
    Left,
}

impl Caller {
    /// So many wishes go into one call, whatever they are.
    pub const FITS: usize = ASKS;

    /// Checks that the script can count these limits. It is a problem of usage if a name is empty or has `{` or `}`, if a
    /// period is no whole number of microseconds, or if a count, a burst or a period is too large to stay exact there:
    /// 2^36 for windows, 2^50 microseconds, and for buckets 2^31 per period and 2^50 of burst times period, both in lowest terms.
    pub fn new(shared: &Shared, who: Who) -> Result<Self, Problem> {
        Ok(Self {
            name: shared.name.clone(),
            terms: shared.terms()?,
            slack: nanos(shared.slack) / 1_000,
            who,
            number: 0,
            mark: String::new(),
            held: BTreeMap::new(),
            waits_at: Vec::new(),
            versions: HashMap::new(),
        })
    }

    /// What is shared, as it was written.
    pub fn text(&self) -> &str {
        &self.terms.text
    }

    /// Whether any slot is held, that has to be renewed.
    pub fn holds_slots(&self) -> bool {
        !self.held.is_empty()
    }

    /// The next call: as many of the wishes as fit into it, in their order.
    pub fn next(&mut self, wishes: &mut VecDeque<Wish>, chore: Chore) -> Call {
        let mut asks = 0;
        let fits = wishes.iter().take(WISHES).take_while(|wish| {
            asks += usize::from(matches!(wish, Wish::Admit { .. } | Wish::Lease { .. }));
            asks <= ASKS
        });
        let fits = fits.count();
        self.number += 1;
        let wishes: Vec<_> = wishes.drain(..fits).collect();
        for wish in &wishes {
            match wish {
                Wish::Settle(bill, ..) if bill.of == Common::Slots => {
                    self.held.remove(&bill.mark);
                }
                Wish::Hold(bill) => {
                    self.held.insert(bill.mark, bill.cost.get());
                }
                Wish::Admit { .. }
                | Wish::Lease { .. }
                | Wish::Moved(..)
                | Wish::Settle(..)
                | Wish::Pause(..)
                | Wish::Owe(_)
                | Wish::Learn(_) => {}
            }
        }
        Call {
            number: self.number,
            wishes,
            chore,
        }
    }

    /// What the script has answered to a request to join; a problem of the store if that cannot be read.
    pub fn hear_join(&mut self, reply: &str) -> Result<Heard, Problem> {
        let (word, rest) = reply.split_once(' ').unwrap_or((reply, ""));
        match word {
            "other" => Ok(Heard::Others(rest.to_owned())),
            "joined" => {
                let (mark, members) = rest.split_once(' ').ok_or_else(|| unread(reply))?;
                mark.clone_into(&mut self.mark);
                let members = members.parse().map_err(|_| unread(reply))?;
                Ok(Heard::Joined(members))
            }
            _ => Err(unread(reply)),
        }
    }

    /// What the script has answered to a call; a problem of the store if that cannot be read, or is not what was asked.
    pub fn hear(&mut self, call: &Call, reply: &str) -> Result<Heard, Problem> {
        let (line, lore) = reply.split_once('\n').unwrap_or((reply, ""));
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("emptied") => Ok(Heard::Emptied),
            Some("left") => Ok(Heard::Left),
            Some("done") => {
                let learnt = lore_of(lore).map(|lore| self.learnt(call, lore));
                let heard = learnt.and_then(|learnt| self.answers(call, learnt, &mut words));
                heard.ok_or_else(|| unread(reply))
            }
            _ => Err(unread(reply)),
        }
    }

    /// A mark as the store has it. Those that a run makes are below all that the store counts up, and told apart by chance:
    /// of ten thousand that are held at once two are the same once in twenty million times.
    pub(super) fn number(&self, mark: Mark) -> u64 {
        if mark.is_own() {
            let text = format!("{} {}", self.who.member, mark.0);
            return XxHash3_64::oneshot(text.as_bytes()) % OWN;
        }
        mark.0
    }

    /// Which version is known here of what all have learnt of this lane; zero is none.
    pub(super) fn version(&self, row: usize, lane: &Arc<str>) -> u64 {
        let versions = self.versions.get(&(row, Arc::clone(lane)));
        versions.copied().unwrap_or_default()
    }

    /// What is new of what all have learnt of the lanes of this call.
    fn learnt(&mut self, call: &Call, lore: Vec<Lore>) -> Vec<(Counts, Arc<str>, Known)> {
        let mut learnt = Vec::new();
        for lore in lore {
            let lanes = call.wishes.iter().flat_map(lanes_of);
            let mut rows = lanes.filter_map(|(counts, lane)| {
                let row = self.terms.place(Common::Learnt(counts))?;
                let is_it = self.terms.row(row).key(Some(lane)) == lore.key;
                is_it.then(|| (row, counts, Arc::clone(lane)))
            });
            if let Some((row, counts, lane)) = rows.next() {
                if self.versions.len() == VERSIONS {
                    self.versions.clear();
                }
                self.versions.insert((row, Arc::clone(&lane)), lore.version);
                learnt.push((counts, lane, lore.known));
            }
        }
        learnt
    }

    fn answers<'a>(
        &mut self,
        call: &Call,
        learnt: Vec<(Counts, Arc<str>, Known)>,
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Option<Heard> {
        let members = words.next()?.parse().ok()?;
        let at = words.next()?.parse().ok()?;
        let reach = micros_of(words)?;
        let mut answers = Vec::new();
        self.waits_at.clear();
        for wish in &call.wishes {
            let (Wish::Admit { id, parts, .. } | Wish::Lease { id, parts, .. }) = wish else {
                continue;
            };
            let mut charged_at: u64 = at;
            let answer = match words.next()? {
                "+" => {
                    charged_at = charged_at.saturating_sub(words.next()?.parse().ok()?);
                    Answer::Granted(self.granted(parts, words)?)
                }
                "*" => {
                    let count = words.next()?.parse().ok()?;
                    // The first may be one for a moment to come.
                    let age: i64 = words.next()?.parse().ok()?;
                    charged_at = charged_at.saturating_add_signed(age.checked_neg()?);
                    let first = parts.iter().map(|_| mark(words)).collect::<Option<_>>()?;
                    let after = (0..count)
                        .map(|_| micros_of(words))
                        .collect::<Option<_>>()?;
                    Answer::Leased(Leased { first, after })
                }
                "-" => {
                    let by = match words.next()?.parse::<usize>() {
                        Ok(row) => HeldBy::Limit(self.terms.row(row).of),
                        Err(_) => HeldBy::Pause,
                    };
                    let states = parts.iter().filter_map(|part| self.state_of(part));
                    self.waits_at.extend(states.collect::<Vec<_>>());
                    Answer::Refused(by, micros_of(words)?)
                }
                _ => return None,
            };
            answers.push((*id, answer, charged_at));
        }
        Some(Heard::Done {
            members,
            at,
            learnt,
            reach,
            answers,
        })
    }

    fn granted<'a>(
        &mut self,
        parts: &[Part],
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Option<Box<[Mark]>> {
        let mut charged = Vec::with_capacity(parts.len());
        for part in parts {
            let mark = mark(words)?;
            if part.of == Common::Slots {
                self.held.insert(mark, part.cost.get());
            }
            charged.push(mark);
        }
        Some(charged.into())
    }

    fn state_of(&self, part: &Part) -> Option<State> {
        Some((self.terms.place(part.of)?, part.key.clone()))
    }
}

/// The lanes of which this asks or teaches something that is learnt.
fn lanes_of(wish: &Wish) -> Vec<(Counts, &Arc<str>)> {
    match wish {
        Wish::Admit { parts, .. } => {
            let learnt = parts.iter().filter_map(|part| match part.of {
                Common::Learnt(counts) => Some((counts, part.key.as_ref()?)),
                Common::Slots | Common::Limit(_) => None,
            });
            learnt.collect()
        }
        Wish::Learn(taught) => vec![(taught.of, &taught.lane)],
        // What is learnt is never granted ahead, and whatever else is said of it leaves it as it was.
        Wish::Lease { .. }
        | Wish::Moved(..)
        | Wish::Settle(..)
        | Wish::Pause(..)
        | Wish::Owe(_)
        | Wish::Hold(_) => Vec::new(),
    }
}

fn mark<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Mark> {
    Some(Mark(words.next()?.parse().ok()?))
}

fn micros_of<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Duration> {
    Some(Duration::from_micros(words.next()?.parse().ok()?))
}

fn unread(reply: &str) -> Problem {
    let what = format!("the store has answered what cannot be read: {reply:.80}");
    Problem::new(
        Exit::Store,
        what,
        "use one version of this program for all who share it",
    )
}
