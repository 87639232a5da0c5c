//! Sends one try over HTTP and tells the engine what comes of it. Floor 4: doors.

mod aside;
mod attempt;
mod coding;
mod coming;
mod digest;
mod direct;
mod failure;
mod files;
mod names;
mod pool;
mod reach;
mod reqwest;
mod route;
mod streaming;
mod tls;
mod told;
mod tries;

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use crate::choice::{chosen, word_for};
use crate::clock::Clock;
use crate::engine::{Event, Grant, Ticket};
use crate::error::Problem;
use crate::job::{Job, Origin};
use crate::outcome::{Failure, FailureKind, Reached};
use crate::retry::FaultAt;
use crate::usage::UsageRule;
use attempt::{Attempt, Common};
use direct::{Direct, Exchange, Server};
pub use files::{Ends, Room, raise_file_limit};
use pool::{MOST_IDLE, Pool};
pub use reach::Reach;
use reqwest::{Library, Peer, Setup};
pub use route::{Detour, Proxies, Proxy, Route};
use tls::Tls;
pub use tls::TlsSpec;
use tries::Tries;

/// How requests are sent.
#[derive(Debug, Clone)]
pub struct ClientSpec {
    /// What carries them.
    pub transport: Transport,
    /// For finding the address, connecting and TLS; `None`: only the whole try is timed.
    pub connect_timeout: Option<Duration>,
    /// The longest gap between sending and the head, and between bytes of the body.
    pub read_timeout: Option<Duration>,
    /// The most bytes of a body that are kept.
    pub max_body: u64,
    /// For `https`.
    pub tls: TlsSpec,
    /// Which version of HTTP is spoken.
    pub http: Http,
    /// Which way requests take.
    pub route: Route,
    /// Which addresses may be asked, but for those that `route` and `via` name.
    pub reach: Reach,
    /// Where requests really go.
    pub via: Via,
    /// Sent as `user-agent`, unless a job has its own.
    pub user_agent: String,
    /// What of a whole answer with a status of success (2xx) says how much was used.
    pub usage: UsageRule,
    /// Where the body of a whole answer says that it is no success.
    pub fault: Option<FaultAt>,
    /// The most connections that stay open between tries, and those of tries that are to stay.
    pub kept: usize,
    /// For how long a connection may wait for its next request.
    pub idle: Duration,
}

impl Default for ClientSpec {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            connect_timeout: None,
            read_timeout: None,
            max_body: 64 << 20,
            tls: TlsSpec::default(),
            http: Http::default(),
            route: Route::default(),
            reach: Reach::default(),
            via: Via::Direct,
            user_agent: concat!("shaper/", env!("CARGO_PKG_VERSION")).to_owned(),
            usage: UsageRule::Ignored,
            fault: None,
            kept: usize::MAX,
            idle: MOST_IDLE,
        }
    }
}

/// What carries requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// Direct, and the library to an origin that a proxy of the environment or of the system stands before.
    #[default]
    Auto,
    /// Our own HTTP/1.1, past every proxy.
    Direct,
    /// The HTTP library.
    Reqwest,
}

impl Transport {
    /// Each, with its word.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("auto", Self::Auto),
        ("direct", Self::Direct),
        ("reqwest", Self::Reqwest),
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        word_for(&Self::WORDS, self)
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(&Self::WORDS, text)
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// Which version of HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    One,
    /// HTTP/2: by `https` where the server agrees (ALPN), else HTTP/1.1; by `http` at once (prior knowledge).
    Two,
}

/// Where requests really go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// To the URL of the job.
    Direct,
    /// All to this address, in plain HTTP and past every proxy: path, query, user info and headers are
    /// the job's, and `host` is this address.
    Mock(SocketAddr),
}

impl Via {
    /// Where the job really goes.
    fn url(self, job: &Job) -> Url {
        let mut url = job.target.url.clone();
        if let Self::Mock(address) = self {
            let moved = url
                .set_scheme("http")
                .and_then(|()| url.set_ip_host(address.ip()))
                .and_then(|()| url.set_port(Some(address.port())));
            moved.expect("http and https URLs have a host and a port");
        }
        url
    }
}

