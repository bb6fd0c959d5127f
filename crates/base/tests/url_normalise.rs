//! The normal form beside those of other crawlers: crawler-commons, IIPC urlcanon, Nutch.
//!
//! Their rules differ, among each other too. Every case in which ours differs is listed, with the
//! reason, in `url_normalise_exceptions.txt`; a case that differs and is not listed, or is listed
//! and agrees, fails the test. `TEIA_BLESS=1` writes the file anew, keeping the known reasons.
//!
//! Each line is a JSON array: suite, input, theirs, ours, reason.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use teia_base::{NormalForm, Seed};
use url::Url;

/// Cases that were run, and those in which we differ.
#[derive(Default)]
struct Comparison {
    counts: BTreeMap<&'static str, (usize, usize)>,
    differing: BTreeMap<(&'static str, String), (String, String)>,
    missing: usize,
}

impl Comparison {
    fn add(&mut self, suite: &'static str, input: &str, theirs: &str, ours: String) {
        let (agreed, all) = self.counts.entry(suite).or_default();
        *all += 1;
        if theirs == ours {
            *agreed += 1;
        } else {
            self.differing
                .insert((suite, input.to_owned()), (theirs.to_owned(), ours));
        }
    }

    fn read(&mut self, path: &str) -> String {
        let text = support::shared(&format!("url-normalise/{path}"));
        self.missing += usize::from(text.is_none());
        text.unwrap_or_default()
    }

    fn read_json(&mut self, path: &str) -> Value {
        let text = self.read(path);
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }
}

/// The normal form of what a person or a page has written; `invalid` where there is none.
fn normal(form: &NormalForm, text: &str) -> String {
    let found = form.parse(text).or_else(|error| match Seed::parse(text) {
        Ok(Some(seed)) => seed.http().map_or(Err(error), |url| form.normalise(&url)),
        _ => Err(error),
    });
    found.map_or_else(|_| "invalid".to_owned(), |found| found.normal().to_string())
}

#[test]
fn other_crawlers_agree_but_for_the_listed_cases() {
    let mut comparison = Comparison::default();
    crawler_commons(&mut comparison);
    iipc(&mut comparison);
    iipc_parts(&mut comparison);
    nutch(&mut comparison);
    if comparison.missing > 0 {
        eprintln!("SKIPPED {}: shared data missing", comparison.missing);
        return;
    }
    for (suite, (agreed, all)) in &comparison.counts {
        eprintln!("{suite}: {agreed} of {all} agree");
    }
    check_list(&comparison);
}

fn crawler_commons(comparison: &mut Comparison) {
    let sorted = NormalForm {
        parameter_order: true,
        ..NormalForm::default()
    };
    for row in read_csv(&comparison.read("crawler-commons/weirdToNormalizedUrls.csv")) {
        comparison.add(
            "crawler-commons weird",
            &row[0],
            &row[1],
            normal(&sorted, &row[0]),
        );
    }
    for row in read_csv(&comparison.read("crawler-commons/invalidUrls.csv")) {
        comparison.add(
            "crawler-commons invalid",
            &row[0],
            "invalid",
            normal(&sorted, &row[0]),
        );
    }
    for row in read_csv(&comparison.read("crawler-commons/url-resolve.csv")) {
        let form = NormalForm::default();
        let found = match row[1].as_str() {
            "" => form.parse(&row[0]),
            base => form.resolve(&Url::parse(base).unwrap(), &row[0]),
        };
        let ours = found.map_or_else(|_| "invalid".to_owned(), |found| found.request().to_owned());
        comparison.add(
            "crawler-commons resolve",
            &format!("{} on {}", row[0], row[1]),
            &row[2],
            ours,
        );
    }
}

fn iipc(comparison: &mut Comparison) {
    let safe = NormalForm::default();
    let aggressive = NormalForm {
        www: true,
        session_ids: true,
        parameter_order: true,
        ..NormalForm::default()
    };
    let archive = NormalForm {
        trailing_slash: true,
        lower_case_path: true,
        ..aggressive.clone()
    };
    for (suite, file, part, form) in [
        ("iipc semantic", "semantic_precise", "", &safe),
        ("iipc whatwg", "supplemental_whatwg", "", &safe),
        ("iipc aggressive", "aggressive", "", &aggressive),
        (
            "iipc surt default",
            "surt",
            "Canonicalizer.DefaultIA",
            &archive,
        ),
        ("iipc surt archive", "surt", "Canonicalizer.IA", &archive),
        ("iipc surt google", "surt", "google", &safe),
    ] {
        let json = comparison.read_json(&format!("iipc-urlcanon/{file}.json"));
        let cases = if part.is_empty() { &json } else { &json[part] };
        for (input, theirs) in cases.as_object().into_iter().flatten() {
            comparison.add(suite, input, theirs.as_str().unwrap(), normal(form, input));
        }
    }
}

/// Cases for one part of a URL.
fn iipc_parts(comparison: &mut Comparison) {
    let of = |json: &Value| json.as_object().cloned().unwrap_or_default();
    let host = |form: &NormalForm, input: &str| {
        form.parse(&format!("http://{input}/"))
            .map_or(String::new(), |found| found.normal().host_str().to_owned())
    };
    for (input, theirs) in of(&comparison.read_json("iipc-urlcanon/funky_ipv4.json")) {
        // Theirs is `null` where it is no address.
        let ours = host(&NormalForm::default(), &input);
        let ours = if ours.parse::<std::net::Ipv4Addr>().is_ok() {
            ours
        } else {
            String::new()
        };
        comparison.add("iipc ipv4", &input, theirs.as_str().unwrap_or(""), ours);
    }
    let dots = comparison.read_json("iipc-urlcanon/path_dots.json");
    for (suite, part, origin) in [
        ("iipc dots special", "special", "http://a.example"),
        ("iipc dots other", "nonspecial", "other://a.example"),
    ] {
        for (input, theirs) in of(&dots[part]) {
            let ours = normal(&NormalForm::default(), &format!("{origin}{input}"));
            comparison.add(
                suite,
                &input,
                theirs.as_str().unwrap(),
                ours.replacen(origin, "", 1),
            );
        }
    }
    let surt = comparison.read_json("iipc-urlcanon/surt.json");
    let form = NormalForm {
        www: true,
        session_ids: true,
        parameter_order: true,
        ..NormalForm::default()
    };
    for (input, theirs) in of(&surt["massageHost"]) {
        comparison.add(
            "iipc www",
            &input,
            theirs.as_str().unwrap(),
            host(&form, &input),
        );
    }
    for (input, theirs) in of(&surt["stripPathSessionId"]) {
        let ours = normal(&form, &format!("http://a.example{input}"));
        comparison.add(
            "iipc path session",
            &input,
            theirs.as_str().unwrap(),
            ours.replacen("http://a.example", "", 1),
        );
    }
    for (input, theirs) in of(&surt["alphaRorderQuery"]) {
        let ours = normal(&form, &format!("http://a.example/?{input}"));
        let ours = ours
            .split_once('?')
            .map_or("", |(_, query)| query)
            .to_owned();
        comparison.add("iipc query order", &input, theirs.as_str().unwrap(), ours);
    }
    let idempotence = comparison.read_json("iipc-urlcanon/idempotence.json");
    for input in idempotence
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let once = normal(&NormalForm::default(), input);
        let again = if once == "invalid" {
            once.clone()
        } else {
            normal(&NormalForm::default(), &once)
        };
        comparison.add("iipc idempotence", input, &once, again);
    }
}

