//! TLS for HTTP/1.1, which both transports share. Floor 4: doors.

use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// Certificates that the system trusts, and a memory of sessions. Made for the first `https` job, as reading
/// them takes longer than a short run.
#[derive(Debug, Default)]
pub(super) struct Tls(OnceLock<Result<Arc<ClientConfig>, rustls::Error>>);

impl Tls {
    pub(super) fn trusted(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        let made = self.0.get_or_init(|| trusting(Trust::System).map(Arc::new));
        made.clone()
    }
}

/// Which certificates are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    Nothing,
    System,
}

/// TLS with a memory of its own for sessions, which all its connections share.
pub(super) fn trusting(trust: Trust) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Nothing => builder.with_root_certificates(RootCertStore::empty()),
        Trust::System => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?)),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
