//! Admit: what a page brought is decided and joins the commit window.

use std::sync::Arc;
use std::time::Duration;

use teia_base::filter::Candidate;
use teia_base::journal::{Attempt, Chain, HostUpdate, LinkRecord, LinkVerdict, Next, OF_ROBOTS};
use teia_base::{
    CanonicalUrl, Exchange, Flags, FoundUrl, HostId, LinkKind, LoginStep, Outcome, Rel, Retry,
    Timestamp,
};
use teia_fetch::robots::Answer;
use teia_frontier::retry_wait;
use teia_repository::{Admission, Offer, Offered, UrlRef, UrlState};
use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::extract::{Judged, Location, Page, remember};
use super::fetch::Errand;
use crate::feedback::{Event, Level};
use crate::judge::admission;
use crate::outage::Site;
use crate::ring::Ring;

/// robots.txt may redirect this often (RFC 9309 section 2.3.1.2).
const ROBOTS_HOPS: u8 = 5;

/// An address that nothing but a redirect led to, and that is refused, is what the redirect is to blame for.
fn blame_redirect(attempt: &mut Attempt) {
    if !is_refused_by_us(attempt.outcome) {
        return;
    }
    let name = attempt.outcome.name();
    attempt.detail = Some(match attempt.detail.take() {
        Some(detail) => format!("{name}: {detail}"),
        None => name.into_owned(),
    });
    attempt.outcome = Outcome::REDIRECT_BLOCKED;
}

/// The page on which links were found.
struct Source<'p> {
    page: UrlRef,
    url: &'p CanonicalUrl,
    host: HostId,
    /// The redirects that led to it.
    chain: Option<Chain>,
    depth: u16,
    in_scope_and_kept: bool,
    /// A change of rules judges again what was met before it, and not what is met after it by rules of before.
    judged_by_rules_of_now: bool,
}

impl Ring {
    /// Takes a page from its worker.
    pub(crate) fn admit(&mut self, page: Page) {
        match &page.errand {
            Errand::Page(_) => self.admit_page(page),
            Errand::Robots { .. } => self.admit_robots(page),
            Errand::Probe { .. } => self.admit_probe(page),
        }
    }

    fn admit_page(&mut self, page: Page) {
        let Page {
            errand,
            mut attempt,
            links,
            judge,
            redirect,
            retry_after,
            in_scope_and_kept,
            records,
            mut document,
            login,
            sketch,
            is_sitemap_index,
            print,
            schemes,
            ..
        } = page;
        let Errand::Page(state) = errand else { return };
        self.pages_in_flight -= 1;
        for (scheme, count) in schemes {
            *self.schemes.entry(scheme).or_default() += u64::from(count);
        }
        // A shorter way may have been found while the page was on its way.
        let depth = self.repository.depth_of(state.reference);
        attempt.depth = depth;
        if state.requisite {
            attempt.flags.add(Flags::REQUISITE);
        }
        if let Some(location) = redirect {
            self.admit_redirect(&state, depth, location, &mut attempt);
        }
        if state.chain.is_some() {
            blame_redirect(&mut attempt);
        }
        attempt.next = self.next_step(&state, &attempt, retry_after);
        let is_asked_again = is_asked_again(&attempt);
        let is_excused = is_asked_again || self.excuses(state.host, attempt.outcome);
        if is_excused {
            self.excuse(&state, &mut attempt);
        }
        if is_asked_again {
            // It waits for no time of its own: for the host's gap, and the rest that a failed connection gives the host.
            attempt.next = Next::RetryAt(self.clock.wall());
        }
        if login == LoginStep::Asked && may_log_in(&attempt, self.settings(state.host).run.retries)
        {
            // Asked again with the login, as a request like any other: after the host's gap.
            attempt.next = Next::RetryAt(self.clock.wall());
        }
        self.tell_login(&attempt, login);
        if attempt.outcome.retry() == Retry::Host && !is_excused {
            self.keep_back_off(&state, attempt.remote.is_some(), retry_after);
        }
        if state.fallback_http && is_unreachable(attempt.outcome) && !is_excused {
            attempt.next = Next::Done;
            self.offer_http(&state, &mut attempt);
        }
        let links = self.links_of_found(&state, links, &mut attempt, sketch.as_ref());
        let mut targets = Vec::new();
        let links = self.links_of_sitemap(&state, links, is_sitemap_index, &mut attempt);
        let links = self.links_of_sheet(&attempt, links);
        let source = Source {
            page: state.reference,
            url: state.url.normal(),
            host: state.host,
            chain: state.chain,
            depth,
            in_scope_and_kept,
            judged_by_rules_of_now: judge
                .is_none_or(|judge| Arc::ptr_eq(&judge, &self.workshop.judge())),
        };
        for link in links {
            targets.extend(self.admit_link(link, &source, &mut attempt));
        }
        self.repository.set_links(state.reference, &targets);
        self.notice_alias(&attempt);
        self.notice_trap(state.host, &attempt, sketch.as_ref());
        self.notice_farm(state.host, &attempt, sketch.as_ref());
        remember(&self.workshop.digests, &attempt, print);
        if let Some(document) = &mut document {
            // As the journal has it, and as whoever reads it again will see it.
            document.capture = attempt.capture;
            document.depth = depth;
            document.flags = attempt.flags;
            document.outcome = attempt.outcome;
            self.window.bytes += crate::followers::text_bytes(document) as u64;
        }
        if let Some(records) = records {
            self.window.bytes += records.len();
            self.window.records.push(records);
        }
        self.window.documents.extend(document);
        let answered = crate::stats::is_answer(&attempt);
        self.record(attempt);
        if !answered && let Some(count) = self.host_pages.get_mut(&state.host) {
            *count -= 1;
            // The host may have been passed over because its budget seemed used up.
            self.wake(state.host);
        }
    }

