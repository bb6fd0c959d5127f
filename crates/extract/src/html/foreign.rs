//! SVG and MathML inside HTML: other rules hold there for CDATA, raw text and `/>`.

use super::tag::breaks_out;
use crate::markup::key;

/// The open foreign elements. Empty on most of a page.
///
/// HTML inside an integration point (`foreignObject`) is not followed: an end tag of an open
/// foreign element's name closes it.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    open: Vec<Element>,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    name: u64,
    space: Space,
    /// HTML rules hold for start tags inside it.
    integration: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Svg,
    Math,
}

/// Elements past this depth are not followed.
const MAX_DEPTH: usize = 512;

impl Foreign {
    /// Whether CDATA sections are honoured here.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether text here is that of an SVG `style`, or of a `script`.
    pub(super) fn innermost_is(&self, name: u64) -> bool {
        self.open.last().is_some_and(|element| element.name == name)
    }

    /// Whether a start tag of this name is a foreign element; leaves foreign content where the
    /// name does not belong there.
    pub(super) fn enters(&mut self, name: u64, is_font_with_look: bool) -> bool {
        let Some(top) = self.open.last() else {
            return false;
        };
        if top.integration {
            let keeps = const { [key("mglyph"), key("malignmark")] }.contains(&name);
            return top.space == Space::Math && keeps;
        }
        if breaks_out(name) || is_font_with_look {
            self.leave();
            return false;
        }
        true
    }

    /// Back to where HTML rules hold.
    fn leave(&mut self) {
        while self.open.last().is_some_and(|element| !element.integration) {
            self.open.pop();
        }
    }

    /// Opens a foreign element, or `svg` and `math` themselves.
    pub(super) fn push(&mut self, name: u64, html_annotation: bool) {
        let space = if name == const { key("svg") } {
            Space::Svg
        } else if name == const { key("math") } {
            Space::Math
        } else {
            self.open.last().map_or(Space::Svg, |element| element.space)
        };
        let integration = match space {
            Space::Svg => {
                const { [key("foreignobject"), key("desc"), key("title")] }.contains(&name)
            }
            Space::Math => {
                html_annotation
                    || const { [key("mi"), key("mo"), key("mn"), key("ms"), key("mtext")] }
                        .contains(&name)
            }
        };
        if self.open.len() < MAX_DEPTH {
            self.open.push(Element {
                name,
                space,
                integration,
            });
        }
    }

    /// Closes the innermost element of this name and what is inside it.
    pub(super) fn close(&mut self, name: u64) {
        if let Some(at) = self.open.iter().rposition(|element| element.name == name) {
            self.open.truncate(at);
        } else if breaks_out(name) {
            // The end of an HTML element around it all.
            self.leave();
        }
    }
}
