//! Traps and farms: sites without an end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use teia_base::filter::{Candidate, Filter, FilterConfig, Rules};
use teia_base::journal::Attempt;
use teia_base::{CanonicalUrl, LinkKind, NormalForm, Outcome, SimulatedDisk};
use teia_city::{Door, Kind, Step, TrapWeb};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Level, Parts};

use crate::support::{Crawled, answer, crawl, crawl_by, crawl_config, html, open_site};

const WEB: TrapWeb = TrapWeb { products: 40 };

/// With chains that are longer than what a trap needs.
const HONEST_WEB: TrapWeb = TrapWeb { products: 1600 };

/// The part of the site below these first segments, and traps of these names.
fn open_web(sections: &'static [&'static str]) -> Door {
    open_part(WEB, sections)
}

fn open_part(web: TrapWeb, sections: &'static [&'static str]) -> Door {
    open_site(move |path| {
        let first = path.split(['/', '?']).nth(1).unwrap_or("");
        if path.ends_with(".png") {
            return Some(answer("Content-Type: image/png\r\n", path));
        }
        let is_trap = |name: &&'static str| web.kind(path) == Some(Kind::Trap(name));
        let is_wanted = sections.contains(&first) || sections.iter().any(is_trap);
        is_wanted.then(|| web.page(path)).flatten().map(html)
    })
}

/// Requests for each kind of page.
fn asked(door: &Door) -> HashMap<Kind, usize> {
    let mut kinds = HashMap::new();
    for head in door.requests() {
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        // What the crawler made up is no page of anyone.
        if path.contains("/zq") {
            continue;
        }
        if let Some(kind) = WEB.kind(&path) {
            *kinds.entry(kind).or_insert(0) += 1;
        }
    }
    kinds
}

/// What the run said; and other settings for it from the first trap on.
#[derive(Debug, Default)]
struct Heard {
    said: Mutex<Vec<String>>,
    change: Option<(Control, CollectionConfig)>,
}

impl Feedback for Heard {
    fn hear(&self, event: &Event) {
        if let Event::Notice {
            level: Level::Warning,
            text,
        } = event
        {
            self.said.lock().unwrap().push(text.clone());
            if let Some((control, wanted)) = &self.change {
                control.change(wanted.clone());
            }
        }
    }
}

/// A crawl that is listened to.
pub(crate) fn crawl_heard(
    disk: &SimulatedDisk,
    config: &CollectionConfig,
    seeds: &[String],
) -> (Crawled, Vec<String>) {
    crawl_changed(disk, config, seeds, None)
}

fn crawl_changed(
    disk: &SimulatedDisk,
    config: &CollectionConfig,
    seeds: &[String],
    wanted: Option<CollectionConfig>,
) -> (Crawled, Vec<String>) {
    crawl_told(disk, config, seeds, wanted, Parts::default())
}

/// A crawl with parts of a program's own that is listened to.
pub(crate) fn crawl_with_parts(
    disk: &SimulatedDisk,
    config: &CollectionConfig,
    seeds: &[String],
    parts: Parts,
) -> (Crawled, Vec<String>) {
    crawl_told(disk, config, seeds, None, parts)
}

fn crawl_told(
    disk: &SimulatedDisk,
    config: &CollectionConfig,
    seeds: &[String],
    wanted: Option<CollectionConfig>,
    parts: Parts,
) -> (Crawled, Vec<String>) {
    let control = Control::default();
    let heard = Arc::new(Heard {
        said: Mutex::default(),
        change: wanted.map(|wanted| (control.clone(), wanted)),
    });
    let parts = Parts {
        feedback: Arc::clone(&heard) as Arc<dyn Feedback>,
        ..parts
    };
    let crawled = crawl_by(disk, config, seeds, (parts, control));
    let said = heard.said.lock().unwrap().clone();
    (crawled, said)
}

