//! One person's day with the management pages, in a real browser, with a kill in the middle of it.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../web/tests/support/little_web.rs"]
mod little_web;
mod support;

use std::path::Path;
use std::process::Command;

use little_web::LittleWeb;
use support::{Home, until};

const BEDS: usize = 60;

#[test]
fn a_collection_is_made_run_paused_killed_resumed_read_and_removed_in_a_browser() {
    let Some(python) = support::browser::python("the story") else {
        return;
    };
    let web = LittleWeb::start();
    let links: String = (0..BEDS)
        .map(|bed| format!("<a href=/bed/{bed}>{bed}</a> "))
        .collect();
    web.html(
        "/",
        &format!("<html lang=en><title>Garden</title><p>A garden.</p>{links}"),
    );
    for bed in 0..BEDS {
        web.html(
            &format!("/bed/{bed}"),
            &format!("<html lang=en><title>Bed {bed}</title><p>What grows in bed {bed}.</p>"),
        );
    }
    let home = Home::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/story.py");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
    let mut token = None;
    for part in ["before", "after"] {
        let server = home.start(&["serve", "--listen", "127.0.0.1:0", "--allow-private"]);
        let base = server.address();
        // It is printed once, at the first start.
        let token = token.get_or_insert_with(|| {
            let all = || server.said() + &server.printed();
            until("the token is shown", || all().contains("teia_"));
            let said = all();
            let at = said.find("teia_").expect(&said);
            let end = said[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            said[at..][..end.unwrap_or(said.len() - at)].to_owned()
        });
        let site = web.url("/");
        let done = Command::new("timeout")
            .arg("400")
            .arg(&python)
            .arg(&script)
            .args([
                base.trim_end_matches('/'),
                token,
                site.trim_end_matches('/'),
            ])
            .arg((BEDS + 1).to_string())
            .arg(&folder)
            .arg(part)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{part}: {said}\n{}", server.said());
        server.kill();
    }
}
