//! How the HTTP library is set up. Floor 4: doors.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderValue};
use reqwest::{ClientBuilder, NoProxy, redirect, retry};
use rustls::ClientConfig;

use super::resolver::{Asked, Resolver};
use crate::client::coding::TAKEN;
use crate::client::tls::{self, Tls};
use crate::client::{ClientSpec, Http, Proxies, Reach, Refused, Route, Transport, Via, failure};
use crate::outcome::FailureKind;

/// Where nothing came on a connection of HTTP/2 for so long, it is asked whether it is still there (PING, RFC 9113
/// §6.7): all tries go by it, and by one that is dead all would end as slow.
const SILENT: Duration = Duration::from_secs(15);

/// So long it has to say so.
const UNANSWERED: Duration = Duration::from_secs(10);

/// Bytes of a body that a server of HTTP/2 may send before they are taken (RFC 9113 §5.2): a slot holds them beside
/// the body.
const WINDOW: u32 = 512 << 10;

/// What the clients of a run have in common. What is slow to make is made once, so that another client
/// costs some microseconds.
#[derive(Debug)]
pub(in crate::client) struct Setup {
    user_agent: String,
    connect_timeout: Option<Duration>,
    idle: Duration,
    via: Via,
    http: Http,
    route: Route,
    plain: ClientConfig,
    /// Made when there was time: the first send is not late by it.
    first: Mutex<Option<Made>>,
}

/// A client, and what it has addresses from.
type Made = (reqwest::Client, Arc<Resolver>);

/// Of the origin that a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Setup {
    /// Fails if there can be no client at all.
    pub(in crate::client) fn new(spec: &ClientSpec, tls: &Tls) -> Result<Self, String> {
        let setup = Self {
            user_agent: spec.user_agent.clone(),
            connect_timeout: spec.connect_timeout,
            idle: spec.idle,
            via: spec.via,
            http: spec.http,
            route: spec.route.clone(),
            plain: tls::unused().map_err(|why| why.to_string())?,
            first: Mutex::new(None),
        };
        if spec.transport == Transport::Reqwest {
            let first = setup
                .make(Scheme::Http, Reach::Anywhere, tls)
                .map_err(|why| why.cause)?;
            setup.keep(Some(first));
        }
        Ok(setup)
    }

    /// A client with connections of its own.
    pub(super) fn client(&self, scheme: Scheme, reach: Reach, tls: &Tls) -> Result<Made, Refused> {
        let first = match (scheme, reach) {
            (Scheme::Http, Reach::Anywhere) => self.keep(None),
            (Scheme::Https, _) | (_, Reach::Public) => None,
        };
        first.map_or_else(|| self.make(scheme, reach, tls), Ok)
    }

    /// Puts a client in the place of the first, which it returns.
    fn keep(&self, client: Option<Made>) -> Option<Made> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *first, client)
    }

    fn make(&self, scheme: Scheme, reach: Reach, tls: &Tls) -> Result<Made, Refused> {
        let resolver = Arc::new(Resolver::new(reach));
        let config = match scheme {
            Scheme::Http => self.plain.clone(),
            Scheme::Https => {
                let trusted = tls.config().map_err(|why| Refused {
                    kind: FailureKind::Tls,
                    cause: why.to_string(),
                })?;
                ClientConfig::clone(&trusted)
            }
        };
        let mut builder = reqwest::Client::builder()
            .user_agent(&self.user_agent)
            .default_headers(taken())
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .tcp_nodelay(true)
            .pool_max_idle_per_host(usize::MAX)
            .pool_idle_timeout(self.idle)
            .http2_keep_alive_interval(SILENT)
            .http2_keep_alive_timeout(UNANSWERED)
            .http2_initial_stream_window_size(WINDOW)
            .dns_resolver(Asked(Arc::clone(&resolver)))
            .tls_backend_preconfigured(config);
        if let Some(span) = self.connect_timeout {
            builder = builder.connect_timeout(span);
        }
        builder = match (self.http, scheme) {
            (Http::One, _) => builder.http1_only(),
            (Http::Two, Scheme::Http) => builder.http2_prior_knowledge(),
            (Http::Two, Scheme::Https) => builder,
        };
        builder = match (self.via, &self.route) {
            (Via::Direct, Route::System) => builder,
            (Via::Direct, Route::Proxies(proxies)) => by(builder, proxies)?,
            (Via::Mock(_), _) | (_, Route::NoProxy | Route::ConnectTo(_) | Route::Unix(_)) => {
                builder.no_proxy()
            }
        };
        let client = builder.build().map_err(|why| Refused {
            kind: match scheme {
                Scheme::Http => FailureKind::Invalid,
                Scheme::Https => FailureKind::Tls,
            },
            cause: failure::cause(&why.without_url()),
        })?;
        Ok((client, resolver))
    }
}

/// The same by these proxies alone.
fn by(mut builder: ClientBuilder, proxies: &Proxies) -> Result<ClientBuilder, Refused> {
    let unusable = |why: reqwest::Error| Refused {
        kind: FailureKind::Invalid,
        cause: failure::cause(&why.without_url()),
    };
    builder = builder.no_proxy();
    let except = NoProxy::from_string(&proxies.except);
    if let Some((proxy, _)) = &proxies.http {
        let proxy = reqwest::Proxy::http(proxy.reveal()).map_err(unusable)?;
        builder = builder.proxy(proxy.no_proxy(except.clone()));
    }
    if let Some((proxy, _)) = &proxies.https {
        let proxy = reqwest::Proxy::https(proxy.reveal()).map_err(unusable)?;
        builder = builder.proxy(proxy.no_proxy(except));
    }
    Ok(builder)
}

fn taken() -> HeaderMap {
    let taken = HeaderValue::from_static(TAKEN);
    [(ACCEPT_ENCODING, taken)].into_iter().collect()
}
