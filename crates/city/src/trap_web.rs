//! A generated site with known truth: honest pages of many kinds, and a trap of each kind.
//!
//! Every page follows from its address. Honest pages have an end and traps have none; which is
//! which, [`TrapWeb::kind`] says. Honest pages stand between the menu and the footer of their section, up to 300
//! words that say nothing; traps have the furniture of real ones: links to log in, to print, to share, and clocks.

use std::fmt::Write;

/// The site.
#[derive(Clone, Copy, Debug)]
pub struct TrapWeb {
    /// Products; about half of the honest pages.
    pub products: u64,
}

/// What lies at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A page that somebody may want.
    Honest,
    /// A page of the trap with this name.
    Trap(&'static str),
}

/// The traps of the site.
pub const TRAPS: [&str; 18] = [
    "calendar",
    "session",
    "facets",
    "deeper",
    "last-page",
    "maze",
    "random",
    "soft-404",
    "pixels",
    "log-in",
    "print",
    "share",
    "clock",
    "stamp",
    "zigzag",
    "uuid",
    "in-path",
    "letters",
];

const PER_LIST: u64 = 20;
const POSTS: u64 = 12;
const YEARS: std::ops::Range<u64> = 1990..2026;
const COMMON: u64 = 1500;

impl TrapWeb {
    /// What lies at a path with its query, if anything does.
    pub fn kind(&self, path: &str) -> Option<Kind> {
        let first = path.split(['/', '?']).nth(1).unwrap_or("");
        let trap = match first {
            "calendar" => "calendar",
            "session" => "session",
            "filter" => "facets",
            "deeper" => "deeper",
            "list" => "last-page",
            "maze" => "maze",
            "r" => "random",
            "void" => "soft-404",
            "pixels" => "pixels",
            "agenda" | "login" => "log-in",
            "planner" | "print" => "print",
            "events" | "sharer" => "share",
            "diary" => "clock",
            "almanac" => "stamp",
            "event" | "ticket" => "zigzag",
            _ if session_of(first).is_some() => session_of(first)?,
            "items" | "item" | "person" | "word" | "tides" | "timetable" => {
                return Some(Kind::Honest);
            }
            "" | "shop" | "product" | "archive" | "user" | "gallery" | "weather" => {
                return Some(Kind::Honest);
            }
            _ => return None,
        };
        Some(Kind::Trap(trap))
    }

    /// Honest pages, all told.
    pub fn honest_pages(&self) -> u64 {
        let months = (YEARS.end - YEARS.start) * 12;
        let lists = self.products.div_ceil(PER_LIST);
        let items = self.items() + self.items().div_ceil(PER_LIST);
        let chains = 4 * self.chain() + 2 * self.entries();
        1 + lists + self.products + self.users() + months * (1 + POSTS) + items + chains
    }

    /// Products of which little is said.
    fn items(&self) -> u64 {
        self.products / 5
    }

    /// Entries of the directory, and of the dictionary.
    fn entries(&self) -> u64 {
        self.products / 4
    }

    fn users(&self) -> u64 {
        self.products / 10
    }

    fn chain(&self) -> u64 {
        self.products / 20
    }

