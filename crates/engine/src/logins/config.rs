//! What a `[[login]]` of a collection file may say.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use teia_base::Timestamp;
use teia_fetch::{Credential, FormLogin, FormSettings, Logins, PasswordWay, SavedCookies, Sign};
use url::Url;

use crate::collection::CollectionConfig;
use crate::logins::place::Place;
use crate::sense::Senseless;

/// Logins of one collection, at most.
const MOST_LOGINS: usize = 1000;
/// Bytes of a password or a token, and of a file with cookies, at most.
const SECRET_BYTES: usize = 4096;
const COOKIE_FILE_BYTES: usize = 4 << 20;

/// Where to log in, how, as whom, and where the secret lies; never the secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoginConfig {
    /// For which hosts: `www.example.org`, `*.example.pt` for it and all below it; `https://` before it keeps the secret
    /// off http, and a path after it (`/private/`) keeps it to that path. Without a port (`:8443`) it is the usual one.
    #[serde(rename = "match", deserialize_with = "one_or_several")]
    pub hosts: Vec<String>,
    /// How: `basic` and `digest` with a user and a password when the server asks, `bearer` with a token, `cookie` with
    /// cookies that a browser has saved, `form` with a user and a password in the form of a page.
    pub kind: LoginKind,
    /// As whom, for `basic`, `digest` and `form`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The variable of the environment that has the password or the token. The secret itself does not belong here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_variable: Option<String>,
    /// Or the file that has it, with its whole path; for `cookie` a `cookies.txt` as browsers' extensions, curl and wget write
    /// it. It is read at each start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    /// For `form`: the page with the form. It is read before each login, with its hidden fields, and asked without looking
    /// at its robots.txt: it is named here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form_url: Option<String>,
    /// For `form`: the name of the field for the user; without it, the one before the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_field: Option<String>,
    /// For `form`: the name of the field for the password; without it, the first of that type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_field: Option<String>,
    /// For `form`: fields beside those that the form has, or instead of them: `remember=1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub form_fields: Vec<String>,
    /// For `form`: `post`, or `get` to allow a form that writes the password into a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form_method: Option<FormMethod>,
    /// For `form`: the login was good if this cookie is set. Without any such sign it was if the page that follows asks for
    /// no password; with several all of them must be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_cookie: Option<String>,
    /// For `form`: the login was good if it leads to a URL with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_redirect: Option<String>,
    /// For `form`: the login was good if the page that follows has this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_text: Option<String>,
    /// For `form`: we are logged out where a page leads to a URL with this text, beside a redirect to the form itself and
    /// a 401. Then Teia logs in again, and asks for the page once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged_out_redirect: Option<String>,
    /// For `form`: we are logged out where a page has this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged_out_text: Option<String>,
}

/// How a form is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormMethod {
    /// In the body of a request.
    Post,
    /// In the URL.
    Get,
}

/// How a login goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum LoginKind {
    /// User and password, which the server gets to read.
    Basic,
    /// User and password, which the server does not get to read.
    Digest,
    /// A token.
    Bearer,
    /// Cookies of a browser that has logged in.
    Cookie,
    /// User and password in the form of a page.
    Form,
}

impl TryFrom<String> for LoginKind {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "basic" => Ok(Self::Basic),
            "digest" => Ok(Self::Digest),
            "bearer" => Ok(Self::Bearer),
            "cookie" => Ok(Self::Cookie),
            "form" => Ok(Self::Form),
            _ => Err(format!(
                "there is no login `{text}`; write `basic`, `digest`, `bearer`, `cookie` or `form`"
            )),
        }
    }
}

impl LoginKind {
    fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Digest => "digest",
            Self::Bearer => "bearer",
            Self::Cookie => "cookie",
            Self::Form => "form",
        }
    }

    fn secret(self) -> &'static str {
        match self {
            Self::Basic | Self::Digest | Self::Form => "password",
            Self::Bearer => "token",
            Self::Cookie => "cookies",
        }
    }
}

