//! The elements that mean something to extraction.

use crate::markup::key;

/// An element, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Anchor,
    Area,
    Audio,
    Base,
    Body,
    Embed,
    Form,
    Frame,
    Frameset,
    Heading,
    Html,
    Iframe,
    /// `img`, and `image`, which browsers take for it.
    Img,
    Input,
    Link,
    Math,
    Meta,
    Noembed,
    Noframes,
    Noscript,
    Object,
    Plaintext,
    Script,
    Source,
    Style,
    Svg,
    Template,
    Textarea,
    Title,
    Track,
    Video,
    Xmp,
    /// Stands in a line: no word ends at its border.
    Inline,
    /// Its end tag is left out so often that it does not count as an open element.
    Unclosed,
    /// Any other.
    Block,
}

impl Tag {
    /// The element with this key of its name.
    #[inline]
    pub(super) fn from_key(name: u64) -> Self {
        macro_rules! tags {
            ($($($name:literal)|+ => $tag:ident,)*) => {
                match name {
                    $(name if $(name == const { key($name) })||+ => Self::$tag,)*
                    _ => Self::Block,
                }
            };
        }
        tags! {
            "a" => Anchor,
            "area" => Area,
            "audio" => Audio,
            "base" => Base,
            "body" => Body,
            "embed" => Embed,
            "form" => Form,
            "frame" => Frame,
            "frameset" => Frameset,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => Heading,
            "html" => Html,
            "iframe" => Iframe,
            "img" | "image" => Img,
            "input" => Input,
            "link" => Link,
            "math" => Math,
            "meta" => Meta,
            "noembed" => Noembed,
            "noframes" => Noframes,
            "noscript" => Noscript,
            "object" => Object,
            "plaintext" => Plaintext,
            "script" => Script,
            "source" => Source,
            "style" => Style,
            "svg" => Svg,
            "template" => Template,
            "textarea" => Textarea,
            "title" => Title,
            "track" => Track,
            "video" => Video,
            "xmp" => Xmp,
            "abbr" | "acronym" | "b" | "bdi" | "bdo" | "big" | "cite" | "code" | "data" | "del"
                | "dfn" | "em" | "font" | "i" | "ins" | "kbd" | "label" | "mark" | "nobr" | "q"
                | "rb" | "ruby" | "s" | "samp" | "small" | "span" | "strike" | "strong" | "sub"
                | "sup" | "time" | "tt" | "u" | "var" => Inline,
            "p" | "li" | "dt" | "dd" | "tr" | "td" | "th" | "thead" | "tbody" | "tfoot" | "option"
                | "optgroup" | "colgroup" | "rt" | "rp" | "br" | "hr" | "wbr" | "col" | "param"
                | "head" | "keygen" => Unclosed,
        }
    }

    /// Whether words go on across its border.
    #[inline]
    pub(super) fn is_inline(self, name: u64) -> bool {
        matches!(
            self,
            Self::Anchor
                | Self::Inline
                | Self::Script
                | Self::Style
                | Self::Template
                | Self::Noscript
        ) || name == const { key("wbr") }
    }

    /// Whether browsers show what is in it, and what follows it, on a line of its own, or in a cell. What they show within a line,
    /// pictures and buttons and elements that nobody knows, only ends words; so does `br`, because many end lines by hand.
    #[inline]
    pub(super) fn begins_line(self, name: u64) -> bool {
        macro_rules! any {
            ($($name:literal)*) => { $(name == const { key($name) })||* };
        }
        self == Self::Heading
            || any!("p" "div" "li" "td" "th" "tr" "dt" "dd" "section" "article" "ul" "ol" "table" "header" "footer" "nav"
                    "aside" "main" "blockquote" "pre" "figure" "figcaption" "dl" "form" "fieldset" "legend" "details"
                    "summary" "address" "caption" "center" "hr" "hgroup" "menu" "dir" "option" "search" "dialog" "listing" "xmp")
    }

    /// Whether it has neither content nor an end tag, or is not counted for another reason.
    #[inline]
    pub(super) fn is_uncounted(self) -> bool {
        matches!(
            self,
            Self::Unclosed
                | Self::Area
                | Self::Base
                | Self::Embed
                | Self::Frame
                | Self::Img
                | Self::Input
                | Self::Link
                | Self::Meta
                | Self::Source
                | Self::Track
        )
    }
}

/// Whether an element of this name ends SVG and MathML around it (HTML standard, 13.2.6.5).
pub(super) fn breaks_out(name: u64) -> bool {
    macro_rules! any {
        ($($name:literal)*) => { $(name == const { key($name) })||* };
    }
    any!("b" "big" "blockquote" "body" "br" "center" "code" "dd" "div" "dl" "dt" "em" "embed" "h1"
         "h2" "h3" "h4" "h5" "h6" "head" "hr" "i" "img" "li" "listing" "menu" "meta" "nobr" "ol" "p"
         "pre" "ruby" "s" "small" "span" "strong" "strike" "sub" "sup" "table" "tt" "u" "ul" "var")
}
