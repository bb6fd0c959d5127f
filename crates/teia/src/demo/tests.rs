//! What must hold for the demo web as a whole.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, LazyLock};

use url::Url;

use super::DemoWeb;
use super::answer::{Answer, Delivery};
use super::atlas::Atlas;
use super::oddities::ODDITIES;

/// One web for all the tests: building it takes a while without optimisation.
static ATLAS: LazyLock<Atlas> = LazyLock::new(Atlas::build);

/// The body as text; what is not UTF-8 here is Latin-1.
fn text_of(answer: &Answer) -> String {
    let latin = || answer.body.iter().map(|&byte| char::from(byte)).collect();
    String::from_utf8(answer.body.clone()).unwrap_or_else(|_| latin())
}

/// Every `href`, `src` and `srcset` of a page, decoded and absolute.
fn links_of(page: &Url, html: &str) -> Vec<Url> {
    let base = html
        .split("<base href=\"")
        .nth(1)
        .and_then(|rest| Url::parse(rest.split('"').next()?).ok())
        .unwrap_or_else(|| page.clone());
    let mut found = Vec::new();
    for attribute in ["href=\"", "src=\"", "srcset=\""] {
        for rest in html.split(&format!(" {attribute}")).skip(1) {
            let value = rest.split('"').next().unwrap().replace("&amp;", "&");
            for part in value.split(", ") {
                let part = if attribute == "srcset=\"" {
                    part.split(' ').next().unwrap()
                } else {
                    part
                };
                found.push(base.join(part).unwrap());
            }
        }
    }
    found
}

fn ask(atlas: &Atlas, url: &Url) -> Arc<Answer> {
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    atlas.answer(url.host_str().unwrap(), target)
}

fn is_in_trap(url: &Url) -> bool {
    ["/mapa/sala/", "/agenda/2026/12/seguinte/"]
        .iter()
        .any(|trap| url.path().starts_with(trap))
}

/// The end tags match the start tags; true of every page and every feed.
#[track_caller]
fn check_balanced(name: &str, markup: &str) {
    const VOID: [&str; 7] = ["meta", "link", "img", "input", "br", "base", "hr"];
    let mut open: Vec<&str> = Vec::new();
    for rest in markup.split('<').skip(1) {
        let tag = rest.split('>').next().unwrap();
        let element = tag
            .split([' ', '/', '\n'])
            .find(|part| !part.is_empty())
            .unwrap_or("");
        if tag.starts_with(['!', '?']) || tag.ends_with('/') || VOID.contains(&element) {
            // `link` is void in HTML and not in RSS, where its end tag is skipped with it.
            continue;
        } else if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(element), "{name}");
        } else {
            open.push(element);
        }
    }
    assert!(open.is_empty(), "{name}: {open:?}");
}

/// All that a crawl of the seeds can reach within the demo, without the traps: URL, answer.
fn reachable(atlas: &Atlas) -> BTreeMap<Url, Arc<Answer>> {
    let mut queue: VecDeque<Url> = ["museu", "birds", "biblioteca", "noticias", "recipes", "cdn"]
        .iter()
        .map(|name| Url::parse(&format!("http://{name}.demo/")).unwrap())
        .collect();
    let mut seen = BTreeMap::new();
    while let Some(mut url) = queue.pop_front() {
        url.set_fragment(None);
        let is_demo =
            url.scheme() == "http" && url.host_str().is_some_and(|host| host.ends_with(".demo"));
        if !is_demo || is_in_trap(&url) || seen.contains_key(&url) {
            continue;
        }
        let answer = ask(atlas, &url);
        if answer.is_html() && answer.status == 200 {
            queue.extend(links_of(&url, &text_of(&answer)));
        }
        if let Some((_, location)) = answer.headers.iter().find(|(name, _)| *name == "Location") {
            queue.push_back(url.join(location).unwrap());
        }
        seen.insert(url, answer);
    }
    seen
}

#[test]
fn there_are_about_three_hundred_pages_and_forty_requisites() {
    let atlas = &*ATLAS;
    let mut pages: BTreeMap<&str, usize> = BTreeMap::new();
    let mut others = 0;
    for (host, _, answer) in atlas.iter().filter(|(_, _, answer)| answer.status == 200) {
        if answer.is_html() {
            *pages.entry(host).or_default() += 1;
        } else {
            others += 1;
        }
    }
    let total: usize = pages.values().sum();
    assert!((280..=340).contains(&total), "{total} pages: {pages:?}");
    assert!((40..=65).contains(&others), "{others} files");
    assert_eq!(pages.len(), 6);
}

