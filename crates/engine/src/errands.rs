//! Requests to a host that are for no URL of the collection: a robots.txt that was sent on, or that asks for a login, and
//! probes.
//!
//! ```text
//! its own ──────────────> before its pages
//! sent here by others ──> one after ten of its pages, or when it has none
//! ```
//!
//! Any host can send its robots.txt to any other, with a thousand ports and names: whose pages are collected must not wait
//! for that.

use std::collections::VecDeque;

use url::Url;

use crate::stage::fetch::Errand;

/// Of others, so many wait at a host; more are turned away.
const GUESTS: usize = 16;
/// Pages of the host between two of them, where it has pages.
const PAGES_BETWEEN: u8 = 10;

/// What a host is to be asked for beside its pages.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    own: VecDeque<Errand>,
    guests: VecDeque<Errand>,
    /// Pages since the last guest, or since there are some.
    pages: u8,
}

impl Errands {
    pub(crate) fn push(&mut self, errand: Errand) {
        match &errand {
            Errand::Robots { origin, url, .. } if is_guest(origin, url) => {
                self.guests.push_back(errand);
            }
            _ => self.own.push_back(errand),
        }
    }

    /// Whether one more robots.txt of this origin may wait here.
    pub(crate) fn has_room(&self, origin: &str, url: &Url) -> bool {
        !is_guest(origin, url) || self.guests.len() < GUESTS
    }

    /// What goes before the host's next page.
    pub(crate) fn next(&mut self) -> Option<Errand> {
        let own = self.own.pop_front();
        own.or_else(|| {
            let is_its_turn = self.pages >= PAGES_BETWEEN;
            is_its_turn.then(|| self.next_guest()).flatten()
        })
    }

    /// What goes where the host has no page to be asked for.
    pub(crate) fn next_guest(&mut self) -> Option<Errand> {
        self.pages = 0;
        self.guests.pop_front()
    }

    /// It cannot be sent now: it is the next one still.
    pub(crate) fn put_back(&mut self, errand: Errand) {
        match &errand {
            Errand::Robots { origin, url, .. } if is_guest(origin, url) => {
                self.guests.push_front(errand);
                self.pages = PAGES_BETWEEN;
            }
            _ => self.own.push_front(errand),
        }
    }

    /// A page of the host went out.
    pub(crate) fn note_page(&mut self) {
        if !self.guests.is_empty() {
            self.pages = self.pages.saturating_add(1);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.guests.is_empty()
    }
}

fn is_guest(origin: &str, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    let is_same = authority
        .strip_prefix(host)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
    !is_same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_no_guest_of_itself() {
        for (origin, url, expected) in [
            ("http://a.test", "https://a.test/robots.txt", false),
            ("http://a.test:81", "http://a.test:82/robots.txt", false),
            ("http://[::1]:81", "http://[::1]/r", false),
            ("http://a.test", "http://www.a.test/robots.txt", true),
            ("http://a.test.evil", "http://a.test/r", true),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(is_guest(origin, &url), expected, "{origin} {url}");
        }
    }
}
