//! The archive: what a server may try to write into it.

use std::sync::Arc;

use teia_archive::{Captures, StoredCapture};
use teia_base::{Files, Flags, Outcome, Protocol};
use teia_city::{Door, Step, corner};
use teia_engine::{CollectionConfig, Layout};

use crate::support::{Crawled, answer, crawl, crawl_config, html, open, open_site};

/// A crawl of this page and the next one; every record that it wrote is found good.
fn archived(page: Vec<Step>) -> (Door, Crawled, Captures) {
    archived_with(&crawl_config(), page)
}

fn archived_with(config: &CollectionConfig, page: Vec<Step>) -> (Door, Crawled, Captures) {
    let door = open_site(move |path| (path == "/").then(|| page.clone()));
    let crawled = crawl(config, &[door.url("/"), door.url("/next")]);
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

/// The record before them is damaged, so that a scanner looks for the next one and meets those of the body first.
#[test]
fn arc_02_after_damage() {
    let door = open_site(|path| {
        let record = |path: &str| member_of("response", path, None, GOOD, "");
        match path {
            "/" => Some(html(record("/forged").repeat(20))),
            _ => None,
        }
    });
    let mut config = crawl_config();
    // As they come: what is packed anew looks like nothing.
    config.archive.warc.level = 0;
    let crawled = crawl(&config, &[door.url("/"), door.url("/next")]);
    let captures = scrubbed(&crawled);
    let entry = captures.find(&door.url("/"), None).unwrap().unwrap();
    let path = Layout::new("default").unwrap().archive().join(&entry.file);
    let whole = crawled.disk.read(&path).unwrap();
    let at = usize::try_from(entry.offset).unwrap();
    let is_visible = whole[at + 1..]
        .windows(3)
        .any(|part| part == b"\x1f\x8b\x08");
    assert!(
        is_visible,
        "the forged records lie in the file as they came"
    );
    let (before, _) = teia_archive::index_warc(&crawled.disk, &path).unwrap();
    let mut damaged = whole;
    damaged[at + 2] ^= 0xff;
    crawled.disk.replace(&path, &damaged).unwrap();
    let (after, damages) = teia_archive::index_warc(&crawled.disk, &path).unwrap();
    assert_eq!(damages.len(), 1, "{damages:?}");
    assert_eq!(damages[0].offset, entry.offset);
    // That record only is lost, and none is won.
    let of = |entries: &[teia_archive::CdxEntry]| -> Vec<(u64, String)> {
        let entries = entries.iter();
        entries.map(|it| (it.offset, it.url.clone())).collect()
    };
    let mut wanted = of(&before);
    wanted.retain(|(offset, _)| *offset != entry.offset);
    assert_eq!(of(&after), wanted);
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

/// The reason in the archive is the true one, and the digest is that of what is stored.
#[test]
fn arc_05() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    let cases = [
        // The connection broke off.
        (
            vec![
                Step::say(format!("{head}Content-Length: 1000\r\n\r\nonly this")),
                Step::Close,
            ],
            "disconnect",
            b"only this".to_vec(),
            "d64d8453f408269f5fa1f38e5f6b09844702a89f",
        ),
        // It was longer than what is read. (A page that is found would be refused as a whole.)
        (
            vec![
                Step::say("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n"),
                Step::Endless(vec![b'x'; 4096]),
            ],
            "length",
            vec![b'x'; 64 << 10],
            "fbadff70297af63cddef846e9006c774da8b7fb0",
        ),
        // Nothing more came, and nobody said that it was over.
        (
            vec![Step::say(format!("{head}\r\nhello")), Step::silence()],
            "time",
            b"hello".to_vec(),
            "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d",
        ),
    ];
    for (page, reason, wanted, digest) in cases {
        let mut config = crawl_config();
        config.filter.max_size = 64 << 10;
        let (door, crawled, captures) = archived_with(&config, page);
        let attempt = crawled.last(&door.url("/"));
        let told = crawled.told();
        assert!(
            attempt.capture.is_some(),
            "{reason}: what came is archived: {told:?}"
        );
        let is_flagged =
            attempt.flags.has(Flags::TRUNCATED) || attempt.flags.has(Flags::BODY_SHORT);
        assert!(is_flagged, "{reason}: {:?}", crawled.told());
        let stored = stored(&captures, &door.url("/"));
        assert_eq!(stored.truncated(), Some(reason));
        assert!(body(&captures, &door.url("/")) == wanted, "{reason}");
        assert_eq!(sha1_of(attempt), digest, "{reason}");
    }
    // And none where nothing is missing.
    let (door, _, captures) = archived(html("whole"));
    assert_eq!(stored(&captures, &door.url("/")).truncated(), None);
}

fn sha1_of(attempt: &teia_base::journal::Attempt) -> String {
    let digest = attempt.payload_sha1.unwrap();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
    assert_eq!(sha1_of(attempt), "2aae6c35c94fcfb415dbe95f408b9ce91ee846ed");
}

#[test]
fn arc_07() {
    let door = open(&corner("H2-11", "http2"));
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let attempt = crawled.last(&door.url("/"));
    assert!(attempt.outcome.is_ok(), "{:?}", crawled.told());
    assert_eq!(attempt.protocol, Protocol::H2);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
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
        let text = text.to_ascii_lowercase();
        // Wherever it stands among the headers of a request; what the server set is its own to tell.
        assert!(!text.contains("hunter2") && !text.contains("\r\ncookie: session"));
        // Nor as a header spells it: `ann:hunter2` in base 64, in small letters.
        assert!(!text.contains("yw5uomh1bnrlcji"), "{name}");
    }
    assert!(requests >= 2, "{requests}");
    let is_sent = |head: &String| head.to_ascii_lowercase().contains("\r\ncookie: session");
    assert!(door.requests().iter().any(is_sent), "there was one to hide");
}

