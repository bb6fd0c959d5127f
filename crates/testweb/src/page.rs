//! Pages: the HTML of a place, in front of its share of prose.

use crate::draw::pick;
use crate::links::{Kind, Link};
use crate::place::{Place, push, push_number};
use crate::web::Web;

/// What every page ends with.
pub(crate) const TAIL: &str = "</main>\n</body>\n</html>\n";

/// Bytes of pages that are not ordinary ones.
const ODD_PAGE_BYTES: usize = 2048;

impl Web {
    /// Appends everything that comes before the prose.
    pub(crate) fn write_page(&self, host: u32, place: Place, version: u32, out: &mut Vec<u8>) {
        let host = self.original(host);
        let language = self.language(host, self.content(place));
        push(
            out,
            &[
                "<!DOCTYPE html>\n<html lang=\"",
                language.tag(),
                "\">\n<head>\n<meta charset=\"utf-8\">\n<title>",
            ],
        );
        self.write_title(host, place, out);
        push(out, &["</title>\n"]);
        if let Some(robots) = meta_robots(place) {
            push(out, &["<meta name=\"robots\" content=\"", robots, "\">\n"]);
        }
        // Plain webs are spared two more passes over the links.
        let adorned = self.config.requisites || self.config.feed;
        if adorned {
            self.each_link(host, place, |link| self.write_head_link(host, link, out));
        }
        push(out, &["</head>\n<body>\n<h1>"]);
        self.write_title(host, place, out);
        push(out, &["</h1>\n<nav>\n<ul>\n"]);
        let words = language.words();
        let mut draw = self.draw(host, self.content(place), 10);
        self.each_link(host, place, |link| {
            draw = draw.rotate_left(11).wrapping_add(0x9E37_79B9_7F4A_7C15);
            match link.kind {
                Kind::Anchor | Kind::Nofollow => push(out, &["<li><a href=\""]),
                _ => return,
            }
            self.write_href(host, link, "&amp;", out);
            // In a page that says nofollow as a whole, the single links do not say it again.
            let marked = link.kind == Kind::Nofollow && !matches!(place, Place::Meta(_));
            push(
                out,
                &[
                    if marked {
                        "\" rel=\"nofollow\">"
                    } else {
                        "\">"
                    },
                    pick(draw, words),
                ],
            );
            push(
                out,
                &[" ", pick(draw.rotate_left(32), words), "</a></li>\n"],
            );
        });
        push(out, &["</ul>\n</nav>\n<main>\n"]);
        if adorned {
            self.each_link(host, place, |link| self.write_image(host, link, out));
        }
        push(out, &["<p>", &self.marker(host, place), ", "]);
        push_number(out, u64::from(version));
        push(out, &[".</p>\n"]);
    }

    /// The prose of a place's page and the number of spaces after it, given the bytes written before.
    pub(crate) fn page_prose(&self, host: u32, place: Place, written: usize) -> (&[u8], usize) {
        let host = self.original(host);
        let place = self.content(place);
        let wanted = if let Place::Page(_) = place {
            self.config.page_bytes
        } else {
            ODD_PAGE_BYTES
        };
        let room = wanted.saturating_sub(written + TAIL.len());
        let prose = self
            .prose
            .share(self.language(host, place), self.draw(host, place, 11), room);
        (prose, room - prose.len())
    }

    fn write_title(&self, host: u32, place: Place, out: &mut Vec<u8>) {
        let place = self.content(place);
        let draw = self.draw(host, place, 12);
        let words = self.language(host, place).words();
        push(
            out,
            &[
                pick(draw, words),
                " ",
                pick(draw.rotate_left(32), words),
                " ",
            ],
        );
        if let Place::Page(number) = place {
            push_number(out, u64::from(number));
        } else {
            push(out, &[&self.marker(host, place)]);
        }
        push(out, &[" - "]);
        push_number(out, u64::from(host));
    }

    fn write_image(&self, host: u32, link: Link, out: &mut Vec<u8>) {
        if let (Kind::Requisite, Place::Image(_)) = (link.kind, link.place) {
            push(out, &["<img alt=\"\" src=\""]);
            self.write_href(host, link, "&amp;", out);
            push(out, &["\">\n"]);
        }
    }

    fn write_head_link(&self, host: u32, link: Link, out: &mut Vec<u8>) {
        let (before, after) = match (link.kind, link.place) {
            (Kind::Requisite, Place::Style) => ("<link rel=\"stylesheet\" href=\"", "\">\n"),
            (Kind::Requisite, Place::Script) => ("<script src=\"", "\"></script>\n"),
            (Kind::Alternate, _) => (
                "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"",
                "\">\n",
            ),
            _ => return,
        };
        push(out, &[before]);
        self.write_href(host, link, "&amp;", out);
        push(out, &[after]);
    }
}

/// What the robots meta of a place says, if it has one.
fn meta_robots(place: Place) -> Option<&'static str> {
    match place {
        Place::Meta(number) => match number % 4 {
            0 => Some("noindex"),
            1 => Some("nofollow"),
            2 => Some("none"),
            _ => None,
        },
        _ => None,
    }
}

/// What the `X-Robots-Tag` of a place says, if it has one.
pub(crate) fn robots_tag(place: Place) -> Option<&'static str> {
    matches!(place, Place::Meta(number) if number % 4 == 3).then_some("noindex, nofollow")
}
