//! What goes in comes out, by URL, by time, by number, after rotation, sealing and merging.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use support::{NAMES, Page, all, at, noise, spooled};
use teia_archive::{
    ArchiveConfig, ArchiveError, Captures, Committed, Found, RevisitOf, RevisitProfile, Truncated,
    WarcReader, Writer, export, index_warc, payload_digest,
};
use teia_base::files::SimulatedDisk;
use teia_base::{Body, CaptureId, Chunks, DiskFiles, Files, Flags, Head, Link, LinkKind, Rel};

const DIR: &str = "birds/archive";

fn write(disk: &Arc<SimulatedDisk>, config: &ArchiveConfig, pages: &[Page]) -> Committed {
    let mut writer =
        Writer::open(disk.clone(), Path::new(DIR), config.clone(), NAMES, None).unwrap();
    for page in pages {
        writer.append(&page.records(config), at(0)).unwrap();
    }
    writer.sync().unwrap().unwrap()
}

fn captures(disk: &Arc<SimulatedDisk>) -> Captures {
    Captures::open(disk.clone(), Path::new(DIR)).unwrap()
}

/// Everything of the pages must be found and read.
fn check(captures: &Captures, pages: &[Page]) {
    assert_eq!(captures.all().unwrap().count(), pages.len());
    for page in pages {
        let entry = captures.by_id(CaptureId(page.id)).unwrap().unwrap();
        assert_eq!(entry.url, page.url);
        assert!(captures.versions(&page.url).unwrap().contains(&entry));
        let stored = captures.read(&entry).unwrap();
        assert_eq!(stored.fetched(), Some(page.exchange.started));
        if page.revisit_of.is_none() {
            assert_eq!(
                stored.response.head.as_bytes(),
                page.response().head.as_bytes()
            );
            assert_eq!(
                all(stored.raw()),
                all(page.response().body.reader(0, u64::MAX))
            );
            assert_eq!(stored.response.payload(), page.response().payload());
        }
    }
    let scrubbed = captures.scrub().unwrap();
    assert_eq!(scrubbed.wounds, []);
}

#[test]
fn captures_come_back_as_they_went_in() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig {
        metadata_records: true,
        ..ArchiveConfig::default()
    };
    let large = noise(1, 3 << 20);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n";
    let mut linked = Page::html(1, "http://a.example/", "<p>hello");
    linked.outlinks = vec![Link {
        url: "http://a.example/\r\nforged: yes".into(),
        kind: LinkKind::Anchor,
        rel: Rel::default(),
        anchor: String::new(),
        last_modified: None,
    }];
    let pages = [
        linked,
        Page::chunked(2, "http://a.example/chunked", &["hello ", "world"]),
        Page::html(3, "http://a.example/empty", ""),
        Page::with_head(4, "http://a.example/large", head, spooled(&large), None),
        Page::with_head(
            5,
            "http://a.example/large-in-memory",
            head,
            Body::from(large.clone()),
            None,
        ),
        Page::html(6, "http://a.example/cut", "half").with_flags(Flags::BODY_SHORT, None),
    ];
    write(&disk, &config, &pages);
    let captures = captures(&disk);
    check(&captures, &pages);
    let cut = captures
        .find("http://a.example/cut", None)
        .unwrap()
        .unwrap();
    assert_eq!(captures.read(&cut).unwrap().truncated(), Some("disconnect"));
    let chunked = captures
        .find("http://a.example/chunked", None)
        .unwrap()
        .unwrap();
    assert_eq!(
        all(captures.read(&chunked).unwrap().payload()),
        b"hello world"
    );
    assert_eq!(
        chunked.digest.as_deref(),
        Some("FKXGYNOJJ7H3IFO35FPUBC445EPOQRXN"),
        "digest of the payload"
    );
}

