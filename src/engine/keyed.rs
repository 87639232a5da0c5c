//! The states of the rules: one for all lanes, or one for each value of a key. Floor 3: rules.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use crate::limit::Limit;
use crate::units::Tick;

/// Number of a state, for as long as a lane uses it or it is not as new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StateId(u32);

/// For whom a rule has one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All jobs together.
    All,
    /// Each origin.
    Origin,
    /// Each value of the key of this number.
    Key(usize),
    /// Each origin with the values of all keys.
    Lane,
}

#[derive(Debug)]
struct State {
    limit: Box<dyn Limit>,
    rule: usize,
    /// Its value of the rule's key; `None` if it is for all.
    key: Option<Arc<str>>,
    /// Lanes that use it.
    users: usize,
    /// The costs of those who wait, where a line is asked how long it takes.
    ahead: u128,
    idle: Idle,
}

/// Whether a state is listed among those that no lane uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Idle {
    Listed,
    NotListed,
}

/// All states of all rules.
#[derive(Debug, Default)]
pub(super) struct States {
    all: Vec<Option<State>>,
    free: Vec<StateId>,
    /// One map a rule.
    by_key: Vec<HashMap<Arc<str>, StateId>>,
    /// States that no lane uses, each once, by the moment from which they are as new; one that is used
    /// again stays listed until then.
    idle: BinaryHeap<Reverse<(Tick, StateId)>>,
}

impl States {
    /// The only state of a rule, for all lanes.
    pub(super) fn shared(&mut self, rule: usize, limit: Box<dyn Limit>) -> StateId {
        self.add(State {
            limit,
            rule,
            key: None,
            users: 1,
            ahead: 0,
            idle: Idle::NotListed,
        })
    }

    /// The state of a rule for this value of its key, with one more lane; a new one has the limit of `build`.
    pub(super) fn of(
        &mut self,
        rule: usize,
        key: &Arc<str>,
        build: impl FnOnce() -> Box<dyn Limit>,
    ) -> StateId {
        if self.by_key.len() <= rule {
            self.by_key.resize_with(rule + 1, HashMap::new);
        }
        if let Some(&id) = self.by_key[rule].get(key) {
            self.state_mut(id).users += 1;
            return id;
        }
        let id = self.add(State {
            limit: build(),
            rule,
            key: Some(key.clone()),
            users: 1,
            ahead: 0,
            idle: Idle::NotListed,
        });
        self.by_key[rule].insert(key.clone(), id);
        id
    }

    fn add(&mut self, state: State) -> StateId {
        if let Some(id) = self.free.pop() {
            self.all[id.0 as usize] = Some(state);
            return id;
        }
        self.all.push(Some(state));
        StateId(u32::try_from(self.all.len() - 1).expect("fewer states than bytes of memory"))
    }

    /// One lane less uses it.
    pub(super) fn leave(&mut self, id: StateId) {
        let state = self.state_mut(id);
        if state.key.is_none() {
            return;
        }
        state.users -= 1;
        if state.users == 0 && state.idle == Idle::NotListed {
            // A lane without members has settled all that it took, so there is a moment.
            let fresh_at = state.limit.fresh_at().unwrap_or(Tick(u64::MAX));
            state.idle = Idle::Listed;
            self.idle.push(Reverse((fresh_at, id)));
        }
    }

    /// Whether lanes use it besides the one that asks.
    pub(super) fn has_others(&self, id: StateId) -> bool {
        let state = self.state(id);
        state.key.is_none() || state.users > 1
    }

    /// States that no lane uses and that are as new are forgotten: the next one of their key is equal.
    pub(super) fn forget_idle(&mut self, now: Tick) {
        while let Some(&Reverse((fresh_at, id))) = self.idle.peek() {
            if fresh_at > now {
                return;
            }
            self.idle.pop();
            let state = self.all[id.0 as usize].as_mut().expect(USED);
            let fresh_at = state.limit.fresh_at().filter(|_| state.users == 0);
            match (fresh_at, &state.key) {
                (Some(at), Some(key)) if at <= now => {
                    self.by_key[state.rule].remove(key);
                    self.all[id.0 as usize] = None;
                    self.free.push(id);
                }
                (Some(later), _) => self.idle.push(Reverse((later, id))),
                (None, _) => state.idle = Idle::NotListed,
            }
        }
    }

