//! Copies of hostile pages: shown in a sandbox, or saved and not shown.

use teia_web::WebConfig;

use crate::HOSTILE;
use crate::support::{LittleWeb, Served};

#[test]
fn ui_04_a_copy_is_sandboxed_and_has_no_header_of_theirs() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/active");
    let time = served.newest(&url);
    for mark in ["", "mp_"] {
        let copy = served.get(&format!("/archive/{time}{mark}/{url}"));
        assert_eq!(copy.status, 200);
        let policy = copy.header("content-security-policy").unwrap();
        assert!(
            policy
                .starts_with("sandbox allow-top-navigation-by-user-activation; default-src 'none'"),
            "{policy}"
        );
        for granted in [
            "allow-scripts",
            "allow-same-origin",
            "allow-forms",
            "allow-popups",
            "script-src",
            "connect-src",
            "'self'",
        ] {
            assert!(!policy.contains(granted), "{policy}");
        }
        for theirs in ["set-cookie", "refresh", "service-worker-allowed"] {
            assert_eq!(copy.header(theirs), None, "{}", copy.head);
        }
        assert!(!copy.header("link").unwrap().contains("evil.example"));
        let page = copy.text();
        assert!(page.contains("zebra acts"), "{page}");
        for bad in ["<script", "onload", "http-equiv", "ran'"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
        assert!(
            page.contains(&format!("href=\"/archive/{time}/{}\"", web.url("/xss"))),
            "{page}"
        );
        assert!(
            page.contains(&format!("/archive/{time}/http://elsewhere.example/")),
            "{page}"
        );
        assert!(!page.contains("action=\"http"), "{page}");
    }
    let window = served.ask(
        "GET",
        &format!("/archive/{time}/{url}"),
        &[("Sec-Fetch-Dest", "document")],
    );
    let page = window.text();
    assert!(
        page.contains("<iframe sandbox=\"allow-top-navigation-by-user-activation\""),
        "{page}"
    );
    assert!(
        page.contains(&format!("/archive/{time}mp_/{url}")),
        "{page}"
    );
    assert!(
        !page.contains("zebra acts"),
        "nothing of the copy is in our own page"
    );
}

#[test]
fn ui_05_what_can_act_is_saved_and_not_shown() {
    let (web, served) = &*HOSTILE;
    for (path, media_type) in [
        ("/svg", "image/svg+xml"),
        ("/fake.png", "application/octet-stream"),
        ("/style.xml", "application/octet-stream"),
        ("/paper.pdf", "application/octet-stream"),
    ] {
        let url = web.url(path);
        let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
        assert_eq!(
            copy.header("content-type").as_deref(),
            Some(media_type),
            "{path}"
        );
        assert!(
            copy.header("content-disposition")
                .unwrap()
                .starts_with("attachment"),
            "{path}"
        );
        assert_eq!(
            copy.header("x-content-type-options").as_deref(),
            Some("nosniff"),
            "{path}"
        );
        assert!(
            copy.header("content-security-policy")
                .unwrap()
                .contains("sandbox"),
            "{path}"
        );
    }
}

