//! The index as a follower: replaced, removed, restarted, rebuilt.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use shared::{Place, document, prose, url};
use teia_search::{Added, Extras, IndexConfig, SearchError, SearchRequest, Writer};

#[test]
fn a_new_version_replaces_the_old_and_a_removed_page_is_gone() {
    let mut place = Place::with(&[("http://a.pt/1", "Gato", "o gato preto")]);
    assert_eq!(place.found("gato"), ["1"]);
    place
        .writer
        .add(
            &document("http://a.pt/1", "Cão", "o cão branco"),
            &Extras::default(),
        )
        .unwrap();
    // Twice in one commit: the last one holds.
    place
        .writer
        .add(
            &document("http://a.pt/1", "Pato", "o pato branco"),
            &Extras::default(),
        )
        .unwrap();
    place.writer.commit(2).unwrap();
    assert!(place.found("gato").is_empty());
    assert!(place.found("cão").is_empty());
    assert_eq!(place.found("pato"), ["1"]);
    assert_eq!(place.searcher().documents().unwrap(), 1);
    place.writer.remove(&url("http://a.pt/1")).unwrap();
    place.writer.commit(3).unwrap();
    assert!(place.found("pato").is_empty());
}

#[test]
fn noindex_keeps_a_page_out_and_takes_it_out() {
    let mut place = Place::with(&[("http://a.pt/1", "Gato", "o gato preto")]);
    let mut page = document("http://a.pt/1", "Gato", "o gato preto");
    page.robots.noindex = true;
    assert_eq!(
        place.writer.add(&page, &Extras::default()).unwrap(),
        Added::Refused
    );
    page.robots.noindex = false;
    page.url = url("http://a.pt/2");
    let extras = Extras {
        noindex: true,
        ..Extras::default()
    };
    assert_eq!(place.writer.add(&page, &extras).unwrap(), Added::Refused);
    place.writer.commit(2).unwrap();
    assert!(place.found("gato").is_empty());
}

#[test]
fn a_restart_keeps_the_position_and_a_crash_loses_only_what_was_not_committed() {
    let mut place = Place::with(&[("http://a.pt/1", "Gato", "o gato preto")]);
    place.writer.commit(41).unwrap();
    place
        .writer
        .add(
            &document("http://a.pt/2", "Pato", "o pato"),
            &Extras::default(),
        )
        .unwrap();
    place.writer.remove(&url("http://a.pt/1")).unwrap();
    // Dropped without a commit: as after a crash.
    drop(place.writer);
    place.writer = Writer::open(place.folder.path(), IndexConfig::default()).unwrap();
    assert_eq!(place.writer.position(), 41);
    assert_eq!(place.found("gato"), ["1"]);
    assert!(place.found("pato").is_empty());
    // The replay adds it again, twice over: no matter.
    for _ in 0..2 {
        place
            .writer
            .add(
                &document("http://a.pt/2", "Pato", "o pato"),
                &Extras::default(),
            )
            .unwrap();
    }
    place.writer.commit(42).unwrap();
    assert_eq!(place.found("pato"), ["2"]);
    assert_eq!(place.searcher().documents().unwrap(), 2);
}

#[test]
fn the_pending_bound_commits_at_the_old_position() {
    let folder = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        max_pending: 5,
        ..IndexConfig::default()
    };
    let mut writer = Writer::open(folder.path(), config).unwrap();
    writer.commit(9).unwrap();
    for number in 0..20 {
        let page = document(&format!("http://a.pt/{number}"), "t", &prose(number, 20));
        writer.add(&page, &Extras::default()).unwrap();
        assert!(writer.pending() <= 5);
    }
    assert_eq!(writer.position(), 9);
}

#[test]
fn texts_that_wait_to_be_indexed_have_a_bound_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        max_pending_bytes: 3_000,
        ..IndexConfig::default()
    };
    let mut writer = Writer::open(folder.path(), config).unwrap();
    let mut most = 0;
    for number in 0..20 {
        let text = format!("{number} {}", "palavra ".repeat(125));
        let page = document(&format!("http://a.pt/{number}"), "t", &text);
        writer.add(&page, &Extras::default()).unwrap();
        most = most.max(writer.pending());
    }
    assert_eq!(most, 3, "of a thousand bytes each");
}

