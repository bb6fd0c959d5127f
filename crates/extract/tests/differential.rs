//! The scanner beside a whole HTML parser: the same rules on html5ever's tree must find the
//! same links.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and says what it measured"
)]

mod shared;

use std::collections::BTreeSet;

use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;
use teia_base::MediaType;
use teia_extract::{Extracted, Extractors, Source};
use url::Url;

/// Cases of html5lib where the links differ, with the reason. `file:number`, from one.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("template:39", COLUMNS),
    ("template:71", COLUMNS),
    ("template:72", COLUMNS),
    ("template:74", COLUMNS),
    ("template:75", COLUMNS),
    ("template:76", COLUMNS),
    ("template:90", COLUMNS),
];

/// Only a tree knows which element a template began with; no page was seen that does this.
const COLUMNS: &str =
    "a template that begins with <col> takes nothing but columns: its links are dropped";

fn scan(html: &str, url: &Url) -> Extracted {
    let media_type = MediaType::parse("text/html; charset=utf-8");
    let mut source = Source::new(url, html.as_bytes());
    source.media_type = media_type.as_ref();
    Extractors::default().extract(&source)
}

fn links(page: &Extracted) -> BTreeSet<String> {
    page.links.iter().map(|link| link.url.clone()).collect()
}

/// What the tree says.
#[derive(Default)]
struct Tree {
    references: Vec<String>,
    base: Option<String>,
    title: Option<String>,
    text: String,
    refreshed: bool,
    srcdocs: Vec<String>,
    styles: Vec<String>,
    refresh: String,
}

fn parse(html: &str) -> RcDom {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    parse_document(RcDom::default(), options).one(html)
}

fn attribute(node: &Handle, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attrs = attrs.borrow();
    let (prefix, local) = name
        .split_once(':')
        .map_or((None, name), |(prefix, local)| (Some(prefix), local));
    attrs
        .iter()
        .find(|attribute| {
            attribute.name.local.as_ref() == local && attribute.name.prefix.as_deref() == prefix
                || attribute.name.local.as_ref() == name && attribute.name.prefix.is_none()
        })
        .map(|attribute| attribute.value.to_string())
}

impl Tree {
    fn read(html: &str) -> Self {
        let dom = parse(html);
        let mut tree = Self::default();
        // Node, inside a template, text shown.
        let mut waiting = vec![(dom.document.clone(), false, true)];
        while let Some((node, in_template, shown)) = waiting.pop() {
            let mut inner_shown = shown;
            match &node.data {
                NodeData::Text { contents } if shown => tree.text.push_str(&contents.borrow()),
                NodeData::Element {
                    name,
                    template_contents,
                    ..
                } => {
                    let local = name.local.to_string();
                    let foreign = name.ns.as_ref() != "http://www.w3.org/1999/xhtml";
                    tree.element(&node, &local, foreign, in_template);
                    inner_shown &= foreign || !is_concealed(&node, &local);
                    inner_shown &= match local.as_str() {
                        "script" | "style" => false,
                        "noscript" | "title" | "textarea" | "iframe" | "noembed" | "noframes" => {
                            foreign
                        }
                        _ => true,
                    };
                    if let Some(contents) = template_contents.borrow().as_ref() {
                        waiting.push((contents.clone(), true, false));
                    }
                }
                _ => {}
            }
            for child in node.children.borrow().iter().rev() {
                waiting.push((child.clone(), in_template, inner_shown));
            }
        }
        tree
    }

    fn add(&mut self, reference: Option<String>) {
        self.references
            .extend(reference.filter(|reference| !reference.trim().is_empty()));
    }

    fn style(&mut self, css: &str) {
        self.styles.push(css.to_owned());
    }

    fn srcset(&mut self, value: Option<String>) {
        // The algorithm of the standard, step by step.
        let value: Vec<char> = value.unwrap_or_default().chars().collect();
        let white = |c: char| c.is_ascii_whitespace();
        let mut at = 0;
        loop {
            while at < value.len() && (white(value[at]) || value[at] == ',') {
                at += 1;
            }
            if at >= value.len() {
                return;
            }
            let start = at;
            while at < value.len() && !white(value[at]) {
                at += 1;
            }
            let url: String = value[start..at].iter().collect();
            let bare = url.trim_end_matches(',');
            self.references.push(bare.to_owned());
            if bare.len() == url.len() {
                let mut depth = false;
                while at < value.len() {
                    match value[at] {
                        '(' => depth = true,
                        ')' => depth = false,
                        ',' if !depth => break,
                        _ => {}
                    }
                    at += 1;
                }
            }
        }
    }

