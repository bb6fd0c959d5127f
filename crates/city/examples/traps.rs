//! `./dev bench traps`: how many requests traps still cost, and how many honest pages are lost.
//!
//! ```text
//! traps [--products N] [--each N] [--program PATH --pages N]
//! ```
//!
//! First the detector alone, over a generated site with known truth; each trap of it would be
//! followed for so many requests (`--each`). Then, with `--program`, one real crawl of a smaller
//! site by the program, over HTTP, where honest pages lie in one directory with pages that stand for "not found" besides, on
//! another host.
//! (Only a host that is asked can tell them apart.) Ends with an error where a goal is missed.
#![allow(clippy::print_stdout, reason = "its figures are what it is for")]

use std::collections::{BTreeMap, HashSet, VecDeque};

use anyhow::{Context, Result, bail};
use teia_base::{CanonicalUrl, HostId, LinkKind, MediaType, NormalForm};
use teia_city::{Authority, Corner, Door, Kind, Site, Step, TRAPS, TrapWeb, Trick};
use teia_engine::{Brought, Sketch, TrapWatch, TrapsConfig, patterns};
use teia_extract::{Extractors, Source};
use url::Url;

const ORIGIN: &str = "http://site.test";

fn main() -> Result<()> {
    let options = Options::read()?;
    let web = TrapWeb {
        products: options.products,
    };
    let counts = simulate(web, options.each)?;
    let mut is_met = counts.print(
        &format!("detector, {} honest pages", counts.honest),
        options.each,
    );
    if let Some(program) = &options.program {
        let small = TrapWeb {
            products: options.products / 4,
        };
        let counts = crawl(small, program, options.pages)?;
        is_met &= counts.print(
            &format!("program, {} honest pages over HTTP", counts.honest),
            options.each,
        );
    }
    if !is_met {
        bail!("a goal is missed");
    }
    Ok(())
}

/// Trap requests that are to be avoided, and honest pages that may be lost, of a hundred.
const AVOIDED_GOAL: f64 = 95.0;
const LOST_GOAL: f64 = 0.1;

struct Options {
    products: u64,
    each: usize,
    program: Option<String>,
    pages: u64,
}

impl Options {
    fn read() -> Result<Self> {
        let mut options = Self {
            products: 7500,
            each: 2000,
            program: None,
            pages: 60_000,
        };
        let mut given = std::env::args().skip(1);
        while let Some(name) = given.next() {
            let value = given
                .next()
                .with_context(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--products" => options.products = value.parse()?,
                "--each" => options.each = value.parse()?,
                "--program" => options.program = Some(value),
                "--pages" => options.pages = value.parse()?,
                _ => bail!("there is no option {name}"),
            }
        }
        Ok(options)
    }
}

/// Requests for each kind of page, and honest pages that were left out.
#[derive(Default)]
struct Counts {
    asked: BTreeMap<Kind, usize>,
    honest: u64,
    honest_left_out: u64,
    quarantined: Vec<String>,
}

impl Counts {
    /// Says whether the goals are met.
    fn print(&self, what: &str, each: usize) -> bool {
        println!("{what}:");
        for pattern in &self.quarantined {
            println!("  quarantined  {pattern}");
        }
        let mut all = 0;
        for trap in TRAPS {
            let asked = self.asked.get(&Kind::Trap(trap)).copied().unwrap_or(0);
            all += asked.min(each);
            println!("  {trap:10}  {asked:6} of {each} requests");
        }
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        let offered = (each * TRAPS.len()) as u64;
        let avoided = 100.0 - share(all as u64, offered);
        let lost = share(self.honest_left_out, self.honest);
        let told = |is_met| if is_met { "met" } else { "MISSED" };
        let goals = [avoided >= AVOIDED_GOAL, lost <= LOST_GOAL];
        println!(
            "  trap requests avoided: {avoided:.2} % (goal: at least {AVOIDED_GOAL} %, {})",
            told(goals[0])
        );
        println!(
            "  honest pages quarantined: {} of {}, {lost:.3} % (goal: at most {LOST_GOAL} %, {})",
            self.honest_left_out,
            self.honest,
            told(goals[1])
        );
        goals == [true, true]
    }
}

/// Honest pages among soft 404s, on a host of their own: a host is asked for pages that do not exist 16 times at most, and
/// the chapters of the sessions use that up.
const MIXED: u64 = 100;

/// What lies at a path of theirs.
fn mixed_kind(path: &str) -> Option<Kind> {
    let name = path.strip_prefix("/mixed/")?;
    let number = name
        .strip_prefix("real")
        .and_then(|at| at.parse::<u64>().ok());
    Some(if number.is_some_and(|at| at < MIXED) {
        Kind::Honest
    } else {
        Kind::Trap("soft-404")
    })
}

fn mixed_page(path: &str) -> Option<String> {
    if mixed_kind(path)? != Kind::Honest {
        return Some(format!(
            "<title>Sorry</title><p>This page seems to have moved.<a href='{path}-old'>menu</a>"
        ));
    }
    let number: u64 = path.strip_prefix("/mixed/real")?.parse().ok()?;
    let words: Vec<String> = (0..60).map(|at| format!("w{number}x{at}y")).collect();
    let links = format!("<a href=/mixed/gone{number}>one</a>");
    let next = match number + 1 {
        next if next < MIXED => format!("<a href=/mixed/real{next}>next</a>"),
        _ => String::new(),
    };
    Some(format!(
        "<title>Thing</title><p>{}{links}{next}",
        words.join(" ")
    ))
}

