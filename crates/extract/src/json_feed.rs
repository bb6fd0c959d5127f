//! JSON Feed (jsonfeed.org), versions 1 and 1.1.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use teia_base::{Flags, LinkKind};

use crate::charset::{Decoded, Language};
use crate::feed_items::{Collected, Item};
use crate::fold::{fold, fold_title};
use crate::resolve::Resolver;
use crate::xml::moment;
use crate::{Extracted, Limits, Source};

/// A feed while it is read. Items are taken in one by one and those past the limit are passed over, so
/// that a feed costs no more memory than its longest item.
struct Reading<'a> {
    source: &'a Source<'a>,
    limits: &'a Limits,
    resolver: Resolver<'a>,
    collected: Collected<'a>,
    items: usize,
}

/// What an object's field is read into.
trait Fields<'de> {
    /// Takes the value of a field that it knows; of the others, says so.
    fn take<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;
}

/// Reads an object field by field, the last of those with one name counting; anything else is nothing.
struct Object<'f, F>(&'f mut F);

impl<'de, F: Fields<'de>> DeserializeSeed<'de> for Object<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values that are not what was looked for are read to their end and are nothing.
macro_rules! others_are_nothing {
    ($value:expr) => {
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("anything")
        }
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

impl<'de, F: Fields<'de>> Visitor<'de> for Object<'_, F> {
    type Value = ();

    others_are_nothing!(());

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Name<'de>>()? {
            if !self.0.take(&name.0, &mut map)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The name of a field, copied only where it is written with escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads a list, element by element; anything else is nothing.
struct List<F>(F);

/// One element of a list; false where it was not read.
trait Elements<'de> {
    fn next<A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<bool, A::Error>;
}

impl<'de, F: Elements<'de>> DeserializeSeed<'de> for List<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: Elements<'de>> Visitor<'de> for List<F> {
    type Value = ();

    others_are_nothing!(());

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        while self.0.next(&mut seq)? {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A string, or nothing where something else stands.
#[derive(Debug, Default)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    others_are_nothing!(Text::default());

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Text, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }
}

#[derive(Debug, Default)]
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
    attachments: Vec<Text>,
    most_attachments: usize,
}

impl<'de> Fields<'de> for JsonItem {
    fn take<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        let text = match name {
            "url" => &mut self.url,
            "external_url" => &mut self.external_url,
            "title" => &mut self.title,
            "content_html" => &mut self.content_html,
            "content_text" => &mut self.content_text,
            "summary" => &mut self.summary,
            "image" => &mut self.image,
            "banner_image" => &mut self.banner_image,
            "date_published" => &mut self.date_published,
            "date_modified" => &mut self.date_modified,
            "attachments" => {
                map.next_value_seed(List(Attachments(self)))?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        *text = map.next_value()?;
        Ok(true)
    }
}

struct Attachments<'i>(&'i mut JsonItem);

impl<'de> Elements<'de> for Attachments<'_> {
    fn next<A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<bool, A::Error> {
        if self.0.attachments.len() >= self.0.most_attachments {
            return Ok(seq.next_element::<IgnoredAny>()?.is_some());
        }
        let mut attachment = Attachment::default();
        let is_there = seq.next_element_seed(Object(&mut attachment))?.is_some();
        if !attachment.0.0.is_empty() {
            self.0.attachments.push(attachment.0);
        }
        Ok(is_there)
    }
}

#[derive(Debug, Default)]
struct Attachment(Text);

impl<'de> Fields<'de> for Attachment {
    fn take<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        let is_url = name == "url";
        if is_url {
            self.0 = map.next_value()?;
        }
        Ok(is_url)
    }
}

