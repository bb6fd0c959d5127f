//! The API over a collected little web: what it tells, and what it refuses.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use support::client::{Client, birds, birds_with};
use support::{LittleWeb, Served, collect, collect_with};
use teia_web::{Role, WebConfig};

#[test]
fn a_method_that_an_address_does_not_know_is_a_problem_too() {
    let (_web, served) = birds();
    let token = served.token(Role::Admin);
    for (method, path, allowed) in [
        ("PUT", "/api/collections", ["GET", "POST"]),
        ("POST", "/api/collections/birds/depths", ["GET", "HEAD"]),
        ("DELETE", "/api/search", ["GET", "HEAD"]),
    ] {
        let answer = served.api(&token, method, path, "{}");
        assert_eq!(answer.status, 405, "{method} {path}");
        let kind = answer.header("content-type").unwrap();
        assert_eq!(kind, "application/problem+json", "{method} {path}");
        let allow = answer.header("allow").unwrap();
        for method in allowed {
            assert!(allow.contains(method), "{path}: {allow}");
        }
        assert_eq!(answer.json()["code"], "wrong-method");
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
    client.bad(
        "GET",
        "/api/collections/birds/hosts/never.example",
        &Value::Null,
        404,
    );
}

#[test]
fn the_proof_of_manners_counts_requests_and_no_decisions() {
    let web = LittleWeb::start();
    let rules = "User-agent: *\nDisallow: /secret\n";
    web.put("/robots.txt", "Content-Type: text/plain", rules);
    web.html(
        "/",
        "<a href=/secret1>1</a><a href=/second>2</a><a href=/secret2>3</a><a href=/third>4</a>",
    );
    let delay = Duration::from_millis(100);
    let folder = tempfile::tempdir().unwrap();
    collect_with(folder.path(), &web, "birds", |config| {
        config.politeness.delay = delay;
    });
    let served = Served::new(folder, WebConfig::default());
    let client = Client::new(&served, Role::Viewer);
    let view = client.get("/api/collections/birds/hosts/127.0.0.1");
    let recent = view["recent"].as_array().unwrap();
    assert_eq!(recent.len(), 6, "{view}");
    let of = |wanted: bool| {
        let is_wanted = move |it: &&Value| (it["outcome_name"] == "robots_disallowed") == wanted;
        recent.iter().filter(is_wanted)
    };
    assert_eq!(of(true).count(), 2, "{view}");
    assert!(of(true).all(|it| it["gap_seconds"].is_null()), "{view}");
    let gaps: Vec<f64> = of(false)
        .filter_map(|it| it["gap_seconds"].as_f64())
        .collect();
    assert_eq!(gaps.len(), 3, "between four requests: {view}");
    for gap in &gaps {
        assert!(*gap >= delay.as_secs_f64(), "{view}");
    }
    // Over all collections, as the page about the host has it; a part at a time.
    let report = client.get("/api/hosts/127.0.0.1");
    assert_eq!(
        (&report["total"], &report["requests"]),
        (&json!(4), &json!(4))
    );
    assert_eq!(report["collections"], json!(["birds"]));
    let shortest = gaps.iter().copied().fold(f64::MAX, f64::min);
    let told = report["shortest_rest_seconds"].as_f64().unwrap();
    assert!((told - shortest).abs() < 1e-5, "{told} and {shortest}");
    assert!(report["usual_rest_seconds"].as_f64().unwrap() >= told);
    let part = client.get("/api/hosts/127.0.0.1?limit=1&offset=3");
    assert_eq!(part["items"], json!([report["items"][3]]));
    assert!(part["items"][0]["rest_seconds"].is_null(), "the first one");
    client.bad("GET", "/api/hosts/never.example", &Value::Null, 404);
    client.bad("GET", "/api/hosts/127.0.0.1?limit=501", &Value::Null, 400);
}

#[test]
fn a_dashboard_says_where_the_time_went_and_for_how_long_a_run_was_at_work() {
    let (_web, served) = birds();
    let client = Client::new(&served, Role::Viewer);
    let dashboard = client.get("/api/collections/birds/dashboard");
    assert_eq!(dashboard["spent"]["requests"], 5, "{dashboard}");
    for part in ["connect", "first_byte"] {
        let seconds = dashboard["spent"][part].as_f64().unwrap();
        assert!(seconds > 0.0, "{part}: {dashboard}");
    }
    assert_eq!(dashboard["types"]["items"][0]["name"], "text/html");
    assert_eq!(dashboard["types"]["documents"], 3);
    assert_eq!(dashboard["largest"][0]["fetched"], 4);
    assert_eq!(dashboard["failing"][0]["errors"], 1);
    assert_eq!(dashboard["errors"][0]["code"], 404);
    let minutes = dashboard["minutes"].as_array().unwrap();
    let errors = minutes.iter().map(|it| it["errors"].as_u64().unwrap());
    assert_eq!(errors.sum::<u64>(), 1);
    assert!(
        minutes[0]["at"].as_str().unwrap().ends_with("00Z"),
        "{minutes:?}"
    );
    let run = &client.get("/api/collections/birds/runs")["items"][0];
    let active = run["active_seconds"].as_f64().unwrap();
    assert!(
        active > 0.0 && active <= run["seconds"].as_f64().unwrap(),
        "{run}"
    );
    assert_eq!(dashboard["runs"][0]["active_seconds"], active);
    assert_eq!(dashboard["runs"][0]["ended"], "done");
    client.bad("GET", "/api/collections/never/dashboard", &Value::Null, 404);
}

#[test]
fn versions_what_changed_between_them_and_links_are_told_to_programs_too() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let url = web.url("/second");
    // Copies are named by their second.
    std::thread::sleep(Duration::from_millis(1100));
    web.html(
        "/second",
        "<title>Second</title><p>Curlews sleep, answer.</p>",
    );
    collect(served.folder.path(), &web, "later");
    let versions = client.get(&format!("/api/versions?url={url}"));
    assert_eq!(versions["total"], 2, "{versions}");
    let [newer, older] = [0, 1].map(|at| &versions["items"][at]);
    assert_eq!(
        (&newer["collection"], &newer["is_new"]),
        (&json!("later"), &json!(true))
    );
    assert_eq!(
        (&older["collection"], &older["status"]),
        (&json!("birds"), &json!(200))
    );
    let part = client.get(&format!("/api/versions?url={url}&limit=1&offset=1"));
    assert_eq!(part["items"], json!([older]));
    let [from, to] = [older, newer].map(|it| it["timestamp"].as_str().unwrap().to_owned());
    let between = |from: &str, to: &str| format!("/api/difference?url={url}&from={from}&to={to}");
    let changed = client.get(&between(&from, &to));
    assert_eq!(
        (&changed["state"], &changed["added"]),
        (&json!("changed"), &json!(1))
    );
    let added = json!({"kind": "added", "text": "sleep,", "words": 1});
    assert!(
        changed["parts"].as_array().unwrap().contains(&added),
        "{changed}"
    );
    assert_eq!(client.get(&between(&from, &from))["state"], "equal");
    client.bad("GET", &between("20010101000000", &to), &Value::Null, 404);
    client.bad("GET", &between("yesterday", &to), &Value::Null, 400);
    client.bad(
        "GET",
        "/api/versions?url=http://never.example/",
        &Value::Null,
        404,
    );
    client.bad("GET", "/api/versions", &Value::Null, 400);

    let links = |path: &str, more: &str| {
        let url = web.url(path);
        client.get(&format!("/api/collections/birds/links?url={url}{more}"))
    };
    let out = links("/", "");
    assert_eq!(
        (&out["total"], &out["direction"]),
        (&json!(4), &json!("out")),
        "{out}"
    );
    let of_second = out["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["url"] == url);
    assert_eq!(of_second.unwrap()["texts"], json!(["second"]));
    let paged = links("/", "&limit=1&offset=3");
    assert_eq!(paged["items"], json!([out["items"][3]]));
    let into = links("/second", "&direction=in");
    assert_eq!(into["items"][0]["url"], web.url("/"), "{into}");
    let never = "/api/collections/birds/links?url=http://never.example/";
    client.bad("GET", never, &Value::Null, 404);
    let wrong = format!("/api/collections/birds/links?url={url}&direction=up");
    client.bad("GET", &wrong, &Value::Null, 400);

    // Whoever asked one collection to hide it is heard by all, and everywhere it is told.
    let hidden = |host: &str| client.get(host)["hidden"].clone();
    let hosts = [
        "/api/collections/birds/hosts/127.0.0.1",
        "/api/hosts/127.0.0.1",
    ];
    let life = format!("/api/collections/birds/explain?url={url}");
    for path in hosts.iter().copied().chain([life.as_str()]) {
        assert_eq!(hidden(path), false, "{path}");
    }
    let body = json!({"kind": "host", "value": "127.0.0.1"});
    client.good("PUT", "/api/collections/later/removals", &body);
    for path in hosts.iter().copied().chain([life.as_str()]) {
        assert_eq!(hidden(path), true, "{path}");
    }
    let links = format!("/api/collections/birds/links?url={url}");
    for path in [
        format!("/api/versions?url={url}"),
        between(&from, &to),
        links,
    ] {
        let detail = client.bad("GET", &path, &Value::Null, 404);
        assert!(detail.contains("removed from view"), "{path}: {detail}");
    }
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
    // What another collection hides is hidden by whatever scheme it is asked for.
    let other = json!({"name": "other", "seeds": ["http://a.example/"]});
    client.good("POST", "/api/collections", &other);
    let removals = "/api/collections/other/removals";
    let hidden = json!({"kind": "url", "value": url});
    client.good("PUT", removals, &hidden);
    let secure = url.replacen("http:", "https:", 1);
    // A collection that is new is looked at within a moment.
    let is_shown = || served.get(&format!("/archive/*/{url}")).status == 200;
    for _ in 0..600 {
        if !is_shown() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    for spelled in [&url, &secure] {
        assert_eq!(served.get(&format!("/archive/*/{spelled}")).status, 404);
        let versions = format!("/api/versions?url={spelled}");
        client.bad("GET", &versions, &Value::Null, 404);
    }
    let back = format!("{removals}?kind=url&value={url}");
    client.good("DELETE", &back, &Value::Null);
    assert_eq!(served.get(&format!("/archive/*/{secure}")).status, 200);
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
    let copy = served.folder.path().join("birds/removed.copy");
    std::fs::write(copy, "ur1 http://a.example/").unwrap();
    std::fs::write(
        served.folder.path().join("birds/removed"),
        "ur1 http://a.example/",
    )
    .unwrap();
    assert_eq!(found_status(&served), 500);
    let copy = served.get(&format!("/archive/*/{}", web.url("/second")));
    assert_ne!(copy.status, 200);
}

#[test]
fn tables_from_before_a_removal_are_not_current() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let counted = || loop {
        let told = client.get("/api/collections/birds/statistics");
        if told["is_current"] == true {
            break told["as_of"].as_str().unwrap().to_owned();
        }
    };
    let before = counted();
    // Moments are told in seconds.
    let until_another = || std::thread::sleep(Duration::from_millis(1100));
    until_another();
    assert_eq!(
        counted(),
        before,
        "nothing changed: nothing is counted again"
    );
    let body = json!({"kind": "url", "value": web.url("/second")});
    client.good("PUT", "/api/collections/birds/removals", &body);
    let after = counted();
    assert_ne!(after, before);
    until_another();
    // A list of the same length is another list.
    let back = format!(
        "/api/collections/birds/removals?kind=url&value={}",
        web.url("/second")
    );
    client.good("DELETE", &back, &Value::Null);
    let body = json!({"kind": "url", "value": web.url("/fourth")});
    client.good("PUT", "/api/collections/birds/removals", &body);
    assert_ne!(counted(), after);
}

#[test]
fn what_a_deleted_collection_hid_is_not_fetched_by_others_and_can_be_taken_back() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    let url = web.url("/second");
    let body = json!({"kind": "url", "value": url});
    client.good("PUT", "/api/collections/birds/removals", &body);
    client.good("DELETE", "/api/collections/birds", &Value::Null);
    collect(served.folder.path(), &web, "others");
    let fetched = client.get("/api/collections/others/urls?state=fetched");
    let fetched = fetched["items"].as_array().unwrap();
    assert!(fetched.len() >= 2, "{fetched:?}");
    assert!(fetched.iter().all(|item| item["url"] != url), "{fetched:?}");
    let back = format!("/api/collections/others/removals?kind=url&value={url}");
    client.good("DELETE", &back, &Value::Null);
    client.bad("DELETE", &back, &Value::Null, 404);
    assert_eq!(client.get("/api/removals")["total"], 0);
    collect(served.folder.path(), &web, "third");
    let fetched = client.get("/api/collections/third/urls?state=fetched");
    let fetched = fetched["items"].as_array().unwrap();
    assert!(fetched.iter().any(|item| item["url"] == url), "{fetched:?}");
}

