//! More files of ours, damaged; and what servers sent, written into an archive and read back.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use bytes::Bytes;
use teia_archive::{
    ArchiveConfig, Capture, Captures, RecordNames, Writer, capture_records, payload_digest,
};
use teia_base::{
    Body, CanonicalUrl, CaptureId, Exchange, Files, Head, LinkKind, Outcome, Protocol, Rel,
    Response, SimulatedDisk, Timestamp,
};
use teia_engine::{Layout, Removals, deliveries};
use teia_graph::{Graph, GraphConfig, PageLink, RankFile, RankOptions, rank};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::files::put;
use super::{Target, hold, texts};

/// The first byte of an input chooses a file of a graph; the rest takes its place, once as it is and once with all check sums
/// made right.
pub(super) const LINKS: Target = Target {
    name: "links",
    words: &[],
    inputs_in_tests: 1_000,
    examples: || {
        let number = 0_u8..;
        let file = |(number, (_, content)): (u8, &(PathBuf, Vec<u8>))| {
            [&[number], content.as_slice()].concat()
        };
        number.zip(GRAPH.iter()).map(file).collect()
    },
    read: |input| {
        let Some((&number, content)) = input.split_first() else {
            return Ok(());
        };
        let chosen = usize::from(number) % GRAPH.len();
        read_graph(chosen, content, Sums::AsTheyAre)?;
        let is_manifest = GRAPH[chosen].0.ends_with("manifest");
        read_graph(chosen, &sealed(content, is_manifest), Sums::MadeRight)
    },
};

/// Whether somebody has made the check sums fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sums {
    AsTheyAre,
    MadeRight,
}

/// A file of a graph with check sums that fit: a manifest has one, the others one for each of their chunks.
fn sealed(content: &[u8], is_manifest: bool) -> Vec<u8> {
    const CHUNK: usize = 32 << 10;
    let mut sealed = content.to_vec();
    if is_manifest && sealed.len() >= 16 {
        let sum = xxh3_64(&sealed[16..]);
        sealed[8..16].copy_from_slice(&sum.to_le_bytes());
    } else if !is_manifest {
        for (number, chunk) in (0..).zip(sealed.chunks_mut(CHUNK)) {
            if let Some((payload, sum)) = chunk.split_last_chunk_mut::<8>() {
                *sum = xxh3_64_with_seed(payload, number).to_le_bytes();
            }
        }
    }
    sealed
}

fn read_graph(chosen: usize, content: &[u8], sums: Sums) -> Result<(), String> {
    let disk = Arc::new(SimulatedDisk::new());
    for (at, (path, whole)) in GRAPH.iter().enumerate() {
        put(&disk, path, if at == chosen { content } else { whole });
    }
    let files: Arc<dyn Files> = disk;
    if let Ok(Some(ranks)) = RankFile::open(&*files, Path::new(FOLDER), &graph_config()) {
        let _ = (ranks.verify(), ranks.get(&url(0)), ranks.host("h1.example"));
    }
    let Ok(graph) = Graph::open(files, FOLDER, graph_config()) else {
        return Ok(());
    };
    let snapshot = graph.snapshot();
    let is_whole = snapshot.verify().is_ok();
    for number in 0..8 {
        let url = url(number);
        let links = snapshot.out_links(&url, 0, 99);
        let _ = (snapshot.in_links(&url, 0, 99), snapshot.counts(&url));
        // What has the right check sums says what was written.
        if let (true, Ok(Some(links))) = (is_whole && sums == Sums::AsTheyAre, links) {
            hold(links.items.len() <= 3, || {
                format!("{links:?} of {}", url.as_str())
            })?;
        }
    }
    Ok(())
}

const FOLDER: &str = "links";

fn graph_config() -> GraphConfig {
    GraphConfig {
        memory_bytes: 4_000,
        fanout: 3,
        ..GraphConfig::default()
    }
}

fn url(number: u64) -> CanonicalUrl {
    CanonicalUrl::from_stored(&format!("http://h{}.example/{number}", number % 3))
}

/// The files of a small graph, with its ranks.
static GRAPH: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let disk = Arc::new(SimulatedDisk::new());
    let files: Arc<dyn Files> = disk.clone();
    let mut graph = Graph::open(Arc::clone(&files), FOLDER, graph_config()).expect("a new graph");
    for position in 1..=40 {
        let targets = [url(position + 1), url(position * 7), url(position * 3)];
        let links: Vec<PageLink<'_>> = targets
            .iter()
            .map(|target| PageLink {
                target,
                kind: LinkKind::Anchor,
                rel: Rel::default(),
                anchor: "a text",
            })
            .collect();
        graph
            .apply(&url(position % 8), &links, position)
            .expect("memory");
        if position % 10 == 0 {
            graph.commit().expect("memory");
        }
    }
    let go_on = |_| ControlFlow::Continue(());
    let folder = Path::new(FOLDER);
    rank(
        &graph.snapshot(),
        &*files,
        folder,
        &RankOptions::default(),
        go_on,
    )
    .expect("ranks");
    drop(graph);
    let names = disk.list(folder).expect("the files of the graph");
    let read = |name: String| {
        let path = folder.join(name);
        let content = disk.read(&path).expect("a file of the graph");
        (path, content)
    };
    names.into_iter().map(read).collect()
});

