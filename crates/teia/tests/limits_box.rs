//! The real program in a box: few descriptors, much to hold in memory, nobody who reads what it says.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
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

/// A server with large packed answers: `/` leads to as many of them as said.
fn serve_packed(kind: &'static str, links: usize, packed: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let packed = std::sync::Arc::new(packed);
    std::thread::spawn(move || {
        for visitor in listener.incoming().flatten() {
            let packed = std::sync::Arc::clone(&packed);
            std::thread::spawn(move || answer_packed(visitor, kind, links, &packed));
        }
    });
    port
}

/// Answers until the visitor leaves.
fn answer_packed(mut visitor: TcpStream, kind: &str, links: usize, packed: &[u8]) -> Option<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    loop {
        request.clear();
        while !request.ends_with(b"\r\n\r\n") {
            if visitor.read(&mut byte).ok()? == 0 {
                return None;
            }
            request.push(byte[0]);
        }
        if request.starts_with(b"GET /large") {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                packed.len()
            );
            visitor.write_all(head.as_bytes()).ok()?;
            visitor.write_all(packed).ok()?;
            continue;
        }
        let page: String = (0..links)
            .map(|n| format!("<a href=/large{n}>{n}</a>"))
            .collect();
        let (status, page) = if request.starts_with(b"GET / ") {
            ("200 OK", page)
        } else {
            ("404 Not Found", String::new())
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}",
            page.len()
        );
        visitor.write_all(answer.as_bytes()).ok()?;
    }
}

/// So many bytes of text that pack to a thirtieth, about, after this beginning.
fn packed_text(beginning: &str, bytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(beginning.as_bytes()).unwrap();
    let (mut written, mut number) = (0, 0_u64);
    while written < bytes {
        let line = format!(
            "<p>{number:08} the same words again and again, and again, and again and again and again, and a number\n"
        );
        encoder.write_all(line.as_bytes()).unwrap();
        written += line.len();
        number += 1;
    }
    encoder.finish().unwrap()
}

/// A crawl of hosts that all have large packed answers; its peak in MiB.
fn peak_of_packed(hosts: usize, kind: &'static str, packed: Vec<u8>, settings: &str) -> u64 {
    const EACH: usize = 3;
    let port = serve_packed(kind, EACH, packed);
    let home = Home::new();
    let mut arguments = vec!["crawl".to_owned()];
    arguments.extend((0..hosts).map(|n| format!("http://h{n}.large.test/")));
    let words = [
        "--resolve",
        &format!("*.large.test=127.0.0.1:{port}"),
        "--delay",
        "0s",
        "--config",
        &home.write("settings.toml", settings),
    ];
    arguments.extend(words.map(str::to_owned));
    let (peak, said) = peak_of(&home, &arguments);
    let large = home.attempts();
    let large = large
        .iter()
        .filter(|one| one.url.request().contains("/large"));
    assert_eq!(large.count(), hosts * EACH, "{said}");
    peak
}

/// Runs the program to its end; the most memory that it had in MiB, and what it said.
fn peak_of(home: &Home, arguments: &[String]) -> (u64, String) {
    let errors = home.beside("errors");
    let mut child = command(home, &[], arguments)
        .stderr(File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let code = wait(&mut child, |pid| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(now.unwrap_or(0));
    });
    let said = std::fs::read_to_string(&errors).unwrap();
    assert_eq!(code, Some(0), "{said}");
    (peak >> 10, said)
}

/// Pictures, books and archives that nobody reads are not unpacked in memory, however large they are inside.
#[test]
fn what_nobody_reads_is_not_held_in_memory() {
    let packed = packed_text("%PDF-1.7\n", 120 << 20);
    let settings = "[filter]\nmax-size = \"200MB\"\n";
    let peak = peak_of_packed(4, "application/pdf", packed, settings);
    println!("{peak} MiB at most, for documents of 120 MiB");
    assert!(peak < 160, "{peak} MiB");
}

/// A server that sends all but the last byte of its documents, and that one when nobody has come for a while: all of them
/// are held at once.
fn serve_held(bytes: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let last_visit = std::sync::Arc::new(Mutex::new(Instant::now()));
    std::thread::spawn(move || {
        for visitor in listener.incoming().flatten() {
            let last_visit = std::sync::Arc::clone(&last_visit);
            std::thread::spawn(move || answer_held(visitor, bytes, &last_visit));
        }
    });
    port
}

fn answer_held(mut visitor: TcpStream, bytes: usize, last_visit: &Mutex<Instant>) -> Option<()> {
    let mut byte = [0];
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            if visitor.read(&mut byte).ok()? == 0 {
                return None;
            }
            request.push(byte[0]);
        }
        if !request.starts_with(b"GET /held") {
            let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            visitor.write_all(missing).ok()?;
            continue;
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {bytes}\r\n\r\n"
        );
        visitor.write_all(head.as_bytes()).ok()?;
        visitor.write_all(&vec![b'x'; bytes - 1]).ok()?;
        *last_visit.lock().unwrap() = Instant::now();
        while last_visit.lock().unwrap().elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(50));
        }
        visitor.write_all(b"x").ok()?;
    }
}

