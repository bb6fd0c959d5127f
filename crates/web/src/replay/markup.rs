//! Pages: links, parts and styles lead to the archive; scripts, refreshes and forms lead nowhere.
//!
//! Where a link leads is in no policy of a browser, so the rewriter must read a page exactly as a
//! browser without scripts does: `noscript` is an element like others, and where it is not sure whether
//! something is text or markup, it is left out.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use lol_html::html_content::{ContentType, Element, TextChunk};
use lol_html::{RewriteStrSettings, doc_comments, element, rewrite_str, text};
use url::Url;

use super::{Rewriter, Role, style};

/// Bytes at the beginning of a page in which it may declare its encoding.
const DECLARED_WITHIN: usize = 1024;

/// The text of a page or style sheet: by its marks, its header, its own words, else as browsers do.
pub(crate) fn decoded(bytes: &[u8], charset: Option<&str>) -> String {
    let label = |label: &str| Encoding::for_label(label.trim().as_bytes());
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let encoding = marked
        .or_else(|| charset.and_then(label))
        .or_else(|| declared(bytes).and_then(|name| label(&name)))
        .unwrap_or_else(|| {
            if std::str::from_utf8(bytes).is_ok() {
                UTF_8
            } else {
                WINDOWS_1252
            }
        });
    encoding.decode(bytes).0.into_owned()
}

/// `charset=x` near the beginning.
fn declared(bytes: &[u8]) -> Option<String> {
    let start =
        String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARED_WITHIN)]).to_ascii_lowercase();
    let at = start.find("charset")? + "charset".len();
    let rest = start[at..].trim_start().strip_prefix(['=', ' '])?;
    let name: String = rest
        .trim_start_matches([' ', '"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .collect();
    // A page that could be read so far as to find this is not in UTF-16.
    Some(if name.starts_with("utf-16") {
        "utf-8".to_owned()
    } else {
        name
    })
}

/// Rewrites a page; what cannot be rewritten is shown as text.
pub(crate) fn rewrite(page: &str, rewriter: &Rewriter, banner: Option<&str>) -> Vec<u8> {
    let page = without_noscript(page);
    let written = rewritten(&page, rewriter.clone(), banner, Doubt::IsAnError)
        .or_else(|_| rewritten(&page, rewriter.clone(), banner, Doubt::IsLeftOut));
    match written {
        Ok(text) => text.into_bytes(),
        Err(error) => {
            tracing::debug!(%error, "a copy is shown as text");
            let text = page.replace('&', "&amp;").replace('<', "&lt;");
            let banner = banner.unwrap_or_default();
            format!("<!doctype html><meta charset=utf-8>{banner}<pre>{text}</pre>").into_bytes()
        }
    }
}

/// What becomes of elements that browsers take for text in some places, and for nothing in others
/// (`<select><xmp>`): one of their readers sees links where another sees text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    IsAnError,
    IsLeftOut,
}

/// Elements whose content is text, in most places.
const TEXT_ELEMENTS: &str = "title, textarea, xmp, noembed, noframes, iframe, plaintext";

