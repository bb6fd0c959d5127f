//! A login by a form, with the real program and a real server: a token against forged requests, a session that the server
//! forgets, a wrong password; and nothing of it is written down anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use flate2::read::MultiGzDecoder;
use support::Home;
use teia_base::Outcome;
use teia_base::journal::Attempt;

const PASSWORD: &str = "pw & 4711 quokka";
const PASSWORD_SENT: &str = "pw+%26+4711+quokka";

/// A server with a form. Its sessions end after three pages.
#[derive(Debug, Default)]
struct Club {
    /// Method and path of each request.
    asked: Vec<String>,
    /// Tokens handed out with the form, each good once and for the visitor who has its cookie.
    tokens: u32,
    sessions: u32,
    /// Pages that the last session may still see.
    left: u32,
    /// Whether the form says that it goes elsewhere.
    elsewhere: bool,
}

fn page(status: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
}

impl Club {
    fn answer(&mut self, method: &str, path: &str, head: &str, body: &str) -> String {
        self.asked.push(format!("{method} {path}"));
        let has_cookie = |cookie: &str| {
            let mut lines = head
                .lines()
                .filter_map(|line| line.strip_prefix("Cookie: "));
            lines.any(|line| line.split("; ").any(|one| one == cookie))
        };
        match (method, path) {
            (_, "/robots.txt") => page("404 No", "", ""),
            ("GET", "/login") => {
                self.tokens += 1;
                let n = self.tokens;
                let action = if self.elsewhere {
                    "http://127.0.0.2:9/in"
                } else {
                    "/in"
                };
                page(
                    "200 OK",
                    &format!("Set-Cookie: visitor=visitor-secret-{n}; HttpOnly\r\n"),
                    &format!(
                        "<form action=/find><input name=q></form><form method=post action={action}><input type=hidden name=csrf value='token&#43;secret/{n}'>\
                         <input name=mail><input type=password name=pass></form>"
                    ),
                )
            }
            ("POST", "/in") => {
                let n = self.tokens;
                let right = format!(
                    "csrf=token%2Bsecret%2F{n}&mail=ann%40a.example&pass={PASSWORD_SENT}&remember=1"
                );
                let is_ours = has_cookie(&format!("visitor=visitor-secret-{n}"))
                    && head.contains("Origin: http://127.0.0.1:")
                    && head.contains("Content-Type: application/x-www-form-urlencoded");
                if body != right || !is_ours {
                    return page(
                        "200 OK",
                        "",
                        "<p>no</p><form><input type=password name=pass></form>",
                    );
                }
                (self.sessions, self.left) = (self.sessions + 1, 3);
                let n = self.sessions;
                let cookie = format!(
                    "Set-Cookie: session=session-secret-{n}; Path=/\r\nLocation: /home\r\n"
                );
                page("303 See", &cookie, "")
            }
            _ if path.starts_with("/club/") || path == "/home" => {
                let is_in = has_cookie(&format!("session=session-secret-{}", self.sessions));
                if !is_in || self.left == 0 || path == "/club/board" {
                    return page("302 Found", "Location: /login\r\n", "");
                }
                self.left -= u32::from(path != "/home");
                let links: String = (0..8)
                    .map(|n| format!("<a href=/club/{n}>{n}</a>"))
                    .collect();
                page(
                    "200 OK",
                    "Set-Cookie: seen=seen-secret; Path=/\r\n",
                    &format!("<p>inside</p>{links}<a href=/club/board>b</a>"),
                )
            }
            _ => page(
                "200 OK",
                "Set-Cookie: front=front-secret\r\n",
                "<p>front</p><a href=/club/0>in</a>",
            ),
        }
    }
}

fn serve(club: Club) -> (String, Arc<Mutex<Club>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let club = Arc::new(Mutex::new(club));
    let of_server = Arc::clone(&club);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let club = Arc::clone(&of_server);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                loop {
                    let (mut first, mut head, mut length) = (String::new(), String::new(), 0);
                    if reader.read_line(&mut first).unwrap_or(0) == 0 {
                        return;
                    }
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                            break;
                        }
                        if let Some(text) = line.strip_prefix("Content-Length: ") {
                            length = text.trim().parse().unwrap();
                        }
                        head.push_str(&line);
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    let body = String::from_utf8(body).unwrap();
                    let mut words = first.split(' ');
                    let (method, path) = (words.next().unwrap(), words.next().unwrap());
                    let said = club.lock().unwrap().answer(method, path, &head, &body);
                    if stream.write_all(said.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, club)
}

