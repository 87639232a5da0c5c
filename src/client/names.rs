//! The addresses of a host, remembered for a while. Floor 4: doors.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::sync::Mutex;

use crate::client::reach::Reach;
use crate::clock::Clock;
use crate::units::Tick;

/// So long addresses are remembered: resolvers do not say for how long they hold, and operators who move a name
/// commonly give it a minute.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Where a server is.
#[derive(Debug)]
pub(super) enum Place {
    Known(SocketAddr),
    Named(Names),
    Unix(PathBuf),
}

/// A name and what was found under it.
#[derive(Debug)]
pub(super) struct Names {
    host: Box<str>,
    port: u16,
    reach: Reach,
    /// Held while it is looked up: many tries at once ask once.
    found: Mutex<Option<Found>>,
}

#[derive(Debug)]
struct Found {
    at: Tick,
    addresses: Result<Arc<[SocketAddr]>, Arc<io::Error>>,
}

impl Names {
    pub(super) fn of(host: &str, port: u16, reach: Reach) -> Self {
        Self {
            host: host.into(),
            port,
            reach,
            found: Mutex::new(None),
        }
    }

    /// The addresses, in the order in which families take turns. RFC 8305 §4.
    ///
    /// An answer that came after the question is taken, good or bad; a good one for a while longer.
    pub(super) async fn addresses(
        &self,
        clock: Clock,
    ) -> Result<Arc<[SocketAddr]>, Arc<io::Error>> {
        let look_up = async || Ok(lookup_host((&*self.host, self.port)).await?.collect());
        self.addresses_by(look_up, || clock.now()).await
    }

    /// The same, looked up so, by this time.
    async fn addresses_by(
        &self,
        look_up: impl AsyncFnOnce() -> io::Result<Vec<SocketAddr>>,
        now: impl Fn() -> Tick,
    ) -> Result<Arc<[SocketAddr]>, Arc<io::Error>> {
        let asked = now();
        let mut found = self.found.lock().await;
        if let Some(known) = &*found {
            let fresh = known.addresses.is_ok() && asked.since(known.at) < REMEMBERED;
            if fresh || asked < known.at {
                return known.addresses.clone();
            }
        }
        let looked_up = look_up().await;
        let addresses = looked_up
            .and_then(|all| self.reach.of_name(all.into_iter()))
            .map(in_turn)
            .map_err(Arc::new);
        *found = Some(Found {
            at: now(),
            addresses: addresses.clone(),
        });
        addresses
    }

    /// They lead nowhere: the next who asks has them looked up again.
    pub(super) fn forget(&self) {
        // Whoever holds it is looking them up.
        if let Ok(mut found) = self.found.try_lock() {
            *found = None;
        }
    }
}

/// The family of the first, the other, and so on; within a family the order of the system. RFC 8305 §4.
fn in_turn(all: Vec<SocketAddr>) -> Arc<[SocketAddr]> {
    let first_is_v6 = all.first().is_some_and(SocketAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|it| it.is_ipv6() == first_is_v6);
    let turns = one.len().max(other.len());
    let pairs = (0..turns).flat_map(|nth| [one.get(nth), other.get(nth)]);
    pairs.flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// A resolver that counts what it is asked, and a clock that stands still.
    #[derive(Default)]
    struct Resolver {
        asked: Cell<u32>,
        /// What it knows, once it may answer.
        answer: Cell<Option<bool>>,
        now: Cell<Tick>,
    }

    impl Resolver {
        async fn look_up(&self) -> io::Result<Vec<SocketAddr>> {
            self.asked.set(self.asked.get() + 1);
            let answer = poll_fn(|_| match self.answer.get() {
                Some(knows) => Poll::Ready(knows),
                None => Poll::Pending,
            });
            if answer.await {
                Ok(vec![([127, 0, 0, 1], 1).into()])
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        }

        /// How many of so many tries that ask together get addresses, where it answers a second later; and how often
        /// it was asked for that.
        fn ask(&self, names: &Names, tries: usize, knows: bool) -> (usize, u32) {
            let before = self.asked.replace(0);
            self.answer.set(None);
            let ask = || names.addresses_by(async || self.look_up().await, || self.now.get());
            let mut waiting: Vec<Pin<Box<_>>> = (0..tries).map(|_| Box::pin(ask())).collect();
            let cx = &mut Context::from_waker(Waker::noop());
            let mut found = 0;
            for _ in 0..2 {
                waiting.retain_mut(|asks| match asks.as_mut().poll(cx) {
                    Poll::Ready(addresses) => {
                        found += usize::from(addresses.is_ok());
                        false
                    }
                    Poll::Pending => true,
                });
                self.answer.set(Some(knows));
                self.now.set(self.now.get().after(Duration::from_secs(1)));
            }
            assert!(waiting.is_empty());
            (found, self.asked.replace(before))
        }
    }

    #[test]
    fn a_name_is_looked_up_once_for_all_who_ask_together_and_once_a_minute() {
        let (resolver, names) = (Resolver::default(), Names::of("h", 1, Reach::Anywhere));
        assert_eq!(resolver.ask(&names, 1000, true), (1000, 1));
        for _ in 0..20 {
            assert_eq!(
                resolver.ask(&names, 100, false),
                (100, 0),
                "it is remembered"
            );
        }
        resolver.now.set(resolver.now.get().after(REMEMBERED));
        assert_eq!(resolver.ask(&names, 100, true), (100, 1));
        names.forget();
        assert_eq!(resolver.ask(&names, 100, true), (100, 1), "it led nowhere");
    }

    #[test]
    fn a_name_that_is_unknown_is_so_for_all_who_asked_and_looked_up_for_the_next() {
        let (resolver, names) = (Resolver::default(), Names::of("h", 1, Reach::Anywhere));
        assert_eq!(resolver.ask(&names, 1000, false), (0, 1));
        assert_eq!(resolver.ask(&names, 1000, false), (0, 1));
        assert_eq!(resolver.ask(&names, 1000, true), (1000, 1));
    }

    #[test]
    fn families_take_turns_beginning_with_the_first() {
        let parse = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let all = parse(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]);
        let turns = parse(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]);
        assert_eq!(*in_turn(all), *turns);
        let all = parse(&["1.1.1.1:1", "[::1]:1", "2.2.2.2:1"]);
        assert_eq!(
            *in_turn(all),
            *parse(&["1.1.1.1:1", "[::1]:1", "2.2.2.2:1"])
        );
        assert_eq!(in_turn(Vec::new()).len(), 0);
    }
}
