//! One call: wishes as the script reads them, its answers as the engine does. Floor 4: doors.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use twox_hash::XxHash3_128;

use super::shared::{Shared, Terms, as_json, micros};
use crate::engine::share::{Answer, AskId, Bill, Charged, Common, HeldBy, Mark, Part, Wish};
use crate::error::{Exit, Problem};
use crate::limit::Used;
use crate::units::{Tick, nanos};

/// The most asks in one call: what they wait for each other stays below a millisecond or two.
const ASKS: usize = 256;
/// The most wishes of all kinds.
const WISHES: usize = 1024;

/// Who waits and does not come keeps its place for so long after its moment.
const GRACE: Duration = Duration::from_millis(10);

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
    name: String,
    terms: Terms,
    slack: u64,
    who: Who,
    /// Of the last call.
    number: u64,
    /// Tells whether this is still the data base that was joined.
    mark: String,
    /// Slots that are held, to be renewed, with their costs.
    leases: BTreeMap<Mark, u64>,
    /// States at which an ask waits.
    waits_at: Vec<State>,
}

/// A limit and a value of its key.
type State = (usize, Option<Arc<str>>);

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

/// By which clock the store counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Its own.
    Server,
    /// It is told, in microseconds since the Unix epoch: for tests, which need exact moments.
    Told(u64),
}

/// A call that can be sent again.
#[derive(Debug)]
pub struct Call {
    number: u64,
    wishes: Vec<Wish>,
    chore: Chore,
}

/// What is sent: keys, and the one argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Every key that the script may touch.
    pub keys: Vec<String>,
    /// The call.
    pub body: String,
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
        /// What became of the asks.
        answers: Vec<(AskId, Answer)>,
    },
    /// This run has left.
    Left,
}

#[derive(Serialize)]
struct Body<'a> {
    member: &'a str,
    hash: &'a str,
    kept: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    join: Option<Join<'a>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    work: Option<Work<'a>>,
}

#[derive(Serialize)]
struct Join<'a> {
    text: &'a str,
    limits: &'a str,
}

