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
        let asked = clock.now();
        let mut found = self.found.lock().await;
        if let Some(known) = &*found {
            let fresh = known.addresses.is_ok() && asked.since(known.at) < REMEMBERED;
            if fresh || asked < known.at {
                return known.addresses.clone();
            }
        }
        let looked_up = lookup_host((&*self.host, self.port)).await;
        let addresses = looked_up
            .and_then(|all| self.reach.of_name(all))
            .map(in_turn)
            .map_err(Arc::new);
        *found = Some(Found {
            at: clock.now(),
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
    use super::*;

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
