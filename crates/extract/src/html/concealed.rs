//! Text that its page does not show: `hidden`, and a style that says so at the element itself. (What style sheets
//! and scripts hide, nobody sees here.)
//!
//! It is no text of the page, so nobody is found by it; links in it are followed. An element counts as open until as
//! many of its name have ended as began, and one that is never ended hides nothing: it may be all there is.

use super::attributes::{Attributes, Slot};
use super::tag::Tag;
use crate::markup::key;

/// So much of a style is looked at.
const MOST_STYLE_BYTES: usize = 1 << 10;

/// The outermost element that is not shown.
#[derive(Debug, Default)]
pub(super) struct Concealed {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    name: u64,
    depth: usize,
    start: usize,
}

impl Concealed {
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// A start tag. Gives where the text that was not shown began, if it has ended here.
    #[inline]
    pub(super) fn start(
        &mut self,
        tag: Tag,
        name: u64,
        attributes: &Attributes<'_>,
        at: usize,
    ) -> Option<usize> {
        let paragraph = const { key("p") };
        let mut ended = None;
        if let Some(open) = &mut self.open {
            // The end of a paragraph may be left out.
            if open.name != paragraph || !tag.begins_line(name) {
                open.depth += usize::from(open.name == name);
                return None;
            }
            ended = self.open.take().map(|open| open.start);
        }
        let can_be = name == paragraph
            || !tag.is_uncounted()
                && matches!(
                    tag,
                    Tag::Block | Tag::Inline | Tag::Form | Tag::Anchor | Tag::Heading
                );
        if can_be && !attributes.is_empty() && conceal(attributes) {
            let start = ended.unwrap_or(at);
            self.open = Some(Open {
                name,
                depth: 1,
                start,
            });
        }
        ended
    }

    /// An end tag; the same.
    #[inline]
    pub(super) fn end(&mut self, name: u64) -> Option<usize> {
        let open = self.open.as_mut().filter(|open| open.name == name)?;
        open.depth -= 1;
        if open.depth > 0 {
            return None;
        }
        self.open.take().map(|open| open.start)
    }
}

/// Whether these attributes say that their element is not shown.
fn conceal(attributes: &Attributes<'_>) -> bool {
    // `until-found` is shown to whoever looks for it.
    let hidden = attributes.raw(Slot::Hidden);
    if hidden.is_some_and(|value| !value.trim().eq_ignore_ascii_case("until-found")) {
        return true;
    }
    attributes.raw(Slot::Style).is_some_and(|style| {
        let style = plain(style);
        counting(&style, "display", DISPLAYS).is_some_and(|value| value == "none")
            || counting(&style, "visibility", VISIBILITIES).is_some_and(|value| value == "hidden")
    })
}

/// What each of the two may begin with (CSS Display 3 and 4); who says anything else has said nothing.
const DISPLAYS: &[&str] = &[
    "none",
    "block",
    "inline",
    "run-in",
    "flow",
    "flow-root",
    "table",
    "flex",
    "grid",
    "ruby",
    "math",
    "list-item",
    "contents",
    "inline-block",
    "inline-table",
    "inline-flex",
    "inline-grid",
    "table-row-group",
    "table-header-group",
    "table-footer-group",
    "table-row",
    "table-cell",
    "table-column-group",
    "table-column",
    "table-caption",
    "ruby-base",
    "ruby-text",
    "ruby-base-container",
    "ruby-text-container",
    "-webkit-box",
    "-webkit-flex",
    "inherit",
    "initial",
    "unset",
    "revert",
    "revert-layer",
];
const VISIBILITIES: &[&str] = &[
    "visible",
    "hidden",
    "collapse",
    "inherit",
    "initial",
    "unset",
    "revert",
    "revert-layer",
];

/// A style in small letters, without comments, and without what stands in quotes and brackets: no sign of those ends a
/// declaration.
fn plain(style: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0_usize;
    let mut letters = style.bytes().take(MOST_STYLE_BYTES).peekable();
    while let Some(letter) = letters.next() {
        match letter {
            b'/' if letters.peek() == Some(&b'*') => {
                letters.next();
                let mut last = b' ';
                for letter in letters.by_ref() {
                    if last == b'*' && letter == b'/' {
                        break;
                    }
                    last = letter;
                }
                plain.push(' ');
            }
            b'"' | b'\'' => {
                while let Some(inner) = letters.next().filter(|inner| *inner != letter) {
                    if inner == b'\\' {
                        letters.next();
                    }
                }
                plain.push('"');
            }
            b'\\' => {
                letters.next();
                plain.push('\\');
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                plain.push('(');
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            letter => plain.push(char::from(letter.to_ascii_lowercase())),
        }
    }
    plain
}

/// The value of the declaration of this name that counts: the last one that can be, unless an important one is there.
fn counting<'a>(style: &'a str, name: &str, values: &[&str]) -> Option<&'a str> {
    let mut counting: Option<(&str, bool)> = None;
    for declaration in style.split(';') {
        let Some((said, value)) = declaration.split_once(':') else {
            continue;
        };
        if said.trim() != name {
            continue;
        }
        let (value, is_important) = match value.split_once('!') {
            None => (value, false),
            Some((value, word)) if word.trim() == "important" => (value, true),
            Some(_) => continue,
        };
        let mut words = value.split_whitespace();
        let first = words.next().unwrap_or_default();
        // Only some of the others have a second word.
        let is_alone = words.next().is_none();
        let can_be = values.contains(&first) && (is_alone || first != "none" && first != "hidden");
        let is_stronger = counting.is_none_or(|(_, before)| is_important || !before);
        if can_be && is_stronger {
            counting = Some((first, is_important));
        }
    }
    counting.map(|(value, _)| value)
}