fn nutch(comparison: &mut Comparison) {
    let form = NormalForm {
        index_files: true,
        session_ids: true,
        ..NormalForm::default()
    };
    for line in comparison
        .read("nutch/regex-normalize-default.test")
        .lines()
    {
        if let Some((input, theirs)) = line.split_once(' ').filter(|_| !line.starts_with('#')) {
            comparison.add("nutch", input, theirs.trim(), normal(&form, input));
        }
    }
}

fn check_list(comparison: &Comparison) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/url_normalise_exceptions.txt");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('[')) {
        let [suite, input, theirs, ours, reason]: [String; 5] = serde_json::from_str(line).unwrap();
        listed.insert((suite, input), (theirs, ours, reason));
    }
    let mut lines = String::new();
    let mut wrong = Vec::new();
    for ((suite, input), (theirs, ours)) in &comparison.differing {
        let known = listed.remove(&((*suite).to_owned(), input.clone()));
        let reason = known.as_ref().map_or("", |(_, _, reason)| reason.as_str());
        if reason.is_empty() || known.as_ref().is_some_and(|(_, listed, _)| listed != ours) {
            wrong.push(format!(
                "{suite}: {input:?} is {ours:?} with us, {theirs:?} with them"
            ));
        }
        lines += &serde_json::to_string(&[suite, input.as_str(), theirs, ours, reason]).unwrap();
        lines.push('\n');
    }
    wrong.extend(
        listed
            .keys()
            .map(|case| format!("listed, and agrees or is no case: {case:?}")),
    );
    if std::env::var_os("TEIA_BLESS").is_some() {
        let head = "# Cases in which our normal form differs from another crawler's: suite, input, theirs, ours, reason.\n";
        std::fs::write(&file, format!("{head}{lines}")).unwrap();
    }
    assert!(
        wrong.is_empty(),
        "{} (see {}):\n{}",
        wrong.len(),
        file.display(),
        wrong.join("\n")
    );
}

/// Rows of a comma-separated file with `#` comments, quotes, and spaces around the fields.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(read_row).collect()
}

fn read_row(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut end = 0;
            while let Some(at) = quoted[end..].find('"') {
                end += at;
                if !quoted[end + 1..].starts_with('"') {
                    break;
                }
                end += 2;
            }
            fields.push(quoted[..end].replace("\"\"", "\""));
            rest = &quoted[end + 1..];
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            fields.push(rest[..end].trim_end().to_owned());
            rest = &rest[end..];
        }
        match rest.trim_start().strip_prefix(',') {
            Some(after) => rest = after,
            None => return fields,
        }
    }
}
