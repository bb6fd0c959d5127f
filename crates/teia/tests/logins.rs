//! Logins of the real program: who gets which, who never gets any, and that no secret is written down anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use flate2::read::MultiGzDecoder;
use support::{Home, LIMIT};
use teia_base::Outcome;

const PASSWORD: &str = "pw-4711-quokka";
/// `ann:` and the password.
const BASIC: &str = "YW5uOnB3LTQ3MTEtcXVva2th";
const TOKEN: &str = "tk-0815-wombat";
const COOKIE: &str = "ck-1234-numbat";

/// A request: its path and its head.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// A server on loopback that answers by path and head.
fn serve(answer: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (seen, answer): (Seen, _) = (Arc::default(), Arc::new(answer));
    let log = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let mut stream = stream;
                while let Some(Ok(first)) = lines.next() {
                    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                    let rest = lines.by_ref().map_while(Result::ok);
                    let head: Vec<String> = rest.take_while(|line| !line.is_empty()).collect();
                    let head = head.join("\n");
                    let said = answer(&path, &head);
                    log.lock().unwrap().push((path, head));
                    if stream.write_all(said.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, seen)
}

fn page(status: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// A server with doors, and one elsewhere to which it sends people who are inside.
fn doors() -> (String, Seen, Seen) {
    let (elsewhere, others) = serve(|_, _| page("200 OK", "", "<p>elsewhere</p>"));
    let (address, seen) = serve(move |path, head| {
        let has = |text: &str| head.contains(text);
        let out = format!("Location: http://{elsewhere}{path}\r\n");
        match path {
            "/robots.txt" => page("404 No", "", ""),
            "/" => page(
                "200 OK",
                "",
                "<a href=/basic/1>1</a> <a href=/basic/out>o</a> <a href=/token/1>2</a> <a href=/token/out>o</a> <a href=/cookie/1>3</a> <a href=/cookie/out>o</a> <a href=/open>4</a>",
            ),
            "/open" => page("200 OK", "", "<p>open to all</p>"),
            _ if path.starts_with("/basic/") && !has(BASIC) => page(
                "401 No",
                "WWW-Authenticate: Basic realm=\"den\"\r\n",
                "<p>who are you</p>",
            ),
            _ if path.starts_with("/token/") && !has(TOKEN) => page("403 No", "", ""),
            _ if path.starts_with("/cookie/") && !has(COOKIE) => page("403 No", "", ""),
            _ if path.ends_with("/out") => page("302 Found", &out, ""),
            _ => page("200 OK", "", "<p>inside</p>"),
        }
    });
    (address, seen, others)
}

/// The settings of a collection with three logins.
fn settings(home: &Home, address: &str, password: &str) -> String {
    let token = home.write("token", &format!("{TOKEN}\n"));
    let host = address.split(':').next().unwrap();
    let cookies = format!("# Netscape HTTP Cookie File\n{host}\tFALSE\t/\tFALSE\t0\ts\t{COOKIE}\n");
    let cookies = home.write("cookies.txt", &cookies);
    format!(
        "seeds = [\"http://{address}/\"]\n[filter]\nscope = \"any\"\n[politeness]\ndelay = \"0s\"\n[fetch]\nallow-private = true\n\
         [[login]]\nmatch = \"{address}/basic/\"\nkind = \"basic\"\nuser = \"ann\"\n{password}\n\
         [[login]]\nmatch = \"http://{address}/token/\"\nkind = \"bearer\"\nsecret-file = \"{token}\"\n\
         [[login]]\nmatch = \"{address}/cookie/\"\nkind = \"cookie\"\nsecret-file = \"{cookies}\"\n"
    )
}

fn paths_with(seen: &Seen, word: &str) -> Vec<String> {
    let seen = seen.lock().unwrap();
    let with = seen.iter().filter(|(_, head)| head.contains(word));
    with.map(|(path, _)| path.clone()).collect()
}

/// Every file below a directory must be without these words, also where it is packed.
fn check_files(directory: &Path, words: &[&str], count: &mut usize) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_files(&path, words, count);
            continue;
        }
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        let mut unpacked = Vec::new();
        if path.extension().is_some_and(|it| it == "gz") {
            MultiGzDecoder::new(&bytes[..])
                .read_to_end(&mut unpacked)
                .unwrap();
        }
        *count += 1;
        for text in [&bytes, &unpacked] {
            let text = String::from_utf8_lossy(text);
            for word in words {
                assert!(!text.contains(word), "{word} is in {}", path.display());
            }
        }
    }
}

