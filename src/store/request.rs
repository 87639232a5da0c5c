//! A call as the script reads it. Floor 4: doors.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use twox_hash::XxHash3_128;

use super::call::{Call, Caller, Chore};
use super::shared::{EXACT, Row, as_json, micros};
use crate::engine::share::{Bill, Common, Debt, Part, Taught, Wish};
use crate::limit::{Lesson, Standing, Used};
use crate::units::{Tick, nanos};

/// Who waits and does not come keeps its place for so long after its moment.
const GRACE: Duration = Duration::from_millis(10);

/// By which clock the store counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Its own.
    Server,
    /// It is told, in microseconds since the Unix epoch: for tests, which need exact moments.
    Told(u64),
}

/// What is sent: keys, and the one argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Every key that the script may touch.
    pub keys: Vec<String>,
    /// The call.
    pub body: String,
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
    texts: &'a str,
    stems: &'a str,
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
    /// State, cost, how long ago.
    owed: Vec<(usize, u64, u64)>,
    /// State, mark, cost.
    renew: Vec<(usize, u64, u64)>,
    /// Lane, for how long.
    pauses: Vec<(String, u64)>,
    lanes: Vec<String>,
    /// What answers teach.
    learn: Vec<Teaches<'a>>,
    /// States of which is learnt, and which version of that is known here.
    versions: Vec<(usize, u64)>,
    asks: Vec<Ask>,
}

/// Lane, how long ago it could have gone, and for each part its state and cost. Ahead also how many at most, and how far.
#[derive(Serialize)]
#[serde(untagged)]
enum Ask {
    Now(usize, u64, Vec<u64>),
    Ahead(usize, u64, Vec<u64>, u64, u64),
}

/// A lesson, told so long ago.
#[derive(Serialize)]
struct Teaches<'a> {
    state: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<u64>,
    age: u64,
    word: &'static str,
    /// So long after it the server takes more again.
    #[serde(skip_serializing_if = "Option::is_none")]
    back: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<Said<'a>>,
}

/// How a limit stands: it is full again so long after that was told.
#[derive(Serialize)]
struct Said<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full: Option<u64>,
    refills: bool,
}

impl<'a> Said<'a> {
    fn of(said: &'a Standing) -> Self {
        let exact = |number: u64| number.min(EXACT);
        let span = |span: Duration| exact(micros(span));
        Self {
            name: &said.name,
            limit: said.limit.map(exact),
            period: said.period.map(span),
            left: said.left.map(exact),
            full: said.full_at.map(|full_at| span(full_at.since(said.at))),
            refills: said.refills,
        }
    }
}

impl Caller {
    /// To be there, or to be there again.
    pub fn join(&self, time: Time) -> Request {
        let body = Body {
            join: Some(Join {
                text: &self.terms.text,
                limits: &self.terms.limits,
                texts: &self.terms.texts,
                stems: &self.terms.stems,
            }),
            ..self.body(time)
        };
        Request {
            keys: self.common_keys(),
            body: as_json(&body),
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
        common_keys(&self.name, &self.who.member)
    }
}

/// The keys that every call has, in the order in which the script knows them.
pub(super) fn common_keys(name: &str, member: &str) -> Vec<String> {
    let record = format!("member:{member}");
    let all = [
        "run", "members", &record, "pauses", "usage", "learnt", "recent",
    ];
    all.map(|what| format!("shaper:{{{name}}}:{what}")).into()
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
                let ask = Ask::Now(self.lane(lane), self.ago(*could_go), self.parts(parts));
                self.work.asks.push(ask);
            }
            Wish::Lease {
                lane,
                could_go,
                parts,
                most,
                reach,
                ..
            } => {
                let (age, parts) = (self.ago(*could_go), self.parts(parts));
                let ask = Ask::Ahead(self.lane(lane), age, parts, *most, micros(*reach));
                self.work.asks.push(ask);
            }
            Wish::Moved(bill, at) => {
                let place = self.caller.terms.place(bill.of);
                if place.is_some_and(|place| self.caller.terms.row(place).heeds_moves) {
                    let (state, cost) = self.bill(bill);
                    let age = self.ago(*at);
                    let mark = self.caller.number(bill.mark);
                    self.work.moved.push((state, mark, cost, age));
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
                let mark = self.caller.number(bill.mark);
                self.work.settle.push((state, mark, cost, age, used));
            }
            Wish::Pause(lane, until) => {
                let span = micros(until.since(self.now));
                self.work.pauses.push((hashed("", lane), span));
            }
            Wish::Owe(Debt { of, key, taken }) => {
                let (state, dearest) = self.of(*of, key.as_ref());
                let owed = taken.iter().map(|(at, cost)| {
                    let age = nanos(self.now.since(*at)) / 1_000;
                    (state, cost.get().min(dearest), age)
                });
                self.work.owed.extend(owed);
            }
            Wish::Learn(taught) => self.teaches(taught),
            Wish::Hold(bill) => {
                // It may have been given back since.
                if self.caller.held.contains_key(&bill.mark) {
                    let (state, cost) = self.bill(bill);
                    let mark = self.caller.number(bill.mark);
                    self.work.renew.push((state, mark, cost));
                }
            }
        }
    }

    fn teaches(&mut self, taught: &'a Taught) {
        let (state, _) = self.of(Common::Learnt(taught.of), Some(&taught.lane));
        let (word, at, back, said) = match &taught.lesson {
            Lesson::Accepted { at, .. } => ("accepted", *at, None, None),
            Lesson::Refused { at, back, .. } => {
                let back = back.map(|back| micros(back.since(*at)).min(EXACT));
                ("refused", *at, back, None)
            }
            Lesson::Told(said) => ("told", said.at, None, Some(Said::of(said))),
        };
        self.work.learn.push(Teaches {
            state,
            mark: taught.mark.map(|mark| mark.0),
            age: self.ago(at),
            word,
            back,
            said,
        });
    }

    fn parts(&mut self, parts: &'a [Part]) -> Vec<u64> {
        let parts = parts.iter().flat_map(|part| {
            let (state, dearest) = self.of(part.of, part.key.as_ref());
            [state as u64, part.cost.get().min(dearest)]
        });
        parts.collect()
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
        for (mark, cost) in &self.caller.held {
            let state = self.state(row, None);
            let mark = self.caller.number(*mark);
            self.work.renew.push((state, mark, *cost));
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
            let state = limit.key(key);
            let first = self.keys.len() - self.caller.common_keys().len();
            self.work.states.push((row, first));
            let log = limit.log.then(|| format!("{state}:log"));
            self.keys.push(state);
            self.keys.extend(log);
            if let Some(lane) = key.filter(|_| limit.learns) {
                let version = self.caller.version(row, lane);
                self.work.versions.push((number, version));
            }
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

impl Row {
    /// How the state for this value of its key is called.
    pub(super) fn key(&self, value: Option<&Arc<str>>) -> String {
        match value {
            None => self.stem.clone(),
            Some(value) => format!("{}:{}", self.stem, hashed(&self.stem, value)),
        }
    }
}

/// Values may be credentials, and names of lanes hold them: the store sees neither.
fn hashed(of: &str, value: &str) -> String {
    let text = format!("{of}\0{value}");
    format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))
}
