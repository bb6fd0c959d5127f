//! HTML files below a folder as documents, one a line of JSON: the corpus of `./dev bench search`.
//!
//!     documents FOLDER NAME OUT

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use teia_base::MediaType;
use teia_extract::{Extractors, Source};

/// Fewer words than this are no document: a redirect, a frame.
const LEAST_WORDS: usize = 20;
/// PostgreSQL takes no vector beyond 1 MB, so no document is longer than this for anybody.
const MOST_BYTES: usize = 200_000;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, name, out] = &arguments[..] else {
        return Err("documents FOLDER NAME OUT".into());
    };
    let (folder, mut files) = (Path::new(folder), Vec::new());
    walk(folder, &mut files)?;
    // The same order everywhere, so that the first N documents are the same.
    files.sort();
    let extractors = Extractors::default();
    let mut out = BufWriter::new(File::create(out)?);
    for path in files {
        if let Some(line) = document(&extractors, folder, name, &path)? {
            serde_json::to_writer(&mut out, &line)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(out.flush()?)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn document(
    extractors: &Extractors,
    folder: &Path,
    name: &str,
    path: &Path,
) -> Result<Option<serde_json::Value>> {
    let relative = path.strip_prefix(folder)?.to_string_lossy().into_owned();
    let mut body = fs::read(path)?;
    if relative.ends_with(".gz") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain)?;
        body = plain;
    }
    let address = format!("http://{name}.example/{}", relative.trim_end_matches(".gz"));
    let Ok(url) = url::Url::parse(&address) else {
        return Ok(None);
    };
    let html = MediaType::parse("text/html");
    let mut source = Source::new(&url, &body);
    source.media_type = html.as_ref();
    let mut page = extractors.extract(&source);
    if page.text.split_whitespace().nth(LEAST_WORDS).is_none() {
        return Ok(None);
    }
    page.text
        .truncate(page.text.floor_char_boundary(MOST_BYTES));
    Ok(Some(json!({
        "url": url.as_str(),
        "title": page.title,
        "description": page.description,
        "headings": page.headings,
        "text": page.text,
        "language": page.language,
        "size": body.len(),
    })))
}
