//! A login by a form: what was set, the session that came of it, and how often it may be begun anew.

use std::fmt;
use std::time::Duration;

use teia_base::Response;
use tokio::sync::{Mutex, MutexGuard};
use url::Url;

use super::form_page::Form;
use crate::cookies::Cookies;
use crate::decode::{DecodeLimits, decode};

/// Logins of one run at one form: one that logs us out again and again gets no more.
const MOST_LOGINS: u32 = 100;
/// Logins in a row that could not be made, because nobody answered.
const MOST_UNANSWERED: u32 = 3;
/// Pages in a row that a fresh session does not open.
const MOST_BARREN: u32 = 20;
/// Bytes of a page that are looked through for a sign.
const SIGN_BYTES: u64 = 1 << 20;

/// How to log in by a form. Prints without its secret.
#[derive(Clone)]
pub struct FormSettings {
    /// The page with the form.
    pub url: Url,
    /// Who.
    pub user: String,
    /// The secret.
    pub password: String,
    /// The field for the user; without it, the one before the password.
    pub user_field: Option<String>,
    /// The field for the password; without it, the first of that type.
    pub password_field: Option<String>,
    /// Fields beside those that the form has by itself, or instead of them.
    pub fields: Vec<(String, String)>,
    /// Whether the secret may go into a URL, for a form that asks for it so.
    pub may_get: bool,
    /// By what we know that we are in; all that are given must be there.
    pub success: Sign,
    /// By what we know that we are out, beside a redirect to the form and a 401.
    pub logged_out: Sign,
    /// The rest between two requests of a login.
    pub gap: Duration,
}

/// Something in an answer that tells where we are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sign {
    /// A cookie of this name.
    pub cookie: Option<String>,
    /// A redirect to a URL with this text.
    pub redirect: Option<String>,
    /// A page with this text.
    pub text: Option<String>,
}

/// The session at one form, shared by all requests that need it.
pub struct FormLogin {
    pub(crate) settings: FormSettings,
    /// Of this session alone, in memory alone.
    pub(crate) jar: Cookies,
    /// Held while somebody logs in: the others wait for the same session instead of beginning their own.
    session: Mutex<Session>,
}

#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) is_in: bool,
    /// Which session it is: the number of logins so far.
    pub(crate) logins: u32,
    pub(crate) unanswered: u32,
    /// Whether this session has opened a page.
    has_opened: bool,
    barren: u32,
    /// Why no more are begun, told to whoever asks.
    pub(crate) refused: Option<String>,
}

/// What to make of an answer that looks as if we were out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Out {
    /// Log in again, and ask again.
    Again,
    /// This page stays shut.
    Shut,
    /// So do all others, from now on.
    GivenUp,
}

impl FormLogin {
    /// A login that has not been made yet.
    pub fn new(settings: FormSettings) -> Self {
        Self {
            settings,
            jar: Cookies::default(),
            session: Mutex::default(),
        }
    }

