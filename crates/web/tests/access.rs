//! Who may do what: tokens, roles, sessions, CSRF, and those who try too often.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use support::{LittleWeb, Served, collect};
use teia_web::{Role, Tokens, WebConfig};

fn empty(config: WebConfig) -> Served {
    let served = Served::new(tempfile::tempdir().unwrap(), config);
    teia_engine::Directory::create(served.folder.path()).unwrap();
    served
}

/// Every route of the description: method, path with something filled in, and the role that it asks for.
fn routes(served: &Served) -> Vec<(String, String, Role)> {
    let described = served.get("/api/openapi.json").json();
    let mut routes = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let Some(role) = operation["x-role"].as_str() else {
                continue;
            };
            let path = path
                .replace("{name}", "nothing")
                .replace("{host}", "a.example")
                .replace("{id}", "nobody");
            let role = Role::of_name(role).unwrap();
            routes.push((method.to_uppercase(), path, role));
        }
    }
    assert!(routes.len() > 20, "{}", routes.len());
    routes
}

#[test]
fn ui_29_every_route_asks_for_its_role() {
    let served = empty(WebConfig::default());
    let tokens: Vec<(Role, String)> = Role::ALL
        .iter()
        .map(|role| (*role, served.token(*role)))
        .collect();
    for (method, path, needs) in routes(&served) {
        let nobody = served.ask(&method, &path, &[]);
        assert_eq!(nobody.status, 401, "{method} {path}");
        assert_eq!(
            nobody.header("content-type").as_deref(),
            Some("application/problem+json")
        );
        assert!(nobody.header("www-authenticate").is_some());
        for (role, token) in &tokens {
            let answer = served.api(token, &method, &path, "");
            let is_in = !matches!(answer.status, 401 | 403);
            assert_eq!(
                is_in,
                *role >= needs,
                "{method} {path} {role:?}: {answer:?}"
            );
            assert!(answer.status < 500, "{method} {path}: {}", answer.text());
        }
    }
    // What is in no table is not there, whoever asks.
    let (_, admin) = tokens.last().unwrap();
    for path in ["/api/", "/api/secrets", "/api/collections/x/y/z"] {
        assert_eq!(served.api(admin, "GET", path, "").status, 404, "{path}");
    }
}

#[test]
fn ui_09_a_change_from_another_site_is_refused() {
    let served = empty(WebConfig::default());
    let (cookie, csrf) = served.log_in(&served.token(Role::Admin));
    let own = format!("http://{}", served.address);
    let create = |headers: &[(&str, &str)], name: &str| {
        let mut all = vec![
            ("Cookie", cookie.as_str()),
            ("Content-Type", "application/json"),
        ];
        all.extend(headers);
        let body = format!("{{\"name\":\"{name}\",\"seeds\":[\"a.example\"]}}");
        served.send("POST", "/api/collections", &all, body.as_bytes())
    };
    for bad in [
        vec![],
        vec![("Origin", own.as_str())],
        vec![("X-CSRF-Token", "wrong")],
        vec![
            ("X-CSRF-Token", csrf.as_str()),
            ("Origin", "http://evil.example"),
        ],
        vec![("X-CSRF-Token", csrf.as_str()), ("Origin", "null")],
        vec![
            ("X-CSRF-Token", csrf.as_str()),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"),
        ],
    ] {
        let answer = create(&bad, "forged");
        assert_eq!(answer.status, 403, "{bad:?}: {}", answer.text());
        assert_eq!(answer.json()["code"], "csrf", "{bad:?}");
    }
    // A form of another site, which needs no script: no token, though the cookie comes along.
    let form = served.form("/logout", &[("Cookie", &cookie)], "csrf=wrong");
    assert_eq!(form.status, 403);
    let listed = served.ask("GET", "/api/collections", &[("Cookie", &cookie)]);
    assert_eq!(listed.json()["total"], 0, "nothing was made");
    let good = create(&[("X-CSRF-Token", &csrf), ("Origin", &own)], "meant");
    assert_eq!(good.status, 201, "{}", good.text());
}

#[test]
fn ui_09_reading_changes_nothing() {
    let served = empty(WebConfig::default());
    let admin = served.token(Role::Admin);
    for path in [
        "/logout",
        "/api/collections/x/start",
        "/api/collections/x/pause",
        "/api/collections/x/stop",
    ] {
        let answer = served.api(&admin, "GET", path, "");
        assert_eq!(answer.status, 405, "{path}: {}", answer.text());
    }
}

