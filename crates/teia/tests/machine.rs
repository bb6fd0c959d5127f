//! What the machine does to a process of it: it stops it, gives it few descriptors, threads and ports, or another version of it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::{Home, Running, assert_polite, assert_same, crawl, crawl_with, requested, until};
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

/// Every page is there, and once.
#[track_caller]
fn check_all(home: &Home, server: &Server) {
    let want = server.web().depth_map(&[server.web().front(0)], None);
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    for entry in home.all_captures() {
        if !entry.url.ends_with("/robots.txt") && !entry.url.ends_with("/sitemap.xml") {
            *kept.entry(entry.url).or_default() += 1;
        }
    }
    let doubled: Vec<_> = kept.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    assert_same(
        "kept",
        &kept.into_keys().collect(),
        &want.into_keys().collect::<BTreeSet<_>>(),
    );
    assert!(home.captures().scrub().unwrap().wounds.is_empty());
}

/// Longer than every limit of time that a fetch has here.
#[test]
fn env_10_a_process_that_was_stopped_goes_on_and_nobody_took_its_place() {
    let (home, server) = (Home::new(), serve(4, 40));
    let settings = "[fetch]\nfirst-byte-timeout = \"400ms\"\nconnect-timeout = \"400ms\"\ntimeout = \"800ms\"\nmin-rate-window = \"400ms\"\n[politeness]\nretry-wait = \"50ms\"\n";
    let arguments = crawl_with(&home, &server, "20ms", settings, &[]);
    let running = home.start(&arguments);
    until("some pages", || has_committed(&home, &server, 20));
    running.signal(Signal::STOP);
    // What was on its way comes to its end at the server.
    std::thread::sleep(Duration::from_millis(300));
    let asked = server.log().entries.len();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(server.log().entries.len(), asked, "it was stopped");
    // It has the directory while it sleeps: nobody else may write there, and everybody may look.
    let other = home.run(&["resume"]);
    assert_eq!(other.code, Some(1), "{}", other.err);
    assert!(
        other.err.contains(&running.id().to_string()),
        "{}",
        other.err
    );
    home.good(&["get", &server.web().front(0)]);
    running.signal(Signal::CONT);
    let ended = running.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    check_all(&home, &server);
    assert_polite(&server, Duration::from_millis(20));
    // Only what was under way is asked for again.
    let again = requested(&server.log())
        .into_values()
        .filter(|&times| times > 1);
    assert!(again.count() <= 4, "{:?}", requested(&server.log()));
}

/// Nothing is asked before there is a collection that can be read.
fn has_committed(home: &Home, server: &Server, attempts: usize) -> bool {
    server.log().entries.len() > attempts && home.attempts().len() > attempts
}

/// All files of a directory, by name.
fn content(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path.display().to_string(), bytes);
            }
        }
    }
    found
}

/// The program as the older one of two: a newer one has been at the directory in the middle of a crawl. Nothing that is
/// refused has written a byte, and when the directory is of its version again the crawl goes on, and loses nothing.
#[test]
fn env_16_a_downgrade_in_the_middle_of_a_crawl_is_refused_before_anything_is_written() {
    let (home, server) = (Home::new(), serve(3, 40));
    let running = home.start(&crawl(&home, &server, "20ms", &[]));
    until("some pages", || has_committed(&home, &server, 20));
    running.kill();
    // What a reader may tidy up behind a killed process is done now.
    home.good(&["status"]);
    let format = home.data().join("format");
    let own = std::fs::read_to_string(&format).unwrap();
    let url = server.web().front(0);
    let list = home.write("urls", &format!("{url}one-more\n"));
    for newer in [
        own.replace("teia-data 1", "teia-data 2"),
        own.replace("normal-form 3", "normal-form 4"),
    ] {
        assert_ne!(newer, own, "the version is another one by now");
        // Without its check sum: whoever writes another version knows how to make one.
        let lines: String = newer
            .lines()
            .take(3)
            .map(|line| format!("{line}\n"))
            .collect();
        std::fs::write(&format, lines).unwrap();
        let before = content(home.data());
        for arguments in [
            &["crawl", &url] as &[&str],
            &["resume"],
            &["status"],
            &["search", "a"],
            &["verify"],
            &["urls", "add", &list],
            &["urls", "repair"],
            &["urls", "verify"],
            &["index", "rebuild"],
            &["catalog", "rebuild"],
            &["rank"],
            &["remove", &url],
            &["token", "new", "--role", "viewer", "somebody"],
            &["collection", "new", "birds", &url],
            &["serve", "--listen", "127.0.0.1:0"],
        ] {
            let ended = home.run(arguments);
            assert!(
                ended.code.is_some_and(|code| code != 0) && ended.err.contains("newer"),
                "{arguments:?}: {:?} {}",
                ended.code,
                ended.err
            );
            let after = content(home.data());
            let touched: Vec<_> = before
                .keys()
                .chain(after.keys())
                .filter(|path| before.get(*path) != after.get(*path))
                .collect();
            assert!(touched.is_empty(), "{arguments:?}: {touched:?}");
        }
    }
    std::fs::write(&format, own).unwrap();
    home.good(&["resume", "--delay", "0s"]);
    check_all(&home, &server);
}

