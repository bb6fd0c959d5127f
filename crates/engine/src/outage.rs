//! Trouble of our own: network, name server or clock of this machine, told apart from hosts in trouble.
//!
//! ```text
//! every exchange ──> failures in a row, of several hosts, without one answer between them
//!                                   │
//!                                   └──> one request at a time, no URL fails for it ──> one host answers: go on
//! ```
//!
//! A pure judge of signs: the ring tells it what came of each exchange, and asks what may go out.
//!
//! Anybody can make any number of names that no name server answers for, and a page that is full of them. So sites
//! count, not hosts, and before names are said to be gone, those of hosts that have answered are asked for anew.
//! Nothing of it outlives the process; one that begins in an outage finds out anew, from hosts that
//! answered in an earlier one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use teia_base::{HostId, Outcome, site_of};
use xxhash_rust::xxh3::xxh3_64;

/// Fewer sites may well have failed together.
const FEWEST_SITES: usize = 5;
/// Where one exchange in twenty would bring an answer, so many without one are no chance.
const FEWEST_FAILURES: usize = 15;
/// Many certificates expire; that nearly all of so many sites' have is no chance. Hosts of one site may share one.
const FEWEST_CERTIFICATES: usize = 100;
/// Certificates of so long ago say nothing of now.
const RECENT: Duration = Duration::from_secs(600);
/// From so many on a failure may be the first sign.
const FIRST_SITES: usize = 3;
const FIRST_CERTIFICATES: usize = 10;
/// How often one host is tried while there is trouble.
const FEEL_EVERY: Duration = Duration::from_secs(1);
/// How long a host with https rests while the clock is wrong, before it is looked at again.
pub(crate) const SECURE_REST: Duration = Duration::from_secs(2);
/// Where hosts that have answered before may be tried, others are only so often.
const FEEL_STRANGERS_EVERY: Duration = Duration::from_secs(5);
/// How long one of these rests before it is looked at again.
pub(crate) const STRANGERS_REST: Duration = Duration::from_secs(1);
/// Without an answer of anybody for so long, it does not matter how many have answered before.
const LONG: Duration = Duration::from_secs(30);
/// Sites that are remembered at once.
const MOST_SITES: usize = 20_000;
/// Hosts whose names are asked for anew before names are said to be gone.
const WITNESSES: usize = 4;
/// Of those that answered first, which nobody can push out of the list, and of those that did last, so many are remembered.
const MOST_WITNESSES: usize = 16;
/// How often they are asked.
const INQUIRE_EVERY: Duration = Duration::from_secs(1);

/// What is wrong with us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Network,
    Names,
    Clock,
}

/// Whose hosts are one another's, as a number: one person may give a site any number of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Site(u64);

