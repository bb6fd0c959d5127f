//! SQLite and PostgreSQL hold the same rows and give the same answers, whatever the journal brings.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

#[path = "support/cut_proxy.rs"]
mod cut_proxy;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/questions.rs"]
mod questions;

use std::time::Duration;

use cut_proxy::CutProxy;
use postgres::Postgres;
use questions::{assert_same_answers, everything, postgres_store};
use teia_base::journal::{
    Added, Attempt, Commit, Entry, LinkRecord, LinkVerdict, Next, Record, RunEnded, RunStarted,
    SeedRecord,
};
use teia_base::{
    CaptureId, Flags, FoundUrl, LinkKind, NormalForm, Outcome, Protocol, Rel, Timestamp,
};
use teia_catalog::{
    Beside, Catalog, CatalogError, Cell, HostOrder, Identity, Reader, Store, statistics,
};

const START: i64 = 1_900_000_000_123_456;

fn url(text: &str) -> FoundUrl {
    NormalForm::default().parse(text).unwrap()
}

/// A journal as it grows.
#[derive(Default)]
struct Journal {
    entries: Vec<Entry>,
    run: u32,
    seconds: i64,
}

impl Journal {
    fn push(&mut self, record: Record) {
        self.seconds += 7;
        self.entries.push(Entry {
            sequence: self.entries.len() as u64 + 1,
            wall: self.now(),
            run: self.run,
            record,
        });
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_micros(START + self.seconds * 1_000_000)
    }

    fn begin(&mut self, seeds: &[&str]) {
        let seed = |text: &&str| SeedRecord {
            url: url(text),
            fallback_http: false,
            verdict: LinkVerdict::New,
        };
        self.push(Record::RunStarted(RunStarted {
            options: format!("# run {}\0", self.run),
            seeds: seeds.iter().map(seed).collect(),
            version: "1".to_owned(),
        }));
    }

    fn end(&mut self, reason: &str) {
        let reason = reason.to_owned();
        self.push(Record::RunEnded(RunEnded { reason }));
    }

    fn commit(&mut self, attempts: Vec<Attempt>) {
        self.push(Record::Commit(Commit {
            attempts,
            ..Commit::default()
        }));
    }

    fn page(&self, text: &str, links: &[&str]) -> Attempt {
        let mut attempt = Attempt::new(url(text), self.now(), Outcome::http(200));
        attempt.answered = true;
        attempt.remote = Some("127.0.0.1:80".parse().unwrap());
        attempt.protocol = Protocol::Http11;
        attempt.media_type = Some("text/html".to_owned());
        attempt.wire_bytes = 2500;
        attempt.body_bytes = 2000;
        attempt.depth = 1;
        attempt.payload_sha1 = Some([7; 20]);
        attempt.text_digest = Some(u128::MAX - 1);
        attempt.title = format!("Página “{text}”");
        attempt.language = Some("pt".to_owned());
        attempt.capture = Some(CaptureId(9));
        attempt.times.first_byte = Duration::from_micros(1500);
        attempt.links = links.iter().map(|to| link(to)).collect();
        attempt
    }

    fn failure(&self, text: &str, outcome: Outcome, next: Next) -> Attempt {
        let mut attempt = Attempt::new(url(text), self.now(), outcome);
        attempt.answered = outcome.is_answered();
        attempt.detail = Some("because".to_owned());
        attempt.next = next;
        attempt
    }
}

fn link(to: &str) -> LinkRecord {
    LinkRecord {
        url: url(to),
        kind: LinkKind::Anchor,
        rel: Rel::default(),
        anchor: String::new(),
        last_modified: None,
        depth: 2,
        requisite: false,
        chain: None,
        verdict: LinkVerdict::New,
    }
}

