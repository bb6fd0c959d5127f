//! Bodies, encodings, character sets.

use std::sync::Arc;
use std::time::Duration;

use teia_archive::Captures;
use teia_base::{Exchange, Files, Flags, Outcome};
use teia_city::{Step, corner, corners_of};
use teia_engine::{Layout, Mode};
use teia_extract::{Extracted, Extractors, Limits, Source};
use teia_fetch::{DecodeLimits, Decoded, FetchConfig, decode};
use url::Url;

use crate::support::{
    Visit, crawl, crawl_config, crawl_corner, limits, open, open_answers, outcome, thread_time,
};

const TEXT: &str = "<!doctype html><title>packed</title><p>A page of text, a page of text.";

fn decoded(exchange: &Exchange) -> Decoded {
    decode(
        exchange.response.as_ref().unwrap(),
        &DecodeLimits::default(),
    )
}

fn extracted(exchange: &Exchange) -> Extracted {
    let response = exchange.response.as_ref().unwrap();
    let url = Url::parse("http://city.test/").unwrap();
    let media_type = response.media_type();
    let bytes = decoded(exchange).bytes;
    Extractors::new(Limits::default()).extract(&Source {
        media_type: media_type.as_ref(),
        ..Source::new(&url, &bytes)
    })
}

/// A body that unpacks to too much: little of it comes out, and it is named.
async fn bomb(id: &str, name: &str) {
    let visit = Visit::to(id, name);
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    let decoded = decoded(&exchange);
    assert_eq!(
        decoded.fault.unwrap().0,
        Outcome::DECODE_BOMB,
        "{:?}",
        decoded.fault
    );
    assert!(decoded.truncated && decoded.bytes.len() <= 32 << 20);
    assert!(decoded.bytes.len() >= 1 << 20, "{}", decoded.bytes.len());
    visit.leave().await;
}

#[tokio::test]
async fn body_01() {
    bomb("BODY-01", "gzip").await;
}

