//! Makes connections: resolves, judges, connects, tunnels, secures.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use teia_base::{Certificate, Clock, Outcome, Times};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::connect::connect;
use super::proxy::{Proxy, ProxyKind};
use super::target::Target;
use crate::address::{AddressGate, is_inner_name};
use crate::config::FetchConfig;
use crate::dns::{NameServers, Overrides, Resolver};
use crate::error::FetchError;
use crate::fault::Fault;
use crate::request_head::TargetForm;
use crate::stream::Stream;
use crate::tls::{Offer, Tls};

/// A new connection.
#[derive(Debug)]
pub(crate) struct Dialed {
    pub(crate) stream: Stream,
    /// The address that we talk to; none through a proxy.
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) certificate: Certificate,
    /// Whether HTTP/2 was agreed on.
    pub(crate) h2: bool,
}

/// Makes connections for one fetcher.
#[derive(Debug)]
pub(crate) struct Dialer {
    pub(crate) gate: AddressGate,
    overrides: Arc<Overrides>,
    resolver: Resolver,
    proxy: Option<Proxy>,
    tls: Tls,
    connect_timeout: Duration,
    tls_timeout: Duration,
}

impl Dialer {
    pub(crate) fn new(clock: Arc<dyn Clock>, config: &FetchConfig) -> Result<Self, FetchError> {
        Ok(Self {
            gate: AddressGate::new(config.allow_private, &config.allowed),
            overrides: Arc::new(Overrides::parse(&config.resolve)?),
            resolver: Resolver::new(clock, NameServers::new(config), config.dns_timeout),
            proxy: config.proxy.as_ref().map(Proxy::parse).transpose()?,
            tls: Tls::new(config)?,
            connect_timeout: config.connect_timeout,
            tls_timeout: config.tls_timeout,
        })
    }

    /// A dialer with other settings that finds the same addresses.
    pub(crate) fn with_settings(&self, config: &FetchConfig) -> Result<Self, FetchError> {
        Ok(Self {
            gate: self.gate.with_private(config.allow_private),
            overrides: Arc::clone(&self.overrides),
            resolver: self.resolver.clone(),
            proxy: config.proxy.as_ref().map(Proxy::parse).transpose()?,
            tls: Tls::new(config)?,
            connect_timeout: config.connect_timeout,
            tls_timeout: config.tls_timeout,
        })
    }

    /// What stands in the request line, and the proxy's login where requests need it.
    pub(crate) fn form(&self, target: &Target) -> (TargetForm, Option<String>) {
        match &self.proxy {
            Some(proxy) if proxy.kind == ProxyKind::Http && !target.tls => {
                (TargetForm::Absolute, proxy.authorization())
            }
            _ => (TargetForm::Origin, None),
        }
    }

    /// Connects to the target by `total` at the latest; `times` says where the time went.
    pub(crate) async fn dial(
        &self,
        target: &Target,
        offer: Offer,
        total: Instant,
        times: &mut Times,
    ) -> Result<Dialed, Fault> {
        self.judge_port(target)?;
        let started = Instant::now();
        let addresses = match &self.proxy {
            Some(proxy) => self.proxy_addresses(proxy, target, total).await,
            None => self.addresses(target, total).await,
        };
        times.dns = started.elapsed();
        let addresses = addresses?;
        let started = Instant::now();
        let deadline = total.min(started + self.connect_timeout);
        let connected = self.connect(target, &addresses, deadline).await;
        times.connect = started.elapsed();
        let tcp = connected?;
        let remote = if self.proxy.is_some() {
            None
        } else {
            tcp.peer_addr().ok()
        };
        if !target.tls {
            return Ok(Dialed {
                stream: Stream::Plain(tcp),
                remote,
                certificate: Certificate::NotTls,
                h2: false,
            });
        }
        let started = Instant::now();
        let deadline = total.min(started + self.tls_timeout);
        let secured = match timeout_at(deadline, self.tls.secure(tcp, target, offer)).await {
            Ok(secured) => secured,
            Err(_) => Err(Fault::new(Outcome::CONNECT_TIMEOUT, "tls")),
        };
        times.tls = started.elapsed();
        let secured = secured?;
        Ok(Dialed {
            stream: Stream::Tls(Box::new(secured.stream)),
            remote,
            certificate: secured.certificate,
            h2: secured.h2,
        })
    }

    async fn connect(
        &self,
        target: &Target,
        addresses: &[SocketAddr],
        deadline: Instant,
    ) -> Result<TcpStream, Fault> {
        let Some(proxy) = &self.proxy else {
            return connect(addresses, deadline)
                .await
                .map_err(|error| Fault::connect(&error));
        };
        let failed = |error: &io::Error| Fault::new(Outcome::PROXY_FAILED, error.to_string());
        let mut tcp = connect(addresses, deadline)
            .await
            .map_err(|error| failed(&error))?;
        if target.tls || proxy.kind == ProxyKind::Socks5 {
            match timeout_at(deadline, proxy.tunnel(&mut tcp, target)).await {
                Ok(done) => done?,
                Err(_) => return Err(Fault::new(Outcome::PROXY_FAILED, "timeout")),
            }
        }
        Ok(tcp)
    }

    /// The addresses that may answer for a host, unjudged; none where it has none, or a proxy
    /// resolves it.
    pub(crate) async fn addresses_of(&self, host: &str, total: Instant) -> Vec<IpAddr> {
        if self.proxy.is_some() {
            return Vec::new();
        }
        if let Some(fixed) = self.overrides.find(host, 0) {
            return fixed.iter().map(SocketAddr::ip).collect();
        }
        if let Ok(literal) = host.trim_matches(['[', ']']).parse() {
            return vec![literal];
        }
        if let Some(both) = loopback(host) {
            return both.to_vec();
        }
        let found = self.resolve(host, 0, total).await;
        found.map_or_else(
            |_| Vec::new(),
            |found| found.iter().map(SocketAddr::ip).collect(),
        )
    }

