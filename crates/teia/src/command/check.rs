//! `teia check …`: one part tried on given input, JSON lines out.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::show::outln;
use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::json;
use teia_base::MediaType;
use teia_engine::{CollectionConfig, Directory, Reading, Tester, robot_token};
use teia_extract::{Extractors, Limits, Source};
use teia_fetch::robots;
use url::Url;

use super::Usage;
use super::options::CrawlOptions;
use super::place::Place;

/// The parts that can be tried.
#[derive(Debug, Subcommand)]
pub(crate) enum Part {
    /// The normal form of URLs
    Url {
        /// URLs; - for standard input, one a line
        #[arg(value_name = "URL", required = true)]
        urls: Vec<String>,
    },
    /// What a robots.txt says of URLs
    Robots {
        /// The robots.txt
        #[arg(long, value_name = "F")]
        file: PathBuf,
        /// The robot's name
        #[arg(long, value_name = "NAME", default_value = "Teia")]
        agent: String,
        /// URLs or paths; - for standard input, one a line
        #[arg(value_name = "URL", required = true)]
        urls: Vec<String>,
    },
    /// What is found in a document
    Extract {
        /// Where the document is from
        #[arg(long, value_name = "BASE")]
        url: String,
        /// Its media type, as a server would declare it
        #[arg(long = "type", value_name = "T")]
        media_type: Option<String>,
        /// The document; - for standard input
        #[arg(value_name = "FILE")]
        file: String,
    },
    /// The language of texts
    Lang {
        /// A file with one text a line; - for standard input
        #[arg(value_name = "FILE")]
        file: String,
    },
    /// What the rules say of URLs, before anything is fetched
    #[command(allow_negative_numbers = true, mut_arg("collection", |arg| {
        arg.help("A collection whose settings and seeds count; without seeds, `default` if it is there")
    }))]
    Scope {
        #[command(flatten)]
        options: Box<CrawlOptions>,
        /// A seed around which the scope lies (repeatable; --seeds FILE for many)
        #[arg(long = "seed", value_name = "SEED")]
        seed: Vec<String>,
        #[command(flatten)]
        place: Place,
        /// URLs; - for standard input, one a line
        #[arg(value_name = "URL", required = true)]
        urls: Vec<String>,
    },
}

impl Part {
    /// The collection whose settings count, where there is one.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Self::Scope { place, .. } => Some(place.clone()),
            _ => None,
        }
    }
}

/// Tries a part.
pub(crate) fn check(part: Part) -> Result<ExitCode> {
    match part {
        Part::Url { urls } => check_urls(&urls),
        Part::Robots { file, agent, urls } => check_robots(&file, &agent, &urls),
        Part::Extract {
            url,
            media_type,
            file,
        } => check_extract(&url, media_type.as_deref(), &file),
        Part::Lang { file } => check_lang(&file),
        Part::Scope {
            options,
            seed,
            place,
            urls,
        } => {
            let lines = options.seed_lines()?;
            let seeds: Vec<String> = seed.into_iter().chain(lines).collect();
            let given = !seeds.is_empty()
                || options.config.is_some()
                || options
                    .scope
                    .as_ref()
                    .is_some_and(|scope| !Tester::needs_seed(scope));
            let stored = match place.chosen() {
                Some(_) => Some(stored(&place)?),
                None if given => None,
                // Nobody said which: the usual one, if there is one.
                None => stored(&place).ok(),
            };
            check_scope(&place, &options, stored.unwrap_or_default(), &seeds, &urls)
        }
    }
}