/// What people had removed, and messages that wait: both are texts that people could write.
pub(super) const LISTS: Target = Target {
    name: "lists",
    words: &[
        "url ",
        "host ",
        "http://a.example/",
        "\n",
        "{",
        "}",
        "[",
        "]",
        "\"id\":",
        "null",
        "\u{0}",
        "crc",
    ],
    inputs_in_tests: 5_000,
    examples: || {
        texts(&[
            "url http://a.example/x\nhost b.example\n",
            "[{\"id\":\"1\",\"event\":\"run_ended\",\"run\":1,\"at\":\"2026-11-18T00:00:00Z\",\"state\":\"waiting\",\"tries\":1,\"url\":\"http://a.example/\",\"body\":\"{}\"}]",
        ])
    },
    read: |input| {
        let disk = SimulatedDisk::new();
        let layout = Layout::new("default").map_err(|error| error.to_string())?;
        let folder = Path::new("default");
        put(&disk, &folder.join("removed"), input);
        put(&disk, &folder.join("webhook.json"), input);
        // An error is an answer; what is read names something.
        if let Ok(removals) = Removals::read(&disk, &layout) {
            for (_, text) in removals.lines() {
                hold(!text.is_empty(), || "nothing is removed".to_owned())?;
            }
        }
        deliveries(&disk, &layout);
        Ok(())
    },
};

/// A head and a body as a server sent them: the archive has one capture of them, and nothing that they forged.
pub(super) const RECORDS: Target = Target {
    name: "records",
    words: &[
        "\r\n\r\n",
        "WARC/1.1\r\nWARC-Type: response\r\n",
        "Content-Length: 0\r\n",
        "WARC-Target-URI: http://forged.example/\r\n",
        "\u{1f}\u{8b}\u{8}",
        "\u{0}",
        "\n",
        "HTTP/1.1 200 OK\r\n",
    ],
    inputs_in_tests: 1_000,
    examples: || {
        texts(&[
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nX: \r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://forged.example/\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n",
        ])
    },
    read: |input| {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        // A head as it comes from a fetcher, which refuses line breaks and NUL within a field; a body as it comes.
        let split = input.windows(4).position(|four| four == b"\r\n\r\n");
        let (value, body) = input.split_at(split.map_or(0, |at| at + 4));
        let value = value.iter().filter(|byte| !b"\r\n\0".contains(byte));
        let mut head = b"HTTP/1.1 200 OK\r\nX-Any: ".to_vec();
        head.extend(value);
        head.extend(b"\r\n\r\n");
        let response = Response {
            status: 200,
            head: Head::new(Bytes::from(head), Vec::new()),
            body: Body::from(body.to_vec()),
            chunks: None,
        };
        let digest = payload_digest(&response).map_err(|error| text(&error))?;
        let started = Timestamp::default();
        let mut exchange = Exchange::failed(Outcome::http(200), None, started, Instant::now());
        exchange.protocol = Protocol::Http11;
        exchange.request_head = Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n");
        exchange.response = Some(response);
        let names = RecordNames::new(7);
        let config = ArchiveConfig::default();
        let capture = Capture {
            id: CaptureId(1),
            names,
            url: "http://a.example/",
            exchange: &exchange,
            payload_sha1: digest,
            revisit_of: None,
            outlinks: &[],
            noarchive: false,
            truncated: None,
        };
        let records = capture_records(&capture, &config).map_err(|error| text(&error))?;
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
        let folder = Path::new("archive");
        let mut writer = Writer::open(Arc::clone(&files), folder, config, names, None)
            .map_err(|error| text(&error))?;
        writer
            .append(&records, started)
            .map_err(|error| text(&error))?;
        let committed = writer.sync().map_err(|error| text(&error))?;
        writer
            .close(committed.as_ref())
            .map_err(|error| text(&error))?;
        let captures = Captures::open(files, folder).map_err(|error| text(&error))?;
        let scrubbed = captures.scrub().map_err(|error| text(&error))?;
        hold(scrubbed.wounds.is_empty(), || format!("{scrubbed:?}"))?;
        let all: Vec<_> = captures.all().map_err(|error| text(&error))?.collect();
        hold(all.len() == 1, || format!("{} captures of one", all.len()))?;
        let entry = all.into_iter().next().and_then(Result::ok);
        let Some(entry) = entry.filter(|entry| entry.url == "http://a.example/") else {
            return Err("another capture than the one that was written".to_owned());
        };
        let stored = captures.read(&entry).map_err(|error| text(&error))?;
        let mut raw = Vec::new();
        std::io::Read::read_to_end(&mut stored.raw(), &mut raw).map_err(|error| text(&error))?;
        hold(raw.ends_with(body), || format!("{raw:?} was {body:?}"))
    },
};
