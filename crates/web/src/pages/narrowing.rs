//! What a search asks for: the query, the filters beside it, and the bounds of both.

use serde::Deserialize;
use teia_base::{Clock, SystemClock, Timestamp};
use teia_search::{Filter, SearchRequest, Sort};

use super::Failure;
use crate::address::escape;
use crate::{Library, WebConfig};

/// Everything of a kind: what a search without words goes through.
const EVERYTHING: &str =
    "(type:text OR type:application OR type:image OR type:audio OR type:video)";
/// Results of a page.
pub(crate) const PER_PAGE: usize = 10;
const MAX_PER_PAGE: usize = 100;

/// The parameters of `/search` and `/api/search`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    pub(crate) q: String,
    #[serde(default)]
    pub(crate) site: String,
    #[serde(default)]
    pub(crate) lang: String,
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) date: String,
    #[serde(default)]
    pub(crate) collection: String,
    #[serde(default)]
    pub(crate) sort: String,
    #[serde(default)]
    pub(crate) expand: String,
    /// `1` shows near-duplicates too.
    #[serde(default)]
    pub(crate) similar: String,
    #[serde(default)]
    pub(crate) page: String,
    #[serde(default)]
    pub(crate) limit: String,
    #[serde(default)]
    pub(crate) offset: String,
}

impl Asked {
    /// Refuses what would cost too much, before anything reads it.
    pub(crate) fn check(&self, config: &WebConfig) -> Result<(), Failure> {
        let filters = [
            &self.site,
            &self.lang,
            &self.kind,
            &self.date,
            &self.collection,
        ];
        let is_long = self.q.len() > config.max_query_bytes
            || filters.iter().any(|filter| filter.len() > 512);
        if is_long {
            return Err(Failure::Refused("error.long", config.max_query_bytes));
        }
        let parts = self.q.split_whitespace();
        let (clauses, words): (Vec<_>, Vec<_>) = parts.partition(|part| is_clause(part));
        if words.len() > config.max_query_words {
            return Err(Failure::Refused("error.words", config.max_query_words));
        }
        if clauses.len() > config.max_query_clauses {
            return Err(Failure::Refused("error.clauses", config.max_query_clauses));
        }
        let (mut depth, mut deepest) = (0_usize, 0);
        for byte in self.q.bytes() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        if deepest > config.max_query_depth {
            return Err(Failure::Refused("error.deep", config.max_query_depth));
        }
        // `~` asks elsewhere for words that are spelt nearly so; here it says nothing, and costs nothing.
        if self.q.matches(['*', '~']).count() > config.max_query_stars {
            return Err(Failure::Refused("error.stars", config.max_query_stars));
        }
        if begins_with_star(&self.q) {
            return Err(Failure::Refused("error.infix", 0));
        }
        let (offset, limit) = self.window()?;
        if offset.saturating_add(limit) > config.max_results && offset > 0 {
            let first_of_last = config.max_results.saturating_sub(limit);
            if offset > first_of_last {
                return Err(Failure::Refused("error.far", config.max_results));
            }
        }
        Ok(())
    }