/// One text a line, and its language; `und` where it cannot be told.
fn check_lang(file: &str) -> Result<ExitCode> {
    let input: Box<dyn BufRead> = if file == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let opened = std::fs::File::open(file)
            .map_err(|error| Usage(format!("cannot read {file}: {error}")))?;
        Box::new(std::io::BufReader::new(opened))
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in input.split(b'\n') {
        let line = line.with_context(|| format!("cannot read {file}"))?;
        let found = teia_search::detect(&String::from_utf8_lossy(&line));
        let answer = json!({ "language": found.language, "confidence": found.confidence });
        writeln!(out, "{answer}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Calls `each` with every URL given, or with every line of standard input.
fn for_each(urls: &[String], mut each: impl FnMut(&str) -> serde_json::Value) -> Result<ExitCode> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for url in urls {
        if url == "-" {
            let mut input = std::io::stdin().lock();
            let mut line = Vec::new();
            while input.read_until(b'\n', &mut line)? > 0 {
                let text = String::from_utf8_lossy(&line);
                writeln!(out, "{}", each(text.trim_end_matches(['\n', '\r'])))?;
                line.clear();
            }
        } else {
            writeln!(out, "{}", each(url))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn check_urls(urls: &[String]) -> Result<ExitCode> {
    for_each(urls, |text| match Tester::read_url(text) {
        Ok(url) => json!({
            "url": text, "normal": url.as_str(), "host": url.host_str(), "site": url.site(), "depth": url.path_depth(),
        }),
        Err(error) => json!({ "url": text, "error": error }),
    })
}

fn check_robots(file: &std::path::Path, agent: &str, urls: &[String]) -> Result<ExitCode> {
    let bytes = std::fs::read(file)
        .map_err(|error| Usage(format!("cannot read {}: {error}", file.display())))?;
    let rules = robots::Rules::parse(&bytes, &robot_token(agent));
    for_each(urls, |text| {
        let verdict = if text.starts_with('/') {
            rules.verdict(text)
        } else {
            rules.verdict_for_url(text)
        };
        json!({
            "url": text,
            "allowed": verdict.allowed,
            "rule": verdict.rule.as_ref().map(|rule| rule.text.as_str()),
            "line": verdict.rule.as_ref().map(|rule| rule.number),
        })
    })
}

fn check_extract(base: &str, media_type: Option<&str>, file: &str) -> Result<ExitCode> {
    let url = Url::parse(base).map_err(|error| {
        Usage(format!(
            "`{base}` is not a URL ({error}); write https://example.org/page"
        ))
    })?;
    let media_type = match media_type {
        Some(text) => Some(
            MediaType::parse(text)
                .ok_or_else(|| Usage(format!("`{text}` is not a media type; write text/html")))?,
        ),
        None => None,
    };
    let body = if file == "-" {
        let mut body = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut body)?;
        body
    } else {
        std::fs::read(file).map_err(|error| Usage(format!("cannot read {file}: {error}")))?
    };
    let source = Source {
        media_type: media_type.as_ref(),
        ..Source::new(&url, &body)
    };
    let extracted = Extractors::new(Limits::default()).extract(&source);
    let value = json!({
        "title": extracted.title,
        "text": extracted.text,
        "language": extracted.language,
        "charset": extracted.charset,
        "type": extracted.media_type.as_ref().map(MediaType::essence),
        "description": extracted.description,
        "headings": extracted.headings,
        "canonical": extracted.canonical,
        "robots": {
            "noindex": extracted.robots.noindex,
            "nofollow": extracted.robots.nofollow,
            "noarchive": extracted.robots.noarchive,
            "max_snippet": extracted.robots.max_snippet,
            "unavailable_after": extracted.robots.unavailable_after.map(|moment| moment.to_string()),
        },
        "schemes": extracted.schemes,
        "flags": extracted.flags.names(),
        "links": extracted.links.iter().map(|link| json!({
            "url": link.url,
            "anchor": link.anchor,
            "rel": rel_words(link),
            "kind": link.kind.name(),
            "requisite": link.kind.is_requisite(),
            "last_modified": link.last_modified.map(|moment| moment.to_string()),
        })).collect::<Vec<_>>(),
    });
    outln!("{value}")?;
    Ok(ExitCode::SUCCESS)
}

fn rel_words(link: &teia_base::Link) -> String {
    let words = [
        (link.rel.nofollow, "nofollow"),
        (link.rel.foreign, "foreign"),
    ];
    words
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, word)| *word)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A collection's settings; among its seeds are the places where seeds were sent on to.
fn stored(place: &Place) -> Result<CollectionConfig> {
    let directory = Directory::open_to_read(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let mut config = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout())?
        .unwrap_or_default();
    for seed in reading.seeds()? {
        config.seeds.push(seed.to_string());
    }
    Ok(config)
}

fn check_scope(
    place: &Place,
    options: &CrawlOptions,
    stored: CollectionConfig,
    seeds: &[String],
    urls: &[String],
) -> Result<ExitCode> {
    let mut config = options.base(stored)?;
    options.apply(&mut config)?;
    let tester = Tester::new(&config, seeds)?;
    if tester.lacks_seeds(&config) {
        return Err(Usage(format!(
            "the scope `{}` lies around seeds, and there is none: name one (`{}`), a file of them (--seeds FILE) or a collection (--collection NAME, with --data DIR)",
            config.filter.scope,
            place.command(&["check", "scope", "--seed", "example.org", "https://example.org/page"])
        ))
        .into());
    }
    for_each(urls, |text| json!(tester.answer(text)))
}
