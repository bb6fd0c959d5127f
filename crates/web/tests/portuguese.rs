//! Who reads Portuguese reads it on every page: nothing English is left over.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use support::{LittleWeb, Served};
use teia_base::{CanonicalUrl, DiskFiles};
use teia_engine::{Directory, Layout, Removals};
use teia_web::{Role, WebConfig};

/// Small words that no Portuguese sentence has.
const ENGLISH: &[&str] = &[
    "the", "of", "and", "is", "are", "was", "were", "with", "from", "this", "that", "which",
    "what", "when", "where", "not", "have", "has", "been", "each", "every", "by", "at", "it",
    "its", "page", "pages", "host", "hosts", "run", "runs", "found", "fetched", "waiting",
    "search", "show", "remove", "save", "errors", "links", "none", "other", "others", "than",
    "then", "only", "first", "last", "there", "they", "their", "you", "your", "can", "may", "will",
    "more", "less", "yes", "removed", "request", "exclude", "scope", "trap",
];

/// What settings may be set to, as it stands in files in every language.
const AS_WRITTEN: &[&str] = &["host", "run"];
/// The same behind words of ours.
const SCOPE: &str = "fora do âmbito host";

/// A web that is Portuguese, so that what is English is ours.
fn web() -> LittleWeb {
    let web = LittleWeb::start();
    web.put(
        "/robots.txt",
        "Content-Type: text/plain",
        "User-agent: *\nDisallow: /privado/\n",
    );
    web.html(
        "/",
        "<html lang='pt'><title>Aves do rio</title><p>O guarda-rios voa devagar sobre a ribeira e pousa nos ramos secos.</p>\
         <a href='/um'>um</a><a href='/dois'>dois</a><a href='/falta'>falta</a><a href='/privado/x'>privado</a>\
         <a href='http://longe.exemplo/'>longe</a><a href='/muda'>muda</a><a href='/fora/x'>fora</a>\
         <a href='/removida'>removida</a><a href='/avaria'>avaria</a>",
    );
    web.put("/avaria", "Location: /avaria", "");
    for page in ["/um", "/dois"] {
        web.html(
            page,
            &format!("<html lang='pt'><title>Página {page}</title><p>Uma garça branca pescava junto da ponte velha, {page}.</p><a href='/'>voltar</a>"),
        );
    }
    web
}

/// What people read on a page: texts, and what stands in titles, labels and places to write. What is a program's own
/// (scripts, settings as they are written) is left out.
fn shown(html: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = html;
    let mut is_in_cell = false;
    while let Some(at) = rest.find('<') {
        texts.push(rest[..at].to_owned());
        rest = &rest[at..];
        let end = rest.find('>').map_or(rest.len(), |end| end + 1);
        let tag = &rest[..end];
        for name in ["title=\"", "aria-label=\"", "placeholder=\"", "alt=\""] {
            if let Some((_, value)) = tag.split_once(name) {
                texts.push(value.split('"').next().unwrap().to_owned());
            }
        }
        rest = &rest[end..];
        // In the cell of a table stand words of ours, unless it leads somewhere; elsewhere it is what others wrote.
        let is_cell = tag == "<bdi>" && std::mem::take(&mut is_in_cell);
        is_in_cell = tag.starts_with("<td");
        if is_cell {
            continue;
        }
        for skipped in [
            "script", "style", "textarea", "pre", "code", "kbd", "bdi", "samp",
        ] {
            let is_it = tag.strip_prefix('<').is_some_and(|tag| {
                let after = tag.strip_prefix(skipped);
                after.is_some_and(|after| after.starts_with(['>', ' ', '\n']))
            });
            if is_it {
                let close = format!("</{skipped}>");
                rest = rest.split_once(&close).map_or("", |(_, after)| after);
            }
        }
    }
    texts.push(rest.to_owned());
    texts.retain(|text| !text.trim().is_empty());
    texts
}

/// Somebody asked for a page to be left alone before anything was collected.
fn removed_before(root: &Path, url: &str) {
    Directory::create(root).unwrap();
    let mut removals = Removals::default();
    removals.add_url(&CanonicalUrl::parse(url).unwrap());
    let files = DiskFiles::new(root).unwrap();
    removals
        .write(&files, &Layout::new("default").unwrap())
        .unwrap();
}

