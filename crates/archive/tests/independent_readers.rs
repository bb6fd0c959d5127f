//! Our files before other people's programs: warcio, cdxj-indexer, surt and pywb.
//!
//! Runs where `TEIA_PYTHON` names a Python that has them (`tools/python-tools.sh DIR` makes one).
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::{NAMES, Page, all, at, noise, spooled};
use teia_archive::{
    ArchiveConfig, Captures, CdxEntry, RevisitOf, RevisitProfile, Writer, export, surt,
};
use teia_base::{Body, CaptureId, Certificate, DiskFiles, Flags, Link, LinkKind, Protocol, Rel};

fn python() -> Option<PathBuf> {
    let python = std::env::var_os("TEIA_PYTHON").map(PathBuf::from);
    if python.is_none() {
        eprintln!(
            "SKIPPED 1: TEIA_PYTHON is not set; tools/python-tools.sh DIR makes a Python for it"
        );
    }
    python
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}\n{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One capture of every kind that can be written.
fn pages() -> Vec<Page> {
    let html = "<html><body><p>Olá, mundo</body></html>";
    let of = |id: u64, url: &str, profile| {
        let date = at(i64::try_from(id).unwrap());
        Some(RevisitOf {
            id: Some(CaptureId(id)),
            url: url.to_owned(),
            date,
            profile,
        })
    };
    let plain = Page::html(1, "http://plain.example/Path/?b=2&a=1", html);
    let chunked = Page::chunked(2, "http://chunked.example/", &["<p>hel", "lo</p>", "!"]);
    let packed = gzipped(html.as_bytes());
    let fields = format!(
        "Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n",
        packed.len()
    );
    let coded = Page::new(3, "http://gzip.example/", &fields, packed);
    let mut revisit = Page::html(4, "http://plain.example/Path/?b=2&a=1", html);
    revisit.revisit_of = of(1, &plain.url, RevisitProfile::IdenticalPayload);
    let mut copy = Page::html(5, "http://other.example/copy", html);
    copy.revisit_of = of(1, &plain.url, RevisitProfile::IdenticalPayload);
    let mut chunked_again = Page::chunked(6, "http://chunked.example/", &["<p>", "hello</p>!"]);
    chunked_again.revisit_of = of(2, &chunked.url, RevisitProfile::IdenticalPayload);
    let not_modified = "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n";
    let mut unchanged =
        Page::with_head(7, "http://gzip.example/", not_modified, Body::empty(), None);
    unchanged.revisit_of = of(3, &coded.url, RevisitProfile::NotModified);
    let mut h2 = Page::html(8, "https://h2.example/", html);
    h2.exchange.protocol = Protocol::H2;
    h2.exchange.certificate = Certificate::Accepted;
    let cut = Page::new(
        9,
        "http://cut.example/",
        "Content-Type: text/html\r\nContent-Length: 9999\r\n",
        "half a page",
    )
    .with_flags(Flags::BODY_SHORT, None);
    let empty = Page::html(10, "http://empty.example/", "");
    let pdf = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n";
    let large = Page::with_head(
        11,
        "http://large.example/x.pdf",
        pdf,
        spooled(&noise(1, (2 << 20) + 77)),
        None,
    );
    let found =
        "HTTP/1.1 302 Found\r\nLocation: http://plain.example/\r\nContent-Length: 0\r\n\r\n";
    let redirect = Page::with_head(12, "http://moved.example/", found, Body::empty(), None);
    let mut linked = Page::html(13, "http://linked.example/a%20b/\u{e9}", html);
    linked.outlinks = vec![Link {
        url: "http://plain.example/".into(),
        kind: LinkKind::Anchor,
        rel: Rel::default(),
        anchor: "plain".into(),
        last_modified: None,
    }];
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n";
    let gone = Page::with_head(
        14,
        "http://gone.example/",
        missing,
        Body::from(b"gone".to_vec()),
        None,
    );
    let says_chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let odd = Page::with_head(
        15,
        "http://odd.example/",
        says_chunked,
        Body::from(b"said so, and is plain".to_vec()),
        None,
    );
    vec![
        plain,
        chunked,
        odd,
        coded,
        revisit,
        copy,
        chunked_again,
        unchanged,
        h2,
        cut,
        empty,
        large,
        redirect,
        linked,
        gone,
    ]
}

fn written(directory: &Path) -> (Vec<Page>, String, Vec<CdxEntry>) {
    let files = Arc::new(DiskFiles::new(directory).unwrap());
    let config = ArchiveConfig {
        metadata_records: true,
        operator: "tests".into(),
        description: "one of each".into(),
        ..ArchiveConfig::default()
    };
    let pages = pages();
    let mut writer = Writer::open(
        files.clone(),
        Path::new("archive"),
        config.clone(),
        NAMES,
        None,
    )
    .unwrap();
    for page in &pages {
        writer.append(&page.records(&config), at(0)).unwrap();
    }
    let committed = writer.sync().unwrap().unwrap();
    writer.close(Some(&committed)).unwrap();
    let captures = Captures::open(files, Path::new("archive")).unwrap();
    let entries = captures.all().unwrap().collect::<Result<_, _>>().unwrap();
    let mut lines = Vec::new();
    export::cdxj(&captures, &|_| true, &mut lines).unwrap();
    std::fs::write(directory.join("ours.cdxj"), lines).unwrap();
    (pages, committed.file, entries)
}

#[test]
fn warcio_finds_every_digest_right() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (pages, file, _) = written(directory.path());
    let warc = directory.path().join("archive").join(file);
    let tool = python.with_file_name("warcio");
    let report = run(Command::new(&tool).args(["check", "-v"]).arg(&warc));
    let passed = report.matches("digest pass").count();
    let revisits = pages
        .iter()
        .filter(|page| page.revisit_of.is_some())
        .count();
    // warcinfo, one main record and one request for each page, one metadata record.
    assert_eq!(passed, 1 + 2 * pages.len() + 1 - revisits, "{report}");
    assert_eq!(
        report.matches("not checked (revisit)").count(),
        revisits,
        "{report}"
    );
    let index = run(Command::new(&tool)
        .args(["index", "-f", "warc-type,warc-target-uri,http:status"])
        .arg(&warc));
    assert_eq!(index.lines().count(), 2 + 2 * pages.len(), "{index}");
}

