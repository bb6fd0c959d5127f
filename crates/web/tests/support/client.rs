//! A collection of birds, and who asks for it over the API.

use serde_json::Value;
use teia_web::{Role, WebConfig};

use super::{LittleWeb, Served, collect};

/// Three pages, a page that is not there, and what is outside.
pub(crate) fn birds() -> (LittleWeb, Served) {
    birds_with(WebConfig::default())
}

pub(crate) fn birds_with(config: WebConfig) -> (LittleWeb, Served) {
    let web = LittleWeb::start();
    web.html(
        "/",
        "<title>Lapwing meadow</title><p>A lapwing calls.</p><a href=/second>second</a><a href=/third>third</a><a href=/gone>gone</a><a href=http://other.example/>other</a>",
    );
    web.html("/second", "<title>Second</title><p>Curlews answer.</p>");
    web.html("/third", "<title>Third</title><p>Plovers listen.</p>");
    let folder = tempfile::tempdir().unwrap();
    collect(folder.path(), &web, "birds");
    (web, Served::new(folder, config))
}

/// Asks the API with the token of a role.
pub(crate) struct Client<'a> {
    served: &'a Served,
    pub(crate) token: String,
}

impl<'a> Client<'a> {
    pub(crate) fn new(served: &'a Served, role: Role) -> Self {
        let token = served.token(role);
        Self { served, token }
    }

    #[track_caller]
    pub(crate) fn good(&self, method: &str, path: &str, body: &Value) -> Value {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.served.api(&self.token, method, path, &text);
        assert!(
            (200..300).contains(&answer.status),
            "{method} {path}: {} {}",
            answer.status,
            answer.text()
        );
        if answer.body.is_empty() {
            Value::Null
        } else {
            answer.json()
        }
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.good("GET", path, &Value::Null)
    }

    /// The code of the problem, which must have this status.
    #[track_caller]
    pub(crate) fn bad(&self, method: &str, path: &str, body: &Value, status: u16) -> String {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.served.api(&self.token, method, path, &text);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        assert_eq!(
            answer.header("content-type").as_deref(),
            Some("application/problem+json")
        );
        answer.json()["detail"].as_str().unwrap().to_owned()
    }
}
