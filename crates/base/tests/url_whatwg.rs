//! URLs and host names against the cases of the URL standard (web-platform-tests).
//!
//! The crate `url` reads our URLs; the lists below name the cases in which it differs from the
//! standard. A case that is listed and holds fails the test, so that the lists stay true.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::collections::BTreeSet;

use serde_json::Value;
use teia_base::{CanonicalUrl, Host, NormalForm};
use url::Url;

/// Cases of `urltestdata.json` in which the crate differs, by reason: input, base.
const DIFFERENCES: [(&str, &[(&str, &str)]); 7] = [
    (
        "drive letters in `file:` drop the host, or are not seen",
        &[
            ("file:///w|/m", ""),
            ("/", "file://h/C:/a/b"),
            ("C|", "file://host/dir/file"),
            ("C|", "file://host/D:/dir1/dir2/file"),
            ("C|#", "file://host/dir/file"),
            ("C|?", "file://host/dir/file"),
            ("C|/", "file://host/dir/file"),
            ("C|\n/", "file://host/dir/file"),
            ("C|\\", "file://host/dir/file"),
            ("/c:/foo/bar", "file://host/path"),
            ("..", "file://x/C:/"),
            ("file://example.net/C:/", ""),
            ("file://1.2.3.4/C:/", ""),
            ("file://[1::8]/C:/", ""),
            ("C|/", "file://host/"),
            ("/C:/", "file://host/"),
            ("file:C:/", "file://host/"),
            ("file:/C:/", "file://host/"),
        ],
    ),
    (
        "trailing spaces of an opaque path are encoded by the newest standard, kept by the crate",
        &[
            ("non-special:opaque  ?hi", ""),
            ("non-special:opaque  #hi", ""),
            ("non-special:opaque \t\t  \t#hi", ""),
            ("non-special:opaque \t\t  #hi", ""),
            ("non-special:opaque\t\t  \r #hi", ""),
        ],
    ),
    (
        "punycode that stands for nothing is refused, as we want it (URL-11)",
        &[
            ("http://a.b.c.xn--pokxncvks", ""),
            ("http://10.0.0.xn--pokxncvks", ""),
            ("http://a.b.c.XN--pokxncvks", ""),
            ("http://a.b.c.Xn--pokxncvks", ""),
            ("http://10.0.0.XN--pokxncvks", ""),
            ("http://10.0.0.xN--pokxncvks", ""),
            ("file://xn--/p", ""),
            ("https://xn--/", ""),
        ],
    ),
    (
        "empty segments at the beginning of a `file:` path are dropped",
        &[
            ("file:\\\\//", ""),
            ("file:\\\\\\\\", ""),
            ("file:\\\\\\\\?fox", ""),
            ("file:\\\\\\\\#guppy", ""),
            ("file://spider///", ""),
            ("file:\\\\localhost//", ""),
            ("file://\\/localhost//cat", ""),
            ("file://localhost//a//../..//", ""),
            ("/////mouse", "file:///elephant"),
            ("\\/localhost//pig", "file://lion/"),
            ("//localhost//pig", "file://lion/"),
            ("/..//localhost//pig", "file://lion/"),
            ("file://localhost//a//../..//foo", ""),
            ("file://localhost////foo", ""),
            ("file:////foo", ""),
            ("file:////one/two", "file:///"),
            ("////one/two", "file:///"),
            ("file:///.//", "file:////"),
            ("file:.//p", ""),
            ("file:/.//p", ""),
            ("/\\//\\/a/../", "file:///"),
        ],
    ),
    (
        "backslashes and drive letters are taken for special in other schemes too",
        &[
            ("..", "abc://x/y/z/C:/"),
            ("\\a", "foo://foo/a"),
            ("\\/a", "foo://foo/a"),
            ("\\\\a", "foo://foo/a"),
        ],
    ),
    (
        "the crate leaves `^` alone; the normal form encodes it",
        &[
            ("foo://host/ !\"$%&'()*+,-./:;<=>@[\\]^_`{|}~", ""),
            ("wss://host/ !\"$%&'()*+,-./:;<=>@[\\]^_`{|}~", ""),
        ],
    ),
    (
        "more than two slashes before a host are refused by the crate; `NormalForm::resolve` mends it",
        &[
            ("///test", "http://example.org/"),
            ("///\\//\\//test", "http://example.org/"),
            ("///example.org/path", "http://example.org/"),
            ("///example.org/../path", "http://example.org/"),
            ("///example.org/../../", "http://example.org/"),
            ("///example.org/../path/../../", "http://example.org/"),
            ("///example.org/../path/../../path", "http://example.org/"),
        ],
    ),
];

/// Stands for half a surrogate pair, which no Rust string can hold; such cases are left out.
const LONE_SURROGATE: char = '\u{fffe}';

fn objects(file: &str) -> Option<Vec<Value>> {
    let cases: Vec<Value> =
        serde_json::from_str(&mark_lone_surrogates(&support::shared(file)?)).unwrap();
    Some(cases.into_iter().filter(Value::is_object).collect())
}

/// Replaces every escape of half a surrogate pair.
fn mark_lone_surrogates(json: &str) -> String {
    let unit = |text: &str| {
        text.strip_prefix("\\u")
            .and_then(|it| u16::from_str_radix(it.get(..4)?, 16).ok())
    };
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find("\\u") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => 0,
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        out.push_str(if length == 0 {
            "\\ufffe"
        } else {
            &rest[..length]
        });
        rest = &rest[length.max(2)..];
        if length == 0 {
            rest = &rest[4..];
        }
    }
    out + rest
}

