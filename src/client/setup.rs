//! How the HTTP library is set up. Floor 4: doors.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::redirect;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::{ClientSpec, Via, failure};
use crate::outcome::FailureKind;

/// Which certificates a client trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    Nothing,
    System,
}

/// Why nothing can be sent.
pub(super) struct Refused {
    pub(super) kind: FailureKind,
    pub(super) cause: String,
}

/// What the clients of a run have in common. What is slow to make is made once, so that another client
/// costs some microseconds.
#[derive(Debug)]
pub(super) struct Setup {
    user_agent: String,
    connect_timeout: Option<Duration>,
    via: Via,
    plain: ClientConfig,
    /// Made for the first `https` job, as reading the system's certificates takes longer than a short run.
    secure: OnceLock<Result<ClientConfig, rustls::Error>>,
    /// Made when there was time: the first send is not late by it.
    first: Mutex<Option<reqwest::Client>>,
}

impl Setup {
    /// Fails if there can be no client at all.
    pub(super) fn new(spec: &ClientSpec) -> Result<Self, String> {
        let setup = Self {
            user_agent: spec.user_agent.clone(),
            connect_timeout: spec.connect_timeout,
            via: spec.via,
            plain: trusting(Trust::Nothing).map_err(|why| why.to_string())?,
            secure: OnceLock::new(),
            first: Mutex::new(None),
        };
        let first = setup.make(Trust::Nothing).map_err(|why| why.cause)?;
        setup.keep(Some(first));
        Ok(setup)
    }

    /// A client with connections of its own.
    pub(super) fn client(&self, trust: Trust) -> Result<reqwest::Client, Refused> {
        let first = match trust {
            Trust::Nothing => self.keep(None),
            Trust::System => None,
        };
        first.map_or_else(|| self.make(trust), Ok)
    }

    /// Puts a client in the place of the first, which it returns.
    fn keep(&self, client: Option<reqwest::Client>) -> Option<reqwest::Client> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *first, client)
    }

    fn make(&self, trust: Trust) -> Result<reqwest::Client, Refused> {
        let (tls, kind) = match trust {
            Trust::Nothing => (Ok(&self.plain), FailureKind::Invalid),
            Trust::System => {
                let secure = self.secure.get_or_init(|| trusting(Trust::System));
                (secure.as_ref(), FailureKind::Tls)
            }
        };
        let refused = |cause| Refused { kind, cause };
        let tls = tls.map_err(|why| refused(why.to_string()))?;
        let mut builder = reqwest::Client::builder()
            .user_agent(&self.user_agent)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .http1_only()
            .tcp_nodelay(true)
            .pool_max_idle_per_host(usize::MAX)
            .tls_backend_preconfigured(tls.clone());
        if let Some(span) = self.connect_timeout {
            builder = builder.connect_timeout(span);
        }
        match self.via {
            Via::Direct => {}
            Via::Mock(_) => builder = builder.no_proxy(),
        }
        let built = builder.build();
        built.map_err(|why| refused(failure::cause(&why.without_url())))
    }
}

/// TLS for HTTP/1.1, with a memory of its own for sessions, which all its clients share.
fn trusting(trust: Trust) -> Result<ClientConfig, rustls::Error> {
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