/// An HTTP/1.1 client that follows no redirect, repeats nothing that reached a server, and keeps no
/// cookies. Connections stay open between tries: of all origins 1024, or four times as many as were in use
/// at once, and at most [`ClientSpec::kept`].
#[derive(Debug)]
pub struct Client {
    common: Rc<Common>,
    /// Where all requests go, if not each to the origin of its job.
    only: Option<Origin>,
    pool: Rc<Pool<Carrier>>,
    proxies: Matcher,
    tls: Tls,
    direct: Rc<Direct>,
    library: Setup,
    carried: Carried,
    tries: Tries<Exchange>,
}

/// What has carried requests; all copies tell the same.
#[derive(Debug, Clone, Default)]
pub struct Carried(Arc<[AtomicBool; 2]>);

impl Carried {
    /// Its name; `None` before the first request.
    pub fn word(&self) -> Option<&'static str> {
        let [direct, library] = &*self.0;
        match (direct.load(Relaxed), library.load(Relaxed)) {
            (true, true) => Some("direct and reqwest"),
            (true, false) => Some("direct"),
            (false, true) => Some("reqwest"),
            (false, false) => None,
        }
    }

    fn note(&self, carrier: &Carrier) {
        let [direct, library] = &*self.0;
        let carries = match carrier {
            Carrier::Direct(_) => direct,
            Carrier::Library(_) => library,
        };
        carries.store(true, Relaxed);
    }
}

/// What carries the requests of an origin.
#[derive(Debug, Clone)]
enum Carrier {
    Direct(Rc<Server>),
    Library(Library),
}

impl Carrier {
    fn name(&self) -> Rc<str> {
        match self {
            Self::Direct(server) => Rc::clone(&server.name),
            Self::Library(library) => Rc::clone(&library.name),
        }
    }
}

/// Why nothing can be sent.
#[derive(Debug)]
struct Refused {
    kind: FailureKind,
    cause: String,
}

impl Refused {
    fn failure(self, host: &str) -> Failure {
        Failure::new(
            self.kind,
            Reached::NotSent,
            format!("{host}: {}", self.cause),
        )
    }
}

impl Client {
    /// A client for `http` at once, and for `https` when the first job wants it. Fails if the library refuses
    /// its settings.
    pub fn new(spec: ClientSpec) -> Result<Self, Problem> {
        let tls = Tls::of(&spec.tls, spec.http);
        let library = Setup::new(&spec, &tls)
            .map_err(|why| Problem::usage(format!("no HTTP client: {why}"), ""))?;
        let only = match spec.via {
            Via::Direct => None,
            Via::Mock(address) => Some(Origin(format!("http://{address}").into())),
        };
        Ok(Self {
            only,
            pool: Rc::new(Pool::keeping(spec.kept, spec.idle)),
            proxies: spec.route.proxies(),
            tls,
            direct: Rc::default(),
            library,
            carried: Carried::default(),
            tries: Tries::default(),
            common: Rc::new(Common::of(spec)),
        })
    }

    /// What has carried requests until it is asked.
    pub fn carried(&self) -> Carried {
        self.carried.clone()
    }

    /// Sends a job. Tells, see [`Client::hear`], [`Event::Sent`] when the first bytes are written (by the library: when
    /// the request is handed over), [`Event::Answered`] if a head comes before the last byte, and exactly one
    /// [`Event::Ended`]; all that cannot be told at once, while [`Client::go_on`] is waited for.
    ///
    /// To be called within a tokio runtime.
    pub fn start(&mut self, ticket: Ticket, job: &Job, grant: Grant, clock: Clock) {
        let attempt = |host| Attempt::new(ticket, host, Rc::clone(&self.common), grant, clock);
        let origin = self.only.as_ref().unwrap_or(&job.origin);
        let now = clock.now();
        match self.pool.enter(origin, now, || self.carrier(job)) {
            Ok((carrier, lease)) => {
                let attempt = attempt(carrier.name());
                match carrier {
                    Carrier::Direct(server) => {
                        let exchange = self.direct.start(attempt, server, job, lease, now);
                        self.tries.begin(exchange);
                    }
                    Carrier::Library(library) => {
                        let course = library.start(attempt, job, self.common.spec.via, lease);
                        self.tries.begin_other(course);
                    }
                }
            }
            Err(why) => {
                let host = host(&self.common.spec.via.url(job));
                let end = Err(why.failure(&host));
                attempt(host).end(now, end);
            }
        }
    }

