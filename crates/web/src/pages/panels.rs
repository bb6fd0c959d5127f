//! What lies under the tabs of the page about a page.

use teia_engine::Explanation;
use teia_extract::{Extractors, Source};
use url::Url;

use super::page::Known;
use super::{App, Failure};
use crate::WebError;
use crate::address::{Address, clean, cut};
use crate::difference::{Compared, compare};
use crate::library::Copy;
use crate::neighbourhood::Map;
use crate::words::Words;

/// Versions that are listed.
const MOST_VERSIONS: usize = 100;
/// Links of a page of them.
const LINKS_A_PAGE: usize = 50;
/// Moments of a history that are told, the newest.
const MOST_MOMENTS: usize = 1_000;

/// One tab.
pub(crate) enum Panel {
    Versions(Versions),
    Links(Links),
    Map(Map),
    History(Vec<Happened>),
}

/// One thing that happened to a page.
pub(crate) struct Happened {
    /// For programs.
    pub(crate) at: String,
    pub(crate) when: String,
    pub(crate) what: String,
}

pub(crate) struct Versions {
    pub(crate) rows: Vec<Version>,
    /// Places on the line of time, 10 to 990, and whether the content was new.
    pub(crate) dots: Vec<(String, bool)>,
    pub(crate) oldest: String,
    pub(crate) newest: String,
    pub(crate) is_cut: bool,
    pub(crate) difference: Option<Difference>,
}

pub(crate) struct Version {
    pub(crate) digits: String,
    pub(crate) when: String,
    /// A key of the words.
    pub(crate) change: &'static str,
    pub(crate) status: String,
    pub(crate) size: String,
    pub(crate) is_from: bool,
    pub(crate) is_to: bool,
}

pub(crate) struct Difference {
    pub(crate) between: String,
    pub(crate) counts: String,
    pub(crate) outcome: Compared,
}

pub(crate) struct Links {
    pub(crate) rows: Vec<Row>,
    pub(crate) range: String,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) is_from_journal: bool,
}

pub(crate) struct Row {
    pub(crate) address: Address,
    pub(crate) anchors: String,
    pub(crate) kinds: String,
}

/// Versions, newest first, and the difference between two of them.
pub(crate) fn versions(w: &Words, copies: &[Copy], from: &str, to: &str) -> Result<Panel, Failure> {
    let mut rows = Vec::new();
    let mut changes = Vec::new();
    for (at, copy) in copies.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &copies[before].entry);
        let change = match before {
            None => "versions.first",
            Some(before)
                if copy.entry.is_revisit()
                    || before.digest.is_some() && before.digest == copy.entry.digest =>
            {
                "versions.same"
            }
            Some(_) => "versions.new",
        };
        changes.push(change != "versions.same");
        rows.push(Version {
            digits: copy.entry.timestamp.clone(),
            when: Copy::shown_moment(w, copies, at),
            change,
            status: copy
                .entry
                .status
                .map_or_else(|| "–".to_owned(), |status| status.to_string()),
            size: w.bytes(copy.entry.length),
            is_from: false,
            is_to: false,
        });
    }
    // Where nobody chose: the newest content and the one before it.
    let newest = changes.iter().rposition(|is_new| *is_new).unwrap_or(0);
    let place = |digits: &str| rows.iter().position(|row| row.digits == digits);
    let chosen = place(from).zip(place(to));
    let (old, new) = chosen.unwrap_or((newest.saturating_sub(1), newest));
    if let Some(row) = rows.get_mut(old) {
        row.is_from = true;
    }
    if let Some(row) = rows.get_mut(new) {
        row.is_to = true;
    }
    let difference = match chosen {
        Some((old, new)) => {
            let moments = [old, new].map(|place| Copy::shown_moment(w, copies, place));
            Some(difference(w, (&copies[old], &copies[new]), &moments)?)
        }
        None => None,
    };
    let dots = dots(copies, &changes);
    let when = |copy: Option<&Copy>| {
        copy.and_then(|copy| copy.entry.fetched())
            .map(|moment| w.date(&moment))
            .unwrap_or_default()
    };
    let is_cut = rows.len() > MOST_VERSIONS;
    rows.reverse();
    rows.truncate(MOST_VERSIONS);
    Ok(Panel::Versions(Versions {
        rows,
        dots,
        oldest: when(copies.first()),
        newest: when(copies.last()),
        is_cut,
        difference,
    }))
}

