//! What a fetcher can be told: how patient, how large, through what, trusting whom.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::measure;
use url::Url;

use crate::decode::DecodeLimits;
use crate::dial::Proxy;
use crate::dns::Overrides;
use crate::error::FetchError;
use crate::http_fetcher::check_fields;

/// How one document is fetched. Every field has a safe default.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FetchConfig {
    /// Who we say we are, in `User-Agent`.
    pub user_agent: String,
    /// A mail address for the webmaster, in `From`; not sent unless given.
    pub from: Option<String>,
    /// What we would like to get, in `Accept`.
    pub accept: String,
    /// Content codings that we undo, in `Accept-Encoding`; empty sends none.
    pub accept_encoding: String,
    /// Languages that we would like, in `Accept-Language`; not sent unless given.
    pub accept_language: Option<String>,

    /// Longest wait for the name servers.
    #[serde(with = "measure::duration")]
    pub dns_timeout: Duration,
    /// Aliases (CNAME) that a host name may lead through.
    pub cname_max: usize,
    /// Longest wait for a TCP connection, over all addresses of a host.
    #[serde(with = "measure::duration")]
    pub connect_timeout: Duration,
    /// Longest TLS handshake.
    #[serde(with = "measure::duration")]
    pub tls_timeout: Duration,
    /// Longest wait for the head of the answer; never more than the whole exchange may take.
    #[serde(with = "measure::duration")]
    pub first_byte_timeout: Duration,
    /// Bytes a second that a body must bring on average over `min-rate-window`; 0 asks for none.
    pub min_rate: u64,
    /// Over how long the rate is measured; never more than the whole exchange may take.
    #[serde(with = "measure::duration")]
    pub min_rate_window: Duration,
    /// Longest exchange, from name to last byte; a request may ask for another limit.
    #[serde(with = "measure::duration")]
    pub timeout: Duration,
    /// The same for documents (PDF, office files, books, archives), where it is longer.
    #[serde(with = "measure::duration")]
    pub document_timeout: Duration,

    /// Bytes of a body taken from the wire; the rest is cut off and marked so.
    #[serde(with = "measure::size")]
    pub body_wire_bytes: u64,
    /// The same for documents, where it is more.
    #[serde(with = "measure::size")]
    pub document_wire_bytes: u64,
    /// Bytes that a body may unpack to.
    #[serde(with = "measure::size")]
    pub body_decoded_bytes: u64,
    /// The same for documents, where it is more.
    #[serde(with = "measure::size")]
    pub document_decoded_bytes: u64,
    /// Bytes that each byte of a body may unpack to, after the first MiB.
    pub ratio_max: u64,
    /// Content codings one inside the other.
    pub decode_layers: usize,
    /// Bytes of a head, or of the trailers after a chunked body.
    #[serde(with = "measure::size")]
    pub headers_bytes: u64,
    /// Fields in a head.
    pub headers_count: usize,
    /// Interim (1xx) answers before the real one.
    pub interim_max: usize,

    /// Bodies longer than this lie in an unnamed temporary file.
    #[serde(with = "measure::size")]
    pub spool_bytes: u64,
    /// Where such files lie; below the data directory unless given, where the disk's reserve is kept.
    pub spool_dir: Option<PathBuf>,
    /// Memory for bodies above 64 KiB, all together; where it is used up, they go to files.
    #[serde(with = "measure::size")]
    pub body_memory: u64,
    /// Bytes a second received by the whole process; no limit unless given.
    #[serde(with = "optional_size")]
    pub bandwidth: Option<u64>,

    /// Idle connections kept for reuse, all together; the one unused for longest goes first.
    pub max_idle_connections: usize,
    /// Idle connections kept for one host.
    pub idle_per_host: usize,
    /// How long an idle connection is kept.
    #[serde(with = "measure::duration")]
    pub idle_timeout: Duration,

    /// Whether HTTP/2 is offered where there is TLS.
    pub http2: bool,
    /// What becomes of a host whose certificate is not good.
    pub certificates: Certificates,
    /// More certificate authorities to trust, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Whether to trust the system's certificate authorities as well.
    pub native_roots: bool,

    /// `http://[user@]host:port` or `socks5://…`; names are resolved by the proxy. Its password does
    /// not belong here: it is taken from the variable `TEIA_PROXY_PASSWORD`.
    pub proxy: Option<ProxyUrl>,
    /// Name servers to ask, `IP:PORT`; without any, those of the system.
    pub name_servers: Vec<SocketAddr>,
    /// Fixed addresses: `HOST=IP[:PORT]` or `*.SUFFIX=IP[:PORT]`; such addresses are allowed.
    pub resolve: Vec<String>,
    /// Whether private and special addresses may be visited.
    pub allow_private: bool,
    /// Private addresses and ports that may be visited all the same: `10.0.0.7:80`, `[fd00::7]:8080`. Links to other ports
    /// below 1024 than 80 and 443 are followed only where one of these, a seed or `resolve` names host and port.
    #[serde(with = "addresses")]
    pub allowed: Vec<(IpAddr, u16)>,
    /// Whether cookies are kept and sent, in memory: 50 a host, 4 KiB each, 8 KiB a request.
    pub cookies: bool,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            user_agent: concat!("Teia/", env!("CARGO_PKG_VERSION")).to_owned(),
            from: None,
            accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8".to_owned(),
            accept_encoding: "gzip, deflate, br, zstd".to_owned(),
            accept_language: None,
            dns_timeout: Duration::from_secs(10),
            cname_max: 8,
            connect_timeout: Duration::from_secs(10),
            tls_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            min_rate: 1024,
            min_rate_window: Duration::from_secs(30),
            timeout: Duration::from_secs(120),
            document_timeout: Duration::from_secs(300),
            body_wire_bytes: 16 << 20,
            document_wire_bytes: 64 << 20,
            body_decoded_bytes: 32 << 20,
            document_decoded_bytes: 256 << 20,
            ratio_max: 100,
            decode_layers: 3,
            headers_bytes: 128 << 10,
            headers_count: 512,
            interim_max: 16,
            spool_bytes: 1 << 20,
            spool_dir: None,
            body_memory: 256 << 20,
            bandwidth: None,
            max_idle_connections: 4096,
            idle_per_host: 1,
            idle_timeout: Duration::from_secs(15),
            http2: true,
            certificates: Certificates::Check,
            ca_file: None,
            native_roots: false,
            proxy: None,
            name_servers: Vec::new(),
            resolve: Vec::new(),
            allow_private: false,
            allowed: Vec::new(),
            cookies: false,
        }
    }
}