/// Its head says chunked and its body is something else. Teia once wrote the digest of no payload at all for such a body; both
/// are sound, and are found behind damage.
#[test]
fn a_body_that_is_not_chunked_as_it_says_is_no_damage() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "e".repeat(64 << 10));
    for body in [
        "plain",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello",
        "1f",
        "1f\r",
        &extension,
    ] {
        for written_as in [None, Some(Chunks::default())] {
            let disk = Arc::new(SimulatedDisk::new());
            let odd = "http://a.example/odd";
            let body_of = || Body::from(body.as_bytes().to_vec());
            let pages = [
                Page::html(1, "http://a.example/", "<p>hello"),
                Page::with_head(2, odd, head, body_of(), written_as),
            ];
            write(&disk, &ArchiveConfig::default(), &pages);
            let found = captures(&disk);
            assert_eq!(found.scrub().unwrap().wounds, [], "{body:.20?}");
            let entry = found.find(odd, None).unwrap().unwrap();
            let stored = found.read(&entry).unwrap();
            assert_eq!(all(stored.payload()), body.as_bytes());
            let path = Path::new(DIR).join(&entry.file);
            let first = found.find("http://a.example/", None).unwrap().unwrap();
            let mut bytes = disk.read(&path).unwrap();
            bytes[usize::try_from(first.offset).unwrap() + 40] ^= 0xff;
            disk.replace(&path, &bytes).unwrap();
            let (entries, damages) = index_warc(&*disk, &path).unwrap();
            assert_eq!(damages.len(), 1, "{damages:?}");
            assert!(entries.contains(&entry), "{body:.20?} {entries:?}");
        }
    }
}

/// A reason in Latin-1, a media type of 64 KiB and a URL as long as settings let it be are odd, and no damage: not beside the
/// records, and not when the index is sealed or made anew of them.
#[test]
fn an_odd_answer_is_found_in_every_index() {
    let fields = format!("Content-Type: text/{}\r\n", "x".repeat(64 << 10));
    let long_url = format!("http://a.example/{}", "y".repeat(60 << 10));
    let mut eight_bit = Page::html(1, "http://a.example/reason", "hello");
    let head = Bytes::from_static(b"HTTP/1.1 200 tr\xe8s bien\r\n\r\n");
    let response = eight_bit.exchange.response.as_mut().unwrap();
    response.head = Head::new(head, []);
    let pages = [
        eight_bit,
        Page::new(2, "http://a.example/type", &fields, "hello"),
        Page::html(3, &long_url, "hello"),
        Page::html(4, "http://a.example/z", "hello"),
    ];
    let (disk, config) = (Arc::new(SimulatedDisk::new()), ArchiveConfig::default());
    let committed = write(&disk, &config, &pages);
    check(&captures(&disk), &pages);
    // Sealed, with a sorted index.
    let open = || {
        let committed = Some(committed.clone());
        Writer::open(
            disk.clone(),
            Path::new(DIR),
            config.clone(),
            NAMES,
            committed,
        )
        .unwrap()
    };
    open().close(Some(&committed)).unwrap();
    check(&captures(&disk), &pages);
    // Made anew of the records.
    let path = Path::new(DIR).join(&committed.file);
    let (entries, damages) = index_warc(&*disk, &path).unwrap();
    assert_eq!((entries.len(), damages), (pages.len(), vec![]));
    assert!(entries.iter().all(|entry| entry.status == Some(200)));
}

/// Whatever lies in the archive with a digest that is not its own is damage, also where it says that it is chunked.
#[test]
fn another_body_than_the_digest_says_is_damage() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let written = [("plain", "other"), ("5\r\nhello\r\n0\r\n\r\n", "")];
    for (body, digest_of) in written {
        let digest = Page::html(1, "http://a.example/", digest_of);
        let page = Page::with_head(
            2,
            "http://a.example/odd",
            head,
            Body::from(body.as_bytes().to_vec()),
            None,
        );
        let config = ArchiveConfig {
            block_digests: false,
            ..ArchiveConfig::default()
        };
        let disk = Arc::new(SimulatedDisk::new());
        let mut writer =
            Writer::open(disk.clone(), Path::new(DIR), config.clone(), NAMES, None).unwrap();
        let records = page.records_with(&config, payload_digest(digest.response()).unwrap());
        writer.append(&records, at(0)).unwrap();
        writer.sync().unwrap();
        let wounds = captures(&disk).scrub().unwrap().wounds;
        let [wound] = &wounds[..] else {
            panic!("{body:?}: {wounds:?}");
        };
        assert_eq!(wound.what, "a digest does not fit");
    }
}

