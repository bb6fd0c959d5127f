//! Webhooks of the real program: who is told, signed how, who is never asked, and that no run waits for them.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

#[path = "../../web/tests/support/little_web.rs"]
mod little_web;
mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use little_web::LittleWeb;
use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{Home, LIMIT, Running, until};

const SECRET: &str = "between us";

/// Takes messages, and answers them with these statuses in turn; the last one again and again.
struct Receiver {
    url: String,
    taken: Arc<Mutex<Vec<Taken>>>,
}

#[derive(Clone, Debug)]
struct Taken {
    head: String,
    body: String,
}

impl Taken {
    fn field(&self, name: &str) -> &str {
        let line = |line: &'_ str| -> Option<usize> {
            let value = line.strip_prefix(name)?.strip_prefix(": ")?;
            Some(line.len() - value.len())
        };
        let found = self
            .head
            .lines()
            .find_map(|text| line(text).map(|at| &text[at..]));
        found.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn event(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }
}

impl Receiver {
    fn start(statuses: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?x=1", listener.local_addr().unwrap());
        let taken: Arc<Mutex<Vec<Taken>>> = Arc::default();
        let (shared, statuses) = (Arc::clone(&taken), statuses.to_vec());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let one = read_message(&mut stream);
                let mut taken = shared.lock().unwrap();
                let status = statuses[taken.len().min(statuses.len() - 1)];
                taken.push(one);
                drop(taken);
                let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            }
        });
        Self { url, taken }
    }

    fn taken(&self) -> Vec<Taken> {
        self.taken.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<String> {
        self.taken().iter().map(Taken::event).collect()
    }

    /// Settings of a collection that tells it, at its address on loopback.
    fn settings(&self, more: &str) -> String {
        settings(&self.url, more)
    }
}

fn settings(url: &str, more: &str) -> String {
    format!("[webhook]\nurls = [\"{url}\"]\nallow-private = true\n{more}\n")
}

fn read_message(stream: &mut TcpStream) -> Taken {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut part).unwrap_or(0);
        bytes.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(read > 0, "half a message: {text}");
            continue;
        };
        let (head, body) = (head.to_owned(), body.to_owned());
        let one = Taken { head, body };
        let length: usize = one.field("Content-Length").parse().unwrap();
        assert!(read > 0 || one.body.len() == length, "half a message");
        if one.body.len() >= length {
            return one;
        }
    }
}

/// A crawl of one page with these settings; what it said.
#[track_caller]
fn crawl(home: &Home, web: &LittleWeb, settings: &str) -> String {
    let ended = home.run(&arguments(home, web, settings));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.err
}

fn arguments(home: &Home, web: &LittleWeb, settings: &str) -> Vec<String> {
    web.html("/", "<title>One</title><p>page</p>");
    let settings = home.write("hook.toml", settings);
    let url = web.url("/");
    ["crawl", &url, "--delay", "0s", "--config", &settings]
        .map(str::to_owned)
        .to_vec()
}

/// HMAC-SHA256, written down apart from the program.
fn signed(message: &str) -> String {
    let mut key = SECRET.as_bytes().to_vec();
    key.resize(64, 0);
    let with = |pad: u8| -> Vec<u8> { key.iter().map(|byte| byte ^ pad).collect() };
    let inner = Sha256::digest([with(0x36), message.as_bytes().to_vec()].concat());
    let outer = Sha256::digest([with(0x5c), inner.to_vec()].concat());
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_run_is_told_of_and_what_is_told_is_signed() {
    let (home, web) = (Home::new(), LittleWeb::start());
    let receiver = Receiver::start(&["204 Good"]);
    let secret = home.write("secret", &format!("{SECRET}\n"));
    let more = format!("secret-file = \"{secret}\"");
    let said = crawl(&home, &web, &receiver.settings(&more));
    let taken = receiver.taken();
    assert_eq!(receiver.events(), ["run_started", "run_ended"], "{said}");
    for one in &taken {
        assert!(one.head.starts_with("POST /hook?x=1 HTTP/1.1"), "{one:?}");
        let message = one.json();
        assert_eq!(message["collection"], "default");
        assert_eq!(message["run"], 1);
        assert!(message["time"].as_str().unwrap().ends_with('Z'));
        assert_eq!(message["type"], one.field("Teia-Event"));
        assert_eq!(message["id"], one.field("Teia-Delivery"));
        let stamp = one.field("Teia-Timestamp");
        assert_eq!(
            one.field("Teia-Signature"),
            format!("v1={}", signed(&format!("{stamp}.{}", one.body)))
        );
        assert!(!one.head.contains(SECRET) && !one.body.contains(SECRET));
    }
    let ended = taken[1].json();
    assert_eq!(ended["reason"], "done");
    assert_eq!(ended["figures"]["fetched"], 1, "{ended}");
    assert_eq!(taken[0].json()["goes_on"], false);
    assert_ne!(taken[0].json()["id"], ended["id"]);
    assert!(!said.contains(SECRET), "{said}");
    // And in nothing that was written down.
    for file in ["collections/default.toml", "default/webhook.json"] {
        let text = std::fs::read_to_string(home.data().join(file)).unwrap();
        assert!(!text.contains(SECRET), "{file}");
    }
    let words = home.good(&["collection", "check", "default"]);
    assert!(
        words.contains("It tells http://127.0.0.1") && !words.contains("/hook"),
        "{words}"
    );
}

#[test]
fn a_secret_that_is_not_there_is_refused_before_the_run() {
    let (home, web) = (Home::new(), LittleWeb::start());
    let receiver = Receiver::start(&["204 Good"]);
    for (more, word) in [
        ("secret-variable = \"TEIA_TEST_NO_SUCH\"", "secret-variable"),
        ("secret-file = \"no-such-file\"", "secret-file"),
    ] {
        let ended = home.run(&arguments(&home, &web, &receiver.settings(more)));
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(word), "{}", ended.err);
    }
    assert_eq!(web.answered(), 0);
    assert!(receiver.taken().is_empty());
}

