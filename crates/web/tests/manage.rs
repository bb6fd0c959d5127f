//! The management pages: who sees them, what they show, and that nothing collected acts in them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{LittleWeb, Served};
use teia_web::Role;

const EVIL: &str = "<script>alert(1)</script>";

/// A web whose addresses, titles and types try to become a part of our pages.
fn hostile() -> LittleWeb {
    let web = LittleWeb::start();
    web.html(
        "/",
        &format!(
            "<html lang='en'><title>{EVIL}</title><a href=\"/'&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\">x</a><a href='/gone?q={EVIL}'>y</a>"
        ),
    );
    web.put(
        "/'%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        &format!("Content-Type: text/{EVIL}"),
        "text",
    );
    web
}

fn cookie(served: &Served, role: Role) -> (String, String) {
    served.log_in(&served.token(role))
}

fn pages(host: &str) -> Vec<String> {
    [
        "/collections",
        "/collections/default",
        "/collections/default?level=warning",
        "/hosts",
        "/hosts?name=%27%3E%3Cscript%3Ealert(1)%3C/script%3E&order=slowest",
        "/urls",
        "/urls?state=fetched&contains=%3Cscript%3Ealert(1)%3C/script%3E",
        "/urls?host=%27%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/map",
        "/map?host=%27%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/explain",
        "/explain?url=http://%3Cscript%3Ealert(1)%3C/script%3E/",
        "/statistics",
        "/statistics.csv?table=outcomes",
    ]
    .iter()
    .map(|path| (*path).to_owned())
    .chain([format!("/hosts/{host}")])
    .collect()
}

#[test]
fn pages_are_for_those_who_logged_in_and_nothing_collected_acts_in_them() {
    let web = hostile();
    let served = Served::of(&web);
    let host = "127.0.0.1";
    let (session, _) = cookie(&served, Role::Viewer);
    for path in pages(host) {
        let nobody = served.get(&path);
        assert_eq!(nobody.status, 303, "{path}");
        assert!(
            nobody
                .header("location")
                .unwrap()
                .starts_with("/login?next=")
        );
        let seen = served.ask("GET", &path, &[("Cookie", &session)]);
        assert_eq!(seen.status, 200, "{path}: {}", seen.text());
        let text = seen.text();
        assert!(!text.contains(EVIL), "{path}: {text}");
        assert!(
            !text.contains("name=\"what\""),
            "{path}: a viewer has no buttons"
        );
    }
    // What only others may see or do.
    for path in ["/collections/new", "/collections/default/edit"] {
        assert_eq!(
            served.ask("GET", path, &[("Cookie", &session)]).status,
            403,
            "{path}"
        );
    }
    let shown = served.ask("GET", "/collections/default", &[("Cookie", &session)]);
    assert!(
        shown.text().contains("What became of documents"),
        "{}",
        shown.text()
    );
    let bot = served.get("/bot");
    assert_eq!(bot.status, 200, "everybody may know who we are");
    assert!(bot.text().contains("User-agent: Teia"), "{}", bot.text());
}

