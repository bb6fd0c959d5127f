//! Queries over small indexes, through the door.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::time::{Duration, Instant};

use shared::{Place, document, prose};
use teia_base::{MediaType, Timestamp};
use teia_search::{Extras, Hidden, Repair, SearchConfig, SearchRequest, Searcher, Sort, Weights};

fn animals() -> Place {
    Place::with(&[
        (
            "http://a.pt/gato",
            "O gato",
            "O gato preto dorme no telhado da casa velha",
        ),
        (
            "http://a.pt/cao",
            "O cão",
            "O cão branco dorme na casa nova e ladra",
        ),
        (
            "http://b.org/sp/cidade",
            "São Paulo",
            "A cidade de São Paulo tem muitas licitações públicas",
        ),
        (
            "http://b.org/casa",
            "Casas",
            "casa casa casa casa casa casa velha",
        ),
    ])
}

#[track_caller]
fn check(place: &Place, query: &str, expected: &[&str]) {
    let mut found = place.found(query);
    found.sort();
    assert_eq!(found, expected, "{query}");
}

#[test]
fn signs_phrases_groups_and_prefixes() {
    let place = animals();
    check(&place, "gato cão", &["cao", "gato"]);
    check(&place, "+casa +dorme", &["cao", "gato"]);
    check(&place, "casa -velha", &["cao"]);
    check(&place, "\"casa velha\"", &["casa", "gato"]);
    check(&place, "\"velha casa\"", &[]);
    check(
        &place,
        "\"da casa velha\" OR \"casa nova\"",
        &["cao", "gato"],
    );
    check(&place, "+(gato OR cidade) -preto", &["cidade"]);
    check(&place, "lad*", &["cao"]);
    check(&place, "title:casa", &["casa"]);
    check(&place, "inurl:cidade", &["cidade"]);
    check(&place, "site:a.pt", &["cao", "gato"]);
    check(&place, "site:b.org/sp", &["cidade"]);
    check(&place, "site:org casa", &["casa"]);
    check(&place, "type:html gato", &["gato"]);
    check(&place, "type:pdf gato", &[]);
    check(&place, "lang:pt gato", &["gato"]);
    check(&place, "gato after:2026-02 before:2026-04", &["gato"]);
    check(&place, "gato before:2026", &[]);
    check(&place, "-casa", &["cidade"]);
    check(&place, "!!!", &[]);
    check(&place, "site:a.pt gato", &["gato"]);
}

#[test]
fn accents_case_and_endings_do_not_matter() {
    let place = animals();
    for query in [
        "Sao Paulo",
        "são paulo",
        "SÃO PAULO",
        "\"sao paulo\"",
        "licitação",
        "licitacoes",
        "licitacao",
        "publica",
    ] {
        assert_eq!(place.found(query), ["cidade"], "{query}");
    }
}

#[test]
fn a_document_with_all_words_comes_before_one_with_much_of_one() {
    let place = animals();
    assert_eq!(place.found("casa telhado")[0], "gato");
    assert_eq!(place.found("casa ladra")[0], "cao");
}

#[test]
fn a_question_finds_what_its_content_words_find() {
    let place = animals();
    assert_eq!(place.found("o que é que dorme no telhado?")[0], "gato");
    assert_eq!(place.found("onde é que o cão ladra")[0], "cao");
    // Nothing but small words is looked for as it is.
    assert!(!place.found("da").is_empty());
}

