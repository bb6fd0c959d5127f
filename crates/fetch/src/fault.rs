//! Why an attempt failed, on its way to becoming an exchange.

use std::borrow::Cow;
use std::io;

use teia_base::Outcome;

/// So begins the detail where a connection ended before any byte of an answer.
pub(crate) const CLOSED_BEFORE_ANSWER: &str = "closed_before_answer";

/// An outcome and its detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) outcome: Outcome,
    pub(crate) detail: Option<Cow<'static, str>>,
}

impl Fault {
    pub(crate) fn new(outcome: Outcome, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            outcome,
            detail: Some(detail.into()),
        }
    }

    /// An answer that is not valid HTTP, with the name of what is wrong.
    pub(crate) fn invalid(name: &'static str) -> Self {
        Self::new(Outcome::HTTP_INVALID, name)
    }

    /// Something on our side failed: no descriptors, no room for a spool file.
    pub(crate) fn system(what: &str, error: &io::Error) -> Self {
        Self::new(Outcome::SYSTEM_ERROR, format!("{what}: {error}"))
    }

    /// A connection that could not be made, or broke before anything came.
    pub(crate) fn connect(error: &io::Error) -> Self {
        // With TLS 1.3 a server that wants our certificate says so only after the handshake.
        if error
            .get_ref()
            .is_some_and(|inner| inner.is::<rustls::Error>())
        {
            return crate::tls::handshake_fault(error);
        }
        if is_ours(error) {
            return Self::system("socket", error);
        }
        let outcome = match error.kind() {
            io::ErrorKind::ConnectionRefused => Outcome::CONNECT_REFUSED,
            io::ErrorKind::TimedOut => Outcome::CONNECT_TIMEOUT,
            _ => Outcome::CONNECT_FAILED,
        };
        Self::new(outcome, error.to_string())
    }

    /// The same; where no byte of an answer came, a connection that broke says so.
    pub(crate) fn before_answer_if(self, is_unanswered: bool) -> Self {
        if !is_unanswered || self.outcome != Outcome::CONNECT_FAILED {
            return self;
        }
        let detail = self.detail.unwrap_or_default();
        Self::new(self.outcome, format!("{CLOSED_BEFORE_ANSWER}: {detail}"))
    }
}

/// Whether this machine, and no server, is why there is no connection: no descriptor, no port of our own, no memory for it.
pub(crate) fn is_ours(error: &io::Error) -> bool {
    const ENOMEM: i32 = 12;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const EADDRNOTAVAIL: i32 = 99;
    const ENOBUFS: i32 = 105;
    let code = error.raw_os_error();
    code.is_some_and(|code| [ENOMEM, ENFILE, EMFILE, EADDRNOTAVAIL, ENOBUFS].contains(&code))
}

impl From<Outcome> for Fault {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            detail: None,
        }
    }
}
