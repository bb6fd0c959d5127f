//! The real program in a box: few descriptors, much to hold in memory, nobody who reads what it says.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{Home, assert_polite, assert_same, crawl, requested};
use teia_testweb::{Listen, Server, WebConfig};

/// No run of a test takes longer, unless it is broken.
const LIMIT: Duration = Duration::from_secs(240);

fn serve(hosts: u32, pages_per_host: u32) -> Server {
    let config = WebConfig {
        hosts,
        pages_per_host,
        ..WebConfig::default()
    };
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

/// `teia`, or a program before it that limits what it gets.
fn command(home: &Home, before: &[&str], arguments: &[String]) -> Command {
    let mut words: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
    words.push(env!("CARGO_BIN_EXE_teia").to_owned());
    words.extend_from_slice(arguments);
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .env("TEIA_DATA", home.data())
        .env_remove("TEIA_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Waits for the end, and looks at the process again and again until then.
fn wait(child: &mut Child, mut look: impl FnMut(u32)) -> Option<i32> {
    let by = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > by {
            child.kill().unwrap();
            panic!("it did not end");
        }
        look(child.id());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every page that can be reached was asked for.
fn check_all(server: &Server) {
    let want = server.web().depth_map(&[server.web().front(0)], None);
    let asked = requested(&server.log());
    let is_page = |url: &String| !url.ends_with("/sitemap.xml");
    assert_same(
        "requested",
        &asked.into_keys().filter(is_page).collect(),
        &want.into_keys().collect(),
    );
}

/// A pipe that nobody reads, and a disk that is full: the log is lost, and nothing else.
#[test]
fn a_log_that_cannot_be_written_does_not_stop_a_crawl() {
    for is_full_disk in [false, true] {
        let (home, server) = (Home::new(), serve(4, 60));
        let target = if is_full_disk {
            match File::options().write(true).open("/dev/full") {
                Ok(file) => Stdio::from(file),
                Err(_) => {
                    println!("SKIPPED a_log_that_cannot_be_written: there is no /dev/full");
                    continue;
                }
            }
        } else {
            Stdio::piped()
        };
        let mut child = command(&home, &[], &crawl(&home, &server, "0s", &[]))
            .env("TEIA_LOG", "trace")
            .stderr(target)
            .spawn()
            .unwrap();
        let code = wait(&mut child, |_| {});
        assert_eq!(code, Some(0));
        check_all(&server);
        assert!(home.captures().scrub().unwrap().wounds.is_empty());
        if let Some(mut pipe) = child.stderr.take() {
            let mut said = Vec::new();
            pipe.read_to_end(&mut said).unwrap();
            assert!(said.len() >= 60_000, "the pipe was full: {}", said.len());
        }
    }
}

/// So few descriptors that only some hosts can be asked at once.
#[test]
fn with_few_descriptors_a_crawl_is_slower_and_loses_nothing() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        println!("SKIPPED with_few_descriptors: there is no prlimit");
        return;
    }
    for most in ["80", "128"] {
        let (home, server) = (Home::new(), serve(24, 8));
        let limit = format!("--nofile={most}:{most}");
        let arguments = crawl(&home, &server, "2ms", &[]);
        let errors = home.beside("errors");
        let mut child = command(&home, &["prlimit", &limit], &arguments)
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let code = wait(&mut child, |_| {});
        let said = std::fs::read_to_string(&errors).unwrap();
        assert_eq!(code, Some(0), "{most}: {said}");
        check_all(&server);
        assert_polite(&server, Duration::from_millis(2));
        assert!(home.captures().scrub().unwrap().wounds.is_empty());
    }
}

/// Large bodies from many hosts at once: they wait on disk, not in memory.
#[test]
fn large_bodies_from_many_hosts_do_not_fill_the_memory() {
    const MOST_KILOBYTES: u64 = 768 << 10;
    let config = WebConfig {
        hosts: 24,
        pages_per_host: 3,
        page_bytes: 6 << 20,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let mut child = command(&home, &[], &crawl(&home, &server, "0s", &[]))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let code = wait(&mut child, |pid| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(now.unwrap_or(0));
    });
    assert_eq!(code, Some(0));
    check_all(&server);
    assert!(peak > 0 && peak < MOST_KILOBYTES, "{peak} kB");
    println!("{} MB at most, for {} MB of pages", peak >> 10, 24 * 3 * 6);
}