/// A long text is stored in pieces, and only those that are shown are unpacked.
#[test]
fn a_snippet_is_cut_out_of_any_place_of_a_long_text() {
    let filler = "uma frase qualquer sobre coisa nenhuma, ";
    for before in [0, 200, 203, 205, 208, 2_000] {
        let text = format!(
            "{}a carta secreta do almirante {}",
            filler.repeat(before),
            filler.repeat(1_000)
        );
        let place = Place::with(&[("http://a.pt/x", "Um livro", &text)]);
        for query in ["almirantes secretas", "\"carta secreta do almirante\""] {
            let snippet = place.results(query).hits.remove(0).snippet;
            assert!(
                snippet.text.contains("a carta secreta do almirante uma"),
                "{before}: {snippet:?}"
            );
            let marked: Vec<&str> = snippet
                .highlights
                .iter()
                .map(|range| &snippet.text[range.clone()])
                .collect();
            assert!(
                marked.contains(&"secreta") && marked.contains(&"almirante"),
                "{marked:?}"
            );
            assert_eq!(snippet.text.starts_with("… "), before > 0, "{snippet:?}");
            assert!(snippet.text.ends_with(" …"), "{snippet:?}");
        }
        // A page that is found by its title alone shows how it begins.
        let snippet = place.results("livro").hits.remove(0).snippet;
        assert!(
            snippet.highlights.is_empty() && text.starts_with(snippet.text.trim_end_matches(" …"))
        );
    }
}

#[test]
fn highlights_are_ranges_of_plain_text() {
    let place = Place::with(&[(
        "http://a.pt/x",
        "<script>alert(1)</script>\u{202e}t",
        "um dois \u{0}três <b>gatos</b> & São \u{202e}Tomé quatro",
    )]);
    let hit = place.results("gato tome").hits.remove(0);
    assert!(!hit.title.contains('\u{202e}'));
    let marked: Vec<&str> = hit
        .snippet
        .highlights
        .iter()
        .map(|range| &hit.snippet.text[range.clone()])
        .collect();
    assert_eq!(marked, ["gatos", "Tomé"]);
    assert!(hit.snippet.text.contains("<b>gatos</b> & São"));
    assert!(!hit.snippet.text.contains(['\u{0}', '\u{202e}']));
    assert_eq!(hit.capture.unwrap().0, 7);
    assert_eq!(hit.language, "pt");
}

#[test]
fn a_misspelt_word_is_suggested_and_a_right_one_is_not() {
    let place = animals();
    assert_eq!(
        place.results("telhdao gato").suggestion.unwrap(),
        "telhado gato"
    );
    assert_eq!(
        place.results("licitasoes").suggestion.unwrap(),
        "licitações"
    );
    assert!(place.results("gato preto").suggestion.is_none());
}

#[test]
fn facets_count_all_matches_and_deep_pages_end_with_a_sentence() {
    let place = animals();
    let request = SearchRequest {
        facets: true,
        limit: 1,
        ..SearchRequest::new("casa dorme cidade")
    };
    let results = place.searcher().search(&request).unwrap();
    assert_eq!(results.total, 4);
    let site = results
        .facets
        .iter()
        .find(|facet| facet.name == "site")
        .unwrap();
    assert_eq!(
        site.counts,
        [("a.pt".to_owned(), 2), ("b.org".to_owned(), 2)]
    );
    assert!(
        results
            .facets
            .iter()
            .any(|facet| facet.name == "year" && facet.counts[0].0 == "2026")
    );

    let request = SearchRequest {
        offset: usize::MAX - 3,
        ..SearchRequest::new("casa")
    };
    let results = place.searcher().search(&request).unwrap();
    assert!(results.hits.is_empty());
    assert!(
        results.repairs[0]
            .to_string()
            .contains("only the first 10000 results")
    );
}

#[test]
fn rank_freshness_and_date_order_equal_pages() {
    let mut place = Place::new();
    for (number, (rank, day)) in [
        (0.0, "2020-01-01"),
        (1.0, "2019-01-01"),
        (0.0, "2026-01-01"),
    ]
    .iter()
    .enumerate()
    {
        let mut page = document(
            &format!("http://a.pt/{number}"),
            "Ponte",
            &format!(
                "uma ponte sobre o rio {}",
                ["Tejo", "Douro", "Minho"][number]
            ),
        );
        page.fetched = Timestamp::parse(day).unwrap();
        page.media_type = MediaType::parse("application/pdf");
        place
            .writer
            .add(
                &page,
                &Extras {
                    rank: *rank,
                    ..Extras::default()
                },
            )
            .unwrap();
    }
    place.writer.commit(1).unwrap();
    let searcher = place.searcher();
    let first = |request: SearchRequest| searcher.search(&request).unwrap().hits[0].url.clone();
    assert_eq!(first(SearchRequest::new("ponte rio")), "http://a.pt/1");
    let fresh = SearchRequest {
        fresh_at: Timestamp::parse("2026-01-02"),
        ..SearchRequest::new("ponte rio")
    };
    assert_eq!(first(fresh), "http://a.pt/2");
    assert_eq!(first(SearchRequest::new("type:pdf")), "http://a.pt/1");
    let latest = SearchRequest {
        sort: Sort::Date,
        ..SearchRequest::new("ponte rio type:pdf")
    };
    assert_eq!(first(latest), "http://a.pt/2");
}

