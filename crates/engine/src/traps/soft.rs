//! Pages that stand for "not found" and do not say so: soft 404s.
//!
//! ```text
//! the same page under a few URLs ──> Errand::Probe, a URL that does not exist ──> the same page again
//!                                                                                    │
//!                             pages like it are neither indexed nor followed <───────┘
//!                             those that were taken in before leave again
//! ```
//!
//! Until the answer is there, nobody knows whether such pages are a trap: the watch does not see them, and what it found
//! by them before is lifted.
//!
//! One page of them may be what people look for: the start page of the host, which many hosts show for any URL, or else a
//! seed. It stays, whether it came before the answer or after.
//!
//! Only a host that repeats itself is asked, and only a few times. What was learnt is forgotten with the
//! process: the next one asks once more.

use std::collections::{HashMap, VecDeque};

use teia_base::journal::Quarantined;
use teia_base::{CanonicalUrl, HostId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The same page so often, and the host is asked.
const ENOUGH: u32 = 3;
/// Pages of a host that are counted, and probes that it is sent: directories may have pages of their own.
const MOST_PAGES: usize = 64;
const MOST_PROBES: u32 = 16;
/// Pages that are kept from the watch while their host is asked; later ones are not: it may never answer.
const MOST_HELD_BACK: u32 = 64;
/// Hosts that are watched; then all are forgotten.
const MOST_HOSTS: usize = 20_000;
/// Letters of URLs whose pages may have to leave again; then the oldest stay.
const MOST_LETTERS: usize = 8 << 20;

/// What each host shows again and again.
#[derive(Debug, Default)]
pub(crate) struct SoftMissing {
    hosts: HashMap<HostId, Host>,
    /// Pages that nobody knew anything of when they came.
    taken_in: VecDeque<TakenIn>,
    letters: usize,
    /// Those of them that are to leave.
    leaving: Vec<CanonicalUrl>,
    /// What was taken for a trap because of them, and is none.
    lifted: Vec<Quarantined>,
}

#[derive(Debug)]
struct TakenIn {
    host: HostId,
    page: u64,
    url: CanonicalUrl,
    standing: Standing,
}

/// What speaks for a page that its host shows for any URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Any,
    /// A person has asked for it.
    Seed,
    /// It is the start page.
    Start,
}

impl Standing {
    pub(crate) fn of(url: &CanonicalUrl, is_seed: bool) -> Self {
        match url.path_and_query() {
            "/" => Self::Start,
            _ if is_seed => Self::Seed,
            _ => Self::Any,
        }
    }
}

#[derive(Debug, Default)]
struct Host {
    /// How often each page was met.
    pages: HashMap<u64, u32>,
    probes: u32,
    missing: HashMap<u64, Stays>,
    /// Pages of which a probe is out, and how many of each were kept from the watch meanwhile.
    asked: HashMap<u64, u32>,
    /// What was taken for a trap when such a page came.
    blamed: HashMap<u64, Vec<Quarantined>>,
}

/// Of all URLs with such a page, those that stay.
#[derive(Debug, Default)]
struct Stays {
    start: bool,
    /// While no start page is known.
    seed: Option<CanonicalUrl>,
}

impl Stays {
    /// Whether this one does, and the one that leaves for it.
    fn meet(&mut self, url: &CanonicalUrl, standing: Standing) -> (bool, Option<CanonicalUrl>) {
        match standing {
            Standing::Any => (false, None),
            Standing::Start => {
                self.start = true;
                (true, self.seed.take())
            }
            Standing::Seed if self.start => (false, None),
            Standing::Seed => (self.seed.get_or_insert_with(|| url.clone()) == url, None),
        }
    }
}

impl SoftMissing {
    /// Whether this page is what the host shows for anything.
    pub(crate) fn is_missing(&self, host: HostId, page: u64) -> bool {
        self.hosts
            .get(&host)
            .is_some_and(|host| host.missing.contains_key(&page))
    }

    /// Whether a URL with such a page stays all the same, because it is the start page, or a seed where there is none.
    pub(crate) fn spares(
        &mut self,
        host: HostId,
        page: u64,
        url: &CanonicalUrl,
        standing: Standing,
    ) -> bool {
        let host = self.hosts.get_mut(&host);
        let Some(stays) = host.and_then(|host| host.missing.get_mut(&page)) else {
            return false;
        };
        let (is_spared, leaves) = stays.meet(url, standing);
        self.leaving.extend(leaves);
        is_spared
    }

    /// Notes a page; true when the host is to be asked for a URL that does not exist.
    pub(crate) fn note(
        &mut self,
        host: HostId,
        url: &CanonicalUrl,
        standing: Standing,
        page: u64,
    ) -> bool {
        self.remember(TakenIn {
            host,
            page,
            url: url.clone(),
            standing,
        });
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(&host) {
            self.hosts.clear();
        }
        let host = self.hosts.entry(host).or_default();
        if host.pages.len() >= MOST_PAGES && !host.pages.contains_key(&page) {
            host.pages.clear();
        }
        let times = host.pages.entry(page).or_default();
        *times += 1;
        let is_time = *times == ENOUGH && host.probes < MOST_PROBES;
        host.probes += u32::from(is_time);
        is_time
    }

