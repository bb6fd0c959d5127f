//! Cookies that a browser has saved: the `cookies.txt` of Netscape, which browsers' extensions, curl and wget write.
//!
//! ```text
//! .example.org  TRUE  /private  TRUE  1800000000  session  a1b2c3     seven columns, by tabulators
//! │             │     │         │     │           name     value
//! │             │     │         │     └ seconds since 1970 until which it holds; 0: as long as the browser ran
//! │             │     │         └ over https only
//! │             │     └ for this path and below
//! │             └ for the hosts below it as well
//! └ host; `#HttpOnly_` before it says that scripts do not see it; any other `#` begins a comment
//! ```

use std::fmt;

use teia_base::Timestamp;
use url::Url;

use crate::request_head::is_field_value;

/// Cookies that are read from one file; one with more is refused.
const MOST_COOKIES: usize = 10_000;
/// Bytes of cookies in one request.
const REQUEST_BYTES: usize = 8 << 10;

/// The cookies of a file. Prints without them.
#[derive(Clone, Default)]
pub struct SavedCookies(Vec<Cookie>);

#[derive(Clone)]
struct Cookie {
    host: String,
    below: bool,
    path: String,
    secure: bool,
    name: String,
    value: String,
}

impl SavedCookies {
    /// Reads the text of a `cookies.txt`; those that are over by now are passed over. The error says what is
    /// wrong and in which line, and never what stands there.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, String> {
        let mut cookies = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let wrong = |what: &str| Err(format!("line {}: {what}", at + 1));
            let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let columns: Vec<&str> = line.splitn(7, '\t').collect();
            let [host, below, path, secure, until, name, value] = columns[..] else {
                return wrong("a cookie has seven columns with tabulators between them");
            };
            // Some write parts of a second, and some -1 for no end.
            let until = until.trim().split('.').next().unwrap_or_default();
            let Ok(until) = until.parse::<i64>() else {
                return wrong("the fifth column is a number of seconds");
            };
            if cookies.len() >= MOST_COOKIES {
                return wrong("too many cookies");
            }
            if !is_field_value(name) || !is_field_value(value) || value.contains(';') {
                return wrong(
                    "the cookie cannot be sent: there is a character that it may not have",
                );
            }
            if until > 0 && Timestamp::from_micros(until.saturating_mul(1_000_000)) <= now {
                continue;
            }
            let is_true = |column: &str| column.trim().eq_ignore_ascii_case("true");
            cookies.push(Cookie {
                host: host.trim_start_matches('.').to_ascii_lowercase(),
                below: is_true(below) || host.starts_with('.'),
                path: path.to_owned(),
                secure: is_true(secure),
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        // Longer paths first (RFC 6265, 5.4).
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        Ok(Self(cookies))
    }

    /// Whether there is none, or none any more.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of `Cookie` for a URL, if any fits it.
    pub(super) fn header(&self, url: &Url) -> Option<String> {
        let mut header = String::new();
        for Cookie { name, value, .. } in self.0.iter().filter(|cookie| cookie.fits(url)) {
            if header.len() + name.len() + value.len() + 3 > REQUEST_BYTES {
                continue;
            }
            if !header.is_empty() {
                header.push_str("; ");
            }
            header.push_str(&format!("{name}={value}"));
        }
        (!header.is_empty()).then_some(header)
    }
}

impl Cookie {
    fn fits(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let is_below = || {
            let above = host.strip_suffix(self.host.as_str());
            self.below && above.is_some_and(|above| above.ends_with('.'))
        };
        let path = url.path();
        let is_in = path == self.path
            || path
                .strip_prefix(self.path.as_str())
                .is_some_and(|rest| self.path.ends_with('/') || rest.starts_with('/'));
        (host == self.host || is_below()) && is_in && (!self.secure || url.scheme() == "https")
    }
}

impl fmt::Debug for SavedCookies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SavedCookies({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn read(text: &str) -> Result<SavedCookies, String> {
        SavedCookies::parse(text, Timestamp::from_micros(NOW * 1_000_000))
    }

    #[test]
    fn a_cookie_goes_where_its_line_says() {
        let text = "# Netscape HTTP Cookie File\n\n\
            .a.example\tTRUE\t/\tFALSE\t0\tall\t1\n\
            #HttpOnly_a.example\tFALSE\t/x\tTRUE\t2000000\tmine\t2\n\
            a.example\tFALSE\t/\tFALSE\t999999\told\t3\n";
        let cookies = read(text).unwrap();
        for (url, sent) in [
            ("https://a.example/x/y", Some("mine=2; all=1")),
            ("https://a.example/x", Some("mine=2; all=1")),
            ("https://a.example/xy", Some("all=1")),
            ("http://a.example/x", Some("all=1")),
            ("http://b.a.example/", Some("all=1")),
            ("https://ba.example/x", None),
            ("https://example/x", None),
        ] {
            let header = cookies.header(&Url::parse(url).unwrap());
            assert_eq!(header.as_deref(), sent, "{url}");
        }
    }

    #[test]
    fn what_is_no_cookie_is_refused_by_its_line_and_not_repeated() {
        for wrong in [
            "session=hunter2",
            "a\tb\tc\td\tsoon\thunter2\thunter2",
            "a\tTRUE\t/\tTRUE\t0\tname\thunter2\u{1}",
        ] {
            let message = read(&format!("# x\n{wrong}\n")).unwrap_err();
            assert!(message.starts_with("line 2: "), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
        assert!(read("").unwrap().is_empty());
    }
}
