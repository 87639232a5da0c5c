//! Our own HTTP/1.1: one request at a time on a connection that is kept. Floor 4: doors.
//!
//! Nothing runs beside the tries: a connection that waits for a request is a value in a list, and what became of it
//! meanwhile is seen when it is taken. What was written, even in part, is never sent again here: a second request
//! would have to pay its limits, so that is a retry, and the engine's.

#[cfg(test)]
mod beside_hyper;
mod body;
mod connect;
mod connection;
mod decoder;
mod exchange;
mod head;
mod input;
mod request;
mod server;
mod spare;
mod wire;

use std::future::Future;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use super::attempt::Attempt;
use super::pool::Lease;
use super::{Carrier, ClientSpec};
use crate::clock::Clock;
use crate::job::Job;
use crate::units::Tick;
use connect::connect_until;
use connection::at_once;
pub(super) use exchange::Exchange;
use request::Request;
use server::Opening;
pub(super) use server::Server;
use spare::Spare;

/// So long a connection that is opened ahead may take, if the command line says nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a connection that the next try will find. `None` if there is no need, or the server has not shown that it answers.
/// Failing is left to a try, which then tells why.
pub(super) fn open_ahead(
    server: &Rc<Server>,
    spec: &ClientSpec,
    most: usize,
    clock: Clock,
) -> Option<impl Future<Output = ()> + use<>> {
    let now = clock.now();
    if !server.answers() || server.has_one(now) {
        return None;
    }
    let opening = Opening::one_of(server, most)?;
    let until = now.after(spec.connect_timeout.unwrap_or(PATIENCE));
    Some(async move {
        if let Some(connection) = connect_until(&opening.server, until, clock).await {
            opening.server.put(connection, clock.now(), None);
        }
    })
}

/// What all tries of a client have in common.
#[derive(Debug, Default)]
pub(super) struct Direct {
    spare: Spare,
}

impl Direct {
    /// Makes the try: what goes out at once goes out here, at `at`; what is returned waits for the answer.
    pub(super) fn start(
        self: &Rc<Self>,
        attempt: Attempt,
        server: Rc<Server>,
        job: &Job,
        lease: Lease<Carrier>,
        mut at: Tick,
    ) -> Exchange {
        let buffer = self.spare.writing();
        let mut request = Request::of(job, &server, lease.after(), buffer);
        let mut open = None;
        while let Some(mut connection) = server.take(at) {
            match at_once(|cx| connection.poll_write(cx, &mut request)) {
                // It has died meanwhile, and nothing went out on it.
                Poll::Ready(Err(_)) if !request.is_begun() => at = attempt.clock.now(),
                written => {
                    open = Some((connection, written));
                    break;
                }
            }
        }
        let direct = Rc::clone(self);
        let method = job.method.clone();
        let mut exchange = Exchange::new(direct, lease, attempt, server, request, method);
        if let Some((connection, written)) = open {
            exchange.goes_on(connection, written, at);
        }
        exchange
    }
}