#[test]
fn ui_10_who_guesses_too_often_waits() {
    let served = empty(WebConfig {
        wrong_tokens: 3,
        ..WebConfig::default()
    });
    let token = served.token(Role::Admin);
    for _ in 0..3 {
        let wrong = served.form("/login", &[], "token=teia_wrong");
        assert_eq!(wrong.status, 403);
        assert!(wrong.text().contains("not known here"), "{}", wrong.text());
        assert!(wrong.header("set-cookie").is_none());
    }
    let limited = served.form("/login", &[], "token=teia_wrong");
    assert_eq!(limited.status, 429, "{}", limited.text());
    let seconds: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    // Programs with a wrong token wait too; those with a right one are not held up by them.
    assert_eq!(served.api("teia_wrong", "GET", "/api/me", "").status, 429);
    assert_eq!(served.api(&token, "GET", "/api/me", "").status, 200);
    // Nor does a stranger behind the same proxy lock out whoever has one, and that is written down.
    let entered = served.form("/login", &[], &format!("token={token}"));
    assert_eq!(entered.status, 303, "{}", entered.text());
    let log = std::fs::read_to_string(served.folder.path().join("audit.log")).unwrap();
    assert!(log.contains("\"path\":\"/login\""), "{log}");
    assert_eq!(served.get("/").status, 200, "searching is for all");
}

#[test]
fn ui_10_a_session_is_new_at_each_login_and_over_at_logout() {
    let served = empty(WebConfig::default());
    let token = served.token(Role::Operator);
    // A cookie that somebody planted before does not become a session.
    let planted = "teia-session=planted";
    let answer = served.form("/login", &[("Cookie", planted)], &format!("token={token}"));
    assert_ne!(
        answer.header("set-cookie").unwrap().split(';').next(),
        Some(planted)
    );
    assert_eq!(
        served.ask("GET", "/api/me", &[("Cookie", planted)]).status,
        401
    );
    let set = answer.header("set-cookie").unwrap();
    assert!(
        set.contains("HttpOnly") && set.contains("SameSite=Strict") && !set.contains("Secure"),
        "{set}"
    );
    let https = served.form(
        "/login",
        &[("X-Forwarded-Proto", "https")],
        &format!("token={token}"),
    );
    let set = https.header("set-cookie").unwrap();
    assert!(
        set.starts_with("__Host-") && set.contains("; Secure"),
        "{set}"
    );
    let (first, csrf) = served.log_in(&token);
    let (second, _) = served.log_in(&token);
    assert_ne!(first, second);
    let me = |cookie: &str| served.ask("GET", "/api/me", &[("Cookie", cookie)]);
    assert_eq!(me(&first).json()["role"], "operator");
    let out = served.form("/logout", &[("Cookie", &first)], &format!("csrf={csrf}"));
    assert_eq!(out.status, 303, "{}", out.text());
    assert_eq!(me(&first).status, 401, "a stolen copy is worth nothing");
    assert_eq!(me(&second).status, 200);
    // A token that is taken back takes its sessions along.
    let tokens = Tokens::of(served.folder.path());
    let id = tokens.list().unwrap()[0].id.clone();
    tokens.remove(&id).unwrap();
    assert_eq!(me(&second).status, 401);
    assert_eq!(served.api(&token, "GET", "/api/me", "").status, 401);
}

#[test]
fn ui_21_a_login_leads_to_a_page_of_ours_only() {
    let served = empty(WebConfig::default());
    let token = served.token(Role::Viewer);
    for (next, to) in [
        ("/search?q=a", "/search?q=a"),
        ("//evil.example/", "/"),
        ("/%5Cevil.example", "/%5Cevil.example"),
        ("https://evil.example", "/"),
        ("/a\r\nSet-Cookie: x=1", "/"),
        ("/login?next=/login", "/"),
    ] {
        let next = next
            .replace('%', "%25")
            .replace('?', "%3F")
            .replace('\r', "%0D")
            .replace('\n', "%0A");
        let answer = served.form("/login", &[], &format!("token={token}&next={next}"));
        assert_eq!(answer.status, 303);
        assert_eq!(answer.header("location").as_deref(), Some(to), "{next}");
        assert_eq!(
            answer.head.matches("et-cookie").count() + answer.head.matches("et-Cookie").count(),
            1
        );
    }
}

#[test]
fn a_login_works_without_scripts_in_both_languages() {
    let served = empty(WebConfig::default());
    let english = served.ask("GET", "/login", &[("Accept-Language", "en")]);
    assert_eq!(english.status, 200);
    let portuguese = served.ask("GET", "/login", &[("Accept-Language", "pt")]);
    for (page, word) in [(&english, "Log in"), (&portuguese, "Entrar")] {
        let text = page.text();
        assert!(text.contains(word), "{text}");
        assert!(text.contains("action=\"/login\" method=\"post\""), "{text}");
        assert!(!text.contains("onsubmit") && !text.contains("<script>"));
    }
    // The next page is kept, as text.
    let next = served.get("/login?next=%2Fa%22%3E%3Cscript%3E");
    assert!(!next.text().contains("\"><script>"), "{}", next.text());
}

