//! Paths and the patterns of rules, in the one spelling in which they are compared.
//!
//! ```text
//! path     /a%62/caf\xc3\xa9*   ->  /ab/caf%C3%A9%2A
//! pattern  /%61*%2f%2a$         ->  /a*%2F%2A$          * and the last $ are special, all else is literal
//! ```
//!
//! RFC 9309 §2.2.2 and §2.2.3: unreserved characters are compared bare, everything outside of the URI characters
//! percent-encoded; an encoded reserved character stays another one than the bare (`%2F` is not `/`), but for `*` and
//! `$`, which a pattern can only name encoded. So no literal contains a bare `*` or `$`.

use memchr::{memmem, memrchr};

/// Appends a path, or a literal piece of a pattern, in canonical spelling.
pub(super) fn append_literal(canonical: &mut Vec<u8>, literal: &[u8]) {
    let mut rest = literal;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%'
            && let [high, low, after @ ..] = tail
            && let (Some(high), Some(low)) = (hex_value(*high), hex_value(*low))
        {
            rest = after;
            let byte = high << 4 | low;
            if is_unreserved(byte) {
                canonical.push(byte);
            } else {
                append_encoded(canonical, byte);
            }
        } else if stands_bare(*first) {
            canonical.push(*first);
        } else {
            append_encoded(canonical, *first);
        }
    }
}

/// Appends the pattern of a rule in canonical spelling. Its length is what "most specific" compares.
pub(super) fn append_pattern(canonical: &mut Vec<u8>, pattern: &[u8]) {
    let (body, anchored) = match pattern {
        [body @ .., b'$'] => (body, true),
        body => (body, false),
    };
    for (nth, piece) in body.split(|byte| *byte == b'*').enumerate() {
        if nth > 0 {
            canonical.push(b'*');
        }
        append_literal(canonical, piece);
    }
    if anchored {
        canonical.push(b'$');
    }
}

/// How long the part of a canonical pattern is that comes before anything special.
pub(super) fn literal_len(pattern: &[u8]) -> usize {
    memchr::memchr2(b'*', b'$', pattern).unwrap_or(pattern.len())
}

/// What one verdict may spend on wildcards. However many there are, and however long the path: what the fuel is not
/// enough for is not tried.
#[derive(Debug)]
pub(super) struct Fuel {
    left: usize,
}

impl Fuel {
    /// As much as a thousand rules with a star need for a usual path. In units of one byte of the path.
    const FULL: usize = 128 << 10;
    /// For a rule.
    const RULE: usize = 8;
    /// For beginning to look for a piece, which takes as long as looking through some bytes.
    const PIECE: usize = 32;

    pub(super) fn full() -> Self {
        Self { left: Self::FULL }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }

    pub(super) fn spent(&self) -> usize {
        Self::FULL - self.left
    }

    fn burn(&mut self, units: usize) {
        self.left = self.left.saturating_sub(units);
    }
}

/// Whether the rest of a canonical pattern, from its first special character on, matches the rest of a path; None where
/// the fuel is used up.
///
/// Each piece between two stars takes the first place it finds: no later place could leave more room for the others.
/// So nothing is tried twice, and the cost is linear in path and pattern.
pub(super) fn special_matches(special: &[u8], path: &[u8], fuel: &mut Fuel) -> Option<bool> {
    let (body, anchored) = match special {
        [body @ .., b'$'] => (body, true),
        body => (body, false),
    };
    let Some(pieces) = body.strip_prefix(b"*") else {
        return Some(!anchored || path.is_empty());
    };
    // Before a `$` the last piece has no choice of place: it is the end of the path.
    let (pieces, last) = match memrchr(b'*', pieces) {
        _ if !anchored => (pieces, &b""[..]),
        Some(star) => (&pieces[..star], &pieces[star + 1..]),
        None => (&b""[..], pieces),
    };
    if fuel.is_empty() {
        return None;
    }
    fuel.burn(Fuel::RULE);
    let mut path = path;
    for piece in pieces.split(|byte| *byte == b'*') {
        // Stars that follow one another are one.
        if piece.is_empty() {
            fuel.burn(1);
            continue;
        }
        if fuel.is_empty() {
            return None;
        }
        let Some(at) = memmem::find(path, piece) else {
            fuel.burn(Fuel::PIECE + path.len());
            return Some(false);
        };
        fuel.burn(Fuel::PIECE + at + piece.len());
        path = &path[at + piece.len()..];
    }
    Some(path.ends_with(last))
}

