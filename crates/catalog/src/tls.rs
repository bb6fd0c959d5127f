//! TLS for a connection to PostgreSQL: certificates are checked against the system's roots.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::CatalogError;

/// What makes the TLS half of a connection. `SSL_CERT_FILE` names other roots than the system's.
pub(crate) fn connector() -> Result<MakeRustlsConnect, CatalogError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    // Named, because rustls panics where several providers are built in and none is chosen.
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| CatalogError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