#[test]
fn other_indexers_write_the_same_lines() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (_, file, entries) = written(directory.path());
    let warc = directory.path().join("archive").join(file);
    let tools: [(&str, &[&str]); 2] = [
        ("cdxj-indexer", &["--sort"]),
        ("cdx-indexer", &["--sort", "--cdxj"]),
    ];
    for (tool, arguments) in tools {
        let mut command = Command::new(python.with_file_name(tool));
        let theirs = run(command.args(arguments).arg(&warc));
        let theirs: BTreeMap<u64, CdxEntry> = theirs
            .lines()
            .filter_map(CdxEntry::parse)
            .map(|entry| (entry.offset, entry))
            .collect();
        assert_eq!(theirs.len(), entries.len(), "{tool}");
        for ours in &entries {
            let mut ours = ours.clone();
            let mut theirs = theirs[&ours.offset].clone();
            let is_chunked = ours.url.contains("chunked");
            // Differences, and why. The number is ours alone. A chunked body has no
            // `WARC-Payload-Digest` (see capture.rs), so they digest the framing with it.
            ours.id = None;
            if is_chunked {
                ours.digest = None;
                theirs.digest = None;
            }
            // cdxj-indexer writes `sha1:` before a digest, the status of revisits, and no `unk`.
            theirs.digest = theirs.digest.map(|digest| digest.replace("sha1:", ""));
            if tool == "cdxj-indexer" {
                if ours.is_revisit() {
                    theirs.status = None;
                }
                if theirs.mime == "-" {
                    "unk".clone_into(&mut theirs.mime);
                }
            }
            assert_eq!(ours, theirs, "{tool}");
        }
    }
}

