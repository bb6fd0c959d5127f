//! The truth: what a right crawl of the web finds, computed from its links alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::links::{Kind, Link, Site};
use crate::place::Place;
use crate::robots::Robots;
use crate::web::Web;

/// How the crawler to be checked behaves.
#[derive(Clone, Debug)]
pub struct Rules {
    /// On which hosts it collects.
    pub scope: Scope,
    /// Hops from a seed it goes at most.
    pub max_depth: Option<u32>,
    /// Whether it obeys robots.txt.
    pub robots: bool,
    /// Whether it follows links marked nofollow.
    pub nofollow: bool,
    /// Whether it collects style sheets, scripts and images, also from hosts out of scope.
    pub requisites: bool,
    /// The depth it gives to what sitemaps name, when it reads those that robots.txt names.
    pub sitemaps: Option<u32>,
    /// Whether it follows `<link rel=alternate>` and reads feeds.
    pub feeds: bool,
    /// Whether a redirect counts as a hop in depth.
    pub redirect_is_hop: bool,
    /// Whether it walks into the calendar; honoured only with a `max_depth`, as the calendar is endless.
    pub calendar: bool,
}

/// On which hosts a crawl collects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The hosts of the seeds.
    Seeds,
    /// Every host of the web.
    Web,
    /// These hosts.
    Hosts(BTreeSet<u32>),
}

impl Default for Rules {
    /// A polite crawl of the whole web by plain links.
    fn default() -> Self {
        Self {
            scope: Scope::Web,
            max_depth: None,
            robots: true,
            nofollow: false,
            requisites: false,
            sitemaps: None,
            feeds: false,
            redirect_is_hop: false,
            calendar: false,
        }
    }
}

/// What a crawl meets, by URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every URL to be fetched (redirects and missing pages too), with its least hops from a seed.
    pub depths: BTreeMap<String, u32>,
    /// The requisites to be fetched, when the rules collect them.
    pub requisites: BTreeSet<String>,
    /// URLs in scope that were met and robots.txt keeps the crawl from.
    pub disallowed: BTreeSet<String>,
    /// Every redirect fetched, and where it leads.
    pub redirects: BTreeMap<String, String>,
    /// URLs met that are out of scope.
    pub outside: BTreeSet<String>,
    /// URLs in scope that were met beyond the depth allowed.
    pub too_deep: BTreeSet<String>,
}

impl Truth {
    /// Every URL to be fetched, apart from robots.txt and the sitemaps themselves.
    pub fn fetched(&self) -> BTreeSet<&str> {
        self.depths
            .keys()
            .chain(&self.requisites)
            .map(String::as_str)
            .collect()
    }
}

impl Web {
    /// What a crawl by these rules meets from these seeds. Seeds that are not of the web are left out.
    pub fn reachable<S: AsRef<str>>(&self, seeds: &[S], rules: &Rules) -> Truth {
        let seeds: Vec<(u32, Place)> = seeds
            .iter()
            .filter_map(|seed| self.locate(seed.as_ref()))
            .collect();
        let scope = match &rules.scope {
            Scope::Seeds => Some(seeds.iter().map(|(host, _)| *host).collect()),
            Scope::Hosts(hosts) => Some(hosts.clone()),
            Scope::Web => None,
        };
        let mut walk = Walk {
            web: self,
            rules,
            scope,
            truth: Truth::default(),
            met: BTreeMap::new(),
            hosts: BTreeSet::new(),
            queue: VecDeque::new(),
        };
        for (host, place) in seeds {
            walk.offer(host, place, 0);
        }
        walk.run();
        walk.truth
    }

    /// Every URL of a polite crawl by plain links over all hosts, with its depth.
    pub fn depth_map<S: AsRef<str>>(
        &self,
        seeds: &[S],
        max_depth: Option<u32>,
    ) -> BTreeMap<String, u32> {
        self.reachable(
            seeds,
            &Rules {
                max_depth,
                ..Rules::default()
            },
        )
        .depths
    }

    /// Whether a URL is a page that robots.txt disallows though it is linked.
    pub fn is_honeypot(&self, url: &str) -> bool {
        matches!(self.locate(url), Some((host, place @ Place::Honeypot(_))) if !self.allows(host, place))
    }

    /// Whether a URL is of the endless calendar.
    pub fn is_trap(&self, url: &str) -> bool {
        matches!(self.locate(url), Some((_, Place::Calendar { .. })))
    }

