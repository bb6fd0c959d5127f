//! The pages in a real browser: headless Chromium over `teia serve`, with screenshots in `target/screenshots`.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../web/tests/support/filling.rs"]
mod filling;
#[path = "../../web/tests/support/little_web.rs"]
mod little_web;
mod support;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use little_web::LittleWeb;
use support::Home;

const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// An archived page that does what it can to act, and to reach `evil`.
fn put_pages(web: &LittleWeb, evil: &LittleWeb, version: &str, text: &str) {
    let evil = evil.url("/reached");
    web.html(
        "/",
        &format!(
            "<!doctype html><html><head><title>A small garden, {version}</title><link rel=stylesheet href=/style.css>\
             <link rel=preconnect href={evil}><link rel=stylesheet href={evil}.css>\
             <meta http-equiv=refresh content='0;url={evil}'><script>window.ran = 1; document.cookie = 'ran=1'; fetch('{evil}')</script>\
             </head><body onload=\"window.ran = 2\"><h1 id=stays>A small garden</h1><p>{text}</p>\
             <img id=picture src=/picture.gif><img src={evil}><iframe src='{evil}'></iframe>\
             <a id=onward href=/other>Another page</a> {}<form action='{evil}'><button>Send</button></form>\
             <script src='{evil}'></script><img src=x onerror='window.ran = 3'></body></html>",
            (0..24).map(|n| format!("<a href='/bed/{n}'>Bed {n}</a> ")).collect::<String>()
        ),
    );
    web.html(
        "/other",
        "<title>Another page</title><p>Seeds and roots.</p><a href=/>Back to the garden</a>",
    );
    for n in 0..24 {
        web.html(&format!("/bed/{n}"), &format!("<title>Bed {n}</title><p>What grows in bed {n}.</p><a href=/>garden</a><a href=/bed/{}>next</a>", (n * 7 + 3) % 24));
    }
    web.put(
        "/style.css",
        "Content-Type: text/css",
        format!("h1{{color:rgb(1,2,3)}} p{{background:url({evil})}}"),
    );
    web.put("/picture.gif", "Content-Type: image/gif", GIF);
}

#[test]
fn the_pages_are_right_in_a_browser() {
    let Some(python) = support::browser::python("the_pages_are_right_in_a_browser") else {
        return;
    };
    let home = Home::new();
    let data = home.data().display().to_string();
    let ended = home
        .start(&["demo", "--no-serve", "--data", &data])
        .wait(Duration::from_secs(180));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let (web, evil) = (LittleWeb::start(), LittleWeb::start());
    evil.put(
        "/reached",
        "Content-Type: text/javascript",
        "window.ran = 4",
    );
    for (version, text) in [
        (
            "one",
            "Tulips and beans grow here, between the wall and the well.",
        ),
        (
            "two",
            "Roses and beans grow here, between the wall and the old pump, since spring.",
        ),
    ] {
        put_pages(&web, &evil, version, text);
        // Copies are told apart by the second.
        std::thread::sleep(Duration::from_millis(1100));
        home.good(&[
            "crawl",
            &web.url("/"),
            "--collection",
            version,
            "--delay",
            "0s",
        ]);
    }
    for name in ["demo", "one", "two"] {
        filling::fill(home.data(), name);
    }
    let before = evil.answered();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let base = server.address();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser.py");
    let done = Command::new("timeout")
        .arg("300")
        .arg(&python)
        .arg(script)
        .args([base.as_str(), &web.url("/")])
        .arg(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    eprintln!("{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(evil.answered(), before, "no request left the archive");
}
