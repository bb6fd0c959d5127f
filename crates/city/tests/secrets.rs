//! Planted secrets: sent where they belong, and found in nothing that is kept or told.
//!
//! In a file of its own, because it listens to every log line of the process.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use teia_base::{DiskFiles, Files, Request, Seed, SystemClock};
use teia_city::{Authority, Corner, Door, Step, Trick, corner};
use teia_engine::{CollectionConfig, Control, Crawl, Executor, Layout, Parts, ThisMachine};
use teia_fetch::{FetchConfig, Fetcher, HttpFetcher, Logins};

const PASSWORD: &str = "hunter2-planted";
const TOKEN: &str = "token-planted";
/// `ann:hunter2-planted` as Basic has it.
const BASIC: &str = "YW5uOmh1bnRlcjItcGxhbnRlZA==";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn asks_then_opens(challenge: &str) -> Corner {
    let asks =
        format!("HTTP/1.1 401 No\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\n\r\n");
    let opens = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
    Corner {
        id: "case",
        name: "case",
        trick: Trick::Http(vec![vec![Step::say(asks)], vec![Step::say(opens)]]),
    }
}

#[test]
fn secrets_are_sent_and_neither_kept_nor_told() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();

    let city = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let authority = Authority::new().unwrap();
    let open = |corner: &Corner| city.block_on(Door::open(corner, &authority)).unwrap();
    let basic = open(&asks_then_opens("Basic realm=\"x\""));
    let digest = open(&asks_then_opens(
        "Digest realm=\"x\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256",
    ));
    let bearer = open(&corner("HTTP-12", "honest"));
    let http2 = open(&corner("H2-13", "table"));
    let at = |door: &Door, host: &str| door.named(host, "/");
    let seeds = [
        at(&basic, "basic.city.test"),
        at(&digest, "digest.city.test"),
        at(&bearer, "bearer.city.test"),
        at(&http2, "http2.city.test"),
        at(&bearer, "ann:hunter2-planted@inline.city.test"),
    ];
    let url = |n: usize| seeds[n].parse().unwrap();
    let logins = Logins::default()
        .password(&url(0), "ann", PASSWORD)
        .password(&url(1), "ann", PASSWORD)
        .token(&url(2), TOKEN)
        .token(&url(3), TOKEN);

    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.run.ignore_robots = true;
    config.fetch = FetchConfig {
        ca_file: Some(authority.path().to_owned()),
        resolve: vec!["*.test=127.0.0.1".to_owned()],
        ..config.fetch
    };
    let fetcher = HttpFetcher::new(config.fetch.clone(), Arc::new(SystemClock)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files: Arc<dyn Files> = Arc::new(DiskFiles::new(folder.path()).unwrap());
    let crawl = Crawl {
        files,
        root: folder.path().to_owned(),
        key: 7,
        layout: Layout::new("default").unwrap(),
        config,
        save: true,
        seeds: seeds
            .iter()
            .map(|seed| Seed::parse(seed).unwrap().unwrap())
            .collect(),
        parts: Parts {
            fetcher: Some(Arc::new(fetcher.with_authenticator(Arc::new(logins)))),
            ..Parts::default()
        },
        control: Control::default(),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let report = runtime.block_on(ThisMachine.run(crawl)).unwrap();
    // A fetcher that is handed such a URL by a program keeps it to itself as well.
    let plain = FetchConfig {
        resolve: vec!["*.test=127.0.0.1".to_owned()],
        ..FetchConfig::default()
    };
    let fetcher = HttpFetcher::new(plain, Arc::new(SystemClock)).unwrap();
    let inline = Request::get(seeds[4].parse().unwrap());
    assert!(runtime.block_on(fetcher.fetch(inline)).outcome.is_ok());
    assert_eq!(report.fetched, 5, "{:?}", report.states);

    // They were said where they belong …
    assert!(basic.requests()[1].contains(BASIC));
    let said = digest.requests()[1].clone();
    let proof = said
        .split("response=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    assert!(bearer.requests().iter().any(|head| head.contains(TOKEN)));
    // … and are in nothing that is left.
    let kept = all_files(folder.path());
    let contains = |text: &str| kept.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(
        contains("Authorization: [not archived]"),
        "the archive has the requests"
    );
    let told = log.0.lock().unwrap().clone();
    assert!(told.len() > 1000, "something was logged");
    for secret in [PASSWORD, TOKEN, BASIC, &proof] {
        assert!(!contains(secret), "{secret} is kept");
        let mut log_lines = told.split(|&byte| byte == b'\n');
        let leak = log_lines.find(|line| {
            line.windows(secret.len())
                .any(|part| part == secret.as_bytes())
        });
        assert_eq!(leak.map(String::from_utf8_lossy), None, "{secret} is told");
    }
}

/// Every file below a folder, packed ones unpacked as well.
fn all_files(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.extend(all_files(&path));
            continue;
        }
        let content = std::fs::read(&path).unwrap();
        if content.starts_with(&[0x1f, 0x8b]) {
            MultiGzDecoder::new(content.as_slice())
                .read_to_end(&mut bytes)
                .unwrap();
        }
        bytes.extend(content);
    }
    bytes
}
