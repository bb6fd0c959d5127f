//! Turns a TCP connection into a TLS one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use teia_base::{Certificate, Outcome};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::fault;
use super::verify::{AcceptAll, is_good};
use crate::config::{Certificates, FetchConfig};
use crate::dial::Target;
use crate::error::FetchError;
use crate::fault::Fault;

/// Hosts whose TLS sessions are remembered.
const SESSIONS: usize = 4096;

/// Which protocols are offered in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// HTTP/2 first, then HTTP/1.1.
    Both,
    /// HTTP/1.1 alone.
    Http1,
}

/// A secured connection.
pub(crate) struct Secured {
    pub(crate) stream: TlsStream<TcpStream>,
    pub(crate) certificate: Certificate,
    pub(crate) h2: bool,
}

/// How TLS is spoken by one fetcher.
#[derive(Debug)]
pub(crate) struct Tls {
    both: Arc<ClientConfig>,
    http1: Arc<ClientConfig>,
    verifier: Arc<WebPkiServerVerifier>,
    mode: Certificates,
}

impl Tls {
    pub(crate) fn new(config: &FetchConfig) -> Result<Self, FetchError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let roots = Arc::new(roots(config)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| FetchError::Tls(rustls::Error::General(error.to_string())))?;
        let base = client_config(&provider, &verifier, config.certificates)?;
        let mut both = base.clone();
        both.alpn_protocols = if config.http2 {
            vec![b"h2".to_vec(), b"http/1.1".to_vec()]
        } else {
            Vec::new()
        };
        let mut http1 = base;
        http1.alpn_protocols = vec![b"http/1.1".to_vec()];
        let both = if config.http2 { both } else { http1.clone() };
        Ok(Self {
            both: Arc::new(both),
            http1: Arc::new(http1),
            verifier,
            mode: config.certificates,
        })
    }

    /// Shakes hands. The name is sent for names and never for addresses.
    pub(crate) async fn secure(
        &self,
        tcp: TcpStream,
        target: &Target,
        offer: Offer,
    ) -> Result<Secured, Fault> {
        let name = match target.literal {
            Some(address) => ServerName::IpAddress(address.into()),
            None => ServerName::try_from(target.host.trim_end_matches('.').to_owned())
                .map_err(|_| Fault::new(Outcome::URL_INVALID, "host_name"))?,
        };
        let config = match offer {
            Offer::Both => &self.both,
            Offer::Http1 => &self.http1,
        };
        let connector = TlsConnector::from(Arc::clone(config));
        let stream = connector
            .connect(name.clone(), tcp)
            .await
            .map_err(|error| fault::handshake(&error))?;
        let session = stream.get_ref().1;
        let h2 = session.alpn_protocol() == Some(b"h2");
        let certificate = match self.mode {
            Certificates::Check => Certificate::Verified,
            Certificates::Accept if is_good(&self.verifier, session.peer_certificates(), &name) => {
                Certificate::Verified
            }
            Certificates::Accept => Certificate::Accepted,
        };
        Ok(Secured {
            stream,
            certificate,
            h2,
        })
    }
}

fn client_config(
    provider: &Arc<CryptoProvider>,
    verifier: &Arc<WebPkiServerVerifier>,
    mode: Certificates,
) -> Result<ClientConfig, FetchError> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(FetchError::Tls)?;
    let mut config = match mode {
        Certificates::Check => builder
            .with_webpki_verifier(Arc::clone(verifier))
            .with_no_client_auth(),
        Certificates::Accept => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAll(Arc::clone(verifier))))
            .with_no_client_auth(),
    };
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    config.enable_early_data = false;
    Ok(config)
}

fn roots(config: &FetchConfig) -> Result<RootCertStore, FetchError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(path) = &config.ca_file {
        let certificates = read_pem(path).map_err(|source| FetchError::CaFile {
            path: path.clone(),
            source,
        })?;
        for certificate in certificates {
            roots.add(certificate).map_err(FetchError::Tls)?;
        }
    }
    if config.native_roots {
        // What the system holds and cannot be read is left out, as other clients do.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    Ok(roots)
}

fn read_pem(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let text = std::fs::read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(io::Error::other)?;
    if certificates.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "there is no certificate in it",
        ));
    }
    Ok(certificates)
}