#[test]
fn ui_06_missing_parts_are_marked_and_never_fetched() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/parts");
    let time = served.newest(&url);
    let page = served.get(&format!("/archive/{time}mp_/{url}"));
    let text = page.text();
    for part in ["cs_", "im_"] {
        assert!(text.contains(&format!("/archive/{time}{part}")), "{text}");
    }
    let policy = page.header("content-security-policy").unwrap();
    for source in policy
        .split(';')
        .flat_map(|part| part.split_whitespace().skip(1))
    {
        let ours = format!("http://{}/archive/", served.address);
        assert!(
            source == ours
                || source.starts_with('\'')
                || source == "data:"
                || source.starts_with("allow-"),
            "{source}"
        );
    }
    let style = served.get(&format!("/archive/{time}cs_/{}", web.url("/parts.css")));
    assert_eq!(
        style.header("content-type").as_deref(),
        Some("text/css; charset=utf-8")
    );
    assert!(style.text().contains("/archive/"), "{}", style.text());
    let there = served.get(&format!("/archive/{time}im_/{}", web.url("/there.gif")));
    assert_eq!(there.header("content-type").as_deref(), Some("image/gif"));
    for missing in [
        web.url("/missing.gif"),
        "http://evil.example/track.png".to_owned(),
    ] {
        let answer = served.get(&format!("/archive/{time}im_/{missing}"));
        assert_eq!(answer.status, 404, "{missing}");
        assert_eq!(
            answer.header("content-type").as_deref(),
            Some("image/svg+xml")
        );
        assert!(answer.text().contains("not archived"));
    }
    // Another site cannot look into the archive by loading parts of it.
    let path = format!("/archive/{time}im_/{}", web.url("/there.gif"));
    let foreign = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "image"),
        ("Referer", "http://evil.example/"),
    ];
    assert_eq!(served.ask("GET", &path, &foreign).status, 403);
    let from_copy = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "image"),
    ];
    assert_eq!(served.ask("GET", &path, &from_copy).status, 403);
    let at = text.find("im_").unwrap();
    let with_key = &text[at - 9 - time.len()..at + text[at..].find('"').unwrap()];
    assert_eq!(
        served.ask("GET", with_key, &from_copy).status,
        200,
        "{with_key}"
    );
}

#[test]
fn ui_07_no_request_names_a_file() {
    let (_, served) = &*HOSTILE;
    for path in [
        "/archive/2026/../../../../etc/passwd",
        "/archive/2026/..%2f..%2f..%2fetc%2fpasswd",
        "/archive/2026/%2e%2e/%2e%2e/format",
        "/archive/2026//etc/passwd",
        "/archive/2026/file:///etc/passwd",
        "/archive/2026/http://127.0.0.1/%00",
        "/archive/../format",
        "/archive/2026id_/http://x/../../default/archive/",
        "/static/..%2fsrc%2flib.rs",
        "/static/../Cargo.toml",
        "/timemap/link/../../etc/passwd",
        "/archive/%00/http://a/",
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.head);
        assert!(
            !answer.text().contains("root:") && !answer.text().contains("teia-data"),
            "{path}"
        );
    }
}

#[test]
fn ui_08_a_large_a_bursting_and_a_damaged_copy_are_told_apart() {
    let web = LittleWeb::start();
    let mut large = "<title>Large</title><p>".to_owned();
    large.push_str(&"zebra ".repeat(2 << 20));
    web.html("/large", &large);
    web.html(
        "/",
        "<title>Start</title><a href=/large>l</a><a href=/hurt>h</a>\
         <a href=/burst>b</a><img src=/picture><p>zebra</p>",
    );
    web.html("/hurt", "<title>Hurt</title><p>zebra hurt</p>");
    // A page that was taken in when more was allowed, and a picture that is sent as it lies.
    let packed = "Content-Type: text/html\r\nContent-Encoding: gzip";
    web.put("/burst", packed, burst());
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.extend((0..5_u32 << 20).map(|n| u8::try_from(n % 253).unwrap()));
    web.put("/picture", "Content-Type: image/png", &picture);
    let mut served = Served::of(&web);
    let url = web.url("/large");
    let copy = served.get(&format!("/archive/{}mp_/{url}", served.newest(&url)));
    assert_eq!(copy.status, 200);
    assert!(
        copy.body.len() >= 12 << 20,
        "it is all there: {}",
        copy.body.len()
    );
    let folder = std::mem::replace(&mut served.folder, tempfile::tempdir().unwrap());
    allow_ratio(folder.path(), 2);
    let served = Served::new(folder, WebConfig::default());
    let url = web.url("/burst");
    for mark in ["mp_", "id_"] {
        let copy = served.get(&format!("/archive/{}{mark}/{url}", served.newest(&url)));
        assert_eq!(copy.status, 200, "{mark}");
        assert_eq!(
            copy.header("x-teia-truncated").as_deref(),
            Some("length"),
            "{mark}: {}",
            copy.head
        );
        assert!(copy.body.len() <= 5 << 20, "{mark}: {}", copy.body.len());
    }
    let url = web.url("/picture");
    let copy = served.get(&format!("/archive/{}im_/{url}", served.newest(&url)));
    assert_eq!(copy.header("content-type").as_deref(), Some("image/png"));
    assert!(copy.body == picture, "byte by byte as it was");
    // One byte of each record is changed.
    let url = web.url("/hurt");
    let time = served.newest(&url);
    let archive = served.folder.path().join("default/archive");
    for file in std::fs::read_dir(&archive).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "gz") {
            let mut bytes = std::fs::read(&path).unwrap();
            for byte in bytes.iter_mut().skip(12).step_by(64) {
                *byte ^= 0xff;
            }
            std::fs::write(&path, bytes).unwrap();
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let answer = served.get(&format!("/archive/{time}mp_/{url}"));
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("damaged"), "{}", answer.text());
}

