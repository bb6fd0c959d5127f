//! What the pages of one host have in common: language, colours, header, navigation, footer.

use super::answer::Answer;
use super::html::{escape, link};

/// The look of a host.
#[derive(Debug)]
pub(super) struct Look {
    /// The host's name.
    pub(super) host: &'static str,
    /// Language tag of its pages.
    pub(super) lang: &'static str,
    /// The site's name.
    pub(super) name: &'static str,
    /// What it is, in a few words.
    pub(super) tagline: &'static str,
    /// Class of the root element: chooses the accent colour.
    pub(super) theme: &'static str,
    /// Navigation: address, text.
    pub(super) nav: &'static [(&'static str, &'static str)],
    /// Footer, as HTML.
    pub(super) footer: &'static str,
}

/// One page, before its look.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Title and main heading.
    pub(super) title: String,
    /// Description, for search results.
    pub(super) description: String,
    /// The way here from the front page, without the front page: address, text.
    pub(super) crumbs: Vec<(&'static str, &'static str)>,
    /// More elements for the head, as HTML.
    pub(super) head: String,
    /// What stands in the main part under the heading, as HTML.
    pub(super) main: String,
    /// What stands in place of the heading and the breadcrumbs: only on front pages.
    pub(super) hero: Option<String>,
}

impl Page {
    /// A page with a title, a description and a main part.
    pub(super) fn new(title: &str, description: &str, main: String) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            main,
            ..Self::default()
        }
    }

    /// The same page under these breadcrumbs.
    pub(super) fn below(mut self, crumbs: &[(&'static str, &'static str)]) -> Self {
        self.crumbs = crumbs.to_vec();
        self
    }

    /// The same page with more in its head.
    pub(super) fn with_head(mut self, head: &str) -> Self {
        self.head += head;
        self
    }
}

impl Look {
    /// The page as a 200 in UTF-8.
    pub(super) fn answer(&self, page: &Page) -> Answer {
        Answer::page(self.render(page, "<meta charset=\"utf-8\">"))
    }

    /// The page as HTML text, with the given charset declaration.
    pub(super) fn render(&self, page: &Page, charset: &str) -> String {
        let opening = page.hero.clone().unwrap_or_else(|| {
            format!(
                "{}<h1>{}</h1>\n",
                self.breadcrumbs(page),
                escape(&page.title)
            )
        });
        let title = if page.hero.is_some() {
            escape(self.name)
        } else {
            format!("{} · {}", escape(&page.title), escape(self.name))
        };
        let nav: String = self
            .nav
            .iter()
            .map(|(href, text)| format!("<li>{}</li>", link(href, text)))
            .collect();
        let (skip, nav_label) = if self.lang == "pt" {
            ("Saltar para o conteúdo", "Principal")
        } else {
            ("Skip to content", "Main")
        };
        format!(
            "<!doctype html>\n<html lang=\"{lang}\" class=\"{theme}\">\n<head>\n{charset}\n\
             <title>{title}</title>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"description\" content=\"{description}\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"stylesheet\" href=\"http://cdn.demo/style.css\">\n\
             <link rel=\"icon\" href=\"http://cdn.demo/logo/{theme}.svg\">\n{head}\
             <script src=\"http://cdn.demo/site.js\" defer></script>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">{skip}</a>\n\
             <header class=\"site\">\n<a class=\"brand\" href=\"/\">\
             <img src=\"http://cdn.demo/logo/{theme}.svg\" alt=\"\" width=\"40\" height=\"40\">\
             <span><b>{name}</b> <small>{tagline}</small></span></a>\n\
             <nav aria-label=\"{nav_label}\"><ul>{nav}</ul></nav>\n</header>\n\
             <main id=\"main\">\n{opening}{main}</main>\n\
             <footer class=\"site\">\n{footer}</footer>\n</body>\n</html>\n",
            lang = self.lang,
            theme = self.theme,
            description = escape(&page.description),
            head = page.head,
            name = escape(self.name),
            tagline = escape(self.tagline),
            main = page.main,
            footer = self.footer,
        )
    }

    fn breadcrumbs(&self, page: &Page) -> String {
        let mut html = format!(
            "<nav class=\"crumbs\" aria-label=\"breadcrumbs\"><ol><li>{}</li>",
            link("/", self.name)
        );
        for (href, text) in &page.crumbs {
            html += &format!("<li>{}</li>", link(href, text));
        }
        html += &format!(
            "<li aria-current=\"page\">{}</li></ol></nav>\n",
            escape(&page.title)
        );
        html
    }
}

/// The opening of a front page: words on one side, a picture (HTML) on the other.
pub(super) fn hero(title: &str, words: &str, actions: &[(&str, &str)], picture: &str) -> String {
    let actions: String = actions
        .iter()
        .map(|(href, text)| link(href, text))
        .collect();
    format!(
        "<div class=\"hero\"><div><h1>{}</h1>\n<p class=\"lead\">{}</p>\n\
         <p class=\"actions\">{actions}</p></div>\n{picture}</div>\n",
        escape(title),
        escape(words)
    )
}
