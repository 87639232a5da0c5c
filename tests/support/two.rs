//! A server of HTTP/2, plain or by TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{Request, Response};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio_rustls::TlsAcceptor;

/// What becomes of the nth request of a server, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It is answered with its version and its target.
    Answer,
    /// It is refused unseen: `REFUSED_STREAM`.
    Refuse,
    /// The connection ends with GOAWAY: no stream of it was looked at. Only of plain servers.
    GoAway,
    /// There is no room for its body, and never will be. Only of plain servers.
    NoRoom,
    /// Its stream is reset: `INTERNAL_ERROR`.
    Reset,
}

/// Serves until the test ends; TLS with this configuration.
pub(crate) fn serve(
    tls: Option<ServerConfig>,
    then: impl Fn(u64) -> Then + Send + 'static,
) -> SocketAddr {
    let (told, address) = mpsc::channel();
    thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("it starts").block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port is free");
            let address = listener.local_addr().expect("it is bound");
            told.send(address).expect("the test waits for it");
            let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
            let mut nth = 0;
            loop {
                let (stream, _) = listener.accept().await.expect("it listens");
                match &acceptor {
                    None if then(nth) == Then::GoAway => {
                        nth += 1;
                        go_away(stream).await.ok();
                    }
                    None if then(nth) == Then::NoRoom => {
                        nth += 1;
                        no_room(stream).await.ok();
                    }
                    None => connection(stream, &then, &mut nth).await,
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream).await {
                            connection(stream, &then, &mut nth).await;
                        }
                    }
                }
            }
        });
    });
    address.recv().expect("the server starts")
}

/// One after the other: a client that goes on has to end the one before.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    then: &impl Fn(u64) -> Then,
    nth: &mut u64,
) {
    let Ok(mut connection) = server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let now = then(*nth);
        *nth += 1;
        match now {
            Then::Answer => answer(&request, respond),
            Then::Refuse => respond.send_reset(h2::Reason::REFUSED_STREAM),
            Then::Reset => respond.send_reset(h2::Reason::INTERNAL_ERROR),
            Then::GoAway | Then::NoRoom => return,
        }
    }
}

/// RFC 9113 §6.5, §6.8: settings of nothing, and the last stream was none.
async fn go_away(mut stream: TcpStream) -> io::Result<()> {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    stream.write_all(&SETTINGS).await?;
    // Until the request is here, which ends its headers: END_HEADERS is 4, END_STREAM 1.
    let mut seen = Vec::new();
    while !seen
        .windows(5)
        .any(|part| part[0] == 1 && part[1] & 4 != 0 && part[2..] == [0, 0, 0])
    {
        let mut bytes = [0; 1024];
        let read = stream.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        seen.extend_from_slice(&bytes[..read]);
    }
    stream.write_all(&GOAWAY).await?;
    stream.shutdown().await?;
    while stream.read(&mut [0; 1024]).await? > 0 {}
    Ok(())
}

/// RFC 9113 §6.5.2: the window of each stream is 0, and nothing makes it larger.
async fn no_room(mut stream: TcpStream) -> io::Result<()> {
    const SETTINGS: [u8; 15] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
    stream.write_all(&SETTINGS).await?;
    while stream.read(&mut [0; 1024]).await? > 0 {}
    Ok(())
}

fn answer<T>(request: &Request<T>, mut respond: SendResponse<Bytes>) {
    let body = format!("{:?} {}", request.version(), request.uri().path());
    if let Ok(mut stream) = respond.send_response(Response::new(()), false) {
        stream.send_data(Bytes::from(body), true).ok();
    }
}