/// A crawl in memory: breadth first, the real extractor and the real detector, no network.
fn simulate(web: TrapWeb, each: usize) -> Result<Counts> {
    let config = TrapsConfig::default();
    let extractors = Extractors::default();
    let form = NormalForm::default();
    let media_type = MediaType::parse("text/html; charset=utf-8");
    let mut watch = TrapWatch::default();
    let mut dots = 0;
    let mut held: HashSet<String> = HashSet::new();
    let mut counts = Counts {
        honest: web.honest_pages(),
        ..Counts::default()
    };
    let start = CanonicalUrl::parse(&format!("{ORIGIN}/"))?;
    let name = start.host_str().to_owned();
    let mut met: HashSet<CanonicalUrl> = HashSet::from([start.clone()]);
    let mut queue: VecDeque<CanonicalUrl> = VecDeque::from([start]);
    while let Some(url) = queue.pop_front() {
        let path = url.path_and_query().to_owned();
        let Some(kind) = web.kind(&path) else {
            continue;
        };
        let host = HostId(u32::from(url.host_str() != name));
        // The last one stands for the whole host.
        let mut own = patterns(&url);
        own.push("/**".to_owned());
        let is_held = |pattern: &String| held.contains(&format!("{}{pattern}", url.host_str()));
        if own.iter().any(is_held) {
            counts.honest_left_out += u64::from(kind == Kind::Honest);
            continue;
        }
        let asked = counts.asked.entry(kind).or_default();
        // Who would follow a trap for ever is counted to here.
        if kind != Kind::Honest && *asked >= each {
            continue;
        }
        *asked += 1;
        let Some(body) = web.page(&path) else {
            continue;
        };
        let parsed = Url::parse(url.as_str())?;
        let page = extractors.extract(&Source {
            media_type: media_type.as_ref(),
            ..Source::new(&parsed, body.as_bytes())
        });
        let mut new = Vec::new();
        let mut else_new = false;
        for link in &page.links {
            let Ok(found) = form.parse(&link.url) else {
                continue;
            };
            let target = found.into_normal();
            if !met.insert(target.clone()) {
                continue;
            }
            if link.kind == LinkKind::Image {
                else_new |= watch.may_be_new(&target);
                let is_new = !is_dot(target.path_and_query()) || dots == 0;
                dots += usize::from(is_dot(target.path_and_query()));
                watch.note_requisite(&target, is_new);
            } else {
                queue.push_back(target.clone());
                new.push(target);
            }
        }
        let new: Vec<&CanonicalUrl> = new.iter().collect();
        let sketch = Sketch::new(url.as_str(), &page.text, body.as_bytes());
        let brought = Brought {
            new: &new,
            else_new,
            bytes: body.len() as u64,
        };
        if let Some(found) = watch.note(&config, host, &url, &sketch, brought) {
            let found = format!("{}{}", url.host_str(), found.pattern);
            counts.quarantined.push(found.clone());
            held.insert(found);
        }
    }
    // What nobody led to any more was lost as well.
    let asked = counts.asked.get(&Kind::Honest).copied().unwrap_or(0) as u64;
    counts.honest_left_out = counts.honest.saturating_sub(asked);
    Ok(counts)
}

/// One picture, whatever its address says.
fn is_dot(path: &str) -> bool {
    path.starts_with("/px?")
}

/// The same site over HTTP, crawled by the program.
fn crawl(web: TrapWeb, program: &str, pages: u64) -> Result<Counts> {
    let runtime = tokio::runtime::Runtime::new()?;
    let site = Site::new(move |path| {
        let (media_type, body) = if path.ends_with(".png") {
            ("image/png", path.as_bytes().to_vec())
        } else if is_dot(path) {
            ("image/gif", b"GIF89a".to_vec())
        } else {
            let page = mixed_page(path).or_else(|| web.page(path))?;
            ("text/html; charset=utf-8", page.into_bytes())
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n"
        );
        Some(vec![Step::say(head), Step::Say(body)])
    });
    let corner = Corner {
        id: "bench",
        name: "traps",
        trick: Trick::Site(site),
    };
    let door = runtime.block_on(Door::open(&corner, &Authority::new()?))?;
    let data = tempfile::tempdir()?;
    let output = std::process::Command::new(program)
        .args(["crawl", &format!("{ORIGIN}/")])
        .arg("http://mixed.test/mixed/real0")
        .args(["--resolve", &format!("*.test={}", door.address())])
        .args(["--delay", "0s", "--no-index", "--scope", "any"])
        .args(["--max-pages", &pages.to_string()])
        .arg("--data")
        .arg(data.path())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut counts = Counts {
        honest: web.honest_pages() + MIXED,
        ..Counts::default()
    };
    let mut met = HashSet::new();
    for head in door.requests() {
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        // What the crawler made up is no page of anyone.
        let is_made_up = path.contains("/zq");
        let kind = mixed_kind(&path).or_else(|| web.kind(&path));
        if let Some(kind) = kind.filter(|_| !is_made_up)
            && met.insert(path)
        {
            *counts.asked.entry(kind).or_default() += 1;
        }
    }
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        if let Some(at) = line.find(" looks like a trap") {
            let before = line[..at].rsplit(' ').next().unwrap_or("");
            counts.quarantined.push(before.to_owned());
        }
    }
    let asked = counts.asked.get(&Kind::Honest).copied().unwrap_or(0) as u64;
    counts.honest_left_out = counts.honest.saturating_sub(asked);
    Ok(counts)
}
