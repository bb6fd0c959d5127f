//! The small pages: the first one, help, the switches, and files that never change.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use teia_search::{SearchRequest, Sort};

use super::{App, Asking, Failure, Frame, html};

/// How long a browser keeps a choice of language or appearance: a year.
const KEPT: &str = "Path=/; Max-Age=31536000; SameSite=Lax";

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    collections: Vec<(String, u64)>,
    documents: u64,
    data: String,
}

/// The query box, and what there is to search.
pub(crate) async fn home(State(app): State<App>, frame: Frame) -> Response {
    app.look_up(frame, |app, frame| {
        let indexed = app.library.searcher().collections();
        let count = |name: &str| {
            let found = indexed.iter().find(|(known, _)| known == name);
            found.map_or(0, |(_, count)| *count)
        };
        let shelves = app.library.shelves();
        let named = shelves.iter().map(|shelf| shelf.name.clone());
        html(&Home {
            collections: named.map(|name| (name.clone(), count(&name))).collect(),
            documents: indexed.iter().map(|(_, count)| count).sum(),
            data: app.library.shown_root(),
            frame,
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "help.html")]
pub(crate) struct Help {
    pub(crate) frame: Frame,
    pub(crate) examples: Vec<String>,
}

/// The syntax of queries, with examples from what was collected.
pub(crate) async fn help(State(app): State<App>, frame: Frame) -> Response {
    app.look_up(frame, |app, frame| {
        let examples = examples(app)?;
        html(&Help { frame, examples })
    })
    .await
}

/// Three queries that find something: a word, a phrase, a site.
pub(crate) fn examples(app: &App) -> Result<Vec<String>, Failure> {
    let mut request = SearchRequest::new("type:html");
    request.limit = 8;
    request.sort = Sort::Relevance;
    let hits = app.library.searcher().search(&request)?.hits;
    let hits: Vec<_> = hits
        .iter()
        .filter(|hit| !app.library.hides(&hit.url))
        .collect();
    let words = |title: &str| -> Vec<String> {
        let letters = |c: char| !c.is_alphanumeric();
        let words = title.split(letters).filter(|word| word.chars().count() > 1);
        words.map(str::to_owned).collect()
    };
    let mut examples = Vec::new();
    let word = hits.iter().find_map(|hit| {
        let words = words(&hit.title);
        words.into_iter().find(|word| word.chars().count() >= 5)
    });
    examples.extend(word.map(|word| word.to_lowercase()));
    let phrase = hits.iter().rev().find_map(|hit| {
        let start = hit.title.split([',', '|', '·', ':', '(']).next()?.trim();
        (words(start).len() > 1 && start.len() < 60).then(|| format!("\"{start}\""))
    });
    examples.extend(phrase.map(|phrase| phrase.replace("\"\"", "\"")));
    let site = hits.last().and_then(|hit| {
        let url = teia_base::CanonicalUrl::parse(&hit.url).ok()?;
        Some(format!("site:{}", url.host_str()))
    });
    examples.extend(site);
    Ok(examples)
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice {
    lang: Option<String>,
    theme: Option<String>,
    next: Option<String>,
}

/// Notes a choice in a cookie and goes back, to a page of ours only.
pub(crate) async fn set(Asking(choice): Asking<Choice>) -> Response {
    let next = choice.next.as_deref().filter(|next| is_own_path(next));
    let mut response = (
        StatusCode::SEE_OTHER,
        [(header::LOCATION, next.unwrap_or("/").to_owned())],
    )
        .into_response();
    let lang = choice
        .lang
        .as_deref()
        .filter(|lang| matches!(*lang, "en" | "pt"));
    let theme = choice
        .theme
        .as_deref()
        .filter(|theme| matches!(*theme, "auto" | "light" | "dark"));
    let cookies = [("teia-lang", lang), ("teia-theme", theme)];
    for (name, value) in cookies {
        if let Some(value) = value
            && let Ok(cookie) = format!("{name}={value}; {KEPT}").parse()
        {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    response
}

/// Whether a browser that is sent here stays here: one slash, and nothing that ends a header.
pub(crate) fn is_own_path(path: &str) -> bool {
    let second = path.as_bytes().get(1);
    path.starts_with('/')
        && !matches!(second, Some(b'/' | b'\\'))
        && path.len() < 16 << 10
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// So that a browser can add this search.
pub(crate) async fn opensearch(State(app): State<App>, frame: Frame) -> Response {
    let mut frame = frame;
    if frame.host.is_empty() {
        frame.host = app.address.to_string();
    }
    let (host, base) = (&frame.host, frame.base());
    let name = match host.split(':').next() {
        Some("127.0.0.1" | "localhost") | None => "Teia".to_owned(),
        Some(name) => format!("Teia {}", name.chars().take(11).collect::<String>()),
    };
    // The host was checked: letters, digits, dots, colons and brackets.
    let text = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{name}</ShortName>
<Description>{}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Image width="64" height="64" type="image/svg+xml">{base}/static/teia.svg</Image>
<Url type="text/html" method="get" template="{base}/search?q={{searchTerms}}"/>
<Url type="application/json" rel="results" method="get" template="{base}/api/search?q={{searchTerms}}"/>
<Url type="application/x-suggestions+json" rel="suggestions" method="get" template="{base}/api/suggest?q={{searchTerms}}"/>
<Url type="application/opensearchdescription+xml" rel="self" template="{base}/opensearch.xml"/>
</OpenSearchDescription>
"#,
        frame.w.t("tagline")
    );
    let headers = [(
        header::CONTENT_TYPE,
        "application/opensearchdescription+xml",
    )];
    (headers, text).into_response()
}

/// Crawlers have nothing to find here.
pub(crate) async fn robots() -> &'static str {
    "User-agent: *\nDisallow: /\n"
}

/// Styles, scripts and the mark.
pub(crate) async fn asset(Path(name): Path<String>, frame: Frame) -> Response {
    let (media_type, content) = match name.as_str() {
        "teia.css" => (
            "text/css; charset=utf-8",
            include_str!("../../static/teia.css"),
        ),
        "teia.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../static/teia.js"),
        ),
        "manage.css" => (
            "text/css; charset=utf-8",
            include_str!("../../static/manage.css"),
        ),
        "edit.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../static/edit.js"),
        ),
        "live.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../static/live.js"),
        ),
        "map.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../static/map.js"),
        ),
        "teia.svg" => ("image/svg+xml", include_str!("../../static/teia.svg")),
        _ => return Failure::Missing("error.title", "error.notfound").into_page(&frame),
    };
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, content).into_response()
}

pub(crate) async fn nothing(frame: Frame) -> Response {
    Failure::Missing("error.title", "error.notfound").into_page(&frame)
}

#[cfg(test)]
mod tests {
    use super::is_own_path;

    #[test]
    fn a_choice_never_leads_away() {
        for good in ["/", "/search?q=a%20b", "/archive/2026/http://a.example/"] {
            assert!(is_own_path(good), "{good}");
        }
        for bad in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "",
            "/a\r\nSet-Cookie: x",
            "javascript:alert(1)",
        ] {
            assert!(!is_own_path(bad), "{bad}");
        }
    }
}