#[test]
fn own_words_for_webmasters_are_on_the_bot_page_in_the_reader_s_language() {
    let web = hostile();
    let served = Served::of(&web);
    let page = |language: &str| {
        let answer = served.ask("GET", "/bot", &[("Accept-Language", language)]);
        assert_eq!(answer.status, 200);
        answer.text()
    };
    let own = |name: &str, text: &str| {
        std::fs::write(served.folder.path().join(name), text).unwrap();
    };
    own(
        "bot.txt",
        "\u{feff}The river museum.\r\n\r\nMail <b>river</b>@example.org\r\nor call.\r\n \t\r\nThank you.\r\n",
    );
    for language in ["en", "pt"] {
        let text = page(language);
        // A line with nothing on it ends a paragraph, whatever the editor puts there; nothing in it is markup.
        for part in [
            ">The river museum.</p>",
            "&#60;b&#62;river&#60;/b&#62;@example.org\nor call.</p>",
            ">Thank you.</p>",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        assert!(text.contains("User-agent: Teia"), "{text}");
    }
    own("bot.pt.txt", "O museu do rio.");
    assert!(page("pt").contains(">O museu do rio.</p>"));
    assert!(!page("pt").contains("The river museum."));
    assert!(page("en").contains(">The river museum.</p>"));
    // A file that is no text does not take the page away.
    std::fs::write(served.folder.path().join("bot.txt"), [0xff, 0xfe, 0x00]).unwrap();
    assert!(page("en").contains("User-agent: Teia"));
}

#[test]
fn removals_are_listed_on_the_settings_page_also_those_of_deleted_collections() {
    let web = hostile();
    let served = Served::of(&web);
    let (session, csrf) = cookie(&served, Role::Admin);
    let own = format!("http://{}", served.address);
    let headers = [("Cookie", session.as_str()), ("Origin", own.as_str())];
    let page = |language: &str| {
        let asked = [("Cookie", session.as_str()), ("Accept-Language", language)];
        served.ask("GET", "/settings", &asked).text()
    };
    assert!(page("en").contains("Nothing was removed."));
    let host = "kind=host&value=gone.example";
    let wish = |collection: &str| format!("collection={collection}&{host}&csrf={csrf}");
    let answer = served.form("/removals/remove", &headers, &wish("default"));
    assert_eq!(answer.status, 303, "{}", answer.text());
    let text = page("en");
    assert!(text.contains("gone.example") && !text.contains("a deleted collection"));
    let sure = format!("what=remove&csrf={csrf}");
    let answer = served.form("/collections/default/remove", &headers, &sure);
    assert_eq!(answer.status, 303, "{}", answer.text());
    let text = page("en");
    assert!(
        text.contains("gone.example") && text.contains("a deleted collection"),
        "{text}"
    );
    assert!(page("pt").contains("uma coleção apagada"));
    let (viewer, _) = cookie(&served, Role::Viewer);
    let seen = served
        .ask("GET", "/settings", &[("Cookie", &viewer)])
        .text();
    assert!(seen.contains("gone.example") && !seen.contains("/removals/restore"));
    let answer = served.form("/removals/restore", &headers, &wish(""));
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert!(page("en").contains("Nothing was removed."));
    let answer = served.form("/removals/restore", &headers, &wish(""));
    assert_eq!(answer.status, 404, "{}", answer.text());
}

#[test]
fn buttons_and_forms_ask_for_the_session_s_own_token() {
    let web = hostile();
    let served = Served::of(&web);
    let (session, csrf) = cookie(&served, Role::Admin);
    let own = format!("http://{}", served.address);
    let headers = [("Cookie", session.as_str()), ("Origin", own.as_str())];
    let posts = [
        ("/collections/default/do", "what=start"),
        ("/collections/default/allow", "what=/x"),
        ("/collections/default/edit", "what=save&politeness.delay=3s"),
        ("/collections/new", "what=save&name=other"),
        (
            "/removals/remove",
            "collection=default&kind=host&value=127.0.0.1",
        ),
        (
            "/removals/restore",
            "collection=default&kind=host&value=127.0.0.1",
        ),
        (
            "/removals/erase",
            "collection=default&kind=host&value=127.0.0.1",
        ),
        ("/collections/default/remove", "what=remove"),
        ("/settings/tokens", "name=ann&role=admin&days="),
        ("/settings/tokens/none/remove", "what=remove"),
    ];
    for (path, body) in posts {
        for wrong in [body.to_owned(), format!("{body}&csrf=0123456789abcdef")] {
            let answer = served.form(path, &headers, &wrong);
            assert_eq!(answer.status, 403, "{path} {wrong}: {}", answer.text());
        }
        let nobody = served.form(path, &[("Origin", &own)], &format!("{body}&csrf={csrf}"));
        assert_eq!(nobody.status, 303, "{path}: to the login");
        assert!(nobody.header("location").unwrap().starts_with("/login"));
    }
    let settings = |path: &str| {
        std::fs::read_to_string(served.folder.path().join("collections").join(path))
            .unwrap_or_default()
    };
    assert!(
        !settings("default.toml").contains("delay = \"3s\"") && settings("other.toml").is_empty()
    );

    // What is typed wrong is shown again, with what is wrong, and nothing is written.
    let before = settings("default.toml");
    let wrong = format!("what=save&politeness.delay=soon&csrf={csrf}");
    let answer = served.form("/collections/default/edit", &headers, &wrong);
    assert_eq!(answer.status, 422);
    assert!(
        answer.text().contains("value=\"soon\""),
        "{}",
        answer.text()
    );
    assert_eq!(settings("default.toml"), before);
    let marked = "<div class=\"field wrong\" data-key=\"politeness.delay\">";
    assert!(answer.text().contains(marked), "the field is marked");
    assert!(!answer.text().contains("line 2"), "a form has no lines");

    let right = format!("what=save&politeness.delay=3s&csrf={csrf}");
    let answer = served.form("/collections/default/edit", &headers, &right);
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert!(settings("default.toml").contains("delay = \"3s\""));
    let text = format!("what=allow&csrf={csrf}").replace("allow", "a.test/{n}");
    assert_eq!(
        served
            .form("/collections/default/allow", &headers, &text)
            .status,
        303
    );
    assert!(settings("default.toml").contains("a.test/{n}"));

    let remove = format!("collection=default&kind=host&value=127.0.0.1&csrf={csrf}");
    let answer = served.form("/removals/remove", &headers, &remove);
    assert_eq!(answer.status, 303);
    let shown = served.ask("GET", "/hosts/127.0.0.1", &[("Cookie", &session)]);
    assert!(
        shown.text().contains("This host was removed"),
        "{}",
        shown.text()
    );
}

#[test]
fn without_the_catalog_pages_show_the_rest_and_say_so() {
    let web = hostile();
    let served = Served::of(&web);
    // Nobody listens there.
    let file = served.folder.path().join("collections/default.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let elsewhere = "[catalog]\nurl = \"postgres://teia@127.0.0.1:1/teia\"\n";
    std::fs::write(&file, text.replace("[catalog]\n", elsewhere)).unwrap();
    let (session, _) = cookie(&served, Role::Admin);
    for path in ["/collections/default", "/hosts", "/hosts/127.0.0.1"] {
        let seen = served.ask("GET", path, &[("Cookie", &session)]);
        assert_eq!(seen.status, 200, "{path}: {}", seen.text());
        let said = "The database with the catalog does not answer now";
        assert!(seen.text().contains(said), "{path}: {}", seen.text());
    }
    let shown = served.ask("GET", "/collections/default", &[("Cookie", &session)]);
    for still_there in ["Events", "/collections/default/edit", "URLs known"] {
        assert!(shown.text().contains(still_there), "{still_there}");
    }
    assert!(!shown.text().contains("What became of documents"));
}

#[test]
fn pages_open_on_the_collection_that_ran_last() {
    let web = hostile();
    let served = Served::of(&web);
    let file = served.folder.path().join("collections/aardvark.toml");
    std::fs::write(file, "seeds = [\"http://127.0.0.1/\"]\n").unwrap();
    let (session, _) = cookie(&served, Role::Viewer);
    let see = |path: &str| served.ask("GET", path, &[("Cookie", &session)]).text();
    let hosts = see("/hosts");
    assert!(
        hosts.contains("/hosts/127.0.0.1?collection=default"),
        "{hosts}"
    );
    let never = see("/hosts?collection=aardvark");
    assert!(never.contains("has not run yet"), "{never}");
    assert!(!never.contains("teia catalog rebuild"), "{never}");
    // Every table is there in each form.
    let json = "/api/collections/default/statistics?table=outcomes";
    let mut statistics = see("/statistics");
    for _ in 0..600 {
        if statistics.contains("Parquet") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        statistics = see("/statistics");
    }
    assert!(statistics.contains(json), "{statistics}");
    assert!(see(json).contains("\"outcomes\""));
}

#[test]
fn a_webmaster_reads_what_all_collections_asked() {
    let web = hostile();
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        support::collect(folder.path(), &web, name);
    }
    let served = Served::new(folder, teia_web::WebConfig::default());
    let (session, csrf) = cookie(&served, Role::Admin);
    let see = |path: &str| served.ask("GET", path, &[("Cookie", &session)]).text();
    let both = see("/hosts/127.0.0.1");
    assert!(both.contains("in the collections one, two"), "{both}");
    // The same whichever collection it was opened from, and more than one of them asked.
    let figure = |text: &str| {
        let (_, rest) = text.split_once("<dt>Requests</dt><dd><bdi>").unwrap();
        rest.split('<').next().unwrap().parse::<u64>().unwrap()
    };
    let asked = figure(&both);
    assert_eq!(asked, figure(&see("/hosts/127.0.0.1?collection=two")));
    assert!(both.matches("http%3A%2F%2F127.0.0.1").count() as u64 >= asked);
    assert!(asked >= 6, "{asked}");

    // What is removed can be shown again.
    let own = format!("http://{}", served.address);
    let headers = [("Cookie", session.as_str()), ("Origin", own.as_str())];
    let body = format!("collection=two&kind=host&value=127.0.0.1&csrf={csrf}");
    for (what, restores) in [("remove", 1), ("restore", 0)] {
        let path = format!("/removals/{what}");
        assert_eq!(served.form(&path, &headers, &body).status, 303);
        let shown = see("/hosts/127.0.0.1");
        assert_eq!(
            shown.matches("action=\"/removals/restore\"").count(),
            restores
        );
    }
}

#[test]
fn what_one_collection_hides_is_told_on_the_pages_of_all() {
    let web = hostile();
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        support::collect(folder.path(), &web, name);
    }
    let served = Served::new(folder, teia_web::WebConfig::default());
    let (session, csrf) = cookie(&served, Role::Admin);
    let own = format!("http://{}", served.address);
    let headers = [("Cookie", session.as_str()), ("Origin", own.as_str())];
    let see = |path: &str| served.ask("GET", path, &[("Cookie", &session)]).text();
    let act = |what: &str, body: &str| {
        let body = format!("collection=one&{body}&csrf={csrf}");
        let answer = served.form(&format!("/removals/{what}"), &headers, &body);
        assert_eq!(answer.status, 303, "{}", answer.text());
    };
    let offered = |text: &str| {
        ["remove", "restore", "erase"].map(|what| {
            text.matches(&format!("action=\"/removals/{what}\""))
                .count()
        })
    };
    let (front, nobodys) = (web.url("/"), web.url("/never-met"));
    let page = format!("/explain?url={front}");
    assert_eq!(offered(&see(&page)), [2, 0, 0]);

    act("remove", "kind=host&value=127.0.0.1");
    for path in [
        &page,
        &format!("/explain?url={nobodys}"),
        "/hosts/127.0.0.1",
    ] {
        let text = see(path);
        assert!(text.contains("This host was removed"), "{path}: {text}");
    }
    // The page itself is in nobody's list; the host is in that of `one` alone.
    assert_eq!(offered(&see(&page)), [0, 0, 2]);
    assert_eq!(offered(&see("/hosts/127.0.0.1")), [0, 1, 2]);
    act("restore", "kind=host&value=127.0.0.1");

    act("remove", &format!("kind=url&value={front}"));
    let text = see(&page);
    assert!(text.contains("This page was removed"), "{text}");
    assert_eq!(offered(&text), [0, 1, 2]);
    assert!(!see("/hosts/127.0.0.1").contains("was removed"));
}

