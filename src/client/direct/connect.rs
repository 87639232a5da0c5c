//! Opens connections: address, TCP, TLS. Floor 4: doors.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::connection::{Connection, Stream};
use super::server::Server;
use super::wire::Wire;
use crate::client::attempt::Attempt;
use crate::client::failure::{Doing, OutOfPorts, failed, slow_connect};
use crate::client::names::Place;
use crate::clock::{Clock, Deadline};
use crate::outcome::{Failure, Hindrance};
use crate::units::Tick;

/// So long one address has before the next is tried beside it. RFC 8305 §5.
const HEAD_START: Duration = Duration::from_millis(250);

/// So many addresses are tried at once: a slot has two files, see [`Room::slots`](crate::client::Room::slots).
const AT_ONCE: usize = 2;

/// Where no port of this machine is free, another look is taken after so long: they come back one by one, each some time
/// after its connection has ended.
const PORTS_COME: Duration = Duration::from_millis(50);

/// The opening of a connection for a try, within its time. Why it fails; `None`: the try is given up.
pub(super) type Connecting = Pin<Box<dyn Future<Output = Result<Connection, Option<Failure>>>>>;

/// That this machine has no port for it is not the server's fault: one is waited for, for as long as the try has.
pub(super) fn connect(attempt: &Attempt, server: Rc<Server>) -> Connecting {
    let (clock, give_up_at) = (attempt.clock, attempt.grant.give_up_at);
    let most = attempt.spec().connect_timeout;
    Box::pin(async move {
        loop {
            let now = clock.now();
            let until = most.map_or(give_up_at, |span| now.after(span).min(give_up_at));
            let why = match open_by(&server, until, clock).await {
                Ok(stream) => return Ok(Connection::new(stream, Deadline::new(clock, give_up_at))),
                Err(None) if until < give_up_at => return Err(Some(slow_connect(&server.name))),
                Err(None) => return Err(None),
                Err(Some(why)) => why,
            };
            let next = clock.now().after(PORTS_COME);
            if why.hindrance != Some(Hindrance::Ports) || next >= give_up_at {
                return Err(Some(why));
            }
            clock.sleep_until(next).await;
            // It may be the idle connections that hold them all.
            if let Some(connection) = server.take(clock.now()) {
                return Ok(connection);
            }
        }
    })
}

/// A connection for no try, by `until`.
pub(super) async fn connect_until(
    server: &Server,
    until: Tick,
    clock: Clock,
) -> Option<Connection> {
    let stream = open_by(server, until, clock).await.ok()?;
    Some(Connection::new(stream, Deadline::new(clock, until)))
}

/// Why not; `None`: it was too late. The next one is then opened for a try.
async fn open_by(server: &Server, until: Tick, clock: Clock) -> Result<Stream, Option<Failure>> {
    let opened = tokio::select! {
        biased;
        stream = open(server, clock) => stream.map_err(Some),
        () = clock.sleep_until(until) => Err(None),
    };
    opened.inspect_err(|_| server.fails())
}

async fn open(server: &Server, clock: Clock) -> Result<Stream, Failure> {
    let unconnected = |why: io::Error| failed(Doing::Connect, &why, &server.name);
    let stream = match &server.place {
        Place::Known(address) => Wire::Tcp(to(*address).await.map_err(unconnected)?),
        Place::Named(names) => {
            let addresses = names.addresses(clock).await;
            let addresses = addresses.map_err(|why| failed(Doing::LookUp, &*why, &server.name))?;
            Wire::Tcp(first_of(&addresses, clock).await.map_err(|why| {
                names.forget();
                unconnected(why)
            })?)
        }
        Place::Unix(path) => Wire::Unix(UnixStream::connect(path).await.map_err(unconnected)?),
    };
    if let Wire::Tcp(stream) = &stream {
        // Without it only requests in two pieces are later.
        stream.set_nodelay(true).ok();
    }
    let Some(security) = &server.security else {
        return Ok(Stream::Plain(stream));
    };
    let connector = TlsConnector::from(Arc::clone(&security.config));
    let secure = connector.connect(security.name.clone(), stream).await;
    Ok(Stream::Secure(Box::new(secure.map_err(unconnected)?)))
}

async fn to(address: SocketAddr) -> io::Result<TcpStream> {
    let connected = TcpStream::connect(address).await;
    connected.map_err(|why| match why.kind() {
        io::ErrorKind::AddrNotAvailable if has_own_address_for(address) => {
            io::Error::other(OutOfPorts)
        }
        _ => why,
    })
}

/// Whether this machine has an address to reach that one from: without, it has the same error. Sends nothing, as a
/// datagram socket that connects only chooses its way.
fn has_own_address_for(address: SocketAddr) -> bool {
    let own: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    UdpSocket::bind(own).is_ok_and(|socket| socket.connect(address).is_ok())
}

/// The first of them that takes a connection: each has a head start before the next. RFC 8305 §5.
async fn first_of(addresses: &[SocketAddr], clock: Clock) -> io::Result<TcpStream> {
    if let [only] = addresses {
        return to(*only).await;
    }
    let mut waiting = addresses.iter();
    let mut trying = JoinSet::new();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    loop {
        match waiting.next() {
            Some(address) => drop(trying.spawn(to(*address))),
            None if trying.is_empty() => return Err(last),
            None => {}
        }
        let more = trying.len() < AT_ONCE && waiting.len() > 0;
        let next = clock.now().after(HEAD_START);
        tokio::select! {
            biased;
            Some(tried) = trying.join_next() => match tried.expect("it does not panic") {
                Ok(stream) => return Ok(stream),
                Err(why) => last = why,
            },
            () = clock.sleep_until(next), if more => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    #[tokio::test]
    async fn an_address_that_does_not_answer_holds_up_the_next_for_its_head_start() {
        // One connection waits to be taken, and the system drops all others.
        let full = TcpSocket::new_v4().unwrap();
        full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let full = full.listen(0).unwrap();
        let silent = full.local_addr().unwrap();
        let _waits = TcpStream::connect(silent).await.unwrap();
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = good.local_addr().unwrap();
        // Only root could listen there.
        let closed: SocketAddr = "127.0.0.1:1".parse().unwrap();

        let clock = Clock::start();
        let stream = first_of(&[closed, silent, closed, good], clock).await;
        assert_eq!(stream.unwrap().peer_addr().unwrap(), good);
        let took = clock.now();
        assert!(took >= Tick::ZERO.after(HEAD_START), "{took:?}");

        let refused = first_of(&[closed, closed], clock).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert!(first_of(&[], clock).await.is_err());
    }
}
