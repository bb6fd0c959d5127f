//! Where a login is for: a host or all below one, and perhaps a scheme, a port and a path.

use std::net::IpAddr;

use url::Url;

use crate::sites::HostPattern;

/// One entry of `match`: `www.example.org`, `*.example.pt`, `https://www.example.org:8443/private/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    scheme: Option<&'static str>,
    host: HostPattern,
    /// Without one, the usual port of the URL's scheme.
    port: Option<u16>,
    /// `/` or the beginning of a path.
    path: String,
}

impl Place {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        const EXAMPLE: &str = "write `www.example.org`, `*.example.org` for it and all below it, or `https://www.example.org:8443/private/`";
        let text = text.trim();
        if text.contains('@') {
            // What was written may be a secret.
            return Err(format!(
                "a user and a password do not belong there; {EXAMPLE}"
            ));
        }
        let (scheme, rest) = match text.split_once("://") {
            None => (None, text),
            Some(("https", rest)) => (Some("https"), rest),
            Some(("http", rest)) => (Some("http"), rest),
            Some((other, _)) => {
                return Err(format!("`{other}` has no logins; {EXAMPLE}"));
            }
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => match port.parse::<u16>() {
                Ok(port) => (name, Some(port)),
                Err(_) => return Err(format!("`{port}` is no port; {EXAMPLE}")),
            },
            _ => (authority, None),
        };
        if name == "*" {
            return Err(format!("a secret is not for every host; {EXAMPLE}"));
        }
        let host =
            HostPattern::parse(name).map_err(|_| format!("`{name}` is no host; {EXAMPLE}"))?;
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if is_address && path.len() > 1 && path[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "`{text}` is a range of addresses, and whoever has a name may lead it into one: a login is for hosts by their names; {EXAMPLE}"
            ));
        }
        if path.contains(['?', '#']) {
            return Err(format!("a login is for a path and all below it; {EXAMPLE}"));
        }
        // In the spelling in which requests have it.
        let path = Url::parse(&format!("http://a{path}"))
            .map_or_else(|_| "/".to_owned(), |url| url.path().to_owned());
        Ok(Self {
            scheme,
            host,
            port,
            path,
        })
    }

    /// Whether the login is for this URL: scheme, host, port and path all count.
    pub(super) fn holds(&self, url: &Url) -> bool {
        let usual = match url.scheme() {
            "https" => 443,
            "http" => 80,
            _ => return false,
        };
        let path = url.path();
        let is_in = path == self.path
            || path
                .strip_prefix(self.path.as_str())
                .is_some_and(|rest| self.path.ends_with('/') || rest.starts_with('/'));
        self.scheme.is_none_or(|scheme| scheme == url.scheme())
            && url.port_or_known_default() == Some(self.port.unwrap_or(usual))
            && url.host_str().is_some_and(|host| self.host.is_of(host))
            && is_in
    }

    /// Whether a URL is on a host of the login, whatever its scheme, port and path: cookies are the host's.
    pub(super) fn is_on_host_of(&self, url: &Url) -> bool {
        url.host_str().is_some_and(|host| self.host.is_of(host))
    }

    /// Whether what is sent there may be read on its way.
    pub(super) fn is_open_to_eyes(&self) -> bool {
        self.scheme != Some("https")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(place: &str, holds: &[&str], not: &[&str]) {
        let place = Place::parse(place).unwrap();
        for url in holds {
            assert!(place.holds(&Url::parse(url).unwrap()), "{place:?} {url}");
        }
        for url in not {
            assert!(!place.holds(&Url::parse(url).unwrap()), "{place:?} {url}");
        }
    }

    #[test]
    fn scheme_host_port_and_path_all_count() {
        check(
            "https://a.example/private",
            &[
                "https://a.example/private",
                "https://a.example/private/x",
                "https://a.example:443/private?x",
            ],
            &[
                "http://a.example/private",
                "https://a.example/privateer",
                "https://a.example/",
                "https://a.example/private/../x",
                "https://a.example:8443/private",
                "https://b.a.example/private",
                "https://a.example.evil.example/private",
            ],
        );
        check(
            "*.a.example",
            &["https://a.example/", "http://x.a.example/y"],
            &["https://xa.example/", "https://x.a.example:444/"],
        );
        check(
            "127.0.0.1:8080/x/",
            &["http://127.0.0.1:8080/x/y"],
            &["http://127.0.0.1:8080/x", "http://127.0.0.1/x/"],
        );
        check("[::1]:81", &["http://[::1]:81/"], &["http://[::1]/"]);
        check("[::1]", &["http://[::1]/"], &[]);
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for (text, word) in [
            ("*", "every host"),
            ("10.0.0.0/8", "range"),
            ("ftp://a.example/", "ftp"),
            ("https://ann:hunter2@a.example/", "password"),
            ("a.example:x", "port"),
            ("a b", "no host"),
            ("a.example/?x", "path"),
        ] {
            let message = Place::parse(text).unwrap_err();
            assert!(message.contains(word), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
