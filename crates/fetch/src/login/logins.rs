//! The usual Authenticator: passwords, tokens and cookies by place, said as the server asks.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use data_encoding::BASE64;
use rustls::crypto::aws_lc_rs;
use url::{Position, Url};

use super::authenticator::{Authenticator, LoginField, LoginFieldName, origin};
use super::challenge::{Challenge, challenges};
use super::digest::Session;
use super::form_login::FormLogin;
use super::saved_cookies::SavedCookies;

/// Origins whose last question is remembered; beyond that all are forgotten, and ask anew.
const MOST_ASKED: usize = 10_000;

/// Logins by origin (scheme, host and port), or by a place that is described otherwise.
///
/// A token and cookies are sent at once. A password waits until its server asks: Digest with SHA-256 goes
/// before Digest with MD5, and both before Basic. From then on the answer is sent at once, and
/// anew when the server calls it stale. NTLM and Negotiate are never answered.
#[derive(Default)]
pub struct Logins {
    by_origin: HashMap<String, Credential>,
    /// The last one that fits counts.
    by_place: Vec<(Place, Credential)>,
    /// What each origin asked for last, apart for each of its logins.
    asked: Mutex<HashMap<(String, usize), Asked>>,
    /// Whose cookies may belong to a login, beside the places themselves.
    hosts: Vec<Place>,
}

/// Whether a login is for a URL.
type Place = Box<dyn Fn(&Url) -> bool + Send + Sync>;

/// What lets a request in. Prints without its secret.
#[derive(Clone)]
pub enum Credential {
    /// A user and a password, said in one of these ways when the server asks.
    Password {
        /// Who.
        user: String,
        /// The secret.
        password: String,
        /// How it may be said.
        way: PasswordWay,
    },
    /// A bearer token.
    Token(String),
    /// Cookies of a browser.
    Cookies(SavedCookies),
    /// A form that is filled in.
    Form(Arc<FormLogin>),
}