/// With a login, and through a proxy with one: each of the three fields stands in the archive with the mark, and without its value.
#[test]
fn arc_13_marks_what_it_leaves_out() {
    let door = open_site(|path| {
        let fields = "Content-Type: text/html\r\nSet-Cookie: session=tellnobody\r\n";
        path.ends_with("/page").then(|| answer(fields, "page"))
    });
    let page = "http://inner.test/page";
    let mut config = crawl_config();
    config.fetch.cookies = true;
    config.fetch.proxy = Some(format!("http://bob:proxysecret@{}", door.address()).into());
    let logins = teia_fetch::Logins::default().token(&page.parse().unwrap(), "hunter2");
    let parts = teia_engine::Parts {
        authenticator: Some(Arc::new(logins)),
        ..teia_engine::Parts::default()
    };
    let seeds = [page.to_owned(), format!("{page}?again=/page")];
    let disk = teia_base::SimulatedDisk::new();
    let both = (parts, teia_engine::Control::default());
    let crawled = crate::support::crawl_by(&disk, &config, &seeds, both);
    assert!(crawled.last(page).outcome.is_ok(), "{:?}", crawled.told());
    scrubbed(&crawled);
    let layout = Layout::new("default").unwrap();
    let mut text = String::new();
    for name in disk.list(&layout.archive()).unwrap() {
        if name.ends_with(".warc.gz") {
            text += &unpacked(&disk, &layout.archive().join(&name));
        }
    }
    let sent = door.requests().concat();
    for (field, secret) in [
        ("Authorization", "hunter2"),
        ("Proxy-Authorization", "Ym9iOnByb3h5c2VjcmV0"),
        ("Cookie", "session=tellnobody"),
    ] {
        let line = format!("\r\n{field}: ");
        let value = sent.split(&line).nth(1).unwrap_or_default();
        let value = value.lines().next().unwrap_or_default();
        assert!(value.contains(secret), "{field} was sent: {value:?}");
        let marked = format!("\r\n{field}: [not archived]\r\n");
        assert!(text.contains(&marked), "{field} is marked");
        let requests = text.split("WARC-Type: request").skip(1);
        for request in requests {
            let request = request.split("WARC-Type: ").next().unwrap_or_default();
            assert!(!request.contains(secret), "{field}");
        }
    }
}