    /// The page at a path with its query.
    pub fn page(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path
            .split(['/', '?', '&', '=', '-'])
            .filter(|part| !part.is_empty())
            .collect();
        let number = |at: usize| parts.get(at).and_then(|part| part.parse::<u64>().ok());
        let mut page = String::from("<!doctype html><title>");
        let section = path.split(['/', '?']).nth(1).unwrap_or("");
        match parts.first().copied() {
            None => self.home(&mut page),
            Some("shop") => self.shop(&mut page, number(2).unwrap_or(0))?,
            Some("product") => self.product(&mut page, number(1)?)?,
            Some("user") if number(1)? < self.users() => page += "User</title><p>No posts yet.",
            Some("archive") => Self::archive(&mut page, &parts[1..])?,
            Some("gallery") => self.gallery(&mut page, number(1)?)?,
            Some("weather") => self.weather(&mut page, number(1)?)?,
            Some("calendar") => calendar(&mut page, number(1)?, number(2)?),
            Some("session") => session(&mut page, path),
            Some("filter") => facets(&mut page, path),
            Some("deeper") => deeper(&mut page, path),
            Some("list") => last_page(&mut page, number(2).unwrap_or(0)),
            Some("maze") => maze(&mut page, path),
            Some("r") => random(&mut page, path),
            Some("void") => void(&mut page, path),
            Some("pixels") => pixels(&mut page, number(1)?, number(2)?),
            Some("items") => self.item_list(&mut page, number(2).unwrap_or(0))?,
            Some("item") => self.item(&mut page, number(1)?)?,
            Some("person") => self.person(&mut page, number(1)?)?,
            Some("word") => self.word(&mut page, number(1)?)?,
            Some("tides") => self.tides(&mut page, number(1)?)?,
            Some("timetable") => self.timetable(&mut page, number(1)?)?,
            Some("agenda" | "planner" | "events" | "diary" | "almanac") => {
                furnished(&mut page, section, number(1)?, number(2)?);
            }
            Some("login") => page += "Log in</title><p>Please log in with your name to see it.",
            Some("print") => page += "Print</title><p>To be printed. No events this month.",
            Some("sharer") => page += "Share</title><p>Share this with all your friends.",
            Some("event") => {
                page += "Event</title><p>This event is over.";
                link(&mut page, &format!("/ticket/{}", number(1)?), "tickets");
            }
            Some("ticket") => {
                page += "Ticket</title><p>Tickets are sold out.";
                let next = format!("/event/{}", number(1)? + 1);
                link(&mut page, &next, "next event");
            }
            Some(_) => session_in_path(&mut page, session_of(section)?, path)?,
        }
        Some(framed(&page, section))
    }

    fn home(&self, page: &mut String) {
        *page += "Home</title><p>Welcome.";
        for path in [
            "/shop?page=0",
            "/archive/1990/1",
            "/gallery/0",
            "/weather/0",
            "/calendar/2026/11",
            "/session/0?sid=00000000000000aa",
            "/filter?color=red",
            "/deeper/start",
            "/list?page=0",
            "/maze/start/here",
            "/r/00000000000000aa",
            "/void/first/page",
            "/pixels/2026/11",
            "/items?page=0",
            "/person/0",
            "/word/0",
            "/tides/0",
            "/timetable/0",
            "/agenda/2026/11",
            "/planner/2026/11",
            "/events/2026/11",
            "/diary/2026/11",
            "/almanac/2026/11",
            "/event/0",
            "/0a1b2c3d-4e5f-4a7b-8c9d-0e1f2a3b4c5d/page/0",
            "/(S(abcdefghijklmnopqrstuvwx))/page/0",
            "/qwertzuiopasdfgh/page/0",
        ] {
            link(page, path, "go");
        }
    }

    fn shop(&self, page: &mut String, number: u64) -> Option<()> {
        let products = number * PER_LIST..((number + 1) * PER_LIST).min(self.products);
        if products.is_empty() {
            return None;
        }
        let _ = write!(page, "Shop, page {number}</title><p>Our products:");
        for product in products {
            let path = format!("/product/{product}-{}", own_word(product, 0));
            link(
                page,
                &path,
                &format!("{} {}", own_word(product, 0), own_word(product, 1)),
            );
        }
        if (number + 1) * PER_LIST < self.products {
            link(page, &format!("/shop?page={}", number + 1), "next");
        }
        Some(())
    }

    fn product(&self, page: &mut String, product: u64) -> Option<()> {
        if product >= self.products {
            return None;
        }
        let _ = write!(page, "{}</title><p>Buy it now. ", own_word(product, 0));
        prose(page, product, 60);
        let related = mix(product) % self.products;
        let path = format!("/product/{related}-{}", own_word(related, 0));
        link(page, &path, "others also bought");
        if self.users() > 0 {
            link(page, &format!("/user/{}", product % self.users()), "seller");
        }
        Some(())
    }

