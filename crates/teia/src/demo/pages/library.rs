//! biblioteca.demo: a library's catalogue, in Portuguese. Print views with the same body, addresses with queries.

use super::super::answer::Answer;
use super::super::atlas::Atlas;
use super::super::entry::{self, Entry};
use super::super::html::{
    card, cards, facts, figure, image, link, links, paragraph, prose, section, table, with_aside,
};
use super::super::look::{Look, Page, hero};
use super::super::{pdf, picture, portrait};
use super::{find, plain};

/// The look of the library.
pub(super) const LOOK: Look = Look {
    host: "biblioteca.demo",
    lang: "pt",
    name: "Biblioteca do Cais",
    tagline: "livros para levar, junto ao rio",
    theme: "biblioteca",
    nav: &[
        ("/catalogo", "Catálogo"),
        ("/autores/", "Autores"),
        ("/novidades", "Novidades"),
        ("/emprestimos", "Empréstimos"),
        ("/horario", "Horário"),
    ],
    footer: "<p>Biblioteca do Cais, antigo armazém do sal. <a href=\"/regulamento\">Regulamento</a> · \
             <a href=\"/procurar\">Procurar</a> · \
             <a href=\"/arquivo/estado\">Estado do arquivo</a></p>\n\
             <p>Vizinhos: <a href=\"http://museu.demo/\">Museu da Serra do Lume</a>, \
             <a href=\"http://noticias.demo/\">Correio do Vale</a></p>\n",
};

/// How many books have a print view.
const PRINTABLE: usize = 6;

/// What the catalogue is made from.
#[derive(Debug)]
struct Shelves {
    books: Vec<Entry>,
    authors: Vec<Entry>,
    more: Vec<Entry>,
}

/// Writes the host.
pub(super) fn write(atlas: &mut Atlas) {
    let shelves = Shelves {
        books: entry::read(include_str!("../text/library.txt")),
        authors: entry::read(include_str!("../text/authors.txt")),
        more: entry::read(include_str!("../text/library_more.txt")),
    };
    for (index, book) in shelves.books.iter().enumerate() {
        let answer = LOOK.answer(&shelves.book_page(book, index));
        if index < PRINTABLE {
            atlas.put(
                LOOK.host,
                format!("/livros/{}?vista=imprimir", book.slug),
                answer.clone(),
            );
        }
        atlas.put(LOOK.host, format!("/livros/{}", book.slug), answer);
    }
    for author in &shelves.authors {
        atlas.put(
            LOOK.host,
            format!("/autores/{}", author.slug),
            LOOK.answer(&shelves.author_page(author)),
        );
    }
    for (slug, subject) in entry::under(&shelves.more, "assunto-") {
        let page = shelves.subject_page(slug, subject);
        atlas.put(
            LOOK.host,
            format!("/catalogo?assunto={slug}&ordem=titulo"),
            LOOK.answer(&page),
        );
    }
    shelves.write_indexes(atlas);
    for entry in shelves
        .more
        .iter()
        .filter(|entry| !entry.slug.starts_with("assunto-"))
    {
        let page = plain(entry, &shelves.more_of(entry.slug));
        atlas.put(LOOK.host, format!("/{}", entry.slug), LOOK.answer(&page));
    }
    let robots = "User-agent: *\nCrawl-delay: 0\nDisallow:\n";
    atlas.put(LOOK.host, "/robots.txt", Answer::ok("text/plain", robots));
    atlas.put(
        LOOK.host,
        "/cais.png",
        Answer::ok("image/png", picture::valley(&picture::HOURS[0])),
    );
    let lines: Vec<String> = RULES.lines().map(str::to_owned).collect();
    atlas.put(
        LOOK.host,
        "/regulamento.pdf",
        Answer::ok(
            "application/pdf",
            pdf::write("Regulamento da Biblioteca do Cais", "pt", &lines),
        ),
    );
}

/// The address of a subject's list, with an ampersand in it.
fn subject_url(slug: &str) -> String {
    format!("/catalogo?assunto={slug}&ordem=titulo")
}

