//! Fetches over HTTP: finds or makes a connection, speaks once, says what became of it.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use teia_base::{
    Certificate, Clock, Exchange, Flags, LoginStep, Outcome, Protocol, Request, Times,
};
use tokio::time::Instant;
use url::Url;

use crate::answer::Answer;
use crate::bandwidth::Bandwidth;
use crate::body_memory::BodyMemory;
use crate::config::FetchConfig;
use crate::connection::Connection;
use crate::cookies::{Cookies, one_header};
use crate::dial::{Dialer, Target};
use crate::error::FetchError;
use crate::fault::{CLOSED_BEFORE_ANSWER, Fault};
use crate::fetcher::{Fetcher, Fetching};
use crate::h1::Setting;
use crate::h2::GOAWAY;
use crate::intake::SpoolRules;
use crate::login::{Authenticator, Doors, LoginField, LoginFieldName, NoLogin, Opening};
use crate::patience::Patience;
use crate::pool::{Pool, PoolBounds, PoolKey};
use crate::request_head::{RequestFields, TargetForm, is_field_value};
use crate::tls::Offer;

mod form;

/// Hosts remembered for speaking another version than was agreed; beyond that the list starts anew.
const PECULIAR: usize = 10_000;

/// URLs remembered for a kept connection that ended or failed when it was used again; beyond that the list starts anew.
const LOST: usize = 10_000;

/// Streams in a row that a host answers with what is no HTTP/2 before HTTP/1.1 is spoken with it: one such page is a fault of
/// the page.
const STUMBLES: u8 = 3;

/// What is spoken with a host that does not keep to what it agrees on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peculiar {
    /// It speaks HTTP/2 badly: HTTP/1.1 alone is offered.
    Http1,
    /// It agrees on HTTP/1.1 and speaks HTTP/2.
    Http2,
    /// So many streams in a row were no HTTP/2; the connection was sound.
    Stumbles(u8),
}

/// The fetcher for `http` and `https`.
///
/// One for the whole process: it holds the idle connections, the names already resolved, the
/// budget for bodies in memory and, where wanted, cookies. Dropping a fetch closes its connection.
#[derive(Debug)]
pub struct HttpFetcher {
    config: FetchConfig,
    clock: Arc<dyn Clock>,
    authenticator: Arc<dyn Authenticator>,
    doors: Arc<Doors>,
    dialer: Dialer,
    pool: Arc<Pool<Connection>>,
    /// Which connections of the pool are ours.
    manner: u32,
    manners: Arc<AtomicU32>,
    spool: SpoolRules,
    bandwidth: Arc<Bandwidth>,
    cookies: Option<Arc<Cookies>>,
    peculiar: Arc<Mutex<HashMap<Box<str>, Peculiar>>>,
    /// What was asked for on a kept connection that had ended or that failed under it: the next time it gets a new one, so that
    /// this happens to a URL once only.
    lost: Arc<Mutex<HashSet<Box<str>>>>,
}

impl HttpFetcher {
    /// A fetcher with these settings. Nothing is resolved or connected yet.
    pub fn new(config: FetchConfig, clock: Arc<dyn Clock>) -> Result<Self, FetchError> {
        check_fields(&config)?;
        let dir = spool_dir(&config)?;
        let bounds = PoolBounds {
            all: config.max_idle_connections,
            per_host: config.idle_per_host,
            age: config.idle_timeout,
        };
        Ok(Self {
            authenticator: Arc::new(NoLogin),
            doors: Arc::default(),
            dialer: Dialer::new(Arc::clone(&clock), &config)?,
            clock,
            pool: Arc::new(Pool::new(bounds)),
            manner: 0,
            manners: Arc::default(),
            spool: SpoolRules {
                memory: BodyMemory::new(config.body_memory),
                spool_bytes: config.spool_bytes,
                dir: Arc::new(dir),
            },
            bandwidth: Arc::new(Bandwidth::new(config.bandwidth)),
            cookies: config.cookies.then(Arc::default),
            peculiar: Arc::default(),
            lost: Arc::default(),
            config,
        })
    }

    /// A fetcher with other settings, for some hosts. The two share names, logins, what is allowed, and
    /// the bounds of idle connections, of bodies in memory and of bandwidth; a connection made by one is
    /// never used by the other.
    pub fn with_settings(&self, config: &FetchConfig) -> Result<Self, FetchError> {
        check_fields(config)?;
        Ok(Self {
            authenticator: Arc::clone(&self.authenticator),
            doors: Arc::clone(&self.doors),
            dialer: self.dialer.with_settings(config)?,
            clock: Arc::clone(&self.clock),
            pool: Arc::clone(&self.pool),
            manner: self.manners.fetch_add(1, Ordering::Relaxed) + 1,
            manners: Arc::clone(&self.manners),
            spool: self.spool.clone(),
            bandwidth: Arc::clone(&self.bandwidth),
            cookies: config
                .cookies
                .then(|| self.cookies.clone().unwrap_or_default()),
            peculiar: Arc::clone(&self.peculiar),
            lost: Arc::clone(&self.lost),
            config: config.clone(),
        })
    }

