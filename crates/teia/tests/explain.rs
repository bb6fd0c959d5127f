//! A thousand random URLs of a web with everything, each explained, and each explanation true.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::{Draw, Home, body, crawl, from_environment, owned, requested};
use teia_base::CanonicalUrl;
use teia_engine::Reading;
use teia_testweb::{Listen, Place, Robots, Rules, Scope, Server, Truth, Web, WebConfig};

const URLS: usize = 1000;
/// Of these the program itself is asked; the others are asked of the library under it.
const ASKED_OF_THE_PROGRAM: usize = 20;

#[test]
fn a_thousand_random_urls_are_explained_truly() {
    let seed = from_environment("TEIA_SEED").unwrap_or(11);
    let config = WebConfig {
        calendar: false,
        pages_per_host: 90,
        gzip_every: 0,
        ..WebConfig::everything(seed)
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let web = server.web();
    let home = Home::new();
    // With a limit of depth, depths are exact and not merely the least known.
    let arguments = crawl(
        &home,
        &server,
        "0s",
        &["--max-depth", "60", "--retries", "2"],
    );
    assert_eq!(home.run(&arguments).code, Some(0));

    let rules = Rules {
        scope: Scope::Web,
        requisites: true,
        sitemaps: Some(1),
        feeds: true,
        ..Rules::default()
    };
    let reading = home.reading();
    let oracle = Oracle {
        web,
        reading: &reading,
        truth: web.reachable(&[web.front(0)], &rules),
        requested: requested(&server.log()).into_keys().collect(),
    };
    let mut urls: Vec<String> = oracle.everything().into_iter().collect();
    urls.extend(
        (0..40).map(|number| format!("http://h{}.web.test/nunca/{number}.html", number % 8)),
    );
    assert!(urls.len() >= URLS, "only {} URLs to draw from", urls.len());

    let mut draw = Draw(seed);
    let mut kinds: BTreeSet<&'static str> = BTreeSet::new();
    for number in 0..URLS {
        let at = usize::try_from(draw.next() % urls.len() as u64).unwrap();
        let url = urls.swap_remove(at);
        let told = if number < ASKED_OF_THE_PROGRAM {
            ask_program(&home, &url)
        } else {
            ask_library(&reading, &url)
        };
        kinds.insert(oracle.check(&url, &told));
    }
    let all = [
        "disallowed",
        "duplicate",
        "failing host",
        "gone",
        "loop",
        "never met",
        "outside",
        "page",
        "redirect",
        "requisite",
    ];
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        all,
        "kinds of URL that were drawn"
    );
}

fn ask_program(home: &Home, url: &str) -> Value {
    let ended = home.run(&["page", url, "--json"]);
    let told: Value = serde_json::from_str(&ended.text()).unwrap();
    assert_eq!(
        ended.code,
        Some(i32::from(told["known"] == false)),
        "{told:#}"
    );
    told
}

/// The same answer, as far as this test looks at it.
fn ask_library(reading: &Reading, url: &str) -> Value {
    let Some(known) = reading.explain(&CanonicalUrl::parse(url).unwrap()).unwrap() else {
        return json!({ "url": url, "known": false });
    };
    let state = &known.state;
    json!({
        "url": state.url.normal().as_str(),
        "known": true,
        "state": state.state.name(),
        "depth": state.depth,
        "seed": state.seed,
        "found_on": state.referrer,
        "outcome": state.fetched.as_ref().map(|fetched| fetched.outcome.number()),
        "excluded_by": state.exclusion.as_ref().map(|exclusion| json!({ "outcome": exclusion.outcome.number(), "rule": exclusion.rule })),
        "duplicate_of": known.attempts.iter().rev().find_map(|attempt| attempt.revisit.as_ref()).map(|original| json!({ "url": original.url })),
        "attempts": known.attempts.iter().map(|attempt| json!({
            "outcome": attempt.outcome.number(), "detail": attempt.detail, "try": attempt.try_number,
        })).collect::<Vec<_>>(),
        "history": known.life,
    })
}

/// What is true.
struct Oracle<'a> {
    web: &'a Web,
    reading: &'a Reading,
    truth: Truth,
    requested: BTreeSet<String>,
}

