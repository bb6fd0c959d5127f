//! Style sheets: `url(…)` and `@import` lead to the archive.

use super::{Rewriter, Role};

/// Rewrites the addresses of a style sheet, in one pass.
pub(crate) fn rewrite(text: &str, rewriter: &Rewriter) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(at) = next_address(rest) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = if starts_with(from, "url(") {
            function(from, rewriter, Role::Part, &mut out)
        } else if starts_with(from, "@import") {
            import(from, rewriter, &mut out)
        } else {
            comment(from, &mut out)
        };
    }
    out.push_str(rest);
    out
}

/// Where the next `url(`, `@import` or comment begins.
fn next_address(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&at| match bytes[at] {
        b'u' | b'U' => starts_with_bytes(&bytes[at..], b"url("),
        b'@' => starts_with_bytes(&bytes[at..], b"@import"),
        b'/' => bytes.get(at + 1) == Some(&b'*'),
        _ => false,
    })
}

fn starts_with(text: &str, prefix: &str) -> bool {
    starts_with_bytes(text.as_bytes(), prefix.as_bytes())
}

fn starts_with_bytes(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn comment<'a>(text: &'a str, out: &mut String) -> &'a str {
    let end = text[2..].find("*/").map_or(text.len(), |end| end + 4);
    out.push_str(&text[..end]);
    &text[end..]
}

/// `url( "x" )`, the rest of the text after it.
fn function<'a>(text: &'a str, rewriter: &Rewriter, role: Role, out: &mut String) -> &'a str {
    let inside = text[4..].trim_start();
    let quote = inside.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (address, rest) = match quote {
        Some(quote) => match inside[1..].find(quote) {
            Some(end) => {
                let rest = inside[end + 2..].trim_start();
                (&inside[1..=end], rest.strip_prefix(')').unwrap_or(rest))
            }
            None => (&inside[1..], ""),
        },
        None => match inside.find(')') {
            Some(end) => (inside[..end].trim_end(), &inside[end + 1..]),
            None => (inside, ""),
        },
    };
    // A reference into the same document, as drawings have them.
    let target = if address.starts_with('#') {
        address.to_owned()
    } else {
        rewriter.to_part(&unescaped(address), role)
    };
    out.push_str("url(\"");
    out.push_str(&quoted(&target));
    out.push_str("\")");
    rest
}

/// `@import "x"` or `@import url(x)`.
fn import<'a>(text: &'a str, rewriter: &Rewriter, out: &mut String) -> &'a str {
    out.push_str("@import ");
    let inside = text[7..].trim_start();
    let quote = inside.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let end = inside[1..].find(quote).unwrap_or(inside.len() - 1);
        let target = rewriter.to_part(&unescaped(&inside[1..=end]), Role::Style);
        out.push('"');
        out.push_str(&quoted(&target));
        out.push('"');
        return inside.get(end + 2..).unwrap_or("");
    }
    if starts_with(inside, "url(") {
        return function(inside, rewriter, Role::Style, out);
    }
    inside
}

/// `\26 ` and `\"` in an address.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let mut code = String::new();
        while code.len() < 6 && characters.peek().is_some_and(char::is_ascii_hexdigit) {
            code.extend(characters.next());
        }
        if code.is_empty() {
            out.extend(characters.next().filter(|c| *c != '\n'));
            continue;
        }
        if characters.peek().is_some_and(char::is_ascii_whitespace) {
            characters.next();
        }
        let number = u32::from_str_radix(&code, 16).ok();
        out.extend(number.and_then(char::from_u32));
    }
    out
}

/// Text between quotation marks.
fn quoted(text: &str) -> String {
    text.replace('\\', "%5C")
        .replace('"', "%22")
        .replace(['\n', '\r'], "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    #[track_caller]
    fn check(css: &str, expected: &str) {
        let rewriter = Rewriter {
            base: Url::parse("http://a.example/s/x.css").ok(),
            time: "2026".to_owned(),
            key: String::new(),
        };
        assert_eq!(rewrite(css, &rewriter), expected);
    }

    #[test]
    fn addresses_lead_to_the_archive() {
        check(
            "a{background:url(b.png)}",
            "a{background:url(\"/archive/2026oe_/http://a.example/s/b.png\")}",
        );
        check(
            "a{b:URL( '../c.png' ) red}",
            "a{b:url(\"/archive/2026oe_/http://a.example/c.png\") red}",
        );
        check(
            "@import \"d.css\" screen;",
            "@import \"/archive/2026cs_/http://a.example/s/d.css\" screen;",
        );
        check(
            "@import url(d.css);",
            "@import url(\"/archive/2026cs_/http://a.example/s/d.css\");",
        );
        check("/* url(x) */ é", "/* url(x) */ é");
        check("a{fill:url(#g)}", "a{fill:url(\"#g\")}");
        check("a{b:url(javascript:x)}", "a{b:url(\"\")}");
        check(
            "a{b:url(data:image/png;base64,AA==)}",
            "a{b:url(\"data:image/png;base64,AA==\")}",
        );
        check(
            "a{b:url(//b.example/\\26 x)}",
            "a{b:url(\"/archive/2026oe_/http://b.example/&x\")}",
        );
    }

    #[test]
    fn odd_ends_are_no_trouble() {
        for odd in [
            "url(",
            "url('",
            "@import",
            "@import '",
            "/*",
            "url(\"é",
            "@import url('x",
        ] {
            let rewriter = Rewriter {
                base: None,
                time: String::new(),
                key: String::new(),
            };
            rewrite(odd, &rewriter);
        }
    }
}