    /// A refusal is said once for each realm: later pages of it only get the outcome. The requests of a form's login are
    /// in no journal, so that they were made is said here.
    fn tell_login(&self, attempt: &Attempt, login: LoginStep) {
        if login == LoginStep::Entered {
            let host = attempt.url.normal().authority();
            self.feedback.hear(&Event::Notice {
                level: Level::Info,
                text: format!("logged in by a form, for {host}"),
            });
        }
        if login == LoginStep::Refused {
            self.warn(format!(
                "{} did not accept the login ({}): it is not sent there again in this run; mend the user name or the password",
                attempt.url.normal().authority(),
                attempt.detail.as_deref().unwrap_or("no realm"),
            ));
        }
    }

    /// The rest of a host in trouble outlives this process.
    fn keep_back_off(&mut self, state: &UrlState, reached: bool, retry_after: Option<Duration>) {
        let record = self.repository.host_record(state.host);
        let in_a_row = record.map_or(0, |record| record.failures);
        let failures = if reached {
            state.tries.into()
        } else {
            in_a_row
        } + 1;
        let politeness = &self.settings(state.host).politeness;
        let asked = retry_after
            .unwrap_or_default()
            .min(politeness.max_retry_after);
        let rest = retry_wait(politeness, failures).max(asked);
        self.window.hosts.push(HostUpdate {
            host: state.url.normal().host_str().to_owned(),
            robots: None,
            back_off_until: Some(self.clock.wall().plus(rest)),
            alias_of: None,
        });
    }

    /// Whether a failure is ours, not the host's; asked once for each, because a doubt is for the host's benefit only once.
    fn excuses(&mut self, host: HostId, outcome: Outcome) -> bool {
        let now = self.clock.now();
        let site = Site::of(self.repository.host_name(host));
        self.outage.excuses(site, outcome, now)
    }

    /// Such a failure is no try of the URL.
    fn excuse(&self, state: &UrlState, attempt: &mut Attempt) {
        attempt.try_number = state.tries;
        let wait = retry_wait(&self.config.politeness, 1);
        attempt.next = Next::RetryAt(self.clock.wall().plus(wait));
    }

