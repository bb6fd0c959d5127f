//! `teia search`: what was collected, found.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use serde_json::json;
use teia_base::{Clock, SystemClock};
use teia_engine::{Directory, Layout, Reading, Removals};
use teia_search::{
    Hidden, Hit, Repair, Results, SearchConfig, SearchError, SearchRequest, Searcher, Snippet,
    Sort, Weights,
};

use super::place::{Place, USUAL_COLLECTION};
use crate::show::{Width, counted, cut, outln};

/// What is asked.
#[derive(Debug, Args)]
pub(crate) struct SearchOptions {
    /// 'words "a phrase" +must -not (a OR b) title:x site:x lang:pt type:pdf inurl:x before:2026 after:2025 prefix*'
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Results to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Results to pass over
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    offset: u32,
    /// What comes first
    #[arg(long, value_enum, default_value = "relevance")]
    sort: Order,
    /// Look also for words that the first results have in common
    #[arg(long)]
    expand: bool,
    /// Show also results with nearly the same text as one before them
    #[arg(long)]
    all: bool,
    /// The data directory
    #[arg(
        long,
        value_name = "DIR",
        default_value = "teia-data",
        env = "TEIA_DATA"
    )]
    data: PathBuf,
    /// Only this collection (repeatable); all of them if not given
    #[arg(long, value_name = "NAME")]
    collection: Vec<String>,
}

