//! `/search`: results, filters, pages.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use teia_search::{Facet, Repair, Results};

use super::hits::ShownHit;
use super::narrowing::Asked;
use super::plain::{Help, examples};
use super::{App, Asking, Failure, Frame, html};
use crate::words::Words;

/// Numbers of pages that are offered around the present one.
const AROUND: usize = 4;
/// Values of a filter that are offered.
const MOST_CHOICES: usize = 12;

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    results: Results,
    hits: Vec<ShownHit>,
    milliseconds: String,
    page: usize,
    first: usize,
    menus: Vec<Menu>,
    has_filters: bool,
    bare_href: String,
    /// The same words without quotation marks, where there are some.
    words_href: Option<String>,
    expand_href: String,
    suggestion: Option<(String, String)>,
    repairs: Vec<String>,
    pages: Vec<(usize, String)>,
    previous: Option<String>,
    next: Option<String>,
    many: bool,
    /// Results that are nearly the same as one that is shown.
    put_away: u64,
    similar_href: String,
    shows_similar: bool,
    first_href: String,
}

/// One filter, and what it can be set to.
struct Menu {
    label: String,
    chosen: String,
    is_set: bool,
    choices: Vec<Choice>,
}

struct Choice {
    label: String,
    href: String,
    count: Option<u64>,
    is_chosen: bool,
}

/// The results of a query; without one, how to ask.
pub(crate) async fn search(
    State(app): State<App>,
    mut frame: Frame,
    Asking(asked): Asking<Asked>,
) -> Response {
    frame.query.clone_from(&asked.q);
    frame.kept = asked.kept();
    if let Err(failure) = asked.check(&app.config) {
        return failure.into_page(&frame);
    }
    app.look_up(frame, move |app, frame| {
        if asked.is_empty() {
            let examples = examples(app)?;
            return html(&Help { frame, examples });
        }
        answer(app, frame, &asked)
    })
    .await
}

fn answer(app: &App, frame: Frame, asked: &Asked) -> Result<Response, Failure> {
    let w = frame.w;
    let request = asked.request(&app.library)?;
    let (offset, limit) = (request.offset, request.limit);
    let results = app.library.searcher().search(&request)?;
    let page = offset / limit.max(1) + 1;
    // What was put away behind a better one is on no page.
    let reachable = usize::try_from(results.distinct)
        .unwrap_or(usize::MAX)
        .min(app.config.max_results);
    let is_last = results.hits.len() < limit;
    let last = if is_last && !results.hits.is_empty() {
        page
    } else {
        reachable.div_ceil(limit.max(1)).max(1)
    };
    let from = page.saturating_sub(AROUND).max(1);
    let to = (page + AROUND).min(last);
    let shelves = app.library.shelves();
    let names: Vec<String> = shelves.iter().map(|shelf| shelf.name.clone()).collect();
    let suggestion = results
        .suggestion
        .as_ref()
        .map(|text| (text.to_owned(), asked.href("q", text)));
    let bare = Asked {
        q: asked.q.clone(),
        sort: asked.sort.clone(),
        limit: asked.limit.clone(),
        ..Asked::default()
    };
    let expand = if asked.expand == "1" { "" } else { "1" };
    html(&SearchPage {
        hits: results
            .hits
            .iter()
            .map(|hit| ShownHit::new(app, w, hit))
            .collect(),
        milliseconds: milliseconds(w, results.seconds),
        page,
        first: offset + 1,
        menus: menus(w, asked, &results.facets, &names),
        has_filters: asked.has_filters(),
        bare_href: bare.href("q", &asked.q),
        words_href: without_marks(&asked.q).map(|words| asked.href("q", &words)),
        expand_href: asked.href("expand", expand),
        suggestion,
        repairs: results
            .repairs
            .iter()
            .map(|repair| said(w, repair))
            .collect(),
        pages: (from..=to)
            .map(|number| (number, asked.href("page", &number.to_string())))
            .collect(),
        previous: (page > 1).then(|| asked.href("page", &(page - 1).to_string())),
        next: (page < last).then(|| asked.href("page", &(page + 1).to_string())),
        many: names.len() > 1,
        put_away: results.total - results.distinct,
        similar_href: asked.href("similar", if asked.shows_similar() { "" } else { "1" }),
        shows_similar: asked.shows_similar(),
        first_href: asked.href("page", "1"),
        results,
        frame,
    })
}

/// What a query takes for quotation marks.
const QUOTATION_MARKS: [char; 7] = ['"', '“', '”', '„', '«', '»', '″'];