    /// What is to be done with the URL after this attempt.
    fn next_step(
        &self,
        state: &UrlState,
        attempt: &Attempt,
        retry_after: Option<Duration>,
    ) -> Next {
        let retry = attempt.outcome.retry();
        if retry == Retry::Final {
            return Next::Done;
        }
        if attempt.outcome == Outcome::DNS_NXDOMAIN {
            // Its name server holds to that for a minute at least, and a run waits for no longer: a later one asks again.
            return Next::Failed;
        }
        let tries = state.tries.saturating_add(1);
        let settings = self.settings(state.host);
        if tries > settings.run.retries || tries == u8::MAX {
            return Next::Failed;
        }
        let mut wait = retry_wait(&settings.politeness, u32::from(tries));
        if retry == Retry::Host {
            wait = wait.max(
                retry_after
                    .unwrap_or_default()
                    .min(settings.politeness.max_retry_after),
            );
        }
        Next::RetryAt(self.clock.wall().plus(wait))
    }

    fn admit_redirect(
        &mut self,
        state: &UrlState,
        depth: u16,
        location: Location,
        attempt: &mut Attempt,
    ) {
        let (target, _) = match location {
            Location::To(found, url) => (found, url),
            Location::Unusable(reason) => {
                attempt.outcome = Outcome::REDIRECT_BAD_LOCATION;
                attempt.detail = Some(reason);
                return;
            }
            Location::Blocked(reason) => {
                attempt.outcome = Outcome::REDIRECT_BLOCKED;
                attempt.detail = Some(reason);
                return;
            }
        };
        attempt.detail = Some(format!("to {}", target.request()));
        if is_downgrade(state.url.normal(), target.normal()) {
            attempt.flags.add(Flags::REDIRECT_INSECURE);
            if !self.settings(state.host).run.insecure_redirects {
                attempt.outcome = Outcome::REDIRECT_BLOCKED;
                attempt.detail = Some(downgrade_refused(&target));
                return;
            }
        }
        let from = (state.url.normal(), state.host);
        let next = match self.next_hop(from, state.chain, target.normal()) {
            Ok(next) => next,
            Err(outcome) => {
                attempt.outcome = outcome;
                return;
            }
        };
        // Where a seed leads is where the person meant to go: it widens the scope.
        let kind = if state.seed && depth == 0 {
            LinkKind::Seed
        } else {
            LinkKind::Redirect
        };
        if kind == LinkKind::Seed {
            self.add_seed_to_rules(target.normal());
        }
        let verdict = self.workshop.judge().before_or_refuse(&Candidate {
            url: target.normal(),
            depth,
            kind,
            from_kept_in_scope: state.requisite,
            from: Some(state.url.normal()),
        });
        // What a requisite redirects to is needed as much as the requisite itself.
        let requisite = state.requisite && !verdict.is_admitted();
        let refused = verdict
            .outcome
            .filter(|outcome| *outcome != Outcome::OUT_OF_SCOPE && requisite);
        let admission = if requisite && refused.is_none() {
            Admission::Admit
        } else {
            admission(verdict)
        };
        let record = LinkRecord {
            url: target,
            kind,
            rel: Rel::default(),
            anchor: String::new(),
            last_modified: None,
            depth,
            requisite,
            chain: Some(next),
            verdict: LinkVerdict::Pending,
        };
        let offered = self.offer_link(record, admission, Some(state.reference), attempt);
        self.repository
            .set_redirect(state.reference, offered.reference);
    }

    /// The chain of redirects, one hop longer; or why there is no such hop.
    fn next_hop(
        &self,
        (from, host): (&CanonicalUrl, HostId),
        chain: Option<Chain>,
        target: &CanonicalUrl,
    ) -> Result<Chain, Outcome> {
        let name = |url: &CanonicalUrl| xxh3_64_with_seed(url.as_str().as_bytes(), self.key);
        let chain = chain.unwrap_or(Chain {
            first: name(from),
            length: 0,
        });
        let next = Chain {
            first: chain.first,
            length: chain.length.saturating_add(1),
        };
        let known = self.repository.state(target);
        // A hop that is known from an earlier visit lies ahead of this one, as it did then.
        let is_behind = |other: Chain| other.first == chain.first && other.length <= chain.length;
        let loops = name(target) == chain.first
            || target == from
            || known.is_some_and(|known| known.chain.is_some_and(is_behind));
        if loops {
            // The hop leads back into its own chain.
            return Err(Outcome::REDIRECT_LOOP);
        }
        if next.length > self.settings(host).run.max_redirects {
            return Err(Outcome::REDIRECT_TOO_MANY);
        }
        Ok(next)
    }

