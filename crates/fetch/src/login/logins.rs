//! The usual Authenticator: passwords and tokens by origin, said as the server asks.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use data_encoding::BASE64;
use rustls::crypto::aws_lc_rs;
use url::{Position, Url};

use super::authenticator::{Authenticator, LoginField, LoginFieldName, origin};
use super::challenge::{Challenge, challenges};
use super::digest::Session;

/// Logins by origin (scheme, host and port).
///
/// A token is sent at once. A password waits until its server asks: Digest with SHA-256 goes
/// before Digest with MD5, and both before Basic. From then on the answer is sent at once, and
/// anew when the server calls it stale. NTLM and Negotiate are never answered.
#[derive(Default)]
pub struct Logins {
    secrets: HashMap<String, Secret>,
    /// What each origin asked for last; never more than there are secrets.
    asked: Mutex<HashMap<String, Asked>>,
}

enum Secret {
    Password { user: String, password: String },
    Token(String),
}

/// How an origin wants its password.
enum Asked {
    Basic,
    Digest(Box<Session>),
}

impl Logins {
    /// Adds a user and a password for the origin of this URL.
    #[must_use]
    pub fn password(mut self, url: &Url, user: &str, password: &str) -> Self {
        let secret = Secret::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        };
        self.secrets.insert(origin(url), secret);
        self
    }

    /// Adds a bearer token for the origin of this URL.
    #[must_use]
    pub fn token(mut self, url: &Url, token: &str) -> Self {
        self.secrets
            .insert(origin(url), Secret::Token(token.to_owned()));
        self
    }

    fn value(&self, url: &Url, fields: &[String]) -> Option<String> {
        let origin = origin(url);
        let (user, password) = match self.secrets.get(&origin)? {
            Secret::Token(token) => return Some(format!("Bearer {token}")),
            Secret::Password { user, password } => (user, password),
        };
        let mut asked = self.asked.lock().expect("no holder panics");
        if !fields.is_empty() {
            match strongest(&challenges(fields)) {
                Some(asks) => asked.insert(origin.clone(), asks),
                None => asked.remove(&origin),
            };
        }
        Some(match asked.get_mut(&origin)? {
            Asked::Basic => format!(
                "Basic {}",
                BASE64.encode(format!("{user}:{password}").as_bytes())
            ),
            Asked::Digest(session) => {
                let target = &url[Position::BeforePath..Position::AfterQuery];
                session.answer(user, password, target)
            }
        })
    }
}

impl Authenticator for Logins {
    fn fields(&self, url: &Url, challenges: &[String]) -> Vec<LoginField> {
        let value = self.value(url, challenges);
        let field = |value| LoginField {
            name: LoginFieldName::Authorization,
            value,
        };
        value.map(field).into_iter().collect()
    }
}

/// The best way to log in among those that a server offers.
fn strongest(challenges: &[Challenge]) -> Option<Asked> {
    let digests: Vec<Session> = challenges
        .iter()
        .filter(|challenge| challenge.scheme == "digest")
        .filter_map(|challenge| Session::open(challenge, client_nonce()?))
        .collect();
    let best = digests
        .iter()
        .find(|session| session.is_strong())
        .or(digests.first());
    match best {
        Some(session) => Some(Asked::Digest(Box::new(session.clone()))),
        None => challenges
            .iter()
            .any(|challenge| challenge.scheme == "basic")
            .then_some(Asked::Basic),
    }
}

fn client_nonce() -> Option<[u8; 16]> {
    let mut nonce = [0; 16];
    let random = aws_lc_rs::default_provider().secure_random;
    random.fill(&mut nonce).ok().map(|()| nonce)
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins")
            .field("origins", &self.secrets.keys())
            .finish()
    }
}