/// Two runs with a pause, retries, a revisit, robots.txt, URLs added by hand, and what is hostile.
fn journal() -> Journal {
    let mut journal = Journal {
        run: 1,
        ..Journal::default()
    };
    journal.begin(&["http://a.example/", "http://b.example/"]);
    let robots = journal.failure(
        "http://a.example/robots.txt",
        Outcome::http(404),
        Next::Robots,
    );
    let later = Next::RetryAt(Timestamp::from_micros(START + 60_000_000));
    journal.commit(vec![
        robots,
        journal.page(
            "http://a.example/",
            &["http://a.example/x.PDF", "http://c.example/?q=1"],
        ),
        journal.failure("http://b.example/", Outcome::CONNECT_REFUSED, later),
    ]);
    journal.push(Record::Paused);
    journal.seconds += 3600;
    journal.push(Record::Resumed);
    let mut pdf = journal.page("http://a.example/x.PDF", &[]);
    pdf.media_type = Some("application/pdf".to_owned());
    pdf.body_bytes = 10_000;
    (pdf.language, pdf.text_digest, pdf.title) = (None, None, "nul \0 byte".to_owned());
    pdf.flags = Flags::NOT_KEPT;
    journal.commit(vec![
        pdf,
        journal.failure("http://b.example/", Outcome::CONNECT_REFUSED, Next::Failed),
        journal.failure(
            "http://a.example/secret",
            Outcome::ROBOTS_DISALLOWED,
            Next::Done,
        ),
        journal.failure(
            "http://a.example/later",
            Outcome::ROBOTS_UNREACHABLE,
            Next::Waiting,
        ),
    ]);
    journal.end("done");
    journal.push(Record::Added(Added {
        urls: vec![(url("http://d.example/"), LinkVerdict::New)],
    }));
    journal.seconds += 86_400;
    journal.run = 2;
    journal.begin(&[]);
    let mut second = journal.page("http://c.example/?q=1", &[]);
    second.capture = Some(CaptureId(u64::MAX));
    let long = format!("http://{}.example/{}", "h".repeat(3000), "p".repeat(60_000));
    journal.commit(vec![
        // A page that was there is gone, and one that answered twice in one batch.
        journal.failure("http://a.example/", Outcome::http(404), Next::Done),
        second,
        journal.failure("http://c.example/?q=1", Outcome::http(304), Next::Done),
        journal.page(&long, &[&long]),
    ]);
    journal
}

fn identity() -> Identity {
    Identity::new(0xfeed, "birds")
}

/// Follows with a commit after so many entries, and a new connection after each commit.
fn follow(store: &Store, identity: &Identity, entries: &[Entry], every: usize) {
    for entries in entries.chunks(every) {
        let mut catalog = Catalog::open(store, identity).unwrap();
        for entry in entries {
            assert_eq!(catalog.position().entry + 1, entries[0].sequence);
            catalog.apply(entry).unwrap();
        }
        catalog.commit().unwrap();
        let last = entries.last().unwrap();
        assert_eq!(catalog.position().entry, last.sequence);
        assert_eq!(catalog.position().at, last.wall);
    }
}

/// The connection ends at a commit, and nobody knows whether it happened: it is asked where the catalog is, and
/// followed from there.
#[test]
fn a_commit_whose_result_is_unknown_counts_nothing_twice_and_loses_nothing() {
    let Some(server) = Postgres::start("a commit without a result") else {
        return;
    };
    let proxy = CutProxy::start(server.folder());
    let folder = tempfile::tempdir().unwrap();
    let journal = journal();
    let whole = Store::Sqlite(folder.path().join("whole"));
    follow(&whole, &identity(), &journal.entries, 1000);
    let store = postgres_store(&proxy.url());
    let mut failed = 0;
    loop {
        assert!(failed < 200, "it never gets on");
        let Ok(mut catalog) = Catalog::open(&store, &identity()) else {
            failed += 1;
            continue;
        };
        let done = usize::try_from(catalog.position().entry).unwrap();
        let Some(entry) = journal.entries.get(done) else {
            break;
        };
        let followed = catalog.apply(entry).and_then(|()| catalog.commit());
        failed += usize::from(followed.is_err());
    }
    assert!(failed >= 3, "{failed} of {} commits", proxy.commits());
    assert_same_answers(&whole, &postgres_store(&server.url()));
}