/// Crawls a part of the site from a path, to its end; a trap of it costs at most so many requests.
#[track_caller]
fn is_caught(section: &'static [&'static str], start: &str, most: usize) -> (Door, Vec<String>) {
    is_caught_by("looks like a trap", crawl_config(), section, start, most)
}

/// The same, with the words of the warning.
#[track_caller]
fn is_caught_by(
    words: &str,
    mut config: CollectionConfig,
    section: &'static [&'static str],
    start: &str,
    most: usize,
) -> (Door, Vec<String>) {
    let door = open_web(section);
    // Whoever is not stopped by content is stopped by this, and fails.
    config.filter.max_pages = Some(3000);
    // Paths that grow are found out by what they say, before they are too long.
    config.filter.max_url_bytes = 16 << 10;
    let disk = SimulatedDisk::new();
    let (crawled, said) = crawl_heard(&disk, &config, &[door.url(start), door.url("/next")]);
    let traps: usize = asked(&door)
        .iter()
        .filter(|(kind, _)| **kind != Kind::Honest)
        .map(|(_, count)| count)
        .sum();
    assert!(traps <= most, "{traps} requests for {start}: {said:?}");
    assert!(traps >= 5, "it was tried");
    let excluded = crawled.report.states.get("excluded").copied().unwrap_or(0);
    assert!(excluded > 0, "parked: {:?}", crawled.report.states);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    assert_eq!(crawled.report.waiting, 0);
    let warned = said.iter().any(|text| text.contains(words));
    assert!(warned, "{said:?}");
    (door, said)
}

#[test]
fn trap_01() {
    let door = open_web(&["calendar"]);
    let mut config = crawl_config();
    config.filter.max_pages = Some(3000);
    let disk = SimulatedDisk::new();
    let seeds = [door.url("/calendar/2026/11"), door.url("/next")];
    let (crawled, said) = crawl_heard(&disk, &config, &seeds);
    let first = asked(&door)[&Kind::Trap("calendar")];
    assert!(first <= 150, "{first}");
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    let warning = said.iter().find(|text| text.contains("trap")).unwrap();
    assert!(warning.contains("/calendar/{n}/{n}"), "{warning}");
    assert!(warning.contains("/calendar/[0-9]+/[0-9]+$"), "{warning}");
    // The rule that the warning tells to write leaves them out.
    let rule = warning.split('\'').nth(1).unwrap().to_owned();
    let filter = FilterConfig {
        exclude: vec![rule],
        ..FilterConfig::default()
    };
    let url = CanonicalUrl::parse(&door.url("/calendar/2099/1")).unwrap();
    let rules = Rules::compile(&filter, std::slice::from_ref(&url)).unwrap();
    assert!(!rules.before(&Candidate::seed(&url)).is_admitted());
    // Another process does not forget it; what it finds there is left out as well.
    let (again, _) = crawl_heard(&disk, &config, &[door.url("/trick")]);
    assert_eq!(asked(&door)[&Kind::Trap("calendar")], first);
    let parked = again.report.states["excluded"];
    assert!(
        parked >= 1 && again.report.waiting == 0,
        "{:?}",
        again.report.states
    );
    // Lifted by a person: what was parked is collected.
    config.traps.allow = vec!["/calendar/{n}/{n}".to_owned()];
    config.filter.max_pages = Some(200);
    let (lifted, said) = crawl_heard(&disk, &config, &[]);
    assert!(
        asked(&door)[&Kind::Trap("calendar")] > first + 100,
        "{:?}",
        lifted.told()
    );
    assert!(!said.iter().any(|text| text.contains("trap")), "{said:?}");
}

/// With links to log in and to print, with clocks, and between events and their tickets.
#[test]
fn trap_01_is_found_with_the_furniture_of_real_pages() {
    is_caught(&["log-in"], "/agenda/2026/11", 150);
    is_caught(&["print"], "/planner/2026/11", 150);
    is_caught(&["clock"], "/diary/2026/11", 150);
    is_caught(&["stamp"], "/almanac/2026/11", 150);
    is_caught(&["zigzag"], "/event/0", 150);
}