    /// The host is asked what it shows for a URL that does not exist.
    pub(crate) fn note_asked(&mut self, host: HostId, page: u64) {
        self.hosts.entry(host).or_default().asked.insert(page, 0);
    }

    /// The host has answered, whatever it was.
    pub(crate) fn note_answer(&mut self, host: HostId, page: u64) {
        if let Some(host) = self.hosts.get_mut(&host) {
            host.asked.remove(&page);
        }
    }

    /// Whether a page tells nothing of traps: it stands for "not found", or may do so.
    pub(crate) fn holds_back(&mut self, host: HostId, page: u64) -> bool {
        let Some(host) = self.hosts.get_mut(&host) else {
            return false;
        };
        let is_in_doubt = |held: &mut u32| {
            *held += 1;
            *held <= MOST_HELD_BACK
        };
        host.missing.contains_key(&page) || host.asked.get_mut(&page).is_some_and(is_in_doubt)
    }

    /// Something was taken for a trap when this page came.
    pub(crate) fn blame(&mut self, host: HostId, page: u64, found: Quarantined) {
        if let Some(host) = self.hosts.get_mut(&host) {
            host.blamed.entry(page).or_default().push(found);
        }
    }

    /// What was taken for a trap and is none.
    pub(crate) fn take_lifted(&mut self) -> Vec<Quarantined> {
        std::mem::take(&mut self.lifted)
    }

    /// The host has shown this page for a URL that does not exist: what was taken in of it is to leave, but for the one that
    /// stays.
    pub(crate) fn learn(&mut self, host: HostId, page: u64) {
        let known = self.hosts.entry(host).or_default();
        let stays = known.missing.entry(page).or_default();
        self.lifted
            .extend(known.blamed.remove(&page).unwrap_or_default());
        let taken_in = std::mem::take(&mut self.taken_in).into_iter();
        let (leaving, staying): (VecDeque<_>, VecDeque<_>) =
            taken_in.partition(|one| one.host == host && one.page == page);
        self.taken_in = staying;
        self.letters = self.taken_in.iter().map(TakenIn::letters).sum();
        for one in leaving {
            let (is_spared, leaves) = stays.meet(&one.url, one.standing);
            self.leaving.extend(leaves);
            self.leaving.extend(Some(one.url).filter(|_| !is_spared));
        }
    }

    /// Whether pages are to leave, or to be let in again.
    pub(crate) fn has_news(&self) -> bool {
        !self.leaving.is_empty() || !self.lifted.is_empty()
    }

    /// The pages that are to leave; those that cannot yet are to be given back.
    pub(crate) fn take_leaving(&mut self) -> Vec<CanonicalUrl> {
        std::mem::take(&mut self.leaving)
    }

    pub(crate) fn leave_later(&mut self, url: CanonicalUrl) {
        self.leaving.push(url);
    }

    fn remember(&mut self, one: TakenIn) {
        self.letters += one.letters();
        self.taken_in.push_back(one);
        while self.letters > MOST_LETTERS
            && let Some(oldest) = self.taken_in.pop_front()
        {
            self.letters -= oldest.letters();
        }
    }
}

impl TakenIn {
    /// What it costs, about.
    fn letters(&self) -> usize {
        self.url.as_str().len() + size_of::<Self>()
    }
}

