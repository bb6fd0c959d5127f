//! Everything that reads what others wrote: the web, a person, a damaged disk.

mod address;
mod checkpoint;
mod derived;
mod entry;
mod files;
mod http;
mod people;
mod web;

/// One reader and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also of its folder of kept inputs.
    pub name: &'static str,
    /// What its format is made of.
    pub words: &'static [&'static str],
    /// So many inputs are tried in `./dev test`.
    pub inputs_in_tests: u64,
    /// Good input, from which broken input is made.
    pub examples: fn() -> Vec<Vec<u8>>,
    /// Reads an input; an error tells what did not hold.
    pub read: fn(&[u8]) -> Result<(), String>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    web::URL,
    web::RELATIVE,
    web::ROBOTS,
    web::HTML,
    web::CSS,
    web::SITEMAP,
    web::FEED,
    web::CHARSET,
    web::ANYTHING,
    web::DECODE,
    http::HTTP,
    http::COOKIES,
    address::ADDRESS,
    web::DATES,
    web::TRAPS,
    files::WARC,
    files::CDXJ,
    files::JOURNAL,
    entry::ENTRY,
    checkpoint::CHECKPOINT,
    files::PACK,
    files::STORE,
    derived::LINKS,
    derived::LISTS,
    derived::RECORDS,
    people::COLLECTION,
    people::SEED,
    people::QUERY,
];

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Fails with a sentence where something does not hold.
fn hold(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
