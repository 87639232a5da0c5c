//! Tries by the HTTP library, for what our own transport does not do. Floor 4: doors.

mod failure;
mod resolver;
mod setup;

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use super::attempt::{Attempt, Phase};
use super::coming::{Coming, PIECE};
use super::pool::{After, Lease};
use super::tls::Tls;
use super::{Carrier, Reach, Refused, Via};
use crate::fields::Fields;
use crate::headers::Lines;
use crate::job::Job;
use crate::outcome::{Failure, FailureKind, Head, Reply};
use crate::units::Tick;
use failure::Unseen;
use resolver::Resolver;
use setup::Scheme;
pub(super) use setup::Setup;

/// An origin, with connections of its own.
#[derive(Debug, Clone)]
pub(super) struct Library {
    client: reqwest::Client,
    resolver: Arc<Resolver>,
    /// Host and port, for messages.
    pub(super) name: Rc<str>,
    peer: Peer,
}

/// Who is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    Server,
    Proxy,
}

impl Library {
    pub(super) fn new(
        url: &Url,
        (name, peer, reach): (Rc<str>, Peer, Reach),
        setup: &Setup,
        tls: &Tls,
    ) -> Result<Self, Refused> {
        let scheme = if url.scheme() == "https" {
            Scheme::Https
        } else {
            Scheme::Http
        };
        let (client, resolver) = setup.client(scheme, reach, tls)?;
        Ok(Self {
            client,
            resolver,
            name,
            peer,
        })
    }

    /// Makes the try. The lease is let go of before the end is told.
    pub(super) fn start(
        self,
        mut attempt: Attempt,
        job: &Job,
        via: Via,
        lease: Lease<Carrier>,
    ) -> impl Future<Output = ()> + 'static {
        let request = self.request(job, via.url(job), lease.after());
        self.resolver.goes_by(attempt.clock);
        async move {
            let end = match request {
                Ok(request) => send(&mut attempt, &self, request).await,
                Err(why) => Err(why.failure(&self.name)),
            };
            drop(lease);
            let (ended, end) = match end {
                Ok((reply, at)) => (at, Ok(reply)),
                Err(failure) => (attempt.clock.now(), Err(failure)),
            };
            attempt.end(ended, end);
        }
    }

    /// What is to be sent, or why it cannot be.
    fn request(&self, job: &Job, url: Url, after: After) -> Result<reqwest::Request, Refused> {
        let request = self.client.request(job.method.clone(), url).build();
        let mut request = request.map_err(|why| Refused {
            kind: FailureKind::Invalid,
            cause: super::failure::cause(&why.without_url()),
        })?;
        request.headers_mut().extend(own_headers(job.headers()));
        let body = job.shared_body();
        let length = framing(&job.method, &body);
        request.headers_mut().extend(length);
        match after {
            After::Stays => {}
            // RFC 9112 §9.6: this answer is the last on its connection.
            After::Closes => {
                let close = HeaderValue::from_static("close");
                request.headers_mut().insert(CONNECTION, close);
            }
        }
        *request.body_mut() = Some(body.into());
        Ok(request)
    }
}

/// All headers of a job but `content-length`, which belongs to the body that is really sent.
fn own_headers(headers: Lines<'_>) -> HeaderMap {
    let mut own = HeaderMap::new();
    for (name, value) in headers.iter() {
        let name = HeaderName::from_bytes(name).expect("it was one");
        let value = HeaderValue::from_bytes(value).expect("it was one");
        if name != CONTENT_LENGTH {
            own.append(name, value);
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

/// The library does not say when it connects and writes: it is told to be sent when it is handed over. Returns when the
/// last byte came, too.
async fn send(
    attempt: &mut Attempt,
    library: &Library,
    request: reqwest::Request,
) -> Result<(Reply, Tick), Failure> {
    let sent = attempt.clock.now();
    attempt.tell_sent(sent);
    let patience = attempt.clock.sleep_until(attempt.patience(sent));
    let answer = tokio::select! {
        biased;
        answer = execute(&library.client, request) => answer,
        () = patience => return Err(attempt.late(sent, Phase::ConnectOrHeaders)),
    };
    let response = answer.map_err(|why| {
        if why.is_connect() {
            library.resolver.forget();
        }
        let failure = failure::without_answer(why, &attempt.host);
        match library.peer {
            Peer::Proxy => failure::by_proxy(failure),
            Peer::Server => failure,
        }
    })?;
    let head = Head {
        at: attempt.clock.now(),
        wall: attempt.clock.wall(),
        status: response.status(),
        headers: Fields::of(response.headers()),
    };
    attempt.tell_answered(&head);
    let (body, at) = read(attempt, response, &head).await?;
    let digested = attempt.digest(&head, body).await;
    let digested = digested.map_err(|why| attempt.spoilt(why))?;
    Ok((attempt.reply(head, digested), at))
}

/// A request that the server says it has not looked at goes out again: as often as others of this run can have used up
/// a connection before it, and twice where it is the stream that is refused.
async fn execute(
    client: &reqwest::Client,
    mut request: reqwest::Request,
) -> reqwest::Result<reqwest::Response> {
    let (mut refused, mut gone) = (0, 0);
    loop {
        let again = request.try_clone();
        let why = match client.execute(request).await {
            Err(why) => why,
            answered @ Ok(_) => return answered,
        };
        match failure::unseen(&why) {
            Some(Unseen::Refused) if refused < 2 => refused += 1,
            Some(Unseen::GoesAway) if gone < 100 => gone += 1,
            Some(_) | None => return Err(why),
        }
        request = again.expect("its body is no stream");
    }
}

/// The body, copied out of the connection's buffer: a slice would keep all of that alive.
async fn read(
    attempt: &mut Attempt,
    mut response: reqwest::Response,
    head: &Head,
) -> Result<(Coming, Tick), Failure> {
    let announced = response.content_length();
    let mut body = attempt.begins(head, announced)?;
    let mut last = head.at;
    loop {
        let patience = attempt.clock.sleep_until(attempt.patience(last));
        let chunk = tokio::select! {
            biased;
            chunk = response.chunk() => chunk,
            () = patience => return Err(attempt.late(last, Phase::Body)),
        };
        match chunk {
            Ok(Some(bytes)) => {
                let now = attempt.clock.now();
                if now >= attempt.grant.give_up_at {
                    return Err(attempt.late(last, Phase::Body));
                }
                for piece in bytes.chunks(PIECE) {
                    body.room(piece.len()).extend_from_slice(piece);
                    attempt.keeps(&body)?;
                }
                attempt.came(now, &bytes);
                last = now;
            }
            Ok(None) => return Ok((body, attempt.clock.now())),
            Err(why) => {
                return Err(failure::within_body(
                    why,
                    &attempt.host,
                    body.len(),
                    announced,
                ));
            }
        }
    }
}
