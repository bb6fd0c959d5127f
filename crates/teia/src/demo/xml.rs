//! The sitemap and the two feeds.

use super::html::escape;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// A sitemap: address and day of the last change of each page.
pub(super) fn sitemap(pages: &[(String, String)]) -> String {
    let rows: String = pages
        .iter()
        .map(|(url, day)| {
            format!(
                "<url><loc>{}</loc><lastmod>{day}</lastmod></url>\n",
                escape(url)
            )
        })
        .collect();
    format!(
        "{DECLARATION}<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{rows}</urlset>\n"
    )
}

/// What a feed is about.
#[derive(Debug)]
pub(super) struct Channel {
    /// Its title.
    pub(super) title: &'static str,
    /// The front page it belongs to.
    pub(super) url: &'static str,
    /// What it is, in a few words.
    pub(super) description: &'static str,
}

/// One entry of a feed.
#[derive(Debug)]
pub(super) struct Item {
    /// Its title.
    pub(super) title: &'static str,
    /// Its address.
    pub(super) url: String,
    /// The day it appeared, as `2026-10-28`.
    pub(super) day: &'static str,
    /// Who wrote it.
    pub(super) author: &'static str,
    /// Its first sentences.
    pub(super) summary: &'static str,
}

/// The feed as RSS 2.0.
pub(super) fn rss(channel: &Channel, items: &[Item]) -> String {
    let rows: String = items
        .iter()
        .map(|item| {
            format!(
                "<item><title>{}</title><link>{url}</link><guid>{url}</guid>\
                 <pubDate>{}</pubDate><description>{}</description></item>\n",
                escape(item.title),
                rfc822(item.day),
                escape(item.summary),
                url = escape(&item.url),
            )
        })
        .collect();
    format!(
        "{DECLARATION}<rss version=\"2.0\"><channel>\n<title>{}</title><link>{}</link>\
         <description>{}</description><language>pt</language>\n{rows}</channel></rss>\n",
        escape(channel.title),
        escape(channel.url),
        escape(channel.description)
    )
}

/// The feed as Atom.
pub(super) fn atom(channel: &Channel, items: &[Item]) -> String {
    let newest = items.first().map_or("2026-01-01", |item| item.day);
    let rows: String = items
        .iter()
        .map(|item| {
            format!(
                "<entry><title>{}</title><id>{url}</id><link href=\"{url}\"/>\
                 <updated>{}T07:00:00Z</updated><author><name>{}</name></author>\
                 <summary>{}</summary></entry>\n",
                escape(item.title),
                item.day,
                escape(item.author),
                escape(item.summary),
                url = escape(&item.url),
            )
        })
        .collect();
    format!(
        "{DECLARATION}<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"pt\">\n\
         <title>{}</title><subtitle>{}</subtitle><id>{url}</id><link href=\"{url}\"/>\
         <updated>{newest}T07:00:00Z</updated>\n{rows}</feed>\n",
        escape(channel.title),
        escape(channel.description),
        url = escape(channel.url),
    )
}

/// Seven in the morning of the day `2026-10-28`, as RSS wants it.
fn rfc822(day: &str) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let mut parts = day.split('-');
    let year = parts.next().unwrap_or("2026");
    let month: usize = parts.next().and_then(|part| part.parse().ok()).unwrap_or(1);
    let name = MONTHS.get(month.saturating_sub(1)).unwrap_or(&"Jan");
    // The day of the week is optional (RFC 822, 5.1).
    format!(
        "{} {name} {year} 07:00:00 GMT",
        parts.next().unwrap_or("01")
    )
}