#[test]
fn each_place_gets_its_login_and_no_secret_is_written_down() {
    let (home, (address, seen, others)) = (Home::new(), doors());
    let settings = settings(&home, &address, "secret-variable = \"TEIA_TEST_LOGIN\"");
    let file = home.write("doors.toml", &settings);
    let ended = Command::new(env!("CARGO_BIN_EXE_teia"))
        .args(["crawl", "--config", &file])
        .env("TEIA_DATA", home.data())
        .env("TEIA_TEST_LOGIN", PASSWORD)
        .env("TEIA_LOG", "trace")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    for (word, prefix) in [(BASIC, "/basic/"), (TOKEN, "/token/"), (COOKIE, "/cookie/")] {
        let paths = paths_with(&seen, word);
        assert!(!paths.is_empty(), "{prefix}: {:?}", seen.lock().unwrap());
        assert!(
            paths.iter().all(|path| path.starts_with(prefix)),
            "{paths:?}"
        );
    }
    let inside = |path: &str| {
        let attempts = home.attempts();
        let url = format!("http://{address}{path}");
        let mut of = attempts.iter().filter(|it| it.url.normal().as_str() == url);
        of.any(|attempt| attempt.outcome == Outcome::http(200))
    };
    for path in ["/basic/1", "/token/1", "/cookie/1", "/open"] {
        assert!(inside(path), "{path}");
    }
    // Who was sent elsewhere from behind each door came there with nothing.
    let others = others.lock().unwrap().clone();
    for path in ["/basic/out", "/token/out", "/cookie/out"] {
        assert!(others.iter().any(|(asked, _)| asked == path), "{others:?}");
    }
    for (_, head) in &others {
        let head = head.to_ascii_lowercase();
        assert!(
            !head.contains("authorization") && !head.contains("cookie"),
            "{head}"
        );
    }
    // In no file, packed or not, and in nothing that was said, at the most talkative level.
    let words = [PASSWORD, BASIC, TOKEN, COOKIE];
    let mut files = 0;
    check_files(home.data(), &words, &mut files);
    assert!(files > 5, "{files}");
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    for word in words {
        assert!(!said.contains(word) && !out.contains(word), "{word}");
    }
    // What would happen is told in words, without the secret.
    let told = home.good(&["collection", "check"]);
    for words in [
        format!(
            "At {address}/basic/ it logs in (basic) as ann, with a password from the variable TEIA_TEST_LOGIN"
        ),
        format!("At http://{address}/token/ it logs in (bearer) with a token from "),
        format!("At {address}/cookie/ it logs in (cookie) with cookies of a browser from "),
    ] {
        assert!(told.contains(&words), "no {words:?} in {told}");
    }
}

#[test]
fn a_wrong_login_is_said_once_and_a_missing_secret_before_anything_is_asked() {
    let (home, (address, seen, _)) = (Home::new(), doors());
    let wrong = home.write("wrong", "not-it\n");
    let file = home.write(
        "doors.toml",
        &settings(&home, &address, &format!("secret-file = \"{wrong}\"")),
    );
    let ended = home.start(&["crawl", "--config", &file]).wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let failed = home.attempts();
    let failed = failed
        .iter()
        .filter(|it| it.outcome == Outcome::LOGIN_FAILED);
    assert_eq!(failed.count(), 2);
    assert_eq!(paths_with(&seen, "Authorization: Basic").len(), 1);
    // The line of the collection's own file, and not a request.
    let asked = seen.lock().unwrap().len();
    let edit = [
        "collection",
        "edit",
        "--unset",
        "login.1.secret-file",
        "--set",
    ];
    let edit = [&edit[..], &["login.1.secret-variable=TEIA_TEST_NO_SUCH"]].concat();
    home.good(&edit);
    let file = std::fs::read_to_string(home.data().join("collections/default.toml")).unwrap();
    let line = file
        .lines()
        .position(|line| line.contains("TEIA_TEST_NO_SUCH"));
    let refused = home.run(&["resume"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for word in [
        &format!("line {}", line.unwrap() + 1),
        "login 1, `secret-variable`",
        "TEIA_TEST_NO_SUCH is not set",
    ] {
        assert!(refused.err.contains(word), "no {word} in {}", refused.err);
    }
    assert_eq!(seen.lock().unwrap().len(), asked);
    // And that of a file which is not the collection's.
    let password = "secret-variable = \"TEIA_TEST_NO_SUCH\"";
    let other = home.write("other.toml", &settings(&home, &address, password));
    let refused = home.run(&["crawl", "--config", &other]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("line 12: login 1"), "{}", refused.err);
}

#[test]
fn seeds_are_read_from_their_file_at_each_start() {
    let (home, (address, seen, _)) = (Home::new(), doors());
    home.write("list.txt", &format!("# ours\nhttp://{address}/open\n"));
    let file = home.write(
        "list.toml",
        "seeds-file = \"list.txt\"\n[politeness]\ndelay = \"0s\"\n",
    );
    let told = home.good(&["collection", "check", "--file", &file]);
    assert!(told.contains("In list.txt there is 1 seed now"), "{told}");
    home.good(&["crawl", "--config", &file]);
    let asked = || -> Vec<String> {
        let seen = seen.lock().unwrap();
        seen.iter().map(|(path, _)| path.clone()).collect()
    };
    assert!(asked().contains(&"/open".to_owned()), "{:?}", asked());
    home.write(
        "list.txt",
        &format!("http://{address}/open\nhttp://{address}/token/9\n"),
    );
    home.good(&["crawl"]);
    assert!(asked().contains(&"/token/9".to_owned()), "{:?}", asked());
    home.write("list.txt", "example.org\nhttp://\n");
    let refused = home.run(&["crawl"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for word in ["list.txt", "line 2"] {
        assert!(refused.err.contains(word), "{}", refused.err);
    }
}