    /// Where a page sends on to by itself is a hop like a redirect's: chains of both have one length, and one end.
    fn chain_refresh(&self, record: &mut LinkRecord, source: &Source<'_>, attempt: &mut Attempt) {
        // A page that shows itself again is none.
        let target = record.url.normal();
        if target == source.url {
            return;
        }
        match self.next_hop((source.url, source.host), source.chain, target) {
            Ok(chain) => record.chain = Some(chain),
            Err(outcome) => {
                record.verdict = LinkVerdict::NotFollowed;
                let told = format!("the refresh is not followed: {}", outcome.name());
                attempt.detail.get_or_insert(told);
            }
        }
    }

    fn admit_link(
        &mut self,
        judged: Judged,
        source: &Source<'_>,
        attempt: &mut Attempt,
    ) -> Option<UrlRef> {
        let Judged {
            mut record,
            mut verdict,
        } = judged;
        if record.kind == LinkKind::Refresh && record.verdict == LinkVerdict::Pending {
            self.chain_refresh(&mut record, source, attempt);
        }
        if record.verdict == LinkVerdict::NotFollowed {
            // Kept in mind, so that people can ask about it; another link may still admit it.
            let wall = self.clock.wall();
            let page = Some(source.page);
            self.repository.meet_barred(&record.url, page, wall);
            attempt.links.push(record);
            return None;
        }
        let depth = source.depth.saturating_add(1);
        if depth != record.depth || !source.judged_by_rules_of_now {
            record.depth = depth;
            verdict = self.workshop.judge().before_or_refuse(&Candidate {
                url: record.url.normal(),
                depth,
                kind: record.kind,
                from_kept_in_scope: source.in_scope_and_kept,
                from: Some(source.url),
            });
            record.requisite = verdict.requisite;
        }
        let admission = admission(verdict);
        Some(
            self.offer_link(record, admission, Some(source.page), attempt)
                .reference,
        )
    }

    fn offer_link(
        &mut self,
        mut record: LinkRecord,
        admission: Admission,
        referrer: Option<UrlRef>,
        attempt: &mut Attempt,
    ) -> Offered {
        let admission = self.hold_back(&record, admission, attempt);
        // The worker may have judged before somebody asked for it.
        let removal = self.workshop.judge().removal(record.url.normal());
        let admission = removal.map_or(admission, Admission::Exclude);
        let is_let_in = matches!(admission, Admission::Admit);
        let offer = Offer {
            url: &record.url,
            depth: record.depth,
            referrer,
            requisite: record.requisite,
            chain: record.chain,
            last_modified: record.last_modified,
            seed: (record.kind == LinkKind::Seed).then_some(false),
            admission,
        };
        let offered = self.repository.offer(&offer, self.clock.wall());
        if is_let_in {
            self.count_host(offered.host, &record, attempt);
        }
        record.verdict = offered.verdict.clone();
        if matches!(record.verdict, LinkVerdict::New | LinkVerdict::Readmitted) {
            self.wake(offered.host);
        }
        if offered.lowered {
            self.backlog.bring_nearer(offered.reference);
        }
        attempt.links.push(record);
        offered
    }

    /// A seed without scheme could not be reached as https: it is tried as http.
    fn offer_http(&mut self, state: &UrlState, attempt: &mut Attempt) {
        let Some(rest) = state.url.request().strip_prefix("https://") else {
            return;
        };
        let Ok(url) = self.config.normal_form.parse(&format!("http://{rest}")) else {
            return;
        };
        self.add_seed_to_rules(url.normal());
        self.allow_private_seed(&url);
        let record = LinkRecord {
            url,
            kind: LinkKind::Seed,
            rel: Rel::default(),
            anchor: String::new(),
            last_modified: None,
            depth: 0,
            requisite: false,
            chain: None,
            verdict: LinkVerdict::Pending,
        };
        self.offer_link(record, Admission::Admit, Some(state.reference), attempt);
    }

