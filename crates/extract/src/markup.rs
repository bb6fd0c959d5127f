//! A tolerant scanner of HTML and XML: tags, text and nothing built.
//!
//! ```text
//! bytes ──> next() ──> Text | Cdata | End | Doctype
//!                  └─> Start ──> next_attribute()* ──> tag_end() ──> [raw_text() | script_text()]
//! ```
//!
//! It follows the states of the HTML standard's tokenizer where they decide what is a tag and
//! what is not; whoever reads tells it which elements hold raw text. Every byte is passed once,
//! so no input takes more than linear time. Values come undecoded: see [`decode_text`].

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};

/// Which of the two languages, where they disagree: CDATA, processing instructions, names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    Html,
    Xml,
}

/// One piece of markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Characters with references still in them.
    Text(&'a str),
    /// Characters to take as they are.
    Cdata(&'a str),
    /// A start tag; its attributes wait in the scanner.
    Start(Name<'a>),
    /// An end tag, read to its end.
    End(Name<'a>),
    /// A document type; true if it declares something of its own (XML only).
    Doctype(bool),
}

/// The name of a tag or attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    /// As written.
    pub(crate) text: &'a str,
    /// Its [`key`].
    pub(crate) key: u64,
}

/// One attribute, its value undecoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) value: &'a str,
}

/// How a start tag ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagEnd {
    /// `>`.
    Open,
    /// `/>`.
    SelfClosing,
    /// The input ended first: there is no such tag.
    Missing,
}

/// A number for a name in any case: equal names have equal keys. Names of up to eight bytes
/// are packed and so never collide; longer ones are hashed, with a first byte no name has.
pub(crate) const fn key(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut key = Key::new();
    let mut at = 0;
    while at < bytes.len() {
        key = key.with(bytes[at]);
        at += 1;
    }
    key.finish(bytes.len())
}

#[derive(Clone, Copy)]
struct Key(u64);

impl Key {
    const fn new() -> Self {
        Self(0)
    }

    #[inline]
    const fn with(self, byte: u8) -> Self {
        Self(self.0.rotate_left(8) ^ byte.to_ascii_lowercase() as u64)
    }

