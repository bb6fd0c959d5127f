//! The normal form is its own normal form, whatever comes in and whichever rules are on.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;
use teia_base::{CanonicalUrl, NormalForm};

/// One of the 128 combinations of unsafe rules.
fn form(bits: u8) -> NormalForm {
    let on = |bit: u8| bits & (1 << bit) != 0;
    NormalForm {
        index_files: on(0),
        www: on(1),
        trailing_slash: on(2),
        session_ids: on(3),
        tracking: on(4),
        parameter_order: on(5),
        lower_case_path: on(6),
    }
}

fn check(text: &str) -> Result<(), TestCaseError> {
    for bits in 0..128 {
        let form = form(bits);
        let Ok(found) = form.parse(text) else {
            continue;
        };
        let normal = found.normal().as_str();
        let again = form.parse(normal);
        prop_assert!(
            again.is_ok(),
            "{:?} of {:?} cannot be read: {:?} ({:?})",
            normal,
            text,
            again,
            form
        );
        let again = again.unwrap();
        prop_assert_eq!(
            again.normal().as_str(),
            normal,
            "from {:?} ({:?})",
            text,
            form
        );
        prop_assert_eq!(again.spelling(), None);
        prop_assert!(!normal.contains('#'));
        let requested = form.parse(found.request());
        prop_assert_eq!(
            requested.as_ref().map(|found| found.normal()),
            Ok(found.normal()),
            "request {:?}",
            found.request()
        );
        check_parts(found.normal())?;
    }
    Ok(())
}

/// The parts that are read off the text are those that the parser sees.
fn check_parts(normal: &CanonicalUrl) -> Result<(), TestCaseError> {
    let url = url::Url::parse(normal.as_str()).unwrap();
    prop_assert_eq!(normal.scheme(), url.scheme());
    if matches!(url.scheme(), "http" | "https" | "ftp") {
        prop_assert_eq!(normal.host_str(), url.host_str().unwrap());
        prop_assert_eq!(normal.path(), url.path());
        prop_assert!(!normal.host_str().is_empty());
        let port = url
            .port()
            .map(|port| format!(":{port}"))
            .unwrap_or_default();
        prop_assert_eq!(normal.authority(), format!("{}{port}", normal.host_str()));
        prop_assert!(normal.as_str().ends_with(normal.path_and_query()));
        prop_assert!(normal.host_str().ends_with(normal.site()));
    }
    Ok(())
}

/// Strings made of what URLs are made of.
fn url_like() -> impl Strategy<Value = String> {
    let scheme = prop::sample::select(vec![
        "http://", "HTTPS://", "ftp://", "file://", "file:", "smb://", "x:", "x://", "//", "http:",
        "data:",
    ]);
    let host = prop::sample::select(vec![
        "a.example",
        "www.a.example",
        "www.www.a.b",
        "WWW.A.b.",
        "www.pt",
        "a..",
        ".",
        "",
        "localhost.",
        "1.2.3.4.",
        "0x7f.1",
        "[::1]",
        "[::1]:80",
        "a.b:80",
        "a.b:443",
        "u:p@a.b",
        "u@.",
        "@a.b",
        "café.example",
        "xn--caf-dma.example",
        "a%2eb",
        "localhost",
    ]);
    let piece = prop::sample::select(vec![
        "/",
        "//",
        ".",
        "..",
        "%2e",
        "%2E%2e",
        "..;sid=1",
        ".;jsessionid=2",
        ";sid=",
        ";v=1",
        "a",
        "B",
        "index.html",
        "Default.ASP",
        "index%2ehtml",
        "?",
        "&",
        "=",
        "sid=3",
        "utm_source=x",
        "PHPSESSID=y",
        "b=2",
        "a=1",
        "%",
        "%2",
        "%%32%65",
        "%7e",
        "%c3%a9",
        "%C3",
        "^",
        "é",
        " ",
        "\t",
        "\n",
        "\\",
        "#",
        "#x",
        "|",
        "C|",
        "C:",
        "%43:",
        "%43|",
        "{",
        "\"",
        "<",
        "'",
        "+",
        "~",
        ":",
        "@",
        "[",
        "]",
    ]);
    (scheme, host, prop::collection::vec(piece, 0..12))
        .prop_map(|(scheme, host, pieces)| format!("{scheme}{host}/{}", pieces.concat()))
}

/// What a server may not tell apart, written with other eyes than those of the program: each escape of an
/// unreserved character is that character, hex digits have no case, and `^` is its escape. What remains
/// are the characters and bytes that are asked for, one by one: a `%` that begins no escape is one of them.
fn asked_for(path: &str) -> Vec<(bool, u8)> {
    let bytes = path.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = path[at..].strip_prefix('%').and_then(|rest| rest.get(..2));
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits {
            Some(digits) => {
                let byte = u8::from_str_radix(digits, 16).unwrap();
                let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                found.push((!is_plain, byte));
                at += 3;
            }
            None => {
                found.push((bytes[at] == b'^', bytes[at]));
                at += 1;
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_strings_settle(text in "\\PC{0,30}") {
        check(&text)?;
    }

    #[test]
    fn anything_after_a_scheme_settles(scheme in "(https?|ftp|file|smb|data|x):/{0,3}", rest in "\\PC{0,30}") {
        check(&format!("{scheme}{rest}"))?;
    }

    #[test]
    fn url_like_strings_settle(text in url_like()) {
        check(&text)?;
    }

    #[test]
    fn percent_heavy_strings_settle(rest in "[%0-9a-fA-F./?&=;]{0,40}") {
        check(&format!("http://a.example/{rest}"))?;
    }

    /// Two URLs have one name only where they ask for the same, however their escapes are broken.
    #[test]
    fn no_two_resources_get_one_name(one in "[%0-9a-fA-F^z~]{0,8}", spelled in prop::collection::vec(0..4_u8, 8), two in "[%0-9a-fA-F^z~]{0,8}") {
        // Segments of dots are resolved, which is another story.
        prop_assume!(![&one, &two].iter().any(|path| path.to_lowercase().contains("%2e")));
        let normal = |path: &str| CanonicalUrl::parse(&format!("http://a.example/{path}")).unwrap();
        let respelled: String = one
            .chars()
            .zip(&spelled)
            .map(|(c, how)| match how {
                0 => format!("%{:02x}", u32::from(c)),
                1 => "%25".to_owned(),
                _ => c.to_string(),
            })
            .collect();
        for other in [&two, &respelled] {
            if normal(&one) == normal(other) {
                prop_assert_eq!(asked_for(&one), asked_for(other), "{:?} and {:?}", one, other);
            }
        }
        // And the name asks for what the URL asks for.
        let name = normal(&one);
        let named = name.path_and_query().strip_prefix('/').unwrap();
        prop_assert_eq!(asked_for(named), asked_for(&one), "{:?} is {:?}", one, named);
    }

    #[test]
    fn references_settle(base in url_like(), reference in "[a-zA-Z%0-9./?#&=;:@]{0,20}") {
        if let Ok(base) = url::Url::parse(&base)
            && let Ok(found) = NormalForm::default().resolve(&base, &reference)
        {
            check(found.request())?;
        }
    }
}
