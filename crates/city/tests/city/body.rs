//! Bodies, encodings, character sets.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use teia_archive::{Captures, StoredCapture};
use teia_base::{CharsetSource, Exchange, Files, Flags, Outcome};
use teia_city::{Corner, Step, Trick, corner, corners_of};
use teia_engine::{CollectionConfig, Layout, Mode};
use teia_extract::{Extracted, Extractors, Limits, Source};
use teia_fetch::{DecodeLimits, Decoded, FetchConfig, decode};
use url::Url;

use crate::support::{
    Searched, Visit, answer, crawl, crawl_config, crawl_corner, limits, open, open_answers,
    outcome, thread_time,
};

const TEXT: &str = "<!doctype html><title>packed</title><p>A page of text, a page of text.";

fn decoded(exchange: &Exchange) -> Decoded {
    decode(
        exchange.response.as_ref().unwrap(),
        &DecodeLimits::default(),
    )
}

pub(crate) fn extracted(exchange: &Exchange) -> Extracted {
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

/// What a corner says behind its head.
fn body_said(corner: &Corner) -> Vec<u8> {
    let Trick::Http(answers) = &corner.trick else {
        panic!("{} is a corner of plain HTTP", corner.id);
    };
    let mut said = Vec::new();
    for step in &answers[0] {
        match step {
            Step::Say(bytes) => said.extend_from_slice(bytes),
            Step::Repeat(bytes, times) => said.extend(bytes.repeat(*times)),
            step => panic!("{step:?}"),
        }
    }
    let head = said.windows(4).position(|four| four == b"\r\n\r\n");
    said.split_off(head.unwrap() + 4)
}

/// In a crawl: a final outcome, nothing of it taken for a page, and one record with the bytes as they came, which are whole
/// unless they were cut on their way in.
fn archived(id: &str, name: &str, outcome: Outcome, config: &CollectionConfig) -> StoredCapture {
    let corner = corner(id, name);
    let door = open(&corner);
    let crawled = crawl(config, &[door.url("/"), door.url("/next")]);
    let attempt = crawled.last(&door.url("/"));
    assert_eq!(
        attempt.outcome,
        outcome,
        "{id} {name}: {:?}",
        crawled.told()
    );
    assert_eq!(crawled.all(&door.url("/")).len(), 1, "{id} {name}: final");
    assert!(attempt.capture.is_some() && attempt.answered, "{id} {name}");
    assert!(attempt.links.is_empty() && attempt.title.is_empty());
    // What was given up on the way is marked; of too many layers none was undone.
    let is_cut = outcome != Outcome::DECODE_CHAIN_TOO_LONG;
    assert_eq!(attempt.flags.has(Flags::TRUNCATED), is_cut, "{id} {name}");
    let next = crawled.last(&door.url("/next"));
    assert!(next.outcome.is_ok(), "{id} {name}: {:?}", crawled.told());
    let files: Arc<dyn Files> = Arc::new(crawled.disk.clone());
    let archive = Layout::new("default").unwrap().archive();
    let captures = Captures::open(files, &archive).unwrap();
    let versions = captures.versions(&door.url("/")).unwrap();
    assert_eq!(versions.len(), 1, "{id} {name}: one record");
    let stored = captures.read(&versions[0]).unwrap();
    let mut bytes = Vec::new();
    let mut reader = stored.response.body.reader(0, u64::MAX);
    reader.read_to_end(&mut bytes).unwrap();
    let said = body_said(&corner);
    let is_whole = stored.truncated().is_none();
    assert!(said.starts_with(&bytes), "{id} {name}: as it came");
    assert_eq!(bytes.len() == said.len(), is_whole, "{id} {name}");
    stored
}

#[test]
fn body_01_is_archived_and_marked() {
    // All that came over the wire is there: what was cut is what it unpacks to. The attempt is marked so; a record that said
    // so of its block would say what is not true (ARC-05).
    let stored = archived("BODY-01", "gzip", Outcome::DECODE_BOMB, &crawl_config());
    assert_eq!(stored.truncated(), None);
    // A bomb that is larger than a body may be on the wire: the record says that it was cut, and why.
    let mut config = crawl_config();
    config.fetch.body_wire_bytes = 4 << 20;
    let stored = archived("BODY-01", "gzip", Outcome::DECODE_BOMB, &config);
    assert_eq!(stored.truncated(), Some("length"));
    assert_eq!(stored.response.body.len(), 4 << 20);
}

#[test]
fn body_02_is_archived_and_marked() {
    let stored = archived("BODY-02", "brotli", Outcome::DECODE_BOMB, &crawl_config());
    assert_eq!(stored.truncated(), None);
}

#[test]
fn body_03_is_archived_and_marked() {
    for (name, outcome) in [
        ("zstd", Outcome::DECODE_BOMB),
        ("window", Outcome::DECODE_ERROR),
    ] {
        let stored = archived("BODY-03", name, outcome, &crawl_config());
        assert_eq!(stored.truncated(), None, "{name}");
    }
}

#[test]
fn body_04_is_archived_and_marked() {
    let outcome = Outcome::DECODE_ERROR;
    let stored = archived("BODY-04", "large-window", outcome, &crawl_config());
    assert_eq!(stored.truncated(), None);
}

#[test]
fn body_05_is_archived_and_marked() {
    for corner in corners_of("BODY-05") {
        let outcome = Outcome::DECODE_CHAIN_TOO_LONG;
        let stored = archived("BODY-05", corner.name, outcome, &crawl_config());
        assert_eq!(stored.truncated(), None, "{}", corner.name);
    }
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

/// Damaged as it is, a page with a text is a page: kept, flagged, and found.
#[test]
fn body_06_is_found() {
    for (name, is_damaged) in [
        ("members", false),
        ("garbage", true),
        ("no-trailer", true),
        ("wrong-crc", true),
    ] {
        let door = open(&corner("BODY-06", name));
        let searched = Searched::crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
        let attempt = searched.last(&door.url("/"));
        assert_eq!(attempt.outcome, Outcome::http(200), "{name}");
        assert_eq!(attempt.flags.has(Flags::DECODE_PARTIAL), is_damaged);
        assert_eq!(attempt.detail.is_some(), is_damaged, "{name}");
        assert!(attempt.capture.is_some() && attempt.title == "packed");
        assert_eq!(searched.found("packed"), [door.url("/")], "{name}");
        assert!(searched.last(&door.url("/next")).outcome.is_ok());
    }
}

/// Where nothing comes out that anybody could read, it is no page.
#[test]
fn body_06_without_a_text_is_no_page() {
    let body = b"\x1f\x8b\x08\0\0\0\0\0\0\xff and then nothing that deflate knows";
    let door = open_answers(vec![answer(
        "Content-Type: text/html\r\nContent-Encoding: gzip\r\n",
        body,
    )]);
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let attempt = crawled.last(&door.url("/"));
    assert_eq!(attempt.outcome, Outcome::DECODE_ERROR);
    assert!(attempt.capture.is_some() && attempt.text_digest.is_none());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
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

/// Each step of the order decides once, and what it decided is kept, and told.
#[test]
fn body_12_is_stored_with_its_source() {
    let page = |label: &str, mark: &[u8], meta: &str| {
        let media_type = format!("Content-Type: text/html{label}\r\n");
        let text = format!("<!doctype html>{meta}<title>t</title><p>");
        answer(
            &media_type,
            [mark, text.as_bytes(), b"caf\xc3\xa9"].concat(),
        )
    };
    let (mark, label) = (b"\xef\xbb\xbf".as_slice(), "; charset=koi8-r");
    let (meta, late) = ("<meta charset=iso-8859-2>", " ".repeat(1024));
    let late = format!("{late}{meta}");
    let cases = [
        (page(label, mark, meta), "UTF-8", CharsetSource::Bom),
        (page(label, b"", meta), "KOI8-R", CharsetSource::Http),
        (page("", b"", meta), "ISO-8859-2", CharsetSource::Meta),
        // Beyond the first kilobyte nobody looks, where the bytes are plain.
        (page("", b"", &late), "UTF-8", CharsetSource::Detected),
        (page("", b"", ""), "UTF-8", CharsetSource::Detected),
    ];
    for (steps, name, source) in cases {
        let door = open_answers(vec![steps]);
        let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
        let attempt = crawled.last(&door.url("/"));
        let charset = attempt.charset.as_ref().expect("a charset");
        assert_eq!((charset.name.as_str(), charset.source), (name, source));
        let told = teia_engine::tell_attempt(attempt);
        assert!(told.contains(&format!("charset {name}, by ")), "{told}");
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
}

#[tokio::test]
async fn body_13() {
    for (name, charset, title) in [
        ("le-bom", Some("UTF-16LE"), "café"),
        ("be-bom", Some("UTF-16BE"), "café"),
        ("le", Some("UTF-16LE"), "café"),
        ("be", Some("UTF-16BE"), "café"),
        ("le-bare", Some("UTF-16LE"), "café"),
        ("be-bare", Some("UTF-16BE"), "café"),
        // Never honoured: their bytes are plain.
        ("utf-7", Some("UTF-8"), "plain"),
        ("utf-32", Some("UTF-8"), "plain"),
    ] {
        let visit = Visit::to("BODY-13", name);
        let page = extracted(&visit.trick().await);
        assert_eq!(page.title, title, "{name}: {:?}", page.charset);
        assert_eq!(page.charset, charset, "{name}");
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

/// A title of each of the five: found in search where the label is right; where it is wrong, flagged.
#[test]
fn body_15_is_found() {
    // `日本語の本`, `中文网页`, `日本語の本`, `한국어 책`, `Привет`, as each of them writes it.
    let cases: [(&str, &[u8], &str); 5] = [
        ("iso-2022-jp", b"\x1b$BF|K\\8l$NK\\\x1b(B", "日本語の本"),
        ("gbk", b"\xd6\xd0\xce\xc4\xcd\xf8\xd2\xb3", "中文网页"),
        (
            "shift_jis",
            b"\x93\xfa\x96{\x8c\xea\x82\xcc\x96{",
            "日本語の本",
        ),
        ("euc-kr", b"\xc7\xd1\xb1\xb9\xbe\xee \xc3\xa5", "한국어 책"),
        ("koi8-r", b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
    ];
    for (charset, bytes, text) in cases {
        let page = |label: &str| {
            let fields = format!("Content-Type: text/html; charset={label}\r\n");
            let parts: [&[u8]; 5] = [b"<title>", bytes, b"</title><p>", bytes, b" 1"];
            answer(&fields, parts.concat())
        };
        let door = open_answers(vec![page(charset)]);
        let searched = Searched::crawl(&crawl_config(), &[door.url("/")]);
        let attempt = searched.last(&door.url("/"));
        assert_eq!(attempt.title, text, "{charset}");
        assert!(!attempt.flags.has(Flags::CHARSET_FALLBACK), "{charset}");
        assert_eq!(searched.found(text), [door.url("/")], "{charset}");
        // Labelled as something else. All of ISO-2022-JP is ASCII, which no label makes wrong.
        let door = open_answers(vec![page("utf-8")]);
        let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
        let attempt = crawled.last(&door.url("/"));
        assert!(attempt.outcome.is_ok(), "{charset}");
        let is_flagged = attempt.flags.has(Flags::CHARSET_FALLBACK);
        assert_eq!(is_flagged, charset != "iso-2022-jp", "{charset}");
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    }
}

#[tokio::test]
async fn body_16() {
    // NUL in a field of the head is no head, whatever field it is (RFC 9110, 5.5).
    let nul = answer("Content-Type: text/html; charset=koi8\0-r\r\n", TEXT);
    let visit = Visit::at(open_answers(vec![nul]), limits());
    crate::support::invalid(&visit.trick().await, "http_bad_header");
    visit.leave().await;
    for corner in corners_of("BODY-16") {
        let visit = Visit::to("BODY-16", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        let page = extracted(&exchange);
        assert_eq!(page.title, "packed", "{}", corner.name);
        // The default path: nobody believed the label.
        let seen = (page.charset, page.charset_source);
        let wanted = match corner.name {
            // The label of a browser's own reading: up to the missing second quote.
            "quotes" => seen,
            _ => (Some("UTF-8"), CharsetSource::Detected),
        };
        assert_eq!(seen, wanted, "{}", corner.name);
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

/// (Without the watch for traps, which would leave most of them out.)
#[test]
fn body_22() {
    const PAGES: usize = 9999;
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
    let mut config = crawl_config();
    config.traps.enabled = false;
    let searched = Searched::crawl(&config, &[door.url("/")]);
    let pages = searched.attempts.iter().filter(|one| one.title == "same");
    let (repeated, first): (Vec<_>, Vec<_>) = pages.partition(|one| one.revisit.is_some());
    assert_eq!(repeated.len() + first.len(), PAGES);
    // Those in one window with the first may not know of it yet.
    assert!(repeated.len() > PAGES * 9 / 10, "{}", repeated.len());
    // Stored once, and notes that point there.
    for entry in searched.captures().all().unwrap() {
        let entry = entry.unwrap();
        if repeated.iter().any(|one| one.capture == entry.id) {
            assert!(entry.is_revisit(), "{entry:?}");
        }
    }
    // One hit for all of them.
    assert_eq!(searched.found("everywhere").len(), 1);
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