/// A page that calls another address the right one is kept until the next commit: that address may come.
#[test]
fn pages_that_name_another_address_wait_in_less_memory() {
    let folder = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        max_pending_bytes: 16_000,
        ..IndexConfig::default()
    };
    let mut writer = Writer::open(folder.path(), config).unwrap();
    let (mut most, mut most_plain) = (0, 0);
    for number in 0..40 {
        let text = format!("{number} {}", "palavra ".repeat(125));
        let page = document(&format!("http://a.pt/{number}"), "t", &text);
        let canonical = (number < 20).then(|| url(&format!("http://a.pt/right/{number}")));
        let extras = Extras {
            canonical,
            ..Extras::default()
        };
        writer.add(&page, &extras).unwrap();
        if number < 20 {
            most = most.max(writer.pending());
        } else {
            most_plain = most_plain.max(writer.pending());
        }
    }
    assert_eq!((most, most_plain), (2, 16), "of a thousand bytes each");
}

/// HTML-17: a canonical of the same site is shown in place of the page that names it, once it is there with the same
/// text; one of another site, a loop and a chain change nothing.
#[test]
fn a_page_stands_behind_the_address_that_it_calls_the_right_one() {
    let text = "O melro canta, de manhã, no jardim da cidade.";
    // What each page calls right, in the order in which they come, and what is shown.
    let cases: [(&[(&str, &str)], &str); 7] = [
        (
            &[
                ("http://a.pt/x?s=1", "http://a.pt/x"),
                ("http://a.pt/x", ""),
            ],
            "http://a.pt/x",
        ),
        (
            &[
                ("http://a.pt/x", ""),
                ("http://a.pt/x?s=1", "http://a.pt/x"),
            ],
            "http://a.pt/x",
        ),
        (
            &[
                ("http://m.a.pt/x", "http://www.a.pt/x"),
                ("http://www.a.pt/x", "http://www.a.pt/x"),
            ],
            "http://www.a.pt/x",
        ),
        (
            &[("http://a.pt/x", "http://b.pt/x"), ("http://b.pt/x", "")],
            "http://a.pt/x",
        ),
        (
            &[
                ("http://a.pt/1", "http://a.pt/2"),
                ("http://a.pt/2", "http://a.pt/1"),
            ],
            "http://a.pt/1",
        ),
        (
            &[
                ("http://a.pt/1", "http://a.pt/2"),
                ("http://a.pt/2", "http://a.pt/3"),
                ("http://a.pt/3", ""),
            ],
            "http://a.pt/1",
        ),
        (
            &[
                ("http://a.pt/1", "http://a.pt/nowhere"),
                ("http://a.pt/2", ""),
            ],
            "http://a.pt/1",
        ),
    ];
    for commits_between in [false, true] {
        for (pages, shown) in cases {
            let mut place = Place::new();
            let mut position = 0;
            for (address, canonical) in pages {
                let extras = Extras {
                    canonical: (!canonical.is_empty()).then(|| url(canonical)),
                    ..Extras::default()
                };
                place
                    .writer
                    .add(&document(address, "Melro", text), &extras)
                    .unwrap();
                if commits_between {
                    position += 1;
                    place.writer.commit(position).unwrap();
                }
            }
            place.writer.commit(position + 1).unwrap();
            let results = place.results("melro");
            let found: Vec<&str> = results.hits.iter().map(|hit| hit.url.as_str()).collect();
            assert_eq!(found, [shown], "{pages:?}");
            assert_eq!(
                results.hits[0].other_addresses.len(),
                pages.len() - 1,
                "{pages:?}"
            );
            // Another text there, or none at all, and who named it is shown again.
            if shown != pages[0].0 {
                place.writer.remove(&url(shown)).unwrap();
                place.writer.commit(position + 2).unwrap();
                let found = place.results("melro");
                assert_eq!(found.hits[0].url.as_str(), pages[0].0);
            }
        }
    }
}

