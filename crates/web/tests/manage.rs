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
        ("/hosts/127.0.0.1/remove", "collection=default"),
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

    let remove = format!("collection=default&csrf={csrf}");
    let answer = served.form("/hosts/127.0.0.1/remove", &headers, &remove);
    assert_eq!(answer.status, 303);
    let shown = served.ask("GET", "/hosts/127.0.0.1", &[("Cookie", &session)]);
    assert!(
        shown.text().contains("This host was removed"),
        "{}",
        shown.text()
    );
}