pub(crate) fn unpacked(files: &dyn Files, path: &std::path::Path) -> String {
    let packed = files.read(path).unwrap();
    let mut text = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(packed.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// The file that has a page is lost; the page itself did not change.
#[test]
fn arc_08() {
    const PAGE: &str = "<p>the same words at every visit</p>";
    let door = open_site(|path| match path {
        "/plain" => Some(html(PAGE)),
        "/tagged" => Some(answer(
            "Content-Type: text/html\r\nETag: \"one\"\r\n",
            "tagged words",
        )),
        _ => None,
    });
    let mut config = crawl_config();
    config.mode = teia_engine::Mode::Periodic;
    // One capture in each file.
    config.archive.warc.max_file_bytes = 1;
    let disk = teia_base::SimulatedDisk::new();
    let seeds = [door.url("/plain"), door.url("/tagged"), door.url("/next")];
    let first = crate::support::crawl_on(&disk, &config, &seeds);
    let layout = Layout::new("default").unwrap();
    let captures = scrubbed(&first);
    let lost = captures.find(&door.url("/plain"), None).unwrap().unwrap();
    let again = crate::support::crawl_on(&disk, &config, &seeds);
    assert!(
        again.last(&door.url("/plain")).revisit.is_some(),
        "{:?}",
        again.told()
    );
    // Damaged in the middle, as a disk does it.
    let path = layout.archive().join(&lost.file);
    let mut bytes = disk.read(&path).unwrap();
    let (from, until) = (
        usize::try_from(lost.offset).unwrap(),
        usize::try_from(lost.offset + lost.length).unwrap(),
    );
    bytes[from..until].fill(0);
    disk.replace(&path, &bytes).unwrap();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let found = Captures::open(Arc::clone(&files), &layout.archive())
        .unwrap()
        .scrub()
        .unwrap();
    assert!(!found.wounds.is_empty(), "a scrub finds it");
    let third = crate::support::crawl_on(&disk, &config, &seeds);
    let page = third.last(&door.url("/plain"));
    assert!(
        page.outcome.is_ok() && page.revisit.is_none(),
        "stored in full: {:?}",
        third.told()
    );
    let captures = Captures::open(files, &layout.archive()).unwrap();
    assert_eq!(body(&captures, &door.url("/plain")), PAGE.as_bytes());
    assert!(third.last(&door.url("/next")).outcome.is_ok());
}

/// A good block, its digest, and that of an empty one.
const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const GOOD_DIGEST: &str = "EIXNIFVWRF6HI2HGZIS7J43FJMLM4H6K";
const EMPTY_DIGEST: &str = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";

/// One record in a gzip member of its own; its length as it says, or as it is.
fn member(kind: &str, path: &str, says: Option<usize>, block: &[u8]) -> Vec<u8> {
    let digest = match block {
        b"" => EMPTY_DIGEST,
        _ => GOOD_DIGEST,
    };
    member_of(kind, path, says, block, digest)
}

fn member_of(kind: &str, path: &str, says: Option<usize>, block: &[u8], digest: &str) -> Vec<u8> {
    use std::io::Write as _;
    let length = says.unwrap_or(block.len());
    let head = format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n\
         WARC-Date: 2026-11-16T12:00:00Z\r\nWARC-Target-URI: http://a.test{path}\r\nWARC-Block-Digest: sha1:{digest}\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {length}\r\n\r\n"
    );
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for part in [head.as_bytes(), block, b"\r\n\r\n"] {
        packer.write_all(part).unwrap();
    }
    packer.finish().unwrap()
}

/// An archive of a stranger. There is no import; what reads archives reads this within its limits.
#[test]
fn arc_12() {
    use teia_archive::{Found, ReadLimits, WarcReader};
    const TINY: usize = 20_000;
    let zeros = vec![0; 128 << 20];
    let mut archive = member("response", "/first", None, GOOD);
    for hostile in [
        member("response", "/bomb", None, &zeros),
        member("response", "/longer", Some(10), &zeros),
        member("response", "/shorter", Some(1 << 40), GOOD),
        member("response", "/huge", Some(usize::MAX), GOOD),
        member("x-evil", "/evil", None, GOOD),
        member("continuation", "/part", None, GOOD),
        member("response\r\nWARC-Type: request", "/two", None, GOOD),
    ] {
        archive.extend(hostile);
        archive.extend(member("response", "/between", None, GOOD));
    }
    archive.extend(member("metadata", "/tiny", None, b"").repeat(TINY));
    archive.extend(member("response", "/last", None, GOOD));
    let disk = teia_base::SimulatedDisk::new();
    let path = std::path::Path::new("stranger.warc.gz");
    disk.replace(path, &archive).unwrap();
    let before = crate::support::thread_time();
    let limits = ReadLimits {
        max_block_bytes: 64 << 20,
        ..ReadLimits::default()
    };
    let reader = WarcReader::new(disk.open(path).unwrap(), path, 0).unwrap();
    let mut reader = reader.with_limits(limits);
    let (mut paths, mut damages, mut others) = (Vec::new(), Vec::new(), 0);
    while let Some(found) = reader.next_found().unwrap() {
        match found {
            Found::Record(record) if record.header.kind() == "response" => {
                let url = record.header.url().unwrap_or_default();
                paths.push(url.trim_start_matches("http://a.test").to_owned());
                assert!(record.body.len() <= 64 << 20);
            }
            Found::Record(_) => others += 1,
            Found::Damage(damage) => damages.push(damage),
        }
    }
    let count = |wanted: &str| paths.iter().filter(|path| *path == wanted).count();
    assert_eq!(
        (count("/first"), count("/between"), count("/last")),
        (1, 7, 1),
        "{damages:?}"
    );
    assert_eq!(
        (count("/bomb"), count("/shorter"), count("/huge")),
        (0, 0, 0),
        "{paths:?}"
    );
    assert!(others >= TINY, "{others}");
    assert!(damages.len() >= 3, "{damages:?}");
    assert!(
        damages
            .iter()
            .all(|damage| damage.offset > 0 && !damage.what.is_empty())
    );
    let spent = crate::support::thread_time() - before;
    assert!(spent < std::time::Duration::from_secs(20), "{spent:?}");
}
