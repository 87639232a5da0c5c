//! The calls of a run: which wishes go into each, and what its answer says of them. Floor 4: doors.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::shared::{Shared, Terms};
use crate::engine::share::{Answer, AskId, Charged, Common, HeldBy, Mark, Part, Wish};
use crate::error::{Exit, Problem};
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
    pub(super) leases: BTreeMap<Mark, u64>,
    /// States at which an ask waits.
    pub(super) waits_at: Vec<State>,
}

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

/// What the script has said.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// This run is one of so many now.
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
        /// What became of the asks, and for which moment of that clock those are charged that are granted.
        answers: Vec<(AskId, Answer, u64)>,
    },
    /// This run has left.
    Left,
}

impl Caller {
    /// So many wishes go into one call, whatever they are.
    pub const FITS: usize = ASKS;

    /// Checks that the script can count these limits.
    pub fn new(shared: &Shared, who: Who) -> Result<Self, Problem> {
        Ok(Self {
            name: shared.name.clone(),
            terms: shared.terms()?,
            slack: nanos(shared.slack) / 1_000,
            who,
            number: 0,
            mark: String::new(),
            leases: BTreeMap::new(),
            waits_at: Vec::new(),
        })
    }

    /// What is shared, as it was written.
    pub fn text(&self) -> &str {
        &self.terms.text
    }

    /// Whether any slot is held, that has to be renewed.
    pub fn has_leases(&self) -> bool {
        !self.leases.is_empty()
    }

    /// The next call: as many of the wishes as fit into it, in their order.
    pub fn next(&mut self, wishes: &mut VecDeque<Wish>, chore: Chore) -> Call {
        let mut asks = 0;
        let fits = wishes.iter().take(WISHES).take_while(|wish| {
            asks += usize::from(matches!(wish, Wish::Admit { .. }));
            asks <= ASKS
        });
        let fits = fits.count();
        self.number += 1;
        let wishes: Vec<_> = wishes.drain(..fits).collect();
        for wish in &wishes {
            if let Wish::Settle(bill, ..) = wish
                && bill.of == Common::Slots
            {
                self.leases.remove(&bill.mark);
            }
        }
        Call {
            number: self.number,
            wishes,
            chore,
        }
    }

    /// What the script has answered to a request to join.
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

    /// What the script has answered to a call.
    pub fn hear(&mut self, call: &Call, reply: &str) -> Result<Heard, Problem> {
        let mut words = reply.split_ascii_whitespace();
        match words.next() {
            Some("emptied") => Ok(Heard::Emptied),
            Some("left") => Ok(Heard::Left),
            Some("done") => {
                let heard = self.answers(call, &mut words);
                heard.ok_or_else(|| unread(reply))
            }
            _ => Err(unread(reply)),
        }
    }

    fn answers<'a>(
        &mut self,
        call: &Call,
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Option<Heard> {
        let members = words.next()?.parse().ok()?;
        let at = words.next()?.parse().ok()?;
        let mut answers = Vec::new();
        self.waits_at.clear();
        for wish in &call.wishes {
            let Wish::Admit { id, parts, .. } = wish else {
                continue;
            };
            let mut charged_at: u64 = at;
            let answer = match words.next()? {
                "+" => {
                    charged_at = charged_at.saturating_sub(words.next()?.parse().ok()?);
                    Answer::Granted(self.granted(parts, words)?)
                }
                "-" => {
                    let by = match words.next()?.parse::<usize>() {
                        Ok(row) => HeldBy::Limit(self.terms.row(row).of),
                        Err(_) => HeldBy::Pause,
                    };
                    let states = parts.iter().filter_map(|part| self.state_of(part));
                    self.waits_at.extend(states.collect::<Vec<_>>());
                    Answer::Refused(by, Duration::from_micros(words.next()?.parse().ok()?))
                }
                _ => return None,
            };
            answers.push((*id, answer, charged_at));
        }
        Some(Heard::Done {
            members,
            at,
            answers,
        })
    }

    fn granted<'a>(
        &mut self,
        parts: &[Part],
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Option<Box<[Charged]>> {
        let mut charged = Vec::with_capacity(parts.len());
        for part in parts {
            let mark = Mark(words.next()?.parse().ok()?);
            let more = words.next()?.parse().ok()?;
            if part.of == Common::Slots {
                self.leases.insert(mark, part.cost.get());
            }
            charged.push(Charged { mark, more });
        }
        Some(charged.into())
    }

    fn state_of(&self, part: &Part) -> Option<State> {
        Some((self.terms.place(part.of)?, part.key.clone()))
    }
}

fn unread(reply: &str) -> Problem {
    let what = format!("the store has answered what cannot be read: {reply:.80}");
    Problem::new(
        Exit::Store,
        what,
        "use one version of this program for all who share it",
    )
}
