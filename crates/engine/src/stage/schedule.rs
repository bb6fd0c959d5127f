//! Schedule: which URL goes out now.

use teia_base::journal::{Attempt, Next};
use teia_base::{Flags, HostId, Outcome, Request};
use teia_repository::{Fetched, UrlState};
use url::Url;

use super::fetch::{Errand, fetch};
use super::spread::STEP;
use crate::errands::Errands;
use crate::outage::{SECURE_REST, STRANGERS_REST};
use crate::ring::Ring;
use crate::robots_book::Reading;

/// How soon a URL looks again whether its robots.txt, which was sent elsewhere, has come; or a host, whether its rules may
/// be read again.
const PENDING_LOOK: std::time::Duration = std::time::Duration::from_millis(500);

/// What a robots.txt may take, of the time that a page may.
const ROBOTS_TIME: std::time::Duration = std::time::Duration::from_secs(30);

/// What one turn of the loop does for URLs that nobody is asked for. No gap parts them: thousands may follow one another.
#[derive(Debug, Default)]
struct Turn {
    steps: usize,
}

impl Turn {
    /// What robots.txt may cost in one step, in bytes of a path compared: some microseconds.
    const WORK_OF_A_STEP: usize = 4 << 10;

    fn note(&mut self, sent: &Sent, work: usize) {
        self.steps += usize::from(matches!(sent, Sent::Settled)) + work / Self::WORK_OF_A_STEP;
    }

    /// Whether others are to be heard.
    fn is_over(&self) -> bool {
        self.steps >= STEP
    }
}

/// What became of an attempt to send a host's next URL out.
enum Sent {
    /// It is out.
    Out,
    /// It was settled without a request; the host may have another.
    Settled,
    /// The host has nothing for now.
    Nothing,
}

impl Ring {
    /// Sends out as many URLs as politeness, load and limits allow.
    pub(crate) fn schedule(&mut self) {
        let mut turn = Turn::default();
        while !turn.is_over() && self.may_lease() && self.enter() {
            let Some(host) = self.frontier.lease(self.clock.now()) else {
                self.leave();
                break;
            };
            self.know_site(host);
            if self.waits_for_lane(host) || self.is_passed_over(host) || !self.take_host(host) {
                self.leave();
                continue;
            }
            loop {
                let sent = self.send_next(host);
                turn.note(&sent, self.robots.take_work());
                match sent {
                    Sent::Out => break,
                    Sent::Settled => {
                        // However many such URLs there are, a commit holds a window of them, and a
                        // turn of the loop a step.
                        if self.window_is_due() || turn.is_over() {
                            self.frontier.release(host);
                            self.give_back(host, None);
                            self.wake(host);
                            return;
                        }
                    }
                    Sent::Nothing => {
                        self.frontier.release(host);
                        self.give_back(host, None);
                        self.wake_later(host);
                        break;
                    }
                }
            }
        }
    }

    /// Whether somebody may be asked now. The loop sleeps by the same rule: were it to wake for a host that may not be
    /// asked, it would do nothing else.
    pub(crate) fn may_lease(&self) -> bool {
        let places = self.limit.get() + self.waiting;
        // What is in the slow lane waits for nobody else, and nobody else for it.
        let under_way = self.outstanding.saturating_sub(self.lanes.pages());
        !self.stopping
            && !self.paused
            && (self.outstanding == 0 || !self.is_short)
            && self.outage.lets_out(self.clock.now(), self.outstanding)
            && self.frontier.leased() < places
            && under_way < places + self.slack
            && !self.window_is_full()
            && !self.repository.is_behind()
            && self.budget_left()
    }

    fn send_next(&mut self, host: HostId) -> Sent {
        if let Some(errand) = self.errands.get_mut(&host).and_then(Errands::next) {
            if self.waits_for_clock(host, errand.is_secure()) {
                self.errands.entry(host).or_default().put_back(errand);
                return Sent::Nothing;
            }
            return self.send_errand(host, errand);
        }
        let sent = self.send_own(host);
        let Some(errands) = self.errands.get_mut(&host) else {
            return sent;
        };
        match sent {
            Sent::Out => {
                errands.note_page();
                sent
            }
            Sent::Settled => sent,
            Sent::Nothing => match errands.next_guest() {
                Some(errand) if self.waits_for_clock(host, errand.is_secure()) => {
                    self.errands.entry(host).or_default().put_back(errand);
                    sent
                }
                Some(errand) => self.send_errand(host, errand),
                None => sent,
            },
        }
    }