#[test]
fn the_same_text_is_indexed_once_and_its_other_addresses_are_listed() {
    let mut place = Place::new();
    let text = "O melro canta, de manhã, no jardim da cidade.";
    let add = |place: &mut Place, address: &str, text: &str| {
        place
            .writer
            .add(&document(address, "Melro", text), &Extras::default())
            .unwrap()
    };
    assert_eq!(add(&mut place, "http://a.pt/1", text), Added::Indexed);
    assert_eq!(
        add(&mut place, "http://b.pt/2", &text.to_uppercase()),
        Added::Duplicate
    );
    place.writer.commit(1).unwrap();
    assert_eq!(add(&mut place, "http://c.pt/3", text), Added::Duplicate);
    place.writer.commit(2).unwrap();
    let results = place.results("melro");
    assert_eq!(results.total, 1);
    assert_eq!(results.hits[0].url, "http://a.pt/1");
    assert_eq!(
        results.hits[0].other_addresses,
        ["http://b.pt/2", "http://c.pt/3"]
    );

    // The first one changes: the text stays findable at another address.
    assert_eq!(
        add(&mut place, "http://a.pt/1", "Outra coisa: o pardal"),
        Added::Indexed
    );
    place.writer.commit(3).unwrap();
    let results = place.results("canta");
    assert_eq!(results.hits[0].url, "http://b.pt/2");
    assert_eq!(results.hits[0].other_addresses, ["http://c.pt/3"]);
    place.writer.remove(&url("http://b.pt/2")).unwrap();
    place.writer.commit(4).unwrap();
    assert_eq!(place.results("canta").hits[0].url, "http://c.pt/3");
    place.writer.remove(&url("http://c.pt/3")).unwrap();
    place.writer.commit(5).unwrap();
    assert!(place.found("canta").is_empty());
}

#[test]
fn near_duplicates_stand_behind_the_best_one() {
    let mut place = Place::new();
    let text = prose(1, 800);
    for (number, end) in ["", " visita 17", " visita 18"].iter().enumerate() {
        let page = document(
            &format!("http://a.pt/{number}"),
            "Notícia",
            &format!("{text}{end}"),
        );
        place.writer.add(&page, &Extras::default()).unwrap();
    }
    place
        .writer
        .add(
            &document("http://a.pt/9", "Notícia", &prose(2, 800)),
            &Extras::default(),
        )
        .unwrap();
    place.writer.commit(1).unwrap();
    let results = place.results("notícia");
    assert_eq!(results.total, 4);
    assert_eq!(results.hits.len(), 2);
    let mut similar: Vec<_> = results.hits.iter().map(|hit| hit.similar).collect();
    similar.sort_unstable();
    assert_eq!(similar, [0, 2]);
    let request = SearchRequest {
        group_similar: false,
        ..SearchRequest::new("notícia")
    };
    assert_eq!(place.searcher().search(&request).unwrap().hits.len(), 4);
}

#[test]
fn anchors_and_rank_can_be_given_later() {
    let mut place = Place::with(&[
        ("http://a.pt/1", "Início", "bem vindo"),
        ("http://a.pt/2", "Fim", "adeus e bem haja"),
    ]);
    assert!(place.found("mercearia").is_empty());
    let anchors = ["a melhor mercearia".to_owned()];
    assert!(
        place
            .writer
            .update(&url("http://a.pt/1"), &anchors, 0.9)
            .unwrap()
    );
    assert!(
        !place
            .writer
            .update(&url("http://a.pt/404"), &anchors, 0.9)
            .unwrap()
    );
    place.writer.commit(2).unwrap();
    let results = place.results("mercearia");
    assert_eq!(results.hits[0].url, "http://a.pt/1");
    assert!((results.hits[0].rank - 0.9).abs() < 1e-6);
    assert_eq!(place.found("bem").first().unwrap(), "1");
}