#[test]
fn no_url_and_no_header_can_forge_a_record() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig::default();
    let fake = "\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://evil.example/\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let inner = Page::html(9, "http://evil.example/", "inner").records(&config);
    let mut embedded = noise(3, 100);
    embedded.extend_from_slice(&all_bytes(&disk, &inner));
    let pages = [
        Page::html(1, &format!("http://a.example/{fake}"), "x"),
        Page::html(2, "http://a.example/body", fake),
        Page::new(
            3,
            "http://a.example/field",
            "X-Evil: \r\n WARC/1.1\r\n",
            fake,
        ),
        Page::new(
            4,
            "http://a.example/embedded",
            "Content-Type: application/warc\r\n",
            embedded,
        ),
    ];
    write(&disk, &config, &pages);
    let captures = captures(&disk);
    assert_eq!(captures.all().unwrap().count(), 4);
    assert!(
        captures
            .find("http://evil.example/", None)
            .unwrap()
            .is_none()
    );
    let name = captures.by_id(CaptureId(1)).unwrap().unwrap().file;
    let path = Path::new(DIR).join(name);
    let mut reader = WarcReader::new(disk.open(&path).unwrap(), &path, 0).unwrap();
    let mut kinds = Vec::new();
    while let Some(found) = reader.next_found().unwrap() {
        let Found::Record(record) = found else {
            panic!("{found:?}")
        };
        kinds.push(record.header.kind().to_owned());
    }
    assert_eq!(
        kinds.join(" "),
        "warcinfo response request response request response request response request"
    );
}

fn all_bytes(disk: &Arc<SimulatedDisk>, records: &teia_archive::Records) -> Vec<u8> {
    let dir = Path::new("aside");
    let mut writer =
        Writer::open(disk.clone(), dir, ArchiveConfig::default(), NAMES, None).unwrap();
    writer.append(records, at(0)).unwrap();
    let committed = writer.sync().unwrap().unwrap();
    disk.read(&dir.join(committed.file)).unwrap()
}

#[test]
fn secrets_stay_out_of_the_archive() {
    let disk = Arc::new(SimulatedDisk::new());
    let committed = write(
        &disk,
        &ArchiveConfig::default(),
        &[Page::html(1, "http://a.example/", "x")],
    );
    let path = Path::new(DIR).join(committed.file);
    let mut reader = WarcReader::new(disk.open(&path).unwrap(), &path, 0).unwrap();
    let mut requests = 0;
    while let Some(Found::Record(record)) = reader.next_found().unwrap() {
        let head = String::from_utf8_lossy(&record.head).into_owned();
        assert!(!head.contains("secret"), "{head}");
        requests += usize::from(head.contains("Cookie: [not archived]"));
    }
    assert_eq!(requests, 1);
}

#[test]
fn a_revisit_has_the_body_of_its_original() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig::default();
    let original = Page::chunked(1, "http://a.example/", &["same ", "body"]);
    let of = |profile| RevisitOf {
        id: Some(CaptureId(1)),
        url: original.url.clone(),
        date: at(1),
        profile,
    };
    let mut same = Page::chunked(2, "http://a.example/", &["same", " body"]);
    same.revisit_of = Some(of(RevisitProfile::IdenticalPayload));
    let mut other = Page::html(3, "http://b.example/copy", "same body");
    other.revisit_of = Some(of(RevisitProfile::IdenticalPayload));
    let mut unchanged = Page::with_head(
        4,
        "http://a.example/",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        Body::empty(),
        None,
    );
    unchanged.revisit_of = Some(of(RevisitProfile::NotModified));
    write(&disk, &config, &[original, same, other, unchanged]);
    let captures = captures(&disk);
    for (id, status) in [(1, 200), (2, 200), (3, 200), (4, 200)] {
        let stored = captures
            .read(&captures.by_id(CaptureId(id)).unwrap().unwrap())
            .unwrap();
        assert_eq!(all(stored.payload()), b"same body", "{id}");
        assert_eq!(stored.response.status, status);
        assert_eq!(stored.original.is_some(), id != 1);
    }
    assert_eq!(captures.scrub().unwrap().wounds, []);
}

