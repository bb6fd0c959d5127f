//! Media types: what a server calls its document, and patterns such as `image/*`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A media type: its essence in small letters, and the charset it names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MediaType {
    essence: String,
    charset: Option<String>,
}

impl MediaType {
    /// Reads a `Content-Type` value as browsers do; `None` where there is no type in it.
    pub fn parse(value: &str) -> Option<Self> {
        let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
        let essence = essence.trim_matches(is_http_space);
        let (kind, subtype) = essence.split_once('/')?;
        if !is_token(kind) || !is_token(subtype) || essence.len() > 255 {
            return None;
        }
        let charset = first_charset(parameters)
            .filter(|charset| !charset.is_empty() && charset.len() <= 64)
            .map(|charset| charset.to_ascii_lowercase());
        Some(Self {
            essence: format!("{kind}/{subtype}").to_ascii_lowercase(),
            charset,
        })
    }

    /// Type and subtype: `text/html`.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// The charset parameter, in small letters.
    pub fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    /// HTML or XHTML.
    pub fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    /// XML of any kind.
    pub fn is_xml(&self) -> bool {
        self.essence.ends_with("+xml")
            || matches!(self.essence.as_str(), "text/xml" | "application/xml")
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.essence)
    }
}

/// A media type, `type/*`, or `*/*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MediaPattern {
    kind: String,
    subtype: String,
}

impl MediaPattern {
    /// Whether the type is one of these.
    pub fn matches(&self, media_type: &MediaType) -> bool {
        let (kind, subtype) = media_type.essence.split_once('/').unwrap_or_default();
        (self.kind == "*" || self.kind == kind) && (self.subtype == "*" || self.subtype == subtype)
    }

    /// Whether every type that `other` matches is one of these.
    pub fn covers(&self, other: &Self) -> bool {
        (self.kind == "*" || self.kind == other.kind)
            && (self.subtype == "*" || self.subtype == other.subtype)
    }
}

impl FromStr for MediaPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || format!("`{text}` is not a media type; write `text/html` or `image/*`");
        let (kind, subtype) = text.trim().split_once('/').ok_or_else(refuse)?;
        let good =
            |part: &str| part == "*" || (!part.is_empty() && part.bytes().all(is_token_byte));
        if !good(kind) || !good(subtype) || (kind == "*" && subtype != "*") {
            return Err(refuse());
        }
        Ok(Self {
            kind: kind.to_ascii_lowercase(),
            subtype: subtype.to_ascii_lowercase(),
        })
    }
}

impl TryFrom<String> for MediaPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<MediaPattern> for String {
    fn from(pattern: MediaPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for MediaPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.subtype)
    }
}

/// The value of the first `charset` parameter that is one, read as the MIME sniffing standard says.
fn first_charset(mut rest: &str) -> Option<String> {
    while !rest.is_empty() {
        rest = rest.trim_start_matches(is_http_space);
        let end = rest.find([';', '=']).unwrap_or(rest.len());
        let name = &rest[..end];
        rest = &rest[end..];
        let Some(after) = rest.strip_prefix('=') else {
            rest = rest.strip_prefix(';').unwrap_or("");
            continue;
        };
        let value = if let Some(quoted) = after.strip_prefix('"') {
            let (value, after) = read_quoted(quoted);
            rest = after;
            value
        } else {
            let end = after.find(';').unwrap_or(after.len());
            rest = &after[end..];
            after[..end].trim_end_matches(is_http_space).to_owned()
        };
        let was_quoted = after.starts_with('"');
        rest = rest.split_once(';').map_or("", |(_, after)| after);
        let is_value = value
            .chars()
            .all(|c| matches!(c, '\t' | ' '..='~' | '\u{80}'..='\u{ff}'));
        if name.eq_ignore_ascii_case("charset") && is_value && (was_quoted || !value.is_empty()) {
            return Some(value);
        }
    }
    None
}

/// A quoted string up to its closing quote, and what follows it.
fn read_quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            // A backslash at the very end stands for itself.
            '\\' => value.push(characters.next().map_or('\\', |(_, escaped)| escaped)),
            _ => value.push(c),
        }
    }
    (value, "")
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

fn is_http_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn essence_and_charset_are_found() {
        let media_type = MediaType::parse(" Text/HTML ; x=1; Charset=\"UTF-8\" ").unwrap();
        assert_eq!(media_type.essence(), "text/html");
        assert_eq!(media_type.charset(), Some("utf-8"));
        assert!(MediaType::parse("html").is_none());
        assert!(MediaType::parse("").is_none());
    }

    #[test]
    fn patterns_match_by_part() {
        let image: MediaPattern = "image/*".parse().unwrap();
        assert!(image.matches(&MediaType::parse("image/png").unwrap()));
        assert!(!image.matches(&MediaType::parse("text/html").unwrap()));
        assert!("image".parse::<MediaPattern>().is_err());
    }
}