/// A page of 8 MB in a tenth of that: as much as a crawl takes.
fn burst() -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"<title>Burst</title><p>zebra ").unwrap();
    for number in 0..800_000_u64 {
        let word = number.wrapping_mul(0x9E37_79B9) >> 7 & 0xF_FFFF;
        write!(packed, "striped{} ", word % 97).unwrap();
    }
    packed.finish().unwrap()
}

/// Writes a smaller bound into the collection's file: bytes that may come out of one.
fn allow_ratio(root: &std::path::Path, most: u32) {
    let path = root.join("collections/default.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("ratio-max"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let bound = format!("[fetch]\nratio-max = {most}\n");
    let text = match text.contains("[fetch]\n") {
        true => text.replacen("[fetch]\n", &bound, 1),
        false => text + &bound,
    };
    std::fs::write(&path, text).unwrap();
}

#[test]
fn ui_21_no_name_splits_a_header_and_no_redirect_leads_away() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/%22%0d%0aSet-Cookie:%20evil=1.svg");
    let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
    assert_eq!(copy.header("set-cookie"), None, "{}", copy.head);
    let name = copy.header("content-disposition").unwrap();
    assert_eq!(name.matches('"').count(), 2, "{name}");
    for next in [
        "//evil.example/",
        "https://evil.example/",
        "/%5Cevil.example",
        "/x%0d%0aSet-Cookie:%20a=b",
        "%2F%2Fevil.example",
    ] {
        let answer = served.get(&format!("/set?lang=pt&next={next}"));
        assert_eq!(answer.status, 303);
        assert_eq!(answer.header("location").as_deref(), Some("/"), "{next}");
        assert_eq!(
            answer.head.to_lowercase().matches("set-cookie").count(),
            1,
            "{}",
            answer.head
        );
    }
    let answer = served.get("/set?lang=pt%0d%0aX:%20y&theme=evil&next=/search%3Fq=a");
    assert_eq!(answer.header("set-cookie"), None);
    assert_eq!(answer.header("location").as_deref(), Some("/search?q=a"));
    // An archived redirect stays in the archive.
    let url = web.url("/redirects");
    let copy = served.get(&format!("/archive/{}/{url}", served.newest(&url)));
    assert_eq!(copy.status, 302);
    assert!(
        copy.header("location").unwrap().starts_with("/archive/"),
        "{}",
        copy.head
    );
}

#[test]
fn a_page_that_wants_no_copies_has_none() {
    let (web, served) = &*HOSTILE;
    let url = web.url("/private");
    for path in [
        format!("/archive/2026/{url}"),
        format!("/archive/*/{url}"),
        format!("/timegate/{url}"),
        format!("/timemap/json/{url}"),
    ] {
        let answer = served.get(&path);
        assert_eq!(answer.status, 403, "{path}");
        assert!(!answer.text().contains("secret"), "{path}");
    }
    let found = served.get("/api/search?q=secret").json();
    assert_eq!(found["hits"][0]["copy"], serde_json::Value::Null, "{found}");
}