/// A name server for which every name leads to this address.
fn name_server(to: Ipv4Addr) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            // The header, the name up to its empty label, type and class (RFC 1035, 4).
            let mut end = 12;
            while end < length && question[end] != 0 {
                end += usize::from(question[end]) + 1;
            }
            let is_a = question[end + 1..end + 3] == [0, 1];
            let mut reply = question[..end + 5].to_vec();
            reply[2] = 0x81;
            reply[3] = 0x80;
            reply[6..12].copy_from_slice(&[0, u8::from(is_a), 0, 0, 0, 0]);
            if is_a {
                reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
                reply.extend(to.octets());
            }
            let _ = socket.send_to(&reply, from);
        }
    });
    address
}

#[test]
fn ui_13_an_inner_address_is_never_told_whatever_fetching_is_allowed() {
    let (home, web) = (Home::new(), LittleWeb::start());
    let receiver = Receiver::start(&["204 Good"]);
    let port = receiver.url.split([':', '/']).nth(4).unwrap().to_owned();
    let server = name_server(Ipv4Addr::LOCALHOST);
    let metadata = name_server(Ipv4Addr::new(169, 254, 169, 254));
    let cases = [
        (receiver.url.clone(), String::new()),
        (format!("http://localhost:{port}/"), String::new()),
        (format!("http://[::ffff:127.0.0.1]:{port}/"), String::new()),
        (format!("http://2130706433:{port}/"), String::new()),
        (
            format!("http://hooks.example:{port}/"),
            format!("name-servers = [\"{server}\"]"),
        ),
        (
            "http://hooks.example/latest/meta-data/".to_owned(),
            format!("name-servers = [\"{metadata}\"]"),
        ),
        (
            format!("http://hooks.example:{port}/"),
            format!(
                "name-servers = [\"{server}\"]\nresolve = [\"hooks.example=127.0.0.1:{port}\"]"
            ),
        ),
    ];
    for (url, fetch) in cases {
        // What fetching is allowed does not count.
        let settings = format!(
            "[fetch]\nallow-private = true\n{fetch}\n[webhook]\nurls = [\"{url}\"]\nevents = [\"run_ended\"]\nretries = 0\n"
        );
        let said = crawl(&home, &web, &settings);
        assert!(
            said.contains("could not be told of run_ended"),
            "{url}: {said}"
        );
        assert!(receiver.taken().is_empty(), "{url} was told");
    }
}

#[test]
fn a_redirect_is_not_followed_and_not_tried_again() {
    let (home, web) = (Home::new(), LittleWeb::start());
    let elsewhere = Receiver::start(&["204 Good"]);
    // The text lives as long as the test program.
    let status: &'static str = format!("307 Go\r\nLocation: {}", elsewhere.url).leak();
    let receiver = Receiver::start(&[status]);
    let said = crawl(&home, &web, &receiver.settings("events = [\"run_ended\"]"));
    assert_eq!(receiver.taken().len(), 1);
    assert!(elsewhere.taken().is_empty());
    assert!(said.contains("redirects are not followed"), "{said}");
}

