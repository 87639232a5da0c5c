//! The connections that stay open between tries, by origin. Floor 4: doors.
//!
//! Both transports keep the idle connections of one origin together, and close them for certain when that is
//! dropped. How many stay open is bounded here for all origins: a list of 200 000 hosts would hold that many
//! sockets.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::job::Origin;
use crate::units::Tick;

/// A connection that was idle for so long is closed, or not used again, where nothing else is said: the default of
/// the library.
pub(super) const MOST_IDLE: Duration = Duration::from_secs(90);

/// So many connections may stay open however few are in use. One holds about 20 kB.
const FEW: usize = 1024;

/// Where more are in use at once, so many times as many may stay open: some origins are then busy in turn.
const IN_TURN: usize = 4;

/// What carries the requests of each origin of a run, with its idle connections.
#[derive(Debug)]
pub(super) struct Pool<C>(RefCell<Origins<C>>);

impl<C: Clone> Pool<C> {
    /// A pool that keeps so many connections at most, and each for so long.
    pub(super) fn keeping(most: usize, idle: Duration) -> Self {
        Self(RefCell::new(Origins::new(most, idle)))
    }

    /// A try of this origin begins; `make` makes the carrier of one that has none.
    pub(super) fn enter<E>(
        self: &Rc<Self>,
        origin: &Origin,
        now: Tick,
        make: impl FnOnce() -> Result<C, E>,
    ) -> Result<(C, Lease<C>), E> {
        let (kept, after) = self.0.borrow_mut().enter(origin, now, make)?;
        let carrier = kept.carrier.clone();
        let lease = Lease {
            after,
            kept,
            pool: Rc::clone(self),
        };
        Ok((carrier, lease))
    }

    /// What carries the requests of this origin, if it has carried some.
    pub(super) fn carrier(&self, origin: &Origin) -> Option<C> {
        let origins = self.0.borrow();
        origins.find(origin).map(|kept| kept.carrier.clone())
    }
}

/// What becomes of the connection when its try has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// It stays open for the next try.
    Stays,
    /// There is no room for it.
    Closes,
}

/// The use of an origin for one try.
pub(super) struct Lease<C: Clone> {
    after: After,
    kept: Rc<Kept<C>>,
    pool: Rc<Pool<C>>,
}

impl<C: Clone> Lease<C> {
    pub(super) fn after(&self) -> After {
        self.after
    }
}

impl<C: Clone> Drop for Lease<C> {
    fn drop(&mut self) {
        self.pool.0.borrow_mut().leave(&self.kept, self.after);
    }
}

/// The origins whose connections are kept.
#[derive(Debug)]
struct Origins<C> {
    all: HashMap<Origin, Rc<Kept<C>>>,
    /// The one of them that was asked last: the jobs of a run mostly go where the one before went.
    latest: Option<Rc<Kept<C>>>,
    /// Those without a try in flight, by when they had their last.
    idle: BTreeMap<u64, Rc<Kept<C>>>,
    /// Counts up.
    now: u64,
    /// Connections that are or stay open at most; never more than `most`.
    open: usize,
    in_use: usize,
    most_in_use: usize,
    /// So many may be kept at most.
    most: usize,
    /// For so long.
    most_idle: Duration,
}

#[derive(Debug)]
struct Kept<C> {
    origin: Origin,
    carrier: C,
    in_use: Cell<usize>,
    /// Those of them whose connections close.
    closing: Cell<usize>,
    /// As many as ever were in use at once and stayed. Some may have been closed since.
    open: Cell<usize>,
    /// When it had its last try.
    last: Cell<u64>,
    /// When that began.
    last_at: Cell<Tick>,
}

impl<C> Kept<C> {
    fn new(origin: Origin, carrier: C, now: Tick) -> Self {
        Self {
            origin,
            carrier,
            in_use: Cell::new(0),
            closing: Cell::new(0),
            open: Cell::new(0),
            last: Cell::new(0),
            last_at: Cell::new(now),
        }
    }
}

fn add(count: &Cell<usize>, more: usize) {
    count.set(count.get() + more);
}

fn subtract(count: &Cell<usize>, fewer: usize) {
    count.set(count.get() - fewer);
}

