//! The request as sent, and the copy of it that may be kept.

use bytes::Bytes;
use teia_base::Request;
use url::{Position, Url};

use crate::config::FetchConfig;

/// Fields whose values are nobody else's business.
const SECRET: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// The fields of one request, before they are written for a protocol.
#[derive(Debug)]
pub(crate) struct RequestFields {
    fields: Vec<(&'static str, String)>,
}

impl RequestFields {
    /// What every request says, in the order in which browsers say it.
    pub(crate) fn new(config: &FetchConfig, request: &Request) -> Self {
        let mut fields = Vec::with_capacity(8);
        fields.push(("User-Agent", config.user_agent.clone()));
        if let Some(from) = &config.from {
            fields.push(("From", from.clone()));
        }
        fields.push(("Accept", config.accept.clone()));
        if !config.accept_encoding.is_empty() {
            fields.push(("Accept-Encoding", config.accept_encoding.clone()));
        }
        if let Some(language) = &config.accept_language {
            fields.push(("Accept-Language", language.clone()));
        }
        let mut this = Self { fields };
        if let Some(etag) = &request.etag {
            this.add("If-None-Match", etag.clone());
        }
        if let Some(date) = &request.last_modified {
            this.add("If-Modified-Since", date.clone());
        }
        this
    }

    /// Adds a field; one whose value could end its line is left out.
    pub(crate) fn add(&mut self, name: &'static str, value: String) {
        if is_field_value(&value) {
            self.fields.push((name, value));
        }
    }

    /// All fields, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
    }

    /// The head as HTTP/1.1 has it, and the copy that may be kept.
    pub(crate) fn write(&self, url: &Url, form: TargetForm) -> (Bytes, Bytes) {
        let mut secrets = Vec::new();
        let mut head = Vec::with_capacity(512);
        let target = match form {
            TargetForm::Origin => &url[Position::BeforePath..Position::AfterQuery],
            TargetForm::Absolute => "",
        };
        head.extend_from_slice(b"GET ");
        if form == TargetForm::Absolute {
            head.extend_from_slice(url.scheme().as_bytes());
            head.extend_from_slice(b"://");
            head.extend_from_slice(host_field(url).as_bytes());
            head.extend_from_slice(url[Position::BeforePath..Position::AfterQuery].as_bytes());
        }
        head.extend_from_slice(target.as_bytes());
        head.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        head.extend_from_slice(host_field(url).as_bytes());
        head.extend_from_slice(b"\r\n");
        for (name, value) in &self.fields {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            let start = head.len();
            head.extend_from_slice(value.as_bytes());
            if is_secret(name) {
                secrets.push(start..head.len());
            }
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"Connection: keep-alive\r\n\r\n");
        let head = Bytes::from(head);
        if secrets.is_empty() {
            return (head.clone(), head);
        }
        let mut kept = head.to_vec();
        for secret in secrets.into_iter().rev() {
            kept.splice(secret, *b"***");
        }
        (head, kept.into())
    }
}

/// What stands in the request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetForm {
    /// Path and query, for the server itself.
    Origin,
    /// The whole URL, for a proxy.
    Absolute,
}

/// Whether the values of such a field are kept out of logs and archives.
pub(crate) fn is_secret(name: &str) -> bool {
    SECRET
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret))
}

/// Host and port as `Host` and `:authority` have them; the port only where it is unusual.
pub(crate) fn host_field(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

/// Whether the text can stand in a field without ending its line.
pub(crate) fn is_field_value(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b == b'\t' || (b >= b' ' && b != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(url: &str, form: TargetForm) -> (String, String) {
        let mut request = Request::get(url.parse().unwrap());
        request.etag = Some("\"x\"".to_owned());
        request.last_modified = Some("bad\r\nInjected: yes".to_owned());
        let mut fields = RequestFields::new(&FetchConfig::default(), &request);
        fields.add("Authorization", "Basic secret".to_owned());
        let (sent, kept) = fields.write(&request.url, form);
        let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        (text(sent), text(kept))
    }

    #[test]
    fn secrets_are_sent_and_not_kept() {
        let (sent, kept) = written("http://u:p@a.example:8080/x?y#z", TargetForm::Origin);
        assert!(
            sent.starts_with("GET /x?y HTTP/1.1\r\nHost: a.example:8080\r\nUser-Agent: Teia/"),
            "{sent}"
        );
        assert!(sent.contains("\r\nAuthorization: Basic secret\r\n"));
        assert!(kept.contains("\r\nAuthorization: ***\r\n") && !kept.contains("secret"));
        assert!(sent.contains("If-None-Match: \"x\"") && !sent.contains("Injected"));
    }

    #[test]
    fn a_proxy_gets_the_whole_url_without_its_login() {
        let (sent, _) = written("http://u:p@a.example/x?y", TargetForm::Absolute);
        assert!(
            sent.starts_with("GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\n"),
            "{sent}"
        );
    }
}