impl FetchConfig {
    /// Refuses texts that no fetcher can be made with. Files that they name are not looked at.
    pub fn check(&self) -> Result<(), FetchError> {
        check_fields(self)?;
        Overrides::parse(&self.resolve)?;
        self.proxy.as_ref().map(Proxy::parse).transpose()?;
        Ok(())
    }

    /// The part of these settings that is for decoding.
    pub fn decode_limits(&self) -> DecodeLimits {
        DecodeLimits {
            decoded_bytes: self.body_decoded_bytes,
            document_bytes: self.document_decoded_bytes,
            ratio: self.ratio_max,
            layers: self.decode_layers,
            ..DecodeLimits::default()
        }
    }
}

/// What becomes of a host whose certificate is not good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certificates {
    /// It is not fetched.
    #[default]
    Check,
    /// It is fetched, and the exchange says that its certificate was not good.
    Accept,
}

/// The address of a proxy, with its login where it wants one; prints without the login.
///
/// A password lives in memory only: [`ProxyUrl::without_password`] is what may be written down.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct ProxyUrl(String);

impl ProxyUrl {
    /// The text as given, login included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a user is named without a password.
    pub fn wants_password(&self) -> bool {
        self.url()
            .is_some_and(|url| !url.username().is_empty() && url.password().is_none())
    }

    /// Whether it holds a password.
    pub fn has_password(&self) -> bool {
        self.url().is_some_and(|url| url.password().is_some())
    }

    /// The same proxy with this password.
    #[must_use]
    pub fn with_password(&self, password: &str) -> Self {
        self.changed(Some(password))
    }

    /// The same proxy without its password.
    #[must_use]
    pub fn without_password(&self) -> Self {
        match self.url() {
            Some(url) if url.password().is_none() => self.clone(),
            Some(_) => self.changed(None),
            // Whatever it is, it is written down as it is printed.
            None => Self(self.to_string()),
        }
    }

    fn changed(&self, password: Option<&str>) -> Self {
        let changed = self.url().and_then(|mut url| {
            url.set_password(password).ok()?;
            Some(Self(url.as_str().trim_end_matches('/').to_owned()))
        });
        changed.unwrap_or_else(|| self.clone())
    }

    fn url(&self) -> Option<Url> {
        if self.0.contains("://") {
            Url::parse(&self.0).ok()
        } else {
            Url::parse(&format!("http://{}", self.0)).ok()
        }
    }
}