fn dots(copies: &[Copy], changes: &[bool]) -> Vec<(String, bool)> {
    let seconds = |copy: &Copy| copy.entry.fetched().unwrap_or_default().as_seconds();
    let (Some(first), Some(last)) = (copies.first().map(seconds), copies.last().map(seconds))
    else {
        return Vec::new();
    };
    let span = (last - first).max(1) as f64;
    let skipped = copies.len().saturating_sub(500);
    let shown = copies.iter().zip(changes).skip(skipped);
    shown
        .map(|(copy, is_new)| {
            let share = (seconds(copy) - first) as f64 / span;
            (format!("{:.1}", 20.0 + 960.0 * share), *is_new)
        })
        .collect()
}

fn difference(
    w: &Words,
    (old, new): (&Copy, &Copy),
    [from, to]: &[String; 2],
) -> Result<Difference, Failure> {
    let between = w.f("diff.between", from).replacen("{}", to, 1);
    let outcome = match (text_of(old)?, text_of(new)?) {
        (Some(old), Some(new)) => compare(&old, &new),
        _ => Compared::Unreadable,
    };
    let counts = match &outcome {
        Compared::Changed(change) => {
            w.f("diff.counts", w.number(change.added))
                .replacen("{}", &w.number(change.removed), 1)
        }
        _ => String::new(),
    };
    Ok(Difference {
        between,
        counts,
        outcome,
    })
}