#[test]
fn every_link_leads_to_what_is_known() {
    let atlas = &*ATLAS;
    let odd: BTreeSet<&str> = ODDITIES.iter().map(|(url, ..)| *url).collect();
    let mut met = BTreeSet::new();
    for (url, answer) in reachable(atlas) {
        if odd.contains(url.as_str()) {
            met.insert(url.to_string());
        } else if url.host_str() == Some("www.museu.demo") {
            assert_eq!(answer.status, 301);
        } else {
            assert_eq!(answer.status, 200, "{url}");
        }
    }
    for (url, status, _) in ODDITIES {
        assert!(met.contains(url), "{url} is linked from nowhere");
        assert_eq!(
            ask(atlas, &Url::parse(url).unwrap()).status,
            status,
            "{url}"
        );
    }
}

#[test]
fn only_the_pages_of_the_sitemap_are_linked_from_nowhere() {
    let atlas = &*ATLAS;
    let reached = reachable(atlas);
    let orphans: Vec<String> = atlas
        .iter()
        .map(|(host, target, _)| format!("http://{host}{target}"))
        .filter(|url| !reached.contains_key(&Url::parse(url).unwrap()))
        .filter(|url| !url.ends_with("/robots.txt") && !url.ends_with("/sitemap.xml"))
        .collect();
    assert_eq!(
        orphans,
        [
            "http://museu.demo/noite-aberta",
            "http://museu.demo/peca-por-identificar"
        ]
    );
    let sitemap = atlas.answer("museu.demo", "/sitemap.xml");
    let sitemap = String::from_utf8_lossy(&sitemap.body);
    assert!(orphans.iter().all(|url| sitemap.contains(url.as_str())));
}

#[test]
fn every_page_is_balanced_and_has_title_and_language() {
    for (host, target, answer) in ATLAS.iter() {
        if !answer.is_html() || answer.delivery == Delivery::Garbled {
            continue;
        }
        let html = String::from_utf8_lossy(&answer.body);
        let name = format!("{host}{target}");
        check_balanced(&name, &html);
        assert!(html.contains("<html lang=\""), "{name}");
        let title = html
            .split("<title>")
            .nth(1)
            .unwrap()
            .split('<')
            .next()
            .unwrap();
        assert!(!title.trim().is_empty(), "{name}");
        if answer.status == 200 {
            assert_eq!(html.matches("<h1>").count(), 1, "{name}");
        }
    }
}

#[test]
fn titles_differ_within_a_host_but_for_print_views() {
    let mut seen = BTreeSet::new();
    for (host, target, answer) in ATLAS.iter() {
        if answer.is_html()
            && answer.status == 200
            && !target.contains('?')
            && answer.delivery != Delivery::Garbled
        {
            let html = String::from_utf8_lossy(&answer.body).into_owned();
            let title = html
                .split("<title>")
                .nth(1)
                .unwrap()
                .split('<')
                .next()
                .unwrap()
                .to_owned();
            assert!(
                seen.insert((host, title.clone())),
                "{host}{target}: {title}"
            );
        }
    }
}

#[test]
fn feeds_sitemap_and_drawings_are_well_formed() {
    let mut checked = 0;
    for (host, target, answer) in ATLAS.iter() {
        if answer.media_type.contains("xml") {
            let text = String::from_utf8(answer.body.clone()).unwrap();
            check_balanced(&format!("{host}{target}"), &text);
            assert!(!text.contains("& "));
            checked += 1;
        }
    }
    assert!(checked > 20);
}

#[test]
fn a_print_view_is_the_same_to_the_byte_and_names_its_original() {
    let atlas = &*ATLAS;
    let page = atlas.answer("biblioteca.demo", "/livros/sal-grosso");
    let print = atlas.answer("biblioteca.demo", "/livros/sal-grosso?vista=imprimir");
    assert_eq!(page.body, print.body);
    assert!(String::from_utf8_lossy(&page.body).contains("rel=\"canonical\""));
}

#[test]
fn the_traps_go_on_for_ever() {
    let atlas = &*ATLAS;
    for (start, step) in [("/mapa/", "sala/"), ("/agenda/2026/12/", "seguinte/")] {
        let deep = format!("{start}{}", step.repeat(40));
        let answer = atlas.answer("museu.demo", &deep);
        assert_eq!(answer.status, 200);
        assert!(String::from_utf8_lossy(&answer.body).contains(&format!("href=\"{step}\"")));
        assert_eq!(
            atlas.answer("museu.demo", &format!("{start}outra/")).status,
            404
        );
    }
}