#[test]
fn trap_01_is_found_where_nobody_may_log_in() {
    let robots = |path: &str| match path {
        "/robots.txt" => Some(answer(
            "Content-Type: text/plain\r\n",
            "User-agent: *\nDisallow: /login\n",
        )),
        path if path.starts_with("/login") => None,
        path => WEB.page(path).map(html),
    };
    let forbidden = |path: &str| match path {
        path if path.starts_with("/login") => None,
        path => WEB.page(path).map(html),
    };
    for door in [open_site(robots), open_site(forbidden)] {
        let mut config = crawl_config();
        config.filter.max_pages = Some(1000);
        let seeds = [door.url("/agenda/2026/11")];
        let (_, said) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
        assert!(
            said.iter().any(|text| text.contains("/agenda/{n}/{n}")),
            "{said:?}"
        );
        let asked = asked(&door)[&Kind::Trap("log-in")];
        assert!(asked <= 150, "{asked}");
    }
}

/// Words of letters only.
fn letters(number: usize) -> String {
    let letter = |at: u32| char::from(b'a' + u8::try_from(number / 20_usize.pow(at) % 20).unwrap());
    (0..4).map(letter).collect()
}

/// Directories without end, each a trap of its own: one pattern and few warnings; none is left out where they are not
/// alike, for honest pages may lie beside them, but nobody is warned of it for ever.
#[test]
fn trap_01_in_ever_more_directories_does_not_fill_the_warnings() {
    let door = |shape: fn(usize, usize) -> String| {
        open_site(move |path| {
            let mut parts = path.split('/').skip(1);
            let name = parts.next().filter(|name| name.len() == 4)?;
            let (mut number, mut unit) = (0, 1);
            for byte in name.bytes() {
                number += usize::from(byte.checked_sub(b'a')?) * unit;
                unit *= 20;
            }
            let page: usize = path.rsplit('/').next()?.parse().ok()?;
            let other = match page {
                0 => format!("<a href={}>other</a>", shape(number + 1, 0)),
                _ => String::new(),
            };
            Some(html(format!(
                "The {name} part, with {} and {}, has nothing new <a href={}>next</a>{other}",
                letters(number * 7 + 1),
                letters(number * 3 + 2),
                shape(number, page + 1),
            )))
        })
    };
    let mut config = crawl_config();
    config.filter.max_pages = Some(4000);
    let alike = door(|number, page| format!("/{}/{page}", letters(number)));
    let (_, said) = crawl_heard(&SimulatedDisk::new(), &config, &[alike.url("/aaaa/0")]);
    assert!(
        said.iter().any(|text| text.contains("/{any}/{n}")),
        "{said:?}"
    );
    assert!(said.len() <= 40, "{}", said.len());
    assert!(alike.requests().len() < 1000, "{}", alike.requests().len());
    let unlike = door(|number, page| {
        let name = letters(number);
        format!("/{name}/x{name}/{page}")
    });
    let (crawled, said) = crawl_heard(
        &SimulatedDisk::new(),
        &config,
        &[unlike.url("/aaaa/xaaaa/0")],
    );
    assert!(said.len() <= 201, "{}", said.len());
    let of_all = |text: &&String| text.contains("200 patterns that look like traps");
    assert_eq!(said.iter().filter(of_all).count(), 1, "{said:?}");
    assert_eq!(crawled.report.fetched, 4000);
}