#[test]
fn a_closed_server_shows_nothing_before_a_login() {
    let folder = tempfile::tempdir().unwrap();
    let web = LittleWeb::start();
    web.html("/", "<title>Lapwing meadow</title><p>A lapwing calls.</p>");
    collect(folder.path(), &web, "default");
    let served = Served::new(
        folder,
        WebConfig {
            public_search: false,
            ..WebConfig::default()
        },
    );
    let pages = [
        "/".to_owned(),
        "/help".to_owned(),
        "/search?q=lapwing".to_owned(),
        format!("/page?url={}", web.url("/")),
        format!("/archive/*/{}", web.url("/")),
    ];
    for path in &pages {
        let answer = served.get(path);
        assert_eq!(answer.status, 303, "{path}");
        let to = answer.header("location").unwrap();
        assert!(to.starts_with("/login?next=%2F"), "{to}");
        assert!(!answer.text().contains("apwing"));
    }
    for path in ["/api/search?q=lapwing", "/api/suggest?q=la", "/metrics"] {
        let answer = served.get(path);
        assert_eq!(answer.status, 401, "{path}: {}", answer.text());
    }
    for path in [
        "/login",
        "/health",
        "/ready",
        "/static/teia.css",
        "/api/openapi.json",
    ] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    let (cookie, _) = served.log_in(&served.token(Role::Viewer));
    for path in &pages {
        let answer = served.ask("GET", path, &[("Cookie", &cookie)]);
        assert_eq!(answer.status, 200, "{path}");
    }
}

#[test]
fn where_others_reach_the_server_its_numbers_need_a_token() {
    let served = empty(WebConfig {
        public_metrics: false,
        ..WebConfig::default()
    });
    assert_eq!(served.get("/metrics").status, 401);
    assert_eq!(served.get("/").status, 200);
    let token = format!("Bearer {}", served.token(Role::Viewer));
    let answer = served.ask("GET", "/metrics", &[("Authorization", &token)]);
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("teia_"), "{}", answer.text());
}

#[test]
fn ui_20_bodies_are_bounded() {
    let served = empty(WebConfig {
        max_body_bytes: 10_000,
        ..WebConfig::default()
    });
    let admin = served.token(Role::Admin);
    let refused = |body: &str, status: u16| {
        let answer = served.api(&admin, "POST", "/api/collections", body);
        let start: String = body.chars().take(60).collect();
        assert_eq!(answer.status, status, "{start}: {}", answer.text());
        let problem: Value = answer.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].is_string() && problem["code"].is_string());
    };
    refused(&format!("{{\"name\":\"{}\"}}", "x".repeat(20_000)), 413);
    refused(&"[".repeat(9_000), 400);
    refused(
        &format!(
            "{{\"name\":\"a\",\"settings\":{}1{}}}",
            "{\"x\":".repeat(500),
            "}".repeat(500)
        ),
        400,
    );
    refused("{\"name\":\"a\",\"name\":\"b\"}", 400);
    refused("{\"name\":NaN}", 400);
    refused(
        "{\"name\":\"a\",\"settings\":{\"filter.max-pages\":1e999}}",
        400,
    );
    refused(
        "{\"name\":\"a\",\"settings\":{\"filter.max-pages\":99999999999999999999999999}}",
        422,
    );
    refused("", 415);
    let bearer = format!("Bearer {admin}");
    let packed = served.send(
        "POST",
        "/api/collections",
        &[
            ("Authorization", &bearer),
            ("Content-Type", "application/json"),
            ("Content-Encoding", "gzip"),
        ],
        b"\x1f\x8b\x08",
    );
    assert_eq!(packed.status, 415, "{}", packed.text());
    assert_eq!(
        served.api(&admin, "GET", "/api/collections", "").json()["total"],
        0
    );
}

#[test]
fn ui_19_a_slow_body_is_cut_off() {
    let served = empty(WebConfig {
        body_timeout: Duration::from_millis(200),
        ..WebConfig::default()
    });
    let admin = served.token(Role::Admin);
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(
        slow,
        "POST /api/collections HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {admin}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"name\"",
        served.address
    )
    .unwrap();
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    // Whoever has no token is not waited for at all.
    let mut nobody = TcpStream::connect(served.address).unwrap();
    nobody
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(
        nobody,
        "POST /api/collections HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 100\r\n\r\n",
        served.address
    )
    .unwrap();
    let mut answer = [0; 12];
    nobody.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
}

#[test]
fn every_change_is_written_down_with_who_and_from_where() {
    let served = empty(WebConfig::default());
    let (admin, viewer) = (served.token(Role::Admin), served.token(Role::Viewer));
    let body = "{\"name\":\"birds\",\"seeds\":[\"a.example\"]}";
    assert_eq!(
        served.api(&admin, "POST", "/api/collections", body).status,
        201
    );
    assert_eq!(
        served
            .api(&admin, "DELETE", "/api/collections/birds", "")
            .status,
        204
    );
    served.api(&viewer, "GET", "/api/collections", "");
    let log = std::fs::read_to_string(served.folder.path().join("audit.log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{log}");
    for (line, (method, path, status)) in lines.iter().zip([
        ("POST", "/api/collections", 201),
        ("DELETE", "/api/collections/birds", 204),
    ]) {
        assert_eq!(line["method"], method);
        assert_eq!(line["path"], path);
        assert_eq!(line["status"], status);
        assert_eq!(line["name"], "admin");
        assert_eq!(line["from"], "127.0.0.1");
    }
    assert!(!log.contains(&admin[5..]), "no token is in it");
}