    /// Opens a connection that the next try will find, if the origin of the job has answered before, none waits there, and
    /// fewer than `most` are being opened. By the library nothing is opened ahead.
    ///
    /// To be called within a tokio runtime.
    pub fn prepare(&mut self, job: &Job, most: usize, clock: Clock) {
        let origin = self.only.as_ref().unwrap_or(&job.origin);
        if let Some(Carrier::Direct(server)) = self.pool.carrier(origin)
            && let Some(course) = direct::open_ahead(&server, &self.common.spec, most, clock)
        {
            self.tries.begin_other(course);
        }
    }

    /// Goes on with all tries until there is something to hear.
    pub fn go_on(&mut self) -> impl Future<Output = ()> {
        poll_fn(|cx| {
            self.tries.poll(cx);
            if self.common.told.is_empty() {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
    }

    /// Adds what is told and was not heard yet, in its order.
    pub fn hear(&self, events: &mut Vec<Event>) {
        self.common.told.hear(events);
    }

    /// What is to carry the requests of an origin that has a job.
    fn carrier(&self, job: &Job) -> Result<Carrier, Refused> {
        let carrier = self.choose(job)?;
        self.carried.note(&carrier);
        Ok(carrier)
    }

    fn choose(&self, job: &Job) -> Result<Carrier, Refused> {
        let url = self.common.spec.via.url(job);
        let name = host(&url);
        let spec = &self.common.spec;
        let direct = match spec.transport {
            Transport::Auto => {
                let own = spec.http == Http::One && !stands_before(&self.proxies, &url);
                own || spec.via != Via::Direct
            }
            Transport::Direct => true,
            Transport::Reqwest => false,
        };
        let reach = self.reach_of(&url);
        reach.check_address(&url)?;
        if direct {
            let server = Server::new(&url, name, spec, (self.way(), reach), &self.tls)?;
            return Ok(Carrier::Direct(Rc::new(server)));
        }
        let (name, peer, reach) = if stands_before(&self.proxies, &url) {
            // The address is for the proxy to find.
            reach.check_name(&url)?;
            let by = spec.route.proxy(url.scheme());
            match by {
                Some(proxy) => {
                    let name = format!("{name} (by {proxy})").into();
                    (name, Peer::Proxy, Reach::Anywhere)
                }
                None => (name, Peer::Server, Reach::Anywhere),
            }
        } else {
            (name, Peer::Server, reach)
        };
        Library::new(&url, (name, peer, reach), &self.library, &self.tls).map(Carrier::Library)
    }

    /// Where the command line names another place, that may be asked.
    fn reach_of(&self, url: &Url) -> Reach {
        match self.common.spec.via {
            Via::Direct if !self.common.spec.route.leads_away(url) => self.common.spec.reach,
            Via::Direct | Via::Mock(_) => Reach::Anywhere,
        }
    }

    /// To the mock there is no other.
    fn way(&self) -> &Route {
        match self.common.spec.via {
            Via::Direct => &self.common.spec.route,
            Via::Mock(_) => &Route::NoProxy,
        }
    }
}

/// Whether one stands before this server, as the library sees it.
fn stands_before(proxies: &Matcher, url: &Url) -> bool {
    let origin = url.origin().ascii_serialization().parse();
    origin.is_ok_and(|origin| proxies.intercept(&origin).is_some())
}

/// Host and port for messages, without user info.
fn host(url: &Url) -> Rc<str> {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default()).into()
}
