//! The modelled API over HTTP, on a thread of its own. Floor 4: doors.

mod arrivals;
mod tokens;

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

pub use arrivals::ArrivalLog;

use crate::clock::Clock;
use crate::error::Problem;
use crate::limit::{Guard, Setting};
use crate::model::{Answer, Model, ModelSpec};
use crate::units::Cost;
use arrivals::Arrival;
use tokens::{Schedule, Tokens, asks_for_stream};

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Mock {
    address: SocketAddr,
    /// Dropped to end the thread.
    running: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<Result<(), Problem>>>,
}

/// Serves the model over HTTP/1.1 at `listen`; port 0 takes any free one. When it returns,
/// connections are taken. Requests arrive when their head has been read; no answer leaves early.
///
/// Fails if the address cannot be had.
pub fn serve(
    listen: SocketAddr,
    spec: ModelSpec,
    seed: u64,
    arrivals: Option<ArrivalLog>,
) -> Result<Mock, Problem> {
    let (running, stop) = oneshot::channel();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("mock".to_owned())
        .spawn(move || run(listen, &spec, seed, arrivals, &tell, stop))
        .map_err(|why| cannot_start(&why))?;
    let mut mock = Mock {
        address: listen,
        running: Some(running),
        thread: Some(thread),
    };
    match told.recv() {
        Ok(address) => mock.address = address,
        // The thread ended before it could tell: it says why.
        Err(mpsc::RecvError) => mock.end()?,
    }
    Ok(mock)
}

impl Mock {
    /// Where it listens, with the port that it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, requests inside included. Fails if arrivals could not be written.
    pub fn stop(mut self) -> Result<(), Problem> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Problem> {
        drop(self.running.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for Mock {
    /// Problems are told by [`Mock::stop`] only.
    fn drop(&mut self) {
        drop(self.running.take());
        self.thread.take().map(JoinHandle::join);
    }
}

fn cannot_start(why: &io::Error) -> Problem {
    let what = format!("the modelled API cannot start: {why}");
    Problem::usage(what, "free threads or file descriptors")
}

/// The thread: serves until `stop` ends, then lets go of every connection.
fn run(
    listen: SocketAddr,
    spec: &ModelSpec,
    seed: u64,
    arrivals: Option<ArrivalLog>,
    tell: &mpsc::Sender<SocketAddr>,
    stop: oneshot::Receiver<Infallible>,
) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| cannot_start(&why))?;
    let bound = runtime.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        Ok((listener.local_addr()?, listener))
    });
    let (address, listener) = bound.map_err(|why: io::Error| {
        let mend = "choose another address; port 0 takes any free one";
        Problem::usage(format!("cannot listen on {listen}: {why}"), mend)
    })?;
    let server = Rc::new(Server::new(address, spec, seed, arrivals));
    let tasks = LocalSet::new();
    tasks.spawn_local(Rc::clone(&server).write_arrivals());
    tasks.spawn_local(Rc::clone(&server).accept(listener));
    // If nobody waits for the address, the stop comes next.
    tell.send(address).ok();
    tasks.block_on(&runtime, stop).ok();
    // Arrivals inside are written as they are dropped.
    drop(tasks);
    match &server.arrivals {
        Some(log) => log.borrow_mut().flush(),
        None => Ok(()),
    }
}

/// What all connections share; one thread, so no lock.
struct Server {
    address: SocketAddr,
    clock: Clock,
    /// What a request costs of limits on units.
    units: u64,
    /// What every answer uses, if that is told.
    tokens: Option<Cost>,
    model: RefCell<Model>,
    arrivals: Option<RefCell<ArrivalLog>>,
}

impl Server {
    fn new(address: SocketAddr, spec: &ModelSpec, seed: u64, arrivals: Option<ArrivalLog>) -> Self {
        let clock = Clock::start();
        let setting = Setting {
            guard: Guard::Of(Duration::ZERO),
            epoch: clock.epoch(),
        };
        Self {
            address,
            clock,
            units: spec.tokens.map_or(1, Cost::get),
            tokens: spec.tokens,
            model: RefCell::new(Model::new(spec, setting, seed)),
            arrivals: arrivals.map(RefCell::new),
        }
    }

    async fn accept(self: Rc<Self>, listener: TcpListener) {
        /// Keeps the loop from spinning while the system has no file descriptor left.
        const REST: Duration = Duration::from_millis(10);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    spawn_local(Rc::clone(&self).connection(stream));
                }
                Err(_) => self.rest(REST).await,
            }
        }
    }

    async fn write_arrivals(self: Rc<Self>) {
        const PERIOD: Duration = Duration::from_millis(500);
        let Some(log) = &self.arrivals else {
            return;
        };
        // The log keeps its problem, and tells it again at the end.
        while log.borrow_mut().flush().is_ok() {
            self.rest(PERIOD).await;
        }
    }

    async fn rest(&self, span: Duration) {
        self.clock.sleep_until(self.clock.now().after(span)).await;
    }

    /// Serves one connection to its end. How it ends is the client's affair.
    async fn connection(self: Rc<Self>, stream: TcpStream) {
        // Without it only answers are later, by up to 40 ms.
        stream.set_nodelay(true).ok();
        let service = service_fn(|request| Rc::clone(&self).answer(request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connection.await.ok();
    }

    /// Whatever the method and the path. The body is read to its end, and counts for nothing; but where answers use
    /// tokens and it asks for a stream, they come one by one.
    ///
    /// It has arrived when this is called, whether or not the future is ever polled.
    fn answer(
        self: Rc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Either<Full<Bytes>, Tokens>>, hyper::Error>> {
        let arrived = self.clock.now();
        let path = request.uri().path();
        let (verdict, reply) = {
            let mut model = self.model.borrow_mut();
            let verdict = model.arrive(arrived, self.units);
            let reply = model.reply(&verdict, arrived, request.method(), path);
            (verdict, reply)
        };
        let mut arrival = Arrival::new(Rc::clone(&self), &verdict, arrived, path);
        let tokens = self.tokens.filter(|_| verdict.answer == Answer::Ok);
        let mut body = request.into_body();
        async move {
            let mut asked = Vec::new();
            while let Some(frame) = body.frame().await {
                if let (Ok(data), Some(_)) = (frame?.into_data(), tokens) {
                    asked.extend_from_slice(&data);
                }
            }
            let Some(tokens) = tokens.filter(|_| asks_for_stream(&asked)) else {
                self.clock.sleep_until(verdict.answered_at).await;
                arrival.answered(&reply);
                return Ok(reply.map(|body| Either::Left(Full::new(body))));
            };
            let schedule = Schedule {
                arrived,
                took: verdict.answered_at.since(arrived),
                tokens: tokens.get(),
            };
            self.clock.sleep_until(schedule.due(1)).await;
            arrival.answers(&reply);
            let mut reply =
                reply.map(|_| Either::Right(Tokens::new(self.clock, schedule, arrival)));
            let kind = HeaderValue::from_static("text/event-stream");
            reply.headers_mut().insert(CONTENT_TYPE, kind);
            Ok(reply)
        }
    }
}