    fn archive(page: &mut String, parts: &[&str]) -> Option<()> {
        let year: u64 = parts.first()?.parse().ok()?;
        let month: u64 = parts.get(1)?.parse().ok()?;
        if !YEARS.contains(&year) || !(1..=12).contains(&month) {
            return None;
        }
        let seed = year * 1200 + month * 100;
        if let Some(post) = parts.get(2) {
            let post: u64 = post.parse().ok().filter(|post| *post < POSTS)?;
            let _ = write!(page, "Post</title><p>Posted in {month}/{year}. ");
            prose(page, 1_000_000_000 + seed + post, 120);
            link(
                page,
                &format!("/archive/{year}/{month}"),
                "all of this month",
            );
            return Some(());
        }
        let _ = write!(page, "Archive of {month}/{year}</title><p>Posts:");
        for post in 0..POSTS {
            let title = own_word(1_000_000_000 + seed + post, 0);
            link(page, &format!("/archive/{year}/{month}/{post}"), &title);
        }
        let (next_year, next_month) = if month == 12 {
            (year + 1, 1)
        } else {
            (year, month + 1)
        };
        if YEARS.contains(&next_year) {
            link(
                page,
                &format!("/archive/{next_year}/{next_month}"),
                "next month",
            );
        }
        Some(())
    }

    /// A chain of pages on which nothing but the picture is new.
    fn gallery(&self, page: &mut String, number: u64) -> Option<()> {
        (number < self.chain()).then_some(())?;
        let _ = write!(
            page,
            "Gallery</title><p>A picture.<img src=/pictures/{number}.png>"
        );
        if number + 1 < self.chain() {
            link(page, &format!("/gallery/{}", number + 1), "next");
        }
        Some(())
    }

    /// A chain of pages on which nothing but the numbers is new.
    fn weather(&self, page: &mut String, day: u64) -> Option<()> {
        (day < self.chain()).then_some(())?;
        let _ = write!(page, "Weather of day {day}</title><table>");
        for hour in 0..24 {
            let degrees = mix(day * 24 + hour) % 400;
            let _ = write!(
                page,
                "<tr><td>{hour} h<td>{}.{} degrees",
                degrees / 10,
                degrees % 10
            );
        }
        if day + 1 < self.chain() {
            link(page, &format!("/weather/{}", day + 1), "next day");
        }
        Some(())
    }

    fn item_list(&self, page: &mut String, number: u64) -> Option<()> {
        let items = number * PER_LIST..((number + 1) * PER_LIST).min(self.items());
        if items.is_empty() {
            return None;
        }
        let _ = write!(page, "Items, page {number}</title><p>");
        for item in items {
            link(page, &format!("/item/{item}"), &name(item));
        }
        if (number + 1) * PER_LIST < self.items() {
            link(page, &format!("/items?page={}", number + 1), "next");
        }
        Some(())
    }

    /// A name, a price, at most a few words that everybody uses, and four others.
    fn item(&self, page: &mut String, item: u64) -> Option<()> {
        (item < self.items()).then_some(())?;
        let name = name(item);
        let _ = write!(page, "{name}</title><h1>{name}</h1><p>");
        for at in 0..[0, 15, 70][usize::try_from(item % 3).ok()?] {
            *page += &word(mix(item * 1000 + at) % COMMON);
            page.push(' ');
        }
        let price = mix(item) % 10_000;
        let _ = write!(page, "<p>Price: {}.{:02} euro", price / 100, price % 100);
        for other in 0..4 {
            let other = mix(item * 4 + other) % self.items();
            link(page, &format!("/item/{other}"), "more");
        }
        Some(())
    }

    /// An entry of a directory.
    fn person(&self, page: &mut String, number: u64) -> Option<()> {
        (number < self.entries()).then_some(())?;
        let name = name(5_000_000_000 + number);
        let telephone = mix(number) % 100_000_000;
        let _ = write!(
            page,
            "{name}</title><h1>{name}</h1><p>Telephone: {telephone}"
        );
        if number + 1 < self.entries() {
            link(page, &format!("/person/{}", number + 1), "next");
        }
        Some(())
    }