    fn admit_robots(&mut self, page: Page) {
        let Page {
            errand,
            mut attempt,
            mut redirect,
            retry_after,
            records,
            robots_body,
            login,
            ..
        } = page;
        let Errand::Robots {
            origin,
            url,
            hops,
            waiting,
        } = errand
        else {
            return;
        };
        attempt.next = Next::Robots;
        if let Some(records) = records {
            self.window.bytes += records.len();
            self.window.records.push(records);
        }
        let wall = self.clock.wall();
        let outcome = attempt.outcome;
        self.tell_login(&attempt, login);
        if (login == LoginStep::Asked || is_asked_again(&attempt)) && hops < ROBOTS_HOPS {
            let host = self.repository.ensure_host(attempt.url.normal().host_str());
            let again = Errand::Robots {
                origin,
                url,
                hops: hops + 1,
                waiting,
            };
            self.errands.entry(host).or_default().push(again);
            self.record(attempt);
            self.wake_now(host);
            return;
        }
        let is_downgraded = matches!(&redirect, Some(Location::To(found, _))
            if is_downgrade(attempt.url.normal(), found.normal()));
        if is_downgraded {
            attempt.flags.add(Flags::REDIRECT_INSECURE);
        }
        if let Some(Location::To(found, _)) = &redirect
            && is_downgraded
            && !self.insecure_redirects_of(&origin)
        {
            redirect = Some(Location::Blocked(downgrade_refused(found)));
        }
        if let Some(Location::To(found, target)) = &redirect
            && !self.has_room_for_robots(&origin, target)
        {
            redirect = Some(Location::Blocked(format!(
                "to {}: too many hosts have sent us there for their robots.txt",
                found.request()
            )));
        }
        if let Some(Location::To(found, target)) = &redirect
            && hops < ROBOTS_HOPS
            && *target != url
        {
            attempt.detail = Some(format!("to {}", found.request()));
            let host = self.repository.ensure_host(found.normal().host_str());
            self.errands.entry(host).or_default().push(Errand::Robots {
                origin: origin.clone(),
                url: target.clone(),
                hops: hops + 1,
                waiting,
            });
            self.record(attempt);
            self.wake_now(host);
            return;
        }
        let asked = self.repository.ensure_host(attempt.url.normal().host_str());
        // A robots.txt may be sent elsewhere, to a host that is not there.
        let is_own = origin_host(&origin) == attempt.url.normal().host_str();
        let is_nowhere = outcome == Outcome::DNS_NXDOMAIN && is_own;
        // Where robots.txt is refused by ourselves, so is the URL; and what this machine could not do is no fault of the host.
        let is_ours = outcome == Outcome::SYSTEM_ERROR || hops == 0 && is_refused_by_us(outcome);
        let is_excused = self.excuses(asked, outcome);
        if is_excused || is_nowhere || is_ours {
            // Nothing is known of the host's wishes by it.
            self.robots.give_up(&origin);
            self.record(attempt);
            self.fail_waiting_url(&waiting, outcome, retry_after, is_excused);
            self.wake(asked);
            return;
        }
        let is_blocked = matches!(redirect, Some(Location::Blocked(_)));
        if let Some(Location::Blocked(reason)) = redirect {
            attempt.detail = Some(reason);
            attempt.outcome = Outcome::REDIRECT_BLOCKED;
        }
        let answer = if is_blocked {
            Answer::Unreachable
        } else if outcome.is_redirect() {
            Answer::RedirectedTooOften
        } else if outcome.is_answered() {
            Answer::Answered {
                status: u16::try_from(outcome.number()).unwrap_or(0),
                body: &robots_body,
                retry_after,
            }
        } else {
            Answer::Unreachable
        };
        let host_name = origin_host(&origin).to_owned();
        let host = self.repository.ensure_host(&host_name);
        let stored = self
            .repository
            .host_record(host)
            .and_then(|record| record.robots.get(&origin))
            .cloned();
        self.know_site(host);
        let token = self.token_of(host);
        let config = self.settings(host).robots.clone();
        let retries = self.settings(host).run.retries;
        let manner = (&config, retries, token.as_deref());
        let standing = self
            .robots
            .finish(&origin, stored.as_deref(), answer, wall, manner);
        self.share_robots(&origin, &standing);
        self.window.hosts.push(HostUpdate {
            host: host_name,
            robots: Some((origin.clone(), standing)),
            back_off_until: None,
            alias_of: None,
        });
        let failed = is_blocked
            || !outcome.is_answered()
            || outcome.retry() == Retry::Host
            || outcome.number() >= 500;
        self.note_odd_rules(&origin, &mut attempt);
        self.record(attempt);
        // A copy of before may count again by now.
        if outcome == Outcome::LOGIN_FAILED {
            self.fail_waiting_url(&waiting, outcome, retry_after, is_excused);
        } else if failed && self.robots.rules(&origin).is_none() {
            if self.outage.may_be_ours(outcome) {
                self.wronged.note(&origin, host, wall);
            }
            self.hold_waiting_url(&waiting, outcome);
        } else {
            self.repository.release(waiting.reference);
            self.rest_after_robots(host, &origin);
            if self.settings(host).run.sitemaps {
                self.offer_sitemaps(&origin, wall);
            }
        }
        self.wake(host);
    }