#[test]
fn ui_14_a_receiver_in_trouble_is_tried_again_with_the_same_message_and_not_for_ever() {
    let home = Home::new();
    let running = Serving::start(&home);
    let web = LittleWeb::start();
    web.html("/", "<title>One</title><p>page</p>");
    let later = Receiver::start(&["500 Bad", "204 Good"]);
    let never = Receiver::start(&["503 Never"]);
    running.create("later", &web, &later.url);
    running.create("never", &web, &never.url);
    for name in ["later", "never"] {
        home.good(&[
            "collection",
            "edit",
            name,
            "--set",
            "webhook.allow-private=true",
        ]);
        running.ask(
            "POST",
            &format!("/api/collections/{name}/start"),
            &Value::Null,
        );
    }
    for (name, state) in [("later", "delivered"), ("never", "failed")] {
        let mut last = Value::Null;
        until(state, || {
            last = running.ask(
                "GET",
                &format!("/api/collections/{name}/deliveries"),
                &Value::Null,
            );
            last["items"][0]["state"] == state
        });
        let delivery = &last["items"][0];
        assert_eq!(last["total"], 1, "{last}");
        assert_eq!(delivery["tries"], 2, "{last}");
        assert_eq!(delivery["event"], "run_ended");
        assert!(!last.to_string().contains("/hook"), "{last}");
        until("the event", || {
            let path = format!("/api/collections/{name}/events");
            let events = running.ask("GET", &path, &Value::Null);
            events.to_string().contains("the webhook http://127.0.0.1")
        });
    }
    for receiver in [&later, &never] {
        let taken = receiver.taken();
        assert_eq!(taken.len(), 2, "{taken:?}");
        assert_eq!(taken[0].body, taken[1].body);
        assert_eq!(
            taken[0].field("Teia-Delivery"),
            taken[1].field("Teia-Delivery")
        );
    }
}

/// Answers each message as it likes, and says how many bytes of that were taken.
fn receiver_that(answers: fn(&mut TcpStream) -> usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let taken = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&taken);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            read_message(&mut stream);
            let bytes = answers(&mut stream);
            shared.fetch_add(bytes.max(1), Ordering::SeqCst);
        }
    });
    (url, taken)
}

#[test]
fn ui_14_of_a_huge_answer_a_few_kilobytes_are_read() {
    // Sixteen mebibytes and no end of a line: more than lies in the buffers between two sockets.
    let (url, taken) = receiver_that(|stream| {
        let part = [b'x'; 64 << 10];
        let sent = (0..256).take_while(|_| stream.write_all(&part).is_ok());
        sent.count() * part.len()
    });
    let (home, web) = (Home::new(), LittleWeb::start());
    let settings = settings(
        &url,
        "events = [\"run_ended\"]\nretries = 0\ntimeout = \"1m\"",
    );
    let said = crawl(&home, &web, &settings);
    assert!(said.contains("could not be told of run_ended"), "{said}");
    assert!(said.contains("http_head_too_large"), "{said}");
    until("the end of what was sent", || {
        taken.load(Ordering::SeqCst) > 0
    });
    let bytes = taken.load(Ordering::SeqCst);
    assert!(bytes < 16 << 20, "all of it was taken");
}

#[test]
fn ui_14_a_receiver_that_drips_is_left_when_its_time_is_over() {
    // A byte now and then, for ever: each of them is an answer that goes on.
    let (url, _) = receiver_that(|stream| {
        let mut bytes = 0;
        while stream.write_all(b"x").is_ok() {
            bytes += 1;
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        bytes
    });
    let (home, web) = (Home::new(), LittleWeb::start());
    let settings = settings(
        &url,
        "events = [\"run_ended\"]\nretries = 0\ntimeout = \"1s\"",
    );
    let said = crawl(&home, &web, &settings);
    assert!(said.contains("could not be told of run_ended"), "{said}");
    assert!(said.contains("longer than the time limit"), "{said}");
}

/// A server with an admin's token.
struct Serving {
    running: Running,
    token: String,
}

impl Serving {
    fn start(home: &Home) -> Self {
        let running = home.start(&["serve", "--listen", "127.0.0.1:0", "--allow-private"]);
        running.address();
        let made = home.json(&["token", "new", "tests", "--role", "admin", "--json"]);
        let token = made["token"].as_str().unwrap().to_owned();
        Self { running, token }
    }

    fn try_ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let address = self.running.address();
        let address = address.trim_start_matches("http://");
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.try_ask(method, path, body);
        assert!(
            (200..300).contains(&status),
            "{method} {path}: {status} {answer}"
        );
        answer
    }

    /// A collection that tells of its ends, in two tries; what is decided on the machine is not decided here.
    fn create(&self, name: &str, web: &LittleWeb, url: &str) {
        let settings = json!({
            "webhook.urls": [url],
            "webhook.events": ["run_ended"],
            "webhook.retries": 1,
            "politeness.delay": "0s",
        });
        let wanted = json!({"name": name, "seeds": [web.url("/")], "settings": settings});
        self.ask("POST", "/api/collections", &wanted);
        let path = format!("/api/collections/{name}");
        let private = json!({"settings": {"webhook.allow-private": true}});
        let (status, refused) = self.try_ask("PATCH", &path, &private);
        assert_eq!(status, 422, "{refused}");
        assert!(refused.to_string().contains("on the machine"), "{refused}");
        let view = self.ask("GET", &path, &Value::Null);
        assert_eq!(view["settings"]["webhook"]["urls"][0], url, "{view}");
    }
}

