//! Charsets: html5lib's cases of declaration, and detection over real texts.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and says what it measured"
)]

mod shared;

use std::collections::BTreeMap;

use encoding_rs::Encoding;
use teia_base::MediaType;
use teia_extract::{Extractors, Source};
use url::Url;

fn charset(content_type: &str, body: &[u8]) -> &'static str {
    let url = Url::parse("http://a.example/").unwrap();
    let media_type = MediaType::parse(content_type);
    let mut source = Source::new(&url, body);
    source.media_type = media_type.as_ref();
    Extractors::default()
        .extract(&source)
        .charset
        .unwrap_or("none")
}

#[test]
fn html5lib_declarations_are_found() {
    let Some(directory) = shared::data("html5lib/encoding") else {
        return;
    };
    let (mut cases, mut failed) = (0, Vec::new());
    for file in shared::files(&directory)
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "dat"))
    {
        let content = std::fs::read(file).unwrap();
        let mut content = content.as_slice();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        while let Some(start) = memchr::memmem::find(content, b"#data\n") {
            content = &content[start + 6..];
            let Some(end) = memchr::memmem::find(content, b"\n#encoding\n") else {
                break;
            };
            let data = &content[..end];
            content = &content[end + 11..];
            let line = content.split(|&byte| byte == b'\n').next().unwrap();
            let expected = String::from_utf8_lossy(line).trim().to_owned();
            let expected = Encoding::for_label(expected.as_bytes()).unwrap().name();
            let found = charset("text/html", data);
            cases += 1;
            // Nothing declared in the first 1,024 bytes, and nothing in the text to tell it by.
            let undeclared = found == "UTF-8"
                && data.is_ascii()
                && (expected == "windows-1252" || data.len() > 1024);
            if found != expected && !undeclared {
                failed.push(format!(
                    "{name}: {:?} is {expected}, not {found}",
                    String::from_utf8_lossy(&data[..data.len().min(300)])
                ));
            }
        }
    }
    failed.iter().for_each(|line| println!("{line}"));
    println!("{} of {cases} right", cases - failed.len());
    // One case writes its meta by a script.
    assert!(failed.len() <= 1, "{} cases", failed.len());
}

/// Charsets that browsers do not decode, and MacCyrillic, which they do not detect.
const UNDETECTED: [&str; 8] = [
    "IBM855",
    "Johab",
    "EUC-TW",
    "iso-2022-kr",
    "UTF-32",
    "UTF-32BE",
    "UTF-32LE",
    "MacCyrillic",
];

#[test]
fn real_texts_are_decoded_as_they_were_written() {
    let Some(directory) = shared::data("encoding-detect") else {
        return;
    };
    let mut scores: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for file in shared::files(&directory) {
        let named = file
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        if file.parent() == Some(directory.as_path()) {
            continue;
        }
        let label = match named.as_str() {
            "CP932" => "shift_jis".to_owned(),
            "CP949" => "euc-kr".to_owned(),
            "MacCyrillic" => "x-mac-cyrillic".to_owned(),
            "utf-8-sig" | "ascii" => "utf-8".to_owned(),
            "UTF-16" => "utf-16le".to_owned(),
            name => name
                .rsplit_once('-')
                .filter(|(_, last)| last.len() > 4 && last.bytes().all(|b| b.is_ascii_lowercase()))
                .map_or(name, |(first, _)| first)
                .to_owned(),
        };
        let body = std::fs::read(&file).unwrap();
        let extension = file
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let content_type = if matches!(extension.as_str(), "html" | "htm" | "xml") {
            "text/html"
        } else {
            "text/plain"
        };
        let found = charset(content_type, &body);
        let found = Encoding::for_label(found.as_bytes()).unwrap();
        // The same text by both: the charset, or a superset as far as this file goes.
        let right = Encoding::for_label(label.as_bytes())
            .filter(|encoding| *encoding != encoding_rs::REPLACEMENT)
            .is_some_and(|encoding| {
                encoding == found || encoding.decode(&body).0 == found.decode(&body).0
            });
        let score = scores.entry(named).or_default();
        score.0 += usize::from(right);
        score.1 += 1;
    }
    let sum = |wanted: &dyn Fn(&str) -> bool| {
        scores
            .iter()
            .filter(|(name, _)| wanted(name))
            .fold((0, 0), |sum, (_, score)| (sum.0 + score.0, sum.1 + score.1))
    };
    for (name, (right, all)) in scores.iter().filter(|(_, (right, all))| right < all) {
        println!("{name}: {right} of {all}");
    }
    let (right, all) = sum(&|_| true);
    let (detected_right, detected) = sum(&|name| !UNDETECTED.contains(&name));
    println!("{right} of {all}; {detected_right} of {detected} in charsets that are detected");
    assert!(detected_right * 100 >= detected * 98);
}
