//! The API of the real program: runs are begun, steered and changed through it, in its own process and in
//! another; the first token; and what a tool finds that only knows the description.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{Home, LIMIT, Running, assert_polite, crawl, until};
use teia_testweb::{Listen, Server, WebConfig};

/// A web that takes a quarter of a minute with a gap of 200 ms.
fn web() -> Server {
    Server::start(
        WebConfig {
            hosts: 3,
            pages_per_host: 80,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap()
}

struct Client {
    address: String,
    token: String,
}

impl Client {
    /// Of a server that runs, with a token for an admin.
    fn new(home: &Home, running: &Running) -> Self {
        let base = running.address();
        let made = home.json(&["token", "new", "tests", "--role", "admin", "--json"]);
        Self {
            address: base.trim_start_matches("http://").to_owned(),
            token: made["token"].as_str().unwrap().to_owned(),
        }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        )
        .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    #[track_caller]
    fn good(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert!(
            (200..300).contains(&status),
            "{method} {path}: {status} {answer}"
        );
        answer
    }

    fn get(&self, path: &str) -> Value {
        self.good("GET", path, &Value::Null)
    }

    fn post(&self, path: &str) -> Value {
        self.good("POST", path, &Value::Null)
    }

    /// Sends a form as a browser does, and gives the whole answer.
    fn send_form(&self, method: &str, path: &str, cookie: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let address = &self.address;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nOrigin: http://{address}\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Logs in as a person, and changes one setting by the form.
    fn change_by_form(&self, name: &str, key: &str, value: &str) {
        let entered = self.send_form("POST", "/login", "", &format!("token={}", self.token));
        let cookie = entered
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase()
                    .starts_with("set-cookie:")
                    .then(|| &line[11..])
            })
            .unwrap_or_else(|| panic!("{entered}"));
        let cookie = cookie.split(';').next().unwrap().trim();
        let path = format!("/collections/{name}/edit");
        let page = self.send_form("GET", &path, cookie, "");
        let csrf = page
            .split("name=\"csrf\" value=\"")
            .nth(1)
            .unwrap_or_else(|| panic!("{page}"));
        let csrf = csrf.split('"').next().unwrap();
        let body = format!("what=save&{key}={value}&csrf={csrf}");
        let saved = self.send_form("POST", &path, cookie, &body);
        assert!(saved.starts_with("HTTP/1.1 303"), "{saved}");
    }

    /// A collection of this web, which takes some seconds.
    fn create(&self, server: &Server, name: &str) {
        let resolve = format!("*.test={}", server.addr());
        self.good(
            "POST",
            "/api/collections",
            &json!({"name": name, "seeds": [server.web().front(0)], "settings": {
                "fetch.resolve": [resolve],
                "filter.scope": "suffix:.web.test",
                "politeness.delay": "200ms",
                "politeness.latency-factor": 0,
                "run.alias-pages": 0,
            }}),
        );
    }

    fn state(&self, name: &str) -> String {
        let card = self.get(&format!("/api/collections/{name}"));
        card["state"].as_str().unwrap().to_owned()
    }
}

fn serve(home: &Home, more: &[&str]) -> Running {
    let arguments: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"]
        .iter()
        .chain(more)
        .copied()
        .collect();
    home.start(&arguments)
}

#[test]
fn the_first_start_prints_a_token_once_and_it_works() {
    let home = Home::new();
    let first = serve(&home, &[]);
    until("the greeting", || first.printed().contains("makes others"));
    let printed = first.printed();
    let token = printed
        .split_whitespace()
        .find(|word| word.starts_with("teia_"))
        .unwrap()
        .to_owned();
    assert!(printed.contains("Authorization: Bearer"), "{printed}");
    let client = Client {
        address: first.address().trim_start_matches("http://").to_owned(),
        token: token.clone(),
    };
    assert_eq!(client.get("/api/me")["role"], "admin");
    first.signal(Signal::TERM);
    assert_eq!(first.wait(LIMIT).code, Some(130));
    let second = serve(&home, &[]);
    let address = second.address();
    let client = Client {
        address: address.trim_start_matches("http://").to_owned(),
        token,
    };
    assert_eq!(client.get("/api/me")["role"], "admin", "it stays");
    assert!(!second.printed().contains("teia_"), "{}", second.printed());
    let tokens = home.good(&["token", "list"]);
    assert!(tokens.contains("admin"), "{tokens}");
    let id = tokens.split_whitespace().next().unwrap();
    home.good(&["token", "remove", id]);
    let (status, _) = client.ask("GET", "/api/me", &Value::Null);
    assert_eq!(status, 401, "taken back from another terminal, at once");
}

#[test]
fn ui_11_other_machines_are_let_in_only_where_somebody_can_log_in() {
    let home = Home::new();
    let refused = home.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for word in ["no login", "token new", "127.0.0.1"] {
        assert!(refused.err.contains(word), "{}", refused.err);
    }
    assert!(!home.data().exists());
    home.good(&["token", "new", "me", "--role", "admin"]);
    let open = serve(&home, &[]);
    open.address();
    drop(open);
    let open = home.start(&["serve", "--listen", "0.0.0.0:0"]);
    // Its numbers are not for everybody who comes by.
    let port = open.address().rsplit(':').next().unwrap().to_owned();
    let told = metrics_at(&format!("127.0.0.1:{port}"));
    assert!(told.starts_with("HTTP/1.1 401 "), "{told}");
    until("the warning", || open.said().contains("not encrypted"));
    assert!(!open.printed().contains("teia_"));
}

#[test]
fn every_number_that_the_dashboard_asks_for_is_among_the_metrics() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("../../docs/grafana/teia.json");
    let board: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let board = board.to_string();
    let mut names = std::collections::BTreeSet::new();
    for (at, _) in board.match_indices("teia_") {
        let rest = &board[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.insert(&rest[..end.unwrap()]);
    }
    assert!(names.len() > 15, "{names:?}");
    let (server, home) = (web(), Home::new());
    let running = serve(&home, &["--allow-private"]);
    let client = Client::new(&home, &running);
    client.create(&server, "birds");
    client.post("/api/collections/birds/start");
    let missing = || {
        let text = metrics(&client);
        let has = |name: &str| {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines
                .map(|line| &line[name.len()..])
                .any(|rest| rest.starts_with(['{', ' ']))
        };
        let missing = names.iter().filter(|name| !has(name));
        missing.copied().collect::<Vec<&str>>()
    };
    until("every number of the dashboard", || missing().is_empty());
    // Each question is one that Prometheus can read as far as its brackets go, and titles say what is shown.
    let board: Value = serde_json::from_str(&board).unwrap();
    let panels = board["panels"].as_array().unwrap();
    assert!(panels.len() > 5);
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert!(!panel["title"].as_str().unwrap().is_empty(), "{panel}");
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            let asked = target["expr"].as_str().unwrap();
            for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
                let count = |sign| asked.matches(sign).count();
                assert_eq!(count(open), count(close), "{asked}");
            }
        }
    }
}

