//! The catalog beside the real program: what it holds is what the journal says, in SQLite and in
//! PostgreSQL, across kills and outages.
//!
//! `TEIA_SEED=N` replays the moments of a failure.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

#[path = "../../catalog/tests/support/postgres.rs"]
mod postgres;
#[path = "../../catalog/tests/support/questions.rs"]
mod questions;
mod support;

use std::time::Duration;

use postgres::Postgres;
use questions::{assert_same_answers, everything, postgres_store};
use support::{Draw, Home, crawl, from_environment, until};
use teia_catalog::{Identity, Reader, Store, StoreUrl};
use teia_engine::{Directory, rebuild_catalog};
use teia_testweb::{Listen, Server, WebConfig};

fn web(seed: u64) -> Server {
    let config = WebConfig {
        seed,
        hosts: 4,
        pages_per_host: 40,
        redirects: 2,
        missing: 2,
        flaky: 1,
        copies: 1,
        queries: true,
        ..WebConfig::default()
    };
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

fn sqlite(home: &Home) -> Store {
    Store::Sqlite(home.data().join("teia.db"))
}

/// The catalog of the collection, written from its journal into another database.
fn anew(home: &Home, store: &Store) {
    let reading = home.reading();
    let key = Directory::open(home.data()).unwrap().key();
    let (files, layout) = (reading.files(), reading.layout());
    rebuild_catalog(&files, layout, key, store.clone(), |_, _| {}).unwrap();
}

/// How far the journal is, and how far the catalog.
fn positions(home: &Home, store: &Store) -> (u64, u64) {
    let mut last = 0;
    let reading = home.reading();
    reading.entries(|entry| last = entry.sequence).unwrap();
    let key = Directory::open(home.data()).unwrap().key();
    let known = Reader::open(store)
        .ok()
        .flatten()
        .and_then(|mut reader| reader.find(&Identity::new(key, "default")).ok()?);
    (last, known.map_or(0, |known| known.position.entry))
}

/// The catalog has everything, as any other written from that journal has it.
#[track_caller]
fn assert_whole(home: &Home, store: &Store, other: &Store) {
    let (journal, catalog) = positions(home, store);
    assert_eq!(journal, catalog, "the last entry");
    anew(home, other);
    assert_same_answers(store, other);
}

/// Runs a crawl to its end with so many kills on the way.
fn run_with_kills(home: &Home, first: &[String], kills: u32, draw: &mut Draw) {
    let mut made = 0;
    let mut ended = None;
    while ended.is_none() {
        let mut running = if made == 0 {
            home.start(first)
        } else {
            home.start(&["resume"])
        };
        let most = if made < kills {
            Duration::from_millis(draw.between(300, 1200))
        } else {
            Duration::from_secs(60)
        };
        ended = running.ends_within(most);
        if ended.is_none() {
            assert!(made < kills, "still running: {}", running.said());
            made += 1;
            running.kill();
        }
    }
    println!("{made} kills");
    assert_eq!(ended.unwrap().code(), Some(0));
}

#[test]
fn killed_again_and_again_the_catalog_is_what_the_journal_says() {
    let seed = from_environment("TEIA_SEED").unwrap_or_else(|| std::process::id().into());
    println!("seed {seed}");
    let mut draw = Draw(seed);
    let postgres = Postgres::start("the catalog in a kill loop");
    // Written live to the one, and from the journal to the other.
    let server = web(draw.next());
    let home = Home::new();
    let first = crawl(&home, &server, "30ms", &[]);
    run_with_kills(&home, &first, 5, &mut draw);
    let other = match &postgres {
        Some(postgres) => postgres_store(&postgres.url()),
        None => Store::Sqlite(home.beside("other.db")),
    };
    assert_whole(&home, &sqlite(&home), &other);
    let Some(postgres) = postgres else { return };
    // And the other way round.
    let home = Home::new();
    let url = postgres.url().replace("/postgres?", "/template1?");
    let first = crawl(&home, &server, "30ms", &["--catalog", &url]);
    run_with_kills(&home, &first, 5, &mut draw);
    assert!(!home.data().join("teia.db").exists());
    let other = Store::Sqlite(home.beside("other.db"));
    assert_whole(&home, &postgres_store(&url), &other);
}

#[test]
fn postgresql_may_be_away_and_the_crawl_does_not_mind() {
    let Some(mut postgres) = Postgres::start("an outage of the catalog") else {
        return;
    };
    let server = web(7);
    let home = Home::new();
    let (url, store) = (postgres.url(), postgres_store(&postgres.url()));
    // Away from the beginning: the crawl goes on, and the catalog comes after it.
    postgres.cut();
    let mut running = home.start(&crawl(&home, &server, "300ms", &["--catalog", &url]));
    until("a warning", || running.said().contains("it is tried again"));
    let requests = server.log().entries.len();
    until("more requests", || {
        server.log().entries.len() > requests + 20
    });
    postgres.run();
    until("the catalog to catch up", || positions(&home, &store).1 > 0);
    // Away again, and not back before the end.
    postgres.cut();
    let ended = running.ends_within(Duration::from_secs(60));
    assert_eq!(
        ended.and_then(|status| status.code()),
        Some(0),
        "{}",
        running.said()
    );
    let said = running.said();
    assert!(
        said.contains("the catalog of default stays where it is"),
        "{said}"
    );
    assert!(said.contains("the next run goes on with it"), "{said}");
    postgres.run();
    let (journal, catalog) = positions(&home, &store);
    assert!(catalog < journal, "{catalog} of {journal}");
    assert_eq!(home.run(&["resume"]).code, Some(0));
    assert_whole(&home, &store, &Store::Sqlite(home.beside("other.db")));
}

#[test]
fn what_is_lost_damaged_or_of_another_journal_is_written_anew() {
    let server = web(3);
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &[]));
    let (store, path) = (sqlite(&home), home.data().join("teia.db"));
    let whole = everything(&store);
    // Lost.
    std::fs::remove_file(&path).unwrap();
    let said = home.good(&["catalog", "rebuild"]);
    assert!(said.contains("was written anew"), "{said}");
    assert_eq!(everything(&store), whole);
    // Damaged.
    std::fs::write(&path, vec![b'x'; 100_000]).unwrap();
    let ended = home.run(&["resume"]);
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.err.contains("it is built anew from the journal"),
        "{}",
        ended.err
    );
    assert_whole(&home, &store, &Store::Sqlite(home.beside("other.db")));
    // Of another journal with the same name, which has as many entries.
    let key = Directory::open(home.data()).unwrap().key();
    std::fs::remove_dir_all(home.data().join("default")).unwrap();
    let before = positions_in(&store, key);
    home.good(&crawl(&home, &server, "0s", &["--no-catalog"]));
    while positions(&home, &store).0 < before {
        home.good(&["resume", "--no-catalog"]);
    }
    let ended = home.run(&["resume", "--catalog", "sqlite"]);
    assert!(
        ended.err.contains("is not the one that the journal has"),
        "{}",
        ended.err
    );
    assert_whole(&home, &store, &Store::Sqlite(home.beside("third.db")));
}

