//! Files of ours, damaged.

use std::io::Write as _;
use std::ops::Range;
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
use teia_repository::blocks::{
    Link, Packing, Settlement, Standing, Store, StoreConfig, WindowOrder,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

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

/// A packed segment: what is read of it was written, or an error says so. Tried as it is, and with check sums made right; what
/// does not begin as a pack is what lies in one, behind the number of its entries.
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
        let mut examples: Vec<Vec<u8>> = names.iter().map(read).collect();
        let mut entries = vec![3];
        let segment = segment();
        let mut rest = &segment[SEGMENT_HEADER.len()..];
        // A frame: its mark, its length, its check sum, and what it holds.
        while let Some((head, behind)) = rest.split_first_chunk::<16>() {
            let len = number_at(head, 4, 4).unwrap_or(0);
            entries.extend_from_slice(&head[4..8]);
            entries.extend_from_slice(&behind[..len]);
            rest = &behind[len..];
        }
        examples.push(entries);
        examples
    },
    read: |input| {
        read_pack(input, 3)?;
        read_pack(&sealed_pack(input), u64::MAX - 2)
    },
};

const PACK_HEADER: &[u8; 8] = b"TEIAPCK1";

/// A pack with check sums that fit.
fn sealed_pack(input: &[u8]) -> Vec<u8> {
    let mut pack = input.to_vec();
    if !input.starts_with(PACK_HEADER) {
        let (entries, raw) = input.split_first().unwrap_or((&0, &[]));
        let packed = zstd_of(raw);
        let len = u32::try_from(8 + packed.len()).unwrap_or(u32::MAX);
        pack = [PACK_HEADER.as_slice(), b"TEIB", &len.to_le_bytes(), &[0; 8]].concat();
        pack.extend(u32::from(*entries).to_le_bytes());
        pack.extend(u32::try_from(raw.len()).unwrap_or(u32::MAX).to_le_bytes());
        pack.extend(packed);
    }
    let mut at = PACK_HEADER.len();
    while let Some(len) = number_at(&pack, at + 4, 4)
        && let Some(body) = pack.get(at + 16..at + 16 + len)
    {
        let sum = xxh3_64_with_seed(body, at as u64);
        pack[at + 8..at + 16].copy_from_slice(&sum.to_le_bytes());
        at += 16 + len;
    }
    pack
}