impl Shelves {
    fn author_name(&self, slug: &str) -> &'static str {
        find(&self.authors, slug).map_or("", Entry::name)
    }

    fn subject(&self, slug: &str) -> (&'static str, &'static str) {
        find(&self.more, &format!("assunto-{slug}")).map_or(("", "#777777"), |entry| {
            (entry.name(), entry.field("colour"))
        })
    }

    fn cover(&self, book: &Entry) -> String {
        let (_, colour) = self.subject(book.field("subject"));
        portrait::cover(book.name(), self.author_name(book.field("author")), colour)
    }

    fn book_card(&self, book: &Entry) -> String {
        let line = format!(
            "{}, {}",
            self.author_name(book.field("author")),
            book.field("year")
        );
        card(
            &format!("/livros/{}", book.slug),
            &self.cover(book),
            book.name(),
            &line,
        )
    }

    fn book_page(&self, book: &Entry, index: usize) -> Page {
        let author = book.field("author");
        let subject = book.field("subject");
        let (subject_name, _) = self.subject(subject);
        let aside = figure(
            &self.cover(book),
            &format!("Capa da edição de {}.", book.field("year")),
        ) + &facts(
            "Registo",
            &[
                (
                    "Autoria",
                    link(&format!("/autores/{author}"), self.author_name(author)),
                ),
                ("Assunto", link(&subject_url(subject), subject_name)),
                ("Ano", book.field("year").to_owned()),
                ("Páginas", book.field("pages").to_owned()),
                (
                    "Cota",
                    format!(
                        "{}-{:03}",
                        subject_name
                            .chars()
                            .take(3)
                            .collect::<String>()
                            .to_uppercase(),
                        11 + index * 13
                    ),
                ),
                ("Exemplares", format!("{}", 1 + (index * 3 + 4) % 5)),
            ],
        );
        let same_author: String = self
            .books
            .iter()
            .filter(|other| other.field("author") == author && other.slug != book.slug)
            .map(|other| self.book_card(other))
            .collect();
        let same_subject: Vec<(String, String)> = self
            .books
            .iter()
            .filter(|other| other.field("subject") == subject && other.slug != book.slug)
            .map(|other| (format!("/livros/{}", other.slug), other.name().to_owned()))
            .collect();
        let print = if index < PRINTABLE {
            format!(
                "<p>{}</p>\n",
                link(
                    &format!("/livros/{}?vista=imprimir", book.slug),
                    "Versão para imprimir"
                )
            )
        } else {
            String::new()
        };
        let article = prose(book)
            + &print
            + &section("Da mesma autoria", &cards(&same_author))
            + &section(
                &format!("Mais em {}", subject_name.to_lowercase()),
                &links(&same_subject),
            );
        let canonical = format!(
            "<link rel=\"canonical\" href=\"http://{}/livros/{}\">\n",
            LOOK.host, book.slug
        );
        Page::new(book.name(), book.gist(), with_aside(&article, &aside))
            .below(&[("/catalogo", "Catálogo")])
            .with_head(&canonical)
    }

    fn author_page(&self, author: &Entry) -> Page {
        let books: String = self
            .books
            .iter()
            .filter(|book| book.field("author") == author.slug)
            .map(|book| self.book_card(book))
            .collect();
        let main = format!("<p class=\"byline\">{}</p>\n", author.field("years"))
            + &prose(author)
            + &section("Livros na biblioteca", &cards(&books));
        Page::new(author.name(), author.gist(), main).below(&[("/autores/", "Autores")])
    }

    fn subject_page(&self, slug: &str, subject: &Entry) -> Page {
        let mut books: Vec<&Entry> = self
            .books
            .iter()
            .filter(|book| book.field("subject") == slug)
            .collect();
        books.sort_by_key(|book| book.name());
        let shown: String = books.iter().map(|book| self.book_card(book)).collect();
        Page::new(
            subject.name(),
            subject.gist(),
            prose(subject) + &cards(&shown),
        )
        .below(&[("/catalogo", "Catálogo")])
    }

    fn subject_links(&self) -> String {
        let items: Vec<(String, String)> = entry::under(&self.more, "assunto-")
            .iter()
            .map(|(slug, subject)| (subject_url(slug), subject.name().to_owned()))
            .collect();
        links(&items)
    }

    fn write_indexes(&self, atlas: &mut Atlas) {
        let rows: Vec<Vec<String>> = self
            .books
            .iter()
            .map(|book| {
                let author = book.field("author");
                vec![
                    link(&format!("/livros/{}", book.slug), book.name()),
                    link(&format!("/autores/{author}"), self.author_name(author)),
                    book.field("year").to_owned(),
                ]
            })
            .collect();
        let words =
            "Trinta e seis títulos descritos por quem os leu. Os outros estão nas estantes.";
        let main = SEARCH.to_owned()
            + &section("Por assunto", &self.subject_links())
            + &table("Todos os títulos", &["Título", "Autoria", "Ano"], &rows);
        atlas.put(
            LOOK.host,
            "/catalogo",
            LOOK.answer(&Page::new("Catálogo", words, paragraph(words) + &main)),
        );
        let found = Page::new(
            "Procurar",
            "Resultados da procura no catálogo.",
            SEARCH.to_owned() + &paragraph("Escreva um título, um nome ou um assunto."),
        );
        atlas.put(LOOK.host, "/procurar", LOOK.answer(&found));

        let authors: Vec<(String, String)> = self
            .authors
            .iter()
            .map(|author| {
                (
                    format!("/autores/{}", author.slug),
                    format!("{} ({})", author.name(), author.field("years")),
                )
            })
            .collect();
        let words = "Doze pessoas que escreveram no vale, ou sobre ele, ou apesar dele.";
        atlas.put(
            LOOK.host,
            "/autores/",
            LOOK.answer(&Page::new(
                "Autores",
                words,
                paragraph(words) + &links(&authors),
            )),
        );

        let words = "Seis livros por três semanas, sem multas e sem pressa. A sala do rio está aberta a quem só quer sentar-se.";
        let picture = image(
            "/cais.png",
            "O rio visto da sala de leitura, de madrugada",
            640,
            360,
        );
        let opening = hero(
            "Leia o que o rio lê",
            words,
            &[
                ("/catalogo", "Abrir o catálogo"),
                ("/horario", "Ver o horário"),
            ],
            &picture,
        );
        let chosen: String = [0, 6, 16, 21, 29, 33, 4, 13]
            .iter()
            .filter_map(|index| self.books.get(*index))
            .map(|book| self.book_card(book))
            .collect();
        let notes = "<p>O <a href=\"/livro-do-mes\">livro do mês</a> já está na mesa da entrada. O <a href=\"/bibliobus\">bibliobus</a> volta às aldeias, \
                     o <a href=\"/leitores\">clube de leitores</a> reúne-se na última sexta-feira, e a <a href=\"/em-obras\">sala do arquivo</a> continua em obras. \
                     O jornal contou como passámos a <a href=\"http://noticias.demo/2026/07/biblioteca-empresta-ferramentas\">emprestar ferramentas</a>.</p>\n";
        let mut page = Page::new(
            LOOK.name,
            words,
            section("Para esta semana", &cards(&chosen))
                + &section("Por assunto", &self.subject_links())
                + &section("Avisos", notes),
        );
        page.hero = Some(opening);
        atlas.put(LOOK.host, "/", LOOK.answer(&page));
    }

    fn more_of(&self, slug: &str) -> String {
        match slug {
            "horario" => facts(
                "Semana",
                &[
                    ("Terça a quinta", "10:00–19:00".to_owned()),
                    ("Sexta", "10:00–21:00".to_owned()),
                    ("Sábado", "10:00–17:00".to_owned()),
                ],
            ),
            "regulamento" => format!(
                "<p>{}</p>\n",
                link("/regulamento.pdf", "Regulamento completo (PDF)")
            ),
            "novidades" => cards(
                &self
                    .books
                    .iter()
                    .rev()
                    .take(8)
                    .map(|book| self.book_card(book))
                    .collect::<String>(),
            ),
            "em-obras" => format!(
                "<p>{}</p>\n",
                link(
                    "http://museu.demo/pecas/caderno-do-fundador",
                    "O caderno do fundador, no museu"
                )
            ),
            _ => String::new(),
        }
    }
}

const SEARCH: &str = "<form class=\"row\" action=\"/procurar\" method=\"get\" role=\"search\">\n\
    <label>Procurar no catálogo <input type=\"search\" name=\"q\"></label>\n<button>Procurar</button>\n</form>\n";

const RULES: &str = "# Artigo 1.º
Na biblioteca pode falar-se baixo. Rir também.
# Artigo 2.º
Qualquer pessoa pode ser leitora; basta dizer o nome e onde mora.
# Artigo 3.º
Levam-se seis livros por três semanas, renováveis duas vezes.
# Artigo 4.º
Não há multas. Quem se atrasa põe no frasco o que achar justo.
# Artigo 5.º
Um livro estragado conversa-se. Um livro perdido substitui-se por outro de que se goste.
# Artigo 6.º
O gato não é da biblioteca, mas vem todos os dias e tem direito à janela.";
