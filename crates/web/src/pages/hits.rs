//! A result as a page shows it: everything from a crawled page is text.

use teia_base::Timestamp;
use teia_search::{Hit, Snippet};

use super::App;
use crate::address::{Address, clean};
use crate::words::Words;

/// One result, ready for its template.
#[derive(Debug)]
pub(crate) struct ShownHit {
    pub(crate) address: Address,
    /// Where its title leads: the live page, or the page about it where its address is no link.
    pub(crate) open: String,
    pub(crate) is_live: bool,
    pub(crate) title: String,
    pub(crate) snippet: Vec<(String, bool)>,
    pub(crate) fetched_at: Timestamp,
    pub(crate) date: String,
    pub(crate) short_date: String,
    pub(crate) language: String,
    pub(crate) media_type: String,
    pub(crate) rank: Option<String>,
    pub(crate) copy: Option<String>,
    pub(crate) similar: usize,
    /// All that have it.
    pub(crate) collections: String,
    pub(crate) others: Vec<Address>,
}

impl ShownHit {
    pub(crate) fn new(app: &App, w: &Words, hit: &Hit) -> Self {
        let address = Address::new(&hit.url);
        let copy = copy_of(app, hit);
        let is_live = address.is_link;
        let date = w.date(&hit.fetched_at);
        let short_date = date.rsplit_once(' ').map_or("", |(day, _)| day).to_owned();
        let others = hit.other_addresses.iter();
        Self {
            open: if is_live {
                hit.url.clone()
            } else {
                address.page()
            },
            is_live,
            title: clean(&hit.title),
            snippet: pieces(&hit.snippet),
            fetched_at: hit.fetched_at,
            date,
            short_date,
            language: hit.language.clone(),
            media_type: hit.media_type.clone(),
            rank: (hit.rank > 0.0).then(|| w.decimal(format!("{:.1}", hit.rank * 10.0))),
            copy,
            similar: hit.similar,
            collections: hit.collections.join(" · "),
            others: others.map(|other| Address::new(other)).collect(),
            address,
        }
    }
}

/// The archived copy that a result was made from, if it may be shown.
pub(crate) fn copy_of(app: &App, hit: &Hit) -> Option<String> {
    let versions = app.library.versions(&hit.url).ok()?;
    let digits = hit.fetched_at.to_digits();
    let own = versions
        .iter()
        .rev()
        .find(|copy| copy.entry.timestamp <= digits);
    let copy = own.or(versions.last())?;
    Some(crate::address::archive(&copy.entry.timestamp, &hit.url))
}

/// A snippet in pieces, each marked or not.
pub(crate) fn pieces(snippet: &Snippet) -> Vec<(String, bool)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let text = &snippet.text;
    for range in &snippet.highlights {
        // Ranges come from the index; text that they do not fit is shown without marks.
        let (Some(before), Some(marked)) = (text.get(at..range.start), text.get(range.clone()))
        else {
            continue;
        };
        if !before.is_empty() {
            pieces.push((before.to_owned(), false));
        }
        pieces.push((marked.to_owned(), true));
        at = range.end;
    }
    if let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        pieces.push((rest.to_owned(), false));
    }
    pieces
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "a snippet with one highlight"
)]
mod tests {
    use super::pieces;
    use teia_search::Snippet;

    #[test]
    fn a_snippet_falls_into_pieces_that_are_the_whole() {
        let snippet = Snippet {
            text: "o melro canta".to_owned(),
            highlights: vec![2..7],
        };
        let text = |text: &str, marked| (text.to_owned(), marked);
        assert_eq!(
            pieces(&snippet),
            [
                text("o ", false),
                text("melro", true),
                text(" canta", false)
            ]
        );
        let odd = Snippet {
            text: "né".to_owned(),
            highlights: vec![2..9],
        };
        assert_eq!(pieces(&odd), [text("né", false)]);
    }
}
