//! The one step that asks name servers, and the answers it can give.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::LookupIpStrategy;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use teia_base::Outcome;

use crate::fault::Fault;

/// The addresses of a name, and for how long they hold.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) ttl: Duration,
}

/// A lookup under way.
pub(crate) type Looking<'a> = Pin<Box<dyn Future<Output = Result<Found, Fault>> + Send + 'a>>;

/// Asks name servers about one name; called once for each name at a time.
pub(crate) trait Lookup: Send + Sync + 'static {
    fn lookup<'a>(&'a self, name: &'a str) -> Looking<'a>;
}

/// Asks the name servers of the system. They are read at the first question, so that a machine
/// without any still starts; a failure is tried again at the next.
pub(crate) struct SystemLookup {
    query_timeout: Duration,
    resolver: Mutex<Option<TokioResolver>>,
}

impl SystemLookup {
    pub(crate) fn new(deadline: Duration) -> Self {
        Self {
            query_timeout: deadline / 2,
            resolver: Mutex::new(None),
        }
    }

    fn resolver(&self) -> Result<TokioResolver, NetError> {
        let mut slot = self.resolver.lock().expect("no holder panics");
        if let Some(resolver) = &*slot {
            return Ok(resolver.clone());
        }
        let mut builder = TokioResolver::builder_tokio()?;
        let options = builder.options_mut();
        options.timeout = self.query_timeout;
        options.attempts = 2;
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        let resolver = builder.build()?;
        *slot = Some(resolver.clone());
        Ok(resolver)
    }
}

impl Lookup for SystemLookup {
    fn lookup<'a>(&'a self, name: &'a str) -> Looking<'a> {
        Box::pin(async move {
            let resolver = self.resolver().map_err(|error| fault(&error))?;
            // The final dot keeps the machine's search domains out of it.
            let absolute = format!("{}.", name.trim_end_matches('.'));
            let answer = resolver
                .lookup_ip(absolute)
                .await
                .map_err(|error| fault(&error))?;
            let ttl = answer
                .valid_until()
                .saturating_duration_since(Instant::now());
            Ok(Found {
                addresses: answer.iter().collect(),
                ttl,
            })
        })
    }
}

fn fault(error: &NetError) -> Fault {
    let outcome = match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => return Outcome::DNS_NXDOMAIN.into(),
            ResponseCode::NoError => return Fault::new(Outcome::DNS_NXDOMAIN, "no_address"),
            _ => Outcome::DNS_SERVFAIL,
        },
        NetError::Timeout => Outcome::DNS_TIMEOUT,
        _ => Outcome::DNS_SERVFAIL,
    };
    Fault::new(outcome, error.to_string())
}

impl fmt::Debug for SystemLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemLookup").finish_non_exhaustive()
    }
}
