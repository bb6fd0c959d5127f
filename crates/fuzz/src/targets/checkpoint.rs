//! What a start reads in place of the journal's beginning: `manifest` and `state/*`, damaged, or with anything behind right
//! check sums.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use teia_base::{Files, Seed, SimulatedDisk, SystemClock};
use teia_engine::{
    CollectionConfig, Control, Crawl, Executor, Layout, Parts, RunChanges, ThisMachine,
};
use teia_fetch::ScriptedFetcher;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::files::put;
use super::{Target, hold};

const HEADER: &[u8; 8] = b"TEIASTA1";
const FRAME_HEAD: usize = 12;

/// The first byte of an input says what the rest is: the manifest, the state, or what is in one of these, to which the right
/// check sum is added.
pub(super) const CHECKPOINT: Target = Target {
    name: "checkpoint",
    words: &["http://a.example/", "\u{7f}", "\u{1}\u{1}\u{1}"],
    inputs_in_tests: 3_000,
    examples: || {
        let saved = &*SAVED;
        let with = |number: u8, bytes: &[u8]| [&[number], bytes].concat();
        let mut examples = vec![with(0, &saved.manifest.1), with(1, &saved.state.1)];
        examples.extend(payloads(&saved.manifest.1).map(|payload| with(2, payload)));
        examples.extend(payloads(&saved.state.1).map(|payload| with(3, payload)));
        examples
    },
    read: |input| {
        let Some((&number, content)) = input.split_first() else {
            return Ok(());
        };
        let saved = &*SAVED;
        let (mut manifest, mut state) = (saved.manifest.1.clone(), saved.state.1.clone());
        match number % 4 {
            0 => manifest = content.to_vec(),
            1 => state = content.to_vec(),
            2 => manifest = framed([content].into_iter()),
            // What says that it is whole comes last.
            _ => state = framed([content].into_iter().chain(payloads(&saved.state.1))),
        }
        let is_whole = manifest == saved.manifest.1 && state == saved.state.1;
        let disk = SimulatedDisk::new();
        for (path, content) in &saved.journal {
            put(&disk, path, content);
        }
        put(&disk, &saved.manifest.0, &manifest);
        put(&disk, &saved.state.0, &state);
        let layout = Layout::new("default").map_err(|error| error.to_string())?;
        let files: Arc<dyn Files> = Arc::new(disk);
        // An error names the file; a panic or a hang would keep a collection from ever starting again.
        let read = RunChanges::read(&files, &layout);
        hold(!is_whole || read.is_ok(), || {
            format!("{read:?} of a whole one")
        })
    },
};

/// The files of a small collection.
struct Saved {
    manifest: (PathBuf, Vec<u8>),
    state: (PathBuf, Vec<u8>),
    journal: Vec<(PathBuf, Vec<u8>)>,
}

static SAVED: LazyLock<Saved> = LazyLock::new(|| {
    let disk = SimulatedDisk::new();
    let layout = Layout::new("default").expect("a name");
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.run.alias_pages = 0;
    // So that URLs lie on disk, and with them checkpoints.
    config.run.repository_memory = 4 << 10;
    config.archive.enabled = false;
    config.index.enabled = false;
    config.links.enabled = false;
    config.catalog.enabled = false;
    let urls: Vec<String> = (0..60)
        .map(|number| format!("http://h{}.example/a-long-directory/{number}", number % 3))
        .collect();
    for url in &urls {
        fetcher = fetcher.page(url, "text/html", &format!("<title>{url}</title>"));
    }
    let crawl = Crawl {
        files: Arc::new(disk.clone()),
        root: "data".into(),
        key: 7,
        layout: layout.clone(),
        config,
        save: false,
        seeds: urls
            .iter()
            .filter_map(|url| Seed::parse(url).ok().flatten())
            .collect(),
        parts: Parts {
            fetcher: Some(Arc::new(fetcher)),
            ..Parts::default()
        },
        control: Control::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(ThisMachine.run(crawl)).expect("a crawl");
    let journal = layout.journal();
    let part = journal.parent().expect("a folder").to_owned();
    let all = |folder: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        let names = disk.list(folder).expect("a folder in memory");
        let read = |name: String| {
            let path = folder.join(name);
            let content = disk.read(&path).expect("a file in memory");
            (path, content)
        };
        names.into_iter().map(read).collect()
    };
    let manifest = part.join("manifest");
    let content = disk.read(&manifest).expect("a checkpoint");
    Saved {
        manifest: (manifest, content),
        state: all(&part.join("state")).pop().expect("a checkpoint"),
        journal: all(&journal),
    }
});

/// What lies in the frames of a whole file.
fn payloads(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = file.get(HEADER.len()..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (head, behind) = rest.split_at_checked(FRAME_HEAD)?;
        let len = u32::from_le_bytes(head[..4].try_into().expect("four bytes"));
        let (payload, behind) = behind.split_at_checked(len as usize)?;
        rest = behind;
        Some(payload)
    })
}

fn framed<'a>(payloads: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut file = HEADER.to_vec();
    for payload in payloads {
        let sum = xxh3_64_with_seed(payload, file.len() as u64);
        let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        file.extend_from_slice(&len.to_le_bytes());
        file.extend_from_slice(&sum.to_le_bytes());
        file.extend_from_slice(payload);
    }
    file
}
