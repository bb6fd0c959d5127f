//! What is odd on purpose: redirects, dead ends and broken answers, each linked from some page.

use super::answer::{Answer, Delivery};
use super::atlas::Atlas;
use super::html::paragraph;

/// Addresses that do not answer as a page should: URL, status, where it leads or what is wrong with it.
///
/// Beside them: `/privado/` of the museum and `?print=` of the recipes (closed by robots.txt), the endless paths
/// `/mapa/` and `/agenda/2026/12/` of the museum, and birds.demo, which has no robots.txt.
pub(super) const ODDITIES: [(&str, u16, &str); 16] = [
    ("http://museu.demo/guia-antigo", 301, "/visitar"),
    ("http://museu.demo/aves", 301, "http://birds.demo/"),
    ("http://museu.demo/pecas/caixa-vazia", 404, "missing"),
    ("http://museu.demo/loja/postais", 410, "gone"),
    ("http://birds.demo/old/robin.html", 301, "/species/robin"),
    ("http://birds.demo/species/dodo", 404, "missing"),
    (
        "http://biblioteca.demo/livro-do-mes",
        302,
        "/destaques/atual",
    ),
    (
        "http://biblioteca.demo/destaques/atual",
        302,
        "/livros/o-farol-desligado",
    ),
    ("http://biblioteca.demo/arquivo/estado", 500, "broken"),
    (
        "http://noticias.demo/noticia.php?id=17&ver=1",
        301,
        "/2026/07/elogio-da-sopa",
    ),
    ("http://noticias.demo/volta/a", 302, "/volta/b"),
    ("http://noticias.demo/volta/b", 302, "/volta/a"),
    ("http://noticias.demo/2026/10/noticia-retirada", 410, "gone"),
    ("http://noticias.demo/edicao-cortada", 200, "cut short"),
    ("http://noticias.demo/cabecalho-estragado", 200, "garbled"),
    ("http://recipes.demo/img/the-oven.png", 404, "missing"),
];

/// Hosts by name, since the atlas wants names that live for ever.
const HOSTS: [&str; 5] = [
    "museu.demo",
    "birds.demo",
    "biblioteca.demo",
    "noticias.demo",
    "recipes.demo",
];

/// Writes all of them, and the two odd pages that are well but unwanted: a draft and an advertisement.
pub(super) fn write(atlas: &mut Atlas) {
    for (url, status, what) in ODDITIES {
        let rest = url.trim_start_matches("http://");
        let Some((host, target)) = HOSTS
            .iter()
            .find_map(|host| Some((*host, rest.strip_prefix(host)?)))
        else {
            continue;
        };
        match what {
            "missing" => {}
            "gone" => atlas.put(
                host,
                target,
                Answer::page(bare(
                    "Já não existe",
                    "Esta página foi retirada e não volta.",
                ))
                .with_status(410),
            ),
            "broken" => atlas.put(
                host,
                target,
                Answer::page(bare("Erro", "O servidor do arquivo não respondeu.")).with_status(500),
            ),
            "cut short" => atlas.put(
                host,
                target,
                Answer::page(bare(
                    "Edição cortada",
                    &"A tipografia ficou sem papel a meio desta frase. ".repeat(40),
                ))
                .delivered(Delivery::CutShort),
            ),
            "garbled" => atlas.put(
                host,
                target,
                Answer::page(String::new()).delivered(Delivery::Garbled),
            ),
            location => atlas.put(host, target, Answer::redirect(status, location)),
        }
    }
    let draft = Answer::page(bare(
        "Rascunho",
        "Texto por rever. O cabeçalho pede que não entre no índice.",
    ));
    atlas.put(
        "noticias.demo",
        "/rascunho",
        draft.with_header("X-Robots-Tag", "noindex"),
    );
    let advertisement = Answer::page(bare(
        "Publicidade",
        "Só aqui se chega por uma ligação que pede para não ser seguida.",
    ));
    atlas.put("noticias.demo", "/publicidade", advertisement);
}

/// A page without any look, as old systems have them.
fn bare(title: &str, words: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"pt\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n{}</main>\n</body>\n</html>\n",
        paragraph(words)
    )
}
