//! What each origin has said of logins so far: who has asked, who has opened, who has refused.
//!
//! A wrong password costs one try for each realm of an origin, not two requests for each page: after
//! a refusal it is not said there again. Where it was right before, another 401 is taken for an old
//! nonce (not every server says `stale`), or for a page that this user may not see.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use url::Url;

use super::authenticator::{Authenticator, LoginField, origin};
use super::challenge::challenges;

/// Origins that are remembered; beyond that all are forgotten, and asked anew.
const MOST_ORIGINS: usize = 10_000;
/// Realms of one origin. One that names more makes them up, and is answered no more.
const MOST_REALMS: usize = 16;
/// URLs of one origin that are to be sent again with a login.
const MOST_AGAIN: usize = 64;
/// Nonces in a row that may turn out to be stale.
const MOST_STALE: u8 = 3;

/// The doors of all origins.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    origins: Mutex<HashMap<String, Door>>,
}

#[derive(Debug, Default)]
struct Door {
    /// What became of the login, by realm; the empty name is for one that was sent unasked.
    realms: HashMap<String, Answer>,
    /// The realm that asked last: its login is the one that is sent unasked from then on.
    last: String,
    /// URLs that were asked for a login, and the challenges.
    again: Vec<(Url, Vec<String>)>,
    stale: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Opened,
    Refused,
}

/// What to make of a 401.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// There is no login for it.
    NoLogin,
    /// There is one: the request is to be sent again.
    Asked,
    /// It was sent, and this realm has just refused it.
    Refused(String),
    /// It does not open this page, which is no news.
    Shut(String),
}

/// What goes with a request.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The fields.
    pub(crate) fields: Vec<LoginField>,
    /// They answer a challenge to this very URL.
    pub(crate) asked: bool,
}

impl Door {
    fn has_refused(&self, realm: &str) -> bool {
        let too_many = self.realms.len() >= MOST_REALMS && !self.realms.contains_key(realm);
        too_many || self.realms.get(realm) == Some(&Answer::Refused)
    }

    fn is_open(&self, realm: &str) -> bool {
        // What was sent unasked is of whatever realm.
        let name = if self.last.is_empty() { "" } else { realm };
        self.realms.get(name) == Some(&Answer::Opened)
    }

    fn ask_again(&mut self, url: &Url, asked: &[String]) {
        if self.again.len() >= MOST_AGAIN {
            self.again.remove(0);
        }
        self.again.push((url.clone(), asked.to_vec()));
    }
}

impl Doors {
    /// The login to send with a request.
    pub(crate) fn before(&self, authenticator: &dyn Authenticator, url: &Url) -> Said {
        let unasked = || Said {
            fields: authenticator.fields(url, &[]),
            asked: false,
        };
        let mut origins = self.lock();
        let Some(door) = origins.get_mut(&origin(url)) else {
            return unasked();
        };
        let Some(at) = door.again.iter().position(|(again, _)| again == url) else {
            // Which realm the page belongs to is not known before it says so.
            let is_shut = door.realms.values().any(|it| *it == Answer::Refused);
            return if is_shut { Said::default() } else { unasked() };
        };
        let (_, challenges) = door.again.remove(at);
        if door.has_refused(&realm_of(&challenges)) {
            return Said::default();
        }
        let mut fields = authenticator.fields(url, &[]);
        if fields.is_empty() {
            fields = authenticator.fields(url, &challenges);
        }
        Said {
            fields,
            asked: true,
        }
    }

    /// Takes note of an answer other than 401 to a request with a login.
    pub(crate) fn opened(&self, url: &Url) {
        let mut origins = self.lock();
        let door = entry(&mut origins, url);
        door.stale = 0;
        door.realms.insert(door.last.clone(), Answer::Opened);
    }

    /// What to make of a 401 with these challenges, to a request with this login.
    pub(crate) fn after(
        &self,
        authenticator: &dyn Authenticator,
        url: &Url,
        said: &Said,
        challenges: &[String],
    ) -> Opening {
        let realm = realm_of(challenges);
        let mut origins = self.lock();
        let door = entry(&mut origins, url);
        if door.has_refused(&realm) {
            return Opening::Shut(realm);
        }
        let login = authenticator.fields(url, challenges);
        let is_silent = said.fields.is_empty();
        if login.is_empty() && is_silent {
            return Opening::NoLogin;
        }
        let is_stale = is_stale(challenges) && door.stale < MOST_STALE;
        door.stale += u8::from(is_stale && !is_silent);
        // It answered another realm, or it was right once and may have grown old.
        let is_other = !door.last.is_empty() && door.last != realm;
        let is_old = !said.asked && (is_other || door.is_open(&realm));
        let is_new = !login.is_empty() && login != said.fields;
        let was_open = door.is_open(&realm);
        door.last.clone_from(&realm);
        if is_new && (is_silent || is_stale || is_old) {
            door.ask_again(url, challenges);
            return Opening::Asked;
        }
        if was_open {
            return Opening::Shut(realm);
        }
        door.realms.insert(realm.clone(), Answer::Refused);
        Opening::Refused(realm)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Door>> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entry<'a>(origins: &'a mut HashMap<String, Door>, url: &Url) -> &'a mut Door {
    let name = origin(url);
    if origins.len() >= MOST_ORIGINS && !origins.contains_key(&name) {
        origins.clear();
    }
    origins.entry(name).or_default()
}

