//! The tables of the five systems say what the test web's truth says, to the last number; and what is
//! exported says the same.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::collections::BTreeMap;

use serde_json::Value;
use support::{Home, body, crawl};
use teia_testweb::{Listen, Rules, Server, Truth, Web, WebConfig};

/// What a web is, counted without any part of the program.
struct Counted<'a> {
    web: &'a Web,
    truth: Truth,
}

impl Counted<'_> {
    fn status(&self, url: &str) -> i64 {
        self.web.expected_status(url).unwrap().into()
    }

    /// URLs that are collected.
    fn good(&self) -> impl Iterator<Item = &String> {
        let urls = self.truth.depths.keys();
        urls.filter(|url| (200..300).contains(&self.status(url)))
    }

    fn by<K: Ord>(&self, key: impl Fn(&str) -> K) -> BTreeMap<K, i64> {
        let mut counts = BTreeMap::new();
        for url in self.good() {
            *counts.entry(key(url)).or_default() += 1;
        }
        counts
    }
}

fn host(url: &str) -> String {
    let rest = url.trim_start_matches("http://");
    let authority = rest.split('/').next().unwrap();
    authority.split(':').next().unwrap().to_owned()
}

/// A table as rows of texts, as CSV has it.
fn table(home: &Home, name: &str) -> Vec<Vec<String>> {
    let text = home.good(&["export", "csv", "--table", name]);
    let rows = text.lines().skip(1);
    rows.map(|line| {
        line.split(',')
            .map(|cell| cell.trim_matches('"').to_owned())
            .collect()
    })
    .collect()
}

/// The rows as a map from their first field to their second, without the total.
fn counts(home: &Home, name: &str) -> BTreeMap<String, i64> {
    let rows = table(home, name).into_iter();
    rows.filter(|row| row[0] != "total")
        .map(|row| (row[0].clone(), row[1].parse().unwrap()))
        .collect()
}

#[test]
fn every_table_is_what_the_web_is() {
    let config = WebConfig {
        hosts: 5,
        pages_per_host: 30,
        redirects: 2,
        missing: 3,
        flaky: 2,
        flaky_failures: 2,
        queries: true,
        honeypots: 2,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--no-requisites"]));
    let web = server.web();
    let of = Counted {
        web,
        truth: web.reachable(&[web.front(0)], &Rules::default()),
    };
    check_outcomes(&home, &of);
    let by_host = of.by(host);
    assert_eq!(counts(&home, "hosts"), by_host);
    check_concentration(&home, &by_host);
    let good = i64::try_from(of.good().count()).unwrap();
    // Every answered document is in the curve, and its end is their number.
    let answered = i64::try_from(of.truth.depths.len()).unwrap();
    let growth = table(&home, "growth");
    assert_eq!(growth.last().unwrap()[2], answered.to_string());
    // Retriever, Table 2: everything is HTML here.
    let bytes: usize = of.good().map(|url| body(web, url).len()).sum();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let mean = bytes as f64 / good as f64 / 1000.0;
    let kinds = table(&home, "kinds");
    assert_eq!(kinds[0], ["HTML", &good.to_string(), &format!("{mean:.2}")]);
    check_failures(&home, &server);
    let extension = |url: &str| {
        let path = url.trim_start_matches("http://").split('?').next().unwrap();
        let file = path
            .split_once('/')
            .map_or("", |(_, path)| path.rsplit('/').next().unwrap());
        match file.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => extension.to_owned(),
            _ => "(none)".to_owned(),
        }
    };
    assert_eq!(counts(&home, "extensions"), of.by(extension));
    // Fischer, Quadro 23.
    let mut types: BTreeMap<String, i64> = BTreeMap::from([("text/html".to_owned(), good)]);
    for url in of.truth.depths.keys().filter(|url| of.status(url) >= 400) {
        *types
            .entry(format!("error/{}", of.status(url)))
            .or_default() += 1;
    }
    assert_eq!(counts(&home, "types"), types);
    check_summary(&home, &of);
    let language = |url: &str| {
        let (host, place) = web.locate(url).unwrap();
        web.language(host, place).tag().to_owned()
    };
    assert_eq!(counts(&home, "languages"), of.by(language));
    let depth = |url: &str| i64::from(of.truth.depths[url]).to_string();
    assert_eq!(counts(&home, "depths"), of.by(depth));
    check_disk(&home);
    check_exports(&home, &of);
}

/// Tarântula, Table 1: every URL that was tried or refused by robots.txt, by its last outcome.
fn check_outcomes(home: &Home, of: &Counted<'_>) {
    let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
    for url in of.truth.depths.keys() {
        *wanted.entry(of.status(url).to_string()).or_default() += 1;
    }
    let disallowed = i64::try_from(of.truth.disallowed.len()).unwrap();
    wanted.insert("-7".to_owned(), disallowed);
    let rows = table(home, "outcomes");
    let (total, rows) = rows.split_last().unwrap();
    let got: BTreeMap<String, i64> = rows
        .iter()
        .map(|row| (row[0].clone(), row[2].parse().unwrap()))
        .collect();
    assert_eq!(got, wanted);
    let all: i64 = wanted.values().sum();
    assert_eq!(total[2..], [all.to_string(), "100.00".to_owned()]);
    assert!(rows.is_sorted_by_key(|row| -row[2].parse::<i64>().unwrap()));
}

