//! What a person sees: the progress of a run and its summary.

use std::borrow::Cow;

pub(crate) mod lines;
mod progress;
mod summary;
mod width;

pub(crate) use progress::ProgressBar;
pub(crate) use summary::{group, print_summary, print_tables};
pub(crate) use width::{Width, cut};

/// Writes a line to standard output. What pages and servers wrote is among it: nothing in it steers the
/// terminal, except the looks that we give a line ourselves.
pub(crate) fn say(text: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    use std::io::Write as _;
    let text = text.to_string();
    writeln!(std::io::stdout().lock(), "{}", harmless(&text))
}

/// Our own looks: bold, green, faint, plain.
const LOOKS: [&str; 4] = ["\x1b[1m", "\x1b[32m", "\x1b[2m", "\x1b[0m"];

/// The text without control characters (C1 too) and without marks that turn a line around.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| {
        let is_layout = matches!(c, '\n' | '\t');
        let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        c.is_control() && !is_layout || turns
    };
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let look = LOOKS.iter().find(|look| rest.starts_with(**look));
        let length = look.map_or(c.len_utf8(), |look| look.len());
        if look.is_some() || !is_bad(c) {
            clean.push_str(&rest[..length]);
        } else {
            clean.push('\u{fffd}');
        }
        rest = &rest[length..];
    }
    Cow::Owned(clean)
}

/// `1 page`, `2 pages`, `12 345 pages`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {one}{many}", summary::group(count))
}

/// A line on standard output, or an error: a pipe may be closed at any time, and `println!` would
/// then panic.
macro_rules! outln {
    () => {
        $crate::show::say(format_args!(""))
    };
    ($($text:tt)*) => {
        $crate::show::say(format_args!($($text)*))
    };
}
pub(crate) use outln;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_steers_no_terminal() {
        let check = |text: &str, wanted: &str| assert_eq!(harmless(text), wanted, "{text:?}");
        check("a\tb\n\u{e9} \u{4e2d}", "a\tb\n\u{e9} \u{4e2d}");
        check("a\x1b]0;x\x07b", "a\u{fffd}]0;x\u{fffd}b");
        check("\x1b[2Ja\r", "\u{fffd}[2Ja\u{fffd}");
        check("\u{9b}2J\u{202e}x\u{2066}", "\u{fffd}2J\u{fffd}x\u{fffd}");
        check("\x1b[1mbold\x1b[0m", "\x1b[1mbold\x1b[0m");
    }
}
