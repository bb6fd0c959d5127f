//! `<meta http-equiv=refresh>` and the `Refresh:` header.

/// A page that is shown for longer is one, and where it goes then is none of its links (REDIR-12).
const SOON_SECONDS: u64 = 30;

/// The reference of a refresh, by the standard's "shared declarative refresh steps"; none where
/// the value is broken, reloads the page itself, or comes too late.
pub(crate) fn reference(content: &str) -> Option<&str> {
    let rest = content.trim_start_matches(is_white);
    let after_time = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if after_time.len() == rest.len() && !rest.starts_with('.') {
        return None;
    }
    let seconds = &rest[..rest.len() - after_time.len()];
    let is_soon = seconds.is_empty() || seconds.parse().is_ok_and(|it: u64| it <= SOON_SECONDS);
    if !is_soon {
        return None;
    }
    let rest = after_time.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !rest.starts_with(|c| c == ';' || c == ',' || is_white(c)) {
        return None;
    }
    let rest = rest.trim_start_matches(is_white);
    let rest = rest
        .strip_prefix([';', ','])
        .unwrap_or(rest)
        .trim_start_matches(is_white);
    let url = after_url_equals(rest).unwrap_or(rest);
    let url = match url.chars().next() {
        Some(quote @ ('"' | '\'')) => url[1..].split(quote).next().unwrap_or(""),
        _ => url,
    };
    (!url.is_empty()).then_some(url)
}

fn after_url_equals(text: &str) -> Option<&str> {
    let word = text.get(..3)?;
    if !word.eq_ignore_ascii_case("url") {
        return None;
    }
    let rest = text[3..].trim_start_matches(is_white).strip_prefix('=')?;
    Some(rest.trim_start_matches(is_white))
}

fn is_white(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, url: Option<&str>) {
        assert_eq!(reference(content), url);
    }

    #[test]
    fn every_spelling_browsers_take_is_taken() {
        check("0;url=a", Some("a"));
        check(" 5.5 ; URL = 'a b' x", Some("a b"));
        check("0, \"a", Some("a"));
        check("0 a", Some("a"));
        check("0;urls", Some("urls"));
        check("0;url", Some("url"));
        check(".5;url=a", Some("a"));
        check(
            "1;url=http://x.example/?url=b",
            Some("http://x.example/?url=b"),
        );
    }

    #[test]
    fn a_reload_and_a_broken_value_are_no_links() {
        check("5", None);
        check("30;url=a", Some("a"));
        check("31;url=a", None);
        check("99999999999999999999999;url=a", None);
        check("-1;url=a", None);
        check("5;", None);
        check("url=a", None);
        check("x;url=a", None);
        check("0x;url=a", None);
        check("", None);
    }
}