    /// The limit of a state.
    pub(super) fn limit(&self, id: StateId) -> &dyn Limit {
        &*self.state(id).limit
    }

    /// The limit of a state, to be changed.
    pub(super) fn limit_mut(&mut self, id: StateId) -> &mut dyn Limit {
        &mut *self.state_mut(id).limit
    }

    /// The state of a rule for this value of its key, if there is one.
    pub(super) fn find(&self, rule: usize, key: &Arc<str>) -> Option<StateId> {
        self.by_key.get(rule)?.get(key).copied()
    }

    /// The value of the rule's key that a state is for; `None` if it is for all.
    pub(super) fn key(&self, id: StateId) -> Option<&Arc<str>> {
        self.state(id).key.as_ref()
    }

    /// The limits of all states of a rule, each with the value of its key.
    pub(super) fn of_rule(
        &mut self,
        rule: usize,
    ) -> impl Iterator<Item = (Option<&Arc<str>>, &mut dyn Limit)> {
        let states = self.all.iter_mut().flatten();
        let own = states.filter(move |state| state.rule == rule);
        own.map(|state| (state.key.as_ref(), &mut *state.limit as &mut dyn Limit))
    }

    /// The costs of those who wait for it.
    pub(super) fn ahead(&self, id: StateId) -> u128 {
        self.state(id).ahead
    }

    /// The costs of those who wait for it, to be changed.
    pub(super) fn ahead_mut(&mut self, id: StateId) -> &mut u128 {
        &mut self.state_mut(id).ahead
    }

    fn state(&self, id: StateId) -> &State {
        self.all[id.0 as usize].as_ref().expect(USED)
    }

    fn state_mut(&mut self, id: StateId) -> &mut State {
        self.all[id.0 as usize].as_mut().expect(USED)
    }
}

/// Why a state is there.
const USED: &str = "a state lives while a lane uses it or it is listed";

#[cfg(test)]
impl States {
    /// Entries of the list of states that no lane uses.
    pub(super) fn listed(&self) -> usize {
        self.idle.len()
    }

    /// Every state for a value of a key is used by as many lanes as have it, and found by its key; what
    /// waits for a state is what `waiting` says.
    pub(super) fn recount(&self, lanes: &[Arc<[StateId]>], waiting: &HashMap<StateId, u128>) {
        for (place, state) in self.all.iter().enumerate() {
            let Some(state) = state else { continue };
            let id = StateId(u32::try_from(place).unwrap());
            let ahead = waiting.get(&id).copied().unwrap_or_default();
            assert_eq!(state.ahead, ahead, "what waits for {state:?}");
            if let Some(key) = &state.key {
                let users = lanes.iter().filter(|states| states.contains(&id));
                assert_eq!(state.users, users.count(), "lanes of {state:?}");
                assert_eq!(self.by_key[state.rule].get(key), Some(&id));
            }
        }
        let named: usize = self.by_key.iter().map(HashMap::len).sum();
        assert_eq!(named, self.keyed(), "names of states");
    }

