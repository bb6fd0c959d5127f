//! What became of one attempt: one number, one name, one retry class, one sentence.
//!
//! An HTTP answer has its status as number. Teia's own outcomes are negative; the six that
//! Tarântula had keep Tarântula's numbers. The table below is the only list; logs, history,
//! catalog, API and pages all read it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The one result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Outcome(i16);

/// What a failed attempt means for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Asking again would give the same answer.
    Final,
    /// Worth another try after a while.
    Temporary,
    /// The whole host is in trouble: its other URLs wait too.
    Host,
}

struct Row {
    outcome: Outcome,
    name: &'static str,
    retry: Retry,
    sentence: &'static str,
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $constant:ident = $number:literal, $name:literal, $retry:ident, $sentence:literal;)*) => {
        impl Outcome {
            $(#[doc = $sentence] pub const $constant: Outcome = Outcome($number);)*
        }
        const TABLE: &[Row] = &[$(Row {
            outcome: Outcome::$constant,
            name: $name,
            retry: Retry::$retry,
            sentence: $sentence,
        },)*];
    };
}

outcomes! {
    HTTP_INVALID = -1, "http_invalid", Temporary, "the server's answer is not valid HTTP";
    TYPE_NOT_ACCEPTED = -3, "type_not_accepted", Final, "the document's media type is not one the collection keeps or follows";
    SIZE_EXCEEDED = -4, "size_exceeded", Final, "the document is larger than the collection's limit";
    ROBOTS_DISALLOWED = -7, "robots_disallowed", Final, "the host's robots.txt asks us not to fetch it";
    TIME_EXCEEDED = -10, "time_exceeded", Temporary, "the answer took longer than the time limit";
    SYSTEM_ERROR = -11, "system_error", Temporary, "something failed on our side";
    DNS_NXDOMAIN = -20, "dns_nxdomain", Temporary, "the host name does not exist";
    DNS_TIMEOUT = -21, "dns_timeout", Host, "the name servers did not answer in time";
    DNS_SERVFAIL = -22, "dns_servfail", Host, "the name servers could not answer";
    DNS_LOOP = -23, "dns_loop", Host, "the host name leads through too many aliases";
    ADDR_BLOCKED = -24, "addr_blocked", Final, "the address is private or special, and such addresses are refused";
    PORT_BLOCKED = -25, "port_blocked", Final, "the port belongs to another service, as browsers see it";
    SCHEME_BLOCKED = -26, "scheme_blocked", Final, "the scheme is not one that is collected";
    LOGIN_FAILED = -30, "login_failed", Final, "the login was not accepted";
    CONNECT_REFUSED = -40, "connect_refused", Host, "the host refused the connection";
    CONNECT_TIMEOUT = -41, "connect_timeout", Host, "the connection could not be made in time";
    CONNECT_FAILED = -42, "connect_failed", Host, "the host cannot be reached or broke off the connection";
    TLS_HANDSHAKE = -43, "tls_handshake", Host, "no secure connection could be agreed";
    TLS_CERT_EXPIRED = -44, "tls_cert_expired", Host, "the host's certificate has expired or is not valid yet";
    TLS_CERT_NAME = -45, "tls_cert_name", Host, "the host's certificate is for another name";
    TLS_CERT_UNTRUSTED = -46, "tls_cert_untrusted", Host, "nobody we trust vouches for the host's certificate";
    TLS_PROTO = -47, "tls_proto", Host, "the host speaks no TLS, or only a version too old";
    PROXY_FAILED = -48, "proxy_failed", Temporary, "the proxy refused or failed";
    H2_PROTOCOL = -60, "h2_protocol", Temporary, "the host broke the rules of HTTP/2";
    H2_FLOOD = -61, "h2_flood", Host, "the host flooded the connection with HTTP/2 frames";
    DECODE_BOMB = -62, "decode_bomb", Final, "the body unpacks to far more than it should";
    DECODE_ERROR = -63, "decode_error", Final, "the body's content encoding is damaged";
    DECODE_CHAIN_TOO_LONG = -64, "decode_chain_too_long", Final, "the body is wrapped in too many content encodings";
    REDIRECT_LOOP = -80, "redirect_loop", Final, "the redirect leads back to itself";
    REDIRECT_TOO_MANY = -81, "redirect_too_many", Final, "the chain of redirects is too long";
    REDIRECT_BLOCKED = -82, "redirect_blocked", Final, "the redirect leads to an address or scheme that is refused";
    REDIRECT_BAD_LOCATION = -83, "redirect_bad_location", Final, "the redirect names no usable address";
    URL_INVALID = -90, "url_invalid", Final, "the text is not a URL";
    URL_TOO_LONG = -91, "url_too_long", Final, "the URL is longer than the limit";
    OUT_OF_SCOPE = -92, "out_of_scope", Final, "the collection's scope leaves it out";
    BUDGET_EXHAUSTED = -93, "budget_exhausted", Final, "a limit on pages, bytes or hosts was reached before its turn";
    TRAP_SUSPECTED = -94, "trap_suspected", Final, "the URL looks like one of an endless series";
    ROBOTS_UNREACHABLE = -95, "robots_unreachable", Host, "robots.txt cannot be read, so nothing may be fetched for now";
    LANGUAGE_REFUSED = -96, "language_refused", Final, "the page is not in a language that the collection keeps";
    REMOVED = -97, "removed", Final, "removed on request";
    ALIAS_HOST = -98, "alias_host", Final, "the host serves the same pages as another one";
    CONTENT_REFUSED = -99, "content_refused", Final, "the text does not have the words that the collection asks for";
    CONTENT_ENCRYPTED = -101, "content_encrypted", Final, "the document is encrypted";
    CONTENT_UNSUPPORTED = -102, "content_unsupported", Final, "the document's format cannot be read";
    STORE_UNAVAILABLE = -110, "store_unavailable", Temporary, "the store could not take the document";
}