#[test]
fn a_run_is_begun_paused_resumed_and_stopped_through_the_api() {
    let (server, home) = (web(), Home::new());
    let running = serve(&home, &["--allow-private"]);
    let client = Client::new(&home, &running);
    client.create(&server, "birds");
    assert_eq!(client.state("birds"), "never-run");
    assert_eq!(server.log().entries.len(), 0, "nothing begins by itself");
    let begun = client.post("/api/collections/birds/start");
    assert!(
        matches!(begun["state"].as_str(), Some("running" | "starting")),
        "{begun}"
    );
    until("requests", || server.log().entries.len() >= 20);
    let paused = client.post("/api/collections/birds/pause");
    assert_eq!(
        (&paused["state"], &paused["noted"]),
        (&json!("paused"), &json!(true))
    );
    until("what was under way to end", || {
        server.log().entries.iter().all(|entry| entry.end.is_some())
    });
    let asked = server.log().entries.len();
    assert_eq!(client.state("birds"), "paused");
    let (status, problem) = client.ask("DELETE", "/api/collections/birds", &Value::Null);
    assert_eq!(status, 409, "{problem}");
    assert_eq!(
        server.log().entries.len(),
        asked,
        "a paused run asked for something"
    );
    let text = metrics(&client);
    assert!(text.contains("teia_runs{state=\"paused\"} 1"), "{text}");
    assert!(
        text.contains("teia_attempts_total{collection=\"birds\",outcome=\"ok\"}"),
        "{text}"
    );
    assert!(
        text.contains("teia_first_byte_seconds_count{collection=\"birds\"}"),
        "{text}"
    );
    assert!(!text.contains("web.test"), "no host is in it: {text}");
    for line in [
        "teia_catalog_up{collection=\"birds\"} 1\n",
        "teia_catalog_lag_seconds{collection=\"birds\"} ",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    // A limit for this run alone: it ends there.
    let changed = client.good(
        "PATCH",
        "/api/collections/birds/run",
        &json!({"settings": {"filter.max-pages": 60}}),
    );
    assert!(
        changed["answer"].as_str().unwrap().contains("new settings"),
        "{changed}"
    );
    client.post("/api/collections/birds/resume");
    until("its end", || client.state("birds") == "ended");
    let card = client.get("/api/collections/birds");
    assert!(
        card["settings"]["filter"]["max-pages"].is_null(),
        "the file stays"
    );
    assert!(
        matches!(card["reason"].as_str(), Some("max-pages")),
        "{card}"
    );
    let events = client.get("/api/collections/birds/events");
    assert!(events.to_string().contains("new settings"), "{events}");
    // Again, and stopped by hand.
    client.post("/api/collections/birds/start");
    until("requests", || server.log().entries.len() > 100);
    let stopped = client.post("/api/collections/birds/stop");
    assert!(
        matches!(stopped["state"].as_str(), Some("stopping" | "running")),
        "{stopped}"
    );
    until("its end", || client.state("birds") == "ended");
    assert_eq!(client.get("/api/collections/birds")["reason"], "stopped");
    assert_polite(&server, std::time::Duration::from_millis(200));
    client.good("DELETE", "/api/collections/birds", &Value::Null);
    assert!(!home.data().join("birds").exists());
}

/// What was changed for a run alone counts until that run ends, also in the process that goes on with it.
#[test]
fn what_was_changed_for_a_run_counts_after_a_restart() {
    for signal in [Signal::KILL, Signal::TERM] {
        let (server, home) = (web(), Home::new());
        let running = serve(&home, &["--allow-private"]);
        let client = Client::new(&home, &running);
        client.create(&server, "birds");
        client.post("/api/collections/birds/start");
        until("requests", || server.log().entries.len() >= 10);
        client.good(
            "PATCH",
            "/api/collections/birds/run",
            &json!({"settings": {"filter.max-pages": 40, "politeness.delay": "150ms"}}),
        );
        running.signal(signal);
        running.wait(LIMIT);
        let running = serve(&home, &["--allow-private"]);
        until("the note", || {
            running
                .said()
                .contains("`filter.max-pages`, `politeness.delay`")
        });
        let client = Client::new(&home, &running);
        until("its end", || client.state("birds") == "ended");
        let card = client.get("/api/collections/birds");
        assert_eq!(card["reason"], "max-pages", "{signal:?}: {card}");
        assert!(card["settings"]["filter"]["max-pages"].is_null(), "{card}");
        // The next run goes by the file.
        client.post("/api/collections/birds/start");
        until("its end", || client.state("birds") == "ended");
        let card = client.get("/api/collections/birds");
        assert_eq!(card["reason"], "done", "{signal:?}: {card}");
    }
}

fn metrics(client: &Client) -> String {
    metrics_at(&client.address)
}

fn metrics_at(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_run_in_another_process_is_steered_too() {
    let (server, home) = (web(), Home::new());
    let crawling = home.start(&crawl(&home, &server, "300ms", &[]));
    until("the first requests", || server.log().entries.len() >= 10);
    let running = serve(&home, &[]);
    let client = Client::new(&home, &running);
    assert_eq!(client.state("default"), "running");
    let live = client.get("/api/collections/default");
    assert!(live["rates"]["fetched"].as_u64().unwrap() > 0, "{live}");
    client.post("/api/collections/default/pause");
    assert_eq!(home.status()["state"], "paused");
    let changed = client.good(
        "PATCH",
        "/api/collections/default/run",
        &json!({"settings": {"filter.max-pages": 40}}),
    );
    assert!(
        changed["answer"].as_str().unwrap().contains("new settings"),
        "{changed}"
    );
    assert!(
        client.get("/api/collections/default/events")["total"]
            .as_u64()
            .unwrap()
            > 0
    );
    client.post("/api/collections/default/resume");
    let ended = crawling.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    // What it said outlives it, and the server that heard of it.
    let said = |client: &Client| client.get("/api/collections/default/events")["items"].to_string();
    let after = said(&client);
    assert!(
        after.contains("run 1 has begun") && after.contains("new settings"),
        "{after}"
    );
    assert_eq!(
        client.get("/api/collections/default")["reason"],
        "max-pages"
    );
}

/// The file changes by API and by form, and the run of another process goes by it at once.
#[test]
fn a_run_in_another_process_goes_by_its_file_however_that_was_changed() {
    let (server, home) = (web(), Home::new());
    let crawling = home.start(&crawl(&home, &server, "300ms", &[]));
    until("the first requests", || server.log().entries.len() >= 10);
    let running = serve(&home, &[]);
    let client = Client::new(&home, &running);
    let path = "/api/collections/default";
    // What waits for the next start is said at once; a first limit of depth does not.
    let deep = json!({"settings": {"filter.max-depth": 50, "run.retries": 1}});
    let changed = client.good("PATCH", path, &deep);
    assert_eq!(changed["counts"], "the run goes by the new settings");
    let other = json!({"settings": {"fetch.user-agent": "Other/1.0"}});
    let changed = client.good("PATCH", path, &other);
    assert!(
        changed["counts"].to_string().contains("fetch.user-agent")
            && changed["counts"].to_string().contains("next start"),
        "{changed}"
    );
    let limit = json!({"settings": {"filter.max-pages": 230}});
    client.good("PATCH", path, &limit);
    client.change_by_form("default", "filter.max-pages", "35");
    let ended = crawling.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let card = client.get(path);
    assert_eq!(card["reason"], "max-pages", "{card}");
    let fetched = card["last_run"]["fetched"].as_u64().unwrap();
    assert!((35..80).contains(&fetched), "{fetched}");
    // And by PATCH alone.
    let _ = client.good(
        "PATCH",
        path,
        &json!({"settings": {"filter.max-pages": null, "filter.max-depth": null}}),
    );
    let crawling = home.start(&["resume", "--data", &home.data().display().to_string()]);
    until("more requests", || client.state("default") == "running");
    client.good(
        "PATCH",
        path,
        &json!({"settings": {"filter.max-pages": 60}}),
    );
    let ended = crawling.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(client.get(path)["reason"], "max-pages");
}

#[test]
fn what_pages_show_is_in_the_api_and_receivers_are_for_admins() {
    let (server, home) = (web(), Home::new());
    let missing = format!("{}no-such-page", server.web().front(1));
    home.good(&crawl(
        &home,
        &server,
        "0s",
        &["--max-pages", "40", &missing],
    ));
    let hook = "webhook.urls=[\"https://hooks.example.org/T0/very-secret\"]";
    home.good(&["collection", "edit", "--set", hook]);
    let running = serve(&home, &["--no-collect"]);
    let mut client = Client::new(&home, &running);
    let path = "/api/collections/default";
    let depths = client.get(&format!("{path}/depths"));
    let of = |depth: &Value| depth["documents"].as_u64().unwrap();
    let all: u64 = depths["items"].as_array().unwrap().iter().map(of).sum();
    assert!(all >= 30, "{depths}");
    let errors = client.get(&format!("{path}/errors"));
    let errors = errors["items"].as_array().unwrap().iter();
    let of_missing: Vec<&Value> = errors.filter(|error| error["url"] == missing).collect();
    let told = home.run(&["page", &missing]);
    assert_eq!(of_missing.len(), 1, "{}{}", told.text(), told.err);
    assert_eq!(of_missing[0]["code"], 404);
    let map = client.get(&format!("{path}/map"));
    assert_eq!(map["hosts"].as_array().unwrap().len(), 3, "{map}");
    assert!(map["hosts"][0]["documents"].as_u64().unwrap() > 0, "{map}");
    assert!(map["links"][0]["links"].as_u64().unwrap() > 0, "{map}");
    assert_eq!(client.get(&format!("{path}/traps"))["total"], 0);
    let none = json!({"host": "a.example", "pattern": "/x/{n}"});
    let (status, answer) = client.ask("PUT", &format!("{path}/traps/allowed"), &none);
    assert_eq!(status, 404, "{answer}");
    // Who may change the file sees it as it is.
    let seen = |client: &Client| {
        let checked = client.good("POST", &format!("{path}/check"), &json!({}));
        format!("{} {checked}", client.get(path))
    };
    assert!(seen(&client).contains("very-secret"));
    for role in ["viewer", "operator"] {
        let made = home.json(&["token", "new", role, "--role", role, "--json"]);
        client.token = made["token"].as_str().unwrap().to_owned();
        let seen = seen(&client);
        assert!(!seen.contains("very-secret"), "{role}: {seen}");
        assert!(
            seen.contains("https://hooks.example.org/…"),
            "{role}: {seen}"
        );
    }
}

#[test]
fn a_start_that_fails_is_told_and_seen() {
    let home = Home::new();
    let running = serve(&home, &[]);
    let client = Client::new(&home, &running);
    client.good("POST", "/api/collections", &json!({"name": "empty"}));
    let (status, problem) = client.ask("POST", "/api/collections/empty/start", &Value::Null);
    assert_eq!(status, 409, "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("seed") && !detail.contains("another try"),
        "{detail}"
    );
    let card = client.get("/api/collections/empty");
    assert_eq!(card["health"], "bad", "{card}");
    assert!(card["problem"].as_str().unwrap().contains("seed"), "{card}");
    let events = client.get("/api/collections/empty/events");
    assert_eq!(events["items"][0]["level"], "error", "{events}");
    // Who asks for warnings is not spared errors.
    for (level, total) in [("info", 1), ("warning", 1), ("error", 1)] {
        let path = format!("/api/collections/empty/events?level={level}");
        let found = client.get(&path)["total"].as_u64().unwrap();
        assert!(found >= total, "{level}: {found}");
    }
    let path = "/api/collections/empty/events?level=loud";
    assert_eq!(client.ask("GET", path, &Value::Null).0, 400);
    assert!(
        !running.said().contains("another try"),
        "{}",
        running.said()
    );
}

#[test]
fn ui_13_an_operator_changes_how_a_run_goes_and_not_where_it_leads() {
    let (server, home) = (web(), Home::new());
    let inner = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    inner.set_nonblocking(true).unwrap();
    let crawling = home.start(&crawl(&home, &server, "300ms", &[]));
    until("the first requests", || server.log().entries.len() >= 5);
    let running = serve(&home, &[]);
    let mut client = Client::new(&home, &running);
    let made = home.json(&["token", "new", "o", "--role", "operator", "--json"]);
    client.token = made["token"].as_str().unwrap().to_owned();
    let path = "/api/collections/default/run";
    let seed = format!("http://{}/x", inner.local_addr().unwrap());
    for settings in [
        json!({"seeds": [seed]}),
        json!({"seeds": ["https://b.example/"]}),
        json!({"fetch.allow-private": true}),
        json!({"site.1.match": "*.web.test", "site.1.fetch.ca-file": "/etc/passwd"}),
        json!({"site.1.match": "*.web.test", "site.1.fetch.allow-private": true}),
        json!({"site.1.match": "*.web.test", "site.1.run.ignore-robots": true}),
        json!({"site.1.match": "*.web.test", "site.1.fetch.proxy": "http://x.example:1"}),
    ] {
        let (status, answer) = client.ask("PATCH", path, &json!({"settings": settings}));
        assert_eq!(status, 422, "{settings}: {answer}");
    }
    let slower =
        json!({"settings": {"site.1.match": "*.web.test", "site.1.politeness.delay": "400ms"}});
    client.good("PATCH", path, &slower);
    client.good(
        "PATCH",
        path,
        &json!({"settings": {"filter.max-pages": 12}}),
    );
    assert_eq!(crawling.wait(LIMIT).code, Some(0));
    assert!(inner.accept().is_err(), "somebody asked the inner service");
}

#[test]
fn the_log_is_text_or_json_with_a_level_for_each_room() {
    let home = Home::new();
    let running = serve(
        &home,
        &["--log-format", "json", "--log", "warn,teia_web=debug"],
    );
    let client = Client::new(&home, &running);
    client.get("/api/me");
    until("the log", || running.said().contains("/api/me"));
    for line in running.said().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(
            line["target"].as_str().unwrap().starts_with("teia_web"),
            "{line}"
        );
    }
    drop(running);
    // What runs and the Coordinator say goes the same way, and so does a failure at the end.
    let server = web();
    let running = serve(&home, &["--allow-private", "--log-format", "json"]);
    let client = Client::new(&home, &running);
    client.create(&server, "birds");
    let limit = json!({"settings": {"filter.max-pages": 20}});
    client.good("PATCH", "/api/collections/birds", &limit);
    client.post("/api/collections/birds/start");
    until("its end", || running.said().contains("has ended"));
    running.signal(Signal::TERM);
    let ended = running.wait(LIMIT);
    let failed = home.run(&["serve", "--log-format", "json", "--listen", "203.0.113.7:1"]);
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    for said in [&ended.err, &failed.err] {
        let mut messages = 0;
        for line in said.lines() {
            let line: Value = serde_json::from_str(line).expect(line);
            assert!(
                line["timestamp"].is_string() && line["level"].is_string(),
                "{line}"
            );
            messages += usize::from(line["target"] == "teia");
        }
        assert!(messages > 0, "{said}");
    }
    let wrong = home.run(&["serve", "--log", "teia_web=loud=very"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("teia_fetch=debug"), "{}", wrong.err);
}

/// A tool that knows the description alone, and sends whatever it allows, and what it does not.
#[test]
fn schemathesis_finds_no_failure_and_nothing_that_is_not_described() {
    let Some(python) = std::env::var_os("TEIA_PYTHON").map(PathBuf::from) else {
        eprintln!(
            "SKIPPED 1: TEIA_PYTHON is not set; tools/python-tools.sh DIR makes a Python for it"
        );
        return;
    };
    let tool = python.with_file_name("schemathesis");
    if !tool.exists() {
        eprintln!(
            "SKIPPED 1: there is no schemathesis beside TEIA_PYTHON; tools/python-tools.sh DIR installs it"
        );
        return;
    }
    let server = Server::start(
        WebConfig {
            hosts: 1,
            pages_per_host: 10,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &[]));
    // Whatever it makes up is not to be crawled: this server begins no run.
    let running = serve(&home, &["--no-collect"]);
    let client = Client::new(&home, &running);
    let everything = home.write("everything.toml", "");
    try_all(&tool, &home, &client, &everything, &[]);
    // Names that it makes up are mostly not there; these are, and are only read.
    let (host, url) = (server.web().host_name(0), server.web().front(0));
    let names = format!(
        "[parameters]\n\"path.name\" = \"default\"\n\"path.host\" = \"{host}\"\n\"query.url\" = \"{url}\"\n"
    );
    let real = home.write("real.toml", &names);
    try_all(&tool, &home, &client, &real, &["--include-method", "GET"]);
    assert_eq!(client.get("/api/me")["role"], "admin", "it goes on");
    assert!(
        client.get("/api/collections/default")["fetched"]
            .as_u64()
            .unwrap()
            > 5
    );
}

#[track_caller]
fn try_all(tool: &Path, home: &Home, client: &Client, settings: &str, more: &[&str]) {
    let checks = [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    ];
    let output = Command::new(tool)
        .args(["--config-file", settings, "run"])
        .arg(format!("http://{}/api/openapi.json", client.address))
        .args([
            "--header",
            &format!("Authorization: Bearer {}", client.token),
        ])
        .args(["--checks", &checks.join(",")])
        .args(["--phases", "examples,coverage,fuzzing"])
        .args(["--max-examples", "5", "--generation-deterministic"])
        // A stream does not end.
        .args(["--exclude-path", "/api/collections/{name}/live"])
        .args(["--suppress-health-check", "all", "--no-color"])
        .args(more)
        .current_dir(home.beside(""))
        .env("PYTHONIOENCODING", "utf-8")
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    let tried = said.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&"generated,");
        is_it.then(|| words[0].parse::<u32>().ok()).flatten()
    });
    assert!(tried.is_some_and(|count| count > 300), "{said}");
}

