//! The archive: what a server may try to write into it.

use std::sync::Arc;

use teia_archive::{Captures, StoredCapture};
use teia_base::{Files, Flags, Outcome, Protocol};
use teia_city::{Door, Step, corner};
use teia_engine::Layout;

use crate::support::{Crawled, answer, crawl, crawl_config, html, open, open_site};

/// A crawl of this page and the next one; every record that it wrote is found good.
fn archived(page: Vec<Step>) -> (Door, Crawled, Captures) {
    let door = open_site(move |path| (path == "/").then(|| page.clone()));
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let captures = scrubbed(&crawled);
    (door, crawled, captures)
}

/// The archive, after every record of it was read: as many captures as the journal names.
fn scrubbed(crawled: &Crawled) -> Captures {
    let files: Arc<dyn Files> = Arc::new(crawled.disk.clone());
    let layout = Layout::new("default").unwrap();
    let captures = Captures::open(files, &layout.archive()).unwrap();
    let found = captures.scrub().unwrap();
    assert!(found.wounds.is_empty(), "{:?}", found.wounds);
    let named = crawled.attempts.iter().filter(|one| one.capture.is_some());
    let listed = captures.all().unwrap().count();
    assert_eq!(listed, named.count(), "exactly what was written");
    captures
}

fn stored(captures: &Captures, url: &str) -> StoredCapture {
    let entry = captures.find(url, None).unwrap().expect("a capture");
    captures.read(&entry).unwrap()
}

fn body(captures: &Captures, url: &str) -> Vec<u8> {
    let stored = stored(captures, url);
    let mut bytes = Vec::new();
    let mut reader = stored.response.body.reader(0, u64::MAX);
    std::io::Read::read_to_end(&mut reader, &mut bytes).unwrap();
    bytes
}

#[test]
fn arc_01() {
    let forged = "WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let fields = "Content-Type: text/html\r\nX-Evil: a\u{1}b WARC/1.1 WARC-Type: response\r\nETag: \"x\u{85}WARC-Target-URI: http://other.test/\"\r\n";
    let page = format!("<a href='/trick%0d%0aWARC-Type:%20response%00'>x</a>{forged}");
    let (door, crawled, captures) = archived(answer(fields, &page));
    assert_eq!(body(&captures, &door.url("/")), page.as_bytes());
    assert!(crawled.attempts.len() >= 3, "{:?}", crawled.told());
    assert!(captures.find("http://other.test/", None).unwrap().is_none());
    for entry in captures.all().unwrap() {
        let entry = entry.unwrap();
        assert!(!entry.url.contains(['\r', '\n', '\0']), "{}", entry.url);
    }
}

#[test]
fn arc_02() {
    let record = "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://other.test/\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\nContent-Type: application/http\r\nContent-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\r\n\r\n";
    let mut page = record.repeat(50).into_bytes();
    page.extend_from_slice(b"\x1f\x8b\x08\0\0\0\0\0\0\xff");
    page.extend_from_slice(record.as_bytes());
    let (door, _, captures) = archived(html(&page));
    assert_eq!(body(&captures, &door.url("/")), page);
    assert!(captures.find("http://other.test/", None).unwrap().is_none());
}

#[test]
fn arc_04() {
    let (door, crawled, captures) = archived(html(""));
    assert!(crawled.last(&door.url("/")).outcome.is_ok());
    assert!(body(&captures, &door.url("/")).is_empty());
    // More than a number of 32 bits: refused by its head, not wrapped to one byte.
    let (door, crawled, _) = archived(vec![
        Step::say(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4294967297\r\n\r\nx",
        ),
        Step::silence(),
    ]);
    assert_eq!(crawled.last(&door.url("/")).outcome, Outcome::SIZE_EXCEEDED);
}

#[test]
fn arc_05() {
    let (door, crawled, captures) = archived(vec![
        Step::say(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nonly this",
        ),
        Step::Close,
    ]);
    let attempt = crawled.last(&door.url("/"));
    if attempt.capture.is_some() {
        assert!(attempt.flags.has(Flags::TRUNCATED) || attempt.flags.has(Flags::BODY_SHORT));
        assert_eq!(body(&captures, &door.url("/")), b"only this");
        let stored = stored(&captures, &door.url("/"));
        assert_eq!(stored.truncated(), Some("disconnect"));
    } else {
        panic!("what came is archived: {:?}", crawled.told());
    }
}

#[test]
fn arc_06() {
    let wire = "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n";
    let (door, crawled, captures) = archived(vec![Step::say(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n{wire}"
    ))]);
    assert_eq!(
        body(&captures, &door.url("/")),
        wire.as_bytes(),
        "as received"
    );
    let attempt = crawled.last(&door.url("/"));
    // SHA-1 of `hello world`: the payload without its chunks.
    let hex: String = attempt
        .payload_sha1
        .unwrap()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hex, "2aae6c35c94fcfb415dbe95f408b9ce91ee846ed");
}

#[test]
fn arc_07() {
    let door = open(&corner("H2-11", "http2"));
    let crawled = crawl(&crawl_config(), &[door.url("/")]);
    let attempt = crawled.last(&door.url("/"));
    assert!(attempt.outcome.is_ok(), "{:?}", crawled.told());
    assert_eq!(attempt.protocol, Protocol::H2);
    let captures = scrubbed(&crawled);
    let stored = stored(&captures, &door.url("/"));
    let head = stored.response.head.as_bytes();
    assert!(head.starts_with(b"HTTP/1.1 200"), "{head:?}");
    let note = stored.header.get("WARC-Protocol");
    assert_eq!(note, Some("h2"), "{:?}", stored.header);
}

#[test]
fn arc_13() {
    let door = open_site(|path| {
        (path == "/").then(|| {
            answer(
                "Content-Type: text/html\r\nSet-Cookie: session=tellnobody\r\n",
                "page",
            )
        })
    });
    let secret = door.url("/").replace("http://", "http://ann:hunter2@");
    let mut config = crawl_config();
    config.fetch.cookies = true;
    let crawled = crawl(&config, &[secret, door.url("/next")]);
    scrubbed(&crawled);
    let layout = Layout::new("default").unwrap();
    let files: Arc<dyn Files> = Arc::new(crawled.disk.clone());
    let mut requests = 0;
    for name in files.list(&layout.archive()).unwrap() {
        if !name.ends_with(".warc.gz") {
            continue;
        }
        let text = unpacked(&*files, &layout.archive().join(&name));
        requests += text.matches("WARC-Type: request").count();
        assert!(!text.contains("hunter2") && !text.contains("Cookie: session=tellnobody\r\n\r\n"));
    }
    assert!(requests >= 2, "{requests}");
}

fn unpacked(files: &dyn Files, path: &std::path::Path) -> String {
    let packed = files.read(path).unwrap();
    let mut text = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(packed.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}
