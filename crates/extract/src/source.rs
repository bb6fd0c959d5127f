//! What an extractor is given.

use teia_base::MediaType;
use url::Url;

/// One answered exchange, as far as extraction needs it.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The URL as requested.
    pub url: &'a Url,
    /// The declared media type.
    pub media_type: Option<&'a MediaType>,
    /// The body, its content coding undone.
    pub body: &'a [u8],
    /// Values of `Link:` headers.
    pub link_headers: &'a [String],
    /// Values of `X-Robots-Tag:` headers.
    pub robots_headers: &'a [String],
    /// The `Refresh:` header.
    pub refresh_header: Option<&'a str>,
    /// The `Content-Language:` header.
    pub content_language: Option<&'a str>,
    /// The name by which pages and robots.txt address us.
    pub robot_token: &'a str,
    /// The status of the answer.
    pub status: u16,
}

impl<'a> Source<'a> {
    /// A body with nothing declared about it, answered with 200.
    pub fn new(url: &'a Url, body: &'a [u8]) -> Self {
        Self {
            url,
            media_type: None,
            body,
            link_headers: &[],
            robots_headers: &[],
            refresh_header: None,
            content_language: None,
            robot_token: "Teia",
            status: 200,
        }
    }

    /// The last label of the host, which hints at a language where no charset is declared.
    pub(crate) fn top_level_domain(&self) -> Option<&'a str> {
        self.url.domain()?.trim_end_matches('.').rsplit('.').next()
    }

    /// The charset that the media type names.
    pub(crate) fn charset(&self) -> Option<&'a str> {
        self.media_type?.charset()
    }
}