/// A query whose phrases are words in any order; nothing where it has none.
fn without_marks(query: &str) -> Option<String> {
    let is_mark = |character: char| QUOTATION_MARKS.contains(&character);
    query.contains(is_mark).then(|| query.replace(is_mark, " "))
}

/// What was changed in a query, in the reader's language.
fn said(w: &Words, repair: &Repair) -> String {
    let (name, about) = repair.name();
    w.f(&format!("repair.{name}"), about)
}

fn milliseconds(w: &Words, seconds: f64) -> String {
    let value = seconds * 1000.0;
    if value < 10.0 {
        w.decimal(format!("{value:.1}"))
    } else {
        format!("{value:.0}")
    }
}

fn menus(w: &Words, asked: &Asked, facets: &[Facet], collections: &[String]) -> Vec<Menu> {
    let counts = |name: &str| {
        let facet = facets.iter().find(|facet| facet.name == name);
        facet.map(|facet| facet.counts.clone()).unwrap_or_default()
    };
    let plain = |value: &str| value.to_owned();
    let mut menus = vec![
        by_count(
            w,
            asked,
            ("site", "any", &asked.site),
            counts("site"),
            plain,
        ),
        by_count(
            w,
            asked,
            ("lang", "any.lang", &asked.lang),
            counts("language"),
            |code| w.language(code).to_owned(),
        ),
        by_count(
            w,
            asked,
            ("type", "any", &asked.kind),
            counts("type"),
            |kind| w.media_type(kind).to_owned(),
        ),
        dates(w, asked, counts("year")),
    ];
    if collections.len() > 1 {
        let named = collections
            .iter()
            .map(|name| choice(asked, "collection", name, name, &asked.collection));
        let mut choices = vec![choice(
            asked,
            "collection",
            "",
            w.t("any.collection"),
            &asked.collection,
        )];
        choices.extend(named);
        menus.push(Menu {
            label: w.t("collection").to_owned(),
            chosen: asked.collection.clone(),
            is_set: !asked.collection.is_empty(),
            choices,
        });
    }
    let orders = [
        ("", "sort.relevance"),
        ("fresh", "sort.fresh"),
        ("date", "sort.date"),
    ];
    let chosen = orders.iter().find(|(name, _)| *name == asked.sort);
    let (sort, label) = *chosen.unwrap_or(&orders[0]);
    menus.push(Menu {
        label: w.t("sort").to_owned(),
        chosen: w.t(label).to_owned(),
        is_set: !sort.is_empty(),
        choices: orders
            .map(|(name, label)| choice(asked, "sort", name, w.t(label), sort))
            .into(),
    });
    menus
}

fn choice(asked: &Asked, name: &str, value: &str, label: &str, chosen: &str) -> Choice {
    Choice {
        label: label.to_owned(),
        href: asked.href(name, value),
        count: None,
        is_chosen: value == chosen,
    }
}

fn by_count(
    w: &Words,
    asked: &Asked,
    (name, any, chosen): (&str, &str, &str),
    counts: Vec<(String, u64)>,
    label: impl Fn(&str) -> String,
) -> Menu {
    let mut choices = vec![choice(asked, name, "", w.t(any), chosen)];
    for (value, count) in counts.into_iter().take(MOST_CHOICES) {
        choices.push(Choice {
            count: Some(count),
            ..choice(asked, name, &value, &label(&value), chosen)
        });
    }
    Menu {
        label: w.t(name).to_owned(),
        chosen: label(chosen),
        is_set: !chosen.is_empty(),
        choices,
    }
}

fn dates(w: &Words, asked: &Asked, years: Vec<(String, u64)>) -> Menu {
    let mut choices = Vec::new();
    let mut chosen = asked.date.clone();
    for value in ["", "d", "w", "m", "y"] {
        let key = if value.is_empty() {
            "date.any".to_owned()
        } else {
            format!("date.{value}")
        };
        if value == asked.date {
            chosen = w.t(&key).to_owned();
        }
        choices.push(choice(asked, "date", value, w.t(&key), &asked.date));
    }
    let mut years: Vec<_> = years.into_iter().take(MOST_CHOICES).collect();
    years.sort_by(|a, b| b.0.cmp(&a.0));
    for (year, count) in years {
        choices.push(Choice {
            count: Some(count),
            ..choice(asked, "date", &year, &year, &asked.date)
        });
    }
    Menu {
        label: w.t("date").to_owned(),
        chosen,
        is_set: !asked.date.is_empty(),
        choices,
    }
}
