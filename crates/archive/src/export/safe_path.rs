//! File names out of URLs: nothing that comes from the web ever becomes a path by itself.

use std::collections::HashSet;
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

const MAX_NAME_BYTES: usize = 100;
const MAX_DEPTH: usize = 16;

/// Gives each URL a path of its own below a directory.
///
/// `HOST/SEGMENT/…/NAME`, where every part is made of letters, digits and `-_.=,+@` alone, neither
/// begins with a dot nor is a name that some system keeps for itself, and is at most 100 bytes.
/// Where two URLs would meet, or a directory a file, a hash of the URL tells them apart.
#[derive(Debug, Default)]
pub(crate) struct SafePaths {
    /// In small letters, because some systems do not tell capitals apart.
    taken: HashSet<String>,
    directories: HashSet<String>,
}

impl SafePaths {
    /// The path for a URL with this media type.
    pub(crate) fn path_for(&mut self, url: &str, mime: &str) -> PathBuf {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let rest = rest.split('#').next().unwrap_or(rest);
        let (place, query) = rest
            .split_once('?')
            .map_or((rest, None), |(place, query)| (place, Some(query)));
        let mut parts: Vec<String> = place.split('/').map(safe_name).collect();
        let mut name = parts
            .pop()
            .filter(|_| !parts.is_empty() && !place.ends_with('/'))
            .unwrap_or_else(|| {
                if !place.contains('/') {
                    parts.push(safe_name(place));
                }
                "index".to_owned()
            });
        if let Some(query) = query {
            name = cut(&format!("{name}@{}", safe_name(query)));
        }
        let extension = extension_of(mime);
        if !name.to_ascii_lowercase().ends_with(extension) {
            name.push_str(extension);
        }
        if parts.len() > MAX_DEPTH {
            parts.truncate(MAX_DEPTH);
            name = with_hash(&name, url);
        }
        // A directory of a name that is already a file needs another name.
        let mut path = String::new();
        for part in &mut parts {
            let joined = if path.is_empty() {
                part.clone()
            } else {
                format!("{path}/{part}")
            };
            path = joined;
            if self.taken.contains(&path.to_ascii_lowercase()) {
                path.push_str("_d");
            }
            self.directories.insert(path.to_ascii_lowercase());
        }
        let mut file = format!("{path}/{name}");
        let is_free = |file: &str, this: &Self| {
            let lower = file.to_ascii_lowercase();
            !this.taken.contains(&lower) && !this.directories.contains(&lower)
        };
        let mut attempt = 0;
        while !is_free(&file, self) {
            let salt = if attempt == 0 {
                url.to_owned()
            } else {
                format!("{url}#{attempt}")
            };
            file = format!("{path}/{}", with_hash(&name, &salt));
            attempt += 1;
        }
        self.taken.insert(file.to_ascii_lowercase());
        PathBuf::from(file)
    }
}

fn safe_name(part: &str) -> String {
    let mut name: String = part
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'='
            | b','
            | b'+'
            | b'@' => char::from(byte),
            _ => '_',
        })
        .collect();
    if name.is_empty() || name.starts_with('.') || is_reserved(&name) {
        name.insert(0, '_');
    }
    // Windows drops a trailing dot.
    if name.ends_with('.') {
        name.push('_');
    }
    if name.len() > MAX_NAME_BYTES || name.len() != part.len() && part.len() > MAX_NAME_BYTES {
        name = with_hash(&name, part);
    }
    name
}

fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || stem.len() == 4 && (stem.starts_with("com") || stem.starts_with("lpt"))
}

fn cut(name: &str) -> String {
    if name.len() > MAX_NAME_BYTES {
        with_hash(name, name)
    } else {
        name.to_owned()
    }
}

/// Puts a hash before the extension, and cuts the rest to fit.
fn with_hash(name: &str, of: &str) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= 8 && !stem.is_empty() => {
            (stem, format!(".{extension}"))
        }
        _ => (name, String::new()),
    };
    let kept = stem.len().min(MAX_NAME_BYTES - 18 - extension.len());
    format!(
        "{}~{:016x}{extension}",
        &stem[..kept],
        xxh3_64(of.as_bytes())
    )
}

fn extension_of(mime: &str) -> &'static str {
    match mime {
        "text/html" | "application/xhtml+xml" => ".html",
        "text/plain" => ".txt",
        "text/css" => ".css",
        "application/pdf" => ".pdf",
        "application/json" => ".json",
        "application/xml" | "text/xml" => ".xml",
        "application/javascript" | "text/javascript" | "application/x-javascript" => ".js",
        "image/jpeg" => ".jpg",
        "image/png" => ".png",
        "image/gif" => ".gif",
        "image/svg+xml" => ".svg",
        "image/webp" => ".webp",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_and_apart() {
        let mut paths = SafePaths::default();
        let mut seen = HashSet::new();
        let long = format!("http://a.example/{}", "x/".repeat(5000));
        let wide = format!("http://a.example/{}.html", "y".repeat(5000));
        let hostile = [
            "http://a.example/",
            "http://a.example",
            "http://a.example/a",
            "http://a.example/a/b",
            "http://a.example/A",
            "http://a.example/a?q=1",
            "http://a.example/a?q=2",
            "http://a.example/../../etc/passwd",
            "http://a.example/%2e%2e/x",
            "http://a.example/..\\..\\x",
            "http://a.example/a\0b/\u{202e}txt.exe",
            "http://a.example/con/nul.txt",
            "http://../../x",
            "file:///etc/passwd",
            "http://a.example/.ssh/authorized_keys",
            "http://a.example//x//",
            "",
            &long,
            &wide,
        ];
        for url in hostile {
            for mime in ["text/html", "unk"] {
                let path = paths.path_for(url, mime);
                let text = path.to_str().unwrap();
                assert!(!text.starts_with('/') && text.len() < 4000, "{url}: {text}");
                for part in text.split('/') {
                    assert!(
                        !part.is_empty() && !part.starts_with('.') && part.len() <= 110,
                        "{url}: {text}"
                    );
                    assert!(
                        part.bytes()
                            .all(|b| b.is_ascii_alphanumeric() || b"-_.=,+@~".contains(&b)),
                        "{text}"
                    );
                }
                assert!(
                    seen.insert(text.to_ascii_lowercase()),
                    "{url}: {text} again"
                );
            }
        }
        for file in &seen {
            assert!(
                !seen
                    .iter()
                    .any(|other| other.starts_with(&format!("{file}/"))),
                "{file} is file and directory"
            );
        }
    }
}
