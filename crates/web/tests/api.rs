//! The API over a collected little web: what it tells, what it changes, and what it refuses.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use support::{LittleWeb, Served, collect};
use teia_web::{Role, WebConfig};

/// Three pages, a page that is not there, and what is outside.
fn birds() -> (LittleWeb, Served) {
    birds_with(WebConfig::default())
}

fn birds_with(config: WebConfig) -> (LittleWeb, Served) {
    let web = LittleWeb::start();
    web.html(
        "/",
        "<title>Lapwing meadow</title><p>A lapwing calls.</p><a href=/second>second</a><a href=/third>third</a><a href=/gone>gone</a><a href=http://other.example/>other</a>",
    );
    web.html("/second", "<title>Second</title><p>Curlews answer.</p>");
    web.html("/third", "<title>Third</title><p>Plovers listen.</p>");
    let folder = tempfile::tempdir().unwrap();
    collect(folder.path(), &web, "birds");
    (web, Served::new(folder, config))
}

struct Client<'a> {
    served: &'a Served,
    token: String,
}

impl<'a> Client<'a> {
    fn new(served: &'a Served, role: Role) -> Self {
        let token = served.token(role);
        Self { served, token }
    }

    #[track_caller]
    fn good(&self, method: &str, path: &str, body: &Value) -> Value {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.served.api(&self.token, method, path, &text);
        assert!(
            (200..300).contains(&answer.status),
            "{method} {path}: {} {}",
            answer.status,
            answer.text()
        );
        if answer.body.is_empty() {
            Value::Null
        } else {
            answer.json()
        }
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.good("GET", path, &Value::Null)
    }

    /// The code of the problem, which must have this status.
    #[track_caller]
    fn bad(&self, method: &str, path: &str, body: &Value, status: u16) -> String {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.served.api(&self.token, method, path, &text);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        assert_eq!(
            answer.header("content-type").as_deref(),
            Some("application/problem+json")
        );
        answer.json()["detail"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_collection_is_told_in_figures() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Viewer);
    let list = client.get("/api/collections");
    assert_eq!(list["total"], 1);
    let card = &list["items"][0];
    assert_eq!(card["name"], "birds");
    assert_eq!(card["state"], "ended");
    assert_eq!(card["reason"], "done");
    assert_eq!(card["health"], "good");
    assert_eq!(card["fetched"], 4, "{card}");
    assert_eq!(card["states"]["fetched"], 3);
    assert!(card["size"].as_u64().unwrap() > 0);
    let view = client.get("/api/collections/birds");
    assert_eq!(view["settings"]["seeds"][0], web.url("/"));
    assert!(view["text"].as_str().unwrap().contains("seeds"));
    assert!(view["words"].as_array().unwrap().len() > 3);
    let runs = client.get("/api/collections/birds/runs");
    assert_eq!(runs["items"][0]["number"], 1);
    assert_eq!(runs["items"][0]["ended"], "done");
    let numbers = client.get("/api/collections/birds/numbers");
    let codes: Vec<_> = numbers["outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["number"].as_i64().unwrap(),
                it["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(codes, [(200, 3), (404, 1)]);
    assert_eq!(numbers["types"]["text/html"], 3);
    let tables = client.get("/api/collections/birds/statistics");
    assert!(tables["tables"].as_array().unwrap().len() > 5);
    let one = client.get("/api/collections/birds/statistics?table=outcomes");
    assert_eq!(one["tables"].as_array().unwrap().len(), 1);
    client.bad(
        "GET",
        "/api/collections/birds/statistics?table=no",
        &Value::Null,
        404,
    );
    assert_eq!(client.get("/api/me")["role"], "viewer");
}

#[test]
fn urls_and_hosts_are_listed_in_parts_and_explained() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Viewer);
    let all = client.get("/api/collections/birds/urls");
    let total = all["total"].as_u64().unwrap();
    assert_eq!(total, 5, "{all}");
    let mut seen = Vec::new();
    for offset in 0..total {
        let part = client.get(&format!(
            "/api/collections/birds/urls?limit=1&offset={offset}"
        ));
        assert_eq!(part["total"], total);
        assert_eq!(part["items"].as_array().unwrap().len(), 1);
        seen.push(part["items"][0]["url"].as_str().unwrap().to_owned());
    }
    let whole: Vec<_> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["url"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(seen, whole);
    let fetched = client.get("/api/collections/birds/urls?state=fetched&contains=second");
    assert_eq!(fetched["total"], 1);
    assert_eq!(fetched["items"][0]["outcome"], 200);
    let out = client.get("/api/collections/birds/urls?state=excluded");
    assert_eq!(out["items"][0]["url"], "http://other.example/");
    assert!(out["items"][0]["rule"].is_string());
    assert_eq!(client.get("/api/collections/birds/queue")["total"], 0);
    let url = web.url("/second");
    let life = client.get(&format!("/api/collections/birds/explain?url={url}"));
    assert_eq!(life["url"]["state"], "fetched");
    let told = life["life"].to_string();
    assert!(told.contains("found on"), "{told}");
    assert_eq!(life["in_links"][0]["url"], web.url("/"));
    client.bad(
        "GET",
        "/api/collections/birds/explain?url=http://never.example/",
        &Value::Null,
        404,
    );
    client.bad("GET", "/api/collections/birds/explain", &Value::Null, 400);
    let hosts = client.get("/api/collections/birds/hosts?order=fetched");
    let host = hosts["items"][0]["host"].as_str().unwrap();
    assert_eq!(hosts["items"][0]["fetched"], 4);
    let view = client.get(&format!("/api/collections/birds/hosts/{host}"));
    let recent = view["recent"].as_array().unwrap();
    assert_eq!(recent.len(), 5, "robots.txt and four pages: {view}");
    assert!(recent[1]["gap_seconds"].as_f64().unwrap() >= 0.0);
    client.bad(
        "GET",
        "/api/collections/birds/hosts/never.example",
        &Value::Null,
        404,
    );
}

#[test]
fn ui_17_pages_of_lists_are_bounded() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Viewer);
    for query in [
        "limit=0",
        "limit=501",
        "limit=1e9",
        "limit=-1",
        "limit=",
        "limit=99999999999999999999999",
        "offset=1000001",
        "offset=x",
        "limit=1&limit=2",
        "limits=5",
    ] {
        client.bad(
            "GET",
            &format!("/api/collections?{query}"),
            &Value::Null,
            400,
        );
    }
    client.bad(
        "GET",
        "/api/collections/birds/urls?state=lost",
        &Value::Null,
        422,
    );
    client.bad(
        "GET",
        "/api/collections/birds/hosts?order=size",
        &Value::Null,
        400,
    );
}