#[test]
fn a_cell_with_nothing_to_say_has_no_words_and_no_label() {
    let web = hostile();
    let served = Served::of(&web);
    let (session, _) = cookie(&served, Role::Viewer);
    let seen = |path: &str| served.ask("GET", path, &[("Cookie", &session)]).text();
    // A seed was found on no page.
    let text = seen("/urls?state=fetched");
    assert!(text.contains("\"></td>"), "{text}");
    assert!(!text.contains("<bdi></bdi>"), "{text}");
}

#[test]
fn other_places_stay_with_the_collection_that_is_looked_at() {
    let web = hostile();
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        support::collect(folder.path(), &web, name);
    }
    let served = Served::new(folder, teia_web::WebConfig::default());
    let (session, _) = cookie(&served, Role::Viewer);
    for path in ["/collections/two", "/urls?collection=two"] {
        let seen = served.ask("GET", path, &[("Cookie", &session)]).text();
        for place in ["urls", "hosts", "map", "statistics"] {
            let href = format!("href=\"/{place}?collection=two\"");
            assert!(seen.contains(&href), "{path}: {href}");
        }
    }
    // Of several buttons each says whose it is.
    let (admin, _) = cookie(&served, Role::Admin);
    let path = format!("/explain?url={}", web.url("/"));
    let seen = served.ask("GET", &path, &[("Cookie", &admin)]).text();
    for name in ["one", "two"] {
        let label = format!("Remove this page · {name}</summary>");
        assert!(seen.contains(&label), "{seen}");
    }
    // What waits after a run waits for the next one.
    let queue = served.ask("GET", "/urls?collection=two", &[("Cookie", &session)]);
    let queue = queue.text();
    assert!(queue.contains("No run is under way"), "{queue}");
}