    /// Sends what is next of the host's own URLs.
    fn send_own(&mut self, host: HostId) -> Sent {
        if !self.host_budget_left(host) {
            return Sent::Nothing;
        }
        let Some(url) = self.repository.window(host, 1, self.clock.wall()).pop() else {
            return Sent::Nothing;
        };
        if self.waits_for_clock(host, url.url.normal().scheme() == "https") {
            self.repository.release(url.reference);
            return Sent::Nothing;
        }
        if let Some(exclusion) = self.refusal(&url) {
            self.leave_out(url, exclusion);
            return Sent::Settled;
        }
        if let Some(original) = self.alias_to_skip(host, &url) {
            let detail = format!("the same pages as {original}");
            self.settle_unasked(&url, Outcome::ALIAS_HOST, detail, Next::Done);
            return Sent::Settled;
        }
        if self.is_nowhere(host) {
            self.settle_unasked(&url, Outcome::DNS_NXDOMAIN, String::new(), Next::Failed);
            return Sent::Settled;
        }
        if self.settings(host).run.ignore_robots {
            return self.send_page(host, url);
        }
        let normal = url.url.normal();
        let origin = format!("{}://{}", normal.scheme(), normal.authority());
        let path = url.url.normal().path_and_query();
        let stored = self
            .repository
            .host_record(host)
            .and_then(|record| record.robots.get(&origin));
        let token = self.token_of(host);
        let manner = self.manner_of(host, token.as_deref());
        let (stored, wall) = (stored.map(Vec::as_slice), self.clock.wall());
        match self.robots.read(&origin, path, stored, wall, manner) {
            Reading::Allowed => {
                self.set_crawl_delay(host, &origin);
                self.send_page(host, url)
            }
            Reading::Disallowed(rule) => {
                self.traps.note_nothing(url.url.normal());
                self.settle_unasked(&url, Outcome::ROBOTS_DISALLOWED, rule, Next::Done);
                Sent::Settled
            }
            Reading::Unknown if self.adopt_robots(host, &origin) => {
                self.repository.release(url.reference);
                Sent::Settled
            }
            Reading::Unknown => {
                let Ok(robots) = Url::parse(&format!("{origin}/robots.txt")) else {
                    self.settle_unasked(&url, Outcome::URL_INVALID, String::new(), Next::Done);
                    return Sent::Settled;
                };
                self.robots.begin(&origin);
                let waiting = Box::new(url);
                let errand = Errand::Robots {
                    origin,
                    url: robots,
                    hops: 0,
                    waiting,
                };
                self.send_errand(host, errand)
            }
            // robots.txt belongs to an origin: the host may have others, so only this URL waits.
            Reading::Pending => {
                let moment = self.clock.wall().plus(PENDING_LOOK);
                self.repository.defer(url.reference, moment);
                Sent::Settled
            }
            // Its other URLs would have to wait as well, so the host does.
            Reading::Later => {
                self.repository.release(url.reference);
                self.frontier.hold(host, self.clock.now() + PENDING_LOOK);
                Sent::Nothing
            }
            Reading::Unreachable(until) => {
                self.repository.defer(url.reference, until);
                self.wronged.note_url(&origin, url.reference);
                Sent::Settled
            }
            Reading::GivenUp(since) => {
                let detail =
                    format!("robots.txt: unreachable since {since}, and none was read before");
                self.settle_unasked(&url, Outcome::ROBOTS_UNREACHABLE, detail, Next::Failed);
                Sent::Settled
            }
        }
    }

    /// Whether a host is left alone while our network seems to be gone; it then has given its lease back.
    fn is_passed_over(&mut self, host: HostId) -> bool {
        let now = self.clock.now();
        let (_, _, fetched) = self.repository.host_counts(host);
        let is_passed_over = self.outage.passes_over(fetched > 0, now);
        if is_passed_over {
            self.frontier.release(host);
            self.frontier.hold(host, now + STRANGERS_REST);
            self.wake(host);
        }
        is_passed_over
    }

    /// Whether a leased host must rest because our clock seems to be wrong.
    fn waits_for_clock(&mut self, host: HostId, is_secure: bool) -> bool {
        let now = self.clock.now();
        let waits = is_secure && !self.outage.lets_secure_out(now);
        if waits {
            self.frontier.hold(host, now + SECURE_REST);
        }
        waits
    }

    fn set_crawl_delay(&mut self, host: HostId, origin: &str) {
        let delay = self
            .robots
            .rules(origin)
            .and_then(teia_fetch::robots::Rules::crawl_delay);
        self.frontier.set_crawl_delay(host, delay);
    }

