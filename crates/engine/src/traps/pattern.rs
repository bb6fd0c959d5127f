//! Patterns: what URLs of one kind have in common.
//!
//! ```text
//! /2031/04/view-17.html        /{n}/{n}/view-{n}.html     /{any}/{n}/view-{n}.html     /{n}/**
//! /(S(kd2vxq))/shop            /(S({id}))/shop            /{any}/shop                  /(S({id}))/**
//! /p7;sid=9f3a77c2d1           /p{n};sid={id}
//! /shop?size=xl&page=3         /shop?page={n}&size=xl     /shop?*     /**?page&size
//! ```
//!
//! From the narrowest to the widest; where URLs have two of them in common, so are their pages watched.

use teia_base::CanonicalUrl;

/// A shorter text is no id: it may be a name with a number.
const ID_LETTERS: usize = 8;
/// A longer word is no word.
const WORD_LETTERS: usize = 32;
/// Parameters that make up a pattern; later ones are passed over. (More look like a trap by themselves.)
const MOST_PARAMETERS: usize = 32;

/// Whatever the first directory is called.
pub(super) const WILD: &str = "/{any}";

/// The patterns of a URL, narrowest first: at least one, at most three. URLs of a kind have as many.
pub fn patterns(url: &CanonicalUrl) -> Vec<String> {
    let whole = url.path_and_query();
    let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
    let mut shape = String::with_capacity(path.len());
    let mut first_end = 0;
    for segment in path.split('/').skip(1) {
        shape.push('/');
        fold_segment(segment, &mut shape);
        if first_end == 0 {
            first_end = shape.len();
        }
    }
    if query.is_empty() {
        let directory = format!("{}/**", &shape[..first_end]);
        // A directory of one level is the same as its files.
        return if first_end > 1 && first_end < shape.len() {
            let wild = format!("{WILD}{}", &shape[first_end..]);
            vec![shape, wild, directory]
        } else {
            vec![shape]
        };
    }
    let mut parameters: Vec<(String, String)> = query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .take(MOST_PARAMETERS)
        .map(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (mut name_shape, mut value_shape) = (String::new(), String::new());
            fold(name, &mut name_shape);
            fold(value, &mut value_shape);
            (name_shape, value_shape)
        })
        .collect();
    parameters.sort_unstable();
    let pairs: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    parameters.dedup_by(|one, other| one.0 == other.0);
    let names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    vec![
        format!("{shape}?{}", pairs.join("&")),
        format!("{shape}?*"),
        format!("/**?{}", names.join("&")),
    ]
}

/// The pattern of URLs that differ from those of another in their first directory only. None for directories and
/// queries.
pub(super) fn wild(pattern: &str) -> Option<String> {
    if pattern.contains('?') || pattern.ends_with("/**") || pattern.starts_with(WILD) {
        return None;
    }
    let rest = pattern.get(1..)?;
    Some(format!("{WILD}{}", &rest[rest.find('/')?..]))
}

/// A regular expression for `exclude` that leaves out the URLs of a host with this pattern.
pub fn rule(host: &str, pattern: &str) -> String {
    // A farm of hosts: who it is about, or a block of addresses, for which there is no rule.
    let farm = host.strip_prefix("from ").unwrap_or(host);
    if pattern.is_empty() {
        return farm.strip_prefix("*.").map_or_else(String::new, |domain| {
            format!("^[a-z]+://([^/]*[.])?{}(:[0-9]+)?(/|$)", regex_text(domain))
        });
    }
    let mut rule = format!("^[a-z]+://{}(:[0-9]+)?", regex_text(host));
    let (path, query) = match pattern.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (pattern, None),
    };
    match path.strip_suffix("/**") {
        Some(before) => {
            push_shape(before, &mut rule);
            rule.push_str("/[^?]*");
        }
        None => push_shape(path, &mut rule),
    }
    match query {
        None if path.ends_with("/**") => {}
        None => rule.push('$'),
        Some("*") => rule.push_str(r"\?"),
        Some(names) if path == "/**" => {
            // In whatever order.
            rule.push_str(r"\?(&*(");
            for (at, name) in names.split('&').enumerate() {
                if at > 0 {
                    rule.push('|');
                }
                push_shape(name, &mut rule);
            }
            rule.push_str(")(=[^&]*)?)+&*$");
        }
        // Parameters may stand in another order; the narrow pattern has them sorted.
        Some(_) => rule.push_str(r"\?"),
    }
    rule
}

fn push_shape(shape: &str, rule: &mut String) {
    let mut rest = shape;
    while let Some(at) = rest.find('{') {
        rule.push_str(&regex_text(&rest[..at]));
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{n}") {
            rule.push_str("[0-9]+");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{id}") {
            rule.push_str("[0-9A-Za-z_]+");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{uuid}") {
            rule.push_str("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{any}") {
            rule.push_str("[^/?]+");
            rest = after;
        } else {
            rule.push_str(r"\{");
            rest = rest.strip_prefix("{brace}").unwrap_or(&rest[1..]);
        }
    }
    rule.push_str(&regex_text(rest));
}

fn regex_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Folds a segment of a path. Some servers write the session into it: `(S(kd2vxq))`, `(X(1)S(kd2vxq))`.
fn fold_segment(segment: &str, shape: &mut String) {
    let inner = segment
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .filter(|inner| inner.ends_with(')'));
    let Some(inner) = inner else {
        return fold(segment, shape);
    };
    shape.push('(');
    for part in inner.split_inclusive(')') {
        let kept = part.strip_suffix(')').and_then(|part| part.split_once('('));
        match kept {
            Some((name, id)) if !id.is_empty() && id.chars().all(is_word) && id.is_ascii() => {
                fold(name, shape);
                shape.push_str("({id})");
            }
            _ => fold(part, shape),
        }
    }
    shape.push(')');
}

