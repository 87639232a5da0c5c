//! `/metrics` for Prometheus, on a thread of its own: it asks the run for its figures. Floor 4: doors.

mod cumulated;
mod families;
mod page;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, LocalSet, spawn_local, yield_now};

pub use page::About;

use crate::clock::Clock;
use crate::error::Problem;
use crate::metrics::Figures;
use crate::units::Tick;

/// Somebody wants to see the figures as they are now.
#[derive(Debug)]
pub struct Ask {
    about: Arc<About>,
    page: oneshot::Sender<String>,
}

impl Ask {
    /// Of a run of which this is known; the receiver gets the page.
    pub fn new(about: Arc<About>) -> (Self, oneshot::Receiver<String>) {
        let (page, told) = oneshot::channel();
        (Self { about, page }, told)
    }

    /// Tells them. Whoever has gone meanwhile is told nothing.
    pub fn answer(self, figures: &Figures<'_>) {
        let _ = self.page.send(page::text(&self.about, figures));
    }
}

/// The most connections at once. One more takes the place of the oldest: who asks is answered within milliseconds, so
/// that is one that says nothing.
const CONNECTIONS: usize = 16;

/// The most files that it opens: one for each connection, one that takes a place, and six for the socket that listens
/// and the runtime.
pub const FILES: u64 = CONNECTIONS as u64 + 7;

/// The longest that one may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The run is asked at most so often, whoever asks here how often.
const FRESH: Duration = Duration::from_millis(100);

/// Serves the figures until it is dropped.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    /// Dropped to end the thread.
    running: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves `/metrics` at `listen`; port 0 takes any free one. Whoever holds the receiver answers what is asked.
///
/// When it returns, connections are taken. Fails if the address cannot be had.
pub fn serve(
    listen: SocketAddr,
    clock: Clock,
    about: About,
) -> Result<(Endpoint, UnboundedReceiver<Ask>), Problem> {
    let bound = TcpListener::bind(listen).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok((listener.local_addr()?, listener))
    });
    let (address, listener) = bound.map_err(|why| {
        let mend = "name another: --metrics PORT; port 0 takes any free one";
        Problem::usage(format!("--metrics cannot listen on {listen}: {why}"), mend)
    })?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| cannot_start(&why))?;
    let (ask, asked) = unbounded_channel();
    let (running, stop) = oneshot::channel();
    let thread = thread::Builder::new().name("metrics".to_owned());
    let thread = thread.spawn(move || run(&runtime, listener, clock, about, ask, stop));
    let endpoint = Endpoint {
        address,
        running: Some(running),
        thread: Some(thread.map_err(|why| cannot_start(&why))?),
    };
    Ok((endpoint, asked))
}

fn cannot_start(why: &io::Error) -> Problem {
    let what = format!("--metrics cannot start: {why}");
    Problem::usage(what, "free threads or file descriptors")
}

impl Endpoint {
    /// Where it listens, with the port that it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        drop(self.running.take());
        self.thread.take().map(JoinHandle::join);
    }
}

fn run(
    runtime: &Runtime,
    listener: TcpListener,
    clock: Clock,
    about: About,
    ask: UnboundedSender<Ask>,
    stop: oneshot::Receiver<Infallible>,
) {
    let server = Rc::new(Server {
        clock,
        about: Arc::new(about),
        ask,
        seen: RefCell::default(),
    });
    let tasks = LocalSet::new();
    tasks.spawn_local(server.accept(listener));
    tasks.block_on(runtime, stop).ok();
}

/// What all connections share; one thread, so no lock.
struct Server {
    clock: Clock,
    about: Arc<About>,
    ask: UnboundedSender<Ask>,
    /// The last page, and its moment.
    seen: RefCell<Option<(Tick, Bytes)>>,
}

impl Server {
    async fn accept(self: Rc<Self>, listener: TcpListener) {
        /// Keeps the loop from spinning while the system has no file descriptor left.
        const REST: Duration = Duration::from_millis(10);
        let listener = tokio::net::TcpListener::from_std(listener);
        let listener = listener.expect("the runtime is entered, and the socket does not block");
        let mut open: VecDeque<AbortHandle> = VecDeque::with_capacity(CONNECTIONS);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    open.retain(|connection| !connection.is_finished());
                    if open.len() == CONNECTIONS
                        && let Some(oldest) = open.pop_front()
                    {
                        oldest.abort();
                        // It lets go of its file when it is its turn.
                        yield_now().await;
                    }
                    let connection = Rc::clone(&self).connection(stream);
                    open.push_back(spawn_local(connection).abort_handle());
                }
                Err(_) => self.rest(REST).await,
            }
        }
    }

    async fn rest(&self, span: Duration) {
        self.clock.sleep_until(self.clock.now().after(span)).await;
    }

    /// One request, and the end: a scraper comes back in a quarter of a minute. How it ends is its own affair.
    async fn connection(self: Rc<Self>, stream: TcpStream) {
        let service = service_fn(|request| Rc::clone(&self).answer(request));
        let mut http = http1::Builder::new();
        let served = http
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            biased;
            _ = served => {}
            () = self.rest(PATIENCE) => {}
        }
    }

    async fn answer(
        self: Rc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        if request.uri().path() != "/metrics" {
            let text = "the figures of this run are at /metrics\n";
            return Ok(plain(StatusCode::NOT_FOUND, text));
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n");
            let allowed = HeaderValue::from_static("GET, HEAD");
            refused.headers_mut().insert(header::ALLOW, allowed);
            return Ok(refused);
        }
        Ok(match self.page().await {
            Some(page) => of_type(StatusCode::OK, page::CONTENT_TYPE, page),
            None => plain(StatusCode::SERVICE_UNAVAILABLE, "the run is over\n"),
        })
    }

    /// The figures as they are now, or were a moment ago; `None` if the run is over.
    async fn page(&self) -> Option<Bytes> {
        let now = self.clock.now();
        let fresh = |(at, _): &(Tick, Bytes)| now < at.after(FRESH);
        if let Some((_, page)) = self.seen.borrow().clone().filter(fresh) {
            return Some(page);
        }
        let (ask, told) = Ask::new(Arc::clone(&self.about));
        self.ask.send(ask).ok()?;
        let page = Bytes::from(told.await.ok()?);
        self.seen.replace(Some((self.clock.now(), page.clone())));
        Some(page)
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    of_type(status, "text/plain; charset=utf-8", Bytes::from(text))
}

fn of_type(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