/// Forty booking calendars that end, of which `/` names all, and honest pages of the same shape beside them.
#[test]
fn trap_15_directories_that_are_empty_take_no_honest_ones_with_them() {
    let door = open_site(|path| {
        let links = |urls: Vec<String>| -> String {
            urls.iter()
                .map(|url| format!("<a href={url}>x</a> "))
                .collect()
        };
        if path == "/" {
            let rooms = (0..40).map(|room| format!("/{}/2026", letters(room)));
            return Some(html(format!(
                "rooms {} <a href=/more>more</a>",
                links(rooms.collect())
            )));
        }
        if path == "/more" {
            let news = (0..60).map(|number| format!("/news/{number}"));
            return Some(html(format!("news {}", links(news.collect()))));
        }
        let (first, number) = path.strip_prefix('/')?.split_once('/')?;
        let number: usize = number.parse().ok()?;
        if first == "news" {
            let own = (1..30)
                .map(|at| letters(number * 71 + at * 977))
                .collect::<Vec<_>>();
            return Some(html(format!("What is new: {}", own.join(" "))));
        }
        let before = match number {
            2017.. => links(vec![format!("/{first}/{}", number - 1)]),
            _ => String::new(),
        };
        Some(html(format!("No bookings in this year. {before}")))
    });
    let (_, said) = crawl_heard(&SimulatedDisk::new(), &crawl_config(), &[door.url("/")]);
    let asked = door.requests();
    let news = asked.iter().filter(|one| one.starts_with("GET /news/"));
    // One may be the probe for a URL that does not exist.
    assert!(news.count() >= 60, "{said:?}");
}

/// A chain of issues, each with a file, of which five are gone: the others are something.
#[test]
fn trap_15_a_chain_to_files_goes_on_though_some_of_them_are_gone() {
    let door = open_site(|path| {
        if let Some(number) = path.strip_prefix("/issue/") {
            let number: usize = number.parse().ok()?;
            let next = match number {
                ..150 => format!("<a href=/issue/{}>next</a>", number + 1),
                _ => String::new(),
            };
            return Some(html(format!(
                "Issue <a href=/files/{number}.mp3>download</a> {next}"
            )));
        }
        let number = path.strip_prefix("/files/")?.strip_suffix(".mp3")?;
        let is_gone = ["3", "10", "20", "30", "40"].contains(&number);
        (!is_gone).then(|| answer("Content-Type: audio/mpeg\r\n", format!("ID3 {number}")))
    });
    let (_, said) = crawl_heard(
        &SimulatedDisk::new(),
        &crawl_config(),
        &[door.url("/issue/1")],
    );
    let asked = door.requests();
    let issues = asked.iter().filter(|one| one.starts_with("GET /issue/"));
    assert!(issues.count() >= 150, "{said:?}");
}

#[test]
fn trap_01_may_be_switched_off() {
    let door = open_web(&["calendar"]);
    let mut config = crawl_config();
    config.filter.max_pages = Some(400);
    config.traps.enabled = false;
    let (_, said) = crawl_heard(
        &SimulatedDisk::new(),
        &config,
        &[door.url("/calendar/2026/11")],
    );
    assert_eq!(asked(&door)[&Kind::Trap("calendar")], 400);
    assert!(said.is_empty(), "{said:?}");
}

/// A person who hears of it allows the pattern while the run goes on.
#[test]
fn trap_01_may_be_lifted_under_a_run() {
    let door = open_web(&["calendar"]);
    let mut config = crawl_config();
    config.filter.max_pages = Some(400);
    let mut wanted = config.clone();
    wanted.traps.allow = vec!["127.0.0.1/calendar/{n}/{n}".to_owned()];
    let seeds = [door.url("/calendar/2026/11")];
    let disk = SimulatedDisk::new();
    let (_, said) = crawl_changed(&disk, &config, &seeds, Some(wanted));
    assert!(said.iter().any(|text| text.contains("trap")), "{said:?}");
    assert_eq!(asked(&door)[&Kind::Trap("calendar")], 400);
}

#[test]
fn trap_02() {
    is_caught(&["session"], "/session/0?sid=00000000000000aa", 200);
    let uuid = "/0a1b2c3d-4e5f-4a7b-8c9d-0e1f2a3b4c5d/page/0";
    is_caught(&["uuid"], uuid, 200);
    is_caught(&["in-path"], "/(S(abcdefghijklmnopqrstuvwx))/page/0", 200);
    is_caught(&["letters"], "/qwertzuiopasdfgh/page/0", 200);
}

