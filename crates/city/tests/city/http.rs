//! HTTP/1 framing and speed.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use teia_archive::{Found, WarcReader};
use teia_base::journal::{Attempt, Next};
use teia_base::{Files, Flags, Outcome, Retry, SimulatedDisk};
use teia_city::{Corner, Step, Trick, corner, corners_of};
use teia_engine::Mode;
use teia_fetch::FetchConfig;

use crate::body::extracted;
use crate::support::{
    Searched, Visit, answer, body, crawl, crawl_config, crawl_corner, crawl_on, invalid, limits,
    open, open_answers, open_site, outcome, payload,
};

/// Every corner of a row is refused by this name, and the host goes on.
async fn refused(id: &str, name: &str) {
    for corner in corners_of(id) {
        let visit = Visit::to(id, corner.name);
        let exchange = visit.trick().await;
        invalid(&exchange, name);
        assert!(exchange.response.is_none(), "{id} {}", corner.name);
        assert!(exchange.junk.len() <= 1024);
        visit.leave().await;
    }
}

/// Every corner of a row is a page that says hello.
async fn accepted(id: &str) {
    for corner in corners_of(id) {
        let visit = Visit::to(id, corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert_eq!(payload(&exchange), b"hello", "{id} {}", corner.name);
        visit.leave().await;
    }
}

#[tokio::test]
async fn http_01() {
    refused("HTTP-01", "http_bad_status_line").await;
    // What came is kept in the log and not in the archive, and the connection is closed.
    let visit = Visit::to("HTTP-01", "ssh");
    assert_eq!(
        visit.trick().await.junk.as_ref(),
        b"SSH-2.0-OpenSSH_9.9\r\n"
    );
    closes(&visit).await;
    // One that is kept is seen, so that it would be.
    let visit = Visit::to("HTTP-12", "honest");
    visit.trick().await;
    assert_eq!(open_connections(&visit), 1);
}

/// Our ends of connections to this door that are open at this moment, by the system's own list.
fn open_connections(visit: &Visit) -> usize {
    const ESTABLISHED: &str = "01";
    let port = format!(":{:04X}", visit.door.address().port());
    let list = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let is_ours = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.len() > 3 && fields[2].ends_with(&port) && fields[3] == ESTABLISHED
    };
    list.lines().filter(is_ours).count()
}