#[test]
fn a_revisit_without_original_is_named() {
    let disk = Arc::new(SimulatedDisk::new());
    let mut page = Page::html(1, "http://a.example/", "x");
    page.revisit_of = Some(RevisitOf {
        id: None,
        url: "http://gone.example/".into(),
        date: at(0),
        profile: RevisitProfile::IdenticalPayload,
    });
    write(&disk, &ArchiveConfig::default(), &[page]);
    let captures = captures(&disk);
    let entry = captures.by_id(CaptureId(1)).unwrap().unwrap();
    assert!(matches!(
        captures.read(&entry),
        Err(ArchiveError::NoOriginal { .. })
    ));
    let wounds = captures.scrub().unwrap().wounds;
    assert_eq!(wounds.len(), 1);
    assert_eq!(wounds[0].url.as_deref(), Some("http://a.example/"));
}

#[test]
fn versions_are_found_by_time() {
    let disk = Arc::new(SimulatedDisk::new());
    let pages: Vec<Page> = (1..=3)
        .map(|id| Page::html(id * 10, "http://a.example/x", &format!("v{id}")))
        .collect();
    write(&disk, &ArchiveConfig::default(), &pages);
    let captures = captures(&disk);
    let found = |second| {
        captures
            .find("http://a.example:80/x#top", Some(at(second)))
            .unwrap()
            .unwrap()
            .id
            .unwrap()
            .0
    };
    assert_eq!(
        [found(5), found(10), found(19), found(20), found(999)],
        [10, 10, 10, 20, 30]
    );
    assert_eq!(
        captures
            .find("http://a.example/x", None)
            .unwrap()
            .unwrap()
            .id,
        Some(CaptureId(30))
    );
    assert_eq!(captures.find("http://a.example/y", None).unwrap(), None);
    assert_eq!(
        captures.versions("https://www.a.example/X").unwrap().len(),
        3,
        "what other tools would show"
    );
}

#[test]
fn two_urls_with_one_key_stay_apart() {
    let disk = Arc::new(SimulatedDisk::new());
    let pages = [
        Page::html(1, "http://a.example/x", "small"),
        Page::html(2, "http://a.example/X", "large"),
    ];
    write(&disk, &ArchiveConfig::default(), &pages);
    let captures = captures(&disk);
    assert_eq!(captures.versions("http://a.example/x").unwrap().len(), 1);
    assert_eq!(
        captures
            .find("http://a.example/X", None)
            .unwrap()
            .unwrap()
            .id,
        Some(CaptureId(2))
    );
}