fn rewritten(
    page: &str,
    rewriter: Rewriter,
    banner: Option<&str>,
    doubt: Doubt,
) -> Result<String, lol_html::errors::RewritingError> {
    let rewriter = Rc::new(RefCell::new(rewriter));
    let (all, styles) = (Rc::clone(&rewriter), Rc::clone(&rewriter));
    let sheet = Rc::new(RefCell::new(String::new()));
    let place = Rc::new(Cell::new(Place::Head));
    let is_doubtful = Rc::new(Cell::new(false));
    let (doubted, in_style, in_text) = (
        Rc::clone(&is_doubtful),
        Rc::clone(&is_doubtful),
        is_doubtful,
    );
    let reached = Rc::clone(&place);
    let elements = element!("*", move |element| {
        let tag = element.tag_name();
        if doubt == Doubt::IsLeftOut && matches!(tag.as_str(), "select" | "frameset") {
            doubted.set(true);
        }
        change(element, &mut all.borrow_mut());
        if reached.get() == Place::Head {
            reached.set(Place::of(&tag));
            if let Some(banner) = banner {
                match reached.get() {
                    Place::Body if tag == "body" => element.prepend(banner, ContentType::Html),
                    Place::Body => element.before(banner, ContentType::Html),
                    Place::Head | Place::Frames => {}
                }
            }
        }
        Ok(())
    });
    let sheets = text!("style", move |chunk: &mut TextChunk<'_>| {
        if in_style.get() {
            chunk.remove();
            return Ok(());
        }
        sheet.borrow_mut().push_str(chunk.as_str());
        if chunk.last_in_text_node() {
            let whole = sheet.replace(String::new());
            let rewritten = style::rewrite(&whole, &styles.borrow());
            chunk.replace(&rewritten.replace("</", "<\\/"), ContentType::Html);
        } else {
            chunk.remove();
        }
        Ok(())
    });
    let texts = text!(TEXT_ELEMENTS, move |chunk: &mut TextChunk<'_>| {
        if in_text.get() {
            chunk.remove();
        }
        Ok(())
    });
    let comments = doc_comments!(|comment| {
        // Old browsers read markup in them; ours need none.
        comment.remove();
        Ok(())
    });
    let settings = RewriteStrSettings::new()
        .append_element_content_handler(elements)
        .append_element_content_handler(sheets)
        .append_element_content_handler(texts)
        .append_document_content_handler(comments)
        .with_strict(doubt == Doubt::IsAnError);
    let text = rewrite_str(page, settings)?;
    Ok(match banner {
        Some(banner) if place.get() == Place::Head => with_banner(&text, banner),
        _ => text,
    })
}

/// How far into a page one has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    Body,
    /// A page of frames has no body, and no place for a banner.
    Frames,
}

impl Place {
    /// Where an element stands that follows the head, or is of it.
    fn of(tag: &str) -> Self {
        match tag {
            "html" | "head" | "title" | "meta" | "link" | "style" | "base" | "script"
            | NOSCRIPT => Self::Head,
            "frameset" => Self::Frames,
            _ => Self::Body,
        }
    }
}

/// A page without elements in its body: the banner follows the doctype, because a browser reads a page
/// otherwise that does not begin with it.
fn with_banner(text: &str, banner: &str) -> String {
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let begins_so = start
        .get(..9)
        .is_some_and(|start| start.eq_ignore_ascii_case("<!doctype"));
    let end = start.find('>').filter(|_| begins_so);
    let at = end.map_or(0, |end| text.len() - start.len() + end + 1);
    format!("{}{banner}{}", &text[..at], &text[at..])
}

/// What `noscript` is called in a copy.
const NOSCRIPT: &str = "teia-noscript";

/// Gives `noscript` another name. Whether its content is text depends on whether scripts run, and the
/// rewriter takes it for text; under a name that nobody knows all read it alike.
fn without_noscript(page: &str) -> Cow<'_, str> {
    const NAME: &[u8] = b"noscript";
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in page.match_indices('<') {
        let name = at + 1 + usize::from(page.as_bytes().get(at + 1) == Some(&b'/'));
        let end = name + NAME.len();
        let is_one = page.as_bytes().get(name..end);
        if is_one.is_some_and(|found| found.eq_ignore_ascii_case(NAME)) {
            out.push_str(&page[done..name]);
            out.push_str(NOSCRIPT);
            done = end;
        }
    }
    if done == 0 {
        return Cow::Borrowed(page);
    }
    out.push_str(&page[done..]);
    Cow::Owned(out)
}

fn change(element: &mut Element<'_, '_>, rewriter: &mut Rewriter) {
    let tag = element.tag_name();
    match tag.as_str() {
        "script" | "object" | "embed" | "applet" | "portal" | "fencedframe" => {
            element.remove();
            return;
        }
        "base" => {
            if let Some(base) = element
                .get_attribute("href")
                .and_then(|href| resolve(rewriter, &href))
            {
                rewriter.base = Some(base);
            }
            element.remove();
            return;
        }
        "meta" if element.has_attribute("http-equiv") => {
            element.remove();
            return;
        }
        // The page is sent in UTF-8, whatever it was.
        "meta" if element.has_attribute("charset") => {
            let _ = element.set_attribute("charset", "utf-8");
        }
        "link" if !is_kept_link(element) => {
            element.remove();
            return;
        }
        // Drawings can change where their links lead while one looks at them.
        "set" | "animate" | "animatemotion" | "animatetransform" | "animatecolor"
            if moves_a_link(element) =>
        {
            element.remove();
            return;
        }
        _ => {}
    }
    let names: Vec<String> = element
        .attributes()
        .iter()
        .map(lol_html::html_content::Attribute::name)
        .collect();
    for name in names {
        attribute(element, rewriter, &tag, &name);
    }
    if is_link(element, &tag) {
        // Out of the frame, so that the banner goes along.
        let _ = element.set_attribute("target", "_top");
        let _ = element.set_attribute("rel", "nofollow noopener");
    }
    if tag == "iframe" {
        let _ = element.set_attribute("sandbox", "allow-top-navigation-by-user-activation");
    }
}

