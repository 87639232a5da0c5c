//! A server of https, with the certificates of `fixtures/tls`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::wire;

/// The path of one of the files.
pub(crate) fn fixture(name: &str) -> String {
    format!("{}/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Answers each request with how many came before it on its connection, and its target; until the test ends.
pub(crate) fn secure_server() -> SocketAddr {
    serve(config(None))
}

/// The same, to clients that show a certificate of `client-ca.pem`.
pub(crate) fn server_that_asks_for_a_certificate() -> SocketAddr {
    serve(config(Some("client-ca.pem")))
}

/// The same as the first, with a certificate that it has signed itself.
pub(crate) fn server_that_signed_itself() -> SocketAddr {
    serve(config_of("self-signed", None))
}

/// What a server needs that asks clients for a certificate of this authority, or for none.
pub(crate) fn config(clients: Option<&str>) -> ServerConfig {
    config_of("server", clients)
}

/// The same with the certificate and the key of this name.
fn config_of(server: &str, clients: Option<&str>) -> ServerConfig {
    let certificate = fixture(&format!("{server}.pem"));
    let certificate = CertificateDer::from_pem_file(certificate).expect("it is PEM");
    let key = fixture(&format!("{server}.key"));
    let key = PrivateKeyDer::from_pem_file(key).expect("it is PEM");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has them");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let authority = CertificateDer::from_pem_file(fixture(authority)).expect("it is PEM");
            let mut roots = RootCertStore::empty();
            roots.add(authority).expect("it is a certificate");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("it has a root"))
        }
    };
    builder
        .with_single_cert(vec![certificate], key)
        .expect("the key is that of the certificate")
}

fn serve(config: ServerConfig) -> SocketAddr {
    let config = Arc::new(config);
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let session = ServerConnection::new(Arc::clone(&config)).expect("it is sound");
            let stream = StreamOwned::new(session, stream.expect("it is taken"));
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: impl Read + Write) -> io::Result<()> {
    for nth in 0.. {
        let head = wire::head(&mut stream)?;
        let body = format!("{nth} {}", wire::target(&head));
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
        stream.flush()?;
    }
    Ok(())
}
