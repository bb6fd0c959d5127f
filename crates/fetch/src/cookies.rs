//! Cookies, where a collection wants them: in memory, and few.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use cookie_store::{Cookie, CookieStore, RawCookie};
use url::Url;

/// Cookies kept for one host; those of its domain count for each host of it.
const PER_HOST: usize = 50;
/// Bytes of one cookie.
const COOKIE_BYTES: usize = 4 << 10;
/// Bytes of cookies in one request.
const REQUEST_BYTES: usize = 8 << 10;
/// Cookies of all hosts of one domain: a host can have any number of neighbours.
const PER_DOMAIN: usize = 500;
/// Bytes kept all together; the jar that was not used for longest goes first.
const ALL_BYTES: usize = 32 << 20;
/// What a cookie costs beside its text, about.
const OVERHEAD: usize = 256;

/// The cookies of a fetcher.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Mutex<Jars>);

/// A jar for each domain, scheme and port: no cookie is ever sent beyond one.
///
/// RFC 6265 (8.5) and older browsers send a cookie to every port of a host, and to http what https set unless it says
/// `Secure`: another service of the machine would be told of a login. Here a cookie stays where it was set, as browsers
/// are about to have it (cookies bound to their origin); only a `Domain` lets the hosts of that domain have it.
#[derive(Debug, Default)]
struct Jars {
    jars: HashMap<Shelf, Jar>,
    bytes: usize,
    /// Counts uses, to tell which jar was not used for longest.
    uses: u64,
}

/// Where cookies are shared: what somebody registered (or the host), by one scheme, at one port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shelf {
    domain: String,
    scheme: String,
    port: Option<u16>,
}

impl Shelf {
    fn of(url: &Url) -> Self {
        Self {
            domain: domain_of(url).to_owned(),
            scheme: url.scheme().to_owned(),
            port: url.port_or_known_default(),
        }
    }
}

#[derive(Debug, Default)]
struct Jar {
    store: CookieStore,
    bytes: usize,
    used: u64,
}

impl Cookies {
    fn lock(&self) -> MutexGuard<'_, Jars> {
        self.0.lock().expect("no holder panics")
    }

    /// The value of `Cookie` for this URL, if any cookie fits it.
    pub(crate) fn header(&self, url: &Url) -> Option<String> {
        let mut jars = self.lock();
        jars.uses += 1;
        let used = jars.uses;
        let jar = jars.jars.get_mut(&Shelf::of(url))?;
        jar.used = used;
        let mut header = String::new();
        for (name, value) in jar.store.get_request_values(url) {
            if header.len() + name.len() + value.len() + 3 > REQUEST_BYTES {
                continue;
            }
            if !header.is_empty() {
                header.push_str("; ");
            }
            header.push_str(name);
            header.push('=');
            header.push_str(value);
        }
        (!header.is_empty()).then_some(header)
    }

    /// Forgets all of them.
    pub(crate) fn forget(&self) {
        *self.lock() = Jars::default();
    }

    /// Takes what an answer sets; what breaks the rules or the bounds is passed over.
    pub(crate) fn learn(&self, url: &Url, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let mut jars = self.lock();
        jars.uses += 1;
        let used = jars.uses;
        let shelf = Shelf::of(url);
        let jar = jars.jars.entry(shelf.clone()).or_default();
        let before = jar.bytes;
        jar.used = used;
        jar.learn(url, values);
        let (after, is_empty) = (jar.bytes, jar.store.iter_any().next().is_none());
        jars.bytes = jars.bytes - before + after;
        if is_empty {
            jars.jars.remove(&shelf);
        }
        jars.make_room();
    }
}

impl Jars {
    fn make_room(&mut self) {
        while self.bytes > ALL_BYTES {
            let oldest = self.jars.iter().min_by_key(|(_, jar)| jar.used);
            let Some(shelf) = oldest.map(|(shelf, _)| shelf.clone()) else {
                return;
            };
            if let Some(jar) = self.jars.remove(&shelf) {
                self.bytes -= jar.bytes;
            }
        }
    }
}

impl Jar {
    fn learn(&mut self, url: &Url, values: &[String]) {
        let host = url.host_str().unwrap_or_default();
        for value in values
            .iter()
            .take(2 * PER_HOST)
            .filter(|value| value.len() <= COOKIE_BYTES)
        {
            let Ok(cookie) = RawCookie::parse(value.as_str()) else {
                continue;
            };
            if is_proper(&cookie, url, host) {
                self.insert(&cookie, url);
            }
        }
        self.bytes = self.count();
    }

