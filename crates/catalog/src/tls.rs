//! TLS for a connection to PostgreSQL: certificates are always checked.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::CatalogError;

/// What makes the TLS half of a connection. Whom it trusts is in the file, or without one the system says;
/// `SSL_CERT_FILE` names other roots than the system's.
pub(crate) fn connector(authority: Option<&Path>) -> Result<MakeRustlsConnect, CatalogError> {
    let mut roots = RootCertStore::empty();
    match authority {
        Some(path) => {
            let unreadable =
                |why: String| CatalogError::Tls(format!("sslrootcert {}: {why}", path.display()));
            let text = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                let added = roots.add(certificate);
                added.map_err(|error| unreadable(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(unreadable("there is no certificate in it".to_owned()));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    // Named, because rustls panics where several providers are built in and none is chosen.
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| CatalogError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// What is wrong with a server's certificate, and what to do, where that is why there is no connection.
pub(crate) fn mistrust(error: &tokio_postgres::Error) -> Option<&'static str> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>();
        let inner = inner.and_then(|error| error.get_ref()?.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::InvalidCertificate(wrong)) =
            inner.or_else(|| error.downcast_ref())
        {
            return Some(in_words(wrong));
        }
        cause = error.source();
    }
    None
}

fn in_words(wrong: &CertificateError) -> &'static str {
    match wrong {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "nobody whom this machine trusts has signed it; name the authority that did with ?sslrootcert=FILE"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name; reach the server by a name that stands in it"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired; the server needs a new one"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; look at the clocks of both machines"
        }
        _ => "it is not a good one; the server needs another",
    }
}