/// How a password may be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordWay {
    /// As the server asks, the strongest first.
    Any,
    /// Basic only.
    Basic,
    /// Digest only: the password itself is never sent.
    Digest,
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
        let credential = Credential::Password {
            user: user.to_owned(),
            password: password.to_owned(),
            way: PasswordWay::Any,
        };
        self.by_origin.insert(origin(url), credential);
        self
    }

    /// Adds a bearer token for the origin of this URL.
    #[must_use]
    pub fn token(mut self, url: &Url, token: &str) -> Self {
        self.by_origin
            .insert(origin(url), Credential::Token(token.to_owned()));
        self
    }

    /// Adds a login for the URLs of which `place` says so; of several that do, the last added counts.
    /// It must look at scheme, host and port: redirects may lead anywhere.
    #[must_use]
    pub fn at(
        mut self,
        place: impl Fn(&Url) -> bool + Send + Sync + 'static,
        credential: Credential,
    ) -> Self {
        self.by_place.push((Box::new(place), credential));
        self
    }

    /// Keeps the cookies that these hosts set out of what is kept: a login may be for a path, and its session is the host's.
    #[must_use]
    pub fn hiding_cookies_of(
        mut self,
        hosts: impl Fn(&Url) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.hosts.push(Box::new(hosts));
        self
    }

    /// The login for a URL, and its number; that of the origin is the last.
    fn of(&self, url: &Url, origin: &str) -> Option<(usize, &Credential)> {
        let mut places = self.by_place.iter().enumerate().rev();
        let found = places.find(|(_, (place, _))| place(url));
        match found {
            Some((number, (_, credential))) => Some((number, credential)),
            None => Some((self.by_place.len(), self.by_origin.get(origin)?)),
        }
    }

    fn field(&self, url: &Url, fields: &[String]) -> Option<LoginField> {
        let authorization = |value: String| {
            Some(LoginField {
                name: LoginFieldName::Authorization,
                value,
            })
        };
        let origin = origin(url);
        let (number, credential) = self.of(url, &origin)?;
        let (user, password, way) = match credential {
            Credential::Form(_) => return None,
            Credential::Token(token) => return authorization(format!("Bearer {token}")),
            Credential::Cookies(cookies) => {
                return Some(LoginField {
                    name: LoginFieldName::Cookie,
                    value: cookies.header(url)?,
                });
            }
            Credential::Password {
                user,
                password,
                way,
            } => (user, password, *way),
        };
        let key = (origin, number);
        let mut asked = self.asked.lock().expect("no holder panics");
        if !fields.is_empty() {
            if asked.len() >= MOST_ASKED && !asked.contains_key(&key) {
                asked.clear();
            }
            match strongest(&challenges(fields), way) {
                Some(asks) => asked.insert(key.clone(), asks),
                None => asked.remove(&key),
            };
        }
        authorization(match asked.get_mut(&key)? {
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
        self.field(url, challenges).into_iter().collect()
    }

    fn form(&self, url: &Url) -> Option<&FormLogin> {
        match self.of(url, &origin(url))?.1 {
            Credential::Form(form) => Some(form),
            _ => None,
        }
    }

    fn hides_cookies(&self, url: &Url) -> bool {
        self.hosts.iter().any(|is_host| is_host(url)) || self.of(url, &origin(url)).is_some()
    }
}

/// The best way to log in among those that a server offers and we may take.
fn strongest(challenges: &[Challenge], way: PasswordWay) -> Option<Asked> {
    let digests: Vec<Session> = challenges
        .iter()
        .filter(|challenge| challenge.scheme == "digest" && way != PasswordWay::Basic)
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
            .any(|challenge| challenge.scheme == "basic" && way != PasswordWay::Digest)
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
            .field("origins", &self.by_origin.keys())
            .field("places", &self.by_place.len())
            .finish()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password { .. } => "Password(***)",
            Self::Token(_) => "Token(***)",
            Self::Cookies(_) => "Cookies(***)",
            Self::Form(_) => "Form(***)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn password(user: &str, way: PasswordWay) -> Credential {
        Credential::Password {
            user: user.to_owned(),
            password: "secret".to_owned(),
            way,
        }
    }

    const BOTH: &str = "Basic realm=\"x\", Digest realm=\"x\", nonce=\"1\", qop=auth";

    #[test]
    fn a_password_is_said_only_in_the_way_that_was_chosen() {
        for (way, offered, said) in [
            (PasswordWay::Any, BOTH, "Digest"),
            (PasswordWay::Basic, BOTH, "Basic"),
            (PasswordWay::Digest, BOTH, "Digest"),
            (PasswordWay::Digest, "Basic realm=\"x\"", ""),
            (PasswordWay::Basic, "Digest realm=\"x\", nonce=\"1\"", ""),
        ] {
            let logins = Logins::default().at(|_| true, password("ann", way));
            let fields = logins.fields(&url("http://a.example/"), &[offered.to_owned()]);
            let value = fields.first().map_or("", |field| field.value.as_str());
            assert_eq!(value.split(' ').next(), Some(said), "{way:?} {offered}");
        }
    }

    #[test]
    fn the_last_place_that_fits_counts_and_each_is_asked_apart() {
        let below = |url: &Url| url.path().starts_with("/x/");
        let logins = Logins::default()
            .password(&url("http://a.example/"), "ann", "secret")
            .at(below, Credential::Token("eve".to_owned()))
            .at(below, password("bob", PasswordWay::Basic));
        let asks = ["Basic realm=\"x\"".to_owned()];
        let said = |path: &str, asks: &[String]| -> String {
            let fields = logins.fields(&url("http://a.example/").join(path).unwrap(), asks);
            fields
                .first()
                .map_or_else(String::new, |it| it.value.clone())
        };
        assert_eq!(said("/x/1", &asks), "Basic Ym9iOnNlY3JldA==");
        assert_eq!(said("/x/2", &[]), "Basic Ym9iOnNlY3JldA==");
        assert_eq!(said("/", &[]), "", "it was not asked yet");
        assert_eq!(said("/", &asks), "Basic YW5uOnNlY3JldA==");
        assert!(!format!("{logins:?}").contains("secret"));
    }
}