#[test]
fn however_it_is_cut_into_transactions_sqlite_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal();
    let store = |name: &str| Store::Sqlite(folder.path().join(name));
    follow(&store("whole"), &identity(), &journal.entries, 1000);
    assert_as_the_manual_says(&store("whole"));
    for every in [1, 2, 3] {
        let parts = store(&format!("parts-{every}"));
        follow(&parts, &identity(), &journal.entries, every);
        assert_same_answers(&store("whole"), &parts);
    }
}

/// An erasure writes a commit that only says where the archive goes on; a day later, here.
#[test]
fn an_erasure_makes_no_run_longer() {
    let folder = tempfile::tempdir().unwrap();
    for (ended, every) in [(true, 1), (true, 1000), (false, 1), (false, 1000)] {
        let mut journal = Journal {
            run: 1,
            ..Journal::default()
        };
        journal.begin(&["http://a.example/"]);
        journal.commit(vec![journal.page("http://a.example/", &[])]);
        if ended {
            journal.end("done");
        }
        let told = |name: &str, entries: &[Entry]| {
            let store = Store::Sqlite(folder.path().join(format!("{name}-{ended}-{every}")));
            follow(&store, &identity(), entries, every);
            let mut reader = Reader::open(&store).unwrap().unwrap();
            let question = "SELECT number, started_at, last_at, ended, active_seconds FROM runs";
            reader.ask(question).unwrap()
        };
        let before = told("before", &journal.entries);
        let active = if ended { "14" } else { "7" };
        assert_eq!(before[0][4].as_deref(), Some(active));
        journal.seconds += 86_400;
        journal.commit(Vec::new());
        if ended {
            // Nor does anything else that comes after the end.
            journal.push(Record::Changed(String::new()));
        }
        assert_eq!(told("after", &journal.entries), before, "ended: {ended}");
    }
}

/// Many rows at once go another way into PostgreSQL than few: those that are there are joined, the others copied.
#[test]
fn many_rows_of_which_some_are_there_are_the_same_in_both() {
    let Some(server) = Postgres::start("many rows") else {
        return;
    };
    let mut journal = Journal {
        run: 1,
        ..Journal::default()
    };
    let page = |n: usize| format!("http://host-{}.example/page-{n}", n % 300);
    for (from, to) in [(0, 400), (200, 600), (600, 1000), (0, 1000)] {
        journal.begin(&["http://host-0.example/"]);
        let attempts = (from..to)
            .map(|n| match n % 7 {
                // One that is there keeps the version that it has.
                0 => journal.failure(&page(n), Outcome::http(503), Next::Done),
                _ => journal.page(&page(n), &[&page(n + 1)]),
            })
            .collect();
        journal.commit(attempts);
        journal.end("done");
        journal.run += 1;
    }
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Store::Sqlite(folder.path().join("teia.db"));
    follow(&sqlite, &identity(), &journal.entries, 1000);
    for every in [1, 2, 5, 1000] {
        let other = postgres_store(&server.url());
        Catalog::remove(&other, &identity()).unwrap();
        follow(&other, &identity(), &journal.entries, every);
        assert_same_answers(&sqlite, &other);
    }
    let mut reader = Reader::open(&sqlite).unwrap().unwrap();
    let counts = "SELECT COUNT(*), SUM(attempts), (SELECT COUNT(*) FROM attempt) FROM document";
    let counts = reader.ask(counts).unwrap();
    assert_eq!(
        counts,
        [["1000", "2200", "2200"].map(|n| Some(n.to_owned()))]
    );
}

