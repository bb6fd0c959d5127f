//! Media types against the cases of the MIME sniffing standard.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use serde_json::Value;
use teia_base::MediaType;

/// Type, subtype and charset out of the standard's own spelling of a parsed type.
fn read_expected(output: &str) -> (String, Option<String>) {
    let (essence, parameters) = output.split_once(';').unwrap_or((output, ""));
    let parameters = format!(";{parameters}");
    let charset =
        parameters
            .split_once(";charset=")
            .map(|(_, value)| match value.strip_prefix('"') {
                Some(quoted) => {
                    let mut text = String::new();
                    let mut characters = quoted.chars();
                    while let Some(c) = characters.next().filter(|&c| c != '"') {
                        text.extend(if c == '\\' {
                            characters.next()
                        } else {
                            Some(c)
                        });
                    }
                    text
                }
                None => value.split(';').next().unwrap_or(value).to_owned(),
            });
    (essence.to_owned(), charset)
}

fn check(file: &str) {
    let Some(text) = support::shared(file) else {
        return;
    };
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    let mut failures = Vec::new();
    for case in cases.iter().filter(|case| case.is_object()) {
        let input = case["input"].as_str().unwrap();
        let expected = case["output"].as_str().map(read_expected);
        // We have two bounds more: a type has at most 255 characters (RFC 6838 has 255), a charset 64.
        // An empty charset names none.
        let expected =
            expected
                .filter(|(essence, _)| essence.len() <= 255)
                .map(|(essence, charset)| {
                    (
                        essence,
                        charset
                            .map(|it| it.to_ascii_lowercase())
                            .filter(|it| !it.is_empty() && it.len() <= 64),
                    )
                });
        let found = MediaType::parse(input)
            .map(|it| (it.essence().to_owned(), it.charset().map(str::to_owned)));
        if found != expected {
            failures.push(format!("{input:?}: {found:?}, not {expected:?}"));
        }
        checked += 1;
    }
    assert!(
        failures.is_empty(),
        "{} of {checked}:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(checked > 20, "only {checked} cases were found");
    eprintln!("{checked} cases of {file} hold");
}

#[test]
fn the_written_cases_hold() {
    check("mime/mime-types.json");
}

#[test]
fn the_generated_cases_hold() {
    check("mime/generated-mime-types.json");
}