#[test]
fn what_deleted_collections_hid_is_listed_and_can_be_taken_back_without_a_collection() {
    let (web, served) = birds();
    let client = Client::new(&served, Role::Admin);
    assert_eq!(client.get("/api/removals")["total"], 0);
    let url = web.url("/second");
    for body in [
        json!({"kind": "url", "value": url}),
        json!({"kind": "host", "value": "gone.example"}),
    ] {
        client.good("PUT", "/api/collections/birds/removals", &body);
    }
    let by_birds = json!({"collection": "birds", "kind": "url", "value": url});
    let listed = client.get("/api/removals");
    assert!(listed["items"].as_array().unwrap().contains(&by_birds));
    client.good("DELETE", "/api/collections/birds", &Value::Null);
    let kept = json!({"collection": null, "kind": "url", "value": url});
    let listed = client.get("/api/removals");
    assert_eq!(listed["total"], 2, "{listed}");
    assert!(listed["items"].as_array().unwrap().contains(&kept));
    assert_eq!(client.get("/api/removals?limit=1&offset=1")["total"], 2);
    client.bad("DELETE", "/api/removals?kind=url", &Value::Null, 400);
    let wrong = "/api/removals?kind=host&value=a%2Fb";
    client.bad("DELETE", wrong, &Value::Null, 422);
    let back = "/api/removals?kind=host&value=Gone.example";
    client.good("DELETE", back, &Value::Null);
    client.bad("DELETE", back, &Value::Null, 404);
    assert_eq!(client.get("/api/removals")["items"], json!([kept]));
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
