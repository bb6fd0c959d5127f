//! Seeds as people write them: one a line, often without a scheme.

use url::{Host, Position, Url};

/// A URL given by the person who starts a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// What to fetch first.
    pub url: Url,
    /// No scheme was written: `url` is `https`, and where that fails `http` is tried.
    pub fallback_http: bool,
}

impl Seed {
    /// Reads one line of a seed list; `None` for a blank line or a comment (`#` at its beginning
    /// or after white space).
    pub fn parse(line: &str) -> Result<Option<Self>, SeedError> {
        let text = without_comment(line.trim_start_matches('\u{feff}').trim()).trim_end();
        if text.is_empty() {
            return Ok(None);
        }
        match scheme_of(text) {
            Some(scheme)
                if COLLECTED
                    .iter()
                    .any(|known| scheme.eq_ignore_ascii_case(known)) =>
            {
                with_scheme(text).map(Some)
            }
            Some(scheme) => Err(SeedError::Scheme {
                text: shortened(text),
                scheme: scheme.to_ascii_lowercase(),
            }),
            None => without_scheme(text).map(Some),
        }
    }

    /// The same with `http`, where it is to be tried if `https` fails.
    pub fn http(&self) -> Option<Url> {
        if !self.fallback_http {
            return None;
        }
        Url::parse(&format!("http://{}", &self.url[Position::BeforeHost..])).ok()
    }
}

/// Why a line of a seed list is no seed, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// Reading a URL with its scheme.
    #[error("`{text}` is not a URL ({reason}); write for example `https://example.org/`")]
    Url {
        /// The line.
        text: String,
        /// What is wrong with it.
        reason: url::ParseError,
    },
    /// Finding a fetcher for its scheme.
    #[error(
        "`{text}` cannot be collected: nothing here reads `{scheme}:`; write a URL with http or https"
    )]
    Scheme {
        /// The line.
        text: String,
        /// The scheme.
        scheme: String,
    },
    /// Guessing a host in a line without scheme.
    #[error(
        "`{0}` does not name a host; write the whole URL, for example `https://example.org/page`"
    )]
    NoHost(String),
    /// The same, in a line that looks like the path of a file.
    #[error(
        "`{0}` looks like a file; write the URL of a page, or give a file with a list of seeds to --seeds"
    )]
    Path(String),
    /// The same, in a line that looks like a mail address.
    #[error("`{0}` looks like a mail address; write the URL of a page, with its scheme")]
    Mail(String),
}

/// A text for a message: what is too long to be looked at shows its beginning and its end.
pub(crate) fn shortened(text: &str) -> String {
    const BEGINNING: usize = 120;
    const END: usize = 30;
    let letters = text.chars().count();
    if letters <= BEGINNING + END {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(BEGINNING).collect();
    let end: String = text.chars().skip(letters - END).collect();
    format!("{beginning}…{end}")
}

const COLLECTED: [&str; 5] = ["http", "https", "ftp", "file", "smb"];

/// Schemes whose rest may be digits alone, and which would else be taken for `host:port`.
const NEVER_HOSTS: [&str; 8] = [
    "tel",
    "sms",
    "fax",
    "callto",
    "mailto",
    "data",
    "javascript",
    "urn",
];

fn without_comment(line: &str) -> &str {
    let comment = line.char_indices().find(|&(at, c)| {
        c == '#'
            && line[..at]
                .chars()
                .next_back()
                .is_none_or(char::is_whitespace)
    });
    comment.map_or(line, |(at, _)| &line[..at])
}

/// What stands before the first colon, if it is a scheme: `mailto:x` has one, `localhost:8080`,
/// `example.org:x` and `[::1]:80` have none.
fn scheme_of(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    if !is_scheme {
        return None;
    }
    if rest.starts_with("//")
        || NEVER_HOSTS
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Some(scheme);
    }
    let port = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let is_port = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    (!is_port && !scheme.contains('.')).then_some(scheme)
}

fn with_scheme(text: &str) -> Result<Seed, SeedError> {
    let url = Url::parse(text).map_err(|reason| SeedError::Url {
        text: shortened(text),
        reason,
    })?;
    Ok(Seed {
        url,
        fallback_http: false,
    })
}

