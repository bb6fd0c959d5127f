//! Certificates, good and bad.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::{ConfigBuilder, RootCertStore, ServerConfig, WantsVerifier};
use tempfile::NamedTempFile;

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blemish {
    /// Nothing.
    None,
    /// It ended in 2001.
    Expired,
    /// It begins in 2090.
    NotYetValid,
    /// It is for another name.
    OtherName,
    /// Its name stands only in the subject.
    NameInSubjectOnly,
    /// Its wildcard is two labels short.
    DeepWildcard,
    /// It vouches for itself.
    SelfSigned,
    /// An authority that nobody knows vouches for it.
    UnknownAuthority,
    /// The certificate between it and its authority is not shown.
    MissingIntermediate,
    /// It comes with a thousand others that have nothing to do with it.
    LongChain,
    /// An authority that may vouch for other names only vouches for it.
    NameConstraint,
    /// Many authorities of one name vouch for each other, and none of them for it.
    Maze,
}

/// An authority that vouches for the city.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: NamedTempFile,
}

impl Authority {
    /// A new one, its certificate in a file of its own.
    pub fn new() -> Result<Self> {
        let issuer = issuer("City Authority")?;
        let file = NamedTempFile::new()?;
        std::fs::write(file.path(), issuer.pem())?;
        Ok(Self { issuer, file })
    }

    /// Its certificate, in PEM.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Settings of a server that shows a certificate with this blemish and speaks these protocols.
    pub(crate) fn server(
        &self,
        blemish: Blemish,
        protocols: &[&[u8]],
    ) -> Result<Arc<ServerConfig>> {
        let (chain, key) = self.shown(blemish)?;
        let mut config = builder()?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .context("a certificate of the city")?;
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }

    /// The same, with an OCSP answer stapled to a good certificate.
    pub(crate) fn stapled(&self, staple: Vec<u8>) -> Result<Arc<ServerConfig>> {
        let (chain, key) = self.shown(Blemish::None)?;
        let builder = builder()?.with_no_client_auth();
        Ok(Arc::new(
            builder.with_single_cert_with_ocsp(chain, key, staple)?,
        ))
    }

    /// The same, asking for the client's certificate.
    pub(crate) fn asking(
        &self,
        verifier: Arc<dyn ClientCertVerifier>,
    ) -> Result<Arc<ServerConfig>> {
        let (chain, key) = self.shown(Blemish::None)?;
        let builder = builder()?.with_client_cert_verifier(verifier);
        Ok(Arc::new(builder.with_single_cert(chain, key)?))
    }

    /// Itself, as the one to trust.
    pub(crate) fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone())?;
        Ok(roots)
    }

    fn shown(
        &self,
        blemish: Blemish,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let key = KeyPair::generate()?;
        let chain = self.chain(blemish, &key)?;
        Ok((chain, PrivateKeyDer::Pkcs8(key.serialize_der().into())))
    }

    fn chain(&self, blemish: Blemish, key: &KeyPair) -> Result<Vec<CertificateDer<'static>>> {
        let names: &[&str] = match blemish {
            Blemish::OtherName => &["elsewhere.test"],
            Blemish::NameInSubjectOnly => &[],
            Blemish::DeepWildcard => &["*.test"],
            _ => &["city.test", "*.city.test", "*.co.uk"],
        };
        let mut params =
            CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        if blemish == Blemish::NameInSubjectOnly {
            params.distinguished_name = DistinguishedName::new();
            params
                .distinguished_name
                .push(DnType::CommonName, "city.test");
        }
        let (from, until) = match blemish {
            Blemish::Expired => (2000, 2001),
            Blemish::NotYetValid => (2090, 2091),
            _ => (2000, 2090),
        };
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        Ok(match blemish {
            Blemish::SelfSigned => vec![params.self_signed(key)?.der().clone()],
            Blemish::UnknownAuthority => {
                let stranger = issuer("Nobody")?;
                vec![params.signed_by(key, &stranger)?.der().clone()]
            }
            Blemish::MissingIntermediate => {
                let between = self.intermediate(None)?;
                vec![params.signed_by(key, &between)?.der().clone()]
            }
            Blemish::NameConstraint => {
                let between = self.intermediate(Some("elsewhere.test"))?;
                let leaf = params.signed_by(key, &between)?.der().clone();
                vec![leaf, between.der().clone()]
            }
            Blemish::Maze => {
                let hidden = issuer("Maze")?;
                let mut chain = vec![params.signed_by(key, &hidden)?.der().clone()];
                for _ in 0..60 {
                    chain.push(issuer("Maze")?.der().clone());
                }
                chain
            }
            Blemish::LongChain => {
                let leaf = params.signed_by(key, &self.issuer)?.der().clone();
                let other = issuer("Padding")?.der().clone();
                let mut chain = vec![leaf];
                chain.extend(std::iter::repeat_n(other, 1000));
                chain
            }
            _ => vec![params.signed_by(key, &self.issuer)?.der().clone()],
        })
    }

    /// An authority below this one, for names below the given one only.
    fn intermediate(&self, only: Option<&str>) -> Result<CertifiedIssuer<'static, KeyPair>> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "City Office");
        if let Some(name) = only {
            params.name_constraints = Some(rcgen::NameConstraints {
                permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName(name.to_owned())],
                excluded_subtrees: Vec::new(),
            });
        }
        Ok(CertifiedIssuer::signed_by(
            params,
            KeyPair::generate()?,
            &self.issuer,
        )?)
    }
}

fn builder() -> Result<ConfigBuilder<ServerConfig, WantsVerifier>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?)
}

fn issuer(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}