#[test]
fn trap_03() {
    is_caught(&["filter"], "/filter?color=red", 300);
}

#[test]
fn trap_04() {
    let config = FilterConfig::default();
    let seed = CanonicalUrl::parse("http://a.test/").unwrap();
    let rules = Rules::compile(&config, std::slice::from_ref(&seed)).unwrap();
    let judge = |path: &str| {
        let url = CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap();
        let verdict = rules.before(&Candidate {
            url: &url,
            depth: 1,
            kind: LinkKind::Anchor,
            from_kept_in_scope: true,
            from: Some(&seed),
        });
        verdict.outcome
    };
    for path in ["/a/b/a/b/a/b", "/a/a/a", &"/x1/y2".repeat(20)] {
        assert_eq!(judge(path), Some(Outcome::TRAP_SUSPECTED), "{path}");
    }
    assert_eq!(judge("/a/b/a/b"), None);
    // A site that grows by itself ends there.
    let door = open_site(|path| {
        path.starts_with("/a")
            .then(|| html(format!("<a href='{path}/b'>b</a> <a href='{path}/a'>a</a>")))
    });
    let crawled = crawl(&crawl_config(), &[door.url("/a"), door.url("/next")]);
    assert!(door.requests().len() < 60, "{}", door.requests().len());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn trap_06() {
    let (door, _) = is_caught(&["maze"], "/maze/start/here", 600);
    assert!(door.sent() < 100 << 20);
}

/// A maze that answers slowly takes one place of those that there are, never two, and holds nobody up.
#[test]
fn trap_06_takes_one_place() {
    const HOSTS: usize = 10;
    const PAGES: usize = 15;
    let door = open_site(|path| {
        if path.starts_with("/maze/") {
            let wait = Step::Wait(Duration::from_millis(10));
            return WEB.page(path).map(|page| [vec![wait], html(page)].concat());
        }
        let number: usize = path.strip_prefix("/p")?.parse().ok()?;
        let next = (number + 1 < PAGES).then(|| format!("<a href=/p{}>on</a>", number + 1));
        Some(html(format!("page {number} {}", next.unwrap_or_default())))
    });
    let mut config = crawl_config();
    config.filter.max_pages = Some(3000);
    config.traps.maze_pages = 40;
    let mut seeds = vec![door.named("maze.test", "/maze/start/here")];
    seeds.extend((0..HOSTS).map(|at| door.named(&format!("h{at}.test"), "/p0")));
    let (crawled, said) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
    let of_maze = |one: &&Attempt| one.url.request().contains("//maze.test:");
    let mut maze: Vec<&Attempt> = crawled.attempts.iter().filter(of_maze).collect();
    maze.sort_by_key(|one| one.started);
    assert!((40..400).contains(&maze.len()), "{} {said:?}", maze.len());
    for pair in maze.windows(2) {
        let took = pair[0].times.first_byte + pair[0].times.body;
        let between = pair[1].started.since(pair[0].started);
        // Moments are kept in microseconds.
        assert!(between + Duration::from_millis(1) >= took, "two at once");
    }
    let honest = crawled
        .attempts
        .iter()
        .filter(|one| one.url.request().contains("/p"));
    let honest = honest.filter(|one| one.outcome.is_ok() && !of_maze(one));
    assert_eq!(honest.count(), HOSTS * PAGES);
    assert_eq!(crawled.report.waiting, 0, "{:?}", crawled.report.states);
}

/// Pages of a mebibyte: by their bytes, long before there are as many as a maze of small ones may have.
#[test]
fn trap_06_wastes_few_bytes() {
    let door = open_site(|path| {
        path.starts_with("/maze/").then(|| {
            let page = WEB.page(path).unwrap_or_default();
            html(page.clone() + &" one two three four".repeat((1 << 20) / 19))
        })
    });
    let mut config = crawl_config();
    config.filter.max_pages = Some(3000);
    let seeds = [door.url("/maze/start/here"), door.url("/next")];
    let (crawled, said) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
    assert!(
        said.iter().any(|text| text.contains("looks like a trap")),
        "{said:?}"
    );
    let sent = door.sent();
    assert!(sent < 100 << 20, "{} MiB", sent >> 20);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
    assert_eq!(crawled.report.waiting, 0);
}

#[test]
fn trap_07() {
    is_caught(&["list"], "/list?page=0", 10);
}

#[test]
fn trap_08() {
    let mut config = crawl_config();
    config.traps.probe = false;
    let (section, start): (&[&str], _) = (&["deeper"], "/deeper/start");
    is_caught_by("looks like a trap", config, section, start, 100);
    // Who shows that page below any path shows it for one that nobody has made.
    is_caught_by("do not exist", crawl_config(), section, start, 100);
}

#[test]
fn trap_13() {
    is_caught(&["r"], "/r/00000000000000aa", 60);
}

#[test]
fn trap_14() {
    let form = NormalForm {
        tracking: true,
        session_ids: true,
        parameter_order: true,
        ..NormalForm::default()
    };
    let names = ["utm_source", "utm_medium", "fbclid", "gclid", "PHPSESSID"];
    let mut forms = std::collections::HashSet::new();
    for at in 0..500 {
        let (name, page) = (names[at % names.len()], at % 7);
        let text = format!("http://a.test/page{page}?{name}=v{at}&id={page}");
        forms.insert(form.parse(&text).unwrap().normal().as_str().to_owned());
    }
    assert_eq!(forms.len(), 7, "{forms:?}");
    trap_14_in_a_crawl(&form);
    // Variants without a list: the same page under sort, print and share is left out by its content.
    let door = open_site(|path| {
        path.starts_with("/page").then(|| {
            let links: String = (0..4)
                .map(|at| format!("<a href='/page?sort={}&amp;share={at}'>x</a>", path.len()))
                .collect();
            html(format!("<p>the one page there is{links}"))
        })
    });
    let mut config = crawl_config();
    config.filter.max_pages = Some(1000);
    let crawled = crawl(&config, &[door.url("/page"), door.url("/next")]);
    assert!(door.requests().len() < 100, "{}", door.requests().len());
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

/// 500 URLs of 20 pages, each in 25 variants. The rules of names are a choice of the collection that is off by default,
/// because each may join pages that a server tells apart; a rule for the others is one line of a person.
fn trap_14_in_a_crawl(form: &NormalForm) {
    const PAGES: usize = 20;
    let variants = [
        "utm_source=a",
        "utm_source=b",
        "utm_medium=c",
        "utm_campaign=d",
        "utm_term=e",
        "fbclid=1",
        "fbclid=2",
        "gclid=3",
        "msclkid=4",
        "mc_cid=5",
        "sid=6",
        "PHPSESSID=7",
        "sort=name",
        "sort=price",
        "sort=date",
        "order=up",
        "print=1",
        "print=yes",
        "share=mail",
        "share=news",
        "replytocom=1",
        "replytocom=2",
        "replytocom=3",
        "replytocom=4",
    ];
    let door = open_site(move |path| {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let page: usize = match path {
            "/" => PAGES,
            path => path.strip_prefix("/page")?.parse().ok()?,
        };
        let links: String = if page == PAGES {
            (0..PAGES)
                .map(|at| format!("<a href=/page{at}>x</a>"))
                .collect()
        } else {
            let links = variants.iter();
            links
                .map(|one| format!("<a href='/page{page}?{one}'>x</a>"))
                .collect()
        };
        // The order of a list is another text.
        Some(html(format!("<p>word{page}a word{page}b {query}{links}")))
    });
    let asked = |config: &CollectionConfig| {
        let before = door.requests().len();
        let crawled = crawl(config, &[door.url("/"), door.url("/next")]);
        assert!(crawled.last(&door.url("/next")).outcome.is_ok());
        door.requests()
            .iter()
            .skip(before)
            .filter(|head| head.starts_with("GET /page"))
            .count()
    };
    let mut config = crawl_config();
    assert_eq!(config.normal_form, NormalForm::default());
    let all = asked(&config);
    config.normal_form = form.clone();
    let without_tracking = asked(&config);
    config.filter.exclude = vec!["[?&](sort|order|print|share|replytocom)=".to_owned()];
    let without_both = asked(&config);
    assert_eq!(
        (all, without_tracking, without_both),
        (500, PAGES * 13, PAGES)
    );
}

/// An honest site: every page of it is fetched, and nothing is taken for a trap.
#[test]
fn trap_15() {
    const HONEST: &[&str] = &[
        "",
        "shop",
        "product",
        "archive",
        "user",
        "gallery",
        "weather",
        "items",
        "item",
        "person",
        "word",
        "tides",
        "timetable",
    ];
    let door = open_part(HONEST_WEB, HONEST);
    let (crawled, said) = crawl_heard(&SimulatedDisk::new(), &crawl_config(), &[door.url("/")]);
    let honest = asked(&door)[&Kind::Honest];
    assert!(!said.iter().any(|text| text.contains("trap")), "{said:?}");
    let pages = usize::try_from(HONEST_WEB.honest_pages()).unwrap();
    assert_eq!(honest, pages, "{:?}", crawled.report.states);
    assert_eq!(crawled.report.waiting, 0);
}

/// Babble that is new for ever: the budget of the host holds, and what is left over is not lost.
#[test]
fn trap_17() {
    let door = open_site(|path| {
        let number: u64 = match path {
            "/" => 0,
            path => path.strip_prefix("/b")?.parse().ok()?,
        };
        let words: String = (0..500)
            .map(|at| format!("w{:x} ", number * 500 + at))
            .collect();
        let links: String = (1..4)
            .map(|at| format!("<a href=/b{}>x</a>", number * 3 + at))
            .collect();
        Some(html(format!("{words}{links}")))
    });
    let mut config = crawl_config();
    assert_eq!(config.filter.urls_per_host_day, 100_000);
    config.filter.urls_per_host_day = 150;
    let seeds = [door.url("/next"), door.url("/")];
    let (crawled, warnings) = crawl_heard(&SimulatedDisk::new(), &config, &seeds);
    assert_eq!(crawled.report.fetched, 150);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("urls-per-host-day"), "{warnings:?}");
    assert!(crawled.report.waiting > 0, "{:?}", crawled.report.states);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}

#[test]
fn trap_19() {
    let robots = "User-agent: *\nDisallow: /honeypot\n";
    let door = open_site(move |path| match path {
        "/robots.txt" => Some(answer("Content-Type: text/plain\r\n", robots)),
        "/" => Some(html(
            "<a href=/honeypot/1 style='display:none'>x</a><a href=/%68oneypot/2>y</a>\
             <a href=/./x/../honeypot/3>z</a><img src=/honeypot/4.png><a href=/trick>t</a>",
        )),
        "/trick" => Some(vec![Step::say(
            "HTTP/1.1 302 Found\r\nLocation: /honeypot/5\r\nContent-Length: 0\r\n\r\n",
        )]),
        path if path.contains("honeypot") => Some(html("caught")),
        _ => None,
    });
    let crawled = crawl(&crawl_config(), &[door.url("/"), door.url("/next")]);
    let hits = door
        .requests()
        .iter()
        .filter(|head| head.contains("oneypot"))
        .count();
    assert_eq!(hits, 0, "{:?}", crawled.told());
    let refused = crawled
        .attempts
        .iter()
        .filter(|one| one.outcome == Outcome::ROBOTS_DISALLOWED);
    assert_eq!(refused.count(), 5);
    assert!(crawled.last(&door.url("/next")).outcome.is_ok());
}