#[test]
fn settings_show_who_is_there_and_only_admins_make_tokens() {
    let served = Served::of(&hostile());
    let (viewer, _) = cookie(&served, Role::Viewer);
    let seen = served.ask("GET", "/settings", &[("Cookie", &viewer)]);
    assert_eq!(seen.status, 200);
    assert!(seen.text().contains("action=\"/logout\""), "the way out");
    assert!(!seen.text().contains("/settings/tokens"), "no tokens");

    let (admin, csrf) = cookie(&served, Role::Admin);
    let own = format!("http://{}", served.address);
    let headers = [("Cookie", admin.as_str()), ("Origin", own.as_str())];
    let wrong = format!("name=ann&role=viewer&days=0&csrf={csrf}");
    assert_eq!(
        served.form("/settings/tokens", &headers, &wrong).status,
        422
    );
    let right = format!("name=ann&role=viewer&days=7&csrf={csrf}");
    let made = served.form("/settings/tokens", &headers, &right);
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(made.header("cache-control").unwrap(), "no-store");
    let text = made.text();
    let (_, rest) = text.split_once("<code class=\"secret\">").unwrap();
    let secret = rest.split('<').next().unwrap();
    served.log_in(secret);
    let again = served.ask("GET", "/settings", &[("Cookie", &admin)]).text();
    assert!(
        again.contains("ann") && !again.contains(secret),
        "shown once"
    );
    // Those of others can be removed, the own one cannot.
    let buttons = again.matches("/remove\"").count();
    assert_eq!(buttons, 2, "{again}");
}