#[derive(Default, Serialize)]
struct Work<'a> {
    number: u64,
    mark: &'a str,
    slack: u64,
    grace: u64,
    beat: bool,
    leave: bool,
    place: &'a str,
    since: u64,
    waiting: usize,
    /// Limit, and number of its first key.
    states: Vec<(usize, usize)>,
    /// State, mark, cost, how long ago, how much was used or -1.
    settle: Vec<(usize, u64, u64, u64, i64)>,
    /// State, mark, cost, how long ago.
    moved: Vec<(usize, u64, u64, u64)>,
    /// State, mark, cost.
    renew: Vec<(usize, u64, u64)>,
    /// Lane, for how long.
    pauses: Vec<(String, u64)>,
    lanes: Vec<String>,
    /// Lane, how long ago it could have gone, and for each part its state, cost and more.
    asks: Vec<(usize, u64, Vec<u64>)>,
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

    /// To be there, or to be there again.
    pub fn join(&self, time: Time) -> Request {
        let (text, limits) = (&*self.terms.text, &*self.terms.limits);
        let body = Body {
            join: Some(Join { text, limits }),
            ..self.body(time)
        };
        Request {
            keys: self.common_keys(),
            body: as_json(&body),
        }
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

    /// A call as it is sent at `now`. Sent again it is the same call, with its moments as long ago as they are then.
    pub fn request(&self, call: &Call, now: Tick, trip: Duration, time: Time) -> Request {
        let mut request = Building {
            caller: self,
            keys: self.common_keys(),
            numbers: HashMap::new(),
            lanes: HashMap::new(),
            now,
            work: Work {
                number: call.number,
                mark: &self.mark,
                slack: self.slack,
                grace: micros(GRACE + trip),
                beat: call.chore != Chore::None,
                leave: call.chore == Chore::Leave,
                place: &self.who.place,
                since: self.who.since,
                ..Work::default()
            },
        };
        for wish in &call.wishes {
            request.add(wish);
        }
        match call.chore {
            Chore::Renew => request.renews(),
            Chore::Leave => {
                for (row, key) in &self.waits_at {
                    request.state(*row, key.as_ref());
                }
            }
            Chore::None | Chore::Beat => {}
        }
        request.work.waiting = request.work.asks.len();
        let body = Body {
            work: Some(request.work),
            ..self.body(time)
        };
        Request {
            keys: request.keys,
            body: as_json(&body),
        }
    }

    fn body(&self, time: Time) -> Body<'_> {
        Body {
            member: &self.who.member,
            hash: &self.terms.hash,
            kept: self.terms.kept,
            time: match time {
                Time::Server => None,
                Time::Told(now) => Some(now),
            },
            join: None,
            work: None,
        }
    }

    fn common_keys(&self) -> Vec<String> {
        let key = |what: &str| format!("shaper:{{{}}}:{what}", self.name);
        let record = format!("member:{}", self.who.member);
        ["run", "members", &record, "pauses", "usage"]
            .map(key)
            .into()
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
            let answer = match words.next()? {
                "+" => Answer::Granted(self.granted(parts, words)?),
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
            answers.push((*id, answer));
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

/// A request while it is put together.
struct Building<'a> {
    caller: &'a Caller,
    keys: Vec<String>,
    numbers: HashMap<(usize, Option<&'a Arc<str>>), usize>,
    lanes: HashMap<&'a str, usize>,
    now: Tick,
    work: Work<'a>,
}

impl<'a> Building<'a> {
    fn add(&mut self, wish: &'a Wish) {
        match wish {
            Wish::Admit {
                lane,
                could_go,
                parts,
                ..
            } => {
                let lane = self.lane(lane);
                let parts = parts.iter().flat_map(|part| {
                    let (state, dearest) = self.of(part.of, part.key.as_ref());
                    [
                        state as u64,
                        part.cost.get().min(dearest),
                        part.more.min(dearest),
                    ]
                });
                let parts = parts.collect();
                let age = self.ago(*could_go);
                self.work.asks.push((lane, age, parts));
            }
            Wish::Moved(bill, at) => {
                let place = self.caller.terms.place(bill.of);
                if place.is_some_and(|place| self.caller.terms.row(place).heeds_moves) {
                    let (state, cost) = self.bill(bill);
                    let age = self.ago(*at);
                    self.work.moved.push((state, bill.mark.0, cost, age));
                }
            }
            Wish::Settle(bill, at, used) => {
                let (state, cost) = self.bill(bill);
                let used = match used {
                    Used::NeverSent => 0,
                    Used::Unknown => -1,
                    Used::Known(used) => self.most_used(bill, *used),
                };
                let age = self.ago(*at);
                self.work.settle.push((state, bill.mark.0, cost, age, used));
            }
            Wish::Pause(lane, until) => {
                let span = micros(until.since(self.now));
                self.work.pauses.push((hashed("", lane), span));
            }
        }
    }

    /// What is owed stops at twice what a limit holds.
    fn most_used(&self, bill: &Bill, used: u64) -> i64 {
        let place = self.caller.terms.place(bill.of);
        let most = place.map_or(0, |place| self.caller.terms.row(place).most);
        let most = most.saturating_mul(2).saturating_add(bill.cost.get());
        i64::try_from(used.min(most)).unwrap_or(i64::MAX)
    }

    fn bill(&mut self, bill: &'a Bill) -> (usize, u64) {
        let (state, dearest) = self.of(bill.of, bill.key.as_ref());
        (state, bill.cost.get().min(dearest))
    }

    fn renews(&mut self) {
        let Some(row) = self.caller.terms.place(Common::Slots) else {
            return;
        };
        for (mark, cost) in &self.caller.leases {
            let state = self.state(row, None);
            self.work.renew.push((state, mark.0, *cost));
        }
    }

    /// The number of a state in this call, and the most that its limit can be charged.
    fn of(&mut self, of: Common, key: Option<&'a Arc<str>>) -> (usize, u64) {
        let row = self.caller.terms.place(of);
        let row = row.expect("only limits that are shared are asked for");
        (self.state(row, key), self.caller.terms.row(row).dearest)
    }

    /// The number of a state in this call, from one.
    fn state(&mut self, row: usize, key: Option<&'a Arc<str>>) -> usize {
        let next = self.work.states.len() + 1;
        let number = *self.numbers.entry((row, key)).or_insert(next);
        if number == next {
            let limit = self.caller.terms.row(row);
            let state = match key {
                None => limit.stem.clone(),
                Some(value) => format!("{}:{}", limit.stem, hashed(&limit.stem, value)),
            };
            let first = self.keys.len() - self.caller.common_keys().len();
            self.work.states.push((row, first));
            let log = limit.log.then(|| format!("{state}:log"));
            self.keys.push(state);
            self.keys.extend(log);
        }
        number
    }

    /// The number of a lane in this call, from one.
    fn lane(&mut self, lane: &'a Arc<str>) -> usize {
        let next = self.work.lanes.len() + 1;
        let number = *self.lanes.entry(lane).or_insert(next);
        if number == next {
            self.work.lanes.push(hashed("", lane));
        }
        number
    }

    /// Microseconds since then, rounded down: what has left counts for no shorter than it should.
    fn ago(&self, at: Tick) -> u64 {
        nanos(self.now.since(at)) / 1_000
    }
}

/// Values may be credentials, and names of lanes hold them: the store sees neither.
fn hashed(of: &str, value: &str) -> String {
    let text = format!("{of}\0{value}");
    format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))
}

fn unread(reply: &str) -> Problem {
    let what = format!("the store has answered what cannot be read: {reply:.80}");
    Problem::new(
        Exit::Store,
        what,
        "use one version of this program for all who share it",
    )
}