/// A URL in the directory of another one that nobody has made.
pub(crate) fn made_up(url: &CanonicalUrl, key: u64) -> String {
    let text = url.as_str();
    let path = text.split(['?', '#']).next().unwrap_or(text);
    let end = path.rfind('/').map_or(path.len(), |at| at + 1);
    let name = xxh3_64_with_seed(path.as_bytes(), key);
    // One word that stands on no page: what a URL says is passed over on its page.
    format!("{}zq{name:016x}", &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: u64) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://a.test/{path}")).unwrap()
    }

    #[test]
    fn a_host_is_asked_once_for_each_page_that_it_repeats() {
        let mut soft = SoftMissing::default();
        let asked = (0..100)
            .filter(|_| soft.note(HostId(1), &url(0), Standing::Any, 7))
            .count();
        assert_eq!(asked, 1);
        assert!(!soft.is_missing(HostId(1), 7));
        soft.learn(HostId(1), 7);
        assert!(soft.is_missing(HostId(1), 7) && !soft.is_missing(HostId(2), 7));
        // However many it repeats.
        let asked = (0..1000).filter(|at| soft.note(HostId(3), &url(0), Standing::Any, at / 10));
        assert_eq!(asked.count(), 16);
    }

    #[test]
    fn what_was_taken_in_before_is_to_leave() {
        let mut soft = SoftMissing::default();
        for at in 0..6 {
            soft.note(HostId(at % 2), &url(at.into()), Standing::Any, 7);
            soft.note(HostId(at % 2), &url(100 + u64::from(at)), Standing::Any, 8);
        }
        soft.learn(HostId(1), 7);
        assert_eq!(soft.take_leaving(), [url(1), url(3), url(5)]);
        assert!(!soft.has_news());
        soft.learn(HostId(1), 7);
        assert!(!soft.has_news(), "each once");
    }

    #[test]
    fn pages_of_a_host_that_is_being_asked_tell_nothing_of_traps() {
        let mut soft = SoftMissing::default();
        for _ in 0..3 {
            assert!(!soft.holds_back(HostId(1), 7), "nobody was asked");
            soft.note(HostId(1), &url(0), Standing::Any, 7);
        }
        soft.note_asked(HostId(1), 7);
        assert!(soft.holds_back(HostId(1), 7));
        assert!(!soft.holds_back(HostId(1), 8) && !soft.holds_back(HostId(2), 7));
        // It shows something else.
        soft.note_answer(HostId(1), 7);
        assert!(!soft.holds_back(HostId(1), 7));
        soft.note_asked(HostId(1), 7);
        let held = (0..1000).filter(|_| soft.holds_back(HostId(1), 7)).count();
        assert_eq!(held, 64, "one that never answers");
        soft.note_answer(HostId(1), 7);
        soft.learn(HostId(1), 7);
        assert!((0..1000).all(|_| soft.holds_back(HostId(1), 7)));
    }

    #[test]
    fn what_was_found_by_such_pages_is_lifted() {
        let mut soft = SoftMissing::default();
        let found = |pattern: &str| Quarantined {
            host: "a.test".to_owned(),
            pattern: pattern.to_owned(),
        };
        soft.note(HostId(1), &url(0), Standing::Any, 7);
        soft.blame(HostId(1), 7, found("/shop/**"));
        soft.blame(HostId(1), 8, found("/list?page={n}"));
        soft.learn(HostId(1), 7);
        assert!(soft.has_news());
        assert_eq!(soft.take_lifted(), [found("/shop/**")]);
        soft.learn(HostId(1), 7);
        assert_eq!(soft.take_lifted(), []);
    }

    #[test]
    fn the_start_page_stays_or_else_one_seed() {
        use Standing::{Any, Seed, Start};
        const HOST: HostId = HostId(1);
        // What came before the answer, in this order, and what of it leaves.
        let cases: [(&[Standing], &[u64]); 4] = [
            (&[Any, Start, Any], &[0, 2]),
            (&[Seed, Any, Seed], &[1, 2]),
            (&[Seed, Any, Start, Seed], &[0, 1, 3]),
            (&[Any, Any], &[0, 1]),
        ];
        for (came, leaves) in cases {
            let mut soft = SoftMissing::default();
            for (at, standing) in (0..).zip(came) {
                soft.note(HOST, &url(at), *standing, 7);
            }
            soft.learn(HOST, 7);
            let mut leaving = soft.take_leaving();
            leaving.sort();
            let expected: Vec<_> = leaves.iter().map(|at| url(*at)).collect();
            assert_eq!(leaving, expected, "{came:?}");
        }
        // And what comes after it.
        let mut soft = SoftMissing::default();
        assert!(!soft.spares(HOST, 7, &url(0), Start), "nothing is known");
        soft.learn(HOST, 7);
        for (at, standing, stays) in [
            (1, Any, false),
            (2, Seed, true),
            (3, Seed, false),
            (2, Seed, true),
            (4, Start, true),
            (2, Seed, false),
            (4, Start, true),
        ] {
            let is_spared = soft.spares(HOST, 7, &url(at), standing);
            assert_eq!(is_spared, stays, "{at} {standing:?}");
        }
        assert_eq!(soft.take_leaving(), [url(2)], "for the start page");
    }

    #[test]
    fn few_letters_are_remembered_however_many_pages_come() {
        let mut soft = SoftMissing::default();
        let long = CanonicalUrl::parse(&format!("http://a.test/{}", "x".repeat(2000))).unwrap();
        for at in 0..20_000 {
            soft.note(HostId(1), &long, Standing::Any, at);
        }
        assert!(soft.letters <= MOST_LETTERS);
        assert!(soft.taken_in.len() < 5000, "{}", soft.taken_in.len());
    }

    #[test]
    fn the_url_lies_in_the_same_directory() {
        let url = CanonicalUrl::parse("http://a.test/shop/list?page=1/2").unwrap();
        let made = made_up(&url, 1);
        assert!(made.starts_with("http://a.test/shop/zq"), "{made}");
        assert_eq!(made, made_up(&url, 1));
        assert_ne!(made, made_up(&url, 2));
    }
}