    #[inline]
    const fn finish(self, length: usize) -> u64 {
        if length <= 8 {
            return self.0;
        }
        let mixed = (self.0 ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed | 0xff << 56
    }
}

/// Reads markup from front to back.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    rules: Rules,
    tag_end: TagEnd,
    /// Whether `<![CDATA[` begins characters here, as it does in XML and inside SVG.
    pub(crate) cdata: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, rules: Rules) -> Self {
        Self {
            text,
            at: 0,
            rules,
            tag_end: TagEnd::Open,
            cdata: rules == Rules::Xml,
        }
    }

    /// How the start tag whose attributes were read last ended.
    pub(crate) fn tag_end(&self) -> TagEnd {
        self.tag_end
    }

    /// The next token. After `Start`, read the attributes first.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            if start >= bytes.len() {
                return None;
            }
            let found = self.find_markup(start);
            if found > start {
                self.at = found;
                return Some(Token::Text(&self.text[start..found]));
            }
            match bytes[start + 1] {
                b'!' => {
                    if let Some(token) = self.declaration(start) {
                        return Some(token);
                    }
                }
                b'?' => self.at = self.instruction_end(start + 2),
                b'/' => match bytes.get(start + 2) {
                    Some(&byte) if self.begins_name(byte) => {
                        let name = self.name(start + 2);
                        if bytes.get(self.at) == Some(&b'>') {
                            self.at += 1;
                            return Some(Token::End(name));
                        }
                        while self.next_attribute().is_some() {}
                        if self.tag_end != TagEnd::Missing {
                            return Some(Token::End(name));
                        }
                    }
                    Some(b'>') => self.at = start + 3,
                    Some(_) => self.at = self.after_byte(b'>', start + 2),
                    None => {
                        self.at = bytes.len();
                        return Some(Token::Text(&self.text[start..]));
                    }
                },
                _ => return Some(Token::Start(self.name(start + 1))),
            }
        }
    }

    /// The next attribute of the start tag just read; none at its end.
    #[inline]
    pub(crate) fn next_attribute(&mut self) -> Option<Attribute<'a>> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            match bytes.get(at) {
                None => return self.end_tag(at, TagEnd::Missing),
                Some(b'>') => return self.end_tag(at + 1, TagEnd::Open),
                Some(b'/') if bytes.get(at + 1) == Some(&b'>') => {
                    return self.end_tag(at + 2, TagEnd::SelfClosing);
                }
                Some(&byte) if is_space(byte) || byte == b'/' => at += 1,
                Some(_) => break,
            }
        }
        let start = at;
        // An `=` here belongs to the name, as the standard has it.
        let mut key = Key::new().with(bytes[at]);
        at += 1;
        while let Some(&byte) = bytes.get(at) {
            if is_space(byte) || matches!(byte, b'/' | b'>' | b'=') {
                break;
            }
            key = key.with(byte);
            at += 1;
        }
        let name = Name {
            text: &self.text[start..at],
            key: key.finish(at - start),
        };
        let mut value_at = at;
        while bytes.get(value_at).is_some_and(|&byte| is_space(byte)) {
            value_at += 1;
        }
        if bytes.get(value_at) != Some(&b'=') {
            self.at = value_at;
            return Some(Attribute { name, value: "" });
        }
        value_at += 1;
        while bytes.get(value_at).is_some_and(|&byte| is_space(byte)) {
            value_at += 1;
        }
        let value = match bytes.get(value_at) {
            Some(&quote @ (b'"' | b'\'')) => {
                let first = value_at + 1;
                let Some(length) = memchr(quote, &bytes[first..]) else {
                    return self.end_tag(bytes.len(), TagEnd::Missing);
                };
                self.at = first + length + 1;
                &self.text[first..first + length]
            }
            _ => {
                let mut end = value_at;
                while bytes
                    .get(end)
                    .is_some_and(|&byte| !is_space(byte) && byte != b'>')
                {
                    end += 1;
                }
                self.at = end;
                &self.text[value_at..end]
            }
        };
        Some(Attribute { name, value })
    }

    /// Characters up to the end tag of this name, which comes next; without one, all the rest.
    pub(crate) fn raw_text(&mut self, name: &str) -> &'a str {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        while let Some(found) = memchr(b'<', &bytes[at..]) {
            at += found;
            if is_tag(&bytes[at..], "</", name) {
                self.at = at;
                return &self.text[start..at];
            }
            at += 1;
        }
        self.at = bytes.len();
        &self.text[start..]
    }

    /// Characters of a script: `<!--` and `<script` inside it hide `</script>`, as the
    /// "script data escaped" states of the standard say.
    pub(crate) fn script_text(&mut self) -> &'a str {
        #[derive(PartialEq)]
        enum State {
            Data,
            Escaped,
            DoubleEscaped,
        }
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        let mut state = State::Data;
        loop {
            let found = if state == State::Data {
                memchr(b'<', &bytes[at..])
            } else {
                memchr2(b'<', b'-', &bytes[at..])
            };
            let Some(found) = found else { break };
            at += found;
            let rest = &bytes[at..];
            if rest[0] == b'-' {
                if rest.starts_with(b"-->") {
                    state = State::Data;
                }
            } else if is_tag(rest, "</", "script") {
                if state != State::DoubleEscaped {
                    self.at = at;
                    return &self.text[start..at];
                }
                state = State::Escaped;
            } else if state == State::Data && rest.starts_with(b"<!--") {
                state = State::Escaped;
                at += 1; // Its dashes may be those of `-->` too.
            } else if state == State::Escaped && is_tag(rest, "<", "script") {
                state = State::DoubleEscaped;
            }
            at += 1;
        }
        self.at = bytes.len();
        &self.text[start..]
    }

    /// Everything left.
    pub(crate) fn rest(&mut self) -> &'a str {
        let start = self.at;
        self.at = self.text.len();
        &self.text[start..]
    }

    #[inline]
    fn end_tag(&mut self, at: usize, tag_end: TagEnd) -> Option<Attribute<'a>> {
        self.at = at;
        self.tag_end = tag_end;
        None
    }

    /// The next `<` that begins markup, or the end.
    #[inline]
    fn find_markup(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = start;
        while let Some(found) = memchr(b'<', &bytes[at..]) {
            at += found;
            match bytes.get(at + 1) {
                Some(b'/' | b'!' | b'?') => return at,
                Some(&byte) if self.begins_name(byte) => return at,
                _ => at += 1,
            }
        }
        bytes.len()
    }

    #[inline]
    fn begins_name(&self, byte: u8) -> bool {
        byte.is_ascii_alphabetic()
            || self.rules == Rules::Xml && (byte >= 0x80 || byte == b'_' || byte == b':')
    }

    #[inline]
    fn name(&mut self, start: usize) -> Name<'a> {
        let bytes = self.text.as_bytes();
        let mut key = Key::new();
        let mut at = start;
        while let Some(&byte) = bytes.get(at) {
            if is_space(byte) || byte == b'/' || byte == b'>' {
                break;
            }
            key = key.with(byte);
            at += 1;
        }
        self.at = at;
        Name {
            text: &self.text[start..at],
            key: key.finish(at - start),
        }
    }

    /// What begins with `<!`.
    fn declaration(&mut self, start: usize) -> Option<Token<'a>> {
        let rest = &self.text.as_bytes()[start..];
        if rest.starts_with(b"<!--") {
            self.at = self.comment_end(start + 4);
            return None;
        }
        if self.cdata && rest.starts_with(b"<![CDATA[") {
            let first = start + 9;
            let length = memmem::find(&rest[9..], b"]]>");
            let end = length.map_or(self.text.len(), |length| first + length);
            self.at = (end + 3).min(self.text.len());
            return Some(Token::Cdata(&self.text[first..end]));
        }
        let is_doctype = rest
            .get(2..9)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"doctype"));
        if is_doctype && self.rules == Rules::Xml {
            let declares = memchr2(b'>', b'[', rest).is_some_and(|at| rest[at] == b'[');
            let subset_end = if declares {
                memmem::find(rest, b"]>").map(|at| at + 2)
            } else {
                None
            };
            self.at = subset_end.map_or_else(|| self.after_byte(b'>', start), |end| start + end);
            return Some(Token::Doctype(declares));
        }
        self.at = self.after_byte(b'>', start + 2);
        is_doctype.then_some(Token::Doctype(false))
    }

    fn comment_end(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        if self.rules == Rules::Html {
            for abrupt in [&b">"[..], b"->"] {
                if bytes[start..].starts_with(abrupt) {
                    return start + abrupt.len();
                }
            }
        }
        let mut at = start;
        while let Some(found) = memchr(b'-', &bytes[at..]) {
            at += found;
            if bytes[at..].starts_with(b"-->") {
                return at + 3;
            }
            if self.rules == Rules::Html && bytes[at..].starts_with(b"--!>") {
                return at + 4;
            }
            at += 1;
        }
        bytes.len()
    }

    fn instruction_end(&self, start: usize) -> usize {
        if self.rules == Rules::Xml
            && let Some(length) = memmem::find(&self.text.as_bytes()[start..], b"?>")
        {
            return start + length + 2;
        }
        self.after_byte(b'>', start)
    }

    fn after_byte(&self, byte: u8, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        memchr(byte, &bytes[start..]).map_or(bytes.len(), |at| start + at + 1)
    }
}