    /// Takes a cookie in; where a host or a domain has as many as it may, only in place of one of the same name.
    fn insert(&mut self, cookie: &RawCookie<'_>, url: &Url) {
        // Without its domain where that is the host and a public suffix: then it is for the host alone.
        let mut cookie = cookie.clone().into_owned();
        let is_suffix = |domain: &str| psl::domain_str(domain.trim_start_matches('.')).is_none();
        if cookie.domain().is_some_and(is_suffix) {
            cookie.unset_domain();
        }
        let Ok(cookie) = Cookie::try_from_raw_cookie(&cookie, url) else {
            return;
        };
        let (domain, path) = (String::from(&cookie.domain), String::from(&cookie.path));
        if !self.store.contains_any(&domain, &path, cookie.name()) {
            self.drop_expired();
            let of_host = self.store.iter_any().filter(|it| it.domain.matches(url));
            if of_host.count() >= PER_HOST || self.store.iter_any().count() >= PER_DOMAIN {
                return;
            }
        }
        let _refused_is_passed_over = self.store.insert(cookie.into_owned(), url);
    }

    fn drop_expired(&mut self) {
        let expired = self.store.iter_any().filter(|known| known.is_expired());
        let names: Vec<_> = expired
            .map(|known| {
                let (domain, path) = (String::from(&known.domain), String::from(&known.path));
                (domain, path, known.name().to_owned())
            })
            .collect();
        for (domain, path, name) in names {
            self.store.remove(&domain, &path, &name);
        }
    }

    fn count(&self) -> usize {
        let bytes = |cookie: &Cookie<'_>| {
            cookie.name().len() + cookie.value().len() + cookie.path.as_ref().len() + OVERHEAD
        };
        self.store.iter_any().map(bytes).sum()
    }
}

/// What may share cookies: the domain that somebody registered, or the host.
fn domain_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    match url.host() {
        Some(url::Host::Domain(_)) => psl::domain_str(host).unwrap_or(host),
        _ => host,
    }
}

/// The cookies of a login and those of the jar in one field: what a server has set since goes before what
/// was saved.
pub(crate) fn one_header(login: &str, jar: Option<String>) -> String {
    let Some(jar) = jar else {
        return login.to_owned();
    };
    let name = |cookie: &str| cookie.split('=').next().unwrap_or_default().to_owned();
    let set: Vec<String> = jar.split("; ").map(name).collect();
    let saved = login.split("; ").filter(|it| !set.contains(&name(it)));
    let all: Vec<&str> = saved.chain([jar.as_str()]).collect();
    all.join("; ")
}