#[test]
fn newer_anchors_replace_the_older_and_leave_with_their_page() {
    let mut place = Place::with(&[
        ("http://a.pt/1", "Início", "bem vindo ao largo"),
        ("http://a.pt/2", "Fim", "adeus e bem haja"),
        ("http://b.pt/3", "Outro", "adeus e bem haja"),
    ]);
    let mut give = |address: &str, anchor: &str, rank: f32| {
        let anchors = [anchor.to_owned()];
        assert!(place.writer.update(&url(address), &anchors, rank).unwrap());
        place.writer.commit(2).unwrap();
    };
    give("http://a.pt/1", "a velha mercearia", 0.1);
    give("http://a.pt/1", "a nova mercearia do largo", 0.2);
    give("http://a.pt/2", "despedida", 0.3);
    give("http://b.pt/3", "saudades", 0.4);
    assert!(place.found("velha").is_empty());
    assert_eq!(place.found("\"nova mercearia\""), ["1"]);
    assert!(place.found("\"mercearia nova\"").is_empty());
    // One word in the text and one in what others say of it.
    assert_eq!(place.found("+vindo +mercearia"), ["1"]);
    assert_eq!(place.found("largo -mercearia"), Vec::<String>::new());
    assert_eq!(place.found("merc*"), ["1"]);
    assert_eq!(place.searcher().collections(), [("test".to_owned(), 3)]);
    // The same text at another address: what is said of that one does not count for this one.
    assert!(place.found("saudades").is_empty());
    place.writer.remove(&url("http://a.pt/2")).unwrap();
    place.writer.remove(&url("http://a.pt/1")).unwrap();
    place.writer.commit(3).unwrap();
    assert!(place.found("mercearia").is_empty());
    assert!(place.found("despedida").is_empty());
    let results = place.results("saudades");
    assert_eq!(results.hits[0].url, "http://b.pt/3");
    assert!((results.hits[0].rank - 0.4).abs() < 1e-6);
    // Added again without any: nobody says anything of it.
    let page = document("http://b.pt/3", "Outro", "um texto novo");
    place.writer.add(&page, &Extras::default()).unwrap();
    place.writer.commit(4).unwrap();
    assert!(place.found("saudades").is_empty());
    assert_eq!(place.found("novo"), ["3"]);
    assert_eq!(place.searcher().collections(), [("test".to_owned(), 1)]);
}

/// What is said of a page in a round.
fn said(number: usize, round: usize) -> (Vec<String>, f32) {
    let anchors = (0..number % 4).map(|at| prose(number * 1000 + at * 100 + round, 3));
    (anchors.collect(), (number % 7) as f32 / 8.0)
}

#[test]
fn a_rebuild_gives_the_same_top_ten() {
    // Ten rounds of change, with commits between, beside one straight build of the last state.
    let mut changed = Place::new();
    for round in 0..10 {
        for number in 0..60 {
            if number % 10 <= round {
                let page = document(
                    &format!("http://a.pt/{number}"),
                    "t",
                    &prose(number * 100 + round, 80),
                );
                changed.writer.add(&page, &Extras::default()).unwrap();
            }
        }
        changed
            .writer
            .commit(u64::try_from(round).unwrap())
            .unwrap();
        for number in 0..60 {
            let (anchors, rank) = said(number, round);
            let address = url(&format!("http://a.pt/{number}"));
            changed.writer.update(&address, &anchors, rank).unwrap();
        }
        let position = changed.writer.position();
        changed.writer.commit(position).unwrap();
    }
    let mut rebuilt = Place::new();
    for number in (0..60).rev() {
        let page = document(
            &format!("http://a.pt/{number}"),
            "t",
            &prose(number * 100 + 9, 80),
        );
        let (anchors, rank) = said(number, 9);
        let extras = Extras {
            anchors,
            rank,
            ..Extras::default()
        };
        rebuilt.writer.add(&page, &extras).unwrap();
    }
    rebuilt.writer.commit(1).unwrap();
    let (before, after) = (changed.searcher(), rebuilt.searcher());
    let mut found = 0;
    for seed in 0..200 {
        let mut query = prose((seed % 60) * 100 + 9, 1 + seed % 5);
        if seed % 3 == 0 {
            query.push_str(said(seed % 60, 9).0.first().map_or("", String::as_str));
        }
        let ask = |searcher: &teia_search::Searcher| {
            let results = searcher.search(&SearchRequest::new(&query)).unwrap();
            results
                .hits
                .into_iter()
                .map(|hit| (hit.url, hit.score.to_bits()))
                .collect::<Vec<_>>()
        };
        let (before, after) = (ask(&before), ask(&after));
        assert_eq!(before, after, "{query}");
        found += after.len();
    }
    assert!(found > 200);
}

#[test]
fn an_index_of_another_format_is_refused() {
    let place = Place::with(&[]);
    let meta = place.folder.path().join("meta.json");
    let text = std::fs::read_to_string(&meta)
        .unwrap()
        .replace("teia-index-3", "teia-index-1");
    drop(place.writer);
    std::fs::write(&meta, text).unwrap();
    let error = Writer::open(place.folder.path(), IndexConfig::default()).unwrap_err();
    assert!(matches!(error, SearchError::Format { .. }), "{error}");
}
