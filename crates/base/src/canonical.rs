//! The one spelling by which a URL is known, and the spelling in which it is requested.
//!
//! The safe rules are always on: scheme and host in small letters, IDNA to ASCII, no trailing dot
//! of the host, no default port, no user name or password, dot segments resolved, no fragment, empty path `/`, unreserved
//! characters decoded, hex digits in capitals, `^` encoded, a stray `%` as it is, tabs and newlines
//! removed (as WHATWG says). [`NormalForm`] adds the unsafe ones that a collection may choose when
//! it is created. The version below changes whenever any of them does.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::plain_url::is_normal;
use crate::{Host, site_of};

/// Version of the rules in this file, stored in every data directory.
///
/// Version 2 wrote a stray `%` as `%25`, and so took `/%zz` and `/%25zz` for one.
pub const NORMAL_FORM_VERSION: u32 = 3;

/// The oldest version whose URLs may stay as they were written: each is its own normal form today.
pub const OLDEST_NORMAL_FORM: u32 = 2;

/// A URL in the one spelling that Teia compares, stores and hashes.
///
/// Invariant: normalising the text again yields the same text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CanonicalUrl(Box<str>);

impl CanonicalUrl {
    /// The normal form of an absolute URL under the safe rules alone.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        NormalForm::default().parse(text).map(|found| found.normal)
    }

    /// Takes back a text that was a canonical URL when it was stored.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scheme, without colon.
    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// Host and port, as in the text, without user name; empty where there is none.
    pub fn authority(&self) -> &str {
        let Some((_, rest)) = self.0.split_once("://") else {
            return "";
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let authority = &rest[..end];
        authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host)
    }

    /// The host, without port; empty where there is none.
    pub fn host_str(&self) -> &str {
        let authority = self.authority();
        if authority.starts_with('[') {
            return authority
                .find(']')
                .map_or(authority, |end| &authority[..=end]);
        }
        authority
            .split_once(':')
            .map_or(authority, |(host, _)| host)
    }

    /// The host as a key of its own.
    pub fn host(&self) -> Host {
        Host::from_normal(self.host_str())
    }

    /// The registrable domain, or the host where there is none.
    pub fn site(&self) -> &str {
        site_of(self.host_str())
    }

    /// Scheme, host and port: `https://example.org:8443`.
    pub fn origin(&self) -> &str {
        let Some(start) = self.0.find("://") else {
            return &self.0;
        };
        let rest = &self.0[start + 3..];
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        &self.0[..start + 3 + end]
    }

    /// Path and query, from the first slash on.
    pub fn path_and_query(&self) -> &str {
        let origin = self.origin().len();
        match &self.0[origin..] {
            "" => "/",
            rest => rest,
        }
    }

    /// The path alone.
    pub fn path(&self) -> &str {
        let rest = self.path_and_query();
        rest.split_once('?').map_or(rest, |(path, _)| path)
    }

    /// Path segments that are not empty: `/a/b/` and `/a/b` have 2, `/` has 0.
    pub fn path_depth(&self) -> usize {
        self.path()
            .split('/')
            .filter(|segment| !segment.is_empty())
            .count()
    }

    /// The short name of this URL in journal, catalog and API. It never decides uniqueness.
    pub fn id(&self, key: u64) -> UrlId {
        UrlId(xxh3_128_with_seed(self.0.as_bytes(), key))
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A 128-bit keyed name of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UrlId(pub u128);

impl fmt::Display for UrlId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A URL as it was found, which is what is requested, with its normal form, which is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FoundUrl {
    normal: CanonicalUrl,
    spelling: Option<Box<str>>,
}

impl FoundUrl {
    /// From stored parts; `spelling` only where it differs.
    pub fn from_stored(normal: CanonicalUrl, spelling: Option<&str>) -> Self {
        let spelling = spelling
            .filter(|text| *text != normal.as_str())
            .map(Into::into);
        Self { normal, spelling }
    }

    /// The identity.
    pub fn normal(&self) -> &CanonicalUrl {
        &self.normal
    }

    /// The text to request.
    pub fn request(&self) -> &str {
        self.spelling.as_deref().unwrap_or(self.normal.as_str())
    }

    /// The text to request, where it is not the normal form.
    pub fn spelling(&self) -> Option<&str> {
        self.spelling.as_deref()
    }

    /// The identity alone.
    pub fn into_normal(self) -> CanonicalUrl {
        self.normal
    }
}

impl From<CanonicalUrl> for FoundUrl {
    fn from(normal: CanonicalUrl) -> Self {
        Self {
            normal,
            spelling: None,
        }
    }
}

/// Why a text is not a URL that can be collected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text cannot be read as a URL.
    #[error("not a URL: {0}")]
    Unreadable(url::ParseError),
    /// It has no host although its scheme needs one.
    #[error("the URL names no host")]
    NoHost,
}

