//! museu.demo: a small museum of natural history, in Portuguese. Front page, rooms and pieces.

use super::super::answer::choose;
use super::super::atlas::Atlas;
use super::super::entry::{self, Entry};
use super::super::html::{
    card, cards, facts, figure, image, link, links, paragraph, prose, section, table, with_aside,
};
use super::super::look::{Look, Page, hero};

/// The look of the museum.
pub(super) const LOOK: Look = Look {
    host: "museu.demo",
    lang: "pt",
    name: "Museu da Serra do Lume",
    tagline: "história natural de um vale",
    theme: "museu",
    nav: &[
        ("/salas/", "Salas"),
        ("/coleção", "Coleção"),
        ("/visitar", "Visitar"),
        ("/historia", "História"),
        ("/agenda/", "Agenda"),
        ("/contactos", "Contactos"),
    ],
    footer: "<p>Museu da Serra do Lume, Largo da Ponte. <a href=\"/guia.pdf\">Guia em PDF</a> · \
             <a href=\"/mapa/\">Mapa das salas</a> · <a href=\"/privado/\">Área reservada</a></p>\n\
             <p>Vizinhos: <a href=\"http://biblioteca.demo/\">Biblioteca do Cais</a>, \
             <a href=\"http://noticias.demo/\">Correio do Vale</a>, <a href=\"http://birds.demo/\">Valley Bird Notes</a></p>\n",
};

/// The address of the list of pieces, as a client sends it; links write it with its accents.
const COLLECTION: &str = "/cole%C3%A7%C3%A3o";

/// Sentences on how a piece is kept, one of which each page gets.
const KEEPING: [&str; 6] = [
    "Guarda-se a dezoito graus, com pouca luz, e sai da vitrina duas vezes por ano para limpeza.",
    "Foi fotografada em 2019 para o catálogo novo, e as medidas são as dessa ocasião.",
    "Já viajou emprestada três vezes; volta sempre com um papel a dizer por onde andou.",
    "A etiqueta original, escrita à mão, está por trás e pode ser vista a pedido.",
    "Entrou no inventário com outro nome, e só em 1976 alguém reparou no engano.",
    "Faz parte das doze peças que os guias escolhem quando só há tempo para doze.",
];

/// Writes rooms and pieces.
pub(super) fn write(atlas: &mut Atlas) {
    let pieces = pieces();
    let more = entry::read(include_str!("../text/museum_more.txt"));
    let rooms = entry::under(&more, "sala-");

    for (index, piece) in pieces.iter().enumerate() {
        let page = piece_page(piece, index, &pieces, &rooms);
        atlas.put(
            LOOK.host,
            format!("/pecas/{}", piece.slug),
            LOOK.answer(&page),
        );
    }
    for (slug, room) in &rooms {
        let shown: String = pieces
            .iter()
            .filter(|piece| piece.field("room") == *slug)
            .map(piece_card)
            .collect();
        let others: Vec<(String, String)> = rooms
            .iter()
            .filter(|(other, _)| other != slug)
            .map(|(other, room)| (format!("/salas/{other}"), room.name().to_owned()))
            .collect();
        let main = prose(room)
            + &section("Peças desta sala", &cards(&shown))
            + &section("Outras salas", &links(&others));
        let page = Page::new(room.name(), room.gist(), main).below(&[("/salas/", "Salas")]);
        atlas.put(LOOK.host, format!("/salas/{slug}"), LOOK.answer(&page));
    }
    let room_cards: String = rooms
        .iter()
        .map(|(slug, room)| room_card(slug, room, &pieces))
        .collect();
    let words =
        "Seis salas, pela ordem em que se percorrem. A visita começa na pedra e acaba na lupa.";
    let page = Page::new("Salas", words, paragraph(words) + &cards(&room_cards));
    atlas.put(LOOK.host, "/salas/", LOOK.answer(&page));
    atlas.put(
        LOOK.host,
        COLLECTION,
        LOOK.answer(&collection_page(&pieces, &rooms)),
    );
    atlas.put(
        LOOK.host,
        "/",
        LOOK.answer(&front_page(&pieces, &room_cards)),
    );
}

/// Every piece of the museum.
pub(super) fn pieces() -> Vec<Entry> {
    entry::read(include_str!("../text/museum.txt"))
}

fn drawing_of(piece: &Entry) -> String {
    let src = format!("http://cdn.demo/museu/{}.svg", piece.field("art"));
    image(&src, &format!("Desenho: {}", piece.name()), 240, 180)
}

fn piece_card(piece: &Entry) -> String {
    let line = format!("{}, {}", piece.field("origin"), piece.field("year"));
    card(
        &format!("/pecas/{}", piece.slug),
        &drawing_of(piece),
        piece.name(),
        &line,
    )
}