/// A frame of zstd that holds this as it is.
fn zstd_of(raw: &[u8]) -> Vec<u8> {
    // A frame with one segment whose size stands in four bytes, and blocks that are not packed.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0b1010_0000];
    frame.extend(u32::try_from(raw.len()).unwrap_or(u32::MAX).to_le_bytes());
    let mut blocks = raw.chunks(100_000).peekable();
    if raw.is_empty() {
        frame.extend([1, 0, 0]);
    }
    while let Some(block) = blocks.next() {
        let is_last = u32::from(blocks.peek().is_none());
        let head = (u32::try_from(block.len()).unwrap_or(0) << 3) | is_last;
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

/// The number in so many bytes from this one on.
fn number_at(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let mut number = [0; 8];
    number[..width].copy_from_slice(bytes.get(at..at.checked_add(width)?)?);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

fn read_pack(pack: &[u8], most: u64) -> Result<(), String> {
    let disk = Arc::new(SimulatedDisk::new());
    let folder = Path::new("part-0/journal");
    disk.create_dir(folder).expect("a folder in memory");
    let name = segment_name(1).replace(".log", ".pack");
    put(&disk, &history_of(folder).join(name), pack);
    let Ok(stream) = EntryStream::open(disk, folder, 1, u64::MAX) else {
        return Ok(());
    };
    let mut expected = 1;
    for entry in stream.take(10) {
        let Ok(entry) = entry else { return Ok(()) };
        hold(entry.sequence == expected, || format!("{entry:?}"))?;
        expected += 1;
    }
    hold(expected <= most + 1, || {
        format!("{expected} entries of three")
    })
}

/// The first byte of an input chooses a file of a store; the rest takes its place, once as it is and once with all check sums
/// made right.
pub(super) const STORE: Target = Target {
    name: "store",
    words: &[],
    inputs_in_tests: 2_000,
    examples: || {
        let number = 0_u8..;
        let file = |(number, (_, content)): (u8, &(PathBuf, Vec<u8>))| {
            [&[number], content.as_slice()].concat()
        };
        number.zip(STORED.iter().flatten()).map(file).collect()
    },
    read: |input| {
        let Some((&number, content)) = input.split_first() else {
            return Ok(());
        };
        let chosen = usize::from(number) % STORED.iter().map(Vec::len).sum::<usize>();
        let first = STORED[0].len();
        let (stored, chosen) = match chosen.checked_sub(first) {
            Some(chosen) => (&STORED[1], chosen),
            None => (&STORED[0], chosen),
        };
        read_store(stored, chosen, content);
        read_store(stored, chosen, &sealed_file(&stored[chosen].0, content));
        Ok(())
    },
};

/// Damage may keep it from opening, or from doing what is asked of it; then an error names the file.
fn read_store(stored: &[(PathBuf, Vec<u8>)], chosen: usize, content: &[u8]) {
    let disk = Arc::new(SimulatedDisk::new());
    for (at, (path, whole)) in stored.iter().enumerate() {
        put(&disk, path, if at == chosen { content } else { whole });
    }
    let Ok(mut store) = Store::open(disk, store_config(Packing::Lz4)) else {
        return;
    };
    store.verify();
    let _ = (store.hosts(|_| {}), store.waiting_hosts(|_| {}));
    for number in 0..6 {
        let host = format!("h{number}.example");
        let _ = store.state(&format!("http://{host}/0/{number}"));
        let _ = store.window(&host, 9, WindowOrder::Depth, 1);
        store.offer(&Link::new(&format!("http://{host}/0/{number}"), 1));
        store.offer(&Link::new(&format!("http://{host}/new/{number}"), 1));
    }
    if store.fold_everything(9).is_ok() {
        let _ = store.verdicts();
    }
}

/// A file of a store with check sums that fit, as far as it still says where its parts are.
fn sealed_file(path: &Path, content: &[u8]) -> Vec<u8> {
    let mut file = content.to_vec();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((_, number)) = name.split_once('-') else {
        seal(&mut file, 8..content.len(), 0);
        return file;
    };
    let Some(trailer) = file.len().checked_sub(64) else {
        return file;
    };
    let part = |at: usize| number_at(content, trailer + 8 * at, 8).unwrap_or(usize::MAX);
    let (index, index_len, directory_len) = (part(1), part(2), part(4));
    let directory = index.saturating_add(index_len).min(trailer);
    let index = index.min(directory);
    let entries: Vec<usize> = (index + 8..directory.saturating_sub(35))
        .step_by(36)
        .collect();
    for at in entries {
        let number = |at, width| number_at(content, at, width).unwrap_or(usize::MAX);
        let (offset, state, text) = (number(at + 8, 8), number(at + 16, 4), number(at + 20, 4));
        let middle = offset.saturating_add(state);
        seal(&mut file, offset..middle, 0);
        seal(&mut file, middle..middle.saturating_add(text), 0);
    }
    seal(&mut file, index..directory, number.parse().unwrap_or(0));
    let mut chunk = directory;
    while let Some(packed) = number_at(&file, chunk + 8, 4)
        && chunk < directory.saturating_add(directory_len).min(trailer)
    {
        let end = chunk + 16 + packed;
        seal(&mut file, chunk..end, 0);
        chunk = end;
    }
    let sum = xxh3_64(&file[trailer..trailer + 56]);
    file[trailer + 56..].copy_from_slice(&sum.to_le_bytes());
    file
}

/// Makes the check sum right with which these bytes begin, where they are there.
fn seal(file: &mut [u8], bytes: Range<usize>, seed: u64) {
    let part = file
        .get_mut(bytes)
        .and_then(<[u8]>::split_first_chunk_mut::<8>);
    if let Some((sum, body)) = part {
        *sum = xxh3_64_with_seed(body, seed).to_le_bytes();
    }
}

fn store_config(packing: Packing) -> StoreConfig {
    StoreConfig {
        page_bytes: 512,
        few_packing: packing,
        // So that there are several blocks, and news that waits.
        block_bytes: 3000,
        delay: 30,
        scan_rows: 10,
        waiting_share: 80,
        threads: 1,
        ..StoreConfig::default()
    }
}

/// Files by name.
type Content = Vec<(PathBuf, Vec<u8>)>;

/// The files of two small stores: with texts as they are, so that what is changed in them is read, and with packed ones.
static STORED: LazyLock<[Content; 2]> =
    LazyLock::new(|| [Packing::Plain, Packing::Lz4].map(files_of_store));

fn files_of_store(packing: Packing) -> Content {
    let disk = Arc::new(SimulatedDisk::new());
    let config = store_config(packing);
    let prefix = config.prefix.clone();
    let mut store = Store::open(disk.clone(), config).expect("a new store");
    for fold in 0..6 {
        for number in 0..60 {
            let url = format!("http://h{}.example/{}/{number}", number % 5, fold % 4);
            store.offer(&Link::new(&url, 1));
            if number % 4 == 0 {
                let settlement = Settlement {
                    at: 1_800_000_000,
                    outcome: 200,
                    state: Standing::Fetched,
                    media_type: Some("text/html".into()),
                    text_digest: Some(7),
                    capture: Some(9),
                    etag: Some("\"x\"".into()),
                    ..Settlement::default()
                };
                store.settle(&url, settlement);
            }
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
}

pub(super) fn put(disk: &SimulatedDisk, path: &Path, content: &[u8]) {
    if let Some(folder) = path.parent() {
        disk.create_dir(folder).expect("a folder in memory");
    }
    let mut file = disk.create(path).expect("a file in memory");
    file.append(content).expect("memory");
}