impl LoginConfig {
    /// What is wrong with it: the setting, and what to write. Secrets are not looked for.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.hosts.is_empty() {
            let message = "it names no hosts; write `match = \"https://www.example.org/private/\"`";
            return Err(("match", message.to_owned()));
        }
        self.places().map_err(|message| ("match", message))?;
        let kind = self.kind.name();
        let is_password = self.kind.secret() == "password";
        match self.user.as_deref() {
            None | Some("") if is_password => {
                let message = format!("`{kind}` logs somebody in; write `user = \"…\"`");
                return Err(("user", message));
            }
            Some(user) if is_password => {
                // RFC 7617 has no way to say a user with a colon.
                let is_colon = self.kind == LoginKind::Basic && user.contains(':');
                if is_colon || user.chars().any(char::is_control) {
                    let message = "a user has no colon and no control characters";
                    return Err(("user", message.to_owned()));
                }
            }
            Some(_) => {
                let message = format!("`{kind}` is for nobody by name; leave `user` out");
                return Err(("user", message));
            }
            None => {}
        }
        self.check_form()?;
        match (&self.secret_variable, &self.secret_file) {
            (None, None) => {
                let key = match self.kind {
                    LoginKind::Cookie => "secret-file",
                    _ => "secret-variable",
                };
                let message = format!(
                    "nothing says where the {} lie{}; write {}`secret-file = \"/path\"`",
                    self.kind.secret(),
                    if self.kind == LoginKind::Cookie {
                        ""
                    } else {
                        "s"
                    },
                    match self.kind {
                        LoginKind::Cookie => "",
                        _ => "`secret-variable = \"NAME\"` or ",
                    }
                );
                Err((key, message))
            }
            (Some(_), Some(_)) => {
                let message = "there is a `secret-variable` too; write one of them";
                Err(("secret-file", message.to_owned()))
            }
            (Some(_), None) if self.kind == LoginKind::Cookie => {
                let message =
                    "cookies are read from a file; write `secret-file = \"/path/cookies.txt\"`";
                Err(("secret-variable", message.to_owned()))
            }
            (Some(name), None) if !is_variable(name) => {
                let message = "write the name of a variable of the environment, for example \"TEIA_LOGIN_SECRET\"; the secret itself does not belong in a file that people share";
                Err(("secret-variable", message.to_owned()))
            }
            (None, Some(path)) if !path.is_absolute() => {
                let message = "write the whole path, from `/` on";
                Err(("secret-file", message.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// What is for `form` alone, and what it needs.
    fn check_form(&self) -> Result<(), (&'static str, String)> {
        if self.kind == LoginKind::Form {
            self.form_address()
                .map_err(|message| ("form-url", message))?;
            return match self.form_pairs() {
                Some(_) => Ok(()),
                None => Err(("form-fields", "write `name=value`".to_owned())),
            };
        }
        let given = [
            ("form-url", self.form_url.is_some()),
            ("user-field", self.user_field.is_some()),
            ("password-field", self.password_field.is_some()),
            ("form-fields", !self.form_fields.is_empty()),
            ("form-method", self.form_method.is_some()),
            ("success-cookie", self.success_cookie.is_some()),
            ("success-redirect", self.success_redirect.is_some()),
            ("success-text", self.success_text.is_some()),
            ("logged-out-redirect", self.logged_out_redirect.is_some()),
            ("logged-out-text", self.logged_out_text.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err((
                key,
                format!(
                    "it is for `kind = \"form\"`, and this is `{}`",
                    self.kind.name()
                ),
            )),
            None => Ok(()),
        }
    }

    fn form_address(&self) -> Result<Url, String> {
        const EXAMPLE: &str = "write `form-url = \"https://www.example.org/login\"`";
        let Some(text) = &self.form_url else {
            return Err(format!("nothing says where the form is; {EXAMPLE}"));
        };
        let url = Url::parse(text).map_err(|_| format!("that is no URL; {EXAMPLE}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("a form is on a page of http or https; {EXAMPLE}"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!(
                "a user and a password do not belong there; {EXAMPLE}"
            ));
        }
        Ok(url)
    }

    fn form_pairs(&self) -> Option<Vec<(String, String)>> {
        let pair = |text: &String| {
            let (name, value) = text.split_once('=')?;
            (!name.trim().is_empty()).then(|| (name.trim().to_owned(), value.to_owned()))
        };
        self.form_fields.iter().map(pair).collect()
    }

    fn form(&self, password: &str, gap: Duration) -> Result<Credential, (&'static str, String)> {
        let settings = FormSettings {
            url: self
                .form_address()
                .map_err(|message| ("form-url", message))?,
            user: self.user.clone().unwrap_or_default(),
            password: password.to_owned(),
            user_field: self.user_field.clone(),
            password_field: self.password_field.clone(),
            fields: self.form_pairs().unwrap_or_default(),
            may_get: self.form_method == Some(FormMethod::Get),
            success: Sign {
                cookie: self.success_cookie.clone(),
                redirect: self.success_redirect.clone(),
                text: self.success_text.clone(),
            },
            logged_out: Sign {
                cookie: None,
                redirect: self.logged_out_redirect.clone(),
                text: self.logged_out_text.clone(),
            },
            gap,
        };
        Ok(Credential::Form(Arc::new(FormLogin::new(settings))))
    }

    fn places(&self) -> Result<Vec<Place>, String> {
        self.hosts.iter().map(|text| Place::parse(text)).collect()
    }

    /// The login with its secret, from where it lies. Errors name the setting and never what was found there.
    fn credential(
        &self,
        now: Timestamp,
        gap: Duration,
    ) -> Result<Credential, (&'static str, String)> {
        let (key, found) = if let Some(name) = &self.secret_variable {
            let key = "secret-variable";
            let value = std::env::var(name).map_err(|_| {
                let message = format!(
                    "the variable {name} is not set; set it for the process that runs the collection"
                );
                (key, message)
            })?;
            (key, value)
        } else {
            let path = self.secret_file.clone().unwrap_or_default();
            let bytes = std::fs::read(&path).map_err(|error| {
                let message = format!("{} cannot be read: {error}", path.display());
                ("secret-file", message)
            })?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            ("secret-file", text)
        };
        if self.kind == LoginKind::Cookie {
            if found.len() > COOKIE_FILE_BYTES {
                return Err((key, "the file is too large for cookies".to_owned()));
            }
            let cookies = SavedCookies::parse(&found, now)
                .map_err(|message| (key, format!("the cookies there cannot be read, {message}")))?;
            if cookies.is_empty() {
                let message =
                    "there is no cookie that still holds; log in again and save them anew";
                return Err((key, message.to_owned()));
            }
            return Ok(Credential::Cookies(cookies));
        }
        let secret = found.trim_end_matches(['\r', '\n']);
        if secret.is_empty() || secret.len() > SECRET_BYTES || secret.contains(char::is_control) {
            let message = format!(
                "the secret there is empty, longer than {SECRET_BYTES} bytes, or more than one line of text"
            );
            return Err((key, message));
        }
        let password = |way| Credential::Password {
            user: self.user.clone().unwrap_or_default(),
            password: secret.to_owned(),
            way,
        };
        if self.kind == LoginKind::Form {
            return self.form(secret, gap);
        }
        Ok(match self.kind {
            LoginKind::Basic => password(PasswordWay::Basic),
            LoginKind::Digest => password(PasswordWay::Digest),
            _ => Credential::Token(secret.to_owned()),
        })
    }

    /// Which hosts get which login, in a sentence.
    fn in_words(&self) -> String {
        let who = match &self.user {
            Some(user) => format!("as {user}, with a {}", self.kind.secret()),
            None if self.kind == LoginKind::Cookie => "with cookies of a browser".to_owned(),
            None => format!("with a {}", self.kind.secret()),
        };
        let place = match (&self.secret_variable, &self.secret_file) {
            (Some(name), _) => format!("from the variable {name}"),
            (None, Some(path)) => format!("from {}", path.display()),
            (None, None) => "from nowhere".to_owned(),
        };
        let form = match &self.form_url {
            Some(url) => format!(", by the form at {url}"),
            None => String::new(),
        };
        let places = self.places().unwrap_or_default();
        let is_plain_form = self.form_url.iter().any(|url| url.starts_with("http:"));
        let is_open = self.kind != LoginKind::Digest
            && (places.iter().any(Place::is_open_to_eyes) || is_plain_form);
        let open = if is_open {
            "; over http too, where others can read it on the way (`https://` before the host forbids that)"
        } else {
            ""
        };
        format!(
            "At {} it logs in ({}) {who} {place}{form}{open}.",
            self.hosts.join(", "),
            self.kind.name()
        )
    }
}

impl CollectionConfig {
    /// Refuses logins that make no sense, each with the setting that does not.
    pub(crate) fn check_logins(&self) -> Result<(), Senseless> {
        if self.login.len() > MOST_LOGINS {
            let message = format!("{} are too many; at most {MOST_LOGINS}", self.login.len());
            return Err(Senseless::new("", "login", message));
        }
        for (number, login) in self.login.iter().enumerate() {
            let wrong = |(key, message)| Senseless::new("", key, message).of("login", number);
            login.check().map_err(wrong)?;
        }
        Ok(())
    }

    /// The logins with their secrets; none where the collection has none.
    pub fn logins(&self, now: Timestamp) -> Result<Option<Logins>, Senseless> {
        let mut logins = Logins::default();
        for (number, login) in self.login.iter().enumerate() {
            let wrong = |(key, message)| Senseless::new("", key, message).of("login", number);
            let credential = login
                .credential(now, self.politeness.delay)
                .map_err(wrong)?;
            let places = login
                .places()
                .map_err(|message| wrong(("match", message)))?;
            let hosts = places.clone();
            let is_there = move |url: &Url| places.iter().any(|place| place.holds(url));
            let is_host = move |url: &Url| hosts.iter().any(|place| place.is_on_host_of(url));
            logins = logins.at(is_there, credential).hiding_cookies_of(is_host);
            if let Some(form) = login.form_url.as_deref().and_then(|it| Url::parse(it).ok()) {
                logins = logins.hiding_cookies_of(move |url| url.host() == form.host());
            }
        }
        Ok((!self.login.is_empty()).then_some(logins))
    }
}

/// Which hosts get which login.
pub(crate) fn in_words(config: &CollectionConfig) -> Vec<String> {
    let mut words: Vec<String> = config.login.iter().map(LoginConfig::in_words).collect();
    if words.len() > 1 {
        words.push("Where several of these logins are for a URL, the last one counts.".to_owned());
    }
    words
}

/// Whether a text can be the name of a variable of the environment.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::One(one) => vec![one],
        Written::Several(several) => several,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &str) -> String {
        format!("seeds = []\n[[login]]\n{lines}\n")
    }

    #[track_caller]
    fn refused(lines: &str, words: &[&str]) {
        let message = CollectionConfig::parse(&text(lines)).unwrap_err();
        for word in words {
            assert!(message.contains(word), "no {word:?} in {message}");
        }
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line() {
        let basic = "match = \"a.example\"\nkind = \"basic\"\n";
        refused("kind = \"basic\"", &["line", "match"]);
        refused("match = \"a.example\"", &["line", "kind"]);
        refused(
            "match = \"*\"\nkind = \"bearer\"",
            &["line 3", "every host"],
        );
        let form =
            "match = \"a.example\"\nkind = \"form\"\nuser = \"ann\"\nsecret-variable = \"A\"\n";
        refused(form, &["login 1", "`form-url`", "https://"]);
        refused(
            &format!("{form}form-url = \"https://ann:hunter2@a.example/\""),
            &["line 7", "do not belong"],
        );
        refused(
            &format!("{form}form-url = \"https://a.example/\"\nform-fields = [\"x\"]"),
            &["line 8", "name=value"],
        );
        refused(
            &format!("{form}form-url = \"https://a.example/\"\nform-method = \"put\""),
            &["line 8"],
        );
        refused(
            &format!(
                "{basic}user = \"ann\"\nsecret-variable = \"A\"\nform-url = \"https://a.example/\""
            ),
            &["line 7", "kind = \"form\""],
        );
        refused(
            "match = \"a.example\"\nkind = \"basci\"",
            &["line 4", "`basci`", "`basic`"],
        );
        refused(basic, &["login 1", "`user`"]);
        refused(&format!("{basic}user = \"a:b\""), &["line 5", "colon"]);
        refused(
            &format!("{basic}user = \"ann\""),
            &["line 2", "secret-variable", "NAME"],
        );
        refused(
            &format!("{basic}user = \"ann\"\nsecret-variable = \"hunter2!\""),
            &["line 6", "TEIA_"],
        );
        refused(
            &format!("{basic}user = \"ann\"\nsecret-file = \"hunter2\""),
            &["line 6", "whole path"],
        );
        refused(
            &format!("{basic}user = \"ann\"\nsecret-file = \"/a\"\nsecret-variable = \"A\""),
            &["line 6", "one of them"],
        );
        refused(
            "match = \"a.example\"\nkind = \"cookie\"\nsecret-variable = \"A\"",
            &["line 5", "cookies.txt"],
        );
        refused(
            "match = \"a.example\"\nkind = \"bearer\"\nuser = \"ann\"",
            &["line 5", "leave `user` out"],
        );
        refused(
            "match = \"a.example\"\nkind = \"bearer\"\npassword = \"hunter2\"",
            &["line 5", "`password`"],
        );
        refused("[site.x]\n", &["line"]);
    }

    #[test]
    fn a_secret_that_is_not_there_is_named_by_its_place() {
        let lines =
            "match = \"a.example\"\nkind = \"bearer\"\nsecret-variable = \"TEIA_TEST_NO_SUCH\"";
        let text = text(lines);
        let config = CollectionConfig::parse(&text).unwrap();
        let wrong = config.logins(Timestamp::default()).unwrap_err();
        assert_eq!(wrong.line_in(&text), Some(5));
        assert!(
            wrong.to_string().contains("login 1, `secret-variable`"),
            "{wrong}"
        );
        assert!(
            CollectionConfig::default()
                .logins(Timestamp::default())
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_login_is_told_without_its_secret() {
        let lines = "match = [\"https://a.example/x/\", \"*.b.example\"]\nkind = \"basic\"\nuser = \"ann\"\nsecret-variable = \"PASS\"";
        let config = CollectionConfig::parse(&text(lines)).unwrap();
        let words = in_words(&config);
        assert_eq!(
            words,
            [
                "At https://a.example/x/, *.b.example it logs in (basic) as ann, with a password from the variable PASS; over http too, where others can read it on the way (`https://` before the host forbids that)."
            ]
        );
        let again = CollectionConfig::parse(&config.to_toml()).unwrap();
        assert_eq!(again.login, config.login);
    }
}