    /// An entry of a dictionary: none of its words is its own.
    fn word(&self, page: &mut String, number: u64) -> Option<()> {
        (number < self.entries()).then_some(())?;
        let head = word(number % COMMON);
        let _ = write!(page, "{head}</title><h1>{head}</h1><p>");
        for at in 0..10 {
            *page += &word(mix(6_000_000_000 + number * 10 + at) % COMMON);
            page.push(' ');
        }
        if number + 1 < self.entries() {
            link(page, &format!("/word/{}", number + 1), "next");
        }
        Some(())
    }

    /// Four moments and four heights of a day.
    fn tides(&self, page: &mut String, day: u64) -> Option<()> {
        (day < self.chain()).then_some(())?;
        let _ = write!(page, "Tides of day {day}</title><p>");
        for tide in 0..4 {
            let drawn = mix(7_000_000_000 + day * 4 + tide);
            let (minute, height) = (tide * 360 + drawn % 360, (drawn >> 20) % 60);
            let (hour, minute) = (minute / 60, minute % 60);
            let what = ["High", "Low"][usize::try_from(tide % 2).ok()?];
            let (metres, rest) = (height / 10, height % 10);
            let _ = write!(
                page,
                "{what} water {hour:02}:{minute:02} {metres}.{rest} m. "
            );
        }
        if day + 1 < self.chain() {
            link(page, &format!("/tides/{}", day + 1), "next day");
        }
        Some(())
    }

    /// When buses leave a stop.
    fn timetable(&self, page: &mut String, stop: u64) -> Option<()> {
        (stop < self.chain()).then_some(())?;
        let _ = write!(page, "Stop {stop}</title><table>");
        let mut minute = 300 + mix(8_000_000_000 + stop) % 60;
        while minute < 1380 {
            let _ = write!(page, "<td>{:02}:{:02}", minute / 60, minute % 60);
            minute += 20 + mix(stop * 2000 + minute) % 40;
        }
        *page += "</table>";
        if stop + 1 < self.chain() {
            link(page, &format!("/timetable/{}", stop + 1), "next stop");
        }
        Some(())
    }
}

/// A page between the menu and the footer of its section.
fn framed(page: &str, section: &str) -> String {
    let count = match section {
        "shop" => 120,
        "item" => 120,
        "items" | "product" | "archive" => 200,
        "person" | "weather" => 150,
        "word" => 90,
        "tides" | "user" | "agenda" | "maze" => 300,
        "timetable" | "filter" | "session" | "diary" | "events" => 100,
        _ => 0,
    };
    if count == 0 {
        return page.to_owned();
    }
    let seed = hash(section);
    let frame = |from: u64, to: u64| -> String {
        let words = (from..to).map(|at| word(mix(seed.wrapping_add(at)) % COMMON));
        words.collect::<Vec<_>>().join(" ")
    };
    let (title, body) = page.split_once("</title>").unwrap_or(("", page));
    let (menu, footer) = (frame(0, count / 2), frame(count / 2, count));
    format!("{title}</title><nav>{menu}</nav>{body}<footer>{footer}</footer>")
}

/// A name of two words.
fn name(of: u64) -> String {
    let part = |at: u64| word(400 + mix(of * 2 + at) % 7600);
    format!("{} {}", part(0), part(1))
}

/// A calendar with what real ones have beside their months.
fn furnished(page: &mut String, section: &str, year: u64, month: u64) {
    let seed = mix(year * 12 + month);
    if section == "almanac" {
        calendar(page, year, month);
    } else {
        flat_calendar(page, year, month);
    }
    *page = page.replace("/calendar/", &format!("/{section}/"));
    match section {
        "agenda" => link(
            page,
            &format!("/login?next=/agenda/{year}/{month}"),
            "log in",
        ),
        "planner" => link(page, &format!("/print/{year}/{month}"), "print"),
        "events" => link(
            page,
            &format!("http://share.test/sharer?u=http://site.test/events/{year}/{month}"),
            "share",
        ),
        "diary" => {
            let (hour, minute, second) = (seed % 24, seed / 24 % 60, seed / 1440 % 60);
            let took = seed / 7 % 10_000;
            let _ = write!(
                page,
                "<footer>Made in 0.0{took:04} seconds at {hour:02}:{minute:02}:{second:02}, \
                 request {}</footer>",
                uuid(seed)
            );
        }
        _ => {
            let _ = write!(
                page,
                "<footer>{}.{}</footer>",
                seed % 1_000_000_000,
                seed % 997
            );
        }
    }
}