impl Site {
    /// The site of the host with this name; an address is its own.
    pub(crate) fn of(name: &str) -> Self {
        Self(xxh3_64(site_of(name).as_bytes()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Reached,
    NoConnection,
    NoName,
}

/// Failures since the last answer of anyone.
#[derive(Debug, Default)]
struct Streak {
    failures: usize,
    names: usize,
    sites: HashSet<Site>,
    /// Those among them that have answered before.
    good: HashSet<Site>,
    since: Option<Instant>,
}

/// Who has answered.
#[derive(Debug, Default)]
struct Witnesses {
    first: Vec<(Site, HostId)>,
    last: VecDeque<(Site, HostId)>,
    sites: HashMap<Site, Instant>,
    turn: usize,
}

impl Witnesses {
    fn note(&mut self, seen: &Seen) {
        let is_known = self.sites.contains_key(&seen.site);
        if self.sites.len() >= MOST_SITES && !is_known {
            self.sites.clear();
        }
        self.sites.insert(seen.site, seen.at);
        let mut known = self.first.iter().chain(&self.last);
        if known.any(|(site, _)| *site == seen.site) {
            return;
        }
        if self.first.len() < MOST_WITNESSES {
            self.first.push((seen.site, seen.host));
            return;
        }
        if self.last.len() >= MOST_WITNESSES {
            self.last.pop_front();
        }
        self.last.push_back((seen.site, seen.host));
    }

    fn len(&self) -> usize {
        self.first.len() + self.last.len()
    }

    /// So many of them, at most: early ones and late ones, others each time.
    fn next(&mut self, count: usize) -> Vec<HostId> {
        let all: Vec<HostId> = self
            .first
            .iter()
            .chain(&self.last)
            .map(|(_, host)| *host)
            .collect();
        let count = count.min(all.len());
        self.turn = self.turn.wrapping_add(1);
        let place = |nth: usize| (nth * all.len() / count + self.turn) % all.len();
        (0..count).map(|nth| all[place(nth)]).collect()
    }

    fn forget(&mut self, host: HostId) {
        self.first.retain(|(_, known)| *known != host);
        self.last.retain(|(_, known)| *known != host);
    }

    /// Sites that have answered of late.
    fn recent(&self, now: Instant) -> usize {
        let is_recent = |at: &&Instant| now.saturating_duration_since(**at) <= 2 * LONG;
        self.sites.values().filter(is_recent).count()
    }
}

/// Names that are asked for anew, to see who is to blame.
#[derive(Debug, Default)]
struct Inquiry {
    /// Somebody is to be asked.
    is_wanted: bool,
    open: usize,
    failed: usize,
    answered: usize,
    last: Option<Instant>,
}

/// What became of an exchange, as far as it tells of us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) host: HostId,
    pub(crate) site: Site,
    pub(crate) outcome: Outcome,
    pub(crate) is_secure: bool,
    /// The host has answered before this.
    pub(crate) was_good: bool,
    pub(crate) at: Instant,
}

/// The signs of all hosts.
#[derive(Debug)]
pub(crate) struct Outage {
    patience: Duration,
    streak: Streak,
    /// Something has answered in this process.
    has_answered: bool,
    witnesses: Witnesses,
    inquiry: Inquiry,
    certificates: HashMap<Site, (Instant, bool)>,
    /// Sites of which one failure was put down to a doubt.
    doubted: HashSet<Site>,
    trouble: Option<(Trouble, Instant)>,
    felt: Option<Instant>,
    /// Patience with this is used up: until it is over, hosts are to blame.
    given_up: Option<Trouble>,
}

impl Outage {
    /// With so much patience; without any it sees nothing.
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            patience,
            streak: Streak::default(),
            has_answered: false,
            witnesses: Witnesses::default(),
            inquiry: Inquiry::default(),
            certificates: HashMap::new(),
            doubted: HashSet::new(),
            trouble: None,
            felt: None,
            given_up: None,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.trouble.is_some()
    }

    /// Whether there is no trouble, and nobody has failed since the last answer.
    pub(crate) fn sees_nothing(&self) -> bool {
        !self.is_on() && self.streak.failures == 0
    }

    /// Takes a sign in; a sentence when trouble begins or is over.
    pub(crate) fn note(&mut self, seen: &Seen) -> Option<String> {
        if self.patience.is_zero() {
            return None;
        }
        if seen.is_secure {
            self.note_certificate(seen);
        }
        match sign(seen.outcome) {
            Some(Sign::Reached) => {
                self.streak = Streak::default();
                self.inquiry.is_wanted = false;
                self.has_answered = true;
                if seen.outcome.is_answered() {
                    self.witnesses.note(seen);
                }
            }
            Some(sign) => self.note_failure(seen, sign),
            None => {}
        }
        if self.given_up.is_some_and(|trouble| is_over(trouble, seen)) {
            self.given_up = None;
        }
        match self.trouble {
            // A name that is remembered is no sign that names are looked up again.
            Some((Trouble::Names, _)) if self.witnesses.len() > 0 => None,
            Some((trouble, _)) if is_over(trouble, seen) => self.end(seen.at),
            Some(_) => None,
            None => {
                let trouble = self.find(seen)?;
                Some(self.begin(trouble, seen.at))
            }
        }
    }

    fn begin(&mut self, trouble: Trouble, now: Instant) -> String {
        self.trouble = Some((trouble, now));
        began(trouble).to_owned()
    }

    fn end(&mut self, now: Instant) -> Option<String> {
        let (trouble, since) = self.trouble.take()?;
        self.doubted.clear();
        // What they looked like before says nothing any more.
        self.certificates.clear();
        let lasted = now.saturating_duration_since(since).as_secs();
        Some(format!("{} after {lasted} s: going on", over(trouble)))
    }

    /// Hosts whose names are to be asked for now, whatever is remembered of them; each wants an answer
    /// ([`Outage::note_name`]).
    pub(crate) fn inquiries(&mut self, now: Instant) -> Vec<HostId> {
        let is_in_trouble = matches!(self.trouble, Some((Trouble::Names, _)));
        let inquiry = &mut self.inquiry;
        let is_early = |last| now.saturating_duration_since(last) < INQUIRE_EVERY;
        if inquiry.open > 0
            || !(inquiry.is_wanted || is_in_trouble)
            || inquiry.last.is_some_and(is_early)
        {
            return Vec::new();
        }
        let hosts = self
            .witnesses
            .next(if is_in_trouble { 1 } else { WITNESSES });
        *inquiry = Inquiry {
            open: hosts.len(),
            last: Some(now),
            ..Inquiry::default()
        };
        hosts
    }

    /// Whether a name server has answered for that host; none where none is asked about it. A sentence when trouble begins
    /// or is over.
    pub(crate) fn note_name(
        &mut self,
        host: HostId,
        has_answered: Option<bool>,
        now: Instant,
    ) -> Option<String> {
        let inquiry = &mut self.inquiry;
        inquiry.open = inquiry.open.saturating_sub(1);
        match has_answered {
            Some(true) => inquiry.answered += 1,
            Some(false) => inquiry.failed += 1,
            None => self.witnesses.forget(host),
        }
        if inquiry.open > 0 {
            return None;
        }
        let (answered, failed) = (inquiry.answered, inquiry.failed);
        match self.trouble {
            Some((Trouble::Names, _)) if answered > 0 => {
                self.streak = Streak::default();
                self.end(now)
            }
            // Some may be remembered by others on the way to their name servers.
            None if failed > answered && self.streak.failures > 0 => {
                let is_open = !self.has_given_up(Trouble::Names);
                is_open.then(|| self.begin(Trouble::Names, now))
            }
            None if answered > 0 => {
                self.streak = Streak::default();
                if self.given_up == Some(Trouble::Names) {
                    self.given_up = None;
                }
                None
            }
            _ => None,
        }
    }

    /// Whether a host is left alone for now, because others tell more of us: they have answered before.
    pub(crate) fn passes_over(&self, was_good: bool, now: Instant) -> bool {
        let Some((Trouble::Network, since)) = self.trouble else {
            return false;
        };
        let felt = self.felt.unwrap_or(since);
        !was_good
            && self.witnesses.len() > 0
            && now.saturating_duration_since(felt) < FEEL_STRANGERS_EVERY
    }

    fn note_failure(&mut self, seen: &Seen, sign: Sign) {
        let streak = &mut self.streak;
        streak.failures = streak.failures.saturating_add(1);
        streak.names += usize::from(sign == Sign::NoName);
        streak.since.get_or_insert(seen.at);
        if streak.sites.len() < MOST_SITES {
            streak.sites.insert(seen.site);
            if seen.was_good || self.witnesses.sites.contains_key(&seen.site) {
                streak.good.insert(seen.site);
            }
        }
    }

    fn note_certificate(&mut self, seen: &Seen) {
        let expired = seen.outcome == Outcome::TLS_CERT_EXPIRED;
        if expired || seen.outcome.is_answered() {
            if self.certificates.len() >= MOST_SITES {
                self.certificates.clear();
            }
            self.certificates.insert(seen.site, (seen.at, expired));
        }
    }

    /// Whether one more request may go out now.
    pub(crate) fn lets_out(&self, now: Instant, outstanding: usize) -> bool {
        match self.trouble {
            // The names of witnesses are asked for instead.
            Some((Trouble::Names, _)) if self.witnesses.len() > 0 => false,
            Some((Trouble::Network | Trouble::Names, since)) => {
                outstanding == 0 && self.is_time(since, now)
            }
            Some((Trouble::Clock, _)) | None => true,
        }
    }

    /// Whether it may be one with https: others go by no clock.
    pub(crate) fn lets_secure_out(&self, now: Instant) -> bool {
        match self.trouble {
            Some((Trouble::Clock, since)) => self.is_time(since, now),
            _ => true,
        }
    }

    fn is_time(&self, since: Instant, now: Instant) -> bool {
        now.saturating_duration_since(self.felt.unwrap_or(since)) >= FEEL_EVERY
    }

    /// One went out.
    pub(crate) fn feel(&mut self, is_secure: bool, now: Instant) {
        if is_secure || !matches!(self.trouble, Some((Trouble::Clock, _))) {
            self.felt = Some(now);
        }
    }

    /// Whether there is trouble, and the outcome follows from it.
    pub(crate) fn explains(&self, outcome: Outcome) -> bool {
        match self.trouble {
            Some((Trouble::Clock, _)) => outcome == Outcome::TLS_CERT_EXPIRED,
            Some(_) => is_failure(outcome),
            None => false,
        }
    }

    /// Whether the outcome is no failure of the URL: there is trouble, or these may be its first signs.
    /// Of each site one failure is put down to a doubt; then it counts.
    pub(crate) fn excuses(&mut self, site: Site, outcome: Outcome, now: Instant) -> bool {
        if self.explains(outcome) {
            return true;
        }
        let trouble = match outcome {
            Outcome::TLS_CERT_EXPIRED => Trouble::Clock,
            _ => Trouble::Network,
        };
        let is_out = self.patience.is_zero() || self.has_given_up(trouble);
        if is_out || !self.is_doubtful(outcome, now) {
            return false;
        }
        if self.doubted.len() >= MOST_SITES {
            self.doubted.clear();
        }
        self.doubted.insert(site)
    }

    /// Whether the outcome, while nobody has answered since, may turn out to have been ours.
    pub(crate) fn may_be_ours(&self, outcome: Outcome) -> bool {
        !self.patience.is_zero() && is_failure(outcome) && self.streak.failures > 0
    }

    fn has_given_up(&self, trouble: Trouble) -> bool {
        let is_clock = |trouble: Trouble| trouble == Trouble::Clock;
        self.given_up
            .is_some_and(|given_up| is_clock(given_up) == is_clock(trouble))
    }

    fn is_doubtful(&self, outcome: Outcome, now: Instant) -> bool {
        if outcome == Outcome::TLS_CERT_EXPIRED {
            let (expired, all) = self.certificates(now);
            return expired >= FIRST_CERTIFICATES && expired * 10 > all * 9;
        }
        is_failure(outcome) && self.streak.sites.len() >= FIRST_SITES && self.is_about_us()
    }

    /// Hosts that never answered may be to blame for themselves. Names that were never asked for before
    /// cannot be: a name server says so if there is none.
    fn is_about_us(&self) -> bool {
        let streak = &self.streak;
        !streak.good.is_empty() || (self.has_answered && streak.names * 2 > streak.failures)
    }

    /// Ends what has lasted longer than anyone would wait.
    pub(crate) fn lose_patience(&mut self, now: Instant) -> Option<String> {
        let (trouble, since) = self.trouble?;
        if now.saturating_duration_since(since) < self.patience {
            return None;
        }
        self.trouble = None;
        self.given_up = Some(trouble);
        let rest = "`outage-patience` in [run] is over, URLs fail for it from now on";
        Some(format!("{}: {rest}", began(trouble)))
    }

    fn find(&mut self, seen: &Seen) -> Option<Trouble> {
        if seen.outcome == Outcome::TLS_CERT_EXPIRED {
            let (expired, all) = self.certificates(seen.at);
            let is_clock = expired >= FEWEST_CERTIFICATES && expired * 10 > all * 9;
            return (is_clock && !self.has_given_up(Trouble::Clock)).then_some(Trouble::Clock);
        }
        let streak = &self.streak;
        let is_long = streak.failures >= FEWEST_FAILURES && streak.sites.len() >= FEWEST_SITES;
        if !is_long || self.has_given_up(Trouble::Network) || !self.is_about_us() {
            return None;
        }
        if streak.names * 2 > streak.failures {
            if self.witnesses.len() > 0 {
                self.inquiry.is_wanted = true;
                return None;
            }
            return (!streak.good.is_empty()).then_some(Trouble::Names);
        }
        // A few that have answered and fail now are a burst between two answers of others.
        let lasted = streak
            .since
            .map(|since| seen.at.saturating_duration_since(since));
        let are_most = streak.good.len() * 2 >= self.witnesses.recent(seen.at);
        (are_most || lasted >= Some(LONG)).then_some(Trouble::Network)
    }

    /// Sites whose certificate has expired, and all that showed one of late.
    fn certificates(&self, now: Instant) -> (usize, usize) {
        let is_recent = |(at, _): &&(Instant, bool)| now.saturating_duration_since(*at) <= RECENT;
        let recent = self.certificates.values().filter(is_recent);
        recent.fold((0, 0), |(expired, all), (_, is_expired)| {
            (expired + usize::from(*is_expired), all + 1)
        })
    }
}

fn is_over(trouble: Trouble, seen: &Seen) -> bool {
    match trouble {
        Trouble::Clock => seen.is_secure && seen.outcome.is_answered(),
        Trouble::Network | Trouble::Names => sign(seen.outcome) == Some(Sign::Reached),
    }
}

fn is_failure(outcome: Outcome) -> bool {
    matches!(sign(outcome), Some(Sign::NoConnection | Sign::NoName))
}

/// What an outcome says of the way to the host; `None` where nothing was sent, or it may be either.
fn sign(outcome: Outcome) -> Option<Sign> {
    match outcome {
        Outcome::DNS_TIMEOUT | Outcome::DNS_SERVFAIL => Some(Sign::NoName),
        Outcome::CONNECT_REFUSED
        | Outcome::CONNECT_TIMEOUT
        | Outcome::CONNECT_FAILED
        | Outcome::PROXY_FAILED => Some(Sign::NoConnection),
        // A name that does not exist is an answer too, of a name server.
        Outcome::DNS_NXDOMAIN
        | Outcome::HTTP_INVALID
        | Outcome::TLS_HANDSHAKE
        | Outcome::TLS_CERT_NAME
        | Outcome::TLS_CERT_EXPIRED
        | Outcome::TLS_CERT_UNTRUSTED
        | Outcome::TLS_PROTO => Some(Sign::Reached),
        outcome => outcome.is_answered().then_some(Sign::Reached),
    }
}

fn began(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Network => {
            "no host can be reached any more: the network of this machine seems to be gone. Fetching rests, no URL fails for it, and goes on by itself when a host answers; look at the network"
        }
        Trouble::Names => {
            "no name can be looked up any more: the name server seems to be gone. Fetching rests, no URL fails for it, and goes on by itself when a host answers; look at the name server (`dns` in [fetch])"
        }
        Trouble::Clock => {
            "the certificates of nearly all hosts seem to have expired: the clock of this machine is probably wrong. Fetching by https rests, and goes on by itself when a certificate is good; set the clock"
        }
    }
}

