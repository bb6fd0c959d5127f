//! `srcset` and `imagesrcset`: several pictures in one attribute.

use crate::markup::is_space;

/// The URLs of the candidates, by the standard's "parse a srcset attribute": a comma may be
/// part of a URL, and only one at its end divides.
pub(crate) fn candidates(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ',' || is_white(c));
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(is_white).unwrap_or(rest.len());
        let url = &rest[..end];
        let trimmed = url.trim_end_matches(',');
        rest = &rest[end..];
        if trimmed.len() == url.len() {
            rest = after_descriptors(rest);
        }
        Some(trimmed)
    })
}

/// What follows the comma that ends the descriptors; commas in parentheses do not.
fn after_descriptors(text: &str) -> &str {
    let mut in_parentheses = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => in_parentheses = true,
            b')' => in_parentheses = false,
            b',' if !in_parentheses => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

fn is_white(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, urls: &[&str]) {
        assert_eq!(candidates(value).collect::<Vec<_>>(), urls);
    }

    #[test]
    fn commas_inside_urls_do_not_divide() {
        check("a.png 1x, b.png 2x", &["a.png", "b.png"]);
        check(
            "/w_1,h_2/a.png 100w,/w_3,h_4/b.png 200w",
            &["/w_1,h_2/a.png", "/w_3,h_4/b.png"],
        );
        check("a,b", &["a,b"]);
        check("a, b", &["a", "b"]);
        check(" ,, a ,, ", &["a"]);
        check("a (1x, 2x) , b", &["a", "b"]);
        check("data:,a 1x, b", &["data:,a", "b"]);
        check("", &[]);
    }
}