    /// First result and number of results.
    pub(crate) fn window(&self) -> Result<(usize, usize), Failure> {
        // A number that does not fit is too large; anything else is no number.
        let number = |name: &'static str, text: &str, usual: usize| match text {
            "" => Ok(usual),
            text if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(text.parse::<usize>().unwrap_or(usize::MAX))
            }
            _ => Err(Failure::NoNumber(name)),
        };
        let limit = number("limit", &self.limit, PER_PAGE)?;
        if limit == 0 || limit > MAX_PER_PAGE {
            return Err(Failure::Refused("error.limit", MAX_PER_PAGE));
        }
        let page = number("page", &self.page, 1)?.max(1);
        let usual = (page - 1).saturating_mul(limit);
        let offset = number("offset", &self.offset, usual)?;
        Ok((offset, limit))
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.q.trim().is_empty() && !self.has_filters()
    }

    pub(crate) fn has_filters(&self) -> bool {
        let filters = [
            &self.site,
            &self.lang,
            &self.kind,
            &self.date,
            &self.collection,
        ];
        filters.iter().any(|filter| !filter.is_empty())
    }

    /// Whether near-duplicates are results like others.
    pub(crate) fn shows_similar(&self) -> bool {
        self.similar == "1"
    }

    /// What a new query on the same page keeps.
    pub(crate) fn kept(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("site", &self.site),
            ("lang", &self.lang),
            ("type", &self.kind),
            ("date", &self.date),
            ("collection", &self.collection),
            ("sort", &self.sort),
            ("limit", &self.limit),
        ];
        let set = all.into_iter().filter(|(_, value)| !value.is_empty());
        set.map(|(name, value)| (name, value.clone())).collect()
    }

    /// The filters, apart from the query: whatever that says, they hold.
    fn filters(&self) -> Vec<Filter> {
        let mut filters = Vec::new();
        let mut add = |value: &str, filter: fn(String) -> Filter| {
            if !value.trim().is_empty() {
                filters.push(filter(value.to_owned()));
            }
        };
        add(&self.site, Filter::Site);
        add(&self.lang, Filter::Language);
        add(&self.kind, Filter::Type);
        if let Some((after, before)) = self.dates() {
            filters.push(Filter::After(after));
            filters.extend(before.map(Filter::Before));
        }
        filters
    }

    /// The request to the index. What was removed from view is passed over at once.
    pub(crate) fn request(&self, library: &Library) -> Result<SearchRequest, Failure> {
        let words = match self.q.trim() {
            "" => EVERYTHING,
            words => words,
        };
        let mut request = SearchRequest::new(words);
        request.filters = self.filters();
        (request.offset, request.limit) = self.window()?;
        if !self.collection.is_empty() {
            request.collections = vec![self.collection.clone()];
        }
        match self.sort.as_str() {
            "date" => request.sort = Sort::Date,
            "fresh" => request.fresh_at = Some(request.at),
            _ => {}
        }
        request.expand = self.expand == "1";
        request.group_similar = !self.shows_similar();
        request.facets = true;
        request.hidden = library.hidden()?;
        Ok(request)
    }

    /// From when, and until when.
    fn dates(&self) -> Option<(Timestamp, Option<Timestamp>)> {
        let day = 86_400_000_000_i64;
        let days = match self.date.as_str() {
            "d" => 1,
            "w" => 7,
            "m" => 31,
            "y" => 366,
            year => {
                let year: u16 = year.parse().ok()?;
                let begin = |year: u16| Timestamp::parse(&format!("{year:04}-01-01"));
                return Some((begin(year)?, begin(year.checked_add(1)?)));
            }
        };
        let since = SystemClock.wall().as_micros() - days * day;
        // From the beginning of that day.
        let since = since - since.rem_euclid(day);
        Some((Timestamp::from_micros(since), None))
    }

    /// The address of the same search with one thing changed; a new filter begins at the first page.
    pub(crate) fn href(&self, name: &str, value: &str) -> String {
        let mut parts = Vec::new();
        let all = [
            ("q", &self.q),
            ("site", &self.site),
            ("lang", &self.lang),
            ("type", &self.kind),
            ("date", &self.date),
            ("collection", &self.collection),
            ("sort", &self.sort),
            ("expand", &self.expand),
            ("similar", &self.similar),
            ("limit", &self.limit),
        ];
        let mut is_put = false;
        for (key, old) in all {
            let value = if key == name {
                is_put = true;
                value
            } else {
                old.as_str()
            };
            if !value.is_empty() || key == "q" {
                parts.push(format!("{key}={}", escape(value)));
            }
        }
        let is_first_page = name == "page" && value == "1";
        if !is_put && !value.is_empty() && !is_first_page {
            parts.push(format!("{name}={}", escape(value)));
        }
        format!("/search?{}", parts.join("&"))
    }
}

/// Whether a part of a query is more than a plain word, as far as can be told without reading it all.
fn is_clause(part: &str) -> bool {
    part.starts_with(['+', '-', '"', '('])
        || part.contains([':', '*', '|'])
        || matches!(part, "OR" | "AND" | "NOT")
}

/// Whether a word begins with a star: that would ask for every word there is.
fn begins_with_star(query: &str) -> bool {
    let mut before = ' ';
    let mut characters = query.chars().peekable();
    while let Some(character) = characters.next() {
        let goes_on = characters.peek().is_some_and(|next| next.is_alphanumeric());
        let is_inside = before.is_alphanumeric() || before == '.' || before == '/';
        if character == '*' && goes_on && !is_inside {
            return true;
        }
        before = character;
    }
    false
}