/// Folds numbers and ids of a text; words stay.
fn fold(text: &str, shape: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = after_uuid(rest) {
            shape.push_str("{uuid}");
            rest = after;
        }
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        fold_word(word, shape);
        let divider = after.find(is_word).unwrap_or(after.len());
        // A brace of the URL's own is no sign of ours.
        shape.push_str(&after[..divider].replace('{', "{brace}"));
        rest = &after[divider..];
    }
}

/// What follows the hexadecimal groups of 8, 4, 4, 4 and 12 that a text begins with.
pub(super) fn after_uuid(text: &str) -> Option<&str> {
    const LENGTH: usize = 36;
    let is_of_one = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    let bytes = text.as_bytes().get(..LENGTH)?;
    let after = &text.get(LENGTH..)?;
    (bytes[8] == b'-' && bytes.iter().enumerate().all(is_of_one) && !after.starts_with(is_word))
        .then_some(after)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

fn fold_word(word: &str, shape: &mut String) {
    if is_id(word) {
        shape.push_str("{id}");
        return;
    }
    let mut in_number = false;
    for c in word.chars() {
        if c.is_ascii_digit() {
            if !in_number {
                shape.push_str("{n}");
            }
            in_number = true;
        } else {
            shape.push(c);
            in_number = false;
        }
    }
}

/// Whether nobody would have made it up: letters and digits mixed, or far too long for a word.
pub(super) fn is_id(word: &str) -> bool {
    if word.len() < ID_LETTERS {
        return false;
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let digits = word.chars().filter(|c| is_digit(*c)).count();
    if digits == word.len() {
        return false;
    }
    if word.len() > WORD_LETTERS && !word.contains('_') {
        return true;
    }
    let runs = word.split(|c| !is_digit(c)).filter(|run| !run.is_empty());
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits > 0 && (is_hex || runs.count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, wanted: &[&str]) {
        let url = CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap();
        let found = patterns(&url);
        assert_eq!(found, wanted, "{path}");
        // What the warning says to write leaves out the URL that it is about.
        for pattern in found {
            let rule = rule("a.test", &pattern);
            let config = teia_base::filter::FilterConfig {
                exclude: vec![rule.clone()],
                scope: teia_base::scope::Scope::Any,
                ..teia_base::filter::FilterConfig::default()
            };
            let rules = teia_base::filter::Rules::compile(&config, &[]).unwrap();
            let verdict = teia_base::filter::Filter::before(
                &rules,
                &teia_base::filter::Candidate {
                    url: &url,
                    depth: 1,
                    kind: teia_base::LinkKind::Anchor,
                    from_kept_in_scope: false,
                    from: None,
                },
            );
            assert!(!verdict.is_admitted(), "{rule} does not match {path}");
        }
    }

    #[test]
    fn numbers_and_ids_are_folded_and_words_stay() {
        check("/", &["/"]);
        check("/about", &["/about"]);
        check(
            "/2031/04/view-17.html",
            &[
                "/{n}/{n}/view-{n}.html",
                "/{any}/{n}/view-{n}.html",
                "/{n}/**",
            ],
        );
        check("/p7;sid=9f3a77c2d1", &["/p{n};sid={id}"]);
        check("/mp3/x", &["/mp{n}/x", "/{any}/x", "/mp{n}/**"]);
        check("/a/b/", &["/a/b/", "/{any}/b/", "/a/**"]);
    }

    #[test]
    fn sessions_in_the_path_are_folded_whole() {
        check(
            "/9f3a77c2-abcd-4def-8abc-deadbeefcafe/page-3",
            &["/{uuid}/page-{n}", "/{any}/page-{n}", "/{uuid}/**"],
        );
        check(
            "/(S(kdvxqabcdefghijklmnopqrs))/x",
            &["/(S({id}))/x", "/{any}/x", "/(S({id}))/**"],
        );
        check(
            "/(X(1)S(kdvxq))/x",
            &["/(X({id})S({id}))/x", "/{any}/x", "/(X({id})S({id}))/**"],
        );
        check("/f(x)", &["/f(x)"]);
        check("/(a)", &["/(a)"]);
        check(
            "/deadbeef-cafe-4abc-8def-abcdefabcdefg",
            &["/deadbeef-cafe-{n}abc-{n}def-abcdefabcdefg"],
        );
    }

    #[test]
    fn what_differs_in_its_first_directory_only_is_one_kind() {
        assert_eq!(wild("/a/{n}").as_deref(), Some("/{any}/{n}"));
        for none in ["/a", "/", "/a/**", "/a/b?x", "/{any}/{n}", ""] {
            assert_eq!(wild(none), None, "{none}");
        }
    }

    #[test]
    fn parameters_are_sorted_and_their_names_are_a_pattern() {
        check(
            "/shop?size=xl&page=3",
            &["/shop?page={n}&size=xl", "/shop?*", "/**?page&size"],
        );
        check("/p?s=0a1b2c3d4e5f", &["/p?s={id}", "/p?*", "/**?s"]);
        check("/p?{n}=1", &["/p?{brace}n}={n}", "/p?*", "/**?{brace}n}"]);
        check("/p?f[1]=x", &["/p?f[{n}]=x", "/p?*", "/**?f[{n}]"]);
    }
}
