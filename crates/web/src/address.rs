//! Addresses as people read them, and the addresses of our own pages.

use icu_properties::props::Script;
use icu_properties::script::ScriptWithExtensions;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use teia_base::CanonicalUrl;

/// Everything but what never needs escaping in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// Letters of a path that are shown before its middle is cut out.
const SHOWN: usize = 72;

/// An address, taken apart to be shown.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// All of it, as it is.
    pub(crate) url: String,
    /// Whether it may be a link: only the web and FTP, never `javascript:` or `data:`.
    pub(crate) is_link: bool,
    /// Host, readable.
    pub(crate) host: String,
    /// The host in ASCII, where it does not look like that.
    pub(crate) ascii_host: Option<String>,
    /// The rest in steps, the middle cut out of long ones.
    pub(crate) steps: Vec<String>,
}

impl Address {
    pub(crate) fn new(url: &str) -> Self {
        let is_link = is_link(url);
        let Ok(parsed) = CanonicalUrl::parse(url) else {
            return Self {
                url: url.to_owned(),
                is_link: false,
                host: cut(&clean(url), SHOWN),
                ascii_host: None,
                steps: Vec::new(),
            };
        };
        let ascii = parsed.host_str();
        let host = readable(ascii);
        let authority = parsed.authority();
        let port = authority.strip_prefix(ascii).unwrap_or("");
        let path = percent_decode_str(parsed.path_and_query())
            .decode_utf8()
            .map_or_else(
                |_| parsed.path_and_query().to_owned(),
                |text| text.into_owned(),
            );
        let path = cut(&clean(&path), SHOWN);
        Self {
            url: url.to_owned(),
            is_link,
            ascii_host: (host != ascii).then(|| ascii.to_owned()),
            host: format!("{host}{port}"),
            steps: path
                .split('/')
                .filter(|step| !step.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// On one line.
    pub(crate) fn shown(&self) -> String {
        let steps = self.steps.iter().map(|step| format!("/{step}"));
        self.host.clone() + &steps.collect::<String>()
    }

    /// The page about it.
    pub(crate) fn page(&self) -> String {
        page(&self.url)
    }

    /// Its archived copy of some time, or the last one.
    pub(crate) fn copy(&self, time: &str) -> String {
        archive(time, &self.url)
    }

    /// Its captures by date.
    pub(crate) fn captures(&self) -> String {
        archive("*", &self.url)
    }
}

/// The host as people write it, where each of its labels is written in one script or in a mix that people
/// write; else as it is, so that no letter passes for another (UTS 39, "highly restrictive").
fn readable(ascii: &str) -> String {
    let unicode = clean(&idna::domain_to_unicode(ascii).0);
    let is_honest = unicode.split('.').all(is_of_one_writing);
    if is_honest { unicode } else { ascii.to_owned() }
}

fn is_of_one_writing(label: &str) -> bool {
    use Script as S;
    const MIXES: [&[S]; 3] = [
        &[S::Latin, S::Han, S::Hiragana, S::Katakana],
        &[S::Latin, S::Han, S::Bopomofo],
        &[S::Latin, S::Han, S::Hangul],
    ];
    let scripts = ScriptWithExtensions::new();
    // Digits, hyphens and accents are of every script.
    let letters: Vec<char> = label
        .chars()
        .filter(|&letter| {
            let is_everywhere = |script| scripts.has_script(letter, script);
            !is_everywhere(S::Common) && !is_everywhere(S::Inherited)
        })
        .collect();
    let Some(&first) = letters.first() else {
        return true;
    };
    let is_all_of = |script: S| letters.iter().all(|&one| scripts.has_script(one, script));
    let mut own = scripts.get_script_extensions_val(first).iter();
    own.any(is_all_of)
        || MIXES.iter().any(|mix| {
            let is_in_it = |&one: &char| mix.iter().any(|&script| scripts.has_script(one, script));
            letters.iter().all(is_in_it)
        })
}

/// Whether an address may be a link on our pages.
pub(crate) fn is_link(url: &str) -> bool {
    let scheme = url
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "ftp"))
}

/// The page about a URL.
pub(crate) fn page(url: &str) -> String {
    format!("/page?url={}", escape(url))
}

/// A copy: `/archive/TIME/URL`.
pub(crate) fn archive(time: &str, url: &str) -> String {
    // Whatever could end or split the address is written as its number; the rest stays readable.
    let mut safe = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b'#' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`' | b'{' | b'}' | b'|' | b'^' => {
                safe.push_str(&format!("%{byte:02X}"));
            }
            0x21..=0x7e => safe.push(char::from(byte)),
            _ => safe.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("/archive/{time}/{safe}")
}

/// A value of a query.
pub(crate) fn escape(text: &str) -> String {
    utf8_percent_encode(text, QUERY).to_string()
}

/// Text of a crawled page, on one line: no control codes, no marks that turn its direction or hide.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .filter_map(|character| match character {
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{ad}' => None,
            _ if character.is_control() || character.is_whitespace() => Some(' '),
            _ => Some(character),
        })
        .collect()
}

/// A long text without its middle.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_is_a_link() {
        for good in [
            "http://a.example/",
            "HTTPS://a.example",
            "ftp://a.example/x",
        ] {
            assert!(is_link(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "javascript://x/%0aalert(1)",
            "file:///etc",
            "//x",
            "",
        ] {
            assert!(!is_link(bad), "{bad}");
        }
    }

    #[test]
    fn a_host_that_is_not_ascii_shows_both_forms() {
        let address = Address::new("http://xn--80ak6aa92e.com/%E2%80%AEcod");
        assert_eq!(address.ascii_host.as_deref(), Some("xn--80ak6aa92e.com"));
        assert!(!address.host.contains("xn--"));
        assert_eq!(address.steps, ["cod"], "a bidi override is gone");
        let plain = Address::new("http://a.example:8080/s%C3%A3o/x?y=1");
        assert_eq!(
            (plain.host.as_str(), plain.ascii_host),
            ("a.example:8080", None)
        );
        assert_eq!(plain.steps, ["são", "x?y=1"]);
    }

    #[test]
    fn url_10_scripts_that_nobody_mixes_are_shown_in_ascii() {
        #[track_caller]
        fn shown(host: &str) -> String {
            Address::new(&format!("http://{host}/x")).shown()
        }
        // One letter that is not what it looks like: Cyrillic, Greek, Armenian, Cherokee.
        for host in [
            "p\u{430}ypal.com",
            "www.p\u{430}ypal.com",
            "g\u{3bf}\u{3bf}gle.com",
            "\u{581}oogle.com",
            "\u{13a0}mazon.com",
            "\u{3b1}\u{430}.com",
            "日本\u{430}.jp",
            "\u{3042}\u{ac00}.jp",
        ] {
            let shown = shown(host);
            assert!(
                shown.is_ascii() && shown.contains("xn--"),
                "{host}: {shown}"
            );
        }
        // One script for each label, or a mix that people write.
        for host in [
            "café.example",
            "президент.рф",
            "xn--80ak6aa92e.com",
            "παράδειγμα.com",
            "日本語かなカナabc.jp",
            "ひらがなー.jp",
            "한국漢字abc.kr",
            "ㄅㄆ漢字abc.tw",
            "例え-123.jp",
            "مثال.com",
        ] {
            let shown = shown(host);
            assert!(!shown.contains("xn--"), "{host}: {shown}");
        }
        assert_eq!(Address::new("http://p\u{430}ypal.com/").ascii_host, None);
    }

    #[test]
    fn nothing_ends_the_address_of_a_copy() {
        let href = archive("2026", "http://a.example/\"><script>\n#x é");
        assert_eq!(
            href,
            "/archive/2026/http://a.example/%22%3E%3Cscript%3E%0A%23x%20%C3%A9"
        );
    }
}
