//! TLS for HTTP/1.1, which both transports share. Floor 4: doors.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::{Http, failure};
use crate::error::Problem;
use crate::letters::calm_path;

/// Whom a client trusts, and what it shows of itself.
#[derive(Debug, Clone, Default)]
pub struct TlsSpec {
    trust: Trust,
    /// Shown to a server that asks for it.
    identity: Option<Arc<Identity>>,
}

/// Which certificates of servers are taken.
#[derive(Debug, Clone, Default)]
enum Trust {
    /// Those that the system trusts.
    #[default]
    System,
    /// Those that one of these has signed, and these.
    Only(Arc<Own>),
    /// All of them.
    Any,
    /// None.
    Nobody,
}

/// The certificates of a file.
#[derive(Debug)]
struct Own {
    roots: Arc<RootCertStore>,
    all: Vec<CertificateDer<'static>>,
}

/// Certificates, that of the client first, and the key of that.
#[derive(Debug)]
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl TlsSpec {
    /// Trusts those whom the authorities of this PEM file have signed, those whose own certificate stands in it, and nobody
    /// else. Fails if it cannot be read or holds none.
    pub fn trusting(self, authorities: &Path) -> Result<Self, Problem> {
        let option = "--cacert";
        let mut roots = RootCertStore::empty();
        let all = certificates(option, authorities)?;
        for certificate in &all {
            let added = roots.add(certificate.clone());
            added.map_err(|why| unusable(option, authorities, &why.to_string(), CERTIFICATES))?;
        }
        let roots = Arc::new(roots);
        let trust = Trust::Only(Arc::new(Own { roots, all }));
        Ok(Self { trust, ..self })
    }

    /// Trusts everybody: whoever is on the way may read and change all.
    #[must_use]
    pub fn trusting_any(self) -> Self {
        let trust = Trust::Any;
        Self { trust, ..self }
    }

    /// Shows the certificates of this PEM file, that of the client first; its key stands in the same file or in one of its
    /// own. Fails if they cannot be read, or hold none.
    pub fn showing(self, certificate: &Path, key: Option<&Path>) -> Result<Self, Problem> {
        let chain = certificates("--cert", certificate)?;
        let (option, file) = key.map_or(("--cert", certificate), |key| ("--key", key));
        let key = PrivateKeyDer::from_pem_file(file).map_err(|why| match why {
            pem::Error::NoItemsFound => {
                let mend = "give the file of the key by --key, without a passphrase";
                unusable(option, file, "there is no private key in it", mend)
            }
            why => unusable(option, file, &cause(&why), KEY),
        })?;
        let identity = Some(Arc::new(Identity { chain, key }));
        let spec = Self { identity, ..self };
        match spec.config(Http::One) {
            Ok(_) => Ok(spec),
            Err(why) => Err(unusable(option, file, &why.to_string(), KEY)),
        }
    }

    /// TLS with a memory of its own for sessions, which all its connections share.
    fn config(&self, http: Http) -> Result<ClientConfig, Error> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &self.trust {
            Trust::Only(own) => {
                let own = OwnCertificates::new(Arc::clone(own), provider)?;
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(own))
            }
            Trust::Nobody => builder.with_root_certificates(RootCertStore::empty()),
            Trust::System => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?)),
            Trust::Any => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
        };
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(own) => builder.with_client_auth_cert(own.chain.clone(), own.key.clone_key())?,
        };
        let protocols: &[&[u8]] = match http {
            Http::One => &[b"http/1.1"],
            Http::Two => &[b"h2", b"http/1.1"],
        };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(config)
    }
}

const CERTIFICATES: &str = "give a file of certificates in PEM: -----BEGIN CERTIFICATE-----";
const KEY: &str = "give the key of the certificate in PEM, without a passphrase";

fn certificates(option: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let unread = |why: pem::Error| unusable(option, file, &cause(&why), CERTIFICATES);
    let all = CertificateDer::pem_file_iter(file).map_err(unread)?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(unread)?;
    if all.is_empty() {
        let why = "there is no certificate in it";
        return Err(unusable(option, file, why, CERTIFICATES));
    }
    Ok(all)
}

fn cause(why: &pem::Error) -> String {
    match why {
        pem::Error::Io(why) => why.to_string(),
        why => why.to_string(),
    }
}

fn unusable(option: &str, file: &Path, why: &str, mend: &str) -> Problem {
    Problem::usage(format!("{option} {}: {why}", calm_path(file)), mend)
}

/// Takes what an authority of the file has signed, and a certificate that stands there itself: one that `openssl req -x509`
/// has made for a server is that of an authority, too, which webpki refuses to take for a server's.
#[derive(Debug)]
struct OwnCertificates {
    signed: Arc<WebPkiServerVerifier>,
    own: Arc<Own>,
}

impl OwnCertificates {
    fn new(own: Arc<Own>, provider: Arc<CryptoProvider>) -> Result<Self, Error> {
        let roots = Arc::clone(&own.roots);
        let signed = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        let signed = signed.map_err(|why| Error::General(why.to_string()))?;
        Ok(Self { signed, own })
    }
}

impl ServerCertVerifier for OwnCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let signed = self.signed.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match signed {
            // Its time was looked at before that.
            Err(Error::InvalidCertificate(fault))
                if failure::is_an_authoritys(&fault) && self.own.all.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            told => told,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        (self.signed).verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        (self.signed).verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Takes every certificate; that the server has its key is still proved.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// TLS of a run. Made for the first `https` job: reading what the system trusts takes longer than a short run.
#[derive(Debug, Default)]
pub(super) struct Tls {
    spec: TlsSpec,
    http: Http,
    made: OnceLock<Result<Arc<ClientConfig>, Error>>,
}

impl Tls {
    pub(super) fn of(spec: &TlsSpec, http: Http) -> Self {
        Self {
            spec: spec.clone(),
            http,
            made: OnceLock::new(),
        }
    }

    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let made = self
            .made
            .get_or_init(|| self.spec.config(self.http).map(Arc::new));
        made.clone()
    }
}

/// TLS that is never used, for a client of plain HTTP: it is made in no time.
pub(super) fn unused() -> Result<ClientConfig, Error> {
    let nobody = TlsSpec {
        trust: Trust::Nobody,
        identity: None,
    };
    nobody.config(Http::One)
}