#[test]
fn a_collection_is_made_checked_changed_and_removed() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let made = client.good(
        "POST",
        "/api/collections",
        &json!({"name": "fish", "seeds": ["a.example", "b.example"], "settings": {"politeness.delay": "5s", "max-depth": 3, "filter.exclude": ["/x/"]}}),
    );
    assert_eq!(made["state"], "never-run");
    assert_eq!(made["settings"]["politeness"]["delay"], "5s");
    assert_eq!(made["settings"]["filter"]["max-depth"], 3);
    let path = served.folder.path().join("collections/fish.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("# "), "it has the manual in it");
    client.bad("POST", "/api/collections", &json!({"name": "fish"}), 409);
    // What a person wrote stays.
    let text = format!("# Mine.\n{text}");
    std::fs::write(&path, &text).unwrap();
    let changed = client.good(
        "PATCH",
        "/api/collections/fish",
        &json!({"settings": {"politeness.delay": "7s", "filter.max-depth": null}}),
    );
    let differences = changed["differences"].to_string();
    assert!(
        differences.contains("+ delay = \\\"7s\\\""),
        "{differences}"
    );
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(now.starts_with("# Mine.\n") && now.contains("delay = \"7s\""));
    assert_eq!(changed["text"], now);
    let checked = client.good(
        "POST",
        "/api/collections/fish/check",
        &json!({"settings": {"filter.scope": "domain"}, "urls": ["http://www.a.example/", "http://c.example/", "%"]}),
    );
    assert_eq!(checked["good"], true);
    assert_eq!(checked["urls"][0]["in_scope"], true, "{checked}");
    assert_eq!(checked["urls"][1]["in_scope"], false);
    assert!(checked["urls"][2]["error"].is_string());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        now,
        "nothing is written"
    );
    let wrong = client.good(
        "POST",
        "/api/collections/new/check",
        &json!({"text": "seeds = [\"a.example\"]\ndelai = 3\n"}),
    );
    assert_eq!(wrong["good"], false);
    assert!(
        wrong["problem"].as_str().unwrap().contains("line 2"),
        "{wrong}"
    );
    let detail = client.bad(
        "PATCH",
        "/api/collections/fish",
        &json!({"settings": {"politenes.delay": "7s"}}),
        422,
    );
    assert!(
        detail.contains("delay") && !detail.contains("/tmp"),
        "{detail}"
    );
    assert_eq!(
        client.good("DELETE", "/api/collections/fish", &Value::Null),
        Value::Null
    );
    assert!(!path.exists());
    client.bad("GET", "/api/collections/fish", &Value::Null, 404);
    client.bad("DELETE", "/api/collections/fish", &Value::Null, 404);
    assert_eq!(client.get("/api/collections")["total"], 1);
}