    /// Whether a name server answers for a host now; none where no name server is asked about it.
    pub(crate) async fn ask_name(&self, host: &str) -> Option<Result<(), Fault>> {
        let is_literal = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_known = is_literal || loopback(host).is_some();
        if self.proxy.is_some() || is_known || self.overrides.find(host, 0).is_some() {
            return None;
        }
        Some(self.resolver.ask(host).await)
    }

    pub(crate) fn forget_trouble(&self) {
        self.resolver.forget_trouble();
    }

    /// Where to connect for this target, judged.
    async fn addresses(&self, target: &Target, total: Instant) -> Result<Vec<SocketAddr>, Fault> {
        if let Some(fixed) = self.overrides.find(&target.host, target.port) {
            return Ok(fixed);
        }
        let addresses = match (target.literal, loopback(&target.host)) {
            (Some(address), _) => vec![SocketAddr::new(address, target.port)],
            (None, Some(both)) => both
                .map(|address| SocketAddr::new(address, target.port))
                .to_vec(),
            (None, None) => {
                self.judge_name(target)?;
                self.resolve(&target.host, target.port, total).await?
            }
        };
        self.judge(target, &addresses)?;
        Ok(addresses)
    }

    /// Where the proxy is. The target's own address is judged only where its URL spells it out; its name
    /// is judged as ever, because the proxy may well know inner ones.
    async fn proxy_addresses(
        &self,
        proxy: &Proxy,
        target: &Target,
        total: Instant,
    ) -> Result<Vec<SocketAddr>, Fault> {
        let spelt = match (target.literal, loopback(&target.host)) {
            (Some(address), _) => vec![SocketAddr::new(address, target.port)],
            (None, Some(both)) => both
                .map(|address| SocketAddr::new(address, target.port))
                .to_vec(),
            (None, None) => {
                self.judge_name(target)?;
                Vec::new()
            }
        };
        self.judge(target, &spelt)?;
        match (
            proxy.literal(),
            loopback(&proxy.host),
            self.overrides.find(&proxy.host, proxy.port),
        ) {
            (Some(address), _, _) => Ok(vec![address]),
            (None, _, Some(fixed)) => Ok(fixed),
            (None, Some(both), None) => Ok(both
                .map(|address| SocketAddr::new(address, proxy.port))
                .to_vec()),
            (None, None, None) => {
                let found = self.resolve(&proxy.host, proxy.port, total).await;
                // It is not the target that has no name.
                found.map_err(|fault| {
                    let (host, why) = (&proxy.host, fault.outcome.sentence());
                    Fault::new(Outcome::PROXY_FAILED, format!("proxy {host}: {why}"))
                })
            }
        }
    }

    /// Whether the port is one of the web, or was given by hand: with a seed, or with the address that a setting has for the host.
    fn judge_port(&self, target: &Target) -> Result<(), Fault> {
        let is_given = || {
            let fixed = self.overrides.find(&target.host, 0);
            fixed.is_some_and(|fixed| fixed.iter().all(|address| address.port() != 0))
        };
        let gate = &self.gate;
        if gate.allows_port(&target.host, target.literal, target.port) || is_given() {
            return Ok(());
        }
        let told = "a port of the system that no seed and no setting names";
        Err(Fault::new(Outcome::PORT_BLOCKED, told))
    }

    /// Whether the name is one of the outer web, or was given by hand.
    fn judge_name(&self, target: &Target) -> Result<(), Fault> {
        if is_inner_name(&target.host) && !self.gate.allows_host(&target.host, target.port) {
            return Err(Fault::new(Outcome::ADDR_BLOCKED, "inner_name"));
        }
        Ok(())
    }

    fn judge(&self, target: &Target, addresses: &[SocketAddr]) -> Result<(), Fault> {
        if self.gate.allows(&target.host, target.port, addresses) {
            return Ok(());
        }
        let list: Vec<String> = addresses
            .iter()
            .map(|address| address.ip().to_string())
            .collect();
        Err(Fault::new(Outcome::ADDR_BLOCKED, list.join(" ")))
    }

    async fn resolve(
        &self,
        host: &str,
        port: u16,
        total: Instant,
    ) -> Result<Vec<SocketAddr>, Fault> {
        let found = match timeout_at(total, self.resolver.resolve(host)).await {
            Ok(found) => found?,
            Err(_) => return Err(Outcome::DNS_TIMEOUT.into()),
        };
        Ok(interleave(&found)
            .map(|address| SocketAddr::new(address, port))
            .collect())
    }
}

/// `localhost` and all below it are this machine (RFC 6761, 6.3); no name server is asked.
fn loopback(host: &str) -> Option<[IpAddr; 2]> {
    let host = host.trim_end_matches('.');
    (host == "localhost" || host.ends_with(".localhost")).then_some([
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ])
}

/// Both families in turn, IPv4 first: a broken one costs a head start, not the whole deadline.
fn interleave(addresses: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    let mut v4 = addresses.iter().filter(|address| address.is_ipv4());
    let mut v6 = addresses.iter().filter(|address| address.is_ipv6());
    (0..addresses.len() * 2)
        .filter_map(move |n| if n % 2 == 0 { v4.next() } else { v6.next() })
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let addresses: Vec<IpAddr> = ["1.1.1.1", "1.1.1.2", "1.1.1.3", "2a00::1"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let order: Vec<String> = interleave(&addresses)
            .map(|address| address.to_string())
            .collect();
        assert_eq!(order, ["1.1.1.1", "2a00::1", "1.1.1.2", "1.1.1.3"]);
    }
}