    fn element(&mut self, node: &Handle, local: &str, foreign: bool, in_template: bool) {
        let get = |name: &str| attribute(node, name);
        if foreign {
            let href = get("href").or_else(|| get("xlink:href"));
            match local {
                "a" => self.references.extend(href),
                "image" | "use" | "feImage" => {
                    self.add(href.filter(|href| !href.trim_start().starts_with('#')));
                }
                "script" => self.add(href),
                "style" => self.style(&text_of(node)),
                _ => {}
            }
        } else {
            self.html_element(node, local, in_template);
            self.add(get("background"));
        }
        if let Some(style) = get("style") {
            self.style(&style);
        }
    }

    fn html_element(&mut self, node: &Handle, local: &str, in_template: bool) {
        let get = |name: &str| attribute(node, name);
        match local {
            "a" | "area" => self.references.extend(get("href")),
            "img" => {
                self.add(get("src"));
                self.add(get("data-src"));
                self.srcset(get("srcset"));
                self.srcset(get("data-srcset"));
            }
            "source" => {
                self.add(get("src"));
                self.srcset(get("srcset"));
                self.srcset(get("data-srcset"));
            }
            "script" | "frame" | "audio" | "track" | "embed" => self.add(get("src")),
            "iframe" => {
                self.add(get("src"));
                self.srcdocs.extend(get("srcdoc"));
            }
            "video" => {
                self.add(get("src"));
                self.add(get("poster"));
            }
            "object" => self.add(get("data")),
            "form"
                if !matches!(
                    get("method")
                        .unwrap_or_default()
                        .trim()
                        .to_lowercase()
                        .as_str(),
                    "post" | "dialog"
                ) =>
            {
                self.add(get("action"));
            }
            "input"
                if get("type")
                    .unwrap_or_default()
                    .trim()
                    .eq_ignore_ascii_case("image") =>
            {
                self.add(get("src"));
            }
            "style" => self.style(&text_of(node)),
            "link" => {
                const NONE: [&str; 11] = [
                    "preconnect",
                    "dns-prefetch",
                    "pingback",
                    "edituri",
                    "wlwmanifest",
                    "profile",
                    "nofollow",
                    "noopener",
                    "noreferrer",
                    "shortcut",
                    "external",
                ];
                let rel = get("rel").unwrap_or_default().to_lowercase();
                if rel
                    .split_ascii_whitespace()
                    .any(|word| !NONE.contains(&word))
                {
                    self.add(get("href"));
                    self.srcset(get("imagesrcset"));
                }
            }
            "base" if !in_template && self.base.is_none() => self.base = get("href"),
            "title" if !in_template && self.title.is_none() => {
                self.title = Some(text_of(node)).filter(|title| !title.trim().is_empty());
            }
            "meta" if !in_template && !self.refreshed => {
                let equivalent = get("http-equiv").unwrap_or_default();
                let content = get("content").unwrap_or_default();
                let url = Url::parse("http://x.example/").unwrap();
                let is_refresh = equivalent.trim().eq_ignore_ascii_case("refresh");
                self.refreshed = is_refresh && !through_the_door(&url, "", &content).is_empty();
                if self.refreshed {
                    self.refresh = content;
                }
            }
            _ => {}
        }
    }

    fn links(&self, url: &Url) -> BTreeSet<String> {
        let base = self.base.as_ref().and_then(|base| url.join(base).ok());
        let base = base.filter(|base| {
            !matches!(base.scheme(), "data" | "javascript") && !base.cannot_be_a_base()
        });
        let base = base.as_ref().unwrap_or(url);
        let mut links = BTreeSet::new();
        for reference in &self.references {
            if let Ok(mut link) = base.join(reference)
                && ![
                    "javascript",
                    "mailto",
                    "tel",
                    "data",
                    "blob",
                    "about",
                    "vbscript",
                    "intent",
                ]
                .contains(&link.scheme())
            {
                link.set_fragment(None);
                links.insert(link.to_string());
            }
        }
        for css in &self.styles {
            links.extend(through_the_door(base, css, ""));
        }
        links.extend(through_the_door(base, "", &self.refresh));
        for srcdoc in &self.srcdocs {
            let mut inner = Self::read(srcdoc);
            inner.srcdocs.clear();
            links.extend(inner.links(base));
        }
        links
    }
}

