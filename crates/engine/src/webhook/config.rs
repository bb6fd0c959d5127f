//! Who is told, of what, and how it is proved to come from here.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::measure;
use url::Url;

use crate::mistakes::nearest;

/// Receivers of one collection, at most.
const RECEIVERS: usize = 8;
/// Bytes of a secret that are read from a file, at most.
const SECRET_BYTES: usize = 4096;

/// What can be told of.
pub(crate) const EVENTS: [&str; 6] = [
    "run_started",
    "run_paused",
    "run_resumed",
    "run_ended",
    "run_failed",
    "trap_quarantined",
];

/// Who is told of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WebhookConfig {
    /// Who is told, by POST with JSON: at most 8 URLs of https or http. Redirects are not followed. The receivers are
    /// those of a run's beginning.
    pub urls: Vec<String>,
    /// If any are given, receivers are only taken on these hosts: `hooks.example.org`.
    pub hosts: Vec<String>,
    /// What they are told of: `run_started`, `run_paused`, `run_resumed`, `run_ended`, `run_failed`,
    /// `trap_quarantined`; an empty list means all of them.
    pub events: Vec<String>,
    /// The variable of the environment that has the secret with which messages are signed (HMAC-SHA256, in the field
    /// `Teia-Signature`). The secret itself does not belong here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_variable: Option<String>,
    /// Or the file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    /// Tries after the first, where a receiver does not answer or has trouble of its own: after 1 s, 5 s, 25 s, 2 min, and
    /// then every 10 min.
    pub retries: u8,
    /// How long one try may take.
    #[serde(with = "measure::duration")]
    pub timeout: Duration,
    /// Whether receivers may be at private and loopback addresses. What fetching is allowed does not count here.
    pub allow_private: bool,
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self {
            urls: Vec::new(),
            hosts: Vec::new(),
            events: Vec::new(),
            secret_variable: None,
            secret_file: None,
            retries: 5,
            timeout: Duration::from_secs(5),
            allow_private: false,
        }
    }
}

impl WebhookConfig {
    /// What is wrong with it: the setting, and what to write.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.urls.len() > RECEIVERS {
            return Err(("urls", format!("write at most {RECEIVERS} URLs")));
        }
        if self.urls.iter().any(|text| parse_url(text).is_none()) {
            // What was written may be a secret.
            let message = "write URLs of https or http, without user name and password; a secret belongs into the variable of `secret-variable` or the file of `secret-file`";
            return Err(("urls", message.to_owned()));
        }
        let is_elsewhere = |url: &Url| {
            let host = url.host_str().unwrap_or_default();
            !self.hosts.is_empty()
                && !self
                    .hosts
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(host))
        };
        if self.receivers().iter().any(is_elsewhere) {
            let message = format!(
                "receivers are only taken on these hosts: {} (webhook.hosts)",
                self.hosts.join(", ")
            );
            return Err(("urls", message));
        }
        let unknown = |event: &&String| !EVENTS.contains(&event.as_str());
        if let Some(unknown) = self.events.iter().find(unknown) {
            let meant = match nearest(unknown, &EVENTS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", EVENTS.join(", ")),
            };
            return Err(("events", format!("there is no event `{unknown}`; {meant}")));
        }
        if let Some(name) = &self.secret_variable {
            let is_name = !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_name {
                let message = "write the name of a variable of the environment, for example \"TEIA_WEBHOOK_SECRET\"; the secret itself does not belong in a file that people share";
                return Err(("secret-variable", message.to_owned()));
            }
            if self.secret_file.is_some() {
                let message = "there is a `secret-variable` too; write one of them";
                return Err(("secret-file", message.to_owned()));
            }
        }
        Ok(())
    }

    /// The receivers; what cannot be one was refused before.
    pub(crate) fn receivers(&self) -> Vec<Url> {
        let mut receivers: Vec<Url> = Vec::new();
        for url in self.urls.iter().filter_map(|text| parse_url(text)) {
            if !receivers.contains(&url) {
                receivers.push(url);
            }
        }
        receivers
    }

    pub(crate) fn wants(&self, event: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|wanted| wanted == event)
    }

    /// The secret, from where it lies. Errors name the setting and never what was found there.
    pub(crate) fn secret(&self) -> Result<Option<String>, (&'static str, String)> {
        let (key, found) = if let Some(name) = &self.secret_variable {
            let value = std::env::var(name).map_err(|_| {
                let message = "the variable that it names is not set; set it for the process that runs the collection";
                ("secret-variable", message.to_owned())
            })?;
            ("secret-variable", value)
        } else if let Some(path) = &self.secret_file {
            let text = std::fs::read(path).map_err(|error| {
                let message = format!("{} cannot be read: {error}", path.display());
                ("secret-file", message)
            })?;
            let text = String::from_utf8_lossy(&text).into_owned();
            ("secret-file", text)
        } else {
            return Ok(None);
        };
        let secret = found.trim();
        if secret.is_empty() || secret.len() > SECRET_BYTES {
            let message = format!("the secret there is empty or longer than {SECRET_BYTES} bytes");
            return Err((key, message));
        }
        Ok(Some(secret.to_owned()))
    }

    /// What would be sent, in a sentence or two.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let receivers = self.receivers();
        if receivers.is_empty() {
            return Vec::new();
        }
        let shown: Vec<String> = receivers.iter().map(origin).collect();
        let events = match self.events.as_slice() {
            [] => EVENTS.join(", "),
            events => events.join(", "),
        };
        let signed = match (&self.secret_variable, &self.secret_file) {
            (Some(name), _) => format!("signed with the secret in the variable {name}"),
            (None, Some(path)) => format!("signed with the secret in {}", path.display()),
            (None, None) => "not signed (webhook.secret-variable, webhook.secret-file)".to_owned(),
        };
        let private = if self.allow_private {
            "Private addresses are told as well."
        } else {
            "A receiver whose name leads to a private address is not told."
        };
        vec![
            format!(
                "It tells {} by POST of {events}, {signed}; each message is tried {} at most (webhook.urls, webhook.events).",
                shown.join(", "),
                match self.retries {
                    0 => "once".to_owned(),
                    more => format!("{} times", u32::from(more) + 1),
                }
            ),
            private.to_owned(),
        ]
    }
}

