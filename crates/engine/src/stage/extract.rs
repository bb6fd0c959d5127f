//! Extract: one exchange becomes a page with its links judged and its records packed. Runs on a
//! worker thread; everything that costs processor time happens here.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use teia_archive::{
    ArchiveConfig, Capture, RecordNames, Records, RevisitOf, RevisitProfile, Truncated,
    capture_records, payload_digest,
};
use teia_base::filter::{Candidate, Fetched, FilterConfig, RuleKind, Verdict};
use teia_base::journal::{Attempt, LinkRecord, LinkVerdict, Next, Revisit};
use teia_base::{
    CanonicalUrl, CaptureId, Certificate, Charset, Document, Exchange, Flags, FoundUrl, Link,
    LinkKind, LoginStep, MediaType, NormalForm, Outcome, Response, Retry,
};
use teia_extract::{Extracted, spaceless};
use teia_repository::UrlState;
use teia_search::{UNDETERMINED, settled_language};
use url::{Position, Url};

use super::fetch::{Errand, Job, retry_after};
use crate::answers::{Answers, Opened, document};
use crate::copies::{Copies, revisit_of};
use crate::cpu_share::Throttle;
use crate::crashes::Crashes;
use crate::digests::{Digests, NOT_ARCHIVED, Same};
use crate::followers::has_text;
use crate::judge::Judge;
use crate::memory::Memory;
use crate::ring::is_feed;
use crate::traps::Sketch;

/// Bytes of URLs and anchors that an extractor of a program's own may bring with one page; links beyond are
/// left out, and it is flagged. (Ours keep within less.)
const LINK_TEXT_BYTES: usize = 16 << 20;

/// Memory for each byte of a body while it is read: the body, its text and links, what goes to the archive.
const ROOM_FOR_A_BYTE: u64 = 3;

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Workshop {
    pub(crate) answers: Answers,
    pub(crate) normal_form: NormalForm,
    pub(crate) judge: RwLock<Arc<Judge>>,
    pub(crate) archive: Option<(ArchiveConfig, RecordNames)>,
    /// Whether pages of hosts in no site are archived.
    pub(crate) archives_usually: bool,
    /// What the archive has, for pages that are as they were.
    pub(crate) copies: Option<Copies>,
    /// What an extractor could not bear.
    pub(crate) crashes: Crashes,
    pub(crate) next_capture: AtomicU64,
    pub(crate) digests: Arc<Digests>,
    /// Who wants the documents themselves.
    pub(crate) readers: Readers,
    /// How much of the cores the workers may use.
    pub(crate) throttle: Throttle,
    /// How much memory the process may have.
    pub(crate) memory: Memory,
}

/// Who wants the documents themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Nobody.
    None,
    /// The index: only those with a text, and without their links, which the journal has.
    Index,
    /// Analyzers, perhaps the index as well: everything.
    Analyzers,
}

/// A page after its worker: all that is left is to decide and to write.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) errand: Errand,
    pub(crate) attempt: Attempt,
    /// Links with the verdict of the rules, at the depth that the lease had.
    pub(crate) links: Vec<Judged>,
    /// Who judged them: other rules may hold by the time when they are decided.
    pub(crate) judge: Option<Arc<Judge>>,
    pub(crate) redirect: Option<Location>,
    pub(crate) retry_after: Option<std::time::Duration>,
    pub(crate) in_scope_and_kept: bool,
    pub(crate) records: Option<Records>,
    pub(crate) robots_body: Bytes,
    pub(crate) document: Option<Document>,
    pub(crate) login: LoginStep,
    /// A second look at the body, beside its digest.
    pub(crate) print: Option<u128>,
    /// Whether it is an index of sitemaps.
    pub(crate) is_sitemap_index: bool,
    /// Its links that name nothing to fetch, by scheme.
    pub(crate) schemes: BTreeMap<&'static str, u32>,
    /// What it says, for whoever looks for traps; only pages have one.
    pub(crate) sketch: Option<Sketch>,
}

/// A link and what the rules say of it.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) record: LinkRecord,
    pub(crate) verdict: Verdict,
}

