//! The two halves by which a URL is sorted: its host, and the rest of its text.
//!
//! ```text
//! https://example.org/a?b   host `example.org`   rest `s/a?b`
//! http://example.org:81/    host `example.org`   rest `h:81/`
//! ftp://me@example.org/x    host `example.org`   rest `o` 9 `ftp://me@` `/x`
//! ```
//!
//! The two together give back the very text, so equality of both is equality of the text. URLs are
//! sorted by the keyed hash of the host, then the host, then the rest: those of a host stand
//! together, and a range of hashes can be cut off anywhere.

use std::cmp::Ordering;

use teia_base::CanonicalUrl;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::error::Flaw;
use super::varint;

/// A place in the order of all URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key<'a> {
    pub(crate) hash: u64,
    pub(crate) host: &'a [u8],
    pub(crate) rest: &'a [u8],
}

impl Key<'_> {
    /// A keyed number for the whole URL; a hint, never a verdict.
    pub(crate) fn url_hash(&self) -> u64 {
        url_hash(self.hash, self.rest)
    }

    /// The text of the URL.
    pub(crate) fn text(&self) -> Result<String, Flaw> {
        text_of(self.host, self.rest)
    }

    pub(crate) fn to_owned_key(self) -> OwnedKey {
        OwnedKey {
            hash: self.hash,
            host: self.host.into(),
            rest: self.rest.into(),
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.hash
            .cmp(&other.hash)
            .then_with(|| self.host.cmp(other.host))
            .then_with(|| self.rest.cmp(other.rest))
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A place that owns its text: where a block begins.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct OwnedKey {
    pub(crate) hash: u64,
    pub(crate) host: Box<[u8]>,
    pub(crate) rest: Box<[u8]>,
}

impl OwnedKey {
    /// About as much memory as it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.host.len() + self.rest.len()
    }

    /// The first place of a host hash.
    pub(crate) fn of_hash(hash: u64) -> Self {
        Self {
            hash,
            ..Self::default()
        }
    }

    pub(crate) fn as_key(&self) -> Key<'_> {
        Key {
            hash: self.hash,
            host: &self.host,
            rest: &self.rest,
        }
    }
}

/// Where a host belongs.
#[inline]
pub(crate) fn host_hash(key: u64, host: &[u8]) -> u64 {
    xxh3_64_with_seed(host, key)
}

/// A number for a URL from the hash of its host and the rest.
#[inline]
pub(crate) fn url_hash(host_hash: u64, rest: &[u8]) -> u64 {
    xxh3_64_with_seed(rest, host_hash)
}

/// Appends host and rest of a URL, and says how long the host is.
pub(crate) fn write_key(url: &str, out: &mut Vec<u8>) -> usize {
    let (tag, after) = match url.as_bytes() {
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => (b's', 8),
        [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => (b'h', 7),
        _ => return write_other(url, out),
    };
    let bytes = &url.as_bytes()[after..];
    let end = bytes
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b':' | b'@' | b'['));
    match end.map_or(b'/', |end| bytes[end]) {
        b'/' | b'?' => {}
        _ => return write_other(url, out),
    }
    let end = end.unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[..end]);
    out.push(tag);
    out.extend_from_slice(&bytes[end..]);
    end
}

#[cold]
fn write_other(url: &str, out: &mut Vec<u8>) -> usize {
    let canonical = CanonicalUrl::from_stored(url);
    let host = canonical.host_str();
    // Where the host stands is where its slice begins.
    let start = if host.is_empty() {
        0
    } else {
        host.as_ptr() as usize - canonical.as_str().as_ptr() as usize
    };
    let (before, after) = (&url[..start], &url[start + host.len()..]);
    out.extend_from_slice(host.as_bytes());
    match before {
        "https://" => out.push(b's'),
        "http://" => out.push(b'h'),
        _ => {
            out.push(b'o');
            varint::put(out, before.len() as u64);
            out.extend_from_slice(before.as_bytes());
        }
    }
    out.extend_from_slice(after.as_bytes());
    host.len()
}

/// The text of a URL from its host and rest.
pub(crate) fn text_of(host: &[u8], rest: &[u8]) -> Result<String, Flaw> {
    let (&tag, mut after) = rest.split_first().ok_or(Flaw("a URL without text"))?;
    let mut text = Vec::with_capacity(8 + host.len() + rest.len());
    match tag {
        b's' => text.extend_from_slice(b"https://"),
        b'h' => text.extend_from_slice(b"http://"),
        b'o' => {
            let len = varint::take_len(&mut after)?;
            text.extend_from_slice(varint::take_bytes(&mut after, len)?);
        }
        _ => return Err(Flaw("a URL begins in no known way")),
    }
    text.extend_from_slice(host);
    text.extend_from_slice(after);
    String::from_utf8(text).map_err(|_| Flaw("a URL is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, host: &str) {
        let mut out = Vec::new();
        let len = write_key(url, &mut out);
        assert_eq!(std::str::from_utf8(&out[..len]).unwrap(), host, "{url}");
        assert_eq!(text_of(&out[..len], &out[len..]).unwrap(), url);
    }

    #[test]
    fn any_text_is_cut_at_its_host_and_comes_back() {
        check("https://example.org/a?b", "example.org");
        check("http://example.org", "example.org");
        check("http://example.org?q", "example.org");
        check("http://example.org:81/", "example.org");
        check("http://me:secret@example.org/x:y@z", "example.org");
        check("http://[::1]:81/", "[::1]");
        check("ftp://example.org/x", "example.org");
        check("mailto:me@example.org", "");
        check("http://", "");
        check("https:///", "");
        check("", "");
        check("no url at all: ü/?@", "");
        check("http://h@", "");
    }
}
