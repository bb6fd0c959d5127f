//! recipes.demo: three neighbours' recipes, in English. Images in two sizes, print views closed by robots.txt.

use super::super::answer::Answer;
use super::super::atlas::Atlas;
use super::super::entry::{self, Entry};
use super::super::html::{
    card, cards, escape, facts, figure, link, links, list, paragraph, prose, section, table,
    with_aside,
};
use super::super::look::{Look, Page, hero};
use super::super::{picture, portrait};
use super::plain;

/// The look of the kitchen.
pub(super) const LOOK: Look = Look {
    host: "recipes.demo",
    lang: "en",
    name: "Three Neighbours’ Kitchen",
    tagline: "recipes that were cooked four times",
    theme: "recipes",
    nav: &[
        ("/recipes/", "Recipes"),
        ("/ingredients/", "Ingredients"),
        ("/seasons", "Seasons"),
        ("/pantry", "Pantry"),
        ("/about", "About"),
    ],
    footer: "<p><a href=\"/measures\">Measures</a> · <a href=\"/leftovers\">Leftovers</a> · \
             <a href=\"javascript:window.print()\">Print</a></p>\n\
             <p>Neighbours: <a href=\"http://birds.demo/\">Valley Bird Notes</a>, \
             <a href=\"http://noticias.demo/\" hreflang=\"pt\">Correio do Vale</a></p>\n",
};

/// The dish of each category's picture: slug, colours, seed.
const DISHES: [(&str, [u32; 3], u32); 5] = [
    ("soups", [0xd98a2b, 0xf0c878, 0x6a994e], 3),
    ("bread", [0xc98f4a, 0xf3dfb8, 0x8a5a2b], 11),
    ("mains", [0xa3413a, 0xf1e3d0, 0x5f8a3c], 23),
    ("sides", [0x6f9a45, 0xd8e3a8, 0xd2412f], 31),
    ("sweets", [0xf0d9a8, 0xfff6e2, 0xa8502c], 47),
];

/// Writes the host.
pub(super) fn write(atlas: &mut Atlas) {
    let recipes = entry::read(include_str!("../text/recipes.txt"));
    let more = entry::read(include_str!("../text/recipes_more.txt"));
    let categories = entry::under(&more, "category-");
    let ingredients = shared_ingredients(&recipes);

    for (index, recipe) in recipes.iter().enumerate() {
        let page = recipe_page(recipe, index, &recipes, &ingredients);
        atlas.put(
            LOOK.host,
            format!("/recipes/{}", recipe.slug),
            LOOK.answer(&page),
        );
    }
    for (slug, category) in &categories {
        let own: String = recipes
            .iter()
            .filter(|recipe| recipe.field("category") == *slug)
            .map(recipe_card)
            .collect();
        let main = figure(
            &photo(slug, "A plate seen from above"),
            "From the shared table.",
        ) + &prose(category)
            + &cards(&own);
        let page =
            Page::new(category.name(), category.gist(), main).below(&[("/recipes/", "Recipes")]);
        atlas.put(LOOK.host, format!("/categories/{slug}"), LOOK.answer(&page));
    }
    for key in &ingredients {
        let own: String = recipes
            .iter()
            .filter(|recipe| recipe.field("key") == *key)
            .map(recipe_card)
            .collect();
        let title = format!("Recipes with {key}");
        let words = format!("What the three of us do with {key}.");
        let page = Page::new(&title, &words, paragraph(&words) + &cards(&own))
            .below(&[("/ingredients/", "Ingredients")]);
        atlas.put(LOOK.host, format!("/ingredients/{key}"), LOOK.answer(&page));
    }
    for entry in more
        .iter()
        .filter(|entry| !entry.slug.starts_with("category-"))
    {
        atlas.put(
            LOOK.host,
            format!("/{}", entry.slug),
            LOOK.answer(&plain(entry, &more_of(entry.slug))),
        );
    }
    write_indexes(atlas, &recipes, &categories, &ingredients);
    for (slug, colours, seed) in DISHES {
        for width in [320, 640] {
            let png = picture::dish(width, colours, seed);
            atlas.put(
                LOOK.host,
                format!("/img/{slug}-{width}.png"),
                Answer::ok("image/png", png),
            );
        }
    }
    let robots = "User-agent: *\nDisallow: /*?print=\nAllow: /\n";
    atlas.put(LOOK.host, "/robots.txt", Answer::ok("text/plain", robots));
}