/// The realms that a 401 names, as one text.
fn realm_of(fields: &[String]) -> String {
    let mut names: Vec<String> = challenges(fields)
        .iter()
        .filter_map(|challenge| challenge.get("realm").map(str::to_owned))
        .collect();
    names.dedup();
    let mut text = names.join(", ");
    if text.is_empty() {
        // Apart from what was sent unasked.
        text.push('-');
    }
    text
}

fn is_stale(fields: &[String]) -> bool {
    let stale = |value: &str| value.eq_ignore_ascii_case("true");
    challenges(fields)
        .iter()
        .any(|challenge| challenge.get("stale").is_some_and(stale))
}

#[cfg(test)]
mod tests {
    use super::super::{BasicLogin, Logins};
    use super::*;

    const WALL: &str = "Basic realm=\"wall\"";

    fn url(path: &str) -> Url {
        Url::parse("http://a.example/").unwrap().join(path).unwrap()
    }

    fn digest(realm: &str, nonce: u32, more: &str) -> Vec<String> {
        vec![format!(
            "Digest realm=\"{realm}\", nonce=\"{nonce}\", qop=auth{more}"
        )]
    }

    fn logins() -> Logins {
        Logins::default().password(&url("/"), "ann", "secret")
    }

    #[test]
    fn a_refused_login_is_never_said_again_in_that_realm() {
        let (doors, logins) = (Doors::default(), logins());
        let asks = [WALL.to_owned()];
        let said = doors.before(&logins, &url("/1"));
        assert!(said.fields.is_empty());
        assert_eq!(
            doors.after(&logins, &url("/1"), &said, &asks),
            Opening::Asked
        );
        let said = doors.before(&logins, &url("/1"));
        assert!(said.asked && !said.fields.is_empty());
        let wall = || "wall".to_owned();
        let refused = doors.after(&logins, &url("/1"), &said, &asks);
        assert_eq!(refused, Opening::Refused(wall()));
        for path in ["/1", "/2", "/3"] {
            let said = doors.before(&logins, &url(path));
            assert!(said.fields.is_empty());
            let shut = doors.after(&logins, &url(path), &said, &asks);
            assert_eq!(shut, Opening::Shut(wall()));
        }
        // Another realm of the same origin may know the password.
        let other = digest("garden", 1, "");
        let said = doors.before(&logins, &url("/4"));
        assert_eq!(
            doors.after(&logins, &url("/4"), &said, &other),
            Opening::Asked
        );
        assert!(!doors.before(&logins, &url("/4")).fields.is_empty());
        doors.opened(&url("/4"));
        assert!(doors.before(&logins, &url("/5")).fields.is_empty());
    }

    #[test]
    fn a_login_that_was_right_once_is_not_given_up_for_an_old_nonce() {
        let (doors, logins) = (Doors::default(), logins());
        let mut nonce = 0;
        for round in 0..5 {
            // A server that never says that a nonce is stale.
            nonce += 1;
            let asks = digest("cave", nonce, "");
            let said = doors.before(&logins, &url("/"));
            assert_eq!(said.fields.is_empty(), round == 0);
            assert_eq!(
                doors.after(&logins, &url("/"), &said, &asks),
                Opening::Asked
            );
            assert!(doors.before(&logins, &url("/")).asked);
            doors.opened(&url("/"));
        }
        // One page that this user may not see does not close the others.
        let asks = digest("cave", nonce + 1, "");
        let said = doors.before(&logins, &url("/secret"));
        assert_eq!(
            doors.after(&logins, &url("/secret"), &said, &asks),
            Opening::Asked
        );
        let said = doors.before(&logins, &url("/secret"));
        let cave = "cave".to_owned();
        assert_eq!(
            doors.after(&logins, &url("/secret"), &said, &asks),
            Opening::Shut(cave)
        );
        assert!(!doors.before(&logins, &url("/")).fields.is_empty());
    }

    #[test]
    fn a_server_that_calls_every_nonce_stale_is_left() {
        let (doors, logins) = (Doors::default(), logins());
        let mut asked = 0;
        for nonce in 0..100 {
            let said = doors.before(&logins, &url("/"));
            let asks = digest("cave", nonce, ", stale=true");
            match doors.after(&logins, &url("/"), &said, &asks) {
                Opening::Asked => asked += 1,
                _ => break,
            }
        }
        assert_eq!(asked, 1 + u32::from(MOST_STALE));
    }

    #[test]
    fn realms_without_end_are_not_answered_without_end() {
        let (doors, logins) = (Doors::default(), logins());
        let mut answered = 0;
        for number in 0..1000 {
            let page = url(&format!("/{number}"));
            let asks = digest(&format!("r{number}"), number, "");
            for _ in 0..2 {
                let said = doors.before(&logins, &page);
                answered += u32::from(!said.fields.is_empty());
                doors.after(&logins, &page, &said, &asks);
            }
        }
        assert!(answered <= 20, "{answered}");
    }

    #[test]
    fn a_login_sent_unasked_is_refused_at_once() {
        let doors = Doors::default();
        let basic = BasicLogin::default().with(&url("/"), "ann", "wrong");
        let asks = [WALL.to_owned()];
        let said = doors.before(&basic, &url("/"));
        assert!(!said.fields.is_empty());
        let refused = doors.after(&basic, &url("/"), &said, &asks);
        assert_eq!(refused, Opening::Refused("wall".to_owned()));
        assert!(doors.before(&basic, &url("/2")).fields.is_empty());
    }
}