fn crawl(home: &Home, address: &str, password: &str, more: &str) -> Output {
    let settings = format!(
        "seeds = [\"http://{address}/\"]\n[politeness]\ndelay = \"0s\"\n[fetch]\nallow-private = true\ncookies = true\n\
         [[login]]\nmatch = \"{address}/club/\"\nkind = \"form\"\nform-url = \"http://{address}/login\"\nuser = \"ann@a.example\"\n\
         secret-variable = \"TEIA_TEST_FORM\"\nform-fields = [\"remember=1\"]\n{more}"
    );
    let file = home.write("club.toml", &settings);
    Command::new(env!("CARGO_BIN_EXE_teia"))
        .args(["crawl", "--config", &file])
        .env("TEIA_DATA", home.data())
        .env("TEIA_TEST_FORM", password)
        .env("TEIA_LOG", "trace")
        .output()
        .unwrap()
}

/// All bytes of all files below a directory, unpacked where they are packed.
fn all_bytes(directory: &Path, all: &mut String) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_bytes(&path, all);
            continue;
        }
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        if path.extension().is_some_and(|it| it == "gz") {
            let mut unpacked = Vec::new();
            MultiGzDecoder::new(&bytes[..])
                .read_to_end(&mut unpacked)
                .unwrap();
            all.push_str(&String::from_utf8_lossy(&unpacked));
        }
        all.push_str(&String::from_utf8_lossy(&bytes));
    }
}

fn outcomes(home: &Home, path: &str) -> Vec<Outcome> {
    let of = |attempt: &&Attempt| attempt.url.normal().as_str().ends_with(path);
    let attempts = home.attempts();
    attempts.iter().filter(of).map(|it| it.outcome).collect()
}

#[test]
fn a_form_is_filled_in_again_whenever_the_server_forgets_us_and_nothing_is_written_down() {
    let (home, (address, club)) = (Home::new(), serve(Club::default()));
    let signs =
        "success-cookie = \"session\"\nsuccess-redirect = \"/home\"\nsuccess-text = \"inside\"\n";
    let ended = crawl(&home, &address, PASSWORD, signs);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    for n in 0..8 {
        let of = outcomes(&home, &format!("/club/{n}"));
        assert_eq!(of.last(), Some(&Outcome::http(200)), "{n}: {of:?} {said}");
    }
    let asked = club.lock().unwrap().asked.clone();
    let count = |what: &str| asked.iter().filter(|it| *it == what).count();
    // Eight pages at three a session, and one that stays shut, for which it is tried once more.
    let logins = count("POST /in");
    assert!((3..=6).contains(&logins), "{asked:?}");
    // Once for each of them, and once because pages of the site lead there.
    let forms = count("GET /login");
    assert!((logins..=logins + 1).contains(&forms), "{asked:?}");
    let board = outcomes(&home, "/club/board");
    assert_eq!(board.last(), Some(&Outcome::LOGIN_FAILED), "{board:?}");
    // No request of a login is a page.
    assert!(outcomes(&home, "/in").is_empty() && outcomes(&home, "/home").is_empty());
    let mut kept = said + &String::from_utf8_lossy(&ended.stdout);
    all_bytes(home.data(), &mut kept);
    assert!(kept.contains("inside") && kept.contains("Set-Cookie: ***"));
    for word in [
        "& 4711",
        "26+4711",
        "quokka",
        "session-secret",
        "visitor-secret",
        "seen-secret",
        "front-secret",
    ] {
        let at = kept
            .find(word)
            .map(|at| &kept[at.saturating_sub(100)..at + 20]);
        assert!(at.is_none(), "{word} is in {at:?}");
    }
    let told = home.good(&["collection", "check"]);
    let words = format!("by the form at http://{address}/login");
    assert!(told.contains(&words), "{told}");
}

#[test]
fn a_wrong_password_is_tried_once_and_said_once() {
    let (home, (address, club)) = (Home::new(), serve(Club::default()));
    // No signs: the page that follows asks for the password again.
    let ended = crawl(&home, &address, "wrong", "");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    let asked = club.lock().unwrap().asked.clone();
    let posts = asked.iter().filter(|it| *it == "POST /in").count();
    assert_eq!(posts, 1, "{asked:?}");
    assert_eq!(outcomes(&home, "/club/0"), [Outcome::LOGIN_FAILED]);
    let message = "asks for the password again";
    let lines = said
        .lines()
        .filter(|line| line.contains("did not accept the login"));
    let lines: Vec<&str> = lines.filter(|line| line.contains(message)).collect();
    assert!(!lines.is_empty(), "{said}");
}

#[test]
fn a_form_that_goes_to_another_server_gets_no_password() {
    let elsewhere = Club {
        elsewhere: true,
        ..Club::default()
    };
    let (home, (address, club)) = (Home::new(), serve(elsewhere));
    let ended = crawl(&home, &address, PASSWORD, "");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        said.contains("another server, which gets no password"),
        "{said}"
    );
    let asked = club.lock().unwrap().asked.clone();
    assert!(!asked.iter().any(|it| it.starts_with("POST")), "{asked:?}");
}