#[test]
fn postgresql_says_what_sqlite_says() {
    let Some(server) = Postgres::start("the catalog") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (sqlite, postgres) = (
        Store::Sqlite(folder.path().join("teia.db")),
        postgres_store(&server.url()),
    );
    assert!(
        Reader::open(&postgres).unwrap().is_none(),
        "nothing is there yet"
    );
    let journal = journal();
    // Another collection beside it, and the same name in another directory.
    for other in [Identity::new(0xfeed, "fish"), Identity::new(1, "birds")] {
        follow(&sqlite, &other, &journal.entries[..2], 1);
        follow(&postgres, &other, &journal.entries[..2], 2);
    }
    follow(&sqlite, &identity(), &journal.entries, 1000);
    follow(&postgres, &identity(), &journal.entries, 2);
    assert_same_answers(&sqlite, &postgres);
    assert_as_the_manual_says(&sqlite);
    assert_as_the_manual_says(&postgres);
    // Removed, the others stay; written anew, it is as it was.
    let before = everything(&postgres);
    for store in [&sqlite, &postgres] {
        Catalog::remove(store, &identity()).unwrap();
        let mut reader = Reader::open(store).unwrap().unwrap();
        assert_eq!(reader.find(&identity()).unwrap(), None);
        let left = reader.ask("SELECT COUNT(*) FROM attempt").unwrap();
        assert_eq!(left, vec![vec![Some("6".to_owned())]]);
        assert!(reader.find(&Identity::new(1, "birds")).unwrap().is_some());
        follow(store, &identity(), &journal.entries, 3);
    }
    assert_same_answers(&sqlite, &postgres);
    assert_eq!(everything(&postgres), before);
    let tables = |store: &Store| {
        let mut reader = Reader::open(store).unwrap().unwrap();
        let known = reader.find(&identity()).unwrap().unwrap();
        statistics(&mut reader, known, &Beside::default()).unwrap()
    };
    assert_eq!(tables(&sqlite), tables(&postgres));
    let monitoring = |store: &Store| {
        let mut reader = Reader::open(store).unwrap().unwrap();
        let known = reader.find(&identity()).unwrap().unwrap();
        let dashboard = known.dashboard(&mut reader).unwrap();
        let orders = [
            HostOrder::Fetched,
            HostOrder::Errors,
            HostOrder::Slowest,
            HostOrder::Latest,
            HostOrder::Name,
        ];
        let mut hosts = |part: &str| {
            let page = |order| known.hosts(&mut reader, part, order, 3, 1).unwrap();
            orders.map(page)
        };
        let lists = (hosts(""), hosts("a.ex"), hosts("%' OR 1=1 --"));
        let report = known.host_report(&mut reader, "a.example", 10, 0).unwrap();
        let nobody = known.host_report(&mut reader, "a'b", 10, 0).unwrap();
        assert_eq!(nobody, None);
        (dashboard, lists, report.expect("a host that was asked"))
    };
    let (dashboard, lists, report) = monitoring(&sqlite);
    assert_eq!(
        (dashboard.clone(), lists.clone(), report.clone()),
        monitoring(&postgres)
    );
    assert!(!dashboard.outcomes.is_empty() && !dashboard.minutes.is_empty());
    assert!(
        lists
            .0
            .iter()
            .all(|page| page.total > 1 && !page.hosts.is_empty())
    );
    assert!(
        lists
            .1
            .iter()
            .all(|page| page.total == 1 && page.hosts.is_empty())
    );
    assert!(lists.2.iter().all(|page| page.total == 0));
    assert_eq!(report.total, i64::try_from(report.requests.len()).unwrap());
}

#[test]
fn the_rests_between_requests_are_those_that_a_host_had() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::Sqlite(folder.path().join("teia.db"));
    let mut journal = Journal::default();
    journal.begin(&["http://a.example/"]);
    // Asked at 0, 3 and 10 seconds; each answer takes two.
    let asked = |path: &str, seconds: i64| {
        let mut attempt = journal.page(&format!("http://a.example/{path}"), &[]);
        attempt.started = Timestamp::from_micros(START + seconds * 1_000_000);
        attempt.times = teia_base::Times {
            first_byte: Duration::from_millis(1500),
            body: Duration::from_millis(500),
            ..teia_base::Times::default()
        };
        attempt
    };
    let attempts = vec![asked("1", 0), asked("2", 3), asked("3", 10)];
    journal.commit(attempts);
    follow(&store, &identity(), &journal.entries, 1);
    let mut reader = Reader::open(&store).unwrap().unwrap();
    let known = reader.find(&identity()).unwrap().unwrap();
    let report = known.host_report(&mut reader, "a.example", 10, 0).unwrap();
    let report = report.unwrap();
    let rests: Vec<Option<i64>> = report.requests.iter().map(|r| r.rest_micros).collect();
    assert_eq!(rests, [Some(5_000_000), Some(1_000_000), None]);
    assert_eq!(report.shortest_rest_micros, Some(1_000_000));
    assert_eq!(report.total, 3);
    let second = known.host_report(&mut reader, "a.example", 1, 1).unwrap();
    assert_eq!(second.unwrap().requests, report.requests[1..2]);
}