/// Scheme, host and port: the rest of a receiver's URL may be all that keeps others from writing to it.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn parse_url(text: &str) -> Option<Url> {
    Url::parse(text.trim()).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

#[cfg(test)]
mod tests {
    use crate::CollectionConfig;

    #[track_caller]
    fn refused(settings: &str, words: &[&str]) {
        let text = format!("seeds = []\n[webhook]\n{settings}\n");
        let message = CollectionConfig::parse(&text).unwrap_err();
        for word in words {
            assert!(message.contains(word), "no {word:?} in {message}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line_and_what_to_write() {
        for bad in [
            "file:///etc/passwd",
            "ftp://a.example/",
            "https://user:hush@a.example/",
            "a.example",
            "",
        ] {
            refused(&format!("urls = [{bad:?}]"), &["line 3", "`urls`", "https"]);
        }
        refused(
            "events = [\"run_endet\"]",
            &["line 3", "did you mean `run_ended`?"],
        );
        refused("events = [\"x\"]", &["line 3", "run_started, run_paused"]);
        refused("url = \"https://a.example/\"", &["line 3", "`urls`?"]);
        refused(
            "secret = \"hush\"",
            &["line 3", "there is no setting `secret`"],
        );
        refused("secret-variable = \"my secret\"", &["line 3", "TEIA_"]);
        refused(
            "secret-variable = \"A\"\nsecret-file = \"b\"",
            &["line 4", "one of them"],
        );
        refused("retries = 11", &["line 3", "0 to 10"]);
        refused("timeout = \"1h\"", &["line 3", "1m"]);
        refused(
            "urls = [\"https://b.example/\"]\nhosts = [\"A.example\"]",
            &["line 3", "only taken on these hosts: A.example"],
        );
        let text = "[webhook]\nurls = [\"https://a.example/\"]\nhosts = [\"A.example\"]\n";
        assert!(CollectionConfig::parse(text).is_ok());
        let urls = ["\"https://a.example/\""; 9].join(", ");
        refused(&format!("urls = [{urls}]"), &["line 3", "at most 8"]);
    }

    #[test]
    fn a_secret_in_the_wrong_place_is_not_repeated() {
        for settings in [
            "urls = [\"https://ann:hunter2@a.example/\"]",
            "secret-variable = \"hunter2!\"",
        ] {
            let text = format!("[webhook]\n{settings}\n");
            let message = CollectionConfig::parse(&text).unwrap_err();
            assert!(!message.contains("hunter2"), "{message}");
        }
        let text = "[webhook]\nsecret-variable = \"hunter2\"\n";
        let config = CollectionConfig::parse(text).unwrap().webhook;
        let (key, message) = config.secret().unwrap_err();
        assert_eq!(key, "secret-variable");
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[test]
    fn a_collection_says_in_words_whom_it_tells_and_keeps_their_paths_to_itself() {
        let text = "[webhook]\nurls = [\"https://hooks.example/T0/secretpath\"]\nevents = [\"run_ended\"]\nsecret-variable = \"HOOK\"\n";
        let words = CollectionConfig::parse(text).unwrap().webhook.in_words();
        let words = words.join(" ");
        for word in ["https://hooks.example", "run_ended", "HOOK", "6 times"] {
            assert!(words.contains(word), "no {word:?} in {words}");
        }
        assert!(!words.contains("secretpath") && !words.contains("run_started"));
        assert!(CollectionConfig::default().webhook.in_words().is_empty());
    }
}