    fn send_page(&mut self, host: HostId, url: UrlState) -> Sent {
        let Ok(target) = Url::parse(url.url.request()) else {
            self.settle_unasked(&url, Outcome::URL_INVALID, String::new(), Next::Done);
            return Sent::Settled;
        };
        let judge = self.workshop.judge();
        let copy = self.copy_of(host, &url);
        let validator = |text: Option<&Box<str>>| text.map(|text| text.to_string());
        let request = Request {
            etag: validator(copy.and_then(|copy| copy.etag.as_ref())),
            last_modified: validator(copy.and_then(|copy| copy.last_modified.as_ref())),
            max_size: Some(self.settings(host).filter.max_size),
            beyond: self.settings(host).filter.beyond_max_size(),
            types: judge.rules_of(url.url.normal()).type_gate(url.requisite),
            timeout: None,
            url: target,
        };
        self.pages_in_flight += 1;
        self.count_page(host, url.url.normal().host_str());
        self.spawn(host, Errand::Page(Box::new(url)), request);
        Sent::Out
    }

    /// What is known of the copy that we have of a page. Without a copy the whole page is needed, if
    /// only for its links; and one that was gone is not as it was before.
    fn copy_of<'a>(&self, host: HostId, url: &'a UrlState) -> Option<&'a Fetched> {
        let fetched = url.fetched.as_ref()?;
        let is_whole = fetched.outcome.is_ok() || fetched.outcome == Outcome::NOT_MODIFIED;
        (self.settings(host).archive.enabled && is_whole && fetched.capture.is_some())
            .then_some(fetched)
    }

    fn send_errand(&mut self, host: HostId, errand: Errand) -> Sent {
        let (Errand::Robots { url, .. } | Errand::Probe { url, .. }) = &errand else {
            return Sent::Nothing;
        };
        let mut request = Request::get(url.clone());
        if let Errand::Robots { .. } = &errand {
            // All URLs of the host wait for it.
            request.timeout = Some(self.settings(host).fetch.timeout.min(ROBOTS_TIME));
        }
        self.spawn(host, errand, request);
        Sent::Out
    }

    fn spawn(&mut self, host: HostId, errand: Errand, request: Request) {
        self.outstanding += 1;
        let now = self.clock.now();
        self.outage.feel(request.url.scheme() == "https", now);
        self.asking.insert(host, (request.url.clone(), now));
        if self.slow.contains(&host) {
            self.waiting = (self.waiting + 1).min(self.most_waiting);
        }
        let fetcher = self.fetcher_of(host);
        self.tasks.spawn(fetch(
            std::sync::Arc::clone(&self.clock),
            fetcher,
            host,
            errand,
            request,
            self.messages.clone(),
            (self.jobs.clone(), self.lanes.is_dear(host)),
        ));
    }

    /// Records a decision about a leased URL for which nobody was asked.
    pub(crate) fn settle_unasked(
        &mut self,
        url: &UrlState,
        outcome: Outcome,
        detail: String,
        next: Next,
    ) {
        let mut attempt = Attempt::new(url.url.clone(), self.clock.wall(), outcome);
        attempt.detail = (!detail.is_empty()).then_some(detail);
        attempt.depth = url.depth;
        attempt.next = next;
        attempt.try_number = url.tries.saturating_add(1);
        attempt.visit = url.next_visit();
        if url.requisite {
            attempt.flags.add(Flags::REQUISITE);
        }
        self.record(attempt);
    }
}

#[cfg(test)]
mod tests {
    use teia_base::Timestamp;
    use teia_fetch::robots::{Answer, Config};

    use super::*;
    use crate::robots_book::{Manner, RobotsBook};

    /// How many URLs that robots.txt forbids are settled in one turn.
    fn settled_in_a_turn(rules: &str, path: &str) -> usize {
        let mut book = RobotsBook::new("teia", Timestamp::default(), Timestamp::default());
        let text = format!("User-agent: *\n{rules}");
        let answer = Answer::Answered {
            status: 200,
            body: text.as_bytes(),
            retry_after: None,
        };
        let (origin, now) = ("http://a.test", Timestamp::default());
        book.finish(origin, None, answer, now, (&Config::default(), 4, None));
        book.take_work();
        let mut turn = Turn::default();
        let mut settled = 0;
        while !turn.is_over() {
            let read = book.read(origin, path, None, now, Manner::default());
            assert!(matches!(read, Reading::Disallowed(_)), "{read:?}");
            turn.note(&Sent::Settled, book.take_work());
            settled += 1;
        }
        settled
    }

    #[test]
    fn a_turn_of_the_loop_is_bounded_by_what_verdicts_cost_and_not_only_by_how_many_they_are() {
        assert_eq!(settled_in_a_turn("Disallow: /a\n", "/a/b"), STEP);
        let stars: String = (0..300)
            .map(|n| format!("Disallow: /{}{n}*Q\n", "*aab".repeat(400)))
            .collect();
        let settled = settled_in_a_turn(&stars, &format!("/{}", "aab".repeat(330)));
        assert!((20..60).contains(&settled), "{settled}");
    }
}