#[test]
fn urls_are_read_as_the_standard_says() {
    let Some(cases) = objects("url-whatwg/urltestdata.json") else {
        return;
    };
    let mut listed: BTreeSet<_> = DIFFERENCES
        .iter()
        .flat_map(|(_, cases)| *cases)
        .copied()
        .collect();
    let mut wrong = Vec::new();
    let mut held = 0;
    for case in &cases {
        let (input, base) = (
            case["input"].as_str().unwrap(),
            case["base"].as_str().unwrap_or(""),
        );
        let expected = case["href"].as_str();
        let found = match base {
            "" => Url::parse(input).ok(),
            base => Url::parse(base).ok().and_then(|base| base.join(input).ok()),
        };
        let holds = found.as_ref().map(Url::as_str) == expected;
        match (holds, listed.remove(&(input, base))) {
            (true, false) => held += 1,
            (false, true) => {}
            (true, true) => wrong.push(format!("listed, and holds: {input:?} on {base:?}")),
            (false, false) => wrong.push(format!(
                "({input:?}, {base:?}), // {:?}, not {expected:?}",
                found.map(String::from)
            )),
        }
    }
    wrong.extend(
        listed
            .iter()
            .map(|case| format!("listed, and not a case: {case:?}")),
    );
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{held} of {} cases hold", cases.len());
}

#[test]
fn every_url_of_the_standard_has_one_normal_form() {
    let Some(cases) = objects("url-whatwg/urltestdata.json") else {
        return;
    };
    let mut checked = 0;
    for href in cases.iter().filter_map(|case| case["href"].as_str()) {
        let Ok(url) = Url::parse(href) else { continue };
        // A scheme with hosts may have none in the data (`http://./`); that is no URL to collect.
        let Ok(found) = NormalForm::default().normalise(&url) else {
            continue;
        };
        let normal = found.normal().as_str();
        assert!(!normal.contains('#'), "{normal}");
        let read = Url::parse(normal).unwrap_or_else(|error| panic!("{normal} of {href}: {error}"));
        assert_eq!(read.as_str(), normal, "{href}");
        assert_eq!(
            CanonicalUrl::parse(normal)
                .as_ref()
                .map(CanonicalUrl::as_str),
            Ok(normal),
            "{href}"
        );
        assert_eq!(
            CanonicalUrl::parse(found.request()).as_ref(),
            Ok(found.normal()),
            "{href}"
        );
        checked += 1;
    }
    assert!(checked > 500, "only {checked} cases were found");
    eprintln!("{checked} URLs have one normal form");
}

/// The one way in which the crate differs on hosts: the newest standard lets punycode that stands
/// for nothing pass in an ASCII name, the crate refuses it, and so do we want it (URL-11).
///
/// `meant` are the names that some Unicode name of the suite is written as: those must pass.
fn is_refused_punycode(
    input: &str,
    found: Option<&str>,
    expected: Option<&str>,
    meant: &BTreeSet<&str>,
) -> bool {
    let is_punycode = input.is_ascii() && input.to_ascii_lowercase().contains("xn--");
    is_punycode && found.is_none() && expected.is_some_and(|name| !meant.contains(name))
}

/// Not assigned in Unicode; the crate's tables let it pass, and nobody can register it.
const NEWLY_REFUSED: char = '\u{3e8ac}';

fn check_hosts(file: &str) {
    let Some(cases) = objects(file) else { return };
    let mut wrong = Vec::new();
    let (mut held, mut refused) = (0, 0);
    let meant: BTreeSet<_> = cases
        .iter()
        .filter(|case| {
            case["input"]
                .as_str()
                .is_some_and(|input| !input.is_ascii())
        })
        .filter_map(|case| case["output"].as_str())
        .collect();
    for case in &cases {
        let (input, expected) = (case["input"].as_str().unwrap(), case["output"].as_str());
        if input.is_empty() || input.contains([LONE_SURROGATE, NEWLY_REFUSED]) {
            continue;
        }
        let url = Url::parse(&format!("https://{input}/x")).ok();
        let found = url.as_ref().and_then(Url::host_str);
        if found == expected {
            held += 1;
        } else if is_refused_punycode(input, found, expected, &meant) {
            refused += 1;
        } else {
            wrong.push(format!("{input:?}: {found:?}, not {expected:?}"));
        }
        // Our host of the URL, read as a person may write it, is the same one.
        let Some(normal) = url.and_then(|url| NormalForm::default().normalise(&url).ok()) else {
            continue;
        };
        let host = normal.normal().host();
        assert_eq!(
            Host::parse(host.as_str()).as_ref(),
            Some(&host),
            "{input:?}"
        );
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!(
        "{held} of {} hosts of {file} hold, {refused} are refused for their punycode",
        cases.len()
    );
}

#[test]
fn hosts_are_written_in_ascii_as_the_standard_says() {
    check_hosts("url-whatwg/toascii.json");
}

#[test]
fn hosts_of_the_unicode_suite_are_written_in_ascii() {
    check_hosts("url-whatwg/IdnaTestV2.json");
}