#[test]
fn ui_30_a_request_that_comes_twice_is_done_once() {
    let (_web, served) = birds();
    let token = served.token(Role::Admin);
    let bearer = format!("Bearer {token}");
    let make = |path: &str, key: &str, body: &str| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", key),
        ];
        served.send("POST", path, &headers, body.as_bytes())
    };
    let body = "{\"name\":\"fish\",\"seeds\":[\"a.example\"]}";
    let first = make("/api/collections", "k1", body);
    let second = make("/api/collections", "k1", body);
    assert_eq!(
        (first.status, second.status),
        (201, 201),
        "{}",
        second.text()
    );
    assert_eq!(first.body, second.body);
    assert_eq!(first.header("location"), second.header("location"));
    assert_eq!(
        make("/api/collections", "k2", body).status,
        409,
        "another request"
    );
    let other = "{\"name\":\"frogs\"}";
    assert_eq!(
        make("/api/collections", "k1", other).json()["code"],
        "other-request"
    );
    let token = "{\"name\":\"x\",\"role\":\"viewer\"}";
    let (first, second) = (
        make("/api/tokens", "k", token),
        make("/api/tokens", "k", token),
    );
    assert_eq!(first.json()["token"], second.json()["token"]);
    let listed = served.api(&served.token(Role::Admin), "GET", "/api/tokens", "");
    assert_eq!(
        listed.json()["total"],
        3,
        "two admins and one new: {}",
        listed.text()
    );
}

#[test]
fn settings_for_some_hosts_are_reached_by_api_and_form_and_comments_stay() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let text = "seeds = [\"a.example\"]\n\n# The slow one.\n[[site]]\nmatch = \"a.example\" # since May\n[site.politeness]\ndelay = \"5s\"\n";
    let made = json!({"name": "fish", "text": text});
    client.good("POST", "/api/collections", &made);
    let changes = json!({"settings": {
        "site.1.politeness.delay": "9s",
        "site.2.match": ["*.b.example", "10.0.0.0/8"],
        "site.2.run.retries": 1,
    }});
    let changed = client.good("PATCH", "/api/collections/fish", &changes);
    let now = changed["text"].as_str().unwrap();
    for part in [
        "# The slow one.",
        "# since May",
        "delay = \"9s\"",
        "retries = 1",
    ] {
        assert!(now.contains(part), "no {part} in {now}");
    }
    assert_eq!(now.matches("[[site]]").count(), 2, "{now}");
    let urls = json!({"urls": ["http://a.example/", "http://x.b.example/", "http://c.example/"]});
    let checked = client.good("POST", "/api/collections/fish/check", &urls);
    assert_eq!(checked["urls"][0]["sites"][0]["site"], 1, "{checked}");
    assert_eq!(
        checked["urls"][1]["sites"][0]["changes"][0],
        "run.retries = 1"
    );
    assert!(checked["urls"][2]["sites"].is_null(), "{checked}");
    let wrong = json!({"settings": {"site.2.filter.scope": "any"}});
    let detail = client.bad("PATCH", "/api/collections/fish", &wrong, 422);
    assert!(detail.contains("cannot follow an address"), "{detail}");
    let wrong = json!({"settings": {"site.1.fetch.ca-file": "/etc/passwd"}});
    let detail = client.bad("PATCH", "/api/collections/fish", &wrong, 422);
    assert!(detail.contains("on the machine"), "{detail}");
    let (session, _) = served.log_in(&served.token(Role::Admin));
    let page = served.ask("GET", "/collections/fish/edit", &[("Cookie", &session)]);
    for name in ["site.1.politeness.delay", "site.2.match", "site.3.match"] {
        assert!(
            page.text().contains(&format!("name=\"{name}\"")),
            "no {name}"
        );
    }
}

