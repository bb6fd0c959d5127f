//! The shared test data, where it is.

#![expect(dead_code, reason = "each test file uses a part")]
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::io::Read;
use std::path::{Path, PathBuf};

/// A directory of the shared data, or none, said loudly: the tests then pass without it.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TEIA_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let directory = shared.join("data").join(name);
    if directory.is_dir() {
        return Some(directory);
    }
    eprintln!(
        "SKIPPED {name}: shared data missing at {}",
        directory.display()
    );
    None
}

/// Every file below, in order.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The real pages of `html-extract` with their URLs.
pub(crate) fn pages() -> Vec<(String, url::Url, Vec<u8>)> {
    let Some(directory) = data("html-extract") else {
        return Vec::new();
    };
    let truth = std::fs::read(directory.join("ground-truth.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_slice(&truth).unwrap();
    let mut pages = Vec::new();
    for (id, page) in truth.as_object().unwrap() {
        let Ok(file) = std::fs::read(directory.join(format!("html/{id}.html.gz"))) else {
            continue;
        };
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(&file[..])
            .read_to_end(&mut body)
            .unwrap();
        let url = page["url"].as_str().unwrap();
        let url = url::Url::parse(url)
            .or_else(|_| url::Url::parse(&format!("http://{url}")))
            .unwrap();
        pages.push((id.clone(), url, body));
    }
    pages
}

/// Processor time this thread has used.
pub(crate) fn thread_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}
