//! Links: what each place points to. Pages are written from these and the truth is computed from these.
//!
//! ```text
//! pages of a host    a tree by number: every page is reached from the front page
//! hosts              a tree of front pages: every host is reached from host 0
//! the rest           drawn: mostly the same host, one in eight another
//! odd places         each hangs on one drawn page of its host
//! ```

use crate::draw::{below, mix};
use crate::place::{Gate, Place, push};
use crate::web::{IMAGES, LOOP_LENGTH, Web};

/// Front pages that each front page points to.
const HOST_BRANCHES: u32 = 4;

/// One link of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// What kind of link it is.
    pub kind: Kind,
    /// On which host it ends.
    pub site: Site,
    /// Where on that host it ends.
    pub place: Place,
    /// How it is written.
    pub form: Form,
}

/// The kind of a link, which decides who follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `<a href>`.
    Anchor,
    /// `<a href rel=nofollow>`, or any link of a page that says nofollow.
    Nofollow,
    /// A style sheet, script or image.
    Requisite,
    /// `<link rel=alternate>`: the feed.
    Alternate,
    /// An entry of a sitemap.
    SitemapEntry,
    /// An item of a feed.
    FeedItem,
}

/// The host on which a link ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// The host it was found on, whichever that is.
    Here,
    /// This host of the web.
    Host(u32),
    /// The front page of a host that is no part of the web.
    Outside(u32),
}

/// How a link to the same host is written; links to others are absolute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/noticias/rio-7.html`.
    Path,
    /// `../noticias/rio-7.html`.
    Relative,
}

impl Link {
    fn here(place: Place) -> Self {
        Self {
            kind: Kind::Anchor,
            site: Site::Here,
            place,
            form: Form::Path,
        }
    }

    fn at(host: u32, place: Place) -> Self {
        Self {
            site: Site::Host(host),
            ..Self::here(place)
        }
    }

    fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

/// How many hops a redirect chain has.
pub(crate) fn hops(chain: u32) -> u32 {
    1 + chain % 3
}

impl Web {
    /// Every link found at a place, in the order in which its page has them.
    pub fn links(&self, host: u32, place: Place) -> Vec<Link> {
        let mut links = Vec::new();
        self.each_link(host, place, |link| links.push(link));
        links
    }

    /// The URL a link found on this host leads to.
    pub fn target(&self, host: u32, link: Link) -> String {
        match link.site {
            Site::Here => self.url(host, link.place),
            Site::Host(other) => self.url(other, link.place),
            Site::Outside(number) => {
                let mut out = Vec::new();
                self.naming.write_outside(number, &mut out);
                out.push(b'/');
                String::from_utf8_lossy(&out).into_owned()
            }
        }
    }

    /// Where a redirect leads; `None` when the place is no redirect.
    pub fn redirect(&self, host: u32, place: Place) -> Option<Link> {
        if !self.has(host, place) {
            return None;
        }
        let original = self.original(host);
        match place {
            Place::Loop(number) => Some(Link::here(Place::Loop((number + 1) % LOOP_LENGTH))),
            Place::Hop { chain, step } if step + 1 < hops(chain) => Some(Link::here(Place::Hop {
                chain,
                step: step + 1,
            })),
            Place::Hop { chain, .. } => {
                let draw = self.draw(original, place, 9);
                let page = Place::Page(below(draw, self.config.pages_per_host));
                Some(match chain % 3 {
                    0 => Link::here(Place::Behind(Gate::Redirect, chain)),
                    1 if self.config.hosts > 1 => Link::at(self.another_host(original, draw), page),
                    _ => Link::here(page),
                })
            }
            _ => None,
        }
    }

    pub(crate) fn each_link(&self, host: u32, place: Place, mut found: impl FnMut(Link)) {
        let host = self.original(host);
        let home = Link::here(Place::Page(0));
        match place {
            Place::Page(number) => self.each_page_link(host, number, found),
            Place::Copy(number) => self.each_page_link(host, number + 1, found),
            Place::Honeypot(_) | Place::Slow(_) | Place::Behind(..) | Place::Orphan(_) => {
                found(home);
            }
            Place::Flaky(number) => {
                found(home);
                found(Link::here(Place::Behind(Gate::Flaky, number)));
            }
            Place::Meta(number) => {
                let kind = if number.is_multiple_of(4) {
                    Kind::Anchor
                } else {
                    Kind::Nofollow
                };
                found(home.of(kind));
                found(Link::here(Place::Behind(Gate::Meta, number)).of(kind));
            }
            Place::Session { page, id } => {
                found(home);
                found(Link::here(Place::Session {
                    page: (page + 1) % self.config.sessions.max(1),
                    id,
                }));
            }
            Place::Calendar { month, deep } => {
                found(home);
                found(Link::here(Place::Calendar {
                    month: month.saturating_add(1),
                    deep,
                }));
                found(Link::here(Place::Calendar {
                    month,
                    deep: deep.saturating_add(1),
                }));
            }
            Place::Style => {
                found(Link::here(Place::Image(0)).of(Kind::Requisite));
                let other = self.another_host(host, self.draw(host, place, 8));
                found(Link::at(other, Place::Image(1)).of(Kind::Requisite));
            }
            Place::Sitemap => {
                for page in 0..self.config.pages_per_host.min(40_000) {
                    found(Link::here(Place::Page(page)).of(Kind::SitemapEntry));
                }
                for number in 0..self.config.orphans {
                    found(Link::here(Place::Orphan(number)).of(Kind::SitemapEntry));
                }
            }
            Place::Feed => {
                for page in 0..self.config.pages_per_host.min(10) {
                    found(Link::here(Place::Page(page)).of(Kind::FeedItem));
                }
            }
            Place::Robots
            | Place::Script
            | Place::Image(_)
            | Place::Missing(_)
            | Place::Loop(_)
            | Place::Hop { .. } => {}
        }
    }