fn uuid(seed: u64) -> String {
    let more = mix(seed);
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        seed >> 32,
        seed & 0xffff,
        seed >> 16 & 0xfff,
        more >> 52,
        more & 0xffff_ffff_ffff
    )
}

/// The trap whose session a first segment is.
fn session_of(segment: &str) -> Option<&'static str> {
    let is_letters = segment.bytes().all(|byte| byte.is_ascii_lowercase());
    if segment.len() == 36 && segment.matches('-').count() == 4 {
        Some("uuid")
    } else if segment.starts_with("(S(") {
        Some("in-path")
    } else {
        (segment.len() == 16 && is_letters).then_some("letters")
    }
}

/// Thirty pages, whose links have another session in front at each visit.
fn session_in_path(page: &mut String, kind: &str, path: &str) -> Option<()> {
    let number: u64 = path.rsplit('/').next()?.parse().ok()?;
    *page += "Chapter</title><p>";
    prose(page, 9_000_000_000 + number % 30, 60);
    let seed = hash(path);
    for other in 0..3 {
        let seed = mix(seed.wrapping_add(other));
        let letters = |count: u64| -> String {
            let letter = |at| char::from(b'a' + u8::try_from(mix(seed ^ at) % 26).unwrap_or(0));
            (0..count).map(letter).collect()
        };
        let session = match kind {
            "uuid" => uuid(seed),
            "in-path" => format!("(S({}))", letters(24)),
            _ => letters(16),
        };
        link(page, &format!("/{session}/page/{}", seed % 30), "chapter");
    }
    Some(())
}

fn calendar(page: &mut String, year: u64, month: u64) {
    let _ = write!(page, "{month}/{year}</title><p>Events of {month}/{year}:");
    for day in 1..=30 {
        let _ = write!(page, " {day}");
    }
    *page += "<p>No events this month.";
    months_beside(page, year, month);
}

/// The same text in each month.
fn flat_calendar(page: &mut String, year: u64, month: u64) {
    let _ = write!(
        page,
        "Calendar</title><p>Events of {month}/{year}: none. Come back later, or take our letter to hear of new ones."
    );
    months_beside(page, year, month);
}

fn months_beside(page: &mut String, year: u64, month: u64) {
    let (next_year, next_month) = if month >= 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    let (last_year, last_month) = if month <= 1 {
        (year.wrapping_sub(1), 12)
    } else {
        (year, month - 1)
    };
    link(page, &format!("/calendar/{next_year}/{next_month}"), "next");
    link(
        page,
        &format!("/calendar/{last_year}/{last_month}"),
        "previous",
    );
}

/// A calendar that counts its readers with one dot, whose address is another on each page.
fn pixels(page: &mut String, year: u64, month: u64) {
    calendar(page, year, month);
    *page = page.replace("/calendar/", "/pixels/");
    let id = mix(year * 12 + month);
    let _ = write!(page, "<img src=\"/px?r={id:016x}\">");
}

/// Thirty pages, whose links have another id at each visit.
fn session(page: &mut String, path: &str) {
    let number: u64 = path
        .trim_start_matches("/session/")
        .split('?')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    let _ = write!(page, "Chapter</title><p>");
    prose(page, 2_000_000_000 + number % 30, 60);
    let seed = hash(path);
    for other in 0..5 {
        let number = (seed >> (other * 8)) % 30;
        link(
            page,
            &format!("/session/{number}?sid={:016x}", mix(seed + other)),
            "chapter",
        );
    }
}