impl Outcome {
    /// The page is as it was when it was last fetched.
    pub const NOT_MODIFIED: Self = Self(304);

    /// The outcome of an HTTP answer with this status.
    pub fn http(status: u16) -> Self {
        Self(i16::try_from(status.min(999)).expect("at most 999"))
    }

    /// The outcome with this number, as read from a journal or typed by a person.
    pub fn from_number(number: i16) -> Self {
        Self(number)
    }

    /// The number: an HTTP status, or negative.
    pub fn number(self) -> i16 {
        self.0
    }

    /// The stable name.
    pub fn name(self) -> std::borrow::Cow<'static, str> {
        match self.0 {
            200..=299 => "ok".into(),
            304 => "not_modified".into(),
            301 | 302 | 303 | 307 | 308 => "redirect".into(),
            number if number > 0 => format!("http_{number}").into(),
            _ => match self.row() {
                Some(row) => row.name.into(),
                None => format!("unknown_{}", self.0).into(),
            },
        }
    }

    /// One sentence for people.
    pub fn sentence(self) -> &'static str {
        match self.0 {
            200..=299 => "fetched",
            304 => "unchanged since the last visit",
            301 | 302 | 303 | 307 | 308 => "sends on to another address",
            401 => "asks for a login",
            403 => "the server refuses to show it",
            404 => "there is no such page",
            410 => "the page is gone for good",
            429 => "the server asks us to slow down",
            503 => "the server is busy or under maintenance",
            300..=399 => "another kind of redirect, not followed",
            400..=499 => "the server refuses the request",
            500..=599 => "the server failed",
            number if number > 0 => "an unusual status",
            _ => self
                .row()
                .map_or("an outcome this version does not know", |row| row.sentence),
        }
    }

    /// Whether and how it is worth another try.
    pub fn retry(self) -> Retry {
        match self.0 {
            408 | 425 | 500 | 502 | 504 | 506..=999 => Retry::Temporary,
            429 | 503 => Retry::Host,
            number if number > 0 => Retry::Final,
            _ => self.row().map_or(Retry::Final, |row| row.retry),
        }
    }

    /// A 2xx answer.
    pub fn is_ok(self) -> bool {
        (200..300).contains(&self.0)
    }

    /// A redirect that names another URL.
    pub fn is_redirect(self) -> bool {
        matches!(self.0, 301 | 302 | 303 | 307 | 308)
    }

    /// The server answered with a status, whatever it was.
    pub fn is_answered(self) -> bool {
        self.0 > 0
    }

    /// An error status, or an outcome of Teia's own that is a failure: to heed a robots.txt, also one that cannot be
    /// read, and to pass over a host that serves the pages of another one are decisions.
    pub fn is_error(self) -> bool {
        let is_decision = matches!(
            self,
            Self::ROBOTS_DISALLOWED | Self::ROBOTS_UNREACHABLE | Self::ALIAS_HOST
        );
        self.0 >= 400 || (self.0 < 0 && !is_decision)
    }

    /// What went wrong between the decision to ask and the end of the answer, also where no connection was made.
    pub fn is_failure_on_the_way(self) -> bool {
        matches!(self.0, -1 | -10 | -11 | -23..=-20 | -30 | -48..=-40 | -64..=-60)
    }

    /// Every outcome of Teia's own, for documentation and tests.
    pub fn own() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.outcome)
    }

    fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.outcome == self)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_and_names_are_unique() {
        let numbers: HashSet<_> = TABLE.iter().map(|row| row.outcome).collect();
        let names: HashSet<_> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(numbers.len(), TABLE.len());
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn an_http_answer_has_its_status_as_number() {
        assert_eq!(Outcome::http(404).number(), 404);
        assert_eq!(Outcome::http(404).name(), "http_404");
        assert_eq!(Outcome::http(206).name(), "ok");
        assert_eq!(Outcome::http(302).name(), "redirect");
        assert_eq!(Outcome::http(304).name(), "not_modified");
    }

    #[test]
    fn tarantulas_numbers_are_kept() {
        for (number, name) in [
            (-1, "http_invalid"),
            (-3, "type_not_accepted"),
            (-4, "size_exceeded"),
            (-7, "robots_disallowed"),
            (-10, "time_exceeded"),
            (-11, "system_error"),
        ] {
            assert_eq!(Outcome::from_number(number).name(), name);
        }
    }
}