#[test]
fn sort_keys_are_those_of_the_python_package() {
    let Some(python) = python() else { return };
    let mut urls = vec![
        "http://www.Example.org:80/A/?b=2&a=1#x".to_owned(),
        "https://user:pw@WWW2.example.com:8443/a//b/../c/./?&&x=&x".to_owned(),
        "http://example.com/x.aspx?SID=0123456789abcdef0123456789abcdef&z=1".to_owned(),
        "http://example.com/?a=1&jsessionid=0123456789abcdef0123456789abcdef".to_owned(),
        "http://example.com/(S(abcdefghijklmnopqrstuvwx))/y.aspx".to_owned(),
        "http://example.com/d/(abcdefghijklmnopqrstuvwx)/y.aspx?q".to_owned(),
        "http://example.com/?cfid=1&cftoken=2&x=3".to_owned(),
        "http://example.com/?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx&x".to_owned(),
        "http://[2001:db8::1]:8080/x".to_owned(),
        "http://www.caf\u{e9}.example/Men\u{fc}".to_owned(),
        "http://192.0.2.7/".to_owned(),
        "http://3221225985/".to_owned(),
        "http:////a.example/b".to_owned(),
        "http://https://a.example/b".to_owned(),
        "ftp://ftp.example.org/Pub/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "dns:www.example.org".to_owned(),
        "urn:uuid:X".to_owned(),
        "http://www.example.org../".to_owned(),
        "http://a.example/%2525252f/%E9/%c3%a9/\u{e9}?%26=%3D#f".to_owned(),
    ];
    // And a few thousand that nobody would write.
    let pieces = [
        "www.",
        "example",
        ".org",
        ":8080",
        "/",
        "//",
        "/../",
        "/./",
        "?",
        "&",
        "=",
        "a",
        "B",
        "%41",
        "%2f",
        "%",
        "#",
        "index.html",
        ";jsessionid=",
        "+",
        "~",
        "'",
        "\"",
        "^",
        "sid=",
        "0123456789abcdef0123456789abcdef",
        "%zz",
        "\u{e7}",
    ];
    for seed in 0..4000_u64 {
        let at = usize::try_from(seed).unwrap();
        let mut url = [
            "http://a.example",
            "https://www.b.example",
            "http://c.example:80",
        ][at % 3]
            .to_owned();
        if at % 4 > 0 {
            url.push('/');
        }
        for byte in noise(seed, 6) {
            url.push_str(pieces[(usize::from(byte) + at) % pieces.len()]);
        }
        // Letters outside ASCII beside signs that no host may have: the package makes Punycode of
        // them all the same, we escape them. Such a URL cannot be fetched.
        let host = url
            .split("://")
            .nth(1)
            .unwrap()
            .split(['/', '?', '#'])
            .next()
            .unwrap();
        if host.is_ascii() && !host.contains('%') {
            urls.push(url);
        }
    }
    let script = "import sys, json, surt\n\
        for u in json.load(sys.stdin):\n\
        \x20   try: print(json.dumps(surt.surt(u)))\n\
        \x20   except Exception as e: print(json.dumps(None))\n";
    let mut child = Command::new(python)
        .args(["-W", "ignore", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let list = serde_json::to_vec(&urls).unwrap();
    let feeder = std::thread::spawn(move || input.write_all(&list).unwrap());
    let output = String::from_utf8(all(child.stdout.take().unwrap())).unwrap();
    feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (url, theirs) in urls.iter().zip(output.lines()) {
        // What the package refuses (a port that is no number) has no key to compare with.
        if let Some(theirs) = serde_json::from_str::<Option<String>>(theirs).unwrap() {
            compared += 1;
            let ours = surt(url);
            if ours != theirs {
                wrong.push((url, ours, theirs));
            }
        }
    }
    assert!(compared > 2000, "{compared}");
    assert!(
        wrong.is_empty(),
        "{} of {compared}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(8)]
    );
}

/// A pywb server, ended when dropped.
struct Pywb {
    child: Child,
    port: u16,
}

impl Pywb {
    fn serve(python: &Path, directory: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let child = Command::new(python.with_file_name("wayback"))
            .args(["-p", &port.to_string(), "-b", "127.0.0.1"])
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "pywb does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    /// Status and body.
    fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nAccept-Encoding: gzip\r\n\r\n",
            self.port
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap()
            + 4;
        let status = std::str::from_utf8(&answer[9..12])
            .unwrap()
            .parse()
            .unwrap();
        (status, answer.split_off(end))
    }
}

impl Drop for Pywb {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn pywb_replays_what_was_received() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (pages, file, entries) = written(directory.path());
    let warc = directory.path().join("archive").join(file);
    let manager = python.with_file_name("wb-manager");
    // One collection with pywb's own index, one with ours.
    for name in ["theirs", "ours"] {
        run(Command::new(&manager)
            .args(["init", name])
            .current_dir(directory.path()));
        run(Command::new(&manager)
            .args(["add", name])
            .arg(&warc)
            .current_dir(directory.path()));
    }
    let ours = directory.path().join("collections/ours/indexes/index.cdxj");
    std::fs::copy(directory.path().join("ours.cdxj"), ours).unwrap();
    let server = Pywb::serve(&python, directory.path());
    for collection in ["theirs", "ours"] {
        for page in &pages {
            let entry = entries
                .iter()
                .find(|entry| entry.id == Some(CaptureId(page.id)))
                .unwrap();
            let (status, body) = server.get(&format!(
                "/{collection}/{}id_/{}",
                entry.timestamp, entry.url
            ));
            if page.response().status == 304 {
                // pywb shows a status of 3xx without looking for a body.
                assert!(
                    status < 400 && body.is_empty(),
                    "{collection} {}: {status}",
                    page.url
                );
                continue;
            }
            let payload = all(page.response().payload_reader());
            assert_eq!(status, page.response().status, "{collection} {}", page.url);
            assert!(
                body == payload,
                "{collection} {}: {} bytes for {}",
                page.url,
                body.len(),
                payload.len()
            );
        }
    }
}

#[test]
fn pywb_takes_an_exported_wacz() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (pages, _, entries) = written(directory.path());
    let files = Arc::new(DiskFiles::existing(directory.path()));
    let captures = Captures::open(files, Path::new("archive")).unwrap();
    let path = directory.path().join("export.wacz");
    let mut out = std::fs::File::create(&path).unwrap();
    let made = ("A collection", at(100));
    let exported = export::wacz(&captures, &|_| true, made, &mut out).unwrap();
    assert_eq!(exported.captures, entries.len() as u64);
    assert_eq!(exported.bytes, path.metadata().unwrap().len());
    // The package is whole by the rules of its format.
    run(Command::new(&python).arg("-c").arg(CHECK_WACZ).arg(&path));
    let manager = python.with_file_name("wb-manager");
    run(Command::new(&manager)
        .args(["init", "packed"])
        .current_dir(directory.path()));
    run(Command::new(&manager)
        .args(["add", "--unpack-wacz", "packed"])
        .arg(&path)
        .current_dir(directory.path()));
    let server = Pywb::serve(&python, directory.path());
    for page in pages.iter().filter(|page| page.response().status == 200) {
        let entry = entries
            .iter()
            .find(|entry| entry.id == Some(CaptureId(page.id)))
            .unwrap();
        let (status, body) = server.get(&format!("/packed/{}id_/{}", entry.timestamp, entry.url));
        let payload = all(page.response().payload_reader());
        assert_eq!(status, 200, "{}", page.url);
        assert!(body == payload, "{}", page.url);
    }
}

/// Every file is listed with its length and digest, and every line of the index leads to a record.
const CHECK_WACZ: &str = r#"
import gzip, hashlib, json, sys, zipfile
package = zipfile.ZipFile(sys.argv[1])
assert package.testzip() is None
assert all(entry.compress_type == zipfile.ZIP_STORED for entry in package.infolist())
described = json.loads(package.read("datapackage.json"))
listed = {resource["path"]: resource for resource in described["resources"]}
assert set(listed) == {"archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"}, listed
for path, resource in listed.items():
    content = package.read(path)
    assert resource["bytes"] == len(content)
    assert resource["hash"] == "sha256:" + hashlib.sha256(content).hexdigest()
digest = json.loads(package.read("datapackage-digest.json"))
assert digest["hash"] == "sha256:" + hashlib.sha256(package.read("datapackage.json")).hexdigest()
warc = package.read("archive/data.warc.gz")
lines = package.read("indexes/index.cdx").decode().splitlines()
assert lines == sorted(lines, key=lambda line: line.split(" ")[:2]) and lines
for line in lines:
    key, time, fields = line.split(" ", 2)
    fields = json.loads(fields)
    assert fields["filename"] == "data.warc.gz"
    start = int(fields["offset"])
    record = gzip.decompress(warc[start:start + int(fields["length"])])
    assert record.startswith(b"WARC/1.1") and fields["url"].encode() in record
pages = [json.loads(line) for line in package.read("pages/pages.jsonl").decode().splitlines()]
assert pages[0]["format"] == "json-pages-1.0" and len(pages) > 1
"#;
