//! birds.demo: field notes on the birds of the valley, in English. It has no robots.txt.

use super::super::answer::{Answer, choose};
use super::super::atlas::Atlas;
use super::super::drawing;
use super::super::entry::{self, Entry};
use super::super::html::{
    card, cards, facts, figure, image, link, links, paragraph, prose, section, table, with_aside,
};
use super::super::look::{Look, Page, hero};
use super::super::{pdf, portrait};
use super::plain;

/// The look of the bird notes.
pub(super) const LOOK: Look = Look {
    host: "birds.demo",
    lang: "en",
    name: "Valley Bird Notes",
    tagline: "what flies between the weir and the sea",
    theme: "birds",
    nav: &[
        ("/species/", "Species"),
        ("/habitats/", "Habitats"),
        ("/months/", "Months"),
        ("/watching", "How to watch"),
        ("/about", "About"),
    ],
    footer: "<p>Counted by neighbours since 1987. <a href=\"/checklist.pdf\">Checklist (PDF)</a> · \
             <a href=\"/species/dodo\">Dodo</a></p>\n\
             <p>Also in the valley: <a href=\"http://museu.demo/\" hreflang=\"pt\">the museum</a>, \
             <a href=\"http://recipes.demo/\">Three Neighbours’ Kitchen</a></p>\n",
};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Lines from the group's diary, one of which each species gets.
const DIARY: [&str; 8] = [
    "From the diary: seen by the whole Sunday walk, including the dog.",
    "From the diary: two together at the ford, the first in nine days.",
    "From the diary: heard only, but by people who agree about nothing else.",
    "From the diary: one very close to the hide, and nobody had a camera.",
    "From the diary: the count was abandoned because of fog, and this bird was why we stayed.",
    "From the diary: a child found it first, as usual.",
    "From the diary: still there at dusk, when we had to go home.",
    "From the diary: five, then four, then a hawk, then none.",
];

/// Writes the host.
pub(super) fn write(atlas: &mut Atlas) {
    let birds = entry::read(include_str!("../text/birds.txt"));
    let more = entry::read(include_str!("../text/birds_more.txt"));
    let habitats = entry::under(&more, "habitat-");
    let months = entry::under(&more, "month-");

    for (index, bird) in birds.iter().enumerate() {
        let page = species_page(bird, index, &birds);
        atlas.put(
            LOOK.host,
            format!("/species/{}", bird.slug),
            LOOK.answer(&page),
        );
    }
    for (slug, habitat) in &habitats {
        let here: String = birds
            .iter()
            .filter(|bird| bird.field("habitat") == *slug)
            .map(bird_card)
            .collect();
        let picture = image(&format!("/img/{slug}.svg"), habitat.name(), 640, 300);
        let main = figure(
            &picture,
            &format!("{}: a drawing from the hut.", habitat.name()),
        ) + &prose(habitat)
            + &section("Birds to look for", &cards(&here));
        let page =
            Page::new(habitat.name(), habitat.gist(), main).below(&[("/habitats/", "Habitats")]);
        atlas.put(LOOK.host, format!("/habitats/{slug}"), LOOK.answer(&page));
    }
    for (index, (slug, month)) in months.iter().enumerate() {
        let page = month_page(index, month, &months, &birds);
        atlas.put(LOOK.host, format!("/months/{slug}"), LOOK.answer(&page));
    }
    write_indexes(atlas, &birds, &habitats, &months);
    for (slug, layers) in drawing::HABITATS {
        atlas.put(
            LOOK.host,
            format!("/img/{slug}.svg"),
            Answer::ok("image/svg+xml", drawing::habitat(slug, layers)),
        );
    }
    let lines: Vec<String> = birds
        .iter()
        .map(|bird| format!("[  ]  {}  ({})", bird.name(), bird.field("latin")))
        .collect();
    atlas.put(
        LOOK.host,
        "/checklist.pdf",
        Answer::ok(
            "application/pdf",
            pdf::write("Checklist of the valley’s birds", "en", &lines),
        ),
    );
}

