//! Trouble of our own: network, name server or clock of this machine, told apart from hosts in trouble.
//!
//! ```text
//! every exchange ──> failures in a row, of several hosts, without one answer between them
//!                                   │
//!                                   └──> one request at a time, no URL fails for it ──> one host answers: go on
//! ```
//!
//! A pure judge of signs: the ring tells it what came of each exchange, and asks what may go out.
//! Nothing of it outlives the process; one that begins in an outage finds out anew, from hosts that
//! answered in an earlier one.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use teia_base::{HostId, Outcome};

/// Fewer hosts may well have failed together.
const FEWEST_HOSTS: usize = 5;
/// Where one exchange in twenty would bring an answer, so many without one are no chance.
const FEWEST_FAILURES: usize = 15;
/// Many certificates expire; that nearly all of so many hosts' have is no chance.
const FEWEST_CERTIFICATES: usize = 50;
/// Certificates of so long ago say nothing of now.
const RECENT: Duration = Duration::from_secs(600);
/// From so many on a failure may be the first sign.
const FIRST_HOSTS: usize = 3;
const FIRST_CERTIFICATES: usize = 10;
/// How often one host is tried while there is trouble.
const FEEL_EVERY: Duration = Duration::from_secs(1);
/// Hosts that are remembered at once.
const MOST_HOSTS: usize = 20_000;

/// What is wrong with us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Network,
    Names,
    Clock,
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
    hosts: HashSet<HostId>,
    /// A host that has answered before is among them.
    has_good: bool,
}

/// What became of an exchange, as far as it tells of us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) host: HostId,
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
    certificates: HashMap<HostId, (Instant, bool)>,
    /// Hosts of which one failure was put down to a doubt.
    doubted: HashSet<HostId>,
    trouble: Option<(Trouble, Instant)>,
    felt: Option<Instant>,
    /// Patience is used up: until something answers, hosts are to blame.
    given_up: bool,
}

