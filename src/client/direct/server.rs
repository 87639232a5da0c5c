//! A server, with the connections to it that wait for a request. Floor 4: doors.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use url::{Host, Url};

use super::connection::Connection;
use super::request::{Usual, usual};
use crate::client::names::{Names, Place};
use crate::client::reach::Reach;
use crate::client::route::Route;
use crate::client::tls::Tls;
use crate::client::{ClientSpec, Refused};
use crate::letters::calm_path;
use crate::outcome::FailureKind;
use crate::units::Tick;

/// What an origin names.
#[derive(Debug)]
pub(in crate::client) struct Server {
    /// Host and port, for messages.
    pub(in crate::client) name: Rc<str>,
    /// For each request to it.
    pub(super) usual: Usual,
    pub(super) place: Place,
    /// `None`: plain HTTP.
    pub(super) security: Option<Security>,
    /// So long a connection may wait.
    most_idle: Duration,
    /// The one used last is at the back.
    idle: RefCell<VecDeque<Connection>>,
    /// It has, and no connection has failed since.
    has_answered: Cell<bool>,
    /// Connections for no try that are on their way.
    opening: Cell<usize>,
}

/// One of them.
pub(super) struct Opening {
    pub(super) server: Rc<Server>,
}

impl Opening {
    /// Unless so many are on their way.
    pub(super) fn one_of(server: &Rc<Server>, most: usize) -> Option<Self> {
        let opening = server.opening.get();
        (opening < most).then(|| {
            server.opening.set(opening + 1);
            Self {
                server: Rc::clone(server),
            }
        })
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.server.opening.set(self.server.opening.get() - 1);
    }
}

/// How a connection is made secure.
#[derive(Debug)]
pub(super) struct Security {
    pub(super) name: ServerName<'static>,
    pub(super) config: Arc<ClientConfig>,
}

impl Server {
    pub(in crate::client) fn new(
        url: &Url,
        name: Rc<str>,
        spec: &ClientSpec,
        (route, reach): (&Route, Reach),
        tls: &Tls,
    ) -> Result<Self, Refused> {
        let port = url
            .port_or_known_default()
            .expect("http and https have one");
        let Some(host) = url.host() else {
            return Err(Refused {
                kind: FailureKind::Invalid,
                cause: "the URL has no host".to_owned(),
            });
        };
        let (place, name) = place(&host, port, name, route, reach);
        let host = url.host_str().unwrap_or_default();
        // RFC 9110 §7.2: without the port that is the usual one.
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Ok(Self {
            name,
            usual: usual(&authority, &spec.user_agent),
            place,
            security: match url.scheme() {
                "https" => Some(Security::new(host, tls)?),
                _ => None,
            },
            most_idle: spec.idle,
            idle: RefCell::default(),
            has_answered: Cell::new(false),
            opening: Cell::new(0),
        })
    }

    /// A connection that waits: the one used last, as the others may then be closed.
    ///
    /// The server may have closed it; see [`Connection::is_fit`].
    pub(super) fn take(&self, now: Tick) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(mut connection) = idle.pop_back() {
            if now.since(connection.idle_since) >= self.most_idle {
                // Those before it are older.
                idle.clear();
            } else if now < connection.fit_until && connection.is_fit() {
                return Some(connection);
            }
        }
        None
    }

    /// Whether a connection waits.
    pub(super) fn has_one(&self, now: Tick) -> bool {
        let connection = self.take(now);
        let has_one = connection.is_some();
        self.idle.borrow_mut().extend(connection);
        has_one
    }

    /// It has answered a try.
    pub(super) fn answered(&self) {
        self.has_answered.set(true);
    }

    /// No connection to it could be opened.
    pub(super) fn fails(&self) {
        self.has_answered.set(false);
    }

    /// Whether it is likely to take one more.
    pub(super) fn answers(&self) -> bool {
        self.has_answered.get()
    }

    /// A connection waits for its next request, for so long at most if the server has said when it will close it.
    pub(super) fn put(&self, mut connection: Connection, now: Tick, most: Option<Duration>) {
        connection.idle_since = now;
        connection.fit_until = now.after(most.unwrap_or(self.most_idle));
        let mut idle = self.idle.borrow_mut();
        while let Some(oldest) = idle.front()
            && now.since(oldest.idle_since) >= self.most_idle
        {
            idle.pop_front();
        }
        idle.push_back(connection);
    }
}

/// Where it is, and how it is called in messages: with the place, where that is another.
fn place(
    host: &Host<&str>,
    port: u16,
    name: Rc<str>,
    route: &Route,
    reach: Reach,
) -> (Place, Rc<str>) {
    match route {
        Route::Unix(path) => {
            let name = format!("{name} (at {})", calm_path(path)).into();
            (Place::Unix(path.clone()), name)
        }
        Route::ConnectTo(detours) => match detours.iter().find_map(|it| it.of(host, port)) {
            Some((host, port)) => {
                let name = format!("{name} (at {host}:{port})").into();
                let borrowed = match &host {
                    Host::Domain(name) => Host::Domain(&**name),
                    Host::Ipv4(ip) => Host::Ipv4(*ip),
                    Host::Ipv6(ip) => Host::Ipv6(*ip),
                };
                (by_name(&borrowed, port, reach), name)
            }
            None => (by_name(host, port, reach), name),
        },
        Route::System | Route::NoProxy | Route::Proxies(_) => (by_name(host, port, reach), name),
    }
}

fn by_name(host: &Host<&str>, port: u16, reach: Reach) -> Place {
    match host {
        Host::Ipv4(ip) => Place::Known((*ip, port).into()),
        Host::Ipv6(ip) => Place::Known((*ip, port).into()),
        Host::Domain(host) => Place::Named(Names::of(host, port, reach)),
    }
}

impl Security {
    fn new(host: &str, tls: &Tls) -> Result<Self, Refused> {
        let refused = |cause: String| Refused {
            kind: FailureKind::Tls,
            cause,
        };
        // Brackets are for URLs.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned());
        Ok(Self {
            name: name.map_err(|why| refused(why.to_string()))?,
            config: tls.config().map_err(|why| refused(why.to_string()))?,
        })
    }
}
