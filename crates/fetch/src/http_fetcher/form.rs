//! Pages behind a form: logs in before the first of them, and again when a server has forgotten us.
//!
//! ```text
//! page ──> in? ──no──> form's page ─gap─> form ─gap─> redirects ─gap─> signs of success? ──> the page
//!  ^                                                                          └── no: login_failed, said once
//!  └─ asked, after the host's gap <── logged out? <───────────────────────────────────────────┘
//! ```
//!
//! The requests of a login are no pages: they are in no journal and no archive, and neither is what they say.

use teia_base::{Exchange, LoginStep, Outcome, Request, Response, Times};
use tokio::time::Instant;
use url::Url;
use url::form_urlencoded::Serializer;

use super::{HttpFetcher, settle};
use crate::connection::Connection;
use crate::dial::Target;
use crate::fault::Fault;
use crate::h1::Setting;
use crate::login::form_login::{FormLogin, Out, page, redirect};
use crate::login::form_page::Form;
use crate::patience::Patience;
use crate::request_head::RequestFields;
use crate::tls::Offer;

/// Redirects that are followed after a form.
const HOPS: usize = 5;
/// Bytes of a login page.
const PAGE_BYTES: u64 = 2 << 20;

/// Why nobody is in.
enum Refusal {
    /// The login was not accepted, just now or before.
    Login { why: String, is_news: bool },
    /// Nobody answered; it may be tried again.
    Unanswered(Fault),
}

impl HttpFetcher {
    /// One attempt at a page behind a form.
    pub(super) async fn attempt_behind_form(
        &self,
        form: &FormLogin,
        request: &Request,
        target: &Target,
        draft: &mut Exchange,
    ) {
        // What a robots.txt says, it says to everybody.
        let is_robots = request.url.path() == "/robots.txt";
        let session = match is_robots {
            true => Ok((0, LoginStep::None)),
            false => self.enter(form, &request.url).await,
        };
        let session = match session {
            Ok((session, step)) => {
                draft.login = step;
                session
            }
            Err(Refusal::Unanswered(fault)) => return settle(draft, fault),
            Err(Refusal::Login { why, is_news }) => {
                if is_news {
                    draft.login = LoginStep::Refused;
                }
                return settle(draft, Fault::new(Outcome::LOGIN_FAILED, why));
            }
        };
        let limit = request.timeout.unwrap_or(self.config.timeout);
        let mut patience = Patience::new(&self.config, Instant::now() + limit, limit);
        self.speak(request, target, &[], Some(&form.jar), &mut patience, draft)
            .await;
        let Some(response) = draft.response.as_ref().filter(|_| !is_robots) else {
            return;
        };
        if !form.is_logged_out(&request.url, response) {
            if response.status < 400 {
                form.opened(session).await;
            }
            return;
        }
        let out = form.ended(session).await;
        match out {
            Out::Again => {
                draft.login = LoginStep::Asked;
                draft.detail = Some("logged out, and is asked again after a login".into());
            }
            Out::Shut | Out::GivenUp => {
                if out == Out::GivenUp {
                    draft.login = LoginStep::Refused;
                }
                let why = format!("{}: logged in, and shut all the same", form.place());
                settle(draft, Fault::new(Outcome::LOGIN_FAILED, why));
            }
        }
    }

    /// Which session we are in, after a login where there was none.
    async fn enter(&self, form: &FormLogin, asked: &Url) -> Result<(u32, LoginStep), Refusal> {
        let mut session = form.session().await;
        if let Some(why) = session.refused.clone() {
            let is_news = false;
            return Err(Refusal::Login { why, is_news });
        }
        if session.is_in {
            return Ok((session.logins, LoginStep::None));
        }
        form.jar.forget();
        match self.log_in(form, asked).await {
            Ok(()) => {
                session.begin();
                tracing::info!(form = form.place(), "logged in");
                tokio::time::sleep(form.settings.gap).await;
                Ok((session.logins, LoginStep::Entered))
            }
            Err(Refusal::Unanswered(fault)) if !session.is_given_up() => {
                Err(Refusal::Unanswered(fault))
            }
            Err(refusal) => {
                let why = match refusal {
                    Refusal::Login { why, .. } => why,
                    Refusal::Unanswered(fault) => {
                        format!("{}: {}", form.place(), fault.outcome.sentence())
                    }
                };
                session.refused = Some(why.clone());
                let is_news = true;
                Err(Refusal::Login { why, is_news })
            }
        }
    }

