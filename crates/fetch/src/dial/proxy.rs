//! Going through a proxy: HTTP (whole URLs, or a tunnel) or SOCKS5.

use std::net::SocketAddr;

use data_encoding::BASE64;
use percent_encoding::percent_decode_str;
use teia_base::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

use super::socks5;
use super::target::Target;
use crate::config::ProxyUrl;
use crate::error::FetchError;
use crate::fault::Fault;
use crate::h1::parse_whole_head;

/// Longest answer to a request for a tunnel.
const ANSWER_BYTES: usize = 16 << 10;

/// A proxy, its address always allowed because somebody configured it.
pub(crate) struct Proxy {
    pub(crate) kind: ProxyKind,
    pub(crate) host: String,
    pub(crate) port: u16,
    login: Option<(String, String)>,
}

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    Http,
    Socks5,
}

impl Proxy {
    /// Reads `http://[user:password@]host:port` or `socks5://…` (`socks5h://…` means the same).
    pub(crate) fn parse(proxy: &ProxyUrl) -> Result<Self, FetchError> {
        let refuse = || FetchError::Proxy(proxy.to_string());
        let text = proxy.as_str();
        let text = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let url = Url::parse(&text).map_err(|_| refuse())?;
        let (kind, default_port) = match url.scheme() {
            "http" => (ProxyKind::Http, 80),
            "socks5" | "socks5h" => (ProxyKind::Socks5, 1080),
            _ => return Err(refuse()),
        };
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let login = (!url.username().is_empty()).then(|| {
            (
                decode(url.username()),
                decode(url.password().unwrap_or_default()),
            )
        });
        let host = match url.host().ok_or_else(refuse)? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        Ok(Self {
            kind,
            host,
            port: url.port().unwrap_or(default_port),
            login,
        })
    }

    /// The value of `Proxy-Authorization`, where the proxy wants a login.
    pub(crate) fn authorization(&self) -> Option<String> {
        let (user, password) = self.login.as_ref()?;
        Some(format!(
            "Basic {}",
            BASE64.encode(format!("{user}:{password}").as_bytes())
        ))
    }

    /// Asks the proxy to connect us to the target; the name goes out unresolved.
    pub(crate) async fn tunnel(
        &self,
        stream: &mut TcpStream,
        target: &Target,
    ) -> Result<(), Fault> {
        match self.kind {
            ProxyKind::Http => self.connect_method(stream, target).await,
            ProxyKind::Socks5 => {
                let login = self
                    .login
                    .as_ref()
                    .map(|(user, password)| (user.as_str(), password.as_str()));
                socks5::connect(stream, target, login).await
            }
        }
    }

    async fn connect_method(&self, stream: &mut TcpStream, target: &Target) -> Result<(), Fault> {
        let authority = target.authority();
        let mut ask = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(value) = self.authorization() {
            ask.push_str(&format!("Proxy-Authorization: {value}\r\n"));
        }
        ask.push_str("\r\n");
        stream
            .write_all(ask.as_bytes())
            .await
            .map_err(|error| broken(&error))?;
        let mut answer = Vec::with_capacity(256);
        // Byte by byte: what follows the head belongs to the tunnel. It is short and rare.
        while !answer.ends_with(b"\r\n\r\n") && !answer.ends_with(b"\n\n") {
            if answer.len() == ANSWER_BYTES {
                return Err(Fault::new(Outcome::PROXY_FAILED, "http_headers_too_large"));
            }
            answer.push(stream.read_u8().await.map_err(|error| broken(&error))?);
        }
        match parse_whole_head(&answer) {
            Ok(head) if (200..300).contains(&head.status) => Ok(()),
            Ok(head) => Err(Fault::new(
                Outcome::PROXY_FAILED,
                format!("proxy answered {}", head.status),
            )),
            Err(name) => Err(Fault::new(Outcome::PROXY_FAILED, name)),
        }
    }

    /// The proxy's address, where it is configured as one.
    pub(crate) fn literal(&self) -> Option<SocketAddr> {
        self.host
            .parse()
            .ok()
            .map(|address| SocketAddr::new(address, self.port))
    }
}

/// A proxy that breaks off.
pub(super) fn broken(error: &std::io::Error) -> Fault {
    Fault::new(Outcome::PROXY_FAILED, error.to_string())
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({:?} {}:{})", self.kind, self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read_with_their_logins() {
        let proxy = Proxy::parse(&"http://ann:p%40ss@proxy.example:3128".into()).unwrap();
        assert_eq!(
            (proxy.kind, proxy.host.as_str(), proxy.port),
            (ProxyKind::Http, "proxy.example", 3128)
        );
        assert_eq!(
            proxy.authorization().unwrap(),
            format!("Basic {}", BASE64.encode(b"ann:p@ss"))
        );
        let socks = Proxy::parse(&"socks5h://127.0.0.1".into()).unwrap();
        assert_eq!((socks.kind, socks.port), (ProxyKind::Socks5, 1080));
        let error = Proxy::parse(&"ftp://ann:secret@x".into()).unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }
}