    /// The status a patient client gets in the end; `None` for a host that is not of this web.
    pub fn expected_status(&self, url: &str) -> Option<u16> {
        let rest = url.strip_prefix("http://")?;
        let (name, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = self.host_number(name)?;
        let asked = crate::answer::Asked {
            earlier: u32::MAX,
            ..Default::default()
        };
        Some(self.answer(host, path, &asked).status)
    }
}

/// One walk over the web, breadth first.
struct Walk<'a> {
    web: &'a Web,
    rules: &'a Rules,
    scope: Option<BTreeSet<u32>>,
    truth: Truth,
    met: BTreeMap<(u32, Place), u32>,
    hosts: BTreeSet<u32>,
    queue: VecDeque<(u32, Place, u32)>,
}

impl Walk<'_> {
    fn run(&mut self) {
        while let Some((host, place, depth)) = self.queue.pop_front() {
            if self
                .met
                .get(&(host, place))
                .is_some_and(|known| *known < depth)
            {
                continue; // A shorter way was found while this one waited.
            }
            self.truth.depths.insert(self.web.url(host, place), depth);
            if !self.web.has(host, place) {
                continue;
            }
            if let Some(link) = self.web.redirect(host, place) {
                self.truth
                    .redirects
                    .insert(self.web.url(host, place), self.web.target(host, link));
                self.follow(host, link, depth + u32::from(self.rules.redirect_is_hop));
                continue;
            }
            for link in self.web.links(host, place) {
                let followed = match link.kind {
                    Kind::Anchor => true,
                    Kind::Nofollow => self.rules.nofollow,
                    Kind::Alternate | Kind::FeedItem => self.rules.feeds,
                    Kind::Requisite => {
                        self.require(host, link);
                        false
                    }
                    Kind::SitemapEntry => true,
                };
                let endless = matches!(link.place, Place::Calendar { .. });
                if followed && (!endless || (self.rules.calendar && self.rules.max_depth.is_some()))
                {
                    self.follow(host, link, depth + 1);
                }
            }
        }
    }

    fn follow(&mut self, host: u32, link: Link, depth: u32) {
        match link.site {
            Site::Here => self.offer(host, link.place, depth),
            Site::Host(other) => self.offer(other, link.place, depth),
            Site::Outside(_) => {
                self.truth.outside.insert(self.web.target(host, link));
            }
        }
    }

    fn offer(&mut self, host: u32, place: Place, depth: u32) {
        if self
            .scope
            .as_ref()
            .is_some_and(|scope| !scope.contains(&host))
        {
            self.truth.outside.insert(self.web.url(host, place));
            return;
        }
        if self.rules.robots && !self.web.allows(host, place) {
            self.truth.disallowed.insert(self.web.url(host, place));
            return;
        }
        if self
            .met
            .get(&(host, place))
            .is_some_and(|known| *known <= depth)
        {
            return;
        }
        if self.rules.max_depth.is_some_and(|most| depth > most) {
            self.truth.too_deep.insert(self.web.url(host, place));
            return;
        }
        self.truth.too_deep.remove(&self.web.url(host, place));
        self.met.insert((host, place), depth);
        // A redirect costs nothing, so its target goes before what is deeper already.
        if self.queue.back().is_some_and(|(_, _, last)| *last > depth) {
            self.queue.push_front((host, place, depth));
        } else {
            self.queue.push_back((host, place, depth));
        }
        self.read_sitemap(host);
    }

    /// Offers what a host's sitemap names, the first time the host is met.
    fn read_sitemap(&mut self, host: u32) {
        let Some(depth) = self.rules.sitemaps else {
            return;
        };
        let named = self.web.has(host, Place::Sitemap) && self.web.robots(host) == Robots::Served;
        if named && self.hosts.insert(host) {
            for link in self.web.links(host, Place::Sitemap) {
                self.offer(host, link.place, depth);
            }
        }
    }

    fn require(&mut self, host: u32, link: Link) {
        let Link { place, .. } = link;
        let host = if let Site::Host(other) = link.site {
            other
        } else {
            host
        };
        if !self.rules.requisites {
            return;
        }
        let url = self.web.url(host, place);
        if self.rules.robots && !self.web.allows(host, place) {
            self.truth.disallowed.insert(url);
        } else if self.truth.requisites.insert(url) {
            for inner in self.web.links(host, place) {
                self.require(host, inner);
            }
        }
    }
}