/// How far spellings are taken for one URL, fixed when a collection is created. The safe rules
/// are always on; each of these may join URLs that a server tells apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NormalForm {
    /// `/index.html`, `/index.php`, `/default.asp` and their kin are their directory.
    pub index_files: bool,
    /// `www.example.org` is `example.org`.
    pub www: bool,
    /// `/a/` is `/a`.
    pub trailing_slash: bool,
    /// `;jsessionid=…`, `PHPSESSID`, `sid` and their kin are dropped.
    pub session_ids: bool,
    /// `utm_*`, `fbclid`, `gclid` and their kin are dropped.
    pub tracking: bool,
    /// The order of query parameters does not matter.
    pub parameter_order: bool,
    /// Capitals in the path do not matter.
    pub lower_case_path: bool,
}

impl NormalForm {
    /// Reads an absolute URL.
    pub fn parse(&self, text: &str) -> Result<FoundUrl, UrlError> {
        if *self == Self::default() && is_normal(text) {
            return Ok(CanonicalUrl(text.into()).into());
        }
        self.normalise(&Url::parse(text).map_err(UrlError::Unreadable)?)
    }

    /// Reads a reference found in a document with this base.
    pub fn resolve(&self, base: &Url, reference: &str) -> Result<FoundUrl, UrlError> {
        let resolved = match base.join(reference) {
            // Browsers take any number of slashes before a host for two; the parser does so only
            // where there is no base.
            Err(url::ParseError::EmptyHost)
                if reference.trim_start_matches(is_junk).starts_with(is_slash) =>
            {
                let host = reference.trim_start_matches(|c| is_junk(c) || is_slash(c));
                base.join(&format!("//{host}"))
            }
            resolved => resolved,
        };
        self.normalise(&resolved.map_err(UrlError::Unreadable)?)
    }

    /// The normal form of a parsed URL.
    pub fn normalise(&self, url: &Url) -> Result<FoundUrl, UrlError> {
        if let Some(bare) = without_login(url) {
            return self.normalise(&bare);
        }
        let full = url.as_str();
        // Without its fragment, an opaque path ends where its last space does (URL standard, 4.1).
        let found = full
            .split_once('#')
            .map_or(full, |(before, _)| before.trim_end_matches(' '));
        if self.is_plain(url, found) {
            return Ok(FoundUrl {
                normal: CanonicalUrl(found.into()),
                spelling: None,
            });
        }
        let normal = self.rewrite(url)?;
        // A parsed `file` URL need not be parsed to itself again: drive letters (`C|`) move.
        if normal == found && url.scheme() != "file" {
            return Ok(FoundUrl {
                normal: CanonicalUrl(normal.into()),
                spelling: None,
            });
        }
        let normal = self.settle(normal)?;
        Ok(FoundUrl::from_stored(
            CanonicalUrl(normal.into()),
            Some(found),
        ))
    }

    /// Rewrites a text until it stays the same. A rule may make work for an earlier one: dropping
    /// a session id from `/a/..;sid=1/b` leaves a dot segment, `file://localhost./` a local host.
    fn settle(&self, mut normal: String) -> Result<String, UrlError> {
        // Texts get shorter but for escapes, which are written once; the bound is for safety.
        for _ in 0..16 {
            let again = self.rewrite(&Url::parse(&normal).map_err(UrlError::Unreadable)?)?;
            if again == normal {
                break;
            }
            normal = again;
        }
        Ok(normal)
    }

    /// Most URLs are already in the normal form; this sees it without building another text.
    fn is_plain(&self, url: &Url, found: &str) -> bool {
        *self == Self::default()
            && matches!(url.scheme(), "http" | "https")
            && !found.bytes().any(|b| b == b'%' || b == b'^')
            && url.host_str().is_some_and(|host| !host.ends_with('.'))
    }