/// The path, parameters and query of a URL, also of one without scheme; without its fragment.
pub(super) fn path_and_query(url: &str) -> &str {
    let url = without_fragment(url);
    let is_path = |c| matches!(c, '/' | '?' | ';');
    let after_scheme = match url.find("://") {
        // A `://` behind the first slash or question mark is part of the path.
        Some(at) if !url[..at].contains(is_path) => &url[at + 3..],
        _ => url.strip_prefix("//").unwrap_or(url),
    };
    match after_scheme.find(is_path) {
        Some(at) => &after_scheme[at..],
        None => "/",
    }
}

/// What comes before the first `#`.
pub(super) fn without_fragment(url: &str) -> &str {
    url.split_once('#').map_or(url, |(before, _)| before)
}

fn append_encoded(canonical: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
    canonical.push(b'%');
    canonical.extend_from_slice(&digits);
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Unreserved and reserved characters of RFC 3986 but `*` and `$`; and a `%` that encodes nothing.
fn stands_bare(byte: u8) -> bool {
    is_unreserved(byte) || b":/?#[]@!&'()+,;=%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_literal(literal: &str, canonical: &str) {
        let mut spelled = Vec::new();
        append_literal(&mut spelled, literal.as_bytes());
        assert_eq!(String::from_utf8(spelled).unwrap(), canonical);
    }

    #[test]
    fn equal_paths_are_spelled_alike() {
        check_literal("/%62%61%7A", "/baz");
        check_literal("/é", "/%C3%A9");
        check_literal("/%c3%a9", "/%C3%A9");
        check_literal("/a|b c", "/a%7Cb%20c");
        check_literal("/*$%2a%24", "/%2A%24%2A%24");
    }

    #[test]
    fn an_encoded_slash_stays_encoded_and_a_lone_percent_stays_bare() {
        check_literal("/a%2fb", "/a%2Fb");
        check_literal("/100%/%4/%zz", "/100%/%4/%zz");
    }

    #[track_caller]
    fn check_pattern(pattern: &str, canonical: &str) {
        let mut spelled = Vec::new();
        append_pattern(&mut spelled, pattern.as_bytes());
        assert_eq!(String::from_utf8(spelled).unwrap(), canonical);
    }

    #[test]
    fn only_stars_and_a_last_dollar_are_special() {
        check_pattern("/a*b$", "/a*b$");
        check_pattern("/a$b$$", "/a%24b%24$");
        check_pattern("/%2A%24", "/%2A%24");
        check_pattern("/%2*A", "/%2*A");
    }

    #[track_caller]
    fn check_special(special: &str, matching: &[&str], failing: &[&str]) {
        let matches = |special: &str, path: &str| {
            special_matches(special.as_bytes(), path.as_bytes(), &mut Fuel::full()).unwrap()
        };
        for path in matching {
            assert!(matches(special, path), "{path}");
        }
        for path in failing {
            assert!(!matches(special, path), "{path}");
        }
    }

    #[test]
    fn stars_match_anything_and_a_dollar_the_end() {
        check_special("", &["", "x"], &[]);
        check_special("$", &[""], &["x"]);
        check_special("*", &["", "x"], &[]);
        check_special("**$", &["", "x"], &[]);
        check_special("*ab*ab", &["abab", "xabxabx"], &["ab", "aab", "abxa"]);
        check_special("*ab*ab$", &["abab", "abxab"], &["ab", "abab."]);
        check_special("*a$", &["a", "aa", "ba"], &["", "ab"]);
    }

    #[test]
    fn without_fuel_nothing_is_looked_for_but_what_costs_nothing() {
        let mut fuel = Fuel { left: 1 };
        assert_eq!(special_matches(b"*a*b", b"ab", &mut fuel), None);
        assert_eq!(special_matches(b"*", b"ab", &mut fuel), None);
        assert_eq!(special_matches(b"$", b"", &mut fuel), Some(true));
        assert_eq!(special_matches(b"", b"ab", &mut fuel), Some(true));
    }
}
