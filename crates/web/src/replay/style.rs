//! Style sheets: `url(…)`, `image-set(…)` and `@import` lead to the archive.

use std::borrow::Cow;

use super::{Rewriter, Role};

/// Rewrites the addresses of a style sheet, in one pass.
pub(crate) fn rewrite(text: &str, rewriter: &Rewriter) -> String {
    let text = &*with_plain_letters(text);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(at) = next_address(rest) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = if starts_with(from, "url(") {
            function(from, rewriter, Role::Part, &mut out)
        } else if starts_with(from, "@import") {
            import(from, rewriter, &mut out)
        } else if starts_with(from, IMAGE_SET) {
            images(from, rewriter, &mut out)
        } else {
            comment(from, &mut out)
        };
    }
    out.push_str(rest);
    out
}

/// `u\72l(` as `url(`: an escaped letter is that letter, wherever it stands.
fn with_plain_letters(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let digits = escape.bytes().take(6);
        let digits = digits.take_while(u8::is_ascii_hexdigit).count();
        if digits == 0 {
            let letter = escape.chars().next();
            // A letter that is no digit stands for itself; any other sign keeps its stroke.
            if !letter.is_some_and(|letter| letter.is_ascii_alphabetic()) {
                out.push('\\');
                out.extend(letter);
            }
            let taken = letter.filter(|letter| !letter.is_ascii_alphabetic());
            rest = &escape[taken.map_or(0, char::len_utf8)..];
            continue;
        }
        let code = u32::from_str_radix(&escape[..digits], 16).ok();
        let letter = code.and_then(char::from_u32);
        let space = escape[digits..].starts_with([' ', '\n', '\t']);
        let end = digits + usize::from(space);
        match letter.filter(char::is_ascii_alphabetic) {
            Some(letter) => out.push(letter),
            None => {
                out.push_str(&rest[at..=at + end]);
                // What follows must not become one of its digits.
                if !space && escape[end..].starts_with('\\') {
                    out.push(' ');
                }
            }
        }
        rest = &escape[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Pictures for screens of several kinds, named in quotation marks; also after `-webkit-`.
const IMAGE_SET: &str = "image-set(";

/// Where the next `url(`, `image-set(`, `@import` or comment begins.
fn next_address(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&at| match bytes[at] {
        b'u' | b'U' => starts_with_bytes(&bytes[at..], b"url("),
        b'i' | b'I' => starts_with_bytes(&bytes[at..], IMAGE_SET.as_bytes()),
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
    } else if role == Role::Part && is_inline(address) {
        unescaped(address)
    } else {
        rewriter.to_part(&unescaped(address), role)
    };
    out.push_str("url(\"");
    out.push_str(&quoted(&target));
    out.push_str("\")");
    rest
}

/// Fonts are written into style sheets under many names; the policy says what a browser takes them for.
fn is_inline(address: &str) -> bool {
    starts_with(address, "data:font/") || starts_with(address, "data:application/")
}

/// `image-set("a.png" 1x, url(b.png) 2x type("image/png"))`.
fn images<'a>(text: &'a str, rewriter: &Rewriter, out: &mut String) -> &'a str {
    out.push_str(IMAGE_SET);
    let mut rest = &text[IMAGE_SET.len()..];
    let mut open = 1_usize;
    while open > 0 {
        if starts_with(rest, "url(") {
            rest = function(rest, rewriter, Role::Part, out);
            continue;
        }
        let Some(character) = rest.chars().next() else {
            break;
        };
        let after = &rest[character.len_utf8()..];
        if matches!(character, '"' | '\'') && open == 1 {
            let end = after.find(character).unwrap_or(after.len());
            let target = rewriter.to_part(&unescaped(&after[..end]), Role::Part);
            out.push_str(&format!("\"{}\"", quoted(&target)));
            rest = after.get(end + 1..).unwrap_or("");
            continue;
        }
        match character {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        out.push(character);
        rest = after;
    }
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
        check(
            "a{b:-webkit-image-set(\"b.png\" type(\"image/png\") 1x, url(c.png) 2x)} d",
            "a{b:-webkit-image-set(\"/archive/2026oe_/http://a.example/s/b.png\" type(\"image/png\") 1x, \
             url(\"/archive/2026oe_/http://a.example/s/c.png\") 2x)} d",
        );
        check(
            "@font-face{src:url(data:font/woff2;base64,AA==)}",
            "@font-face{src:url(\"data:font/woff2;base64,AA==\")}",
        );
        check("@import url(data:text/css,x)", "@import url(\"\")");
        check(
            "a{b:u\\72l(b.png);c:\\u\\r\\l(c.png)}",
            "a{b:url(\"/archive/2026oe_/http://a.example/s/b.png\");c:url(\"/archive/2026oe_/http://a.example/s/c.png\")}",
        );
        check(
            "a{content:\"\\f101\\61 \\e9\\\" x\"}",
            "a{content:\"\\f101 a\\e9\\\" x\"}",
        );
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
            "image-set(",
            "image-set('",
            "image-set(url(",
            "\\",
            "\\é\\7",
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