#[test]
fn files_rotate_are_sealed_and_their_indexes_merged() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig {
        max_file_bytes: 4400,
        ..ArchiveConfig::default()
    };
    let mut committed = None;
    let mut pages = Vec::new();
    for round in 0..12_u64 {
        let mut writer = Writer::open(
            disk.clone(),
            Path::new(DIR),
            config.clone(),
            NAMES,
            committed.clone(),
        )
        .unwrap();
        for number in 0..20_u64 {
            let id = round * 20 + number;
            let body = String::from_utf8(noise(id, 1500)).unwrap();
            let page = Page::html(
                id,
                &format!("http://h{}.example/p{}", id % 7, id % 31),
                &body,
            );
            writer.append(&page.records(&config), at(0)).unwrap();
            pages.push(page);
            if number % 6 == 5 {
                committed = writer.sync().unwrap();
                writer.upkeep(committed.as_ref().unwrap()).run().unwrap();
            }
        }
        committed = writer.sync().unwrap();
        check(&captures(&disk), &pages);
        if round % 3 == 0 {
            writer.close(committed.as_ref()).unwrap();
            check(&captures(&disk), &pages);
        }
    }
    let list = disk.list(Path::new(DIR)).unwrap();
    let count = |end: &str| list.iter().filter(|name| name.ends_with(end)).count();
    assert!(count(".warc.gz") > 60, "{list:#?}");
    assert!(
        list.iter()
            .any(|name| name.starts_with("merged-1-00001-00016")),
        "{list:#?}"
    );
    assert!(count(".cdxj") < 40 && count(".cdxj.open") <= 2, "{list:#?}");
    // Losing every index costs time, not captures.
    for name in list
        .iter()
        .filter(|name| name.ends_with(".cdxj") || name.ends_with(".open") || name.ends_with(".ids"))
    {
        disk.remove(&Path::new(DIR).join(name)).unwrap();
    }
    check(&captures(&disk), &pages);
}

#[test]
fn numbers_are_found_without_their_side_file() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig::default();
    let pages: Vec<Page> = (0..50)
        .map(|id| Page::html(id, &format!("http://a.example/{id}"), "x"))
        .collect();
    let committed = write(&disk, &config, &pages);
    let writer = Writer::open(
        disk.clone(),
        Path::new(DIR),
        config,
        NAMES,
        Some(committed.clone()),
    )
    .unwrap();
    writer.close(Some(&committed)).unwrap();
    let ids = committed.file.replace(".warc.gz", ".ids");
    assert!(disk.exists(&Path::new(DIR).join(&ids)));
    check(&captures(&disk), &pages);
    disk.remove(&Path::new(DIR).join(&ids)).unwrap();
    check(&captures(&disk), &pages);
}

#[test]
fn a_full_disk_is_a_pause() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig {
        max_file_bytes: 6000,
        ..ArchiveConfig::default()
    };
    let mut writer =
        Writer::open(disk.clone(), Path::new(DIR), config.clone(), NAMES, None).unwrap();
    let pages: Vec<Page> = (0..40)
        .map(|id| {
            Page::html(
                id,
                &format!("http://a.example/{id}"),
                &String::from_utf8(noise(id, 900)).unwrap(),
            )
        })
        .collect();
    let mut refused = 0;
    for page in &pages {
        let records = page.records(&config);
        disk.set_free_bytes(Some(page.id * 37 % 700));
        while let Err(error) = writer.append(&records, at(0)) {
            assert!(error.is_full_disk(), "{error:?}");
            refused += 1;
            disk.set_free_bytes(Some(100_000));
        }
        disk.set_free_bytes(None);
    }
    assert!(refused > 20, "{refused}");
    let committed = writer.sync().unwrap().unwrap();
    check(&captures(&disk), &pages);
    drop(writer);
    Writer::open(disk.clone(), Path::new(DIR), config, NAMES, Some(committed)).unwrap();
    check(&captures(&disk), &pages);
}

#[test]
fn a_failed_sync_stops_the_writer() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig::default();
    let records = Page::html(1, "http://a.example/", "x").records(&config);
    let mut writer = Writer::open(disk.clone(), Path::new(DIR), config, NAMES, None).unwrap();
    writer.append(&records, at(0)).unwrap();
    disk.set_failing_sync(true);
    assert!(matches!(writer.sync(), Err(ArchiveError::Sync { .. })));
    disk.set_failing_sync(false);
    assert!(matches!(writer.sync(), Err(ArchiveError::Stopped)));
    assert!(matches!(
        writer.append(&records, at(0)),
        Err(ArchiveError::Stopped)
    ));
}