    /// Whether a robots.txt that was sent on can be asked for where it was sent.
    fn has_room_for_robots(&mut self, origin: &str, target: &Url) -> bool {
        let Some(host) = target.host_str() else {
            return true;
        };
        let host = self.repository.ensure_host(host);
        let errands = self.errands.get(&host);
        errands.is_none_or(|errands| errands.has_room(origin, target))
    }

    /// Whoever wonders what a robots.txt forbids, or why it does not, reads it where the request for it is told.
    fn note_odd_rules(&self, origin: &str, attempt: &mut Attempt) {
        let rules = self.robots.rules(origin);
        let Some(rules) = rules.filter(|_| attempt.outcome.is_ok()) else {
            return;
        };
        if rules.is_cut() {
            attempt.flags.add(Flags::TRUNCATED);
        }
        if rules.looks_like_html() {
            let told = if rules.is_empty() {
                "HTML, not rules"
            } else {
                "HTML, with rules in it"
            };
            attempt.detail.get_or_insert_with(|| told.to_owned());
        }
    }

    fn insecure_redirects_of(&mut self, origin: &str) -> bool {
        let host = self.repository.ensure_host(origin_host(origin));
        self.know_site(host);
        self.settings(host).run.insecure_redirects
    }

    /// A crawl-delay holds from the robots.txt that names it.
    fn rest_after_robots(&mut self, host: teia_base::HostId, origin: &str) {
        let rules = self.robots.rules(origin);
        let delay = rules.and_then(teia_fetch::robots::Rules::crawl_delay);
        self.frontier.set_crawl_delay(host, delay);
        if let Some(delay) = delay {
            let rest = delay.min(self.settings(host).politeness.max_crawl_delay);
            self.hold_for_all(host, self.clock.now() + rest);
        }
    }

    /// robots.txt could not be read. That is no try of the URL that waits for it: it goes on waiting, with all others of
    /// its origin, until robots.txt is asked for again; which the book decides, not the URL.
    fn hold_waiting_url(&mut self, state: &UrlState, failure: Outcome) {
        let wall = self.clock.wall();
        let mut attempt = Attempt::new(state.url.clone(), wall, Outcome::ROBOTS_UNREACHABLE);
        attempt.detail = Some(format!("{OF_ROBOTS}{}", failure.name()));
        attempt.depth = self.repository.depth_of(state.reference);
        attempt.try_number = state.tries;
        attempt.visit = state.next_visit();
        attempt.next = Next::RetryAt(wall);
        if state.fallback_http && is_unreachable(failure) {
            attempt.next = Next::Done;
            self.offer_http(state, &mut attempt);
        }
        self.record(attempt);
    }

