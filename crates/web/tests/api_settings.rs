//! The settings of collections over the API: made, checked, changed, and what nobody may change from afar.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::client::{Client, birds};
use teia_web::Role;

/// Whoever deletes a collection has it out of the results of the same process, too.
#[test]
fn what_was_deleted_is_found_no_more() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let found = || served.get("/api/search?q=curlews").json()["total"].as_u64();
    assert!(found() > Some(0));
    client.good("DELETE", "/api/collections/birds", &Value::Null);
    for _ in 0..100 {
        if found() == Some(0) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{:?} pages of a deleted collection are found", found());
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

/// Who sends a setting never sees the text in which a line could be counted.
#[test]
fn a_wrong_setting_is_told_by_its_name_and_place_and_not_by_a_line() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let token = served.token(Role::Admin);
    let errors = |method: &str, path: &str, body: &Value| -> Vec<(String, String, String)> {
        let answer = served.api(&token, method, path, &body.to_string());
        assert_eq!(answer.status, 422, "{}", answer.text());
        let problem = answer.json();
        let text = problem.to_string();
        assert!(!text.contains("line "), "{text}");
        let one = |error: &Value| {
            let part = |key: &str| error[key].as_str().unwrap().to_owned();
            let first = part("setting");
            let detail = problem["detail"].as_str().unwrap();
            let name = first.rsplit('.').next().unwrap();
            assert!(detail.contains(name), "{name} in {detail}");
            (first, part("pointer"), part("detail"))
        };
        let errors = problem["errors"].as_array();
        errors.into_iter().flatten().map(one).collect()
    };
    for (key, value, words) in [
        ("filter.max-depth", json!("three"), "a whole number"),
        ("max-depth", json!(-1), "a whole number"),
        ("run.retries", json!(300), "from 0 to 100"),
        ("politeness.delay", json!("soon"), "not a duration"),
        ("filter.exclude", json!(["("]), "not a regular expression"),
        ("filter.exclude", json!([3]), "a text between quotes"),
        ("filter.max-dept", json!(3), "did you mean `max-depth`?"),
        ("mode", json!("sometimes"), "`periodic`"),
        ("schedule.every", json!("1d"), "write a `start`"),
        ("schedule.cron", json!("0 1 30 2 *"), "never comes"),
        ("filter", json!({"max-depth": 3}), "a section"),
        ("fetch.proxy", json!("http://p.example:1"), "on the machine"),
        ("a/b~c", json!(1), "no setting"),
    ] {
        let pointer = format!("/settings/{}", key.replace('~', "~0").replace('/', "~1"));
        let settings = json!({"settings": {key: value}});
        let patched = errors("PATCH", "/api/collections/birds", &settings);
        let mut made = settings.clone();
        made["name"] = json!("fish");
        let made = errors("POST", "/api/collections", &made);
        for told in [patched, made] {
            assert_eq!(told.len(), 1, "{key}: {told:?}");
            assert_eq!((&*told[0].0, &*told[0].1), (key, &*pointer));
            assert!(told[0].2.contains(words), "{told:?}");
        }
        let checked = client.good("POST", "/api/collections/birds/check", &settings);
        assert_eq!(checked["good"], false);
        assert_eq!(checked["errors"][0]["pointer"], *pointer, "{checked}");
    }
    // Of several each is told, and what is the cause first.
    let several = json!({"settings": {
        "schedule.every": "1d", "schedule.start": "yesterday", "filter.max-depth": 3, "run.retries": "often",
    }});
    let told = errors("PATCH", "/api/collections/birds", &several);
    let keys: Vec<&str> = told.iter().map(|told| &*told.0).collect();
    assert_eq!(keys.len(), 3, "{told:?}");
    for key in ["schedule.every", "schedule.start", "run.retries"] {
        assert!(keys.contains(&key), "{told:?}");
    }
    // Who sends a text can count its lines.
    let text = json!({"text": "seeds = []\nmode = \"onec\"\n"});
    let detail = client.bad("PATCH", "/api/collections/birds", &text, 422);
    assert!(detail.starts_with("line 2: "), "{detail}");
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

/// No file is ever taken over the web, whatever it calls itself: job files come as typed text under a name that is no path,
/// and archives of strangers from the disk of the machine only.
#[test]
fn ui_31_nothing_that_is_uploaded_becomes_a_file() {
    let (_web, served) = birds();
    let admin = served.token(Role::Admin);
    let bearer = format!("Bearer {admin}");
    let described = served.get("/api/openapi.json").json();
    let before = files_of(served.folder.path());
    let form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../../evil.toml\"\r\n\r\nseeds = []\r\n--x--\r\n";
    let bodies: [(&str, &[u8]); 5] = [
        ("multipart/form-data; boundary=x", form.as_bytes()),
        ("application/zip", b"PK\x03\x04\x14\0\0\0\x08\0"),
        (
            "application/warc",
            b"WARC/1.1\r\nWARC-Type: response\r\n\r\n",
        ),
        ("application/gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\xff"),
        ("application/toml", b"name = '../evil'"),
    ];
    let mut routes = 0;
    for (path, methods) in described["paths"].as_object().unwrap() {
        let path = path.split('{').next().unwrap().to_owned()
            + if path.contains('{') { "birds" } else { "" };
        for (method, operation) in methods.as_object().unwrap() {
            if operation["requestBody"].is_null() {
                continue;
            }
            routes += 1;
            for (kind, body) in bodies {
                let headers = [("Authorization", bearer.as_str()), ("Content-Type", kind)];
                let answer = served.send(&method.to_uppercase(), &path, &headers, body);
                let is_refused = (400..500).contains(&answer.status);
                assert!(is_refused, "{method} {path} as {kind}: {}", answer.status);
            }
        }
    }
    assert!(routes >= 3, "{routes} routes take a body");
    // What is taken has a name that is no path.
    let client = Client::new(&served, Role::Admin);
    let text = "seeds = [\"a.example\"]\n";
    for name in ["../evil", "/tmp/evil", "a/b", "..", "evil\0", "evil\n"] {
        client.bad(
            "POST",
            "/api/collections",
            &json!({"name": name, "text": text}),
            422,
        );
    }
    let after = files_of(served.folder.path());
    assert_eq!(before, after, "nothing was written");
}

/// The paths of all files below a folder, but for logs and what SQLite keeps beside its file.
fn files_of(folder: &std::path::Path) -> std::collections::BTreeSet<std::path::PathBuf> {
    let mut found = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files_of(&path));
        } else if !name.ends_with(".log") && !name.ends_with("-wal") && !name.ends_with("-shm") {
            found.insert(path);
        }
    }
    found
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