fn over(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Network => "hosts can be reached again",
        Trouble::Names => "names are looked up again",
        Trouble::Clock => "certificates are good again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(host: u32, outcome: Outcome, at: Instant) -> Seen {
        Seen {
            host: HostId(host),
            site: Site(host.into()),
            outcome,
            is_secure: false,
            was_good: true,
            at,
        }
    }

    fn outage() -> Outage {
        Outage::new(Duration::from_secs(3600))
    }

    /// Ten hosts, one after another.
    fn all(outage: &mut Outage, outcome: Outcome, at: Instant) -> Vec<String> {
        let hosts = 0..10;
        hosts
            .filter_map(|host| outage.note(&seen(host, outcome, at)))
            .collect()
    }

    #[test]
    fn when_all_that_answered_fail_it_is_us() {
        let mut outage = outage();
        let start = Instant::now();
        assert!(all(&mut outage, Outcome::http(200), start).is_empty());
        let mut said = all(&mut outage, Outcome::CONNECT_TIMEOUT, start);
        assert!(outage.excuses(Site(3), Outcome::CONNECT_TIMEOUT, start));
        assert!(
            !outage.excuses(Site(3), Outcome::CONNECT_TIMEOUT, start),
            "once in doubt"
        );
        said.extend(all(&mut outage, Outcome::CONNECT_REFUSED, start));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("network") && outage.is_on());
        for _ in 0..3 {
            assert!(outage.excuses(Site(3), Outcome::CONNECT_TIMEOUT, start));
        }
        assert!(!outage.excuses(Site(3), Outcome::HTTP_INVALID, start));
        // One at a time, and not all the time.
        let now = start + FEEL_EVERY;
        assert!(!outage.lets_out(start, 0) && outage.lets_out(now, 0) && !outage.lets_out(now, 1));
        outage.feel(false, now);
        assert!(!outage.lets_out(now, 0));
        let over = outage.note(&seen(3, Outcome::http(404), now));
        assert!(over.is_some() && !outage.is_on() && outage.lets_out(now, 9));
    }

    #[test]
    fn hosts_that_never_answered_are_to_blame_and_so_are_some_among_others() {
        let mut outage = outage();
        let start = Instant::now();
        outage.note(&seen(500, Outcome::http(200), start));
        for host in 0..100 {
            let mut dead = seen(host, Outcome::CONNECT_REFUSED, start);
            dead.was_good = false;
            assert_eq!(outage.note(&dead), None);
            assert!(!outage.excuses(Site(host.into()), dead.outcome, start));
        }
        for round in 0..100 {
            all(&mut outage, Outcome::CONNECT_FAILED, start);
            outage.note(&seen(round, Outcome::http(200), start));
            assert!(!outage.is_on());
        }
    }

    #[test]
    fn names_and_certificates_are_told_apart() {
        let mut outage = outage();
        let start = Instant::now();
        all(&mut outage, Outcome::http(200), start);
        let silent = |host: u32, site: u64| Seen {
            site: Site(site),
            was_good: false,
            ..seen(host, Outcome::DNS_TIMEOUT, start)
        };
        for host in 0..20 {
            assert_eq!(
                outage.note(&silent(1000 + host, 1000 + u64::from(host))),
                None
            );
        }
        let asked = outage.inquiries(start);
        assert_eq!(asked.len(), WITNESSES);
        assert!(asked.iter().all(|host| host.0 < 10), "they have answered");
        let mut said = asked
            .iter()
            .map(|host| outage.note_name(*host, Some(false), start));
        assert!(said.find_map(|said| said).unwrap().contains("name server"));
        // Nobody is asked for a page, only for the names of those that have answered, until one is found.
        let now = start + FEEL_EVERY;
        assert!(outage.inquiries(start).is_empty() && !outage.lets_out(now, 0));
        assert_eq!(outage.note(&seen(3, Outcome::http(200), now)), None);
        let asked = outage.inquiries(now);
        assert_eq!(asked.len(), 1);
        assert!(outage.note_name(asked[0], Some(true), now).is_some() && !outage.is_on());
        let mut outage = self::outage();
        let mut expired = 0;
        let said = (0..200).find_map(|host| {
            let mut one = seen(host, Outcome::TLS_CERT_EXPIRED, start);
            one.is_secure = true;
            expired += 1;
            outage.note(&one)
        });
        assert!(said.unwrap().contains("clock"));
        assert_eq!(expired, FEWEST_CERTIFICATES);
        assert!(outage.explains(Outcome::TLS_CERT_EXPIRED));
        // Only https rests, and once a second one is tried.
        let now = start + FEEL_EVERY;
        assert!(outage.lets_out(start, 9) && !outage.lets_secure_out(start));
        outage.feel(false, now);
        assert!(outage.lets_secure_out(now));
        outage.feel(true, now);
        assert!(!outage.lets_secure_out(now));
        let mut good = seen(999, Outcome::http(200), start);
        assert_eq!(outage.note(&good), None);
        good.is_secure = true;
        assert!(outage.note(&good).is_some());
    }

    fn expired(host: u32, site: u64, at: Instant) -> Seen {
        Seen {
            site: Site(site),
            is_secure: true,
            ..seen(host, Outcome::TLS_CERT_EXPIRED, at)
        }
    }

    #[test]
    fn names_that_nobody_answers_for_are_not_our_name_server_however_many_there_are() {
        let start = Instant::now();
        for sites in [1, 6, 600] {
            let mut outage = outage();
            all(&mut outage, Outcome::http(200), start);
            for host in 0..600_u32 {
                let now = start + Duration::from_millis(host.into()) * 100;
                let hostile = Seen {
                    site: Site(1000 + u64::from(host) % sites),
                    was_good: false,
                    ..seen(1000 + host, Outcome::DNS_SERVFAIL, now)
                };
                assert_eq!(outage.note(&hostile), None);
                // At most two of those who are asked may be of the same mind.
                for (nth, host) in outage.inquiries(now).into_iter().enumerate() {
                    assert_eq!(outage.note_name(host, Some(nth >= 2), now), None);
                }
            }
            assert!(!outage.is_on());
        }
    }

    #[test]
    fn one_site_has_the_benefit_of_the_doubt_once() {
        let mut outage = outage();
        let start = Instant::now();
        all(&mut outage, Outcome::http(200), start);
        all(&mut outage, Outcome::CONNECT_TIMEOUT, start);
        assert!(outage.excuses(Site(3), Outcome::CONNECT_TIMEOUT, start));
        for _ in 0..100 {
            assert!(!outage.excuses(Site(3), Outcome::CONNECT_TIMEOUT, start));
        }
    }

    #[test]
    fn a_burst_of_a_few_sites_that_had_answered_is_not_our_network() {
        let mut outage = outage();
        let start = Instant::now();
        for host in 0..40 {
            outage.note(&seen(host, Outcome::http(200), start));
        }
        for round in 0..20 {
            for host in 0..6 {
                let burst = Seen {
                    host: HostId(1000 + round),
                    ..seen(host, Outcome::CONNECT_REFUSED, start)
                };
                assert_eq!(outage.note(&burst), None);
            }
        }
        // Nobody else answers for a long time.
        let late = start + LONG;
        let late = seen(0, Outcome::CONNECT_REFUSED, late);
        assert!(outage.note(&late).is_some() && outage.is_on());
        // Those that have answered go first.
        let at = late.at + FEEL_EVERY;
        assert!(outage.passes_over(false, at) && !outage.passes_over(true, at));
        assert!(!outage.passes_over(false, late.at + FEEL_STRANGERS_EVERY));
    }

    #[test]
    fn without_anybody_whose_name_could_be_asked_for_those_that_answered_before_count() {
        let start = Instant::now();
        for was_good in [false, true] {
            let mut outage = outage();
            outage.note(&seen(1, Outcome::http(200), start));
            let mut on = false;
            for host in 100..140_u32 {
                let failed = Seen {
                    was_good,
                    ..seen(host, Outcome::DNS_SERVFAIL, start)
                };
                on |= outage.note(&failed).is_some();
                for host in outage.inquiries(start) {
                    assert_eq!(outage.note_name(host, None, start), None);
                }
            }
            assert_eq!(on, was_good);
        }
    }

    #[test]
    fn one_wildcard_certificate_that_has_expired_is_not_our_clock() {
        let mut outage = outage();
        let start = Instant::now();
        for host in 0..1000 {
            assert_eq!(outage.note(&expired(host, 7, start)), None);
            assert!(!outage.excuses(Site(7), Outcome::TLS_CERT_EXPIRED, start));
        }
        assert_eq!(Site::of("a.example.co.uk"), Site::of("b.c.example.co.uk"));
        assert_ne!(Site::of("h0.test"), Site::of("h1.test"));
        assert_ne!(Site::of("127.0.0.1"), Site::of("127.1.0.1"));
    }

    #[test]
    fn patience_with_the_clock_does_not_begin_anew_with_the_next_that_has_expired() {
        let mut outage = outage();
        let start = Instant::now();
        let begins = |outage: &mut Outage, hosts: std::ops::Range<u32>, at| {
            let mut hosts = hosts.into_iter();
            hosts.any(|host| outage.note(&expired(host, host.into(), at)).is_some())
        };
        assert!(begins(&mut outage, 0..200, start));
        let late = start + Duration::from_secs(3600);
        assert!(outage.lose_patience(late).is_some());
        assert!(!begins(&mut outage, 0..400, late));
        assert!(!outage.excuses(Site(500), Outcome::TLS_CERT_EXPIRED, late));
        // What else goes wrong is heard as ever.
        all(&mut outage, Outcome::CONNECT_FAILED, late);
        all(&mut outage, Outcome::CONNECT_FAILED, late);
        assert!(outage.is_on());
        let mut good = expired(999, 999, late);
        good.outcome = Outcome::http(200);
        outage.note(&good);
        assert!(begins(&mut outage, 0..400, late));
    }

    #[test]
    fn patience_has_an_end_and_may_be_none() {
        let mut outage = outage();
        let start = Instant::now();
        for outcome in [Outcome::CONNECT_FAILED, Outcome::CONNECT_FAILED] {
            all(&mut outage, outcome, start);
        }
        assert!(outage.is_on());
        assert_eq!(outage.lose_patience(start), None);
        let late = start + Duration::from_secs(3600);
        assert!(outage.lose_patience(late).is_some() && !outage.is_on());
        assert!(!outage.excuses(Site(3), Outcome::CONNECT_FAILED, late));
        let mut off = Outage::new(Duration::ZERO);
        for _ in 0..9 {
            assert!(all(&mut off, Outcome::CONNECT_FAILED, start).is_empty());
        }
        assert!(!off.is_on());
    }
}
