//! The addresses that the HTTP library asks for, remembered as those of our own transport. Floor 4: doors.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::client::Reach;
use crate::client::names::Names;
use crate::clock::Clock;

/// Of one client: the names of its origin and of its proxies.
#[derive(Debug)]
pub(super) struct Resolver {
    reach: Reach,
    /// Told before the first request.
    clock: OnceLock<Clock>,
    known: Mutex<HashMap<Box<str>, Arc<Names>>>,
}

impl Resolver {
    pub(super) fn new(reach: Reach) -> Self {
        Self {
            reach,
            clock: OnceLock::new(),
            known: Mutex::default(),
        }
    }

    /// By which time it remembers.
    pub(super) fn goes_by(&self, clock: Clock) {
        self.clock.get_or_init(|| clock);
    }

    /// No connection could be had: what was found is looked up again.
    pub(super) fn forget(&self) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().for_each(|names| names.forget());
    }

    fn names(&self, host: &str) -> Arc<Names> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let names = known.entry(host.into());
        // The port is for the library to add.
        let new = || Arc::new(Names::of(host, 0, self.reach));
        Arc::clone(names.or_insert_with(new))
    }
}

/// What the library asks.
#[derive(Debug, Clone)]
pub(super) struct Asked(pub(super) Arc<Resolver>);

impl Resolve for Asked {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0.names(name.as_str());
        let clock = *self.0.clock.get().expect("no request goes before");
        Box::pin(async move {
            let found = names.addresses(clock).await.map_err(Shared)?;
            let found: Vec<SocketAddr> = found.iter().copied().collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Why there are none, for all who asked.
#[derive(Debug)]
struct Shared(Arc<io::Error>);

impl fmt::Display for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl Error for Shared {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::failure::find;

    #[test]
    fn whoever_asks_for_a_name_asks_those_who_did_before() {
        let resolver = Resolver::new(Reach::Anywhere);
        let [one, same] = [(); 2].map(|()| resolver.names("h.test"));
        assert!(Arc::ptr_eq(&one, &same));
        assert!(!Arc::ptr_eq(&one, &resolver.names("proxy.test")));
    }

    #[test]
    fn why_there_is_no_address_is_told_to_all_as_it_was_told() {
        let told = Shared(Arc::new(io::ErrorKind::NotFound.into()));
        let found: Option<&io::Error> = find(&told);
        assert_eq!(found.map(io::Error::kind), Some(io::ErrorKind::NotFound));
    }
}
