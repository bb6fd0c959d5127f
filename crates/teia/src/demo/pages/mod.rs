//! The pages, one file per host, and the two answers that no table could hold: the endless one and the missing one.

mod birds;
mod library;
mod museum;
mod museum_side;
mod news;
mod recipes;
mod shared;

use super::answer::Answer;
use super::atlas::Atlas;
use super::html::{link, paragraph};
use super::look::Page;
use super::oddities;

/// Writes the whole demo web.
pub(super) fn write_all(atlas: &mut Atlas) {
    museum::write(atlas);
    museum_side::write(atlas);
    birds::write(atlas);
    library::write(atlas);
    news::write(atlas);
    recipes::write(atlas);
    shared::write(atlas);
    oddities::write(atlas);
}

/// A page of one of the two endless paths of the museum, if this path is on one.
///
/// The map links to `sala/` and the calendar to `seguinte/`, both relative to themselves: the path grows for ever.
pub(super) fn trap(host: &str, path: &str) -> Option<Answer> {
    if host != museum::LOOK.host {
        return None;
    }
    let (title, words, next, depth) = if let Some(rest) = path.strip_prefix("/mapa/") {
        (
            "Mapa das salas",
            "Cada sala tem uma porta para a sala seguinte.",
            "sala/",
            repeats(rest, "sala/")?,
        )
    } else {
        let rest = path.strip_prefix("/agenda/2026/12/")?;
        (
            "Agenda do mês",
            "Ainda não há atividades marcadas para este mês.",
            "seguinte/",
            repeats(rest, "seguinte/")?,
        )
    };
    let title = format!("{title}, {}", depth + 1);
    let main = paragraph(words) + &format!("<p>{}</p>\n", link(next, "Seguinte"));
    Some(museum::LOOK.answer(&Page::new(&title, words, main)))
}

/// How many times `part` makes up the whole of `text`.
fn repeats(text: &str, part: &str) -> Option<usize> {
    let count = text.matches(part).count();
    (count * part.len() == text.len()).then_some(count)
}

/// What a host says of an address that it does not have.
pub(super) fn missing(host: &str) -> Answer {
    let look = [
        &museum::LOOK,
        &birds::LOOK,
        &library::LOOK,
        &news::LOOK,
        &recipes::LOOK,
    ]
    .into_iter()
    .find(|look| look.host == host)
    .unwrap_or(&shared::LOOK);
    let (title, words, way) = if look.lang == "pt" {
        (
            "Página não encontrada",
            "Não há nada neste endereço. Talvez já tenha havido.",
            "Voltar ao início",
        )
    } else {
        (
            "Page not found",
            "There is nothing at this address. Perhaps there was once.",
            "Back to the front page",
        )
    };
    let main = paragraph(words) + &format!("<p>{}</p>\n", link("/", way));
    look.answer(&Page::new(title, words, main)).with_status(404)
}

/// The page of an entry: its prose, then `more`.
fn plain(entry: &super::entry::Entry, more: &str) -> Page {
    Page::new(entry.name(), entry.gist(), super::html::prose(entry) + more)
}

/// The entry with this slug.
fn find<'a>(entries: &'a [super::entry::Entry], slug: &str) -> Option<&'a super::entry::Entry> {
    entries.iter().find(|entry| entry.slug == slug)
}