/// The visible text of a copy; none where it is damaged or has none.
pub(crate) fn text_of(copy: &Copy) -> Result<Option<String>, WebError> {
    let Ok(stored) = copy.shelf.captures()?.read(&copy.entry) else {
        return Ok(None);
    };
    let Ok(url) = Url::parse(&copy.entry.url) else {
        return Ok(None);
    };
    let decoded = teia_fetch::decode(&stored.response, &copy.shelf.limits);
    let declared = stored.response.media_type();
    let mut source = Source::new(&url, &decoded.bytes);
    source.media_type = declared.as_ref();
    let extracted = Extractors::default().extract(&source);
    let text = clean(&format!("{} {}", extracted.title, extracted.text));
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Links in or out, a page of them.
pub(crate) fn links(
    app: &App,
    w: &Words,
    known: &Known,
    tab: &str,
    page: &str,
) -> Result<Panel, Failure> {
    let page = page.parse::<usize>().unwrap_or(1).clamp(1, 1_000_000);
    let offset = (page - 1) * LINKS_A_PAGE;
    let (links, total) = links_from(app, w, known, tab, page)?;
    // A page after the last: the last.
    if offset >= total && offset > 0 {
        let last = total.div_ceil(LINKS_A_PAGE).max(1);
        return Ok(Panel::Links(links_from(app, w, known, tab, last)?.0));
    }
    Ok(Panel::Links(links))
}

/// A page of links, and how many there are in all.
fn links_from(
    app: &App,
    w: &Words,
    known: &Known,
    tab: &str,
    page: usize,
) -> Result<(Links, usize), Failure> {
    let offset = (page - 1) * LINKS_A_PAGE;
    let snapshot = known.shelf.links()?;
    let listing = if tab == "in" {
        Some(snapshot.in_links(&known.url, offset as u64, LINKS_A_PAGE)?)
    } else {
        snapshot.out_links(&known.url, offset as u64, LINKS_A_PAGE)?
    };
    let listing = listing.filter(|listing| listing.total > 0);
    let is_from_journal = listing.is_none();
    let (total, rows) = match listing {
        Some(listing) => {
            let rows = listing.items.into_iter().map(|neighbour| {
                let anchors = neighbour.labels.iter().map(|label| label.anchor.as_str());
                let kinds = neighbour.labels.iter().map(|label| label.kind.name());
                row(w, &neighbour.url, anchors, kinds)
            });
            (listing.total, rows.collect())
        }
        None => from_journal(w, known, tab, offset),
    };
    let rows: Vec<Row> = rows;
    let shown: Vec<Row> = rows
        .into_iter()
        .filter(|row| !app.library.hides(&row.address.url))
        .collect();
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let href = |page: usize| format!("{}&page={page}#panel", known.href(tab, None));
    let end = (offset + LINKS_A_PAGE).min(total);
    let range = [offset + 1, end, total]
        .iter()
        .fold(w.t("links.range").to_owned(), |text, number| {
            text.replacen("{}", &w.number(*number), 1)
        });
    let links = Links {
        rows: shown,
        range,
        previous: (page > 1).then(|| href(page - 1)),
        next: (end < total).then(|| href(page + 1)),
        is_from_journal,
    };
    Ok((links, total))
}

/// What the journal says, while the graph does not know the page.
fn from_journal(w: &Words, known: &Known, tab: &str, offset: usize) -> (u64, Vec<Row>) {
    let explanation = &known.explanation;
    if tab == "in" {
        let rows = explanation.in_links.iter().skip(offset).take(LINKS_A_PAGE);
        let rows = rows.map(|link| row(w, &link.url, [link.anchor.as_str()], [link.kind]));
        return (explanation.in_links.len() as u64, rows.collect());
    }
    let mut attempts = explanation.attempts.iter().rev();
    let Some(last) = attempts.find(|attempt| !attempt.links.is_empty()) else {
        return (0, Vec::new());
    };
    let rows = last.links.iter().skip(offset).take(LINKS_A_PAGE);
    let rows = rows.map(|link| {
        row(
            w,
            link.url.normal().as_str(),
            [link.anchor.as_str()],
            [link.kind.name()],
        )
    });
    (last.links.len() as u64, rows.collect())
}

fn row<'a>(
    w: &Words,
    url: &str,
    anchors: impl IntoIterator<Item = &'a str>,
    kinds: impl IntoIterator<Item = &'static str>,
) -> Row {
    let mut texts: Vec<String> = Vec::new();
    for anchor in anchors {
        let text = cut(clean(anchor).trim(), 120);
        if !text.is_empty() && !texts.contains(&text) && texts.len() < 5 {
            texts.push(text);
        }
    }
    let mut names: Vec<&str> = kinds.into_iter().map(|kind| w.told(kind)).collect();
    names.sort_unstable();
    names.dedup();
    Row {
        address: Address::new(url),
        anchors: texts.join(" · "),
        kinds: names.join(", "),
    }
}

/// The drawing of what surrounds it.
pub(crate) fn map(app: &App, w: &Words, known: &Known) -> Result<Panel, Failure> {
    let (links, ranks) = (known.shelf.links()?, known.shelf.ranks()?);
    let hidden = |url: &str| app.library.hides(url);
    let mut map = Map::draw(&known.url, &links, ranks.as_ref().as_ref(), hidden)?;
    map.shown_of = w
        .f("map.shown", w.number(map.shown()))
        .replacen("{}", &w.number(map.known), 1);
    Ok(Panel::Map(map))
}

/// Everything that happened to it, in words, the newest first.
pub(crate) fn history(w: &Words, known: &Known) -> Panel {
    let Explanation { life, attempts, .. } = &*known.explanation;
    let newest = life.iter().rev().take(MOST_MOMENTS);
    let told = newest.map(|moment| {
        let what = moment.told(attempts, |english| w.rule(english).into_owned());
        Happened {
            at: moment.at.to_string(),
            when: w.moment_with_seconds(&moment.at),
            what: clean(&what),
        }
    });
    Panel::History(told.collect())
}
