//! `/archive/TIME/URL`: copies as they were, and the lists of them.
//!
//! TIME is 4 to 14 digits, with what pywb appends for a part of a page (`im_`, `cs_`…), or `*` for
//! the list. The URL is looked up as a key of the capture index: no name of a file comes from a request.

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use teia_archive::StoredCapture;
use teia_base::{CanonicalUrl, Timestamp};

use super::{App, Failure, Frame, html};
use crate::address::{self, Address};
use crate::library::Copy;
use crate::memento;
use crate::replay::{Kind, Rendered, Rewriter, Role, render};
use crate::words::Words;

/// Shown where a picture is not in the archive.
const NO_PICTURE: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48" viewBox="0 0 48 48"><rect x=".5" y=".5" width="47" height="47" fill="#8882" stroke="#888" stroke-dasharray="3 3"/><path d="m16 16 16 16m0-16-16 16" stroke="#888"/></svg>"##;

/// A copy, the list of copies, or the way to one of them.
pub(crate) async fn archive(
    State(app): State<App>,
    frame: Frame,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let rest = rest_of(&uri, "/archive/").to_owned();
    let accepts = Accepts::of(&headers);
    app.look_up(frame, move |app, frame| {
        let Some((time, role, url)) = split(&rest) else {
            return time_gate(app, &frame, &rest, accepts.moment);
        };
        let url = checked(url)?;
        if time == "*" {
            return list(app, frame, &url);
        }
        copy(app, frame, (time, role, &url), accepts.is_document)
    })
    .await
}

/// The list of copies for programs.
pub(crate) async fn timemap(State(app): State<App>, frame: Frame, uri: Uri) -> Response {
    let rest = rest_of(&uri, "/timemap/").to_owned();
    app.look_up(frame, move |app, frame| {
        let (is_json, url) = match rest.split_once('/') {
            Some(("json", url)) => (true, url),
            Some(("link", url)) => (false, url),
            _ => (false, rest.as_str()),
        };
        let url = checked(url)?;
        let copies = copies_of(app, &url)?;
        let base = frame.base();
        if is_json {
            let list: Vec<_> = copies
                .iter()
                .rev()
                .take(memento::MAX_LISTED)
                .rev()
                .map(|copy| {
                    json!({
                        "datetime": copy.entry.fetched().unwrap_or_default().to_string(),
                        "uri": format!("{base}{}", address::archive(&copy.entry.timestamp, &copy.entry.url)),
                        "status": copy.entry.status,
                        "mime": copy.entry.mime,
                        "digest": copy.entry.digest,
                        "collection": copy.shelf.name,
                    })
                })
                .collect();
            let body = json!({
                "original_uri": url,
                "timegate_uri": format!("{base}/timegate/{url}"),
                "mementos": { "list": list },
            });
            let headers = [(header::CONTENT_TYPE, "application/json")];
            return Ok((headers, body.to_string()).into_response());
        }
        let headers = [(header::CONTENT_TYPE, "application/link-format")];
        Ok((headers, memento::time_map(&base, &url, &copies)).into_response())
    })
    .await
}

/// The copy nearest to the moment of `Accept-Datetime`.
pub(crate) async fn timegate(
    State(app): State<App>,
    frame: Frame,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let rest = rest_of(&uri, "/timegate/").to_owned();
    let accepts = Accepts::of(&headers);
    app.look_up(frame, move |app, frame| {
        time_gate(app, &frame, &rest, accepts.moment)
    })
    .await
}

struct Accepts {
    /// The moment wanted; `Err` where it cannot be read.
    moment: Result<Option<Timestamp>, ()>,
    /// A browser wants to show it in a window of its own.
    is_document: bool,
}

impl Accepts {
    fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let moment = match text("accept-datetime") {
            None => Ok(None),
            Some(text) => Timestamp::parse_http_date(text).map(Some).ok_or(()),
        };
        Self {
            moment,
            is_document: text("sec-fetch-dest") == Some("document"),
        }
    }
}

/// What follows the prefix, as it was sent: percent-signs, slashes and query untouched.
fn rest_of<'a>(uri: &'a Uri, prefix: &str) -> &'a str {
    let whole = uri.path_and_query().map_or("", |whole| whole.as_str());
    whole.strip_prefix(prefix).unwrap_or("")
}

/// `20261115im_/http://…`; none where there is no time, only a URL.
fn split(rest: &str) -> Option<(&str, Role, &str)> {
    let (time, url) = rest.split_once('/')?;
    if time == "*" || time.eq_ignore_ascii_case("%2a") {
        return Some(("*", Role::Page, url));
    }
    let digits = time.bytes().take_while(u8::is_ascii_digit).count();
    let role = Role::parse(&time[digits..])?;
    ((4..=14).contains(&digits)).then_some((&time[..digits], role, url))
}