#[test]
fn what_was_begun_keeps_its_normal_form() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let settings = client.get("/api/collections/birds")["settings"]["normal-form"].clone();
    let (key, value) = settings
        .as_object()
        .unwrap()
        .iter()
        .find(|(_, value)| value.is_boolean())
        .unwrap();
    let other = !value.as_bool().unwrap();
    let changes = json!({"settings": {format!("normal-form.{key}"): other}});
    let detail = client.bad("PATCH", "/api/collections/birds", &changes, 422);
    assert!(detail.contains("normal-form"), "{detail}");
}

#[test]
fn ui_12_settings_are_typed_data_and_name_no_place_on_the_machine() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    for (body, status) in [
        (json!({"name": "x", "command": "rm -rf /"}), 400),
        (json!({"name": "x", "settings": {"shell": "sh"}}), 422),
        (
            json!({"name": "x", "settings": {"politeness.delay": "${7*7}s"}}),
            422,
        ),
        (
            json!({"name": "x", "settings": {"politeness": {"delay": "1s"}}}),
            422,
        ),
        (json!({"name": "../x"}), 422),
        (json!({"name": "x/../../etc"}), 422),
        (json!({"name": "tokens.toml"}), 422),
        (json!({"name": "lock"}), 422),
        (json!({"name": ""}), 422),
        (json!({"name": "x", "seeds": ["http://"]}), 422),
        (
            json!({"name": "x", "settings": {"catalog.url": "sqlite:/etc/passwd"}}),
            422,
        ),
        (
            json!({"name": "x", "settings": {"fetch.ca-file": "/etc/passwd"}}),
            422,
        ),
        (
            json!({"name": "x", "text": "[fetch]\nca-file = \"/etc/passwd\"\n"}),
            422,
        ),
        (
            json!({"name": "x", "settings": {"seeds-file": "/etc/passwd"}}),
            422,
        ),
        (
            json!({"name": "x", "settings": {"login.1.match": "a.example", "login.1.kind": "bearer", "login.1.secret-variable": "HOME"}}),
            422,
        ),
        (
            json!({"name": "x", "text": "[[login]]\nmatch = \"a.example\"\nkind = \"bearer\"\nsecret-file = \"/etc/passwd\"\n"}),
            422,
        ),
    ] {
        client.bad("POST", "/api/collections", &body, status);
    }
    assert_eq!(client.get("/api/collections")["total"], 1);
}

#[test]
fn ui_13_nobody_opens_the_network_of_the_machine_from_afar() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    for settings in [
        json!({"fetch.proxy": "http://ann@127.0.0.9:18100"}),
        json!({"site.1.match": "a.example", "site.1.fetch.proxy": "http://ann@x.example:1"}),
        json!({"fetch.allow-private": true}),
        json!({"fetch.resolve": ["a.example=127.0.0.1:1"]}),
        json!({"fetch.name-servers": ["127.0.0.1:53"]}),
        json!({"run.ignore-robots": true}),
        json!({"site.1.match": "a.example", "site.1.run.ignore-robots": true}),
        json!({"seeds": ["http://127.0.0.9:18099/x"]}),
        json!({"seeds": "http://169.254.169.254/latest/"}),
    ] {
        let wanted = json!({"name": "x", "settings": settings});
        let detail = client.bad("POST", "/api/collections", &wanted, 422);
        assert!(detail.contains("machine"), "{detail}");
        let what = json!({"text": "", "settings": settings});
        let checked = client.good("POST", "/api/collections/x/check", &what);
        assert_eq!(checked["good"], false, "{checked}");
    }
    for seed in ["http://[::1]:1/", "localhost", "http://10.0.0.1/"] {
        let wanted = json!({"name": "x", "seeds": [seed]});
        let detail = client.bad("POST", "/api/collections", &wanted, 422);
        assert!(detail.contains("--allow-private"), "{detail}");
    }
    for seed in [
        "file:///etc/passwd",
        "ftp://a.example/",
        "mailto:ann@a.example",
    ] {
        let wanted = json!({"name": "x", "seeds": [seed]});
        let detail = client.bad("POST", "/api/collections", &wanted, 422);
        assert!(detail.contains("https"), "{detail}");
    }
    assert_eq!(client.get("/api/collections")["total"], 1);
    // The machine has opened this one already; more of the same may be said from afar.
    let more = json!({"settings": {"seeds": [web.url("/"), web.url("/second")]}});
    client.good("PATCH", "/api/collections/birds", &more);
    let closed = json!({"settings": {"fetch.allow-private": false}});
    client.bad("PATCH", "/api/collections/birds", &closed, 422);
}