impl<C: Clone> Origins<C> {
    fn new(most: usize, most_idle: Duration) -> Self {
        Self {
            all: HashMap::new(),
            latest: None,
            idle: BTreeMap::new(),
            now: 0,
            open: 0,
            in_use: 0,
            most_in_use: 0,
            most,
            most_idle,
        }
    }

    fn find(&self, origin: &Origin) -> Option<&Rc<Kept<C>>> {
        // Jobs with one origin share its name.
        let latest = self.latest.as_ref();
        let latest = latest.filter(|latest| Arc::ptr_eq(&latest.origin.0, &origin.0));
        latest.or_else(|| self.all.get(origin))
    }

    fn enter<E>(
        &mut self,
        origin: &Origin,
        now: Tick,
        make: impl FnOnce() -> Result<C, E>,
    ) -> Result<(Rc<Kept<C>>, After), E> {
        self.close_forgotten(now);
        let kept = if let Some(kept) = self.find(origin) {
            Rc::clone(kept)
        } else {
            let kept = Rc::new(Kept::new(origin.clone(), make()?, now));
            self.all.insert(origin.clone(), Rc::clone(&kept));
            kept
        };
        self.latest = Some(Rc::clone(&kept));
        kept.last_at.set(now);
        if kept.in_use.get() == 0 {
            self.idle.remove(&kept.last.get());
        }
        add(&kept.in_use, 1);
        let one_more = kept.in_use.get() - kept.closing.get() > kept.open.get();
        self.in_use += 1;
        self.most_in_use = self.most_in_use.max(self.in_use);
        self.close_idle(self.room().saturating_sub(one_more.into()));
        let after = match one_more {
            true if self.open >= self.most => {
                add(&kept.closing, 1);
                After::Closes
            }
            true => {
                add(&kept.open, 1);
                self.open += 1;
                After::Stays
            }
            false => After::Stays,
        };
        Ok((kept, after))
    }

    fn leave(&mut self, kept: &Rc<Kept<C>>, after: After) {
        self.now += 1;
        self.in_use -= 1;
        subtract(&kept.in_use, 1);
        match after {
            After::Stays => {}
            After::Closes => subtract(&kept.closing, 1),
        }
        if kept.in_use.get() > 0 {
            return;
        }
        if kept.open.get() == 0 {
            self.close(kept);
        } else {
            kept.last.set(self.now);
            self.idle.insert(self.now, Rc::clone(kept));
        }
    }

    /// Drops the carriers of the origins that nobody has asked for so long that their connections are too old.
    fn close_forgotten(&mut self, now: Tick) {
        while let Some(oldest) = self.idle.first_entry()
            && now.since(oldest.get().last_at.get()) >= self.most_idle
        {
            let kept = oldest.remove();
            self.close(&kept);
        }
    }

    fn close(&mut self, kept: &Rc<Kept<C>>) {
        self.all.remove(&kept.origin);
        self.latest.take_if(|latest| Rc::ptr_eq(latest, kept));
        self.open -= kept.open.get();
    }

    /// Drops the carriers of the origins that were longest not asked, until so few connections are open.
    fn close_idle(&mut self, room: usize) {
        while self.open > room
            && let Some((_, kept)) = self.idle.pop_first()
        {
            self.close(&kept);
        }
    }

