//! Questions that any two catalogs of the same journal answer alike.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use teia_catalog::{Reader, Row, Store, StoreUrl};

/// Every column of every table, and of the views what both databases spell the same way.
const QUESTIONS: [&str; 9] = [
    "SELECT directory, name, position, position_at, options FROM collection ORDER BY directory, name",
    "SELECT number, name, meaning, retry FROM outcome WHERE number IN (SELECT outcome FROM attempt) ORDER BY number",
    "SELECT c.directory, c.name, number, started_at, last_at, ended, is_paused, version, seeds, active_micros, fetched, errors, bytes, requests, robots_requests, duplicates, admitted FROM run JOIN collection c ON c.id = collection ORDER BY 1, 2, 3",
    "SELECT c.directory, c.name, run, minute, fetched, errors, bytes, requests, robots_requests, admitted FROM minute JOIN collection c ON c.id = collection ORDER BY 1, 2, 3, 4",
    "SELECT c.directory, c.name, host, admitted, fetched, errors, bytes, requests, answered, answer_micros, first_at, last_at FROM host JOIN collection c ON c.id = collection ORDER BY 1, 2, 3",
    "SELECT directory, collection, url, host, extension, is_dynamic, depth, run, outcome, outcome_name, meaning, detail, next, visit, attempts, media_type, wire_bytes, body_bytes, payload_sha1, text_digest, language, title, capture, is_kept, is_duplicate, url_name FROM documents ORDER BY 1, 2, 3",
    "SELECT first_at, last_at, fetched_at, url FROM document ORDER BY url, collection",
    "SELECT directory, collection, journal_entry, place, run, url, host, outcome, outcome_name, meaning, detail, visit, try_number, is_robots, is_request, is_answered, next, flags, remote, protocol, media_type, wire_bytes, body_bytes, dns_micros, connect_micros, tls_micros, first_byte_micros, body_micros, capture FROM attempts ORDER BY 1, 2, 3, 4",
    "SELECT journal_entry, place, outcome FROM errors ORDER BY 1, 2",
];

/// Moments in views, as both can be made to spell them.
const MOMENTS: [(&str, &str); 2] = [
    (
        "SELECT url, first_at, fetched_at FROM documents ORDER BY url",
        "SELECT url, to_char(first_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), to_char(fetched_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM documents ORDER BY url",
    ),
    (
        "SELECT minute, run FROM minutes ORDER BY 1",
        "SELECT to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), run FROM minutes ORDER BY 1",
    ),
];

/// Everything that a catalog says.
pub(crate) fn everything(store: &Store) -> Vec<Vec<Row>> {
    let mut reader = Reader::open(store).unwrap().expect("a catalog");
    let moments = MOMENTS.iter().map(|(sqlite, postgres)| match store {
        Store::Sqlite(_) => *sqlite,
        Store::Postgres(_) => *postgres,
    });
    let questions = QUESTIONS.iter().copied().chain(moments);
    questions
        .map(|question| {
            let answer = reader.ask(question);
            answer.unwrap_or_else(|error| panic!("{question}: {error:?}"))
        })
        .collect()
}

/// Two catalogs say the same.
#[track_caller]
pub(crate) fn assert_same_answers(one: &Store, other: &Store) {
    let (first, second) = (everything(one), everything(other));
    for (number, (first, second)) in first.iter().zip(&second).enumerate() {
        let differing: Vec<_> = first
            .iter()
            .zip(second)
            .filter(|(first, second)| first != second)
            .take(5)
            .collect();
        assert!(
            differing.is_empty() && first.len() == second.len(),
            "question {number}: {} rows in {one}, {} in {other}; {differing:#?}",
            first.len(),
            second.len()
        );
    }
}

pub(crate) fn postgres_store(url: &str) -> Store {
    Store::Postgres(StoreUrl::parse(url).unwrap())
}
