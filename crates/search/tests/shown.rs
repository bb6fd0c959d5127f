//! What is shown of pages, of which of their copies, and what a query may cost.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use shared::{Place, document, prose, url};
use teia_base::{Document, Margin, MarginKind, Timestamp};
use teia_search::{Added, Extras, Hidden, SearchConfig, SearchRequest, Searcher, Weights};

fn add(place: &mut Place, page: &Document) {
    let added = place.writer.add(page, &Extras::default()).unwrap();
    assert_eq!(added, Added::Indexed);
}

fn moment(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// A part of the page's text as a margin.
fn margin(page: &Document, part: &str, kind: MarginKind) -> Margin {
    let from = page.text.find(part).unwrap();
    Margin {
        from: u32::try_from(from).unwrap(),
        to: u32::try_from(from + part.len()).unwrap(),
        kind,
    }
}

#[test]
fn of_a_page_that_allows_no_snippet_only_the_title_is_shown() {
    let mut place = Place::new();
    for (number, words) in [("short", 8), ("long", 4_000)] {
        let text = format!("o melro {}", prose(number.len(), words));
        let mut page = document(&format!("http://a.pt/{number}"), "Aves", &text);
        page.description = "Tudo sobre aves".to_owned();
        page.robots.max_snippet = Some(0);
        add(&mut place, &page);
    }
    place.writer.commit(1).unwrap();
    for query in ["melro", "title:aves"] {
        let results = place.results(query);
        assert_eq!(results.hits.len(), 2, "{query}");
        for hit in results.hits {
            assert_eq!(
                (hit.title.as_str(), hit.snippet.text.as_str()),
                ("Aves", "")
            );
        }
    }
}

#[test]
fn a_snippet_is_no_longer_than_its_author_allows() {
    let mut place = Place::new();
    for (number, most) in [(1, 1), (2, 3), (3, 20), (4, 10_000)] {
        let text = format!("ação {number} do melro {}", prose(number, 40));
        let mut page = document(&format!("http://a.pt/{number}"), "Aves", &text);
        page.robots.max_snippet = Some(most);
        add(&mut place, &page);
    }
    let mut described = document("http://a.pt/5", "Melro", "nada");
    described.description = "Uma descrição bastante longa do pássaro".to_owned();
    described.robots.max_snippet = Some(20);
    add(&mut place, &described);
    place.writer.commit(1).unwrap();
    let hits = place.results("melro").hits;
    assert_eq!(hits.len(), 5);
    for hit in hits {
        let length = hit.snippet.text.chars().count();
        let most = match hit.url.as_str() {
            "http://a.pt/1" => 1,
            "http://a.pt/2" => 3,
            "http://a.pt/4" => {
                assert!(length > 100, "{}", hit.snippet.text);
                continue;
            }
            _ => 20,
        };
        assert!(length <= most, "{}: {}", hit.url, hit.snippet.text);
        assert!(length > 0 || most < 20, "{}", hit.url);
        for part in &hit.snippet.highlights {
            assert!(hit.snippet.text.get(part.clone()).is_some());
        }
    }
}

#[test]
fn a_page_is_found_until_the_day_that_its_author_names() {
    let mut place = Place::new();
    let mut page = document("http://a.pt/1", "Feira", "a feira de maio");
    page.robots.unavailable_after = Some(moment("2026-05-01"));
    add(&mut place, &page);
    add(
        &mut place,
        &document("http://a.pt/2", "Feira", "a outra feira"),
    );
    place.writer.commit(1).unwrap();
    let found = |at: &str| {
        let request = SearchRequest {
            at: moment(at),
            facets: true,
            ..SearchRequest::new("feira")
        };
        let results = place.searcher().search(&request).unwrap();
        assert_eq!(results.facets[0].counts[0].1, results.total);
        results.total
    };
    assert_eq!((found("2026-04-30"), found("2026-05-01")), (2, 1));
    // One whose day has passed when it is fetched is not indexed at all.
    page.robots.unavailable_after = Some(page.fetched);
    assert_eq!(
        place.writer.add(&page, &Extras::default()).unwrap(),
        Added::Refused
    );
}

#[test]
fn a_snippet_is_of_the_main_text_and_not_of_menus() {
    let mut place = Place::new();
    let menu = "Início Melro Corvo Contactos";
    let main = "Hoje ouvi um melro cantar no jardim da aldeia.";
    let foot = "Melro e companhia, todos os direitos";
    for (number, more) in [("short", 0), ("long", 3_000)] {
        let text = format!("{menu} {} {main} {foot}", prose(3, more));
        let mut page = document(&format!("http://a.pt/{number}"), "Aves", &text);
        page.margins = vec![
            margin(&page, menu, MarginKind::Navigation),
            margin(&page, foot, MarginKind::Navigation),
        ];
        add(&mut place, &page);
    }
    place.writer.commit(1).unwrap();
    let hits = place.results("melro").hits;
    assert_eq!(hits.len(), 2);
    for hit in &hits {
        let text = &hit.snippet.text;
        assert!(text.contains("um melro cantar"), "{text}");
        assert!(
            !text.contains("Início") && !text.contains("direitos"),
            "{text}"
        );
    }
    // Where the word stands only in a menu, that is shown, unless the author described the page.
    let hits = place.results("contactos").hits;
    assert!(hits[0].snippet.text.contains("Contactos"), "{:?}", hits[0]);
    // Without a word of the text, its beginning without the menu.
    let hits = place.results("title:aves inurl:short").hits;
    assert!(
        hits[0].snippet.text.starts_with("… Hoje ouvi"),
        "{:?}",
        hits[0]
    );
}

#[test]
fn what_is_not_to_be_quoted_is_found_and_never_shown() {
    let mut place = Place::new();
    let secret = "o corvo custa vinte euros";
    for (number, more) in [("short", 0), ("long", 3_000)] {
        let text = format!("O melro canta. {secret} Fim da página {}", prose(5, more));
        let mut page = document(&format!("http://a.pt/{number}"), "Aves", &text);
        page.margins = vec![margin(&page, secret, MarginKind::Unquoted)];
        add(&mut place, &page);
    }
    place.writer.commit(1).unwrap();
    for query in ["corvo", "melro corvo", "melro euros página", "title:aves"] {
        let hits = place.results(query).hits;
        assert_eq!(hits.len(), 2, "{query}");
        for hit in hits {
            let text = &hit.snippet.text;
            let told = ["corvo", "custa", "vinte", "euros"];
            assert!(
                !told.iter().any(|word| text.contains(word)),
                "{query}: {text}"
            );
        }
    }
}

/// Two collections that have a page in common.
fn two_collections() -> (Place, Place, Searcher) {
    let (mut first, mut second) = (Place::new(), Place::new());
    let mut old = document("http://a.pt/x", "Melro", "o melro antigo");
    old.fetched = moment("2025-01-01");
    let mut new = document("http://a.pt/x", "Melro", "o melro novo");
    new.fetched = moment("2026-01-01");
    add(&mut first, &old);
    add(
        &mut first,
        &document("http://a.pt/1", "Um", "um melro só aqui"),
    );
    add(&mut second, &new);
    add(
        &mut second,
        &document("http://a.pt/2", "Dois", "dois melros só aqui"),
    );
    first.writer.commit(1).unwrap();
    second.writer.commit(1).unwrap();
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("first", first.folder.path()).unwrap();
    searcher.open("second", second.folder.path()).unwrap();
    (first, second, searcher)
}

#[test]
fn a_url_of_two_collections_is_one_hit_by_its_newest_copy() {
    let (first, mut second, searcher) = two_collections();
    let ask = |query: &str| SearchRequest {
        facets: true,
        ..SearchRequest::new(query)
    };
    let results = searcher.search(&ask("melro")).unwrap();
    assert_eq!((results.total, results.hits.len()), (3, 3));
    let site = results.facets.iter().find(|facet| facet.name == "site");
    assert_eq!(site.unwrap().counts, [("a.pt".to_owned(), 3)]);
    let of = |url: &str| {
        let hit = results.hits.iter().find(|hit| hit.url == url).unwrap();
        (hit.collection.clone(), hit.collections.clone())
    };
    let (shown, all) = of("http://a.pt/x");
    assert_eq!(
        (shown.as_str(), all.join(",")),
        ("second", "second,first".into())
    );
    assert_eq!(of("http://a.pt/1").1, ["first"]);
    // What only the older copy says is not found, unless its collection alone is asked.
    assert_eq!(searcher.search(&ask("antigo")).unwrap().total, 0);
    let alone = SearchRequest {
        collections: vec!["first".to_owned()],
        ..ask("antigo")
    };
    let hits = searcher.search(&alone).unwrap().hits;
    assert_eq!(hits[0].collections, ["first"]);
    // When the newer one goes, the older one counts again; and the other way round.
    second.writer.remove(&url("http://a.pt/x")).unwrap();
    second.writer.commit(2).unwrap();
    searcher.refresh().unwrap();
    let results = searcher.search(&ask("antigo")).unwrap();
    assert_eq!(results.hits[0].collections, ["first"]);
    let mut newest = document("http://a.pt/x", "Melro", "o melro último");
    newest.fetched = moment("2026-02-01");
    add(&mut second, &newest);
    second.writer.commit(3).unwrap();
    searcher.refresh().unwrap();
    assert_eq!(searcher.search(&ask("antigo")).unwrap().total, 0);
    assert_eq!(searcher.search(&ask("último")).unwrap().total, 1);
    drop(first);
}

#[test]
fn results_are_paged_to_the_ten_thousandth() {
    let mut place = Place::new();
    for number in 0..10_020 {
        let text = format!("melro n{number}");
        add(
            &mut place,
            &document(&format!("http://a.pt/{number}"), "Ave", &text),
        );
    }
    place.writer.commit(1).unwrap();
    let searcher = place.searcher();
    let page = |offset: usize| {
        let request = SearchRequest {
            offset,
            limit: 10,
            ..SearchRequest::new("melro")
        };
        searcher.search(&request).unwrap()
    };
    let (last, before) = (page(9_990), page(9_980));
    assert_eq!(
        (last.hits.len(), last.total, last.distinct),
        (10, 10_020, 10_020)
    );
    assert!(last.repairs.is_empty() && !last.is_partial);
    let mut urls: Vec<_> = last.hits.iter().chain(&before.hits).collect();
    urls.sort_by_key(|hit| &hit.url);
    urls.dedup_by_key(|hit| &hit.url);
    assert_eq!(urls.len(), 20, "no result is on two pages");
    let beyond = page(10_000);
    assert!(beyond.hits.is_empty());
    let said = beyond.repairs[0].to_string();
    assert!(said.contains("only the first 10000 results"), "{said}");
}

#[test]
fn a_query_without_time_looks_nothing_up() {
    let mut place = Place::new();
    for number in 0..40 {
        let words: String = (0..10).map(|at| format!("mel{number}x{at} ")).collect();
        add(
            &mut place,
            &document(&format!("http://a.pt/{number}"), "Ave", &words),
        );
    }
    place.writer.commit(1).unwrap();
    let config = SearchConfig {
        max_milliseconds: 0,
        ..SearchConfig::default()
    };
    let mut hurried = Searcher::new(config, Weights::default());
    hurried.open("test", place.folder.path()).unwrap();
    for query in [
        "mel*",
        "mel1x1 mell2x2",
        "\"mel1x1 mel1x2\"",
        "ave -mel1x1",
        "ave OR mel1x1",
    ] {
        let results = hurried.search(&SearchRequest::new(query)).unwrap();
        let said: Vec<String> = results.repairs.iter().map(ToString::to_string).collect();
        // Not even which words begin so: that would be said.
        assert_eq!(said.len(), 1, "{query}: {said:?}");
        assert!(said[0].contains("time"), "{query}: {said:?}");
        assert!(results.is_partial && results.hits.is_empty(), "{query}");
        assert_eq!(results.suggestion, None, "{query}");
        // What was not looked up is not remembered as missing.
        assert_eq!(hurried.search(&SearchRequest::new(query)).unwrap().total, 0);
    }
    let results = place.results("mel*");
    assert!(results.repairs[0].to_string().contains("many words"));
    assert!(results.total > 0);
}

#[test]
fn words_of_every_segment_stand_for_a_prefix() {
    let mut place = Place::new();
    // More words in the first segment than all prefixes of a query may look at.
    for number in 0..1_300 {
        let words: String = (0..100).map(|at| format!("ave{number}x{at} ")).collect();
        add(
            &mut place,
            &document(&format!("http://a.pt/{number}"), "", &words),
        );
    }
    place.writer.commit(1).unwrap();
    for number in 0..70 {
        let text = format!("avezinha {number}");
        add(
            &mut place,
            &document(&format!("http://b.pt/{number}"), "", &text),
        );
    }
    place.writer.commit(2).unwrap();
    let results = place.results("ave*");
    assert!(results.repairs[0].to_string().contains("many words"));
    assert!(results.total >= 70, "{}", results.total);
    // Every one of several prefixes has its share.
    let many: Vec<String> = (0..15).map(|number| format!("ave{number}*")).collect();
    let results = place.results(&format!("{} +avez*", many.join(" ")));
    assert_eq!(results.total, 70);
}

#[test]
fn a_spelling_is_suggested_as_it_is_written_and_only_of_pages_that_can_be_shown() {
    let mut place = Place::with(&[
        (
            "http://a.pt/1",
            "Licitação",
            "a licitação pública da câmara",
        ),
        ("http://a.pt/2", "Segredo", "a palavra jacarandá"),
        ("http://a.pt/3", "Outro", "a palavra borboleta"),
    ]);
    let suggested = |query: &str, place: &Place| place.results(query).suggestion;
    assert_eq!(suggested("licitasao", &place).unwrap(), "licitação");
    assert_eq!(
        suggested("licitasão publica", &place).unwrap(),
        "licitação publica"
    );
    assert_eq!(
        suggested("title:licitasao", &place).unwrap(),
        "title:licitação"
    );
    // Looked for in the title, where it is not.
    assert_eq!(suggested("title:borbolata", &place), None);
    assert_eq!(suggested("borbolata", &place).unwrap(), "borboleta");
    place.writer.remove(&url("http://a.pt/3")).unwrap();
    place.writer.commit(2).unwrap();
    assert_eq!(suggested("borbolata", &place), None);
    let hidden = Hidden::new(["http://a.pt/2".to_owned()], []);
    let request = SearchRequest {
        hidden: hidden.into(),
        ..SearchRequest::new("jacaranta")
    };
    assert_eq!(suggested("jacaranta", &place).unwrap(), "jacarandá");
    assert_eq!(place.searcher().search(&request).unwrap().suggestion, None);
}

#[test]
fn a_language_that_is_a_guess_is_not_told() {
    let mut place = Place::new();
    let mut guess = document("http://a.pt/1", "", "IMG 4711 zxq");
    let mut certain = document(
        "http://a.pt/2",
        "",
        "o melro canta no jardim e todos o ouvem muito bem",
    );
    let mut declared = document("http://a.pt/3", "", "IMG 4712 zxq");
    guess.language = None;
    certain.language = None;
    declared.language = Some("pt-BR".to_owned());
    for page in [&guess, &certain, &declared] {
        add(&mut place, page);
    }
    place.writer.commit(1).unwrap();
    let language = |query: &str| place.results(query).hits[0].language.clone();
    assert_eq!(language("4711"), "und");
    assert_eq!(language("melro"), "pt");
    assert_eq!(language("4712"), "pt");
    // Its words are stemmed all the same where there are any.
    assert_eq!(place.results("cantar").total, 1);
}