impl From<&str> for ProxyUrl {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for ProxyUrl {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.find("://"), self.0.rfind('@')) {
            (Some(scheme), Some(at)) if scheme < at => {
                write!(f, "{}://***{}", &self.0[..scheme], &self.0[at..])
            }
            _ => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A size that may be missing.
mod optional_size {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use teia_base::measure;

    #[derive(Deserialize)]
    struct Size(#[serde(with = "measure::size")] u64);

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Ok(Option::<Size>::deserialize(deserializer)?.map(|size| size.0))
    }

    #[expect(clippy::ref_option, reason = "the signature is serde's")]
    pub(super) fn serialize<S: Serializer>(
        size: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        size.serialize(serializer)
    }
}

/// Addresses with their ports, as people write them; pairs, as they were written down before, are read too.
mod addresses {
    use std::net::{IpAddr, SocketAddr};

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Pair(IpAddr, u16),
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(IpAddr, u16)>, D::Error> {
        let written = Vec::<Written>::deserialize(deserializer)?.into_iter();
        written
            .map(|written| match written {
                Written::Pair(address, port) => Ok((address, port)),
                Written::Text(text) => match text.trim().parse::<SocketAddr>() {
                    Ok(address) => Ok((address.ip(), address.port())),
                    Err(_) => Err(D::Error::custom(format!(
                        "`{text}` is no address with its port; write `10.0.0.7:80` or `[fd00::7]:8080`"
                    ))),
                },
            })
            .collect()
    }

    pub(super) fn serialize<S: Serializer>(
        all: &[(IpAddr, u16)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let texts = all.iter().map(|pair| SocketAddr::from(*pair).to_string());
        texts.collect::<Vec<String>>().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_addresses_are_written_as_people_do_and_read_as_before() {
        let both = r#"{"allowed": ["10.0.0.7:80", "[fd00::7]:8080", ["127.0.0.1", 81]]}"#;
        let config: FetchConfig = serde_json::from_str(both).unwrap();
        let written = serde_json::to_value(&config).unwrap();
        assert_eq!(
            written["allowed"],
            serde_json::json!(["10.0.0.7:80", "[fd00::7]:8080", "127.0.0.1:81"])
        );
        let wrong = serde_json::from_str::<FetchConfig>(r#"{"allowed": ["10.0.0.7"]}"#);
        assert!(wrong.unwrap_err().to_string().contains("`10.0.0.7`"));
    }

    #[test]
    fn settings_are_written_for_people() {
        let config: FetchConfig = serde_json::from_str(
            r#"{"timeout": "5s", "bandwidth": "2MB", "certificates": "accept", "proxy": "socks5://a:b@c:1"}"#,
        )
        .unwrap();
        assert_eq!(config.timeout, Duration::from_secs(5));
        assert_eq!(config.bandwidth, Some(2_000_000));
        assert_eq!(config.certificates, Certificates::Accept);
        let again: FetchConfig =
            serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
        assert_eq!(again.proxy, config.proxy);
        assert!(serde_json::from_str::<FetchConfig>(r#"{"timeuot": "5s"}"#).is_err());
    }

    #[test]
    fn a_proxys_password_can_be_taken_off_and_put_on() {
        for (with, without) in [
            (
                "http://ann:secret@p.example:3128",
                "http://ann@p.example:3128",
            ),
            (
                "socks5://ann:secret@p.example:1",
                "socks5://ann@p.example:1",
            ),
            ("ann:secret@p.example:3128", "http://ann@p.example:3128"),
        ] {
            let (with, without) = (ProxyUrl::from(with), ProxyUrl::from(without));
            assert!(with.has_password() && !with.wants_password());
            assert_eq!(with.without_password(), without);
            assert!(!without.has_password() && without.wants_password());
            assert!(without.with_password("secret").has_password());
        }
        let odd = ProxyUrl::from("http://ann@p.example:1").with_password("a/b@c:d#é");
        assert_eq!(odd.without_password().as_str(), "http://ann@p.example:1");
        assert!(Proxy::parse(&odd).is_ok());
        let plain = ProxyUrl::from("http://p.example:3128");
        assert_eq!(plain.without_password(), plain);
        assert!(!plain.wants_password());
        let broken = ProxyUrl::from("http://ann:secret@[");
        assert!(!broken.without_password().as_str().contains("secret"));
    }

    #[test]
    fn a_proxys_login_is_not_printed() {
        let proxy = ProxyUrl::from("http://ann:secret@proxy.example:3128");
        assert_eq!(format!("{proxy:?}"), "\"http://***@proxy.example:3128\"");
    }
}
