//! Small pieces of HTML, each escaped where it takes text.

use super::entry::Entry;

/// Text made safe for element content and for attribute values.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A link.
pub(super) fn link(href: &str, text: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escape(href), escape(text))
}

/// A paragraph of plain text.
pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// The paragraphs of an entry; the first one stands out.
pub(super) fn prose(entry: &Entry) -> String {
    let mut html = String::new();
    for (index, text) in entry.paragraphs.iter().enumerate() {
        let class = if index == 0 { " class=\"lead\"" } else { "" };
        html += &format!("<p{class}>{}</p>\n", escape(text));
    }
    html
}

/// A list of plain texts, `ul` or `ol`.
pub(super) fn list(tag: &str, items: &[&str]) -> String {
    let rows: String = items
        .iter()
        .map(|item| format!("<li>{}</li>\n", escape(item)))
        .collect();
    format!("<{tag}>\n{rows}</{tag}>\n")
}

/// A list of links: address, text.
pub(super) fn links(items: &[(String, String)]) -> String {
    let rows: String = items
        .iter()
        .map(|(href, text)| format!("<li>{}</li>\n", link(href, text)))
        .collect();
    format!("<ul class=\"links\">\n{rows}</ul>\n")
}

/// A table of facts, one per row; values are HTML.
pub(super) fn facts(caption: &str, rows: &[(&str, String)]) -> String {
    let rows: String = rows
        .iter()
        .map(|(name, value)| {
            format!(
                "<tr><th scope=\"row\">{}</th><td>{value}</td></tr>\n",
                escape(name)
            )
        })
        .collect();
    format!(
        "<table class=\"facts\">\n<caption>{}</caption>\n<tbody>\n{rows}</tbody>\n</table>\n",
        escape(caption)
    )
}

/// A table with a header row; cells are HTML.
pub(super) fn table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let head: String = head
        .iter()
        .map(|cell| format!("<th scope=\"col\">{}</th>", escape(cell)))
        .collect();
    let rows: String = rows
        .iter()
        .map(|row| {
            let cells: String = row.iter().map(|cell| format!("<td>{cell}</td>")).collect();
            format!("<tr>{cells}</tr>\n")
        })
        .collect();
    format!(
        "<div class=\"wide\"><table>\n<caption>{}</caption>\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n",
        escape(caption)
    )
}

/// A card: picture (HTML), title and a line below it.
pub(super) fn card(href: &str, picture: &str, title: &str, line: &str) -> String {
    format!(
        "<li class=\"card\"><a href=\"{}\">{picture}<strong>{}</strong></a> <span>{}</span></li>\n",
        escape(href),
        escape(title),
        escape(line)
    )
}

/// A grid of cards.
pub(super) fn cards(cards: &str) -> String {
    format!("<ul class=\"cards\">\n{cards}</ul>\n")
}

/// A figure: picture (HTML) and its caption.
pub(super) fn figure(picture: &str, caption: &str) -> String {
    format!(
        "<figure>{picture}<figcaption>{}</figcaption></figure>\n",
        escape(caption)
    )
}

/// An image.
pub(super) fn image(src: &str, alt: &str, width: u32, height: u32) -> String {
    format!(
        "<img src=\"{}\" alt=\"{}\" width=\"{width}\" height=\"{height}\">",
        escape(src),
        escape(alt)
    )
}

/// A titled section.
pub(super) fn section(title: &str, html: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{html}</section>\n", escape(title))
}

/// An article beside its facts.
pub(super) fn with_aside(article: &str, aside: &str) -> String {
    format!(
        "<div class=\"split\">\n<article>\n{article}</article>\n<aside>\n{aside}</aside>\n</div>\n"
    )
}