#[test]
fn old_pages_are_in_their_old_encodings() {
    let atlas = &*ATLAS;
    let act = atlas.answer("museu.demo", "/acta-antiga.html");
    assert!(act.media_type.ends_with("ISO-8859-1"));
    assert!(act.body.windows(4).any(|bytes| bytes == b"\xe7\xe3o,"));
    assert!(std::str::from_utf8(&act.body).is_err());
    let inventory = atlas.answer("museu.demo", "/inventario-antigo.html");
    assert_eq!(inventory.media_type, "text/html");
    assert!(inventory.body.contains(&0x93));
    for page in [&act, &inventory] {
        assert!(!page.body.windows(2).any(|bytes| bytes == b"??"));
    }
}

#[test]
fn two_demo_webs_are_equal() {
    let (one, other) = (&*ATLAS, Atlas::build());
    assert!(
        one.iter()
            .zip(other.iter())
            .all(|(a, b)| a.0 == b.0 && a.1 == b.1 && a.2.body == b.2.body)
    );
}

/// Sends raw requests on one connection and returns everything until it closes.
fn talk(web: &DemoWeb, requests: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(web.addr()).unwrap();
    stream.write_all(requests.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

fn get(web: &DemoWeb, host: &str, target: &str, more: &str) -> String {
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n");
    String::from_utf8_lossy(&talk(web, &request)).into_owned()
}

#[test]
fn every_front_page_is_served() {
    let web = DemoWeb::start().unwrap();
    assert_eq!(web.resolve(), [format!("*.demo={}", web.addr())]);
    for host in web.hosts() {
        let answer = get(&web, host, "/", "");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{host}");
        assert!(answer.contains("</html>"), "{host}");
    }
    assert_eq!(web.seeds().len(), 5);
    assert!(get(&web, "nowhere.demo", "/", "").starts_with("HTTP/1.1 404 "));
    assert!(get(&web, "birds.demo", "/robots.txt", "").starts_with("HTTP/1.1 404 "));
}

#[test]
fn one_connection_serves_many_requests() {
    let web = DemoWeb::start().unwrap();
    let one = "GET /robots.txt HTTP/1.1\r\nHost: museu.demo\r\n\r\n";
    let last = "HEAD /visitar HTTP/1.1\r\nHost: museu.demo\r\nConnection: close\r\n\r\n";
    let answer = String::from_utf8(talk(&web, &format!("{one}{one}{last}"))).unwrap();
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3);
    assert_eq!(answer.matches("Disallow: /privado/").count(), 2);
    assert!(answer.ends_with("\r\n\r\n"), "a HEAD has no body");
}

#[test]
fn answers_are_compressed_conditional_chunked_cut_and_garbled() {
    let web = DemoWeb::start().unwrap();
    let zipped = get(&web, "museu.demo", "/", "Accept-Encoding: gzip, br\r\n");
    assert!(zipped.contains("Content-Encoding: gzip"));
    let plain = get(&web, "museu.demo", "/visitar", "");
    let tag = plain
        .split("ETag: ")
        .nth(1)
        .unwrap()
        .split('\r')
        .next()
        .unwrap();
    let again = get(
        &web,
        "museu.demo",
        "/visitar",
        &format!("If-None-Match: {tag}\r\n"),
    );
    assert!(again.starts_with("HTTP/1.1 304 ") && again.ends_with("\r\n\r\n"));
    let chunked = get(&web, "noticias.demo", "/", "");
    assert!(chunked.contains("Transfer-Encoding: chunked") && chunked.ends_with("0\r\n\r\n"));
    let cut = get(
        &web,
        "noticias.demo",
        "/edicao-cortada",
        "Accept-Encoding: gzip\r\n",
    );
    assert!(cut.contains("Content-Length: ") && !cut.contains("</html>"));
    assert!(get(&web, "noticias.demo", "/cabecalho-estragado", "").starts_with("HTTQ/9"));
    assert!(
        talk(
            &web,
            "POST / HTTP/1.1\r\nHost: museu.demo\r\nContent-Length: 2\r\n\r\nhi"
        )
        .starts_with(b"HTTP/1.1 405")
    );
    assert!(talk(&web, "hello\r\n\r\n").is_empty());
}
