//! The one step that asks name servers, and the answers it can give.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup as Records;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use teia_base::Outcome;
use tokio::time::timeout;

use crate::config::FetchConfig;
use crate::fault::Fault;

/// How long the other family of addresses is waited for when one is known.
const OTHER_FAMILY: Duration = Duration::from_millis(500);
/// Questions under way at once on one TCP connection to a name server.
const QUESTIONS: usize = 4096;

/// The addresses of a name, and for how long they hold.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) ttl: Duration,
}

/// Why there are no addresses.
#[derive(Clone, Debug)]
pub(crate) struct NotFound {
    pub(crate) fault: Fault,
    /// For how long its zone says that there is none (RFC 2308, 5), where it does.
    pub(crate) ttl: Option<Duration>,
}

impl<F: Into<Fault>> From<F> for NotFound {
    fn from(fault: F) -> Self {
        Self {
            fault: fault.into(),
            ttl: None,
        }
    }
}

/// A lookup under way.
pub(crate) type Looking<'a> = Pin<Box<dyn Future<Output = Result<Found, NotFound>> + Send + 'a>>;

/// Asks name servers about one name; called once for each name at a time.
pub(crate) trait Lookup: Send + Sync + 'static {
    fn lookup<'a>(&'a self, name: &'a str) -> Looking<'a>;
}

/// Asks the given name servers, or those of the system. The system's are read at the first
/// question, so that a machine without any still starts; a failure is tried again at the next.
pub(crate) struct NameServers {
    given: Vec<SocketAddr>,
    query_timeout: Duration,
    /// Aliases that a name may lead through.
    aliases: usize,
    resolver: Mutex<Option<TokioResolver>>,
}

impl NameServers {
    pub(crate) fn new(config: &FetchConfig) -> Self {
        Self {
            given: config.name_servers.clone(),
            query_timeout: config.dns_timeout / 2,
            aliases: config.cname_max,
            resolver: Mutex::new(None),
        }
    }

    fn resolver(&self) -> Result<TokioResolver, NetError> {
        let mut slot = self.resolver.lock().expect("no holder panics");
        if let Some(resolver) = &*slot {
            return Ok(resolver.clone());
        }
        let mut builder = if self.given.is_empty() {
            TokioResolver::builder_tokio()?
        } else {
            let servers = self.given.iter().map(|address| server(*address)).collect();
            let mut builder = TokioResolver::builder_with_config(
                ResolverConfig::from_name_servers(servers),
                TokioRuntimeProvider::default(),
            );
            builder.options_mut().use_hosts_file = ResolveHosts::Never;
            builder
        };
        self.set(builder.options_mut());
        let resolver = builder.build()?;
        *slot = Some(resolver.clone());
        Ok(resolver)
    }

    fn set(&self, options: &mut ResolverOpts) {
        options.timeout = self.query_timeout;
        // A lost packet is asked for again by the library itself; a server that says "no" is
        // not pestered: each of the two questions goes out once to each server.
        options.attempts = 0;
        options.max_active_requests = QUESTIONS;
        // Answers are remembered by our own resolver, which has its own idea of how long.
        options.cache_size = 0;
        options.preserve_intermediates = true;
    }

    async fn ask(&self, name: &str) -> Result<Found, NotFound> {
        let resolver = self.resolver().map_err(|error| not_found(&error))?;
        // The final dot keeps the machine's search domains out of it.
        let absolute = Name::from_ascii(format!("{}.", name.trim_end_matches('.')))
            .map_err(|_| Fault::new(Outcome::URL_INVALID, "host_name"))?;
        let (four, six) = both(
            resolver.lookup(absolute.clone(), RecordType::A),
            resolver.lookup(absolute.clone(), RecordType::AAAA),
        )
        .await;
        match (four, six) {
            (Ok(four), Ok(six)) => together(&[four, six], self.aliases),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => together(&[one], self.aliases),
            // One of them may only say that there is no address of its kind.
            (Err(four), Err(six)) => {
                let told = if is_none(&four) { &six } else { &four };
                if is_none(told) && has_too_many_aliases(&resolver, absolute, self.aliases).await {
                    return Err(Outcome::DNS_LOOP.into());
                }
                Err(not_found(told))
            }
        }
    }
}