#[test]
fn by_date_a_second_counts_and_what_is_found_does_not_depend_on_how_much_is_shown() {
    let mut place = Place::new();
    for second in [3, 1, 4, 0, 2] {
        let url = format!("http://a.pt/{second}");
        let text = format!("a ponte número {second} sobre o rio");
        let mut page = document(&url, "Ponte", &text);
        page.fetched = Timestamp::parse(&format!("2026-11-17T19:58:3{second}Z")).unwrap();
        place.writer.add(&page, &Extras::default()).unwrap();
    }
    place
        .writer
        .add(
            &document("http://a.pt/x", "Outra", "a torre e o mar"),
            &Extras::default(),
        )
        .unwrap();
    place.writer.commit(1).unwrap();
    let searcher = place.searcher();
    let by_date = SearchRequest {
        sort: Sort::Date,
        group_similar: false,
        ..SearchRequest::new("ponte")
    };
    let hits = searcher.search(&by_date).unwrap().hits;
    let urls: Vec<&str> = hits.iter().map(|hit| hit.url.as_str()).collect();
    let expected = [4, 3, 2, 1, 0].map(|second| format!("http://a.pt/{second}"));
    assert_eq!(urls, expected);
    assert!(hits[0].score < 1000.0, "{}", hits[0].score);
    // Small words alone lead nowhere while there is something else, on no page.
    for limit in [1, 100] {
        let request = SearchRequest {
            limit,
            ..SearchRequest::new("a ponte e o rio")
        };
        assert_eq!(searcher.search(&request).unwrap().total, 5, "{limit}");
    }
}

#[test]
fn several_indexes_are_one() {
    let (one, two) = (
        Place::with(&[
            ("http://a.pt/1", "Gato", "o gato preto"),
            ("http://a.pt/3", "Pato", "um pato"),
        ]),
        Place::with(&[("http://b.pt/2", "Gatos", "gato gato e mais gato no telhado")]),
    );
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("um", one.folder.path()).unwrap();
    searcher.open("dois", two.folder.path()).unwrap();
    let results = searcher.search(&SearchRequest::new("gato")).unwrap();
    assert_eq!(results.total, 2);
    let narrowed = SearchRequest {
        collections: vec!["dois".into()],
        ..SearchRequest::new("gato")
    };
    assert_eq!(
        searcher.search(&narrowed).unwrap().hits[0].collection,
        "dois"
    );
    assert_eq!(searcher.documents().unwrap(), 3);
}

