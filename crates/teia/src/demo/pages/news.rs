//! noticias.demo: a local newspaper, in Portuguese. Sections, months, two feeds, a front page sent in chunks.

use super::super::answer::{Answer, Delivery, choose};
use super::super::atlas::Atlas;
use super::super::entry::{self, Entry};
use super::super::html::{escape, figure, image, link, links, paragraph, section};
use super::super::look::{Look, Page, hero};
use super::super::picture::{self, HOURS, Hour};
use super::super::xml;
use super::{find, plain};

/// The look of the newspaper.
pub(super) const LOOK: Look = Look {
    host: "noticias.demo",
    lang: "pt",
    name: "Correio do Vale",
    tagline: "semanário, às sextas, desde 1926",
    theme: "noticias",
    nav: &[
        ("/seccao/local", "Local"),
        ("/seccao/cultura", "Cultura"),
        ("/seccao/ciencia", "Ciência"),
        ("/seccao/desporto", "Desporto"),
        ("/seccao/opiniao", "Opinião"),
        ("/arquivo/", "Arquivo"),
    ],
    footer: "<p><a href=\"/sobre\">Sobre o jornal</a> · <a href=\"/assinaturas\">Assinaturas</a> · \
             <a href=\"/ficha-tecnica\">Ficha técnica</a> · <a href=\"/publicidade\" rel=\"nofollow sponsored\">Publicidade</a></p>\n\
             <p><a href=\"/feed.rss\" type=\"application/rss+xml\">RSS</a> · <a href=\"/feed.atom\" type=\"application/atom+xml\">Atom</a></p>\n",
};

const FEEDS: &str = "<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Correio do Vale (RSS)\" href=\"/feed.rss\">\n\
    <link rel=\"alternate\" type=\"application/atom+xml\" title=\"Correio do Vale (Atom)\" href=\"/feed.atom\">\n";

/// The months with articles, newest first: year and month, name.
const MONTHS: [(&str, &str); 6] = [
    ("2026/10", "Outubro de 2026"),
    ("2026/09", "Setembro de 2026"),
    ("2026/08", "Agosto de 2026"),
    ("2026/07", "Julho de 2026"),
    ("2026/06", "Junho de 2026"),
    ("2026/05", "Maio de 2026"),
];

const CHANNEL: xml::Channel = xml::Channel {
    title: "Correio do Vale",
    url: "http://noticias.demo/",
    description: "Notícias de um vale inventado",
};

/// Writes the host.
pub(super) fn write(atlas: &mut Atlas) {
    let mut articles = entry::read(include_str!("../text/news.txt"));
    articles.sort_by_key(|article| std::cmp::Reverse(article.field("date")));
    let more = entry::read(include_str!("../text/news_more.txt"));

    for (index, article) in articles.iter().enumerate() {
        let page = article_page(article, index, &articles, &more);
        atlas.put(LOOK.host, url_of(article), LOOK.answer(&page));
    }
    for entry in &more {
        let own: Vec<&Entry> = articles
            .iter()
            .filter(|article| article.field("section") == entry.slug)
            .collect();
        if own.is_empty() {
            atlas.put(
                LOOK.host,
                format!("/{}", entry.slug),
                LOOK.answer(&plain(entry, more_of(entry.slug))),
            );
        } else {
            let page = plain(entry, &stories(&own));
            atlas.put(
                LOOK.host,
                format!("/seccao/{}", entry.slug),
                LOOK.answer(&page),
            );
        }
    }
    write_archive(atlas, &articles);
    write_front(atlas, &articles);
    write_files(atlas, &articles);
}

/// The address of an article, such as `/2026/10/titulo`.
fn url_of(article: &Entry) -> String {
    format!("/{}/{}", month_of(article), article.slug)
}

/// Year and month of an article, such as `2026/10`.
fn month_of(article: &Entry) -> String {
    article
        .field("date")
        .get(..7)
        .unwrap_or_default()
        .replace('-', "/")
}

