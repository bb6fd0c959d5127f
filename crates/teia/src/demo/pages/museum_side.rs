//! museu.demo: the pages around the collection, with most of the museum's odd corners.

use super::super::answer::Answer;
use super::super::atlas::Atlas;
use super::super::entry::{self, Entry};
use super::super::html::{facts, links, paragraph, prose, table};
use super::super::look::Page;
use super::super::{pdf, picture, xml};
use super::museum::{LOOK, pieces};
use super::{find, plain};

/// Day of the last change that the sitemap gives for most pages.
const CHANGED: &str = "2026-10-30";

/// Writes the pages around the collection.
pub(super) fn write(atlas: &mut Atlas) {
    let entries = entry::read(include_str!("../text/museum_more.txt"));
    for entry in &entries {
        let more = match entry.slug {
            "visitar" => visit(),
            "historia" => HISTORY.to_owned(),
            "contactos" => CONTACT.to_owned(),
            "equipa" => "<p>Para dúvidas há o <a href=\"mailto:museu@museu.demo\">correio</a> e o \
                         <a href=\"tel:+351000000000\">telefone</a>. A equipa tem também os seus \
                         <a href=\"/bastidores\">bastidores</a>.</p>\n".to_owned(),
            "loja" => "<p>Os <a href=\"/loja/postais\">postais antigos</a> esgotaram. O \
                       <a href=\"/guia.pdf\" type=\"application/pdf\">guia</a> tem duas páginas.</p>\n".to_owned(),
            _ => String::new(),
        };
        let page = plain(entry, &more);
        match entry.slug {
            slug if slug.starts_with("sala-") => {}
            "acta-antiga" | "inventario-antigo" => write_old(atlas, entry),
            "bastidores" => {
                let page = page.with_head("<meta name=\"robots\" content=\"noindex\">\n");
                atlas.put(LOOK.host, "/bastidores", LOOK.answer(&page));
            }
            slug => atlas.put(LOOK.host, format!("/{slug}"), LOOK.answer(&page)),
        }
    }
    atlas.put(LOOK.host, "/agenda/", LOOK.answer(&calendar()));
    let words = "Inventário interno e chaves. O robots.txt pede que ninguém venha aqui.";
    atlas.put(
        LOOK.host,
        "/privado/",
        LOOK.answer(&Page::new("Área reservada", words, paragraph(words))),
    );
    write_files(atlas, &entries);
}

/// The two pages that are not in UTF-8: one says so in its header, the other only in itself.
fn write_old(atlas: &mut Atlas, entry: &Entry) {
    let page =
        Page::new(entry.name(), entry.gist(), prose(entry)).below(&[("/historia", "História")]);
    let (media_type, charset) = if entry.slug == "acta-antiga" {
        ("text/html; charset=ISO-8859-1", "")
    } else {
        (
            "text/html",
            "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1252\">",
        )
    };
    let body: Vec<u8> = LOOK
        .render(&page, charset)
        .chars()
        .map(windows_1252)
        .collect();
    atlas.put(
        LOOK.host,
        format!("/{}.html", entry.slug),
        Answer::ok(media_type, body),
    );
}

fn windows_1252(character: char) -> u8 {
    match character {
        '“' => 0x93,
        '”' => 0x94,
        '–' => 0x96,
        '›' => 0x9b,
        _ => u8::try_from(u32::from(character)).unwrap_or(b'?'),
    }
}

fn visit() -> String {
    let rows = [
        ("Terça a sexta", "10:00–18:00"),
        ("Sábado", "10:00–20:00"),
        ("Domingo", "10:00–13:00, entrada livre"),
        ("Segunda", "fechado"),
    ];
    let rows: Vec<(&str, String)> = rows
        .iter()
        .map(|(day, hours)| (*day, (*hours).to_owned()))
        .collect();
    facts("Horário", &rows)
        + "<p>Traga o <a href=\"/guia.pdf\">guia em PDF</a>. Já cá esteve? \
           <a href=\"/visitar?sid=7f3a91\">Continuar a sua visita</a> ou \
           <a href=\"/visitar?sid=c20be4\">começar outra</a>.</p>\n"
}

