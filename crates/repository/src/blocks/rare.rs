//! The rare part of a row in few bytes: two bytes say what is there, and only that follows.
//!
//! ```text
//! FORM | bits u16 | what the bits name, in their order
//! ```
//!
//! A page that was fetched has about thirty bytes, of which sixteen are the digest of its text. Runs of earlier builds have
//! another form, which begins with 0 or 1.

use super::error::Flaw;
use super::row::{Rare, Visited, unzigzag, zigzag};
use super::varint::{put, take, take_bytes, take_len};

const FORM: u8 = 2;

const SPELLING: u16 = 1;
const CHAIN: u16 = 1 << 1;
const MODIFIED: u16 = 1 << 2;
const VISITED: u16 = 1 << 3;
const MEDIA_TYPE: u16 = 1 << 4;
const CHANGES: u16 = 1 << 5;
const LAST_CHANGE: u16 = 1 << 6;
const QUIET: u16 = 1 << 7;
const CHANGED: u16 = 1 << 8;
const DIGEST: u16 = 1 << 9;
const CAPTURE: u16 = 1 << 10;
const ETAG: u16 = 1 << 11;
const LAST_MODIFIED: u16 = 1 << 12;

/// Appends it, unless there is nothing in it.
pub(crate) fn write(rare: &Rare, out: &mut Vec<u8>) {
    let bits = bits_of(rare);
    if bits == 0 {
        return;
    }
    out.push(FORM);
    out.extend_from_slice(&bits.to_le_bytes());
    put_text(rare.spelling.as_deref(), out);
    if let Some(chain) = rare
        .chain
        .as_ref()
        .and_then(|chain| postcard::to_stdvec(chain).ok())
    {
        put(out, chain.len() as u64);
        out.extend_from_slice(&chain);
    }
    if let Some(moment) = rare.last_modified {
        out.extend_from_slice(&moment.to_le_bytes());
    }
    let Some(visited) = &rare.visited else { return };
    out.extend_from_slice(&visited.last_attempt.to_le_bytes());
    put(out, zigzag(i32::from(visited.outcome)));
    put(out, u64::from(visited.visits));
    for (bit, number) in numbers_of(visited) {
        if bits & bit != 0 {
            put(out, number);
        }
    }
    if let Some(digest) = visited.text_digest {
        out.extend_from_slice(&digest.to_le_bytes());
    }
    if let Some(capture) = visited.capture {
        put(out, capture);
    }
    put_text(visited.etag.as_deref(), out);
    put_text(visited.last_modified.as_deref(), out);
}

/// Reads it; what cannot be read is as if it were not there.
pub(crate) fn read(bytes: &[u8]) -> Rare {
    match bytes {
        [] => Rare::default(),
        [FORM, packed @ ..] => unpack(packed).unwrap_or_default(),
        old => {
            let rare = postcard::from_bytes(old).unwrap_or_default();
            Rare { unused: 0, ..rare }
        }
    }
}

fn bits_of(rare: &Rare) -> u16 {
    let bit = |bit: u16, is_there: bool| if is_there { bit } else { 0 };
    let own = bit(SPELLING, rare.spelling.is_some())
        | bit(CHAIN, rare.chain.is_some())
        | bit(MODIFIED, rare.last_modified.is_some());
    let Some(visited) = &rare.visited else {
        return own;
    };
    let numbers = numbers_of(visited).into_iter();
    numbers.fold(own | VISITED, |bits, (name, number)| {
        bits | bit(name, number != 0)
    }) | bit(DIGEST, visited.text_digest.is_some())
        | bit(CAPTURE, visited.capture.is_some())
        | bit(ETAG, visited.etag.is_some())
        | bit(LAST_MODIFIED, visited.last_modified.is_some())
}

fn numbers_of(visited: &Visited) -> [(u16, u64); 5] {
    [
        (MEDIA_TYPE, u64::from(visited.media_type)),
        (CHANGES, u64::from(visited.changes)),
        (LAST_CHANGE, u64::from(visited.last_change)),
        (QUIET, visited.quiet_seconds),
        (CHANGED, visited.changed_seconds),
    ]
}