/// What failed because robots.txt did, and what was decided, beside what was asked.
fn journal_of_decisions() -> Journal {
    let mut journal = Journal::default();
    journal.begin(&["https://a.example/"]);
    let mut robots = journal.failure(
        "https://a.example/robots.txt",
        Outcome::TLS_HANDSHAKE,
        Next::Robots,
    );
    robots.times.tls = Duration::from_secs(2);
    let failed = |path: &str, outcome: Outcome, detail: &str, next: Next| {
        let mut attempt = journal.failure(&format!("https://a.example/{path}"), outcome, next);
        attempt.started = attempt.started.plus(Duration::from_secs(2));
        attempt.detail = Some(detail.to_owned());
        attempt
    };
    let tls = Outcome::TLS_HANDSHAKE;
    let attempts = vec![
        robots,
        // At once, and nobody was asked.
        failed("", tls, "robots.txt: tls_handshake", Next::Failed),
        failed(
            "b",
            Outcome::ROBOTS_UNREACHABLE,
            "robots.txt: http_503",
            Next::Failed,
        ),
        failed("c", Outcome::ALIAS_HOST, "the same pages", Next::Done),
        failed("d", Outcome::ROBOTS_DISALLOWED, "Disallow: /", Next::Done),
        // A connection was to be made that could not be.
        failed("e", Outcome::CONNECT_REFUSED, "", Next::Waiting),
        failed("f", Outcome::CONNECT_REFUSED, "", Next::Failed),
    ];
    journal.commit(attempts);
    journal
}

#[test]
fn a_request_is_the_same_wherever_it_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::Sqlite(folder.path().join("teia.db"));
    follow(&store, &identity(), &journal_of_decisions().entries, 1);
    let mut reader = Reader::open(&store).unwrap().unwrap();
    let known = reader.find(&identity()).unwrap().unwrap();
    let report = known.host_report(&mut reader, "a.example", 10, 0).unwrap();
    let report = report.unwrap();
    let asked: Vec<&str> = report.requests.iter().map(|r| r.url.as_str()).collect();
    assert_eq!(
        asked,
        ["https://a.example/f", "https://a.example/robots.txt"]
    );
    assert_eq!(report.host.requests, 2);
    for (question, wanted) in [
        ("SELECT requests FROM runs", 2),
        ("SELECT robots_requests FROM runs", 1),
        ("SELECT requests FROM minutes", 2),
        ("SELECT requests FROM hosts", 2),
        ("SELECT COUNT(*) FROM attempts WHERE is_request = 1", 2),
    ] {
        let found = reader.ask(question).unwrap();
        assert_eq!(found[0][0], Some(wanted.to_string()), "{question}");
    }
    let tables = statistics(&mut reader, known, &Beside::default()).unwrap();
    let failures = tables.iter().find(|table| table.name == "failures");
    let title = &failures.unwrap().title;
    assert!(title.ends_with("of 1 requests for documents"), "{title}");
}