/// The same hundred things, by every choice of six properties.
fn facets(page: &mut String, path: &str) {
    const NAMES: [(&str, [&str; 5]); 6] = [
        ("color", ["red", "blue", "green", "black", "white"]),
        ("size", ["xs", "s", "m", "l", "xl"]),
        ("brand", ["acme", "globex", "initech", "umbrella", "hooli"]),
        ("sort", ["price", "name", "date", "rank", "size"]),
        ("stock", ["yes", "no", "soon", "all", "few"]),
        ("view", ["list", "grid", "table", "big", "small"]),
    ];
    *page += "Things</title><p>Things that match:";
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let chosen: Vec<(&str, &str)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let seed = hash(path);
    for at in 0..20 {
        let thing = mix(seed + at) % 100;
        let _ = write!(
            page,
            "<p>{} {} costs {} euros.",
            own_word(3_000_000_000 + thing, 0),
            own_word(3_000_000_000 + thing, 1),
            10 + thing
        );
    }
    for (name, values) in NAMES {
        for value in values {
            let mut pairs: Vec<(&str, &str)> = chosen
                .iter()
                .copied()
                .filter(|(other, _)| *other != name)
                .collect();
            pairs.push((name, value));
            pairs.sort_unstable();
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            link(page, &format!("/filter?{}", pairs.join("&")), value);
        }
    }
}

/// A relative link that should have been absolute: every page is one level below itself.
fn deeper(page: &mut String, path: &str) {
    *page += "About us</title><p>About us: we sell things of every kind to everybody, everywhere, at any time.";
    let seed = hash(path);
    for at in 0..3 {
        link(
            page,
            &format!("{path}/{}", word(mix(seed + at) % 50)),
            "more",
        );
    }
}

fn last_page(page: &mut String, number: u64) {
    let _ = write!(
        page,
        "List, page {number}</title><p>There are no more things."
    );
    link(page, &format!("/list?page={}", number + 1), "next");
}

/// Text made up of a thousand words, and links to more of it.
fn maze(page: &mut String, path: &str) {
    let seed = hash(path);
    let _ = write!(page, "{}</title><p>", word(seed % 1000));
    for at in 0..200 {
        *page += &word(mix(seed + at) % 1000);
        page.push(' ');
    }
    for at in 200..208 {
        let target = mix(seed + at);
        link(
            page,
            &format!(
                "/maze/{}/{}",
                word(target % 1000),
                word((target >> 20) % 1000)
            ),
            &word(target % 77),
        );
    }
}

/// Ten pages, under new names each time.
fn random(page: &mut String, path: &str) {
    let seed = hash(path);
    *page += "Story</title><p>";
    prose(page, 4_000_000_000 + seed % 10, 60);
    for at in 0..4 {
        link(
            page,
            &format!("/r/{:016x}", mix(seed + at)),
            "another story",
        );
    }
}

/// A page for whatever is asked, which is always the same.
fn void(page: &mut String, path: &str) {
    *page += "Not here</title><p>Sorry, we could not find what you looked for. Try one of these:";
    let seed = hash(path);
    for at in 0..4 {
        let target = mix(seed + at);
        link(
            page,
            &format!(
                "/void/{}/{}",
                word(target % 5000),
                word((target >> 20) % 5000)
            ),
            "this",
        );
    }
}

fn link(page: &mut String, path: &str, text: &str) {
    let _ = write!(
        page,
        " <a href=\"{}\">{text}</a>",
        path.replace('&', "&amp;")
    );
}

/// Mostly words that everybody uses, and some that only this text has.
fn prose(page: &mut String, seed: u64, words: u64) {
    for at in 0..words {
        let drawn = mix(seed * 1000 + at);
        if drawn.is_multiple_of(6) {
            *page += &own_word(seed, at);
        } else {
            *page += &word((drawn >> 8) % COMMON);
        }
        page.push(' ');
    }
}

/// One of the words that a text has for itself.
fn own_word(seed: u64, at: u64) -> String {
    word(COMMON + mix(seed * 7919 + at) % 4_000_000_000)
}

/// The word with this number.
fn word(mut number: u64) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo", "cru",
        "pla", "tre", "gri", "flo", "bru",
    ];
    let mut text = String::new();
    loop {
        text += SYLLABLES[usize::try_from(number % 20).unwrap_or(0)];
        number /= 20;
        if number == 0 {
            return text;
        }
    }
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