    fn rewrite(&self, url: &Url) -> Result<String, UrlError> {
        let mut normal = String::with_capacity(url.as_str().len() + 8);
        normal.push_str(url.scheme());
        normal.push(':');
        let needs_host = matches!(url.scheme(), "http" | "https" | "ftp" | "ws" | "wss");
        if url.has_authority() {
            normal.push_str("//");
            let mut host = url.host_str().unwrap_or("");
            // Other schemes have hosts of their own making, in which a dot may mean anything.
            if needs_host || (url.scheme() == "file" && host.contains(|c| c != '.')) {
                host = host.trim_end_matches('.');
            }
            if self.www && needs_host {
                // Only where a whole name remains: `www.pt` is a site of its own.
                while let Some(rest) = host.strip_prefix("www.").filter(|rest| rest.contains('.')) {
                    host = rest;
                }
            }
            if host.is_empty() && needs_host {
                return Err(UrlError::NoHost);
            }
            normal.push_str(host);
            if let Some(port) = url.port() {
                normal.push(':');
                normal.push_str(&port.to_string());
            }
        } else if needs_host {
            return Err(UrlError::NoHost);
        }
        self.push_path(&mut normal, url);
        if let Some(query) = url.query() {
            self.push_query(&mut normal, query);
        }
        Ok(normal)
    }

    fn push_path(&self, normal: &mut String, url: &Url) {
        if url.cannot_be_a_base() {
            let path = url.path();
            normal.push_str(if url.query().is_none() {
                path.trim_end_matches(' ')
            } else {
                path
            });
            return;
        }
        let mut path = normal_escapes(url.path());
        if self.session_ids {
            path = drop_path_parameter(&path);
        }
        if self.lower_case_path {
            path = lower_case_outside_escapes(&path);
        }
        // Without its last slash a directory may look like an index file in turn.
        loop {
            let before = path.len();
            if self.index_files {
                let directory = path.rfind('/').map_or(0, |at| at + 1);
                if is_index_file(&path[directory..]) {
                    path.truncate(directory);
                }
            }
            if self.trailing_slash && path.len() > 1 {
                let kept = path.trim_end_matches('/').len().max(1);
                path.truncate(kept);
            }
            if path.len() == before {
                break;
            }
        }
        // A path that begins with two slashes and no authority would read as an authority.
        if !url.has_authority() && path.starts_with("//") {
            normal.push_str("/.");
        }
        normal.push_str(&path);
    }

    fn push_query(&self, normal: &mut String, query: &str) {
        let query = normal_escapes(query);
        if !(self.session_ids || self.tracking || self.parameter_order) {
            normal.push('?');
            normal.push_str(&query);
            return;
        }
        let mut parameters: Vec<&str> = query
            .split('&')
            .filter(|parameter| {
                let name = parameter.split('=').next().unwrap_or(parameter);
                !(self.session_ids && is_session_name(name)
                    || self.tracking && is_tracking_name(name))
            })
            .collect();
        if self.parameter_order {
            parameters.sort_unstable();
        }
        if !parameters.iter().all(|parameter| parameter.is_empty()) {
            normal.push('?');
            normal.push_str(&parameters.join("&"));
        }
    }
}

/// The URL without its user name and password, where it has any: a secret must be neither stored
/// nor sent on, and who logs in says so elsewhere.
fn without_login(url: &Url) -> Option<Url> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut bare = url.clone();
    bare.set_password(None).ok()?;
    bare.set_username("").ok()?;
    Some(bare)
}

/// What the URL standard removes from the beginning of a reference.
fn is_junk(c: char) -> bool {
    c <= ' '
}

fn is_slash(c: char) -> bool {
    matches!(c, '/' | '\\')
}