    pub(crate) async fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().await
    }

    /// The form's page, as messages have it.
    pub(crate) fn place(&self) -> String {
        let mut url = self.settings.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        format!("the form at {url}")
    }

    /// Whether an answer says that we are not logged in.
    pub(crate) fn is_logged_out(&self, url: &Url, response: &Response) -> bool {
        let sign = &self.settings.logged_out;
        let to_form = |target: &Url| {
            let form = &self.settings.url;
            let is_form = target.origin() == form.origin() && target.path() == form.path();
            let is_named = |text: &String| target.as_str().contains(text.as_str());
            // A page that leads from the form to the form says nothing.
            (is_form && url.path() != form.path()) || sign.redirect.as_ref().is_some_and(is_named)
        };
        let loses_cookie = |name: &String| {
            let set = response.head.texts("set-cookie");
            set.iter().any(|cookie| {
                let mut parts = cookie.splitn(2, '=');
                parts.next().map(str::trim) == Some(name)
                    && parts.next().is_some_and(|rest| {
                        rest.starts_with(';') || rest.contains("Max-Age=0") || rest.is_empty()
                    })
            })
        };
        response.status == 401
            || redirect(url, response).is_some_and(|target| to_form(&target))
            || sign.cookie.as_ref().is_some_and(loses_cookie)
            || sign
                .text
                .as_ref()
                .is_some_and(|text| page(response).contains(text.as_str()))
    }

    /// What to do after such an answer to a request of this session.
    pub(crate) async fn ended(&self, of_session: u32) -> Out {
        let mut session = self.session().await;
        if session.refused.is_some() {
            return Out::Shut;
        }
        if session.logins != of_session {
            // Somebody has logged in anew since it was sent.
            return Out::Again;
        }
        if session.has_opened && session.logins < MOST_LOGINS {
            session.is_in = false;
            return Out::Again;
        }
        session.barren += 1;
        if session.barren < MOST_BARREN {
            return Out::Shut;
        }
        let text = format!(
            "{}: {MOST_BARREN} pages in a row say that nobody is logged in, right after a login",
            self.place()
        );
        session.refused = Some(text);
        Out::GivenUp
    }

    /// Takes note of a page that the session has opened.
    pub(crate) async fn opened(&self, of_session: u32) {
        let mut session = self.session().await;
        if session.logins == of_session {
            session.has_opened = true;
            session.barren = 0;
        }
    }

    /// Whether we are in, by the redirects and the last page after the form was sent; if not, what was missing.
    pub(crate) fn judge(&self, hops: &[Url], last: &Response, asked: &Url) -> Result<(), String> {
        let sign = &self.settings.success;
        let missing = |what: String| Err(format!("{}: {what}", self.place()));
        if let Some(name) = &sign.cookie {
            let has = |url: &Url| {
                let header = self.jar.header(url).unwrap_or_default();
                let mut names = header.split("; ").filter_map(|it| it.split('=').next());
                names.any(|known| known == name)
            };
            if !has(asked) && !has(&self.settings.url) {
                return missing(format!("no cookie {name} was set"));
            }
        }
        if let Some(text) = &sign.redirect
            && !hops.iter().any(|hop| hop.as_str().contains(text.as_str()))
        {
            return missing(format!("no redirect led to {text}"));
        }
        if let Some(text) = &sign.text
            && !page(last).contains(text.as_str())
        {
            return missing(format!("the page after it does not say {text:?}"));
        }
        if *sign == Sign::default() {
            if last.status >= 400 {
                return missing(format!("it was answered with {}", last.status));
            }
            let field = self.settings.password_field.as_deref();
            if Form::of_login(&page(last), field).is_some() {
                return missing("the page after it asks for the password again".to_owned());
            }
        }
        Ok(())
    }
}

impl Session {
    /// A new session has begun.
    pub(crate) fn begin(&mut self) {
        *self = Self {
            is_in: true,
            logins: self.logins + 1,
            barren: self.barren,
            ..Self::default()
        };
    }

    /// Nobody answered; said whether that is enough.
    pub(crate) fn is_given_up(&mut self) -> bool {
        self.unanswered += 1;
        self.unanswered >= MOST_UNANSWERED
    }
}

/// Where an answer leads.
pub(crate) fn redirect(url: &Url, response: &Response) -> Option<Url> {
    matches!(response.status, 301 | 302 | 303 | 307 | 308)
        .then(|| response.head.text("location"))
        .flatten()
        .and_then(|location| url.join(&location).ok())
}

/// The first part of a page, as text.
pub(crate) fn page(response: &Response) -> String {
    let limits = DecodeLimits {
        decoded_bytes: SIGN_BYTES,
        document_bytes: SIGN_BYTES,
        ..DecodeLimits::default()
    };
    String::from_utf8_lossy(&decode(response, &limits).bytes).into_owned()
}

impl fmt::Debug for FormSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormSettings")
            .field("url", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for FormLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FormLogin").field(&self.settings).finish()
    }
}
