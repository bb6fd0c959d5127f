//! The ring as a library, over the network of this machine.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::{Home, Plain};
use teia::{BasicLogin, Crawler, Document};

#[test]
fn a_login_takes_nothing_from_a_loopback_seed_given_by_hand() {
    let site = Plain::start(|path| match path {
        "/" => (200, "<title>home</title><a href=/in>in</a>".to_owned()),
        "/in" => (200, "<title>inside</title>".to_owned()),
        _ => (404, String::new()),
    });
    let home = Home::new();
    let seed = site.url("/");
    let login = BasicLogin::default().with(&url::Url::parse(&seed).unwrap(), "ann", "secret");
    let titles: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&titles);
    let crawler = Crawler::builder("logged-in")
        .directory(home.data())
        .seed(&seed)
        .delay(Duration::ZERO)
        .authenticator(login)
        .analyzer(move |document: &Document| seen.lock().unwrap().push(document.title.clone()))
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let report = runtime.block_on(crawler.run()).unwrap();
    assert_eq!(report.fetched, 2, "{:?}", report.stats.codes);
    assert_eq!(*titles.lock().unwrap(), ["home", "inside"]);
    assert!(site.heads().iter().all(|head| {
        head.to_ascii_lowercase()
            .contains("authorization: basic yw5uonnly3jlda==")
    }));
}