/// The day as people write it, such as `28 de outubro de 2026`.
fn day_of(article: &Entry) -> String {
    let month = month_of(article);
    let name = MONTHS
        .iter()
        .find(|(slug, _)| *slug == month)
        .map_or("", |(_, name)| name);
    let day = article
        .field("date")
        .get(8..)
        .unwrap_or_default()
        .trim_start_matches('0');
    format!("{day} de {}", name.to_lowercase())
}

fn hour_of(article: &Entry) -> &'static Hour {
    &HOURS[choose(article.name(), HOURS.len())]
}

fn photo(hour: &Hour) -> String {
    image(
        &format!("/imagens/{}.png", hour.name),
        hour.caption,
        640,
        360,
    )
}

fn stories(articles: &[&Entry]) -> String {
    let rows: String = articles
        .iter()
        .map(|article| {
            format!(
                "<li>{}<div><h3>{}</h3><p>{}</p><p class=\"byline\">{} · <time datetime=\"{}\">{}</time></p></div></li>\n",
                photo(hour_of(article)),
                link(&url_of(article), article.name()),
                escape(article.gist()),
                escape(article.field("by")),
                article.field("date"),
                day_of(article),
            )
        })
        .collect();
    format!("<ul class=\"stories\">\n{rows}</ul>\n")
}

fn article_page(article: &Entry, index: usize, articles: &[Entry], more: &[Entry]) -> Page {
    let section_slug = article.field("section");
    let section_name = find(more, section_slug).map_or("", Entry::name);
    let hour = hour_of(article);
    let byline = format!(
        "<p class=\"byline\">{} · {} · <time datetime=\"{}\">{}</time></p>\n",
        escape(article.field("by")),
        link(&format!("/seccao/{section_slug}"), section_name),
        article.field("date"),
        day_of(article),
    );
    let related: Vec<&Entry> = articles
        .iter()
        .filter(|other| other.field("section") == section_slug && other.slug != article.slug)
        .take(3)
        .collect();
    let mut around = Vec::new();
    if let Some(newer) = index.checked_sub(1).and_then(|newer| articles.get(newer)) {
        around.push((url_of(newer), format!("Mais recente: {}", newer.name())));
    }
    if let Some(older) = articles.get(index + 1) {
        around.push((url_of(older), format!("Anterior: {}", older.name())));
    }
    let main = format!(
        "<article>\n{byline}{}{}</article>\n{}<nav aria-label=\"outros artigos\">\n{}</nav>\n",
        super::super::html::prose(article),
        figure(
            &photo(hour),
            &format!("{}. Fotografia de arquivo.", hour.caption)
        ),
        section("Na mesma secção", &stories(&related)),
        links(&around),
    );
    let head = format!(
        "<meta property=\"article:published_time\" content=\"{}T07:00:00Z\">\n<meta name=\"author\" content=\"{}\">\n{FEEDS}",
        article.field("date"),
        escape(article.field("by")),
    );
    Page::new(article.name(), article.gist(), main)
        .below(&[("/arquivo/", "Arquivo")])
        .with_head(&head)
}