#[test]
fn a_host_is_erased_through_the_api_when_nothing_runs() {
    let (server, home) = (web(), Home::new());
    let running = serve(&home, &["--allow-private"]);
    let client = Client::new(&home, &running);
    client.create(&server, "default");
    client.good("POST", "/api/collections/default/start", &Value::Null);
    let host = server.web().host_name(0);
    let body = json!({"kind": "host", "value": host});
    let path = "/api/collections/default/erasures";
    until("some pages", || {
        client.get("/api/collections/default")["hosts"]
            .as_u64()
            .unwrap()
            > 1
            && client.get("/api/collections/default")["fetched"]
                .as_u64()
                .unwrap()
                > 8
    });
    // Under a run it is hidden, and why it is not erased is said.
    let (status, said) = client.ask("POST", path, &body);
    assert_eq!(status, 409, "{said}");
    assert!(said["detail"].as_str().unwrap().contains("it is hidden"));
    let hidden = client.get("/api/collections/default/removals");
    assert_eq!(hidden["items"][0]["value"], host.as_str(), "{hidden}");
    client.good("POST", "/api/collections/default/stop", &Value::Null);
    until("the end", || client.state("default") == "ended");
    let mut begun = Value::Null;
    until("the lock is free", || {
        let (status, said) = client.ask("POST", path, &body);
        begun = said;
        status == 202
    });
    assert_eq!(begun["items"][0]["value"], host.as_str());
    until("it is erased", || {
        client.get(path)["items"][0]["state"] != "running"
    });
    let done = client.get(path);
    assert_eq!(done["items"][0]["state"], "done", "{done}");
    assert!(done["items"][0]["records"].as_u64().unwrap() > 0, "{done}");
    let captures = home.all_captures();
    assert!(!captures.is_empty(), "other hosts were asked as well");
    assert!(captures.iter().all(|it| !it.url.contains(&host)));
    // Who is no admin may not.
    let made = home.json(&["token", "new", "eve", "--role", "operator", "--json"]);
    let eve = Client {
        token: made["token"].as_str().unwrap().to_owned(),
        ..client
    };
    assert_eq!(eve.ask("POST", path, &body).0, 403);
}