/// A URL that can be a key, or a refusal.
fn checked(text: &str) -> Result<String, Failure> {
    let missing = Failure::Missing("archive.none", "error.url");
    if text.len() > 8 << 10 {
        return Err(missing);
    }
    // Some clients fold two slashes into one.
    let mut url = text.to_owned();
    for scheme in ["http:/", "https:/", "ftp:/"] {
        if let Some(rest) = text
            .strip_prefix(scheme)
            .filter(|rest| !rest.starts_with('/'))
        {
            url = format!("{scheme}/{rest}");
        }
    }
    if !url.contains("://") {
        url = format!("http://{url}");
    }
    match CanonicalUrl::parse(&url) {
        Ok(_) if address::is_link(&url) => Ok(url),
        _ => Err(missing),
    }
}

/// Copies that may be shown; why there is none where there is none.
fn copies_of(app: &App, url: &str) -> Result<Vec<Copy>, Failure> {
    if app.library.hides(url) {
        return Err(Failure::Missing("archive.none", "archive.private"));
    }
    let copies = app.library.versions(url)?;
    if !copies.is_empty() {
        return Ok(copies);
    }
    if app.library.is_private(url)? {
        return Err(Failure::Private);
    }
    Err(Failure::Missing("archive.none", "archive.none.do"))
}

/// The place of the copy nearest to a moment; the last one for no moment.
fn nearest(copies: &[Copy], at: Option<Timestamp>) -> usize {
    let Some(at) = at else {
        return copies.len().saturating_sub(1);
    };
    let distance = |copy: &Copy| {
        let moment = copy.entry.fetched().unwrap_or_default();
        moment.as_micros().abs_diff(at.as_micros())
    };
    let places = copies.iter().enumerate();
    places
        .min_by_key(|(_, copy)| distance(copy))
        .map_or(0, |(place, _)| place)
}