impl Outage {
    /// With so much patience; without any it sees nothing.
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            patience,
            streak: Streak::default(),
            has_answered: false,
            certificates: HashMap::new(),
            doubted: HashSet::new(),
            trouble: None,
            felt: None,
            given_up: false,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.trouble.is_some()
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
                self.has_answered = true;
                self.given_up = false;
            }
            Some(sign) => self.note_failure(seen, sign),
            None => {}
        }
        match self.trouble {
            Some((trouble, since)) => is_over(trouble, seen).then(|| {
                self.trouble = None;
                self.doubted.clear();
                let lasted = seen.at.saturating_duration_since(since).as_secs();
                format!("{} after {lasted} s: going on", over(trouble))
            }),
            None => {
                let trouble = self.find(seen)?;
                self.trouble = Some((trouble, seen.at));
                Some(began(trouble).to_owned())
            }
        }
    }

    fn note_failure(&mut self, seen: &Seen, sign: Sign) {
        let streak = &mut self.streak;
        streak.failures = streak.failures.saturating_add(1);
        streak.names += usize::from(sign == Sign::NoName);
        streak.has_good |= seen.was_good;
        if streak.hosts.len() < MOST_HOSTS {
            streak.hosts.insert(seen.host);
        }
    }

    fn note_certificate(&mut self, seen: &Seen) {
        let expired = seen.outcome == Outcome::TLS_CERT_EXPIRED;
        if expired || seen.outcome.is_answered() {
            if self.certificates.len() >= MOST_HOSTS {
                self.certificates.clear();
            }
            self.certificates.insert(seen.host, (seen.at, expired));
        }
    }

    /// Whether one more request may go out now.
    pub(crate) fn lets_out(&self, now: Instant, outstanding: usize) -> bool {
        let Some((_, since)) = self.trouble else {
            return true;
        };
        outstanding == 0 && now.saturating_duration_since(self.felt.unwrap_or(since)) >= FEEL_EVERY
    }

    /// One went out.
    pub(crate) fn feel(&mut self, now: Instant) {
        self.felt = Some(now);
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
    /// Of each host one failure is put down to a doubt; then it counts.
    pub(crate) fn excuses(&mut self, host: HostId, outcome: Outcome, now: Instant) -> bool {
        if self.explains(outcome) {
            return true;
        }
        if self.patience.is_zero() || self.given_up || !self.is_doubtful(outcome, now) {
            return false;
        }
        if self.doubted.len() >= MOST_HOSTS {
            self.doubted.clear();
        }
        self.doubted.insert(host)
    }

    fn is_doubtful(&self, outcome: Outcome, now: Instant) -> bool {
        if outcome == Outcome::TLS_CERT_EXPIRED {
            let (expired, all) = self.certificates(now);
            return expired >= FIRST_CERTIFICATES && expired * 10 > all * 9;
        }
        is_failure(outcome) && self.streak.hosts.len() >= FIRST_HOSTS && self.is_about_us()
    }

    /// Hosts that never answered may be to blame for themselves. Names that were never asked for before
    /// cannot be: a name server says so if there is none.
    fn is_about_us(&self) -> bool {
        let streak = &self.streak;
        streak.has_good || (self.has_answered && streak.names * 2 > streak.failures)
    }

    /// Ends what has lasted longer than anyone would wait.
    pub(crate) fn lose_patience(&mut self, now: Instant) -> Option<String> {
        let (trouble, since) = self.trouble?;
        if now.saturating_duration_since(since) < self.patience {
            return None;
        }
        self.trouble = None;
        self.given_up = true;
        let rest = "`outage-patience` in [run] is over, URLs fail for it from now on";
        Some(format!("{}: {rest}", began(trouble)))
    }

    fn find(&self, seen: &Seen) -> Option<Trouble> {
        if self.given_up {
            return None;
        }
        if seen.outcome == Outcome::TLS_CERT_EXPIRED {
            let (expired, all) = self.certificates(seen.at);
            let is_clock = expired >= FEWEST_CERTIFICATES && expired * 10 > all * 9;
            return is_clock.then_some(Trouble::Clock);
        }
        let streak = &self.streak;
        let is_long = streak.failures >= FEWEST_FAILURES && streak.hosts.len() >= FEWEST_HOSTS;
        if !is_long || !self.is_about_us() {
            return None;
        }
        Some(if streak.names * 2 > streak.failures {
            Trouble::Names
        } else {
            Trouble::Network
        })
    }

    /// Hosts whose certificate has expired, and all that showed one of late.
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
            "the certificates of nearly all hosts seem to have expired: the clock of this machine is probably wrong. Fetching rests, and goes on by itself when a certificate is good; set the clock"
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
        assert!(outage.excuses(HostId(3), Outcome::CONNECT_TIMEOUT, start));
        assert!(
            !outage.excuses(HostId(3), Outcome::CONNECT_TIMEOUT, start),
            "once in doubt"
        );
        said.extend(all(&mut outage, Outcome::CONNECT_REFUSED, start));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("network") && outage.is_on());
        for _ in 0..3 {
            assert!(outage.excuses(HostId(3), Outcome::CONNECT_TIMEOUT, start));
        }
        assert!(!outage.excuses(HostId(3), Outcome::HTTP_INVALID, start));
        // One at a time, and not all the time.
        let now = start + FEEL_EVERY;
        assert!(!outage.lets_out(start, 0) && outage.lets_out(now, 0) && !outage.lets_out(now, 1));
        outage.feel(now);
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
            assert!(!outage.excuses(HostId(host), dead.outcome, start));
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
        let said = (0..20).find_map(|host| {
            let mut new = seen(1000 + host, Outcome::DNS_TIMEOUT, start);
            new.was_good = false;
            outage.note(&new)
        });
        assert!(said.unwrap().contains("name server"));
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
        let mut good = seen(999, Outcome::http(200), start);
        assert_eq!(outage.note(&good), None);
        good.is_secure = true;
        assert!(outage.note(&good).is_some());
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
        assert!(!outage.excuses(HostId(3), Outcome::CONNECT_FAILED, late));
        let mut off = Outage::new(Duration::ZERO);
        for _ in 0..9 {
            assert!(all(&mut off, Outcome::CONNECT_FAILED, start).is_empty());
        }
        assert!(!off.is_on());
    }
}