impl Lookup for NameServers {
    fn lookup<'a>(&'a self, name: &'a str) -> Looking<'a> {
        Box::pin(self.ask(name))
    }
}

/// Waits for both answers; once one of them has addresses, not much longer for the other, because
/// some name servers never answer questions about IPv6 (RFC 8305, 3).
async fn both<F>(four: F, six: F) -> (F::Output, F::Output)
where
    F: Future<Output = Result<Records, NetError>>,
{
    let (four, six) = (std::pin::pin!(four), std::pin::pin!(six));
    match select(four, six).await {
        Either::Left((four, six)) => {
            let six = the_other(&four, six).await;
            (four, six)
        }
        Either::Right((six, four)) => {
            let four = the_other(&six, four).await;
            (four, six)
        }
    }
}

async fn the_other<F>(first: &Result<Records, NetError>, other: F) -> F::Output
where
    F: Future<Output = Result<Records, NetError>>,
{
    if first.is_err() {
        return other.await;
    }
    let late = timeout(OTHER_FAMILY, other).await;
    late.unwrap_or(Err(NetError::Timeout))
}

fn server(address: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    let at_port = |mut connection: ConnectionConfig| {
        connection.port = address.port();
        connection
    };
    server.connections = server.connections.into_iter().map(at_port).collect();
    server
}

/// The addresses in all answers, unless one of them leads through too many aliases.
fn together(answers: &[Records], aliases: usize) -> Result<Found, NotFound> {
    let is_alias = |data: &RData| matches!(data, RData::CNAME(_));
    let mut addresses = Vec::new();
    for answer in answers {
        let records = answer.answers();
        if records
            .iter()
            .filter(|record| is_alias(&record.data))
            .count()
            > aliases
        {
            return Err(Outcome::DNS_LOOP.into());
        }
        addresses.extend(records.iter().filter_map(|record| match &record.data {
            RData::A(address) => Some(IpAddr::V4(address.0)),
            RData::AAAA(address) => Some(IpAddr::V6(address.0)),
            _ => None,
        }));
    }
    let ends = answers.iter().map(Records::valid_until).min();
    let ttl = ends.map_or(Duration::ZERO, |end| {
        end.saturating_duration_since(Instant::now())
    });
    Ok(Found { addresses, ttl })
}

/// Walks the aliases of a name without address: a circle, or more of them than anyone needs?
async fn has_too_many_aliases(resolver: &TokioResolver, name: Name, aliases: usize) -> bool {
    let mut known: HashMap<Name, Name> = HashMap::new();
    let mut seen = HashSet::new();
    let mut name = name.to_lowercase();
    for _ in 0..=aliases {
        if !known.contains_key(&name)
            && let Ok(answer) = resolver.lookup(name.clone(), RecordType::CNAME).await
        {
            // One answer may hold several steps of the way.
            known.extend(
                answer
                    .answers()
                    .iter()
                    .filter_map(|record| match &record.data {
                        RData::CNAME(alias) => {
                            Some((record.name.to_lowercase(), alias.0.to_lowercase()))
                        }
                        _ => None,
                    }),
            );
        }
        let Some(alias) = known.get(&name).cloned() else {
            return false;
        };
        if !seen.insert(name) {
            return true;
        }
        name = alias;
    }
    true
}

fn is_none(error: &NetError) -> bool {
    matches!(error, NetError::Dns(DnsError::NoRecordsFound(none)) if none.response_code == ResponseCode::NoError)
}

fn not_found(error: &NetError) -> NotFound {
    let outcome = match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => {
            let fault = match none.response_code {
                ResponseCode::NXDomain => Outcome::DNS_NXDOMAIN.into(),
                ResponseCode::NoError => Fault::new(Outcome::DNS_NXDOMAIN, "no_address"),
                _ => Fault::new(Outcome::DNS_SERVFAIL, error.to_string()),
            };
            let ttl = none.negative_ttl.map(u64::from).map(Duration::from_secs);
            return NotFound { fault, ttl };
        }
        // A server that never gives a whole answer has given none.
        NetError::Timeout | NetError::Truncated => Outcome::DNS_TIMEOUT,
        _ => Outcome::DNS_SERVFAIL,
    };
    Fault::new(outcome, error.to_string()).into()
}

impl fmt::Debug for NameServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NameServers")
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}