/// What the store does not check by itself: public suffixes and the `__Host-`, `__Secure-` names.
fn is_proper(cookie: &RawCookie<'_>, url: &Url, host: &str) -> bool {
    let domain = cookie
        .domain()
        .map(|domain| domain.trim_start_matches('.').to_ascii_lowercase());
    let foreign = domain.as_deref().is_some_and(|domain| {
        domain.ends_with('.') || (domain != host && psl::domain_str(domain).is_none())
    });
    let secure = cookie.secure() == Some(true) && url.scheme() == "https";
    let name = cookie.name().to_ascii_lowercase();
    let host_only = domain.is_none() && cookie.path() == Some("/");
    !foreign
        && (!name.starts_with("__host-") || (secure && host_only))
        && (!name.starts_with("__secure-") || secure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(values: &[&str], then: &str) -> Option<String> {
        let cookies = Cookies::default();
        let url = "https://www.a.example/x/".parse().unwrap();
        cookies.learn(
            &url,
            &values.iter().map(ToString::to_string).collect::<Vec<_>>(),
        );
        cookies.header(&then.parse().unwrap())
    }

    #[test]
    fn a_cookie_comes_back_to_its_host() {
        assert_eq!(
            after(&["a=1; Path=/"], "https://www.a.example/").unwrap(),
            "a=1"
        );
        assert_eq!(
            after(&["a=1; Domain=a.example; Path=/"], "https://b.a.example/").unwrap(),
            "a=1"
        );
        assert_eq!(after(&["a=1; Path=/"], "https://b.a.example/"), None);
        assert_eq!(
            after(&["a=1; Path=/; Secure"], "http://www.a.example/"),
            None
        );
    }

    #[test]
    fn a_cookie_is_for_no_other_port_and_no_other_scheme() {
        for value in ["a=1; Path=/", "a=1; Domain=a.example; Path=/"] {
            for other in ["https://www.a.example:8443/", "http://www.a.example/"] {
                assert_eq!(after(&[value], other), None, "{value} for {other}");
            }
            let same = after(&[value], "https://www.a.example:443/");
            assert_eq!(same.as_deref(), Some("a=1"), "{value}");
        }
    }

    #[test]
    fn what_was_set_since_goes_before_what_was_saved() {
        assert_eq!(one_header("a=1; b=2", None), "a=1; b=2");
        let jar = Some("b=3; c=4".to_owned());
        assert_eq!(one_header("a=1; b=2", jar), "a=1; b=3; c=4");
    }

    #[test]
    fn improper_cookies_are_refused() {
        for value in [
            "a=1; Domain=example",
            "a=1; Domain=com",
            "a=1; Domain=a.example.",
            "a=1; Domain=b.example",
            "__Host-a=1; Path=/",
            "__Host-a=1; Secure; Path=/; Domain=www.a.example",
            "__Secure-a=1; Path=/",
        ] {
            assert_eq!(after(&[value], "https://www.a.example/"), None, "{value}");
        }
    }

    #[test]
    fn the_bounds_hold() {
        let cookies = Cookies::default();
        let url: Url = "https://a.example/".parse().unwrap();
        let many: Vec<String> = (0..10_000)
            .map(|n| format!("c{n}={}", "x".repeat(1000)))
            .collect();
        cookies.learn(&url, &many);
        cookies.learn(&url, &[format!("large={}", "x".repeat(5000))]);
        assert!(cookies.header(&url).unwrap().len() <= REQUEST_BYTES);
        let count = |cookies: &Cookies| {
            let jars = cookies.lock();
            let counts = jars.jars.values().map(|jar| jar.store.iter_any().count());
            counts.sum::<usize>()
        };
        assert_eq!(count(&cookies), PER_HOST);
        // What is full takes a new value of what it has.
        cookies.learn(&url, &["c0=new".to_owned()]);
        assert!(cookies.header(&url).unwrap().contains("c0=new"));
        assert_eq!(count(&cookies), PER_HOST);
        // And what has expired makes room.
        cookies.learn(&url, &["c0=x; Max-Age=0".to_owned(), "fresh=1".to_owned()]);
        assert!(cookies.header(&url).unwrap().contains("fresh=1"));
    }

    #[test]
    fn neither_many_hosts_of_a_domain_nor_many_domains_fill_the_memory() {
        let cookies = Cookies::default();
        let large: Vec<String> = (0..PER_HOST)
            .map(|n| format!("c{n}={}; Path=/", "x".repeat(4000)))
            .collect();
        for n in 0..40 {
            let url: Url = format!("https://h{n}.a.example/").parse().unwrap();
            cookies.learn(&url, &large);
        }
        let shelf = |host: &str| Shelf::of(&format!("https://{host}/").parse().unwrap());
        let of_domain = cookies.lock().jars[&shelf("a.example")]
            .store
            .iter_any()
            .count();
        assert_eq!(of_domain, PER_DOMAIN);
        for n in 0..300 {
            let url: Url = format!("https://d{n}.example/").parse().unwrap();
            cookies.learn(&url, &large);
        }
        let jars = cookies.lock();
        assert!(jars.bytes <= ALL_BYTES, "{}", jars.bytes);
        let counted: usize = jars.jars.values().map(Jar::count).sum();
        assert_eq!(jars.bytes, counted);
        let has = |host: &str| jars.jars.contains_key(&shelf(host));
        assert!(has("d299.example"), "the newest stay");
        assert!(!has("a.example"), "the oldest go");
    }

    #[test]
    fn a_host_that_is_a_public_suffix_sets_cookies_for_itself_alone() {
        let cookies = Cookies::default();
        let suffix: Url = "https://github.io/".parse().unwrap();
        cookies.learn(&suffix, &["a=1; Domain=github.io; Path=/".to_owned()]);
        assert_eq!(cookies.header(&suffix).as_deref(), Some("a=1"));
        let below: Url = "https://somebody.github.io/".parse().unwrap();
        assert_eq!(cookies.header(&below), None);
    }
}
