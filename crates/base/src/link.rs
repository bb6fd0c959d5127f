//! A link as a page has it.

use serde::{Deserialize, Serialize};

/// A link out of a document, resolved against its base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The absolute URL as found, without fragment.
    pub url: String,
    /// Where in the page it stood.
    pub kind: LinkKind,
    /// What its `rel` asks of us.
    pub rel: Rel,
    /// Its text, or the `alt` of its picture; white space folded, bounded.
    pub anchor: String,
    /// `<lastmod>` of a sitemap, `updated` of a feed.
    pub last_modified: Option<crate::Timestamp>,
}

/// Where a link stood, and so what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>`.
    Area,
    /// `<link rel=canonical>`.
    Canonical,
    /// `<link>` of another kind: alternate, next, prev, search…
    Alternate,
    /// `<iframe>`, `<frame>`.
    Frame,
    /// `<form method=get action>`.
    Form,
    /// `<meta http-equiv=refresh>` and the `Refresh:` header.
    Refresh,
    /// The `Location:` of a redirect.
    Redirect,
    /// The `Link:` header.
    Header,
    /// A page named by a sitemap, or a sitemap named by robots.txt or an index.
    Sitemap,
    /// An item of a feed.
    Feed,
    /// A URL in plain text.
    Text,
    /// `<img>`, `srcset`, `<picture>`, `<input type=image>`, `poster`, `background`.
    Image,
    /// `<link rel=stylesheet>`, `@import`.
    Style,
    /// `<script src>`.
    Script,
    /// `<link rel=icon>` and its kin, `<link rel=manifest>`, preloads.
    Icon,
    /// `<audio>`, `<video>`, `<source>`, `<track>`.
    Media,
    /// `<embed>`, `<object>`, `<applet>`.
    Object,
    /// `url()` in a style sheet.
    Css,
    /// Given by the person who started the crawl.
    Seed,
}

impl LinkKind {
    /// Whether the page needs it to be shown: images, styles, scripts.
    pub fn is_requisite(self) -> bool {
        matches!(
            self,
            Self::Image
                | Self::Style
                | Self::Script
                | Self::Icon
                | Self::Media
                | Self::Object
                | Self::Css
        )
    }

    /// The name in JSON and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anchor => "anchor",
            Self::Area => "area",
            Self::Canonical => "canonical",
            Self::Alternate => "alternate",
            Self::Frame => "frame",
            Self::Form => "form",
            Self::Refresh => "refresh",
            Self::Redirect => "redirect",
            Self::Header => "header",
            Self::Sitemap => "sitemap",
            Self::Feed => "feed",
            Self::Text => "text",
            Self::Image => "image",
            Self::Style => "style",
            Self::Script => "script",
            Self::Icon => "icon",
            Self::Media => "media",
            Self::Object => "object",
            Self::Css => "css",
            Self::Seed => "seed",
        }
    }
}

/// The wishes in a link's `rel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rel {
    /// `nofollow`: keep it out of the frontier.
    pub nofollow: bool,
    /// `ugc` or `sponsored`: not the author's own word.
    pub foreign: bool,
}

impl Rel {
    /// Reads the value of a `rel` attribute.
    pub fn parse(value: &str) -> Self {
        let mut rel = Self::default();
        for word in value.split(|c: char| c.is_ascii_whitespace() || c == ',') {
            rel.nofollow |= word.eq_ignore_ascii_case("nofollow");
            rel.foreign |=
                word.eq_ignore_ascii_case("ugc") || word.eq_ignore_ascii_case("sponsored");
        }
        rel
    }
}