fn positions_in(store: &Store, key: u64) -> u64 {
    let mut reader = Reader::open(store).unwrap().unwrap();
    let known = reader.find(&Identity::new(key, "default")).unwrap();
    known.unwrap().position.entry
}

#[test]
fn where_it_lies_stays_with_the_collection_and_its_password_does_not() {
    let server = web(4);
    let home = Home::new();
    let url = "postgres://ann:s3cret@127.0.0.1:1/none";
    let mut arguments = crawl(&home, &server, "0s", &["--max-pages", "3"]);
    arguments.extend(["--catalog".to_owned(), url.to_owned()]);
    let ended = home.run(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.err.contains("postgres://ann@127.0.0.1:1/none"),
        "{}",
        ended.err
    );
    let stored = std::fs::read_to_string(home.data().join("collections/default.toml")).unwrap();
    assert!(
        stored.contains("url = \"postgres://ann@127.0.0.1:1/none\""),
        "{stored}"
    );
    for text in [ended.err.as_str(), &stored] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    let mut journal = Vec::new();
    home.reading()
        .entries(|entry| journal.push(format!("{entry:?}")))
        .unwrap();
    assert!(!journal.concat().contains("s3cret"));
    // In a file it is refused, and not repeated.
    let file = home.write("secret.toml", &format!("[catalog]\nurl = \"{url}\"\n"));
    let refused = home.run(&["crawl", "--config", &file, "example.org"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("TEIA_CATALOG_PASSWORD"),
        "{}",
        refused.err
    );
    assert!(!refused.err.contains("s3cret"), "{}", refused.err);
    // And what is no address says what one looks like.
    let refused = home.run(&["crawl", "--catalog", "mysql://h/db", "example.org"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("postgres://USER@HOST/DATABASE"),
        "{}",
        refused.err
    );
    StoreUrl::parse(url).unwrap();
}