impl<'de> Fields<'de> for Reading<'_> {
    fn take<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        let most = self.limits.title_bytes;
        match name {
            "title" => {
                self.collected.extracted.title = fold_title(&map.next_value::<Text>()?.0, most);
            }
            "description" => {
                self.collected.extracted.description = fold(&map.next_value::<Text>()?.0, most);
            }
            "language" => {
                let language = map.next_value::<Text>()?.0;
                self.collected.extracted.language = crate::extracted::language(&language);
            }
            "home_page_url" | "next_url" => {
                let url = map.next_value::<Text>()?;
                if let Some(url) = self.resolve(&url) {
                    self.collected.add(url, LinkKind::Alternate);
                }
            }
            "items" => map.next_value_seed(List(Items(self)))?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

struct Items<'r, 'a>(&'r mut Reading<'a>);

impl<'de> Elements<'de> for Items<'_, '_> {
    fn next<A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<bool, A::Error> {
        if self.0.items >= self.0.limits.feed_items {
            let is_there = seq.next_element::<IgnoredAny>()?.is_some();
            if is_there {
                self.0.collected.extracted.flags.add(Flags::PARSE_PARTIAL);
            }
            return Ok(is_there);
        }
        let mut item = JsonItem {
            most_attachments: self.0.limits.links_per_page,
            ..JsonItem::default()
        };
        let is_there = seq.next_element_seed(Object(&mut item))?.is_some();
        if is_there {
            self.0.items += 1;
            self.0.push(item);
        }
        Ok(is_there)
    }
}

impl<'a> Reading<'a> {
    fn new(source: &'a Source<'a>, limits: &'a Limits, begun: Extracted) -> Self {
        Self {
            source,
            limits,
            resolver: Resolver::new(source.url),
            collected: Collected::new(limits, begun),
            items: 0,
        }
    }

    fn read(&mut self, json: &str) -> serde_json::Result<()> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        Object(self).deserialize(&mut deserializer)?;
        deserializer.end()
    }

    fn resolve(&self, text: &Text) -> Option<String> {
        Some(text.0.trim())
            .filter(|text| !text.is_empty())
            .and_then(|text| self.resolver.resolve(text))
    }

    fn push(&mut self, entry: JsonItem) {
        let pages = [&entry.url, &entry.external_url];
        let images = [&entry.image, &entry.banner_image];
        let mut item = Item {
            title: fold_title(&entry.title.0, self.limits.title_bytes),
            moment: moment(&entry.date_modified.0).or_else(|| moment(&entry.date_published.0)),
            pages: pages
                .into_iter()
                .filter_map(|url| self.resolve(url))
                .collect(),
            ..Item::default()
        };
        for (urls, kind) in [
            (&images[..], LinkKind::Image),
            (
                &entry.attachments.iter().collect::<Vec<_>>(),
                LinkKind::Media,
            ),
        ] {
            let urls = urls.iter().filter_map(|url| self.resolve(url));
            item.others.extend(urls.map(|url| (url, kind)));
        }
        for text in [entry.summary, entry.content_text] {
            if !text.0.is_empty() {
                let html = text.0.replace('&', "&amp;").replace('<', "&lt;");
                item.contents.push((html, self.source.url.clone()));
            }
        }
        if !entry.content_html.0.is_empty() {
            item.contents
                .push((entry.content_html.0, self.source.url.clone()));
        }
        self.collected.push_item(item, self.source);
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
    let mut reading = Reading::new(source, limits, decoded.begin());
    // Numbers that are too large stop the first reading; the second has no numbers. Both keep what
    // stands before a fault.
    if reading.read(&decoded.text).is_err() {
        reading = Reading::new(source, limits, decoded.begin());
        if reading.read(&without_numbers(&decoded.text)).is_err() {
            reading.collected.extracted.flags.add(Flags::PARSE_PARTIAL);
        }
    }
    reading.collected.finish(source.url)
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
    fn items_past_the_limit_are_passed_over() {
        let items = vec!["{}"; 5_000].join(",");
        let feed = read(&format!(
            r#"{{"items":[{items},{{"url":"a"}}],"title":"T"}}"#
        ));
        assert!(feed.links.is_empty() && feed.flags.has(Flags::PARSE_PARTIAL));
        assert_eq!(feed.title, "T", "what follows the items counts");
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
        // What is no item is passed over, and what stands before a fault is kept.
        let odd = read(r#"{"items":[7,"x",[],{"url":"a","attachments":{}},{"url":"b"},"#);
        assert_eq!(odd.links.len(), 2);
        assert!(odd.flags.has(Flags::PARSE_PARTIAL));
        let deep = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(read(&deep).flags.has(Flags::PARSE_PARTIAL));
    }
}
