//! Pages: links, parts and styles lead to the archive; scripts, refreshes and forms lead nowhere.

use std::cell::RefCell;
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
pub(crate) fn rewrite(page: &str, rewriter: Rewriter, banner: Option<&str>) -> Vec<u8> {
    let rewriter = Rc::new(RefCell::new(rewriter));
    let (all, styles) = (Rc::clone(&rewriter), Rc::clone(&rewriter));
    let sheet = Rc::new(RefCell::new(String::new()));
    let has_banner = Rc::new(RefCell::new(banner.is_none()));
    let shown = Rc::clone(&has_banner);
    let elements = element!("*", move |element| {
        change(element, &mut all.borrow_mut());
        if element.tag_name() == "body"
            && !shown.replace(true)
            && let Some(banner) = banner
        {
            element.prepend(banner, ContentType::Html);
        }
        Ok(())
    });
    let sheets = text!("style", move |chunk: &mut TextChunk<'_>| {
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
    let comments = doc_comments!(|comment| {
        // Old browsers read markup in them; ours need none.
        comment.remove();
        Ok(())
    });
    let settings = RewriteStrSettings::new()
        .append_element_content_handler(elements)
        .append_element_content_handler(sheets)
        .append_document_content_handler(comments)
        .with_strict(false);
    match rewrite_str(page, settings) {
        Ok(text) if *has_banner.borrow() => text.into_bytes(),
        Ok(text) => format!("{}{text}", banner.unwrap_or_default()).into_bytes(),
        Err(error) => {
            tracing::debug!(%error, "a copy is shown as text");
            let text = page.replace('&', "&amp;").replace('<', "&lt;");
            format!("<!doctype html><meta charset=utf-8><pre>{text}</pre>").into_bytes()
        }
    }
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
    if matches!(tag.as_str(), "a" | "area") {
        // Out of the frame, so that the banner goes along.
        let _ = element.set_attribute("target", "_top");
        let _ = element.set_attribute("rel", "nofollow noopener");
    }
    if tag == "iframe" {
        let _ = element.set_attribute("sandbox", "allow-top-navigation-by-user-activation");
    }
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
        "href" | "xlink:href" if matches!(tag, "a" | "area") => Some(link(rewriter, &value)),
        "href" | "xlink:href" if tag == "link" => Some(rewriter.to_part(&value, Role::Style)),
        "href" | "xlink:href" if value.starts_with('#') => None,
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
        | "referrerpolicy" | "http-equiv" | "codebase" | "classid" | "cite" => {
            element.remove_attribute(name);
            return;
        }
        name if name.starts_with("on") => {
            element.remove_attribute(name);
            return;
        }
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
        String::from_utf8(rewrite(page, rewriter, None)).unwrap()
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