fn room_card(slug: &str, room: &Entry, pieces: &[Entry]) -> String {
    let picture = pieces
        .iter()
        .find(|piece| piece.field("room") == slug)
        .map_or_else(String::new, drawing_of);
    card(
        &format!("/salas/{slug}"),
        &picture,
        room.name(),
        room.gist(),
    )
}

fn piece_page(piece: &Entry, index: usize, pieces: &[Entry], rooms: &[(&str, &Entry)]) -> Page {
    let room_slug = piece.field("room");
    let room = rooms
        .iter()
        .find(|(slug, _)| *slug == room_slug)
        .map_or("", |(_, room)| room.name());
    let aside = figure(
        &drawing_of(piece),
        &format!("{}. Desenho da oficina do museu.", piece.name()),
    ) + &facts(
        "Ficha",
        &[
            ("Número", format!("MSL-{:04}", 100 + index * 7)),
            ("Sala", link(&format!("/salas/{room_slug}"), room)),
            ("Origem", piece.field("origin").to_owned()),
            ("Entrada", piece.field("year").to_owned()),
            ("Medida", piece.field("size").to_owned()),
        ],
    );
    let near: String = [1, 5, 17]
        .iter()
        .filter_map(|step| pieces.get((index + step) % pieces.len()))
        .map(piece_card)
        .collect();
    let elsewhere = match choose(piece.slug, 3) {
        0 => {
            "Sobre esta coleção há livros na <a href=\"http://biblioteca.demo/catalogo?assunto=natureza&amp;ordem=titulo\">biblioteca</a>."
        }
        1 => {
            "O jornal da vila escreve de vez em quando sobre o museu: veja a secção de <a href=\"http://noticias.demo/seccao/ciencia\">ciência</a>."
        }
        _ => {
            "Quem prefere a natureza ao ar livre pode começar pelas <a href=\"http://birds.demo/habitats/\">notas de campo</a> dos vizinhos ingleses."
        }
    };
    let article = prose(piece)
        + &paragraph(KEEPING[choose(piece.name(), KEEPING.len())])
        + &format!("<p>{elsewhere}</p>\n")
        + &section("Ver também", &cards(&near));
    Page::new(piece.name(), piece.gist(), with_aside(&article, &aside))
        .below(&[("/coleção", "Coleção")])
}

fn collection_page(pieces: &[Entry], rooms: &[(&str, &Entry)]) -> Page {
    let rows: Vec<Vec<String>> = pieces
        .iter()
        .map(|piece| {
            let slug = piece.field("room");
            let room = rooms
                .iter()
                .find(|(other, _)| *other == slug)
                .map_or("", |(_, room)| room.name());
            vec![
                link(&format!("/pecas/{}", piece.slug), piece.name()),
                link(&format!("/salas/{slug}"), room),
                piece.field("origin").to_owned(),
                piece.field("year").to_owned(),
            ]
        })
        .collect();
    let words = "Quarenta e oito peças escolhidas entre as vinte mil que o museu guarda.";
    let main = paragraph(words)
        + &table(
            "Peças em exposição",
            &["Peça", "Sala", "Origem", "Entrada"],
            &rows,
        );
    Page::new("Coleção", words, main)
}

fn front_page(pieces: &[Entry], room_cards: &str) -> Page {
    let picture = image(
        "/imagens/fachada.png",
        "O vale visto do jardim do museu",
        640,
        360,
    );
    let words =
        "Pedras, ossos, asas e folhas de um vale só, guardados por quem cá vive desde 1878.";
    let opening = hero(
        "Um vale inteiro em seis salas",
        words,
        &[
            ("/visitar", "Planear a visita"),
            ("/coleção", "Ver a coleção"),
        ],
        &picture,
    );
    let chosen: String = [8, 40, 18, 3, 32, 26, 12, 46]
        .iter()
        .filter_map(|index| pieces.get(*index))
        .map(piece_card)
        .collect();
    let news = "<p>As <a href=\"http://noticias.demo/2026/10/lontras-regressam-ao-rio-lume\">lontras voltaram ao rio</a>, \
                e o museu ajudou a reconhecer as pegadas. O <a href=\"/escolas\">programa das escolas</a> já abriu, \
                o <a href=\"/jardim\">jardim</a> está em flor e há <a href=\"/loja\">cadernos novos na loja</a>. \
                Conheça também <a href=\"/equipa\">quem cá trabalha</a>.</p>\n";
    let mut page = Page::new(
        LOOK.name,
        words,
        section("Peças em destaque", &cards(&chosen))
            + &section("As salas", &cards(room_cards))
            + &section("Por estes dias", news),
    );
    page.hero = Some(opening);
    page
}