    fn each_page_link(&self, host: u32, number: u32, mut found: impl FnMut(Link)) {
        let config = &self.config;
        if config.requisites {
            self.each_requisite(host, number, &mut found);
        }
        if number == 0 && config.feed {
            found(Link::here(Place::Feed).of(Kind::Alternate));
        }
        let mut count = 0;
        let mut found = |link| {
            count += 1;
            found(link);
            count
        };
        if number > 0 {
            found(Link::here(Place::Page(0)));
        }
        for child in children(
            number,
            (config.links_per_page / 3).clamp(2, 10),
            config.pages_per_host,
        ) {
            found(Link::here(Place::Page(child)));
        }
        if number == 0 {
            for child in children(host, HOST_BRANCHES, config.hosts) {
                found(Link::at(child, Place::Page(0)));
            }
        }
        self.each_odd_link(host, number, |link| {
            found(link);
        });
        let relative = number > 0 && !self.spelling(host).has_query(number);
        for extra in 0..config.links_per_page {
            let draw = mix(&[
                config.seed,
                u64::from(host),
                u64::from(number),
                5 << 32 | u64::from(extra),
            ]);
            let page = Place::Page(below(draw.rotate_left(13), config.pages_per_host));
            let link = match draw % 8 {
                0 if config.hosts > 1 => Link::at(self.another_host(host, draw), page),
                1 => Link::at(host, page),
                2..=4 if relative => Link {
                    form: Form::Relative,
                    ..Link::here(page)
                },
                _ => Link::here(page),
            };
            if found(link) >= config.links_per_page {
                break;
            }
        }
    }

    fn each_requisite(&self, host: u32, number: u32, found: &mut impl FnMut(Link)) {
        let other = self.another_host(host, self.draw(host, Place::Page(number), 7));
        for place in [Place::Style, Place::Script, Place::Image(number % IMAGES)] {
            found(Link::here(place).of(Kind::Requisite));
        }
        found(Link::at(other, Place::Image((number + 1) % IMAGES)).of(Kind::Requisite));
    }

    /// The odd places that hang on this page.
    fn each_odd_link(&self, host: u32, number: u32, mut found: impl FnMut(Link)) {
        let config = &self.config;
        let mut hang = |link: Link| {
            if below(self.draw(host, link.place, 6), config.pages_per_host) == number {
                found(link);
            }
        };
        if self.robots(host) == crate::robots::Robots::Served {
            (0..config.honeypots).for_each(|each| hang(Link::here(Place::Honeypot(each))));
        }
        (0..config.missing).for_each(|each| hang(Link::here(Place::Missing(each))));
        (0..config.redirects).for_each(|chain| hang(Link::here(Place::Hop { chain, step: 0 })));
        if config.redirect_loop {
            hang(Link::here(Place::Loop(0)));
        }
        (0..config.flaky).for_each(|each| hang(Link::here(Place::Flaky(each))));
        (0..config.slow).for_each(|each| hang(Link::here(Place::Slow(each))));
        (0..config.copies).for_each(|each| hang(Link::here(Place::Copy(each))));
        (0..config.meta_robots).for_each(|each| hang(Link::here(Place::Meta(each))));
        (0..config.nofollow_links).for_each(|each| {
            hang(Link::here(Place::Behind(Gate::Nofollow, each)).of(Kind::Nofollow));
        });
        if config.calendar {
            hang(Link::here(Place::Calendar { month: 0, deep: 0 }));
        }
        for each in 0..config.outside_links {
            let draw = mix(&[config.seed, u64::from(host), 6 << 32 | u64::from(each)]);
            if below(draw, config.pages_per_host) == number {
                found(Link {
                    site: Site::Outside(below(draw.rotate_left(32), 50)),
                    ..Link::here(Place::Page(0))
                });
            }
        }
        for page in 0..config.sessions {
            let id = mix(&[
                config.seed,
                u64::from(host),
                u64::from(number),
                u64::from(page),
            ]);
            found(Link::here(Place::Session { page, id }));
        }
    }

    /// A host by draw: another one than `host`, when there is one.
    fn another_host(&self, host: u32, draw: u64) -> u32 {
        let hosts = self.config.hosts;
        (host + 1 + below(draw.rotate_left(21), hosts.saturating_sub(1))) % hosts
    }

    /// Appends the link as a page of this host writes it, ready to stand in an attribute.
    pub(crate) fn write_href(&self, host: u32, link: Link, ampersand: &str, out: &mut Vec<u8>) {
        let end = match link.site {
            Site::Here => {
                if link.form == Form::Relative {
                    push(out, &[".."]);
                }
                host
            }
            Site::Host(other) => {
                self.naming.write_origin(other, out);
                other
            }
            Site::Outside(number) => {
                self.naming.write_outside(number, out);
                host
            }
        };
        self.spelling(end).write(link.place, ampersand, out);
    }
}

/// The children of a node in the tree of `count` nodes where each has this many branches.
fn children(node: u32, branches: u32, count: u32) -> impl Iterator<Item = u32> {
    let first = u64::from(node) * u64::from(branches) + 1;
    (first..first + u64::from(branches))
        .map_while(|child| u32::try_from(child).ok())
        .take_while(move |child| *child < count)
}