#[test]
fn ui_22_names_with_signs_are_names_that_are_not_there() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    for name in [
        "%27%3B%20DROP%20TABLE",
        "..%2F..%2Fetc%2Fpasswd",
        "%00",
        "a%0d%0ab",
        "%F0%9F%90%A6",
        "%E2%80%AEx",
        "*",
        "%3E",
        "%FF",
    ] {
        for rest in ["", "/urls", "/runs", "/live"] {
            client.bad(
                "GET",
                &format!("/api/collections/{name}{rest}"),
                &Value::Null,
                404,
            );
        }
        client.bad(
            "POST",
            &format!("/api/collections/{name}/start"),
            &Value::Null,
            404,
        );
        client.bad(
            "GET",
            &format!("/api/collections/birds/hosts/{name}"),
            &Value::Null,
            404,
        );
    }
}

#[test]
fn ui_32_what_is_hidden_is_gone_at_once_and_can_come_back() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let url = web.url("/second");
    let found = || {
        served.get("/api/search?q=curlews").json()["total"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(found(), 1);
    let hidden = client.good(
        "PUT",
        "/api/collections/birds/removals",
        &json!({"kind": "url", "value": url}),
    );
    assert_eq!(hidden["items"][0]["value"], url);
    assert_eq!(found(), 0);
    assert_eq!(served.get(&format!("/archive/*/{url}")).status, 404);
    let listed = client.get("/api/collections/birds/removals");
    assert_eq!(
        (&listed["total"], &listed["items"][0]["kind"]),
        (&json!(1), &json!("url"))
    );
    // Hiding it again is no error.
    client.good(
        "PUT",
        "/api/collections/birds/removals",
        &json!({"kind": "url", "value": url}),
    );
    let back = format!("/api/collections/birds/removals?kind=url&value={url}");
    client.good("DELETE", &back, &Value::Null);
    client.bad("DELETE", &back, &Value::Null, 404);
    assert_eq!(found(), 1);
    for bad in ["a/b", "", "http://a.example/", "a b"] {
        let body = json!({"kind": "host", "value": bad});
        client.bad("PUT", "/api/collections/birds/removals", &body, 422);
    }
    client.good(
        "PUT",
        "/api/collections/birds/removals",
        &json!({"kind": "host", "value": "127.0.0.1"}),
    );
    assert_eq!(served.get("/api/search?q=lapwing").json()["total"], 0);
    // A list that is damaged may hide anything, and so nothing is shown.
    std::fs::write(
        served.folder.path().join("birds/removed"),
        "url http://a.exam",
    )
    .unwrap();
    assert_eq!(found_status(&served), 200, "a list from before check sums");
    std::fs::write(
        served.folder.path().join("birds/removed"),
        "ur1 http://a.example/",
    )
    .unwrap();
    assert_eq!(found_status(&served), 500);
    let copy = served.get(&format!("/archive/*/{}", web.url("/second")));
    assert_ne!(copy.status, 200);
}

fn found_status(served: &Served) -> u16 {
    served.get("/api/search?q=lapwing").status
}

#[test]
fn tokens_are_made_listed_and_taken_back() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let made = client.good(
        "POST",
        "/api/tokens",
        &json!({"name": "dash", "role": "viewer", "days": 3}),
    );
    let secret = made["token"].as_str().unwrap();
    assert_eq!(
        served.api(secret, "GET", "/api/me", "").json()["name"],
        "dash"
    );
    let listed = client.get("/api/tokens");
    assert_eq!(listed["total"], 2);
    assert!(!listed.to_string().contains(&secret[5..]), "shown once");
    assert!(!listed.to_string().contains("sha256"));
    client.bad(
        "POST",
        "/api/tokens",
        &json!({"name": "x", "role": "king"}),
        400,
    );
    client.bad(
        "POST",
        "/api/tokens",
        &json!({"name": "", "role": "viewer"}),
        422,
    );
    client.bad(
        "POST",
        "/api/tokens",
        &json!({"name": "x", "role": "viewer", "days": 0}),
        422,
    );
    let own = client.get("/api/me")["id"].as_str().unwrap().to_owned();
    client.bad("DELETE", &format!("/api/tokens/{own}"), &Value::Null, 409);
    let id = made["id"].as_str().unwrap();
    client.good("DELETE", &format!("/api/tokens/{id}"), &Value::Null);
    client.bad("DELETE", &format!("/api/tokens/{id}"), &Value::Null, 404);
    assert_eq!(served.api(secret, "GET", "/api/me", "").status, 401);
}