impl SearchOptions {
    /// Where it looks.
    pub(crate) fn place(&self) -> Place {
        let first = self.collection.first().map(String::as_str);
        Place::new(&self.data, first.unwrap_or(USUAL_COLLECTION))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    /// The best match
    Relevance,
    /// The best match, of those that match as well the one that was visited lately
    Fresh,
    /// The latest visit
    Date,
}

/// Answers a query from the indexes of the data directory.
pub(crate) fn search(options: &SearchOptions) -> Result<ExitCode> {
    let directory = Directory::open(&options.data)?;
    let searcher = open(&directory, &options.collection)?;
    let searched = searcher.collections();
    let searched: Vec<String> = searched.into_iter().map(|(name, _)| name).collect();
    let request = SearchRequest {
        limit: options.limit.into(),
        offset: options.offset as usize,
        sort: match options.sort {
            Order::Relevance | Order::Fresh => Sort::Relevance,
            Order::Date => Sort::Date,
        },
        fresh_at: matches!(options.sort, Order::Fresh).then(|| SystemClock.wall()),
        expand: options.expand,
        group_similar: !options.all,
        hidden: Arc::new(removed(&directory, &searched)?),
        ..SearchRequest::new(as_query(&options.query))
    };
    let results = searcher.search(&request);
    let results = results.map_err(|error| match &searched[..] {
        [name] => anyhow!(unreadable_index(&directory, name, error)),
        names => anyhow!(error).context(format!(
            "an index of {} cannot be read; `{}` with --collection says which",
            names.join(", "),
            Place::new(directory.root(), "default").command(&["verify"])
        )),
    })?;
    if options.json {
        outln!("{}", to_json(&results))?;
    } else {
        print(&results, &request, options)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What people asked to have removed from view, in whatever collection.
fn removed(directory: &Directory, searched: &[String]) -> Result<Hidden> {
    let files = directory.files();
    let read = Removals::read_all(&*files);
    let mut removals = read.context("cannot read the lists of removals")?;
    for name in searched {
        // One of them may have no file of its own.
        let read = Removals::read(&*files, &Layout::new(name)?);
        removals.extend(read.context("cannot read the list of removals")?);
    }
    let of = |wanted: &'static str| {
        let lines = removals.lines().filter(move |(kind, _)| *kind == wanted);
        lines.map(|(_, text)| text.to_owned())
    };
    Ok(Hidden::new(of("url"), of("host")))
}

/// The indexes of these collections, or of all.
fn open(directory: &Directory, collections: &[String]) -> Result<Searcher> {
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    let names = if collections.is_empty() {
        directory.collections()
    } else {
        for name in collections {
            Reading::open(directory, name)?;
        }
        collections.to_vec()
    };
    let mut opened = 0;
    let (mut missing, mut unreadable) = (Vec::new(), Vec::new());
    for name in &names {
        let path = directory.root().join(Layout::new(name)?.index());
        // A folder that may not be entered is not one that is empty.
        if matches!(path.join("meta.json").try_exists(), Ok(false)) {
            missing.push(name.as_str());
            continue;
        }
        if let Err(error) = searcher.open(name, &path) {
            unreadable.push(unreadable_index(directory, name, error));
            continue;
        }
        opened += 1;
    }
    if opened == 0 && !unreadable.is_empty() {
        anyhow::bail!(unreadable.join("\n"));
    }
    for message in unreadable {
        eprintln!("teia: {message}");
    }
    if opened == 0 {
        let first = collections.first().or(names.first());
        let name = first.map_or(USUAL_COLLECTION, String::as_str);
        let place = Place::new(directory.root(), name);
        anyhow::bail!(
            "there is no search index in {}; `{}` builds one while it collects, and `{}` makes one from an archive",
            directory.root().display(),
            place.command(&["crawl"]),
            place.command(&["index", "rebuild"])
        );
    }
    if !missing.is_empty() {
        eprintln!(
            "note: {} not searched, for want of an index",
            missing.join(", ")
        );
    }
    Ok(searcher)
}

/// Why an index is not searched, and what helps: building it anew only where it is damaged.
fn unreadable_index(directory: &Directory, name: &str, error: SearchError) -> String {
    let place = Place::new(directory.root(), name);
    let advice = if error.is_damage() {
        format!("`{}` makes it anew", place.command(&["index", "rebuild"]))
    } else {
        "it may be whole: mend that, and search again".to_owned()
    };
    // With its causes: the last one is what the system said.
    let error = anyhow::Error::new(error);
    format!("the search index of {name} cannot be read ({error:#}); {advice}")
}

/// The arguments of the program, in which words that a search is to leave out (`-gorse`) are no options.
pub(crate) fn with_words_to_leave_out(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut found: Vec<OsString> = Vec::new();
    for argument in arguments {
        let is_search = found.get(1).is_some_and(|command| command == "search");
        let word = argument.to_str().and_then(|text| text.strip_prefix('-'));
        match word {
            Some(word) if is_search && !word.starts_with('-') && word.chars().count() > 1 => {
                found.extend(["NOT".into(), word.into()]);
            }
            _ => found.push(argument),
        }
    }
    found
}

/// The words of a command line as one query: what the shell kept together is a phrase, unless it is
/// all there is.
fn as_query(words: &[String]) -> String {
    if let [query] = words {
        return query.clone();
    }
    let phrase = |word: &String| match word.contains(char::is_whitespace) && !word.contains('"') {
        true => format!("\"{word}\""),
        false => word.clone(),
    };
    words.iter().map(phrase).collect::<Vec<_>>().join(" ")
}

fn to_json(results: &Results) -> serde_json::Value {
    json!({
        "total": results.total,
        "distinct": results.distinct,
        "seconds": results.seconds,
        "hits": results.hits.iter().map(hit_json).collect::<Vec<_>>(),
        "suggestion": results.suggestion,
        "repairs": results.repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "added_words": results.added_words,
        "partial": results.is_partial,
    })
}

fn hit_json(hit: &Hit) -> serde_json::Value {
    json!({
        "url": hit.url,
        "title": hit.title,
        "snippet": hit.snippet.text,
        "score": hit.score,
        "language": hit.language,
        "fetched_at": hit.fetched_at.to_string(),
        "collection": hit.collection,
        "collections": hit.collections,
        "type": hit.media_type,
        "size": hit.size,
        "rank": hit.rank,
        "highlights": hit.snippet.highlights.iter().map(|part| [part.start, part.end]).collect::<Vec<_>>(),
        "other_addresses": hit.other_addresses,
        "similar": hit.similar,
        "capture": hit.capture.map(|capture| capture.0),
    })
}

fn print(results: &Results, request: &SearchRequest, options: &SearchOptions) -> Result<()> {
    let is_terminal = std::io::stdout().is_terminal();
    let look = Look::new(is_terminal);
    let width = Width::of_stdout(is_terminal);
    for repair in &results.repairs {
        eprintln!("note: {repair}");
    }
    if !results.added_words.is_empty() {
        eprintln!("note: searched also for {}", results.added_words.join(", "));
    }
    let mut out = std::io::stdout().lock();
    let mut first = format!(
        "{} for {} in {:.3} s",
        counted(results.distinct, "result"),
        request.query,
        results.seconds
    );
    let put_away = results.total - results.distinct;
    if put_away > 0 {
        first.push_str(&format!(", and {put_away} like them (--all)"));
    }
    if request.offset > 0 {
        first.push_str(&format!(", from number {}", request.offset + 1));
    }
    writeln!(out, "{}{first}{}", look.quiet, look.plain)?;
    let many = results
        .hits
        .iter()
        .any(|hit| hit.collections.len() > 1 || hit.collection != results.hits[0].collection);
    for (number, hit) in (request.offset + 1..).zip(&results.hits) {
        let columns = width.left_of(5, usize::MAX);
        writeln!(
            out,
            "\n{number:>3}. {}{}{}",
            look.strong,
            cut(&hit.title, columns),
            look.plain
        )?;
        writeln!(out, "     {}{}{}", look.address, hit.url, look.plain)?;
        for line in snippet_lines(&hit.snippet, width.left_of(5, 100), &look) {
            writeln!(out, "     {line}")?;
        }
        writeln!(out, "     {}{}{}", look.quiet, facts(hit, many), look.plain)?;
    }
    if let Some(suggestion) = &results.suggestion {
        writeln!(
            out,
            "\nDid you mean: {}{suggestion}{}",
            look.strong, look.plain
        )?;
    }
    let shown = request.offset + results.hits.len();
    let is_full = results.hits.len() == request.limit;
    if results.distinct > shown as u64 && is_full {
        writeln!(out, "\n{}More: --offset {shown}{}", look.quiet, look.plain)?;
    }
    if let Some(advice) = advice(results, request, &options.data) {
        writeln!(out, "\n{advice}")?;
    }
    Ok(())
}

/// What may help where nothing is shown.
fn advice(results: &Results, request: &SearchRequest, data: &Path) -> Option<String> {
    if !results.hits.is_empty() || results.suggestion.is_some() {
        return None;
    }
    if results.repairs.contains(&Repair::Empty) {
        return Some(
            "There is nothing to look for: give it words. `teia search --help` shows the signs."
                .to_owned(),
        );
    }
    if results.distinct > 0 {
        let all = counted(results.distinct, "result");
        return Some(format!(
            "{all} in all: none from number {} on.",
            request.offset + 1
        ));
    }
    let without = if request.query.contains('"') {
        ", or the same without quotation marks"
    } else {
        ""
    };
    Some(format!(
        "Nothing was found in {}; fewer or other words may help{without}.",
        data.display()
    ))
}

/// What stands below a result.
fn facts(hit: &Hit, many_collections: bool) -> String {
    let mut facts = Vec::new();
    if many_collections {
        facts.push(hit.collections.join(" and "));
    }
    if hit.language != teia_search::UNDETERMINED {
        facts.push(hit.language.clone());
    }
    let date = hit.fetched_at.to_string();
    facts.push(date.get(..10).unwrap_or(&date).to_owned());
    if !hit.media_type.is_empty() && hit.media_type != "text/html" {
        facts.push(hit.media_type.clone());
    }
    match hit.other_addresses.as_slice() {
        [] => {}
        [one] => facts.push(format!("also at {one}")),
        [one, more @ ..] => facts.push(format!("also at {one} and {} more", more.len())),
    }
    if hit.similar > 0 {
        facts.push(format!("{} like it", counted(hit.similar as u64, "page")));
    }
    facts.join(" · ")
}

/// The snippet in lines of so many columns, with the words that match shown strongly.
fn snippet_lines(snippet: &Snippet, columns: usize, look: &Look) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    let mut start = 0;
    for word in snippet.text.split(' ') {
        let end = start + word.len();
        let letters = word.chars().count();
        if length > 0 && length + 1 + letters > columns {
            lines.push(String::new());
            length = 0;
        }
        let line = lines.last_mut().expect("there is always one line");
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        mark(snippet, start..end, look, line);
        length += letters;
        start = end + 1;
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Appends a part of the snippet, its matching words marked.
fn mark(snippet: &Snippet, part: std::ops::Range<usize>, look: &Look, line: &mut String) {
    let mut at = part.start;
    for strong in &snippet.highlights {
        let (from, to) = (strong.start.max(at), strong.end.min(part.end));
        if from >= to {
            continue;
        }
        line.push_str(&snippet.text[at..from]);
        line.push_str(look.strong);
        line.push_str(&snippet.text[from..to]);
        line.push_str(look.plain);
        at = to;
    }
    line.push_str(&snippet.text[at..part.end]);
}

/// Colours only on terminals, and not where `NO_COLOR` is set.
struct Look {
    strong: &'static str,
    address: &'static str,
    quiet: &'static str,
    plain: &'static str,
}

impl Look {
    fn new(is_terminal: bool) -> Self {
        if is_terminal && std::env::var_os("NO_COLOR").is_none() {
            Self {
                strong: "\x1b[1m",
                address: "\x1b[32m",
                quiet: "\x1b[2m",
                plain: "\x1b[0m",
            }
        } else {
            Self {
                strong: "",
                address: "",
                quiet: "",
                plain: "",
            }
        }
    }
}

/// A query that finds something in this index, of those given; for the demo.
pub(crate) fn first_that_finds<'a>(
    data: &Path,
    collection: &str,
    queries: &[&'a str],
) -> Option<(&'a str, u64)> {
    let directory = Directory::open(data).ok()?;
    let searcher = open(&directory, &[collection.to_owned()]).ok()?;
    queries.iter().find_map(|query| {
        let results = searcher.search(&SearchRequest::new(*query)).ok()?;
        (results.total > 0).then_some((*query, results.total))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_shell_kept_together_is_a_phrase() {
        let words = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        let typed = [
            "teia",
            "search",
            "a",
            "-gorse",
            "-two words",
            "--json",
            "-h",
        ];
        let read = with_words_to_leave_out(typed.iter().map(OsString::from));
        let expected = [
            "teia",
            "search",
            "a",
            "NOT",
            "gorse",
            "NOT",
            "two words",
            "--json",
            "-h",
        ];
        assert_eq!(read, expected);
        assert_eq!(as_query(&words(&["a b -c"])), "a b -c");
        assert_eq!(as_query(&words(&["a", "b c", "-d"])), "a \"b c\" -d");
        assert_eq!(as_query(&words(&["a", "\"b c\""])), "a \"b c\"");
    }

    #[test]
    fn a_snippet_is_wrapped_and_its_words_are_marked() {
        let look = Look {
            strong: "<",
            address: "",
            quiet: "",
            plain: ">",
        };
        let snippet = Snippet {
            text: "o bico-amarelo do melro canta".to_owned(),
            highlights: vec![2..6, 18..23],
        };
        assert_eq!(
            snippet_lines(&snippet, 17, &look),
            ["o <bico>-amarelo do", "<melro> canta"]
        );
    }
}