fn write_archive(atlas: &mut Atlas, articles: &[Entry]) {
    for (slug, name) in MONTHS {
        let own: Vec<&Entry> = articles
            .iter()
            .filter(|article| month_of(article) == slug)
            .collect();
        let words = format!("{} artigos publicados neste mês.", own.len());
        let page = Page::new(name, &words, paragraph(&words) + &stories(&own))
            .below(&[("/arquivo/", "Arquivo")]);
        atlas.put(LOOK.host, format!("/{slug}/"), LOOK.answer(&page));
    }
    let months: Vec<(String, String)> = MONTHS
        .iter()
        .map(|(slug, name)| (format!("/{slug}/"), (*name).to_owned()))
        .collect();
    let words = "O que o jornal publicou, mês a mês. As edições anteriores existem só em papel, na biblioteca.";
    let odd = "<p>Restos de sistemas antigos: <a href=\"/noticia.php?id=17&amp;ver=1\">uma notícia pelo número</a>, \
               <a href=\"/volta/a\">uma página que anda à volta</a>, <a href=\"/edicao-cortada\">uma edição que chegou cortada</a>, \
               <a href=\"/cabecalho-estragado\">outra que nem começa</a>, <a href=\"/rascunho\">um rascunho esquecido</a> \
               e <a href=\"/2026/10/noticia-retirada\">uma notícia retirada</a>.</p>\n";
    let main = paragraph(words) + &links(&months) + &section("Endereços antigos", odd);
    atlas.put(
        LOOK.host,
        "/arquivo/",
        LOOK.answer(&Page::new("Arquivo", words, main)),
    );
}

fn write_front(atlas: &mut Atlas, articles: &[Entry]) {
    let Some((first, rest)) = articles.split_first() else {
        return;
    };
    let opening = hero(
        first.name(),
        first.gist(),
        &[
            (url_of(first).as_str(), "Ler a notícia"),
            ("/arquivo/", "Arquivo"),
        ],
        &photo(hour_of(first)),
    );
    let recent: Vec<&Entry> = rest.iter().take(9).collect();
    let elsewhere = "<p>O <a href=\"http://museu.demo/agenda/\">museu</a> e a <a href=\"http://biblioteca.demo/novidades\">biblioteca</a> anunciam o mês. \
                     Receita da semana: <a href=\"http://recipes.demo/recipes/caldo-verde\" hreflang=\"en\">caldo verde</a>. \
                     Fora do vale: <a href=\"http://fora.example/\">um sítio que não é daqui</a>.</p>\n";
    let mut page = Page::new(
        LOOK.name,
        "O semanário do vale: local, cultura, ciência, desporto e opinião.",
        section("Mais notícias", &stories(&recent)) + &section("Vizinhos", elsewhere),
    )
    .with_head(FEEDS);
    page.hero = Some(opening);
    atlas.put(
        LOOK.host,
        "/",
        LOOK.answer(&page).delivered(Delivery::Chunked),
    );
}

fn write_files(atlas: &mut Atlas, articles: &[Entry]) {
    let items: Vec<xml::Item> = articles
        .iter()
        .take(15)
        .map(|article| xml::Item {
            title: article.name(),
            url: format!("http://{}{}", LOOK.host, url_of(article)),
            day: article.field("date"),
            author: article.field("by"),
            summary: article.gist(),
        })
        .collect();
    atlas.put(
        LOOK.host,
        "/feed.rss",
        Answer::ok(
            "application/rss+xml; charset=utf-8",
            xml::rss(&CHANNEL, &items),
        ),
    );
    atlas.put(
        LOOK.host,
        "/feed.atom",
        Answer::ok(
            "application/atom+xml; charset=utf-8",
            xml::atom(&CHANNEL, &items),
        ),
    );
    for hour in &HOURS {
        atlas.put(
            LOOK.host,
            format!("/imagens/{}.png", hour.name),
            Answer::ok("image/png", picture::valley(hour)),
        );
    }
    atlas.put(
        LOOK.host,
        "/robots.txt",
        Answer::ok(
            "text/plain",
            "# O jornal é para ser lido.\nUser-agent: *\nDisallow:\n",
        ),
    );
}

fn more_of(slug: &str) -> &'static str {
    match slug {
        "assinaturas" => {
            "<p><a href=\"/feed.rss\">Fio RSS</a> e <a href=\"/feed.atom\">fio Atom</a>.</p>\n"
        }
        "sobre" => {
            "<p>Erros e recados: <a href=\"mailto:redacao@noticias.demo\">redacao@noticias.demo</a>.</p>\n"
        }
        _ => "",
    }
}
