//! Robots rules on arbitrary input, beside a slow matcher too simple to be wrong.

use proptest::collection::vec;
use proptest::prelude::*;
use teia_fetch::robots::{Answer, Config, Rules, Standing};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_robots_txt(bytes in vec(any::<u8>(), 0..600), path in ".{0,40}") {
        let rules = Rules::parse(&bytes, "Teia");
        rules.verdict(&path);
        rules.verdict_for_url(&path);
    }

    #[test]
    fn any_pieces_of_robots_txt_are_a_robots_txt(
        pieces in vec(prop_oneof![
            Just("User-agent: *"), Just("user-agent teia"), Just("Disallow:"), Just("Allow: "), Just("Crawl-delay: 1e"),
            Just("\n"), Just("\r\n"), Just("\r"), Just("\0"), Just("#"), Just(" "), Just("/a"), Just("*"), Just("$"),
            Just("%"), Just("%2a"), Just("é"), Just("\u{feff}"), Just("/index.html"), Just("Sitemap: x"), Just(":"),
        ], 0..60),
        path in "[/a*$%2é?#]{0,12}",
        max_bytes in 0_usize..200,
    ) {
        let text = pieces.concat();
        let utf16 = |bytes: fn(u16) -> [u8; 2], mark: [u8; 2]| {
            [mark.to_vec(), text.encode_utf16().flat_map(bytes).collect()].concat()
        };
        let whole = Rules::parse(text.as_bytes(), "Teia").verdict(&path);
        prop_assert_eq!(&whole, &Rules::parse(&utf16(u16::to_le_bytes, [0xff, 0xfe]), "Teia").verdict(&path));
        prop_assert_eq!(&whole, &Rules::parse(&utf16(u16::to_be_bytes, [0xfe, 0xff]), "Teia").verdict(&path));
        let _ = Rules::parse_within(text.as_bytes(), "Teia", max_bytes).verdict(&path);
    }

    #[test]
    fn cutting_twice_is_cutting_once_and_keeps_whole_lines(
        bytes in vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b'a'), Just(0xff), Just(0xfe), Just(0), any::<u8>(),
        ], 0..80),
        max_bytes in 0_u64..80,
    ) {
        let config = Config { max_bytes, ..Config::default() };
        let now = teia_base::Timestamp::from_micros(0);
        let keep = |bytes: &[u8]| {
            let answer = Answer::Answered { status: 200, body: bytes, retry_after: None };
            Standing::from_answer(None, answer, now, &config).copy().unwrap().to_vec()
        };
        let once = keep(&bytes);
        prop_assert!(once.len() as u64 <= max_bytes);
        prop_assert_eq!(&once, &keep(&once));
        let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        if !is_utf16 {
            prop_assert!(bytes.starts_with(&once));
            let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
            prop_assert!(is_end(once.last()) || is_end(bytes.get(once.len())));
        }
    }

    #[test]
    fn verdicts_equal_those_of_the_slow_matcher(
        rules in vec((any::<bool>(), vec(unit(), 0..6), any::<bool>()), 1..6),
        path in vec(unit(), 0..9),
        spelling in any::<u64>(),
    ) {
        let mut spelling = Spelling(spelling);
        let mut robots = "User-agent: *\n".to_owned();
        let path: Vec<_> = path.into_iter().filter(|unit| *unit != Unit::Any).collect();
        let mut expected: Option<(usize, bool)> = None;
        for (allows, pattern, anchored) in &rules {
            let key = if *allows { "Allow" } else { "Disallow" };
            let written: String = pattern.iter().map(|unit| spelling.in_pattern(*unit)).collect();
            robots += &format!("{key}: /{written}{}\n", if *anchored { "$" } else { "" });
            if slow_match(pattern, &path, *anchored) {
                let octets: usize = pattern.iter().map(|unit| unit.octets()).sum();
                let rank = (1 + octets + usize::from(*anchored), *allows);
                expected = expected.max(Some(rank));
            }
        }
        let written: String = path.iter().map(|unit| spelling.in_path(*unit)).collect();
        let found = Rules::parse(robots.as_bytes(), "Teia").verdict(&format!("/{written}"));
        prop_assert_eq!(found.allowed, expected.is_none_or(|(_, allows)| allows), "{}/{}", robots, written);
        prop_assert_eq!(found.rule.is_some(), expected.is_some());
    }
}

/// A character of a path, or in a pattern also a star, however it is spelled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Any,
    A,
    B,
    Slash,
    EncodedSlash,
    Accent,
    Star,
    Dollar,
    Bar,
}

fn unit() -> impl Strategy<Value = Unit> {
    prop_oneof![
        4 => Just(Unit::Any),
        4 => Just(Unit::A),
        4 => Just(Unit::B),
        2 => Just(Unit::Slash),
        1 => Just(Unit::EncodedSlash),
        1 => Just(Unit::Accent),
        1 => Just(Unit::Star),
        1 => Just(Unit::Dollar),
        1 => Just(Unit::Bar),
    ]
}

impl Unit {
    fn octets(self) -> usize {
        match self {
            Self::Any | Self::A | Self::B | Self::Slash => 1,
            Self::EncodedSlash | Self::Star | Self::Dollar | Self::Bar => 3,
            Self::Accent => 6,
        }
    }

    fn spellings(self) -> &'static [&'static str] {
        match self {
            Self::Any => &["*"],
            Self::A => &["a", "%61"],
            Self::B => &["b", "%62"],
            Self::Slash => &["/"],
            Self::EncodedSlash => &["%2f", "%2F"],
            Self::Accent => &["é", "%c3%a9", "%C3%A9", "%c3%A9"],
            Self::Star => &["%2A", "%2a"],
            Self::Dollar => &["%24"],
            Self::Bar => &["|", "%7C", "%7c"],
        }
    }
}

/// Picks one spelling after the other from the bits of a number.
struct Spelling(u64);

impl Spelling {
    fn in_pattern(&mut self, unit: Unit) -> &'static str {
        self.0 = self.0.rotate_right(3);
        let spellings = unit.spellings();
        spellings[usize::from(self.0.to_le_bytes()[0]) % spellings.len()]
    }

    fn in_path(&mut self, unit: Unit) -> &'static str {
        match (unit, self.0.is_multiple_of(2)) {
            (Unit::Star, true) => "*",
            (Unit::Dollar, true) => "$",
            _ => self.in_pattern(unit),
        }
    }
}

/// Tries every length for every star.
fn slow_match(pattern: &[Unit], path: &[Unit], anchored: bool) -> bool {
    match pattern {
        [] => !anchored || path.is_empty(),
        [Unit::Any, rest @ ..] => {
            (0..=path.len()).any(|skipped| slow_match(rest, &path[skipped..], anchored))
        }
        [first, rest @ ..] => path.first() == Some(first) && slow_match(rest, &path[1..], anchored),
    }
}