/// Links of a style sheet and of a refresh: their own parsers are tested beside them.
fn through_the_door(url: &Url, css: &str, refresh: &str) -> BTreeSet<String> {
    let media_type = MediaType::parse("text/css; charset=utf-8");
    let mut source = Source::new(url, css.as_bytes());
    source.media_type = media_type.as_ref();
    source.refresh_header = Some(refresh);
    links(&Extractors::default().extract(&source))
}

/// Whether an element says of itself that it is not shown; those whose end is left out so often that nobody can tell
/// where it is without a tree, and those with a content of their own, are not looked at.
fn is_concealed(node: &Handle, local: &str) -> bool {
    const NOT_LOOKED_AT: &[&str] = &[
        "li",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "tfoot",
        "option",
        "optgroup",
        "colgroup",
        "rt",
        "rp",
        "body",
        "html",
        "head",
        "object",
        "video",
        "audio",
        "svg",
        "math",
        "noscript",
        "template",
        "xmp",
        "plaintext",
    ];
    let hidden = attribute(node, "hidden").is_some_and(|value| value != "until-found");
    let style = attribute(node, "style").unwrap_or_default().to_lowercase();
    let says = |name: &str, value: &str| {
        let mut declarations = style.split(';').filter_map(|one| one.split_once(':'));
        let last = declarations.rfind(|(said, _)| said.trim() == name);
        last.is_some_and(|(_, said)| said.split('!').next().unwrap_or("").trim() == value)
    };
    let is_styled = says("display", "none") || says("visibility", "hidden");
    (hidden || is_styled) && !NOT_LOOKED_AT.contains(&local)
}

fn text_of(node: &Handle) -> String {
    let mut text = String::new();
    for child in node.children.borrow().iter() {
        if let NodeData::Text { contents } = &child.data {
            text.push_str(&contents.borrow());
        }
    }
    text
}

/// Letters and digits only: white space and invisible characters are a matter of taste.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[test]
fn html5lib_cases_have_the_same_links() {
    let Some(directory) = shared::data("html5lib/tree-construction") else {
        return;
    };
    let url = Url::parse("http://a.example/d/p").unwrap();
    let (mut cases, mut with_links, mut differ, mut title_differs, mut text_differs) =
        (0, 0, Vec::new(), Vec::new(), 0);
    for file in shared::files(&directory)
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "dat"))
    {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let content = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        for (number, case) in format!("\n{content}")
            .split("\n#data\n")
            .skip(1)
            .enumerate()
        {
            // Few cases have links of their own: one at the end tells whether both parsers are
            // in the same state there.
            let data = case.split("\n#errors").next().unwrap();
            let data = format!("{data}<a href=end><img src=end2><base href=/base/>");
            let id = format!("{name}:{}", number + 1);
            let page = scan(&data, &url);
            let tree = Tree::read(&data);
            let (ours, theirs) = (links(&page), tree.links(&url));
            cases += 1;
            with_links += usize::from(!theirs.is_empty());
            if ours != theirs {
                differ.push((
                    id.clone(),
                    format!("{data:?}\n    ours {ours:?}\n    tree {theirs:?}"),
                ));
            }
            let title = tree.title.clone().unwrap_or_default();
            if letters(&title) != letters(&page.title) {
                title_differs.push(format!(
                    "{id}: {data:?} ours {:?} tree {title:?}",
                    page.title
                ));
            }
            text_differs += usize::from(letters(&tree.text) != letters(&page.text));
        }
    }
    println!("{} cases differ in links", differ.len());
    println!(
        "{cases} cases, {with_links} with links; titles differ {}, texts differ {text_differs}",
        title_differs.len()
    );
    title_differs
        .iter()
        .for_each(|line| println!("  title {line}"));
    let unexpected: Vec<_> = differ
        .iter()
        .filter(|(id, _)| EXCEPTIONS.iter().all(|(known, _)| known != id))
        .collect();
    for (id, what) in &unexpected {
        println!("{id}: {what}");
    }
    assert!(
        unexpected.is_empty(),
        "{} cases have other links",
        unexpected.len()
    );
    for (id, _) in EXCEPTIONS {
        assert!(
            differ.iter().any(|(found, _)| found == id),
            "{id} is no exception any more"
        );
    }
}

