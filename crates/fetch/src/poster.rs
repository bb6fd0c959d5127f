//! Hands a small message to a URL: for webhooks. The way out is that of fetching: addresses are judged after
//! the name was looked up, and the connection goes to a judged address only.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use teia_base::{Clock, Outcome, Times};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};
use url::{Position, Url};

use crate::config::FetchConfig;
use crate::dial::{Dialer, Target};
use crate::error::FetchError;
use crate::fault::Fault;
use crate::request_head::{TargetForm, host_field};
use crate::tls::Offer;

/// Bytes of an answer that are read; its head begins with all that is wanted.
const MOST_READ: usize = 4 << 10;

/// Sends messages.
#[derive(Debug)]
pub struct Poster {
    dialer: Dialer,
    user_agent: String,
}

/// Why a message was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// As for a page.
    pub outcome: Outcome,
    /// More of it, where there is more.
    pub detail: Option<String>,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.outcome.sentence())?;
        match &self.detail {
            Some(detail) => write!(f, " ({detail})"),
            None => Ok(()),
        }
    }
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Self {
            outcome: fault.outcome,
            detail: fault.detail.map(Into::into),
        }
    }
}

impl Poster {
    /// With the proxy, the certificates and the name servers of these settings. Addresses that were allowed by
    /// hand for fetching (`resolve`, seeds) are not allowed here: `allow_private` alone decides.
    pub fn new(
        config: &FetchConfig,
        allow_private: bool,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FetchError> {
        let config = FetchConfig {
            allow_private,
            allowed: Vec::new(),
            resolve: Vec::new(),
            ..config.clone()
        };
        Ok(Self {
            dialer: Dialer::new(clock, &config)?,
            user_agent: config.user_agent,
        })
    }

    /// Sends a body with these header fields, and says with which status it was answered. Redirects are not
    /// followed, and nothing else of the answer is kept.
    pub async fn post(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        body: &[u8],
        within: Duration,
    ) -> Result<u16, Unanswered> {
        let until = Instant::now() + within;
        let exchange = self.exchange(url, fields, body, until);
        match timeout_at(until, exchange).await {
            Ok(answered) => answered.map_err(Unanswered::from),
            Err(_) => Err(Fault::from(Outcome::TIME_EXCEEDED).into()),
        }
    }

    async fn exchange(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        body: &[u8],
        until: Instant,
    ) -> Result<u16, Fault> {
        let target = Target::of(url)?;
        // No page named it.
        self.dialer.gate.allow_port(&target.host, target.port);
        let mut times = Times::default();
        let dialed = self
            .dialer
            .dial(&target, Offer::Http1, until, &mut times)
            .await?;
        let mut stream = dialed.stream;
        let (form, proxy) = self.dialer.form(&target);
        let path = match form {
            TargetForm::Origin => &url[Position::BeforePath..Position::AfterQuery],
            TargetForm::Absolute => &url[..Position::AfterQuery],
        };
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
            host_field(url),
            self.user_agent,
            body.len()
        );
        if let Some(value) = proxy {
            head.push_str(&format!("Proxy-Authorization: {value}\r\n"));
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let sent = async {
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(body).await?;
            stream.flush().await
        };
        sent.await.map_err(|error| Fault::connect(&error))?;
        let mut answer = Vec::with_capacity(256);
        loop {
            if let Some(status) = status_in(&answer)? {
                return Ok(status);
            }
            if answer.len() >= MOST_READ {
                return Err(Fault::invalid("http_head_too_large"));
            }
            let read = stream.read_buf(&mut answer).await;
            if read.map_err(|error| Fault::connect(&error))? == 0 {
                return Err(Fault::invalid("http_status_line"));
            }
        }
    }
}

/// The status of an answer whose first line is whole; answers that only announce another are passed over.
fn status_in(answer: &[u8]) -> Result<Option<u16>, Fault> {
    let mut rest = answer;
    loop {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let line = String::from_utf8_lossy(&rest[..end]);
        let status = line
            .strip_prefix("HTTP/1.")
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|word| word.trim().parse::<u16>().ok())
            .filter(|status| (100..1_000).contains(status))
            .ok_or_else(|| Fault::invalid("http_status_line"))?;
        if status >= 200 {
            return Ok(Some(status));
        }
        let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        rest = &rest[end + 4..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_from_a_whole_first_line() {
        let status = |text: &str| status_in(text.as_bytes());
        assert_eq!(status("HTTP/1.1 204 No Content\r\n").unwrap(), Some(204));
        assert_eq!(status("HTTP/1.0 500\r\n").unwrap(), Some(500));
        assert_eq!(status("HTTP/1.1 20").unwrap(), None);
        assert_eq!(
            status("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n").unwrap(),
            Some(200)
        );
        assert_eq!(status("HTTP/1.1 100 Continue\r\n").unwrap(), None);
        for bad in ["SSH-2.0-x\r\n", "HTTP/1.1 x\r\n", "\n", "HTTP/1.1 99\r\n"] {
            assert!(status(bad).is_err(), "{bad}");
        }
    }
}