#[test]
fn a_run_that_is_not_there_cannot_be_told_anything() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Operator);
    for order in ["pause", "resume", "stop"] {
        let path = format!("/api/collections/birds/{order}");
        let detail = client.bad("POST", &path, &Value::Null, 409);
        assert!(detail.contains("does not run"), "{detail}");
    }
    // This server has no process that collects.
    let detail = client.bad("POST", "/api/collections/birds/start", &Value::Null, 409);
    assert!(detail.contains("--no-collect"), "{detail}");
    let settings = json!({"settings": {"filter.max-pages": 3}});
    client.bad("PATCH", "/api/collections/birds/run", &settings, 409);
    assert_eq!(client.get("/api/collections/birds/events")["total"], 0);
}

/// Opens a live stream, and reads its head.
fn listen(served: &Served, token: &str, extra: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(
        stream,
        "GET /api/collections/birds/live HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n{extra}\r\n",
        served.address
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    (head, reader)
}

#[test]
fn ui_27_live_streams_are_for_own_pages_and_bounded() {
    let (_web, served) = birds_with(WebConfig {
        listeners: 2,
        ..WebConfig::default()
    });
    let token = served.token(Role::Viewer);
    let (head, _) = listen(&served, &token, "Origin: http://evil.example\r\n");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let (head, mut first) = listen(&served, &token, "");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"),
        "{head}"
    );
    let mut event = String::new();
    while !event.contains("data: ") {
        event.clear();
        assert!(first.read_line(&mut event).unwrap() > 0);
    }
    let data: Value = serde_json::from_str(event.trim().strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        (&data["name"], &data["state"]),
        (&json!("birds"), &json!("idle"))
    );
    let (head, second) = listen(&served, &token, "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let (head, _) = listen(&served, &token, "Connection: close\r\n");
    assert!(
        head.starts_with("HTTP/1.1 503") && head.to_lowercase().contains("retry-after"),
        "{head}"
    );
    assert_eq!(served.get("/").status, 200, "others are served");
    // The server ends with streams open, and does not wait for them.
    drop((first, second));
}

#[test]
fn ui_26_metrics_have_no_hosts_and_health_is_told() {
    let (_web, served) = birds();
    served.get("/nothing-here");
    let answer = served.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let text = answer.text();
    for line in [
        "# TYPE teia_http_requests_total counter",
        "teia_http_requests_total{status=\"4xx\"} 1",
        "teia_indexed_documents{collection=\"birds\"} 3",
        "teia_runs{state=\"running\"} 0",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let memory = text
        .lines()
        .find_map(|line| line.strip_prefix("teia_memory_bytes "));
    assert!(memory.unwrap().parse::<f64>().unwrap() > 1e6);
    assert!(
        !text.contains("127.0.0.1") && !text.contains("other.example"),
        "{text}"
    );
    // Each name is described once, before its first line.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        assert_eq!(
            text.matches(&format!("# TYPE {family} ")).count(),
            1,
            "{name}"
        );
        assert!(
            line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(),
            "{line}"
        );
    }
    assert_eq!(served.get("/health").json()["status"], "alive");
    let ready = served.get("/ready").json();
    assert_eq!(
        (&ready["status"], &ready["collections"]),
        (&json!("ready"), &json!(1))
    );
    std::fs::write(served.folder.path().join("format"), "something else").unwrap();
    assert_eq!(served.get("/ready").status, 503);
    assert_eq!(served.get("/health").status, 200, "alive all the same");
}