    /// The same fetcher with logins.
    #[must_use]
    pub fn with_authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticator = authenticator;
        self
    }

    /// Another limit of bytes a second, or none: also for what is under way, and for every fetcher that was
    /// made of this one.
    pub fn set_bandwidth(&self, bytes_per_second: Option<u64>) {
        self.bandwidth.set(bytes_per_second);
    }

    /// Allows one private address and port, as for a seed that a person gave.
    pub fn allow(&self, address: IpAddr, port: u16) {
        self.dialer.gate.allow(address, port);
    }

    /// Allows whatever address this exact host name has, on this port, as for a seed such as
    /// `http://localhost:8000/`. Only for inner names: one of the public web must lead there. A port below 1024 that is
    /// not of the web is allowed for every name.
    pub fn allow_host(&self, host: &str, port: u16) {
        self.dialer.gate.allow_host(host, port);
        self.dialer.gate.allow_port(host, port);
    }

    /// The addresses that may answer for a host (without port), as the next request to it would find
    /// them: from the settings, the cache or a name server. None where it has none, and through a
    /// proxy, which resolves names itself.
    pub async fn addresses(&self, host: &str) -> Vec<IpAddr> {
        let by = Instant::now() + self.config.dns_timeout;
        self.dialer.addresses_of(host, by).await
    }

    /// Asks the name servers about a host, whatever is remembered of it. Whether one has answered, if only that there is no
    /// such name; none where no name server is asked: for addresses, names that the settings give, and through a proxy.
    pub async fn ask_name(&self, host: &str) -> Option<bool> {
        let answer = self.dialer.ask_name(host).await?;
        let is_silent = |outcome| matches!(outcome, Outcome::DNS_SERVFAIL | Outcome::DNS_TIMEOUT);
        Some(!answer.is_err_and(|fault| is_silent(fault.outcome)))
    }

    /// The name servers are there again: names that they could not be asked about are asked for anew.
    pub fn forget_name_trouble(&self) {
        self.dialer.forget_trouble();
    }

    async fn run(&self, mut request: Request) -> Exchange {
        // A login in a URL is never sent on, and must not reach a log (it is set elsewhere). Both
        // fail only where there is no host, and then there is nothing to send.
        let _ = request.url.set_password(None);
        let _ = request.url.set_username("");
        let started = self.clock.wall();
        let mut draft = Exchange::failed(Outcome::SYSTEM_ERROR, None, started, self.clock.now());
        match Target::of(&request.url) {
            Ok(target) => self.attempt(&request, &target, &mut draft).await,
            Err(fault) => settle(&mut draft, fault),
        }
        draft.ended = self.clock.now();
        tracing::debug!(url = %request.url, outcome = %draft.outcome, detail = ?draft.detail, "fetched");
        draft
    }

    /// Fills the draft with one attempt. Where the server asked for a login, it is the caller who asks
    /// again: the host's gap lies between the two, and each is an attempt of its own.
    async fn attempt(&self, request: &Request, target: &Target, draft: &mut Exchange) {
        match self.authenticator.form(&request.url) {
            Some(form) => {
                // Boxed: a login is rare, and what it holds is large.
                Box::pin(self.attempt_behind_form(form, request, target, draft)).await;
            }
            None => self.attempt_with_fields(request, target, draft).await,
        }
        // A session is a secret like what it was given for.
        if let Some(response) = &mut draft.response
            && self.authenticator.hides_cookies(&request.url)
        {
            response.head = response.head.masked("set-cookie");
        }
    }

    async fn attempt_with_fields(&self, request: &Request, target: &Target, draft: &mut Exchange) {
        let limit = request.timeout.unwrap_or(self.config.timeout);
        let mut patience = Patience::new(&self.config, Instant::now() + limit, limit);
        let said = self.doors.before(&*self.authenticator, &request.url);
        let jar = self.cookies.as_deref();
        self.speak(request, target, &said.fields, jar, &mut patience, draft)
            .await;
        if draft.outcome != Outcome::http(401) {
            // An error of the server says nothing of the login.
            let is_let_in = (200..400).contains(&draft.outcome.number());
            if is_let_in && !said.fields.is_empty() {
                self.doors.opened(&request.url);
            }
            return;
        }
        let challenges = draft
            .response
            .as_ref()
            .map(|response| response.head.texts("www-authenticate"))
            .unwrap_or_default();
        let opening = self
            .doors
            .after(&*self.authenticator, &request.url, &said, &challenges);
        match opening {
            Opening::NoLogin => {}
            Opening::Asked => {
                draft.login = LoginStep::Asked;
                draft.detail = Some("asked for a login, and is asked again with it".into());
            }
            Opening::Refused(realm) => {
                draft.login = LoginStep::Refused;
                settle(draft, refusal(&realm));
            }
            Opening::Shut(realm) => settle(draft, refusal(&realm)),
        }
    }

    /// One request and its answer. HTTP/2 spoken badly costs a second try on HTTP/1.1, and a
    /// server that sends requests away (GOAWAY) says itself that it has not read them.
    async fn speak(
        &self,
        request: &Request,
        target: &Target,
        login: &[LoginField],
        cookies: Option<&Cookies>,
        patience: &mut Patience,
        draft: &mut Exchange,
    ) {
        let setting = Setting {
            config: &self.config,
            spool: &self.spool,
            bandwidth: &self.bandwidth,
        };
        let (form, proxy_login) = self.dialer.form(target);
        let mut fields = RequestFields::new(&self.config, request);
        let mut jar = cookies.and_then(|cookies| cookies.header(&request.url));
        for field in login {
            let value = match field.name {
                LoginFieldName::Authorization => field.value.clone(),
                LoginFieldName::Cookie => one_header(&field.value, jar.take()),
            };
            fields.add(field.name.as_str(), value);
        }
        if let Some(value) = jar {
            fields.add("Cookie", value);
        }
        if let Some(value) = proxy_login {
            fields.add("Proxy-Authorization", value);
        }
        let (head, kept_head) = fields.write(&request.url, form);
        draft.request_head = kept_head;
        let key = PoolKey {
            manner: self.manner,
            ..target.key()
        };
        let mut pooled = match self.was_lost(&request.url) {
            true => None,
            false => self.pool.take(&key).and_then(quiet),
        };
        let mut sent_away = 0;
        loop {
            let is_kept = pooled.is_some();
            let mut connection = match pooled.take() {
                Some(connection) => connection,
                None => match self
                    .connect(target, &setting, patience, &mut draft.times)
                    .await
                {
                    Ok(connection) => connection,
                    Err(fault)
                        if fault.outcome == Outcome::H2_PROTOCOL
                            && self.remember(target, Peculiar::Http1) =>
                    {
                        continue;
                    }
                    Err(fault) => return settle(draft, fault),
                },
            };
            draft.remote = connection.remote;
            draft.certificate = connection.certificate;
            let answer = connection
                .exchange(request, &fields, &head, &setting, patience)
                .await;
            if answer.response.is_none() {
                let h2 = connection.protocol() == Protocol::H2;
                let again = match answer.outcome {
                    Outcome::CONNECT_FAILED if h2 && answer.detail.as_deref() == Some(GOAWAY) => {
                        sent_away += 1;
                        sent_away < 2 || self.remember(target, Peculiar::Http1)
                    }
                    // The fault of one stream ends that stream: it is asked for again as any page that failed.
                    Outcome::H2_PROTOCOL if h2 && answer.of_stream => self.stumbles(target),
                    Outcome::H2_PROTOCOL if h2 => self.remember(target, Peculiar::Http1),
                    Outcome::H2_PROTOCOL => self.remember(target, Peculiar::Http2),
                    _ => false,
                };
                if again {
                    continue;
                }
            } else if answer.protocol == Protocol::H2 {
                self.stands(target);
            }
            if answer.reusable {
                self.pool.put(key, connection);
            }
            if let (Some(cookies), Some(response)) = (cookies, &answer.response) {
                cookies.learn(&request.url, &response.head.texts("set-cookie"));
            }
            let is_of_stream = answer.of_stream;
            fill(draft, answer);
            // Every kept connection to this host may fail in the same way: the next time it is a new one.
            if is_kept && !is_of_stream && !draft.outcome.is_answered() {
                self.note_lost(&request.url);
            }
            if is_kept && is_unanswered(draft) {
                draft.detail = Some(Exchange::KEPT_CONNECTION_ENDED.into());
            }
            if form == TargetForm::Absolute && draft.outcome == Outcome::http(407) {
                settle(
                    draft,
                    Fault::new(Outcome::PROXY_FAILED, "proxy answered 407"),
                );
            }
            return;
        }
    }

    /// Whether a kept connection ended or failed under the last request for this URL; told once.
    fn was_lost(&self, url: &Url) -> bool {
        let mut lost = self.lost.lock().expect("no holder panics");
        lost.remove(url.as_str())
    }

    fn note_lost(&self, url: &Url) {
        let mut lost = self.lost.lock().expect("no holder panics");
        if lost.len() >= LOST {
            lost.clear();
        }
        lost.insert(url.as_str().into());
    }

    async fn connect(
        &self,
        target: &Target,
        setting: &Setting<'_>,
        patience: &Patience,
        times: &mut Times,
    ) -> Result<Connection, Fault> {
        let known = self.peculiarity(target);
        let offer = match known {
            Some(_) => Offer::Http1,
            None => Offer::Both,
        };
        let mut dialed = self
            .dialer
            .dial(target, offer, patience.total(), times)
            .await?;
        dialed.h2 |= known == Some(Peculiar::Http2);
        Connection::open(dialed, setting, patience).await
    }

    fn peculiarity(&self, target: &Target) -> Option<Peculiar> {
        let peculiar = self.peculiar.lock().expect("no holder panics");
        let known = peculiar.get(&target.host).copied();
        known.filter(|known| !matches!(known, Peculiar::Stumbles(_)))
    }

    /// One more stream of this host was no HTTP/2; whether HTTP/1.1 is spoken with it from now on.
    fn stumbles(&self, target: &Target) -> bool {
        let mut peculiar = self.peculiar.lock().expect("no holder panics");
        if peculiar.len() >= PECULIAR {
            peculiar.clear();
        }
        let known = peculiar
            .entry(target.host.clone())
            .or_insert(Peculiar::Stumbles(0));
        match known {
            Peculiar::Stumbles(times) if *times + 1 < STUMBLES => {
                *times += 1;
                false
            }
            Peculiar::Stumbles(_) => {
                *known = Peculiar::Http1;
                true
            }
            Peculiar::Http1 | Peculiar::Http2 => false,
        }
    }

    /// A stream of this host was as it should be.
    fn stands(&self, target: &Target) {
        let mut peculiar = self.peculiar.lock().expect("no holder panics");
        if matches!(peculiar.get(&target.host), Some(Peculiar::Stumbles(_))) {
            peculiar.remove(&target.host);
        }
    }

    /// Remembers what is to be spoken with this host; false if something was known before.
    fn remember(&self, target: &Target, how: Peculiar) -> bool {
        let mut peculiar = self.peculiar.lock().expect("no holder panics");
        if peculiar.len() >= PECULIAR {
            peculiar.clear();
        }
        let stored = peculiar.get(&target.host);
        let known = stored.is_some_and(|stored| !matches!(stored, Peculiar::Stumbles(_)));
        if !known {
            peculiar.insert(target.host.clone(), how);
        }
        !known
    }
}