#[test]
fn a_commit_is_seen_within_seconds() {
    let mut place = Place::with(&[("http://a.pt/1", "Gato", "o gato preto")]);
    let searcher = place.searcher();
    place
        .writer
        .add(
            &document("http://a.pt/2", "Pato", "o pato"),
            &Extras::default(),
        )
        .unwrap();
    place.writer.commit(2).unwrap();
    let began = Instant::now();
    while searcher.search(&SearchRequest::new("pato")).unwrap().total == 0 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn expansion_says_what_it_added_and_finds_more() {
    let mut place = Place::new();
    for number in 0..12 {
        let text = format!(
            "aquecimento solar painel fotovoltaico energia renovável {}",
            prose(number, 30)
        );
        place
            .writer
            .add(
                &document(&format!("http://a.pt/{number}"), "Solar", &text),
                &Extras::default(),
            )
            .unwrap();
    }
    let text = format!("energia renovável painel fotovoltaico {}", prose(50, 30));
    place
        .writer
        .add(
            &document("http://a.pt/sem", "Outra", &text),
            &Extras::default(),
        )
        .unwrap();
    place.writer.commit(1).unwrap();
    let request = SearchRequest {
        limit: 50,
        ..SearchRequest::new("aquecimento")
    };
    let searcher = place.searcher();
    assert_eq!(searcher.search(&request).unwrap().total, 12);
    let results = searcher
        .search(&SearchRequest {
            expand: true,
            ..request
        })
        .unwrap();
    assert_eq!(results.total, 13);
    assert!(
        results.added_words.contains(&"fotovoltaico".to_owned()),
        "{:?}",
        results.added_words
    );
}

#[test]
fn hostile_queries_end_soon() {
    let place = animals();
    let searcher = place.searcher();
    let began = Instant::now();
    for query in [
        "\"".repeat(100_000),
        "(".repeat(100_000),
        "casa OR ".repeat(20_000),
        "c* ".repeat(1_000),
        "\u{0}\u{1}\u{202e}".repeat(10_000),
        "-".repeat(5_000),
        format!("\"{}\"", "casa ".repeat(10_000)),
        "site:".to_owned() + &"a.".repeat(10_000),
        "after:99999999999999999999 before:-1".to_owned(),
        "😀 ¯\\_(ツ)_/¯ ':;DROP TABLE".to_owned(),
        String::new(),
    ] {
        let results = searcher.search(&SearchRequest::new(&query)).unwrap();
        assert!(results.hits.len() <= 10);
    }
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    for nothing in ["", "!!!", "🦊", "*"] {
        let results = searcher.search(&SearchRequest::new(nothing)).unwrap();
        assert_eq!(results.repairs, [Repair::Empty], "{nothing}");
    }
}

#[test]
fn a_rare_phrase_of_common_words_is_not_slow() {
    let mut place = Place::new();
    for number in 0..3_000 {
        let text = format!(
            "quero um café e não quero chá nem {} café que não quero",
            prose(number, 40)
        );
        place
            .writer
            .add(
                &document(&format!("http://a.pt/{number}"), "t", &text),
                &Extras::default(),
            )
            .unwrap();
    }
    place
        .writer
        .add(
            &document("http://a.pt/certo", "t", "já disse que quero café agora"),
            &Extras::default(),
        )
        .unwrap();
    place.writer.commit(1).unwrap();
    let searcher = place.searcher();
    let request = SearchRequest::new("\"quero café\"");
    let results = searcher.search(&request).unwrap();
    assert_eq!(results.total, 1);
    let began = Instant::now();
    for _ in 0..10 {
        searcher.search(&request).unwrap();
    }
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn what_is_hidden_is_in_no_result_no_count_and_no_facet() {
    let pages: Vec<(String, String)> = (0..30)
        .map(|n| {
            let host = if n % 3 == 0 { "x.example" } else { "y.example" };
            (
                format!("http://{host}/{n}"),
                format!("melro {}", prose(n, 80)),
            )
        })
        .collect();
    let mut place = Place::new();
    for (address, text) in &pages {
        place
            .writer
            .add(&document(address, "Ave", text), &Extras::default())
            .unwrap();
    }
    // The same text at a host that stays, and below a host of a similar name.
    for address in ["http://z.example/again", "http://www.x.example/other"] {
        let text = if address.contains("again") {
            pages[0].1.clone()
        } else {
            format!("melro {}", prose(99, 80))
        };
        place
            .writer
            .add(&document(address, "Ave", &text), &Extras::default())
            .unwrap();
    }
    place.writer.commit(1).unwrap();
    let searcher = place.searcher();
    let ask = |hidden: Hidden, offset: usize| {
        let mut request = SearchRequest::new("melro");
        request.facets = true;
        request.offset = offset;
        request.hidden = hidden.into();
        searcher.search(&request).unwrap()
    };
    assert_eq!(ask(Hidden::default(), 0).total, 31);
    let some = || Hidden::new(["http://y.example/1".to_owned()], ["x.example".to_owned()]);
    let results = ask(some(), 0);
    // Ten on x.example and one URL are gone; one of the ten has its text elsewhere.
    assert_eq!((results.total, results.hits.len()), (21, 10));
    let mut seen = Vec::new();
    for offset in [0, 10, 20] {
        seen.extend(ask(some(), offset).hits.into_iter().map(|hit| hit.url));
    }
    assert_eq!(seen.len(), 21, "pages are full, and the last one ends");
    assert!(seen.contains(&"http://z.example/again".to_owned()));
    assert!(seen.contains(&"http://www.x.example/other".to_owned()));
    assert!(!seen.iter().any(|url| url.starts_with("http://x.example/")));
    assert!(!seen.contains(&"http://y.example/1".to_owned()));
    let hosts = results.facets.iter().find(|facet| facet.name == "host");
    let of_y = hosts
        .unwrap()
        .counts
        .iter()
        .find(|(host, _)| host == "y.example");
    assert_eq!(of_y.unwrap().1, 19);
    // Another list is another answer, and without a list everything is back.
    assert_eq!(
        ask(Hidden::new(["http://y.example/1".to_owned()], []), 0).total,
        30
    );
    assert_eq!(ask(Hidden::default(), 0).total, 31);
}

#[test]
fn a_word_counts_the_same_however_it_is_walked_over() {
    // Rare, common and very common words, so that each way is taken for some of them.
    let mut place = Place::new();
    for number in 0..400_usize {
        let mut text = prose(number, 60);
        text.push_str(" comum ");
        if number % 2 == 0 {
            text.push_str("metade metades ");
        }
        if number % 97 == 0 {
            text.push_str("raro ");
        }
        let address = format!("http://a.pt/{number}");
        place
            .writer
            .add(
                &document(&address, "Um título comum", &text),
                &Extras::default(),
            )
            .unwrap();
    }
    place.writer.commit(1).unwrap();
    let searcher = place.searcher();
    let scores = |query: &str| {
        let mut request = SearchRequest::new(query);
        request.limit = 400;
        request.group_similar = false;
        let hits = searcher.search(&request).unwrap().hits;
        let scores = hits.into_iter().map(|hit| (hit.url, hit.score.to_bits()));
        scores.collect::<std::collections::BTreeMap<_, _>>()
    };
    // With a rare word that must be there the others are looked up; without, they are gathered.
    for others in ["comum", "metade", "comum metade"] {
        let (needed, free) = (
            scores(&format!("+raro {others}")),
            scores(&format!("raro {others}")),
        );
        assert_eq!(needed.len(), 5, "{others}");
        for (url, score) in needed {
            assert_eq!(free[&url], score, "{others}: {url}");
        }
    }
}

#[test]
fn a_page_of_ten_is_the_beginning_of_a_page_of_many_and_the_same_when_asked_again() {
    let mut place = Place::new();
    for number in 0..900_usize {
        // Two words in every page, nearer and farther apart, and some more often than others.
        let between = prose(number, number * 7 % 11);
        let times = 1 + number % 5;
        let text = format!(
            "{} {between} perto {}",
            "longe ".repeat(times),
            prose(number + 1, 30)
        );
        let page = document(&format!("http://a.pt/{number}"), "t", &text);
        place.writer.add(&page, &Extras::default()).unwrap();
        if number % 300 == 299 {
            place.writer.commit(1).unwrap();
        }
    }
    let searcher = place.searcher();
    for query in [
        "perto longe",
        "+longe +perto",
        "\"longe longe\" perto",
        "longe -babaco",
    ] {
        let ask = |limit: usize| {
            let request = SearchRequest {
                limit,
                group_similar: false,
                ..SearchRequest::new(query)
            };
            let hits = searcher.search(&request).unwrap().hits.into_iter();
            let hits = hits.map(|hit| (hit.url, hit.score.to_bits()));
            hits.take(10).collect::<Vec<_>>()
        };
        let first = ask(10);
        assert_eq!(first.len(), 10, "{query}");
        assert_eq!(first, ask(200), "{query}");
        assert_eq!(first, ask(10), "{query}");
    }
}