fn time_gate(
    app: &App,
    frame: &Frame,
    url: &str,
    moment: Result<Option<Timestamp>, ()>,
) -> Result<Response, Failure> {
    let Ok(moment) = moment else {
        return Ok((StatusCode::BAD_REQUEST, "Accept-Datetime is no date.\n").into_response());
    };
    let url = checked(url)?;
    let copies = copies_of(app, &url)?;
    let place = nearest(&copies, moment);
    let target = address::archive(&copies[place].entry.timestamp, &copies[place].entry.url);
    let mut response = redirect(&target);
    let links = memento::links(&frame.base(), &url, &copies, Some(place));
    let headers = response.headers_mut();
    if let Ok(links) = HeaderValue::from_str(&links) {
        headers.insert(header::LINK, links);
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-datetime"));
    Ok(response)
}

/// Sends a browser to another address of ours.
fn redirect(target: &str) -> Response {
    match HeaderValue::from_str(target) {
        Ok(target) if target.as_bytes().starts_with(b"/archive/") => {
            (StatusCode::FOUND, [(header::LOCATION, target)]).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn copy(
    app: &App,
    frame: Frame,
    (time, role, url): (&str, Role, &str),
    is_document: bool,
) -> Result<Response, Failure> {
    let copies = match copies_of(app, url) {
        Err(Failure::Missing(..)) if role == Role::Image => return Ok(no_picture(&frame)),
        Err(Failure::Missing(..)) if role == Role::Frame => return Ok(no_frame(&frame)),
        copies => copies?,
    };
    let place = nearest(&copies, Timestamp::parse(time));
    let chosen = &copies[place];
    let is_own = role == Role::Page || role == Role::Frame;
    if is_own && chosen.entry.timestamp != time {
        let key = if role == Role::Page { "" } else { &app.key };
        let time = format!("{}{}{key}", chosen.entry.timestamp, role.mark());
        return Ok(redirect(&address::archive(&time, url)));
    }
    let stored = chosen
        .shelf
        .captures()?
        .read(&chosen.entry)
        .map_err(|error| {
            tracing::warn!(url, %error, "a copy cannot be read");
            Failure::Damaged
        })?;
    if role == Role::Image && stored.response.status >= 400 {
        return Ok(no_picture(&frame));
    }
    if let Some(target) = redirect_of(&stored, role, &app.key) {
        return Ok(redirect(&target));
    }
    let links = memento::links(&frame.base(), url, &copies, Some(place));
    let around = Around {
        copies: &copies,
        place,
        url,
    };
    let banner = (role == Role::Page).then(|| around.plain_banner(frame.w));
    let rendered = render(
        &stored,
        &chosen.shelf.limits,
        (role, &app.key),
        banner.as_deref(),
    );
    let is_shown = matches!(rendered.kind, Kind::Html | Kind::Text);
    let mut response = if role == Role::Page && is_document && is_shown {
        html(&around.framed(frame))?
    } else {
        sent(&frame.base(), url, &stored, rendered, role)
    };
    let headers = response.headers_mut();
    memento::put_headers(headers, chosen, &links);
    headers.insert(
        header::VARY,
        HeaderValue::from_static("sec-fetch-dest, accept-language, cookie"),
    );
    Ok(response)
}

/// Where an archived redirect leads, within the archive.
fn redirect_of(stored: &StoredCapture, role: Role, key: &str) -> Option<String> {
    if !matches!(stored.response.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = stored.response.head.text("location")?;
    let rewriter = Rewriter {
        base: url::Url::parse(&stored.entry.url).ok(),
        time: stored.entry.timestamp.clone(),
        key: key.to_owned(),
    };
    // A copy that leads to itself would never end.
    let own = rewriter.to_copy(&stored.entry.url, role);
    let target = rewriter.to_copy(&location, role)?;
    (own.as_ref() != Some(&target)).then_some(target)
}

/// A copy with the policy that makes it harmless: no script, no form, an origin of its own, and nothing
/// from anywhere but the archive.
fn sent(base: &str, url: &str, stored: &StoredCapture, rendered: Rendered, role: Role) -> Response {
    let here = format!("{base}/archive/");
    let policy = format!(
        "sandbox allow-top-navigation-by-user-activation; default-src 'none'; img-src {here} data:; \
         media-src {here}; font-src {here} data:; style-src {here} 'unsafe-inline'; frame-src {here}; \
         form-action 'none'; base-uri 'none'"
    );
    let status = match stored.response.status {
        status @ 400..=599 => status,
        _ => 200,
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let length = rendered.body.len();
    let mut response = (status, rendered.body.into_body()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length.into());
    let mut put = |name: &'static str, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    put("content-type", &rendered.media_type);
    put("content-security-policy", &policy);
    put("cross-origin-resource-policy", "cross-origin");
    put("referrer-policy", "no-referrer");
    if matches!(rendered.kind, Kind::Attachment | Kind::Svg) {
        put("content-disposition", &disposition(url));
    }
    if rendered.media_type.starts_with("font/") {
        put("access-control-allow-origin", "*");
    }
    if rendered.is_cut {
        put("x-teia-truncated", "length");
    }
    if role == Role::Raw {
        let declared = stored.response.media_type();
        let declared = declared.as_ref().map_or("unknown", |known| known.essence());
        put("x-archive-orig-content-type", declared);
    }
    response
}

/// RFC 6266: a name that cannot end the header, and the whole one in UTF-8.
fn disposition(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let last = parsed
        .as_ref()
        .and_then(|url| url.path_segments()?.next_back().map(str::to_owned))
        .unwrap_or_default();
    let name = percent_encoding::percent_decode_str(&last).decode_utf8_lossy();
    let name = address::clean(&name).replace(['/', '\\'], "_");
    let name: String = name.trim_matches(['.', ' ']).chars().take(120).collect();
    let name = if name.is_empty() {
        "copy".to_owned()
    } else {
        name
    };
    let plain: String = name
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | ' ' => c,
            _ => '_',
        })
        .collect();
    format!(
        "attachment; filename=\"{plain}\"; filename*=UTF-8''{}",
        address::escape(&name)
    )
}

fn no_picture(frame: &Frame) -> Response {
    let title = frame.w.t("archive.missing");
    let drawing = NO_PICTURE.replacen('>', &format!("><title>{title}</title>"), 1);
    let headers = [
        ("content-type", "image/svg+xml"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("content-security-policy", "sandbox; default-src 'none'"),
    ];
    (StatusCode::NOT_FOUND, headers, drawing).into_response()
}

/// What stands in a frame of a copy whose page is not in the archive.
fn no_frame(frame: &Frame) -> Response {
    let headers = [
        ("content-type", "text/plain; charset=utf-8"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("content-security-policy", "sandbox; default-src 'none'"),
    ];
    let text = frame.w.t("archive.missing").to_owned();
    (StatusCode::NOT_FOUND, headers, text).into_response()
}

/// A copy among the others of its page.
struct Around<'a> {
    copies: &'a [Copy],
    place: usize,
    url: &'a str,
}

#[derive(Template)]
#[template(path = "replay.html")]
struct Framed {
    frame: Frame,
    address: Address,
    when: String,
    datetime: String,
    total: usize,
    older: Option<(String, String)>,
    newer: Option<(String, String)>,
    inner: String,
}

impl Around<'_> {
    fn moment(&self) -> Timestamp {
        self.copies[self.place].moment()
    }

    /// The banner as a page of its own, the copy in a frame below it: nothing in the copy can touch it.
    fn framed(&self, frame: Frame) -> Framed {
        let w = frame.w;
        let neighbour = |place: Option<usize>| {
            let place = place?;
            let copy = self.copies.get(place)?;
            Some((
                address::archive(&copy.entry.timestamp, self.url),
                Copy::shown_moment(w, self.copies, place),
            ))
        };
        let time = format!(
            "{}{}",
            self.copies[self.place].entry.timestamp,
            Role::Frame.mark()
        );
        Framed {
            address: Address::new(self.url),
            when: Copy::shown_moment(w, self.copies, self.place),
            datetime: self.moment().to_string(),
            total: self.copies.len(),
            older: neighbour(self.place.checked_sub(1)),
            newer: neighbour(Some(self.place + 1)),
            inner: address::archive(&time, self.url),
            frame,
        }
    }

    /// The banner inside the copy, for clients that do not say that they are a window.
    fn plain_banner(&self, w: &Words) -> String {
        let text = w.f(
            "archive.banner",
            Copy::shown_moment(w, self.copies, self.place),
        );
        let captures = address::archive("*", self.url);
        format!(
            "<div id=\"teia-banner\" style=\"all:initial;display:block;padding:8px 16px;font:14px/1.4 system-ui,sans-serif;\
             background:#14343f;color:#fff;position:relative;z-index:2147483647\">{text} · \
             <a style=\"color:#9fdcf2\" href=\"{}\">{}</a></div>",
            captures.replace('&', "&amp;"),
            w.n("archive.count", self.copies.len())
        )
    }
}

/// Address and name of a copy.
type Listed = (String, String);
/// Its name, and its copies.
type Month = (String, Vec<Listed>);

#[derive(Template)]
#[template(path = "captures.html")]
struct Captures {
    frame: Frame,
    address: Address,
    total: usize,
    years: Vec<(String, Vec<Month>)>,
}

/// Copies by year and month, the newest first.
fn list(app: &App, frame: Frame, url: &str) -> Result<Response, Failure> {
    let copies = copies_of(app, url)?;
    let w = frame.w;
    let months: Vec<&str> = w.t("months").split(' ').collect();
    let mut years: Vec<(String, Vec<Month>)> = Vec::new();
    let newest_first = copies.iter().enumerate().rev();
    for (place, copy) in newest_first.take(memento::MAX_LISTED) {
        let digits = &copy.entry.timestamp;
        if digits.len() < 12 {
            continue;
        }
        let month = digits[4..6].parse::<usize>().unwrap_or(1).clamp(1, 12);
        let month = months.get(month - 1).copied().unwrap_or("?").to_owned();
        // Day and time; month and year stand above.
        let moment = Copy::shown_moment(w, &copies, place);
        let time = moment.split(' ').next_back().unwrap_or("");
        let shown = format!("{}, {time}", digits[6..8].trim_start_matches('0'));
        let listed = (address::archive(digits, &copy.entry.url), shown);
        if years.last().is_none_or(|(year, _)| *year != digits[..4]) {
            years.push((digits[..4].to_owned(), Vec::new()));
        }
        let Some((_, in_year)) = years.last_mut() else {
            continue;
        };
        match in_year.last_mut() {
            Some((known, copies)) if *known == month => copies.push(listed),
            _ => in_year.push((month, vec![listed])),
        }
    }
    html(&Captures {
        address: Address::new(url),
        total: copies.len(),
        years,
        frame,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_time_a_role_and_a_url() {
        assert_eq!(
            split("20261115/http://a/"),
            Some(("20261115", Role::Page, "http://a/"))
        );
        assert_eq!(
            split("20261115im_/http://a/b"),
            Some(("20261115", Role::Image, "http://a/b"))
        );
        assert_eq!(split("*/http://a/"), Some(("*", Role::Page, "http://a/")));
        assert_eq!(split("http://a/"), None);
        assert_eq!(split("1/http://a/"), None);
        assert_eq!(split("2026zz_/http://a/"), None);
    }

    #[test]
    fn only_addresses_of_the_web_are_looked_up() {
        assert_eq!(
            checked("http:/a.example/x").ok().as_deref(),
            Some("http://a.example/x")
        );
        assert_eq!(
            checked("a.example/x").ok().as_deref(),
            Some("http://a.example/x")
        );
        for bad in ["", "file:///etc/passwd", "javascript:alert(1)", "http://"] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_name_cannot_end_its_header() {
        let header = disposition("http://a.example/x/%22%0d%0aSet-Cookie:%20a=b%00.svg");
        assert!(!header.contains(['\r', '\n', '\0']), "{header}");
        assert_eq!(header.matches('"').count(), 2, "{header}");
        assert_eq!(
            disposition("http://a.example/"),
            "attachment; filename=\"copy\"; filename*=UTF-8''copy"
        );
        assert!(disposition("http://a.example/..%2f..%2fetc").contains("_.._etc"));
    }
}