impl Fetcher for HttpFetcher {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        Box::pin(self.run(request))
    }
}

fn fill(draft: &mut Exchange, answer: Answer) {
    draft.outcome = answer.outcome;
    draft.detail = answer.detail;
    draft.protocol = answer.protocol;
    draft.response = answer.response;
    draft.junk = answer.junk;
    draft.flags = answer.flags;
    draft.times.first_byte = answer.first_byte;
    draft.times.body = answer.body;
    if draft.certificate == Certificate::Accepted {
        draft.flags.add(Flags::CERTIFICATE_ACCEPTED);
    }
}

/// Whether the connection ended before a byte of an answer.
fn is_unanswered(draft: &Exchange) -> bool {
    let detail = draft.detail.as_deref().unwrap_or_default();
    draft.outcome == Outcome::CONNECT_FAILED && detail.starts_with(CLOSED_BEFORE_ANSWER)
}

/// Ends a draft with a fault.
fn settle(draft: &mut Exchange, fault: Fault) {
    draft.outcome = fault.outcome;
    draft.detail = fault.detail;
}

fn refusal(realm: &str) -> Fault {
    let realm: String = realm.chars().take(100).collect();
    Fault::new(Outcome::LOGIN_FAILED, format!("realm {realm:?}"))
}

/// An idle connection that still looks alive.
fn quiet(mut connection: Connection) -> Option<Connection> {
    connection.is_quiet().then_some(connection)
}

pub(crate) fn check_fields(config: &FetchConfig) -> Result<(), FetchError> {
    let given = [
        ("user-agent", Some(&config.user_agent)),
        ("from", config.from.as_ref()),
        ("accept", Some(&config.accept)),
        ("accept-encoding", Some(&config.accept_encoding)),
        ("accept-language", config.accept_language.as_ref()),
    ];
    let bad = given
        .into_iter()
        .find(|(_, value)| value.is_some_and(|value| !is_field_value(value)));
    bad.map_or(Ok(()), |(name, _)| Err(FetchError::Header(name)))
}

fn spool_dir(config: &FetchConfig) -> Result<PathBuf, FetchError> {
    let Some(dir) = &config.spool_dir else {
        return Ok(std::env::temp_dir());
    };
    std::fs::create_dir_all(dir).map_err(|source| FetchError::SpoolDir {
        path: dir.clone(),
        source,
    })?;
    Ok(dir.clone())
}