/// Decodes unreserved characters, writes hex digits in capitals and encodes `^`. A `%` that begins no
/// escape stays, and so does an escape that would make one of it when it is decoded: `%%34%31` is
/// neither `%41` nor `A`.
fn normal_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut copied = 0;
    // Where the last `%` that begins no escape ends in `out`.
    let mut stray = None;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                out.push_str(&text[copied..at]);
                if let Some(byte) = escaped_byte(&bytes[at..]) {
                    let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                    let begun = stray.map(|end: usize| &out.as_bytes()[end..]);
                    let would_escape = byte.is_ascii_hexdigit()
                        && begun.is_some_and(|begun| match begun {
                            [] => true,
                            [one] => one.is_ascii_hexdigit(),
                            _ => false,
                        });
                    if is_unreserved && !would_escape {
                        out.push(char::from(byte));
                    } else {
                        out.push_str(&format!("%{byte:02X}"));
                    }
                    at += 3;
                } else {
                    out.push('%');
                    stray = Some(out.len());
                    at += 1;
                }
                copied = at;
            }
            b'^' => {
                out.push_str(&text[copied..at]);
                out.push_str("%5E");
                at += 1;
                copied = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// What an escape at the beginning stands for, where there is one.
fn escaped_byte(bytes: &[u8]) -> Option<u8> {
    let hex = |at: usize| bytes.get(at).and_then(|&b| char::from(b).to_digit(16));
    if bytes.first() != Some(&b'%') {
        return None;
    }
    u8::try_from(hex(1)? * 16 + hex(2)?).ok()
}

fn lower_case_outside_escapes(path: &str) -> String {
    let mut skip = 0;
    path.char_indices()
        .map(|(at, c)| {
            if skip > 0 {
                skip -= 1;
                return c;
            }
            if escaped_byte(&path.as_bytes()[at..]).is_some() {
                skip = 2;
            }
            c.to_ascii_lowercase()
        })
        .collect()
}

/// Drops `;jsessionid=…` and its kin from the end of each segment.
fn drop_path_parameter(path: &str) -> String {
    path.split('/')
        .map(|segment| {
            let mut parts = segment.split(';');
            let mut kept = parts.next().unwrap_or("").to_owned();
            for part in parts {
                if !is_session_name(part.split('=').next().unwrap_or(part)) {
                    kept.push(';');
                    kept.push_str(part);
                }
            }
            kept
        })
        .collect::<Vec<_>>()
        .join("/")
}

fn is_index_file(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let Some((stem, extension)) = lower.split_once('.') else {
        return false;
    };
    matches!(stem, "index" | "default" | "home")
        && matches!(
            extension,
            "html"
                | "htm"
                | "shtml"
                | "xhtml"
                | "phtml"
                | "php"
                | "php3"
                | "php4"
                | "php5"
                | "asp"
                | "aspx"
                | "jsp"
                | "jspx"
                | "jspa"
                | "jsf"
                | "cfm"
                | "cgi"
        )
}

/// Whether a parameter of this name carries a session id.
pub(crate) fn is_session_name(name: &str) -> bool {
    const NAMES: [&str; 15] = [
        "jsessionid",
        "bv_sessionid",
        "_sessionid",
        "_sid",
        "phpsessid",
        "sid",
        "sessionid",
        "session_id",
        "session",
        "aspsessionid",
        "cfid",
        "cftoken",
        "oscsid",
        "zenid",
        "s_id",
    ];
    let lower = name.to_ascii_lowercase();
    NAMES.contains(&lower.as_str()) || lower.starts_with("aspsessionid")
}

fn is_tracking_name(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "mc_cid", "mc_eid",
        "igshid", "_ga", "_gl", "_hsenc", "_hsmi",
    ];
    let lower = name.to_ascii_lowercase();
    lower.starts_with("utm_") || NAMES.contains(&lower.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, canonical: &str) {
        assert_eq!(CanonicalUrl::parse(input).unwrap().as_str(), canonical);
    }

    #[track_caller]
    fn check_with(form: &NormalForm, input: &str, canonical: &str) {
        assert_eq!(form.parse(input).unwrap().normal().as_str(), canonical);
    }

    #[test]
    fn the_safe_rules_hold() {
        check("HTTP://Example.ORG:80", "http://example.org/");
        check("http://example.org./a", "http://example.org/a");
        check("http://a.example/b/../c/./d#top", "http://a.example/c/d");
        check(
            "http://a.example/%7euser/%c3%a9%2f",
            "http://a.example/~user/%C3%A9%2F",
        );
        check("http://a.example/a^b?c^d", "http://a.example/a%5Eb?c%5Ed");
        check("http://a.example/100%", "http://a.example/100%");
        check("http://a.example/a\n\tb", "http://a.example/ab");
        check("http://café.example/", "http://xn--caf-dma.example/");
        check("http://0x7f.1/", "http://127.0.0.1/");
        check("http://a.example/?", "http://a.example/?");
    }

    /// What begins no escape is none, and becomes none when its neighbours are decoded.
    #[test]
    fn a_stray_percent_sign_stays_what_it_is() {
        for (text, normal) in [
            ("/%zz", "/%zz"),
            ("/%25zz", "/%25zz"),
            ("/%", "/%"),
            ("/%%41", "/%%41"),
            ("/%4%31", "/%4%31"),
            ("/%%34%31", "/%%341"),
            ("/%%32e", "/%%32e"),
            ("/%%7e%c3", "/%~%C3"),
            ("/%z%41?%&%6", "/%zA?%&%6"),
        ] {
            let (text, normal) = (
                format!("http://a.example{text}"),
                format!("http://a.example{normal}"),
            );
            check(&text, &normal);
            check(&normal, &normal);
        }
        let lower = NormalForm {
            lower_case_path: true,
            ..NormalForm::default()
        };
        check_with(
            &lower,
            "http://a.example/100%/ABC%C3%ZB",
            "http://a.example/100%/abc%C3%zb",
        );
    }

    #[test]
    fn the_url_requested_is_the_url_found() {
        let found = NormalForm::default()
            .parse("http://a.example./%7euser#x")
            .unwrap();
        assert_eq!(found.request(), "http://a.example./%7euser");
        assert_eq!(found.normal().as_str(), "http://a.example/~user");
    }

    #[test]
    fn a_login_in_a_url_is_neither_its_name_nor_requested() {
        for text in [
            "http://ann:secret@a.example/x",
            "http://secret@a.example:80/x",
        ] {
            let found = NormalForm::default().parse(text).unwrap();
            assert_eq!(found.normal().as_str(), "http://a.example/x");
            assert_eq!(found.request(), "http://a.example/x");
        }
        // The `@` decides the host once and for all.
        check("http://good@bad.example/", "http://bad.example/");
        check("http://good:80@bad.example/", "http://bad.example/");
        check("http://good#@bad.example/", "http://good/");
        check("ftp://ann:secret@a.example/x", "ftp://a.example/x");
    }

    #[test]
    fn a_drive_letter_settles_at_once() {
        check("file://a.example//C|", "file:///C:");
    }

    #[test]
    fn many_slashes_before_a_host_are_two() {
        let base = Url::parse("http://example.org/a").unwrap();
        for (reference, url) in [
            ("///test", "http://test/"),
            (" \\//test/../b", "http://test/b"),
        ] {
            assert_eq!(
                NormalForm::default()
                    .resolve(&base, reference)
                    .unwrap()
                    .request(),
                url
            );
        }
        for reference in ["//", "///", "http://"] {
            assert!(
                NormalForm::default().resolve(&base, reference).is_err(),
                "{reference}"
            );
        }
    }

    #[test]
    fn unsafe_rules_are_a_choice() {
        let all = NormalForm {
            index_files: true,
            www: true,
            trailing_slash: true,
            session_ids: true,
            tracking: true,
            parameter_order: true,
            lower_case_path: true,
        };
        check_with(
            &all,
            "http://www.a.example/X/Index.HTML",
            "http://a.example/x",
        );
        check_with(
            &all,
            "http://a.example/p;jsessionid=9?b=2&utm_source=x&a=1&PHPSESSID=3",
            "http://a.example/p?a=1&b=2",
        );
        check_with(&all, "http://www.pt/", "http://www.pt/");
        check_with(&all, "http://a.example/%C3%A9A", "http://a.example/%C3%A9a");
        check_with(&all, "http://www.www.a.example/", "http://a.example/");
        check_with(
            &all,
            "http://a.example/b/..;sid=1/c/index.html/index.html",
            "http://a.example/c",
        );
    }

    #[test]
    fn parts_are_found() {
        let url = CanonicalUrl::parse("https://u:p@www.example.co.uk:8443/a/b/?q=1").unwrap();
        assert_eq!(url.scheme(), "https");
        assert_eq!(url.authority(), "www.example.co.uk:8443");
        assert_eq!(url.host_str(), "www.example.co.uk");
        assert_eq!(url.site(), "example.co.uk");
        assert_eq!(url.path_and_query(), "/a/b/?q=1");
        assert_eq!(url.path_depth(), 2);
        let six = CanonicalUrl::parse("http://[::1]:8080/").unwrap();
        assert_eq!(six.host_str(), "[::1]");
        assert_eq!(six.origin(), "http://[::1]:8080");
    }
}