fn without_scheme(text: &str) -> Result<Seed, SeedError> {
    let rest = text.strip_prefix("//").unwrap_or(text);
    if rest.starts_with(['/', '.', '~', '\\']) {
        return Err(SeedError::Path(shortened(text)));
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    if authority.contains('@') {
        return Err(SeedError::Mail(shortened(text)));
    }
    let url = Url::parse(&format!("https://{rest}")).map_err(|reason| SeedError::Url {
        text: shortened(text),
        reason,
    })?;
    // `ht!tp://x` is no scheme and no host.
    let is_odd = |c: char| c.is_ascii() && !(c.is_ascii_alphanumeric() || "-_.:[]%".contains(c));
    if authority.contains(is_odd) {
        return Err(SeedError::NoHost(shortened(text)));
    }
    // A lone word is more often a slip than a host of the local network, and a lone number too.
    let is_host = match url.host() {
        Some(Host::Domain(name)) => {
            name.contains('.') || name == "localhost" || authority.contains(':')
        }
        Some(Host::Ipv4(_)) => authority.contains('.'),
        Some(Host::Ipv6(_)) => true,
        None => false,
    };
    if !is_host {
        return Err(SeedError::NoHost(shortened(text)));
    }
    Ok(Seed {
        url,
        fallback_http: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_does_not_repeat_a_text_that_is_too_long() {
        for line in ["água ", "tel:", "./", "a@b", "http://["] {
            let line = format!("{line}{}", "é".repeat(5000));
            let message = Seed::parse(&line).unwrap_err().to_string();
            assert!(message.chars().count() < 400, "{message}");
            assert!(message.contains('…'), "{message}");
        }
    }

    #[track_caller]
    fn check(line: &str, url: &str, fallback: Option<&str>) {
        let seed = Seed::parse(line).unwrap().unwrap();
        assert_eq!(seed.url.as_str(), url, "{line}");
        assert_eq!(seed.http().as_ref().map(Url::as_str), fallback, "{line}");
        assert_eq!(seed.fallback_http, fallback.is_some());
    }

    #[test]
    fn a_url_is_taken_as_it_is() {
        check("http://example.org", "http://example.org/", None);
        check(
            " HTTPS://Example.org/a b \r\n",
            "https://example.org/a%20b",
            None,
        );
        check("\u{feff}ftp://example.org/x", "ftp://example.org/x", None);
        check("file:///srv/docs", "file:///srv/docs", None);
        check(
            "https://example.org/#part",
            "https://example.org/#part",
            None,
        );
        check(
            "https://example.org/ # the home page",
            "https://example.org/",
            None,
        );
    }

    #[test]
    fn without_scheme_https_comes_first() {
        check(
            "example.org/path?q",
            "https://example.org/path?q",
            Some("http://example.org/path?q"),
        );
        check(
            "localhost:8080",
            "https://localhost:8080/",
            Some("http://localhost:8080/"),
        );
        check("localhost", "https://localhost/", Some("http://localhost/"));
        check(
            "127.0.0.1:8000/x",
            "https://127.0.0.1:8000/x",
            Some("http://127.0.0.1:8000/x"),
        );
        check("[::1]:80", "https://[::1]:80/", Some("http://[::1]/"));
        check(
            "intranet:8080/x",
            "https://intranet:8080/x",
            Some("http://intranet:8080/x"),
        );
        check(
            "example.org:8080",
            "https://example.org:8080/",
            Some("http://example.org:8080/"),
        );
        check(
            "//example.org/x",
            "https://example.org/x",
            Some("http://example.org/x"),
        );
        check(
            "café.example",
            "https://xn--caf-dma.example/",
            Some("http://xn--caf-dma.example/"),
        );
        check(
            "example.org/a:b",
            "https://example.org/a:b",
            Some("http://example.org/a:b"),
        );
    }

    #[test]
    fn blank_lines_and_comments_are_nothing() {
        for line in ["", "  \t", "# a comment", "  #x", "\u{feff}", "\r"] {
            assert_eq!(Seed::parse(line), Ok(None), "{line:?}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for (line, hint) in [
            ("mailto:x@example.org", "nothing here reads `mailto:`"),
            ("tel:5551234", "nothing here reads `tel:`"),
            ("javascript:void(0)", "nothing here reads `javascript:`"),
            ("gopher://example.org/", "nothing here reads `gopher:`"),
            ("C:\\docs", "nothing here reads `c:`"),
            ("hello", "write the whole URL"),
            ("hello world", "is not a URL"),
            ("12345", "write the whole URL"),
            ("someone@example.org", "looks like a mail address"),
            ("./seeds.txt", "looks like a file"),
            ("/etc/hosts", "looks like a file"),
            ("http://", "empty host"),
            ("example.org:99999", "invalid port"),
            ("example.org:x", "invalid port"),
            ("http://exa mple.org/", "invalid"),
            ("?", "is not a URL"),
            ("ht!tp://x y", "write the whole URL"),
        ] {
            let message = Seed::parse(line).unwrap_err().to_string();
            assert!(message.contains(hint), "{line}: {message}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in "\\PC{0,40}") {
            if let Ok(Some(seed)) = Seed::parse(&line) {
                prop_assert!(COLLECTED.contains(&seed.url.scheme()));
                prop_assert_eq!(seed.http().is_some(), seed.fallback_http);
            }
        }
    }
}