#[test]
fn real_pages_have_the_same_links() {
    let pages = shared::pages();
    let (mut count, mut differ, mut titles, mut texts) = (0, 0, 0, 0);
    for (id, url, body) in &pages {
        let html = String::from_utf8_lossy(body).into_owned();
        let page = scan(&html, url);
        let tree = Tree::read(&html);
        let (ours, theirs) = (links(&page), tree.links(url));
        count += theirs.len();
        if ours != theirs {
            differ += 1;
            println!(
                "{id} {url}\n  missing {:?}\n  more {:?}",
                theirs.difference(&ours).take(5).collect::<Vec<_>>(),
                ours.difference(&theirs).take(5).collect::<Vec<_>>()
            );
        }
        if letters(&tree.title.clone().unwrap_or_default()) != letters(&page.title) {
            titles += 1;
            println!("{id} title {:?} tree {:?}", page.title, tree.title);
        }
        if letters(&tree.text) != letters(&page.text) {
            texts += 1;
            let (a, b) = (letters(&page.text), letters(&tree.text));
            println!("{id} text {} tree {}", a.len(), b.len());
        }
    }
    println!(
        "{} pages, {count} links; links differ on {differ}, titles on {titles}, texts on {texts}",
        pages.len()
    );
    assert_eq!((differ, titles), (0, 0));
    assert!(texts * 20 <= pages.len(), "texts differ on {texts} pages");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soup_has_the_same_links(pieces in proptest::collection::vec(proptest::sample::select(&SOUP[..]), 0..25)) {
        let url = Url::parse("http://a.example/d/p").unwrap();
        let html = format!("<!DOCTYPE html><body>x{}", pieces.concat());
        prop_assert_eq!(links(&scan(&html, &url)), Tree::read(&html).links(&url));
    }
}

/// How often a soup of elements that only a tree follows has the same links. (Real pages all do.)
#[test]
fn soup_with_foreign_content_rarely_differs() {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    let url = Url::parse("http://a.example/d/p").unwrap();
    let mut runner = TestRunner::deterministic();
    let pieces = proptest::collection::vec(proptest::sample::select(&FOREIGN_SOUP[..]), 0..15);
    let cases = 4000;
    let mut differ = 0;
    for _ in 0..cases {
        let soup = pieces.new_tree(&mut runner).unwrap().current().concat();
        let html = format!("<!DOCTYPE html><body>x{soup}<a href=end>");
        let (ours, theirs) = (links(&scan(&html, &url)), Tree::read(&html).links(&url));
        if ours != theirs {
            differ += 1;
            if differ <= 12 {
                println!("{html}\n  ours {ours:?}\n  tree {theirs:?}");
            }
        }
    }
    println!("{differ} of {cases} differ");
    assert!(differ * 100 <= cases);
}

/// SVG, MathML, tables and selections in any order.
const FOREIGN_SOUP: [&str; 36] = [
    "<a href=a>",
    "</a>",
    "<a xlink:href=b>",
    "<img src=c>",
    "<image href=d>",
    "<use href=e>",
    "<svg>",
    "</svg>",
    "<math>",
    "</math>",
    "<mi>",
    "</mi>",
    "<foreignObject>",
    "</foreignObject>",
    "<desc>",
    "</desc>",
    "<title>",
    "</title>",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<![CDATA[",
    "]]>",
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<table>",
    "<td>",
    "</table>",
    "<select>",
    "</select>",
    "<g/>",
    "text",
    "<path d=''/>",
];

/// Pieces that follow the tokenizer and not the tree.
const SOUP: [&str; 50] = [
    "<a href=a>",
    "<a href='b'>",
    "<a href=\"c&amp;d\">",
    "<a\thref = e x>",
    "</a>",
    "<img src=f>",
    "<p>",
    "</p>",
    "<div title='",
    "<div title=\"",
    "'",
    "\"",
    ">",
    "<",
    "/",
    "=",
    " ",
    "&",
    "text",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!x",
    "<?x",
    "</",
    "<script>",
    "</script>",
    "<script ",
    "<!--<script",
    "<style>",
    "</style>",
    "a{b:url(g)}",
    "<title>",
    "</title>",
    "<textarea>",
    "</textarea>",
    "<noscript>",
    "</noscript>",
    "<xmp>",
    "</xmp>",
    "<iframe src=h>",
    "</iframe>",
    "<base href=/i/>",
    "<br/>",
    "<h1>",
    "</h1>",
    "<noembed>",
    "</noembed>",
    "\n",
];