fn unpack(mut bytes: &[u8]) -> Result<Rare, Flaw> {
    let bytes = &mut bytes;
    let bits = u16::from_le_bytes(take_array(bytes)?);
    let has = |bit: u16| bits & bit != 0;
    let mut rare = Rare::default();
    if has(SPELLING) {
        rare.spelling = Some(take_text(bytes)?);
    }
    if has(CHAIN) {
        let len = take_len(bytes)?;
        rare.chain = postcard::from_bytes(take_bytes(bytes, len)?).ok();
    }
    if has(MODIFIED) {
        rare.last_modified = Some(u32::from_le_bytes(take_array(bytes)?));
    }
    if !has(VISITED) {
        return Ok(rare);
    }
    let mut visited = Visited {
        last_attempt: u32::from_le_bytes(take_array(bytes)?),
        outcome: i16::try_from(unzigzag(take(bytes)?)).unwrap_or(0),
        visits: narrow(take(bytes)?),
        ..Visited::default()
    };
    let mut number = |bit: u16| if has(bit) { take(bytes) } else { Ok(0) };
    visited.media_type = u16::try_from(number(MEDIA_TYPE)?).unwrap_or(0);
    visited.changes = narrow(number(CHANGES)?);
    visited.last_change = narrow(number(LAST_CHANGE)?);
    visited.quiet_seconds = number(QUIET)?;
    visited.changed_seconds = number(CHANGED)?;
    if has(DIGEST) {
        visited.text_digest = Some(u128::from_le_bytes(take_array(bytes)?));
    }
    if has(CAPTURE) {
        visited.capture = Some(take(bytes)?);
    }
    if has(ETAG) {
        visited.etag = Some(take_text(bytes)?);
    }
    if has(LAST_MODIFIED) {
        visited.last_modified = Some(take_text(bytes)?);
    }
    rare.visited = Some(visited);
    Ok(rare)
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn put_text(text: Option<&str>, out: &mut Vec<u8>) {
    if let Some(text) = text {
        put(out, text.len() as u64);
        out.extend_from_slice(text.as_bytes());
    }
}

fn take_text(bytes: &mut &[u8]) -> Result<Box<str>, Flaw> {
    let len = take_len(bytes)?;
    let text = std::str::from_utf8(take_bytes(bytes, len)?);
    text.map(Into::into).map_err(|_| Flaw("a text is no UTF-8"))
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Flaw> {
    let (taken, rest) = bytes
        .split_first_chunk::<N>()
        .ok_or(Flaw("a number is cut off"))?;
    *bytes = rest;
    Ok(*taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn visited()(
            numbers in any::<(u32, i16, u16, u32, u32, u32, u64, u64)>(),
            digest: Option<u128>,
            capture: Option<u64>,
            texts in any::<(Option<String>, Option<String>)>(),
        ) -> Visited {
            Visited {
                last_attempt: numbers.0,
                outcome: numbers.1,
                media_type: numbers.2,
                visits: numbers.3,
                changes: numbers.4,
                last_change: numbers.5,
                quiet_seconds: numbers.6,
                changed_seconds: numbers.7,
                text_digest: digest,
                capture,
                etag: texts.0.map(Into::into),
                last_modified: texts.1.map(Into::into),
            }
        }
    }

    proptest! {
        #[test]
        fn it_comes_back_in_both_forms(
            spelling: Option<String>,
            last_modified: Option<u32>,
            visited in proptest::option::of(visited()),
        ) {
            let rare = Rare {
                spelling: spelling.map(Into::into),
                last_modified,
                visited,
                ..Rare::default()
            };
            let mut bytes = Vec::new();
            write(&rare, &mut bytes);
            prop_assert_eq!(bytes.is_empty(), rare == Rare::default());
            prop_assert_eq!(&read(&bytes), &rare);
            prop_assert_eq!(&read(&postcard::to_stdvec(&rare).unwrap()), &rare);
            for cut in 0..bytes.len() {
                let _ = read(&bytes[..cut]);
            }
        }
    }

    #[test]
    fn a_fetched_page_takes_about_thirty_bytes() {
        let rare = Rare {
            visited: Some(Visited {
                last_attempt: 1_800_000_000,
                outcome: 200,
                media_type: 1,
                visits: 1,
                text_digest: Some(u128::MAX / 3),
                capture: Some(1_000_000),
                ..Visited::default()
            }),
            ..Rare::default()
        };
        let mut bytes = Vec::new();
        write(&rare, &mut bytes);
        assert_eq!(bytes.len(), 30);
    }
}