/// "80 % of the documents on x % of the hosts."
fn check_concentration(home: &Home, by_host: &BTreeMap<String, i64>) {
    let mut counts: Vec<i64> = by_host.values().copied().collect();
    counts.sort_unstable_by_key(|count| -count);
    let all: i64 = counts.iter().sum();
    let (mut sum, mut hosts) = (0, 0);
    while sum * 100 < all * 80 {
        sum += counts[hosts];
        hosts += 1;
    }
    let rows = table(home, "concentration");
    let row = rows.iter().find(|row| row[0] == "80").unwrap();
    assert_eq!(row[1], hosts.to_string());
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = 100.0 * hosts as f64 / by_host.len() as f64;
    assert_eq!(row[2], format!("{share:.2}"));
}

/// Retriever, Table 3, from the server's own log: what it answered with 4xx and 5xx.
fn check_failures(home: &Home, server: &Server) {
    let log = server.log();
    let requests: Vec<_> = log
        .entries
        .iter()
        .filter(|entry| !entry.is_robots())
        .collect();
    let failed = requests.iter().filter(|entry| entry.status >= 400).count();
    assert!(failed > 10, "{failed}");
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = 100.0 * failed as f64 / requests.len() as f64;
    let rows = table(home, "failures");
    let wanted = [
        failed.to_string(),
        "100.00".to_owned(),
        format!("{share:.2}"),
    ];
    // The name has commas of its own: the fields are counted from the end.
    assert_eq!(rows[0][rows[0].len() - 3..], wanted);
    assert_eq!(rows[1][1..], wanted);
    assert_eq!(rows.len(), 2);
}

/// VEUNI, Table 4.2.
fn check_summary(home: &Home, of: &Counted<'_>) {
    let got: BTreeMap<String, String> = table(home, "summary")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let dynamic = of.good().filter(|url| url.contains('?')).count();
    let good = of.good().count();
    assert!(dynamic > 10);
    let known = home.reading().repository().unwrap().len();
    for (what, wanted) in [
        ("URLs collected", good as u64),
        ("dynamic URLs", dynamic as u64),
        ("static URLs", (good - dynamic) as u64),
        ("URLs to collect", 0),
        ("URLs known", known),
    ] {
        assert_eq!(got[what], wanted.to_string(), "{what}");
    }
    let least = (of.truth.depths.len() + of.truth.disallowed.len()) as u64;
    assert!(known >= least, "{known} of {least}");
    assert!(got["from"] <= got["to"], "{got:?}");
}

/// Fischer, Quadro 24: the sizes of what lies there.
fn check_disk(home: &Home) {
    let size = |folder: &str| -> i64 {
        let entries = std::fs::read_dir(home.data().join(folder)).unwrap();
        let lengths = entries.map(|entry| entry.unwrap().metadata().unwrap().len());
        i64::try_from(lengths.sum::<u64>()).unwrap()
    };
    let got = counts(home, "disk");
    assert_eq!(got["archive"], size("default/archive"));
    assert_eq!(got["journal"], size("default/part-0/journal"));
    assert_eq!(got["search index"], size("default/index"));
    assert!(got["catalog (all collections)"] > 10_000);
}

fn check_exports(home: &Home, of: &Counted<'_>) {
    // With the catalog, and from the journal alone, in both forms.
    let csv = home.good(&["export", "csv"]);
    let json = home.good(&["export", "json"]);
    std::fs::remove_file(home.data().join("teia.db")).unwrap();
    assert_eq!(home.good(&["export", "csv"]), csv);
    assert_eq!(home.good(&["export", "json"]), json);
    assert!(
        !home.data().join("teia.db").exists(),
        "a question writes nothing"
    );
    let rows: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let got: BTreeMap<&str, i64> = rows
        .iter()
        .map(|row| {
            (
                row["url"].as_str().unwrap(),
                row["outcome"].as_i64().unwrap(),
            )
        })
        .collect();
    let mut wanted: BTreeMap<&str, i64> = BTreeMap::new();
    for url in of.truth.depths.keys() {
        wanted.insert(url, of.status(url));
    }
    wanted.extend(of.truth.disallowed.iter().map(|url| (url.as_str(), -7)));
    assert_eq!(got, wanted);
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let front = rows
        .iter()
        .find(|row| row["url"] == of.web.front(0).as_str())
        .unwrap();
    assert_eq!(front["depth"], 0);
    assert_eq!(front["media_type"], "text/html");
    assert_eq!(front["payload_sha1"].as_str().unwrap().len(), 40);
    assert!(front["fetched_at"].as_str().unwrap().ends_with('Z'));
    // All of them at once, as JSON and for people; a wrong name says the right one.
    let all = home.json(&["stats", "--json", "--tables"]);
    assert_eq!(all["tables"].as_array().unwrap().len(), 12);
    assert_eq!(all["tables"][0]["like"], "Tarântula, Table 1");
    let text = home.good(&["stats", "--tables"]);
    assert!(text.contains("VEUNI, Table 4.2"), "{text}");
    let one = home.good(&["stats", "--table", "hosts"]);
    assert!(
        one.contains("www0") || one.contains(&host(&of.web.front(0))),
        "{one}"
    );
    let wrong = home.run(&["stats", "--table", "outcome"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("`outcomes`"), "{}", wrong.err);
}