#[test]
fn missing_bytes_and_a_foreign_journal_are_errors() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig::default();
    let committed = write(&disk, &config, &[Page::html(1, "http://a.example/", "x")]);
    let open = |committed| {
        Writer::open(
            disk.clone(),
            Path::new(DIR),
            config.clone(),
            NAMES,
            committed,
        )
    };
    let longer = Committed {
        len: committed.len + 1,
        ..committed.clone()
    };
    let error = open(Some(longer)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&committed.file) && text.contains(&committed.len.to_string()),
        "{text}"
    );
    let other = Committed {
        file: "teia-20200101000000-00009.warc.gz".into(),
        len: 1,
    };
    assert!(matches!(
        open(Some(other)),
        Err(ArchiveError::Missing { found: 0, .. })
    ));
    open(Some(committed.clone()))
        .unwrap()
        .close(Some(&committed))
        .unwrap();
    assert!(matches!(
        open(None),
        Err(ArchiveError::ForeignJournal { .. })
    ));
    check(&captures(&disk), &[Page::html(1, "http://a.example/", "x")]);
}

#[test]
fn exports_hold_what_they_name() {
    let disk = Arc::new(SimulatedDisk::new());
    let config = ArchiveConfig::default();
    let mut revisit = Page::html(3, "http://b.example/", "one");
    revisit.revisit_of = Some(RevisitOf {
        id: Some(CaptureId(1)),
        url: "http://a.example/".into(),
        date: at(1),
        profile: RevisitProfile::IdenticalPayload,
    });
    let pages = [
        Page::html(1, "http://a.example/", "one"),
        Page::html(2, "http://a.example/../../etc/passwd", "two"),
        revisit,
        Page::html(4, "http://c.example/", "four"),
    ];
    write(&disk, &config, &pages);
    let captures = captures(&disk);
    let mut lines = Vec::new();
    assert_eq!(
        export::cdxj(
            &captures,
            &|entry| entry.url.contains("a.example"),
            &mut lines
        )
        .unwrap()
        .captures,
        2
    );
    let mut warc = Vec::new();
    let exported = export::warc(
        &captures,
        &|entry| entry.url.contains("b.example"),
        &mut warc,
    )
    .unwrap();
    assert_eq!(
        (exported.captures, exported.bytes),
        (2, warc.len() as u64),
        "the original comes along"
    );
    let mut file = disk.create(Path::new("export.warc.gz")).unwrap();
    teia_base::AppendFile::append(&mut *file, &warc).unwrap();
    let (entries, damages) = teia_archive::index_warc(&*disk, Path::new("export.warc.gz")).unwrap();
    assert_eq!((entries.len(), damages.len()), (2, 0));
    let target = tempfile::tempdir().unwrap();
    let files = DiskFiles::new(target.path()).unwrap();
    let exported = export::files(&captures, &|_| true, &files, &mut |stored| {
        Ok(Some(all(stored.payload())))
    })
    .unwrap();
    assert_eq!(exported.captures, 4);
    let list = std::fs::read_to_string(target.path().join("files.tsv")).unwrap();
    for line in list.lines() {
        let path = line.split('\t').next().unwrap();
        assert!(target.path().join(path).is_file(), "{path}");
    }
    assert_eq!(
        std::fs::read(target.path().join("b.example/index.html")).unwrap(),
        b"one"
    );
}

#[test]
fn a_capture_cut_by_a_limit_says_which() {
    let config = ArchiveConfig::default();
    let reason = |page: Page| {
        let disk = Arc::new(SimulatedDisk::new());
        write(&disk, &config, std::slice::from_ref(&page));
        let captures = captures(&disk);
        let entry = captures.by_id(CaptureId(page.id)).unwrap().unwrap();
        captures
            .read(&entry)
            .unwrap()
            .truncated()
            .map(str::to_owned)
    };
    let page = || Page::html(1, "http://a.example/", "x");
    assert_eq!(reason(page()), None);
    assert_eq!(
        reason(page().with_flags(Flags::TRUNCATED, None)).as_deref(),
        Some("length")
    );
    assert_eq!(
        reason(page().with_flags(Flags::TRUNCATED, Some("time"))).as_deref(),
        Some("time")
    );
    let mut given = page();
    given.truncated = Some(Truncated::Unspecified);
    assert_eq!(reason(given).as_deref(), Some("unspecified"));
}
