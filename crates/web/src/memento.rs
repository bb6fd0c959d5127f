//! Memento (RFC 7089): which copies of a page there are, in headers and lists that other tools read.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::address::archive;
use crate::library::Copy;

/// Copies that a list names; the newest of more.
pub(crate) const MAX_LISTED: usize = 10_000;

/// `Sun, 15 Nov 2026 20:00:00 GMT`.
pub(crate) fn http_date(copy: &Copy) -> String {
    let moment = copy.entry.fetched().unwrap_or_default();
    let seconds = jiff::Timestamp::from_second(moment.as_seconds()).unwrap_or_default();
    seconds.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// The relations of a copy: its original, its lists, and the first, last and neighbouring copies.
pub(crate) fn links(base: &str, url: &str, copies: &[Copy], at: Option<usize>) -> String {
    let mut links = vec![
        format!("<{}>; rel=\"original\"", safe(url)),
        format!("<{base}/timegate/{}>; rel=\"timegate\"", safe(url)),
        format!(
            "<{base}/timemap/link/{}>; rel=\"timemap\"; type=\"application/link-format\"",
            safe(url)
        ),
    ];
    let mut shown = vec![0, copies.len().saturating_sub(1)];
    shown.extend(
        at.into_iter()
            .flat_map(|at| [at.saturating_sub(1), at, at + 1]),
    );
    shown.sort_unstable();
    shown.dedup();
    for place in shown.into_iter().filter(|place| *place < copies.len()) {
        links.push(link(base, copies, place, at));
    }
    links.join(", ")
}

fn link(base: &str, copies: &[Copy], place: usize, at: Option<usize>) -> String {
    let copy = &copies[place];
    let mut rel = Vec::new();
    if place == 0 {
        rel.push("first");
    }
    if place + 1 == copies.len() {
        rel.push("last");
    }
    if at.is_some_and(|at| at == place + 1) {
        rel.push("prev");
    }
    if at.is_some_and(|at| at + 1 == place) {
        rel.push("next");
    }
    rel.push("memento");
    format!(
        "<{base}{}>; rel=\"{}\"; datetime=\"{}\"",
        archive(&copy.entry.timestamp, &copy.entry.url),
        rel.join(" "),
        http_date(copy)
    )
}

/// The whole list, as `application/link-format`.
pub(crate) fn time_map(base: &str, url: &str, copies: &[Copy]) -> String {
    let copies = &copies[copies.len().saturating_sub(MAX_LISTED)..];
    let mut lines = vec![format!("<{}>; rel=\"original\"", safe(url))];
    let span = match (copies.first(), copies.last()) {
        (Some(first), Some(last)) => format!(
            "; from=\"{}\"; until=\"{}\"",
            http_date(first),
            http_date(last)
        ),
        _ => String::new(),
    };
    lines.push(format!(
        "<{base}/timemap/link/{}>; rel=\"self\"; type=\"application/link-format\"{span}",
        safe(url)
    ));
    lines.push(format!("<{base}/timegate/{}>; rel=\"timegate\"", safe(url)));
    lines.extend((0..copies.len()).map(|place| link(base, copies, place, None)));
    lines.join(",\n") + "\n"
}

/// What a copy says of itself.
pub(crate) fn put_headers(headers: &mut HeaderMap, copy: &Copy, links: &str) {
    let mut put = |name: &'static str, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    put("memento-datetime", &http_date(copy));
    put(header::LINK.as_str(), links);
}

/// A URL that ends no header and no angle bracket.
fn safe(url: &str) -> String {
    archive("", url)
        .trim_start_matches("/archive/")
        .trim_start_matches('/')
        .to_owned()
}