    fn room(&self) -> usize {
        let wanted = self.most_in_use.saturating_mul(IN_TURN);
        wanted.max(FEW).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Carriers are numbers in the order of their making.
    struct Run {
        origins: Origins<usize>,
        /// Each host has one name, as in a run.
        names: Vec<Origin>,
        made: usize,
        now: Tick,
    }

    impl Run {
        fn keeping(most: usize) -> Self {
            Self {
                origins: Origins::new(most, MOST_IDLE),
                names: Vec::new(),
                made: 0,
                now: Tick::ZERO,
            }
        }

        fn name(&mut self, host: usize) -> Origin {
            let names = self.names.len()..=host;
            self.names.extend(names.map(origin));
            self.names[host].clone()
        }

        fn enter(&mut self, host: usize) -> (usize, After) {
            let name = self.name(host);
            let make = || {
                self.made += 1;
                Ok::<_, Infallible>(self.made)
            };
            let Ok((kept, after)) = self.origins.enter(&name, self.now, make);
            (kept.carrier, after)
        }

        fn leave(&mut self, host: usize, after: After) {
            let kept = Rc::clone(&self.origins.all[&self.names[host]]);
            self.origins.leave(&kept, after);
        }

        /// So many tries of a host at once, and then their ends.
        fn burst(&mut self, host: usize, tries: usize) {
            let entered: Vec<_> = (0..tries).map(|_| self.enter(host)).collect();
            for (_, after) in entered {
                self.leave(host, after);
            }
        }
    }

    fn origin(host: usize) -> Origin {
        Origin(format!("http://{host}").into())
    }

    #[test]
    fn three_hosts_that_are_busy_in_turn_keep_all_their_connections() {
        let mut run = Run::keeping(usize::MAX);
        for _ in 0..4 {
            for host in 0..3 {
                run.burst(host, 2_000);
            }
        }
        assert_eq!((run.made, run.origins.open), (3, 6_000));
    }

    #[test]
    fn of_many_hosts_those_asked_last_are_kept() {
        let mut run = Run::keeping(usize::MAX);
        for host in 0..200_000 {
            run.burst(host, 1);
            // Asked all the time, it is never among the oldest.
            run.burst(0, 1);
        }
        assert_eq!(run.origins.open, FEW);
        assert_eq!(run.origins.all.len(), FEW);
        assert_eq!(run.made, 200_000);
        run.enter(199_999);
        assert_eq!(run.made, 200_000, "it is kept");
        run.enter(1);
        assert_eq!(run.made, 200_001, "it is made anew");
    }

    #[test]
    fn hosts_that_come_in_bursts_count_with_every_connection() {
        let mut run = Run::keeping(usize::MAX);
        for host in 0..1_000 {
            run.burst(host, 100);
            assert!(run.origins.open <= FEW, "{}", run.origins.open);
        }
    }

    #[test]
    fn an_origin_in_use_is_never_closed() {
        let mut run = Run::keeping(2);
        let (first, after) = run.enter(0);
        for host in 1..100 {
            run.burst(host, 1);
        }
        let (again, after_again) = run.enter(0);
        assert_eq!(again, first);
        run.leave(0, after);
        run.leave(0, after_again);
        assert_eq!(run.enter(0).0, first, "nobody else needs the room");
        assert!(run.origins.all.len() <= 2, "{:?}", run.origins);
    }

    #[test]
    fn connections_close_with_their_tries_where_others_hold_all_the_room() {
        let mut run = Run::keeping(10);
        let busy: Vec<_> = (0..10).map(|_| run.enter(0)).collect();
        for (_, after) in &busy[1..] {
            run.leave(0, *after);
        }
        // The first host is still asked, so what it has open stays.
        for host in 1..100 {
            let (_, after) = run.enter(host);
            assert_eq!((after, run.origins.open), (After::Closes, 10));
            run.leave(host, after);
        }
        assert_eq!(run.origins.all.len(), 1, "{:?}", run.origins);
        run.leave(0, busy[0].1);
        assert_eq!(run.enter(1).1, After::Stays);
        assert_eq!(run.origins.open, 1);
    }

    #[test]
    fn without_any_room_each_connection_closes() {
        let mut run = Run::keeping(0);
        run.burst(0, 3);
        assert_eq!(run.enter(0).1, After::Closes);
        assert_eq!(run.origins.open, 0);
    }

    #[test]
    fn hosts_that_nobody_asks_are_forgotten_when_others_are_asked() {
        let mut run = Run::keeping(usize::MAX);
        run.burst(0, 3);
        run.enter(1);
        run.now = run.now.after(MOST_IDLE / 2);
        run.burst(2, 1);
        run.now = run.now.after(MOST_IDLE / 2);
        run.burst(3, 1);
        assert_eq!((run.made, run.origins.open), (4, 3));
        assert_eq!(run.enter(0).0, 5, "it is made anew");
        assert_eq!(run.enter(1).0, 2, "it is in use");
        assert_eq!(run.enter(2).0, 3, "it was asked since");
    }

    #[test]
    fn what_cannot_be_made_is_not_counted() {
        let mut origins: Origins<()> = Origins::new(2, MOST_IDLE);
        let refused = origins.enter(&origin(0), Tick::ZERO, || Err("no"));
        assert_eq!(refused.err(), Some("no"));
        assert_eq!((origins.all.len(), origins.open, origins.in_use), (0, 0, 0));
    }
}
