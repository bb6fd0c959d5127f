//! A web of a few written answers, which remembers when it was asked for what.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use teia_base::{Outcome, Request, SystemClock};
use teia_fetch::{Fetcher, Fetching, ScriptedFetcher};

/// Answers each URL with its first answer, then its second…, and then its last for ever; a URL
/// without answers is a 404. Clones share what they remember.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    answers: HashMap<String, Vec<Answer>>,
    log: Arc<Mutex<Vec<(String, Instant)>>>,
    latency: Duration,
}

#[derive(Clone, Debug)]
enum Answer {
    Raw(String),
    Failure(Outcome),
}

impl Script {
    pub(crate) fn html(self, url: &str, body: &str) -> Self {
        self.raw(
            url,
            &format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{body}"),
        )
    }

    pub(crate) fn text(self, url: &str, body: &str) -> Self {
        self.raw(
            url,
            &format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{body}"),
        )
    }

    pub(crate) fn status(self, url: &str, status: u16, fields: &str) -> Self {
        self.raw(url, &format!("HTTP/1.1 {status} So\r\n{fields}\r\n"))
    }

    pub(crate) fn redirect(self, url: &str, to: &str) -> Self {
        self.status(url, 301, &format!("Location: {to}\r\n"))
    }

    pub(crate) fn failure(mut self, url: &str, outcome: Outcome) -> Self {
        let answers = self.answers.entry(url.to_owned()).or_default();
        answers.push(Answer::Failure(outcome));
        self
    }

    pub(crate) fn raw(mut self, url: &str, answer: &str) -> Self {
        let answers = self.answers.entry(url.to_owned()).or_default();
        answers.push(Answer::Raw(answer.to_owned()));
        self
    }

    /// The same answers, with nothing remembered.
    pub(crate) fn afresh(&self) -> Self {
        Self {
            log: Arc::default(),
            ..self.clone()
        }
    }

    /// Every answer takes this long.
    pub(crate) fn slowly(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// What was asked for, and when, in order.
    pub(crate) fn log(&self) -> Vec<(String, Instant)> {
        self.log.lock().unwrap().clone()
    }

    /// What was asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.log().into_iter().map(|(url, _)| url).collect()
    }

    /// What was asked for apart from robots.txt, sorted.
    pub(crate) fn pages(&self) -> Vec<String> {
        let mut pages = self.asked();
        pages.retain(|url| !url.ends_with("/robots.txt"));
        pages.sort_unstable();
        pages
    }

    pub(crate) fn times_of(&self, url: &str) -> Vec<Instant> {
        self.log()
            .into_iter()
            .filter(|(asked, _)| asked == url)
            .map(|(_, moment)| moment)
            .collect()
    }
}

impl Fetcher for Script {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let url = request.url.to_string();
        let earlier = {
            let mut log = self.log.lock().unwrap();
            let earlier = log.iter().filter(|(asked, _)| *asked == url).count();
            log.push((url.clone(), Instant::now()));
            earlier
        };
        let answer = self
            .answers
            .get(&url)
            .and_then(|answers| answers.get(earlier).or(answers.last()));
        let scripted = ScriptedFetcher::new(Arc::new(SystemClock));
        let scripted = match answer {
            Some(Answer::Raw(answer)) => scripted.raw(&url, answer.as_str()),
            Some(Answer::Failure(outcome)) => scripted.failure(&url, *outcome),
            None => scripted,
        };
        Box::pin(async move {
            tokio::time::sleep(self.latency).await;
            scripted.fetch(request).await
        })
    }
}