#[test]
fn a_list_that_is_cut_says_how_many_documents_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::Sqlite(folder.path().join("teia.db"));
    let mut journal = Journal::default();
    journal.begin(&["http://a.example/"]);
    let page = |number: u16| {
        let mut attempt = journal.page(&format!("http://a.example/{number}"), &[]);
        attempt.depth = number;
        attempt.media_type = Some(format!("text/x-{number}"));
        attempt.language = Some(format!("x-{number}"));
        attempt
    };
    let attempts = (0..40).map(page).collect();
    journal.commit(attempts);
    follow(&store, &identity(), &journal.entries, 1);
    let mut reader = Reader::open(&store).unwrap().unwrap();
    let known = reader.find(&identity()).unwrap().unwrap();
    let dashboard = known.dashboard(&mut reader).unwrap();
    assert_eq!(dashboard.depths.len(), 40);
    for names in [dashboard.types, dashboard.languages] {
        assert_eq!((names.items.len(), names.documents), (25, 40));
    }
}

#[test]
fn a_collection_that_never_ran_has_no_period() {
    let catalog = Catalog::open(&Store::temporary(), &identity()).unwrap();
    let (mut reader, known) = catalog.into_reader().unwrap();
    let tables = statistics(&mut reader, known, &Beside::default()).unwrap();
    let summary = tables.iter().find(|table| table.name == "summary").unwrap();
    for what in ["from", "to"] {
        let row = summary.rows.iter().find(|row| row[0].plain() == what);
        assert_eq!(row.unwrap()[1].plain(), "", "{what}");
    }
}

#[test]
fn a_decision_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::Sqlite(folder.path().join("teia.db"));
    follow(&store, &identity(), &journal_of_decisions().entries, 1);
    let mut reader = Reader::open(&store).unwrap().unwrap();
    let known = reader.find(&identity()).unwrap().unwrap();
    let found = reader.ask("SELECT url FROM errors ORDER BY place").unwrap();
    let wanted = ["https://a.example/", "https://a.example/f"];
    assert_eq!(
        found,
        wanted.map(|url| vec![Some(url.to_owned())]),
        "the view"
    );
    let mut listed = known.dashboard(&mut reader).unwrap().errors;
    listed.reverse();
    let listed: Vec<&str> = listed.iter().map(|failed| failed.url.as_str()).collect();
    assert_eq!(listed, wanted, "the page");
    for table in ["runs", "minutes", "hosts"] {
        let found = reader.ask(&format!("SELECT errors FROM {table}")).unwrap();
        assert_eq!(found[0][0].as_deref(), Some("2"), "{table}");
    }
}

#[test]
fn a_row_is_what_the_last_attempt_left_and_the_last_version_brought() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::Sqlite(folder.path().join("teia.db"));
    follow(&store, &identity(), &journal().entries, 4);
    let mut reader = Reader::open(&store).unwrap().unwrap();
    let mut ask = |question: &str| -> Vec<String> {
        let rows = reader.ask(question).unwrap();
        let text = |row: teia_catalog::Row| {
            let fields: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
            fields.join("|")
        };
        rows.into_iter().map(text).collect()
    };
    assert_eq!(
        ask(
            "SELECT url, outcome, outcome_name, attempts, next, body_bytes, title, extension, is_dynamic, is_kept FROM documents WHERE length(url) < 99 ORDER BY url"
        ),
        [
            "http://a.example/|404|http_404|2|done|2000|Página “http://a.example/”||0|1",
            "http://a.example/secret|-7|robots_disallowed|1|done|||||"
                .replace("|||||", "||||0|")
                .as_str(),
            "http://a.example/x.PDF|200|ok|1|done|10000|nul \u{fffd} byte|pdf|0|0",
            "http://b.example/|-40|connect_refused|2|failed||||0|",
            "http://c.example/?q=1|304|not_modified|2|done|2000|Página “http://c.example/?q=1”||1|1",
        ]
    );
    // Seven seconds an entry; the pause and the night between the runs are no work.
    assert_eq!(
        ask(
            "SELECT number, ended, is_paused, seeds, active_seconds, fetched, errors, requests, robots_requests, admitted FROM runs ORDER BY number"
        ),
        ["1|done|0|2|28|2|2|5|1|4", "2||0|0|7|4|1|4|0|1"]
    );
    assert_eq!(
        ask(
            "SELECT host, admitted, fetched, errors, requests FROM hosts WHERE length(host) < 99 ORDER BY host"
        ),
        [
            "a.example|2|3|1|4",
            "b.example|1|0|2|2",
            "c.example|1|2|0|2",
            "d.example|1|0|0|0"
        ]
    );
    assert_eq!(
        ask("SELECT url, outcome, try_number FROM errors ORDER BY journal_entry, place"),
        [
            "http://b.example/|-40|1",
            "http://b.example/|-40|1",
            "http://a.example/|404|1"
        ]
    );
    assert_eq!(
        ask("SELECT first_at FROM documents WHERE url = 'http://a.example/'"),
        ["2030-03-17T17:46:47.123456Z"]
    );
    assert_eq!(
        ask("SELECT runs, documents, hosts, journal_entry FROM collections"),
        ["2|6|5|9"]
    );
}