    /// robots.txt could not be asked for, and neither could the URL that waits for it: that was a try of it.
    fn fail_waiting_url(
        &mut self,
        state: &UrlState,
        outcome: Outcome,
        retry_after: Option<Duration>,
        is_excused: bool,
    ) {
        let mut attempt = Attempt::new(state.url.clone(), self.clock.wall(), outcome);
        attempt.detail = Some(format!("{OF_ROBOTS}{}", outcome.name()));
        if state.chain.is_some() {
            blame_redirect(&mut attempt);
        }
        attempt.depth = self.repository.depth_of(state.reference);
        attempt.try_number = state.tries.saturating_add(1);
        attempt.visit = state.next_visit();
        attempt.next = self.next_step(state, &attempt, retry_after);
        if is_excused {
            self.excuse(state, &mut attempt);
        }
        if state.fallback_http && is_unreachable(outcome) && !is_excused {
            attempt.next = Next::Done;
            self.offer_http(state, &mut attempt);
        }
        self.record(attempt);
    }

    /// Sitemaps that robots.txt names are read like pages.
    fn offer_sitemaps(&mut self, origin: &str, wall: Timestamp) {
        let Some(rules) = self.robots.rules(origin) else {
            return;
        };
        // A sitemap is named by its whole URL, and robots.txt is none.
        let own = format!("{origin}/robots.txt");
        let named: Vec<FoundUrl> = rules
            .sitemaps()
            .iter()
            .filter_map(|text| self.config.normal_form.parse(text).ok())
            .filter(|url| url.normal().as_str() != own)
            .collect();
        let mut attempt = Attempt::new(
            match self.config.normal_form.parse(&own) {
                Ok(url) => url,
                Err(_) => return,
            },
            wall,
            Outcome::http(200),
        );
        for url in named {
            let verdict = self.workshop.judge().before_or_refuse(&Candidate {
                url: url.normal(),
                depth: 0,
                kind: LinkKind::Sitemap,
                from_kept_in_scope: false,
                from: None,
            });
            let admission = admission(verdict);
            let record = LinkRecord {
                url,
                kind: LinkKind::Sitemap,
                rel: Rel::default(),
                anchor: String::new(),
                last_modified: None,
                depth: 0,
                requisite: false,
                chain: None,
                verdict: LinkVerdict::Pending,
            };
            self.offer_link(record, admission, None, &mut attempt);
        }
        // The links belong to the robots.txt that was just recorded.
        if let Some(recorded) = self.window.attempts.last_mut() {
            recorded.links.append(&mut attempt.links);
        }
    }
}

/// A kept connection had ended, as servers may end them at any time: it is asked for once more on a new one, as a request
/// like any other. The fetcher does not say so twice in a row, and whatever comes then counts.
fn is_asked_again(attempt: &Attempt) -> bool {
    attempt.detail.as_deref() == Some(Exchange::KEPT_CONNECTION_ENDED)
}

/// A login may take a few rounds (an old nonce, another realm), and a hostile server not more.
fn may_log_in(attempt: &Attempt, retries: u8) -> bool {
    attempt.try_number <= retries.saturating_add(4).min(250)
}

/// What came safely leads to where anyone on the way can read and change it.
fn is_downgrade(from: &CanonicalUrl, to: &CanonicalUrl) -> bool {
    from.scheme() == "https" && to.scheme() == "http"
}

fn downgrade_refused(target: &FoundUrl) -> String {
    let url = target.request();
    format!("to {url}: from https to http, which `insecure-redirects` in [run] does not allow")
}

/// Nothing was sent, because of our own rules, and nothing will be.
fn is_refused_by_us(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::ADDR_BLOCKED | Outcome::PORT_BLOCKED | Outcome::SCHEME_BLOCKED
    )
}

fn is_unreachable(outcome: Outcome) -> bool {
    (-49..=-40).contains(&outcome.number())
        || matches!(outcome, Outcome::HTTP_INVALID | Outcome::TIME_EXCEEDED)
}

fn origin_host(origin: &str) -> &str {
    let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if authority.starts_with('[') {
        return authority
            .find(']')
            .map_or(authority, |end| &authority[..=end]);
    }
    authority
        .split_once(':')
        .map_or(authority, |(host, _)| host)
}
