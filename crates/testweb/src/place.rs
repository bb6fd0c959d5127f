//! A place: what a path of a host stands for. The one file that writes paths and reads them.
//!
//! ```text
//! /                          the front page, Page(0)
//! /SECTION/WORD-N.html       Page(N); the words follow from seed, host and N
//! /ver?s=SECTION&n=N         Page(N), when the web has query strings
//! /pote/K.html  …            the places that are numbered alone (see `NUMBERED`)
//! /atras/GATE-K.html         Behind(GATE, K)
//! /salto/CHAIN/STEP          Hop
//! /sessao/K.html?sid=HEX     Session
//! /agenda/YEAR/MONTH/mais/…  Calendar
//! ```

use crate::draw::{mix, pick};
use crate::words::{SECTIONS, SLUGS};

/// What a path stands for. Whether the host really has it, `Web` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Place {
    /// An ordinary page; 0 is the front page.
    Page(u32),
    /// `/robots.txt`.
    Robots,
    /// `/sitemap.xml`.
    Sitemap,
    /// `/feed.xml`.
    Feed,
    /// The style sheet.
    Style,
    /// The script.
    Script,
    /// An image.
    Image(u32),
    /// A linked page that robots.txt disallows.
    Honeypot(u32),
    /// A linked page that is not there.
    Missing(u32),
    /// A redirect: this step of this chain.
    Hop {
        /// Which chain.
        chain: u32,
        /// Hops already made.
        step: u32,
    },
    /// One of the redirects that go in a circle.
    Loop(u32),
    /// A page that fails at first.
    Flaky(u32),
    /// A page that takes its time.
    Slow(u32),
    /// The same bytes as page N + 1.
    Copy(u32),
    /// A page with a robots meta.
    Meta(u32),
    /// A page linked from its gate only.
    Behind(Gate, u32),
    /// A page named by the sitemap only.
    Orphan(u32),
    /// A page with a session id in its URL.
    Session {
        /// Which page.
        page: u32,
        /// The session id.
        id: u64,
    },
    /// A page of the endless calendar.
    Calendar {
        /// Months since January 2026.
        month: u32,
        /// How many `mais/` follow.
        deep: u32,
    },
}

/// What stands before a page that is linked from there only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// A redirect chain.
    Redirect,
    /// A flaky page.
    Flaky,
    /// A page with a robots meta.
    Meta,
    /// A link marked nofollow.
    Nofollow,
}

/// Makes the place of a number.
type Numbered = fn(u32) -> Place;

const NUMBERED: [(&str, Numbered); 8] = [
    ("/pote/", Place::Honeypot),
    ("/perdida/", Place::Missing),
    ("/volta/", Place::Loop),
    ("/fragil/", Place::Flaky),
    ("/lenta/", Place::Slow),
    ("/copia/", Place::Copy),
    ("/meta/", Place::Meta),
    ("/orfa/", Place::Orphan),
];

const GATES: [(&str, Gate); 4] = [
    ("salto-", Gate::Redirect),
    ("fragil-", Gate::Flaky),
    ("meta-", Gate::Meta),
    ("nofollow-", Gate::Nofollow),
];

/// The path prefix that robots.txt disallows.
pub(crate) const HONEYPOTS: &str = "/pote/";

/// What the spelling of page paths depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling {
    pub(crate) seed: u64,
    pub(crate) host: u32,
    pub(crate) queries: bool,
}

impl Spelling {
    /// Whether this page's path has a query string.
    pub(crate) fn has_query(self, page: u32) -> bool {
        self.queries && page > 0 && self.draw(page, 2).is_multiple_of(4)
    }

    /// Appends the path, with `ampersand` between the parts of a query string.
    pub(crate) fn write(self, place: Place, ampersand: &str, out: &mut Vec<u8>) {
        match place {
            Place::Page(0) => out.push(b'/'),
            Place::Page(page) => {
                let draw = self.draw(page, 1);
                let section = pick(draw, &SECTIONS);
                if self.has_query(page) {
                    push(out, &["/ver?s=", section, ampersand, "n="]);
                    push_number(out, u64::from(page));
                } else {
                    push(
                        out,
                        &["/", section, "/", pick(draw.rotate_left(32), &SLUGS), "-"],
                    );
                    push_number(out, u64::from(page));
                    push(out, &[".html"]);
                }
            }
            Place::Robots => push(out, &["/robots.txt"]),
            Place::Sitemap => push(out, &["/sitemap.xml"]),
            Place::Feed => push(out, &["/feed.xml"]),
            Place::Style => push(out, &["/estilo.css"]),
            Place::Script => push(out, &["/guiao.js"]),
            Place::Image(number) => numbered(out, "/img/", number, ".png"),
            Place::Honeypot(number) => numbered(out, HONEYPOTS, number, ".html"),
            Place::Missing(number) => numbered(out, "/perdida/", number, ".html"),
            Place::Loop(number) => numbered(out, "/volta/", number, ".html"),
            Place::Flaky(number) => numbered(out, "/fragil/", number, ".html"),
            Place::Slow(number) => numbered(out, "/lenta/", number, ".html"),
            Place::Copy(number) => numbered(out, "/copia/", number, ".html"),
            Place::Meta(number) => numbered(out, "/meta/", number, ".html"),
            Place::Orphan(number) => numbered(out, "/orfa/", number, ".html"),
            Place::Behind(gate, number) => {
                let name = GATES
                    .iter()
                    .find(|(_, each)| *each == gate)
                    .map_or("", |(name, _)| name);
                push(out, &["/atras/"]);
                numbered(out, name, number, ".html");
            }
            Place::Hop { chain, step } => {
                numbered(out, "/salto/", chain, "/");
                push_number(out, u64::from(step));
            }
            Place::Session { page, id } => {
                numbered(out, "/sessao/", page, ".html?sid=");
                out.extend_from_slice(format!("{id:016x}").as_bytes());
            }
            Place::Calendar { month, deep } => {
                numbered(out, "/agenda/", 2026 + month / 12, "/");
                numbered(out, "", month % 12 + 1, "/");
                for _ in 0..deep {
                    push(out, &["mais/"]);
                }
            }
        }
    }