impl Oracle<'_> {
    /// Every URL that a right crawl meets.
    fn everything(&self) -> BTreeSet<String> {
        let mut urls = owned(self.truth.fetched());
        urls.extend(self.truth.disallowed.iter().cloned());
        urls.extend(self.truth.outside.iter().cloned());
        urls
    }

    /// Checks what was told of a URL; says what kind of URL it is.
    fn check(&self, url: &str, told: &Value) -> &'static str {
        let place = self.web.locate(url);
        let was_met = self.everything().contains(url);
        assert_eq!(told["known"], was_met, "{url}: {told:#}");
        if !was_met {
            return "never met";
        }
        assert!(!told["history"].as_array().unwrap().is_empty(), "{told:#}");
        if url == self.web.front(0) {
            assert_eq!(told["seed"], true, "{told:#}");
        }
        if self.truth.outside.contains(url) {
            check(told, "excluded", &Value::Null);
            assert_eq!(told["excluded_by"]["outcome"], -92, "{told:#}");
            assert!(
                told["excluded_by"]["rule"]
                    .as_str()
                    .unwrap()
                    .contains("web.test"),
                "{told:#}"
            );
            return "outside";
        }
        if self.truth.disallowed.contains(url) {
            return self.check_disallowed(url, place, told);
        }
        if let Some(depth) = self.truth.depths.get(url) {
            assert_eq!(told["depth"], *depth, "{url}: {told:#}");
        }
        assert!(self.requested.contains(url), "never asked for: {url}");
        let attempts = told["attempts"].as_array().unwrap();
        let tries = if matches!(place, Some((_, Place::Flaky(_)))) {
            1 + self.web.config().flaky_failures as usize
        } else {
            1
        };
        assert_eq!(attempts.len(), tries, "{told:#}");
        if let Some(target) = self.truth.redirects.get(url) {
            assert_eq!(attempts[0]["detail"], format!("to {target}"), "{told:#}");
            if told["outcome"] == -80 {
                assert!(
                    matches!(place, Some((_, Place::Loop(_)))),
                    "no loop: {told:#}"
                );
                check(told, "failed", &json!(-80));
                return "loop";
            }
        }
        let status = self.web.expected_status(url).unwrap();
        check(
            told,
            if status == 404 { "gone" } else { "fetched" },
            &json!(status),
        );
        let original = told["duplicate_of"]["url"].as_str();
        if let Some(original) = original {
            assert_ne!(original, url);
            assert_eq!(
                body(self.web, original),
                body(self.web, url),
                "{url} and {original} differ"
            );
        } else if let Some((host, Place::Copy(number))) = place {
            // It came before the page that it is a copy of; then that one is its copy.
            let other = self.web.url(host, Place::Page(number + 1));
            let told = ask_library(self.reading, &other);
            assert!(
                told["duplicate_of"]["url"].is_string(),
                "nobody repeats {url}: {told:#}"
            );
        }
        match status {
            404 => "gone",
            200 if self.truth.requisites.contains(url) => "requisite",
            200 if original.is_some() => "duplicate",
            200 => "page",
            _ => "redirect",
        }
    }

    fn check_disallowed(
        &self,
        url: &str,
        place: Option<(u32, Place)>,
        told: &Value,
    ) -> &'static str {
        assert!(
            !self.requested.contains(url),
            "asked for though disallowed: {url}"
        );
        let (host, _) = place.unwrap();
        let last = told["attempts"].as_array().unwrap().last();
        if self.web.robots(host) == Robots::Failing {
            // Each request for robots.txt was a try of one URL; the others have not had one yet.
            let history = told["history"].to_string();
            assert!(history.contains("robots.txt cannot be read"), "{told:#}");
            match last {
                Some(_) => assert_eq!(told["outcome"], -95, "{told:#}"),
                None => assert_eq!(told["state"], "waiting", "{told:#}"),
            }
            return "failing host";
        }
        check(told, "failed", &json!(-7));
        let rule = last.unwrap()["detail"].as_str().unwrap();
        assert!(rule.contains("Disallow:"), "no rule: {told:#}");
        "disallowed"
    }
}

#[track_caller]
fn check(told: &Value, state: &str, outcome: &Value) {
    assert_eq!(told["state"], state, "{told:#}");
    assert_eq!(told["outcome"], *outcome, "{told:#}");
}