    /// States that are kept for a value of a key.
    pub(super) fn keyed(&self) -> usize {
        let keyed = |state: &&State| state.key.is_some();
        self.all.iter().flatten().filter(keyed).count()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use bytes::Bytes;
    use http::StatusCode;

    use super::super::{Action, Engine, Event, Rules};
    use super::*;
    use crate::fields::Fields;
    use crate::job::{Job, Origin, Place, Target};
    use crate::outcome::{Head, Reply};
    use crate::units::Cost;

    const MILLI: u64 = 1_000_000;

    fn job(nth: u64) -> Job {
        of("http://h", nth)
    }

    fn of(origin: &str, nth: u64) -> Job {
        let target: Target = "http://h/".parse().unwrap();
        Job {
            keys: [Arc::from(nth.to_string())].into(),
            ..Job::get(Place::new("-", nth), target, Origin(origin.into()))
        }
    }

    /// One job of a key of its own: read, sent, answered, written.
    pub(in super::super) fn live(engine: &mut Engine, nth: u64, now: Tick) {
        live_as(engine, nth, job(nth), now);
    }

    fn live_as(engine: &mut Engine, nth: u64, job: Job, now: Tick) {
        let mut actions = Vec::new();
        let read = Event::read(Ok(job), now);
        engine.tell(now, read, &mut actions);
        engine.decide(now, &mut actions);
        let sent = actions.iter().find_map(|action| match action {
            Action::Send(ticket, ..) => Some(*ticket),
            Action::Read(_)
            | Action::Prepare(..)
            | Action::Store(_)
            | Action::Record(..)
            | Action::Stop(_) => None,
        });
        let ticket = sent.unwrap_or_else(|| panic!("{nth} is not sent: {actions:?}"));
        let head = Head {
            at: now,
            wall: std::time::UNIX_EPOCH,
            status: StatusCode::OK,
            headers: Fields::default(),
        };
        engine.tell(now, Event::Sent(ticket, now), &mut actions);
        engine.tell(
            now,
            Event::Answered(ticket, Box::new(head.clone())),
            &mut actions,
        );
        let reply = Reply {
            head,
            body: Bytes::new(),
            used: None,
            fault: None,
        };
        engine.tell(
            now,
            Event::Ended(ticket, now, Box::new(Ok(reply))),
            &mut actions,
        );
        engine.tell(now, Event::Recorded(ticket), &mut actions);
    }

    #[test]
    fn keys_are_kept_until_their_limit_is_as_new_and_not_for_ever() {
        for limit in [
            "10/s bucket burst=10",
            "10/s leaky burst=10",
            "1/s window",
            "1/s window at=reply",
            "1/500ms window-counter",
            "1/s fixed",
            "1/s fixed anchor=first",
        ] {
            let rules = Rules {
                limits: vec![format!("{limit} per=field:key").parse().unwrap()],
                ..Rules::default()
            };
            let mut engine = Engine::new(rules);
            engine.decide(Tick::ZERO, &mut Vec::new());
            let mut most = 0;
            // A new key each millisecond, for ten seconds.
            for nth in 0..10_000 {
                live(&mut engine, nth, Tick(nth * MILLI));
                most = most.max(engine.gate.keyed());
            }
            assert!(most <= 1_001, "{limit}: {most} keys are kept");
            engine.decide(Tick(20_000 * MILLI), &mut Vec::new());
            assert_eq!(engine.gate.keyed(), 0, "{limit}");
        }
    }

    #[test]
    fn a_host_is_forgotten_with_its_last_job() {
        let rules = Rules {
            per_host: Cost::new(2),
            adaptive: true,
            ..Rules::default()
        };
        let mut engine = Engine::new(rules);
        engine.decide(Tick::ZERO, &mut Vec::new());
        for nth in 0..10_000 {
            let origin = format!("http://host-{nth}");
            live_as(&mut engine, nth, of(&origin, nth), Tick(nth));
            assert_eq!(engine.lanes.kept(), (0, 0), "after {origin}");
            assert!(
                engine.gate.keyed() <= 10 && engine.gate.listed() <= 10,
                "after {origin}"
            );
        }
        engine.decide(Tick(20_000), &mut Vec::new());
        assert_eq!(engine.gate.keyed(), 0);
    }

    #[test]
    fn a_key_that_comes_and_goes_is_listed_once() {
        let rules = Rules {
            limits: vec!["1000/h bucket burst=1000 per=field:key".parse().unwrap()],
            ..Rules::default()
        };
        let mut engine = Engine::new(rules);
        engine.decide(Tick::ZERO, &mut Vec::new());
        for nth in 0..900 {
            live(&mut engine, 7, Tick(nth * MILLI));
        }
        assert_eq!(engine.gate.keyed(), 1);
        assert_eq!(engine.gate.listed(), 1);
    }
}