    /// What the path stands for; `None` unless it is spelled exactly as `write` spells it.
    pub(crate) fn read(self, path: &str, scratch: &mut Vec<u8>) -> Option<Place> {
        let place = guess(path)?;
        scratch.clear();
        self.write(place, "&", scratch);
        (scratch.as_slice() == path.as_bytes()).then_some(place)
    }

    fn draw(self, page: u32, salt: u64) -> u64 {
        mix(&[self.seed, u64::from(self.host), u64::from(page), salt])
    }
}

/// The only place the path can stand for, by its numbers alone.
fn guess(path: &str) -> Option<Place> {
    match path {
        "/" => return Some(Place::Page(0)),
        "/robots.txt" => return Some(Place::Robots),
        "/sitemap.xml" => return Some(Place::Sitemap),
        "/feed.xml" => return Some(Place::Feed),
        "/estilo.css" => return Some(Place::Style),
        "/guiao.js" => return Some(Place::Script),
        _ => {}
    }
    if let Some(query) = path.strip_prefix("/ver?") {
        return Some(Place::Page(query.rsplit_once('=')?.1.parse().ok()?));
    }
    if let Some(rest) = path.strip_prefix("/img/") {
        return Some(Place::Image(rest.strip_suffix(".png")?.parse().ok()?));
    }
    if let Some(rest) = path.strip_prefix("/salto/") {
        let (chain, step) = rest.split_once('/')?;
        return Some(Place::Hop {
            chain: chain.parse().ok()?,
            step: step.parse().ok()?,
        });
    }
    if let Some(rest) = path.strip_prefix("/sessao/") {
        let (page, id) = rest.split_once(".html?sid=")?;
        return Some(Place::Session {
            page: page.parse().ok()?,
            id: u64::from_str_radix(id, 16).ok()?,
        });
    }
    if let Some(rest) = path.strip_prefix("/agenda/") {
        let mut parts = rest.splitn(3, '/');
        let year: u32 = parts.next()?.parse().ok()?;
        let month: u32 = parts.next()?.parse().ok()?;
        let deep = u32::try_from(parts.next()?.matches("mais/").count()).ok()?;
        let month = year
            .checked_sub(2026)?
            .checked_mul(12)?
            .checked_add(month.checked_sub(1)?)?;
        return Some(Place::Calendar { month, deep });
    }
    let stem = path.strip_suffix(".html")?;
    if let Some(rest) = stem.strip_prefix("/atras/") {
        let (name, gate) = GATES.iter().find(|(name, _)| rest.starts_with(name))?;
        return Some(Place::Behind(*gate, rest[name.len()..].parse().ok()?));
    }
    for (prefix, place) in NUMBERED {
        if let Some(number) = stem.strip_prefix(prefix) {
            return Some(place(number.parse().ok()?));
        }
    }
    Some(Place::Page(stem.rsplit_once('-')?.1.parse().ok()?))
}

/// Appends the texts, one after the other.
pub(crate) fn push(out: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Appends a number in decimal digits.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

fn numbered(out: &mut Vec<u8>, before: &str, number: u32, after: &str) {
    push(out, &[before]);
    push_number(out, u64::from(number));
    push(out, &[after]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spelling: Spelling, place: Place) {
        let mut path = Vec::new();
        spelling.write(place, "&", &mut path);
        let path = String::from_utf8(path).unwrap();
        assert_eq!(spelling.read(&path, &mut Vec::new()), Some(place), "{path}");
    }

    #[test]
    fn every_path_is_read_back_as_its_place() {
        for queries in [false, true] {
            let spelling = Spelling {
                seed: 9,
                host: 3,
                queries,
            };
            for number in 0..200 {
                check(spelling, Place::Page(number));
                for (_, place) in NUMBERED {
                    check(spelling, place(number));
                }
                for (_, gate) in GATES {
                    check(spelling, Place::Behind(gate, number));
                }
                check(spelling, Place::Image(number));
                check(
                    spelling,
                    Place::Hop {
                        chain: number,
                        step: 2,
                    },
                );
                check(
                    spelling,
                    Place::Session {
                        page: number,
                        id: mix(&[1]),
                    },
                );
                check(
                    spelling,
                    Place::Calendar {
                        month: number,
                        deep: number,
                    },
                );
            }
            for place in [
                Place::Robots,
                Place::Sitemap,
                Place::Feed,
                Place::Style,
                Place::Script,
            ] {
                check(spelling, place);
            }
        }
    }

    #[test]
    fn another_spelling_is_no_place() {
        let spelling = Spelling {
            seed: 9,
            host: 3,
            queries: false,
        };
        for path in [
            "/x/y-1.html",
            "/pote/01.html",
            "/agenda/2026/13/",
            "/ver?s=x&n=1",
            "",
            "/ ",
        ] {
            assert_eq!(spelling.read(path, &mut Vec::new()), None, "{path}");
        }
    }
}
