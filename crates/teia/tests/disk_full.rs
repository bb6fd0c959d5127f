//! A full disk fails the run with a sentence, and loses nothing.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use support::{Home, assert_polite, assert_same, crawl, requested, until};
use teia_testweb::{Listen, Server, WebConfig};

/// A small disk, for as long as the value lives.
struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// `None` where this machine does not let us mount one.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let disk = Self { at: at.to_owned() };
        disk.run(
            "mount",
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
        )
        .then_some(disk)
    }

    fn enlarge(&self, size: &str) {
        assert!(self.run("mount", &["-o", &format!("remount,size={size}")]));
    }

    /// Whether it may be written to.
    fn make(&self, how: &str) {
        assert!(self.run("mount", &["-o", &format!("remount,{how}")]));
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        Command::new(program)
            .args(arguments)
            .arg(&self.at)
            .output()
            .is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.run("umount", &[]);
    }
}

#[test]
fn a_full_disk_fails_the_run_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), "512k") else {
        println!(
            "SKIPPED a_full_disk_fails_the_run_and_loses_nothing: cannot mount a small disk here (needs root)"
        );
        return;
    };
    let config = WebConfig {
        hosts: 4,
        pages_per_host: 100,
        page_bytes: 16 << 10,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::with_data(folder.path().join("data"));
    // Without a reserve, which would let it rest before.
    let reserve = ["--disk-reserve", "none"];
    let ended = home.run(&crawl(&home, &server, "5ms", &reserve));
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(
        ended.err.to_lowercase().contains("no space left"),
        "{}",
        ended.err
    );
    // Still full: the same sentence, not a broken directory.
    let ended = home.run(&["resume"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(
        ended.err.to_lowercase().contains("no space left"),
        "{}",
        ended.err
    );

    disk.enlarge("64m");
    home.good(&["resume"]);
    let want = server.web().depth_map(&[server.web().front(0)], None);
    let kept = home
        .all_captures()
        .into_iter()
        .map(|entry| entry.url)
        .filter(|url| !url.ends_with("/robots.txt"));
    let mut urls: Vec<String> = kept.collect();
    let count = urls.len();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), count, "captures doubled");
    assert_same(
        "kept",
        &urls.into_iter().collect(),
        &want.into_keys().collect(),
    );
    assert!(home.captures().scrub().unwrap().wounds.is_empty());
    assert_polite(&server, Duration::from_millis(5));
}

#[test]
fn a_run_rests_before_the_disk_is_full_and_goes_on_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), "8m") else {
        println!(
            "SKIPPED a_run_rests_before_the_disk_is_full_and_goes_on_by_itself: cannot mount a small disk here (needs root)"
        );
        return;
    };
    let config = WebConfig {
        hosts: 4,
        pages_per_host: 100,
        page_bytes: 16 << 10,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::with_data(folder.path().join("data"));
    let reserve = ["--disk-reserve", "8100KB"];
    let running = home.start(&crawl(&home, &server, "40ms", &reserve));
    until("the warning", || {
        running.said().contains("less than the reserve")
    });
    until("the rest", || {
        home.status()["state"] == "waiting for disk space"
    });
    std::thread::sleep(Duration::from_millis(300));
    let asked = server.log().entries.len();
    assert!(asked < 300, "there was nothing left to fetch");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(server.log().entries.len(), asked, "it did not rest");

    disk.enlarge("64m");
    let ended = running.wait(Duration::from_secs(60));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("again: going on"), "{}", ended.err);
    let want = server.web().depth_map(&[server.web().front(0)], None);
    assert_same(
        "requested",
        &requested(&server.log()).into_keys().collect(),
        &want.into_keys().collect(),
    );
    assert_polite(&server, Duration::from_millis(40));
}

#[test]
fn a_small_disk_has_a_reserve_without_being_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), "600k") else {
        println!(
            "SKIPPED a_small_disk_has_a_reserve_without_being_asked_for: cannot mount a small disk here (needs root)"
        );
        return;
    };
    let config = WebConfig {
        hosts: 4,
        pages_per_host: 100,
        page_bytes: 16 << 10,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::with_data(folder.path().join("data"));
    // An index or a catalog alone is larger than this disk.
    let only = ["--no-index", "--no-catalog"];
    let running = home.start(&crawl(&home, &server, "40ms", &only));
    until("the warning", || {
        running.said().contains("less than the reserve")
    });
    disk.enlarge("64m");
    let ended = running.wait(Duration::from_secs(60));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let want = server.web().depth_map(&[server.web().front(0)], None);
    assert_same(
        "requested",
        &requested(&server.log()).into_keys().collect(),
        &want.into_keys().collect(),
    );
}

/// Made read-only in the middle of a collection's life, and gone altogether: each says what it is, reading goes on where there is
/// something to read, and when the disk is back the crawl goes on as if nothing had been.
#[test]
fn env_18_a_disk_that_cannot_be_written_or_is_gone_is_named_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), "64m") else {
        println!(
            "SKIPPED env_18_a_disk_that_cannot_be_written_or_is_gone_is_named_and_nothing_is_lost: cannot mount a small disk here (needs root)"
        );
        return;
    };
    let config = WebConfig {
        hosts: 4,
        pages_per_host: 40,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let data = folder.path().join("data");
    let home = Home::with_data(data.clone());
    let path = data.display().to_string();
    home.good(&crawl(&home, &server, "0s", &["--max-pages", "40"]));
    let known = home.status()["known"].clone();
    disk.make("ro");
    for arguments in [
        &["resume", "--max-pages", "none"] as &[&str],
        &["crawl", &server.web().front(1)],
        &["urls", "add", "-"],
        &["index", "rebuild"],
        &["remove", &server.web().front(0)],
        &["token", "new", "--role", "viewer", "somebody"],
        // The library of the index locks it to read it, and cannot: that the index may be whole is told.
        &["search", "type:html"],
    ] {
        let ended = home.run(arguments);
        assert!(
            matches!(ended.code, Some(1 | 2)),
            "{arguments:?}: {:?} {}",
            ended.code,
            ended.err
        );
        let said = ended.err.to_lowercase();
        assert!(
            said.contains("read-only") && ended.err.contains(&path),
            "{arguments:?}: {}",
            ended.err
        );
        assert!(!said.contains("panicked"), "{}", ended.err);
    }
    // Whoever looks writes nothing.
    assert_eq!(home.status()["known"], known);
    home.good(&["get", &server.web().front(0)]);
    home.good(&["urls", "count"]);
    disk.make("rw");
    home.good(&["search", "type:html"]);
    // A mount that is not there is an empty folder: nothing is taken for a lost collection, and nothing is made there.
    let aside = folder.path().join("aside");
    std::fs::rename(&data, &aside).unwrap();
    for arguments in [
        &["resume"] as &[&str],
        &["status"],
        &["search", "a"],
        &["verify"],
    ] {
        let ended = home.run(arguments);
        assert!(
            matches!(ended.code, Some(1 | 2)) && ended.err.contains(&path),
            "{arguments:?}: {:?} {}",
            ended.code,
            ended.err
        );
        assert!(!data.exists(), "{arguments:?} has made one");
    }
    std::fs::rename(&aside, &data).unwrap();
    home.good(&["resume", "--max-pages", "none"]);
    let want = server.web().depth_map(&[server.web().front(0)], None);
    assert_same(
        "requested",
        &requested(&server.log()).into_keys().collect(),
        &want.into_keys().collect(),
    );
    assert!(home.captures().scrub().unwrap().wounds.is_empty());
}