    async fn log_in(&self, form: &FormLogin, asked: &Url) -> Result<(), Refusal> {
        let settings = &form.settings;
        let refused = |what: &str| Refusal::Login {
            why: format!("{}: {what}", form.place()),
            is_news: true,
        };
        // The form's page may lie behind a redirect of its own host.
        let mut at = settings.url.clone();
        let mut answer = self.ask(form, &at, None).await?;
        for _ in 0..HOPS {
            match redirect(&at, &answer).filter(|next| next.origin() == settings.url.origin()) {
                Some(next) => at = next,
                None => break,
            }
            tokio::time::sleep(settings.gap).await;
            answer = self.ask(form, &at, None).await?;
        }
        let field = settings.password_field.as_deref();
        let text = page(&answer);
        let found =
            Form::of_login(&text, field).ok_or_else(|| refused("there is no form for a login"))?;
        let to = found
            .target(&at)
            .filter(|to| to.origin() == at.origin() || to.origin() == asked.origin())
            .ok_or_else(|| refused("it is sent to another server, which gets no password"))?;
        if found.is_get && !settings.may_get {
            let what =
                "it would write the password into a URL; `form-method = \"get\"` allows that";
            return Err(refused(what));
        }
        let filled = found
            .filled(
                (settings.user_field.as_deref(), &settings.user),
                (field, &settings.password),
                &settings.fields,
            )
            .ok_or_else(|| refused("it has no such field for the user"))?;
        let body = Serializer::new(String::new()).extend_pairs(filled).finish();
        tokio::time::sleep(settings.gap).await;
        let mut hops = Vec::new();
        let mut last = if found.is_get {
            let mut with = to.clone();
            with.set_query(Some(&body));
            self.ask(form, &with, None).await?
        } else {
            self.ask(form, &to, Some((&body, &at))).await?
        };
        let mut at = to;
        while let Some(next) = redirect(&at, &last).filter(|_| hops.len() < HOPS) {
            hops.push(next.clone());
            let is_near = next.origin() == settings.url.origin() || next.origin() == asked.origin();
            if !is_near {
                break;
            }
            tokio::time::sleep(settings.gap).await;
            last = self.ask(form, &next, None).await?;
            at = next;
        }
        form.judge(&hops, &last, asked)
            .map_err(|why| Refusal::Login { why, is_news: true })
    }

    /// One request of a login, on a connection of its own, and what it set.
    async fn ask(
        &self,
        form: &FormLogin,
        url: &Url,
        sent: Option<(&str, &Url)>,
    ) -> Result<Response, Refusal> {
        self.ask_once(form, url, sent)
            .await
            .map_err(Refusal::Unanswered)
    }

    async fn ask_once(
        &self,
        form: &FormLogin,
        url: &Url,
        sent: Option<(&str, &Url)>,
    ) -> Result<Response, Fault> {
        let target = Target::of(url)?;
        let setting = Setting {
            config: &self.config,
            spool: &self.spool,
            bandwidth: &self.bandwidth,
        };
        let limit = self.config.timeout;
        let mut patience = Patience::new(&self.config, Instant::now() + limit, limit);
        let request = Request {
            max_size: Some(PAGE_BYTES),
            ..Request::get(url.clone())
        };
        let (form_of_target, proxy_login) = self.dialer.form(&target);
        let mut fields = RequestFields::new(&self.config, &request);
        if let Some(value) = form.jar.header(url) {
            fields.add("Cookie", value);
        }
        if let Some(value) = proxy_login {
            fields.add("Proxy-Authorization", value);
        }
        if let Some((_, page)) = sent {
            // Many servers hold a form to the page that it came from.
            fields.add("Origin", page.origin().ascii_serialization());
            fields.add("Referer", page.as_str().to_owned());
        }
        let (head, _) = fields.write(url, form_of_target);
        let head = match sent {
            Some((body, _)) => as_post(&head, body),
            None => head.to_vec(),
        };
        let mut times = Times::default();
        let dialed = self
            .dialer
            .dial(&target, Offer::Http1, patience.total(), &mut times)
            .await?;
        let mut connection = Connection::open(dialed, &setting, &patience).await?;
        let answer = connection
            .exchange(&request, &fields, &head, &setting, &mut patience)
            .await;
        let Some(response) = answer.response else {
            return Err(Fault::from(answer.outcome));
        };
        form.jar.learn(url, &response.head.texts("set-cookie"));
        Ok(response)
    }
}

/// The head of a `GET` as that of a `POST`, with its body.
fn as_post(head: &[u8], body: &str) -> Vec<u8> {
    let rest = &head[b"GET".len()..head.len() - b"\r\n".len()];
    let length = body.len();
    let more = format!(
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    [b"POST", rest, more.as_bytes()].concat()
}