/// Every column of every view is in the manual, and every question in it has an answer.
#[track_caller]
fn assert_as_the_manual_says(store: &Store) {
    let room = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manual = std::fs::read_to_string(room.join("../../docs/catalog.md")).unwrap();
    let mut reader = Reader::open(store).unwrap().unwrap();
    for view in [
        "documents",
        "attempts",
        "errors",
        "hosts",
        "runs",
        "minutes",
        "collections",
    ] {
        let question = format!("SELECT * FROM {view}");
        let mut rows = 0;
        let columns = reader.each(&question, |_| {
            rows += 1;
            true
        });
        assert!(rows > 0, "{view} is empty");
        for column in columns.unwrap() {
            let is_told = manual.contains(&format!("`{column}`"));
            assert!(is_told, "{view}.{column} is not in docs/catalog.md");
        }
    }
    let (_, questions) = manual.split_once("## Questions that people ask").unwrap();
    let (_, questions) = questions.split_once("```sql\n").unwrap();
    let (questions, _) = questions.split_once("```").unwrap();
    let mut asked = 0;
    for question in questions.split(';').filter(|text| !text.trim().is_empty()) {
        reader
            .ask(question)
            .unwrap_or_else(|error| panic!("{question}: {error:?}"));
        asked += 1;
    }
    assert!(asked >= 5);
}

/// Every statement of the wipe has its own time; all of them together may take longer than one may.
#[test]
fn what_is_too_much_for_one_answer_is_wiped_in_parts() {
    let Some(server) = Postgres::start("a long wipe") else {
        return;
    };
    let mut journal = Journal {
        run: 1,
        ..Journal::default()
    };
    journal.begin(&["http://a.example/"]);
    for number in 0..30 {
        let page = |at| journal.page(&format!("http://a.example/{number}/{at}"), &[]);
        let pages = (0..100).map(page).collect();
        journal.commit(pages);
    }
    let store = postgres_store(&server.url());
    follow(&store, &identity(), &journal.entries, 10);
    let other = Identity::new(0xfeed, "other");
    follow(&store, &other, &journal.entries[..3], 10);
    let mut reader = Reader::open(&store).unwrap().unwrap();
    let mut ask = |question: &str| reader.ask(question).unwrap();
    // A slow disk: 2 ms for a row, 6 s for all documents; and no statement may take more than 4 s.
    ask(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.002); RETURN OLD; END'",
    );
    ask("CREATE TRIGGER slow BEFORE DELETE ON document FOR EACH ROW EXECUTE FUNCTION slow()");
    ask("ALTER DATABASE postgres SET statement_timeout TO '4s'");
    Catalog::remove(&store, &identity()).unwrap();
    let left = ask(
        "SELECT c.name FROM collection c JOIN document d ON d.collection = c.id GROUP BY c.name",
    );
    assert_eq!(left, [[Some("other".to_owned())]]);
    // One that was begun and not ended is ended before anything is written.
    ask("DROP TRIGGER slow ON document");
    ask("UPDATE collection SET position = -1 WHERE name = 'other'");
    let catalog = Catalog::open(&store, &other).unwrap();
    assert_eq!(catalog.position().entry, 0);
    assert_eq!(ask("SELECT 1 FROM document").len(), 0);
}