fn drawing_of(bird: &Entry) -> String {
    portrait::bird(bird.name(), bird.field("shape"), bird.field("colours"))
}

fn bird_card(bird: &Entry) -> String {
    card(
        &format!("/species/{}", bird.slug),
        &drawing_of(bird),
        bird.name(),
        bird.field("latin"),
    )
}

/// Whether a bird of this status is in the valley in a month (0 is January).
fn is_present(status: &str, month: usize) -> bool {
    match status {
        "summer" => (2..=8).contains(&month),
        "winter" => month <= 2 || month >= 8,
        _ => true,
    }
}

fn status_words(status: &str) -> &'static str {
    match status {
        "summer" => "summer visitor",
        "winter" => "winter visitor",
        _ => "all year",
    }
}

fn species_page(bird: &Entry, index: usize, birds: &[Entry]) -> Page {
    let habitat = bird.field("habitat");
    let status = bird.field("status");
    let aside = figure(
        &drawing_of(bird),
        &format!("{}, drawn from the field book.", bird.name()),
    ) + &facts(
        "At a glance",
        &[
            ("Scientific name", format!("<i>{}</i>", bird.field("latin"))),
            ("Family", bird.field("family").to_owned()),
            ("Length", format!("{} cm", bird.field("size"))),
            ("Habitat", link(&format!("/habitats/{habitat}"), habitat)),
            ("Here", status_words(status).to_owned()),
        ],
    );
    let months: String = MONTHS
        .iter()
        .enumerate()
        .map(|(month, name)| {
            let class = if is_present(status, month) {
                " class=\"on\""
            } else {
                ""
            };
            format!("<li{class}>{name}</li>")
        })
        .collect();
    let similar: String = birds
        .iter()
        .cycle()
        .skip(index + 1)
        .take(birds.len() - 1)
        .filter(|other| other.field("habitat") == habitat)
        .take(3)
        .map(bird_card)
        .collect();
    let article = prose(bird)
        + &section(
            "When to look",
            &format!("<ul class=\"months\">{months}</ul>\n"),
        )
        + &paragraph(DIARY[choose(bird.name(), DIARY.len())])
        + &section("In the same places", &cards(&similar));
    Page::new(bird.name(), bird.gist(), with_aside(&article, &aside))
        .below(&[("/species/", "Species")])
}

fn month_page(index: usize, month: &Entry, months: &[(&str, &Entry)], birds: &[Entry]) -> Page {
    let present = birds
        .iter()
        .filter(|bird| is_present(bird.field("status"), index))
        .count();
    let chosen: String = (0..6)
        .filter_map(|step| birds.get((index * 5 + step * 7) % birds.len()))
        .filter(|bird| is_present(bird.field("status"), index))
        .map(bird_card)
        .collect();
    let around: Vec<(String, String)> = [11, 1]
        .iter()
        .filter_map(|step| months.get((index + step) % 12))
        .map(|(slug, entry)| (format!("/months/{slug}"), entry.name().to_owned()))
        .collect();
    let main = prose(month)
        + &paragraph(&format!(
            "Of the species on our list, {present} can be met in the valley in {}.",
            month.name()
        ))
        + &section("Six to begin with", &cards(&chosen))
        + &section("Before and after", &links(&around));
    Page::new(month.name(), month.gist(), main).below(&[("/months/", "Months")])
}