#[test]
fn a_receiver_that_never_answers_keeps_no_run_waiting_and_is_told_after_a_restart() {
    let (home, web) = (Home::new(), LittleWeb::start());
    // It takes connections and says nothing, until the first process is gone.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let answers = Arc::new(AtomicBool::new(false));
    let held = Arc::new(AtomicUsize::new(0));
    let taken: Arc<Mutex<Vec<Taken>>> = Arc::default();
    let (answering, shared) = (Arc::clone(&answers), Arc::clone(&taken));
    let holding = Arc::clone(&held);
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for mut stream in listener.incoming().flatten() {
            if !answering.load(Ordering::SeqCst) {
                silent.push(stream);
                holding.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            let one = read_message(&mut stream);
            shared.lock().unwrap().push(one);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let settings = settings(&url, "timeout = \"1m\"\n");
    let running = home.start(&arguments(&home, &web, &settings));
    // The run ends though its first message hangs: the receiver would hold it for a minute.
    let is_over = || {
        let mut is_over = false;
        if home.data().join("default").exists() {
            let read = home.reading().entries(|entry| {
                is_over |= matches!(entry.record, teia_base::journal::Record::RunEnded(_));
            });
            is_over &= read.is_ok();
        }
        is_over
    };
    until("the end of the run in the journal", is_over);
    let book = home.data().join("default/webhook.json");
    let is_written = || {
        let text = std::fs::read_to_string(&book).unwrap_or_default();
        text.contains("run_ended") && text.contains("run_started")
    };
    until("both messages in the book", is_written);
    until("the connection", || held.load(Ordering::SeqCst) > 0);
    running.kill();
    answers.store(true, Ordering::SeqCst);
    crawl(&home, &web, &settings);
    let events: Vec<String> = taken.lock().unwrap().iter().map(Taken::event).collect();
    assert_eq!(
        &events[..2],
        ["run_started", "run_ended"],
        "what the first process could not deliver comes first"
    );
    assert_eq!(events.len(), 4, "{events:?}");
    let text = std::fs::read_to_string(&book).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    for one in list.as_array().unwrap() {
        assert_eq!(one["state"], "delivered", "{list}");
    }
}

#[test]
fn a_pause_a_resumption_and_a_failure_are_told_of() {
    let (home, receiver) = (Home::new(), Receiver::start(&["204 Good"]));
    let server = teia_testweb::Server::start(
        teia_testweb::WebConfig {
            hosts: 3,
            pages_per_host: 80,
            ..teia_testweb::WebConfig::default()
        },
        teia_testweb::Listen::Names { port: 0 },
    )
    .unwrap();
    let settings = receiver.settings("");
    let arguments = support::crawl_with(&home, &server, "300ms", &settings, &[]);
    let running = home.start(&arguments);
    until("the first requests", || server.log().entries.len() >= 5);
    home.good(&["pause"]);
    until("the pause", || {
        receiver.events().contains(&"run_paused".to_owned())
    });
    home.good(&["resume"]);
    until("the resumption", || {
        receiver.events().contains(&"run_resumed".to_owned())
    });
    running.signal(Signal::TERM);
    assert_eq!(running.wait(LIMIT).code, Some(130));
    let events = receiver.events();
    assert_eq!(
        events,
        ["run_started", "run_paused", "run_resumed", "run_ended"]
    );
    let taken = receiver.taken();
    assert_eq!(taken[3].json()["reason"], "interrupted");
    assert!(taken[1].json()["figures"]["fetched"].is_u64());

    // Another normal form is refused once something was collected: the run fails before it begins.
    let file = home.data().join("collections/default.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    let form = table
        .entry("normal-form")
        .or_insert(toml::Table::new().into());
    let form = form.as_table_mut().unwrap();
    form.insert("www".to_owned(), true.into());
    std::fs::write(&file, table.to_string()).unwrap();
    assert_eq!(home.run(&["resume"]).code, Some(2));
    until("the failure", || receiver.taken().len() == 5);
    let failed = receiver.taken()[4].json();
    assert_eq!(failed["type"], "run_failed");
    assert!(
        failed["error"].as_str().unwrap().contains("normal-form"),
        "{failed}"
    );
}