/// Whether an element leads somewhere: in formulas all of them can.
fn is_link(element: &Element<'_, '_>, tag: &str) -> bool {
    let is_in_formula = || element.namespace_uri() == MATHML;
    let has_address = || ["href", "xlink:href"].map(|name| element.has_attribute(name));
    matches!(tag, "a" | "area") || is_in_formula() && has_address().contains(&true)
}

const MATHML: &str = "http://www.w3.org/1998/Math/MathML";

/// Whether it is an animation of an address.
fn moves_a_link(element: &Element<'_, '_>) -> bool {
    let name = element.get_attribute("attributename").unwrap_or_default();
    unescape(&name).to_ascii_lowercase().contains("href")
}

/// Style sheets and icons are parts of the page; everything else asks for something in advance.
fn is_kept_link(element: &Element<'_, '_>) -> bool {
    let rel = element
        .get_attribute("rel")
        .unwrap_or_default()
        .to_ascii_lowercase();
    rel.split_ascii_whitespace()
        .any(|word| word == "stylesheet" || word == "icon")
}

fn attribute(element: &mut Element<'_, '_>, rewriter: &Rewriter, tag: &str, name: &str) {
    let Some(value) = element.get_attribute(name) else {
        return;
    };
    // Values come as they are written, with character references.
    let value = unescape(&value);
    let new = match name {
        "href" | "xlink:href" if is_link(element, tag) => Some(link(rewriter, &value)),
        "href" | "xlink:href" if tag == "link" => Some(rewriter.to_part(&value, Role::Style)),
        "href" | "xlink:href" if value.starts_with('#') => None,
        // What is used becomes a part of this page, with its links.
        "href" | "xlink:href" if tag == "use" => {
            Some(rewriter.to_copy(&value, Role::Image).unwrap_or_default())
        }
        "href" | "xlink:href" => Some(rewriter.to_part(&value, Role::Image)),
        "src" if matches!(tag, "iframe" | "frame") => {
            Some(rewriter.to_copy(&value, Role::Frame).unwrap_or_default())
        }
        "src" | "poster" | "background" | "data" | "lowsrc" | "dynsrc" | "longdesc" => {
            Some(rewriter.to_part(&value, Role::Image))
        }
        "srcset" | "imagesrcset" => Some(set(rewriter, &value)),
        "style" => Some(style::rewrite(&value, rewriter)),
        "action" | "formaction" => Some("about:blank".to_owned()),
        "srcdoc" | "ping" | "integrity" | "crossorigin" | "nonce" | "manifest" | "target"
        | "referrerpolicy" | "http-equiv" | "codebase" | "classid" | "cite" | "allow"
        | "attributionsrc" | "browsingtopics" | "xml:base" => {
            element.remove_attribute(name);
            return;
        }
        name if name.starts_with("on") => {
            element.remove_attribute(name);
            return;
        }
        // Drawings are styled by attributes too.
        "fill" | "stroke" | "mask" | "clip-path" | "filter" | "cursor" | "marker-start"
        | "marker-mid" | "marker-end" | "marker" => Some(style::rewrite(&value, rewriter)),
        _ => None,
    };
    if let Some(new) = new {
        let _ = element.set_attribute(name, &escape(&new));
    }
}

/// A link to a copy; within the page it stays as it is, and what is not on the web leads nowhere.
fn link(rewriter: &Rewriter, value: &str) -> String {
    if value.trim_start().starts_with('#') {
        return value.to_owned();
    }
    let copy = rewriter.to_copy(value, Role::Page);
    copy.unwrap_or_else(|| "#".to_owned())
}