/// Bodies that together need more memory than the process may have: without the cap it has more than that, with it less,
/// and everything is fetched.
#[test]
fn a_cap_on_memory_holds_where_it_would_be_passed_without() {
    const CAP: u64 = 200;
    const HOSTS: usize = 240;
    let [free, peak] = [4000, CAP].map(|cap| {
        let port = serve_held((1 << 20) - 1000);
        let home = Home::new();
        let mut arguments = vec!["crawl".to_owned()];
        arguments.extend((0..HOSTS).map(|n| format!("http://h{n}.held.test/held")));
        let settings = format!(
            "[run]\nmemory = \"{cap}MiB\"\nhosts-at-once = {HOSTS}\nretries = 0\n[fetch]\nmin-rate = 0\n"
        );
        let words = [
            "--resolve",
            &format!("*.held.test=127.0.0.1:{port}"),
            "--delay",
            "0s",
            "--no-index",
            "--no-catalog",
            "--config",
            &home.write("settings.toml", &settings),
        ];
        arguments.extend(words.map(str::to_owned));
        let (peak, said) = peak_of(&home, &arguments);
        let attempts = home.attempts();
        let held = attempts
            .iter()
            .filter(|one| one.url.request().ends_with("/held") && one.outcome.is_ok());
        assert_eq!(held.count(), HOSTS, "{said}");
        peak
    });
    println!("{peak} MiB at most, of {CAP} MiB; {free} MiB without a cap");
    assert!(free > CAP, "{free} MiB: nothing is shown by this");
    assert!(peak < CAP, "{peak} MiB");
}

/// A server of long texts of words that no other page has, each with links to more: what fills index, links and catalog.
fn serve_texts(pages: u64, words: u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for visitor in listener.incoming().flatten() {
            std::thread::spawn(move || answer_texts(visitor, pages, words));
        }
    });
    port
}

fn answer_texts(mut visitor: TcpStream, pages: u64, words: u64) -> Option<()> {
    let mut byte = [0];
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            if visitor.read(&mut byte).ok()? == 0 {
                return None;
            }
            request.push(byte[0]);
        }
        let request = String::from_utf8(request).ok()?;
        let path = request.strip_prefix("GET /")?.split(' ').next()?;
        let host = request.split("Host: h").nth(1)?.split('.').next()?;
        let (Ok(page), Ok(host)) = (path.parse::<u64>(), host.parse::<u64>()) else {
            let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            visitor.write_all(missing).ok()?;
            continue;
        };
        // What names another address is kept until it is known whether that comes.
        let mut body = format!("<link rel=canonical href=/right/{page}><p>");
        for next in 1..=pages {
            body += &format!("<a href=/{next}>page {next} of {host}</a> ");
        }
        let mut number = host * 1000 + page;
        for _ in 0..words {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            body += &format!("w{:x} ", number >> 50);
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        visitor.write_all(head.as_bytes()).ok()?;
        visitor.write_all(body.as_bytes()).ok()?;
    }
}

/// The same at the least cap that there may be, with index, links and catalog on: all parts of the program together. (Texts of
/// ordinary size: with millions of different words the merges of the index alone took more in a trial.)
#[test]
fn the_least_cap_on_memory_holds_with_the_index_on() {
    const CAP: u64 = 128;
    const HOSTS: usize = 20;
    const PAGES: u64 = 5;
    let port = serve_texts(PAGES, 300_000);
    let home = Home::new();
    let mut arguments = vec!["crawl".to_owned()];
    arguments.extend((0..HOSTS).map(|n| format!("http://h{n}.text.test/1")));
    let settings = format!("[run]\nmemory = \"{CAP}MiB\"\nretries = 0\n[traps]\nenabled = false\n");
    let words = [
        "--resolve",
        &format!("*.text.test=127.0.0.1:{port}"),
        "--delay",
        "0s",
        "--config",
        &home.write("settings.toml", &settings),
    ];
    arguments.extend(words.map(str::to_owned));
    let errors = home.beside("errors");
    let mut child = command(&home, &[], &arguments)
        .stderr(File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let mut peak = 0;
    // Files that are mapped are the system's to take back.
    let code = wait(&mut child, |pid| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(now.unwrap_or(0));
    });
    let said = std::fs::read_to_string(&errors).unwrap();
    assert_eq!(code, Some(0), "{said}");
    let attempts = home.attempts();
    let read = attempts
        .iter()
        .filter(|one| one.outcome.is_ok() && !one.is_robots());
    assert_eq!(read.count() as u64, HOSTS as u64 * PAGES, "{said}");
    println!("{} MiB at most, of {CAP} MiB", peak >> 10);
    assert!(peak > 0 && peak >> 10 < CAP, "{} MiB", peak >> 10);
}