#[test]
fn body_01_is_archived_and_marked() {
    let door = open(&corner("BODY-01", "gzip"));
    let mut config = crawl_config();
    config.filter.max_size = 40 << 20;
    let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
    let attempt = crawled.last(&door.url("/"));
    assert_eq!(attempt.outcome, Outcome::DECODE_BOMB);
    assert!(attempt.flags.has(Flags::TRUNCATED) && attempt.capture.is_some());
    assert_eq!(crawled.all(&door.url("/")).len(), 1, "final");
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[tokio::test]
async fn body_02() {
    bomb("BODY-02", "brotli").await;
}

#[tokio::test]
async fn body_03() {
    bomb("BODY-03", "zstd").await;
    let visit = Visit::to("BODY-03", "window");
    let exchange = visit.trick().await;
    assert_eq!(decoded(&exchange).fault.unwrap().0, Outcome::DECODE_ERROR);
    visit.leave().await;
}

#[tokio::test]
async fn body_04() {
    let visit = Visit::to("BODY-04", "large-window");
    let exchange = visit.trick().await;
    assert_eq!(decoded(&exchange).fault.unwrap().0, Outcome::DECODE_ERROR);
    visit.leave().await;
}

#[tokio::test]
async fn body_05() {
    for corner in corners_of("BODY-05") {
        let visit = Visit::to("BODY-05", corner.name);
        let fault = decoded(&visit.trick().await).fault.unwrap();
        assert_eq!(fault.0, Outcome::DECODE_CHAIN_TOO_LONG, "{}", corner.name);
        visit.leave().await;
    }
}

#[tokio::test]
async fn body_06() {
    for (name, fault) in [
        ("members", None),
        ("garbage", Some(Outcome::DECODE_ERROR)),
        ("no-trailer", Some(Outcome::DECODE_ERROR)),
        ("wrong-crc", Some(Outcome::DECODE_ERROR)),
    ] {
        let visit = Visit::to("BODY-06", name);
        let exchange = visit.trick().await;
        let decoded = decoded(&exchange);
        assert_eq!(decoded.fault.map(|fault| fault.0), fault, "{name}");
        assert_eq!(
            decoded.bytes.as_ref(),
            TEXT.as_bytes(),
            "{name}: what decoded is kept"
        );
        assert_eq!(extracted(&exchange).title, "packed");
        visit.leave().await;
    }
}

#[tokio::test]
async fn body_07() {
    let visit = Visit::to("BODY-07", "plain");
    let decoded = decoded(&visit.trick().await);
    assert_eq!(decoded.bytes.as_ref(), TEXT.as_bytes());
    assert_eq!(decoded.fault, Some((Outcome::DECODE_ERROR, "not_gzip")));
    visit.leave().await;
}

#[tokio::test]
async fn body_08() {
    let visit = Visit::to("BODY-08", "unlabelled");
    let decoded = decoded(&visit.trick().await);
    assert_eq!(decoded.bytes.as_ref(), TEXT.as_bytes());
    assert_eq!(
        decoded.fault,
        Some((Outcome::DECODE_ERROR, "gzip_not_labelled"))
    );
    visit.leave().await;
}

#[tokio::test]
async fn body_09() {
    for corner in corners_of("BODY-09") {
        let visit = Visit::to("BODY-09", corner.name);
        let decoded = decoded(&visit.trick().await);
        assert_eq!(
            (decoded.bytes.as_ref(), decoded.fault),
            (TEXT.as_bytes(), None)
        );
        visit.leave().await;
    }
}

#[tokio::test]
async fn body_10() {
    for corner in corners_of("BODY-10") {
        let visit = Visit::to("BODY-10", corner.name);
        let decoded = decoded(&visit.trick().await);
        let unknown =
            (corner.name == "unknown").then_some((Outcome::DECODE_ERROR, "unknown_coding"));
        assert_eq!(decoded.fault, unknown, "{}", corner.name);
        assert_eq!(decoded.bytes.as_ref(), TEXT.as_bytes(), "{}", corner.name);
        visit.leave().await;
    }
}

/// What cannot be unpacked is kept as it came, and nobody reads it as if it were a page.
#[test]
fn body_10_unknown_is_archived_and_not_parsed() {
    let packed = "<!doctype html><title>packed</title><a href=/found>x</a>";
    let door = open_answers(vec![vec![Step::say(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: x-foo\r\nContent-Length: {}\r\n\r\n{packed}",
        packed.len()
    ))]]);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let attempt = crawled.last(&door.url("/"));
    assert!(attempt.capture.is_some(), "{:?}", crawled.told());
    assert_eq!(attempt.outcome, Outcome::DECODE_ERROR);
    assert!(attempt.links.is_empty() && attempt.title.is_empty());
    assert_eq!(attempt.body_bytes, packed.len() as u64);
    assert_eq!(door.asked("/found"), 0);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[tokio::test]
async fn body_11() {
    let visit = Visit::to("BODY-11", "file");
    let decoded = decoded(&visit.trick().await);
    assert!(
        decoded.bytes.starts_with(&[0x1f, 0x8b]),
        "the file itself stays packed"
    );
    assert_eq!(decoded.fault, None);
    visit.leave().await;
}

#[tokio::test]
async fn body_12() {
    let visit = Visit::to("BODY-12", "three");
    let page = extracted(&visit.trick().await);
    assert_eq!(
        page.charset,
        Some("UTF-8"),
        "the header goes before the meta"
    );
    visit.leave().await;
}

#[tokio::test]
async fn body_13() {
    for (name, charset, title) in [
        ("le-bom", Some("UTF-16LE"), "café"),
        ("be-bom", Some("UTF-16BE"), "café"),
        ("le", Some("UTF-16LE"), "café"),
        ("utf-7", None, "plain"),
        ("utf-32", None, "plain"),
    ] {
        let visit = Visit::to("BODY-13", name);
        let page = extracted(&visit.trick().await);
        assert_eq!(page.title, title, "{name}: {:?}", page.charset);
        if charset.is_some() {
            assert_eq!(page.charset, charset, "{name}");
        }
        assert!(!page.text.contains("<script"), "{name}");
        visit.leave().await;
    }
}

#[tokio::test]
async fn body_14() {
    let visit = Visit::to("BODY-14", "invalid");
    let page = extracted(&visit.trick().await);
    assert_eq!(page.title, "ok");
    assert!(page.text.contains('\u{fffd}'), "{:?}", page.text);
    visit.leave().await;
}

#[tokio::test]
async fn body_15() {
    for (name, title, fallback) in [
        ("right", "Привет", false),
        ("wrong", "Привет", true),
        ("unknown", "plain", false),
    ] {
        let visit = Visit::to("BODY-15", name);
        let page = extracted(&visit.trick().await);
        assert_eq!(page.flags.has(Flags::CHARSET_FALLBACK), fallback, "{name}");
        if name != "wrong" {
            assert_eq!(page.title, title, "{name}");
        }
        visit.leave().await;
    }
}

#[tokio::test]
async fn body_16() {
    for corner in corners_of("BODY-16") {
        let visit = Visit::to("BODY-16", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert_eq!(extracted(&exchange).title, "packed", "{}", corner.name);
        visit.leave().await;
    }
}

#[tokio::test]
async fn body_17() {
    for corner in corners_of("BODY-17") {
        let visit = Visit::to("BODY-17", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        let page = extracted(&exchange);
        assert_eq!(
            page.title, "packed",
            "{}: {:?}",
            corner.name, page.media_type
        );
        visit.leave().await;
    }
}

#[test]
fn body_18() {
    for corner in corners_of("BODY-18") {
        let (door, crawled) = crawl_corner("BODY-18", corner.name);
        let attempt = crawled.last(&door.url("/"));
        assert!(attempt.outcome.is_ok());
        // By its bytes where the label is plainly wrong. (What copies are shown as is the label's, UI-05.)
        let (label, seen) = match corner.name {
            "html-as-png" => ("image/png", "text/html"),
            "png-as-html" => ("text/html", "image/png"),
            "script" => ("text/plain", "text/plain"),
            other => panic!("{other} is a corner without an answer here"),
        };
        assert_eq!(attempt.media_type.as_deref(), Some(seen), "{}", corner.name);
        // The label stays as it came.
        let files: Arc<dyn Files> = Arc::new(crawled.disk.clone());
        let archive = Layout::new("default").unwrap().archive();
        let captures = Captures::open(files, &archive).unwrap();
        let entry = captures.find(&door.url("/"), None).unwrap().unwrap();
        let head = captures.read(&entry).unwrap().response.head;
        assert_eq!(head.text("content-type").as_deref(), Some(label));
        assert_eq!(entry.mime, label, "{}", corner.name);
    }
}

#[test]
fn body_19() {
    let (door, crawled) = crawl_corner("BODY-19", "empty");
    let attempt = crawled.last(&door.url("/"));
    assert_eq!(
        (attempt.outcome, attempt.body_bytes),
        (Outcome::http(200), 0)
    );
    assert!(
        attempt.payload_sha1.is_none() && attempt.revisit.is_none(),
        "empty is equal to nothing"
    );
}

#[tokio::test]
async fn body_20() {
    let visit = Visit::to("BODY-20", "one-line");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    let before = thread_time();
    let page = extracted(&exchange);
    assert!(thread_time() - before < Duration::from_secs(3));
    assert!(page.text.starts_with("word word"));
    visit.leave().await;
}

/// The clock of a page changes each time it is seen; its text hardly does.
#[test]
fn body_21() {
    let words: String = (0..300).map(|n| format!("word{} ", n % 97)).collect();
    let page = |clock: &str| {
        let body = format!("<!doctype html><title>news</title><p>{words}</p><p>{clock}</p>");
        vec![Step::say(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))]
    };
    let door = open_answers(
        (0..60)
            .map(|minute| page(&format!("12:{minute:02}")))
            .collect(),
    );
    let mut config = crawl_config();
    config.mode = Mode::Incremental;
    config.run.revisit = Duration::from_millis(400);
    config.run.max_time = Some(Duration::from_millis(2000));
    let crawled = crawl(&config, &[door.url("/")]);
    let visits = crawled.all(&door.url("/"));
    assert!(visits.len() >= 2, "{:?}", crawled.told());
    for pair in visits.windows(2) {
        let [one, two] = pair else { unreachable!() };
        assert_ne!(one.payload_sha1, two.payload_sha1);
        assert_ne!(one.text_digest, two.text_digest);
        assert!(
            (one.similarity ^ two.similarity).count_ones() <= 3,
            "{:x} {:x}",
            one.similarity,
            two.similarity
        );
    }
    // At the interval that settings say, which no change makes shorter.
    for pair in visits.windows(2) {
        let between = pair[1].started.since(pair[0].started);
        assert!(between >= Duration::from_millis(399), "{between:?}");
    }
    assert!(door.asked("/") <= 6, "{}", door.asked("/"));
}

/// A thousand of the ten thousand: each more costs the same.
#[test]
fn body_22() {
    const PAGES: usize = 1000;
    let same = "<!doctype html><title>same</title><p>the same text everywhere";
    let links: String = (0..PAGES)
        .map(|n| format!("<a href=/trick{n}>{n}</a> "))
        .collect();
    let answer = |body: &str| {
        vec![Step::say(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))]
    };
    let door = open_answers(vec![answer(&links), answer(same)]);
    let crawled = crawl(&crawl_config(), &[door.url("/")]);
    let repeated = crawled
        .attempts
        .iter()
        .filter(|one| one.revisit.is_some())
        .count();
    assert_eq!(crawled.report.fetched, PAGES as u64 + 1);
    // Those in one window with the first may not know of it yet.
    assert!(repeated > PAGES * 9 / 10, "{repeated}");
}

async fn endless(id: &str) {
    for corner in corners_of(id) {
        let impatient = FetchConfig {
            timeout: Duration::from_secs(2),
            ..limits()
        };
        let visit = Visit::with(id, corner.name, impatient);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert!(exchange.flags.has(Flags::TRUNCATED));
        assert_eq!(
            exchange.detail.as_deref(),
            Some("time"),
            "{id} {}",
            corner.name
        );
        assert!(visit.spent() < Duration::from_secs(1));
        visit.leave().await;
    }
}

#[tokio::test]
async fn body_23() {
    endless("BODY-23").await;
}

#[tokio::test]
async fn body_24() {
    endless("BODY-24").await;
}

#[test]
fn body_24_brings_no_links() {
    let door = open(&corner("BODY-24", "events"));
    let mut config = crawl_config();
    config.fetch.timeout = Duration::from_secs(2);
    let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
    assert!(crawled.last(&door.url("/")).links.is_empty());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}