/// `a.png 1x, b.png 2x`.
fn set(rewriter: &Rewriter, value: &str) -> String {
    let mut out = Vec::new();
    let mut rest = value.trim_start();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let address = rest[..end].trim_end_matches(',');
        let is_ended = address.len() < end;
        rest = &rest[end..];
        let descriptor = if is_ended {
            ""
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let descriptor = rest[..end].trim();
            rest = rest.get(end + 1..).unwrap_or("");
            descriptor
        };
        if !address.is_empty() {
            let copy = rewriter.to_part(address, Role::Image);
            out.push(format!("{copy} {descriptor}").trim().to_owned());
        }
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }
    out.join(", ")
}

fn resolve(rewriter: &Rewriter, href: &str) -> Option<Url> {
    let href = unescape(href);
    let url = match &rewriter.base {
        Some(base) => base.join(href.trim()).ok()?,
        None => Url::parse(href.trim()).ok()?,
    };
    matches!(url.scheme(), "http" | "https" | "ftp").then_some(url)
}

fn unescape(value: &str) -> String {
    htmlize::unescape_attribute(value).into_owned()
}

fn escape(value: &str) -> String {
    value
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(page: &str) -> String {
        let rewriter = Rewriter {
            base: Url::parse("http://a.example/x/").ok(),
            time: "2026".to_owned(),
            key: String::new(),
        };
        String::from_utf8(rewrite(page, &rewriter, None)).unwrap()
    }

    #[track_caller]
    fn check(page: &str, expected: &str) {
        let found = rewritten(page);
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn links_and_parts_lead_to_the_archive() {
        check(
            "<a href=\"y?a=1&amp;b=2#z\">",
            "href=\"/archive/2026/http://a.example/x/y?a=1&amp;b=2#z\"",
        );
        check(
            "<img src=/i.png>",
            "src=\"/archive/2026im_/http://a.example/i.png\"",
        );
        check(
            "<base href=\"http://b.example/q/\"><a href=r>",
            "/archive/2026/http://b.example/q/r",
        );
        check(
            "<link rel=stylesheet href=s.css>",
            "/archive/2026cs_/http://a.example/x/s.css",
        );
        check(
            "<p style=\"background:url(b.png)\">",
            "/archive/2026oe_/http://a.example/x/b.png",
        );
        check(
            "<style>p{background:url(b.png)}</style>",
            "/archive/2026oe_/http://a.example/x/b.png",
        );
        check(
            "<img srcset=\"a.png 1x, b,c.png 2x\">",
            "/archive/2026im_/http://a.example/x/b,c.png 2x",
        );
        check(
            "<iframe src=f.html>",
            "src=\"/archive/2026mp_/http://a.example/x/f.html\"",
        );
        check("<a href=#top>", "href=\"#top\"");
    }

    #[test]
    fn nothing_that_acts_is_left() {
        let page = rewritten(concat!(
            "<head><meta http-equiv=refresh content='0;url=http://evil.example/'>",
            "<link rel=dns-prefetch href=//evil.example><link rel=preload href=//evil.example/x>",
            "<script src=//evil.example/a.js>alert(1)</script></head>",
            "<body onload=alert(1)><a href='javascript:alert(1)' ping=http://evil.example/>x</a>",
            "<form action=http://evil.example/><button formaction=http://evil.example/></form>",
            "<iframe srcdoc='<script>alert(1)</script>'></iframe><svg><a xlink:href=//evil.example/></a></svg>",
            "<object data=//evil.example/></object><!--[if IE]><script>x</script><![endif]-->",
        ));
        for bad in [
            "alert",
            "refresh",
            "prefetch",
            "preload",
            "javascript:",
            "ping",
            "srcdoc",
            "<object",
            "[if",
        ] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
        for (at, _) in page.match_indices("evil.example") {
            let before = &page[..at];
            assert!(before.ends_with("/archive/2026/http://"), "{page}");
        }
    }

    /// Every way to the live web that a page can write, and the one way to the archive.
    #[test]
    fn no_link_leads_to_the_live_web() {
        for page in [
            "<noscript><a href=http://evil.example/>x</a><img src=http://evil.example/></noscript>",
            "<NOSCRIPT><meta http-equiv=refresh content='0;url=http://evil.example/'></noscript >",
            "<noscript><noscript><noscript><a href=http://evil.example/>",
            "<noscript><p title=\"</noscript><p title='\"><a href=http://evil.example/>x</a>'>",
            "<p title='<noscript>'><a href=http://evil.example/>x</a>",
            "<select><xmp></select><a href=http://evil.example/>x</a></xmp>",
            "<select><style></select><a href=http://evil.example/>x</a></style>",
            "<frameset><noframes></noframes><xmp><a href=http://evil.example/>x</a></xmp>",
            "<svg><a href=/y><set attributeName=href to=http://evil.example/ /></a></svg>",
            "<svg><a xlink:href=/y><animate attributeName=' XLINK:href' values='http://evil.example/'></animate></a></svg>",
            "<svg><a href=/y><set attributeName='&#104;ref' to=http://evil.example/ /></a></svg>",
            "<svg><style><img src=x><a href=http://evil.example/>y</a></style></svg>",
            "<svg><style><a xlink:href=http://evil.example/>y</a></style></svg>",
            "<svg><use href='data:image/svg+xml,http://evil.example/'/></svg>",
            "<svg><title><a href=http://evil.example/>y</a></title></svg>",
            "<math><mi href=http://evil.example/>x</mi><mrow xlink:href=http://evil.example/></math>",
            "<map><area href=http://evil.example/ target=_blank></map>",
            "<base href=http://evil.example/ target=_top><a href=y>x</a>",
            "<a href=/y attributionsrc=http://evil.example/ ping=http://evil.example/>x</a>",
            "<a href=\"ht\ntp://evil.example/\">x</a><a href='//evil.example/'>x</a>",
            "<a href=' http:\\\\evil.example/'>x</a>",
            "<template shadowrootmode=open><a href=http://evil.example/>x</a></template>",
            "<iframe srcdoc='<a href=http://evil.example/>x</a>'></iframe>",
            "<object data=http://evil.example/><param name=movie value=http://evil.example/></object>",
            "<button formaction=http://evil.example/>x</button><form action=http://evil.example/></form>",
            "<?xml-stylesheet href='http://evil.example/'?><p>x",
            "<link rel='alternate stylesheet' href=http://evil.example/><link rel=next href=http://evil.example/>",
        ] {
            let page = rewritten(page);
            for (at, _) in page.match_indices("evil.example") {
                let before = &page[..at];
                let is_copy =
                    before.ends_with("_/http://") || before.ends_with("/archive/2026/http://");
                assert!(is_copy, "{page}");
            }
        }
    }

    #[test]
    fn what_is_for_browsers_without_scripts_is_shown() {
        check(
            "<noscript><img src=/i.png></noscript>",
            "<teia-noscript><img src=\"/archive/2026im_/http://a.example/i.png\">",
        );
        check("<select><script>x</script><option>a</select>", "<option>a");
    }

    #[test]
    fn a_banner_follows_the_doctype() {
        let rewriter = Rewriter {
            base: None,
            time: "2026".to_owned(),
            key: String::new(),
        };
        let check = |page: &str, expected: &str| {
            let found = rewrite(page, &rewriter, Some("[B]"));
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        };
        check("<!doctype html><body>x", "<!doctype html><body>[B]x");
        check(
            "<!doctype html><title>t</title><p>x",
            "<!doctype html><title>t</title>[B]<p>x",
        );
        check(" <!DOCTYPE html>\nx", " <!DOCTYPE html>[B]\nx");
        check("only text", "[B]only text");
        check(
            "<frameset><frame></frameset>",
            "<frameset><frame></frameset>",
        );
    }

    #[test]
    fn a_page_in_another_encoding_is_read() {
        assert_eq!(
            decoded(b"<meta charset=iso-8859-1>n\xe3o", None),
            "<meta charset=iso-8859-1>não"
        );
        assert_eq!(decoded(b"n\xe3o", Some("windows-1252")), "não");
        assert_eq!(decoded("não".as_bytes(), None), "não");
        assert_eq!(decoded(b"\xff\xfen\0", Some("utf-8")), "n");
    }
}
