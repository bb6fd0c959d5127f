//! What every page has around it: language, appearance, the query, and the way back to itself.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Uri, header};

use crate::access::{Caller, Identity, Role, is_https};
use crate::address::escape;
use crate::words::{Tongue, Words};

/// The surroundings of one answer.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) w: &'static Words,
    /// `light`, `dark`, or empty: as the system says.
    pub(crate) theme: &'static str,
    /// The path and query that were asked for.
    pub(crate) here: String,
    /// What stands in the query box.
    pub(crate) query: String,
    /// What a new query from this page keeps: names and values.
    pub(crate) kept: Vec<(&'static str, String)>,
    /// The `Host` that was asked.
    pub(crate) host: String,
    /// How the browser came here, also through a proxy.
    scheme: &'static str,
    /// Who asks, where they are known.
    pub(crate) caller: Option<Caller>,
}

impl Frame {
    pub(crate) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The address of this server, as the one who asks knows it.
    pub(crate) fn base(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }

    /// What the forms of this session carry; empty where there is none.
    pub(crate) fn csrf(&self) -> &str {
        let caller = self.caller.as_ref();
        caller
            .and_then(|caller| caller.csrf.as_deref())
            .unwrap_or("")
    }

    /// Whether the one who asks may do what this role may.
    pub(crate) fn may(&self, role: Role) -> bool {
        self.caller
            .as_ref()
            .is_some_and(|caller| caller.role >= role)
    }

    /// Whether this page belongs to a place.
    pub(crate) fn is_at(&self, place: &str) -> bool {
        self.here
            .strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '.']))
    }

    /// The collection that this page is about, so that the next one is about it too.
    pub(crate) fn collection(&self) -> Option<&str> {
        let (path, query) = self.here.split_once('?').unwrap_or((&self.here, ""));
        let mut fields = query.split('&');
        let named = fields.find_map(|field| field.strip_prefix("collection="));
        let of_path = || path.strip_prefix("/collections/")?.split('/').next();
        let named = named.or_else(of_path)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.%".contains(c);
        (!named.is_empty() && named != "new" && named.chars().all(is_name)).then_some(named)
    }

    /// The address of another place, with the same collection.
    pub(crate) fn place(&self, href: &str) -> String {
        match self.collection() {
            Some(name) if href != "/collections" => format!("{href}?collection={name}"),
            _ => href.to_owned(),
        }
    }

    pub(crate) fn escaped_here(&self) -> String {
        escape(&self.here)
    }

    pub(crate) fn themes(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("auto", "theme.auto"),
            ("light", "theme.light"),
            ("dark", "theme.dark"),
        ]
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Frame {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::read(&parts.uri, &parts.headers, &parts.extensions))
    }
}

impl Frame {
    /// What surrounds the answer to a request.
    pub(crate) fn of(request: &Request) -> Self {
        Self::read(request.uri(), request.headers(), request.extensions())
    }

    fn read(uri: &Uri, headers: &HeaderMap, extensions: &Extensions) -> Self {
        let text = |name| {
            let value = headers.get(name);
            value.and_then(|value| value.to_str().ok()).unwrap_or("")
        };
        let cookies = text(header::COOKIE);
        let cookie = |name: &str| {
            cookies
                .split(';')
                .filter_map(|cookie| cookie.trim().split_once('='))
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value)
        };
        let tongue = cookie("teia-lang")
            .and_then(Tongue::of_code)
            .unwrap_or_else(|| Tongue::of_header(text(header::ACCEPT_LANGUAGE)));
        let theme = match cookie("teia-theme") {
            Some("light") => "light",
            Some("dark") => "dark",
            _ => "",
        };
        let identity = extensions.get::<Identity>();
        Self {
            w: tongue.words(),
            theme,
            here: uri
                .path_and_query()
                .map_or_else(|| "/".to_owned(), ToString::to_string),
            query: String::new(),
            kept: Vec::new(),
            scheme: if is_https(headers) { "https" } else { "http" },
            host: text(header::HOST).to_owned(),
            caller: identity.and_then(Identity::caller).cloned(),
        }
    }
}