/// The main ingredients of at least two recipes, in order of first use.
fn shared_ingredients(recipes: &[Entry]) -> Vec<&'static str> {
    let mut keys: Vec<&'static str> = Vec::new();
    for recipe in recipes {
        let key = recipe.field("key");
        let uses = recipes
            .iter()
            .filter(|other| other.field("key") == key)
            .count();
        if uses > 1 && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn photo(slug: &str, name: &str) -> String {
    format!(
        "<img src=\"/img/{slug}-320.png\" srcset=\"/img/{slug}-320.png 320w, /img/{slug}-640.png 640w\" \
         sizes=\"(max-width: 760px) 100vw, 640px\" alt=\"{}\" width=\"640\" height=\"480\">",
        escape(name)
    )
}

fn drawing_of(recipe: &Entry) -> String {
    let draw = if recipe.field("category") == "bread" {
        portrait::loaf
    } else {
        portrait::dish
    };
    draw(recipe.name(), recipe.field("colours"))
}

fn recipe_card(recipe: &Entry) -> String {
    let line = format!(
        "{} min, serves {}",
        recipe.field("minutes"),
        recipe.field("serves")
    );
    card(
        &format!("/recipes/{}", recipe.slug),
        &drawing_of(recipe),
        recipe.name(),
        &line,
    )
}

fn recipe_page(recipe: &Entry, index: usize, recipes: &[Entry], ingredients: &[&str]) -> Page {
    let category = recipe.field("category");
    let key = recipe.field("key");
    let key_link = if ingredients.contains(&key) {
        link(&format!("/ingredients/{key}"), key)
    } else {
        key.to_owned()
    };
    let aside = figure(&drawing_of(recipe), recipe.name())
        + &facts(
            "In short",
            &[
                ("Time", format!("{} minutes", recipe.field("minutes"))),
                ("Serves", recipe.field("serves").to_owned()),
                ("Kind", link(&format!("/categories/{category}"), category)),
                ("Mostly", key_link),
            ],
        );
    let steps = list("ol", &recipe.steps).replacen("<ol>", "<ol class=\"steps\">", 1);
    let next: String = [1, 8, 19]
        .iter()
        .filter_map(|step| recipes.get((index + step) % recipes.len()))
        .map(recipe_card)
        .collect();
    let print = if index < 5 {
        format!(
            "<p>{}</p>\n",
            link(
                &format!("/recipes/{}?print=1", recipe.slug),
                "Print this recipe"
            )
        )
    } else {
        String::new()
    };
    let article = prose(recipe)
        + &section("Ingredients", &list("ul", &recipe.items))
        + &section("Method", &steps)
        + &print
        + &section("Cook next", &cards(&next));
    Page::new(recipe.name(), recipe.gist(), with_aside(&article, &aside))
        .below(&[("/recipes/", "Recipes")])
}

fn write_indexes(
    atlas: &mut Atlas,
    recipes: &[Entry],
    categories: &[(&str, &Entry)],
    ingredients: &[&str],
) {
    let all: String = recipes.iter().map(recipe_card).collect();
    let kinds: Vec<(String, String)> = categories
        .iter()
        .map(|(slug, category)| (format!("/categories/{slug}"), category.name().to_owned()))
        .collect();
    let words = "Thirty recipes, all of them for ordinary days.";
    atlas.put(
        LOOK.host,
        "/recipes/",
        LOOK.answer(&Page::new(
            "Recipes",
            words,
            paragraph(words) + &links(&kinds) + &cards(&all),
        )),
    );

    let keys: Vec<(String, String)> = ingredients
        .iter()
        .map(|key| (format!("/ingredients/{key}"), format!("Recipes with {key}")))
        .collect();
    let words = "Begin with what is already in the kitchen.";
    atlas.put(
        LOOK.host,
        "/ingredients/",
        LOOK.answer(&Page::new(
            "Ingredients",
            words,
            paragraph(words) + &links(&keys),
        )),
    );

    let words = "Soups, bread and plain good dinners from one shared oven, with the mistakes already made for you.";
    let opening = hero(
        "Cook something ordinary well",
        words,
        &[
            ("/recipes/", "See the recipes"),
            ("/pantry", "Fill the pantry"),
        ],
        &photo("mains", "A full plate seen from above"),
    );
    let chosen: String = [0, 6, 14, 1, 26, 22, 17, 28]
        .iter()
        .filter_map(|index| recipes.get(*index))
        .map(recipe_card)
        .collect();
    let kinds: String = categories
        .iter()
        .map(|(slug, category)| {
            card(
                &format!("/categories/{slug}"),
                &photo(slug, category.name()),
                category.name(),
                category.gist(),
            )
        })
        .collect();
    let elsewhere = "<p>Chestnuts came <a href=\"http://noticias.demo/2026/09/castanhas-chegam-mais-cedo\" hreflang=\"pt\">three weeks early</a> this year. \
                     The library lends <a href=\"http://biblioteca.demo/livros/poemas-de-cozinha\" hreflang=\"pt\">a book of poems that are recipes</a>.</p>\n";
    let mut page = Page::new(
        LOOK.name,
        words,
        section("This week", &cards(&chosen))
            + &section("By kind", &cards(&kinds))
            + &section("From the valley", elsewhere),
    );
    page.hero = Some(opening);
    atlas.put(LOOK.host, "/", LOOK.answer(&page));
}

fn more_of(slug: &str) -> String {
    let row = |cells: &[&str]| {
        cells
            .iter()
            .map(|cell| (*cell).to_owned())
            .collect::<Vec<String>>()
    };
    match slug {
        "measures" => table(
            "From the scale to the cup",
            &["What", "Cup", "Grams"],
            &[
                row(&["Flour", "1", "125"]),
                row(&["Sugar", "1", "200"]),
                row(&["Rice", "1", "185"]),
                row(&["Butter", "1", "227"]),
                row(&["Olive oil", "1", "216"]),
            ],
        ),
        "seasons" => table(
            "A year at the market",
            &["Season", "Vegetables", "Fruit"],
            &[
                row(&["Spring", "Peas, spinach, young garlic", "Strawberries"]),
                row(&["Summer", "Tomatoes, peppers, green beans", "Figs, melon"]),
                row(&["Autumn", "Pumpkin, mushrooms, cabbage", "Chestnuts, apples"]),
                row(&["Winter", "Kale, leeks, carrots", "Oranges, lemons"]),
            ],
        ),
        // The picture was lost in a move, and the page still asks for it.
        "about" => figure(
            "<img src=\"/img/the-oven.png\" alt=\"The shared oven\" width=\"640\" height=\"120\">",
            "The oven (the photograph is lost).",
        ),
        _ => String::new(),
    }
}