/// The five characters that markup takes for white space.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0c')
}

/// Text with its character references replaced.
pub(crate) fn decode_text(text: &str) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    htmlize::unescape(text)
}

/// An attribute's value with its character references replaced: `&copy=` stays as it is there.
pub(crate) fn decode_attribute(value: &str) -> Cow<'_, str> {
    if memchr(b'&', value.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    htmlize::unescape_attribute(value)
}

fn is_tag(bytes: &[u8], opening: &str, name: &str) -> bool {
    let end = opening.len() + name.len();
    bytes.starts_with(opening.as_bytes())
        && bytes
            .get(opening.len()..end)
            .is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
        && bytes
            .get(end)
            .is_some_and(|&byte| is_space(byte) || byte == b'/' || byte == b'>')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every token on a line, attributes after their tag.
    fn scan(text: &str, rules: Rules) -> String {
        let mut scanner = Scanner::new(text, rules);
        let mut out = String::new();
        while let Some(token) = scanner.next() {
            match token {
                Token::Start(name) => {
                    out.push_str(&format!("<{}", name.text));
                    while let Some(attribute) = scanner.next_attribute() {
                        out.push_str(&format!(" {}={}", attribute.name.text, attribute.value));
                    }
                    out.push_str(match scanner.tag_end() {
                        TagEnd::Open => ">",
                        TagEnd::SelfClosing => "/>",
                        TagEnd::Missing => "!",
                    });
                    if scanner.tag_end() == TagEnd::Open && name.key == key("script") {
                        out.push_str(&format!("[{}]", scanner.script_text()));
                    }
                }
                Token::End(name) => out.push_str(&format!("</{}>", name.text)),
                Token::Text(text) => out.push_str(&format!("'{text}'")),
                Token::Cdata(text) => out.push_str(&format!("[{text}]")),
                Token::Doctype(_) => out.push('D'),
            }
        }
        out
    }

    #[track_caller]
    fn check(text: &str, tokens: &str) {
        assert_eq!(scan(text, Rules::Html), tokens);
    }

    #[test]
    fn attributes_come_in_every_spelling() {
        check(
            "<a b c=d e = 'f>' g=\"h\"i=/j/>",
            "<a b= c=d e=f> g=h i=/j/>",
        );
        check("<a/b=c/>x", "<a b=c/>'x'");
        check("<a b=c / >x", "<a b=c>'x'");
        check("<a =b=c>", "<a =b=c>");
        check("<a b=>x", "<a b=>'x'");
        check("<br/>", "<br/>");
    }

    #[test]
    fn what_is_no_tag_is_text() {
        check("a < b <> <3 <", "'a < b <> <3 <'");
        check("a</>b</ c>d</", "'a''b''d''</'");
        check("<a href='x", "<a!");
    }

    #[test]
    fn comments_end_where_the_standard_says() {
        check(
            "<!-->a<!--->b<!-- x --!>c<!-- -- > -->d<!--",
            "'a''b''c''d'",
        );
        check("<!x>a<?php b ?>c<![CDATA[d]]>e", "'a''c''e'");
    }

    #[test]
    fn scripts_hide_their_end_in_escaped_comments() {
        check("<script>a</SCRIPT >b", "<script>[a]</SCRIPT>'b'");
        check(
            "<script><!--<script></script>--></script>x",
            "<script>[<!--<script></script>-->]</script>'x'",
        );
        check(
            "<script><!--<script></script></script>x",
            "<script>[<!--<script></script>]</script>'x'",
        );
        check("<script><!--></script>x", "<script>[<!-->]</script>'x'");
        check(
            "<script><!--<script>-></script>x",
            "<script>[<!--<script>-></script>x]",
        );
        check(
            "<script></scripty></script>x",
            "<script>[</scripty>]</script>'x'",
        );
    }

    #[test]
    fn xml_has_cdata_instructions_and_a_document_type() {
        let text = "<?xml a='>'?><!DOCTYPE r [<!ENTITY a '>'>]><r><![CDATA[<b>]]></r>";
        assert_eq!(scan(text, Rules::Xml), "D<r>[<b>]</r>");
    }

    #[test]
    fn keys_tell_names_apart() {
        assert_eq!(key("HREF"), key("href"));
        assert_ne!(key("figcaption"), key("figcaptiom"));
        assert_ne!(key("a"), key("b"));
        assert_eq!(key("foreignObject"), key("foreignobject"));
    }
}
