//! Large bodies wait below the data directory, on the disk that the reserve watches.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::crawl_with;
use teia_base::filter::{Candidate, Fetched, Filter, Verdict};
use teia_engine::{CollectionConfig, Control, Parts};

/// Notes which unnamed files this process has open while pages are read.
struct Watch(Arc<Mutex<BTreeSet<PathBuf>>>);

impl Filter for Watch {
    fn before(&self, _: &Candidate<'_>) -> Verdict {
        Verdict::KEEP_AND_FOLLOW
    }

    fn after(&self, _: &Fetched<'_>) -> Verdict {
        for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
            let Ok(target) = std::fs::read_link(entry.path()) else {
                continue;
            };
            let text = target.to_string_lossy();
            if let Some(name) = text.strip_suffix(" (deleted)") {
                let directory = Path::new(name).parent().unwrap();
                self.0.lock().unwrap().insert(directory.to_owned());
            }
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

/// Serves a few pages of three megabytes that cannot be packed.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let seed = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                let mut state: u64 = 7;
                while let Ok(read) = stream.read(&mut head) {
                    if read == 0 {
                        return;
                    }
                    if head.starts_with(b"GET /robots.txt") {
                        let none = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
                        stream.write_all(none).unwrap();
                        continue;
                    }
                    let mut body =
                        b"<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><pre>".to_vec();
                    while body.len() < 3 << 20 {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        body.extend_from_slice(format!("{state:x}").as_bytes());
                    }
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
                        body.len()
                    );
                    stream.write_all(head.as_bytes()).unwrap();
                    stream.write_all(&body).unwrap();
                }
            });
        }
    });
    seed
}

#[test]
fn large_bodies_wait_below_the_data_directory_and_nothing_is_left_of_them() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    // What a killed process left, on a file system without unnamed files.
    let spool = root.join("default/spool");
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::write(spool.join("left"), b"half a body").unwrap();
    let open = Arc::default();
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    let parts = Parts {
        filter: Some(Arc::new(Watch(Arc::clone(&open)))),
        ..Parts::default()
    };
    let report = crawl_with(&root, &config, &[serve()], parts, &Control::default()).unwrap();
    assert_eq!(report.fetched, 4);
    let open: Vec<PathBuf> = open.lock().unwrap().iter().cloned().collect();
    assert_eq!(open, std::slice::from_ref(&spool));
    assert_eq!(std::fs::read_dir(&spool).unwrap().count(), 0);
}
