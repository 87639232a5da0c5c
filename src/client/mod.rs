//! Sends one try over HTTP and tells the engine what comes of it. Floor 4: doors.

mod attempt;
mod failure;
mod files;
mod pool;
mod setup;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue, Method};
use tokio::sync::mpsc::UnboundedSender;
use url::Url;

use crate::clock::Clock;
use crate::engine::{Event, Grant, Ticket};
use crate::error::Problem;
use crate::job::{Headers, Job, Origin};
use crate::outcome::{Failure, FailureKind, Reached};
use crate::usage::UsageRule;
use attempt::Attempt;
pub use failure::OUT_OF_FILES;
pub use files::{Ends, Room, raise_file_limit};
use pool::{After, Lease, Pool};
use setup::{Refused, Setup, Trust};

/// How requests are sent.
#[derive(Debug, Clone)]
pub struct ClientSpec {
    /// For finding the address, connecting and TLS; `None`: only the whole try is timed.
    pub connect_timeout: Option<Duration>,
    /// The longest gap between sending and the head, and between bytes of the body.
    pub read_timeout: Option<Duration>,
    /// The most bytes of a body that are kept.
    pub max_body: u64,
    /// Where requests really go.
    pub via: Via,
    /// Sent as `user-agent`, unless a job has its own.
    pub user_agent: String,
    /// What of a whole answer with a status of success (2xx) says how much was used.
    pub usage: UsageRule,
    /// The most connections that stay open between tries, and those of tries that are to stay.
    pub kept: usize,
}

impl Default for ClientSpec {
    fn default() -> Self {
        Self {
            connect_timeout: None,
            read_timeout: None,
            max_body: 64 << 20,
            via: Via::Direct,
            user_agent: concat!("shaper/", env!("CARGO_PKG_VERSION")).to_owned(),
            usage: UsageRule::Ignored,
            kept: usize::MAX,
        }
    }
}

/// Where requests really go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// To the URL of the job, by the proxies of the environment.
    Direct,
    /// All to this address, in plain HTTP and past every proxy: path, query, user info and headers are
    /// the job's, and `host` is this address.
    Mock(SocketAddr),
}

/// An HTTP/1.1 client that follows no redirect, repeats nothing that reached a server, and keeps no
/// cookies. Connections stay open between tries: of all origins 1024, or four times as many as were in use
/// at once, and at most [`ClientSpec::kept`].
#[derive(Debug)]
pub struct Client {
    spec: ClientSpec,
    setup: Setup,
    /// Where all requests go, if not each to the origin of its job.
    only: Option<Origin>,
    pool: Arc<Pool>,
}

impl Client {
    /// A client for `http` at once, and for `https` when the first job wants it.
    pub fn new(spec: ClientSpec) -> Result<Self, Problem> {
        let setup = Setup::new(&spec)
            .map_err(|why| Problem::usage(format!("no HTTP client: {why}"), ""))?;
        let only = match spec.via {
            Via::Direct => None,
            Via::Mock(address) => Some(Origin(format!("http://{address}").into())),
        };
        let pool = Arc::new(Pool::keeping(spec.kept));
        Ok(Self {
            spec,
            setup,
            only,
            pool,
        })
    }

    /// Sends a job on a task of its own. Tells [`Event::Sent`] just before the request is handed over,
    /// [`Event::Answered`] if a head comes, and exactly one [`Event::Ended`].
    ///
    /// To be called within a tokio runtime.
    pub fn start(
        &self,
        ticket: Ticket,
        job: &Job,
        grant: Grant,
        clock: Clock,
        tell: UnboundedSender<Event>,
    ) {
        let url = self.url(job);
        let host = host(&url);
        let request = self.request(job, url).map_err(|why| Failure {
            kind: why.kind,
            reached: Reached::NotSent,
            message: format!("{host}: {}", why.cause),
        });
        let attempt = Attempt {
            ticket,
            host,
            read_timeout: self.spec.read_timeout,
            max_body: self.spec.max_body,
            usage: self.spec.usage.clone(),
            grant,
            clock,
            tell,
            ended: false,
        };
        tokio::spawn(attempt.run(request));
    }

    /// Where the job really goes.
    fn url(&self, job: &Job) -> Url {
        let mut url = job.target.url.clone();
        if let Via::Mock(address) = self.spec.via {
            let moved = url
                .set_scheme("http")
                .and_then(|()| url.set_ip_host(address.ip()))
                .and_then(|()| url.set_port(Some(address.port())));
            moved.expect("http and https URLs have a host and a port");
        }
        url
    }

    /// What is to be sent, and by which client; or why that cannot be.
    fn request(&self, job: &Job, url: Url) -> Result<Outgoing, Refused> {
        let trust = if url.scheme() == "https" {
            Trust::System
        } else {
            Trust::Nothing
        };
        let origin = self.only.as_ref().unwrap_or(&job.origin);
        let lease = self.pool.enter(origin, || self.setup.client(trust))?;
        let mut request = lease
            .client()
            .request(job.method.clone(), url)
            .build()
            .map_err(|why| Refused {
                kind: FailureKind::Invalid,
                cause: failure::cause(&why.without_url()),
            })?;
        request.headers_mut().extend(own_headers(&job.headers));
        let body = job.body.clone().unwrap_or_default();
        let length = framing(&job.method, &body);
        request.headers_mut().extend(length);
        match lease.after() {
            After::Stays => {}
            // RFC 9112 §9.6: this answer is the last on its connection.
            After::Closes => {
                let close = HeaderValue::from_static("close");
                request.headers_mut().insert(CONNECTION, close);
            }
        }
        *request.body_mut() = Some(body.into());
        Ok((lease, request))
    }
}

/// A request, and the client to send it with.
type Outgoing = (Lease, reqwest::Request);

/// All headers of a job but `content-length`, which belongs to the body that is really sent.
fn own_headers(headers: &Headers) -> HeaderMap {
    let mut own = HeaderMap::with_capacity(headers.0.len());
    for (name, value) in &headers.0 {
        if name != CONTENT_LENGTH {
            own.append(name, value.clone());
        }
    }
    own
}

/// The length of no body, where the method expects one. RFC 9110 §8.6.
fn framing(method: &Method, body: &Bytes) -> HeaderMap {
    let mut length = HeaderMap::new();
    if body.is_empty() && [Method::POST, Method::PUT, Method::PATCH].contains(method) {
        length.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    length
}

/// Host and port for messages, without user info.
fn host(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}