#[test]
fn what_a_newer_version_wrote_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("teia.db");
    let store = Store::Sqlite(path.clone());
    follow(&store, &identity(), &journal().entries, 5);
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer
        .execute("INSERT INTO migration VALUES (99)", [])
        .unwrap();
    for result in [
        Catalog::open(&store, &identity()).map(|_| ()),
        Reader::open(&store).map(|_| ()),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, CatalogError::Newer { found: 99, .. }));
        assert!(!error.is_damage(), "it must not be wiped");
    }
    // What is no database at all is damage, and may be.
    std::fs::write(folder.path().join("other.db"), vec![b'x'; 8192]).unwrap();
    let error = Catalog::open(&Store::Sqlite(folder.path().join("other.db")), &identity());
    assert!(error.unwrap_err().is_damage());
}

#[test]
fn a_catalog_in_a_file_that_was_cut_is_damage_as_soon_as_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("teia.db");
    let store = Store::Sqlite(path.clone());
    follow(&store, &identity(), &journal().entries, 5);
    let good = std::fs::read(&path).unwrap();
    assert!(Catalog::open(&store, &identity()).is_ok());
    for cut in [1, 4096, good.len() / 2, good.len() - 4096] {
        std::fs::write(&path, &good[..good.len() - cut]).unwrap();
        let error = Catalog::open(&store, &identity()).unwrap_err();
        assert!(error.is_damage(), "without the last {cut}: {error:?}");
        for beside in ["teia.db-wal", "teia.db-shm"] {
            let _ = std::fs::remove_file(folder.path().join(beside));
        }
    }
}

#[test]
fn tables_of_few_documents_are_right_to_the_last_number() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::Sqlite(folder.path().join("teia.db"));
    follow(&store, &identity(), &journal().entries, 4);
    let mut reader = Reader::open(&store).unwrap().unwrap();
    let known = reader.find(&identity()).unwrap().unwrap();
    let beside = Beside {
        known: 7,
        to_collect: 1,
        depths: [(0, 1), (1, 2)].into(),
        disk: vec![("archive".to_owned(), 100), ("journal".to_owned(), 50)],
    };
    let tables = statistics(&mut reader, known, &beside).unwrap();
    let rows = |name: &str| -> Vec<String> {
        let table = tables.iter().find(|table| table.name == name).unwrap();
        let text = |row: &Vec<Cell>| {
            let cells: Vec<String> = row.iter().map(Cell::plain).collect();
            cells.join("|")
        };
        table.all_rows().map(text).collect()
    };
    assert_eq!(
        rows("outcomes")[..3],
        [
            "200|fetched|2|33.33",
            "-40|the host refused the connection|1|16.67",
            "-7|the host's robots.txt asks us not to fetch it|1|16.67",
        ]
    );
    assert_eq!(rows("outcomes").last().unwrap(), "|total|6|100.00");
    assert_eq!(
        rows("kinds"),
        ["HTML|2|2.00", "PDF|1|10.00", "total|3|4.67"]
    );
    assert_eq!(
        rows("failures"),
        [
            "the host refused the connection|2|66.67|25.00",
            "the server answered with an error status (4xx, 5xx)|1|33.33|12.50",
            "total|3|100.00|37.50",
        ]
    );
    assert_eq!(rows("extensions"), ["(none)|2", "pdf|1", "total|3"]);
    assert_eq!(
        rows("types"),
        ["text/html|2", "application/pdf|1", "error/404|1"]
    );
    assert_eq!(rows("concentration")[1], "80|3|100.00");
    assert_eq!(
        rows("summary"),
        [
            "URLs collected|3",
            "static URLs|2",
            "dynamic URLs|1",
            "URLs to collect|1",
            "URLs known|7",
            "from|2030-03-17T17:46:47Z",
            "to|2030-03-18T18:47:43Z",
            "effective time in seconds|35",
        ]
    );
    assert_eq!(rows("languages"), ["pt|2"]);
    assert_eq!(rows("depths"), ["0|1", "1|2"]);
    assert_eq!(rows("disk"), ["archive|100", "journal|50", "total|150"]);
}
