//! cdn.demo: the style sheet, the script, the marks and the drawings that the other hosts use.

use super::super::answer::Answer;
use super::super::atlas::Atlas;
use super::super::drawing;
use super::super::html::{links, paragraph};
use super::super::look::{Look, Page};

/// The look of the shared host.
pub(super) const LOOK: Look = Look {
    host: "cdn.demo",
    lang: "en",
    name: "Shared files",
    tagline: "style, marks and drawings of the demo",
    theme: "cdn",
    nav: &[],
    footer: "<p>Served by <code>teia demo</code> on loopback. Nothing here is on the internet.</p>\n",
};

const SVG: &str = "image/svg+xml";

/// Writes the host.
pub(super) fn write(atlas: &mut Atlas) {
    let mut files = vec!["/style.css".to_owned(), "/site.js".to_owned()];
    let week = "public, max-age=604800";
    let style = Answer::ok("text/css; charset=utf-8", include_str!("../text/style.css"));
    atlas.put(
        LOOK.host,
        "/style.css",
        style.with_header("Cache-Control", week),
    );
    let script = Answer::ok(
        "text/javascript; charset=utf-8",
        include_str!("../text/site.js"),
    );
    atlas.put(
        LOOK.host,
        "/site.js",
        script.with_header("Cache-Control", week),
    );
    for (theme, colour, shape) in drawing::MARKS {
        let path = format!("/logo/{theme}.svg");
        files.push(path.clone());
        atlas.put(
            LOOK.host,
            path,
            Answer::ok(SVG, drawing::mark(colour, shape)),
        );
    }
    for (name, colour, shapes) in drawing::MUSEUM {
        let path = format!("/museu/{name}.svg");
        files.push(path.clone());
        atlas.put(
            LOOK.host,
            path,
            Answer::ok(SVG, drawing::museum(colour, shapes)),
        );
    }
    let files: Vec<(String, String)> = files.into_iter().map(|path| (path.clone(), path)).collect();
    let words = "Files that the pages of the other hosts of this demo have in common.";
    let page = Page::new("Shared files", words, paragraph(words) + &links(&files));
    atlas.put(LOOK.host, "/", LOOK.answer(&page));
    let robots = "# Everything here may be fetched.\nUser-agent: *\nAllow: /\n";
    atlas.put(LOOK.host, "/robots.txt", Answer::ok("text/plain", robots));
}