/// The one connection of a visit was closed by us before the fetch was over, and the server, which says no more on it, sees
/// that in the end.
async fn closes(visit: &Visit) {
    assert_eq!(open_connections(visit), 0, "closed when the answer is told");
    for _ in 0..1000 {
        if visit.door.closed() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the connection stays open");
}

#[test]
fn http_01_leaves_nothing_in_the_archive() {
    for corner in corners_of("HTTP-01") {
        let (door, crawled) = crawl_corner("HTTP-01", corner.name);
        for attempt in crawled.all(&door.url("/")) {
            assert_eq!(attempt.outcome, Outcome::HTTP_INVALID);
            assert!(attempt.capture.is_none());
            // Kept in the log, with whatever bytes it has; people see none of them raw.
            let junk = &attempt.junk;
            assert!((1..=1024).contains(&junk.len()), "{}", corner.name);
            let told = teia_engine::tell_attempt(attempt);
            let start = junk[..junk.len().min(20)].escape_ascii().to_string();
            assert!(told.contains(&start), "{told}");
            assert!(!told.contains(char::is_control), "{told:?}");
            if corner.name == "ssh" {
                assert_eq!(junk, b"SSH-2.0-OpenSSH_9.9\r\n");
            }
        }
        assert!(crawled.last(&door.url("/next")).junk.is_empty());
    }
}

#[tokio::test]
async fn http_02() {
    refused("HTTP-02", "http_bad_status_line").await;
}

#[tokio::test]
async fn http_03() {
    refused("HTTP-03", "http_bad_status_line").await;
}

#[tokio::test]
async fn http_04() {
    refused("HTTP-04", "http_bad_status_line").await;
}

#[tokio::test]
async fn http_05() {
    accepted("HTTP-05").await;
    let visit = Visit::to("HTTP-05", "controls");
    let exchange = visit.trick().await;
    let head = exchange.response.as_ref().unwrap().head.as_bytes().clone();
    assert!(
        head.starts_with(b"HTTP/1.1 200 O\x01K\x1b[31m\x07\r\n"),
        "as it came"
    );
    assert_eq!(exchange.detail, None, "nothing of it reaches a log");
}

#[tokio::test]
async fn http_06() {
    refused("HTTP-06", "http_bad_header").await;
}

#[tokio::test]
async fn http_07() {
    accepted("HTTP-07").await;
    let visit = Visit::to("HTTP-07", "folded");
    let exchange = visit.trick().await;
    let head = &exchange.response.as_ref().unwrap().head;
    assert_eq!(head.text("link").unwrap(), "</next>; rel=next");
    assert!(
        head.as_bytes().windows(5).any(|part| part == b";\r\n\t "),
        "kept as it came"
    );
}

#[test]
fn http_07_brings_one_link() {
    let door = open(&teia_city::corner("HTTP-07", "folded"));
    let crawled = crawl(&crawl_config(), &[door.url("/")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[tokio::test]
async fn http_08() {
    for name in ["line-feeds", "mixed"] {
        let visit = Visit::to("HTTP-08", name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert_eq!(body(&exchange), b"hello");
        visit.leave().await;
    }
    let visit = Visit::to("HTTP-08", "returns");
    let exchange = visit.trick().await;
    invalid(&exchange, "http_bad_header");
    visit.leave().await;
}

/// Neither the log nor the header of a record has a line that the server began.
#[test]
fn http_08_begins_no_line_anywhere() {
    let injected = "HTTP/1.1 200 OK\r\nContent-Type: text/html\nETag: \"a\"\nWARC-Type: injected\r\nContent-Length: 5\n\r\nhello";
    let mut doors: Vec<_> = corners_of("HTTP-08").iter().map(open).collect();
    doors.push(open_answers(vec![vec![Step::say(injected)]]));
    for door in doors {
        let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
        for attempt in &crawled.attempts {
            let told = teia_engine::tell_attempt(attempt);
            assert!(!told.contains(['\r', '\n']), "{told:?}");
        }
        let archive = teia_engine::Layout::new("default").unwrap().archive();
        let files = crawled.disk.list(&archive).unwrap();
        let mut records = 0;
        for name in files.iter().filter(|name| name.ends_with(".warc.gz")) {
            let path = archive.join(name);
            let file = crawled.disk.open(&path).unwrap();
            let mut reader = WarcReader::new(file, &path, 0).unwrap();
            while let Some(found) = reader.next_found().unwrap() {
                let Found::Record(record) = found else {
                    panic!("{found:?}");
                };
                let kinds = ["warcinfo", "response", "request", "metadata"];
                assert!(kinds.contains(&record.header.kind()), "{:?}", record.header);
                let header = format!("{:?}", record.header);
                assert!(!header.contains("injected"), "{header}");
                records += 1;
            }
        }
        assert!(records >= 3, "{records}");
    }
}

#[tokio::test]
async fn http_09() {
    for (name, detail) in [
        ("slow", "http_too_slow"),
        ("fast", "http_headers_too_large"),
    ] {
        let visit = Visit::to("HTTP-09", name);
        invalid(&visit.trick().await, detail);
        visit.leave().await;
    }
}

#[tokio::test]
async fn http_10() {
    refused("HTTP-10", "http_headers_too_large").await;
    let visit = Visit::to("HTTP-10", "one");
    visit.trick().await;
    // What the sockets hold on their way comes on top of the 128 KiB that were read; the head has 10 MiB.
    assert!(visit.door.sent() < 3 << 20, "{}", visit.door.sent());
}

#[tokio::test]
async fn http_11() {
    refused("HTTP-11", "http_headers_too_large").await;
}

#[tokio::test]
async fn http_12() {
    accepted("HTTP-12").await;
}

#[tokio::test]
async fn http_13() {
    refused("HTTP-13", "http_framing_conflict").await;
    let visit = Visit::to("HTTP-13", "two");
    visit.trick().await;
    visit.leave().await;
    assert_eq!(visit.door.connections(), 2, "not reused");
}

#[tokio::test]
async fn http_14() {
    accepted("HTTP-14").await;
}

#[tokio::test]
async fn http_15() {
    for corner in corners_of("HTTP-15") {
        let visit = Visit::to("HTTP-15", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert_eq!(payload(&exchange), b"hello");
        assert_eq!(exchange.detail.as_deref(), Some("http_framing_conflict"));
        visit.leave().await;
        assert_eq!(visit.door.connections(), 2, "not reused");
    }
}

#[tokio::test]
async fn http_16() {
    refused("HTTP-16", "http_framing_conflict").await;
}

#[tokio::test]
async fn http_17() {
    for corner in corners_of("HTTP-17") {
        let visit = Visit::to("HTTP-17", corner.name);
        let exchange = visit.trick().await;
        invalid(&exchange, "http_bad_chunk");
        if corner.name.starts_with("first-") {
            // Nothing is framed as a chunk: all of it is what came, here and for whoever reads the archive.
            assert_eq!(payload(&exchange), body(&exchange), "{}", corner.name);
            assert!(!body(&exchange).is_empty(), "{}", corner.name);
        } else {
            assert_eq!(payload(&exchange), b"hello", "what came is kept");
        }
        visit.leave().await;
    }
}

/// Corners of a row whose connection ended before a first chunk had begun, or all others of it.
fn cut_corners(id: &str, before_a_chunk: bool) -> impl Iterator<Item = Corner> {
    let is_before = move |corner: &Corner| corner.name.contains("first-size") == before_a_chunk;
    corners_of(id).into_iter().filter(is_before)
}

/// An answer whose head could be read and whose body could not: nothing of the first try, and of the last one what came.
fn archived_as_far_as_it_came(corners: impl IntoIterator<Item = Corner>, reason: &str) {
    for corner in corners {
        let id = corner.id;
        let (door, crawled) = crawl_corner(id, corner.name);
        let [first, last] = crawled.all(&door.url("/"))[..] else {
            panic!("{:?}", crawled.told());
        };
        assert!(first.capture.is_none(), "one capture for one visit");
        assert_eq!(last.outcome, Outcome::HTTP_INVALID);
        assert!(last.capture.is_some() && last.flags.has(Flags::TRUNCATED));
        assert!(last.text_digest.is_none() && last.links.is_empty());
        let files: Arc<dyn teia_base::Files> = Arc::new(crawled.disk.clone());
        let archive = teia_engine::Layout::new("default").unwrap().archive();
        let captures = teia_archive::Captures::open(files, &archive).unwrap();
        let versions = captures.versions(&door.url("/")).unwrap();
        assert_eq!(versions.len(), 1, "{id} {}", corner.name);
        assert!(versions[0].failed, "no page for anybody who replays it");
        let stored = captures.read(&versions[0]).unwrap();
        assert_eq!(stored.truncated(), Some(reason), "{id} {}", corner.name);
        let is_empty = stored.response.body.is_empty();
        assert_eq!(is_empty, corner.name == "before-first-size");
        // The digest is that of the payload that a reader finds, and a scrub finds it right.
        let digest = teia_archive::payload_digest(&stored.response).unwrap();
        assert_eq!(last.payload_sha1, (!is_empty).then_some(digest));
        let wounds = captures.scrub().unwrap().wounds;
        assert_eq!(wounds, [], "{id} {}", corner.name);
    }
}

#[test]
fn http_17_is_archived_as_far_as_it_came() {
    archived_as_far_as_it_came(corners_of("HTTP-17"), "unspecified");
}

#[test]
fn http_19_before_a_chunk_is_archived_as_far_as_it_came() {
    archived_as_far_as_it_came(cut_corners("HTTP-19", true), "disconnect");
}

#[test]
fn http_25_is_archived_as_far_as_it_came() {
    archived_as_far_as_it_came(corners_of("HTTP-25"), "time");
}

/// A page that was whole once stays the copy that is shown, in search and archive, when it breaks off later.
#[test]
fn http_17_leaves_the_whole_copy() {
    let broken = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n";
    let whole =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nwhole hello";
    let door = open_answers(vec![vec![Step::say(whole)], vec![Step::say(broken)]]);
    let mut config = crawl_config();
    config.mode = Mode::Periodic;
    config.run.retries = 0;
    let mut searched = Searched::crawl(&config, &[door.url("/")]);
    assert!(searched.last(&door.url("/")).outcome.is_ok());
    searched.again(&config, &[door.url("/")]);
    assert_eq!(searched.last(&door.url("/")).outcome, Outcome::HTTP_INVALID);
    let captures = searched.captures();
    let versions = captures.versions(&door.url("/")).unwrap();
    assert!(versions.iter().any(|entry| entry.failed), "{versions:?}");
    let entry = captures.find(&door.url("/"), None).unwrap().unwrap();
    assert!(!entry.failed);
    let mut bytes = Vec::new();
    let stored = captures.read(&entry).unwrap();
    stored.raw().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"whole hello");
    assert_eq!(searched.found("whole"), [door.url("/")]);
}

/// What it costs to fetch the page, and what it costs with all that is done with a page: its digest is taken, and it is
/// looked into.
async fn cost_of(name: &str) -> (Duration, Duration, [u8; 20]) {
    let visit = Visit::to("HTTP-18", name);
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    let fetched = visit.spent();
    let response = exchange.response.as_ref().unwrap();
    let digest = teia_archive::payload_digest(response).unwrap();
    let page = extracted(&exchange);
    let spent = visit.spent();
    assert_eq!(payload(&exchange).len(), 1_000_000);
    assert!(page.text.len() > 100_000, "{}", page.text.len());
    visit.leave().await;
    (fetched, spent, digest)
}

#[tokio::test]
async fn http_18() {
    // The least of some: others use the processor, too.
    let mut least = [Duration::MAX; 4];
    for _ in 0..10 {
        let (large, small) = (cost_of("large").await, cost_of("bytes").await);
        assert_eq!(large.2, small.2, "the same page");
        for (least, now) in least.iter_mut().zip([large.0, large.1, small.0, small.1]) {
            *least = now.min(*least);
        }
    }
    let [fetch_of_large, large, fetch_of_small, small] = least;
    eprintln!(
        "note: a page of a megabyte in large chunks takes {large:?} of computing, in chunks of one byte {small:?}; \
         of that the fetch {fetch_of_large:?} and {fetch_of_small:?}, for six times the bytes"
    );
    assert!(small < 4 * large, "{small:?} and {large:?}");
}

async fn cut_short(id: &str) {
    for corner in cut_corners(id, false) {
        let visit = Visit::to(id, corner.name);
        let exchange = visit.trick().await;
        invalid(&exchange, "http_body_short");
        assert_eq!(exchange.outcome.retry(), Retry::Temporary);
        assert!(exchange.flags.has(Flags::BODY_SHORT));
        assert_eq!(payload(&exchange), b"hello", "what came is kept");
        visit.leave().await;
    }
}

/// A page that is cut short is asked for again; what came at last is kept, and only that.
fn tried_again(id: &str, name: &str) {
    let short = corner(id, name);
    let Trick::Http(mut answers) = short.trick else {
        panic!("{id} is a corner of plain HTTP");
    };
    let whole =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nhello again";
    answers.push(vec![Step::say(whole)]);
    let door = open_answers(answers.clone());
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let [first, last] = crawled.all(&door.url("/"))[..] else {
        panic!("{:?}", crawled.told());
    };
    assert_eq!(first.outcome, Outcome::HTTP_INVALID);
    assert_eq!(first.detail.as_deref(), Some("http_body_short"));
    assert!(first.capture.is_none(), "one capture for one visit");
    assert_eq!((last.outcome, last.body_bytes), (Outcome::http(200), 11));
    assert!(!last.flags.has(Flags::BODY_SHORT));
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    // A server that never sends more.
    answers.pop();
    let door = open_answers(answers);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let [_, last] = crawled.all(&door.url("/"))[..] else {
        panic!("{:?}", crawled.told());
    };
    assert_eq!(last.outcome, Outcome::http(200));
    assert!(last.flags.has(Flags::BODY_SHORT) && last.capture.is_some());
    assert_eq!(last.body_bytes, 5);
}

#[test]
fn http_19_is_tried_again() {
    for corner in cut_corners("HTTP-19", false) {
        tried_again("HTTP-19", corner.name);
    }
}

#[test]
fn http_21_is_tried_again() {
    for corner in corners_of("HTTP-21") {
        tried_again("HTTP-21", corner.name);
    }
}

#[tokio::test]
async fn http_19() {
    cut_short("HTTP-19").await;
    // Of these nothing came that could be a page, not even as far as it came.
    for corner in cut_corners("HTTP-19", true) {
        let visit = Visit::to("HTTP-19", corner.name);
        let exchange = visit.trick().await;
        invalid(&exchange, "http_bad_chunk");
        assert_eq!(exchange.outcome.retry(), Retry::Temporary);
        assert!(exchange.flags.has(Flags::BODY_SHORT));
        visit.leave().await;
    }
}

#[test]
fn http_19_is_marked_in_the_archive() {
    let (door, crawled) = crawl_corner("HTTP-19", "no-last");
    let files: std::sync::Arc<dyn teia_base::Files> = std::sync::Arc::new(crawled.disk.clone());
    let layout = teia_engine::Layout::new("default").unwrap();
    let captures = teia_archive::Captures::open(files, &layout.archive()).unwrap();
    let entry = captures.find(&door.url("/"), None).unwrap().unwrap();
    let stored = captures.read(&entry).unwrap();
    assert_eq!(stored.truncated(), Some("disconnect"));
}

#[tokio::test]
async fn http_20() {
    for corner in corners_of("HTTP-20") {
        let visit = Visit::to("HTTP-20", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert_eq!(payload(&exchange), b"hello");
        assert!(exchange.flags.has(Flags::TRUNCATED));
        visit.leave().await;
    }
}

#[tokio::test]
async fn http_21() {
    cut_short("HTTP-21").await;
}

#[tokio::test]
async fn http_22() {
    for corner in corners_of("HTTP-22") {
        let visit = Visit::to("HTTP-22", corner.name);
        for _ in 0..3 {
            let exchange = visit.trick().await;
            outcome(&exchange, Outcome::http(200));
            assert_eq!(body(&exchange), b"hello", "{}", corner.name);
            tokio::time::sleep(Duration::from_millis(120)).await;
        }
        visit.leave().await;
        assert_eq!(visit.door.connections(), 4, "never reused");
    }
}

#[tokio::test]
async fn http_23() {
    let visit = Visit::to("HTTP-23", "open");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert!(exchange.flags.has(Flags::TRUNCATED));
    assert_eq!(
        (exchange.detail.as_deref(), body(&exchange)),
        (Some("time"), b"a page".to_vec())
    );
    visit.leave().await;
}

#[tokio::test]
async fn http_24() {
    for corner in corners_of("HTTP-24") {
        let small = FetchConfig {
            body_wire_bytes: 1 << 20,
            ..limits()
        };
        let visit = Visit::with("HTTP-24", corner.name, small);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert!(exchange.flags.has(Flags::TRUNCATED));
        assert_eq!(exchange.detail.as_deref(), Some("length"));
        let kept = exchange.wire_bytes();
        assert!((1 << 20..(1 << 20) + (300 << 10)).contains(&kept), "{kept}");
        // A buffer, and what the sockets hold on their way.
        assert!(visit.door.sent() < 8 << 20, "{}", visit.door.sent());
        visit.leave().await;
    }
}

/// An endless page with a link at its beginning, as `fields` frame it.
fn endless(fields: &str) -> Vec<Step> {
    let start = "<!doctype html><title>endless tale</title><p>prologue <a href=/found>x</a> ";
    let (start, more) = if fields.contains("chunked") {
        let chunk = |text: &[u8]| {
            let size = format!("{:x}\r\n", text.len());
            [size.as_bytes(), text, b"\r\n"].concat()
        };
        (chunk(start.as_bytes()), chunk(&b"word ".repeat(4096)))
    } else {
        (start.into(), b"word ".repeat(4096))
    };
    vec![
        Step::say(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n"
        )),
        Step::Say(start),
        Step::Endless(more),
    ]
}

/// In a crawl: where nobody said how large a document may be, it is cut, and is a page as far as it came.
#[test]
fn http_24_is_a_page_as_far_as_it_came() {
    for fields in ["", "Transfer-Encoding: chunked\r\n"] {
        let door = open_answers(vec![endless(fields)]);
        let mut config = crawl_config();
        config.fetch.body_wire_bytes = 1 << 20;
        let searched = Searched::crawl(&config, &[door.url("/"), door.url("/next")]);
        let attempt = searched.last(&door.url("/"));
        assert_eq!(attempt.outcome, Outcome::http(200), "{:?}", attempt.detail);
        assert!(attempt.flags.has(Flags::TRUNCATED) && attempt.capture.is_some());
        assert!(attempt.body_bytes <= (1 << 20) + (300 << 10));
        let captures = searched.captures();
        let entry = captures.find(&door.url("/"), None).unwrap().unwrap();
        let stored = captures.read(&entry).unwrap();
        assert_eq!(stored.truncated(), Some("length"));
        assert_eq!(searched.found("prologue"), [door.url("/")]);
        assert_eq!(door.asked("/found"), 1, "its link is followed");
        assert!(searched.last(&door.url("/next")).outcome.is_ok());
    }
}

/// The same where the settings are as they come: cut at the size of a document.
#[test]
fn http_24_is_cut_by_default() {
    let door = open_answers(vec![endless("")]);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let attempt = crawled.last(&door.url("/"));
    assert_eq!(attempt.outcome, Outcome::http(200), "{:?}", attempt.detail);
    assert!(attempt.flags.has(Flags::TRUNCATED) && attempt.capture.is_some());
    assert_eq!(attempt.body_bytes, crawl_config().filter.max_size);
    assert_eq!(door.asked("/found"), 1, "its link is followed");
}

/// Where a person said how large it may be, a larger one is refused; and so is one that says beforehand what it is.
#[test]
fn http_24_is_refused_where_a_person_said_so() {
    for fields in ["", "Transfer-Encoding: chunked\r\n"] {
        let door = open_answers(vec![endless(fields)]);
        let mut config = crawl_config();
        config.filter.max_size = 1 << 20;
        let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
        let attempt = crawled.last(&door.url("/"));
        assert_eq!(attempt.outcome, Outcome::SIZE_EXCEEDED);
        assert!(attempt.capture.is_none() && door.asked("/found") == 0);
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
    let door = open_answers(vec![endless("Content-Length: 16000001\r\n")]);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let attempt = crawled.last(&door.url("/"));
    assert_eq!(attempt.outcome, Outcome::SIZE_EXCEEDED);
    assert!(attempt.capture.is_none() && attempt.body_bytes == 0);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[tokio::test]
async fn http_25() {
    let visit = Visit::to("HTTP-25", "drip");
    let exchange = visit.trick().await;
    invalid(&exchange, "http_too_slow");
    assert!(!body(&exchange).is_empty(), "what came is kept");
    visit.leave().await;
}

#[tokio::test]
async fn http_26() {
    let visit = Visit::to("HTTP-26", "silent");
    let exchange = visit.trick().await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::TIME_EXCEEDED, Some("http_too_slow"))
    );
    assert!(
        visit.spent() < Duration::from_millis(200),
        "waiting is cheap"
    );
    visit.leave().await;
}

#[tokio::test]
async fn http_27() {
    refused("HTTP-27", "http_interim_flood").await;
}

#[tokio::test]
async fn http_28() {
    refused("HTTP-28", "http_bad_status_line").await;
    let visit = Visit::to("HTTP-28", "switching");
    visit.trick().await;
    closes(&visit).await;
}

#[tokio::test]
async fn http_29() {
    for (name, status) in [("no-content", 204), ("not-modified", 304)] {
        let visit = Visit::to("HTTP-29", name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(status));
        assert_eq!(body(&exchange), b"");
        visit.leave().await;
        assert_eq!(visit.door.connections(), 2, "not reused");
        // There is no answer to a HEAD to be read wrongly, because none is ever sent.
        let asked = visit.door.requests();
        assert!(asked.iter().all(|head| head.starts_with("GET ")));
    }
}

#[tokio::test]
async fn http_30() {
    let visit = Visit::to("HTTP-30", "unasked");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(304));
    assert_eq!(body(&exchange), b"");
    visit.leave().await;
}

#[test]
fn http_30_is_no_page() {
    let (door, crawled) = crawl_corner("HTTP-30", "unasked");
    let attempt = crawled.last(&door.url("/"));
    assert_eq!(
        (attempt.outcome.name().as_ref(), attempt.body_bytes),
        ("not_modified", 0)
    );
    assert!(attempt.text_digest.is_none());
}

/// A page is stored, and at the next visit the server says that it has not changed, though nobody has asked whether it has.
#[test]
fn http_30_leaves_the_stored_copy() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
    let unasked = "HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n";
    let door = open_answers(vec![vec![Step::say(page)], vec![Step::say(unasked)]]);
    let mut config = crawl_config();
    config.mode = teia_engine::Mode::Periodic;
    let disk = teia_base::SimulatedDisk::new();
    let seeds = [door.url("/"), door.url("/next")];
    crawl_on(&disk, &config, &seeds);
    let again = crawl_on(&disk, &config, &seeds);
    let asked = door.requests();
    assert!(
        asked
            .iter()
            .all(|head| !head.to_ascii_lowercase().contains("\r\nif-")),
        "it had nothing to compare by"
    );
    assert_eq!(door.asked("/"), 2, "{:?}", again.told());
    let last = again.last(&door.url("/"));
    assert_eq!(last.outcome.name().as_ref(), "not_modified");
    assert!(again.last(&door.url("/next")).outcome.is_ok());
    let files: std::sync::Arc<dyn teia_base::Files> = std::sync::Arc::new(disk);
    let layout = teia_engine::Layout::new("default").unwrap();
    let captures = teia_archive::Captures::open(files, &layout.archive()).unwrap();
    let mut bodies = Vec::new();
    for entry in captures.all().unwrap() {
        let entry = entry.unwrap();
        if entry.url == door.url("/") {
            let stored = captures.read(&entry).unwrap();
            let mut bytes = Vec::new();
            let mut reader = stored.response.body.reader(0, u64::MAX);
            std::io::Read::read_to_end(&mut reader, &mut bytes).unwrap();
            bodies.push(bytes);
        }
    }
    // The second one is a note that points to the first.
    assert!(!bodies.is_empty());
    for body in &bodies {
        assert_eq!(body, b"hello", "the copy is as it was");
    }
}

#[tokio::test]
async fn http_31() {
    for corner in corners_of("HTTP-31") {
        let visit = Visit::to("HTTP-31", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(206));
        assert!(exchange.flags.has(Flags::TRUNCATED), "never a whole page");
        assert_eq!(exchange.detail.as_deref(), Some("partial"));
        visit.leave().await;
    }
}

/// Kept as the part that it is; nobody finds it as a page.
#[test]
fn http_31_is_not_found() {
    for corner in corners_of("HTTP-31") {
        let door = open(&corner);
        let searched = Searched::crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
        let attempt = searched.last(&door.url("/"));
        assert_eq!(attempt.outcome, Outcome::http(206));
        assert!(attempt.flags.has(Flags::TRUNCATED) && attempt.capture.is_some());
        let captures = searched.captures();
        let entry = captures.find(&door.url("/"), None).unwrap().unwrap();
        assert_eq!(entry.status, Some(206));
        // The attempt says that it is a part, and so does the record: of something that nobody cut, for what came is whole.
        assert_eq!(attempt.detail.as_deref(), Some("partial"));
        let stored = captures.read(&entry).unwrap();
        assert_eq!(stored.truncated(), Some("unspecified"));
        let mut bytes = Vec::new();
        stored.raw().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"hello", "as it came");
        assert_eq!(searched.found("hello"), [""; 0], "{}", corner.name);
        assert_eq!(searched.found("honest").len(), 2, "others are found");
    }
}

#[test]
fn http_32() {
    for corner in corners_of("HTTP-32") {
        let door = open(&corner);
        let other = open(&teia_city::corner("HTTP-12", "honest"));
        let mut config = crawl_config();
        config.run.max_time = Some(Duration::from_secs(4));
        let crawled = crawl(
            &config,
            &[
                door.named("busy.test", "/"),
                door.named("busy.test", "/trick2"),
                other.named("other.test", "/"),
            ],
        );
        let attempts = crawled.all(&door.named("busy.test", "/"));
        assert!(
            !attempts.is_empty() && attempts.len() <= 2,
            "{:?}",
            crawled.told()
        );
        assert_eq!(attempts[0].outcome.retry(), Retry::Host);
        let seven_days = Duration::from_secs(7 * 86_400);
        let minute = Duration::from_secs(60);
        let teia_base::journal::Next::RetryAt(moment) = attempts[0].next else {
            panic!("{}: {:?}", corner.name, attempts[0].next);
        };
        let wait = moment.since(attempts[0].started);
        let second = Duration::from_secs(1);
        assert!(
            (second..=seven_days + minute).contains(&wait),
            "{}: {wait:?}",
            corner.name
        );
        if corner.name.starts_with("decade") {
            assert!(wait >= seven_days - minute, "{wait:?}");
        }
        // The whole host rests: no two requests for pages of it within that time.
        let busy = |attempt: &&Attempt| attempt.url.normal().host_str() == "busy.test";
        let pages = crawled.attempts.iter().filter(busy);
        let asked: Vec<_> = pages
            .filter(|one| !one.is_robots() && one.answered)
            .collect();
        for pair in asked.windows(2) {
            let [one, two] = pair else { unreachable!() };
            let between = two.started.since(one.started);
            assert!(between >= second, "{}: {between:?}", corner.name);
        }
        if corner.name.starts_with("decade") {
            assert_eq!(asked.len(), 1, "the other page waits with it");
        }
        assert!(
            crawled
                .last(&other.named("other.test", "/"))
                .outcome
                .is_ok()
        );
    }
}

#[tokio::test]
async fn http_33() {
    for (name, status) in [("999", 999), ("520", 520), ("600", 600)] {
        let visit = Visit::to("HTTP-33", name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(status));
        assert_eq!(exchange.outcome.retry(), Retry::Temporary);
        visit.leave().await;
    }
}

#[test]
fn http_33_is_tried_again_and_not_for_ever() {
    let (door, crawled) = crawl_corner("HTTP-33", "520");
    assert_eq!(crawled.all(&door.url("/")).len(), 2);
}

/// A kept connection that ends when it is used again is no try of the page, and leaves nothing but a line in the log: the
/// page is asked for once more, on a new connection, after the host's gap.
#[test]
fn http_34() {
    const GAP: Duration = Duration::from_millis(600);
    for corner in corners_of("HTTP-34") {
        let door = open(&corner);
        let seeds = [door.url("/"), door.url("/trick-again")];
        let mut config = crawl_config();
        config.run.retries = 0;
        config.politeness.delay = GAP;
        let crawled = crawl(&config, &seeds);
        for url in &seeds {
            let last = crawled.last(url);
            assert!(last.outcome.is_ok(), "{:?}", crawled.told());
            assert_eq!(last.try_number, 1, "{}", corner.name);
            let captures = crawled.all(url);
            let captures = captures.iter().filter(|one| one.capture.is_some());
            assert_eq!(captures.count(), 1, "never a second record");
        }
        assert_eq!(crawled.count("failed"), 0, "nothing is lost");
        let is_lost = |one: &&Attempt| one.outcome == Outcome::CONNECT_FAILED;
        let lost: Vec<_> = crawled.attempts.iter().filter(is_lost).collect();
        let [lost] = lost[..] else {
            panic!("counted, once: {:?}", crawled.told());
        };
        assert_eq!(lost.try_number, 0, "no try of the page");
        let told = teia_engine::tell_attempt(lost);
        assert!(told.contains("no failure, it is asked for again"), "{told}");
        // One connection for robots.txt, a page and the lost request, and one for the page that was lost.
        assert_eq!(door.connections(), 2, "a new connection");
        let again = crawled.last(lost.url.request());
        let between = again.started.since(lost.started);
        assert!(between >= GAP, "{}: {between:?}", corner.name);
    }
}

/// What ends on a new connection as well is a failure like any other.
#[test]
fn http_34_counts_the_second_time() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
    let door = open_answers(vec![vec![Step::say(page)], vec![Step::Reset]]);
    let seeds = [door.url("/"), door.url("/trick-again")];
    let crawled = crawl(&crawl_config(), &seeds);
    let of_reset = |url: &&String| !crawled.last(url).outcome.is_ok();
    let reset: Vec<_> = seeds.iter().filter(of_reset).collect();
    let [url] = reset[..] else {
        panic!("{:?}", crawled.told());
    };
    let tries: Vec<u8> = crawled.all(url).iter().map(|one| one.try_number).collect();
    assert_eq!(
        tries,
        [0, 1, 2],
        "one that is no try, and those that settings say"
    );
    assert_eq!(crawled.last(url).next, Next::Failed);
}

/// The same for robots.txt: rules are not out of reach for it, and nobody waits.
#[test]
fn http_34_asks_for_the_rules_again() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let door = open_site(move |path| match path {
        "/robots.txt" => Some(vec![Step::say(
            "HTTP/1.1 302 Found\r\nLocation: /rules\r\nContent-Length: 0\r\n\r\n",
        )]),
        "/rules" if asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 => {
            Some(vec![Step::Reset])
        }
        "/rules" => Some(answer(
            "Content-Type: text/plain\r\n",
            "User-agent: *\nDisallow: /last\n",
        )),
        _ => None,
    });
    let mut config = crawl_config();
    config.run.retries = 0;
    config.robots.first_retry = Duration::from_secs(3600);
    config.run.max_time = Some(Duration::from_secs(20));
    let crawled = crawl(&config, &[door.url("/next")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let last = crawled.last(&door.url("/last")).outcome;
    assert_eq!(last, Outcome::ROBOTS_DISALLOWED, "{:?}", crawled.told());
    assert_eq!(door.asked("/rules"), 2, "{:?}", crawled.told());
}

/// A date that cannot be is kept as it came, moves no visit, and is no reason to stop.
#[test]
fn http_35() {
    const REVISIT: Duration = Duration::from_secs(3600);
    for corner in corners_of("HTTP-35") {
        let door = open(&corner);
        let mut config = crawl_config();
        config.mode = Mode::Incremental;
        config.run.revisit = REVISIT;
        config.filter.max_pages = Some(2);
        let disk = SimulatedDisk::new();
        let crawled = crawl_on(&disk, &config, &[door.url("/"), door.url("/next")]);
        let attempt = crawled.last(&door.url("/"));
        assert!(
            attempt.outcome.is_ok(),
            "{}: {:?}",
            corner.name,
            crawled.told()
        );
        for url in [door.url("/"), door.url("/next")] {
            let attempt = crawled.last(&url);
            let Next::Again(due) = attempt.next else {
                panic!("{}: {:?}", corner.name, attempt.next);
            };
            // By our own clock, as for a page without a date.
            let rest = due.since(attempt.started);
            let about = REVISIT..REVISIT + Duration::from_secs(60);
            assert!(about.contains(&rest), "{}: {rest:?}", corner.name);
        }
        // Byte for byte, in what is kept.
        let Trick::Http(answers) = &corner.trick else {
            panic!("a corner of plain HTTP");
        };
        let Step::Say(said) = &answers[0][0] else {
            panic!("which says all at once");
        };
        let date = said
            .split(|byte| *byte == b'\n')
            .find(|line| line.starts_with(b"Last-Modified"));
        let archive = teia_engine::Layout::new("default").unwrap().archive();
        let files: Arc<dyn teia_base::Files> = Arc::new(disk.clone());
        let captures = teia_archive::Captures::open(files, &archive).unwrap();
        let entry = captures
            .find(&door.url("/"), None)
            .unwrap()
            .expect("a capture");
        let stored = captures.read(&entry).unwrap();
        let head = stored.response.head.as_bytes();
        let date = date.unwrap();
        assert!(
            head.windows(date.len()).any(|part| part == date),
            "{}",
            corner.name
        );
    }
}