const HISTORY: &str = "<ul>\n<li><a href=\"/acta-antiga.html\">Ata da doação de 1890</a></li>\n\
    <li><a href=\"/inventario-antigo.html\">Inventário de 1951</a></li>\n\
    <li><a href=\"/pecas/caixa-vazia\">A caixa vazia</a>, que se perdeu</li>\n\
    <li><a href=\"/guia-antigo\">O guia antigo</a></li>\n\
    <li><a href=\"/aves\">A sala das aves</a>, hoje com os vizinhos</li>\n\
    <li><a href=\"http://www.museu.demo/historia\">Esta página, no endereço antigo</a></li>\n</ul>\n";

const CONTACT: &str = "<form action=\"/obrigado\" method=\"get\">\n\
    <label>Nome <input name=\"nome\" autocomplete=\"name\"></label>\n\
    <label>Mensagem <textarea name=\"mensagem\" rows=\"4\"></textarea></label>\n\
    <button>Enviar mensagem</button>\n</form>\n\
    <p>Depois de enviar verá <a href=\"/obrigado\">esta confirmação</a>.</p>\n";

fn calendar() -> Page {
    let events = [
        (
            "14 de novembro",
            "Oficina: ler uma pedra",
            "Sala dos Minerais",
        ),
        (
            "21 de novembro",
            "Contar lontras ao amanhecer",
            "Ponte pedonal",
        ),
        (
            "5 de dezembro",
            "Desenhar um escaravelho",
            "Sala dos Insetos",
        ),
        ("19 de dezembro", "Concerto entre ossos", "Sala dos Ossos"),
    ];
    let rows: Vec<Vec<String>> = events
        .iter()
        .map(|(day, what, place)| vec![(*day).to_owned(), (*what).to_owned(), (*place).to_owned()])
        .collect();
    let words = "As atividades são gratuitas; algumas pedem inscrição.";
    let main = paragraph(words)
        + &table("Próximas atividades", &["Dia", "Atividade", "Lugar"], &rows)
        + "<p><a href=\"/agenda/2026/12/\">Ver dezembro</a> · <a href=\"/escolas\">Para as escolas</a></p>\n"
        + &links(&[(
            "http://noticias.demo/seccao/cultura".to_owned(),
            "Mais cultura, no Correio do Vale".to_owned(),
        )]);
    Page::new("Agenda", words, main)
}

fn write_files(atlas: &mut Atlas, entries: &[Entry]) {
    let robots = "User-agent: *\nDisallow: /privado/\n\nSitemap: http://museu.demo/sitemap.xml\n";
    atlas.put(
        LOOK.host,
        "/robots.txt",
        Answer::ok("text/plain; charset=utf-8", robots),
    );
    atlas.put(
        LOOK.host,
        "/imagens/fachada.png",
        Answer::ok("image/png", picture::valley(&picture::HOURS[2])),
    );

    let pieces = pieces();
    let mut pages: Vec<(String, String)> = [
        "/",
        "/visitar",
        "/historia",
        "/salas/",
        "/noite-aberta",
        "/peca-por-identificar",
    ]
    .iter()
    .map(|path| (format!("http://{}{path}", LOOK.host), CHANGED.to_owned()))
    .collect();
    pages.extend(pieces.iter().enumerate().map(|(index, piece)| {
        let day = format!("2026-{:02}-{:02}", 1 + index % 9, 1 + index * 5 % 28);
        (format!("http://{}/pecas/{}", LOOK.host, piece.slug), day)
    }));
    atlas.put(
        LOOK.host,
        "/sitemap.xml",
        Answer::ok("application/xml", xml::sitemap(&pages)),
    );

    let mut lines = vec![
        "Um percurso de hora e meia, sala a sala.".to_owned(),
        String::new(),
    ];
    for (slug, room) in entry::under(entries, "sala-") {
        lines.push(format!("# {}", room.name()));
        lines.push(room.gist().to_owned());
        lines.extend(
            pieces
                .iter()
                .filter(|piece| piece.field("room") == slug)
                .take(5)
                .map(|piece| format!("    {} ({})", piece.name(), piece.field("origin"))),
        );
        lines.push(String::new());
    }
    if let Some(visit) = find(entries, "visitar") {
        lines.push(format!("# {}", visit.name()));
        lines.push(
            "Terça a sexta, 10:00 às 18:00; sábado até às 20:00; domingo de manhã, livre."
                .to_owned(),
        );
    }
    let guide = pdf::write("Guia do Museu da Serra do Lume", "pt", &lines);
    atlas.put(LOOK.host, "/guia.pdf", Answer::ok("application/pdf", guide));
}
