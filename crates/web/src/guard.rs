//! What holds for every request and every answer: who may ask, and what a browser may do with it.

use std::net::IpAddr;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::identify;
use crate::pages::App;

/// What Teia's own pages may load: what this server gives, and nothing else.
const OWN_PAGES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Refuses what is not for us, and puts the headers on every answer that has no stricter ones.
pub(crate) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let began = Instant::now();
    let mut response = match refusal(&app, &request) {
        Some((status, sentence)) => (status, format!("{sentence}\n")).into_response(),
        None => {
            let identity = identify(&app, &request);
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
    };
    let status = response.status().as_u16();
    app.traffic.note(status, began.elapsed());
    // Debug formatting escapes line breaks and control codes: one request, one line.
    tracing::debug!(%method, uri = ?uri.to_string(), status, "answered");
    harden(response.headers_mut());
    response
}

fn refusal(app: &App, request: &Request) -> Option<(StatusCode, &'static str)> {
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_ours(host, &app.config.hosts)) {
        let sentence = "This name is not known here. Use the address that `teia serve` printed, or name it with --host.";
        return Some((StatusCode::MISDIRECTED_REQUEST, sentence));
    }
    if request.uri().path().len() > 16 << 10
        || request
            .uri()
            .query()
            .is_some_and(|query| query.len() > most_query_bytes(request.uri().path()))
    {
        return Some((StatusCode::URI_TOO_LONG, "The address is too long."));
    }
    if is_foreign_embedding(headers) && !has_key(request.uri().path(), &app.key) {
        let sentence = "Archived parts are shown inside archived pages only.";
        return Some((StatusCode::FORBIDDEN, sentence));
    }
    None
}

/// A search that is too long is told so by the search itself. (No address is longer than 64 KiB.)
fn most_query_bytes(path: &str) -> usize {
    let is_search = matches!(path, "/search" | "/api/search" | "/api/search.csv");
    if is_search { usize::MAX } else { 32 << 10 }
}

/// Whether a `Host` header names this server: an address, `localhost`, or a name that was configured.
/// An attacker's page can let its own name point to us, but cannot send another `Host`.
pub(crate) fn is_ours(host: &str, configured: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if port.is_empty() || port.starts_with(':') => address,
            _ => return false,
        },
        None => host.split_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) {
                name
            } else {
                ""
            }
        }),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || configured
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether another site's page loads something from here. An archived page has an origin of its own, so
/// its parts count as foreign too; but their addresses hold our key, and no other site knows it.
fn is_foreign_embedding(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let foreign =
        text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let navigates =
        text("sec-fetch-mode") == Some("navigate") && text("sec-fetch-dest") == Some("document");
    foreign && !navigates
}

/// `/archive/20261115im_KEY/…`
pub(crate) fn has_key(path: &str, key: &str) -> bool {
    let time = path
        .strip_prefix("/archive/")
        .and_then(|rest| rest.split('/').next());
    time.is_some_and(|time| time.rsplit_once('_').is_some_and(|(_, found)| found == key))
}

fn harden(headers: &mut HeaderMap) {
    let mut put = |name: HeaderName, value: &'static str| {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, OWN_PAGES);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::REFERRER_POLICY, "same-origin");
    put(header::X_DNS_PREFETCH_CONTROL, "off");
    put(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    put(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    let sensors = "camera=(), microphone=(), geolocation=(), payment=(), usb=()";
    put(HeaderName::from_static("permissions-policy"), sensors);
    put(header::CACHE_CONTROL, "no-cache");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_ours() {
        let configured = ["teia.example".to_owned()];
        for good in [
            "127.0.0.1:7070",
            "localhost",
            "LOCALHOST:1",
            "[::1]:7070",
            "teia.example:80",
            "10.0.0.7",
        ] {
            assert!(is_ours(good, &configured), "{good}");
        }
        for bad in [
            "evil.example",
            "127.0.0.1.evil.example:7070",
            "",
            "localhost:x",
            "[::1",
            "[::1]x",
            "127.0.0.1:7070@evil",
        ] {
            assert!(!is_ours(bad, &configured), "{bad}");
        }
    }
}