/// Runs a program under limits of the system; what it said.
fn limited(
    before: &[&str],
    program: &Path,
    home: &Home,
    arguments: &[String],
) -> (Option<i32>, String) {
    let errors = home.beside("errors");
    let mut child = Command::new(before[0])
        .args(&before[1..])
        .arg(program)
        .args(arguments)
        .env("TEIA_DATA", home.data())
        .env_remove("TEIA_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let by = std::time::Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if std::time::Instant::now() > by {
            child.kill().unwrap();
            panic!(
                "it did not end: {}",
                std::fs::read_to_string(&errors).unwrap()
            );
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    (status.code(), std::fs::read_to_string(&errors).unwrap())
}

/// Whether this machine lets us try it; says what is missing where not.
fn can(test: &str, program: &str, arguments: &[&str]) -> bool {
    let works = Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        println!(
            "SKIPPED {test}: `{program} {}` does not work here",
            arguments.join(" ")
        );
    }
    works
}

/// As few threads as there may be: a clear error or a crawl that goes on with less; nothing is lost, and with enough of them all
/// is there. (A limit of threads does not bind root, so that somebody else runs it.)
#[test]
fn env_08_with_few_threads_it_says_so_or_goes_on() {
    const NOBODY: &str = "--reuid=64321";
    let test = "env_08_with_few_threads_it_says_so_or_goes_on";
    if !can(test, "setpriv", &[NOBODY, "--clear-groups", "true"]) {
        return;
    }
    let (home, server) = (Home::new(), serve(4, 10));
    // Somebody else must be able to run the program and to write there.
    let program = home.beside("teia");
    std::fs::copy(env!("CARGO_BIN_EXE_teia"), &program).unwrap();
    let all = std::fs::Permissions::from_mode(0o777);
    let folder = program.parent().unwrap();
    std::fs::create_dir(home.data()).unwrap();
    for path in [folder, home.data(), &program] {
        std::fs::set_permissions(path, all.clone()).unwrap();
    }
    let arguments = crawl(&home, &server, "0s", &[]);
    let mut ended = BTreeMap::<Option<i32>, usize>::new();
    for threads in 1..16 {
        let limit = format!("--nproc={threads}:{threads}");
        let before = ["setpriv", NOBODY, "--clear-groups", "prlimit", &limit];
        let (code, said) = limited(&before, &program, &home, &arguments);
        assert!(matches!(code, Some(0 | 1)), "{threads}: {code:?} {said}");
        assert!(!said.contains("panicked"), "{threads}: {said}");
        let is_told = said.contains("temporarily unavailable");
        assert!(code == Some(0) || is_told, "{threads}: {said}");
        *ended.entry(code).or_default() += 1;
    }
    println!("{ended:?}");
    assert!(ended.contains_key(&Some(1)), "there were enough threads");
    let before = ["setpriv", NOBODY, "--clear-groups"];
    let (code, said) = limited(&before, &program, &home, &arguments);
    assert_eq!(code, Some(0), "{said}");
    check_all(&home, &server);
    let found = home.json(&["search", "type:html", "--json"]);
    assert!(
        found["total"].as_u64() > Some(0),
        "the index was made up for: {found}"
    );
}

