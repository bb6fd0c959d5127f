//! JSON Feed (jsonfeed.org), versions 1 and 1.1.

use serde::Deserialize;
use teia_base::{Flags, LinkKind};

use crate::charset::{Decoded, Language};
use crate::feed_items::{Collected, Item};
use crate::fold::fold;
use crate::resolve::Resolver;
use crate::xml::moment;
use crate::{Extracted, Limits, Source};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonFeed {
    title: Text,
    description: Text,
    language: Text,
    home_page_url: Text,
    next_url: Text,
    items: Vec<JsonItem>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonItem {
    url: Text,
    external_url: Text,
    title: Text,
    content_html: Text,
    content_text: Text,
    summary: Text,
    image: Text,
    banner_image: Text,
    date_published: Text,
    date_modified: Text,
    attachments: Vec<Attachment>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attachment {
    url: Text,
}

/// A string, or nothing where something else stands.
#[derive(Debug, Default)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_str().unwrap_or_default().to_owned()))
    }
}

/// JSON with every number replaced by 0: nothing that is read here is one, and some are too large for
/// any reader.
fn without_numbers(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let (mut in_string, mut is_escaped, mut in_number) = (false, false, false);
    for c in json.chars() {
        if in_string {
            text.push(c);
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        let goes_on = in_number && matches!(c, '.' | 'e' | 'E' | '+');
        if c.is_ascii_digit() || c == '-' || goes_on {
            if !in_number {
                text.push('0');
            }
            in_number = true;
            continue;
        }
        in_number = false;
        in_string = c == '"';
        text.push(c);
    }
    text
}

pub(crate) fn extract(source: &Source<'_>, limits: &Limits) -> Extracted {
    let decoded = Decoded::new(source, Language::Plain);
    let mut collected = Collected::new(limits, decoded.begin());
    // Keys that stand twice stop the first reading, and so may numbers that are too large; the second
    // keeps the last of them, and has no numbers.
    // Both stop at a depth of 128.
    let feed = serde_json::from_str::<JsonFeed>(&decoded.text).or_else(|_| {
        let text = without_numbers(&decoded.text);
        serde_json::from_str::<serde_json::Value>(&text).and_then(serde_json::from_value)
    });
    let Ok(feed) = feed else {
        collected.extracted.flags.add(Flags::PARSE_PARTIAL);
        return collected.finish(source.url);
    };
    let resolver = Resolver::new(source.url);
    let resolve = |text: &Text| {
        Some(text.0.trim())
            .filter(|text| !text.is_empty())
            .and_then(|text| resolver.resolve(text))
    };
    collected.extracted.title = fold(&feed.title.0, limits.title_bytes);
    collected.extracted.description = fold(&feed.description.0, limits.title_bytes);
    collected.extracted.language = crate::extracted::language(&feed.language.0);
    for url in [&feed.home_page_url, &feed.next_url]
        .into_iter()
        .filter_map(resolve)
    {
        collected.add(url, LinkKind::Alternate);
    }
    if feed.items.len() > limits.feed_items {
        collected.extracted.flags.add(Flags::PARSE_PARTIAL);
    }
    for entry in feed.items.into_iter().take(limits.feed_items) {
        let mut item = Item {
            title: fold(&entry.title.0, limits.title_bytes),
            moment: moment(&entry.date_modified.0).or_else(|| moment(&entry.date_published.0)),
            pages: [&entry.url, &entry.external_url]
                .into_iter()
                .filter_map(resolve)
                .collect(),
            ..Item::default()
        };
        let images = [&entry.image, &entry.banner_image]
            .into_iter()
            .filter_map(resolve);
        item.others.extend(images.map(|url| (url, LinkKind::Image)));
        let attachments = entry
            .attachments
            .iter()
            .filter_map(|attachment| resolve(&attachment.url));
        item.others
            .extend(attachments.map(|url| (url, LinkKind::Media)));
        for text in [entry.summary, entry.content_text] {
            if !text.0.is_empty() {
                let html = text.0.replace('&', "&amp;").replace('<', "&lt;");
                item.contents.push((html, source.url.clone()));
            }
        }
        if !entry.content_html.0.is_empty() {
            item.contents
                .push((entry.content_html.0, source.url.clone()));
        }
        collected.push_item(item, source);
    }
    collected.finish(source.url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_away_and_strings_stay() {
        let json = r#"{"a1":-1.5e+400,"b":"1e9 \"-2\" \\","c":[1,-0.1],"d":true,"e":null}"#;
        let wanted = r#"{"a1":0,"b":"1e9 \"-2\" \\","c":[0,0],"d":true,"e":null}"#;
        assert_eq!(without_numbers(json), wanted);
    }
    use url::Url;

    fn read(body: &str) -> Extracted {
        let url = Url::parse("http://a.example/feed.json").unwrap();
        extract(&Source::new(&url, body.as_bytes()), &Limits::default())
    }

    #[test]
    fn items_are_links() {
        let feed = read(
            r#"{"version":"https://jsonfeed.org/version/1.1","title":"T","home_page_url":"/",
            "items":[{"id":1,"url":"b","title":"B","date_modified":"2026-11-15T20:00:00Z",
            "content_html":"<a href=c>C</a>"}]}"#,
        );
        assert_eq!(feed.title, "T");
        let links: Vec<_> = feed
            .links
            .iter()
            .map(|link| (link.kind, link.url.as_str(), link.anchor.as_str()))
            .collect();
        assert_eq!(
            links,
            [
                (LinkKind::Alternate, "http://a.example/", ""),
                (LinkKind::Feed, "http://a.example/b", "B"),
                (LinkKind::Anchor, "http://a.example/c", "C"),
            ]
        );
        assert!(feed.links[1].last_modified.is_some());
    }

    #[test]
    fn odd_values_stop_nothing() {
        assert_eq!(
            read(r#"{"title":7,"title":"x","items":[{"url":"a"},{"url":null}]}"#)
                .links
                .len(),
            1
        );
        assert_eq!(read(r#"{"x":1e400,"items":[{"url":"a"}]}"#).links.len(), 1);
        let deep = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(read(&deep).flags.has(Flags::PARSE_PARTIAL));
    }
}
