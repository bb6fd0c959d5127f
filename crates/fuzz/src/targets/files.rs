//! Files of ours, damaged.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use flate2::Compression;
use flate2::write::GzEncoder;
use teia_archive::{CdxEntry, WarcReader};
use teia_base::journal::{
    Entry, EntryStream, Record, RunEnded, SEGMENT_HEADER, encode_frame, history_of, pack_segment,
    read_segment, segment_name,
};
use teia_base::{Files, SimulatedDisk, Timestamp};
use teia_repository::blocks::{Link, Store, StoreConfig};

use super::{Target, hold};

pub(super) const CDXJ: Target = Target {
    name: "cdxj",
    words: &[
        " {",
        "\"url\": ",
        "\"offset\": \"0\"",
        "\"filename\": \"x.warc.gz\"",
        "\"length\": \"18446744073709551616\"",
        "\"robotflags\": \"A\"",
        "\\u0000",
        "\\ud800",
        "}",
        "\n",
        " ",
        "20261115200000",
    ],
    inputs_in_tests: 20_000,
    examples: || {
        let line = "org,example)/a 20261115200000 {\"url\": \"http://example.org/a\", \"mime\": \"text/html\", \"status\": \"200\", \"digest\": \"B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A\", \"length\": \"577\", \"offset\": \"2907\", \"filename\": \"x.warc.gz\", \"id\": \"7\"}\n";
        let other =
            "org,example)/ 2026 {\"url\": \"\\u00e9\", \"offset\": \"1\", \"filename\": \"../x\"}";
        vec![line.as_bytes().to_vec(), other.as_bytes().to_vec()]
    },
    read: |input| {
        let text = String::from_utf8_lossy(input);
        let Some(entry) = CdxEntry::parse(&text) else {
            return Ok(());
        };
        // One line, and the same again.
        let line = entry.to_line();
        hold(line.is_ascii() || !text.is_ascii(), || line.clone())?;
        hold(
            !entry.timestamp.contains(|it: char| !it.is_ascii_digit()),
            || line.clone(),
        )?;
        let again = CdxEntry::parse(&line);
        hold(again.as_ref() == Some(&entry), || {
            format!("{entry:?} is written as {line}")
        })
    },
};

pub(super) const WARC: Target = Target {
    name: "warc",
    words: &[
        "WARC/1.1\r\n",
        "WARC-Type: response\r\n",
        "Content-Length: 99999999999\r\n",
        "Content-Length: -1\r\n",
        "\r\n\r\n",
        "\x1f\u{8b}\x08",
        "WARC-Target-URI: x\r\n",
        "HTTP/1.1 200 OK\r\n",
        "Transfer-Encoding: chunked\r\n",
    ],
    inputs_in_tests: 4_000,
    examples: || {
        let plain = record("response", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        let mut packed = Vec::new();
        for kind in ["warcinfo", "request", "response", "revisit"] {
            let mut member = GzEncoder::new(Vec::new(), Compression::fast());
            member
                .write_all(&record(kind, "GET / HTTP/1.1\r\n\r\n"))
                .expect("memory");
            packed.extend(member.finish().expect("memory"));
        }
        vec![plain, packed]
    },
    read: |input| {
        let disk = SimulatedDisk::new();
        let path = Path::new("x.warc.gz");
        put(&disk, path, input);
        let file = disk.open(path).map_err(|error| error.to_string())?;
        let mut reader = WarcReader::new(file, path, 0).map_err(|error| error.to_string())?;
        // Each step gets on, or the reading never ends.
        for _ in 0..=2 * input.len() {
            if reader
                .next_found()
                .map_err(|error| error.to_string())?
                .is_none()
            {
                return Ok(());
            }
        }
        Err("reading does not end".to_owned())
    },
};

fn record(kind: &str, block: &str) -> Vec<u8> {
    let length = block.len();
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:53441986-3e30-8e4e-b816-dfb624293ae1>\r\n\
         WARC-Date: 2026-11-16T03:36:39Z\r\nWARC-Target-URI: http://a.example/\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n"
    )
    .into_bytes()
}

pub(super) const JOURNAL: Target = Target {
    name: "journal",
    words: &[],
    inputs_in_tests: 10_000,
    examples: || vec![segment()],
    read: |input| {
        let disk = SimulatedDisk::new();
        let folder = Path::new("journal");
        put(&disk, &folder.join(segment_name(1)), input);
        for is_last in [true, false] {
            if let Ok(segment) = read_segment(&disk, folder, 1, is_last) {
                hold(segment.whole_bytes <= segment.file_bytes, || {
                    format!("{segment:?}")
                })?;
            }
        }
        Ok(())
    },
};