fn write_indexes(
    atlas: &mut Atlas,
    birds: &[Entry],
    habitats: &[(&str, &Entry)],
    months: &[(&str, &Entry)],
) {
    let all: String = birds.iter().map(bird_card).collect();
    let words = "Every species with a page of its own, in no order but the one in which the pages were written.";
    atlas.put(
        LOOK.host,
        "/species/",
        LOOK.answer(&Page::new(
            "Species",
            words,
            paragraph(words) + &cards(&all),
        )),
    );

    // The only page with a base element: its links are relative to another folder than its own.
    let habitat_cards: String = habitats
        .iter()
        .map(|(slug, habitat)| {
            card(
                slug,
                &image(&format!("/img/{slug}.svg"), habitat.name(), 640, 300),
                habitat.name(),
                habitat.gist(),
            )
        })
        .collect();
    let words = "Six kinds of place, each within a morning’s walk of the others.";
    let page = Page::new("Habitats", words, paragraph(words) + &cards(&habitat_cards))
        .with_head("<base href=\"http://birds.demo/habitats/\">\n");
    atlas.put(LOOK.host, "/habitats/", LOOK.answer(&page));

    let month_links: Vec<(String, String)> = months
        .iter()
        .map(|(slug, month)| (format!("/months/{slug}"), month.name().to_owned()))
        .collect();
    let words = "What each month brings, in twelve short notes.";
    atlas.put(
        LOOK.host,
        "/months/",
        LOOK.answer(&Page::new(
            "Months",
            words,
            paragraph(words) + &links(&month_links),
        )),
    );

    let rows: Vec<Vec<String>> = birds
        .iter()
        .map(|bird| {
            vec![
                link(&format!("/species/{}", bird.slug), bird.name()),
                bird.field("family").to_owned(),
                bird.field("size").to_owned(),
                status_words(bird.field("status")).to_owned(),
            ]
        })
        .collect();
    let words = "The whole list on one page, for printing.";
    atlas.put(
        LOOK.host,
        "/list",
        LOOK.answer(&Page::new(
            "The list",
            words,
            paragraph(words) + &table("Species", &["Name", "Family", "Length (cm)", "Here"], &rows),
        )),
    );
    for slug in ["about", "watching"] {
        let entries = entry::read(TEXTS);
        if let Some(entry) = super::find(&entries, slug) {
            atlas.put(
                LOOK.host,
                format!("/{slug}"),
                LOOK.answer(&plain(entry, MORE)),
            );
        }
    }

    let owl = birds
        .iter()
        .find(|bird| bird.slug == "kingfisher")
        .map_or_else(String::new, drawing_of);
    let words = "Notes by neighbours on forty-six birds, six kinds of place and twelve months, written down after the walk and before supper.";
    let opening = hero(
        "Look up more often",
        words,
        &[("/species/", "Meet the birds"), ("/months/", "This month")],
        &owl,
    );
    let chosen: String = [40, 22, 19, 1, 36, 30, 24, 45]
        .iter()
        .filter_map(|index| birds.get(*index))
        .map(bird_card)
        .collect();
    let elsewhere = "<p>Swallows were <a href=\"http://noticias.demo/2026/05/andorinhas-contadas-porta-a-porta\" hreflang=\"pt\">counted door to door</a> \
                     in May. The museum keeps <a href=\"http://museu.demo/pecas/penas-de-gaio\" hreflang=\"pt\">a frame of jay feathers</a>. \
                     For a cold morning take <a href=\"http://recipes.demo/recipes/lentil-soup-with-lemon\">lentil soup</a>. \
                     Our <a href=\"HTTP://Birds.Demo:80/species/../species/robin#song\">most asked question</a> is about the robin, and the \
                     <a href=\"/old/robin.html\">old page about it</a> has moved.</p>\n";
    let mut page = Page::new(
        LOOK.name,
        words,
        section("Eight to start with", &cards(&chosen))
            + &section(
                "Where",
                &cards(&habitat_cards.replace("href=\"", "href=\"/habitats/")),
            )
            + &section("Elsewhere in the valley", elsewhere),
    );
    page.hero = Some(opening);
    atlas.put(LOOK.host, "/", LOOK.answer(&page));
}

const TEXTS: &str = "# about
name: About these notes

We are a dozen people with four pairs of binoculars. The notes began as a sheet of paper on the door of the hut, and still do.
Nothing here is rare. A bird seen every day for thirty years tells more than one seen once.

# watching
name: How to watch

Go alone or with somebody who can be quiet. Stop more than you walk. Look at the edge of things: of the wood, of the water, of the day.
Write down what you saw before you look it up; the book will still be there, and the bird will not.
Never play recordings near a nest, and never tell strangers where an owl sleeps.
";

const MORE: &str = "<p>See also <a href=\"/list\">the whole list</a> and <a href=\"/checklist.pdf\">the checklist to print</a>.</p>\n";
