//! What a failed handshake means.

use std::io;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};
use teia_base::Outcome;

use crate::fault::Fault;

/// The outcome of a handshake that failed, from the error of the stream.
pub(crate) fn handshake(error: &io::Error) -> Fault {
    let Some(tls) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>())
    else {
        return Fault::new(Outcome::TLS_HANDSHAKE, error.to_string());
    };
    let outcome = match tls {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(
            AlertDescription::ProtocolVersion | AlertDescription::InsufficientSecurity,
        )
        | Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        )
        | Error::InvalidMessage(InvalidMessage::UnknownProtocolVersion) => Outcome::TLS_PROTO,
        _ => Outcome::TLS_HANDSHAKE,
    };
    let detail = match tls {
        Error::AlertReceived(alert) => format!("alert {} ({alert:?})", u8::from(*alert)),
        other => other.to_string(),
    };
    Fault::new(outcome, detail)
}

fn certificate(error: &CertificateError) -> Outcome {
    match error {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => Outcome::TLS_CERT_EXPIRED,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Outcome::TLS_CERT_NAME
        }
        _ => Outcome::TLS_CERT_UNTRUSTED,
    }
}