#[test]
fn no_page_is_half_english_for_who_reads_portuguese() {
    let web = web();
    let folder = tempfile::tempdir().unwrap();
    removed_before(folder.path(), &web.url("/removida"));
    support::collect_with(folder.path(), &web, "default", |config| {
        config.filter.exclude = vec!["/fora/".to_owned()];
    });
    support::filling::refill(folder.path(), "default");
    let served = Served::new(folder, WebConfig::default());
    let (session, _) = served.log_in(&served.token(Role::Admin));
    let words = |text: &str| -> BTreeMap<String, String> { toml::from_str(text).unwrap() };
    let english = words(include_str!("../words/en.toml"));
    let portuguese = words(include_str!("../words/pt.toml"));
    // What English pages say, cut where something is filled in.
    let mut known: Vec<&str> = Vec::new();
    for (key, text) in &english {
        if portuguese[key] != *text {
            let parts = text.split("{}").map(str::trim);
            known.extend(parts.filter(|part| part.len() > 12 && part.contains(' ')));
        }
    }
    assert!(known.len() > 200, "{}", known.len());
    let front = web.url("/");
    let pages = [
        "/".to_owned(),
        "/search?q=".to_owned(),
        "/search?q=rio".to_owned(),
        "/search?q=nadadisto".to_owned(),
        "/search?q=%22rio".to_owned(),
        "/help".to_owned(),
        format!("/page?url={front}"),
        format!("/page?url={front}&tab=links"),
        format!("/page?url={front}&tab=history"),
        "/page?url=http://ninguem.exemplo/".to_owned(),
        "/collections".to_owned(),
        "/collections/default".to_owned(),
        "/collections/default?level=warning".to_owned(),
        "/collections/new".to_owned(),
        "/collections/default/edit".to_owned(),
        "/collections/falta".to_owned(),
        "/urls".to_owned(),
        "/urls?state=excluded".to_owned(),
        "/urls?state=fetched".to_owned(),
        "/urls?state=gone".to_owned(),
        "/urls?state=failed".to_owned(),
        "/urls?host=127.0.0.1".to_owned(),
        "/hosts".to_owned(),
        "/hosts/127.0.0.1".to_owned(),
        "/hosts/ninguem.exemplo".to_owned(),
        "/map".to_owned(),
        "/explain".to_owned(),
        format!("/explain?url={front}"),
        format!("/explain?url={front}privado/x"),
        format!("/explain?url={front}removida"),
        "/explain?url=http://ninguem.exemplo/".to_owned(),
        "/statistics".to_owned(),
        "/settings".to_owned(),
        "/bot".to_owned(),
        "/login".to_owned(),
        "/nada-aqui".to_owned(),
    ];
    let mut left = Vec::new();
    for path in &pages {
        let headers = [
            ("Cookie", session.as_str()),
            ("Accept-Language", "pt-PT,pt;q=0.9,en;q=0.5"),
        ];
        let seen = served.ask("GET", path, &headers).text();
        assert!(seen.contains("<html lang=\"pt\""), "{path}: {seen}");
        let texts = shown(&seen);
        // Of each state there is a row, so that its words are read.
        if path.contains("state=") {
            assert!(seen.contains("<td"), "{path}: {seen}");
        }
        assert!(texts.len() > 10, "{path}");
        for text in texts {
            if AS_WRITTEN.contains(&text.trim()) {
                continue;
            }
            let text = text.replace(SCOPE, "");
            // The names of outcomes are for programs.
            assert!(!text.contains("http_"), "{path}: {text}");
            let found = known.iter().find(|it| text.contains(*it));
            let mut tokens = text.split_whitespace().map(|token| {
                token.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '`')
            });
            let word = tokens.find(|token| ENGLISH.contains(&token.to_lowercase().as_str()));
            if let Some(found) = found.copied().or(word) {
                left.push(format!("{path}: {found:?} in {:?}", text.trim()));
            }
        }
    }
    left.sort();
    left.dedup();
    assert!(
        left.is_empty(),
        "English on Portuguese pages:\n{}",
        left.join("\n")
    );
}
