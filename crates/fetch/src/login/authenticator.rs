//! Logins: what to add to a request so that its server lets us in.

use std::collections::HashMap;
use std::fmt;

use data_encoding::BASE64;
use url::Url;

use super::form_login::FormLogin;

/// Yields the header fields of a login.
///
/// Called by the fetcher before each request, with no challenges, and once more after a 401, with
/// the challenges of its `WWW-Authenticate` fields. If the second answer differs from the first
/// the request is worth sending again, with it; that is all that a scheme with a challenge (Digest)
/// needs. A login that a realm has refused is not sent to it again.
/// The answer must depend on the whole origin: the fetcher sends it wherever it is given, and
/// redirects may lead anywhere. [`NoLogin`] adds nothing; [`Logins`](crate::Logins) is the usual
/// one; [`BasicLogin`] and [`BearerLogin`] do not wait to be asked.
pub trait Authenticator: Send + Sync + fmt::Debug + 'static {
    /// Fields to add to a `GET` of this URL.
    fn fields(&self, url: &Url, challenges: &[String]) -> Vec<LoginField>;

    /// The form behind which this URL lies, if it does; then `fields` is not asked.
    fn form(&self, url: &Url) -> Option<&FormLogin> {
        let _ = url;
        None
    }

    /// Whether cookies that this URL's host sets may belong to a login: they are kept out of what is kept.
    fn hides_cookies(&self, url: &Url) -> bool {
        let _ = url;
        false
    }
}

/// A header field of a login. Prints without its value.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginField {
    /// `Authorization` or `Cookie`: the two whose values are kept out of the archive.
    pub name: LoginFieldName,
    /// Its value; one with a line break is not sent.
    pub value: String,
}

/// The fields that a login may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginFieldName {
    /// `Authorization`.
    Authorization,
    /// `Cookie`.
    Cookie,
}

impl LoginFieldName {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Authorization => "Authorization",
            Self::Cookie => "Cookie",
        }
    }
}

impl fmt::Debug for LoginField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ***", self.name.as_str())
    }
}

/// Nobody logs in.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLogin;

impl Authenticator for NoLogin {
    fn fields(&self, _: &Url, _: &[String]) -> Vec<LoginField> {
        Vec::new()
    }
}

/// User and password by origin, sent at once and never to another origin.
#[derive(Clone, Default)]
pub struct BasicLogin {
    values: HashMap<String, String>,
}

impl BasicLogin {
    /// Adds a login for the origin (scheme, host and port) of this URL.
    #[must_use]
    pub fn with(mut self, url: &Url, user: &str, password: &str) -> Self {
        let value = format!(
            "Basic {}",
            BASE64.encode(format!("{user}:{password}").as_bytes())
        );
        self.values.insert(origin(url), value);
        self
    }
}

impl Authenticator for BasicLogin {
    fn fields(&self, url: &Url, _: &[String]) -> Vec<LoginField> {
        authorization(&self.values, url)
    }

    fn hides_cookies(&self, url: &Url) -> bool {
        self.values.contains_key(&origin(url))
    }
}

/// A bearer token by origin, sent at once and never to another origin.
#[derive(Clone, Default)]
pub struct BearerLogin {
    values: HashMap<String, String>,
}

impl BearerLogin {
    /// Adds a token for the origin (scheme, host and port) of this URL.
    #[must_use]
    pub fn with(mut self, url: &Url, token: &str) -> Self {
        self.values.insert(origin(url), format!("Bearer {token}"));
        self
    }
}

impl Authenticator for BearerLogin {
    fn fields(&self, url: &Url, _: &[String]) -> Vec<LoginField> {
        authorization(&self.values, url)
    }

    fn hides_cookies(&self, url: &Url) -> bool {
        self.values.contains_key(&origin(url))
    }
}

fn authorization(values: &HashMap<String, String>, url: &Url) -> Vec<LoginField> {
    let value = values.get(&origin(url)).cloned();
    value
        .map(|value| LoginField {
            name: LoginFieldName::Authorization,
            value,
        })
        .into_iter()
        .collect()
}

pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

impl fmt::Debug for BasicLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicLogin")
            .field("origins", &self.values.keys())
            .finish()
    }
}

impl fmt::Debug for BearerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerLogin")
            .field("origins", &self.values.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_goes_to_its_own_origin_only() {
        let url = |text: &str| Url::parse(text).unwrap();
        let login = BasicLogin::default().with(&url("https://a.example/private/"), "ann", "secret");
        let sent = login.fields(&url("https://a.example/x"), &[]);
        assert_eq!(sent[0].value, "Basic YW5uOnNlY3JldA==");
        for other in [
            "http://a.example/",
            "https://a.example:444/",
            "https://b.example/",
            "https://x.a.example/",
        ] {
            assert!(login.fields(&url(other), &[]).is_empty(), "{other}");
        }
        assert!(!format!("{login:?} {sent:?}").contains("YW5u"));
    }
}
