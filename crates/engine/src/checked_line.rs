//! Lines of JSON that say themselves whether they are as they were written: the last field of each is `check`.
//!
//! ```text
//! {"number":7,"at":"2026-01-01T00:00:00Z","level":"info","text":"…","check":"91c2fd07b8a3e4c5"}
//! ```
//!
//! It is the XXH3 (64 bits) of everything before its comma, in hexadecimal. Lines of before there was one have none and
//! are valid; so that a damaged `check` is not taken for such a line, they may have no field that nobody wrote.

use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

const BEFORE: &str = ",\"check\":\"";
const BEHIND: &str = "\"}";
const DIGITS: usize = 16;
/// From the comma on.
const END: usize = BEFORE.len() + DIGITS + BEHIND.len();

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// A JSON object with its check as the last field, and the end of the line behind it.
pub fn checked_line(object: &str) -> String {
    let body = object.strip_suffix('}').unwrap_or(object);
    format!("{body}{BEFORE}{}{BEHIND}\n", check_of(body.as_bytes()))
}

/// The lines of a file that are not as they were written. What was written before there were checks has these
/// fields. A line that a killed process did not write to its end is no damage.
pub fn damaged_lines(content: &[u8], fields: &[&str]) -> Vec<DamagedLine> {
    let lines = content.split(|byte| *byte == b'\n');
    (1..)
        .zip(lines)
        .filter_map(|(line, text)| {
            let what = damage_of(text, fields)?;
            Some(DamagedLine { line, what })
        })
        .collect()
}

/// What is wrong with one line.
pub(crate) fn damage_of(line: &[u8], fields: &[&str]) -> Option<&'static str> {
    if line.is_empty() {
        return None;
    }
    let known = match serde_json::from_slice::<Map<String, Value>>(line) {
        // Its end was never written: whoever wrote the next line began a new one.
        Err(error) if error.is_eof() && !has_end(line) => return None,
        Err(_) => return Some("it is no JSON object"),
        Ok(known) => known,
    };
    match check_and_body(line) {
        Some((check, body)) if check == check_of(body).as_bytes() => None,
        Some(_) => Some("its check sum differs"),
        None => {
            let is_known = |name: &String| fields.contains(&name.as_str());
            (!known.keys().all(is_known)).then_some("it has a field that nobody wrote")
        }
    }
}

fn check_and_body(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_suffix(BEHIND.as_bytes())?;
    let (rest, check) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((check, rest.strip_suffix(BEFORE.as_bytes())?))
}

/// Whether a line came to its end, even if a part of that is damaged.
fn has_end(line: &[u8]) -> bool {
    let Some(begin) = line.len().checked_sub(END) else {
        return false;
    };
    let same = line[begin..].iter().zip(BEFORE.as_bytes());
    line.ends_with(b"}") && same.filter(|(a, b)| a == b).count() + 2 >= BEFORE.len()
}

fn check_of(body: &[u8]) -> String {
    format!("{:016x}", xxh3_64(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[&str] = &["at", "text"];
    const OLD: &str = r#"{"at":"now","text":"what } was"}"#;

    #[test]
    fn every_bit_of_a_line_is_guarded_and_old_lines_are_valid() {
        let line = checked_line(OLD);
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["text"], "what } was");
        assert!(line.ends_with("\"}\n"));
        let file = format!("{OLD}\n{line}{line}");
        assert_eq!(damaged_lines(file.as_bytes(), FIELDS), []);
        let begin = OLD.len() + 1;
        for at in begin..begin + line.len() {
            for bit in 0..8 {
                let mut bytes = file.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let found = damaged_lines(&bytes, FIELDS);
                assert!(
                    found
                        .iter()
                        .any(|damaged| damaged.line == 2 || damaged.line == 3),
                    "bit {bit} of byte {at} is not missed: {}",
                    String::from_utf8_lossy(&bytes)
                );
            }
        }
    }

    #[test]
    fn a_line_that_was_cut_is_no_damage_wherever_it_was_cut() {
        let line = checked_line(OLD);
        for at in 0..line.len() {
            let file = format!("{line}{}", &line[..at]);
            assert_eq!(damaged_lines(file.as_bytes(), FIELDS), [], "{file}");
            // The next process begins a line of its own.
            let file = format!("{file}\n{line}");
            assert_eq!(damaged_lines(file.as_bytes(), FIELDS), [], "{file}");
        }
    }
}