/// A whole segment of a journal.
fn segment() -> Vec<u8> {
    let mut bytes = SEGMENT_HEADER.to_vec();
    for sequence in 1..=3 {
        let offset = bytes.len() as u64;
        let end = RunEnded {
            reason: "done".to_owned(),
        };
        let record = match sequence {
            1 => Record::Paused,
            2 => Record::Resumed,
            _ => Record::RunEnded(end),
        };
        let entry = Entry {
            sequence,
            wall: Timestamp::default(),
            run: 1,
            record,
        };
        encode_frame(&entry, offset, &mut bytes).expect("a small entry");
    }
    bytes
}

/// A packed segment: what is read of it was written, or an error says so.
pub(super) const PACK: Target = Target {
    name: "pack",
    words: &[],
    inputs_in_tests: 10_000,
    examples: || {
        let disk = SimulatedDisk::new();
        let folder = Path::new("part-0/journal");
        put(&disk, &folder.join(segment_name(1)), &segment());
        pack_segment(&disk, folder, 1, &|| false).expect("a whole segment");
        let history = history_of(folder);
        let names = disk.list(&history).expect("the pack");
        let read = |name: &String| disk.read(&history.join(name)).expect("the pack");
        names.iter().map(read).collect()
    },
    read: |input| {
        let disk = Arc::new(SimulatedDisk::new());
        let folder = Path::new("part-0/journal");
        disk.create_dir(folder).expect("a folder in memory");
        let name = segment_name(1).replace(".log", ".pack");
        put(&disk, &history_of(folder).join(name), input);
        let Ok(stream) = EntryStream::open(disk, folder, 1, u64::MAX) else {
            return Ok(());
        };
        let mut expected = 1;
        for entry in stream.take(10) {
            let Ok(entry) = entry else { return Ok(()) };
            hold(entry.sequence == expected, || format!("{entry:?}"))?;
            expected += 1;
        }
        hold(expected <= 4, || format!("{expected} entries of three"))
    },
};

/// The first byte of an input chooses a file of a store; the rest takes its place.
pub(super) const STORE: Target = Target {
    name: "store",
    words: &[],
    inputs_in_tests: 2_000,
    examples: || {
        let number = 0_u8..;
        let file = |(number, (_, content)): (u8, &(PathBuf, Vec<u8>))| {
            [&[number], content.as_slice()].concat()
        };
        number.zip(STORED.iter()).map(file).collect()
    },
    read: |input| {
        let Some((&number, content)) = input.split_first() else {
            return Ok(());
        };
        let disk = Arc::new(SimulatedDisk::new());
        for (at, (path, whole)) in STORED.iter().enumerate() {
            let is_chosen = at == usize::from(number) % STORED.len();
            put(&disk, path, if is_chosen { content } else { whole });
        }
        // Damage may keep it from opening; then the error names the file.
        if let Ok(store) = Store::open(disk, store_config()) {
            store.verify();
        }
        Ok(())
    },
};

fn store_config() -> StoreConfig {
    StoreConfig {
        page_bytes: 512,
        threads: 1,
        ..StoreConfig::default()
    }
}

/// The files of a small store.
static STORED: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let disk = Arc::new(SimulatedDisk::new());
    let config = store_config();
    let prefix = config.prefix.clone();
    let mut store = Store::open(disk.clone(), config).expect("a new store");
    for fold in 0..3 {
        for number in 0..60 {
            let url = format!("http://h{}.example/{fold}/{number}", number % 5);
            store.offer(&Link::new(&url, 1));
        }
        store.fold(fold + 1).expect("a small fold");
    }
    drop(store);
    let names = disk.list(&prefix).expect("the files of the store");
    let read = |name: String| {
        let path = prefix.join(name);
        let content = disk.read(&path).expect("a file of the store");
        (path, content)
    };
    names.into_iter().map(read).collect()
});

pub(super) fn put(disk: &SimulatedDisk, path: &Path, content: &[u8]) {
    if let Some(folder) = path.parent() {
        disk.create_dir(folder).expect("a folder in memory");
    }
    let mut file = disk.create(path).expect("a file in memory");
    file.append(content).expect("memory");
}