impl Page {
    /// The links as the page has them, for its metadata record.
    fn outlinks(&self) -> Vec<Link> {
        let link = |judged: &Judged| Link {
            url: judged.record.url.request().to_owned(),
            kind: judged.record.kind,
            rel: judged.record.rel,
            anchor: judged.record.anchor.clone(),
            last_modified: judged.record.last_modified,
        };
        self.links.iter().map(link).collect()
    }
}

/// Where a redirect leads.
#[derive(Debug)]
pub(crate) enum Location {
    To(FoundUrl, Url),
    Unusable(String),
    /// To something that a page must never lead us to.
    Blocked(String),
}

impl Workshop {
    pub(crate) fn judge(&self) -> Arc<Judge> {
        Arc::clone(&self.judge.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The memory that a job may take.
    pub(crate) fn room_for(&self, job: &Job) -> u64 {
        let response = job.exchange.response.as_ref();
        let bytes = response.map_or(0, |response| {
            self.answers.most_bytes(job.errand.host_name(), response)
        });
        bytes.saturating_mul(ROOM_FOR_A_BYTE)
    }

    /// Does the work of one job.
    pub(crate) fn work(&self, job: Job) -> Page {
        let Job {
            errand,
            mut exchange,
            ..
        } = job;
        if self.takes_part(&errand, &exchange)
            && let Some(response) = &exchange.response
        {
            exchange.outcome = Outcome::http(response.status);
            exchange.detail = Some("disconnect".into());
        }
        let (found, depth, try_number, visit) = match &errand {
            Errand::Page(state) => {
                let tries = state.tries.saturating_add(1);
                let visit = state.next_visit();
                (state.url.clone(), state.depth, tries, visit)
            }
            Errand::Robots { url, .. } | Errand::Probe { url, .. } => {
                let found = self
                    .normal_form
                    .normalise(url)
                    .unwrap_or_else(|_| CanonicalUrl::from_stored(url.as_str()).into());
                (found, 0, 1, 1)
            }
        };
        let mut attempt = Attempt::new(found, exchange.started, exchange.outcome);
        attempt.depth = depth;
        attempt.try_number = try_number;
        attempt.visit = visit;
        describe(&mut attempt, &exchange);
        let mut page = Page {
            redirect: None,
            retry_after: retry_after(&exchange),
            errand,
            attempt,
            links: Vec::new(),
            judge: None,
            in_scope_and_kept: false,
            records: None,
            robots_body: Bytes::new(),
            document: None,
            login: exchange.login,
            print: None,
            is_sitemap_index: false,
            schemes: BTreeMap::new(),
            sketch: None,
        };
        if let Some(response) = &exchange.response {
            // One page that breaks us must not break the run, now and at every start after.
            let read = catch_unwind(AssertUnwindSafe(|| {
                self.read(&mut page, &exchange, response);
            }));
            if read.is_err() {
                page.attempt.outcome = Outcome::SYSTEM_ERROR;
                page.attempt.detail = Some("reading the page panicked".to_owned());
                page.attempt.capture = None;
                page.links.clear();
                page.redirect = None;
                page.records = None;
                page.document = None;
            }
        }
        page
    }

    /// Whether a document of which the end did not come is used as far as it came: a page that was asked for as
    /// often as settings say, and robots.txt, whose rules are better than none.
    fn takes_part(&self, errand: &Errand, exchange: &Exchange) -> bool {
        // One that broke off before the first chunk of it has no part.
        let is_short = exchange.outcome == Outcome::HTTP_INVALID
            && exchange.flags.has(Flags::BODY_SHORT)
            && exchange.detail.as_deref() != Some("http_bad_chunk");
        is_short
            && match errand {
                Errand::Page(state) => {
                    state.tries >= self.answers.retries(state.url.normal().host_str())
                }
                Errand::Robots { .. } => true,
                Errand::Probe { .. } => false,
            }
    }

    /// Whether an answer whose head could be read, and whose body could not, is all that will come in this visit: then it
    /// is archived as far as it came. One that is asked for again leaves nothing, so that a visit has one capture.
    fn is_last_word(&self, state: &UrlState, exchange: &Exchange) -> bool {
        is_broken(exchange.outcome)
            && state.tries >= self.answers.retries(state.url.normal().host_str())
    }

    fn read(&self, page: &mut Page, exchange: &Exchange, response: &Response) {
        let host = page.attempt.url.normal().host_str();
        let decoded = match &page.errand {
            // Whatever it says that it is, it is read as rules.
            Errand::Robots { .. } => self.answers.open_all(host, response),
            _ => self.answers.open(host, response),
        };
        page.attempt.body_bytes = decoded.len;
        if decoded.truncated {
            page.attempt.flags.add(Flags::TRUNCATED);
        }
        let mut is_damaged = false;
        let is_rules = matches!(page.errand, Errand::Robots { .. });
        if let Some((outcome, detail)) = decoded.fault
            && page.attempt.outcome.is_ok()
        {
            match detail {
                // A label that is wrong loses nothing: all of the page is there, and is used as it is.
                "not_gzip" | "gzip_not_labelled" => {}
                // Nothing was undone: what is no text then is no rules, and without rules everything would be allowed.
                "unknown_coding" if is_rules && !is_text(&decoded.bytes) => {
                    page.attempt.outcome = outcome;
                }
                // What came out before the damage may be a page.
                _ if outcome == Outcome::DECODE_ERROR && !decoded.bytes.is_empty() => {
                    is_damaged = true;
                    page.attempt.flags.add(Flags::DECODE_PARTIAL);
                }
                // The rules that came out before we had enough are better than none.
                _ if is_rules && outcome == Outcome::DECODE_BOMB && !decoded.bytes.is_empty() => {
                    page.attempt.flags.add(Flags::TRUNCATED);
                }
                _ => page.attempt.outcome = outcome,
            }
            page.attempt.detail = Some(detail.to_owned());
        }
        if exchange.outcome.is_redirect() {
            page.redirect = self.location(&page.attempt, response);
        }
        let mut keep = true;
        match &page.errand {
            Errand::Robots { .. } => {
                page.attempt.next = Next::Robots;
                page.attempt.media_type = response
                    .media_type()
                    .map(|media_type| media_type.essence().to_owned());
                page.robots_body = decoded.bytes;
            }
            Errand::Probe { url, .. } => {
                // Asked only to see what it looks like.
                keep = false;
                if exchange.outcome.is_ok() {
                    let extracted = self.answers.extract(url, response, &decoded.bytes);
                    let (url, text) = (page.attempt.url.request(), &extracted.text);
                    page.sketch = Some(Sketch::new(url, text, &decoded.bytes));
                }
            }
            Errand::Page(state) if exchange.outcome.is_ok() => {
                let state = (**state).clone();
                keep = self.understand(page, &state, exchange, response, &decoded);
            }
            Errand::Page(state) if exchange.outcome == Outcome::NOT_MODIFIED => {
                let state = (**state).clone();
                keep = self.understand_again(page, &state, exchange, response);
            }
            Errand::Page(state) => {
                page.attempt.media_type = response
                    .media_type()
                    .map(|media_type| media_type.essence().to_owned());
                // A refusal before the body leaves nothing worth keeping; a refused login is an answer.
                keep = exchange.outcome.is_answered()
                    || exchange.outcome == Outcome::LOGIN_FAILED
                    || self.is_last_word(state, exchange);
            }
        }
        let is_unread = !is_rules && page.attempt.text_digest.is_none();
        if is_damaged && page.attempt.outcome.is_ok() && is_unread {
            // Nothing that anybody could read.
            page.attempt.outcome = Outcome::DECODE_ERROR;
            page.document = None;
        }
        if keep {
            self.pack(page, exchange, response);
        }
    }

    /// Reads a document: text, links, digests, and whether it is kept.
    fn understand(
        &self,
        page: &mut Page,
        state: &UrlState,
        exchange: &Exchange,
        response: &Response,
        body: &Opened,
    ) -> bool {
        let (head, bytes) = (&response.head, &*body.bytes);
        let Ok(url) = Url::parse(state.url.request()) else {
            return true;
        };
        let mut extracted = self.answers.extract(&url, response, bytes);
        if extracted.flags.has(Flags::PARSE_CRASH) {
            self.crashes.keep(url.as_str(), bytes);
        }
        page.is_sitemap_index = extracted.is_sitemap_index;
        page.schemes = std::mem::take(&mut extracted.schemes);
        let attempt = &mut page.attempt;
        attempt.flags.add(extracted.flags);
        attempt.flags.add(extracted.robots.flags(exchange.started));
        attempt.media_type = extracted
            .media_type
            .as_ref()
            .map(|media_type| media_type.essence().to_owned());
        attempt.etag = head.text("etag").filter(|etag| etag.len() <= 1024);
        attempt.last_modified = head.text("last-modified").filter(|date| date.len() <= 128);
        attempt.title = std::mem::take(&mut extracted.title);
        if extracted.links_left_out > 0 {
            let more = extracted.links_left_out;
            let kept = extracted.links.len();
            attempt.detail = Some(format!(
                "the first {kept} links are kept, {more} more left out"
            ));
        }
        attempt.language.clone_from(&extracted.language);
        attempt.charset = extracted.charset.map(|name| Charset {
            name: name.to_owned(),
            source: extracted.charset_source,
        });
        if !extracted.text.is_empty() {
            let (text_digest, similarity) = spaceless::signatures(&extracted.text);
            attempt.text_digest = Some(text_digest);
            attempt.similarity = similarity;
        }
        let is_page = extracted
            .media_type
            .as_ref()
            .is_some_and(MediaType::is_html);
        if is_page && exchange.outcome.is_ok() && !state.requisite {
            page.sketch = Some(Sketch::new(state.url.request(), &extracted.text, bytes));
        }
        let judge = self.judge();
        let rules = judge.rules_of(state.url.normal());
        let language = spoken(rules.config(), attempt, &extracted);
        let is_too_long = attempt.flags.has(Flags::TRUNCATED)
            && !is_list(&extracted)
            && is_longer_than_asked(response, rules.config());
        let mut verdict = judge.after(&Fetched {
            url: state.url.normal(),
            depth: state.depth,
            media_type: extracted.media_type.as_ref(),
            body_bytes: body.len,
            text: &extracted.text,
            title: &attempt.title,
            language: language.as_deref(),
            requisite: state.requisite,
        });
        if is_too_long {
            let rule = format!("max-size {}", rules.config().max_size);
            verdict = Verdict::refuse(RuleKind::Size, rule, Outcome::SIZE_EXCEEDED);
        }
        let entrance = judge.before(&Candidate {
            url: state.url.normal(),
            depth: state.depth,
            kind: if state.seed {
                LinkKind::Seed
            } else {
                LinkKind::Anchor
            },
            from_kept_in_scope: false,
            from: None,
        });
        let in_scope = entrance.is_admitted();
        let keep = verdict.keep && (state.requisite || entrance.keep || !in_scope);
        if !keep {
            attempt.flags.add(Flags::NOT_KEPT);
            let rule = if verdict.keep {
                &entrance.rule
            } else {
                &verdict.rule
            };
            attempt
                .detail
                .get_or_insert_with(|| format!("not kept: {rule}"));
            if verdict.outcome == Some(Outcome::LANGUAGE_REFUSED) {
                attempt.outcome = Outcome::LANGUAGE_REFUSED;
            }
            if is_too_long {
                attempt.outcome = Outcome::SIZE_EXCEEDED;
            }
        }
        page.in_scope_and_kept = keep && in_scope;
        if verdict.follow && (in_scope || !state.requisite) {
            page.links = self.judge_links(page, state, &extracted, &judge);
            page.judge = Some(Arc::clone(&judge));
        }
        if self.readers == Readers::Index {
            extracted.links = Vec::new();
        }
        if keep && self.readers != Readers::None {
            let title = page.attempt.title.clone();
            let document = document(&page.attempt, title, extracted);
            let is_wanted = self.readers == Readers::Analyzers || has_text(&document);
            page.document = Some(document).filter(|_| is_wanted);
        }
        keep
    }

    /// Reads the copy of a page that is as it was: its links are those of this visit as well, and are
    /// judged by the rules of today.
    fn understand_again(
        &self,
        page: &mut Page,
        state: &UrlState,
        exchange: &Exchange,
        answer: &Response,
    ) -> bool {
        let capture = state.fetched.as_ref().and_then(|fetched| fetched.capture);
        let copies = self.copies.as_ref().zip(capture);
        let stored = copies.and_then(|(copies, id)| copies.read(state.url.request(), id));
        let Some(stored) = stored else {
            // What no link leads to for that reason is visited in the sweep. A server that says so unasked is not
            // worth a line for each of its pages.
            if capture.is_some() {
                tracing::warn!(url = %state.url.request(), "the copy of an unchanged page cannot be read");
            }
            // Asked without conditions the next time, so that it is stored in full again.
            page.attempt.etag = None;
            page.attempt.last_modified = None;
            return true;
        };
        let host = state.url.normal().host_str();
        let body = self.answers.open(host, &stored.response);
        let keep = self.understand(page, state, exchange, &stored.response, &body);
        let attempt = &mut page.attempt;
        attempt.revisit = revisit_of(&stored);
        if let Some(etag) = answer.head.text("etag").filter(|etag| etag.len() <= 1024) {
            attempt.etag = Some(etag);
        }
        // Nobody who has the page needs to be told again.
        page.document = None;
        keep
    }

    fn judge_links(
        &self,
        page: &mut Page,
        state: &UrlState,
        extracted: &Extracted,
        judge: &Judge,
    ) -> Vec<Judged> {
        let depth = state.depth.saturating_add(1);
        let page_nofollow = page.attempt.flags.has(Flags::NOFOLLOW);
        let mut judged = Vec::with_capacity(extracted.links.len());
        let (mut text_bytes, mut too_long, mut logins) = (0, 0, 0);
        let most = judge.rules_of(state.url.normal()).config().max_url_bytes;
        for link in &extracted.links {
            // Counted, and kept nowhere: a page of them would fill the journal.
            if link.url.len() > most {
                too_long += 1;
                continue;
            }
            // What a page may put into a commit is bounded in bytes, not only in number.
            text_bytes += link.url.len() + link.anchor.len();
            if text_bytes > LINK_TEXT_BYTES {
                page.attempt.flags.add(Flags::PARSE_PARTIAL);
                break;
            }
            let Ok(url) = self.normal_form.parse(&link.url) else {
                continue;
            };
            logins += usize::from(has_login(&link.url));
            let barred = (page_nofollow || link.rel.nofollow) && !link.kind.is_requisite();
            let verdict = judge.before(&Candidate {
                url: url.normal(),
                depth,
                kind: link.kind,
                from_kept_in_scope: page.in_scope_and_kept,
                from: Some(state.url.normal()),
            });
            let record = LinkRecord {
                url,
                kind: link.kind,
                rel: link.rel,
                anchor: link.anchor.clone(),
                last_modified: link.last_modified,
                depth,
                requisite: verdict.requisite,
                chain: None,
                verdict: if barred {
                    LinkVerdict::NotFollowed
                } else {
                    LinkVerdict::Pending
                },
            };
            judged.push(Judged { record, verdict });
        }
        if too_long > 0 {
            tell(
                &mut page.attempt,
                format!("links longer than max-url-bytes ({most}) left out: {too_long}"),
            );
        }
        if logins > 0 {
            tell(
                &mut page.attempt,
                format!("links with a user name or password, which was removed: {logins}"),
            );
        }
        judged
    }

    fn location(&self, attempt: &Attempt, response: &Response) -> Option<Location> {
        let mut values = response.head.texts("location");
        values.dedup();
        let text = match values.as_slice() {
            // An empty one names the page itself, by the URL standard.
            [text] => Ok(text),
            [] => Err("the redirect has no Location"),
            _ => Err("the redirect has more than one Location"),
        };
        let text = match text {
            Ok(text) => text,
            Err(reason) => return Some(Location::Unusable(reason.to_owned())),
        };
        let base = Url::parse(attempt.url.request()).ok()?;
        let target = match base.join(text) {
            Ok(target) => target,
            Err(error) => return Some(Location::Unusable(error.to_string())),
        };
        // A page never leads us from the web to files or other services, whatever the rules let in.
        if !matches!(target.scheme(), "http" | "https") {
            let scheme: String = target.scheme().chars().take(32).collect();
            let told = format!("the redirect leads to the scheme {scheme}");
            return Some(Location::Blocked(told));
        }
        let judge = self.judge();
        let most = judge.rules_of(attempt.url.normal()).config().max_url_bytes;
        if target[..Position::AfterQuery].len() > most {
            let told = format!("the Location is longer than max-url-bytes ({most})");
            return Some(Location::Unusable(told));
        }
        Some(match self.normal_form.normalise(&target) {
            Ok(found) => Location::To(found, target),
            Err(error) => Location::Unusable(error.to_string()),
        })
    }

    fn is_hidden(&self, url: &str) -> bool {
        let url = self.normal_form.parse(url);
        url.is_ok_and(|url| self.judge().removals.hides(url.normal()))
    }

    /// The capture that has this body, if it is still there. A digest alone is not believed: two bodies
    /// can be made that share one, and the copy of an earlier process may be lost or damaged.
    fn same_body(&self, digest: &[u8; 20], print: u128) -> Option<Revisit> {
        let found = match self.digests.compare(digest, print) {
            Same::Yes(found) => return Some(found),
            Same::Unsure(found) => found,
            Same::No => return None,
        };
        let Some(copies) = self
            .copies
            .as_ref()
            .filter(|_| found.capture != NOT_ARCHIVED)
        else {
            return Some(found);
        };
        let is_there = copies
            .read(&found.url, found.capture)
            .is_some_and(|stored| self.digests.print(&stored.response) == Some(print));
        if is_there {
            self.digests.confirm(digest, print);
        } else {
            self.digests.forget(digest);
        }
        is_there.then_some(found)
    }

    /// Looks whether the body was met before, and builds the archive records of the exchange.
    fn pack(&self, page: &mut Page, exchange: &Exchange, response: &Response) {
        let Ok(payload_sha1) = payload_digest(response) else {
            return;
        };
        let has_body = !response.body.is_empty();
        let unchanged = exchange.outcome == Outcome::NOT_MODIFIED;
        let revisit = if unchanged {
            page.attempt.revisit.take()
        } else {
            page.print = self.digests.print(response);
            (has_body && exchange.outcome.is_ok())
                .then(|| self.same_body(&payload_sha1, page.print?))
                .flatten()
                // What is hidden may be erased, and this page is not.
                .filter(|revisit| !self.is_hidden(&revisit.url))
        };
        let own = self.answers.own(page.attempt.url.normal().host_str());
        let is_archived = own.map_or(self.archives_usually, |own| own.config.archive.enabled);
        let Some((config, names)) = self.archive.as_ref().filter(|_| is_archived) else {
            page.attempt.payload_sha1 = has_body.then_some(payload_sha1);
            if revisit.is_some() {
                page.attempt.flags.add(Flags::DUPLICATE);
            }
            page.attempt.revisit = revisit;
            return;
        };
        // A body that was met while there was no archive is not in it.
        let revisit = revisit.filter(|revisit| revisit.capture != NOT_ARCHIVED);
        let revisit_of = revisit.as_ref().map(|revisit| RevisitOf {
            id: Some(revisit.capture),
            url: revisit.url.clone(),
            date: revisit.date,
            profile: if unchanged {
                RevisitProfile::NotModified
            } else {
                RevisitProfile::IdenticalPayload
            },
        });
        let outlinks: Vec<Link> = if config.metadata_records {
            page.outlinks()
        } else {
            Vec::new()
        };
        let truncated = is_broken(exchange.outcome).then(|| broken_off_by(exchange));
        if truncated.is_some() {
            page.attempt.flags.add(Flags::TRUNCATED);
        }
        let id = CaptureId(self.next_capture.fetch_add(1, Ordering::Relaxed));
        let capture = Capture {
            id,
            names: *names,
            url: page.attempt.url.request(),
            exchange,
            payload_sha1,
            revisit_of: revisit_of.as_ref(),
            outlinks: &outlinks,
            noarchive: page.attempt.flags.has(Flags::NOARCHIVE),
            truncated,
        };
        match capture_records(&capture, config) {
            Ok(records) => {
                page.records = Some(records);
                page.attempt.capture = Some(id);
                page.attempt.payload_sha1 = has_body.then_some(payload_sha1);
                if revisit.is_some() && !unchanged {
                    page.attempt.flags.add(Flags::DUPLICATE);
                }
                page.attempt.revisit = revisit;
            }
            Err(error) => {
                page.attempt.outcome = Outcome::SYSTEM_ERROR;
                page.attempt.detail = Some(format!("cannot pack the record: {error}"));
            }
        }
    }
}

/// Adds to what is told of an attempt.
fn tell(attempt: &mut Attempt, told: String) {
    attempt.detail = Some(match attempt.detail.take() {
        Some(before) => format!("{before}; {told}"),
        None => told,
    });
}

/// Whether somebody's name stands before the host of an absolute URL.
fn has_login(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or("");
    authority.contains('@')
}

/// The body of a page, for those that will repeat it.
pub(crate) fn remember(digests: &Digests, attempt: &Attempt, print: Option<u128>) {
    if let Some((digest, capture)) = body_of(attempt) {
        digests.insert(digest, capture, print);
    }
}

/// A body that was not met before, and the capture that has it.
pub(crate) fn body_of(attempt: &Attempt) -> Option<([u8; 20], Revisit)> {
    let digest = attempt.payload_sha1?;
    let is_first = attempt.revisit.is_none() && attempt.outcome.is_ok();
    is_first.then(|| {
        let capture = Revisit {
            url: attempt.url.request().to_owned(),
            capture: attempt.capture.unwrap_or(NOT_ARCHIVED),
            date: attempt.started,
        };
        (digest, capture)
    })
}

/// Whether it is a sitemap or a feed: a list of URLs, of which the beginning is used where it is too long.
fn is_list(extracted: &Extracted) -> bool {
    let media_type = extracted.media_type.as_ref().map(MediaType::essence);
    media_type.is_some_and(is_feed)
        || extracted
            .links
            .iter()
            .any(|link| link.kind == LinkKind::Sitemap)
}

/// Whether XML that was cut, because it might have been a list, is longer than documents may be: it said so, or
/// a person said how long.
fn is_longer_than_asked(response: &Response, config: &FilterConfig) -> bool {
    let is_xml = response
        .media_type()
        .is_some_and(|media_type| media_type.is_xml() && !media_type.is_html());
    let said = response.head.text("content-length");
    let said = said.and_then(|length| length.parse::<u64>().ok());
    is_xml && (said.is_some_and(|length| length > config.max_size) || config.has_own_max_size())
}

/// The language of a page as the rules are told of it: what it declares, or, where the collection
/// chooses by language, what its text shows; `None` where nobody can tell.
fn spoken(config: &FilterConfig, attempt: &Attempt, extracted: &Extracted) -> Option<String> {
    if config.languages.is_empty() && config.or_languages.is_empty() {
        return attempt.language.clone();
    }
    let declared = attempt.language.as_deref();
    let (title, description) = (&attempt.title, &extracted.description);
    let found = settled_language(declared, title, description, &extracted.text);
    if found == UNDETERMINED {
        return None;
    }
    // A declaration that is right may say more: `pt-BR`.
    let says_the_same = |declared: &&str| {
        declared
            .get(..found.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(&found))
    };
    Some(
        declared
            .filter(says_the_same)
            .map_or(found.clone(), str::to_owned),
    )
}

/// Whether bytes are text as they are.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

/// Whether an answer failed after its head: not refused by us, and not our own fault.
fn is_broken(outcome: Outcome) -> bool {
    !outcome.is_answered() && outcome != Outcome::SYSTEM_ERROR && outcome.retry() != Retry::Final
}

/// Why the body of such an answer is not whole.
fn broken_off_by(exchange: &Exchange) -> Truncated {
    let is_late = exchange.outcome == Outcome::TIME_EXCEEDED
        || exchange.detail.as_deref() == Some("http_too_slow");
    if is_late {
        Truncated::Time
    } else if exchange.flags.has(Flags::BODY_SHORT) {
        Truncated::Disconnect
    } else {
        Truncated::Unspecified
    }
}

fn describe(attempt: &mut Attempt, exchange: &Exchange) {
    attempt.detail = exchange
        .detail
        .as_ref()
        .map(|detail| detail.clone().into_owned());
    attempt.flags = exchange.flags;
    if exchange.certificate == Certificate::Accepted {
        attempt.flags.add(Flags::CERTIFICATE_ACCEPTED);
    }
    attempt.answered = exchange.response.is_some();
    attempt.junk = exchange.junk.to_vec();
    attempt.times = exchange.times;
    attempt.remote = exchange.remote;
    attempt.protocol = exchange.protocol;
    attempt.wire_bytes = exchange.wire_bytes();
}