#[test]
fn a_mistake_in_the_file_is_told_on_its_own_line() {
    let served = Served::of(&hostile());
    let token = served.token(Role::Admin);
    let cases = [
        (
            "[schedule]\nstart = \"2026-13-01\"\nevery = \"1d\"",
            "line 2",
        ),
        (
            "[schedule]\nevery = \"1d\"\nstart = \"2026-11-01\"\ntime-zone = \"Lisbon\"",
            "line 4",
        ),
        ("[schedule]\ntime-zone = \"Lisbon\"", "line 2"),
        ("[schedule]\nend = \"2026-13-01\"", "line 2"),
        ("[schedule]\nstart = 2026-11-01", "write \"2026-11-01\""),
        ("archive = true", "[archive]"),
        ("run = 5", "[run]"),
        ("[run]\nretries = \"x\"", "the text \"x\""),
        ("seeds = 5", "a list"),
        (
            "seeds = []\n[[site]]\nmach = \"*.pt\"\npoliteness.delay = \"2s\"",
            "did you mean `match`",
        ),
    ];
    for (text, told) in cases {
        let body = serde_json::json!({ "text": text }).to_string();
        let answer = served.api(&token, "POST", "/api/collections/default/check", &body);
        let answer: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
        let problem = answer["problem"].as_str().unwrap_or_default();
        assert!(problem.contains(told), "{text}: {answer}");
        for jargon in ["struct", " map", "sequence", "invalid type"] {
            assert!(!problem.contains(jargon), "{text}: {problem}");
        }
    }
}
