//! Sessions of browsers: a cookie that stands for a token, kept in memory, and its CSRF token.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};

/// How long a session lasts.
const LASTS: Duration = Duration::from_secs(12 * 3600);
/// Sessions at once; with one more, the one that would end first ends.
const MOST: usize = 1_000;
/// The cookie. Over https its name forbids browsers to take it from anyone else.
const PLAIN: &str = "teia-session";
const SECURE: &str = "__Host-teia-session";

/// The sessions of this process.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The token behind it.
    pub(crate) token: String,
    /// What forms of this session carry.
    pub(crate) csrf: String,
    until: Instant,
}

impl Sessions {
    /// Begins a session for a token; the value of its cookie.
    pub(crate) fn begin(&self, token: &str) -> String {
        let (value, csrf) = (random(), random());
        let now = Instant::now();
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.until > now);
        if sessions.len() >= MOST {
            let first = sessions.iter().min_by_key(|(_, session)| session.until);
            let first = first.map(|(key, _)| *key);
            first.and_then(|key| sessions.remove(&key));
        }
        let session = Session {
            token: token.to_owned(),
            csrf,
            until: now + LASTS,
        };
        sessions.insert(key(&value), session);
        value
    }

    /// The session of a cookie, while it lasts.
    pub(crate) fn find(&self, value: &str) -> Option<Session> {
        let session = self.lock().get(&key(value)).cloned()?;
        (session.until > Instant::now()).then_some(session)
    }

    /// Ends one: its cookie is worth nothing from now on, wherever it is.
    pub(crate) fn end(&self, value: &str) {
        self.lock().remove(&key(value));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What lies in memory is no cookie.
fn key(value: &str) -> [u8; 32] {
    Sha256::digest(value.as_bytes()).into()
}

fn random() -> String {
    BASE64URL_NOPAD.encode(&rand::random::<[u8; 32]>())
}

/// The value of the session's cookie in a request.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    let pairs = all
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let mut found = None;
    for (name, value) in pairs {
        match name {
            SECURE => return Some(value),
            PLAIN => found = found.or(Some(value)),
            _ => {}
        }
    }
    found
}

/// The header that gives a browser its session.
pub(crate) fn set_cookie(headers: &HeaderMap, value: &str) -> HeaderValue {
    written(headers, value, LASTS.as_secs())
}

/// The header that takes it back.
pub(crate) fn forgotten(headers: &HeaderMap) -> HeaderValue {
    written(headers, "", 0)
}

fn written(headers: &HeaderMap, value: &str, seconds: u64) -> HeaderValue {
    let (name, secure) = if is_https(headers) {
        (SECURE, "; Secure")
    } else {
        (PLAIN, "")
    };
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).expect("letters, digits and signs of our own")
}

/// Whether a proxy in front says that the browser came over https. One who says so without a proxy
/// harms their own cookie only.
pub(crate) fn is_https(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let last = |text: &str| text.rsplit(',').next().unwrap_or("").trim().to_owned();
    let forwarded = text("x-forwarded-proto").map(last);
    let standard = text("forwarded").map(last);
    let says_https = |text: &String| {
        let mut parts = text.split(';').map(str::trim);
        parts.any(|part| part.trim_matches('"').eq_ignore_ascii_case("proto=https"))
    };
    forwarded.is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
        || standard.as_ref().is_some_and(says_https)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_session_is_found_until_it_ends() {
        let sessions = Sessions::default();
        let (one, two) = (sessions.begin("a"), sessions.begin("b"));
        assert_ne!(one, two);
        assert_eq!(sessions.find(&one).unwrap().token, "a");
        assert_ne!(
            sessions.find(&one).unwrap().csrf,
            sessions.find(&two).unwrap().csrf
        );
        sessions.end(&one);
        assert!(sessions.find(&one).is_none() && sessions.find(&two).is_some());
        assert!(sessions.find("").is_none());
    }

    #[test]
    fn sessions_are_bounded() {
        let sessions = Sessions::default();
        let first = sessions.begin("a");
        for _ in 0..MOST {
            sessions.begin("b");
        }
        assert_eq!(sessions.lock().len(), MOST);
        assert!(sessions.find(&first).is_none(), "the oldest went");
    }

    #[test]
    fn over_https_the_cookie_is_secure_and_bound_to_the_host() {
        let plain = set_cookie(&headers(&[]), "x");
        let plain = plain.to_str().unwrap();
        assert!(plain.starts_with("teia-session=x;"), "{plain}");
        assert!(plain.contains("HttpOnly") && plain.contains("SameSite=Strict"));
        for proxy in [
            ("x-forwarded-proto", "https"),
            ("forwarded", "for=1.2.3.4;proto=https"),
        ] {
            let secure = set_cookie(&headers(&[proxy]), "x");
            let secure = secure.to_str().unwrap();
            assert!(secure.starts_with("__Host-teia-session=x;"), "{secure}");
            assert!(secure.ends_with("; Secure"), "{secure}");
        }
    }

    #[test]
    fn the_cookie_is_read_among_others() {
        let found = headers(&[("cookie", "a=1; teia-session=xyz; b=2")]);
        assert_eq!(cookie(&found), Some("xyz"));
        let both = headers(&[
            ("cookie", "teia-session=planted"),
            ("cookie", "__Host-teia-session=own"),
        ]);
        assert_eq!(cookie(&both), Some("own"));
        assert_eq!(cookie(&headers(&[("cookie", "a")])), None);
    }
}