/// In a network of its own that has fewer ports than hosts that are asked at once: nobody is blamed, and nothing is lost. The test
/// runs itself in that network.
#[test]
fn env_08_with_few_ports_a_crawl_is_slower_and_loses_nothing() {
    const INSIDE: &str = "TEIA_FEW_PORTS";
    let test = "env_08_with_few_ports_a_crawl_is_slower_and_loses_nothing";
    if std::env::var_os(INSIDE).is_some() {
        return crawl_with_few_ports();
    }
    let set_up = "ip link set lo up && echo 40000 40007 > /proc/sys/net/ipv4/ip_local_port_range";
    if !can(test, "unshare", &["-n", "sh", "-c", set_up]) {
        return;
    }
    let script = format!("{set_up} && exec \"$0\" --exact {test} --nocapture");
    let inside = Command::new("unshare")
        .args(["-n", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&inside.stdout);
    let err = String::from_utf8_lossy(&inside.stderr);
    assert!(inside.status.success(), "{said}\n{err}");
    print!("{said}");
}

fn crawl_with_few_ports() {
    let (home, server) = (Home::new(), serve(24, 6));
    // A server answers and closes, and so the port is soon free again; 24 hosts are asked at once all the same.
    let arguments = crawl(&home, &server, "0s", &["--hosts", "24"]);
    let program = Path::new(env!("CARGO_BIN_EXE_teia"));
    let (code, said) = limited(&["env"], program, &home, &arguments);
    assert_eq!(code, Some(0), "{said}");
    check_all(&home, &server);
    let attempts = home.attempts();
    let blamed: Vec<String> = attempts
        .iter()
        .filter(|one| one.outcome.number() <= -40 && one.outcome.number() > -60)
        .map(|one| format!("{} {} {:?}", one.url.request(), one.outcome, one.detail))
        .collect();
    assert!(blamed.is_empty(), "{blamed:#?}");
    let lacking = attempts
        .iter()
        .filter(|one| one.outcome == teia_base::Outcome::SYSTEM_ERROR);
    println!(
        "{} attempts, {} without a port",
        attempts.len(),
        lacking.count()
    );
}

/// A collection whose run is due, minded by `teia serve` with so many descriptors.
fn serve_due(home: &Home, server: &Server, descriptors: &str) -> Running {
    home.good(&["collection", "new", "default", &server.web().front(0)]);
    let resolve = format!("fetch.resolve=[\"*.test={}\"]", server.addr());
    let mut edit = vec!["collection", "edit", "default"];
    for setting in [
        resolve.as_str(),
        "filter.scope=suffix:.web.test",
        "politeness.delay=30ms",
        "politeness.latency-factor=0",
        "run.alias-pages=0",
        "traps.enabled=false",
        "schedule.start=2026-01-01",
        "schedule.every=3650d",
    ] {
        edit.extend(["--set", setting]);
    }
    home.good(&edit);
    let serving = home.start_under(
        &["prlimit", &format!("--nofile={descriptors}:{descriptors}")],
        &["serve", "--listen", "127.0.0.1:0"],
    );
    serving.address();
    serving
}

fn address_of(serving: &Running) -> SocketAddr {
    let address = serving.address();
    address.trim_start_matches("http://").parse().unwrap()
}

/// One request, whose answer is read to its end.
fn get(address: SocketAddr, path: &str) -> String {
    use std::io::Read;
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Far more who come to look than there are descriptors, and a run in the same process: the run has what it needs, and so has
/// whoever asks for something.
#[test]
fn env_08_who_comes_to_look_takes_no_descriptor_from_a_run() {
    let test = "env_08_who_comes_to_look_takes_no_descriptor_from_a_run";
    if !can(test, "prlimit", &["--nofile=128:128", "true"]) {
        return;
    }
    let (home, server) = (Home::new(), serve(12, 20));
    let serving = serve_due(&home, &server, "128");
    let address = address_of(&serving);
    let crowd: Vec<TcpStream> = (0..400)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    until("the end of the run", || {
        assert!(get(address, "/").starts_with("HTTP/1.1 200"));
        home.status()["state"] == "ended (done)"
    });
    drop(crowd);
    check_all(&home, &server);
    assert_polite(&server, Duration::from_millis(30));
    let said = serving.said();
    assert!(!said.contains("Too many open files"), "{said}");
    serving.signal(Signal::TERM);
    assert_eq!(serving.wait(LIMIT).code, Some(130));
}

/// Those who read the figures ask and take nothing of the answer, again and again: collecting goes on.
#[test]
fn env_20_who_blocks_the_figures_does_not_stop_a_crawl() {
    let test = "env_20_who_blocks_the_figures_does_not_stop_a_crawl";
    if !can(test, "prlimit", &["--nofile=1024:1024", "true"]) {
        return;
    }
    let (home, server) = (Home::new(), serve(6, 20));
    let serving = serve_due(&home, &server, "1024");
    let address = address_of(&serving);
    let figures = get(address, "/metrics");
    assert!(figures.starts_with("HTTP/1.1 200"), "{figures:.300}");
    // Asked for so often on each connection that the answers fill what lies between us, and none is read.
    let blocked: Vec<TcpStream> = (0..32)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream
                .set_write_timeout(Some(Duration::from_millis(50)))
                .unwrap();
            for _ in 0..2000 {
                let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
                if asked.is_err() {
                    break;
                }
            }
            stream
        })
        .collect();
    until("the end of the run", || {
        home.status()["state"] == "ended (done)"
    });
    check_all(&home, &server);
    drop(blocked);
    assert!(get(address, "/metrics").starts_with("HTTP/1.1 200"));
    serving.signal(Signal::TERM);
    assert_eq!(serving.wait(LIMIT).code, Some(130));
}
