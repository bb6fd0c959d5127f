//! Cookies, where a collection wants them: in memory, and few.

use std::sync::Mutex;

use cookie_store::{CookieStore, RawCookie};
use url::Url;

/// Cookies kept for one host.
const PER_HOST: usize = 50;
/// Bytes of one cookie.
const COOKIE_BYTES: usize = 4 << 10;
/// Bytes of cookies in one request.
const REQUEST_BYTES: usize = 8 << 10;
/// Cookies kept all together.
const ALL: usize = 100_000;

/// The cookies of a fetcher.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Mutex<CookieStore>);

impl Cookies {
    /// The value of `Cookie` for this URL, if any cookie fits it.
    pub(crate) fn header(&self, url: &Url) -> Option<String> {
        let store = self.0.lock().expect("no holder panics");
        let mut header = String::new();
        for (name, value) in store.get_request_values(url) {
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

    /// Takes what an answer sets; what breaks the rules or the bounds is passed over.
    pub(crate) fn learn(&self, url: &Url, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let mut store = self.0.lock().expect("no holder panics");
        let host = url.host_str().unwrap_or_default();
        let mut known = store
            .iter_any()
            .filter(|cookie| cookie.domain.matches(url))
            .count();
        let mut all = store.iter_any().count();
        for value in values
            .iter()
            .take(2 * PER_HOST)
            .filter(|value| value.len() <= COOKIE_BYTES)
        {
            let Ok(cookie) = RawCookie::parse(value.as_str()) else {
                continue;
            };
            if !is_proper(&cookie, url, host) || known >= PER_HOST || all >= ALL {
                continue;
            }
            if store.insert_raw(&cookie.into_owned(), url).is_ok() {
                (known, all) = (known + 1, all + 1);
            }
        }
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
        assert!(cookies.0.lock().unwrap().iter_any().count() <= PER_HOST);
    }
}
