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
             <a id=onward href=/other>Another page</a> <a href=/ways>ways</a> <a href=/ways/base>base</a> {}<form action='{evil}'><button>Send</button></form>\
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
        "/ways",
        &format!(
            "Content-Type: text/html\r\nRefresh: 0;url={evil}\r\nLink: <{evil}>; rel=preload; as=image, <{evil}>; rel=stylesheet"
        ),
        ways(&evil),
    );
    web.html(
        "/ways/base",
        &format!("<title>Base</title><base href='{evil}/' target=_top><p>Base of another.</p><a data-way=base href=y>y</a>"),
    );
    web.put(
        "/style.css",
        "Content-Type: text/css",
        format!("h1{{color:rgb(1,2,3)}} p{{background:url({evil})}}"),
    );
    web.put("/picture.gif", "Content-Type: image/gif", GIF);
}

/// Every way in which a page may lead to `evil` by a click, or load something of it. What can be clicked
/// has the name of its way.
fn ways(evil: &str) -> String {
    let drawn = "<rect width=60 height=20 />";
    let inner = format!("<a href={evil}>x</a>");
    [
        format!("<?xml-stylesheet href='{evil}'?><!doctype html><title>Ways out</title><p>Ways out of a copy.</p>"),
        format!("<style>@import '{evil}'; @import url({evil}); p {{ background: image-set('{evil}' 1x), url({evil}) }} \
                 @font-face {{ font-family: F; src: url({evil}) }} p {{ font-family: F }}</style>"),
        format!("<p style=\"background:url({evil}); list-style-image:u\\72l({evil})\">styled</p>"),
        format!("<noscript><img id=shown src=/picture.gif><a data-way=noscript href='{evil}' target=_top>x</a>\
                 <meta http-equiv=refresh content='0;url={evil}'><link rel=stylesheet href='{evil}'></noscript>"),
        format!("<noscript><p title=\"</noscript><p title='\"><a data-way=broken-noscript href={evil}>x</a>'></p>"),
        format!("<svg width=60 height=20><a data-way=set href=/other><set attributeName=href to='{evil}' />{drawn}</a></svg>"),
        format!("<svg width=60 height=20><a data-way=animate xlink:href=/other>\
                 <animate attributeName=xlink:href values='{evil};{evil}' dur=1s repeatCount=indefinite />{drawn}</a></svg>"),
        format!("<svg width=60 height=20><a data-way=svg-link href='{evil}'>{drawn}</a></svg>"),
        format!("<svg width=60 height=20><image href='{evil}' width=9 height=9 /><use href='{evil}#a' />\
                 <filter id=f><feImage href='{evil}' /></filter><g filter='url(#f)' mask='url({evil}#m)'>{drawn}</g></svg>"),
        format!("<svg width=60 height=20><style><img src=x><a data-way=svg-style href={evil}>x</a></style></svg>"),
        format!("<math><mtext data-way=formula href='{evil}'>formula</mtext></math>"),
        format!("<img usemap=#m src=/picture.gif width=40 height=20 data-way=area>\
                 <map name=m><area href='{evil}' coords='0,0,40,20' shape=rect target=_blank></map>"),
        format!("<a data-way=ping href=/other ping='{evil}' attributionsrc='{evil}'>x</a>"),
        format!("<a data-way=target href='{evil}' target=_blank rel=opener>x</a>"),
        format!("<a data-way=spelt href='ht&#10;tp:{}'>x</a>", evil.trim_start_matches("http:")),
        format!("<form action='{evil}' method=get target=_top><button data-way=form>x</button>\
                 <button data-way=formaction formaction='{evil}'>x</button></form>"),
        format!("<object data='{evil}'><param name=movie value='{evil}'></object><embed src='{evil}'>"),
        format!("<iframe srcdoc='{inner}<img src={evil}>'></iframe><iframe src='data:text/html,{inner}'></iframe>"),
        format!("<div><template shadowrootmode=open><a data-way=shadow href='{evil}'>x</a></template></div>"),
        format!("<video src='{evil}' poster='{evil}' autoplay></video><audio src='{evil}' autoplay></audio>"),
        format!("<img srcset='{evil} 1x, {evil} 2x'><picture><source srcset='{evil}'><img></picture>"),
        format!("<input type=image src='{evil}'><table background='{evil}'></table>"),
        format!("<select><option>a<xmp></select><a data-way=select href={evil}>x</a></xmp>"),
    ]
    .join("\n")
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
